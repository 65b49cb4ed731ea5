#include "tridiagonal/batch/short_systems.cuh"

template bool takes_systems<complex_of<double>>(const gtsv_call<complex_of<double>> &);
template trine_status solve_systems<complex_of<double>>(const gtsv_call<complex_of<double>> &, int64_t);
