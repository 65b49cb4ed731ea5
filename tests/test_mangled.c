/* Matrices whose arrays are not what they should be, given to every public function that takes one: offsets that
 * fall, are negative or point beyond the entries, indices outside the matrix, arrays that were changed behind a
 * view's back. Each must say so with TRINE_ERR_STRUCTURE, before it reads or writes where it must not (arrays are as
 * long as they must be and no longer: the AddressSanitizer sees the rest). The headers say which functions there
 * are. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "header_support.h"
#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>
#endif

enum { N = 4, NNZ = 4 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/** What functions take beside the matrix; made from a sound one. */
struct world {
    trine_context ctx;
    double x[N], y[N];
    char path[64];
#ifdef TRINE_TEST_DIRECT
    trine_matrix sound;
    trine_factor factor;
    trine_direct direct;
#endif
};

/* Calls: the status of the function named, which must have set its output to NULL if it makes something. */

#define MAKES(name, call)                                     \
    static trine_status name(struct world *w, trine_matrix A) \
    {                                                         \
        (void)w;                                              \
        trine_matrix B = A;                                   \
        const trine_status status = call;                     \
        assert_null(B);                                       \
        return status;                                        \
    }
#define READS(name, call) static trine_status name(struct world *w, trine_matrix A) { (void)w; return call; }

READS(check, trine_matrix_check(A, 0))
MAKES(copy_to_csr, trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSR, TRINE_Z))
MAKES(copy_to_csc, trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, TRINE_Z))
MAKES(transpose, trine_matrix_transpose(A, &B, TRINE_T))
MAKES(expand, trine_matrix_expand(A, &B, TRINE_SYMMETRIC))
MAKES(triangle, trine_matrix_triangle(A, &B, TRINE_LOWER, TRINE_NONUNIT, 1))
MAKES(permute, trine_matrix_permute(A, &B, (const int32_t[]){3, 2, 1, 0}, NULL))
MAKES(sort, trine_matrix_sort(A, &B, 1))
READS(norm, trine_matrix_norm(A, TRINE_NORM_INF, (double[1]){0}))
READS(norm_one, trine_matrix_norm(A, TRINE_NORM_ONE, (double[1]){0}))
READS(multiply, trine_matrix_multiply(A, TRINE_N, NULL, w->x, NULL, w->y))
READS(multiply_transposed, trine_matrix_multiply(A, TRINE_T, NULL, w->x, NULL, w->y))
READS(accuracy, trine_matrix_accuracy(A, 1, w->x, w->x, w->y, (trine_accuracy[1]){{0}}))
static trine_status no_solve(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    (void)user, (void)op, (void)B, (void)X;
    return TRINE_ERR_STATE;
}
READS(condition, trine_estimate_condition(w->ctx, A, no_solve, NULL, (trine_condition[1]){{0}}))
READS(structure, trine_matrix_get_structure(A, (trine_matrix_structure[1]){{0}}))
READS(write_file, trine_matrix_write(A, w->path, TRINE_GENERAL))

static trine_status create_forest(struct world *w, trine_matrix A)
{
    trine_forest forest = (trine_forest)w;
    const trine_status status = trine_forest_create(w->ctx, &forest, A, NULL);
    assert_null(forest);
    return status;
}
static trine_status precondition(struct world *w, trine_matrix A, trine_precond_method method)
{
    trine_precond plan = (trine_precond)w;
    const trine_precond_options options = {.method = method};
    const trine_status status = trine_precond_analyse(w->ctx, &plan, A, &options);
    assert_null(plan);
    return status;
}
static trine_status memory_of_factors(struct world *w, trine_matrix A)
{
    trine_memory told;
    return trine_precond_memory(w->ctx, A, &(trine_precond_options){.method = TRINE_PRECOND_ILU0}, &told);
}
static trine_status precondition_by_diagonal(struct world *w, trine_matrix A)
{
    return precondition(w, A, TRINE_PRECOND_L1);
}
static trine_status precondition_by_forests(struct world *w, trine_matrix A)
{
    return precondition(w, A, TRINE_PRECOND_MOS_A);
}
static trine_status precondition_by_factors(struct world *w, trine_matrix A)
{
    return precondition(w, A, TRINE_PRECOND_ILUK);
}
static trine_status analyse_with(struct world *w, trine_matrix A, const trine_triangular_options *options)
{
    trine_triangular plan = (trine_triangular)w;
    const trine_status status = trine_triangular_analyse(w->ctx, &plan, A, options);
    assert_null(plan);
    return status;
}
READS(analyse, analyse_with(w, A, NULL))
READS(analyse_lower, analyse_with(w, A, &(trine_triangular_options){.uplo = TRINE_LOWER, .ops = TRINE_N | TRINE_T}))
READS(analyse_unit,
      analyse_with(w, A,
                   &(trine_triangular_options){.uplo = TRINE_UPPER, .diag = TRINE_UNIT, .method = TRINE_TRI_LEVELSET}))

