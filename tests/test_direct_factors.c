/* Factorizations: L U is the matrix, permuted and scaled; new values; whatever shape it has. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "direct_support.h"

static void factors_multiply_to_the_permuted_and_scaled_matrix(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 31, 90};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(s, sizes)
            for EACH(t, all_dtypes)
                for (int ordering = TRINE_ORDERING_AUTO; ordering <= TRINE_ORDERING_NATURAL; ordering++) {
                    if (is_hermitian(methods[m]) && ordering == TRINE_ORDERING_COLAMD) continue;
                    trine_matrix A =
                        random_matrix(ctx, all_dtypes[t], sizes[s], 3, is_hermitian(methods[m]), 7 * s + t);
                    trine_factor F;
                    trine_factor_info info;
                    OK(trine_factor_create(
                        ctx, &F, A,
                        &(trine_factor_options){.method = methods[m], .ordering = (trine_ordering)ordering}));
                    OK(trine_factor_get_info(F, &info));
                    assert_int_equal(info.method, methods[m]);
                    /* UMFPACK takes singletons out first, and another ordering where the diagonal is no pivot
                     * sequence. */
                    if (ordering && methods[m] != TRINE_DIRECT_LU_UMFPACK) assert_int_equal(info.ordering, ordering);
                    assert_int_equal(info.dtype,
                                     all_dtypes[t] == TRINE_S || all_dtypes[t] == TRINE_D ? TRINE_D : TRINE_Z);
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
        trine_matrix A = random_matrix(ctx, TRINE_Z, 150, 40, is_hermitian(methods[m]), 3); /* nearly dense */
        trine_factor F;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m]}));
        assert_identity(F, A);
        assert_panels(F);
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** AUTO's choice for A, which goes: the method, and a word of the reason. */
static void assert_choice(trine_context ctx, trine_matrix A, trine_direct_method method, const char *reason)
{
    trine_factor F;
    trine_factor_info info;
    OK(trine_factor_create(ctx, &F, A, NULL));
    OK(trine_factor_get_info(F, &info));
    if (info.method != method || !strstr(info.reason, reason))
        fail_msg("%s (%s), not %s (%s)", trine_direct_method_name(info.method), info.reason,
                 trine_direct_method_name(method), reason);
    assert_identity(F, A);
    assert_panels(F);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
}

