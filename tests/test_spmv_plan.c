/* Plans of products: where blocks begin, arguments and states, operators, arrays in place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spmv/spmv.h"
#include "spmv_support.h"

/* ------------------------------------------------------------------- starts */

static int64_t key(const int64_t *offsets, int weight, int64_t i) { return offsets[i] + weight * i; }

/** Algorithms 4 and 5 and the binary search against their definitions, for offsets of either width. */
static void check_starts(const int64_t *offsets, int64_t n, int weight, int64_t w)
{
    enum { MOST = 2000 };
    int32_t narrow[64];
    spmv_start starts[MOST], again[MOST];
    const int64_t nnz = offsets[n], work = key(offsets, weight, n), blocks = (work + w - 1) / w;
    assert_in_range(blocks, 0, MOST - 1);
    for (int64_t i = 0; i <= n; i++) narrow[i] = (int32_t)offsets[i];
    assert_int_equal(spmv_count_blocks(n, nnz, weight, w), blocks);

    spmv_starts_balanced(64, offsets, n, weight, w, starts);
    spmv_starts_balanced(32, narrow, n, weight, w, again);
    assert_memory_equal(starts, again, (size_t)(blocks + 1) * sizeof *starts);
    assert_true(starts[blocks].row == n && starts[blocks].nz == nnz);
    for (int64_t b = 0; b < blocks; b++) { /* the row whose work has b w in it */
        int64_t row = 0;
        while (key(offsets, weight, row + 1) <= b * w) row++;
        if (!b) row = 0; /* empty rows at the beginning are the first block's */
        const int64_t nz = offsets[row] + b * w - key(offsets, weight, row);
        assert_int_equal(starts[b].row, row);
        assert_int_equal(starts[b].nz, nz < offsets[row + 1] ? nz : offsets[row + 1]);
        const spmv_start found =
            spmv_find_start(b % 2 ? 32 : 64, b % 2 ? (void *)narrow : (void *)offsets, n, weight, b * w);
        assert_int_equal(found.nz, starts[b].nz);
        if (b) assert_int_equal(found.row, row);
    }

    const int64_t adaptive = spmv_starts_adaptive(64, offsets, n, weight, w, starts);
    assert_int_equal(spmv_starts_adaptive(32, narrow, n, weight, w, again), adaptive);
    assert_memory_equal(starts, again, (size_t)(adaptive + 1) * sizeof *starts);
    int64_t b = 0;
    for (int64_t i = 0; i <= n && work;
         i++) { /* behind a row that ends in another stretch of w; the last may be empty */
        const int64_t end = key(offsets, weight, i) / w;
        if (i && (end == key(offsets, weight, i - 1) / w || end == blocks)) continue;
        assert_int_equal(starts[b].row, i);
        assert_int_equal(starts[b++].nz, offsets[i]);
    }
    assert_int_equal(adaptive, b);
    assert_true(starts[b].row == n && starts[b].nz == nnz);
}

static void blocks_begin_where_the_definition_says(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const int64_t n = (int64_t)(test_uniform(seed, 0) * 40);
        const double full = test_uniform(seed, 1), longest = test_uniform(seed, 2) * 30;
        int64_t offsets[64] = {0};
        for (int64_t i = 0; i < n; i++)
            offsets[i + 1] = offsets[i] + (test_uniform(seed, 3 + 2 * (uint64_t)i) < full
                                               ? (int64_t)(test_uniform(seed, 4 + 2 * (uint64_t)i) * longest)
                                               : 0);
        const int64_t w = seed % 5 ? 1 + (int64_t)(test_uniform(seed, 999) * 40) : 1;
        for (int weight = 0; weight < 4; weight++) check_starts(offsets, n, weight, w);
    }
}

/* ------------------------------------------------------------------- a scene */

enum { N_ROWS = 60, N_COLS = 45, MOST = 3 };

typedef struct {
    trine_context ctx;
    rows A;
    form f;
    trine_spmv plan; /* ops N and T, up to three vectors */
    double *x, *y;   /* in the context's space, long enough for both ops */
    trine_dense X, Y;
} scene;

static rows small_rows(trine_dtype t)
{
    rows A = make_rows(0, t);
    A.n_rows = N_ROWS;
    A.n_cols = N_COLS;
    A.nnz = A.offsets[N_ROWS];
    for (int64_t k = 0; k < A.nnz; k++) A.columns[k] %= N_COLS;
    return A;
}

