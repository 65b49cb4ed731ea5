// Cycles broken, paths put one behind the other: by splitters, whose list is ranked by pointer jumping in one launch,
// for paths and cycles together, so that a cycle that was opened need not be ranked again; or by the scan of the
// thesis, whose passes return at once if they have nothing left to do.
#include "forest/common/order.h"
#include "forest/common/scan.h"
#include "forest/cuda/splitters.cuh"

namespace {

/** count: of 4 bytes each. */
trine_status fill(trine_forest f, void *array, int byte, int64_t count, void *stream)
{
    return count ? trine_device_fill_async(f->ctx, array, byte, (size_t)count * sizeof(int32_t), stream)
                 : TRINE_SUCCESS;
}

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
    counts->has_cycles = 0;
    if (counts_cycles) counts->cycles = 0;
}

/* ------------------------------------------------------------------ cycles */

/* Cycles: path[v] = -leader - 2 on a cycle, and position[v] as marks have it. The leader keeps the length of the cycle
 * in permutation and, in weakest, the name of its weakest edge, whose weight is in weight[edge] then; later in weakest
 * the name of the path that comes of it, and in list where that path begins: at position k, ascending, or -k - 1,
 * descending. Where splitters have found them, index[name] is the length of every path. */

struct cycles {
    forest_view p;
    forest_graph g;
    bool single;
    uint32_t *weakest; /* of N; in scratch that the ranking does not need any more */

    explicit cycles(trine_forest f, const forest_view &view)
        : p(view), g(f->graph), single(trine_dtype_is_single(f->dtype)),
          weakest(f->info.ranking == TRINE_RANKING_SCAN ? reinterpret_cast<uint32_t *>(view.index) : view.link)
    {}
    __device__ int32_t leader(int32_t v) const { return -p.path[v] - 2; } /* below 0: v is on no cycle */
};

/** Paths and positions, for cycles what is said above. Listed are vertices that no splitter knows: of short cycles. */
struct take_places {
    cycles c;
    forest_counts *counts;
    __device__ bool is_needed() const { return true; }

    __device__ void lead(int32_t v, int32_t length) const
    {
        c.p.permutation[v] = length;
        c.weakest[v] = FOREST_NO_LINK;
        if (!*(volatile int32_t *)&counts->has_cycles) counts->has_cycles = 1;
    }
    __device__ bool is_listed(int32_t v) const
    {
        const forest_view &p = c.p;
        const uint64_t step = nodes_of(p)[v].step;
        if (step == NO_STEP) return true;
        if (p.absent && p.absent[v]) {
            p.path[v] = -1;
            p.position[v] = 0;
            return false;
        }
        const int32_t distance = (int32_t)(uint32_t)step;
        const int place = (int)(step >> 32 & 1);
        const mark m = marks_of(p)[step >> 33];
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
    const forest_counts *counts;
    __device__ bool is_needed() const { return counts->has_cycles; }
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
    __device__ bool is_needed() const { return !has_positions || counts->has_cycles; }
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
        c.weakest[v] = (uint32_t)low;
        p.index[low] = length;
        p.list[v] = ascends ? at : -at - 1;
    }
};

/** Places of the vertices of cycles, which are paths now: the lower end of the edge that was taken out names it. */
struct take_opened {
    cycles c;
    const forest_counts *counts;
    __device__ bool is_needed() const { return counts->has_cycles; }
    __device__ bool is_listed(int32_t v) const { return c.leader(v) >= 0; }
    __device__ void operator()(int32_t v) const
    {
        const forest_view &p = c.p;
        const int32_t leader = c.leader(v), start = p.list[leader], length = p.permutation[leader];
        const int32_t distance = start < 0 ? -start - 1 - p.position[v] : p.position[v] - start;
        p.position[v] = (distance < 0 ? distance + length : distance) + 1;
        p.path[v] = (int32_t)c.weakest[leader];
    }
};

/** Paths and positions; of cycles as said above. */
trine_status split(trine_forest f, const cycles &c, void *stream)
{
    const trine_status status = mark_splitters(f, c.p, stream);
    return status ? status : launch_each_of_few(c.p.vertices, stream, take_places{c, f->counts});
}

trine_status split_cycles(trine_forest f, const cycles &c, void *stream)
{
    const int64_t n = c.p.vertices;
    trine_status status = split(f, c, stream);
    if (!status) status = launch_each_of_few(n, stream, find_weakest{c, f->counts});
    if (!status) status = launch_each_of_few(n, stream, open_cycles{c, true, f->counts});
    return status ? status : launch_each_of_few(n, stream, take_opened{c, f->counts});
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

/** Lengths of paths that a scan has named. */
struct note_lengths {
    forest_view p;
    __device__ void operator()(int64_t v) const { forest_note_length(&p, (int32_t)v); }
};

/** list[name]: vertices on paths before. */
__global__ void __launch_bounds__(FOREST_THREADS) place_all(const forest_view p, forest_counts *counts)
{
    __shared__ unsigned paths, longest, vertices;
    if (threadIdx.x == 0) paths = longest = vertices = 0;
    __syncthreads();
    unsigned my_paths = 0, my_longest = 0, my_vertices = 0;
    for (int64_t v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; v < p.vertices;
         v += (int64_t)gridDim.x * blockDim.x) {
        const int32_t name = load_streamed(p.path + v), position = load_streamed(p.position + v);
        if (name < 0) continue;
        p.permutation[p.list[name] + position - 1] = (int32_t)v;
        my_paths += position == 1;
        my_vertices++;
        my_longest = max(my_longest, (unsigned)position);
    }
    my_paths = __reduce_add_sync(~0u, my_paths);
    my_vertices = __reduce_add_sync(~0u, my_vertices);
    my_longest = __reduce_max_sync(~0u, my_longest);
    if (threadIdx.x % 32 == 0 && my_vertices) {
        atomicAdd(&paths, my_paths);
        atomicAdd(&vertices, my_vertices);
        atomicMax(&longest, my_longest);
    }
    __syncthreads();
    if (threadIdx.x || !vertices) return;
    atomicAdd((unsigned long long *)&counts->paths, (unsigned long long)paths);
    atomicAdd((unsigned long long *)&counts->vertices, (unsigned long long)vertices);
    atomicMax((unsigned long long *)&counts->longest, (unsigned long long)longest);
}
__global__ void begin_places(forest_counts *counts) { counts->paths = counts->longest = counts->vertices = 0; }

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
    if (!status && scans) status = fill(f, p.index, 0, p.vertices, stream);
    if (!status && scans) status = launch_each(p.vertices, stream, note_lengths{p});
    if (!status && p.absent) status = fill(f, p.permutation, 0xFF, p.vertices, stream);
    if (!status) status = forest_cuda_add_before(f, f->index, f->list, p.vertices, stream);
    if (status) return status;
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    begin_places<<<1, 1, 0, s>>>(f->counts);
    place_all<<<forest_blocks(p.vertices, FOREST_FEW_BLOCKS), FOREST_THREADS, 0, s>>>(p, f->counts);
    return GPU_LAUNCHED("place_all");
}
