/* Sparse containers: products, accuracy, norms, structure and permuted vectors against a dense long double oracle. */
#include "matrix_support.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ numbers */

static void *random_vector(trine_dtype t, int64_t count, uint64_t seed)
{
    void *v = malloc((size_t)count * trine_dtype_size(t) + 1);
    for (int64_t i = 0; i < count; i++) put(t, v, i, random_value(t, seed, (uint64_t)i));
    return v;
}

static void check_multiply(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)ctx;
    const trine_matrix_info a = info_of(A);
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    EACH(o, ops) for (int scaled = 0; scaled < 3; scaled++)
    { /* y = op(A) x; alpha, beta; beta = 0 given */
        const bool n = ops[o] == TRINE_N;
        const int64_t n_in = n ? a.n_cols : a.n_rows, n_out = n ? a.n_rows : a.n_cols;
        void *x = random_vector(a.dtype, n_in, 5), *y = random_vector(a.dtype, n_out, 6),
             *old = random_vector(a.dtype, n_out, 6);
        double complex alpha_store, beta_store;
        put(a.dtype, &alpha_store, 0, make(1.5L, -0.5L));
        put(a.dtype, &beta_store, 0, scaled == 2 ? make(0, 0) : make(-0.25L, 2));
        const wide alpha = scaled ? get(a.dtype, &alpha_store, 0) : 1, beta = scaled ? get(a.dtype, &beta_store, 0) : 0;
        if (scaled != 1)
            for (int64_t i = 0; i < n_out; i++) put(a.dtype, y, i, make(NAN, NAN)); /* not read */
        OK(trine_matrix_multiply(A, ops[o], scaled ? &alpha_store : NULL, x, scaled ? &beta_store : NULL, y));
        for (int64_t i = 0; i < n_out; i++) {
            wide sum = 0;
            long double bound = 0;
            for (int64_t j = 0; j < n_in; j++) {
                wide v = n ? D[i + j * a.n_rows] : D[j + i * a.n_rows];
                if (ops[o] == TRINE_H) v = conjl(v);
                sum += v * get(a.dtype, x, j);
                bound += cabsl(v) * cabsl(get(a.dtype, x, j));
            }
            const wide before = beta == 0 ? 0 : get(a.dtype, old, i);
            const long double error = cabsl(get(a.dtype, y, i) - (alpha * sum + beta * before));
            assert_true(error <= 40 * eps_of(a.dtype) * (cabsl(alpha) * bound + cabsl(beta) * cabsl(before)));
        }
        free(x);
        free(y);
        free(old);
    }
}
static void a_product_is_as_right_as_its_precision(void **state)
{
    (void)state;
    for_random_matrices(check_multiply);
}

