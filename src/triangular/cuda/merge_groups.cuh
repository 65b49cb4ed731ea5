/* Kernels that join neighbouring groups of levels (common/partition.h): what the rows of the second one need of the
 * first is replaced by the patterns of its rows, which are complete. So joining groups two by two takes as many passes
 * as a group's number of levels has digits, and all rows of a pass are independent of each other. */
#ifndef TRINE_TRIANGULAR_CUDA_MERGE_GROUPS_CUH
#define TRINE_TRIANGULAR_CUDA_MERGE_GROUPS_CUH

/** Where a row's pattern is in the pool: first its solution values, then the right-hand sides of its group, in any
 *  order. place -1: there was no room. */
struct alignas(16) row_place {
    int64_t place;
    int32_t of_x, all;
};

/** The rows of a group, or of the second one of a pair as they would be. */
struct group_report {
    unsigned long long entries;
    int longest;
    unsigned left_out;       /* rows without a place */
    unsigned too_long;       /* rows that no table holds, or whose values would take too long */
};

struct merge_args {
    int64_t n;
    const int64_t *own_offsets;          /* T by level */
    const int32_t *own_columns;
    const int32_t *group;                /* of every row */
    const int32_t *starts, *pairs;       /* of every group: its first row; the pair that it is the second of, or -1 */
    row_place *rows, *merged;            /* patterns as they are, and as they would be */
    int32_t *pool;
    int64_t room;
    unsigned long long *used;            /* of the pool; may exceed the room */
    group_report *found;                 /* of every pair */
    int32_t *list, *longer;              /* rows for tables of the next size */
    unsigned *listed, *n_longer;
    int32_t *tables;                     /* in global memory: one a block, all bits set */
    int bits[3];                         /* of a slot's number in a table: of warps, of blocks, in global memory */
    int64_t broad;                       /* beyond this a row takes too long: see BROAD_ROW */
};

/* Bits, at most: of a table of a warp and of one of a block in shared memory, and in global memory. */
constexpr int WARP_BITS = 9, BLOCK_BITS = 13, LARGE_BITS = 16;
constexpr int MERGE_THREADS = 256;
/* Entries of a row's own that are in its group times those of its inverse: numeric looks up so many values. */
constexpr int64_t BROAD_ROW = INT64_C(1) << 20;

/** So many columns a table takes. Every warp may be 32 ahead of what it has seen. */
__device__ constexpr int columns_of_table(int slots) { return slots / 4 * 3 - 32; }

/** The first patterns, of groups of one level: T's own entries. */
__global__ void __launch_bounds__(MERGE_THREADS) begin_rows(const merge_args a)
{
    const int lane = threadIdx.x % 32;
    for (int64_t p = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; p < a.n;
         p += (int64_t)gridDim.x * blockDim.x / 32) {
        const int64_t first = a.own_offsets[p], place = first + p;
        const int32_t count = (int32_t)(a.own_offsets[p + 1] - first);
        for (int32_t k = lane; k < count; k += 32) a.pool[place + k] = a.own_columns[first + k];
        if (lane == 0) {
            group_report *const found = &a.found[a.group[p]];
            a.pool[place + count] = (int32_t)p;
            a.rows[p] = {place, count, count + 1};
            atomicAdd(&found->entries, (unsigned long long)count + 1);
            if (count >= found->longest) atomicMax(&found->longest, count + 1);
        }
    }
}

/** Adds a column to a table of 2^bits slots, which is never full; false: it is there. */
__device__ inline bool put_column(int32_t *table, int bits, int32_t column)
{
    const unsigned mask = (1u << bits) - 1;
    for (unsigned s = (unsigned)column * 2654435769u >> (32 - bits);; s = (s + 1) & mask) {
        int32_t seen = *(volatile int32_t *)&table[s];
        if (seen == -1) seen = atomicCAS(&table[s], -1, column);
        if (seen == column) return false;
        if (seen == -1) return true;
    }
}
__device__ inline bool has_column(int32_t *table, int bits, int32_t column)
{
    const unsigned mask = (1u << bits) - 1;
    for (unsigned s = (unsigned)column * 2654435769u >> (32 - bits);; s = (s + 1) & mask) {
        const int32_t seen = *(volatile int32_t *)&table[s];
        if (seen == column) return true;
        if (seen == -1) return false;
    }
}

