/* Bands from the values of a sparse matrix, row by row. */
#include <string.h>

#include "tridiagonal/common/loops.h"
#include "tridiagonal/plan/plan.h"

enum { ROWS_AT_ONCE = 8192 };

typedef struct {
    const bands_map *m;
    const char *values;
    char *bands;
    size_t size; /* of an element */
} gather_loop;

static inline void gather_row_by_row(const gather_loop *c, int64_t begin, int64_t end, size_t size)
{
    const bands_map *m = c->m;
    for (int64_t i = begin; i < end; i++)
        for (int b = 0; b < m->bands; b++) {
            const int64_t at = b * m->n + i;
            char *to = c->bands + (size_t)at * size;
            if (m->slots[at] == BANDS_NO_ENTRY) memset(to, 0, size);
            else memcpy(to, c->values + (size_t)(m->starts[bands_line(m, b, i)] + m->slots[at]) * size, size);
        }
}

static void gather_rows(void *job, int64_t begin, int64_t end, int me)
{
    const gather_loop *c = job;
    (void)me;
    switch (c->size) { /* sizes that the compiler knows */
    case 4: gather_row_by_row(c, begin, end, 4); break;
    case 8: gather_row_by_row(c, begin, end, 8); break;
    default: gather_row_by_row(c, begin, end, 16);
    }
}

static trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands,
                           void *stream)
{
    (void)stream;
    rpts_for(ctx, ctx->threads, m->n, m->n, ROWS_AT_ONCE, gather_rows,
             &(gather_loop){m, values, bands, trine_dtype_size(t)});
    return TRINE_SUCCESS;
}

const struct bands_backend bands_cpu = {gather};
