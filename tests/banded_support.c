#include "banded_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void dgbsv_(const int *n, const int *kl, const int *ku, const int *nrhs, double *ab, const int *ldab, int *ipiv,
            double *b, const int *ldb, int *info);

/* ------------------------------------------------------------------ building */

static linear_system new_system(linear_system s)
{
    const size_t size = trine_dtype_size(s.t);
    s.ldd = s.n + 3;
    s.ldx = s.n + 1;
    s.threads = 2;
    s.matrix = calloc(s.matrix_elements + 1, size);
    s.D = calloc((size_t)(s.ldd * s.nrhs) + 1, size);
    s.X = calloc((size_t)(s.ldx * s.nrhs) + 1, size);
    for (int64_t i = 0; i < s.ldd * s.nrhs; i++) put(s.t, s.D, i, random_element(s.t, 4711, (uint64_t)i));
    return s;
}
linear_system new_blocks(trine_dtype t, int64_t rows, int m, int64_t nrhs, trine_gtsv_options options)
{
    return new_system((linear_system){.t = t,
                                      .n = rows * m,
                                      .rows = rows,
                                      .nrhs = nrhs,
                                      .m = m,
                                      .options = options,
                                      .matrix_elements = (size_t)(3 * rows * m * m)});
}
linear_system new_bands(trine_dtype t, int64_t n, int kl, int ku, int64_t nrhs, trine_gtsv_options options)
{
    return new_system((linear_system){.t = t,
                                      .n = n,
                                      .nrhs = nrhs,
                                      .kl = kl,
                                      .ku = ku,
                                      .options = options,
                                      .matrix_elements = (size_t)(n * (kl + ku + 1))});
}
linear_system new_tridiagonal(trine_dtype t, int64_t n, int64_t nrhs, trine_gtsv_options options)
{
    linear_system s = new_bands(t, n, 1, 1, nrhs, options);
    s.tridiagonal = true;
    return s;
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
                    visit(argument, j * m + i, outside ? -1 : wrapped * m + q,
                          s->m ? element_of_block(s, j, k, i, q) : element_of_band(s, j, k));
        }
}

typedef struct {
    linear_system *s;
    uint64_t seed;
    double dominance;
    bool poison;
} filling;
static void fill_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const filling *f = argument;
    if (f->poison) {
        if (column < 0) put(f->s->t, f->s->matrix, index, (wide)NAN);
        return;
    }
    put(f->s->t, f->s->matrix, index,
        random_element(f->s->t, f->seed, (uint64_t)index) + (row == column ? f->dominance : 0));
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

typedef struct {
    const linear_system *s;
    void (*visit)(void *, int64_t, int64_t, wide);
    void *argument;
} visiting;
static void visit_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const visiting *v = argument;
    if (column < 0) return;
    const wide value = get(v->s->t, v->s->matrix, index);
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

typedef struct {
    const double *x;
    double *d;
} multiplication;
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

typedef struct {
    const linear_system *s;
    int64_t column;
    wide *residual;
    long double *size;
} judging;
static void judge_one(void *argument, int64_t row, int64_t column, wide value)
{
    const judging *j = argument;
    const wide term = value * get(j->s->t, j->s->X, column + j->column * j->s->ldx);
    j->residual[row] -= term;
    j->size[row] += absolute(term);
}
double backward_error(const linear_system *s, const void *D)
{
    long double worst = 0;
    judging j = {.s = s,
                 .residual = malloc((size_t)(s->n + 1) * sizeof(wide)),
                 .size = malloc((size_t)(s->n + 1) * sizeof(long double))};
    for (j.column = 0; j.column < s->nrhs; j.column++) {
        for (int64_t i = 0; i < s->n; i++) {
            j.residual[i] = get(s->t, D, i + j.column * s->ldd);
            j.size[i] = absolute(j.residual[i]);
        }
        visit_elements(s, judge_one, &j);
        for (int64_t i = 0; i < s->n; i++) {
            const long double error = j.size[i] > 0 ? absolute(j.residual[i]) / j.size[i] : absolute(j.residual[i]);
            if (!(error <= worst)) worst = error == error ? error : INFINITY;
        }
    }
    free(j.residual), free(j.size);
    return (double)worst;
}

