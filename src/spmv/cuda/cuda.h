/* What the parts of the GPU's backend share. */
#ifndef TRINE_SPMV_CUDA_CUDA_H
#define TRINE_SPMV_CUDA_CUDA_H

#include "core/gpu.h"
#include "spmv/spmv.h"

#include "spmv/cuda/segmented.cuh"

/** How blocks of ring.cuh go on: with small tiles and a thread a row, with the tiles of rows.cuh and several. */
enum { RING_SHORT = 1, RING_LONG = 2 };

/** What a plan keeps of a side. */
struct cuda_part {
    int scheme, block, tile, reduction; /* of launches: a trine_spmv_method, a trine_spmv_reduction */
    int row_weight;
    int by_rows, lanes_shift; /* the kernel of rows.cuh is taken, with 2^lanes_shift threads a row */
    int mostly_empty; /* so are rows, by_rows */
    int by_ring; /* by_rows, for ring.cuh: RING_SHORT or RING_LONG; 0: not */
    int by_groups; /* by_rows, for alike.cuh */
    int by_warps; /* the kernel of warps.cuh is taken, and blocks are warps */
    int64_t entries_per_block, blocks;
    struct block_start *starts; /* on the device, blocks + 1; NULL: blocks search */
    int64_t *sampled_rows; /* first row of every sample_step-th block; NULL: not known */
    int64_t samples, sample_step;
    struct trine_kernels *kernels; /* of a tuned plan; NULL: the library's own */
    void *reduce; /* reduce_rows in it */
};

/** A launch of reduce_rows, as a plan wants it. */
struct spmv_launch {
    size_t partial_bytes; /* in: of what a balanced scheme keeps of a row, 2 of which are for each block */
    struct spmv_work *work; /* in: whose memory holds them */
    struct segmented_arguments a;
    int block, tile, reduction, scheme; /* of the template, and a trine_spmv_method; block and tile may be smaller */
    void *reduce; /* the plain product's own kernel (core/gpu_kernels.h); NULL: the library's */
    int by_rows, lanes_shift, mostly_empty, by_ring, by_groups, by_warps; /* as in cuda_part */
    unsigned blocks; /* of the grid */
};

/** A work's buffer: slots that warps or blocks leave values in (left_open.cuh), zero between products; sums of shared
 *  rows; TURNED vectors of X by rows, in works of TURNED_FROM vectors or more, where rows are long. */
enum { SPMV_CUDA_TURNED = 8, SPMV_CUDA_TURNED_FROM = 4 };
struct cuda_scratch {
    size_t partials, turned, bytes; /* where sums and vectors begin; of all */
    int64_t turned_rows;                   /* that there is room for */
};

#ifdef __cplusplus
extern "C" {
#endif
/** Fill in a launch for the rows row_begin <= i < row_end of a side. */
trine_status spmv_cuda_prepare(trine_spmv plan, const struct spmv_side *side, int64_t row_begin, int64_t row_end,
                               struct spmv_launch *launch);
struct cuda_scratch spmv_cuda_scratch(trine_spmv plan, int64_t nrhs);
/** Whether a kernel of the library that waits for the launch before it (core/gpu_follow.cuh) may begin early. */
trine_status spmv_cuda_begins_early(void *stream, bool *early);
/** The backend's functions of these names (transpose.cu, product.cu, semiring.cu, tune.cu). */
trine_status spmv_cuda_transpose(trine_spmv plan, const struct spmv_side *from, struct spmv_side *to);
size_t spmv_cuda_transpose_bytes(const struct spmv_side *to, int64_t nnz); /* needed meanwhile, at most */
trine_status spmv_cuda_apply(trine_spmv plan, const struct spmv_call *c);
trine_status spmv_cuda_apply_semiring(trine_spmv plan, const struct spmv_semiring_call *c);
trine_status spmv_cuda_tune(trine_spmv plan, trine_semiring semiring, const void *x, void *y, const void *args,
                            const char *path);
/** The name of a side's choice, of TRINE_CHOICE_BYTES. */
void spmv_cuda_name_choice(trine_spmv plan, const struct spmv_side *side, char *name);
/** The semiring's program (semiring.cu). */
const char *spmv_cuda_program(trine_semiring semiring);
#ifdef __cplusplus
}
#endif
#endif
