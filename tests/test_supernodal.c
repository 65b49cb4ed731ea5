/* Supernodal solves against products with the panels themselves, in long double. The factors are made in
 * supernodal_support.c: random supernode trees whose panels are closed under elimination (as Cholesky factors are)
 * or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "supernodal_support.h"

/** Every op and a covering set of the rest, with both inversions where there are two, merged and not. */
static void check_factor(factor *F, unsigned seed)
{
    trine_context ctx = test_context();
    static const int64_t some_nrhs[] = {1, 3, 33, 8, 9, 1, 2};
    unsigned k = seed;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        convert(F, t);
        const trine_panels panels = panels_of(F);
        static const trine_supernodal_invert inversions[] = {TRINE_INVERT_NONE, TRINE_INVERT_OFF, TRINE_INVERT_DIAG};
        for (int variant = 0; variant < 6; variant++) {
            if (!test_is_to_do()) {
                k += 3; /* ops */
                continue;
            }
            trine_supernodal plan;
            const bool single = variant == 2 && (t == TRINE_D || t == TRINE_Z);
            OK(trine_supernodal_analyse(ctx, &plan, &panels,
                                        &(trine_supernodal_options){.invert = inversions[variant / 2],
                                                                    .fill = variant % 2 ? -1 : 0.3,
                                                                    .max_nrhs = 33,
                                                                    .single = single}));
            numeric(plan, F);
            OK(trine_supernodal_check(plan, NULL));
            for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op), k++)
                check_solve(ctx, plan, F,
                            &(solve_case){.op = op,
                                          .nrhs = some_nrhs[k % 7],
                                          .layout_b = (trine_layout)(k / 2 % 2),
                                          .layout_x = (trine_layout)(k % 2),
                                          .in_place = k % 5 == 0,
                                          .scaled = k % 3 != 0,
                                          .single = single},
                            NULL);
            trine_supernodal_destroy(&plan);
        }
    }
    trine_context_destroy(&ctx);
}

static void run(int m, const int *widths, int extra, bool closed, trine_diag diag, unsigned seed)
{
    factor F = make_factor(m, widths, extra, closed, diag, seed);
    check_factor(&F, seed);
    free_factor(&F);
}

static void one_panel_of_any_width_is_solved(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 31, 32, 33, 65, 257};
    for (unsigned k = 0; k < sizeof widths / sizeof *widths; k++) run(1, &widths[k], 0, true, TRINE_NONUNIT, k);
}

static void a_chain_of_panels_is_solved(void **state)
{
    (void)state;
    int widths[12];
    for (int s = 0; s < 12; s++) widths[s] = 1 + 7 * s % 23;
    run(12, widths, 60, true, TRINE_NONUNIT, 6);
}

static void a_forest_is_solved(void **state)
{
    (void)state;
    const int widths[] = {3, 1, 5, 2, 33, 1, 1, 40};
    run(8, widths, 0, true, TRINE_NONUNIT, 7); /* no rows below at all: eight roots */
    run(8, widths, 1, true, TRINE_NONUNIT, 8);
}

static void random_trees_are_solved(void **state)
{
    (void)state;
    for (unsigned seed = 10; seed < 12; seed++) {
        int widths[40];
        for (int s = 0; s < 40; s++) widths[s] = 1 + (int)(test_uniform(seed, (uint64_t)s) * (s < 30 ? 6 : 40));
        run(40, widths, 3, true, TRINE_NONUNIT, seed);
    }
}

static void wide_and_tall_panels_are_solved(void **state)
{
    (void)state;
    const int widths[] = {33, 1, 250, 32, 31, 2, 300};
    run(7, widths, 150, true, TRINE_NONUNIT, 20);
}

static void structures_not_closed_under_elimination_are_solved(void **state)
{
    (void)state;
    int widths[30];
    for (int s = 0; s < 30; s++) widths[s] = 1 + s % 11;
    run(30, widths, 4, false, TRINE_NONUNIT, 30);
    run(30, widths, 4, false, TRINE_UNIT, 31);
}

