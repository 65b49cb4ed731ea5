/* Forests of graphs that are hard on some method: long paths and cycles, equal and increasing weights, stars, cliques,
 * nothing at all. Blocks of two, decompositions, and what is refused. */
#include "forest_support.h"

#include "forest/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t pair[2];

/** Numbers 0..n-1 in an order that has nothing to do with the graph. */
static int32_t *shuffled(int64_t n, uint64_t seed)
{
    int32_t *order = malloc(sizeof *order * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(test_uniform(seed, (uint64_t)i) * (double)(i + 1));
        const int32_t v = order[i];
        order[i] = order[j];
        order[j] = v;
    }
    return order;
}

/** Components of `length` vertices, rings or chains, in a random or the given numbering. weight 0: equal ones, 1:
 *  increasing along the component, 2: random. */
static problem *lines(trine_dtype t, int64_t components, int64_t length, bool closed, int weight, bool in_order)
{
    const int64_t n = components * length;
    int32_t *number = shuffled(n, 17);
    pair *edges = malloc(sizeof *edges * (size_t)(n + 1));
    double *weights = malloc(sizeof *weights * (size_t)(n + 1));
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool is_last = i % length == length - 1;
        if (is_last && !closed) continue;
        const int64_t j = is_last ? i + 1 - length : i + 1;
        edges[count][0] = in_order ? (int32_t)i : number[i];
        edges[count][1] = in_order ? (int32_t)j : number[j];
        weights[count++] = weight == 0 ? 1 : weight == 1 ? 1 + (double)i / (double)n : 1 + test_uniform(3, (uint64_t)i);
    }
    problem *p = problem_edges(t, n, count, (const pair *)edges, weights, false);
    free(number), free(edges), free(weights);
    return p;
}

static const trine_factor_rounds maximal = {.until_maximal = 1};

/** On the test's device by both rankings, held to everything that a forest is. */
static void try_both(const problem *p, const trine_factor_rounds *rounds, int64_t cycles, int64_t paths)
{
    outcome o[2];
    for (int k = 0; k < 2; k++) {
        const trine_forest_options options = {.ranking = k ? TRINE_RANKING_SCAN : TRINE_RANKING_SPLITTERS};
        o[k] = run_forest(test_shared(2), p, &options, rounds);
        assert_forest(p, &o[k], rounds);
        if (cycles >= 0) assert_int_equal(o[k].result.cycles, cycles);
        if (paths >= 0) assert_int_equal(o[k].result.paths, paths);
    }
    assert_same(p, &o[0], &o[1]);
    end_outcome(&o[0]);
    end_outcome(&o[1]);
}

static void test_lines(void **state)
{
    static const struct {
        int64_t components, length;
    } sizes[] = {{1, 3},  {1, 4},  {1, 5},    {1, 7},    {1, 8},    {1, 31},   {1, 32},  {1, 33},    {5, 64},
                 {1, 65}, {9, 16}, {1, 1000}, {1, 1023}, {1, 1024}, {1, 1025}, {300, 3}, {1, 65536}, {30000, 3}};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int variant = 0; variant < 12; variant++) {
            const int64_t c = sizes[k].components, length = sizes[k].length;
            if (c * length > 10000 && (variant > 3 || test_is_reduced())) continue;
            if (!test_is_to_do()) continue;
            const bool closed = variant % 2;
            problem *p = lines(all_dtypes[variant % 4], c, length, closed, variant / 4, variant / 2 % 2);
            try_both(p, &maximal, closed ? c : 0, c); /* rings: all of their edges are in the factor at first */
            problem_end(p);
        }
}

/** One path, one ring of many vertices, many short rings: what takes a step a vertex anywhere takes long here. */
static void try_many(trine_dtype t, int64_t components, int64_t length, bool closed, int weight, bool in_order)
{
    if (test_is_reduced()) return;
    if (!getenv("TRINE_TEST_FULL")) { /* 2 percent of it */
        if (components > 1) components /= 50;
        else length /= 50;
    }
    problem *p = lines(t, components, length, closed, weight, in_order);
    try_both(p, &maximal, closed ? components : 0, components);
    problem_end(p);
}
static void test_one_long_line(void **state)
{
    (void)state;
    try_many(TRINE_S, 1, 10000000, false, 0, false);
}
static void test_one_long_ring(void **state)
{
    (void)state;
    try_many(TRINE_S, 1, 10000000, true, 0, false);
}
/** Weights and numbers increase along it. */
static void test_one_increasing_ring(void **state)
{
    (void)state;
    try_many(TRINE_D, 1, 10000000, true, 1, true);
}
static void test_many_rings(void **state)
{
    (void)state;
    try_many(TRINE_S, 1000000, 3, true, 2, false);
}

/** Weights that increase along a path make rounds without charges and hash take one edge at a time: still right. */
static void test_increasing(void **state)
{
    (void)state;
    problem *p = lines(TRINE_D, 1, 500, false, 1, true);
    const trine_factor_rounds all[] = {
        {.n = 1, .until_maximal = 1, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1},
        {.n = 1, .until_maximal = 1, .ties = TRINE_TIES_LOWEST_INDEX},
        {.n = 1, .until_maximal = 1, .m = 5, .km = 1},
    };
    int64_t rounds[3];
    for (int k = 0; k < 3; k++) {
        outcome o = run_forest(test_shared(2), p, NULL, &all[k]);
        assert_forest(p, &o, &all[k]);
        assert_int_equal(o.raw.maximal, 1);
        rounds[k] = o.raw.rounds;
        end_outcome(&o);
    }
    assert_int_equal(rounds[0], 251);    /* one edge a round from the strong end, and one to see that none is left */
    assert_int_equal(rounds[1] % 5, 1);  /* charged runs end in a round without charges */
    assert_int_equal(rounds[2] % 5, 2);
    assert_true(rounds[1] < 60 && rounds[2] < 60);
    problem_end(p);
}

