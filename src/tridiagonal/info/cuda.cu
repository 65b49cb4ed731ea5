/* Infos on the GPU: some lanes of a warp a system, or a piece of one. */
#define BANDED_INLINE __host__ __device__ static inline
#include "tridiagonal/info/rows.cuh"

namespace {

using namespace trine_info;

constexpr int THREADS = 256, WARP_LANES = 32, MOST_ROWS_OF_LANE = 64, COLUMNS_OF_THREAD = 16;
constexpr int64_t MANY_LANES = 1 << 17; /* as many as a device runs at once: beyond, a lane takes several rows */

/** How rows are shared out: `lanes` of a warp, a power of two, take rows lane, lane + lanes, ... of a piece; a piece has lanes * rows_of_lane rows. Lane by
 *  lane, neighbouring threads have neighbouring rows; with one lane a piece they have neighbouring systems. */
struct share { int lanes, rows_of_lane; int64_t pieces; /* of a system */ };

template <typename T, bool GIVEN> __global__ void __launch_bounds__(THREADS) look_at(const __grid_constant__ info_call c, const share shared_out)
{
    const int64_t n = c.s.rows * c.s.m, thread = blockIdx.x * (int64_t)THREADS + threadIdx.x, group = thread / shared_out.lanes;
    const int lane = (int)(thread % shared_out.lanes);
    const int64_t system = shared_out.lanes == 1 ? group % c.systems : group / shared_out.pieces, piece = shared_out.lanes == 1 ? group / c.systems : group % shared_out.pieces;
    const int64_t begin = piece * shared_out.lanes * shared_out.rows_of_lane, whole = begin + shared_out.lanes * shared_out.rows_of_lane, end = whole < n ? whole : n;
    const bool any = system < c.systems && piece < shared_out.pieces;
    word largest = 0;
    for (int64_t row = begin + lane; any && row < end; row += shared_out.lanes) {
        const word w = GIVEN ? word_of_given<T>(c, system, row, blockIdx.y, gridDim.y) : word_of_solutions<T>(c, system, row, blockIdx.y, gridDim.y);
        largest = w > largest ? w : largest;
    }
    for (int mask = shared_out.lanes / 2; mask; mask /= 2) {
        const word other = shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    if (any && lane == 0 && largest) atomicMax(GIVEN ? (word *)&c.info[system].condition : (word *)&c.info[system].row, largest);
}

__global__ void __launch_bounds__(THREADS) judge_systems(trine_gtsv_info *info, int64_t systems, double limit)
{
    const int64_t s = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (s >= systems) return;
    info[s] = judgement(((const word *)&info[s])[0], ((const word *)&info[s])[1], limit);
}

share share_out(const info_call *c)
{
    const int64_t n = c->s.rows * c->s.m, rows = n * c->systems;
    const bool by_systems = c->systems > 1 && c->vector.system < c->vector.row;
    const int64_t wanted = (rows + MANY_LANES - 1) / MANY_LANES;
    share s = {1, (int)(wanted < MOST_ROWS_OF_LANE ? wanted : MOST_ROWS_OF_LANE), 1};
    while (!by_systems && s.lanes < WARP_LANES && s.lanes < n) s.lanes *= 2;
    s.pieces = (n + s.lanes * s.rows_of_lane - 1) / (s.lanes * s.rows_of_lane);
    return s;
}

template <typename T, bool GIVEN> trine_status look(const info_call *c)
{
    const share s = share_out(c);
    const int64_t blocks = (c->systems * s.pieces * s.lanes + THREADS - 1) / THREADS, columns = (c->s.nrhs + COLUMNS_OF_THREAD - 1) / COLUMNS_OF_THREAD;
    look_at<T, GIVEN><<<dim3((unsigned)blocks, (unsigned)(columns < 65535 ? columns : 65535)), THREADS, 0, (gpuStream_t)c->stream>>>(*c, s);
    return GPU_LAUNCHED("look_at");
}

using look_fn = trine_status (*)(const info_call *);
trine_status look_at_given(const info_call *c)
{
    static const look_fn run[] = {nullptr, look<float, true>, look<double, true>, look<complex_of<float>, true>, look<complex_of<double>, true>};
    return run[c->s.t](c);
}
trine_status look_at_solutions(const info_call *c)
{
    static const look_fn run[] = {nullptr, look<float, false>, look<double, false>, look<complex_of<float>, false>, look<complex_of<double>, false>};
    return run[c->s.t](c);
}

trine_status clear(const info_call *c) { return GPU(gpuMemsetAsync(c->info, 0, (size_t)c->systems * sizeof *c->info, (gpuStream_t)c->stream)); }

trine_status judge(const info_call *c)
{
    judge_systems<<<(unsigned)((c->systems + THREADS - 1) / THREADS), THREADS, 0, (gpuStream_t)c->stream>>>(c->info, c->systems, 1 / trine_dtype_eps(c->s.t));
    return GPU_LAUNCHED("judge_systems");
}

} // namespace

extern "C" const struct info_backend info_cuda = {clear, look_at_given, look_at_solutions, judge};
