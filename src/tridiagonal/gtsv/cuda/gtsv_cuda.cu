/* trine_gtsv on the GPU: its arguments, packed once; the route to the solution; refinement. */
#include "tridiagonal/gtsv/cuda/launch.h"
#include "tridiagonal/gtsv/cuda/permuted_rows.cuh"
#include "tridiagonal/gtsv/cuda/single_block.h"
#include "tridiagonal/gtsv/cuda/thesis/staged.h"
#include "tridiagonal/gtsv/permuted.h"

namespace {

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

/* ------------------------------------------------------------------ the call */

/** The arguments as launches and kernels take them. */
template <typename T, bool P>
trine_status pack(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *given,
                  const int32_t *marks, gtsv_call<T, P> *call)
{
    /* by trine_gtsv_path */
    static const gtsv_route routes[] = {ROUTE_TILES, ROUTE_STAGES, ROUTE_TWO_PASS, ROUTE_ON_CHIP, ROUTE_ONE_PASS};
    const int64_t n = plan->n;
    *call = {};
    call->A = op_of<T>(o, n, given->a, given->b, given->c);
    call->nrhs = o->nrhs;
    call->D.data = (const T *)given->D, call->D.ld = given->ldd;
    call->X.data = (T *)given->X, call->X.ld = given->ldx;
    call->route = routes[o->path];
    if constexpr (sizeof(real_of<T>) == sizeof(double)) /* single precision has no digits in which it would matter */
        if (o->path == TRINE_GTSV_AUTO && is_small(call->A)) call->route = ROUTE_SINGLE_BLOCK;
    /* rows of a system: losses are told by the norm of its solution */
    const int64_t judged = given->order ? given->order : n;
    call->p = call->route == ROUTE_SINGLE_BLOCK ? pivoting_of(o->pivot, n, false) : tiled_pivoting(o, judged);
    call->work = (T *)given->work, call->stream = (gpuStream_t)given->stream;
    call->marks = marks;
    call->options = o, call->plan = plan;
    return trine_gpu_limits(&call->limits);
}

template <typename T> trine_status solve_once(const gtsv_call<T> &call)
{
    if (call.route == ROUTE_STAGES) return solve_stages<T>(call);
    if constexpr (sizeof(real_of<T>) == sizeof(double))
        if (call.route == ROUTE_SINGLE_BLOCK) return solve_small<T>(call);
    return solve_tiled<T>(call);
}
/** ... with other right-hand sides and unknowns; of these there are no marks. */
template <typename T> trine_status solve_once(gtsv_call<T> call, given_columns<T> D, columns_of<T> X)
{
    call.D = D, call.X = X, call.marks = nullptr;
    return solve_once(call);
}

/** Solve, and once more with the residual, which is added; first: memory for the first solution. */
template <typename T> trine_status refine(const gtsv_call<T> &call, columns_of<T> first)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t blocks = (call.A.n + 255) / 256;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)call.nrhs);
    given_columns<T> refined = call.D;
    refined.guess = {first.data, first.ld};
    TRY(solve_once(call, call.D, first));
    if (call.route == ROUTE_SINGLE_BLOCK || (call.route != ROUTE_STAGES && takes_guess<T>(call))) {
        TRY(solve_once(call, refined, call.X)); /* residuals are computed as rows are read */
    } else {
        subtract_product<T><<<grid, 256, 0, call.stream>>>(call.A, refined, call.X);
        TRY(GPU_LAUNCHED("subtract_product"));
        TRY(solve_once(call, {{call.X.data, call.X.ld}, {}}, call.X));
        add_columns<T><<<grid, 256, 0, call.stream>>>(call.A.n, refined.guess, call.X);
        TRY(GPU_LAUNCHED("add_columns"));
    }
done:
    return status;
}

