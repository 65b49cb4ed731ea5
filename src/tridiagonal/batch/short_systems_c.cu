#include "tridiagonal/batch/short_systems.cuh"

template bool takes_systems<complex_of<float>>(const gtsv_call<complex_of<float>> &);
template trine_status solve_systems<complex_of<float>>(const gtsv_call<complex_of<float>> &, int64_t);