READS(memory,
      trine_triangular_memory(w->ctx, A, &(trine_triangular_options){.uplo = TRINE_LOWER}, (trine_memory[1]){{0}}))
READS(memory_of_upper,
      trine_triangular_memory(w->ctx, A, &(trine_triangular_options){.uplo = TRINE_UPPER}, (trine_memory[1]){{0}}))
READS(memory_of_bands, trine_tridiagonal_memory(w->ctx, A, NULL, (trine_memory[1]){{0}}))

static trine_status level_sets_of(struct world *w, trine_matrix A, trine_uplo uplo)
{
    int64_t levels, offsets[N + 1];
    int32_t rows[N], level_of[N];
    return trine_level_sets(w->ctx, A, uplo, &levels, offsets, rows, level_of);
}
READS(lower_levels, level_sets_of(w, A, TRINE_LOWER))
READS(upper_levels, level_sets_of(w, A, TRINE_UPPER))

static trine_status detect_with(struct world *w, trine_matrix A, trine_uplo uplo)
{
    trine_panels panels;
    const trine_status status =
        trine_panels_detect(w->ctx, A, &(trine_panels_options){.uplo = uplo, .diag = TRINE_UNIT}, &panels);
    assert_null(panels.values);
    return status;
}
READS(detect, detect_with(w, A, TRINE_UPLO_AUTO))
READS(detect_lower, detect_with(w, A, TRINE_LOWER))
READS(detect_upper, detect_with(w, A, TRINE_UPPER))

static const int32_t partition[] = {0, 1, N};
static trine_status partition_with(struct world *w, trine_matrix A, trine_uplo uplo)
{
    trine_panels panels;
    const trine_status status = trine_panels_from_partition(
        w->ctx, A, 2, partition, &(trine_panels_options){.uplo = uplo, .diag = TRINE_UNIT}, &panels);
    assert_null(panels.values);
    return status;
}
READS(partition_auto, partition_with(w, A, TRINE_UPLO_AUTO))
READS(partition_lower, partition_with(w, A, TRINE_LOWER))
READS(partition_upper, partition_with(w, A, TRINE_UPPER))

static trine_status analyse_panels_with(struct world *w, trine_matrix A, trine_uplo uplo)
{
    trine_supernodal plan = (trine_supernodal)w;
    const trine_status status = trine_supernodal_analyse_triangle(
        w->ctx, &plan, A, 2, partition, &(trine_panels_options){.uplo = uplo, .diag = TRINE_UNIT}, NULL);
    assert_null(plan);
    return status;
}
READS(analyse_panels, analyse_panels_with(w, A, TRINE_UPLO_AUTO))
READS(analyse_lower_panels, analyse_panels_with(w, A, TRINE_LOWER))
READS(analyse_upper_panels, analyse_panels_with(w, A, TRINE_UPPER))

static trine_status analyse_bands_with(struct world *w, trine_matrix A, trine_bands bands)
{
    trine_tridiagonal plan = (trine_tridiagonal)w;
    const trine_status status =
        trine_tridiagonal_analyse(w->ctx, &plan, A, &(trine_tridiagonal_options){.bands = bands});
    assert_null(plan);
    return status;
}
READS(analyse_bands, analyse_bands_with(w, A, TRINE_BANDS_AUTO))
READS(analyse_tridiagonal, analyse_bands_with(w, A, TRINE_BANDS_TRIDIAGONAL))
READS(analyse_blocks, analyse_bands_with(w, A, TRINE_BANDS_BLOCKS))

static trine_status analyse_product(struct world *w, trine_matrix A, unsigned ops, int check)
{
    trine_spmv plan = (trine_spmv)w;
    const trine_status status = trine_spmv_analyse(w->ctx, &plan, A, &(trine_spmv_options){.ops = ops, .check = check});
    assert_null(plan);
    return status;
}
READS(product, analyse_product(w, A, TRINE_N, 1))
READS(product_transposed, analyse_product(w, A, TRINE_T, 1))
READS(product_of_an_index, analyse_product(w, A, TRINE_N | TRINE_T, 0)) /* which is made of checked arrays alone */

