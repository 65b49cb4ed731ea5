#include "core/tally.h"

enum { HEADER = 64 }; /* bytes before a block, which begin with its size; the block stays aligned */

/** A block of `bytes` bytes, as far as the count goes; only the first `real` of them can be used. */
static void *take(struct trine_tally *tally, size_t bytes, size_t real)
{
    int64_t *header = tally->real.alloc(tally->real.user, HEADER + real);
    if (!header) return NULL;
    *header = (int64_t)bytes;
    tally->live += *header;
    if (tally->live > tally->peak) tally->peak = tally->live;
    return (char *)header + HEADER;
}

static void *take_all(void *tally, size_t bytes) { return take(tally, bytes, bytes); }
static void *take_none(void *tally, size_t bytes) { return take(tally, bytes, 0); }

static void give_back(void *user, void *p)
{
    struct trine_tally *tally = user;
    int64_t *header = (int64_t *)((char *)p - HEADER);
    tally->live -= *header;
    tally->real.release(tally->real.user, header);
}

void trine_tally_begin(trine_tally_context *t, trine_context ctx)
{
    t->works = 0;
    t->host = t->device = (struct trine_tally){.real = ctx->host};
    t->ctx = *ctx;
    t->ctx.refs = 1;
    t->ctx.is_tally = true;
    t->ctx.host = (trine_allocator){take_all, give_back, &t->host};
    t->ctx.gpu = (trine_allocator){take_none, give_back, &t->device};
    t->ctx.log = NULL;
    t->ctx.team = NULL;
}

void trine_tally_end(trine_tally_context *t) { trine_team_end(&t->ctx); }

void trine_tally_report(const trine_tally_context *t, size_t work_struct, size_t work, trine_memory *out)
{
    const int64_t of_struct = (int64_t)work_struct, of_work = (int64_t)work;
    *out = (trine_memory){
        .work = of_work + t->works, .host_kept = t->host.live + of_struct, .device_kept = t->device.live};
    *(t->ctx.cuda ? &out->device_kept : &out->host_kept) += of_work;
    out->host_peak = t->host.peak > out->host_kept ? t->host.peak : out->host_kept;
    out->device_peak = t->device.peak > out->device_kept ? t->device.peak : out->device_kept;
}

static void add(struct trine_tally *tally, int64_t kept, int64_t peak)
{
    if (tally->live + peak > tally->peak) tally->peak = tally->live + peak;
    tally->live += kept;
    if (tally->live > tally->peak) tally->peak = tally->live;
}

enum { WORK_STRUCT = 256 }; /* more than any module's */

void trine_tally_add(trine_context ctx, const trine_memory *plan, int works)
{
    const int64_t more = works * plan->work;
    ((trine_tally_context *)ctx)->works += more;
    add(ctx->host.user, plan->host_kept + works * WORK_STRUCT + (ctx->cuda ? 0 : more), plan->host_peak);
    add(ctx->gpu.user, plan->device_kept + (ctx->cuda ? more : 0), plan->device_peak);
}

trine_status trine_alloc_untouched(trine_context ctx, size_t bytes, void **p)
{
    if (!ctx->is_tally || ctx->cuda || !bytes) return trine_alloc(ctx, ctx->info.space, bytes, p);
    *p = take_none(ctx->host.user, bytes);
    return *p ? TRINE_SUCCESS : trine_fail(TRINE_ERR_MEMORY, "no host memory for a count");
}
