/* The choice of groups on the device. Groups begin as single levels; in every round neighbours are joined two by two,
 * on trial: the device makes the patterns as they would be, and the host, which sees a few numbers for each pair, keeps
 * the pairs that pay. Joining more of the neighbours adds as many entries at least, so that a pair is tried once. */
#include "triangular/cuda/partition.h"

#include "core/gpu_cub.cuh"
#include "core/gpu_limits.h"
#include "core/gpu_scalar.cuh"
#include "triangular/cuda/invert_groups.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/merge_groups.cuh"

namespace {

constexpr int LARGE_TABLES = 32; /* blocks with tables in global memory */
constexpr int64_t HEAVY = 32; /* own entries times those of the inverse: rows with more have a block */
/* More work makes a row heavy where more rows than MANY_ROWS, which keep all warps busy, are made at once: HEAVY of so
 * many, more of more. */
constexpr int64_t MANY_ROWS = 4000, ROWS_OF_HEAVY = 300;
constexpr int64_t FIRST_ROOM = INT64_C(1) << 23; /* columns: of the first pool, unless the limit of memory is less */
constexpr double LEAST_GAIN = 0.025; /* of what the groups cost, for which they are chosen once more */

/** Position p belongs to level[p]. */
__global__ void number_levels(int64_t n, const int64_t *bounds, int64_t n_levels, int32_t *level, int32_t *group)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < n; p += (int64_t)gridDim.x * blockDim.x) {
        int64_t low = 0, high = n_levels; /* bounds[low] <= p < bounds[high] */
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (bounds[middle] <= p) low = middle;
            else high = middle;
        }
        level[p] = group[p] = (int32_t)low;
    }
}

/** A group on the host. */
struct level_group {
    int64_t first_level, own, entries; /* own: entries of T */
    int32_t start, longest;
    bool refused; /* together with the group before */
};

struct maker {
    trine_triangular plan;
    trine_context ctx;
    gpuStream_t stream;
    const device_triangle *d;
    const partition_costs *costs;
    int64_t n_groups, n_pairs, live; /* live: entries of all rows */
    int rounds, shared_bits;
    int64_t used;                    /* of the pool, as on the device */
    level_group *groups;
    int32_t *starts, *pairs, *renumber;
    group_report *found;
    bool *ends; /* where groups have to end: before a level; NULL: where it pays */
    int64_t n_levels, *own; /* of every level: entries of T */
    merge_args a;
    int32_t *level, *group;
    int64_t *bounds; /* of levels */
    int32_t *starts_there, *pairs_there, *renumber_there;
    arena state, pool, scratch; /* scratch: of sorts */
    int64_t *lengths, *offsets;
    char *temporary;
    size_t scan_bytes;
};

template <typename V>
trine_status copy(const maker *m, V *to, trine_space to_space, const V *from, trine_space from_space, int64_t count)
{
    return count ? trine_copy(m->ctx, to, to_space, from, from_space, (size_t)count * sizeof *from) : TRINE_SUCCESS;
}

/** From the host into a round's arrays, without waiting: what is not pinned is staged before the call returns. */
template <typename V> trine_status send(const maker *m, V *to, const V *from, int64_t count)
{
    return count ? trine_device_copy_async(m->ctx, to, from, (size_t)count * sizeof *from, m->stream) : TRINE_SUCCESS;
}

/** Numbers of so many groups stand one array behind the other, so that two of them are sent at once. */
void place_numbers(maker *m, int64_t count)
{
    m->pairs = m->starts + count, m->renumber = m->pairs + count;
    m->pairs_there = m->starts_there + count, m->renumber_there = m->pairs_there + count;
    m->a.pairs = m->pairs_there;
}

/** m->lengths to m->offsets. */
trine_status add_up_lengths(maker *m)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = m->d->n;
    take_lengths<<<device_blocks_for(m->plan, n + 1), MERGE_THREADS, 0, m->stream>>>(n, m->a.rows, m->lengths);
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(m->temporary, m->scan_bytes, m->lengths, m->offsets, n + 1, m->stream)));
done:
    return status;
}

