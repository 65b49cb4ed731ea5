#include "panel_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dgbsv_(const int *n, const int *kl, const int *ku, const int *nrhs, double *ab, const int *ldab, int *ipiv, double *b, const int *ldb, int *info);

const trine_dtype all_dtypes[4] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};

double eps_of(trine_dtype t) { return t == TRINE_S || t == TRINE_C ? 0x1p-23 : 0x1p-52; }

wide element(trine_dtype t, const void *p, int64_t i)
{
    switch (t) {
    case TRINE_S: return ((const float *)p)[i];
    case TRINE_D: return ((const double *)p)[i];
    case TRINE_C: return ((const float complex *)p)[i];
    default: return ((const double complex *)p)[i];
    }
}
void set(trine_dtype t, void *p, int64_t i, wide value)
{
    switch (t) {
    case TRINE_S: ((float *)p)[i] = (float)creall(value); break;
    case TRINE_D: ((double *)p)[i] = (double)creall(value); break;
    case TRINE_C: ((float complex *)p)[i] = (float complex)value; break;
    default: ((double complex *)p)[i] = (double complex)value;
    }
}
wide random_value(trine_dtype t, uint64_t seed, uint64_t i)
{
    const double re = 2 * test_uniform(seed, 2 * i) - 1, im = 2 * test_uniform(seed, 2 * i + 1) - 1;
    wide value = re;
    if (t == TRINE_C || t == TRINE_Z) __imag__ value = im;
    return value;
}

/* ------------------------------------------------------------------ building */

static linear_system new_system(linear_system s)
{
    const size_t size = trine_dtype_size(s.t);
    s.ldd = s.n + 3;
    s.ldx = s.n + 1;
    s.matrix = calloc(s.matrix_elements + 1, size);
    s.D = calloc((size_t)(s.ldd * s.nrhs) + 1, size);
    s.X = calloc((size_t)(s.ldx * s.nrhs) + 1, size);
    for (int64_t i = 0; i < s.ldd * s.nrhs; i++) set(s.t, s.D, i, random_value(s.t, 4711, (uint64_t)i));
    return s;
}
linear_system new_blocks(trine_dtype t, int64_t rows, int m, int64_t nrhs, trine_gtsv_options options)
{
    return new_system((linear_system){.t = t, .n = rows * m, .rows = rows, .nrhs = nrhs, .m = m, .options = options, .matrix_elements = (size_t)(3 * rows * m * m)});
}
linear_system new_bands(trine_dtype t, int64_t n, int kl, int ku, int64_t nrhs, trine_gtsv_options options)
{
    return new_system((linear_system){.t = t, .n = n, .nrhs = nrhs, .kl = kl, .ku = ku, .options = options, .matrix_elements = (size_t)(n * (kl + ku + 1))});
}
void free_system(linear_system *s) { free(s->matrix), free(s->D), free(s->X); }

int64_t element_of_block(const linear_system *s, int64_t block_row, int side, int i, int q)
{
    return (((side + 1) * s->rows + block_row) * s->m + q) * s->m + i;
}
int64_t element_of_band(const linear_system *s, int64_t row, int k) { return (s->kl + k) * s->n + row; }

/** visit(row of A, column of A, index in the matrix); the column is -1 for elements outside the matrix. */
static void visit_storage(const linear_system *s, void (*visit)(void *, int64_t, int64_t, int64_t), void *argument)
{
    const int below = s->m ? -1 : -s->kl, above = s->m ? 1 : s->ku, m = s->m ? s->m : 1;
    for (int k = below; k <= above; k++)
        for (int64_t j = 0; j < s->n / m; j++) {
            const int64_t blocks = s->n / m, to = j + k, wrapped = (to % blocks + blocks) % blocks;
            const bool outside = to != wrapped && !s->options.cyclic;
            for (int i = 0; i < m; i++)
                for (int q = 0; q < m; q++)
                    visit(argument, j * m + i, outside ? -1 : wrapped * m + q, s->m ? element_of_block(s, j, k, i, q) : element_of_band(s, j, k));
        }
}

typedef struct { linear_system *s; uint64_t seed; double dominance; bool poison; } filling;
static void fill_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const filling *f = argument;
    if (f->poison) {
        if (column < 0) set(f->s->t, f->s->matrix, index, (wide)NAN);
        return;
    }
    set(f->s->t, f->s->matrix, index, random_value(f->s->t, f->seed, (uint64_t)index) + (row == column ? f->dominance : 0));
}
void fill_system(linear_system *s, uint64_t seed, double dominance)
{
    filling f = {s, seed, dominance, false};
    visit_storage(s, fill_one, &f);
}
void poison_outside(linear_system *s)
{
    filling f = {.s = s, .poison = true};
    visit_storage(s, fill_one, &f);
}

