/* Preconditioners against their equations on dense matrices in long double: every method, precision and op; what must
 * be equal between methods; patterns, refactoring, scaling. */
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
    int64_t *q; /* off-diagonal entries a row */
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
                                (int)s->t, (int)all_ops[o], form, (int)i, (int)j, creall(is), cimagl(is),
                                creall(wanted), cimagl(wanted), bound);
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
        small matrices[] = {
            small_random(all_dtypes[t], 31, 5, 1.1, 0, 1, 11), small_random(all_dtypes[t], 24, 4, 0.8, 0, 1, 77),
            small_gallery("convection3d:n=3", all_dtypes[t]), small_gallery("rotate9:nx=6,ny=5", all_dtypes[t])};
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

/* ------------------------------------------------------- between methods */

/** op N on one random column. */
static void *apply_once(trine_precond p, const small *s)
{
    const size_t bytes = (size_t)s->n * trine_dtype_size(s->t);
    void *b = malloc(bytes), *x = malloc(bytes);
    for (int64_t i = 0; i < s->n; i++) put(s->t, b, i, random_element(s->t, 99, (uint64_t)i));
    OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){.data = b, .rows = s->n, .cols = 1},
                           &(trine_dense){.data = x, .rows = s->n, .cols = 1}, NULL));
    free(b);
    return x;
}

static double distance(const small *s, const void *x, const void *y)
{
    long double apart = 0, size = 0;
    for (int64_t i = 0; i < s->n; i++) {
        apart = fmaxl(apart, cabsl(get(s->t, x, i) - get(s->t, y, i)));
        size = fmaxl(size, cabsl(get(s->t, y, i)));
    }
    return (double)(apart / size);
}

static void test_one_factor(void **state)
{
    static const trine_precond_method same[] = {TRINE_PRECOND_ALT_O, TRINE_PRECOND_ALT_I, TRINE_PRECOND_MOS_D};
    (void)state;
    for (int t = 0; t < 4; t++) {
        small s = small_random(all_dtypes[t], 200, 6, 1.05, 0, 1, 21);
        void *x[3];
        for (int k = 0; k < 3; k++) {
            trine_precond p = make(&s, &(trine_precond_options){.method = same[k], .m = 1});
            x[k] = apply_once(p, &s);
            assert_true(distance(&s, x[k], x[0]) < 20 * eps_of(s.t));
            trine_precond_destroy(&p);
        }
        for (int k = 0; k < 3; k++) free(x[k]);
        end_small(&s);
    }
}

/** Forests of the same weights, all equal, are others: each has its own charges and ties. */
static void test_seeds_of_forests(void **state)
{
    (void)state;
    small s = small_gallery("laplace2d:nx=9,ny=8", TRINE_D);
    trine_precond p = make(&s, &(trine_precond_options){.method = TRINE_PRECOND_ALT_I, .m = 2, .omega = 1});
    int32_t v[2][72];
    for (int l = 0; l < 2; l++) OK(trine_precond_get_factor(p, l, NULL, NULL, NULL, v[l]));
    assert_memory_not_equal(v[0], v[1], sizeof v[0]);
    trine_precond_destroy(&p);
    end_small(&s);
}

/** A's values with row i times f_i: random signs (phases) and powers of two from 2^-10 to 2^10. */
static wide row_factor(trine_dtype t, int64_t i)
{
    const wide unit = random_element(t, 500, (uint64_t)i);
    return ldexpl(1, (int)(20 * test_uniform(501, (uint64_t)i)) - 10) * (unit / cabsl(unit));
}