/** Room for so many more columns; what no row has any more goes. */
trine_status make_room(maker *m, int64_t more)
{
    trine_status status = TRINE_SUCCESS;
    const unsigned long long live = (unsigned long long)m->live;
    arena pool = {};
    int32_t *columns = nullptr;
    if (m->used + more <= m->a.room) return status;
    status = arena_allocate(m->ctx, &pool, [&](arena &s) { columns = s.take<int32_t>(m->live + more); });
    if (!status) status = add_up_lengths(m);
    if (!status) {
        move_patterns<<<device_blocks_for(m->plan, m->d->n * 32), MERGE_THREADS, 0, m->stream>>>(
            m->d->n, m->a.rows, m->a.pool, m->offsets, columns, nullptr);
        status = GPU_LAUNCHED("moving patterns");
    }
    if (!status) status = copy(m, m->a.used, TRINE_DEVICE, &live, TRINE_HOST, 1);
    if (!status) status = trine_device_synchronize(m->ctx, m->ctx->stream);
    if (status) {
        trine_free(m->ctx, TRINE_DEVICE, pool.base);
        return status;
    }
    trine_free(m->ctx, TRINE_DEVICE, m->pool.base);
    m->pool = pool;
    m->a.pool = columns, m->a.room = m->live + more;
    m->used = m->live;
    return status;
}

/** Rows of a.list with tables of all the shared memory that a block may have; a.longer: those that take larger ones. */
__global__ void __launch_bounds__(MERGE_THREADS) merge_longer_rows(const merge_args a, int bits)
{
    extern __shared__ __align__(16) int32_t shared_table[];
    __shared__ team_counts counts;
    if (blockIdx.x >= *a.listed) return;
    for (int s = threadIdx.x; s < 1 << bits; s += blockDim.x) shared_table[s] = -1;
    __syncthreads();
    merge_listed_rows(a, shared_table, bits, a.longer, a.n_longer, &counts);
}

/** Bits of those tables. */
trine_status find_shared_bits(int *bits)
{
    trine_status status = TRINE_SUCCESS;
    gpu_limits limits;
    TRY(trine_gpu_limits(&limits));
    for (*bits = LARGE_BITS - 1; ((int)sizeof(int32_t) << *bits) + 1024 > limits.shared_bytes;) --*bits;
    TRY(trine_gpu_allow_shared((const void *)merge_longer_rows, sizeof(int32_t) << *bits));
done:
    return status;
}

/** Memory for all but the columns. */
trine_status begin(maker *m, const int64_t *levels, int64_t n_levels)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = m->ctx;
    const int64_t n = m->d->n, most = partition_full(n, m->costs->most_entries);
    m->n_levels = n_levels;
    m->groups = (level_group *)trine_host_alloc(ctx, n_levels, sizeof *m->groups);
    m->starts = (int32_t *)trine_host_alloc(ctx, 3 * n_levels, sizeof *m->starts);
    m->found = (group_report *)trine_host_alloc(ctx, n_levels, sizeof *m->found);
    m->own = (int64_t *)trine_host_alloc(ctx, n_levels, sizeof *m->own);
    if (!m->groups || !m->starts || !m->found || !m->own) return TRINE_ERR_MEMORY;
    m->scan_bytes = (size_t)device_scan_bytes(n + 1);
    TRY(arena_allocate(ctx, &m->state, [&](arena &s) {
        m->a.rows = s.take<row_place>(n), m->a.merged = s.take<row_place>(n);
        m->level = s.take<int32_t>(n), m->group = s.take<int32_t>(n);
        m->a.list = s.take<int32_t>(n), m->a.longer = s.take<int32_t>(n);
        m->a.used = s.take<unsigned long long>(1);
        m->a.listed = s.take<unsigned>(3);
        m->a.found = s.take<group_report>(n_levels);
        m->starts_there = s.take<int32_t>(3 * n_levels);
        m->a.tables = s.take<int32_t>((int64_t)LARGE_TABLES << LARGE_BITS);
        m->lengths = s.take<int64_t>(n + 1), m->offsets = s.take<int64_t>(n + 1);
        m->bounds = s.take<int64_t>(n_levels + 1);
        m->temporary = s.take<char>((int64_t)m->scan_bytes);
    }));
    m->a.n = n, m->a.own_offsets = m->d->offsets, m->a.own_columns = m->d->columns;
    m->a.n_longer = m->a.listed + 1;
    m->a.bits[0] = WARP_BITS, m->a.bits[1] = BLOCK_BITS, m->a.bits[2] = LARGE_BITS;
    TRY(find_shared_bits(&m->shared_bits));
    m->a.broad = BROAD_ROW;
    m->a.group = m->group, m->a.starts = m->starts_there;
    /* larger ones cost time, but to get one costs more than most rounds */
    m->a.room = 3 * (m->d->nnz + n);
    if (m->a.room < FIRST_ROOM) m->a.room = FIRST_ROOM;
    if (m->a.room > 3 * most) m->a.room = 3 * most;
    TRY(arena_allocate(ctx, &m->pool, [&](arena &s) { m->a.pool = s.take<int32_t>(m->a.room); }));
    TRY(send(m, m->bounds, levels, n_levels + 1));
    TRY(trine_device_fill_async(ctx, m->a.tables, 0xFF, sizeof(int32_t) * LARGE_TABLES << LARGE_BITS, m->stream));
