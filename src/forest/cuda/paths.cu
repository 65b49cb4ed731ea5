// Cycles broken, paths put one behind the other: by splitters, whose list is ranked by pointer jumping in one launch;
// or by the scan of the thesis, whose passes return at once if they have nothing left to do.
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
    else counts->paths = counts->longest = counts->vertices = 0;
}

/* ---------------------------------------------------------------- splitters */

constexpr int SPLITTER_BITS = 3; // of other vertices, one in 2^SPLITTER_BITS is one

__global__ void __launch_bounds__(FOREST_THREADS) list_splitters(const forest_view p, forest_counts *counts)
{
    __shared__ unsigned here;
    __shared__ unsigned long long first;
    for (int64_t block = blockIdx.x * (int64_t)blockDim.x; block < p.vertices;
         block += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = block + threadIdx.x;
        const int32_t v = (int32_t)i;
        const bool is_one = i < p.vertices && (forest_is_end(&p, v) || forest_is_splitter(v, SPLITTER_BITS));
        if (threadIdx.x == 0) here = 0;
        __syncthreads();
        const unsigned slot = is_one ? atomicAdd(&here, 1u) : 0;
        __syncthreads();
        if (threadIdx.x == 0) first = atomicAdd((unsigned long long *)&counts->listed, (unsigned long long)here);
        __syncthreads();
        if (i < p.vertices) p.index[v] = is_one ? (int32_t)(first + slot) : -1;
        if (is_one) p.list[first + slot] = v;
        __syncthreads();
    }
}

/** steps[v] of vertices between splitters, as forest_walk leaves them; all bits: no walk has come there. */
uint64_t *steps_of(const forest_view &p) { return reinterpret_cast<uint64_t *>(p.edge); }
constexpr uint64_t NO_STEP = UINT64_MAX;

struct walk {
    forest_view p;
    uint64_t *steps;
    __device__ void operator()(int64_t e) const { forest_walk(&p, e / 2, (int)(e % 2), nullptr, steps); }
};
/** The same where cycles are looked for, with what links know first. */
struct walk_and_number {
    forest_view p;
    uint64_t *steps;
    __device__ void operator()(int64_t e) const
    {
        forest_walk(&p, e / 2, (int)(e % 2), nullptr, steps);
        p.distance[e] = (int32_t)(e / 2);
    }
};

/** One half of the arrays: links of all splitters after some pass. */
struct links {
    uint32_t *link;
    int32_t *number;
    __device__ links(const forest_view &p, int copy)
        : link(p.link + copy * 2 * p.vertices), number(p.distance + copy * 2 * p.vertices)
    {}
    /** Where the splitter goes on to that a link leads to; FOREST_NO_LINK: there the path ends. */
    __device__ uint32_t onward(uint32_t to) const
    {
        return to == FOREST_NO_LINK ? FOREST_NO_LINK : link[forest_through(to)];
    }
    /** After all passes: is splitter i on a cycle? */
    __device__ bool is_cyclic(int64_t i) const { return onward(link[2 * i]) != FOREST_NO_LINK; }
};

/* In a pass every link goes on by up to HOPS links to where the splitters go on to that it leads to. It takes over what
 * those know of the way: its distance or, where cycles are looked for, the lowest of its splitters, itself included.
 * Where two ways one behind the other have the same lowest splitter, they go round a cycle, and that is the lowest of
 * all. A link that is done is in both copies. */

constexpr int HOPS = 3;
constexpr unsigned JUMP_THREADS = 1024; // a barrier of few blocks is a fast one

/** All passes. The blocks are on the device together. goes_on[k]: is there a pass k? Only goes_on[0] is set before. */
template <bool CYCLES> __global__ void __launch_bounds__(JUMP_THREADS, MULTIPROCESSOR_THREADS / JUMP_THREADS)
    jump(const forest_view p, const forest_counts *counts, int32_t *goes_on)
{
    constexpr int NOTED = 64;
    const int64_t count = 2 * counts->listed, step = (int64_t)gridDim.x * blockDim.x;
    uint64_t done = 0; /* of the thread's first NOTED links */
    for (int k = 0; k < FOREST_PASSES; k++) {
        const links from(p, k % 2), to(p, 1 - k % 2);
        int item = 0;
        bool again = false;
        for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < count; e += step, item++) {
            if (item < NOTED && done >> item & 1) continue;
            uint32_t link = from.link[e];
            int32_t number = from.number[e];
            int hops = 0;
            for (; hops < HOPS; hops++) {
                const uint32_t onward = from.onward(link);
                if (onward == FOREST_NO_LINK) break;
                const int32_t more = from.number[forest_through(link)];
                if (CYCLES && more == number) break;
                number = CYCLES ? min(number, more) : number + more;
                link = onward;
            }
            to.link[e] = link;
            to.number[e] = number;
            if (hops) again = true;
            else if (item < NOTED) done |= 1ull << item;
        }
        if (__syncthreads_or(again) && threadIdx.x == 0) goes_on[k + 1] = 1;
        wait_for_grid();
        if (!*(volatile int32_t *)&goes_on[k + 1]) return;
    }
}

