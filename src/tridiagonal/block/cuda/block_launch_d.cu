/* Block tridiagonal and banded solves on the GPU in one precision. */
#include "tridiagonal/block/cuda/block_launch.cuh"

namespace trine_block {
template trine_status solve_of<double>(const block_call *);
template trine_status solve_scalar_of<double>(const block_call *);
template trine_status factor_of<double>(const block_call *);
template trine_status substitute_of<double>(const block_call *);
} // namespace trine_block