done:
    return status;
}

/** Every level a group. */
trine_status begin_groups(maker *m, const int64_t *levels)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = m->d->n, n_levels = m->n_levels;
    const unsigned long long used = (unsigned long long)(m->d->nnz + n);
    m->live = m->used = m->d->nnz + n;
    TRY(send(m, m->a.used, &used, 1));
    TRY(trine_device_fill_async(m->ctx, m->a.found, 0, (size_t)n_levels * sizeof *m->a.found, m->stream));
    number_levels<<<device_blocks_for(m->plan, n), MERGE_THREADS, 0, m->stream>>>(n, m->bounds, n_levels, m->level,
                                                                                  m->group);
    begin_rows<<<device_blocks_for(m->plan, n * 32), MERGE_THREADS, 0, m->stream>>>(m->a);
    TRY(GPU_LAUNCHED("the first patterns"));
    TRY(copy(m, m->found, TRINE_HOST, m->a.found, TRINE_DEVICE, n_levels));
    for (int64_t l = 0; l < n_levels; l++) {
        const int64_t entries = m->own[l] = (int64_t)m->found[l].entries;
        m->groups[l] = {l, entries, entries, (int32_t)levels[l], m->found[l].longest, l == 0};
    }
    m->n_groups = n_levels;
done:
    return status;
}

/** Neighbours that may be joined, from the first one on. */
void choose_pairs(maker *m)
{
    const int64_t levels = m->costs->levels;
    place_numbers(m, m->n_groups);
    m->n_pairs = 0;
    for (int64_t g = 0; g < m->n_groups; g++) {
        m->starts[g] = m->groups[g].start, m->pairs[g] = -1;
        if (!g || m->groups[g].refused || m->pairs[g - 1] >= 0) continue;
        if (levels && m->groups[g].first_level % levels == 0) continue;
        if (m->ends && m->ends[m->groups[g].first_level]) continue;
        m->pairs[g] = (int32_t)m->n_pairs++;
    }
}

