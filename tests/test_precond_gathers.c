/* Factors along paths are applied by a solver that gathers right-hand sides and scatters solutions: beside vectors that
 * are permuted by calls of their own, and products beside their factors one by one. */
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"

enum { EVERY_OP = TRINE_N | TRINE_T | TRINE_H, MOST_COLUMNS = 9 };
static const trine_transpose all_ops[] = {TRINE_N, TRINE_T, TRINE_H};
/** Orders of the rows of a tridiagonal matrix, and matrices without couplings, or with few of them in a row. */
typedef enum { IDENTITY, REVERSED, RANDOM, SINGLES, SHORT_PATHS, KINDS } kind;

/** Where row i of the tridiagonal matrix stands. */
static int32_t *make_order(kind k, int64_t n)
{
    int32_t *order = malloc((size_t)(n + !n) * sizeof *order);
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)(k == REVERSED ? n - 1 - i : i);
    for (int64_t i = n - 1; k >= RANDOM && i > 0; i--) {
        const int64_t j = (int64_t)(test_uniform(7, (uint64_t)i) * (double)(i + 1));
        const int32_t kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
    return order;
}

static bool is_coupled(kind k, int64_t i, int64_t n)
{
    if (i < 0 || i + 1 >= n || k == SINGLES) return false;
    return k != SHORT_PATHS || test_uniform(11, (uint64_t)i) < 0.7;
}

/** A preconditioner of a tridiagonal matrix with dominant diagonal whose rows and columns stand in this order. */
static trine_precond make_plan(trine_context ctx, trine_dtype t, kind k, int64_t n, trine_precond_options options)
{
    trine_matrix A;
    trine_precond p;
    int32_t *order = make_order(k, n), *place = malloc((size_t)n * sizeof *place),
            *columns = malloc((size_t)(3 * n) * sizeof *columns);
    int64_t *offsets = calloc((size_t)n + 1, sizeof *offsets);
    void *values = malloc((size_t)(3 * n) * trine_dtype_size(t));
    for (int64_t i = 0; i < n; i++) place[order[i]] = (int32_t)i;
    for (int64_t v = 0; v < n; v++) {
        const int64_t i = place[v];
        int64_t e = offsets[v];
        for (int d = -1; d <= 1; d++) {
            if (d && !is_coupled(k, d < 0 ? i - 1 : i, n)) continue;
            const wide entry = random_element(t, 1, (uint64_t)(3 * i + d + 1));
            columns[e] = order[i + d];
            put(t, values, e++, d ? entry : 5 + entry);
        }
        offsets[v + 1] = e;
    }
    OK(trine_matrix_csr(ctx, &A, t, n, n, offsets[n], TRINE_HOST, 64, offsets, 32, columns, values));
    OK(trine_precond_analyse(ctx, &p, A, &options));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    trine_matrix_destroy(&A);
    free(order), free(place), free(columns), free(offsets), free(values);
    return p;
}

/** The first factor's solve with blocks in path order, by calls of its own. */
static void *solve_apart(trine_context ctx, trine_precond p, trine_dtype t, trine_transpose op, int64_t n,
                         int64_t columns, const void *B)
{
    const size_t size = trine_dtype_size(t), vector = (size_t)n * size, block = vector * (size_t)columns;
    const trine_gtsv_options options = {.op = op};
    void *bands = malloc(3 * vector), *X = malloc(block);
    char *a = bands, *b = a + vector, *c = b + vector;
    int32_t *order = malloc((size_t)n * sizeof *order);
    size_t bytes;
    OK(trine_precond_get_factor(p, 0, a, b, c, order));
    void *da = test_to_device(ctx, a, vector), *db = test_to_device(ctx, b, vector),
         *dc = test_to_device(ctx, c, vector), *places = test_to_device(ctx, order, (size_t)n * sizeof *order),
         *given = test_to_device(ctx, B, block), *middle = test_to_device(ctx, B, block);
    const trine_dense D = {given, n, columns, n, TRINE_COLMAJOR}, Y = {middle, n, columns, n, TRINE_COLMAJOR};
    OK(trine_vectors_permute(ctx, t, places, NULL, 0, &D, &Y, NULL));
    OK(trine_gtsv_work_size(ctx, t, n, columns, &options, &bytes));
    void *room = calloc(1, bytes + 1), *work = test_to_device(ctx, room, bytes);
    OK(trine_gtsv(ctx, t, n, columns, &options, da, db, dc, middle, n, middle, n, work, bytes, NULL));
    OK(trine_vectors_permute(ctx, t, places, NULL, 1, &Y, &D, NULL));
    test_from_device(ctx, X, given, block);
    test_release(ctx, da), test_release(ctx, db), test_release(ctx, dc), test_release(ctx, places);
    test_release(ctx, given), test_release(ctx, middle), test_release(ctx, work);
    free(bands), free(order), free(room);
    return X;
}

