/* Incomplete factors against their definitions in long double, and applications against the factors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ilu_support.h"

/* ---------------------------------------------------------------- definitions */

/** Fill levels by paths: (i,j) has the length of the shortest path from i to j through vertices before both, less 1
 *  (Hysom and Pothen 2002, A New Parallel Algorithm for Incomplete Factor Preconditioning, Theorem 1). */
static int level_of(const sample *s, int64_t i, int64_t j)
{
    const int64_t n = s->n, least = i < j ? i : j;
    int64_t queue[64], tail = 0;
    int distance[64];
    for (int64_t v = 0; v < n; v++) distance[v] = -1;
    if (i == j) return 0;
    distance[i] = 0;
    queue[tail++] = i;
    for (int64_t head = 0; head < tail; head++)
        for (int64_t w = 0; w < n; w++) {
            const int64_t v = queue[head];
            if (!s->has[v * n + w] || distance[w] >= 0 || (w != j && w >= least)) continue;
            distance[w] = distance[v] + 1;
            if (w == j) return distance[w] - 1;
            queue[tail++] = w;
        }
    return 1000;
}

static void test_lu_on_a_pattern(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int level = 0; level <= 48; level = level < 4 ? level + 1 : level * 2) {
            const sample s = make_sample(test_cpu(1), all_dtypes[t], 48, 0.06, (uint64_t)(10 * t + level),
                                         sample_kinds[(t + level) % 4]);
            const trine_precond_options o = {.method = level ? TRINE_PRECOND_ILUK : TRINE_PRECOND_ILU0,
                                             .fill_level = level};
            trine_precond p = plan_of(test_cpu(1), s.A, &o);
            factors f = new_factors(s.n);
            get_factors(p, o.method, &s, &f);
            for (int64_t i = 0; i < s.n; i++)
                for (int64_t j = 0; j < s.n; j++) assert_int_equal(f.pattern[i * s.n + j], level_of(&s, i, j) <= level);
            assert_factors(&s, &f);
            if (level == 48) /* no fill is left out: A itself */
                for (int64_t k = 0; k < s.n * s.n; k++) f.pattern[k] = true;
            assert_factors(&s, &f);
            end_factors(&f);
            OK(trine_precond_destroy(&p));
            end_sample((sample *)&s);
        }
}

static void test_cholesky(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int kind = 0; kind < 4; kind++) {
            sample s =
                make_sample(test_cpu(1), all_dtypes[t], 41, 0.1, (uint64_t)(50 + t), HERMITIAN | sample_kinds[kind]);
            trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_IC0});
            factors f = new_factors(s.n);
            get_factors(p, TRINE_PRECOND_IC0, &s, &f);
            for (int64_t i = 0; i < s.n; i++) {
                for (int64_t j = 0; j <= i; j++) assert_int_equal(f.pattern[i * s.n + j], s.has[i * s.n + j]);
                assert_true(creall(f.L[i * s.n + i]) > 0 && cimagl(f.L[i * s.n + i]) == 0);
            }
            assert_factors(&s, &f);
            end_factors(&f);
            OK(trine_precond_destroy(&p));
            end_sample(&s);
        }
}

/** What is left of a row with the largest entries alone: of `most` in columns begin .. end - 1, lower ones first. */
static void keep_largest(wide *row, const long double *size, int64_t begin, int64_t end, int64_t most)
{
    for (int64_t j = begin; j < end; j++) {
        int64_t larger = 0;
        for (int64_t k = begin; k < end; k++)
            larger += row[k] != 0 && (size[k] > size[j] || (size[k] == size[j] && k < j));
        if (larger >= most) row[j] = 0;
    }
}