/** M(F A) = F M(A) (Eq. 45). */
static void test_homogeneity(void **state)
{
    static const trine_precond_options scaled[] = {
        {.method = TRINE_PRECOND_DIAGP1},
        {.method = TRINE_PRECOND_DIAGP2},
        {.method = TRINE_PRECOND_ALT_I, .m = 3},
        {.method = TRINE_PRECOND_MOS_D, .m = 3},
        {.method = TRINE_PRECOND_MOS_A, .m = 3, .homogeneous = 1},
        {.method = TRINE_PRECOND_MOS_A, .m = 2, .homogeneous = 1, .exact_inverse = 1}};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (size_t k = 0; k < sizeof scaled / sizeof *scaled; k++) {
            small s = small_random(all_dtypes[t], 150, 5, 1.05, 0, 1, 33);
            trine_precond p = make(&s, &scaled[k]);
            void *x = apply_once(p, &s);
            const int64_t *offsets;
            const void *values;
            OK(trine_matrix_get_arrays(s.A, &offsets, NULL, &values));
            void *FA = malloc((size_t)offsets[s.n] * trine_dtype_size(s.t)),
                 *b = malloc((size_t)s.n * trine_dtype_size(s.t)), *y = malloc((size_t)s.n * trine_dtype_size(s.t));
            for (int64_t i = 0; i < s.n; i++) {
                for (int64_t e = offsets[i]; e < offsets[i + 1]; e++)
                    put(s.t, FA, e, row_factor(s.t, i) * get(s.t, values, e));
                put(s.t, b, i, row_factor(s.t, i) * random_element(s.t, 99, (uint64_t)i));
            }
            OK(trine_precond_numeric(p, TRINE_HOST, FA, TRINE_REUSE_NOTHING, NULL));
            OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){.data = b, .rows = s.n, .cols = 1},
                                   &(trine_dense){.data = y, .rows = s.n, .cols = 1}, NULL));
            assert_true(distance(&s, y, x) < 1000 * eps_of(s.t));
            trine_precond_destroy(&p);
            free(x), free(FA), free(b), free(y);
            end_small(&s);
        }
}

