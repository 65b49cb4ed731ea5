/* Levels of MULTILEVEL on the host: weights, aggregates, prolongations, products. */
#include "precond/multilevel/multilevel.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <trine/forest.h>

#include "core/scalar.h"
#include "core/team.h"

/** |a_ii| over the sum of the other |a_ij| from which on a row has no place on the next level; the share of a row's
 *  largest entry from which on an entry is strong. */
static const double DOMINANCE = 5, STRONG = 0.25;

/** C = A B, with room for a mark of each column for each thread. */
struct multiplication {
    const struct level_matrix *A, *B;
    int64_t *marks;
    struct level_matrix *C;
};

#define REAL_EPS (sizeof(R) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)
#define TEMPLATE "precond/multilevel/levels.inc"
#include "core/each_dtype.h"

void level_matrix_free(trine_context ctx, struct level_matrix *A)
{
    if (!A->is_lent) {
        trine_free(ctx, TRINE_HOST, A->offsets);
        trine_free(ctx, TRINE_HOST, A->columns);
        trine_free(ctx, TRINE_HOST, A->values);
    }
    *A = (struct level_matrix){0};
}

/** Columns and values for nnz entries. */
static trine_status make_entries(trine_context ctx, trine_dtype t, int64_t nnz, struct level_matrix *A)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, A->columns, nnz));
    A->values = trine_host_alloc(ctx, nnz, trine_dtype_size(t));
    if (!A->values) status = TRINE_ERR_MEMORY;
done:
    return status;
}

int64_t level_weights(trine_dtype t, const struct level_matrix *A, void *W)
{
    static int64_t (*const weights[])(const struct level_matrix *, void *) = TABLE(weights);
    return weights[t](A, W);
}

/* ---------------------------------------------------------------- matrices */

trine_status level_prolongation(trine_context ctx, trine_dtype t, const struct level_matrix *A,
                                const int32_t *aggregate, int64_t count, struct level_matrix *P)
{
    static void (*const largest[])(const struct level_matrix *, double *) = TABLE(largest);
    static void (*const prolong[])(const struct level_matrix *, const int32_t *, const double *, int64_t *,
                                   struct level_matrix *) = TABLE(prolong);
    trine_status status = TRINE_SUCCESS;
    double *most = NULL;
    int64_t *mark = NULL;
    *P = (struct level_matrix){.rows = A->rows, .cols = count};
    TRY(ALLOC(ctx, most, A->rows));
    TRY(ALLOC(ctx, mark, count));
    memset(mark, -1, (size_t)count * sizeof *mark);
    TRY(ALLOC(ctx, P->offsets, A->rows + 1));
    TRY(make_entries(ctx, t, A->nnz, P));
    largest[t](A, most);
    prolong[t](A, aggregate, most, mark, P);
done:
    trine_free(ctx, TRINE_HOST, most);
    trine_free(ctx, TRINE_HOST, mark);
    return status;
}

trine_status level_transpose(trine_context ctx, trine_dtype t, const struct level_matrix *P, struct level_matrix *into)
{
    static void (*const transpose[])(const struct level_matrix *, struct level_matrix *) = TABLE(transpose);
    trine_status status = TRINE_SUCCESS;
    *into = (struct level_matrix){.rows = P->cols, .cols = P->rows, .nnz = P->nnz};
    TRY(CALLOC(ctx, into->offsets, P->cols + 1));
    TRY(make_entries(ctx, t, P->nnz, into));
    for (int64_t k = 0; k < P->nnz; k++) into->offsets[P->columns[k] + 1]++;
    for (int64_t i = 0; i < P->cols; i++) into->offsets[i + 1] += into->offsets[i];
    transpose[t](P, into);
    for (int64_t i = P->cols; i > 0; i--) into->offsets[i] = into->offsets[i - 1];
    into->offsets[0] = 0;
done:
    return status;
}

