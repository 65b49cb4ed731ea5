#include "supernodal_support.h"

#include "core/test_interface.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

factor make_factor(int m, const int *widths, int extra, bool closed, trine_diag diag, uint64_t seed)
{
    factor F = {.m = m, .diag = diag};
    F.first = calloc((size_t)m + 1, sizeof *F.first);
    F.row_offsets = calloc((size_t)m + 1, sizeof *F.row_offsets);
    F.value_offsets = calloc((size_t)m + 1, sizeof *F.value_offsets);
    for (int s = 0; s < m; s++) F.first[s + 1] = F.first[s] + widths[s];
    const int64_t n = F.n = F.first[m];
    char *has = calloc((size_t)(m * n) + 1, 1); /* has[s*n + i]: row i in panel s */
    uint64_t k = 0;
    for (int s = 0; s < m; s++) {
        char *mine = has + s * n;
        for (int32_t i = F.first[s]; i < F.first[s + 1]; i++) mine[i] = 1;
        const int64_t below = n - F.first[s + 1];
        for (int e = 0; e < extra && below > 0; e++)
            mine[F.first[s + 1] + (int64_t)(test_uniform(seed, k++) * (double)below)] = 1;
        int parent = -1;
        for (int64_t i = F.first[s + 1]; i < n && parent < 0; i++)
            if (mine[i])
                for (parent = s; F.first[parent + 1] <= i;) parent++;
        for (int64_t i = F.first[s + 1]; closed && parent >= 0 && i < n; i++) has[parent * n + i] |= mine[i];
        for (int64_t i = 0; i < n; i++) F.row_offsets[s + 1] += mine[i];
        F.row_offsets[s + 1] += F.row_offsets[s];
        F.value_offsets[s + 1] = F.value_offsets[s] + (F.row_offsets[s + 1] - F.row_offsets[s]) * widths[s];
    }
    F.rows = calloc((size_t)F.row_offsets[m] + 1, sizeof *F.rows);
    F.exact = calloc((size_t)F.value_offsets[m] + 1, sizeof *F.exact);
    int64_t at = 0;
    for (int s = 0; s < m; s++) {
        for (int32_t i = 0; i < n; i++)
            if (has[s * n + i]) F.rows[at++] = i;
        const int64_t h = F.row_offsets[s + 1] - F.row_offsets[s];
        for (int64_t c = 0; c < widths[s]; c++) {
            for (int64_t r = 0; r < h; r++) {
                double complex v =
                    (2 * test_uniform(seed, k) - 1 + (2 * test_uniform(seed, k + 1) - 1) * _Complex_I) / (double)h;
                if (r == c) v = (1 + test_uniform(seed, k)) * cexp(6.28 * _Complex_I * test_uniform(seed, k + 1));
                if (r < c || (r == c && diag == TRINE_UNIT)) v = NAN;
                k += 2;
                F.exact[F.value_offsets[s] + c * h + r] = v;
            }
        }
    }
    free(has);
    return F;
}

factor mixed_factor(trine_diag diag, bool closed)
{
    int widths[24];
    for (int s = 0; s < 24; s++) widths[s] = s < 16 ? 1 + 5 * s % 13 : 20 + 9 * (s - 16);
    return make_factor(24, widths, 6, closed, diag, 91);
}

void free_factor(factor *F)
{
    free(F->first);
    free(F->rows);
    free(F->row_offsets);
    free(F->value_offsets);
    free(F->exact);
    free(F->values);
}

void convert(factor *F, trine_dtype t)
{
    free(F->values);
    const int64_t count = F->value_offsets[F->m];
    F->values = calloc((size_t)count + 1, trine_dtype_size(t));
    F->dtype = t;
    for (int64_t i = 0; i < count; i++) put(t, F->values, i, F->exact[i]);
}

trine_panels panels_of(const factor *F)
{
    return (trine_panels){.n = F->n,
                          .n_panels = F->m,
                          .first_column = F->first,
                          .row_offsets = F->row_offsets,
                          .rows = F->rows,
                          .value_offsets = F->value_offsets,
                          .values = F->values,
                          .dtype = F->dtype,
                          .diag = F->diag};
}

static long double modulus(long double complex v)
{
    const long double re = creall(v), im = cimagl(v);
    return im == 0 ? fabsl(re) : sqrtl(re * re + im * im); /* entries are not near the ends of long double's range */
}
/** |v| up to a factor of sqrt(2), and cheap. */
static long double size(long double complex v) { return fabsl(creall(v)) + fabsl(cimagl(v)); }

