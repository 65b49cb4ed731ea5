/* A triangle in the form that a solve by rows reads. */
#ifndef TRINE_TRIANGULAR_COMMON_GATHER_FORM_H
#define TRINE_TRIANGULAR_COMMON_GATHER_FORM_H

#include "triangular/common/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Position p is the p-th row to be solved. Row order[p] of op(T) has its off-diagonal entries at offsets[p] ..
 *  offsets[p+1], in the order in which they are subtracted; columns are positions. source[k] and pivot_source[p] say
 *  where the values stand among T's. */
struct gather_form {
    int64_t n, nnz;            /* nnz: off-diagonal entries */
    int64_t *offsets;          /* n + 1 */
    int32_t *columns;          /* nnz */
    int32_t *order;            /* n */
    int64_t *source;           /* nnz */
    int64_t *pivot_source;     /* n; NULL with a unit diagonal */
};

/** What a gather form takes. */
static inline int64_t gather_form_bytes(int64_t n, int64_t nnz, bool unit)
{
    return (n + 1) * 8 + (nnz + 1) * 12 + (unit ? 0 : (n + 1) * 8) + (n + 1) * 4;
}
/** In natural order: along the compressed direction of a checked pattern, or across it (transposed). *t starts as
 *  zeros; what has been allocated so far stays in it, also after a failure, here and below. */
trine_status gather_form_build(trine_triangular plan, struct gather_form *t, const struct pattern *m, bool transposed);
/** Put position sorted[s] at position s, for all s. */
trine_status gather_form_reorder(trine_context ctx, struct gather_form *t, const int32_t *sorted);
void gather_form_free(trine_context ctx, struct gather_form *t);

#ifdef __cplusplus
}
#endif
#endif
