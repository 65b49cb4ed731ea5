// Cycles broken, paths put one behind the other: by splitters, whose list is ranked by pointer jumping in one launch,
// for paths and cycles together, so that a cycle that was opened need not be ranked again; or by the scan of the
// thesis, whose passes return at once if they have nothing left to do.
#include "core/gpu_limits.h"
#include "forest/common/order.h"
#include "forest/common/scan.h"
#include "forest/common/splitters.h"
#include "forest/cuda/device.cuh"

namespace {

/** count: of 4 bytes each. */
trine_status fill(trine_forest f, void *array, int byte, int64_t count, void *stream)
{
    return count ? trine_device_fill_async(f->ctx, array, byte, (size_t)count * sizeof(int32_t), stream)
                 : TRINE_SUCCESS;
}

int32_t *passes_of(trine_forest f) { return static_cast<forest_device *>(f->own)->goes_on; }

/** Passes after which everything within `count` steps is known. */
int passes_for(int64_t count)
{
    int passes = 1;
    while (INT64_C(1) << passes < count) passes++;
    return passes;
}
/** How many of them were run: the parity of that says which copy of links holds the result. */
__device__ int passes_run(const int32_t *goes_on)
{
    int k = 0;
    while (k < FOREST_PASSES && goes_on[k]) k++;
    return k;
}

__global__ void begin_passes(forest_counts *counts, int32_t *goes_on, bool counts_cycles)
{
    for (int k = 0; k <= FOREST_PASSES; k++) goes_on[k] = k == 0;
    counts->listed = 0;
    if (counts_cycles) counts->cycles = 0;
}

/* ---------------------------------------------------------------- splitters */

constexpr int SPLITTER_BITS = 3; // of other vertices, one in 2^SPLITTER_BITS is one

/** Both neighbours of v. */
__device__ int2 neighbours_of(const forest_view &p, int32_t v)
{
    if (p.n == 2) return reinterpret_cast<const int2 *>(p.neighbours)[v];
    return make_int2(p.neighbours[v], -1);
}

/** steps[v] of a vertex between splitters: which way of which splitter has come there, 2 i + s, and after how many
 *  steps, in its lower half. A way from the other end may overwrite it. NO_STEP: none has. */
__device__ uint64_t *steps_of(const forest_view &p) { return reinterpret_cast<uint64_t *>(p.proposals); }
constexpr uint64_t NO_STEP = UINT64_MAX;

/** Lists splitters, and says where they are in the list. */
__global__ void __launch_bounds__(FOREST_THREADS) list_splitters(const forest_view p, forest_counts *counts)
{
    constexpr int EACH = FOREST_CHUNK / FOREST_THREADS;
    __shared__ int here;
    __shared__ unsigned long long first;
    const int lane = threadIdx.x % 32;
    for (int64_t begin = blockIdx.x * (int64_t)FOREST_CHUNK; begin < p.vertices;
         begin += gridDim.x * (int64_t)FOREST_CHUNK) {
        int slots[EACH];
        __syncthreads();
        if (threadIdx.x == 0) here = 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int64_t v = begin + k * (int64_t)FOREST_THREADS + threadIdx.x;
            const bool is_one =
                v < p.vertices && (neighbours_of(p, (int32_t)v).y < 0 || forest_is_splitter((int32_t)v, SPLITTER_BITS));
            const unsigned all = __ballot_sync(~0u, is_one);
            int slot = 0;
            if (lane == 0 && all) slot = atomicAdd(&here, __popc(all));
            slot = __shfl_sync(~0u, slot, 0) + __popc(all & ((1u << lane) - 1));
            slots[k] = is_one ? slot : -1;
        }
        __syncthreads();
        if (threadIdx.x == 0) first = atomicAdd((unsigned long long *)&counts->listed, (unsigned long long)here);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int64_t v = begin + k * (int64_t)FOREST_THREADS + threadIdx.x;
            if (v >= p.vertices) continue;
            p.index[v] = slots[k] < 0 ? -1 : (int32_t)first + slots[k];
            steps_of(p)[v] = NO_STEP;
            if (slots[k] >= 0) p.list[first + (unsigned)slots[k]] = (int32_t)v;
        }
    }
}

