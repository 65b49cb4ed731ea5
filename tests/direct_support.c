#include "direct_support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

void zgesv_(const int *n, const int *nrhs, double complex *A, const int *lda, int *pivots, double complex *B,
            const int *ldb, int *info);

const trine_direct_method methods[6] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL,
                                        TRINE_DIRECT_LU,       TRINE_DIRECT_LU_UMFPACK,
                                        TRINE_DIRECT_LU_KLU,   TRINE_DIRECT_LDL};
const trine_transpose ops[3] = {TRINE_N, TRINE_T, TRINE_H};
const trine_layout layouts[2] = {TRINE_COLMAJOR, TRINE_ROWMAJOR};

bool is_cholesky(trine_direct_method method)
{
    return method == TRINE_DIRECT_CHOLESKY || method == TRINE_DIRECT_CHOLESKY_SIMPLICIAL;
}
bool is_relaxed(trine_direct_method method)
{
    return method == TRINE_DIRECT_LU_UMFPACK || method == TRINE_DIRECT_LU_KLU;
}
bool is_hermitian(trine_direct_method method) { return is_cholesky(method) || method == TRINE_DIRECT_LDL; }

static double complex random_value(uint64_t seed, uint64_t counter)
{
    return 2 * test_uniform(seed, 2 * counter) - 1 + (2 * test_uniform(seed, 2 * counter + 1) - 1) * _Complex_I;
}

/* ---------------------------------------------------------------- matrices */

trine_matrix random_matrix(trine_context ctx, trine_dtype t, int64_t n, int row, bool hermitian, uint64_t seed)
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

trine_matrix matrix_of(trine_context ctx, int64_t n, int count, const struct entry *entries)
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

trine_matrix rescaled(trine_context ctx, trine_matrix A, uint64_t seed)
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

trine_matrix with_phases(trine_matrix A, trine_dtype t, bool hermitian)
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
            const double row = 6.283185307179586 * test_uniform(21, (uint64_t)i),
                         column = 6.283185307179586 * test_uniform(22, (uint64_t)j);
            const double angle = hermitian ? row - 6.283185307179586 * test_uniform(21, (uint64_t)j) : row + column;
            /* cos is even and sin odd, exactly: (i,j) and (j,i) come out conjugate. */
            if (!hermitian || i != j)
                put(t, (void *)values, k, (double)creall(get(t, values, k)) * (cos(angle) + sin(angle) * _Complex_I));
        }
    return B;
}

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
    trine_factor_info factor;
    OK(trine_factor_get_info(F, &factor));
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
            /* no explicit zero; KLU's pattern stays for new values, and so do the zeros in it */
            assert_true(rows[k] == j || get(info.dtype, values, k) != 0 || factor.method == TRINE_DIRECT_LU_KLU);
        }
    return T;
}

void assert_identity(trine_factor F, trine_matrix A)
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
    if (info.diag_L == TRINE_NONUNIT) OK(trine_matrix_transpose(L, &U, TRINE_H));
    else U = triangle(F, TRINE_UPPER);
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
    const bool single = info.dtype == TRINE_S || info.dtype == TRINE_C;
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
            if (!(cabsl(difference[i]) <=
                  (double)n * (4 * eps_of(info.dtype) * bound[i] + (single ? FLT_MIN : DBL_MIN)))) {
                print_error("n %lld, %s, %s: (%lld,%lld) differs by %Lg, |L||U| %Lg\n", (long long)n,
                            trine_direct_method_name(info.method), trine_ordering_name(info.ordering), (long long)i,
                            (long long)j, cabsl(difference[i]), bound[i]);
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
    if (!has_panels(info.method)) {
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
            for (int64_t k = offsets[first + j]; k < offsets[first + j + 1]; k++)
                column[rows[k]] = get(info.dtype, values, k);
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

void assert_panels(trine_factor F)
{
    assert_panels_hold(F, TRINE_LOWER);
    assert_panels_hold(F, TRINE_UPPER);
}

/* ------------------------------------------------------------------ solves */

static trine_matrix op_of(trine_matrix A, trine_transpose op)
{
    trine_matrix B;
    trine_matrix_info info;
    OK(trine_matrix_get_info(A, &info));
    if (op == TRINE_N) OK(trine_matrix_copy(A, &B, TRINE_HOST, info.format, info.dtype));
    else OK(trine_matrix_transpose(A, &B, op));
    return B;
}

void solve(trine_context ctx, trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs,
           trine_layout layout, bool in_place, void *b, void *x)
{
    solve_with(ctx, plan, t, op, n, nrhs, layout, in_place, b, x, NULL);
}

void solve_with(trine_context ctx, trine_direct plan, trine_dtype t, trine_transpose op, int64_t n, int64_t nrhs,
                trine_layout layout, bool in_place, void *b, void *x, const trine_exec *exec)
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
    OK(trine_direct_solve(plan, op, &B, &X, exec));
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
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)x + (size_t)(j * n + i) * element, out + (size_t)AT(i, j) * element, element);
#undef AT
    free(block);
    free(out);
}

double backward_error(trine_matrix A, trine_transpose op, int64_t nrhs, const void *x, const void *b)
{
    trine_matrix op_A = op_of(A, op);
    trine_accuracy accuracy;
    OK(trine_matrix_accuracy(op_A, nrhs, x, b, NULL, &accuracy));
    trine_matrix_destroy(&op_A);
    return accuracy.backward_error;
}

void assert_like_lapack(trine_matrix A, trine_dtype t, trine_transpose op, int n, int nrhs, const void *x,
                        const void *b)
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
            if (op == TRINE_N) dense[i + columns[k] * n] += v;
            else dense[columns[k] + i * n] += op == TRINE_H ? conj(v) : v;
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

/* ------------------------------------------------------------------- works */

trine_work make_work(trine_context ctx, trine_direct plan, int64_t nrhs, bool in_buffer, size_t more, void **room)
{
    trine_work work;
    size_t bytes;
    *room = NULL;
    if (!in_buffer) {
        OK(trine_direct_work(plan, nrhs, NULL, NULL, &work));
        return work;
    }
    trine_context_info info;
    OK(trine_context_get_info(ctx, &info));
    OK(trine_direct_work(plan, nrhs, NULL, &bytes, NULL));
    bytes += more;
    OK(trine_alloc(ctx, info.space, bytes + 256, room));
    OK(trine_direct_work(plan, nrhs, (char *)*room + (256 - (uintptr_t)*room % 256), &bytes, &work));
    return work;
}
void end_work(trine_context ctx, trine_work *work, void *room)
{
    trine_context_info info;
    OK(trine_work_destroy(work));
    OK(trine_context_get_info(ctx, &info));
    trine_free(ctx, info.space, room);
}

trine_direct_options options_of(trine_direct_method method, trine_direct_solver solver, int refine, int64_t max_nrhs)
{
    return (trine_direct_options){.factor.method = method,
                                  .solver = solver,
                                  .ops = TRINE_N | TRINE_T | TRINE_H,
                                  .refine = refine,
                                  .triangular = {.max_nrhs = max_nrhs, .summation = TRINE_ORDER_DETERMINISTIC},
                                  .supernodal.access = TRINE_ACCESS_PULL};
}
bool has_panels(trine_direct_method method) { return method == TRINE_DIRECT_CHOLESKY || method == TRINE_DIRECT_LU; }
