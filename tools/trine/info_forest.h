/* Factors of a matrix's graph, and its linear forest. */
#ifndef TRINE_INFO_FOREST_H
#define TRINE_INFO_FOREST_H

#include "command.h"

enum { FOREST_DEGREES = 4, FOREST_LENGTHS = 32 };
struct forest_statistics {
    double identity;                      /* coverage of what stands beside the diagonal */
    double parallel[FOREST_DEGREES];      /* coverages of [0,n]-factors, n = 1..4, after five rounds, */
    double sequential[FOREST_DEGREES];    /* and of the greedy ones */
    int64_t cycles, paths, longest;       /* for n = 2 */
    int64_t path_lengths[FOREST_LENGTHS]; /* paths of 2^(k-1) < vertices <= 2^k in [k] */
    int64_t cycle_lengths[FOREST_LENGTHS];
};
/** A: on the host. */
trine_status forest_statistics_make(trine_context ctx, trine_matrix A, struct forest_statistics *s);
/** As text, or as members of the JSON object that is open. */
void forest_statistics_print(const struct forest_statistics *s, bool json);

#endif
