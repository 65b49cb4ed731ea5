/* What the adapters of src/direct share. An adapter gives a library's factorization the form of trine/direct.h. */
#ifndef TRINE_DIRECT_DIRECT_H
#define TRINE_DIRECT_DIRECT_H

#include <pthread.h>

#include <trine/direct.h>

#include "core/direct_interface.h"
#include "core/plan.h"

/** One factorization library. F->n >= 1; F->A is set. */
struct factor_backend {
    /** NULL, as numeric is, where F was taken from another program. Ordering and symbolic part from the pattern of
     *  F->A; sets F->ordering, F->state and, where the library tells it apart, F->symbolic_seconds. */
    trine_status (*analyse)(trine_factor F);
    /** Factor the values of F->A; fills the counts of F. May be called again after the values of F->A changed. */
    trine_status (*numeric)(trine_factor F);
    /** The permutations, the scales, the panels or the triangles of F, if numeric has not filled them; NULL: it has, or
     *  they stay in the library. */
    trine_status (*take_parts)(trine_factor F);
    trine_status (*triangle)(trine_factor F, trine_uplo which, trine_matrix *T);
    /** Fill F->upper; NULL where there are no panels of U. */
    trine_status (*upper_panels)(trine_factor F);
    /** The values of F->panels are not needed before the next numeric part. NULL: they stay. */
    void (*drop_panels)(trine_factor F);
    /** Free F->state; it may be half made, or NULL. */
    void (*release)(trine_factor F);
    /** NULL, or X := op(A)^-1 B by the library itself, for blocks of columns in the context's space: X apart from B on
     *  a GPU, X = B without gaps on a CPU. One at a time. */
    trine_status (*solve)(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream);
};
extern const struct factor_backend factor_cholmod, factor_klu, factor_superlu, factor_umfpack, factor_cudss;

/** What choices need to know of A, by value. Of a pattern that is not symmetric nothing else is known: all false. */
struct factor_structure {
    bool known, pattern_symmetric, symmetric, hermitian;
    bool positive_diagonal; /* every diagonal entry is there, real and positive */
    bool full_diagonal;     /* every diagonal entry is there, and none is zero */
};

/** What a factor is made for: to be handed out in parts or to plans; solves by its library; so few of them that one
 *  may take longer if the factor takes less time. */
enum factor_use { FACTOR_FOR_PLANS, FACTOR_BY_LIBRARY, FACTOR_ONCE };

/** A symbolic count of what a factorization needs. */
struct factor_count { double flops, entries; /* entries 0: not counted */ };

struct trine_factor_s {
    int refs;
    trine_context ctx;
    trine_factor_options options;
    const struct factor_backend *backend; /* NULL for n = 0 */
    void *state;                          /* the backend's */
    bool factored;                        /* false after an update that failed */
    enum factor_use use; /* that it was made for */
    unsigned ops; /* op(A) that solves are for; both N and T where nobody says */
    bool by_library; /* solves are the library's where it can, and parts are taken when asked for */
    bool updated; /* there were new values */
    bool of_plan; /* a plan made it for itself, and takes its triangles away */
    bool has_parts; /* backend->take_parts was called */
    uint64_t pattern; /* of the triangles: two that are alike have one number. 0: not known before they are compared */
    bool kept_pivots; /* those of old values, in the last numeric part */
    bool trusted; /* and growth says that they are as good as when a trial solve found them so */
    pthread_mutex_t lock; /* of a library's solve, and of taking parts */

    trine_matrix A; /* CSC in D or Z, sorted, duplicates summed; NULL: another program factored
                       it */
    trine_matrix lender; /* whose arrays A has, unless NULL: the caller's */
    uint64_t pattern_hash; /* of A then */
    /* Of new values stored by rows: their pattern, and the place of each in F->A; NULL until there were some. */
    int64_t *given_offsets;
    int32_t *given_indices, *given_places;
    int64_t *wide_rows; /* factor_wide_rows */
    int32_t *narrow_offsets; /* factor_narrow_offsets */
    bool has_full_rank; /* structurally, as is known */
    struct factor_structure structure; /* of A; look at it after factor_know_structure */
    trine_dtype dtype;
    int64_t n, nnz_given; /* nnz as the caller stored them */
    int64_t nnz_L, nnz_U;
    trine_direct_method method;
    trine_ordering ordering;
    trine_diag diag_L;
    double order_seconds, symbolic_seconds, factor_seconds;
    char reason[256];

