#include "tridiagonal/batch/short_systems.cuh"

template bool takes_systems<float>(const gtsv_call<float> &);
template trine_status solve_systems<float>(const gtsv_call<float> &, int64_t);
