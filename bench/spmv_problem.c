/* Matrices and vectors to multiply, and the check of what a product made of them. */
#include "spmv.h"

#include <complex.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t row_stride(const trine_dense *V) { return V->layout == TRINE_ROWMAJOR ? V->ld : 1; }
static int64_t column_stride(const trine_dense *V) { return V->layout == TRINE_ROWMAJOR ? 1 : V->ld; }

#define TEMPLATE "spmv_problem.inc"
#include "core/each_dtype.h"

static const struct {
    bool (*convert)(const double *from, int64_t count, void *to);
    void (*fill)(void *x, int64_t count, uint64_t seed);
    void (*multiply)(const spmv_problem *p);
    void (*compare)(const spmv_problem *p, double *error, double *of_bound);
    void (*largest)(const spmv_problem *p, bool by_column, int columns, void *out);
} numbers[] = {[TRINE_S] = {convert_s, fill_s, multiply_s, compare_s, largest_s},
               [TRINE_D] = {convert_d, fill_d, multiply_d, compare_d, largest_d},
               [TRINE_C] = {convert_c, fill_c, multiply_c, compare_c, largest_c},
               [TRINE_Z] = {convert_z, fill_z, multiply_z, compare_z, largest_z}};

spmv_scalar spmv_scalar_of(trine_dtype dtype, double x)
{
    spmv_scalar scalar = {.d = {0, 0}};
    if (dtype == TRINE_S || dtype == TRINE_C) scalar.s[0] = (float)x, scalar.s[1] = 0;
    else scalar.d[0] = x;
    return scalar;
}

/* ---------------------------------------------------------------- matrices */

/** Entries anywhere, with the lengths of rows that chance makes; columns of a row in any order. */
static trine_status make_random(trine_context ctx, int64_t n, int64_t nnz, trine_matrix *A)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    TRY(trine_matrix_allocate(ctx, A, TRINE_CSR, TRINE_D, n, n, nnz, &offsets, &columns, &values));
    memset(offsets, 0, (size_t)(n + 1) * sizeof *offsets);
    for (int64_t k = 0; k < nnz; k++) offsets[1 + (int64_t)(bench_uniform(11, (uint64_t)k) * (double)n)]++;
    for (int64_t i = 0; i < n; i++) offsets[i + 1] += offsets[i];
    for (int64_t k = 0; k < nnz; k++) {
        columns[k] = (int32_t)(bench_uniform(12, (uint64_t)k) * (double)n);
        ((double *)values)[k] = 2 * bench_uniform(13, (uint64_t)k) - 1;
    }
done:
    return status;
}

trine_status spmv_read(bench *b, const char *spec, trine_matrix *A)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix given = NULL;
    trine_matrix_info info;
    int64_t n, nnz;
    if (sscanf(spec, "random:%" SCNd64 ":%" SCNd64, &n, &nnz) == 2 && n > 0 && nnz >= 0 && n <= INT32_MAX) {
        return make_random(b->ctx, n, nnz, A);
    }
    TRY(bench_read_matrix(b, spec, &given));
    TRY(trine_matrix_get_info(given, &info));
    if (info.format == TRINE_CSR && info.space == TRINE_HOST) *A = given, given = NULL;
    else TRY(trine_matrix_copy(given, A, TRINE_HOST, TRINE_CSR, TRINE_D));
done:
    trine_matrix_destroy(&given);
    return status;
}

