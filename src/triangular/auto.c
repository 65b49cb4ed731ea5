/* AUTO between the method without inverses, which has been analysed, and partitioned inverses: the least that analysis,
 * numeric and the solves expected are predicted to take together. */
#include <string.h>

#include "core/test_interface.h"
#include "triangular/common/costs.h"
#include "triangular/cpu/schedule.h"

/* Predictions of solves are off by so much, either way, on most matrices: inverses must promise more. */
static const double least_gain = 1.1;
/* One row in so many may be substituted; more, and solves wait as if there were levels. */
enum { ROWS_OF_A_SUBSTITUTED = 32 };

static double pretended_slowness = 1;
void trine_triangular_pretend(double slower) { pretended_slowness = slower > 0 ? slower : 1; }

static int count_sides(const struct trine_triangular_s *plan)
{
    return !!(plan->options.ops & TRINE_N) + !!(plan->options.ops & (TRINE_T | TRINE_H));
}

static double solves_of(const trine_triangular_options *o)
{
    return o->expected_solves ? (double)o->expected_solves : 100;
}

/** So long may analysis, numeric and solves with inverses take. */
static double limit_of(trine_triangular plan, double seconds)
{
    return solves_of(&plan->options) * seconds / count_sides(plan) / least_gain;
}

double triangular_slowest_solve(trine_triangular plan, int64_t nnz)
{
    const int64_t n = plan->base.n;
    if (!plan->base.ctx->cuda)
        return pretended_slowness * tasks_serial_seconds(plan, &(struct gather_form){.n = n, .nnz = nnz - n});
    const double plain = costs_of_waiting(plan, false, nnz, n), chains = costs_of_waiting(plan, true, nnz, n);
    return pretended_slowness * (plain > chains ? plain : chains);
}

bool triangular_inverses_may_pay(trine_triangular plan, int64_t nnz, int64_t levels, double seconds)
{
    const trine_triangular_options *o = &plan->options;
    const bool tuned = o->tune.lanes_per_row || o->tune.warps_per_block || o->tune.blocks || o->tune.row_order;
    const int sides = count_sides(plan);
    const struct inverse_extent least = costs_least_inverse(plan->base.n, nnz, levels);
    trine_triangular_prediction p = {0}, *const out = &plan->predicted[TRINE_TRI_PARTITIONED_INVERSE];
    const bool many_on_cpu = o->max_nrhs > 1 && !plan->base.ctx->cuda;
    out->reason = tuned            ? "solves without inverses are tuned by hand"
                  : many_on_cpu    ? "considered for one right-hand side only on a CPU"
                  : !(seconds > 0) ? "no row waits for another"
                                   : NULL;
    if (out->reason) return false;
    for (int s = 0; s < sides; s++) costs_add_inverse(plan, &least, &p);
    /* twice the least analysis: some will find that inverses do not pay */
    if (p.analyse_seconds + costs_total(&p, sides, solves_of(o)) < limit_of(plan, seconds)) return true;
    out->reason = "so many solves cannot make up for the analysis";
    return false;
}

/** What the plan's own method is predicted to take, in its place of predicted; returns the seconds of a solve with all
 *  sides, and the most levels of a side. */
static double predict_plain(trine_triangular plan, int64_t *levels)
{
    const struct device_costs *c = triangular_costs_of(plan);
    trine_triangular_prediction *const p = &plan->predicted[plan->method];
    bool known = true;
    *levels = 0;
    for (int s = 0; s < SIDES; s++) {
        const struct triangular_side *side = &plan->side[s];
        if (!side->part) continue;
        p->analyse_seconds += c->analyse + c->analyse_entry * (double)plan->info.nnz;
        p->numeric_seconds += c->numeric + c->numeric_entry * (double)plan->info.nnz;
        p->solve_seconds += pretended_slowness * side->seconds;
        if (side->n_levels > 0) p->analyse_seconds += c->analyse_level * (double)side->n_levels;
        if (side->n_levels > *levels) *levels = side->n_levels;
        known = known && side->seconds > 0;
    }
    p->reason = plan->reason;
    return known ? p->solve_seconds : 0;
}

/** The same of partitioned inverses whose analysis is complete. */
static void predict_inverses(const struct trine_triangular_s *with, trine_triangular plan)
{
    trine_triangular_prediction *const p = &plan->predicted[TRINE_TRI_PARTITIONED_INVERSE];
    for (int s = 0; s < SIDES; s++) {
        const struct triangular_side *side = &with->side[s];
        if (side->part)
            costs_add_inverse(
                plan,
                &(struct inverse_extent){plan->base.n, with->info.nnz, side->n_levels, side->n_steps, side->entries},
                p);
    }
}

/** `with` takes the place of *plan, which becomes its plain one. */
static void adopt(trine_triangular *plan, trine_triangular with)
{
    static const char reason[] = "fewer steps pay for the inverses in so many solves";
    with->plain = *plan;
    with->reason = with->info.reason = reason;
    memcpy(with->predicted, (*plan)->predicted, sizeof with->predicted);
    with->predicted[with->plain->method].reason = "more seconds altogether";
    with->predicted[TRINE_TRI_PARTITIONED_INVERSE].reason = reason;
    with->info.bytes += with->plain->info.bytes;
    *plan = with;
}

trine_status triangular_consider_inverses(trine_triangular *out, trine_matrix T)
{
    trine_status status = TRINE_SUCCESS;
    trine_triangular plan = *out, with = NULL;
    trine_triangular_prediction *const p = &plan->predicted[TRINE_TRI_PARTITIONED_INVERSE];
    int64_t levels;
    const double seconds = predict_plain(plan, &levels);
    if (!triangular_inverses_may_pay(plan, plan->info.nnz, levels, seconds)) return TRINE_SUCCESS;
    trine_triangular_options options = plan->options;
    options.method = TRINE_TRI_PARTITIONED_INVERSE;
    status = triangular_make(plan->base.ctx, T, &options, solves_of(&options), limit_of(plan, seconds), &with);
    if (status == TRINE_ERR_MEMORY) { /* the plan is there, and needs none */
        p->reason = "the inverses do not fit into their memory";
        return TRINE_SUCCESS;
    }
    TRY(status);
    if (with->is_too_slow) {
        p->reason = "their analysis and solves would take longer";
        goto done;
    }
    predict_inverses(with, plan);
    p->reason = "more seconds altogether";
    /* the analysis has been paid for */
    if (costs_total(p, count_sides(plan), solves_of(&options)) - p->analyse_seconds < limit_of(plan, seconds)) {
        adopt(out, with);
        with = NULL;
    }
done:
    trine_triangular_destroy(&with);
    return status;
}

void triangular_settle_growth(trine_triangular plan)
{
    if (!plan->plain) return;
    const bool grows = plan->info.substituted_rows > (double)(plan->base.n * count_sides(plan)) / ROWS_OF_A_SUBSTITUTED;
    __atomic_store_n(&plan->runs_plain, grows, __ATOMIC_RELAXED);
}

trine_status trine_triangular_get_prediction(trine_triangular plan, trine_triangular_method method,
                                             trine_triangular_prediction *prediction)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(prediction, "prediction is NULL");
    REQUIRE((unsigned)method <= TRINE_TRI_PARTITIONED_INVERSE, "method %d does not exist", (int)method);
    *prediction = plan->predicted[method];
    if (!prediction->reason) prediction->reason = method == plan->method ? plan->reason : "not considered";
    return TRINE_SUCCESS;
}
