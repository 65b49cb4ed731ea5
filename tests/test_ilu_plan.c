/* Incomplete factorizations as plans: the same bits on any number of threads, new values, failures with their rows. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/team.h"
#include "core/test_interface.h"
#include "ilu_support.h"

/* -------------------------------------------------------- threads and values */

typedef struct {
    int64_t n, nnz;
    void *values;
    size_t bytes;
    int64_t *offsets;
} triangles;

/** A copy of what a plan has. */
static triangles copy_triangles(trine_precond p, trine_dtype t, int64_t n)
{
    triangles c = {.n = n};
    const int64_t *offsets;
    const void *values;
    OK(trine_precond_get_triangles(p, &c.nnz, &offsets, NULL, &values));
    c.bytes = (size_t)c.nnz * trine_dtype_size(t);
    c.values = malloc(c.bytes + 1);
    c.offsets = malloc((size_t)(n + 1) * 8);
    memcpy(c.values, values, c.bytes);
    memcpy(c.offsets, offsets, (size_t)(n + 1) * 8);
    return c;
}

static void assert_same(const triangles *a, const triangles *b)
{
    assert_int_equal(a->nnz, b->nnz);
    assert_memory_equal(a->offsets, b->offsets, (size_t)(a->n + 1) * 8);
    if (a->bytes) assert_memory_equal(a->values, b->values, a->bytes);
}

static void end_triangles(triangles *c) { free(c->values), free(c->offsets); }

/** Large enough for several threads, some by lines and some by planes; the last one has rows that nobody shares. */
static const char *const large[] = {"laplace2d:nx=151,ny=80", "laplace3d:n=40",   "aniso2:nx=90,ny=60",
                                    "elasticity3d:n=6",       "laplace3d27:n=20", "powerlaw:n=4000,degree=9"};
enum { LARGE = sizeof large / sizeof *large };

static trine_matrix large_matrix(int k, trine_dtype t)
{
    char spec[96];
    trine_matrix A, B;
    snprintf(spec, sizeof spec, "%s%s", large[k], is_complex(t) ? ",phase=3" : "");
    OK(trine_matrix_gallery(test_cpu(1), &A, spec, t));
    OK(trine_matrix_sort(A, &B, 1));
    OK(trine_matrix_destroy(&A));
    return B;
}

/** Ways to share rows that a log has spoken of. */
static void note_way(void *user, int level, const char *message)
{
    bool *ways = user;
    (void)level;
    if (strstr(message, "rows by lines")) ways[0] = true;
    if (strstr(message, "rows by bandwidths")) ways[1] = true;
}

