/* Factors, paths and bands of matrices: what must hold of them, the same on every device, with any number of threads
 * and by either ranking; the numbers of the thesis. */
#include "forest_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forest/common/edge_order.h"

/** The kinds of rounds that everything is tried with. */
static const trine_factor_rounds kinds[] = {
    {.n = 2},
    {.n = 2, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1},
    {.n = 2, .ties = TRINE_TIES_LOWEST_INDEX, .seed = 7},
    {.n = 2, .m = 5, .km = 1, .seed = 3, .p = 0.3},
    {.n = 1, .until_maximal = 1},
    {.n = 2, .until_maximal = 1, .seed = 99},
    {.n = 3},
    {.n = 4, .ties = TRINE_TIES_LOWEST_INDEX, .until_maximal = 1},
    {.n = 5, .rounds = 3},
    {.n = 8, .rounds = 2, .m = 3, .km = 2},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const matrices[] = {"laplace2d:nx=13,ny=7",
                                       "aniso1:n=20",
                                       "aniso2:nx=31,ny=17",
                                       "aniso3:n=14",
                                       "laplace3d27:n=7",
                                       "convection3d:n=8",
                                       "transport15:n=6",
                                       "elasticity3d:n=3",
                                       "random_triangular:n=700,levels=5,row=6,law=power",
                                       "arrow:n=300",
                                       "arrow:n=65,head=first",
                                       "powerlaw:n=1000,degree=6",
                                       "random_banded:n=500,kl=3,ku=1",
                                       "block_diagonal:blocks=7,size=9",
                                       "chain:n=100",
                                       "diagonal:n=40"};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/** On the device of the test, by both rankings, against the CPU on one thread; and everything that must hold. */
static void try_problem(const problem *p, const trine_factor_rounds *rounds)
{
    const trine_forest_options options = {.max_n = 8}, scan = {.max_n = 8, .ranking = TRINE_RANKING_SCAN};
    outcome alone = run_forest(test_cpu(1), p, &options, rounds);
    assert_forest(p, &alone, rounds);
    outcome others[] = {run_forest(test_shared(3), p, &options, rounds), run_forest(test_shared(3), p, &scan, rounds)};
    for (int k = 0; k < 2; k++) {
        assert_same(p, &alone, &others[k]);
        end_outcome(&others[k]);
    }
    end_outcome(&alone);
}

static void test_properties(void **state)
{
    (void)state;
    for (int k = 0; k < MATRICES; k++)
        for (int t = 0; t < 4; t++) {
            if (!test_is_to_do()) continue;
            char spec[128];
            snprintf(spec, sizeof spec, "%s%sphase=5", matrices[k], strchr(matrices[k], ':') ? "," : ":");
            problem *p = problem_gallery(is_complex(all_dtypes[t]) ? spec : matrices[k], all_dtypes[t]);
            for (int r = 0; r < KINDS; r++) try_problem(p, &kinds[r]);
            problem_end(p);
        }
}

static void test_real_matrices(void **state)
{
    static const char *const names[] = {"nos3", "bcsstk13", "add32", "cage10", "ca-CondMat", "bayer10", "cryg2500"};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!test_is_to_do()) continue;
        trine_matrix A;
        OK(trine_matrix_read(test_cpu(2), &A, test_real_matrix(names[k]), k % 2 ? TRINE_S : TRINE_D));
        problem *p = problem_of(A);
        for (int r = 0; r < KINDS; r += 2) try_problem(p, &kinds[r]);
        problem_end(p);
    }
}

