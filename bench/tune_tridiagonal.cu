/* The tuner of gtsv's kernels for one element type (TUNED_TYPE) and number of right-hand sides on chip
 * (TUNED_COLUMNS), which the compiler is told: times every number of rows a lane may have, and of warps a block, and
 * prints a line of JSON for each. tools/tune-tridiagonal compiles, runs and judges. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tridiagonal/gtsv/cuda/launch.cuh"

namespace {

enum { REPETITIONS = 31, WARM_UP = 5, RIGHT_HAND_SIDES = TUNED_COLUMNS == 1 ? 1 : 32 };

#define STRINGIFY(x) #x
#define NAME_OF(x) STRINGIFY(x)

void check(int error, const char *what)
{
    if (!error) return;
    fprintf(stderr, "tune_tridiagonal: %s failed with error %d: %s\n", what, error, trine_last_error());
    exit(1);
}

struct device {
    device_limits limits = {};
    gpuStream_t stream;
    gpuEvent_t started, stopped;
    device()
    {
        check(gpuGetDevice(&limits.device), "gpuGetDevice");
        check(gpuDeviceGetAttribute(&limits.multiprocessors, gpuDevAttrMultiProcessorCount, limits.device),
              "gpuDeviceGetAttribute");
        check(gpuDeviceGetAttribute(&limits.shared_bytes, gpuDevAttrMaxSharedMemoryPerBlockOptin, limits.device),
              "gpuDeviceGetAttribute");
        check(gpuDeviceGetAttribute(&limits.major, gpuDevAttrComputeCapabilityMajor, limits.device),
              "gpuDeviceGetAttribute");
        check(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking), "gpuStreamCreateWithFlags");
        check(gpuEventCreate(&started), "gpuEventCreate");
        check(gpuEventCreate(&stopped), "gpuEventCreate");
    }
};

/** A diagonally dominant system, so that no row count meets what another does not. */
template <typename T> __global__ void make_system(int64_t n, T *lower, T *diag, T *upper, T *D, int64_t nrhs)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        lower[i] = upper[i] = one_of<T>(), diag[i] = of_real<T>(real_of<T>(4 + i % 7 * .125));
        for (int64_t k = 0; k < nrhs; k++) D[i + k * n] = of_real<T>(real_of<T>(i % 11));
    }
}

template <typename T> struct problem {
    gtsv_call<T> call;
    T *memory = nullptr;
    problem(const device &d, int64_t n)
    {
        constexpr int64_t nrhs = RIGHT_HAND_SIDES;
        /* shorter partitions than the built-in ones leave longer systems */
        const int64_t work = 4 * tiled_elements<T>(n, nrhs, false);
        check(gpuMalloc((void **)&memory, (size_t)(n * (3 + 2 * nrhs) + work) * sizeof(T)), "gpuMalloc");
        T *D = memory + 3 * n, *X = D + nrhs * n;
        make_system<T><<<256, 256, 0, d.stream>>>(n, memory, memory + n, memory + 2 * n, D, nrhs);
        check(gpuGetLastError(), "make_system");
        call = {};
        call.A = {n, 0, 0, false, false, memory, memory + n, memory + 2 * n};
        call.p = pivoting_of(TRINE_PIVOT_SCALED_PARTIAL, n, false);
        call.nrhs = nrhs, call.D = {{D, n}, {}}, call.X = {X, n};
        call.route = ROUTE_TILES, call.work = X + nrhs * n, call.stream = d.stream, call.limits = d.limits;
    }
    ~problem() { gpuFree(memory); }
};

template <typename T, typename Solve> void measure(const device &d, const problem<T> &p, const char *kernel, int rows,
                                                   int warps, const Solve &solve)
{
    std::vector<float> ms;
    for (int i = 0; i < WARM_UP + REPETITIONS; i++) {
        float elapsed;
        check(gpuEventRecord(d.started, d.stream), "gpuEventRecord");
        check(solve(), kernel);
        check(gpuEventRecord(d.stopped, d.stream), "gpuEventRecord");
        check(gpuEventSynchronize(d.stopped), kernel);
        check(gpuEventElapsedTime(&elapsed, d.started, d.stopped), "gpuEventElapsedTime");
        if (i >= WARM_UP) ms.push_back(elapsed);
    }
    std::sort(ms.begin(), ms.end());
    printf(
        "{\"suite\": \"tridiag-tune\", \"type\": \"%s\", \"kernel\": \"%s\", \"columns\": %d, \"rows\": %d, \"warps\": %d, \"n\": %lld, \"nrhs\": %lld, \"ms\": %.5f, \"reps\": %d}\n",
        NAME_OF(TUNED_TYPE), kernel, TUNED_COLUMNS, rows, warps, (long long)p.call.A.n, (long long)RIGHT_HAND_SIDES,
        ms[REPETITIONS / 2], REPETITIONS);
}

template <typename T, int M> constexpr bool can_be_tile()
{
    return M * sizeof(T) % 32 == 0 && WARP * 16 % (M * sizeof(T)) == 0;
}

template <typename T, int M> void tune_short(const device &d)
{
    if constexpr (can_be_tile<T, M>() && M * (3 + TUNED_COLUMNS) * sizeof(T) <= 448) /* registers of a lane */
        for (int64_t n = 1 << 10; n <= 1 << 14; n *= 4) {
            const problem<T> p(d, n);
            for (int warps = 1; warps <= most_short_warps<T, TUNED_COLUMNS, M>(d.limits); warps *= 2)
                if (is_short<T, TUNED_COLUMNS, M>(p.call))
                    measure(d, p, "short", M, warps, [&] { return launch_short<T, TUNED_COLUMNS, M>(p.call, warps); });
        }
}
template <typename T, int M> void tune_long(const device &d)
{
    if constexpr (can_be_tile<T, M>() && (3 + TUNED_COLUMNS) * WARP * (M * sizeof(T) + 16) <= 48 * 1024)
        for (int64_t n = 1 << 20; n <= (TUNED_COLUMNS == 1 ? 1 << 24 : 1 << 20); n *= 4) {
            const problem<T> p(d, n);
            measure(d, p, "long", M, 1, [&] { return solve_in_passes<T, TUNED_COLUMNS, M, false>(p.call); });
        }
}

} // namespace

template int64_t tiled_elements<TUNED_TYPE>(int64_t, int64_t, bool);

int main()
{
    const device d;
    tune_short<TUNED_TYPE, 4>(d), tune_short<TUNED_TYPE, 8>(d), tune_short<TUNED_TYPE, 16>(d);
    tune_long<TUNED_TYPE, 8>(d), tune_long<TUNED_TYPE, 16>(d), tune_long<TUNED_TYPE, 32>(d),
        tune_long<TUNED_TYPE, 64>(d);
}
