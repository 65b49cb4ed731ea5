/* Iterations of GMRES(20) by the protocol of Klein 2024, Section 5.3.2 (right preconditioning, relative residual 1e-6,
 * double precision; ties by the lowest index, M = m = 5, k_m = 0), beside numbers of an independent program. Those of
 * grids depend on charges: several seeds, and bounds as wide as their spread. A part of it; with TRINE_TEST_FULL in the
 * environment all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "precond_support.h"

enum { MOST = 1500, SEEDS = 9 };
/** Medians of nine seeds spread by some 10 % themselves: with other sets two cells of laplace2d miss their 15 %
 *  (docs/notes/precond-convergence.md). */
static const uint64_t first_seed = 31;

static bool is_full(void) { return getenv("TRINE_TEST_FULL") != NULL; }

static trine_precond make(trine_matrix A, trine_precond_method method, int m, uint64_t seed, bool exact)
{
    const trine_precond_options options = {
        .method = method,
        .m = m,
        .exact_inverse = exact,
        .forest = {.rounds = 5, .m = 5, .ties = TRINE_TIES_LOWEST_INDEX, .seed = seed}};
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(2), &p, A, &options));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_check(p, NULL));
    return p;
}

static int64_t iterations(trine_matrix A, trine_precond_method method, int m, uint64_t seed, bool exact)
{
    trine_precond p = make(A, method, m, seed, exact);
    const int64_t count = test_gmres(A, p, 0, MOST);
    trine_precond_destroy(&p);
    return count;
}

static void assert_between(const char *what, trine_precond_method method, int m, double is, double low, double high)
{
    if (is >= low && is <= high) return;
    print_error("%s, %s, m = %d: %g iterations, expected %g to %g\n", what, trine_precond_method_name(method), m, is,
                low, high);
    fail();
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/** Median, least and most of nine seeds, as an independent program has found them. */
typedef struct { double median, low, high; } spread;
typedef struct {
    const char *spec;
    double diagp0;
    bool is_sharp; /* no two weights are equal, so seeds do not matter: 10 % or 2 */
    spread alt_i[4], mos_d[4];
} grid;
static const grid grids[] = {
    {"laplace2d:n=100",
     211,
     false,
     {{178, 139, 222}, {73, 67, 96}, {57, 46, 64}, {40, 38, 52}},
     {{178, 139, 222}, {102, 87, 144}, {80, 65, 85}, {77, 66, 84}}},
    {"aniso2:n=100",
     141,
     false,
     {{66, 66, 66}, {51, 49, 52}, {42, 40, 44}, {37, 34, 39}},
     {{66, 66, 66}, {61, 59, 66}, {56, 52, 59}, {52, 50, 54}}},
    {"rotate7:n=100",
     265,
     true,
     {{87, 87, 87}, {58, 58, 58}, {50, 50, 50}, {34, 34, 34}},
     {{87, 87, 87}, {52, 52, 52}, {58, 58, 58}, {58, 58, 58}}},
    {"grounded2d:n=100",
     638,
     false,
     {{422, 385, 495}, {180, 156, 190}, {119, 116, 124}, {69, 65, 77}},
     {{422, 385, 495}, {325, 286, 412}, {174, 169, 182}, {169, 165, 181}}},
};
enum { GRIDS = sizeof grids / sizeof *grids };

/** A seed may be luckier than all nine of the other program, not unluckier by more than 10 %. */
static void try_method(trine_matrix A, const grid *g, trine_precond_method method, int m, int seeds)
{
    const spread *s = &(method == TRINE_PRECOND_ALT_I ? g->alt_i : g->mos_d)[m - 1];
    int64_t count[SEEDS];
    for (int k = 0; k < seeds; k++) {
        count[k] = iterations(A, method, m, first_seed + (uint64_t)k, false);
        if (is_full()) print_message("%s %s %d: %d\n", g->spec, trine_precond_method_name(method), m, (int)count[k]);
        if (g->is_sharp) assert_between(g->spec, method, m, (double)count[k], s->low * 0.9 - 2, s->high * 1.1 + 2);
        else assert_between(g->spec, method, m, (double)count[k], 1, s->high * 1.1);
    }
    qsort(count, (size_t)seeds, sizeof *count, compare);
    if (seeds == SEEDS)
        assert_between(g->spec, method, m, (double)count[SEEDS / 2], s->median * 0.85, s->median * 1.15);
}

static void test_grids(void **state)
{
    (void)state;
    for (int k = 0; k < GRIDS; k++) {
        const grid *g = &grids[k];
        trine_matrix A;
        OK(trine_matrix_gallery(test_cpu(2), &A, g->spec, TRINE_D));
        if (is_full() || k == 1)
            assert_between(g->spec, TRINE_PRECOND_DIAGP0, 0, (double)iterations(A, TRINE_PRECOND_DIAGP0, 0, 0, false),
                           g->diagp0 - 1, g->diagp0 + 1);
        for (int m = 1; m <= 4; m++) {
            if (!is_full() && (m % 2 || (k == 3 && m < 4))) continue;
            try_method(A, g, TRINE_PRECOND_ALT_I, m, is_full() ? SEEDS : 1);
            if (is_full() || (m == 2 && k)) try_method(A, g, TRINE_PRECOND_MOS_D, m, is_full() ? SEEDS : 1);
        }
        trine_matrix_destroy(&A);
    }
}

/** The adaptive construction, by whole inverses and by generators, beside ALT_I. */
static void test_adaptive(void **state)
{
    static const struct {
        const char *spec;
        int exact[4], alt_i[4];
    } problems[] = {{"rotate7:n=50", {45, 22, 17, 17}, {48, 34, 29, 20}},
                    {"rotate9:n=50,alpha=0", {14, 19, 14, 12}, {12, 10, 10, 0}},
                    {"rotate9:n=50", {74, 43, 29, 28}, {70, 41, 33, 29}}};
    (void)state;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        trine_matrix A;
        OK(trine_matrix_gallery(test_cpu(2), &A, problems[k].spec, TRINE_D));
        for (int m = 1; m <= 4; m++) {
            if (!is_full() && m != 2) continue;
            const double exact = problems[k].exact[m - 1], alt = problems[k].alt_i[m - 1];
            const double reference = (double)iterations(A, TRINE_PRECOND_MOS_A, m, 0, true),
                         fast = (double)iterations(A, TRINE_PRECOND_MOS_A, m, 0, false);
            assert_between(problems[k].spec, TRINE_PRECOND_MOS_A, m, reference, exact * 0.9 - 2, exact * 1.1 + 2);
            assert_between(problems[k].spec, TRINE_PRECOND_MOS_A, m, fast, 1, fmax(reference * 1.1, reference + 2));
            if (alt > 0)
                assert_between(problems[k].spec, TRINE_PRECOND_ALT_I, m,
                               (double)iterations(A, TRINE_PRECOND_ALT_I, m, 0, false), alt * 0.9 - 2, alt * 1.1 + 2);
        }
        trine_matrix_destroy(&A);
    }
}

