/* What one warp does with a part of a panel and a block of right-hand sides: a product kept in registers.
 *
 * The warp makes the ROWS x WIDTH result of a ROWS x k matrix A with k rows of the interleaved right-hand sides, STEP of the
 * k at a time, where A is rows of the panel (forward) or columns of it (backward). Lane (g, t) = (lane / 4, lane % 4). Both
 * factors go from memory straight into the registers that need them; each lane loads 16 bytes of the panel at a time. */
#ifndef TRINE_SUPERNODAL_PANEL_PRODUCT_CUH
#define TRINE_SUPERNODAL_PANEL_PRODUCT_CUH

#include "supernodal/device.cuh"

/** 16 bytes that another block may have written: an ordinary load, after an acquire. */
template <typename T> __device__ inline pack<T> load_vector(const T *p)
{
    union { uint4 raw; pack<T> values; } u;
    u.raw = *reinterpret_cast<const uint4 *>(p);
    return u.values;
}
template <typename T> __device__ inline void store_vector(T *p, const T *e)
{
    union { uint4 raw; pack<T> values; } u;
#pragma unroll
    for (int i = 0; i < (int)(16 / sizeof(T)); i++) u.values.e[i] = e[i];
    *reinterpret_cast<uint4 *>(p) = u.raw;
}

/** Any scalar, with fused multiply-adds. Lane (g, t) makes rows PACK g .. of the result and the t-th quarter of its columns. */
template <typename T, int WIDTH, bool IS_FORWARD> struct panel_product {
    static constexpr int PACK = 16 / sizeof(T), ROWS = 8 * PACK, QUARTER = WIDTH / 4;
    static constexpr int STEP = IS_FORWARD ? 1 : PACK, BATCH = IS_FORWARD ? 4 : 1;
    static constexpr int RIGHT_ROWS = STEP; /* rows of right-hand sides that a lane reads in a step */

    struct left { pack<T> v[IS_FORWARD ? 1 : PACK]; };
    struct right { T v[RIGHT_ROWS][QUARTER]; };
    T sum[PACK][QUARTER];

    __device__ void clear()
    {
#pragma unroll
        for (int q = 0; q < PACK; q++)
#pragma unroll
            for (int j = 0; j < QUARTER; j++) sum[q][j] = zero_of<T>();
    }
    /** The r-th row of right-hand sides that `lane` reads in the step that starts at k. */
    __device__ static int right_row(int, int k, int r) { return k + r; }
    __device__ static void load_left(left &a, const T *P, int64_t ld, int lane, int first, int end, int k, int k_end)
    {
        const int g = lane / 4;
#pragma unroll
        for (int c = 0; c < (IS_FORWARD ? 1 : PACK); c++) {
            const int row = IS_FORWARD ? first + PACK * g : k, column = IS_FORWARD ? k : first + PACK * g + c;
#pragma unroll
            for (int q = 0; q < PACK; q++) a.v[c].e[q] = zero_of<T>();
            if (k < k_end && (IS_FORWARD ? row : column) < end) a.v[c] = load_pack(P + row + column * ld);
        }
    }
    /** rows[r]: right_row's r-th row, NULL past the end. */
    __device__ static void load_right(right &b, const T *const *rows, int lane)
    {
        const int t = lane % 4;
#pragma unroll
        for (int r = 0; r < RIGHT_ROWS; r++) {
#pragma unroll
            for (int j = 0; j < QUARTER; j++) b.v[r][j] = zero_of<T>();
            if (!rows[r]) continue;
            if constexpr (QUARTER < PACK) {
#pragma unroll
                for (int j = 0; j < QUARTER; j++) b.v[r][j] = rows[r][t * QUARTER + j];
            } else {
#pragma unroll
                for (int j = 0; j < QUARTER; j += PACK) {
                    const pack<T> p = load_vector(rows[r] + t * QUARTER + j);
#pragma unroll
                    for (int q = 0; q < PACK; q++) b.v[r][j + q] = p.e[q];
                }
            }
        }
    }
    __device__ void multiply(const left &a, const right &b)
    {
#pragma unroll
        for (int s = 0; s < STEP; s++)
#pragma unroll
            for (int q = 0; q < PACK; q++)
#pragma unroll
                for (int j = 0; j < QUARTER; j++) multiply_add(sum[q][j], IS_FORWARD ? a.v[0].e[q] : a.v[q].e[s], b.v[s][j]);
    }
    /** To shared memory, rows `stride` apart. */
    __device__ void store(T *to, int stride, int lane) const
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int q = 0; q < PACK; q++)
#pragma unroll
            for (int j = 0; j < QUARTER; j++) to[(PACK * g + q) * stride + t * QUARTER + j] = sum[q][j];
    }
};

