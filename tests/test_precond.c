/* Preconditioners against their equations on dense matrices in long double: every method, precision and op; what must be
 * equal between methods; patterns, refactoring, scaling. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_interface.h"
#include "precond_support.h"

static const trine_transpose all_ops[] = {TRINE_N, TRINE_T, TRINE_H};
enum { EVERY_OP = TRINE_N | TRINE_T | TRINE_H };

/** A small matrix, also dense in long double. */
typedef struct {
    trine_matrix A;
    trine_dtype t;
    int64_t n;
    long double *dense;
    int64_t *q;                      /* off-diagonal entries a row */
} small;

static small small_of(trine_matrix A)
{
    trine_matrix_info m;
    OK(trine_matrix_get_info(A, &m));
    small s = {.A = A, .t = m.dtype, .n = m.n_rows};
    s.dense = calloc((size_t)(2 * s.n * s.n) + 1, sizeof *s.dense);
    s.q = calloc((size_t)s.n + 1, sizeof *s.q);
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const wide a = get(s.t, values, k);
            s.dense[2 * (i * s.n + columns[k])] = creall(a);
            s.dense[2 * (i * s.n + columns[k]) + 1] = cimagl(a);
            s.q[i] += columns[k] != i;
        }
    return s;
}

static small small_gallery(const char *spec, trine_dtype t)
{
    char text[128];
    trine_matrix A;
    snprintf(text, sizeof text, "%s%s", spec, is_complex(t) ? ",phase=5" : "");
    OK(trine_matrix_gallery(test_cpu(2), &A, text, t));
    return small_of(A);
}

/** Random entries in an unsymmetric pattern, about `row` of them beside each diagonal entry, which is `dominance` times
 *  the sum of their absolute values, and zero in rows that divide by `hole`. scale: all of it. */
static small small_random(trine_dtype t, int64_t n, int row, double dominance, int hole, double scale, uint64_t seed)
{
    trine_matrix A;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(test_cpu(2), &A, TRINE_CSR, t, n, n, n * (row + 1), &offsets, &columns, &values));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = at;
        int64_t centre = -1;
        double sum = 0;
        for (int64_t j = 0; j < n && at - begin < row + (centre >= 0); j++) {
            const bool picked = test_uniform(seed, (uint64_t)(i * n + j)) < (double)row / (double)n;
            if (j != i && !picked) continue;
            if (j == i) centre = at;
            if (centre < 0 && at - begin == row) break;
            const wide a = random_element(t, seed + 1, (uint64_t)(i * n + j));
            columns[at] = (int32_t)j;
            put(t, values, at++, scale * a);
            if (j != i) sum += scale * (double)cabsl(a);
        }
        if (centre < 0) {
            columns[at] = (int32_t)i;
            centre = at++;
        }
        const wide a = random_element(t, seed + 2, (uint64_t)i);
        put(t, values, centre, hole && i % hole == 0 ? 0 : (sum + scale * 0.1) * dominance * a / cabsl(a));
        offsets[i + 1] = at;
    }
    trine_matrix sorted;
    /* the diagonal may stand behind higher columns: sort */
    trine_matrix view;
    OK(trine_matrix_csr(test_cpu(2), &view, t, n, n, at, TRINE_HOST, 64, offsets, 32, columns, values));
    OK(trine_matrix_sort(view, &sorted, 1));
    trine_matrix_destroy(&view);
    trine_matrix_destroy(&A);
    return small_of(sorted);
}

static void end_small(small *s)
{
    trine_matrix_destroy(&s->A);
    free(s->dense);
    free(s->q);
}

static trine_precond make(const small *s, const trine_precond_options *options)
{
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(2), &p, s->A, options));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    return p;
}

/** Which entries belong to the plan's factors: neighbours on its paths, told by bands that are not zero. */
static uint8_t *members(trine_precond p, const small *s, int m)
{
    const int64_t n = s->n;
    uint8_t *member = calloc((size_t)(m * n * n) + 1, 1);
    const size_t bytes = (size_t)n * trine_dtype_size(s->t);
    void *a = malloc(bytes), *c = malloc(bytes);
    int32_t *v = malloc((size_t)n * sizeof *v);
    for (int l = 0; l < m; l++) {
        OK(trine_precond_get_factor(p, l, a, NULL, c, v));
        uint8_t *of_l = member + l * n * n;
        for (int64_t i = 0; i < n; i++) {
            of_l[i * n + i] = 1;
            if (i && (get(s->t, a, i) != 0 || get(s->t, c, i - 1) != 0))
                of_l[v[i] * n + v[i - 1]] = of_l[v[i - 1] * n + v[i]] = 1;
        }
    }
    free(a), free(c), free(v);
    return member;
}

