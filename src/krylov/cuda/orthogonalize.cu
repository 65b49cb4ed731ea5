/* Orthogonalization on a GPU: launches of gram_schmidt.cuh. */
#include "core/gpu_condition.cuh"
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "krylov/cuda/gram_schmidt.cuh"

namespace {

/** All phases in one cooperative launch; else, and where a block would have too many items, one after another. */
template <typename T, int NV>
trine_status launch(basis_arguments a, int64_t nrhs, const gpu_limits &limits, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    constexpr unsigned threads = shape<T, NV>::THREADS;
    set_items<T, NV>(&a, nrhs);
    int64_t blocks = a.items < limits.multiprocessors ? a.items : limits.multiprocessors;
#ifndef __HIP__
    const int most = multiprocessors_of(stream, limits.multiprocessors);
    if (blocks > most) blocks = most;
    if (limits.cooperative && a.items <= MOST_ITEMS * blocks) {
        gpuLaunchAttribute together = {};
        gpuLaunchConfig_t config = {};
        together.id = gpuLaunchAttributeCooperative;
        together.val.cooperative = 1;
        config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3(threads), config.stream = stream;
        config.attrs = &together, config.numAttrs = 1;
        return GPU((launch_kernel<orthogonalize<T, NV>>(config, a)));
    }
#endif
    for (int phase = PROJECT; phase <= NORMALIZE; phase++) {
        a.first = a.last = phase;
        TRY(GPU((launch_kernel<orthogonalize<T, NV>>((unsigned)blocks, threads, stream, a))));
    }
done:
    return status;
}

using launcher = trine_status (*)(basis_arguments, int64_t, const gpu_limits &, gpuStream_t);
template <typename T> launcher launcher_of(int vectors)
{
    switch (vectors) {
    case 4: return launch<T, 4>;
    case 8: return launch<T, 8>;
    case 12: return launch<T, 12>;
    case 16: return launch<T, 16>;
    case 20: return launch<T, 20>;
    default: break;
    }
    if constexpr (sizeof(T) < 16) return launch<T, 32>;
    return nullptr;
}

} // namespace

trine_status krylov_cuda_orthogonalize(struct krylov_work *w, int j, void *z, bool *done)
{
    static launcher (*const of_dtype[])(int) = {nullptr, launcher_of<float>, launcher_of<double>,
                                                launcher_of<complex_of<float>>, launcher_of<complex_of<double>>};
    trine_status status = TRINE_SUCCESS;
    gpu_limits limits;
    basis_arguments basis;
    int saved;
    const int vectors = kernel_vectors(w->plan->inner, j + 1);
    *done = vectors > 0;
    if (!*done) return TRINE_SUCCESS;
    trine_device_enter(w->plan->base.ctx, &saved);
    TRY(trine_gpu_limits(&limits));
    basis = basis_of(w, j, z);
    basis.decides = decision_of(w, true);
    w->has_decided = w->has_decided || basis.decides.condition;
    TRY(of_dtype[w->plan->inner](vectors)(basis, w->nrhs, limits, (gpuStream_t)w->stream));
done:
    trine_device_leave(w->plan->base.ctx, saved);
    return status;
}