/** With everything in ctx's space. */
static void measure_errors(const linear_system *s, trine_context ctx, const char *a, const void *D, const void *X,
                           double *errors)
{
    const size_t step = s->matrix_elements / 3 * trine_dtype_size(s->t);
    if (s->m)
        OK(trine_bgtsv_backward_error(ctx, s->t, s->rows, s->m, s->nrhs, &s->options, a, a + step, a + 2 * step, D,
                                      s->ldd, X, s->ldx, errors, NULL));
    else if (s->tridiagonal)
        OK(trine_gtsv_backward_error(ctx, s->t, s->n, s->nrhs, &s->options, a, a + step, a + 2 * step, D, s->ldd, X,
                                     s->ldx, errors, NULL));
    else
        OK(trine_gbsv_backward_error(ctx, s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, a, D, s->ldd, X, s->ldx,
                                     errors, NULL));
}

void find_errors(const linear_system *s, double *errors)
{
    const size_t size = trine_dtype_size(s->t), d_bytes = (size_t)(s->ldd * s->nrhs) * size,
                 x_bytes = (size_t)(s->ldx * s->nrhs) * size;
    const size_t error_bytes = (size_t)s->nrhs * sizeof *errors;
    const trine_context ctx = test_shared(s->threads);
    if (!test_on_gpu()) {
        const char *a = s->matrix;
        measure_errors(s, ctx, a, s->D, s->X, errors);
        return;
    }
    char *a = test_to_device(ctx, s->matrix, s->matrix_elements * size);
    void *D = test_to_device(ctx, s->D, d_bytes), *X = test_to_device(ctx, s->X, x_bytes),
         *found = test_to_device(ctx, errors, error_bytes);
    measure_errors(s, ctx, a, D, X, found);
    test_from_device(ctx, errors, found, error_bytes);
    test_release(ctx, a), test_release(ctx, D), test_release(ctx, X), test_release(ctx, found);
}
/** The largest error that trine itself finds. */
static double measured_error(const linear_system *s)
{
    double worst = 0, *errors = calloc((size_t)s->nrhs + 1, sizeof *errors);
    find_errors(s, errors);
    for (int64_t c = 0; c < s->nrhs; c++)
        if (!(errors[c] <= worst)) worst = errors[c];
    free(errors);
    return worst;
}

static double relative_error(int64_t n, const double *x, const double *y)
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
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* ------------------------------------------------------------------- solving */

/** A workspace of exactly so many bytes. Of two, one begins behind a page that must not be touched, which optimized
 *  code is not kept from otherwise, and the other one is where the address sanitizer can see both ends. */
static bool is_behind_guard(void)
{
    static int count;
    return !test_on_gpu() && __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2 == 0;
}
typedef struct {
    void *start, *mapped;
    size_t bytes;
} workspace;
static workspace new_work(trine_context ctx, size_t bytes)
{
    workspace w = {0};
    if (test_on_gpu()) {
        OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &w.start));
    } else if (is_behind_guard()) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        w.bytes = page + bytes;
        w.mapped = mmap(NULL, w.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(w.mapped != MAP_FAILED);
        assert_int_equal(mprotect(w.mapped, page, PROT_NONE), 0);
        w.start = (char *)w.mapped + page;
    } else {
        w.start = malloc(bytes + !bytes);
    }
    return w;
}
static void release_work(trine_context ctx, workspace w)
{
    if (w.mapped) munmap(w.mapped, w.bytes);
    else if (test_on_gpu()) test_release(ctx, w.start);
    else free(w.start);
}