/** Vertices with edges to all others: one, a few, everyone. On a GPU a long row is taken by a block. */
static void test_stars_and_cliques(void **state)
{
    static const struct { int32_t n, hubs; } kinds[] = {{3000, 1}, {3000, 20}, {60, 60}};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int kind = 0; kind < 3; kind++)
            for (int equal = 0; equal < 2; equal++) {
                const int32_t n = kinds[kind].n;
                const size_t most = (size_t)n * (size_t)kinds[kind].hubs;
                pair *edges = malloc(sizeof *edges * most);
                double *weights = malloc(sizeof *weights * most);
                int64_t count = 0;
                for (int32_t i = 0; i < kinds[kind].hubs; i++)
                    for (int32_t j = i + 1; j < n; j++) {
                        edges[count][0] = i, edges[count][1] = j;
                        weights[count] = equal ? 2 : test_uniform(8, (uint64_t)count);
                        count++;
                    }
                problem *p = problem_edges(all_dtypes[t], n, count, (const pair *)edges, weights, false);
                try_both(p, &maximal, -1, -1);
                try_both(p, &(trine_factor_rounds){.ties = TRINE_TIES_LOWEST_INDEX}, -1, -1);
                problem_end(p);
                free(edges), free(weights);
            }
}

/** No vertices, one, two, only isolated ones; zeros, which are no edges. */
static void test_nothing(void **state)
{
    static const pair edge[] = {{0, 1}, {1, 2}};
    static const double zero[] = {0, 3};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int64_t n = 0; n < 3; n++) {
            problem *p = problem_edges(all_dtypes[t], n, n == 2, edge, zero + 1, false);
            try_both(p, &maximal, 0, n == 0 ? 0 : 1);
            problem_end(p);
        }
        problem *p = problem_edges(all_dtypes[t], 500, 0, edge, zero, false);
        try_both(p, &maximal, 0, 500);
        problem_end(p);
        p = problem_edges(all_dtypes[t], 3, 2, edge, zero, false);
        outcome o = run_forest(test_shared(2), p, NULL, &maximal);
        assert_int_equal(o.raw.edges, 1);
        assert_int_equal(o.path[0], 0);
        assert_int_equal(o.path[2], 1);
        end_outcome(&o);
        problem_end(p);
        p = problem_edges(all_dtypes[t], 3, 2, edge, (double[]){5, 3}, true); /* A + A^T */
        try_both(p, &maximal, 0, 1);
        problem_end(p);
    }
}

/** A NaN is named with its row, and is no edge. */
static void test_nan(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int t = 0; t < 4; t++) {
        problem *p = problem_gallery("laplace2d:n=40", all_dtypes[t]);
        void *values = malloc((size_t)p->nnz * trine_dtype_size(p->t));
        memcpy(values, p->values, (size_t)p->nnz * trine_dtype_size(p->t));
        trine_forest f;
        trine_forest_arrays arrays;
        OK(trine_forest_create(ctx, &f, p->A, NULL));
        FAILS(TRINE_ERR_STATE, "trine_forest_set_weights", trine_forest_check(f, NULL));
        for (int64_t k = p->offsets[900]; k < p->offsets[901]; k++) /* the diagonal is nobody's weight */
            if (p->columns[k] == 900) put(p->t, values, k, NAN);
        OK(trine_forest_set_weights(f, TRINE_HOST, values, NULL));
        OK(trine_forest_check(f, NULL));
        put(p->t, values, p->offsets[1200], NAN);
        put(p->t, values, p->offsets[700], NAN);
        OK(trine_forest_run(f, TRINE_HOST, values, &maximal, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "row 700 has a NaN", trine_forest_check(f, NULL));
        OK(trine_forest_get_arrays(f, &arrays));
        int32_t *neighbours = fetch(ctx, arrays.neighbours, 2 * p->n, sizeof *neighbours);
        assert_true(neighbours[1400] != p->columns[p->offsets[700]]);
        assert_true(neighbours[1401] != p->columns[p->offsets[700]]);
        free(neighbours);
        OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
        OK(trine_forest_check(f, NULL));
        OK(trine_forest_destroy(&f));
        free(values);
        problem_end(p);
    }
}

/** Infinite weights are edges like others, and 0 times them is 0: a cycle of them is opened once by either ranking. */
static void test_infinite(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int ranking = 1; ranking < 3; ranking++)
            for (int omega = 0; omega < 2; omega++) {
                problem *p = lines(all_dtypes[t], 1, 70, true, 0, false);
                void *values = malloc((size_t)p->nnz * trine_dtype_size(p->t));
                for (int64_t k = 0; k < p->nnz; k++) put(p->t, values, k, INFINITY);
                trine_forest f;
                trine_forest_result result;
                OK(trine_forest_create(test_shared(2), &f, p->A,
                                       &(trine_forest_options){.ranking = (trine_ranking)ranking}));
                OK(trine_forest_set_weights(f, TRINE_HOST, values, NULL));
                OK(trine_forest_check(f, NULL));
                OK(trine_forest_factor(f, &maximal, NULL));
                OK(trine_forest_scale(f, 0.5 * omega, NULL));
                OK(trine_forest_break_cycles(f, NULL));
                OK(trine_forest_order(f, NULL));
                OK(trine_forest_get_result(f, &result, NULL));
                assert_int_equal(result.cycles, 1);
                assert_int_equal(result.longest, 70);
                OK(trine_forest_factor(f, &maximal, NULL));
                OK(trine_forest_get_result(f, &result, NULL));
                assert_int_equal(result.edges, omega ? 70 : 0);
                OK(trine_forest_destroy(&f));
                free(values);
                problem_end(p);
            }
}

