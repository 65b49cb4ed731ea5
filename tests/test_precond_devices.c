/* Preconditioners on the device of the test against one thread of the CPU: every method, precision and op, blocks of
 * vectors in both layouts, new values, values and matrices in device memory, factors and products, bad values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ilu_support.h"
#include "precond_support.h"

static const trine_transpose all_ops[] = {TRINE_N, TRINE_T, TRINE_H};
enum { EVERY_OP = TRINE_N | TRINE_T | TRINE_H, COLUMNS = 3 };

static const trine_precond_options methods[] = {
    {.method = TRINE_PRECOND_DIAGP0},
    {.method = TRINE_PRECOND_DIAGP1},
    {.method = TRINE_PRECOND_DIAGP2},
    {.method = TRINE_PRECOND_L1},
    {.method = TRINE_PRECOND_TRIDIAG},
    {.method = TRINE_PRECOND_ALG_TRI},
    {.method = TRINE_PRECOND_ALG_TRI_BLOCK},
    {.method = TRINE_PRECOND_ALT_O, .m = 1},
    {.method = TRINE_PRECOND_ALT_I, .m = 1},
    {.method = TRINE_PRECOND_ALT_I, .m = 3},
    {.method = TRINE_PRECOND_ALT_I, .m = 2, .pattern = TRINE_PATTERN_MAX_N, .pattern_entries = 3},
    {.method = TRINE_PRECOND_MOS_D, .m = 1},
    {.method = TRINE_PRECOND_MOS_D, .m = 2},
    {.method = TRINE_PRECOND_MOS_D, .m = 4},
    {.method = TRINE_PRECOND_MOS_D, .m = 3, .omega = 0.5},
    {.method = TRINE_PRECOND_MOS_D, .m = 4, .coverage = 0.9},
    {.method = TRINE_PRECOND_MOS_A, .m = 1},
    {.method = TRINE_PRECOND_MOS_A, .m = 3},
    {.method = TRINE_PRECOND_ILU0},
    {.method = TRINE_PRECOND_ILUK, .fill_level = 2},
    {.method = TRINE_PRECOND_ILUT},
    {.method = TRINE_PRECOND_ISAI},
    {.method = TRINE_PRECOND_ISAI, .sweeps = 3},
    {.method = TRINE_PRECOND_IC0},
    {.method = TRINE_PRECOND_MULTILEVEL},
    {.method = TRINE_PRECOND_MULTILEVEL, .sweeps = 2},
};
enum { METHODS = sizeof methods / sizeof *methods };

static trine_precond new_plan(trine_context ctx, trine_matrix A, const trine_precond_options *given)
{
    trine_precond_options o = *given;
    trine_precond p;
    o.ops = EVERY_OP;
    o.max_nrhs = COLUMNS;
    OK(trine_precond_analyse(ctx, &p, A, &o));
    return p;
}

static int64_t order_of(trine_precond p)
{
    trine_precond_info info;
    OK(trine_precond_get_info(p, &info));
    return info.n;
}

/** A block of so many elements, and what is done with it. */
typedef struct {
    int64_t cols, ld;
    trine_layout layout;
    bool in_place;
} form;
static int64_t elements_of(const form *f, int64_t n)
{
    return f->layout == TRINE_COLMAJOR ? f->ld * f->cols : f->ld * n;
}

/** X := alpha op(M)^-1 B on the plan's device, from and to host memory; through an operator, which does not work in
 *  place, if there is one. */
static void run(trine_precond p, trine_context ctx, trine_op through, trine_dtype t, trine_transpose op, const form *f,
                const void *B, void *X)
{
    const int64_t n = order_of(p);
    const size_t bytes = (size_t)elements_of(f, n) * trine_dtype_size(t);
    const double wide_factor[] = {-2, 0};
    const float single_factor[] = {-2, 0};
    const void *alpha = t == TRINE_S || t == TRINE_C ? (const void *)single_factor : wide_factor;
    void *b = test_to_device(ctx, B, bytes), *x = f->in_place && !through ? b : test_to_device(ctx, X, bytes);
    const trine_dense from = {b, n, f->cols, f->ld, f->layout}, to = {x, n, f->cols, f->ld, f->layout};
    if (through) OK(trine_op_apply(through, op, alpha, &from, NULL, &to, NULL));
    else OK(trine_precond_apply(p, op, alpha, &from, &to, NULL));
    test_from_device(ctx, X, x, bytes);
    if (x != b) test_release(ctx, x);
    test_release(ctx, b);
}

