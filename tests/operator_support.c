#include "operator_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long double size_of(wide a) { return fabsl(creall(a)) + fabsl(cimagl(a)); }

world open_world(void) { return (world){.ctx = test_context()}; }

void close_world(world *w)
{
    for (int i = 0; i < w->count; i++) {
        OK(trine_op_destroy(&w->nodes[i].op));
        free(w->nodes[i].A);
        free(w->nodes[i].M);
    }
    for (int i = 0; i < w->arrays_count; i++) test_release(w->ctx, w->arrays[i]);
    OK(trine_context_destroy(&w->ctx));
}

static node *add_node(world *w, trine_dtype t, int64_t rows, int64_t cols)
{
    assert_true(w->count < MOST_NODES);
    node *a = &w->nodes[w->count++];
    *a = (node){.t = t, .rows = rows, .cols = cols, .eps = eps_of(t), .growth = 8};
    a->A = calloc((size_t)(rows * cols) + 1, sizeof *a->A);
    a->M = calloc((size_t)(rows * cols) + 1, sizeof *a->M);
    return a;
}

/** Rounded to t. */
static wide rounded(trine_dtype t, wide value)
{
    double room[2];
    put(t, room, 0, value);
    return get(t, room, 0);
}

static void set_entry(node *a, int64_t i, int64_t j, wide value)
{
    a->A[i + j * a->rows] = rounded(a->t, value);
    a->M[i + j * a->rows] = size_of(a->A[i + j * a->rows]);
}

/* ------------------------------------------------------------ caller's function */

typedef struct {
    trine_context ctx;
    trine_dtype t;
    int64_t rows, cols;
    unsigned ops;
    wide *A;
} dense_matrix;

static void release_dense(void *user)
{
    dense_matrix *d = user;
    free(d->A);
    free(d);
}

static size_t extent(const trine_dense *X)
{
    const bool columns = X->layout == TRINE_COLMAJOR;
    return (size_t)(((columns ? X->cols : X->rows) - 1) * X->ld + (columns ? X->rows : X->cols));
}
static int64_t at(const trine_dense *X, int64_t i, int64_t j)
{
    return X->layout == TRINE_COLMAJOR ? i + j * X->ld : i * X->ld + j;
}
static wide entry(trine_transpose op, const wide *A, int64_t rows, int64_t i, int64_t j)
{
    const wide a = op == TRINE_N ? A[i + j * rows] : A[j + i * rows];
    return op == TRINE_H ? conjl(a) : a;
}

static trine_status apply_dense(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    const dense_matrix *d = user;
    const size_t size = trine_dtype_size(d->t), x_bytes = extent(X) * size, y_bytes = extent(Y) * size;
    const wide a = get(d->t, alpha, 0), b = get(d->t, beta, 0);
    const bool good = d->ops & op && a != 0 && X->rows && X->cols && Y->rows && Y->cols == X->cols && X->ld && Y->ld &&
                      exec && !exec->work && (exec->stream || !test_on_gpu()) &&
                      X->rows == (op == TRINE_N ? d->cols : d->rows) && Y->rows == (op == TRINE_N ? d->rows : d->cols);
    const char *x_data = X->data, *y_data = Y->data;
    /* that is not what callers are promised */
    if (!good || (x_data < y_data + y_bytes && y_data < x_data + x_bytes)) return TRINE_ERR_ARGUMENT;
    void *x = malloc(x_bytes), *y = malloc(y_bytes);
    test_from_device(d->ctx, x, X->data, x_bytes);
    test_from_device(d->ctx, y, Y->data, y_bytes);
    for (int64_t i = 0; i < Y->rows; i++)
        for (int64_t j = 0; j < Y->cols; j++) {
            wide sum = 0;
            for (int64_t k = 0; k < X->rows; k++) sum += entry(op, d->A, d->rows, i, k) * get(d->t, x, at(X, k, j));
            sum *= a;
            if (b != 0) sum += b * get(d->t, y, at(Y, i, j));
            put(d->t, y, at(Y, i, j), sum);
        }
    trine_context_info info;
    OK(trine_context_get_info(d->ctx, &info));
    OK(trine_copy(d->ctx, Y->data, info.space, y, TRINE_HOST, y_bytes));
    free(x);
    free(y);
    return TRINE_SUCCESS;
}

