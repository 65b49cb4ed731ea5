/* Partitioned inverses: groups of levels, the limit on memory, inverses that grow, new values. */
#include "triangular_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static trine_triangular_info info_of(const struct fixture *f)
{
    trine_triangular_info info;
    OK(trine_triangular_check(f->plan, NULL));
    OK(trine_triangular_get_info(f->plan, &info));
    return info;
}

static void groups_take_fewer_steps_for_more_entries(void **state)
{
    (void)state;
    struct fixture f = open_problem(make_rows(2500, 2, grid), TRINE_D, false);
    int64_t steps = 99, entries = f.P.nnz;
    for (int32_t levels = 1; levels <= 64; levels *= 4) {
        set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE, .partition.levels = levels});
        const trine_triangular_info info = info_of(&f);
        assert_int_equal(info.levels, 99);
        assert_int_equal(info.steps, (99 + levels - 1) / levels);
        assert_int_equal(info.method, TRINE_TRI_PARTITIONED_INVERSE);
        assert_true(info.deterministic && info.growth >= 1 && info.substituted_rows == 0);
        assert_true(levels == 1 ? info.entries == entries : info.entries > entries);
        assert_true(info.bytes > info.entries * 12);
        assert_true(info.steps <= steps);
        entries = info.entries, steps = info.steps;
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, true, 1, true);
    }
    set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE});
    trine_triangular_info info = info_of(&f);
    assert_true(info.steps < 99 / 3);
    set_plan(&f, (trine_triangular_options){0});
    info = info_of(&f);
    assert_true(info.steps == 0 && info.entries == 0 && info.growth == 0 && info.substituted_rows == 0);
    close_fixture(&f);
}

/** Steps and entries by the definition: a row of a group needs what the rows of the group need that it needs. */
static void count_by_definition(const struct problem *P, bool lower, trine_transpose op, int32_t levels_of_group,
                                int64_t *steps, int64_t *entries)
{
    const int64_t n = P->n;
    const bool transposed = op != TRINE_N, ascending = lower == !transposed;
    bool *needs = calloc((size_t)(n * n + 1), sizeof *needs), *has = calloc((size_t)(n * n + 1), sizeof *has);
    int64_t *group = calloc((size_t)n + 1, sizeof *group), *level = calloc((size_t)n + 1, sizeof *level);
    *steps = *entries = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
            const int64_t j = P->indices[k];
            if (lower ? j < i : j > i) needs[transposed ? j * n + i : i * n + j] = true;
        }
    for (int64_t r = 0; r < n; r++) {
        const int64_t i = ascending ? r : n - 1 - r;
        for (int64_t c = 0; c < n; c++)
            if (needs[i * n + c] && level[c] >= level[i]) level[i] = level[c] + 1;
        group[i] = level[i] / levels_of_group;
        has[i * n + i] = true;
        for (int64_t c = 0; c < n; c++) {
            if (!needs[i * n + c]) continue;
            if (group[c] == group[i])
                for (int64_t d = 0; d < n; d++) has[i * n + d] |= has[c * n + d];
            else has[i * n + c] = true;
        }
        for (int64_t c = 0; c < n; c++) *entries += has[i * n + c];
        if (group[i] >= *steps) *steps = group[i] + 1;
    }
    free(needs);
    free(has);
    free(group);
    free(level);
}

static void groups_have_the_entries_of_the_definition(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 400};
    static const int32_t levels[] = {1, 2, 5, 32, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int which = 0; which < 5; which++)
            for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
                for (int transposed = 0; transposed < 2; transposed++) {
                    const int64_t n = sizes[s];
                    const bool lower = which != 4;
                    const trine_transpose op = transposed ? TRINE_T : TRINE_N;
                    struct problem P = which == 0   ? make_rows(n, 1, chain)
                                       : which == 1 ? make_rows(n, 2, grid)
                                       : which == 2 ? make_rows(n, 29, dense_groups)
                                                    : make_problem(n, sparse_random, lower, false, false, false, 3 + s);
                    const trine_dtype t = (trine_dtype)(TRINE_S + (which + (int)l) % 4);
                    struct fixture f = open_problem(P, t, transposed && test_on_gpu());
                    int64_t steps, entries;
                    count_by_definition(&f.P, lower, op, levels[l], &steps, &entries);
                    set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                            .uplo = lower ? TRINE_LOWER : TRINE_UPPER,
                                                            .diag = which == 3 ? TRINE_UNIT : TRINE_NONUNIT,
                                                            .ops = op,
                                                            .partition.levels = levels[l]});
                    trine_triangular_info info;
                    OK(trine_triangular_get_info(f.plan, &info));
                    assert_int_equal(info.steps, steps);
                    assert_int_equal(info.entries, entries);
                    if (n) solve_and_check(&f, op, 1, TRINE_COLMAJOR, true, 1, true);
                    close_fixture(&f);
                }
}

