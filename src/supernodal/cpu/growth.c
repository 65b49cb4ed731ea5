/* The trial of inverses (supernodal.h) in the CPU's numeric phase. */
#include "core/scalar.h"
#include "core/team.h"
#include "supernodal/cpu/backend.h"

enum { SIDE = 32 /* rows or columns of a panel whose sums are made together */ };
enum { PANELS_AT_ONCE = 8 };

/** What a context's helpers take part in. */
typedef struct {
    trine_supernodal plan;
    const void *from;
    const growth_trial *trial;
    bool residual;
} growth_job;

#define TEMPLATE "supernodal/cpu/growth.inc"
#include "core/each_dtype.h"

void growth_cpu_free(trine_context ctx, growth_trial *trial)
{
    void *const all[] = {trial->norms, trial->b, trial->bt, trial->x, trial->xt, trial->r, trial->rt};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) trine_free(ctx, TRINE_HOST, all[k]);
    *trial = (growth_trial){0};
}

trine_status growth_cpu_begin(trine_supernodal plan, const void *from, growth_trial *trial)
{
    static const trine_team_range factor_products[] = TABLE(factor_products);
    trine_status status = TRINE_SUCCESS;
    const size_t element = trine_dtype_is_complex(plan->dtype) ? 2 * sizeof(double) : sizeof(double);
    void **const vectors[] = {&trial->b, &trial->bt, &trial->x, &trial->xt, &trial->r, &trial->rt};
    TRY(CALLOC(plan->base.ctx, trial->norms, 2 * plan->S.n));
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        *vectors[k] = trine_host_calloc(plan->base.ctx, plan->S.n * SUPERNODAL_TRIALS, element);
        if (!*vectors[k]) FAIL(TRINE_ERR_MEMORY, "no memory for the trial of inverted panels");
    }
    trine_team_for(plan->base.ctx, ((const cpu_part *)plan->device)->threads, plan->S.n_sources, PANELS_AT_ONCE,
                   factor_products[plan->dtype], &(growth_job){plan, from, trial, false});
done:
    return status;
}

void growth_cpu_measure(trine_supernodal plan, const void *from, growth_trial *trial)
{
    static const trine_team_range factor_products[] = TABLE(factor_products),
                                  inverse_products[] = TABLE(inverse_products);
    static void (*const round_solutions[])(const growth_trial *, int64_t) = TABLE(round_solutions);
    static double (*const largest[])(const void *, int64_t) = TABLE(largest);
    const int64_t n = plan->S.n, count = n * SUPERNODAL_TRIALS;
    const int threads = ((const cpu_part *)plan->device)->threads;
    trine_team_for(plan->base.ctx, threads, plan->S.n_panels, PANELS_AT_ONCE, inverse_products[plan->dtype],
                   &(growth_job){plan, from, trial, false});
    round_solutions[plan->dtype](trial, count);
    trine_team_for(plan->base.ctx, threads, plan->S.n_sources, PANELS_AT_ONCE, factor_products[plan->dtype],
                   &(growth_job){plan, from, trial, true});
    const double forward = largest[plan->dtype](trial->r, count) / largest_d(trial->norms, n);
    const double backward = largest[plan->dtype](trial->rt, count) / largest_d(trial->norms + n, n);
    plan->growth = (backward <= forward || forward != forward ? forward : backward) / trine_dtype_eps(plan->dtype);
}
