/* More right-hand sides than a grid can count, part by part. */
#ifndef TRINE_TRIDIAGONAL_COMMON_PARTS_H
#define TRINE_TRIDIAGONAL_COMMON_PARTS_H

#include "core/internal.h"

/** The second dimension of a grid counts right-hand sides, one by one or in fours: on a GPU more than
 *  RPTS_MOST_COLUMNS are solved in parts that differ by one at most. */
enum { RPTS_MOST_COLUMNS = 65532 };
static inline int64_t rpts_parts(int64_t nrhs)
{
    return nrhs > RPTS_MOST_COLUMNS ? (nrhs + RPTS_MOST_COLUMNS - 1) / RPTS_MOST_COLUMNS : 1;
}
/** The first right-hand side of part 0, 1, ..., rpts_parts(nrhs). */
static inline int64_t rpts_part(int64_t nrhs, int64_t part)
{
    const int64_t parts = rpts_parts(nrhs), larger = nrhs % parts;
    return part * (nrhs / parts) + (part < larger ? part : larger);
}
static inline const void *rpts_column(trine_dtype t, const void *columns, int64_t ld, int64_t column)
{
    return column ? (const char *)columns + (size_t)(column * ld) * trine_dtype_size(t) : columns;
}
/** Right-hand sides of the largest part. */
static inline int64_t rpts_part_size(int64_t nrhs) { return rpts_part(nrhs, 1); }

#endif
