/* Launches of a block tridiagonal or banded solve on the GPU. */
#ifndef TRINE_TRIDIAGONAL_BLOCK_CUDA_BLOCK_LAUNCH_CUH
#define TRINE_TRIDIAGONAL_BLOCK_CUDA_BLOCK_LAUNCH_CUH

#include <algorithm>

#include "core/gpu_limits.h"
#include "tridiagonal/block/cuda/chain.cuh"
#include "tridiagonal/block/cuda/copy.cuh"
#include "tridiagonal/block/cuda/factor.cuh"
#include "tridiagonal/block/cuda/narrow.cuh"
#include "tridiagonal/block/cuda/pairs.cuh"
#include "tridiagonal/block/cuda/reduce.cuh"
#include "tridiagonal/block/cuda/one_band.cuh"

namespace trine_block {

/* ------------------------------------------------------------------ launches */

/** Stage k, its factors in `factorization` and its right-hand sides in `rhs`. */
template <typename T> stage_of<T> make_stage(const block_call *call, int k, T *factorization, T *rhs)
{
    const block_stage *b = &call->plan.stage[k];
    T *matrices = factorization + call->plan.factor_elements;
    const bool last = k == call->plan.stages - 1;
    stage_of<T> s = {};
    s.A = call->A;
    s.matrix = matrices + b->matrix;
    s.coarse = last ? nullptr : matrices + call->plan.stage[k + 1].matrix;
    s.partitions = s.count = b->partitions, s.base = b->base, s.larger = b->larger, s.groups = b->groups;
    s.nrhs = call->o.nrhs;
    s.cyclic = call->plan.cyclic;
    s.pivot = call->o.pivot;
    s.epsilon = (real_of<T>)call->o.epsilon;
    s.X = rhs + b->rhs * s.nrhs; /* stage 0 has the caller's */
    s.ldx = b->groups * 2 * call->plan.width;
    s.D = s.X, s.ldd = s.ldx;
    s.coarse_x = last ? nullptr : rhs + call->plan.stage[k + 1].rhs * s.nrhs;
    s.coarse_ld = b->partitions * 2 * call->plan.width;
    s.has_multipliers = b->keeps == BLOCK_KEEP_FACTORS;
    s.chunks = b->keeps == BLOCK_KEEP_NOTHING ? nullptr : factorization + b->factor;
    s.scales = (uint16_t *)(matrices + call->plan.matrix_elements);
    s.pivots = (uint8_t *)s.scales + b->pivots;
    s.is_scaled = k == 0 && block_is_scaled(&call->A, call->o.pivot, call->o.epsilon);
    s.rhs_is_scaled = call->rhs_is_scaled;
    return s;
}

/** Partitions first ... first + count - 1 of the first stage. */
template <typename T> stage_of<T> part_of(const stage_of<T> &whole, int64_t first, int64_t count)
{
    stage_of<T> s = whole;
    s.first = first, s.count = count;
    s.larger = std::max<int64_t>(0, std::min(whole.larger - first, count));
    s.first_group = first * whole.base + std::min(first, whole.larger);
    return s;
}

/** The first of the stages that one kernel does, with one right-hand side; and how many blocks and warps it has. */
struct chain_size { int blocks, warps; };
int first_chained(const block_call *call);
chain_size size_of_chain(int64_t partitions, bool clusters, int most_warps);

/** Where a small factorization has the matrix: op(A) of the caller's blocks, as these lie. */
template <typename T> block_matrix matrix_behind(const block_call *call, const T *factorization)
{
    const T *copy = (const T *)((const char *)factorization + call->factor_bytes);
    const int64_t band = call->A.rows_given * call->A.n_given * call->A.n_given;
    block_matrix A = call->A;
    A.a = copy, A.b = copy + band, A.c = copy + 2 * band;
    A.op = TRINE_N;
    return A;
}
template <typename T> trine_status copy_matrix(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t blocks = (call->A.rows_given * call->A.n_given * call->A.n_given + 255) / 256;
    copy_blocks<T><<<(unsigned)std::min<int64_t>(blocks, 65535), 256, 0, (gpuStream_t)call->stream>>>(
        call->A, (T *)((char *)call->factor + call->factor_bytes));
    TRY(GPU_LAUNCHED("copy_blocks"));
done:
    return status;
}

/** All kernels of one width. */
template <typename T, int N> struct width_of {
    /* rows of a lane, lanes of a partition in `reduce`; its right-hand sides */
    static constexpr int R = ROWS_A_LANE<T, N>, LANES = 3 * N / R, TOGETHER = 4;

    /** Run a kernel for each partition (by ON lanes) and `batch` right-hand sides. */
    template <int ON> static trine_status launch(void (*kernel)(stage_of<T>), const stage_of<T> &s, int batch,
                                                 size_t bytes, gpuStream_t stream)
    {
        trine_status status = TRINE_SUCCESS;
        const dim3 grid((unsigned)blocks_of<ON>(s), (unsigned)((s.nrhs + batch - 1) / batch));
        if (bytes) TRY(trine_gpu_prefer_shared((const void *)kernel, bytes));
        kernel<<<grid, WARP, bytes, stream>>>(s);
        TRY(GPU_LAUNCHED("a stage of a block tridiagonal solve"));
done:
        return status;
    }

    /** What stands in for the first stage of bands in pairs: gather_pairs, or move_pairs of all right-hand sides. */
    static trine_status launch_pairs(void (*kernel)(stage_of<T>), const stage_of<T> &s, int64_t elements, int64_t nrhs,
                                     gpuStream_t stream)
    {
        trine_status status = TRINE_SUCCESS;
        const int64_t blocks = (s.partitions * elements + 255) / 256;
        kernel<<<dim3((unsigned)(blocks < 65535 ? blocks : 65535), (unsigned)nrhs), 256, 0, stream>>>(s);
        TRY(GPU_LAUNCHED("pairs of block columns of a cyclic banded solve"));
done:
        return status;
    }
    template <int RHS> static trine_status first_stage(const stage_of<T> &s, gpuStream_t stream)
    {
        if (s.A.paired) {
            trine_status status = TRINE_SUCCESS;
            TRY(launch_pairs(gather_pairs<T>, s, 8 * N * N, 1, stream));
            TRY(launch_pairs(move_pairs<T, false>, s, 2 * N, s.nrhs, stream));
done:
            return status;
        }
        const bool plain = tile<T, N, LANES, RHS>::is_plain(s.A);
        return launch<LANES>(plain ? reduce<T, N, RHS, R, true> : reduce<T, N, RHS, R, false>, s, RHS ? RHS : 1,
                             reduce_bytes<T, N, RHS, R>(s.nrhs), stream);
    }
    /** Factor stages from `first` up to `end`; `factor` is a factorization as in block/common/layout.h. rhs, if not
     *  NULL: the one right-hand side of coarse stages, which is eliminated on the way. */
    static trine_status factor_stages(const block_call *call, int first, int end, T *factorization, T *rhs)
    {
        constexpr int COARSE = COARSE_ROWS_A_LANE<T, N>;
        trine_status status = TRINE_SUCCESS;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        for (int k = first; k < end; k++) {
            stage_of<T> s = make_stage<T>(call, k, factorization, rhs);
            s.nrhs = 1;
            if (k == 0) TRY(first_stage<0>(s, stream));
            else
                TRY(launch<4 * N / COARSE>(rhs ? factor<T, N, 1> : factor<T, N, 0>, s, 1, factor_bytes<T, N>(),
                                           stream));
        }
done:
        return status;
    }
    /** Solve the stages from `first` on, with their one right-hand side, in one kernel. */
    template <bool GIVEN> static trine_status run_chain(const chain_of<T> &it, gpuStream_t stream)
    {
        using shape = chain_shape<T, N>;
        const auto kernel = chain<T, N, GIVEN>;
        trine_status status = TRINE_SUCCESS;
        gpu_limits limits;
        chain_size size;
        TRY(trine_gpu_limits(&limits));
        size = size_of_chain(it.stage[0].partitions, limits.clusters,
                             std::min(shape::WARPS, limits.shared_bytes / shape::BYTES));
        TRY(trine_gpu_prefer_shared((const void *)kernel, (size_t)size.warps * shape::BYTES));
        TRY(GPU(launch_cluster(kernel, it, size.blocks, size.warps * WARP, (size_t)size.warps * shape::BYTES, stream)));
done:
        return status;
    }
    static chain_of<T> make_chain(const block_call *call, int first, T *factorization, T *rhs)
    {
        chain_of<T> it = {};
        for (int k = first; k < call->plan.stages; k++)
            it.stage[it.stages++] = make_stage<T>(call, k, factorization, rhs);
        return it;
    }
    /** Solve on coarse stages, which have one right-hand side and have not been factored. */
    static trine_status solve_coarse(const block_call *call, int chained, T *factorization, T *rhs)
    {
        const gpuStream_t stream = (gpuStream_t)call->stream;
        trine_status status = TRINE_SUCCESS;
        TRY(factor_stages(call, 1, chained, factorization, rhs));
        TRY(run_chain<false>(make_chain(call, chained, factorization, rhs), stream));
        for (int k = chained - 1; k > 0; k--)
            TRY(backward_stage<1>(make_stage<T>(call, k, factorization, rhs), k, stream));
done:
        return status;
    }
    template <int NR> static trine_status forward_stage(const stage_of<T> &s, int k, gpuStream_t stream)
    {
        return k == 0 ? launch<3 * N>(forward<T, N, 1, NR>, s, NR, 0, stream)
                      : launch<4 * N>(forward<T, N, 2, NR>, s, NR, 0, stream);
    }
    template <int NR> static trine_status backward_stage(const stage_of<T> &s, int k, gpuStream_t stream)
    {
        if (k == 0 && s.A.paired) return launch_pairs(move_pairs<T, true>, s, 2 * N, s.nrhs, stream);
        return launch<N>(k == 0 ? backward<T, N, 1, NR> : backward<T, N, 2, NR>, s, NR, 0, stream);
    }
    /** Solve on stages from `first` on, with what their right-hand sides are; stage 0 has D and X. */
    static trine_status solve_stages(const block_call *call, int first, T *factorization, T *rhs, const T *D,
                                     int64_t ldd, T *X, int64_t ldx)
    {
        trine_status status = TRINE_SUCCESS;
        const int last = call->plan.stages - 1;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        for (int k = first; k <= 2 * last + 1 - first; k++) { /* down, and up */
            const int at = k <= last ? k : 2 * last + 1 - k;
            stage_of<T> s = make_stage<T>(call, at, factorization, rhs);
            if (at == 0) s.D = D, s.ldd = ldd, s.X = X, s.ldx = ldx;
            if (k <= last) TRY(s.nrhs == 1 ? forward_stage<1>(s, at, stream) : forward_stage<4>(s, at, stream));
            else TRY(s.nrhs == 1 ? backward_stage<1>(s, at, stream) : backward_stage<4>(s, at, stream));
        }
done:
        return status;
    }

    /** Does a lane do a partition alone? Of narrow blocks in a plain matrix, with the usual pivot decisions, where
     *  partitions are many. */
    enum { MANY_PARTITIONS = 4096 };
    static constexpr bool MAY_BE_NARROW = 3 * N * 5 * N * sizeof(T) <= 540; /* registers */
    static bool is_narrow(const stage_of<T> &s)
    {
        return MAY_BE_NARROW && s.partitions >= MANY_PARTITIONS && s.pivot == TRINE_PIVOT_SCALED_PARTIAL &&
               !(s.epsilon > 0) && !s.A.paired && tile<T, N, 1, 1>::is_plain(s.A);
    }
    static trine_status reduce_by_lanes(const stage_of<T> &s, gpuStream_t stream)
    {
        if constexpr (MAY_BE_NARROW) return launch<1>(reduce_narrow<T, N>, s, 1, narrow_bytes<T, N>(), stream);
        return TRINE_SUCCESS;
    }
    static trine_status backward_by_lanes(const stage_of<T> &s, gpuStream_t stream)
    {
        if constexpr (MAY_BE_NARROW) return launch<1>(substitute_narrow<T, N>, s, 1, solution_bytes<T, N>(), stream);
        return TRINE_SUCCESS;
    }

    /** The way up through the first stage, of which nothing has been kept: plan.slots partitions at a time are
     *  eliminated again. */
    static trine_status backward_again(const block_call *call, const stage_of<T> &whole, bool narrow, T *slots,
                                       gpuStream_t stream)
    {
        trine_status status = TRINE_SUCCESS;
        for (int64_t p = 0; p < whole.partitions; p += call->plan.slots) {
            stage_of<T> up = part_of(whole, p, std::min(call->plan.slots, whole.partitions - p));
            up.chunks = slots, up.coarse = nullptr;
            stage_of<T> down = up;
            down.coarse_x = nullptr;
            if (narrow) {
                TRY(reduce_by_lanes(down, stream));
                TRY(backward_by_lanes(up, stream));
            } else if (whole.nrhs == 1) {
                TRY(first_stage<1>(down, stream));
                TRY(backward_stage<1>(up, 0, stream));
            } else {
                TRY(first_stage<TOGETHER>(down, stream));
                TRY(backward_stage<4>(up, 0, stream));
            }
        }
done:
        return status;
    }
    /** X := op(A)^-1 D with the coarse stages of a factorization and the matrix behind it. */
    static trine_status solve_with_matrix(const block_call *call, const T *D, int64_t ldd, T *X, int64_t ldx,
                                          T *factorization, T *rhs, T *slots)
    {
        trine_status status = TRINE_SUCCESS;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        stage_of<T> s = make_stage<T>(call, 0, factorization, rhs);
        s.D = D, s.ldd = ldd, s.X = X, s.ldx = ldx;
        s.A = matrix_behind<T>(call, factorization);
        s.coarse = nullptr;
        TRY(s.nrhs == 1 ? first_stage<1>(s, stream) : first_stage<TOGETHER>(s, stream));
        TRY(solve_stages(call, 1, factorization, rhs, nullptr, 0, nullptr, 0));
        TRY(backward_again(call, s, false, slots, stream));
done:
        return status;
    }

    /** X := op(A)^-1 D. */
    static trine_status solve(const block_call *call, const T *D, int64_t ldd, T *X, int64_t ldx, T *factorization,
                              T *rhs, T *slots)
    {
        trine_status status = TRINE_SUCCESS;
        const gpuStream_t stream = (gpuStream_t)call->stream;
        stage_of<T> s = make_stage<T>(call, 0, factorization, rhs);
        s.D = D, s.ldd = ldd, s.X = X, s.ldx = ldx;
        const int chained = first_chained(call);
        if (s.nrhs == 1 && chained == 0) {
            chain_of<T> it = make_chain(call, 0, factorization, rhs);
            it.stage[0] = s;
            TRY(run_chain<true>(it, stream));
        } else if (s.nrhs == 1) {
            const bool narrow = is_narrow(s);
            TRY(narrow ? reduce_by_lanes(s, stream) : first_stage<1>(s, stream));
            TRY(solve_coarse(call, chained, factorization, rhs));
            if (call->plan.is_small) TRY(backward_again(call, s, narrow, slots, stream));
            else TRY(narrow ? backward_by_lanes(s, stream) : backward_stage<1>(s, 0, stream));
        } else {
            TRY(first_stage<TOGETHER>(s, stream));
            TRY(factor_stages(call, 1, call->plan.stages, factorization, nullptr));
            TRY(solve_stages(call, 1, factorization, rhs, nullptr, 0, nullptr, 0));
            if (call->plan.is_small) TRY(backward_again(call, s, false, slots, stream));
            else TRY(backward_stage<4>(s, 0, stream));
        }
done:
        return status;
    }
    static trine_status factorize(const block_call *call)
    {
        trine_status status = TRINE_SUCCESS;
        block_call from = *call;
        if (call->plan.is_small) { /* by the very kernels that will solve with it: from the copy */
            TRY(copy_matrix<T>(call));
            from.A = matrix_behind<T>(call, (T *)call->factor);
        }
        TRY(factor_stages(&from, 0, call->plan.stages, (T *)call->factor, nullptr));
done:
        return status;
    }
    static trine_status substitute_all(const block_call *call, const block_work *at)
    {
        const T *D = (const T *)call->D;
        T *X = (T *)call->X, *factorization = (T *)call->factor, *rhs = (T *)at->rhs;
        return call->plan.is_small
                   ? solve_with_matrix(call, D, call->ldd, X, call->ldx, factorization, rhs, (T *)at->slots)
                   : solve_stages(call, 0, factorization, rhs, D, call->ldd, X, call->ldx);
    }
};

template <typename T> trine_status solve_with(const block_call *call, const T *D, int64_t ldd, T *X, int64_t ldx,
                                              const block_work *at)
{
    T *factorization = (T *)call->work, *rhs = (T *)at->rhs, *slots = (T *)at->slots;
    switch (call->A.width) {
    case 2: return width_of<T, 2>::solve(call, D, ldd, X, ldx, factorization, rhs, slots);
    case 3: return width_of<T, 3>::solve(call, D, ldd, X, ldx, factorization, rhs, slots);
    case 4: return width_of<T, 4>::solve(call, D, ldd, X, ldx, factorization, rhs, slots);
    default: return width_of<T, 8>::solve(call, D, ldd, X, ldx, factorization, rhs, slots);
    }
}

/** Elements that the columns' errors take with refinement, for each right-hand side. */
constexpr int ERROR_ELEMENTS = 2;

/** The entry points of one precision: see struct block_backend. */
template <typename T> trine_status solve_of(const block_call *call)
{
    block_call correction = *call;
    trine_status status = TRINE_SUCCESS;
    const int64_t n = call->A.n, nrhs = call->o.nrhs, blocks = (n + 255) / 256;
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)nrhs);
    const gpuStream_t stream = (gpuStream_t)call->stream;
    const bool is_scaled = block_is_scaled(&call->A, call->o.pivot, call->o.epsilon);
    const T *D = (const T *)call->D;
    T *X = (T *)call->X, *kept, *residual;
    column_errors *errors;
    block_work at;
    size_t bytes;
    TRY(block_lay_out(call, call->factor_bytes, ERROR_ELEMENTS, &at, &bytes));
    kept = (T *)at.vectors, residual = kept + n * nrhs, errors = (column_errors *)(residual + n * nrhs);
    correction.rhs_is_scaled = call->A.banded && is_scaled;
    if (call->o.refine) {
        keep_columns<T><<<grid, 256, 0, stream>>>(n, D, call->ldd, kept, call->A.banded, errors);
        TRY(GPU_LAUNCHED("keep_columns"));
    }
    TRY(solve_with<T>(call, D, call->ldd, X, call->ldx, &at));
    if (call->o.refine) {
        subtract_product<T, false><<<grid, 256, 0, stream>>>(call->A, is_scaled, kept, X, call->ldx, residual, errors);
        TRY(GPU_LAUNCHED("subtract_product"));
        TRY(solve_with<T>(&correction, residual, n, residual, n, &at));
        add_columns<T><<<grid, 256, 0, stream>>>(n, residual, X, call->ldx, errors);
        TRY(GPU_LAUNCHED("add_columns"));
    }
    if (call->o.refine && block_may_be_sequential(&call->A, call->o.pivot, call->o.epsilon)) {
        subtract_product<T, true><<<grid, 256, 0, stream>>>(call->A, is_scaled, kept, X, call->ldx, nullptr, errors);
        TRY(GPU_LAUNCHED("subtract_product"));
        solve_by_rows<T>
            <<<1, WARP, 0, stream>>>(call->A, nrhs, (T *)at.sequential, kept, X, call->ldx, residual, errors);
        TRY(GPU_LAUNCHED("solve_by_rows"));
    }
