/* The solve of systems that fit on the chip: one kernel reads the system once, keeps it in shared memory, a tile a
 * warp, and writes the solution: 5 elements a row with one right-hand side. What is left of the tiles is joined
 * within each block; what is left of blocks is exchanged through global memory, in a cooperative launch. Every block
 * then joins what is left of all blocks, a warp a group of them, and its first warp substitutes back as far as its
 * own tiles. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_COOPERATIVE_CUH
#define TRINE_TRIDIAGONAL_GTSV_CUDA_COOPERATIVE_CUH

#include <algorithm>

#include <cooperative_groups.h>

#include "tridiagonal/gtsv/cuda/warp_tile.cuh"
#include "tridiagonal/gtsv/cuda/interface_tree.cuh"

/** The most blocks, in groups; the most tiles of a block. A block has a warp for each tile, and one for each group. */
constexpr int GROUPS = 8, GROUP = 16, EXCHANGED = GROUPS * GROUP, RESIDENT_TILES = 12;

template <typename T, bool PERMUTED = false> struct resident_solve : gtsv_solve<T, PERMUTED> {
    T *exchanged; /* room for two exchanges */
    int tiles;    /* of a block */
};

/** Elements in which blocks exchange their rows, wide ones too. */
template <typename T, int NR> constexpr int64_t EXCHANGE_ELEMENTS =
    (int64_t)(std::max(EXCHANGED * sizeof(stored_rows<T, NR>), sizeof(parts_of<T, NR, EXCHANGED>)) / sizeof(T));

/** Shared memory of a block behind its tiles: what is left of tiles, of blocks, of groups; unions; the unknowns at
 *  the ends of tiles. */
template <typename T, int NR> struct resident_memory {
    static_assert(RESIDENT_TILES <= WARP / 2, "a tree of up to 16 tiles");
    using pair = stored_pair<T, NR>;
    pair tiles[WARP / 4], of_tiles[WARP / 4], blocks[GROUPS][GROUP / 2], of_blocks[GROUPS][GROUP / 2],
        groups[GROUPS / 2], of_groups[GROUPS / 2];
    known_of<T, NR> known[RESIDENT_TILES];
    bool careful;
};

/** The right-hand sides first .. first + count - 1, carefully; `exchanged` is not being read by others. By all
 *  threads of the grid. */
template <typename T, int NR, int M, bool P>
__device__ __noinline__ void solve_resident_carefully(const resident_solve<T, P> &s,
                                                      const cooperative_groups::grid_group &grid, void *shared,
                                                      parts_of<T, NR, EXCHANGED> &exchanged, int64_t first, int count)
{
    struct memory {
        parts_of<T, NR, 16> tiles;
        parts_of<T, NR, EXCHANGED> blocks;
    };
    static_assert(RESIDENT_TILES <= 16 && sizeof(memory) <= sizeof(resident_memory<T, NR>), "it fits");
    memory &left_of = *(memory *)shared;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, block = blockIdx.x, blocks = gridDim.x;
    const int64_t tiles = (s.A.n + WARP * M - 1) / (WARP * M) - block * (int64_t)s.tiles,
                  there = tiles < s.tiles ? tiles : s.tiles;
    const lane_range<T> mine =
        range_of_lane<M>(s.A, ((block * (int64_t)s.tiles + warp) * WARP + lane) * M, first, count);
    known_of<T, NR> known = {};
    __syncthreads();
    if (warp < there) {
        const wide_union<T, NR> u = reduce_carefully<T, NR>(s.A, s.D, mine);
        if (lane == 0) left_of.tiles.put(warp, u);
    }
    __syncthreads();
    if (warp == 0) {
        const wide_union<T, NR> u = left_of.tiles.reduce((int)there);
        if (lane == 0) exchanged.put(block, u);
    }
    grid.sync();
    if (warp == 0) {
        for (int i = lane; i < (int)(sizeof(exchanged) / sizeof(T)); i += WARP)
            ((T *)&left_of.blocks)[i] = ((const T *)&exchanged)[i];
        __syncwarp();
        left_of.blocks.solve(blocks, close_carefully(left_of.blocks.reduce(blocks), false));
        left_of.tiles.solve((int)there, left_of.blocks.known(block, blocks, known));
    }
    __syncthreads();
    if (warp < there)
        solve_carefully<T, NR, M>(s.A, s.D, s.X, mine, count,
                                  left_of.tiles.known(warp, (int)there, left_of.blocks.known(block, blocks, known)));
    grid.sync(); /* `exchanged` is free again */
}

/** The rows of the identity, which stand for blocks behind the last one. */
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR> identity_rows()
{
    return {identity_row<T, NR>(), identity_row<T, NR>()};
}

/** What is left of the blocks of the warp's group, from what all blocks have `exchanged`, to left_of.groups. By the
 *  first GROUPS warps. */
template <typename T, int NR> __device__ __forceinline__ void
join_group(pivoting p, const stored_rows<T, NR> *exchanged, resident_memory<T, NR> &left_of)
{
    constexpr int WORDS = sizeof(stored_rows<T, NR>) / sizeof(int4);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, blocks = gridDim.x;
    const shared_tree<T, NR, false> of_blocks = {left_of.blocks[warp], left_of.of_blocks[warp], 4, GROUP};
    for (int i = lane; i < GROUP * WORDS; i += WARP) {
        const int b = warp * GROUP + i / WORDS;
        int4 *to = (int4 *)&leaf_of(left_of.blocks[warp], i / WORDS) + i % WORDS;
        if (b < blocks) copy_async<16>(to, (const int4 *)&exchanged[b] + i % WORDS);
        else if (i % WORDS == 0) store_rows(leaf_of(left_of.blocks[warp], i / WORDS), identity_rows<T, NR>());
    }
    wait_for_copies();
    __syncwarp();
    if (!of_blocks.join(p, NOTHING_LOST)) mark_wide(of_blocks.root());
    if (lane == 0) leaf_of(left_of.groups, warp) = of_blocks.root();
}

