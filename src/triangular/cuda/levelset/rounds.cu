/* The part of the level-set analysis that looks at rows: what there is in every level, and what every warp does in a
 * run. */
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/levelset/levelset.h"

namespace {

constexpr int THREADS = 256;

__device__ int64_t first_warp() { return (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; }
__device__ int64_t warps_of_grid() { return (int64_t)gridDim.x * blockDim.x / 32; }

/** Entries of a part of a long row: every warp of the run has one, but whole batches. */
__device__ int64_t part_length(const level_measure &m, int warps)
{
    constexpr int64_t EACH = 32 * LEVELSET_BATCH;
    return (m.long_entries / warps / EACH + 1) * EACH;
}

__global__ void make_keys(int64_t n, const int64_t *offsets, const int32_t *level, int32_t *keys)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x)
        keys[p] = 2 * level[p] + (offsets[p + 1] - offsets[p] > LONG_IN_LEVEL);
}

/** A warp has a level. */
__global__ void measure_levels(int64_t n_levels, const int64_t *bounds, const int64_t *offsets, int64_t ring,
                               level_measure *out)
{
    const int lane = threadIdx.x % 32;
    for (int64_t l = first_warp(); l < n_levels; l += warps_of_grid()) {
        const int64_t first = bounds[2 * l], first_long = bounds[2 * l + 1], last = bounds[2 * l + 2];
        auto length = [&](int64_t p) { return (int)(offsets[p + 1] - offsets[p]); };
        level_measure m = {offsets[last] - offsets[first], offsets[last] - offsets[first_long], 0, 0, {0, 0}};
        if (last - first <= run_most_rows(ring) && m.entries <= RUN_ENTRIES) {
            const int per_part[2] = {(int)part_length(m, run_warps(level_step::BLOCK, ring)),
                                     (int)part_length(m, run_warps(level_step::CLUSTER, ring))};
            m.longest = 1;
            for (int64_t p = first + lane; p < first_long; p += 32) m.longest = max(m.longest, length(p));
            for (int64_t p = first_long + lane; p < last; p += 32) {
                m.longest_long = max(m.longest_long, length(p));
                for (int i = 0; i < 2; i++) m.parts[i] += (length(p) + per_part[i] - 1) / per_part[i];
            }
            m.longest = __reduce_max_sync(~0u, m.longest);
            m.longest_long = __reduce_max_sync(~0u, m.longest_long);
            for (int i = 0; i < 2; i++) m.parts[i] = __reduce_add_sync(~0u, m.parts[i]);
        }
        if (lane == 0) out[l] = m;
    }
}

/** A warp has a level: rounds of short rows, parts of long ones, and what brings those together. */
__global__ void write_rounds(int64_t n_levels, const int64_t *bounds, const int64_t *offsets, int64_t ring,
                             const level_measure *measures, const level_place *places, level_round *rounds)
{
    const int lane = threadIdx.x % 32;
    for (int64_t l = first_warp(); l < n_levels; l += warps_of_grid()) {
        const level_place at = places[l];
        if (at.kind == level_step::WIDE) continue;
        const level_measure m = measures[l];
        const int64_t first = bounds[2 * l], first_long = bounds[2 * l + 1], last = bounds[2 * l + 2];
        const int log_lanes = run_log_lanes(m), most_rows = 32 >> log_lanes;
        const int64_t n_rounds = (first_long - first + most_rows - 1) / most_rows,
                      per_part = part_length(m, run_warps(at.kind, ring));
        level_round *const out = rounds + at.first_round, *const parts = out + n_rounds,
                           *const finish = parts + m.parts[at.kind == level_step::CLUSTER];
        for (int64_t i = lane; i < n_rounds; i += 32) {
            const int64_t row = first + i * most_rows;
            out[i] = {
                (int32_t)row,     (int32_t)min((int64_t)most_rows, first_long - row), at.stage, log_lanes, 0, 0, 0,
                level_round::ROWS};
        }
        int32_t taken = 0;
        for (int64_t p = first_long; p < last; p++) {
            const int32_t count = (int32_t)((offsets[p + 1] - offsets[p] + per_part - 1) / per_part);
            for (int32_t i = lane; i < count; i += 32)
                parts[taken + i] = {(int32_t)p,        1,         at.stage,         5, (int32_t)(i * per_part),
                                    (int32_t)per_part, taken + i, level_round::PART};
            if (lane == 0)
                finish[p - first_long] = {(int32_t)p, 1, at.stage + 1, 5, 0, count, taken, level_round::FINISH};
            taken += count;
        }
    }
}