/** With everything in ctx's space. */
static trine_status solve_there(const linear_system *s, trine_context ctx, const char *a, const void *D, void *X)
{
    /* from a to b and from b to c; bands: not used */
    const size_t step = s->matrix_elements / 3 * trine_dtype_size(s->t);
    size_t bytes, factor_bytes = 0;
    workspace work, factor = {0};
    trine_status status = TRINE_SUCCESS;
    if (s->factor_first) {
        OK(trine_bgtf_size(ctx, s->t, s->rows, s->m, &s->options, &factor_bytes));
        OK(trine_bgtfs_work_size(ctx, s->t, s->rows, s->m, s->nrhs, &s->options, &bytes));
        work = new_work(ctx, bytes);
        factor = new_work(ctx, factor_bytes);
        status = trine_bgtf(ctx, s->t, s->rows, s->m, &s->options, a, a + step, a + 2 * step, factor.start,
                            factor_bytes, NULL);
        if (!status)
            status = trine_bgtfs(ctx, s->t, s->rows, s->m, s->nrhs, &s->options, factor.start, factor_bytes, D, s->ldd,
                                 X, s->ldx, work.start, bytes, NULL);
    } else if (s->m) {
        OK(trine_bgtsv_work_size(ctx, s->t, s->rows, s->m, s->nrhs, &s->options, &bytes));
        work = new_work(ctx, bytes);
        status = trine_bgtsv(ctx, s->t, s->rows, s->m, s->nrhs, &s->options, a, a + step, a + 2 * step, D, s->ldd, X,
                             s->ldx, work.start, bytes, NULL);
    } else if (s->tridiagonal) {
        OK(trine_gtsv_work_size(ctx, s->t, s->n, s->nrhs, &s->options, &bytes));
        work = new_work(ctx, bytes);
        status = trine_gtsv(ctx, s->t, s->n, s->nrhs, &s->options, a, a + step, a + 2 * step, D, s->ldd, X, s->ldx,
                            work.start, bytes, NULL);
    } else {
        OK(trine_gbsv_work_size(ctx, s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, &bytes));
        work = new_work(ctx, bytes);
        status = trine_gbsv(ctx, s->t, s->n, s->nrhs, s->kl, s->ku, &s->options, a, D, s->ldd, X, s->ldx, work.start,
                            bytes, NULL);
    }
    release_work(ctx, work), release_work(ctx, factor);
    return status;
}

/** Everything there and, changed or not, back again. */
static trine_status solve_on_gpu(linear_system *s)
{
    const trine_context ctx = test_shared(1);
    const size_t size = trine_dtype_size(s->t), matrix_bytes = s->matrix_elements * size;
    const size_t d_bytes = (size_t)(s->ldd * s->nrhs) * size, x_bytes = (size_t)(s->ldx * s->nrhs) * size;
    void *a = test_to_device(ctx, s->matrix, matrix_bytes), *X = test_to_device(ctx, s->X, x_bytes);
    void *D = s->D == s->X ? X : test_to_device(ctx, s->D, d_bytes);
    const trine_status status = solve_there(s, ctx, a, D, X);
    test_from_device(ctx, s->X, X, x_bytes);
    test_from_device(ctx, s->matrix, a, matrix_bytes);
    if (D != X) {
        test_from_device(ctx, s->D, D, d_bytes);
        test_release(ctx, D);
    }
    test_release(ctx, X), test_release(ctx, a);
    return status;
}

trine_status solve_system(linear_system *s)
{
    return test_on_gpu() ? solve_on_gpu(s) : solve_there(s, test_cpu(s->threads), s->matrix, s->D, s->X);
}

