/* Bands with kl unlike ku, with and without a diagonal, scaled to the ends of the range: the family `band` of
 * ../shared/numerics/adversary.py. Judged by the componentwise backward error after one step of refinement, beside
 * LAPACK's. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banded_support.h"

#define LAPACK(name, type)                                                                                            \
    void name##gbtrf_(const int *m, const int *n, const int *kl, const int *ku, type *ab, const int *ldab, int *ipiv, \
                      int *info);                                                                                     \
    void name##gbtrs_(const char *trans, const int *n, const int *kl, const int *ku, const int *nrhs, const type *ab, \
                      const int *ldab, const int *ipiv, type *b, const int *ldb, int *info, size_t length);
LAPACK(s, float)
LAPACK(d, double)
LAPACK(c, float complex)
LAPACK(z, double complex)

/* ------------------------------------------------------------------- systems */

enum { MOST_BANDS = 4 };
static const int64_t sizes[] = {5, 16, 100, 300, 1020};
enum { SIZES = 5 };
static int seeds(void) { return test_is_reduced() ? 1 : 20; }

static int is_single(trine_dtype t) { return eps_of(t) > 1e-10; }
static void put_zero(linear_system *s, int64_t row, int k) { put(s->t, s->matrix, element_of_band(s, row, k), 0); }

static double solution(uint64_t seed, int64_t i) { return 1 + test_uniform(900000 + seed, (uint64_t)i); }
/** U(-1,1) on every band, the diagonal zero if asked; D = A x in the precision of s, x = 1 + U(0,1). */
static linear_system new_family(trine_dtype t, int64_t n, int kl, int ku, bool zero_diagonal, uint64_t seed,
                                trine_gtsv_options options)
{
    linear_system s = new_bands(t, n, kl, ku, 1, options);
    fill_system(&s, 8000 + seed, 0);
    for (int k = -kl; k <= ku; k++)
        for (int64_t i = 0; i < n; i++)
            if (i + k < 0 || i + k >= n || (k == 0 && zero_diagonal)) put_zero(&s, i, k);
    for (int64_t i = 0; i < n; i++) {
        wide sum = 0;
        for (int k = -kl; k <= ku; k++)
            if (i + k >= 0 && i + k < n) sum += get(t, s.matrix, element_of_band(&s, i, k)) * solution(seed, i + k);
        put(t, s.D, i, sum);
    }
    return s;
}
/** Row i of s, its right-hand side included, times 2^exponent(i). */
static void scale_rows(linear_system *s, int (*exponent)(trine_dtype t, int64_t row))
{
    for (int64_t i = 0; i < s->n; i++) {
        const long double scale = ldexpl(1, exponent(s->t, i));
        for (int k = -s->kl; k <= s->ku; k++)
            put(s->t, s->matrix, element_of_band(s, i, k), scale * get(s->t, s->matrix, element_of_band(s, i, k)));
        put(s->t, s->D, i, scale * get(s->t, s->D, i));
    }
}

/* -------------------------------------------------------------------- LAPACK */

static int factor_by_lapack(const linear_system *s, void *ab, int *pivots)
{
    const int n = (int)s->n, ld = 2 * s->kl + s->ku + 1;
    int info = 0;
    for (int64_t i = 0; i < s->n; i++)
        for (int k = -s->kl; k <= s->ku; k++)
            if (i + k >= 0 && i + k < s->n)
                put(s->t, ab, (i + k) * ld + s->kl + s->ku - k, get(s->t, s->matrix, element_of_band(s, i, k)));
    switch (s->t) {
    case TRINE_S: sgbtrf_(&n, &n, &s->kl, &s->ku, ab, &ld, pivots, &info); break;
    case TRINE_D: dgbtrf_(&n, &n, &s->kl, &s->ku, ab, &ld, pivots, &info); break;
    case TRINE_C: cgbtrf_(&n, &n, &s->kl, &s->ku, ab, &ld, pivots, &info); break;
    default: zgbtrf_(&n, &n, &s->kl, &s->ku, ab, &ld, pivots, &info);
    }
    return info;
}
static void solve_by_lapack(const linear_system *s, const void *ab, const int *pivots, void *x)
{
    const int n = (int)s->n, ld = 2 * s->kl + s->ku + 1, one = 1;
    int info;
    switch (s->t) {
    case TRINE_S: sgbtrs_("N", &n, &s->kl, &s->ku, &one, ab, &ld, pivots, x, &n, &info, 1); break;
    case TRINE_D: dgbtrs_("N", &n, &s->kl, &s->ku, &one, ab, &ld, pivots, x, &n, &info, 1); break;
    case TRINE_C: cgbtrs_("N", &n, &s->kl, &s->ku, &one, ab, &ld, pivots, x, &n, &info, 1); break;
    default: zgbtrs_("N", &n, &s->kl, &s->ku, &one, ab, &ld, pivots, x, &n, &info, 1);
    }
}
/** LAPACK's backward error after one step of refinement, its residual rounded after every operation; infinite where
 *  it finds s singular. */
