/* The certified one-pass solve: as good as LAPACK where it applies, and where it does not, for whatever reason. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thesis_matrices.h"

void dgtsv_(const int *n, const int *nrhs, double *dl, double *d, double *du, double *b, const int *ldb, int *info);

/** A system in double whose numbers dtype t can hold, the solution that is known of it or an oracle's, and trine's. */
struct system {
    trine_dtype t;
    int64_t n;
    double *a, *b, *c, *d, *known, *x;
};

static double eps_of(trine_dtype t) { return t == TRINE_S ? 0x1p-23 : 0x1p-52; }
static double rounded(trine_dtype t, double v) { return t == TRINE_S ? (double)(float)v : v; }

static struct system open_system(trine_dtype t, int64_t n)
{
    struct system s = {.t = t, .n = n};
    double **const all[] = {&s.a, &s.b, &s.c, &s.d, &s.known, &s.x};
    for (int k = 0; k < 6; k++) *all[k] = calloc((size_t)n, sizeof(double));
    return s;
}
static void close_system(struct system *s)
{
    free(s->a), free(s->b), free(s->c), free(s->d), free(s->known), free(s->x);
}

static void *to_device(trine_context ctx, const struct system *s, const double *v)
{
    if (s->t == TRINE_D) return test_to_device(ctx, v, (size_t)s->n * sizeof(double));
    float *narrow = malloc((size_t)s->n * sizeof(float));
    for (int64_t i = 0; i < s->n; i++) narrow[i] = (float)v[i];
    void *there = test_to_device(ctx, narrow, (size_t)s->n * sizeof(float));
    free(narrow);
    return there;
}

/** in_place: X is D. */
static void solve(struct system *s, trine_gtsv_options options, bool in_place)
{
    trine_context ctx = test_context();
    const size_t bytes = (size_t)s->n * trine_dtype_size(s->t);
    size_t work_bytes;
    void *a = to_device(ctx, s, s->a), *b = to_device(ctx, s, s->b), *c = to_device(ctx, s, s->c),
         *d = to_device(ctx, s, s->d), *x = in_place ? d : to_device(ctx, s, s->x);
    void *work, *host = malloc(bytes);
    OK(trine_gtsv_work_size(ctx, s->t, s->n, 1, &options, &work_bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, work_bytes, &work));
    OK(trine_gtsv(ctx, s->t, s->n, 1, &options, a, b, c, d, s->n, x, s->n, work, work_bytes, NULL));
    test_from_device(ctx, host, x, bytes);
    for (int64_t i = 0; i < s->n; i++) s->x[i] = s->t == TRINE_D ? ((double *)host)[i] : (double)((float *)host)[i];
    if (!in_place) test_release(ctx, d);
    test_release(ctx, a), test_release(ctx, b), test_release(ctx, c), test_release(ctx, x), test_release(ctx, work);
    free(host);
    OK(trine_context_destroy(&ctx));
}