template <typename T>
trine_status takes_permuted_of(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *given,
                               bool *takes, trine_gtsv_path *path)
{
    gtsv_call<T, true> call;
    const trine_status status = pack<T>(o, plan, given, nullptr, &call);
    if (!status) *takes = takes_permuted<T>(call, path) || call.route == ROUTE_SINGLE_BLOCK;
    return status;
}
template <typename T> trine_status solve_permuted_of(const rpts_options *o, const rpts_plan *plan,
                                                     const struct gtsv_device_call *given, const gtsv_places *places)
{
    trine_status status = TRINE_SUCCESS;
    gtsv_call<T, true> call;
    TRY(pack<T>(o, plan, given, nullptr, &call));
    call.D.at = places->from, call.X.at = places->to, call.X.adds = places->adds;
    if constexpr (sizeof(real_of<T>) == sizeof(double))
        if (call.route == ROUTE_SINGLE_BLOCK) return solve_small<T>(call);
    TRY(solve_permuted<T>(call));
done:
    return status;
}

template <typename T> trine_status solve_of(const rpts_options *o, const rpts_plan *plan,
                                            const struct gtsv_device_call *given, const int32_t *marks)
{
    trine_status status = TRINE_SUCCESS;
    gtsv_call<T> call;
    TRY(pack<T>(o, plan, given, marks, &call));
    if (o->refine) TRY(refine(call, {call.work + plan->elements, plan->n}));
    else TRY(solve_once(call));
done:
    return status;
}

int64_t tiled_elements_of(trine_dtype t, int64_t n, int64_t nrhs, bool cyclic)
{
    static int64_t (*const elements[])(int64_t, int64_t,
                                       bool) = {nullptr, tiled_elements<float>, tiled_elements<double>,
                                                tiled_elements<complex_of<float>>, tiled_elements<complex_of<double>>};
    return elements[t](n, nrhs, cyclic);
}

gtsv_tile tile_of(trine_dtype t, int64_t nrhs)
{
    static gtsv_tile (*const tile[])(int64_t) = {nullptr, tiled_tile<float>, tiled_tile<double>,
                                                 tiled_tile<complex_of<float>>, tiled_tile<complex_of<double>>};
    return tile[t](nrhs);
}

trine_status solve_with_marks(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                              const int32_t *marks)
{
    static trine_status (*const run[])(const rpts_options *, const rpts_plan *, const struct gtsv_device_call *,
                                       const int32_t *) = {nullptr, solve_of<float>, solve_of<double>,
                                                           solve_of<complex_of<float>>, solve_of<complex_of<double>>};
    return run[call->t](o, plan, call, marks);
}

trine_status takes_places(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                          bool *takes, trine_gtsv_path *path)
{
    static trine_status (*const run[])(const rpts_options *, const rpts_plan *, const struct gtsv_device_call *, bool *,
                                       trine_gtsv_path *) = {
        nullptr, takes_permuted_of<float>, takes_permuted_of<double>, takes_permuted_of<complex_of<float>>,
        takes_permuted_of<complex_of<double>>};
    return run[call->t](o, plan, call, takes, path);
}
trine_status solve_with_places(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                               const gtsv_places *places)
{
    static trine_status (*const run[])(const rpts_options *, const rpts_plan *, const struct gtsv_device_call *,
                                       const gtsv_places *) = {
        nullptr, solve_permuted_of<float>, solve_permuted_of<double>, solve_permuted_of<complex_of<float>>,
        solve_permuted_of<complex_of<double>>};
    return run[call->t](o, plan, call, places);
}

trine_status solve(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call)
{
    return solve_with_marks(o, plan, call, nullptr);
}

} // namespace

extern "C" const struct gtsv_backend gtsv_cuda = {fused_rows_of, least_fused_rows_of, tiled_elements_of, solve};
extern "C" const struct gtsv_permuted_backend gtsv_permuted_cuda = {takes_places, solve_with_places};
extern "C" const struct gtsv_marks_backend gtsv_marks_cuda = {tile_of, solve_with_marks};
