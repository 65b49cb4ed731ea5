/* Which levels the level-set solve takes together, and what every warp does in a run of narrow ones. */
#include "core/gpu_scalar.cuh"
#include "triangular/levelset.h"

namespace {

/* Several right-hand sides: a level on its own costs about as much as one block needs for this many rounds of rows, or for
 * this many entries (H200: 2.5 us; 1 us a round, in which every thread has a batch of entries). */
constexpr int ROUNDS_PER_LAUNCH = 2;
/* One right-hand side (H200, us): a launch in a graph, a barrier and the way to the next one, and the trips to memory before a
 * round, of which the less shows the more levels a warp has until its next one. */
constexpr double LAUNCH = 2.5, BLOCK_STAGE = 0.6, CLUSTER_STAGE = 0.9, TRIPS = 2;
constexpr int64_t SPLIT = 256;          /* a row of more entries is cut into parts */
constexpr int64_t RUN_ENTRIES = 1 << 16; /* of a level in a run, at most */

/** The levels on the host: rows and entries before each of them, entries before each row. */
struct levels {
    int64_t count;
    const int64_t *rows, *entries, *offsets;
    int64_t ring;
};

/** Rounds of level l, first of all to count them: out may be NULL. */
struct round_writer {
    level_round *out;
    int64_t count;
    void put(const level_round &r)
    {
        if (out) out[count] = r;
        count++;
    }
};

int warps_of(int kind, int64_t ring)
{
    const int most = run_most_warps(ring), warps = RUN_WARPS * (kind == level_step::CLUSTER ? RUN_CLUSTER : 1);
    return warps < most ? warps : most;
}

/** The rounds of level l after `stage` barriers, for a run of `warps` warps; how many barriers the level has, or 0 if it does
 *  not fit a run. */
int write_rounds(const levels *v, int64_t l, int stage, int warps, round_writer *out)
{
    const int64_t first = v->rows[l], last = v->rows[l + 1];
    int64_t longest = 1, long_entries = 0;
    if (last - first > run_most_rows(v->ring) || v->entries[l + 1] - v->entries[l] > RUN_ENTRIES) return 0;
    for (int64_t p = first; p < last; p++) {
        const int64_t length = v->offsets[p + 1] - v->offsets[p];
        if (length > SPLIT) long_entries += length;
        else if (length > longest) longest = length;
    }
    int log_lanes = 0;
    while (log_lanes < 5 && LEVELSET_BATCH << log_lanes < longest) log_lanes++;
    const int64_t each = 32 * LEVELSET_BATCH, most_rows = 32 >> log_lanes;
    const int64_t per_part = (long_entries / warps / each + 1) * each;
    int64_t open = first;      /* the first row that is in no round yet */
    int32_t part = 0;
    for (int64_t p = first; p <= last; p++) {
        const int64_t length = p < last ? v->offsets[p + 1] - v->offsets[p] : 0;
        if (p > open && (p == last || length > SPLIT || p - open == most_rows)) {
            out->put({(int32_t)open, (int32_t)(p - open), stage, log_lanes, 0, 0, 0, level_round::ROWS});
            open = p;
        }
        if (length <= SPLIT) continue;
        for (int64_t k = 0; k < length; k += per_part) out->put({(int32_t)p, 1, stage, 5, (int32_t)k, (int32_t)per_part, part++, level_round::PART});
        open = p + 1;
    }
    if (!part) return 1;
    if (part > PARTS) return 0;
    int32_t taken = 0;
    for (int64_t p = first; p < last; p++) {
        const int64_t length = v->offsets[p + 1] - v->offsets[p];
        if (length <= SPLIT) continue;
        const int32_t count = (int32_t)((length + per_part - 1) / per_part);
        out->put({(int32_t)p, 1, stage + 1, 5, 0, count, taken, level_round::FINISH});
        taken += count;
    }
    return 2;
}

/** The cheapest kind of step for every level, where changing the kind costs a launch. */
trine_status choose_kinds(trine_triangular plan, const levels *v, uint8_t *chosen)
{
    enum { KINDS = 3 };
    trine_status status = TRINE_SUCCESS;
    uint8_t (*from)[KINDS] = nullptr; /* the best kind of the level before */
    double cost[KINDS] = {};
    from = (uint8_t (*)[KINDS])trine_host_alloc(plan->ctx, v->count + 1, sizeof *from);
    if (!from) return TRINE_ERR_MEMORY;
    for (int64_t l = 0; l < v->count; l++) {
        int best = 0;
        for (int kind = 1; kind < KINDS; kind++)
            if (cost[kind] < cost[best]) best = kind;
        const double least = cost[best];
        for (int kind = 0; kind < KINDS; kind++) {
            double own = LAUNCH;
            if (kind != level_step::WIDE) {
                round_writer rounds = {};
                const int warps = warps_of(kind, v->ring), stages = write_rounds(v, l, 0, warps, &rounds);
                own = stages ? stages * (kind == level_step::BLOCK ? BLOCK_STAGE : CLUSTER_STAGE) + TRIPS * (double)rounds.count / warps : 1e30;
            }
            const bool stays = l && kind != level_step::WIDE && cost[kind] <= least + LAUNCH;
            from[l][kind] = (uint8_t)(stays ? kind : best);
            cost[kind] = (stays ? cost[kind] : least + (kind == level_step::WIDE ? 0 : LAUNCH)) + own;
        }
    }
    for (int kind = 1, last = 0; v->count && kind <= KINDS; kind++)
        if (kind == KINDS) chosen[v->count - 1] = (uint8_t)last;
        else if (cost[kind] < cost[last]) last = kind;
    for (int64_t l = v->count - 1; l > 0; l--) chosen[l - 1] = from[l][chosen[l]];
    trine_free(plan->ctx, TRINE_HOST, from);
    return status;
}

/** Steps and rounds for one right-hand side; run_first[l]: the first row of level l's run, or -1. */
trine_status schedule_one(trine_triangular plan, const levels *v, level_schedule *out, level_round **rounds, int64_t *n_rounds, int64_t *run_first)
{
    trine_status status = TRINE_SUCCESS;
    round_writer writer = {};
    uint8_t *kind = (uint8_t *)trine_host_alloc(plan->ctx, v->count, 1);
    out->steps = (level_step *)trine_host_alloc(plan->ctx, v->count, sizeof *out->steps);
    if (!kind || !out->steps) status = TRINE_ERR_MEMORY;
    if (!status) status = choose_kinds(plan, v, kind);
    for (int pass = 0; pass < 2 && !status; pass++) { /* count, then write */
        writer.count = 0;
        out->count = 0;
        level_step *open = nullptr;
        for (int64_t l = 0; l < v->count; l++) {
            if (kind[l] == level_step::WIDE || !open || open->kind != kind[l]) {
                open = &out->steps[out->count++];
                *open = {};
                open->kind = kind[l] == level_step::WIDE ? level_step::WIDE : kind[l] == level_step::BLOCK ? level_step::BLOCK : level_step::CLUSTER;
                open->first_level = l, open->first = v->rows[l], open->first_round = writer.count;
            }
            open->last_level = l + 1, open->last = v->rows[l + 1];
            run_first[l] = kind[l] == level_step::WIDE ? -1 : open->first;
            if (kind[l] != level_step::WIDE) open->stages += write_rounds(v, l, open->stages, warps_of(kind[l], v->ring), &writer);
            open->last_round = writer.count;
        }
        if (pass == 0) {
            *n_rounds = writer.count;
            *rounds = writer.out = (level_round *)trine_host_alloc(plan->ctx, writer.count, sizeof *writer.out);
            if (!writer.out) status = TRINE_ERR_MEMORY;
        }
    }
    trine_free(plan->ctx, TRINE_HOST, kind);
    return status;
}

/** Several right-hand sides: runs of levels of up to ROUNDS_PER_LAUNCH rounds of `rows` rows, and of batches of entries with
 *  `lanes` threads a row, into one step each; every other level is its own. */
trine_status schedule_many(trine_triangular plan, const levels *v, int64_t rows, int64_t lanes, level_schedule *out)
{
    const int64_t most_rows = ROUNDS_PER_LAUNCH * rows, most_entries = ROUNDS_PER_LAUNCH * LEVELSET_BATCH * rows * lanes;
    out->steps = (level_step *)trine_host_alloc(plan->ctx, v->count, sizeof *out->steps);
    if (!out->steps) return TRINE_ERR_MEMORY;
    bool open = false; /* the last step is a run of narrow levels */
    for (int64_t l = 0; l < v->count; l++) {
        const int64_t first = v->rows[l], last = v->rows[l + 1];
        const bool wide = last - first > most_rows || v->entries[l + 1] - v->entries[l] > most_entries;
        if (open && !wide) {
            out->steps[out->count - 1].last_level = l + 1;
            out->steps[out->count - 1].last = last;
        } else {
            out->steps[out->count++] = {wide ? level_step::WIDE : level_step::BLOCK, l, l + 1, first, last};
        }
        open = !wide;
    }
    /* A level without narrow neighbours gains nothing from being confined to one block. */
    for (int64_t i = 0; i < out->count; i++)
        if (out->steps[i].last_level - out->steps[i].first_level == 1) out->steps[i].kind = level_step::WIDE;
    return TRINE_SUCCESS;
}

/** Positions to row numbers, by which solves read X, or in near to slots of the ring. */
__global__ void take_row_numbers(const device_triangle d, int64_t n_levels, const int64_t *level_offsets, const int64_t *run_first, int64_t ring,
                                 int32_t *near)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x / 32;
    for (int64_t p = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; p < d.n; p += step) {
        int64_t level = 0, high = n_levels - 1;
        while (level < high) {
            const int64_t middle = (level + high + 1) / 2;
            if (level_offsets[middle] <= p) level = middle;
            else high = middle - 1;
        }
        const int64_t oldest = run_first[level] < 0 ? d.n : max(run_first[level], level_offsets[level + 1] - ring);
        for (int64_t k = d.offsets[p] + threadIdx.x % 32; k < d.offsets[p + 1]; k += 32) {
            const int32_t c = d.columns[k], row = d.order[c];
            d.columns[k] = row;
            near[k] = c >= oldest ? ~(int32_t)(c % ring) : row;
        }
    }
}

