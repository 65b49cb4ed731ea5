/* Products with the library's semirings and with callers', on the CPU and on a GPU, against loops over rows as their
 * definitions say. All numbers are such that sums are exact, where nothing else is said. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmv_support.h"

#define TYPE(type) {.name = #type, .size = sizeof(type), .align = _Alignof(type)}
#define STRUCT(type, declaration) {.name = #type, .code = declaration, .size = sizeof(type), .align = _Alignof(type)}
#define COUNT(array) (sizeof(array) / sizeof *(array))

/** y := A x by a semiring, in the rows of a range; y: before, and after. */
static void apply(trine_context ctx, trine_spmv plan, trine_semiring semiring, const void *x, size_t x_bytes, void *y,
                  size_t y_bytes, const void *args, int64_t row_begin, int64_t row_end)
{
    void *x_there = x ? test_to_device(ctx, x, x_bytes) : NULL, *y_there = test_to_device(ctx, y, y_bytes);
    OK(trine_spmv_apply_semiring(plan, semiring, x_there, y_there, args, row_begin, row_end, NULL));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, y, y_there, y_bytes);
    test_release(ctx, x_there);
    test_release(ctx, y_there);
}

/** Methods and formats that a semiring goes through. */
static const struct {
    trine_format format;
    int offset_bits;
    trine_spmv_options options;
} ways[] = {
    {TRINE_CSR, 32, {0}},
    {TRINE_CSR, 64, {.no_preprocess = 1}},
    {TRINE_CSR, 32, {.method = TRINE_SPMV_BALANCED_POSTPROCESS}},
    {TRINE_CSC, 64, {0}},
    {TRINE_CSR,
     64,
     {.method = TRINE_SPMV_BALANCED_POSTPROCESS,
      .tune = {.block = 64, .tile = 4, .entries_per_block = 300, .reduction = TRINE_REDUCTION_WARP_TRANSPOSED}}},
    {TRINE_CSR, 32, {.tune = {.block = 128, .tile = 16, .reduction = TRINE_REDUCTION_RAKING}}},
    {TRINE_CSR, 32, {.method = TRINE_SPMV_ADAPTIVE, .tune = {.reduction = TRINE_REDUCTION_ROWS}}},
    {TRINE_CSC,
     32,
     {.method = TRINE_SPMV_ADAPTIVE, .tune = {.entries_per_block = 700, .reduction = TRINE_REDUCTION_ROWS}}},
};

/* ---------------------------------------------------------------- built in */

static double element(trine_dtype t, const void *v, int64_t i)
{
    return t == TRINE_S ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/** Row i of a built-in semiring, one or two numbers. */
static void expect_builtin(const char *name, const rows *A, int64_t i, const double *x, double y[2])
{
    double first = -INFINITY, second = -INFINITY;
    const bool is_min = !strcmp(name, "min-plus"), is_column = !strcmp(name, "max-column");
    const bool is_plus = !strcmp(name, "max-plus");
    y[0] = !strcmp(name, "plus-times") || !strcmp(name, "or-and") ? 0 : is_min ? INFINITY : -INFINITY;
    const bool is_argument = !strncmp(name, "arg", 3);
    if (is_argument) y[0] = y[1] = -1;
    for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
        const int32_t column = A->columns[k];
        const double a = (double)creall(A->values[k]);
        if (!strcmp(name, "plus-times")) y[0] += a * x[column];
        else if (!strcmp(name, "or-and")) y[0] = y[0] != 0 || x[column] != 0;
        else if (is_min) y[0] = fmin(y[0], a + x[column]);
        else if (!is_argument) y[0] = fmax(y[0], is_column ? column * a : is_plus ? a + x[column] : a);
        else if (a > first || (a == first && column < y[0])) first = a, y[0] = column;
    }
    for (int64_t k = A->offsets[i]; is_argument && k < A->offsets[i + 1]; k++) {
        const double a = (double)creall(A->values[k]);
        const int32_t column = A->columns[k];
        if (column != y[0] && (a > second || (a == second && column < y[1]))) second = a, y[1] = column;
    }
}

