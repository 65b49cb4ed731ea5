/* Orderings and structural rank, computed with SuiteSparse. */
#include <btf.h>
#include <cholmod.h>
#include <limits.h>

#include "direct/direct.h"
#include "direct/cholmod_common.h"
#include "direct/isolation.h"

trine_status factor_symmetric_ordering(trine_factor F, trine_ordering which, int32_t *perm)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    cholmod_common common;
    cholmod_triplet *triplets = NULL;
    cholmod_sparse *S = NULL;
    int64_t *order = NULL;
    cholmod_quiet_start(&common);
    TRY(ALLOC(F->ctx, order, in.n));
    /* Triplets of a symmetric matrix: CHOLMOD reflects those below the diagonal, which makes the pattern of A + A^T. */
    triplets = cholmod_l_allocate_triplet((size_t)in.n, (size_t)in.n, (size_t)in.nnz, 1, CHOLMOD_PATTERN, &common);
    if (!triplets) FAIL(TRINE_ERR_MEMORY, "no memory to order a matrix of %lld entries", (long long)in.nnz);
    int64_t *rows = triplets->i, *columns = triplets->j;
    for (int64_t j = 0; j < in.n; j++)
        for (int64_t k = in.offsets[j]; k < in.offsets[j + 1]; k++) {
            rows[k] = in.indices[k];
            columns[k] = j;
        }
    triplets->nnz = (size_t)in.nnz;
    S = cholmod_l_triplet_to_sparse(triplets, 0, &common);
    const bool ordered = S && (which == TRINE_ORDERING_METIS ? cholmod_l_metis(S, NULL, 0, 1, order, &common)
                                                             : cholmod_l_amd(S, NULL, 0, order, &common));
    const bool no_metis = metis_has_failed();
    if (!ordered || no_metis)
        FAIL(TRINE_ERR_MEMORY, "no memory to order a matrix of %lld entries by %s", (long long)in.nnz,
             which == TRINE_ORDERING_METIS ? "METIS" : "AMD");
    for (int64_t k = 0; k < in.n; k++) perm[k] = (int32_t)order[k];
done:
    cholmod_l_free_triplet(&triplets, &common);
    cholmod_l_free_sparse(&S, &common);
    cholmod_l_finish(&common);
    trine_free(F->ctx, TRINE_HOST, order);
    return status;
}

trine_status factor_check_structural_rank(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    int64_t *rows = NULL, *match = NULL, *work = NULL;
    double operations = 0;
    TRY(factor_widen(F->ctx, in.nnz, in.indices, &rows));
    TRY(ALLOC(F->ctx, match, in.n));
    TRY(ALLOC(F->ctx, work, 5 * in.n));
    const int64_t rank = btf_l_maxtrans(in.n, in.n, (int64_t *)in.offsets, rows, 0, &operations, match, work);
    if (rank == in.n) goto done;
    int64_t i = 0;
    while (match[i] >= 0) i++;
    FAIL(TRINE_ERR_SINGULAR,
         "the matrix is structurally singular: rank at most %lld of %lld, nothing is left to be row %lld's pivot",
         (long long)rank, (long long)in.n, (long long)i);
done:
    trine_free(F->ctx, TRINE_HOST, work);
    trine_free(F->ctx, TRINE_HOST, match);
    trine_free(F->ctx, TRINE_HOST, rows);
    return status;
}
