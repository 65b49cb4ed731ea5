/* Every variant of the supernodal solve against products with the panels in long double, on either device; bitwise
 * reproducibility where it is promised; memory that ends. */
#include "supernodal_support.h"

/** Enough entries for several threads on a CPU, in a tree with many branches whose root they share. */
static factor large_factor(void)
{
    enum { PANELS = 200 };
    int widths[PANELS];
    for (int s = 0; s < PANELS; s++) widths[s] = s == PANELS - 1 ? 400 : 10 + 7 * s % 31;
    return make_factor(PANELS, widths, 1, true, TRINE_NONUNIT, 92);
}

static bool is_offered(trine_supernodal_variant v, trine_supernodal_invert invert)
{
    return v != TRINE_VARIANT_SPMV || invert != TRINE_INVERT_NONE;
}

/** One plan, all ops, with numbers of right-hand sides below and at what the work is sized for. */
static void check_plan(trine_context ctx, factor *F, const trine_supernodal_options *options, unsigned seed)
{
    static const int64_t some_nrhs[] = {1, 9, 5, 8, 2};
    const trine_panels panels = panels_of(F);
    trine_supernodal plan;
    trine_supernodal_options with = *options;
    with.max_nrhs = 9;
    OK(trine_supernodal_analyse(ctx, &plan, &panels, &with));
    numeric(plan, F);
    OK(trine_supernodal_check(plan, NULL));
    unsigned k = seed;
    for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op))
        for (int round = 0; round < 2; round++, k++)
            check_solve(ctx, plan, F,
                        &(solve_case){.op = op,
                                      .nrhs = some_nrhs[k % 5],
                                      .layout_b = (trine_layout)(k / 2 % 2),
                                      .layout_x = (trine_layout)(k % 2),
                                      .in_place = k % 3 == 0,
                                      .scaled = k % 4 != 0,
                                      .single = with.single},
                        NULL);
    trine_supernodal_destroy(&plan);
}

static void check_variants(trine_diag diag, bool closed)
{
    trine_context ctx = test_context();
    factor F = mixed_factor(diag, closed);
    unsigned seed = 0;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        convert(&F, t);
        for (trine_supernodal_variant v = TRINE_VARIANT_AUTO; v <= TRINE_VARIANT_SPMV; v++)
            for (trine_supernodal_invert invert = TRINE_INVERT_NONE; invert <= TRINE_INVERT_FULL; invert++)
                for (int how = 0; how < 4; how++, seed++) {
                    const trine_supernodal_access access = how % 2 ? TRINE_ACCESS_PULL : TRINE_ACCESS_PUSH;
                    const int single = how / 2;
                    if (!is_offered(v, invert) || (single && (t == TRINE_S || t == TRINE_C)) || !test_is_to_do())
                        continue;
                    check_plan(ctx, &F,
                               &(trine_supernodal_options){.variant = v,
                                                           .invert = invert,
                                                           .access = access,
                                                           .single = single,
                                                           .fill = seed % 3 ? -1 : 0.3,
                                                           .threshold = 30,
                                                           .streams = 1 + seed % 4,
                                                           .teams = seed % 5,
                                                           .no_graph = seed % 7 == 0},
                               seed);
                }
    }
    free_factor(&F);
    trine_context_destroy(&ctx);
}

static void every_variant_solves(void **state)
{
    (void)state;
    check_variants(TRINE_NONUNIT, true);
}

static void every_variant_solves_with_a_unit_diagonal_and_an_open_structure(void **state)
{
    (void)state;
    check_variants(TRINE_UNIT, false);
}

static void pulled_solves_are_bitwise_reproducible(void **state)
{
    (void)state;
    scene s = test_on_gpu() ? mixed_scene() : open_scene(large_factor());
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        set_plan(
            &s,
            &(trine_supernodal_options){
                .variant = v, .invert = TRINE_INVERT_OFF, .access = TRINE_ACCESS_PULL, .max_nrhs = 3, .threshold = 30});
        check_reproducible(&s, TRINE_N, 3);
    }
    close_scene(&s);
}