static void check_builtin(trine_context ctx, const char *name, trine_dtype t, int pattern, size_t way)
{
    rows A = make_rows(pattern, t);
    form f = make_form(ctx, &A, t, ways[way].format, ways[way].offset_bits, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, &ways[way].options);
    trine_semiring semiring;
    OK(trine_semiring_builtin(ctx, &semiring, name, t));
    const bool is_byte = !strcmp(name, "or-and"), is_argument = !strncmp(name, "arg", 3);
    const int per_row = !strcmp(name, "arg-max2") ? 2 : 1;
    const size_t x_size = is_byte ? 1 : trine_dtype_size(t), y_size = is_byte ? 1 : is_argument ? 4 : x_size;
    double *x = malloc((size_t)A.n_cols * sizeof *x + 1);
    char *given = malloc((size_t)A.n_cols * x_size + 1), *y = malloc((size_t)A.n_rows * (size_t)per_row * y_size + 1);
    memset(y, 0x7b, (size_t)A.n_rows * (size_t)per_row * y_size);
    for (int64_t i = 0; i < A.n_cols; i++) {
        x[i] = is_byte ? i % 7 == 0 : floor(16 * test_uniform(3, (uint64_t)i)) - 8;
        if (is_byte) given[i] = (char)x[i];
        else if (t == TRINE_S) ((float *)given)[i] = (float)x[i];
        else ((double *)given)[i] = x[i];
    }
    const bool reads_x = strcmp(name, "max") != 0 && strcmp(name, "max-column") != 0 && !is_argument;
    apply(ctx, plan, semiring, reads_x ? given : NULL, (size_t)A.n_cols * x_size, y,
          (size_t)A.n_rows * (size_t)per_row * y_size, NULL, 0, -1);
    for (int64_t i = 0; i < A.n_rows; i++) {
        double expected[2], got, most = 0;
        expect_builtin(name, &A, i, x, expected);
        if (!strcmp(name, "plus-times") && t == TRINE_S) /* the only sums that are rounded */
            for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++)
                most += fabs((double)creall(A.values[k]) * x[A.columns[k]]);
        most *= (double)(A.offsets[i + 1] - A.offsets[i] + 1) * trine_dtype_eps(t);
        if (!strcmp(name, "max-column")) expected[0] = t == TRINE_S ? (double)(float)expected[0] : expected[0];
        for (int c = 0; c < per_row; c++) {
            const int64_t at = i * per_row + c;
            got = is_byte ? y[at] : is_argument ? ((const int32_t *)y)[at] : element(t, y, at);
            if (got == expected[c] || fabs(got - expected[c]) <= most) continue;
            fail_msg("%s, dtype %d, %s, way %zu: row %lld has %g, not %g", name, (int)t, pattern_name(pattern), way,
                     (long long)i, got, expected[c]);
        }
    }
    free(x);
    free(given);
    free(y);
    OK(trine_semiring_destroy(&semiring));
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&A);
}

static void builtins_are_what_they_say(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    int builtins = 0;
    for (const char *name; (name = trine_semiring_name(builtins)); builtins++)
        for (trine_dtype t = TRINE_S; t <= TRINE_D; t++)
            for (int pattern = 0; pattern_name(pattern); pattern++)
                for (size_t way = 0; way < COUNT(ways); way++)
                    if (test_is_to_do()) check_builtin(ctx, name, t, pattern, way);
    assert_int_equal(builtins, 8);
    assert_null(trine_semiring_name(-1));
}

/* ------------------------------------------------------- matrices as values */

