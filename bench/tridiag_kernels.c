/* The throughput of the kernels of gtsv's two passes, with and without arithmetic, beside a copy kernel (Figure 12,
 * left). */
#include "tridiag_kernels.h"

#include <stdio.h>

#include "tridiag.h"

static const struct {
    const char *name;
    int elements;
} kernels[TRIDIAG_KERNELS] = {
    [TRIDIAG_COPY] = {"copy kernel", 2},
    [TRIDIAG_REDUCE] = {"reduce", 4},
    [TRIDIAG_REDUCE_ONLY_READ] = {"reduce: only read", 4},
    [TRIDIAG_SUBSTITUTE] = {"substitute", 5},
    [TRIDIAG_SUBSTITUTE_ONLY_MOVE] = {"substitute: only move", 5},
};

typedef struct {
    tridiag_kernel kernel;
    tridiag_arrays arrays;
} launch;

static trine_status run(void *self)
{
    const launch *l = self;
    const int error = tridiag_kernel_launch(l->kernel, &l->arrays);
    return error ? trine_fail(TRINE_ERR_DEVICE, "%s: error %d of the CUDA runtime", kernels[l->kernel].name, error)
                 : TRINE_SUCCESS;
}

trine_status tridiag_measure_kernels(bench *b, trine_dtype dtype, int64_t n)
{
    trine_status status = TRINE_SUCCESS;
    tridiag_problem p = {0};
    void *work = NULL;
    char name[32];
    snprintf(name, sizeof name, "kernel: n=%lld", (long long)n);
    TRY(tridiag_problem_make(b, &(tridiag_shape){.dtype = dtype, .n = n}, &p));
    TRY(trine_alloc(b->ctx, TRINE_DEVICE, tridiag_band_bytes(&p), &work));
    TRY(bench_device_copy(b, work, p.D, tridiag_band_bytes(&p))); /* any finite numbers */
    for (int k = 0; k < TRIDIAG_KERNELS; k++) {
        launch l = {k,
                    {dtype == TRINE_D, n, tridiag_band(&p, -1), tridiag_band(&p, 0), tridiag_band(&p, 1), p.D, p.X,
                     work, b->stream}};
        bench_record r = bench_record_begin("tridiag", name);
        bench_time time;
        TRY(bench_measure(b, run, &l, &time));
        r.n = n, r.nnz = 3 * n, r.dtype = dtype, r.nrhs = 1, r.impl = "trine", r.method = r.chosen = kernels[k].name;
        r.bytes = n * kernels[k].elements * (int64_t)p.element;
        r.solve_ms = time.median, r.solve_min_ms = time.min, r.reps = time.reps;
        const double gbs = 1e-6 * (double)r.bytes / time.median;
        bench_record_add_text(&r, "problem", "kernel");
        bench_record_add_number(&r, "gbs", gbs);
        bench_record_add_number(&r, "copy_fraction", gbs / b->copy_gbs);
        fprintf(b->table, "%-22s %-24s %s %10lld %8d %5d %10.4f %10.4f %8.0f %8.3f  (GB/s)\n", "kernel",
                kernels[k].name, bench_dtype_name(dtype), (long long)n, 1, 1, r.solve_ms, r.solve_min_ms, gbs,
                gbs / b->copy_gbs);
        TRY(bench_record_write(b, &r));
    }
    fflush(b->table);
done:
    trine_free(b->ctx, TRINE_DEVICE, work);
    tridiag_problem_free(&p);
    return status;
}