node *add_dense_with(world *w, trine_dtype t, int64_t rows, int64_t cols, unsigned ops, uint64_t seed)
{
    node *a = add_node(w, t, rows, cols);
    for (int64_t i = 0; i < rows * cols; i++) set_entry(a, i % rows, i / rows, random_element(t, seed, (uint64_t)i));
    dense_matrix *d = malloc(sizeof *d);
    *d = (dense_matrix){w->ctx, t, rows, cols, ops, malloc((size_t)(rows * cols + 1) * sizeof(wide))};
    memcpy(d->A, a->A, (size_t)(rows * cols) * sizeof(wide));
    const trine_op_info info = {.dtype = t, .rows = rows, .cols = cols, .ops = ops};
    OK(trine_op_from_callback(w->ctx, &a->op, &info, apply_dense, d, release_dense));
    return a;
}
node *add_dense(world *w, trine_dtype t, int64_t rows, int64_t cols, uint64_t seed)
{
    return add_dense_with(w, t, rows, cols, TRINE_N | TRINE_T | TRINE_H, seed);
}

/* ------------------------------------------------------------ diagonals, solves */

node *add_diagonal(world *w, trine_dtype t, int64_t n, uint64_t seed)
{
    node *a = add_node(w, t, n, n);
    const size_t size = trine_dtype_size(t);
    char *d = malloc((size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
        set_entry(a, i, i, random_element(t, seed, (uint64_t)i));
        put(t, d, i, a->A[i + i * n]);
    }
    void *device = w->arrays[w->arrays_count++] = test_to_device(w->ctx, d, (size_t)n * size);
    OK(trine_op_diagonal(w->ctx, &a->op, t, n, device));
    free(d);
    return a;
}

node *add_identity(world *w, trine_dtype t, int64_t n)
{
    node *a = add_node(w, t, n, n);
    for (int64_t i = 0; i < n; i++) set_entry(a, i, i, 1);
    OK(trine_op_identity(w->ctx, &a->op, t, n));
    return a;
}

void make_triangle(trine_context ctx, triangle *F, trine_dtype t, int64_t n, trine_uplo uplo, uint64_t seed,
                   wide *dense)
{
    int64_t nnz = 0;
    assert_true(n <= 32);
    F->values = malloc((size_t)(n * n) * trine_dtype_size(t));
    for (int64_t i = 0; i < n; i++) {
        F->offsets[i] = nnz;
        for (int64_t j = uplo == TRINE_LOWER ? 0 : i; j < (uplo == TRINE_LOWER ? i + 1 : n); j++, nnz++) {
            const wide value = rounded(t, i == j ? 3 + 0.5L * random_element(t, seed, (uint64_t)nnz)
                                                 : 0.5L * random_element(t, seed, (uint64_t)nnz));
            F->columns[nnz] = (int32_t)j;
            put(t, F->values, nnz, value);
            if (dense) dense[i + j * n] = value;
        }
    }
    F->offsets[n] = nnz;
    OK(trine_matrix_csr(ctx, &F->T, t, n, n, nnz, TRINE_HOST, 64, F->offsets, 32, F->columns, F->values));
}
void free_triangle(triangle *F)
{
    OK(trine_matrix_destroy(&F->T));
    free(F->values);
}

/** A := T^-1, M := |T^-1| |T| |T^-1|, which bounds the error of a stable solve. */
static void invert(node *a, const wide *T, bool lower)
{
    const int64_t n = a->rows;
    for (int64_t c = 0; c < n; c++)
        for (int64_t s = 0; s < n; s++) {
            const int64_t i = lower ? s : n - 1 - s;
            wide sum = i == c;
            for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++) sum -= T[i + k * n] * a->A[k + c * n];
            a->A[i + c * n] = sum / T[i + i * n];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t l = 0; l < n; l++)
                for (int64_t j = 0; j < n; j++)
                    a->M[i + j * n] += size_of(a->A[i + k * n]) * size_of(T[k + l * n]) * size_of(a->A[l + j * n]);
    a->growth *= (double)n;
}