/** New values with the old forests are what a plan of these values has, if its forests are the same. */
static void test_new_values(void **state)
{
    (void)state;
    for (int o = 0; o < METHODS; o++) {
        small s = small_random(TRINE_D, 120, 5, 1.2, 0, 1, 55);
        trine_precond p = make(&s, &methods[o]), q;
        const int64_t *offsets;
        const double *values;
        OK(trine_matrix_get_arrays(s.A, &offsets, NULL, (const void **)&values));
        double *other = malloc((size_t)offsets[s.n] * sizeof *other);
        for (int64_t e = 0; e < offsets[s.n]; e++) other[e] = 2 * values[e]; /* the same strong edges */
        OK(trine_precond_numeric(p, TRINE_HOST, other, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_analyse(test_cpu(1), &q, s.A, &methods[o]));
        OK(trine_precond_numeric(q, TRINE_HOST, other, TRINE_REUSE_NOTHING, NULL));
        void *x = apply_once(p, &s), *y = apply_once(q, &s);
        assert_memory_equal(x, y, (size_t)s.n * sizeof(double)); /* nor do threads matter */
        /* weak entries made strong: a forest that is kept does not see them */
        for (int64_t e = 0; e < offsets[s.n]; e++) other[e] = fabs(values[e]) < 0.3 ? 5 * values[e] : values[e];
        OK(trine_precond_numeric(p, TRINE_HOST, other, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_numeric(q, TRINE_HOST, other, TRINE_REUSE_NOTHING, NULL));
        free(x), free(y);
        x = apply_once(p, &s), y = apply_once(q, &s);
        if (methods[o].method >= TRINE_PRECOND_ALG_TRI) assert_true(distance(&s, x, y) > 1e-6);
        else assert_memory_equal(x, y, (size_t)s.n * sizeof(double));
        free(x), free(y), free(other);
        trine_precond_destroy(&p);
        trine_precond_destroy(&q);
        end_small(&s);
    }
}

/** Columns instead of rows, and rows that are not sorted, give the same plan to the bit. */
static void test_formats(void **state)
{
    (void)state;
    for (int o = 0; o < METHODS; o++) {
        small s = small_random(TRINE_Z, 60, 5, 1.2, 0, 1, 56), columns = s, unsorted = s;
        OK(trine_matrix_copy(s.A, &columns.A, TRINE_HOST, TRINE_CSC, TRINE_Z));
        const int64_t *from_offsets;
        const int32_t *from_columns;
        const void *from_values;
        int64_t *offsets;
        int32_t *indices;
        void *values;
        OK(trine_matrix_get_arrays(s.A, &from_offsets, &from_columns, &from_values));
        OK(trine_matrix_allocate(test_cpu(2), &unsorted.A, TRINE_CSR, TRINE_Z, s.n, s.n, from_offsets[s.n], &offsets,
                                 &indices, &values));
        for (int64_t i = 0; i <= s.n; i++) offsets[i] = from_offsets[i];
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
                const int64_t other = offsets[i] + offsets[i + 1] - 1 - e;
                indices[e] = from_columns[other];
                put(TRINE_Z, values, e, get(TRINE_Z, from_values, other));
            }
        const small *all[] = {&s, &columns, &unsorted};
        void *x[3];
        for (int k = 0; k < 3; k++) {
            trine_precond p = make(all[k], &methods[o]);
            x[k] = apply_once(p, &s);
            assert_memory_equal(x[k], x[0], (size_t)s.n * 16);
            trine_precond_destroy(&p);
        }
        for (int k = 0; k < 3; k++) free(x[k]);
        trine_matrix_destroy(&columns.A);
        trine_matrix_destroy(&unsorted.A);
        end_small(&s);
    }
}

/* ---------------------------------------------------------- products (Eq. 37) */

/** An operator that applies the inverse of a tridiagonal matrix given as a gallery's. */
static trine_op inverse_of(trine_matrix A)
{
    trine_tridiagonal plan;
    trine_op op;
    OK(trine_tridiagonal_analyse(test_cpu(2), &plan, A, NULL));
    OK(trine_tridiagonal_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_tridiagonal_as_op(plan, &op));
    trine_tridiagonal_destroy(&plan);
    return op;
}

/** One step of alternating directions, (L_1 + rho) and (L_0 + rho), is the product of T = 2 rho I (Section 5.1.4): its
 *  inverse undoes (L_1 + rho) (L_0 + rho) / (2 rho). */
static void test_alternating_directions(void **state)
{
    enum { N = 40 };
    const double rho = 0.7;
    (void)state;
    trine_matrix L[2];
    OK(trine_matrix_gallery(test_cpu(2), &L[0], "tridiag:n=40,a=-1.5,b=2.7,c=-0.5", TRINE_D)); /* with rho */
    OK(trine_matrix_gallery(test_cpu(2), &L[1], "tridiag:n=40,a=0.25,b=3.7,c=-0.75", TRINE_D));
    trine_op factor[2] = {inverse_of(L[0]), inverse_of(L[1])};
    double T[N], x[N], y[N], b[N];
    for (int i = 0; i < N; i++) {
        T[i] = 2 * rho;
        x[i] = test_uniform(4, (uint64_t)i);
    }
    trine_precond p;
    OK(trine_precond_product(test_cpu(2), &p, T, 2, factor, 0));
    for (int k = 0; k < 2; k++) trine_op_destroy(&factor[k]);
    for (int o = 0; o < 2; o++) { /* M = L_1 L_0 / (2 rho), M^T = L_0^T L_1^T / (2 rho) */
        OK(trine_matrix_multiply(L[o], all_ops[o], NULL, x, NULL, y));
        OK(trine_matrix_multiply(L[1 - o], all_ops[o], NULL, y, NULL, b));
        for (int i = 0; i < N; i++) b[i] /= 2 * rho;
        const trine_dense B = {b, N, 1, N, TRINE_COLMAJOR};
        OK(trine_precond_apply(p, all_ops[o], NULL, &B, &B, NULL));
        for (int i = 0; i < N; i++) assert_true(fabs(b[i] - x[i]) < 1e-13);
    }
    FAILS(TRINE_ERR_ARGUMENT, "takes no values", trine_precond_numeric(p, TRINE_HOST, T, TRINE_REUSE_FORESTS, NULL));
    trine_precond_destroy(&p);
    for (int k = 0; k < 2; k++) trine_matrix_destroy(&L[k]);
}

/** Triangular factors: with T and strictly triangular M'_1, M'_0 the product is (I + M'_1 T^-1) (T + M'_0) (Eq. 38). */
static void test_triangular_factors(void **state)
{
    enum { N = 30 };
    (void)state;
    for (int t = 0; t < 4; t++) {
        small s = small_random(all_dtypes[t], N, 5, 1.5, 0, 1, 91);
        trine_matrix half[2];
        trine_op factor[2];
        char T[N * 16], b[N * 16], x[N * 16], y[N * 16];
        for (int k = 0; k < 2; k++) { /* M'_0 is the upper triangle */
            trine_triangular plan;
            OK(trine_matrix_triangle(s.A, &half[k], k ? TRINE_LOWER : TRINE_UPPER, TRINE_NONUNIT, 0));
            OK(trine_triangular_analyse(
                test_cpu(2), &plan, half[k],
                &(trine_triangular_options){.uplo = k ? TRINE_LOWER : TRINE_UPPER, .ops = EVERY_OP}));
            OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
            OK(trine_triangular_as_op(plan, &factor[k]));
            trine_triangular_destroy(&plan);
        }
        for (int64_t i = 0; i < N; i++) {
            put(s.t, T, i, pair(s.dense, i * N + i));
            put(s.t, x, i, random_element(s.t, 4, (uint64_t)i));
        }
        trine_precond p;
        OK(trine_precond_product(test_cpu(2), &p, T, 2, factor, 1));
        OK(trine_matrix_multiply(half[0], TRINE_N, NULL, x, NULL, y));
        for (int64_t i = 0; i < N; i++) put(s.t, y, i, get(s.t, y, i) / get(s.t, T, i));
        OK(trine_matrix_multiply(half[1], TRINE_N, NULL, y, NULL, b));
        OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){.data = b, .rows = N, .cols = 1},
                               &(trine_dense){.data = y, .rows = N, .cols = 1}, NULL));
        assert_true(distance(&s, y, x) < 100 * eps_of(s.t));
        trine_precond_destroy(&p);
        for (int k = 0; k < 2; k++) {
            trine_op_destroy(&factor[k]);
            trine_matrix_destroy(&half[k]);
        }
        end_small(&s);
    }
}

