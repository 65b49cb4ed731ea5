/* R y = g at the end of a cycle of GMRES, one block a column: one thread's sums, one after another, of numbers that all
 * threads have brought to shared memory. Names no runtime, so that tests run it on a CPU. */
#ifndef TRINE_KRYLOV_SMALL_SYSTEM_CUH
#define TRINE_KRYLOV_SMALL_SYSTEM_CUH

#include "krylov/cuda/program.cuh"

namespace {

constexpr int SMALL_THREADS = 128, SMALL_MOST = 32; /* columns of R that there is room for */
struct small_system {
    krylov_column column;
    krylov_scalar R[SMALL_MOST * (SMALL_MOST + 1) / 2], g[SMALL_MOST + 1];
    krylov_scalar coefficients[C_PROJECTIONS + 3 * (SMALL_MOST + 1)];
};

__global__ void __launch_bounds__(SMALL_THREADS)
    solve_small_systems(krylov_column *columns, unsigned flags, bool ends_cycle,
                        const __grid_constant__ krylov_parameters parameters)
{
    __shared__ small_system room;
    krylov_column *const c = &columns[blockIdx.x];
    const krylov_parameters p = parameters;
    const int me = (int)threadIdx.x, size = c->size;
    if ((c->flags & flags) != flags) return;
    if (p.restart > SMALL_MOST) {
        if (me == 0) take_step(ends_cycle ? KRYLOV_GMRES_END : KRYLOV_GMRES_SOLVE, c, &p, 0);
        return;
    }
    copy_column(&room.column, c);
    if (ends_cycle && me == SMALL_THREADS - 1) krylov_end_of_cycle(c);
    for (int k = me; k < size * (size + 1) / 2; k += SMALL_THREADS) room.R[k] = c->R[k];
    if (me <= size) room.g[me] = c->g[me];
    __syncthreads();
    if (me == 0) {
        room.column.R = room.R, room.column.g = room.g, room.column.coefficients = room.coefficients;
        krylov_gmres_solve(&room.column, &p);
    }
    __syncthreads();
    const int y = krylov_pass(&p, 2) + me;
    if (me < size) c->coefficients[y] = room.coefficients[y];
}

} // namespace

#endif
