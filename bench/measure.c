/* Timing: medians of many calls, and the copy bandwidth that results are put beside. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { WARM_UP = 5, SLOW_ANALYSIS = 50 /* ms */, IN_A_ROW = 20 };
struct row_of_calls {
    bench_call call;
    void *self;
};

static trine_status time_one(bench *b, bench_call call, void *self, double *ms)
{
    trine_status status = TRINE_SUCCESS;
    if (b->device.space == TRINE_DEVICE) {
        TRY(bench_device_timer_start(b));
        TRY(call(self));
        TRY(bench_device_timer_stop(b, ms));
    } else {
        double start = trine_wall_time();
        TRY(call(self));
        *ms = 1e3 * (trine_wall_time() - start);
    }
done:
    return status;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static bool out_of_time(const bench *b, double start, int round)
{
    return b->max_seconds > 0 && round >= b->least_reps && trine_wall_time() - start > b->max_seconds;
}

/** Calls before the timed ones: five, or as many as a tenth of the time allows. */
static trine_status warm_up(bench *b, bench_call call, void *self)
{
    trine_status status = TRINE_SUCCESS;
    const double start = trine_wall_time();
    for (int i = 0; i < WARM_UP && !(i && b->max_seconds > 0 && trine_wall_time() - start > 0.1 * b->max_seconds);
         i++) {
        double ignored;
        TRY(time_one(b, call, self, &ignored));
    }
done:
    return status;
}

trine_status bench_measure(bench *b, bench_call call, void *self, bench_time *time)
{
    trine_status status = TRINE_SUCCESS;
    double *times = NULL;
    TRY(ALLOC(b->ctx, times, b->reps));
    TRY(warm_up(b, call, self));
    const double start = trine_wall_time();
    time->reps = 0;
    while (time->reps < b->reps && !out_of_time(b, start, time->reps))
        TRY(time_one(b, call, self, &times[time->reps++]));
    time->median = bench_median(times, time->reps);
    time->min = times[0];
done:
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

static trine_status call_in_a_row(void *argument)
{
    const struct row_of_calls *row = argument;
    trine_status status = TRINE_SUCCESS;
    for (int i = 0; i < IN_A_ROW && !status; i++) status = row->call(row->self);
    return status;
}

trine_status bench_measure_in_a_row(bench *b, bench_call call, void *self, bench_time *time)
{
    struct row_of_calls row = {call, self};
    const trine_status status = bench_measure(b, call_in_a_row, &row, time);
    if (!status) time->median /= IN_A_ROW, time->min /= IN_A_ROW;
    return status;
}

trine_status bench_measure_return(bench *b, bench_call call, void *self, bench_time *time)
{
    trine_status status = TRINE_SUCCESS;
    double *times = NULL;
    TRY(ALLOC(b->ctx, times, b->reps));
    TRY(warm_up(b, call, self));
    for (int i = 0; i < b->reps; i++) {
        TRY(trine_context_synchronize(b->ctx));
        const double start = trine_wall_time();
        TRY(call(self));
        times[i] = 1e3 * (trine_wall_time() - start);
    }
    TRY(trine_context_synchronize(b->ctx));
    *time = (bench_time){.median = bench_median(times, b->reps), .min = times[0], .reps = b->reps};
done:
    trine_free(b->ctx, TRINE_HOST, times);
    return status;
}

trine_status bench_measure_wall(bench *b, bench_call call, bench_call reset, void *self, bench_time *time)
{
    enum { MOST = 20, SOME = 5, QUICK = 2 /* ms: such analyses vary, and do not take long to repeat */ };
    trine_status status = TRINE_SUCCESS;
    double times[MOST];
    time->reps = 0;
    do {
        if (reset) TRY(reset(self));
        TRY(trine_context_synchronize(b->ctx));
        double start = trine_wall_time();
        TRY(call(self));
        TRY(trine_context_synchronize(b->ctx));
        times[time->reps++] = 1e3 * (trine_wall_time() - start);
    } while (time->reps < (times[0] < QUICK ? MOST : SOME) && times[0] < SLOW_ANALYSIS);
    time->median = bench_median(times, time->reps);
    time->min = times[0];
done:
    return status;
}

trine_status bench_measure_analysis_on_device(bench *b, bench_call call, bench_call reset, void *self, bench_time *time)
{
    enum { MOST = 11 };
    trine_status status = TRINE_SUCCESS;
    double times[MOST];
    time->reps = 0;
    bench_device_keep_memory(true);
    /* the first one allocates */
    for (int round = 0; round <= MOST && (round < 2 || times[0] < SLOW_ANALYSIS); round++) {
        TRY(reset(self));
        TRY(trine_context_synchronize(b->ctx));
        TRY(time_one(b, call, self, &times[round ? time->reps++ : 0]));
    }
    time->median = bench_median(times, time->reps);
    time->min = times[0];
done:
    bench_device_keep_memory(false);
    return status;
}

trine_status bench_measure_in_turn(bench *b, int count, const bench_call *calls, const bench_call *resets,
                                   void **selves, double *times, int *rounds)
{
    trine_status status = TRINE_SUCCESS;
    double start = trine_wall_time();
    int round = 0;
    for (; round < b->reps && !out_of_time(b, start, round); round++)
        for (int i = 0; i < count; i++) {
            if (resets && resets[i]) TRY(resets[i](selves[i]));
            TRY(time_one(b, calls[i], selves[i], &times[(int64_t)i * b->reps + round]));
        }
    for (int i = 1; i < count; i++)
        memmove(&times[(int64_t)i * round], &times[(int64_t)i * b->reps], (size_t)round * sizeof *times);
    *rounds = round;
done:
    return status;
}

/* ----------------------------------------------------------- other programs */

trine_status bench_turn_begin(const bench *b)
{
    while (b->turns >= 0 && flock(b->turns, LOCK_EX) != 0)
        if (errno != EINTR) return trine_fail(TRINE_ERR_IO, "cannot wait for a turn: %s", strerror(errno));
    return TRINE_SUCCESS;
}

void bench_turn_end(const bench *b)
{
    if (b->turns >= 0) flock(b->turns, LOCK_UN);
}

static pid_t programs[64];
static int n_programs;

trine_status bench_start_programs(int count)
{
    for (n_programs = 0; n_programs < count && n_programs < (int)(sizeof programs / sizeof *programs); n_programs++) {
        const pid_t parent = getpid(), child = fork();
        if (child < 0) {
            bench_end_programs();
            return trine_fail(TRINE_ERR_MEMORY, "no process for a program besides");
        }
        if (child == 0) {
#if defined(__linux__)
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive this one, whatever becomes of it */
#endif
            if (getppid() != parent) _exit(0);
            for (volatile int forever = 1; forever;) {}
            _exit(0);
        }
        programs[n_programs] = child;
    }
    usleep(100000); /* until the scheduler has dealt them out */
    return TRINE_SUCCESS;
}

void bench_end_programs(void)
{
    for (int i = 0; i < n_programs; i++) kill(programs[i], SIGKILL);
    for (int i = 0; i < n_programs; i++) waitpid(programs[i], NULL, 0);
    n_programs = 0;
}

/* ------------------------------------------------------------------ memory */

void *bench_alloc(trine_context ctx, int64_t count, size_t size, bool cleared)
{
    void *p = NULL;
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / (size ? size : 1)) {
        trine_fail(TRINE_ERR_MEMORY, "no memory for %lld elements of %zu bytes", (long long)count, size);
        return NULL;
    }
    const size_t bytes = count && size ? (size_t)count * size : 1;
    if (trine_alloc(ctx, TRINE_HOST, bytes, &p)) return NULL;
    if (cleared) memset(p, 0, bytes);
    return p;
}

/* ---------------------------------------------------------- copy bandwidth */

typedef struct {
    bench *b;
    char *from, *to;
    size_t bytes;
} copy;

static trine_status copy_once(void *self)
{
    copy *c = self;
    if (c->b->device.space == TRINE_DEVICE) return bench_device_copy(c->b, c->to, c->from, c->bytes);
    int threads = c->b->device.threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        size_t begin = c->bytes / (size_t)threads * (size_t)t;
        size_t end = t + 1 == threads ? c->bytes : c->bytes / (size_t)threads * (size_t)(t + 1);
        memcpy(c->to + begin, c->from + begin, end - begin);
    }
    return TRINE_SUCCESS;
}

trine_status bench_copy_bandwidth(bench *b, double *gbs)
{
    trine_status status = TRINE_SUCCESS;
    const size_t mib = b->copy_mib ? (size_t)b->copy_mib : b->device.space == TRINE_DEVICE ? 1024 : 256;
    copy c = {b, NULL, NULL, mib << 20};
    int reps = b->reps;
    bench_time time;
    TRY(trine_alloc(b->ctx, b->device.space, c.bytes, (void **)&c.from));
    TRY(trine_alloc(b->ctx, b->device.space, c.bytes, (void **)&c.to));
    if (b->device.space == TRINE_HOST) memset(c.from, 1, c.bytes); /* untouched pages would all be one page of zeros */
    b->reps = 20;
    TRY(bench_measure(b, copy_once, &c, &time));
    *gbs = 2e-6 * (double)c.bytes / time.median;
done:
    b->reps = reps;
    trine_free(b->ctx, b->device.space, c.from);
    trine_free(b->ctx, b->device.space, c.to);
    return status;
}
