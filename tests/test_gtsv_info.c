/* trine_gtsv_info: what a solve on the GPU says of its matrix, in every kind of solve, against its definition and
 * against what is known of the matrix. */
#include "info_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
enum { MANY = 5 /* right-hand sides: hardly any matrix hides from so many */ };

/** Solve, compare with the definition, require a verdict: 1 singular, 0 not, -1 none. Frees p. */
static void check(info_problem p, int singular, const char *what)
{
    solve_with_info(&p);
    check_infos(&p, what);
    for (int64_t s = 0; s < p.systems && singular >= 0; s++)
        if ((p.info[s].row >= 0) != singular)
            fail_msg("%s: dtype %d, n %lld, system %lld, op %d: condition %g, row %lld", what, (int)p.t, (long long)p.n,
                     (long long)s, (int)p.options.op, p.info[s].condition, (long long)p.info[s].row);
    free_problem(&p);
}

/* ------------------------------------------------------------------ tridiagonal */

/** Off-diagonals 1; on the diagonal 0, or 1 in every third row. */
static wide one_zero_one(void *argument, int64_t system, int64_t row, int64_t column)
{
    return (void)argument, (void)system, row != column;
}
static wide period_of_three(void *argument, int64_t system, int64_t row, int64_t column)
{
    return (void)argument, (void)system, row != column || row % 3 == 0;
}

static void singular_families_are_told_from_regular_ones(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3,   4,   5,   6,    8,    13,   16,   33,     64,
                                    101, 300, 301, 1003, 1020, 4096, 4099, 100001, 100003};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int d = 0; d < 4; d++)
            for (int family = 0; family < 3; family++) {
                const int64_t n = sizes[k];
                if (!test_is_small(n) || !test_is_to_do() || (family == 2 && n % 4)) continue;
                info_problem p = new_problem((info_problem){.kind = TRIDIAGONAL,
                                                            .t = all_dtypes[d],
                                                            .rows = n,
                                                            .nrhs = MANY,
                                                            .options = {.cyclic = family == 2}});
                set_coefficients(&p, family == 1 ? period_of_three : one_zero_one, NULL);
                fill_right_hand_sides(&p, (uint64_t)n);
                check(p,
                      family == 0   ? n % 2
                      : family == 1 ? n % 9 == 4 || n % 9 == 6 || n % 9 == 8
                                    : 1,
                      family == 0   ? "(1,0,1)"
                      : family == 1 ? "period of three"
                                    : "cyclic (1,0,1)");
            }
}