static void an_empty_factor_is_solved(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_supernodal plan;
    const trine_panels panels = {.dtype = TRINE_D};
    OK(trine_supernodal_analyse(ctx, &plan, &panels, NULL));
    OK(trine_supernodal_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_supernodal_check(plan, NULL));
    const trine_dense X = {.cols = 3};
    OK(trine_supernodal_solve(plan, TRINE_N, NULL, &X, &X, NULL));
    trine_supernodal_destroy(&plan);
    trine_context_destroy(&ctx);
}

static void no_right_hand_sides_is_a_success(void **state)
{
    (void)state;
    scene s = small_scene();
    set_plan(&s, NULL);
    const trine_dense X = {.rows = s.F.n};
    OK(trine_supernodal_solve(s.plan, TRINE_N, NULL, &X, &X, NULL));
    close_scene(&s);
}

static void new_values_replace_old_ones_without_analysis(void **state)
{
    (void)state;
    scene s = small_scene();
    set_plan(&s, NULL);
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < s.F.value_offsets[s.F.m]; i++) s.F.exact[i] *= 1.25;
        convert(&s.F, TRINE_D);
        void *device = test_to_device(s.ctx, s.F.values, (size_t)s.F.value_offsets[s.F.m] * sizeof(double));
        OK(trine_supernodal_numeric(s.plan, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, device, NULL));
        for (int repeat = 0; repeat < 5; repeat++) /* solves leave nothing behind that disturbs the next */
            for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op))
                check_solve(s.ctx, s.plan, &s.F, &(solve_case){.op = op, .nrhs = 1}, NULL);
        test_release(s.ctx, device);
    }
    close_scene(&s);
}

static void works_of_one_plan_are_independent(void **state)
{
    (void)state;
    scene s = small_scene();
    set_plan(&s, NULL);
    size_t bytes, more;
    OK(trine_supernodal_work(s.plan, 5, NULL, &bytes, NULL));
    OK(trine_supernodal_work(s.plan, 33, NULL, &more, NULL));
    assert_true(more >= bytes);
    trine_work first, second;
    OK(trine_supernodal_work(s.plan, 33, NULL, NULL, &first));
    char *buffer, *aligned;
    OK(trine_alloc(s.ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, bytes + 256, (void **)&buffer));
    aligned = buffer + (256 - (uintptr_t)buffer % 256) % 256;
    OK(trine_supernodal_work(s.plan, 5, aligned, &bytes, &second));
    for (int64_t nrhs = 1; nrhs <= 5; nrhs++) { /* few after many in one work */
        check_solve(s.ctx, s.plan, &s.F, &(solve_case){.op = TRINE_N, .nrhs = 38 - 5 * nrhs},
                    &(trine_exec){.work = first});
        check_solve(s.ctx, s.plan, &s.F, &(solve_case){.op = TRINE_T, .nrhs = nrhs}, &(trine_exec){.work = second});
        check_solve(s.ctx, s.plan, &s.F, &(solve_case){.op = TRINE_N, .nrhs = 6 - nrhs}, &(trine_exec){.work = second});
    }
    trine_dense X = {.data = buffer, .rows = s.F.n, .cols = 6};
    FAILS(TRINE_ERR_STATE, "6 right-hand sides, but the work was made for 5",
          trine_supernodal_solve(s.plan, TRINE_N, NULL, &X, &X, &(trine_exec){.work = second}));
    bytes--;
    trine_work none;
    FAILS(TRINE_ERR_ARGUMENT, "the work needs", trine_supernodal_work(s.plan, 5, aligned, &bytes, &none));
    trine_supernodal_destroy(&s.plan); /* works keep what they need */
    trine_work_destroy(&first);
    trine_work_destroy(&second);
    test_release(s.ctx, buffer);
    close_scene(&s);
}

static void transposed_solves_are_bitwise_reproducible(void **state)
{
    (void)state;
    int widths[60];
    for (int k = 0; k < 60; k++) widths[k] = 1 + k % 17;
    scene s = open_scene(make_factor(60, widths, 4, true, TRINE_NONUNIT, 50));
    set_plan(&s, NULL);
    check_reproducible(&s, TRINE_T, 1);
    close_scene(&s);
}

