/* What only a GPU can show: solves on the caller's stream, in flight together, captured in a graph and replayed. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

/** 5-point grid, lower triangle: many levels, deterministic values. */
static trine_matrix make_triangle(trine_context ctx, int64_t side)
{
    trine_matrix A;
    int64_t *offsets, at = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, side * side, side * side, 3 * side * side - 2 * side,
                             &offsets, &columns, &values));
    for (int64_t i = 0; i < side * side; i++) {
        if (i >= side) columns[at] = (int32_t)(i - side), ((double *)values)[at++] = -0.9;
        if (i % side) columns[at] = (int32_t)(i - 1), ((double *)values)[at++] = -1.1;
        columns[at] = (int32_t)i, ((double *)values)[at++] = 4;
        offsets[i + 1] = at;
    }
    return A;
}

struct fixture {
    trine_context ctx;
    trine_matrix A;
    trine_triangular plan;
    int64_t n;
    double *b, *x;
    void *db, *dx;
};
static struct fixture open_fixture_with(trine_triangular_method method)
{
    struct fixture f = {.ctx = test_context(), .n = 150 * 150};
    f.A = make_triangle(f.ctx, 150);
    OK(trine_triangular_analyse(
        f.ctx, &f.plan, f.A, &(trine_triangular_options){.method = method, .ops = TRINE_N | TRINE_T, .max_nrhs = 4}));
    OK(trine_triangular_numeric(f.plan, TRINE_HOST, NULL, NULL));
    f.b = malloc((size_t)f.n * sizeof *f.b);
    f.x = malloc((size_t)f.n * sizeof *f.x);
    for (int64_t i = 0; i < f.n; i++) f.b[i] = test_uniform(1, (uint64_t)i);
    f.db = test_to_device(f.ctx, f.b, (size_t)f.n * sizeof *f.b);
    f.dx = test_to_device(f.ctx, f.b, (size_t)f.n * sizeof *f.b);
    return f;
}
static struct fixture open_fixture(void) { return open_fixture_with(TRINE_TRI_AUTO); }
static void close_fixture(struct fixture *f)
{
    test_release(f->ctx, f->db);
    test_release(f->ctx, f->dx);
    free(f->b);
    free(f->x);
    OK(trine_triangular_destroy(&f->plan));
    OK(trine_matrix_destroy(&f->A));
    OK(trine_context_destroy(&f->ctx));
}

static const trine_triangular_method methods[] = {TRINE_TRI_AUTO, TRINE_TRI_LEVELSET, TRINE_TRI_SYNCFREE_CSR,
                                                  TRINE_TRI_SYNCFREE_CSC, TRINE_TRI_PARTITIONED_INVERSE};
enum { METHODS = sizeof methods / sizeof *methods };

/** |b - T x| <= c eps (|T||x| + |b|), rows of the grid triangle. */
static void check(const struct fixture *f, const double *b)
{
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(f->A, &offsets, &columns, &values));
    for (int64_t i = 0; i < f->n; i++) {
        long double r = b[i], size = fabs(b[i]);
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const long double term = (long double)((const double *)values)[k] * f->x[columns[k]];
            r -= term;
            size += fabsl(term);
        }
        assert_true(fabsl(r) <= 8 * 0x1p-52L * size);
    }
}

static void check_that_a_captured_solve_can_be_replayed_with_new_data(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method);
    const size_t bytes = (size_t)f.n * sizeof *f.b;
    const trine_dense B = {f.db, f.n, 1, f.n, TRINE_COLMAJOR}, X = {f.dx, f.n, 1, f.n, TRINE_COLMAJOR};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &B, &X, &(trine_exec){.stream = stream}));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    double *first = malloc(bytes);
    for (int round = 0; round < 6; round++) {
        for (int64_t i = 0; i < f.n; i++) f.b[i] = test_uniform(1 + (uint64_t)(round % 3), (uint64_t)i);
        CUDA(cudaMemcpyAsync(f.db, f.b, bytes, cudaMemcpyHostToDevice, stream));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaMemcpyAsync(f.x, f.dx, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        check(&f, f.b);
        if (round == 0) memcpy(first, f.x, bytes);
        /* replay is deterministic, too */
        if (round == 3 && method != TRINE_TRI_SYNCFREE_CSC) assert_memory_equal(first, f.x, bytes);
    }
    free(first);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}