/* From splitter i through place s, number 2 i + s: a way over the splitters from i on, itself included, to another one,
 * not included, which it meets at that splitter's place to % 2. It goes on through the other place. FOREST_NO_LINK: i
 * is the end of a path there. Of the splitters on the way, it knows the one with the lowest number. */
struct alignas(16) way {
    uint32_t to;
    int32_t distance;
    uint32_t lowest; /* as to */
    int32_t to_lowest;
};
__device__ way *ways_of(const forest_view &p, int copy)
{
    return reinterpret_cast<way *>(p.link) + copy * 2 * p.vertices;
}

/** What all vertices near splitter i need to know. name >= 0: of its path, with the splitter's position; the name lies
 *  through its place `toward`. Else -name - 2 leads its cycle, of so many vertices, and positions are counted from the
 *  leader, 0, on, out of the leader's place 0; they fall through `toward`. */
struct alignas(16) mark { int32_t name, position, toward, length; };
__device__ mark *marks_of(const forest_view &p) { return reinterpret_cast<mark *>(ways_of(p, 1)); }

struct walk {
    forest_view p;
    __device__ void operator()(int64_t e) const
    {
        const uint32_t i = (uint32_t)(e / 2), s = (uint32_t)(e % 2);
        int32_t from = p.list[i];
        int2 here = neighbours_of(p, from);
        int32_t v = s ? here.y : here.x, distance = 1;
        way w = {FOREST_NO_LINK, 0, 2 * i + 1 - s, 0};
        if (v >= 0) {
            for (;; distance++) {
                here = neighbours_of(p, v);
                if (here.y < 0 || forest_is_splitter(v, SPLITTER_BITS)) break;
                steps_of(p)[v] = (uint64_t)e << 32 | (uint32_t)distance;
                const int32_t next = here.x == from ? here.y : here.x;
                from = v;
                v = next;
            }
            w.to = 2 * (uint32_t)p.index[v] + (here.x == from ? 0 : 1);
            w.distance = distance;
        }
        ways_of(p, 0)[e] = w;
    }
};

/* In a pass every way goes on by up to HOPS others. Where two one behind the other have the same lowest splitter, they
 * go round a cycle, and that is the lowest of all. A way that is done is in both copies. */

constexpr int HOPS = 3;
constexpr unsigned JUMP_THREADS = 1024; // a barrier of few blocks is a fast one

/** All passes. The blocks are on the device together. goes_on[k]: is there a pass k? Only goes_on[0] is set before. */
__global__ void __launch_bounds__(JUMP_THREADS, MULTIPROCESSOR_THREADS / JUMP_THREADS)
    jump(const forest_view p, const forest_counts *counts, int32_t *goes_on)
{
    constexpr int NOTED = 64;
    const int64_t count = 2 * counts->listed, step = (int64_t)gridDim.x * blockDim.x;
    uint64_t done = 0; /* of the thread's first NOTED ways */
    for (int k = 0; k < FOREST_PASSES; k++) {
        const way *const from = ways_of(p, k % 2);
        way *const to = ways_of(p, 1 - k % 2);
        int item = 0;
        bool again = false;
        for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < count; e += step, item++) {
            if (item < NOTED && done >> item & 1) continue;
            way mine = from[e];
            int hops = 0;
            for (; hops < HOPS && mine.to != FOREST_NO_LINK; hops++) {
                const way next = from[forest_through(mine.to)];
                if (next.to == FOREST_NO_LINK || next.lowest == mine.lowest) break;
                if (next.lowest < mine.lowest) {
                    mine.lowest = next.lowest;
                    mine.to_lowest = mine.distance + next.to_lowest;
                }
                mine.to = next.to;
                mine.distance += next.distance;
            }
            to[e] = mine;
            if (hops) again = true;
            else if (item < NOTED) done |= 1ull << item;
        }
        if (__syncthreads_or(again) && threadIdx.x == 0) goes_on[k + 1] = 1;
        wait_for_grid();
        if (!*(volatile int32_t *)&goes_on[k + 1]) return;
    }
}

