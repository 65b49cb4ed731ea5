#include "tridiagonal/batch/short_systems.cuh"

template bool takes_systems<double>(const gtsv_call<double> &);
template trine_status solve_systems<double>(const gtsv_call<double> &, int64_t);