/** 2 x 2 matrices of integers modulo 2^32: products of them are exact in any grouping, and in one order alone. */
typedef struct { uint32_t m[4]; } square;
#define SQUARE STRUCT(square, "struct square { uint32_t m[4]; };")
static square times(square a, square b)
{
    return (square){{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3],
                     a.m[2] * b.m[0] + a.m[3] * b.m[2], a.m[2] * b.m[1] + a.m[3] * b.m[3]}};
}
static square square_of(int64_t nz, int64_t row, int64_t col)
{
    return (square){{(uint32_t)nz + 1, (uint32_t)col, (uint32_t)row, (uint32_t)(nz % 5) + 2}};
}
static void square_multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row,
                            int64_t col, void *product)
{
    (void)user, (void)values, (void)vector;
    *(square *)product = square_of(nz, row, col);
}
static void square_add(const void *user, void *accumulator, const void *p)
{
    (void)user;
    *(square *)accumulator = times(*(square *)accumulator, *(const square *)p);
}
static void square_reduce(const void *user, const void *values, const void *vector, const int32_t *columns, int64_t row,
                          int64_t begin, int64_t end, void *accumulator)
{
    square s = square_of(begin, row, columns[begin]);
    (void)user, (void)values, (void)vector;
    for (int64_t nz = begin + 1; nz < end; nz++) s = times(s, square_of(nz, row, columns[nz]));
    *(square *)accumulator = s;
}
static void square_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    *(square *)y = accumulator ? *(const square *)accumulator : (square){{1, 0, 0, 1}};
}
static int64_t longest_of_many; /* row that square_rows has had */
static void square_rows(const void *user, const trine_semiring_rows *rows, void *y)
{
    const int32_t *narrow = rows->offsets;
    const int64_t *wide = rows->offsets;
    assert_true(rows->row_begin < rows->row_end);
    for (int64_t i = rows->row_begin; i < rows->row_end; i++) {
        const bool is_32 = rows->offset_bits == 32;
        const int64_t begin = is_32 ? narrow[i] : wide[i], end = is_32 ? narrow[i + 1] : wide[i + 1];
        square s = {{1, 0, 0, 1}};
        if (begin < end) square_reduce(user, rows->values, rows->vector, rows->columns, i, begin, end, &s);
        ((square *)y)[i] = s;
        int64_t most = __atomic_load_n(&longest_of_many, __ATOMIC_RELAXED);
        while (end - begin > most && !__atomic_compare_exchange_n(&longest_of_many, &most, end - begin, true,
                                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    }
}
static const trine_semiring_source squares = {
    .product = SQUARE,
    .output = SQUARE,
    .preamble = "square times(square a, square b)\n{\n"
                "    return {{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3],\n"
                "             a.m[2] * b.m[0] + a.m[3] * b.m[2], a.m[2] * b.m[1] + a.m[3] * b.m[3]}};\n}",
    .multiply = "{{uint32_t(nz) + 1, uint32_t(col), uint32_t(row), uint32_t(nz % 5) + 2}}",
    .add = "times(acc, p)",
    .identity = "{{1, 0, 0, 1}}",
    .needs_row = 1,
    .cpu = {square_multiply, NULL, square_add, NULL, square_store}};

/** The order of a row is kept, however it is shared out: by entries, by rows, in ranges of rows. */
static void add_need_not_commute(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    for (int form_of = 0; form_of < 6; form_of++) /* by entries, by rows; both without a store; many rows, that alone */
        for (int pattern = 0; pattern_name(pattern); pattern++)
            for (size_t way = 0; way < COUNT(ways); way++) {
                if (!test_is_to_do() || ways[way].format == TRINE_CSC) continue; /* nz is in another order there */
                rows A = make_rows(pattern, TRINE_S);
                form f = make_form(ctx, &A, TRINE_S, TRINE_CSR, ways[way].offset_bits, TRINE_VALUES_SAME);
                trine_spmv plan = make_plan(ctx, &f, &ways[way].options);
                trine_semiring_source source = squares;
                trine_semiring semiring;
                if (form_of % 2) source.cpu.reduce = square_reduce;
                if (form_of == 2 || form_of == 3) source.cpu.store = NULL, source.identity = NULL;
                if (form_of >= 4) source.cpu_rows = square_rows;
                if (form_of == 5) memset(&source.cpu, 0, sizeof source.cpu);
                OK(trine_semiring_create(ctx, &semiring, &source));
                const size_t bytes = (size_t)A.n_rows * sizeof(square);
                square *expected = calloc((size_t)A.n_rows + 1, sizeof *expected), *y = malloc(bytes + 1);
                memset(y, 0x55, bytes);
                const int64_t begin = A.n_rows / 3, end = A.n_rows - A.n_rows / 4;
                trine_spmv_reference(form_of >= 4 ? &squares : &source, NULL, A.n_rows, A.offsets, A.columns, NULL,
                                     NULL, expected);
                apply(ctx, plan, semiring, NULL, 0, y, bytes, NULL, begin, end);
                for (int64_t i = 0; i < A.n_rows; i++)
                    if (i < begin || i >= end) assert_int_equal(y[i].m[0], 0x55555555);
                apply(ctx, plan, semiring, NULL, 0, y, bytes, NULL, 0, begin);
                apply(ctx, plan, semiring, NULL, 0, y, bytes, NULL, end, A.n_rows);
                assert_memory_equal(y, expected, bytes);
                memset(y, 0x55, bytes);
                apply(ctx, plan, semiring, NULL, 0, y, bytes, NULL, 0, -1);
                assert_memory_equal(y, expected, bytes);
                free(expected);
                free(y);
                OK(trine_semiring_destroy(&semiring));
                OK(trine_spmv_destroy(&plan));
                free_form(ctx, &f);
                free_rows(&A);
            }
}

/** Neighbouring rows of tens of thousands of entries, which threads share: rounded sums have the same bits with 1 to 4
 *  threads, and the order is kept. */
static void giant_rows_are_shared(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    enum { ROWS = 20 };
    static const int64_t lengths[ROWS] = {[6] = 33000, [7] = 200000, [8] = 32769,
                                          [9] = 40000, [12] = 32768, [19] = 90000};
    rows A = {.n_rows = ROWS, .n_cols = 1000, .offsets = calloc(ROWS + 1, sizeof *A.offsets)};
    for (int i = 0; i < ROWS; i++) A.offsets[i + 1] = A.offsets[i] + (lengths[i] ? lengths[i] : i % 4);
    A.nnz = A.offsets[ROWS];
    A.columns = malloc((size_t)A.nnz * sizeof *A.columns);
    A.values = malloc((size_t)A.nnz * sizeof *A.values);
    float x[1000], first[ROWS], y[ROWS];
    for (int64_t k = 0; k < A.nnz; k++)
        A.columns[k] = (int32_t)(k * 7 % 1000), A.values[k] = test_uniform(1, (uint64_t)k);
    for (int i = 0; i < 1000; i++) x[i] = (float)test_uniform(2, (uint64_t)i) - 0.5f;
    for (int threads = 1; threads <= 4; threads++) {
        trine_context ctx = test_cpu(threads);
        form f = make_form(ctx, &A, TRINE_S, TRINE_CSR, 32, TRINE_VALUES_SAME);
        trine_spmv plan = make_plan(ctx, &f, NULL);
        trine_semiring semiring;
        OK(trine_semiring_builtin(ctx, &semiring, "plus-times", TRINE_S));
        apply(ctx, plan, semiring, x, sizeof x, y, sizeof y, NULL, 0, -1);
        if (threads == 1) memcpy(first, y, sizeof y);
        assert_memory_equal(first, y, sizeof y);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0, most = 0;
            for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++) {
                sum += (double)(float)A.values[k] * x[A.columns[k]];
                most += fabs((double)A.values[k] * x[A.columns[k]]);
            }
            assert_true(fabs(sum - y[i]) <= most * 0x1p-24 * (double)(A.offsets[i + 1] - A.offsets[i] + 1));
        }
        OK(trine_semiring_destroy(&semiring));
        for (int form_of = 0; form_of < 6;
             form_of++) { /* from 3 on many rows: beside entries, alone, with a lonely add */
            trine_semiring_source source = squares;
            square expected[ROWS], got[ROWS];
            if (form_of == 1 || form_of == 2) source.cpu.reduce = square_reduce;
            if (form_of == 2) source.cpu.store = NULL, source.identity = NULL;
            if (form_of >= 3) source.cpu_rows = square_rows, longest_of_many = 0;
            if (form_of >= 4) memset(&source.cpu, 0, sizeof source.cpu);
            if (form_of == 5) source.cpu.add = square_add;
            OK(trine_semiring_create(ctx, &semiring, &source));
            trine_spmv_reference(form_of == 2 ? &source : &squares, NULL, ROWS, A.offsets, A.columns, NULL, NULL,
                                 expected);
            apply(ctx, plan, semiring, NULL, 0, got, sizeof got, NULL, 0, -1);
            assert_memory_equal(got, expected, sizeof got);
            if (form_of >= 3) assert_int_equal(longest_of_many, form_of == 3 ? 32768 : 200000);
            OK(trine_semiring_destroy(&semiring));
        }
        OK(trine_spmv_destroy(&plan));
        free_form(ctx, &f);
    }
    free_rows(&A);
}

