/* Template of the launches: included by one small source file per precision, which keeps compile times apart. */
#include <algorithm>
#include <atomic>

#include "core/gpu_launch.cuh"
#include "tridiagonal/gtsv/cuda/launch.h"
#include "tridiagonal/gtsv/cuda/certified_pass.cuh"
#include "tridiagonal/gtsv/cuda/cooperative.cuh"
#include "tridiagonal/gtsv/cuda/cluster.cuh"
#include "tridiagonal/gtsv/cuda/tuning.h"

namespace {

template <typename T> int64_t aligned_rows(int64_t n) { return (n + 3) / 4 * 4; }
int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <typename T, int NR, int M> size_t resident_bytes(int64_t tiles)
{
    return (size_t)tiles * tile<T, NR, M>::BYTES + sizeof(resident_memory<T, NR>);
}

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
    void follow(const stream_limits &limits)
    {
        if (limits.programmatic)
            add(gpuLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
    }
};

/** Warps that a block of solve_short may have: a power of two. */
template <typename T, int NR, int M> int most_short_warps(const stream_limits &limits)
{
    int warps = SHORT_WARPS;
    while (warps > 1 && warps * sizeof(warp_memory<T, NR>) + sizeof(block_memory<T, NR>) > (size_t)limits.shared_bytes)
        warps /= 2;
    return warps;
}

/** Blocks that a cluster of this kernel can have on the device, a power of two: clusters of more than 8 need not be
 *  possible. */
inline trine_status ask_short_blocks(const void *kernel, int warps, size_t bytes, const stream_limits &limits,
                                     int *most)
{
    trine_status status = TRINE_SUCCESS;
    int blocks = limits.clusters ? SHORT_BLOCKS : 1;
    TRY(trine_gpu_allow_shared(kernel, bytes));
    if (blocks > 1) TRY(GPU(gpuFuncSetAttribute(kernel, gpuFuncAttributeNonPortableClusterSizeAllowed, 1)));
    for (; blocks > 1; blocks /= 2) {
        launch how(dim3((unsigned)blocks), warps, bytes, nullptr);
        int clusters = 0;
        how.add(gpuLaunchAttributeClusterDimension).val.clusterDim = {(unsigned)blocks, 1, 1};
        if (gpuOccupancyMaxActiveClusters(&clusters, kernel, &how.config) == gpuSuccess && clusters > 0) break;
        (void)gpuGetLastError();
    }
    *most = blocks;
done:
    return status;
}
/** The same of the stream, asked for once per device; 0 if that fails. A part of a device has groups of 8
 *  multiprocessors. */
template <auto KERNEL, typename T, int NR, int M> int most_short_blocks(const stream_limits &limits)
{
    static std::atomic<int> known[64];
    int most = limits.device < 64 ? known[limits.device].load(std::memory_order_relaxed) : 0;
    if (!most) {
        const int warps = most_short_warps<T, NR, M>(limits);
        if (ask_short_blocks((const void *)KERNEL, warps, warps * sizeof(warp_memory<T, NR>), limits, &most)) return 0;
        if (limits.device < 64) known[limits.device].store(most, std::memory_order_relaxed);
    }
    return limits.in_part && most > SHORT_BLOCKS / 2 ? SHORT_BLOCKS / 2 : most;
}
template <typename T, int NR, int M, bool P> int most_short_blocks(const gtsv_call<T, P> &call)
{
    if constexpr (!P)
        if (call.A.cyclic) return most_short_blocks<solve_short<T, NR, M, true, false>, T, NR, M>(call.limits);
    return most_short_blocks<solve_short<T, NR, M, false, P>, T, NR, M>(call.limits);
}
template <typename T, int NR, int M, bool P> bool is_short(const gtsv_call<T, P> &call)
{
    return quotient(call.A.n, WARP * M) <= most_short_warps<T, NR, M>(call.limits) * most_short_blocks<T, NR, M>(call);
}

/** In `blocks` blocks of `each` tiles: a system with right-hand sides, or where KERNEL is solve_short_systems one
 *  with each, their bands `next` elements apart. */
template <auto KERNEL, typename T, int NR, int M, bool P>
trine_status launch_short_cluster(const gtsv_call<T, P> &call, int blocks, int each, int64_t next)
{
    trine_status status = TRINE_SUCCESS;
    const uintptr_t addresses =
        (uintptr_t)call.A.lower | (uintptr_t)call.A.diag | (uintptr_t)call.A.upper | addresses_of(call, next);
    const bool plain =
        addresses % 16 == 0 && !call.A.conjugate && !call.A.lower_shift && !call.A.upper_shift && call.nrhs % NR == 0;
    const short_solve<T, P> solve = {call, call.fallback, (int)quotient(call.A.n, M), plain, next};
    launch how(dim3((unsigned)blocks, (unsigned)quotient(call.nrhs, NR)), each, each * sizeof(warp_memory<T, NR>),
               call.stream);
    if (blocks > 1) how.add(gpuLaunchAttributeClusterDimension).val.clusterDim = {(unsigned)blocks, 1, 1};
    if (call.follows) how.follow(call.limits);
    TRY(GPU((launch_kernel<KERNEL>(how.config, solve))));
done:
    return status;
}
/** preferred_tiles: of a block, as long as the cluster may have more blocks. */
template <typename T, int NR, int M, bool P> trine_status launch_short(const gtsv_call<T, P> &call, int preferred_tiles)
{
    const int64_t tiles = quotient(call.A.n, WARP * M);
    int blocks = 1, each = 1;
    const int most = most_short_blocks<T, NR, M>(call);
    while (blocks < most && blocks * preferred_tiles < tiles) blocks *= 2;
    while (each * blocks < tiles) each *= 2;
    if constexpr (!P)
        if (call.A.cyclic)
            return launch_short_cluster<solve_short<T, NR, M, true, false>, T, NR, M>(call, blocks, each, 0);
    return launch_short_cluster<solve_short<T, NR, M, false, P>, T, NR, M>(call, blocks, each, 0);
}

/** Tiles of a block where they are dealt out evenly to as many blocks as there are multiprocessors. */
template <typename T, int NR, int M, bool P> int64_t tiles_of_block(const gtsv_call<T, P> &call)
{
    const int64_t blocks = call.limits.multiprocessors < EXCHANGED ? call.limits.multiprocessors : EXCHANGED;
    return quotient(quotient(call.A.n, tile<T, NR, M>::ROWS), blocks);
}
template <typename T, int NR, int M, bool P> bool fits_grid(const gtsv_call<T, P> &call)
{
    const int64_t tiles = tiles_of_block<T, NR, M>(call);
    return call.limits.cooperative && tiles <= RESIDENT_TILES &&
           resident_bytes<T, NR, M>(tiles) <= (size_t)call.limits.shared_bytes;
}
template <typename T, int NR, int M, bool P> trine_status launch_grid(const gtsv_call<T, P> &call)
{
    trine_status status = TRINE_SUCCESS;
    const int tiles = (int)tiles_of_block<T, NR, M>(call);
    const resident_solve<T, P> solve = {call, call.work, tiles};
    launch how(dim3((unsigned)quotient(call.A.n, tiles * tile<T, NR, M>::ROWS)), tiles < GROUPS ? GROUPS : tiles,
               resident_bytes<T, NR, M>(tiles), call.stream);
    TRY(trine_gpu_allow_shared((const void *)solve_resident<T, NR, M, P>, resident_bytes<T, NR, M>(tiles)));
    how.add(gpuLaunchAttributeCooperative).val.cooperative = 1;
    TRY(GPU((launch_kernel<solve_resident<T, NR, M, P>>(how.config, solve))));
done:
    return status;
}

/** Rows of a lane, at least, where a tile stays on the chip, which is automatic for one right-hand side only. */
template <typename T, int NR> constexpr int SMALLEST_TILE = NR > 1 || LONG<T, NR> < 8 ? LONG<T, NR> : 8;

/** With as few rows a lane as leave a warp for each group of blocks at most: M, or twice as many. */
template <typename T, int NR, int M, bool P> trine_status solve_on_chip(const gtsv_call<T, P> &call)
{
    if constexpr (M < LONG<T, NR>)
        if (tiles_of_block<T, NR, M>(call) > GROUPS) return solve_on_chip<T, NR, 2 * M>(call);
    return launch_grid<T, NR, M>(call);
}
template <typename T, int NR, bool P> bool prefers_chip(const gtsv_call<T, P> &call)
{
    return call.route == ROUTE_TILES && NR == 1 && !call.A.cyclic && !call.follows && !call.fallback &&
           fits_grid<T, NR, LONG<T, NR>>(call);
}

template <typename T, int NR> trine_status solve_columns(const gtsv_call<T> &call);

/** One pass is tried from this many times the resident tiles on. */
constexpr int64_t MANY_TILES = 4;

/** Elements that hold the fallback flag and the ticket behind it, behind the coarse system. */
constexpr int64_t FALLBACK_FLAG = 4;

/** Elements in which tiles hand their rows around, keep the ends from which they were solved, and these with the
 *  verdicts of samples. */
template <int NR> int64_t handed_elements(int64_t tiles, int64_t nrhs)
{
    return tiles * quotient(nrhs, NR) * HANDED<NR>;
}
template <int NR> int64_t used_elements(int64_t tiles, int64_t nrhs) { return tiles * quotient(nrhs, NR) * 4 * NR; }
template <int NR> int64_t one_pass_elements(int64_t tiles, int64_t nrhs)
{
    return handed_elements<NR>(tiles, nrhs) + used_elements<NR>(tiles, nrhs) + MOST_SAMPLES;
}

/** Tiles of a system, and rows of the system that they leave: of a cyclic one the rows behind the last whole tile
 *  are among them, and where these would be one row more than partitions of 4 or 8 are, the last tile's: a single
 *  row borrows its neighbour from the partition before it (lane_partition), which may be half of a wide pair. */
inline int64_t tiles_of(bool cyclic, int64_t n, int64_t rows)
{
    const int64_t whole = n / rows;
    return !cyclic ? quotient(n, rows) : whole > 1 && (2 * whole + n % rows) % 4 == 1 ? whole - 1 : whole;
}
inline int64_t coarse_rows_of(bool cyclic, int64_t n, int64_t rows)
{
    const int64_t tiles = tiles_of(cyclic, n, rows);
    return 2 * tiles + (cyclic ? n - tiles * rows : 0);
}

/** Tiles that are on the multiprocessors at once. A block's part of shared memory is 1 KB larger than what it asks
 *  for. */
template <typename T, int NR, int M> int64_t resident_on(const stream_limits &limits)
{
    const int fitting = (int)((limits.shared_bytes + 1024) / (tile<T, NR, M>::BYTES + 1024));
    return std::min(resident_tiles<T, NR, M>(), fitting) * (int64_t)limits.multiprocessors;
}

/** The two passes share their exact kernels with the one pass, where they run only if the fallback flag is raised. */
template <typename T, int NR, int M, bool ONE_PASS> trine_status solve_in_passes(const gtsv_call<T> &call)
{
    using tile = tile<T, NR, M>;
    constexpr auto reduce = ONE_PASS ? solve_or_reduce_tiles<T, NR, M> : reduce_tiles<T, NR, M>,
                   substitute = ONE_PASS ? substitute_uncertified<T, NR, M> : substitute_tiles<T, NR, M>;
    trine_status status = TRINE_SUCCESS;
    const int64_t tiles = tiles_of(call.A.cyclic, call.A.n, tile::ROWS),
                  coarse_n = coarse_rows_of(call.A.cyclic, call.A.n, tile::ROWS), ld = aligned_rows<T>(coarse_n),
                  blocks = tiles + (coarse_n > 2 * tiles), resident = resident_on<T, NR, M>(call.limits);
    const unsigned columns = (unsigned)quotient(call.nrhs, NR);
    const int64_t handed = handed_elements<NR>(tiles, call.nrhs), used = used_elements<NR>(tiles, call.nrhs);
    T *const behind = call.work + (4 + call.nrhs) * ld;
    const int samples = ONE_PASS ? (int)std::min(tiles / 128, (int64_t)MOST_SAMPLES) : 0;
    launch first(dim3((unsigned)(samples + blocks), columns), 1, tile::BYTES, call.stream);
    /* of the second kernel */
    const int most_warps = ONE_PASS ? FALLBACK_WARPS<T, NR, M> : 1,
              fitting = (int)(call.limits.shared_bytes / tile::BYTES),
              warps = most_warps < fitting ? most_warps : fitting;
    const int64_t wanted = quotient(tiles * columns, warps), most_blocks = call.limits.multiprocessors;
    launch second(ONE_PASS ? dim3((unsigned)(wanted < most_blocks ? wanted : most_blocks))
                           : dim3((unsigned)blocks, columns),
                  warps, warps * tile::BYTES, call.stream);
    two_pass<T> solve = {call,
                         call.work,
                         call.work + ld,
                         call.work + 2 * ld,
                         call.work + 3 * ld,
                         {call.work + 4 * ld, ld},
                         tiles,
                         ONE_PASS ? (int32_t *)behind : call.fallback,
                         behind + FALLBACK_FLAG,
                         behind + FALLBACK_FLAG + handed,
                         (int32_t *)(behind + FALLBACK_FLAG + handed + used),
                         call.A.cyclic ? nullptr : call.marks,
                         samples,
                         coarse_n,
                         resident,
                         (int)(resident - resident / 16)};
    gtsv_call<T> coarse = call;
    coarse.A = {coarse_n,    0,
                0,           call.A.cyclic,
                false,       solve.lower,
                solve.diag,  solve.upper,
                solve.extra, 2 * tiles + std::max<int64_t>(call.A.wide_rows - tiles * tile::ROWS, 0)};
    coarse.p.normalized = coarse.A.wide_rows > 0;
    coarse.D = {{solve.coarse.data, ld}, {}}, coarse.X = solve.coarse,
    coarse.work = behind + FALLBACK_FLAG + (ONE_PASS ? one_pass_elements<NR>(tiles, call.nrhs) : 0),
    coarse.route = ROUTE_TILES;
    coarse.follows = true, coarse.fallback = solve.fallback, coarse.marks = nullptr;
    TRY(trine_gpu_prefer_shared((const void *)reduce, tile::BYTES));
    if constexpr (ONE_PASS) {
        /* which leave room for the next kernel */
        const int64_t vectors = (FALLBACK_FLAG + one_pass_elements<NR>(tiles, call.nrhs)) * (int64_t)sizeof(T) / 16,
                      blocks = quotient(vectors, 256), most = 2 * call.limits.multiprocessors;
        clear_rows<T, NR, M>
            <<<(unsigned)(blocks < most ? blocks : most), 256, 0, call.stream>>>(solve, vectors, (int4 *)behind);
        TRY(GPU_LAUNCHED("clear_rows"));
    }
    if (ONE_PASS || call.follows) first.follow(call.limits);
    TRY(GPU((launch_kernel<reduce>(first.config, solve))));
    TRY((solve_columns<T, NR>(coarse)));
    TRY(trine_gpu_prefer_shared((const void *)substitute, warps * tile::BYTES));
    second.follow(call.limits);
    TRY(GPU((launch_kernel<substitute>(second.config, solve))));
done:
    return status;
}

/** Is it worth while to try one pass? Where the speculation fails, the tiles that are on the multiprocessors at once
 *  have been tried, which should be few of them. In single with two or three right-hand sides, where arithmetic for
 *  four is the bound, it loses more than it gains. */
template <typename T, int NR, bool P> bool prefers_one_pass(const gtsv_call<T, P> &call, int64_t many = MANY_TILES)
{
    constexpr int M = LONG<T, NR>;
    const int64_t resident = resident_on<T, NR, M>(call.limits);
    const bool worth_trying = call.nrhs >= NR || sizeof(T) > sizeof(float);
    return call.route == ROUTE_TILES && !call.fallback && worth_trying &&
           quotient(call.A.n, tile<T, NR, M>::ROWS) * quotient(call.nrhs, NR) >= many * resident;
}

template <typename T, int NR, bool P> bool takes_short(const gtsv_call<T, P> &call)
{
    return call.route != ROUTE_TWO_PASS && call.route != ROUTE_ONE_PASS && is_short<T, NR, SHORT<T, NR>>(call);
}
template <typename T, int NR> trine_status solve_columns(const gtsv_call<T> &call)
{
    if (takes_short<T, NR>(call)) return launch_short<T, NR, SHORT<T, NR>>(call, tuned<T>::SHORT_WARPS);
    if (call.route == ROUTE_ON_CHIP) {
        if (!call.A.cyclic && fits_grid<T, NR, LONG<T, NR>>(call))
            return solve_on_chip<T, NR, SMALLEST_TILE<T, NR>>(call);
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a %stridiagonal system of %lld rows does not fit on this chip",
                          call.A.cyclic ? "cyclic " : "", (long long)call.A.n);
    }
    if (prefers_chip<T, NR>(call)) return solve_on_chip<T, NR, SMALLEST_TILE<T, NR>>(call);
    if ((call.route == ROUTE_ONE_PASS || prefers_one_pass<T, NR>(call)) && !call.marks && !call.A.cyclic)
        return solve_in_passes<T, NR, LONG<T, NR>, true>(call);
    return solve_in_passes<T, NR, LONG<T, NR>, false>(call);
}

} // namespace