/** By definition, one step after another. */
static void test_reference(void **state)
{
    (void)state;
    for (int k = 0; k < MATRICES; k++)
        for (int r = 0; r < KINDS; r++) {
            if (!test_is_to_do()) continue;
            trine_factor_rounds full = kinds[r];
            if (!full.m) full.m = full.ties == TRINE_TIES_HASH ? 1 : 5;
            if (!full.rounds) full.rounds = full.until_maximal ? 1000000 : 5;
            if (full.p == 0) full.p = 0.5;
            problem *p = problem_gallery(matrices[k], TRINE_D);
            const size_t bytes = sizeof(int32_t) * (size_t)(p->n * full.n);
            int32_t *neighbours = malloc(bytes), *scratch = malloc(bytes), *path = malloc(bytes),
                    *position = malloc(bytes);
            outcome o = run_forest(test_shared(2), p, &(trine_forest_options){.max_n = full.n}, &kinds[r]);
            assert_int_equal(trine_forest_reference_factor(&p->graph, &full, neighbours, scratch), o.raw.rounds);
            assert_memory_equal(neighbours, o.factor, bytes);
            if (full.n == 2) {
                assert_int_equal(
                    trine_forest_reference_paths(&p->graph, full.ties, full.seed, neighbours, path, position),
                    o.result.cycles);
                for (int64_t v = 0; v < p->n; v++) {
                    assert_int_equal(path[v], o.path[v]);
                    assert_int_equal(position[v], o.position[v]);
                }
            }
            end_outcome(&o);
            free(neighbours), free(scratch), free(path), free(position);
            problem_end(p);
        }
}

/* ------------------------------------------------------------ the thesis' numbers */

static double cover(trine_forest f, const problem *p)
{
    trine_forest_coverage c;
    OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
    return c.factor;
}