/** y = op(L) x and z = |op(L)| |x| in long double. */
static void multiply(const factor *F, trine_transpose op, const long double complex *x, long double complex *y,
                     long double *z)
{
    const bool is_real = !is_complex(F->dtype);
    long double *sizes = calloc((size_t)F->n + 1, sizeof *sizes);
    for (int64_t i = 0; i < F->n; i++) y[i] = 0, z[i] = 0, sizes[i] = size(x[i]);
    for (int64_t s = 0; s < F->m; s++) {
        const int64_t h = F->row_offsets[s + 1] - F->row_offsets[s];
        for (int64_t c = 0; c < F->first[s + 1] - F->first[s]; c++) {
            for (int64_t r = c; r < h; r++) {
                const int64_t row = F->rows[F->row_offsets[s] + r], column = F->first[s] + c;
                long double complex v = get(F->dtype, F->values, F->value_offsets[s] + c * h + r);
                if (r == c && F->diag == TRINE_UNIT) v = 1;
                if (op == TRINE_H) v = conjl(v);
                const int64_t to = op == TRINE_N ? row : column, from = op == TRINE_N ? column : row;
                if (is_real) y[to] += creall(v) * creall(x[from]); /* imaginary parts are zeros */
                else y[to] += v * x[from];
                z[to] += size(v) * sizes[from];
            }
        }
    }
    free(sizes);
}

double complex right_hand_side(int64_t i, int64_t j)
{
    return 2 * test_uniform(77, (uint64_t)(2 * (i * 64 + j))) - 1 +
           (2 * test_uniform(77, (uint64_t)(2 * (i * 64 + j) + 1)) - 1) * _Complex_I;
}

void check_solution(const factor *F, trine_transpose op, const double *b, const double *x)
{
    long double complex *v = calloc((size_t)F->n + 1, sizeof *v), *y = calloc((size_t)F->n + 1, sizeof *y);
    long double *z = calloc((size_t)F->n + 1, sizeof *z);
    for (int64_t i = 0; i < F->n; i++) v[i] = x[i];
    multiply(F, op, v, y, z);
    for (int64_t i = 0; i < F->n; i++)
        if (!(cabsl(b[i] - y[i]) <= 8 * (long double)(F->n + 10) * DBL_EPSILON * (z[i] + fabsl(b[i])))) {
            print_error("row %lld, op %d: residual %Lg\n", (long long)i, op, cabsl(b[i] - y[i]));
            fail();
        }
    free(v);
    free(y);
    free(z);
}

double normwise_error(const factor *F, trine_transpose op, int64_t nrhs, bool single, const void *b, const void *x)
{
    const int64_t n = F->n;
    long double complex *v = calloc((size_t)n + 1, sizeof *v), *y = calloc((size_t)n + 1, sizeof *y);
    long double *z = calloc((size_t)n + 1, sizeof *z), norm = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) v[i] = 1;
    multiply(F, op, v, y, z);
    for (int64_t i = 0; i < n; i++) norm = fmaxl(norm, z[i]);
    for (int64_t j = 0; j < nrhs && worst == worst; j++) {
        long double most_x = 0, most_b = 0, most_r = 0;
        for (int64_t i = 0; i < n; i++) v[i] = get(F->dtype, x, i + j * n);
        multiply(F, op, v, y, z);
        for (int64_t i = 0; i < n && most_r == most_r; i++) {
            const long double r = size(get(F->dtype, b, i + j * n) - y[i]);
            if (!(r <= most_r)) most_r = r;
            most_x = fmaxl(most_x, size(v[i]));
            most_b = fmaxl(most_b, size(get(F->dtype, b, i + j * n)));
        }
        const long double error = most_r / (norm * most_x + most_b) / (single ? FLT_EPSILON : eps_of(F->dtype));
        if (!(error <= worst)) worst = error;
    }
    free(v);
    free(y);
    free(z);
    return (double)worst;
}

void apply(const factor *F, trine_transpose op, const void *x, void *b)
{
    long double complex *v = calloc((size_t)F->n + 1, sizeof *v), *y = calloc((size_t)F->n + 1, sizeof *y);
    long double *z = calloc((size_t)F->n + 1, sizeof *z);
    for (int64_t i = 0; i < F->n; i++) v[i] = get(F->dtype, x, i);
    multiply(F, op, v, y, z);
    for (int64_t i = 0; i < F->n; i++) put(F->dtype, b, i, (double complex)y[i]);
    free(v);
    free(y);
    free(z);
}