/* ------------------------------------------------------------------ blocks */

/** The inverse of A's entries within pairs and between pairs that follow one another, pairs as a forest of the test's
 *  own gives them. */
static void test_blocks(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int64_t n = 1; n < 40; n += 19) {
            small s = small_random(all_dtypes[t], n, 5, 1.2, 0, 1, 41);
            trine_forest forest, coarse;
            trine_forest_result result;
            const void *values;
            OK(trine_matrix_get_arrays(s.A, NULL, NULL, &values));
            OK(trine_forest_create(test_cpu(2), &forest, s.A, &(trine_forest_options){.blocks = 1}));
            OK(trine_forest_run(forest, TRINE_HOST, values, &(trine_factor_rounds){.n = 1}, NULL));
            OK(trine_forest_coarsen(forest, &coarse, NULL));
            OK(trine_forest_run(coarse, TRINE_HOST, NULL, NULL, NULL));
            OK(trine_forest_get_result(coarse, &result, NULL));
            const size_t bytes = (size_t)(4 * n) * trine_dtype_size(s.t);
            char *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
            int32_t *v = malloc((size_t)(2 * n) * sizeof *v);
            OK(trine_forest_extract_blocks(forest, TRINE_HOST, values, a, b, c, v, NULL));
            uint8_t *member = calloc((size_t)(n * n), 1);
            for (int64_t r = 0; r < result.vertices; r++) {
                bool follows = false; /* block r the one before it */
                for (int k = 0; r && k < 4; k++)
                    follows = follows || get(s.t, a, 4 * r + k) != 0 || get(s.t, c, 4 * (r - 1) + k) != 0;
                for (int k = 0; k < 2; k++)
                    for (int q = follows ? -2 : 0; q < 2; q++)
                        if (v[2 * r + k] >= 0 && v[2 * r + q] >= 0)
                            member[v[2 * r + k] * n + v[2 * r + q]] = member[v[2 * r + q] * n + v[2 * r + k]] = 1;
            }
            const size_t dense = (size_t)(2 * n * n) * sizeof(long double);
            long double *scratch = malloc(5 * dense), *inverse = malloc(dense);
            assert_true(trine_precond_reference(TRINE_PRECOND_ALT_I, n, s.dense, 1, member, NULL, scratch, inverse));
            trine_precond p =
                make(&s, &(trine_precond_options){.method = TRINE_PRECOND_ALG_TRI_BLOCK, .ops = EVERY_OP});
            assert_inverse(p, &s, inverse, 2, "alg-tri-block");
            OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            assert_inverse(p, &s, inverse, 2, "alg-tri-block again");
            trine_precond_destroy(&p);
            trine_forest_destroy(&coarse);
            trine_forest_destroy(&forest);
            free(a), free(b), free(c), free(v), free(member), free(scratch), free(inverse);
            end_small(&s);
        }
}