/** Two plans of one matrix, on one thread of the CPU and on ctx, agree; part >= 0: their factors of that number. */
static void assert_agree(trine_precond on_cpu, trine_precond p, trine_context ctx, int part, trine_dtype t,
                         const char *what)
{
    const int64_t n = order_of(p);
    const form forms[] = {{1, n, TRINE_COLMAJOR, false},
                          {COLUMNS, n + 5, TRINE_COLMAJOR, false},
                          {COLUMNS, COLUMNS + 1, TRINE_ROWMAJOR, false},
                          {COLUMNS, n, TRINE_COLMAJOR, true},
                          {2, 2, TRINE_ROWMAJOR, true}};
    trine_op ops[2] = {NULL, NULL};
    if (part >= 0) {
        OK(trine_precond_part(on_cpu, part, &ops[0]));
        OK(trine_precond_part(p, part, &ops[1]));
    }
    for (size_t k = 0; k < 3 * sizeof forms / sizeof *forms; k++) {
        const form *f = &forms[k / 3];
        const int64_t count = elements_of(f, n);
        const size_t bytes = (size_t)count * trine_dtype_size(t);
        void *B = malloc(bytes), *X = calloc(1, bytes), *Y = calloc(1, bytes);
        for (int64_t i = 0; i < count; i++) put(t, B, i, random_element(t, 7 + k, (uint64_t)i));
        run(on_cpu, test_cpu(1), ops[0], t, all_ops[k % 3], f, B, X);
        run(p, ctx, ops[1], t, all_ops[k % 3], f, B, Y);
        long double apart = 0, size = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < f->cols; j++) {
                const int64_t at = f->layout == TRINE_COLMAJOR ? i + j * f->ld : i * f->ld + j;
                const long double d = cabsl(get(t, X, at) - get(t, Y, at));
                apart = d <= apart ? apart : d; /* NaN counts */
                size = fmaxl(size, cabsl(get(t, X, at)));
            }
        if (!(apart <= 1000 * eps_of(t) * size)) {
            print_error("%s, part %d, dtype %d, op %d, form %d: %Lg apart in %Lg\n", what, part, (int)t,
                        (int)all_ops[k % 3], (int)(k / 3), apart, size);
            fail();
        }
        free(B), free(X), free(Y);
    }
    for (int k = 0; k < 2; k++) trine_op_destroy(&ops[k]);
}

/** y := z |M^-1| for a factor's generators, all in path order: products of `before` and `after` lead from an entry of
 *  the diagonal, `centre`, to the others. */
static void multiply_moduli(int64_t n, const double *before, const double *after, const double *centre, const double *z,
                            double *y)
{
    double carried = 0;
    for (int64_t j = 0; j < n; j++) y[j] = carried = carried * after[j] + z[j] * centre[j];
    carried = 0;
    for (int64_t j = n - 1; j > 0; j--) {
        carried = (carried + z[j] * centre[j]) * before[j - 1];
        y[j - 1] += carried;
    }
}

/** The moduli of a factor's generators; bands in path order. */
static void generate_moduli(trine_dtype t, int64_t n, const void *a, const void *b, const void *c, double *before,
                            double *after, double *centre)
{
    wide *sums = calloc((size_t)n, sizeof *sums), other = 0;
    for (int64_t k = 0; k < n; k++) {
        sums[k] = get(t, b, k) + other;
        const wide lambda = k + 1 < n ? -get(t, a, k + 1) / sums[k] : 0;
        before[k] = (double)cabsl(lambda);
        other = lambda == 0 ? 0 : get(t, c, k) * lambda;
    }
    other = 0;
    for (int64_t k = n - 1; k >= 0; k--) {
        const wide rho = k > 0 ? -get(t, c, k - 1) / (get(t, b, k) + other) : 0;
        centre[k] = 1 / (double)cabsl(sums[k] + other);
        after[k] = (double)cabsl(rho);
        other = rho == 0 ? 0 : get(t, a, k) * rho;
    }
    free(sums);
}

/** Of MOS_A's factors, for each entry of their bands a, b and c the sum of the moduli of all terms that it is made of:
 *  of a_ij in M_0, and in B_{l+1} = B_l M_l^-1 those of B_l and of M_l's rounding errors. Where terms cancel, an entry
 *  is small beside this sum, and its rounding errors are not. T is that of the last factor. */
