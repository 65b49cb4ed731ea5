/* Many tridiagonal systems at once: every layout, size, precision, op; residuals in long double, and LAPACK-like
 * references. */
#include "elements.h"
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    trine_dtype t;
    int64_t n, systems, matrix_size, vector_size;
    trine_strides matrix, vector;
    trine_gtsv_options options;
    void *bands[3], *D, *X;
} problem;

static int64_t extent(int64_t n, int64_t systems, trine_strides s)
{
    return n && systems ? (n - 1) * s.row + (systems - 1) * s.system + 1 : 0;
}

static problem make_problem(trine_dtype t, int64_t n, int64_t systems, trine_strides matrix, trine_strides vector,
                            trine_gtsv_options options, double dominance)
{
    problem p = {.t = t, .n = n, .systems = systems, .matrix = matrix, .vector = vector, .options = options};
    const size_t size = trine_dtype_size(t);
    p.matrix_size = extent(n, systems, matrix), p.vector_size = extent(n, systems, vector);
    for (int k = 0; k < 3; k++) {
        p.bands[k] = malloc((size_t)p.matrix_size * size + 1);
        for (int64_t i = 0; i < p.matrix_size; i++)
            put(t, p.bands[k], i, random_element(t, 10 + (uint64_t)k, (uint64_t)i) + (k == 1 ? dominance : 0));
    }
    for (int64_t s = 0; s < systems && n && !options.cyclic; s++) { /* never read */
        put(t, p.bands[0], s * matrix.system, NAN);
        put(t, p.bands[2], s * matrix.system + (n - 1) * matrix.row, NAN);
    }
    p.D = malloc((size_t)p.vector_size * size + 1);
    p.X = malloc((size_t)p.vector_size * size + 1);
    for (int64_t i = 0; i < p.vector_size; i++) put(t, p.D, i, random_element(t, 20, (uint64_t)i)), put(t, p.X, i, 77);
    return p;
}
static void free_problem(problem *p)
{
    for (int k = 0; k < 3; k++) free(p->bands[k]);
    free(p->D), free(p->X);
}

static void solve(problem *p)
{
    size_t bytes;
    if (!test_on_gpu()) {
        OK(trine_gtsv_batch_work_size(test_cpu(2), p->t, p->n, p->systems, &p->options, &bytes));
        void *work = malloc(bytes + 1);
        OK(trine_gtsv_batch(test_cpu(2), p->t, p->n, p->systems, &p->options, p->bands[0], p->bands[1], p->bands[2],
                            p->matrix, p->D, p->X, p->vector, work, bytes, NULL));
        free(work);
        return;
    }
    const trine_context ctx = test_shared(1);
    const size_t size = trine_dtype_size(p->t);
    void *work, *bands[3];
    for (int k = 0; k < 3; k++) bands[k] = test_to_device(ctx, p->bands[k], (size_t)p->matrix_size * size);
    void *X = test_to_device(ctx, p->X, (size_t)p->vector_size * size),
         *D = p->D == p->X ? X : test_to_device(ctx, p->D, (size_t)p->vector_size * size);
    OK(trine_gtsv_batch_work_size(ctx, p->t, p->n, p->systems, &p->options, &bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &work));
    OK(trine_gtsv_batch(ctx, p->t, p->n, p->systems, &p->options, bands[0], bands[1], bands[2], p->matrix, D, X,
                        p->vector, work, bytes, NULL));
    test_from_device(ctx, p->X, X, (size_t)p->vector_size * size);
    trine_free(ctx, TRINE_DEVICE, work);
    for (int k = 0; k < 3; k++) test_release(ctx, bands[k]);
    if (D != X) test_release(ctx, D);
    test_release(ctx, X);
}

