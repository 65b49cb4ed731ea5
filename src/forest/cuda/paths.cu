// Cycles broken, paths put one behind the other: by splitters, whose list is ranked by pointer jumping, or by the scan
// of the thesis. Passes that have nothing left to do return at once.
#include "forest/common/order.h"
#include "forest/common/scan.h"
#include "forest/common/splitters.h"
#include "forest/cuda/device.cuh"

namespace {

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

__global__ void __launch_bounds__(FOREST_THREADS) list_splitters(const forest_view p, forest_counts *counts)
{
    __shared__ unsigned here;
    __shared__ unsigned long long first;
    for (int64_t block = blockIdx.x * (int64_t)blockDim.x; block < p.vertices;
         block += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = block + threadIdx.x;
        const int32_t v = (int32_t)i;
        const bool is_one = i < p.vertices && (forest_is_end(&p, v) || forest_is_splitter(v));
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

struct walk {
    forest_view p;
    int32_t *seen;
    __device__ void operator()(int64_t e) const { forest_walk(&p, e / 2, (int)(e % 2), seen); }
};

/** One half of the arrays: links of all splitters after some pass. */
struct links {
    uint32_t *link, *edge;
    int32_t *distance;
    __device__ links(const forest_view &p, int copy)
        : link(p.link + copy * 2 * p.vertices), edge(p.edge + copy * 2 * p.vertices),
          distance(p.distance + copy * 2 * p.vertices)
    {}
    /** Does the link end where the path does? */
    __device__ bool is_last(uint32_t to) const
    {
        return to == FOREST_NO_LINK || link[forest_through(to)] == FOREST_NO_LINK;
    }
};

/** Pass k: every link goes on to where the splitter that it leads to goes. */
template <bool EDGES> __global__ void __launch_bounds__(FOREST_THREADS)
    jump(const forest_view p, int k, const forest_counts *counts, int32_t *goes_on)
{
    if (!goes_on[k]) return;
    const links from(p, k % 2), to(p, 1 - k % 2);
    const int64_t count = counts->listed;
    bool again = false;
    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < 2 * count;
         e += (int64_t)gridDim.x * blockDim.x) {
        uint32_t link = from.link[e];
        uint32_t weakest = EDGES ? from.edge[e] : 0, distance = EDGES ? 0 : (uint32_t)from.distance[e];
        if (!from.is_last(link)) {
            const uint32_t onward = forest_through(link);
            link = from.link[onward];
            if (EDGES) weakest = forest_weaker(&p, from.edge[onward], weakest);
            else distance += (uint32_t)from.distance[onward];
            again = true;
        }
        to.link[e] = link;
        if (EDGES) to.edge[e] = weakest;
        else to.distance[e] = (int32_t)distance;
    }
    if (again && INT64_C(2) << k < count) goes_on[k + 1] = 1;
}

/* position[v] - 1: the place of an edge that v, its lower end, is to take out. */

__device__ void take_out(const forest_view &p, uint32_t edge) { p.position[edge / 2] = 1 + (int32_t)(edge % 2); }

struct mark_listed {
    forest_view p;
    const int32_t *goes_on;
    __device__ void operator()(int64_t i) const
    {
        const links at(p, passes_run(goes_on) % 2);
        if (!at.is_last(at.link[2 * i])) take_out(p, at.edge[2 * i]); /* it never comes to an end */
    }
};

struct mark_unlisted {
    forest_view p;
    const int32_t *seen;
    __device__ void operator()(int64_t v) const
    {
        if (forest_leads_cycle(&p, seen, (int32_t)v)) take_out(p, p.edge[v]);
    }
};

struct remove_marked {
    forest_view p;
    forest_counts *counts;
    __device__ void operator()(int64_t v) const
    {
        const int32_t mark = p.position[v];
        if (!mark) return;
        forest_remove_edge(&p, 2 * (uint32_t)v + (uint32_t)mark - 1);
        atomicAdd((unsigned long long *)&counts->cycles, 1ull);
    }
};

/** Name and position of splitter i; then those of the vertices up to the next one. */
struct rank_and_tell {
    forest_view p;
    const int32_t *goes_on;
    __device__ void operator()(int64_t i) const
    {
        const links at(p, passes_run(goes_on) % 2);
        int32_t end[2];
        for (int s = 0; s < 2; s++) {
            const uint32_t link = at.link[2 * i + s];
            end[s] = p.list[link == FOREST_NO_LINK ? i : (int64_t)(link / 2)];
        }
        const int to_name = end[0] < end[1] ? 0 : 1; /* an end alone is both, and has nobody to tell */
        p.path[p.list[i]] = end[to_name];
        p.position[p.list[i]] = at.distance[2 * i + to_name] + 1;
        forest_tell(&p, i, 1 - to_name);
    }
};

trine_status list_and_walk(trine_forest f, const forest_view &p, int32_t *seen, void *stream)
{
    list_splitters<<<forest_blocks(p.vertices), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p, f->counts);
    const trine_status status = GPU_LAUNCHED("list_splitters");
    return status ? status : launch_listed(f, 2, stream, walk{p, seen});
}

template <bool EDGES> trine_status jump_all(trine_forest f, const forest_view &p, void *stream)
{
    const int passes = passes_for(p.vertices);
    const unsigned blocks = forest_blocks(2 * p.vertices, 1 << 13);
    for (int k = 0; k < passes; k++)
        jump<EDGES><<<blocks, FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p, k, f->counts, passes_of(f));
    return GPU_LAUNCHED("jump");
}