#ifdef TRINE_TEST_DIRECT
static trine_status create_factor(struct world *w, trine_matrix A)
{
    trine_factor F = w->factor;
    const trine_status status = trine_factor_create(w->ctx, &F, A, NULL);
    assert_null(F);
    return status;
}
READS(update_factor, trine_factor_update(w->factor, A))
static trine_status create_direct(struct world *w, trine_matrix A)
{
    trine_direct plan = w->direct;
    const trine_status status = trine_direct_create(w->ctx, &plan, A, NULL);
    assert_null(plan);
    return status;
}
static trine_status create_from_factor(struct world *w, trine_matrix A)
{
    trine_direct plan = w->direct;
    const trine_status status =
        trine_direct_create_from_factor(w->ctx, &plan, w->factor, A, &(trine_direct_options){.refine = 1});
    assert_null(plan);
    return status;
}
READS(update_direct, trine_direct_update(w->direct, A))
READS(replace_factor, trine_direct_replace_factor(w->direct, w->factor, A))
#endif

static const struct {
    const char *name;
    trine_status (*calls[3])(struct world *w, trine_matrix A); /* none: reads no entries */
} functions[] = {
    {"trine_matrix_get_info", {NULL}},
    {"trine_matrix_get_arrays", {NULL}},
    {"trine_matrix_get_offsets", {NULL}},
    {"trine_matrix_check", {check}},
    {"trine_matrix_copy", {copy_to_csr, copy_to_csc}}, /* in the same format and type the arrays are copied as they
                                                          are */
    {"trine_matrix_transpose", {transpose}},
    {"trine_matrix_expand", {expand}},
    {"trine_matrix_triangle", {triangle}},
    {"trine_matrix_permute", {permute}},
    {"trine_matrix_sort", {sort}},
    {"trine_matrix_norm", {norm, norm_one}},
    {"trine_matrix_multiply", {multiply, multiply_transposed}},
    {"trine_matrix_accuracy", {accuracy}},
    {"trine_estimate_condition", {condition}},
    {"trine_matrix_get_structure", {structure}},
    {"trine_matrix_write", {write_file}},
    {"trine_triangular_analyse", {analyse, analyse_lower, analyse_unit}},
    {"trine_triangular_memory", {memory, memory_of_upper}},
    {"trine_tridiagonal_memory", {memory_of_bands}},
    {"trine_level_sets", {lower_levels, upper_levels}},
    {"trine_panels_detect", {detect, detect_lower, detect_upper}},
    {"trine_panels_from_partition", {partition_auto, partition_lower, partition_upper}},
    {"trine_tridiagonal_analyse", {analyse_bands, analyse_tridiagonal, analyse_blocks}},
    {"trine_forest_create", {create_forest}},
    {"trine_forest_memory", {NULL}},
    {"trine_precond_analyse", {precondition_by_diagonal, precondition_by_forests, precondition_by_factors}},
    {"trine_precond_memory", {memory_of_factors}},
    {"trine_supernodal_analyse_triangle", {analyse_panels, analyse_lower_panels, analyse_upper_panels}},
    {"trine_spmv_analyse", {product, product_transposed, product_of_an_index}},
    {"trine_spmv_memory", {NULL}},
#ifdef TRINE_TEST_DIRECT
    {"trine_factor_create", {create_factor}},
    {"trine_factor_update", {update_factor}},
    {"trine_direct_create", {create_direct}},
    {"trine_direct_create_from_factor", {create_from_factor}},
    {"trine_direct_update", {update_direct}},
    {"trine_direct_replace_factor", {replace_factor}},
#endif
};

/** The lower triangle of a chain, with one thing wrong. At view: the ends, which a view looks at, are right. */
static const struct {
    const char *what;
    int64_t offsets[N + 1];
    int32_t indices[NNZ];
} mangled[] = {
    {"offsets fall", {0, 3, 2, 3, 4}, {0, 0, 1, 2}},
    {"offsets fall at the end", {0, 1, 2, 9, 4}, {0, 0, 1, 2}},
    {"an offset is far beyond the entries", {0, INT64_C(1) << 40, INT64_C(1) << 40, 3, 4}, {0, 0, 1, 2}},
    {"an offset is huge", {0, INT64_MAX, 2, 3, 4}, {0, 0, 1, 2}},
    {"an offset is negative", {0, -5, 2, 3, 4}, {0, 0, 1, 2}},
    {"an offset is the smallest number", {0, INT64_MIN, 2, 3, 4}, {0, 0, 1, 2}},
    {"an index is too large by one", {0, 1, 2, 3, 4}, {0, 1, N, 3}},
    {"an index is huge", {0, 1, 2, 3, 4}, {0, 1, 2, INT_MAX}},
    {"an index is negative", {0, 1, 2, 3, 4}, {0, -1, 2, 3}},
    {"an index is the smallest number", {0, 1, 2, 3, 4}, {INT_MIN, 1, 2, 3}},
    {"offsets do not begin at 0", {1, 1, 2, 3, 4}, {0, 1, 2, 3}},
    {"offsets begin below 0", {-3, 1, 2, 3, 4}, {0, 1, 2, 3}},
    {"offsets end before the entries", {0, 1, 2, 3, 3}, {0, 1, 2, 3}},
    {"offsets end behind the entries", {0, 1, 2, 3, 400}, {0, 1, 2, 3}},
};

