/* Bands or blocks from the values of a sparse matrix, block row by block row. */
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

static inline void gather_row_by_row(const gather_loop *c, int64_t begin, int64_t end, size_t size, int block)
{
    const bands_map *m = c->m;
    for (int64_t row = begin; row < end; row++)
        for (int b = 0; b < m->bands; b++)
            for (int j = 0; j < block; j++)
                for (int i = 0; i < block; i++) {
                    const int64_t at = ((b * m->rows + row) * block + j) * block + i;
                    char *to = c->bands + (size_t)at * size;
                    if (m->slots[at] == BANDS_NO_ENTRY) memset(to, 0, size);
                    else memcpy(to, c->values + (size_t)(m->starts[bands_line(m, block, b, row, i, j)] + m->slots[at]) * size, size);
                }
}

/** A size that the compiler knows, and of bands the block as well. */
#define GATHER(size) (c->m->block == 1 ? gather_row_by_row(c, begin, end, size, 1) : gather_row_by_row(c, begin, end, size, c->m->block))

static void gather_rows(void *job, int64_t begin, int64_t end, int me)
{
    const gather_loop *c = job;
    (void)me;
    switch (c->size) {
    case 4: GATHER(4); break;
    case 8: GATHER(8); break;
    default: GATHER(16);
    }
}

static trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands, void *stream)
{
    (void)stream;
    rpts_for(ctx, ctx->threads, m->rows * m->block, m->rows, ROWS_AT_ONCE / m->block, gather_rows, &(gather_loop){m, values, bands, trine_dtype_size(t)});
    return TRINE_SUCCESS;
}

const struct bands_backend bands_cpu = {gather};
