/* Paths and cycles cut at splitters: walks between these, all at once, then pointer jumping over the list of splitters
 * in one launch. */
#ifndef TRINE_FOREST_CUDA_SPLITTERS_CUH
#define TRINE_FOREST_CUDA_SPLITTERS_CUH

#include "core/gpu_limits.h"
#include "forest/common/splitters.h"
#include "forest/cuda/device.cuh"

namespace {

int32_t *passes_of(trine_forest f) { return static_cast<forest_device *>(f->own)->goes_on; }

/** Both neighbours of v. */
__device__ int2 neighbours_of(const forest_view &p, int32_t v)
{
    if (p.n == 2) return reinterpret_cast<const int2 *>(p.neighbours)[v];
    return make_int2(p.neighbours[v], -1);
}

/** What a walk reads of a vertex, in one sector of memory: its neighbours, and in its step the way that has come
 *  there, 2 i + s, with the number of steps in the lower half. Splitter i itself: 2 i, and no steps. NO_STEP: none has
 *  come. */
struct alignas(16) node {
    int32_t x, y;
    uint64_t step;
};
__device__ node *nodes_of(const forest_view &p) { return reinterpret_cast<node *>(p.weight); }
constexpr uint64_t NO_STEP = UINT64_MAX;

/** Sees what other blocks have stored, each half by itself. */
__device__ node look_at(const node *nodes, int32_t v)
{
    const complex_of<double> halves = poll(reinterpret_cast<const complex_of<double> *>(nodes + v));
    const uint64_t both = (uint64_t)__double_as_longlong(halves.x);
    return {(int32_t)(uint32_t)both, (int32_t)(both >> 32), (uint64_t)__double_as_longlong(halves.y)};
}
/** Way `at` comes to a vertex after so many steps. */
__device__ void leave_step(node *to, int64_t at, int32_t distance)
{
    publish(reinterpret_cast<double *>(&to->step),
            __longlong_as_double((int64_t)((uint64_t)at << 32 | (uint32_t)distance)));
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

/** Neighbours of splitters, as they are listed. */
__device__ int2 *starts_of(const forest_view &p) { return reinterpret_cast<int2 *>(ways_of(p, 1)); }

/** Lists splitters with their neighbours, and makes nodes. No path has a length yet. */
__global__ void __launch_bounds__(FOREST_THREADS) list_splitters(const forest_view p, int bits, forest_counts *counts)
{
    constexpr int EACH = FOREST_CHUNK / FOREST_THREADS;
    __shared__ int here;
    __shared__ unsigned long long first;
    const int lane = threadIdx.x % 32;
    for (int64_t begin = blockIdx.x * (int64_t)FOREST_CHUNK; begin < p.vertices;
         begin += gridDim.x * (int64_t)FOREST_CHUNK) {
        int slots[EACH];
        int2 both[EACH];
        __syncthreads();
        if (threadIdx.x == 0) here = 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int64_t v = begin + k * (int64_t)FOREST_THREADS + threadIdx.x;
            both[k] = v < p.vertices ? neighbours_of(p, (int32_t)v) : make_int2(-1, -1);
            const bool is_one = v < p.vertices && (both[k].y < 0 || forest_is_splitter((int32_t)v, bits));
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
            p.index[v] = 0;
            const uint64_t i = first + (unsigned)slots[k];
            nodes_of(p)[v] = {both[k].x, both[k].y, slots[k] < 0 ? NO_STEP : i << 33};
            if (slots[k] < 0) continue;
            p.list[i] = (int32_t)v;
            starts_of(p)[i] = both[k];
        }
    }
}

/** All ways from each splitter to the next one. Where two that come from both ends meet, both know the rest: which of
 *  them has passed a vertex first does not matter. The lanes of a warp take their steps together. One that is at an end
 *  begins another way at once, as the longest way of a warp is several times as long as most; it has looked up early
 *  where that begins. */
__global__ void __launch_bounds__(FOREST_THREADS, MULTIPROCESSOR_THREADS / FOREST_THREADS)
    walk(const forest_view p, const forest_counts *counts)
{
    node *const nodes = nodes_of(p);
    const int64_t count = 2 * counts->listed;
    const uint32_t stride = gridDim.x * blockDim.x;
    const auto fetch = [&](int64_t e, int32_t *from, int32_t *v) {
        if (e >= count) return;
        const int2 start = starts_of(p)[e / 2];
        *from = p.list[e / 2];
        *v = e % 2 ? start.y : start.x;
    };
    int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    int32_t from = 0, v = -1, distance = 1, next_from = 0, next_v = -1;
    fetch(e, &from, &v);
    fetch(e + stride, &next_from, &next_v);
    while (__any_sync(~0u, e < count)) {
        const bool is_there = e < count, walks = is_there && v >= 0;
        node here = {-1, -1, NO_STEP};
        if (walks) here = look_at(nodes, v);
        const bool ends = is_there && (!walks || here.step != NO_STEP);
        if (walks && !ends) {
            leave_step(nodes + v, e, distance++);
            const int32_t next = here.x == from ? here.y : here.x;
            from = v;
            v = next;
        }
        if (ends) {
            const uint32_t steps = (uint32_t)here.step;
            way w = {FOREST_NO_LINK, 0, (uint32_t)e ^ 1, 0};
            if (walks) {
                w.to = (uint32_t)(here.step >> 32) + (steps || here.x == from ? 0 : 1);
                w.distance = distance + (int32_t)steps;
            }
            ways_of(p, 0)[e] = w;
            from = next_from, v = next_v, distance = 1;
            e += stride;
            fetch(e + stride, &next_from, &next_v);
        }
    }
}

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
        const int32_t name = end[toward], length = w[0].distance + w[1].distance + 1;
        marks_of(p)[i] = {name, w[toward].distance + 1, toward, 0};
        if (p.list[i] == name && !(p.absent && p.absent[name])) p.index[name] = length;
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

/** Of vertices that are no ends of paths, one in 2^bits is a splitter: fewer where there are many vertices, so that
 *  what is jumped over fits into the cache, while there are still walks enough. */
int splitter_bits(int64_t n) { return n < 1 << 22 ? 4 : n < 1 << 23 ? 5 : 6; }

/** Marks of all splitters. */
trine_status mark_splitters(trine_forest f, const forest_view &p, void *stream)
{
    const gpuStream_t s = static_cast<gpuStream_t>(stream);
    list_splitters<<<forest_blocks((p.vertices + 3) / 4), FOREST_THREADS, 0, s>>>(p, splitter_bits(p.vertices),
                                                                                  f->counts);
    trine_status status = GPU_LAUNCHED("list_splitters");
    constexpr unsigned BLOCKS = MULTIPROCESSOR_THREADS / FOREST_THREADS;
    const int multiprocessors = static_cast<forest_device *>(f->own)->multiprocessors;
    const unsigned most = multiprocessors ? (unsigned)multiprocessors_of(s, multiprocessors) * BLOCKS : 1 << 10,
                   enough = forest_blocks(p.vertices), blocks = most < enough ? most : enough;
    if (!status) walk<<<blocks, FOREST_THREADS, 0, s>>>(p, f->counts);
    if (!status) status = GPU_LAUNCHED("walk");
    if (!status) status = jump_all(f, p, stream);
    return status ? status : launch_listed(f, 1, stream, mark_splitter{p});
}

} // namespace

#endif
