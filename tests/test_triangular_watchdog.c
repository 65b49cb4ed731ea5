/* No input makes a triangular solve hang: every method on every extreme structure with every hostile value, under a
 * timer that ends the program. */
#include "triangular_support.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 120 }; /* for one structure: a thousand times what it takes on a GPU */

static void time_is_up(int signal)
{
    static const char text[] = "a solve hangs\n";
    (void)signal;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

/** What is done to values. RESERVED: all bits set, which marks what is not there yet in the methods on the GPU. */
typedef enum { PLAIN, RESERVED, QUIET_NAN, INFINITE, NEGATIVE_INFINITE, ZERO, HUGE, MISCHIEFS } mischief;

static void spoil(mischief what, trine_dtype t, void *values, int64_t i)
{
    const size_t size = trine_dtype_size(t);
    switch (what) {
    case RESERVED: memset((char *)values + (size_t)i * size, 0xFF, size); break;
    case QUIET_NAN: put(t, values, i, NAN + NAN * _Complex_I); break;
    case INFINITE: put(t, values, i, INFINITY); break;
    case NEGATIVE_INFINITE: put(t, values, i, -INFINITY); break;
    case ZERO: put(t, values, i, 0); break;
    case HUGE: put(t, values, i, 1e38); break;
    default: break;
    }
}

typedef enum { DIAGONAL, BELOW, RIGHT_HAND_SIDE, PLACES } place;

/** All entries of a kind, spoilt; then the solves. What comes out is checked by other tests: here it must come out. */
static void solve_spoilt(trine_context ctx, trine_triangular plan, const struct problem *P, trine_dtype t, place where,
                         mischief what, int64_t nrhs)
{
    const size_t size = trine_dtype_size(t), bytes = (size_t)(P->n * nrhs) * size;
    void *values = malloc((size_t)P->nnz * size), *B = malloc(bytes);
    for (int64_t i = 0; i < P->n; i++)
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
            put(t, values, k, P->values[k]);
            if (where == (P->indices[k] == i ? DIAGONAL : BELOW)) spoil(what, t, values, k);
        }
    for (int64_t i = 0; i < P->n * nrhs; i++) {
        put(t, B, i, 1);
        if (where == RIGHT_HAND_SIDE) spoil(what, t, B, i);
    }
    OK(trine_triangular_numeric(plan, TRINE_HOST, values, NULL));
    void *x = test_to_device(ctx, B, bytes);
    const trine_dense X = {x, P->n, nrhs, 0, TRINE_ROWMAJOR};
    OK(trine_triangular_solve(plan, TRINE_N, NULL, &X, &X, NULL));
    OK(trine_triangular_solve(plan, TRINE_H, NULL, &X, &X, NULL));
    OK(trine_context_synchronize(ctx));
    test_from_device(ctx, B, x, bytes);
    if (where == RIGHT_HAND_SIDE && (what == RESERVED || what == QUIET_NAN))
        for (int64_t i = 0; i < P->n * nrhs; i++) assert_true(isnan(creal(get(t, B, i)))); /* NaN reached every row */
    test_release(ctx, x);
    free(values);
    free(B);
}

static const struct {
    const char *name;
    int64_t per_row;
    int64_t (*from)(int64_t, int64_t, int64_t);
} structures[] = {{"chain", 1, chain},
                  {"diagonal", 0, diagonal},
                  {"dense last row", 1, dense_last_row},
                  {"dense first column", 1, dense_first_column},
                  {"arrow", 2, arrow},
                  {"grid", 2, grid},
                  {"hubs", 3, hubs},
                  {"layers", 3, layers}};
enum { STRUCTURES = sizeof structures / sizeof *structures };