static void a_captured_solve_can_be_replayed_with_new_data(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) check_that_a_captured_solve_can_be_replayed_with_new_data(methods[m]);
}

/** One work object, on one stream: solves that are made at once, solves that were captured before, one right-hand
 *  side and several. */
static void check_that_direct_and_captured_solves_take_turns(trine_triangular_method method)
{
    enum { COLUMNS = 3 };
    struct fixture f = open_fixture_with(method);
    const size_t bytes = (size_t)f.n * sizeof *f.b;
    double *b = malloc(COLUMNS * bytes);
    for (int64_t i = 0; i < COLUMNS * f.n; i++) b[i] = test_uniform(7, (uint64_t)i);
    void *db = test_to_device(f.ctx, b, COLUMNS * bytes), *dx = test_to_device(f.ctx, b, COLUMNS * bytes);
    cudaStream_t stream;
    cudaGraphExec_t replay[2] = {0}; /* of one right-hand side, of several */
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (const char *step = "1113111 c 1111 a 1 b 11 a b a 1311 b a 111"; *step; step++) {
        if (*step == ' ') continue;
        const int64_t nrhs = *step == '3' || *step == 'b' ? COLUMNS : 1;
        CUDA(cudaMemsetAsync(dx, 0, COLUMNS * bytes, stream));
        for (int several = 0; several < 2 && *step == 'c'; several++) {
            const trine_dense B = {db, f.n, several ? COLUMNS : 1, f.n, TRINE_COLMAJOR},
                              X = {dx, f.n, several ? COLUMNS : 1, f.n, TRINE_COLMAJOR};
            cudaGraph_t graph;
            CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &B, &X, &(trine_exec){.stream = stream}));
            CUDA(cudaStreamEndCapture(stream, &graph));
            CUDA(cudaGraphInstantiate(&replay[several], graph, 0));
            CUDA(cudaGraphDestroy(graph));
        }
        if (*step == 'c') continue;
        if (*step == 'a' || *step == 'b') CUDA(cudaGraphLaunch(replay[*step - 'a'], stream));
        else
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){db, f.n, nrhs, f.n, TRINE_COLMAJOR},
                                      &(trine_dense){dx, f.n, nrhs, f.n, TRINE_COLMAJOR},
                                      &(trine_exec){.stream = stream}));
        CUDA(cudaStreamSynchronize(stream));
        for (int64_t j = 0; j < nrhs; j++) {
            CUDA(cudaMemcpy(f.x, (double *)dx + j * f.n, bytes, cudaMemcpyDeviceToHost));
            check(&f, b + j * f.n);
        }
    }
    for (int several = 0; several < 2; several++) CUDA(cudaGraphExecDestroy(replay[several]));
    CUDA(cudaStreamDestroy(stream));
    test_release(f.ctx, db);
    test_release(f.ctx, dx);
    free(b);
    close_fixture(&f);
}
static void direct_and_captured_solves_take_turns(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) check_that_direct_and_captured_solves_take_turns(methods[m]);
}