typedef struct {
    double *ab;
    int ldab, diagonal;
} lapack_bands;
static void store_one(void *argument, int64_t row, int64_t column, wide value)
{
    const lapack_bands *b = argument;
    b->ab[column * b->ldab + b->diagonal + row - column] += (double)creall(value);
}
static bool solve_by_lapack(const linear_system *s, double *x)
{
    const int n = (int)s->n, one = 1, all = n - 1, corners = s->options.cyclic;
    const int kl = corners ? all : s->m ? 2 * s->m - 1 : s->kl, ku = corners ? all : s->m ? kl : s->ku;
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
    const char *path = test_recorded_system(name);
    FILE *file = path ? fopen(path, "rb") : NULL;
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

/* ------------------------------------------------------------------- checks */

void check_random(linear_system s, double dominance, double bound)
{
    if (!test_is_small(s.n) || !test_is_to_do()) {
        free_system(&s);
        return;
    }
    fill_system(&s, (uint64_t)(s.n + 1), dominance);
    poison_outside(&s);
    OK(solve_system(&s));
    const double error = backward_error(&s, s.D) / eps_of(s.t), measured = measured_error(&s) / eps_of(s.t);
    if (!(fabs(measured - error) <= .01 * (error + 1))) /* long double has 11 bits more than double */
        fail_msg(
            "dtype %d, n %lld, block size %d, kl %d, ku %d, cyclic %d, op %d: trine finds a backward error of %.6g eps, where it is %.6g",
            (int)s.t, (long long)s.n, s.m, s.kl, s.ku, s.options.cyclic, (int)s.options.op, measured, error);
    if (!(error <= bound)) {
        print_error(
            "dtype %d, n %lld, block size %d, kl %d, ku %d, nrhs %lld, pivot %d, cyclic %d, op %d, partition %d, refine %d, factor first %d: "
            "backward error %.3g eps\n",
            (int)s.t, (long long)s.n, s.m, s.kl, s.ku, (long long)s.nrhs, (int)s.options.pivot, s.options.cyclic,
            (int)s.options.op, s.options.partition, s.options.refine, s.factor_first, error);
        fail();
    }
    free_system(&s);
}

void check_exchanges(linear_system s)
{
    if (!test_is_small(s.n) || !test_is_to_do()) {
        free_system(&s);
        return;
    }
    OK(solve_system(&s));
    const double error = backward_error(&s, s.D) / eps_of(s.t);
    if (!(error <= 50))
        fail_msg("dtype %d, n %lld, block size %d, pivot %d: backward error %.3g eps", (int)s.t, (long long)s.n, s.m,
                 (int)s.options.pivot, error);
    free_system(&s);
}

typedef struct {
    linear_system *s;
    double noise;
} noisy;
static void pair_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const noisy *p = argument;
    put(p->s->t, p->s->matrix, index, row / 2 != column / 2 ? 0 : row == column && row % 2 ? 1 + p->noise : 1);
}
void check_epsilon(linear_system s)
{
    noisy pairs = {&s, eps_of(s.t) > 1e-10 ? 1e-3 : 1e-6};
    const int64_t end = s.n / 2 * 2;
    if (!test_is_small(s.n) || !test_is_to_do()) {
        free_system(&s);
        return;
    }
    visit_storage(&s, pair_one, &pairs);
    for (int64_t c = 0; c < s.nrhs; c++)
        for (int64_t i = 0; i < s.n; i++) put(s.t, s.D, i + c * s.ldd, i == end ? 1 : i % 2 ? 2 + pairs.noise : 2);
    for (int with = 0; with < 2; with++) {
        s.options.epsilon = with * 2 * pairs.noise;
        OK(solve_system(&s));
        for (int64_t c = 0; c < s.nrhs; c++)
            for (int64_t i = 0; i < end; i++) {
                const double x = (double)absolute(get(s.t, s.X, i + c * s.ldx) - 1);
                if (with ? !(x > 100) : !(x < .01))
                    fail_msg("dtype %d, n %lld, block size %d, kl %d, ku %d, epsilon %g: |x[%lld] - 1| = %g", (int)s.t,
                             (long long)s.n, s.m, s.kl, s.ku, s.options.epsilon, (long long)i, x);
            }
    }
    free_system(&s);
}

typedef struct {
    linear_system *s;
    int64_t column;
} emptying;
static void empty_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const emptying *e = argument;
    (void)row;
    if (column == e->column) put(e->s->t, e->s->matrix, index, 0);
}
void check_singular(linear_system s)
{
    static const int64_t where[] = {0, 6, 500, 999};
    for (int k = 0; k < 4; k++) {
        char row[32];
        emptying e = {&s, where[k]};
        fill_system(&s, 3, 0);
        visit_storage(&s, empty_one, &e);
        snprintf(row, sizeof row, "row %d ", (int)where[k]);
        if (test_on_gpu()) OK(solve_system(&s));
        else FAILS(TRINE_ERR_SINGULAR, row, solve_system(&s));
    }
    free_system(&s);
}

void check_nan(linear_system s)
{
    fill_system(&s, 3, 5);
    ((double *)s.D)[s.ldd + 500] = NAN;
    OK(solve_system(&s));
    assert_true(!isnan(((double *)s.X)[500]) && isnan(((double *)s.X)[s.ldx + 500]));
    free_system(&s);
}