/** What must hold of the splittings on anisotropic and grounded problems (Section 5.3.3). */
static void test_claims(void **state)
{
    trine_matrix A;
    (void)state;
    OK(trine_matrix_gallery(test_cpu(2), &A, is_full() ? "rotate7:n=100" : "rotate7:n=50", TRINE_D));
    const int64_t two = iterations(A, TRINE_PRECOND_MOS_D, 2, 0, false),
                  four = iterations(A, TRINE_PRECOND_MOS_D, 4, 0, false);
    assert_true(four * 10 >= two * 9); /* flat after m = 2: each edge is in one forest */
    assert_true(iterations(A, TRINE_PRECOND_ALT_I, 4, 0, false) < iterations(A, TRINE_PRECOND_ALT_I, 3, 0, false));
    trine_precond p = make(A, TRINE_PRECOND_ALT_O, 2, 0, false); /* FGMRES: one k is two of its steps */
    const int64_t outer = test_gmres(A, p, 2, MOST);
    assert_true(outer > 0 && outer < 4 * iterations(A, TRINE_PRECOND_ALT_I, 2, 0, false));
    trine_precond_destroy(&p);
    trine_matrix_destroy(&A);
}

/** Shares of diagonals (Klein 2024, Table 17), to the last digit that is known; large ones in a full run. */
static void test_diagonal_shares(void **state)
{
    static const struct {
        const char *spec;
        double share, digit;
        bool large;
    } cases[] = {{"laplace2d:n=1000", 0.50, 0.005, false}, {"rotate7:n=1000", 0.386, 0.001, false},
                 {"aniso1:n=1200", 0.50, 0.005, true},     {"aniso2:n=1200", 0.50, 0.005, true},
                 {"laplace3d27:n=100", 0.51, 0.005, true}, {NULL, 0.756, 0.001, true}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (cases[k].large && !is_full()) continue;
        trine_matrix A;
        trine_precond p;
        trine_precond_diagnosis d;
        if (cases[k].spec) OK(trine_matrix_gallery(test_cpu(2), &A, cases[k].spec, TRINE_D));
        else OK(trine_matrix_read(test_cpu(2), &A, test_real_matrix("G3_circuit"), TRINE_D));
        OK(trine_precond_analyse(test_cpu(2), &p, A, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP0}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_diagnose(p, &d));
        if (!(fabs(d.diagonal - cases[k].share) <= cases[k].digit)) fail_msg("%s: %g", cases[k].spec, d.diagonal);
        trine_precond_destroy(&p);
        trine_matrix_destroy(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grids), cmocka_unit_test(test_adaptive),
                                       cmocka_unit_test(test_claims), cmocka_unit_test(test_diagonal_shares)};
    return TEST_MAIN(tests);
}