node *add_solve(world *w, trine_dtype t, int64_t n, solver by, trine_uplo uplo, uint64_t seed)
{
    node *a = add_node(w, t, n, n);
    wide *dense = calloc((size_t)(n * n), sizeof *dense);
    triangle F;
    make_triangle(w->ctx, &F, t, n, uplo, seed, dense);
    invert(a, dense, uplo == TRINE_LOWER);
    if (by == BY_TRIANGULAR) {
        trine_triangular plan;
        OK(trine_triangular_analyse(w->ctx, &plan, F.T,
                                    &(trine_triangular_options){.uplo = uplo, .ops = TRINE_N | TRINE_T | TRINE_H}));
        OK(trine_triangular_as_op(plan, &a->op));
        OK(trine_triangular_numeric(plan, TRINE_HOST, F.values, NULL));
        OK(trine_context_synchronize(w->ctx));
        OK(trine_triangular_destroy(&plan));
    } else {
        trine_supernodal plan;
        OK(trine_supernodal_analyse_triangle(w->ctx, &plan, F.T, 0, NULL, &(trine_panels_options){.uplo = uplo}, NULL));
        OK(trine_supernodal_as_op(plan, &a->op));
        OK(trine_supernodal_numeric(plan, TRINE_HOST, F.values, NULL));
        OK(trine_supernodal_destroy(&plan));
    }
    free_triangle(&F);
    free(dense);
    return a;
}

/* ------------------------------------------------------------- combinations */

node *add_product(world *w, int count, node *const *factors)
{
    node *a = add_node(w, factors[0]->t, factors[0]->rows, factors[count - 1]->cols);
    trine_op ops[8];
    wide *A = malloc((size_t)(a->rows * a->rows) * sizeof *A);
    long double *M = malloc((size_t)(a->rows * a->rows) * sizeof *M);
    for (int64_t i = 0; i < a->rows * a->rows; i++) A[i] = M[i] = i % (a->rows + 1) == 0;
    a->growth = 0;
    for (int f = 0; f < count; f++) { /* A := A times factor f */
        const node *g = factors[f];
        wide *next = calloc((size_t)(a->rows * g->cols), sizeof *next);
        long double *next_M = calloc((size_t)(a->rows * g->cols), sizeof *next_M);
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = 0; j < g->cols; j++)
                for (int64_t k = 0; k < g->rows; k++) {
                    next[i + j * a->rows] += A[i + k * a->rows] * g->A[k + j * g->rows];
                    next_M[i + j * a->rows] += M[i + k * a->rows] * g->M[k + j * g->rows];
                }
        free(A);
        free(M);
        A = next;
        M = next_M;
        ops[f] = g->op;
        a->growth += g->growth;
        a->eps = fmax(a->eps, g->eps);
    }
    free(a->A);
    free(a->M);
    a->A = A;
    a->M = M;
    OK(trine_op_product(w->ctx, &a->op, count, ops));
    return a;
}

node *add_sum(world *w, int count, node *const *terms, const wide *coefficients)
{
    node *a = add_node(w, terms[0]->t, terms[0]->rows, terms[0]->cols);
    trine_op ops[8];
    char room[8 * 16];
    for (int f = 0; f < count; f++) {
        put(a->t, room, f, coefficients ? coefficients[f] : 1);
        const wide c = get(a->t, room, f);
        for (int64_t i = 0; i < a->rows * a->cols; i++) {
            a->A[i] += c * terms[f]->A[i];
            a->M[i] += size_of(c) * terms[f]->M[i];
        }
        ops[f] = terms[f]->op;
        a->growth += terms[f]->growth;
        a->eps = fmax(a->eps, terms[f]->eps);
    }
    OK(trine_op_sum(w->ctx, &a->op, count, ops, coefficients ? room : NULL));
    memset(room, 0xFF, sizeof room); /* they were copied */
    return a;
}

trine_dtype other_precision(trine_dtype t)
{
    return t == TRINE_S ? TRINE_D : t == TRINE_D ? TRINE_S : t == TRINE_C ? TRINE_Z : TRINE_C;
}

node *add_transpose(world *w, node *inner, trine_transpose trans)
{
    node *a = add_node(w, inner->t, inner->cols, inner->rows);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->cols; j++) {
            a->A[i + j * a->rows] = entry(trans, inner->A, inner->rows, i, j);
            a->M[i + j * a->rows] = inner->M[j + i * inner->rows];
        }
    a->growth = inner->growth;
    a->eps = inner->eps;
    OK(trine_op_transpose(inner->op, &a->op, trans));
    return a;
}