/** A sum that is made where it is to be. */
static void growing_reduce(const void *user, const void *values, const void *vector, const int32_t *columns,
                           int64_t row, int64_t begin, int64_t end, void *accumulator)
{
    float *sum = accumulator;
    (void)user, (void)row;
    *sum = 0;
    for (int64_t nz = begin; nz < end; nz++) *sum += ((const float *)values)[nz] * ((const float *)vector)[columns[nz]];
}

/** Without a store reduce may be given y for an accumulator, but not while the row reads its own y through x. */
static void rows_read_their_own_y(void **state)
{
    (void)state;
    if (test_on_gpu()) skip();
    enum { ROWS = 300 };
    trine_context ctx = test_shared(2);
    rows A = {.n_rows = ROWS, .n_cols = ROWS, .nnz = ROWS, .offsets = calloc(ROWS + 1, sizeof *A.offsets)};
    A.columns = malloc(ROWS * sizeof *A.columns);
    A.values = malloc(ROWS * sizeof *A.values);
    float y[ROWS];
    for (int i = 0; i < ROWS; i++) A.offsets[i + 1] = i + 1, A.columns[i] = i, A.values[i] = 3, y[i] = (float)i;
    form f = make_form(ctx, &A, TRINE_S, TRINE_CSR, 32, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, NULL);
    const trine_semiring_source source = {.value = TYPE(float),
                                          .vector = TYPE(float),
                                          .product = TYPE(float),
                                          .output = TYPE(float),
                                          .cpu = {.reduce = growing_reduce}};
    trine_semiring semiring;
    OK(trine_semiring_create(ctx, &semiring, &source));
    OK(trine_spmv_apply_semiring(plan, semiring, y, y, NULL, 0, -1, NULL));
    for (int i = 0; i < ROWS; i++) assert_true(y[i] == 3 * (float)i);
    OK(trine_semiring_destroy(&semiring));
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&A);
}

/* ------------------------------------------------------------------ graphs */

enum { VERTICES = 700 };

/** A directed graph; some vertices have no edge. */
static rows make_graph(void)
{
    rows G = {.n_rows = VERTICES, .n_cols = VERTICES, .offsets = calloc(VERTICES + 1, sizeof *G.offsets)};
    for (int64_t i = 0; i < VERTICES; i++)
        G.offsets[i + 1] = G.offsets[i] + (int64_t)(9 * test_uniform(31, (uint64_t)i) * test_uniform(32, (uint64_t)i));
    G.nnz = G.offsets[VERTICES];
    G.columns = malloc((size_t)G.nnz * sizeof *G.columns);
    G.values = malloc((size_t)G.nnz * sizeof *G.values);
    for (int64_t k = 0; k < G.nnz; k++) {
        G.columns[k] = (int32_t)(VERTICES * test_uniform(33, (uint64_t)k));
        G.values[k] = floor(20 * test_uniform(34, (uint64_t)k));
    }
    return G;
}

static void path_multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row,
                          int64_t col, void *product)
{
    (void)user, (void)row;
    *(float *)product = ((const float *)values)[nz] + ((const float *)vector)[col];
}
static void path_add(const void *user, void *accumulator, const void *p)
{
    (void)user;
    *(float *)accumulator = fminf(*(float *)accumulator, *(const float *)p);
}
static void path_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    if (accumulator) *(float *)y = fminf(*(float *)y, *(const float *)accumulator);
}