static void check_accuracy(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)ctx;
    const trine_matrix_info a = info_of(A);
    const int64_t nrhs = 3;
    void *x = random_vector(a.dtype, a.n_cols * nrhs, 7), *b = random_vector(a.dtype, a.n_rows * nrhs, 8),
         *r = random_vector(a.dtype, a.n_rows * nrhs, 9);
    trine_accuracy got, silent;
    OK(trine_matrix_accuracy(A, nrhs, x, b, r, &got));
    long double backward = 0, residual = 0, componentwise = 0, norm_A = 0;
    for (int64_t i = 0; i < a.n_rows; i++) { /* |A| row sums: of entries, not of sums, so from the arrays */
        arrays v = fetch(ctx, A);
        long double sum = 0;
        for (int64_t p = 0; p < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); p++)
            for (int64_t k = v.offsets[p]; k < v.offsets[p + 1]; k++)
                if ((a.format == TRINE_CSR ? p : v.indices[k]) == i) sum += cabsl(get(a.dtype, v.values, k));
        norm_A = fmaxl(norm_A, sum);
        release(v);
    }
    arrays v = fetch(ctx, A);
    for (int64_t c = 0; c < nrhs; c++) {
        long double norm_r = 0, norm_b = 0, norm_x = 0;
        for (int64_t j = 0; j < a.n_cols; j++) norm_x = fmaxl(norm_x, cabsl(get(a.dtype, x, j + c * a.n_cols)));
        for (int64_t i = 0; i < a.n_rows; i++) {
            wide sum = get(a.dtype, b, i + c * a.n_rows);
            long double bound = cabsl(sum);
            norm_b = fmaxl(norm_b, cabsl(sum));
            for (int64_t j = 0; j < a.n_cols; j++) sum -= D[i + j * a.n_rows] * get(a.dtype, x, j + c * a.n_cols);
            for (int64_t p = 0; p < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); p++)
                for (int64_t k = v.offsets[p]; k < v.offsets[p + 1]; k++) {
                    const int64_t row = a.format == TRINE_CSR ? p : v.indices[k],
                                  col = a.format == TRINE_CSR ? v.indices[k] : p;
                    if (row == i)
                        bound += cabsl(get(a.dtype, v.values, k)) * cabsl(get(a.dtype, x, col + c * a.n_cols));
                }
            assert_true(cabsl(sum - get(a.dtype, r, i + c * a.n_rows)) <= eps_of(a.dtype) * cabsl(sum));
            norm_r = fmaxl(norm_r, cabsl(sum));
            if (bound > 0) componentwise = fmaxl(componentwise, cabsl(sum) / bound);
        }
        if (norm_r > 0) {
            backward = fmaxl(backward, norm_r / (eps_of(a.dtype) * (norm_b + norm_A * norm_x)));
            residual = fmaxl(residual, norm_b > 0 ? norm_r / norm_b : norm_r);
        }
    }
    release(v);
    assert_true(fabsl(got.backward_error - backward) <= 1e-14L * backward);
    assert_true(fabsl(got.residual - residual) <= 1e-14L * residual);
    assert_true(fabsl(got.componentwise - componentwise) <= 1e-14L * componentwise);
    OK(trine_matrix_accuracy(A, nrhs, x, b, NULL, &silent));
    assert_memory_equal(&silent, &got, sizeof got);
    /* b = A x exactly: no error at all */
    for (int64_t i = 0; i < a.n_rows; i++) {
        wide sum = 0;
        for (int64_t j = 0; j < a.n_cols; j++) sum += D[i + j * a.n_rows] * get(a.dtype, x, j);
        put(a.dtype, b, i, sum);
    }
    OK(trine_matrix_accuracy(A, 1, x, b, r, &got));
    assert_true(got.backward_error == 0 && got.residual == 0 && got.componentwise == 0);
    for (int64_t i = 0; i < a.n_rows; i++) assert_true(get(a.dtype, r, i) == 0);
    if (a.n_cols) { /* a NaN is not lost, even in a column without entries */
        put(a.dtype, x, a.n_cols - 1, NAN);
        OK(trine_matrix_accuracy(A, 1, x, b, r, &got));
        assert_true(isnan(got.backward_error) && isnan(got.residual) && isnan(got.componentwise));
    }
    free(x);
    free(b);
    free(r);
}
static void accuracy_is_what_long_double_says(void **state)
{
    (void)state;
    for_random_matrices(check_accuracy);
}

