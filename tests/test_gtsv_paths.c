/* gtsv on the GPU: its paths against each other's domain, capture in a graph, more than 2^31 elements. */
#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cudaTypedefs.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

static const trine_gtsv_path paths[] = {TRINE_GTSV_AUTO, TRINE_GTSV_STAGES, TRINE_GTSV_TWO_PASS, TRINE_GTSV_ON_CHIP,
                                        TRINE_GTSV_ONE_PASS};

/** A system in device memory and its copy on the host: nrhs right-hand sides, the same for all but for the factor
 *  column + 1. */
struct fixture {
    trine_context ctx;
    int64_t n, nrhs;
    float *a, *b, *c, *d, *x;
    void *da, *db, *dc, *dd, *dx, *work;
    size_t work_bytes;
};

static void fill(struct fixture *f, uint64_t seed, double dominance)
{
    for (int64_t i = 0; i < f->n; i++) {
        f->a[i] = (float)(2 * test_uniform(seed, (uint64_t)(4 * i)) - 1),
        f->c[i] = (float)(2 * test_uniform(seed, (uint64_t)(4 * i + 1)) - 1);
        f->b[i] = (float)(2 * test_uniform(seed, (uint64_t)(4 * i + 2)) - 1 + dominance),
        f->d[i] = (float)(2 * test_uniform(seed, (uint64_t)(4 * i + 3)) - 1);
    }
}
static struct fixture open_fixture(int64_t n, int64_t nrhs, trine_gtsv_options options)
{
    struct fixture f = {.ctx = test_context(), .n = n, .nrhs = nrhs};
    const size_t bytes = (size_t)n * sizeof(float);
    f.a = malloc(bytes), f.b = malloc(bytes), f.c = malloc(bytes), f.d = malloc(bytes), f.x = malloc(bytes);
    fill(&f, 1, 3.5);
    f.da = test_to_device(f.ctx, f.a, bytes), f.db = test_to_device(f.ctx, f.b, bytes),
    f.dc = test_to_device(f.ctx, f.c, bytes);
    OK(trine_alloc(f.ctx, TRINE_DEVICE, bytes * (size_t)nrhs, &f.dd));
    OK(trine_alloc(f.ctx, TRINE_DEVICE, bytes * (size_t)nrhs, &f.dx));
    OK(trine_gtsv_work_size(f.ctx, TRINE_S, n, nrhs, &options, &f.work_bytes));
    OK(trine_alloc(f.ctx, TRINE_DEVICE, f.work_bytes, &f.work));
    for (int64_t k = 0; k < nrhs; k++) {
        for (int64_t i = 0; i < n; i++) f.x[i] = f.d[i] * (float)(k + 1);
        OK(trine_copy(f.ctx, (float *)f.dd + k * n, TRINE_DEVICE, f.x, TRINE_HOST, bytes));
    }
    return f;
}
static void close_fixture(struct fixture *f)
{
    void *const there[] = {f->da, f->db, f->dc, f->dd, f->dx, f->work};
    for (int k = 0; k < 6; k++) trine_free(f->ctx, TRINE_DEVICE, there[k]);
    free(f->a), free(f->b), free(f->c), free(f->d), free(f->x);
    OK(trine_context_destroy(&f->ctx));
}
static trine_status solve(struct fixture *f, void *stream, trine_gtsv_options options)
{
    return trine_gtsv(f->ctx, TRINE_S, f->n, f->nrhs, &options, f->da, f->db, f->dc, f->dd, f->n, f->dx, f->n, f->work,
                      f->work_bytes, &(trine_exec){.stream = stream});
}
/** Column k, fetched: |d - A x| <= c eps (|A||x| + |d|) in every row. */
static void check_cyclic_column(struct fixture *f, int64_t k, bool cyclic)
{
    OK(trine_copy(f->ctx, f->x, TRINE_HOST, (float *)f->dx + k * f->n, TRINE_DEVICE, (size_t)f->n * sizeof(float)));
    for (int64_t i = 0; i < f->n; i++) {
        double r = (double)(f->d[i] * (float)(k + 1)), size = fabs(r);
        const double before = i > 0    ? f->x[i - 1]
                              : cyclic ? f->x[f->n - 1]
                                       : 0,
                     after = i < f->n - 1 ? f->x[i + 1]
                             : cyclic     ? f->x[0]
                                          : 0;
        const double terms[] = {f->a[i] * before, (double)f->b[i] * f->x[i], f->c[i] * after};
        for (int m = 0; m < 3; m++) r -= terms[m], size += fabs(terms[m]);
        if (!(fabs(r) <= 50 * 0x1p-23 * size))
            fail_msg("n %lld, column %lld, row %lld: residual %g of %g", (long long)f->n, (long long)k, (long long)i, r,
                     size);
    }
}

