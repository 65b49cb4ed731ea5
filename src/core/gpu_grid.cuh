/* Grids for kernels that go over blocks of vectors, a thread an element. */
#ifndef TRINE_CORE_GPU_GRID_CUH
#define TRINE_CORE_GPU_GRID_CUH

#include <cstdint>

#include "core/gpu.h"

struct element_grid { dim3 grid, block; };

/** For nx x ny elements, contiguous along x: neighbouring threads have neighbouring elements, and a block that is
 *  narrow takes several lines. Where the grid ends before the elements do, threads go on a grid further. */
inline element_grid grid_of_elements(int64_t nx, int64_t ny)
{
    constexpr unsigned threads = 256;
    auto blocks = [](int64_t count, int64_t a_block, int64_t most) {
        const int64_t needed = (count + a_block - 1) / a_block;
        return static_cast<unsigned>(needed < most ? needed : most);
    };
    unsigned width = 1;
    while (width < threads && width < nx) width *= 2;
    const dim3 block(width, threads / width);
    return {dim3(blocks(nx, block.x, 1 << 20), blocks(ny, block.y, 65535)), block};
}

#endif