static void check_norm(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)D;
    const trine_matrix_info a = info_of(A);
    arrays v = fetch(ctx, A);
    long double rows[64] = {0}, cols[64] = {0}, squares = 0, most = 0, row_norm = 0, col_norm = 0;
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
            const long double size = cabsl(get(a.dtype, v.values, k));
            rows[a.format == TRINE_CSR ? i : v.indices[k]] += size;
            cols[a.format == TRINE_CSR ? v.indices[k] : i] += size;
            squares += size * size;
            most = fmaxl(most, size);
        }
    for (int i = 0; i < 64; i++) row_norm = fmaxl(row_norm, rows[i]), col_norm = fmaxl(col_norm, cols[i]);
    const long double expected[] = {[TRINE_NORM_INF] = row_norm,
                                    [TRINE_NORM_ONE] = col_norm,
                                    [TRINE_NORM_FROBENIUS] = sqrtl(squares),
                                    [TRINE_NORM_MAX] = most};
    EACH(n, expected)
    {
        double norm = -1;
        OK(trine_matrix_norm(A, (trine_norm)n, &norm));
        assert_true(fabsl(norm - expected[n]) <= 1e-14L * expected[n]);
    }
    if (info_of(A).space == TRINE_HOST && a.nnz) { /* NaN and Inf are never lost, wherever they are */
        trine_matrix B;
        const void *values;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, a.format, a.dtype));
        OK(trine_matrix_get_arrays(B, NULL, NULL, &values));
        put(a.dtype, (void *)values, a.nnz / 2, INFINITY);
        EACH(n, expected)
        {
            double norm;
            OK(trine_matrix_norm(B, (trine_norm)n, &norm));
            assert_true(isinf(norm));
        }
        put(a.dtype, (void *)values, a.nnz / 2, NAN);
        EACH(n, expected)
        {
            double norm;
            OK(trine_matrix_norm(B, (trine_norm)n, &norm));
            assert_true(isnan(norm));
        }
        OK(trine_matrix_destroy(&B));
    }
    release(v);
}
static void norms_are_what_long_double_says_and_keep_nan(void **state)
{
    (void)state;
    for_random_matrices(check_norm);
}

static void the_frobenius_norm_neither_overflows_nor_underflows(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet big[] = {{0, 0, 3e300, 0}, {1, 0, 4e300, 0}}, tiny[] = {{0, 0, 3e-300, 0}, {1, 0, 4e-300, 0}};
    double norm;
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_Z, 2, 1, 2, big),
                 B = from_triplets(ctx, TRINE_CSC, TRINE_D, 2, 1, 2, tiny);
    OK(trine_matrix_norm(A, TRINE_NORM_FROBENIUS, &norm));
    assert_true(fabs(norm / 5e300 - 1) < 1e-15);
    OK(trine_matrix_norm(B, TRINE_NORM_FROBENIUS, &norm));
    assert_true(fabs(norm / 5e-300 - 1) < 1e-15);
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&B));
    OK(trine_context_destroy(&ctx));
}

/** The parallel loops: 60 000 entries, by rows and by columns, one thread and three. */
static void threads_do_not_change_a_single_bit(void **state)
{
    (void)state;
    const int64_t n = 20000;
    EACH(t, all_dtypes)
    EACH(f, all_formats)
    {
        const trine_dtype type = all_dtypes[t];
        void *x = random_vector(type, n, 1), *b = random_vector(type, n, 2), *y[2], *z[2], *r[2];
        trine_accuracy accuracy[2];
        for (int threads = 0; threads < 2; threads++) {
            trine_context ctx;
            OK(trine_context_create(&ctx, threads ? "cpu:3" : "cpu:1"));
            trine_matrix A = random_matrix(ctx, all_formats[f], type, n, n, 4);
            assert_true(info_of(A).nnz > 30000);
            y[threads] = random_vector(type, n, 3);
            z[threads] = random_vector(type, n, 3);
            r[threads] = random_vector(type, n, 3);
            OK(trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, y[threads]));
            OK(trine_matrix_multiply(A, TRINE_H, NULL, x, NULL, z[threads]));
            OK(trine_matrix_accuracy(A, 1, x, b, r[threads], &accuracy[threads]));
            arrays v = fetch(ctx, A); /* r = b - A x, entry by entry */
            wide *residual = malloc((size_t)n * sizeof *residual);
            for (int64_t i = 0; i < n; i++) residual[i] = get(type, b, i);
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
                    const int64_t row = f ? v.indices[k] : i, col = f ? i : v.indices[k];
                    residual[row] -= get(type, v.values, k) * get(type, x, col);
                }
            for (int64_t i = 0; i < n; i++) {
                assert_true(cabsl(get(type, r[threads], i) - residual[i]) <= eps_of(type) * cabsl(residual[i]));
                assert_true(cabsl(get(type, b, i) - get(type, y[threads], i) - residual[i]) <= 100 * eps_of(type));
            }
            free(residual);
            release(v);
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
        }
        const size_t bytes = (size_t)n * trine_dtype_size(type);
        assert_memory_equal(y[0], y[1], bytes);
        assert_memory_equal(z[0], z[1], bytes);
        assert_memory_equal(r[0], r[1], bytes);
        assert_memory_equal(&accuracy[0], &accuracy[1], sizeof accuracy[0]);
        for (int i = 0; i < 2; i++) free(y[i]), free(z[i]), free(r[i]);
        free(x);
        free(b);
    }
}

