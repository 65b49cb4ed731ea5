/* Steps of CG on a GPU: launches of conjugate.cuh. */
#include "core/gpu_condition.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "core/gpu_shared.cuh"
#include "krylov/cuda/conjugate.cuh"

namespace {

enum { STEPS = 32 }; /* of a launch, where nobody looks in between */

/** Entries of a row, and rows, up to which this is faster than a product with a kernel of its own: vectors stay in the
 *  L2 cache, and a thread has a row. */
constexpr int64_t CONJUGATE_LONGEST = 64, CONJUGATE_MEAN = 16, CONJUGATE_MOST = 1 << 18;
bool has_conjugate_rows(const struct krylov_work *w, struct spmv_rows *rows)
{
    const int64_t n = w->plan->base.n;
    const krylov_parameters *p = &w->plan->parameters;
    if (w->nrhs < 1 || w->nrhs > CONJUGATE_COLUMNS || w->has_errors || n < 1 || n > CONJUGATE_MOST ||
        (p->has_M && !krylov_has_diagonal(w)))
        return false;
    return spmv_rows_of(w->plan->inner_A, rows) && rows->longest_row >= 0 && rows->longest_row <= CONJUGATE_LONGEST &&
           rows->nnz <= CONJUGATE_MEAN * n;
}

template <typename T, int EACH> trine_status launch_with(const conjugate_arguments &a, gpuStream_t stream)
{
    gpuLaunchAttribute together = {};
    gpuLaunchConfig_t config = {};
    together.id = gpuLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.gridDim = dim3((unsigned)((a.n + a.chunk_rows - 1) / a.chunk_rows));
    config.blockDim = dim3(CONJUGATE_THREADS), config.stream = stream;
    config.dynamicSmemBytes = bytes_of_rows(sizeof(T), a.A.room, a.chunk_rows);
    config.attrs = &together, config.numAttrs = 1;
    const trine_status status = trine_gpu_allow_shared((const void *)conjugate_steps<T, EACH>, config.dynamicSmemBytes);
    return status ? status : GPU((launch_kernel<conjugate_steps<T, EACH>>(config, a)));
}
template <typename T> trine_status launch(const conjugate_arguments &a, gpuStream_t stream)
{
    if constexpr (sizeof(T) < 16)
        if (a.chunk_rows > 2 * 32 * (CONJUGATE_WARPS / a.nrhs)) return launch_with<T, 4>(a, stream);
    return launch_with<T, 2>(a, stream);
}

} // namespace

trine_status krylov_cuda_conjugate(struct krylov_work *w, bool *done)
{
#ifdef __HIP__
    (void)w;
    *done = false;
    return TRINE_SUCCESS;
#else
    static trine_status (*const of_dtype[])(const conjugate_arguments &, gpuStream_t) = {
        nullptr, launch<float>, launch<double>, launch<complex_of<float>>, launch<complex_of<double>>};
    trine_status status = TRINE_SUCCESS;
    struct spmv_rows rows;
    gpu_limits limits;
    int saved;
    *done = false;
    if (!has_conjugate_rows(w, &rows)) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    TRY(trine_gpu_limits(&limits));
    {
        const size_t shared = (size_t)limits.shared_bytes - sizeof(conjugate_room) - 64;
        conjugate_arguments a = conjugate_of(w, &rows, w->records && !w->plan->unrolls ? STEPS : 1,
                                             shared < CONJUGATE_SHARED ? shared : CONJUGATE_SHARED);
        const int64_t blocks = (a.n + a.chunk_rows - 1) / a.chunk_rows;
        if (!limits.cooperative || blocks > multiprocessors_of((gpuStream_t)w->stream, limits.multiprocessors))
            goto done;
        a.decides = decision_of(w, true);
        w->has_decided = w->has_decided || a.decides.condition;
        w->is_fresh = false;
        *done = true;
        TRY(of_dtype[w->plan->inner](a, (gpuStream_t)w->stream));
    }
done:
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
#endif
}
