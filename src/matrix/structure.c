/* What a matrix looks like, told by its rows and its columns side by side. */
#include <string.h>

#include "matrix/matrix.h"

#define TEMPLATE "matrix/structure.inc"
#include "core/each_dtype.h"

typedef void (*describe_values_fn)(trine_matrix rows, trine_matrix columns, trine_matrix_structure *s);
static const describe_values_fn describe_values[] = TABLE(describe_values);

/** Everything that takes no values. Both matrices are sorted and free of duplicates. */
static void describe_pattern(trine_matrix rows, trine_matrix columns, trine_matrix_structure *s)
{
    const int64_t n = rows->n_rows;
    const bool square = n == rows->n_cols;
    s->cyclic_tridiagonal = s->pattern_symmetric = square;
    s->min_row = n ? INT64_MAX : 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t start = rows->offsets[i], entries = rows->offsets[i + 1] - start;
        int bin = 0;
        while (((int64_t)1 << bin) < entries) bin++;
        s->row_histogram[bin]++;
        s->empty_rows += entries == 0;
        if (entries < s->min_row) s->min_row = entries;
        if (entries > s->max_row) s->max_row = entries;
        for (int64_t k = start; k < start + entries; k++) {
            const int64_t below = i - rows->indices[k];
            if (below > s->lower_bandwidth) s->lower_bandwidth = below;
            if (-below > s->upper_bandwidth) s->upper_bandwidth = -below;
            s->diagonal_present += below == 0;
            if (below < -1 || below > 1) s->cyclic_tridiagonal &= below == n - 1 || below == 1 - n;
        }
        s->pattern_symmetric = s->pattern_symmetric && columns->offsets[i + 1] == rows->offsets[i + 1] &&
                               (!entries || !memcmp(rows->indices + start, columns->indices + start,
                                                    (size_t)entries * sizeof *rows->indices));
    }
    s->mean_row = n ? (double)rows->nnz / (double)n : 0;
    s->lower_triangular = s->upper_bandwidth == 0;
    s->upper_triangular = s->lower_bandwidth == 0;
}

trine_status trine_matrix_get_structure(trine_matrix A, trine_matrix_structure *s)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(s, "s is NULL");
    memset(s, 0, sizeof *s);
    trine_status status = TRINE_SUCCESS;
    trine_matrix H = NULL, merged = NULL, other = NULL;
    TRY(matrix_to_host(A, &H));
    if (!matrix_is_sorted(H, true)) {
        TRY(trine_matrix_sort(H, &merged, 1));
        trine_matrix_destroy(&H);
        H = merged;
        merged = NULL;
    }
    TRY(matrix_flip(H, &other, H->format == TRINE_CSR ? TRINE_CSC : TRINE_CSR, VALUE_KEEP));
    trine_matrix rows = H->format == TRINE_CSR ? H : other, columns = H->format == TRINE_CSR ? other : H;
    s->n_rows = A->n_rows;
    s->n_cols = A->n_cols;
    s->nnz = A->nnz;
    s->duplicates = A->nnz - H->nnz;
    describe_pattern(rows, columns, s);
    describe_values[H->dtype](rows, columns, s);
    s->norm_inf = (double)s->max_row;
    if (H->values) TRY(trine_matrix_norm(rows, TRINE_NORM_INF, &s->norm_inf));
done:
    trine_matrix_destroy(&other);
    trine_matrix_destroy(&H);
    return status;
}
