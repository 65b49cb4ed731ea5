/* Forests in a CUDA graph: captured, replayed with new values, the same bits as stage by stage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "forest_support.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

/** A forest with values, a decomposition's permutations and bands in device memory. */
struct fixture {
    trine_context ctx;
    problem *p;
    trine_forest forest;
    void *values, *bands[3], *permutation;
};
enum { FORESTS = 3 };

static void *on_device(trine_context ctx, size_t bytes)
{
    void *at;
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes + 1, &at));
    return at;
}
static struct fixture open_fixture(const char *spec, trine_dtype t, const trine_forest_options *options)
{
    struct fixture f = {.ctx = test_context(), .p = problem_gallery(spec, t)};
    const size_t size = trine_dtype_size(t), n = (size_t)f.p->n;
    f.values = on_device(f.ctx, (size_t)f.p->nnz * size);
    for (int k = 0; k < 3; k++) f.bands[k] = on_device(f.ctx, FORESTS * n * size);
    f.permutation = on_device(f.ctx, FORESTS * n * 4);
    OK(trine_forest_create(f.ctx, &f.forest, f.p->A, options));
    return f;
}
static void close_fixture(struct fixture *f)
{
    void *const there[] = {f->values, f->bands[0], f->bands[1], f->bands[2], f->permutation};
    for (int k = 0; k < 5; k++) trine_free(f->ctx, TRINE_DEVICE, there[k]);
    OK(trine_forest_destroy(&f->forest));
    problem_end(f->p);
    OK(trine_context_destroy(&f->ctx));
}
/** Values of the matrix, each times a random number. */
static void fill(struct fixture *f, uint64_t seed)
{
    const problem *p = f->p;
    const size_t size = trine_dtype_size(p->t);
    void *values = malloc((size_t)p->nnz * size + 1);
    for (int64_t k = 0; k < p->nnz; k++)
        put(p->t, values, k, get(p->t, p->values, k) * (1 + test_uniform(seed, (uint64_t)k)));
    OK(trine_copy(f->ctx, f->values, TRINE_DEVICE, values, TRINE_HOST, (size_t)p->nnz * size));
    free(values);
}

/** All that may be captured. */
static void run_all(struct fixture *f, const trine_factor_rounds *rounds, void *stream)
{
    const trine_exec exec = {.stream = stream};
    const trine_forest_decomposition d = {
        .count = FORESTS, .permutation = f->permutation, .a = f->bands[0], .b = f->bands[1], .c = f->bands[2]};
    OK(trine_forest_decompose(f->forest, TRINE_DEVICE, f->values, rounds, &d, &exec));
    OK(trine_forest_set_weights(f->forest, TRINE_DEVICE, f->values, &exec));
    OK(trine_forest_factor(f->forest, rounds, &exec));
    OK(trine_forest_break_cycles(f->forest, &exec));
    OK(trine_forest_order(f->forest, &exec));
    OK(trine_forest_improve(f->forest, 2, &exec));
}

/** Permutations of the decomposition and, behind them, of the forest. */
static int32_t *permutations(struct fixture *f, cudaStream_t stream)
{
    const size_t n = (size_t)f->p->n;
    int32_t *all = malloc((FORESTS + 1) * n * sizeof *all + 1);
    trine_forest_arrays arrays;
    CUDA(cudaStreamSynchronize(stream));
    OK(trine_forest_get_arrays(f->forest, &arrays));
    OK(trine_copy(f->ctx, all, TRINE_HOST, f->permutation, TRINE_DEVICE, FORESTS * n * sizeof *all));
    OK(trine_copy(f->ctx, all + FORESTS * n, TRINE_HOST, arrays.permutation, TRINE_DEVICE, n * sizeof *all));
    return all;
}

