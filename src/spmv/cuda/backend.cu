/* Products on a GPU: the analysis of a side, launches, memory, and the table. */
#include <stdio.h>

#include "core/choices.h"
#include "core/gpu_kernels.h"
#include "core/gpu_limits.h"
#include "spmv/cuda/analysis.cuh"
#include "spmv/cuda/cuda.h"
#include "spmv/semiring.h"

namespace {

constexpr int THREADS = 256, MOST_LOOKING = 1024 /* blocks of them */, MOST_SAMPLES = 1024;
constexpr int64_t MOST_BLOCKS = (int64_t)1 << 30, MOST_ADAPTIVE_ROW = (int64_t)1 << 30;
/* What a semiring may keep of a row: its accumulator and two flags. */
constexpr size_t MOST_PARTIAL_BYTES = 256 + 16;
/* What a block of rows.cuh has room for; some blocks have more than the mean. Mean rows up to MOSTLY_EMPTY are. */
constexpr int ROWS_CAPACITY = SPMV_CUDA_ROWS_BLOCK * SPMV_CUDA_ROWS_TILE;
/* Mean row from which on warps work by themselves; with shorter ones, rows count as well. */
constexpr double LEAST_OF_WARPS = 4;
constexpr int WARPS_CAPACITY = SPMV_CUDA_WARPS_TILES * 32 * SPMV_CUDA_WARPS_EACH;
/* Blocks of a multiprocessor that search, and tiles that each takes, at most. */
constexpr int BLOCKS_THAT_SEARCH = 48, MOST_TILES = 8;
constexpr double ROWS_ROOM = 0.95, MOSTLY_EMPTY = 0.75;
/* Rows of a block, at most, where they are mostly empty: eight for a thread. Elsewhere as many as the threads take at a
 * time, or twice as many, ..., if that is most of what there is room for. */
constexpr double MOST_ROWS = 8 * SPMV_CUDA_ROWS_BLOCK, MOST_OF_ROWS = 0.85;
/* Entries of a row that one thread takes, and the longest row beside the mean one, for the kernel of rows.cuh. */
constexpr double ENTRIES_OF_A_THREAD = 14, LONGEST_OF_MEAN = 3;
/* Groups of rows that are alike, of those that were looked at, and the mean row from which on that counts. */
constexpr double MOST_ARE_ALIKE = 0.9, LEAST_OF_ALIKE = 32;
/* Mean row, and tiles of a block, up to which blocks go on. */
constexpr double LONGEST_OF_RING = 6, MOST_ROUNDS = 16;

/* ---------------------------------------------------------------- choices */

double mean_row(trine_spmv plan, const struct spmv_side *side)
{
    return side->n_rows ? (double)plan->nnz / (double)side->n_rows : 0;
}

/** Entries that there is room for in a block of rows.cuh or a tile of ring.cuh. */
int capacity_by_rows(const struct cuda_part *part)
{
    return part->by_ring == RING_SHORT ? SPMV_CUDA_ROWS_BLOCK * SPMV_CUDA_RING_TILE : ROWS_CAPACITY;
}

/** w, or as much as there is room for in a block of rows.cuh. */
int64_t limit_rows(trine_spmv plan, const struct spmv_side *side, const struct cuda_part *part, int64_t w)
{
    const int capacity = capacity_by_rows(part);
    const double mean = mean_row(plan, side), row = part->row_weight + mean;
    const bool mostly_empty = mean <= MOSTLY_EMPTY;
    const int offsets = capacity / (mostly_empty ? 2 : 4) * (side->offset_bits == 32 ? 2 : 1); /* not known yet: 64 */
    double rows = ROWS_ROOM * offsets;
    if (mostly_empty && rows > MOST_ROWS) rows = MOST_ROWS;
    if (mostly_empty && rows * mean > ROWS_ROOM * capacity / 2) rows = ROWS_ROOM * capacity / 2 / mean;
    if (rows * row > (double)w) rows = (double)w / row;
    /* threads that have taken rows take others. Not for a few more */
    const double together = SPMV_CUDA_ROWS_BLOCK >> part->lanes_shift,
                 full = (double)(int64_t)(rows / together) * together;
    if (full > MOST_OF_ROWS * rows) rows = full;
    return (int64_t)(rows * row);
}

/** Starts from one block of rows.cuh to the next. */
int starts_each(const struct cuda_part *part)
{
    return part->by_ring == RING_SHORT ? (int)SPMV_CUDA_ROWS_TILE / (int)SPMV_CUDA_RING_TILE : 1;
}
/** Rows of a block of alike.cuh, groups of them, so that there is room for its entries. */
int alike_rows(trine_spmv plan, const struct spmv_side *side)
{
    const double most = ROWS_ROOM * SPMV_CUDA_ALIKE_ENTRIES / (mean_row(plan, side) + 1);
    return most < 1 << 16 ? (int)most / SPMV_CUDA_ALIKE_ROWS * SPMV_CUDA_ALIKE_ROWS : 0;
}
int64_t ring_blocks(trine_spmv plan) { return (int64_t)SPMV_CUDA_RING_BLOCKS * plan->base.ctx->info.multiprocessors; }

/** Tiles of a block that searches for its start, of so many tiles: a few, where blocks enough are left. */
int64_t tiles_of_a_search(trine_spmv plan, int64_t tiles)
{
    const int64_t each = tiles / (BLOCKS_THAT_SEARCH * (plan->base.ctx->info.multiprocessors + 1));
    return each < 1 ? 1 : each < MOST_TILES ? each : MOST_TILES;
}

/** Work that a block gets: entries, and rows by their weight. longest: -1 if not known. w: as asked, 0: by these. */
int64_t choose_work(trine_spmv plan, const struct spmv_side *side, const struct cuda_part *part, int64_t longest,
                    int64_t w)
{
    const int64_t nnz = plan->nnz, work = nnz + part->row_weight * side->n_rows;
    if (!w) {
        const int64_t capacity = part->by_rows    ? capacity_by_rows(part)
                                 : part->by_warps ? WARPS_CAPACITY
                                                  : (int64_t)part->block * part->tile;
        /* an adaptive block ends with a row: it may have most of one more */
        const int64_t more = longest >= 0 ? longest : side->n_rows ? nnz / side->n_rows + 1 : 1;
        w = part->scheme == TRINE_SPMV_ADAPTIVE ? capacity - (more < capacity / 4 ? more : capacity / 4) : capacity;
        /* so many entries, and the rows that they have on average, within what a block has room for */
        const double rows = nnz ? (double)work / (double)nnz : 3;
        if (!part->by_warps)
            w = (int64_t)((double)w * (rows < 3 ? rows : 3)); /* a warp's last tile is not to be small */
        if (plan->options.no_preprocess && part->scheme != TRINE_SPMV_ADAPTIVE) w *= tiles_of_a_search(plan, work / w);
        if (part->by_groups) w = (int64_t)(alike_rows(plan, side) * (part->row_weight + mean_row(plan, side)));
        else if (part->by_rows) w = limit_rows(plan, side, part, w);
        if (part->by_ring == RING_SHORT && w > 0) { /* every block of the ring gets as many tiles */
            const int64_t ring = ring_blocks(plan), tiles = work / w + 1, rounds = (tiles + ring - 1) / ring;
            w = work / (rounds * ring) + 1;
        }
    }
    if (w < work / MOST_BLOCKS) w = work / MOST_BLOCKS;
    return w < 1 ? 1 : w < MOST_ADAPTIVE_ROW ? w : MOST_ADAPTIVE_ROW;
}

int64_t count_blocks(trine_spmv plan, const struct spmv_side *side, const struct cuda_part *part)
{
    const int64_t work = plan->nnz + part->row_weight * side->n_rows, w = part->entries_per_block;
    const int64_t blocks = work / w + (work % w != 0);
    return blocks ? blocks : side->n_rows > 0;
}

/** The plan's options, or what has been tuned where they are automatic. */
trine_spmv_options tuned_options(trine_spmv plan, const struct spmv_side *side)
{
    trine_spmv_options o = plan->options;
    char name[TRINE_CHOICE_BYTES], choice[TRINE_CHOICE_BYTES];
    if (o.tune.block || o.tune.tile || o.tune.entries_per_block || o.tune.reduction || o.tune.row_weight) return o;
    spmv_cuda_name_choice(plan, side, name);
    if (trine_choice_get(plan->base.ctx, name, choice)) spmv_read_choice(choice, &o);
    /* whole rows have one shape, which is not that of the segmented kernel beside them */
    if (o.tune.reduction >= TRINE_REDUCTION_ROWS) o.tune.block = o.tune.tile = 0;
    return o;
}

/** Whether blocks may go on, if rows are alike, and how: where they do so some times. With a thread a row, short rows
 *  gain, and matrices that are not so large that the end of a launch counts little. With several threads a row, values
 *  of 4 bytes do. Other kernels take two of the small tiles as one. */
int may_ring(trine_spmv plan, const struct spmv_side *side, const struct cuda_part *part)
{
    const int tile = part->lanes_shift ? (int)SPMV_CUDA_ROWS_TILE : (int)SPMV_CUDA_RING_TILE;
    const double mean = mean_row(plan, side);
    const double rounds = (double)plan->nnz / (SPMV_CUDA_ROWS_BLOCK * tile) / (double)(ring_blocks(plan) + 1);
    if (side->offset_bits != 32 || trine_dtype_size(plan->base.dtype) > 8 || plan->options.tune.entries_per_block ||
        plan->base.ctx->info.compute_capability < 90 || rounds < 2 || mean <= MOSTLY_EMPTY)
        return 0;
    if (!part->lanes_shift) return mean <= LONGEST_OF_RING && rounds < MOST_ROUNDS ? RING_SHORT : 0;
    return part->lanes_shift > 1 && plan->value_size == 4 && !side->position_bits ? RING_LONG : 0;
}

/** Whether rows are to share elements of x in groups: most that were looked at can. */
bool share_columns(trine_spmv plan, const struct spmv_side *side)
{
    return side->rows_alike && !side->position_bits && plan->options.max_nrhs == 1 &&
           trine_dtype_size(plan->base.dtype) <= 8 && mean_row(plan, side) >= LEAST_OF_ALIKE &&
           !plan->options.tune.entries_per_block && alike_rows(plan, side) > 0;
}

/** Whether threads take rows, 2^lanes_shift each, and how many. */
void choose_rows(trine_spmv plan, const struct spmv_side *side, int64_t longest, const trine_spmv_options *o,
                 struct cuda_part *part)
{
    const double mean = mean_row(plan, side);
    part->by_rows = part->scheme == TRINE_SPMV_ADAPTIVE && longest >= 0 && side->position_bits != 64;
    if (o->tune.reduction != TRINE_REDUCTION_ROWS)
        part->by_rows = part->by_rows && !o->tune.block && !o->tune.tile && !o->tune.reduction &&
                        longest <= ROWS_CAPACITY / 4 && (double)longest <= LONGEST_OF_MEAN * (mean + 4);
    part->lanes_shift = 0;
    part->mostly_empty = part->by_rows && mean <= MOSTLY_EMPTY;
    while (part->lanes_shift < 5 && mean > ENTRIES_OF_A_THREAD * (1 << part->lanes_shift)) part->lanes_shift++;
    part->by_groups = part->by_rows && share_columns(plan, side);
    part->by_ring = part->by_rows && !part->by_groups ? may_ring(plan, side, part) : 0;
}

/** The part but for its arrays. */
void shape(trine_spmv plan, const struct spmv_side *side, int64_t longest, struct cuda_part *part, const char **reason)
{
    const trine_spmv_options tuned = tuned_options(plan, side), *o = &tuned;
    part->block = o->tune.block ? o->tune.block : SPMV_CUDA_BLOCK;
    part->tile = o->tune.tile ? o->tune.tile : SPMV_CUDA_TILE;
    part->reduction = o->tune.reduction && o->tune.reduction < TRINE_REDUCTION_ROWS ? (int)o->tune.reduction
                                                                                    : (int)SPMV_CUDA_REDUCTION;
    struct product_instance instance = {plan->base.dtype, plan->stored, side->position_bits != 0,
                                        part->block,      part->tile,   part->reduction};
    spmv_fit_product(&instance);
    part->block = instance.block, part->tile = instance.tile;
    part->row_weight = o->tune.row_weight < 0 ? 0 : o->tune.row_weight ? o->tune.row_weight : 1;
    part->scheme = o->method;
    *reason = "as asked";
    if (!part->scheme) {
        const bool is_long = longest < 0 || longest > 4 * (int64_t)part->block * part->tile;
        part->scheme = is_long ? TRINE_SPMV_BALANCED_POSTPROCESS : TRINE_SPMV_ADAPTIVE;
        *reason = longest < 0 ? "rows are not looked at, and may be long"
                  : is_long   ? "a row is as long as several tiles"
                              : "no row is longer than a few tiles";
    }
    choose_rows(plan, side, longest, o, part);
    const bool is_free = !o->tune.block && !o->tune.tile && !o->tune.reduction && !o->tune.row_weight;
    part->by_warps =
        !part->by_rows && part->scheme != TRINE_SPMV_BALANCED_ATOMIC && longest >= 0 &&
        (o->tune.reduction == TRINE_REDUCTION_WARPS ||
         (is_free && part->scheme == TRINE_SPMV_BALANCED_POSTPROCESS && mean_row(plan, side) >= LEAST_OF_WARPS));
    part->entries_per_block = choose_work(plan, side, part, longest, o->tune.entries_per_block);
    part->blocks = count_blocks(plan, side, part);
}

/* --------------------------------------------------------------- analysis */

struct segmented_arguments arguments_of(trine_spmv plan, const struct spmv_side *side, const struct cuda_part *part)
{
    struct segmented_arguments a = {};
    a.offsets = side->offsets;
    a.starts = part->starts;
    a.n_rows = side->n_rows, a.nnz = plan->nnz;
    a.row_begin = 0, a.row_end = side->n_rows;
    a.entries_per_block = part->entries_per_block;
    a.row_weight = part->row_weight;
    a.wide_offsets = side->offset_bits == 64;
    a.scheme = part->scheme;
    a.n_blocks = a.end_block = (int)part->blocks;
    a.starts_each = starts_each(part);
    a.rows_together = part->by_groups ? (int)SPMV_CUDA_ALIKE_ROWS : 1;
    return a;
}

/** Threads that look at a row each, by turns. */
int looking_threads(int64_t n_rows)
{
    const int64_t blocks = (n_rows + THREADS - 1) / THREADS;
    return (int)(blocks < MOST_LOOKING ? blocks : MOST_LOOKING) * THREADS;
}

trine_status find_longest(trine_spmv plan, struct spmv_side *side, const struct cuda_part *part, int64_t *longest)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int threads = looking_threads(side->n_rows);
    const bool compares = !side->position_bits && mean_row(plan, side) >= LEAST_OF_ALIKE;
    struct row_facts found = {};
    void *on_device = nullptr;
    TRY(trine_alloc(ctx, TRINE_DEVICE, sizeof found, &on_device));
    TRY(trine_device_fill_async(ctx, on_device, 0, sizeof found, stream));
    measure_rows<THREADS><<<threads / THREADS, THREADS, 0, stream>>>(
        arguments_of(plan, side, part), compares ? side->columns : nullptr, (row_facts *)on_device, threads);
    TRY(GPU_LAUNCHED("measuring the rows"));
    TRY(trine_device_copy_async(ctx, &found, on_device, sizeof found, stream));
    TRY(trine_device_synchronize(ctx, stream));
    if (side->ends_unchecked) TRY(spmv_check_ends(plan, found.first, found.last));
    side->ends_unchecked = false;
    side->rows_alike = (double)found.alike >= MOST_ARE_ALIKE * (threads / THREADS);
    *longest = found.longest;
done:
    trine_free(ctx, TRINE_DEVICE, on_device);
    return status;
}

