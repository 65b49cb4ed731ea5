/* Applications of preconditioners in a CUDA graph: captured, replayed with other right-hand sides and other values, the
 * same bits as without. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "precond_support.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

static const trine_precond_options methods[] = {{.method = TRINE_PRECOND_DIAGP1},
                                                {.method = TRINE_PRECOND_TRIDIAG},
                                                {.method = TRINE_PRECOND_ALG_TRI},
                                                {.method = TRINE_PRECOND_ALG_TRI_BLOCK},
                                                {.method = TRINE_PRECOND_ALT_I, .m = 3},
                                                {.method = TRINE_PRECOND_MOS_D, .m = 3},
                                                {.method = TRINE_PRECOND_MOS_A, .m = 2},
                                                {.method = TRINE_PRECOND_ILU0},
                                                {.method = TRINE_PRECOND_ISAI, .sweeps = 2},
                                                {.method = TRINE_PRECOND_IC0}};
enum { METHODS = sizeof methods / sizeof *methods, N = 60 * 41, COLUMNS = 2 };
static const size_t BYTES = N * COLUMNS * sizeof(double);

static void fill(trine_context ctx, void *b, uint64_t seed)
{
    double *host = malloc(BYTES);
    for (int i = 0; i < N * COLUMNS; i++) host[i] = test_uniform(seed, (uint64_t)i) - 0.5;
    OK(trine_copy(ctx, b, TRINE_DEVICE, host, TRINE_HOST, BYTES));
    free(host);
}

static double *result(trine_context ctx, cudaStream_t stream, const void *x)
{
    double *host = malloc(BYTES);
    CUDA(cudaStreamSynchronize(stream));
    OK(trine_copy(ctx, host, TRINE_HOST, x, TRINE_DEVICE, BYTES));
    return host;
}

static void captured_applications_can_be_replayed(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_matrix_info info;
    const double *values;
    void *b, *x;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=60,ny=41", TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, NULL, NULL, (const void **)&values));
    OK(trine_alloc(ctx, TRINE_DEVICE, BYTES, &b));
    OK(trine_alloc(ctx, TRINE_DEVICE, BYTES, &x));
    double *doubled = malloc((size_t)info.nnz * sizeof *doubled);
    for (int64_t e = 0; e < info.nnz; e++) doubled[e] = 2 * values[e];
    for (int o = 0; o < METHODS; o++) {
        trine_precond_options options = methods[o];
        trine_precond p;
        trine_precond_info about;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        options.max_nrhs = COLUMNS;
        OK(trine_precond_analyse(ctx, &p, A, &options));
        OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
        OK(trine_precond_get_info(p, &about));
        CUDA(cudaStreamCreate(&stream));
        const trine_exec exec = {.stream = stream};
        const trine_dense B = {b, N, COLUMNS, N, TRINE_COLMAJOR}, X = {x, N, COLUMNS, N, TRINE_COLMAJOR};
        OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, &exec)); /* what is loaded late is there then */
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, &exec));
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&ready, graph, 0));
        for (int k = 0; k < 4; k++) {
            OK(trine_precond_numeric(p, TRINE_HOST, k < 2 ? values : doubled, TRINE_REUSE_FORESTS, &exec));
            fill(ctx, b, (uint64_t)k);
            OK(trine_precond_apply(p, TRINE_N, NULL, &B, &X, &exec));
            double *direct = result(ctx, stream, x);
            CUDA(cudaMemset(x, 0xFF, BYTES));
            CUDA(cudaGraphLaunch(ready, stream));
            double *replayed = result(ctx, stream, x);
            if (about.deterministic) assert_memory_equal(direct, replayed, BYTES);
            for (int i = 0; i < N * COLUMNS; i++)
                assert_true(fabs(direct[i] - replayed[i]) <= 1e-12 * (1 + fabs(direct[i])));
            free(direct), free(replayed);
        }
        CUDA(cudaGraphExecDestroy(ready));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaStreamDestroy(stream));
        trine_precond_destroy(&p);
    }
    free(doubled);
    trine_free(ctx, TRINE_DEVICE, b);
    trine_free(ctx, TRINE_DEVICE, x);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(captured_applications_can_be_replayed)};
    return TEST_MAIN(tests);
}
