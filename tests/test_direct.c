/* Factorizations and direct solves. The oracles are products in long double and LAPACK's dense solve. */
#include "elements.h"
#include "harness.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trine/direct.h>
#include <unistd.h>

#include "core/internal.h"

static const trine_direct_method methods[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_DIRECT_LU,
                                              TRINE_DIRECT_LU_UMFPACK};
#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static bool is_cholesky(trine_direct_method method)
{
    return method == TRINE_DIRECT_CHOLESKY || method == TRINE_DIRECT_CHOLESKY_SIMPLICIAL;
}

static double complex random_value(uint64_t seed, uint64_t counter)
{
    return CMPLX(2 * test_uniform(seed, 2 * counter) - 1, 2 * test_uniform(seed, 2 * counter + 1) - 1);
}

/* ---------------------------------------------------------------- matrices */

/** A random matrix with about `row` entries a row, with a dominant diagonal. hermitian: positive definite. Unsymmetric ones
 *  have their rows rotated by one, so that the diagonal is mostly zero and pivoting has work to do. */
static trine_matrix random_matrix(trine_context ctx, trine_dtype t, int64_t n, int row, bool hermitian, uint64_t seed)
{
    double complex *dense = calloc((size_t)(n * n) + 1, sizeof *dense);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < row; k++) {
            const uint64_t counter = (uint64_t)(i * row + k);
            const int64_t j = (int64_t)(test_uniform(seed + 1, counter) * (double)n);
            const double complex v = random_value(seed, counter);
            if (i == j) continue;
            dense[i * n + j] += v;
            if (hermitian) dense[j * n + i] += conj(v);
        }
    for (int64_t i = 0; i < n; i++) {
        double sum = 1;
        for (int64_t j = 0; j < n; j++) sum += cabs(dense[i * n + j]);
        dense[i * n + i] = sum;
    }
    int64_t nnz = 0, *offsets;
    int32_t *columns;
    void *values;
    trine_matrix A;
    for (int64_t k = 0; k < n * n; k++) nnz += dense[k] != 0;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, n, n, nnz, &offsets, &columns, &values));
    nnz = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = hermitian ? i : (i + 1) % n;
        for (int64_t j = 0; j < n; j++)
            if (dense[from * n + j] != 0) {
                columns[nnz] = (int32_t)j;
                put(t, values, nnz++, dense[from * n + j]);
            }
        offsets[i + 1] = nnz;
    }
    free(dense);
    return A;
}

/** From entries (i, j, v), row by row. */
struct entry { int32_t i, j; double v; };
static trine_matrix matrix_of(trine_context ctx, int64_t n, int count, const struct entry *entries)
{
    int64_t *offsets;
    int32_t *columns;
    void *values;
    trine_matrix A;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, n, n, count, &offsets, &columns, &values));
    for (int k = 0; k < count; k++) {
        columns[k] = entries[k].j;
        ((double *)values)[k] = entries[k].v;
        offsets[entries[k].i + 1] = k + 1;
    }
    for (int64_t i = 1; i <= n; i++)
        if (offsets[i] < offsets[i - 1]) offsets[i] = offsets[i - 1];
    return A;
}
#define MATRIX(ctx, n, ...) matrix_of(ctx, n, (int)(sizeof((struct entry[]){__VA_ARGS__}) / sizeof(struct entry)), (struct entry[]){__VA_ARGS__})

/* ------------------------------------------------------------ L U identity */

static void assert_permutation(const int32_t *perm, int64_t n)
{
    char *seen = calloc((size_t)n + 1, 1);
    for (int64_t k = 0; k < n; k++) {
        assert_in_range(perm[k], 0, n - 1);
        assert_false(seen[perm[k]]);
        seen[perm[k]] = 1;
    }
    free(seen);
}