static void memory_stays_below_its_limit(void **state)
{
    (void)state;
    static const int sizes[] = {[TRINE_S] = 8, [TRINE_D] = 12, [TRINE_C] = 12, [TRINE_Z] = 20};
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        struct fixture f = open_problem(make_rows(2500, 2, grid), t, false);
        const int64_t triangle = f.P.nnz * sizes[t];
        int64_t steps = 99, entries = 0;
        for (int times = 1; times <= 8; times *= 2) {
            set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                    .partition.memory = triangle * times});
            const trine_triangular_info info = info_of(&f);
            assert_true(info.entries * sizes[t] <= triangle * times && info.entries >= entries && info.steps <= steps);
            assert_true(times > 1 || info.steps >= 97); /* a level or two come for nothing */
            assert_true(times < 8 || info.steps < 50);
            entries = info.entries, steps = info.steps;
            solve_and_check(&f, TRINE_N, 1, TRINE_ROWMAJOR, true, 1, true);
        }
        trine_triangular_options options = {.method = TRINE_TRI_PARTITIONED_INVERSE, .partition.memory = triangle - 1};
        trine_triangular plan;
        FAILS(TRINE_ERR_MEMORY, "at least", trine_triangular_analyse(f.ctx, &plan, f.A, &options));
        trine_memory memory;
        FAILS(TRINE_ERR_MEMORY, "at least", trine_triangular_memory(f.ctx, f.A, &options, &memory));
        options.partition.memory = INT64_MAX;
        OK(trine_triangular_memory(f.ctx, f.A, &options, &memory));
        assert_true(memory.host_peak >= memory.host_kept && memory.host_kept > 0);
        options.partition.memory = -1;
        FAILS(TRINE_ERR_ARGUMENT, "partition.memory is -1", trine_triangular_analyse(f.ctx, &plan, f.A, &options));
        options.partition.memory = 0, options.partition.levels = -3;
        FAILS(TRINE_ERR_ARGUMENT, "partition.levels is -3", trine_triangular_analyse(f.ctx, &plan, f.A, &options));
        options.partition.levels = 0, options.partition.refine = 2;
        FAILS(TRINE_ERR_ARGUMENT, "partition.refine is 2", trine_triangular_analyse(f.ctx, &plan, f.A, &options));
        close_fixture(&f);
    }
}

/* ------------------------------------------------------------------ growth */

static int64_t all_before(int64_t i, int64_t k, int64_t n) { return (void)n, k < i ? k : -1; }

/** Kahan's matrix, transposed: row i is s^i times (-c, ..., -c, 1), s = sin 1.2, c = cos 1.2; or -1 below a unit
 *  diagonal. */
static struct problem growing(int64_t n, bool kahan)
{
    struct problem P = make_rows(n, n, all_before);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = P.offsets[i]; k < P.offsets[i + 1]; k++) {
            const double scale = kahan ? pow(sin(1.2), (double)i) : 1;
            P.values[k] = P.indices[k] == i ? scale : kahan ? -cos(1.2) * scale : -1;
        }
    return P;
}

/** Right-hand sides of which the solution is small, so that the entries of a large inverse cancel: op(T) times ones,
 *  with all additions in double. */
static void solve_for_ones(const struct fixture *f, trine_transpose op, int64_t nrhs)
{
    const struct problem *P = &f->P;
    const size_t bytes = (size_t)(P->n * nrhs) * trine_dtype_size(f->t);
    value *sums = calloc((size_t)P->n, sizeof *sums);
    char *B = malloc(bytes), *X = malloc(bytes);
    for (int64_t i = 0; i < P->n; i++)
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++)
            sums[op == TRINE_N ? i : P->indices[k]] += P->values[k];
    for (int64_t i = 0; i < P->n; i++)
        for (int64_t j = 0; j < nrhs; j++) put(f->t, B, i * nrhs + j, sums[i]);
    void *b = test_to_device(f->ctx, B, bytes), *x = test_to_device(f->ctx, B, bytes);
    const trine_dense b_block = {b, P->n, nrhs, nrhs, TRINE_ROWMAJOR}, x_block = {x, P->n, nrhs, nrhs, TRINE_ROWMAJOR};
    OK(trine_triangular_solve(f->plan, op, NULL, &b_block, &x_block, NULL));
    test_from_device(f->ctx, X, x, bytes);
    check_solution(P, f->t, f->lower, f->unit, op, 1, B, &b_block, X, &x_block);
    test_release(f->ctx, b);
    test_release(f->ctx, x);
    free(sums);
    free(B);
    free(X);
}

