/* What a GPU can choose from: every variant of the supernodal solve against products with the panels in long double, bitwise
 * reproducibility where it is promised, graph capture, two works in flight. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "supernodal_support.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

/** Panels on both sides of the small thresholds used here, several levels of them. */
static factor mixed_factor(trine_diag diag, bool closed)
{
    int widths[24];
    for (int s = 0; s < 24; s++) widths[s] = s < 16 ? 1 + 5 * s % 13 : 20 + 9 * (s - 16);
    return make_factor(24, widths, 6, closed, diag, 91);
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
            check_solve(ctx, plan, F, &(solve_case){.op = op, .nrhs = some_nrhs[k % 5], .layout_b = (trine_layout)(k / 2 % 2),
                        .layout_x = (trine_layout)(k % 2), .in_place = k % 3 == 0, .scaled = k % 4 != 0}, NULL);
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
                for (trine_supernodal_access access = TRINE_ACCESS_PUSH; access <= TRINE_ACCESS_PULL; access++, seed++) {
                    if (v == TRINE_VARIANT_SPMV && invert == TRINE_INVERT_NONE) continue;
                    if (v == TRINE_VARIANT_DYNAMIC && (invert == TRINE_INVERT_NONE || invert == TRINE_INVERT_DIAG)) continue;
                    check_plan(ctx, &F, &(trine_supernodal_options){.variant = v, .invert = invert, .access = access, .fill = seed % 3 ? -1 : 0.3,
                               .threshold = 30, .streams = 1 + seed % 4, .teams = seed % 5, .no_graph = seed % 7 == 0}, seed);
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
    trine_context ctx = test_context();
    factor F = mixed_factor(TRINE_NONUNIT, true);
    convert(&F, TRINE_D);
    const trine_panels panels = panels_of(&F);
    const size_t bytes = (size_t)F.n * 3 * sizeof(double);
    double *b = malloc(bytes), *once = malloc(bytes), *again = malloc(bytes);
    for (int64_t i = 0; i < F.n; i++)
        for (int64_t j = 0; j < 3; j++) b[i + j * F.n] = creal(right_hand_side(i, j));
    void *db = test_to_device(ctx, b, bytes), *dx = test_to_device(ctx, b, bytes);
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        trine_supernodal plan;
        OK(trine_supernodal_analyse(ctx, &plan, &panels, &(trine_supernodal_options){.variant = v, .invert = TRINE_INVERT_OFF,
            .access = TRINE_ACCESS_PULL, .max_nrhs = 3, .threshold = 30}));
        numeric(plan, &F);
        for (int round = 0; round < 20; round++) {
            const int64_t columns = 1 + 2 * (round % 2);
            const trine_dense B = {.data = db, .rows = F.n, .cols = columns}, X = {.data = dx, .rows = F.n, .cols = columns};
            OK(trine_supernodal_solve(plan, TRINE_N, NULL, &B, &X, NULL));
            test_from_device(ctx, round > 1 ? again : once, dx, (size_t)(F.n * columns) * sizeof(double));
            if (round > 1 && columns == 3) assert_memory_equal(once, again, bytes);
        }
        trine_supernodal_destroy(&plan);
    }
    test_release(ctx, db);
    test_release(ctx, dx);
    free(b);
    free(once);
    free(again);
    free_factor(&F);
    trine_context_destroy(&ctx);
}

/** Several right-hand sides on a stream of their own, and the check of what came back. */
typedef struct {
    trine_context ctx;
    trine_supernodal plan;
    const factor *F;
    int64_t nrhs;
    trine_transpose op;
    trine_work work;
    cudaStream_t stream;
    double *b, *x;
    void *db, *dx;
    trine_dense B, X;
} flight;