static trine_matrix triangle(trine_factor F, trine_uplo which)
{
    trine_matrix T;
    OK(trine_factor_get_triangle(F, which, &T));
    trine_matrix_info info;
    OK(trine_matrix_get_info(T, &info));
    assert_int_equal(info.format, TRINE_CSC);
    OK(trine_matrix_check(T, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    OK(trine_matrix_get_arrays(T, &offsets, &rows, &values));
    for (int64_t j = 0; j < info.n_cols; j++)
        for (int64_t k = offsets[j]; k < offsets[j + 1]; k++) {
            assert_true(which == TRINE_LOWER ? rows[k] >= j : rows[k] <= j);
            assert_true(rows[k] == j || get(info.dtype, values, k) != 0); /* no explicit zero */
        }
    return T;
}

/** diag(r) A(p,q) diag(c) = L U, column after column: |difference| <= 4 n eps |L||U|, the bound of a backward stable
 *  factorization (Higham 2002, theorem 9.3), plus n times the smallest normal number for underflow. */
static void assert_identity(trine_factor F, trine_matrix A)
{
    trine_factor_info info;
    trine_matrix_info a;
    OK(trine_factor_get_info(F, &info));
    OK(trine_matrix_get_info(A, &a));
    const int64_t n = info.n;
    const int32_t *p, *q;
    const double *r, *c;
    OK(trine_factor_get_permutations(F, &p, &q, &r, &c));
    assert_permutation(p, n);
    assert_permutation(q, n);
    trine_matrix L = triangle(F, TRINE_LOWER), U, W, Wp;
    if (is_cholesky(info.method))
        OK(trine_matrix_transpose(L, &U, TRINE_H));
    else
        U = triangle(F, TRINE_UPPER);
    trine_matrix_info l, u;
    OK(trine_matrix_get_info(L, &l));
    OK(trine_matrix_get_info(U, &u));
    assert_int_equal(l.nnz, info.nnz_L);
    assert_int_equal(u.nnz, info.nnz_U);
    OK(trine_matrix_copy(A, &W, TRINE_HOST, TRINE_CSC, info.dtype));
    OK(trine_matrix_permute(W, &Wp, p, q));
    const int64_t *Lo, *Uo, *Ao;
    const int32_t *Li, *Ui, *Ai;
    const void *Lx, *Ux, *Ax;
    OK(trine_matrix_get_arrays(L, &Lo, &Li, &Lx));
    OK(trine_matrix_get_arrays(U, &Uo, &Ui, &Ux));
    OK(trine_matrix_get_arrays(Wp, &Ao, &Ai, &Ax));
    wide *difference = calloc((size_t)n + 1, sizeof *difference);
    long double *bound = calloc((size_t)n + 1, sizeof *bound);
    for (int64_t j = 0; j < n; j++) {
        assert_true(info.diag_L == TRINE_NONUNIT || get(info.dtype, Lx, Lo[j]) == 1);
        for (int64_t i = 0; i < n; i++) difference[i] = bound[i] = 0;
        for (int64_t k = Uo[j]; k < Uo[j + 1]; k++) {
            const wide uv = get(info.dtype, Ux, k);
            for (int64_t m = Lo[Ui[k]]; m < Lo[Ui[k] + 1]; m++) {
                const wide lv = get(info.dtype, Lx, m);
                difference[Li[m]] += lv * uv;
                bound[Li[m]] += cabsl(lv) * cabsl(uv);
            }
        }
        for (int64_t k = Ao[j]; k < Ao[j + 1]; k++)
            difference[Ai[k]] -= get(info.dtype, Ax, k) * (r ? r[Ai[k]] : 1) * (c ? c[j] : 1);
        for (int64_t i = 0; i < n; i++)
            if (!(cabsl(difference[i]) <= (double)n * (4 * 0x1p-52 * bound[i] + DBL_MIN))) {
                print_error("n %lld, %s, %s: (%lld,%lld) differs by %Lg, |L||U| %Lg\n", (long long)n, trine_direct_method_name(info.method),
                            trine_ordering_name(info.ordering), (long long)i, (long long)j, cabsl(difference[i]), bound[i]);
                fail();
            }
    }
    free(difference);
    free(bound);
    trine_matrix_destroy(&W);
    trine_matrix_destroy(&Wp);
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&U);
}

/** The panels hold L or U^T: every entry of it at its place, zeros elsewhere; rows ascend. */
static void assert_panels_hold(trine_factor F, trine_uplo which)
{
    trine_panels P;
    trine_factor_info info;
    OK(trine_factor_get_info(F, &info));
    if (info.method == TRINE_DIRECT_CHOLESKY_SIMPLICIAL || info.method == TRINE_DIRECT_LU_UMFPACK) {
        FAILS(TRINE_ERR_UNSUPPORTED, "no supernodal panels", trine_factor_get_panels(F, which, &P));
        return;
    }
    if (which == TRINE_UPPER && is_cholesky(info.method)) {
        FAILS(TRINE_ERR_UNSUPPORTED, "L^H", trine_factor_get_panels(F, which, &P));
        return;
    }
    OK(trine_factor_get_panels(F, which, &P));
    assert_int_equal(P.n, info.n);
    assert_int_equal(P.dtype, info.dtype);
    assert_int_equal(P.diag, which == TRINE_LOWER ? info.diag_L : TRINE_NONUNIT);
    assert_int_equal(P.first_column[0], 0);
    assert_int_equal(P.first_column[P.n_panels], info.n);
    trine_matrix L = triangle(F, which), transposed;
    if (which == TRINE_UPPER) {
        OK(trine_matrix_transpose(L, &transposed, TRINE_T));
        trine_matrix_destroy(&L);
        OK(trine_matrix_copy(transposed, &L, TRINE_HOST, TRINE_CSC, info.dtype));
        trine_matrix_destroy(&transposed);
    }
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    OK(trine_matrix_get_arrays(L, &offsets, &rows, &values));
    wide *column = calloc((size_t)info.n + 1, sizeof *column);
    for (int64_t s = 0; s < P.n_panels; s++) {
        const int64_t first = P.first_column[s], width = P.first_column[s + 1] - first;
        const int64_t height = P.row_offsets[s + 1] - P.row_offsets[s];
        const int32_t *list = P.rows + P.row_offsets[s];
        assert_true(width > 0 && height >= width);
        assert_int_equal(P.value_offsets[s + 1] - P.value_offsets[s], width * height);
        for (int64_t i = 0; i < width; i++) assert_int_equal(list[i], first + i);
        for (int64_t i = 1; i < height; i++) assert_true(list[i] > list[i - 1]);
        for (int64_t j = 0; j < width; j++) {
            int64_t found = 0;
            for (int64_t k = offsets[first + j]; k < offsets[first + j + 1]; k++) column[rows[k]] = get(info.dtype, values, k);
            for (int64_t i = j; i < height; i++) {
                wide v = get(P.dtype, P.values, P.value_offsets[s] + j * height + i);
                if (i == j && P.diag == TRINE_UNIT) v = 1;
                assert_true(v == column[list[i]]);
                found += v != 0;
            }
            assert_int_equal(found, offsets[first + j + 1] - offsets[first + j]);
            for (int64_t k = offsets[first + j]; k < offsets[first + j + 1]; k++) column[rows[k]] = 0;
        }
    }
    free(column);
    trine_matrix_destroy(&L);
}

static void assert_panels(trine_factor F)
{
    assert_panels_hold(F, TRINE_LOWER);
    assert_panels_hold(F, TRINE_UPPER);
}

static void factors_multiply_to_the_permuted_and_scaled_matrix(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 31, 90};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(s, sizes)
            for EACH(t, all_dtypes)
                for (int ordering = TRINE_ORDERING_AUTO; ordering <= TRINE_ORDERING_NATURAL; ordering++) {
                    if (is_cholesky(methods[m]) && ordering == TRINE_ORDERING_COLAMD) continue;
                    trine_matrix A = random_matrix(ctx, all_dtypes[t], sizes[s], 3, is_cholesky(methods[m]), 7 * s + t);
                    trine_factor F;
                    trine_factor_info info;
                    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering}));
                    OK(trine_factor_get_info(F, &info));
                    assert_int_equal(info.method, methods[m]);
                    /* UMFPACK takes singletons out first, and another ordering where the diagonal is no pivot sequence. */
                    if (ordering && methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_int_equal(info.ordering, ordering);
                    assert_int_equal(info.dtype, all_dtypes[t] == TRINE_S || all_dtypes[t] == TRINE_D ? TRINE_D : TRINE_Z);
                    assert_true(info.fill > 0 && info.nnz_L >= info.n && info.nnz_U >= info.n);
                    assert_identity(F, A);
                    assert_panels(F);
                    trine_matrix_destroy(&A); /* the factor stands without it */
                    OK(trine_factor_destroy(&F));
                }
    OK(trine_context_destroy(&ctx));
}

static void wide_supernodes_keep_the_identity(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods) {
        trine_matrix A = random_matrix(ctx, TRINE_Z, 150, 40, is_cholesky(methods[m]), 3); /* nearly dense */
        trine_factor F;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
        assert_identity(F, A);
        assert_panels(F);
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void a_symmetric_grid_gives_cholesky_by_itself(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_factor F;
    trine_factor_info info;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=13,ny=17", TRINE_D));
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_CHOLESKY);
    assert_non_null(strstr(info.reason, "positive diagonal"));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);

    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}); /* indefinite */
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_non_null(strstr(info.reason, "not positive definite"));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);

    A = MATRIX(ctx, 2, {0, 1, 2}, {1, 0, 3});
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void an_empty_matrix_has_an_empty_factor(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, T;
    trine_panels P;
    trine_factor_info info;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_Z, 0, 0, 0, NULL, NULL, NULL));
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LU_UMFPACK; method++) {
        trine_factor F;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = (trine_direct_method)method}));
        OK(trine_factor_get_info(F, &info));
        assert_int_equal(info.n, 0);
        assert_int_equal(info.nnz_L, 0);
        OK(trine_factor_get_triangle(F, TRINE_LOWER, &T));
        trine_matrix_destroy(&T);
        if (info.method == TRINE_DIRECT_CHOLESKY || info.method == TRINE_DIRECT_LU) {
            OK(trine_factor_get_panels(F, TRINE_LOWER, &P));
            assert_int_equal(P.n_panels, 0);
            assert_int_equal(P.first_column[0], 0);
        }
        OK(trine_factor_update(F, A));
        OK(trine_factor_destroy(&F));
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void duplicates_are_summed_and_unsorted_rows_allowed(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 1, 1}, {0, 0, 1}, {0, 0, 3}, {1, 1, 5}, {1, 0, 1});
    trine_factor F;
    trine_factor_info info;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.nnz_matrix, 4);
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/* ------------------------------------------------------------------ update */

/** B = D A D^H with D a random phase and a random scale: same pattern, other values; Hermitian stays Hermitian. */
static trine_matrix rescaled(trine_context ctx, trine_matrix A, uint64_t seed)
{
    trine_matrix_info info;
    trine_matrix B;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_copy(A, &B, TRINE_HOST, info.format, info.dtype));
    const int64_t *offsets;
    const int32_t *indices;
    const void *values;
    OK(trine_matrix_get_arrays(B, &offsets, &indices, &values));
    (void)ctx;
    for (int64_t i = 0; i < info.n_rows; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const double a = 0.5 + test_uniform(seed, (uint64_t)i), b = 0.5 + test_uniform(seed, (uint64_t)indices[k]);
            put(info.dtype, (void *)values, k, (double complex)(get(info.dtype, values, k) * (float)(a * b)));
        }
    return B;
}

