/* Sparse right-hand sides: expanded into X, solved in place, and for csc2csc pruned to the largest entries. */
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

enum { BATCH_GPU = 128, BATCH_CPU = 16 };

/** Where the work is done, and the dense solver there. */
typedef struct {
    const struct sparse_rhs_backend *backend; /* NULL: not built */
    bool gpu;
    void *stream;
    int threads;
} place;

static place gpu(void *stream) { return (place){TRINE_CUDA_TABLE(&sparse_rhs_cuda), true, stream, 0}; }
static place cpu(int threads) { return (place){&sparse_rhs_cpu, false, NULL, threads}; }

typedef struct { const void *a, *b, *c; } bands;

static trine_status dense_size(const place *at, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    return at->gpu ? trine_gtsv_work_size(t, n, nrhs, options, bytes) : trine_gtsv_cpu_work_size(t, n, nrhs, options, bytes);
}

static trine_status solve_in_place(const place *at, const sparse_columns *x, const trine_gtsv_options *options, bands A, void *work, size_t bytes)
{
    return at->gpu ? trine_gtsv(at->stream, x->t, x->n, x->count, options, A.a, A.b, A.c, x->X, x->ldx, x->X, x->ldx, work, bytes)
                   : trine_gtsv_cpu(at->threads, x->t, x->n, x->count, options, A.a, A.b, A.c, x->X, x->ldx, x->X, x->ldx, work, bytes);
}

/** values and rows may be NULL where there is no entry, which only offsets on the host can tell. */
static trine_status check_columns(const place *at, int64_t n, int64_t nrhs, const char *name, const void *values, const int32_t *rows, const int32_t *offsets)
{
    REQUIRE(n <= INT32_MAX, "n is %lld; row indices of 32 bits end at %d", (long long)n, INT32_MAX);
    REQUIRE(!n || !nrhs || offsets, "%s_offsets is NULL", name);
    REQUIRE(at->gpu || !n || !nrhs || offsets[nrhs] == offsets[0] || (values && rows), "%s_%s is NULL", name, values ? "rows" : "values");
    return TRINE_SUCCESS;
}

static trine_status csc2dense(const place *at, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, bands A,
                              const void *values, const int32_t *rows, const int32_t *offsets, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    size_t needed;
    TRY(dense_size(at, t, n, nrhs, options, &needed));
    TRY(check_columns(at, n, nrhs, "D", values, rows, offsets));
    REQUIRE(ldx >= n, "ldx is %lld, less than n = %lld", (long long)ldx, (long long)n);
    REQUIRE(!n || !nrhs || (X && A.a && A.b && A.c), "%s is NULL", !X ? "X" : !A.a ? "a" : !A.b ? "b" : "c");
    REQUIRE(work_bytes >= needed && (work || !needed), "the workspace has %zu bytes; %zu are needed", work ? work_bytes : 0, needed);
    if (!n || !nrhs) return TRINE_SUCCESS;
    const sparse_columns columns = {.t = t, .n = n, .count = nrhs, .ldx = ldx, .X = X, .values = (void *)(uintptr_t)values,
                                    .rows = (int32_t *)(uintptr_t)rows, .offsets = offsets};
    TRY(at->backend->expand(at->stream, at->threads, &columns));
    TRY(solve_in_place(at, &columns, options, A, work, work_bytes));
done:
    return status;
}

/** X of a batch, its columns 16 bytes apart, then the solver's workspace. */
static trine_status csc2csc_size(const place *at, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, int64_t *batch, int64_t *ldx,
                                 size_t *dense_bytes, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t most = at->gpu ? BATCH_GPU : BATCH_CPU;
    size_t solver;
    REQUIRE(bytes, "bytes is NULL");
    TRY(dense_size(at, t, n, nrhs < most ? nrhs : most, options, &solver));
    *batch = nrhs < most ? nrhs : most;
    *ldx = (n + 15) / 16 * 16;
    *dense_bytes = (size_t)(*ldx * *batch) * trine_dtype_size(t); /* no overflow: dense_size has checked n * batch * 3 of them */
    *bytes = *dense_bytes + solver;
done:
    return status;
}

