#include "spmv_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- patterns */

static int64_t random_length(int which, int64_t i)
{
    const double u = test_uniform(17, (uint64_t)(1000 * which) + (uint64_t)i);
    return (int64_t)(u * 12) % 7; /* 0 .. 6: empty rows as well */
}

/** Entries of row i. */
static int64_t length_of(int which, int64_t i, int64_t n_cols)
{
    switch (which) {
    case 0: return random_length(which, i);
    case 1: return i == 40 ? n_cols : random_length(which, i) / 4;
    case 2: return i % 50 == 3 || i % 50 == 4 ? 9000 + i : 0; /* split next to split */
    case 3: return (int64_t)(3 / (test_uniform(5, (uint64_t)i) + 0.002)); /* power law */
    case 4: return n_cols / 2;
    case 5: return i % 3;
    case 6: return 1;
    case 7: return (i % 20 > 0) + (i % 20 < 19) + (i >= 20) + (i < 380) + 1;
    case 8: return 33;
    case 9: return 3 + 13 * (i / 40); /* groups of 2, 3, 4, ... rows, 40 rows of each */
    case 10: return i % 37 ? 0 : 1 + i % 3;
    case 15: return 2 + 3 * (i / 160 + 2); /* groups of 2, 3, 4 rows, 160 rows of each */
    case 16: return 36 + i / 3 % 9 + (i == 202); /* groups of 3; one row is longer */
    default: return 0;
    }
}

/** Column of entry j of row i, which is entry k of all: anywhere, with duplicates, or what makes rows alike. */
static int32_t column_of(int which, int64_t i, int64_t j, int64_t k, int64_t n_cols)
{
    const int64_t steps[] = {-20, -1, 0, 1, 20}, group = i / 40 + 2, first = i - i % 40;
    const bool there[] = {i >= 20, i % 20 > 0, true, i % 20 < 19, i < 380};
    switch (which) {
    case 7: /* a grid of 20 x 20 */
        for (int c = 0; c < 5; c++)
            if (there[c] && j-- == 0) return (int32_t)(i + steps[c]);
        break;
    case 8: return (int32_t)(i + j + (j > 20) * 5);
    case 15: { /* from group to group higher by its rows; one of them is otherwise */
        const int64_t rows = i / 160 + 2, before = i % 160 / rows;
        return (int32_t)(i / 160 * 160 + before * rows + j + (j > 4) * 6 + (before == 25 && j == 6));
    }
    case 16: return (int32_t)(i / 3 * 5 + j + (j > 12) * 7 + (i == 100 && j == 12)); /* one has another column */
    case 9: k = first * 1000 + (i - first) / group * 100 + j; break;
    default: break;
    }
    return (int32_t)(test_uniform(7, (uint64_t)k) * (double)n_cols);
}

static const struct {
    const char *name;
    int64_t n_rows, n_cols;
} patterns[] = {{"random rows", 300, 170},
                {"one giant row", 90, 14000},
                {"giant rows in a row", 120, 700},
                {"power law", 3000, 2500},
                {"3 x 1000", 3, 1000},
                {"1000 x 3", 1000, 3},
                {"1 x 1", 1, 1},
                {"a stencil", 400, 400},
                {"bands", 300, 340},
                {"rows with the same columns", 320, 500},
                {"mostly empty rows", 1200, 80},
                {"no entries", 70, 50},
                {"no rows", 0, 5},
                {"no columns", 5, 0},
                {"nothing", 0, 0},
                {"blocks of a stencil", 480, 520},
                {"long rows with the same columns", 301, 560}};

const char *pattern_name(int which)
{
    return which < (int)(sizeof patterns / sizeof *patterns) ? patterns[which].name : NULL;
}

rows make_rows(int which, trine_dtype t)
{
    rows A = {.n_rows = patterns[which].n_rows, .n_cols = patterns[which].n_cols};
    A.offsets = calloc((size_t)A.n_rows + 1, sizeof *A.offsets);
    for (int64_t i = 0; i < A.n_rows; i++) A.offsets[i + 1] = A.offsets[i] + length_of(which, i, A.n_cols);
    A.nnz = A.offsets[A.n_rows];
    A.columns = malloc((size_t)A.nnz * sizeof *A.columns + 1);
    A.values = malloc((size_t)A.nnz * sizeof *A.values + 1);
    for (int64_t i = 0; i < A.n_rows; i++)
        for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++)
            A.columns[k] = column_of(which, i, k - A.offsets[i], k, A.n_cols);
    for (int64_t k = 0; k < A.nnz; k++) {
        wide v = rintl(1023 * creall(random_element(t, 8, (uint64_t)k))) / 1024;
        __imag__ v = rintl(1023 * cimagl(random_element(t, 8, (uint64_t)k))) / 1024;
        A.values[k] = v;
    }
    return A;
}

