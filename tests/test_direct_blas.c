/* Threads of the BLAS during a factorization, and after it. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "direct_support.h"

static int (*get_threads)(void);
static void (*set_threads)(int);
static int least_seen, most_seen; /* when memory was asked for, by SuperLU as well */

static void *watching_alloc(void *user, size_t bytes)
{
    (void)user;
    const int now = get_threads();
    if (now > most_seen) most_seen = now;
    if (now < least_seen) least_seen = now;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void watching_release(void *user, void *block)
{
    (void)user;
    free(block);
}

static void find_openblas(void)
{
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    if (!get_threads || !set_threads) skip(); /* another BLAS */
}

static void the_number_is_put_back(void **state)
{
    (void)state;
    static const trine_direct_method every[] = {TRINE_DIRECT_CHOLESKY, TRINE_DIRECT_CHOLESKY_SIMPLICIAL,
                                                TRINE_DIRECT_LU, TRINE_DIRECT_LU_UMFPACK};
    static const char *const devices[] = {"cpu:1", "cpu:2"};
    find_openblas();
    const int before = get_threads();
    for (int threads = 1; threads <= 3; threads += 2)
        for EACH(d, devices)
            for EACH(m, every) {
                trine_context ctx;
                OK(trine_context_create(&ctx, devices[d]));
                trine_matrix A = random_matrix(ctx, TRINE_D, 200, 5, true, 3), indefinite;
                indefinite = MATRIX(ctx, 2, {0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1});
                trine_factor F;
                set_threads(threads);
                OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = every[m]}));
                assert_int_equal(get_threads(), threads);
                OK(trine_factor_update(F, A));
                assert_int_equal(get_threads(), threads);
                OK(trine_factor_destroy(&F));
                if (trine_factor_create(ctx, &F, indefinite, &(trine_factor_options){.method = every[m]}) == 0)
                    trine_factor_destroy(&F); /* LU; Cholesky breaks down */
                assert_int_equal(get_threads(), threads);
                OK(trine_matrix_destroy(&A));
                OK(trine_matrix_destroy(&indefinite));
                OK(trine_context_destroy(&ctx));
            }
    set_threads(before);
}

static void narrow_panels_get_one_thread(void **state)
{
    (void)state;
    find_openblas();
    const int before = get_threads();
    trine_context ctx;
    trine_factor F;
    OK(trine_context_create(&ctx, "cpu:2"));
    OK(trine_context_set_allocator(ctx, &(trine_allocator){watching_alloc, watching_release, NULL}, NULL));
    trine_matrix A = random_matrix(ctx, TRINE_D, 200, 5, false, 3);
    set_threads(3);
    least_seen = 3, most_seen = 0;
    OK(trine_factor_create(ctx, &F, A, &(trine_factor_options){.method = TRINE_DIRECT_LU}));
    assert_int_equal(least_seen, 1); /* in SuperLU, */
    assert_int_equal(most_seen, 3);  /* and around it */
    OK(trine_factor_destroy(&F));
    OK(trine_matrix_destroy(&A));
    OK(trine_context_destroy(&ctx));
    set_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_is_put_back),
        cmocka_unit_test(narrow_panels_get_one_thread),
    };
    return TEST_MAIN(tests);
}