/** Steps of Bellman and Ford to a target, y := min(y, A x): lengths of shortest paths of at most k edges. */
static void shortest_paths(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    rows G = make_graph();
    form f = make_form(ctx, &G, TRINE_S, TRINE_CSR, 32, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, NULL);
    trine_semiring semiring;
    const trine_semiring_source source = {.value = TYPE(float),
                                          .vector = TYPE(float),
                                          .product = TYPE(float),
                                          .output = TYPE(float),
                                          .multiply = "a + x",
                                          .add = "fmin(acc, p)",
                                          .store = "empty ? y : fmin(y, z)",
                                          .reads_y = 1,
                                          .cpu = {path_multiply, NULL, path_add, NULL, path_store}};
    OK(trine_semiring_create(ctx, &semiring, &source));
    float distance[VERTICES], next[VERTICES], expected[VERTICES];
    for (int i = 0; i < VERTICES; i++) distance[i] = expected[i] = i ? INFINITY : 0;
    int reached = 0;
    for (int step = 0; step < 40; step++) {
        float before[VERTICES];
        memcpy(before, expected, sizeof before);
        memcpy(next, distance, sizeof next);
        for (int64_t i = 0; i < VERTICES; i++)
            for (int64_t k = G.offsets[i]; k < G.offsets[i + 1]; k++)
                expected[i] = fminf(expected[i], before[G.columns[k]] + (float)G.values[k]);
        apply(ctx, plan, semiring, distance, sizeof distance, next, sizeof next, NULL, 0, -1);
        memcpy(distance, next, sizeof next);
        assert_memory_equal(distance, expected, sizeof expected);
    }
    for (int i = 0; i < VERTICES; i++) reached += isfinite(distance[i]);
    assert_in_range(reached, VERTICES / 10, VERTICES - 1);
    OK(trine_semiring_destroy(&semiring));
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&G);
}

/** A mask: rows that are known already. Its array is in the context's space, its address among the args. */
struct mask { const uint8_t *known; };
#define MASK {.name = "mask", .code = "struct mask { const uint8_t *known; };", .size = 8, .align = 8}

static void reach_reduce(const void *user, const void *values, const void *vector, const int32_t *columns, int64_t row,
                         int64_t begin, int64_t end, void *accumulator)
{
    const struct mask *mask = user;
    const uint8_t *x = vector;
    uint8_t any = 0;
    (void)values;
    for (int64_t nz = begin; nz < end && !any && !mask->known[row]; nz++) any = x[columns[nz]]; /* true is terminal */
    *(uint8_t *)accumulator = any;
}
static void reach_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    const struct mask *mask = user;
    *(uint8_t *)y = accumulator && !mask->known[row] ? *(const uint8_t *)accumulator : 0;
}

/** Levels of a breadth-first search against the edges: the next level is what reaches this one and is not known. */
static void reachability(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    rows G = make_graph();
    form f = make_form(ctx, &G, TRINE_S, TRINE_CSR, 64, TRINE_VALUES_SAME);
    trine_spmv plan = make_plan(ctx, &f, NULL);
    trine_semiring semiring;
    const trine_semiring_source source = {.vector = TYPE(uint8_t),
                                          .product = TYPE(uint8_t),
                                          .output = TYPE(uint8_t),
                                          .args = MASK,
                                          .multiply = "args.known[row] ? 0 : x",
                                          .add = "acc ? acc : p",
                                          .store = "empty || args.known[row] ? 0 : z",
                                          .needs_row = 1,
                                          .cpu = {NULL, NULL, NULL, reach_reduce, reach_store}};
    OK(trine_semiring_create(ctx, &semiring, &source));
    uint8_t known[VERTICES] = {1}, level[VERTICES] = {1}, next[VERTICES];
    int levels = 0, found = 1;
    for (int count = 1; count; levels++) {
        uint8_t expected[VERTICES] = {0};
        for (int64_t i = 0; i < VERTICES; i++)
            for (int64_t k = G.offsets[i]; k < G.offsets[i + 1]; k++)
                if (!known[i] && level[G.columns[k]]) expected[i] = 1;
        struct mask mask = {test_to_device(ctx, known, sizeof known)};
        apply(ctx, plan, semiring, level, sizeof level, next, sizeof next, &mask, 0, -1);
        test_release(ctx, (void *)mask.known);
        assert_memory_equal(next, expected, sizeof expected);
        count = 0;
        for (int i = 0; i < VERTICES; i++) known[i] |= next[i], count += next[i];
        memcpy(level, next, sizeof level);
        found += count;
    }
    assert_in_range(levels, 3, 100);
    assert_in_range(found, VERTICES / 10, VERTICES - 1);
    OK(trine_semiring_destroy(&semiring));
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&G);
}

/* ------------------------------------------------- all members of a source */

/** The example of 3.5.5, whose rows contribute partially, stored as y := z + y + T A x: sums in double of float values,
 *  beside a count and a maximum, in a struct that is taken apart. */
struct setting {
    const double *T;
    const uint8_t *predicate;
    double shift;
    int16_t extra;
};
typedef struct {
    double sum;
    float most;
    int16_t count;
    uint8_t flag;
} parts;
typedef struct {
    double sum;
    int64_t count;
    float most;
} totals;
#define SETTING \
    STRUCT_OF(setting, "struct setting { const double *T; const uint8_t *predicate; double shift; short extra; };")
