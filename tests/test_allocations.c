/* Every public function when memory ends. The headers say which functions there are: each is either in `allocating`,
 * with a piece of work that calls it, whose k-th host allocation is made to fail for every k; or in `without`,
 * because it allocates nothing on the host. A function in neither list, or in both, fails the test, and so does a
 * name that no header has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/test_interface.h"
#include "harness.h"
#include "header_support.h"
#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>

#include "foreign_factors.h"
#endif

enum { N = 20 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/** One context and what a function may need; made before memory ends, and used again after it did. */
struct world {
    trine_context ctx;
    test_memory memory;
    trine_matrix A, by_columns, unsorted, L; /* A: symmetric, positive definite; the same as CSC; with unsorted rows;
                                                its lower triangle */
    trine_matrix arrow, indefinite; /* a dense row that is summed again; symmetric, but Cholesky breaks down */
    const void *A_values, *L_values;
    trine_panels panels; /* of L */
    trine_triangular triangular;
    trine_supernodal supernodal, batch;
    trine_tridiagonal tridiagonal; /* of A, whose five bands on either side it takes */
    trine_forest forest; /* of A */
    trine_spmv spmv; /* of A, ops N and T */
    trine_precond precond, adaptive, multilevel; /* of A: MOS_D; MOS_A and MULTILEVEL, whose numeric allocates */
    trine_op op[3]; /* of both plans of L, and their product */
    double b[N], x[N]; /* x: the solution of L x = b */
    trine_op spmv_op;
    trine_krylov krylov; /* of that and op[2] */
    trine_spmv without_values; /* products with A's pattern */
    trine_semiring semiring;
#ifdef TRINE_TEST_DIRECT
    trine_factor factor[4];
    trine_direct direct[5];
    double y[N]; /* A y = b */
#endif
};
static char folder[] = "/tmp/trine-allocations-XXXXXX";