/** Coefficients times powers of ten: of the row, of the column. */
typedef struct {
    trine_dtype t;
    int64_t n;
    double all, rows, columns;
} scaling;
static long double power_of_ten(double exponent) { return powl(10, exponent); }
static long double column_scale(const scaling *s, int64_t column)
{
    return power_of_ten(s->columns * sin(6.283185307179586 * (double)column / (double)s->n));
}
static wide scaled_value(void *argument, int64_t system, int64_t row, int64_t column)
{
    const scaling *s = argument;
    const wide value =
        random_element(s->t, 5 + (uint64_t)system, (uint64_t)(row * s->n + column)) + (row == column ? 30 : 0);
    return value * power_of_ten(s->all + s->rows * (2 * test_uniform(6, (uint64_t)row) - 1)) * column_scale(s, column);
}
static void scaling_changes_no_verdict(void **state)
{
    (void)state;
    enum { N = 1000 };
    for (int d = 0; d < 4; d++)
        for (int kind = 0; kind < 8; kind++) {
            static const double kinds[8][3] = {{0, 0, 0},  {1, 0, 0},     {-1, 0, 0},   {0, .45, 0},
                                               {0, 0, .4}, {0, .33, .33}, {.5, .25, 0}, {-.5, 0, .25}};
            const double most = eps_of(all_dtypes[d]) > 1e-10 ? 30 : 300;
            char name[99];
            scaling s = {all_dtypes[d], N, most * kinds[kind][0], most * kinds[kind][1], most * kinds[kind][2]};
            if (!test_is_small(N) || !test_is_to_do()) continue;
            info_problem p = new_problem((info_problem){.kind = TRIDIAGONAL, .t = all_dtypes[d], .rows = N, .nrhs = 2});
            set_coefficients(&p, scaled_value, &s);
            for (int64_t i = 0; i < N * p.nrhs; i++) { /* solutions of size 1, if columns were not scaled */
                wide sum = 0;
                for (int64_t j = i % N > 0 ? i % N - 1 : 0; j <= i % N + 1 && j < N; j++)
                    sum += scaled_value(&s, 0, i % N, j) / column_scale(&s, j) *
                           random_element(p.t, 9, (uint64_t)(j + i / N));
                put(p.t, p.D, i, sum);
            }
            snprintf(name, sizeof name, "scaled by 10^%g, rows by %g, columns by %g", s.all, s.rows, s.columns);
            check(p, 0, name);
            if (kind > 3) continue;
            /* (1,0,1), whose order is odd, scaled */
            p = new_problem((info_problem){.kind = TRIDIAGONAL, .t = all_dtypes[d], .rows = N + 1, .nrhs = MANY});
            fill_right_hand_sides(&p, 12);
            set_coefficients(&p, one_zero_one, NULL);
            for (int64_t i = 0; i <= N; i++) {
                const long double scale = power_of_ten((s.all + s.rows * sin((double)i)) * 0.9);
                for (int side = -1; side <= 1; side++)
                    put(p.t, p.matrix, at_matrix(&p, 0, side, i, 0, 0),
                        scale * get(p.t, p.matrix, at_matrix(&p, 0, side, i, 0, 0)));
                for (int64_t c = 0; c < MANY; c++)
                    put(p.t, p.D, at_d(&p, 0, i, c), scale * get(p.t, p.D, at_d(&p, 0, i, c)));
            }
            check(p, kind < 3 ? 1 : -1, name);
        }
}

static void denormal_numbers_are_numbers(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 12; k++) { /* in rows 0, 3, ... */
            /* k = 0: but for the diagonal */
            const double tiny = ldexp(1, (eps_of(all_dtypes[d]) > 1e-10 ? -128 : -1024) - k % 4 * 5);
            info_problem p = new_problem((info_problem){.kind = TRIDIAGONAL, .t = all_dtypes[d], .rows = 10 + k});
            fill_random(&p, 40 + (uint64_t)k, 4);
            for (int64_t i = 0; i < p.n; i += 3) {
                for (int side = -1; side <= 1; side++)
                    put(p.t, p.matrix, at_matrix(&p, 0, side, i, 0, 0),
                        tiny * get(p.t, p.matrix, at_matrix(&p, 0, side, i, 0, 0)));
                put(p.t, p.D, i, tiny * get(p.t, p.D, i));
            }
            check(p, -1, "denormal");
        }
}

static void every_path_size_and_op_follows_the_definition(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 257, 1000, 5000, 70001};
    static const trine_gtsv_path paths[] = {TRINE_GTSV_AUTO, TRINE_GTSV_STAGES, TRINE_GTSV_TWO_PASS,
                                            TRINE_GTSV_ONE_PASS};
    int count = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int d = 0; d < 4; d++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                for (int op = 0; op < 3; op++, count++) {
                    if (!test_is_small(sizes[k]) || !test_is_to_do()) continue;
                    info_problem p = new_problem((info_problem){
                        .kind = TRIDIAGONAL,
                        .t = all_dtypes[d],
                        .rows = sizes[k],
                        .nrhs = 1 + count % 7,
                        .in_place = count % 2,
                        .options = {
                            .cyclic = cyclic, .op = ops[op], .path = paths[count % 4], .refine = count % 5 == 0}});
                    fill_random(&p, (uint64_t)count, count % 4 ? 3.5 : 0);
                    check(p, count % 4 ? 0 : -1, "random");
                }
}