/** On a GPU the factors are those that have panels, but for L D L^H. */
static void choices_follow_the_matrix(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const bool gpu = test_on_gpu();
    const trine_direct_method sparse_lu = gpu ? TRINE_DIRECT_LU : TRINE_DIRECT_LU_KLU,
                              dense_lu = gpu ? TRINE_DIRECT_LU : TRINE_DIRECT_LU_UMFPACK;
    trine_matrix A;
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=13,ny=17", TRINE_D));
    assert_choice(ctx, A, gpu ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_CHOLESKY_SIMPLICIAL, "positive diagonal");
    for EACH(t, all_dtypes) {
        assert_choice(ctx, random_matrix(ctx, all_dtypes[t], 150, 40, true, 3), TRINE_DIRECT_CHOLESKY,
                      "positive diagonal");
        assert_choice(ctx, random_matrix(ctx, all_dtypes[t], 60, 3, false, 3), sparse_lu, "not Hermitian");
        assert_choice(ctx, random_matrix(ctx, all_dtypes[t], 150, 40, false, 3), dense_lu, "not Hermitian");
    }
    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1});
    assert_choice(ctx, A, TRINE_DIRECT_LDL, "not positive definite");
    A = MATRIX(ctx, 2, {0, 0, -1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1});
    assert_choice(ctx, A, TRINE_DIRECT_LDL, "a diagonal entry is not positive");
    A = MATRIX(ctx, 2, {0, 0, 0}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1});
    assert_choice(ctx, A, sparse_lu, "a diagonal entry is not positive");
    A = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}); /* no entry there at all */
    assert_choice(ctx, A, sparse_lu, "a diagonal entry is not positive");
    /* L D L^H grows beyond repair */
    A = MATRIX(ctx, 3, {0, 0, 1e-20}, {0, 1, 1}, {0, 2, 2}, {1, 0, 1}, {1, 1, 1}, {1, 2, 5}, {2, 0, 2}, {2, 1, 5},
               {2, 2, 1});
    assert_choice(ctx, A, sparse_lu, "not positive definite");
    /* its pivots leave little of the rest: three steps of refinement are not enough */
    A = MATRIX(ctx, 4, {0, 0, 1e-15}, {0, 1, .1}, {0, 2, .7}, {0, 3, .3}, {1, 0, .1}, {1, 1, 1e-15}, {1, 2, 5},
               {1, 3, .7}, {2, 0, .7}, {2, 1, 5}, {2, 2, 1e-15}, {2, 3, .9}, {3, 0, .3}, {3, 1, .7}, {3, 2, .9},
               {3, 3, 1e-15});
    assert_choice(ctx, A, sparse_lu, "not positive definite");
    A = MATRIX(ctx, 2, {0, 1, 2}, {1, 0, 3});
    assert_choice(ctx, A, sparse_lu, "A is not Hermitian");
    for (int hermitian = 0; hermitian < 2; hermitian++) { /* panels, where they are needed */
        A = random_matrix(ctx, TRINE_D, 60, 3, hermitian, 3);
        trine_factor F;
        trine_factor_info info;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.need_panels = 1}));
        OK(trine_factor_get_info(F, &info));
        assert_int_equal(info.method, hermitian ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_LU);
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** Whatever the order, a sparse factor is taken for one, and no reason tells of a count that was not made. */
static void choices_do_not_depend_on_who_ordered(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for (int hermitian = 0; hermitian < 2; hermitian++) {
        trine_matrix A;
        if (hermitian) OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=13,ny=17", TRINE_D));
        else A = random_matrix(ctx, TRINE_D, 60, 3, false, 3);
        for (int ordering = TRINE_ORDERING_AUTO; ordering <= TRINE_ORDERING_NATURAL; ordering++) {
            trine_factor F;
            trine_factor_info info;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.ordering = (trine_ordering)ordering}));
            OK(trine_factor_get_info(F, &info));
            assert_null(strstr(info.reason, "-1"));
            assert_null(strstr(info.reason, "-2"));
            if (hermitian && ordering != TRINE_ORDERING_COLAMD && ordering != TRINE_ORDERING_NATURAL)
                assert_int_equal(info.method, test_on_gpu() ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_CHOLESKY_SIMPLICIAL);
            assert_identity(F, A);
            OK(trine_factor_destroy(&F));
        }
        trine_matrix_destroy(&A);
    }
    OK(trine_context_destroy(&ctx));
}

/** A norm beyond double precision does not make every error small: scaled by a power of two, a trial ends the same. */
static void trials_do_not_depend_on_the_scale(void **state)
{
    (void)state;
    enum { N = 203 }; /* a block whose L D L^H grows by 50, and a row of 200 entries */
    static struct entry entries[4 + 5 * N];
    trine_context ctx = test_context();
    double errors[2];
    int steps[2];
    for (int huge = 0; huge < 2; huge++) {
        const double s = huge ? 0x1p1017 : 1;
        int count = 0;
        entries[count++] = (struct entry){0, 0, 0.02 * s};
        entries[count++] = (struct entry){0, 1, s};
        entries[count++] = (struct entry){1, 0, s};
        entries[count++] = (struct entry){1, 1, 0.3 * s};
        for (int i = 2; i < N - 1; i++) {
            entries[count++] = (struct entry){i, i, i % 2 ? s : -s};
            entries[count++] = (struct entry){i, N - 1, 0.9 * s};
        }
        for (int i = 2; i < N - 1; i++) entries[count++] = (struct entry){N - 1, i, 0.9 * s};
        entries[count++] = (struct entry){N - 1, N - 1, s};
        trine_matrix A = matrix_of(ctx, N, count, entries);
        trine_factor F;
        trine_factor_info info;
        OK(trine_factor_create(
            ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LDL, .ordering = TRINE_ORDERING_NATURAL}));
        OK(trine_factor_get_info(F, &info));
        errors[huge] = info.trial_error;
        steps[huge] = info.refine;
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&A);
    }
    assert_true(errors[0] > 0);
    assert_true(errors[0] == errors[1]);
    assert_int_equal(steps[0], steps[1]);
    OK(trine_context_destroy(&ctx));
}