typedef struct { const linear_system *s; void (*visit)(void *, int64_t, int64_t, wide); void *argument; } visiting;
static void visit_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const visiting *v = argument;
    if (column < 0) return;
    const wide value = element(v->s->t, v->s->matrix, index);
    switch (v->s->options.op) {
    case TRINE_T: v->visit(v->argument, column, row, value); break;
    case TRINE_H: v->visit(v->argument, column, row, conjl(value)); break;
    default: v->visit(v->argument, row, column, value);
    }
}
void visit_elements(const linear_system *s, void (*visit)(void *, int64_t, int64_t, wide), void *argument)
{
    visiting v = {s, visit, argument};
    visit_storage(s, visit_one, &v);
}

typedef struct { const double *x; double *d; } multiplication;
static void multiply_one(void *argument, int64_t row, int64_t column, wide value)
{
    const multiplication *m = argument;
    m->d[row] += (double)creall(value) * m->x[column];
}
void multiply_system(linear_system *s, const double *x)
{
    multiplication m = {x, s->D};
    memset(s->D, 0, (size_t)s->n * 8);
    visit_elements(s, multiply_one, &m);
}

/* ------------------------------------------------------------------- judging */

typedef struct { const linear_system *s; int64_t column; wide *residual; long double *size; } judging;
static void judge_one(void *argument, int64_t row, int64_t column, wide value)
{
    const judging *j = argument;
    const wide term = value * element(j->s->t, j->s->X, column + j->column * j->s->ldx);
    j->residual[row] -= term;
    j->size[row] += cabsl(term);
}
double backward_error(const linear_system *s, const void *D)
{
    long double worst = 0;
    judging j = {.s = s, .residual = malloc((size_t)(s->n + 1) * sizeof(wide)), .size = malloc((size_t)(s->n + 1) * sizeof(long double))};
    for (j.column = 0; j.column < s->nrhs; j.column++) {
        for (int64_t i = 0; i < s->n; i++) {
            j.residual[i] = element(s->t, D, i + j.column * s->ldd);
            j.size[i] = cabsl(j.residual[i]);
        }
        visit_elements(s, judge_one, &j);
        for (int64_t i = 0; i < s->n; i++) {
            const long double error = j.size[i] > 0 ? cabsl(j.residual[i]) / j.size[i] : cabsl(j.residual[i]);
            if (!(error <= worst)) worst = error == error ? error : INFINITY;
        }
    }
    free(j.residual), free(j.size);
    return (double)worst;
}

double relative_error(int64_t n, const double *x, const double *y)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) difference += (x[i] - y[i]) * (x[i] - y[i]), size += y[i] * y[i];
    return difference == difference ? sqrt(difference / size) : INFINITY;
}
static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* ------------------------------------------------------------------- solving */

static trine_status solve_on_cpu(linear_system *s)
{
    const size_t step = (size_t)s->n * (size_t)s->m * trine_dtype_size(s->t);
    const char *a = s->matrix;
    size_t bytes, factor_bytes;
    trine_status status;
    if (s->m && s->factor_first) {
        OK(trine_bgtf_cpu_size(s->t, s->rows, s->m, &s->options, &factor_bytes));
        OK(trine_bgtfs_cpu_work_size(s->t, s->rows, s->m, s->nrhs, &s->options, &bytes));
        void *factor = malloc(factor_bytes), *work = malloc(bytes);
        status = trine_bgtf_cpu(2, s->t, s->rows, s->m, &s->options, a, a + step, a + 2 * step, factor, factor_bytes);
        if (!status)
            status = trine_bgtfs_cpu(2, s->t, s->rows, s->m, s->nrhs, &s->options, factor, factor_bytes, s->D, s->ldd, s->X, s->ldx, work, bytes);
        free(factor), free(work);
        return status;
    }
    OK(s->m ? trine_bgtsv_cpu_work_size(s->t, s->rows, s->m, s->nrhs, &s->options, &bytes)
            : trine_gbsv_cpu_work_size(s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, &bytes));
    void *work = malloc(bytes);
    status = s->m ? trine_bgtsv_cpu(2, s->t, s->rows, s->m, s->nrhs, &s->options, a, a + step, a + 2 * step, s->D, s->ldd, s->X, s->ldx, work, bytes)
                  : trine_gbsv_cpu(2, s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, a, s->D, s->ldd, s->X, s->ldx, work, bytes);
    free(work);
    return status;
}