static void test_threads_agree(void **state)
{
    trine_context ctx;
    bool ways[2] = {false, false};
    (void)state;
    OK(trine_context_create(&ctx, "cpu:3"));
    OK(trine_context_set_log(ctx, note_way, ways, 3));
    for (int k = 0; k < LARGE; k++)
        for (int m = 0; m < ILU_METHODS; m++) {
            const trine_dtype t = all_dtypes[(k + m) % 4];
            if (!test_is_to_do()) continue;
            trine_matrix A = large_matrix(k, t);
            trine_matrix_info info;
            trine_matrix_get_info(A, &info);
            /* a shift, since not all of these have factors */
            const trine_precond_options o = {.method = ilu_methods[m], .shift = 2, .row_entries = 8};
            trine_precond alone, p;
            OK(trine_precond_analyse(test_cpu(1), &alone, A, &o));
            OK(trine_precond_numeric(alone, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            triangles right = copy_triangles(alone, t, info.n_rows);
            OK(trine_precond_analyse(ctx, &p, A, &o));
            for (int run = 0; run < (ilu_methods[m] == TRINE_PRECOND_ILU0 ? 20 : 2); run++) {
                OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
                triangles found = copy_triangles(p, t, info.n_rows);
                assert_same(&right, &found);
                end_triangles(&found);
            }
            const trine_status status = trine_precond_check(alone, NULL);
            assert_int_equal(trine_precond_check(p, NULL), status);
            end_triangles(&right);
            OK(trine_precond_destroy(&alone));
            OK(trine_precond_destroy(&p));
            OK(trine_matrix_destroy(&A));
        }
    if (omp_get_num_procs() > 1 && !getenv("TRINE_TEST_PART")) assert_true(ways[0] && ways[1]);
    OK(trine_context_destroy(&ctx));
}

/** (L U)_ij = a_ij on the pattern of a large matrix, whose rows several threads factor. */
static void test_large_factors(void **state)
{
    (void)state;
    for (int k = 0; k < LARGE - 1; k++) {
        trine_matrix A = large_matrix(k, TRINE_D);
        trine_precond p = plan_of(test_cpu(2), A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0});
        trine_matrix_info info;
        const int64_t *offsets, *factor_offsets;
        const int32_t *columns;
        const void *given, *found;
        trine_matrix_get_info(A, &info);
        OK(trine_matrix_get_arrays(A, &offsets, &columns, &given));
        OK(trine_precond_get_triangles(p, NULL, &factor_offsets, NULL, &found));
        assert_memory_equal(offsets, factor_offsets, (size_t)(info.n_rows + 1) * 8);
        const double *a = given, *lu = found;
        long double *row = calloc((size_t)info.n_rows, sizeof *row), *size = calloc((size_t)info.n_rows, sizeof *size);
        for (int64_t i = 0; i < info.n_rows; i++) {
            for (int64_t q = offsets[i]; q < offsets[i + 1]; q++) {
                const int64_t m = columns[q];
                const long double l = m < i ? lu[q] : 1;
                if (m > i) break;
                for (int64_t r = offsets[m]; r < offsets[m + 1]; r++) {
                    if (columns[r] < m) continue;
                    row[columns[r]] += l * lu[r];
                    size[columns[r]] += fabsl(l * lu[r]);
                }
            }
            for (int64_t q = offsets[i]; q < offsets[i + 1]; q++)
                assert_true(fabsl(row[columns[q]] - a[q]) <= 100 * eps_of(TRINE_D) * size[columns[q]]);
            memset(row, 0, (size_t)info.n_rows * sizeof *row);
            memset(size, 0, (size_t)info.n_rows * sizeof *size);
        }
        free(row), free(size);
        OK(trine_precond_destroy(&p));
        OK(trine_matrix_destroy(&A));
    }
}

/** Keeps a context's helpers until it is told to end. */
struct hold {
    trine_context ctx;
    int begun, ended; /* atomic */
};

static bool hold_helpers(void *user, int me)
{
    struct hold *h = user;
    __atomic_store_n(&h->begun, 1, __ATOMIC_RELEASE);
    while (!me && !__atomic_load_n(&h->ended, __ATOMIC_ACQUIRE)) sched_yield();
    return false;
}

static void *run_hold(void *user)
{
    trine_team_run(((struct hold *)user)->ctx, 2, true, hold_helpers, user);
    return NULL;
}

/** While another thread has the helpers, the one that is there does what was meant for all. */
static void test_without_helpers(void **state)
{
    (void)state;
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu:2"));
    for (int k = 0; k < LARGE; k++) {
        trine_matrix A = large_matrix(k, TRINE_D);
        const trine_precond_options o = {.method = k % 2 ? TRINE_PRECOND_IC0 : TRINE_PRECOND_ILU0, .shift = 2};
        trine_precond p = plan_of(ctx, A, &o);
        trine_matrix_info info;
        trine_matrix_get_info(A, &info);
        triangles before = copy_triangles(p, TRINE_D, info.n_rows);
        struct hold hold = {.ctx = ctx};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_hold, &hold), 0);
        while (!__atomic_load_n(&hold.begun, __ATOMIC_ACQUIRE)) sched_yield();
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        __atomic_store_n(&hold.ended, 1, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(thread, NULL), 0);
        triangles after = copy_triangles(p, TRINE_D, info.n_rows);
        assert_same(&before, &after);
        end_triangles(&before), end_triangles(&after);
        OK(trine_precond_destroy(&p));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/** New values on one pattern give what a new plan gives; a power of two as a factor does not change a bit of L. */
static void test_new_values(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < ILU_METHODS; m++) {
            const int kind = ilu_methods[m] == TRINE_PRECOND_IC0 ? HERMITIAN : sample_kinds[m % 4];
            sample s = make_sample(test_cpu(1), all_dtypes[t], 40, 0.1, 300, kind);
            const trine_precond_options o = {.method = ilu_methods[m], .drop_tolerance = 0.02};
            trine_precond p = plan_of(test_cpu(2), s.A, &o), fresh;
            trine_work work;
            OK(trine_precond_work(p, 1, NULL, NULL, &work));
            trine_matrix_info info;
            trine_matrix_get_info(s.A, &info);
            const void *given;
            OK(trine_matrix_get_arrays(s.A, NULL, NULL, &given));
            char *values = malloc((size_t)info.nnz * 16);
            for (int64_t k = 0; k < info.nnz; k++) put(s.t, values, k, ldexpl(1, 60) * get(s.t, given, k));
            OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
            OK(trine_precond_check(p, NULL));
            triangles scaled = copy_triangles(p, s.t, s.n);
            memcpy((void *)given, values, (size_t)info.nnz * trine_dtype_size(s.t));
            fresh = plan_of(test_cpu(1), s.A, &o);
            triangles right = copy_triangles(fresh, s.t, s.n);
            assert_same(&right, &scaled);
            for (int64_t k = 0; k < s.n * s.n; k++) s.a[k] *= ldexpl(1, 60);
            factors f = new_factors(s.n);
            get_factors(p, ilu_methods[m], &s, &f);
            if (ilu_methods[m] != TRINE_PRECOND_ILUT) assert_factors(&s, &f);
            /* a work that is older than the values */
            char b[40 * 16], x[40 * 16], y[40 * 16];
            for (int64_t i = 0; i < s.n; i++) put(s.t, b, i, random_element(s.t, 9, (uint64_t)i));
            const trine_dense B = {b, s.n, 1, 0, 0}, X = {x, s.n, 1, 0, 0}, Y = {y, s.n, 1, 0, 0};
            OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, &(trine_exec){.work = work}));
            OK(trine_precond_apply(fresh, TRINE_N, NULL, &B, &Y, NULL));
            for (int64_t i = 0; i < s.n; i++)
                assert_true(cabsl(get(s.t, x, i) - get(s.t, y, i)) <= 60 * eps_of(s.t) * ldexpl(1, -58));
            end_factors(&f), end_triangles(&scaled), end_triangles(&right);
            free(values);
            OK(trine_work_destroy(&work));
            OK(trine_precond_destroy(&p));
            OK(trine_precond_destroy(&fresh));
            end_sample(&s);
        }
}

