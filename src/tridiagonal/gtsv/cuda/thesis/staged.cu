/* The launches of the solve by stages. */
#include "core/gpu_limits.h"
#include "tridiagonal/gtsv/cuda/thesis/staged.h"
#include "tridiagonal/gtsv/cuda/thesis/fused.cuh"

namespace {

template <typename T> scheme_of<T> scheme_of_call(const gtsv_call<T> &call)
{
    return {call.options->pivot, (real_of<T>)call.options->epsilon};
}

template <typename T, int NR, int TOGETHER> trine_status launch_tiles(bool down, const stage_of<T> &s,
                                                                      gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    void (*kernel)(stage_of<T>) = down ? reduce<T, NR, TOGETHER> : substitute<T, NR, TOGETHER>;
    const size_t bytes = tile_bytes<T>(s.rows, NR, TOGETHER);
    const dim3 grid((unsigned)((s.partitions + TOGETHER - 1) / TOGETHER), (unsigned)((s.nrhs + NR - 1) / NR));
    TRY(trine_gpu_prefer_shared((const void *)kernel, bytes));
    kernel<<<grid, WARP, bytes, stream>>>(s);
    TRY(GPU_LAUNCHED("a stage of gtsv"));
done:
    return status;
}

/** With as large tiles as fit: of long partitions in double complex, not all right-hand sides or partitions at once. */
template <typename T> trine_status launch_stage(bool down, const stage_of<T> &s, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    gpu_limits limits;
    TRY(trine_gpu_limits(&limits));
    if (s.nrhs > 1 && tile_bytes<T>(s.rows, 4, WARP) <= (size_t)limits.shared_bytes)
        return launch_tiles<T, 4, WARP>(down, s, stream);
    static_assert(tile_bytes<T>(64, 1, WARP / 2) <= GPU_LEAST_SHARED_BYTES, "fits any device");
    return tile_bytes<T>(s.rows, 1, WARP) <= (size_t)limits.shared_bytes
               ? launch_tiles<T, 1, WARP>(down, s, stream)
               : launch_tiles<T, 1, WARP / 2>(down, s, stream);
done:
    return status;
}

template <typename T> trine_status launch_fused(const gtsv_call<T> &call, const system_of<T> &A, columns_of<const T> D,
                                                columns_of<T> X)
{
    trine_status status = TRINE_SUCCESS;
    const scheme_of<T> scheme = scheme_of_call(call);
    const size_t bytes = fused_bytes<T>((int)A.n, A.cyclic);
    TRY(trine_gpu_allow_shared((const void *)solve_fused<T>, bytes));
    solve_fused<T><<<(unsigned)call.nrhs, FUSED_THREADS, bytes, call.stream>>>(
        A, 0, scheme, fused_lost(scheme.pivot, scheme.epsilon, call.A.n), D, X);
    TRY(GPU_LAUNCHED("solve_fused"));
done:
    return status;
}

template <typename T> trine_status launch_one_thread(const gtsv_call<T> &call, const system_of<T> &A,
                                                     columns_of<const T> D, columns_of<T> X)
{
    solve_by_one_thread<T><<<(unsigned)call.nrhs, WARP, 0, call.stream>>>(A, scheme_of_call(call), D, X);
    return GPU_LAUNCHED("solve_by_one_thread");
}

/** Solve A X = D, the system that stage number `stage` of the call starts from, on that stage and those behind it. */
template <typename T> trine_status solve_from(const gtsv_call<T> &call, int stage, const system_of<T> &A,
                                              columns_of<const T> D, columns_of<T> X, T *work)
{
    if (stage == call.plan->stages)
        return call.options->final_stage == TRINE_GTSV_FUSED ? launch_fused(call, A, D, X)
                                                             : launch_one_thread(call, A, D, X);
    trine_status status = TRINE_SUCCESS;
    const rpts_stage *p = &call.plan->stage[stage];
    const int vectors = p->partition / PER_VECTOR<T>;
    stage_of<T> s = {};
    system_of<T> coarse = {};
    s.A = A;
    s.scheme = scheme_of_call(call);
    s.partitions = p->partitions, s.full = p->full, s.coarse_n = p->coarse_n, s.nrhs = call.nrhs;
    s.rows = p->partition, s.last_rows = p->last_rows;
    s.vectors_magic = ((1u << 20) + (unsigned)vectors - 1) / (unsigned)vectors;
    s.D = D, s.X = X;
    s.lower = work, s.diag = s.lower + p->coarse_ld, s.upper = s.diag + p->coarse_ld;
    s.coarse = {s.upper + p->coarse_ld, p->coarse_ld};
    coarse.n = p->coarse_n;
    coarse.cyclic = A.cyclic;
    coarse.lower = s.lower, coarse.diag = s.diag, coarse.upper = s.upper;
    TRY(launch_stage(true, s, call.stream));
    TRY(solve_from(call, stage + 1, coarse, {s.coarse.data, s.coarse.ld}, s.coarse,
                   s.coarse.data + call.nrhs * p->coarse_ld));
    TRY(launch_stage(false, s, call.stream));
done:
    return status;
}

template <typename T> trine_status solve(const gtsv_call<T> &call)
{
    return solve_from<T>(call, 0, call.A, call.D, call.X, call.work);
}

} // namespace

int64_t fused_rows_of(trine_dtype t)
{
    gpu_limits limits;
    return trine_gpu_limits(&limits) ? least_fused_rows_of(t)
                                     : fused_rows(trine_dtype_size(t), (size_t)limits.shared_bytes);
}
int64_t least_fused_rows_of(trine_dtype t) { return fused_rows(trine_dtype_size(t), GPU_LEAST_SHARED_BYTES); }

template <> trine_status solve_stages(const gtsv_call<float> &c) { return solve(c); }
template <> trine_status solve_stages(const gtsv_call<double> &c) { return solve(c); }
template <> trine_status solve_stages(const gtsv_call<complex_of<float>> &c) { return solve(c); }
template <> trine_status solve_stages(const gtsv_call<complex_of<double>> &c) { return solve(c); }