/** Rows of some starts, for ranges of rows to find their blocks. */
trine_status sample_starts(trine_spmv plan, struct cuda_part *part)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const gpuStream_t stream = (gpuStream_t)ctx->stream;
    part->sample_step = (part->blocks + MOST_SAMPLES - 1) / MOST_SAMPLES;
    part->samples = (part->blocks + part->sample_step - 1) / part->sample_step;
    part->sampled_rows = (int64_t *)trine_host_alloc(ctx, part->samples, sizeof *part->sampled_rows);
    if (!part->sampled_rows) return TRINE_ERR_MEMORY;
    TRY(GPU(gpuMemcpy2DAsync(part->sampled_rows, sizeof *part->sampled_rows, &part->starts->row,
                             (size_t)part->sample_step * sizeof *part->starts, sizeof *part->sampled_rows,
                             (size_t)part->samples, gpuMemcpyDefault, stream)));
    TRY(trine_device_synchronize(ctx, stream));
done:
    return status;
}

trine_status make_starts(trine_spmv plan, struct spmv_side *side, struct cuda_part *part)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int threads = looking_threads(side->n_rows);
    const size_t bytes = (size_t)(part->blocks + 2) * sizeof *part->starts;
    void *starts;
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, &starts));
    part->starts = (struct block_start *)starts;
    side->bytes += (int64_t)bytes;
    find_starts<THREADS><<<threads / THREADS, THREADS, 0, (gpuStream_t)ctx->stream>>>(arguments_of(plan, side, part),
                                                                                      part->starts, threads);
    TRY(GPU_LAUNCHED("finding the starts of blocks"));
    TRY(sample_starts(plan, part));
