/* Systems with an info, and what it is to say. */
#include "info_support.h"

#include <stdlib.h>
#include <string.h>

info_problem new_problem(info_problem p)
{
    if (p.kind != BLOCKS) p.m = 1;
    if (p.kind != BANDS) p.kl = p.ku = 1;
    if (p.kind != BATCH) p.systems = 1;
    if (!p.nrhs) p.nrhs = 1;
    p.n = p.rows * p.m;
    p.ldd = p.n, p.ldx = p.kind == BATCH || p.in_place ? p.n : p.n + 3;
    p.band_elements = p.rows * p.m * p.m * (p.shared ? 1 : p.systems);
    p.matrix_elements = p.band_elements * (p.kl + p.ku + 1);
    p.d_elements = p.ldd * p.nrhs * p.systems, p.x_elements = p.ldx * p.nrhs * p.systems;
    p.matrix = calloc((size_t)p.matrix_elements + 1, trine_dtype_size(p.t));
    p.D = calloc((size_t)p.d_elements + 1, trine_dtype_size(p.t));
    p.X = calloc((size_t)p.x_elements + 1, trine_dtype_size(p.t));
    p.info = calloc((size_t)p.systems, sizeof *p.info);
    return p;
}
void free_problem(info_problem *p) { free(p->matrix), free(p->D), free(p->X), free(p->info); }

static trine_strides vector_strides(const info_problem *p)
{
    return p->interleaved ? (trine_strides){p->systems, 1} : (trine_strides){1, p->n};
}
static trine_strides matrix_strides(const info_problem *p)
{
    return p->shared ? (trine_strides){1, 0} : vector_strides(p);
}

int64_t at_matrix(const info_problem *p, int64_t system, int k, int64_t j, int i, int q)
{
    const int64_t band = (p->kl + k) * p->band_elements;
    if (p->kind == BATCH) return band + j * matrix_strides(p).row + system * matrix_strides(p).system;
    return band + (j * p->m + q) * p->m + i;
}
int64_t at_d(const info_problem *p, int64_t system, int64_t i, int64_t column)
{
    return p->kind == BATCH ? i * vector_strides(p).row + system * vector_strides(p).system : i + column * p->ldd;
}
int64_t at_x(const info_problem *p, int64_t system, int64_t i, int64_t column)
{
    return p->kind == BATCH ? at_d(p, system, i, column) : i + column * p->ldx;
}

/** visit(argument, row, column, index) for every coefficient of A; column = -1: outside of it. */
static void visit_stored(const info_problem *p, int64_t system, void (*visit)(void *, int64_t, int64_t, int64_t),
                         void *argument)
{
    for (int64_t j = 0; j < p->rows; j++)
        for (int k = -p->kl; k <= p->ku; k++) {
            const int64_t to = j + k, wrapped = (to % p->rows + p->rows) % p->rows;
            for (int i = 0; i < p->m; i++)
                for (int q = 0; q < p->m; q++)
                    visit(argument, j * p->m + i, wrapped != to && !p->options.cyclic ? -1 : wrapped * p->m + q,
                          at_matrix(p, system, k, j, i, q));
        }
}

typedef struct {
    info_problem *p;
    int64_t system;
    wide (*value)(void *, int64_t, int64_t, int64_t);
    void *argument;
} setting;
static void set_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const setting *s = argument;
    /* outside: never looked at */
    put(s->p->t, s->p->matrix, index, column < 0 ? NAN : s->value(s->argument, s->system, row, column));
}
void set_coefficients(info_problem *p, wide (*value)(void *, int64_t, int64_t, int64_t), void *argument)
{
    for (int64_t s = 0; s < (p->shared ? 1 : p->systems); s++)
        visit_stored(p, s, set_one, &(setting){p, s, value, argument});
}

