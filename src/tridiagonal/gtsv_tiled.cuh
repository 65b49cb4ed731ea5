/* Template of the launches: included by one small source file per precision, which keeps compile times apart. */
#include "tridiagonal/gtsv_tiled.h"
#include "tridiagonal/rpts_resident.cuh"
#include "tridiagonal/rpts_two_pass.cuh"

namespace {

/** Rows of a partition: few where many warps shorten the way, many where shared memory is to be filled. The pivot rows of a
 *  partition stay in registers, which bounds them. */
template <typename T, int NR> constexpr int SHORT = sizeof(T) == 16 ? 4 : 8;
template <typename T, int NR> constexpr int LONG = NR == 1 ? (int)(128 / sizeof(T)) : (int)(64 / sizeof(T));

template <typename T> int64_t aligned_rows(int64_t n) { return (n + 3) / 4 * 4; }
int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

/** Let a kernel have these bytes a block; with several blocks on a multiprocessor, prefer shared memory to cache. */
template <typename Kernel> trine_status allow_shared_memory(Kernel kernel, size_t bytes, bool several)
{
    trine_status status = TRINE_SUCCESS;
    if (bytes > 48 * 1024) TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    if (several) TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributePreferredSharedMemoryCarveout, gpuSharedmemCarveoutMaxShared)));
done:
    return status;
}

template <typename T, int NR, int M> size_t resident_bytes(int64_t warps) { return (size_t)warps * tile<T, NR, M>::BYTES + exchange_bytes<T, NR>(); }

/** A launch and up to two of its attributes. */
struct launch {
    gpuLaunchConfig_t config = {};
    gpuLaunchAttribute attributes[2] = {};
    launch(dim3 grid, int warps, size_t bytes, gpuStream_t stream)
    {
        config.gridDim = grid, config.blockDim = dim3((unsigned)(warps * WARP));
        config.dynamicSmemBytes = bytes, config.stream = stream, config.attrs = attributes;
    }
    gpuLaunchAttribute &add(gpuLaunchAttributeID id)
    {
        attributes[config.numAttrs].id = id;
        return attributes[config.numAttrs++];
    }
    /** After another kernel of ours that lets it start early. */
    void follow(const device_limits &limits)
    {
        if (limits.major >= 9) add(gpuLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
    }
};

template <typename T, int NR, int M> trine_status launch_cluster(const tiled_call<T> &call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t tiles = quotient(call.A.n, tile<T, NR, M>::ROWS);
    int blocks = 1;
    while (blocks < LARGEST_CLUSTER && blocks < tiles) blocks *= 2;
    const int warps = (int)quotient(tiles, blocks);
    const size_t bytes = resident_bytes<T, NR, M>(warps);
    const auto kernel = solve_resident<T, NR, M, CLUSTER>;
    const resident_solve<T> solve = {call.A, pivoting_of(call.pivot), call.nrhs, call.D, call.X, nullptr};
    launch how(dim3((unsigned)blocks, (unsigned)quotient(call.nrhs, NR)), warps, bytes, call.stream);
    TRY(allow_shared_memory(kernel, bytes, false));
    if (blocks > 8) TRY(GPU(gpuFuncSetAttribute((const void *)kernel, gpuFuncAttributeNonPortableClusterSizeAllowed, 1)));
    how.add(gpuLaunchAttributeClusterDimension).val.clusterDim = {(unsigned)blocks, 1, 1};
    if (call.follows) how.follow(call.limits);
    TRY(GPU(gpuLaunchKernelEx(&how.config, kernel, solve)));
done:
    return status;
}

template <typename T, int NR, int M> trine_status launch_grid(const tiled_call<T> &call)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t tiles = quotient(call.A.n, tile<T, NR, M>::ROWS), most = call.limits.multiprocessors < EXCHANGED ? call.limits.multiprocessors : EXCHANGED;
    const int warps = (int)quotient(tiles, most), blocks = (int)quotient(tiles, warps);
    const size_t bytes = resident_bytes<T, NR, M>(warps);
    const auto kernel = solve_resident<T, NR, M, GRID>;
    const resident_solve<T> solve = {call.A, pivoting_of(call.pivot), call.nrhs, call.D, call.X, call.work};
    launch how(dim3((unsigned)blocks), warps, bytes, call.stream);
    TRY(allow_shared_memory(kernel, bytes, false));
    how.add(gpuLaunchAttributeCooperative).val.cooperative = 1;
    TRY(GPU(gpuLaunchKernelEx(&how.config, kernel, solve)));
done:
    return status;
}