/** Positions to row numbers, by which solves read X, or in near to slots of the ring. A warp has a row. */
__global__ void take_row_numbers(const device_triangle d, int64_t n_levels, const int64_t *bounds,
                                 const level_place *places, int64_t ring, int32_t *near)
{
    for (int64_t p = first_warp(); p < d.n; p += warps_of_grid()) {
        int64_t level = 0, high = n_levels - 1;
        while (level < high) {
            const int64_t middle = (level + high + 1) / 2;
            if (bounds[2 * middle] <= p) level = middle;
            else high = middle - 1;
        }
        const level_place at = places[level];
        const int64_t oldest = at.kind == level_step::WIDE ? d.n : max(at.run_first, bounds[2 * level + 2] - ring);
        for (int64_t k = d.offsets[p] + threadIdx.x % 32; k < d.offsets[p + 1]; k += 32) {
            const int32_t c = d.columns[k], row = d.order[c];
            d.columns[k] = row;
            near[k] = c >= oldest ? ~(int32_t)(c % ring) : row;
        }
    }
}

} // namespace

trine_status levelset_make_keys(trine_triangular plan, const device_triangle *d, const int32_t *level, int32_t *keys)
{
    if (d->n)
        make_keys<<<device_blocks_for(plan, d->n), THREADS, 0, (gpuStream_t)plan->base.ctx->stream>>>(d->n, d->offsets,
                                                                                                      level, keys);
    return GPU_LAUNCHED("long rows of levels");
}

trine_status levelset_measure(trine_triangular plan, const levelset_side *d, int64_t n_levels, level_measure *out,
                              level_measure **on_device)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const size_t bytes = (size_t)n_levels * sizeof *out;
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, (void **)on_device));
    if (!n_levels) return TRINE_SUCCESS;
    measure_levels<<<device_blocks_for(plan, n_levels * 32), THREADS, 0, (gpuStream_t)ctx->stream>>>(
        n_levels, d->bounds, d->base.offsets, d->ring, *on_device);
    TRY(GPU_LAUNCHED("a look at the levels"));
    TRY(trine_device_copy_async(ctx, out, *on_device, bytes, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream));
done:
    return status;
}

trine_status levelset_write_rounds(trine_triangular plan, levelset_side *d, int64_t n_levels,
                                   const level_measure *on_device, const level_place *places, int64_t n_rounds)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    gpuStream_t stream = (gpuStream_t)ctx->stream;
    const size_t round_bytes = (size_t)n_rounds * sizeof *d->rounds,
                 near_bytes = (size_t)d->base.nnz * sizeof *d->near_columns;
    level_place *to = nullptr;
    TRY(trine_alloc(ctx, TRINE_DEVICE, round_bytes, (void **)&d->rounds));
    TRY(trine_alloc(ctx, TRINE_DEVICE, near_bytes, (void **)&d->near_columns));
    if (!n_levels) return TRINE_SUCCESS;
    TRY(trine_device_upload(ctx, places, (size_t)n_levels * sizeof *places, (void **)&to));
    write_rounds<<<device_blocks_for(plan, n_levels * 32), THREADS, 0, stream>>>(n_levels, d->bounds, d->base.offsets,
                                                                                 d->ring, on_device, to, d->rounds);
    if (d->base.nnz)
        take_row_numbers<<<device_blocks_for(plan, d->base.n * 32), THREADS, 0, stream>>>(d->base, n_levels, d->bounds,
                                                                                          to, d->ring, d->near_columns);
    TRY(GPU_LAUNCHED("the rounds of level sets"));
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* what it reads goes */
    plan->info.bytes += (int64_t)(round_bytes + near_bytes);
done:
    trine_free(ctx, TRINE_DEVICE, to);
    return status;
}
