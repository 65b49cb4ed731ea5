#include "precond/common/rows.h"

#include <string.h>

#include "precond/cpu/cpu.h"

/** Compressed lines of a pattern, and where each entry stands in the order that it was given in; NULL: in place. */
typedef struct {
    int64_t *offsets;
    int32_t *indices;
    int64_t *positions;
} lines;

static void free_lines(trine_context ctx, lines *l)
{
    trine_free(ctx, TRINE_HOST, l->offsets);
    trine_free(ctx, TRINE_HOST, l->indices);
    trine_free(ctx, TRINE_HOST, l->positions);
    *l = (lines){0};
}

/** The lines of the transpose, with ascending indices. */
static trine_status transpose(trine_context ctx, int64_t n, const lines *from, lines *to)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t nnz = from->offsets[n];
    *to = (lines){0};
    TRY(CALLOC(ctx, to->offsets, n + 1));
    TRY(ALLOC(ctx, to->indices, nnz));
    TRY(ALLOC(ctx, to->positions, nnz));
    for (int64_t k = 0; k < nnz; k++) to->offsets[from->indices[k] + 1]++;
    for (int64_t j = 0; j < n; j++) to->offsets[j + 1] += to->offsets[j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = from->offsets[i]; k < from->offsets[i + 1]; k++) {
            const int64_t at = to->offsets[from->indices[k]]++;
            to->indices[at] = (int32_t)i;
            to->positions[at] = from->positions ? from->positions[k] : k;
        }
    for (int64_t j = n; j > 0; j--) to->offsets[j] = to->offsets[j - 1];
    to->offsets[0] = 0;
done:
    if (status) free_lines(ctx, to);
    return status;
}

/** `given` as they are. */
static trine_status copy(trine_context ctx, int64_t n, const lines *given, lines *to)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t nnz = given->offsets[n];
    *to = (lines){0};
    TRY(ALLOC(ctx, to->offsets, n + 1));
    TRY(ALLOC(ctx, to->indices, nnz));
    memcpy(to->offsets, given->offsets, (size_t)(n + 1) * sizeof *to->offsets);
    if (nnz) memcpy(to->indices, given->indices, (size_t)nnz * sizeof *to->indices);
done:
    if (status) free_lines(ctx, to);
    return status;
}

static bool ascend(int64_t n, const lines *l)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = l->offsets[i] + 1; k < l->offsets[i + 1]; k++)
            if (l->indices[k] < l->indices[k - 1]) return false;
    return true;
}

/** Rows with ascending columns of a matrix whose lines are sound. */
static trine_status sort_rows(trine_context ctx, int64_t n, bool by_columns, const lines *given, lines *rows)
{
    if (by_columns) return transpose(ctx, n, given, rows);
    if (ascend(n, given)) return copy(ctx, n, given, rows);
    lines columns;
    trine_status status = transpose(ctx, n, given, &columns);
    if (status) return status;
    status = transpose(ctx, n, &columns, rows);
    free_lines(ctx, &columns);
    return status;
}

int64_t precond_find(const struct trine_precond_s *p, int64_t i, int32_t j)
{
    int64_t low = p->offsets[i], high = p->offsets[i + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (p->columns[middle] < j) low = middle + 1;
        else high = middle;
    }
    return low < p->offsets[i + 1] && p->columns[low] == j ? low : -1;
}

trine_status precond_take_pattern(trine_precond p, trine_matrix A)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    trine_matrix_info m;
    const int64_t *offsets;
    const int32_t *indices;
    lines rows = {0};
    trine_matrix on_host = NULL;
    trine_matrix_get_info(A, &m);
    REQUIRE(m.space == TRINE_HOST || ctx->cuda, "the matrix is in device memory, and a CPU context has none");
    if (m.n_rows != m.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows, (long long)m.n_cols);
    TRY(trine_matrix_check(A, 0));
    if (m.space == TRINE_DEVICE) TRY(trine_matrix_copy(A, &on_host, TRINE_HOST, m.format, m.dtype));
    TRY(trine_matrix_get_arrays(on_host ? on_host : A, &offsets, &indices, NULL));
    const int64_t n = m.n_rows;
    p->base.n = p->info.n = n;
    p->nnz = p->info.nnz = m.nnz;
    p->base.dtype = m.dtype;
    const lines given = {(int64_t *)offsets, (int32_t *)indices, NULL};
    TRY(sort_rows(ctx, n, m.format == TRINE_CSC, &given, &rows));
    p->offsets = rows.offsets;
    p->columns = rows.indices;
    p->positions = rows.positions;
    TRY(ALLOC(ctx, p->diagonal, n));
    for (int64_t i = 0; i < n; i++) {
        int32_t last = -1;
        p->diagonal[i] = -1;
        for (int64_t k = p->offsets[i]; k < p->offsets[i + 1]; k++) {
            const int32_t j = p->columns[k];
            if (j == last)
                FAIL(TRINE_ERR_STRUCTURE, "row %lld has two entries in column %d; sum duplicates first", (long long)i,
                     (int)j);
            if (j == i) p->diagonal[i] = k;
            last = j;
        }
    }
    p->values = trine_host_alloc(ctx, p->nnz, trine_dtype_size(m.dtype));
    if (!p->values) return TRINE_ERR_MEMORY;
    TRY(trine_matrix_csr(ctx, &p->matrix, m.dtype, n, n, p->nnz, TRINE_HOST, 64, p->offsets, 32, p->columns,
                         p->values));
    p->info.bytes = (2 * n + 1) * 8 + p->nnz * (4 + (int64_t)trine_dtype_size(m.dtype) + (p->positions ? 8 : 0));
done:
    trine_matrix_destroy(&on_host);
    return status;
}

trine_status precond_take_values(trine_precond p, trine_space space, const void *values)
{
    trine_status status = TRINE_SUCCESS;
    void *on_host = NULL;
    if (space == TRINE_DEVICE && p->nnz) {
        const size_t bytes = (size_t)p->nnz * trine_dtype_size(p->base.dtype);
        on_host = trine_host_alloc(p->base.ctx, (int64_t)bytes, 1);
        if (!on_host) return TRINE_ERR_MEMORY;
        TRY(trine_copy(p->base.ctx, on_host, TRINE_HOST, values, TRINE_DEVICE, bytes));
    }
    p->not_finite_row = precond_cpu.gather[p->base.dtype](p, p->positions, on_host ? on_host : values);
done:
    trine_free(p->base.ctx, TRINE_HOST, on_host);
    return status;
}

trine_status precond_read_given_pattern(trine_precond p, uint8_t *kept)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix rows = NULL;
    trine_matrix_info m;
    const int64_t *offsets;
    const int32_t *columns;
    trine_matrix_get_info(p->options.pattern_matrix, &m);
    if (m.n_rows != p->base.n || m.n_cols != p->base.n)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix of the pattern is %lld x %lld, A has %lld rows", (long long)m.n_rows,
             (long long)m.n_cols, (long long)p->base.n);
    TRY(trine_matrix_check(p->options.pattern_matrix, 0));
    TRY(trine_matrix_copy(p->options.pattern_matrix, &rows, TRINE_HOST, TRINE_CSR, m.dtype));
    TRY(trine_matrix_get_arrays(rows, &offsets, &columns, NULL));
    memset(kept, 0, (size_t)p->nnz);
    for (int64_t i = 0; i < p->base.n; i++) {
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t at = precond_find(p, i, columns[k]);
            if (at >= 0) kept[at] = 1;
        }
        if (p->diagonal[i] >= 0) kept[p->diagonal[i]] = 1;
    }
done:
    trine_matrix_destroy(&rows);
    return status;
}
