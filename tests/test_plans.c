/* What the plans of all modules have in common (core/plan.h): work objects, ops, alpha = 0, values, life. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TRINE_TEST_DIRECT
#include <trine/direct.h>
#endif
#include <trine/supernodal.h>
#include <trine/triangular.h>
#include <trine/tridiagonal_plan.h>

#include "harness.h"
#include "panels_support.h"

/** One kind of plan, behind one face. */
typedef struct {
    const char *name;
    trine_matrix (*matrix)(trine_context ctx, trine_dtype t); /* that it takes, of N rows */
    trine_status (*analyse)(trine_context ctx, void **plan, trine_matrix T, unsigned ops, int64_t max_nrhs);
    trine_status (*numeric)(void *plan, trine_space space, const void *values, const trine_exec *exec);
    trine_status (*check)(void *plan, const trine_exec *exec);
    trine_status (*solve)(void *plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                          const trine_exec *exec);
    trine_status (*work)(void *plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work);
    void (*destroy)(void *plan);
    bool announces;           /* analyse takes ops, and solve refuses others */
    bool from_values; /* analyse takes values as well: there is no numeric, no check, and solve has no alpha */
} kind;

#define FACE(module)                                                                                          \
    static trine_status module##_numeric(void *p, trine_space s, const void *v, const trine_exec *e)          \
    {                                                                                                         \
        return trine_##module##_numeric(p, s, v, e);                                                          \
    }                                                                                                         \
    static trine_status module##_check(void *p, const trine_exec *e) { return trine_##module##_check(p, e); } \
    static trine_status module##_solve(void *p, trine_transpose o, const void *a, const trine_dense *B,       \
                                       const trine_dense *X, const trine_exec *e)                             \
    {                                                                                                         \
        return trine_##module##_solve(p, o, a, B, X, e);                                                      \
    }                                                                                                         \
    static trine_status module##_work(void *p, int64_t n, void *b, size_t *s, trine_work *w)                  \
    {                                                                                                         \
        return trine_##module##_work(p, n, b, s, w);                                                          \
    }                                                                                                         \
    static void module##_destroy(void *p) { trine_##module##_destroy(&(trine_##module){p}); }
FACE(triangular)
FACE(supernodal)
FACE(tridiagonal)

enum { N = 40, MOST = 3, ROOM = 4 * N * MOST };

static trine_matrix triangle(trine_context ctx, trine_dtype t) { return random_triangle(ctx, t, N, TRINE_LOWER, 5); }
static trine_matrix three_bands(trine_context ctx, trine_dtype t)
{
    trine_matrix A;
    OK(trine_matrix_gallery(ctx, &A, "tridiag:n=40,a=-1,b=3,c=1.5", t));
    return A;
}

