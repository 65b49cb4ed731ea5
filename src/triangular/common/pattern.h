/* T's pattern on the host, and what is asked of it whatever the backend. */
#ifndef TRINE_TRIANGULAR_COMMON_PATTERN_H
#define TRINE_TRIANGULAR_COMMON_PATTERN_H

#include "triangular/triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pattern {
    const int64_t *offsets;
    const int32_t *indices;
    bool csr;
    bool lower_major;                /* lower, as the compressed rows (or columns) see it */
};

/** Does the entry (compressed row i, index j) belong to the strict triangle? */
static inline bool in_triangle(bool lower_major, int64_t i, int64_t j) { return lower_major ? j < i : j > i; }

/** Lower or upper, where the options leave it open: from the entries off the diagonal. */
trine_status pattern_find_uplo(trine_triangular plan, const struct pattern *m);
/** The same from whether the compressed rows have entries before and behind the diagonal; both is an error. */
trine_status pattern_set_uplo(trine_triangular plan, bool csr, bool before, bool behind);
/** Check the pattern: triangle, duplicates, missing diagonal; count the triangle's entries. */
trine_status pattern_check(trine_triangular plan, const struct pattern *m);
/** The same of compressed row i, indices[first .. last); seen: n zeros before the first row. Adds its entries to
 *  *nnz. */
trine_status pattern_check_row(trine_triangular plan, const struct pattern *m, int64_t i, int64_t first, int64_t last,
                               const int32_t *indices, int32_t *seen, int64_t *nnz);

#ifdef __cplusplus
}
#endif
#endif
