#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

template bool takes_permuted<double>(const gtsv_call<double, true> &, trine_gtsv_path *);
template trine_status solve_permuted<double>(const gtsv_call<double, true> &);