template <typename T> int64_t tiled_elements(int64_t n, int64_t nrhs, bool cyclic)
{
    constexpr int MANY = tuned<T>::COLUMNS;
    const int64_t rows = WARP * (nrhs == 1 ? LONG<T, 1> : LONG<T, MANY>);
    int64_t elements =
        2 * EXCHANGE_ELEMENTS<T, MANY> + (nrhs == 1 ? one_pass_elements<1>(quotient(n, WARP * LONG<T, 1>), 1)
                                                    : one_pass_elements<MANY>(quotient(n, WARP * LONG<T, MANY>), nrhs));
    do {
        n = coarse_rows_of(cyclic, n, rows);
        elements += aligned_rows<T>(n) * (4 + nrhs) + FALLBACK_FLAG;
    } while (n > rows);
    return elements;
}

template <typename T> gtsv_tile tiled_tile(int64_t nrhs)
{
    constexpr int MANY = tuned<T>::COLUMNS;
    return nrhs == 1 ? gtsv_tile{WARP * LONG<T, 1>, 1} : gtsv_tile{WARP * LONG<T, MANY>, MANY};
}

/** More blocks than a part of the device can hold at once would wait for each other, in a graph without end. */
template <typename T, bool P> gtsv_call<T, P> on_its_part(gtsv_call<T, P> call)
{
    const int all = call.limits.multiprocessors;
    call.limits.multiprocessors = multiprocessors_of(call.stream, all);
    call.limits.in_part = call.limits.multiprocessors < all;
    return call;
}

template <typename T, int NR> bool takes_guess_in(const gtsv_call<T> &call)
{
    return takes_short<T, NR>(call) || call.route == ROUTE_ON_CHIP || prefers_chip<T, NR>(call);
}
template <typename T> bool takes_guess(const gtsv_call<T> &call)
{
    const gtsv_call<T> it = on_its_part(call);
    return call.nrhs == 1 ? takes_guess_in<T, 1>(it) : takes_guess_in<T, tuned<T>::COLUMNS>(it);
}

template <typename T> trine_status solve_tiled(const gtsv_call<T> &call)
{
    const gtsv_call<T> it = on_its_part(call);
    return call.nrhs == 1 ? solve_columns<T, 1>(it) : solve_columns<T, tuned<T>::COLUMNS>(it);
}
