#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

extern template trine_status solve_coarse<float>(const gtsv_call<float> &);
template trine_status solve_permuted<float>(const gtsv_call<float, true> &);