/** Four decimals of c(5) and c_max without charges, lowest index; M_max. */
static void assert_numbers(const char *spec, trine_dtype t, int c5, int c_max, int64_t m_max)
{
    problem *p = problem_gallery(spec, t);
    trine_forest f;
    trine_forest_result result;
    OK(trine_forest_create(test_shared(2), &f, p->A, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    const trine_factor_rounds five = {.ties = TRINE_TIES_LOWEST_INDEX, .m = 1};
    trine_factor_rounds all = five;
    all.until_maximal = 1;
    OK(trine_forest_factor(f, &five, NULL));
    assert_int_equal(lround(cover(f, p) * 1e4), c5);
    OK(trine_forest_factor(f, &all, NULL));
    assert_int_equal(lround(cover(f, p) * 1e4), c_max);
    OK(trine_forest_get_result(f, &result, NULL));
    assert_int_equal(result.rounds, m_max);
    assert_int_equal(result.maximal, 1);
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

static void test_table_15(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        assert_numbers("laplace2d:n=100", all_dtypes[t], 302, 5051, 101);
        assert_numbers("aniso2:n=250", all_dtypes[t], 6660, 6670, 126);
    }
}

/** Tables 15 and 16, computed independently; 0: not in them. c(5), c_max and M_max without charges; then charged with
 *  km = 0 and 1; n = 1 to 4 by charged rounds and greedily; blocks of two without charges and with them. */
typedef struct {
    const char *matrix;
    double identity, c5, c_max;
    int64_t m_max;
    double charged_c5, charged_c_max, late_c5, parallel[4], sequential[4], blocks[2];
} table_row;

static void assert_near(const char *matrix, const char *what, double value, double expected)
{
    if (expected != 0 && !(fabs(value - expected) <= 0.01))
        fail_msg("%s, %s: %.4f, expected %.4f", matrix, what, value, expected);
}

static double cover_after(trine_forest f, const problem *p, const trine_factor_rounds *rounds)
{
    OK(trine_forest_factor(f, rounds, NULL));
    return cover(f, p);
}

static void assert_row(const table_row *row, problem *p)
{
    const trine_factor_rounds plain = {.ties = TRINE_TIES_LOWEST_INDEX, .m = 1},
                              charged = {.ties = TRINE_TIES_LOWEST_INDEX};
    trine_factor_rounds rounds = plain;
    trine_forest f, coarse;
    trine_forest_coverage c;
    trine_forest_result result;
    OK(trine_forest_create(test_shared(2), &f, p->A, &(trine_forest_options){.max_n = 4, .blocks = 1}));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
    assert_near(row->matrix, "c_id", c.identity, row->identity);
    assert_near(row->matrix, "c(5)", cover_after(f, p, &plain), row->c5);
    rounds.until_maximal = 1;
    assert_near(row->matrix, "c_max", cover_after(f, p, &rounds), row->c_max);
    OK(trine_forest_get_result(f, &result, NULL));
    assert_int_equal(result.rounds, row->m_max);
    assert_near(row->matrix, "charged c(5)", cover_after(f, p, &charged), row->charged_c5);
    rounds = charged;
    rounds.km = 1;
    assert_near(row->matrix, "c(5) with km = 1", cover_after(f, p, &rounds), row->late_c5);
    for (int km = 0; km < 2; km++) {
        rounds = (trine_factor_rounds){.ties = TRINE_TIES_LOWEST_INDEX, .m = 5, .km = km, .until_maximal = 1};
        const double c_max = cover_after(f, p, &rounds);
        if (!km) assert_near(row->matrix, "charged c_max", c_max, row->charged_c_max);
        OK(trine_forest_get_result(f, &result, NULL));
        assert_true(result.rounds == 11 + km || result.rounds == 16 + km);
    }
    for (int n = 1; n <= 4; n++) {
        rounds = charged;
        rounds.n = n;
        assert_near(row->matrix, "by rounds", cover_after(f, p, &rounds), row->parallel[n - 1]);
        OK(trine_forest_factor_sequential(f, &(trine_factor_rounds){.n = n}, NULL));
        const double greedy = cover(f, p);
        assert_near(row->matrix, "greedy", greedy, row->sequential[n - 1]);
        if (n != 2) continue;
        assert_true(cover_after(f, p, &(trine_factor_rounds){0}) >= 0.99 * greedy);
        assert_true(cover_after(f, p, &(trine_factor_rounds){.m = 5}) >= 0.99 * greedy);
        assert_true(cover_after(f, p, &(trine_factor_rounds){.rounds = 9}) >= greedy - 0.001);
    }
    for (int k = 0; k < 2; k++) {
        rounds = k ? charged : plain;
        rounds.n = 1;
        OK(trine_forest_factor(f, &rounds, NULL));
        OK(trine_forest_coarsen(f, &coarse, NULL));
        rounds.n = 2;
        OK(trine_forest_factor(coarse, &rounds, NULL));
        OK(trine_forest_break_cycles(coarse, NULL));
        OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
        assert_near(row->matrix, "blocks", c.blocks, row->blocks[k]);
        OK(trine_forest_destroy(&coarse));
    }
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/** The tables as they are, for TRINE_TEST_FULL and a device; a grid of theirs that is small enough for every day. */
static void test_tables_15_and_16(void **state)
{
    static const table_row grids[] = {
        {"laplace2d:n=1000",
         .5,
         .003,
         .5005,
         1001,
         .456,
         .466,
         .464,
         {.21, .456, .71, 1},
         {.227, .466, .712, 1},
         {.003, .549}},
        {"aniso1:n=2500",
         .6667,
         .667,
         .667,
         1252,
         .667,
         .667,
         .538,
         {.269, .667, .723, .787},
         {.293, .667, .728, .792},
         {.667, .626}},
        {"aniso2:n=2500", .1334, .667, .667, 1251, .667, .667, .565, {0}, {0}, {0}},
        {"aniso3:n=2500", .6666, .667, .667, 2500, .667, .667, .571, {0}, {0}, {0}},
    };
    (void)state;
    const bool is_full = getenv("TRINE_TEST_FULL") != NULL;
    for (size_t k = 0; k < sizeof grids / sizeof *grids && is_full; k++)
        assert_row(&grids[k], problem_gallery(grids[k].matrix, TRINE_S));
    if (!is_full && !test_is_reduced())
        assert_row(&(table_row){"aniso2:n=250", .1334, .666, .667, 126, .667, .667, .565, {0}, {0}, {0}},
                   problem_gallery("aniso2:n=250", TRINE_S));
}

static void test_table_of_a_circuit(void **state)
{
    static const table_row circuit = {
        "G3_circuit", .2932, .556, .709, 159, .696, .700, .588, {.504, .696, .832, .998}, {.508, .697, .836, .998},
        {.611, .737}};
    trine_matrix A;
    (void)state;
    if (!getenv("TRINE_TEST_FULL")) return;
    OK(trine_matrix_read(test_cpu(2), &A, test_real_matrix(circuit.matrix), TRINE_D));
    assert_row(&circuit, problem_of(A));
}

/** Hashed ties reach what the greedy factor has, for every n, in few rounds; once maximal they are that factor. */
static void test_greedy(void **state)
{
    static const char *const specs[] = {"laplace2d:n=100", "aniso1:n=60", "aniso3:n=60", "powerlaw:n=3000,degree=6",
                                        "convection3d:n=14"};
    (void)state;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int n = 1; n <= 8; n++) {
            if (!test_is_to_do()) continue;
            problem *p = problem_gallery(specs[k], all_dtypes[n % 2]);
            trine_forest f;
            trine_forest_arrays arrays;
            const trine_factor_rounds five = {.n = n, .seed = 11}, nine = {.n = n, .seed = 11, .rounds = 9},
                                      all = {.n = n, .seed = 11, .until_maximal = 1};
            OK(trine_forest_create(test_shared(2), &f, p->A, &(trine_forest_options){.max_n = n}));
            OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
            OK(trine_forest_factor_sequential(f, &five, NULL));
            OK(trine_forest_get_arrays(f, &arrays));
            int32_t *greedy = fetch(test_shared(2), arrays.neighbours, p->n * n, sizeof *greedy);
            const double c_greedy = cover(f, p);
            OK(trine_forest_factor(f, &five, NULL));
            assert_true(cover(f, p) >= 0.99 * c_greedy);
            OK(trine_forest_factor(f, &nine, NULL));
            assert_true(cover(f, p) >= c_greedy - 0.001);
            OK(trine_forest_factor(f, &all, NULL));
            int32_t *ours = fetch(test_shared(2), arrays.neighbours, p->n * n, sizeof *ours);
            for (int64_t v = 0; v < p->n; v++)
                for (int s = 0; s < n; s++) {
                    bool found = false;
                    for (int r = 0; r < n; r++) found |= ours[v * n + r] == greedy[v * n + s];
                    assert_true(found);
                }
            free(greedy), free(ours);
            OK(trine_forest_destroy(&f));
            problem_end(p);
        }
}

/** The sequential factor with ties by the lowest index takes edges row by row. */
static void test_greedy_rows(void **state)
{
    (void)state;
    problem *p = problem_gallery("laplace2d:n=100", TRINE_D);
    trine_forest f;
    OK(trine_forest_create(test_shared(2), &f, p->A, NULL));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_factor_sequential(f, &(trine_factor_rounds){.ties = TRINE_TIES_LOWEST_INDEX}, NULL));
    assert_int_equal(lround(cover(f, p) * 2 * 99 * 100), 10000); /* rows one after another: n^2 of 2 (n - 1) n edges */
    OK(trine_forest_destroy(&f));
    problem_end(p);
}

/** Table 13: without charges vertex 4 proposes to {6, 9}, with charges to {9, 7}. Its neighbours have no other one, so
 *  they propose to it in turn, and the proposals are taken. */
static void test_table_13(void **state)
{
    static const int32_t edges[][2] = {{4, 3}, {4, 5}, {4, 6}, {4, 7}, {4, 9}};
    static const double weights[] = {0.2, 0.3, 0.9, 0.4, 0.5};
    static const bool positive[10] = {[3] = true, [7] = true, [9] = true};
    const trine_factor_rounds plain = {.rounds = 1};
    trine_factor_rounds charged = {.rounds = 1, .m = 5, .km = 1};
    (void)state;
    for (bool found = false; !found;) { /* a seed that gives the charges of the table */
        charged.seed++;
        found = true;
        for (int32_t v = 3; v < 10; v++) {
            const forest_charges c = {true, forest_mix(charged.seed ^ forest_mix(0)), 0x80000000u};
            found &= v == 8 || forest_is_positive(c, v) == positive[v];
        }
        assert_true(charged.seed < 100000);
    }
    problem *p = problem_edges(TRINE_D, 10, 5, edges, weights, false);
    outcome a = run_forest(test_shared(2), p, NULL, &plain), b = run_forest(test_shared(2), p, NULL, &charged);
    assert_int_equal(a.factor[8], 6);
    assert_int_equal(a.factor[9], 9);
    assert_int_equal(b.factor[8], 9);
    assert_int_equal(b.factor[9], 7);
    end_outcome(&a);
    end_outcome(&b);
    problem_end(p);
}

/** c_pi, c_id and the coverages with the diagonal, against sums in long double. */
static void test_coverage(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        problem *p =
            problem_gallery(is_complex(all_dtypes[t]) ? "convection3d:n=9,phase=3" : "convection3d:n=9", all_dtypes[t]);
        const trine_factor_rounds rounds = {.n = 3};
        outcome o = run_forest(test_cpu(1), p, &(trine_forest_options){.max_n = 3}, &rounds);
        long double off = 0, diagonal = 0, beside = 0, inside = 0;
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t k = p->offsets[i]; k < p->offsets[i + 1]; k++) {
                const int32_t j = p->columns[k];
                const long double w = cabsl(get(p->t, p->values, k));
                if (j == i) diagonal += w;
                else off += w;
                if (j == i - 1 || j == i + 1) beside += w;
                for (int s = 0; s < 3; s++)
                    if (o.factor[3 * i + s] == j) inside += w;
            }
        trine_forest f;
        trine_forest_coverage c;
        OK(trine_forest_create(test_shared(2), &f, p->A, &(trine_forest_options){.max_n = 3}));
        OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
        assert_true(isnan(c.factor) && isnan(c.blocks) && isnan(c.weight));
        OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
        OK(trine_forest_factor(f, &rounds, NULL));
        OK(trine_forest_get_coverage(f, TRINE_HOST, p->values, &c, NULL));
        const double eps = 4 * eps_of(p->t);
        assert_true(fabsl(c.factor - inside / off) < eps);
        assert_true(fabsl(c.identity - beside / off) < eps);
        assert_true(fabsl(c.diagonal - diagonal / (off + diagonal)) < eps);
        assert_true(fabsl(c.with_diagonal - (diagonal + inside) / (off + diagonal)) < eps);
        assert_true(fabsl(c.total - off) < eps * off && fabsl(c.weight - inside) < eps * off);
        OK(trine_forest_destroy(&f));
        end_outcome(&o);
        problem_end(p);
    }
}