typedef struct {
    trine_dtype t;
    uint64_t seed;
    int64_t n;
    double dominance;
} random_matrix;
static wide random_value(void *argument, int64_t system, int64_t row, int64_t column)
{
    const random_matrix *r = argument;
    return random_element(r->t, r->seed + (uint64_t)system, (uint64_t)(row * r->n + column)) +
           (row == column ? r->dominance : 0);
}
void fill_random(info_problem *p, uint64_t seed, double dominance)
{
    set_coefficients(p, random_value, &(random_matrix){p->t, seed, p->n, dominance});
    fill_right_hand_sides(p, seed + 1000);
}
void fill_right_hand_sides(info_problem *p, uint64_t seed)
{
    for (int64_t s = 0; s < p->systems; s++)
        for (int64_t column = 0; column < p->nrhs; column++)
            for (int64_t i = 0; i < p->n; i++)
                put(p->t, p->D, at_d(p, s, i, column),
                    random_element(p->t, seed + (uint64_t)(s * p->nrhs + column), (uint64_t)i));
}

/* ------------------------------------------------------------------- solving */

enum { GUARD = 2, GUARD_BYTE = 0x5A };

static trine_status call(const info_problem *p, const trine_gtsv_options *o, trine_context ctx, char *a, void *D,
                         void *X, void *work, size_t bytes)
{
    const size_t band = (size_t)p->band_elements * trine_dtype_size(p->t);
    switch (p->kind) {
    case TRIDIAGONAL:
        return trine_gtsv(ctx, p->t, p->n, p->nrhs, o, a, a + band, a + 2 * band, D, p->ldd, X, p->ldx, work, bytes,
                          NULL);
    case BLOCKS:
        return trine_bgtsv(ctx, p->t, p->rows, p->m, p->nrhs, o, a, a + band, a + 2 * band, D, p->ldd, X, p->ldx, work,
                           bytes, NULL);
    case BANDS:
        return trine_gbsv(ctx, p->t, p->n, p->nrhs, p->kl, p->ku, o, a, D, p->ldd, X, p->ldx, work, bytes, NULL);
    default:
        return trine_gtsv_batch(ctx, p->t, p->n, p->systems, o, a, a + band, a + 2 * band, matrix_strides(p), D, X,
                                vector_strides(p), work, bytes, NULL);
    }
}
static trine_status work_size(const info_problem *p, trine_context ctx, size_t *bytes)
{
    switch (p->kind) {
    case TRIDIAGONAL: return trine_gtsv_work_size(ctx, p->t, p->n, p->nrhs, &p->options, bytes);
    case BLOCKS: return trine_bgtsv_work_size(ctx, p->t, p->rows, p->m, p->nrhs, &p->options, bytes);
    case BANDS: return trine_gbsv_work_size(ctx, p->t, p->n, p->nrhs, p->kl, p->ku, &p->options, bytes);
    default: return trine_gtsv_batch_work_size(ctx, p->t, p->n, p->systems, &p->options, bytes);
    }
}

void solve_with_info(info_problem *p)
{
    const trine_context ctx = test_shared(1);
    const size_t size = trine_dtype_size(p->t), x_bytes = (size_t)p->x_elements * size,
                 d_bytes = (size_t)p->d_elements * size;
    const size_t info_bytes = ((size_t)p->systems + 2 * GUARD) * sizeof(trine_gtsv_info);
    trine_gtsv_info *infos = malloc(info_bytes);
    void *work, *without = malloc(x_bytes + 1);
    unsigned char guard[GUARD * sizeof(trine_gtsv_info)];
    size_t work_bytes;
    memset(infos, GUARD_BYTE, info_bytes), memset(guard, GUARD_BYTE, sizeof guard);
    OK(work_size(p, ctx, &work_bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, work_bytes, &work));
    void *a = test_to_device(ctx, p->matrix, (size_t)p->matrix_elements * size),
         *D = test_to_device(ctx, p->D, d_bytes), *X = test_to_device(ctx, p->X, x_bytes);
    trine_gtsv_info *device = test_to_device(ctx, infos, info_bytes);
    for (int with = 0; with < 2; with++) {
        trine_gtsv_options o = p->options;
        o.info = with ? device + GUARD : NULL;
        if (p->in_place) OK(trine_copy(ctx, X, TRINE_DEVICE, p->D, TRINE_HOST, d_bytes));
        OK(call(p, &o, ctx, a, p->in_place ? X : D, X, work, work_bytes));
        test_from_device(ctx, with ? p->X : without, X, x_bytes);
    }
    test_from_device(ctx, infos, device, info_bytes);
    memcpy(p->info, infos + GUARD, (size_t)p->systems * sizeof *infos);
    assert_memory_equal(infos, guard, sizeof guard);
    assert_memory_equal(infos + GUARD + p->systems, guard, sizeof guard);
    assert_memory_equal(without, p->X, x_bytes);
    test_release(ctx, a), test_release(ctx, D), test_release(ctx, X), test_release(ctx, device),
        test_release(ctx, work);
    free(infos), free(without);
}

