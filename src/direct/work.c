/* Works of direct plans: made, kept in step with the plan's updates, destroyed. */
#include "direct/plan.h"

enum { ALIGNMENT = 256 };
static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* ------------------------------------------------------------------- layout */

static size_t vector_bytes(trine_direct D, int64_t nrhs)
{
    return aligned((size_t)D->base.n * (size_t)nrhs * trine_dtype_size(D->base.dtype));
}
static size_t all_vectors_bytes(trine_direct D, int64_t nrhs)
{
    return vector_bytes(D, nrhs) * (D->may_refine ? 3 : 1);
}

/** Of the work of the plan for L (which = 0) or U (1). */
static size_t triangle_bytes(trine_direct D, int which, int64_t nrhs)
{
    size_t bytes;
    /* fails for arguments only, which were checked */
    return sweeps_work(&D->sweeps, which, nrhs, NULL, &bytes, NULL) ? 0 : bytes;
}

/** Bytes of the vectors, then of the works of the plans for L and U. */
size_t direct_work_bytes(struct trine_plan *plan, int64_t nrhs)
{
    trine_direct D = (trine_direct)plan;
    return all_vectors_bytes(D, nrhs) + aligned(triangle_bytes(D, 0, nrhs)) + aligned(triangle_bytes(D, 1, nrhs));
}

/** A triangular plan's work with memory of its own is faster on a GPU, and grows with the structure of the factor. */
size_t direct_work_own_bytes(struct trine_plan *plan, int64_t nrhs)
{
    return all_vectors_bytes((trine_direct)plan, nrhs);
}

/** Both triangles' works anew, unless the caller's buffer has become too small for them. */
static trine_status make_triangles(trine_direct D, direct_work *work)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t nrhs = work->base.max_nrhs;
    const bool in_buffer = work->base.buffer && !work->base.owns_buffer;
    char *at = in_buffer ? (char *)work->base.buffer + all_vectors_bytes(D, nrhs) : NULL;
    for (int k = 0; k < 2; k++) trine_work_destroy(&work->triangles[k]);
    work->needed = in_buffer ? direct_work_bytes(&D->base, nrhs) : 0;
    for (int k = 0; k < 2 && work->needed <= work->base.bytes; k++) {
        size_t bytes = triangle_bytes(D, k, nrhs);
        TRY(sweeps_work(&D->sweeps, k, nrhs, at, &bytes, &work->triangles[k]));
        if (at) at += aligned(bytes);
    }
done:
    return status;
}

/* ------------------------------------------------- the works of one plan */

static void link_work(direct_works *works, direct_work *work)
{
    pthread_mutex_lock(&works->lock);
    work->next = works->first;
    works->first = work;
    pthread_mutex_unlock(&works->lock);
}

static void unlink_work(direct_works *works, const direct_work *work)
{
    pthread_mutex_lock(&works->lock);
    direct_work **at = &works->first;
    while (*at && *at != work) at = &(*at)->next;
    if (*at) *at = work->next; /* else it was never linked */
    pthread_mutex_unlock(&works->lock);
}

void works_drop(direct_works *works, int which)
{
    pthread_mutex_lock(&works->lock);
    for (direct_work *w = works->first; w; w = w->next) trine_work_destroy(&w->triangles[which]);
    pthread_mutex_unlock(&works->lock);
}

trine_status works_complete(trine_direct D)
{
    trine_status status = TRINE_SUCCESS;
    direct_works *works = &D->sweeps.works;
    pthread_mutex_lock(&works->lock);
    for (direct_work *w = works->first; w && !status; w = w->next) {
        bool complete = true;
        for (int k = 0; k < 2; k++) complete = complete && (w->triangles[k] || !sweeps_have(&D->sweeps, k));
        if (!complete) status = make_triangles(D, w);
    }
    pthread_mutex_unlock(&works->lock);
    return status;
}

/* --------------------------------------------------------------- life of one */

/** A caller's work has works of the triangular plans, and a place in the list. The plan's own work, which keeps
 *  nothing alive, is made before there are triangular plans, and solves with theirs. */
trine_status direct_work_begin(struct trine_plan *plan, trine_plan_work *base)
{
    trine_status status = TRINE_SUCCESS;
    trine_direct D = (trine_direct)plan;
    direct_work *work = (direct_work *)base;
    work->vectors = base->buffer;
    if (D->may_refine && work->vectors) {
        work->right = (char *)work->vectors + vector_bytes(D, base->max_nrhs);
        work->residual = (char *)work->right + vector_bytes(D, base->max_nrhs);
    }
    if (!base->base.destroy_plan) return TRINE_SUCCESS;
    TRY(make_triangles(D, work));
    link_work(&D->sweeps.works, work);
done:
    return status;
}

void direct_work_end(trine_plan_work *base)
{
    direct_work *work = (direct_work *)base;
    /* first: an update beside this looks at no work that is not whole */
    unlink_work(&((trine_direct)base->base.plan)->sweeps.works, work);
    for (int k = 0; k < 2; k++) trine_work_destroy(&work->triangles[k]);
}

trine_status trine_direct_work(trine_direct D, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work)
{
    return trine_plan_make_work(D ? &D->base : NULL, nrhs, buffer, bytes, work);
}
