/* Factors that another program made: what the adapters for its libraries share. */
#include <stdio.h>

#include "direct/direct.h"

trine_status factor_take(trine_context ctx, trine_factor *out, const struct factor_backend *backend,
                         trine_direct_method method, trine_dtype dtype, int64_t n, bool one_permutation)
{
    trine_status status = TRINE_SUCCESS;
    trine_factor F = trine_host_calloc(ctx, 1, sizeof *F);
    if (!F) return TRINE_ERR_MEMORY;
    F->refs = 1;
    pthread_mutex_init(&F->lock, NULL);
    F->ctx = trine_retain_context(ctx);
    F->n = n;
    F->dtype = dtype;
    F->method = method;
    snprintf(F->reason, sizeof F->reason, "factored by the caller's program");
    F->trial_error = -1;
    F->backend = n ? backend : NULL;
    TRY(ALLOC(ctx, F->row_perm, n));
    F->col_perm = F->row_perm;
    if (!one_permutation) {
        F->col_perm = NULL;
        TRY(ALLOC(ctx, F->col_perm, n));
    }
    *out = F;
    return TRINE_SUCCESS;
done:
    trine_factor_destroy(&F);
    return status;
}

trine_status factor_check_permutation(const char *name, const int32_t *perm, int64_t n, int32_t *mark)
{
    for (int64_t k = 0; k < n; k++) mark[k] = -1;
    for (int64_t k = 0; k < n; k++) {
        REQUIRE(perm[k] >= 0 && perm[k] < n, "%s[%lld] is %d, outside 0..%lld", name, (long long)k, (int)perm[k],
                (long long)n - 1);
        REQUIRE(mark[perm[k]] < 0, "%s is no permutation: %d stands at %d and at %lld", name, (int)perm[k],
                (int)mark[perm[k]], (long long)k);
        mark[perm[k]] = (int32_t)k;
    }
    return TRINE_SUCCESS;
}
