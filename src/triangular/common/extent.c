/* What the memory of a plan depends on, counted in one pass over the pattern. */
#include "triangular/common/pattern.h"

/** Entries so far. A row is a compressed one: of CSC a column. */
struct count {
    int64_t row;                   /* of the last entry */
    int32_t last;                  /* its index; -1: the row has none yet */
    int64_t before, behind;        /* the diagonal */
    bool ascending;                /* indices, in every row */
};

/** Entries first .. last - 1 of T, whose indices are at `indices`. */
static trine_status add_entries(const int64_t *offsets, const int32_t *indices, int64_t n, int64_t first, int64_t last,
                                struct count *c)
{
    for (int64_t k = first; k < last; k++) {
        const int32_t j = indices[k - first];
        while (k >= offsets[c->row + 1]) c->row++, c->last = -1;
        if (j < 0 || j >= n)
            return trine_fail(TRINE_ERR_STRUCTURE, "index %lld in row %lld is outside 0..%lld", (long long)j,
                              (long long)c->row, (long long)(n - 1));
        if (j < c->row) c->before++;
        if (j > c->row) c->behind++;
        if (j <= c->last) c->ascending = false;
        c->last = j;
    }
    return TRINE_SUCCESS;
}

static trine_status check_offsets(const int64_t *offsets, int64_t n, int64_t nnz)
{
    for (int64_t i = 0; i < n; i++)
        if (offsets[i] < 0 || offsets[i] > offsets[i + 1] || offsets[i + 1] > nnz)
            return trine_fail(TRINE_ERR_STRUCTURE, "offsets %lld and %lld of row %lld do not fit",
                              (long long)offsets[i], (long long)offsets[i + 1], (long long)i);
    return n && (offsets[0] || offsets[n] != nnz)
               ? trine_fail(TRINE_ERR_STRUCTURE, "offsets do not go from 0 to %lld", (long long)nnz)
               : TRINE_SUCCESS;
}

trine_status triangle_find_extent(trine_triangular plan, trine_matrix T, struct triangular_extent *e)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n, *offsets, *given;
    const int32_t *indices;
    int64_t *copied_offsets = NULL;
    int32_t *copied = NULL;
    trine_matrix_info m;
    struct count c = {.last = -1, .ascending = true};
    trine_matrix_get_info(T, &m);
    trine_matrix_get_arrays(T, &given, &indices, NULL);
    offsets = given;
    const bool on_host = m.space == TRINE_HOST, csr = m.format == TRINE_CSR;
    const int64_t most = on_host ? m.nnz : n > 1024 ? n : 1024; /* indices at a time */
    if (!on_host) {
        TRY(ALLOC(ctx, copied_offsets, n + 1));
        TRY(ALLOC(ctx, copied, most));
        TRY(trine_copy(ctx, copied_offsets, TRINE_HOST, given, TRINE_DEVICE, (size_t)(n + 1) * sizeof *offsets));
        offsets = copied_offsets;
    }
    TRY(check_offsets(offsets, n, m.nnz));
    for (int64_t first = 0; first < m.nnz; first += most) {
        const int64_t last = first + most < m.nnz ? first + most : m.nnz;
        if (!on_host)
            TRY(trine_copy(ctx, copied, TRINE_HOST, indices + first, TRINE_DEVICE,
                           (size_t)(last - first) * sizeof *indices));
        TRY(add_entries(offsets, on_host ? indices : copied, n, first, last, &c));
    }
    if (plan->options.uplo == TRINE_UPLO_AUTO) TRY(pattern_set_uplo(plan, csr, c.before, c.behind));
    const bool lower_major = csr == (plan->options.uplo == TRINE_LOWER);
    *e = (struct triangular_extent){.n = n,
                                    .nnz = lower_major ? c.before : c.behind,
                                    .nnz_matrix = m.nnz,
                                    .on_host = on_host,
                                    .csr = csr,
                                    .ascending = c.ascending};
done:
    trine_free(ctx, TRINE_HOST, copied);
    trine_free(ctx, TRINE_HOST, copied_offsets);
    return status;
}
