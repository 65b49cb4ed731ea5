/* Lists of candidates where a part of a weight, or of a tie number, does not tell which edge is the stronger: on every
 * device as on the CPU. */
#include "forest_support.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "forest/common/edge_order.h"

static const trine_factor_rounds kinds[] = {{.n = 1, .until_maximal = 1},
                                            {.n = 2},
                                            {.n = 2, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1},
                                            {.n = 2, .seed = 7, .until_maximal = 1},
                                            {.n = 8, .rounds = 2}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void try_problem(const problem *p)
{
    const trine_forest_options options = {.max_n = 8};
    for (int r = 0; r < KINDS; r++) {
        outcome alone = run_forest(test_cpu(1), p, &options, &kinds[r]);
        outcome other = run_forest(test_shared(2), p, &options, &kinds[r]);
        assert_forest(p, &other, &kinds[r]);
        assert_same(p, &alone, &other);
        end_outcome(&alone);
        end_outcome(&other);
    }
}

/** One of the weights for every edge of the graph of `spec`. */
static void try_weights(const char *spec, trine_dtype t, const double *weights, int count)
{
    problem *p = problem_gallery(spec, TRINE_D);
    int32_t (*edges)[2] = malloc(sizeof *edges * (size_t)(p->nnz + 1));
    double *of_edges = malloc(sizeof *of_edges * (size_t)(p->nnz + 1));
    int64_t m = 0;
    for (int64_t v = 0; v < p->n; v++)
        for (int64_t k = p->offsets[v]; k < p->offsets[v + 1]; k++) {
            if (p->columns[k] <= v) continue;
            edges[m][0] = (int32_t)v, edges[m][1] = p->columns[k];
            of_edges[m] = weights[(int)(test_uniform(11, (uint64_t)m) * count)];
            m++;
        }
    problem *q = problem_edges(t, p->n, m, (const int32_t (*)[2])edges, of_edges, false);
    try_problem(q);
    problem_end(p);
    problem_end(q);
    free(edges);
    free(of_edges);
}

/** Weights that differ in their last bits, that have only last bits, and that are far apart; each with ties. */
static void test_weights(void **state)
{
    static const double near[] = {1, 1 + DBL_EPSILON, 1 + 2 * DBL_EPSILON, 1 - DBL_EPSILON},
                        near_single[] = {1, 1 + FLT_EPSILON, 1 + 2 * FLT_EPSILON},
                        halves[] = {1, 1 + 0x1p-20, 1 + 0x1p-21, 1 + 0x1p-40, 2},
                        tiny[] = {0x1p-1074, 0x1p-1073, 0, 0x1p-1043, 0x1p-1042},
                        tiny_single[] = {0x1p-149, 0x1p-148, 0}, apart[] = {1e-300, 1, 1e300, 0};
    static const struct {
        trine_dtype t;
        const double *weights;
        int count;
    } cases[] = {{TRINE_D, near, 4},        {TRINE_S, near_single, 3}, {TRINE_D, halves, 5}, {TRINE_D, tiny, 5},
                 {TRINE_S, tiny_single, 3}, {TRINE_D, apart, 4},       {TRINE_Z, near, 4},   {TRINE_C, near_single, 3}};
    static const char *const specs[] = {"laplace3d27:n=8", "laplace2d:n=31", "convection3d:n=9"};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            if (test_is_to_do()) try_weights(specs[s], cases[k].t, cases[k].weights, cases[k].count);
}

typedef struct {
    uint64_t number;
    int32_t u;
} tied;
static int compare_tied(const void *a, const void *b)
{
    const uint64_t x = ((const tied *)a)->number, y = ((const tied *)b)->number;
    return (x > y) - (x < y);
}

/** Edges {v,a} and {v,b} of one weight, whose keys begin with the same 26 bits, above a ring of lighter ones. */
static void test_ties(void **state)
{
    enum { N = 1 << 14, ROWS = 48, BITS = 26 };
    (void)state;
    const forest_ties ties = {true, forest_mix(0)};
    tied *all = malloc(sizeof *all * N);
    int32_t (*edges)[2] = malloc(sizeof *edges * (N + 2 * ROWS));
    double *weights = malloc(sizeof *weights * (N + 2 * ROWS));
    int64_t count = 0;
    int pairs = 0;
    for (int32_t i = 0; i < N; i++) {
        edges[count][0] = i, edges[count][1] = (i + 1) % N;
        weights[count++] = 1;
    }
    for (int32_t row = 0; row < ROWS; row++) {
        const int32_t v = 300 * row;
        int32_t used = 0;
        for (int32_t u = 0; u < N; u++)
            if (u % 300 > 2 && u % 300 < 298) all[used++] = (tied){forest_edge_key(ties, v, u), u};
        qsort(all, (size_t)used, sizeof *all, compare_tied);
        for (int32_t k = 1; k < used; k++) {
            if (all[k].number >> (64 - BITS) != all[k - 1].number >> (64 - BITS)) continue;
            for (int side = 0; side < 2; side++) {
                edges[count][0] = v, edges[count][1] = all[k - side].u;
                weights[count++] = 2;
            }
            pairs++;
            break;
        }
    }
    assert_in_range(pairs, ROWS / 2, ROWS);
    problem *p = problem_edges(TRINE_D, N, count, (const int32_t (*)[2])edges, weights, false);
    try_problem(p);
    problem_end(p);
    free(all);
    free(edges);
    free(weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights), cmocka_unit_test(test_ties)};
    return TEST_MAIN(tests);
}