/** X := op(M)^-1 B with columns ld apart. Rows behind the n-th keep what they are. */
static void *apply(trine_context ctx, trine_precond p, trine_dtype t, trine_transpose op, int64_t n, int64_t columns,
                   int64_t ld, bool in_place, const void *B)
{
    const size_t size = trine_dtype_size(t), vector = (size_t)n * size, padded = (size_t)(ld * columns) * size;
    char *host = malloc(padded + !padded), *X = malloc(vector * (size_t)columns);
    memset(host, 0x7f, padded);
    void *x = test_to_device(ctx, host, padded);
    for (int64_t j = 0; j < columns; j++)
        memcpy(host + (size_t)(j * ld) * size, (const char *)B + (size_t)j * vector, vector);
    void *b = test_to_device(ctx, host, padded);
    const trine_dense given = {b, n, columns, ld, TRINE_COLMAJOR},
                      wanted = {in_place ? b : x, n, columns, ld, TRINE_COLMAJOR};
    OK(trine_precond_apply(p, op, NULL, &given, &wanted, NULL));
    test_from_device(ctx, host, wanted.data, padded);
    for (int64_t j = 0; j < columns; j++) {
        memcpy(X + (size_t)j * vector, host + (size_t)(j * ld) * size, vector);
        for (int64_t i = n; i < ld && !in_place; i++)
            for (size_t byte = 0; byte < size; byte++) assert_int_equal(host[(size_t)(j * ld + i) * size + byte], 0x7f);
    }
    test_release(ctx, x), test_release(ctx, b);
    free(host);
    return X;
}

static void *random_block(trine_dtype t, int64_t count)
{
    void *B = malloc((size_t)count * trine_dtype_size(t));
    for (int64_t i = 0; i < count; i++) put(t, B, i, random_element(t, 5, (uint64_t)i));
    return B;
}

/** On a GPU the same bits; where systems are long and one of the two may have been solved in one pass, as good. */
static void assert_same(trine_dtype t, int64_t n, int64_t count, const void *X, const void *Y)
{
    if (test_on_gpu() && n < 200000 && count < 400000) {
        assert_memory_equal(X, Y, (size_t)count * trine_dtype_size(t));
        return;
    }
    for (int64_t i = 0; i < count; i++) assert_true(cabsl(get(t, X, i) - get(t, Y, i)) <= 64 * eps_of(t));
}

static void compare(trine_context ctx, trine_dtype t, kind k, int64_t n, int64_t columns, bool few)
{
    const trine_precond_options options = {.method = TRINE_PRECOND_ALG_TRI, .ops = EVERY_OP, .max_nrhs = columns};
    trine_precond p = make_plan(ctx, t, k, n, options);
    void *B = random_block(t, n * columns);
    for (int o = 0; o < (few ? 1 : 3); o++) {
        void *want = solve_apart(ctx, p, t, all_ops[o], n, columns, B);
        for (int in_place = 0; in_place < 2; in_place++)
            for (int64_t more = 0; more < (few ? 1 : 4); more += 3) {
                void *got = apply(ctx, p, t, all_ops[o], n, columns, n + more, in_place, B);
                assert_same(t, n, n * columns, got, want);
                free(got);
            }
        free(want);
    }
    free(B);
    trine_precond_destroy(&p);
}

