// Blocks of vectors divided by a diagonal, and to and from the order of blocks of two. A thread a row, which goes over
// the columns.
#include "precond/cuda/launch.cuh"

namespace {

/** A column-major block. */
template <typename T> struct block_of {
    T *data;
    int64_t ld, cols;
    explicit block_of(const trine_dense *X) : data(static_cast<T *>(X->data)), ld(X->ld), cols(X->cols) {}
    __device__ T &operator()(int64_t i, int64_t j) const { return data[i + j * ld]; }
};

template <typename T> struct divide_row {
    const T *d;
    bool conjugate;
    block_of<T> b, x;
    __device__ void operator()(int64_t i) const
    {
        const T by = conjugate ? conjugate_of(d[i]) : d[i];
        for (int64_t j = 0; j < b.cols; j++) x(i, j) = b(i, j) / by;
    }
};

template <typename T> struct pick_row {
    const int32_t *from;
    block_of<T> b, x;
    __device__ void operator()(int64_t i) const
    {
        const int64_t k = from[i];
        for (int64_t j = 0; j < b.cols; j++) x(i, j) = k >= 0 ? b(k, j) : one_of<T>();
    }
};

template <typename T> struct place_row {
    const int32_t *to;
    block_of<T> b, x;
    __device__ void operator()(int64_t i) const
    {
        const int64_t k = to[i];
        for (int64_t j = 0; k >= 0 && j < b.cols; j++) x(k, j) = b(i, j);
    }
};

template <typename T> trine_status divide(trine_precond p, const void *d, bool conjugate, const trine_dense *B,
                                          const trine_dense *X, void *stream)
{
    return launch_each(p, X->rows, stream,
                       divide_row<T>{static_cast<const T *>(d), conjugate, block_of<T>(B), block_of<T>(X)});
}

template <typename T> trine_status pick(trine_precond p, const int32_t *from, const trine_dense *B,
                                        const trine_dense *X, void *stream)
{
    return launch_each(p, X->rows, stream, pick_row<T>{from, block_of<T>(B), block_of<T>(X)});
}

template <typename T> trine_status place(trine_precond p, const int32_t *to, const trine_dense *B, const trine_dense *X,
                                         void *stream)
{
    return launch_each(p, B->rows, stream, place_row<T>{to, block_of<T>(B), block_of<T>(X)});
}

} // namespace

const struct precond_device precond_cuda = {PRECOND_TABLE(divide), PRECOND_TABLE(pick), PRECOND_TABLE(place)};