/** Patterns of the pairs as they would be, and what they take. */
trine_status try_pairs(maker *m)
{
    trine_status status = TRINE_SUCCESS;
    const int multiprocessors = m->ctx->info.multiprocessors;
    merge_args longer = m->a, longest = m->a; /* each lists rows for the next one */
    longer.list = m->a.longer, longer.listed = m->a.n_longer;
    longest.listed = longer.n_longer = m->a.listed + 2, longer.longer = m->a.list;
    TRY(send(m, m->starts_there, m->starts, 2 * m->n_groups)); /* and the pairs */
    TRY(trine_device_fill_async(m->ctx, m->a.listed, 0, /* what has been found is behind it */
                                (size_t)((char *)(m->a.found + m->n_pairs) - (char *)m->a.listed), m->stream));
    merge_short_rows<<<device_blocks_for(m->plan, m->d->n * 32), MERGE_THREADS, 0, m->stream>>>(m->a);
    merge_long_rows<false><<<multiprocessors * 6, MERGE_THREADS, 0, m->stream>>>(m->a);
    merge_longer_rows<<<multiprocessors, MERGE_THREADS, sizeof(int32_t) << m->shared_bits, m->stream>>>(longer,
                                                                                                        m->shared_bits);
    merge_long_rows<true><<<LARGE_TABLES, MERGE_THREADS, 0, m->stream>>>(longest);
    TRY(GPU_LAUNCHED("joining groups"));
    TRY(copy(m, m->found, TRINE_HOST, m->a.found, TRINE_DEVICE, m->n_pairs));
    for (int64_t q = 0; q < m->n_pairs; q++) m->used += (int64_t)m->found[q].entries;
done:
    return status;
}

double cost_of_longest(const maker *m, int64_t longest)
{
    return longest > m->costs->long_from ? m->costs->long_row * (double)(longest - m->costs->long_from) : 0;
}

/** Whether the pair whose second group is g pays, by itself. */
bool pays(const maker *m, int64_t g)
{
    const level_group *const first = &m->groups[g - 1], *const second = &m->groups[g];
    const group_report *const found = &m->found[m->pairs[g]];
    const int64_t longest = found->longest > first->longest ? found->longest : first->longest;
    const double added = (double)((int64_t)found->entries - second->entries);
    if (found->too_long) return false;
    if (m->costs->levels || m->ends) return true;
    return added + cost_of_longest(m, longest) <=
           m->costs->step + cost_of_longest(m, first->longest) + cost_of_longest(m, second->longest);
}

/** Settle which pairs are joined: m->pairs is -1 for the others, whose second groups are refused. Where not all that
 *  pay fit the limit of memory, those go that take more than their part of it. Returns how many entries all pairs
 *  have; *left_out: some rows have no place. */
int64_t settle_pairs(maker *m, bool *left_out)
{
    const double slack = (double)m->costs->most_entries / (double)(m->d->nnz + m->d->n);
    int64_t all = m->live, live = m->live, of_pairs = 0;
    for (int64_t g = 1; g < m->n_groups; g++)
        if (m->pairs[g] >= 0 && pays(m, g)) all += (int64_t)m->found[m->pairs[g]].entries - m->groups[g].entries;
    *left_out = false;
    for (int64_t g = 1; g < m->n_groups; g++) {
        if (m->pairs[g] < 0) continue;
        level_group *const first = &m->groups[g - 1], *const second = &m->groups[g];
        const group_report *const found = &m->found[m->pairs[g]];
        const int64_t entries = (int64_t)found->entries, after = live + entries - second->entries;
        const bool fits = all <= m->costs->most_entries ||
                          (after <= m->costs->most_entries &&
                           (double)(first->entries + entries) <= slack * (double)(first->own + second->own));
        if (!pays(m, g) || !fits) {
            second->refused = true;
            m->pairs[g] = -1;
            continue;
        }
        live = after, of_pairs += entries;
        *left_out = *left_out || found->left_out;
    }
    m->live = live;
    return of_pairs;
}

/** The pairs that are left become groups. */
trine_status join_pairs(maker *m)
{
    trine_status status = TRINE_SUCCESS;
    int64_t count = 0;
    for (int64_t g = 0; g < m->n_groups; g++) {
        const level_group next = m->groups[g];
        if (m->pairs[g] >= 0) {
            level_group *const into = &m->groups[count - 1];
            const group_report *const found = &m->found[m->pairs[g]];
            into->own += next.own, into->entries += (int64_t)found->entries;
            if (found->longest > into->longest) into->longest = found->longest;
        } else {
            m->groups[count++] = next;
        }
        m->renumber[g] = (int32_t)(count - 1);
    }
    TRY(send(m, m->pairs_there, m->pairs, 2 * m->n_groups)); /* and the new numbers */
    take_merged<<<device_blocks_for(m->plan, m->d->n), MERGE_THREADS, 0, m->stream>>>(m->a, m->renumber_there,
                                                                                      m->group);
    TRY(GPU_LAUNCHED("joining groups"));
    m->n_groups = count;
done:
    return status;
}