/** Several factors in one plan solve like each of them alone. */
static void a_batch_of_factors_of_different_structure_is_solved(void **state)
{
    (void)state;
    enum { FACTORS = 5 };
    trine_context ctx = test_context();
    factor F[FACTORS];
    trine_panels panels[FACTORS];
    const void *values[FACTORS];
    int64_t n = 0;
    for (int k = 0; k < FACTORS; k++) {
        int widths[13];
        for (int s = 0; s < 13; s++) widths[s] = 1 + (s * (k + 2)) % 13;
        /* one of them is empty */
        F[k] = make_factor(k == 3 ? 0 : 3 * k + 1, widths, 3, k != 2, TRINE_NONUNIT, 70 + (uint64_t)k);
        convert(&F[k], TRINE_D);
        panels[k] = panels_of(&F[k]);
        values[k] = F[k].values;
        n += F[k].n;
    }
    trine_supernodal plan;
    OK(trine_supernodal_analyse_batch(ctx, &plan, panels, FACTORS, &(trine_supernodal_options){.max_nrhs = 2}));
    FAILS(TRINE_ERR_ARGUMENT, "values is NULL", trine_supernodal_numeric_batch(plan, TRINE_HOST, NULL, NULL));
    OK(trine_supernodal_numeric_batch(plan, TRINE_HOST, values, NULL));
    OK(trine_supernodal_check(plan, NULL));
    const size_t bytes = (size_t)(2 * n) * sizeof(double);
    double *b = malloc(bytes), *x = malloc(bytes);
    for (int64_t i = 0; i < 2 * n; i++) b[i] = test_uniform(5, (uint64_t)i) - 0.5;
    void *db = test_to_device(ctx, b, bytes);
    const trine_dense X = {db, n, 2, n, TRINE_COLMAJOR};
    for (trine_transpose op = TRINE_N; op <= TRINE_T; op = (trine_transpose)(2 * op)) {
        OK(trine_supernodal_solve(plan, op, NULL, &X, &X, NULL));
        test_from_device(ctx, x, db, bytes);
        int64_t at = 0;
        for (int k = 0; k < FACTORS; at += F[k++].n)
            for (int64_t j = 0; j < 2; j++) check_solution(&F[k], op, b + j * n + at, x + j * n + at);
        memcpy(b, x, bytes); /* the next op continues from here */
    }
    trine_supernodal_destroy(&plan);
    panels[1].diag = TRINE_UNIT;
    FAILS(TRINE_ERR_ARGUMENT, "factor 1", trine_supernodal_analyse_batch(ctx, &plan, panels, FACTORS, NULL));
    panels[1].diag = TRINE_NONUNIT;
    F[0].rows[0] = (int32_t)F[0].n;
    FAILS(TRINE_ERR_STRUCTURE, "factor 0: row 0 of panel 0",
          trine_supernodal_analyse_batch(ctx, &plan, panels, FACTORS, NULL));
    F[0].rows[0] = 0;
    F[1].row_offsets[1] += INT64_C(1) << 40; /* a row list that is nowhere: not to be read */
    FAILS(TRINE_ERR_STRUCTURE, "factor 1: panel 0 has 1099511",
          trine_supernodal_analyse_batch(ctx, &plan, panels, FACTORS, NULL));
    F[1].row_offsets[1] -= INT64_C(1) << 40;
    FAILS(TRINE_ERR_ARGUMENT, "no factors", trine_supernodal_analyse_batch(ctx, &plan, panels, 0, NULL));
    OK(trine_supernodal_analyse(ctx, &plan, &panels[1], NULL));
    FAILS(TRINE_ERR_ARGUMENT, "analyse_batch", trine_supernodal_numeric_batch(plan, TRINE_HOST, values, NULL));
    trine_supernodal_destroy(&plan);
    test_release(ctx, db);
    free(b);
    free(x);
    for (int k = 0; k < FACTORS; k++) free_factor(&F[k]);
    trine_context_destroy(&ctx);
}

