/* gtsv on the GPU stage by stage (gtsv/cuda/thesis/staged.cuh): what the launching code and the rest of the module know of each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_THESIS_STAGED_H

#include "tridiagonal/common/hierarchy.h"
#include "tridiagonal/common/system.cuh"

template <typename T> struct stages_call {
    const rpts_options *options;
    const rpts_plan *plan;
    system_of<T> A;
    columns_of<const T> D;
    columns_of<T> X;
    T *work; /* plan->elements of them */
    gpuStream_t stream;
};

template <typename T> trine_status solve_stages(const stages_call<T> &call);
/** Rows that the last, fused stage solves in one block on the current device; on the smallest supported one. */
int64_t fused_rows_of(trine_dtype t);
int64_t least_fused_rows_of(trine_dtype t);

#endif