#define STRUCT_OF(type, declaration) \
    {.name = #type, .code = declaration, .size = sizeof(struct type), .align = _Alignof(struct type)}

static void parts_multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row,
                           int64_t col, void *product)
{
    const struct setting *s = user;
    const float a = ((const float *)values)[nz];
    const bool takes = s->predicate[row] || nz % 2 == 0;
    *(parts *)product = (parts){takes ? a * ((const double *)vector)[col] : 0, a, 1, takes};
}
static void parts_lift(const void *user, const void *product, void *accumulator)
{
    const parts *p = product;
    (void)user;
    *(totals *)accumulator = (totals){p->sum, p->count + p->flag, p->most};
}
static void parts_add(const void *user, void *accumulator, const void *other)
{
    totals *s = accumulator;
    const totals *p = other;
    (void)user;
    s->sum += p->sum, s->count += p->count, s->most = fmaxf(s->most, p->most);
}
static void parts_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    const struct setting *s = user;
    const totals *t = accumulator;
    double *out = y;
    *out = t ? s->shift + *out + s->T[row] * (t->sum + (double)t->count + t->most) + s->extra : -*out;
}

static void every_member_is_used(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    const trine_semiring_source source = {
        .value = TYPE(float),
        .vector = TYPE(double),
        .product = STRUCT(parts, "struct parts { double sum; float most; int16_t count; uint8_t flag; };"),
        .accumulator = STRUCT(totals, "struct totals { double sum; int64_t count; float most; };"),
        .result = TYPE(double),
        .output = TYPE(double),
        .args = SETTING,
        .preamble = "float larger(float a, float b) { return a > b ? a : b; }",
        .multiply = "[&] {\n    const bool takes = args.predicate[row] || nz % 2 == 0;\n"
                    "    return parts{takes ? a * x : 0, a, 1, takes};\n}()",
        .lift = "{p.sum, p.count + p.flag, p.most}",
        .add = "{acc.sum + p.sum, acc.count + p.count, larger(acc.most, p.most)}",
        .project = "acc.sum + acc.count + acc.most",
        .store = "empty ? -y : args.shift + y + args.T[row] * z + args.extra",
        .needs_row = 1,
        .reads_y = 1,
        .cpu = {parts_multiply, parts_lift, parts_add, NULL, parts_store}};
    for (int pattern = 0; pattern_name(pattern); pattern++)
        for (size_t way = 0; way < COUNT(ways); way++) {
            if (!test_is_to_do() || ways[way].format == TRINE_CSC) continue;
            rows A = make_rows(pattern, TRINE_S);
            form f = make_form(ctx, &A, TRINE_S, TRINE_CSR, ways[way].offset_bits, TRINE_VALUES_SAME);
            trine_spmv plan = make_plan(ctx, &f, &ways[way].options);
            trine_semiring semiring;
            OK(trine_semiring_create(ctx, &semiring, &source));
            const size_t n = (size_t)A.n_rows, m = (size_t)A.n_cols;
            double *T = calloc(n + 1, 8), *x = calloc(m + 1, 8), *y = calloc(n + 1, 8), *expected = calloc(n + 1, 8);
            uint8_t *predicate = calloc(n + 1, 1);
            float *values = calloc((size_t)A.nnz + 1, sizeof *values);
            for (size_t i = 0; i < n; i++) T[i] = (double)(i % 9), predicate[i] = i % 3 == 0;
            for (size_t i = 0; i < n; i++) y[i] = expected[i] = (double)i;
            for (size_t j = 0; j < m; j++) x[j] = (double)(j % 17) - 8;
            for (int64_t k = 0; k < A.nnz; k++) values[k] = (float)creall(A.values[k]);
            struct setting setting = {T, predicate, 0.25, 3};
            trine_spmv_reference(&source, &setting, A.n_rows, A.offsets, A.columns, values, x, expected);
            setting.T = test_to_device(ctx, T, 8 * n);
            setting.predicate = test_to_device(ctx, predicate, n);
            apply(ctx, plan, semiring, x, 8 * m, y, 8 * n, &setting, 0, -1);
            assert_memory_equal(y, expected, 8 * n);
            test_release(ctx, (void *)setting.T);
            test_release(ctx, (void *)setting.predicate);
            free(T), free(x), free(y), free(expected), free(predicate), free(values);
            OK(trine_semiring_destroy(&semiring));
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
            free_rows(&A);
        }
}

