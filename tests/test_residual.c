/* Sums and residuals of blocks of vectors, with integers whose products and sums are exact in twice the precision
 * but not in it. */
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "core/direct_interface.h"

enum { N = 300, MOST_ENTRIES = 40, COLUMNS = 3, PADDING = 2 };

static int64_t integer(uint64_t seed, int64_t i, int64_t most)
{
    return (int64_t)((2 * test_uniform(seed, (uint64_t)i) - 1) * (double)most);
}

/** Parts of up to 13 bits in single, 28 in double: products need twice as many, and long double holds their sums. */
static int64_t most_of(trine_dtype t) { return eps_of(t) > 1e-10L ? 1 << 13 : 1 << 28; }

static wide gaussian(trine_dtype t, uint64_t seed, int64_t i)
{
    const long double re = (long double)integer(seed, 2 * i, most_of(t));
    return is_complex(t) ? re + (long double)integer(seed, 2 * i + 1, most_of(t)) * _Complex_I : re;
}

/** Rows of 0 to 40 entries. */
static trine_matrix make_matrix(trine_context ctx, trine_dtype t)
{
    trine_matrix host, A;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    int64_t count = 0;
    for (int64_t i = 0; i < N; i++) count += i % (MOST_ENTRIES + 1);
    OK(trine_matrix_allocate(ctx, &host, TRINE_CSR, t, N, N, count, &offsets, &columns, &values));
    offsets[0] = 0;
    for (int64_t i = 0; i < N; i++) {
        offsets[i + 1] = offsets[i] + i % (MOST_ENTRIES + 1);
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            columns[k] = (int32_t)((k - offsets[i]) * 7 + i % 7);
            put(t, values, k, gaussian(t, 1, k));
        }
    }
    OK(trine_matrix_copy(host, &A, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, TRINE_CSR, t));
    trine_matrix_destroy(&host);
    return A;
}

/** Element (i,j) of a block with padding. */
static int64_t place(trine_layout layout, int64_t i, int64_t j)
{
    return layout == TRINE_COLMAJOR ? i + j * (N + PADDING) : i * (COLUMNS + PADDING) + j;
}

static trine_dense block(trine_context ctx, trine_dtype t, trine_layout layout, const void *host)
{
    const int64_t ld = (layout == TRINE_COLMAJOR ? N : COLUMNS) + PADDING;
    return (trine_dense){test_to_device(ctx, host, (size_t)((N + PADDING) * (COLUMNS + PADDING)) * trine_dtype_size(t)),
                         N, COLUMNS, ld, layout};
}

static void *room(trine_dtype t) { return calloc((N + PADDING) * (COLUMNS + PADDING), trine_dtype_size(t)); }

/** Exactly b - A x where b is A x rounded. */
static void check_residual(trine_context ctx, trine_dtype t, trine_layout x_layout, trine_layout b_layout,
                           trine_layout r_layout, bool in_place)
{
    trine_matrix A = make_matrix(ctx, t);
    void *x = room(t), *b = room(t), *r = room(t), *expected = room(t);
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t i = 0, k = 0; i < N; i++) {
            wide sum = 0;
            put(t, x, place(x_layout, i, j), gaussian(t, 2, i + j * N));
            for (int64_t e = 0; e < i % (MOST_ENTRIES + 1); e++, k++)
                sum += gaussian(t, 1, k) * gaussian(t, 2, e * 7 + i % 7 + j * N);
            put(t, b, place(b_layout, i, j), sum);
            put(t, expected, place(r_layout, i, j), get(t, b, place(b_layout, i, j)) - sum);
        }
    const size_t bytes = (size_t)((N + PADDING) * (COLUMNS + PADDING)) * trine_dtype_size(t);
    const trine_dense X = block(ctx, t, x_layout, x), B = block(ctx, t, b_layout, b),
                      R = in_place ? B : block(ctx, t, r_layout, r);
    OK(trine_vectors_residual(A, &X, &B, &R, NULL));
    test_from_device(ctx, r, R.data, bytes);
    int64_t nonzero = 0;
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t i = 0; i < N; i++) {
            const int64_t k = place(r_layout, i, j);
            assert_true(get(t, r, k) == get(t, expected, k));
            nonzero += get(t, r, k) != 0;
        }
    assert_true(nonzero > N); /* rounding b did lose something */
    test_release(ctx, X.data);
    test_release(ctx, B.data);
    if (!in_place) test_release(ctx, R.data);
    free(x);
    free(b);
    free(r);
    free(expected);
    trine_matrix_destroy(&A);
}