rows transposed(const rows *A, trine_transpose op)
{
    rows B = {.n_rows = op == TRINE_N ? A->n_rows : A->n_cols,
              .n_cols = op == TRINE_N ? A->n_cols : A->n_rows,
              .nnz = A->nnz};
    B.offsets = calloc((size_t)B.n_rows + 2, sizeof *B.offsets);
    B.columns = malloc((size_t)A->nnz * sizeof *B.columns + 1);
    B.values = malloc((size_t)A->nnz * sizeof *B.values + 1);
    int64_t *ends = B.offsets + 1;
    for (int pass = 0; pass < 2; pass++) { /* counts, then entries */
        for (int64_t i = 0; i < A->n_rows; i++)
            for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
                const int64_t row = op == TRINE_N ? i : A->columns[k];
                if (!pass) {
                    ends[row + 1]++;
                    continue;
                }
                const int64_t at = ends[row]++;
                B.columns[at] = op == TRINE_N ? A->columns[k] : (int32_t)i;
                B.values[at] = op == TRINE_H ? conjl(A->values[k]) : A->values[k];
            }
        for (int64_t r = 0; !pass && r < B.n_rows; r++) ends[r + 1] += ends[r];
    }
    return B;
}

void free_rows(rows *A)
{
    free(A->offsets);
    free(A->columns);
    free(A->values);
}

/* -------------------------------------------------------------------- forms */

/** The bits of a binary16 of a multiple of 2^-10 below 1. */
static uint16_t half_of(long double value)
{
    const uint16_t sign = value < 0 ? 0x8000 : 0;
    int exponent;
    const long double fraction = frexpl(fabsl(value), &exponent); /* in [1/2, 1) */
    if (value == 0) return sign;
    return (uint16_t)(sign | ((exponent - 1 + 15) << 10) | (uint16_t)((2 * fraction - 1) * 1024));
}

form make_form(trine_context ctx, const rows *given, trine_dtype t, trine_format format, int offset_bits,
               trine_spmv_values stored)
{
    rows B = transposed(given, format == TRINE_CSC ? TRINE_T : TRINE_N);
    form f = {0};
    const trine_dtype narrow = is_complex(t) ? TRINE_C : TRINE_S;
    const size_t size = stored == TRINE_VALUES_HALF     ? 2
                        : stored == TRINE_VALUES_SINGLE ? trine_dtype_size(narrow)
                                                        : trine_dtype_size(t);
    char *values = malloc((size_t)B.nnz * size + 1);
    for (int64_t k = 0; k < B.nnz; k++)
        if (stored == TRINE_VALUES_HALF) ((uint16_t *)values)[k] = half_of(creall(B.values[k]));
        else put(stored == TRINE_VALUES_SINGLE ? narrow : t, values, k, B.values[k]);
    int32_t *offsets32 = malloc((size_t)(B.n_rows + 1) * sizeof *offsets32);
    for (int64_t i = 0; i <= B.n_rows; i++) offsets32[i] = (int32_t)B.offsets[i];
    f.offsets = offset_bits == 32 ? test_to_device(ctx, offsets32, (size_t)(B.n_rows + 1) * 4)
                                  : test_to_device(ctx, B.offsets, (size_t)(B.n_rows + 1) * 8);
    f.indices = test_to_device(ctx, B.columns, (size_t)B.nnz * sizeof *B.columns);
    f.values = test_to_device(ctx, values, (size_t)B.nnz * size);
    OK((format == TRINE_CSR ? trine_matrix_csr : trine_matrix_csc)(
        ctx, &f.A, t, given->n_rows, given->n_cols, given->nnz, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, offset_bits,
        f.offsets, 32, f.indices, stored == TRINE_VALUES_SAME ? f.values : NULL));
    free(offsets32);
    free(values);
    free_rows(&B);
    return f;
}

void free_form(trine_context ctx, form *f)
{
    OK(trine_matrix_destroy(&f->A));
    test_release(ctx, f->offsets);
    test_release(ctx, f->indices);
    test_release(ctx, f->values);
}

trine_spmv make_plan(trine_context ctx, const form *f, const trine_spmv_options *options)
{
    trine_spmv plan;
    OK(trine_spmv_analyse(ctx, &plan, f->A, options));
    OK(trine_spmv_numeric(plan, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, f->values, NULL));
    return plan;
}

/* ---------------------------------------------------------------- reference */

long double magnitude(wide z)
{
    return cimagl(z) == 0 ? fabsl(creall(z)) : sqrtl(creall(z) * creall(z) + cimagl(z) * cimagl(z));
}

wide x_element(trine_dtype t, int64_t i, int64_t j)
{
    char room[16];
    put(t, room, 0, random_element(t, 100 + (uint64_t)j, (uint64_t)i));
    return get(t, room, 0);
}
wide y_element(trine_dtype t, int64_t i, int64_t j) { return x_element(t, i, j + 1000); }

/** What the functions of the reference get. */
typedef struct {
    const rows *A;
    trine_dtype t;
    int64_t vector;
} sums_user;

