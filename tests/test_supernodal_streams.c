/* Supernodal solves on streams of their own on a GPU: graph capture, several works in flight, and memory
 * that ends. */
#include <pthread.h>
#include <stdlib.h>

#include "core/gpu.h"
#include "supernodal_support.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

/** Several right-hand sides on a stream of their own, and the check of what came back. */
typedef struct {
    const scene *scene;
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
    const int64_t n = f->scene->F.n;
    const size_t bytes = (size_t)(n * f->nrhs) * sizeof(double);
    OK(trine_supernodal_work(f->scene->plan, f->nrhs, NULL, NULL, &f->work));
    CUDA(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    f->b = malloc(bytes);
    f->x = malloc(bytes);
    for (int64_t i = 0; i < n * f->nrhs; i++) f->b[i] = creal(right_hand_side(i, f->nrhs));
    f->db = test_to_device(f->scene->ctx, f->b, bytes);
    f->dx = test_to_device(f->scene->ctx, f->b, bytes);
    f->B = (trine_dense){f->db, n, f->nrhs, n, TRINE_COLMAJOR};
    f->X = (trine_dense){f->dx, n, f->nrhs, n, TRINE_COLMAJOR};
}

static void close_flight(flight *f)
{
    test_release(f->scene->ctx, f->db);
    test_release(f->scene->ctx, f->dx);
    free(f->b);
    free(f->x);
    OK(trine_work_destroy(&f->work));
    CUDA(cudaStreamDestroy(f->stream));
}

static void check_flight(flight *f)
{
    const int64_t n = f->scene->F.n;
    const size_t bytes = (size_t)(n * f->nrhs) * sizeof(double);
    CUDA(cudaMemcpyAsync(f->x, f->dx, bytes, cudaMemcpyDeviceToHost, f->stream));
    CUDA(cudaStreamSynchronize(f->stream));
    for (int64_t j = 0; j < f->nrhs; j++) check_solution(&f->scene->F, f->op, f->b + j * n, f->x + j * n);
}

static void a_captured_solve_can_be_replayed_with_new_data(void **state)
{
    (void)state;
    scene s = mixed_scene();
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        set_plan(&s, &(trine_supernodal_options){.variant = v, .threshold = 30});
        for (int64_t nrhs = 1; nrhs <= 41; nrhs += 20) {
            flight f = {.scene = &s, .nrhs = nrhs, .op = nrhs == 21 ? TRINE_N : TRINE_T};
            cudaGraph_t graph;
            cudaGraphExec_t exec;
            open_flight(&f);
            CUDA(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeThreadLocal));
            OK(trine_supernodal_solve(s.plan, f.op, NULL, &f.B, &f.X,
                                      &(trine_exec){.stream = f.stream, .work = f.work}));
            CUDA(cudaStreamEndCapture(f.stream, &graph));
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
            for (int round = 0; round < 4; round++) {
                for (int64_t i = 0; i < s.F.n * nrhs; i++) f.b[i] = test_uniform((uint64_t)round, (uint64_t)i);
                CUDA(cudaMemcpyAsync(f.db, f.b, (size_t)(s.F.n * nrhs) * sizeof(double), cudaMemcpyHostToDevice,
                                     f.stream));
                CUDA(cudaGraphLaunch(exec, f.stream));
                check_flight(&f);
            }
            CUDA(cudaGraphExecDestroy(exec));
            CUDA(cudaGraphDestroy(graph));
            close_flight(&f);
        }
    }
    close_scene(&s);
}

/** One of several host threads: 30 solves on its own stream, with its own work. */
static void *fly(void *argument)
{
    flight *f = argument;
    for (int round = 0; round < 30; round++)
        if (trine_supernodal_solve(f->scene->plan, f->op, NULL, &f->B, &f->X,
                                   &(trine_exec){.stream = f->stream, .work = f->work}) != TRINE_SUCCESS)
            return f;
    return NULL;
}

static void threads_with_works_of_their_own_solve_at_the_same_time(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    scene s = mixed_scene();
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++) {
        set_plan(&s, &(trine_supernodal_options){.variant = v, .threshold = 30});
        flight flights[THREADS];
        pthread_t threads[THREADS];
        for (int k = 0; k < THREADS; k++) {
            flights[k] = (flight){.scene = &s, .nrhs = 1 + 11 * k, .op = k % 2 ? TRINE_N : TRINE_T};
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
    }
    close_scene(&s);
}

/* Device memory that counts with the host's in one test_memory. */
static void *device_alloc(void *user, size_t bytes)
{
    test_memory *memory = user;
    void *p = NULL;
    if (++memory->calls == memory->fail_at || cudaMalloc(&p, bytes) != cudaSuccess) return NULL;
    memory->live++;
    return p;
}
static void device_release(void *user, void *p)
{
    if (p) ((test_memory *)user)->live--;
    cudaFree(p);
}
static void *host_alloc(void *user, size_t bytes)
{
    test_memory *memory = user;
    if (++memory->calls == memory->fail_at) return NULL;
    memory->live++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void host_release(void *user, void *p)
{
    if (p) ((test_memory *)user)->live--;
    free(p);
}

static void limit_both(trine_context ctx, test_memory *memory)
{
    OK(trine_context_set_allocator(ctx, &(trine_allocator){host_alloc, host_release, memory},
                                   &(trine_allocator){device_alloc, device_release, memory}));
}

static void a_failing_allocation_of_any_variant_leaves_nothing_behind(void **state)
{
    (void)state;
    scene s = mixed_scene();
    for (trine_supernodal_variant v = TRINE_VARIANT_DYNAMIC; v <= TRINE_VARIANT_SPMV; v++)
        for (trine_supernodal_invert invert = TRINE_INVERT_NONE; invert <= TRINE_INVERT_FULL; invert++)
            for (trine_supernodal_access access = TRINE_ACCESS_PUSH; access <= TRINE_ACCESS_PULL; access++)
                if (v != TRINE_VARIANT_SPMV || invert != TRINE_INVERT_NONE)
                    fail_every_allocation(&s.F,
                                          &(trine_supernodal_options){.variant = v,
                                                                      .invert = invert,
                                                                      .access = access,
                                                                      .threshold = 30,
                                                                      .single = access == TRINE_ACCESS_PULL},
                                          limit_both);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_captured_solve_can_be_replayed_with_new_data),
                                       cmocka_unit_test(threads_with_works_of_their_own_solve_at_the_same_time),
                                       cmocka_unit_test(a_failing_allocation_of_any_variant_leaves_nothing_behind)};
    return TEST_MAIN(tests);
}
