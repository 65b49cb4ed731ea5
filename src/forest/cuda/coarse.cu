// The graph of the pairs of a [0,1]-factor (Klein 2024, Section 4.6): a thread a pair.
#include "forest/common/blocks.h"
#include "forest/cuda/device.cuh"

namespace {

/** Room for the row of v's pair; numbers that are not used are marked. */
struct make_room {
    forest_graph fine, coarse;
    const int32_t *mate;
    uint8_t *absent;
    __device__ void operator()(int64_t v) const
    {
        const bool is_used = forest_coarse_vertex(mate, (int32_t)v) == v;
        int64_t room = is_used ? fine.end[v] - fine.begin[v] : 0;
        if (is_used && mate[v] >= 0) room += fine.end[mate[v]] - fine.begin[mate[v]];
        coarse.begin[v] = room;
        absent[v] = !is_used;
    }
};

template <typename R> struct coarsen {
    forest_graph fine, coarse;
    const int32_t *mate;
    const uint8_t *absent;
    int64_t *all_keys;

    __device__ static void swap(int64_t *keys, R *weights, int64_t i, int64_t j)
    {
        const int64_t key = keys[i];
        const R weight = weights[i];
        keys[i] = keys[j], weights[i] = weights[j];
        keys[j] = key, weights[j] = weight;
    }
    __device__ static void sift(int64_t *keys, R *weights, int64_t i, int64_t count)
    {
        for (int64_t child; (child = 2 * i + 1) < count; i = child) {
            if (child + 1 < count && keys[child + 1] > keys[child]) child++;
            if (keys[i] >= keys[child]) return;
            swap(keys, weights, i, child);
        }
    }
    /** Keys and the weights beside them, ascending, by a heap. */
    __device__ static void sort_row(int64_t *keys, R *weights, int64_t count)
    {
        for (int64_t i = count / 2; i-- > 0;) sift(keys, weights, i, count);
        for (int64_t last = count - 1; last > 0; last--) {
            swap(keys, weights, 0, last);
            sift(keys, weights, 0, last);
        }
    }
    /** Entries of the fine row x that leave the pair `row`; returns where they end. */
    __device__ int64_t gather(int32_t row, int32_t x, int64_t to) const
    {
        for (int64_t k = fine.begin[x]; k < fine.end[x]; k++) {
            const int32_t y = fine.columns[k], column = forest_coarse_vertex(mate, y);
            if (column == row) continue;
            all_keys[to] = forest_coarse_key(row, x == row, column, y == column);
            static_cast<R *>(coarse.weights)[to++] = static_cast<const R *>(fine.weights)[k];
        }
        return to;
    }
    __device__ void operator()(int64_t v) const
    {
        const int32_t row = (int32_t)v;
        const int64_t first = coarse.begin[row];
        coarse.end[row] = first;
        if (absent[row]) return;
        R *weights = static_cast<R *>(coarse.weights);
        int64_t last = gather(row, row, first), to = first;
        if (mate[row] >= 0) last = gather(row, mate[row], last);
        sort_row(all_keys + first, weights + first, last - first);
        for (int64_t k = first; k < last;) {
            const int32_t column = forest_key_column(all_keys[k]);
            R sum = weights[k++];
            while (k < last && forest_key_column(all_keys[k]) == column) sum += weights[k++];
            coarse.columns[to] = column;
            weights[to++] = sum;
        }
        coarse.end[row] = to;
    }
};

} // namespace

trine_status forest_cuda_coarsen(trine_forest f, void *stream)
{
    const device_scope scope(f->ctx);
    const trine_forest c = f->coarse;
    const int64_t n = f->graph.n;
    if (!n) return TRINE_SUCCESS;
    trine_status status = forest_cuda_forget_candidates(c, stream);
    if (!status) status = launch_each(n, stream, make_room{f->graph, c->graph, f->neighbours, c->absent});
    if (!status) status = forest_cuda_add_before(c, c->graph.begin, c->graph.begin, n, stream);
    if (status) return status;
    if (trine_dtype_is_single(f->dtype))
        return launch_each(n, stream, coarsen<float>{f->graph, c->graph, f->neighbours, c->absent, c->keys});
    return launch_each(n, stream, coarsen<double>{f->graph, c->graph, f->neighbours, c->absent, c->keys});
}