/** Everything there and, changed or not, back again. */
static trine_status solve_on_gpu(linear_system *s)
{
    static trine_context ctx; /* one for the whole program */
    const size_t size = trine_dtype_size(s->t), matrix_bytes = s->matrix_elements * size, step = (size_t)s->n * (size_t)s->m * size;
    const size_t d_bytes = (size_t)(s->ldd * s->nrhs) * size, x_bytes = (size_t)(s->ldx * s->nrhs) * size;
    size_t bytes, factor_bytes = 0;
    void *stream, *work, *factor = NULL;
    trine_status status;
    if (!ctx) ctx = test_context();
    OK(trine_context_get_stream(ctx, &stream));
    if (s->m && s->factor_first) {
        OK(trine_bgtf_size(s->t, s->rows, s->m, &s->options, &factor_bytes));
        OK(trine_bgtfs_work_size(s->t, s->rows, s->m, s->nrhs, &s->options, &bytes));
    } else {
        OK(s->m ? trine_bgtsv_work_size(s->t, s->rows, s->m, s->nrhs, &s->options, &bytes)
                : trine_gbsv_work_size(s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, &bytes));
    }
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &work));
    OK(trine_alloc(ctx, TRINE_DEVICE, factor_bytes, &factor));
    char *a = test_to_device(ctx, s->matrix, matrix_bytes), *X = test_to_device(ctx, s->X, x_bytes);
    char *D = s->D == s->X ? X : test_to_device(ctx, s->D, d_bytes);
    if (s->m && s->factor_first) {
        status = trine_bgtf(stream, s->t, s->rows, s->m, &s->options, a, a + step, a + 2 * step, factor, factor_bytes);
        if (!status)
            status = trine_bgtfs(stream, s->t, s->rows, s->m, s->nrhs, &s->options, factor, factor_bytes, D, s->ldd, X, s->ldx, work, bytes);
    } else {
        status = s->m ? trine_bgtsv(stream, s->t, s->rows, s->m, s->nrhs, &s->options, a, a + step, a + 2 * step, D, s->ldd, X, s->ldx, work, bytes)
                      : trine_gbsv(stream, s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, a, D, s->ldd, X, s->ldx, work, bytes);
    }
    test_from_device(ctx, s->X, X, x_bytes);
    test_from_device(ctx, s->matrix, a, matrix_bytes);
    if (D != X) {
        test_from_device(ctx, s->D, D, d_bytes);
        test_release(ctx, D);
    }
    test_release(ctx, X), test_release(ctx, a), test_release(ctx, work), test_release(ctx, factor);
    return status;
}

trine_status solve_system(linear_system *s) { return test_on_gpu() ? solve_on_gpu(s) : solve_on_cpu(s); }

typedef struct { double *ab; int ldab, diagonal; } lapack_bands;
static void store_one(void *argument, int64_t row, int64_t column, wide value)
{
    const lapack_bands *b = argument;
    b->ab[column * b->ldab + b->diagonal + row - column] = (double)creall(value);
}
bool solve_by_lapack(const linear_system *s, double *x)
{
    const int n = (int)s->n, one = 1, kl = s->m ? 2 * s->m - 1 : s->kl, ku = s->m ? kl : s->ku;
    lapack_bands bands = {.ldab = 2 * kl + ku + 1, .diagonal = kl + ku};
    int info, *pivots = malloc((size_t)n * sizeof(int));
    bands.ab = calloc((size_t)(bands.ldab * n), 8);
    visit_elements(s, store_one, &bands);
    memcpy(x, s->D, (size_t)n * 8);
    dgbsv_(&n, &kl, &ku, &one, bands.ab, &bands.ldab, pivots, x, &n, &info);
    free(bands.ab), free(pivots);
    return info == 0;
}

bool read_sample(const char *name, linear_system *s, double **x)
{
    char path[1024];
    const char *matrices = getenv("TRINE_TEST_MATRICES");
    snprintf(path, sizeof path, "%s/../numerics/data/%s.bin", matrices && *matrices ? matrices : "../shared/matrices", name);
    FILE *file = fopen(path, "rb");
    int64_t head[4];
    if (!file) return false;
    assert_int_equal(fread(head, 8, 4, file), 4);
    *s = new_bands(TRINE_D, head[0], (int)head[1], (int)head[2], 1, (trine_gtsv_options){0});
    *x = malloc((size_t)s->n * 8);
    assert_int_equal(fread(s->matrix, 8, s->matrix_elements, file), s->matrix_elements);
    assert_int_equal(fread(*x, 8, (size_t)s->n, file), s->n);
    assert_int_equal(fread(s->D, 8, (size_t)s->n, file), s->n);
    fclose(file);
    return true;
}
