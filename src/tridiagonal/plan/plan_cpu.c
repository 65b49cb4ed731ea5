/* Bands from the values of a sparse matrix, row by row. */
#include <string.h>

#include "tridiagonal/plan/plan.h"

static inline void gather_row_by_row(const bands_map *m, int threads, const char *values, char *bands, size_t size)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (m->n >= 100000)
    for (int64_t i = 0; i < m->n; i++)
        for (int b = 0; b < m->bands; b++) {
            const int64_t at = b * m->n + i;
            char *to = bands + (size_t)at * size;
            if (m->slots[at] == BANDS_NO_ENTRY) memset(to, 0, size);
            else memcpy(to, values + (size_t)(m->starts[bands_line(m, b, i)] + m->slots[at]) * size, size);
        }
}

static trine_status gather(trine_context ctx, const bands_map *m, trine_dtype t, const void *values, void *bands, void *stream)
{
    (void)stream;
    switch (trine_dtype_size(t)) { /* sizes that the compiler knows */
    case 4: gather_row_by_row(m, ctx->threads, values, bands, 4); break;
    case 8: gather_row_by_row(m, ctx->threads, values, bands, 8); break;
    default: gather_row_by_row(m, ctx->threads, values, bands, 16);
    }
    return TRINE_SUCCESS;
}

const struct bands_backend bands_cpu = {gather};
