/* Supernodal solves with panels whose inverses lose digits: by default none are lost, and inverses asked for say
 * what they lose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trine/direct.h>

#include "supernodal_support.h"

enum { MOST = 10, NRHS = 33 }; /* eps; the bound of ten is the paper's measure of a good solve */

/** Entries O(1) in the triangle of panel s: its inverse grows exponentially with its columns. */
static void let_grow(factor *F, int64_t s, uint64_t seed)
{
    const int64_t w = F->first[s + 1] - F->first[s], h = F->row_offsets[s + 1] - F->row_offsets[s];
    for (int64_t c = 0; c < w; c++)
        for (int64_t r = c; r < w; r++) {
            const uint64_t k = (uint64_t)((s * 128 + c) * 128 + r);
            double complex *v = &F->exact[F->value_offsets[s] + c * h + r];
            if (r == c) *v = F->diag == TRINE_UNIT ? NAN : 1;
            else *v = 2 * test_uniform(seed, k) - 1;
        }
}

/** All of its inverses grow. */
static factor growing_factor(trine_diag diag, uint64_t seed)
{
    const int widths[] = {3, 100, 8, 64, 1, 40, 70};
    factor F = make_factor(7, widths, 20, true, diag, seed);
    for (int64_t s = 0; s < F.m; s++) let_grow(&F, s, seed);
    return F;
}

/** Three inverses of twenty grow: at a leaf, in the middle and near the root, of four parts, three and four. */
static factor partly_growing_factor(trine_diag diag, uint64_t seed)
{
    int widths[20];
    for (int s = 0; s < 20; s++) widths[s] = 1 + 7 * s % 45;
    widths[1] = 100;
    widths[10] = 80;
    widths[17] = 120;
    factor F = make_factor(20, widths, 12, true, diag, seed);
    for (int64_t s = 1; s < F.m; s++)
        if (widths[s] >= 80) let_grow(&F, s, seed);
    return F;
}

static trine_supernodal_info info_of(trine_supernodal plan)
{
    trine_supernodal_info info;
    OK(trine_supernodal_check(plan, NULL));
    OK(trine_supernodal_get_info(plan, &info));
    return info;
}

/** The largest error of solves with op, for x of ones, signs and a random b. */
static double error_of(trine_context ctx, trine_supernodal plan, const factor *F, trine_transpose op, int64_t nrhs,
                       bool single)
{
    const size_t column = (size_t)F->n * trine_dtype_size(F->dtype), bytes = column * (size_t)nrhs;
    char *b = calloc(bytes + 1, 1), *x = calloc(bytes + 1, 1);
    for (int64_t j = 0; j < nrhs; j++) {
        for (int64_t i = 0; i < F->n; i++) {
            const double u = test_uniform(3 + (uint64_t)j, (uint64_t)i);
            put(F->dtype, x, i, j % 3 == 0 ? 1 : j % 3 == 1 ? (u < 0.5 ? -1 : 1) : 2 * u - 1);
        }
        if (j % 3 == 2) memcpy(b + (size_t)j * column, x, column);
        else apply(F, op, x, b + (size_t)j * column);
    }
    void *data = test_to_device(ctx, b, bytes);
    const trine_dense X = {data, F->n, nrhs, F->n, TRINE_COLMAJOR};
    OK(trine_supernodal_solve(plan, op, NULL, &X, &X, NULL));
    test_from_device(ctx, x, data, bytes);
    const double error = normwise_error(F, op, nrhs, single, b, x);
    test_release(ctx, data);
    free(b);
    free(x);
    return error;
}

static void assert_accurate(trine_context ctx, trine_supernodal plan, const factor *F, bool single)
{
    static const int64_t some_nrhs[] = {1, 3, NRHS};
    for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op))
        for (int k = 0; k < 3; k++) {
            const double error = error_of(ctx, plan, F, op, some_nrhs[k], single);
            if (!(error < MOST))
                print_error("dtype %d, op %d, %d right-hand sides: %g eps\n", F->dtype, op, (int)some_nrhs[k], error);
            assert_true(error < MOST);
        }
}

/** Panels are substituted, on a GPU none whose inverses are accurate. */
static void assert_substituted(const trine_supernodal_info *info, bool chooses, bool partly)
{
    if (!chooses || !partly) assert_true(info->substituted_panels > 0);
    else if (!(info->substituted_panels > 0 && info->substituted_panels < info->panels_merged))
        fail_msg("%lld of %lld panels are substituted, growth %g", (long long)info->substituted_panels,
                 (long long)info->panels_merged, info->growth);
    assert_int_equal(info->invert,
                     info->substituted_panels == info->panels_merged ? TRINE_INVERT_NONE : TRINE_INVERT_OFF);
    if (!chooses) assert_int_equal(info->invert, TRINE_INVERT_NONE);
    assert_true(chooses ? !(info->growth <= MOST) : info->growth == 0);
}

