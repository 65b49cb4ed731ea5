/* ILUT: incomplete LU factors with a threshold and a bound on the entries of a row. */
#include <stdlib.h>
#include <string.h>

#include "core/scalar.h"
#include "precond/ilu/ilu.h"

/** The smallest column first: a binary heap. */
struct heap {
    int64_t count;
    int32_t *column;
};

static void push(struct heap *h, int32_t column)
{
    int64_t at = h->count++;
    for (; at > 0 && column < h->column[(at - 1) / 2]; at = (at - 1) / 2) h->column[at] = h->column[(at - 1) / 2];
    h->column[at] = column;
}

static int32_t pop(struct heap *h)
{
    const int32_t top = h->column[0], last = h->column[--h->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && h->column[child + 1] < h->column[child]) child++;
        if (h->column[child] >= last) break;
        h->column[at] = h->column[child];
    }
    h->column[at] = last;
    return top;
}

/** An entry that may be kept. */
struct candidate {
    double size;
    int32_t column;
};

static int by_size(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static int by_column(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->column < y->column ? -1 : x->column > y->column;
}

/** The `most` largest of them, ascending by column; how many. */
static int64_t choose(struct candidate *c, int64_t count, int64_t most)
{
    if (count > most) qsort(c, (size_t)count, sizeof *c, by_size), count = most;
    qsort(c, (size_t)count, sizeof *c, by_column);
    return count;
}

/** The row that is being made, and those that are. */
struct threshold {
    struct ilu_factor *f;
    const struct ilu_pattern *a;
    double tolerance;
    int64_t most, room, count; /* entries that there are room for and that there are */
    struct ilu_pattern *out;
    int32_t *owner;            /* n: the row that has an element of w in use */
    struct heap open;          /* columns of L to come */
    struct candidate *lower, *upper;
    int64_t n_lower, n_upper;
};

static double size_of(double size) { return isnan(size) ? INFINITY : size; }

#define TEMPLATE "precond/ilu/threshold.inc"
#include "core/each_dtype.h"

trine_status ilu_factor_threshold(struct ilu_factor *f, const struct ilu_pattern *a, double tolerance, int64_t most,
                                  struct ilu_pattern *out)
{
    static trine_status (*const rows[])(struct threshold *) = TABLE(threshold_rows);
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = f->ctx;
    const int64_t n = a->n;
    struct threshold t = {
        .f = f, .a = a, .tolerance = tolerance, .most = most < n ? most : n, .room = a->nnz + n, .out = out};
    f->values = f->scratch = NULL;
    f->bad_row = -1;
    TRY(ilu_pattern_allocate(ctx, n, t.room, out));
    TRY((f->values = trine_host_alloc(ctx, t.room, trine_dtype_size(f->dtype))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((f->scratch = trine_host_alloc(ctx, n, trine_dtype_size(f->dtype))) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY(ALLOC(ctx, t.owner, n));
    TRY(ALLOC(ctx, t.open.column, n));
    TRY(ALLOC(ctx, t.lower, n));
    TRY(ALLOC(ctx, t.upper, n));
    for (int64_t j = 0; j < n; j++) t.owner[j] = -1;
    TRY(rows[f->dtype](&t));
    out->nnz = t.count;
done:
    trine_free(ctx, TRINE_HOST, f->scratch);
    f->scratch = NULL;
    trine_free(ctx, TRINE_HOST, t.owner);
    trine_free(ctx, TRINE_HOST, t.open.column);
    trine_free(ctx, TRINE_HOST, t.lower);
    trine_free(ctx, TRINE_HOST, t.upper);
    if (status) {
        ilu_pattern_free(ctx, out);
        trine_free(ctx, TRINE_HOST, f->values);
        f->values = NULL;
    }
    return status;
}
