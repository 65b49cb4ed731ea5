/* A cycle of preconditioned CG (Hestenes and Stiefel 1952): three or four passes over vectors a step. */
#include "krylov/krylov.h"

static trine_status step(struct krylov_work *w, int j)
{
    (void)j;
    trine_status status = TRINE_SUCCESS;
    const bool has_M = w->plan->parameters.has_M;
    void *r = w->V[V_R], *p = w->V[V_P], *q = w->V[V_Q], *z = has_M ? w->V[V_Z] : r;
    bool done = false;
    if (w->plan->backend->conjugate) TRY(w->plan->backend->conjugate(w, &done));
    if (done) goto report;
    TRY(krylov_apply_A(w, KRYLOV_RUNNING, p, q));
    krylov_dot(w, 0, p, q);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_CG_ALPHA, 0);
    krylov_combine(w, r, C_MINUS_ALPHA, q, C_ONE, r);
    if (has_M) {
        TRY(krylov_then_M(w, KRYLOV_RUNNING, r, z));
        krylov_dot(w, 1, r, z);
    }
    krylov_dot(w, 0, r, r);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_CG_BETA, 0);
    krylov_keep(w);
    krylov_combine(w, w->d, C_ALPHA, p, C_ONE, w->d);
    krylov_combine(w, p, C_BETA, p, C_ONE, z);
    TRY(krylov_end_body(w, KRYLOV_RUNNING, KRYLOV_ADVANCE, 0));
report:
    w->steps++;
    TRY(krylov_report(w, NULL));
done:
    return status;
}

trine_status krylov_cycle_cg(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    const bool has_M = w->plan->parameters.has_M;
    void *r = w->V[V_R], *z = has_M ? w->V[V_Z] : r;
    if (has_M) TRY(krylov_apply_M(w, KRYLOV_RUNNING, r, z));
    krylov_combine(w, w->d, C_ZERO, r, C_ZERO, NULL);
    krylov_combine(w, w->V[V_P], C_ONE, z, C_ZERO, NULL);
    krylov_dot(w, 0, r, z);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_CG_START, 0));
    TRY(krylov_loop(w, 1, step));
done:
    return status;
}
