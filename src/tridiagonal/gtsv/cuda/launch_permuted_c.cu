#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

extern template trine_status solve_coarse<complex_of<float>>(const gtsv_call<complex_of<float>> &);
template trine_status solve_permuted<complex_of<float>>(const gtsv_call<complex_of<float>, true> &);