    int32_t *given_order; /* options.permutation, copied; NULL: none */
    int32_t *symmetric_order; /* of A + A^T, by symmetric_ordering; NULL: not made yet */
    trine_ordering symmetric_ordering;
    struct factor_count count; /* of Cholesky in that order, or by another library's analysis */

    int32_t *row_perm, *col_perm; /* one array for Cholesky: col_perm == row_perm */
    double *row_scale, *col_scale; /* NULL: ones */
    trine_matrix triangles[2]; /* L (UMFPACK: by rows) and U (L D L^H: by rows) as sorted CSC, of a factor
                                  without panels; Cholesky: U NULL */
    trine_matrix
        spare[3]; /* of a plan's factor, from the first new values on: triangles, and A, of values before, whose
                     memory serves again */
    double trial_error; /* backward error of a solve with the triangles, in eps; of the best step */
    int refine; /* steps of refinement that it took */
    int refine_new; /* and trial_new, those of these pivots when they were chosen */
    double trial_new;
    trine_panels panels; /* n_panels = 0: there are none */
    int32_t *first_column, *panel_rows; /* what panels does not borrow from the library */
    int64_t *row_offsets, *value_offsets;
    trine_panels upper; /* of U^T, all of it owned here; n_panels = 0: not made yet */
};

/** Where the context's vectors live. */
static inline trine_space direct_space(trine_context ctx)
{
    trine_context_info info = {0};
    trine_context_get_info(ctx, &info); /* fails for NULL alone */
    return info.space;
}

/** Whether F's library solves by itself. */
static inline bool factor_solves(trine_factor F)
{
    return F->backend && F->backend->solve && (F->by_library || F->method == TRINE_DIRECT_CUDSS);
}
/** By F's library, for contiguous columns on the host; op as direct_op has it. */
trine_status factor_solve_in_place(trine_factor F, trine_transpose op, const trine_dense *X);
/** Of cuDSS's factor F: whether solves with op are those with A of conj(b), and their x is conj of what comes out. */
bool factor_cudss_conjugates(trine_factor F, trine_transpose op);
/** trine_factor_create, for solves with the ops. */
trine_status factor_create(trine_context ctx, trine_factor *F, trine_matrix A, const trine_factor_options *options,
                           enum factor_use use, unsigned ops);
/** What the library has not handed out yet of F's permutations, scales, panels and triangles. */
trine_status factor_take_parts(trine_factor F);

/** A number for factor.pattern that no other pattern has. */
uint64_t factor_new_pattern(void);

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

/** Solve once for each op of factor_trial_ops, with F->triangles or by the library, for a known solution, and refine
 *  until the backward error is small: sets F->trial_error and F->refine to the largest. */
trine_status factor_try(trine_factor F);
/** Of F->ops those that a trial looks at: the error of A^H is that of A^T. A factor with columns of very different
 *  sizes may be accurate for A in norms, of which the largest columns are all, and not for A^T. */
unsigned factor_trial_ops(trine_factor F);
/** Whether the solve of factor_try ended with a backward error that is small enough. */
bool factor_is_accurate(trine_factor F);
/** Whether it ended with one that may be called a solution, be it larger than it should be. */
bool factor_is_usable(trine_factor F);
/** One permutation of rows and columns, and a Hermitian matrix: Cholesky and L D L^H. */
bool factor_is_symmetric(trine_direct_method method);
/** Analysis by one library, then its numeric part; the reason is one clause. */
__attribute__((format(printf, 3, 4))) trine_status factor_analyse(trine_factor F, trine_direct_method method,
                                                                  const char *reason, ...);
trine_status factor_numeric(trine_factor F);
/** The library's own choice, by structure and count; each choice that fails falls back to the next (choose.c). */
trine_status factor_auto(trine_factor F);
/** After factor_numeric for new values ended with status: what AUTO chose for the old ones, or the next that will
 *  do. */
trine_status factor_auto_update(trine_factor F, trine_status status);
/** F, which is SuperLU's by AUTO's choice, anew by UMFPACK in METIS's order; *taken: it is accurate. Else SuperLU's
 *  again. */
trine_status factor_lu_by_rows(trine_factor F, const char *why, bool *taken);
/** SuperLU, and UMFPACK where SuperLU cannot. */
trine_status factor_superlu_or_umfpack(trine_factor F, const char *reason);
/** The flops and entries of L + U that KLU expects, after factor_analyse by KLU in AMD's order. */
struct factor_count factor_klu_count(trine_factor F);

/** What KLU takes as a pivot on the diagonal, of the largest entry of its column, when it factors next; 0: its default
 *  here. */
void factor_klu_set_tolerance(trine_factor F, double tolerance);

