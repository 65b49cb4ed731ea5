/* Operators in a CUDA graph: captured, replayed with new vectors and new values of their plans, the same bits as a
 * direct call; the streams that calls are given. */
#include "operator_support.h"

#include <string.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

enum { N = 32, NRHS = 3 };

/** Y := 2 (0.5 S D S + cast(S')) X - Y with solves S and S' and a diagonal D. */
struct fixture {
    world w;
    triangle F, G;
    trine_triangular outer, inner;
    trine_op op;
    trine_work work;
    double *d, *x, *y;
};

static double *on_device(trine_context ctx, int64_t count)
{
    void *at;
    OK(trine_alloc(ctx, TRINE_DEVICE, (size_t)count * sizeof(double), &at));
    return at;
}

static struct fixture open_fixture(void)
{
    struct fixture f = {.w = open_world()};
    trine_context ctx = f.w.ctx;
    trine_op s, t, cast, d, product;
    const trine_triangular_options lower = {.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T};
    make_triangle(ctx, &f.F, TRINE_D, N, TRINE_LOWER, 1, NULL);
    make_triangle(ctx, &f.G, TRINE_S, N, TRINE_LOWER, 2, NULL);
    OK(trine_triangular_analyse(ctx, &f.outer, f.F.T, &lower));
    OK(trine_triangular_analyse(ctx, &f.inner, f.G.T, &lower));
    OK(trine_triangular_numeric(f.outer, TRINE_HOST, NULL, NULL));
    OK(trine_triangular_numeric(f.inner, TRINE_HOST, NULL, NULL));
    f.d = on_device(ctx, N), f.x = on_device(ctx, N * NRHS), f.y = on_device(ctx, N * NRHS);
    OK(trine_triangular_as_op(f.outer, &s));
    OK(trine_triangular_as_op(f.inner, &t));
    OK(trine_op_cast(t, &cast, TRINE_D));
    OK(trine_op_diagonal(ctx, &d, TRINE_D, N, f.d));
    OK(trine_op_product(ctx, &product, 3, (trine_op[]){s, d, s}));
    OK(trine_op_sum(ctx, &f.op, 2, (trine_op[]){product, cast}, (double[]){0.5, 1}));
    OK(trine_op_work(f.op, NRHS, NULL, NULL, &f.work));
    trine_op parts[] = {s, t, cast, d, product};
    for (int i = 0; i < 5; i++) OK(trine_op_destroy(&parts[i]));
    return f;
}
static void close_fixture(struct fixture *f)
{
    OK(trine_work_destroy(&f->work));
    OK(trine_op_destroy(&f->op));
    OK(trine_triangular_destroy(&f->outer));
    OK(trine_triangular_destroy(&f->inner));
    free_triangle(&f->F);
    free_triangle(&f->G);
    double *const there[] = {f->d, f->x, f->y};
    for (int k = 0; k < 3; k++) trine_free(f->w.ctx, TRINE_DEVICE, there[k]);
    close_world(&f->w);
}

/** Random d, x and y; waits. */
static void fill(struct fixture *f, uint64_t seed)
{
    double values[N * NRHS];
    double *const there[] = {f->d, f->x, f->y};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N * NRHS; i++) values[i] = 2 * test_uniform(seed + (uint64_t)k, (uint64_t)i) - 1;
        OK(trine_copy(f->w.ctx, there[k], TRINE_DEVICE, values, TRINE_HOST,
                      (size_t)(k ? N * NRHS : N) * sizeof *values));
    }
}
static void apply(struct fixture *f, trine_transpose op, cudaStream_t stream)
{
    const trine_dense X = {f->x, N, NRHS, 0, TRINE_COLMAJOR}, Y = {f->y, N, NRHS, 0, TRINE_ROWMAJOR};
    OK(trine_op_apply(f->op, op, &(double){2}, &X, &(double){-1}, &Y,
                      &(trine_exec){.stream = stream, .work = f->work}));
}
static void fetch(struct fixture *f, cudaStream_t stream, double *y)
{
    CUDA(cudaStreamSynchronize(stream));
    OK(trine_copy(f->w.ctx, y, TRINE_HOST, f->y, TRINE_DEVICE, N * NRHS * sizeof *y));
}