/** One forest, again and again: the second factor must not see the first one (Table 12: the first proposals do not read
 *  confirmed edges), nor new weights the old ones. */
static void test_again(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    problem *p = problem_gallery("aniso1:n=30", TRINE_S), *q = problem_gallery("aniso2:n=30", TRINE_S);
    const trine_factor_rounds rounds = {.seed = 5}, other = {.n = 1, .until_maximal = 1};
    assert_int_equal(p->nnz, q->nnz); /* one pattern */
    trine_forest f;
    trine_forest_arrays arrays;
    outcome once = run_forest(ctx, q, NULL, &rounds);
    OK(trine_forest_create(ctx, &f, p->A, NULL));
    OK(trine_forest_run(f, TRINE_HOST, p->values, &other, NULL));
    OK(trine_forest_run(f, TRINE_HOST, p->values, &rounds, NULL));
    OK(trine_forest_run(f, TRINE_HOST, NULL, &other, NULL));
    OK(trine_forest_run(f, TRINE_HOST, q->values, &rounds, NULL));
    OK(trine_forest_get_arrays(f, &arrays));
    int32_t *permutation = fetch(ctx, arrays.permutation, p->n, sizeof *permutation);
    assert_memory_equal(permutation, once.permutation, sizeof *permutation * (size_t)p->n);
    free(permutation);
    OK(trine_forest_destroy(&f));
    end_outcome(&once);
    problem_end(p);
    problem_end(q);
}

