/* Panels of a triangle that comes without a supernode partition. */
#include <stdlib.h>
#include <string.h>

#include <trine/supernodal.h>

#include "core/internal.h"

typedef long long ll;

/** Columns of a lower triangle (of T, or of T^T for an upper T), rows ascending; entries above the diagonal may be there. */
typedef struct {
    int64_t n;
    const int64_t *offsets;
    const int32_t *rows;
    const char *values;
    size_t element;
    bool unit;
} columns;

/** T's lower triangle by columns, or its upper one by rows: those are the columns of U^T. */
static trine_status take_columns(trine_matrix T, const trine_panels_options *o, trine_matrix *W, columns *C)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix copy = NULL;
    trine_matrix_info info;
    trine_matrix_structure s;
    const void *values;
    TRY(trine_matrix_get_info(T, &info));
    REQUIRE(info.space == TRINE_HOST, "T is in device memory; panels are found on the host");
    REQUIRE(info.n_rows == info.n_cols, "T is %lld x %lld, not square", (ll)info.n_rows, (ll)info.n_cols);
    TRY(trine_matrix_get_arrays(T, NULL, NULL, &values));
    REQUIRE(values || !info.nnz, "T is a pattern without values");
    trine_uplo uplo = o->uplo;
    if (uplo == TRINE_UPLO_AUTO) {
        TRY(trine_matrix_get_structure(T, &s));
        if (!s.lower_triangular && !s.upper_triangular)
            FAIL(TRINE_ERR_STRUCTURE, "T is neither lower nor upper triangular: its bandwidth is %lld below and %lld above the diagonal",
                 (ll)s.lower_bandwidth, (ll)s.upper_bandwidth);
        uplo = s.lower_triangular ? TRINE_LOWER : TRINE_UPPER;
    }
    TRY(trine_matrix_copy(T, &copy, TRINE_HOST, uplo == TRINE_LOWER ? TRINE_CSC : TRINE_CSR, info.dtype));
    TRY(trine_matrix_sort(copy, W, 1));
    TRY(trine_matrix_get_arrays(*W, &C->offsets, &C->rows, &values));
    C->n = info.n_rows;
    C->values = values;
    C->element = trine_dtype_size(info.dtype);
    C->unit = o->diag == TRINE_UNIT;
done:
    trine_matrix_destroy(&copy);
    return status;
}

/** First entry of column j on or below the diagonal. */
static int64_t diagonal_of(const columns *C, int64_t j)
{
    int64_t k = C->offsets[j];
    while (k < C->offsets[j + 1] && C->rows[k] < j) k++;
    return k;
}

static trine_status check_diagonal(const columns *C)
{
    for (int64_t j = 0; j < C->n && !C->unit; j++) {
        const int64_t k = diagonal_of(C, j);
        if (k == C->offsets[j + 1] || C->rows[k] != j)
            return trine_fail(TRINE_ERR_STRUCTURE, "row %lld has no diagonal entry", (ll)j);
    }
    return TRINE_SUCCESS;
}

static int64_t trapezoid(int64_t width, int64_t height) { return width * height - width * (width - 1) / 2; }

typedef struct {
    int32_t *first, *rows, *mark; /* mark[i]: the panel that row i was last found in */
    int64_t *row_offsets;
    int64_t count;
} partition;

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/** Greedy, from the left: column j joins the panel at hand while the union of their rows leaves few enough zeros. A panel's rows
 *  are no more than its entries and columns: p->rows has room for n + nnz. */
static void find_panels(const columns *C, double fill, int64_t max_width, partition *p)
{
    int64_t next = 0, entries = 0;
    p->count = 0;
    for (int64_t i = 0; i < C->n; i++) p->mark[i] = -1;
    for (int64_t j = 0; j < C->n; j++) {
        const int64_t begin = diagonal_of(C, j), end = C->offsets[j + 1];
        const int32_t s = (int32_t)p->count - 1;
        const int64_t own = end - begin + (begin == end || C->rows[begin] != j); /* the diagonal entry may be implied */
        bool joins = s >= 0 && j - p->first[s] < max_width;
        if (joins) {
            int64_t height = next - p->row_offsets[s] + (p->mark[j] != s);
            for (int64_t k = begin; k < end; k++) height += C->rows[k] != j && p->mark[C->rows[k]] != s;
            const int64_t size = trapezoid(j + 1 - p->first[s], height);
            joins = (double)(size - entries - own) <= fill * (double)size;
        }
        if (!joins) {
            p->first[p->count] = (int32_t)j;
            p->row_offsets[p->count++] = next;
            entries = 0;
        }
        const int32_t in = (int32_t)p->count - 1;
        entries += own;
        if (p->mark[j] != in) p->rows[next++] = (int32_t)j;
        p->mark[j] = in;
        for (int64_t k = begin; k < end; k++) {
            if (p->mark[C->rows[k]] != in) p->rows[next++] = C->rows[k];
            p->mark[C->rows[k]] = in;
        }
    }
    p->first[p->count] = (int32_t)C->n;
    p->row_offsets[p->count] = next;
    for (int64_t s = 0; s < p->count; s++)
        qsort(p->rows + p->row_offsets[s], (size_t)(p->row_offsets[s + 1] - p->row_offsets[s]), sizeof *p->rows, by_value);
}

