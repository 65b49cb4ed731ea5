/* Dense rows of a Cholesky factor, summed again in extended precision.
 *
 * The hub of a graph, or the supply rail of a circuit, is a row of A with thousands of entries. Orderings put it last,
 * its row of L is longer still, and its pivot is what remains of a_ii after tens of thousands of subtractions. Every
 * library makes them in the precision of the factor: the residual of that one row is then tens of eps ||A||, whoever
 * factors and however exact the solves are (docs/notes/direct-solves.md has the numbers). So the few densest rows are
 * computed again, from the columns that are there:
 *
 *     L(1:i-1,1:i-1) y = A(1:i-1,i), L(i,1:i-1) = y^H, L(i,i) = sqrt(a_ii - y^H y), L(r,i) = (A(r,i) - L(r,1:i-1) y) /
 *     L(i,i),
 *
 * in long double and rounded once; a sparse forward solve for each. (Davis 2006, Direct Methods for Sparse Linear
 * Systems, section 4.7: up-looking Cholesky.) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/scalar.h"
#include "direct/direct.h"

enum { most_dense_rows = 16 }; /* each may cost as much as a solve with L */

struct dense_row {
    int64_t entries;
    int32_t position;
};

static int longest_first(const void *a, const void *b)
{
    const int64_t x = ((const struct dense_row *)a)->entries, y = ((const struct dense_row *)b)->entries;
    return (x < y) - (x > y);
}
static int by_position(const void *a, const void *b)
{
    return ((const struct dense_row *)a)->position - ((const struct dense_row *)b)->position;
}

/** The densest rows of P A P^T in their order, at most most_dense_rows. Dense is what AMD calls so: more than 10
 *  sqrt(n) entries. */
static trine_status find_dense_rows(trine_factor F, const struct factor_input *in, struct dense_row **rows,
                                    int64_t *count)
{
    trine_status status = TRINE_SUCCESS;
    const double enough = fmax(16, 10 * sqrt((double)in->n));
    *count = 0;
    for (int64_t j = 0; j < in->n; j++) *count += (double)(in->offsets[j + 1] - in->offsets[j]) > enough;
    TRY(ALLOC(F->ctx, *rows, *count));
    int64_t found = 0;
    for (int32_t k = 0; k < (int32_t)in->n; k++) {
        const int32_t j = F->row_perm[k];
        const int64_t entries = in->offsets[j + 1] - in->offsets[j];
        if ((double)entries > enough) (*rows)[found++] = (struct dense_row){entries, k};
    }
    qsort(*rows, (size_t)*count, sizeof **rows, longest_first);
    if (*count > most_dense_rows) *count = most_dense_rows;
    qsort(*rows, (size_t)*count, sizeof **rows, by_position);
done:
    return status;
}

/** Where row i stands in the ascending list; -1 if it does not. */
static int64_t find_row(const int32_t *rows, int64_t count, int32_t i)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (rows[middle] < i) low = middle + 1;
        else high = middle;
    }
    return low < count && rows[low] == i ? low : -1;
}

#define TEMPLATE "direct/dense_rows.inc"
#include "core/each_dtype.h"
static trine_status (*const recompute[])(trine_factor, const struct factor_input *, const int32_t *, int32_t,
                                         void *) = TABLE(recompute);

trine_status factor_recompute_dense_rows(trine_factor F, void *values)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct dense_row *rows = NULL;
    int32_t *position = NULL;
    int64_t count;
    TRY(find_dense_rows(F, &in, &rows, &count));
    if (!count) goto done;
    TRY(ALLOC(F->ctx, position, in.n));
    for (int64_t k = 0; k < in.n; k++) position[F->row_perm[k]] = (int32_t)k;
    for (int64_t d = 0; d < count; d++) TRY(recompute[F->dtype](F, &in, position, rows[d].position, values));
    trine_log(F->ctx, 2, "%lld dense row%s of L summed again in extended precision", (long long)count,
              count == 1 ? "" : "s");
done:
    trine_free(F->ctx, TRINE_HOST, position);
    trine_free(F->ctx, TRINE_HOST, rows);
    return status;
}