static double lapack_error(const linear_system *s)
{
    const size_t size = trine_dtype_size(s->t), ld = (size_t)(2 * s->kl + s->ku + 1);
    linear_system solved = *s;
    void *ab = calloc((size_t)s->n * ld, size), *x = calloc((size_t)s->n, size), *r = calloc((size_t)s->n, size);
    int *pivots = calloc((size_t)s->n, sizeof *pivots);
    double error = INFINITY;
    if (!factor_by_lapack(s, ab, pivots)) {
        memcpy(x, s->D, (size_t)s->n * size);
        memcpy(r, s->D, (size_t)s->n * size);
        solve_by_lapack(s, ab, pivots, x);
        for (int64_t i = 0; i < s->n; i++)
            for (int k = -s->kl; k <= s->ku; k++) {
                if (i + k < 0 || i + k >= s->n) continue;
                const wide before = get(s->t, r, i);
                put(s->t, r, i, get(s->t, s->matrix, element_of_band(s, i, k)) * get(s->t, x, i + k));
                put(s->t, r, i, before - get(s->t, r, i));
            }
        solve_by_lapack(s, ab, pivots, r);
        for (int64_t i = 0; i < s->n; i++) put(s->t, x, i, get(s->t, x, i) + get(s->t, r, i));
        solved.X = x;
        error = backward_error(&solved, s->D);
    }
    free(ab), free(x), free(r), free(pivots);
    return error;
}

/* --------------------------------------------------------------------- tests */

/** call(s) for each shape, size and seed of a precision. */
static void for_each_family(trine_dtype t, trine_gtsv_options options, int count, void (*call)(void *, linear_system *),
                            void *argument)
{
    for (int kl = 0; kl <= MOST_BANDS; kl++)
        for (int ku = 0; ku <= MOST_BANDS; ku++)
            for (int zero = 0; zero <= (kl > 0 && ku > 0); zero++)
                for (int k = 0; k < SIZES; k++) {
                    /* trine_gtsv's there, which takes rows as they are */
                    if (test_on_gpu() && kl == 1 && ku == 1 && !options.refine) continue;
                    if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
                    for (int seed = 1; seed <= (sizes[k] > 300 ? (count + 3) / 4 : count); seed++) {
                        const uint64_t number = (uint64_t)(seed + 100 * (zero + 2 * (ku + 5 * kl)));
                        linear_system s = new_family(t, sizes[k], kl, ku, zero, number, options);
                        call(argument, &s);
                        free_system(&s);
                    }
                }
}

typedef struct {
    int taken, wrong, singular;
    double worst;
} outcome;

