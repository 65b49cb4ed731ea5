#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

extern template trine_status solve_coarse<complex_of<double>>(const gtsv_call<complex_of<double>> &);
template trine_status solve_permuted<complex_of<double>>(const gtsv_call<complex_of<double>, true> &);
