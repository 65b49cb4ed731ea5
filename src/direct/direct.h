/* What the adapters of src/direct share. An adapter gives a library's factorization the form of trine/direct.h. */
#ifndef TRINE_DIRECT_DIRECT_H
#define TRINE_DIRECT_DIRECT_H

#include <trine/direct.h>

#include "core/direct_interface.h"
#include "core/plan.h"

/** One factorization library. F->n >= 1; F->A is set. */
struct factor_backend {
    /** NULL, as numeric is, where F was taken from another program. Ordering and symbolic part from the pattern of
     *  F->A; sets F->ordering and F->state. */
    trine_status (*analyse)(trine_factor F);
    /** Factor the values of F->A; fills the permutations, the scales, the panels and the counts of F. May be called
     *  again after the values of F->A changed. */
    trine_status (*numeric)(trine_factor F);
    trine_status (*triangle)(trine_factor F, trine_uplo which, trine_matrix *T);
    /** Fill F->upper; NULL where there are no panels of U. */
    trine_status (*upper_panels)(trine_factor F);
    /** Free F->state; it may be half made, or NULL. */
    void (*release)(trine_factor F);
    /** NULL, or X := op(A)^-1 B by the library itself, for blocks of columns in the context's space, X apart from B. F
     *  has no permutations then. */
    trine_status (*solve)(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream);
};
extern const struct factor_backend factor_cholmod, factor_superlu, factor_umfpack, factor_cudss;

struct trine_factor_s {
    int refs;
    trine_context ctx;
    trine_factor_options options;
    const struct factor_backend *backend; /* NULL for n = 0 */
    void *state;                          /* the backend's */
    bool factored;                        /* false after an update that failed */

    trine_matrix A;                       /* CSC in D or Z, sorted, duplicates summed; NULL: another program factored
                                             it */
    trine_dtype dtype;
    int64_t n, nnz_given;                 /* nnz as the caller stored them */
    int64_t nnz_L, nnz_U;
    trine_direct_method method;
    trine_ordering ordering;
    trine_diag diag_L;
    double order_seconds, factor_seconds;
    const char *reason;

    int32_t *row_perm, *col_perm;         /* one array for Cholesky: col_perm == row_perm */
    double *row_scale, *col_scale;        /* NULL: ones */
    trine_panels panels;                  /* n_panels = 0: there are none */
    int32_t *first_column, *panel_rows;   /* what panels does not borrow from the library */
    int64_t *row_offsets, *value_offsets;
    trine_panels upper;                   /* of U^T, all of it owned here; n_panels = 0: not made yet */
};

/** Where the context's vectors live. */
static inline trine_space direct_space(trine_context ctx)
{
    trine_context_info info = {0};
    trine_context_get_info(ctx, &info); /* fails for NULL alone */
    return info.space;
}

/** Whether F's library solves by itself. */
static inline bool factor_solves(trine_factor F) { return F->backend && F->backend->solve; }

/** A handle for a factor of order n that another program made, with its permutations' arrays. */
trine_status factor_take(trine_context ctx, trine_factor *F, const struct factor_backend *backend,
                         trine_direct_method method, trine_dtype dtype, int64_t n, bool one_permutation);
/** The sentence and TRINE_ERR_ARGUMENT unless perm has each of 0..n-1 once. mark: n long. */
trine_status factor_check_permutation(const char *name, const int32_t *perm, int64_t n, int32_t *mark);

/** Free the panels of U^T, which are made anew when they are asked for. */
void factor_drop_upper_panels(trine_factor F);

/** Refuse an A that is NULL, in device memory, not square, a pattern, not finite, or of arrays that do not fit
 *  (trine_matrix_check). *info: A's sizes. */
trine_status factor_check_matrix(trine_matrix A, trine_matrix_info *info);

/** The arrays of F->A; n alone where that is NULL. */
struct factor_input {
    int64_t n, nnz;
    const int64_t *offsets;
    const int32_t *indices;
    const double *values;
};
struct factor_input factor_get_input(trine_factor F);

/** The int32 array in 64 bits, which CHOLMOD's and UMFPACK's long interfaces want; new. */
trine_status factor_widen(trine_context ctx, int64_t count, const int32_t *narrow, int64_t **wide);
/** Ordering of the pattern of A + A^T by AMD or METIS: perm[k] is the k-th column. */
trine_status factor_symmetric_ordering(trine_factor F, trine_ordering which, int32_t *perm);
/** TRINE_ERR_SINGULAR unless every column can be given a row of its own (Duff 1981, algorithm 575). */
trine_status factor_check_structural_rank(trine_factor F);
/** TRINE_ERR_SINGULAR: the pivot of this column of A, the number-th, is exactly zero. */
trine_status factor_fail_zero_pivot(trine_factor F, int64_t column, int64_t number);
/** TRINE_ERR_NOT_DEFINITE: Cholesky found no positive pivot there. */
trine_status factor_fail_not_definite(trine_factor F, int64_t column, int64_t number);
/** TRINE_ERR_NO_CONVERGENCE: numbers of the factorization became NaN or Inf, whatever the matrix is. */
trine_status factor_fail_range(trine_factor F);
bool factor_values_are_finite(const void *values, int64_t count, int parts);
/** Warn when the pivots span 1/eps or more. */
void factor_warn_if_nearly_singular(trine_factor F, double smallest_over_largest);

/** 1 or 2 numbers make one value of F: doubles, unless F was taken from a factor in single precision (adapters). */
static inline int factor_parts(trine_factor F) { return trine_dtype_is_complex(F->dtype) ? 2 : 1; }
static inline bool value_is_zero(const double *v, int parts) { return v[0] == 0 && (parts == 1 || v[1] == 0); }
/** Pointer to value k. */
static inline const double *value_at(const void *values, int64_t k, int parts)
{
    return (const double *)values + k * parts;
}
double value_abs(const double *v, int parts);
/** The same for values of any precision, of `size` bytes. */
static inline const char *entry_at(const void *values, int64_t k, size_t size)
{
    return (const char *)values + (size_t)k * size;
}
static inline bool entry_is_zero(const void *v, trine_dtype t)
{
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    return trine_dtype_is_single(t) ? ((const float *)v)[0] == 0 && ((const float *)v)[parts - 1] == 0
                                    : value_is_zero(v, parts);
}

/** Entries of L in F->panels that are not zero, all diagonal ones included. */
int64_t factor_panels_count(trine_factor F);
/** Sum the few densest rows of a Cholesky factor again, in extended precision. values: those of F->panels. */
trine_status factor_recompute_dense_rows(trine_factor F, void *values);
/** L of F->panels as a sorted CSC matrix of F->nnz_L entries. */
trine_status factor_panels_to_csc(trine_factor F, trine_matrix *L);

#endif
