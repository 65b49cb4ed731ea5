/* What the suite forest shares: a matrix with its forest, and the walk by one thread that it is compared with. */
#ifndef TRINE_BENCH_FOREST_H
#define TRINE_BENCH_FOREST_H

#include <trine/forest.h>

#include "bench.h"

/** Paths of `length` vertices each under a random numbering, with random weights. */
trine_status forest_lines(bench *b, int64_t paths, int64_t length, trine_matrix *A);

/** A [0,2]-factor on the host with the weights of its edges at their places, and room for what is made of it. */
typedef struct {
    int64_t n;
    uint64_t seed;                     /* of the keys of edges */
    const int32_t *factor;             /* 2 n, as trine_forest_arrays has it */
    const double *weights;
    int32_t *neighbours, *permutation; /* 2 n, n */
    uint8_t *seen;                     /* n */
    int64_t cycles;
} forest_walk;
/** neighbours := the factor. */
trine_status forest_walk_reset(void *walk);
/** The weakest edge out of every cycle, then one path after another into the permutation. One thread, each vertex a
 *  few times, no sort. */
trine_status forest_walk_once(void *walk);

#endif
