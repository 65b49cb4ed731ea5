/* Sparse containers: conversions against a dense long double oracle, in both formats and all four precisions. */
#include "matrix_support.h"

#include <math.h>
#include <stdlib.h>

static void check_transpose(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    for (int h = 0; h < 2; h++) {
        trine_matrix B, C, sorted;
        OK(trine_matrix_transpose(A, &B, h ? TRINE_H : TRINE_T));
        const trine_matrix_info b = info_of(B);
        assert_int_equal(b.space, TRINE_HOST);
        assert_int_equal(b.format, a.format);
        assert_int_equal(b.n_rows, a.n_cols);
        assert_int_equal(b.nnz, a.nnz);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++)
                assert_true(E[j + i * a.n_cols] == (h ? conjl(D[i + j * a.n_rows]) : D[i + j * a.n_rows]));
        OK(trine_matrix_transpose(B, &C, h ? TRINE_H : TRINE_T));
        OK(trine_matrix_sort(A, &sorted, 0));
        assert_same(ctx, C, sorted);
        free(E);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&C));
        OK(trine_matrix_destroy(&sorted));
    }
}
static void a_matrix_transposed_twice_is_the_matrix_sorted(void **state)
{
    (void)state;
    for_random_matrices(check_transpose);
}

static void check_sort(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    trine_matrix B, C;
    OK(trine_matrix_sort(A, &B, 0));
    OK(trine_matrix_sort(A, &C, 1));
    arrays from = fetch(ctx, A), b = fetch(ctx, B);
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++) {
        int64_t at = from.offsets[i];
        assert_int_equal(b.offsets[i], at);
        for (int64_t c = 0; c < (a.format == TRINE_CSR ? a.n_cols : a.n_rows); c++) /* a stable selection sort */
            for (int64_t k = from.offsets[i]; k < from.offsets[i + 1]; k++)
                if (from.indices[k] == c) {
                    assert_int_equal(b.indices[at], c);
                    assert_true(get(a.dtype, b.values, at) == get(a.dtype, from.values, k));
                    at++;
                }
        assert_int_equal(at, from.offsets[i + 1]);
    }
    OK(trine_matrix_check(C, TRINE_CHECK_SORTED));
    wide *E = dense(ctx, C);
    assert_dense_equal(D, E, a.n_rows * a.n_cols);
    free(E);
    release(from);
    release(b);
    OK(trine_matrix_destroy(&B));
    OK(trine_matrix_destroy(&C));
}
static void sorting_is_stable_and_sums_duplicates_on_request(void **state)
{
    (void)state;
    for_random_matrices(check_sort);
}

static void check_copy(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    EACH(t, all_dtypes)
    EACH(f, all_formats) for (int space = TRINE_HOST;
                                                           space <= (test_on_gpu() ? TRINE_DEVICE : TRINE_HOST);
                                                           space++)
    {
        if (is_complex(a.dtype) && !is_complex(all_dtypes[t])) continue;
        trine_matrix B;
        OK(trine_matrix_copy(A, &B, (trine_space)space, all_formats[f], all_dtypes[t]));
        const trine_matrix_info b = info_of(B);
        assert_int_equal(b.space, space);
        assert_int_equal(b.dtype, all_dtypes[t]);
        assert_int_equal(b.format, all_formats[f]);
        assert_int_equal(b.nnz, a.nnz);
        assert_int_equal(b.pattern, 0);
        wide *E = dense(ctx, B);
        assert_dense_equal(D, E, a.n_rows * a.n_cols);
        free(E);
        if (b.format == a.format && b.dtype == a.dtype) assert_same(ctx, A, B);
        OK(trine_matrix_destroy(&B));
    }
}
static void a_copy_changes_format_type_and_space_and_no_entry(void **state)
{
    (void)state;
    for_random_matrices(check_copy);
}

