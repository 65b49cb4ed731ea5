/* Sparse right-hand sides: expanded into X, solved in place, and for csc2csc pruned to the largest entries. On a GPU
 * tiles of D without entries are marked, so that the solve passes over them. */
#include "tridiagonal/info/info.h"
#include "tridiagonal/common/parts.h"
#include "tridiagonal/sparse_rhs/sparse_rhs.h"

enum { BATCH_GPU = 128, BATCH_CPU = 16 };

typedef struct { const void *a, *b, *c; } bands;

static const struct sparse_rhs_backend *backend_of(const solve_place *at)
{
    return at->cuda ? TRINE_CUDA_TABLE(&sparse_rhs_cuda) : &sparse_rhs_cpu;
}

/** What is in the workspace of a dense solve of up to nrhs right-hand sides, as many as a GPU solves at once: on a
 *  GPU marks, then the solver's. */
typedef struct {
    gtsv_tile tile;
    size_t mark_bytes, solver_bytes;
} layout;

static trine_status lay_out(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                            const trine_gtsv_options *options, layout *l)
{
    *l = (layout){0};
    REQUIRE(n <= INT32_MAX, "n is %lld; row indices of 32 bits end at %d", (long long)n, INT32_MAX);
    const trine_status status = gtsv_work_size(at, t, n, nrhs, options, &l->solver_bytes);
    if (status || !at->cuda) return status;
    l->tile = TRINE_CUDA_TABLE(&gtsv_marks_cuda)->tile(t, nrhs);
    l->mark_bytes = (size_t)(gtsv_mark_count(n, nrhs, l->tile) + 3) / 4 * 4 * sizeof(int32_t);
    return TRINE_SUCCESS;
}

/** Expand the columns into X and solve there. */
static trine_status solve_columns(const solve_place *at, sparse_columns *x, const layout *l,
                                  const trine_gtsv_options *options, bands A, void *work)
{
    trine_status status = TRINE_SUCCESS;
    void *solver = (char *)work + l->mark_bytes;
    x->tile = l->tile, x->marks = l->mark_bytes ? work : NULL;
    TRY(backend_of(at)->expand(at, x));
    TRY(at->cuda ? gtsv_with_marks(at->stream, x->t, x->n, x->count, options, A.a, A.b, A.c, x->X, x->ldx, x->marks,
                                   solver, l->solver_bytes)
                 : gtsv_solve(at, x->t, x->n, x->count, options, A.a, A.b, A.c, x->X, x->ldx, x->X, x->ldx, solver,
                              l->solver_bytes));
done:
    return status;
}

/** values and rows may be NULL where there is no entry, which only offsets on the host can tell. */
static trine_status check_columns(const solve_place *at, int64_t n, int64_t nrhs, const char *name, const void *values,
                                  const int32_t *rows, const int32_t *offsets)
{
    REQUIRE(!n || !nrhs || offsets, "%s_offsets is NULL", name);
    REQUIRE(at->cuda || !n || !nrhs || offsets[nrhs] == offsets[0] || (values && rows), "%s_%s is NULL", name,
            values ? "rows" : "values");
    return TRINE_SUCCESS;
}

