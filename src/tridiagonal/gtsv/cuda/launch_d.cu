#include "tridiagonal/gtsv/cuda/launch.cuh"

template int64_t tiled_elements<double>(int64_t, int64_t, bool);
template gtsv_tile tiled_tile<double>(int64_t);
template bool takes_guess<double>(const gtsv_call<double> &);
template trine_status solve_tiled<double>(const gtsv_call<double> &);