static void the_bound_is_one(void **state)
{
    (void)state;
    for (int k = 0; k < 400; k++) {
        const int64_t n = 1 + k % 20;
        const trine_dtype t = k % 2 ? TRINE_D : TRINE_Z;
        if (!test_is_to_do()) continue;
        info_problem p = new_problem((info_problem){.kind = k % 3 == 0   ? TRIDIAGONAL
                                                            : k % 3 == 1 ? BANDS
                                                                         : BLOCKS,
                                                    .t = t,
                                                    .rows = n,
                                                    .m = 1 + k / 3 % 3,
                                                    .kl = k / 3 % 4,
                                                    .ku = k / 12 % 4,
                                                    .nrhs = 1 + k / 5 % 3,
                                                    .options = {.op = ops[k / 7 % 3], .cyclic = k / 11 % 2}});
        fill_random(&p, (uint64_t)k, 0);
        const long double condition = condition_of(&p, 0);
        solve_with_info(&p);
        check_infos(&p, "bound");
        if (condition < 1e6L && !(p.info[0].condition <= 1.5L * condition))
            fail_msg("k = %d: the bound is %g, the condition %Lg", k, p.info[0].condition, condition);
        if (condition < 1e6L) assert_int_equal(p.info[0].row, -1);
        free_problem(&p);
    }
}

/** [1 1; 1 1 + delta] x = [1; -1] has the solution (1 + 2 / delta, -2 / delta). */
static void the_limit_is_where_it_is_said_to_be(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 2; k++) {
            const long double limit = 1 / (16 * (long double)eps_of(all_dtypes[d])),
                              quotient = limit * (k ? 4 / 3.L : 2 / 3.L);
            info_problem p = new_problem((info_problem){.kind = TRIDIAGONAL, .t = all_dtypes[d], .rows = 2});
            for (int row = 0; row < 2; row++) {
                for (int side = -1; side <= 1; side++)
                    put(p.t, p.matrix, at_matrix(&p, 0, side, row, 0, 0), row && side == 0 ? 1 + 2 / quotient : 1);
                put(p.t, p.D, row, row ? -1 : 1);
            }
            solve_with_info(&p);
            check_infos(&p, "limit");
            assert_int_equal(p.info[0].row, k - 1); /* both unknowns are as large, to within the rounding */
            free_problem(&p);
        }
}

/* --------------------------------------------- zeros, and what is not finite */

static void nothing_to_solve_says_nothing(void **state)
{
    (void)state;
    static const info_kind kinds[] = {TRIDIAGONAL, BLOCKS, BANDS, BATCH};
    for (int k = 0; k < 8; k++) {
        info_problem p = new_problem((info_problem){
            .kind = kinds[k / 2], .t = TRINE_D, .rows = k % 2 ? 20 : 0, .m = 2, .kl = 2, .ku = 1, .systems = 3});
        fill_random(&p, 1, 4);
        memset(p.D, 0, (size_t)p.d_elements * trine_dtype_size(p.t));
        solve_with_info(&p);
        for (int64_t s = 0; s < p.systems; s++) assert_true(p.info[s].condition == 0 && p.info[s].row == -1);
        if (kinds[k / 2] != BATCH) { /* and no right-hand sides */
            p.nrhs = 0, p.d_elements = p.x_elements = 0;
            solve_with_info(&p);
            assert_true(p.info[0].condition == 0 && p.info[0].row == -1);
        }
        free_problem(&p);
    }
}

