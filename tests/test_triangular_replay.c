/* Triangular solves on a GPU whose pointers change from call to call: nothing is allocated or captured by them, and
 * a solve that the caller captures and replays has the same bits. */
#include "triangular_support.h"

#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

enum { LEVEL = 6000, LEVELS = 8, BLOCKS = 3 };

/** Levels too wide for one block or cluster, so that level sets take a launch each. */
static int64_t wide_layers(int64_t i, int64_t k, int64_t n)
{
    return (void)n, i < LEVEL || k > 2 ? -1 : i / LEVEL * LEVEL - 1 - (i * 7 + k * 1001) % LEVEL;
}

/* ------------------------------------------------------- what is counted */

static void *device_alloc(void *user, size_t bytes)
{
    void *p = NULL;
    ++*(int64_t *)user;
    return cudaMalloc(&p, bytes) == cudaSuccess ? p : NULL;
}
static void device_release(void *user, void *p) { (void)user, cudaFree(p); }
static void *host_alloc(void *user, size_t bytes)
{
    ++*(int64_t *)user;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void host_release(void *user, void *p) { (void)user, free(p); }

/** Number of a capture in this process. */
static unsigned long long capture_number(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture;
    unsigned long long number = 0;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
#if CUDART_VERSION >= 13000
    CUDA(cudaStreamGetCaptureInfo(stream, &capture, &number, NULL, NULL, NULL, NULL));
#else
    CUDA(cudaStreamGetCaptureInfo_v2(stream, &capture, &number, NULL, NULL, NULL));
#endif
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphDestroy(graph));
    return number;
}

/* ------------------------------------------------------------- one plan */

struct setting {
    trine_context ctx;
    trine_triangular plan;
    trine_dtype t;
    cudaStream_t stream;
    trine_work work;
    int64_t n, nrhs;
    size_t bytes;              /* of a block of right-hand sides */
    char *B, *X;               /* on the host */
    char *expected[2];         /* of ops N and H */
    char *b[BLOCKS], *x[BLOCKS];
};

static trine_dense block(const struct setting *s, void *data)
{
    return (trine_dense){data, s->n, s->nrhs, s->n, TRINE_COLMAJOR};
}

static void solve(const struct setting *s, trine_transpose op, wide alpha, void *b, void *x)
{
    char scalar[16];
    put(s->t, scalar, 0, alpha);
    const trine_dense from = block(s, b), to = block(s, x);
    OK(trine_triangular_solve(s->plan, op, scalar, &from, &to, &(trine_exec){.stream = s->stream, .work = s->work}));
}
static char *expected_of(const struct setting *s, trine_transpose op) { return s->expected[op == TRINE_H]; }
static void assert_expected(const struct setting *s, trine_transpose op, const void *x)
{
    CUDA(cudaMemcpyAsync(s->X, x, s->bytes, cudaMemcpyDeviceToHost, s->stream));
    CUDA(cudaStreamSynchronize(s->stream));
    assert_memory_equal(s->X, expected_of(s, op), s->bytes);
}
static void send_right_hand_sides(const struct setting *s, void *b)
{
    CUDA(cudaMemcpyAsync(b, s->B, s->bytes, cudaMemcpyHostToDevice, s->stream));
}
/** Blocks of right-hand sides as they were, of solutions zero. */
static void reset_blocks(const struct setting *s)
{
    for (int i = 0; i < BLOCKS; i++) {
        send_right_hand_sides(s, s->b[i]);
        CUDA(cudaMemsetAsync(s->x[i], 0, s->bytes, s->stream));
    }
}

/** Solves out of place and in place, here and there, by turns with replays of one that was captured and with solves
 *  of the other side. */