/** ILUT by definition, in long double (Saad 2003, Algorithm 10.6, with l_ik u_kk in place of l_ik). */
static void threshold_by_definition(const sample *s, double tolerance, int64_t most, wide *L, wide *U)
{
    const int64_t n = s->n;
    wide *w = malloc((size_t)n * sizeof *w);
    long double *size = malloc((size_t)n * sizeof *size);
    for (int64_t i = 0; i < n; i++) {
        long double norm = 0;
        for (int64_t j = 0; j < n; j++) {
            w[j] = s->a[i * n + j];
            norm += cabsl(w[j]) * cabsl(w[j]);
        }
        const long double least = tolerance * sqrtl(norm);
        for (int64_t k = 0; k < i; k++) {
            size[k] = cabsl(w[k]);
            if (size[k] < least) w[k] = 0;
            if (w[k] == 0) continue;
            w[k] /= U[k * n + k];
            for (int64_t j = k + 1; j < n; j++) w[j] -= w[k] * U[k * n + j];
        }
        for (int64_t j = i + 1; j < n; j++) {
            size[j] = cabsl(w[j]);
            if (size[j] < least) w[j] = 0;
        }
        keep_largest(w, size, 0, i, most);
        keep_largest(w, size, i + 1, n, most);
        for (int64_t j = 0; j < n; j++) {
            L[i * n + j] = j < i ? w[j] : i == j;
            U[i * n + j] = j < i ? 0 : w[j];
        }
    }
    free(w), free(size);
}

static void test_threshold(void **state)
{
    static const double tolerances[] = {1e-12, 0.01, 0.05, 0.3};
    static const int64_t most[] = {1000, 6, 2, 1};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 16; k++) {
            sample s = make_sample(test_cpu(1), all_dtypes[t], 45, 0.1, (uint64_t)(100 + t), sample_kinds[k % 4]);
            const trine_precond_options o = {
                .method = TRINE_PRECOND_ILUT, .drop_tolerance = tolerances[k % 4], .row_entries = most[k / 4]};
            trine_precond p = plan_of(test_cpu(1), s.A, &o);
            factors f = new_factors(s.n), g = new_factors(s.n);
            get_factors(p, o.method, &s, &f);
            threshold_by_definition(&s, o.drop_tolerance, o.row_entries, g.L, g.U);
            for (int64_t i = 0; i < s.n; i++) {
                long double largest = 0;
                for (int64_t j = 0; j < s.n; j++) largest = fmaxl(largest, cabsl(s.a[i * s.n + j]));
                for (int64_t j = 0; j < s.n; j++) {
                    const int64_t at = i * s.n + j;
                    const wide found = j < i ? f.L[at] : f.U[at], right = j < i ? g.L[at] : g.U[at];
                    if (k % 4) assert_int_equal(f.pattern[at], right != 0);
                    assert_true(cabsl(found - right) <= 100 * eps_of(s.t) * largest);
                }
            }
            end_factors(&f), end_factors(&g);
            OK(trine_precond_destroy(&p));
            end_sample(&s);
        }
}

/* --------------------------------------------------------------- applications */

/** Row-major dense op(A). */
static wide entry_of(const wide *A, int64_t n, trine_transpose op, int64_t i, int64_t j)
{
    return op == TRINE_N ? A[i * n + j] : op == TRINE_T ? A[j * n + i] : conjl(A[j * n + i]);
}

/** W T = I on the pattern of T, row by row: m T(J,J) = e by elimination, without a thought of T's form. */
static void invert_on_pattern(int64_t n, const wide *T, wide *W)
{
    memset(W, 0, (size_t)(n * n) * sizeof *W);
    for (int64_t i = 0; i < n; i++) {
        int64_t J[64], count = 0;
        wide G[64][65], m[64];
        for (int64_t j = 0; j < n; j++)
            if (T[i * n + j] != 0) J[count++] = j;
        for (int64_t r = 0; r < count; r++) {
            for (int64_t c = 0; c < count; c++) G[r][c] = T[J[c] * n + J[r]];
            G[r][count] = J[r] == i;
        }
        for (int64_t c = 0; c < count; c++) {
            int64_t best = c;
            for (int64_t r = c; r < count; r++)
                if (cabsl(G[r][c]) > cabsl(G[best][c])) best = r;
            for (int64_t q = 0; q <= count; q++) {
                const wide swap = G[c][q];
                G[c][q] = G[best][q];
                G[best][q] = swap;
            }
            for (int64_t r = c + 1; r < count; r++) {
                const wide l = G[r][c] / G[c][c];
                for (int64_t q = c; q <= count; q++) G[r][q] -= l * G[c][q];
            }
        }
        for (int64_t r = count; r-- > 0;) {
            m[r] = G[r][count];
            for (int64_t c = r + 1; c < count; c++) m[r] -= G[r][c] * m[c];
            m[r] /= G[r][r];
            W[i * n + J[r]] = m[r];
        }
    }
}