static void check_column(struct fixture *f, int64_t k) { check_cyclic_column(f, k, false); }

static void every_path_solves_every_number_of_rows_and_columns(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1,    2,    3,    9,     31,    255,   256,    257,    1023,
                                    1024, 1025, 4100, 32768, 32769, 70001, 262144, 500007, 1000000};
    static const int64_t columns[] = {1, 2, 4, 5, 9};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t c = 0; c < (sizes[s] > 40000 ? 2 : 5) * 2; c++) {
                if (!test_is_small(sizes[s]) || !test_is_to_do()) continue;
                const trine_gtsv_options options = {.path = paths[p], .cyclic = c % 2};
                struct fixture f = open_fixture(sizes[s], columns[c / 2], options);
                const trine_status status = solve(&f, cudaStreamLegacy, options);
                if (paths[p] != TRINE_GTSV_ON_CHIP || status != TRINE_ERR_UNSUPPORTED) {
                    assert_int_equal(status, TRINE_SUCCESS);
                    CUDA(cudaDeviceSynchronize());
                    for (int64_t k = 0; k < columns[c / 2]; k++) check_cyclic_column(&f, k, c % 2);
                }
                close_fixture(&f);
            }
}

static void every_final_stage_solves_cyclic_and_other_systems(void **state)
{
    (void)state;
    static const trine_gtsv_final stages[] = {TRINE_GTSV_ONE_THREAD, TRINE_GTSV_TWO_ROWS};
    static const int64_t sizes[] = {1, 2, 3, 31, 32, 33, 65, 512, 513, 1024, 33000};
    for (int k = 0; k < 2; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_small(sizes[s]) || !test_is_to_do()) continue;
                const trine_gtsv_options options = {.final_stage = stages[k], .cyclic = cyclic};
                struct fixture f = open_fixture(sizes[s], 2, options);
                OK(solve(&f, cudaStreamLegacy, options));
                CUDA(cudaDeviceSynchronize());
                check_cyclic_column(&f, 0, cyclic), check_cyclic_column(&f, 1, cyclic);
                close_fixture(&f);
            }
}

static void a_path_that_cannot_solve_a_system_says_so(void **state)
{
    (void)state;
    size_t bytes;
    FAILS(TRINE_ERR_UNSUPPORTED, "STAGES",
          trine_gtsv_work_size(test_shared(1), TRINE_D, 100, 1,
                               &(trine_gtsv_options){.path = TRINE_GTSV_TWO_PASS, .epsilon = 1e-3}, &bytes));
    FAILS(TRINE_ERR_UNSUPPORTED, "STAGES",
          trine_gtsv_work_size(test_shared(1), TRINE_D, 100, 1,
                               &(trine_gtsv_options){.path = TRINE_GTSV_ON_CHIP, .partition = 16}, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "no path 9",
          trine_gtsv_work_size(test_shared(1), TRINE_D, 100, 1, &(trine_gtsv_options){.path = (trine_gtsv_path)9},
                               &bytes));
    FAILS(TRINE_ERR_UNSUPPORTED, "final stages",
          trine_gtsv_work_size(test_shared(1), TRINE_D, 100, 1,
                               &(trine_gtsv_options){.path = TRINE_GTSV_TWO_PASS, .final_stage = TRINE_GTSV_TWO_ROWS},
                               &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "no final stage 3",
          trine_gtsv_work_size(test_shared(1), TRINE_D, 100, 1,
                               &(trine_gtsv_options){.final_stage = (trine_gtsv_final)3}, &bytes));
    struct fixture f = open_fixture(5000000, 1, (trine_gtsv_options){.cyclic = 1}); /* which needs more workspace */
    FAILS(TRINE_ERR_UNSUPPORTED, "does not fit",
          solve(&f, cudaStreamLegacy, (trine_gtsv_options){.path = TRINE_GTSV_ON_CHIP}));
    FAILS(TRINE_ERR_UNSUPPORTED, "cyclic",
          solve(&f, cudaStreamLegacy, (trine_gtsv_options){.path = TRINE_GTSV_ON_CHIP, .cyclic = 1}));
    close_fixture(&f);
}

static void a_captured_solve_can_be_replayed_with_new_data(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1000, 30000, 300000, 3000000};
    for (int s = 0; s < 4; s++)
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
            if (!test_is_small(sizes[s]) || !test_is_to_do()) continue;
            const trine_gtsv_options options = {.path = paths[p]};
            struct fixture f = open_fixture(sizes[s], 1, options);
            const size_t bytes = (size_t)f.n * sizeof(float);
            cudaStream_t stream;
            cudaGraph_t graph;
            cudaGraphExec_t exec;
            if (solve(&f, cudaStreamLegacy, options) == TRINE_ERR_UNSUPPORTED) { /* too long for the chip */
                close_fixture(&f);
                continue;
            }
            CUDA(cudaDeviceSynchronize()); /* the stream below does not wait for the legacy default one */
            CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            OK(solve(&f, stream, options));
            CUDA(cudaStreamEndCapture(stream, &graph));
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
            for (uint64_t round = 0; round < 3; round++) {
                fill(&f, 10 + round, 3.5);
                CUDA(cudaMemcpyAsync(f.da, f.a, bytes, cudaMemcpyHostToDevice, stream));
                CUDA(cudaMemcpyAsync(f.db, f.b, bytes, cudaMemcpyHostToDevice, stream));
                CUDA(cudaMemcpyAsync(f.dc, f.c, bytes, cudaMemcpyHostToDevice, stream));
                CUDA(cudaMemcpyAsync(f.dd, f.d, bytes, cudaMemcpyHostToDevice, stream));
                CUDA(cudaGraphLaunch(exec, stream));
                CUDA(cudaStreamSynchronize(stream));
                check_column(&f, 0);
            }
            CUDA(cudaGraphExecDestroy(exec));
            CUDA(cudaGraphDestroy(graph));
            CUDA(cudaStreamDestroy(stream));
            close_fixture(&f);
        }
}

