/* Tridiagonal solve on the CPU by recursive partitioned Schur complements; the arithmetic is rpts_partition.h. */
#include <float.h>
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/rpts.h"

enum {
    LANES = 16,                       /* partitions eliminated together */
    RPTS_DIRECT_ROWS = 64,            /* systems up to this size are solved by one elimination */
    TILE_ROWS = RPTS_DIRECT_ROWS + 2,
    RPTS_SERIAL_ROWS = 8192,          /* fewer rows are not worth a parallel region */
    RPTS_CPU_PARTITION = 32
};

#define TEMPLATE "tridiagonal/gtsv_cpu.inc"
#include "core/each_dtype.h"

typedef void (*gtsv_fn)(const rpts_options *, const rpts_plan *, const void *, const void *, const void *, const void *, int64_t, void *, int64_t, void *);
static const gtsv_fn gtsv[] = TABLE(gtsv);

static trine_status prepare(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, rpts_options *o, rpts_plan *plan, size_t *bytes)
{
    trine_status status = rpts_check_options(t, n, nrhs, options, o);
    if (status) return status;
    if (!o->partition) o->partition = RPTS_CPU_PARTITION;
    rpts_make_plan(n, nrhs, o->cyclic, o->partition, RPTS_DIRECT_ROWS, plan);
    return rpts_bytes(n, nrhs, plan->elements, o->refine, t, bytes);
}

trine_status trine_gtsv_cpu_work_size(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    rpts_options o;
    rpts_plan plan;
    REQUIRE(bytes, "bytes is NULL");
    return prepare(t, n, nrhs, options, &o, &plan, bytes);
}

trine_status trine_gtsv_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                            const void *a, const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                            void *work, size_t work_bytes)
{
    rpts_options o;
    rpts_plan plan;
    size_t needed = 0;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(threads >= 0, "threads is %d", threads);
    TRY(prepare(t, n, nrhs, options, &o, &plan, &needed));
    REQUIRE(!n || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    TRY(rpts_check_vectors(n, nrhs, D, ldd, X, ldx));
    TRY(rpts_check_work(work, work_bytes, needed));
    o.threads = threads ? threads : omp_get_max_threads();
    if (n && nrhs) gtsv[t](&o, &plan, a, b, c, D, ldd, X, ldx, work);
done:
    return status;
}