static void multiply(struct system *s)
{
    for (int64_t i = 0; i < s->n; i++)
        s->d[i] = (i > 0 ? s->a[i] * s->known[i - 1] : 0) + s->b[i] * s->known[i] +
                  (i < s->n - 1 ? s->c[i] * s->known[i + 1] : 0);
}
static double forward_error(const struct system *s, const double *x)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < s->n; i++)
        difference += (x[i] - s->known[i]) * (x[i] - s->known[i]), size += s->known[i] * s->known[i];
    return sqrt(difference / size);
}
/** The largest |d - A x| / (|A||x| + |d|) */
static double backward_error(const struct system *s)
{
    long double worst = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const long double left = i > 0 ? (long double)s->a[i] * s->x[i - 1] : 0, own = (long double)s->b[i] * s->x[i],
                          right = i < s->n - 1 ? (long double)s->c[i] * s->x[i + 1] : 0,
                          size = fabsl(s->d[i]) + fabsl(left) + fabsl(own) + fabsl(right);
        const long double error = size > 0 ? fabsl(s->d[i] - left - own - right) / size : 0;
        if (!(error <= worst)) worst = error;
    }
    return (double)worst;
}
/** The solution by LAPACK, NULL if it finds a zero pivot. */
static double *solve_by_lapack(const struct system *s)
{
    const int n = (int)s->n, one = 1;
    const size_t bytes = (size_t)n * sizeof(double);
    int info;
    double *l = malloc(bytes), *d = malloc(bytes), *u = malloc(bytes), *x = malloc(bytes);
    memcpy(l, s->a + 1, bytes - sizeof(double)), memcpy(d, s->b, bytes), memcpy(u, s->c, bytes), memcpy(x, s->d, bytes);
    dgtsv_(&n, &one, l, d, u, x, &n, &info);
    free(l), free(d), free(u);
    if (info) free(x);
    return info ? NULL : x;
}
static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void the_matrices_of_table_4_of_every_length_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    static const int64_t sizes[] = {512, 512, 100003, 100003, (1 << 20) + 6, (1 << 20) + 6};
    for (int k = 0; k < 6; k++)
        for (int id = 1; id <= 20; id++) {
            if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
            const trine_gtsv_options options = {.path = k % 2 ? TRINE_GTSV_AUTO : TRINE_GTSV_ONE_PASS,
                                                .refine = id == 12 || id == 13 || id == 15};
            const int seeds = sizes[k] == 512 ? test_samples(20) : 1;
            double ours[20], lapack[20], backward[20];
            struct system s = open_system(TRINE_D, sizes[k]);
            double *bands[] = {s.a, s.b, s.c};
            bool made = true;
            for (int seed = 0; made && seed < seeds; seed++) {
                made = make_table4(id, (uint64_t)seed + 1, s.n, bands);
                if (!made) break;
                make_solution((uint64_t)seed + 1, s.n, s.known);
                multiply(&s);
                solve(&s, options, false);
                double *x = solve_by_lapack(&s);
                ours[seed] = forward_error(&s, s.x), backward[seed] = backward_error(&s),
                lapack[seed] = x ? forward_error(&s, x) : INFINITY;
                free(x);
            }
            close_system(&s);
            if (!made || test_is_reduced()) continue;
            qsort(ours, (size_t)seeds, sizeof(double), compare), qsort(lapack, (size_t)seeds, sizeof(double), compare),
                qsort(backward, (size_t)seeds, sizeof(double), compare);
            const double error = ours[seeds / 2], peer = lapack[seeds / 2];
            if (options.refine ? !(sizes[k] > 512 || backward[seeds / 2] <= 50 * 0x1p-52)
                               : !(error <= 50 * fmax(peer, 0x1p-52)))
                fail_msg("matrix %d, n %lld, path %d: forward error %.2e, LAPACK's %.2e, backward error %.2e", id,
                         (long long)sizes[k], (int)options.path, error, peer, backward[seeds / 2]);
        }
}

/* Where all coefficients off the diagonal are negative, rows are dominated by it and right-hand sides are not
 * negative, nothing cancels: elimination gives every entry of the solution, however small, with relative accuracy. */

static void set_row(struct system *s, int64_t i, double diagonal)
{
    s->a[i] = i > 0 ? -1 : 0, s->c[i] = i < s->n - 1 ? -1 : 0, s->b[i] = rounded(s->t, diagonal);
}
static long double as(trine_dtype t, bool exact, long double v)
{
    return exact ? v : t == TRINE_S ? (long double)(float)v : (long double)(double)v;
}
/** Thomas's algorithm in long double, or with every operation rounded to t. */
static void eliminate(const struct system *s, bool exact, double *x)
{
    long double *pivot = malloc((size_t)s->n * sizeof *pivot), *y = malloc((size_t)s->n * sizeof *y), next = 0;
    const trine_dtype t = s->t;
    for (int64_t i = 0; i < s->n; i++) {
        const long double f = i > 0 ? as(t, exact, s->a[i] / pivot[i - 1]) : 0;
        pivot[i] = i > 0 ? as(t, exact, s->b[i] - as(t, exact, f * s->c[i - 1])) : s->b[i];
        y[i] = i > 0 ? as(t, exact, s->d[i] - as(t, exact, f * y[i - 1])) : s->d[i];
    }
    for (int64_t i = s->n - 1; i >= 0; i--) {
        next = as(t, exact, as(t, exact, y[i] - (i < s->n - 1 ? as(t, exact, s->c[i] * next) : 0)) / pivot[i]);
        x[i] = (double)next;
    }
    free(pivot), free(y);
}
static double worst_entry(const struct system *s, const double *x)
{
    double worst = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double error = fabs(x[i] - s->known[i]) / fabs(s->known[i]);
        if (!(error <= worst)) worst = error == error ? error : INFINITY;
    }
    return worst;
}
/** Solve; every entry must come out about as accurately as by Thomas's algorithm. */
static void check_entries(struct system *s, trine_gtsv_path path, bool in_place, const char *what)
{
    double *x = malloc((size_t)s->n * sizeof(double));
    eliminate(s, true, s->known);
    eliminate(s, false, x);
    solve(s, (trine_gtsv_options){.path = path}, in_place);
    const double error = worst_entry(s, s->x), peer = worst_entry(s, x);
    free(x);
    if (!(error <= 50 * fmax(peer, eps_of(s->t))))
        fail_msg("%s, dtype %d, n %lld: error of an entry %.2e, Thomas's %.2e", what, (int)s->t, (long long)s->n, error,
                 peer);
}