/* ------------------------------------------------------------------- blocks */

/** The coarse forest by hand: pairs, the sums between them, and every entry of the blocks. */
static void assert_blocks(trine_context ctx, const problem *p, trine_forest f, trine_forest coarse)
{
    const int64_t n = p->n;
    const size_t size = trine_dtype_size(p->t);
    trine_forest_arrays fine, pairs;
    trine_forest_result result;
    OK(trine_forest_get_arrays(f, &fine));
    OK(trine_forest_get_arrays(coarse, &pairs));
    OK(trine_forest_get_result(coarse, &result, NULL));
    int32_t *mate = fetch(ctx, fine.neighbours, n, sizeof *mate),
            *links = fetch(ctx, pairs.neighbours, 2 * n, sizeof *links),
            *path = fetch(ctx, pairs.path, n, sizeof *path), *order = fetch(ctx, pairs.permutation, n, sizeof *order),
            *permutation;
    void *device[4], *bands[3];
    for (int k = 0; k < 4; k++)
        OK(trine_alloc(ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, 4 * (size_t)n * size + 8 * (size_t)n,
                       &device[k]));
    OK(trine_forest_extract_blocks(f, TRINE_HOST, p->values, device[0], device[1], device[2], device[3], NULL));
    for (int k = 0; k < 3; k++) bands[k] = fetch(ctx, device[k], 4 * n, size);
    permutation = fetch(ctx, device[3], 2 * n, sizeof *permutation);
    for (int k = 0; k < 4; k++) test_release(ctx, device[k]);

    int64_t vertices = 0;
    uint8_t *seen = calloc((size_t)n + 1, 1);
    for (int64_t r = 0; r < n; r++) {
        const int32_t v = order[r], *here = permutation + 2 * r;
        const int32_t none[2] = {-1, -1};
        assert_true((v >= 0) == (r < result.vertices));
        assert_int_equal(here[0], v);
        assert_int_equal(here[1], v >= 0 ? mate[v] : -1);
        for (int k = 0; k < 2; k++)
            if (here[k] >= 0) {
                assert_false(seen[here[k]]);
                seen[here[k]] = 1;
                vertices++;
            }
        const bool has_before = v >= 0 && r > 0 && path[order[r - 1]] == path[v];
        const bool has_after = v >= 0 && r + 1 < result.vertices && path[order[r + 1]] == path[v];
        const int32_t *beside[] = {has_before ? here - 2 : none, here, has_after ? here + 2 : none};
        if (has_before) assert_true(links[2 * v] == order[r - 1] || links[2 * v + 1] == order[r - 1]);
        for (int band = 0; band < 3; band++)
            for (int j = 0; j < 2; j++)
                for (int i = 0; i < 2; i++) {
                    const wide ghost = band == 1 && i == j && here[i] < 0;
                    const wide entry =
                        here[i] >= 0 && beside[band][j] >= 0 ? entry_of(p, here[i], beside[band][j]) : ghost;
                    assert_true(get(p->t, bands[band], 4 * r + i + 2 * j) == entry);
                }
    }
    assert_int_equal(vertices, n);
    free(seen), free(mate), free(links), free(path), free(order), free(permutation);
    for (int k = 0; k < 3; k++) free(bands[k]);
}

static const char *const block_matrices[] = {
    "laplace2d:n=31",          "aniso1:n=18", "convection3d:n=7", "elasticity3d:n=3",
    "powerlaw:n=800,degree=5", "arrow:n=101", "diagonal:n=9",     "chain:n=2"};

static void test_blocks(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof block_matrices / sizeof *block_matrices; k++)
        for (int t = 0; t < 4; t++)
            for (int ranking = 1; ranking < 3; ranking++) {
                if (!test_is_to_do()) continue;
                problem *p = problem_gallery(block_matrices[k], all_dtypes[t]);
                int32_t *first = NULL;
                for (int device = 0; device < 2; device++) {
                    trine_context ctx = device ? test_shared(2) : test_cpu(1);
                    if (!device && test_on_gpu()) continue; /* compared below by what must hold */
                    trine_forest f, coarse;
                    OK(trine_forest_create(ctx, &f, p->A,
                                           &(trine_forest_options){.blocks = 1, .ranking = (trine_ranking)ranking}));
                    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
                    OK(trine_forest_factor(f, &(trine_factor_rounds){.n = 1}, NULL));
                    OK(trine_forest_coarsen(f, &coarse, NULL));
                    OK(trine_forest_run(coarse, TRINE_HOST, NULL, &(trine_factor_rounds){.seed = 2}, NULL));
                    assert_blocks(ctx, p, f, coarse);
                    OK(trine_forest_destroy(&f)); /* the coarse one lives on */
                    trine_forest_arrays arrays;
                    OK(trine_forest_get_arrays(coarse, &arrays));
                    int32_t *order = fetch(ctx, arrays.permutation, p->n, sizeof *order);
                    if (first) assert_memory_equal(first, order, sizeof *order * (size_t)p->n);
                    free(first);
                    first = order;
                    OK(trine_forest_destroy(&coarse));
                }
                free(first);
                problem_end(p);
            }
}