/** Entries of rows of A B into their offsets, each in that of the next row. */
static void count_rows(void *user, int64_t begin, int64_t end, int me)
{
    const struct multiplication *m = user;
    const struct level_matrix *A = m->A, *B = m->B;
    int64_t *mark = m->marks + B->cols * me;
    for (int64_t i = begin; i < end; i++) {
        int64_t count = 0;
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
            for (int64_t l = B->offsets[A->columns[k]]; l < B->offsets[A->columns[k] + 1]; l++) {
                const int32_t c = B->columns[l];
                count += mark[c] != i;
                mark[c] = i;
            }
        m->C->offsets[i + 1] = count;
    }
}

enum { ROWS_AT_ONCE = 256 };

trine_status level_multiply(trine_context ctx, trine_dtype t, const struct level_matrix *A,
                            const struct level_matrix *B, int64_t most, struct level_matrix *C)
{
    static const trine_team_range multiply_rows[] = TABLE(multiply_rows);
    trine_status status = TRINE_SUCCESS;
    const int threads = ctx->threads;
    struct multiplication m = {A, B, NULL, C};
    *C = (struct level_matrix){.rows = A->rows, .cols = B->cols};
    TRY(ALLOC(ctx, m.marks, threads * B->cols));
    memset(m.marks, -1, (size_t)(threads * B->cols) * sizeof *m.marks);
    TRY(ALLOC(ctx, C->offsets, A->rows + 1));
    C->offsets[0] = 0;
    trine_team_for(ctx, threads, A->rows, ROWS_AT_ONCE, count_rows, &m);
    for (int64_t i = 0; i < A->rows; i++) C->offsets[i + 1] += C->offsets[i];
    C->nnz = C->offsets[A->rows];
    if (C->nnz > most) goto done;
    TRY(make_entries(ctx, t, C->nnz, C));
    memset(m.marks, -1, (size_t)(threads * B->cols) * sizeof *m.marks);
    trine_team_for(ctx, threads, A->rows, ROWS_AT_ONCE, multiply_rows[t], &m);
done:
    trine_free(ctx, TRINE_HOST, m.marks);
    return status;
}

trine_status level_invert(trine_context ctx, trine_dtype t, const struct level_matrix *A, struct level_matrix *inverse)
{
    static void (*const invert[])(const struct level_matrix *, void *, int32_t *, struct level_matrix *) =
        TABLE(invert);
    trine_status status = TRINE_SUCCESS;
    const int64_t n = A->rows;
    int32_t *order = NULL;
    void *dense = trine_host_alloc(ctx, n * n, trine_dtype_size(t));
    if (!dense) return TRINE_ERR_MEMORY;
    *inverse = (struct level_matrix){.rows = n, .cols = n, .nnz = n * n};
    TRY(ALLOC(ctx, order, 2 * n));
    TRY(ALLOC(ctx, inverse->offsets, n + 1));
    TRY(make_entries(ctx, t, n * n, inverse));
    for (int64_t i = 0; i <= n; i++) inverse->offsets[i] = i * n;
    for (int64_t i = 0; i < n * n; i++) inverse->columns[i] = (int32_t)(i % n);
    invert[t](A, dense, order, inverse);
done:
    trine_free(ctx, TRINE_HOST, dense);
    trine_free(ctx, TRINE_HOST, order);
    return status;
}

/* -------------------------------------------------------------- aggregates */