void reference_solve(const factor *F, trine_transpose op, void *x)
{
    static void (*const solve[])(const trine_panels *, trine_transpose,
                                 void *) = {[TRINE_S] = trine_supernodal_reference_s,
                                            [TRINE_D] = trine_supernodal_reference_d,
                                            [TRINE_C] = trine_supernodal_reference_c,
                                            [TRINE_Z] = trine_supernodal_reference_z};
    const trine_panels panels = panels_of(F);
    solve[F->dtype](&panels, op, x);
}

/** r := M^-1 r. */
static void solve_comparison(const factor *F, trine_transpose op, double *r)
{
    double *values = calloc((size_t)F->value_offsets[F->m] + 1, sizeof *values);
    for (int64_t s = 0; s < F->m; s++) {
        const int64_t begin = F->value_offsets[s], h = F->row_offsets[s + 1] - F->row_offsets[s],
                      w = F->first[s + 1] - F->first[s];
        for (int64_t k = 0; k < h * w; k++)
            values[begin + k] = (k % h == k / h ? 1 : -1) * (double)modulus(get(F->dtype, F->values, begin + k));
    }
    factor M = *F;
    M.values = values;
    M.dtype = TRINE_D;
    reference_solve(&M, op, r);
    free(values);
}

/** |x - y| <= 2 M^-1 r with op(L) y = b; y: b. */
static void check_against_reference(const factor *F, trine_transpose op, const long double complex *x, void *y,
                                    double *r)
{
    reference_solve(F, op, y);
    solve_comparison(F, op, r);
    for (int64_t i = 0; i < F->n; i++)
        if (!(modulus(x[i] - get(F->dtype, y, i)) <= 2 * r[i])) {
            print_error("row %lld, op %d, dtype %d: %Lg from the reference's solution, allowed %g\n", (long long)i, op,
                        F->dtype, cabsl(x[i] - get(F->dtype, y, i)), 2 * r[i]);
            fail();
        }
}

void check_solve(trine_context ctx, trine_supernodal plan, const factor *F, const solve_case *k, const trine_exec *exec)
{
    const int64_t n = F->n;
    const size_t bytes = trine_dtype_size(F->dtype);
    const int64_t ldb = (k->layout_b == TRINE_COLMAJOR ? n : k->nrhs) + 3,
                  ldx = k->in_place ? ldb : (k->layout_x == TRINE_COLMAJOR ? n : k->nrhs) + 1;
    const trine_layout layout_x = k->in_place ? k->layout_b : k->layout_x;
    const int64_t count_b = ldb * (k->layout_b == TRINE_COLMAJOR ? k->nrhs : n),
                  count_x = ldx * (layout_x == TRINE_COLMAJOR ? k->nrhs : n);
    const double complex scale =
        k->scaled ? (F->dtype == TRINE_C || F->dtype == TRINE_Z ? 0.5 - 2 * _Complex_I : -1.5) : 1;
    char *b = calloc((size_t)count_b + 1, bytes), *x = calloc((size_t)count_x + 1, bytes), alpha[16];
    put(F->dtype, alpha, 0, scale);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k->nrhs; j++)
            put(F->dtype, b, k->layout_b == TRINE_COLMAJOR ? i + j * ldb : i * ldb + j, right_hand_side(i, j));
    void *db = test_to_device(ctx, b, (size_t)count_b * bytes),
         *dx = k->in_place ? db : test_to_device(ctx, x, (size_t)count_x * bytes);
    const trine_dense B = {db, n, k->nrhs, ldb, k->layout_b}, X = {dx, n, k->nrhs, ldx, layout_x};
    OK(trine_supernodal_solve(plan, k->op, k->scaled ? alpha : NULL, &B, &X, exec));
    test_from_device(ctx, x, dx, (size_t)count_x * bytes);

    const long double eps = k->single ? FLT_EPSILON : eps_of(F->dtype);
    long double complex *v = calloc((size_t)n + 1, sizeof *v), *y = calloc((size_t)n + 1, sizeof *y);
    long double *z = calloc((size_t)n + 1, sizeof *z);
    char *rights = calloc((size_t)n + 1, bytes);
    double *bounds = calloc((size_t)n + 1, sizeof *bounds);
    for (int64_t j = 0; j < k->nrhs; j++) {
        for (int64_t i = 0; i < n; i++) v[i] = get(F->dtype, x, layout_x == TRINE_COLMAJOR ? i + j * ldx : i * ldx + j);
        multiply(F, k->op, v, y, z);
        for (int64_t i = 0; i < n; i++) {
            const long double complex right =
                (long double complex)scale *
                get(F->dtype, b, k->layout_b == TRINE_COLMAJOR ? i + j * ldb : i * ldb + j);
            const long double error = modulus(right - y[i]),
                              bound = 8 * (long double)(n + 10) * eps * (z[i] + size(right));
            put(F->dtype, rights, i, (double complex)right);
            bounds[i] = (double)bound;
            if (!(error <= bound)) {
                print_error(
                    "row %lld, right-hand side %lld of %lld, op %d, dtype %d, n %lld: residual %Lg, bound %Lg\n",
                    (long long)i, (long long)j, (long long)k->nrhs, k->op, F->dtype, (long long)n, error, bound);
                fail();
            }
        }
        check_against_reference(F, k->op, v, rights, bounds);
    }
    free(rights);
    free(bounds);
    free(v);
    free(y);
    free(z);
    free(b);
    free(x);
    if (!k->in_place) test_release(ctx, dx);
    test_release(ctx, db);
}