template <int WARPS> __device__ inline void sync_team()
{
    if constexpr (WARPS == 1) __syncwarp();
    else __syncthreads();
}

/** What the warps of a row share. */
struct team_counts {
    int x, b, at_x, at_b, in_group, latest;
    unsigned long long place;
};

/** By all warps of a block together: the rows of the first group, the latest first, that bring so many columns that one
 *  warp would take long for each; false: there is no room for them. */
template <int WARPS> __device__ bool put_latest_rows(const merge_args &a, const row_place &old, int32_t start,
                                                     int32_t *table, int bits, team_counts *counts)
{
    constexpr int MOST_ROWS = 8, MANY = 8 * 32;
    const int thread = threadIdx.x % (32 * WARPS), lane = thread % 32, most = columns_of_table(1 << bits);
    for (int row = 0; row < MOST_ROWS; row++) {
        int32_t latest = -1;
        for (int32_t k = thread; k < old.of_x; k += 32 * WARPS) {
            const int32_t c = a.pool[old.place + k];
            if (c >= start && c > latest && !has_column(table, bits, c)) latest = c;
        }
        latest = __reduce_max_sync(~0u, latest);
        if (lane == 0 && latest >= 0) atomicMax(&counts->latest, latest);
        __syncthreads();
        latest = counts->latest;
        if (latest < 0) return true;
        const row_place needed = a.rows[latest];
        if (needed.all < MANY) return true;
        for (int32_t i0 = thread - lane; i0 < needed.all; i0 += 32 * WARPS) {
            const int32_t column = i0 + lane < needed.all ? a.pool[needed.place + i0 + lane] : -1;
            if (__shfl_sync(~0u, *(volatile int *)&counts->x + *(volatile int *)&counts->b, 0) > most) break;
            const bool is_new = column >= 0 && put_column(table, bits, column);
            const unsigned of_x = __ballot_sync(~0u, is_new && column < start),
                           of_b = __ballot_sync(~0u, is_new && column >= start);
            if (lane == 0 && of_x) atomicAdd(&counts->x, __popc(of_x));
            if (lane == 0 && of_b) atomicAdd(&counts->b, __popc(of_b));
        }
        __syncthreads();
        if (thread == 0) counts->latest = -1;
        if (counts->x + counts->b > most) return false;
        __syncthreads();
    }
    return true;
}

/** The pattern of row p in the pair q of its group and the one before, with WARPS warps and a table that is empty
 *  before and after; false: it takes a larger one.
 *  A row of the first group whose column is in the table already came with one that needs it, and so did its whole
 *  pattern. */