static void check_that_solves_with_their_own_work_run_side_by_side(trine_triangular_method method)
{
    enum { STREAMS = 6 };
    struct fixture f = open_fixture_with(method);
    const size_t bytes = (size_t)f.n * sizeof *f.b;
    cudaStream_t streams[STREAMS];
    trine_work works[STREAMS];
    void *xs[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        size_t needed;
        CUDA(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        OK(trine_triangular_work(f.plan, 1, NULL, &needed, &works[s]));
        xs[s] = test_to_device(f.ctx, f.b, bytes);
    }
    for (int round = 0; round < 10; round++)
        for (int s = 0; s < STREAMS; s++)
            OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){f.db, f.n, 1, f.n, TRINE_COLMAJOR},
                                      &(trine_dense){xs[s], f.n, 1, f.n, TRINE_COLMAJOR},
                                      &(trine_exec){.stream = streams[s], .work = works[s]}));
    for (int s = 0; s < STREAMS; s++) {
        CUDA(cudaStreamSynchronize(streams[s]));
        CUDA(cudaMemcpy(f.x, xs[s], bytes, cudaMemcpyDeviceToHost));
        check(&f, f.b);
        test_release(f.ctx, xs[s]);
        OK(trine_work_destroy(&works[s]));
        CUDA(cudaStreamDestroy(streams[s]));
    }
    close_fixture(&f);
}
static void solves_with_their_own_work_run_side_by_side(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) check_that_solves_with_their_own_work_run_side_by_side(methods[m]);
}

static void check_that_the_callers_stream_orders_the_work(trine_triangular_method method)
{
    struct fixture f = open_fixture_with(method);
    const size_t bytes = (size_t)f.n * sizeof *f.b;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 20; round++) { /* new right-hand side and solve without any wait between them */
        for (int64_t i = 0; i < f.n; i++) f.b[i] = test_uniform(round + 5, (uint64_t)i);
        CUDA(cudaMemcpyAsync(f.db, f.b, bytes, cudaMemcpyHostToDevice, stream));
        const trine_dense both = {f.db, f.n, 1, f.n, TRINE_COLMAJOR};
        OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &both, &both, &(trine_exec){.stream = stream}));
        CUDA(cudaMemcpyAsync(f.x, f.db, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        check(&f, f.b);
    }
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}
static void the_callers_stream_orders_the_work(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) check_that_the_callers_stream_orders_the_work(methods[m]);
}

static void a_buffer_of_the_callers_serves_as_work(void **state)
{
    (void)state;
    struct fixture f = open_fixture();
    size_t bytes;
    trine_work work;
    void *buffer;
    OK(trine_triangular_work(f.plan, 1, NULL, &bytes, NULL));
    CUDA(cudaMalloc(&buffer, bytes));
    OK(trine_triangular_work(f.plan, 1, buffer, &bytes, &work));
    OK(trine_triangular_solve(f.plan, TRINE_N, NULL, &(trine_dense){f.db, f.n, 1, f.n, TRINE_COLMAJOR},
                              &(trine_dense){f.dx, f.n, 1, f.n, TRINE_COLMAJOR}, &(trine_exec){.work = work}));
    test_from_device(f.ctx, f.x, f.dx, (size_t)f.n * sizeof *f.x);
    check(&f, f.b);
    OK(trine_work_destroy(&work));
    CUDA(cudaFree(buffer));
    close_fixture(&f);
}

static void a_device_matrix_can_be_analysed(void **state)
{
    (void)state;
    struct fixture f = open_fixture();
    trine_matrix D;
    trine_triangular plan;
    OK(trine_matrix_copy(f.A, &D, TRINE_DEVICE, TRINE_CSR, TRINE_D));
    OK(trine_triangular_analyse(f.ctx, &plan, D, NULL));
    OK(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL)); /* the matrix's own values, where they are */
    OK(trine_triangular_solve(plan, TRINE_N, NULL, &(trine_dense){f.db, f.n, 1, f.n, TRINE_COLMAJOR},
                              &(trine_dense){f.dx, f.n, 1, f.n, TRINE_COLMAJOR}, NULL));
    test_from_device(f.ctx, f.x, f.dx, (size_t)f.n * sizeof *f.x);
    check(&f, f.b);
    OK(trine_triangular_destroy(&plan));
    OK(trine_matrix_destroy(&D));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_solve_can_be_replayed_with_new_data),
        cmocka_unit_test(direct_and_captured_solves_take_turns),
        cmocka_unit_test(solves_with_their_own_work_run_side_by_side),
        cmocka_unit_test(the_callers_stream_orders_the_work),
        cmocka_unit_test(a_buffer_of_the_callers_serves_as_work),
        cmocka_unit_test(a_device_matrix_can_be_analysed),
    };
    return TEST_MAIN(tests);
}
