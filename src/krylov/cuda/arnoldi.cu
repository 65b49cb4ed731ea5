/* Steps of GMRES on a GPU: launches of arnoldi.cuh. */
#include "core/gpu_condition.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "core/gpu_shared.cuh"
#include "krylov/cuda/arnoldi.cuh"

namespace {

/** Entries of a row, and rows, up to which this is faster than kernels of their own for product and orthogonalization:
 *  a block's part of the basis stays in its L1 cache. */
constexpr int64_t ARNOLDI_LONGEST = 64, ARNOLDI_MEAN = 16, ARNOLDI_MOST_ROWS = 250000;
bool has_arnoldi_rows(const struct krylov_work *w, struct spmv_rows *rows)
{
    const int64_t n = w->plan->base.n;
    if (w->nrhs != 1 || n < 1 || n > ARNOLDI_MOST_ROWS || w->plan->parameters.restart > ARNOLDI_MOST) return false;
    return spmv_rows_of(w->plan->inner_A, rows) && rows->longest_row >= 0 && rows->longest_row <= ARNOLDI_LONGEST &&
           rows->nnz <= ARNOLDI_MEAN * n;
}

/** A launch, unless there are more blocks than `most`. */
template <typename T> trine_status launch(const arnoldi_arguments &a, int64_t most, void *stream, bool *done)
{
    trine_status status;
    gpuLaunchAttribute together = {};
    gpuLaunchConfig_t config = {};
    const int64_t blocks = (a.n + a.chunk_rows - 1) / a.chunk_rows;
    const size_t of_rows = bytes_of_rows(sizeof(T), a.A.room, a.chunk_rows),
                 shared = of_rows > ARNOLDI_PRODUCT_BYTES<T> ? of_rows : ARNOLDI_PRODUCT_BYTES<T>;
    *done = blocks <= most && a.chunk_rows <= 4 * ARNOLDI_ROWS;
    if (!*done) return TRINE_SUCCESS;
    together.id = gpuLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3(ARNOLDI_THREADS);
    config.dynamicSmemBytes = shared, config.stream = (gpuStream_t)stream;
    config.attrs = &together, config.numAttrs = 1;
    if (a.chunk_rows <= 2 * ARNOLDI_ROWS) {
        status = trine_gpu_allow_shared((const void *)arnoldi_steps<T, 2>, shared);
        return status ? status : GPU((launch_kernel<arnoldi_steps<T, 2>>(config, a)));
    }
    status = trine_gpu_allow_shared((const void *)arnoldi_steps<T, 4>, shared);
    return status ? status : GPU((launch_kernel<arnoldi_steps<T, 4>>(config, a)));
}

} // namespace

trine_status krylov_cuda_arnoldi(struct krylov_work *w, int j, int steps, const void *x, void *z, bool *done)
{
#ifdef __HIP__
    (void)w, (void)j, (void)steps, (void)x, (void)z;
    *done = false;
    return TRINE_SUCCESS;
#else
    static trine_status (*const of_dtype[])(const arnoldi_arguments &, int64_t, void *, bool *) = {
        nullptr, launch<float>, launch<double>, launch<complex_of<float>>, launch<complex_of<double>>};
    trine_status status = TRINE_SUCCESS;
    struct spmv_rows rows;
    gpu_limits limits;
    int saved;
    *done = false;
    if (!has_arnoldi_rows(w, &rows)) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    TRY(trine_gpu_limits(&limits));
    if (limits.cooperative) {
        const int most = multiprocessors_of((gpuStream_t)w->stream, limits.multiprocessors);
        const size_t shared = (size_t)limits.shared_bytes - sizeof(arnoldi_room<complex_of<double>>) - 1024;
        arnoldi_arguments a = arnoldi_of(w, &rows, j, steps ? steps : w->plan->parameters.restart - j, x, z,
                                         shared < ARNOLDI_SHARED ? shared : ARNOLDI_SHARED);
        if (steps) a.decides = decision_of(w, true);
        TRY(of_dtype[w->plan->inner](a, most, w->stream, done));
        w->has_decided = w->has_decided || (*done && a.decides.condition);
    }
done:
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
#endif
}
