/* Batches on the GPU whose systems are short (gtsv/cuda/cluster.cuh): a block or a cluster of blocks a system. */
#ifndef TRINE_TRIDIAGONAL_BATCH_SHORT_SYSTEMS_H
#define TRINE_TRIDIAGONAL_BATCH_SHORT_SYSTEMS_H

#include "tridiagonal/gtsv/cuda/launch.h"

/** Is a system small enough for a block, or for a cluster where the device has them? call.A: the first system;
 *  call.nrhs: how many there are. */
template <typename T> bool takes_systems(const gtsv_call<T> &call);
/** Right-hand side and solution k are those of system k, whose bands stand k * next elements behind call.A's. */
template <typename T> trine_status solve_systems(const gtsv_call<T> &call, int64_t next);

#endif
