/* A cycle of GMRES or FGMRES: Arnoldi with classical Gram-Schmidt, twice (Giraud, Langou and Rozloznik 2005). The
 * second projection is computed in the pass that subtracts the first, so that the basis is read three times a step, not
 * four. */
#include "krylov/krylov.h"

static bool is_flexible(const struct krylov_work *w) { return w->plan->parameters.method == TRINE_KRYLOV_FGMRES; }

/** Subtract the projections on V[0] to V[j] from V[j + 1]; of pass 0 or 1. */
static void subtract(struct krylov_work *w, int j, int pass)
{
    const int first = C_PROJECTIONS + pass * (w->plan->parameters.restart + 1);
    for (int k = 0; k <= j; k++) krylov_combine(w, w->V[j + 1], first + k, w->V[k], C_ONE, w->V[j + 1]);
}
static void project(struct krylov_work *w, int j)
{
    for (int k = 0; k <= j; k++) krylov_dot(w, k, w->V[k], w->V[j + 1]);
}

/** Z[j] = M V[j], or where that stands; M a diagonal on the right is applied in the pass that makes V[j]. Known
 *  solutions need the room meanwhile. NULL: it is not, or the cycle ends before. */
static void *made_beside(const struct krylov_work *w, int j)
{
    const krylov_parameters *p = &w->plan->parameters;
    if (!krylov_has_diagonal(w) || p->is_left || w->has_errors || j >= p->restart) return NULL;
    return w->Z[is_flexible(w) ? j : 0];
}

static trine_status orthogonalize(struct krylov_work *w, int j)
{
    trine_status status = TRINE_SUCCESS;
    bool done = false;
    void *z = made_beside(w, j + 1);
    if (w->plan->backend->orthogonalize) {
        w->is_fresh = false;
        TRY(w->plan->backend->orthogonalize(w, j, z, &done));
        if (done) return TRINE_SUCCESS;
    }
    project(w, j);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_GMRES_FIRST, j));
    subtract(w, j, 0);
    project(w, j);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_GMRES_SECOND, j));
    subtract(w, j, 1);
    krylov_dot(w, 0, w->V[j + 1], w->V[j + 1]);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_GMRES_ROTATE, j));
    krylov_combine(w, w->V[j + 1], C_NORMALIZE, w->V[j + 1], C_ZERO, NULL);
    if (z) TRY(krylov_then_M(w, KRYLOV_RUNNING, w->V[j + 1], z));
    TRY(krylov_run(w, KRYLOV_RUNNING));
done:
    return status;
}

/** Behind what makes V[0]: with M on the right, or without, the cycle has begun then. */
trine_status krylov_begin_gmres(struct krylov_work *w)
{
    void *z = made_beside(w, 0);
    if (w->plan->parameters.is_left) return krylov_run(w, KRYLOV_RUNNING);
    const trine_status status = z ? krylov_then_M(w, KRYLOV_RUNNING, w->V[0], z) : TRINE_SUCCESS;
    return status ? status : krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_GMRES_START, 0);
}

/** With M on the left, the first vector is M r. */
static trine_status start_left(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    TRY(krylov_apply_M(w, KRYLOV_RUNNING, w->V[0], w->Z[0]));
    krylov_combine(w, w->V[0], C_ONE, w->Z[0], C_ZERO, NULL);
    krylov_dot(w, 0, w->V[0], w->V[0]);
    TRY(krylov_run_then(w, KRYLOV_RUNNING, KRYLOV_GMRES_START, 0));
    krylov_combine(w, w->V[0], C_NORMALIZE, w->V[0], C_ZERO, NULL);
    TRY(krylov_run(w, KRYLOV_RUNNING));
done:
    return status;
}