template <int WARPS>
__device__ bool merge_row(const merge_args &a, int64_t p, int32_t q, int32_t *table, int bits, team_counts *counts)
{
    const int lane = threadIdx.x % 32, warp = WARPS == 1 ? 0 : threadIdx.x / 32, most = columns_of_table(1 << bits);
    const int32_t g = a.group[p], start = a.starts[g - 1];
    const row_place old = a.rows[p];
    bool fits = old.of_x <= most;
    if (warp == 0 && lane == 0) *counts = {}, counts->latest = -1;
    sync_team<WARPS>();
    if constexpr (WARPS > 1) fits = fits && put_latest_rows<WARPS>(a, old, start, table, bits, counts);
    for (int32_t k0 = 32 * warp; k0 < old.of_x && fits; k0 += 32 * WARPS) {
        const int32_t c = k0 + lane < old.of_x ? a.pool[old.place + k0 + lane] : -1;
        const unsigned added = __ballot_sync(~0u, c >= 0 && c < start && put_column(table, bits, c));
        if (lane == 0 && added) atomicAdd(&counts->x, __popc(added));
        bool open = c >= start;
        while (fits) {
            open = open && !has_column(table, bits, c);
            const int32_t next = __reduce_max_sync(~0u, open ? c : -1);
            if (next < 0) break;
            const row_place needed = a.rows[next];
            for (int32_t i0 = 0; i0 < needed.all && fits; i0 += 32) {
                const int32_t column = i0 + lane < needed.all ? a.pool[needed.place + i0 + lane] : -1;
                const bool is_new = column >= 0 && put_column(table, bits, column);
                const unsigned of_x = __ballot_sync(~0u, is_new && column < start),
                               of_b = __ballot_sync(~0u, is_new && column >= start);
                if (lane == 0 && of_x) atomicAdd(&counts->x, __popc(of_x));
                if (lane == 0 && of_b) atomicAdd(&counts->b, __popc(of_b));
                if constexpr (WARPS == 1) __syncwarp();
                const int have = *(volatile int *)&counts->x + *(volatile int *)&counts->b;
                fits = __shfl_sync(~0u, have, 0) <= most;
            }
        }
        fits = __shfl_sync(~0u, *(volatile int *)&counts->x + *(volatile int *)&counts->b, 0) <= most;
    }
    sync_team<WARPS>();
    const int x = counts->x, b = counts->b, of_group = old.all - old.of_x, all = x + b + of_group;
    const int64_t own = a.own_offsets[p], own_end = a.own_offsets[p + 1];
    /* whoever saw too many columns, they are still there */
    fits = old.of_x <= most && x + b <= most;
    if (fits && (own_end - own) * all > a.broad) { /* of the same value in all threads */
        int in_group = 0;
        for (int64_t k = own + 32 * warp + lane; k < own_end; k += 32 * WARPS) in_group += a.own_columns[k] >= start;
        if (in_group) atomicAdd(&counts->in_group, in_group);
        sync_team<WARPS>();
    }
    if (warp == 0 && lane == 0 && fits) {
        group_report *const found = &a.found[q];
        counts->place = atomicAdd(a.used, (unsigned long long)all);
        const bool has_room = (int64_t)counts->place + all <= a.room;
        a.merged[p] = {has_room ? (int64_t)counts->place : -1, x, all};
        atomicAdd(&found->entries, (unsigned long long)all);
        if (all > found->longest) atomicMax(&found->longest, all);
        if (!has_room) atomicAdd(&found->left_out, 1u);
        if (counts->in_group * (int64_t)all > a.broad) atomicAdd(&found->too_long, 1u);
    }
    sync_team<WARPS>();
    const int64_t place = (int64_t)counts->place;
    const bool writes = fits && place + all <= a.room;
    for (int s = 32 * warp + lane; s < 1 << bits; s += 32 * WARPS) {
        const int32_t c = *(volatile int32_t *)&table[s];
        table[s] = -1;
        const unsigned of_x = __ballot_sync(~0u, c >= 0 && c < start), of_b = __ballot_sync(~0u, c >= start),
                       before = (1u << lane) - 1;
        if (!writes || !(of_x | of_b)) continue;
        int at_x = 0, at_b = 0;
        if (lane == 0) {
            at_x = atomicAdd(&counts->at_x, __popc(of_x));
            at_b = atomicAdd(&counts->at_b, __popc(of_b));
        }
        at_x = __shfl_sync(~0u, at_x, 0), at_b = __shfl_sync(~0u, at_b, 0);
        if (c >= start) a.pool[place + x + at_b + __popc(of_b & before)] = c;
        else if (c >= 0) a.pool[place + at_x + __popc(of_x & before)] = c;
    }
    if (writes)
        for (int i = 32 * warp + lane; i < of_group; i += 32 * WARPS)
            a.pool[place + x + b + i] = a.pool[old.place + old.of_x + i];
    sync_team<WARPS>();
    return fits;
}

