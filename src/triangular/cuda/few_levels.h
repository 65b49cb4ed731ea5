/* The solve by rows with one right-hand side where no row waits inside a kernel: matrices of few levels, a launch
 * each or one for two, and broad levels among others (cuda/few_levels.cu); rows in small groups that need nothing of
 * each other (cuda/row_groups.cu). But for broad levels rows stand in the given order. */
#ifndef TRINE_TRIANGULAR_CUDA_FEW_LEVELS_H
#define TRINE_TRIANGULAR_CUDA_FEW_LEVELS_H

#include "triangular/cuda/triangle.h"

/** Entries first .. end - 1 of the long row at position `row`: the index-th of `count` parts, whose sums stand from
 *  slot `slot` on. */
struct alignas(16) long_part {
    int64_t first, end;
    int32_t row, number, index, count, slot; /* number: of the long row */
};

constexpr int64_t FEW_LEVELS_PART = 2048; /* entries of a part, but for the last one of a row */

struct level_launches {
    int count;                             /* of levels; 0: not used */
    int lanes;                             /* that share a row that is not long */
    int64_t first[FEW_LEVELS], end[FEW_LEVELS]; /* the rows of a level are among these */
    void *levels;                          /* the state of the search that found them, of which the levels of rows
                                              are needed */
    bool forward;                          /* the row at position p is row p, or n - 1 - p */
    bool at_once;                          /* two levels, or one, in one launch: the values of the first are found
                                              again where they are needed */
    long_part *parts;                      /* of all long rows */
    int64_t n_parts;
};

/** Takes over `levels`, the state of the search that found them, unless it fails. chunked: a few rows are long and
 *  cut into parts. */
trine_status few_levels_make(trine_triangular plan, const device_triangle *d, const levels_found *found, void *levels,
                             bool chunked, bool forward, level_launches *out);
void few_levels_release(trine_triangular plan, level_launches *l);
/** Room for sums of parts, in a work object: it starts with counters, which are zero between solves. */
size_t few_levels_room(trine_triangular plan, const level_launches *l);
constexpr size_t FEW_LEVELS_COUNTERS = MOST_LONG_ROWS * sizeof(unsigned);
/** In one launch. In place that would read what others have overwritten. */
inline bool few_levels_at_once(const struct triangular_solve *s, const level_launches *l)
{
    return l->at_once && s->B != s->X;
}
/** x: room for the solution in solve order, not used where levels are solved at once. */
trine_status few_levels_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                              const level_launches *l, void *x, char *room);

/** Rows sorted by level, in steps: those of a broad level, of which nobody waits and what they need comes through
 *  L1, or those of the levels between, which wait for each other. */
struct row_step {
    int64_t first, end;
    bool broad;
};
constexpr int MOST_STEPS = 8, TICKETS_APART = 32;
struct row_steps {
    int count;                             /* 0: all rows in one launch */
    row_step steps[MOST_STEPS];
};
/** bounds: of n_levels levels; `lanes` share a row. */
void row_steps_choose(trine_triangular plan, int64_t n_levels, const int64_t *bounds, int lanes, row_steps *out);
/** What solves that take turns with two states leave for the next one: every value of x missing, and all tickets at
 *  their start. The next solve may be of the other side of the plan, in other steps, so this is the same whatever
 *  the steps of this one. */
struct next_state {
    void *x;                               /* NULL: not wanted */
    unsigned *tickets;                     /* MOST_STEPS of them, TICKETS_APART apart */
    __device__ void reset_tickets() const
    {
        if (x && blockIdx.x == 0 && threadIdx.x < MOST_STEPS) tickets[threadIdx.x * TICKETS_APART] = ~0u;
    }
};
/** A broad step of d's rows, whose entries are in rows that have been solved. x: the solution in solve order. */
trine_status broad_level_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                               int lanes, const row_step *step, void *x, next_state next);

/** Groups of rows that need nothing of each other. */
struct row_groups {
    int32_t *starts;                       /* first row of every group, and the number of rows */
    int64_t count;                         /* of groups; 0: not used */
    int longest, of_warp;                  /* rows of a group, groups of a warp: at most */
    bool forward;
};
constexpr int MOST_GROUP_ROWS = 32;
/** Look for groups of at most so many rows; asks for a triangle whose entries are less than that away from the
 *  diagonal. */
trine_status row_groups_find(trine_triangular plan, const device_triangle *d, bool forward, row_groups *out);
void row_groups_release(trine_triangular plan, row_groups *g);
trine_status row_groups_solve(trine_triangular plan, const struct triangular_solve *s, const device_triangle *d,
                              const row_groups *g);

#endif