static void a_captured_forest_can_be_replayed_with_new_values(void **state)
{
    static const char *const specs[] = {"laplace2d:n=31", "laplace3d27:n=8", "powerlaw:n=900,degree=9", "diagonal:n=1"};
    static const trine_factor_rounds rules[] = {{.seed = 3},
                                                {.ties = TRINE_TIES_LOWEST_INDEX},
                                                {.until_maximal = 1},
                                                {.until_maximal = 1, .ties = TRINE_TIES_LOWEST_INDEX, .m = 3, .km = 1},
                                                {.until_maximal = 1, .rounds = 2}};
    (void)state;
    for (int k = 0; k < 4 * 5 * 2; k++) {
        const trine_forest_options options = {.ranking = k / 20 ? TRINE_RANKING_SCAN : TRINE_RANKING_SPLITTERS,
                                              .normalized = k % 2};
        const trine_factor_rounds *rounds = &rules[k / 4 % 5];
        struct fixture f = open_fixture(specs[k % 4], all_dtypes[(k + k / 4) % 4], &options);
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        CUDA(cudaStreamCreate(&stream));
        fill(&f, 1);
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        run_all(&f, rounds, stream);
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&ready, graph, 0));
        for (uint64_t seed = 1; seed <= 5; seed += 2) {
            fill(&f, seed);
            run_all(&f, rounds, stream);
            int32_t *direct = permutations(&f, stream);
            CUDA(cudaMemset(f.permutation, 0xFF, FORESTS * (size_t)f.p->n * 4));
            CUDA(cudaGraphLaunch(ready, stream));
            int32_t *replayed = permutations(&f, stream);
            assert_memory_equal(direct, replayed, (FORESTS + 1) * (size_t)f.p->n * sizeof *direct);
            free(direct), free(replayed);
        }
        CUDA(cudaGraphExecDestroy(ready));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaStreamDestroy(stream));
        close_fixture(&f);
    }
}

/** A factor that was captured when there were lists of candidates, replayed for weights that have none. */
static void a_captured_factor_sees_new_weights(void **state)
{
    (void)state;
    struct fixture f = open_fixture("laplace3d27:n=8", TRINE_D, NULL);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    trine_forest_arrays arrays;
    CUDA(cudaStreamCreate(&stream));
    fill(&f, 1);
    run_all(&f, NULL, stream);
    const trine_exec exec = {.stream = stream};
    const trine_forest_decomposition d = {.count = 2, .permutation = f.permutation};
    OK(trine_forest_decompose(f.forest, TRINE_DEVICE, f.values, NULL, &d, &exec));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(trine_forest_factor(f.forest, NULL, &exec));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    fill(&f, 2);
    int32_t *factor[2];
    for (int k = 0; k < 2; k++) { /* by the stage, which also says where the arrays are; then by the graph */
        OK(trine_forest_set_weights(f.forest, TRINE_DEVICE, f.values, &exec));
        if (k) CUDA(cudaGraphLaunch(ready, stream));
        else OK(trine_forest_factor(f.forest, NULL, &exec));
        if (!k) OK(trine_forest_get_arrays(f.forest, &arrays));
        CUDA(cudaStreamSynchronize(stream));
        factor[k] = fetch(f.ctx, arrays.neighbours, 2 * f.p->n, sizeof **factor);
    }
    assert_memory_equal(factor[0], factor[1], 2 * (size_t)f.p->n * sizeof **factor);
    free(factor[0]), free(factor[1]);
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}

/** A graph with rounds until the factor is maximal takes as many as the weights need, which is what info promises. */
static void rounds_until_maximal_are_captured(void **state)
{
    (void)state;
    struct fixture f = open_fixture("laplace2d:n=60", TRINE_S, NULL);
    const trine_factor_rounds rounds = {.until_maximal = 1, .ties = TRINE_TIES_LOWEST_INDEX, .m = 1};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    trine_forest_info info;
    trine_forest_result result;
    CUDA(cudaStreamCreate(&stream));
    const trine_exec exec = {.stream = stream};
    OK(trine_forest_get_info(f.forest, &info));
    assert_int_equal(info.capturable, 2);
    OK(trine_copy(f.ctx, f.values, TRINE_DEVICE, f.p->values, TRINE_HOST, (size_t)f.p->nnz * sizeof(float)));
    OK(trine_forest_set_weights(f.forest, TRINE_DEVICE, f.values, &exec));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(trine_forest_factor(f.forest, &rounds, &exec));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    int64_t needed[2];
    for (int k = 0; k < 2; k++) { /* equal weights, one edge wide fronts; then random ones */
        if (k) fill(&f, 1);
        OK(trine_forest_set_weights(f.forest, TRINE_DEVICE, f.values, &exec));
        OK(trine_forest_factor(f.forest, &rounds, &exec));
        OK(trine_forest_get_result(f.forest, &result, &exec));
        const trine_forest_result direct = result;
        CUDA(cudaGraphLaunch(ready, stream));
        OK(trine_forest_get_result(f.forest, &result, &exec));
        assert_int_equal(result.maximal, 1);
        assert_int_equal(result.rounds, direct.rounds);
        assert_int_equal(result.edges, direct.edges);
        needed[k] = result.rounds;
    }
    assert_int_equal(needed[0], 61);
    assert_true(needed[1] < 61);
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_captured_forest_can_be_replayed_with_new_values),
                                       cmocka_unit_test(a_captured_factor_sees_new_weights),
                                       cmocka_unit_test(rounds_until_maximal_are_captured)};
    return TEST_MAIN(tests);
}
