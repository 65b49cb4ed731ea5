/* What a GPU works through: tiles of panels in an order in which nothing waits for a later one, and the jobs of the
 * inversion. Built on the host. C11 and C++17. */
#ifndef TRINE_SUPERNODAL_CUDA_SCHEDULE_H
#define TRINE_SUPERNODAL_CUDA_SCHEDULE_H

#include "supernodal/supernodal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SUPERNODAL_BLOCK_THREADS = 256, SUPERNODAL_WARPS = SUPERNODAL_BLOCK_THREADS / 32 };

/** What a tile does with its part of a panel P = [top; bottom]; with t the right-hand side in the making and x the
 *  solution. */
typedef enum {
    TILE_NONE,        /* fills a ticket up */
    TILE_WHOLE,       /* inverted panels: forward x_s := top t_s, t_rows -= bottom t_s; backward x_s := P^T [t_s;
                         -x_rows] */
    TILE_TOP,         /* the diagonal block's share alone, for TRINE_INVERT_DIAG: x_s := top t_s or top^T t_s */
    TILE_SUBSTITUTE,  /* the same by substitution, for TRINE_INVERT_NONE */
    TILE_BOTTOM,      /* the rest: forward t_rows -= bottom x_s, backward t_s -= bottom^T x_rows */
    TILE_PREPARE      /* no product: t_s takes its part of the caller's right-hand side (one right-hand side) and of
                         what other panels' products left for it (pulled forward solves) */
} supernodal_tile_kind;

/** Part of a panel, by one warp or (wide) by one block: rows begin..end-1 and all columns in a forward solve, columns
 *  begin..end-1 and all rows in a backward one. It may start when counter `wait` (if not negative) has grown by
 *  `expected` in this solve, and adds 1 to counter `signal` (if not negative) when it is done. 64 bytes. */
typedef struct {
    int64_t values, rows;                 /* of the panel, as are the next four */
    int32_t first, width, height, ld;
    int32_t begin, end;
    int32_t wait;
    uint32_t expected;
    int32_t signal;
    int16_t lanes; /* one right-hand side: threads along the rows, the others take other columns;
                      several: warps that share a sum. A power of 2 */
    int16_t wide;
    int32_t kind; /* supernodal_tile_kind */
    int32_t direct; /* one right-hand side: the tile takes its part of the caller's right-hand
                       side itself */
} supernodal_tile;

/** Ticket k is tiles SUPERNODAL_WARPS k..: a wide one, as often as there are warps, or one small one a warp that do
 *  not depend on each other. */
typedef struct {
    supernodal_tile *tiles;
    /* of tiles of both ways: the panel on whose choice a tile depends, supernodal_parts.panel; else NULL */
    int32_t *owners;
    int64_t n_tickets;
} supernodal_schedule;

/** Panels for substitution: each is a chain of parts of at most SUPERNODAL_SMALL columns, views of it with row lists
 *  of their own. Where a plan chooses for each panel, the whole panels follow, with their first part's row list. A
 *  whole panel waits for what its first part waits for, and whoever waits for its last part (backward: its first)
 *  waits for it as well; so either may do the work, and the other signals at once that it is done. (Inverting parts
 *  alone would leave the chain of them, which is what substitution costs.) */
typedef struct {
    supernodal_structure S; /* what solves need: n, panels, rows and their counts */
    int32_t *panel; /* k is a part of panel[k], or the whole of ~panel[k] */
    int32_t *head; /* parts of panel s are head[s]..head[s + 1]-1 */
} supernodal_parts;

/** What tickets are made for. `many`: solve_many.cu, else solve_one.cu; `n_init`: parts of the set-up of a solve with
 *  several right-hand sides. */
typedef struct {
    bool forward, pull, many;
    trine_supernodal_invert invert;
    size_t element;
    int64_t n_init;
    const supernodal_parts *parts; /* NULL, or panels are these, in both ways */
} supernodal_task;

/** Counters, with n panels: k < n: what panel k waits for is done - forward, its children and its preparation;
 *  backward with several right-hand sides, its parent waits are on the parent's counter, which counts the parent's
 *  own tiles. n: the set-up. n + 1 + k: panel k is prepared (pulled forward solves). 2n + 1 + k: its TILE_TOP are
 *  done (forward), its TILE_BOTTOM (backward). A backward solve with one right-hand side has none: values say
 *  themselves that they are there. */
static inline int64_t supernodal_counters(int64_t n_panels) { return 3 * n_panels + 1; }

/** Forward leaves come first and every panel after its children, level by level; backward roots, depth by depth. S:
 *  of TRINE_INVERT_NONE as split. */
trine_status supernodal_schedule_build(const supernodal_structure *S, const supernodal_task *task,
                                       supernodal_schedule *out);
void supernodal_schedule_free(trine_context ctx, supernodal_schedule *schedule);
/** Cut the panels of S into parts; `whole`: S's panels follow. */
trine_status supernodal_split(const supernodal_structure *S, bool whole, supernodal_parts *parts);
void supernodal_parts_free(trine_context ctx, supernodal_parts *parts);

/** Where the products of a pulled forward solve leave what row i takes: places start[i]..start[i+1]-1 in the list of
 *  all rows of all panels, by ascending panel. owners: NULL, or the panel that a place is filled by only if it is
 *  substituted, -1 if it always is. */
typedef struct {
    int64_t *start;
    int32_t *places, *owners;
} supernodal_gathering;
/** parts: NULL, or S is its panels, in both ways. */
trine_status supernodal_gathering_build(const supernodal_structure *S, const supernodal_parts *parts,
                                        supernodal_gathering *out);
void supernodal_gathering_free(trine_context ctx, supernodal_gathering *gathering);

/** One block's share of the inversion; the kernels say what the fields mean to them. */
typedef struct { int32_t panel, a, b, e, x, y; } supernodal_job;

enum { SUPERNODAL_SMALL = 32, SUPERNODAL_TILE = 64, SUPERNODAL_ROWS = 128, SUPERNODAL_COPY = 4096 };

/** All jobs in one array, stage after stage: stage k is jobs stages[k]..stages[k+1]-1.
 *  Stage 0: copy columns a..b-1 of source panel `panel`. 1: invert the diagonal block of columns a..e-1. 2: multiply
 *  rows x..x+SUPERNODAL_ROWS-1 below it. Then for column blocks a..b-1, b..e-1 of doubled widths two stages:
 *  transpose a 32 x 32 square at (x, y) of rows b.. and columns a.. to above the diagonal; update the square of
 *  SUPERNODAL_TILE at (x, y). Last: clear columns a..b-1 above the diagonal. Stage 0 only for TRINE_INVERT_NONE; no
 *  rows below the diagonal block but in stage 0 for TRINE_INVERT_DIAG. */
typedef struct {
    supernodal_job *jobs;
    int64_t n_jobs;
    int n_stages;
    int64_t stages[80];
} supernodal_inversion;
/** Tiles of SUPERNODAL_ROWS rows from x and columns a..b-1 for the trial of the inverses: of the caller's panels,
 *  counts[0] of them, then of the plan's, counts[1]; without the rows below diagonal blocks of the latter for
 *  TRINE_INVERT_DIAG. */
trine_status supernodal_trial_jobs(const supernodal_structure *S, trine_supernodal_invert invert, supernodal_job **jobs,
                                   int64_t counts[2]);
trine_status supernodal_inversion_build(const supernodal_structure *S, trine_supernodal_invert invert,
                                        supernodal_inversion *out);

#ifdef __cplusplus
}
#endif
#endif
