/* Infos on the GPU: some lanes of a warp a system, or a chunk of one. */
#define BANDED_INLINE __host__ __device__ static inline
#include "tridiagonal/info/info_rows.cuh"

namespace {

using namespace trine_info;

constexpr int THREADS = 256, BLOCKS = 5; /* of a multiprocessor: memory's speed asks for many loads under way */

/** Apart, so that ordinary rows do not share its registers. */
template <typename T, bool TRIDIAGONAL, bool GIVEN> __device__ __noinline__ word word_of_row(const info_call &c,
                                                                                             int64_t system,
                                                                                             int64_t row)
{
    return GIVEN ? word_of_given<T, TRIDIAGONAL>(c, system, row, blockIdx.y, gridDim.y)
                 : word_of_solutions<T, TRIDIAGONAL>(c, system, row, blockIdx.y, gridDim.y);
}

template <typename T, bool TRIDIAGONAL, bool GIVEN> __global__ void __launch_bounds__(THREADS, BLOCKS)
    look_at(const __grid_constant__ info_call c, const share shared_out)
{
    const lane_rows rows = rows_of_thread(c, shared_out, blockIdx.x * (int64_t)THREADS + threadIdx.x);
    word largest = 0;
    if constexpr (TRIDIAGONAL) {
        const ordinary_rows<T> ordinary(c, rows.system, GIVEN ? c.s.D : c.s.X, GIVEN ? c.s.ldd : c.s.ldx, blockIdx.y,
                                        gridDim.y);
        for (int64_t row = rows.begin; row < rows.end; row += shared_out.lanes) {
            word w;
            if (!(GIVEN ? ordinary.given(row, &w) : ordinary.solutions(row, &w)))
                w = word_of_row<T, TRIDIAGONAL, GIVEN>(c, rows.system, row);
            largest = w > largest ? w : largest;
        }
    } else {
        for (int64_t row = rows.begin; row < rows.end; row += shared_out.lanes) {
            const word w = word_of_row<T, TRIDIAGONAL, GIVEN>(c, rows.system, row);
            largest = w > largest ? w : largest;
        }
    }
    for (int mask = shared_out.lanes / 2; mask; mask /= 2) {
        const word other = shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    if (threadIdx.x % shared_out.lanes == 0 && largest)
        atomicMax(GIVEN ? (word *)&c.info[rows.system].condition : (word *)&c.info[rows.system].row, largest);
}

__global__ void __launch_bounds__(THREADS) judge_systems(trine_gtsv_info *info, int64_t systems, double limit)
{
    const int64_t s = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (s >= systems) return;
    info[s] = judgement(((const word *)&info[s])[0], ((const word *)&info[s])[1], limit);
}

template <typename T, bool GIVEN> trine_status look(const info_call *c)
{
    const share s = share_out(*c);
    const int64_t blocks = (c->systems * s.chunks * s.lanes + THREADS - 1) / THREADS;
    const dim3 grid((unsigned)blocks, (unsigned)s.column_groups);
    if (is_tridiagonal(*c)) look_at<T, true, GIVEN><<<grid, THREADS, 0, (gpuStream_t)c->stream>>>(*c, s);
    else look_at<T, false, GIVEN><<<grid, THREADS, 0, (gpuStream_t)c->stream>>>(*c, s);
    return GPU_LAUNCHED("look_at");
}

using look_fn = trine_status (*)(const info_call *);
trine_status look_at_given(const info_call *c)
{
    static const look_fn run[] = {nullptr, look<float, true>, look<double, true>, look<complex_of<float>, true>,
                                  look<complex_of<double>, true>};
    return run[c->s.t](c);
}
trine_status look_at_solutions(const info_call *c)
{
    static const look_fn run[] = {nullptr, look<float, false>, look<double, false>, look<complex_of<float>, false>,
                                  look<complex_of<double>, false>};
    return run[c->s.t](c);
}

trine_status clear(const info_call *c)
{
    return GPU(gpuMemsetAsync(c->info, 0, (size_t)c->systems * sizeof *c->info, (gpuStream_t)c->stream));
}

trine_status judge(const info_call *c)
{
    judge_systems<<<(unsigned)((c->systems + THREADS - 1) / THREADS), THREADS, 0, (gpuStream_t)c->stream>>>(
        c->info, c->systems, limit_of(trine_dtype_eps(c->s.t)));
    return GPU_LAUNCHED("judge_systems");
}

} // namespace

extern "C" const struct info_backend info_cuda = {clear, look_at_given, look_at_solutions, judge};
