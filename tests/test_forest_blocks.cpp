// Sorting networks of src/forest/cuda/batch.cuh on the CPU: the strongest edges of random rows, batch after batch,
// beside a sort of all of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define __device__
static unsigned __float_as_uint(float w)
{
    unsigned u;
    memcpy(&u, &w, sizeof u);
    return u;
}
static long long __double_as_longlong(double w)
{
    long long u;
    memcpy(&u, &w, sizeof u);
    return u;
}
#include "forest/cuda/batch.cuh"

namespace {

std::mt19937 draw;
int below(int n) { return (int)(draw() % (unsigned)n); }

/** Equal weights, a few of them and none, or all kinds with very large and very small ones. */
template <typename R> R some_weight(int kind)
{
    if (kind == 0) return 1;
    if (kind == 1) return (R)below(4);
    const int which = below(20);
    return which == 0 ? (R)INFINITY : which == 1 ? R(0) : (R)std::ldexp(1.0 + below(8), below(200) - 100);
}

template <typename R, int C> void try_rows()
{
    for (int trial = 0; trial < 20000; trial++) {
        const forest_ties ties = {trial % 2 == 0, forest_mix((uint64_t)draw())};
        const int32_t v = below(100000);
        const int kind = below(3);
        std::vector<int32_t> columns((size_t)below(41));
        for (int32_t &u : columns) u = below(1 << 30);
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        const int count = (int)columns.size();
        std::vector<R> weights((size_t)count);
        for (R &w : weights) w = some_weight<R>(kind);
        batch<R, C> best;
        for (int c = 0; c < C; c++) best.put(ties, v, c, 0, -1);
        for (int k = 0; k < count; k += C) {
            batch<R, C> next;
            for (int c = 0; c < C; c++)
                next.put(ties, v, c, k + c < count ? weights[k + c] : 0, k + c < count ? columns[k + c] : -1);
            next.sort();
            best.merge(next);
        }
        std::vector<int> order;
        for (int i = 0; i < count; i++)
            if (weights[i] > 0) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](int i, int j) {
            return weights[i] != weights[j] ? weights[i] > weights[j]
                                            : forest_wins_tie(ties, v, columns[i], columns[j]);
        });
        for (int c = 0; c < C; c++)
            if (best.column[c] != (c < (int)order.size() ? columns[order[c]] : -1)) {
                fprintf(stderr, "lists of %d, %zu bytes, row %d of %d entries: place %d is wrong\n", C, sizeof(R),
                        trial, count, c);
                exit(1);
            }
    }
}

} // namespace

int main()
{
    const unsigned seed = std::random_device()();
    printf("seed %u\n", seed);
    draw.seed(seed);
    try_rows<float, 4>();
    try_rows<double, 4>();
    try_rows<float, 8>();
    try_rows<double, 8>();
}
