/* Programs and steps on a GPU: launches, and what the host reads. */
#include "core/gpu.h"
#include "krylov/cuda/program.cuh"

namespace {

using program_kernel = void (*)(program_arguments);
const program_kernel kernels[] = {nullptr, run_program<float>, run_program<double>, run_program<complex_of<float>>,
                                  run_program<complex_of<double>>};

trine_status launch(struct krylov_work *w, trine_dtype t, const program_arguments &a)
{
    int saved;
    trine_device_enter(w->plan->base.ctx, &saved);
    kernels[t]<<<(unsigned)(w->nrhs * a.chunks), THREADS, 0, (gpuStream_t)w->stream>>>(a);
    const trine_status status = GPU_LAUNCHED("run_program");
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
}

trine_status run(struct krylov_work *w, const krylov_program *p)
{
    trine_status status = TRINE_SUCCESS;
    program_arguments a = arguments_of(w, p);
    for (int k = 0; k < p->count;) {
        k = translate(p, k, &a);
        TRY(launch(w, p->dtype, a));
    }
done:
    return status;
}

/* ------------------------------------------------------------ steps, and what the host reads */

__global__ void step_columns(krylov_column *columns, int64_t nrhs, krylov_step step, unsigned flags,
                             const __grid_constant__ krylov_parameters parameters, int j)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const krylov_parameters p = parameters;
    if (i < nrhs && (columns[i].flags & flags) == flags) take_step(step, &columns[i], &p, j);
}

template <typename T> void launch_find_row(const struct krylov_work *w, const void *x)
{
    find_row<T><<<(unsigned)w->nrhs, THREADS, 0, (gpuStream_t)w->stream>>>(w->own_columns, static_cast<const T *>(x),
                                                                           w->plan->base.n, w->stride);
}

trine_status find_rows(struct krylov_work *w, const void *x)
{
    static void (*const launch[])(const struct krylov_work *, const void *) = {
        nullptr, launch_find_row<float>, launch_find_row<double>, launch_find_row<complex_of<float>>,
        launch_find_row<complex_of<double>>};
    int saved;
    if (!w->nrhs) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    launch[w->plan->base.dtype](w, x);
    const trine_status status = GPU_LAUNCHED("find_row");
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
}

trine_status step(struct krylov_work *w, krylov_step which, unsigned flags, int j)
{
    constexpr int threads = 32;
    int saved;
    if (!w->nrhs) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    step_columns<<<(unsigned)((w->nrhs + threads - 1) / threads), threads, 0, (gpuStream_t)w->stream>>>(
        w->own_columns, w->nrhs, which, flags, w->plan->parameters, j);
    const trine_status status = GPU_LAUNCHED("step_columns");
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
}

trine_status look(struct krylov_work *w)
{
    trine_context ctx = w->plan->base.ctx;
    const trine_status status =
        trine_device_copy_async(ctx, w->columns, w->own_columns, (size_t)w->nrhs * sizeof *w->columns, w->stream);
    return status ? status : trine_device_synchronize(ctx, w->stream);
}

} // namespace

const struct krylov_backend krylov_cuda = {scratch_bytes, run, krylov_cuda_orthogonalize, step, find_rows, look, &krylov_cuda_recorder};
