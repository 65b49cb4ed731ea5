/* The part of the ABI that a compiler sees: sizes of public structs, and the reserve at the end of those that may
 * grow (core.h). The libraries' own part is compared by tests/abi/check. */
#include "harness.h"

#include <string.h>
#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>
#endif

/* New members take words of the reserve, so no size here ever changes below the next minor version. */
#ifdef __LP64__
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "the size of " #type " is part of the ABI")
#define GROWS(type, bytes)                                                              \
    SIZE(type, bytes);                                                                  \
    _Static_assert(offsetof(type, reserved) + sizeof(((type *)0)->reserved) == (bytes), \
                   "the reserve of " #type " is at its end")
GROWS(trine_exec, 32);
GROWS(trine_context_info, 320);
GROWS(trine_memory, 72);
GROWS(trine_build_info, 64);
GROWS(trine_matrix_info, 80);
GROWS(trine_matrix_structure, 432);
GROWS(trine_condition, 72);
GROWS(trine_read_options, 48);
GROWS(trine_semiring_source, 360);
GROWS(trine_op_info, 88);
GROWS(trine_triangular_options, 112);
GROWS(trine_triangular_info, 120);
GROWS(trine_triangular_prediction, 64);
GROWS(trine_panels_options, 56);
GROWS(trine_supernodal_options, 104);
GROWS(trine_supernodal_info, 224);
GROWS(trine_gtsv_options, 88);
GROWS(trine_tridiagonal_options, 72);
GROWS(trine_tridiagonal_info, 104);
GROWS(trine_forest_options, 48);
GROWS(trine_factor_rounds, 72);
GROWS(trine_forest_decomposition, 96);
GROWS(trine_forest_coverage, 88);
GROWS(trine_forest_arrays, 72);
GROWS(trine_forest_result, 88);
GROWS(trine_forest_info, 72);
GROWS(trine_spmv_options, 96);
GROWS(trine_spmv_epilogue, 72);
GROWS(trine_spmv_info, 136);
GROWS(trine_krylov_options, 112);
GROWS(trine_krylov_result, 104);
GROWS(trine_krylov_info, 96);
#ifdef TRINE_TEST_DIRECT
GROWS(trine_factor_options, 56);
GROWS(trine_factor_info, 112);
GROWS(trine_direct_options, 320);
GROWS(trine_direct_info, 872);
#endif
SIZE(trine_dense, 40);
SIZE(trine_panels, 64);
SIZE(trine_strides, 16);
SIZE(trine_type, 32);
SIZE(trine_allocator, 24);
SIZE(trine_accuracy, 24);
SIZE(trine_gtsv_info, 16);
SIZE(trine_supernodal_level, 64);
#endif

/** Every word of the reserve of s, one after another, makes the call fail with a sentence that names the struct. */
#define IS_REFUSED(type, s, call)                                                                   \
    for (size_t word_ = 0; word_ < sizeof (s).reserved / sizeof *(s).reserved; word_++) {           \
        (s).reserved[word_] = INT64_C(1) << 40;                                                     \
        FAILS(TRINE_ERR_ARGUMENT, #type ".reserved is not zero", call);                             \
        (s).reserved[word_] = 0;                                                                    \
    }

struct world {
    trine_context ctx;
    trine_matrix A;         /* tridiagonal, positive definite */
    trine_matrix L;
    trine_panels panels;
    double *vector;         /* in the context's space */
    trine_dense x;
};

static trine_status copy_vectors(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)user, (void)op, (void)alpha, (void)X, (void)beta, (void)Y, (void)exec;
    return TRINE_SUCCESS;
}

static void open_world(struct world *w)
{
    static const double ones[20] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    w->ctx = test_context();
    OK(trine_matrix_gallery(w->ctx, &w->A, "laplace2d:nx=20,ny=1", TRINE_D));
    OK(trine_matrix_triangle(w->A, &w->L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_panels_detect(w->ctx, w->L, &(trine_panels_options){.fill = 0.5}, &w->panels));
    w->vector = test_to_device(w->ctx, ones, sizeof ones);
    w->x = (trine_dense){w->vector, 20, 1, 20, TRINE_COLMAJOR};
}

static void close_world(struct world *w)
{
    test_release(w->ctx, w->vector);
    trine_panels_free(w->ctx, &w->panels);
    OK(trine_matrix_destroy(&w->L));
    OK(trine_matrix_destroy(&w->A));
    OK(trine_context_destroy(&w->ctx));
}

static void options_with_reserve_are_refused(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    trine_triangular triangular = NULL;
    trine_triangular_options for_triangular = {0};
    IS_REFUSED(trine_triangular_options, for_triangular,
               trine_triangular_analyse(w.ctx, &triangular, w.L, &for_triangular));
    trine_memory memory;
    IS_REFUSED(trine_triangular_options, for_triangular, trine_triangular_memory(w.ctx, w.L, &for_triangular, &memory));
    trine_supernodal supernodal = NULL;
    trine_supernodal_options for_supernodal = {0};
    IS_REFUSED(trine_supernodal_options, for_supernodal,
               trine_supernodal_analyse(w.ctx, &supernodal, &w.panels, &for_supernodal));
    IS_REFUSED(trine_supernodal_options, for_supernodal,
               trine_supernodal_analyse_batch(w.ctx, &supernodal, &w.panels, 1, &for_supernodal));
    IS_REFUSED(trine_supernodal_options, for_supernodal,
               trine_supernodal_analyse_triangle(w.ctx, &supernodal, w.L, 0, NULL, NULL, &for_supernodal));
    trine_panels panels;
    const int32_t all[] = {0, 20};
    trine_panels_options for_panels = {0};
    IS_REFUSED(trine_panels_options, for_panels, trine_panels_detect(w.ctx, w.L, &for_panels, &panels));
    IS_REFUSED(trine_panels_options, for_panels, trine_panels_from_partition(w.ctx, w.L, 1, all, &for_panels, &panels));
    IS_REFUSED(trine_panels_options, for_panels,
               trine_supernodal_analyse_triangle(w.ctx, &supernodal, w.L, 0, NULL, &for_panels, NULL));
    trine_tridiagonal tridiagonal = NULL;
    trine_tridiagonal_options for_tridiagonal = {0};
    IS_REFUSED(trine_tridiagonal_options, for_tridiagonal,
               trine_tridiagonal_analyse(w.ctx, &tridiagonal, w.A, &for_tridiagonal));
    trine_forest forest = NULL;
    trine_forest_options for_forest = {0};
    trine_factor_rounds rounds = {0};
    trine_forest_decomposition decomposition = {0};
    const void *values;
    const int32_t none[40] = {0};
    OK(trine_matrix_get_arrays(w.A, NULL, NULL, &values));
    IS_REFUSED(trine_forest_options, for_forest, trine_forest_create(w.ctx, &forest, w.A, &for_forest));
    OK(trine_forest_create(w.ctx, &forest, w.A, &for_forest));
    OK(trine_forest_set_weights(forest, TRINE_HOST, values, NULL));
    IS_REFUSED(trine_factor_rounds, rounds, trine_forest_factor(forest, &rounds, NULL));
    IS_REFUSED(trine_factor_rounds, rounds, trine_forest_factor_sequential(forest, &rounds, NULL));
    IS_REFUSED(trine_factor_rounds, rounds, trine_forest_set_factor(forest, 2, none, &rounds, NULL));
    IS_REFUSED(trine_factor_rounds, rounds, trine_forest_run(forest, TRINE_HOST, values, &rounds, NULL));
    IS_REFUSED(trine_forest_decomposition, decomposition,
               trine_forest_decompose(forest, TRINE_HOST, values, NULL, &decomposition, NULL));
    OK(trine_forest_destroy(&forest));
    trine_spmv spmv = NULL;
    trine_spmv_options for_spmv = {0};
    IS_REFUSED(trine_spmv_options, for_spmv, trine_spmv_analyse(w.ctx, &spmv, w.A, &for_spmv));
    IS_REFUSED(trine_spmv_options, for_spmv, trine_spmv_memory(w.ctx, w.A, &for_spmv, &memory));
    trine_op identity = NULL;
    trine_krylov krylov = NULL;
    trine_krylov_options for_krylov = {0};
    OK(trine_op_identity(w.ctx, &identity, TRINE_D, 20));
    IS_REFUSED(trine_krylov_options, for_krylov, trine_krylov_create(w.ctx, &krylov, identity, NULL, &for_krylov));
    IS_REFUSED(trine_krylov_options, for_krylov,
               trine_krylov_create_alternating(w.ctx, &krylov, identity, 1, &identity, &for_krylov));
    OK(trine_op_destroy(&identity));
    trine_op op = NULL;
    trine_op_info for_op = {.dtype = TRINE_D, .rows = 20, .cols = 20};
    IS_REFUSED(trine_op_info, for_op, trine_op_from_callback(w.ctx, &op, &for_op, copy_vectors, NULL, NULL));
    trine_matrix M = NULL;
    void *data = NULL;
    int64_t rows, cols;
    trine_read_options for_read = {0};
    IS_REFUSED(trine_read_options, for_read, trine_matrix_read_with(w.ctx, &M, "no such file", TRINE_D, &for_read));
    IS_REFUSED(trine_read_options, for_read,
               trine_vectors_read_with(w.ctx, "no such file", TRINE_D, &data, &rows, &cols, &for_read));
#ifdef TRINE_TEST_DIRECT
    trine_factor F = NULL;
    trine_factor_options for_factor = {0};
    IS_REFUSED(trine_factor_options, for_factor, trine_factor_create(w.ctx, &F, w.A, &for_factor));
    trine_direct direct = NULL;
    trine_direct_options for_direct = {0};
    OK(trine_factor_create(w.ctx, &F, w.A, NULL));
    IS_REFUSED(trine_direct_options, for_direct, trine_direct_create(w.ctx, &direct, w.A, &for_direct));
    IS_REFUSED(trine_direct_options, for_direct, trine_direct_create_from_factor(w.ctx, &direct, F, w.A, &for_direct));
    IS_REFUSED(trine_factor_options, for_direct.factor,
               trine_direct_create_from_factor(w.ctx, &direct, F, w.A, &for_direct));
    IS_REFUSED(trine_triangular_options, for_direct.triangular, trine_direct_create(w.ctx, &direct, w.A, &for_direct));
    IS_REFUSED(trine_supernodal_options, for_direct.supernodal, trine_direct_create(w.ctx, &direct, w.A, &for_direct));
    OK(trine_factor_destroy(&F));
#endif
    close_world(&w);
}

static void options_of_functions_without_a_plan_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    size_t bytes;
    trine_gtsv_options o = {0};
    trine_exec exec = {0};
    IS_REFUSED(trine_gtsv_options, o, trine_gtsv_work_size(ctx, TRINE_D, 100, 1, &o, &bytes));
    IS_REFUSED(trine_gtsv_options, o, trine_gtsv_batch_work_size(ctx, TRINE_D, 100, 1, &o, &bytes));
    IS_REFUSED(trine_gtsv_options, o, trine_gtsv_csc2dense_work_size(ctx, TRINE_D, 100, 1, &o, &bytes));
    IS_REFUSED(trine_gtsv_options, o, trine_bgtsv_work_size(ctx, TRINE_D, 100, 2, 1, &o, &bytes));
    IS_REFUSED(trine_gtsv_options, o, trine_gbsv_work_size(ctx, TRINE_D, 100, 1, 2, 1, &o, &bytes));
    double a[4] = {0}, errors[1];
    IS_REFUSED(trine_gtsv_options, o,
               trine_gtsv_backward_error(ctx, TRINE_D, 4, 1, &o, a, a, a, a, 4, a, 4, errors, NULL));
    IS_REFUSED(trine_exec, exec,
               trine_gtsv_backward_error(ctx, TRINE_D, 4, 1, NULL, a, a, a, a, 4, a, 4, errors, &exec));
    OK(trine_context_destroy(&ctx));
}

static void an_exec_with_reserve_is_refused(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    trine_exec exec = {0};
    trine_triangular triangular;
    OK(trine_triangular_analyse(w.ctx, &triangular, w.L, NULL));
    IS_REFUSED(trine_exec, exec, trine_triangular_numeric(triangular, TRINE_HOST, NULL, &exec));
    OK(trine_triangular_numeric(triangular, TRINE_HOST, NULL, NULL));
    IS_REFUSED(trine_exec, exec, trine_triangular_check(triangular, &exec));
    IS_REFUSED(trine_exec, exec, trine_triangular_solve(triangular, TRINE_N, NULL, &w.x, &w.x, &exec));
    OK(trine_triangular_solve(triangular, TRINE_N, NULL, &w.x, &w.x, &exec)); /* what was refused changed nothing */
    trine_supernodal supernodal;
    OK(trine_supernodal_analyse(w.ctx, &supernodal, &w.panels, NULL));
    IS_REFUSED(trine_exec, exec, trine_supernodal_numeric(supernodal, TRINE_HOST, w.panels.values, &exec));
    IS_REFUSED(trine_exec, exec, trine_supernodal_update(supernodal, &w.panels, &exec));
    OK(trine_supernodal_numeric(supernodal, TRINE_HOST, w.panels.values, NULL));
    IS_REFUSED(trine_exec, exec, trine_supernodal_check(supernodal, &exec));
    IS_REFUSED(trine_exec, exec, trine_supernodal_solve(supernodal, TRINE_N, NULL, &w.x, &w.x, &exec));
    trine_tridiagonal tridiagonal;
    OK(trine_tridiagonal_analyse(w.ctx, &tridiagonal, w.A, NULL));
    IS_REFUSED(trine_exec, exec, trine_tridiagonal_numeric(tridiagonal, TRINE_HOST, NULL, &exec));
    OK(trine_tridiagonal_numeric(tridiagonal, TRINE_HOST, NULL, NULL));
    IS_REFUSED(trine_exec, exec, trine_tridiagonal_check(tridiagonal, &exec));
    IS_REFUSED(trine_exec, exec, trine_tridiagonal_solve(tridiagonal, TRINE_N, NULL, &w.x, &w.x, &exec));
    trine_forest forest, coarse;
    const void *values;
    trine_forest_coverage coverage;
    trine_forest_result result;
    trine_forest_decomposition decomposition = {.count = 1, .permutation = (int32_t *)w.vector};
    OK(trine_matrix_get_arrays(w.A, NULL, NULL, &values));
    OK(trine_forest_create(w.ctx, &forest, w.A, &(trine_forest_options){.blocks = 1}));
    IS_REFUSED(trine_exec, exec, trine_forest_set_weights(forest, TRINE_HOST, values, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_run(forest, TRINE_HOST, values, NULL, &exec));
    OK(trine_forest_run(forest, TRINE_HOST, values, NULL, NULL));
    IS_REFUSED(trine_exec, exec, trine_forest_check(forest, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_factor(forest, NULL, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_factor_sequential(forest, NULL, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_set_factor(forest, 2, (int32_t[40]){0}, NULL, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_break_cycles(forest, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_order(forest, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_improve(forest, 1, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_scale(forest, 1, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_extract(forest, TRINE_HOST, values, w.vector, w.vector, w.vector, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_coarsen(forest, &coarse, &exec));
    IS_REFUSED(trine_exec, exec,
               trine_forest_extract_blocks(forest, TRINE_HOST, values, w.vector, w.vector, w.vector,
                                           (int32_t *)w.vector, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_decompose(forest, TRINE_HOST, values, NULL, &decomposition, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_get_coverage(forest, TRINE_HOST, values, &coverage, &exec));
    IS_REFUSED(trine_exec, exec, trine_forest_get_result(forest, &result, &exec));
    OK(trine_forest_destroy(&forest));
    trine_op op;
    OK(trine_op_identity(w.ctx, &op, TRINE_D, 20));
    trine_dense y = w.x;
    const double zeros[20] = {0};
    y.data = test_to_device(w.ctx, zeros, sizeof zeros);
    trine_spmv spmv;
    trine_spmv_epilogue epilogue = {0};
    OK(trine_spmv_analyse(w.ctx, &spmv, w.A, NULL));
    IS_REFUSED(trine_exec, exec, trine_spmv_numeric(spmv, TRINE_HOST, NULL, &exec));
    OK(trine_spmv_numeric(spmv, TRINE_HOST, NULL, NULL));
    IS_REFUSED(trine_exec, exec, trine_spmv_apply(spmv, TRINE_N, NULL, &w.x, NULL, &y, &exec));
    IS_REFUSED(trine_exec, exec, trine_spmv_apply_rows(spmv, 0, 20, NULL, &w.x, NULL, &y, &exec));
    IS_REFUSED(trine_exec, exec, trine_spmv_apply_fused(spmv, TRINE_N, NULL, &w.x, NULL, &y, &epilogue, &exec));
    IS_REFUSED(trine_spmv_epilogue, epilogue,
               trine_spmv_apply_fused(spmv, TRINE_N, NULL, &w.x, NULL, &y, &epilogue, NULL));
    OK(trine_spmv_apply_fused(spmv, TRINE_N, NULL, &w.x, NULL, &y, &epilogue, NULL));
    OK(trine_context_synchronize(w.ctx));
    OK(trine_spmv_destroy(&spmv));
    IS_REFUSED(trine_exec, exec, trine_op_apply(op, TRINE_N, NULL, &w.x, NULL, &y, &exec));
    if (!test_on_gpu()) {
        trine_krylov krylov;
        trine_krylov_result result;
        int64_t count;
        OK(trine_krylov_create(w.ctx, &krylov, op, NULL, NULL));
        IS_REFUSED(trine_exec, exec, trine_krylov_solve(krylov, &w.x, &y, &exec));
        OK(trine_krylov_solve(krylov, &w.x, &y, NULL));
        IS_REFUSED(trine_exec, exec, trine_krylov_get_result(krylov, 0, &result, &exec));
        IS_REFUSED(trine_exec, exec, trine_krylov_get_history(krylov, 0, NULL, NULL, &count, &exec));
        OK(trine_krylov_destroy(&krylov));
    }
    test_release(w.ctx, y.data);
    OK(trine_op_destroy(&op));
#ifdef TRINE_TEST_DIRECT
    trine_direct direct;
    OK(trine_direct_create(w.ctx, &direct, w.A, NULL));
    IS_REFUSED(trine_exec, exec, trine_direct_solve(direct, TRINE_N, &w.x, &w.x, &exec));
    OK(trine_direct_destroy(&direct));
#endif
    OK(trine_tridiagonal_destroy(&tridiagonal));
    OK(trine_supernodal_destroy(&supernodal));
    OK(trine_triangular_destroy(&triangular));
    close_world(&w);
}

/** call, which fills *s, leaves its reserve at zero whatever was there. */
#define IS_CLEARED(s, call)                                                                \
    do {                                                                                   \
        memset(&(s), 0xFF, sizeof(s));                                                     \
        call;                                                                              \
        for (size_t word_ = 0; word_ < sizeof(s).reserved / sizeof *(s).reserved; word_++) \
            assert_int_equal((s).reserved[word_], 0);                                      \
    } while (0)

static trine_status solve_with_identity(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    const struct world *w = user;
    (void)op;
    const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
    return trine_copy(w->ctx, X->data, space, B->data, space, (size_t)(X->rows * X->cols) * sizeof(double));
}

static void reports_have_their_reserve_cleared(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    trine_context_info context;
    trine_build_info build;
    trine_matrix_info matrix;
    trine_matrix_structure structure;
    trine_condition condition;
    IS_CLEARED(context, OK(trine_context_get_info(w.ctx, &context)));
    IS_CLEARED(build, trine_get_build_info(&build));
    IS_CLEARED(matrix, OK(trine_matrix_get_info(w.A, &matrix)));
    IS_CLEARED(structure, OK(trine_matrix_get_structure(w.A, &structure)));
    IS_CLEARED(condition, OK(trine_estimate_condition(w.ctx, w.A, solve_with_identity, &w, &condition)));
    trine_op op;
    trine_op_info of_op;
    OK(trine_op_identity(w.ctx, &op, TRINE_D, 20));
    IS_CLEARED(of_op, OK(trine_op_get_info(op, &of_op)));
    if (!test_on_gpu()) {
        trine_krylov krylov;
        trine_krylov_info of_krylov;
        trine_krylov_result result;
        double y[20];
        const trine_dense Y = {y, 20, 1, 20, TRINE_COLMAJOR};
        OK(trine_krylov_create(w.ctx, &krylov, op, NULL, NULL));
        IS_CLEARED(of_krylov, OK(trine_krylov_get_info(krylov, &of_krylov)));
        OK(trine_krylov_solve(krylov, &w.x, &Y, NULL));
        IS_CLEARED(result, OK(trine_krylov_get_result(krylov, 0, &result, NULL)));
        OK(trine_krylov_destroy(&krylov));
    }
    OK(trine_op_destroy(&op));
    trine_triangular triangular;
    trine_triangular_info of_triangular;
    OK(trine_triangular_analyse(w.ctx, &triangular, w.L, NULL));
    IS_CLEARED(of_triangular, OK(trine_triangular_get_info(triangular, &of_triangular)));
    OK(trine_triangular_destroy(&triangular));
    trine_supernodal supernodal;
    trine_supernodal_info of_supernodal;
    OK(trine_supernodal_analyse(w.ctx, &supernodal, &w.panels, NULL));
    IS_CLEARED(of_supernodal, OK(trine_supernodal_get_info(supernodal, &of_supernodal)));
    OK(trine_supernodal_destroy(&supernodal));
    trine_tridiagonal tridiagonal;
    trine_tridiagonal_info of_tridiagonal;
    OK(trine_tridiagonal_analyse(w.ctx, &tridiagonal, w.A, NULL));
    IS_CLEARED(of_tridiagonal, OK(trine_tridiagonal_get_info(tridiagonal, &of_tridiagonal)));
    OK(trine_tridiagonal_destroy(&tridiagonal));
    trine_forest forest;
    trine_forest_info of_forest;
    trine_forest_coverage coverage;
    trine_forest_result result;
    trine_forest_arrays arrays;
    const void *values;
    OK(trine_matrix_get_arrays(w.A, NULL, NULL, &values));
    OK(trine_forest_create(w.ctx, &forest, w.A, NULL));
    OK(trine_forest_run(forest, TRINE_HOST, values, NULL, NULL));
    IS_CLEARED(of_forest, OK(trine_forest_get_info(forest, &of_forest)));
    IS_CLEARED(coverage, OK(trine_forest_get_coverage(forest, TRINE_HOST, values, &coverage, NULL)));
    IS_CLEARED(result, OK(trine_forest_get_result(forest, &result, NULL)));
    IS_CLEARED(arrays, OK(trine_forest_get_arrays(forest, &arrays)));
    OK(trine_forest_destroy(&forest));
    trine_spmv spmv;
    trine_spmv_info of_spmv;
    OK(trine_spmv_analyse(w.ctx, &spmv, w.A, NULL));
    IS_CLEARED(of_spmv, OK(trine_spmv_get_info(spmv, &of_spmv)));
    OK(trine_spmv_destroy(&spmv));
#ifdef TRINE_TEST_DIRECT
    trine_direct direct;
    trine_direct_info of_direct;
    OK(trine_direct_create(w.ctx, &direct, w.A, NULL));
    IS_CLEARED(of_direct, OK(trine_direct_get_info(direct, &of_direct)));
    IS_CLEARED(of_direct.factor, OK(trine_direct_get_info(direct, &of_direct)));
    OK(trine_direct_destroy(&direct));
#endif
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_with_reserve_are_refused),
        cmocka_unit_test(options_of_functions_without_a_plan_are_refused),
        cmocka_unit_test(an_exec_with_reserve_is_refused),
        cmocka_unit_test(reports_have_their_reserve_cleared),
    };
    return TEST_MAIN(tests);
}