static void no_value_makes_a_solve_hang(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    static const int64_t counts[] = {1, 3, 6, 18, 34};
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    for (int s = 0; s < STRUCTURES; s++) {
        struct problem P = make_rows(structures[s].from == hubs || structures[s].from == layers ? 4200 : 1500,
                                     structures[s].per_row, structures[s].from);
        alarm(SECONDS);
        for (int m = 0; m < n_methods; m++)
            for (int d = 0; d < 4; d++) {
                if (!test_is_to_do()) continue;
                struct arrays a;
                trine_triangular plan;
                trine_matrix A = make_matrix(ctx, &P, dtypes[d], false, &a);
                OK(trine_triangular_analyse(
                    ctx, &plan, A,
                    &(trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_H, .max_nrhs = 34}));
                for (int where = 0; where < PLACES; where++)
                    for (int what = 0; what < MISCHIEFS; what++)
                        solve_spoilt(ctx, plan, &P, dtypes[d], (place)where, (mischief)what,
                                     counts[(s + m + d + where + what) % 5]);
                OK(trine_triangular_destroy(&plan));
                OK(trine_matrix_destroy(&A));
                free_arrays(&a);
            }
        alarm(0);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

static void no_large_structure_makes_a_solve_hang(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    for (int s = 0; s < STRUCTURES; s++) {
        struct problem P =
            make_rows(structures[s].from == chain ? 1000000 : 100000, structures[s].per_row, structures[s].from);
        struct arrays a;
        trine_matrix A = make_matrix(ctx, &P, TRINE_D, test_on_gpu(), &a);
        for (int m = 0; m < n_methods; m++) {
            if (!test_is_to_do()) continue;
            trine_triangular plan;
            alarm(SECONDS);
            OK(trine_triangular_analyse(ctx, &plan, A,
                                        &(trine_triangular_options){.method = methods[m], .ops = TRINE_N | TRINE_H}));
            solve_spoilt(ctx, plan, &P, TRINE_D, PLACES, PLAIN, 1);
            solve_spoilt(ctx, plan, &P, TRINE_D, RIGHT_HAND_SIDE, RESERVED, 1);
            alarm(0);
            OK(trine_triangular_destroy(&plan));
        }
        OK(trine_matrix_destroy(&A));
        free_arrays(&a);
        problem_free(&P);
    }
    OK(trine_context_destroy(&ctx));
}

/** The patterns that are refused come back as well: rows without a diagonal entry, cut or out of order. */
static void no_wrong_pattern_makes_an_analysis_hang(void **state)
{
    (void)state;
    trine_triangular_method methods[MOST_METHODS];
    const int n_methods = methods_here(methods);
    trine_context ctx = test_context();
    alarm(SECONDS);
    for (int on_device = 0; on_device <= test_on_gpu(); on_device++)
        for (int m = 0; m < n_methods; m++)
            for (int wrong = 0; wrong < 4; wrong++) {
                struct problem P = make_rows(5000, 2, grid);
                struct arrays a;
                trine_triangular plan;
                const int64_t row = 3333, diagonal_entry = P.offsets[row + 1] - 1;
                switch (wrong) {
                case 0:
                    P.indices[diagonal_entry] = (int32_t)(row - 2);
                    break;       /* no diagonal, and not
                                    ascending */
                case 1: P.indices[diagonal_entry - 1] = 70000; break;
                case 2: P.indices[diagonal_entry - 1] = P.indices[diagonal_entry]; break; /* twice */
                default: P.offsets[row] = P.offsets[row + 1] + 3; break;             /* falls to the next one */
                }
                trine_matrix A = make_matrix(ctx, &P, TRINE_D, on_device, &a);
                FAILS(wrong == 0 ? TRINE_ERR_SINGULAR : TRINE_ERR_STRUCTURE, wrong == 3 ? NULL : "row 3333",
                      trine_triangular_analyse(ctx, &plan, A,
                                               &(trine_triangular_options){.uplo = TRINE_LOWER,
                                                                           .method = methods[m],
                                                                           .ops = TRINE_N | TRINE_T}));
                assert_null(plan);
                OK(trine_matrix_destroy(&A));
                free_arrays(&a);
                problem_free(&P);
            }
    alarm(0);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    signal(SIGALRM, time_is_up);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_value_makes_a_solve_hang),
        cmocka_unit_test(no_large_structure_makes_a_solve_hang),
        cmocka_unit_test(no_wrong_pattern_makes_an_analysis_hang),
    };
    return TEST_MAIN(tests);
}