static void inverses_that_grow_are_not_used(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int kahan = 0; kahan < 2; kahan++)
            for (int64_t n = 20; n <= 200; n *= 10) {
                struct fixture f = open_problem(growing(n, kahan), t, false);
                set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                        .ops = TRINE_N | TRINE_T,
                                                        .max_nrhs = 3,
                                                        .partition.levels = 1000});
                const trine_triangular_info info = info_of(&f);
                assert_int_equal(info.steps, 1);
                assert_true(info.growth > 100); /* infinite where the inverse has no numbers */
                assert_true(info.substituted_rows > n / 2 && info.substituted_rows < 2 * n);
                for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2) {
                    solve_for_ones(&f, TRINE_N, nrhs);
                    solve_for_ones(&f, TRINE_T, nrhs);
                }
                if (n == 20) solve_and_check(&f, TRINE_N, 3, TRINE_COLMAJOR, true, 1, true);
                close_fixture(&f);
            }
}

/** Rows and columns in units of their own, also those whose reciprocals are no normal numbers. */
static void rows_and_columns_may_have_any_scale(void **state)
{
    (void)state;
    static const double scales[] = {1e-30, 1e30, 1, 1e-18, 1e25};
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int which = 0; which < 4; which++) {
            struct problem P = make_problem(300, sparse_random, true, which == 3, false, false, 11);
            const bool doubles = t == TRINE_D || t == TRINE_Z;
            for (int64_t i = 0; i < P.n; i++)
                for (int64_t k = P.offsets[i]; k < P.offsets[i + 1]; k++)
                    P.values[k] *= which == 0   ? 1e30
                                   : which == 1 ? 1e-30
                                   : doubles    ? scales[(which == 2 ? i : P.indices[k]) % 5]
                                                : sqrt(scales[(which == 2 ? i : P.indices[k]) % 5]);
            struct fixture f = open_problem(P, t, false);
            set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                    .uplo = which == 3 ? TRINE_UPPER : TRINE_LOWER,
                                                    .ops = TRINE_N | TRINE_T,
                                                    .partition.levels = 20});
            OK(trine_triangular_check(f.plan, NULL));
            /* right-hand sides of size 1 make solutions of 1e+-30, which single precision has */
            solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
            solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
            close_fixture(&f);
        }
}

/** Columns, or with T rows, of scales so unlike that entries of inverses underflow: T[i,k] over T[i,i] where column k
 *  has the smallest scale and column i the largest. Nothing is inverted then; on a GPU that is not looked for. */
static void entries_that_underflow_are_not_used(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        struct problem P = make_problem(300, sparse_random, true, false, false, false, 12);
        const double scale = t == TRINE_D || t == TRINE_Z ? 1e200 : 1e22;
        for (int64_t i = 0; i < P.n; i++)
            for (int64_t k = P.offsets[i]; k < P.offsets[i + 1]; k++)
                P.values[k] *= P.indices[k] < P.n / 2 ? 1 / scale : scale;
        struct fixture f = open_problem(P, t, false);
        set_plan(&f, (trine_triangular_options){
                         .method = TRINE_TRI_PARTITIONED_INVERSE, .ops = TRINE_N | TRINE_T, .partition.levels = 5});
        assert_int_equal(info_of(&f).substituted_rows, 2 * P.n);
        solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, false, 1, true);
        solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
        close_fixture(&f);
    }
}

/** The largest residual of a row over eps times the size of its terms. */
static double componentwise_error(const struct problem *P, const double *b, const double *x)
{
    double worst = 0;
    for (int64_t i = 0; i < P->n; i++) {
        long double residual = b[i], size = fabs(b[i]);
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
            const long double term = (long double)creal(P->values[k]) * x[P->indices[k]];
            residual -= term, size += fabsl(term);
        }
        worst = fmax(worst, (double)(fabsl(residual) / size) / 0x1p-52);
    }
    return worst;
}

/** Solutions of which some entries are tiny: what errors of their neighbours do to their rows is large beside the
 *  terms of these rows, unless it is mended. */
