#include "tridiagonal/gtsv/cuda/launch.cuh"

template int64_t tiled_elements<float>(int64_t, int64_t, bool);
template gtsv_tile tiled_tile<float>(int64_t);
template bool takes_guess<float>(const gtsv_call<float> &);
template trine_status solve_tiled<float>(const gtsv_call<float> &);
