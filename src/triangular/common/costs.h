/* What methods are expected to cost, before they run: a model of few constants, by which AUTO decides whether
 * partitioned inverses pay. All constants stand in costs.c. */
#ifndef TRINE_TRIANGULAR_COMMON_COSTS_H
#define TRINE_TRIANGULAR_COMMON_COSTS_H

#include "triangular/triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A kind of solve: launch + levels (level + long_level l) + bytes byte, where l is what a row has of entries, of 32 at
 *  most. Bytes: entries, rows, and what every further right-hand side has of both. Seconds. */
struct waiting_costs { double launch, level, long_level, byte; };

/** Of partitioned inverses. Seconds. */
struct inverse_costs {
    double launch, step, byte, row;   /* of a solve; entries and rows are shared by `threads` on a CPU */
    double long_step; /* added to a step for rows of 128 entries and more, shorter ones a part of it */
    double analyse_launch, analyse_level; /* of the analysis: whatever there is; a level; */
    double analyse_own, analyse; /* an entry of the triangle; one of the inverses */
    double numeric, numeric_entry; /* whatever there is; an entry of the inverses */
    double numeric_look; /* an entry of the inverses that is looked for: for each rank, as many as a row
                            has in the triangle times in the inverse */
    /* Where groups are chosen: a step; a byte, which costs less than one does on average, since other rows wait; and
     * an entry of a group's longest row beyond so many, which has a warp for so long that it delays the group. */
    double next_step, next_byte, long_row;
    int64_t long_from;
    int64_t least_value; /* bytes: a smaller value costs as much, for the operand that comes with it */
};

/** One kind of device. */
struct device_costs {
    struct waiting_costs waits[2][2]; /* one right-hand side, several; rows that wait for rows, the same with chains in
                                         registers. A CPU's solves are simulated instead (cpu/schedule.c) */
    double analyse, analyse_level, analyse_entry, numeric, numeric_entry; /* of the method without inverses */
    struct inverse_costs inverse;
};
const struct device_costs *triangular_costs_of(trine_triangular plan);

/** What partitioned inverses of one side are like. */
struct inverse_extent { int64_t n, nnz, levels, steps, entries; /* nnz, entries: diagonal included */ };

/** Seconds of a solve, of max_nrhs right-hand sides, in which rows wait for rows; chains: through registers. */
double costs_of_waiting(trine_triangular plan, bool chains, int64_t nnz, int64_t levels);
/** Adds one side to a prediction. */
void costs_add_inverse(trine_triangular plan, const struct inverse_extent *e, trine_triangular_prediction *p);
/** The least that a side may cost: nobody has seen a group of 32 levels with less than twice the entries, but for exact
 *  factors, which hardly fill: there that is nearly what it costs. */
struct inverse_extent costs_least_inverse(int64_t n, int64_t nnz, int64_t levels);
/** Seconds of one more entry of the inverses, of all that have their solves: with its part of analysis and numeric, if
 *  the plan says how many solves these are. */
double costs_of_next_entry(trine_triangular plan);
/** Analysis, numeric and so many solves, with either side alike. */
double costs_total(const trine_triangular_prediction *p, int sides, double solves);

#ifdef __cplusplus
}
#endif
#endif