/** A random matrix with a row or a column (of A) of zeros. */
typedef struct {
    trine_dtype t;
    int64_t n, row, column;
} holed;
static wide holed_value(void *argument, int64_t system, int64_t row, int64_t column)
{
    const holed *h = argument;
    return row == h->row || column == h->column
               ? 0
               : random_element(h->t, 3 + (uint64_t)system, (uint64_t)(row * h->n + column)) + (row == column ? 4 : 0);
}
/** One of each kind, not small; k-th of them. */
static info_problem some_problem(int k, trine_dtype t, trine_gtsv_options options)
{
    const info_problem shapes[] = {{.kind = TRIDIAGONAL, .rows = 700, .nrhs = 3},
                                   {.kind = BLOCKS, .rows = 130, .m = 3, .nrhs = 2},
                                   {.kind = BANDS, .rows = 400, .kl = 3, .ku = 2, .nrhs = 2},
                                   {.kind = BATCH, .rows = 40, .systems = 37},
                                   {.kind = BATCH, .rows = 300, .systems = 5, .interleaved = true},
                                   {.kind = BANDS, .rows = 500, .kl = 1, .ku = 1}};
    info_problem p = shapes[k];
    p.t = t, p.options = options;
    return new_problem(p);
}
enum { SHAPES = 6 };

static void rows_and_columns_of_zeros_are_named(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES * 4 * 3 * 2 * 2; k++) {
        const bool column = k / SHAPES % 2;
        const int d = k / SHAPES / 2 % 4;
        info_problem p = some_problem(k % SHAPES, all_dtypes[d],
                                      (trine_gtsv_options){.op = ops[k / SHAPES / 8 % 3], .cyclic = k / SHAPES / 24});
        const int64_t where = p.n * (1 + k % 5) / 6;
        if (!test_is_to_do()) {
            free_problem(&p);
            continue;
        }
        fill_right_hand_sides(&p, 8);
        set_coefficients(&p, holed_value, &(holed){p.t, p.n, column ? -1 : where, column ? where : -1});
        solve_with_info(&p);
        check_infos(&p, "zeros");
        for (int64_t s = 0; s < p.systems; s++) assert_true(p.info[s].condition == INFINITY && p.info[s].row == where);
        free_problem(&p);
    }
}

static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    static const double what[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < SHAPES * 4 * 2 * 3; k++) {
        const bool in_matrix = k / SHAPES / 4 % 2;
        info_problem p = some_problem(k % SHAPES, all_dtypes[k / SHAPES % 4], (trine_gtsv_options){0});
        const int64_t where = p.n * (1 + k % 5) / 6, system = p.systems - 1;
        wide bad = what[k % 3];
        if (k % 2 && is_complex(p.t)) bad = 1, ((long double *)&bad)[1] = what[k % 3];
        if (!test_is_to_do()) {
            free_problem(&p);
            continue;
        }
        fill_random(&p, 4, 8);
        for (int64_t at = where; at < p.n; at += 7) /* the first one counts */
            if (in_matrix)
                put(p.t, p.matrix, at_matrix(&p, system, 0, at / p.m, (int)(at % p.m), (int)(at % p.m)), bad);
            else put(p.t, p.D, at_d(&p, system, at, p.nrhs - 1), bad);
        solve_with_info(&p);
        check_infos(&p, "not finite");
        assert_true(isnan(p.info[system].condition) && p.info[system].row == where);
        free_problem(&p);
    }
    for (int d = 0; d < 4; d++) /* solutions that overflow: row 5 says so */
        for (int k = 0; k < SHAPES; k++) {
            info_problem p = some_problem(k, all_dtypes[d], (trine_gtsv_options){0});
            const double large = eps_of(p.t) > 1e-10 ? 0x1p100 : 0x1p900;
            set_coefficients(&p, holed_value, &(holed){p.t, p.n, -1, -1});
            fill_right_hand_sides(&p, 2);
            for (int64_t s = 0; s < p.systems; s++)
                for (int b = -p.kl; b <= p.ku; b++)
                    for (int q = 0; q < p.m; q++)
                        put(p.t, p.matrix, at_matrix(&p, s, b, 6 / p.m, 6 % p.m, q),
                            b == 0 && q == 6 % p.m ? 1 / large : 0);
            for (int64_t s = 0; s < p.systems; s++) put(p.t, p.D, at_d(&p, s, 6, 0), large);
            solve_with_info(&p);
            check_infos(&p, "overflow");
            for (int64_t s = 0; s < p.systems; s++) assert_true(p.info[s].condition == INFINITY && p.info[s].row >= 0);
            free_problem(&p);
        }
}

