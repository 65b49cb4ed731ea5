/* Banded solve on the CPU. */
#include <string.h>

#include "core/scalar.h"
#include "tridiagonal/rpts.h"

enum { BANDED_MAX = 8 }; /* bands on each side */

typedef struct { int64_t n; int kl, ku, pivot; trine_transpose op; const void *bands; } banded;

#define TEMPLATE "tridiagonal/banded_cpu.inc"
#include "core/each_dtype.h"

typedef int64_t (*gbsv_fn)(const banded *, int64_t, int, const void *, int64_t, void *, int64_t, void *);
static const gbsv_fn gbsv[] = TABLE(gbsv);

static trine_status prepare(trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options, rpts_options *o, size_t *bytes)
{
    trine_status status = rpts_check_options(t, n, nrhs, options, o);
    if (status) return status;
    REQUIRE(kl >= 0 && kl <= BANDED_MAX, "kl is %d, not 0 to %d", kl, BANDED_MAX);
    REQUIRE(ku >= 0 && ku <= BANDED_MAX, "ku is %d, not 0 to %d", ku, BANDED_MAX);
    if (o->cyclic) return trine_fail(TRINE_ERR_UNSUPPORTED, "banded systems that are cyclic");
    return rpts_bytes(n, nrhs, n * (kl + ku + 1), o->refine, t, bytes);
}

trine_status trine_gbsv_cpu_work_size(trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options, size_t *bytes)
{
    rpts_options o;
    REQUIRE(bytes, "bytes is NULL");
    return prepare(t, n, nrhs, kl, ku, options, &o, bytes);
}

trine_status trine_gbsv_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                            const void *AB, const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    rpts_options o;
    size_t needed = 0;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(threads >= 0, "threads is %d", threads);
    TRY(prepare(t, n, nrhs, kl, ku, options, &o, &needed));
    REQUIRE(!n || AB, "AB is NULL");
    TRY(rpts_check_vectors(n, nrhs, D, ldd, X, ldx));
    TRY(rpts_check_work(work, work_bytes, needed));
    if (!n || !nrhs) return TRINE_SUCCESS;
    const banded A = {.n = n, .kl = kl, .ku = ku, .pivot = o.pivot, .op = o.op, .bands = AB};
    const int64_t zero = gbsv[t](&A, nrhs, o.refine, D, ldd, X, ldx, work);
    if (zero >= 0) FAIL(TRINE_ERR_SINGULAR, "the pivot of column %lld is exactly zero", (long long)zero);
done:
    return status;
}