trine_status make_groups(maker *m)
{
    trine_status status = TRINE_SUCCESS;
    for (;;) {
        bool left_out;
        choose_pairs(m);
        if (!m->n_pairs) break;
        m->rounds++;
        TRY(make_room(m, m->live));
        const int64_t before = m->live;
        TRY(try_pairs(m));
        const int64_t more = settle_pairs(m, &left_out);
        if (left_out) { /* the same pairs again, with room for them */
            const int64_t after = m->live;
            m->live = before; /* as the rows are */
            m->used = m->a.room;
            TRY(make_room(m, before + more));
            TRY(try_pairs(m));
            m->live = after;
        }
        TRY(join_pairs(m));
    }
done:
    return status;
}

/** Whether groups that end elsewhere would cost less, to judge by the levels of the groups as they are: where they end
 *  goes to m->ends. Joining two by two may go too far, by half a group; the number of levels for which a level costs
 *  least on average is then seen. */
trine_status find_ends(maker *m)
{
    trine_status status = TRINE_SUCCESS;
    double all = 0, gain = 0, at = 0;
    int32_t *const best = m->renumber; /* levels of every group */
    TRY(trine_device_fill_async(m->ctx, m->a.found, 0, (size_t)m->n_levels * sizeof *m->a.found, m->stream));
    measure_groups<<<device_blocks_for(m->plan, m->d->n), MERGE_THREADS, 0, m->stream>>>(m->a, m->level);
    TRY(GPU_LAUNCHED("measuring the groups"));
    TRY(copy(m, m->found, TRINE_HOST, m->a.found, TRINE_DEVICE, m->n_levels));
    for (int64_t g = 0; g < m->n_groups; g++) {
        const int64_t first = m->groups[g].first_level,
                      end = g + 1 < m->n_groups ? m->groups[g + 1].first_level : m->n_levels;
        double spent = m->costs->step, least = INFINITY;
        int64_t longest = 0;
        best[g] = (int32_t)(end - first);
        for (int64_t l = first; l < end; l++) {
            spent += (double)((int64_t)m->found[l].entries - m->own[l]) - cost_of_longest(m, longest);
            if (m->found[l].longest > longest) longest = m->found[l].longest;
            spent += cost_of_longest(m, longest);
            if (spent <= least * (double)(l - first + 1))
                least = spent / (double)(l - first + 1), best[g] = (int32_t)(l - first + 1);
            all += (double)m->own[l];
        }
        all += spent;
        gain += spent - least * (double)(end - first);
    }
    if (gain <= LEAST_GAIN * all) return status;
    if (!(m->ends = (bool *)trine_host_calloc(m->ctx, m->n_levels, sizeof *m->ends))) return TRINE_ERR_MEMORY;
    for (int64_t g = 0; at < (double)m->n_levels;) {
        m->ends[(int64_t)at] = true;
        while (g + 1 < m->n_groups && (double)m->groups[g + 1].first_level <= at) g++;
        double levels = best[g];
        if (g + 1 < m->n_groups) { /* in between of both */
            const double first = (double)m->groups[g].first_level,
                         part = (at - first) / ((double)m->groups[g + 1].first_level - first);
            levels += part * (best[g + 1] - levels);
        }
        at += levels < 1 ? 1 : (double)(int64_t)(levels + 0.5);
    }
done:
    return status;
}