/** Whether block_triangular has an entry there, and a number in (0,1) for it. */
static bool block_entry(int n, int i, int j, uint64_t seed, double *u)
{
    enum { SIZE = 7 };
    *u = test_uniform(seed, (uint64_t)(i * n + j));
    return j / SIZE == i / SIZE ? *u < 0.5 || i == j : j > i && *u < 0.06;
}

/** Blocks of KLU's on the diagonal and entries above them, in a random order of rows and columns. */
static trine_matrix block_triangular(trine_context ctx, trine_dtype t, int n, uint64_t seed)
{
    trine_matrix A, permuted;
    int64_t *offsets, nnz = 0;
    int32_t *columns, p[200], q[200];
    void *values;
    double u;
    assert_true(n <= 200);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) nnz += block_entry(n, i, j, seed, &u);
    OK(trine_matrix_allocate(ctx, &A, TRINE_CSR, t, n, n, nnz, &offsets, &columns, &values));
    nnz = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (!block_entry(n, i, j, seed, &u)) continue;
            columns[nnz] = j;
            put(t, values, nnz++, u - 0.3 + (test_uniform(seed + 1, (uint64_t)(i * n + j)) - 0.5) * _Complex_I);
        }
        offsets[i + 1] = nnz;
        p[i] = q[i] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        const int a = (int)((i + 1) * test_uniform(seed + 2, (uint64_t)i)),
                  b = (int)((i + 1) * test_uniform(seed + 3, (uint64_t)i));
        const int32_t pi = p[i], qi = q[i];
        p[i] = p[a], p[a] = pi;
        q[i] = q[b], q[b] = qi;
    }
    OK(trine_matrix_permute(A, &permuted, p, q));
    trine_matrix_destroy(&A);
    return permuted;
}

static void blocks_of_klu_make_two_triangles(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(t, all_dtypes)
        for (uint64_t seed = 0; seed < 12; seed++) {
            trine_matrix A = block_triangular(ctx, all_dtypes[t], 20 + 13 * (int)seed, 10 * seed);
            trine_matrix B = rescaled(ctx, A, seed);
            trine_factor F;
            trine_factor_info info;
            const trine_status status =
                trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LU_KLU});
            if (status == TRINE_ERR_SINGULAR) { /* a random block may be */
                trine_matrix_destroy(&A);
                trine_matrix_destroy(&B);
                continue;
            }
            OK(status);
            assert_identity(F, A);
            for (int times = 0; times < 3; times++) {
                OK(trine_factor_update(F, times == 1 ? A : B));
                assert_identity(F, times == 1 ? A : B);
            }
            OK(trine_factor_get_info(F, &info));
            assert_true(info.trial_error >= 0 && info.trial_error < 10);
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    OK(trine_context_destroy(&ctx));
}

/** New values for which the old pivots would grow the factor, or are zero: KLU chooses others. */
static void klu_leaves_pivots_that_have_become_small(void **state)
{
    (void)state;
    static const double pivots[] = {1e-12, 1e-300, 0};
    trine_context ctx = test_context();
    trine_matrix A = MATRIX(ctx, 3, {0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {1, 2, 1}, {2, 1, 1}, {2, 2, 4});
    for EACH(k, pivots) {
        trine_matrix B =
            MATRIX(ctx, 3, {0, 0, pivots[k]}, {0, 1, 1}, {1, 0, 1}, {1, 1, 4}, {1, 2, 1}, {2, 1, 1}, {2, 2, 4});
        trine_factor F;
        trine_factor_info info;
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LU_KLU}));
        OK(trine_factor_update(F, B));
        assert_identity(F, B);
        OK(trine_factor_get_info(F, &info));
        assert_true(info.trial_error < 10);
        assert_int_equal(info.refine, 0);
        OK(trine_factor_destroy(&F));
        trine_matrix_destroy(&B);
    }
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** In an order that is given UMFPACK has its symmetric strategy, with pivots from the diagonal, where the pattern is
 *  symmetric: as dense as Cholesky's L. Values are not symmetric. */