static scene open_scene(void)
{
    scene s = {.ctx = test_context()};
    s.A = small_rows(TRINE_D);
    s.f = make_form(s.ctx, &s.A, TRINE_D, TRINE_CSR, 32, TRINE_VALUES_SAME);
    s.plan = make_plan(s.ctx, &s.f, &(trine_spmv_options){.ops = TRINE_N | TRINE_T, .max_nrhs = MOST});
    double numbers[N_ROWS * MOST];
    for (int i = 0; i < N_ROWS * MOST; i++) numbers[i] = test_uniform(4, (uint64_t)i);
    s.x = test_to_device(s.ctx, numbers, sizeof numbers);
    s.y = test_to_device(s.ctx, numbers, sizeof numbers);
    s.X = (trine_dense){s.x, N_COLS, 1, 0, TRINE_COLMAJOR};
    s.Y = (trine_dense){s.y, N_ROWS, 1, 0, TRINE_COLMAJOR};
    return s;
}

static void close_scene(scene *s)
{
    OK(trine_spmv_destroy(&s->plan));
    free_form(s->ctx, &s->f);
    free_rows(&s->A);
    test_release(s->ctx, s->x);
    test_release(s->ctx, s->y);
    OK(trine_context_destroy(&s->ctx));
}

/* ------------------------------------------------------------------ refusals */

static void wrong_options_are_refused(void **state)
{
    (void)state;
    scene s = open_scene();
    trine_spmv plan;
    static const struct {
        const char *text;
        trine_spmv_options o;
    } wrong[] = {{"ops 8", {.ops = 8}},
                 {"method 4", {.method = (trine_spmv_method)4}},
                 {"summation 3", {.summation = (trine_summation)3}},
                 {"max_nrhs is -1", {.max_nrhs = -1}},
                 {"values 3", {.values = (trine_spmv_values)3}},
                 {"tune.block 96", {.tune.block = 96}},
                 {"tune.block 1024", {.tune.block = 1024}},
                 {"tune.tile 3", {.tune.tile = 3}},
                 {"tune.tile 17", {.tune.tile = 17}},
                 {"entries_per_block is -1", {.tune.entries_per_block = -1}},
                 {"reduction 7", {.tune.reduction = (trine_spmv_reduction)7}},
                 {"row_weight is -2", {.tune.row_weight = -2}}};
    trine_memory memory;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        plan = s.plan;
        FAILS(TRINE_ERR_ARGUMENT, wrong[k].text, trine_spmv_analyse(s.ctx, &plan, s.f.A, &wrong[k].o));
        assert_null(plan);
        FAILS(TRINE_ERR_ARGUMENT, wrong[k].text, trine_spmv_memory(s.ctx, s.f.A, &wrong[k].o, &memory));
    }
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_analyse(s.ctx, NULL, s.f.A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_spmv_analyse(NULL, &plan, s.f.A, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_spmv_analyse(s.ctx, &plan, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_spmv_memory(NULL, s.f.A, NULL, &memory));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_spmv_memory(s.ctx, NULL, NULL, &memory));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_spmv_memory(s.ctx, s.f.A, NULL, NULL));
    FAILS(TRINE_ERR_MEMORY, NULL,
          trine_spmv_analyse(s.ctx, &plan, s.f.A, &(trine_spmv_options){.max_nrhs = INT64_MAX}));
    FAILS(TRINE_ERR_UNSUPPORTED, "cannot be deterministic",
          trine_spmv_analyse(
              s.ctx, &plan, s.f.A,
              &(trine_spmv_options){.method = TRINE_SPMV_BALANCED_ATOMIC, .summation = TRINE_ORDER_DETERMINISTIC}));
    form complex_form = make_form(s.ctx, &s.A, TRINE_C, TRINE_CSR, 32, TRINE_VALUES_SAME);
    FAILS(TRINE_ERR_UNSUPPORTED, "half precision",
          trine_spmv_analyse(s.ctx, &plan, complex_form.A, &(trine_spmv_options){.values = TRINE_VALUES_HALF}));
    assert_null(plan);
    free_form(s.ctx, &complex_form);
    close_scene(&s);
}

