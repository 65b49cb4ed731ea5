/* Which levels the level-set solve takes together: levels, rows sorted by them, and what is launched. */
#include "core/gpu_limits.h"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/levelset/levelset.h"

namespace {

/* Several right-hand sides: a level on its own costs about as much as one block needs for this many rounds of rows,
 * or for this many entries (H200: 2.5 us; 1 us a round, in which every thread has a batch of entries). */
constexpr int ROUNDS_PER_LAUNCH = 2;

/* One right-hand side, us on an H200 (docs/notes/triangular-solves.md says how they were measured): a launch in a
 * graph; a batch of entries of every lane, one after the other; a barrier and the way to the next one, in a block
 * and in a cluster; the trips to memory before a round, of which the less shows the more levels a warp has until its
 * next one. */
struct level_costs { double launch, batch, block_stage, cluster_stage, trips; };
constexpr level_costs COSTS = {2.5, 0.6, 0.4, 0.9, 1.5};

constexpr int64_t WIDE_BLOCK = 256; /* threads that share a long row of a wide level */

/** What a level takes in a run: barriers, none where it does not fit, and what its warps do between them. */
struct run_share {
    int stages;
    int64_t rounds;
};

run_share share_of(const level_measure *m, const int64_t *bounds, int kind)
{
    const int parts = m->parts[kind == level_step::CLUSTER], most_rows = 32 >> run_log_lanes(*m);
    if (!m->longest || parts > PARTS) return {0, 0};
    return {parts ? 2 : 1, (bounds[1] - bounds[0] + most_rows - 1) / most_rows + parts + bounds[2] - bounds[1]};
}

/** What a level costs as a step of some kind, without the launch of a run. */
double cost_of(const level_measure *m, const int64_t *bounds, int kind, int lanes, int64_t ring)
{
    if (kind == level_step::WIDE) {
        const int64_t batches = m->longest / (LEVELSET_BATCH * lanes),
                      long_batches = m->longest_long / (LEVELSET_BATCH * WIDE_BLOCK);
        return COSTS.launch + COSTS.batch * (double)(batches > long_batches ? batches : long_batches);
    }
    const run_share share = share_of(m, bounds, kind);
    if (!share.stages) return 1e30;
    return share.stages * (kind == level_step::BLOCK ? COSTS.block_stage : COSTS.cluster_stage) +
           COSTS.trips * (double)share.rounds / run_warps(kind, ring);
}

/** Steps for one right-hand side: the cheapest kind for every level, where a change of the kind costs a launch;
 *  where each level of a run is. */
trine_status schedule_one(trine_triangular plan, const levelset_side *d, int64_t n_levels, const int64_t *bounds,
                          const level_measure *measures, level_schedule *out, level_place *places, int64_t *n_rounds)
{
    constexpr int KINDS = level_step::KINDS;
    trine_status status = TRINE_SUCCESS;
    uint8_t (*from)[KINDS] = nullptr; /* the best kind of the level before */
    double cost[KINDS] = {}, least = 0;
    int best = 0;
    from = (uint8_t (*)[KINDS])trine_host_alloc(plan->base.ctx, n_levels + 1, sizeof *from);
    out->steps = (level_step *)trine_host_alloc(plan->base.ctx, n_levels, sizeof *out->steps);
    if (!from || !out->steps) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)n_levels);
    for (int64_t l = 0; l <= n_levels; l++) {
        best = 0;
        for (int kind = 1; kind < KINDS; kind++)
            if (cost[kind] < cost[best]) best = kind;
        least = cost[best];
        for (int kind = 0; kind < KINDS && l < n_levels; kind++) {
            const double own = kind == level_step::CLUSTER && !d->clusters
                                   ? 1e30
                                   : cost_of(&measures[l], &bounds[2 * l], kind, d->lanes, d->ring);
            const bool stays = l && kind != level_step::WIDE && cost[kind] <= least + COSTS.launch;
            from[l][kind] = (uint8_t)(stays ? kind : best);
            cost[kind] = (stays ? cost[kind] : least + (kind == level_step::WIDE ? 0 : COSTS.launch)) + own;
        }
    }
    for (int64_t l = n_levels - 1; l >= 0; l--) {
        places[l] = {};
        places[l].kind = best;
        best = from[l][best];
    }
    *n_rounds = 0;
    for (int64_t l = 0; l < n_levels; l++) {
        const int kind = places[l].kind;
        level_step *step = out->count ? &out->steps[out->count - 1] : nullptr;
        if (kind == level_step::WIDE || !step || step->kind != kind) {
            step = &out->steps[out->count++];
            *step = {};
            step->kind = kind == level_step::WIDE    ? level_step::WIDE
                         : kind == level_step::BLOCK ? level_step::BLOCK
                                                     : level_step::CLUSTER;
            step->first_level = l, step->first = bounds[2 * l], step->first_long = bounds[2 * l + 1],
            step->first_round = *n_rounds;
        }
        places[l].first_round = *n_rounds, places[l].run_first = step->first, places[l].stage = step->stages;
        if (kind != level_step::WIDE) {
            const run_share share = share_of(&measures[l], &bounds[2 * l], kind);
            *n_rounds += share.rounds;
            step->stages += share.stages;
        }
        step->last_level = l + 1, step->last = bounds[2 * l + 2], step->last_round = *n_rounds;
    }
done:
    trine_free(plan->base.ctx, TRINE_HOST, from);
    return status;
}

/** Several right-hand sides: runs of levels of up to ROUNDS_PER_LAUNCH rounds of `rows` rows, and of batches of
 *  entries with `lanes` threads a row, into one step each; every other level is its own. */