/* ------------------------------------------------------------------- failures */

static void test_missing_diagonals(void **state)
{
    (void)state;
    for (int m = 0; m < ILU_METHODS; m++) {
        trine_precond p;
        const trine_precond_options o = {.method = ilu_methods[m]};
        sample s = given_sample(TRINE_D, 3, (const double[]){1, 2, 99, 3, 99, 4, 99, 5, 6});
        FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_analyse(test_cpu(2), &p, s.A, &o));
        assert_null(p);
        end_sample(&s);
        s = given_sample(TRINE_D, 3, (const double[]){1, 2, 99, 3, 4, 99, 99, 99, 99}); /* an empty row */
        FAILS(TRINE_ERR_SINGULAR, "row 2 ", trine_precond_analyse(test_cpu(2), &p, s.A, &o));
        end_sample(&s);
    }
}

/** Numeric succeeds, check says `text`, and nothing finite comes out. Then, with a shift, all is well. */
static void try_bad(trine_dtype t, trine_precond_method method, const double *a, trine_status status, const char *text)
{
    sample s = given_sample(t, 3, a);
    for (int shifted = 0; shifted < 2; shifted++) {
        trine_precond p;
        char b[64], x[64];
        for (int64_t i = 0; i < 3; i++) put(t, b, i, 1);
        const trine_dense B = {b, 3, 1, 0, 0}, X = {x, 3, 1, 0, 0};
        OK(trine_precond_analyse(test_cpu(2), &p, s.A,
                                 &(trine_precond_options){.method = method, .shift = 3 * shifted}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
        if (shifted) OK(trine_precond_check(p, NULL));
        else FAILS(status, text, trine_precond_check(p, NULL));
        OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, NULL));
        bool finite = true;
        for (int64_t i = 0; i < 3; i++) finite &= isfinite((double)cabsl(get(t, x, i)));
        assert_int_equal(finite, shifted);
        OK(trine_precond_destroy(&p));
    }
    end_sample(&s);
}