trine_status csc2dense_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                             const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                             const void *values, const int32_t *rows, const int32_t *offsets, void *X, int64_t ldx,
                             void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t parts = at->cuda ? rpts_parts(nrhs) : 1;
    layout l;
    TRY(lay_out(at, t, n, at->cuda ? rpts_part_size(nrhs) : nrhs, options, &l));
    const size_t needed = l.mark_bytes + l.solver_bytes;
    if (at->cuda) TRY(info_refuse(options, "trine_gtsv_csc2dense"));
    TRY(check_columns(at, n, nrhs, "D", values, rows, offsets));
    REQUIRE(ldx >= n, "ldx is %lld, less than n = %lld", (long long)ldx, (long long)n);
    REQUIRE(!n || !nrhs || (X && a && b && c), "%s is NULL", !X ? "X" : !a ? "a" : !b ? "b" : "c");
    REQUIRE(work_bytes >= needed && (work || !needed), "the workspace has %zu bytes; %zu are needed",
            work ? work_bytes : 0, needed);
    if (!n || !nrhs) return TRINE_SUCCESS;
    for (int64_t part = 0; part < parts; part++) {
        const int64_t first = parts > 1 ? rpts_part(nrhs, part) : 0, end = parts > 1 ? rpts_part(nrhs, part + 1) : nrhs;
        sparse_columns columns = {.t = t,
                                  .n = n,
                                  .first = first,
                                  .count = end - first,
                                  .ldx = ldx,
                                  .X = (void *)(uintptr_t)rpts_column(t, X, ldx, first),
                                  .values = (void *)(uintptr_t)values,
                                  .rows = (int32_t *)(uintptr_t)rows,
                                  .offsets = offsets};
        TRY(solve_columns(at, &columns, &l, options, (bands){a, b, c}, work));
    }
done:
    return status;
}

/** X of a batch, its columns 16 bytes apart, then the workspace of its solve. */
static trine_status csc2csc_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                 const trine_gtsv_options *options, int64_t *batch, int64_t *ldx, layout *l,
                                 size_t *dense_bytes, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t most = at->cuda ? BATCH_GPU : BATCH_CPU;
    REQUIRE(bytes, "bytes is NULL");
    TRY(lay_out(at, t, n, nrhs < most ? nrhs : most, options, l));
    *batch = nrhs < most ? nrhs : most;
    *ldx = (n + 15) / 16 * 16;
    *dense_bytes = (size_t)(*ldx * *batch) * trine_dtype_size(t);
    *bytes = *dense_bytes + l->mark_bytes + l->solver_bytes;
done:
    return status;
}

trine_status csc2csc_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                           const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                           const void *D_values, const int32_t *D_rows, const int32_t *D_offsets, void *X_values,
                           int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    int64_t batch, ldx;
    size_t dense, needed;
    layout l;
    TRY(csc2csc_size(at, t, n, nrhs, options, &batch, &ldx, &l, &dense, &needed));
    if (at->cuda) TRY(info_refuse(options, "trine_gtsv_csc2csc"));
    TRY(check_columns(at, n, nrhs, "D", D_values, D_rows, D_offsets));
    TRY(check_columns(at, n, nrhs, "X", X_values, X_rows, X_offsets));
    REQUIRE(!n || !nrhs || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    REQUIRE(work_bytes >= needed && (work || !needed), "the workspace has %zu bytes; %zu are needed",
            work ? work_bytes : 0, needed);
    if (!n) return TRINE_SUCCESS;
    for (int64_t first = 0; first < nrhs; first += batch) {
        sparse_columns columns = {.t = t,
                                  .n = n,
                                  .first = first,
                                  .count = nrhs - first < batch ? nrhs - first : batch,
                                  .ldx = ldx,
                                  .X = work,
                                  .values = (void *)(uintptr_t)D_values,
                                  .rows = (int32_t *)(uintptr_t)D_rows,
                                  .offsets = D_offsets};
        TRY(solve_columns(at, &columns, &l, options, (bands){a, b, c}, (char *)work + dense));
        columns.values = X_values, columns.rows = X_rows, columns.offsets = X_offsets;
        TRY(backend_of(at)->keep_largest(at, &columns));
    }
done:
    return status;
}

trine_status csc2dense_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                 const trine_gtsv_options *options, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    layout l;
    REQUIRE(bytes, "bytes is NULL");
    TRY(lay_out(at, t, n, at->cuda ? rpts_part_size(nrhs) : nrhs, options, &l));
    *bytes = l.mark_bytes + l.solver_bytes;
done:
    return status;
}

trine_status csc2csc_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                               const trine_gtsv_options *options, size_t *bytes)
{
    int64_t batch, ldx;
    size_t dense;
    layout l;
    return csc2csc_size(at, t, n, nrhs, options, &batch, &ldx, &l, &dense, bytes);
}
