/* The generalized product, by definition (thesis, Eq. 19): y_i := store(y_i, (A_i0 x x_0) + (A_i1 x x_1) + ...), row
 * after row. Read this first; all else in this module computes the same, faster. The plain product is the semiring
 * whose multiply is a product, whose add is a sum, and whose store is y := alpha z + beta y. */
#include <string.h>

#include "core/test_interface.h"

void trine_spmv_reference(const trine_semiring_source *s, const void *user, int64_t n_rows, const int64_t *offsets,
                          const int32_t *columns, const void *values, const void *x, void *y)
{
    union {
        char bytes[256]; /* no type is larger */
        long double aligned;
    } product, lifted, accumulator;
    for (int64_t row = 0; row < n_rows; row++) {
        const int64_t begin = offsets[row], end = offsets[row + 1];
        for (int64_t nz = begin; nz < end; nz++) {
            s->cpu.multiply(user, values, x, nz, row, columns[nz], &product);
            if (s->cpu.lift) s->cpu.lift(user, &product, &lifted);
            else lifted = product;
            if (nz == begin) accumulator = lifted;
            else s->cpu.add(user, &accumulator, &lifted);
        }
        char *y_row = (char *)y + (size_t)row * s->output.size;
        if (s->cpu.store) s->cpu.store(user, row, begin < end ? &accumulator : NULL, y_row);
        else if (begin < end) memcpy(y_row, &accumulator, s->output.size);
        else memset(y_row, 0, s->output.size);
    }
}
