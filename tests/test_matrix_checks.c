/* Sparse containers: what is checked, what mangled arrays, missing memory and wrong arguments lead to. */
#include "matrix_support.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_check_names_the_first_offence(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const double values[] = {1, 2, 0, 4, NAN, 6};
    const struct {
        int32_t offsets[5], indices[6];
        unsigned flags;
        trine_status status;
        const char *by_row, *by_column;
    } cases[] = {
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 2, 3}, TRINE_CHECK_SORTED | TRINE_CHECK_DIAGONAL, TRINE_SUCCESS, "", ""},
        {{0, 3, 2, 4, 6},
         {0, 1, 1, 2, 2, 3},
         0,
         TRINE_ERR_STRUCTURE,
         "offsets fall from 3 to 2 in row 1",
         "offsets fall from 3 to 2 in column 1"},
        {{0, 9, 9, 9, 6},
         {0, 1, 1, 2, 2, 3},
         0,
         TRINE_ERR_STRUCTURE,
         "offsets fall from 9 to 6 in row 3",
         "offsets fall from 9 to 6 in column 3"},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, 2, 40, 3},
         0,
         TRINE_ERR_STRUCTURE,
         "column index 40 in row 3 is outside 0..3",
         "row index 40 in column 3 is outside 0..3"},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, 2, 2, 4},
         0,
         TRINE_ERR_STRUCTURE,
         "column index 4 in row 3 is outside 0..3",
         "row index 4 in column 3 is outside 0..3"},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, -2, 2, 3},
         0,
         TRINE_ERR_STRUCTURE,
         "column index -2 in row 2 is outside 0..3",
         "row index -2 in column 2 is outside 0..3"},
        {{0, 1, 2, 4, 6}, {0, 1, 1, 2, 3, 2}, 0, TRINE_SUCCESS, "", ""},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, 2, 3, 2},
         TRINE_CHECK_SORTED,
         TRINE_ERR_STRUCTURE,
         "column index 2 follows 3 in row 3",
         "row index 2 follows 3 in column 3"},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, 1, 2, 3},
         TRINE_CHECK_SORTED,
         TRINE_ERR_STRUCTURE,
         "column index 1 follows 1 in row 2",
         "row index 1 follows 1 in column 2"},
        {{0, 1, 2, 4, 6},
         {0, 1, 1, 2, 2, 3},
         TRINE_CHECK_FINITE,
         TRINE_ERR_STRUCTURE,
         "the value at column 2 in row 3 is NaN",
         "the value at row 2 in column 3 is NaN"},
        {{0, 1, 2, 4, 6},
         {0, 3, 1, 2, 2, 3},
         TRINE_CHECK_DIAGONAL,
         TRINE_ERR_SINGULAR,
         "diagonal entry of row 1 is missing",
         "diagonal entry of row 1 is missing"},
        {{0, 1, 2, 4, 6},
         {0, 1, 2, 0, 2, 3},
         TRINE_CHECK_DIAGONAL,
         TRINE_ERR_SINGULAR,
         "diagonal entry of row 2 is zero",
         "diagonal entry of row 2 is zero"},
        {{0, 1, 2, 4, 6}, {0, 1, 2, 2, 2, 3}, TRINE_CHECK_DIAGONAL, TRINE_SUCCESS, "", ""}, /* 0 + 4, duplicates */
    };
    EACH(c, cases)
    EACH(t, all_dtypes) for (int columns = 0; columns < 2; columns++)
    {
        double complex converted[6];
        for (int k = 0; k < 6; k++) put(all_dtypes[t], converted, k, values[k]);
        trine_matrix A;
        OK((columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, all_dtypes[t], 4, 4, 6, TRINE_HOST, 32,
                                                           cases[c].offsets, 32, cases[c].indices, converted));
        EACH_SPACE(ctx, A, V)
        {
            const trine_status status = trine_matrix_check(V, cases[c].flags);
            FAILS(cases[c].status, cases[c].status ? columns ? cases[c].by_column : cases[c].by_row : NULL, status);
        }
        OK(trine_matrix_destroy(&A));
    }
    static const triplet infinite[] = {{0, 0, 1, 0}, {1, 0, 1, INFINITY}};
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_C, 2, 1, 2, infinite);
    FAILS(TRINE_ERR_STRUCTURE, "the value at column 0 in row 1 is NaN or Inf",
          trine_matrix_check(A, TRINE_CHECK_FINITE));
    FAILS(TRINE_ERR_STRUCTURE, "2 x 1 is not square", trine_matrix_check(A, TRINE_CHECK_DIAGONAL));
    FAILS(TRINE_ERR_ARGUMENT, "flags 0x8 are unknown", trine_matrix_check(A, 8));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSC, TRINE_S, 0, 0, 0, NULL, NULL, NULL));
    OK(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
}