static void refinement_mends_small_components(void **state)
{
    (void)state;
    enum { n = 200000 }; /* so many that trials lose far more than is allowed */
    enum { WITHOUT, ASKED_FOR, BY_CHECK, WAYS };
    double errors[WAYS], *b = malloc(n * sizeof *b), *x = malloc(n * sizeof *x), *wanted = malloc(n * sizeof *wanted);
    for (int refine = WITHOUT; refine < WAYS; refine++) {
        trine_triangular_info info;
        struct problem P = make_rows(n, 1, chain);
        for (int64_t k = 0; k < P.nnz; k++) P.values[k] = k % 2 ? -0.9 - 0.2 * test_uniform(5, (uint64_t)k) : 1;
        for (int64_t i = 0; i < n; i++) wanted[i] = pow(10, -12 * test_uniform(6, (uint64_t)i / 2));
        for (int64_t i = 0; i < n; i++) {
            b[i] = 0;
            for (int64_t k = P.offsets[i]; k < P.offsets[i + 1]; k++) b[i] += creal(P.values[k]) * wanted[P.indices[k]];
        }
        struct fixture f = open_problem(P, TRINE_D, false);
        set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                .ops = TRINE_N | TRINE_T,
                                                .max_nrhs = 5,
                                                .partition = {.levels = 100, .refine = refine == ASKED_FOR}});
        if (refine == BY_CHECK) OK(trine_triangular_check(f.plan, NULL));
        OK(trine_triangular_get_info(f.plan, &info));
        assert_int_equal(info.refined, refine != WITHOUT);
        void *d = test_to_device(f.ctx, b, n * sizeof *b);
        const trine_dense block = {d, n, 1, n, TRINE_COLMAJOR};
        OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &block, &block, NULL));
        test_from_device(f.ctx, x, d, n * sizeof *x);
        test_release(f.ctx, d);
        errors[refine] = componentwise_error(&f.P, b, x);
        for (int64_t nrhs = 1; refine && nrhs <= 5; nrhs += 2) {
            solve_and_check(&f, TRINE_T, nrhs, TRINE_COLMAJOR, true, 2, false);
            solve_and_check(&f, TRINE_N, nrhs, TRINE_ROWMAJOR, false, 1, true);
        }
        if (refine == BY_CHECK) { /* rows that hardly need each other lose nothing */
            double *values = malloc((size_t)f.P.nnz * sizeof *values);
            for (int64_t k = 0; k < f.P.nnz; k++) values[k] = k % 2 ? 1e-6 : 1;
            OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
            assert_int_equal(info_of(&f).refined, 0);
            free(values);
        }
        close_fixture(&f);
    }
    print_message("componentwise backward errors: %.3g eps, refined %.3g and %.3g eps\n", errors[WITHOUT],
                  errors[ASKED_FOR], errors[BY_CHECK]);
    assert_true(errors[WITHOUT] > 1000 && errors[ASKED_FOR] < 8 && errors[BY_CHECK] < 8);
    free(b);
    free(x);
    free(wanted);
}

/* ------------------------------------------------------------------ values */

/** The groups stay as they are; what the last values had of growth and zero pivots is forgotten. */
static void new_values_leave_nothing_of_the_old_ones(void **state)
{
    (void)state;
    struct fixture f = open_problem(growing(120, false), TRINE_D, false);
    const trine_triangular_options options = {
        .method = TRINE_TRI_PARTITIONED_INVERSE, .ops = TRINE_N | TRINE_T, .max_nrhs = 2, .partition.levels = 40};
    double *values = malloc((size_t)f.P.nnz * sizeof *values);
    set_plan(&f, options);
    for (int round = 0; round < 4; round++) {
        const bool grows = round % 2 == 0;
        for (int64_t i = 0; i < f.P.n; i++)
            for (int64_t k = f.P.offsets[i]; k < f.P.offsets[i + 1]; k++)
                f.P.values[k] = values[k] = f.P.indices[k] == i ? (round == 2 && i == 77 ? 0 : 1 + round)
                                            : grows             ? -1
                                                                : 0.25 / (double)f.P.n;
        OK(trine_triangular_numeric(f.plan, TRINE_HOST, values, NULL));
        if (round == 2) {
            FAILS(TRINE_ERR_SINGULAR, "row 77 is zero or NaN", trine_triangular_check(f.plan, NULL));
            continue;
        }
        const trine_triangular_info info = info_of(&f);
        assert_int_equal(info.steps, 3);
        assert_true(grows ? info.growth > 100 && info.substituted_rows > 0
                          : info.growth < 4 && info.substituted_rows == 0);
        solve_and_check(&f, TRINE_N, 2, TRINE_COLMAJOR, false, 1, true);
        solve_and_check(&f, TRINE_T, 1, TRINE_COLMAJOR, false, 1, true);
    }
    free(values);
    close_fixture(&f);
}