static wide pair(const long double *M, int64_t k)
{
    wide z = M[2 * k];
    ((long double *)&z)[1] = M[2 * k + 1];
    return z;
}

static wide operated(const long double *M, int64_t n, trine_transpose op, int64_t i, int64_t j)
{
    const wide z = op == TRINE_N ? pair(M, i * n + j) : pair(M, j * n + i);
    return op == TRINE_H ? conjl(z) : z;
}

static double norm_of(const long double *M, int64_t n)
{
    long double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        long double by_rows = 0, by_columns = 0;
        for (int64_t j = 0; j < n; j++) {
            by_rows += cabsl(pair(M, i * n + j));
            by_columns += cabsl(pair(M, j * n + i));
        }
        largest = fmaxl(largest, fmaxl(by_rows, by_columns));
    }
    return (double)largest;
}

/** op(M)^-1 of the plan against `inverse`, all columns at once, in place and not, in both layouts. */
static void assert_inverse(trine_precond p, const small *s, const long double *inverse, int m, const char *what)
{
    const int64_t n = s->n;
    const double size = norm_of(inverse, n), condition = size * norm_of(s->dense, n),
                 bound = 60 * eps_of(s->t) * (double)m * (1 + condition) * size;
    const size_t element = trine_dtype_size(s->t);
    char *B = malloc((size_t)(n * n) * element), *X = malloc((size_t)(n * (n + 2)) * element);
    trine_work work;
    assert_true(isfinite(bound));
    OK(trine_precond_work(p, n, NULL, NULL, &work));
    const trine_exec exec = {.work = work};
    for (int o = 0; o < 3; o++)
        for (int form = 0; form < 3; form++) { /* columns; rows with a gap; columns in place, times alpha */
            const bool by_rows = form == 1, in_place = form == 2;
            double alpha[2] = {-2, 0};
            float alpha_s[2] = {-2, 0};
            for (int64_t k = 0; k < n * n; k++) put(s->t, B, k, k / n == k % n);
            trine_dense b = {B, n, n, n, TRINE_COLMAJOR},
                        x = by_rows ? (trine_dense){X, n, n, n + 2, TRINE_ROWMAJOR}
                                    : (trine_dense){in_place ? B : X, n, n, n, TRINE_COLMAJOR};
            const void *factor = s->t == TRINE_S || s->t == TRINE_C ? (void *)alpha_s : alpha;
            OK(trine_precond_apply(p, all_ops[o], in_place ? factor : NULL, &b, &x, &exec));
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    const wide is = get(s->t, x.data, by_rows ? i * x.ld + j : i + j * n),
                               wanted = (in_place ? -2 : 1) * operated(inverse, n, all_ops[o], i, j);
                    if (cabsl(is - wanted) <= 2 * bound) continue;
                    print_error("%s, dtype %d, op %d, form %d, (%d,%d): %Lg%+Lgi instead of %Lg%+Lgi, bound %g\n", what,
                                (int)s->t, (int)all_ops[o], form, (int)i, (int)j, creall(is), cimagl(is), creall(wanted),
                                cimagl(wanted), bound);
                    fail();
                }
        }
    trine_work_destroy(&work);
    free(B), free(X);
}

/** The plan with these options against its equations. */
static void try_options(const small *s, const trine_precond_options *given)
{
    trine_precond_options options = *given;
    options.ops = EVERY_OP;
    trine_precond p = make(s, &options);
    trine_precond_info info;
    OK(trine_precond_check(p, NULL));
    OK(trine_precond_get_info(p, &info));
    const int m = info.m;
    uint8_t *member = members(p, s, m);
    const size_t bytes = (size_t)(2 * s->n * s->n) * sizeof(long double);
    long double *scratch = malloc(5 * bytes), *inverse = malloc(bytes);
    assert_true(trine_precond_reference(options.method, s->n, s->dense, m, member, s->q, scratch, inverse));
    assert_inverse(p, s, inverse, m ? m : 1, trine_precond_method_name(options.method));
    trine_precond_destroy(&p);
    free(member), free(scratch), free(inverse);
}