/** Normalized weights (Eq. 70) are those of rows divided by hand, and rows may be scaled by any power of two. Random
 *  values, so that rounding decides nothing; small diagonals in every other row. */
static void test_normalized(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int t = 0; t < 4; t++) {
        problem *p = problem_gallery("random_banded:n=400,kl=5,ku=3", all_dtypes[t]);
        const size_t size = (size_t)p->nnz * trine_dtype_size(p->t);
        void *values[3] = {malloc(size), malloc(size), malloc(size)}; /* as they are, scaled, divided */
        int32_t *permutation[3];
        for (int64_t i = 0; i < p->n; i++) {
            long double diagonal = 0, others = 0;
            for (int64_t k = p->offsets[i]; k < p->offsets[i + 1]; k++) {
                const bool is_diagonal = p->columns[k] == i;
                const wide value = get(p->t, p->values, k) * (is_diagonal && i % 2 ? 0x1p-10L : 1);
                *(is_diagonal ? &diagonal : &others) += cabsl(value);
                put(p->t, values[0], k, value);
                put(p->t, values[1], k, value * ldexpl(1, (int)(i * 37 % 81) - 40));
            }
            for (int64_t k = p->offsets[i]; k < p->offsets[i + 1]; k++)
                put(p->t, values[2], k, get(p->t, values[0], k) / (diagonal > others ? diagonal : others));
        }
        for (int k = 0; k < 3; k++) {
            trine_forest f;
            trine_forest_arrays arrays;
            OK(trine_forest_create(ctx, &f, p->A, &(trine_forest_options){.normalized = k < 2}));
            OK(trine_forest_run(f, TRINE_HOST, values[k], NULL, NULL));
            OK(trine_forest_check(f, NULL));
            OK(trine_forest_get_arrays(f, &arrays));
            permutation[k] = fetch(ctx, arrays.permutation, p->n, sizeof **permutation);
            assert_memory_equal(permutation[0], permutation[k], (size_t)p->n * sizeof **permutation);
            if (k == 1) {
                put(p->t, values[1], p->offsets[9], NAN);
                OK(trine_forest_set_weights(f, TRINE_HOST, values[1], NULL));
                FAILS(TRINE_ERR_ARGUMENT, "row 9 has a NaN", trine_forest_check(f, NULL));
            }
            OK(trine_forest_destroy(&f));
        }
        for (int k = 0; k < 3; k++) free(permutation[k]), free(values[k]);
        problem_end(p);
    }
}