static void new_values_give_a_new_factor_with_the_same_ordering(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], 60, 3, is_cholesky(methods[m]), t);
            trine_matrix B = rescaled(ctx, A, 9);
            trine_factor F;
            const int32_t *q;
            int32_t before[60];
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
            OK(trine_factor_get_permutations(F, NULL, &q, NULL, NULL));
            memcpy(before, q, sizeof before);
            for (int times = 0; times < 3; times++) {
                OK(trine_factor_update(F, times == 1 ? A : B));
                assert_identity(F, times == 1 ? A : B);
                assert_panels(F);
                OK(trine_factor_get_permutations(F, NULL, &q, NULL, NULL));
                if (methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_memory_equal(before, q, sizeof before);
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

static void updates_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix bigger = MATRIX(ctx, 4, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix other = MATRIX(ctx, 3, {0, 0, 4}, {0, 2, 1}, {1, 1, 4}, {2, 0, 1}, {2, 2, 4});
    trine_matrix unsymmetric = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 2}, {1, 0, 1}, {1, 1, 4}, {2, 2, 4});
    trine_matrix indefinite = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}, {2, 2, 4});
    trine_matrix singular = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {2, 2, 4});
    trine_matrix complex_A;
    OK(trine_matrix_copy(A, &complex_A, TRINE_HOST, TRINE_CSR, TRINE_Z));
    trine_factor F;
    trine_factor_info info;
    trine_matrix T;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_update(NULL, A));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_factor_update(F, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "order 4 with 5 entries, not 3 with 5", trine_factor_update(F, bigger));
    FAILS(TRINE_ERR_ARGUMENT, "pattern of column 0", trine_factor_update(F, other));
    FAILS(TRINE_ERR_ARGUMENT, "complex", trine_factor_update(F, complex_A));
    FAILS(TRINE_ERR_STRUCTURE, "symmetric", trine_factor_update(F, unsymmetric));
    assert_identity(F, A); /* nothing happened so far */
    FAILS(TRINE_ERR_NOT_DEFINITE, "column", trine_factor_update(F, indefinite));
    FAILS(TRINE_ERR_STATE, "update failed", trine_factor_get_info(F, &info));
    FAILS(TRINE_ERR_STATE, "update failed", trine_factor_get_triangle(F, TRINE_LOWER, &T));
    OK(trine_factor_update(F, A)); /* and recovers */
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));

    OK(trine_factor_create(ctx, &F, A, NULL)); /* automatic: LU takes over where Cholesky no longer does */
    OK(trine_factor_update(F, indefinite));
    OK(trine_factor_get_info(F, &info));
    assert_int_equal(info.method, TRINE_DIRECT_LU);
    assert_identity(F, indefinite);
    OK(trine_factor_update(F, unsymmetric));
    assert_identity(F, unsymmetric);
    FAILS(TRINE_ERR_SINGULAR, "exactly zero", trine_factor_update(F, singular));
    OK(trine_factor_update(F, A));
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&bigger);
    trine_matrix_destroy(&other);
    trine_matrix_destroy(&unsymmetric);
    trine_matrix_destroy(&indefinite);
    trine_matrix_destroy(&singular);
    trine_matrix_destroy(&complex_A);
    OK(trine_context_destroy(&ctx));
}

/* ---------------------------------------------------------------- failures */

static void singular_matrices_of_any_shape_never_crash(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int singular = 0;
    for (uint64_t seed = 0; seed < 60; seed++)
        for EACH(m, methods) {
            if (is_cholesky(methods[m])) continue;
            /* Small integers, and a column or a row that is the sum of two others: exact zeros appear in the elimination. */
            const int n = 3 + (int)(20 * test_uniform(seed, 1));
            double dense[23][23] = {{0}};
            for (int k = 0; k < 3 * n; k++)
                dense[(int)(n * test_uniform(seed, 10 + 3 * (uint64_t)k))][(int)(n * test_uniform(seed, 11 + 3 * (uint64_t)k))] =
                    (double)(int)(5 * test_uniform(seed, 12 + 3 * (uint64_t)k)) - 2;
            for (int i = 0; i < n; i++)
                if (seed % 2)
                    dense[i][0] = dense[i][1] + dense[i][2];
                else
                    dense[0][i] = dense[1][i] + dense[2][i];
            struct entry entries[23 * 23];
            int count = 0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    if (dense[i][j] != 0 || seed % 3 == 0) entries[count++] = (struct entry){i, j, dense[i][j]};
            trine_matrix A = matrix_of(ctx, n, count, entries);
            trine_factor F;
            trine_status status = trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]});
            if (status) {
                assert_int_equal(status, TRINE_ERR_SINGULAR);
                singular++;
            } else {
                assert_identity(F, A); /* rounding made a tiny pivot of the zero */
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    assert_true(singular > 60);
    OK(trine_context_destroy(&ctx));
}

struct capture { int saved[2]; FILE *file; };
static struct capture capture_output(void)
{
    struct capture c = {.file = tmpfile()};
    assert_non_null(c.file);
    fflush(stdout);
    fflush(stderr);
    for (int fd = 0; fd < 2; fd++) {
        c.saved[fd] = dup(fd + 1);
        dup2(fileno(c.file), fd + 1);
    }
    return c;
}
static long captured_bytes(struct capture *c)
{
    fflush(stdout);
    fflush(stderr);
    for (int fd = 0; fd < 2; fd++) {
        dup2(c->saved[fd], fd + 1);
        close(c->saved[fd]);
    }
    fseek(c->file, 0, SEEK_END);
    long bytes = ftell(c->file);
    fclose(c->file);
    return bytes;
}

static void singular_and_indefinite_matrices_are_named_and_nothing_is_printed(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix missing_row = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 2}, {2, 1, 1}, {2, 2, 1});
    trine_matrix rank_two = MATRIX(ctx, 3, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1});
    trine_matrix twins = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {2, 2, 1});
    trine_matrix zeros = MATRIX(ctx, 2, {0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0});
    trine_matrix negative = MATRIX(ctx, 3, {0, 0, 1}, {1, 1, -1}, {2, 2, 1});
    trine_matrix skewed = MATRIX(ctx, 2, {0, 0, 4}, {0, 1, 1}, {1, 0, 2}, {1, 1, 4});
    trine_factor F;
    struct { trine_status status, expected; char text[300]; } results[20];
    int count = 0;
    struct capture c = capture_output();
