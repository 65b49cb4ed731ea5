/* CHOLMOD enters OpenMP regions of four threads between calls of the BLAS, on whatever machine, and OpenBLAS has
 * threads of its own for each core that it sees: together they are more than there are cores, wait for each other
 * spinning, and take longer than one thread. The regions only copy; so the threads are the BLAS's. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "direct/threads.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

#include "core/direct_interface.h"

/* ------------------------------------------------------------------ the BLAS */

typedef int (*get_threads_fn)(void);
typedef void (*set_threads_fn)(int);
static struct {
    pthread_mutex_t lock;
    bool sought;
    get_threads_fn get;
    set_threads_fn set; /* NULL: an unknown BLAS, which is left alone */
    int users, before; /* factorizations under way; what the first of them found */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** The names by which BLAS libraries take a number of threads. */
static void find_blas(void)
{
    static const struct {
        const char *get, *set;
    } names[] = {{"openblas_get_num_threads", "openblas_set_num_threads"},
                 {"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"},
                 {"bli_thread_get_num_threads", "bli_thread_set_num_threads"}};
    for (size_t k = 0; k < sizeof names / sizeof *names && !blas.set; k++) {
        *(void **)&blas.get = dlsym(RTLD_NEXT, names[k].get);
        if (blas.get) *(void **)&blas.set = dlsym(RTLD_NEXT, names[k].set);
    }
    blas.sought = true;
}

static void enter_blas(int threads)
{
    pthread_mutex_lock(&blas.lock);
    if (!blas.sought) find_blas();
    if (blas.set && blas.users++ == 0) {
        blas.before = blas.get();
        blas.set(threads);
    }
    pthread_mutex_unlock(&blas.lock);
}

static void leave_blas(void)
{
    pthread_mutex_lock(&blas.lock);
    if (blas.set && --blas.users == 0) blas.set(blas.before);
    pthread_mutex_unlock(&blas.lock);
}

/* ------------------------------------------------------------ a factorization */

int factor_threads_count(int threads_of_context, double flops)
{
    const double worth = 1e9; /* flops of a thread: some 50 ms, beside which waking it is nothing */
    return (int)fmax(1, fmin(threads_of_context, flops / worth));
}

struct factor_threads factor_threads_begin(trine_context ctx, double flops)
{
    trine_context_info info = {.threads = 1};
    trine_context_get_info(ctx, &info); /* fails for NULL alone */
    enter_blas(factor_threads_count(info.threads, flops));
    return (struct factor_threads){.openmp = trine_openmp_limit()};
}

void factor_threads_end(struct factor_threads before)
{
    trine_openmp_restore(before.openmp);
    leave_blas();
}