static trine_status triangular_analyse(trine_context ctx, void **plan, trine_matrix T, unsigned ops, int64_t max_nrhs)
{
    return trine_triangular_analyse(ctx, (trine_triangular *)plan, T,
                                    &(trine_triangular_options){.ops = ops, .max_nrhs = max_nrhs});
}
static trine_status supernodal_analyse(trine_context ctx, void **plan, trine_matrix T, unsigned ops, int64_t max_nrhs)
{
    (void)ops; /* all of them */
    return trine_supernodal_analyse_triangle(ctx, (trine_supernodal *)plan, T, 0, NULL, NULL,
                                             &(trine_supernodal_options){.max_nrhs = max_nrhs});
}
static trine_status tridiagonal_analyse(trine_context ctx, void **plan, trine_matrix A, unsigned ops, int64_t max_nrhs)
{
    (void)ops; /* all of them */
    return trine_tridiagonal_analyse(ctx, (trine_tridiagonal *)plan, A,
                                     &(trine_tridiagonal_options){.max_nrhs = max_nrhs});
}
#ifdef TRINE_TEST_DIRECT
static trine_status direct_analyse(trine_context ctx, void **plan, trine_matrix A, unsigned ops, int64_t max_nrhs)
{
    const trine_direct_options options = {
        .factor.method = TRINE_DIRECT_LU, .ops = ops, .triangular.max_nrhs = max_nrhs, .refine = 1};
    return trine_direct_create(ctx, (trine_direct *)plan, A, &options);
}
static trine_status direct_solve(void *p, trine_transpose o, const void *a, const trine_dense *B, const trine_dense *X,
                                 const trine_exec *e)
{
    assert_null(a);
    return trine_direct_solve(p, o, B, X, e);
}
static trine_status direct_work(void *p, int64_t n, void *b, size_t *s, trine_work *w)
{
    return trine_direct_work(p, n, b, s, w);
}
static void direct_destroy(void *p) { trine_direct_destroy(&(trine_direct){p}); }
#endif
static const kind kinds[] = {
    {"triangular", triangle, triangular_analyse, triangular_numeric, triangular_check, triangular_solve,
     triangular_work, triangular_destroy, .announces = true},
    {"supernodal", triangle, supernodal_analyse, supernodal_numeric, supernodal_check, supernodal_solve,
     supernodal_work, supernodal_destroy, .announces = false},
    {"tridiagonal", three_bands, tridiagonal_analyse, tridiagonal_numeric, tridiagonal_check, tridiagonal_solve,
     tridiagonal_work, tridiagonal_destroy, .announces = false},
#ifdef TRINE_TEST_DIRECT
    {"direct", three_bands, direct_analyse, NULL, NULL, direct_solve, direct_work, direct_destroy, .announces = true,
     .from_values = true},
#endif
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/** A matrix on the host, its values, and a plan of it with values. */
typedef struct {
    trine_context ctx;
    trine_matrix T;
    const void *values;
    void *plan;
} scene;

static scene open_scene(const kind *k, trine_dtype t, unsigned ops)
{
    scene s = {.ctx = test_context()};
    s.T = k->matrix(s.ctx, t);
    OK(trine_matrix_get_arrays(s.T, NULL, NULL, &s.values));
    OK(k->analyse(s.ctx, &s.plan, s.T, ops, MOST));
    if (!k->from_values) OK(k->numeric(s.plan, TRINE_HOST, s.values, NULL));
    return s;
}
static void close_scene(const kind *k, scene *s)
{
    k->destroy(s->plan);
    trine_matrix_destroy(&s->T);
    OK(trine_context_destroy(&s->ctx));
}

/** All elements between the entries of X keep what they were. */
static void zero_alpha_makes_zeros(void **state)
{
    (void)state;
    static const trine_dtype dtypes[] = {TRINE_S, TRINE_D, TRINE_C, TRINE_Z};
    for (int i = 0; i < KINDS; i++)
        for (int t = 0; t < 4 && !kinds[i].from_values; t++) {
            const kind *k = &kinds[i];
            const size_t element = trine_dtype_size(dtypes[t]);
            scene s = open_scene(k, dtypes[t], TRINE_N);
            static const char zeros[16];
            char *x = malloc(ROOM * element);
            for (int layout = TRINE_COLMAJOR; layout <= TRINE_ROWMAJOR; layout++)
                for (int padding = 0; padding <= 3; padding += 3)
                    for (int cols = 0; cols <= MOST; cols++) {
                        const bool by_rows = layout == TRINE_ROWMAJOR;
                        const int64_t ld = (by_rows ? cols : N) + padding;
                        memset(x, 0xFF, ROOM * element); /* NaN */
                        void *there = test_to_device(s.ctx, x, ROOM * element);
                        const trine_dense X = {there, N, cols, ld, (trine_layout)layout};
                        OK(k->solve(s.plan, TRINE_N, zeros, &X, &X, NULL));
                        OK(trine_context_synchronize(s.ctx));
                        test_from_device(s.ctx, x, there, ROOM * element);
                        test_release(s.ctx, there);
                        for (int64_t at = 0; at < ROOM; at++) {
                            const bool inside =
                                cols && (by_rows ? at / ld < N && at % ld < cols : at / ld < cols && at % ld < N);
                            for (size_t b = 0; b < element; b++)
                                assert_int_equal(x[(size_t)at * element + b], inside ? 0 : -1);
                        }
                    }
            free(x);
            close_scene(k, &s);
        }
}

static void real_plans_take_h_for_t_and_t_for_h(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        for (int announced = TRINE_T; announced <= TRINE_H; announced *= 2) {
            const kind *k = &kinds[i];
            scene s = open_scene(k, TRINE_D, (unsigned)announced);
            double b[N], x[2][N];
            for (int r = 0; r < N; r++) b[r] = test_uniform(3, (uint64_t)r) - 0.5;
            void *there = test_to_device(s.ctx, b, sizeof b), *to = test_to_device(s.ctx, b, sizeof b);
            const trine_dense B = {there, N, 1, N, TRINE_COLMAJOR}, X = {to, N, 1, N, TRINE_COLMAJOR};
            for (int op = 0; op < 2; op++) {
                OK(k->solve(s.plan, op ? TRINE_H : TRINE_T, NULL, &B, &X, NULL));
                OK(trine_context_synchronize(s.ctx));
                test_from_device(s.ctx, x[op], to, sizeof b);
            }
            for (int r = 0; r < N; r++) assert_true(fabs(x[0][r] - x[1][r]) <= 1e-13 * fabs(x[0][r]));
            assert_true(x[0][0] != b[0]);
            if (k->announces) FAILS(TRINE_ERR_STATE, "not announced", k->solve(s.plan, TRINE_N, NULL, &B, &X, NULL));
            test_release(s.ctx, there);
            test_release(s.ctx, to);
            close_scene(k, &s);
        }
    for (int i = 0; i < KINDS; i++) { /* complex numbers tell them apart */
        if (!kinds[i].announces) continue;
        scene s = open_scene(&kinds[i], TRINE_Z, TRINE_T);
        trine_dense X = {.rows = N, .cols = 0};
        FAILS(TRINE_ERR_STATE, "not announced", kinds[i].solve(s.plan, TRINE_H, NULL, &X, &X, NULL));
        close_scene(&kinds[i], &s);
    }
}

static void works_have_one_set_of_rules(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        scene s = open_scene(k, TRINE_D, TRINE_N);
        size_t bytes = 0, less;
        trine_work work = NULL, other = NULL;
        char *buffer;
        FAILS(TRINE_ERR_ARGUMENT, "plan is NULL", k->work(NULL, 1, NULL, &bytes, &work));
        FAILS(TRINE_ERR_ARGUMENT, "nrhs is -1", k->work(s.plan, -1, NULL, &bytes, &work));
        FAILS(TRINE_ERR_ARGUMENT, "bytes and work are NULL", k->work(s.plan, 1, NULL, NULL, NULL));
        OK(k->work(s.plan, 2, NULL, &bytes, NULL));
        OK(trine_alloc(s.ctx, test_on_gpu() ? TRINE_DEVICE : TRINE_HOST, bytes + 512, (void **)&buffer));
        char *aligned = buffer + (256 - (uintptr_t)buffer % 256) % 256;
        FAILS(TRINE_ERR_ARGUMENT, "its bytes are not", k->work(s.plan, 2, aligned, NULL, &work));
        FAILS(TRINE_ERR_ARGUMENT, "not 256-byte aligned", k->work(s.plan, 2, aligned + 8, &bytes, &work));
        if (bytes) {
            less = bytes - 1;
            FAILS(TRINE_ERR_ARGUMENT, "the buffer has", k->work(s.plan, 2, aligned, &less, &work));
            assert_int_equal(less, bytes);
        }
        assert_null(work);
        OK(k->work(s.plan, 2, aligned, &bytes, &work));
        OK(k->work(s.plan, 2, NULL, NULL, &other)); /* its own memory: nobody needs the size */
        double b[N * MOST] = {0};
        void *there = test_to_device(s.ctx, b, sizeof b);
        trine_dense X = {there, N, 2, N, TRINE_COLMAJOR}, three = {there, N, 3, N, TRINE_COLMAJOR};
        OK(k->solve(s.plan, TRINE_N, NULL, &X, &X, &(trine_exec){.work = work}));
        OK(k->solve(s.plan, TRINE_N, NULL, &X, &X, &(trine_exec){.work = other}));
        OK(k->solve(s.plan, TRINE_N, NULL, &three, &three, NULL));
        FAILS(TRINE_ERR_STATE, "3 right-hand sides, but the work was made for 2",
              k->solve(s.plan, TRINE_N, NULL, &three, &three, &(trine_exec){.work = work}));
        trine_dense rows = {there, N, 2, 2, TRINE_ROWMAJOR};
        FAILS(TRINE_ERR_ARGUMENT, "share their data", k->solve(s.plan, TRINE_N, NULL, &X, &rows, NULL));
        char advice[80];
        snprintf(advice, sizeof advice, "give each thread a work of its own (trine_%s_work)", k->name);
        assert_true(trine_enter_alone(&work->usage)); /* as a solve in another thread does */
        FAILS(TRINE_ERR_STATE, advice, k->solve(s.plan, TRINE_N, NULL, &X, &X, &(trine_exec){.work = work}));
        trine_leave_alone(&work->usage);
        scene second = open_scene(k, TRINE_D, TRINE_N);
        FAILS(TRINE_ERR_ARGUMENT, "belongs to another plan",
              k->solve(second.plan, TRINE_N, NULL, &X, &X, &(trine_exec){.work = work}));
        close_scene(k, &second);
        OK(trine_context_synchronize(s.ctx));
        k->destroy(s.plan); /* the works keep it */
        trine_work_destroy(&work);
        trine_work_destroy(&other);
        test_release(s.ctx, there);
        test_release(s.ctx, buffer);
        trine_matrix_destroy(&s.T);
        OK(trine_context_destroy(&s.ctx));
    }
}