/* ------------------------------------------------------- patterns, diagnosis */

/** B_l as the patterns of MOS_A keep it: all that A's rows have room for; nothing but the diagonal, after which the
 *  other factors are diagonal; everything, so that M = diagp1(B_m) B_m^-1 A is known. */
static void test_adaptive_patterns(void **state)
{
    (void)state;
    small s = small_random(TRINE_D, 40, 5, 1.2, 0, 1, 71);
    trine_precond_options o = {.method = TRINE_PRECOND_MOS_A, .m = 3};
    trine_precond p = make(&s, &o);
    double *plain = apply_once(p, &s), a[40], c[40];
    trine_precond_destroy(&p);
    o.pattern = TRINE_PATTERN_MAX_N;
    o.pattern_entries = 100;
    p = make(&s, &o);
    double *x = apply_once(p, &s);
    assert_memory_equal(x, plain, sizeof a);
    free(x);
    trine_precond_destroy(&p);
    o.pattern_entries = 0;
    p = make(&s, &o);
    OK(trine_precond_get_factor(p, 1, a, NULL, c, NULL));
    for (int i = 0; i < 40; i++) assert_true(a[i] == 0 && c[i] == 0);
    trine_precond_destroy(&p);
    o.pattern = TRINE_PATTERN_MAX_T;
    p = make(&s, &o);
    x = apply_once(p, &s);
    assert_memory_equal(x, plain, sizeof a);
    free(x);
    trine_precond_destroy(&p);
    o.pattern_threshold = 1; /* the largest entry alone: that is the diagonal */
    p = make(&s, &o);
    OK(trine_precond_get_factor(p, 1, a, NULL, c, NULL));
    for (int i = 0; i < 40; i++) assert_true(a[i] == 0 && c[i] == 0);
    trine_precond_destroy(&p);
    /* every entry, from A's full inverse */
    int64_t *offsets, q[40];
    int32_t *columns;
    o = (trine_precond_options){.method = TRINE_PRECOND_MOS_A, .m = 2, .ops = EVERY_OP, .exact_inverse = 1};
    o.pattern = TRINE_PATTERN_GIVEN;
    void *values;
    OK(trine_matrix_allocate(test_cpu(2), &o.pattern_matrix, TRINE_CSR, TRINE_D, 40, 40, 1600, &offsets, &columns,
                             &values));
    for (int i = 0; i < 1600; i++) {
        columns[i] = i % 40;
        offsets[i / 40 + 1] = i + 1;
        q[i / 40] = 40;
    }
    p = make(&s, &o);
    uint8_t *member = members(p, &s, 2);
    const size_t bytes = 3200 * sizeof(long double);
    long double *scratch = malloc(5 * bytes), *inverse = malloc(bytes);
    assert_true(trine_precond_reference(TRINE_PRECOND_MOS_A, 40, s.dense, 2, member, q, scratch, inverse));
    assert_inverse(p, &s, inverse, 2, "mos-a of a full pattern");
    trine_precond_destroy(&p);
    trine_matrix_destroy(&o.pattern_matrix);
    free(plain), free(member), free(scratch), free(inverse);
    end_small(&s);
}

