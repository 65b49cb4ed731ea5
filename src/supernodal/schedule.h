/* What a GPU works through: tiles of panels in an order in which nothing waits for a later one, and the jobs of the
 * inversion. Built on the host. C11 and C++17. */
#ifndef TRINE_SUPERNODAL_SCHEDULE_H
#define TRINE_SUPERNODAL_SCHEDULE_H

#include "supernodal/supernodal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SUPERNODAL_BLOCK_THREADS = 256, SUPERNODAL_WARPS = SUPERNODAL_BLOCK_THREADS / 32 };

/** Part of a panel, by one warp or (wide) by one block: rows begin..end-1 and all columns in a forward solve, columns
 *  begin..end-1 and all rows in a backward one. It may start when counter `wait` has grown by `expected` in this solve, and
 *  adds 1 to counter `signal` (if not negative) when it is done. 64 bytes. */
typedef struct {
    int64_t values, rows;                 /* of the panel, as are the next four */
    int32_t first, width, height, ld;
    int32_t begin, end;
    int32_t lanes;                        /* one right-hand side: threads along the rows, the others take other columns;
                                             several: warps that share a sum. A power of 2 */
    int32_t wide;
    int32_t wait;
    uint32_t expected;
    int32_t signal;
    int32_t assembles;                    /* no product: rows begin..end-1 take what other panels' products left for them */
} supernodal_tile;

/** Ticket k is tiles tickets[k]..tickets[k+1]-1: one wide tile, or up to SUPERNODAL_WARPS small ones that do not depend on each other. */
typedef struct {
    supernodal_tile *tiles;
    int32_t *tickets;
    int64_t n_tiles, n_tickets;
} supernodal_schedule;

/** `many`: tiles for solve_many_cuda.cu, else for solve_one_cuda.cu. Counters 0..n_panels-1 belong to the panels; counter n_panels counts `n_init` parts of the set-up of a solve. Forward: a
 *  panel's counter counts finished tiles of its children, deepest panels come first; with `pull`, tiles that assemble the
 *  panel's right-hand side wait for it, and their own counter, n_panels + 1 further, is what the products wait for. Backward:
 *  finished tiles of the panel itself; the panels with the longest way down come first. */
trine_status supernodal_schedule_build(const supernodal_structure *S, bool forward, bool pull, bool many, size_t element, int64_t n_init,
                                       supernodal_schedule *out);
/** Where the products of a pulled forward solve leave what row i takes: places start[i]..start[i+1]-1 in the list of all rows of
 *  all panels, by ascending panel. */
trine_status supernodal_gathering_build(const supernodal_structure *S, int64_t **start, int32_t **places);
void supernodal_schedule_free(trine_context ctx, supernodal_schedule *schedule);

/** One block's share of the inversion; the kernels say what the fields mean to them. */
typedef struct {
    int32_t panel, a, b, e, x, y;
} supernodal_job;

enum { SUPERNODAL_SMALL = 32, SUPERNODAL_TILE = 64, SUPERNODAL_ROWS = 128, SUPERNODAL_COPY = 4096 };

/** All jobs in one array, stage after stage: stage k is jobs stages[k]..stages[k+1]-1.
 *  Stage 0: copy columns a..b-1 of source panel `panel`. 1: invert the diagonal block of columns a..e-1. 2: multiply rows
 *  x..x+SUPERNODAL_ROWS-1 below it. Then for column blocks a..b-1, b..e-1 of doubled widths two stages: transpose a 32 x 32
 *  piece at (x, y) of rows b.. and columns a.. to above the diagonal; update the SUPERNODAL_TILE square at (x, y). Last:
 *  clear columns a..b-1 above the diagonal. Stage 0 only for TRINE_INVERT_NONE; no rows below the diagonal block but in stage 0
 *  for TRINE_INVERT_DIAG. */
typedef struct {
    supernodal_job *jobs;
    int64_t n_jobs;
    int n_stages;
    int64_t stages[80];
} supernodal_inversion;
trine_status supernodal_inversion_build(const supernodal_structure *S, trine_supernodal_invert invert, supernodal_inversion *out);

#ifdef __cplusplus
}
#endif
#endif