static void multiply(const void *user, const void *values, const void *x, int64_t nz, int64_t row, int64_t col,
                     void *product)
{
    const sums_user *u = user;
    (void)row;
    const wide a = ((const wide *)values)[nz], at = ((const wide *)x)[col];
    assert_int_equal(u->A->columns[nz], col);
    *(row_sum *)product = (row_sum){a * at, magnitude(a) * magnitude(at), 1};
}
static void add(const void *user, void *accumulator, const void *p)
{
    (void)user;
    row_sum *sum = accumulator;
    const row_sum *more = p;
    *sum = (row_sum){sum->z + more->z, sum->m + more->m, sum->length + more->length};
}
static void store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    static const row_sum none;
    memcpy(y, accumulator ? accumulator : &none, sizeof none);
}

row_sum *reference_sums(const rows *A, trine_dtype t, int64_t vectors)
{
    const trine_semiring_source source = {.output = {.size = sizeof(row_sum)},
                                          .cpu = {.multiply = multiply, .add = add, .store = store}};
    row_sum *sums = malloc((size_t)(A->n_rows * vectors) * sizeof *sums + 1);
    wide *x = malloc((size_t)A->n_cols * sizeof *x + 1);
    for (int64_t j = 0; j < vectors; j++) {
        const sums_user user = {A, t, j};
        for (int64_t i = 0; i < A->n_cols; i++) x[i] = x_element(t, i, j);
        trine_spmv_reference(&source, &user, A->n_rows, A->offsets, A->columns, A->values, x, sums + j * A->n_rows);
    }
    free(x);
    return sums;
}

/* ----------------------------------------------------------------- products */

enum { GAP = 2 };

static int64_t ld_of(int64_t rows, const question *q, trine_layout layout)
{
    return (layout == TRINE_COLMAJOR ? rows : q->nrhs) + (q->is_tight ? 0 : GAP);
}
static int64_t at(int64_t i, int64_t j, int64_t ld, trine_layout layout)
{
    return layout == TRINE_COLMAJOR ? i + j * ld : i * ld + j;
}

void check_product(trine_context ctx, trine_spmv plan, trine_dtype t, const rows *A, const row_sum *sums,
                   const question *q, const char *what)
{
    const size_t size = trine_dtype_size(t);
    const int64_t x_ld = ld_of(A->n_cols, q, q->x_layout), y_ld = ld_of(A->n_rows, q, q->y_layout);
    const size_t x_bytes = (size_t)(x_ld * (q->x_layout == TRINE_COLMAJOR ? q->nrhs : A->n_cols)) * size,
                 y_bytes = (size_t)(y_ld * (q->y_layout == TRINE_COLMAJOR ? q->nrhs : A->n_rows)) * size;
    const wide alpha = q->alpha ? *q->alpha : 1, beta = q->beta ? *q->beta : 0;
    char *x = malloc(x_bytes + 1), *y = malloc(y_bytes + 1), *before = malloc(y_bytes + 1), alpha_room[16],
         beta_room[16];
    memset(x, 0xFF, x_bytes); /* NaN */
    memset(before, 0xFF, y_bytes);
    for (int64_t j = 0; j < q->nrhs; j++) {
        for (int64_t i = 0; i < A->n_cols && alpha != 0; i++)
            put(t, x, at(i, j, x_ld, q->x_layout), x_element(t, i, j));
        for (int64_t i = 0; i < A->n_rows && beta != 0; i++)
            put(t, before, at(i, j, y_ld, q->y_layout), y_element(t, i, j));
    }
    put(t, alpha_room, 0, alpha);
    put(t, beta_room, 0, beta);
    const trine_dense X = {test_to_device(ctx, x, x_bytes), A->n_cols, q->nrhs, x_ld, q->x_layout},
                      Y = {test_to_device(ctx, before, y_bytes), A->n_rows, q->nrhs, y_ld, q->y_layout};
    const void *a = q->alpha ? alpha_room : NULL, *b = q->beta ? beta_room : NULL;
    if (q->row_end < 0) OK(trine_spmv_apply(plan, q->op, a, &X, b, &Y, NULL));
    else OK(trine_spmv_apply_rows(plan, q->row_begin, q->row_end, a, &X, b, &Y, NULL));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, y, Y.data, y_bytes);
    const int64_t begin = q->row_end < 0 ? 0 : q->row_begin, end = q->row_end < 0 ? A->n_rows : q->row_end;
    for (int64_t j = 0; j < q->nrhs; j++)
        for (int64_t i = begin; i < end; i++) {
            const int64_t place = at(i, j, y_ld, q->y_layout);
            const row_sum *sum = &sums[i + j * A->n_rows];
            const wide old = beta != 0 ? get(t, before, place) : 0;
            const wide exact = alpha * sum->z + beta * old;
            const long double bound = 2 * (long double)(sum->length + 3) * eps_of(t) *
                                      (magnitude(alpha) * sum->m + magnitude(beta) * magnitude(old));
            const long double error = magnitude(get(t, y, place) - exact);
            if (!(error <= bound))
                fail_msg("%s: row %lld, vector %lld: error %Lg, bound %Lg", what, (long long)i, (long long)j, error,
                         bound);
            memcpy(y + (size_t)place * size, before + (size_t)place * size, size); /* what is left has not changed */
        }
    assert_memory_equal(y, before, y_bytes);
    test_release(ctx, X.data);
    test_release(ctx, Y.data);
    free(x);
    free(y);
    free(before);
}
