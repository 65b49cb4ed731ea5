/* CUDA events around a call on the context's stream, and the device memory of trine's plans. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cuda.h"

static cudaEvent_t started, stopped;

/* Blocks given back are kept while `keeping`, for the next request of the same size: an analysis that is repeated
 * then finds its buffers allocated. */
typedef struct block {
    struct block *next;
    void *memory;
    size_t bytes;
    bool used;
} block;
static block *blocks;
static bool keeping;

static void *take_block(void *user, size_t bytes)
{
    (void)user;
    for (block *k = blocks; k; k = k->next)
        if (!k->used && k->bytes == bytes) {
            k->used = true;
            return k->memory;
        }
    block *k = calloc(1, sizeof *k);
    if (!k || cudaMalloc(&k->memory, bytes) != cudaSuccess) {
        cudaGetLastError();
        free(k);
        return NULL;
    }
    *k = (block){blocks, k->memory, bytes, true};
    return (blocks = k)->memory;
}

static void free_unused(void)
{
    for (block **at = &blocks; *at;) {
        block *k = *at;
        if (k->used) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        cudaFree(k->memory);
        free(k);
    }
}

static void give_block(void *user, void *memory)
{
    (void)user;
    for (block *k = blocks; k; k = k->next)
        if (k->memory == memory) k->used = false;
    if (!keeping) free_unused();
}

void bench_device_keep_memory(bool keep)
{
    keeping = keep;
    if (!keep) free_unused();
}

/** With the solves on a device the host's BLAS has only factors to make, of small blocks: one thread of OpenBLAS
 *  does that about as fast as several, and more than there are cores take a hundred times as long.
 *  OPENBLAS_NUM_THREADS goes first. */
static void calm_blas(void)
{
    void (*set)(int);
    void *address = getenv("OPENBLAS_NUM_THREADS") ? NULL : dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    memcpy(&set, &address, sizeof set);
    if (set) set(1);
}

trine_status bench_device_open(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    const trine_allocator memory = {.alloc = take_block, .release = give_block};
    calm_blas();
    /* for this program's own copy of the runtime; the library has another */
    TRY(CUDA(cudaSetDevice(b->device.device)));
    TRY(trine_context_set_allocator(b->ctx, NULL, &memory));
    TRY(CUDA(cudaEventCreate(&started)));
    TRY(CUDA(cudaEventCreate(&stopped)));
done:
    return status;
}

void bench_device_close(void)
{
    if (started) cudaEventDestroy(started);
    if (stopped) cudaEventDestroy(stopped);
    started = stopped = NULL;
}

trine_status bench_device_copy(bench *b, void *to, const void *from, size_t bytes)
{
    return CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, b->stream));
}

trine_status bench_device_timer_start(bench *b) { return CUDA(cudaEventRecord(started, b->stream)); }

trine_status bench_device_timer_stop(bench *b, double *ms)
{
    trine_status status = TRINE_SUCCESS;
    float elapsed = 0;
    TRY(CUDA(cudaEventRecord(stopped, b->stream)));
    TRY(CUDA(cudaEventSynchronize(stopped)));
    TRY(CUDA(cudaEventElapsedTime(&elapsed, started, stopped)));
    *ms = elapsed;
done:
    return status;
}
