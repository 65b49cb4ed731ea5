#include "panels_support.h"

#include <stdlib.h>

const trine_transpose ops[3] = {TRINE_N, TRINE_T, TRINE_H};

trine_matrix random_triangle(trine_context ctx, trine_dtype t, int64_t n, trine_uplo which, uint64_t seed)
{
    trine_matrix A;
    int64_t *offsets, nnz = 0;
    int32_t *columns;
    void *values;
    char *has = calloc((size_t)(n * n) + 1, 1);
    uint64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const uint64_t cluster = (uint64_t)(i / 5 * n + j / 7);
            const bool dense = i / 5 == j / 5 || test_uniform(seed + 1, cluster) < 0.15;
            const double u = test_uniform(seed, k++);
            const bool side = which == TRINE_LOWER ? j < i : which == TRINE_UPPER ? j > i : true;
            has[i * n + j] = i == j || (side && (dense ? u < 0.9 : u < 0.01));
            nnz += has[i * n + j];
        }
    }
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, n, n, nnz, &offsets, &columns, &values));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (!has[i * n + j]) continue;
            columns[at] = (int32_t)j;
            const double complex v =
                2 * test_uniform(seed + 2, k) - 1 + (2 * test_uniform(seed + 2, k + 1) - 1) * _Complex_I;
            put(t, values, at++, i == j ? 1 + test_uniform(seed + 2, k) : v / (double)n);
            k += 2;
        }
        offsets[i + 1] = at;
    }
    free(has);
    return A;
}

void assert_solved(trine_matrix A, trine_uplo uplo, trine_diag diag, trine_dtype t, trine_transpose op, int64_t nrhs,
                   const void *x, const void *b)
{
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    const int64_t n = info.n_rows;
    wide *residual = malloc((size_t)(n + 1) * sizeof *residual);
    long double *size = malloc((size_t)(n + 1) * sizeof *size);
    for (int64_t j = 0; j < nrhs; j++) {
        for (int64_t i = 0; i < n; i++) {
            residual[i] = get(t, b, i + j * n);
            size[i] = cabsl(residual[i]);
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = offsets[i] - (diag == TRINE_UNIT); k < offsets[i + 1]; k++) {
                const bool implied = k < offsets[i];
                const int64_t c = implied ? i : columns[k];
                if (!implied && ((uplo == TRINE_LOWER ? c > i : c < i) || (diag == TRINE_UNIT && c == i))) continue;
                const wide v = implied ? 1 : get(t, values, k);
                const int64_t row = op == TRINE_N ? i : c, column = op == TRINE_N ? c : i;
                const wide product = (op == TRINE_H ? conjl(v) : v) * get(t, x, column + j * n);
                residual[row] -= product;
                size[row] += cabsl(product);
            }
        }
        for (int64_t i = 0; i < n; i++)
            assert_true(cabsl(residual[i]) <= 4 * (long double)(n + 4) * (long double)trine_dtype_eps(t) * size[i]);
    }
    free(residual);
    free(size);
}
