/* The condition of a matrix from solves with it: the block 1-norm estimator of Higham and Tisseur (SIAM J. Matrix
 * Anal. Appl. 21, 2000, Algorithm 2.4) for the inverse of A, and for that of A with scaled rows and columns. */
#include <string.h>

#include "core/scalar.h"
#include "matrix/matrix.h"

enum { MOST_COLUMNS = 2, MOST_STEPS = 5 };
#define LARGE 1e-3   /* in units of 1/eps: a condition that is looked into */
#define SCALE 0.0625 /* of w, so that sums of a few of the largest numbers there are stay in range */

/** Uniform in (-1,1), of a fixed sequence: splitmix64 (Steele, Lea, Flood 2014). */
static double random_number(uint64_t seed, uint64_t k)
{
    uint64_t z = (seed << 40) + (k + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return 2 * (((double)(z >> 11) + 0.5) * 0x1p-53) - 1;
}

#define TEMPLATE "matrix/condition.inc"
#include "core/each_dtype.h"

static void (*const weigh_rows[])(trine_matrix A, const double *w, double *g) = TABLE(weigh_rows);
static void (*const scale_rows[])(int64_t n, int64_t columns, const double *d, double size,
                                  void *x) = TABLE(scale_rows);
static double (*const sum[])(int64_t n, const void *x) = TABLE(sum);
static void (*const add_squares[])(int64_t n, const void *x, double *s) = TABLE(add_squares);
static void (*const take_signs[])(int64_t n, void *x) = TABLE(take_signs);
static void (*const random_signs[])(int64_t n, uint64_t seed, double size, void *x) = TABLE(random_signs);
static void (*const random_values[])(int64_t n, uint64_t seed, double size, void *x) = TABLE(random_values);
static void (*const fill[])(int64_t n, int64_t only, double value, void *x) = TABLE(fill);
static bool (*const is_parallel[])(int64_t n, const void *x, const void *y) = TABLE(is_parallel);
static int64_t (*const largest_rows[])(int64_t n, int64_t columns, const void *z, const bool *used, int64_t count,
                                       int64_t *rows, double *largest) = TABLE(largest_rows);
static double (*const size_of_row[])(int64_t n, int64_t columns, const void *z, int64_t row) = TABLE(size_of_row);

struct estimator {
    trine_context ctx;
    trine_matrix A;             /* on the host, CSR */
    trine_dtype t;
    int64_t n, columns, solves;
    trine_solve_fn solve;
    void *user;
    char *x, *other, *old;      /* on the host, n x columns: the vectors, room for a solution, the signs of the step
                                   before */
    void *device_b, *device_x;  /* on a GPU: where vectors go for a solve */
    bool *used;                 /* unit vectors that were tried */
    double *w, *g, *v;          /* of the scaled matrix: columns times w, rows divided by g = |A| w; sizes of rows of
                                   its inverse */
    uint64_t seed;
    bool failed;                /* a solution was not finite, or a pivot zero */
};

static char *column(const struct estimator *e, char *block, int64_t j)
{
    return block + (size_t)(j * e->n) * trine_dtype_size(e->t);
}
static size_t block_bytes(const struct estimator *e) { return (size_t)(e->n * e->columns) * trine_dtype_size(e->t); }

/** x = L / size op(A)^-1 size R x for the diagonal matrices L and R, NULL: both 1. */
static trine_status apply(struct estimator *e, trine_transpose op, const double *L, const double *R, double size)
{
    trine_status status = TRINE_SUCCESS;
    const bool gpu = e->device_b;
    if (R) scale_rows[e->t](e->n, e->columns, R, size, e->x);
    if (gpu) TRY(trine_copy(e->ctx, e->device_b, TRINE_DEVICE, e->x, TRINE_HOST, block_bytes(e)));
    const trine_dense B = {.data = gpu ? e->device_b : e->x, .rows = e->n, .cols = e->columns, .ld = e->n};
    const trine_dense X = {.data = gpu ? e->device_x : e->other, .rows = e->n, .cols = e->columns, .ld = e->n};
    e->solves++;
    status = e->solve(e->user, op, &B, &X);
    if (status == TRINE_ERR_SINGULAR || status == TRINE_ERR_NO_CONVERGENCE) {
        e->failed = true;
        return TRINE_SUCCESS;
    }
    TRY(status);
    if (gpu) {
        TRY(trine_copy(e->ctx, e->x, TRINE_HOST, e->device_x, TRINE_DEVICE, block_bytes(e)));
    } else {
        char *solution = e->other;
        e->other = e->x;
        e->x = solution;
    }
    if (L) scale_rows[e->t](e->n, e->columns, L, 1 / size, e->x);
    if (!isfinite(sum[e->t](e->n * e->columns, e->x))) e->failed = true;
done:
    return status;
}

static bool column_is_parallel(const struct estimator *e, int64_t j, char *block, int64_t columns)
{
    for (int64_t k = 0; k < columns; k++)
        if (is_parallel[e->t](e->n, column(e, e->x, j), column(e, block, k))) return true;
    return false;
}

/** Columns of signs that are parallel to one before them, or to one of the last step, say nothing new: others take
 *  their place, of which there may be none where rows are few. */
static void replace_parallel(struct estimator *e, bool with_old, double size)
{
    enum { TRIES = 10 };
    for (int64_t j = 0; j < e->columns; j++)
        for (int k = 0; k < TRIES && (column_is_parallel(e, j, e->x, j) ||
                                      (with_old && column_is_parallel(e, j, e->old, e->columns)));
             k++)
            random_signs[e->t](e->n, e->seed++, size, column(e, e->x, j));
}

static bool all_parallel_to_old(const struct estimator *e)
{
    for (int64_t j = 0; j < e->columns; j++)
        if (!column_is_parallel(e, j, e->old, e->columns)) return false;
    return true;
}

/** A lower bound of ||L op(A)^-1 R||_1, almost always at least a third of it; Inf where a solve failed. size: what R
 *  is to be multiplied by, and L divided by, so that right-hand sides are about as large as A's entries and
 *  solutions stay in range. */
static trine_status estimate_norm(struct estimator *e, trine_transpose op, const double *L, const double *R,
                                  double size, double *norm)
{
    trine_status status = TRINE_SUCCESS;
    const double start = 1 / (double)e->n;
    int64_t rows[MOST_COLUMNS], best_row = -1;
    *norm = 0;
    e->failed = false;
    for (int64_t i = 0; i < e->n; i++) e->used[i] = false;
    fill[e->t](e->n, -1, start, e->x);
    for (int64_t j = 1; j < e->columns; j++) random_signs[e->t](e->n, e->seed++, start, column(e, e->x, j));
    replace_parallel(e, false, start);
    for (int step = 1;; step++) {
        double largest = 0;
        int64_t best = 0;
        TRY(apply(e, op, L, R, size));
        for (int64_t j = 0; j < e->columns && !e->failed; j++) {
            const double length = sum[e->t](e->n, column(e, e->x, j));
            if (length > largest) largest = length, best = j;
        }
        if (e->failed || largest <= *norm) break;
        *norm = largest;
        if (step > 1) best_row = rows[best];
        if (step == MOST_STEPS) break;
        take_signs[e->t](e->n * e->columns, e->x);
        if (step > 1 && all_parallel_to_old(e)) break;
        replace_parallel(e, step > 1, 1);
        memcpy(e->old, e->x, block_bytes(e));
        TRY(apply(e, op == TRINE_N ? TRINE_H : TRINE_N, R, L, 1));
        if (e->failed) break;
        const int64_t found = largest_rows[e->t](e->n, e->columns, e->x, e->used, e->columns, rows, &largest);
        if (!found || (best_row >= 0 && largest <= size_of_row[e->t](e->n, e->columns, e->x, best_row))) break;
        for (int64_t j = 0; j < e->columns; j++) {
            if (j >= found) rows[j] = rows[0];
            e->used[rows[j]] = true;
            fill[e->t](e->n, rows[j], 1, column(e, e->x, j));
        }
    }
    if (e->failed) *norm = INFINITY;
done:
    return status;
}

/** v times what takes the middle of its range, between its smallest and its largest value but zeros, to `middle`;
 *  zeros, which are numbers that became too small, to the smallest. False if a value is not finite, or all are zero. */
static bool center(int64_t n, double *v, double middle)
{
    double smallest = INFINITY, most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) return false;
        if (v[i] > 0) smallest = fmin(smallest, v[i]);
        most = fmax(most, v[i]);
    }
    if (!(most > 0)) return false;
    const double scale = middle / sqrt(smallest) / sqrt(most);
    for (int64_t i = 0; i < n; i++) v[i] = fmax(v[i], smallest) * scale;
    return true;
}