/** Of a 4 x 4 grid's rows the pattern keeps one entry: forests are made of it alone. */
static void test_patterns(void **state)
{
    (void)state;
    small s = small_random(TRINE_D, 50, 6, 1.2, 0, 1, 14);
    trine_precond_diagnosis all, one, threshold, given;
    trine_precond_options o = {.method = TRINE_PRECOND_ALT_I, .m = 20, .omega = -1, .forest.until_maximal = 1};
    trine_precond p = make(&s, &o);
    OK(trine_precond_diagnose(p, &all));
    trine_precond_destroy(&p);
    assert_true(fabs(all.coverage[19] - 1) < 1e-12); /* every edge is in a forest */
    o.pattern = TRINE_PATTERN_MAX_N;
    o.pattern_entries = 1;
    p = make(&s, &o);
    OK(trine_precond_diagnose(p, &one));
    trine_precond_destroy(&p);
    double kept[2] = {0, 0}, whole = 0; /* by the definitions (Eqs. 49, 50, 53) */
    for (int64_t i = 0; i < s.n; i++) {
        double largest = 0, of_all = 0;
        for (int64_t j = 0; j < s.n; j++) {
            const double a = (double)cabsl(pair(s.dense, i * s.n + j));
            if (j != i) largest = fmax(largest, a);
            of_all = fmax(of_all, a);
            whole += a;
        }
        kept[0] += largest + (double)cabsl(pair(s.dense, i * s.n + i));
        for (int64_t j = 0; j < s.n; j++) {
            const double a = (double)cabsl(pair(s.dense, i * s.n + j));
            kept[1] += j == i || a >= 0.1 * of_all ? a : 0;
        }
    }
    assert_true(fabs(one.coverage[19] - kept[0] / whole) < 1e-12);
    o.pattern = TRINE_PATTERN_MAX_T;
    o.pattern_threshold = 0.1;
    p = make(&s, &o);
    OK(trine_precond_diagnose(p, &threshold));
    trine_precond_destroy(&p);
    assert_true(fabs(threshold.coverage[19] - kept[1] / whole) < 1e-12);
    o.pattern = TRINE_PATTERN_GIVEN; /* the lower triangle */
    OK(trine_matrix_triangle(s.A, &o.pattern_matrix, TRINE_LOWER, TRINE_NONUNIT, 0));
    double lower = 0;
    OK(trine_matrix_norm(o.pattern_matrix, TRINE_NORM_ONE, &lower));
    p = make(&s, &o);
    OK(trine_precond_diagnose(p, &given));
    trine_precond_destroy(&p);
    trine_matrix_destroy(&o.pattern_matrix);
    double below = 0;
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t j = 0; j <= i; j++) below += (double)cabsl(pair(s.dense, i * s.n + j));
    assert_true(fabs(given.coverage[19] - below / whole) < 1e-12);
    end_small(&s);
}

/** M - A by the factors, as dense matrices; coverage grows with l; where it ends a plan with a bound. */
static void test_diagnosis(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        small s = small_random(TRINE_Z, 40, 5, 1.1, 0, 1, 19);
        const trine_precond_options o = {.method = k ? TRINE_PRECOND_MOS_A : TRINE_PRECOND_MOS_D, .m = 3};
        trine_precond p = make(&s, &o);
        trine_precond_diagnosis d;
        OK(trine_precond_diagnose(p, &d));
        assert_int_equal(d.m, 3);
        wide *M = calloc((size_t)(s.n * s.n), sizeof *M), *next = calloc((size_t)(s.n * s.n), sizeof *M);
        double complex_room[3][80];
        int32_t v[40];
        for (int64_t i = 0; i < s.n; i++) M[i * s.n + i] = 1;
        for (int l = 2; l >= 0; l--) { /* M := M F_l */
            OK(trine_precond_get_factor(p, l, complex_room[0], complex_room[1], complex_room[2], v));
            memset(next, 0, (size_t)(s.n * s.n) * sizeof *next);
            for (int64_t i = 0; i < s.n; i++)
                for (int64_t at = 0; at < s.n; at++)
                    for (int side = -1; side <= 1; side++)
                        if (at + side >= 0 && at + side < s.n)
                            next[i * s.n + v[at + side]] +=
                                M[i * s.n + v[at]] * get(TRINE_Z, complex_room[side + 1], at);
            memcpy(M, next, (size_t)(s.n * s.n) * sizeof *M);
        }
        long double squares = 0, of_A = 0;
        for (int64_t e = 0; e < s.n * s.n; e++) {
            const wide a = pair(s.dense, e);
            squares += powl(cabsl(M[e] - a), 2);
            of_A += powl(cabsl(a), 2);
        }
        assert_true(fabs(d.R_norm / (double)sqrtl(squares / of_A) - 1) < 1e-10);
        const double *series = k ? d.c_diag : d.coverage;
        assert_true(k || (series[0] > d.diagonal && series[2] >= series[1]));
        assert_true(!k || fabs(series[0] - d.diagonal) < 1e-14);
        trine_precond_destroy(&p);
        /* stop where the first factor has what is asked for, and where nothing is gained */
        trine_precond_info info;
        trine_precond_options bounded = o;
        bounded.coverage = series[k] * 0.999;
        p = make(&s, &bounded);
        OK(trine_precond_get_info(p, &info));
        assert_int_equal(info.m, 1);
        assert_non_null(strstr(info.reason, "reached"));
        trine_precond_destroy(&p);
        bounded.coverage = 1;
        bounded.stagnation = 0.99;
        p = make(&s, &bounded);
        OK(trine_precond_get_info(p, &info));
        assert_int_equal(info.m, 2);
        assert_non_null(strstr(info.reason, "stagnates"));
        trine_precond_destroy(&p);
        free(M), free(next);
        end_small(&s);
    }
}

