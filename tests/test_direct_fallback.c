/* What a direct plan does where UMFPACK fails, or is not accurate: its calls are intercepted here, before the library's
 * own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "direct_support.h"

enum trouble { NONE, NO_MEMORY, INACCURATE };
static enum trouble trouble;
static int calls;

enum { OUT_OF_MEMORY = -1 }; /* UMFPACK_ERROR_out_of_memory */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int64_t umfpack_dl_numeric(const int64_t *offsets, const int64_t *rows, const double *values, void *symbolic,
                                    void **numeric, const double *control, double *info);
EXPORTED int64_t umfpack_dl_get_numeric(int64_t *Lp, int64_t *Lj, double *Lx, int64_t *Up, int64_t *Ui, double *Ux,
                                        int64_t *P, int64_t *Q, double *D, int64_t *reciprocal, double *R,
                                        void *numeric);

int64_t umfpack_dl_numeric(const int64_t *offsets, const int64_t *rows, const double *values, void *symbolic,
                           void **numeric, const double *control, double *info)
{
    int64_t (*own)(const int64_t *, const int64_t *, const double *, void *, void **, const double *, double *);
    *(void **)&own = dlsym(RTLD_NEXT, "umfpack_dl_numeric");
    assert_non_null(own);
    calls++;
    if (trouble == NO_MEMORY) return OUT_OF_MEMORY;
    return own(offsets, rows, values, symbolic, numeric, control, info);
}

/** Where it is to be inaccurate, the scale of row 0 is not what L U = P R A Q has. */
int64_t umfpack_dl_get_numeric(int64_t *Lp, int64_t *Lj, double *Lx, int64_t *Up, int64_t *Ui, double *Ux, int64_t *P,
                               int64_t *Q, double *D, int64_t *reciprocal, double *R, void *numeric)
{
    int64_t (*own)(int64_t *, int64_t *, double *, int64_t *, int64_t *, double *, int64_t *, int64_t *, double *,
                   int64_t *, double *, void *);
    *(void **)&own = dlsym(RTLD_NEXT, "umfpack_dl_get_numeric");
    assert_non_null(own);
    const int64_t code = own(Lp, Lj, Lx, Up, Ui, Ux, P, Q, D, reciprocal, R, numeric);
    if (trouble == INACCURATE && R) R[0] *= 1e3;
    return code;
}

/** Skips the test where libtrine_direct's calls do not come here: an archive in it, or another order of loading. */
static void need_interception(trine_context ctx)
{
    trine_matrix A = random_matrix(ctx, TRINE_D, 20, 4, false, 1);
    trine_factor F;
    trouble = NONE;
    calls = 0;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LU_UMFPACK}));
    OK(trine_factor_destroy(&F));
    trine_matrix_destroy(&A);
    if (calls) return;
    OK(trine_context_destroy(&ctx));
    skip();
}

/** Upper triangular: 4 dense blocks of 60 with ones on the diagonal and -1 above, whose inverses hold 2^58: a GPU does
 *  not solve by SuperLU's panels of it. */
static trine_matrix growing_blocks(trine_context ctx)
{
    enum { BLOCKS = 4, SIDE = 60 };
    struct entry *entries = malloc(BLOCKS * SIDE * (SIDE + 1) / 2 * sizeof *entries);
    int count = 0;
    for (int i = 0; i < BLOCKS * SIDE; i++)
        for (int j = i; j < (i / SIDE + 1) * SIDE; j++) entries[count++] = (struct entry){i, j, i == j ? 1 : -1};
    trine_matrix A = matrix_of(ctx, BLOCKS * SIDE, count, entries);
    free(entries);
    return A;
}

static void assert_accurate(trine_context ctx, trine_direct plan, trine_matrix A, trine_direct_method method)
{
    trine_matrix_info of_A;
    trine_direct_info info;
    OK(trine_matrix_get_info(A, &of_A));
    OK(trine_direct_get_info(plan, &info));
    assert_int_equal(info.factor.method, method);
    double *b = malloc((size_t)of_A.n_rows * sizeof *b), *x = malloc((size_t)of_A.n_rows * sizeof *x);
    for EACH(k, ops) {
        solve(ctx, plan, TRINE_D, ops[k], of_A.n_rows, 1, TRINE_COLMAJOR, false, b, x);
        assert_true(backward_error(A, ops[k], 1, x, b) < 10);
    }
    free(b);
    free(x);
}

/** What takes over, of first values and of new ones, and that UMFPACK comes again when it can. */
static void superlu_takes_over(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    need_interception(ctx);
    trine_matrix A = test_on_gpu() ? growing_blocks(ctx) : random_matrix(ctx, TRINE_D, 150, 40, false, 3);
    const trine_direct_options options = {.ops = TRINE_N | TRINE_T | TRINE_H};
    trine_direct plan;
    OK(trine_direct_create(ctx, &plan, A, &options)); /* or else nothing is shown below */
    assert_accurate(ctx, plan, A, TRINE_DIRECT_LU_UMFPACK);
    trouble = INACCURATE;
    OK(trine_direct_update(plan, A));
    assert_accurate(ctx, plan, A, TRINE_DIRECT_LU);
    OK(trine_direct_destroy(&plan));

    OK(trine_direct_create(ctx, &plan, A, &options));
    assert_accurate(ctx, plan, A, TRINE_DIRECT_LU);
    trouble = NONE;
    OK(trine_direct_update(plan, A));
    assert_accurate(ctx, plan, A, TRINE_DIRECT_LU); /* as long as it will do */
    OK(trine_direct_destroy(&plan));

    trouble = NO_MEMORY;
    if (test_on_gpu()) { /* SuperLU has factored already */
        OK(trine_direct_create(ctx, &plan, A, &options));
        assert_accurate(ctx, plan, A, TRINE_DIRECT_LU);
        OK(trine_direct_update(plan, A));
        assert_accurate(ctx, plan, A, TRINE_DIRECT_LU);
        OK(trine_direct_destroy(&plan));
    } else {
        FAILS(TRINE_ERR_MEMORY, "UMFPACK ran out of memory", trine_direct_create(ctx, &plan, A, &options));
    }
    trouble = NONE;
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

/** By name nothing takes over, and what is no solution is none. */
static void inaccurate_factors_by_name_are_refused(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    need_interception(ctx);
    trine_matrix A = random_matrix(ctx, TRINE_D, 60, 5, false, 4);
    const trine_direct_options options = {.factor.method = TRINE_DIRECT_LU_UMFPACK, .ops = TRINE_N | TRINE_T | TRINE_H};
    trine_direct plan;
    trouble = INACCURATE;
    FAILS(TRINE_ERR_NO_CONVERGENCE, "a trial solve with the lu-umfpack factor has a backward error of",
          trine_direct_create(ctx, &plan, A, &options));
    assert_null(plan);
    trouble = NONE;
    OK(trine_direct_create(ctx, &plan, A, &options));
    trouble = INACCURATE;
    FAILS(TRINE_ERR_NO_CONVERGENCE, "another factorization", trine_direct_update(plan, A));
    trouble = NONE;
    OK(trine_direct_update(plan, A));
    assert_accurate(ctx, plan, A, TRINE_DIRECT_LU_UMFPACK);
    OK(trine_direct_destroy(&plan));
    trine_matrix_destroy(&A);
    OK(trine_context_destroy(&ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superlu_takes_over),
        cmocka_unit_test(inaccurate_factors_by_name_are_refused),
    };
    return TEST_MAIN(tests);
}