/* --------------------------------------------------------------- blocks and bands */

/** Row `twice` is two times the row before; both have no coefficients that the other one cannot have. */
static void double_a_row(info_problem *p, int64_t twice)
{
    const int64_t j = twice / p->m, before = (twice - 1) / p->m;
    const int i = (int)(twice % p->m), i_before = (int)((twice - 1) % p->m);
    if (p->kind == BLOCKS) {
        for (int k = -1; k <= 1; k++)
            for (int q = 0; q < p->m; q++)
                put(p->t, p->matrix, at_matrix(p, 0, k, j, i, q),
                    2 * get(p->t, p->matrix, at_matrix(p, 0, k, before, i_before, q)));
        return;
    }
    put(p->t, p->matrix, at_matrix(p, 0, -p->kl, before, 0, 0), 0),
        put(p->t, p->matrix, at_matrix(p, 0, p->ku, j, 0, 0), 0);
    for (int k = -p->kl; k < p->ku; k++)
        put(p->t, p->matrix, at_matrix(p, 0, k, j, 0, 0),
            2 * get(p->t, p->matrix, at_matrix(p, 0, k + 1, before, 0, 0)));
}

static void blocks_and_bands_follow_the_definition(void **state)
{
    (void)state;
    for (int k = 0; k < 8 * 4 * 3 * 2 * 2; k++) {
        const int m = 1 + k % 8, d = k / 8 % 4;
        const bool blocks = k / 32 % 2;
        const trine_gtsv_options options = {.op = ops[k / 64 % 3],
                                            .cyclic = k / 192 % 2,
                                            .refine = k % 5 == 0,
                                            .memory = k % 7 == 0 ? TRINE_MEMORY_SMALL : TRINE_MEMORY_AUTO};
        if (!test_is_to_do()) continue;
        info_problem p = new_problem((info_problem){.kind = blocks ? BLOCKS : BANDS,
                                                    .t = all_dtypes[d],
                                                    .rows = blocks ? 240 : 700,
                                                    .m = m,
                                                    .kl = m,
                                                    .ku = 3 * k % 9,
                                                    .nrhs = MANY,
                                                    .in_place = k % 3 == 0,
                                                    .options = options});
        fill_random(&p, (uint64_t)k, 3.0 * p.m + p.kl + p.ku);
        solve_with_info(&p);
        check_infos(&p, "dominant");
        assert_int_equal(p.info[0].row, -1);
        if (blocks ? m > 1 : p.ku > 0) {
            fill_random(&p, (uint64_t)k, 1);
            double_a_row(&p, p.n / 2 + (blocks ? (m - p.n / 2 % m) % m + 1 : 0));
            solve_with_info(&p);
            check_infos(&p, "a row twice another one");
            if (p.info[0].row < 0)
                fail_msg(
                    "a row twice another one: kind %d, dtype %d, n %lld, m %d, kl %d, ku %d, cyclic %d, op %d, refine %d, memory %d: condition %g",
                    (int)p.kind, d, (long long)p.n, p.m, p.kl, p.ku, options.cyclic, (int)options.op, options.refine,
                    (int)options.memory, p.info[0].condition);
        }
        free_problem(&p);
    }
}

static void tiny_cyclic_systems_and_many_right_hand_sides_follow_the_definition(void **state)
{
    (void)state;
    int count = 0;
    for (int64_t rows = 1; rows <= 20; rows++)
        for (int kl = 0; kl <= 8; kl += 1 + (int)rows % 2)
            for (int ku = 0; ku <= 8; ku += 3, count++) {
                const bool blocks = count % 4 == 0;
                if (!test_is_to_do()) continue;
                info_problem p =
                    new_problem((info_problem){.kind = blocks ? BLOCKS : BANDS,
                                               .t = all_dtypes[count % 4],
                                               .rows = rows,
                                               .m = 1 + kl % 8,
                                               .kl = kl,
                                               .ku = ku,
                                               .nrhs = count % 50 ? 1 + count % 40 : 70000,
                                               .options = {.cyclic = count % 3 > 0, .op = ops[count / 3 % 3]}});
                fill_random(&p, (uint64_t)count, 2);
                check(p, -1, "tiny");
            }
}