/** Values in half precision that stay so in memory. */
static void half_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    *(float *)y = accumulator ? *(const float *)accumulator : -2;
}
static float float_of_half(uint16_t h) /* normal numbers and zeros */
{
    const float magnitude = h & 0x7fff ? ldexpf((float)(h & 0x3ff) + 1024, ((h >> 10) & 31) - 25) : 0;
    return h & 0x8000 ? -magnitude : magnitude;
}
static void half_multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row,
                          int64_t col, void *product)
{
    (void)user, (void)vector, (void)row, (void)col;
    *(float *)product = float_of_half(((const uint16_t *)values)[nz]);
}
static void half_values(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    const trine_semiring_source source = {.value = {"half", NULL, 2, 2},
                                          .product = TYPE(float),
                                          .output = TYPE(float),
                                          .multiply = "a",
                                          .add = "fmin(acc, p)",
                                          .identity = "-2",
                                          .cpu = {half_multiply, NULL, path_add, NULL, half_store}};
    rows A = make_rows(0, TRINE_S);
    form f = make_form(ctx, &A, TRINE_S, TRINE_CSR, 32, TRINE_VALUES_HALF);
    trine_spmv_options options = {.values = TRINE_VALUES_HALF};
    trine_spmv plan;
    trine_semiring semiring;
    OK(trine_spmv_analyse(ctx, &plan, f.A, &options));
    OK(trine_spmv_numeric(plan, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, f.values, NULL));
    OK(trine_semiring_create(ctx, &semiring, &source));
    float *y = calloc((size_t)A.n_rows, sizeof *y);
    apply(ctx, plan, semiring, NULL, 0, y, (size_t)A.n_rows * sizeof *y, NULL, 0, -1);
    for (int64_t i = 0; i < A.n_rows; i++) {
        float least = A.offsets[i] < A.offsets[i + 1] ? INFINITY : -2;
        for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++) least = fminf(least, (float)creall(A.values[k]));
        assert_true(y[i] == least);
    }
    free(y);
    OK(trine_semiring_destroy(&semiring));
    OK(trine_spmv_destroy(&plan));
    free_form(ctx, &f);
    free_rows(&A);
}

/* --------------------------------------------------------------- bad input */

static void bad_sources_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    trine_semiring semiring = (trine_semiring)ctx;
    trine_semiring_source good = squares, s = good;
    FAILS(TRINE_ERR_ARGUMENT, "source is NULL", trine_semiring_create(ctx, &semiring, NULL));
    assert_null(semiring);
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_semiring_create(NULL, &semiring, &s));
    FAILS(TRINE_ERR_ARGUMENT, "semiring is NULL", trine_semiring_create(ctx, NULL, &s));
#define REFUSED(text, change)                                                         \
    do {                                                                              \
        s = good;                                                                     \
        change;                                                                       \
        FAILS(TRINE_ERR_ARGUMENT, text, trine_semiring_create(ctx, &semiring, &s));   \
        assert_null(semiring);                                                        \
    } while (0)
    REFUSED("trine_semiring_source.reserved is not zero", s.reserved[1] = 1);
    REFUSED("commutes is 2, neither 0 nor 1", s.commutes = 2);
    REFUSED("no product type", s.product.name = NULL);
    REFUSED("no output type", s.output.name = NULL);
    REFUSED("the product type square has no size", s.product.size = 0);
    REFUSED("the product type square has no align", s.product.align = 0);
    REFUSED("the product type square has 512 bytes, at most 256", s.product.size = 512);
    REFUSED("the align 3 of the product type square is no power of two", s.product.align = 3);
    REFUSED("is no multiple of its align", s.product.size = 18);
    REFUSED("the type square is given twice, with another size", s.product.size = 20);
    REFUSED("the type square is given twice, with another code", s.product.code = "struct square { int m[4]; };");
    REFUSED("the name \"\" of the product type is none", s.product.name = "");
    REFUSED("of the args type is none", s.args = ((trine_type){"a\"b", NULL, 4, 4}));
    REFUSED("of the args type is none", s.args = ((trine_type){"trine_data", NULL, 4, 4}));
    if (test_on_gpu()) {
        REFUSED("no multiply", s.multiply = NULL);
        REFUSED("no add", s.add = NULL);
        REFUSED("add(1): error", s.add = "foo");
    } else {
        REFUSED("no multiply for the CPU", s.cpu.multiply = NULL);
        REFUSED("no add for the CPU", s.cpu.add = NULL);
        REFUSED("no store for the CPU", s.cpu.store = NULL; s.output = ((trine_type){"wide", NULL, 32, 4}));
        REFUSED("no store for the CPU", s.cpu.store = NULL; s.store = "z");
        REFUSED("no store for the CPU", s.cpu.store = NULL; s.store = NULL; s.identity = "1");
        REFUSED("no store for the CPU", s.cpu.store = NULL; s.store = NULL; s.project = "acc");
        REFUSED("cpu.lift has to make one of the other", s.accumulator = ((trine_type){"wide", NULL, 32, 4}));
        REFUSED("cpu.multiply is of no use without cpu.add", s.cpu.add = NULL; s.cpu.reduce = square_reduce);
    }
    FAILS(TRINE_ERR_ARGUMENT, "there is no semiring \"times-plus\"",
          trine_semiring_builtin(ctx, &semiring, "times-plus", TRINE_S));
    FAILS(TRINE_ERR_ARGUMENT, "is one of S and D", trine_semiring_builtin(ctx, &semiring, "max", TRINE_Z));
    FAILS(TRINE_ERR_ARGUMENT, "name is NULL", trine_semiring_builtin(ctx, &semiring, NULL, TRINE_S));
    OK(trine_semiring_destroy(&semiring));
    OK(trine_semiring_destroy(NULL));
}

