/* The rows that a product's operator multiplies by, for kernels of other modules that make the product themselves. */
#ifndef TRINE_SPMV_ROWS_OF_H
#define TRINE_SPMV_ROWS_OF_H

#include <trine/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spmv_rows {
    int64_t n, nnz, longest_row;     /* longest_row -1: not counted */
    int offset_bits;                 /* 32 or 64 */
    const void *offsets;             /* n + 1, in the context's space, as the others */
    const int32_t *columns;
    const void *values;              /* of the operator's dtype */
};
/** False if op is not the operator of a square plan, or if its rows are not there as such: values in another order or
 *  precision, or none yet. */
bool spmv_rows_of(trine_op op, struct spmv_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