/** A view of arrays of their own, mangled after it was made; free_view takes them back. */
struct view {
    trine_matrix A;
    int64_t *offsets;
    int32_t *indices;
    double *values;
};
static struct view make_view(trine_context ctx, size_t wrong, bool columns)
{
    struct view v = {NULL, malloc(sizeof mangled[wrong].offsets), malloc(sizeof mangled[wrong].indices),
                     malloc(NNZ * sizeof(double))};
    memcpy(v.offsets, (int64_t[]){0, 1, 2, 3, 4}, (N + 1) * sizeof *v.offsets);
    memcpy(v.indices, (int32_t[]){0, 1, 2, 3}, NNZ * sizeof *v.indices);
    for (int k = 0; k < NNZ; k++) v.values[k] = k + 1;
    OK((columns ? trine_matrix_csc : trine_matrix_csr)(ctx, &v.A, TRINE_D, N, N, NNZ, TRINE_HOST, 64, v.offsets, 32,
                                                       v.indices, v.values));
    memcpy(v.offsets, mangled[wrong].offsets, sizeof mangled[wrong].offsets);
    memcpy(v.indices, mangled[wrong].indices, sizeof mangled[wrong].indices);
    return v;
}
static void free_view(struct view *v)
{
    OK(trine_matrix_destroy(&v->A));
    free(v->offsets);
    free(v->indices);
    free(v->values);
}

static struct world open_world(void)
{
    struct world w = {.x = {1, 1, 1, 1}};
    OK(trine_context_create(&w.ctx, "cpu:2"));
    snprintf(w.path, sizeof w.path, "/tmp/trine-mangled-%d.mtx", (int)getpid());
#ifdef TRINE_TEST_DIRECT
    OK(trine_matrix_gallery(w.ctx, &w.sound, "diagonal:n=4", TRINE_D));
    OK(trine_factor_create(w.ctx, &w.factor, w.sound, NULL));
    OK(trine_direct_create(w.ctx, &w.direct, w.sound, NULL));
#endif
    return w;
}
static void close_world(struct world *w)
{
    assert_int_equal(access(w->path, F_OK), -1); /* nothing was written */
#ifdef TRINE_TEST_DIRECT
    trine_factor_info info;
    OK(trine_factor_get_info(w->factor, &info)); /* an update that was refused changes nothing */
    OK(trine_direct_destroy(&w->direct));
    OK(trine_factor_destroy(&w->factor));
    OK(trine_matrix_destroy(&w->sound));
#endif
    OK(trine_context_destroy(&w->ctx));
}

static void mangled_matrices_are_refused_by_every_function(void **state)
{
    (void)state;
    struct world w = open_world();
    for (size_t wrong = 0; wrong < COUNT(mangled); wrong++)
        for (int columns = 0; columns < 2; columns++) {
            struct view v = make_view(w.ctx, wrong, columns);
            for (size_t f = 0; f < COUNT(functions); f++)
                for (int c = 0; c < 3 && functions[f].calls[c]; c++) {
                    const trine_status status = functions[f].calls[c](&w, v.A);
                    if (status != TRINE_ERR_STRUCTURE)
                        fail_msg("%s, call %d, %s, by %s: %s (%s)", functions[f].name, c, mangled[wrong].what,
                                 columns ? "columns" : "rows", trine_status_string(status), trine_last_error());
                }
            free_view(&v);
        }
    close_world(&w);
}

static void is_listed(void *count, const char *name, const char *declaration)
{
    const char *found = strstr(declaration, "trine_matrix ");
    while (found && found[13] == '*') found = strstr(found + 1, "trine_matrix "); /* an output */
    if (!found) return;
    ++*(int *)count;
    for (size_t f = 0; f < COUNT(functions); f++)
        if (!strcmp(functions[f].name, name)) return;
    fail_msg("%s takes a matrix and is not in the list of this test", name);
}

static void every_function_that_takes_a_matrix_is_listed(void **state)
{
    (void)state;
    int count = 0;
    visit_public_functions(is_listed, &count);
    assert_int_equal(count, COUNT(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_that_takes_a_matrix_is_listed),
        cmocka_unit_test(mangled_matrices_are_refused_by_every_function),
    };
    return TEST_MAIN(tests);
}