static void check_moving_pointers(const struct setting *s, trine_transpose op)
{
    const trine_transpose other = op == TRINE_H ? TRINE_N : TRINE_H;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    for (int round = 0; round < 2; round++) {
        reset_blocks(s);
        for (int i = 0; i < BLOCKS; i++) { /* new pointers every time; then the same again; then in place */
            solve(s, op, 1, s->b[i], s->x[(i + 1) % BLOCKS]);
            assert_expected(s, op, s->x[(i + 1) % BLOCKS]);
            CUDA(cudaMemsetAsync(s->x[(i + 1) % BLOCKS], 0, s->bytes, s->stream));
            solve(s, op, 1, s->b[i], s->x[(i + 1) % BLOCKS]);
            assert_expected(s, op, s->x[(i + 1) % BLOCKS]);
            solve(s, op, 1, s->b[i], s->b[i]);
            assert_expected(s, op, s->b[i]);
        }
        reset_blocks(s);
        solve(s, op, 4, s->b[0], s->x[0]); /* four times the solution, bit for bit */
        solve(s, op, 1, s->b[0], s->x[1]);
        CUDA(cudaStreamSynchronize(s->stream));
        CUDA(cudaMemcpy(s->X, s->x[0], s->bytes, cudaMemcpyDeviceToHost));
        for (int64_t i = 0; i < s->n * s->nrhs; i++) put(s->t, s->X, i, get(s->t, s->X, i) / 4);
        assert_memory_equal(s->X, expected_of(s, op), s->bytes);
        assert_expected(s, op, s->x[1]);
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        CUDA(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
        solve(s, op, 1, s->b[2], in_place ? s->b[2] : s->x[2]);
        CUDA(cudaStreamEndCapture(s->stream, &graph));
        CUDA(cudaGraphInstantiate(&replay, graph, 0));
        for (int round = 0; round < 3; round++) {
            reset_blocks(s);
            CUDA(cudaGraphLaunch(replay, s->stream));
            assert_expected(s, op, in_place ? s->b[2] : s->x[2]);
            solve(s, op, 1, s->b[round % 2], s->x[0]);
            assert_expected(s, op, s->x[0]);
            solve(s, other, 1, s->b[1], s->x[1]);
            assert_expected(s, other, s->x[1]);
        }
        for (int round = 0; round < 4; round++) { /* the other side's solves take turns, whatever runs between them */
            solve(s, other, round % 2 ? 1 : 2, s->b[0], s->x[round % 2]);
            if (round) CUDA(cudaGraphLaunch(replay, s->stream));
            if (round % 2) assert_expected(s, other, s->x[1]);
        }
        CUDA(cudaGraphExecDestroy(replay));
        CUDA(cudaGraphDestroy(graph));
    }
}

/** counts: right-hand sides, the most last, then 0. */
static void check(trine_dtype t, trine_triangular_method method, bool own_work, struct problem P, const int64_t *counts)
{
    struct arrays a;
    struct setting s = {.t = t, .n = P.n};
    int64_t most_nrhs = 1;
    for (const int64_t *nrhs = counts; *nrhs; nrhs++) most_nrhs = *nrhs;
    int64_t on_host = 0, on_device = 0;
    void *buffer = NULL;
    OK(trine_context_create(&s.ctx, test_device()));
    OK(trine_context_set_allocator(s.ctx, &(trine_allocator){host_alloc, host_release, &on_host},
                                   &(trine_allocator){device_alloc, device_release, &on_device}));
    CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    trine_matrix A = make_matrix(s.ctx, &P, t, false, &a);
    OK(trine_triangular_analyse(
        s.ctx, &s.plan, A,
        &(trine_triangular_options){.method = method, .ops = TRINE_N | TRINE_H, .max_nrhs = most_nrhs}));
    OK(trine_triangular_numeric(s.plan, TRINE_HOST, NULL, NULL));
    OK(trine_context_synchronize(s.ctx));
    if (!own_work) { /* in a buffer that others write to between solves */
        size_t bytes;
        OK(trine_triangular_work(s.plan, most_nrhs, NULL, &bytes, NULL));
        CUDA(cudaMalloc(&buffer, bytes + 256));
        CUDA(cudaMemset(buffer, 0x55, bytes + 256));
        OK(trine_triangular_work(s.plan, most_nrhs, buffer, &bytes, &s.work));
        CUDA(cudaMemset(buffer, 0x55, bytes));
    }
    CUDA(cudaDeviceSynchronize()); /* the stream does not wait for what runs on the default one */
    const size_t most = (size_t)(s.n * most_nrhs) * trine_dtype_size(t);
    s.B = malloc(most), s.X = malloc(most), s.expected[0] = malloc(most), s.expected[1] = malloc(most);
    for (int i = 0; i < BLOCKS; i++) {
        CUDA(cudaMalloc((void **)&s.b[i], most));
        CUDA(cudaMalloc((void **)&s.x[i], most));
    }
    for (int64_t i = 0; i < s.n * most_nrhs; i++) put(t, s.B, i, random_value(11, (uint64_t)i));
    for (const int64_t *nrhs = counts; *nrhs; nrhs++) {
        const int64_t host_before = on_host, device_before = on_device;
        s.nrhs = *nrhs, s.bytes = (size_t)(s.n * s.nrhs) * trine_dtype_size(t);
        for (int h = 0; h < 2; h++) {
            const trine_transpose op = h ? TRINE_H : TRINE_N;
            const trine_dense host_b = block(&s, s.B), host_x = block(&s, s.expected[h]);
            send_right_hand_sides(&s, s.b[0]);
            solve(&s, op, 1, s.b[0], s.x[0]);
            CUDA(cudaMemcpyAsync(s.expected[h], s.x[0], s.bytes, cudaMemcpyDeviceToHost, s.stream));
            CUDA(cudaStreamSynchronize(s.stream));
            check_solution(&P, t, true, false, op, 1, s.B, &host_b, s.expected[h], &host_x);
        }
        for (int h = 0; h < 2; h++) {
            const trine_transpose op = h ? TRINE_H : TRINE_N;
            check_moving_pointers(&s, op);
            const unsigned long long first = capture_number(s.stream), apart = capture_number(s.stream) - first;
            solve(&s, op, 1, s.b[1], s.x[0]);
            solve(&s, op, 1, s.b[1], s.x[1]);
            const unsigned long long after = capture_number(s.stream);
            if (apart == 1) assert_int_equal(after - first, 2); /* nobody else has captured */
            assert_int_equal(on_host, host_before);
            assert_int_equal(on_device, device_before);
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        CUDA(cudaFree(s.b[i]));
        CUDA(cudaFree(s.x[i]));
    }
    free(s.B);
    free(s.X);
    free(s.expected[0]);
    free(s.expected[1]);
    OK(trine_work_destroy(&s.work));
    CUDA(cudaFree(buffer));
    OK(trine_triangular_destroy(&s.plan));
    OK(trine_matrix_destroy(&A));
    CUDA(cudaStreamDestroy(s.stream));
    OK(trine_context_destroy(&s.ctx));
    free_arrays(&a);
    problem_free(&P);
}

static void check_method(trine_triangular_method method)
{
    for (int t = 0; t < 4; t++)
        for (int own_work = 0; own_work < 2; own_work++)
            if (test_is_to_do())
                check(all_dtypes[t], method, own_work, make_rows(LEVEL * LEVELS, 3, wide_layers),
                      (const int64_t[]){1, 3, 10, 0});
}
static void level_sets_take_new_pointers(void **state) { (void)state, check_method(TRINE_TRI_LEVELSET); }
static void the_method_by_rows_takes_new_pointers(void **state) { (void)state, check_method(TRINE_TRI_SYNCFREE_CSR); }

static void structures_without_waits_take_new_pointers(void **state)
{
    (void)state;
    static const struct {
        int64_t n, per_row;
        int64_t (*from)(int64_t, int64_t, int64_t);
    } cases[] = {{6000, 29, dense_groups},  {20001, 4, two_levels},   {20001, 4, three_levels},
                 {30000, 40, dense_corner}, {80100, 6, broad_levels}, {1000, 2, few_levels_one_way}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int t = 0; t < 4; t++)
            for (int own_work = 0; own_work < 2; own_work++)
                if (test_is_to_do())
                    check(all_dtypes[t], TRINE_TRI_AUTO, own_work,
                          make_rows(cases[c].n, cases[c].per_row, cases[c].from), (const int64_t[]){1, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_sets_take_new_pointers),
        cmocka_unit_test(the_method_by_rows_takes_new_pointers),
        cmocka_unit_test(structures_without_waits_take_new_pointers),
    };
    return TEST_MAIN(tests);
}