/** Sizes at which the solver of a GPU takes one block, a cluster, all of the chip, and passes. */
static void applications_are_solves_of_permuted_vectors(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 31, 33, 255, 511, 513, 1000, 2049, 8191, 16387, 33001, 70001};
    (void)state;
    trine_context ctx = test_context();
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < KINDS; k++) {
                const int64_t columns = 1 + (i + 3 * j + 2 * k) % MOST_COLUMNS;
                const bool few = sizes[i] > 10000;
                if (!test_is_small(sizes[i]) || (few && k < RANDOM)) continue;
                compare(ctx, all_dtypes[j], (kind)k, sizes[i], 1, few);
                if (columns > 1) compare(ctx, all_dtypes[j], (kind)k, sizes[i], columns, few);
            }
    OK(trine_context_destroy(&ctx));
}

static void long_ones_too(void **state)
{
    (void)state;
    if (!test_on_gpu() || test_is_reduced()) skip();
    trine_context ctx = test_context();
    for (int j = 0; j < 4; j++)
        for (int k = IDENTITY; k <= SHORT_PATHS; k += 2) {
            compare(ctx, all_dtypes[j], (kind)k, 1000003, 1, true);
            compare(ctx, all_dtypes[j], (kind)k, 300007, 5, true);
        }
    compare(ctx, TRINE_D, RANDOM, 4000037, 1, true);
    compare(ctx, TRINE_S, RANDOM, 8000009, 1, true);
    OK(trine_context_destroy(&ctx));
}

/** Vectors go from the order of a factor to that of the next one without the caller's in between. */
static void products_are_their_factors(void **state)
{
    static const trine_precond_method methods[] = {TRINE_PRECOND_MOS_D, TRINE_PRECOND_MOS_A};
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    for (int j = 0; j < 4; j++)
        for (int which = 0; which < 2; which++)
            for (int m = 1; m <= 4; m++) {
                const int64_t columns = 1 + (j + m) % 3;
                const trine_precond_options options = {
                    .method = methods[which], .m = m, .ops = EVERY_OP, .max_nrhs = columns};
                trine_precond p;
                trine_precond_info info;
                OK(trine_matrix_gallery(ctx, &A, m % 2 ? "rotate7:n=40" : "laplace2d:nx=61,ny=37", all_dtypes[j]));
                OK(trine_precond_analyse(ctx, &p, A, &options));
                OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
                OK(trine_precond_get_info(p, &info));
                const size_t bytes = (size_t)(info.n * columns) * trine_dtype_size(all_dtypes[j]);
                void *B = random_block(all_dtypes[j], info.n * columns), *want = malloc(bytes);
                for (int o = 0; o < 3; o++) {
                    void *x = test_to_device(ctx, B, bytes), *y = test_to_device(ctx, B, bytes);
                    for (int step = 0; step < info.m; step++) {
                        trine_op part;
                        const trine_dense X = {step % 2 ? y : x, info.n, columns, info.n, TRINE_COLMAJOR},
                                          Y = {step % 2 ? x : y, info.n, columns, info.n, TRINE_COLMAJOR};
                        OK(trine_precond_part(p, all_ops[o] == TRINE_N ? info.m - 1 - step : step, &part));
                        OK(trine_op_apply(part, all_ops[o], NULL, &X, NULL, &Y, NULL));
                        OK(trine_op_destroy(&part));
                    }
                    test_from_device(ctx, want, info.m % 2 ? y : x, bytes);
                    for (int in_place = 0; in_place < 2; in_place++) {
                        void *got = apply(ctx, p, all_dtypes[j], all_ops[o], info.n, columns, info.n, in_place, B);
                        assert_memory_equal(got, want, bytes);
                        free(got);
                    }
                    test_release(ctx, x), test_release(ctx, y);
                }
                free(B), free(want);
                trine_precond_destroy(&p);
                trine_matrix_destroy(&A);
            }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(applications_are_solves_of_permuted_vectors),
                                       cmocka_unit_test(long_ones_too), cmocka_unit_test(products_are_their_factors)};
    return TEST_MAIN(tests);
}