/* ------------------------------------------------------------- the definition */

static long double size_of_wide(wide a)
{
    const long double re = fabsl(creall(a)), im = fabsl(cimagl(a));
    return isnan(re) || isnan(im) ? (long double)NAN : fmaxl(re, im);
}

typedef struct {
    int64_t row, column;
    wide value;
} entry;
typedef struct {
    const info_problem *p;
    entry *entries;
    int64_t count;
} gathering;
static void gather_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    gathering *g = argument;
    const info_problem *p = g->p;
    const bool transposed = p->options.op == TRINE_T || p->options.op == TRINE_H;
    const int64_t i = transposed ? column : row, j = transposed ? row : column;
    if (column < 0) return;
    if (p->options.cyclic && p->n <= 64) /* where several may meet */
        for (int64_t e = 0; e < g->count; e++)
            if (g->entries[e].row == i && g->entries[e].column == j) {
                g->entries[e].value += get(p->t, p->matrix, index);
                return;
            }
    g->entries[g->count++] = (entry){i, j, get(p->t, p->matrix, index)};
}
static gathering gather(const info_problem *p, int64_t system)
{
    gathering g = {p, malloc((size_t)(p->n * p->m * (p->kl + p->ku + 1) + 1) * sizeof(entry)), 0};
    visit_stored(p, system, gather_one, &g);
    return g;
}

enum { NO_EXPONENT = -100000 };
/** Exponents: of the rows' largest coefficients, of the columns' after that; NO_EXPONENT: there is none but zero. */
static void scale_entries(const gathering *g, int64_t n, int *row, int *column)
{
    for (int64_t i = 0; i < n; i++) row[i] = column[i] = NO_EXPONENT;
    for (int64_t e = 0; e < g->count; e++) {
        const entry a = g->entries[e];
        const long double size = size_of_wide(a.value);
        if (size > 0 && isfinite(size) && ilogbl(size) > row[a.row]) row[a.row] = ilogbl(size);
    }
    for (int64_t e = 0; e < g->count; e++) {
        const entry a = g->entries[e];
        const long double size = size_of_wide(a.value);
        if (size > 0 && isfinite(size) && ilogbl(size) - row[a.row] > column[a.column])
            column[a.column] = ilogbl(size) - row[a.row];
    }
}

info_expected expected_info(const info_problem *p, int64_t system)
{
    info_expected e = {.row = -1, .n = p->n, .unknowns = calloc((size_t)p->n + 1, sizeof(long double))};
    gathering g = gather(p, system);
    int *row = malloc((size_t)(2 * p->n + 1) * sizeof *row), *column = row + p->n;
    int64_t not_given = p->n, zero_row = p->n, zero_column = p->n, not_found = p->n;
    long double largest_d = 0, largest_x = 0;
    scale_entries(&g, p->n, row, column);
    for (int64_t k = 0; k < g.count; k++)
        if (!isfinite(size_of_wide(g.entries[k].value)) && g.entries[k].row < not_given) not_given = g.entries[k].row;
    for (int64_t i = p->n - 1; i >= 0; i--) {
        if (row[i] == NO_EXPONENT) zero_row = i;
        if (column[i] == NO_EXPONENT) zero_column = i;
        for (int64_t c = 0; c < p->nrhs; c++) {
            const long double d = size_of_wide(get(p->t, p->D, at_d(p, system, i, c))),
                              x = size_of_wide(get(p->t, p->X, at_x(p, system, i, c)));
            if (!isfinite(d) && i < not_given) not_given = i;
            if (!isfinite(x)) not_found = i;
            largest_d = fmaxl(largest_d, scalbnl(d, -row[i]));
            e.unknowns[i] = fmaxl(e.unknowns[i], scalbnl(x, column[i]));
        }
        largest_x = fmaxl(largest_x, e.unknowns[i]);
    }
    e.condition = not_given < p->n ? NAN : largest_x > 0 ? largest_x / largest_d : 0;
    if (not_given < p->n) e.row = not_given;
    else if (zero_row < p->n) e.row = zero_row, e.condition = INFINITY;
    else if (zero_column < p->n) e.row = zero_column, e.condition = INFINITY;
    else if (not_found < p->n) e.row = not_found, e.condition = INFINITY;
    free(g.entries), free(row);
    return e;
}

