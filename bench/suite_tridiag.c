/* Suite tridiag: gtsv over powers of two, coefficients and right-hand sides uniform in (-1,1). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SMALLEST_POWER = 10, LARGEST_POWER = 26 };

/** One system in the context's space and on the host: a, b, c, D, X, each n elements, D and X nrhs times. */
typedef struct {
    bench *b;
    trine_dtype dtype;
    int64_t n, nrhs;
    trine_gtsv_options options;
    char *host, *there;   /* a, b, c, D; X only there */
    void *X, *work;
    size_t work_bytes, element;
} tridiagonal;

static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static char *array_of(const tridiagonal *s, char *base, int k) { return base + (size_t)k * (size_t)s->n * s->element; }

static trine_status solve(void *self)
{
    tridiagonal *s = self;
    char *a = s->there;
    const char *c = array_of(s, a, 2), *D = array_of(s, a, 3);
    if (s->b->device.space == TRINE_HOST)
        return trine_gtsv_cpu(s->b->device.threads, s->dtype, s->n, s->nrhs, &s->options, a, array_of(s, a, 1), c, D, s->n, s->X, s->n, s->work, s->work_bytes);
    return trine_gtsv(trine_exec_stream(s->b->ctx, NULL), s->dtype, s->n, s->nrhs, &s->options, a, array_of(s, a, 1), c, D, s->n, s->X, s->n, s->work, s->work_bytes);
}

static double value_of(trine_dtype t, const void *p, int64_t i) { return t == TRINE_S ? (double)((const float *)p)[i] : ((const double *)p)[i]; }

/** Largest |d - Ax| / (|A||x| + |d|) by rows and columns; infinite if x is not finite. */
static double backward_error(const tridiagonal *s, const void *X)
{
    double worst = 0;
    for (int64_t k = 0; k < s->nrhs; k++) {
        const char *x = (const char *)X + (size_t)(k * s->n) * s->element, *d = array_of(s, s->host, 3) + (size_t)(k * s->n) * s->element;
        for (int64_t i = 0; i < s->n; i++) {
            long double r = value_of(s->dtype, d, i), size = fabsl(r);
            for (int m = -1; m <= 1; m++) {
                if (i + m < 0 || i + m >= s->n) continue;
                const long double term = (long double)value_of(s->dtype, array_of(s, s->host, m + 1), i) * value_of(s->dtype, x, i + m);
                r -= term;
                size += fabsl(term);
            }
            const double error = (double)(fabsl(r) / size);
            if (!(error <= worst)) worst = error == error ? error : INFINITY;
        }
    }
    return worst;
}