/** The arrays of F->A; n alone where that is NULL. */
struct factor_input {
    int64_t n, nnz;
    const int64_t *offsets;
    const int32_t *indices;
    const double *values;
};
struct factor_input factor_get_input(trine_factor F);
/** The structure of A: CSC, D or Z, sorted, without duplicates. */
trine_status factor_find_structure(trine_context ctx, trine_matrix A, struct factor_structure *s);
/** *W is A the way every adapter wants it, CSC, D or Z, sorted, without duplicates, and *s its structure. *W NULL: A
 *  has to be converted or sorted first, or does not do. */
trine_status factor_take_matrix(trine_factor F, trine_matrix A, trine_matrix *W, struct factor_structure *s);
/** TRINE_ERR_ARGUMENT if F->A's arrays are the caller's and have another pattern now. */
trine_status factor_check_borrowed(trine_factor F);
/** New values: *W is A with the pattern of F->A, and *s its structure where F's method is for Hermitian matrices. *W
 *  NULL: A is stored in another way, in another precision, has another pattern, or does not do. */
trine_status factor_take_values(trine_factor F, trine_matrix A, trine_matrix *W, struct factor_structure *s);
/** F->structure, unless it is known. */
trine_status factor_know_structure(trine_factor F);

/** The int32 array in 64 bits, which CHOLMOD's and UMFPACK's long interfaces want; new. */
trine_status factor_widen(trine_context ctx, int64_t count, const int32_t *narrow, int64_t **wide);
/** A's rows in 64 bits, or its offsets in 32, made once for ordering, analysis and numeric part, and F's own:
 *  factor_drop_copies. */
trine_status factor_wide_rows(trine_factor F, int64_t **rows);
trine_status factor_narrow_offsets(trine_factor F, int32_t **offsets);
void factor_drop_copies(trine_factor F);
/** A backend's triangle where F->triangles are made. */
trine_status factor_held_triangle(trine_factor F, trine_uplo which, trine_matrix *T);
/** trine_factor_get_triangle by rows or by columns, whichever costs nothing. */
trine_status factor_any_triangle(trine_factor F, trine_uplo which, trine_matrix *T);
enum { SPARE_MATRIX = 2 }; /* in factor.spare */
/** A matrix of F's dtype and order with `count` entries, to be filled but for offsets[0] = 0: the spare one if it fits,
 *  else new. *again, unless NULL: which it is. */
trine_status factor_make_matrix(trine_factor F, int which, trine_format format, int64_t count, trine_matrix *M,
                                int64_t **offsets, int32_t **indices, void **values, bool *again);
/** *M is not needed any more: its memory stays where new values come again and again. */
void factor_spare_matrix(trine_factor F, int which, trine_matrix *M);
/** Drop what the last numeric part left, keep ordering and symbolic part. */
void factor_clear_numeric(trine_factor F);

/** F->symmetric_order of the pattern of A + A^T, if it is not there: AUTO is AMD, and METIS where it fills less and
 *  the factor is so dense that this pays. F->count: of Cholesky in that order, where AMD or AUTO was asked for. */
trine_status factor_order_symmetric(trine_factor F, trine_ordering which);
/** perm[k]: the k-th column in the order asked for, anything but AUTO. */
trine_status factor_column_order(trine_factor F, trine_ordering which, int32_t *perm);
/** qsort's order of int32_t. */
int factor_ascending(const void *a, const void *b);
/** TRINE_ERR_MEMORY if a factor of so many bytes, and of F->count.entries, is more than there is room for (room.c). */
trine_status factor_check_room(trine_factor F, double bytes);
/** What a factorization takes at most, in the log: as a warning where that is more than there is. */
void factor_tell_room(trine_factor F, double bytes);
/** TRINE_ERR_SINGULAR unless every column can be given a row of its own (Duff 1981, algorithm 575). Looked at once. */
trine_status factor_check_structural_rank(trine_factor F);
/** TRINE_ERR_SINGULAR: the pivot of this column of A, the number-th, is exactly zero. */
trine_status factor_fail_zero_pivot(trine_factor F, int64_t column, int64_t number);
/** TRINE_ERR_NOT_DEFINITE: Cholesky found no positive pivot there. */
trine_status factor_fail_not_definite(trine_factor F, int64_t column, int64_t number);
/** TRINE_ERR_NO_CONVERGENCE: numbers of the factorization became NaN or Inf, whatever the matrix is. */
trine_status factor_fail_range(trine_factor F);
/** KLU and UMFPACK scale a row by the sum of its entries, which may overflow, or its reciprocal may. */
bool factor_scales_are_good(trine_factor F);
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
