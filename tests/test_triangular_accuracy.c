/* Partitioned inverses of triangles that factorizations make: backward errors, beside those of substitution. */
#include "factor_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Largest normwise and componentwise backward error of a solve by rows, in eps of the precision. */
struct errors { double normwise, componentwise; };

static struct errors errors_of(const struct problem *P, trine_dtype t, const void *b, const void *x)
{
    long double residual_norm = 0, matrix_norm = 0, x_norm = 0, b_norm = 0, worst = 0;
    char rounded[16];
    for (int64_t i = 0; i < P->n; i++) {
        wide residual = get(t, b, i);
        long double size = cabsl(residual), row = 0;
        b_norm = fmaxl(b_norm, size);
        x_norm = fmaxl(x_norm, cabsl(get(t, x, i)));
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
            put(t, rounded, 0, P->values[k]);
            const wide entry = get(t, rounded, 0), term = entry * get(t, x, P->indices[k]);
            residual -= term, size += cabsl(term), row += cabsl(entry);
        }
        matrix_norm = fmaxl(matrix_norm, row);
        residual_norm = fmaxl(residual_norm, cabsl(residual));
        if (size > 0) worst = fmaxl(worst, cabsl(residual) / size);
    }
    const double eps = eps_of(t);
    return (struct errors){(double)(residual_norm / (matrix_norm * x_norm + b_norm)) / eps, (double)worst / eps};
}

/** Right-hand sides at random, or those of a solution at random or of ones. */
enum sides { RANDOM_B, RANDOM_X, ONES, KINDS_OF_SIDES };
static void make_side(const struct problem *P, trine_dtype t, enum sides kind, void *b)
{
    char rounded[16];
    for (int64_t i = 0; i < P->n; i++) {
        wide sum = 0;
        for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
            put(t, rounded, 0, P->values[k]);
            sum += get(t, rounded, 0) * (kind == ONES ? 1 : random_element(t, 78, (uint64_t)P->indices[k]));
        }
        put(t, b, i, kind == RANDOM_B ? random_element(t, 77, (uint64_t)i) : sum);
    }
}

static struct errors solve_by(struct fixture *f, trine_triangular_options options, enum sides kind)
{
    const size_t bytes = (size_t)f->P.n * trine_dtype_size(f->t);
    char *b = malloc(bytes), *x = malloc(bytes);
    set_plan(f, options);
    OK(trine_triangular_check(f->plan, NULL));
    make_side(&f->P, f->t, kind, b);
    void *d = test_to_device(f->ctx, b, bytes);
    const trine_dense block = {d, f->P.n, 1, f->P.n, TRINE_COLMAJOR};
    OK(trine_triangular_solve(f->plan, TRINE_N, NULL, &block, &block, NULL));
    test_from_device(f->ctx, x, d, bytes);
    test_release(f->ctx, d);
    const struct errors found = errors_of(&f->P, f->t, b, x);
    free(b);
    free(x);
    return found;
}

/** What is promised: normwise at most 10 eps, componentwise at most 100 eps or what substitution has. Takes P over. */
static struct errors check_triangle(struct problem P, trine_dtype t, trine_uplo uplo, const char *what)
{
    static const int32_t levels[] = {0, 16};
    struct fixture f = open_problem(P, t, false);
    struct errors most = {0, 0};
    for (int side = 0; side < KINDS_OF_SIDES; side++) {
        const struct errors plain = solve_by(&f, (trine_triangular_options){.uplo = uplo, .expected_solves = 1}, side);
        for (int l = 0; l < 2; l++) {
            const struct errors e =
                solve_by(&f,
                         (trine_triangular_options){
                             .uplo = uplo, .method = TRINE_TRI_PARTITIONED_INVERSE, .partition.levels = levels[l]},
                         side);
            if (!(e.normwise <= 10 && e.componentwise <= fmax(100, plain.componentwise)))
                fail_msg("%s, dtype %d, right-hand side %d, groups of %d: %.3g eps normwise, %.3g componentwise (%.3g)",
                         what, (int)t, side, levels[l], e.normwise, e.componentwise, plain.componentwise);
            most.normwise = fmax(most.normwise, e.normwise);
            most.componentwise = fmax(most.componentwise, e.componentwise);
        }
    }
    close_fixture(&f);
    return most;
}

