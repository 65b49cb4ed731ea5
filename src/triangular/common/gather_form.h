/* A triangle in the form that a solve by rows reads. */
#ifndef TRINE_TRIANGULAR_COMMON_GATHER_FORM_H
#define TRINE_TRIANGULAR_COMMON_GATHER_FORM_H

#include "triangular/common/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Position p is the p-th row to be solved. Row order[p] of op(T) has its off-diagonal entries at offsets[p] ..
 *  offsets[p+1], in the order in which they are subtracted; columns are positions. pivot_source[p] says where the
 *  pivot stands among T's values. Of the three that say it of the entries one is there: T has a row's values side by
 *  side, from row_source[p] on, up or down; or each has a place of its own. */
struct gather_form {
    int64_t n, nnz;            /* nnz: off-diagonal entries */
    int64_t *offsets;          /* n + 1 */
    int32_t *columns;          /* nnz */
    int32_t *order;            /* n */
    int64_t *row_source;       /* n; of empty rows anything */
    int row_step;              /* 1 or -1: from an entry of a row to its next one */
    uint32_t *source;          /* nnz, where T has no more entries than that tells apart */
    int64_t *wide_source;      /* nnz */
    int64_t *pivot_source;     /* n; NULL with a unit diagonal */
};

/** What a gather form takes at most, and what gather_form_reorder takes besides meanwhile. transposed: as below. */
int64_t gather_form_bytes(const struct triangular_extent *e, bool unit, bool transposed);
int64_t gather_form_reorder_bytes(const struct triangular_extent *e);
/** In natural order: along the compressed direction of a checked pattern, or across it (transposed). *t starts as
 *  zeros; what has been allocated so far stays in it, also after a failure, here and below. */
trine_status gather_form_build(trine_triangular plan, struct gather_form *t, const struct pattern *m, bool transposed);
/** Put position sorted[s] at position s, for all s. */
trine_status gather_form_reorder(trine_context ctx, struct gather_form *t, const int32_t *sorted);
/** What the places of the entries take. */
static inline int64_t gather_form_place_bytes(const struct gather_form *t)
{
    return t->row_source ? t->n * 8 : t->nnz * (t->source ? 4 : 8);
}
void gather_form_free(trine_context ctx, struct gather_form *t);
/** With row_source and rows in natural order: entries begin .. end - 1 of the form, begin < end, are among T's values
 *  first .. last - 1, which no other entries of the form are. */
void gather_form_span(const struct gather_form *t, int64_t begin, int64_t end, int64_t *first, int64_t *last);
/** Entries begin .. end - 1 of the form among T's values, of `size` bytes: to[k] = from[place of k]. */
void gather_form_take(const struct gather_form *t, int64_t begin, int64_t end, size_t size, const void *from, void *to);

#ifdef __cplusplus
}
#endif
#endif
