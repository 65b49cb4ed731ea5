#include "tridiagonal/batch/short_systems.cuh"

template bool takes_systems<float>(const tiled_call<float> &);
template trine_status solve_systems<float>(const tiled_call<float> &, int64_t);
