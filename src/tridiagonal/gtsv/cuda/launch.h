/* gtsv on the GPU by tiles (gtsv/cuda/warp_tile.cuh): what the launching code and the rest of the module know of
 * each other. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_LAUNCH_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_LAUNCH_H

#include "tridiagonal/gtsv/cuda/call.cuh"
#include "tridiagonal/gtsv/zero_tiles.h"

/** Elements of workspace, for any device and route. */
template <typename T> int64_t tiled_elements(int64_t n, int64_t nrhs, bool cyclic);
/** What a mark stands for. */
template <typename T> gtsv_tile tiled_tile(int64_t nrhs);
/** May D have a guess? Not where tiles are taken in passes. */
template <typename T> bool takes_guess(const gtsv_call<T> &call);
/** A cyclic system has two rows or more. TRINE_ERR_UNSUPPORTED if the system does not fit where the route wants it. */
template <typename T> trine_status solve_tiled(const gtsv_call<T> &call);

/** With permuted rows: is the system solved so, and if not, how is it with rows in order? */
template <typename T> bool takes_permuted(const gtsv_call<T, true> &call, trine_gtsv_path *path);
template <typename T> trine_status solve_permuted(const gtsv_call<T, true> &call);

#endif
