/* What one warp does with a part of a panel and a block of right-hand sides: a ROWS x WIDTH product kept in registers.
 *
 * The warp multiplies a ROWS x k matrix A with k rows of the interleaved right-hand sides, STEP of the k at a time,
 * where A is rows of the panel (forward) or columns of it (backward). A step's part of both passes through a stage
 * in the warp's own shared memory, filled by asynchronous copies some steps ahead. Lane (g, t) = (lane / 4, lane %
 * 4). */
#ifndef TRINE_SUPERNODAL_CUDA_PANEL_PRODUCT_CUH
#define TRINE_SUPERNODAL_CUDA_PANEL_PRODUCT_CUH

#include "core/gpu_copy.cuh"
#include "supernodal/cuda/device.cuh"

template <typename T> __device__ inline pack<T> load_vector(const T *p)
{
    union {
        uint4 raw;
        pack<T> values;
    } u;
    u.raw = *reinterpret_cast<const uint4 *>(p);
    return u.values;
}
template <typename T> __device__ inline void store_vector(T *p, pack<T> a)
{
    union {
        pack<T> values;
        uint4 raw;
    } u;
    u.values = a;
    *reinterpret_cast<uint4 *>(p) = u.raw;
}

/** Sizes, and the way of a step's data into a stage. Strides are padded against bank conflicts of the reads in
 *  multiply. */
template <typename T, int WIDTH, bool IS_FORWARD> struct panel_stage {
    static constexpr int PACK = 16 / sizeof(T), ROWS = 8 * PACK, STEP = 4 * PACK;
    static constexpr int LEFT_STRIDE = IS_FORWARD ? ROWS + 2 * PACK : STEP + PACK;
    static constexpr int RIGHT_STRIDE = WIDTH + (IS_FORWARD ? 2 : 1) * PACK;
    /* elements */
    static constexpr int LEFT = (IS_FORWARD ? STEP : ROWS) * LEFT_STRIDE, SIZE = LEFT + STEP * RIGHT_STRIDE;

    /** Rows or columns first..end-1 of the panel P at k..k+STEP-1; zeros from k_end on. */
    __device__ static void fetch_left(T *stage, const T *P, int64_t ld, int lane, int first, int end, int k, int k_end)
    {
        /* of 16 bytes a line */
        constexpr int LINES = IS_FORWARD ? STEP : ROWS, CHUNKS = (IS_FORWARD ? ROWS : STEP) / PACK;
#pragma unroll
        for (int i = 0; i < LINES * CHUNKS / 32; i++) {
            const int line = (lane + 32 * i) / CHUNKS, at = (lane + 32 * i) % CHUNKS * PACK;
            const int row = IS_FORWARD ? first + at : k + at, column = IS_FORWARD ? k + line : first + line;
            const bool valid = IS_FORWARD ? row < end && column < k_end : row < k_end && column < end;
            copy_async_or_zero(stage + line * LEFT_STRIDE + at, valid ? P + row + column * ld : P, valid);
        }
    }
    /** Rows of right-hand sides; row_of(i) points to the i-th of the step, NULL past the end. */
    template <typename F> __device__ static void fetch_right(T *stage, const T *somewhere, int lane, const F &row_of)
    {
        constexpr int CHUNKS = WIDTH / PACK;
#pragma unroll
        for (int i = 0; i < (STEP * CHUNKS + 31) / 32; i++) {
            const int line = (lane + 32 * i) / CHUNKS, at = (lane + 32 * i) % CHUNKS * PACK;
            const T *row = row_of(line < STEP ? line : 0);
            if (line < STEP)
                copy_async_or_zero(stage + LEFT + line * RIGHT_STRIDE + at, row ? row + at : somewhere, row != nullptr);
        }
    }
};

/** Any scalar, with fused multiply-adds. Lane (g, t) makes rows PACK g .. (forward) or g, g + 8, .. (backward) of
 *  the result, and the t-th quarter of its columns. */