/** y of op(T) y = z by so many steps y := y + op(W) (z - op(T) y); sweeps 0: exactly, by n of them. */
static void iterate_by_definition(int64_t n, const wide *T, trine_transpose op, int64_t sweeps, const wide *z, wide *y)
{
    wide *W = malloc((size_t)(n * n + 1) * sizeof *W), *r = malloc((size_t)(n + 1) * sizeof *r);
    invert_on_pattern(n, T, W);
    for (int64_t i = 0; i < n; i++) y[i] = 0;
    for (int64_t step = 0; step < (sweeps ? sweeps : n); step++) { /* I - W T is nilpotent */
        for (int64_t i = 0; i < n; i++) {
            r[i] = z[i];
            for (int64_t j = 0; j < n; j++) r[i] -= entry_of(T, n, op, i, j) * y[j];
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) y[i] += entry_of(W, n, op, i, j) * r[j];
    }
    free(W), free(r);
}

/** x := op(M)^-1 b from dense factors. */
static void apply_by_definition(int64_t n, const factors *f, trine_transpose op, int64_t sweeps, const wide *b, wide *x)
{
    wide *y = malloc((size_t)(n + 1) * sizeof *y);
    iterate_by_definition(n, op == TRINE_N ? f->L : f->U, op, sweeps, b, y);
    iterate_by_definition(n, op == TRINE_N ? f->U : f->L, op, sweeps, y, x);
    free(y);
}

/** Position of element (i,j). */
static int64_t place(const trine_dense *X, int64_t i, int64_t j)
{
    return X->layout == TRINE_COLMAJOR ? i + j * X->ld : i * X->ld + j;
}

/** X := alpha op(M)^-1 B: columns of random numbers, layouts, works, in place or not. */
static void try_apply(trine_precond p, const sample *s, const factors *f, trine_transpose op, int64_t sweeps,
                      int64_t nrhs, int variant)
{
    const int64_t n = s->n;
    const bool rows = variant & 1, in_place = variant & 2, own_work = variant & 4;
    const int64_t ld = rows ? nrhs + 2 : n + 3, count = ld * (rows ? n : nrhs);
    char *b = calloc((size_t)count + 1, 16), *x = calloc((size_t)count + 1, 16), alpha[16];
    const trine_dense B = {b, n, nrhs, ld, rows ? TRINE_ROWMAJOR : TRINE_COLMAJOR};
    trine_dense X = {in_place ? b : x, n, nrhs, ld, B.layout};
    if (!in_place && variant & 8) {
        X.layout = rows ? TRINE_COLMAJOR : TRINE_ROWMAJOR;
        X.ld = 0;
    }
    wide *right = malloc((size_t)(n + 1) * sizeof *right), *column = malloc((size_t)(n + 1) * sizeof *column),
         *given = malloc((size_t)(n * nrhs + 1) * sizeof *given);
    put(s->t, alpha, 0, -1.5L);
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) {
            put(s->t, b, place(&B, i, j), random_element(s->t, 77, (uint64_t)(i + n * j)));
            given[i + n * j] = get(s->t, b, place(&B, i, j));
        }
    trine_exec exec = {0};
    if (!own_work) OK(trine_precond_work(p, nrhs, NULL, NULL, &exec.work));
    OK(trine_precond_apply(p, op, alpha, &B, &X, &exec));
    trine_work_destroy(&exec.work);
    if (!X.ld) X.ld = rows ? n : nrhs;
    for (int64_t j = 0; j < nrhs; j++) {
        long double largest = 0;
        memcpy(column, given + n * j, (size_t)n * sizeof *column);
        apply_by_definition(n, f, op, sweeps, column, right);
        for (int64_t i = 0; i < n; i++) largest = fmaxl(largest, cabsl(right[i]));
        for (int64_t i = 0; i < n; i++)
            assert_true(cabsl(get(s->t, X.data, place(&X, i, j)) + 1.5L * right[i]) <= 60 * eps_of(s->t) * largest);
    }
    free(b), free(x), free(right), free(column), free(given);
}