/** A with row i times 2^100 or 2^-100 (1e30), by chance; the caller's. */
static trine_matrix scale_rows(const small *s, double *factor)
{
    trine_matrix FA;
    const double *values;
    OK(trine_matrix_copy(s->A, &FA, TRINE_HOST, TRINE_CSR, TRINE_D));
    const int64_t *offsets;
    OK(trine_matrix_get_arrays(FA, &offsets, NULL, (const void **)&values));
    for (int64_t i = 0; i < s->n; i++) {
        factor[i] = ldexp(1, test_uniform(77, (uint64_t)i) < 0.5 ? 100 : -100);
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) ((double *)values)[e] *= factor[i];
    }
    return FA;
}

/** The choice, and what it does, are the same whatever the size of rows. */
static void assert_scale_does_not_matter(const small *s, trine_precond p)
{
    trine_precond q;
    trine_precond_info info, of_scaled;
    double *factor = malloc((size_t)s->n * sizeof *factor), *b = malloc((size_t)s->n * sizeof *b),
           *y = malloc((size_t)s->n * sizeof *y);
    trine_matrix FA = scale_rows(s, factor);
    OK(trine_precond_get_info(p, &info));
    OK(trine_precond_analyse(test_cpu(2), &q, FA, NULL));
    OK(trine_precond_get_info(q, &of_scaled));
    assert_string_equal(trine_precond_method_name(of_scaled.method), trine_precond_method_name(info.method));
    OK(trine_precond_numeric(q, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    OK(trine_precond_check(q, NULL));
    for (int64_t i = 0; i < s->n; i++) b[i] = factor[i] * (double)creall(random_element(s->t, 99, (uint64_t)i));
    OK(trine_precond_apply(q, TRINE_N, NULL, &(trine_dense){.data = b, .rows = s->n, .cols = 1},
                           &(trine_dense){.data = y, .rows = s->n, .cols = 1}, NULL));
    void *x = apply_once(p, s);
    if (info.method != TRINE_PRECOND_ALG_TRI) assert_true(distance(s, y, x) < 1e-9); /* its weights are A's own */
    trine_precond_destroy(&q);
    trine_matrix_destroy(&FA);
    free(factor), free(b), free(y), free(x);
}

/** What is chosen for A as it is. */
static void assert_choice(const small *s, trine_precond_method method)
{
    trine_precond_info info;
    trine_precond p = make(s, NULL);
    OK(trine_precond_get_info(p, &info));
    assert_string_equal(trine_precond_method_name(info.method), trine_precond_method_name(method));
    assert_true(strlen(info.reason) > 20);
    if (!trine_precond_check(p, NULL)) assert_scale_does_not_matter(s, p);
    trine_precond_destroy(&p);
}

/** Rows with `reach` neighbours on either side, and one with entries in all columns: ILUT, if few of a row count. */
static void test_choice_with_a_long_row(void **state)
{
    enum { N = 200, MOST = 12 };
    static const struct {
        int reach;
        trine_precond_method method;
    } cases[] = {{1, TRINE_PRECOND_ILUT}, {3, TRINE_PRECOND_DIAGP1}};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 2; k++) {
            const int reach = cases[k].reach;
            int64_t offsets[N + 1] = {0}, at = 0;
            int32_t columns[MOST * N];
            _Alignas(16) char values[MOST * N * 16];
            trine_matrix A;
            trine_precond p;
            trine_precond_info info;
            for (int i = 0; i < N; offsets[++i] = at)
                for (int j = 0; j < N; j++) {
                    const int far = abs(i - j);
                    if (i && far > reach) continue;
                    columns[at] = j;
                    put(all_dtypes[t], values, at++, far == 0 ? 2 * reach : far <= reach ? -1 : -1e-3L);
                }
            OK(trine_matrix_csr(test_cpu(2), &A, all_dtypes[t], N, N, at, TRINE_HOST, 64, offsets, 32, columns,
                                values));
            OK(trine_precond_analyse(test_cpu(2), &p, A, NULL));
            OK(trine_precond_get_info(p, &info));
            assert_int_equal(info.method, cases[k].method);
            assert_non_null(strstr(info.reason, "a few rows are much longer"));
            OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
            trine_precond_destroy(&p);
            trine_matrix_destroy(&A);
        }
}

/** Rows whose other entries outweigh the diagonal by far get a diagonal, but for short ones. */
static void test_choice_with_a_light_diagonal(void **state)
{
    static const struct {
        const char *spec;
        double factor;
        trine_precond_method method;
    } cases[] = {{"aniso2:n=40", 0.5, TRINE_PRECOND_ILU0},
                 {"aniso2:n=40", 0.3, TRINE_PRECOND_DIAGP1},
                 {"laplace2d:n=30", 0.3, TRINE_PRECOND_ILUK}};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            small s = small_gallery(cases[k].spec, all_dtypes[t]);
            const int64_t *offsets;
            const int32_t *columns;
            const void *values;
            OK(trine_matrix_get_arrays(s.A, &offsets, &columns, &values));
            for (int64_t i = 0; i < s.n; i++)
                for (int64_t e = offsets[i]; e < offsets[i + 1]; e++)
                    if (columns[e] == i) put(s.t, (void *)values, e, (wide)cases[k].factor * get(s.t, values, e));
            trine_precond p = make(&s, NULL);
            trine_precond_info info;
            OK(trine_precond_get_info(p, &info));
            assert_string_equal(trine_precond_method_name(info.method), trine_precond_method_name(cases[k].method));
            trine_precond_destroy(&p);
            end_small(&s);
        }
}