static double *terms_of_bands(trine_precond p, trine_matrix A, trine_dtype t, int m)
{
    const int64_t n = order_of(p), *offsets;
    const int32_t *columns;
    const void *values;
    const size_t size = trine_dtype_size(t), cells = (size_t)(n * n + 1);
    trine_matrix rows;
    double *terms = calloc((size_t)(3 * n * m + 1), sizeof *terms), *B = calloc(cells, sizeof *B);
    double *before = calloc((size_t)(7 * n + 1), sizeof *before), *after = before + n, *centre = after + n,
           *z = centre + n, *y = z + n, *w = y + n, *x = w + n;
    char *a = calloc((size_t)(4 * n + 1), size), *b = a + (size_t)n * size, *c = b + (size_t)n * size,
         *T = c + (size_t)n * size;
    int32_t *v = calloc((size_t)(n + 1), sizeof *v);
    OK(trine_matrix_copy(A, &rows, TRINE_HOST, TRINE_CSR, t));
    OK(trine_matrix_get_arrays(rows, &offsets, &columns, &values));
    OK(trine_precond_get_diagonal(p, T));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) B[i * n + columns[k]] = (double)cabsl(get(t, values, k));
    for (int l = 0; l < m; l++) {
        double *to = terms + 3 * n * l;
        OK(trine_precond_get_factor(p, l, a, b, c, v));
        for (int64_t i = 0; i < n; i++) {
            const double by = l + 1 < m ? 1 : (double)cabsl(get(t, T, v[i]));
            const bool follows = i > 0 && (get(t, a, i) != 0 || get(t, c, i - 1) != 0),
                       goes_on = i + 1 < n && (get(t, a, i + 1) != 0 || get(t, c, i) != 0);
            to[i] = follows ? by * B[v[i] * n + v[i - 1]] : 0;
            to[n + i] = by * B[v[i] * n + v[i]];
            to[2 * n + i] = goes_on ? by * B[v[i] * n + v[i + 1]] : 0;
        }
        if (l + 1 == m) break;
        generate_moduli(t, n, a, b, c, before, after, centre);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) z[j] = B[i * n + v[j]];
            multiply_moduli(n, before, after, centre, z, y);
            for (int64_t j = 0; j < n; j++)
                w[j] = (j + 1 < n ? y[j + 1] * to[j + 1] : 0) + y[j] * to[n + j] +
                       (j > 0 ? y[j - 1] * to[2 * n + j - 1] : 0);
            multiply_moduli(n, before, after, centre, w, x);
            for (int64_t j = 0; j < n; j++) B[i * n + v[j]] = y[j] + x[j];
        }
    }
    OK(trine_matrix_destroy(&rows));
    free(B), free(before), free(a), free(v);
    return terms;
}

/** What the two plans tell of themselves; `what`: of which matrix. */
static void assert_same_reports(trine_precond on_cpu, trine_precond p, trine_matrix A, trine_dtype t, const char *what)
{
    static const char *const bands_of[] = {"a", "b", "c"};
    trine_precond_info a, b;
    trine_precond_diagnosis d, e;
    OK(trine_precond_get_info(on_cpu, &a));
    OK(trine_precond_get_info(p, &b));
    assert_int_equal(a.m, b.m);
    assert_int_equal(a.method, b.method);
    assert_int_equal(a.factor_entries, b.factor_entries);
    assert_string_equal(a.reason, b.reason);
    OK(trine_precond_diagnose(on_cpu, &d));
    OK(trine_precond_diagnose(p, &e));
    for (int l = 0; l < a.m; l++)
        assert_true(fabs(d.coverage[l] - e.coverage[l]) < 1e-12 || (isnan(d.coverage[l]) && isnan(e.coverage[l])));
    const size_t size = trine_dtype_size(t);
    const int64_t n = a.n;
    const char *method = trine_precond_method_name(a.method);
    double *sums = a.method == TRINE_PRECOND_MOS_A && a.m > 1 ? terms_of_bands(on_cpu, A, t, a.m) : NULL;
    void *bands = calloc((size_t)(6 * n + 1), size);
    int32_t *v = calloc((size_t)(2 * n + 1), sizeof *v);
    for (int l = 0; l < a.m; l++) {
        char *const at = bands;
        const size_t step = (size_t)n * size;
        OK(trine_precond_get_factor(on_cpu, l, at, at + step, at + 2 * step, v));
        OK(trine_precond_get_factor(p, l, at + 3 * step, at + 4 * step, at + 5 * step, v + n));
        for (int64_t i = 0; i < n; i++) {
            if (v[i] == v[n + i]) continue;
            print_error("%s, %s, factor %d: position %lld has row %d, on the device %d\n", what, method, l,
                        (long long)i, v[i], v[n + i]);
            fail();
        }
        for (int64_t i = 0; i < 3 * n; i++) {
            const wide x = get(t, bands, i), y = get(t, bands, i + 3 * n);
            const long double terms = sums ? fmaxl(sums[3 * n * l + i], cabsl(x)) : cabsl(x);
            if (cabsl(x - y) <= (sums ? 32 : 200) * eps_of(t) * terms) continue;
            print_error(
                "%s, %s, factor %d, band %s, position %lld (row %d): %.12Lg %+.12Lg i on the CPU, %.12Lg %+.12Lg i "
                "on the device, terms of %Lg\n",
                what, method, l, bands_of[i / n], (long long)(i % n), v[i % n], creall(x), cimagl(x), creall(y),
                cimagl(y), terms);
            fail();
        }
    }
    free(sums);
    if (a.method <= TRINE_PRECOND_L1 || a.method == TRINE_PRECOND_MOS_D || a.method == TRINE_PRECOND_MOS_A) {
        OK(trine_precond_get_diagonal(on_cpu, bands));
        OK(trine_precond_get_diagonal(p, (char *)bands + (size_t)n * size));
        for (int64_t i = 0; i < n; i++)
            assert_true(cabsl(get(t, bands, i) - get(t, bands, i + n)) <= 200 * eps_of(t) * cabsl(get(t, bands, i)));
    }
    free(bands), free(v);
}

