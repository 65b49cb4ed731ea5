/* Programs and steps on a GPU: launches, and what the host reads. */
#include "core/gpu_condition.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "krylov/cuda/program.cuh"
#include "krylov/cuda/small_system.cuh"

namespace {

/** The kernel with one argument; `together`: its blocks meet. */
template <typename T> trine_status launch_program(unsigned blocks, bool together, gpuStream_t stream,
                                                  const program_arguments &a)
{
#ifndef __HIP__
    if (together) {
        gpuLaunchAttribute cooperative = {};
        gpuLaunchConfig_t config = {};
        cooperative.id = gpuLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
        config.gridDim = dim3(blocks), config.blockDim = dim3(THREADS), config.stream = stream;
        config.attrs = &cooperative, config.numAttrs = 1;
        return GPU((launch_kernel<run_program<T>>(config, a)));
    }
#endif
    return GPU((launch_kernel<run_program<T>>(blocks, THREADS, stream, a)));
}

trine_status launch(struct krylov_work *w, trine_dtype t, bool together, const program_arguments &a)
{
    static trine_status (*const of_dtype[])(unsigned, bool, gpuStream_t, const program_arguments &) = {
        nullptr, launch_program<float>, launch_program<double>, launch_program<complex_of<float>>,
        launch_program<complex_of<double>>};
    return of_dtype[t]((unsigned)(w->nrhs * a.chunks), together, (gpuStream_t)w->stream, a);
}

/** Do all blocks find room on the device at once? The kernel's bounds are two on a multiprocessor. */
bool can_meet(const struct krylov_work *w, const program_arguments &a)
{
#ifdef __HIP__
    (void)w, (void)a;
    return false;
#else
    gpu_limits limits;
    return !trine_gpu_limits(&limits) && limits.cooperative &&
           w->nrhs * a.chunks <= 2 * multiprocessors_of((gpuStream_t)w->stream, limits.multiprocessors);
#endif
}

trine_status run(struct krylov_work *w, const krylov_program *programs, int count)
{
    trine_status status = TRINE_SUCCESS;
    program_arguments a = arguments_of(w);
    int saved;
    if (!w->nrhs) return TRINE_SUCCESS;
    const decision decides = decision_of(w, programs[count - 1].ends_body);
    w->has_decided = w->has_decided || decides.condition;
    trine_device_enter(w->plan->base.ctx, &saved);
    a.decides = decides;
    if (count > 1 && can_meet(w, a) && add_passes(&a, programs, count)) {
        status = launch(w, programs->dtype, true, a);
        goto done;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < programs[i].count;) {
            a.passes = 0;
            k = add_pass(&a, &programs[i], k);
            a.decides.condition = i + 1 == count && k == programs[i].count ? decides.condition : 0;
            TRY(launch(w, programs[i].dtype, false, a));
        }
done:
    trine_device_leave(w->plan->base.ctx, saved);
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

template <typename T> void launch_find_row(const struct krylov_work *w, const void *x, const decision &decides)
{
    find_row<T><<<(unsigned)w->nrhs, THREADS, 0, (gpuStream_t)w->stream>>>(w->own_columns, static_cast<const T *>(x),
                                                                           w->plan->base.n, w->stride, decides);
}

trine_status find_rows(struct krylov_work *w, const void *x)
{
    static void (*const launch[])(const struct krylov_work *, const void *, const decision &) = {
        nullptr, launch_find_row<float>, launch_find_row<double>, launch_find_row<complex_of<float>>,
        launch_find_row<complex_of<double>>};
    int saved;
    if (!w->nrhs) return TRINE_SUCCESS;
    const decision decides = decision_of(w, true);
    w->has_decided = w->has_decided || decides.condition;
    trine_device_enter(w->plan->base.ctx, &saved);
    launch[w->plan->base.dtype](w, x, decides);
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
    if (which == KRYLOV_GMRES_SOLVE || which == KRYLOV_GMRES_END)
        solve_small_systems<<<(unsigned)w->nrhs, SMALL_THREADS, 0, (gpuStream_t)w->stream>>>(
            w->own_columns, flags, which == KRYLOV_GMRES_END, w->plan->parameters);
    else
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

const struct krylov_backend krylov_cuda = {
    scratch_bytes, run,  krylov_cuda_orthogonalize, krylov_cuda_conjugate, krylov_cuda_arnoldi, step,
    find_rows,     look, &krylov_cuda_recorder};