static void test_bad_pivots(void **state)
{
    static const double zero_first[] = {0, 2, 99, 3, 4, 5, 99, 6, 7}, zero_inside[] = {1, 2, 99, 3, 6, 5, 99, 6, 7},
                        zero_last[] = {1, 2, 99, 3, 4, 1, 99, 4, -2}, indefinite[] = {4, 99, 2, 99, -1, 99, 2, 99, 5},
                        vanishing[] = {4, 2, 99, 2, 1, 1, 99, 1, 9};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int m = 0; m < ILU_METHODS; m++) {
            if (ilu_methods[m] == TRINE_PRECOND_IC0) continue;
            try_bad(all_dtypes[t], ilu_methods[m], zero_first, TRINE_ERR_SINGULAR, "row 0 ");
            try_bad(all_dtypes[t], ilu_methods[m], zero_inside, TRINE_ERR_SINGULAR, "row 1 ");
            try_bad(all_dtypes[t], ilu_methods[m], zero_last, TRINE_ERR_SINGULAR, "row 2 ");
        }
        sample s = given_sample(all_dtypes[t], 3, indefinite);
        trine_precond p;
        OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_NOT_DEFINITE, "row 1 ", trine_precond_check(p, NULL));
        OK(trine_precond_destroy(&p));
        end_sample(&s);
        try_bad(all_dtypes[t], TRINE_PRECOND_IC0, vanishing, TRINE_ERR_NOT_DEFINITE, "row 1 ");
    }
}

/** The shift: a_ii and the largest |a_ij| of its row times the shift, with the sign of a_ii. */
static void test_shift(void **state)
{
    (void)state;
    sample s = given_sample(TRINE_D, 3, (const double[]){-4, 99, 8, 99, 0, 99, 99, 99, 2});
    trine_precond p;
    const void *values;
    OK(trine_precond_analyse(test_cpu(1), &p, s.A,
                             &(trine_precond_options){.method = TRINE_PRECOND_ILU0, .shift = 0.5}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_get_triangles(p, NULL, NULL, NULL, &values));
    FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_check(p, NULL)); /* nothing in the row to shift by */
    assert_true(((const double *)values)[0] == -8 && ((const double *)values)[3] == 3);
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

static void test_not_finite(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < ILU_METHODS; m++)
            for (int k = 0; k < 4; k++) {
                const int kind = ilu_methods[m] == TRINE_PRECOND_IC0 ? HERMITIAN : 0;
                sample s = make_sample(test_cpu(1), all_dtypes[t], 30, 0.2, 400, kind);
                trine_precond p = plan_of(test_cpu(2), s.A, &(trine_precond_options){.method = ilu_methods[m]});
                trine_matrix_info info;
                const void *given;
                const int64_t *offsets;
                trine_matrix_get_info(s.A, &info);
                OK(trine_matrix_get_arrays(s.A, &offsets, NULL, &given));
                char *values = malloc((size_t)info.nnz * 16);
                memcpy(values, given, (size_t)info.nnz * trine_dtype_size(s.t));
                const int64_t row = 7 * k + 2; /* its first entry, of L */
                put(s.t, values, offsets[row], k % 2 ? (wide)NAN : (wide)INFINITY);
                OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
                char text[32];
                snprintf(text, sizeof text, "row %d ", (int)row);
                FAILS(TRINE_ERR_ARGUMENT, text, trine_precond_check(p, NULL));
                OK(trine_precond_numeric(p, TRINE_HOST, given, TRINE_REUSE_FORESTS, NULL)); /* and good ones again */
                OK(trine_precond_check(p, NULL));
                free(values);
                OK(trine_precond_destroy(&p));
                end_sample(&s);
            }
}