template <typename T, int WIDTH, bool IS_FORWARD> struct panel_product : panel_stage<T, WIDTH, IS_FORWARD> {
    using stage_type = panel_stage<T, WIDTH, IS_FORWARD>;
    static constexpr int PACK = stage_type::PACK, STEP = stage_type::STEP, QUARTER = WIDTH / 4;
    T sum[PACK][QUARTER];

    __device__ void clear()
    {
#pragma unroll
        for (int q = 0; q < PACK; q++)
#pragma unroll
            for (int j = 0; j < QUARTER; j++) sum[q][j] = zero_of<T>();
    }
    __device__ static void right_row(T b[QUARTER], const T *row)
    {
        if constexpr (QUARTER < PACK) {
#pragma unroll
            for (int j = 0; j < QUARTER; j++) b[j] = row[j];
        } else {
#pragma unroll
            for (int j = 0; j < QUARTER; j += PACK) {
                const pack<T> p = load_vector(row + j);
#pragma unroll
                for (int q = 0; q < PACK; q++) b[j + q] = p.e[q];
            }
        }
    }
    __device__ void multiply(const T *stage, int lane)
    {
        const int g = lane / 4, t = lane % 4;
        const T *right = stage + stage_type::LEFT + t * QUARTER;
        if constexpr (IS_FORWARD) {
#pragma unroll 4
            for (int k = 0; k < STEP; k++) {
                const pack<T> a = load_vector(stage + k * stage_type::LEFT_STRIDE + PACK * g);
                T b[QUARTER];
                right_row(b, right + k * stage_type::RIGHT_STRIDE);
#pragma unroll
                for (int q = 0; q < PACK; q++)
#pragma unroll
                    for (int j = 0; j < QUARTER; j++) multiply_add(sum[q][j], a.e[q], b[j]);
            }
        } else {
#pragma unroll 1
            for (int k = 0; k < STEP; k += PACK) {
                pack<T> a[PACK];
#pragma unroll
                for (int q = 0; q < PACK; q++) a[q] = load_vector(stage + (g + 8 * q) * stage_type::LEFT_STRIDE + k);
#pragma unroll
                for (int s = 0; s < PACK; s++) {
                    T b[QUARTER];
                    right_row(b, right + (k + s) * stage_type::RIGHT_STRIDE);
#pragma unroll
                    for (int q = 0; q < PACK; q++)
#pragma unroll
                        for (int j = 0; j < QUARTER; j++) multiply_add(sum[q][j], a[q].e[s], b[j]);
                }
            }
        }
    }
    /** To shared memory, rows `stride` apart. */
    __device__ void store(T *to, int stride, int lane) const
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int q = 0; q < PACK; q++)
#pragma unroll
            for (int j = 0; j < QUARTER; j++)
                to[(IS_FORWARD ? PACK * g + q : g + 8 * q) * stride + t * QUARTER + j] = sum[q][j];
    }
};

/** c += a b on the tensor cores: 16 x 8 and 8 x 8 to 16 x 8. a[i + 2 j] is row g + 8 i, column t + 4 j; b[j] is row
 *  t + 4 j, column g; c[2 i + j] is row g + 8 i, column 2 t + j. Devices before 9.0 have products of 8 x 4 and 4 x
 *  8, whose fragments are parts of these. */
__device__ inline void multiply_add_16x8x8(double (&c)[4], const double (&a)[4], double b0, double b1)
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * (i % 2)]), "+d"(c[2 * (i % 2) + 1])
            : "d"(a[i]), "d"(i < 2 ? b0 : b1));
#endif
}

/** Double precision on the tensor cores: 16 x 8 x 8 products. The rows and columns that a fragment's indices stand
 *  for are chosen so that most reads are of 16 bytes: forward, index g of A is row 2g and g + 8 row 2g + 1 of the
 *  panel; backward, index t of the reduction is row 2t and t + 4 row 2t + 1. Index g of a pair of fragments of B is
 *  right-hand sides 2g and 2g + 1. */
template <int WIDTH, bool IS_FORWARD> struct panel_product<double, WIDTH, IS_FORWARD>
    : panel_stage<double, WIDTH, IS_FORWARD> {
    using stage_type = panel_stage<double, WIDTH, IS_FORWARD>;
    static constexpr int FRAGMENTS = WIDTH / 8;
    static_assert(WIDTH == 8 || WIDTH % 16 == 0, "one fragment or pairs of them");
    double sum[FRAGMENTS][4];

    __device__ void clear()
    {
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++)
#pragma unroll
            for (int i = 0; i < 4; i++) sum[f][i] = 0;
    }
    __device__ void multiply(const double *stage, int lane)
    {
        const int g = lane / 4, t = lane % 4;
        const double *left =
            stage + (IS_FORWARD ? t * stage_type::LEFT_STRIDE + 2 * g : g * stage_type::LEFT_STRIDE + 2 * t);
        const pack<double> u = load_vector(left),
                           v = load_vector(left + (IS_FORWARD ? 4 : 8) * stage_type::LEFT_STRIDE);
        const double a[4] = {u.e[0], IS_FORWARD ? u.e[1] : v.e[0], IS_FORWARD ? v.e[0] : u.e[1], v.e[1]};
        const double *right = stage + stage_type::LEFT + (IS_FORWARD ? t : 2 * t) * stage_type::RIGHT_STRIDE;
        double b[2][FRAGMENTS];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const double *row = right + (IS_FORWARD ? 4 : 1) * r * stage_type::RIGHT_STRIDE;
            if constexpr (FRAGMENTS == 1) {
                b[r][0] = row[g];
            } else {
#pragma unroll
                for (int f = 0; f < FRAGMENTS; f += 2) {
                    const pack<double> p = load_vector(row + 8 * f + 2 * g);
                    b[r][f] = p.e[0];
                    b[r][f + 1] = p.e[1];
                }
            }
        }
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++) multiply_add_16x8x8(sum[f], a, b[0][f], b[1][f]);
    }
    __device__ void store(double *to, int stride, int lane) const
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            double *row = to + (IS_FORWARD ? 2 * g + half : g + 8 * half) * stride;
            if constexpr (FRAGMENTS == 1) {
                store_vector(row + 2 * t, pack<double>{sum[0][2 * half], sum[0][2 * half + 1]});
            } else {
#pragma unroll
                for (int f = 0; f < FRAGMENTS; f += 2) {
                    store_vector(row + 8 * f + 4 * t, pack<double>{sum[f][2 * half], sum[f + 1][2 * half]});
                    store_vector(row + 8 * f + 4 * t + 2, pack<double>{sum[f][2 * half + 1], sum[f + 1][2 * half + 1]});
                }
            }
        }
    }
};

#endif