static void bad_products_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_shared(2);
    rows A = make_rows(0, TRINE_D);
    form f = make_form(ctx, &A, TRINE_D, TRINE_CSR, 32, TRINE_VALUES_SAME);
    form by_columns = make_form(ctx, &A, TRINE_D, TRINE_CSC, 32, TRINE_VALUES_SAME);
    trine_spmv plan, atomic, csc = make_plan(ctx, &by_columns, NULL);
    trine_semiring floats, doubles, any, whole;
    trine_semiring_source rows_alone = squares;
    trine_spmv_options options = {.method = TRINE_SPMV_BALANCED_ATOMIC};
    rows_alone.cpu.multiply = NULL, rows_alone.cpu.reduce = square_reduce;
    trine_semiring_source many_alone = squares;
    trine_semiring many;
    memset(&many_alone.cpu, 0, sizeof many_alone.cpu);
    many_alone.cpu_rows = square_rows;
    OK(trine_spmv_analyse(ctx, &plan, f.A, NULL));
    OK(trine_semiring_builtin(ctx, &floats, "max", TRINE_S));
    OK(trine_semiring_builtin(ctx, &doubles, "max", TRINE_D));
    OK(trine_semiring_create(ctx, &any, &squares));
    OK(trine_semiring_create(ctx, &whole, &rows_alone));
    void *y = test_to_device(ctx, A.offsets, (size_t)A.n_rows * 8);
    void *large = NULL;
    OK(trine_alloc(ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, (size_t)A.n_rows * sizeof(square), &large));
    FAILS(TRINE_ERR_STATE, NULL, trine_spmv_apply_semiring(plan, doubles, NULL, y, NULL, 0, -1, NULL));
    OK(trine_spmv_apply_semiring(plan, any, NULL, large, NULL, 0, -1, NULL)); /* needs no values */
    OK(trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL));
    OK(trine_spmv_apply_semiring(plan, doubles, NULL, y, NULL, 0, -1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "the plan's values have 8 bytes each, the semiring's 4",
          trine_spmv_apply_semiring(plan, floats, NULL, y, NULL, 0, -1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "y is NULL", trine_spmv_apply_semiring(plan, doubles, NULL, NULL, NULL, 0, -1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "args is given", trine_spmv_apply_semiring(plan, doubles, NULL, y, y, 0, -1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "semiring is NULL", trine_spmv_apply_semiring(plan, NULL, NULL, y, NULL, 0, -1, NULL));
    FAILS(TRINE_ERR_ARGUMENT, NULL, trine_spmv_apply_semiring(plan, doubles, NULL, y, NULL, 5, 4, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "trine_exec.reserved is not zero",
          trine_spmv_apply_semiring(plan, doubles, NULL, y, NULL, 0, -1, &(trine_exec){.reserved = {1}}));
    OK(trine_spmv_analyse(ctx, &atomic, f.A, &options));
    FAILS(TRINE_ERR_UNSUPPORTED, "balanced-atomic",
          trine_spmv_apply_semiring(atomic, any, NULL, large, NULL, 0, -1, NULL));
    if (!test_on_gpu()) {
        FAILS(TRINE_ERR_UNSUPPORTED, "cpu.reduce alone",
              trine_spmv_apply_semiring(csc, whole, NULL, large, NULL, 0, -1, NULL));
        OK(trine_semiring_create(ctx, &many, &many_alone));
        FAILS(TRINE_ERR_UNSUPPORTED, "cpu_rows alone",
              trine_spmv_apply_semiring(csc, many, NULL, large, NULL, 0, -1, NULL));
        OK(trine_semiring_destroy(&many));
    }
    OK(trine_context_synchronize(ctx));
    test_release(ctx, y);
    test_release(ctx, large);
    OK(trine_semiring_destroy(&floats));
    OK(trine_semiring_destroy(&doubles));
    OK(trine_semiring_destroy(&any));
    OK(trine_semiring_destroy(&whole));
    OK(trine_spmv_destroy(&plan));
    OK(trine_spmv_destroy(&atomic));
    OK(trine_spmv_destroy(&csc));
    free_form(ctx, &f);
    free_form(ctx, &by_columns);
    free_rows(&A);
}

/** Strings are copied: the caller's may change and go. */
static void strings_are_copied(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_semiring first, second;
    char *name = strdup("square"), *multiply = strdup(squares.multiply);
    trine_semiring_source s = squares;
    s.product.name = name, s.multiply = multiply;
    OK(trine_semiring_create(ctx, &first, &s));
    memset(name, '?', 6);
    memset(multiply, '?', strlen(multiply));
    free(name);
    free(multiply);
    const int64_t compiled = trine_kernels_compiled(ctx);
    OK(trine_context_set_kernel_cache(ctx, NULL));
    OK(trine_semiring_create(ctx, &second, &squares)); /* on a GPU from memory */
    assert_int_equal(trine_kernels_compiled(ctx), compiled);
    trine_context other = ctx;
    OK(trine_context_destroy(&other));
    OK(trine_semiring_destroy(&first));
    OK(trine_semiring_destroy(&second)); /* and the context with it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtins_are_what_they_say),
        cmocka_unit_test(add_need_not_commute),
        cmocka_unit_test(giant_rows_are_shared),
        cmocka_unit_test(rows_read_their_own_y),
        cmocka_unit_test(shortest_paths),
        cmocka_unit_test(reachability),
        cmocka_unit_test(every_member_is_used),
        cmocka_unit_test(half_values),
        cmocka_unit_test(bad_sources_are_refused),
        cmocka_unit_test(bad_products_are_refused),
        cmocka_unit_test(strings_are_copied),
    };
    return TEST_MAIN(tests);
}
