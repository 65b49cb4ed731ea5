/* Factors made by direct calls of CHOLMOD and SuperLU, as a program makes them that does not know trine. */
#ifndef TRINE_FOREIGN_FACTORS_H
#define TRINE_FOREIGN_FACTORS_H

#include <trine/direct.h>

/** What SuperLU's expert driver leaves of a matrix in CSC, and the matrix that it needs for its own solves. */
typedef struct {
    trine_dtype t;
    int n;
    void *L, *U;           /* SuperMatrix */
    int *perm_r, *perm_c;
    void *R, *C;           /* NULL where rows or columns were not scaled */
    void *all_R, *all_C;
    void *MT_L, *MT_U;     /* the same factor as SuperLU_MT holds it, after superlu_like_mt: supernodes stored and
                              numbered from the last to the first, with gaps */
} superlu_factor;
superlu_factor superlu_of(trine_matrix A, bool equilibrate);
void superlu_like_mt(superlu_factor *f);
/** x := op(A)^-1 b by SuperLU, n x nrhs, column-major. */
void superlu_own_solve(const superlu_factor *f, trine_transpose op, int64_t nrhs, const void *b, void *x);
void superlu_factor_free(superlu_factor *f);

typedef enum { FOREIGN_SUPERNODAL, FOREIGN_LL, FOREIGN_LDL, FOREIGN_ZOMPLEX_LDL, FOREIGN_SYMBOLIC } foreign_kind;
typedef struct {
    bool is_long;
    void *common;
    void *L;               /* cholmod_factor */
} cholmod_program;
/** CHOLMOD's factor of the Hermitian A in D or Z, whose lower triangle is read. */
cholmod_program cholmod_of(trine_matrix A, foreign_kind kind, bool is_long);
void cholmod_own_solve(const cholmod_program *f, trine_dtype t, int64_t n, int64_t nrhs, const void *b, void *x);
void cholmod_program_free(cholmod_program *f);
/** How far a factorization got (cholmod_factor.minor). */
int64_t cholmod_columns_done(const cholmod_program *f);

#endif