static void info_counts_panels_and_entries(void **state)
{
    (void)state;
    scene s = small_scene();
    int64_t entries = 0;
    for (int64_t k = 0; k < s.F.m; k++) {
        const int64_t w = s.F.first[k + 1] - s.F.first[k], h = s.F.row_offsets[k + 1] - s.F.row_offsets[k];
        entries += w * h - w * (w - 1) / 2;
    }
    trine_supernodal_info info;
    set_plan(&s, &(trine_supernodal_options){.fill = -1});
    OK(trine_supernodal_get_info(s.plan, &info));
    assert_int_equal(info.n, s.F.n);
    assert_int_equal(info.nnz, entries);
    assert_int_equal(info.nnz_merged, entries);
    assert_int_equal(info.panels, 4);
    assert_int_equal(info.panels_merged, 4);
    assert_int_equal(info.levels, info.levels_merged);
    assert_int_equal(info.min_width, 1);
    assert_int_equal(info.max_width, 4);
    assert_true(info.bytes > 0);
    set_plan(&s, &(trine_supernodal_options){.fill = 0.9});
    OK(trine_supernodal_get_info(s.plan, &info));
    assert_true(info.panels_merged < info.panels);
    assert_true(info.nnz_merged >= info.nnz);
    close_scene(&s);
}

static void panels_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    scene s = small_scene();
    trine_context ctx = s.ctx;
    trine_supernodal plan;
    factor F = s.F;
    trine_panels P = s.panels;
    const int32_t columns = F.first[1], row = F.rows[2];
#define REFUSED(text)                                                                 \
    FAILS(TRINE_ERR_STRUCTURE, text, trine_supernodal_analyse(ctx, &plan, &P, NULL)); \
    assert_null(plan)
    F.first[0] = 1;
    REFUSED("panel 0 starts at column 1");
    F.first[0] = 0;
    F.first[1] = 0;
    REFUSED("panel 0 has 0 columns");
    F.first[1] = columns;
    F.first[1] = 100;
    REFUSED("panel 0 ends at column 100");
    F.first[1] = columns;
    P.n++;
    REFUSED("the last panel ends at column 10, not at n = 11");
    P.n--;
    P.n_panels = 0;
    REFUSED("no panels for 10 columns");
    P.n_panels = 4;
    F.rows[1] = 0;
    REFUSED("row 1 of panel 0 is 0, not its own column 1");
    F.rows[1] = 1;
    F.rows[2] = 1;
    REFUSED("do not ascend: 1 comes after 1");
    F.rows[2] = row;
    F.rows[2] = 10;
    REFUSED("row index 10 in panel 0 is outside 0..9");
    F.rows[2] = -1;
    REFUSED("outside");
    F.rows[2] = row;
    F.row_offsets[1] -= 100;
    REFUSED("fewer than its 2 columns");
    F.row_offsets[1] += 100;
    F.value_offsets[1]--;
    REFUSED("room for");
    F.value_offsets[1]++;