/** Finite values whose factors are not: of L alone, so that no pivot shows it. */
static void test_overflow(void **state)
{
    (void)state;
    for (int m = 0; m < ILU_METHODS; m++) {
        if (ilu_methods[m] == TRINE_PRECOND_IC0) continue;
        sample s = given_sample(TRINE_S, 3, (const double[]){1e-30, 99, 99, 1e30, 1, 99, 99, 99, 1});
        trine_precond p;
        OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = ilu_methods[m]}));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        FAILS(TRINE_ERR_SINGULAR, "row 1 ", trine_precond_check(p, NULL));
        OK(trine_precond_destroy(&p));
        end_sample(&s);
    }
    /* a sum of entries may overflow where no entry does */
    sample s = given_sample(TRINE_S, 2, (const double[]){3e38, 3e38, 99, 3e38});
    trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0});
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/** IC(0) of a matrix whose diagonal is not real. */
static void test_not_hermitian(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_Z, 12, 0.3, 5, HERMITIAN);
    s.a[4 * 12 + 4] += 1e-3L * csqrtl(-1);
    OK(trine_matrix_destroy(&s.A));
    compress_sample(test_cpu(1), &s, 0);
    trine_precond p;
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_NOT_DEFINITE, "row 4 ", trine_precond_check(p, NULL));
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/** What rounding leaves of the imaginary part of a real diagonal changes nothing, whatever the scale; more is refused,
 *  with the row. */