/** All rows of the second groups of pairs, a warp each; those that take a larger table are listed. */
__global__ void __launch_bounds__(MERGE_THREADS) merge_short_rows(const merge_args a)
{
    __shared__ int32_t tables[MERGE_THREADS / 32][1 << WARP_BITS];
    __shared__ team_counts counts[MERGE_THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t *const table = tables[warp];
    for (int s = lane; s < 1 << WARP_BITS; s += 32) table[s] = -1;
    __syncwarp();
    for (int64_t p = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; p < a.n;
         p += (int64_t)gridDim.x * blockDim.x / 32) {
        const int32_t q = a.pairs[a.group[p]];
        if (q < 0) continue;
        if (!merge_row<1>(a, p, q, table, a.bits[0], &counts[warp]) && lane == 0)
            a.list[atomicAdd(a.listed, 1u)] = (int32_t)p;
    }
}

/** Rows that were listed, a block each, with a table that is empty before and after; those that take a larger one are
 *  listed in `longer`, or, without it, are too long. */
__device__ inline void merge_listed_rows(const merge_args &a, int32_t *table, int bits, int32_t *longer,
                                         unsigned *n_longer, team_counts *counts)
{
    for (unsigned i = blockIdx.x; i < *a.listed; i += gridDim.x) {
        const int64_t p = a.list[i];
        const int32_t q = a.pairs[a.group[p]];
        const bool fits = merge_row<MERGE_THREADS / 32>(a, p, q, table, bits, counts);
        if (fits || threadIdx.x) continue;
        if (longer) longer[atomicAdd(n_longer, 1u)] = (int32_t)p;
        else atomicAdd(&a.found[q].too_long, 1u);
    }
}

/** With tables in shared memory; LARGE: in global memory. */
template <bool LARGE> __global__ void __launch_bounds__(MERGE_THREADS) merge_long_rows(const merge_args a)
{
    __shared__ int32_t own_table[LARGE ? 1 : 1 << BLOCK_BITS];
    __shared__ team_counts counts;
    int32_t *const table = LARGE ? a.tables + ((int64_t)blockIdx.x << a.bits[2]) : own_table;
    if constexpr (!LARGE) {
        if (blockIdx.x >= *a.listed) return;
        for (int s = threadIdx.x; s < 1 << BLOCK_BITS; s += blockDim.x) table[s] = -1;
        __syncthreads();
    }
    merge_listed_rows(a, table, a.bits[LARGE ? 2 : 1], LARGE ? nullptr : a.longer, a.n_longer, &counts);
}

/** Pairs that are taken become one group: renumber[g] is the group that g belongs to now; pairs[g] is not negative for
 *  their second ones. */
__global__ void __launch_bounds__(MERGE_THREADS)
    take_merged(const merge_args a, const int32_t *renumber, int32_t *group)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < a.n; p += (int64_t)gridDim.x * blockDim.x) {
        const int32_t g = group[p];
        if (a.pairs[g] >= 0) a.rows[p] = a.merged[p];
        group[p] = renumber[g];
    }
}

/** What every level has in its group. */
__global__ void __launch_bounds__(MERGE_THREADS) measure_groups(const merge_args a, const int32_t *level)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < a.n; p += (int64_t)gridDim.x * blockDim.x) {
        group_report *const found = &a.found[level[p]];
        const int all = a.rows[p].all;
        atomicAdd(&found->entries, (unsigned long long)all);
        if (all > found->longest) atomicMax(&found->longest, all);
    }
}

/** lengths[p], and a 0 behind them. */
__global__ void __launch_bounds__(MERGE_THREADS) take_lengths(int64_t n, const row_place *rows, int64_t *lengths)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p <= n; p += (int64_t)gridDim.x * blockDim.x)
        lengths[p] = p < n ? rows[p].all : 0;
}

/** Every row's pattern to offsets[p] in another pool; middle: where its right-hand sides begin; or, without it, its
 *  place is there from now on. */
__global__ void __launch_bounds__(MERGE_THREADS)
    move_patterns(int64_t n, row_place *rows, const int32_t *from, const int64_t *offsets, int32_t *to, int64_t *middle)
{
    const int lane = threadIdx.x % 32;
    for (int64_t p = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; p < n;
         p += (int64_t)gridDim.x * blockDim.x / 32) {
        const row_place r = rows[p];
        for (int32_t k = lane; k < r.all; k += 32) to[offsets[p] + k] = from[r.place + k];
        __syncwarp();
        if (lane) continue;
        if (middle) middle[p] = offsets[p] + r.of_x;
        else rows[p].place = offsets[p];
    }
}

#endif
