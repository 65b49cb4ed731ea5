/* Inside of the triangular plan. */
#ifndef TRINE_TRIANGULAR_TRIANGULAR_H
#define TRINE_TRIANGULAR_TRIANGULAR_H

#include <trine/triangular.h>

#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One direction of solving, in gather form: position p is the p-th row to be solved. Row order[p] of op(T) has its
 *  off-diagonal entries at offsets[p] .. offsets[p+1], in the order in which they are subtracted. On the CPU, columns are
 *  row numbers; on the GPU, positions. source[k] and pivot_source[p] say where the values stand among T's. */
struct triangle {
    int64_t n, nnz;            /* nnz: off-diagonal entries */
    int64_t *offsets;          /* n + 1 */
    int32_t *columns;          /* nnz */
    int32_t *order;            /* n */
    int64_t *source;           /* nnz */
    int64_t *pivot_source;     /* n; NULL with a unit diagonal */
    int64_t n_levels;          /* -1: not computed */
    int64_t *level_offsets;    /* n_levels + 1; positions, once sorted by level */
    int32_t *by_level;         /* n: natural positions sorted by level; only during analysis */
    int64_t min_rows_per_level, max_rows_per_level;
    void *values;              /* nnz of the plan's dtype, taken by numeric */
    void *pivots;              /* n; see the backends */
    void *device;              /* the GPU backend's part */
    int step;                  /* CPU: order[p] = order[0] + step p, so that order need not be read; 0: rows are sorted by level */
    int8_t *nested;            /* CPU: nested[p] rows from position p on are solved together; NULL: each by itself */
    uint8_t *kinds;            /* CPU: what kind of row each is, see cpu/solve.c; NULL: not used */
    bool mostly_long;          /* CPU: most rows are of the longest kind */
    bool scaled;               /* CPU: every entry times its row's reciprocal pivot has all its digits */
    struct task_schedule *tasks; /* CPU: who solves which rows when; NULL: one thread, one row after another */
};

enum { SIDE_N, SIDE_T, SIDES };  /* T, and its transpose (conjugated on the fly for op H) */

struct trine_triangular_s {
    struct trine_plan base;
    int64_t nnz_matrix;
    trine_matrix T;                  /* lent by the caller: only for numeric without values */
    trine_triangular_options options;
    trine_triangular_method method;
    int threads;                     /* CPU: those that have cores */
    const char *reason;
    const struct triangular_backend *backend;
    struct device_pattern *pattern;  /* GPU: T's pattern, while it is analysed */
    struct triangle side[SIDES];     /* offsets == NULL: not announced */
    bool divide;                     /* CPU: a reciprocal pivot would overflow or lose digits, so pivots are kept as they are */
    int64_t bad_row;                 /* CPU: first row with a zero or NaN pivot, -1 if none */
    trine_triangular_info info;
};

struct triangular_work {
    trine_plan_work base;
    void *recorded;                  /* what a backend keeps from solve to solve, on the host */
    void (*forget)(struct triangular_work *work); /* releases it; NULL: there is nothing */
    int reset_half;                  /* 1 + the half of the buffer that the last solve has reset for the next one; 0: neither */
    bool captured;                   /* a solve was: nobody knows when it runs */
};

/** What a solve needs to know, checked already. row_stride, column_stride: element (i,j) at [i*row_stride + j*column_stride]. */
struct triangular_solve {
    const struct triangle *side;
    bool conjugate;
    const void *alpha;               /* NULL = 1 */
    const void *B;
    void *X;
    int64_t nrhs, b_row, b_col, x_row, x_col;
    void *stream;
    struct triangular_work *work;
};

/** What the memory of a plan depends on. */
struct triangular_extent {
    int64_t n, nnz, nnz_matrix;      /* nnz: off-diagonal entries of the triangle; nnz_matrix: all of T's */
    bool on_host, csr, ascending;    /* the pattern: where it is; T's format; indices ascend in every compressed row */
};

/** Bytes in one space: kept, and most at a time. */
struct triangular_bytes {
    int64_t kept, peak;
};
/** Something that takes so many bytes meanwhile, then keeps some. */
static inline void bytes_add(struct triangular_bytes *b, int64_t kept, int64_t meanwhile)
{
    const int64_t most = b->kept + (kept > meanwhile ? kept : meanwhile);
    if (most > b->peak) b->peak = most;
    b->kept += kept;
}

struct triangular_backend {
    /** Check T's pattern, settle uplo and info.nnz, and prepare every side that is announced. */
    trine_status (*analyse)(trine_triangular plan, trine_matrix T);
    /** One side: settle plan->method, put rows in its order, keep what solve needs. CPU: from t in natural order. GPU: from
     *  plan->pattern. */
    trine_status (*prepare)(trine_triangular plan, struct triangle *side);
    void (*release)(trine_triangular plan, struct triangle *side);
    trine_status (*numeric)(trine_triangular plan, trine_space space, const void *values, void *stream);
    trine_status (*bad_row)(trine_triangular plan, void *stream, int64_t *row);
    size_t (*work_bytes)(trine_triangular plan, int64_t nrhs);
    /** Upper bounds of what analyse allocates, and of a work for options.max_nrhs. plan: only its base, options and method are set. */
    trine_status (*memory)(trine_triangular plan, const struct triangular_extent *e, struct triangular_bytes *host, struct triangular_bytes *device, int64_t *work);
    /** What a new work object, which has its buffer, needs besides; what it made when it fails goes with the work. NULL: nothing. */
    trine_status (*make_work)(trine_triangular plan, struct triangular_work *work);
    trine_status (*solve)(trine_triangular plan, const struct triangular_solve *s);
    bool any_order;                  /* sums are made in whatever order their terms arrive: results vary in the last digits */
};
extern const struct triangular_backend triangular_cpu, triangular_syncfree_csr, triangular_syncfree_csc, triangular_levelset;

/** Read T's pattern; settles uplo. */
trine_status triangle_find_extent(trine_triangular plan, trine_matrix T, struct triangular_extent *e);

/** analyse in the table of a backend on the CPU. */
trine_status host_analyse(trine_triangular plan, trine_matrix T);

/** T's pattern as it sees it. */
struct pattern {
    const int64_t *offsets;
    const int32_t *indices;
    bool csr;
    bool lower_major;                /* lower, as the compressed rows (or columns) see it */
};
/** Gather form in natural order: along the compressed direction, or across it (transposed). Columns are positions. */
trine_status triangle_analyse(trine_triangular plan, struct triangle *t, const struct pattern *m, bool transposed);
/** Level sets of t in natural order: n_levels, level_offsets, by_level, statistics. */
trine_status triangle_find_levels(trine_triangular plan, struct triangle *t);
/** Put position sorted[s] at position s, for all s. */
trine_status triangle_reorder(trine_triangular plan, struct triangle *t, const int32_t *sorted);
/** Check the pattern: triangle, duplicates, missing diagonal; count the triangle's entries. */
trine_status triangle_check(trine_triangular plan, const struct pattern *m);
/** The same of compressed row i, indices[first .. last); seen: n zeros before the first row. Adds its entries to *nnz. */
trine_status triangle_check_row(trine_triangular plan, const struct pattern *m, int64_t i, int64_t first, int64_t last, const int32_t *indices,
                                int32_t *seen, int64_t *nnz);
/** Lower or upper, from whether the compressed rows have entries before and behind the diagonal; both is an error. */
trine_status triangle_set_uplo(trine_triangular plan, bool csr, bool before, bool behind);
void triangle_free(trine_triangular plan, struct triangle *t);

#ifdef __cplusplus
}
#endif
#endif
