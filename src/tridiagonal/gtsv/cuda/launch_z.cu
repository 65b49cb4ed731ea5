#include "tridiagonal/gtsv/cuda/launch.cuh"

template int64_t tiled_elements<complex_of<double>>(int64_t, int64_t, bool);
template gtsv_tile tiled_tile<complex_of<double>>(int64_t);
template bool takes_guess<complex_of<double>>(const gtsv_call<complex_of<double>> &);
template trine_status solve_tiled<complex_of<double>>(const gtsv_call<complex_of<double>> &);