/** The largest |d - op(A_s) x| / (|op(A_s)| |x| + |d|) */
static double backward_error(const problem *p, const void *D)
{
    long double worst = 0;
    const bool transposed = p->options.op == TRINE_T || p->options.op == TRINE_H;
    for (int64_t s = 0; s < p->systems; s++)
        for (int64_t i = 0; i < p->n; i++) {
            wide r = get(p->t, D, i * p->vector.row + s * p->vector.system);
            long double size = absolute(r);
            for (int k = -1; k <= 1; k++) {
                int64_t j = i + k;
                if (j < 0 || j >= p->n) {
                    if (!p->options.cyclic) continue;
                    j = (j + p->n) % p->n;
                }
                wide a = get(p->t, p->bands[transposed ? 1 - k : 1 + k],
                             (transposed ? j : i) * p->matrix.row + s * p->matrix.system);
                if (p->options.op == TRINE_H) a = conjl(a);
                const wide term = a * get(p->t, p->X, j * p->vector.row + s * p->vector.system);
                r -= term;
                size += absolute(term);
            }
            const long double error = size > 0 ? absolute(r) / size : absolute(r);
            if (!(error <= worst)) worst = error == error ? error : INFINITY;
        }
    return (double)worst;
}

static void check(problem *p, double bound)
{
    solve(p);
    const double error = backward_error(p, p->D);
    if (!(error <= bound * eps_of(p->t)))
        print_error("n = %lld, %lld systems, dtype %d, op %d, cyclic %d, strides %lld %lld: %g\n", (long long)p->n,
                    (long long)p->systems, (int)p->t, (int)p->options.op, p->options.cyclic, (long long)p->matrix.row,
                    (long long)p->matrix.system, error);
    assert_true(error <= bound * eps_of(p->t));
}

/** layout 0 to 3: matrices contiguous, interleaved or (2, 3) one for all; vectors contiguous or (1, 3) interleaved. */
static void check_layout(trine_dtype t, int64_t n, int64_t systems, int layout, trine_gtsv_options options)
{
    const trine_strides contiguous = {1, n + 3}, interleaved = {systems + 2, 1}, shared = {1, 0};
    problem p = make_problem(t, n, systems,
                             layout == 0   ? contiguous
                             : layout == 1 ? interleaved
                                           : shared,
                             layout % 2 == 0 ? contiguous : interleaved, options, 4);
    check(&p, 40);
    free_problem(&p);
}

static void every_size_layout_precision_and_op_is_solved(void **state)
{
    (void)state;
    /* what a block of a smaller device holds, and more */
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 31, 33, 48, 55, 63, 64, 65, 100, 1000, 1020, 2030};
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    for (int d = 0; d < 4; d++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int layout = 0; layout < 4; layout++)
                for (int o = 0; o < 6; o++) {
                    if (!test_is_to_do()) continue;
                    const int64_t n = sizes[k], systems = k % 3 == 0 ? 1 : n > 64 ? 35 : 70;
                    check_layout(all_dtypes[d], n, systems, layout,
                                 (trine_gtsv_options){.op = ops[o / 2], .cyclic = o % 2});
                }
}

/** Too long for a block: packed one below the other; cyclic ones one by one; of one matrix, its right-hand sides
 *  together. */
static void long_systems_of_every_layout_are_solved(void **state)
{
    (void)state;
    static const int64_t sizes[] = {8200, 8193, 12000};
    for (int d = 0; d < 4; d++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int layout = 0; layout < 4; layout++)
                for (int cyclic = 0; cyclic < 2; cyclic++) {
                    if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
                    const int64_t n = sizes[k], systems = 3 + layout;
                    check_layout(
                        all_dtypes[d], n, systems, layout,
                        (trine_gtsv_options){.op = (trine_transpose)(1 << (d + layout) % 3), .cyclic = cyclic});
                }
}

static void one_matrix_for_more_systems_than_a_grid_has_blocks_is_solved(void **state)
{
    (void)state;
    problem p =
        make_problem(TRINE_S, 3, 65537, (trine_strides){1, 0}, (trine_strides){1, 3}, (trine_gtsv_options){0}, 4);
    check(&p, 40);
    free_problem(&p);
}

static void systems_that_need_pivoting_are_solved(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 3, 8, 40, 64, 200};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int kind = 0; kind < 3; kind++) /* partial; scaled partial; scaled partial of systems with zeros on the
                                                diagonal */
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                const int64_t n = sizes[k], systems = 100;
                const trine_gtsv_options options = {.pivot = kind == 0 ? TRINE_PIVOT_PARTIAL : TRINE_PIVOT_DEFAULT,
                                                    .cyclic = cyclic};
                problem p = make_problem(TRINE_D, n, systems, (trine_strides){systems, 1}, (trine_strides){systems, 1},
                                         options, 0);
                if (kind == 2) {
                    if (n == 3 || (cyclic && n % 4 == 0)) { /* singular: odd order, or a cycle of 4 k */
                        free_problem(&p);
                        continue;
                    }
                    for (int64_t i = 0; i < p.matrix_size; i++) put(TRINE_D, p.bands[1], i, 0);
                    for (int b = 0; b < 3; b += 2)
                        for (int64_t i = 0; i < p.matrix_size; i++) put(TRINE_D, p.bands[b], i, 1);
                }
                /* normwise stable, componentwise with the growth of random systems */
                check(&p, cyclic || n > 64 ? 1e6 : 1e4);
                free_problem(&p);
            }
}

