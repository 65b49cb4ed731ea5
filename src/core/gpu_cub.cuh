/* Scan and sort of the GPU runtime's own library, under a name that another runtime can take. */
#ifndef TRINE_CORE_GPU_CUB_CUH
#define TRINE_CORE_GPU_CUB_CUH

#include "core/gpu.h"

#ifdef __HIP__
#include "core/gpu_cub_hip.cuh"
#else
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>

namespace gpucub = cub;
#endif

#endif