/** The mark of splitter i, whose ways are done. */
struct mark_splitter {
    forest_view p;
    __device__ void operator()(int64_t i) const
    {
        const way *const ways = ways_of(p, 0);
        const way w[2] = {ways[2 * i], ways[2 * i + 1]};
        if (w[0].to != FOREST_NO_LINK && w[1].to != FOREST_NO_LINK &&
            ways[forest_through(w[0].to)].to != FOREST_NO_LINK) {
            const int64_t leader = w[0].lowest / 2, other = w[0].to / 2;
            const int toward = w[0].lowest % 2; /* the place whose way comes to the leader's place 0 */
            int32_t length = w[0].to_lowest + w[1].to_lowest;
            if (leader == i)
                length = other == i ? w[0].distance : ways[2 * other].to_lowest + ways[2 * other + 1].to_lowest;
            marks_of(p)[i] = {-p.list[leader] - 2, leader == i ? 0 : w[toward].to_lowest, toward, length};
            return;
        }
        int32_t end[2];
        for (int s = 0; s < 2; s++) end[s] = p.list[w[s].to == FOREST_NO_LINK ? i : (int64_t)(w[s].to / 2)];
        const int toward = end[0] < end[1] ? 0 : 1; /* an end alone is both */
        marks_of(p)[i] = {end[toward], w[toward].distance + 1, toward, 0};
    }
};

/* Cycles: path[v] = -leader - 2 on a cycle, and position[v] as marks have it. The leader keeps the length of the cycle
 * in permutation and, in index, the name of its weakest edge, whose weight is in weight[edge] then; later in index the
 * name of the path that comes of it, and in list where that path begins: at position k, ascending, or -k - 1,
 * descending. */

struct cycles {
    forest_view p;
    forest_graph g;
    bool single;
    uint32_t *weakest;

    explicit cycles(trine_forest f, const forest_view &view)
        : p(view), g(f->graph), single(trine_dtype_is_single(f->dtype)),
          weakest(reinterpret_cast<uint32_t *>(view.index))
    {}
    __device__ int32_t leader(int32_t v) const { return -p.path[v] - 2; } /* below 0: v is on no cycle */
};

/** Paths and positions, for cycles what is said above. Listed are vertices that no splitter knows: of short cycles. */
struct take_places {
    cycles c;

    __device__ void lead(int32_t v, int32_t length) const
    {
        c.p.permutation[v] = length;
        c.weakest[v] = FOREST_NO_LINK;
    }
    __device__ bool is_listed(int32_t v) const
    {
        const forest_view &p = c.p;
        int32_t i = p.index[v], distance = 0;
        int place = 0;
        if (i < 0) {
            const uint64_t step = steps_of(p)[v];
            if (step == NO_STEP) return true;
            i = (int32_t)(step >> 33), place = (int)(step >> 32 & 1), distance = (int32_t)(uint32_t)step;
        }
        const mark m = marks_of(p)[i];
        int32_t position = m.position + (place == m.toward ? -distance : distance);
        if (m.name < 0) {
            if (position < 0) position += m.length;
            else if (position >= m.length) position -= m.length;
            if (-m.name - 2 == v) lead(v, m.length);
        }
        p.path[v] = m.name;
        p.position[v] = position;
        return false;
    }
    __device__ void operator()(int32_t v) const
    {
        const forest_view &p = c.p;
        if (!forest_leads_cycle(&p, v)) return;
        int32_t from = v, at = neighbours_of(p, v).x, position = 1;
        p.path[v] = -v - 2;
        p.position[v] = 0;
        for (; at != v; position++) {
            const int2 here = neighbours_of(p, at);
            const int32_t next = here.x == from ? here.y : here.x;
            p.path[at] = -v - 2;
            p.position[at] = position;
            from = at;
            at = next;
        }
        lead(v, position);
    }
};