/** Kind 2: panels in single precision where the factor is not; 3: pull; 4: a team of threads. */
static trine_supernodal_options options_of(trine_dtype t, int kind)
{
    return (trine_supernodal_options){.single = kind == 2 && (t == TRINE_D || t == TRINE_Z),
                                      .access = kind == 3 ? TRINE_ACCESS_PULL : TRINE_ACCESS_AUTO,
                                      .variant = kind == 4 ? TRINE_VARIANT_TEAM : TRINE_VARIANT_AUTO};
}
static trine_supernodal analysed(trine_context ctx, const factor *F, trine_supernodal_options o)
{
    const trine_panels panels = panels_of(F);
    trine_supernodal plan;
    o.max_nrhs = NRHS;
    OK(trine_supernodal_analyse(ctx, &plan, &panels, &o));
    return plan;
}

static void nothing_is_lost_by_default(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int kind = 0; kind < 5; kind++) {
            factor F = growing_factor(kind == 1 ? TRINE_UNIT : TRINE_NONUNIT, 40 + (uint64_t)kind);
            convert(&F, t);
            const trine_supernodal_options o = options_of(t, kind);
            trine_supernodal plan =
                analysed(ctx, &F,
                         (trine_supernodal_options){
                             .single = o.single, .access = o.access, .variant = o.variant, .threshold = 30});
            numeric(plan, &F);
            assert_accurate(ctx, plan, &F, o.single);
            const trine_supernodal_info info = info_of(plan);
            assert_substituted(&info, test_on_gpu() && kind != 4, false);
            trine_supernodal_destroy(&plan);
            free_factor(&F);
        }
    trine_context_destroy(&ctx);
}

static void panels_choose_for_themselves(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int kind = 0; kind < 4; kind++) {
            factor F = partly_growing_factor(kind == 1 ? TRINE_UNIT : TRINE_NONUNIT, 60 + (uint64_t)kind);
            convert(&F, t);
            const trine_supernodal_options o = options_of(t, kind);
            trine_supernodal plan =
                analysed(ctx, &F, (trine_supernodal_options){.single = o.single, .access = o.access, .fill = -1});
            trine_supernodal_info info;
            OK(trine_supernodal_get_info(plan, &info));
            assert_int_equal(info.substituted_panels, test_on_gpu() ? -1 : F.m);
            numeric(plan, &F);
            for (int repeat = 0; repeat < 3; repeat++)
                assert_accurate(ctx, plan, &F, o.single); /* odd and even solves */
            info = info_of(plan);
            assert_int_equal(info.panels_merged, F.m);
            assert_substituted(&info, test_on_gpu(), true);
            trine_supernodal_destroy(&plan);
            free_factor(&F);
        }
    trine_context_destroy(&ctx);
}

static void inverses_asked_for_say_what_they_lose(void **state)
{
    (void)state;
    static const trine_supernodal_invert inversions[] = {TRINE_INVERT_OFF, TRINE_INVERT_DIAG, TRINE_INVERT_FULL};
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++)
        for (int k = 0; k < 3; k++)
            for (int unit = 0; unit < 2; unit++) {
                factor bad = growing_factor(unit ? TRINE_UNIT : TRINE_NONUNIT, 40),
                       good = mixed_factor(unit ? TRINE_UNIT : TRINE_NONUNIT, true);
                trine_supernodal plan;
                convert(&bad, t);
                convert(&good, t);
                trine_panels panels = panels_of(&bad);
                OK(trine_supernodal_analyse(ctx, &plan, &panels,
                                            &(trine_supernodal_options){.invert = inversions[k], .max_nrhs = 3}));
                numeric(plan, &bad);
                trine_supernodal_info info = info_of(plan);
                assert_int_equal(info.invert, inversions[k]);
                assert_int_equal(info.substituted_panels, 0);
                assert_true(!(info.growth <= 100));
                const double forward = error_of(ctx, plan, &bad, TRINE_N, 3, false),
                             backward = error_of(ctx, plan, &bad, TRINE_T, 3, false);
                assert_false(forward <= MOST && backward <= MOST);
                trine_supernodal_destroy(&plan);

                panels = panels_of(&good);
                OK(trine_supernodal_analyse(ctx, &plan, &panels,
                                            &(trine_supernodal_options){.invert = inversions[k], .max_nrhs = 3}));
                numeric(plan, &good);
                info = info_of(plan);
                if (!(info.growth < MOST))
                    print_error("dtype %d, inversion %d: growth %g\n", t, inversions[k], info.growth);
                assert_true(info.growth > 0 && info.growth < MOST);
                assert_true(error_of(ctx, plan, &good, TRINE_N, 3, false) < MOST &&
                            error_of(ctx, plan, &good, TRINE_T, 3, false) < MOST);
                trine_supernodal_destroy(&plan);
                free_factor(&bad);
                free_factor(&good);
            }
    trine_context_destroy(&ctx);
}

