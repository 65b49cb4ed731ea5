/* The solve of systems that fit on the chip: one kernel reads the system once, keeps it in shared memory, a tile a warp, and
 * writes the solution: 5 elements a row with one right-hand side. What is left of the tiles is joined within each block; what is
 * left of blocks is exchanged through global memory, in a cooperative launch. Every block then joins what is left of all blocks,
 * a warp a group of them, and its first warp goes the way back as far as its own tiles. */
#ifndef TRINE_RPTS_RESIDENT_CUH
#define TRINE_RPTS_RESIDENT_CUH

#include <cooperative_groups.h>

#include "tridiagonal/rpts/tile.cuh"
#include "tridiagonal/rpts/tree.cuh"

/** The most blocks, in groups; the most tiles of a block. A block has a warp for each tile, and one for each group. */
constexpr int GROUPS = 8, GROUP = 16, EXCHANGED = GROUPS * GROUP, RESIDENT_TILES = 12;

template <typename T> struct resident_solve : tiled_solve<T> {
    T *exchanged; /* room for two exchanges */
    int tiles;    /* of a block */
};

/** Elements in which blocks exchange their rows. */
template <typename T, int NR> constexpr int64_t EXCHANGE_ELEMENTS = EXCHANGED * (int64_t)(sizeof(stored_rows<T, NR>) / sizeof(T));

/** Shared memory of a block behind its tiles: what is left of tiles, of blocks, of groups; unions; the unknowns at the ends of tiles. */
template <typename T, int NR> struct resident_memory {
    static_assert(RESIDENT_TILES <= WARP / 2, "a tree of up to 16 tiles");
    using pair = stored_pair<T, NR>;
    pair tiles[WARP / 4], of_tiles[WARP / 4], blocks[GROUPS][GROUP / 2], of_blocks[GROUPS][GROUP / 2], groups[GROUPS / 2], of_groups[GROUPS / 2];
    known_of<T, NR> known[RESIDENT_TILES];
};

/** The rows of the identity, which stand for blocks behind the last one. */
template <typename T, int NR> __device__ __forceinline__ rows_of<T, NR> identity_rows() { return {identity_row<T, NR>(), identity_row<T, NR>()}; }

template <typename T, int NR, int M> __global__ void __launch_bounds__(WARP *RESIDENT_TILES) solve_resident(const __grid_constant__ resident_solve<T> s)
{
    using tile = tile<T, NR, M>;
    using tree = shared_tree<T, NR, false>;
    constexpr int WORDS = sizeof(stored_rows<T, NR>) / sizeof(int4);
    extern __shared__ __align__(16) unsigned char shared_memory[];
    resident_memory<T, NR> &left_of = *(resident_memory<T, NR> *)(shared_memory + s.tiles * tile::BYTES);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, block = blockIdx.x, blocks = gridDim.x, group = block / GROUP;
    const bool has_tile = warp < s.tiles;
    const tile t = {(T *)(shared_memory + warp * tile::BYTES)};
    const int64_t row = (block * (int64_t)s.tiles + warp) * tile::ROWS;
    const int levels = s.tiles > 1 ? WARP - __clz(s.tiles - 1) : 0;
    const shared_tree<T, NR, true> of_tiles = {left_of.tiles, left_of.of_tiles, levels, s.tiles}; /* behind the last tile comes the next block's first one */
    const tree of_groups = {left_of.groups, left_of.of_groups, 3, GROUPS}, of_my_group = {left_of.blocks[group], left_of.of_blocks[group], 4, GROUP};
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    static_assert(1 << 3 == GROUPS && 1 << 4 == GROUP, "the levels of these trees");
    int turn = 0;
    for (int64_t first = 0; first < s.nrhs; first += NR, turn ^= 1) {
        const int count = s.columns_from(first, NR);
        stored_rows<T, NR> *exchanged = (stored_rows<T, NR> *)s.exchanged + turn * EXCHANGED; /* the last turn's are still being read */
        way_back<T, NR> back;
        if (has_tile) {
            load_tile(t, s.A, s.D, row, first, count);
            wait_for_tile(t, s.A, row);
            const rows_of<T, NR> rows = eliminate_tile(s.p, t, s.A.n, row, back);
            if (lane == 0) store_rows(leaf_of(left_of.tiles, warp), rows);
        }
        __syncthreads();
        joint_of<T, NR> between_tiles = {};
        if (warp == 0) {
            if (levels) of_tiles.join();
            const stored_rows<T, NR> &mine = levels ? of_tiles.root() : left_of.tiles[0].half[0];
            if (lane < WORDS) ((int4 *)&exchanged[block])[lane] = ((const int4 *)&mine)[lane];
            between_tiles = find_joint(s.p, of_tiles.joined_behind(lane));
        }
        if (has_tile) find_joints(s.p, t, back);
        grid.sync();
        if (warp < GROUPS) {
            const tree of_blocks = {left_of.blocks[warp], left_of.of_blocks[warp], 4, GROUP};
            for (int i = lane; i < GROUP * WORDS; i += WARP) {
                const int b = warp * GROUP + i / WORDS;
                int4 *to = (int4 *)&leaf_of(left_of.blocks[warp], i / WORDS) + i % WORDS;
                if (b < blocks) copy_async<16>(to, (const int4 *)&exchanged[b] + i % WORDS);
                else if (i % WORDS == 0) store_rows(leaf_of(left_of.blocks[warp], i / WORDS), identity_rows<T, NR>());
            }
            wait_for_copies();
            __syncwarp();
            of_blocks.join();
            if (lane == 0) leaf_of(left_of.groups, warp) = of_blocks.root();
        }
        __syncthreads();
        if (warp == 0) {
            of_groups.join();
            known_of<T, NR> known = close_system(s.p, read_rows(of_groups.root()));
            const joint_of<T, NR> between_blocks = find_joint(s.p, lane < WARP / 2 ? of_my_group.joined_behind(lane) : of_groups.joined_behind(lane - WARP / 2));
            of_groups.template split<3>(between_blocks, known, WARP / 2);
            known = shuffle_from(known, group);
            of_my_group.template split<4>(between_blocks, known, 0);
            known = shuffle_from(known, block % GROUP);
            of_tiles.template split<4>(between_tiles, known, 0);
            if (lane < s.tiles) left_of.known[lane] = known;
        }
        __syncthreads();
        if (has_tile) {
            substitute_tile(t, back, left_of.known[warp]);
            store_tile(t, s.A.n, s.X, row, first, count);
        }
    }
}

#endif