node *add_cast(world *w, node *inner, trine_dtype outer)
{
    node *a = add_node(w, outer, inner->rows, inner->cols);
    memcpy(a->A, inner->A, (size_t)(a->rows * a->cols) * sizeof *a->A);
    memcpy(a->M, inner->M, (size_t)(a->rows * a->cols) * sizeof *a->M);
    a->growth = inner->growth + 4;
    a->eps = fmax(a->eps, inner->eps);
    OK(trine_op_cast(inner->op, &a->op, outer));
    return a;
}

/* ------------------------------------------------------------------- checks */

enum { PADDING = 3, MOST_APPLICATIONS = 64 };

/** One application, and where its blocks are among those of all that run one after the other. */
typedef struct {
    const node *a;
    trine_transpose trans;
    bool has_alpha, has_beta;
    double alpha[2], beta[2];
    wide scale, keep;
    trine_dense X, Y;
    size_t x_at, y_at, x_bytes, y_bytes;
} application;

/** Applications before they run; on the host their blocks as they are before and after that. */
typedef struct {
    application of[MOST_APPLICATIONS];
    int count;
    size_t bytes;
    char *before, *after;
} batch;

static size_t place_for(batch *all, size_t bytes)
{
    const size_t at = all->bytes;
    all->bytes += (bytes + 15) / 16 * 16 + 16; /* 16 bytes and more between blocks, which nobody writes */
    all->before = realloc(all->before, all->bytes);
    memset(all->before + at, 0xA5, all->bytes - at);
    return at;
}

static void add_application(batch *all, const node *a, trine_transpose trans, int64_t nrhs, trine_layout x_layout,
                            trine_layout y_layout, const wide *alpha, const wide *beta)
{
    const trine_dtype t = a->t;
    const size_t size = trine_dtype_size(t);
    const int64_t x_rows = trans == TRINE_N ? a->cols : a->rows, y_rows = trans == TRINE_N ? a->rows : a->cols;
    assert_true(all->count < MOST_APPLICATIONS);
    application *p = &all->of[all->count++];
    *p = (application){.a = a,
                       .trans = trans,
                       .has_alpha = alpha,
                       .has_beta = beta,
                       .X = {NULL, x_rows, nrhs, (x_layout == TRINE_COLMAJOR ? x_rows : nrhs) + PADDING, x_layout},
                       .Y = {NULL, y_rows, nrhs, (y_layout == TRINE_COLMAJOR ? y_rows : nrhs) + PADDING, y_layout}};
    const int64_t x_count = p->X.ld * (x_layout == TRINE_COLMAJOR ? nrhs : x_rows),
                  y_count = p->Y.ld * (y_layout == TRINE_COLMAJOR ? nrhs : y_rows);
    if (alpha) put(t, p->alpha, 0, *alpha);
    if (beta) put(t, p->beta, 0, *beta);
    p->scale = alpha ? get(t, p->alpha, 0) : 1;
    p->keep = beta ? get(t, p->beta, 0) : 0;
    p->x_bytes = (size_t)x_count * size;
    p->y_bytes = (size_t)y_count * size;
    p->x_at = place_for(all, p->x_bytes);
    p->y_at = place_for(all, p->y_bytes);
    void *x = all->before + p->x_at, *y = all->before + p->y_at;
    for (int64_t i = 0; i < x_count; i++) put(t, x, i, p->scale == 0 ? (wide)NAN : random_element(t, 71, (uint64_t)i));
    for (int64_t i = 0; i < y_count; i++) put(t, y, i, p->keep == 0 ? (wide)NAN : random_element(t, 72, (uint64_t)i));
}