/** Rows sorted by their keys in the order of numeric. */
struct order_arrays {
    uint32_t *keys[2];
    int32_t *rows;
    char *temporary;
    size_t bytes; /* of it */
};
trine_status find_order_bytes(const maker *m, int32_t *sorted, order_arrays *o)
{
    return GPU(gpucub::DeviceRadixSort::SortPairs(nullptr, o->bytes, o->keys[0], o->keys[1], o->rows, sorted, m->d->n,
                                                  0, 32, m->stream));
}
void lay_out_order(int64_t n, arena &s, order_arrays *o)
{
    o->keys[0] = s.take<uint32_t>(n), o->keys[1] = s.take<uint32_t>(n), o->rows = s.take<int32_t>(n);
    o->temporary = s.take<char>((int64_t)o->bytes);
}

/** Patterns by row, their columns ascending, in memory of their own. Makes room in m->scratch for make_order, too. */
trine_status take_patterns(maker *m, device_partition *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = m->ctx;
    const int64_t n = m->d->n, entries = m->live;
    int32_t *unsorted = nullptr;
    char *temporary;
    size_t bytes = 0;
    order_arrays order = {};
    arena of_order = {};
    out->n_groups = m->n_groups, out->entries = entries;
    TRY(GPU(gpucub::DeviceSegmentedSort::SortKeys(nullptr, bytes, unsorted, out->columns, entries, n, m->offsets,
                                                  m->offsets + 1, m->stream)));
    TRY(arena_allocate(ctx, &out->patterns, [&](arena &s) {
        out->offsets = s.take<int64_t>(n + 1), out->middle = s.take<int64_t>(n);
        out->columns = s.take<int32_t>(entries), out->starts = s.take<int32_t>(m->n_groups);
    }));
    for (int64_t g = 0; g < m->n_groups; g++) m->starts[g] = m->groups[g].start;
    TRY(send(m, out->starts, m->starts, m->n_groups));
    TRY(find_order_bytes(m, nullptr, &order));
    lay_out_order(n, of_order, &order);
    TRY(arena_allocate(ctx, &m->scratch, [&](arena &s) {
        unsorted = s.take<int32_t>(entries);
        temporary = s.take<char>((int64_t)bytes);
        if (s.used < of_order.used) s.used = of_order.used;
    }));
    TRY(add_up_lengths(m));
    TRY(copy(m, out->offsets, TRINE_DEVICE, m->offsets, TRINE_DEVICE, n + 1));
    if (n) {
        move_patterns<<<device_blocks_for(m->plan, n * 32), MERGE_THREADS, 0, m->stream>>>(
            n, m->a.rows, m->a.pool, out->offsets, unsorted, out->middle);
        TRY(GPU_LAUNCHED("collecting patterns"));
        TRY(GPU(gpucub::DeviceSegmentedSort::SortKeys(temporary, bytes, unsorted, out->columns, entries, n,
                                                      out->offsets, out->offsets + 1, m->stream)));
    }
done:
    return status;
}

/* ------------------------------------------------------- the order of numeric */

struct order_args {
    int64_t n, part;
    const int64_t *own_offsets, *offsets;
    const int32_t *level, *group, *first_levels; /* first_levels: of every group */
    const int32_t *heavy; /* of rows so many levels below the first one of their group */
    uint32_t *keys; /* twice the level within the group, and 1 for rows of blocks */
    int32_t *rows;
};

__device__ inline bool has_block(const order_args &a, int64_t p, int32_t depth)
{
    return is_for_block(a.own_offsets[p + 1] - a.own_offsets[p], a.offsets[p + 1] - a.offsets[p], a.part,
                        a.heavy[depth]);
}

__global__ void make_order_keys(const order_args a)
{
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < a.n; p += (int64_t)gridDim.x * blockDim.x) {
        const int32_t depth = a.level[p] - a.first_levels[a.group[p]];
        a.keys[p] = 2 * (uint32_t)depth + has_block(a, p, depth);
        a.rows[p] = (int32_t)p;
    }
}

/** How many tasks begin at index s of the sorted rows: parts of rows for blocks; of the others every 8th, counted from
 *  multiples of 8 and from where the key changes. */