static void solves_one_after_the_other_do_not_overtake_each_other(void **state)
{
    (void)state;
    /* each solve takes the solution of the one before as its right-hand side, in place; kernels that start early
     * must wait */
    const trine_gtsv_options options = {0};
    if (!test_is_small(700000)) skip();
    struct fixture f = open_fixture(700000, 1, options);
    const size_t bytes = (size_t)f.n * sizeof(float);
    float *first = malloc(bytes);
    for (int round = 0; round < 5; round++) {
        CUDA(cudaMemcpy(f.dx, f.d, bytes, cudaMemcpyHostToDevice));
        for (int k = 0; k < 4; k++)
            OK(trine_gtsv(f.ctx, TRINE_S, f.n, 1, &options, f.da, f.db, f.dc, f.dx, f.n, f.dx, f.n, f.work,
                          f.work_bytes, &(trine_exec){.stream = cudaStreamLegacy}));
        CUDA(cudaMemcpy(f.x, f.dx, bytes, cudaMemcpyDeviceToHost));
        if (round == 0) memcpy(first, f.x, bytes);
        assert_memory_equal(first, f.x, bytes);
    }
    free(first);
    close_fixture(&f);
}

/** dorr(1e-4), numerically singular, with dominance that turns round in the middle: rows sum to zero but for the
 *  corners. The thesis's table has n = 512; larger ones are further from what one step of refinement can promise
 *  (docs/explanation/tridiagonal-accuracy.md). */
