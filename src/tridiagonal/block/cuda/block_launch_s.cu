/* Block tridiagonal and banded solves on the GPU in one precision. */
#include "tridiagonal/block/cuda/block_launch.cuh"

namespace trine_block {
template trine_status solve_of<float>(const block_call *);
template trine_status solve_scalar_of<float>(const block_call *);
template trine_status factor_of<float>(const block_call *);
template trine_status substitute_of<float>(const block_call *);
} // namespace trine_block
