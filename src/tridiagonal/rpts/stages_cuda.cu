/* The launches of the solve by stages. */
#include "tridiagonal/rpts/stages.h"
#include "tridiagonal/rpts/fused.cuh"

namespace {

template <typename T, int NR> trine_status launch_columns(bool down, const stage_of<T> &s, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    void (*kernel)(stage_of<T>) = down ? reduce<T, NR> : substitute<T, NR>;
    const size_t bytes = tile_bytes<T>(s.rows, NR);
    const dim3 grid((unsigned)((s.partitions + WARP - 1) / WARP), (unsigned)((s.nrhs + NR - 1) / NR));
    if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributePreferredSharedMemoryCarveout, gpuSharedmemCarveoutMaxShared)));
    kernel<<<grid, WARP, bytes, stream>>>(s);
    TRY(GPU_LAUNCHED("a stage of gtsv"));
done:
    return status;
}

template <typename T> trine_status launch_stage(bool down, const stage_of<T> &s, gpuStream_t stream)
{
    return s.nrhs == 1 ? launch_columns<T, 1>(down, s, stream) : launch_columns<T, 4>(down, s, stream);
}

template <typename T> trine_status launch_fused(const system_of<T> &A, const scheme_of<T> &scheme, int64_t nrhs, columns_of<const T> D, columns_of<T> X, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = fused_bytes<T>((int)A.n, A.cyclic);
    if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute((const void *)solve_fused<T>, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    solve_fused<T><<<(unsigned)nrhs, FUSED_THREADS, bytes, stream>>>(A, 0, scheme, D, X);
    TRY(GPU_LAUNCHED("solve_fused"));
done:
    return status;
}

template <typename T> trine_status launch_one_thread(const system_of<T> &A, const scheme_of<T> &scheme, int64_t nrhs, columns_of<const T> D, columns_of<T> X, gpuStream_t stream)
{
    solve_by_one_thread<T><<<(unsigned)nrhs, WARP, 0, stream>>>(A, scheme, D, X);
    return GPU_LAUNCHED("solve_by_one_thread");
}

/** Solve on the stages from `stage` on. */
template <typename T> trine_status solve_from(const rpts_options *o, const rpts_plan *plan, int stage, const system_of<T> &A, const scheme_of<T> &scheme,
                                                columns_of<const T> D, columns_of<T> X, T *work, gpuStream_t stream)
{
    if (stage == plan->stages) return o->final_stage == TRINE_GTSV_FUSED ? launch_fused(A, scheme, o->nrhs, D, X, stream) : launch_one_thread(A, scheme, o->nrhs, D, X, stream);
    trine_status status = TRINE_SUCCESS;
    const rpts_stage *p = &plan->stage[stage];
    const int pieces = p->partition / PIECE<T>;
    stage_of<T> s = {};
    system_of<T> coarse = {};
    s.A = A;
    s.scheme = scheme;
    s.partitions = p->partitions, s.full = p->full, s.coarse_n = p->coarse_n, s.nrhs = o->nrhs;
    s.rows = p->partition, s.last_rows = p->last_rows;
    s.pieces_magic = ((1u << 20) + (unsigned)pieces - 1) / (unsigned)pieces;
    s.D = D, s.X = X;
    s.lower = work, s.diag = s.lower + p->coarse_ld, s.upper = s.diag + p->coarse_ld;
    s.coarse = {s.upper + p->coarse_ld, p->coarse_ld};
    coarse.n = p->coarse_n;
    coarse.cyclic = A.cyclic;
    coarse.lower = s.lower, coarse.diag = s.diag, coarse.upper = s.upper;
    TRY(launch_stage(true, s, stream));
    TRY(solve_from(o, plan, stage + 1, coarse, scheme, {s.coarse.data, s.coarse.ld}, s.coarse, s.coarse.data + o->nrhs * p->coarse_ld, stream));
    TRY(launch_stage(false, s, stream));
done:
    return status;
}

template <typename T> trine_status solve(const stages_call<T> &c)
{
    return solve_from<T>(c.options, c.plan, 0, c.A, {c.options->pivot, (real_of<T>)c.options->epsilon}, c.D, c.X, c.work, c.stream);
}

} // namespace

int64_t fused_rows_of(trine_dtype t)
{
    static const int64_t rows[] = {0, fused_rows<float>(), fused_rows<double>(), fused_rows<complex_of<float>>(), fused_rows<complex_of<double>>()};
    return rows[t];
}

template <> trine_status solve_stages(const stages_call<float> &c) { return solve(c); }
template <> trine_status solve_stages(const stages_call<double> &c) { return solve(c); }
template <> trine_status solve_stages(const stages_call<complex_of<float>> &c) { return solve(c); }
template <> trine_status solve_stages(const stages_call<complex_of<double>> &c) { return solve(c); }