done:
    return status;
}

/** The kernel of a tuned plan. */
trine_status get_kernel(trine_spmv plan, const struct spmv_side *side, struct cuda_part *part)
{
    const bool is_own =
        part->block == SPMV_CUDA_BLOCK && part->tile == SPMV_CUDA_TILE && part->reduction == (int)SPMV_CUDA_REDUCTION;
    const struct product_instance instance = {plan->base.dtype, plan->stored, side->position_bits != 0,
                                              part->block,      part->tile,   part->reduction};
    return is_own ? TRINE_SUCCESS
                  : trine_gpu_get_kernels(plan->base.ctx, spmv_product_get_kernels, &instance, 1, &part->kernels,
                                          &part->reduce);
}

trine_status analyse_side(trine_spmv plan, struct spmv_side *side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const char *reason;
    struct cuda_part *part = (struct cuda_part *)trine_host_calloc(ctx, 1, sizeof *part);
    if (!part) return TRINE_ERR_MEMORY;
    side->part = part;
    shape(plan, side, -1, part, &reason);
    if (!plan->options.no_preprocess && side->n_rows) {
        TRY(find_longest(plan, side, part, &side->longest_row));
        shape(plan, side, side->longest_row, part, &reason);
    }
    if (part->scheme == TRINE_SPMV_ADAPTIVE && side->longest_row >= MOST_ADAPTIVE_ROW)
        FAIL(TRINE_ERR_UNSUPPORTED, "a row has 2^30 entries or more, too many for a block of method adaptive");
    if (!plan->options.no_preprocess && side->n_rows) TRY(make_starts(plan, side, part));
    TRY(get_kernel(plan, side, part));
    side->method = (trine_spmv_method)part->scheme;
    if (side != &plan->side[SPMV_N] && plan->side[SPMV_N].announced) return TRINE_SUCCESS; /* of which info tells */
    plan->info.reason = reason;
    plan->info.blocks = part->blocks;
    plan->info.block = part->by_rows ? SPMV_CUDA_ROWS_BLOCK : part->by_warps ? SPMV_CUDA_WARPS_BLOCK : part->block;
    plan->info.tile = part->by_ring == RING_SHORT ? SPMV_CUDA_RING_TILE
                      : part->by_rows             ? SPMV_CUDA_ROWS_TILE
                      : part->by_warps            ? SPMV_CUDA_WARPS_EACH
                                                  : part->tile;
    plan->info.reduction = part->by_rows    ? TRINE_REDUCTION_ROWS
                           : part->by_warps ? TRINE_REDUCTION_WARPS
                                            : (trine_spmv_reduction)part->reduction;
    plan->info.entries_per_block = part->entries_per_block;
done:
    return status;
}