#undef REFUSED
    OK(trine_supernodal_analyse(ctx, &plan, &P, NULL));
    trine_supernodal_destroy(&plan);
    close_scene(&s);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    scene s = small_scene();
    trine_context ctx = s.ctx;
    trine_supernodal plan;
    factor F = s.F;
    trine_panels P = s.panels;
    FAILS(TRINE_ERR_ARGUMENT, "plan", trine_supernodal_analyse(ctx, NULL, &P, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx", trine_supernodal_analyse(NULL, &plan, &P, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "panels", trine_supernodal_analyse(ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "fill", trine_supernodal_analyse(ctx, &plan, &P, &(trine_supernodal_options){.fill = 1}));
    FAILS(TRINE_ERR_ARGUMENT, "max_nrhs",
          trine_supernodal_analyse(ctx, &plan, &P, &(trine_supernodal_options){.max_nrhs = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "inversion",
          trine_supernodal_analyse(ctx, &plan, &P, &(trine_supernodal_options){.invert = (trine_supernodal_invert)9}));
    FAILS(TRINE_ERR_UNSUPPORTED, "inverted diagonal blocks",
          trine_supernodal_analyse(
              ctx, &plan, &P, &(trine_supernodal_options){.invert = TRINE_INVERT_NONE, .variant = TRINE_VARIANT_SPMV}));
    FAILS(
        TRINE_ERR_ARGUMENT, "variant",
        trine_supernodal_analyse(ctx, &plan, &P, &(trine_supernodal_options){.variant = (trine_supernodal_variant)9}));
    FAILS(TRINE_ERR_ARGUMENT, "streams",
          trine_supernodal_analyse(ctx, &plan, &P, &(trine_supernodal_options){.streams = 33}));
    P.dtype = (trine_dtype)0;
    FAILS(TRINE_ERR_ARGUMENT, "dtype", trine_supernodal_analyse(ctx, &plan, &P, NULL));
    P.dtype = TRINE_D;
    P.rows = NULL;
    FAILS(TRINE_ERR_ARGUMENT, "rows", trine_supernodal_analyse(ctx, &plan, &P, NULL));
    P.rows = F.rows;
    OK(trine_supernodal_analyse(ctx, &plan, &P, NULL));
    double x[11] = {0};
    trine_dense X = {x, 10, 1, 0, TRINE_COLMAJOR}, wrong = X;
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_supernodal_solve(plan, TRINE_N, NULL, &X, &X, NULL));
    FAILS(TRINE_ERR_STATE, "comes after numeric", trine_supernodal_check(plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "values", trine_supernodal_numeric(plan, TRINE_HOST, NULL, NULL));
    if (!test_on_gpu())
        FAILS(TRINE_ERR_ARGUMENT, "no device memory", trine_supernodal_numeric(plan, TRINE_DEVICE, F.values, NULL));
    numeric(plan, &F);
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_supernodal_solve(plan, (trine_transpose)3, NULL, &X, &X, NULL));
    wrong.rows = 9;
    FAILS(TRINE_ERR_ARGUMENT, "B has 9 rows", trine_supernodal_solve(plan, TRINE_N, NULL, &wrong, &X, NULL));
    wrong.rows = 10, wrong.cols = 2;
    FAILS(TRINE_ERR_ARGUMENT, "columns", trine_supernodal_solve(plan, TRINE_N, NULL, &wrong, &X, NULL));
    wrong.cols = 1, wrong.ld = 11;
    FAILS(TRINE_ERR_ARGUMENT, "leading dimension", trine_supernodal_solve(plan, TRINE_N, NULL, &wrong, &X, NULL));
    wrong.cols = 2, wrong.ld = 10;
    FAILS(TRINE_ERR_STATE, "made for 1", trine_supernodal_solve(plan, TRINE_N, NULL, &wrong, &wrong, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "nrhs", trine_supernodal_work(plan, -1, NULL, &(size_t){0}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "info", trine_supernodal_get_info(plan, NULL));
    trine_supernodal_destroy(&plan);
    trine_supernodal_destroy(&plan);
    close_scene(&s);
}

static void more_right_hand_sides_than_fit_in_memory_are_refused(void **state)
{
    (void)state;
    static const int64_t absurd[] = {INT64_MAX, INT64_MAX / 2, INT64_MAX / 8 - 1, INT64_C(1) << 55};
    scene s = small_scene();
    trine_supernodal plan = (trine_supernodal)1;
    trine_work work;
    size_t bytes = 77;
    const trine_panels empty = {.dtype = TRINE_D};
    for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++) {
        for (int single = 0; single <= 1; single++) {
            const trine_supernodal_options options = {.max_nrhs = absurd[k], .single = single};
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  trine_supernodal_analyse(s.ctx, &plan, &s.panels, &options));
            assert_null(plan);
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  trine_supernodal_analyse(s.ctx, &plan, &empty, &options));
            OK(trine_supernodal_analyse(s.ctx, &plan, &s.panels, &(trine_supernodal_options){.single = single}));
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  trine_supernodal_work(plan, absurd[k], NULL, &bytes, NULL));
            FAILS(TRINE_ERR_MEMORY, "more than any memory has",
                  trine_supernodal_work(plan, absurd[k], NULL, NULL, &work));
            assert_int_equal(bytes, 77);
            trine_supernodal_destroy(&plan);
        }
    }
    close_scene(&s);
}

