/* What the level-set solve on the GPU chooses (cuda/levelset/launches.cu), lays out (cuda/levelset/rounds.cu) and
 * runs (cuda/levelset/levelset.cu). */
#ifndef TRINE_TRIANGULAR_CUDA_LEVELSET_LEVELSET_H
#define TRINE_TRIANGULAR_CUDA_LEVELSET_LEVELSET_H

#include "triangular/cuda/triangle.h"

constexpr int LEVELSET_BATCH = 4; /* entries of a lane that are fetched ahead */
constexpr int NARROW_THREADS = 512;

/* A run of narrow levels, for one right-hand side: one launch of one block or one cluster, with its solution values
 * on chip. Every block has the latest ones in a ring of its shared memory, slot = position modulo the ring's length. */
constexpr int RUN_WARPS = 16, RUN_CLUSTER = 8;             /* warps of a block, blocks of a cluster */
constexpr int RING_BYTES = 128 << 10, SMALL_RING_BYTES = 64 << 10; /* the second on devices whose blocks have less
                                                                      shared memory */
constexpr int PARTS = 512; /* sums of parts of long rows, at most so many in a level */
/* Values older than a ring are read from X, by warps that fetch ahead of the levels: those must be done. A warp's
 * next round is at most all warps' rows and two levels away. */
__host__ __device__ inline int64_t run_most_rows(int64_t ring) { return ring / 8; } /* of a level */

/** What a warp does at once, between two barriers. */
struct alignas(16) level_round {
    enum { ROWS, PART, FINISH };
    int32_t row, rows, stage, log_lanes; /* ROWS: rows row .. row + rows - 1, 1 << log_lanes lanes each, after
                                            `stage` barriers */
    int32_t first, count, part, kind; /* PART: entries first .. first + count - 1 of a long row, whose sum is the
                                         part-th of its level; FINISH: the row is what its parts part .. part +
                                         count - 1 leave of it */
};

/** Levels first_level .. last_level - 1, rows first .. last - 1: one level for many blocks, or several for one or a
 *  cluster. */
struct level_step {
    enum { WIDE, BLOCK, CLUSTER, KINDS } kind;
    int64_t first_level, last_level, first, last;
    int64_t first_long; /* WIDE, for one right-hand side: from here on a block has a row */
    int64_t first_round, last_round; /* of a run */
    int stages;
};

struct level_schedule {
    level_step *steps;
    int64_t count;
};

enum { ONE_RHS, MANY_RHS, SCHEDULES }; /* several right-hand sides: runs of one block, without rounds */

struct levelset_side {
    device_triangle base; /* sorted by level, in a level by whether they are long; base.columns are row numbers */
    int64_t *bounds; /* [2 l]: first row of level l; [2 l + 1]: its first long one */
    int32_t *near_columns; /* for one right-hand side: a row number, or ~slot of a value that is in the ring */
    level_round *rounds;
    level_schedule schedules[SCHEDULES];
    int lanes;
    int64_t ring; /* values that a run has on chip: a power of two */
    bool clusters; /* may a run have several blocks? */
};

/* ---------------------------------------------------------------- analysis
 * Everything that looks at rows runs on the device; the host chooses what is done with a level from a few numbers
 * about it. */

constexpr int64_t LONG_IN_LEVEL = 256; /* entries: a row of more is cut into parts in a run, and has a block in a
                                          wide level */
constexpr int64_t RUN_ENTRIES = 1 << 16; /* of a level in a run, at most */

/** What the host is told about a level. */
struct level_measure {
    int64_t entries, long_entries; /* of all rows, of the long ones */
    int32_t longest; /* of the other rows, at least 1; 0: the level does not fit a run, and nothing
                        more is known */
    int32_t longest_long;
    int32_t parts[2]; /* of long rows, in a run of one block and of a cluster */
};
/** Where a level of a run is. */
struct level_place {
    int64_t first_round, run_first; /* its first round, the first row of its run */
    int32_t stage, kind; /* barriers before it; WIDE: it is in no run */
};

/** Warps of a run, and lanes (their logarithm) of a row in a level. */
__host__ __device__ inline int run_warps(int kind, int64_t ring)
{
    const int most = (int)(ring / 64), warps = RUN_WARPS * (kind == level_step::CLUSTER ? RUN_CLUSTER : 1);
    return warps < most ? warps : most;
}
__host__ __device__ inline int run_log_lanes(const level_measure &m)
{
    int log_lanes = 0;
    while (log_lanes < 5 && LEVELSET_BATCH << log_lanes < m.longest) log_lanes++;
    return log_lanes;
}

/** keys: 2 level + (the row is long). */
trine_status levelset_make_keys(trine_triangular plan, const device_triangle *d, const int32_t *level, int32_t *keys);
/** out: n_levels measures in host memory, and on_device the same, new. */
trine_status levelset_measure(trine_triangular plan, const levelset_side *d, int64_t n_levels, level_measure *out,
                              level_measure **on_device);
/** d->rounds and d->near_columns; columns become row numbers. places: in host memory. */
trine_status levelset_write_rounds(trine_triangular plan, levelset_side *d, int64_t n_levels,
                                   const level_measure *on_device, const level_place *places, int64_t n_rounds);

/* In the backend's table. */
trine_status levelset_analyse_side(trine_triangular plan, void *pattern, int side);
void levelset_release(trine_triangular plan, struct triangular_side *side);

#endif