/** Every vertex of a cycle weighs the edges that have its name. */
struct find_weakest {
    cycles c;
    __device__ void propose(uint32_t *weakest, forest_weighed mine) const
    {
        c.p.weight[mine.edge] = mine.weight;
        __threadfence(); /* whoever reads the name finds the weight */
        for (uint32_t old = *(volatile uint32_t *)weakest;;) {
            __threadfence();
            const forest_weighed other = {old, old == FOREST_NO_LINK ? 0 : ((volatile double *)c.p.weight)[old]};
            if (old != FOREST_NO_LINK && !forest_is_weaker(&c.p, mine, other)) return;
            const uint32_t found = atomicCAS(weakest, old, mine.edge);
            if (found == old) return;
            old = found;
        }
    }
    __device__ bool is_listed(int32_t v) const { return c.leader(v) >= 0; }
    __device__ void operator()(int32_t v) const
    {
        for (int s = 0; s < 2; s++)
            if (v < forest_neighbour(&c.p, v, s))
                propose(&c.weakest[c.leader(v)], forest_weigh(&c.p, &c.g, c.single, v, s));
    }
};

/** Cycles do not touch each other: every leader takes its edge out. */
struct open_cycles {
    cycles c;
    bool has_positions;
    forest_counts *counts;
    __device__ bool is_listed(int32_t v) const { return c.leader(v) == v; }
    __device__ void operator()(int32_t v) const
    {
        const forest_view &p = c.p;
        const uint32_t edge = c.weakest[v];
        const int32_t low = (int32_t)(edge / 2), high = p.neighbours[edge];
        forest_remove_edge(&p, edge);
        atomicAdd((unsigned long long *)&counts->cycles, 1ull);
        if (!has_positions) return;
        const int32_t at = p.position[low], length = p.permutation[v];
        const bool ascends = p.position[high] == (at ? at : length) - 1; /* the higher one is before the lower one */
        p.index[v] = low;
        p.list[v] = ascends ? at : -at - 1;
    }
};

/** Places of the vertices of cycles, which are paths now: the lower end of the edge that was taken out names it. */
struct take_opened {
    cycles c;
    __device__ bool is_listed(int32_t v) const { return c.leader(v) >= 0; }
    __device__ void operator()(int32_t v) const
    {
        const forest_view &p = c.p;
        const int32_t leader = c.leader(v), start = p.list[leader], length = p.permutation[leader];
        const int32_t distance = start < 0 ? -start - 1 - p.position[v] : p.position[v] - start;
        p.position[v] = (distance < 0 ? distance + length : distance) + 1;
        p.path[v] = p.index[leader];
    }
};

trine_status jump_all(trine_forest f, const forest_view &p, void *stream)
{
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    int32_t *goes_on = passes_of(f);
    const unsigned together = forest_blocks_together(f, MULTIPROCESSOR_THREADS / JUMP_THREADS, s),
                   enough = (unsigned)((2 * p.vertices + JUMP_THREADS - 1) / JUMP_THREADS),
                   blocks = together < enough ? together : enough;
#ifndef __HIP__
    if (blocks > 1) {
        void *arguments[] = {(void *)&p, (void *)&f->counts, (void *)&goes_on};
        return GPU(cudaLaunchCooperativeKernel((const void *)jump, blocks, JUMP_THREADS, arguments, 0, s));
    }
#endif
    jump<<<1, JUMP_THREADS, 0, s>>>(p, f->counts, goes_on);
    return GPU_LAUNCHED("jump");
}

/** Paths and positions; of cycles as said above. */
trine_status split(trine_forest f, const cycles &c, void *stream)
{
    list_splitters<<<forest_blocks((c.p.vertices + 3) / 4), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(
        c.p, f->counts);
    trine_status status = GPU_LAUNCHED("list_splitters");
    if (!status) status = launch_listed(f, 2, stream, walk{c.p});
    if (!status) status = jump_all(f, c.p, stream);
    if (!status) status = launch_listed(f, 1, stream, mark_splitter{c.p});
    return status ? status : launch_each_of_few(c.p.vertices, stream, take_places{c});
}