#define TRY_FACTOR(A, m, e) do { trine_status s = trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = m}); \
        results[count].status = s; results[count].expected = e; \
        snprintf(results[count++].text, sizeof results->text, "%s", trine_last_error()); trine_factor_destroy(&F); } while (0)
    static const trine_direct_method lu[] = {TRINE_DIRECT_LU, TRINE_DIRECT_LU_UMFPACK};
    for EACH(m, lu) {
        TRY_FACTOR(missing_row, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(rank_two, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(twins, lu[m], TRINE_ERR_SINGULAR);
        TRY_FACTOR(zeros, lu[m], TRINE_ERR_SINGULAR);
    }
    static const trine_direct_method cholesky[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL};
    for EACH(m, cholesky) {
        TRY_FACTOR(negative, cholesky[m], TRINE_ERR_NOT_DEFINITE);
        TRY_FACTOR(zeros, cholesky[m], TRINE_ERR_NOT_DEFINITE);
        TRY_FACTOR(skewed, cholesky[m], TRINE_ERR_STRUCTURE);
    }
    const long bytes = captured_bytes(&c);
    for (int i = 0; i < count; i++) {
        if (results[i].status != results[i].expected) print_error("%d: %s\n", i, results[i].text);
        assert_int_equal(results[i].status, results[i].expected);
    }
    assert_int_equal(bytes, 0);
    assert_non_null(strstr(results[0].text, "structurally singular"));
    assert_non_null(strstr(results[0].text, "row 1"));
    assert_non_null(strstr(results[1].text, "rank at most 2 of 3"));
    assert_non_null(strstr(results[2].text, "exactly zero"));
    assert_non_null(strstr(results[6].text, "exactly zero"));
    assert_non_null(strstr(results[8].text, "column 1 "));
    assert_non_null(strstr(results[11].text, "column 1 "));
    trine_matrix_destroy(&missing_row);
    trine_matrix_destroy(&rank_two);
    trine_matrix_destroy(&twins);
    trine_matrix_destroy(&zeros);
    trine_matrix_destroy(&negative);
    trine_matrix_destroy(&skewed);
    OK(trine_context_destroy(&ctx));
}

static void count_warnings(void *user, int level, const char *message)
{
    if (level == 1 && strstr(message, "nearly singular")) ++*(int *)user;
}
static void nearly_singular_matrices_are_factored_with_a_warning(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int warnings = 0;
    OK(trine_context_set_log(ctx, count_warnings, &warnings, 1));
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 1}, {1, 1, 1e-20}, {2, 2, 1});
    for EACH(m, methods) {
        trine_factor F;
        if (methods[m] == TRINE_DIRECT_LU_UMFPACK) continue; /* its row scaling repairs a diagonal matrix */
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
        OK(trine_factor_destroy(&F));
    }
    assert_int_equal(warnings, 3);
    trine_matrix_destroy(&A);
    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1 + 0x1p-52});
    trine_factor F;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LU_UMFPACK}));
    assert_int_equal(warnings, 4);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void every_wrong_argument_of_a_factor_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 0, 2}, {1, 1, 2});
    trine_factor F = (trine_factor)1;
    trine_factor_info info;
    trine_panels P;
    trine_matrix T;
    static const int64_t offsets[] = {0, 1, 2};
    static const int32_t columns[] = {0, 1};
    static const double values[] = {1, 1};
    static const double broken[] = {1, NAN}, infinite[] = {INFINITY, 1};
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_create(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_factor_create(NULL, &F, A, NULL));
    assert_null(F);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_factor_create(ctx, &F, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "no method 17", trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = (trine_direct_method)17}));
    FAILS(TRINE_ERR_ARGUMENT, "no ordering -1", trine_factor_create(ctx, &F, A, &(trine_factor_options){.ordering = (trine_ordering)-1}));
    FAILS(TRINE_ERR_ARGUMENT, "pivot_threshold 1.5", trine_factor_create(ctx, &F, A, &(trine_factor_options){.pivot_threshold = 1.5}));
    FAILS(TRINE_ERR_ARGUMENT, "pivot_threshold", trine_factor_create(ctx, &F, A, &(trine_factor_options){.pivot_threshold = NAN}));
    FAILS(TRINE_ERR_ARGUMENT, "keep_zeros", trine_factor_create(ctx, &F, A, &(trine_factor_options){.keep_zeros = 1}));
    FAILS(TRINE_ERR_ARGUMENT, "COLAMD", trine_factor_create(ctx, &F, A, &(trine_factor_options){TRINE_DIRECT_CHOLESKY, TRINE_ORDERING_COLAMD, 0, 0}));
    trine_matrix wrong;
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 3, 2, TRINE_HOST, 64, offsets, 32, columns, values));
    FAILS(TRINE_ERR_ARGUMENT, "2 x 3, not square", trine_factor_create(ctx, &F, wrong, NULL));
    trine_matrix_destroy(&wrong);
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 2, 2, TRINE_HOST, 64, offsets, 32, columns, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "without values", trine_factor_create(ctx, &F, wrong, NULL));
    trine_matrix_destroy(&wrong);
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LU_UMFPACK; method++)
        for (int which = 0; which < 2; which++) {
            OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 2, 2, 2, TRINE_HOST, 64, offsets, 32, columns, which ? broken : infinite));
            FAILS(TRINE_ERR_STRUCTURE, which ? "row 1" : "row 0",
                  trine_factor_create(ctx, &F, wrong, &(trine_factor_options){.method = (trine_direct_method)method}));
            trine_matrix_destroy(&wrong);
        }
    static const double huge[] = {1e308, 1e308};
    static const int32_t twice[] = {0, 0};
    static const int64_t one_row[] = {0, 2};
    OK(trine_matrix_csr(ctx, &wrong, TRINE_D, 1, 1, 2, TRINE_HOST, 64, one_row, 32, twice, huge));
    FAILS(TRINE_ERR_STRUCTURE, NULL, trine_factor_create(ctx, &F, wrong, NULL)); /* duplicates that sum to infinity */
    trine_matrix_destroy(&wrong);
    if (test_on_gpu()) {
        OK(trine_matrix_copy(A, &wrong, TRINE_DEVICE, TRINE_CSR, TRINE_D));
        FAILS(TRINE_ERR_ARGUMENT, "device memory", trine_factor_create(ctx, &F, wrong, NULL));
        trine_matrix_destroy(&wrong);
    }
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_info(NULL, &info));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_permutations(NULL, NULL, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_triangle(NULL, TRINE_LOWER, &T));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_factor_get_panels(NULL, TRINE_LOWER, &P));
    OK(trine_factor_create(ctx, &F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_factor_get_info(F, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_factor_get_triangle(F, TRINE_LOWER, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "which is 0", trine_factor_get_triangle(F, TRINE_UPLO_AUTO, &T));
    FAILS(TRINE_ERR_UNSUPPORTED, "TRINE_H on L", trine_factor_get_triangle(F, TRINE_UPPER, &T));
    assert_null(T);
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_factor_get_panels(F, TRINE_LOWER, NULL));
    OK(trine_factor_get_permutations(F, NULL, NULL, NULL, NULL));
    OK(trine_factor_destroy(&F));
    assert_null(F);
    OK(trine_factor_destroy(&F));
    OK(trine_factor_destroy(NULL));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void methods_and_orderings_have_names(void **state)
{
    (void)state;
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_CHOLESKY_SIMPLICIAL), "cholesky-simplicial");
    assert_string_equal(trine_direct_method_name(TRINE_DIRECT_LU_UMFPACK), "lu-umfpack");
    assert_string_equal(trine_direct_method_name((trine_direct_method)99), "unknown");
    assert_string_equal(trine_ordering_name(TRINE_ORDERING_METIS), "metis");
    assert_string_equal(trine_ordering_name((trine_ordering)-1), "unknown");
}

static void every_allocation_of_a_factor_may_fail(void **state)
{
    (void)state;
    for EACH(m, methods)
        for (int ordering = TRINE_ORDERING_METIS; ordering <= TRINE_ORDERING_COLAMD; ordering++) {
            if (is_cholesky(methods[m]) && ordering != TRINE_ORDERING_METIS) continue;
            for (int k = 1;; k++) {
                trine_context ctx;
                test_memory memory = {0};
                OK(trine_context_create(&ctx, "cpu"));
                test_fail_allocations(ctx, &memory);
                trine_matrix A = random_matrix(ctx, TRINE_C, 12, 2, is_cholesky(methods[m]), 5), L = NULL, U = NULL;
                memory.fail_at = memory.calls + k;
                trine_factor F;
                trine_status status = trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering});
                if (status) assert_null(F);
                if (!status) status = trine_factor_update(F, A);
                if (!status) status = trine_factor_get_triangle(F, TRINE_LOWER, &L);
                if (!status && !is_cholesky(methods[m])) status = trine_factor_get_triangle(F, TRINE_UPPER, &U);
                const bool failed = memory.calls >= memory.fail_at;
                assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
                OK(trine_factor_destroy(&F));
                OK(trine_matrix_destroy(&L));
                OK(trine_matrix_destroy(&U));
                OK(trine_matrix_destroy(&A));
                OK(trine_context_destroy(&ctx));
                assert_int_equal(memory.live, 0);
                if (!failed) break;
            }
        }
}

/* ------------------------------------------------------------------- solve */

extern void zgesv_(const int *n, const int *nrhs, double complex *A, const int *lda, int *pivots, double complex *B, const int *ldb, int *info);