static void compare_one(void *argument, linear_system *s)
{
    outcome *o = argument;
    if (!(lapack_error(s) <= 50 * eps_of(s->t))) return;
    const trine_status status = solve_system(s);
    const double error = status ? INFINITY : backward_error(s, s->D) / eps_of(s->t);
    o->taken++;
    o->singular += status != TRINE_SUCCESS;
    if (!(error <= 50) && o->wrong++ < 5)
        print_error("dtype %d, n %lld, kl %d, ku %d, diagonal of row 1 %g: %s, backward error %.3g eps\n", (int)s->t,
                    (long long)s->n, s->kl, s->ku, (double)creall(get(s->t, s->matrix, element_of_band(s, 1, 0))),
                    trine_status_string(status), error);
    if (!(error <= o->worst)) o->worst = error;
}
static void one_step_of_refinement_leaves_what_lapack_s_leaves(void **state)
{
    (void)state;
    int wrong = 0;
    for (int d = 0; d < 4; d++) {
        outcome o = {0};
        for_each_family(all_dtypes[d], (trine_gtsv_options){.refine = 1}, seeds(), compare_one, &o);
        if (o.wrong || getenv("TRINE_TEST_VERBOSE"))
            print_message("dtype %d: %d of %d wrong, %d of them called singular; worst %.3g eps\n", (int)all_dtypes[d],
                          o.wrong, o.taken, o.singular, o.worst);
        wrong += o.wrong;
    }
    assert_int_equal(wrong, 0);
}

/** Well conditioned, its unknowns so large that what rows bring to them leaves the range when these are taken times
 *  powers of two. */
static linear_system new_largest(trine_dtype t, int64_t n, int kl, int ku)
{
    linear_system s = new_family(t, n, kl, ku, false, 1, (trine_gtsv_options){.refine = 1});
    const long double most = (is_single(t) ? FLT_MAX : DBL_MAX) * (is_complex(t) ? 0.4L : 0.9L);
    for (int k = -kl; k <= ku; k++)
        for (int64_t i = 0; i < n; i++) {
            const size_t at = element_of_band(&s, i, k);
            put(t, s.matrix, at, (k == 0 ? 1 : 0) + get(t, s.matrix, at) / 16);
        }
    for (int64_t i = 0; i < n; i++) {
        wide sum = 0;
        for (int k = -kl; k <= ku; k++)
            if (i + k >= 0 && i + k < n)
                sum += get(t, s.matrix, element_of_band(&s, i, k)) * (solution(1, i + k) - 0.5L) * (most / 3);
        put(t, s.D, i, sum);
    }
    return s;
}
/** Beside it a system whose solution grows that far: C, 1e38. */
static void solutions_may_come_near_the_end_of_the_range(void **state)
{
    (void)state;
    outcome o = {0};
    int count = 0;
    for (int d = 0; d < 4; d++)
        for (int kl = 0; kl <= MOST_BANDS; kl++)
            for (int ku = 0; ku <= MOST_BANDS; ku++)
                for (int64_t n = 5; n <= 300; n *= 60) {
                    if (!test_is_small(n) || !test_is_to_do()) continue;
                    linear_system s = new_largest(all_dtypes[d], n, kl, ku);
                    compare_one(&o, &s);
                    free_system(&s);
                    count++;
                }
    assert_int_equal(o.taken, count);
    linear_system grown = new_family(TRINE_C, 300, 0, 3, false, 5615, (trine_gtsv_options){.refine = 1});
    compare_one(&o, &grown);
    free_system(&grown);
    assert_int_equal(o.wrong, 0);
}

static void scale_column(linear_system *s, int64_t column, int exponent)
{
    for (int k = -s->kl; k <= s->ku; k++) {
        const int64_t i = column - k;
        if (i < 0 || i >= s->n) continue;
        const size_t at = element_of_band(s, i, k);
        put(s->t, s->matrix, at, ldexpl(1, exponent) * get(s->t, s->matrix, at));
    }
}
/** One column, the unknown of which has a unit of its own. Solutions of longer systems grow or fade so much that the
 *  range of single precision does not hold them as well. */