/** Rows of levels of every width, of one to a few hundred entries, all sizes of groups. */
static void structures_are_solved_in_groups_of_any_size(void **state)
{
    (void)state;
    static const struct {
        int64_t n, per_row;
        int64_t (*from)(int64_t, int64_t, int64_t);
    } cases[] = {
        {3000, 1, chain},  {3000, 1, dense_first_column}, {1500, 2, arrow},        {2500, 2, grid}, {8200, 3, hubs},
        {9000, 3, layers}, {900, 29, dense_groups},       {2000, 40, dense_corner}};
    static const int32_t levels[] = {0, 2, 33, 100000};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int l = 0; l < 4; l++) {
            if (!test_is_to_do()) continue;
            if (cases[c].from == hubs && levels[l] > 2) continue; /* whose inverse is dense */
            struct fixture f =
                open_problem(make_rows(cases[c].n, cases[c].per_row, cases[c].from), (trine_dtype)(TRINE_S + l), false);
            set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                    .ops = TRINE_N | TRINE_T,
                                                    .max_nrhs = 9,
                                                    .partition.levels = levels[l]});
            OK(trine_triangular_check(f.plan, NULL));
            solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, true, 1, true);
            solve_and_check(&f, TRINE_T, 9, TRINE_ROWMAJOR, false, 1, true);
            close_fixture(&f);
        }
}

/** As exact factors end: narrow levels, and then rows that need all of the last ones, and a few before these. */
enum { LAST = 1401 };
static int64_t dense_end(int64_t i, int64_t k, int64_t n)
{
    const int64_t first = n - LAST, of_last = i - first;
    if (of_last < 0) return k < 2 && i > 30 * k ? i - 1 - 30 * k : -1;
    return k < of_last ? first + k : k < of_last + 3 ? (37 * i + 101 * (k - of_last)) % first : -1;
}

static void last_rows_of_factors_share_steps(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        if (!test_is_to_do()) continue;
        struct problem P = make_rows(LAST + 304, LAST + 3, dense_end);
        for (int64_t i = 0; i < P.n; i++) /* of two precisions inverses grow, of two they do not */
            for (int64_t k = P.offsets[i]; k < P.offsets[i + 1]; k++)
                if (t % 2 == 0 && P.indices[k] != i) P.values[k] /= 64;
        struct fixture f = open_problem(P, t, false);
        const int64_t entry = 4 + (int64_t)trine_dtype_size(t);
        for (int limited = 0; limited < 2; limited++) {
            const trine_transpose op = limited ? TRINE_H : TRINE_T;
            set_plan(&f, (trine_triangular_options){.method = TRINE_TRI_PARTITIONED_INVERSE,
                                                    .ops = TRINE_N | op,
                                                    .max_nrhs = 3,
                                                    .partition.memory = limited ? (f.P.nnz + f.P.nnz / 8) * entry : 0});
            const trine_triangular_info info = info_of(&f);
            /* more than one group, since rows of all levels at once would take numeric too long */
            assert_true(info.levels >= LAST && info.steps > 1 && info.steps < info.levels / 5);
            assert_true((t % 2 != 0) == (info.substituted_rows > 0));
            assert_true(!limited || info.entries <= f.P.nnz + f.P.nnz / 8);
            solve_and_check(&f, TRINE_N, 1, TRINE_COLMAJOR, true, 1, true);
            solve_and_check(&f, op, 3, TRINE_ROWMAJOR, false, 1, true);
        }
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_take_fewer_steps_for_more_entries),
        cmocka_unit_test(groups_have_the_entries_of_the_definition),
        cmocka_unit_test(memory_stays_below_its_limit),
        cmocka_unit_test(inverses_that_grow_are_not_used),
        cmocka_unit_test(rows_and_columns_may_have_any_scale),
        cmocka_unit_test(entries_that_underflow_are_not_used),
        cmocka_unit_test(refinement_mends_small_components),
        cmocka_unit_test(new_values_leave_nothing_of_the_old_ones),
        cmocka_unit_test(structures_are_solved_in_groups_of_any_size),
        cmocka_unit_test(last_rows_of_factors_share_steps),
    };
    return TEST_MAIN(tests);
}
