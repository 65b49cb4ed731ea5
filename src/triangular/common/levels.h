/* Level sets of a gather form. */
#ifndef TRINE_TRIANGULAR_COMMON_LEVELS_H
#define TRINE_TRIANGULAR_COMMON_LEVELS_H

#include "triangular/common/gather_form.h"

/** Level l: positions[offsets[l]] .. positions[offsets[l+1] - 1], ascending. Starts as zeros. */
struct level_sets {
    int64_t count;
    int64_t *offsets;          /* count + 1 */
    int32_t *positions;        /* n */
};

/** Level sets of t in natural order; not sorted: without positions. What has been allocated so far stays in *out, also
 *  after a failure. */
trine_status level_sets_find(trine_context ctx, const struct gather_form *t, bool sorted, struct level_sets *out);
/** What trine_triangular_info says of them. */
void level_sets_report(int64_t n, const struct level_sets *levels, struct triangular_side *side);
void level_sets_free(trine_context ctx, struct level_sets *l);

#endif
