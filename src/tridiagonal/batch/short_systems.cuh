/* Template of the launches of batch/short_systems.h: included by one small source file per precision, which keeps
 * compile times apart. */
#include "tridiagonal/batch/short_systems.h"
#include "tridiagonal/gtsv/cuda/launch.cuh"

namespace {

constexpr int64_t MOST_SYSTEMS = 65535; /* of a grid */

template <typename T, int M, bool RING> bool fits_in(const gtsv_call<T> &call)
{
    const int64_t most = most_short_warps<T, 1, M>(call.limits) *
                         most_short_blocks<solve_short_systems<T, M, RING>, T, 1, M>(call.limits);
    return quotient(call.A.n, WARP * M) <= most;
}

/** As few blocks as will do: what blocks send each other takes longer than what warps do. */
template <typename T, int M, bool RING> trine_status launch_systems(const gtsv_call<T> &call, int64_t next)
{
    const int64_t tiles = quotient(call.A.n, WARP * M);
    const int most_warps = most_short_warps<T, 1, M>(call.limits);
    trine_status status = TRINE_SUCCESS;
    int blocks = 1, each = 1;
    while (blocks * most_warps < tiles) blocks *= 2;
    while (each * blocks < tiles) each *= 2;
    for (int64_t first = 0; first < call.nrhs; first += MOST_SYSTEMS) {
        gtsv_call<T> part = call;
        part.nrhs = std::min(call.nrhs - first, MOST_SYSTEMS);
        part.A.lower += first * next, part.A.diag += first * next, part.A.upper += first * next;
        part.D.data += first * call.D.ld, part.X.data += first * call.X.ld;
        TRY((launch_short_cluster<solve_short_systems<T, M, RING>, T, 1, M>(part, blocks, each, next)));
    }
done:
    return status;
}

/** Rows of a lane where a warp has no more than these. */
constexpr int FEW = 4;

} // namespace

template <typename T> bool takes_systems(const gtsv_call<T> &call)
{
    return call.A.cyclic ? fits_in<T, SHORT<T, 1>, true>(call) : fits_in<T, SHORT<T, 1>, false>(call);
}

template <typename T> trine_status solve_systems(const gtsv_call<T> &call, int64_t next)
{
    const bool few = call.A.n <= WARP * FEW;
    if (call.A.cyclic)
        return few ? launch_systems<T, FEW, true>(call, next) : launch_systems<T, SHORT<T, 1>, true>(call, next);
    return few ? launch_systems<T, FEW, false>(call, next) : launch_systems<T, SHORT<T, 1>, false>(call, next);
}