/** The edges of a problem with weights that are whole numbers, so that sums of them are exact. */
static problem *with_whole_numbers(const problem *from)
{
    pair *edges = malloc(sizeof *edges * (size_t)from->nnz);
    double *weights = malloc(sizeof *weights * (size_t)from->nnz);
    int64_t count = 0;
    for (int64_t v = 0; v < from->n; v++)
        for (int64_t k = from->graph.offsets[v]; k < from->graph.offsets[v + 1]; k++) {
            if (from->graph.columns[k] < v) continue;
            edges[count][0] = (int32_t)v, edges[count][1] = from->graph.columns[k];
            weights[count] = 1 + floor(20 * test_uniform(6, (uint64_t)count));
            count++;
        }
    problem *p = problem_edges(from->t, from->n, count, (const pair *)edges, weights, false);
    free(edges), free(weights);
    return p;
}

/** The coarse factor is that of a graph of sums, made here by hand as a matrix of its own. */
static void test_coarse_weights(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int t = 0; t < 4; t++) {
        problem *grid = problem_gallery("aniso2:n=16", all_dtypes[t]), *p = with_whole_numbers(grid);
        trine_forest f, coarse;
        trine_forest_arrays arrays;
        trine_forest_coverage c;
        const trine_factor_rounds two = {.n = 2, .until_maximal = 1, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1};
        OK(trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.blocks = 1}));
        OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
        OK(trine_forest_factor(f, &(trine_factor_rounds){.n = 1}, NULL));
        OK(trine_forest_get_arrays(f, &arrays));
        int32_t *mate = fetch(ctx, arrays.neighbours, p->n, sizeof *mate);
        pair *edges = malloc(sizeof *edges * (size_t)p->nnz);
        double *weights = malloc(sizeof *weights * (size_t)p->nnz);
        int64_t count = 0;
        for (int64_t v = 0; v < p->n; v++)
            for (int64_t k = p->graph.offsets[v]; k < p->graph.offsets[v + 1]; k++) {
                const int32_t u = p->graph.columns[k];
                const int32_t a = mate[v] >= 0 && mate[v] < v ? mate[v] : (int32_t)v,
                              b = mate[u] >= 0 && mate[u] < u ? mate[u] : u;
                if (a >= b) continue;
                int64_t e = 0;
                while (e < count && (edges[e][0] != a || edges[e][1] != b)) e++;
                if (e == count) edges[count][0] = a, edges[count][1] = b, weights[count++] = 0;
                weights[e] += p->graph.weights[k];
            }
        for (int64_t e = 0; e < count; e++) weights[e] /= 2; /* q adds both sides */
        problem *q = problem_edges(TRINE_D, p->n, count, (const pair *)edges, weights, false);
        outcome o = run_forest(ctx, q, NULL, &two);
        OK(trine_forest_coarsen(f, &coarse, NULL));
        OK(trine_forest_factor(coarse, &two, NULL));
        OK(trine_forest_get_arrays(coarse, &arrays));
        int32_t *links = fetch(ctx, arrays.neighbours, 2 * p->n, sizeof *links);
        assert_memory_equal(links, o.factor, 2 * (size_t)p->n * sizeof *links);
        free(links);
        OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
        assert_true(isnan(c.blocks));
        OK(trine_forest_break_cycles(coarse, NULL));
        OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
        assert_true(c.blocks > c.factor && c.blocks < 1);
        end_outcome(&o);
        problem_end(q);
        problem_end(grid);
        free(mate), free(edges), free(weights);
        OK(trine_forest_destroy(&coarse));
        OK(trine_forest_destroy(&f));
        problem_end(p);
    }
}

/** Both pairs add the edges between them in one order, where another order would give another sum: 1 + u/2 + 3u/4 with
 *  u = 2^-23 is 1 + u, but 1 + 3u/4 + u/2 is 1 + 2u, which would tie with the edge to vertex 4. */
static void test_coarse_sums(void **state)
{
    static const pair edges[] = {{0, 1}, {2, 3}, {0, 2}, {0, 3}, {1, 2}, {2, 4}};
    static const double weights[] = {10, 10, 1, 0x1p-24, 0x1.8p-24, 1 + 0x1p-22};
    (void)state;
    problem *p = problem_edges(TRINE_S, 5, 6, edges, weights, true);
    trine_forest f, coarse;
    trine_forest_arrays arrays;
    const trine_factor_rounds one = {.n = 1, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1};
    OK(trine_forest_create(test_shared(2), &f, p->A, &(trine_forest_options){.blocks = 1}));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_factor(f, &one, NULL));
    OK(trine_forest_coarsen(f, &coarse, NULL));
    OK(trine_forest_factor(coarse, &one, NULL));
    OK(trine_forest_get_arrays(coarse, &arrays));
    int32_t *mate = fetch(test_shared(2), arrays.neighbours, 5, sizeof *mate);
    assert_int_equal(mate[2], 4);
    assert_int_equal(mate[0], -1);
    free(mate);
    OK(trine_forest_destroy(&coarse));
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/** The same factor of both? */
static void assert_same_factor(trine_context ctx, const problem *p, trine_forest f, trine_forest g)
{
    trine_forest_arrays arrays[2];
    OK(trine_forest_get_arrays(f, &arrays[0]));
    OK(trine_forest_get_arrays(g, &arrays[1]));
    assert_int_equal(arrays[0].n, arrays[1].n);
    const int64_t count = p->n * arrays[0].n;
    int32_t *a = fetch(ctx, arrays[0].neighbours, count, sizeof *a),
            *b = fetch(ctx, arrays[1].neighbours, count, sizeof *b);
    assert_memory_equal(a, b, sizeof *a * (size_t)count);
    free(a), free(b);
}