void release_part(trine_spmv plan, struct spmv_side *side)
{
    trine_context ctx = plan->base.ctx;
    struct cuda_part *part = (struct cuda_part *)side->part;
    trine_kernels_drop(ctx, part->kernels);
    trine_free(ctx, TRINE_DEVICE, part->starts);
    trine_free(ctx, TRINE_HOST, part->sampled_rows);
    trine_free(ctx, TRINE_HOST, part);
}

/* ---------------------------------------------- rows, before the analysis */

/** counts[c] += the number of entries in column c. */
__global__ void __launch_bounds__(THREADS) count_columns(int64_t nnz, const int32_t *columns, int64_t n, int *counts)
{
    for (int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x; k < nnz; k += gridDim.x * (int64_t)THREADS)
        if (columns[k] >= 0 && columns[k] < n) atomicAdd(&counts[columns[k]], 1);
}
/** *most = the largest of n counts, if that is above it. */
__global__ void __launch_bounds__(THREADS) find_most(int64_t n, const int *counts, int *most)
{
    int mine = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (int64_t)THREADS)
        mine = max(mine, counts[i]);
    mine = __reduce_max_sync(~0u, mine);
    if (threadIdx.x % 32 == 0 && mine) atomicMax(most, mine);
}

trine_status count_columns_on_device(trine_spmv plan, const struct spmv_side *home, struct spmv_side *away)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const gpuStream_t stream = (gpuStream_t)ctx->stream;
    const size_t bytes = (size_t)(away->n_rows + 1) * sizeof(int);
    const int64_t n = away->n_rows, blocks = (plan->nnz + THREADS - 1) / THREADS;
    void *room = nullptr;
    int found = 0;
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, &room));
    TRY(trine_device_fill_async(ctx, room, 0, bytes, stream));
    if (blocks) {
        count_columns<<<(unsigned)(blocks < 4096 ? blocks : 4096), THREADS, 0, stream>>>(plan->nnz, home->columns, n,
                                                                                         (int *)room);
        TRY(GPU_LAUNCHED("counting the columns"));
    }
    find_most<<<looking_threads(n) / THREADS, THREADS, 0, stream>>>(n, (const int *)room, (int *)room + n);
    TRY(GPU_LAUNCHED("the longest column"));
    TRY(trine_device_copy_async(ctx, &found, (const int *)room + n, sizeof found, stream));
    TRY(trine_device_synchronize(ctx, stream));
    away->longest_row = found;
