/* R y = g at the end of a cycle of GMRES, one warp a column. As krylov_gmres_solve does it, but for the order of sums:
 * each lane has an unknown, from which all that are known are taken one after another. Names no runtime, so that tests
 * run it on a CPU. */
#ifndef TRINE_KRYLOV_SMALL_SYSTEM_CUH
#define TRINE_KRYLOV_SMALL_SYSTEM_CUH

#include "krylov/cuda/program.cuh"

namespace {

constexpr int SMALL_THREADS = 32, SMALL_MOST = 32; /* columns of R that there is room for: one a lane */
struct small_system {
    krylov_scalar R[SMALL_MOST * (SMALL_MOST + 1) / 2], g[SMALL_MOST + 1];
    __device__ krylov_scalar entry(int row, int column) const { return R[column * (column + 1) / 2 + row]; }
};

/** The lane's unknown of R y = g for the first `size` columns; of_column: 4 eps times the sizes of the lane's column.
 *  Returns what rounding may add to the residual of V y, the same in all lanes. */
__device__ double solve_first(const small_system &s, int size, double of_column, krylov_scalar *y)
{
    const int me = (int)threadIdx.x % 32;
    krylov_scalar sum = me < size ? s.g[me] : krylov_real(0);
    *y = krylov_real(0);
    for (int k = size - 1; k >= 0; k--) {
        if (me == k) *y = krylov_over(sum, s.entry(k, k));
        const krylov_scalar known = {__shfl_sync(~0u, y->re, k), __shfl_sync(~0u, y->im, k)};
        if (me < k) sum = krylov_add(sum, krylov_minus(krylov_times(s.entry(me, k), known)));
    }
    return warp_sum(me < size ? of_column * krylov_size(*y) : 0);
}

__global__ void __launch_bounds__(SMALL_THREADS)
    solve_small_systems(krylov_column *columns, unsigned flags, bool ends_cycle,
                        const __grid_constant__ krylov_parameters parameters)
{
    __shared__ small_system s;
    krylov_column *const c = &columns[blockIdx.x];
    const krylov_parameters p = parameters;
    const int me = (int)threadIdx.x, size = c->size;
    if ((c->flags & flags) != flags) return;
    if (p.restart > SMALL_MOST) {
        if (me == 0) take_step(ends_cycle ? KRYLOV_GMRES_END : KRYLOV_GMRES_SOLVE, c, &p, 0);
        return;
    }
    for (int k = me; k < size * (size + 1) / 2; k += SMALL_THREADS) s.R[k] = c->R[k];
    for (int k = me; k <= size; k += SMALL_THREADS) s.g[k] = c->g[k];
    __syncwarp();
    if (ends_cycle && me == 0) krylov_end_of_cycle(c);
    double of_column = 0;
    for (int l = 0; l <= me && me < size; l++) of_column += 4 * p.eps * krylov_size(s.entry(l, me));
    krylov_scalar y, best_y;
    double estimate = krylov_size(s.g[size]), least = estimate + solve_first(s, size, of_column, &best_y);
    for (int first = size - 1; first >= 0; first--) {
        estimate = hypot(estimate, krylov_size(s.g[first]));
        if (!(estimate < least)) break; /* with fewer columns it is larger still */
        const double promised = estimate + solve_first(s, first, of_column, &y);
        if (promised < least) least = promised, best_y = y;
    }
    if (me < size) c->coefficients[krylov_pass(&p, 2) + me] = best_y;
}

} // namespace

#endif