/* -------------------------------------------------------------- improvement */

/** An ordered forest by hand: edges of A, mutual, no cycle; names, positions and permutation. Returns its weight. */
static double assert_ordered(trine_context ctx, const problem *p, trine_forest f)
{
    trine_forest_arrays arrays;
    trine_forest_result result;
    OK(trine_forest_get_arrays(f, &arrays));
    OK(trine_forest_get_result(f, &result, NULL));
    int32_t *neighbours = fetch(ctx, arrays.neighbours, 2 * p->n, sizeof *neighbours),
            *path = fetch(ctx, arrays.path, p->n, sizeof *path),
            *position = fetch(ctx, arrays.position, p->n, sizeof *position),
            *order = fetch(ctx, arrays.permutation, p->n, sizeof *order);
    double weight = 0;
    int64_t edges = 0, paths = 0;
    for (int64_t i = 0; i < p->n; i++) { /* one path after another: so there is no cycle */
        const int32_t v = order[i], *mine = neighbours + 2 * (int64_t)v;
        const bool goes_on = i + 1 < p->n && path[order[i + 1]] == path[v];
        paths += !goes_on;
        edges += goes_on;
        if (goes_on) weight += weight_of(p, v, order[i + 1]);
        if (position[v] == 1) assert_int_equal(path[v], v);
        else assert_true(path[order[i - 1]] == path[v] && position[order[i - 1]] == position[v] - 1);
        assert_true(path[v] <= v || position[v] > 1);
        for (int s = 0; s < 2; s++)
            if (mine[s] >= 0) {
                assert_true(weight_of(p, v, mine[s]) > 0);
                assert_true((goes_on && mine[s] == order[i + 1]) || (position[v] > 1 && mine[s] == order[i - 1]));
                assert_true(neighbours[2 * (int64_t)mine[s]] == v || neighbours[2 * (int64_t)mine[s] + 1] == v);
            }
        assert_int_equal((mine[0] >= 0) + (mine[1] >= 0), goes_on + (position[v] > 1));
    }
    assert_int_equal(result.paths, paths);
    assert_int_equal(result.edges, edges);
    free(neighbours), free(path), free(position), free(order);
    return weight;
}

/** Exchanges leave a forest, never lower its weight, and do not depend on threads. */
static void test_improve(void **state)
{
    static const char *const specs[] = {"laplace2d:n=40",          "aniso1:n=21",      "laplace3d27:n=8", "arrow:n=200",
                                        "powerlaw:n=900,degree=9", "convection3d:n=8", "diagonal:n=7",    "chain:n=2"};
    (void)state;
    trine_context ctx = test_shared(2);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int t = 0; t < 4; t++) {
            if (!test_is_to_do()) continue;
            problem *p = problem_gallery(specs[k], all_dtypes[t]);
            const trine_factor_rounds rounds = {.seed = 3 + (uint64_t)t, .ties = t % 2};
            const trine_forest_options options = {.ranking = t < 2 ? TRINE_RANKING_SPLITTERS : TRINE_RANKING_SCAN};
            trine_forest f, g;
            OK(trine_forest_create(ctx, &f, p->A, &options));
            OK(trine_forest_create(test_on_gpu() ? ctx : test_cpu(1), &g, p->A, NULL));
            FAILS(TRINE_ERR_STATE, "ordered forest", trine_forest_improve(f, 1, NULL));
            OK(trine_forest_run(f, TRINE_HOST, p->values, &rounds, NULL));
            OK(trine_forest_run(g, TRINE_HOST, p->values, &rounds, NULL));
            double weight = assert_ordered(ctx, p, f);
            const double before = weight;
            for (int many = 1; many < 6; many += 2) {
                OK(trine_forest_improve(f, many, NULL));
                OK(trine_forest_improve(g, many, NULL));
                const double now = assert_ordered(ctx, p, f);
                assert_true(now >= weight * (1 - 1e-12));
                assert_same_factor(ctx, p, f, g);
                weight = now;
            }
            if (k < 3) assert_true(weight > before);
            FAILS(TRINE_ERR_ARGUMENT, "rounds is -1", trine_forest_improve(f, -1, NULL));
            OK(trine_forest_destroy(&f));
            OK(trine_forest_destroy(&g));
            problem_end(p);
        }
}