trine_status krylov_combine_basis(struct krylov_work *w)
{
    const krylov_parameters *p = &w->plan->parameters;
    const bool applies_M = p->has_M && !p->is_left && !is_flexible(w);
    void **basis = p->has_M && is_flexible(w) ? w->Z : w->V, *sum = applies_M ? w->Z[0] : w->d;
    const int y = C_PROJECTIONS + 2 * (p->restart + 1);
    int most = w->records ? p->restart : 1;
    for (int64_t i = 0; i < w->nrhs; i++)
        if (w->columns[i].flags & KRYLOV_CYCLED && w->columns[i].size > most) most = w->columns[i].size;
    krylov_combine(w, sum, C_ZERO, w->V[0], C_ZERO, NULL); /* of a column without a step */
    for (int k = 0; k < most; k++)
        krylov_combine(w, sum, y + k, basis[k], k ? C_ONE : C_ZERO, k ? sum : NULL)->need = k;
    return applies_M ? krylov_then_M(w, KRYLOV_CYCLED, sum, w->d) : TRINE_SUCCESS;
}

/** d := V y, M V y or Z y. */
static trine_status form(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    TRY(krylov_do(w, KRYLOV_GMRES_SOLVE, KRYLOV_CYCLED, 0));
    TRY(krylov_combine_basis(w));
done:
    return status;
}

/** What A is multiplied by for V[j + 1]: M V[j] with M on the right. */
static trine_status make_factor(struct krylov_work *w, int j, const void **x)
{
    trine_status status = TRINE_SUCCESS;
    const krylov_parameters *p = &w->plan->parameters;
    *x = w->V[j];
    if (!p->has_M || p->is_left) return TRINE_SUCCESS;
    *x = made_beside(w, j);
    if (*x) return TRINE_SUCCESS;
    void *const room = w->Z[is_flexible(w) ? j : 0];
    TRY(krylov_apply_M(w, KRYLOV_RUNNING, w->V[j], room));
    *x = room;
done:
    return status;
}

/** By the backend, steps from j on; 0: of the cycle. */
static trine_status take_on_rows(struct krylov_work *w, int j, int steps, const void *x, bool *done)
{
    const krylov_parameters *p = &w->plan->parameters;
    *done = false;
    if (!w->plan->backend->arnoldi || p->is_left || w->has_errors) return TRINE_SUCCESS;
    w->is_fresh = false;
    return w->plan->backend->arnoldi(w, j, steps, x, made_beside(w, steps ? j + 1 : j), done);
}

static trine_status step(struct krylov_work *w, int j)
{
    trine_status status = TRINE_SUCCESS;
    const void *x;
    bool done;
    TRY(make_factor(w, j, &x));
    TRY(take_on_rows(w, j, 1, x, &done));
    if (done) goto report;
    if (w->plan->parameters.is_left) {
        void *z;
        TRY(krylov_apply_system(w, w->V[j], w->Z[0], &z, w->V[j + 1]));
    } else {
        TRY(krylov_apply_A(w, KRYLOV_RUNNING, x, w->V[j + 1]));
    }
    TRY(orthogonalize(w, j));
report:
    w->steps++;
    TRY(krylov_report(w, form));
done:
    return status;
}

/** All of it at once, where nobody looks in between, and M is a diagonal or none. */
static trine_status take_cycle(struct krylov_work *w, bool *done)
{
    const krylov_parameters *p = &w->plan->parameters;
    void *const z = made_beside(w, 0);
    *done = false;
    if (!w->records || w->plan->unrolls || is_flexible(w) || (p->has_M && !z)) return TRINE_SUCCESS;
    const trine_status status = take_on_rows(w, 0, 0, z ? z : w->V[0], done);
    if (*done) w->steps += p->restart;
    return status;
}

/** No column runs any longer than `restart` steps. */
trine_status krylov_cycle_gmres(struct krylov_work *w)
{
    trine_status status = TRINE_SUCCESS;
    bool done;
    if (w->plan->parameters.is_left) TRY(start_left(w));
    TRY(take_cycle(w, &done));
    if (!done) TRY(krylov_loop(w, w->plan->parameters.restart, step));
done:
    return status;
}
