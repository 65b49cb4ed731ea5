#include "factor_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Entries in rows, as they come. */
struct rows {
    struct problem P;
    int64_t room;
};

static void add(struct rows *r, int64_t column, value v)
{
    struct problem *P = &r->P;
    if (P->nnz == r->room) {
        r->room = 2 * r->room + 64;
        P->indices = realloc(P->indices, (size_t)r->room * sizeof *P->indices);
        P->values = realloc(P->values, (size_t)r->room * sizeof *P->values);
    }
    P->indices[P->nnz] = (int32_t)column;
    P->values[P->nnz++] = v;
}

static struct rows begin_rows(int64_t n)
{
    struct rows r = {.P = {.n = n, .offsets = calloc((size_t)n + 1, sizeof(int64_t))}};
    return r;
}

/** The `keep`-th largest of sizes[0 .. count - 1], which are put in order; 0 if there are no more than that. */
static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}
static double cut_off(double *sizes, int64_t count, int64_t keep)
{
    if (count <= keep) return 0;
    qsort(sizes, (size_t)count, sizeof *sizes, descending);
    return sizes[keep];
}

/** Columns first .. end - 1 of the row, as far as they are larger than `least` and belong to the `keep` largest. */
static void take_row(struct rows *to, const value *row, int64_t first, int64_t end, double least, int64_t keep,
                     double *sizes)
{
    int64_t count = 0;
    for (int64_t j = first; j < end; j++)
        if (cabs(row[j]) > least) sizes[count++] = cabs(row[j]);
    const double cut = cut_off(sizes, count, keep);
    for (int64_t j = first; j < end; j++)
        if (cabs(row[j]) > least && cabs(row[j]) > cut) add(to, j, row[j]);
}

struct factors incomplete_factors(const struct problem *A, double threshold, int64_t more)
{
    const int64_t n = A->n;
    struct rows L = begin_rows(n), U = begin_rows(n);
    value *row = calloc((size_t)n + 1, sizeof *row);
    double *sizes = malloc((size_t)(n + 1) * sizeof *sizes);
    int64_t *in_row = calloc((size_t)n + 1, sizeof *in_row); /* i + 1: A has an entry there in row i */
    const int64_t beyond = more == ZERO_FILL ? 0 : more;
    for (int64_t i = 0; i < n; i++) {
        double norm = 0;
        int64_t own[2] = {0, 0};
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
            row[A->indices[k]] = A->values[k], in_row[A->indices[k]] = i + 1;
            norm += creal(A->values[k] * conj(A->values[k]));
            own[A->indices[k] > i] += A->indices[k] != i;
        }
        const double least = threshold * sqrt(norm);
        for (int64_t k = 0; k < i; k++) {
            if (row[k] == 0) continue;
            row[k] /= U.P.values[U.P.offsets[k]]; /* the diagonal is a row's first */
            if (cabs(row[k]) <= least) {
                row[k] = 0;
                continue;
            }
            for (int64_t q = U.P.offsets[k] + 1; q < U.P.offsets[k + 1]; q++)
                if (more != ZERO_FILL || in_row[U.P.indices[q]] == i + 1) row[U.P.indices[q]] -= row[k] * U.P.values[q];
        }
        take_row(&L, row, 0, i, least, own[0] + beyond, sizes);
        add(&L, i, 1);
        L.P.offsets[i + 1] = L.P.nnz;
        add(&U, i, row[i]);
        take_row(&U, row, i + 1, n, least, own[1] + beyond, sizes);
        U.P.offsets[i + 1] = U.P.nnz;
        memset(row, 0, (size_t)n * sizeof *row);
    }
    free(row);
    free(sizes);
    free(in_row);
    return (struct factors){L.P, U.P};
}

struct problem convection(int64_t side, bool complex_shift, uint64_t seed)
{
    static const double wind[2] = {0.7, -0.4};
    struct rows r = begin_rows(side * side);
    for (int64_t i = 0; i < side * side; i++) {
        const int64_t x = i % side, y = i / side;
        const double scale = exp2(2 * test_uniform(seed, (uint64_t)i) - 1);
        if (y > 0) add(&r, i - side, scale * (-1 - wind[1]));
        if (x > 0) add(&r, i - 1, scale * (-1 - wind[0]));
        add(&r, i, scale * (4 + (complex_shift ? 0.5 * _Complex_I : 0)));
        if (x + 1 < side) add(&r, i + 1, scale * (-1 + wind[0]));
        if (y + 1 < side) add(&r, i + side, scale * (-1 + wind[1]));
        r.P.offsets[i + 1] = r.P.nnz;
    }
    return r.P;
}

struct problem scattered(int64_t n, int64_t row, bool complex_values, uint64_t seed)
{
    struct rows r = begin_rows(n);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        const int64_t first = r.P.nnz;
        int64_t diagonal = -1;
        for (int64_t j = 0; j < n; j++) {
            const uint64_t pair = (uint64_t)((i < j ? i : j) * n + (i < j ? j : i));
            if (i != j && test_uniform(seed, pair) * (double)n > (double)row) continue;
            value v = random_value(seed + 1, (uint64_t)(i * n + j));
            if (!complex_values) v = creal(v);
            if (i == j) diagonal = r.P.nnz;
            else sum += cabs(v);
            add(&r, j, v);
        }
        r.P.values[diagonal] = 0.6 * sum + 0.1 + (complex_values ? 0.2 * _Complex_I : 0);
        r.P.offsets[i + 1] = r.P.nnz;
        assert_true(r.P.nnz > first);
    }
    return r.P;
}
