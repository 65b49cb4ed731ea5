#include "precond/common/rows.h"

#include <string.h>

#include "core/team.h"
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

/** What rows are like, found by the context's threads. */
struct look {
    const lines *rows;
    int64_t *diagonal;               /* NULL: not wanted */
    bool descends;                   /* somewhere; atomic */
    int64_t twice;                   /* the first row with an entry twice, INT64_MAX: none; atomic */
};

static void look_at(void *user, int64_t begin, int64_t end, int me)
{
    struct look *l = user;
    bool descends = false;
    int64_t twice = INT64_MAX;
    (void)me;
    for (int64_t i = begin; i < end; i++) {
        int32_t last = -1;
        int64_t diagonal = -1;
        for (int64_t k = l->rows->offsets[i]; k < l->rows->offsets[i + 1]; k++) {
            const int32_t j = l->rows->indices[k];
            if (j < last) descends = true;
            if (j == last && twice == INT64_MAX) twice = i;
            if (j == i) diagonal = k;
            last = j;
        }
        if (l->diagonal) l->diagonal[i] = diagonal;
    }
    if (descends) __atomic_store_n(&l->descends, true, __ATOMIC_RELAXED);
    for (int64_t seen = __atomic_load_n(&l->twice, __ATOMIC_RELAXED);
         twice < seen &&
         !__atomic_compare_exchange_n(&l->twice, &seen, twice, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);) {}
}

enum { GRAIN = 4096 }; /* rows */
static struct look look(trine_context ctx, int64_t n, const lines *rows, int64_t *diagonal)
{
    struct look l = {.rows = rows, .diagonal = diagonal, .twice = INT64_MAX};
    trine_team_for(ctx, trine_threads_with_cores(ctx), n, GRAIN, look_at, &l);
    return l;
}

/** Indices in parts: pages of new memory are touched by all threads. */
struct indices_copy {
    const int32_t *from;
    int32_t *to;
};
static void copy_part(void *user, int64_t begin, int64_t end, int me)
{
    const struct indices_copy *c = user;
    (void)me;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin) * sizeof *c->to);
}

/** The lines of A, on the host, the caller's own. */
static trine_status take_lines(trine_context ctx, trine_matrix A, const trine_matrix_info *m, lines *to)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = m->n_rows;
    const int64_t *offsets;
    const int32_t *indices;
    trine_matrix on_host = NULL;
    trine_space space = m->space;
    if (space == TRINE_DEVICE && ctx->is_tally) { /* whose copies do nothing */
        TRY(trine_matrix_copy(A, &on_host, TRINE_HOST, m->format, m->dtype));
        space = TRINE_HOST;
    }
    TRY(trine_matrix_get_arrays(on_host ? on_host : A, &offsets, &indices, NULL));
    TRY(ALLOC(ctx, to->offsets, n + 1));
    TRY(ALLOC(ctx, to->indices, m->nnz));
    TRY(trine_copy(ctx, to->offsets, TRINE_HOST, offsets, space, (size_t)(n + 1) * sizeof *offsets));
    if (space == TRINE_HOST) {
        struct indices_copy c = {indices, to->indices};
        trine_team_for(ctx, trine_threads_with_cores(ctx), m->nnz, 1 << 18, copy_part, &c);
    } else {
        TRY(trine_copy(ctx, to->indices, TRINE_HOST, indices, space, (size_t)m->nnz * sizeof *indices));
    }
done:
    trine_matrix_destroy(&on_host);
    return status;
}

/** Rows with ascending columns of a matrix whose lines are sound. */
static trine_status sort_rows(trine_context ctx, trine_matrix A, const trine_matrix_info *m, lines *rows)
{
    trine_status status = TRINE_SUCCESS;
    const bool by_columns = m->format == TRINE_CSC;
    lines given = {0}, columns = {0};
    TRY(take_lines(ctx, A, m, &given));
    if (!by_columns && !look(ctx, m->n_rows, &given, NULL).descends) {
        *rows = given;
        return TRINE_SUCCESS;
    }
    if (!by_columns) {
        TRY(transpose(ctx, m->n_rows, &given, &columns));
        TRY(transpose(ctx, m->n_rows, &columns, rows));
    } else {
        TRY(transpose(ctx, m->n_rows, &given, rows));
    }
done:
    free_lines(ctx, &given);
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
    lines rows = {0};
    trine_matrix_get_info(A, &m);
    REQUIRE(m.space == TRINE_HOST || ctx->cuda, "the matrix is in device memory, and a CPU context has none");
    if (m.n_rows != m.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows, (long long)m.n_cols);
    TRY(trine_matrix_check(A, 0));
    const int64_t n = m.n_rows;
    p->base.n = p->info.n = n;
    p->nnz = p->info.nnz = m.nnz;
    p->base.dtype = m.dtype;
    TRY(sort_rows(ctx, A, &m, &rows));
    p->offsets = rows.offsets;
    p->columns = rows.indices;
    p->positions = rows.positions;
    TRY(ALLOC(ctx, p->diagonal, n));
    const int64_t twice = look(ctx, n, &rows, p->diagonal).twice;
    for (int64_t k = twice == INT64_MAX ? 0 : rows.offsets[twice]; twice != INT64_MAX; k++)
        if (rows.indices[k + 1] == rows.indices[k])
            FAIL(TRINE_ERR_STRUCTURE, "row %lld has two entries in column %d; sum duplicates first", (long long)twice,
                 (int)rows.indices[k]);
    p->values = trine_host_alloc(ctx, p->nnz, trine_dtype_size(m.dtype));
    if (!p->values) return TRINE_ERR_MEMORY;
    TRY(trine_matrix_csr(ctx, &p->matrix, m.dtype, n, n, p->nnz, TRINE_HOST, 64, p->offsets, 32, p->columns,
                         p->values));
    p->info.bytes = (2 * n + 1) * 8 + p->nnz * (4 + (int64_t)trine_dtype_size(m.dtype) + (p->positions ? 8 : 0));
done:
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