void check_infos(const info_problem *p, const char *what)
{
    const double limit = 1 / (16 * eps_of(p->t));
    for (int64_t s = 0; s < p->systems; s++) {
        info_expected e = expected_info(p, s);
        const trine_gtsv_info found = p->info[s];
        bool right = true;
        if (e.row >= 0)
            right = found.row == e.row && (isnan(e.condition) ? isnan(found.condition) : found.condition == INFINITY);
        else if (e.condition > 1e308L) right = found.condition > 1e307 && found.row >= 0;
        else {
            right = found.condition <= (double)(e.condition * (1 + 0x1p-45L)) &&
                    found.condition >= (double)(e.condition * (1 - 0x1p-11L) * (1 - 0x1p-45L)) &&
                    (found.condition >= limit) == (found.row >= 0);
            if (right && found.row >= 0) { /* the largest unknown, to within the rounding */
                long double largest = 0;
                for (int64_t i = 0; i < p->n; i++) largest = fmaxl(largest, e.unknowns[i]);
                right = found.row < p->n && e.unknowns[found.row] >= largest * (1 - 0x1p-11L);
            }
        }
        if (!right)
            fail_msg(
                "%s: kind %d, dtype %d, n %lld, m %d, kl %d, ku %d, cyclic %d, op %d, nrhs %lld, system %lld: condition %g and row %lld instead of %Lg and %lld",
                what, (int)p->kind, (int)p->t, (long long)p->n, p->m, p->kl, p->ku, p->options.cyclic,
                (int)p->options.op, (long long)p->nrhs, (long long)s, found.condition, (long long)found.row,
                e.condition, (long long)e.row);
        free(e.unknowns);
    }
}

/** Rows of |.| summed. */
static long double norm(const wide *a, int64_t n)
{
    long double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += cabsl(a[i * n + j]);
        largest = fmaxl(largest, sum);
    }
    return largest;
}
/** inverse := a^-1 by Gauss-Jordan elimination with row exchanges; a is lost. */
static void invert(wide *a, wide *inverse, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++) inverse[i] = i % (n + 1) == 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (cabsl(a[i * n + k]) > cabsl(a[best * n + k])) best = i;
        const wide pivot = a[best * n + k];
        for (int64_t j = 0; j < n; j++) {
            const wide x = a[best * n + j] / pivot, y = inverse[best * n + j] / pivot;
            a[best * n + j] = a[k * n + j], inverse[best * n + j] = inverse[k * n + j];
            a[k * n + j] = x, inverse[k * n + j] = y;
        }
        for (int64_t i = 0; i < n; i++) {
            const wide factor = a[i * n + k];
            for (int64_t j = 0; j < n && i != k; j++)
                a[i * n + j] -= factor * a[k * n + j], inverse[i * n + j] -= factor * inverse[k * n + j];
        }
    }
}
long double condition_of(const info_problem *p, int64_t system)
{
    const int64_t n = p->n;
    wide *a = calloc((size_t)(n * n), sizeof *a), *inverse = calloc((size_t)(n * n), sizeof *a);
    int *row = malloc((size_t)(2 * n) * sizeof *row), *column = row + n;
    gathering g = gather(p, system);
    scale_entries(&g, n, row, column);
    for (int64_t e = 0; e < g.count; e++) {
        const entry one = g.entries[e];
        const int exponent = -row[one.row] - column[one.column];
        a[one.row * n + one.column] =
            scalbnl(creall(one.value), exponent) + scalbnl(cimagl(one.value), exponent) * _Complex_I;
    }
    const long double size = norm(a, n);
    invert(a, inverse, n);
    const long double condition = size * norm(inverse, n);
    free(a), free(inverse), free(row), free(g.entries);
    return condition;
}