static trine_matrix op_of(trine_matrix A, trine_transpose op)
{
    trine_matrix B;
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    if (op == TRINE_N)
        OK(trine_matrix_copy(A, &B, TRINE_HOST, info.format, info.dtype));
    else
        OK(trine_matrix_transpose(A, &B, op));
    return B;
}

/** One solve with a random right-hand side of nrhs columns in the given layout and ld; the solution, packed column-major, goes
 *  to x and the right-hand side to b. Storage that the call must not touch is checked. */
static void solve(trine_context ctx, trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs, trine_layout layout,
                  bool in_place, void *b, void *x)
{
    const size_t element = trine_dtype_size(t);
    const int64_t ld = (layout == TRINE_COLMAJOR ? n : nrhs) + 2, count = ld * (layout == TRINE_COLMAJOR ? nrhs : n);
    char *block = calloc((size_t)count + 1, element), *out = calloc((size_t)count + 1, element);
    for (int64_t k = 0; k < count; k++) put(t, block, k, 77);
    memcpy(out, block, (size_t)count * element);
#define AT(i, j) (layout == TRINE_COLMAJOR ? (i) + (j) * ld : (i) * ld + (j))
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) {
            put(t, block, AT(i, j), random_value(99, (uint64_t)(j * n + i)));
            memcpy((char *)b + (size_t)(j * n + i) * element, block + (size_t)AT(i, j) * element, element);
        }
    void *device_b = test_to_device(ctx, block, (size_t)count * element);
    void *device_x = in_place ? device_b : test_to_device(ctx, out, (size_t)count * element);
    const trine_dense B = {device_b, n, nrhs, ld, layout}, X = {device_x, n, nrhs, ld, layout};
    OK(trine_direct_solve(plan, op, &B, &X, NULL));
    test_from_device(ctx, out, device_x, (size_t)count * element);
    if (!in_place) {
        char *after = malloc((size_t)count * element + 1);
        test_from_device(ctx, after, device_b, (size_t)count * element);
        assert_memory_equal(after, block, (size_t)count * element);
        free(after);
        test_release(ctx, device_x);
    }
    test_release(ctx, device_b);
    int64_t padding = 0;
    for (int64_t k = 0; k < count; k++) padding += get(t, out, k) == 77;
    assert_int_equal(padding, layout == TRINE_COLMAJOR ? 2 * nrhs : 2 * n);
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) memcpy((char *)x + (size_t)(j * n + i) * element, out + (size_t)AT(i, j) * element, element);
#undef AT
    free(block);
    free(out);
}

static double backward_error(trine_matrix A, trine_transpose op, int64_t nrhs, const void *x, const void *b)
{
    trine_matrix op_A = op_of(A, op);
    trine_accuracy accuracy;
    OK(trine_matrix_accuracy(op_A, nrhs, x, b, NULL, &accuracy));
    trine_matrix_destroy(&op_A);
    return accuracy.backward_error;
}

/** x against the dense solution in double complex: well-conditioned matrices only. */
static void assert_like_lapack(trine_matrix A, trine_dtype t, trine_transpose op, int n, int nrhs, const void *x, const void *b)
{
    double complex *dense = calloc((size_t)(n * n) + 1, sizeof *dense), *y = calloc((size_t)(n * nrhs) + 1, sizeof *y);
    int *pivots = calloc((size_t)n + 1, sizeof *pivots), info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values)); /* CSR */
    for (int i = 0; i < n; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const double complex v = (double complex)get(t, values, k);
            if (op == TRINE_N)
                dense[i + columns[k] * n] += v;
            else
                dense[columns[k] + i * n] += op == TRINE_H ? conj(v) : v;
        }
    double largest = 0;
    for (int k = 0; k < n * nrhs; k++) y[k] = (double complex)get(t, b, k);
    zgesv_(&n, &nrhs, dense, &n, pivots, y, &n, &info);
    assert_int_equal(info, 0);
    for (int k = 0; k < n * nrhs; k++) largest = fmax(largest, cabs(y[k]));
    for (int k = 0; k < n * nrhs; k++)
        assert_true(cabs((double complex)get(t, x, k) - y[k]) <= 10 * n * trine_dtype_eps(t) * largest);
    free(dense);
    free(y);
    free(pivots);
}

static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
static const trine_layout layouts[] = {TRINE_COLMAJOR, TRINE_ROWMAJOR};

static void solves_agree_with_dense_lapack(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 31, 70};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes)
            for EACH(s, sizes) {
                const int n = sizes[s];
                trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 4, is_cholesky(methods[m]), 11 * m + t);
                trine_direct plan;
                /* UMFPACK takes pivots down to a tenth of the largest: growth that one step of refinement makes good. */
                OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){
                    .factor.method = methods[m], .ops = TRINE_N | TRINE_T | TRINE_H, .triangular.max_nrhs = 3,
                    .refine = methods[m] == TRINE_DIRECT_LU_UMFPACK}));
                char x[70 * 3 * 16], b[70 * 3 * 16];
                for EACH(o, ops)
                    for (int64_t nrhs = 1; nrhs <= 3; nrhs += 2)
                        for EACH(l, layouts)
                            for (int in_place = 0; in_place < 2; in_place++) {
                                solve(ctx, plan, all_dtypes[t], ops[o], n, nrhs, layouts[l], in_place, b, x);
                                assert_true(backward_error(A, ops[o], nrhs, x, b) < 10);
                                assert_like_lapack(A, all_dtypes[t], ops[o], n, (int)nrhs, x, b);
                            }
                OK(trine_direct_destroy(&plan));
                trine_matrix_destroy(&A);
            }
    OK(trine_context_destroy(&ctx));
}

static void new_values_give_a_new_solution(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            enum { n = 50 };
            trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 3, is_cholesky(methods[m]), t);
            trine_matrix B = rescaled(ctx, A, 4);
            trine_direct plan;
            char x[n * 16], b[n * 16];
            /* UMFPACK's own pivots, a tenth of the largest, would let the rounded factor grow */
            OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){
                .factor = {.method = methods[m], .pivot_threshold = 1}, .ops = TRINE_N | TRINE_T, .refine = (int)t % 2}));
            for (int times = 0; times < 3; times++) {
                OK(trine_direct_update(plan, times == 1 ? A : B));
                solve(ctx, plan, all_dtypes[t], TRINE_T, n, 1, TRINE_COLMAJOR, false, b, x);
                assert_true(backward_error(times == 1 ? A : B, TRINE_T, 1, x, b) < 10);
            }
            OK(trine_direct_destroy(&plan));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

static void an_automatic_plan_follows_its_values_from_cholesky_to_lu(void **state)
{
    (void)state;
    enum { n = 40 };
    trine_context ctx = test_context();
    char x[n * 16], b[n * 16];
    for EACH(t, all_dtypes) {
        trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 3, true, 6), B;
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, all_dtypes[t]));
        OK(trine_matrix_get_arrays(B, &offsets, &columns, &values));
        for (int64_t i = 0; i < n; i += 2) /* every second row: still dominant, no longer Hermitian */
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) put(all_dtypes[t], (void *)values, k, -(double complex)get(all_dtypes[t], values, k));
        trine_direct plan;
        trine_direct_info info;
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.ops = TRINE_N | TRINE_T | TRINE_H}));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.factor.method, TRINE_DIRECT_CHOLESKY);
        OK(trine_direct_update(plan, B));
        OK(trine_direct_get_info(plan, &info));
        assert_int_equal(info.factor.method, TRINE_DIRECT_LU);
        for EACH(o, ops) {
            solve(ctx, plan, all_dtypes[t], ops[o], n, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(B, ops[o], 1, x, b) < 10);
        }
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
        trine_matrix_destroy(&B);
    }
    OK(trine_context_destroy(&ctx));
}

