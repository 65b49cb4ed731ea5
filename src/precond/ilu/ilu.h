/* Inside of the incomplete factorizations: patterns, schedules of rows for threads, values, approximate inverses. All
 * on the host. Patterns and schedules depend on the pattern of A alone, but for ILUT's. */
#ifndef TRINE_PRECOND_ILU_ILU_H
#define TRINE_PRECOND_ILU_ILU_H

#include "core/internal.h"

/* ----------------------------------------------------------------- pattern */

/** Rows of L and U in one matrix, columns ascending: L's diagonal is 1 and not stored. Or L alone, with its diagonal
 *  (IC(0)). Row i's diagonal stands at diagonal[i], what is before it in the row belongs to L. */
struct ilu_pattern {
    int64_t n, nnz;
    int64_t *offsets;  /* n + 1 */
    int32_t *columns;  /* nnz */
    int64_t *diagonal; /* n */
    int64_t *source;   /* nnz: where the entry stands among those of A, -1: nowhere, it is fill; NULL: in place */
    bool is_lent;      /* its arrays belong to somebody else */
};

/** IC(0): the lower triangle of `a`. After a failure there is nothing in *out, here and below. */
trine_status ilu_pattern_lower(trine_context ctx, const struct ilu_pattern *a, struct ilu_pattern *out);
/** ILU(k): `a` and all fill up to `level`: entries of A have level 0, and fill from l_ik u_kj has the sum of these two
 *  levels plus 1, the least over all k (Saad 2003, Iterative Methods for Sparse Linear Systems, Section 10.3.3). */
trine_status ilu_pattern_fill(trine_context ctx, const struct ilu_pattern *a, int level, struct ilu_pattern *out);
void ilu_pattern_free(trine_context ctx, struct ilu_pattern *p);
/** Room for n rows and nnz entries, without source. What has been allocated so far stays in *out, also after a
 *  failure. */
trine_status ilu_pattern_allocate(trine_context ctx, int64_t n, int64_t nnz, struct ilu_pattern *out);
/** An array of `count` elements in room for `room` of them. */
trine_status ilu_grow(trine_context ctx, void **array, int64_t count, int64_t room, size_t size);

/* ---------------------------------------------------------------- schedule */

/** How far a thread's tasks have been begun; both are atomic. */
struct ilu_list {
    _Alignas(64) int64_t next; /* the first task that nobody has begun */
    int attended;              /* its thread has come, and goes on with them */
};

/** Which thread factors which rows when. A row needs the rows that its entries before the diagonal name: they are in
 *  the same task before it, or in earlier tasks. Tasks k, k + threads, k + 2 threads, ... are meant for one thread,
 *  which finishes one row after another, and waits for rows of other threads one by one. */
struct ilu_schedule {
    int threads;    /* 1: row after row; no other member is used */
    int64_t n_tasks;
    int64_t *tasks; /* n_tasks + 1: task k is rows tasks[k] .. tasks[k+1] - 1 */
    double patience; /* seconds that no task takes while its thread has a core */
    /* of a factorization under way: */
    uint8_t *ready;         /* n: 1 for rows that are finished; atomic */
    struct ilu_list *lists; /* of each thread */
};

/** The schedule with the earliest end in a simulation: one thread, or rows shared in one of several ways. */
trine_status ilu_schedule_make(trine_context ctx, const struct ilu_pattern *p, struct ilu_schedule *out);
void ilu_schedule_free(trine_context ctx, struct ilu_schedule *s);

/* ------------------------------------------------------------------ values */

/** A factorization: what goes in, and where it goes. */
struct ilu_factor {
    trine_context ctx;
    trine_dtype dtype;
    const struct ilu_pattern *pattern;
    const struct ilu_schedule *schedule;
    const void *a;   /* values of A */
    const void *diagonal; /* n, in place of A's; NULL: A's */
    void *values;    /* of the pattern */
    void *scratch;   /* threads times n elements */
    int64_t bad_row; /* the first one whose pivot is zero or, of IC(0), not positive, or whose factors are not finite;
                        -1: none. The same for any number of threads */
};

/** (L U)_ij = a_ij on the pattern. Rows that need one with a zero pivot are not finite. */
void ilu_factor_lu(struct ilu_factor *f);
/** (L L^H)_ij = a_ij on the pattern of the lower triangle, which alone is read. A pivot that is not positive
 *  becomes NaN. */
void ilu_factor_cholesky(struct ilu_factor *f);

/** shifted[i] := a_ii made larger, in the direction that it has (1 of zero), by the shift times the largest |a_ij| that
 *  the pattern has of row i. */
void ilu_shift_diagonal(const struct ilu_pattern *p, trine_dtype dtype, const void *a, double shift, void *shifted);

/** ILUT (Saad 1994): rows one after another. What is to be entry (i,k) of L times its pivot, and entry (i,j) of U, are
 *  dropped where they are smaller than `tolerance` times the 2-norm of row i of A; of what is left in either triangle
 *  the `most` largest off the diagonal are kept, of equal ones those of lower columns. So a row times a number has the
 *  same pattern. a: the pattern of A; f: its pattern and schedule are not read, its values are made and belong to the
 *  caller. One thread. */
trine_status ilu_factor_threshold(struct ilu_factor *f, const struct ilu_pattern *a, double tolerance, int64_t most,
                                  struct ilu_pattern *out);

/* ------------------------------------------------- approximate inverses */

/** A triangle T with its diagonal, and W on the same pattern with (W T)_ij = I_ij there (incomplete sparse approximate
 *  inverse; Anzt, Huckle, Bräckle and Dongarra 2018). */
struct ilu_inverse {
    trine_uplo uplo;
    int64_t n, nnz;
    int64_t *offsets; /* n + 1 */
    int32_t *columns; /* nnz */
    void *t, *w;      /* nnz values each */
    void *scratch;    /* threads times n elements */
    int threads;
};

/** The pattern of L (with its diagonal) or U, and room for the rest. */
trine_status ilu_inverse_make(trine_context ctx, const struct ilu_pattern *p, trine_uplo uplo, trine_dtype dtype,
                              struct ilu_inverse *out);
void ilu_inverse_free(trine_context ctx, struct ilu_inverse *v);
/** T and W from the values of L and U. */
void ilu_inverse_numeric(trine_context ctx, const struct ilu_pattern *p, const void *values, trine_dtype dtype,
                         struct ilu_inverse *v);

/** So many threads that rows of their own, n elements each, take no more than twice the memory of nnz values. */
int ilu_threads(trine_context ctx, int64_t n, int64_t nnz);

#endif
