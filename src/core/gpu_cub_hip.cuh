/* What gpu_cub.cuh stands for, with rocPRIM: CUB's calls and their arguments, for HIP. */
#ifndef TRINE_CORE_GPU_CUB_HIP_CUH
#define TRINE_CORE_GPU_CUB_HIP_CUH

#include <rocprim/rocprim.hpp>

namespace gpucub {

struct DeviceScan {
    template <typename In, typename Out> static hipError_t ExclusiveSum(void *scratch, size_t &bytes, const In *in,
                                                                        Out *out, int64_t n, hipStream_t stream)
    {
        return rocprim::exclusive_scan(scratch, bytes, in, out, Out(0), (size_t)n, rocprim::plus<Out>(), stream);
    }
};
struct DeviceRadixSort {
    template <typename Key, typename Value>
    static hipError_t SortPairs(void *scratch, size_t &bytes, const Key *keys, Key *keys_out, const Value *values,
                                Value *values_out, int64_t n, int first_bit, int end_bit, hipStream_t stream)
    {
        return rocprim::radix_sort_pairs(scratch, bytes, keys, keys_out, values, values_out, (size_t)n,
                                         (unsigned)first_bit, (unsigned)end_bit, stream);
    }
};
struct DeviceSegmentedSort {
    template <typename Key, typename Value, typename Offset>
    static hipError_t SortPairs(void *scratch, size_t &bytes, const Key *keys, Key *keys_out, const Value *values,
                                Value *values_out, int64_t n, int64_t segments, const Offset *begin, const Offset *end,
                                hipStream_t stream)
    {
        return rocprim::segmented_radix_sort_pairs(scratch, bytes, keys, keys_out, values, values_out, (unsigned)n,
                                                   (unsigned)segments, begin, end, 0, 8 * (unsigned)sizeof(Key),
                                                   stream);
    }
};
template <typename Key, int THREADS, int ITEMS> struct BlockRadixSort {
    using sort = rocprim::block_radix_sort<Key, THREADS, ITEMS>;
    using TempStorage = typename sort::storage_type;
    TempStorage &storage;
    __device__ explicit BlockRadixSort(TempStorage &t) : storage(t) {}
    __device__ void Sort(Key (&keys)[ITEMS]) { sort().sort(keys, storage); }
};
template <typename T, int THREADS> struct BlockScan {
    using scan = rocprim::block_scan<T, THREADS>;
    using TempStorage = typename scan::storage_type;
    TempStorage &storage;
    __device__ explicit BlockScan(TempStorage &t) : storage(t) {}
    template <int ITEMS> __device__ void ExclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], T &total)
    {
        scan().exclusive_scan(in, out, T(0), total, storage);
    }
};

} // namespace gpucub

#endif