done:
    return status;
}
template <typename T> trine_status factor_of(const block_call *call)
{
    switch (call->A.width) {
    case 2: return width_of<T, 2>::factorize(call);
    case 3: return width_of<T, 3>::factorize(call);
    case 4: return width_of<T, 4>::factorize(call);
    default: return width_of<T, 8>::factorize(call);
    }
}
template <typename T> trine_status substitute_of(const block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    block_work at;
    size_t bytes;
    TRY(block_lay_out(call, 0, ERROR_ELEMENTS, &at, &bytes));
    switch (call->A.width) {
    case 2: return width_of<T, 2>::substitute_all(call, &at);
    case 3: return width_of<T, 3>::substitute_all(call, &at);
    case 4: return width_of<T, 4>::substitute_all(call, &at);
    default: return width_of<T, 8>::substitute_all(call, &at);
    }
done:
    return status;
}

extern template trine_status solve_of<float>(const block_call *);
extern template trine_status solve_of<double>(const block_call *);
extern template trine_status solve_of<complex_of<float>>(const block_call *);
extern template trine_status solve_of<complex_of<double>>(const block_call *);
extern template trine_status factor_of<float>(const block_call *);
extern template trine_status factor_of<double>(const block_call *);
extern template trine_status factor_of<complex_of<float>>(const block_call *);
extern template trine_status factor_of<complex_of<double>>(const block_call *);
extern template trine_status substitute_of<float>(const block_call *);
extern template trine_status substitute_of<double>(const block_call *);
extern template trine_status substitute_of<complex_of<float>>(const block_call *);
extern template trine_status substitute_of<complex_of<double>>(const block_call *);

} // namespace trine_block

#endif