/** Pairs of rows by the strongest entries of A as aggregates; rows that are not kept have none. */
static trine_status pair_rows(trine_context ctx, trine_dtype t, const struct level_matrix *A, const uint8_t *kept,
                              int32_t *aggregate, int64_t *count)
{
    const trine_factor_rounds greedy = {.n = 1, .ties = TRINE_TIES_LOWEST_INDEX};
    trine_status status = TRINE_SUCCESS;
    trine_forest forest = NULL;
    trine_matrix view = NULL;
    trine_forest_arrays arrays;
    const int64_t n = A->rows;
    int32_t *pair = NULL;
    TRY(ALLOC(ctx, pair, n));
    TRY(trine_matrix_csr(ctx, &view, t, n, n, A->nnz, TRINE_HOST, 64, A->offsets, 32, A->columns, A->values));
    TRY(trine_forest_create(ctx, &forest, view, &(trine_forest_options){.max_n = 1, .normalized = 1}));
    TRY(trine_forest_set_weights(forest, TRINE_HOST, A->values, NULL));
    TRY(trine_forest_factor_sequential(forest, &greedy, NULL));
    TRY(trine_forest_get_arrays(forest, &arrays));
    TRY(trine_copy(ctx, pair, TRINE_HOST, arrays.neighbours, ctx->info.space, (size_t)n * sizeof *pair));
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool second = pair[i] >= 0 && pair[i] < i;
        aggregate[i] = kept && !kept[i] ? -1 : second ? aggregate[pair[i]] : (int32_t)(*count)++;
    }
done:
    trine_forest_destroy(&forest);
    trine_matrix_destroy(&view);
    trine_free(ctx, TRINE_HOST, pair);
    return status;
}

/** C = Q^T A Q, with Q the indicator of `count` aggregates. */
static trine_status collapse(trine_context ctx, trine_dtype t, const struct level_matrix *A, const int32_t *aggregate,
                             int64_t count, struct level_matrix *C)
{
    static void (*const indicate[])(const struct level_matrix *, const int32_t *, struct level_matrix *,
                                    struct level_matrix *) = TABLE(indicate);
    trine_status status = TRINE_SUCCESS;
    struct level_matrix Q = {.rows = A->rows, .cols = count}, Qt = {0}, AQ = {.rows = A->rows, .cols = count};
    TRY(ALLOC(ctx, Q.offsets, A->rows + 1));
    TRY(make_entries(ctx, t, A->rows, &Q));
    TRY(ALLOC(ctx, AQ.offsets, A->rows + 1));
    TRY(make_entries(ctx, t, A->nnz, &AQ));
    indicate[t](A, aggregate, &Q, &AQ);
    TRY(level_transpose(ctx, t, &Q, &Qt));
    TRY(level_multiply(ctx, t, &Qt, &AQ, A->nnz, C));
done:
    level_matrix_free(ctx, &Q);
    level_matrix_free(ctx, &Qt);
    level_matrix_free(ctx, &AQ);
    return status;
}

trine_status level_aggregates(trine_context ctx, trine_dtype t, const struct level_matrix *A, int32_t *aggregate,
                              int64_t *count)
{
    static void (*const mask[])(const struct level_matrix *, uint8_t *, void *) = TABLE(mask);
    trine_status status = TRINE_SUCCESS;
    const int64_t n = A->rows;
    struct level_matrix masked = *A, pairs = {0};
    int64_t n_pairs = 0;
    int32_t *pair_of_pair = NULL;
    uint8_t *kept = NULL;
    masked.values = trine_host_alloc(ctx, A->nnz, trine_dtype_size(t));
    if (!masked.values) return TRINE_ERR_MEMORY;
    TRY(ALLOC(ctx, kept, n));
    mask[t](A, kept, masked.values);
    TRY(pair_rows(ctx, t, &masked, kept, aggregate, &n_pairs));
    TRY(collapse(ctx, t, &masked, aggregate, n_pairs, &pairs));
    TRY(ALLOC(ctx, pair_of_pair, n_pairs));
    TRY(pair_rows(ctx, t, &pairs, NULL, pair_of_pair, count));
    for (int64_t i = 0; i < n; i++)
        if (aggregate[i] >= 0) aggregate[i] = pair_of_pair[aggregate[i]];
done:
    level_matrix_free(ctx, &pairs);
    trine_free(ctx, TRINE_HOST, pair_of_pair);
    trine_free(ctx, TRINE_HOST, kept);
    trine_free(ctx, TRINE_HOST, masked.values);
    return status;
}