/** Of the edges of a grid with equal weights a Hamiltonian path has half: 98 percent of that is reached. */
static void test_improve_grid(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    problem *p = problem_gallery("laplace2d:n=150", TRINE_S);
    trine_forest f;
    trine_forest_coverage coverage;
    OK(trine_forest_create(ctx, &f, p->A, NULL));
    OK(trine_forest_run(f, TRINE_HOST, p->values, NULL, NULL));
    OK(trine_forest_improve(f, 0, NULL));
    OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &coverage, NULL));
    assert_true(coverage.factor >= 0.49);
    OK(trine_forest_destroy(&f));
    OK(trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.directed = 1}));
    OK(trine_forest_run(f, TRINE_HOST, p->values, NULL, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "directed graph", trine_forest_improve(f, 0, NULL));
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/* ----------------------------------------------------------- decompositions */

enum { FORESTS = 4 };
struct calls {
    int count;
    trine_space space;
    const void *values;
};
static trine_status give_values(void *user, int l, trine_forest forest, trine_space *space, const void **values)
{
    struct calls *calls = user;
    trine_forest_arrays arrays;
    OK(trine_forest_get_arrays(forest, &arrays));
    assert_non_null(arrays.permutation);
    assert_int_equal(l, ++calls->count);
    if (l == 3) return trine_fail(TRINE_ERR_UNSUPPORTED, "no third one");
    *space = calls->space;
    *values = l == 1 ? calls->values : NULL;
    return TRINE_SUCCESS;
}

/** A decomposition keeps lists of candidates, which must not be seen in any result: beside the same stages by hand, for
 *  rows with fewer, as many and more edges than a list has; and in what is done with the forest afterwards. */
static void test_candidates(void **state)
{
    static const char *const specs[] = {"laplace2d:n=23",          "aniso1:n=30",      "laplace3d27:n=9", "arrow:n=200",
                                        "powerlaw:n=900,degree=9", "convection3d:n=8", "diagonal:n=7"};
    static const trine_factor_rounds rules[] = {
        {.seed = 9}, {.ties = TRINE_TIES_LOWEST_INDEX}, {.seed = 2, .m = 3, .km = 1, .until_maximal = 1}, {.n = 1}};
    (void)state;
    trine_context ctx = test_shared(2);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int r = 0; r < 4; r++) {
            if (!test_is_to_do()) continue;
            problem *p = problem_gallery(specs[k], all_dtypes[(k + (size_t)r) % 2]);
            trine_forest f, g;
            const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
            void *permutation, *bands;
            OK(trine_alloc(ctx, space, 9 * (size_t)p->n * 4 + 1, &permutation));
            OK(trine_alloc(ctx, space, 9 * (size_t)p->n * 8 + 1, &bands));
            OK(trine_forest_create(ctx, &f, p->A, NULL));
            OK(trine_forest_create(ctx, &g, p->A, NULL));
            OK(trine_forest_set_weights(g, TRINE_HOST, p->values, NULL));
            OK(trine_forest_run(g, TRINE_HOST, NULL, &rules[r], NULL));
            for (int count = 2; count < 10; count += 3) {
                /* weights are adjusted where the bands are made, or without any */
                void *const out = count == 5 ? bands : NULL;
                OK(trine_forest_decompose(f, TRINE_HOST, p->values, &rules[r],
                                          &(trine_forest_decomposition){
                                              .count = count, .permutation = permutation, .a = out, .b = out, .c = out},
                                          NULL));
                OK(trine_forest_set_weights(g, TRINE_HOST, p->values, NULL));
                for (int l = 0; l < count; l++) {
                    if (l) OK(trine_forest_scale(g, 0, NULL));
                    OK(trine_forest_run(g, TRINE_HOST, NULL, &rules[r], NULL));
                }
                assert_same_factor(ctx, p, f, g);
            }
            for (int then = 0; then < 3; then++) { /* the lists are those of the weights and ties, or not used */
                for (int side = 0; side < 2; side++) {
                    trine_forest h = side ? g : f;
                    if (then == 1) OK(trine_forest_scale(h, 0.25, NULL));
                    if (then == 2) OK(trine_forest_set_weights(h, TRINE_HOST, p->values, NULL));
                    OK(trine_forest_factor(h, &rules[then ? r : (r + 1) % 3], NULL));
                }
                assert_same_factor(ctx, p, f, g);
            }
            test_release(ctx, permutation);
            test_release(ctx, bands);
            OK(trine_forest_destroy(&f));
            OK(trine_forest_destroy(&g));
            problem_end(p);
        }
}

static void test_decomposition(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int t = 0; t < 4; t++)
        for (int omega = 0; omega < 2; omega++) {
            problem *p = problem_gallery("laplace3d27:n=9", all_dtypes[t]);
            const size_t n = (size_t)p->n, size = trine_dtype_size(p->t);
            const trine_factor_rounds rounds = {.seed = 4};
            trine_forest f;
            trine_forest_arrays arrays;
            void *out[4];
            for (int k = 0; k < 4; k++)
                OK(trine_alloc(ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, FORESTS * n * 16, &out[k]));
            OK(trine_forest_create(ctx, &f, p->A, NULL));
            trine_forest_decomposition d = {
                .count = FORESTS, .omega = 0.5 * omega, .permutation = out[3], .a = out[0], .b = out[1], .c = out[2]};
            OK(trine_forest_decompose(f, TRINE_HOST, p->values, &rounds, &d, NULL));
            int32_t *permutations = fetch(ctx, out[3], FORESTS * p->n, sizeof *permutations);
            char *a = fetch(ctx, out[0], FORESTS * p->n, size);
            int64_t *edges = calloc(n * n, sizeof *edges), twice = 0;
            OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL)); /* the same, step by step */
            for (int l = 0; l < FORESTS; l++) {
                if (l) OK(trine_forest_scale(f, 0.5 * omega, NULL));
                OK(trine_forest_run(f, TRINE_HOST, NULL, &rounds, NULL));
                OK(trine_forest_get_arrays(f, &arrays));
                int32_t *order = fetch(ctx, arrays.permutation, p->n, sizeof *order),
                        *path = fetch(ctx, arrays.path, p->n, sizeof *path);
                assert_memory_equal(order, permutations + l * p->n, n * sizeof *order);
                for (int64_t i = 1; i < p->n; i++) {
                    if (path[order[i]] != path[order[i - 1]]) continue;
                    twice += edges[order[i] * p->n + order[i - 1]]++;
                    edges[order[i - 1] * p->n + order[i]]++;
                    assert_true(get(p->t, a + (size_t)l * n * size, i) == entry_of(p, order[i], order[i - 1]));
                }
                free(order), free(path);
            }
            assert_true(omega ? twice > 0 : twice == 0);
            d.next = give_values;
            struct calls calls = {0, TRINE_HOST, p->values};
            d.user = &calls;
            FAILS(TRINE_ERR_UNSUPPORTED, "no third one",
                  trine_forest_decompose(f, TRINE_HOST, p->values, &rounds, &d, NULL));
            int32_t *again = fetch(ctx, out[3], FORESTS * p->n, sizeof *again);
            assert_memory_equal(again, again + p->n, n * sizeof *again); /* the same values once more */
            assert_memory_equal(again + 2 * p->n, permutations + p->n, n * sizeof *again); /* then adjusted */
            free(again), free(permutations), free(a), free(edges);
            for (int k = 0; k < 4; k++) test_release(ctx, out[k]);
            OK(trine_forest_destroy(&f));
            problem_end(p);
        }
}