static void a_complex_matrix_becomes_real_only_without_imaginary_parts(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet real[] = {{0, 0, 1, 0}, {1, 2, -2, 0}},
                         other[] = {{0, 0, 1, 0}, {1, 2, -2, 0.5}, {1, 1, 1, NAN}};
    for (int t = TRINE_C; t <= TRINE_Z; t++) {
        trine_matrix A = from_triplets(ctx, TRINE_CSR, (trine_dtype)t, 3, 3, 2, real), B;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, TRINE_S));
        wide *D = dense(ctx, B);
        assert_true(D[0] == 1 && D[1 + 2 * 3] == -2);
        free(D);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&A));
        A = from_triplets(ctx, TRINE_CSR, (trine_dtype)t, 3, 3, 3, other);
        FAILS(TRINE_ERR_ARGUMENT, "the value at column 2 in row 1 has an imaginary part",
              trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, TRINE_D));
        assert_null(B);
        FAILS(TRINE_ERR_ARGUMENT, "the value at row 1 in column 1 has",
              trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, TRINE_D));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void check_triangle(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    arrays v = fetch(ctx, A);
    bool *stored = calloc((size_t)(a.n_rows + a.n_cols) + 1, sizeof *stored); /* diagonal entries */
    for (int64_t i = 0; i < (a.format == TRINE_CSR ? a.n_rows : a.n_cols); i++)
        for (int64_t k = v.offsets[i]; k < v.offsets[i + 1]; k++)
            if (v.indices[k] == i) stored[i] = true;
    for (int c = 0; c < 8; c++) {
        const bool lower = c & 1, unit = c & 2, fill = c & 4;
        trine_matrix B, sorted, again;
        OK(trine_matrix_triangle(A, &B, lower ? TRINE_LOWER : TRINE_UPPER, unit ? TRINE_UNIT : TRINE_NONUNIT, fill));
        assert_int_equal(info_of(B).format, a.format);
        assert_int_equal(info_of(B).dtype, a.dtype);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++) {
                wide expected = (lower ? i > j : i < j) ? D[i + j * a.n_rows] : 0;
                if (i == j && !unit) expected = D[i + j * a.n_rows];
                if (i == j && fill && (unit || !stored[i])) expected = 1;
                assert_true(E[i + j * a.n_rows] == expected);
            }
        free(E);
        /* of a sorted matrix the triangle is sorted */
        trine_matrix T;
        OK(trine_matrix_sort(A, &sorted, 0));
        OK(trine_matrix_triangle(sorted, &T, lower ? TRINE_LOWER : TRINE_UPPER, unit ? TRINE_UNIT : TRINE_NONUNIT,
                                 fill));
        OK(trine_matrix_sort(T, &again, 0));
        assert_same(ctx, T, again);
        OK(trine_matrix_destroy(&T));
        OK(trine_matrix_destroy(&again));
        OK(trine_matrix_destroy(&sorted));
        OK(trine_matrix_destroy(&B));
    }
    free(stored);
    release(v);
}
static void a_triangle_has_its_entries_and_no_others(void **state)
{
    (void)state;
    for_random_matrices(check_triangle);
}

static void check_permute(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    int32_t rows[64], rows_back[64], cols[64], cols_back[64];
    random_permutation(a.n_rows, 1, rows, rows_back);
    random_permutation(a.n_cols, 2, cols, cols_back);
    trine_matrix sorted;
    OK(trine_matrix_sort(A, &sorted, 0));
    for (int c = 0; c < 4; c++) {
        const bool r = c & 1, q = c & 2;
        trine_matrix B, C;
        OK(trine_matrix_permute(A, &B, r ? rows : NULL, q ? cols : NULL));
        assert_int_equal(info_of(B).format, a.format);
        wide *E = dense(ctx, B);
        for (int64_t i = 0; i < a.n_rows; i++)
            for (int64_t j = 0; j < a.n_cols; j++)
                assert_true(E[i + j * a.n_rows] == D[(r ? rows[i] : i) + (q ? cols[j] : j) * a.n_rows]);
        OK(trine_matrix_permute(B, &C, r ? rows_back : NULL, q ? cols_back : NULL));
        assert_same(ctx, C, sorted);
        free(E);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&C));
    }
    OK(trine_matrix_destroy(&sorted));
}
static void a_permutation_and_its_inverse_cancel(void **state)
{
    (void)state;
    for_random_matrices(check_permute);
}