__global__ void find_entries(int64_t n_levels, const int64_t *level_offsets, const int64_t *offsets, int64_t *entries)
{
    for (int64_t l = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; l <= n_levels; l += (int64_t)gridDim.x * blockDim.x) entries[l] = offsets[level_offsets[l]];
}

/** The schedules for rows that are sorted by level already. */
trine_status make_schedules(trine_triangular plan, struct triangle *t, const int64_t *level_offsets, levelset_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const size_t bytes = (size_t)(t->n_levels + 1) * sizeof *level_offsets, row_bytes = (size_t)(t->n + 1) * sizeof *level_offsets;
    const int64_t ring = RING_BYTES / (int64_t)trine_dtype_size(plan->dtype);
    levels v = {t->n_levels, level_offsets, nullptr, nullptr, ring};
    int64_t *entries, *offsets, *run_first, n_rounds = 0, *on_device = nullptr, *run_first_on_device = nullptr;
    level_round *rounds = nullptr;
    entries = (int64_t *)trine_host_alloc(ctx, 1, bytes);
    run_first = (int64_t *)trine_host_alloc(ctx, 1, bytes);
    offsets = (int64_t *)trine_host_alloc(ctx, 1, row_bytes);
    if (!entries || !run_first || !offsets) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels of %lld rows", (long long)t->n_levels, (long long)t->n);
    v.entries = entries, v.offsets = offsets;
    TRY(trine_device_upload(ctx, level_offsets, bytes, (void **)&d->level_offsets));
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, (void **)&on_device));
    find_entries<<<device_blocks_for(plan, t->n_levels + 1), 256, 0, stream>>>(t->n_levels, d->level_offsets, d->base.offsets, on_device);
    TRY(GPU_LAUNCHED("the entries of levels"));
    TRY(trine_copy(ctx, entries, TRINE_HOST, on_device, TRINE_DEVICE, bytes));
    TRY(trine_copy(ctx, offsets, TRINE_HOST, d->base.offsets, TRINE_DEVICE, row_bytes));
    TRY(schedule_one(plan, &v, &d->schedules[ONE_RHS], &rounds, &n_rounds, run_first));
    TRY(schedule_many(plan, &v, NARROW_THREADS / 32, d->lanes >= 16 ? 8 : 1, &d->schedules[MANY_RHS]));
    TRY(trine_device_upload(ctx, rounds, (size_t)n_rounds * sizeof *rounds, (void **)&d->rounds));
    TRY(trine_device_upload(ctx, run_first, bytes, (void **)&run_first_on_device));
    TRY(trine_alloc(ctx, TRINE_DEVICE, (size_t)d->base.nnz * sizeof *d->near_columns, (void **)&d->near_columns));
    if (d->base.nnz)
        take_row_numbers<<<device_blocks_for(plan, d->base.n * 32), 256, 0, stream>>>(d->base, t->n_levels, d->level_offsets, run_first_on_device,
                                                                                       ring, d->near_columns);
    TRY(GPU_LAUNCHED("the row numbers"));
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* what it reads goes */
    plan->info.bytes += (int64_t)(bytes + (size_t)n_rounds * sizeof *rounds + (size_t)d->base.nnz * sizeof *d->near_columns);