static void compare(trine_matrix A, trine_dtype t, const trine_precond_options *o, const char *of)
{
    trine_context ctx = test_shared(2);
    trine_precond on_cpu = new_plan(test_cpu(1), A, o), p = new_plan(ctx, A, o);
    char what[160];
    snprintf(what, sizeof what, "%s: %s, m = %d", of, trine_precond_method_name(o->method), o->m);
    OK(trine_precond_numeric(on_cpu, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_check(p, NULL));
    assert_agree(on_cpu, p, ctx, -1, t, what);
    assert_same_reports(on_cpu, p, A, t, what);
    trine_precond_destroy(&on_cpu);
    trine_precond_destroy(&p);
}

static void every_method_is_that_of_the_cpu(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int64_t n = 1; n < 200; n += 61) {
            if (!test_is_to_do()) continue;
            const uint64_t seed = (uint64_t)n + 1000 * test_seed();
            sample s = make_sample(test_cpu(1), all_dtypes[t], n, 5.0 / (double)n, seed + 3, sample_kinds[t]),
                   h = make_sample(test_cpu(1), all_dtypes[t], n, 2.5 / (double)n, seed + 5, HERMITIAN);
            char of[80];
            snprintf(of, sizeof of, "random rows, dtype %d, n = %lld, seed %lld", (int)all_dtypes[t], (long long)n,
                     (long long)seed);
            for (int o = 0; o < METHODS; o++)
                compare(methods[o].method == TRINE_PRECOND_IC0 ? h.A : s.A, all_dtypes[t], &methods[o], of);
            end_sample(&s);
            end_sample(&h);
        }
}

/** Long paths, many rows, and grids. */
static void larger_matrices(void **state)
{
    static const char *const specs[] = {"convection3d:n=14", "rotate9:nx=70,ny=41", "aniso2:n=50",
                                        "tridiag:n=2000,a=-1,b=2.1,c=-1"};
    static const trine_precond_options adi = {.method = TRINE_PRECOND_ADI, .nx = 70, .ny = 41};
    (void)state;
    for (int k = 0; k < 4; k++) {
        if (!test_is_to_do()) continue;
        trine_matrix A;
        OK(trine_matrix_gallery(test_cpu(1), &A, specs[k], TRINE_D));
        for (int o = 0; o < METHODS; o++) {
            /* patterns of equally large entries are a matter of rounding errors */
            const bool has_ties = methods[o].method == TRINE_PRECOND_MOS_A && methods[o].m > 1;
            if (methods[o].method != TRINE_PRECOND_IC0 && !has_ties) compare(A, TRINE_D, &methods[o], specs[k]);
        }
        if (k == 1) compare(A, TRINE_D, &adi, specs[k]);
        trine_matrix_destroy(&A);
    }
}