/* ---------------------------------------------------------------------- batches */

/** Every third system is (1,0,1), of odd order singular; the others are random. */
typedef struct {
    trine_dtype t;
    int64_t n;
} random_seed;
static wide batch_value(void *argument, int64_t system, int64_t row, int64_t column)
{
    const random_seed *r = argument;
    return system % 3 == 1
               ? (wide)(row != column)
               : random_element(r->t, 3 + (uint64_t)system, (uint64_t)(row * r->n + column)) + (row == column ? 4 : 0);
}

static void systems_of_a_batch_are_told_apart(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 63, 64, 65, 129, 501, 5001};
    static const int64_t counts[] = {1, 3, 31, 64, 1000};
    int count = 0;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (size_t s = 0; s < sizeof counts / sizeof *counts; s++)
            for (int d = 0; d < 4; d++, count++) {
                if (sizes[n] * counts[s] > 100000 || !test_is_small(sizes[n]) || !test_is_to_do()) continue;
                info_problem p =
                    new_problem((info_problem){.kind = BATCH,
                                               .t = all_dtypes[d],
                                               .rows = sizes[n],
                                               .systems = counts[s],
                                               .interleaved = count % 2,
                                               .shared = count % 5 == 0,
                                               .in_place = count % 3 == 0,
                                               .options = {.op = ops[count % 3], .cyclic = count % 7 == 0}});
                set_coefficients(&p, batch_value, &(random_seed){p.t, p.n});
                fill_right_hand_sides(&p, 30);
                /* of one sign where the vector that A takes to zero has one: seen by every system */
                for (int64_t k = 0; k < p.systems; k++)
                    for (int64_t i = 0; i < p.n; i++) {
                        const double size = .5 + test_uniform((uint64_t)k, (uint64_t)i);
                        put(p.t, p.D, at_d(&p, k, i, 0), i % 4 == 2 ? -size : size);
                    }
                solve_with_info(&p);
                check_infos(&p, "batch");
                for (int64_t k = 0; k < p.systems && !p.shared && !p.options.cyclic && p.n <= 501; k++)
                    if ((p.info[k].row >= 0) != (k % 3 == 1 && p.n % 2))
                        fail_msg("n %lld, system %lld: condition %g, row %lld", (long long)p.n, (long long)k,
                                 p.info[k].condition, (long long)p.info[k].row);
                free_problem(&p);
            }
}

/* ------------------------------------------------------------------------ the rest */

/** A captured solve looks at what it is given when it is replayed. */
static void a_captured_solve_judges_new_data(void **state)
{
    (void)state;
    enum { N = 1001 };
    static double bands[2][4][N]; /* regular, singular; a, b, c and the right-hand side */
    trine_context ctx = test_context();
    trine_gtsv_info info, *device;
    void *data, *x, *work;
    size_t bytes;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(trine_gtsv_work_size(ctx, TRINE_D, N, 1, NULL, &bytes));
    OK(trine_alloc(ctx, TRINE_DEVICE, sizeof bands[0], &data));
    OK(trine_alloc(ctx, TRINE_DEVICE, sizeof bands[0][0], &x));
    OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &work));
    OK(trine_alloc(ctx, TRINE_DEVICE, sizeof info, (void **)&device));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++)
            bands[k][0][i] = bands[k][2][i] = 1, bands[k][1][i] = k ? 0 : 4, bands[k][3][i] = i % 4 == 2 ? -1 : 1;
    const trine_gtsv_options options = {.info = device};
    double *a = data;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(trine_gtsv(ctx, TRINE_D, N, 1, &options, a, a + N, a + 2 * N, a + 3 * N, N, x, N, work, bytes,
                  &(trine_exec){.stream = stream}));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    for (int k = 0; k < 4; k++) {
        OK(trine_copy(ctx, data, TRINE_DEVICE, bands[k % 2], TRINE_HOST, sizeof bands[0]));
        CUDA(cudaGraphLaunch(ready, stream));
        CUDA(cudaStreamSynchronize(stream));
        OK(trine_copy(ctx, &info, TRINE_HOST, device, TRINE_DEVICE, sizeof info));
        assert_true(k % 2 ? info.row >= 0 && info.row % 2 == 0 && info.condition > 1e13
                          : info.row == -1 && info.condition < 10);
    }
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    test_release(ctx, data), test_release(ctx, x), test_release(ctx, work), test_release(ctx, device);
    OK(trine_context_destroy(&ctx));
}

