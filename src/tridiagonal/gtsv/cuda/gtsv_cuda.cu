/* trine_gtsv on the GPU: op(A), the way to its solution, refinement. */
#include "tridiagonal/gtsv/cuda/single_block.h"
#include "tridiagonal/gtsv/cuda/thesis/staged.h"
#include "tridiagonal/gtsv/cuda/launch.h"

namespace {

/* --------------------------------------------------------------- refinement */

/** R := D - op(A) guess; R may be D. */
template <typename T> __global__ void subtract_product(const system_of<T> A, given_columns<T> D, columns_of<T> R)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < A.n; i += (int64_t)gridDim.x * blockDim.x)
        R.data[i + blockIdx.y * R.ld] = right_hand_side(A, D, i, blockIdx.y);
}
template <typename T> __global__ void add_columns(int64_t n, columns_of<const T> from, columns_of<T> to)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        T *x = to.data + i + blockIdx.y * to.ld;
        *x = *x + from.data[i + blockIdx.y * from.ld];
    }
}

template <typename T> trine_status solve_of(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call, const int32_t *marks)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = plan->n, blocks = (n + 255) / 256;
    const bool transposed = o->op != TRINE_N;
    const gpuStream_t stream = (gpuStream_t)call->stream;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)o->nrhs);
    const columns_of<T> X = {(T *)call->X, call->ldx}, first = {(T *)call->work + plan->elements, n}; /* solution, with refinement */
    const given_columns<T> D = {{(const T *)call->D, call->ldd}, {}}, refined = {{D.data, D.ld}, {first.data, first.ld}};
    system_of<T> A = {n, 0, 0, o->cyclic, o->op == TRINE_H && scalar<T>::is_complex, (const T *)call->a, (const T *)call->b, (const T *)call->c};
    stream_limits limits = {};
    if (transposed) /* row i of A^T: c[i-1], b[i], a[i+1] */
        A.lower = (const T *)call->c, A.lower_shift = -1, A.upper = (const T *)call->a, A.upper_shift = 1;
    bool is_small_one = false;
    if constexpr (sizeof(real_of<T>) == sizeof(double)) is_small_one = o->path == TRINE_GTSV_AUTO && is_small(A); /* single precision has no digits in which it would matter */
    static const tiled_route routes[] = {ROUTE_ANY, ROUTE_ANY, ROUTE_TWO_PASS, ROUTE_ON_CHIP, ROUTE_ONE_PASS}; /* by trine_gtsv_path */
    const auto tiled = [&](const given_columns<T> &rhs, columns_of<T> unknowns, const int32_t *marked) {
        return tiled_call<T>{A, o->pivot, o->nrhs, rhs, unknowns, (T *)call->work, limits, routes[o->path], stream, false, nullptr, marked, call->order ? call->order : n};
    };
    const auto solve = [&](const given_columns<T> &rhs, columns_of<T> unknowns, const int32_t *marked) {
        if (o->path == TRINE_GTSV_STAGES) return solve_stages<T>({o, plan, A, rhs, unknowns, (T *)call->work, stream});
        if constexpr (sizeof(real_of<T>) == sizeof(double))
            if (is_small_one) return solve_small<T>({A, o->pivot, o->nrhs, rhs, unknowns, stream});
        return solve_tiled<T>(tiled(rhs, unknowns, marked));
    };
    TRY(trine_gpu_limits(&limits));
    if (!o->refine) {
        TRY(solve(D, X, marks));
        goto done;
    }
    TRY(solve(D, first, nullptr));
    if (o->path != TRINE_GTSV_STAGES && (is_small_one || takes_guess<T>(tiled(D, X, nullptr)))) {
        TRY(solve(refined, X, nullptr)); /* residuals are computed as rows are read */
    } else {
        subtract_product<T><<<grid, 256, 0, stream>>>(A, refined, X);
        TRY(GPU_LAUNCHED("subtract_product"));
        TRY(solve({{X.data, X.ld}, {}}, X, nullptr));
        add_columns<T><<<grid, 256, 0, stream>>>(n, refined.guess, X);
        TRY(GPU_LAUNCHED("add_columns"));
    }
done:
    return status;
}

int64_t tiled_elements_of(trine_dtype t, int64_t n, int64_t nrhs, bool cyclic)
{
    static int64_t (*const elements[])(int64_t, int64_t, bool) = {
        nullptr, tiled_elements<float>, tiled_elements<double>, tiled_elements<complex_of<float>>, tiled_elements<complex_of<double>>};
    return elements[t](n, nrhs, cyclic);
}

gtsv_tile tile_of(trine_dtype t, int64_t nrhs)
{
    static gtsv_tile (*const tile[])(int64_t) = {nullptr, tiled_tile<float>, tiled_tile<double>, tiled_tile<complex_of<float>>, tiled_tile<complex_of<double>>};
    return tile[t](nrhs);
}

trine_status solve_with_marks(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call, const int32_t *marks)
{
    static trine_status (*const run[])(const rpts_options *, const rpts_plan *, const struct gtsv_device_call *, const int32_t *) = {
        nullptr, solve_of<float>, solve_of<double>, solve_of<complex_of<float>>, solve_of<complex_of<double>>};
    return run[call->t](o, plan, call, marks);
}

trine_status solve(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call) { return solve_with_marks(o, plan, call, nullptr); }

} // namespace

extern "C" const struct gtsv_backend gtsv_cuda = {fused_rows_of, least_fused_rows_of, tiled_elements_of, solve};
extern "C" const struct gtsv_marks_backend gtsv_marks_cuda = {tile_of, solve_with_marks};
