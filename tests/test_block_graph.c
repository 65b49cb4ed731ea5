/* Block tridiagonal and banded solves in a CUDA graph: captured, replayed with new data, the same bits as a direct
 * call. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

enum { ROWS = 777, MOST_ELEMENTS = 3 * ROWS * 8 * 8, MOST_VECTOR = 5 * ROWS * 8 };

/** Solves: bgtsv, bgtf followed by bgtfs, gbsv. m: rows of a block, or bands on either side. */
typedef enum { BLOCKS, FACTORED, BANDS } kind;
struct fixture {
    trine_context ctx;
    kind kind;
    int m;
    int64_t n, nrhs;
    trine_gtsv_options options;
    double *matrix, *d, *x, *work, *factor;
    size_t work_bytes, factor_bytes;
};

static double *on_device(trine_context ctx, size_t bytes)
{
    void *at;
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &at));
    return at;
}
static void fill(struct fixture *f, uint64_t seed)
{
    static double values[MOST_ELEMENTS];
    const int64_t elements = f->kind == BANDS ? (2 * f->m + 1) * f->n : 3 * f->n * f->m, vectors = f->n * f->nrhs;
    for (int64_t i = 0; i < elements; i++) values[i] = 2 * test_uniform(seed, (uint64_t)i) - 1;
    OK(trine_copy(f->ctx, f->matrix, TRINE_DEVICE, values, TRINE_HOST, (size_t)elements * 8));
    for (int64_t i = 0; i < vectors; i++) values[i] = 2 * test_uniform(seed + 1, (uint64_t)i) - 1;
    OK(trine_copy(f->ctx, f->d, TRINE_DEVICE, values, TRINE_HOST, (size_t)vectors * 8));
}
static struct fixture open_fixture(kind kind, int m, int64_t nrhs, trine_gtsv_options options)
{
    struct fixture f = {.ctx = test_context(),
                        .kind = kind,
                        .m = m,
                        .n = kind == BANDS ? ROWS : ROWS * m,
                        .nrhs = nrhs,
                        .options = options};
    f.matrix = on_device(f.ctx, MOST_ELEMENTS * 8), f.d = on_device(f.ctx, MOST_VECTOR * 8),
    f.x = on_device(f.ctx, MOST_VECTOR * 8);
    if (kind == BANDS) OK(trine_gbsv_work_size(f.ctx, TRINE_D, f.n, nrhs, m, m, &options, &f.work_bytes));
    if (kind == BLOCKS) OK(trine_bgtsv_work_size(f.ctx, TRINE_D, ROWS, m, nrhs, &options, &f.work_bytes));
    if (kind == FACTORED) OK(trine_bgtfs_work_size(f.ctx, TRINE_D, ROWS, m, nrhs, &options, &f.work_bytes));
    if (kind == FACTORED) OK(trine_bgtf_size(f.ctx, TRINE_D, ROWS, m, &options, &f.factor_bytes));
    f.work = on_device(f.ctx, f.work_bytes), f.factor = on_device(f.ctx, f.factor_bytes);
    return f;
}
static void close_fixture(struct fixture *f)
{
    double *const there[] = {f->matrix, f->d, f->x, f->work, f->factor};
    for (int k = 0; k < 5; k++) trine_free(f->ctx, TRINE_DEVICE, there[k]);
    OK(trine_context_destroy(&f->ctx));
}
static void solve(struct fixture *f, void *stream)
{
    const double *a = f->matrix, *b = a + f->n * f->m, *c = b + f->n * f->m;
    const trine_exec exec = {.stream = stream};
    if (f->kind == BANDS)
        OK(trine_gbsv(f->ctx, TRINE_D, f->n, f->nrhs, f->m, f->m, &f->options, a, f->d, f->n, f->x, f->n, f->work,
                      f->work_bytes, &exec));
    if (f->kind == BLOCKS)
        OK(trine_bgtsv(f->ctx, TRINE_D, ROWS, f->m, f->nrhs, &f->options, a, b, c, f->d, f->n, f->x, f->n, f->work,
                       f->work_bytes, &exec));
    if (f->kind != FACTORED) return;
    OK(trine_bgtf(f->ctx, TRINE_D, ROWS, f->m, &f->options, a, b, c, f->factor, f->factor_bytes, &exec));
    OK(trine_bgtfs(f->ctx, TRINE_D, ROWS, f->m, f->nrhs, &f->options, f->factor, f->factor_bytes, f->d, f->n, f->x,
                   f->n, f->work, f->work_bytes, &exec));
}
static void fetch(struct fixture *f, cudaStream_t stream, double *x)
{
    CUDA(cudaStreamSynchronize(stream));
    OK(trine_copy(f->ctx, x, TRINE_HOST, f->x, TRINE_DEVICE, (size_t)(f->n * f->nrhs) * 8));
}

static void a_captured_solve_can_be_replayed_with_new_data(void **state)
{
    (void)state;
    static const trine_gtsv_options options[] = {{0}, {.cyclic = 1, .refine = 1}};
    static const kind kinds[] = {BLOCKS, FACTORED, BANDS};
    static double direct[MOST_VECTOR], replayed[MOST_VECTOR];
    for (int k = 0; k < 3 * 5 * 2 * 2; k++) {
        const kind which = kinds[k % 3];
        const int m = 1 + k / 3 % 5;
        const int64_t nrhs = k / 15 % 2 ? 5 : 1;
        trine_gtsv_options o = options[k / 30];
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        if (which == FACTORED) o.refine = 0;
        struct fixture f = open_fixture(which, m, nrhs, o);
        CUDA(cudaStreamCreate(&stream));
        fill(&f, 1);
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        solve(&f, stream);
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&ready, graph, 0));
        for (uint64_t seed = 1; seed <= 5; seed += 2) {
            fill(&f, seed);
            solve(&f, stream);
            fetch(&f, stream, direct);
            CUDA(cudaMemset(f.x, 0xFF, (size_t)(f.n * nrhs) * 8));
            CUDA(cudaGraphLaunch(ready, stream));
            fetch(&f, stream, replayed);
            assert_memory_equal(direct, replayed, (size_t)(f.n * nrhs) * 8);
        }
        CUDA(cudaGraphExecDestroy(ready));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaStreamDestroy(stream));
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_captured_solve_can_be_replayed_with_new_data)};
    return TEST_MAIN(tests);
}