__global__ void count_tasks(const order_args a, const uint32_t *keys, const int32_t *sorted, int64_t *counts)
{
    for (int64_t s = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; s <= a.n; s += (int64_t)gridDim.x * blockDim.x) {
        if (s == a.n) counts[s] = 0;
        else if (keys[s] % 2) counts[s] = parts_of_row(a.offsets[sorted[s] + 1] - a.offsets[sorted[s]], a.part);
        else counts[s] = s % INVERT_WARPS == 0 || keys[s - 1] != keys[s];
    }
}

__global__ void make_invert_tasks(const order_args a, const uint32_t *keys, const int64_t *first, invert_task *tasks)
{
    for (int64_t s = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; s < a.n; s += (int64_t)gridDim.x * blockDim.x) {
        const int64_t count = first[s + 1] - first[s];
        if (keys[s] % 2) {
            for (int64_t i = 0; i < count; i++) tasks[first[s] + i] = {(int32_t)s, (int32_t)i};
        } else if (count) {
            int32_t rows = 1;
            while (s + rows < a.n && (s + rows) % INVERT_WARPS && keys[s + rows] == keys[s]) rows++;
            tasks[first[s]] = {(int32_t)s, -rows};
        }
    }
}

/** How much work makes a row one for a block, for rows of every depth in their groups. heavy: n_levels numbers. */
void find_heavy(const maker *m, const int64_t *levels, int32_t *heavy)
{
    for (int64_t l = 0; l < m->n_levels; l++) heavy[l] = 0;
    for (int64_t g = 0, l = 0; g < m->n_groups; g++)
        for (const int64_t first = l, end = g + 1 < m->n_groups ? m->groups[g + 1].first_level : m->n_levels; l < end;
             l++)
            heavy[l - first] += (int32_t)(levels[l + 1] - levels[l]);
    for (int64_t l = 0; l < m->n_levels; l++)
        heavy[l] = heavy[l] > MANY_ROWS ? (int32_t)(HEAVY * heavy[l] / ROWS_OF_HEAVY) : HEAVY;
}

int64_t part_of(trine_dtype dtype) { return 4096 / (int64_t)trine_dtype_size(dtype); }
int64_t most_tasks(int64_t n, int64_t entries, int64_t part) { return n + entries / part; }

trine_status make_order(maker *m, const int64_t *levels, device_partition *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = m->ctx;
    const int64_t n = m->d->n;
    const int blocks = device_blocks_for(m->plan, n + 1);
    arena scratch = m->scratch;
    order_arrays o = {};
    place_numbers(m, m->n_levels);
    order_args a = {n,
                    part_of(m->plan->base.dtype),
                    m->d->offsets,
                    out->offsets,
                    m->level,
                    m->group,
                    m->renumber_there,
                    m->pairs_there};
    const int64_t most = most_tasks(n, out->entries, a.part);
    for (int64_t g = 0; g < m->n_groups; g++) m->renumber[g] = (int32_t)m->groups[g].first_level;
    find_heavy(m, levels, m->pairs);
    TRY(send(m, m->renumber_there, m->renumber, m->n_groups));
    TRY(send(m, m->pairs_there, m->pairs, m->n_levels));
    TRY(arena_allocate(ctx, &out->order, [&](arena &s) {
        out->sorted = s.take<int32_t>(n);
        out->tasks = s.take<invert_task>(most);
    }));
    if (!n) return status;
    TRY(find_order_bytes(m, out->sorted, &o));
    scratch.used = 0;
    lay_out_order(n, scratch, &o);
    a.keys = o.keys[0], a.rows = o.rows;
    make_order_keys<<<blocks, MERGE_THREADS, 0, m->stream>>>(a);
    TRY(GPU(gpucub::DeviceRadixSort::SortPairs(o.temporary, o.bytes, o.keys[0], o.keys[1], o.rows, out->sorted, n, 0,
                                               32, m->stream)));
    count_tasks<<<blocks, MERGE_THREADS, 0, m->stream>>>(a, o.keys[1], out->sorted, m->lengths);
    TRY(GPU(gpucub::DeviceScan::ExclusiveSum(m->temporary, m->scan_bytes, m->lengths, m->offsets, n + 1, m->stream)));
    make_invert_tasks<<<blocks, MERGE_THREADS, 0, m->stream>>>(a, o.keys[1], m->offsets, out->tasks);
    TRY(GPU_LAUNCHED("the order of inverses"));
    TRY(copy(m, &out->n_tasks, TRINE_HOST, m->offsets + n, TRINE_DEVICE, 1));
done:
    return status;
}

} // namespace

