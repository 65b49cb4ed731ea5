/* A cycle of preconditioned MINRES (Paige and Saunders 1975; Elman, Silvester and Wathen 2014, Algorithm 6.1). */
#include "krylov/krylov.h"

static void swap(void **a, void **b)
{
    void *const c = *a;
    *a = *b;
    *b = c;
}

trine_status krylov_cycle_minres(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    const bool has_M = w->plan->parameters.has_M;
    void *v = w->V[V_R], *last_v = w->V[V_LAST], *w1 = w->V[V_W], *last_w = w->V[V_LAST_W];
    void *const az = w->V[V_AZ], *z = has_M ? w->V[V_Z1] : v, *next_z = has_M ? w->V[V_Z2] : last_v;
    if (has_M) TRY(krylov_apply_M(w, KRYLOV_RUNNING, v, z));
    void *const zeros[] = {w->d, last_v, w1, last_w};
    for (int k = 0; k < 4; k++) krylov_combine(w, zeros[k], C_ZERO, v, C_ZERO, NULL);
    krylov_dot(w, 0, v, z);
    TRY(krylov_run(w, KRYLOV_RUNNING));
    TRY(krylov_do(w, KRYLOV_MINRES_START, 0));
    while (krylov_runs(w)) {
        TRY(krylov_apply_A(w, KRYLOV_RUNNING, z, az));
        krylov_dot(w, 0, z, az);
        krylov_dot(w, 1, az, az);
        TRY(krylov_run(w, KRYLOV_RUNNING));
        TRY(krylov_do(w, KRYLOV_MINRES_LANCZOS, 0));
        krylov_combine(w, last_v, C_V, az, C_V2, last_v); /* the next v */
        krylov_combine(w, last_v, C_V1, v, C_ONE, last_v);
        if (!has_M) krylov_dot(w, 0, last_v, last_v);
        TRY(krylov_run(w, KRYLOV_RUNNING));
        if (has_M) {
            TRY(krylov_apply_M(w, KRYLOV_RUNNING, last_v, next_z));
            krylov_dot(w, 0, last_v, next_z);
            TRY(krylov_run(w, KRYLOV_RUNNING));
        }
        TRY(krylov_do(w, KRYLOV_MINRES_ROTATE, 0));
        krylov_combine(w, last_w, C_W, z, C_W2, last_w);
        krylov_combine(w, last_w, C_W1, w1, C_ONE, last_w);
        krylov_combine(w, w->d, C_D, last_w, C_ONE, w->d);
        TRY(krylov_run(w, KRYLOV_RUNNING));
        TRY(krylov_do(w, KRYLOV_ADVANCE, 0));
        w->steps++;
        TRY(krylov_report(w, NULL));
        swap(&v, &last_v);
        swap(&w1, &last_w);
        swap(&z, &next_z);
    }
done:
    return status;
}