/* Cycles: leader[v] names the cycle of v by one of its vertices, -1: v is on none; the leader keeps the name of the
 * weakest edge, and weight[edge] is there then. */

struct cycles {
    forest_view p;
    forest_graph g;
    bool single;
    int32_t *leader;
    uint32_t *weakest;

    explicit cycles(trine_forest f, const forest_view &view)
        : p(view), g(f->graph), single(trine_dtype_is_single(f->dtype)), leader(f->position),
          weakest(reinterpret_cast<uint32_t *>(view.proposals))
    {}
};

/** The leader of a cycle with splitters is the lowest of these, that of another one its lowest vertex. */
struct find_leaders {
    cycles c;
    const uint64_t *steps;

    __device__ void lead(int32_t v) const
    {
        c.leader[v] = v;
        c.weakest[v] = FOREST_NO_LINK;
    }
    /** The splitter that v is or that has come to v; -1: none. */
    __device__ int64_t splitter_of(int32_t v) const
    {
        if (c.p.index[v] >= 0) return c.p.index[v];
        return steps[v] == NO_STEP ? -1 : (int64_t)(steps[v] >> 33);
    }
    __device__ bool is_listed(int32_t v) const
    {
        const int64_t i = splitter_of(v);
        return i < 0 || links(c.p, 0).is_cyclic(i);
    }
    __device__ void operator()(int32_t v) const
    {
        const int64_t i = splitter_of(v);
        if (i >= 0) {
            const int32_t leader = c.p.list[c.p.distance[2 * i]];
            if (leader == v) lead(v);
            else c.leader[v] = leader;
            return;
        }
        if (!forest_leads_cycle(&c.p, v)) return;
        lead(v);
        for (int32_t from = v, at = forest_neighbour(&c.p, v, 0); at != v;) {
            const int32_t next = forest_neighbour(&c.p, at, forest_place_onward(&c.p, at, from));
            c.leader[at] = v;
            from = at;
            at = next;
        }
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
    __device__ bool is_listed(int32_t v) const { return c.leader[v] >= 0; }
    __device__ void operator()(int32_t v) const
    {
        for (int s = 0; s < 2; s++)
            if (v < forest_neighbour(&c.p, v, s))
                propose(&c.weakest[c.leader[v]], forest_weigh(&c.p, &c.g, c.single, v, s));
    }
};

/** Cycles do not touch each other: every leader takes its edge out. */
struct open_cycles {
    cycles c;
    forest_counts *counts;
    __device__ bool is_listed(int32_t v) const { return c.leader[v] == v; }
    __device__ void operator()(int32_t v) const
    {
        forest_remove_edge(&c.p, c.weakest[v]);
        atomicAdd((unsigned long long *)&counts->cycles, 1ull);
    }
};

/** Name and position of splitter i, and which of its places leads to the end that names the path. */
struct rank {
    forest_view p;
    __device__ void operator()(int64_t i) const
    {
        const links at(p, 0);
        int32_t end[2];
        for (int s = 0; s < 2; s++) {
            const uint32_t link = at.link[2 * i + s];
            end[s] = p.list[link == FOREST_NO_LINK ? i : (int64_t)(link / 2)];
        }
        const int to_name = end[0] < end[1] ? 0 : 1; /* an end alone is both */
        p.path[p.list[i]] = end[to_name];
        p.position[p.list[i]] = at.number[2 * i + to_name] + 1;
        p.proposals[i] = to_name;
    }
};
/** The vertices between splitters. */
struct rank_between {
    forest_view p;
    const uint64_t *steps;
    __device__ void operator()(int64_t v) const
    {
        if (p.index[v] >= 0) return;
        const uint32_t from = (uint32_t)(steps[v] >> 32), i = from / 2;
        const int32_t splitter = p.list[i], distance = (int32_t)(uint32_t)steps[v];
        const bool to_name = (int32_t)(from % 2) == p.proposals[i];
        p.path[v] = p.path[splitter];
        p.position[v] = p.position[splitter] + (to_name ? -distance : distance);
    }
};

trine_status list_all(const forest_view &p, forest_counts *counts, void *stream)
{
    list_splitters<<<forest_blocks(p.vertices), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p, counts);
    return GPU_LAUNCHED("list_splitters");
}