done:
    trine_free(ctx, TRINE_DEVICE, room);
    return status;
}

int64_t offset_of(const struct spmv_side *side, int64_t i)
{
    return side->offset_bits == 32 ? ((const int32_t *)side->offsets)[i] : ((const int64_t *)side->offsets)[i];
}

trine_status count_columns_on_host(trine_spmv plan, const struct spmv_side *home, struct spmv_side *away)
{
    int64_t most = 0;
    int32_t *counts = (int32_t *)trine_host_calloc(plan->base.ctx, away->n_rows, sizeof *counts);
    if (!counts) return TRINE_ERR_MEMORY;
    for (int64_t k = 0; k < plan->nnz; k++) {
        const int32_t c = home->columns[k];
        if (c >= 0 && c < away->n_rows && ++counts[c] > most) most = counts[c];
    }
    away->longest_row = most;
    trine_free(plan->base.ctx, TRINE_HOST, counts);
    return TRINE_SUCCESS;
}

/** Room for vectors by rows, which is much, is for plans with long rows: whether there are any is looked up where so
 *  many vectors are announced that it matters. */
trine_status measure(trine_spmv plan, trine_space space, const struct spmv_side *at)
{
    trine_status status = TRINE_SUCCESS;
    struct spmv_side *home = at == &plan->side[SPMV_N] ? &plan->side[SPMV_N] : &plan->side[SPMV_T],
                     *away = home == &plan->side[SPMV_N] ? &plan->side[SPMV_T] : &plan->side[SPMV_N];
    const struct cuda_part none = {};
    int saved;
    if (plan->options.max_nrhs < SPMV_CUDA_TURNED_FROM || plan->options.method || plan->options.no_preprocess ||
        !home->n_rows || !away->n_rows)
        return TRINE_SUCCESS;
    trine_device_enter(plan->base.ctx, &saved);
    if (home->announced && space == TRINE_DEVICE) {
        TRY(find_longest(plan, home, &none, &home->longest_row));
    } else if (home->announced) {
        home->longest_row = 0;
        for (int64_t i = 0; i < home->n_rows; i++) {
            const int64_t length = offset_of(home, i + 1) - offset_of(home, i);
            if (length > home->longest_row) home->longest_row = length < INT32_MAX ? length : INT32_MAX;
        }
    }
    if (away->announced)
        TRY(space == TRINE_DEVICE ? count_columns_on_device(plan, home, away)
                                  : count_columns_on_host(plan, home, away));
done:
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

/* ----------------------------------------------------------------- memory */

size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

/** Upper bounds of a side's blocks and of those whose rows are shared, also before its analysis. */
void count_most(trine_spmv plan, const struct spmv_side *side, int64_t *blocks, int64_t *sharing)
{
    struct cuda_part part = {};
    const char *reason;
    if (side->part) {
        part = *(const struct cuda_part *)side->part;
    } else if (side->longest_row >= 0) {
        shape(plan, side, side->longest_row, &part, &reason);
    } else { /* of all rows that there may be, these make most blocks */
        shape(plan, side, (int64_t)1 << 40, &part, &reason);
        const int64_t longest = (int64_t)1 << 40, w = tuned_options(plan, side).tune.entries_per_block;
        part.scheme = TRINE_SPMV_ADAPTIVE;
        part.entries_per_block = choose_work(plan, side, &part, longest, w);
        part.by_warps = true;
        const int64_t of_warps = choose_work(plan, side, &part, longest, w);
        if (of_warps < part.entries_per_block) part.entries_per_block = of_warps;
        part.by_rows = true;
        int64_t of_rows = choose_work(plan, side, &part, longest, w);
        of_rows -= of_rows / 6; /* MOST_OF_ROWS of them */
        if (of_rows < part.entries_per_block) part.entries_per_block = of_rows;
        part.by_ring = may_ring(plan, side, &part);
        const int64_t of_ring = choose_work(plan, side, &part, longest, w) / 2 + 1; /* a round more, of two or more */
        if (part.by_ring == RING_SHORT && of_ring < part.entries_per_block) part.entries_per_block = of_ring;
        part.blocks = count_blocks(plan, side, &part);
        part.scheme = plan->options.method ? plan->options.method : TRINE_SPMV_BALANCED_POSTPROCESS;
    }
    if (!side->part) { /* rows may turn out to be alike */
        struct spmv_side alike = *side;
        alike.rows_alike = true;
        part.by_groups = share_columns(plan, &alike);
        const int64_t of_alike = part.by_groups ? choose_work(plan, side, &part, -1, 0) : part.entries_per_block;
        if (of_alike < part.entries_per_block) part.entries_per_block = of_alike;
        part.blocks = count_blocks(plan, side, &part);
    }
    *blocks = part.blocks;
    *sharing = part.scheme == TRINE_SPMV_ADAPTIVE ? 0 : part.blocks;
}

size_t work_bytes(trine_spmv plan, int64_t nrhs) { return spmv_cuda_scratch(plan, nrhs).bytes; }

trine_status work_begin(trine_spmv plan, struct spmv_work *work)
{
    trine_context ctx = plan->base.ctx;
    const size_t bytes = spmv_cuda_scratch(plan, work->base.max_nrhs).partials;
    const trine_status status = trine_device_fill_async(ctx, work->base.buffer, 0, bytes, ctx->stream);
    return status ? status : trine_device_synchronize(ctx, ctx->stream); /* products may be in any stream */
}

void memory(trine_spmv plan, int64_t *kept, int64_t *peak)
{
    size_t meanwhile = sizeof(struct row_facts);
    *kept = 0;
    for (int s = 0; s < SPMV_SIDES; s++) {
        const struct spmv_side *side = &plan->side[s];
        int64_t blocks, sharing;
        if (!side->announced) continue;
        count_most(plan, side, &blocks, &sharing);
        if (!plan->options.no_preprocess && side->n_rows) *kept += (blocks + 2) * (int64_t)sizeof(struct block_start);
        if (side->position_bits) {
            const size_t bytes = spmv_cuda_transpose_bytes(side, plan->nnz);
            meanwhile = bytes > meanwhile ? bytes : meanwhile;
        }
    }
    *peak = *kept + (int64_t)meanwhile;
}

} // namespace