trine_status split_cycles(trine_forest f, const cycles &c, void *stream)
{
    const int64_t n = c.p.vertices;
    trine_status status = split(f, c, stream);
    if (!status) status = launch_each_of_few(n, stream, find_weakest{c});
    if (!status) status = launch_each_of_few(n, stream, open_cycles{c, true, f->counts});
    return status ? status : launch_each_of_few(n, stream, take_opened{c});
}

/* --------------------------------------------------------------------- scan */

struct start_scan {
    forest_view p;
    forest_scan s;
    __device__ void operator()(int64_t v) const { forest_scan_start(&p, &s, (int32_t)v); }
};

__global__ void __launch_bounds__(FOREST_THREADS)
    scan_pass(const forest_view p, const forest_scan s, int k, int32_t *goes_on)
{
    if (!goes_on[k]) return;
    bool again = false;
    for (int64_t v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; v < p.vertices;
         v += (int64_t)gridDim.x * blockDim.x)
        again |= forest_scan_pass(&p, &s, (int32_t)v);
    if (again && INT64_C(2) << k < p.vertices) goes_on[k + 1] = 1;
}

/** The lower end of the weakest edge is the leader. */
struct find_victims {
    cycles c;
    forest_scan s;
    const int32_t *goes_on;
    __device__ void operator()(int64_t v) const
    {
        forest_scan last = s;
        last.from = passes_run(goes_on) % 2;
        const uint32_t edge = forest_scan_victim(&c.p, &last, (int32_t)v);
        if (edge == FOREST_NO_LINK) return;
        c.p.path[v] = -(int32_t)v - 2;
        c.weakest[v] = edge;
    }
};

struct name_paths {
    forest_view p;
    forest_scan s;
    const int32_t *goes_on;
    __device__ void operator()(int64_t v) const
    {
        forest_scan last = s;
        last.from = passes_run(goes_on) % 2;
        forest_scan_name(&p, &last, (int32_t)v);
    }
};

trine_status launch_scan_pass(trine_forest f, const forest_view &p, forest_scan s, int k, void *stream)
{
    s.from = k % 2;
    scan_pass<<<forest_blocks(p.vertices), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p, s, k,
                                                                                                  passes_of(f));
    return GPU_LAUNCHED("scan_pass");
}

trine_status scan(trine_forest f, const forest_view &p, bool wants_edges, forest_scan *out, void *stream)
{
    const int passes = passes_for(p.vertices);
    *out = forest_scan_of(&p, wants_edges);
    trine_status status = launch_each(p.vertices, stream, start_scan{p, *out});
    for (int k = 0; !status && k < passes; k++) status = launch_scan_pass(f, p, *out, k, stream);
    return status;
}

trine_status scan_cycles(trine_forest f, const cycles &c, void *stream)
{
    forest_scan s;
    const int64_t n = c.p.vertices;
    trine_status status = fill(f, c.p.path, 0xFF, n, stream);
    if (!status) status = forest_cuda_look_up(f, stream);
    if (!status) status = scan(f, c.p, true, &s, stream);
    if (!status) status = launch_each(n, stream, find_victims{c, s, passes_of(f)});
    return status ? status : launch_each_of_few(n, stream, open_cycles{c, false, f->counts});
}

trine_status scan_paths(trine_forest f, const forest_view &p, void *stream)
{
    forest_scan s;
    const trine_status status = scan(f, p, false, &s, stream);
    return status ? status : launch_each(p.vertices, stream, name_paths{p, s, passes_of(f)});
}

/* -------------------------------------------------------------------- order */

struct look_up {
    forest_view p;
    forest_graph g;
    bool single;
    __device__ void operator()(int64_t v) const { forest_look_up(&p, &g, single, v); }
};

