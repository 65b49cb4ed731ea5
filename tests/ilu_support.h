/* What the tests of incomplete factorizations share: small matrices beside their dense form, and dense factors. */
#ifndef TRINE_ILU_SUPPORT_H
#define TRINE_ILU_SUPPORT_H

#include "elements.h"
#include "precond_support.h"

enum { ILU_METHODS = 5 };
extern const trine_precond_method ilu_methods[ILU_METHODS];

/** A small dense matrix and its pattern; A has the same entries. */
typedef struct {
    trine_dtype t;
    int64_t n;
    wide *a;
    bool *has;
    trine_matrix A;
} sample;

enum { HERMITIAN = 1, BY_COLUMNS = 2, SHUFFLED = 4 }; /* SHUFFLED: compressed lines are not sorted */
extern const int sample_kinds[4]; /* of those that are not Hermitian */

/** Random entries, the diagonal somewhat larger than the rest of its row; n is no multiple of 7. */
sample make_sample(trine_context ctx, trine_dtype t, int64_t n, double density, uint64_t seed, int kind);
/** n rows as given, row-major; entries that are 99 are missing. */
sample given_sample(trine_dtype t, int64_t n, const double *a);
/** Make A from the dense entries. */
void compress_sample(trine_context ctx, sample *s, int kind);
void end_sample(sample *s);

/** A plan with A's values, which passes check. */
trine_precond plan_of(trine_context ctx, trine_matrix A, const trine_precond_options *o);

/** L (with its unit diagonal) and U of a plan, dense; of IC0 L and L^H. pattern: where they have entries. */
typedef struct {
    wide *L, *U;
    bool *pattern;
} factors;
factors new_factors(int64_t n);
void get_factors(trine_precond p, trine_precond_method method, const sample *s, factors *f);
void end_factors(factors *f);
/** (L U)_ij = a_ij on the pattern: to the rounding errors of a sum of n products. */
void assert_factors(const sample *s, const factors *f);

#endif
