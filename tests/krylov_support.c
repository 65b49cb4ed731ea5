#include "krylov_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan.h"

static size_t extent(trine_dtype t, const trine_dense *X)
{
    const bool columns = X->layout == TRINE_COLMAJOR;
    const int64_t lines = columns ? X->cols : X->rows, length = columns ? X->rows : X->cols;
    return lines && length ? (size_t)((lines - 1) * (X->ld ? X->ld : length) + length) * trine_dtype_size(t) : 0;
}

static trine_status apply_dense(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)op, (void)exec;
    dense *d = user;
    d->calls++;
    d->columns += (int)X->cols;
    if (d->log) d->log[(*d->log_used)++] = d->name;
    if (d->calls == d->fail_at) return trine_fail(TRINE_ERR_DEVICE, "call %d of the function", d->calls);
    const wide a = get(d->t, alpha, 0), b = get(d->t, beta, 0);
    const size_t x_bytes = extent(d->t, X), y_bytes = extent(d->t, Y);
    void *x = X->data, *y = Y->data;
    if (test_on_gpu()) {
        x = malloc(x_bytes), y = malloc(y_bytes);
        OK(trine_context_synchronize(d->ctx));
        test_from_device(d->ctx, x, X->data, x_bytes);
        test_from_device(d->ctx, y, Y->data, y_bytes);
    }
    for (int64_t c = 0; c < X->cols; c++)
        for (int i = 0; i < d->n; i++) {
            wide sum = 0;
            for (int j = 0; j < d->n; j++)
                if (d->A[i + j * d->n] != 0) sum += d->A[i + j * d->n] * get(d->t, x, j + c * X->ld);
            put(d->t, y, i + c * Y->ld, a * sum + (b != 0 ? b * get(d->t, y, i + c * Y->ld) : 0));
        }
    if (test_on_gpu()) {
        OK(trine_copy(d->ctx, Y->data, TRINE_DEVICE, y, TRINE_HOST, y_bytes));
        free(x);
        free(y);
    }
    return TRINE_SUCCESS;
}

trine_status solve(trine_krylov plan, const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    if (!test_on_gpu() || !plan || !B || !X) return trine_krylov_solve(plan, B, X, exec);
    const struct trine_plan *p = (const struct trine_plan *)plan;
    const size_t x_bytes = extent(p->dtype, X);
    if (!x_bytes || !extent(p->dtype, B)) return trine_krylov_solve(plan, B, X, exec);
    trine_dense b = *B, x = *X;
    b.data = test_to_device(p->ctx, B->data, extent(p->dtype, B));
    x.data = B->data == X->data ? b.data : test_to_device(p->ctx, X->data, x_bytes);
    const trine_status status = trine_krylov_solve(plan, &b, &x, exec);
    char *sentence = strdup(trine_last_error());
    OK(trine_context_synchronize(p->ctx));
    test_from_device(p->ctx, X->data, x.data, x_bytes);
    if (x.data != b.data) test_release(p->ctx, x.data);
    test_release(p->ctx, b.data);
    if (status) (void)trine_fail(status, "%s", sentence);
    free(sentence);
    return status;
}

void set_reference(trine_krylov plan, const trine_dense *X, trine_dense *there)
{
    const struct trine_plan *p = (const struct trine_plan *)plan;
    *there = *X;
    if (test_on_gpu()) there->data = test_to_device(p->ctx, X->data, extent(p->dtype, X));
    OK(trine_krylov_set_reference(plan, there));
}
void release_reference(trine_krylov plan, trine_dense *there)
{
    OK(trine_krylov_set_reference(plan, &(trine_dense){0}));
    if (test_on_gpu()) test_release(((const struct trine_plan *)plan)->ctx, there->data);
}

dense *new_dense(trine_context ctx, trine_dtype t, int n, bool varies)
{
    dense *d = calloc(1, sizeof *d);
    *d = (dense){.ctx = ctx, .t = t, .n = n, .A = calloc((size_t)n * (size_t)n + 1, sizeof *d->A)};
    const trine_op_info info = {.dtype = t, .rows = n, .cols = n, .varying = varies};
    OK(trine_op_from_callback(ctx, &d->op, &info, apply_dense, d, NULL));
    return d;
}

void free_dense(dense *d)
{
    if (!d) return;
    OK(trine_op_destroy(&d->op));
    free(d->A);
    free(d);
}

void set_entry(dense *d, int i, int j, wide value)
{
    double room[2];
    put(d->t, room, 0, value);
    d->A[i + j * d->n] = get(d->t, room, 0);
}