/** Rows of few levels, where a GPU factors too; the factors themselves. */
static void incomplete_factors(void **state)
{
    static const trine_precond_options incomplete[] = {{.method = TRINE_PRECOND_ILU0},
                                                       {.method = TRINE_PRECOND_ILUK, .fill_level = 2},
                                                       {.method = TRINE_PRECOND_ILU0, .shift = 0.1},
                                                       {.method = TRINE_PRECOND_ISAI, .sweeps = 2},
                                                       {.method = TRINE_PRECOND_IC0},
                                                       {.method = TRINE_PRECOND_IC0, .shift = 0.1}};
    enum { N = 601 };
    (void)state;
    for (int t = 0; t < 4; t++)
        for (size_t o = 0; o < sizeof incomplete / sizeof *incomplete; o++) {
            if (!test_is_to_do()) continue;
            const bool cholesky = incomplete[o].method == TRINE_PRECOND_IC0;
            sample s = make_sample(test_cpu(1), all_dtypes[t], N, 2.5 / N, 70, cholesky ? HERMITIAN : sample_kinds[t]);
            trine_precond plans[2];
            const void *values[2];
            int64_t nnz[2];
            for (int k = 0; k < 2; k++) {
                plans[k] = new_plan(k ? test_shared(2) : test_cpu(1), s.A, &incomplete[o]);
                OK(trine_precond_numeric(plans[k], TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
                OK(trine_precond_get_triangles(plans[k], &nnz[k], NULL, NULL, &values[k]));
                OK(trine_precond_check(plans[k], NULL));
            }
            assert_int_equal(nnz[0], nnz[1]);
            long double size = 0;
            for (int64_t e = 0; e < nnz[0]; e++) size = fmaxl(size, cabsl(get(s.t, values[0], e)));
            for (int64_t e = 0; e < nnz[0]; e++)
                assert_true(cabsl(get(s.t, values[0], e) - get(s.t, values[1], e)) <= 100 * eps_of(s.t) * size);
            assert_agree(plans[0], plans[1], test_shared(2), -1, s.t, trine_precond_method_name(incomplete[o].method));
            for (int k = 0; k < 2; k++) trine_precond_destroy(&plans[k]);
            end_sample(&s);
        }
}

/** A column with an entry in every row, and rows that are short: of the graph of A one row is long. */
static void dense_column(void **state)
{
    static const trine_precond_options along_paths[] = {{.method = TRINE_PRECOND_ALG_TRI},
                                                        {.method = TRINE_PRECOND_ALT_I, .m = 3},
                                                        {.method = TRINE_PRECOND_MOS_D, .m = 3},
                                                        {.method = TRINE_PRECOND_MOS_A, .m = 1},
                                                        {.method = TRINE_PRECOND_MOS_A, .m = 3}};
    enum { N = 3000, HUB = 1234 };
    int64_t offsets[N + 1], nnz = 0;
    int32_t columns[4 * N];
    double values[4 * N];
    (void)state;
    for (int i = 0; i < N; i++) {
        offsets[i] = nnz;
        for (int j = 0; j < N; j++) {
            if (j != HUB && (j < i - 1 || j > i + 1)) continue;
            columns[nnz] = j;
            values[nnz] = (i == j ? 4 : j == HUB ? -0.2 : -1) * (1 + test_uniform(8, (uint64_t)nnz) / 2);
            nnz++;
        }
    }
    offsets[N] = nnz;
    trine_matrix A;
    OK(trine_matrix_csr(test_cpu(1), &A, TRINE_D, N, N, nnz, TRINE_HOST, 64, offsets, 32, columns, values));
    for (size_t o = 0; o < sizeof along_paths / sizeof *along_paths; o++)
        compare(A, TRINE_D, &along_paths[o], "a dense column");
    trine_matrix_destroy(&A);
}

/** What AUTO takes for A, which goes, on a GPU. */
static void assert_choice(trine_matrix A, const char *name, trine_precond_method method, const char *reason)
{
    trine_precond_info info;
    trine_precond p = new_plan(test_shared(2), A, &(trine_precond_options){.method = TRINE_PRECOND_AUTO});
    OK(trine_precond_get_info(p, &info));
    if (info.method != method || !strstr(info.reason, reason))
        fail_msg("%s: %s (%s), not %s (%s)", name, trine_precond_method_name(info.method), info.reason,
                 trine_precond_method_name(method), reason);
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    trine_precond_destroy(&p);
    trine_matrix_destroy(&A);
}

/** By sums that are made there. */
static void choices(void **state)
{
    static const struct {
        const char *spec;
        double factor; /* of the diagonal */
        trine_precond_method method;
        const char *reason;
    } cases[] = {{"diagonal:n=20", 1, TRINE_PRECOND_DIAGP1, "sweeps"},
                 {"tridiag:n=300", 1, TRINE_PRECOND_ALG_TRI, "one forest"},
                 {"laplace2d:n=50", 1, TRINE_PRECOND_DIAGP1, "few rows"},
                 {"laplace2d:n=520", 1, TRINE_PRECOND_ALT_I, "as much as"},
                 {"aniso2:n=40", 1, TRINE_PRECOND_DIAGP1, "few rows"},
                 {"aniso2:n=40", 0.5, TRINE_PRECOND_MOS_A, "less than"},
                 {"laplace3d27:n=10", 1, TRINE_PRECOND_DIAGP1, "sweeps"},
                 {"laplace3d27:n=14", 0.6, TRINE_PRECOND_ALT_I, "many entries"},
                 {"laplace3d27:n=14", 0.4, TRINE_PRECOND_DIAGP1, "outweigh"},
                 {"rotate7:n=30", 1, TRINE_PRECOND_MOS_A, "less than"},
                 {"rotate7:n=30", 0, TRINE_PRECOND_DIAGP1, "missing"}}; /* of the first row only */
    enum { CASES = sizeof cases / sizeof *cases };
    (void)state;
    if (!test_is_to_do()) return;
    if (!test_on_gpu()) skip();
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < CASES; k++) {
            trine_matrix A;
            trine_matrix_info info;
            const int64_t *offsets;
            const int32_t *columns;
            const void *values;
            OK(trine_matrix_gallery(test_cpu(1), &A, cases[k].spec, all_dtypes[t]));
            OK(trine_matrix_get_info(A, &info));
            OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
            for (int64_t i = 0; i < (cases[k].factor > 0 ? info.n_rows : 1); i++)
                for (int64_t e = offsets[i]; e < offsets[i + 1]; e++)
                    if (columns[e] == i)
                        put(all_dtypes[t], (void *)values, e, (wide)cases[k].factor * get(all_dtypes[t], values, e));
            assert_choice(A, cases[k].spec, cases[k].method, cases[k].reason);
        }
    assert_choice(test_long_row(test_cpu(1)), "a long row", TRINE_PRECOND_DIAGP1, "longer");
}

/** What is not definite, and a zero pivot, with the row, where a GPU factors. */
static void bad_pivots(void **state)
{
    static const trine_precond_method of[] = {TRINE_PRECOND_ILU0, TRINE_PRECOND_IC0};
    enum { N = 400 };
    (void)state;
    if (!test_is_to_do()) return;
    for (int k = 0; k < 2; k++) {
        trine_matrix A;
        trine_matrix_info info;
        const int64_t *offsets;
        const int32_t *columns;
        const double *values;
        OK(trine_matrix_gallery(test_cpu(1), &A, "laplace2d:n=20", TRINE_D));
        OK(trine_matrix_get_info(A, &info));
        OK(trine_matrix_get_arrays(A, &offsets, &columns, (const void **)&values));
        double *bad = malloc((size_t)info.nnz * sizeof *bad);
        memcpy(bad, values, (size_t)info.nnz * sizeof *bad);
        for (int64_t e = offsets[21]; e < offsets[22]; e++)
            if (columns[e] <= 21) bad[e] = 0;
        trine_precond p = new_plan(test_shared(2), A, &(trine_precond_options){.method = of[k]});
        OK(trine_precond_numeric(p, TRINE_HOST, bad, TRINE_REUSE_FORESTS, NULL));
        FAILS(k ? TRINE_ERR_NOT_DEFINITE : TRINE_ERR_SINGULAR, "row 21 ", trine_precond_check(p, NULL));
        OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_check(p, NULL));
        trine_precond_destroy(&p);
        trine_matrix_destroy(&A);
        free(bad);
    }
}

