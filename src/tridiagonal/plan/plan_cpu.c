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
                    const int slot = m->slots[at];
                    char *to = c->bands + (size_t)at * size;
                    if (slot == BANDS_NO_ENTRY) {
                        memset(to, 0, size);
                        continue;
                    }
                    const int64_t from = m->starts[bands_line(m, block, b, row, i, j)] + slot;
                    memcpy(to, c->values + (size_t)from * size, size);
                }
}

/** For an element's size that the compiler knows; of bands it knows the block as well. */
static inline void gather_size(const gather_loop *c, int64_t begin, int64_t end, size_t size)
{
    if (c->m->block == 1) gather_row_by_row(c, begin, end, size, 1);
    else gather_row_by_row(c, begin, end, size, c->m->block);
}

static void gather_rows(void *job, int64_t begin, int64_t end, int me)
{
    const gather_loop *c = job;
    (void)me;
    switch (c->size) {
    case 4: gather_size(c, begin, end, 4); break;
    case 8: gather_size(c, begin, end, 8); break;
    default: gather_size(c, begin, end, 16);
    }
}

static trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands,
                           void *stream)
{
    (void)stream;
    rpts_for(ctx, ctx->threads, m->rows * m->block, m->rows, ROWS_AT_ONCE / m->block, gather_rows,
             &(gather_loop){m, values, bands, trine_dtype_size(t)});
    return TRINE_SUCCESS;
}

const struct bands_backend bands_cpu = {gather};
