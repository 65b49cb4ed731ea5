#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

template bool takes_permuted<float>(const gtsv_call<float, true> &, trine_gtsv_path *);
template trine_status solve_permuted<float>(const gtsv_call<float, true> &);