static void mangled_patterns_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { N = 4 };
    static const struct {
        const char *text;
        int64_t offsets[N + 1];
        int32_t indices[N];
        trine_spmv_options o;
    } wrong[] = {{"offsets run from 1", {1, 1, 2, 3, 4}, {0, 1, 2, 3}, {0}},
                 {"to 3, not", {0, 1, 2, 3, 3}, {0, 1, 2, 3}, {.no_preprocess = 1}},
                 {"offsets fall", {0, 3, 2, 3, 4}, {0, 1, 2, 3}, {.check = 1}},
                 {"outside 0..3", {0, 1, 2, 3, 4}, {0, 1, 2, 4}, {.check = 1}},
                 {"outside 0..3", {0, 1, 2, 3, 4}, {0, -1, 2, 3}, {.check = 1, .ops = TRINE_T}}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        int64_t offsets[N + 1] = {0, 1, 2, 3, 4};
        const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
        void *there = test_to_device(ctx, offsets, sizeof offsets),
             *indices = test_to_device(ctx, wrong[k].indices, sizeof wrong[k].indices);
        trine_matrix A;
        trine_spmv plan;
        OK(trine_matrix_csr(ctx, &A, TRINE_D, N, N, N, space, 64, there, 32, indices, NULL));
        OK(trine_copy(ctx, there, space, wrong[k].offsets, TRINE_HOST, sizeof offsets));
        FAILS(TRINE_ERR_STRUCTURE, wrong[k].text, trine_spmv_analyse(ctx, &plan, A, &wrong[k].o));
        assert_null(plan);
        OK(trine_matrix_destroy(&A));
        test_release(ctx, there);
        test_release(ctx, indices);
    }
    OK(trine_context_destroy(&ctx));
}

