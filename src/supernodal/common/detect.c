/* Panels of a triangle in CSR or CSC, on supernodes that are found or given. */
#include <stdlib.h>
#include <string.h>

#include "supernodal/supernodal.h"

typedef long long ll;

/** Columns of a lower triangle (of T, or of T^T for an upper T), rows ascending; entries above the diagonal may be
 *  there. */
typedef struct {
    int64_t n;
    const int64_t *offsets;
    const int32_t *rows;
    const char *values;
    size_t element;
    bool unit, upper; /* upper: of T^T */
} columns;

/** Supernodes as the caller has them: s has the columns first[s]..first[s + 1] - 1. first NULL: they are to be
 *  found. */
typedef struct {
    int64_t count;
    const int32_t *first;
} supernodes;

static trine_status check_options(const trine_panels_options *o)
{
    REQUIRE_RESERVE(trine_panels_options, o);
    REQUIRE(o->fill < 1, "a fill limit of %g leaves no entries; below 1 is possible", o->fill);
    REQUIRE(o->max_width >= 0, "max_width is %lld", (ll)o->max_width);
    REQUIRE(o->diag == TRINE_NONUNIT || o->diag == TRINE_UNIT, "diag %d is neither NONUNIT nor UNIT", (int)o->diag);
    REQUIRE(o->uplo >= TRINE_UPLO_AUTO && o->uplo <= TRINE_UPPER, "uplo %d is none of AUTO, LOWER, UPPER",
            (int)o->uplo);
    return TRINE_SUCCESS;
}

/** TRINE_ERR_STRUCTURE unless the supernodes tile the columns 0..n-1 in their order. */
static trine_status check_supernodes(const supernodes *given, int64_t n)
{
    const int32_t *first = given->first;
    const int64_t m = given->count;
    if (!first) return TRINE_SUCCESS;
    if (!m && n) return trine_fail(TRINE_ERR_STRUCTURE, "the partition has no supernodes for %lld columns", (ll)n);
    if (first[0] != 0)
        return trine_fail(TRINE_ERR_STRUCTURE, "the partition starts at column %d, not at 0", (int)first[0]);
    for (int64_t s = 0; s < m; s++)
        if (first[s + 1] <= first[s])
            return trine_fail(
                TRINE_ERR_STRUCTURE,
                "the partition does not ascend: supernode %lld starts at column %d and the next one at %d", (ll)s,
                (int)first[s], (int)first[s + 1]);
    if (first[m] != n)
        return trine_fail(TRINE_ERR_STRUCTURE, "the partition ends at column %d, but T has %lld", (int)first[m], (ll)n);
    return TRINE_SUCCESS;
}

/** T's lower triangle by columns, or its upper one by rows: those are the columns of U^T. */
static trine_status take_columns(trine_matrix T, const trine_panels_options *o, bool sum_duplicates, trine_matrix *W,
                                 columns *C)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix copy = NULL;
    trine_matrix_info info;
    trine_matrix_structure s;
    const void *values;
    TRY(trine_matrix_get_info(T, &info));
    trine_uplo uplo = o->uplo;
    if (uplo == TRINE_UPLO_AUTO) {
        TRY(trine_matrix_get_structure(T, &s));
        if (!s.lower_triangular && !s.upper_triangular)
            FAIL(TRINE_ERR_STRUCTURE,
                 "T is neither lower nor upper triangular: its bandwidth is %lld below and %lld above the diagonal",
                 (ll)s.lower_bandwidth, (ll)s.upper_bandwidth);
        uplo = s.lower_triangular ? TRINE_LOWER : TRINE_UPPER;
    }
    TRY(trine_matrix_copy(T, &copy, TRINE_HOST, uplo == TRINE_LOWER ? TRINE_CSC : TRINE_CSR, info.dtype));
    TRY(trine_matrix_sort(copy, W, sum_duplicates));
    TRY(trine_matrix_get_arrays(*W, &C->offsets, &C->rows, &values));
    C->n = info.n_rows;
    C->values = values;
    C->element = trine_dtype_size(info.dtype);
    C->unit = o->diag == TRINE_UNIT;
    C->upper = uplo == TRINE_UPPER;
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