/** The method changes with the values, in works that are there already, from values on either side. */
static void every_numeric_chooses_anew(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int kind = 0; kind < 4; kind++) {
        const trine_supernodal_access access = kind % 2 ? TRINE_ACCESS_PULL : TRINE_ACCESS_PUSH;
        const bool partly = kind >= 2;
        factor F = partly ? partly_growing_factor(TRINE_NONUNIT, 60) : growing_factor(TRINE_NONUNIT, 40);
        convert(&F, TRINE_D);
        const int64_t count = F.value_offsets[F.m];
        double complex *bad = malloc((size_t)count * sizeof *bad);
        memcpy(bad, F.exact, (size_t)count * sizeof *bad);
        const trine_panels panels = panels_of(&F);
        trine_supernodal plan;
        OK(trine_supernodal_analyse(
            ctx, &plan, &panels,
            &(trine_supernodal_options){.max_nrhs = NRHS, .access = access, .fill = partly ? -1 : 0}));
        for (int round = 0; round < 6; round++) {
            const bool good = round % 2;
            for (int64_t s = 0; s < F.m; s++) {
                const int64_t w = F.first[s + 1] - F.first[s], h = F.row_offsets[s + 1] - F.row_offsets[s];
                for (int64_t k = 0; k < w * h; k++) {
                    const int64_t at = F.value_offsets[s] + k, r = k % h, c = k / h;
                    F.exact[at] = bad[at] / (good && r > c && r < w ? (double)w : 1);
                }
            }
            convert(&F, TRINE_D);
            void *device = test_to_device(ctx, F.values, (size_t)count * sizeof(double));
            if (round < 3) numeric(plan, &F);
            else OK(trine_supernodal_numeric(plan, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, device, NULL));
            /* odd and even solves */
            for (int repeat = 0; repeat < 1 + round % 3; repeat++) assert_accurate(ctx, plan, &F, false);
            const trine_supernodal_info info = info_of(plan);
            if (!good || !test_on_gpu()) {
                assert_substituted(&info, test_on_gpu(), partly);
            } else {
                assert_int_equal(info.invert, TRINE_INVERT_OFF);
                assert_int_equal(info.substituted_panels, 0);
            }
            test_release(ctx, device);
        }
        trine_supernodal_destroy(&plan);
        free(bad);
        free_factor(&F);
    }
    trine_context_destroy(&ctx);
}

static void a_batch_loses_nothing(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        factor F[3] = {mixed_factor(TRINE_NONUNIT, true), growing_factor(TRINE_NONUNIT, 40),
                       growing_factor(TRINE_NONUNIT, 41)};
        trine_panels panels[3];
        const void *values[3];
        int64_t n = 0;
        for (int k = 0; k < 3; n += F[k++].n) {
            convert(&F[k], t);
            panels[k] = panels_of(&F[k]);
            values[k] = F[k].values;
        }
        trine_supernodal plan;
        OK(trine_supernodal_analyse_batch(ctx, &plan, panels, 3, NULL));
        OK(trine_supernodal_numeric_batch(plan, TRINE_HOST, values, NULL));
        const trine_supernodal_info info = info_of(plan);
        assert_substituted(&info, test_on_gpu(), true); /* the first factor's panels are not */
        const size_t element = trine_dtype_size(t), bytes = (size_t)n * element;
        char *b = calloc(bytes, 1), *x = calloc(bytes, 1);
        for (trine_transpose op = TRINE_N; op <= TRINE_H; op = (trine_transpose)(2 * op)) {
            for (int64_t i = 0; i < n; i++) put(t, x, i, 1);
            size_t at = 0;
            for (int k = 0; k < 3; at += (size_t)F[k++].n * element) apply(&F[k], op, x + at, b + at);
            void *data = test_to_device(ctx, b, bytes);
            const trine_dense X = {data, n, 1, n, TRINE_COLMAJOR};
            OK(trine_supernodal_solve(plan, op, NULL, &X, &X, NULL));
            test_from_device(ctx, x, data, bytes);
            at = 0;
            for (int k = 0; k < 3; at += (size_t)F[k++].n * element)
                assert_true(normwise_error(&F[k], op, 1, false, b + at, x + at) < MOST);
            test_release(ctx, data);
        }
        free(b);
        free(x);
        trine_supernodal_destroy(&plan);
        for (int k = 0; k < 3; k++) free_factor(&F[k]);
    }
    trine_context_destroy(&ctx);
}

