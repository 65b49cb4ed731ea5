/* Steps of GMRES on a GPU: launches of arnoldi.cuh and, of several columns, of arnoldi_columns.cuh. */
#include "core/gpu_condition.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "core/gpu_shared.cuh"
#include "krylov/cuda/arnoldi.cuh"
#include "krylov/cuda/arnoldi_columns.cuh"

namespace {

/** Entries of a row, and rows, up to which this is faster than kernels of their own for product and orthogonalization:
 *  a block's part of the basis stays in its L1 cache. */
constexpr int64_t ARNOLDI_LONGEST = 64, ARNOLDI_MEAN = 16, ARNOLDI_MOST_ROWS = 250000;
bool has_arnoldi_rows(const struct krylov_work *w, struct spmv_rows *rows)
{
    const int64_t n = w->plan->base.n;
    if (w->nrhs < 1 || w->nrhs > SHARED_COLUMNS || n < 1 || n > ARNOLDI_MOST_ROWS) return false;
    return spmv_rows_of(w->plan->inner_A, rows) && rows->longest_row >= 0 && rows->longest_row <= ARNOLDI_LONGEST &&
           rows->nnz <= ARNOLDI_MEAN * n;
}

gpuLaunchConfig_t config_of(gpuLaunchAttribute *together, int64_t blocks, int threads, size_t shared, void *stream)
{
    gpuLaunchConfig_t config = {};
    together->id = gpuLaunchAttributeCooperative;
    together->val.cooperative = 1;
    config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared, config.stream = (gpuStream_t)stream;
    config.attrs = together, config.numAttrs = 1;
    return config;
}

/** A launch, unless there are more blocks than `most`. */
template <typename T> trine_status launch_one(const arnoldi_arguments &a, int64_t most, void *stream, bool *done)
{
    const int64_t blocks = (a.n + a.chunk_rows - 1) / a.chunk_rows;
    trine_status status;
    gpuLaunchAttribute together = {};
    const size_t of_rows = bytes_of_rows(sizeof(T), a.A.room, a.chunk_rows),
                 shared = of_rows > ARNOLDI_PRODUCT_BYTES<T> ? of_rows : ARNOLDI_PRODUCT_BYTES<T>;
    const gpuLaunchConfig_t config = config_of(&together, blocks, ARNOLDI_THREADS, shared, stream);
    *done = blocks <= most && a.chunk_rows <= 4 * ARNOLDI_ROWS;
    if (!*done) return TRINE_SUCCESS;
    if (a.chunk_rows <= 2 * ARNOLDI_ROWS) {
        status = trine_gpu_allow_shared((const void *)arnoldi_steps<T, 2>, shared);
        return status ? status : GPU((launch_kernel<arnoldi_steps<T, 2>>(config, a)));
    }
    status = trine_gpu_allow_shared((const void *)arnoldi_steps<T, 4>, shared);
    return status ? status : GPU((launch_kernel<arnoldi_steps<T, 4>>(config, a)));
}
/** The same, unless a basis of `restart` vectors is too long. */
template <typename T>
trine_status launch_several(const shared_arguments &a, int restart, int64_t most, void *stream, bool *done)
{
    gpuLaunchAttribute together = {};
    const size_t shared = bytes_of_rows(sizeof(T), a.A.room, a.chunk_rows);
    const gpuLaunchConfig_t config = config_of(&together, a.basis.items, SHARED_THREADS, shared, stream);
    *done = a.basis.items <= most && restart <= SHARED_BASIS<T>;
    if (!*done) return TRINE_SUCCESS;
    const trine_status status = trine_gpu_allow_shared((const void *)arnoldi_columns<T>, shared);
    return status ? status : GPU((launch_kernel<arnoldi_columns<T>>(config, a)));
}

} // namespace

trine_status krylov_cuda_arnoldi(struct krylov_work *w, int j, int steps, const void *x, void *z, bool *done)
{
#ifdef __HIP__
    (void)w, (void)j, (void)steps, (void)x, (void)z;
    *done = false;
    return TRINE_SUCCESS;
#else
    static trine_status (*const of_one[])(const arnoldi_arguments &, int64_t, void *, bool *) = {
        nullptr, launch_one<float>, launch_one<double>, launch_one<complex_of<float>>, launch_one<complex_of<double>>};
    static trine_status (*const of_several[])(const shared_arguments &, int, int64_t, void *, bool *) = {
        nullptr, launch_several<float>, launch_several<double>, launch_several<complex_of<float>>,
        launch_several<complex_of<double>>};
    trine_status status = TRINE_SUCCESS;
    const trine_dtype t = w->plan->inner;
    const int restart = w->plan->parameters.restart, count = steps ? steps : restart - j;
    struct spmv_rows rows;
    gpu_limits limits;
    int saved;
    *done = false;
    if (!has_arnoldi_rows(w, &rows)) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    TRY(trine_gpu_limits(&limits));
    if (limits.cooperative) {
        const int most = multiprocessors_of((gpuStream_t)w->stream, limits.multiprocessors);
        const decision decides = steps ? decision_of(w, true) : decision{};
        const size_t shared = (size_t)limits.shared_bytes - sizeof(arnoldi_room<complex_of<double>>) - 1024;
        if (w->nrhs > 1) {
            shared_arguments a = shared_of(w, &rows, j, count, x, z, shared < SHARED_BYTES ? shared : SHARED_BYTES);
            a.basis.decides = decides;
            TRY(of_several[t](a, restart, most, w->stream, done));
        } else if (restart <= ARNOLDI_MOST) {
            arnoldi_arguments a =
                arnoldi_of(w, &rows, j, count, x, z, shared < ARNOLDI_SHARED ? shared : ARNOLDI_SHARED);
            a.decides = decides;
            TRY(of_one[t](a, most, w->stream, done));
        }
        w->has_decided = w->has_decided || (*done && decides.condition);
    }
done:
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
#endif
}