static void every_variant_solves_with_a_large_factor(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    factor F = large_factor();
    unsigned seed = 0;
    for (trine_dtype t = TRINE_D; t <= TRINE_Z; t += TRINE_Z - TRINE_D) {
        convert(&F, t);
        const trine_panels panels = panels_of(&F);
        for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++)
            for (trine_supernodal_invert invert = TRINE_INVERT_NONE; invert <= TRINE_INVERT_DIAG; invert++, seed++) {
                trine_supernodal plan;
                if (!is_offered(v, invert) || !test_is_to_do()) continue;
                OK(trine_supernodal_analyse(
                    ctx, &plan, &panels,
                    &(trine_supernodal_options){.variant = v,
                                                .invert = invert,
                                                .max_nrhs = 9,
                                                .fill = -1,
                                                .access = seed % 2 ? TRINE_ACCESS_PUSH : TRINE_ACCESS_PULL,
                                                .threshold = 100}));
                numeric(plan, &F);
                check_solve(ctx, plan, &F, &(solve_case){.op = TRINE_N, .nrhs = 1 + 8 * (seed / 2 % 2)}, NULL);
                check_solve(
                    ctx, plan, &F,
                    &(solve_case){.op = seed % 3 ? TRINE_T : TRINE_H, .nrhs = 9 - 8 * (seed / 2 % 2), .in_place = true},
                    NULL);
                trine_supernodal_destroy(&plan);
            }
    }
    free_factor(&F);
    trine_context_destroy(&ctx);
}

static void no_variant_leaks_when_memory_ends(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    scene s = mixed_scene();
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++)
        fail_every_allocation(&s.F, &(trine_supernodal_options){.variant = v, .invert = TRINE_INVERT_DIAG},
                              test_fail_allocations);
    close_scene(&s);
}

/** Asked for and reported as in the other plans. */
static void a_fixed_order_is_asked_for_by_summation(void **state)
{
    (void)state;
    static const trine_supernodal_variant variants[] = {TRINE_VARIANT_DYNAMIC, TRINE_VARIANT_DEFAULT,
                                                        TRINE_VARIANT_STREAM, TRINE_VARIANT_TEAM, TRINE_VARIANT_SPMV};
    scene s = mixed_scene();
    trine_supernodal_info info;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        const bool always =
            variants[v] == TRINE_VARIANT_SPMV || (variants[v] == TRINE_VARIANT_DYNAMIC && !test_on_gpu());
        set_plan(&s, &(trine_supernodal_options){.variant = variants[v]});
        OK(trine_supernodal_get_info(s.plan, &info));
        assert_int_equal(info.deterministic, always);
        trine_supernodal plan;
        const trine_supernodal_options push = {
            .variant = variants[v], .access = TRINE_ACCESS_PUSH, .summation = TRINE_ORDER_DETERMINISTIC};
        if (always) {
            OK(trine_supernodal_analyse(s.ctx, &plan, &s.panels, &push));
            OK(trine_supernodal_destroy(&plan));
        } else {
            FAILS(TRINE_ERR_UNSUPPORTED, "cannot be deterministic",
                  trine_supernodal_analyse(s.ctx, &plan, &s.panels, &push));
        }
        set_plan(&s,
                 &(trine_supernodal_options){
                     .variant = variants[v], .max_nrhs = 3, .threshold = 30, .summation = TRINE_ORDER_DETERMINISTIC});
        OK(trine_supernodal_get_info(s.plan, &info));
        assert_int_equal(info.deterministic, 1);
        for (trine_transpose op = TRINE_N; op <= TRINE_T; op = (trine_transpose)(2 * op)) check_reproducible(&s, op, 3);
    }
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_order_is_asked_for_by_summation),
        cmocka_unit_test(every_variant_solves),
        cmocka_unit_test(every_variant_solves_with_a_unit_diagonal_and_an_open_structure),
        cmocka_unit_test(every_variant_solves_with_a_large_factor),
        cmocka_unit_test(pulled_solves_are_bitwise_reproducible),
        cmocka_unit_test(no_variant_leaks_when_memory_ends)};
    return TEST_MAIN(tests);
}