static void accuracy_of_known_errors_is_known(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    /* A = diag(2, 4), x = (1, 1 + eps): r = (0, -4 eps), ||A|| = 4, ||x|| = 1 + eps, ||b|| = 4 */
    static const triplet list[] = {{0, 0, 2, 0}, {1, 1, 4, 0}};
    EACH(t, all_dtypes)
    {
        const trine_dtype type = all_dtypes[t];
        const double eps = eps_of(type);
        trine_matrix A = from_triplets(ctx, TRINE_CSC, type, 2, 2, 2, list);
        double complex x[4], b[4], r[4];
        for (int i = 0; i < 4; i++) put(type, x, i, 1), put(type, b, i, i % 2 ? 4 : 2);
        put(type, x, 3, 1 + eps); /* the second column */
        trine_accuracy a;
        OK(trine_matrix_accuracy(A, 2, x, b, r, &a));
        assert_true(fabs(a.backward_error - 0.5) < 1e-6);
        assert_true(fabs(a.residual / eps - 1) < 1e-6);
        assert_true(fabs(a.componentwise / (eps / 2) - 1) < 1e-6);
        assert_true(get(type, r, 2) == 0 && get(type, r, 3) == -4 * eps);
        for (int i = 0; i < 2; i++) put(type, b, i, 0); /* b = 0: the residual itself */
        OK(trine_matrix_accuracy(A, 1, x, b, NULL, &a));
        assert_true(a.residual == 4 && fabs(a.backward_error * eps - 1) < 1e-15 && a.componentwise == 1);
        put(type, x, 0, INFINITY);
        OK(trine_matrix_accuracy(A, 1, x, b, NULL, &a));
        assert_true(!(a.backward_error < 1 / eps)); /* NaN or Inf: nothing that looks right */
        OK(trine_matrix_accuracy(A, 0, NULL, NULL, NULL, &a));
        assert_true(a.backward_error == 0 && a.residual == 0 && a.componentwise == 0);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- structure */

static void check_structure(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    const int64_t n = a.n_rows, m = a.n_cols;
    arrays v = fetch(ctx, A);
    int *count = calloc((size_t)(n * m) + 1, sizeof *count);
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? n : m); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++)
            count[a.format == TRINE_CSR ? i + v.indices[k] * n : v.indices[k] + i * n]++;
    trine_matrix_structure e = {.n_rows = n,
                                .n_cols = m,
                                .nnz = a.nnz,
                                .min_row = n ? INT64_MAX : 0,
                                .pattern_symmetric = n == m,
                                .symmetric = n == m,
                                .hermitian = n == m,
                                .positive_diagonal = 1,
                                .cyclic_tridiagonal = n == m},
                           s;
    int64_t distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t entries = 0, bin = 0;
        long double sum = 0;
        for (int64_t j = 0; j < m; j++) {
            const int here = count[i + j * n];
            const wide value = D[i + j * n];
            if (here) {
                entries++;
                e.explicit_zeros += value == 0;
                e.lower_bandwidth = i - j > e.lower_bandwidth ? i - j : e.lower_bandwidth;
                e.upper_bandwidth = j - i > e.upper_bandwidth ? j - i : e.upper_bandwidth;
                if (llabs((long long)(i - j)) > 1 && llabs((long long)(i - j)) != n - 1) e.cyclic_tridiagonal = 0;
                sum += cabsl(value);
            }
            if (i == j) {
                e.diagonal_present += here > 0;
                e.diagonal_zero += here > 0 && value == 0;
                if (!here || cimagl(value) != 0 || creall(value) <= 0) e.positive_diagonal = 0;
            }
            if (n == m) {
                if (!here != !count[j + i * n]) e.pattern_symmetric = e.symmetric = e.hermitian = 0;
                if (value != D[j + i * n]) e.symmetric = 0;
                if (value != conjl(D[j + i * n])) e.hermitian = 0;
            }
        }
        distinct += entries;
        e.empty_rows += entries == 0;
        e.min_row = entries < e.min_row ? entries : e.min_row;
        e.max_row = entries > e.max_row ? entries : e.max_row;
        while (entries > (INT64_C(1) << bin)) bin++;
        e.row_histogram[bin]++;
        e.norm_inf = fmax(e.norm_inf, (double)sum);
    }
    e.duplicates = a.nnz - distinct;
    e.mean_row = n ? (double)distinct / (double)n : 0;
    e.lower_triangular = e.upper_bandwidth == 0;
    e.upper_triangular = e.lower_bandwidth == 0;
    OK(trine_matrix_get_structure(A, &s));
    assert_true(fabs(s.norm_inf - e.norm_inf) <= 1e-14 * e.norm_inf);
    s.norm_inf = e.norm_inf;
    assert_int_equal(s.duplicates, e.duplicates);
    assert_int_equal(s.explicit_zeros, e.explicit_zeros);
    assert_int_equal(s.diagonal_present, e.diagonal_present);
    assert_int_equal(s.diagonal_zero, e.diagonal_zero);
    assert_int_equal(s.lower_bandwidth, e.lower_bandwidth);
    assert_int_equal(s.upper_bandwidth, e.upper_bandwidth);
    assert_int_equal(s.pattern_symmetric, e.pattern_symmetric);
    assert_int_equal(s.symmetric, e.symmetric);
    assert_int_equal(s.hermitian, e.hermitian);
    assert_int_equal(s.positive_diagonal, e.positive_diagonal);
    assert_int_equal(s.cyclic_tridiagonal, e.cyclic_tridiagonal);
    assert_int_equal(s.min_row, e.min_row);
    assert_memory_equal(s.row_histogram, e.row_histogram, sizeof s.row_histogram);
    assert_true(s.max_row == e.max_row && s.empty_rows == e.empty_rows && s.mean_row == e.mean_row && s.nnz == e.nnz);
    assert_true(s.n_rows == n && s.n_cols == m && s.lower_triangular == e.lower_triangular &&
                s.upper_triangular == e.upper_triangular);
    free(count);
    release(v);
}
static void check_structure_of_symmetric(trine_context ctx, trine_matrix A, const wide *D)
{
    (void)D;
    if (info_of(A).n_rows != info_of(A).n_cols) return;
    for (int symmetry = TRINE_SYMMETRIC; symmetry <= TRINE_HERMITIAN; symmetry++) {
        trine_matrix L, S;
        OK(trine_matrix_triangle(A, &L, TRINE_UPPER, symmetry == TRINE_SYMMETRIC ? TRINE_NONUNIT : TRINE_UNIT,
                                 symmetry == TRINE_HERMITIAN));
        OK(trine_matrix_expand(L, &S, (trine_symmetry)symmetry));
        wide *E = dense(ctx, S);
        check_structure(ctx, S, E);
        trine_matrix_structure s;
        OK(trine_matrix_get_structure(S, &s));
        assert_true(s.pattern_symmetric &&
                    (symmetry == TRINE_SKEW || (symmetry == TRINE_SYMMETRIC ? s.symmetric : s.hermitian)));
        free(E);
        OK(trine_matrix_destroy(&S));
        OK(trine_matrix_destroy(&L));
    }
}
static void structure_is_what_the_dense_matrix_shows(void **state)
{
    (void)state;
    for_random_matrices(check_structure);
    for_random_matrices(check_structure_of_symmetric);
}