trine_status device_partition_make(trine_triangular plan, const device_triangle *d, const int64_t *levels,
                                   int64_t n_levels, const partition_costs *costs, device_partition *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    maker m = {};
    const double start = trine_wall_time();
    double begun, joined, taken;
    m.plan = plan, m.ctx = ctx, m.stream = (gpuStream_t)ctx->stream, m.d = d, m.costs = costs;
    TRY(begin(&m, levels, n_levels));
    TRY(begin_groups(&m, levels));
    begun = trine_wall_time();
    TRY(make_groups(&m));
    if (!costs->levels) TRY(find_ends(&m));
    if (m.ends) {
        TRY(begin_groups(&m, levels));
        TRY(make_groups(&m));
    }
    joined = trine_wall_time();
    TRY(take_patterns(&m, out));
    taken = trine_wall_time();
    TRY(make_order(&m, levels, out));
    trine_log(
        ctx, 3,
        "triangular: first patterns %.0f us, %d rounds of joining %.0f us, patterns in order %.0f us, %lld tasks of "
        "numeric %.0f us",
        1e6 * (begun - start), m.rounds, 1e6 * (joined - begun), 1e6 * (taken - joined), (long long)out->n_tasks,
        1e6 * (trine_wall_time() - taken));
done:
    trine_free(ctx, TRINE_DEVICE, m.state.base);
    trine_free(ctx, TRINE_DEVICE, m.pool.base);
    trine_free(ctx, TRINE_DEVICE, m.scratch.base);
    trine_free(ctx, TRINE_HOST, m.groups);
    trine_free(ctx, TRINE_HOST, m.starts);
    trine_free(ctx, TRINE_HOST, m.found);
    trine_free(ctx, TRINE_HOST, m.own);
    trine_free(ctx, TRINE_HOST, m.ends);
    return status;
}

void device_partition_release(trine_triangular plan, device_partition *p)
{
    trine_free(plan->base.ctx, TRINE_DEVICE, p->patterns.base);
    trine_free(plan->base.ctx, TRINE_DEVICE, p->order.base);
}

int64_t device_partition_sort_bytes(int64_t n, int64_t entries)
{
    size_t bytes = 0;
    gpucub::DeviceSegmentedSort::SortKeys(nullptr, bytes, (const int32_t *)nullptr, (int32_t *)nullptr, entries, n,
                                          (const int64_t *)nullptr, (const int64_t *)nullptr);
    return (int64_t)bytes + 256;
}

void device_partition_memory(int64_t n, int64_t entries, triangular_bytes *device)
{
    constexpr int64_t SLACK = 32 * 256; /* of arrays in arenas */
    const int64_t state = n * (2 * sizeof(row_place) + 4 * 4 + sizeof(group_report) + 3 * 4 + 8) + (n + 1) * 16 +
                          ((int64_t)LARGE_TABLES * 4 << LARGE_BITS) + device_scan_bytes(n + 1) + SLACK,
                  pools = 2 * 3 * entries * 4, pool = 3 * entries * 4, patterns = n * 20 + entries * 4 + SLACK,
                  sorting = entries * 4 + device_partition_sort_bytes(n, entries),
                  order = n * 4 + most_tasks(n, entries, part_of(TRINE_Z)) * 8 + SLACK,
                  ordering = n * 12 + device_triangle_sort_bytes(n, n) + SLACK;
    const int64_t collected = pool + patterns + order + (sorting > ordering ? sorting : ordering);
    bytes_add(device, patterns + order, state + (pools > collected ? pools : collected));
}