static void what_is_not_a_permutation_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet list[] = {{0, 0, 1, 0}, {1, 2, -2, 0}};
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, 3, 4, 2, list), B;
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[1] = 3 is outside 0..2",
          trine_matrix_permute(A, &B, (int32_t[]){0, 3, 1}, NULL));
    assert_null(B);
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[2] = -1 is outside 0..2",
          trine_matrix_permute(A, &B, (int32_t[]){0, 2, -1}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "row_perm[2] = 0 was already at 0",
          trine_matrix_permute(A, &B, (int32_t[]){0, 2, 0}, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "col_perm[3] = 1 was already at 2",
          trine_matrix_permute(A, &B, (int32_t[]){2, 1, 0}, (int32_t[]){0, 2, 1, 1}));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void check_expand(trine_context ctx, trine_matrix A, const wide *D)
{
    const trine_matrix_info a = info_of(A);
    trine_matrix L, S, again, sorted;
    if (a.n_rows != a.n_cols) {
        FAILS(TRINE_ERR_STRUCTURE, "is not square", trine_matrix_expand(A, &S, TRINE_SYMMETRIC));
        return;
    }
    const int64_t n = a.n_rows;
    for (int c = 0; c < 6; c++) {
        const trine_symmetry symmetry = (trine_symmetry)(TRINE_SYMMETRIC + c / 2);
        const bool lower = c % 2;
        const trine_uplo uplo = lower ? TRINE_LOWER : TRINE_UPPER;
        /* the diagonal: as it is (symmetric), absent (skew), ones (Hermitian) */
        OK(trine_matrix_triangle(A, &L, uplo, symmetry == TRINE_SYMMETRIC ? TRINE_NONUNIT : TRINE_UNIT,
                                 symmetry == TRINE_HERMITIAN));
        OK(trine_matrix_expand(L, &S, symmetry));
        assert_int_equal(info_of(S).symmetry, symmetry);
        wide *E = dense(ctx, S);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const wide here = D[i + j * n], across = D[j + i * n];
                wide expected = symmetry == TRINE_SYMMETRIC ? here : symmetry == TRINE_SKEW ? 0 : 1;
                if (i != j && (i > j) == lower) expected = here;
                if (i != j && (i > j) != lower)
                    expected = symmetry == TRINE_SYMMETRIC ? across : symmetry == TRINE_SKEW ? -across : conjl(across);
                assert_true(E[i + j * n] == expected);
            }
        free(E);
        OK(trine_matrix_destroy(&L));
        /* either triangle of it holds everything, in the same order */
        OK(trine_matrix_sort(S, &sorted, 0));
        for (int other = 0; other < 2; other++) {
            OK(trine_matrix_triangle(sorted, &L, other ? TRINE_LOWER : TRINE_UPPER, TRINE_NONUNIT, 0));
            OK(trine_matrix_expand(L, &again, symmetry));
            assert_same(ctx, again, sorted);
            OK(trine_matrix_destroy(&again));
            OK(trine_matrix_destroy(&L));
        }
        OK(trine_matrix_destroy(&sorted));
        OK(trine_matrix_destroy(&S));
    }
}
static void a_triangle_expands_to_the_whole_matrix(void **state)
{
    (void)state;
    for_random_matrices(check_expand);
}