/** The nearest number of IEEE's binary16, ties to even, its bits in *bits; infinite if that is too large. */
static double round_to_half(double x, uint16_t *bits)
{
    enum { LEAST_EXPONENT = -13, DIGITS = 11, LARGEST = 0x7C00 };
    int exponent;
    frexp(x, &exponent);
    if (x == 0 || exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
    const double units = nearbyint(ldexp(fabs(x), DIGITS - exponent));
    const int magnitude = (int)units + ((exponent - LEAST_EXPONENT) << (DIGITS - 1));
    if (!(exponent < 32) || magnitude >= LARGEST) return INFINITY;
    *bits = (uint16_t)(magnitude | (signbit(x) ? 0x8000 : 0));
    return copysign(ldexp(units, exponent - DIGITS), x);
}

/** Host arrays of bytes, in the context's space: the same on a CPU. */
static trine_status place(bench *b, void *host, size_t bytes, void **placed)
{
    trine_status status = TRINE_SUCCESS;
    *placed = host;
    if (b->device.space == TRINE_HOST) return TRINE_SUCCESS;
    *placed = NULL;
    TRY(bench_turn_begin(b));
    TRY(trine_alloc(b->ctx, b->device.space, bytes ? bytes : 1, placed));
    TRY(trine_copy(b->ctx, *placed, b->device.space, host, TRINE_HOST, bytes));
done:
    bench_turn_end(b);
    return status;
}

static trine_status bytes_of(bench *b, int64_t count, size_t size, void *p)
{
    void *memory = bench_alloc(b->ctx, count, size, false);
    memcpy(p, &memory, sizeof memory);
    return memory ? TRINE_SUCCESS : TRINE_ERR_MEMORY;
}

/** values, given in double, rounded in place; and p->narrow of them. */
static trine_status make_narrow(spmv_problem *p, double *values)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    uint16_t *half = NULL;
    float *single = NULL;
    if (is_complex(p->dtype)) FAIL(TRINE_ERR_UNSUPPORTED, "values in half precision are real");
    TRY(ALLOC(b->ctx, half, p->nnz));
    TRY(ALLOC(b->ctx, single, p->nnz));
    for (int64_t k = 0; k < p->nnz; k++) {
        single[k] = (float)(values[k] = round_to_half(values[k], &half[k]));
        if (isinf(values[k])) FAIL(TRINE_ERR_UNSUPPORTED, "a value is too large for half precision");
    }
    TRY(place(b, half, (size_t)p->nnz * sizeof *half, &p->narrow[TRINE_VALUES_HALF]));
    if (b->device.space == TRINE_HOST) half = NULL;
    TRY(place(b, single, (size_t)p->nnz * sizeof *single, &p->narrow[TRINE_VALUES_SINGLE]));
    if (b->device.space == TRINE_HOST) single = NULL;
done:
    trine_free(b->ctx, TRINE_HOST, half);
    trine_free(b->ctx, TRINE_HOST, single);
    return status;
}