static trine_status run_one(bench *b, trine_dtype dtype, int64_t n, int64_t nrhs, const char *method)
{
    trine_status status = TRINE_SUCCESS;
    tridiagonal s = {.b = b, .dtype = dtype, .n = n, .nrhs = nrhs, .element = trine_dtype_size(dtype)};
    const trine_space space = b->device.space;
    const size_t system_bytes = (size_t)(n * (3 + nrhs)) * s.element, x_bytes = (size_t)(n * nrhs) * s.element;
    char name[32], *host = NULL, *x = NULL;
    bench_time time;
    snprintf(name, sizeof name, "random:n=%lld", (long long)n);
    bench_record r = bench_record_begin("tridiag", name);
    r.n = n, r.nnz = 3 * n - 2, r.dtype = dtype, r.op = TRINE_N, r.nrhs = nrhs, r.impl = "trine", r.method = r.chosen = method;
    r.bytes = (int64_t)system_bytes + (int64_t)x_bytes;
    if (strcmp(method, "auto") != 0) s.options.partition = atoi(method);
    TRY(space == TRINE_HOST ? trine_gtsv_cpu_work_size(dtype, n, nrhs, &s.options, &s.work_bytes) : trine_gtsv_work_size(dtype, n, nrhs, &s.options, &s.work_bytes));
    TRY(ALLOC(b->ctx, host, (int64_t)system_bytes));
    TRY(ALLOC(b->ctx, x, (int64_t)x_bytes));
    s.host = host;
    for (int64_t i = 0; i < n * (3 + nrhs); i++) {
        const double u = (double)(mix((uint64_t)i) >> 11) * 0x1p-52 - 1;
        if (dtype == TRINE_S) ((float *)(void *)host)[i] = (float)u;
        else ((double *)(void *)host)[i] = u;
    }
    void *there;
    TRY(trine_alloc(b->ctx, space, system_bytes, &there));
    s.there = there;
    TRY(trine_alloc(b->ctx, space, x_bytes, &s.X));
    TRY(trine_alloc(b->ctx, space, s.work_bytes, &s.work));
    TRY(trine_copy(b->ctx, s.there, space, host, TRINE_HOST, system_bytes));
    TRY(bench_measure(b, solve, &s, &time));
    TRY(trine_copy(b->ctx, x, TRINE_HOST, s.X, space, x_bytes));
    r.solve_ms = time.median, r.solve_min_ms = time.min, r.reps = time.reps;
    r.error = backward_error(&s, x);
    /* The two kernels of a stage read the system twice: 9 elements a row with one right-hand side. */
    const double moved = (double)(n * (6 + 3 * nrhs)) * (double)s.element;
    bench_record_add_number(&r, "grows_per_second", 1e-6 * (double)(n * nrhs) / time.median);
    bench_record_add_number(&r, "copy_fraction", 1e-6 * moved / time.median / b->copy_gbs);
    bench_record_add_number(&r, "work_bytes", (double)s.work_bytes);
    fprintf(b->table, "%-6s %s %11lld %5lld %10.4f %10.4f %9.2f %8.3f %9.1e\n", method, bench_dtype_name(dtype), (long long)n, (long long)nrhs, time.median,
            time.min, 1e-6 * (double)(n * nrhs) / time.median, 1e-6 * moved / time.median / b->copy_gbs, r.error);
    fflush(b->table);
done:
    if (status) bench_record_fail(&r, status == TRINE_ERR_MEMORY ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    trine_free(b->ctx, space, s.there);
    trine_free(b->ctx, space, s.X);
    trine_free(b->ctx, space, s.work);
    trine_free(b->ctx, TRINE_HOST, host);
    trine_free(b->ctx, TRINE_HOST, x);
    return bench_record_write(b, &r);
}

/** --methods: auto, or rows of a partition (8, 16, ..., 64). --dtype: s and d. */
trine_status bench_suite_tridiag(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    static char *const automatic[] = {"auto"};
    static char *const both[] = {"s", "d"};
    static char *const one[] = {"1"};
    char *const *methods = b->methods.count ? b->methods.item : automatic, *const *dtypes = b->dtypes.count ? b->dtypes.item : both;
    char *const *counts = b->nrhs.count ? b->nrhs.item : one;
    const int n_methods = b->methods.count ? b->methods.count : 1, n_dtypes = b->dtypes.count ? b->dtypes.count : 2, n_counts = b->nrhs.count ? b->nrhs.count : 1;
    const int largest = b->device.space == TRINE_HOST ? LARGEST_POWER - 3 : LARGEST_POWER;
    fprintf(b->table, "%-6s %s %11s %5s %10s %10s %9s %8s %9s\n", "method", "t", "n", "nrhs", "ms", "min ms", "Grows/s", "of copy", "error");
    for (int d = 0; d < n_dtypes; d++) {
        if (strcmp(dtypes[d], "s") != 0 && strcmp(dtypes[d], "d") != 0) continue;
        for (int m = 0; m < n_methods; m++)
            for (int k = 0; k < n_counts; k++)
                for (int power = SMALLEST_POWER; power <= largest; power += power == LARGEST_POWER - 2 ? 2 : 1)
                    TRY(run_one(b, *dtypes[d] == 's' ? TRINE_S : TRINE_D, INT64_C(1) << power, strtoll(counts[k], NULL, 10), methods[m]));
    }
done:
    return status;
}
