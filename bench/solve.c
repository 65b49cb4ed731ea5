/* One solve of a problem as the benchmarks time it: an operator applied, whoever's it is. */
#include <stdlib.h>

#include "bench.h"

static double real_part(trine_dtype t, const void *scalar)
{
    return t == TRINE_S || t == TRINE_C ? (double)*(const float *)scalar : *(const double *)scalar;
}

/** X := op(A)^-1 B by a library's own routine, which knows where they are. */
static trine_status apply_peer(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                               const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    const bench_peer_solve *peer = user;
    (void)op, (void)exec;
    const bool plain = real_part(peer->dtype, alpha) == 1 && real_part(peer->dtype, beta) == 0;
    if (!plain || X->data != peer->B->data || Y->data != peer->X->data)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "%s is set up for X := op(A)^-1 B with one B and one X", peer->impl);
    return peer->call(peer->self);
}

trine_status bench_peer_as_op(bench *b, const bench_peer_solve *peer, trine_op *op)
{
    const int64_t n = peer->X->rows;
    const trine_op_info info = {.dtype = peer->dtype, .rows = n, .cols = n, .ops = peer->op, .max_nrhs = peer->X->cols};
    bench_peer_solve *copy = malloc(sizeof *copy);
    if (!copy) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    *copy = *peer;
    const trine_status status = trine_op_from_callback(b->ctx, op, &info, apply_peer, copy, free);
    if (status) free(copy);
    return status;
}

trine_status bench_solve_begin(bench_solve *s) { return trine_op_work(s->op, s->X->cols, NULL, NULL, &s->exec.work); }

trine_status bench_solve_once(void *self)
{
    const bench_solve *s = self;
    return trine_op_apply(s->op, s->trans, NULL, s->B, NULL, s->X, &s->exec);
}

void bench_solve_end(bench_solve *s)
{
    trine_work_destroy(&s->exec.work);
    trine_op_destroy(&s->op);
}