static void large_neighbours_behind_weak_couplings_count_at_their_size(void **state)
{
    (void)state;
    /* no spike of a tile underflows */
    static const double diagonals[2][4] = {{2.002, 2.005, 2.02, 2.05}, {2.01, 2.05, 2.3, 4}};
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < 4; k++)
            for (uint64_t seed = 1; seed <= 12; seed++) {
                if (!test_is_small(60000 + 77 * (int64_t)seed) || !test_is_to_do()) continue;
                struct system s = open_system(single ? TRINE_S : TRINE_D, 60000 + 77 * (int64_t)seed);
                const double largest = single ? 25 : 220; /* exponent */
                double scale = 1;
                int64_t until = 0;
                for (int64_t i = 0; i < s.n; i++) {
                    if (i == until) { /* another stretch, of another size */
                        until += 1 + (int64_t)(4000 * test_uniform(seed, (uint64_t)(8 * i)));
                        scale = pow(10, largest * (2 * test_uniform(seed, (uint64_t)(8 * i + 1)) - 1));
                    }
                    set_row(&s, i, diagonals[!single][k]);
                    s.d[i] = rounded(s.t, scale * test_uniform(seed, (uint64_t)(8 * i + 2)));
                }
                check_entries(&s, TRINE_GTSV_ONE_PASS, seed % 2, "sizes that jump");
                close_system(&s);
            }
}

/* Tiles hand on little, and stand beside tiles that hand on everything, behind which the right-hand side is large:
 * what a tile takes for its ends before that is known is far off. */
static void tiles_that_were_solved_from_wrong_ends_are_solved_again(void **state)
{
    (void)state;
    static const double diagonals[2][3] = {{2.0013, 2.002, 2.003}, {2.013, 2.02, 2.03}};
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < 3; k++)
            for (int in_place = 0; in_place < 2; in_place++)
                for (int64_t from = 20000; from < 21024; from += 128) {
                    if (!test_is_to_do()) continue;
                    struct system s = open_system(single ? TRINE_S : TRINE_D, 60001);
                    for (int64_t i = 0; i < s.n; i++) {
                        const bool weak = i >= from && i < from + 3500, large = i >= from + 1500 && i < from + 2000;
                        set_row(&s, i, weak ? 2.0001 : diagonals[!single][k]);
                        s.d[i] = rounded(s.t, (large ? single ? 1e24 : 1e60 : 1) * test_uniform(5, (uint64_t)i));
                    }
                    check_entries(&s, TRINE_GTSV_ONE_PASS, in_place, in_place ? "wrong ends, in place" : "wrong ends");
                    close_system(&s);
                }
}

static void systems_that_do_not_decay_in_a_part_are_solved_in_place_and_elsewhere(void **state)
{
    (void)state;
    static const double shares[] = {0.05, 0.5, 1};
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < 3; k++)
            for (int in_place = 0; in_place < 2; in_place++) {
                if (!test_is_small(1 << 20) || !test_is_to_do()) continue;
                struct system s = open_system(single ? TRINE_S : TRINE_D, (1 << 20) + 6);
                for (int64_t i = 0; i < s.n; i++) {
                    const double at = (double)(i % 100000) / 100000;
                    set_row(&s, i, at < shares[k] ? 2.0001 : 3);
                    s.d[i] = rounded(s.t, test_uniform(6, (uint64_t)i));
                }
                check_entries(&s, TRINE_GTSV_ONE_PASS, in_place, "a part without decay");
                close_system(&s);
            }
}