static void refinement_repairs_careless_pivoting(void **state)
{
    (void)state;
    enum { n = 70 };
    trine_context ctx = test_context();
    char x[n * 2 * 16], b[n * 2 * 16];
    for EACH(t, all_dtypes) {
        /* Hardly any diagonal, and a threshold that takes it all the same. */
        trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 5, true, 3);
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                if (columns[k] == i) put(all_dtypes[t], (void *)values, k, 1e-3);
        for EACH(o, ops) {
            double error[2];
            for (int refine = 0; refine < 2; refine++) {
                trine_direct plan;
                OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){
                    .factor = {TRINE_DIRECT_LU, TRINE_ORDERING_NATURAL, 1e-12, 0}, .ops = ops[o], .refine = 3 * refine, .triangular.max_nrhs = 2}));
                solve(ctx, plan, all_dtypes[t], ops[o], n, 2, layouts[o % 2], o == 1, b, x);
                error[refine] = backward_error(A, ops[o], 2, x, b);
                OK(trine_direct_destroy(&plan));
            }
            assert_true(error[0] > 10);
            assert_true(error[1] < 2);
        }
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** B = D_r A D_c of type t, with a random phase a row and a column; D_c = D_r^H keeps a Hermitian matrix one. Real types: a copy. */
static trine_matrix with_phases(trine_matrix A, trine_dtype t, bool hermitian)
{
    trine_matrix B;
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, t));
    if (t == TRINE_S || t == TRINE_D) return B;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(B, &offsets, &columns, &values));
    for (int64_t i = 0; i < info.n_rows; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t j = columns[k];
            const double row = 6.283185307179586 * test_uniform(21, (uint64_t)i), column = 6.283185307179586 * test_uniform(22, (uint64_t)j);
            const double angle = hermitian ? row - 6.283185307179586 * test_uniform(21, (uint64_t)j) : row + column;
            /* cos is even and sin odd, exactly: (i,j) and (j,i) come out conjugate. */
            if (!hermitian || i != j) put(t, (void *)values, k, (double)creall(get(t, values, k)) * CMPLX(cos(angle), sin(angle)));
        }
    return B;
}

/** Skips the test if one of the matrices is not there; before anything is made that a skip would leak. */
#define NEED_MATRICES(names) do { for EACH(i_, names) test_real_matrix(names[i_]); } while (0)

static void real_matrices_are_solved_to_a_small_backward_error(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3", "bcsstk14", "bcsstk16", "ex10hs", "sherman3", "sherman5", "add32", "orsreg_1", "rajat01",
                                        "adder_dcop_05", "cryg2500", "hangGlider_2", "pde2961", "tub1000"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names) {
        trine_matrix A;
        trine_matrix_structure s;
        OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
        OK(trine_matrix_get_structure(A, &s));
        const int64_t n = s.n_rows;
        char *x = malloc((size_t)n * 3 * 16), *b = malloc((size_t)n * 3 * 16);
        for EACH(t, all_dtypes)
            for (int umfpack = 0; umfpack < 2; umfpack++) {
                const bool single = trine_dtype_is_single(all_dtypes[t]), pair = all_dtypes[t] == TRINE_D || all_dtypes[t] == TRINE_C;
                if (((umfpack || n > 4000) && !pair) || (s.nnz > 200000 && (umfpack || single))) continue; /* to save time */
                if (!strcmp(names[m], "ex10hs") && single) continue; /* condition 5e11: no solution in single */
                trine_matrix B = with_phases(A, all_dtypes[t], s.hermitian);
                trine_direct plan;
                trine_direct_info info;
                /* One step of refinement, two in UMFPACK's: partial and threshold pivoting leave some growth. */
                OK(trine_direct_create(ctx, &plan, B, &(trine_direct_options){
                    .factor.method = umfpack ? TRINE_DIRECT_LU_UMFPACK : TRINE_DIRECT_AUTO, .ops = TRINE_N | TRINE_T | TRINE_H,
                    .triangular.max_nrhs = 3, .refine = 1 + umfpack}));
                OK(trine_direct_get_info(plan, &info));
                if (!umfpack && (all_dtypes[t] == TRINE_D || all_dtypes[t] == TRINE_Z)) /* rounding to single may cost definiteness */
                    assert_int_equal(info.factor.method, s.hermitian && s.positive_diagonal ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_LU);
                for EACH(o, ops) {
                    const int nrhs = o == 1 ? 1 : 3;
                    solve(ctx, plan, all_dtypes[t], ops[o], n, nrhs, layouts[(t + o) % 2], o == 2, b, x);
                    const double error = backward_error(B, ops[o], nrhs, x, b);
                    if (!(error < 10)) print_error("%s, dtype %d, %s, op %d: backward error %g eps\n", names[m], (int)all_dtypes[t],
                                                   trine_direct_method_name(info.factor.method), (int)ops[o], error);
                    assert_true(error < 10);
                }
                OK(trine_direct_destroy(&plan));
                trine_matrix_destroy(&B);
            }
        free(x);
        free(b);
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

static void cholesky_needs_no_refinement_on_real_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3", "bcsstk14", "bcsstk16", "ex10hs"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names)
        for (int simplicial = 0; simplicial < 2; simplicial++) {
            trine_matrix A;
            trine_matrix_info info;
            trine_direct plan;
            OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
            OK(trine_matrix_get_info(A, &info));
            char *x = malloc((size_t)info.n_rows * 8), *b = malloc((size_t)info.n_rows * 8);
            OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){
                .factor.method = simplicial ? TRINE_DIRECT_CHOLESKY_SIMPLICIAL : TRINE_DIRECT_CHOLESKY}));
            solve(ctx, plan, TRINE_D, TRINE_N, info.n_rows, 1, TRINE_COLMAJOR, false, b, x);
            assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
            OK(trine_direct_destroy(&plan));
            trine_matrix_destroy(&A);
            free(x);
            free(b);
        }
    OK(trine_context_destroy(&ctx));
}

/** airfoil_2d's U has ill-conditioned blocks, whose inverses are no good. */
static void lu_needs_no_refinement_on_real_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"airfoil_2d", "orsreg_1", "pde2961", "cryg2500"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names) {
        trine_matrix A;
        trine_matrix_info info;
        trine_direct plan;
        trine_direct_info made;
        OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
        OK(trine_matrix_get_info(A, &info));
        double *x = malloc((size_t)info.n_rows * sizeof *x), *b = malloc((size_t)info.n_rows * sizeof *b), *s = malloc((size_t)info.n_rows * sizeof *s);
        for (int64_t i = 0; i < info.n_rows; i++) s[i] = 2 * test_uniform(6, (uint64_t)i) - 1;
        OK(trine_matrix_multiply(A, TRINE_N, NULL, s, NULL, b)); /* x is of the size of s: an error cannot hide behind a huge one */
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU}));
        OK(trine_direct_get_info(plan, &made));
        void *data = test_to_device(ctx, b, (size_t)info.n_rows * sizeof *b);
        const trine_dense X = {.data = data, .rows = info.n_rows, .cols = 1};
        OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
        test_from_device(ctx, x, data, (size_t)info.n_rows * sizeof *x);
        test_release(ctx, data);
        print_message("%s: backward error %.2f eps, %s\n", names[m], backward_error(A, TRINE_N, 1, x, b), made.reason);
        assert_true(backward_error(A, TRINE_N, 1, x, b) < 10);
        OK(trine_direct_destroy(&plan));
        trine_matrix_destroy(&A);
        free(x);
        free(b);
        free(s);
    }
    OK(trine_context_destroy(&ctx));
}

static void real_factors_multiply_to_the_matrix(void **state)
{
    (void)state;
    static const char *const names[] = {"nos3", "tub1000", "adder_dcop_05", "cryg2500"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    for EACH(m, names)
        for EACH(f, methods) {
            trine_matrix A;
            trine_factor F;
            OK(trine_matrix_read(ctx, &A, test_real_matrix(names[m]), TRINE_D));
            if (!is_cholesky(methods[f]) || m == 0) {
                OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[f]}));
                assert_identity(F, A);
                assert_panels(F);
                OK(trine_factor_destroy(&F));
            }
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

