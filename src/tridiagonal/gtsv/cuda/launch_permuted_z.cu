#include "tridiagonal/gtsv/cuda/launch_permuted.cuh"

template bool takes_permuted<complex_of<double>>(const gtsv_call<complex_of<double>, true> &, trine_gtsv_path *);
template trine_status solve_permuted<complex_of<double>>(const gtsv_call<complex_of<double>, true> &);