static void wrong_vectors_are_refused(void **state)
{
    (void)state;
    scene s = open_scene();
    const trine_dense X = s.X, Y = s.Y;
    trine_dense B;
#define APPLY(X, Y) trine_spmv_apply(s.plan, TRINE_N, NULL, (X), NULL, (Y), NULL)
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_apply(NULL, TRINE_N, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "op 3", trine_spmv_apply(s.plan, (trine_transpose)3, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL", APPLY(NULL, &Y));
    FAILS(TRINE_ERR_ARGUMENT, "Y is NULL", APPLY(&X, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X has 60 rows, not 45", APPLY(&Y, &Y));
    FAILS(TRINE_ERR_ARGUMENT, "Y has 45 rows, not 60", APPLY(&X, &X));
    FAILS(TRINE_ERR_ARGUMENT, "X has 45 rows, not 60", trine_spmv_apply(s.plan, TRINE_T, NULL, &X, NULL, &Y, NULL));
    B = X, B.cols = 2;
    FAILS(TRINE_ERR_ARGUMENT, "X has 2 columns, Y has 1", APPLY(&B, &Y));
    B = X, B.ld = 44;
    FAILS(TRINE_ERR_ARGUMENT, "leading dimension 44", APPLY(&B, &Y));
    B = X, B.data = NULL;
    FAILS(TRINE_ERR_ARGUMENT, "X has no data", APPLY(&B, &Y));
    B = Y, B.data = s.x;
    FAILS(TRINE_ERR_ARGUMENT, "X and Y are the same array", APPLY(&X, &B));
    const trine_dense narrow = {s.x, N_COLS, 2, 2, TRINE_ROWMAJOR}, wide_rows = {s.x, N_ROWS, 2, 3, TRINE_ROWMAJOR};
    FAILS(TRINE_ERR_ARGUMENT, "share their data",
          trine_spmv_apply_rows(s.plan, 0, 1, NULL, &narrow, NULL, &wide_rows, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "rows -1 to 3", trine_spmv_apply_rows(s.plan, -1, 3, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "rows 3 to 2", trine_spmv_apply_rows(s.plan, 3, 2, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "rows 3 to 61", trine_spmv_apply_rows(s.plan, 3, 61, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_apply_rows(NULL, 0, 1, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "reserved",
          trine_spmv_apply(s.plan, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.reserved = {1}}));

    trine_spmv_epilogue e = {.norm = 1};
#define FUSED(X, Y) trine_spmv_apply_fused(s.plan, TRINE_N, NULL, (X), NULL, (Y), &e, NULL)
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_apply_fused(NULL, TRINE_N, NULL, &X, NULL, &Y, &e, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "epilogue is NULL",
          trine_spmv_apply_fused(s.plan, TRINE_N, NULL, &X, NULL, &Y, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "results is NULL", FUSED(&X, &Y));
    e.results = s.x;
    e.axpy = s.y;
    FAILS(TRINE_ERR_ARGUMENT, "the vector of the axpy is X or Y", FUSED(&X, &Y));
    const trine_dense X2 = {s.x, N_COLS, 2, 0, TRINE_COLMAJOR}, Y2 = {s.y, N_ROWS, 2, 0, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_ARGUMENT, "one vector", FUSED(&X2, &Y2));
    close_scene(&s);
}

static void calls_out_of_order_are_refused(void **state)
{
    (void)state;
    scene s = open_scene(), other = open_scene();
    const trine_dense X = s.X, Y = s.Y;
    const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
    static const double zero;
    trine_spmv plan;
    OK(trine_spmv_analyse(s.ctx, &plan, s.f.A, NULL));
    FAILS(TRINE_ERR_STATE, "apply comes after numeric", trine_spmv_apply(plan, TRINE_N, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_STATE, "apply comes after numeric", trine_spmv_apply(plan, TRINE_N, &zero, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_numeric(NULL, space, s.f.values, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "neither host nor device", trine_spmv_numeric(plan, (trine_space)5, s.f.values, NULL));
    OK(trine_spmv_numeric(plan, space, NULL, NULL)); /* the matrix's own */
    OK(trine_spmv_apply(plan, TRINE_N, NULL, &X, NULL, &Y, NULL));
    FAILS(TRINE_ERR_STATE, "not announced", trine_spmv_apply(plan, TRINE_T, NULL, &Y, NULL, &X, NULL));
    const trine_dense X2 = {s.x, N_COLS, 2, 0, TRINE_COLMAJOR}, Y2 = {s.y, N_ROWS, 2, 0, TRINE_COLMAJOR};
    FAILS(TRINE_ERR_STATE, "2 vectors, but the plan was made for 1",
          trine_spmv_apply(plan, TRINE_N, NULL, &X2, NULL, &Y2, NULL));
    trine_work work;
    OK(trine_spmv_work(plan, 2, NULL, NULL, &work));
    OK(trine_spmv_apply(plan, TRINE_N, NULL, &X2, NULL, &Y2, &(trine_exec){.work = work}));
    FAILS(TRINE_ERR_ARGUMENT, "belongs to another plan",
          trine_spmv_apply(s.plan, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    assert_true(trine_enter_alone(&work->usage)); /* as a product in another thread does */
    FAILS(TRINE_ERR_STATE, "trine_spmv_work",
          trine_spmv_apply(plan, TRINE_N, NULL, &X, NULL, &Y, &(trine_exec){.work = work}));
    trine_leave_alone(&work->usage);
    OK(trine_context_synchronize(s.ctx));
    OK(trine_work_destroy(&work));
    OK(trine_spmv_destroy(&plan));

    form pattern = make_form(s.ctx, &s.A, TRINE_D, TRINE_CSR, 32, TRINE_VALUES_HALF);
    OK(trine_spmv_analyse(s.ctx, &plan, pattern.A, NULL));
    FAILS(TRINE_ERR_STATE, "a pattern without values", trine_spmv_numeric(plan, space, NULL, NULL));
    OK(trine_spmv_destroy(&plan));
    OK(trine_spmv_analyse(s.ctx, &plan, s.f.A, &(trine_spmv_options){.values = TRINE_VALUES_HALF}));
    FAILS(TRINE_ERR_ARGUMENT, "options.values", trine_spmv_numeric(plan, space, NULL, NULL));
    OK(trine_spmv_destroy(&plan));
    free_form(s.ctx, &pattern);

    form by_columns = make_form(s.ctx, &s.A, TRINE_D, TRINE_CSC, 32, TRINE_VALUES_SAME); /* which a T has in place */
    plan = make_plan(s.ctx, &by_columns, &(trine_spmv_options){.ops = TRINE_H});
    trine_spmv_info info;
    OK(trine_spmv_get_info(plan, &info));
    if (!test_on_gpu()) assert_true(info.bytes < 100 + 2 * N_COLS); /* no index */
    FAILS(TRINE_ERR_STATE, "not announced", trine_spmv_apply_rows(plan, 0, 1, NULL, &X, NULL, &Y, NULL));
    OK(trine_spmv_apply(plan, TRINE_T, NULL, &Y, NULL, &X, NULL)); /* of real numbers */
    OK(trine_spmv_destroy(&plan));
    free_form(s.ctx, &by_columns);
    close_scene(&s);
    close_scene(&other);
}

/** What can be asked of a semiring before its functions are. */
static void semirings_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    scene s = open_scene(), other = open_scene();
    struct trine_semiring_s ring = {.refs = 1, .ctx = s.ctx};
    ring.source.value = (trine_type){.name = "float", .size = 4, .align = 4};
    trine_spmv plan;
    const int args = 0;
#define SEMIRING(plan, ring, y, args, begin, end) \
    trine_spmv_apply_semiring((plan), (ring), s.x, (y), (args), (begin), (end), NULL)
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", SEMIRING(NULL, &ring, s.y, NULL, 0, -1));
    FAILS(TRINE_ERR_ARGUMENT, "semiring is NULL", SEMIRING(s.plan, NULL, s.y, NULL, 0, -1));
    FAILS(TRINE_ERR_ARGUMENT, "another context", SEMIRING(other.plan, &ring, s.y, NULL, 0, -1));
    FAILS(TRINE_ERR_ARGUMENT, "y is NULL", SEMIRING(s.plan, &ring, NULL, NULL, 0, -1));
    FAILS(TRINE_ERR_ARGUMENT, "rows 0 to -2", SEMIRING(s.plan, &ring, s.y, NULL, 0, -2));
    FAILS(TRINE_ERR_ARGUMENT, "rows 1 to -1", SEMIRING(s.plan, &ring, s.y, NULL, 1, -1));
    FAILS(TRINE_ERR_ARGUMENT, "8 bytes each, the semiring's 4", SEMIRING(s.plan, &ring, s.y, NULL, 0, -1));
    FAILS(TRINE_ERR_ARGUMENT, "args is given", SEMIRING(s.plan, &ring, s.y, &args, 0, -1));
    ring.source.args = (trine_type){.name = "int", .size = 4, .align = 4};
    FAILS(TRINE_ERR_ARGUMENT, "args is NULL", SEMIRING(s.plan, &ring, s.y, NULL, 0, -1));
    OK(trine_spmv_analyse(s.ctx, &plan, s.f.A, NULL));
    FAILS(TRINE_ERR_STATE, "comes after numeric", SEMIRING(plan, &ring, s.y, &args, 0, -1));
    OK(trine_spmv_destroy(&plan));
    plan = make_plan(s.ctx, &s.f, &(trine_spmv_options){.ops = TRINE_T});
    FAILS(TRINE_ERR_STATE, "not announced", SEMIRING(plan, &ring, s.y, &args, 0, -1));
    OK(trine_spmv_destroy(&plan));
    plan = make_plan(s.ctx, &s.f, &(trine_spmv_options){.method = TRINE_SPMV_BALANCED_ATOMIC});
    FAILS(TRINE_ERR_UNSUPPORTED, "balanced-atomic", SEMIRING(plan, &ring, s.y, &args, 0, -1));
    OK(trine_spmv_destroy(&plan));

    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_tune(NULL, NULL, s.x, s.y, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "x or y is NULL", trine_spmv_tune(s.plan, NULL, NULL, s.y, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "another context", trine_spmv_tune(other.plan, &ring, s.x, s.y, &args, NULL));
    if (!test_on_gpu())
        FAILS(TRINE_ERR_UNSUPPORTED, "on a GPU only", trine_spmv_tune(s.plan, NULL, s.x, s.y, NULL, NULL));
    close_scene(&s);
    close_scene(&other);
}

/* -------------------------------------------------------------------- in use */

static void values_are_used_where_they_are(void **state)
{
    (void)state;
    scene s = open_scene();
    double y[2][N_ROWS], *doubled = malloc((size_t)s.A.nnz * sizeof *doubled);
    const trine_space space = test_on_gpu() ? TRINE_DEVICE : TRINE_HOST;
    OK(trine_spmv_apply(s.plan, TRINE_N, NULL, &s.X, NULL, &s.Y, NULL));
    test_from_device(s.ctx, y[0], s.y, sizeof y[0]);
    for (int64_t k = 0; k < s.A.nnz; k++) doubled[k] = 2 * (double)s.A.values[k];
    OK(trine_copy(s.ctx, s.f.values, space, doubled, TRINE_HOST, (size_t)s.A.nnz * sizeof *doubled));
    OK(trine_spmv_apply(s.plan, TRINE_N, NULL, &s.X, NULL, &s.Y, NULL));
    test_from_device(s.ctx, y[1], s.y, sizeof y[1]);
    for (int i = 0; i < N_ROWS; i++) assert_true(y[1][i] == 2 * y[0][i]);
    for (int64_t k = 0; k < s.A.nnz; k++) doubled[k] *= 2; /* of the host: copied, if need be */
    OK(trine_spmv_numeric(s.plan, TRINE_HOST, doubled, NULL));
    OK(trine_spmv_apply(s.plan, TRINE_N, NULL, &s.X, NULL, &s.Y, NULL));
    test_from_device(s.ctx, y[1], s.y, sizeof y[1]);
    for (int i = 0; i < N_ROWS; i++) assert_true(y[1][i] == 4 * y[0][i]);

    /* a matrix on the host, whatever the context; the plan keeps what it needs of it */
    trine_matrix A;
    trine_spmv plan;
    int32_t offsets[N_ROWS + 1];
    for (int i = 0; i <= N_ROWS; i++) offsets[i] = (int32_t)s.A.offsets[i];
    OK(trine_matrix_csr(s.ctx, &A, TRINE_D, N_ROWS, N_COLS, s.A.nnz, TRINE_HOST, 32, offsets, 32, s.A.columns,
                        doubled));
    OK(trine_spmv_analyse(s.ctx, &plan, A, NULL));
    OK(trine_matrix_destroy(&A));
    OK(trine_spmv_numeric(plan, TRINE_DEVICE, NULL, NULL)); /* those of the matrix are where they are */
    OK(trine_spmv_apply(plan, TRINE_N, NULL, &s.X, NULL, &s.Y, NULL));
    test_from_device(s.ctx, y[1], s.y, sizeof y[1]);
    for (int i = 0; i < N_ROWS; i++) assert_true(y[1][i] == 4 * y[0][i]);
    OK(trine_spmv_destroy(&plan));
    free(doubled);
    close_scene(&s);
}

static void a_plan_tells_what_it_is(void **state)
{
    (void)state;
    scene s = open_scene();
    trine_spmv_info info;
    memset(&info, 0xFF, sizeof info);
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_get_info(NULL, &info));
    FAILS(TRINE_ERR_ARGUMENT, "info is NULL", trine_spmv_get_info(s.plan, NULL));
    OK(trine_spmv_get_info(s.plan, &info));
    int64_t longest = 0;
    for (int i = 0; i < N_ROWS; i++)
        if (s.A.offsets[i + 1] - s.A.offsets[i] > longest) longest = s.A.offsets[i + 1] - s.A.offsets[i];
    assert_int_equal(info.n_rows, N_ROWS);
    assert_int_equal(info.n_cols, N_COLS);
    assert_int_equal(info.nnz, s.A.nnz);
    assert_int_equal(info.longest_row, longest);
    assert_int_equal(info.deterministic, 1);
    assert_true(info.bytes >= 8 * s.A.nnz + 8 * (N_COLS + 1)); /* the index of op T */
    assert_non_null(info.reason);
    for (int k = 0; k < 4; k++) assert_int_equal(info.reserved[k], 0);
    if (!test_on_gpu()) assert_int_equal(info.blocks, 0);
    assert_string_equal(trine_spmv_method_name(TRINE_SPMV_BALANCED_POSTPROCESS), "balanced-postprocess");
    assert_string_equal(trine_spmv_method_name((trine_spmv_method)9), "unknown");
    assert_string_equal(trine_spmv_reduction_name(TRINE_REDUCTION_WARP_TRANSPOSED), "warp-transposed");
    assert_string_equal(trine_spmv_reduction_name(TRINE_REDUCTION_ROWS), "rows");
    assert_string_equal(trine_spmv_reduction_name(TRINE_REDUCTION_WARPS), "warps");
    assert_string_equal(trine_spmv_reduction_name((trine_spmv_reduction)9), "unknown");
    trine_spmv plan;
    OK(trine_spmv_analyse(s.ctx, &plan, s.f.A, &(trine_spmv_options){.no_preprocess = 1}));
    OK(trine_spmv_get_info(plan, &info));
    assert_int_equal(info.longest_row, -1);
    OK(trine_spmv_destroy(&plan));
    OK(trine_spmv_destroy(&plan));
    OK(trine_spmv_destroy(NULL));
    close_scene(&s);
}

/** A matrix whose row 2 has `longest` entries, and the others `others`. */
static rows rows_beside_one(int64_t n, int64_t longest, int64_t others)
{
    rows A = {.n_rows = n, .n_cols = n, .nnz = longest + (n - 1) * others};
    A.offsets = calloc((size_t)n + 1, sizeof *A.offsets);
    A.columns = malloc((size_t)A.nnz * sizeof *A.columns);
    A.values = malloc((size_t)A.nnz * sizeof *A.values);
    for (int64_t i = 0; i < n; i++) A.offsets[i + 1] = A.offsets[i] + (i == 2 ? longest : others);
    for (int64_t k = 0; k < A.nnz; k++) A.columns[k] = (int32_t)(k * 7 % n), A.values[k] = 1;
    return A;
}

/** GPU: whole rows where they are alike, warps where one is as long as several tiles, segmented sums for the rest. */
static void automatic_plans_take_the_kernel_that_fits(void **state)
{
    (void)state;
    static const struct {
        int64_t n, longest, others;
        trine_spmv_reduction wanted;
        trine_spmv_method method;
    } cases[] = {{3000, 9, 5, TRINE_REDUCTION_ROWS, TRINE_SPMV_ADAPTIVE},
                 {3000, 900, 5, TRINE_REDUCTION_WARP_TRANSPOSED, TRINE_SPMV_ADAPTIVE},
                 {3000, 6000, 5, TRINE_REDUCTION_WARPS, TRINE_SPMV_BALANCED_POSTPROCESS},
                 {6000, 6000, 1, TRINE_REDUCTION_WARP_TRANSPOSED, TRINE_SPMV_BALANCED_POSTPROCESS}};
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    if (!test_on_gpu()) skip();
    trine_context ctx = test_context();
    for (int k = 0; k < 16; k++)
        for (int nrhs = 1; nrhs <= 8; nrhs += 7) { /* the same for one vector and for several */
            rows A = rows_beside_one(cases[k / 4].n, cases[k / 4].longest, cases[k / 4].others);
            form f = make_form(ctx, &A, dtypes[k % 4], TRINE_CSR, 32, TRINE_VALUES_SAME);
            trine_spmv plan = make_plan(ctx, &f, &(trine_spmv_options){.max_nrhs = nrhs});
            trine_spmv_info info;
            OK(trine_spmv_get_info(plan, &info));
            assert_int_equal(info.reduction, cases[k / 4].wanted);
            assert_int_equal(info.method, cases[k / 4].method);
            assert_int_equal(info.longest_row, cases[k / 4].longest);
            OK(trine_spmv_destroy(&plan));
            free_form(ctx, &f);
            free_rows(&A);
        }
    OK(trine_context_destroy(&ctx));
}

/** y := A^T A x and y := (A^T A + 3 I) x by operators, against loops. */
static void plans_are_parts_of_operators(void **state)
{
    (void)state;
    scene s = open_scene();
    trine_op op, back, square, identity, sum;
    OK(trine_spmv_as_op(s.plan, &op));
    FAILS(TRINE_ERR_ARGUMENT, "op is NULL", trine_spmv_as_op(s.plan, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", trine_spmv_as_op(NULL, &back));
    trine_op_info info;
    OK(trine_op_get_info(op, &info));
    assert_int_equal(info.rows, N_ROWS);
    assert_int_equal(info.cols, N_COLS);
    assert_int_equal(info.ops, TRINE_N | TRINE_T | TRINE_H);
    size_t with, without;
    OK(trine_op_work(op, 1, NULL, &with, NULL));
    OK(trine_spmv_work(s.plan, 1, NULL, &without, NULL));
    assert_int_equal(with, (without + 255) / 256 * 256); /* no scratch */
    OK(trine_op_transpose(op, &back, TRINE_T));
    OK(trine_op_product(s.ctx, &square, 2, (trine_op[]){back, op}));
    OK(trine_op_identity(s.ctx, &identity, TRINE_D, N_COLS));
    OK(trine_op_sum(s.ctx, &sum, 2, (trine_op[]){square, identity}, (double[]){1, 3}));
    OK(trine_spmv_destroy(&s.plan)); /* the operators keep it */
    double x[N_COLS * 2], y[N_COLS * 2], y0[N_COLS * 2];
    for (int i = 0; i < N_COLS * 2; i++) x[i] = test_uniform(6, (uint64_t)i), y0[i] = test_uniform(7, (uint64_t)i);
    void *X = test_to_device(s.ctx, x, sizeof x), *Y = test_to_device(s.ctx, y0, sizeof y0);
    const trine_dense from = {X, N_COLS, 2, 0, TRINE_ROWMAJOR}, to = {Y, N_COLS, 2, 0, TRINE_COLMAJOR};
    const double alpha = 0.5, beta = -1;
    trine_work work;
    OK(trine_op_work(sum, 2, NULL, NULL, &work));
    OK(trine_op_apply(sum, TRINE_N, &alpha, &from, &beta, &to, &(trine_exec){.work = work}));
    OK(trine_context_synchronize(s.ctx));
    test_from_device(s.ctx, y, Y, sizeof y);
    for (int v = 0; v < 2; v++) {
        long double z[N_COLS], m[N_COLS];
        for (int j = 0; j < N_COLS; j++) {
            z[j] = 0.5L * 3 * x[2 * j + v] - y0[j + v * N_COLS];
            m[j] = 0.5L * 3 * x[2 * j + v] + y0[j + v * N_COLS];
        }
        for (int i = 0; i < N_ROWS; i++) {
            long double row = 0, row_m = 0;
            for (int64_t k = s.A.offsets[i]; k < s.A.offsets[i + 1]; k++) {
                row += creall(s.A.values[k]) * x[2 * s.A.columns[k] + v];
                row_m += fabsl(creall(s.A.values[k])) * x[2 * s.A.columns[k] + v];
            }
            for (int64_t k = s.A.offsets[i]; k < s.A.offsets[i + 1]; k++) {
                z[s.A.columns[k]] += 0.5L * creall(s.A.values[k]) * row;
                m[s.A.columns[k]] += 0.5L * fabsl(creall(s.A.values[k])) * row_m;
            }
        }
        for (int j = 0; j < N_COLS; j++) assert_true(fabsl(y[j + v * N_COLS] - z[j]) <= 40 * 0x1p-52L * m[j]);
    }
    OK(trine_work_destroy(&work));
    trine_op all[] = {sum, identity, square, back, op};
    for (int k = 0; k < 5; k++) OK(trine_op_destroy(&all[k]));
    test_release(s.ctx, X);
    test_release(s.ctx, Y);
    close_scene(&s);
}

/* ------------------------------------------------------------------- tuning */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/** What was measured is kept in the context and in files, and files that are none are named. */
static void tuning_files_are_kept_and_checked(void **state)
{
    (void)state;
    char path[] = "tuning-XXXXXX", text[600], choice[128];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    trine_context ctx, other;
    trine_context_info info;
    OK(trine_context_create(&ctx, NULL));
    OK(trine_context_create(&other, NULL));
    OK(trine_context_get_info(ctx, &info));
    assert_false(trine_choice_get(ctx, "product", choice));
    OK(trine_choice_set(ctx, "product", "old"));
    OK(trine_choice_set(ctx, "product", "new"));
    assert_true(trine_choice_get(ctx, "product", choice));
    assert_string_equal(choice, "new");
    OK(trine_choice_save(ctx, path, "product", "first"));
    OK(trine_choice_save(ctx, path, "semiring", "one"));
    OK(trine_choice_save(ctx, path, "product", "last"));
    OK(trine_context_load_tuning(other, path));
    assert_true(trine_choice_get(other, "product", choice));
    assert_string_equal(choice, "last");
    assert_true(trine_choice_get(other, "semiring", choice));

    snprintf(text, sizeof text, "trine choices 1\nanother device\tproduct\tnone\n%s\tthird\ttaken\n", info.name);
    write_file(path, text);
    OK(trine_context_load_tuning(other, path));
    assert_true(trine_choice_get(other, "product", choice));
    assert_string_equal(choice, "last");
    assert_true(trine_choice_get(other, "third", choice));
    static const char *const damaged[] = {"",
                                          "trine choices 2\n",
                                          "trine choices 1\ndevice\tproduct\n",
                                          "trine choices 1\na\tb\tc",
                                          "trine choices 1\na\tb\t\n",
                                          "trine choices 1\na\tb\tc\td\n"};
    for (int k = 0; k < 6; k++) {
        write_file(path, damaged[k]);
        FAILS(TRINE_ERR_FORMAT, path, trine_context_load_tuning(other, path));
    }
    memset(text, 'x', 300);
    text[300] = 0;
    FAILS(TRINE_ERR_ARGUMENT, "too long", trine_choice_set(ctx, text, "choice"));
    FAILS(TRINE_ERR_ARGUMENT, "several lines", trine_choice_save(ctx, path, "a\nb", "choice"));
    FAILS(TRINE_ERR_IO, "no/such/folder", trine_choice_save(ctx, "no/such/folder/file", "a", "b"));
    FAILS(TRINE_ERR_IO, "no/such", trine_context_load_tuning(ctx, "no/such/file"));
    FAILS(TRINE_ERR_ARGUMENT, "path is NULL", trine_context_load_tuning(ctx, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_context_load_tuning(NULL, path));
    OK(trine_context_destroy(&ctx));
    OK(trine_context_destroy(&other));
    remove(path);
}

/** A choice's text goes both ways, and one that is none is not taken. */
static void choices_are_read_as_written(void **state)
{
    (void)state;
    trine_spmv_options to = {0};
    char choice[128];
    const trine_spmv_options from = {.tune = {256, 11, 1234567890123, TRINE_REDUCTION_RAKING, -1}};
    spmv_write_choice(&from, choice);
    assert_true(spmv_read_choice(choice, &to));
    assert_memory_equal(&from.tune, &to.tune, sizeof from.tune);
    static const char *const wrong[] = {"",
                                        "block 100 tile 9 reduction 1 weight 1 entries 5",
                                        "block 128 tile 3 reduction 1 weight 1 entries 5",
                                        "block 128 tile 9 reduction 7 weight 1 entries 5",
                                        "block 128 tile 9 reduction 1 weight -2 entries 5",
                                        "block 128 tile 9 reduction 1 weight 1 entries -5",
                                        "block 128 tile 9 reduction 1 weight 1 entries 5 6"};
    for (int k = 0; k < 7; k++) assert_false(spmv_read_choice(wrong[k], &to));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_begin_where_the_definition_says),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(mangled_patterns_are_refused),
        cmocka_unit_test(wrong_vectors_are_refused),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(semirings_that_do_not_fit_are_refused),
        cmocka_unit_test(values_are_used_where_they_are),
        cmocka_unit_test(a_plan_tells_what_it_is),
        cmocka_unit_test(automatic_plans_take_the_kernel_that_fits),
        cmocka_unit_test(plans_are_parts_of_operators),
        cmocka_unit_test(tuning_files_are_kept_and_checked),
        cmocka_unit_test(choices_are_read_as_written),
    };
    return TEST_MAIN(tests);
}