static void compare_columns(void *argument, linear_system *s)
{
    if (s->n > 100) return;
    const int exponent = eps_of(s->t) > 1e-10 ? 90 : 900;
    scale_column(s, s->n / 3, exponent);
    compare_one(argument, s);
    scale_column(s, s->n / 3, -2 * exponent);
    compare_one(argument, s);
}
static void a_column_may_have_any_scale(void **state)
{
    (void)state;
    outcome o = {0};
    for (int d = 0; d < 4; d++)
        for_each_family(all_dtypes[d], (trine_gtsv_options){.refine = 1}, seeds(), compare_columns, &o);
    if (o.wrong || getenv("TRINE_TEST_VERBOSE"))
        print_message("%d of %d wrong, worst %.3g eps\n", o.wrong, o.taken, o.worst);
    assert_int_equal(o.wrong, 0);
}

static int small(trine_dtype t, int64_t row) { return (void)row, is_single(t) ? -100 : -990; }
static int large(trine_dtype t, int64_t row) { return (void)row, is_single(t) ? 100 : 900; }
static int by_row(trine_dtype t, int64_t row)
{
    return (is_single(t) ? 1 : 9) * ((int)(200 * test_uniform(17, (uint64_t)row)) - 100);
}

typedef struct { int solved, wrong; } scaling;
static void compare_scaled(void *argument, linear_system *s)
{
    int (*const exponents[])(trine_dtype, int64_t) = {small, large, by_row};
    const size_t size = trine_dtype_size(s->t), bytes = (size_t)s->n * size;
    void *matrix = malloc(s->matrix_elements * size), *d = malloc(bytes), *x = malloc(bytes);
    scaling *o = argument;
    memcpy(matrix, s->matrix, s->matrix_elements * size), memcpy(d, s->D, bytes);
    const trine_status status = solve_system(s);
    memcpy(x, s->X, bytes);
    for (int k = 0; k < 3; k++) {
        memcpy(s->matrix, matrix, s->matrix_elements * size), memcpy(s->D, d, bytes);
        scale_rows(s, exponents[k]);
        const trine_status scaled = solve_system(s);
        const bool same = scaled == status && memcmp(x, s->X, bytes) == 0;
        o->solved++;
        if (!same && o->wrong++ < 5)
            print_error(
                "dtype %d, n %lld, kl %d, ku %d, refine %d, scaled in way %d: %s instead of %s, x[0] %.17g instead of %.17g\n",
                (int)s->t, (long long)s->n, s->kl, s->ku, s->options.refine, k, trine_status_string(scaled),
                trine_status_string(status), (double)creall(get(s->t, s->X, 0)), (double)creall(get(s->t, x, 0)));
    }
    free(matrix), free(d), free(x);
}
static void powers_of_two_change_no_bit(void **state)
{
    (void)state;
    int wrong = 0;
    for (int d = 0; d < 4; d++)
        for (int refine = 0; refine <= 1; refine++) {
            scaling o = {0};
            for_each_family(all_dtypes[d], (trine_gtsv_options){.refine = refine}, 2, compare_scaled, &o);
            if (o.wrong || getenv("TRINE_TEST_VERBOSE"))
                print_message("dtype %d, refine %d: %d of %d differ\n", (int)all_dtypes[d], refine, o.wrong, o.solved);
            wrong += o.wrong;
        }
    assert_int_equal(wrong, 0);
}

/** Columns of zeros, in systems that are scaled to the lower end of the range. */
static void a_column_of_zeros_is_named(void **state)
{
    (void)state;
    static const int64_t where[] = {0, 7, 151, 299};
    for (int d = 0; d < 4; d++)
        for (int kl = 0; kl <= MOST_BANDS; kl++)
            for (int ku = 0; ku <= MOST_BANDS; ku++)
                for (int k = 0; k < 4; k++)
                    for (int refine = 0; refine <= 1; refine++) {
                        char sentence[64];
                        if (!test_is_to_do()) continue;
                        linear_system s =
                            new_family(all_dtypes[d], 300, kl, ku, false, 1, (trine_gtsv_options){.refine = refine});
                        for (int b = -kl; b <= ku; b++)
                            if (where[k] - b >= 0 && where[k] - b < s.n) put_zero(&s, where[k] - b, b);
                        scale_rows(&s, small);
                        snprintf(sentence, sizeof sentence, "the pivot in row %d is exactly zero", (int)where[k]);
                        if (test_on_gpu()) OK(solve_system(&s));
                        else FAILS(TRINE_ERR_SINGULAR, sentence, solve_system(&s));
                        free_system(&s);
                    }
}

