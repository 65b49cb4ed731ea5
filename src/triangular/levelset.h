/* What the level-set solve on the GPU plans (levelset_schedule.cu) and runs (levelset_cuda.cu). */
#ifndef TRINE_LEVELSET_H
#define TRINE_LEVELSET_H

#include "triangular/device_triangle.h"

constexpr int LEVELSET_BATCH = 4; /* entries of a lane that are fetched ahead */
constexpr int NARROW_THREADS = 512;

/* A run of narrow levels, for one right-hand side: one launch of one block or one cluster, with its solution values on chip.
 * Every block has the latest ones in a ring of its shared memory, slot = position modulo the ring's length. */
constexpr int RUN_WARPS = 16, RUN_CLUSTER = 8;             /* warps of a block, blocks of a cluster */
constexpr int RING_BYTES = 128 << 10, PARTS = 512;         /* PARTS: sums of parts of long rows, at most so many in a level */
template <typename T> constexpr int ring_length = RING_BYTES / (int)sizeof(T);
/* Values older than a ring are read from X, by warps that fetch ahead of the levels: those must be done. A warp's next round
 * is at most all warps' rows and two levels away. */
inline int64_t run_most_rows(int64_t ring) { return ring / 8; }  /* of a level */
inline int run_most_warps(int64_t ring) { return (int)(ring / 64); }

/** What a warp does at once, between two barriers. */
struct alignas(16) level_round {
    enum { ROWS, PART, FINISH };
    int32_t row, rows, stage, log_lanes; /* ROWS: rows row .. row + rows - 1, 1 << log_lanes lanes each, after `stage` barriers */
    int32_t first, count, part, kind;    /* PART: entries first .. first + count - 1 of a long row, whose sum is the part-th of its
                                            level; FINISH: the row is what its parts part .. part + count - 1 leave of it */
};

/** Levels first_level .. last_level - 1, rows first .. last - 1: one level for many blocks, or several for one or a cluster. */
struct level_step {
    enum { WIDE, BLOCK, CLUSTER } kind;
    int64_t first_level, last_level, first, last;
    int64_t first_round, last_round; /* of a run */
    int stages;
};

struct level_schedule {
    level_step *steps;
    int64_t count;
};

enum { ONE_RHS, MANY_RHS, SCHEDULES }; /* several right-hand sides: runs of one block, without rounds */

struct levelset_side {
    device_triangle base;    /* sorted by level; base.columns are row numbers */
    int64_t *level_offsets;
    int32_t *near_columns;   /* for one right-hand side: a row number, or ~slot of a value that is in the ring */
    level_round *rounds;
    level_schedule schedules[SCHEDULES];
    int lanes;
};

trine_status levelset_prepare(trine_triangular plan, struct triangle *t);
void levelset_release(trine_triangular plan, struct triangle *t);

#endif
