/* Works of direct plans: made, kept in step with the plan's updates, destroyed. */
#include "direct/plan.h"

enum { ALIGNMENT = 256 };
static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* ------------------------------------------------------------------- layout */

static size_t vector_bytes(trine_direct D, int64_t nrhs) { return aligned((size_t)D->n * (size_t)nrhs * trine_dtype_size(D->dtype)); }
static size_t all_vectors_bytes(trine_direct D, int64_t nrhs) { return vector_bytes(D, nrhs) * (D->options.refine ? 3 : 1); }

/** Bytes of the vectors, then of the works of the plans for L and U. */
static trine_status work_bytes(trine_direct D, int64_t nrhs, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    *bytes = all_vectors_bytes(D, nrhs);
    for (int k = 0; k < 2; k++) {
        size_t of_triangle;
        TRY(sweeps_work(&D->sweeps, k, nrhs, NULL, &of_triangle, NULL));
        *bytes += aligned(of_triangle);
    }
done:
    return status;
}

/** Both triangles' works anew, unless the caller's buffer has become too small for them. */
static trine_status make_triangles(trine_direct D, direct_work *work)
{
    trine_status status = TRINE_SUCCESS;
    char *at = work->buffer ? (char *)work->buffer + all_vectors_bytes(D, work->nrhs) : NULL;
    for (int k = 0; k < 2; k++) trine_work_destroy(&work->triangles[k]);
    TRY(work_bytes(D, work->nrhs, &work->needed));
    for (int k = 0; k < 2 && (!work->buffer || work->needed <= work->buffer_bytes); k++) {
        size_t bytes;
        TRY(sweeps_work(&D->sweeps, k, work->nrhs, NULL, &bytes, NULL));
        TRY(sweeps_work(&D->sweeps, k, work->nrhs, at, &bytes, &work->triangles[k]));
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

static trine_status destroy_plan(void *plan) { return trine_direct_destroy(&(trine_direct){plan}); }

static void destroy_work(trine_work base)
{
    direct_work *work = (direct_work *)base;
    trine_direct D = base->plan;
    unlink_work(&D->sweeps.works, work); /* first: an update beside this looks at no work that is not whole */
    for (int k = 0; k < 2; k++) trine_work_destroy(&work->triangles[k]);
    if (!work->buffer) trine_free(base->ctx, D->space, work->vectors);
    trine_free(base->ctx, TRINE_HOST, work);
}

static trine_status new_work(trine_direct D, int64_t nrhs, void *buffer, size_t buffer_bytes, bool of_plan, direct_work **out)
{
    trine_status status = TRINE_SUCCESS;
    direct_work *work = trine_host_calloc(D->ctx, 1, sizeof *work);
    if (!work) return TRINE_ERR_MEMORY;
    work->base = (struct trine_work_s){.ctx = trine_retain_context(D->ctx), .plan = D, .destroy = destroy_work};
    if (!of_plan) {
        trine_retain(&D->refs);
        work->base.destroy_plan = destroy_plan;
    }
    work->nrhs = nrhs;
    work->buffer = work->vectors = buffer;
    work->buffer_bytes = buffer_bytes;
    if (!buffer) TRY(trine_alloc(D->ctx, D->space, all_vectors_bytes(D, nrhs), &work->vectors));
    if (D->options.refine && work->vectors) {
        work->right = (char *)work->vectors + vector_bytes(D, nrhs);
        work->residual = (char *)work->right + vector_bytes(D, nrhs);
    }
    if (!of_plan) {
        TRY(make_triangles(D, work));
        link_work(&D->sweeps.works, work);
    }
    *out = work;
done:
    if (status) trine_work_destroy(&(trine_work){&work->base});
    return status;
}

trine_status work_of_plan(trine_direct D, int64_t nrhs, direct_work **work) { return new_work(D, nrhs, NULL, 0, true, work); }

trine_status trine_direct_work(trine_direct D, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    if (out) *out = NULL;
    REQUIRE(D, "plan is NULL");
    REQUIRE(nrhs >= 0, "nrhs is %lld", (long long)nrhs);
    REQUIRE(bytes || out, "bytes and work are NULL");
    REQUIRE(bytes || !buffer, "bytes is NULL: how long is the buffer?");
    REQUIRE(((uintptr_t)buffer & (ALIGNMENT - 1)) == 0, "the buffer is not %d-byte aligned", (int)ALIGNMENT);
    const size_t given = bytes ? *bytes : 0;
    size_t needed;
    trine_status status = trine_check_nrhs(nrhs, D->n);
    if (status) return status;
    if (!trine_enter(&D->usage)) return trine_fail(TRINE_ERR_STATE, "another thread is giving the plan new values");
    TRY(D->ready ? TRINE_SUCCESS : plan_without_factor());
    TRY(work_bytes(D, nrhs, &needed));
    if (bytes) *bytes = needed;
    if (!out) goto done;
    if (buffer && given < needed) FAIL(TRINE_ERR_ARGUMENT, "the work needs %zu bytes, the buffer has %zu", needed, given);
    direct_work *work;
    TRY(new_work(D, nrhs, buffer, given, false, &work));
    *out = &work->base;
done:
    trine_leave(&D->usage);
    return status;
}