static void values_are_needed_and_come_in_known_spaces(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        if (k->from_values) continue;
        trine_context ctx = test_context();
        trine_matrix T = k->matrix(ctx, TRINE_D);
        const void *values;
        void *plan;
        OK(trine_matrix_get_arrays(T, NULL, NULL, &values));
        OK(k->analyse(ctx, &plan, T, TRINE_N, 1));
        static double zero[1];
        double b[N] = {0};
        void *there = test_to_device(ctx, b, sizeof b);
        const trine_dense X = {there, N, 1, N, TRINE_COLMAJOR};
        FAILS(TRINE_ERR_STATE, "solve comes after numeric", k->solve(plan, TRINE_N, NULL, &X, &X, NULL));
        FAILS(TRINE_ERR_STATE, "solve comes after numeric", k->solve(plan, TRINE_N, zero, &X, &X, NULL));
        FAILS(TRINE_ERR_STATE, "check comes after numeric", k->check(plan, NULL));
        FAILS(TRINE_ERR_ARGUMENT, "neither host nor device", k->numeric(plan, (trine_space)7, values, NULL));
        if (!test_on_gpu()) FAILS(TRINE_ERR_ARGUMENT, "no device memory", k->numeric(plan, TRINE_DEVICE, values, NULL));
        FAILS(TRINE_ERR_STATE, "solve comes after numeric", k->solve(plan, TRINE_N, NULL, &X, &X, NULL));
        OK(k->numeric(plan, TRINE_HOST, values, NULL));
        OK(k->check(plan, NULL));
        OK(k->solve(plan, TRINE_N, NULL, &X, &X, NULL));
        OK(trine_context_synchronize(ctx));
        k->destroy(plan);
        test_release(ctx, there);
        trine_matrix_destroy(&T);
        OK(trine_context_destroy(&ctx));
    }
}

