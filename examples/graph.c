/* A solve recorded in a CUDA graph, and replayed. Needs a GPU.
 *     cc graph.c $(pkg-config --cflags --libs trine) -I$CUDA/include -L$CUDA/lib64 -lcudart */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <trine/trine.h>

#define TRY(call) do { if (call) { fprintf(stderr, "graph: %s\n", trine_last_error()); goto done; } } while (0)
#define CUDA(call)                                                 \
    do {                                                           \
        cudaError_t e = (call);                                    \
        if (e) {                                                   \
            fprintf(stderr, "graph: %s\n", cudaGetErrorString(e)); \
            goto done;                                             \
        }                                                          \
    } while (0)

enum { n = 20 * 20 * 20, replays = 10 };

int main(void)
{
    trine_context ctx = NULL;
    trine_matrix A = NULL, L = NULL;
    trine_triangular plan = NULL;
    trine_exec exec = {0};
    size_t bytes = 0;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    void *there = NULL;
    double *b = malloc(2 * n * sizeof *b), *x = b ? b + n : NULL, error = 0;
    int failed = 1;
    if (!b) goto done;
    TRY(trine_context_create(&ctx, "cuda"));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(trine_context_set_stream(ctx, stream)); /* or per call: exec.stream */
    TRY(trine_matrix_gallery(ctx, &A, "laplace3d:n=20", TRINE_D));
    TRY(trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
    TRY(trine_triangular_analyse(ctx, &plan, L, NULL)); /* before the recording: analyse, numeric, work, memory */
    TRY(trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL));
    TRY(trine_triangular_check(plan, NULL));
    TRY(trine_triangular_work(plan, 1, NULL, &bytes, &exec.work)); /* the graph's own; it must outlive the graph */
    TRY(trine_alloc(ctx, TRINE_DEVICE, n * sizeof *b, &there));
    exec.stream = stream;
    const trine_dense X = {.data = there, .rows = n, .cols = 1};

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    TRY(trine_triangular_solve(plan, TRINE_N, NULL, &X, &X, &exec));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    for (int k = 1; k <= replays; k++) {
        for (int i = 0; i < n; i++) b[i] = k;
        TRY(trine_copy(ctx, there, TRINE_DEVICE, b, TRINE_HOST, n * sizeof *b));
        CUDA(cudaGraphLaunch(ready, stream));
        TRY(trine_copy(ctx, x, TRINE_HOST, there, TRINE_DEVICE, n * sizeof *b)); /* on the same stream; waits */
        error = fmax(error, fabs(6 * x[0] / k - 1));
    }
    printf("%d replays, largest error in row 0: %.1e\n", replays, error);
    failed = !(error < 1e-14);
done:
    if (ready) cudaGraphExecDestroy(ready);
    if (graph) cudaGraphDestroy(graph);
    trine_work_destroy(&exec.work);
    if (ctx) trine_free(ctx, TRINE_DEVICE, there);
    trine_triangular_destroy(&plan);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    if (stream) cudaStreamDestroy(stream);
    free(b);
    return failed;
}
