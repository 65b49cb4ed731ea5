/* Inside of preconditioners: the plan, and the table by which a method plugs in. plan.c does what all methods share:
 * arguments, the copy of A, layouts, alpha; a method sees sorted compressed rows and column-major vectors. */
#ifndef TRINE_PRECOND_PRECOND_H
#define TRINE_PRECOND_PRECOND_H

#include <trine/precond.h>
#include <trine/spmv.h>
#include <trine/triangular.h>

#include "core/internal.h"
#include "core/plan.h"

struct precond_method;

struct trine_precond_s {
    struct trine_plan base;          /* n, dtype, ops, ctx */
    const struct precond_method *method;
    trine_precond_options options;   /* method, ops, max_nrhs and m are set; the rest as given */

    /* A as compressed rows with ascending columns, without duplicates, on the host. The plan's own. */
    int64_t nnz;
    int64_t *offsets;                /* n + 1 */
    int32_t *columns;                /* nnz */
    int64_t *diagonal;               /* n: where a_ii stands, -1: nowhere */
    void *values;                    /* nnz, of base.dtype; there in numeric, and from then on */
    int64_t *positions;              /* where each of them stands in what numeric is given; NULL: in place */
    trine_matrix matrix;             /* a view of these arrays, for the constructors of other modules */
    trine_matrix given;              /* the A of analyse, whose values numeric takes if it is given none */

    /* On a GPU: A there, if numeric runs there. What the host has is then brought home when it is asked for. */
    struct precond_device_matrix *device; /* NULL: numeric runs on the host */
    struct precond_device_matrix *looked; /* what a choice of the method has made, while analyse runs */
    pthread_mutex_t home_lock;       /* of is_home, and of bringing home */
    bool is_home;

    void *state;                     /* the method's own */
    trine_precond_info info;         /* the method fills m, factor_entries and reason, the last two if it likes */

    /* What check says: of the last numeric, the first row */
    int64_t not_finite_row;          /* with a NaN or Inf among its values; -1: none */
    int64_t pivot_row;               /* whose pivot is zero (or NaN, or of IC0 not positive); -1: none */
    trine_status pivot_status;       /* SINGULAR or NOT_DEFINITE */
};

/** Of a diagonal that must be real (IC0's), the imaginary part may be so many rounding errors of the real part: what
 *  products like B^H B leave there. It is dropped; a larger one makes the pivot NaN. */
enum { PRECOND_MOST_ROUNDING = 32 };

/** Where terms of an entry of B_l of MOS_A cancel, rounding errors are left, which are no edges of its forest: a GPU
 *  has others than a CPU. Entries of diagp1(B_l)^-1 B_l below so many eps are none. */
enum { PRECOND_ROUNDING = 64 };

/** Note that the pivot of a row is of no use; the first row stays. For one thread at a time. */
static inline void precond_note_pivot(trine_precond p, int64_t row, trine_status status)
{
    if (p->pivot_row >= 0 && p->pivot_row <= row) return;
    p->pivot_row = row;
    p->pivot_status = status;
}

struct precond_work {
    trine_plan_work base;
    void *scratch;                   /* scratch_bytes of the method, 64-byte aligned */
    void *part;                      /* the method's own: works of plans that it is made of */
};

/** X := op(M)^-1 B. Column-major; X->data == B->data with the same ld, or no overlap; at least one row and column. */
struct precond_call {
    trine_transpose op;              /* one of the method's */
    const trine_dense *B, *X;
    struct precond_work *work;       /* for at least so many columns; one call at a time */
    void *stream;
};

/** What a method does. Functions that are NULL have nothing to do. All run with the plan's arrays in place. */
struct precond_method {
    unsigned ops;                    /* that it has, of TRINE_N | TRINE_T | TRINE_H */
    /** Options that are wrong whatever the matrix is, but for ops and max_nrhs. */
    trine_status (*check_options)(const trine_precond_options *options);
    /** Make p->state of pattern and options. p->values are allocated, but not set. */
    trine_status (*analyse)(trine_precond p);
    /** Values have been set, and scanned for NaN and Inf. Zero pivots are noted, and are no failure. On a GPU on the
     *  context's stream, which is waited for afterwards. */
    trine_status (*numeric)(trine_precond p, trine_reuse reuse);
    /** The same with the values of p->device, if analyse has opened it. numeric then comes afterwards, perhaps never:
     *  to note pivots, and to fill what the host is asked for, with the forests that there are. */
    trine_status (*numeric_on_device)(trine_precond p, trine_reuse reuse);
    /** What else trine_precond_check is to say, after pivot_row and not_finite_row. */
    trine_status (*check)(trine_precond p, void *stream);
    trine_status (*apply)(trine_precond p, const struct precond_call *call);
    /** Where that divides by n numbers: these, in the context's space. */
    const void *(*diagonal)(trine_precond p);
    /** Bytes of work->scratch for nrhs columns; fixed by analyse. */
    size_t (*scratch_bytes)(trine_precond p, int64_t nrhs);
    /** Make work->part for nrhs columns. A failure is followed by work_end. */
    trine_status (*work_begin)(trine_precond p, struct precond_work *work, int64_t nrhs);
    void (*work_end)(trine_precond p, struct precond_work *work);
    /** Bytes that the state keeps. */
    int64_t (*memory)(trine_precond p);
    /** Free p->state, which may be NULL or half made. */
    void (*release)(trine_precond p);
};

/** A new plan, with no row noted (plan.c). */
trine_status precond_new_plan(trine_context ctx, trine_precond *plan);

/* What trine_precond_analyse and trine_precond_memory share (plan.c). */
trine_status precond_check_options(const trine_precond_options *options);
/** All of analyse but the plan's own work. options: as given; p->options are settled. */
trine_status precond_prepare(trine_precond p, trine_matrix A, const trine_precond_options *options);
size_t precond_work_bytes(trine_precond p, int64_t nrhs);

/* Plans of other modules, for the ops and as many vectors as p has, or of a p in a context that counts what they
 * take (memory.c); *out is left alone there. */
trine_status precond_make_product(trine_precond p, trine_matrix A, trine_spmv *out);
trine_status precond_make_solve(trine_precond p, trine_matrix T, const trine_triangular_options *options,
                                trine_triangular *out);
/** Of p->matrix. */
trine_status precond_make_forest_of(trine_precond p, const trine_forest_options *options, trine_forest *out);

/** Give a plan A in device memory, without values, so that numeric_on_device runs (device.c). */
trine_status precond_open_device(trine_precond p);
void precond_close_device(trine_precond p);
/** p->looked becomes what precond_open_device makes, or is freed. */
trine_status precond_open_look(trine_precond p);
void precond_close_look(trine_precond p);
int64_t precond_device_bytes(trine_precond p);
/** p->device's values from values in A's order. */
trine_status precond_take_device_values(trine_precond p, trine_space space, const void *values);
/** Values, pivots and whatever else the host has are those of the last numeric. Synchronizes. */
trine_status precond_bring_home(trine_precond p);

extern const struct precond_method precond_diagonal; /* DIAGP0..L1 */
extern const struct precond_method precond_paths;    /* TRIDIAG, ALG_TRI, ALT_O, ALT_I, MOS_D, MOS_A, ADI */
extern const struct precond_method precond_blocks;   /* ALG_TRI_BLOCK */
extern const struct precond_method precond_operators; /* PRODUCT */
extern const struct precond_method precond_multilevel; /* MULTILEVEL (multilevel/) */
extern const struct precond_method precond_ilu;      /* ILU0, ILUK, ILUT, IC0, ISAI (ilu/) */

#endif