template <bool CYCLES> trine_status jump_all(trine_forest f, const forest_view &p, void *stream)
{
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    int32_t *goes_on = passes_of(f);
    const unsigned together = forest_blocks_together(f, MULTIPROCESSOR_THREADS / JUMP_THREADS, s),
                   enough = (unsigned)((2 * p.vertices + JUMP_THREADS - 1) / JUMP_THREADS),
                   blocks = together < enough ? together : enough;
#ifndef __HIP__
    if (blocks > 1) {
        void *arguments[] = {(void *)&p, (void *)&f->counts, (void *)&goes_on};
        return GPU(cudaLaunchCooperativeKernel((const void *)jump<CYCLES>, blocks, JUMP_THREADS, arguments, 0, s));
    }
#endif
    jump<CYCLES><<<1, JUMP_THREADS, 0, s>>>(p, f->counts, goes_on);
    return GPU_LAUNCHED("jump");
}

/** All leaders know the weakest edge. */
trine_status split_cycles(trine_forest f, const cycles &c, void *stream)
{
    uint64_t *steps = steps_of(c.p);
    const int64_t n = c.p.vertices;
    trine_status status = fill(f, steps, 0xFF, 2 * n, stream);
    if (!status) status = list_all(c.p, f->counts, stream);
    if (!status) status = launch_listed(f, 2, stream, walk_and_number{c.p, steps});
    if (!status) status = jump_all<true>(f, c.p, stream);
    if (!status) status = launch_each_of_few(n, stream, find_leaders{c, steps});
    return status ? status : launch_each_of_few(n, stream, find_weakest{c});
}

trine_status split_paths(trine_forest f, const forest_view &p, void *stream)
{
    trine_status status = list_all(p, f->counts, stream);
    if (!status) status = launch_listed(f, 2, stream, walk{p, steps_of(p)});
    if (!status) status = jump_all<false>(f, p, stream);
    if (!status) status = launch_listed(f, 1, stream, rank{p});
    return status ? status : launch_each(p.vertices, stream, rank_between{p, steps_of(p)});
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
        c.leader[v] = (int32_t)v;
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
    trine_status status = forest_cuda_look_up(f, stream);
    if (!status) status = scan(f, c.p, true, &s, stream);
    return status ? status : launch_each(c.p.vertices, stream, find_victims{c, s, passes_of(f)});
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
    int paths = 0, rounds = 0;
    const trine_status asked =
        GPU(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&paths, jump<false>, (int)JUMP_THREADS, 0));
    if (asked) return asked;
    own->of_multiprocessor = paths;
    const trine_status again =
        GPU(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&rounds, jump<true>, (int)JUMP_THREADS, 0));
    if (rounds < paths) own->of_multiprocessor = rounds;
    return again;
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
    const cycles c(f, p);
    status = fill(f, c.leader, 0xFF, p.vertices, stream);
    if (!status) status = (f->info.ranking == TRINE_RANKING_SCAN ? scan_cycles : split_cycles)(f, c, stream);
    return status ? status : launch_each_of_few(p.vertices, stream, open_cycles{c, f->counts});
}

trine_status forest_cuda_order(trine_forest f, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    trine_status status = begin(f, false, stream);
    if (status || !p.vertices) return status;
    status = (f->info.ranking == TRINE_RANKING_SCAN ? scan_paths : split_paths)(f, p, stream);
    if (!status) status = fill(f, f->index, 0, p.vertices, stream);
    if (!status && p.absent) status = fill(f, f->permutation, 0xFF, p.vertices, stream);
    if (status) return status;
    note_lengths<<<forest_blocks(p.vertices, FOREST_FEW_BLOCKS), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(
        p, f->counts);
    status = GPU_LAUNCHED("note_lengths");
    if (!status) status = forest_cuda_add_before(f, f->index, p.vertices, stream);
    return status ? status : launch_each(p.vertices, stream, place{p});
}