static void nan_flows_through_refinement(void **state)
{
    (void)state;
    for (int kl = 0; kl <= MOST_BANDS; kl++)
        check_nan(new_bands(TRINE_D, 1000, kl, 2, 2, (trine_gtsv_options){.refine = 1}));
}

/** Numbers that all are finite, of which the second right-hand side's solution is beyond the range. */
static void check_overflow(linear_system s)
{
    const int exponent = eps_of(s.t) > 1e-10 ? 100 : 900;
    fill_system(&s, 77, 9);
    for (size_t i = 0; i < s.matrix_elements; i++)
        put(s.t, s.matrix, (int64_t)i, ldexpl(1, -exponent) * get(s.t, s.matrix, (int64_t)i));
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t c = 0; c < 2; c++)
            put(s.t, s.D, i + c * s.ldd, ldexpl(1, c ? exponent : -exponent) * get(s.t, s.D, i + c * s.ldd));
    for (int in_place = 0; in_place < 2; in_place++) {
        linear_system solved = s;
        if (in_place) solved.X = s.D, solved.ldx = s.ldd;
        if (test_on_gpu()) OK(solve_system(&solved));
        else FAILS(TRINE_ERR_SINGULAR, "of right-hand side 1 is not finite", solve_system(&solved));
    }
    free_system(&s);
}
static linear_system factored_first(linear_system s) { return s.factor_first = true, s; }
static void a_solution_beyond_the_range_is_no_success(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int refine = 0; refine < 2; refine++) {
            const trine_gtsv_options o = {.refine = refine};
            if (!test_is_to_do()) continue;
            check_overflow(new_tridiagonal(all_dtypes[d], 20, 2, o));
            check_overflow(new_tridiagonal(all_dtypes[d], 3000, 2, o));
            check_overflow(new_blocks(all_dtypes[d], 300, 3, 2, o));
            if (!refine) check_overflow(factored_first(new_blocks(all_dtypes[d], 300, 3, 2, o)));
            check_overflow(new_bands(all_dtypes[d], 30, 1, 1, 2, o));
            check_overflow(new_bands(all_dtypes[d], 900, 3, 1, 2, o));
            check_overflow(new_bands(all_dtypes[d], 900, 2, 2, 2, (trine_gtsv_options){.refine = refine, .cyclic = 1}));
        }
}

/** What is not finite in the matrix, or in its corners that are not read, makes no status. */
/** Cyclic bands of Wilkinson's kind: -1 below a diagonal of ones, and ones here and there above it. Pivots double from
 *  row to row of a partition, and short partitions leave what refinement mends. */
static void partitions_do_not_let_pivots_grow(void **state)
{
    (void)state;
    if (test_on_gpu()) skip(); /* with partitions of its own */
    for (int is_double = 0; is_double < 2; is_double++)
        for (uint64_t seed = 0; seed < (test_is_reduced() ? 4 : 40); seed++) {
            const trine_dtype t = is_double ? TRINE_D : TRINE_S;
            const int w = 1 + (int)(8 * test_uniform(seed, 0));
            const int64_t n = 64 + (int64_t)(500 * test_uniform(seed, 1));
            linear_system s = new_bands(t, n, w, w, 1, (trine_gtsv_options){.refine = 1, .cyclic = 1});
            const double often = seed % 3 ? 0.2 : 0.02;
            uint64_t count = 2;
            for (int64_t i = 0; i < n; i++) {
                for (int k = -w; k <= w; k++) {
                    const double noise = 1e-3 * test_uniform(seed, count++), u = test_uniform(seed, count++);
                    put(t, s.matrix, element_of_band(&s, i, k),
                        k < 0                 ? noise - 1
                        : k == 0 || u < often ? 1 + noise
                                              : 0);
                }
                put(t, s.D, i, 2 * test_uniform(seed, count++) - 1);
            }
            OK(solve_system(&s));
            assert_true(backward_error(&s, s.D) <= 50 * eps_of(t));
            free_system(&s);
        }
}