/** Scaling by a power of two that keeps all values finite changes nothing, whatever their squares are. */
static void test_scaled(void **state)
{
    static const int exponents[4][2] = {{100, -100}, {900, -900}, {100, -100}, {480, -480}};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int e = 0; e < 2; e++) {
            problem *p = problem_gallery(is_complex(all_dtypes[t]) ? "convection3d:n=8,phase=3" : "convection3d:n=8",
                                         all_dtypes[t]);
            outcome o = run_forest(test_shared(2), p, NULL, &(trine_factor_rounds){0});
            void *values = malloc((size_t)p->nnz * trine_dtype_size(p->t));
            for (int64_t k = 0; k < p->nnz; k++)
                put(p->t, values, k, get(p->t, p->values, k) * ldexpl(1, exponents[t][e]));
            trine_forest f;
            trine_forest_arrays arrays;
            OK(trine_forest_create(test_shared(2), &f, p->A, NULL));
            OK(trine_forest_run(f, TRINE_HOST, values, NULL, NULL));
            OK(trine_forest_get_arrays(f, &arrays));
            int32_t *permutation = fetch(test_shared(2), arrays.permutation, p->n, sizeof *permutation);
            assert_memory_equal(permutation, o.permutation, (size_t)p->n * sizeof *permutation);
            free(permutation), free(values);
            OK(trine_forest_destroy(&f));
            end_outcome(&o);
            problem_end(p);
        }
}