static void check_factors(double threshold, int64_t more)
{
    struct errors most = {0, 0};
    for (int kind = 0; kind < 3; kind++)
        for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
            if (!test_is_to_do()) continue;
            const int64_t side = test_is_reduced() ? 8 : 24;
            struct problem A = kind == 0   ? convection(side, is_complex(t), 5)
                               : kind == 1 ? scattered(side * side / 2, 4, is_complex(t), 6)
                                           : scattered(side * side, 2, is_complex(t), 7);
            const struct factors F = incomplete_factors(&A, threshold, more < A.n ? more : A.n);
            const struct errors lower = check_triangle(F.L, t, TRINE_LOWER, "L"),
                                upper = check_triangle(F.U, t, TRINE_UPPER, "U");
            most.normwise = fmax(most.normwise, fmax(lower.normwise, upper.normwise));
            most.componentwise = fmax(most.componentwise, fmax(lower.componentwise, upper.componentwise));
            problem_free(&A);
        }
    print_message("at most %.3g eps normwise, %.3g eps componentwise\n", most.normwise, most.componentwise);
}

static void exact_factors_are_solved_accurately(void **state)
{
    (void)state;
    check_factors(0, INT64_MAX);
}

static void incomplete_factors_are_solved_accurately(void **state)
{
    (void)state;
    check_factors(1e-3, 10);
    check_factors(0, ZERO_FILL);
}

/** The generator itself: exact factors multiply to A, those of ILU(0) do so within A's pattern, incomplete ones have
 *  the entries that they may. */
static void the_generator_factors(void **state)
{
    (void)state;
    struct problem A = scattered(60, 5, true, 3);
    const struct factors F = incomplete_factors(&A, 0, A.n), I = incomplete_factors(&A, 1e-1, 2),
                         Z = incomplete_factors(&A, 0, ZERO_FILL);
    value *row = calloc((size_t)A.n, sizeof *row);
    for (int64_t i = 0; i < A.n; i++) {
        for (int64_t k = F.L.offsets[i]; k < F.L.offsets[i + 1]; k++)
            for (int64_t q = F.U.offsets[F.L.indices[k]]; q < F.U.offsets[F.L.indices[k] + 1]; q++)
                row[F.U.indices[q]] += F.L.values[k] * F.U.values[q];
        for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++) row[A.indices[k]] -= A.values[k];
        for (int64_t j = 0; j < A.n; j++) {
            assert_true(cabs(row[j]) < 1e-12);
            row[j] = 0;
        }
        for (int64_t k = Z.L.offsets[i]; k < Z.L.offsets[i + 1]; k++)
            for (int64_t q = Z.U.offsets[Z.L.indices[k]]; q < Z.U.offsets[Z.L.indices[k] + 1]; q++)
                row[Z.U.indices[q]] += Z.L.values[k] * Z.U.values[q];
        for (int64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++)
            assert_true(cabs(row[A.indices[k]] - A.values[k]) < 1e-12);
        memset(row, 0, (size_t)A.n * sizeof *row);
        const int64_t all = A.offsets[i + 1] - A.offsets[i];
        assert_true(I.L.offsets[i + 1] - I.L.offsets[i] + I.U.offsets[i + 1] - I.U.offsets[i] <= all + 1 + 4);
    }
    assert_true(I.L.nnz + I.U.nnz < F.L.nnz + F.U.nnz);
    assert_int_equal(Z.L.nnz + Z.U.nnz, A.nnz + A.n); /* L has its diagonal, too */
    free(row);
    problem_free(&A);
    for (int k = 0; k < 3; k++) {
        struct problem L = k == 2 ? Z.L : k ? F.L : I.L, U = k == 2 ? Z.U : k ? F.U : I.U;
        problem_free(&L);
        problem_free(&U);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_generator_factors),
                                       cmocka_unit_test(exact_factors_are_solved_accurately),
                                       cmocka_unit_test(incomplete_factors_are_solved_accurately)};
    return TEST_MAIN(tests);
}