static void functions_without_an_info_refuse_it(void **state)
{
    (void)state;
    static const int32_t offsets[] = {0, 0};
    static double v[64], work[1 << 18];
    static int32_t rows[4];
    trine_gtsv_info *const there = (trine_gtsv_info *)v, *const crooked = (trine_gtsv_info *)((char *)v + 4);
    const trine_gtsv_options given = {.info = there}, not_aligned = {.info = crooked};
    const trine_strides strides = {1, 4};
    FAILS(TRINE_ERR_ARGUMENT, "trine_bgtf writes none",
          trine_bgtf(test_shared(1), TRINE_D, 2, 2, &given, v, v, v, work, sizeof work, NULL));
    FAILS(
        TRINE_ERR_ARGUMENT, "trine_bgtfs writes none",
        trine_bgtfs(test_shared(1), TRINE_D, 2, 2, 1, &given, work, sizeof work, v, 4, v, 4, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "trine_gtsv_csc2dense writes none",
          trine_gtsv_csc2dense(test_shared(1), TRINE_D, 4, 1, &given, v, v, v, v, rows, offsets, v, 4, work,
                               sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "trine_gtsv_csc2csc writes none",
          trine_gtsv_csc2csc(test_shared(1), TRINE_D, 4, 1, &given, v, v, v, v, rows, offsets, v, rows, offsets, work,
                             sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "8 bytes",
          trine_gtsv(test_shared(1), TRINE_D, 4, 1, &not_aligned, v, v, v, v, 4, v, 4, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "8 bytes",
          trine_bgtsv(test_shared(1), TRINE_D, 2, 2, 1, &not_aligned, v, v, v, v, 4, v, 4, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "8 bytes",
          trine_gbsv(test_shared(1), TRINE_D, 4, 1, 2, 1, &not_aligned, v, v, 4, v, 4, work, sizeof work, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "8 bytes",
          trine_gtsv_batch(test_shared(1), TRINE_D, 4, 1, &not_aligned, v, v, v, strides, v, v, strides, work,
                           sizeof work, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_families_are_told_from_regular_ones),
        cmocka_unit_test(scaling_changes_no_verdict),
        cmocka_unit_test(denormal_numbers_are_numbers),
        cmocka_unit_test(every_path_size_and_op_follows_the_definition),
        cmocka_unit_test(the_bound_is_one),
        cmocka_unit_test(the_limit_is_where_it_is_said_to_be),
        cmocka_unit_test(nothing_to_solve_says_nothing),
        cmocka_unit_test(rows_and_columns_of_zeros_are_named),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(blocks_and_bands_follow_the_definition),
        cmocka_unit_test(tiny_cyclic_systems_and_many_right_hand_sides_follow_the_definition),
        cmocka_unit_test(systems_of_a_batch_are_told_apart),
        cmocka_unit_test(a_captured_solve_judges_new_data),
        cmocka_unit_test(functions_without_an_info_refuse_it),
    };
    return TEST_MAIN(tests);
}