/** g = |A| w, and v = the 2-norms of the rows of A^-1 G, nearly: from 2 `samples` solutions with g times random
 *  numbers, which no symmetry makes cancel as signs would. */
static trine_status sample_rows(struct estimator *e, int samples)
{
    trine_status status = TRINE_SUCCESS;
    const double size = sqrt(3 / (double)(samples * e->columns)); /* the variance of the numbers is a third */
    weigh_rows[e->t](e->A, e->w, e->g);
    for (int64_t i = 0; i < e->n; i++) e->v[i] = 0;
    for (int k = 0; k < samples && !e->failed; k++) {
        for (int64_t j = 0; j < e->columns; j++) random_values[e->t](e->n, e->seed++, size, column(e, e->x, j));
        TRY(apply(e, TRINE_N, NULL, e->g, 1));
        for (int64_t j = 0; j < e->columns; j++) add_squares[e->t](e->n, column(e, e->x, j), e->v);
    }
done:
    return status;
}

/** w = |A^-1| |A| w, nearly. */
static trine_status improve_scaling(struct estimator *e, int samples)
{
    trine_status status = TRINE_SUCCESS;
    TRY(sample_rows(e, samples));
    memcpy(e->w, e->v, (size_t)e->n * sizeof *e->w);
    if (!e->failed) e->failed = !center(e->n, e->w, SCALE);
done:
    return status;
}