static void what_is_not_a_triangle_is_not_expanded(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const triplet both[] = {{0, 0, 1, 0}, {1, 0, 2, 0}, {1, 2, 3, 0}},
                         lower[] = {{0, 0, 1, 0.5}, {1, 0, 2, 0}, {2, 2, 0, 0}};
    EACH(f, all_formats)
    {
        trine_matrix A = from_triplets(ctx, all_formats[f], TRINE_Z, 3, 3, 3, both), B;
        FAILS(TRINE_ERR_STRUCTURE, "entries (1,0) and (1,2) lie on both sides of the diagonal",
              trine_matrix_expand(A, &B, TRINE_SYMMETRIC));
        assert_null(B);
        OK(trine_matrix_destroy(&A));
        A = from_triplets(ctx, all_formats[f], TRINE_Z, 3, 3, 3, lower);
        FAILS(TRINE_ERR_STRUCTURE, "diagonal entry 0 is not zero in a skew", trine_matrix_expand(A, &B, TRINE_SKEW));
        FAILS(TRINE_ERR_STRUCTURE, "diagonal entry 0 is not real in a Hermitian",
              trine_matrix_expand(A, &B, TRINE_HERMITIAN));
        OK(trine_matrix_expand(A, &B, TRINE_SYMMETRIC));
        assert_int_equal(info_of(B).nnz, 4);
        OK(trine_matrix_destroy(&B));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/** The same 4 x 3 matrix with a duplicate and an empty row, by hand. */
static void small_answers_are_right_to_the_last_entry(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    /* [ 0  5  2 ]      A^T: [ 0   -1+2i  0  0 ]
       [ -1+2i 0 0 ]         [ 5    0     0  3+4 ]
       [ 0  0  0 ]           [ 2    0     0  0 ]
       [ 0 3+4 0 ]                               */
    static const triplet list[] = {{0, 2, 2, 0}, {0, 1, 5, 0}, {1, 0, -1, 2}, {3, 1, 3, 0}, {3, 1, 4, 0}};
    EACH(t, all_dtypes)
    {
        trine_matrix A = from_triplets(ctx, TRINE_CSR, all_dtypes[t], 4, 3, 5, list), B;
        EACH_SPACE(ctx, A, V)
        {
            OK(trine_matrix_transpose(V, &B, TRINE_H));
            arrays b = fetch(ctx, B);
            assert_memory_equal(b.offsets, ((int64_t[]){0, 1, 4, 5}), 4 * sizeof(int64_t));
            assert_memory_equal(b.indices, ((int32_t[]){1, 0, 3, 3, 0}), 5 * sizeof(int32_t));
            const long double im = is_complex(all_dtypes[t]) ? -2 : 0;
            const wide values[] = {make(-1, im), 5, 3, 4, 2};
            for (int k = 0; k < 5; k++) assert_true(get(all_dtypes[t], b.values, k) == values[k]);
            release(b);
            OK(trine_matrix_destroy(&B));
            OK(trine_matrix_sort(V, &B, 1));
            b = fetch(ctx, B);
            assert_int_equal(info_of(B).nnz, 4);
            assert_memory_equal(b.offsets, ((int64_t[]){0, 2, 3, 3, 4}), 5 * sizeof(int64_t));
            assert_memory_equal(b.indices, ((int32_t[]){1, 2, 0, 1}), 4 * sizeof(int32_t));
            assert_true(get(all_dtypes[t], b.values, 3) == 7);
            release(b);
            OK(trine_matrix_destroy(&B));
            double norm;
            OK(trine_matrix_norm(V, TRINE_NORM_INF, &norm));
            assert_true(norm == 7);
            OK(trine_matrix_norm(V, TRINE_NORM_ONE, &norm));
            assert_true(norm == 12);
            OK(trine_matrix_norm(V, TRINE_NORM_MAX, &norm));
            assert_true(norm == 5);
            OK(trine_matrix_norm(V, TRINE_NORM_FROBENIUS, &norm));
            assert_true(fabs(norm - sqrt(is_complex(all_dtypes[t]) ? 59 : 55)) < 1e-14);
        }
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/* A = [1 2; 0 3] in every width that a view takes. */
static void views_take_offsets_and_indices_of_32_and_64_bits(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_context_info where;
    OK(trine_context_get_info(ctx, &where));
    const double values[] = {1, 2, 3};
    const int64_t wide_offsets[] = {0, 2, 3}, wide_indices[] = {0, 1, 1}, large[] = {0, INT64_C(1) << 31, 1},
                  negative[] = {0, 1, -1};
    const int32_t offsets[] = {0, 2, 3}, indices[] = {0, 1, 1};
    for (int device = 0; device <= (where.space == TRINE_DEVICE); device++) {
        const trine_space space = device ? TRINE_DEVICE : TRINE_HOST;
        for (int c = 0; c < 8; c++) {
            const int offset_bits = c & 1 ? 64 : 32, index_bits = c & 2 ? 64 : 32;
            const void *o = offset_bits == 64 ? (const void *)wide_offsets : offsets,
                       *j = index_bits == 64 ? (const void *)wide_indices : indices, *v = values;
            if (device) {
                o = test_to_device(ctx, o, 3 * (size_t)offset_bits / 8);
                j = test_to_device(ctx, j, 3 * (size_t)index_bits / 8);
                v = test_to_device(ctx, v, sizeof values);
            }
            trine_matrix A;
            OK((c & 4 ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, TRINE_D, 2, 2, 3, space, offset_bits, o,
                                                             index_bits, j, v));
            assert_int_equal(info_of(A).space, space);
            OK(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
            wide *D = dense(ctx, A);
            assert_true(D[0] == 1 && D[c & 4 ? 1 : 2] == 2 && D[c & 4 ? 2 : 1] == 0 && D[3] == 3);
            free(D);
            OK(trine_matrix_destroy(&A));
            if (device) {
                test_release(ctx, (void *)o);
                test_release(ctx, (void *)j);
                test_release(ctx, (void *)v);
            }
        }
    }
    trine_matrix A;
    FAILS(TRINE_ERR_ARGUMENT, "index 2147483648 at position 1 does not fit",
          trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 3, TRINE_HOST, 32, offsets, 64, large, values));
    assert_null(A);
    FAILS(TRINE_ERR_ARGUMENT, "index -1 at position 2 does not fit",
          trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 3, TRINE_HOST, 64, wide_offsets, 64, negative, values));
    FAILS(TRINE_ERR_ARGUMENT, "offsets run from 0 to 3, not from 0 to nnz = 2",
          trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(TRINE_ERR_ARGUMENT, "offsets run from 2 to 3",
          trine_matrix_csr(ctx, &A, TRINE_D, 1, 2, 3, TRINE_HOST, 64, wide_offsets + 1, 32, indices, values));
    OK(trine_context_destroy(&ctx));
}

static void a_pattern_stays_a_pattern(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int32_t offsets[] = {0, 3, 3, 5}, indices[] = {2, 0, 2, 1, 0};
    trine_matrix A, B;
    OK(trine_matrix_csr(ctx, &A, TRINE_C, 3, 3, 5, TRINE_HOST, 32, offsets, 32, indices, NULL));
    EACH_SPACE(ctx, A, V) for (int op = 0; op < 6; op++)
    {
        if (op == 0) OK(trine_matrix_copy(V, &B, TRINE_HOST, TRINE_CSC, TRINE_D));
        if (op == 1) OK(trine_matrix_transpose(V, &B, TRINE_H));
        if (op == 2) OK(trine_matrix_triangle(V, &B, TRINE_LOWER, TRINE_NONUNIT, 1));
        if (op == 3) OK(trine_matrix_permute(V, &B, (int32_t[]){2, 0, 1}, NULL));
        if (op == 4) OK(trine_matrix_sort(V, &B, 1));
        if (op == 5) {
            trine_matrix L;
            OK(trine_matrix_triangle(V, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
            OK(trine_matrix_expand(L, &B, TRINE_SKEW));
            OK(trine_matrix_destroy(&L));
        }
        const void *values;
        OK(trine_matrix_get_arrays(B, NULL, NULL, &values));
        assert_null(values);
        assert_int_equal(info_of(B).pattern, 1);
        assert_int_equal(info_of(B).nnz, ((int[]){5, 5, 5, 5, 4, 5})[op]);
        OK(trine_matrix_destroy(&B));
        double norm;
        float complex x[3] = {0}, y[3];
        trine_accuracy accuracy;
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_norm(V, TRINE_NORM_INF, &norm));
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_multiply(V, TRINE_N, NULL, x, NULL, y));
        FAILS(TRINE_ERR_ARGUMENT, "A is a pattern", trine_matrix_accuracy(V, 1, x, y, NULL, &accuracy));
        OK(trine_matrix_check(V, TRINE_CHECK_FINITE));
        trine_matrix_structure s;
        OK(trine_matrix_get_structure(V, &s));
        assert_true(s.norm_inf == 2 && s.duplicates == 1 && s.nnz == 5);
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void offsets_are_kept_as_they_were_given(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const int32_t narrow[] = {0, 1, 2};
    const int64_t wide_offsets[] = {0, 1, 2};
    const int32_t columns[] = {0, 1};
    const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
    void *given[] = {test_to_device(ctx, narrow, sizeof narrow),
                     test_to_device(ctx, wide_offsets, sizeof wide_offsets)},
         *indices = test_to_device(ctx, columns, sizeof columns);
    for (int k = 0; k < 2; k++)
        for (int format = 0; format < 2; format++) {
            trine_matrix A, B;
            const void *offsets;
            const int64_t *converted;
            int bits;
            OK((format ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, TRINE_D, 2, 2, 2, space, k ? 64 : 32, given[k],
                                                              32, indices, NULL));
            OK(trine_matrix_get_offsets(A, &offsets, &bits));
            assert_ptr_equal(offsets, given[k]);
            assert_int_equal(bits, k ? 64 : 32);
            OK(trine_matrix_copy(A, &B, TRINE_HOST, format ? TRINE_CSC : TRINE_CSR, TRINE_D));
            OK(trine_matrix_get_offsets(B, &offsets, &bits));
            OK(trine_matrix_get_arrays(B, &converted, NULL, NULL));
            assert_ptr_equal(offsets, converted); /* what the library has made itself */
            assert_int_equal(bits, 64);
            assert_memory_equal(converted, wide_offsets, sizeof wide_offsets);
            FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_matrix_get_offsets(NULL, &offsets, &bits));
            FAILS(TRINE_ERR_ARGUMENT, "offsets is NULL", trine_matrix_get_offsets(A, NULL, &bits));
            FAILS(TRINE_ERR_ARGUMENT, "bits is NULL", trine_matrix_get_offsets(A, &offsets, NULL));
            OK(trine_matrix_destroy(&A));
            OK(trine_matrix_destroy(&B));
        }
    for (int k = 0; k < 2; k++) test_release(ctx, given[k]);
    test_release(ctx, indices);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_transposed_twice_is_the_matrix_sorted),
        cmocka_unit_test(sorting_is_stable_and_sums_duplicates_on_request),
        cmocka_unit_test(a_copy_changes_format_type_and_space_and_no_entry),
        cmocka_unit_test(a_complex_matrix_becomes_real_only_without_imaginary_parts),
        cmocka_unit_test(a_triangle_has_its_entries_and_no_others),
        cmocka_unit_test(a_permutation_and_its_inverse_cancel),
        cmocka_unit_test(what_is_not_a_permutation_is_refused),
        cmocka_unit_test(a_triangle_expands_to_the_whole_matrix),
        cmocka_unit_test(what_is_not_a_triangle_is_not_expanded),
        cmocka_unit_test(small_answers_are_right_to_the_last_entry),
        cmocka_unit_test(views_take_offsets_and_indices_of_32_and_64_bits),
        cmocka_unit_test(offsets_are_kept_as_they_were_given),
        cmocka_unit_test(a_pattern_stays_a_pattern),
    };
    return TEST_MAIN(tests);
}