void numeric(trine_supernodal plan, const factor *F)
{
    OK(trine_supernodal_numeric(plan, TRINE_HOST, F->values, NULL));
}

scene open_scene(factor F)
{
    convert(&F, TRINE_D);
    return (scene){.ctx = test_context(), .F = F, .panels = panels_of(&F)};
}

scene small_scene(void)
{
    const int widths[] = {2, 3, 1, 4};
    return open_scene(make_factor(4, widths, 2, true, TRINE_NONUNIT, 3));
}

scene mixed_scene(void) { return open_scene(mixed_factor(TRINE_NONUNIT, true)); }

void set_plan(scene *s, const trine_supernodal_options *options)
{
    trine_supernodal_destroy(&s->plan);
    OK(trine_supernodal_analyse(s->ctx, &s->plan, &s->panels, options));
    numeric(s->plan, &s->F);
}

void close_scene(scene *s)
{
    trine_supernodal_destroy(&s->plan);
    free_factor(&s->F);
    trine_context_destroy(&s->ctx);
}

void check_reproducible(const scene *s, trine_transpose op, int64_t most)
{
    const int64_t n = s->F.n;
    const size_t bytes = (size_t)(n * most) * sizeof(double);
    double *b = calloc(1, bytes), *once = malloc(bytes), *again = malloc(bytes);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < most; j++) b[i + j * n] = creal(right_hand_side(i, j));
    void *db = test_to_device(s->ctx, b, bytes), *dx = test_to_device(s->ctx, b, bytes);
    for (int64_t columns = 1; columns <= most; columns += most > 1 ? most - 1 : 1) {
        const trine_dense B = {.data = db, .rows = n, .cols = columns}, X = {.data = dx, .rows = n, .cols = columns};
        for (int round = 0; round < 10; round++) {
            OK(trine_supernodal_solve(s->plan, op, NULL, &B, &X, NULL));
            test_from_device(s->ctx, round ? again : once, dx, (size_t)(n * columns) * sizeof(double));
            if (round) assert_memory_equal(once, again, (size_t)(n * columns) * sizeof(double));
        }
    }
    test_release(s->ctx, db);
    test_release(s->ctx, dx);
    free(b);
    free(once);
    free(again);
}

void fail_every_allocation(const factor *F, const trine_supernodal_options *options,
                           void (*limit)(trine_context ctx, test_memory *memory))
{
    const trine_panels panels = panels_of(F);
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        assert_true(k < 300);
        test_memory memory = {.fail_at = k};
        trine_context ctx = test_context();
        limit(ctx, &memory);
        trine_supernodal plan = NULL;
        trine_work work = NULL;
        trine_status status = trine_supernodal_analyse(ctx, &plan, &panels, options);
        if (status == TRINE_SUCCESS) status = trine_supernodal_numeric(plan, TRINE_HOST, F->values, NULL);
        if (status == TRINE_SUCCESS) status = trine_supernodal_work(plan, 3, NULL, NULL, &work);
        done = status == TRINE_SUCCESS;
        if (!done) assert_int_equal(status, TRINE_ERR_MEMORY);
        trine_work_destroy(&work);
        trine_supernodal_destroy(&plan);
        assert_int_equal(memory.live, 0);
        trine_context_destroy(&ctx);
    }
}
