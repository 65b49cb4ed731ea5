/* Checks of T's pattern. */
#include "triangular/common/pattern.h"

trine_status pattern_set_uplo(trine_triangular plan, bool csr, bool before, bool behind)
{
    if (before && behind)
        return trine_fail(TRINE_ERR_STRUCTURE,
                          "the matrix has entries in both triangles; say which one is meant (uplo)");
    plan->options.uplo = (csr ? behind : before) ? TRINE_UPPER : TRINE_LOWER;
    return TRINE_SUCCESS;
}

trine_status pattern_find_uplo(trine_triangular plan, const struct pattern *m)
{
    bool before = false, behind = false;
    for (int64_t i = 0; i < plan->base.n && !(before && behind); i++)
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++) {
            if (m->indices[k] < i) before = true;
            if (m->indices[k] > i) behind = true;
        }
    return pattern_set_uplo(plan, m->csr, before, behind);
}

/** Whether a row of ascending indices in range has nothing that options forbid; adds its entries of the triangle to
 *  *nnz then. */
static inline bool is_plain_row(trine_triangular plan, const struct pattern *m, int64_t i, int64_t *nnz)
{
    const int64_t first = m->offsets[i], last = m->offsets[i + 1];
    int64_t k = first;
    while (k < last && m->indices[k] < i) k++;
    const bool diagonal = k < last && m->indices[k] == i;
    const int64_t before = k - first, behind = last - k - diagonal, inside = m->lower_major ? before : behind;
    if ((!diagonal && plan->options.diag == TRINE_NONUNIT) ||
        (plan->options.other_triangle_is_error && inside < before + behind))
        return false;
    *nnz += inside;
    return true;
}

/** Whether indices ascend in every row of a checked matrix. */
static bool all_ascend(const struct pattern *m, int64_t n)
{
    int64_t descents = 0, between_rows = 0; /* both without branches */
    for (int64_t k = 1; k < m->offsets[n]; k++) descents += m->indices[k] <= m->indices[k - 1];
    for (int64_t i = 1, k; i < n; i++) {
        k = m->offsets[i];
        if (k > 0 && k < m->offsets[i + 1]) between_rows += m->indices[k] <= m->indices[k - 1];
    }
    return descents == between_rows;
}

trine_status pattern_check_row(trine_triangular plan, const struct pattern *m, int64_t i, int64_t first, int64_t last,
                               const int32_t *indices, int32_t *seen, int64_t *nnz)
{
    const int64_t n = plan->base.n;
    const bool csr = m->csr;
    const char *row = csr ? "row" : "column", *column = csr ? "column" : "row";
    bool diagonal = false;
    if (first > last)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets fall from %lld to %lld at %s %lld", (long long)first,
                          (long long)last, row, (long long)i);
    if (first < 0 || last > plan->nnz_matrix)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets %lld and %lld at %s %lld are outside 0..%lld", (long long)first,
                          (long long)last, row, (long long)i, (long long)plan->nnz_matrix);
    for (int64_t k = 0; k < last - first; k++) {
        const int64_t j = indices[k];
        if (j < 0 || j >= n)
            return trine_fail(TRINE_ERR_STRUCTURE, "%s index %lld in %s %lld is outside 0..%lld", column, (long long)j,
                              row, (long long)i, (long long)(n - 1));
        if (seen[j] == i + 1)
            return trine_fail(TRINE_ERR_STRUCTURE, "%s %lld has two entries in %s %lld; sum duplicates first", row,
                              (long long)i, column, (long long)j);
        seen[j] = (int32_t)(i + 1);
        if (j == i) diagonal = true;
        else if (in_triangle(m->lower_major, i, j)) ++*nnz;
        else if (plan->options.other_triangle_is_error)
            return trine_fail(TRINE_ERR_STRUCTURE, "entry (%lld, %lld) is not in the %s triangle",
                              (long long)(csr ? i : j), (long long)(csr ? j : i),
                              plan->options.uplo == TRINE_LOWER ? "lower" : "upper");
    }
    if (!diagonal && plan->options.diag == TRINE_NONUNIT)
        return trine_fail(TRINE_ERR_SINGULAR, "row %lld has no diagonal entry", (long long)i);
    return TRINE_SUCCESS;
}

trine_status pattern_check(trine_triangular plan, const struct pattern *m)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int32_t *seen = NULL; /* last compressed row that used this index, + 1 */
    int64_t nnz = 0, plain = 0; /* plain: rows that nothing is wrong with */
    if (all_ascend(m, plan->base.n))
        while (plain < plan->base.n && is_plain_row(plan, m, plain, &nnz)) plain++;
    if (plain < plan->base.n) TRY(CALLOC(ctx, seen, plan->base.n));
    for (int64_t i = plain; i < plan->base.n; i++)
        TRY(pattern_check_row(plan, m, i, m->offsets[i], m->offsets[i + 1], m->indices + m->offsets[i], seen, &nnz));
    plan->info.nnz = nnz + plan->base.n;
done:
    trine_free(ctx, TRINE_HOST, seen);
    return status;
}