static void a_real_singular_matrix_ends_with_a_sentence(void **state)
{
    (void)state;
    static const char *const names[] = {"zenios"};
    NEED_MATRICES(names);
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    OK(trine_matrix_read(ctx, &A, test_real_matrix(names[0]), TRINE_D));
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LU_UMFPACK; method++) {
        const bool cholesky = is_cholesky((trine_direct_method)method);
        FAILS(cholesky ? TRINE_ERR_NOT_DEFINITE : TRINE_ERR_SINGULAR, "column",
              trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = (trine_direct_method)method}));
        assert_null(plan);
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void an_empty_system_is_solved(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_C, 0, 0, 0, NULL, NULL, NULL));
    for (int refine = 0; refine < 2; refine++) {
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = refine}));
        const trine_dense X = {.rows = 0, .cols = 1};
        OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
        OK(trine_direct_destroy(&plan));
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

static void every_wrong_argument_of_a_solve_is_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 2, {0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}), other, single;
    trine_matrix singular = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1});
    other = MATRIX(ctx, 3, {0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2});
    OK(trine_matrix_copy(A, &single, TRINE_HOST, TRINE_CSR, TRINE_S));
    trine_direct plan = (trine_direct)1;
    trine_direct_info info;
    double host[4] = {1, 2, 3, 4};
    void *data = test_to_device(ctx, host, sizeof host);
    const trine_dense V = {data, 2, 1, 2, TRINE_COLMAJOR}, W = {data, 2, 2, 2, TRINE_COLMAJOR}, tall = {data, 3, 1, 3, TRINE_COLMAJOR};
    struct trine_work_s work;
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_create(ctx, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_direct_create(NULL, &plan, A, NULL));
    assert_null(plan);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_direct_create(ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ops 0x8", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.ops = 8}));
    FAILS(TRINE_ERR_ARGUMENT, "-1 steps", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "max_nrhs", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.max_nrhs = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "no method", trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = (trine_direct_method)9}));
    FAILS(TRINE_ERR_ARGUMENT, NULL, trine_direct_create(ctx, &plan, A, &(trine_direct_options){.triangular.method = (trine_triangular_method)999}));
    FAILS(TRINE_ERR_SINGULAR, NULL, trine_direct_create(ctx, &plan, singular, NULL));
    assert_null(plan);
    OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = TRINE_DIRECT_LU, .solver = TRINE_SOLVER_SUPERNODAL}));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_solve(NULL, TRINE_N, &V, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_direct_solve(plan, (trine_transpose)3, &V, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B is NULL", trine_direct_solve(plan, TRINE_N, NULL, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", trine_direct_solve(plan, TRINE_N, &V, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 3 rows", trine_direct_solve(plan, TRINE_N, &tall, &V, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "B has 1 columns and X 2", trine_direct_solve(plan, TRINE_N, &V, &W, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "its own work", trine_direct_solve(plan, TRINE_N, &V, &V, &(trine_exec){.work = &work}));
    FAILS(TRINE_ERR_STATE, "not announced", trine_direct_solve(plan, TRINE_T, &V, &V, NULL));
    FAILS(TRINE_ERR_STATE, "2 right-hand sides", trine_direct_solve(plan, TRINE_N, &W, &W, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_get_info(NULL, &info));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_direct_get_info(plan, NULL));
    OK(trine_direct_get_info(plan, &info));
    assert_int_equal(info.factor.method, TRINE_DIRECT_LU);
    assert_int_equal(info.solver, TRINE_SOLVER_SUPERNODAL);
    assert_int_equal(info.lower_panels.n, info.factor.n);
    assert_int_equal(info.upper_panels.n, info.factor.n);
    assert_true(info.analyse_seconds >= 0 && info.numeric_seconds >= 0);
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_update(NULL, A));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_direct_update(plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "dtype", trine_direct_update(plan, single));
    OK(trine_direct_solve(plan, TRINE_N, &V, &V, NULL)); /* still whole */
    FAILS(TRINE_ERR_SINGULAR, NULL, trine_direct_update(plan, singular));
    FAILS(TRINE_ERR_STATE, "update failed", trine_direct_solve(plan, TRINE_N, &V, &V, NULL));
    FAILS(TRINE_ERR_STATE, "update failed", trine_direct_get_info(plan, &info));
    OK(trine_direct_update(plan, A));
    OK(trine_direct_solve(plan, TRINE_N, &V, &V, NULL));
    OK(trine_direct_destroy(&plan));
    OK(trine_direct_destroy(&plan));
    OK(trine_direct_destroy(NULL));
    test_release(ctx, data);
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&other);
    trine_matrix_destroy(&single);
    trine_matrix_destroy(&singular);
    OK(trine_context_destroy(&ctx));
}

static void handles_may_go_in_any_order(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A;
    trine_direct plan;
    double host[9];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=3,ny=3", TRINE_D));
    OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.refine = 1}));
    OK(trine_matrix_destroy(&A)); /* the plan refines with it and keeps it */
    for (int i = 0; i < 9; i++) host[i] = i;
    void *x = test_to_device(ctx, host, sizeof host);
    const trine_dense X = {x, 9, 1, 9, TRINE_COLMAJOR};
    OK(trine_direct_solve(plan, TRINE_N, &X, &X, NULL));
    test_release(ctx, x);
    OK(trine_context_destroy(&ctx));
    OK(trine_direct_destroy(&plan));
}