static const trine_precond_options methods[] = {
    {.method = TRINE_PRECOND_DIAGP0},
    {.method = TRINE_PRECOND_DIAGP1},
    {.method = TRINE_PRECOND_DIAGP2},
    {.method = TRINE_PRECOND_L1},
    {.method = TRINE_PRECOND_TRIDIAG},
    {.method = TRINE_PRECOND_ALG_TRI},
    {.method = TRINE_PRECOND_ALT_I, .m = 1},
    {.method = TRINE_PRECOND_ALT_I, .m = 3},
    {.method = TRINE_PRECOND_ALT_I, .m = 2, .omega = -1, .forest = {.ties = TRINE_TIES_LOWEST_INDEX, .seed = 3}},
    {.method = TRINE_PRECOND_ALT_O, .m = 1},
    {.method = TRINE_PRECOND_MOS_D, .m = 1},
    {.method = TRINE_PRECOND_MOS_D, .m = 2},
    {.method = TRINE_PRECOND_MOS_D, .m = 4},
    {.method = TRINE_PRECOND_MOS_D, .m = 3, .omega = 0.5},
    {.method = TRINE_PRECOND_MOS_A, .m = 1, .exact_inverse = 1},
    {.method = TRINE_PRECOND_MOS_A, .m = 3, .exact_inverse = 1},
};
enum { METHODS = sizeof methods / sizeof *methods };

static void test_equations(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        small matrices[] = {small_random(all_dtypes[t], 31, 5, 1.1, 0, 1, 11),
                            small_random(all_dtypes[t], 24, 4, 0.8, 0, 1, 77), small_gallery("convection3d:n=3", all_dtypes[t]),
                            small_gallery("rotate9:nx=6,ny=5", all_dtypes[t])};
        for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
            for (int o = 0; o < METHODS; o++) {
                /* equal sizes of B_l's entries make the choice of MOS_A's patterns one of rounding errors */
                if (methods[o].method == TRINE_PRECOND_MOS_A && k > 1) continue;
                try_options(&matrices[k], &methods[o]);
            }
            end_small(&matrices[k]);
        }
    }
}

/** A without its diagonal, with entries of 10 between rows 2k and 2k + 1: every factor of a strong forest must exchange
 *  rows. */
static small small_pairs(trine_dtype t, int64_t n, uint64_t seed)
{
    small from = small_random(t, n, 4, 0.1, 1, 0.3, seed);
    trine_matrix A;
    int64_t *offsets, at = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(test_cpu(2), &A, TRINE_CSR, t, n, n, n * n, &offsets, &columns, &values));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const wide a = (j ^ 1) == i ? 10 + random_element(t, seed, (uint64_t)i) : pair(from.dense, i * n + j);
            columns[at] = (int32_t)j;
            put(t, values, at, a);
            at += a != 0;
        }
        offsets[i + 1] = at;
    }
    trine_matrix view, whole;
    OK(trine_matrix_csr(test_cpu(2), &view, t, n, n, at, TRINE_HOST, 64, offsets, 32, columns, values));
    OK(trine_matrix_sort(view, &whole, 1));
    trine_matrix_destroy(&view);
    trine_matrix_destroy(&A);
    end_small(&from);
    return small_of(whole);
}

static void test_zero_diagonals(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        small s = small_random(all_dtypes[t], 40, 6, 1, 7, 1, 5);
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP1});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP2});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_MOS_D, .m = 3});
        end_small(&s);
        s = small_pairs(all_dtypes[t], 30, 4);
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_ALG_TRI});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_ALT_I, .m = 2, .omega = 0.9});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_MOS_D, .m = 1});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_MOS_D, .m = 3});
        try_options(&s, &(trine_precond_options){.method = TRINE_PRECOND_MOS_A, .m = 1, .exact_inverse = 1});
        end_small(&s);
    }
}

static void test_scales(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 2; k++) {
            small s = small_random(all_dtypes[t], 20, 4, 1.2, 0, k ? 1e-30 : 1e30, 8);
            for (int o = 0; o < METHODS; o++) try_options(&s, &methods[o]);
            end_small(&s);
        }
}

static void test_sizes(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 3; n++) {
        small s = small_random(TRINE_D, n, 2, 1.5, 0, 1, 3);
        for (int o = 0; o < METHODS; o++) {
            if (n) {
                try_options(&s, &methods[o]);
                continue;
            }
            trine_precond p = make(&s, &methods[o]);
            OK(trine_precond_check(p, NULL));
            OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){.cols = 1}, &(trine_dense){.cols = 1}, NULL));
            trine_precond_destroy(&p);
        }
        end_small(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equations), cmocka_unit_test(test_zero_diagonals),
                                       cmocka_unit_test(test_scales), cmocka_unit_test(test_sizes)};
    return TEST_MAIN(tests);
}