dense *general_system(trine_context ctx, trine_dtype t, int n, uint64_t seed)
{
    dense *d = new_dense(ctx, t, n, false);
    const double scale = 0.6 / sqrt(n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            set_entry(d, i, j,
                      scale * random_element(t, seed, (uint64_t)(i + j * n)) +
                          (i == j ? 1 + 2 * test_uniform(seed + 1, (uint64_t)i) : 0));
    return d;
}

dense *hermitian_system(trine_context ctx, trine_dtype t, int n, bool definite, uint64_t seed)
{
    dense *d = new_dense(ctx, t, n, false);
    const double scale = 0.3 / sqrt(n);
    for (int j = 0; j < n; j++) {
        for (int i = j + 1; i < n; i++) {
            const wide value = scale * random_element(t, seed, (uint64_t)(i + j * n));
            set_entry(d, i, j, value);
            set_entry(d, j, i, conjl(value));
        }
        const double diagonal = 1 + 2 * test_uniform(seed + 1, (uint64_t)j);
        set_entry(d, j, j, definite || j % 3 ? diagonal : -diagonal);
    }
    return d;
}

dense *diagonal_system(trine_context ctx, trine_dtype t, int n, const double *entries)
{
    dense *d = new_dense(ctx, t, n, false);
    for (int i = 0; i < n; i++) set_entry(d, i, i, entries[i]);
    return d;
}

dense *system_for(trine_context ctx, trine_krylov_method method, trine_dtype t, int n, uint64_t seed)
{
    if (method == TRINE_KRYLOV_CG) return hermitian_system(ctx, t, n, true, seed);
    if (method == TRINE_KRYLOV_MINRES) return hermitian_system(ctx, t, n, false, seed);
    return general_system(ctx, t, n, seed);
}

dense *jacobi_of(trine_context ctx, const dense *A, trine_dtype t)
{
    dense *d = new_dense(ctx, t, A->n, false);
    /* absolute values: positive definite for MINRES, and no different elsewhere */
    for (int i = 0; i < A->n; i++) set_entry(d, i, i, 1 / cabsl(A->A[i + i * A->n]));
    return d;
}

void multiply_wide(const dense *d, const wide *x, wide *y)
{
    for (int i = 0; i < d->n; i++) {
        y[i] = 0;
        for (int j = 0; j < d->n; j++) y[i] += d->A[i + j * d->n] * x[j];
    }
}

void solve_wide(const dense *d, const wide *b, wide *x)
{
    const int n = d->n;
    wide *A = malloc((size_t)n * (size_t)n * sizeof *A);
    for (int k = 0; k < n * n; k++) A[k] = d->A[k];
    for (int i = 0; i < n; i++) x[i] = b[i];
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (cabsl(A[i + k * n]) > cabsl(A[pivot + k * n])) pivot = i;
        for (int j = 0; j < n; j++) {
            const wide held = A[k + j * n];
            A[k + j * n] = A[pivot + j * n];
            A[pivot + j * n] = held;
        }
        const wide held = x[k];
        x[k] = x[pivot];
        x[pivot] = held;
        for (int i = k + 1; i < n; i++) {
            const wide factor = A[i + k * n] / A[k + k * n];
            for (int j = k; j < n; j++) A[i + j * n] -= factor * A[k + j * n];
            x[i] -= factor * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) x[k] -= A[k + j * n] * x[j];
        x[k] /= A[k + k * n];
    }
    free(A);
}

long double norm_wide(int n, const wide *x)
{
    long double square = 0;
    for (int i = 0; i < n; i++) square += creall(x[i]) * creall(x[i]) + cimagl(x[i]) * cimagl(x[i]);
    return sqrtl(square);
}

long double true_residual(const dense *d, const void *b, const void *x)
{
    wide *u = malloc((size_t)d->n * sizeof *u + 1), *v = malloc((size_t)d->n * sizeof *v + 1);
    for (int i = 0; i < d->n; i++) u[i] = get(d->t, x, i);
    multiply_wide(d, u, v);
    for (int i = 0; i < d->n; i++) u[i] = get(d->t, b, i) - v[i];
    const long double norm = norm_wide(d->n, u);
    free(u);
    free(v);
    return norm;
}

void *random_vector(trine_dtype t, int64_t n, uint64_t seed)
{
    void *x = malloc((size_t)n * trine_dtype_size(t) + 1);
    for (int64_t i = 0; i < n; i++) put(t, x, i, random_element(t, seed, (uint64_t)i));
    return x;
}