static void a_given_order_of_a_symmetric_pattern_keeps_the_diagonal(void **state)
{
    (void)state;
    enum { SIDE = 30, n = SIDE * SIDE };
    trine_context ctx = test_context();
    trine_matrix S, A;
    trine_factor F;
    trine_matrix_info info;
    int32_t order[n];
    const int32_t *p, *q, *r;
    const void *values;
    OK(trine_matrix_gallery(ctx, &S, "laplace2d:n=30", TRINE_D));
    OK(trine_factor_create(ctx, &F, S, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY}));
    OK(trine_factor_get_permutations(F, &r, NULL, NULL, NULL));
    memcpy(order, r, sizeof order);
    trine_factor_info symmetric, given;
    OK(trine_factor_get_info(F, &symmetric));
    OK(trine_factor_destroy(&F));
    OK(trine_matrix_copy(S, &A, TRINE_HOST, TRINE_CSR, TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, NULL, NULL, &values));
    for (int64_t k = 0; k < info.nnz; k++)
        ((double *)values)[k] *= 1 + 0.01 * (double)(k % 7); /* A is the test's own */
    OK(trine_factor_create(ctx, &F, A,
                           &(trine_factor_options){.method = TRINE_DIRECT_LU_UMFPACK, .permutation = order}));
    OK(trine_factor_get_permutations(F, &p, &q, NULL, NULL));
    OK(trine_factor_get_info(F, &given));
    assert_int_equal(given.ordering, TRINE_ORDERING_GIVEN);
    assert_memory_equal(p, q, sizeof order);
    assert_true(given.nnz_L <= symmetric.nnz_L && given.nnz_U <= symmetric.nnz_L);
    assert_identity(F, A);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    trine_matrix_destroy(&S);
    OK(trine_context_destroy(&ctx));
}