/** The power of two that row i is scaled by, such that nothing over- or underflows. */
static double scale_of(trine_dtype t, int64_t i)
{
    const int most = eps_of(t) > 1e-10 ? 20 : 100;
    return ldexp(1, (int)(2 * most * test_uniform(10, (uint64_t)i)) - most);
}
static void scale_one(void *argument, int64_t row, int64_t column, int64_t index)
{
    const linear_system *s = argument;
    (void)column;
    put(s->t, s->matrix, index, scale_of(s->t, row) * get(s->t, s->matrix, index));
}
void check_scaled_rows(linear_system s)
{
    const size_t bytes = (size_t)s.n * trine_dtype_size(s.t);
    void *x = malloc(bytes);
    if (test_is_small(s.n) && test_is_to_do()) {
        fill_system(&s, 8, 0);
        OK(solve_system(&s));
        memcpy(x, s.X, bytes);
        visit_storage(&s, scale_one, &s);
        for (int64_t i = 0; i < s.n; i++) put(s.t, s.D, i, scale_of(s.t, i) * get(s.t, s.D, i));
        OK(solve_system(&s));
        assert_memory_equal(x, s.X, bytes);
    }
    free(x);
    free_system(&s);
}

void check_threads(linear_system s)
{
    const size_t bytes = (size_t)(s.ldx * s.nrhs) * trine_dtype_size(s.t);
    void *first = malloc(bytes);
    if (test_on_gpu()) skip();
    fill_system(&s, 9, 6);
    for (s.threads = 1; s.threads <= 4; s.threads++) {
        OK(solve_system(&s));
        if (s.threads == 1) memcpy(first, s.X, bytes);
        assert_memory_equal(first, s.X, bytes);
    }
    free(first);
    free_system(&s);
}

void check_in_place_and_inputs(linear_system *s)
{
    const size_t size = trine_dtype_size(s->t), d_bytes = (size_t)(s->ldd * s->nrhs) * size,
                 matrix_bytes = s->matrix_elements * size;
    void *d = malloc(d_bytes), *matrix = malloc(matrix_bytes);
    memcpy(d, s->D, d_bytes), memcpy(matrix, s->matrix, matrix_bytes);
    for (int64_t c = 0; c < s->nrhs; c++) put(s->t, s->X, s->n + c * s->ldx, 77);
    OK(solve_system(s));
    assert_memory_equal(d, s->D, d_bytes);
    assert_memory_equal(matrix, s->matrix, matrix_bytes);
    for (int64_t c = 0; c < s->nrhs; c++) assert_true(get(s->t, s->X, s->n + c * s->ldx) == 77);
    linear_system in_place = *s;
    in_place.X = in_place.D, in_place.ldx = s->ldd;
    OK(solve_system(&in_place));
    for (int64_t c = 0; c < s->nrhs; c++)
        assert_memory_equal((char *)in_place.X + (size_t)(c * s->ldd) * size,
                            (char *)s->X + (size_t)(c * s->ldx) * size, (size_t)s->n * size);
    free(d), free(matrix);
}

void compare_with_lapack(linear_system *s, const double *x, error_samples *e)
{
    double *y = malloc((size_t)s->n * 8);
    e->lapack[e->count] = solve_by_lapack(s, y) ? relative_error(s->n, y, x) : INFINITY;
    OK(solve_system(s));
    e->ours[e->count] = relative_error(s->n, s->X, x);
    e->backward[e->count] = backward_error(s, s->D);
    e->count++;
    free(y);
}

void check_errors(const char *name, error_samples *e, bool hopeless)
{
    if (test_is_reduced()) return;
    const double eps = eps_of(TRINE_D), ours = median(e->ours, e->count), lapack = median(e->lapack, e->count),
                 backward = median(e->backward, e->count);
    if (!(hopeless ? backward <= 50 * eps : ours <= 50 * fmax(lapack, eps))) {
        print_error("%s: forward error %.2e, LAPACK's %.2e, backward error %.2e\n", name, ours, lapack, backward);
        fail();
    }
}