/** CSC and unsorted rows give what sorted rows give; matrices in device memory too. */
static void test_formats(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int t = 0; t < 4; t++) {
        problem *p = problem_gallery("convection3d:n=7", all_dtypes[t]);
        outcome o = run_forest(ctx, p, NULL, &(trine_factor_rounds){0});
        trine_matrix B;
        OK(trine_matrix_copy(p->A, &B, TRINE_HOST, TRINE_CSC, p->t));
        problem by_columns = *p;
        by_columns.A = B;
        OK(trine_matrix_get_arrays(B, NULL, NULL, &by_columns.values));
        outcome c = run_forest(ctx, &by_columns, NULL, &(trine_factor_rounds){0});
        assert_same(p, &o, &c);
        end_outcome(&c);
        OK(trine_matrix_destroy(&B));
        trine_matrix_info info;
        int64_t *offsets;
        int32_t *columns;
        void *values;
        OK(trine_matrix_get_info(p->A, &info));
        OK(trine_matrix_allocate(test_cpu(1), &B, TRINE_CSR, p->t, p->n, p->n, p->nnz, &offsets, &columns, &values));
        memcpy(offsets, p->offsets, sizeof *offsets * (size_t)(p->n + 1));
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
                const int64_t from = offsets[i] + offsets[i + 1] - 1 - k;
                columns[k] = p->columns[from];
                put(p->t, values, k, get(p->t, p->values, from));
            }
        problem reversed = *p;
        reversed.A = B;
        reversed.values = values;
        c = run_forest(ctx, &reversed, NULL, &(trine_factor_rounds){0});
        assert_same(p, &o, &c);
        end_outcome(&c);
        trine_forest_pretend(p->nnz - 1); /* places of entries of a matrix that is too large for 32 bits */
        outcome wide = run_forest(ctx, p, NULL, &(trine_factor_rounds){0}),
                wide_reversed = run_forest(ctx, &reversed, NULL, &(trine_factor_rounds){0});
        trine_forest_pretend(0);
        assert_same(p, &o, &wide);
        assert_same(p, &o, &wide_reversed);
        end_outcome(&wide), end_outcome(&wide_reversed);
        OK(trine_matrix_destroy(&B));
        end_outcome(&o);
        problem_end(p);
    }
}

/** One call gives what its stages give, from weights on; a NaN is named by either. */
static void test_at_once(void **state)
{
    static const char *const specs[] = {"laplace2d:n=37",
                                        "aniso2:n=29",
                                        "laplace3d27:n=11",
                                        "powerlaw:n=700,degree=9",
                                        "random_banded:n=333,kl=20,ku=17",
                                        "diagonal:n=5"};
    static const trine_factor_rounds rules[] = {
        {.seed = 8}, {.n = 1, .seed = 9}, {.ties = TRINE_TIES_LOWEST_INDEX, .km = 1}, {.seed = 10, .until_maximal = 1}};
    (void)state;
    trine_context ctx = test_shared(2);
    for (int k = 0; k < 6 * 4; k++) {
        if (!test_is_to_do()) continue;
        problem *p = problem_gallery(specs[k % 6], all_dtypes[(k + k / 6) % 4]);
        outcome o = run_forest(ctx, p, NULL, &rules[k / 6]);
        trine_forest f;
        trine_forest_arrays arrays;
        OK(trine_forest_create(ctx, &f, p->A, NULL));
        OK(trine_forest_run(f, TRINE_HOST, p->values, &rules[k / 6], NULL));
        OK(trine_forest_check(f, NULL));
        OK(trine_forest_get_arrays(f, &arrays));
        const size_t bytes = (size_t)p->n * sizeof(int32_t);
        int32_t *path = fetch(ctx, arrays.path, p->n, 4), *position = fetch(ctx, arrays.position, p->n, 4),
                *permutation = fetch(ctx, arrays.permutation, p->n, 4),
                *neighbours = fetch(ctx, arrays.neighbours, arrays.n * p->n, 4);
        assert_memory_equal(path, o.path, bytes);
        assert_memory_equal(position, o.position, bytes);
        assert_memory_equal(permutation, o.permutation, bytes);
        assert_memory_equal(neighbours, o.neighbours, (size_t)arrays.n * bytes);
        free(path), free(position), free(permutation), free(neighbours);
        const int64_t row = p->n - 2;
        int64_t at = p->offsets[row];
        while (at < p->offsets[row + 1] && p->columns[at] == row) at++;
        if (at < p->offsets[row + 1]) {
            const size_t size = (size_t)p->nnz * trine_dtype_size(p->t);
            char expected[64];
            void *values = memcpy(malloc(size), p->values, size);
            put(p->t, values, at, NAN);
            snprintf(expected, sizeof expected, "row %lld has a NaN", (long long)row);
            OK(trine_forest_run(f, TRINE_HOST, values, &rules[k / 6], NULL));
            FAILS(TRINE_ERR_ARGUMENT, expected, trine_forest_check(f, NULL));
            OK(trine_forest_run(f, TRINE_HOST, p->values, &rules[k / 6], NULL));
            OK(trine_forest_check(f, NULL));
            free(values);
        }
        OK(trine_forest_destroy(&f));
        end_outcome(&o);
        problem_end(p);
    }
}