/** The factor of a real matrix, as the functions here take it. */
static factor factor_of(trine_factor from, trine_uplo uplo, trine_panels *panels)
{
    OK(trine_factor_get_panels(from, uplo, panels));
    return (factor){.n = panels->n,
                    .m = panels->n_panels,
                    .first = (int32_t *)panels->first_column,
                    .rows = (int32_t *)panels->rows,
                    .row_offsets = (int64_t *)panels->row_offsets,
                    .value_offsets = (int64_t *)panels->value_offsets,
                    .values = (void *)panels->values,
                    .dtype = panels->dtype,
                    .diag = panels->diag};
}

static void check_real(const char *name)
{
    const char *path = test_real_matrix(name);
    trine_context ctx = test_context();
    trine_matrix A;
    trine_factor LU;
    OK(trine_matrix_read(ctx, &A, path, TRINE_D));
    OK(trine_factor_create(ctx, &LU, A, &(trine_factor_options){.method = TRINE_DIRECT_LU}));
    for (int upper = 0; upper < 2; upper++) {
        trine_panels panels;
        const factor F = factor_of(LU, upper ? TRINE_UPPER : TRINE_LOWER, &panels);
        for (trine_supernodal_invert invert = TRINE_INVERT_AUTO; invert <= TRINE_INVERT_DIAG; invert++) {
            trine_supernodal plan;
            OK(trine_supernodal_analyse(ctx, &plan, &panels,
                                        &(trine_supernodal_options){.invert = invert, .max_nrhs = 3}));
            OK(trine_supernodal_numeric(plan, TRINE_HOST, panels.values, NULL));
            const trine_supernodal_info info = info_of(plan);
            double most = 0;
            for (trine_transpose op = TRINE_N; op <= TRINE_T; op = (trine_transpose)(2 * op))
                for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
                    most = fmax(most, error_of(ctx, plan, &F, op, nrhs, false));
            print_message("%s, %s, inversion %d: %.2g eps, growth %.3g\n", name, upper ? "U" : "L", invert, most,
                          info.growth);
            if (invert == TRINE_INVERT_AUTO || invert == TRINE_INVERT_NONE) assert_true(most < MOST);
            else assert_int_equal(info.invert, invert);
            if (upper && invert >= TRINE_INVERT_OFF) assert_true(info.growth > 100 && most > 100);
            trine_supernodal_destroy(&plan);
        }
    }
    trine_factor_destroy(&LU);

    trine_direct plan; /* A x = b by both */
    trine_direct_info info;
    OK(trine_direct_create(ctx, &plan, A,
                           &(trine_direct_options){.factor.method = TRINE_DIRECT_LU,
                                                   .ops = TRINE_N | TRINE_T,
                                                   .triangular.max_nrhs = 3,
                                                   .solver = TRINE_SOLVER_SUPERNODAL}));
    OK(trine_direct_get_info(plan, &info));
    if (!test_on_gpu()) assert_int_equal(info.upper_panels.invert, TRINE_INVERT_NONE);
    assert_true(info.upper_panels.substituted_panels > 0);
    if (test_on_gpu()) assert_non_null(strstr(info.reason, "gave a backward error of"));
    trine_direct_destroy(&plan);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
}

static void superlu_of_airfoil_2d_loses_nothing(void **state)
{
    (void)state;
    check_real("airfoil_2d");
}
static void superlu_of_olm5000_loses_nothing(void **state)
{
    (void)state;
    check_real("olm5000");
}
static void superlu_of_hangGlider_2_loses_nothing(void **state)
{
    (void)state;
    check_real("hangGlider_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_by_default),
                                       cmocka_unit_test(panels_choose_for_themselves),
                                       cmocka_unit_test(inverses_asked_for_say_what_they_lose),
                                       cmocka_unit_test(every_numeric_chooses_anew),
                                       cmocka_unit_test(a_batch_loses_nothing),
                                       cmocka_unit_test(superlu_of_airfoil_2d_loses_nothing),
                                       cmocka_unit_test(superlu_of_olm5000_loses_nothing),
                                       cmocka_unit_test(superlu_of_hangGlider_2_loses_nothing)};
    return TEST_MAIN(tests);
}