static void a_singular_system_stays_finite_and_refinement_makes_the_residual_of_the_published_size_small(void **state)
{
    (void)state;
    static const trine_gtsv_options ways[] = {{.refine = 1},
                                              {.refine = 1, .path = TRINE_GTSV_TWO_PASS},
                                              {.refine = 1, .path = TRINE_GTSV_STAGES},
                                              {.refine = 1, .path = TRINE_GTSV_ONE_PASS},
                                              {.refine = 1, .partition = 16}};
    for (int64_t n = 512; n <= 130000; n *= 6)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (!test_is_small(n) || !test_is_to_do()) continue;
            trine_context ctx = test_context();
            const size_t bytes = (size_t)n * sizeof(double);
            double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes), *d = malloc(bytes), *x = malloc(bytes);
            size_t work_bytes;
            void *work;
            for (int64_t i = 0; i < n; i++) {
                const double h = 1.0 / (double)(n + 1), t = 1e-4 / (h * h), r = (.5 - (double)(i + 1) * h) / h;
                a[i] = i < (n + 1) / 2 ? -t : -t + r, c[i] = i < (n + 1) / 2 ? -t - r : -t, b[i] = -(a[i] + c[i]);
                x[i] = 3 + test_uniform(7, (uint64_t)i);
            }
            for (int64_t i = 0; i < n; i++)
                d[i] = (i > 0 ? a[i] * x[i - 1] : 0) + b[i] * x[i] + (i < n - 1 ? c[i] * x[i + 1] : 0);
            void *da = test_to_device(ctx, a, bytes), *db = test_to_device(ctx, b, bytes),
                 *dc = test_to_device(ctx, c, bytes), *dd = test_to_device(ctx, d, bytes);
            OK(trine_gtsv_work_size(ctx, TRINE_D, n, 1, &ways[w], &work_bytes));
            OK(trine_alloc(ctx, TRINE_DEVICE, work_bytes, &work));
            OK(trine_gtsv(ctx, TRINE_D, n, 1, &ways[w], da, db, dc, dd, n, dd, n, work, work_bytes,
                          &(trine_exec){.stream = cudaStreamLegacy}));
            CUDA(cudaDeviceSynchronize());
            test_from_device(ctx, x, dd, bytes);
            for (int64_t i = 0; i < n; i++) {
                const long double left = i > 0 ? (long double)a[i] * x[i - 1] : 0, own = (long double)b[i] * x[i],
                                  right = i < n - 1 ? (long double)c[i] * x[i + 1] : 0;
                if (!isfinite(x[i]))
                    fail_msg("n %lld, way %d: x[%lld] is not finite", (long long)n, (int)w, (long long)i);
                if (n == 512 && !(fabsl(d[i] - left - own - right) <=
                                  50 * 0x1p-52L * (fabsl(d[i]) + fabsl(left) + fabsl(own) + fabsl(right))))
                    fail_msg("n %lld, way %d: residual of row %lld", (long long)n, (int)w, (long long)i);
            }
            test_release(ctx, da), test_release(ctx, db), test_release(ctx, dc), test_release(ctx, dd),
                test_release(ctx, work);
            free(a), free(b), free(c), free(d), free(x);
            OK(trine_context_destroy(&ctx));
        }
}

