/* Template of the launches with permuted rows: included by one small source file per precision. */
#include "tridiagonal/gtsv/cuda/permuted_rows.cuh"
#include "tridiagonal/gtsv/cuda/launch.cuh"

namespace {

/** One pass is tried from this many times the resident tiles on: the time of gathers is lost in neither way, and what
 *  one pass gains is more of a part of it. */
constexpr int64_t MANY_BETWEEN_GATHERS = 1;

template <typename T, int NR> bool takes_permuted_columns(const gtsv_call<T, true> &call, trine_gtsv_path *path)
{
    *path = prefers_one_pass<T, NR>(call, MANY_BETWEEN_GATHERS) ? TRINE_GTSV_ONE_PASS : TRINE_GTSV_AUTO;
    return takes_short<T, NR>(call) || prefers_chip<T, NR>(call);
}

template <typename T, int NR> trine_status solve_permuted_columns(const gtsv_call<T, true> &call)
{
    if (takes_short<T, NR>(call)) return launch_short<T, NR, SHORT<T, NR>>(call, tuned<T>::SHORT_WARPS);
    if constexpr (NR == 1) return solve_on_chip<T, NR, SMALLEST_TILE<T, NR>>(call);
    else return trine_fail(TRINE_ERR_UNSUPPORTED, "right-hand sides with permuted rows that do not stay on the chip");
}

} // namespace

template <typename T> bool takes_permuted(const gtsv_call<T, true> &call, trine_gtsv_path *path)
{
    const gtsv_call<T, true> it = on_its_part(call);
    return call.nrhs == 1 ? takes_permuted_columns<T, 1>(it, path)
                          : takes_permuted_columns<T, tuned<T>::COLUMNS>(it, path);
}

template <typename T> trine_status solve_permuted(const gtsv_call<T, true> &call)
{
    const gtsv_call<T, true> it = on_its_part(call);
    return call.nrhs == 1 ? solve_permuted_columns<T, 1>(it) : solve_permuted_columns<T, tuned<T>::COLUMNS>(it);
}
