/* Blocks of two vertices, on the host and on a GPU. */
#ifndef TRINE_FOREST_COMMON_BLOCKS_H
#define TRINE_FOREST_COMMON_BLOCKS_H

#include "forest/common/edge_order.h"

/** The number of v's pair in the coarse graph: its lower vertex. mate: of a [0,1]-factor. */
FOREST_INLINE int32_t forest_coarse_vertex(const int32_t *mate, int32_t v)
{
    return mate[v] >= 0 && mate[v] < v ? mate[v] : v;
}

/** A row of the coarse graph in the making. The fine edge {x,y} between the coarse vertices row and column is one of
 *  four, which both rows number alike, so that both add them in the same order. x_is_low: x is the row's own number,
 *  not its mate. */
FOREST_INLINE int64_t forest_coarse_key(int32_t row, bool x_is_low, int32_t column, bool y_is_low)
{
    const int x = x_is_low ? 0 : 1, y = y_is_low ? 0 : 1;
    return (int64_t)column << 2 | (row < column ? 2 * x + y : 2 * y + x);
}
FOREST_INLINE int32_t forest_key_column(int64_t key) { return (int32_t)(key >> 2); }

#endif