static void test_nearly_real_diagonal(void **state)
{
    (void)state;
    static const double scales[] = {1, 1e30, 1e-30};
    for (int k = 0; k < 6; k++) {
        const trine_dtype t = k < 3 ? TRINE_C : TRINE_Z;
        const double scale = scales[k % 3], eps = t == TRINE_C ? FLT_EPSILON : DBL_EPSILON;
        sample s = make_sample(test_cpu(1), t, 60, 0.2, 77 + (uint64_t)k, HERMITIAN);
        const int64_t *offsets;
        const int32_t *columns;
        const void *given, *factors;
        trine_precond p = plan_of(test_cpu(2), s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0});
        trine_precond_info info;
        OK(trine_precond_get_info(p, &info));
        OK(trine_matrix_get_arrays(s.A, &offsets, &columns, &given));
        const size_t size = trine_dtype_size(t), count = (size_t)info.factor_entries;
        char *values = malloc((size_t)offsets[s.n] * size), *exact = malloc(count * size);
        for (int pass = 0; pass < 3;
             pass++) { /* a real diagonal, one with rounding errors, and one with a larger part */
            for (int64_t i = 0; i < s.n; i++)
                for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) {
                    const wide v = get(t, given, at) * (wide)scale;
                    const double part = pass == 2 && i == 41 ? 40 : i % 2 ? 30 : -(double)(i % 30);
                    put(t, values, at,
                        columns[at] != i || !pass ? v : creall(v) * (1 + _Complex_I * (wide)(part * eps)));
                }
            OK(trine_precond_numeric(p, TRINE_HOST, values, TRINE_REUSE_FORESTS, NULL));
            OK(trine_precond_get_triangles(p, NULL, NULL, NULL, &factors));
            if (pass == 2) FAILS(TRINE_ERR_NOT_DEFINITE, "row 41 ", trine_precond_check(p, NULL));
            else OK(trine_precond_check(p, NULL));
            if (pass == 0) memcpy(exact, factors, count * size);
            if (pass == 1) assert_memory_equal(exact, factors, count * size);
        }
        free(values);
        free(exact);
        OK(trine_precond_destroy(&p));
        end_sample(&s);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_D, 10, 0.3, 6, 0);
    trine_precond p;
    const trine_precond_options bad[] = {
        {.method = TRINE_PRECOND_ILUK, .fill_level = -1},      {.method = TRINE_PRECOND_ILUT, .drop_tolerance = -1},
        {.method = TRINE_PRECOND_ILUT, .drop_tolerance = NAN}, {.method = TRINE_PRECOND_ILUT, .drop_tolerance = 2},
        {.method = TRINE_PRECOND_ILUT, .row_entries = -3},     {.method = TRINE_PRECOND_ILU0, .shift = -1},
        {.method = TRINE_PRECOND_IC0, .shift = NAN},           {.method = TRINE_PRECOND_ISAI, .sweeps = -1}};
    static const char *const texts[] = {"fill_level",  "drop_tolerance", "drop_tolerance", "drop_tolerance",
                                        "row_entries", "shift",          "shift",          "sweeps"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        FAILS(TRINE_ERR_ARGUMENT, texts[k], trine_precond_analyse(test_cpu(1), &p, s.A, &bad[k]));
    const int64_t *offsets;
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_precond_get_triangles(NULL, NULL, &offsets, NULL, NULL));
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_DIAGP0}));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_UNSUPPORTED, "diagp0", trine_precond_get_triangles(p, NULL, &offsets, NULL, NULL));
    OK(trine_precond_destroy(&p));
    OK(trine_precond_analyse(test_cpu(1), &p, s.A, &(trine_precond_options){.method = TRINE_PRECOND_ILUT}));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_get_triangles(p, NULL, &offsets, NULL, NULL));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_check(p, NULL));
    double x[10] = {0};
    const trine_dense X = {x, 10, 1, 0, 0};
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    FAILS(TRINE_ERR_STATE, NULL, trine_precond_apply(p, TRINE_T, NULL, &X, &X, NULL));
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/** Every k-th allocation fails, in analyse, numeric, work and apply: a status, and nothing is lost. */
static void test_allocations(void **state)
{
    (void)state;
    for (int m = 0; m < ILU_METHODS; m++) {
        trine_context ctx;
        test_memory memory = {0};
        OK(trine_context_create(&ctx, "cpu:2"));
        test_fail_allocations(ctx, &memory);
        trine_matrix A;
        OK(trine_matrix_gallery(ctx, &A, "laplace2d:n=40", TRINE_D));
        double *x = calloc(1600, sizeof *x);
        const trine_dense X = {x, 1600, 1, 0, 0};
        const int64_t before = memory.live;
        bool failed = true;
        for (int64_t k = 1; failed; k++) {
            trine_precond p = NULL;
            trine_work work = NULL;
            memory.calls = 0;
            memory.fail_at = k;
            trine_status status = trine_precond_analyse(ctx, &p, A, &(trine_precond_options){.method = ilu_methods[m]});
            if (!status) status = trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL);
            if (!status) status = trine_precond_work(p, 1, NULL, NULL, &work);
            if (!status) status = trine_precond_apply(p, TRINE_N, NULL, &X, &X, &(trine_exec){.work = work});
            if (!status) status = trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL);
            memory.fail_at = 0;
            assert_true(status == TRINE_SUCCESS || status == TRINE_ERR_MEMORY);
            failed = status;
            if (p) OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL)); /* the plan goes on */
            if (p) OK(trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
            trine_work_destroy(&work);
            OK(trine_precond_destroy(&p));
            assert_int_equal(memory.live, before);
        }
        free(x);
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
    }
}

/** L of rows that need the one before, and U = I, so that x = L^-1 b: the largest residual of a row of it, over eps
 *  times the size of its terms. */