done:
    trine_free(ctx, TRINE_HOST, entries);
    trine_free(ctx, TRINE_HOST, run_first);
    trine_free(ctx, TRINE_HOST, offsets);
    trine_free(ctx, TRINE_HOST, rounds);
    trine_free(ctx, TRINE_DEVICE, on_device);
    trine_free(ctx, TRINE_DEVICE, run_first_on_device);
    return status;
}

/** Levels, rows sorted by them, and the schedules. */
trine_status sort_by_level(trine_triangular plan, struct triangle *t, const device_triangle *natural, levelset_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    row_shape search = row_shape_for_search(plan, natural);
    const int32_t *level = nullptr;
    int64_t *level_offsets = nullptr;
    double microseconds;
    arena scratch = {};
    char *state;
    int32_t *sorted;
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        state = a.take<char>(256 + plan->n * (int64_t)sizeof(int32_t));
        sorted = a.take<int32_t>(plan->n);
    }));
    TRY(device_levels_find(plan, natural, &search, state, &level, &t->n_levels, &microseconds));
    level_offsets = (int64_t *)trine_host_alloc(ctx, t->n_levels + 1, sizeof *level_offsets);
    if (!level_offsets) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)t->n_levels);
    TRY(device_levels_sort(plan, plan->n, t->n_levels, level, sorted, level_offsets));
    TRY(device_triangle_reorder(plan, natural, sorted, &d->base));
    t->min_rows_per_level = plan->n;
    for (int64_t l = 0; l < t->n_levels; l++) {
        const int64_t rows = level_offsets[l + 1] - level_offsets[l];
        if (rows < t->min_rows_per_level) t->min_rows_per_level = rows;
        if (rows > t->max_rows_per_level) t->max_rows_per_level = rows;
    }
    TRY(make_schedules(plan, t, level_offsets, d));