static void a_system_that_decays_everywhere_but_in_one_place_is_solved_exactly(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++)
        for (int where = 0; where < 6; where++)
            for (int in_place = 0; in_place < 2; in_place++) {
                if (!test_is_small(300007) || !test_is_to_do()) continue;
                struct system s = open_system(single ? TRINE_S : TRINE_D, 300007);
                for (int64_t i = 0; i < s.n; i++) {
                    const int64_t from_start = i - where * (s.n - 4000) / 5;
                    set_row(&s, i, from_start >= 0 && from_start < 4000 ? 2.00001 : 3);
                    s.d[i] = rounded(s.t, test_uniform(3, (uint64_t)i));
                }
                check_entries(&s, TRINE_GTSV_ONE_PASS, in_place, "one place without decay");
                close_system(&s);
            }
}

static void systems_of_independent_rows_zeros_and_nan_come_out_as_they_are(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++) {
        if (!test_is_small(200001)) continue;
        struct system s = open_system(single ? TRINE_S : TRINE_D, 200001);
        for (int64_t i = 0; i < s.n; i++)
            s.b[i] = 1, s.d[i] = i / 5000 % 2 ? 0 : rounded(s.t, test_uniform(4, (uint64_t)i));
        solve(&s, (trine_gtsv_options){.path = TRINE_GTSV_ONE_PASS}, false);
        for (int64_t i = 0; i < s.n; i++) assert_true(s.x[i] == s.d[i]);
        for (int64_t i = 0; i < s.n; i++) set_row(&s, i, 4), s.d[i] = 0;
        solve(&s, (trine_gtsv_options){.path = TRINE_GTSV_ONE_PASS}, false);
        for (int64_t i = 0; i < s.n; i++) assert_true(s.x[i] == 0);
        s.d[123456] = NAN;
        solve(&s, (trine_gtsv_options){.path = TRINE_GTSV_ONE_PASS}, false);
        assert_true(isnan(s.x[123456]) && isnan(s.x[123455]) && isnan(s.x[123457]));
        s.d[123456] = 1, s.b[7] = s.a[7] = s.c[7] = 0; /* singular: any solution, but an end */
        solve(&s, (trine_gtsv_options){.path = TRINE_GTSV_ONE_PASS}, false);
        close_system(&s);
    }
}

static void long_systems_are_solved_as_well_where_the_path_is_automatic(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++)
        for (int variant = 0; variant < 4; variant++) {
            const bool slow = variant & 1, in_place = variant & 2; /* slow: a stretch without decay at the end */
            if (!test_is_small(4000005) || !test_is_to_do()) continue;
            struct system s = open_system(single ? TRINE_S : TRINE_D, single ? 8000003 : 4000005);
            for (int64_t i = 0; i < s.n; i++) {
                set_row(&s, i, slow && i > s.n - 9000 ? 2.00001 : 3);
                s.d[i] = rounded(s.t, test_uniform(3, (uint64_t)i));
            }
            check_entries(&s, TRINE_GTSV_AUTO, in_place, slow ? "automatic, slow at the end" : "automatic");
            close_system(&s);
        }
}

