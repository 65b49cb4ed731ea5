/* gtsv on the GPU with right-hand sides of which most rows are zero: tiles of the two passes that hold no entry are
 * marked, and not read. */
#ifndef TRINE_TRIDIAGONAL_GTSV_ZERO_TILES_H
#define TRINE_TRIDIAGONAL_GTSV_ZERO_TILES_H

#include "tridiagonal/common/hierarchy.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows and right-hand sides that are solved together where systems are long. Tile k of group g of right-hand sides
 *  has mark g tiles + k, which may be zero only if D is zero there. */
typedef struct { int64_t rows, columns; } gtsv_tile;
static inline int64_t gtsv_tiles(int64_t n, gtsv_tile tile) { return (n + tile.rows - 1) / tile.rows; }
static inline int64_t gtsv_mark_count(int64_t n, int64_t nrhs, gtsv_tile tile)
{
    return gtsv_tiles(n, tile) * ((nrhs + tile.columns - 1) / tile.columns);
}

struct gtsv_marks_backend {
    gtsv_tile (*tile)(trine_dtype t, int64_t nrhs);
    /** As that of gtsv_backend; D must be X. */
    trine_status (*solve)(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                          const int32_t *marks);
};
extern const struct gtsv_marks_backend gtsv_marks_cuda;

/** trine_gtsv with the right-hand sides in X, and marks of them. */
trine_status gtsv_with_marks(void *stream, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                             const void *a, const void *b, const void *c, void *X, int64_t ldx, const int32_t *marks,
                             void *work, size_t work_bytes);

#ifdef __cplusplus
}
#endif
#endif