/** Double precision on the tensor cores: m16n8k8 products. The rows and columns that a fragment's indices stand for are
 *  chosen so that every load is of 16 bytes: forward, index g of A is row 2g and g + 8 row 2g + 1 of the panel; backward,
 *  index t of the reduction is row 2t and t + 4 row 2t + 1. Index g of a pair of fragments of B is right-hand sides 2g and 2g + 1. */
template <int WIDTH, bool IS_FORWARD> struct panel_product<double, WIDTH, IS_FORWARD> {
    static constexpr int PACK = 2, ROWS = 16, STEP = 8, BATCH = 2, RIGHT_ROWS = 2, FRAGMENTS = WIDTH / 8;
    static_assert(WIDTH == 8 || WIDTH % 16 == 0, "one fragment or pairs of them");

    struct left { pack<double> v[2]; };
    struct right { double v[2][FRAGMENTS]; };
    double sum[FRAGMENTS][4];

    __device__ void clear()
    {
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++)
#pragma unroll
            for (int i = 0; i < 4; i++) sum[f][i] = 0;
    }
    __device__ static int right_row(int lane, int k, int r) { return IS_FORWARD ? k + lane % 4 + 4 * r : k + 2 * (lane % 4) + r; }
    __device__ static void load_left(left &a, const double *P, int64_t ld, int lane, int first, int end, int k, int k_end)
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = IS_FORWARD ? first + 2 * g : k + 2 * t, column = IS_FORWARD ? k + t + 4 * i : first + g + 8 * i;
            a.v[i].e[0] = a.v[i].e[1] = 0;
            if (IS_FORWARD ? row < end && column < k_end : row < k_end && column < end) a.v[i] = load_pack(P + row + column * ld);
        }
    }
    __device__ static void load_right(right &b, const double *const *rows, int lane)
    {
        const int g = lane / 4;
#pragma unroll
        for (int r = 0; r < 2; r++) {
#pragma unroll
            for (int f = 0; f < FRAGMENTS; f++) b.v[r][f] = 0;
            if (!rows[r]) continue;
            if constexpr (FRAGMENTS == 1) {
                b.v[r][0] = rows[r][g];
            } else {
#pragma unroll
                for (int f = 0; f < FRAGMENTS; f += 2) {
                    const pack<double> p = load_vector(rows[r] + 8 * f + 2 * g);
                    b.v[r][f] = p.e[0];
                    b.v[r][f + 1] = p.e[1];
                }
            }
        }
    }
    __device__ void multiply(const left &a, const right &b)
    {
        const double a0 = a.v[0].e[0], a1 = IS_FORWARD ? a.v[0].e[1] : a.v[1].e[0];
        const double a2 = IS_FORWARD ? a.v[1].e[0] : a.v[0].e[1], a3 = a.v[1].e[1];
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++)
            asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+d"(sum[f][0]), "+d"(sum[f][1]), "+d"(sum[f][2]), "+d"(sum[f][3])
                : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b.v[0][f]), "d"(b.v[1][f]));
    }
    __device__ void store(double *to, int stride, int lane) const
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            double *row = to + (IS_FORWARD ? 2 * g + half : g + 8 * half) * stride;
            if constexpr (FRAGMENTS == 1) {
                store_vector(row + 2 * t, &sum[0][2 * half]);
            } else {
#pragma unroll
                for (int f = 0; f < FRAGMENTS; f += 2) {
                    const double e[4] = {sum[f][2 * half], sum[f + 1][2 * half], sum[f][2 * half + 1], sum[f + 1][2 * half + 1]};
                    store_vector(row + 8 * f + 4 * t, e);
                    store_vector(row + 8 * f + 4 * t + 2, e + 2);
                }
            }
        }
    }
};

#endif
