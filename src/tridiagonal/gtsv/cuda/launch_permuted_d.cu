#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

extern template trine_status solve_coarse<double>(const gtsv_call<double> &);
template trine_status solve_permuted<double>(const gtsv_call<double, true> &);
