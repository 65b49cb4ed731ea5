/* What the tests of forests share: graphs made independently of the library, a forest with all of its results on the
 * host, and everything that must hold of it. */
#ifndef TRINE_FOREST_SUPPORT_H
#define TRINE_FOREST_SUPPORT_H

#include "core/test_interface.h"
#include "elements.h"
#include "harness.h"

/** A matrix and its graph: every edge with w = |a_ij| + |a_ji| in both rows, columns ascending. */
typedef struct {
    trine_matrix A; /* CSR, host, sorted */
    trine_dtype t;
    int64_t n, nnz;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    trine_forest_reference_graph graph; /* owned */
} problem;
/** Takes A over. */
problem *problem_of(trine_matrix A);
problem *problem_gallery(const char *spec, trine_dtype t);
/** The graph with the given edges, weights rounded to t: entries (low,high) alone if one_sided, else both. */
problem *problem_edges(trine_dtype t, int64_t n, int64_t count, const int32_t (*edges)[2], const double *weights,
                       bool one_sided);
void problem_end(problem *p);

/** Weight of the edge {v,u}, 0 if there is none; the entry (v,u) of A. */
double weight_of(const problem *p, int64_t v, int32_t u);
wide entry_of(const problem *p, int64_t v, int32_t u);

/** All results, on the host. */
typedef struct {
    int n;
    int32_t *factor; /* before cycles were opened */
    int32_t *neighbours, *path, *position, *permutation;
    void *bands[3];
    trine_forest_result raw, result; /* after factor, after order */
} outcome;
/** A forest of p from ctx. Without bands, cycles and order where n is not 2 or 1. */
outcome run_forest(trine_context ctx, const problem *p, const trine_forest_options *options,
                   const trine_factor_rounds *rounds);
void end_outcome(outcome *o);
/** The same to the bit. */
void assert_same(const problem *p, const outcome *a, const outcome *b);
/** Everything that must hold of it; ties and seed are those of the factor. */
void assert_forest(const problem *p, const outcome *o, const trine_factor_rounds *rounds);
/** What a forest has in `array` of its context's space, count elements; test_release the host's: free. */
void *fetch(trine_context ctx, const void *array, int64_t count, size_t size);

#endif
