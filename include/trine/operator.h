/* Linear operators Y := alpha op(A) X + beta Y: plans, diagonals and callers' functions, and what is put together of
 * them. */
#ifndef TRINE_OPERATOR_H
#define TRINE_OPERATOR_H

#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operator is a rows x cols matrix A of which only products with vectors are known. trine_triangular_as_op,
 * trine_supernodal_as_op and trine_tridiagonal_as_op make one of a plan. It keeps what it is made of alive: plans
 * and other operators may be destroyed before it, and new values of a plan show through. An operator does not
 * change: any number of threads may apply it at the same time, each with a work of its own. */
typedef struct trine_op_s *trine_op;

typedef struct {
    trine_dtype dtype;  /* of vectors and of alpha and beta */
    int64_t rows, cols;
    unsigned ops;       /* mask of the op(A) that can be applied. Of a real operator T and H are the same: it has
                           both or none */
    int64_t max_nrhs;   /* most vectors of one call; INT64_MAX where there is no limit */
    int capturable;     /* applied with a work, it may be recorded in a CUDA graph; 0 on the CPU */
    int varying;        /* not the same from call to call: for flexible methods only */
    trine_space space;  /* where vectors are: that of the context */
    int64_t reserved[4]; /* zeros */
} trine_op_info;

/** A function that applies an operator: Y := alpha op(A) X + beta Y. X and Y: checked, ld set, at least one row and
 *  column each, no overlap. alpha, beta: host scalars of the operator's dtype, never NULL; alpha is not zero, and
 *  where beta is, Y must not be read. exec: the stream (CUDA: never NULL) that the function puts its work on, and no
 *  work object. op: one of those announced. Several threads may be in it at once. Another status than TRINE_SUCCESS
 *  ends the whole apply, which returns it. */
typedef trine_status (*trine_apply_fn)(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                       const void *beta, const trine_dense *Y, const trine_exec *exec);

/** An operator of a caller's function. info: dtype, rows, cols; ops, 0 = TRINE_N; max_nrhs, 0 = no limit; capturable
 *  and varying as they are; space is not read. release(user), unless NULL, is called once, when the operator and all
 *  that it is a part of are gone; not after a failure of this function. */
TRINE_API trine_status trine_op_from_callback(trine_context ctx, trine_op *op, const trine_op_info *info,
                                              trine_apply_fn apply, void *user, void (*release)(void *user));

/** A := A_0 A_1 ... A_{count-1}: A_{count-1} is applied to X first; with op T or H, A_0 is. Factors: of ctx, of one
 *  dtype, columns as the next one has rows; the same one may stand there several times. Has the ops that all of them
 *  have. TRINE_ERR_ARGUMENT says which factor does not fit. count >= 1. */
TRINE_API trine_status trine_op_product(trine_context ctx, trine_op *op, int count, const trine_op *factors);

/** A := c_0 A_0 + ... + c_{count-1} A_{count-1}; H conjugates the coefficients. coefficients: count host scalars of
 *  the terms' dtype, copied; NULL = all 1. Terms: of ctx, of one dtype and shape. A term whose coefficient is zero
 *  is not applied. count >= 1. Has the ops that all of them have. */
TRINE_API trine_status trine_op_sum(trine_context ctx, trine_op *op, int count, const trine_op *terms,
                                    const void *coefficients);

/** A := diag(d): op T is N, H conjugates. d: n values in the context's space. They are not copied: they must outlive
 *  the operator and all that it is a part of, and new values show through, in the order of the streams that they are
 *  written and used on. */
TRINE_API trine_status trine_op_diagonal(trine_context ctx, trine_op *op, trine_dtype dtype, int64_t n, const void *d);

/** A := I of n rows. */
TRINE_API trine_status trine_op_identity(trine_context ctx, trine_op *op, trine_dtype dtype, int64_t n);

/** A := inner^T or inner^H (trans TRINE_T or TRINE_H), to put a transpose into a product: L^-H L^-1, say. Of a
 *  complex operator it has N, if `inner` has trans, and trans, if `inner` has N, but not the third: nothing
 *  conjugates without transposing. */
TRINE_API trine_status trine_op_transpose(trine_op inner, trine_op *op, trine_transpose trans);

/** The operator `inner` for vectors of the other precision, D instead of S, Z instead of C, or the other way round:
 *  X is rounded (or widened) to the precision of `inner`, which is applied, and what comes out is widened (or
 *  rounded); alpha and beta are applied in the outer one. To its own dtype: one more handle of the same operator.
 *  TRINE_ERR_UNSUPPORTED: between real and complex. */
TRINE_API trine_status trine_op_cast(trine_op inner, trine_op *op, trine_dtype outer);

/** One more call in flight, of up to nrhs vectors: scratch and state of the operator and of all that it is made of.
 *  Keeps the operator alive, and fits no other. work NULL: only *bytes is set. buffer NULL: from the context's
 *  allocator. Else `buffer` (the context's space, *bytes long, 256-byte aligned) is used and must outlive the work;
 *  solves of plans on a GPU are faster without, where they need not prepare their memory every time. May
 *  synchronize, as the works of plans do. trine_work_destroy ends it. */
TRINE_API trine_status trine_op_work(trine_op op, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work);

/** Y := alpha op(A) X + beta Y for a block X of vectors and a block Y of as many, of A's dtype, in the context's space,
 *  in either layout; no overlap. alpha, beta: host scalars of A's dtype, read at the call; NULL = 1 and 0. As in BLAS:
 *  with beta = 0 Y is not read, with alpha = 0 neither is X, and nothing that A is made of is applied. Asynchronous on
 *  exec's stream as far as the parts are; with a work (exec) it allocates nothing and does not synchronize. Without one
 *  it takes a work that the operator keeps: made in the first such call, made again for more vectors (which waits for
 *  the stream), for one call at a time.
 *  TRINE_ERR_ARGUMENT: blocks that do not fit, a work of another operator. TRINE_ERR_UNSUPPORTED: an op that A does
 *  not have. TRINE_ERR_STATE: more vectors than the work was made for, another thread's call with the same work,
 *  while a CUDA graph is recorded without a work; and what the parts say, such as a plan without values. After an
 *  error Y holds anything. */
TRINE_API trine_status trine_op_apply(trine_op op, trine_transpose trans, const void *alpha, const trine_dense *X,
                                      const void *beta, const trine_dense *Y, const trine_exec *exec);

TRINE_API trine_status trine_op_get_info(trine_op op, trine_op_info *info);
TRINE_API trine_status trine_op_destroy(trine_op *op);

#ifdef __cplusplus
}
#endif
#endif