static void a_captured_apply_can_be_replayed(void **state)
{
    (void)state;
    static double direct[N * NRHS], replayed[N * NRHS], more[32 * 32];
    for (int op = TRINE_N; op <= TRINE_H; op *= 2) {
        struct fixture f = open_fixture();
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        trine_op_info info;
        OK(trine_op_get_info(f.op, &info));
        assert_true(info.capturable);
        CUDA(cudaStreamCreate(&stream));
        fill(&f, 1);
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        apply(&f, (trine_transpose)op, stream);
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&ready, graph, 0));
        for (uint64_t round = 1; round < 4; round++) {
            for (int64_t k = 0; k < f.F.offsets[N]; k++) more[k] = (double)round * ((double *)f.F.values)[k];
            OK(trine_triangular_numeric(f.outer, TRINE_HOST, more, NULL)); /* new values show through */
            OK(trine_context_synchronize(f.w.ctx));
            fill(&f, 10 * round);
            CUDA(cudaGraphLaunch(ready, stream));
            fetch(&f, stream, replayed);
            fill(&f, 10 * round);
            apply(&f, (trine_transpose)op, stream);
            fetch(&f, stream, direct);
            assert_memory_equal(direct, replayed, sizeof direct);
        }
        CUDA(cudaGraphExecDestroy(ready));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaStreamDestroy(stream));
        close_fixture(&f);
    }
}

static void a_capture_needs_a_work(void **state)
{
    (void)state;
    struct fixture f = open_fixture();
    cudaStream_t stream;
    cudaGraph_t graph;
    const trine_dense X = {f.x, N, 1, 0, TRINE_COLMAJOR}, Y = {f.y, N, 1, 0, TRINE_COLMAJOR};
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(TRINE_ERR_STATE, "needs a work object",
          trine_op_apply(f.op, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.stream = stream}));
    CUDA(cudaStreamEndCapture(stream, &graph)); /* not spoilt */
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}

/** All of a tree runs on the caller's stream: behind a copy there that a host function holds up. */
static void CUDART_CB wait_a_little(void *user)
{
    (void)user;
    for (const double end = trine_wall_time() + 0.05; trine_wall_time() < end;) continue;
}
static void all_parts_run_on_the_callers_stream(void **state)
{
    (void)state;
    struct fixture f = open_fixture();
    static double expected[N * NRHS], found[N * NRHS];
    cudaStream_t stream;
    void *kept;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    fill(&f, 5);
    apply(&f, TRINE_N, stream);
    fetch(&f, stream, expected);
    OK(trine_alloc(f.w.ctx, TRINE_DEVICE, N * NRHS * sizeof(double), &kept));
    fill(&f, 5);
    OK(trine_copy(f.w.ctx, kept, TRINE_DEVICE, f.x, TRINE_DEVICE, N * NRHS * sizeof(double)));
    CUDA(cudaMemset(f.x, 0xFF, N * NRHS * sizeof(double)));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaLaunchHostFunc(stream, wait_a_little, NULL));
    CUDA(cudaMemcpyAsync(f.x, kept, N * NRHS * sizeof(double), cudaMemcpyDeviceToDevice, stream));
    apply(&f, TRINE_N, stream);
    fetch(&f, stream, found);
    assert_memory_equal(expected, found, sizeof found);
    trine_free(f.w.ctx, TRINE_DEVICE, kept);
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_apply_can_be_replayed),
        cmocka_unit_test(a_capture_needs_a_work),
        cmocka_unit_test(all_parts_run_on_the_callers_stream),
    };
    return TEST_MAIN(tests);
}
