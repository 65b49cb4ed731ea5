/* Orderings and structural rank, computed with SuiteSparse. */
#include <btf.h>
#include <cholmod.h>
#include <colamd.h>
#include <string.h>

#include "direct/direct.h"
#include "direct/cholmod_common.h"
#include "direct/isolation.h"

int factor_ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* ------------------------------------------------------------- A + A^T */

/** The pattern of A + A^T, of which CHOLMOD wants the lower triangle: of a matrix that is symmetric a view, else made
 *  of triplets, of which CHOLMOD reflects those above the diagonal. */
static trine_status symmetric_pattern(trine_factor F, bool wide, cholmod_common *common, cholmod_sparse *view,
                                      cholmod_sparse **made)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    TRY(factor_know_structure(F));
    if (F->structure.pattern_symmetric) {
        TRY(cholmod_view(F, wide, CHOLMOD_PATTERN, view));
        view->x = NULL;
        goto done;
    }
    cholmod_triplet *triplets =
        CHOLMOD(wide, allocate_triplet, (size_t)in.n, (size_t)in.n, (size_t)in.nnz, -1, CHOLMOD_PATTERN, common);
    if (!triplets) FAIL(TRINE_ERR_MEMORY, "no memory to order a matrix of %lld entries", (long long)in.nnz);
    for (int64_t j = 0; j < in.n; j++)
        for (int64_t k = in.offsets[j]; k < in.offsets[j + 1]; k++) {
            if (wide) {
                ((int64_t *)triplets->i)[k] = in.indices[k];
                ((int64_t *)triplets->j)[k] = j;
            } else {
                ((int *)triplets->i)[k] = in.indices[k];
                ((int *)triplets->j)[k] = (int)j;
            }
        }
    triplets->nnz = (size_t)in.nnz;
    *made = CHOLMOD(wide, triplet_to_sparse, triplets, 0, common);
    CHOLMOD(wide, free_triplet, &triplets, common);
    if (!*made) FAIL(TRINE_ERR_MEMORY, "no memory to order a matrix of %lld entries", (long long)in.nnz);
done:
    return status;
}

/** Cholesky's flops and entries in this order. */
static trine_status count_order(trine_factor F, bool wide, cholmod_sparse *S, void *order, cholmod_common *common,
                                struct factor_count *count)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *arrays[5] = {
        NULL}; /* the tree, its postorder, counts, and two that CHOLMOD works in: long enough for both */
    for (int k = 0; k < 5; k++) TRY(ALLOC(F->ctx, arrays[k], F->n));
    void *const *const a = (void *const *)arrays;
    if (!CHOLMOD(wide, analyze_ordering, S, CHOLMOD_METIS, order, NULL, 0, a[0], a[1], a[2], a[3], a[4], common))
        FAIL(TRINE_ERR_MEMORY, "no memory to count the entries of a factor");
    *count = (struct factor_count){.flops = common->fl, .entries = common->lnz};
done:
    for (int k = 0; k < 5; k++) trine_free(F->ctx, TRINE_HOST, arrays[k]);
    return status;
}

static trine_status run_ordering(trine_factor F, bool wide, trine_ordering which, cholmod_sparse *S, void *order,
                                 cholmod_common *common)
{
    const int ordered = which == TRINE_ORDERING_METIS ? CHOLMOD(wide, metis, S, NULL, 0, 1, order, common)
                                                      : CHOLMOD(wide, amd, S, NULL, 0, order, common);
    const bool no_metis = metis_has_failed();
    if (ordered && !no_metis) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_MEMORY, "no memory to order a matrix of %lld entries by %s",
                      (long long)factor_get_input(F).nnz, trine_ordering_name(which));
}

/** METIS takes several times as long as AMD: it is tried where a factor by AMD's order is so large and so dense that
 *  its numeric part takes longer still. The limits are CHOLMOD's own. */
static bool metis_may_pay(const struct factor_count *amd, int64_t nnz)
{
    return amd->flops >= 500 * amd->entries && amd->entries >= 5 * (double)nnz;
}