/** Finite numbers, and a system whose solution is beyond the range of S. */
static void a_solution_beyond_the_range_is_no_success(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 7, 64, 65, 300};
    if (test_on_gpu()) skip();
    for (int k = 0; k < 5; k++)
        for (int layout = 0; layout < 2; layout++) {
            const int64_t n = sizes[k], systems = 40;
            const trine_strides strides = layout ? (trine_strides){systems, 1} : (trine_strides){1, n};
            problem p = make_problem(TRINE_S, n, systems, strides, strides, (trine_gtsv_options){0}, 4);
            size_t bytes;
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = 3 * strides.system + i * strides.row;
                for (int b = 0; b < 3; b++) ((float *)p.bands[b])[at] *= 0x1p-100f;
                ((float *)p.D)[at] *= 0x1p100f;
            }
            OK(trine_gtsv_batch_work_size(test_cpu(2), p.t, n, systems, &p.options, &bytes));
            void *work = malloc(bytes + 1);
            FAILS(TRINE_ERR_SINGULAR, "of system 3 of 40 is not finite",
                  trine_gtsv_batch(test_cpu(2), p.t, n, systems, &p.options, p.bands[0], p.bands[1], p.bands[2],
                                   p.matrix, p.D, p.X, p.vector, work, bytes, NULL));
            free(work);
            free_problem(&p);
        }
}

static void nan_in_one_system_is_not_seen_by_the_others(void **state)
{
    (void)state;
    /* longer ones are put one below the other on the smallest devices */
    static const int64_t sizes[] = {1, 7, 64, 65, 300, 4000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int layout = 0; layout < 2; layout++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
                const int64_t n = sizes[k], systems = 40;
                const trine_strides strides = layout ? (trine_strides){systems, 1} : (trine_strides){1, n};
                problem p =
                    make_problem(TRINE_S, n, systems, strides, strides, (trine_gtsv_options){.cyclic = cyclic}, 4);
                const size_t bytes = (size_t)p.vector_size * sizeof(float);
                solve(&p);
                float *x = memcpy(malloc(bytes), p.X, bytes);
                put(TRINE_S, p.D, 3 * strides.system + n / 2 * strides.row, (wide)NAN);
                put(TRINE_S, p.bands[1], 17 * strides.system + (n - 1) * strides.row, (wide)NAN);
                solve(&p);
                for (int64_t s = 0; s < systems; s++)
                    for (int64_t i = 0; i < n; i++) {
                        const int64_t at = s * strides.system + i * strides.row;
                        if (s != 3 && s != 17) assert_memory_equal(x + at, (float *)p.X + at, sizeof(float));
                        else assert_true(i != (s == 3 ? n / 2 : n - 1) || isnan(((float *)p.X)[at]));
                    }
                free(x);
                free_problem(&p);
            }
}

static void solving_in_place_gives_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[] = {7, 64, 300};
    for (size_t k = 0; k < 3; k++)
        for (int layout = 0; layout < 2; layout++) {
            const int64_t n = sizes[k], systems = 45;
            const trine_strides strides = layout ? (trine_strides){systems, 1} : (trine_strides){1, n};
            problem p = make_problem(TRINE_D, n, systems, strides, strides, (trine_gtsv_options){0}, 4);
            solve(&p);
            problem in_place = p;
            in_place.X = in_place.D;
            solve(&in_place);
            assert_memory_equal(p.D, p.X, (size_t)p.vector_size * sizeof(double));
            free_problem(&p);
        }
}