__global__ void __launch_bounds__(FOREST_THREADS) note_lengths(const forest_view p, forest_counts *counts)
{
    __shared__ unsigned paths, longest, vertices;
    if (threadIdx.x == 0) paths = longest = vertices = 0;
    __syncthreads();
    unsigned my_paths = 0, my_longest = 0, my_vertices = 0;
    for (int64_t v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; v < p.vertices;
         v += (int64_t)gridDim.x * blockDim.x) {
        const unsigned length = (unsigned)forest_note_length(&p, (int32_t)v);
        my_paths += length > 0;
        my_vertices += length;
        my_longest = max(my_longest, length);
    }
    my_paths = __reduce_add_sync(~0u, my_paths);
    my_vertices = __reduce_add_sync(~0u, my_vertices);
    my_longest = __reduce_max_sync(~0u, my_longest);
    if (threadIdx.x % 32 == 0 && my_paths) {
        atomicAdd(&paths, my_paths);
        atomicAdd(&vertices, my_vertices);
        atomicMax(&longest, my_longest);
    }
    __syncthreads();
    if (threadIdx.x || !paths) return;
    atomicAdd((unsigned long long *)&counts->paths, (unsigned long long)paths);
    atomicAdd((unsigned long long *)&counts->vertices, (unsigned long long)vertices);
    atomicMax((unsigned long long *)&counts->longest, (unsigned long long)longest);
}

/** Before lengths are noted. */
struct clear_lengths {
    forest_view p;
    forest_counts *counts;
    __device__ void operator()(int64_t v) const
    {
        p.index[v] = 0;
        if (p.absent) p.permutation[v] = -1;
        if (v == 0) counts->paths = counts->longest = counts->vertices = 0;
    }
};

struct place {
    forest_view p;
    __device__ void operator()(int64_t v) const { forest_place(&p, (int32_t)v); }
};

trine_status begin(trine_forest f, bool counts_cycles, void *stream)
{
    begin_passes<<<1, 1, 0, static_cast<gpuStream_t>(stream)>>>(f->counts, passes_of(f), counts_cycles);
    return GPU_LAUNCHED("begin_passes");
}

} // namespace

trine_status forest_cuda_count_together(forest_device *own)
{
    struct gpu_limits limits;
    const trine_status status = trine_gpu_limits(&limits);
    if (status || !limits.cooperative) return status;
    own->multiprocessors = limits.multiprocessors;
    return GPU(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&own->of_multiprocessor, jump, (int)JUMP_THREADS, 0));
}

trine_status forest_cuda_look_up(trine_forest f, void *stream)
{
    return launch_each(f->graph.n, stream, look_up{forest_view_of(f), f->graph, trine_dtype_is_single(f->dtype)});
}

trine_status forest_cuda_scan_pass(trine_forest f, bool wants_edges, int k, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    const forest_scan s = forest_scan_of(&p, wants_edges);
    if (!p.vertices || k > FOREST_PASSES) return TRINE_SUCCESS;
    if (k >= 0) return launch_scan_pass(f, p, s, k, stream);
    trine_status status = begin(f, wants_edges, stream);
    if (!status && wants_edges) status = forest_cuda_look_up(f, stream);
    return status ? status : launch_each(p.vertices, stream, start_scan{p, s});
}

trine_status forest_cuda_break_cycles(trine_forest f, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    trine_status status = begin(f, true, stream);
    if (status || f->n < 2 || !p.vertices) return status;
    f->is_ranked = f->info.ranking != TRINE_RANKING_SCAN;
    return (f->is_ranked ? split_cycles : scan_cycles)(f, cycles(f, p), stream);
}

trine_status forest_cuda_order(trine_forest f, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    if (!p.vertices) return TRINE_SUCCESS;
    const bool scans = f->info.ranking == TRINE_RANKING_SCAN;
    trine_status status = f->is_ranked ? TRINE_SUCCESS : begin(f, false, stream);
    if (!status && !f->is_ranked) status = scans ? scan_paths(f, p, stream) : split(f, cycles(f, p), stream);
    if (!status) status = launch_each(p.vertices, stream, clear_lengths{p, f->counts});
    if (status) return status;
    note_lengths<<<forest_blocks(p.vertices, FOREST_FEW_BLOCKS), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(
        p, f->counts);
    status = GPU_LAUNCHED("note_lengths");
    if (!status) status = forest_cuda_add_before(f, f->index, p.vertices, stream);
    return status ? status : launch_each(p.vertices, stream, place{p});
}