/** What AUTO takes, and what it does without values. */
static void test_choice(void **state)
{
    static const struct {
        const char *spec;
        trine_precond_method method;
    } cases[] = {{"diagonal:n=20", TRINE_PRECOND_DIAGP1},
                 {"tridiag:n=300", TRINE_PRECOND_TRIDIAG},
                 {"laplace2d:n=20", TRINE_PRECOND_ILUK},
                 {"laplace3d27:n=10", TRINE_PRECOND_DIAGP1},
                 {"rotate7:n=30", TRINE_PRECOND_ILU0},
                 {"aniso2:n=40", TRINE_PRECOND_ILU0},
                 {"rotate9:n=30,alpha=0", TRINE_PRECOND_TRIDIAG},
                 {"rotate9:n=30,alpha=90", TRINE_PRECOND_ILU0},
                 {"powerlaw:n=500", TRINE_PRECOND_DIAGP1}};
    (void)state;
    trine_precond p;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        small s = small_gallery(cases[k].spec, TRINE_D);
        const int32_t *columns;
        const double *values;
        assert_choice(&s, cases[k].method);
        OK(trine_matrix_get_arrays(s.A, NULL, &columns, (const void **)&values));
        int64_t e = 0; /* the first diagonal entry */
        while (columns[e] != 0) e++;
        ((double *)values)[e] = 0;
        assert_choice(&s, TRINE_PRECOND_DIAGP1);
        end_small(&s);
    }
    trine_matrix pattern;
    const int64_t offsets[] = {0, 1};
    const int32_t columns[] = {0};
    OK(trine_matrix_csr(test_cpu(2), &pattern, TRINE_D, 1, 1, 1, TRINE_HOST, 64, offsets, 32, columns, NULL));
    FAILS(TRINE_ERR_STATE, "looks at the values", trine_precond_analyse(test_cpu(2), &p, pattern, NULL));
    trine_matrix_destroy(&pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equations),
                                       cmocka_unit_test(test_zero_diagonals),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_one_factor),
                                       cmocka_unit_test(test_seeds_of_forests),
                                       cmocka_unit_test(test_homogeneity),
                                       cmocka_unit_test(test_new_values),
                                       cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_alternating_directions),
                                       cmocka_unit_test(test_triangular_factors),
                                       cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_adaptive_patterns),
                                       cmocka_unit_test(test_patterns),
                                       cmocka_unit_test(test_diagnosis),
                                       cmocka_unit_test(test_choice),
                                       cmocka_unit_test(test_choice_with_a_light_diagonal),
                                       cmocka_unit_test(test_choice_with_a_long_row)};
    return TEST_MAIN(tests);
}