void spmv_cuda_name_choice(trine_spmv plan, const struct spmv_side *side, char *name)
{
    const size_t element = trine_dtype_size(plan->base.dtype);
    snprintf(name, TRINE_CHOICE_BYTES, "product %s vectors of %zu bytes, values of %zu%s",
             trine_dtype_is_complex(plan->base.dtype) ? "complex" : "real", element, plan->value_size,
             side->position_bits ? ", indexed" : "");
}

struct cuda_scratch spmv_cuda_scratch(trine_spmv plan, int64_t nrhs)
{
    const size_t element = trine_dtype_size(plan->base.dtype);
    const size_t row = (size_t)nrhs * element < MOST_PARTIAL_BYTES ? MOST_PARTIAL_BYTES : (size_t)nrhs * element;
    int64_t most_blocks = 0, most_sharing = 0;
    struct cuda_scratch scratch = {};
    for (int s = 0; s < SPMV_SIDES; s++) {
        int64_t blocks, sharing;
        if (!plan->side[s].announced) continue;
        count_most(plan, &plan->side[s], &blocks, &sharing);
        most_blocks = blocks > most_blocks ? blocks : most_blocks;
        most_sharing = sharing > most_sharing ? sharing : most_sharing;
        const int64_t columns = s == SPMV_N ? plan->n_cols : plan->n_rows;
        if (nrhs >= SPMV_CUDA_TURNED_FROM && sharing && columns > scratch.turned_rows) scratch.turned_rows = columns;
    }
    /* 2 for each of a launch's blocks, of the joining ones, of those of vectors alone (product.cu) */
    const size_t slots = 2 * (size_t)(2 * most_blocks + 1024);
    scratch.partials = padded(slots * (element <= 8 ? 16 : 32));
    scratch.turned = scratch.partials + padded(2 * (size_t)most_sharing * row);
    scratch.bytes = scratch.turned + padded(SPMV_CUDA_TURNED * element * (size_t)scratch.turned_rows);
    return scratch;
}

