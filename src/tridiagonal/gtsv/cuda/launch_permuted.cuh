/* Template of the launches with permuted rows: included by one small source file per precision. The system of tiles'
 * rows behind two passes and one is solved by the launches of launch.cuh, which are compiled elsewhere. */
#include "tridiagonal/gtsv/cuda/permuted_rows.cuh"
#include "tridiagonal/gtsv/cuda/launch.cuh"

namespace {

/** Two passes gather twice. */
template <> constexpr int64_t MANY_TILES<true> = 1;

} // namespace

template <typename T> trine_status solve_permuted(const gtsv_call<T, true> &call)
{
    const gtsv_call<T, true> it = on_its_part(call);
    return call.nrhs == 1 ? solve_columns<T, 1>(it) : solve_columns<T, tuned<T>::COLUMNS>(it);
}