done:
    trine_free(ctx, TRINE_HOST, level_offsets);
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

} // namespace

trine_status levelset_prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const int64_t asked = plan->options.tune.lanes_per_row;
    int64_t length;
    device_triangle natural = {};
    levelset_side *d = (levelset_side *)(t->device = trine_host_calloc(ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    TRY(device_pattern_build(plan, plan->pattern, BY_ROWS, &natural));
    length = asked ? asked : t->n ? natural.nnz / t->n : 0;
    d->lanes = length < 4 ? 1 : length < 16 ? 4 : length < 32 ? 16 : 32;
    TRY(sort_by_level(plan, t, &natural, d));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
done:
    device_triangle_release(plan, &natural);
    return status; /* what has been allocated so far goes with the plan */
}

void levelset_release(trine_triangular plan, struct triangle *t)
{
    levelset_side *d = (levelset_side *)t->device;
    if (!d) return;
    for (const level_schedule &s : d->schedules) trine_free(plan->ctx, TRINE_HOST, s.steps);
    trine_free(plan->ctx, TRINE_DEVICE, d->level_offsets);
    trine_free(plan->ctx, TRINE_DEVICE, d->near_columns);
    trine_free(plan->ctx, TRINE_DEVICE, d->rounds);
    device_side_release(plan, t);
}