static void check_names_the_first_bad_diagonal_row(void **state)
{
    (void)state;
    scene s = small_scene();
    set_plan(&s, &(trine_supernodal_options){.fill = 0.9});
    const factor *F = &s.F;
    double *values = F->values;
    const int64_t h1 = F->row_offsets[2] - F->row_offsets[1], h3 = F->row_offsets[4] - F->row_offsets[3];
    double *fourth = &values[F->value_offsets[1] + 2 + 2 * h1], *last = &values[F->value_offsets[3] + 3 + 3 * h3];
    const double kept = *fourth;
    *last = NAN;
    numeric(s.plan, F);
    FAILS(TRINE_ERR_SINGULAR, "row 9 ", trine_supernodal_check(s.plan, NULL));
    *fourth = 0;
    numeric(s.plan, F);
    FAILS(TRINE_ERR_SINGULAR, "row 4 ", trine_supernodal_check(s.plan, NULL));
    *fourth = kept;
    *last = 1;
    numeric(s.plan, F);
    OK(trine_supernodal_check(s.plan, NULL));
    check_solve(s.ctx, s.plan, F, &(solve_case){.op = TRINE_N, .nrhs = 1}, NULL);
    close_scene(&s);
}

static void a_failing_allocation_leaves_nothing_behind(void **state)
{
    (void)state;
    scene s = small_scene();
    for (int single = 0; single < 2; single++)
        fail_every_allocation(&s.F, &(trine_supernodal_options){.invert = TRINE_INVERT_OFF, .single = single},
                              test_fail_allocations);
    close_scene(&s);
}

/** The oracle itself, against products in long double. */
static void the_reference_solves_in_all_precisions(void **state)
{
    (void)state;
    for (int diag = 0; diag < 2; diag++) {
        factor F = mixed_factor(diag ? TRINE_UNIT : TRINE_NONUNIT, true);
        for (int t = TRINE_S; t <= TRINE_Z; t++)
            for (int op = TRINE_N; op <= TRINE_H; op *= 2) {
                convert(&F, (trine_dtype)t);
                char *b = calloc((size_t)F.n, trine_dtype_size(F.dtype)),
                     *x = calloc((size_t)F.n, trine_dtype_size(F.dtype));
                for (int64_t i = 0; i < F.n; i++) put(F.dtype, b, i, right_hand_side(i, 0));
                memcpy(x, b, (size_t)F.n * trine_dtype_size(F.dtype));
                reference_solve(&F, (trine_transpose)op, x);
                assert_true(normwise_error(&F, (trine_transpose)op, 1, false, b, x) <= (double)F.n);
                free(b);
                free(x);
            }
        free_factor(&F);
    }
}

/** `columns` right-hand sides of different sizes, sizes[0 .. columns-1], by columns or by rows. y: the solution for
 *  size 1. factor: the factor's size, for messages. */
