// Blocks of vectors divided by a diagonal, and to and from the order of blocks of two. A thread a row, which goes over
// the columns.
#include "core/gpu_scalar.cuh"
#include "precond/cuda/cuda.h"

namespace {

constexpr unsigned THREADS = 256;

/** A column-major block. */
template <typename T> struct block_of {
    T *data;
    int64_t ld, cols;
    explicit block_of(const trine_dense *X) : data(static_cast<T *>(X->data)), ld(X->ld), cols(X->cols) {}
};

template <typename T> __global__ void __launch_bounds__(THREADS)
    divide_rows(int64_t n, const T *d, bool conjugate, const block_of<T> b, const block_of<T> x)
{
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
        const T by = conjugate ? conjugate_of(d[i]) : d[i];
        for (int64_t j = 0; j < b.cols; j++) x.data[i + j * x.ld] = b.data[i + j * b.ld] / by;
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS)
    pick_rows(int64_t count, const int32_t *from, const block_of<T> b, const block_of<T> x)
{
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS) {
        const int64_t k = from[i];
        for (int64_t j = 0; j < b.cols; j++) x.data[i + j * x.ld] = k >= 0 ? b.data[k + j * b.ld] : one_of<T>();
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS)
    place_rows(int64_t count, const int32_t *to, const block_of<T> b, const block_of<T> x)
{
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS) {
        const int64_t k = to[i];
        for (int64_t j = 0; k >= 0 && j < b.cols; j++) x.data[k + j * x.ld] = b.data[i + j * b.ld];
    }
}

/** Blocks for a thread each; kernels go a grid further where these are not enough. */
unsigned blocks_for(int64_t count)
{
    constexpr int64_t MOST = 1 << 20;
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < MOST ? blocks : MOST);
}

/** The plan's device is current while it lives. */
class device_scope {
    trine_context ctx;
    int saved;

  public:
    explicit device_scope(trine_precond p) : ctx(p->base.ctx) { trine_device_enter(ctx, &saved); }
    ~device_scope() { trine_device_leave(ctx, saved); }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;
};

template <typename T> trine_status divide(trine_precond p, const void *d, bool conjugate, const trine_dense *B,
                                          const trine_dense *X, void *stream)
{
    if (!X->rows || !X->cols) return TRINE_SUCCESS;
    const device_scope scope(p);
    divide_rows<T><<<blocks_for(X->rows), THREADS, 0, static_cast<gpuStream_t>(stream)>>>(
        X->rows, static_cast<const T *>(d), conjugate, block_of<T>(B), block_of<T>(X));
    return GPU_LAUNCHED("divide_rows");
}

template <typename T> trine_status pick(trine_precond p, const int32_t *from, const trine_dense *B,
                                        const trine_dense *X, void *stream)
{
    if (!X->rows || !X->cols) return TRINE_SUCCESS;
    const device_scope scope(p);
    pick_rows<T><<<blocks_for(X->rows), THREADS, 0, static_cast<gpuStream_t>(stream)>>>(X->rows, from, block_of<T>(B),
                                                                                        block_of<T>(X));
    return GPU_LAUNCHED("pick_rows");
}

template <typename T> trine_status place(trine_precond p, const int32_t *to, const trine_dense *B, const trine_dense *X,
                                         void *stream)
{
    if (!B->rows || !B->cols) return TRINE_SUCCESS;
    const device_scope scope(p);
    place_rows<T><<<blocks_for(B->rows), THREADS, 0, static_cast<gpuStream_t>(stream)>>>(B->rows, to, block_of<T>(B),
                                                                                         block_of<T>(X));
    return GPU_LAUNCHED("place_rows");
}

} // namespace

const struct precond_device precond_cuda = {
    {nullptr, divide<float>, divide<double>, divide<complex_of<float>>, divide<complex_of<double>>},
    {nullptr, pick<float>, pick<double>, pick<complex_of<float>>, pick<complex_of<double>>},
    {nullptr, place<float>, place<double>, place<complex_of<float>>, place<complex_of<double>>}};