static trine_status begin_elsewhere(void *user, int l, trine_forest forest, trine_space *space, const void **values)
{
    (void)user, (void)l, (void)space, (void)values;
    assert_true(trine_enter_alone(&forest->usage));
    return TRINE_SUCCESS;
}

/** While a callback runs the forest is free. A call of another thread that begins then keeps it: the decomposition
 *  ends, and does not open it to a third one. */
static void test_lost_decomposition(void **state)
{
    (void)state;
    problem *p = problem_gallery("laplace2d:n=9", TRINE_D);
    int32_t permutation[2 * 81];
    trine_forest f;
    OK(trine_forest_create(test_cpu(1), &f, p->A, NULL));
    const trine_forest_decomposition d = {.count = 2, .permutation = permutation, .next = begin_elsewhere};
    FAILS(TRINE_ERR_STATE, "during trine_forest_decompose",
          trine_forest_decompose(f, TRINE_HOST, p->values, NULL, &d, NULL));
    FAILS(TRINE_ERR_STATE, "in use by another thread", trine_forest_run(f, TRINE_HOST, p->values, NULL, NULL));
    trine_leave_alone(&f->usage);
    OK(trine_forest_run(f, TRINE_HOST, p->values, NULL, NULL));
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/** A matrix without entries has no values. */
static void test_no_values(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    problem *p = problem_edges(TRINE_C, 3, 0, NULL, NULL, false);
    trine_forest f;
    void *permutation;
    OK(trine_alloc(ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, 2 * 3 * 4, &permutation));
    OK(trine_forest_create(ctx, &f, p->A, NULL));
    OK(trine_forest_decompose(f, TRINE_HOST, NULL, NULL,
                              &(trine_forest_decomposition){.count = 2, .permutation = permutation}, NULL));
    int32_t *order = fetch(ctx, permutation, 6, sizeof *order);
    for (int i = 0; i < 6; i++) assert_int_equal(order[i], i % 3);
    free(order);
    test_release(ctx, permutation);
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/* ------------------------------------------------------------------- errors */

static void test_factor_of_the_caller(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    problem *p = lines(TRINE_D, 1, 6, true, 1, true);
    trine_forest f;
    trine_forest_result result;
    OK(trine_forest_create(ctx, &f, p->A, NULL));
    int32_t all[12];
    for (int v = 0; v < 6; v++) all[2 * v] = (v + 1) % 6, all[2 * v + 1] = (v + 5) % 6;
    FAILS(TRINE_ERR_STATE, "weights", trine_forest_set_factor(f, 2, all, NULL, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_set_factor(f, 2, all, NULL, NULL));
    OK(trine_forest_break_cycles(f, NULL));
    OK(trine_forest_order(f, NULL));
    OK(trine_forest_get_result(f, &result, NULL));
    assert_int_equal(result.cycles, 1);
    assert_int_equal(result.edges, 5);
    assert_int_equal(result.longest, 6);
    static const struct {
        int at, value;
        const char *text;
    } wrong[] = {{0, 7, "outside 0..5"},
                 {0, 3, "no edge"},
                 {1, -1, "the other way round"},
                 {1, 1, "twice"},
                 {1, -2, "outside 0..5"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        int32_t bad[12];
        memcpy(bad, all, sizeof bad);
        bad[wrong[k].at] = wrong[k].value;
        FAILS(TRINE_ERR_STRUCTURE, wrong[k].text, trine_forest_set_factor(f, 2, bad, NULL, NULL));
    }
    const int32_t gap[] = {-1, 5, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1};
    FAILS(TRINE_ERR_STRUCTURE, "after one that is missing", trine_forest_set_factor(f, 2, gap, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "max_n", trine_forest_set_factor(f, 3, all, NULL, NULL));
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

static void test_errors(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    problem *p = problem_gallery("laplace2d:n=5", TRINE_D);
    trine_forest f = NULL, coarse;
    trine_forest_arrays arrays;
    double b[25];
    FAILS(TRINE_ERR_ARGUMENT, "max_n 9", trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.max_n = 9}));
    FAILS(TRINE_ERR_ARGUMENT, "ranking", trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.ranking = 3}));
    assert_null(f);
    OK(trine_forest_create(ctx, &f, p->A, NULL));
    FAILS(TRINE_ERR_STATE, "set_weights", trine_forest_factor(f, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "factor", trine_forest_break_cycles(f, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "values", trine_forest_set_weights(f, TRINE_HOST, NULL, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    static const struct {
        trine_factor_rounds rounds;
        const char *text;
    } wrong[] = {{{.n = 3}, "n 3"},      {{.n = -1}, "n -1"},   {{.rounds = -1}, "rounds"},
                 {{.m = -2}, "m is -2"}, {{.km = 1}, "km 1"},   {{.m = 3, .km = 3}, "km"},
                 {{.p = 1.5}, "p 1.5"},  {{.p = NAN}, "p nan"}, {{.ties = 2}, "ties"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        FAILS(TRINE_ERR_ARGUMENT, wrong[k].text, trine_forest_factor(f, &wrong[k].rounds, NULL));
    FAILS(TRINE_ERR_STATE, "factor", trine_forest_scale(f, 0.5, NULL));
    OK(trine_forest_factor(f, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "omega", trine_forest_scale(f, -1, NULL));
    FAILS(TRINE_ERR_STATE, "break_cycles", trine_forest_order(f, NULL));
    FAILS(TRINE_ERR_STATE, "options.blocks", trine_forest_coarsen(f, &coarse, NULL));
    FAILS(TRINE_ERR_STATE, "trine_forest_order", trine_forest_extract(f, TRINE_HOST, p->values, b, b, b, NULL));
    OK(trine_forest_get_arrays(f, &arrays));
    assert_null(arrays.path);
    assert_int_equal(arrays.n, 2);
    OK(trine_forest_run(f, TRINE_HOST, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "b is NULL", trine_forest_extract(f, TRINE_HOST, p->values, b, NULL, b, NULL));
    FAILS(TRINE_ERR_STATE, "extract_blocks",
          trine_forest_extract_blocks(f, TRINE_HOST, p->values, b, b, b, (int32_t *)b, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "count",
          trine_forest_decompose(f, TRINE_HOST, p->values, NULL, &(trine_forest_decomposition){0}, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL)); /* forgets the factor */
    FAILS(TRINE_ERR_STATE, "factor", trine_forest_break_cycles(f, NULL));
    OK(trine_forest_destroy(&f));

    OK(trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.blocks = 1, .max_n = 1}));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_factor(f, NULL, NULL)); /* n = 1: all that there is memory for */
    OK(trine_forest_coarsen(f, &coarse, NULL));
    FAILS(TRINE_ERR_STATE, "of its pairs", trine_forest_set_weights(coarse, TRINE_HOST, p->values, NULL));
    FAILS(TRINE_ERR_STATE, "of its pairs", trine_forest_check(coarse, NULL));
    FAILS(TRINE_ERR_STATE, "coarsen", trine_forest_coarsen(coarse, &(trine_forest){NULL}, NULL));
    OK(trine_forest_run(coarse, TRINE_HOST, NULL, NULL, NULL));
    FAILS(TRINE_ERR_STATE, "of its pairs", trine_forest_extract(coarse, TRINE_HOST, p->values, b, b, b, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL)); /* the pairs are gone */
    FAILS(TRINE_ERR_STATE, "trine_forest_coarsen", trine_forest_factor(coarse, NULL, NULL));
    OK(trine_forest_destroy(&coarse));
    OK(trine_forest_destroy(&f));

    trine_matrix wide, twice;
    int64_t *offsets;
    int32_t *columns;
    double *values;
    OK(trine_matrix_allocate(test_cpu(1), &wide, TRINE_CSR, TRINE_D, 2, 3, 0, &offsets, &columns, (void **)&values));
    FAILS(TRINE_ERR_STRUCTURE, "2 x 3", trine_forest_create(ctx, &f, wide, NULL));
    OK(trine_matrix_destroy(&wide));
    OK(trine_matrix_allocate(test_cpu(1), &twice, TRINE_CSR, TRINE_D, 4, 4, 3, &offsets, &columns, (void **)&values));
    offsets[3] = offsets[4] = 3, columns[0] = 1, columns[1] = 3, columns[2] = 1;
    offsets[1] = offsets[2] = 0;
    FAILS(TRINE_ERR_STRUCTURE, "twice", trine_forest_create(ctx, &f, twice, NULL));
    OK(trine_matrix_destroy(&twice));
    problem_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_one_long_line),
                                       cmocka_unit_test(test_one_long_ring),
                                       cmocka_unit_test(test_one_increasing_ring),
                                       cmocka_unit_test(test_many_rings),
                                       cmocka_unit_test(test_increasing),
                                       cmocka_unit_test(test_stars_and_cliques),
                                       cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_nan),
                                       cmocka_unit_test(test_infinite),
                                       cmocka_unit_test(test_lost_decomposition),
                                       cmocka_unit_test(test_no_values),
                                       cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_coarse_weights),
                                       cmocka_unit_test(test_coarse_sums),
                                       cmocka_unit_test(test_decomposition),
                                       cmocka_unit_test(test_candidates),
                                       cmocka_unit_test(test_improve),
                                       cmocka_unit_test(test_improve_grid),
                                       cmocka_unit_test(test_factor_of_the_caller),
                                       cmocka_unit_test(test_errors)};
    return TEST_MAIN(tests);
}