trine_status spmv_problem_make(bench *b, const char *spec, trine_matrix A, trine_dtype dtype, bool rounded,
                               spmv_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    *p = (spmv_problem){.b = b, .spec = spec, .dtype = dtype, .rounded = rounded};
    TRY(trine_matrix_get_info(A, &info));
    TRY(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    p->n_rows = info.n_rows, p->n_cols = info.n_cols, p->nnz = info.nnz;
    if (!values) FAIL(TRINE_ERR_UNSUPPORTED, "a pattern has no values");
    if (p->nnz > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 nonzeros");

    const size_t element = trine_dtype_size(dtype);
    TRY(ALLOC(b->ctx, p->host_offsets, p->n_rows + 1));
    TRY(ALLOC(b->ctx, p->host_columns, p->nnz));
    TRY(bytes_of(b, p->nnz, element, &p->host_values));
    for (int64_t i = 0; i <= p->n_rows; i++) p->host_offsets[i] = (int32_t)offsets[i];
    for (int64_t i = 0; i < p->n_rows; i++)
        if (offsets[i + 1] - offsets[i] > p->longest_row) p->longest_row = offsets[i + 1] - offsets[i];
    memcpy(p->host_columns, columns, (size_t)p->nnz * sizeof *columns);
    if (rounded) TRY(make_narrow(p, (double *)values)); /* the caller's */
    if (!numbers[dtype].convert(values, p->nnz, p->host_values))
        FAIL(TRINE_ERR_UNSUPPORTED, "a value is not finite in this precision");

    TRY(place(b, p->host_offsets, (size_t)(p->n_rows + 1) * sizeof *p->offsets, (void **)&p->offsets));
    TRY(place(b, p->host_columns, (size_t)p->nnz * sizeof *p->columns, (void **)&p->columns));
    TRY(place(b, p->host_values, (size_t)p->nnz * element, &p->values));
    TRY(trine_matrix_csr(b->ctx, &p->A, dtype, p->n_rows, p->n_cols, p->nnz, b->device.space, 32, p->offsets, 32,
                         p->columns, p->values));
done:
    if (status) spmv_problem_free(p);
    return status;
}

/* ----------------------------------------------------------------- vectors */

static size_t vector_bytes(const spmv_problem *p, const trine_dense *V)
{
    return (size_t)(V->rows * V->cols) * trine_dtype_size(p->dtype);
}

static void free_vectors(spmv_problem *p)
{
    bench *b = p->b;
    const trine_space space = b->device.space;
    trine_free(b->ctx, space, p->X.data);
    trine_free(b->ctx, space, p->Y.data);
    trine_free(b->ctx, TRINE_HOST, p->host_x);
    trine_free(b->ctx, TRINE_HOST, p->host_y);
    trine_free(b->ctx, TRINE_HOST, p->found_y);
    trine_free(b->ctx, TRINE_HOST, p->reference);
    trine_free(b->ctx, TRINE_HOST, p->scale);
    p->X.data = p->Y.data = p->host_x = p->host_y = p->found_y = p->reference = NULL;
    p->scale = NULL;
}

static trine_dense block_of(int64_t rows, int64_t cols, trine_layout layout)
{
    return (trine_dense){.rows = rows,
                         .cols = cols,
                         .layout = layout,
                         .ld = layout == TRINE_ROWMAJOR ? cols
                               : rows > 0               ? rows
                                                        : 1};
}

trine_status spmv_problem_set(spmv_problem *p, int64_t nrhs, double alpha, double beta)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    const trine_layout layout = nrhs == 1 ? TRINE_COLMAJOR : b->layout;
    const trine_space space = b->device.space;
    free_vectors(p);
    p->nrhs = nrhs, p->alpha = alpha, p->beta = beta;
    p->X = block_of(p->n_cols, nrhs, layout);
    p->Y = block_of(p->n_rows, nrhs, layout);
    TRY(bytes_of(b, 1, vector_bytes(p, &p->X), &p->host_x));
    TRY(bytes_of(b, 1, vector_bytes(p, &p->Y), &p->host_y));
    TRY(bytes_of(b, 1, vector_bytes(p, &p->Y), &p->found_y));
    TRY(bytes_of(b, p->n_rows * nrhs, sizeof(long double complex), &p->reference));
    TRY(ALLOC(b->ctx, p->scale, p->n_rows * nrhs));
    numbers[p->dtype].fill(p->host_x, p->n_cols * nrhs, 3);
    numbers[p->dtype].fill(p->host_y, p->n_rows * nrhs, 4);
    numbers[p->dtype].multiply(p);
    TRY(bench_turn_begin(b));
    TRY(trine_alloc(b->ctx, space, vector_bytes(p, &p->X) + 1, &p->X.data));
    TRY(trine_alloc(b->ctx, space, vector_bytes(p, &p->Y) + 1, &p->Y.data));
    TRY(trine_copy(b->ctx, p->X.data, space, p->host_x, TRINE_HOST, vector_bytes(p, &p->X)));
done:
    bench_turn_end(b);
    return status;
}

trine_status spmv_problem_prepare(spmv_problem *p, bool finite)
{
    const size_t bytes = vector_bytes(p, &p->Y);
    if (p->beta == 0) memset(p->host_y, finite ? 0x7B : 0xFF, bytes); /* 1e36 and 1e286; a NaN in every precision */
    return trine_copy(p->b->ctx, p->Y.data, p->b->device.space, p->host_y, TRINE_HOST, bytes);
}

trine_status spmv_problem_check(spmv_problem *p, double *error, double *of_bound)
{
    trine_status status = TRINE_SUCCESS;
    TRY(trine_context_synchronize(p->b->ctx));
    TRY(trine_copy(p->b->ctx, p->found_y, TRINE_HOST, p->Y.data, p->b->device.space, vector_bytes(p, &p->Y)));
    numbers[p->dtype].compare(p, error, of_bound);
done:
    return status;
}

void spmv_reference_of(const spmv_problem *p, const char *application, void *out)
{
    const int columns = strcmp(application, "arg-max") == 0 ? 1 : strcmp(application, "arg-max2") == 0 ? 2 : 0;
    numbers[p->dtype].largest(p, strcmp(application, "max-column") == 0, columns, out);
}

void spmv_problem_free(spmv_problem *p)
{
    bench *b = p->b;
    if (!b) return;
    const bool placed = b->device.space == TRINE_DEVICE;
    free_vectors(p);
    trine_matrix_destroy(&p->A);
    for (int k = 0; k < 3; k++) trine_free(b->ctx, b->device.space, p->narrow[k]);
    if (placed) {
        trine_free(b->ctx, TRINE_DEVICE, p->offsets);
        trine_free(b->ctx, TRINE_DEVICE, p->columns);
        trine_free(b->ctx, TRINE_DEVICE, p->values);
    }
    trine_free(b->ctx, TRINE_HOST, p->host_offsets);
    trine_free(b->ctx, TRINE_HOST, p->host_columns);
    trine_free(b->ctx, TRINE_HOST, p->host_values);
    *p = (spmv_problem){0};
}