/** Fill `count` numbers of dtype t, each part scale U(-1,1), the real part shifted. */
static void *make_numbers(trine_dtype t, int64_t count, double shift, double scale, uint64_t seed)
{
    const bool complex = t == TRINE_C || t == TRINE_Z, single = t == TRINE_S || t == TRINE_C;
    const int64_t parts = complex ? 2 * count : count;
    char *numbers = malloc((size_t)count * trine_dtype_size(t));
    for (int64_t i = 0; i < parts; i++) {
        const double v = scale * (2 * test_uniform(seed, (uint64_t)i) - 1) + (complex && i % 2 ? 0 : shift);
        if (single) ((float *)numbers)[i] = (float)v;
        else ((double *)numbers)[i] = v;
    }
    return numbers;
}
static double part_of(trine_dtype t, const void *numbers, int64_t i)
{
    return t == TRINE_S || t == TRINE_C ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void every_precision_every_transpose_and_several_columns_agree_with_two_passes(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    static const struct {
        trine_gtsv_path path;
        bool in_place;
    } ways[] = {{TRINE_GTSV_TWO_PASS, false}, {TRINE_GTSV_ONE_PASS, false}, {TRINE_GTSV_ONE_PASS, true}};
    const int64_t n = test_is_small(30011) ? 30011 : 6011;
    for (int k = 0; k < 4; k++)
        for (int op = 0; op < 3; op++)
            for (int64_t nrhs = 1; nrhs <= 5; nrhs += 2)
                for (int kind = 0; kind < 4; kind++) {
                    /* where neighbours are coupled strongly: one pass does not do there */
                    const bool place = kind & 1, cyclic = kind & 2;
                    if (!test_is_to_do()) continue;
                    trine_context ctx = test_context();
                    const trine_dtype t = dtypes[k];
                    const size_t size = trine_dtype_size(t), bytes = (size_t)n * size;
                    const int64_t from = n / 3, to = place ? from + 3000 : from,
                                  parts = t == TRINE_C || t == TRINE_Z ? 2 * n * nrhs : n * nrhs;
                    char *a = make_numbers(t, n, -1, 0.1, 1), *b = make_numbers(t, n, 5, 0.1, 2),
                         *c = make_numbers(t, n, -1, 0.1, 3);
                    void *flat = make_numbers(t, n, -1, 0, 1), *weak = make_numbers(t, n, 2.001, 0, 1),
                         *d = make_numbers(t, n * nrhs, 0, 1, 4), *x[3];
                    memcpy(a + (size_t)from * size, flat, (size_t)(to - from) * size);
                    memcpy(b + (size_t)from * size, weak, (size_t)(to - from) * size);
                    memcpy(c + (size_t)from * size, flat, (size_t)(to - from) * size);
                    void *da = test_to_device(ctx, a, bytes), *db = test_to_device(ctx, b, bytes),
                         *dc = test_to_device(ctx, c, bytes), *dd = test_to_device(ctx, d, bytes * (size_t)nrhs);
                    for (int way = 0; way < 3; way++) {
                        const trine_gtsv_options options = {.path = ways[way].path, .op = ops[op], .cyclic = cyclic};
                        size_t work_bytes;
                        void *work, *dx = test_to_device(ctx, d, bytes * (size_t)nrhs);
                        OK(trine_gtsv_work_size(ctx, t, n, nrhs, &options, &work_bytes));
                        OK(trine_alloc(ctx, TRINE_DEVICE, work_bytes, &work));
                        OK(trine_gtsv(ctx, t, n, nrhs, &options, da, db, dc, ways[way].in_place ? dx : dd, n, dx, n,
                                      work, work_bytes, NULL));
                        x[way] = malloc(bytes * (size_t)nrhs);
                        test_from_device(ctx, x[way], dx, bytes * (size_t)nrhs);
                        test_release(ctx, dx), test_release(ctx, work);
                    }
                    const double eps = t == TRINE_S || t == TRINE_C ? 0x1p-23 : 0x1p-52;
                    for (int way = 1; way < 3; way++) {
                        double difference = 0, largest = 0;
                        for (int64_t i = 0; i < parts; i++) {
                            const double one = part_of(t, x[way], i), two = part_of(t, x[0], i);
                            largest = fmax(largest, fabs(two));
                            if (!(fabs(one - two) <= difference)) difference = one == one ? fabs(one - two) : INFINITY;
                        }
                        if (!(difference <= (place ? 1e4 : 32) * eps * largest)) /* condition numbers of 4000 and 2 */
                            fail_msg(
                                "dtype %d, op %d, %d columns, place %d, cyclic %d, in place %d: the passes differ by %.2e of %.2e",
                                (int)t, (int)ops[op], (int)nrhs, place, cyclic, ways[way].in_place, difference,
                                largest);
                    }
                    test_release(ctx, da), test_release(ctx, db), test_release(ctx, dc), test_release(ctx, dd);
                    free(a), free(b), free(c), free(d), free(flat), free(weak), free(x[0]), free(x[1]), free(x[2]);
                    OK(trine_context_destroy(&ctx));
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_matrices_of_table_4_of_every_length_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(large_neighbours_behind_weak_couplings_count_at_their_size),
        cmocka_unit_test(tiles_that_were_solved_from_wrong_ends_are_solved_again),
        cmocka_unit_test(systems_that_do_not_decay_in_a_part_are_solved_in_place_and_elsewhere),
        cmocka_unit_test(a_system_that_decays_everywhere_but_in_one_place_is_solved_exactly),
        cmocka_unit_test(systems_of_independent_rows_zeros_and_nan_come_out_as_they_are),
        cmocka_unit_test(long_systems_are_solved_as_well_where_the_path_is_automatic),
        cmocka_unit_test(every_precision_every_transpose_and_several_columns_agree_with_two_passes),
    };
    return TEST_MAIN(tests);
}