static void every_allocation_of_a_plan_may_fail(void **state)
{
    (void)state;
    static const struct { trine_direct_method method; trine_direct_solver solver; } some[] = {
        {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_SUPERNODAL}, {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_GENERAL}, {TRINE_DIRECT_CHOLESKY, TRINE_SOLVER_AUTO},
        {TRINE_DIRECT_LU, TRINE_SOLVER_SUPERNODAL}, {TRINE_DIRECT_LU_UMFPACK, TRINE_SOLVER_AUTO}};
    for EACH(m, some) {
        int general = 0; /* plans made without the panels that they had no memory for */
        for (int k = 1;; k++) {
            trine_context ctx;
            test_memory memory = {0};
            OK(trine_context_create(&ctx, "cpu"));
            test_fail_allocations(ctx, &memory);
            trine_matrix A = random_matrix(ctx, TRINE_C, 12, 2, is_cholesky(some[m].method), 5);
            float complex x[12] = {1};
            const trine_dense X = {x, 12, 1, 12, TRINE_COLMAJOR};
            memory.fail_at = memory.calls + k;
            trine_direct plan;
            trine_status status = trine_direct_create(ctx, &plan, A, &(trine_direct_options){
                .factor.method = some[m].method, .solver = some[m].solver, .ops = TRINE_N | TRINE_T | TRINE_H, .refine = 1});
            if (status) assert_null(plan);
            trine_direct_info created = {0}, info = {0};
            if (!status) OK(trine_direct_get_info(plan, &created));
            if (!status) status = trine_direct_update(plan, A);
            const int64_t before = memory.calls;
            if (!status) status = trine_direct_solve(plan, TRINE_T, &X, &X, NULL);
            assert_int_equal(memory.calls, before); /* a solve allocates nothing */
            const bool failed = memory.calls >= memory.fail_at;
            if (!status) OK(trine_direct_get_info(plan, &info));
            if (failed && !status) { /* AUTO goes on with the general solve until the next update, and says why */
                assert_int_equal(some[m].solver, TRINE_SOLVER_AUTO);
                assert_true(created.solver == TRINE_SOLVER_GENERAL || info.solver == TRINE_SOLVER_GENERAL);
                if (info.solver == TRINE_SOLVER_GENERAL) assert_non_null(strstr(info.reason, "memory"));
                general++;
            } else {
                assert_int_equal(status, failed ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
            }
            OK(trine_direct_destroy(&plan));
            OK(trine_matrix_destroy(&A));
            OK(trine_context_destroy(&ctx));
            assert_int_equal(memory.live, 0);
            if (!failed) break;
        }
        assert_int_equal(general > 0, some[m].solver == TRINE_SOLVER_AUTO && some[m].method == TRINE_DIRECT_CHOLESKY);
    }
}

static void general_and_supernodal_plans_share_a_factor(void **state)
{
    (void)state;
    enum { n = 70 };
    static const trine_direct_method some[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_LU};
    trine_context ctx = test_context();
    for EACH(m, some)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 4, is_cholesky(some[m]), 31 + t);
            trine_factor F;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = some[m]}));
            char x[n * 3 * 16], b[n * 3 * 16];
            for (int solver = TRINE_SOLVER_AUTO; solver <= TRINE_SOLVER_GENERAL; solver++) {
                trine_direct plan;
                trine_direct_info info;
                OK(trine_direct_create_from_factor(ctx, &plan, F, A, &(trine_direct_options){
                    .ops = TRINE_N | TRINE_T | TRINE_H, .triangular.max_nrhs = 3, .solver = (trine_direct_solver)solver}));
                OK(trine_direct_get_info(plan, &info));
                if (solver != TRINE_SOLVER_AUTO) assert_int_equal(info.solver, solver);
                assert_non_null(strstr(info.reason, solver == TRINE_SOLVER_AUTO ? "panels" : "asked for"));
                for EACH(o, ops) {
                    solve(ctx, plan, all_dtypes[t], ops[o], n, 3, layouts[o % 2], o == 1, b, x);
                    assert_true(backward_error(A, ops[o], 3, x, b) < 10);
                    assert_like_lapack(A, all_dtypes[t], ops[o], n, 3, x, b);
                }
                OK(trine_direct_destroy(&plan));
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** Panels large enough for several threads at once, subtrees for each of them, and all that may be done to a panel. */
static void large_factors_are_solved_with_every_inversion(void **state)
{
    (void)state;
    static const struct { trine_direct_method method; const char *matrix; } some[] = {
        {TRINE_DIRECT_CHOLESKY, "elasticity3d:n=11"}, {TRINE_DIRECT_LU, "convection3d:n=18"}};
    static const trine_supernodal_invert inverts[] = {TRINE_INVERT_NONE, TRINE_INVERT_DIAG, TRINE_INVERT_OFF};
    trine_context ctx;
    OK(trine_context_create(&ctx, test_on_gpu() ? "cuda" : "cpu:3"));
    for EACH(m, some)
        for EACH(t, all_dtypes) {
            trine_matrix A, B;
            trine_matrix_info info;
            trine_factor F;
            OK(trine_matrix_gallery(ctx, &A, some[m].matrix, TRINE_D));
            B = with_phases(A, all_dtypes[t], is_cholesky(some[m].method));
            OK(trine_matrix_get_info(B, &info));
            OK(trine_factor_create(ctx, &F, B, &(trine_factor_options){.method = some[m].method}));
            const int64_t n = info.n_rows;
            char *x = malloc((size_t)n * 3 * 16), *b = malloc((size_t)n * 3 * 16);
            for EACH(i, inverts) {
                trine_direct plan;
                trine_direct_info made;
                OK(trine_direct_create_from_factor(ctx, &plan, F, B, &(trine_direct_options){
                    .ops = TRINE_N | TRINE_T | TRINE_H, .triangular.max_nrhs = 3, .solver = TRINE_SOLVER_SUPERNODAL, .supernodal.invert = inverts[i]}));
                OK(trine_direct_get_info(plan, &made));
                assert_int_equal(made.lower_panels.invert, inverts[i]);
                for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
                    const trine_transpose op = ops[(t + i + (size_t)nrhs) % 3];
                    solve(ctx, plan, all_dtypes[t], op, n, nrhs, layouts[t % 2], i == 1, b, x);
                    assert_true(backward_error(B, op, nrhs, x, b) < 10);
                }
                OK(trine_direct_destroy(&plan));
            }
            free(x);
            free(b);
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

static void wrong_arguments_of_a_plan_for_a_factor_are_named(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A, small, complex_A;
    trine_factor F, simplicial;
    trine_direct plan;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=4,ny=4", TRINE_D));
    OK(trine_matrix_gallery(ctx, &complex_A, "laplace2d:nx=4,ny=4", TRINE_Z));
    OK(trine_matrix_gallery(ctx, &small, "laplace2d:nx=3,ny=4", TRINE_D));
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_create(ctx, &simplicial, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY_SIMPLICIAL}));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_direct_create_from_factor(ctx, NULL, F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_direct_create_from_factor(NULL, &plan, F, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "F is NULL", trine_direct_create_from_factor(ctx, &plan, NULL, A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_direct_create_from_factor(ctx, &plan, F, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "12 x 12", trine_direct_create_from_factor(ctx, &plan, F, small, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "complex", trine_direct_create_from_factor(ctx, &plan, F, complex_A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "no solver 3", trine_direct_create_from_factor(ctx, &plan, F, A, &(trine_direct_options){.solver = (trine_direct_solver)3}));
    FAILS(TRINE_ERR_UNSUPPORTED, "no supernodal panels",
          trine_direct_create_from_factor(ctx, &plan, simplicial, A, &(trine_direct_options){.solver = TRINE_SOLVER_SUPERNODAL}));
    assert_null(plan);
    OK(trine_factor_destroy(&F));
    OK(trine_factor_destroy(&simplicial));
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&complex_A);
    trine_matrix_destroy(&small);
    OK(trine_context_destroy(&ctx));
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_and_orderings_have_names),
        cmocka_unit_test(factors_multiply_to_the_permuted_and_scaled_matrix),
        cmocka_unit_test(wide_supernodes_keep_the_identity),
        cmocka_unit_test(a_symmetric_grid_gives_cholesky_by_itself),
        cmocka_unit_test(an_empty_matrix_has_an_empty_factor),
        cmocka_unit_test(duplicates_are_summed_and_unsorted_rows_allowed),
        cmocka_unit_test(new_values_give_a_new_factor_with_the_same_ordering),
        cmocka_unit_test(updates_that_do_not_fit_are_refused),
        cmocka_unit_test(singular_and_indefinite_matrices_are_named_and_nothing_is_printed),
        cmocka_unit_test(singular_matrices_of_any_shape_never_crash),
        cmocka_unit_test(nearly_singular_matrices_are_factored_with_a_warning),
        cmocka_unit_test(every_wrong_argument_of_a_factor_is_refused),
        cmocka_unit_test(every_allocation_of_a_factor_may_fail),
        cmocka_unit_test(solves_agree_with_dense_lapack),
        cmocka_unit_test(new_values_give_a_new_solution),
        cmocka_unit_test(an_automatic_plan_follows_its_values_from_cholesky_to_lu),
        cmocka_unit_test(refinement_repairs_careless_pivoting),
        cmocka_unit_test(real_matrices_are_solved_to_a_small_backward_error),
        cmocka_unit_test(cholesky_needs_no_refinement_on_real_matrices),
        cmocka_unit_test(lu_needs_no_refinement_on_real_matrices),
        cmocka_unit_test(real_factors_multiply_to_the_matrix),
        cmocka_unit_test(a_real_singular_matrix_ends_with_a_sentence),
        cmocka_unit_test(an_empty_system_is_solved),
        cmocka_unit_test(every_wrong_argument_of_a_solve_is_refused),
        cmocka_unit_test(handles_may_go_in_any_order),
        cmocka_unit_test(every_allocation_of_a_plan_may_fail),
        cmocka_unit_test(general_and_supernodal_plans_share_a_factor),
        cmocka_unit_test(large_factors_are_solved_with_every_inversion),
        cmocka_unit_test(wrong_arguments_of_a_plan_for_a_factor_are_named),
    };
    return TEST_MAIN(tests);
}