/** Values of column j of C into the panel, whose row list gives each its place. */
static void place_values(const columns *C, const partition *p, const int64_t *value_offsets, char *values, int32_t *place)
{
    for (int64_t s = 0; s < p->count; s++) {
        const int64_t height = p->row_offsets[s + 1] - p->row_offsets[s];
        for (int32_t r = 0; r < height; r++) place[p->rows[p->row_offsets[s] + r]] = r;
        for (int64_t j = p->first[s]; j < p->first[s + 1]; j++) {
            char *out = values + (size_t)(value_offsets[s] + (j - p->first[s]) * height) * C->element;
            const int64_t begin = diagonal_of(C, j);
            for (int64_t k = begin; k < C->offsets[j + 1]; k++)
                memcpy(out + (size_t)place[C->rows[k]] * C->element, C->values + (size_t)k * C->element, C->element);
        }
    }
}

void trine_panels_free(trine_context ctx, trine_panels *panels)
{
    if (!panels) return;
    trine_free(ctx, TRINE_HOST, (void *)panels->first_column);
    trine_free(ctx, TRINE_HOST, (void *)panels->row_offsets);
    trine_free(ctx, TRINE_HOST, (void *)panels->rows);
    trine_free(ctx, TRINE_HOST, (void *)panels->value_offsets);
    trine_free(ctx, TRINE_HOST, (void *)panels->values);
    *panels = (trine_panels){0};
}

trine_status trine_panels_detect(trine_context ctx, trine_matrix T, const trine_panels_options *options, trine_panels *panels)
{
    REQUIRE(panels, "panels is NULL");
    *panels = (trine_panels){0};
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    static const double DEFAULT_FILL = 0.2;
    const trine_panels_options o = options ? *options : (trine_panels_options){0};
    REQUIRE(o.fill < 1, "a fill limit of %g leaves no entries; below 1 is possible", o.fill);
    REQUIRE(o.max_width >= 0, "max_width is %lld", (ll)o.max_width);
    REQUIRE(o.diag == TRINE_NONUNIT || o.diag == TRINE_UNIT, "diag %d is neither NONUNIT nor UNIT", (int)o.diag);
    REQUIRE(o.uplo >= TRINE_UPLO_AUTO && o.uplo <= TRINE_UPPER, "uplo %d is none of AUTO, LOWER, UPPER", (int)o.uplo);

    trine_status status = TRINE_SUCCESS;
    trine_matrix W = NULL;
    trine_matrix_info info;
    columns C = {0};
    partition p = {0};
    int64_t *value_offsets = NULL;
    char *values = NULL;
    TRY(take_columns(T, &o, &W, &C));
    TRY(trine_matrix_get_info(W, &info));
    TRY(check_diagonal(&C));
    TRY(ALLOC(ctx, p.first, C.n + 1));
    TRY(ALLOC(ctx, p.row_offsets, C.n + 1));
    TRY(ALLOC(ctx, p.mark, C.n));
    TRY(ALLOC(ctx, p.rows, C.n + info.nnz));
    find_panels(&C, o.fill == 0 ? DEFAULT_FILL : o.fill < 0 ? 0 : o.fill, o.max_width ? o.max_width : C.n, &p);
    TRY(ALLOC(ctx, value_offsets, p.count + 1));
    value_offsets[0] = 0;
    for (int64_t s = 0; s < p.count; s++)
        value_offsets[s + 1] = value_offsets[s] + (p.row_offsets[s + 1] - p.row_offsets[s]) * (p.first[s + 1] - p.first[s]);
    values = trine_host_calloc(ctx, value_offsets[p.count], C.element);
    if (!values)
        FAIL(TRINE_ERR_MEMORY, "no memory for %lld bytes of panels (%lld entries); the general triangular solve needs less",
             (ll)value_offsets[p.count] * (ll)C.element, (ll)value_offsets[p.count]);
    place_values(&C, &p, value_offsets, values, p.mark);
    *panels = (trine_panels){.n = C.n, .n_panels = p.count, .first_column = p.first, .row_offsets = p.row_offsets, .rows = p.rows,
                             .value_offsets = value_offsets, .values = values, .dtype = info.dtype, .diag = o.diag};
    p.first = p.rows = NULL;
    p.row_offsets = value_offsets = NULL;
    values = NULL;
done:
    trine_matrix_destroy(&W);
    trine_free(ctx, TRINE_HOST, p.first);
    trine_free(ctx, TRINE_HOST, p.row_offsets);
    trine_free(ctx, TRINE_HOST, p.mark);
    trine_free(ctx, TRINE_HOST, p.rows);
    trine_free(ctx, TRINE_HOST, value_offsets);
    trine_free(ctx, TRINE_HOST, values);
    return status;
}
