/* gtsv on the GPU stage by stage (gtsv/cuda/thesis/staged.cuh): what the launching code and the rest of the module
 * know of each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_H

#include "tridiagonal/gtsv/cuda/call.cuh"

/** D has no guess. */
template <typename T> trine_status solve_stages(const gtsv_call<T> &call);
/** Rows that the last, fused stage solves in one block on the current device; on the smallest supported one. */
int64_t fused_rows_of(trine_dtype t);
int64_t least_fused_rows_of(trine_dtype t);

#endif
