/* Backward errors on the GPU: a thread a row, residuals in two words. */
#define BANDED_INLINE __device__ static inline
#include "core/gpu_two_words.cuh"
#include "tridiagonal/error/error.h"

namespace {

constexpr int THREADS = 256, WARP_LANES = 32;

template <typename T> __device__ double magnitude(T a)
{
    if constexpr (scalar<T>::is_complex) return hypot((double)a.x, (double)a.y);
    else return fabs((double)a);
}

/** Errors >= 0, NaN the largest of all, order like their bits. */
template <typename T> __global__ void __launch_bounds__(THREADS) find_largest(const banded_system c, double *errors)
{
    const int64_t n = c.rows * c.m;
    for (int64_t column = blockIdx.y; column < c.nrhs; column += gridDim.y) {
        const T *x = (const T *)c.X + column * c.ldx, *d = (const T *)c.D + column * c.ldd;
        unsigned long long worst = 0;
        for (int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x; row < n; row += gridDim.x * (int64_t)THREADS) {
            const int64_t j = row / c.m;
            const int i = (int)(row % c.m);
            row_sum<T> sum;
            sum.add(d[row]);
            double size = magnitude(d[row]);
            for (int k = banded_first(&c); k <= banded_last(&c); k++) {
                const banded_block b = banded_block_at(&c, j, k);
                const T *band = (const T *)c.band[b.band];
                for (int q = 0; q < c.m && b.column >= 0; q++) {
                    const T entry = band[banded_entry(&c, b.position, i, q)],
                            a = c.conjugate ? conjugate_of(entry) : entry, value = x[b.column * c.m + q];
                    sum.subtract_product(a, value);
                    size += magnitude(a) * magnitude(value);
                }
            }
            const double residual = magnitude(sum.rounded());
            const unsigned long long error =
                residual == 0 ? 0 : (unsigned long long)__double_as_longlong(fabs(residual / size));
            worst = error > worst ? error : worst;
        }
        for (int mask = WARP_LANES / 2; mask; mask /= 2) {
            const unsigned long long other = shuffle_xor(worst, mask);
            worst = other > worst ? other : worst;
        }
        if (threadIdx.x % WARP_LANES == 0 && worst) atomicMax((unsigned long long *)errors + column, worst);
    }
}

template <typename T> trine_status backward_errors_of(gpuStream_t stream, const error_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const banded_system *c = &call->s;
    const int64_t blocks = (c->rows * c->m + THREADS - 1) / THREADS;
    TRY(GPU(gpuMemsetAsync(call->errors, 0, (size_t)c->nrhs * sizeof(double), stream)));
    if (!blocks) return TRINE_SUCCESS;
    find_largest<T><<<dim3((unsigned)(blocks < 1024 ? blocks : 1024), (unsigned)(c->nrhs < 65535 ? c->nrhs : 65535)),
                      THREADS, 0, stream>>>(*c, call->errors);
    TRY(GPU_LAUNCHED("find_largest"));
done:
    return status;
}

trine_status backward_errors(const solve_place *at, const error_call *c)
{
    static trine_status (*const run[])(gpuStream_t, const error_call *) = {
        nullptr, backward_errors_of<float>, backward_errors_of<double>, backward_errors_of<complex_of<float>>,
        backward_errors_of<complex_of<double>>};
    return run[c->s.t]((gpuStream_t)at->stream, c);
}

} // namespace

extern "C" const struct error_backend error_cuda = {backward_errors};