static trine_status check_diagonal(const columns *C, const supernodes *given)
{
    for (int64_t j = 0, s = 0; j < C->n && !C->unit; j++) {
        const int64_t k = diagonal_of(C, j);
        if (given->first) s += j == given->first[s + 1];
        if (k < C->offsets[j + 1] && C->rows[k] == j) continue;
        if (!given->first) return trine_fail(TRINE_ERR_SINGULAR, "row %lld has no diagonal entry", (ll)j);
        return trine_fail(
            TRINE_ERR_SINGULAR,
            "row %lld has no diagonal entry: the diagonal block of supernode %lld (columns %d to %d) is singular",
            (ll)j, (ll)s, (int)given->first[s], (int)given->first[s + 1] - 1);
    }
    return TRINE_SUCCESS;
}

/** Entries of the triangle, implied diagonal ones of a unit triangle too. */
static int64_t count_entries(const columns *C)
{
    int64_t count = 0;
    for (int64_t j = 0; j < C->n; j++) {
        const int64_t begin = diagonal_of(C, j), end = C->offsets[j + 1];
        count += end - begin + (begin == end || C->rows[begin] != j);
    }
    return count;
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

/** Greedy, from the left: column j joins the panel at hand while the union of their rows leaves few enough zeros,
 *  and unless one of the given supernodes begins with it. A panel's rows are no more than its entries and columns:
 *  p->rows has room for n + nnz. */
static void find_panels(const columns *C, const supernodes *given, double fill, int64_t max_width, partition *p)
{
    int64_t next = 0, entries = 0, supernode = 0;
    p->count = 0;
    for (int64_t i = 0; i < C->n; i++) p->mark[i] = -1;
    for (int64_t j = 0; j < C->n; j++) {
        const int64_t begin = diagonal_of(C, j), end = C->offsets[j + 1];
        const int32_t s = (int32_t)p->count - 1;
        const int64_t own = end - begin + (begin == end || C->rows[begin] != j); /* the diagonal entry may be implied */
        bool joins = s >= 0 && j - p->first[s] < max_width;
        if (given->first && j == given->first[supernode + 1]) {
            supernode++;
            joins = false;
        }
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
        qsort(p->rows + p->row_offsets[s], (size_t)(p->row_offsets[s + 1] - p->row_offsets[s]), sizeof *p->rows,
              by_value);
}

/** What is done with entry k of C, whose place among the values of the panels this is. */
typedef void (*entry_fn)(const columns *C, int64_t k, int64_t place, void *user);

static void each_entry(const columns *C, const trine_panels *P, int32_t *row_place, entry_fn fn, void *user)
{
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int64_t height = P->row_offsets[s + 1] - P->row_offsets[s];
        for (int32_t r = 0; r < height; r++) row_place[P->rows[P->row_offsets[s] + r]] = r;
        for (int64_t j = P->first_column[s]; j < P->first_column[s + 1]; j++)
            for (int64_t k = diagonal_of(C, j); k < C->offsets[j + 1]; k++)
                fn(C, k, P->value_offsets[s] + (j - P->first_column[s]) * height + row_place[C->rows[k]], user);
    }
}

static void store_value(const columns *C, int64_t k, int64_t place, void *values)
{
    memcpy((char *)values + (size_t)place * C->element, C->values + (size_t)k * C->element, C->element);
}

/** C's values are the numbers of T's entries. */
static void store_place(const columns *C, int64_t k, int64_t place, void *places)
{
    ((int64_t *)places)[(int64_t)((const double *)C->values)[k]] = place;
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

/** Panels without values. */
static trine_status lay_out(trine_context ctx, const columns *C, const supernodes *given, const trine_panels_options *o,
                            trine_dtype dtype, trine_panels *panels)
{
    static const double DEFAULT_FILL = 0.2, ANY = 1;
    const double fill = o->fill > 0 ? o->fill : o->fill < 0 ? 0 : given->first ? ANY : DEFAULT_FILL;
    trine_status status = TRINE_SUCCESS;
    partition p = {0};
    int64_t *value_offsets = NULL;
    TRY(ALLOC(ctx, p.first, C->n + 1));
    TRY(ALLOC(ctx, p.row_offsets, C->n + 1));
    TRY(ALLOC(ctx, p.mark, C->n));
    TRY(ALLOC(ctx, p.rows, C->n + C->offsets[C->n]));
    find_panels(C, given, fill, o->max_width ? o->max_width : C->n, &p);
    TRY(ALLOC(ctx, value_offsets, p.count + 1));
    value_offsets[0] = 0;
    for (int64_t s = 0; s < p.count; s++)
        value_offsets[s + 1] =
            value_offsets[s] + (p.row_offsets[s + 1] - p.row_offsets[s]) * (p.first[s + 1] - p.first[s]);
    *panels = (trine_panels){.n = C->n,
                             .n_panels = p.count,
                             .first_column = p.first,
                             .row_offsets = p.row_offsets,
                             .rows = p.rows,
                             .value_offsets = value_offsets,
                             .dtype = dtype,
                             .diag = o->diag};
    p.first = p.rows = NULL;
    p.row_offsets = NULL;
done:
    trine_free(ctx, TRINE_HOST, p.first);
    trine_free(ctx, TRINE_HOST, p.row_offsets);
    trine_free(ctx, TRINE_HOST, p.mark);
    trine_free(ctx, TRINE_HOST, p.rows);
    return status;
}

static trine_status no_room(int64_t count, size_t element)
{
    return trine_fail(TRINE_ERR_MEMORY,
                      "no memory for %lld bytes of panels (%lld entries); the general triangular solve needs less",
                      (ll)count * (ll)element, (ll)count);
}

static trine_status make_panels(trine_context ctx, trine_matrix T, const supernodes *given,
                                const trine_panels_options *options, trine_panels *panels)
{
    const trine_panels_options o = options ? *options : (trine_panels_options){0};
    trine_status status = check_options(&o);
    if (status) return status;
    trine_matrix W = NULL;
    trine_matrix_info info;
    columns C = {0};
    int32_t *row_place = NULL;
    const void *values;
    trine_panels made = {0};
    TRY(trine_matrix_get_info(T, &info));
    TRY(trine_matrix_get_arrays(T, NULL, NULL, &values));
    REQUIRE(info.space == TRINE_HOST, "T is in device memory; panels are made on the host");
    REQUIRE(info.n_rows == info.n_cols, "T is %lld x %lld, not square", (ll)info.n_rows, (ll)info.n_cols);
    REQUIRE(values || !info.nnz, "T is a pattern without values");
    TRY(check_supernodes(given, info.n_rows));
    TRY(take_columns(T, &o, true, &W, &C));
    TRY(check_diagonal(&C, given));
    TRY(lay_out(ctx, &C, given, &o, info.dtype, &made));
    TRY(ALLOC(ctx, row_place, C.n));
    made.values = trine_host_calloc(ctx, made.value_offsets[made.n_panels], C.element);
    if (!made.values) TRY(no_room(made.value_offsets[made.n_panels], C.element));
    each_entry(&C, &made, row_place, store_value, (void *)made.values);
    *panels = made;
    made = (trine_panels){0};
done:
    trine_matrix_destroy(&W);
    trine_free(ctx, TRINE_HOST, row_place);
    trine_panels_free(ctx, &made);
    return status;
}

trine_status trine_panels_detect(trine_context ctx, trine_matrix T, const trine_panels_options *options,
                                 trine_panels *panels)
{
    TRINE_RANGE;
    REQUIRE(panels, "panels is NULL");
    *panels = (trine_panels){0};
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    return make_panels(ctx, T, &(supernodes){0}, options, panels);
}

trine_status trine_panels_from_partition(trine_context ctx, trine_matrix T, int64_t n_supernodes,
                                         const int32_t *first_column, const trine_panels_options *options,
                                         trine_panels *panels)
{
    TRINE_RANGE;
    REQUIRE(panels, "panels is NULL");
    *panels = (trine_panels){0};
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    REQUIRE(first_column, "first_column is NULL");
    REQUIRE(n_supernodes >= 0, "%lld supernodes", (ll)n_supernodes);
    return make_panels(ctx, T, &(supernodes){n_supernodes, first_column}, options, panels);
}

/** TRINE_ERR_STRUCTURE names an entry of the triangle that is there twice. */
static trine_status check_duplicates(const columns *C)
{
    for (int64_t j = 0; j < C->n; j++)
        for (int64_t k = diagonal_of(C, j) + 1; k < C->offsets[j + 1]; k++)
            if (C->rows[k] == C->rows[k - 1])
                return trine_fail(TRINE_ERR_STRUCTURE,
                                  "row %lld of T has column %lld twice; trine_matrix_sort can sum duplicates",
                                  C->upper ? (ll)j : (ll)C->rows[k], C->upper ? (ll)C->rows[k] : (ll)j);
    return TRINE_SUCCESS;
}

trine_status supernodal_lay_out_triangle(trine_context ctx, trine_matrix T, int64_t n_supernodes,
                                         const int32_t *first_column, const trine_panels_options *o,
                                         trine_panels *panels, supernodal_places *places)
{
    *panels = (trine_panels){0};
    *places = (supernodal_places){0};
    trine_status status = check_options(o);
    if (status) return status;
    const supernodes given = {n_supernodes, first_column};
    trine_matrix pattern = NULL, numbered = NULL, W = NULL;
    trine_matrix_info info;
    columns C = {0};
    double *numbers = NULL;
    int32_t *row_place = NULL;
    const int64_t *offsets;
    const int32_t *indices;
    TRY(trine_matrix_get_info(T, &info));
    REQUIRE(info.n_rows == info.n_cols, "T is %lld x %lld, not square", (ll)info.n_rows, (ll)info.n_cols);
    TRY(check_supernodes(&given, info.n_rows));
    if (info.space == TRINE_DEVICE) TRY(trine_matrix_copy(T, &pattern, TRINE_HOST, info.format, info.dtype));
    TRY(trine_matrix_check(pattern ? pattern : T, 0));
    TRY(trine_matrix_get_arrays(pattern ? pattern : T, &offsets, &indices, NULL));
    /* Conversions carry the number of every entry along in place of its value. */
    TRY(ALLOC(ctx, numbers, info.nnz));
    for (int64_t k = 0; k < info.nnz; k++) numbers[k] = (double)k;
    TRY((info.format == TRINE_CSR ? trine_matrix_csr : trine_matrix_csc)(
        ctx, &numbered, TRINE_D, info.n_rows, info.n_cols, info.nnz, TRINE_HOST, 64, offsets, 32, indices, numbers));
    TRY(take_columns(numbered, o, false, &W, &C));
    TRY(check_diagonal(&C, &given));
    TRY(check_duplicates(&C));
    TRY(lay_out(ctx, &C, &given, o, info.dtype, panels));
    TRY(ALLOC(ctx, row_place, C.n));
    TRY(ALLOC(ctx, places->of_entry, info.nnz));
    for (int64_t k = 0; k < info.nnz; k++) places->of_entry[k] = -1;
    each_entry(&C, panels, row_place, store_place, places->of_entry);
    places->count = info.nnz;
    places->entries = count_entries(&C);
    places->upper = C.upper;
done:
    trine_matrix_destroy(&W);
    trine_matrix_destroy(&numbered);
    trine_matrix_destroy(&pattern);
    trine_free(ctx, TRINE_HOST, numbers);
    trine_free(ctx, TRINE_HOST, row_place);
    if (status) {
        trine_panels_free(ctx, panels);
        trine_free(ctx, TRINE_HOST, places->of_entry);
    }
    return status;
}