/** The order that one factor took makes the same factor when it is given to another. */
static void an_ordering_can_be_handed_on(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_factor F;
    for EACH(m, methods) {
        trine_matrix A = random_matrix(ctx, TRINE_D, 90, 3, is_hermitian(methods[m]), 2);
        trine_direct plan;
        trine_factor_info first, second;
        const int32_t *p, *q;
        int32_t order[90], broken[90];
        OK(trine_direct_create(ctx, &plan, A, &(trine_direct_options){.factor.method = methods[m]}));
        OK(trine_direct_get_permutations(plan, &p, &q, NULL, NULL));
        memcpy(order, q, sizeof order);
        trine_direct_info info;
        OK(trine_direct_get_info(plan, &info));
        first = info.factor;
        OK(trine_direct_destroy(&plan));
        OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .permutation = order}));
        OK(trine_factor_get_info(F, &second));
        assert_int_equal(second.ordering, TRINE_ORDERING_GIVEN);
        assert_identity(F, A);
        if (is_hermitian(methods[m]) || methods[m] == TRINE_DIRECT_LU) {
            OK(trine_factor_get_permutations(F, &p, &q, NULL, NULL));
            if (is_hermitian(methods[m])) assert_memory_equal(order, q, sizeof order);
            assert_int_equal(second.nnz_L, first.nnz_L);
        }
        memset(order, 0, sizeof order); /* it was copied */
        OK(trine_factor_update(F, A));
        assert_identity(F, A);
        OK(trine_factor_destroy(&F));
        memcpy(broken, order, sizeof broken);
        FAILS(TRINE_ERR_ARGUMENT, "no permutation",
              trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .permutation = broken}));
        broken[3] = 90;
        FAILS(TRINE_ERR_ARGUMENT, "outside 0..89",
              trine_factor_create(ctx, &F, A, &(trine_factor_options){.permutation = broken + 3}));
        trine_matrix_destroy(&A);
    }
    trine_matrix A = random_matrix(ctx, TRINE_D, 4, 3, true, 2);
    static const int32_t order[] = {3, 1, 0, 2};
    FAILS(TRINE_ERR_ARGUMENT, "permutation is NULL",
          trine_factor_create(ctx, &F, A, &(trine_factor_options){.ordering = TRINE_ORDERING_GIVEN}));
    FAILS(
        TRINE_ERR_ARGUMENT, "both",
        trine_factor_create(ctx, &F, A, &(trine_factor_options){.ordering = TRINE_ORDERING_AMD, .permutation = order}));
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.permutation = order}));
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
    for (int method = TRINE_DIRECT_AUTO; method <= TRINE_DIRECT_LDL; method++) {
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

static void new_values_give_a_new_factor_with_the_same_ordering(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            trine_matrix A = random_matrix(ctx, all_dtypes[t], 60, 3, is_hermitian(methods[m]), t);
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

/** LU takes the ordering from SuiteSparse itself, Cholesky from CHOLMOD: with the diagonal as pivots both have as
 *  many entries. */
static void symmetric_orderings_of_lu_are_those_of_cholesky(void **state)
{
    (void)state;
    static const trine_ordering orderings[] = {TRINE_ORDERING_METIS, TRINE_ORDERING_AMD};
    trine_context ctx = test_context();
    trine_matrix A;
    int64_t entries[2][2];
    OK(trine_matrix_gallery(ctx, &A, "laplace2d:nx=40,ny=41", TRINE_D));
    for EACH(o, orderings)
        for (int lu = 0; lu <= 1; lu++) {
            trine_factor F;
            trine_factor_info info;
            OK(trine_factor_create(
                ctx, &F, A,
                &(trine_factor_options){.method = lu ? TRINE_DIRECT_LU : TRINE_DIRECT_CHOLESKY_SIMPLICIAL,
                                        .ordering = orderings[o],
                                        .pivot_threshold = 1e-12}));
            OK(trine_factor_get_info(F, &info));
            entries[o][lu] = info.nnz_L;
            OK(trine_factor_destroy(&F));
        }
    print_message("METIS: %lld, %lld, AMD: %lld, %lld\n", (long long)entries[0][0], (long long)entries[0][1],
                  (long long)entries[1][0], (long long)entries[1][1]);
    assert_int_equal(entries[0][0], entries[0][1]);
    assert_int_equal(entries[1][0], entries[1][1]);
    assert_true(entries[0][0] != entries[1][0]);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

enum { half = 1500, hub_rows = 2 * half, hub_n = hub_rows + 3, tail_step = 75 };

static double hub_diagonal(int j) { return 1 + test_uniform(1, (uint64_t)j); }
static double hub_coupling(int j) { return test_uniform(2, (uint64_t)j) - .5; }
static double tail_coupling(int j) { return j < half && j % tail_step == 0 ? test_uniform(3, (uint64_t)j) + 1 : 0; }

/** The lower triangle's entry (i,j): diagonal, but for two dense rows, the first with entries in the first half of
 *  the columns, the second in the second half, and a last row with few, in the first half. */
static double hub_entry(int i, int j)
{
    if (i < hub_rows) return i == j ? hub_diagonal(i) : 0;
    if (j >= hub_rows && i != j) return i == hub_rows + 1 ? .25 : 0;
    if (i == hub_n - 1) return i == j ? 100 : tail_coupling(j);
    if (i != j) return j / half == i - hub_rows ? hub_coupling(j) : 0;
    double sum = 0; /* of the squares of L(i,:); little is left in the end */
    for (int k = 0; k < hub_rows; k++)
        sum += k / half == i - hub_rows ? hub_coupling(k) * hub_coupling(k) / hub_diagonal(k) : 0;
    return sum + (i == hub_rows ? 16 : .01);
}

static trine_matrix make_hubs(trine_context ctx)
{
    trine_matrix triangle, A;
    int64_t *offsets, nnz = 0;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(ctx, &triangle, TRINE_CSR, TRINE_D, hub_n, hub_n, 2 * hub_rows + half / tail_step + 4,
                             &offsets, &columns, &values));
    for (int i = 0; i < hub_n; i++) {
        for (int j = i < hub_rows ? i : 0; j <= i; j++) {
            const double v = hub_entry(i, j);
            if (v == 0) continue;
            columns[nnz] = j;
            ((double *)values)[nnz++] = v;
        }
        offsets[i + 1] = nnz;
    }
    assert_int_equal(nnz, 2 * hub_rows + half / tail_step + 4);
    OK(trine_matrix_expand(triangle, &A, TRINE_SYMMETRIC));
    trine_matrix_destroy(&triangle);
    return A;
}

/** Dense rows of L are those of the definition, in long double: y = L^-1 a, L(i,i) = sqrt(a_ii - y^T y); other rows
 *  stay as they are, also in columns in which they stand where the dense row would. */
static void dense_rows_are_summed_in_extended_precision(void **state)
{
    (void)state;
    const double eps = 0x1p-52;
    trine_context ctx = test_context();
    trine_matrix A = make_hubs(ctx), L;
    trine_factor F;
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    OK(trine_factor_create(
        ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_CHOLESKY, .ordering = TRINE_ORDERING_NATURAL}));
    assert_identity(F, A);
    assert_panels(F);
    OK(trine_factor_get_triangle(F, TRINE_LOWER, &L));
    OK(trine_matrix_get_arrays(L, &offsets, &rows, &values));
    const double *l = values;
    long double pivots[2] = {hub_entry(hub_rows, hub_rows), hub_entry(hub_rows + 1, hub_rows + 1)};
    for (int j = 0; j < hub_rows; j++) {
        const int hub = j / half;
        const long double y = (long double)hub_coupling(j) / l[offsets[j]];
        assert_int_equal(offsets[j + 1] - offsets[j], tail_coupling(j) != 0 ? 3 : 2);
        assert_int_equal(rows[offsets[j] + 1], hub_rows + hub);
        assert_true(l[offsets[j] + 1] == (double)y);
        if (tail_coupling(j) != 0)
            assert_true(fabs(l[offsets[j] + 2] - tail_coupling(j) / l[offsets[j]]) <= 2 * eps * l[offsets[j] + 2]);
        pivots[hub] -= y * y;
    }
    const double *first = l + offsets[hub_rows], *second = l + offsets[hub_rows + 1];
    const long double between = .25L / sqrtl(pivots[0]);
    pivots[1] -= between * between;
    assert_true(fabsl(first[0] - sqrtl(pivots[0])) <= eps * first[0]);
    assert_true(fabsl(first[1] - between) <= eps * first[1]);
    assert_true(fabsl(second[0] - sqrtl(pivots[1])) <= 4 * eps * second[0]);
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&L);
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** Blocks in which each pivot is an eighth of its column and the last column grows, 9^k in row k, beside a tridiagonal
 *  part. */
static trine_matrix growing_blocks(trine_context ctx)
{
    enum { size = 6, growing = 5 * size, n = 4 * growing };
    struct entry entries[growing * (size + 1) + 3 * n];
    int count = 0;
    for (int i = 0; i < growing; i++) {
        const int first = i / size * size, last = first + size - 1;
        for (int j = first; j <= i; j++) entries[count++] = (struct entry){i, j, j < i ? -8 : 1};
        if (i < last) entries[count++] = (struct entry){i, last, 1};
    }
    for (int i = growing; i < n; i++) {
        if (i > growing) entries[count++] = (struct entry){i, i - 1, 1};
        entries[count++] = (struct entry){i, i, 4};
        if (i + 1 < n) entries[count++] = (struct entry){i, i + 1, 2};
    }
    return matrix_of(ctx, n, count, entries);
}

/** Pivots of a tenth would cost a step of refinement in every solve; the caller's own tolerance stays. */
static void larger_pivots_spare_refinement(void **state)
{
    (void)state;
    if (test_on_gpu()) skip(); /* AUTO is SuperLU there */
    trine_context ctx = test_context();
    trine_matrix A = growing_blocks(ctx);
    trine_factor_options options = {.ordering = TRINE_ORDERING_NATURAL, .pivot_threshold = 0.1};
    trine_factor F;
    trine_factor_info careless, careful;
    OK(trine_factor_create(ctx, &F, A, &options));
    OK(trine_factor_get_info(F, &careless));
    assert_int_equal(careless.method, TRINE_DIRECT_LU_KLU);
    assert_true(careless.refine > 0);
    OK(trine_factor_destroy(&F));
    options.pivot_threshold = 0;
    OK(trine_factor_create(ctx, &F, A, &options));
    for (int times = 0; times < 2; times++) {
        OK(trine_factor_get_info(F, &careful));
        assert_int_equal(careful.method, TRINE_DIRECT_LU_KLU);
        assert_int_equal(careful.refine, 0);
        assert_true(careful.trial_error < 10);
        assert_identity(F, A);
        OK(trine_factor_update(F, A));
    }
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** 1 - 1 * 1 fills (2,1) with a zero, which is no entry; other values make it one, and back again. */
static void zeros_of_simplicial_factors_are_left_out(void **state)
{
    (void)state;
    static const trine_direct_method simplicial[] = {TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_DIRECT_LDL};
    trine_context ctx = test_context();
    trine_matrix with_zero = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {1, 1, 2}, {1, 2, 1}, {2, 0, 1},
                                    {2, 1, 1}, {2, 2, 2}),
                 without = MATRIX(ctx, 3, {0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {1, 1, 3}, {1, 2, 2}, {2, 0, 1},
                                  {2, 1, 2}, {2, 2, 4});
    for EACH(m, simplicial)
        for EACH(t, all_dtypes) {
            trine_factor F;
            trine_factor_info info;
            trine_matrix A, B;
            OK(trine_matrix_copy(with_zero, &A, TRINE_HOST, TRINE_CSR, all_dtypes[t]));
            OK(trine_matrix_copy(without, &B, TRINE_HOST, TRINE_CSC, all_dtypes[t]));
            OK(trine_factor_create(
                ctx, &F, A, &(trine_factor_options){.method = simplicial[m], .ordering = TRINE_ORDERING_NATURAL}));
            for (int times = 0; times < 4; times++) {
                OK(trine_factor_get_info(F, &info));
                assert_int_equal(info.nnz_L, times % 2 ? 6 : 5);
                assert_identity(F, times % 2 ? B : A);
                OK(trine_factor_update(F, times % 2 ? A : B));
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
            trine_matrix_destroy(&B);
        }
    trine_matrix_destroy(&with_zero);
    trine_matrix_destroy(&without);
    OK(trine_context_destroy(&ctx));
}

/** Each row backwards: entries of another order, which an update may have too. */
static trine_matrix backwards(trine_context ctx, trine_matrix A)
{
    trine_matrix B;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    int64_t *to;
    int32_t *turned;
    void *v;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    const size_t size = trine_dtype_size(info.dtype);
    OK(trine_matrix_allocate(ctx, &B, info.format, info.dtype, info.n_rows, info.n_cols, info.nnz, &to, &turned, &v));
    for (int64_t i = 0; i < info.n_rows; i++) {
        to[i + 1] = offsets[i + 1];
        for (int64_t k = offsets[i], at = offsets[i + 1] - 1; k < offsets[i + 1]; k++, at--) {
            turned[at] = columns[k];
            memcpy((char *)v + (size_t)at * size, (const char *)values + (size_t)k * size, size);
        }
    }
    return B;
}

/** By rows or columns, in either order, in the factor's precision or another. */
static void new_values_may_be_stored_in_any_way(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, all_dtypes) {
            enum { n = 60 };
            trine_matrix A = random_matrix(ctx, all_dtypes[t], n, 4, is_hermitian(methods[m]), 3 + t);
            trine_factor F;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .pivot_threshold = 1}));
            for (int way = 0; way < 4; way++) {
                trine_matrix values = rescaled(ctx, A, 20 + (uint64_t)way), B;
                OK(trine_matrix_copy(values, &B, TRINE_HOST, way % 2 ? TRINE_CSC : TRINE_CSR, all_dtypes[t]));
                if (way >= 2) {
                    trine_matrix_destroy(&values);
                    values = B;
                    B = backwards(ctx, values);
                }
                OK(trine_factor_update(F, B));
                assert_identity(F, B);
                trine_matrix_destroy(&values);
                trine_matrix_destroy(&B);
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** A's copy by rows with a last column of its first row, or a value, changed. */
static trine_matrix changed(trine_context ctx, trine_matrix A, bool value)
{
    trine_matrix B;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, info.dtype));
    OK(trine_matrix_get_arrays(B, &offsets, &columns, &values));
    (void)ctx;
    if (value) {
        ((double *)values)[0] = NAN;
    } else {
        int32_t *last = (int32_t *)columns + offsets[1] - 1;
        *last = *last == (int32_t)info.n_cols - 1 ? *last - 1 : (int32_t)info.n_cols - 1;
    }
    return B;
}