/** Columns so far apart that a row times its power of two would lose the smaller ones: no column is without a pivot. */
static void columns_far_apart_are_not_singular(void **state)
{
    (void)state;
    if (test_on_gpu()) skip(); /* which has no status */
    for (int d = 0; d < 4; d++)
        for (int how = 0; how < 8; how++) {
            const trine_dtype t = all_dtypes[d];
            const int64_t n = 120;
            const trine_gtsv_options o = {.cyclic = how & 1, .refine = how >> 1 & 1};
            linear_system s = how & 4 ? new_blocks(t, n / 2, 2, 1, o) : new_bands(t, n, 2, 1, 1, o);
            fill_system(&s, 300 + (uint64_t)how, 4);
            linear_system far = how & 4 ? new_blocks(t, n / 2, 2, 1, o) : new_bands(t, n, 2, 1, 1, o);
            const int size = is_single(t) ? 96 : 900; /* powers of two */
            for (int64_t i = 0; i < n; i++) put(t, far.D, i, get(t, s.D, i));
            for (int64_t i = 0; i < (int64_t)s.matrix_elements; i++) {
                /* the parity of an element's column */
                const int64_t column = how & 4 ? i / 2 : i % n + i / n;
                put(t, far.matrix, i, get(t, s.matrix, i) * ldexpl(1, column % 2 ? size : -size));
            }
            OK(solve_system(&s));
            OK(solve_system(&far));
            for (int64_t i = 0; i < n; i++) {
                const wide x = get(t, far.X, i) * ldexpl(1, i % 2 ? size : -size), difference = x - get(t, s.X, i);
                assert_true(cabsl(difference) < 1000 * eps_of(t));
            }
            free_system(&far);
            free_system(&s);
        }
}

static void a_factorization_knows_whether_its_matrix_was_finite(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int cyclic = 0; cyclic < 2; cyclic++)
            for (int where = 0; where < 2; where++) {
                const trine_gtsv_options o = {.cyclic = cyclic, .op = d % 2 ? TRINE_T : TRINE_N};
                linear_system s = factored_first(new_blocks(all_dtypes[d], 40, 2, 2, o));
                fill_system(&s, 78, 6);
                poison_outside(&s);
                if (where) put(s.t, s.matrix, element_of_block(&s, 20, 0, 1, 1), NAN);
                OK(solve_system(&s));
                assert_int_equal(isnan((double)creall(get(s.t, s.X, 40))), where);
                for (int64_t i = 0; i < s.n; i++) /* of which the second is beyond the range now */
                    put(s.t, s.D, i + s.ldd, (is_single(s.t) ? FLT_MAX : DBL_MAX) * (i % 2 ? -0.9L : 0.9L));
                for (size_t i = 0; i < s.matrix_elements; i++)
                    put(s.t, s.matrix, (int64_t)i, get(s.t, s.matrix, (int64_t)i) / 64);
                if (test_on_gpu() || where) OK(solve_system(&s));
                else FAILS(TRINE_ERR_SINGULAR, "of right-hand side 1 is not finite", solve_system(&s));
                free_system(&s);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_of_refinement_leaves_what_lapack_s_leaves),
        cmocka_unit_test(solutions_may_come_near_the_end_of_the_range),
        cmocka_unit_test(a_column_may_have_any_scale),
        cmocka_unit_test(powers_of_two_change_no_bit),
        cmocka_unit_test(a_column_of_zeros_is_named),
        cmocka_unit_test(nan_flows_through_refinement),
        cmocka_unit_test(a_solution_beyond_the_range_is_no_success),
        cmocka_unit_test(partitions_do_not_let_pivots_grow),
        cmocka_unit_test(columns_far_apart_are_not_singular),
        cmocka_unit_test(a_factorization_knows_whether_its_matrix_was_finite),
    };
    return TEST_MAIN(tests);
}
