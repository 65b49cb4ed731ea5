/* Several factors in one plan: their elimination trees are one forest, and one solve goes through all of them at
 * once. */
#include <stdio.h>
#include <string.h>

#include "supernodal/supernodal.h"

static void free_panels(trine_context ctx, trine_panels *all)
{
    trine_free(ctx, TRINE_HOST, (void *)all->first_column);
    trine_free(ctx, TRINE_HOST, (void *)all->rows);
    trine_free(ctx, TRINE_HOST, (void *)all->row_offsets);
    trine_free(ctx, TRINE_HOST, (void *)all->value_offsets);
}

/** Factor k fits its own dimensions, and the first factor's dtype and diag. */
static trine_status check_factor(const trine_panels *factors, int64_t k)
{
    const trine_panels *F = &factors[k];
    REQUIRE(F->dtype == factors->dtype && F->diag == factors->diag,
            "factor %lld has dtype %d and diag %d, factor 0 has %d and %d", (long long)k, (int)F->dtype, (int)F->diag,
            (int)factors->dtype, (int)factors->diag);
    const trine_status status = trine_panels_check(F);
    if (!status) return TRINE_SUCCESS;
    char reason[400];
    snprintf(reason, sizeof reason, "%s", trine_last_error());
    return trine_fail(status, "factor %lld: %s", (long long)k, reason);
}

/** The factors as one block diagonal factor; values follow each other. starts: count + 1 offsets of the factors'
 *  values. What was allocated is in *all, also after a failure. */
static trine_status concatenate(trine_context ctx, const trine_panels *factors, int64_t count, int64_t *starts,
                                trine_panels *all)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *first = NULL, *rows = NULL;
    int64_t *row_offsets = NULL, *value_offsets = NULL, n = 0, m = 0, n_rows = 0;
    *all = (trine_panels){.dtype = factors[0].dtype, .diag = factors[0].diag};
    for (int64_t k = 0; k < count; k++) {
        const trine_panels *F = &factors[k];
        TRY(check_factor(factors, k));
        n += F->n;
        m += F->n_panels;
        if (F->n_panels) n_rows += F->row_offsets[F->n_panels] - F->row_offsets[0];
    }
    if (n > INT32_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld rows in all factors; fewer than 2^31 are possible", (long long)n);
    TRY(ALLOC(ctx, first, m + 1));
    all->first_column = first;
    TRY(ALLOC(ctx, rows, n_rows));
    all->rows = rows;
    TRY(ALLOC(ctx, row_offsets, m + 1));
    all->row_offsets = row_offsets;
    TRY(ALLOC(ctx, value_offsets, m + 1));
    all->value_offsets = value_offsets;
    n = m = n_rows = starts[0] = 0;
    for (int64_t k = 0; k < count; k++) {
        const trine_panels *F = &factors[k];
        for (int64_t s = 0; s < F->n_panels; s++) {
            first[m + s] = (int32_t)n + F->first_column[s];
            row_offsets[m + s] = n_rows + F->row_offsets[s] - F->row_offsets[0];
            value_offsets[m + s] = starts[k] + F->value_offsets[s];
        }
        const int64_t here = F->n_panels ? F->row_offsets[F->n_panels] - F->row_offsets[0] : 0;
        for (int64_t i = 0; i < here; i++) rows[n_rows + i] = (int32_t)n + F->rows[F->row_offsets[0] + i];
        n += F->n;
        m += F->n_panels;
        n_rows += here;
        starts[k + 1] = starts[k] + (F->n_panels ? F->value_offsets[F->n_panels] : 0);
    }
    first[m] = (int32_t)n;
    row_offsets[m] = n_rows;
    value_offsets[m] = starts[count];
    all->n = n;
    all->n_panels = m;
done:
    return status;
}

trine_status trine_supernodal_analyse_batch(trine_context ctx, trine_supernodal *plan, const trine_panels *factors,
                                            int64_t count, const trine_supernodal_options *options)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    *plan = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(factors && count > 0, "no factors");
    trine_status status = TRINE_SUCCESS;
    trine_panels all = {0};
    int64_t *starts = NULL;
    TRY(ALLOC(ctx, starts, count + 1));
    TRY(concatenate(ctx, factors, count, starts, &all));
    TRY(trine_supernodal_analyse(ctx, plan, &all, options));
    (*plan)->n_factors = count;
    (*plan)->factor_values = starts;
    starts = NULL;
done:
    free_panels(ctx, &all);
    trine_free(ctx, TRINE_HOST, starts);
    return status;
}

trine_status trine_supernodal_numeric_batch(trine_supernodal plan, trine_space space, const void *const *values,
                                            const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    REQUIRE(plan->n_factors, "the plan was not made by trine_supernodal_analyse_batch");
    REQUIRE(values, "values is NULL");
    REQUIRE(space == TRINE_HOST || (space == TRINE_DEVICE && plan->base.ctx->cuda),
            "a CPU context has no device memory");
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const trine_space own = ctx->info.space;
    const size_t element = trine_dtype_size(plan->base.dtype);
    void *stream = trine_exec_stream(ctx, exec), *all = NULL;
    TRY(trine_alloc(ctx, own, (size_t)plan->factor_values[plan->n_factors] * element, &all));
    for (int64_t k = 0; k < plan->n_factors; k++) {
        const size_t at = (size_t)plan->factor_values[k] * element,
                     bytes = (size_t)plan->factor_values[k + 1] * element - at;
        if (!bytes) continue;
        if (!values[k]) FAIL(TRINE_ERR_ARGUMENT, "the values of factor %lld are NULL", (long long)k);
        if (own == TRINE_DEVICE) TRY(trine_device_copy_async(ctx, (char *)all + at, values[k], bytes, stream));
        else memcpy((char *)all + at, values[k], bytes);
    }
    TRY(trine_supernodal_numeric(plan, own, all, exec));
    if (own == TRINE_DEVICE) TRY(trine_device_synchronize(ctx, stream));
done:
    trine_free(ctx, own, all);
    return status;
}