static void test_apply(void **state)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    static const int64_t sizes[] = {0, 1, 2, 31};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < ILU_METHODS; k++)
            for (int q = 0; q < 4; q++) {
                sample s = make_sample(test_cpu(1), all_dtypes[t], sizes[q], 0.15, (uint64_t)(200 + 10 * k + t),
                                       ilu_methods[k] == TRINE_PRECOND_IC0 ? HERMITIAN : sample_kinds[k % 4]);
                const int sweeps = ilu_methods[k] == TRINE_PRECOND_ISAI ? 1 + t : 0;
                const trine_precond_options o = {
                    .method = ilu_methods[k], .ops = TRINE_N | TRINE_T | TRINE_H, .max_nrhs = 3, .sweeps = sweeps};
                trine_precond p = plan_of(test_cpu(q ? 2 : 1), s.A, &o);
                factors f = new_factors(s.n);
                get_factors(p, ilu_methods[k], &s, &f);
                for (int op = 0; op < 3; op++)
                    for (int variant = 0; variant < 16; variant += 1 + (variant + op + t) % 3)
                        try_apply(p, &s, &f, ops[op], sweeps, variant % 5 ? 1 : 3, variant);
                end_factors(&f);
                OK(trine_precond_destroy(&p));
                end_sample(&s);
            }
}

/** The error of the steps is nilpotent: after as many as there are rows they are exact. */
static void test_many_sweeps_are_exact(void **state)
{
    (void)state;
    sample s = make_sample(test_cpu(1), TRINE_D, 20, 0.4, 3, 0);
    trine_precond p = plan_of(test_cpu(1), s.A, &(trine_precond_options){.method = TRINE_PRECOND_ISAI, .sweeps = 20});
    factors f = new_factors(s.n);
    get_factors(p, TRINE_PRECOND_ISAI, &s, &f);
    try_apply(p, &s, &f, TRINE_N, 0, 1, 0);
    end_factors(&f);
    OK(trine_precond_destroy(&p));
    end_sample(&s);
}

/* ----------------------------------------------------------------- convergence */

/** Independent values of the iterations at 100 x 100 (Klein 2024, Section 5.3.2): ILU(0); ISAI with 1 and 2 sweeps. */
static void test_convergence(void **state)
{
    static const struct {
        const char *spec;
        int ilu, isai[2];
    } rows[] = {
        {"laplace2d:n=100", 41, {76, 48}},
        {"aniso2:n=100", 24, {68, 37}},
        {"rotate7:n=100", 11, {123, 59}},
        {"grounded2d:n=100", 133, {236, 121}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        trine_matrix A;
        OK(trine_matrix_gallery(test_cpu(2), &A, rows[k].spec, TRINE_D));
        for (int sweeps = 0; sweeps <= 2; sweeps++) {
            trine_precond p = plan_of(
                test_cpu(2), A,
                &(trine_precond_options){.method = sweeps ? TRINE_PRECOND_ISAI : TRINE_PRECOND_ILU0, .sweeps = sweeps});
            const int right = sweeps ? rows[k].isai[sweeps - 1] : rows[k].ilu;
            assert_in_range(test_gmres(A, p, 0, 1000), right - 1, right + 1);
            OK(trine_precond_destroy(&p));
        }
        OK(trine_matrix_destroy(&A));
    }
}

/** More entries, fewer iterations: ILU(k) and ILUT. */
static void test_fill_helps(void **state)
{
    (void)state;
    trine_matrix A;
    int64_t last = 1000, entries = 0;
    OK(trine_matrix_gallery(test_cpu(2), &A, "laplace2d:n=60", TRINE_D));
    const trine_precond_options options[] = {{.method = TRINE_PRECOND_ILU0},
                                             {.method = TRINE_PRECOND_ILUK, .fill_level = 1},
                                             {.method = TRINE_PRECOND_ILUK, .fill_level = 4},
                                             {.method = TRINE_PRECOND_ILUT, .drop_tolerance = 1e-3}};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        trine_precond p = plan_of(test_cpu(2), A, &options[k]);
        trine_precond_info info;
        OK(trine_precond_get_info(p, &info));
        const int64_t iterations = test_gmres(A, p, 0, 1000);
        assert_true(iterations > 0 && iterations < last && info.factor_entries > entries && info.bytes > 0);
        last = iterations;
        entries = info.factor_entries;
        OK(trine_precond_destroy(&p));
    }
    OK(trine_matrix_destroy(&A));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lu_on_a_pattern),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_many_sweeps_are_exact),
        cmocka_unit_test(test_convergence),
        cmocka_unit_test(test_fill_helps),
    };
    return TEST_MAIN(tests);
}