static void no_rows(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_shared(2);
    sample s = make_sample(test_cpu(1), TRINE_D, 0, 0, 1, 0);
    for (int o = 0; o < METHODS; o++) {
        trine_precond p = new_plan(ctx, s.A, &methods[o]);
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_check(p, NULL));
        OK(trine_precond_apply(p, TRINE_N, NULL, &(trine_dense){.cols = 1}, &(trine_dense){.cols = 1}, NULL));
        trine_precond_destroy(&p);
    }
    end_sample(&s);
}

/** Each factor by itself, of methods that have several. */
static void factors_alone(void **state)
{
    static const trine_precond_method several[] = {TRINE_PRECOND_ALT_O, TRINE_PRECOND_ALT_I, TRINE_PRECOND_MOS_D,
                                                   TRINE_PRECOND_MOS_A};
    (void)state;
    if (!test_is_to_do()) return;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 4; k++) {
            sample s = make_sample(test_cpu(1), all_dtypes[t], 90, 0.06, 12, 0);
            const trine_precond_options o = {.method = several[k], .m = 3};
            trine_precond on_cpu = new_plan(test_cpu(1), s.A, &o), p = new_plan(test_shared(2), s.A, &o);
            OK(trine_precond_numeric(on_cpu, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            for (int l = 0; l < 3; l++)
                assert_agree(on_cpu, p, test_shared(2), l, all_dtypes[t], trine_precond_method_name(several[k]));
            if (several[k] == TRINE_PRECOND_ALT_O) {
                void *x = test_to_device(test_shared(2), s.a, 90 * trine_dtype_size(s.t));
                const trine_dense X = {x, 90, 1, 90, TRINE_COLMAJOR};
                FAILS(TRINE_ERR_UNSUPPORTED, "parts", trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
                test_release(test_shared(2), x);
            }
            trine_precond_destroy(&on_cpu);
            trine_precond_destroy(&p);
            end_sample(&s);
        }
}

/** Pattern and values in the device's memory, rows and columns; then values that are others, with the forests kept and
 *  made anew. */
static void values_on_the_device(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    trine_context_info about;
    OK(trine_context_get_info(ctx, &about));
    for (int o = 0; o < METHODS; o++)
        for (int k = 0; k < 2; k++) {
            if (!test_is_to_do()) continue;
            const trine_dtype t = all_dtypes[(o + 2 * k) % 4];
            const int kind = methods[o].method == TRINE_PRECOND_IC0 ? HERMITIAN : SHUFFLED;
            sample s = make_sample(ctx, t, 75, 0.06, (uint64_t)(20 + o), kind | (k ? BY_COLUMNS : 0));
            trine_matrix there;
            OK(trine_matrix_copy(s.A, &there, about.space, k ? TRINE_CSC : TRINE_CSR, t));
            trine_precond on_cpu = new_plan(test_cpu(1), s.A, &methods[o]), p = new_plan(ctx, there, &methods[o]);
            const char *what = trine_precond_method_name(methods[o].method);
            OK(trine_precond_numeric(on_cpu, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            OK(trine_precond_numeric(p, about.space, NULL, TRINE_REUSE_FORESTS, NULL));
            assert_agree(on_cpu, p, ctx, -1, t, what);
            trine_matrix_destroy(&there); /* the plan has what it needs */
            const void *values;
            trine_matrix_info info;
            OK(trine_matrix_get_info(s.A, &info));
            OK(trine_matrix_get_arrays(s.A, NULL, NULL, &values));
            void *others = malloc((size_t)info.nnz * trine_dtype_size(t));
            for (int reuse = 0; reuse < 2; reuse++) {
                for (int64_t e = 0; e < info.nnz; e++) { /* dominant rows stay so, real diagonals real */
                    const wide a = get(t, values, e);
                    put(t, others, e, a * (cabsl(a) > 1.5L ? 2 : 1 - 0.2L * reuse));
                }
                void *moved = test_to_device(ctx, others, (size_t)info.nnz * trine_dtype_size(t));
                OK(trine_precond_numeric(on_cpu, TRINE_HOST, others, (trine_reuse)reuse, NULL));
                OK(trine_precond_numeric(p, about.space, moved, (trine_reuse)reuse, NULL));
                test_release(ctx, moved);
                assert_agree(on_cpu, p, ctx, -1, t, what);
            }
            free(others);
            trine_precond_destroy(&on_cpu);
            trine_precond_destroy(&p);
            end_sample(&s);
        }
}

/** The same bits each time, of plans that say so. */
static void bits(void **state)
{
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_shared(2);
    trine_matrix A;
    enum { N = 70 * 50 };
    double *b = malloc(N * sizeof *b), *x[2] = {calloc(N, sizeof **x), calloc(N, sizeof **x)};
    OK(trine_matrix_gallery(test_cpu(1), &A, "rotate7:nx=70,ny=50", TRINE_D));
    for (int i = 0; i < N; i++) b[i] = test_uniform(1, (uint64_t)i);
    for (int o = 0; o < METHODS; o++) {
        trine_precond_info info;
        if (methods[o].method == TRINE_PRECOND_IC0) continue;
        for (int k = 0; k < 2; k++) {
            trine_precond p = new_plan(ctx, A, &methods[o]);
            OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            run(p, ctx, NULL, TRINE_D, TRINE_N, &(form){1, N, TRINE_COLMAJOR, false}, b, x[k]);
            OK(trine_precond_get_info(p, &info));
            trine_precond_destroy(&p);
        }
        if (info.deterministic) assert_memory_equal(x[0], x[1], N * sizeof *b);
    }
    free(b), free(x[0]), free(x[1]);
    trine_matrix_destroy(&A);
}

/** T and two factors (Eq. 37), in the context's space. */
static void products(void **state)
{
    enum { N = 300 };
    (void)state;
    for (int t = 0; t < 4; t++) {
        if (!test_is_to_do()) continue;
        const trine_context contexts[] = {test_cpu(1), test_shared(2)};
        const trine_dtype type = all_dtypes[t];
        sample s = make_sample(test_cpu(1), type, N, 0.02, 31, 0);
        trine_precond products[2];
        char T[N * 16];
        for (int i = 0; i < N; i++) put(type, T, i, 2 + random_element(type, 9, (uint64_t)i));
        for (int k = 0; k < 2; k++) {
            trine_op factor[2];
            for (int l = 0; l < 2; l++) {
                trine_precond p =
                    new_plan(contexts[k], s.A,
                             &(trine_precond_options){.method = l ? TRINE_PRECOND_ALG_TRI : TRINE_PRECOND_TRIDIAG});
                OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
                OK(trine_precond_as_op(p, &factor[l]));
                trine_precond_destroy(&p);
            }
            void *there = test_to_device(contexts[k], T, N *trine_dtype_size(type));
            OK(trine_precond_product(contexts[k], &products[k], there, 2, factor, COLUMNS));
            if (test_on_gpu()) {
                trine_precond p;
                FAILS(TRINE_ERR_ARGUMENT, "device",
                      trine_precond_product(contexts[1 - k], &p, there, 2, factor, COLUMNS));
            }
            test_release(contexts[k], there);
            for (int l = 0; l < 2; l++) trine_op_destroy(&factor[l]);
        }
        assert_agree(products[0], products[1], contexts[1], -1, type, "product");
        for (int k = 0; k < 2; k++) trine_precond_destroy(&products[k]);
        end_sample(&s);
    }
}

/** A zero row and a NaN are told of, and gone with the next values. */
static void bad_values(void **state)
{
    static const trine_precond_method pivots[] = {TRINE_PRECOND_DIAGP0,  TRINE_PRECOND_L1,    TRINE_PRECOND_TRIDIAG,
                                                  TRINE_PRECOND_ALG_TRI, TRINE_PRECOND_ALT_I, TRINE_PRECOND_MOS_D,
                                                  TRINE_PRECOND_MOS_A,   TRINE_PRECOND_ILU0,  TRINE_PRECOND_ISAI};
    enum { N = 40 };
    (void)state;
    if (!test_is_to_do()) return;
    trine_context ctx = test_shared(2);
    for (size_t k = 0; k < sizeof pivots / sizeof *pivots; k++) {
        sample s = make_sample(test_cpu(1), TRINE_D, N, 0.1, 50, 0);
        const int64_t *offsets;
        const double *values;
        const char *name = trine_precond_method_name(pivots[k]);
        OK(trine_matrix_get_arrays(s.A, &offsets, NULL, (const void **)&values));
        double *bad = malloc((size_t)offsets[N] * sizeof *bad);
        trine_precond on_cpu = new_plan(test_cpu(1), s.A, &(trine_precond_options){.method = pivots[k], .m = 2}),
                      p = new_plan(ctx, s.A, &(trine_precond_options){.method = pivots[k], .m = 2});
        memcpy(bad, values, (size_t)offsets[N] * sizeof *bad);
        for (int64_t e = offsets[5]; e < offsets[6]; e++) bad[e] = 0;
        OK(trine_precond_numeric(p, TRINE_HOST, bad, TRINE_REUSE_NOTHING, NULL));
        FAILS(TRINE_ERR_SINGULAR, name, trine_precond_check(p, NULL));
        memcpy(bad, values, (size_t)offsets[N] * sizeof *bad);
        bad[offsets[7]] = k % 2 ? NAN : INFINITY;
        OK(trine_precond_numeric(p, TRINE_HOST, bad, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "row 7", trine_precond_check(p, NULL));
        OK(trine_precond_numeric(on_cpu, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
        OK(trine_precond_check(p, NULL));
        assert_agree(on_cpu, p, ctx, -1, TRINE_D, name);
        free(bad);
        trine_precond_destroy(&on_cpu);
        trine_precond_destroy(&p);
        end_sample(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_method_is_that_of_the_cpu),
                                       cmocka_unit_test(larger_matrices),
                                       cmocka_unit_test(incomplete_factors),
                                       cmocka_unit_test(dense_column),
                                       cmocka_unit_test(choices),
                                       cmocka_unit_test(bad_pivots),
                                       cmocka_unit_test(no_rows),
                                       cmocka_unit_test(factors_alone),
                                       cmocka_unit_test(values_on_the_device),
                                       cmocka_unit_test(bits),
                                       cmocka_unit_test(products),
                                       cmocka_unit_test(bad_values)};
    return TEST_MAIN(tests);
}