static void open_flight(flight *f)
{
    const size_t bytes = (size_t)(f->F->n * f->nrhs) * sizeof(double);
    OK(trine_supernodal_work(f->plan, f->nrhs, NULL, NULL, &f->work));
    CUDA(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    f->b = malloc(bytes);
    f->x = malloc(bytes);
    for (int64_t i = 0; i < f->F->n * f->nrhs; i++) f->b[i] = creal(right_hand_side(i, f->nrhs));
    f->db = test_to_device(f->ctx, f->b, bytes);
    f->dx = test_to_device(f->ctx, f->b, bytes);
    f->B = (trine_dense){f->db, f->F->n, f->nrhs, f->F->n, TRINE_COLMAJOR};
    f->X = (trine_dense){f->dx, f->F->n, f->nrhs, f->F->n, TRINE_COLMAJOR};
}

static void close_flight(flight *f)
{
    test_release(f->ctx, f->db);
    test_release(f->ctx, f->dx);
    free(f->b);
    free(f->x);
    OK(trine_work_destroy(&f->work));
    CUDA(cudaStreamDestroy(f->stream));
}

static void check_flight(flight *f)
{
    const size_t bytes = (size_t)(f->F->n * f->nrhs) * sizeof(double);
    CUDA(cudaMemcpyAsync(f->x, f->dx, bytes, cudaMemcpyDeviceToHost, f->stream));
    CUDA(cudaStreamSynchronize(f->stream));
    for (int64_t j = 0; j < f->nrhs; j++) check_solution(f->F, f->op, f->b + j * f->F->n, f->x + j * f->F->n);
}

static trine_supernodal new_plan(trine_context ctx, const factor *F, trine_supernodal_variant variant)
{
    const trine_panels panels = panels_of(F);
    trine_supernodal plan;
    OK(trine_supernodal_analyse(ctx, &plan, &panels, &(trine_supernodal_options){.variant = variant, .threshold = 30}));
    numeric(plan, F);
    return plan;
}

static void a_captured_solve_can_be_replayed_with_new_data(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    factor F = mixed_factor(TRINE_NONUNIT, true);
    convert(&F, TRINE_D);
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        trine_supernodal plan = new_plan(ctx, &F, v);
        for (int64_t nrhs = 1; nrhs <= 41; nrhs += 20) {
            flight f = {.ctx = ctx, .plan = plan, .F = &F, .nrhs = nrhs, .op = nrhs == 21 ? TRINE_N : TRINE_T};
            cudaGraph_t graph;
            cudaGraphExec_t exec;
            open_flight(&f);
            CUDA(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeThreadLocal));
            OK(trine_supernodal_solve(plan, f.op, NULL, &f.B, &f.X, &(trine_exec){.stream = f.stream, .work = f.work}));
            CUDA(cudaStreamEndCapture(f.stream, &graph));
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
            for (int round = 0; round < 4; round++) {
                for (int64_t i = 0; i < F.n * nrhs; i++) f.b[i] = test_uniform((uint64_t)round, (uint64_t)i);
                CUDA(cudaMemcpyAsync(f.db, f.b, (size_t)(F.n * nrhs) * sizeof(double), cudaMemcpyHostToDevice, f.stream));
                CUDA(cudaGraphLaunch(exec, f.stream));
                check_flight(&f);
            }
            CUDA(cudaGraphExecDestroy(exec));
            CUDA(cudaGraphDestroy(graph));
            close_flight(&f);
        }
        trine_supernodal_destroy(&plan);
    }
    free_factor(&F);
    trine_context_destroy(&ctx);
}

/** One of several host threads: 30 solves on its own stream, with its own work. */
static void *fly(void *argument)
{
    flight *f = argument;
    for (int round = 0; round < 30; round++)
        if (trine_supernodal_solve(f->plan, f->op, NULL, &f->B, &f->X, &(trine_exec){.stream = f->stream, .work = f->work}) != TRINE_SUCCESS) return f;
    return NULL;
}

static void threads_with_works_of_their_own_solve_at_the_same_time(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    trine_context ctx = test_context();
    factor F = mixed_factor(TRINE_NONUNIT, true);
    convert(&F, TRINE_D);
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        trine_supernodal plan = new_plan(ctx, &F, v);
        flight flights[THREADS];
        pthread_t threads[THREADS];
        for (int k = 0; k < THREADS; k++) {
            flights[k] = (flight){.ctx = ctx, .plan = plan, .F = &F, .nrhs = 1 + 11 * k, .op = k % 2 ? TRINE_N : TRINE_T};
            open_flight(&flights[k]);
        }
        for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_create(&threads[k], NULL, fly, &flights[k]), 0);
        for (int k = 0; k < THREADS; k++) {
            void *failed;
            pthread_join(threads[k], &failed);
            assert_null(failed);
        }
        for (int k = 0; k < THREADS; k++) {
            check_flight(&flights[k]);
            close_flight(&flights[k]);
        }
        trine_supernodal_destroy(&plan);
    }
    free_factor(&F);
    trine_context_destroy(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_solves),
        cmocka_unit_test(every_variant_solves_with_a_unit_diagonal_and_an_open_structure),
        cmocka_unit_test(pulled_solves_are_bitwise_reproducible),
        cmocka_unit_test(a_captured_solve_can_be_replayed_with_new_data),
        cmocka_unit_test(threads_with_works_of_their_own_solve_at_the_same_time)};
    return TEST_MAIN(tests);
}