static void residuals_are_summed_to_twice_the_precision(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int k = 0; k < 4; k++)
        for (int layouts = 0; layouts < 8; layouts++) {
            const trine_layout x = (trine_layout)(layouts & 1), b = (trine_layout)(layouts >> 1 & 1),
                               r = (trine_layout)(layouts >> 2);
            check_residual(ctx, all_dtypes[k], x, b, r, b == r && x == b);
        }
    trine_context_destroy(&ctx);
}

static void vectors_are_added_in_any_layout(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int k = 0; k < 4; k++)
        for (int layouts = 0; layouts < 4; layouts++) {
            const trine_dtype t = all_dtypes[k];
            const trine_layout from = (trine_layout)(layouts & 1), to = (trine_layout)(layouts >> 1);
            void *x = room(t), *y = room(t);
            for (int64_t j = 0; j < COLUMNS; j++)
                for (int64_t i = 0; i < N; i++) {
                    put(t, x, place(from, i, j), gaussian(t, 3, i + j * N));
                    put(t, y, place(to, i, j), gaussian(t, 4, i + j * N));
                }
            const trine_dense X = block(ctx, t, from, x), Y = block(ctx, t, to, y);
            OK(trine_vectors_add(ctx, t, &X, &Y, NULL));
            test_from_device(ctx, y, Y.data, (size_t)((N + PADDING) * (COLUMNS + PADDING)) * trine_dtype_size(t));
            for (int64_t j = 0; j < COLUMNS; j++)
                for (int64_t i = 0; i < N; i++)
                    assert_true(get(t, y, place(to, i, j)) == gaussian(t, 3, i + j * N) + gaussian(t, 4, i + j * N));
            test_release(ctx, X.data);
            test_release(ctx, Y.data);
            free(x);
            free(y);
        }
    trine_context_destroy(&ctx);
}

static void wrong_arguments_of_residuals_are_named(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = make_matrix(ctx, TRINE_D), C;
    void *zeros = room(TRINE_D);
    trine_dense X = block(ctx, TRINE_D, TRINE_COLMAJOR, zeros), B = block(ctx, TRINE_D, TRINE_COLMAJOR, zeros), few = X;
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_vectors_residual(NULL, &X, &B, &B, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "the same array", trine_vectors_residual(A, &X, &B, &X, NULL));
    few.cols = 2;
    FAILS(TRINE_ERR_ARGUMENT, "X has 2 columns, B 3", trine_vectors_residual(A, &few, &B, &B, NULL));
    few = X, few.rows = N - 1;
    FAILS(TRINE_ERR_ARGUMENT, "X has 299 rows", trine_vectors_residual(A, &few, &B, &B, NULL));
    OK(trine_matrix_copy(A, &C, TRINE_HOST, TRINE_CSC, TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "A is not CSR", trine_vectors_residual(C, &X, &B, &B, NULL));
    trine_matrix_destroy(&C);
    trine_matrix_destroy(&A);
    test_release(ctx, X.data);
    test_release(ctx, B.data);
    free(zeros);
    trine_context_destroy(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(residuals_are_summed_to_twice_the_precision),
                                       cmocka_unit_test(vectors_are_added_in_any_layout),
                                       cmocka_unit_test(wrong_arguments_of_residuals_are_named)};
    return TEST_MAIN(tests);
}