#if CUDART_VERSION >= 12050
/** A function of the driver, or the test is skipped. */
static void *driver_function(const char *name)
{
    void *function;
    enum cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion(name, &function, 12050, cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
        skip();
    return function;
}

/** A green context of so few multiprocessors, and a stream of it. */
static CUgreenCtx open_part_of_device(unsigned multiprocessors, cudaStream_t *stream)
{
    const PFN_cuDeviceGetDevResource_v12040 get_resource =
        (PFN_cuDeviceGetDevResource_v12040)driver_function("cuDeviceGetDevResource");
    const PFN_cuDevSmResourceSplitByCount_v12040 split =
        (PFN_cuDevSmResourceSplitByCount_v12040)driver_function("cuDevSmResourceSplitByCount");
    const PFN_cuDevResourceGenerateDesc_v12040 describe =
        (PFN_cuDevResourceGenerateDesc_v12040)driver_function("cuDevResourceGenerateDesc");
    const PFN_cuGreenCtxCreate_v12040 create = (PFN_cuGreenCtxCreate_v12040)driver_function("cuGreenCtxCreate");
    const PFN_cuGreenCtxStreamCreate_v12050 create_stream =
        (PFN_cuGreenCtxStreamCreate_v12050)driver_function("cuGreenCtxStreamCreate");
    CUdevResource all, part;
    CUdevResourceDesc what;
    CUgreenCtx green;
    unsigned groups = 1;
    CUDA(cudaFree(NULL)); /* the device's context */
    CUDA(get_resource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    if (all.sm.smCount < 4 * multiprocessors) skip();
    CUDA(split(&part, &groups, &all, NULL, 0, multiprocessors));
    CUDA(describe(&what, &part, 1));
    CUDA(create(&green, what, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CUDA(create_stream(stream, green, CU_STREAM_NON_BLOCKING, 0));
    return green;
}
static void close_part_of_device(CUgreenCtx green, cudaStream_t stream)
{
    CUDA(cudaStreamDestroy(stream));
    CUDA(((PFN_cuGreenCtxDestroy_v12040)driver_function("cuGreenCtxDestroy"))(green));
}

/** Rows in single that fit on so many multiprocessors: tiles of 1024 rows and 16 KB, and room for what is left of
 *  them. */
static int64_t rows_on_chip(int multiprocessors)
{
    int shared_bytes;
    test_shape(&shared_bytes);
    const int64_t tiles = shared_bytes ? (shared_bytes - 13 * 1024) / (16 * 1024) : 12;
    return multiprocessors * 1024 * tiles;
}

/** On 16 multiprocessors some clusters of 16 blocks do not fit, and what fills the whole chip would, in a graph,
 *  wait for itself. */
static void a_stream_with_a_part_of_the_device_gets_its_solution_at_once_and_from_a_graph(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1000, 16384, 30000, 100000, 700001, 1000000};
    cudaStream_t stream;
    const CUgreenCtx green = open_part_of_device(16, &stream);
    for (int s = 0; s < 6; s++)
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
            if (!test_is_small(sizes[s]) || !test_is_to_do()) continue;
            const trine_gtsv_options options = {.path = paths[p]};
            struct fixture f = open_fixture(sizes[s], 1, options);
            cudaGraph_t graph;
            cudaGraphExec_t exec;
            const trine_status status = solve(&f, stream, options);
            CUDA(cudaStreamSynchronize(stream));
            if (paths[p] == TRINE_GTSV_ON_CHIP && sizes[s] > rows_on_chip(16)) {
                assert_int_equal(status, TRINE_ERR_UNSUPPORTED);
                if (sizes[s] <= rows_on_chip(128)) { /* on the whole device */
                    OK(solve(&f, cudaStreamLegacy, options));
                    CUDA(cudaDeviceSynchronize());
                    check_column(&f, 0);
                }
                close_fixture(&f);
                continue;
            }
            assert_int_equal(status, TRINE_SUCCESS);
            check_column(&f, 0);
            CUDA(cudaMemset(f.dx, 0xff, (size_t)f.n * sizeof(float)));
            CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            OK(solve(&f, stream, options));
            CUDA(cudaStreamEndCapture(stream, &graph));
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
            CUDA(cudaDeviceSynchronize());
            CUDA(cudaGraphLaunch(exec, stream));
            CUDA(cudaStreamSynchronize(stream));
            check_column(&f, 0);
            CUDA(cudaGraphExecDestroy(exec));
            CUDA(cudaGraphDestroy(graph));
            close_fixture(&f);
        }
    close_part_of_device(green, stream);
}
#endif

struct repetition {
    int partition;
    trine_status status;
};
static void *solve_often(void *argument)
{
    struct repetition *r = argument;
    const trine_gtsv_options options = {.partition = r->partition};
    struct fixture f = open_fixture(5000, 4, options);
    for (int k = 0; k < 500 && !r->status; k++) r->status = solve(&f, cudaStreamLegacy, options);
    CUDA(cudaDeviceSynchronize());
    for (int64_t k = 0; k < 4; k++) check_column(&f, k);
    close_fixture(&f);
    return NULL;
}

/** Both need more shared memory a block than a kernel has without asking, but not the same. */
static void threads_with_partitions_of_different_sizes_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct repetition each[] = {{.partition = 56}, {.partition = 64}};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, solve_often, &each[0]), 0);
    solve_often(&each[1]);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(each[0].status, TRINE_SUCCESS);
    assert_int_equal(each[1].status, TRINE_SUCCESS);
}

static void more_than_two_to_the_31_elements_are_addressed(void **state)
{
    (void)state;
    const int64_t n = (1 << 25) + 1, nrhs = 65;
    if (!test_is_small(n)) skip();
    struct fixture f = open_fixture(n, nrhs, (trine_gtsv_options){0});
    OK(solve(&f, cudaStreamLegacy, (trine_gtsv_options){0}));
    CUDA(cudaDeviceSynchronize());
    check_column(&f, 0);
    check_column(&f, nrhs - 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_solves_every_number_of_rows_and_columns),
        cmocka_unit_test(every_final_stage_solves_cyclic_and_other_systems),
        cmocka_unit_test(a_path_that_cannot_solve_a_system_says_so),
        cmocka_unit_test(a_captured_solve_can_be_replayed_with_new_data),
        cmocka_unit_test(solves_one_after_the_other_do_not_overtake_each_other),
        cmocka_unit_test(a_singular_system_stays_finite_and_refinement_makes_the_residual_of_the_published_size_small),
#if CUDART_VERSION >= 12050 /* green contexts */
        cmocka_unit_test(a_stream_with_a_part_of_the_device_gets_its_solution_at_once_and_from_a_graph),
#endif
        cmocka_unit_test(threads_with_partitions_of_different_sizes_do_not_disturb_each_other),
        cmocka_unit_test(more_than_two_to_the_31_elements_are_addressed),
    };
    return TEST_MAIN(tests);
}
