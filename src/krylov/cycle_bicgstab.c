/* A cycle of BiCGStab (van der Vorst 1992), preconditioned on either side. */
#include "krylov/krylov.h"

static trine_status start(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    void *r = w->V[V_R];
    if (w->plan->parameters.is_left) {
        TRY(krylov_apply_M(w, KRYLOV_RUNNING, r, w->V[V_P]));
        krylov_combine(w, r, C_ONE, w->V[V_P], C_ZERO, NULL);
    }
    krylov_combine(w, w->d, C_ZERO, r, C_ZERO, NULL);
    krylov_combine(w, w->V[V_P], C_ONE, r, C_ZERO, NULL);
    krylov_combine(w, w->V[V_SHADOW], C_ONE, r, C_ZERO, NULL);
    krylov_dot(w, 0, r, r);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_BICGSTAB_START, 0));
done:
    return status;
}

static trine_status step(struct krylov_work *w, int j)
{
    (void)j;
    trine_status status = TRINE_SUCCESS;
    void *const r = w->V[V_R], *const p = w->V[V_P], *const shadow = w->V[V_SHADOW], *const v = w->V[V_V];
    void *const s = w->V[V_S], *const t = w->V[V_T], *p_hat, *s_hat;
    TRY(krylov_apply_system(w, p, w->V[V_PHAT], &p_hat, v));
    krylov_dot(w, 0, shadow, v);
    krylov_dot(w, 1, v, v);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_BICGSTAB_ALPHA, 0);
    krylov_combine(w, s, C_MINUS_ALPHA, v, C_ONE, r);
    TRY(krylov_run(w, KRYLOV_RUNNING));
    TRY(krylov_apply_system(w, s, w->V[V_SHAT], &s_hat, t));
    krylov_dot(w, 0, s, s);
    krylov_dot(w, 1, t, s);
    krylov_dot(w, 2, t, t);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_BICGSTAB_OMEGA, 0);
    krylov_combine(w, r, C_MINUS_OMEGA, t, C_ONE, s);
    krylov_dot(w, 0, r, r);
    krylov_dot(w, 1, shadow, r);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_BICGSTAB_BETA, 0);
    krylov_keep(w);
    krylov_combine(w, w->d, C_ALPHA, p_hat, C_ONE, w->d);
    krylov_combine(w, w->d, C_OMEGA, s_hat, C_ONE, w->d);
    krylov_combine(w, p, C_BETA, p, C_ONE, r);
    krylov_combine(w, p, C_MINUS_BETA_OMEGA, v, C_ONE, p);
    TRY(krylov_end_body(w, KRYLOV_RUNNING, KRYLOV_ADVANCE, 0));
    w->steps++;
    TRY(krylov_report(w, NULL));
done:
    return status;
}

trine_status krylov_cycle_bicgstab(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    TRY(start(w));
    TRY(krylov_loop(w, 1, step));
done:
    return status;
}
