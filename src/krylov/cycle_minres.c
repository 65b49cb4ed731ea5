/* A cycle of preconditioned MINRES (Paige and Saunders 1975; Elman, Silvester and Wathen 2014, Algorithm 6.1). */
#include "krylov/krylov.h"

/** Vectors that take turns, in even and in odd steps of a cycle. */
struct vectors { void *v, *last_v, *w, *last_w, *z, *next_z; };
static struct vectors vectors_of(const struct krylov_work *w, int j)
{
    const bool has_M = w->plan->parameters.has_M, is_odd = j % 2 != 0;
    struct vectors u = {.v = w->V[is_odd ? V_LAST : V_R],
                        .last_v = w->V[is_odd ? V_R : V_LAST],
                        .w = w->V[is_odd ? V_LAST_W : V_W],
                        .last_w = w->V[is_odd ? V_W : V_LAST_W]};
    u.z = has_M ? w->V[is_odd ? V_Z2 : V_Z1] : u.v;
    u.next_z = has_M ? w->V[is_odd ? V_Z1 : V_Z2] : u.last_v;
    return u;
}

static trine_status step(struct krylov_work *w, int j)
{
    trine_status status = TRINE_SUCCESS;
    const bool has_M = w->plan->parameters.has_M;
    const struct vectors u = vectors_of(w, j);
    void *const az = w->V[V_AZ];
    TRY(krylov_apply_A(w, KRYLOV_RUNNING, u.z, az));
    krylov_dot(w, 0, u.z, az);
    krylov_dot(w, 1, az, az);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_MINRES_LANCZOS, 0);
    krylov_combine(w, u.last_v, C_V, az, C_V2, u.last_v); /* the next v */
    krylov_combine(w, u.last_v, C_V1, u.v, C_ONE, u.last_v);
    if (has_M) TRY(krylov_then_M(w, KRYLOV_RUNNING, u.last_v, u.next_z));
    krylov_dot(w, 0, u.last_v, u.next_z);
    krylov_then(w, KRYLOV_RUNNING, KRYLOV_MINRES_ROTATE, 0);
    krylov_combine(w, u.last_w, C_W, u.z, C_W2, u.last_w);
    krylov_combine(w, u.last_w, C_W1, u.w, C_ONE, u.last_w);
    krylov_combine(w, w->d, C_D, u.last_w, C_ONE, w->d);
    krylov_dot(w, 0, u.last_w, u.last_w);
    if (has_M) krylov_dot(w, 1, u.z, u.z);
    TRY(krylov_end_body(w, KRYLOV_RUNNING, KRYLOV_MINRES_ADVANCE, 0));
    w->steps++;
    TRY(krylov_report(w, NULL));
done:
    return status;
}

trine_status krylov_cycle_minres(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    const struct vectors u = vectors_of(w, 0);
    if (w->plan->parameters.has_M) TRY(krylov_apply_M(w, KRYLOV_RUNNING, u.v, u.z));
    void *const zeros[] = {w->d, u.last_v, u.w, u.last_w};
    for (int k = 0; k < 4; k++) krylov_combine(w, zeros[k], C_ZERO, u.v, C_ZERO, NULL);
    krylov_dot(w, 0, u.v, u.z);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_MINRES_START, 0));
    TRY(krylov_loop(w, 2, step));
done:
    return status;
}