template <typename T, int NR, int M, bool P> __global__ void __launch_bounds__(WARP *RESIDENT_TILES)
    solve_resident(const __grid_constant__ resident_solve<T, P> s)
{
    using tile = tile<T, NR, M>;
    using tree = shared_tree<T, NR, false>;
    constexpr int WORDS = sizeof(stored_rows<T, NR>) / sizeof(int4);
    extern __shared__ __align__(16) unsigned char shared_memory[];
    resident_memory<T, NR> &left_of = *(resident_memory<T, NR> *)(shared_memory + s.tiles * tile::BYTES);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, block = blockIdx.x, group = block / GROUP;
    const bool has_tile = warp < s.tiles;
    const tile t = {(T *)(shared_memory + warp * tile::BYTES)};
    const int64_t row = (block * (int64_t)s.tiles + warp) * tile::ROWS;
    const int levels = s.tiles > 1 ? WARP - __clz(s.tiles - 1) : 0;
    /* behind the last tile comes the next block's first one */
    const shared_tree<T, NR, true> of_tiles = {left_of.tiles, left_of.of_tiles, levels, s.tiles};
    const tree of_groups = {left_of.groups, left_of.of_groups, 3, GROUPS},
               of_my_group = {left_of.blocks[group], left_of.of_blocks[group], 4, GROUP};
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    static_assert(1 << 3 == GROUPS && 1 << 4 == GROUP, "the levels of these trees");
    int turn = 0;
    for (int64_t first = 0; first < s.nrhs; first += NR, turn ^= 1) {
        const int count = s.columns_from(first, NR);
        /* the last turn's are still being read */
        stored_rows<T, NR> *exchanged = (stored_rows<T, NR> *)(s.exchanged + turn * EXCHANGE_ELEMENTS<T, NR>);
        substitution_of<T, NR> back;
        careful_lane<T, NR, M> kept;
        bool lost = false;
        if (has_tile) {
            __syncwarp(); /* the last turn's tile has been stored */
            load_tile(t, s.A, s.D, row, first, count);
            if (__builtin_expect(has_guess(s.D), 0)) wait_for_residual(t, s.A, s.D.guess, row, first, count);
            else wait_for_tile(t, s.A, row);
            rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back, &lost);
            if (__builtin_expect(lost, 0)) {
                wide_union<T, NR> u =
                    join_tile_carefully(s, range_of_lane<M>(s.A, row + lane * M, first, count), false, kept, back);
                rows = u.there && fit_tridiagonal(u) ? tridiagonal_rows(u, true) : marked_wide(rows);
            }
            if (lane == 0) store_rows(leaf_of(left_of.tiles, warp), rows);
        }
        __syncthreads();
        interface_of<T, NR> between_tiles = {};
        if (warp == 0) {
            const bool fits = !levels || of_tiles.join(s.p, NOTHING_LOST);
            stored_rows<T, NR> &mine = levels ? of_tiles.root() : left_of.tiles[0].half[0];
            if (!fits) mark_wide(mine);
            if (lane < WORDS) ((int4 *)&exchanged[block])[lane] = ((const int4 *)&mine)[lane];
            between_tiles = find_interface(s.p, of_tiles.joined_behind(lane));
        }
        if (has_tile && !lost) find_interfaces(s.p, t, back);
        grid.sync();
        if (warp < GROUPS) join_group(s.p, exchanged, left_of);
        __syncthreads();
        if (warp == 0) {
            if (!of_groups.join(s.p, NOTHING_LOST)) mark_wide(of_groups.root());
            if (lane == 0) left_of.careful = is_marked_wide(of_groups.root().last.row);
            known_of<T, NR> known = close_system(s.p, read_rows(of_groups.root()));
            const interface_of<T, NR> between_blocks = find_interface(
                s.p, lane < WARP / 2 ? of_my_group.joined_behind(lane) : of_groups.joined_behind(lane - WARP / 2));
            of_groups.template split<3>(between_blocks, known, WARP / 2);
            known = shuffle_from(known, group);
            of_my_group.template split<4>(between_blocks, known, 0);
            known = shuffle_from(known, block % GROUP);
            of_tiles.template split<4>(between_tiles, known, 0);
            if (lane < s.tiles) left_of.known[lane] = known;
        }
        __syncthreads();
        if (__builtin_expect(left_of.careful, 0)) { /* in all blocks */
            solve_resident_carefully<T, NR, M>(
                s, grid, &left_of, *(parts_of<T, NR, EXCHANGED> *)(s.exchanged + (turn ^ 1) * EXCHANGE_ELEMENTS<T, NR>),
                first, count);
        } else if (has_tile) {
            if (__builtin_expect(lost, 0))
                substitute_tile_carefully<T, NR, M>(s, t, range_of_lane<M>(s.A, row + lane * M, first, count), back,
                                                    left_of.known[warp], kept);
            else substitute_tile<T, NR, M>(s, t, row, first, count, back, left_of.known[warp]);
            if (__builtin_expect(has_guess(s.D), 0))
                add_tile(t, s.A.n, s.D.guess, columns_of<T>{s.X.data, s.X.ld}, row, first, count);
            else store_tile(t, s.A.n, s.X, row, first, count);
        }
    }
}

#endif