static void hear(void *user, int level, const char *message)
{
    (void)level;
    char *heard = user; /* the last one */
    if (strstr(message, ", analysed in ")) snprintf(heard, 500, "%s", message);
}

static void plans_say_whether_they_are_deterministic(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        trine_context ctx = test_context();
        trine_matrix T = kinds[i].matrix(ctx, TRINE_D);
        void *plan;
        OK(kinds[i].analyse(ctx, &plan, T, TRINE_N, 1));
        const int is_on_cpu = !test_on_gpu(); /* there, all of them are by themselves */
        if (kinds[i].analyse == triangular_analyse) {
            trine_triangular_info info;
            OK(trine_triangular_get_info(plan, &info));
            assert_int_equal(info.deterministic, 1);
        } else if (kinds[i].analyse == supernodal_analyse) {
            trine_supernodal_info info;
            OK(trine_supernodal_get_info(plan, &info));
            assert_int_equal(info.deterministic, is_on_cpu);
        } else if (kinds[i].analyse == tridiagonal_analyse) {
            trine_tridiagonal_info info;
            OK(trine_tridiagonal_get_info(plan, &info));
            assert_int_equal(info.deterministic, 1);
#ifdef TRINE_TEST_DIRECT
        } else {
            trine_direct_info info;
            OK(trine_direct_get_info(plan, &info));
            if (info.solver == TRINE_SOLVER_GENERAL || is_on_cpu) assert_int_equal(info.deterministic, 1);
#endif
        }
        kinds[i].destroy(plan);
        trine_matrix_destroy(&T);
        OK(trine_context_destroy(&ctx));
    }
}

/** "MODULE: n 40, ..., analysed in ... s", after those of plans within the plan. */
static void analyses_log_one_line(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        trine_context ctx = test_context();
        trine_matrix T = kinds[i].matrix(ctx, TRINE_D);
        void *plan;
        char heard[500] = "", wanted[80];
        OK(trine_context_set_log(ctx, hear, heard, 2));
        OK(kinds[i].analyse(ctx, &plan, T, TRINE_N, 1));
        snprintf(wanted, sizeof wanted, "%s: n %d, ", kinds[i].name, (int)N);
        if (strncmp(heard, wanted, strlen(wanted))) fail_msg("the log says \"%s\", not \"%s\"", heard, wanted);
        OK(trine_context_set_log(ctx, NULL, NULL, 0));
        kinds[i].destroy(plan);
        trine_matrix_destroy(&T);
        OK(trine_context_destroy(&ctx));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_alpha_makes_zeros),      cmocka_unit_test(real_plans_take_h_for_t_and_t_for_h),
        cmocka_unit_test(works_have_one_set_of_rules), cmocka_unit_test(values_are_needed_and_come_in_known_spaces),
        cmocka_unit_test(analyses_log_one_line),       cmocka_unit_test(plans_say_whether_they_are_deterministic),
    };
    return TEST_MAIN(tests);
}