/** Every entry of Y; then it is as before. */
static void check_application(const application *p, const void *x, const void *before, void *y)
{
    const node *a = p->a;
    const trine_dtype t = a->t;
    const size_t size = trine_dtype_size(t);
    for (int64_t i = 0; i < p->Y.rows; i++)
        for (int64_t j = 0; j < p->Y.cols; j++) {
            wide exact = 0;
            long double bound = 0;
            for (int64_t k = 0; k < p->X.rows && p->scale != 0; k++) {
                const wide v = get(t, x, at(&p->X, k, j));
                exact += p->scale * entry(p->trans, a->A, a->rows, i, k) * v;
                bound += size_of(p->scale) * size_of(v) *
                         (p->trans == TRINE_N ? a->M[i + k * a->rows] : a->M[k + i * a->rows]);
            }
            if (p->keep != 0) {
                const wide v = get(t, before, at(&p->Y, i, j));
                exact += p->keep * v;
                bound += size_of(p->keep) * size_of(v);
            }
            const wide found = get(t, y, at(&p->Y, i, j));
            if (!(size_of(found - exact) <= a->growth * a->eps * bound))
                fail_msg(
                    "dtype %d, op %d, %d vectors, layouts %d, %d: Y(%d,%d) = %.17Lg + %.17Lg i, not %.17Lg + %.17Lg i, bound %.3Lg",
                    (int)t, (int)p->trans, (int)p->Y.cols, (int)p->X.layout, (int)p->Y.layout, (int)i, (int)j,
                    creall(found), cimagl(found), creall(exact), cimagl(exact), a->growth * a->eps * bound);
            memcpy((char *)y + (size_t)at(&p->Y, i, j) * size, (char *)before + (size_t)at(&p->Y, i, j) * size, size);
        }
}

/** Run all, wait once, and compare. Empties the batch. */
static void check_batch(world *w, batch *all, const trine_exec *exec)
{
    all->after = malloc(all->bytes);
    char *there = test_to_device(w->ctx, all->before, all->bytes);
    for (int k = 0; k < all->count; k++) {
        application *p = &all->of[k];
        p->X.data = there + p->x_at;
        p->Y.data = there + p->y_at;
        OK(trine_op_apply(p->a->op, p->trans, p->has_alpha ? p->alpha : NULL, &p->X, p->has_beta ? p->beta : NULL,
                          &p->Y, exec));
    }
    test_from_device(w->ctx, all->after, there, all->bytes);
    for (int k = 0; k < all->count; k++) {
        const application *p = &all->of[k];
        check_application(p, all->before + p->x_at, all->before + p->y_at, all->after + p->y_at);
    }
    assert_memory_equal(all->after, all->before, all->bytes); /* X, what is between columns or rows, between blocks */
    test_release(w->ctx, there);
    free(all->before);
    free(all->after);
    *all = (batch){0};
}

void check_apply(world *w, const node *a, trine_transpose trans, int64_t nrhs, trine_layout x_layout,
                 trine_layout y_layout, const wide *alpha, const wide *beta, const trine_exec *exec)
{
    batch one = {0};
    add_application(&one, a, trans, nrhs, x_layout, y_layout, alpha, beta);
    check_batch(w, &one, exec);
}

void check_all(world *w, const node *a, const trine_exec *exec)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    const wide one = 1, zero = 0, r = is_complex(a->t) ? wide_of(0.75L, -0.5L) : 0.75L,
               s = is_complex(a->t) ? wide_of(-1.25L, 2) : -1.25L;
    const wide *const pairs[][2] = {{NULL, NULL}, {&one, &one},   {&r, &s},   {&s, &zero},
                                    {&zero, &r},  {&zero, &zero}, {&r, NULL}, {NULL, &s}};
    static unsigned turn = 0;
    /* On a device that others use, to wait is what takes time. A sanitizer sees what is beside a block if that has
     * memory of its own. */
    const int most = test_on_gpu() && !test_is_watched() ? MOST_APPLICATIONS : 1;
    batch all = {0};
    trine_op_info info;
    OK(trine_op_get_info(a->op, &info));
    assert_true(info.rows == a->rows && info.cols == a->cols && info.dtype == a->t);
    for (int o = 0; o < 3; o++)
        for (int64_t nrhs = 1; (info.ops & ops[o]) && nrhs <= 3; nrhs += 2)
            for (int layouts = 0; layouts < 4; layouts++)
                for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
                    /* Where a launch takes very long, every seventh: each pair comes with each layout in turn. */
                    if (test_is_reduced() && turn++ % 7) continue;
                    add_application(&all, a, ops[o], nrhs, layouts & 1 ? TRINE_ROWMAJOR : TRINE_COLMAJOR,
                                    layouts & 2 ? TRINE_ROWMAJOR : TRINE_COLMAJOR, pairs[p][0], pairs[p][1]);
                    if (all.count == most) check_batch(w, &all, exec);
                }
    if (all.count) check_batch(w, &all, exec);
}