trine_status factor_order_symmetric(trine_factor F, trine_ordering which)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    const bool wide = (double)in.nnz >= CHOLMOD_WIDE_MATRIX;
    cholmod_common common;
    cholmod_sparse view, *made = NULL;
    int64_t *order = NULL, *other = NULL; /* of 32-bit numbers, unless wide */
    if (F->symmetric_order) return TRINE_SUCCESS;
    cholmod_quiet_start(wide, &common);
    TRY(symmetric_pattern(F, wide, &common, &view, &made));
    cholmod_sparse *S = made ? made : &view;
    TRY(ALLOC(F->ctx, order, in.n));
    F->symmetric_ordering = which == TRINE_ORDERING_METIS ? TRINE_ORDERING_METIS : TRINE_ORDERING_AMD;
    TRY(run_ordering(F, wide, F->symmetric_ordering, S, order, &common));
    if (which != TRINE_ORDERING_METIS) F->count = (struct factor_count){.flops = common.fl, .entries = common.lnz};
    if (which == TRINE_ORDERING_AUTO && metis_may_pay(&F->count, (in.nnz + in.n) / 2)) {
        struct factor_count count;
        TRY(ALLOC(F->ctx, other, in.n));
        TRY(run_ordering(F, wide, TRINE_ORDERING_METIS, S, other, &common));
        TRY(count_order(F, wide, S, other, &common, &count));
        trine_log(F->ctx, 2, "ordering: AMD gives %.3g entries of L, METIS %.3g", F->count.entries, count.entries);
        if (count.entries < F->count.entries) {
            int64_t *const amd = order;
            order = other;
            other = amd;
            F->count = count;
            F->symmetric_ordering = TRINE_ORDERING_METIS;
        }
    }
    TRY(ALLOC(F->ctx, F->symmetric_order, in.n));
    for (int64_t k = 0; k < in.n; k++) F->symmetric_order[k] = (int32_t)cholmod_at(order, wide, k);
done:
    CHOLMOD(wide, free_sparse, &made, &common);
    CHOLMOD(wide, finish, &common);
    trine_free(F->ctx, TRINE_HOST, other);
    trine_free(F->ctx, TRINE_HOST, order);
    return status;
}

/* ----------------------------------------------------------- unsymmetric */

static trine_status colamd_ordering(trine_factor F, int32_t *perm)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    SuiteSparse_long *offsets = NULL, *rows = NULL, stats[COLAMD_STATS];
    const size_t room = colamd_l_recommended(in.nnz, in.n, in.n);
    if (!room) FAIL(TRINE_ERR_UNSUPPORTED, "%lld entries are too many for COLAMD", (long long)in.nnz);
    TRY(ALLOC(F->ctx, offsets, in.n + 1));
    TRY(ALLOC(F->ctx, rows, (int64_t)room));
    memcpy(offsets, in.offsets, (size_t)(in.n + 1) * sizeof *offsets);
    for (int64_t k = 0; k < in.nnz; k++) rows[k] = in.indices[k];
    if (!colamd_l(in.n, in.n, (SuiteSparse_long)room, rows, offsets, NULL, stats))
        FAIL(TRINE_ERR_ARGUMENT, "COLAMD refused the matrix (its status %lld)", (long long)stats[COLAMD_STATUS]);
    for (int64_t k = 0; k < in.n; k++) perm[k] = (int32_t)offsets[k];
done:
    trine_free(F->ctx, TRINE_HOST, rows);
    trine_free(F->ctx, TRINE_HOST, offsets);
    return status;
}

trine_status factor_column_order(trine_factor F, trine_ordering which, int32_t *perm)
{
    trine_status status = TRINE_SUCCESS;
    if (which == TRINE_ORDERING_COLAMD) return colamd_ordering(F, perm);
    if (which == TRINE_ORDERING_NATURAL) {
        for (int64_t k = 0; k < F->n; k++) perm[k] = (int32_t)k;
        return TRINE_SUCCESS;
    }
    if (which != TRINE_ORDERING_GIVEN) TRY(factor_order_symmetric(F, which));
    memcpy(perm, which == TRINE_ORDERING_GIVEN ? F->given_order : F->symmetric_order, (size_t)F->n * sizeof *perm);
done:
    return status;
}

/* -------------------------------------------------------- structural rank */

trine_status factor_check_structural_rank(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    int64_t *rows = NULL, *match = NULL, *work = NULL;
    double operations = 0;
    if (F->has_full_rank) return TRINE_SUCCESS;
    TRY(factor_wide_rows(F, &rows));
    TRY(ALLOC(F->ctx, match, in.n));
    TRY(ALLOC(F->ctx, work, 5 * in.n));
    const int64_t rank = btf_l_maxtrans(in.n, in.n, (int64_t *)in.offsets, rows, 0, &operations, match, work);
    F->has_full_rank = rank == in.n;
    if (F->has_full_rank) goto done;
    int64_t i = 0;
    while (match[i] >= 0) i++;
    FAIL(TRINE_ERR_SINGULAR,
         "the matrix is structurally singular: rank at most %lld of %lld, nothing is left to be row %lld's pivot",
         (long long)rank, (long long)in.n, (long long)i);
done:
    trine_free(F->ctx, TRINE_HOST, work);
    trine_free(F->ctx, TRINE_HOST, match);
    return status;
}
