/* gtsv on the GPU by tiles (gtsv/cuda/warp_tile.cuh): what the launching code and the rest of the module know of each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_LAUNCH_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_LAUNCH_H

#include "core/gpu_limits.h"
#include "tridiagonal/gtsv/zero_tiles.h"
#include "tridiagonal/common/system.cuh"

/** What decides where a system is solved. In part: the stream has these multiprocessors of a device with more. */
struct stream_limits : gpu_limits { bool in_part; };

/** How a system may be solved: in one kernel that keeps it on the chip, by two passes over it, by one pass that the exact kernels
 *  follow where it is not certain, or whichever is faster. */
enum tiled_route { ROUTE_ANY, ROUTE_ON_CHIP, ROUTE_TWO_PASS, ROUTE_ONE_PASS };

template <typename T> struct tiled_call {
    system_of<T> A; /* cyclic: of two rows or more */
    int pivot;
    int64_t nrhs;
    given_columns<T> D;
    columns_of<T> X;
    T *work;        /* tiled_elements of them */
    stream_limits limits;
    tiled_route route;
    gpuStream_t stream;
    bool follows;   /* the right-hand sides come from a kernel that lets its follower start early */
    int32_t *fallback; /* flag (is_not_needed) of the coarse system behind one pass; else NULL */
    const int32_t *marks; /* of D, where that is X; else NULL */
    int64_t whole;        /* rows of the system that this one is a coarse one of, or is itself */
};

/** Elements of workspace, for any device and route. */
template <typename T> int64_t tiled_elements(int64_t n, int64_t nrhs, bool cyclic);
/** What a mark stands for. */
template <typename T> gtsv_tile tiled_tile(int64_t nrhs);
/** May D have a guess? Not where tiles are taken in passes. */
template <typename T> bool takes_guess(const tiled_call<T> &call);
/** TRINE_ERR_UNSUPPORTED if the system does not fit where the route wants it. */
template <typename T> trine_status solve_tiled(const tiled_call<T> &call);

#endif