static void elements_between_the_vectors_are_left_alone(void **state)
{
    (void)state;
    static const int64_t sizes[] = {9, 130};
    for (size_t k = 0; k < 2; k++)
        for (int layout = 0; layout < 2; layout++) {
            const int64_t n = sizes[k], systems = 40;
            const trine_strides strides = layout ? (trine_strides){systems + 5, 1} : (trine_strides){1, n + 5};
            problem p = make_problem(TRINE_S, n, systems, strides, strides, (trine_gtsv_options){0}, 4);
            solve(&p);
            for (int64_t i = 0; i < p.vector_size; i++) {
                const bool gap = layout ? i % (systems + 5) >= systems : i % (n + 5) >= n;
                assert_true(!gap || get(TRINE_S, p.X, i) == 77);
            }
            free_problem(&p);
        }
}

static void empty_batches_and_empty_systems_are_fine(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 200; n += 70)
        for (int64_t systems = 0; systems < 2; systems++) {
            if (n && systems) continue;
            problem p = make_problem(TRINE_Z, n, systems, (trine_strides){1, n}, (trine_strides){1, n},
                                     (trine_gtsv_options){0}, 4);
            solve(&p);
            free_problem(&p);
        }
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    if (test_on_gpu()) return;
    static const int64_t sizes[] = {20, 500};
    for (size_t k = 0; k < 2; k++) {
        const int64_t n = sizes[k], systems = 600;
        problem p =
            make_problem(TRINE_D, n, systems, (trine_strides){1, n}, (trine_strides){1, n}, (trine_gtsv_options){0}, 0);
        double *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            size_t bytes;
            OK(trine_gtsv_batch_work_size(test_cpu(threads), p.t, n, systems, NULL, &bytes));
            void *work = malloc(bytes + 1);
            OK(trine_gtsv_batch(test_cpu(threads), p.t, n, systems, NULL, p.bands[0], p.bands[1], p.bands[2], p.matrix,
                                p.D, p.X, p.vector, work, bytes, NULL));
            free(work);
            if (!first)
                first =
                    memcpy(malloc((size_t)p.vector_size * sizeof(double)), p.X, (size_t)p.vector_size * sizeof(double));
            assert_memory_equal(first, p.X, (size_t)p.vector_size * sizeof(double));
        }
        free(first);
        free_problem(&p);
    }
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    if (test_on_gpu()) return; /* the checks are the same code */
    double x[16] = {0}, work[8];
    size_t bytes;
    const trine_strides good = {1, 4}, overlapping = {1, 3}, negative = {-1, 4}, shared = {1, 0};
    const trine_gtsv_options refined = {.refine = 1};
    FAILS(TRINE_ERR_ARGUMENT, "bytes", trine_gtsv_batch_work_size(test_cpu(1), TRINE_D, 4, 2, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "n is -1", trine_gtsv_batch_work_size(test_cpu(1), TRINE_D, -1, 2, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "systems is -2", trine_gtsv_batch_work_size(test_cpu(1), TRINE_D, 4, -2, NULL, &bytes));
    FAILS(TRINE_ERR_ARGUMENT, "a is NULL",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, NULL, NULL, x, x, good, x, x, good, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "X is NULL",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, NULL, x, x, x, good, x, NULL, good, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "overlap",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, NULL, x, x, x, good, x, x, overlapping, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "overlap",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, NULL, x, x, x, good, x, x, shared, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "strides",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, NULL, x, x, x, negative, x, x, good, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "refine",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 4, 2, &refined, x, x, x, good, x, x, good, work, 0, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "workspace",
          trine_gtsv_batch(test_cpu(1), TRINE_D, 100, 1, NULL, x, x, x, (trine_strides){1, 100}, x, x,
                           (trine_strides){1, 100}, work, 8, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_layout_precision_and_op_is_solved),
        cmocka_unit_test(long_systems_of_every_layout_are_solved),
        cmocka_unit_test(one_matrix_for_more_systems_than_a_grid_has_blocks_is_solved),
        cmocka_unit_test(systems_that_need_pivoting_are_solved),
        cmocka_unit_test(nan_in_one_system_is_not_seen_by_the_others),
        cmocka_unit_test(a_solution_beyond_the_range_is_no_success),
        cmocka_unit_test(solving_in_place_gives_the_same_bits),
        cmocka_unit_test(elements_between_the_vectors_are_left_alone),
        cmocka_unit_test(empty_batches_and_empty_systems_are_fine),
        cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return TEST_MAIN(tests);
}