/** A directed graph as it is: an edge only where both sides want it; the same everywhere. */
static void test_directed(void **state)
{
    (void)state;
    problem *p = problem_gallery("convection3d:n=9", TRINE_D);
    const trine_forest_options options = {.directed = 1};
    for (int r = 0; r < 6; r++) {
        outcome a = run_forest(test_cpu(1), p, &options, &kinds[r]),
                b = run_forest(test_shared(3), p, &options, &kinds[r]);
        assert_same(p, &a, &b);
        a.raw.maximal = 0; /* as this graph is not symmetric, a factor to which nothing can be added may be smaller */
        assert_true(a.raw.edges > 0);
        end_outcome(&a);
        end_outcome(&b);
    }
    problem_end(p);
    p = problem_gallery("chain:n=50", TRINE_D); /* no entry has one opposite: nothing is ever taken */
    for (int m = 1; m < 7; m += 2) {
        outcome o = run_forest(test_shared(2), p, &options, &(trine_factor_rounds){.m = m, .until_maximal = 1});
        assert_int_equal(o.raw.edges, 0);
        assert_int_equal(o.raw.maximal, 0);
        assert_int_equal(o.raw.rounds, m);
        end_outcome(&o);
    }
    problem_end(p);
}

/** 20 runs with threads that come and go. */
static void test_repeats(void **state)
{
    (void)state;
    problem *p = problem_gallery("laplace2d:n=150", TRINE_S);
    const trine_factor_rounds rounds = {.ties = TRINE_TIES_LOWEST_INDEX};
    outcome first = run_forest(test_shared(4), p, NULL, &rounds);
    for (int k = 0; k < 19; k++) {
        outcome o = run_forest(test_shared(k % 4 + 1), p, NULL, &rounds);
        assert_same(p, &first, &o);
        end_outcome(&o);
    }
    end_outcome(&first);
    problem_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_properties),
                                       cmocka_unit_test(test_real_matrices),
                                       cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_table_15),
                                       cmocka_unit_test(test_tables_15_and_16),
                                       cmocka_unit_test(test_table_of_a_circuit),
                                       cmocka_unit_test(test_greedy),
                                       cmocka_unit_test(test_greedy_rows),
                                       cmocka_unit_test(test_table_13),
                                       cmocka_unit_test(test_coverage),
                                       cmocka_unit_test(test_again),
                                       cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_at_once),
                                       cmocka_unit_test(test_normalized),
                                       cmocka_unit_test(test_directed),
                                       cmocka_unit_test(test_scaled),
                                       cmocka_unit_test(test_repeats)};
    return TEST_MAIN(tests);
}
