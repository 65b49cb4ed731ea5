/* Inside of the triangular plan. */
#ifndef TRINE_TRIANGULAR_TRIANGULAR_H
#define TRINE_TRIANGULAR_TRIANGULAR_H

#include <trine/triangular.h>

#include "core/internal.h"
#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One direction of solving: T, or its transpose. */
struct triangular_side {
    int64_t n_levels, min_rows_per_level, max_rows_per_level; /* for trine_triangular_info; n_levels -1: not computed */
    int64_t n_steps, entries; /* of partitioned inverses: groups, and entries of all rows */
    double seconds; /* that a solve is predicted to take; 0: not known */
    void *part; /* the backend's own, made by its analyse_side; NULL: not announced */
};

enum { SIDE_N, SIDE_T, SIDES }; /* T, and its transpose (conjugated on the fly for op H) */

struct trine_triangular_s {
    struct trine_plan base;
    int64_t nnz_matrix;
    trine_matrix T; /* lent by the caller: only for numeric without values */
    trine_triangular_options options;
    trine_triangular_method method;
    const char *reason;
    const struct triangular_backend *backend;
    struct triangular_side side[SIDES];
    trine_triangular_info info;
    /* What AUTO goes by (auto.c) */
    double solves; /* groups of partitioned inverses are chosen for so many; 0: for solves alone */
    double
        most_seconds; /* analysis ends early, with is_too_slow, where analysis, numeric and solves together are going to
                         take longer; 0: any time */
    bool is_too_slow;
    trine_triangular_prediction predicted[TRINE_TRI_PARTITIONED_INVERSE + 1];
    trine_triangular plain; /* of partitioned inverses that AUTO has taken: the plan without them, for values whose
                               inverses lose digits; NULL: none */
    bool refines; /* atomic: solves by inverses take a step of refinement, asked for or since check has seen what they
                     lose without it */
    bool runs_plain; /* atomic: the last values are of that kind */
};

struct triangular_work {
    trine_plan_work base;
    void *recorded; /* what a backend keeps from solve to solve, on the host */
    void (*forget)(struct triangular_work *work); /* releases it; NULL: there is nothing */
    int reset_half; /* 1 + the half of the buffer that the last solve has reset for the next one; 0:
                       neither */
    bool captured; /* a solve was: nobody knows when it runs */
    trine_work plain; /* of the plan's plain one, in the end of the buffer */
};

/** What a solve needs to know, checked already. row_stride, column_stride: element (i,j) at [i*row_stride +
 *  j*column_stride]. */
struct triangular_solve {
    int side;
    const void *part; /* the backend's, of this side */
    bool conjugate;
    const void *alpha; /* NULL = 1 */
    const void *B;
    void *X;
    int64_t nrhs, b_row, b_col, x_row, x_col;
    void *stream;
    struct triangular_work *work;
};

/** What the memory of a plan depends on. */
struct triangular_extent {
    int64_t n, nnz, nnz_matrix; /* nnz: off-diagonal entries of the triangle; nnz_matrix: all of T's */
    bool on_host, csr, ascending; /* the pattern: where it is; T's format; indices ascend in every compressed row */
};

/** Bytes in one space: kept, and most at a time. */
struct triangular_bytes { int64_t kept, peak; };
/** Something that takes so many bytes meanwhile, then keeps some. */
static inline void bytes_add(struct triangular_bytes *b, int64_t kept, int64_t meanwhile)
{
    const int64_t most = b->kept + (kept > meanwhile ? kept : meanwhile);
    if (most > b->peak) b->peak = most;
    b->kept += kept;
}

/** What a method does in its own way. analyse runs down the first three functions: the pattern once, then every side
 *  that is announced. */
struct triangular_backend {
    /** T's pattern as the backend reads it, for analyse_side: new, in *pattern, also after a failure. Settles uplo. */
    trine_status (*read_pattern)(trine_triangular plan, trine_matrix T, void **pattern);
    /** One side: check the pattern, settle info.nnz and plan->method, put rows in order, make the side's part with
     *  all that solves need. A part that is there after a failure is released. */
    trine_status (*analyse_side)(trine_triangular plan, void *pattern, int side);
    void (*drop_pattern)(trine_triangular plan, void *pattern);
    void (*release)(trine_triangular plan, struct triangular_side *side);
    trine_status (*numeric)(trine_triangular plan, trine_space space, const void *values, void *stream);
    trine_status (*bad_row)(trine_triangular plan, void *stream, int64_t *row);
    size_t (*work_bytes)(trine_triangular plan, int64_t nrhs);
    /** Upper bounds of what analyse allocates, and of a work for options.max_nrhs. plan: only its base, options and
     *  method are set. */
    trine_status (*memory)(trine_triangular plan, const struct triangular_extent *e, struct triangular_bytes *host,
                           struct triangular_bytes *device, int64_t *work);
    /** What a new work object, which has its buffer, needs besides; what it made when it fails goes with the work.
     *  NULL: nothing. */
    trine_status (*make_work)(trine_triangular plan, struct triangular_work *work);
    trine_status (*solve)(trine_triangular plan, const struct triangular_solve *s);
    /* sums are made in whatever order their terms arrive: results vary in the last digits */
    bool any_order;
    /** The largest componentwise backward error of solves without refinement, with each side, of pseudorandom solutions
     *  and of pseudorandom right-hand sides: a median where it matters (partition.h). After numeric. Synchronizes.
     *  NULL: the method is substitution. */
    trine_status (*probe)(trine_triangular plan, void *stream, double *error);
};
extern const struct triangular_backend triangular_cpu, triangular_syncfree_csr, triangular_syncfree_csc,
    triangular_levelset, triangular_partitioned, triangular_partitioned_gpu;

/** A plan as the options say, without a work of its own. solves, most_seconds: as in the plan. */
trine_status triangular_make(trine_context ctx, trine_matrix T, const trine_triangular_options *options, double solves,
                             double most_seconds, trine_triangular *out);
/** *plan, made by AUTO without inverses: in its place one of partitioned inverses, which keeps it, if T and the number
 *  of solves promise that these take less time altogether. */
trine_status triangular_consider_inverses(trine_triangular *plan, trine_matrix T);
/** Whether partitioned inverses of such a triangle may be worth their analysis, where a solve without them takes
 *  `seconds` with all sides and levels are as many. If not, predicted says why. */
bool triangular_inverses_may_pay(trine_triangular plan, int64_t nnz, int64_t levels, double seconds);
/** The most seconds that a solve without inverses may be predicted to take, of a side with so many entries. */
double triangular_slowest_solve(trine_triangular plan, int64_t nnz);
/** After numeric, or on a GPU check: whether solves go by the plan's plain one. */
void triangular_settle_growth(trine_triangular plan);

/** Read T's pattern; settles uplo. */
trine_status triangle_find_extent(trine_triangular plan, trine_matrix T, struct triangular_extent *e);

#ifdef __cplusplus
}
#endif
#endif
