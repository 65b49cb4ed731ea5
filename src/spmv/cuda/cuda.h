/* What the parts of the GPU's backend share. */
#ifndef TRINE_SPMV_CUDA_CUDA_H
#define TRINE_SPMV_CUDA_CUDA_H

#include "core/gpu.h"
#include "spmv/spmv.h"

#include "spmv/cuda/segmented.cuh"

/** A launch of reduce_rows, as a plan wants it. */
struct spmv_launch {
    size_t partial_bytes;            /* in: of what a balanced scheme keeps of a row, 2 of which are for each block */
    struct spmv_work *work;          /* in: whose memory holds them */
    struct segmented_arguments a;
    int block, tile, reduction, scheme; /* of the template, and a trine_spmv_method; block and tile may be smaller */
    unsigned blocks;                 /* of the grid */
    unsigned joining_blocks;         /* of join_shared_rows, the second launch of balanced-postprocess; else 0 */
};

#ifdef __cplusplus
extern "C" {
#endif
/** Fill in a launch for the rows row_begin <= i < row_end of a side. */
trine_status spmv_cuda_prepare(trine_spmv plan, const struct spmv_side *side, int64_t row_begin, int64_t row_end,
                               struct spmv_launch *launch);
/** The backend's apply_semiring (semiring.cu). */
trine_status spmv_cuda_apply_semiring(trine_spmv plan, const struct spmv_semiring_call *c);
#ifdef __cplusplus
}
#endif
#endif
