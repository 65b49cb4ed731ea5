/* trine_gtsv on the GPU: its arguments as the launching code and the kernels have them. They are packed in one
 * place, pack() in gtsv/cuda/gtsv_cuda.cu (those of a batch in medium_of, batch/batch_cuda.cu), and handed down from
 * there. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_CALL_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_CALL_CUH

#include "core/gpu_limits.h"
#include "tridiagonal/common/system.cuh"
#include "tridiagonal/gtsv/cuda/row_elimination.cuh"

/** A X = D as kernels get it. What a kernel needs beyond that it has in a struct of its own, derived from this one:
 *  parameters lie in constant memory, and a launch takes longer the more there are. */
template <typename T, bool PERMUTED = false> struct gtsv_solve {
    system_of<T> A;
    pivoting p;
    int64_t nrhs;
    given_columns<T, PERMUTED> D;
    columns_of<T, PERMUTED> X;

    /** How many right-hand sides there are from `first` on, `most` at most. */
    __device__ __forceinline__ int columns_from(int64_t first, int most) const
    {
        return nrhs - first < most ? (int)(nrhs - first) : most;
    }
};

/** What decides where a system is solved. In part: the stream has these multiprocessors of a device with more. */
struct stream_limits : gpu_limits { bool in_part; };

/** How a system is solved: by tiles (launch.h) in whichever way is fastest; in one kernel that keeps it on the chip,
 *  by two passes over it, by one pass that the exact kernels follow where it is not certain; by stages
 *  (thesis/staged.h); in one block (single_block.h). */
enum gtsv_route { ROUTE_TILES, ROUTE_ON_CHIP, ROUTE_TWO_PASS, ROUTE_ONE_PASS, ROUTE_STAGES, ROUTE_SINGLE_BLOCK };

/** A solve to be launched. */
template <typename T, bool PERMUTED = false> struct gtsv_call : gtsv_solve<T, PERMUTED> {
    gtsv_route route;
    T *work; /* tiled_elements of them, by stages plan->elements; none for a single block */
    gpuStream_t stream;
    /* by tiles */
    stream_limits limits;
    const int32_t *marks; /* of D, where that is X (gtsv/zero_tiles.h); else NULL */
    int32_t *fallback;    /* flag (is_not_needed) of the coarse system behind one pass; else NULL */
    bool follows;         /* the right-hand sides come from a kernel that lets its follower start early */
    /* by stages */
    const rpts_options *options;
    const rpts_plan *plan;
};

/** What must lie on 16 bytes beside the bands where rows are moved so. next: from the bands of a system to those of the
 *  next one. */
template <typename T> inline uintptr_t addresses_of(const gtsv_call<T> &call, int64_t next)
{
    return (uintptr_t)call.D.data | (uintptr_t)call.X.data |
           (call.nrhs > 1 ? (uintptr_t)(call.D.ld | call.X.ld | next) * sizeof(T) : 0);
}
/** op(A) of the bands as the caller has them. */
template <typename T> system_of<T> op_of(const rpts_options *o, int64_t n, const void *a, const void *b, const void *c)
{
    system_of<T> A = {
        n, 0, 0, o->cyclic, o->op == TRINE_H && scalar<T>::is_complex, (const T *)a, (const T *)b, (const T *)c};
    if (o->op != TRINE_N) /* row i of A^T: c[i-1], b[i], a[i+1] */
        A.lower = (const T *)c, A.lower_shift = -1, A.upper = (const T *)a, A.upper_shift = 1;
    return A;
}
/** Pivoting by tiles. A cyclic system is taken for a shorter one: what one place costs goes round it. */
static inline pivoting tiled_pivoting(const rpts_options *o, int64_t n)
{
    return pivoting_of(o->pivot, o->cyclic ? n / 16 : n, false);
}

#endif