trine_status spmv_cuda_prepare(trine_spmv plan, const struct spmv_side *side, int64_t row_begin, int64_t row_end,
                               struct spmv_launch *l)
{
    const struct cuda_part *part = (const struct cuda_part *)side->part;
    l->a = arguments_of(plan, side, part);
    l->a.row_begin = row_begin, l->a.row_end = row_end;
    l->block = part->block, l->tile = part->tile, l->reduction = part->reduction, l->scheme = part->scheme;
    l->reduce = part->reduce;
    l->by_rows = part->by_rows, l->by_ring = part->by_ring, l->lanes_shift = part->lanes_shift,
    l->mostly_empty = part->mostly_empty, l->by_groups = part->by_groups;
    l->by_warps = part->by_warps;
    /* a start in row_begin itself may lie behind entries of the row: the block before it has them */
    int64_t low = 0, high = row_end < side->n_rows ? part->samples : 0;
    for (int64_t s = 1; row_begin && s < part->samples && part->sampled_rows[s] < row_begin; s++) low = s;
    l->a.first_block = (int)(low * part->sample_step);
    while (low < high) { /* the first start from which on no row is to be stored */
        const int64_t middle = low + (high - low) / 2;
        if (part->sampled_rows[middle] < row_end) low = middle + 1;
        else high = middle;
    }
    if (row_end < side->n_rows && low < part->samples) l->a.end_block = (int)(low * part->sample_step);
    l->a.first_block /= l->a.starts_each;
    l->a.end_block = (l->a.end_block + l->a.starts_each - 1) / l->a.starts_each;
    l->blocks = (unsigned)(l->a.end_block - l->a.first_block);
    l->a.left_open = l->work->base.buffer;
    if (l->scheme != TRINE_SPMV_ADAPTIVE)
        l->a.partials = (char *)l->work->base.buffer + spmv_cuda_scratch(plan, l->work->base.max_nrhs).partials;
    if (l->scheme != TRINE_SPMV_ADAPTIVE && l->partial_bytes > MOST_PARTIAL_BYTES)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "an accumulator of %zu bytes is too long for %s", l->partial_bytes,
                          trine_spmv_method_name((trine_spmv_method)l->scheme));
    return TRINE_SUCCESS;
}

trine_status spmv_cuda_begins_early(void *stream, bool *early)
{
    struct gpu_limits limits;
    gpuStreamCaptureStatus capturing = gpuStreamCaptureStatusNone;
    *early = false;
    trine_status status = trine_gpu_limits(&limits);
    if (!status) status = GPU(gpuStreamIsCapturing((gpuStream_t)stream, &capturing));
    *early = !status && limits.programmatic && capturing == gpuStreamCaptureStatusNone;
    return status;
}

const struct spmv_backend spmv_cuda = {spmv_cuda_transpose,
                                       analyse_side,
                                       release_part,
                                       work_bytes,
                                       work_begin,
                                       measure,
                                       memory,
                                       sizeof(struct cuda_part) + MOST_SAMPLES * sizeof(int64_t),
                                       spmv_cuda_apply,
                                       spmv_cuda_apply_semiring,
                                       spmv_cuda_tune};