template <typename T, int NR, int M> bool fits_cluster(const tiled_call<T> &call)
{
    const int64_t tiles = quotient(call.A.n, tile<T, NR, M>::ROWS);
    return call.limits.major >= 9 && tiles <= EXCHANGED &&
           resident_bytes<T, NR, M>(quotient(tiles, LARGEST_CLUSTER)) <= (size_t)call.limits.shared_bytes;
}
template <typename T, int NR, int M> bool fits_grid(const tiled_call<T> &call)
{
    const int64_t blocks = call.limits.multiprocessors < EXCHANGED ? call.limits.multiprocessors : EXCHANGED;
    const int64_t warps = quotient(quotient(call.A.n, tile<T, NR, M>::ROWS), blocks);
    return warps <= GRID_WARPS && resident_bytes<T, NR, M>(warps) <= (size_t)call.limits.shared_bytes;
}

template <typename T, int NR> trine_status solve_columns(const tiled_call<T> &call);

template <typename T, int NR> trine_status solve_in_two_passes(const tiled_call<T> &call)
{
    constexpr int M = LONG<T, NR>;
    using tile = tile<T, NR, M>;
    trine_status status = TRINE_SUCCESS;
    const int64_t tiles = quotient(call.A.n, tile::ROWS), ld = aligned_rows<T>(2 * tiles);
    const dim3 grid((unsigned)tiles, (unsigned)quotient(call.nrhs, NR));
    const auto reduce = reduce_tiles<T, NR, M>, substitute = substitute_tiles<T, NR, M>;
    launch first(grid, 1, tile::BYTES, call.stream), second(grid, 1, tile::BYTES, call.stream);
    two_pass<T> solve = {call.A, pivoting_of(call.pivot), call.nrhs, call.D, call.X, call.work, call.work + ld, call.work + 2 * ld, {call.work + 3 * ld, ld}};
    tiled_call<T> coarse = call;
    coarse.A = {2 * tiles, 0, 0, false, false, solve.lower, solve.diag, solve.upper};
    coarse.D = {solve.coarse.data, ld}, coarse.X = solve.coarse, coarse.work = call.work + (3 + call.nrhs) * ld, coarse.route = ROUTE_ANY, coarse.follows = true;
    TRY(allow_shared_memory(reduce, tile::BYTES, true));
    if (call.follows) first.follow(call.limits);
    TRY(GPU(gpuLaunchKernelEx(&first.config, reduce, solve)));
    TRY((solve_columns<T, NR>(coarse)));
    TRY(allow_shared_memory(substitute, tile::BYTES, true));
    second.follow(call.limits);
    TRY(GPU(gpuLaunchKernelEx(&second.config, substitute, solve)));
done:
    return status;
}

template <typename T, int NR> trine_status solve_columns(const tiled_call<T> &call)
{
    if (call.route != ROUTE_TWO_PASS && fits_cluster<T, NR, SHORT<T, NR>>(call)) return launch_cluster<T, NR, SHORT<T, NR>>(call);
    /* measured, an exchange across the whole device costs more than reading a system twice that still is in the cache */
    if (call.route == ROUTE_ON_CHIP || (call.limits.major < 9 && call.A.n <= tile<T, NR, SHORT<T, NR>>::ROWS)) {
        if (fits_grid<T, NR, SHORT<T, NR>>(call)) return launch_grid<T, NR, SHORT<T, NR>>(call);
        if (fits_grid<T, NR, LONG<T, NR>>(call)) return launch_grid<T, NR, LONG<T, NR>>(call);
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a tridiagonal system of %lld rows does not fit on this chip", (long long)call.A.n);
    }
    return solve_in_two_passes<T, NR>(call);
}

} // namespace

template <typename T> int64_t tiled_elements(int64_t n, int64_t nrhs)
{
    constexpr int64_t TILE = WARP * LONG<T, 4>; /* the smaller tile */
    int64_t elements = 2 * NUMBERS<T, 4> * EXCHANGED;
    do {
        n = aligned_rows<T>(2 * quotient(n, TILE));
        elements += n * (3 + nrhs);
    } while (n > TILE);
    return elements;
}

template <typename T> trine_status solve_tiled(const tiled_call<T> &call) { return call.nrhs == 1 ? solve_columns<T, 1>(call) : solve_columns<T, 4>(call); }