trine_status schedule_many(trine_triangular plan, int64_t n_levels, const int64_t *bounds,
                           const level_measure *measures, int64_t rows, int64_t lanes, level_schedule *out)
{
    const int64_t most_rows = ROUNDS_PER_LAUNCH * rows,
                  most_entries = ROUNDS_PER_LAUNCH * LEVELSET_BATCH * rows * lanes;
    out->steps = (level_step *)trine_host_alloc(plan->base.ctx, n_levels, sizeof *out->steps);
    if (!out->steps) return TRINE_ERR_MEMORY;
    bool open = false; /* the last step is a run of narrow levels */
    for (int64_t l = 0; l < n_levels; l++) {
        const int64_t first = bounds[2 * l], last = bounds[2 * l + 2];
        const bool wide = last - first > most_rows || measures[l].entries > most_entries;
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

/** The ring of runs, and whether they may have a cluster of blocks. */
trine_status choose_ring(trine_triangular plan, levelset_side *d)
{
    const size_t size = trine_dtype_size(plan->base.dtype);
    gpu_limits limits;
    if (trine_status status = trine_gpu_limits(&limits)) return status;
    d->ring =
        (RING_BYTES + PARTS * size <= (size_t)limits.shared_bytes ? RING_BYTES : SMALL_RING_BYTES) / (int64_t)size;
    d->clusters = limits.clusters;
    return TRINE_SUCCESS;
}

/** Rows sorted by level, and the schedules. */
trine_status sort_by_level(trine_triangular plan, struct triangular_side *t, const device_triangle *natural,
                           levelset_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    row_shape search = row_shape_for_search(plan, natural);
    levels_found found;
    int64_t *bounds = nullptr, n_rounds = 0;
    level_measure *measures = nullptr, *on_device = nullptr;
    level_place *places = nullptr;
    size_t bytes;
    arena scratch = {};
    char *state;
    int32_t *keys;
    TRY(arena_allocate(ctx, &scratch, [&](arena &a) {
        state = a.take<char>(device_levels_bytes(n));
        keys = a.take<int32_t>(n);
    }));
    TRY(device_levels_search(plan, natural, &search, state));
    TRY(device_levels_read(plan, state, &found));
    t->n_levels = found.n_levels;
    if (t->n_levels > INT32_MAX / 2)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld levels are too many for level sets", (long long)t->n_levels);
    bytes = (size_t)(2 * t->n_levels + 1) * sizeof *bounds;
    bounds = (int64_t *)trine_host_alloc(ctx, 1, bytes);
    measures = (level_measure *)trine_host_alloc(ctx, t->n_levels, sizeof *measures);
    places = (level_place *)trine_host_alloc(ctx, t->n_levels, sizeof *places);
    if (!bounds || !measures || !places) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)t->n_levels);
    TRY(levelset_make_keys(plan, natural, device_levels_of(state), keys));
    TRY(device_triangle_sort(plan, natural, 2 * t->n_levels, keys, bounds, &d->base));
    t->min_rows_per_level = n;
    for (int64_t l = 0; l < t->n_levels; l++) {
        const int64_t rows = bounds[2 * l + 2] - bounds[2 * l];
        if (rows < t->min_rows_per_level) t->min_rows_per_level = rows;
        if (rows > t->max_rows_per_level) t->max_rows_per_level = rows;
    }
    TRY(trine_device_upload(ctx, bounds, bytes, (void **)&d->bounds));
    plan->info.bytes += (int64_t)bytes;
    TRY(levelset_measure(plan, d, t->n_levels, measures, &on_device));
    TRY(schedule_one(plan, d, t->n_levels, bounds, measures, &d->schedules[ONE_RHS], places, &n_rounds));
    TRY(schedule_many(plan, t->n_levels, bounds, measures, NARROW_THREADS / 32, d->lanes >= 16 ? 8 : 1,
                      &d->schedules[MANY_RHS]));
    TRY(levelset_write_rounds(plan, d, t->n_levels, on_device, places, n_rounds));
done:
    trine_free(ctx, TRINE_HOST, bounds);
    trine_free(ctx, TRINE_HOST, measures);
    trine_free(ctx, TRINE_HOST, places);
    trine_free(ctx, TRINE_DEVICE, on_device);
    trine_free(ctx, TRINE_DEVICE, scratch.base);
    return status;
}

} // namespace

trine_status levelset_analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t asked = plan->options.tune.lanes_per_row;
    int64_t length;
    device_triangle natural = {};
    struct triangular_side *const out = &plan->side[side];
    levelset_side *d = (levelset_side *)(out->part = trine_host_calloc(ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    TRY(device_form_build(plan, (device_pattern *)pattern, side, BY_ROWS, &natural));
    length = asked ? asked : natural.n ? natural.nnz / natural.n : 0;
    d->lanes = length < 4 ? 1 : length < 16 ? 4 : length < 32 ? 16 : 32;
    TRY(choose_ring(plan, d));
    TRY(sort_by_level(plan, out, &natural, d));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
done:
    device_triangle_release(plan, &natural);
    return status; /* what has been allocated so far goes with the plan */
}

void levelset_release(trine_triangular plan, struct triangular_side *side)
{
    levelset_side *d = (levelset_side *)side->part;
    for (const level_schedule &s : d->schedules) trine_free(plan->base.ctx, TRINE_HOST, s.steps);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->bounds);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->near_columns);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->rounds);
    device_part_release(plan, side);
}