static double error_of_chain(trine_context ctx, trine_precond p, int64_t n, const double *values, const double *b)
{
    double *x = malloc((size_t)n * sizeof *x), worst = 0;
    void *to = test_to_device(ctx, b, (size_t)n * sizeof *b);
    const trine_dense X = {to, n, 1, n, TRINE_COLMAJOR};
    OK(trine_precond_apply(p, TRINE_N, NULL, &X, &X, NULL));
    test_from_device(ctx, x, to, (size_t)n * sizeof *x);
    test_release(ctx, to);
    for (int64_t i = 0; i < n; i++) {
        const long double before = i ? (long double)values[2 * i - 1] * x[i - 1] : 0;
        worst = fmax(worst, (double)(fabsl(b[i] - before - x[i]) / (fabs(b[i]) + fabsl(before) + fabs(x[i]))));
    }
    free(x);
    return worst / DBL_EPSILON;
}

/** Does a triangular plan of the same rows, as the preconditioner has one, take inverses, and its check a step of
 *  refinement? */
static bool check_refines(trine_context ctx, trine_matrix A)
{
    const trine_triangular_options options = {.uplo = TRINE_LOWER, .diag = TRINE_UNIT, .expected_solves = 1000};
    trine_triangular plan;
    trine_triangular_info info;
    trine_triangular_pretend(1e9); /* AUTO takes inverses */
    OK(trine_triangular_analyse(ctx, &plan, A, &options));
    trine_triangular_pretend(0);
    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_check(plan, NULL));
    OK(trine_triangular_get_info(plan, &info));
    assert_int_equal(info.method, TRINE_TRI_PARTITIONED_INVERSE);
    OK(trine_triangular_destroy(&plan));
    return info.refined;
}

/** Solves by inverses whose small components have large errors are refined after check. */
static void test_check_of_inverses(void **state)
{
    enum { n = 60000 };
    int64_t *offsets = malloc((n + 1) * sizeof *offsets);
    int32_t *columns = malloc(2 * n * sizeof *columns);
    double *values = malloc(2 * n * sizeof *values), *b = malloc(n * sizeof *b), before = 0;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_precond p;
    (void)state;
    for (int64_t i = 0, k = offsets[0] = 0; i < n; offsets[++i] = k) {
        const double x = pow(10, -12 * test_uniform(6, (uint64_t)i / 2));
        if (i) columns[k] = (int32_t)i - 1, values[k++] = -0.85 - 0.1 * test_uniform(5, (uint64_t)i);
        columns[k] = (int32_t)i, values[k++] = 1;
        b[i] = x + (i ? values[k - 2] * before : 0);
        before = x;
    }
    OK(trine_matrix_csr(ctx, &A, TRINE_D, n, n, offsets[n], TRINE_HOST, 64, offsets, 32, columns, values));
    const bool refines = check_refines(ctx, A);
    trine_triangular_pretend(1e9);
    OK(trine_precond_analyse(ctx, &p, A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0}));
    trine_triangular_pretend(0);
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    const double unchecked = error_of_chain(ctx, p, n, values, b);
    OK(trine_precond_check(p, NULL));
    const double checked = error_of_chain(ctx, p, n, values, b);
    print_message("componentwise backward errors: %.3g eps, after check %.3g eps%s\n", unchecked, checked,
                  refines ? "" : ", which a triangular plan does not refine either");
    assert_true(unchecked > 100 && (refines ? checked < 8 : checked == unchecked));
    assert_true(refines || test_on_gpu());
    OK(trine_precond_destroy(&p));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
    free(offsets), free(columns), free(values), free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_large_factors),
        cmocka_unit_test(test_without_helpers),
        cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_missing_diagonals),
        cmocka_unit_test(test_bad_pivots),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_not_hermitian),
        cmocka_unit_test(test_nearly_real_diagonal),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_check_of_inverses),
        cmocka_unit_test(test_allocations),
    };
    return TEST_MAIN(tests);
}