static trine_status csc2csc(const place *at, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, bands A,
                            const void *D_values, const int32_t *D_rows, const int32_t *D_offsets,
                            void *X_values, int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    int64_t batch, ldx;
    size_t dense, needed;
    TRY(csc2csc_size(at, t, n, nrhs, options, &batch, &ldx, &dense, &needed));
    TRY(check_columns(at, n, nrhs, "D", D_values, D_rows, D_offsets));
    TRY(check_columns(at, n, nrhs, "X", X_values, X_rows, X_offsets));
    REQUIRE(!n || !nrhs || (A.a && A.b && A.c), "%s is NULL", !A.a ? "a" : !A.b ? "b" : "c");
    REQUIRE(work_bytes >= needed && (work || !needed), "the workspace has %zu bytes; %zu are needed", work ? work_bytes : 0, needed);
    if (!n) return TRINE_SUCCESS;
    for (int64_t first = 0; first < nrhs; first += batch) {
        sparse_columns columns = {.t = t, .n = n, .first = first, .count = nrhs - first < batch ? nrhs - first : batch, .ldx = ldx, .X = work,
                                  .values = (void *)(uintptr_t)D_values, .rows = (int32_t *)(uintptr_t)D_rows, .offsets = D_offsets};
        TRY(at->backend->expand(at->stream, at->threads, &columns));
        TRY(solve_in_place(at, &columns, options, A, (char *)work + dense, work_bytes - dense));
        columns.values = X_values, columns.rows = X_rows, columns.offsets = X_offsets;
        TRY(at->backend->select(at->stream, at->threads, &columns));
    }
done:
    return status;
}

trine_status trine_gtsv_csc2dense_work_size(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    return trine_gtsv_work_size(t, n, nrhs, options, bytes);
}
trine_status trine_gtsv_csc2dense(void *stream, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                  const void *a, const void *b, const void *c, const void *D_values, const int32_t *D_rows, const int32_t *D_offsets,
                                  void *X, int64_t ldx, void *work, size_t work_bytes)
{
    const place at = gpu(stream);
    return csc2dense(&at, t, n, nrhs, options, (bands){a, b, c}, D_values, D_rows, D_offsets, X, ldx, work, work_bytes);
}

trine_status trine_gtsv_csc2csc_work_size(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    const place at = gpu(NULL);
    int64_t batch, ldx;
    size_t dense;
    return csc2csc_size(&at, t, n, nrhs, options, &batch, &ldx, &dense, bytes);
}
trine_status trine_gtsv_csc2csc(void *stream, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                const void *a, const void *b, const void *c, const void *D_values, const int32_t *D_rows, const int32_t *D_offsets,
                                void *X_values, int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes)
{
    const place at = gpu(stream);
    return csc2csc(&at, t, n, nrhs, options, (bands){a, b, c}, D_values, D_rows, D_offsets, X_values, X_rows, X_offsets, work, work_bytes);
}

trine_status trine_gtsv_csc2dense_cpu_work_size(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    return trine_gtsv_cpu_work_size(t, n, nrhs, options, bytes);
}
trine_status trine_gtsv_csc2dense_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                      const void *a, const void *b, const void *c, const void *D_values, const int32_t *D_rows, const int32_t *D_offsets,
                                      void *X, int64_t ldx, void *work, size_t work_bytes)
{
    const place at = cpu(threads);
    return csc2dense(&at, t, n, nrhs, options, (bands){a, b, c}, D_values, D_rows, D_offsets, X, ldx, work, work_bytes);
}

trine_status trine_gtsv_csc2csc_cpu_work_size(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    const place at = cpu(0);
    int64_t batch, ldx;
    size_t dense;
    return csc2csc_size(&at, t, n, nrhs, options, &batch, &ldx, &dense, bytes);
}
trine_status trine_gtsv_csc2csc_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                    const void *a, const void *b, const void *c, const void *D_values, const int32_t *D_rows, const int32_t *D_offsets,
                                    void *X_values, int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes)
{
    const place at = cpu(threads);
    return csc2csc(&at, t, n, nrhs, options, (bands){a, b, c}, D_values, D_rows, D_offsets, X_values, X_rows, X_offsets, work, work_bytes);
}
