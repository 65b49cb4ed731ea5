/* The pattern of A made symmetric, row by row a merge of A and its transpose. */
#include "core/team.h"
#include "core/test_interface.h"
#include "forest/forest.h"

/** Compressed rows with ascending columns; position[k] is the entry's place in A, NULL: k. */
struct rows {
    const int64_t *offsets;
    const int32_t *columns;
    const int64_t *position;
    void *owned[3];
};

static void free_rows(trine_context ctx, struct rows *r)
{
    for (int k = 0; k < 3; k++) trine_free(ctx, TRINE_HOST, r->owned[k]);
}

/** The transpose, whose columns ascend whatever those of `from` do. */
static trine_status transpose(trine_context ctx, int64_t n, const struct rows *from, struct rows *to)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t nnz = from->offsets[n];
    int64_t *offsets = to->owned[0] = trine_host_calloc(ctx, n + 2, sizeof *offsets);
    int32_t *columns = to->owned[1] = trine_host_alloc(ctx, nnz, sizeof *columns);
    int64_t *position = to->owned[2] = trine_host_alloc(ctx, nnz, sizeof *position);
    if (!offsets || !columns || !position) return TRINE_ERR_MEMORY;
    int64_t *next = offsets + 1; /* next[j] becomes the end of row j */
    for (int64_t k = 0; k < nnz; k++) next[from->columns[k] + 1]++;
    for (int64_t j = 1; j <= n; j++) next[j] += next[j - 1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = from->offsets[i]; k < from->offsets[i + 1]; k++) {
            const int64_t to_k = next[from->columns[k]]++;
            columns[to_k] = (int32_t)i;
            position[to_k] = from->position ? from->position[k] : k;
        }
    to->offsets = offsets, to->columns = columns, to->position = position;
    return status;
}

static bool is_ascending(int64_t n, const int64_t *offsets, const int32_t *columns)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = offsets[i] + 1; k < offsets[i + 1]; k++)
            if (columns[k] < columns[k - 1]) return false;
    return true;
}

/** One side of the merge: the next column of a row, and where it is in A. */
static int32_t column_at(const struct rows *r, int64_t k, int64_t end) { return k < end ? r->columns[k] : INT32_MAX; }
static int64_t place_of(const struct rows *r, int64_t k) { return r->position ? r->position[k] : k; }

static int64_t most_narrow = INT32_MAX;
void trine_forest_pretend(int64_t most) { most_narrow = most ? most : INT32_MAX; }
bool forest_is_wide(int64_t nnz) { return nnz > most_narrow; }

static void set_place(const struct forest_graph *h, void *places, int64_t k, int64_t place)
{
    if (h->wide) ((int64_t *)places)[k] = place;
    else ((int32_t *)places)[k] = (int32_t)place;
}

/** Both passes over the rows: first each counts its entries in begin[i + 1], then it writes them. */
struct merge {
    struct rows a, t;                /* A and its transpose */
    struct forest_graph *h;
    bool writes;
    int64_t bad_row;                 /* with a duplicate; INT64_MAX: none */
};

static void merge_row(struct merge *m, int64_t i)
{
    struct forest_graph *h = m->h;
    const int64_t end_a = m->a.offsets[i + 1], end_t = m->t.offsets[i + 1];
    int64_t ka = m->a.offsets[i], kt = m->t.offsets[i], at = m->writes ? h->begin[i] : 0;
    if (m->writes) set_place(h, h->diagonal, i, -1);
    for (int32_t before = -1; ka < end_a || kt < end_t;) {
        const int32_t ja = column_at(&m->a, ka, end_a), jt = column_at(&m->t, kt, end_t), j = ja < jt ? ja : jt;
        if (j == before)
            for (int64_t seen = __atomic_load_n(&m->bad_row, __ATOMIC_RELAXED);
                 i < seen &&
                 !__atomic_compare_exchange_n(&m->bad_row, &seen, i, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);) {}
        before = j;
        const int64_t there = ja == j ? place_of(&m->a, ka++) : -1, back = jt == j ? place_of(&m->t, kt++) : -1;
        if (j == i) {
            if (m->writes) set_place(h, h->diagonal, i, there);
            continue;
        }
        if (m->writes) {
            h->columns[at] = j;
            set_place(h, h->there, at, there);
            set_place(h, h->back, at, back);
        }
        at++;
    }
    if (!m->writes) h->begin[i + 1] = at;
}