/** kappa_inf(G^-1 A W) with W = diag(w) and G = diag(|A| w), by which ||G^-1 A W||_inf = 1, so that it is ||W^-1
 *  A^-1 G||_inf = ||G A^-H W^-1||_1. No scaling of rows is better for these columns (Bauer 1963; van der Sluis
 *  1969), and for w the Perron vector of |A^-1| |A| none of columns is. Two steps of the power method forget where
 *  they started, be A's columns scaled as they may. Solves with the adjoint of a badly scaled matrix may be far less
 *  accurate than those with the matrix: the largest 2-norm of a row of W^-1 A^-1 G, which those give, times sqrt(n)
 *  is not exceeded by what is right. */
static trine_status estimate_scaled(struct estimator *e, double *condition)
{
    const double doubt = 10; /* of a 2-norm from so few samples */
    trine_status status = TRINE_SUCCESS;
    double smallest = INFINITY, most = 0, row = 0;
    *condition = INFINITY;
    e->failed = false;
    for (int64_t i = 0; i < e->n; i++) e->w[i] = SCALE;
    TRY(improve_scaling(e, 1));
    if (!e->failed) TRY(improve_scaling(e, 3));
    if (!e->failed) TRY(sample_rows(e, 3));
    if (e->failed) goto done;
    for (int64_t i = 0; i < e->n; i++) {
        row = fmax(row, e->v[i] / e->w[i]);
        smallest = fmin(smallest, e->g[i]);
        most = fmax(most, e->g[i]);
        e->w[i] = 1 / e->w[i];
    }
    const double size = fmin(fmax(sqrt(smallest) * sqrt(most), 1e-300), 1e300);
    TRY(estimate_norm(e, TRINE_H, e->g, e->w, size, condition));
    *condition = fmin(*condition, doubt * sqrt((double)e->n) * row);
done:
    return status;
}

static trine_status allocate(struct estimator *e)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_alloc(e->ctx, TRINE_HOST, block_bytes(e), (void **)&e->x));
    TRY(trine_alloc(e->ctx, TRINE_HOST, block_bytes(e), (void **)&e->other));
    TRY(trine_alloc(e->ctx, TRINE_HOST, block_bytes(e), (void **)&e->old));
    TRY(ALLOC(e->ctx, e->used, e->n));
    TRY(ALLOC(e->ctx, e->w, e->n));
    TRY(ALLOC(e->ctx, e->g, e->n));
    TRY(ALLOC(e->ctx, e->v, e->n));
    if (e->ctx->cuda) {
        TRY(trine_alloc(e->ctx, TRINE_DEVICE, block_bytes(e), &e->device_b));
        TRY(trine_alloc(e->ctx, TRINE_DEVICE, block_bytes(e), &e->device_x));
    }
done:
    return status;
}

static void release(struct estimator *e)
{
    trine_free(e->ctx, TRINE_HOST, e->x);
    trine_free(e->ctx, TRINE_HOST, e->other);
    trine_free(e->ctx, TRINE_HOST, e->old);
    trine_free(e->ctx, TRINE_HOST, e->used);
    trine_free(e->ctx, TRINE_HOST, e->w);
    trine_free(e->ctx, TRINE_HOST, e->g);
    trine_free(e->ctx, TRINE_HOST, e->v);
    trine_free(e->ctx, TRINE_DEVICE, e->device_b);
    trine_free(e->ctx, TRINE_DEVICE, e->device_x);
    trine_matrix_destroy(&e->A);
}

trine_status trine_estimate_condition(trine_context ctx, trine_matrix A, trine_solve_fn solve, void *user,
                                      trine_condition *condition)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    REQUIRE(solve, "solve is NULL");
    REQUIRE(condition, "condition is NULL");
    REQUIRE(A->values || !A->nnz, "A is a pattern without values");
    *condition = (trine_condition){0};
    if (A->n_rows != A->n_cols)
        return trine_fail(TRINE_ERR_STRUCTURE, "%lld x %lld is not square", (long long)A->n_rows, (long long)A->n_cols);
    if (!A->n_rows) return TRINE_SUCCESS;
    trine_status status = TRINE_SUCCESS;
    struct estimator e = {.ctx = ctx,
                          .t = A->dtype,
                          .n = A->n_rows,
                          .columns = A->n_rows < MOST_COLUMNS ? A->n_rows : MOST_COLUMNS,
                          .solve = solve,
                          .user = user};
    const double eps = trine_dtype_eps(A->dtype);
    double inverse;
    TRY(matrix_to_host_format(A, &e.A, TRINE_CSR));
    TRY(trine_matrix_norm(e.A, TRINE_NORM_ONE, &condition->norm));
    TRY(allocate(&e));
    TRY(estimate_norm(&e, TRINE_N, NULL, NULL, 1, &inverse));
    condition->condition = condition->scaled =
        isinf(inverse) || isinf(condition->norm) ? INFINITY : condition->norm * inverse;
    if (!(condition->condition * eps < LARGE)) {
        TRY(estimate_scaled(&e, &condition->scaled));
        condition->scaled = fmin(condition->scaled, condition->condition);
    }
    condition->singular = !(condition->scaled * eps < 1);
    condition->solves = e.solves;
done:
    release(&e);
    return status;
}