static void check_sizes(const scene *s, trine_supernodal plan, const double *y, double factor, const double *sizes,
                        int columns, trine_layout layout, double alpha)
{
    const size_t n = (size_t)s->F.n, bytes = n * (size_t)columns * 8;
    double *b = malloc(bytes), *x = malloc(bytes);
    const size_t row = layout == TRINE_ROWMAJOR ? (size_t)columns : 1, column = layout == TRINE_ROWMAJOR ? 1 : n;
    for (int j = 0; j < columns; j++)
        for (size_t i = 0; i < n; i++)
            b[i * row + (size_t)j * column] = creal(right_hand_side((int64_t)i, 0)) * sizes[j];
    void *B = test_to_device(s->ctx, b, bytes), *X = test_to_device(s->ctx, x, bytes);
    const trine_dense db = {.data = B, .rows = s->F.n, .cols = columns, .layout = layout},
                      dx = {.data = X, .rows = s->F.n, .cols = columns, .layout = layout};
    OK(trine_supernodal_solve(plan, TRINE_N, &alpha, &db, &dx, NULL));
    test_from_device(s->ctx, x, X, bytes);
    test_release(s->ctx, B), test_release(s->ctx, X);
    for (int j = 0; j < columns; j++) {
        double most = 0, error = 0;
        for (size_t i = 0; i < n; i++) {
            const double exact = y[i] * sizes[j] * alpha;
            most = fmax(most, fabs(exact));
            error = fmax(error, fabs(x[i * row + (size_t)j * column] - exact));
        }
        if (!(error <= 1e-5 * most))
            fail_msg("factor %g, right-hand side %d of %d of %g: error %g of %g", factor, j, columns, sizes[j], error,
                     most);
    }
    free(b), free(x);
}
/** Scales of the factor, of right-hand sides and of alpha, of which single precision holds some. */
static void a_factor_in_single_precision_has_its_range(void **state)
{
    (void)state;
    enum { SIZES = 6, COLUMNS = 3 };
    static const double factors[] = {1, 1e30, 1e-30, 1e45, 1e-45, 1e-39},
                        vectors[] = {1, 1e30, 1e-30, 1e45, 1e-45, 1e-200, 1, 1e45};
    scene s = mixed_scene();
    const size_t n = (size_t)s.F.n;
    const int64_t values = s.F.value_offsets[s.F.m];
    double *y = malloc(n * 8), *kept = malloc((size_t)values * 8);
    memcpy(kept, s.F.values, (size_t)values * 8);
    for (int f = 0; f < SIZES; f++)
        for (int invert = 0; invert < 2; invert++) {
            trine_supernodal plan;
            for (int64_t k = 0; k < values; k++) ((double *)s.F.values)[k] = kept[k] * factors[f];
            const trine_supernodal_options o = {
                .single = 1, .invert = invert ? TRINE_INVERT_OFF : TRINE_INVERT_NONE, .max_nrhs = COLUMNS};
            OK(trine_supernodal_analyse(s.ctx, &plan, &s.panels, &o));
            numeric(plan, &s.F);
            if (f == 3) FAILS(TRINE_ERR_NO_CONVERGENCE, "beyond the range", trine_supernodal_check(plan, NULL));
            else if (f >= 4) FAILS(TRINE_ERR_SINGULAR, "rounded to single", trine_supernodal_check(plan, NULL));
            else OK(trine_supernodal_check(plan, NULL));
            for (size_t i = 0; i < n; i++) y[i] = creal(right_hand_side((int64_t)i, 0));
            reference_solve(&s.F, TRINE_N, y);
            for (int v = 0; v < SIZES && f < (invert ? 1 : 3); v++)
                for (int way = 0; way < 4; way++)
                    check_sizes(&s, plan, y, factors[f], vectors + v, way / 2 ? COLUMNS : 1,
                                way % 2 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, v % 2 ? 1e-60 : 1);
            OK(trine_supernodal_destroy(&plan));
        }
    free(y), free(kept);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_factor_in_single_precision_has_its_range),
                                       cmocka_unit_test(the_reference_solves_in_all_precisions),
                                       cmocka_unit_test(one_panel_of_any_width_is_solved),
                                       cmocka_unit_test(a_chain_of_panels_is_solved),
                                       cmocka_unit_test(a_forest_is_solved),
                                       cmocka_unit_test(random_trees_are_solved),
                                       cmocka_unit_test(wide_and_tall_panels_are_solved),
                                       cmocka_unit_test(structures_not_closed_under_elimination_are_solved),
                                       cmocka_unit_test(an_empty_factor_is_solved),
                                       cmocka_unit_test(no_right_hand_sides_is_a_success),
                                       cmocka_unit_test(new_values_replace_old_ones_without_analysis),
                                       cmocka_unit_test(works_of_one_plan_are_independent),
                                       cmocka_unit_test(transposed_solves_are_bitwise_reproducible),
                                       cmocka_unit_test(a_batch_of_factors_of_different_structure_is_solved),
                                       cmocka_unit_test(info_counts_panels_and_entries),
                                       cmocka_unit_test(panels_that_do_not_fit_are_refused),
                                       cmocka_unit_test(wrong_arguments_are_named),
                                       cmocka_unit_test(more_right_hand_sides_than_fit_in_memory_are_refused),
                                       cmocka_unit_test(check_names_the_first_bad_diagonal_row),
                                       cmocka_unit_test(a_failing_allocation_leaves_nothing_behind)};
    return TEST_MAIN(tests);
}