static void values_that_are_not_finite_are_found_wherever_they_stand(void **state)
{
    (void)state;
    static const int32_t offsets[] = {0, 1, 2, 4, 6}, indices[] = {0, 1, 1, 2, 2, 3};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    trine_context ctx = test_context();
    EACH(t, all_dtypes)
    EACH(b, bad) for (int part = 0; part <= (all_dtypes[t] >= TRINE_C);
                                                   part++) for (int at = 0; at < 6; at++)
    {
        double complex values[6];
        char says[80];
        trine_matrix A;
        for (int k = 0; k < 6; k++) put(all_dtypes[t], values, k, k != at ? 1 : part ? make(1, bad[b]) : bad[b]);
        snprintf(says, sizeof says, "the value at column %d in row %d is NaN or Inf", indices[at],
                 at < 2 ? at : at / 2 + 1);
        OK(trine_matrix_csr(ctx, &A, all_dtypes[t], 4, 4, 6, TRINE_HOST, 32, offsets, 32, indices, values));
        FAILS(TRINE_ERR_STRUCTURE, says, trine_matrix_check(A, TRINE_CHECK_FINITE));
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

/** Everything that makes a matrix of a matrix, and everything that measures one; used where all must behave alike. */
enum { OPERATIONS = 11 };
static trine_status operation(int which, trine_matrix A, trine_matrix *B)
{
    static const int32_t perm[] = {2, 0, 3, 1};
    const double complex x[4] = {1, 2, 3, 4};
    double complex y[4] = {0};
    double norm;
    trine_accuracy accuracy;
    trine_matrix_structure structure;
    *B = NULL;
    switch (which) {
    case 0: return trine_matrix_copy(A, B, TRINE_HOST, TRINE_CSC, TRINE_D);
    case 1: return trine_matrix_copy(A, B, TRINE_HOST, TRINE_CSR, TRINE_Z);
    case 2: return trine_matrix_transpose(A, B, TRINE_T);
    case 3: return trine_matrix_expand(A, B, TRINE_SYMMETRIC);
    case 4: return trine_matrix_triangle(A, B, TRINE_LOWER, TRINE_NONUNIT, 1);
    case 5: return trine_matrix_permute(A, B, perm, perm);
    case 6: return trine_matrix_sort(A, B, 1);
    case 7: return trine_matrix_norm(A, TRINE_NORM_ONE, &norm);
    case 8: return trine_matrix_multiply(A, TRINE_T, NULL, x, NULL, y);
    case 9: return trine_matrix_accuracy(A, 1, x, x, y, &accuracy);
    default: return trine_matrix_get_structure(A, &structure);
    }
}

static void mangled_arrays_are_noticed_by_every_operation(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const double values[] = {1, 2, 3, 4};
    static const int64_t good[] = {0, 1, 2, 3, 4}, falling[] = {0, 3, 2, 3, 4},
                         beyond[] = {0, INT64_C(1) << 40, INT64_C(1) << 40, 3, 4}, negative[] = {0, -5, 2, 3, 4};
    static const int32_t fine[] = {0, 0, 1, 2}, large[] = {0, 0, 1, INT_MAX}, below[] = {0, -1, 1, 2};
    const struct {
        const int64_t *offsets;
        const int32_t *indices;
    } mangled[] = {{falling, fine}, {beyond, fine}, {negative, fine}, {good, large}, {good, below}};
    EACH(m, mangled) for (int which = 0; which < OPERATIONS; which++) for (int columns = 0; columns < 2; columns++)
    {
        trine_matrix A, B;
        OK((columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &A, TRINE_S, 4, 4, 4, TRINE_HOST, 64,
                                                           mangled[m].offsets, 32, mangled[m].indices, values));
        FAILS(TRINE_ERR_STRUCTURE, NULL, operation(which, A, &B));
        assert_null(B);
        OK(trine_matrix_destroy(&A));
    }
    OK(trine_context_destroy(&ctx));
}

static void every_allocation_of_every_operation_may_fail(void **state)
{
    (void)state;
    static const triplet lower[] = {{0, 0, 1, 0}, {1, 0, 2, 0}, {2, 1, 3, 0}, {3, 3, 4, 0}, {3, 0, 5, 0}};
    for (int which = 0; which < OPERATIONS; which++)
        EACH(f, all_formats) for (int device = 0; device <= test_on_gpu(); device++)
        {
            for (int k = 1;; k++) {
                trine_context ctx = test_context();
                trine_matrix A, B;
                test_memory memory = {0};
                test_fail_allocations(ctx, &memory);
                A = from_triplets(ctx, all_formats[f], TRINE_D, 4, 4, 5, lower);
                trine_matrix V = device ? on_device(ctx, A) : A;
                const int64_t before = memory.live;
                memory.fail_at = memory.calls + k;
                const trine_status status = operation(which, V, &B);
                const bool reached = memory.calls >= memory.fail_at;
                memory.fail_at = 0;
                if (status) {
                    assert_int_equal(status, TRINE_ERR_MEMORY);
                    assert_non_null(strstr(trine_last_error(), "memory"));
                    assert_null(B);
                    assert_int_equal(memory.live, before);
                }
                OK(trine_matrix_destroy(&B));
                drop(A, V);
                OK(trine_matrix_destroy(&A));
                OK(trine_context_destroy(&ctx));
                assert_int_equal(memory.live, 0);
                assert_int_equal(status != TRINE_SUCCESS, reached);
                if (!status) break;
            }
        }
}

static void every_allocation_of_a_view_may_fail(void **state)
{
    (void)state;
    static const int32_t offsets[] = {0, 1, 2};
    static const int64_t indices[] = {0, 1};
    static const double values[] = {1, 2};
    for (int k = 1;; k++) {
        trine_context ctx;
        trine_matrix A;
        test_memory memory = {.fail_at = k};
        OK(trine_context_create(&ctx, "cpu"));
        test_fail_allocations(ctx, &memory);
        const trine_status status =
            trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 64, indices, values);
        if (status) assert_null(A);
        OK(trine_matrix_destroy(&A));
        OK(trine_context_destroy(&ctx));
        assert_int_equal(memory.live, 0);
        if (!status) break;
        assert_int_equal(status, TRINE_ERR_MEMORY);
    }
}

static void every_wrong_argument_is_named(void **state)
{
    (void)state;
    trine_context ctx, cpu;
    OK(trine_context_create(&ctx, "cpu"));
    cpu = ctx;
    static const triplet list[] = {{0, 0, 1, 0}, {1, 1, 2, 0}};
    static const int32_t offsets[] = {0, 1, 2}, indices[] = {0, 1};
    const double values[] = {1, 2};
    double x[2] = {1, 1}, y[2] = {0};
    double norm;
    trine_accuracy accuracy;
    trine_matrix_structure structure;
    trine_matrix_info info;
    trine_matrix A = from_triplets(ctx, TRINE_CSR, TRINE_D, 2, 2, 2, list), B = A;
    const trine_status wrong = TRINE_ERR_ARGUMENT;

    FAILS(wrong, "A is NULL",
          trine_matrix_csr(ctx, NULL, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "ctx is NULL",
          trine_matrix_csr(NULL, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    assert_null(B);
    FAILS(wrong, "dtype 0",
          trine_matrix_csr(ctx, &B, (trine_dtype)0, 2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "-2 rows", trine_matrix_csr(ctx, &B, TRINE_D, -2, 2, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "2147483648 columns",
          trine_matrix_csr(ctx, &B, TRINE_D, 2, INT64_C(1) << 31, 2, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "-1 entries",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, -1, TRINE_HOST, 32, offsets, 32, indices, values));
    FAILS(wrong, "no device memory",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_DEVICE, 32, offsets, 32, indices, values));
    FAILS(wrong, "offset_bits is 16",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 16, offsets, 32, indices, values));
    FAILS(wrong, "index_bits is 8",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 8, indices, values));
    FAILS(wrong, "offsets is NULL",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, NULL, 32, indices, values));
    FAILS(wrong, "indices is NULL",
          trine_matrix_csc(ctx, &B, TRINE_D, 2, 2, 2, TRINE_HOST, 32, offsets, 32, NULL, values));
    FAILS(wrong, "A is NULL", trine_matrix_allocate(ctx, NULL, TRINE_CSR, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "ctx is NULL", trine_matrix_allocate(NULL, &B, TRINE_CSR, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "format 7", trine_matrix_allocate(ctx, &B, (trine_format)7, TRINE_D, 2, 2, 2, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_info(NULL, &info));
    FAILS(wrong, "info is NULL", trine_matrix_get_info(A, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_arrays(NULL, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_check(NULL, 0));

    FAILS(wrong, "B is NULL", trine_matrix_copy(A, NULL, TRINE_HOST, TRINE_CSR, TRINE_D));
    FAILS(wrong, "A is NULL", trine_matrix_copy(NULL, &B, TRINE_HOST, TRINE_CSR, TRINE_D));
    FAILS(wrong, "space 5", trine_matrix_copy(A, &B, (trine_space)5, TRINE_CSR, TRINE_D));
    FAILS(wrong, "a CPU context has no device memory", trine_matrix_copy(A, &B, TRINE_DEVICE, TRINE_CSR, TRINE_D));
    FAILS(wrong, "format 3", trine_matrix_copy(A, &B, TRINE_HOST, (trine_format)3, TRINE_D));
    FAILS(wrong, "dtype 5", trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, (trine_dtype)5));
    FAILS(wrong, "B is NULL", trine_matrix_transpose(A, NULL, TRINE_T));
    FAILS(wrong, "A is NULL", trine_matrix_transpose(NULL, &B, TRINE_T));
    FAILS(wrong, "op 1 is neither T nor H", trine_matrix_transpose(A, &B, TRINE_N));
    FAILS(wrong, "B is NULL", trine_matrix_expand(A, NULL, TRINE_SKEW));
    FAILS(wrong, "A is NULL", trine_matrix_expand(NULL, &B, TRINE_SKEW));
    FAILS(wrong, "symmetry 0", trine_matrix_expand(A, &B, TRINE_GENERAL));
    FAILS(wrong, "B is NULL", trine_matrix_triangle(A, NULL, TRINE_LOWER, TRINE_UNIT, 0));
    FAILS(wrong, "A is NULL", trine_matrix_triangle(NULL, &B, TRINE_LOWER, TRINE_UNIT, 0));
    FAILS(wrong, "uplo 0", trine_matrix_triangle(A, &B, TRINE_UPLO_AUTO, TRINE_UNIT, 0));
    FAILS(wrong, "diag 2", trine_matrix_triangle(A, &B, TRINE_LOWER, (trine_diag)2, 0));
    FAILS(wrong, "B is NULL", trine_matrix_permute(A, NULL, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_permute(NULL, &B, NULL, NULL));
    FAILS(wrong, "B is NULL", trine_matrix_sort(A, NULL, 0));
    FAILS(wrong, "A is NULL", trine_matrix_sort(NULL, &B, 0));
    assert_null(B);

    FAILS(wrong, "A is NULL", trine_matrix_norm(NULL, TRINE_NORM_INF, &norm));
    FAILS(wrong, "norm is NULL", trine_matrix_norm(A, TRINE_NORM_INF, NULL));
    FAILS(wrong, "norm 4", trine_matrix_norm(A, (trine_norm)4, &norm));
    FAILS(wrong, "A is NULL", trine_matrix_multiply(NULL, TRINE_N, NULL, x, NULL, y));
    FAILS(wrong, "op 3", trine_matrix_multiply(A, (trine_transpose)3, NULL, x, NULL, y));
    FAILS(wrong, "x is NULL", trine_matrix_multiply(A, TRINE_N, NULL, NULL, NULL, y));
    FAILS(wrong, "y is NULL", trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, NULL));
    FAILS(wrong, "x and y are the same", trine_matrix_multiply(A, TRINE_N, NULL, x, NULL, x));
    FAILS(wrong, "A is NULL", trine_matrix_accuracy(NULL, 1, x, y, NULL, &accuracy));
    FAILS(wrong, "-1 right-hand sides", trine_matrix_accuracy(A, -1, x, y, NULL, &accuracy));
    FAILS(wrong, "x is NULL", trine_matrix_accuracy(A, 1, NULL, y, NULL, &accuracy));
    FAILS(wrong, "b is NULL", trine_matrix_accuracy(A, 1, x, NULL, NULL, &accuracy));
    FAILS(wrong, "x and r are the same", trine_matrix_accuracy(A, 1, x, y, x, &accuracy));
    FAILS(wrong, "accuracy is NULL", trine_matrix_accuracy(A, 1, x, y, NULL, NULL));
    FAILS(wrong, "A is NULL", trine_matrix_get_structure(NULL, &structure));
    FAILS(wrong, "s is NULL", trine_matrix_get_structure(A, NULL));

    const trine_dense X = {x, 2, 1, 0, TRINE_COLMAJOR}, Y = {y, 2, 1, 0, TRINE_COLMAJOR};
    trine_dense bad = Y;
    FAILS(wrong, "ctx is NULL", trine_vectors_permute(NULL, TRINE_D, NULL, NULL, 0, &X, &Y, NULL));
    FAILS(wrong, "dtype 9", trine_vectors_permute(cpu, (trine_dtype)9, NULL, NULL, 0, &X, &Y, NULL));
    FAILS(wrong, "X is NULL", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, NULL, &Y, NULL));
    FAILS(wrong, "Y is NULL", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, NULL, NULL));
    FAILS(wrong, "same array", trine_vectors_permute(cpu, TRINE_D, (int32_t[]){1, 0}, NULL, 0, &X, &X, NULL));
    bad = X, bad.ld = 5;
    FAILS(wrong, "same array", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = X, bad.layout = TRINE_ROWMAJOR, bad.ld = 2;
    FAILS(wrong, "same array", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = Y;
    bad.rows = 3;
    FAILS(wrong, "Y has 3 rows, not 2", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad.rows = -1;
    FAILS(wrong, "X has -1 rows", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &bad, &Y, NULL));
    bad = Y, bad.cols = 2, bad.layout = TRINE_ROWMAJOR;
    FAILS(wrong, "Y has 2 columns, not 1", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = Y, bad.ld = 1;
    FAILS(wrong, "leading dimension 1", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    bad = Y, bad.data = NULL;
    FAILS(wrong, "Y has no data", trine_vectors_permute(cpu, TRINE_D, NULL, NULL, 0, &X, &bad, NULL));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(NULL));
    OK(trine_context_destroy(&ctx));
}

static void a_matrix_outlives_its_context_handle(void **state)
{
    (void)state;
    trine_context ctx = test_context(), kept = ctx;
    trine_matrix A = random_matrix(ctx, TRINE_CSR, TRINE_D, 5, 7, 1), B;
    OK(trine_context_destroy(&ctx));
    OK(trine_matrix_transpose(A, &B, TRINE_T));
    OK(trine_matrix_destroy(&A));
    wide *D = dense(kept, B); /* B still holds the context */
    free(D);
    OK(trine_matrix_destroy(&B));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_names_the_first_offence),
        cmocka_unit_test(values_that_are_not_finite_are_found_wherever_they_stand),
        cmocka_unit_test(mangled_arrays_are_noticed_by_every_operation),
        cmocka_unit_test(every_allocation_of_every_operation_may_fail),
        cmocka_unit_test(every_allocation_of_a_view_may_fail),
        cmocka_unit_test(every_wrong_argument_is_named),
        cmocka_unit_test(a_matrix_outlives_its_context_handle),
    };
    return TEST_MAIN(tests);
}