static void merge_rows(void *user, int64_t begin, int64_t end, int me)
{
    (void)me;
    for (int64_t i = begin; i < end; i++) merge_row(user, i);
}

/** Of a random numbering a third of all rows lies between two neighbours, of a grid's own the few of a line or plane. A
 *  sample of rows will do. */
static bool is_scattered(const struct forest_graph *h)
{
    enum { SAMPLES = 4096, PART = 16 };
    const int64_t step = h->n / SAMPLES + 1;
    double apart = 0, edges = 0;
    for (int64_t i = 0; i < h->n; i += step)
        for (int64_t k = h->begin[i]; k < h->begin[i + 1]; k++) {
            const int64_t j = h->columns[k];
            apart += (double)(j < i ? i - j : j - i);
            edges++;
        }
    return apart * PART > edges * (double)h->n;
}

static trine_status merge(trine_context ctx, struct merge *m)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_graph *h = m->h;
    const int threads = trine_threads_with_cores(ctx);
    TRY(CALLOC(ctx, h->begin, h->n + 1));
    trine_team_for(ctx, threads, h->n, 1024, merge_rows, m);
    if (m->bad_row != INT64_MAX)
        FAIL(TRINE_ERR_STRUCTURE, "row %lld has an entry twice, or column %lld has; trine_matrix_sort sums duplicates",
             (long long)m->bad_row, (long long)m->bad_row);
    for (int64_t i = 0; i < h->n; i++) h->begin[i + 1] += h->begin[i];
    h->entries = h->begin[h->n];
    TRY(ALLOC(ctx, h->columns, h->entries));
    if (!(h->there = trine_host_alloc(ctx, h->entries, forest_place_size(h))) ||
        !(h->back = trine_host_alloc(ctx, h->entries, forest_place_size(h))) ||
        !(h->diagonal = trine_host_alloc(ctx, h->n, forest_place_size(h)))) {
        status = TRINE_ERR_MEMORY;
        goto done;
    }
    m->writes = true;
    trine_team_for(ctx, threads, h->n, 1024, merge_rows, m);
    h->is_scattered = is_scattered(h);
done:
    return status;
}

trine_status forest_pattern(trine_context ctx, trine_matrix A, struct forest_graph *h)
{
    trine_status status = TRINE_SUCCESS;
    struct merge m = {.h = h, .bad_row = INT64_MAX};
    struct rows sorted = {0};
    trine_matrix host = NULL;
    trine_matrix_info info;
    TRY(trine_matrix_get_info(A, &info));
    if (info.n_rows != info.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)info.n_rows,
             (long long)info.n_cols);
    TRY(trine_matrix_check(A, 0));
    if (info.space == TRINE_DEVICE) TRY(trine_matrix_copy(A, &host, TRINE_HOST, info.format, info.dtype));
    TRY(trine_matrix_get_arrays(host ? host : A, &m.a.offsets, &m.a.columns, NULL));
    h->n = info.n_rows;
    h->wide = forest_is_wide(info.nnz);
    TRY(transpose(ctx, h->n, &m.a, &m.t));
    if (!is_ascending(h->n, m.a.offsets, m.a.columns)) {
        TRY(transpose(ctx, h->n, &m.t, &sorted));
        m.a = sorted;
    }
    TRY(merge(ctx, &m));
    if (info.format == TRINE_CSC) { /* these were rows of A^T */
        void *there = h->there;
        h->there = h->back;
        h->back = there;
    }
done:
    free_rows(ctx, &m.t);
    free_rows(ctx, &sorted);
    trine_matrix_destroy(&host);
    return status;
}