/** From the second update by rows on: other patterns and values that are not finite are still seen, and other ways to
 *  store them still taken. */
static void new_values_by_rows_go_to_known_places(void **state)
{
    (void)state;
    static const trine_dtype doubles[] = {TRINE_D, TRINE_Z};
    trine_context ctx = test_context();
    for EACH(m, methods)
        for EACH(t, doubles) {
            enum { n = 60 };
            trine_matrix A = random_matrix(ctx, doubles[t], n, 4, is_hermitian(methods[m]), 5 + t);
            trine_factor F;
            OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = methods[m], .pivot_threshold = 1}));
            for (int times = 0; times < 5; times++) {
                trine_matrix values = rescaled(ctx, A, 30 + (uint64_t)times), B;
                OK(trine_matrix_copy(values, &B, TRINE_HOST, times == 3 ? TRINE_CSC : TRINE_CSR, doubles[t]));
                OK(trine_factor_update(F, B));
                assert_identity(F, B);
                trine_matrix bad = changed(ctx, B, times % 2);
                const trine_status status = trine_factor_update(F, bad);
                assert_int_not_equal(status, TRINE_SUCCESS);
                assert_identity(F, B);
                trine_matrix_destroy(&bad);
                trine_matrix_destroy(&values);
                trine_matrix_destroy(&B);
            }
            OK(trine_factor_destroy(&F));
            trine_matrix_destroy(&A);
        }
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_multiply_to_the_permuted_and_scaled_matrix),
        cmocka_unit_test(wide_supernodes_keep_the_identity),
        cmocka_unit_test(choices_follow_the_matrix),
        cmocka_unit_test(choices_do_not_depend_on_who_ordered),
        cmocka_unit_test(trials_do_not_depend_on_the_scale),
        cmocka_unit_test(blocks_of_klu_make_two_triangles),
        cmocka_unit_test(klu_leaves_pivots_that_have_become_small),
        cmocka_unit_test(a_given_order_of_a_symmetric_pattern_keeps_the_diagonal),
        cmocka_unit_test(an_ordering_can_be_handed_on),
        cmocka_unit_test(symmetric_orderings_of_lu_are_those_of_cholesky),
        cmocka_unit_test(dense_rows_are_summed_in_extended_precision),
        cmocka_unit_test(an_empty_matrix_has_an_empty_factor),
        cmocka_unit_test(duplicates_are_summed_and_unsorted_rows_allowed),
        cmocka_unit_test(new_values_give_a_new_factor_with_the_same_ordering),
        cmocka_unit_test(larger_pivots_spare_refinement),
        cmocka_unit_test(zeros_of_simplicial_factors_are_left_out),
        cmocka_unit_test(new_values_may_be_stored_in_any_way),
        cmocka_unit_test(new_values_by_rows_go_to_known_places),
    };
    return TEST_MAIN(tests);
}
