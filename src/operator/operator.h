/* Inside of operators: a tree of nodes, each of a kind with a table of functions, and works that are trees of the
 * same shape. */
#ifndef TRINE_OPERATOR_OPERATOR_H
#define TRINE_OPERATOR_OPERATOR_H

#include <trine/operator.h>

#include "core/internal.h"
#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Y := alpha op(A) X + beta Y, checked: blocks with ld, at least one row and column each. */
typedef struct {
    trine_transpose trans;
    double alpha[2], beta[2]; /* real and imaginary part, exact in every dtype; alpha != 0 */
    trine_dense X, Y;
    void *stream;
} op_call;

typedef struct {
    struct trine_work_s base;
    int64_t nrhs;
    void *buffer;             /* of the whole tree; only in its root, and only if the work allocated it: else NULL */
    void *scratch;            /* the node's own */
    trine_work plan_work;     /* of a plan's operator */
    trine_work *parts;        /* one for each of the operator's, NULL until made */
} op_work;

typedef struct {
    /** Bytes of the node's own scratch. NULL: none. nrhs times rows or columns is known not to overflow. */
    size_t (*scratch_bytes)(trine_op op, int64_t nrhs);
    trine_status (*apply)(trine_op op, const op_call *call, op_work *work);
    void (*release)(trine_op op); /* the kind's own members; NULL: none */
} op_kind;

struct trine_op_s {
    int refs;
    trine_context ctx;
    const op_kind *kind;
    trine_op_info info;
    unsigned announced;       /* ops as the leaf was given them; info.ops has both T and H if the operator is real
                                 and has one */
    int count;
    trine_op *parts;          /* of a product, a sum, a transpose or a cast */
    void *coefficients;       /* of a sum: count of info.dtype, or NULL */
    trine_transpose transposes; /* of a transpose: T or H */
    const void *diagonal;     /* info.rows elements in the context's space that y := A x multiplies x by, or, */
    bool divides;             /* divides it by; NULL: it is no diagonal matrix, or the identity */
    trine_apply_fn function;  /* of a callback, with `user` */
    void *user;
    void (*release)(void *user);
    struct trine_plan *plan;  /* of a plan's operator, which has a reference to it */
    trine_work own_work;      /* of calls without one; NULL: there was no such call yet */
    trine_usage usage, own_usage;
};

/** A new node with one reference, `count` parts still NULL. *op is NULL after a failure. */
trine_status operator_create(trine_context ctx, const op_kind *kind, const trine_op_info *info, int count,
                             trine_op *op);
/** The operator of a plan, rows x cols, which it keeps alive, in a kind of the caller's: apply gets a work of the
 *  plan's in work->plan_work. plan and op are not NULL. */
trine_status operator_of_plan(struct trine_plan *plan, const op_kind *kind, int64_t rows, int64_t cols, trine_op *op);
/** Y := alpha op(A) X + beta Y with the work made for this node; the call is checked, but alpha may be zero, and
 *  blocks may be empty. */
trine_status operator_apply(trine_op op, const op_call *call, trine_work work);

/* ------------------------------------------------------------------ scalars */

/** *p of dtype t, or (value, 0) if p is NULL. */
void operator_read_scalar(trine_dtype t, const void *p, double value, double scalar[2]);
/** As dtype t in `room`, whose address it returns. */
typedef union {
    float s[2];
    double d[2];
} op_scalar_room;
const void *operator_scalar(trine_dtype t, const double scalar[2], op_scalar_room *room);
static inline bool op_is_zero(const double scalar[2]) { return scalar[0] == 0 && scalar[1] == 0; }

/** A block at `data` in the layout of `like`, without gaps. */
static inline trine_dense op_block(void *data, int64_t rows, const trine_dense *like)
{
    const trine_dense block = {data, rows, like->cols, like->layout == TRINE_COLMAJOR ? rows : like->cols,
                               like->layout};
    return block;
}
/** Scratch begins at multiples of this. */
enum { OP_ALIGNMENT = 256 };
static inline size_t op_padded(size_t bytes) { return (bytes + OP_ALIGNMENT - 1) / OP_ALIGNMENT * OP_ALIGNMENT; }

/* ------------------------------------------------------------------ kernels */

/** y(i,j) := alpha d(i) x(i,j) + beta y(i,j), element (i,j) at i*row + j*col. */
typedef struct {
    int64_t rows, cols;
    const void *x;       /* not read if alpha is zero */
    const void *d;       /* NULL: ones */
    void *y;             /* not read if beta is zero */
    int64_t x_row, x_col, y_row, y_col;
    double alpha[2], beta[2];
    bool conjugate;      /* d */
    bool other;          /* x is of the other precision: S and D, C and Z */
} op_update;
typedef trine_status (*op_update_fn)(trine_context ctx, const op_update *u, void *stream);
/** Indexed by the dtype of y. */
struct operator_backend { op_update_fn update[TRINE_Z + 1]; };
extern const struct operator_backend operator_cpu, operator_cuda;
/** The kernel on blocks of as many rows and columns; x_dtype: t, or the other precision. */
trine_status operator_run_update(trine_context ctx, trine_dtype t, const double alpha[2], const void *d, bool conjugate,
                                 trine_dtype x_dtype, const trine_dense *X, const double beta[2], const trine_dense *Y,
                                 void *stream);

#ifdef __cplusplus
}
#endif
#endif