static const char *file(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static trine_dense column(double *data) { return (trine_dense){.data = data, .rows = N, .cols = 1, .ld = N}; }

static void assert_close(const double *x, const double *exact)
{
    for (int i = 0; i < N; i++) assert_true(x[i] - exact[i] < 1e-12 && exact[i] - x[i] < 1e-12);
}

static const trine_triangular_options tasks = {
    .uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T, .method = TRINE_TRI_LEVELSET};
static const trine_supernodal_options inverted = {.invert = TRINE_INVERT_OFF, .fill = 0.2};

#ifdef TRINE_TEST_DIRECT
static const trine_direct_method methods[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL, TRINE_DIRECT_LU,
                                              TRINE_DIRECT_LU_UMFPACK};
static trine_direct_options direct_options(int which)
{
    static const trine_direct_solver solvers[] = {TRINE_SOLVER_SUPERNODAL, TRINE_SOLVER_GENERAL,
                                                  TRINE_SOLVER_SUPERNODAL, TRINE_SOLVER_GENERAL, TRINE_SOLVER_AUTO};
    return (trine_direct_options){.factor.method = which == 4 ? TRINE_DIRECT_AUTO : methods[which],
                                  .solver = solvers[which],
                                  .ops = TRINE_N | TRINE_T,
                                  .refine = 1};
}
#endif

/** A semiring of the pattern that keeps y as it is. */
static void keep_y(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row, (void)accumulator, (void)y;
}
static void reduce_nothing(const void *user, const void *values, const void *vector, const int32_t *columns,
                           int64_t row, int64_t begin, int64_t end, void *accumulator)
{
    (void)user, (void)values, (void)vector, (void)columns, (void)row, (void)begin, (void)end;
    *(int *)accumulator = 0;
}
static const trine_semiring_source no_semiring = {.product = {"int", NULL, sizeof(int), _Alignof(int)},
                                                  .output = {"int", NULL, sizeof(int), _Alignof(int)},
                                                  .multiply = "0",
                                                  .add = "acc",
                                                  .cpu = {.reduce = reduce_nothing, .store = keep_y}};

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    OK(trine_context_create(&w->ctx, "cpu:2"));
    test_fail_allocations(w->ctx, &w->memory);
    OK(trine_matrix_gallery(w->ctx, &w->A, "laplace2d:nx=5,ny=4", TRINE_D));
    OK(trine_matrix_copy(w->A, &w->by_columns, TRINE_HOST, TRINE_CSC, TRINE_D));
    OK(trine_matrix_triangle(w->A, &w->L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_matrix_get_arrays(w->L, NULL, NULL, &w->L_values));
    int64_t *offsets;
    int32_t *indices;
    double *values;
    trine_matrix_info info;
    const int64_t *A_offsets;
    const int32_t *A_indices;
    OK(trine_matrix_get_info(w->A, &info));
    OK(trine_matrix_get_arrays(w->A, &A_offsets, &A_indices, &w->A_values));
    OK(trine_matrix_allocate(w->ctx, &w->unsorted, TRINE_CSR, TRINE_D, N, N, info.nnz, &offsets, &indices,
                             (void **)&values));
    memcpy(offsets, A_offsets, (N + 1) * sizeof *offsets);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t from = offsets[i] + offsets[i + 1] - 1 - k;
            indices[k] = A_indices[from];
            values[k] = ((const double *)w->A_values)[from];
        }
    OK(trine_matrix_gallery(w->ctx, &w->arrow, "arrow:n=150", TRINE_D));
    OK(trine_matrix_gallery(w->ctx, &w->indefinite, "tridiag:n=3,a=2,b=1,c=2", TRINE_D));
    OK(trine_panels_detect(w->ctx, w->L, NULL, &w->panels));
    OK(trine_triangular_analyse(w->ctx, &w->triangular, w->L, &tasks));
    OK(trine_triangular_numeric(w->triangular, TRINE_HOST, NULL, NULL));
    OK(trine_supernodal_analyse(w->ctx, &w->supernodal, &w->panels, &inverted));
    OK(trine_supernodal_numeric(w->supernodal, TRINE_HOST, w->panels.values, NULL));
    OK(trine_supernodal_analyse_batch(w->ctx, &w->batch, &w->panels, 1, &inverted));
    OK(trine_tridiagonal_analyse(w->ctx, &w->tridiagonal, w->A, NULL));
    OK(trine_tridiagonal_numeric(w->tridiagonal, TRINE_HOST, NULL, NULL));
    OK(trine_forest_create(w->ctx, &w->forest, w->A, &(trine_forest_options){.blocks = 1}));
    OK(trine_forest_set_weights(w->forest, TRINE_HOST, w->A_values, NULL));
    OK(trine_precond_analyse(w->ctx, &w->precond, w->A,
                             &(trine_precond_options){.method = TRINE_PRECOND_MOS_D, .m = 2}));
    OK(trine_precond_numeric(w->precond, TRINE_HOST, w->A_values, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_analyse(w->ctx, &w->adaptive, w->A,
                             &(trine_precond_options){.method = TRINE_PRECOND_MOS_A, .m = 2}));
    OK(trine_precond_analyse(w->ctx, &w->multilevel, w->A,
                             &(trine_precond_options){.method = TRINE_PRECOND_MULTILEVEL}));
    OK(trine_spmv_analyse(w->ctx, &w->spmv, w->A, &(trine_spmv_options){.ops = TRINE_N | TRINE_T}));
    OK(trine_spmv_numeric(w->spmv, TRINE_HOST, NULL, NULL));
    for (int i = 0; i < N; i++) w->b[i] = i + 1;
    OK(trine_triangular_solve(w->triangular, TRINE_N, NULL, (trine_dense[]){column(w->b)},
                              (trine_dense[]){column(w->x)}, NULL));
    OK(trine_triangular_as_op(w->triangular, &w->op[0]));
    OK(trine_supernodal_as_op(w->supernodal, &w->op[1]));
    OK(trine_op_product(w->ctx, &w->op[2], 2, w->op));
    OK(trine_spmv_as_op(w->spmv, &w->spmv_op));
    OK(trine_krylov_create(w->ctx, &w->krylov, w->spmv_op, w->op[2], &(trine_krylov_options){.history = 4}));
    OK(trine_spmv_analyse(w->ctx, &w->without_values, w->A, NULL));
    OK(trine_semiring_create(w->ctx, &w->semiring, &no_semiring));
#ifdef TRINE_TEST_DIRECT
    for (int m = 0; m < 4; m++)
        OK(trine_factor_create(w->ctx, &w->factor[m], w->A, &(trine_factor_options){.method = methods[m]}));
    for (int m = 0; m < 5; m++)
        OK(trine_direct_create(w->ctx, &w->direct[m], w->A, (trine_direct_options[]){direct_options(m)}));
    OK(trine_direct_solve(w->direct[0], TRINE_N, (trine_dense[]){column(w->b)}, (trine_dense[]){column(w->y)}, NULL));
#endif
}

static void close_world(struct world *w)
{
    OK(trine_krylov_destroy(&w->krylov));
    OK(trine_op_destroy(&w->spmv_op));
    OK(trine_semiring_destroy(&w->semiring));
    OK(trine_spmv_destroy(&w->without_values));
#ifdef TRINE_TEST_DIRECT
    for (int m = 0; m < 4; m++) OK(trine_factor_destroy(&w->factor[m]));
    for (int m = 0; m < 5; m++) OK(trine_direct_destroy(&w->direct[m]));
#endif
    for (int k = 0; k < 3; k++) OK(trine_op_destroy(&w->op[k]));
    OK(trine_triangular_destroy(&w->triangular));
    OK(trine_tridiagonal_destroy(&w->tridiagonal));
    OK(trine_forest_destroy(&w->forest));
    OK(trine_precond_destroy(&w->precond));
    OK(trine_precond_destroy(&w->adaptive));
    OK(trine_precond_destroy(&w->multilevel));
    OK(trine_spmv_destroy(&w->spmv));
    OK(trine_supernodal_destroy(&w->supernodal));
    OK(trine_supernodal_destroy(&w->batch));
    trine_panels_free(w->ctx, &w->panels);
    OK(trine_matrix_destroy(&w->arrow));
    OK(trine_matrix_destroy(&w->indefinite));
    OK(trine_matrix_destroy(&w->L));
    OK(trine_matrix_destroy(&w->unsorted));
    OK(trine_matrix_destroy(&w->by_columns));
    OK(trine_matrix_destroy(&w->A));
    OK(trine_context_destroy(&w->ctx));
    assert_int_equal(w->memory.live, 0);
}

/* ------------------------------------------------------- what allocates: scenarios */
/* Each calls one function, in the way number `variant`; what a success leaves is checked and given back, and a
 * failure must leave nothing behind that the caller would have to know of. */

/** The end of a scenario whose function makes a handle. */
#define MADE(handle, destroy)            \
    do {                                 \
        if (status) assert_null(handle); \
        else assert_non_null(handle);    \
        OK(destroy(&(handle)));          \
        return status;                   \
    } while (0)

/** What a scenario needs beforehand: there is memory for it. */
#define FIRST(w, call)                                                              \
    do {                                                                            \
        const int64_t fail_at_ = (w)->memory.fail_at, calls_ = (w)->memory.calls;   \
        (w)->memory.fail_at = 0;                                                    \
        OK(call);                                                                   \
        (w)->memory.fail_at = fail_at_ ? fail_at_ + (w)->memory.calls - calls_ : 0; \
    } while (0)

static trine_status use_alloc(struct world *w, int variant)
{
    (void)variant;
    void *p;
    const trine_status status = trine_alloc(w->ctx, TRINE_HOST, 100, &p);
    assert_int_equal(!p, status != TRINE_SUCCESS);
    trine_free(w->ctx, TRINE_HOST, p);
    return status;
}

static const int32_t view_offsets[] = {0, 1, 2};
static const int64_t view_indices[] = {0, 1};
static const double view_values[] = {1, 2};
static trine_status use_csr(struct world *w, int variant)
{
    (void)variant;
    trine_matrix M;
    const trine_status status =
        trine_matrix_csr(w->ctx, &M, TRINE_D, 2, 2, 2, TRINE_HOST, 32, view_offsets, 64, view_indices, view_values);
    MADE(M, trine_matrix_destroy);
}
/** One of the library's, and one of strings that are copied. */
static trine_status use_builtin_semiring(struct world *w, int variant)
{
    trine_semiring semiring;
    const trine_status status = trine_semiring_builtin(w->ctx, &semiring, variant ? "arg-max2" : "or-and", TRINE_D);
    MADE(semiring, trine_semiring_destroy);
}
static trine_status use_semiring(struct world *w, int variant)
{
    (void)variant;
    trine_semiring semiring;
    const trine_status status = trine_semiring_create(w->ctx, &semiring, &no_semiring);
    MADE(semiring, trine_semiring_destroy);
}
static trine_status use_csc(struct world *w, int variant)
{
    (void)variant;
    trine_matrix M;
    const trine_status status =
        trine_matrix_csc(w->ctx, &M, TRINE_D, 2, 2, 2, TRINE_HOST, 32, view_offsets, 64, view_indices, view_values);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_allocate(struct world *w, int variant)
{
    (void)variant;
    trine_matrix M;
    const trine_status status = trine_matrix_allocate(w->ctx, &M, TRINE_CSC, TRINE_Z, 5, 7, 11, NULL, NULL, NULL);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_copy_of_matrix(struct world *w, int variant)
{
    trine_matrix M;
    const trine_status status =
        trine_matrix_copy(w->A, &M, TRINE_HOST, variant % 2 ? TRINE_CSC : TRINE_CSR, variant / 2 ? TRINE_C : TRINE_D);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_transpose(struct world *w, int variant)
{
    trine_matrix M;
    const trine_status status = trine_matrix_transpose(w->L, &M, variant ? TRINE_H : TRINE_T);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_expand(struct world *w, int variant)
{
    (void)variant;
    trine_matrix M;
    const trine_status status = trine_matrix_expand(w->L, &M, TRINE_SYMMETRIC);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_triangle(struct world *w, int variant)
{
    trine_matrix M;
    const trine_status status = trine_matrix_triangle(w->A, &M, TRINE_UPPER, variant ? TRINE_UNIT : TRINE_NONUNIT, 1);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_permute(struct world *w, int variant)
{
    trine_matrix M;
    int32_t reversed[N];
    for (int i = 0; i < N; i++) reversed[i] = N - 1 - i;
    const trine_status status = trine_matrix_permute(w->A, &M, reversed, variant ? reversed : NULL);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_sort(struct world *w, int variant)
{
    trine_matrix M;
    const trine_status status = trine_matrix_sort(variant ? w->unsorted : w->A, &M, 1);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_norm(struct world *w, int variant)
{
    (void)variant;
    double norm;
    const trine_status status = trine_matrix_norm(w->by_columns, TRINE_NORM_INF, &norm);
    if (!status) assert_true(norm == 8);
    return status;
}
static trine_status use_accuracy(struct world *w, int variant)
{
    (void)variant;
    trine_accuracy accuracy;
    return trine_matrix_accuracy(w->by_columns, 1, w->x, w->b, NULL, &accuracy);
}
static trine_status solve_by_copying(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    (void)user, (void)op;
    memcpy(X->data, B->data, (size_t)(B->rows * B->cols) * sizeof(double));
    return TRINE_SUCCESS;
}
static trine_status use_condition(struct world *w, int variant)
{
    (void)variant;
    trine_condition condition;
    return trine_estimate_condition(w->ctx, w->by_columns, solve_by_copying, NULL, &condition);
}
static trine_status use_structure(struct world *w, int variant)
{
    trine_matrix_structure s;
    const trine_status status = trine_matrix_get_structure(variant ? w->unsorted : w->A, &s);
    if (!status) assert_true(s.hermitian);
    return status;
}
static trine_status use_gallery(struct world *w, int variant)
{
    static const char *const specs[] = {"laplace2d:nx=3,ny=3", "elasticity3d:n=1",
                                        "random_triangular:n=30,levels=5,row=4"};
    trine_matrix M;
    const trine_status status = trine_matrix_gallery(w->ctx, &M, specs[variant], TRINE_C);
    MADE(M, trine_matrix_destroy);
}

static const char *const matrix_files[] = {"A.mtx", "A.mtx.gz", "A.rb"};
static trine_status use_write(struct world *w, int variant)
{
    return trine_matrix_write(w->A, file(matrix_files[variant]), variant == 1 ? TRINE_SYMMETRIC : TRINE_GENERAL);
}
static trine_status use_read(struct world *w, int variant)
{
    trine_matrix M;
    FIRST(w, use_write(w, variant));
    const trine_status status = trine_matrix_read(w->ctx, &M, file(matrix_files[variant]), TRINE_D);
    MADE(M, trine_matrix_destroy);
}
static trine_status use_read_with(struct world *w, int variant)
{
    trine_matrix M;
    FIRST(w, use_write(w, variant));
    const trine_status status =
        trine_matrix_read_with(w->ctx, &M, file(matrix_files[variant]), TRINE_D, &(trine_read_options){.max_rows = N});
    MADE(M, trine_matrix_destroy);
}
static const char *const vector_files[] = {"b.mtx", "b.mtx.gz"};
static trine_status use_vectors_write(struct world *w, int variant)
{
    return trine_vectors_write(w->ctx, file(vector_files[variant]), TRINE_D, w->b, N, 1, 0);
}
static trine_status use_vectors(struct world *w, int variant, const trine_read_options *options)
{
    void *data;
    int64_t rows, cols;
    FIRST(w, use_vectors_write(w, variant));
    const trine_status status =
        options ? trine_vectors_read_with(w->ctx, file(vector_files[variant]), TRINE_D, &data, &rows, &cols, options)
                : trine_vectors_read(w->ctx, file(vector_files[variant]), TRINE_D, &data, &rows, &cols);
    if (status) assert_null(data);
    else assert_memory_equal(data, w->b, sizeof w->b);
    trine_free(w->ctx, TRINE_HOST, data);
    return status;
}
static trine_status use_vectors_read(struct world *w, int variant) { return use_vectors(w, variant, NULL); }
static trine_status use_vectors_read_with(struct world *w, int variant)
{
    return use_vectors(w, variant, &(trine_read_options){.max_rows = N});
}

static trine_status use_triangular_analyse(struct world *w, int variant)
{
    static const trine_triangular_options options[] = {
        {.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T, .method = TRINE_TRI_LEVELSET},
        {.uplo = TRINE_UPPER, .ops = TRINE_H, .method = TRINE_TRI_LEVELSET, .tune.row_order = 2},
        {.uplo = TRINE_LOWER, .diag = TRINE_UNIT, .method = TRINE_TRI_SERIAL},
        {.uplo = TRINE_LOWER},
        {.uplo = TRINE_UPPER, .ops = TRINE_N | TRINE_T, .method = TRINE_TRI_PARTITIONED_INVERSE},
        {.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T}};
    trine_triangular plan;
    if (variant == 5)
        trine_triangular_pretend(1e9); /* partitioned inverses, or what is there without memory for them */
    const trine_status status = trine_triangular_analyse(w->ctx, &plan, w->A, &options[variant]);
    trine_triangular_pretend(0);
    MADE(plan, trine_triangular_destroy);
}
static trine_status use_triangular_work(struct world *w, int variant)
{
    (void)variant;
    trine_work work;
    size_t bytes;
    double x[N];
    const trine_status status = trine_triangular_work(w->triangular, 1, NULL, &bytes, &work);
    if (!status) {
        OK(trine_triangular_solve(w->triangular, TRINE_N, NULL, (trine_dense[]){column(w->b)},
                                  (trine_dense[]){column(x)}, &(trine_exec){.work = work}));
        assert_close(x, w->x);
    }
    MADE(work, trine_work_destroy);
}
static trine_status use_level_sets(struct world *w, int variant)
{
    (void)variant;
    int64_t levels, offsets[N + 1];
    const trine_status status = trine_level_sets(w->ctx, w->L, TRINE_LOWER, &levels, offsets, NULL, NULL);
    if (!status) assert_int_equal(levels, 8);
    return status;
}

static trine_status use_panels_detect(struct world *w, int variant)
{
    trine_panels panels;
    const trine_status status = trine_panels_detect(w->ctx, variant ? w->unsorted : w->L,
                                                    &(trine_panels_options){.uplo = TRINE_LOWER}, &panels);
    assert_int_equal(!panels.values, status != TRINE_SUCCESS);
    trine_panels_free(w->ctx, &panels);
    return status;
}
static const int32_t partition[] = {0, 3, 9, 10, N};
static trine_status use_panels_from_partition(struct world *w, int variant)
{
    trine_panels panels;
    const trine_status status = trine_panels_from_partition(w->ctx, variant ? w->unsorted : w->L, 4, partition,
                                                            &(trine_panels_options){.uplo = TRINE_LOWER}, &panels);
    assert_int_equal(!panels.values, status != TRINE_SUCCESS);
    trine_panels_free(w->ctx, &panels);
    return status;
}
static const trine_supernodal_options supernodal_options[] = {
    {.fill = -1},
    {.invert = TRINE_INVERT_FULL, .single = 1},
    {.variant = TRINE_VARIANT_TEAM},
    {.variant = TRINE_VARIANT_STREAM, .access = TRINE_ACCESS_PULL},
    {.variant = TRINE_VARIANT_SPMV}};
static trine_status use_supernodal_analyse(struct world *w, int variant)
{
    trine_supernodal plan;
    const trine_status status = trine_supernodal_analyse(w->ctx, &plan, &w->panels, &supernodal_options[variant]);
    MADE(plan, trine_supernodal_destroy);
}
static trine_status use_supernodal_memory(struct world *w, int variant)
{
    trine_memory memory;
    return trine_supernodal_memory(w->ctx, &w->panels, &supernodal_options[variant], &memory);
}
static trine_status use_supernodal_analyse_triangle(struct world *w, int variant)
{
    trine_supernodal plan;
    const trine_status status = trine_supernodal_analyse_triangle(
        w->ctx, &plan, variant ? w->by_columns : w->L, variant ? 4 : 0, variant ? partition : NULL,
        &(trine_panels_options){.uplo = TRINE_LOWER}, &supernodal_options[variant]);
    MADE(plan, trine_supernodal_destroy);
}
static trine_status use_supernodal_analyse_batch(struct world *w, int variant)
{
    trine_supernodal plan;
    const trine_panels factors[] = {w->panels, w->panels, w->panels};
    const trine_status status = trine_supernodal_analyse_batch(w->ctx, &plan, factors, 3, &supernodal_options[variant]);
    MADE(plan, trine_supernodal_destroy);
}
static void assert_supernodal(struct world *w, trine_supernodal plan)
{
    double x[N];
    OK(trine_supernodal_check(plan, NULL));
    OK(trine_supernodal_solve(plan, TRINE_N, NULL, (trine_dense[]){column(w->b)}, (trine_dense[]){column(x)}, NULL));
    assert_close(x, w->x);
}
static trine_status use_supernodal_numeric(struct world *w, int variant)
{
    (void)variant;
    const trine_status status = trine_supernodal_numeric(w->supernodal, TRINE_HOST, w->panels.values, NULL);
    if (!status) assert_supernodal(w, w->supernodal);
    return status;
}
static trine_status use_supernodal_update(struct world *w, int variant)
{
    (void)variant;
    const trine_status status = trine_supernodal_update(w->supernodal, &w->panels, NULL);
    if (!status) assert_supernodal(w, w->supernodal);
    return status;
}
static trine_status use_supernodal_numeric_batch(struct world *w, int variant)
{
    (void)variant;
    const trine_status status = trine_supernodal_numeric_batch(w->batch, TRINE_HOST, &w->panels.values, NULL);
    if (!status) assert_supernodal(w, w->batch);
    return status;
}
static trine_status use_supernodal_work(struct world *w, int variant)
{
    trine_work work = NULL;
    size_t bytes;
    const trine_status status = trine_supernodal_work(w->supernodal, 1 + 2 * variant, NULL, &bytes, &work);
    MADE(work, trine_work_destroy);
}

static trine_status use_tridiagonal_analyse(struct world *w, int variant)
{
    static const trine_tridiagonal_options options[] = {
        {0}, {.refine = 1, .max_nrhs = 3}, {.memory = TRINE_MEMORY_SMALL}, {.bands = TRINE_BANDS_BLOCKS}};
    trine_tridiagonal plan;
    const trine_status status =
        trine_tridiagonal_analyse(w->ctx, &plan, variant ? w->by_columns : w->A, &options[variant]);
    MADE(plan, trine_tridiagonal_destroy);
}
static trine_status use_tridiagonal_memory(struct world *w, int variant)
{
    trine_memory memory;
    return trine_tridiagonal_memory(w->ctx, variant ? w->by_columns : w->A, NULL, &memory);
}
static trine_status use_tridiagonal_check(struct world *w, int variant)
{
    (void)variant;
    return trine_tridiagonal_check(w->tridiagonal, NULL);
}
static trine_status use_tridiagonal_work(struct world *w, int variant)
{
    trine_work work = NULL;
    size_t bytes;
    const trine_status status = trine_tridiagonal_work(w->tridiagonal, 1 + 2 * variant, NULL, &bytes, &work);
    MADE(work, trine_work_destroy);
}
static trine_status use_tridiagonal_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_tridiagonal_as_op(w->tridiagonal, &op);
    MADE(op, trine_op_destroy);
}

/** Variants: rows in order, unsorted rows; each with memory for blocks too. */
static trine_status use_forest_create(struct world *w, int variant)
{
    trine_forest forest;
    const trine_status status = trine_forest_create(w->ctx, &forest, variant % 2 ? w->unsorted : w->A,
                                                    &(trine_forest_options){.blocks = variant / 2});
    MADE(forest, trine_forest_destroy);
}
static trine_status use_forest_factor_sequential(struct world *w, int variant)
{
    (void)variant;
    return trine_forest_factor_sequential(w->forest, NULL, NULL);
}

static trine_status use_precond_analyse(struct world *w, int variant)
{
    const trine_precond_options options[] = {
        {.method = TRINE_PRECOND_DIAGP1},
        {.method = TRINE_PRECOND_ALT_I, .m = 2, .pattern = TRINE_PATTERN_MAX_T, .max_nrhs = 2},
        {.method = TRINE_PRECOND_MOS_A, .m = 2, .pattern = TRINE_PATTERN_GIVEN, .pattern_matrix = w->by_columns},
        {.method = TRINE_PRECOND_ALG_TRI_BLOCK, .ops = TRINE_N | TRINE_T},
        {.method = TRINE_PRECOND_ADI, .nx = 5, .ny = 4},
        {.method = TRINE_PRECOND_MOS_D, .m = 2, .pattern = TRINE_PATTERN_GIVEN, .pattern_matrix = w->L}};
    trine_precond plan;
    const trine_status status = trine_precond_analyse(w->ctx, &plan,
                                                      variant == 1   ? w->unsorted
                                                      : variant == 4 ? w->by_columns
                                                                     : w->A,
                                                      &options[variant]);
    MADE(plan, trine_precond_destroy);
}
static trine_status use_precond_numeric(struct world *w, int variant)
{
    return trine_precond_numeric(variant ? w->multilevel : w->adaptive, TRINE_HOST, w->A_values, TRINE_REUSE_NOTHING,
                                 NULL);
}
static trine_status use_precond_work(struct world *w, int variant)
{
    (void)variant;
    trine_work work = NULL;
    const trine_status status = trine_precond_work(w->precond, 2, NULL, NULL, &work);
    MADE(work, trine_work_destroy);
}
static trine_status use_precond_as_op(struct world *w, int variant)
{
    trine_op op;
    const trine_status status = variant ? trine_precond_part(w->precond, 1, &op) : trine_precond_as_op(w->precond, &op);
    MADE(op, trine_op_destroy);
}
static trine_status use_precond_product(struct world *w, int variant)
{
    (void)variant;
    trine_precond plan;
    const trine_op factors[] = {w->op[0], w->op[1]};
    const trine_status status = trine_precond_product(w->ctx, &plan, w->b, 2, factors, 0);
    MADE(plan, trine_precond_destroy);
}
static trine_status use_precond_diagnose(struct world *w, int variant)
{
    (void)variant;
    trine_precond_diagnosis diagnosis;
    return trine_precond_diagnose(w->precond, &diagnosis);
}

static trine_status use_spmv_analyse(struct world *w, int variant)
{
    trine_spmv plan;
    const trine_status status = trine_spmv_analyse(
        w->ctx, &plan, variant % 2 ? w->by_columns : w->arrow,
        &(trine_spmv_options){.ops = variant / 2 ? TRINE_N | TRINE_T : TRINE_N, .max_nrhs = 3, .check = variant % 2});
    MADE(plan, trine_spmv_destroy);
}
static trine_status use_spmv_work(struct world *w, int variant)
{
    (void)variant;
    trine_work work;
    double y[N];
    const trine_status status = trine_spmv_work(w->spmv, 1, NULL, NULL, &work);
    if (!status)
        OK(trine_spmv_apply(w->spmv, TRINE_N, NULL, (trine_dense[]){column(w->b)}, NULL, (trine_dense[]){column(y)},
                            &(trine_exec){.work = work}));
    MADE(work, trine_work_destroy);
}
static trine_status use_spmv_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_spmv_as_op(w->spmv, &op);
    MADE(op, trine_op_destroy);
}

/** Variants: the five methods, the last two with a cycle in single precision. */
static trine_status use_precond_memory(struct world *w, int variant)
{
    static const trine_precond_method methods[] = {TRINE_PRECOND_AUTO, TRINE_PRECOND_ALT_I, TRINE_PRECOND_ILU0};
    trine_memory memory;
    return trine_precond_memory(w->ctx, w->A, &(trine_precond_options){.method = methods[variant]}, &memory);
}
static trine_status use_krylov_memory(struct world *w, int variant)
{
    trine_memory memory;
    (void)variant;
    return trine_krylov_memory(w->ctx, w->spmv_op, 2, w->op, NULL, &memory);
}
static trine_status use_krylov_create(struct world *w, int variant)
{
    trine_krylov plan;
    const trine_status status =
        trine_krylov_create(w->ctx, &plan, w->spmv_op, w->op[2],
                            &(trine_krylov_options){.method = (trine_krylov_method)(variant + 1),
                                                    .inner = variant > 2 ? TRINE_S : TRINE_D});
    MADE(plan, trine_krylov_destroy);
}
static trine_status use_krylov_create_alternating(struct world *w, int variant)
{
    (void)variant;
    trine_krylov plan;
    const trine_status status = trine_krylov_create_alternating(w->ctx, &plan, w->spmv_op, 3, w->op, NULL);
    MADE(plan, trine_krylov_destroy);
}
static trine_status use_krylov_work(struct world *w, int variant)
{
    (void)variant;
    trine_work work;
    double y[N];
    const trine_status status = trine_krylov_work(w->krylov, 1, NULL, NULL, &work);
    if (!status)
        OK(trine_krylov_solve(w->krylov, (trine_dense[]){column(w->b)}, (trine_dense[]){column(y)},
                              &(trine_exec){.work = work}));
    MADE(work, trine_work_destroy);
}
static trine_status use_krylov_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_krylov_as_op(w->krylov, &op);
    MADE(op, trine_op_destroy);
}

static trine_status use_triangular_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_triangular_as_op(w->triangular, &op);
    MADE(op, trine_op_destroy);
}
static trine_status use_supernodal_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_supernodal_as_op(w->supernodal, &op);
    MADE(op, trine_op_destroy);
}
static trine_status copy_vectors(void *user, trine_transpose op, const void *alpha, const trine_dense *X,
                                 const void *beta, const trine_dense *Y, const trine_exec *exec)
{
    (void)user, (void)op, (void)alpha, (void)beta, (void)exec;
    memcpy(Y->data, X->data, (size_t)X->rows * sizeof(double));
    return TRINE_SUCCESS;
}
static trine_status use_op_from_callback(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_from_callback(
        w->ctx, &op, &(trine_op_info){.dtype = TRINE_D, .rows = N, .cols = N}, copy_vectors, NULL, NULL);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_product(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_product(w->ctx, &op, 3, w->op);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_sum(struct world *w, int variant)
{
    trine_op op;
    const trine_status status = trine_op_sum(w->ctx, &op, 3, w->op, variant ? (double[]){1, 2, 3} : NULL);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_diagonal(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_diagonal(w->ctx, &op, TRINE_D, N, w->b);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_identity(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_identity(w->ctx, &op, TRINE_D, N);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_transpose(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_transpose(w->op[1], &op, TRINE_T);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_cast(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_op_cast(w->op[2], &op, TRINE_S);
    MADE(op, trine_op_destroy);
}
static trine_status use_op_work(struct world *w, int variant)
{
    trine_work work;
    size_t bytes;
    const trine_status status = trine_op_work(w->op[2], 1 + 2 * variant, NULL, &bytes, &work);
    MADE(work, trine_work_destroy);
}
/** Without a work: the operator makes one that it keeps, so each time by a new operator. */
static trine_status use_op_apply(struct world *w, int variant)
{
    double y[N];
    trine_op op;
    trine_status status;
    if (variant) status = trine_op_product(w->ctx, &op, 2, (trine_op[]){w->op[2], w->op[0]});
    else status = trine_triangular_as_op(w->triangular, &op);
    if (!status)
        status =
            trine_op_apply(op, TRINE_N, NULL, (trine_dense[]){column(w->b)}, NULL, (trine_dense[]){column(y)}, NULL);
    if (!status && !variant) assert_close(y, w->x);
    OK(trine_op_destroy(&op));
    return status;
}

#ifdef TRINE_TEST_DIRECT
static trine_status use_factor_create(struct world *w, int variant)
{
    trine_factor F;
    const trine_matrix A = variant == 8 ? w->arrow : variant == 9 ? w->indefinite : variant % 2 ? w->unsorted : w->A;
    const trine_status status = trine_factor_create(
        w->ctx, &F, A,
        &(trine_factor_options){.method = variant < 8     ? methods[variant % 4]
                                          : variant == 10 ? TRINE_DIRECT_LU_KLU
                                          : variant == 11 ? TRINE_DIRECT_LDL
                                                          : TRINE_DIRECT_AUTO,
                                .ordering = variant < 4 ? TRINE_ORDERING_AUTO : TRINE_ORDERING_METIS});
    MADE(F, trine_factor_destroy);
}
static trine_status use_factor_update(struct world *w, int variant)
{
    const trine_status status = trine_factor_update(w->factor[variant], w->A);
    trine_factor_info info;
    if (!status) OK(trine_factor_get_info(w->factor[variant], &info));
    return status;
}
static trine_status use_get_triangle(struct world *w, int variant)
{
    trine_matrix T;
    /* of those with panels; the others' triangles are there. Cholesky has no U */
    const trine_status status =
        trine_factor_get_triangle(w->factor[variant ? 2 : 0], variant == 2 ? TRINE_UPPER : TRINE_LOWER, &T);
    MADE(T, trine_matrix_destroy);
}
/** The panels of U^T are made once, so each time by a new factor. */
static trine_status use_get_panels(struct world *w, int variant)
{
    (void)variant;
    trine_factor F;
    trine_panels panels;
    FIRST(w, trine_factor_create(w->ctx, &F, w->A, &(trine_factor_options){.method = TRINE_DIRECT_LU}));
    const trine_status status = trine_factor_get_panels(F, TRINE_UPPER, &panels);
    if (status) OK(trine_factor_get_panels(F, TRINE_UPPER, &panels)); /* only the k-th fails */
    OK(trine_factor_destroy(&F));
    return status;
}
/** CHOLMOD's memory is not the context's. */
static trine_status use_factor_from_cholmod(struct world *w, int variant)
{
    trine_factor F;
    const int64_t fail_at = w->memory.fail_at, before = w->memory.calls;
    w->memory.fail_at = 0;
    cholmod_program f = cholmod_of(w->A, variant ? FOREIGN_LDL : FOREIGN_SUPERNODAL, variant);
    w->memory.fail_at = fail_at ? fail_at + w->memory.calls - before : 0;
    const trine_status status = trine_factor_from_cholmod(w->ctx, &F, f.L);
    cholmod_program_free(&f);
    MADE(F, trine_factor_destroy);
}
static trine_status use_factor_from_superlu(struct world *w, int variant)
{
    trine_factor F;
    const int64_t fail_at = w->memory.fail_at, before = w->memory.calls;
    w->memory.fail_at = 0;
    superlu_factor f = superlu_of(w->A, false);
    w->memory.fail_at = fail_at ? fail_at + w->memory.calls - before : 0;
    double ones[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    const trine_status status = trine_factor_from_superlu(w->ctx, &F, f.L, f.U, f.perm_r, f.perm_c,
                                                          variant ? ones : NULL, variant ? ones : NULL);
    superlu_factor_free(&f);
    MADE(F, trine_factor_destroy);
}
static void assert_direct(struct world *w, trine_direct plan)
{
    double x[N];
    const int64_t before = w->memory.calls;
    OK(trine_direct_solve(plan, TRINE_T, (trine_dense[]){column(w->b)}, (trine_dense[]){column(x)}, NULL));
    assert_int_equal(w->memory.calls, before);
    assert_close(x, w->y);
}
static trine_status use_direct_create(struct world *w, int variant)
{
    trine_direct plan;
    const trine_status status =
        trine_direct_create(w->ctx, &plan, w->A, (trine_direct_options[]){direct_options(variant)});
    if (!status) assert_direct(w, plan);
    MADE(plan, trine_direct_destroy);
}
static trine_status use_direct_create_from_factor(struct world *w, int variant)
{
    trine_direct plan;
    const trine_direct_options options = direct_options(variant);
    const trine_status status =
        trine_direct_create_from_factor(w->ctx, &plan, w->factor[variant == 4 ? 0 : variant], w->A, &options);
    if (!status) assert_direct(w, plan);
    MADE(plan, trine_direct_destroy);
}
static trine_status use_direct_update(struct world *w, int variant)
{
    const trine_status status = trine_direct_update(w->direct[variant], w->A);
    if (!status) assert_direct(w, w->direct[variant]);
    return status;
}
static trine_status use_direct_as_op(struct world *w, int variant)
{
    (void)variant;
    trine_op op;
    const trine_status status = trine_direct_as_op(w->direct[0], &op);
    MADE(op, trine_op_destroy);
}
/** Odd variants: in a buffer of the caller's. */
static trine_status use_direct_work(struct world *w, int variant)
{
    static _Alignas(256) char buffer[1 << 16];
    trine_work work;
    size_t bytes = sizeof buffer;
    double x[N];
    const trine_direct plan = w->direct[variant / 2];
    const trine_status status = trine_direct_work(plan, 1, variant % 2 ? buffer : NULL, &bytes, &work);
    if (!status) {
        const int64_t before = w->memory.calls;
        OK(trine_direct_solve(plan, TRINE_T, (trine_dense[]){column(w->b)}, (trine_dense[]){column(x)},
                              &(trine_exec){.work = work}));
        assert_int_equal(w->memory.calls, before);
        assert_close(x, w->y);
    }
    MADE(work, trine_work_destroy);
}
static trine_status use_direct_replace_factor(struct world *w, int variant)
{
    const trine_status status = trine_direct_replace_factor(w->direct[variant], w->factor[variant], w->A);
    if (!status) assert_direct(w, w->direct[variant]);
    return status;
}
#endif

static const struct {
    const char *name;
    trine_status (*use)(struct world *w, int variant);
    int variants;
    /* this variant and those behind it may do without what they cannot have: success though an allocation failed */
    int spared;
} allocating[] = {
    {"trine_alloc", use_alloc, 1, 1},
    {"trine_semiring_create", use_semiring, 1, 1},
    {"trine_semiring_builtin", use_builtin_semiring, 2, 2},
    {"trine_matrix_csr", use_csr, 1, 1},
    {"trine_matrix_csc", use_csc, 1, 1},
    {"trine_matrix_allocate", use_allocate, 1, 1},
    {"trine_matrix_copy", use_copy_of_matrix, 4, 4},
    {"trine_matrix_transpose", use_transpose, 2, 2},
    {"trine_matrix_expand", use_expand, 1, 1},
    {"trine_matrix_triangle", use_triangle, 2, 2},
    {"trine_matrix_permute", use_permute, 2, 2},
    {"trine_matrix_sort", use_sort, 2, 2},
    {"trine_matrix_norm", use_norm, 1, 1},
    {"trine_matrix_accuracy", use_accuracy, 1, 1},
    {"trine_estimate_condition", use_condition, 1, 1},
    {"trine_matrix_get_structure", use_structure, 2, 2},
    {"trine_matrix_read", use_read, 3, 3},
    {"trine_matrix_read_with", use_read_with, 3, 3},
    {"trine_matrix_write", use_write, 3, 3},
    {"trine_vectors_read", use_vectors_read, 2, 2},
    {"trine_vectors_read_with", use_vectors_read_with, 2, 2},
    {"trine_vectors_write", use_vectors_write, 2, 2},
    {"trine_matrix_gallery", use_gallery, 3, 3},
    {"trine_triangular_analyse", use_triangular_analyse, 6, 5},
    {"trine_triangular_work", use_triangular_work, 1, 1},
    {"trine_level_sets", use_level_sets, 1, 1},
    {"trine_panels_detect", use_panels_detect, 2, 2},
    {"trine_panels_from_partition", use_panels_from_partition, 2, 2},
    {"trine_supernodal_analyse", use_supernodal_analyse, 5, 5},
    {"trine_supernodal_memory", use_supernodal_memory, 5, 5},
    {"trine_supernodal_analyse_triangle", use_supernodal_analyse_triangle, 2, 2},
    {"trine_supernodal_analyse_batch", use_supernodal_analyse_batch, 5, 5},
    {"trine_supernodal_numeric", use_supernodal_numeric, 1, 1},
    {"trine_supernodal_numeric_batch", use_supernodal_numeric_batch, 1, 1},
    {"trine_supernodal_update", use_supernodal_update, 1, 1},
    {"trine_supernodal_work", use_supernodal_work, 2, 2},
    {"trine_tridiagonal_analyse", use_tridiagonal_analyse, 4, 4},
    {"trine_tridiagonal_memory", use_tridiagonal_memory, 2, 2},
    {"trine_tridiagonal_check", use_tridiagonal_check, 1, 1},
    {"trine_tridiagonal_work", use_tridiagonal_work, 2, 2},
    {"trine_tridiagonal_as_op", use_tridiagonal_as_op, 1, 1},
    {"trine_spmv_analyse", use_spmv_analyse, 4, 4},
    {"trine_spmv_work", use_spmv_work, 1, 1},
    {"trine_spmv_as_op", use_spmv_as_op, 1, 1},
    {"trine_krylov_create", use_krylov_create, 5, 5},
    {"trine_krylov_create_alternating", use_krylov_create_alternating, 1, 1},
    {"trine_krylov_memory", use_krylov_memory, 1, 1},
    {"trine_krylov_work", use_krylov_work, 1, 1},
    {"trine_krylov_as_op", use_krylov_as_op, 1, 1},
    {"trine_triangular_as_op", use_triangular_as_op, 1, 1},
    {"trine_supernodal_as_op", use_supernodal_as_op, 1, 1},
    {"trine_forest_create", use_forest_create, 4, 4},
    {"trine_forest_factor_sequential", use_forest_factor_sequential, 1, 1},
    {"trine_precond_analyse", use_precond_analyse, 6, 6},
    {"trine_precond_memory", use_precond_memory, 3, 3},
    {"trine_precond_numeric", use_precond_numeric, 2, 2}, /* of most methods it allocates nothing */
    {"trine_precond_work", use_precond_work, 1, 1},
    {"trine_precond_as_op", use_precond_as_op, 1, 1},
    {"trine_precond_part", use_precond_as_op, 2, 2},
    {"trine_precond_product", use_precond_product, 1, 1},
    {"trine_precond_diagnose", use_precond_diagnose, 1, 1},
    {"trine_op_from_callback", use_op_from_callback, 1, 1},
    {"trine_op_product", use_op_product, 1, 1},
    {"trine_op_sum", use_op_sum, 2, 2},
    {"trine_op_diagonal", use_op_diagonal, 1, 1},
    {"trine_op_identity", use_op_identity, 1, 1},
    {"trine_op_transpose", use_op_transpose, 1, 1},
    {"trine_op_cast", use_op_cast, 1, 1},
    {"trine_op_work", use_op_work, 2, 2},
    {"trine_op_apply", use_op_apply, 2, 2}, /* with a work it allocates nothing: test_operator_life */
#ifdef TRINE_TEST_DIRECT
    {"trine_factor_create", use_factor_create, 12, 12},
    {"trine_factor_update", use_factor_update, 4, 4},
    {"trine_factor_from_cholmod", use_factor_from_cholmod, 2, 2},
    {"trine_factor_from_superlu", use_factor_from_superlu, 2, 2},
    {"trine_factor_get_triangle", use_get_triangle, 3, 3},
    {"trine_factor_get_panels", use_get_panels, 1, 1},
    {"trine_direct_create", use_direct_create, 5, 4},
    {"trine_direct_create_from_factor", use_direct_create_from_factor, 5, 4},
    {"trine_direct_update", use_direct_update, 5, 4},
    {"trine_direct_replace_factor", use_direct_replace_factor, 4, 4},
    {"trine_direct_work", use_direct_work, 10, 10},
    {"trine_direct_as_op", use_direct_as_op, 1, 1},
#endif
};

static void every_allocation_of_every_function_may_fail(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(allocating); f++) {
        struct world w;
        open_world(&w);
        for (int variant = 0; variant < allocating[f].variants; variant++) {
            OK(allocating[f].use(&w, variant));
            const int64_t live = w.memory.live;
            OK(allocating[f].use(&w, variant));
            assert_int_equal(w.memory.live, live);
            bool reached = true;
            int64_t k = 0;
            while (reached) {
                w.memory.fail_at = w.memory.calls + ++k;
                const trine_status status = allocating[f].use(&w, variant);
                reached = w.memory.calls >= w.memory.fail_at;
                w.memory.fail_at = 0;
                const bool expected = status == (reached ? TRINE_ERR_MEMORY : TRINE_SUCCESS);
                if (!expected && (status || variant < allocating[f].spared))
                    fail_msg("%s, variant %d, allocation %d: %s (%s)", allocating[f].name, variant, (int)k,
                             trine_status_string(status), trine_last_error());
                if (status) assert_non_null(strstr(trine_last_error(), "memory"));
                OK(allocating[f].use(&w, variant)); /* what took part is usable still */
                if (w.memory.live != live)
                    fail_msg("%s, variant %d, allocation %d: %d blocks are left", allocating[f].name, variant, (int)k,
                             (int)(w.memory.live - live));
            }
            if (k == 1) fail_msg("%s, variant %d, allocates nothing", allocating[f].name, variant);
        }
        close_world(&w);
    }
}

/* ------------------------------------------------------------- what does not */

static void call_core(struct world *w)
{
    trine_context_info info;
    trine_build_info build;
    void *stream;
    double y[N];
    int saved;
    trine_last_error();
    trine_fail(TRINE_ERR_STATE, "%s", "a sentence");
    OK(trine_context_enter(w->ctx, &saved));
    OK(trine_context_leave(w->ctx, saved));
    trine_status_string(TRINE_ERR_MEMORY);
    trine_dtype_size(TRINE_Z);
    trine_dtype_eps(TRINE_Z);
    trine_get_build_info(&build);
    trine_wall_time();
    OK(trine_context_get_info(w->ctx, &info));
    OK(trine_context_set_log(w->ctx, NULL, NULL, 0));
    OK(trine_context_set_stream(w->ctx, NULL));
    OK(trine_context_get_stream(w->ctx, &stream));
    OK(trine_context_synchronize(w->ctx));
    OK(trine_copy(w->ctx, y, TRINE_HOST, w->b, TRINE_HOST, sizeof y));
    trine_free(w->ctx, TRINE_HOST, NULL);
    OK(trine_work_destroy(NULL));
    OK(trine_context_destroy(NULL));
    OK(trine_context_destroy((trine_context[]){NULL}));
}

static void call_semiring(struct world *w)
{
    int y[N];
    assert_non_null(trine_semiring_name(0));
    OK(trine_context_set_kernel_cache(w->ctx, "/tmp"));
    OK(trine_context_set_kernel_cache(w->ctx, NULL));
    OK(trine_spmv_apply_semiring(w->without_values, w->semiring, NULL, y, NULL, 0, -1, NULL));
    OK(trine_semiring_destroy(NULL));
}

static void call_matrix(struct world *w)
{
    trine_matrix_info info;
    const int64_t *offsets;
    double y[N];
    OK(trine_matrix_get_info(w->A, &info));
    OK(trine_matrix_get_arrays(w->A, &offsets, NULL, NULL));
    const void *given;
    int bits;
    OK(trine_matrix_get_offsets(w->A, &given, &bits));
    OK(trine_matrix_check(w->A, TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL));
    OK(trine_matrix_multiply(w->A, TRINE_N, NULL, w->b, NULL, y));
    OK(trine_matrix_multiply(w->A, TRINE_T, NULL, w->b, NULL, y));
    const trine_dense b = column(w->b), to = column(y);
    OK(trine_vectors_permute(w->ctx, TRINE_D, NULL, NULL, 0, &b, &to, NULL));
    OK(trine_vectors_permute_conjugate(w->ctx, TRINE_D, NULL, NULL, 0, &b, &to, NULL));
    assert_true(trine_gallery_entry(0, NULL, NULL, NULL));
    OK(trine_matrix_destroy(NULL));
}

static void call_triangular(struct world *w)
{
    trine_triangular_info info;
    double x[N];
    OK(trine_triangular_numeric(w->triangular, TRINE_HOST, w->L_values, NULL));
    OK(trine_triangular_check(w->triangular, NULL));
    OK(trine_triangular_solve(w->triangular, TRINE_N, NULL, (trine_dense[]){column(w->b)}, (trine_dense[]){column(x)},
                              NULL));
    assert_close(x, w->x);
    OK(trine_triangular_get_info(w->triangular, &info));
    trine_triangular_method_name(info.method);
    trine_triangular_prediction prediction;
    OK(trine_triangular_get_prediction(w->triangular, info.method, &prediction));
    trine_memory memory;
    OK(trine_triangular_memory(w->ctx, w->L, NULL, &memory));
    OK(trine_triangular_destroy(NULL));
}

static void call_tridiagonal(struct world *w)
{
    trine_tridiagonal_info info;
    double x[2 * N] = {0};
    memcpy(x, w->b, sizeof w->b);
    const trine_dense columns = {x, N, 1, N, TRINE_COLMAJOR}, rows = {x, N, 1, 2, TRINE_ROWMAJOR};
    OK(trine_tridiagonal_numeric(w->tridiagonal, TRINE_HOST, w->A_values, NULL));
    OK(trine_tridiagonal_solve(w->tridiagonal, TRINE_N, NULL, &columns, &columns, NULL));
    OK(trine_tridiagonal_solve(w->tridiagonal, TRINE_T, &(double){2}, &rows, &rows, NULL));
    OK(trine_tridiagonal_get_info(w->tridiagonal, &info));
    OK(trine_tridiagonal_destroy(NULL));
}

static void call_precond(struct world *w)
{
    double a[N], b[N], c[N], T[N], x[N];
    int32_t permutation[N];
    trine_precond_info info;
    OK(trine_precond_numeric(w->precond, TRINE_HOST, w->A_values, TRINE_REUSE_NOTHING, NULL));
    OK(trine_precond_check(w->precond, NULL));
    OK(trine_precond_apply(w->precond, TRINE_N, NULL, (trine_dense[]){column(w->b)}, (trine_dense[]){column(x)}, NULL));
    OK(trine_precond_get_factor(w->precond, 0, a, b, c, permutation));
    OK(trine_precond_get_diagonal(w->precond, T));
    FAILS(TRINE_ERR_UNSUPPORTED, "mos-d", trine_precond_get_triangles(w->precond, NULL, NULL, NULL, NULL));
    OK(trine_precond_get_info(w->precond, &info));
    trine_precond_method_name(info.method);
    OK(trine_precond_destroy(NULL));
}

static void call_forest(struct world *w)
{
    double a[4 * N], b[4 * N], c[4 * N];
    int32_t neighbours[2 * N], permutation[2 * N];
    trine_forest coarse;
    trine_forest_coverage coverage;
    trine_forest_arrays arrays;
    trine_forest_result result;
    trine_forest_info info;
    trine_memory memory;
    OK(trine_forest_memory(w->ctx, w->A, &(trine_forest_options){.blocks = 1}, &memory));
    OK(trine_forest_set_weights(w->forest, TRINE_HOST, w->A_values, NULL));
    OK(trine_forest_check(w->forest, NULL));
    OK(trine_forest_factor(w->forest, NULL, NULL));
    OK(trine_forest_break_cycles(w->forest, NULL));
    OK(trine_forest_order(w->forest, NULL));
    OK(trine_forest_run(w->forest, TRINE_HOST, w->A_values, NULL, NULL));
    OK(trine_forest_extract(w->forest, TRINE_HOST, w->A_values, a, b, c, NULL));
    OK(trine_forest_improve(w->forest, 1, NULL));
    OK(trine_forest_scale(w->forest, 0.5, NULL));
    OK(trine_forest_get_coverage(w->forest, TRINE_HOST, w->A_values, &coverage, NULL));
    OK(trine_forest_get_result(w->forest, &result, NULL));
    OK(trine_forest_get_arrays(w->forest, &arrays));
    memcpy(neighbours, arrays.neighbours, sizeof neighbours);
    OK(trine_forest_set_factor(w->forest, 2, neighbours, NULL, NULL));
    OK(trine_forest_decompose(w->forest, TRINE_HOST, w->A_values, NULL,
                              &(trine_forest_decomposition){.count = 2, .permutation = permutation}, NULL));
    OK(trine_forest_factor(w->forest, &(trine_factor_rounds){.n = 1}, NULL));
    OK(trine_forest_coarsen(w->forest, &coarse, NULL));
    OK(trine_forest_run(coarse, TRINE_HOST, NULL, NULL, NULL));
    OK(trine_forest_extract_blocks(w->forest, TRINE_HOST, w->A_values, a, b, c, permutation, NULL));
    OK(trine_forest_get_info(w->forest, &info));
    trine_ranking_name(info.ranking);
    OK(trine_forest_destroy(&coarse));
    OK(trine_forest_destroy(NULL));
}

static void call_supernodal(struct world *w)
{
    trine_supernodal_info info;
    trine_supernodal_level levels[N];
    assert_supernodal(w, w->supernodal); /* check and solve */
    OK(trine_supernodal_get_info(w->supernodal, &info));
    OK(trine_supernodal_get_levels(w->supernodal, info.levels_merged, levels));
    OK(trine_supernodal_destroy(NULL));
    trine_panels_free(w->ctx, NULL);
}

static void call_spmv(struct world *w)
{
    trine_spmv_info info;
    trine_memory memory;
    double y[N], results[2];
    const trine_dense x = column(w->b), to = column(y);
    const trine_spmv_epilogue epilogue = {.dot = w->b, .norm = 1, .results = results};
    OK(trine_spmv_memory(w->ctx, w->A, NULL, &memory));
    OK(trine_spmv_numeric(w->spmv, TRINE_HOST, w->A_values, NULL));
    OK(trine_spmv_apply(w->spmv, TRINE_T, NULL, &x, NULL, &to, NULL));
    OK(trine_spmv_apply_rows(w->spmv, 3, 9, NULL, &x, NULL, &to, NULL));
    OK(trine_spmv_apply_fused(w->spmv, TRINE_N, NULL, &x, NULL, &to, &epilogue, NULL));
    OK(trine_spmv_get_info(w->spmv, &info));
    trine_spmv_method_name(info.method);
    trine_spmv_reduction_name(info.reduction);
    FAILS(TRINE_ERR_UNSUPPORTED, NULL, trine_spmv_tune(w->spmv, NULL, w->b, y, NULL, NULL));
    FAILS(TRINE_ERR_IO, "cannot be opened", trine_context_load_tuning(w->ctx, "no/such/file"));
    OK(trine_spmv_destroy(NULL));
}

static trine_status watch_nothing(void *user, int64_t rhs, int64_t step, double residual)
{
    (void)user, (void)rhs, (void)step, (void)residual;
    return TRINE_SUCCESS;
}

static void call_krylov(struct world *w)
{
    trine_krylov_info info;
    trine_krylov_result result;
    double y[N], residuals[4];
    int64_t count;
    const trine_dense b = column(w->b), x = column(y);
    OK(trine_krylov_set_monitor(w->krylov, watch_nothing, NULL));
    OK(trine_krylov_set_reference(w->krylov, &b));
    OK(trine_krylov_solve(w->krylov, &b, &x, NULL));
    OK(trine_krylov_get_result(w->krylov, 0, &result, NULL));
    OK(trine_krylov_get_history(w->krylov, 0, residuals, NULL, &count, NULL));
    OK(trine_krylov_get_info(w->krylov, &info));
    trine_krylov_method_name(info.method);
    trine_krylov_outcome_name(result.outcome);
    OK(trine_krylov_destroy(NULL));
}

static void call_operator(struct world *w)
{
    trine_op_info info;
    OK(trine_op_get_info(w->op[2], &info));
    OK(trine_op_destroy(NULL));
    OK(trine_op_destroy((trine_op[]){NULL}));
}

#ifdef TRINE_TEST_DIRECT
static void call_direct(struct world *w)
{
    trine_factor_info factor;
    trine_direct_info info;
    const int32_t *permutation;
    trine_direct_method_name(TRINE_DIRECT_LU);
    trine_ordering_name(TRINE_ORDERING_AMD);
    OK(trine_factor_get_info(w->factor[2], &factor));
    OK(trine_factor_get_permutations(w->factor[2], &permutation, NULL, NULL, NULL));
    for (int m = 0; m < 5; m++) {
        assert_direct(w, w->direct[m]); /* solve */
        OK(trine_direct_get_info(w->direct[m], &info));
        OK(trine_direct_get_permutations(w->direct[m], &permutation, NULL, NULL, NULL));
    }
    OK(trine_direct_destroy(NULL));
    OK(trine_factor_destroy(NULL));
}
#endif

/** Functions that allocate nothing on the host, and a call of them all. Without a context there is no allocator to
 *  ask: that their sources do not go to the C library instead is what the test allocation_symbols sees to. */
static const struct {
    void (*call)(struct world *w);
    const char *names[64];
} without[] = {
    {call_core,
     {"trine_status_string",
      "trine_last_error",
      "trine_fail",
      "trine_context_enter",
      "trine_context_leave",
      "trine_dtype_size",
      "trine_dtype_eps",
      "trine_context_destroy",
      "trine_context_get_info",
      "trine_get_build_info",
      "trine_context_set_log",
      "trine_context_set_allocator",
      "trine_context_set_stream",
      "trine_context_get_stream",
      "trine_context_synchronize",
      "trine_free",
      "trine_copy",
      "trine_wall_time",
      "trine_work_destroy",
      "trine_context_create" /* the handle itself comes from the C library: it is what holds the allocator */}},
    {call_matrix,
     {"trine_matrix_destroy", "trine_matrix_get_info", "trine_matrix_get_arrays", "trine_matrix_get_offsets",
      "trine_matrix_check", "trine_matrix_multiply", "trine_vectors_permute", "trine_vectors_permute_conjugate",
      "trine_gallery_entry"}},
    {call_triangular,
     {"trine_triangular_numeric", "trine_triangular_check", "trine_triangular_solve", "trine_triangular_get_info",
      "trine_triangular_get_prediction", "trine_triangular_method_name",
      "trine_triangular_memory" /* of a pattern on the host */, "trine_triangular_destroy"}},
    {call_tridiagonal,
     {"trine_tridiagonal_numeric", "trine_tridiagonal_solve", "trine_tridiagonal_get_info",
      "trine_tridiagonal_destroy"}},
    {call_precond,
     {"trine_precond_check", "trine_precond_apply", "trine_precond_get_factor", "trine_precond_get_diagonal",
      "trine_precond_get_triangles", "trine_precond_get_info", "trine_precond_method_name", "trine_precond_destroy"}},
    {call_forest, {"trine_forest_memory",     "trine_forest_set_weights", "trine_forest_check",
                   "trine_forest_factor",     "trine_forest_set_factor",  "trine_forest_break_cycles",
                   "trine_forest_order",      "trine_forest_run",         "trine_forest_improve",
                   "trine_forest_extract",    "trine_forest_coarsen",     "trine_forest_extract_blocks",
                   "trine_forest_scale",      "trine_forest_decompose",   "trine_forest_get_coverage",
                   "trine_forest_get_arrays", "trine_forest_get_result",  "trine_forest_get_info",
                   "trine_ranking_name",      "trine_forest_destroy"}},
    {call_supernodal,
     {"trine_supernodal_check", "trine_supernodal_solve", "trine_supernodal_get_info", "trine_supernodal_get_levels",
      "trine_supernodal_destroy", "trine_panels_free"}},
    {call_spmv,
     {"trine_spmv_memory", "trine_spmv_numeric", "trine_spmv_apply", "trine_spmv_apply_rows", "trine_spmv_apply_fused",
      "trine_spmv_get_info", "trine_spmv_method_name", "trine_spmv_reduction_name", "trine_spmv_tune",
      "trine_context_load_tuning", "trine_spmv_destroy"}},
    {call_krylov,
     {"trine_krylov_set_monitor", "trine_krylov_set_reference", "trine_krylov_solve", "trine_krylov_get_result",
      "trine_krylov_get_history", "trine_krylov_get_info", "trine_krylov_method_name", "trine_krylov_outcome_name",
      "trine_krylov_destroy"}},
    {call_operator, {"trine_op_get_info", "trine_op_destroy"}},
#ifdef TRINE_TEST_DIRECT
    {call_direct,
     {"trine_direct_method_name", "trine_ordering_name", "trine_factor_get_info", "trine_factor_get_permutations",
      "trine_factor_destroy", "trine_direct_solve", "trine_direct_get_info", "trine_direct_get_permutations",
      "trine_direct_destroy"}},
#endif
    {call_semiring,
     {"trine_semiring_name", "trine_semiring_destroy",
      "trine_context_set_kernel_cache" /* the name is the context's, which holds the allocator */,
      "trine_spmv_apply_semiring"}},
    {NULL, /* no context */
     {"trine_gtsv_work_size", "trine_gtsv", "trine_bgtsv_work_size", "trine_bgtsv", "trine_bgtf_size", "trine_bgtf",
      "trine_bgtfs_work_size", "trine_bgtfs", "trine_gbsv_work_size", "trine_gbsv", "trine_gtsv_backward_error",
      "trine_bgtsv_backward_error", "trine_gbsv_backward_error", "trine_gtsv_batch_work_size", "trine_gtsv_batch",
      "trine_gtsv_csc2dense_work_size", "trine_gtsv_csc2dense", "trine_gtsv_csc2csc_work_size", "trine_gtsv_csc2csc"}},
    {NULL, /* tridigpu.h: no context */
     {"tridigpu##t##gtsv_bufferSizeExt", "tridigpu##t##gtsv", "tridigpu##t##cgtsv_bufferSizeExt", "tridigpu##t##cgtsv",
      "tridigpu##t##bgtsv_bufferSizeExt", "tridigpu##t##bgtsv", "tridigpu##t##cbgtsv_bufferSizeExt",
      "tridigpu##t##cbgtsv", "tridigpu##t##bgtf_factorizationBufferSizeExt", "tridigpu##t##bgtf",
      "tridigpu##t##bgtfs_bufferSizeExt", "tridigpu##t##bgtfs", "tridigpu##t##bgtrfs_bufferSizeExt",
      "tridigpu##t##bgtrfs", "tridigpu##t##gbsv_bufferSizeExt", "tridigpu##t##gbsv",
      "tridigpu##t##gtsv_csc2dense_bufferSizeExt", "tridigpu##t##gtsv_csc2dense", "tridigpu##t##gtsv_csc2csc"}},
};

static void what_is_said_to_allocate_nothing_does_not(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (size_t g = 0; g < COUNT(without); g++) {
        if (!without[g].call) continue;
        const int64_t before = w.memory.calls;
        without[g].call(&w);
        if (w.memory.calls != before) fail_msg("one of %s, ... allocated", without[g].names[0]);
    }
    close_world(&w);
}

/* --------------------------------------------------- more than any memory holds */

/** Room for absurd numbers of right-hand sides: refused with a sentence, or not needed; no size wraps around. */
static void absurd_numbers_of_right_hand_sides_are_refused(void **state)
{
    (void)state;
    static const int64_t counts[] = {
        INT64_MAX,        INT64_MAX - 1,         INT64_MAX / 8,
        INT64_MAX / N,    INT64_MAX / N / 8,     INT64_MAX / N / 16 + 1,
        INT64_C(1) << 40, UINT64_MAX / N / 8 + 1 /* times N and 8, it wraps around to little */};
    struct world w;
    open_world(&w);
    const int64_t live = w.memory.live;
    for (size_t i = 0; i < COUNT(counts); i++) {
        const bool always = counts[i] > INT64_C(1) << 50;
        trine_triangular triangular;
        trine_supernodal supernodal;
        trine_tridiagonal tridiagonal;
        trine_work work = NULL;
        size_t bytes;
        trine_status status[24];
        int calls = 0;
        for (int variant = 0; variant < 4; variant++) {
            static const trine_triangular_method triangular_methods[] = {
                TRINE_TRI_AUTO, TRINE_TRI_SERIAL, TRINE_TRI_LEVELSET, TRINE_TRI_PARTITIONED_INVERSE};
            status[calls++] = trine_triangular_analyse(
                w.ctx, &triangular, w.L,
                &(trine_triangular_options){
                    .uplo = TRINE_LOWER, .method = triangular_methods[variant], .max_nrhs = counts[i]});
            OK(trine_triangular_destroy(&triangular));
            status[calls++] = trine_supernodal_analyse(
                w.ctx, &supernodal, &w.panels,
                &(trine_supernodal_options){.single = variant == 1,
                                            .variant = variant == 2 ? TRINE_VARIANT_TEAM : TRINE_VARIANT_AUTO,
                                            .max_nrhs = counts[i]});
            OK(trine_supernodal_destroy(&supernodal));
        }
        status[calls++] = trine_supernodal_analyse_batch(w.ctx, &supernodal, &w.panels, 1,
                                                         &(trine_supernodal_options){.max_nrhs = counts[i]});
        OK(trine_supernodal_destroy(&supernodal));
        status[calls++] = trine_triangular_work(w.triangular, counts[i], NULL, &bytes, NULL);
        status[calls++] = trine_triangular_work(w.triangular, counts[i], NULL, &bytes, &work);
        OK(trine_work_destroy(&work));
        status[calls++] = trine_supernodal_work(w.supernodal, counts[i], NULL, &bytes, NULL);
        status[calls++] = trine_supernodal_work(w.supernodal, counts[i], NULL, &bytes, &work);
        OK(trine_work_destroy(&work));
        status[calls++] =
            trine_tridiagonal_analyse(w.ctx, &tridiagonal, w.A, &(trine_tridiagonal_options){.max_nrhs = counts[i]});
        OK(trine_tridiagonal_destroy(&tridiagonal));
        status[calls++] = trine_tridiagonal_work(w.tridiagonal, counts[i], NULL, &bytes, NULL);
        status[calls++] = trine_tridiagonal_work(w.tridiagonal, counts[i], NULL, &bytes, &work);
        OK(trine_work_destroy(&work));
        status[calls++] = trine_op_work(w.op[2], counts[i], NULL, &bytes, NULL);
        status[calls++] = trine_op_work(w.op[2], counts[i], NULL, &bytes, &work);
        OK(trine_work_destroy(&work));
#ifdef TRINE_TEST_DIRECT
        trine_direct direct;
        status[calls++] =
            trine_direct_create(w.ctx, &direct, w.A, &(trine_direct_options){.triangular.max_nrhs = counts[i]});
        OK(trine_direct_destroy(&direct));
        status[calls++] = trine_direct_create_from_factor(w.ctx, &direct, w.factor[0], w.A,
                                                          &(trine_direct_options){.triangular.max_nrhs = counts[i]});
        OK(trine_direct_destroy(&direct));
        status[calls++] = trine_direct_work(w.direct[0], counts[i], NULL, &bytes, NULL);
        status[calls++] = trine_direct_work(w.direct[1], counts[i], NULL, NULL, &work);
        OK(trine_work_destroy(&work));
        assert_non_null(strstr(trine_last_error(), "memory")); /* they need their vectors whatever the method */
#endif
        for (int c = 0; c < calls; c++)
            if (status[c] != TRINE_ERR_MEMORY && (always || status[c]))
                fail_msg("call %d with %lld: %s", c, (long long)counts[i], trine_status_string(status[c]));
        assert_int_equal(w.memory.live, live);
    }
    close_world(&w);
}

/* ------------------------------------------------------------ what works keep */

/** A work that outlives its plan's handle holds on to all of the plan, whose memory a second plan then cannot be
 *  given. */
static void a_work_keeps_its_plan_alive(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const int64_t none = w.memory.live;
    double x[N];
    trine_work work;
    size_t bytes;
    for (int which = 0; which < 2; which++) {
        trine_triangular triangular = NULL, second = NULL;
        trine_supernodal supernodal = NULL;
        if (which) {
            OK(trine_supernodal_analyse(w.ctx, &supernodal, &w.panels, NULL));
            OK(trine_supernodal_work(supernodal, 1, NULL, &bytes, &work));
        } else {
            OK(trine_triangular_analyse(w.ctx, &triangular, w.L,
                                        &(trine_triangular_options){.method = TRINE_TRI_SERIAL}));
            OK(trine_triangular_work(triangular, 1, NULL, &bytes, &work));
        }
        const int64_t all = w.memory.live;
        assert_true(all > none);
        OK(trine_triangular_destroy(&triangular));
        OK(trine_supernodal_destroy(&supernodal));
        assert_int_equal(w.memory.live, all);
        /* its solves need a buffer that the serial plan's work has not */
        OK(trine_triangular_analyse(w.ctx, &second, w.L, &tasks));
        OK(trine_triangular_numeric(second, TRINE_HOST, NULL, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "another plan",
              trine_triangular_solve(second, TRINE_N, NULL, (trine_dense[]){column(w.b)}, (trine_dense[]){column(x)},
                                     &(trine_exec){.work = work}));
        OK(trine_triangular_destroy(&second));
        OK(trine_work_destroy(&work));
        assert_int_equal(w.memory.live, none);
    }
    close_world(&w);
}

/* ------------------------------------------------------------------ the headers */

static int times_listed(const char *name)
{
    int times = 0;
    for (size_t f = 0; f < COUNT(allocating); f++) times += !strcmp(allocating[f].name, name);
    for (size_t g = 0; g < COUNT(without); g++)
        for (size_t i = 0; without[g].names[i]; i++) times += !strcmp(without[g].names[i], name);
    return times;
}

static int names_listed(void)
{
    int count = (int)COUNT(allocating);
    for (size_t g = 0; g < COUNT(without); g++)
        for (size_t i = 0; without[g].names[i]; i++) count++;
    return count;
}

static void is_listed(void *count, const char *name, const char *declaration)
{
    (void)declaration;
    ++*(int *)count;
    if (times_listed(name) != 1)
        fail_msg("%s is %d times in the lists of this test; it must be there once", name, times_listed(name));
}

static void every_public_function_is_listed_once(void **state)
{
    (void)state;
    int count = 0;
    visit_public_functions(is_listed, &count);
    assert_int_equal(count, names_listed()); /* no name that no header has */
    assert_true(count > 100);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}
static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(matrix_files); i++) unlink(file(matrix_files[i]));
    for (size_t i = 0; i < COUNT(vector_files); i++) unlink(file(vector_files[i]));
    return rmdir(folder); /* nothing else was left there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_function_is_listed_once),
        cmocka_unit_test(what_is_said_to_allocate_nothing_does_not),
        cmocka_unit_test(every_allocation_of_every_function_may_fail),
        cmocka_unit_test(absurd_numbers_of_right_hand_sides_are_refused),
        cmocka_unit_test(a_work_keeps_its_plan_alive),
    };
    return test_device_is_there() ? cmocka_run_group_tests_name("allocations", tests, make_folder, remove_folder) : 77;
}