static void tridiagonal_and_cyclic_matrices_are_recognized(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet list[] = {{0, 0, 2, 0},  {0, 1, -1, 0},  {0, 3, -1, 1}, {1, 0, -1, 0},
                                   {1, 1, 0, 0},  {1, 2, -1, 0},  {2, 1, -1, 0}, {2, 2, 2, 0},
                                   {2, 3, -1, 0}, {3, 0, -1, -1}, {3, 2, -1, 0}, {3, 3, 2, 0}};
    EACH(f, all_formats)
    {
        trine_matrix A = from_triplets(ctx, all_formats[f], TRINE_C, 4, 4, 12, list);
        trine_matrix_structure s;
        EACH_SPACE(ctx, A, V)
        {
            OK(trine_matrix_get_structure(V, &s));
            assert_true(s.cyclic_tridiagonal && s.lower_bandwidth == 3 && s.upper_bandwidth == 3 && s.hermitian &&
                        !s.symmetric);
            assert_true(s.diagonal_present == 4 && s.diagonal_zero == 1 && s.explicit_zeros == 1 &&
                        !s.positive_diagonal);
            assert_true(s.row_histogram[2] == 4 && s.min_row == 3 && s.max_row == 3 && s.mean_row == 3 &&
                        s.duplicates == 0);
        }
        OK(trine_matrix_destroy(&A));
        /* its first row: (0,3) is a corner, (1,*) are empty */
        A = from_triplets(ctx, all_formats[f], TRINE_D, 4, 4, 3, list);
        OK(trine_matrix_get_structure(A, &s));
        assert_true(s.cyclic_tridiagonal && s.upper_triangular && !s.lower_triangular && s.empty_rows == 3 &&
                    !s.pattern_symmetric);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------ vectors */

static void permuted_vectors_have_the_right_rows_in_every_layout(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int64_t shapes[][2] = {{0, 0},   {0, 2},   {3, 0},    {1, 1},   {2, 1},   {31, 3},
                                        {33, 33}, {257, 5}, {1000, 1}, {5, 300}, {9000, 3}};
    EACH(t, all_dtypes)
    EACH(s, shapes) for (int c = 0; c < 64; c++)
    {
        const trine_dtype type = all_dtypes[t];
        const trine_dtype real = type == TRINE_S || type == TRINE_C ? TRINE_S : TRINE_D;
        const int64_t n = shapes[s][0], m = shapes[s][1];
        if (n * m > 5000 && c % 5) continue;
        const bool conjugate = (s + t + (size_t)c / 2) % 2;
        const bool with_perm = c & 1, with_scale = c & 2, inverse = c & 4, x_rows = c & 8, y_rows = c & 16,
                   padded = c & 32;
        trine_dense X = {.rows = n,
                         .cols = m,
                         .ld = padded ? (x_rows ? m : n) + 3 : 0,
                         .layout = x_rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
        trine_dense Y = {.rows = n,
                         .cols = m,
                         .ld = padded ? (y_rows ? m : n) + 5 : 0,
                         .layout = y_rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
        const int64_t ldx = padded ? X.ld : x_rows ? m : n, ldy = padded ? Y.ld : y_rows ? m : n;
        const int64_t size_x = ldx * (x_rows ? n : m), size_y = ldy * (y_rows ? n : m);
        int32_t *perm = malloc((size_t)n * sizeof *perm + 1);
        int32_t *inverse_perm = malloc((size_t)n * sizeof *perm + 1);
        random_permutation(n, 77, perm, inverse_perm);
        free(inverse_perm);
        void *x = random_vector(type, size_x, 3), *y = random_vector(type, size_y, 4),
             *expected = random_vector(type, size_y, 4), *scale = random_vector(real, n, 5);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                const int64_t p = with_perm ? perm[i] : i, from = inverse ? i : p, to = inverse ? p : i;
                const wide given = get(type, x, x_rows ? from * ldx + j : from + j * ldx),
                           v = conjugate && type >= TRINE_C ? conjl(given) : given;
                put(type, expected, y_rows ? to * ldy + j : to + j * ldy, with_scale ? get(real, scale, i) * v : v);
            }
        const size_t bytes = trine_dtype_size(type);
        void *d_perm = test_to_device(ctx, perm, (size_t)n * sizeof *perm),
             *d_scale = test_to_device(ctx, scale, (size_t)n * trine_dtype_size(real));
        X.data = test_to_device(ctx, x, (size_t)size_x * bytes);
        Y.data = test_to_device(ctx, y, (size_t)size_y * bytes);
        OK((conjugate ? trine_vectors_permute_conjugate : trine_vectors_permute)(
            ctx, type, with_perm ? d_perm : NULL, with_scale ? d_scale : NULL, inverse, &X, &Y, NULL));
        test_from_device(ctx, y, Y.data, (size_t)size_y * bytes);
        /* products of fractions are exact; padding untouched */
        assert_memory_equal(y, expected, (size_t)size_y * bytes);
        test_release(ctx, d_perm);
        test_release(ctx, d_scale);
        test_release(ctx, X.data);
        test_release(ctx, Y.data);
        free(perm);
        free(x);
        free(y);
        free(expected);
        free(scale);
    }
    OK(trine_context_destroy(&ctx));
}

static void without_a_permutation_vectors_change_in_place(void **state)
{
    (void)state;
    enum { N = 700, COLS = 3, LD = N + 2 };
    trine_context ctx = test_context();
    EACH(t, all_dtypes) for (int by_rows = 0; by_rows < 2; by_rows++)
    {
        const trine_dtype type = all_dtypes[t], real = type == TRINE_S || type == TRINE_C ? TRINE_S : TRINE_D;
        const size_t bytes = (size_t)LD * COLS * trine_dtype_size(type);
        void *x = random_vector(type, LD * COLS, 3), *expected = random_vector(type, LD * COLS, 3),
             *scale = random_vector(real, N, 5);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < COLS; j++) {
                const int64_t at = by_rows ? i * COLS + j : i + j * LD;
                put(type, expected, at, get(real, scale, i) * conjl(get(type, x, at)));
            }
        void *d_scale = test_to_device(ctx, scale, N * trine_dtype_size(real)), *d_x = test_to_device(ctx, x, bytes);
        const trine_dense X = {d_x, N, COLS, by_rows ? COLS : LD, by_rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
        OK(trine_vectors_permute_conjugate(ctx, type, NULL, d_scale, by_rows, &X, &X, NULL));
        test_from_device(ctx, x, d_x, bytes);
        assert_memory_equal(x, expected, bytes);
        test_release(ctx, d_scale);
        test_release(ctx, d_x);
        free(x);
        free(expected);
        free(scale);
    }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_as_right_as_its_precision),
        cmocka_unit_test(accuracy_is_what_long_double_says),
        cmocka_unit_test(norms_are_what_long_double_says_and_keep_nan),
        cmocka_unit_test(the_frobenius_norm_neither_overflows_nor_underflows),
        cmocka_unit_test(threads_do_not_change_a_single_bit),
        cmocka_unit_test(accuracy_of_known_errors_is_known),
        cmocka_unit_test(structure_is_what_the_dense_matrix_shows),
        cmocka_unit_test(tridiagonal_and_cyclic_matrices_are_recognized),
        cmocka_unit_test(permuted_vectors_have_the_right_rows_in_every_layout),
        cmocka_unit_test(without_a_permutation_vectors_change_in_place),
    };
    return TEST_MAIN(tests);
}