trine_status split_cycles(trine_forest f, const forest_view &p, void *stream)
{
    int32_t *seen = f->path;
    trine_status status = fill(f, seen, 0, p.vertices, stream);
    if (!status) status = fill(f, f->position, 0, p.vertices, stream);
    if (!status) status = list_and_walk(f, p, seen, stream);
    if (!status) status = jump_all<true>(f, p, stream);
    if (!status) status = launch_listed(f, 1, stream, mark_listed{p, passes_of(f)});
    if (!status) status = launch_each(p.vertices, stream, mark_unlisted{p, seen});
    return status;
}

trine_status split_paths(trine_forest f, const forest_view &p, void *stream)
{
    trine_status status = list_and_walk(f, p, nullptr, stream);
    if (!status) status = jump_all<false>(f, p, stream);
    return status ? status : launch_listed(f, 1, stream, rank_and_tell{p, passes_of(f)});
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

struct mark_scanned {
    forest_view p;
    forest_scan s;
    const int32_t *goes_on;
    __device__ void operator()(int64_t v) const
    {
        forest_scan last = s;
        last.from = passes_run(goes_on) % 2;
        const uint32_t edge = forest_scan_victim(&p, &last, (int32_t)v);
        if (edge != FOREST_NO_LINK) take_out(p, edge);
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

trine_status scan_cycles(trine_forest f, const forest_view &p, void *stream)
{
    forest_scan s;
    trine_status status = fill(f, f->position, 0, p.vertices, stream);
    if (!status) status = scan(f, p, true, &s, stream);
    return status ? status : launch_each(p.vertices, stream, mark_scanned{p, s, passes_of(f)});
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
    for (int64_t v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; v < p.vertices;
         v += (int64_t)gridDim.x * blockDim.x) {
        const int32_t length = forest_note_length(&p, (int32_t)v);
        if (!length) continue;
        atomicAdd(&paths, 1u);
        atomicAdd(&vertices, (unsigned)length);
        atomicMax(&longest, (unsigned)length);
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
    status = forest_cuda_look_up(f, stream);
    if (!status) status = (f->info.ranking == TRINE_RANKING_SCAN ? scan_cycles : split_cycles)(f, p, stream);
    return status ? status : launch_each(p.vertices, stream, remove_marked{p, f->counts});
}

trine_status forest_cuda_order(trine_forest f, void *stream)
{
    const device_scope scope(f->ctx);
    const forest_view p = forest_view_of(f);
    trine_status status = begin(f, false, stream);
    if (status || !p.vertices) return status;
    status = (f->info.ranking == TRINE_RANKING_SCAN ? scan_paths : split_paths)(f, p, stream);
    if (!status) status = fill(f, f->index, 0, p.vertices, stream);
    if (!status) status = fill(f, f->permutation, 0xFF, p.vertices, stream);
    if (status) return status;
    note_lengths<<<forest_blocks(p.vertices), FOREST_THREADS, 0, static_cast<gpuStream_t>(stream)>>>(p, f->counts);
    status = GPU_LAUNCHED("note_lengths");
    if (!status) status = forest_cuda_add_before(f, f->index, p.vertices, stream);
    return status ? status : launch_each(p.vertices, stream, place{p});
}
