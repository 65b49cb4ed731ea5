#include "gallery_support.h"

#include <math.h>
#include <stdlib.h>

sparse make(trine_context ctx, const char *spec)
{
    sparse s;
    trine_matrix_info info;
    const void *values;
    OK(trine_matrix_gallery(ctx, &s.A, spec, TRINE_D));
    OK(trine_matrix_get_info(s.A, &info));
    OK(trine_matrix_get_arrays(s.A, &s.offsets, &s.columns, &values));
    assert_int_equal(info.n_rows, info.n_cols);
    assert_int_equal(info.dtype, TRINE_D);
    assert_int_equal(info.format, TRINE_CSR);
    s.n = info.n_rows;
    s.nnz = info.nnz;
    s.values = values;
    return s;
}

double at(const sparse *s, int64_t i, int64_t j)
{
    for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++)
        if (s->columns[k] == j) return s->values[k];
    return 0;
}

void assert_rows_ascend(const sparse *s)
{
    assert_int_equal(s->offsets[0], 0);
    assert_int_equal(s->offsets[s->n], s->nnz);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            assert_true(s->columns[k] >= 0 && s->columns[k] < s->n);
            if (k > s->offsets[i]) assert_true(s->columns[k - 1] < s->columns[k]);
        }
}

bool is_symmetric(const sparse *s)
{
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++)
            if (at(s, s->columns[k], i) != s->values[k]) return false;
    return true;
}

bool is_positive_definite(const sparse *s)
{
    const int64_t n = s->n;
    long double *L = calloc((size_t)(n * n), sizeof *L), largest = 0;
    assert_non_null(L);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            L[i * n + s->columns[k]] = s->values[k];
            largest = fmaxl(largest, fabsl((long double)s->values[k]));
        }
    bool definite = true;
    for (int64_t j = 0; j < n && definite; j++) {
        for (int64_t i = j; i < n; i++) {
            long double sum = L[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j && sum <= (long double)n * 0x1p-52L * largest) {
                definite = false;
                break;
            }
            L[i * n + j] = i == j ? sqrtl(sum) : sum / L[j * n + j];
        }
    }
    free(L);
    return definite;
}
