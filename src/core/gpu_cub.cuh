/* Scan and sort of the GPU runtime's own library, under a name that another runtime can take. */
#ifndef TRINE_GPU_CUB_CUH
#define TRINE_GPU_CUB_CUH

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "core/gpu.h"

namespace gpucub = cub;

#endif
