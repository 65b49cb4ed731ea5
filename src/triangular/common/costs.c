/* The constants of the model, and its formulas. How they were fitted: docs/notes/partitioned-inverses.md. */
#include "triangular/common/costs.h"

#include "core/team.h"

enum { CPU, GPU };
static const struct device_costs table[] = {
    /* On the scale of the simulation in cpu/schedule.c, with which the results are compared. */
    [CPU] = {.analyse_entry = 10e-9,
             .numeric_entry = 1e-9,
             .inverse = {.launch = 2e-6,
                         .step = 0.5e-6,
                         .byte = 1.3e-9 / 12,
                         .row = 15e-9,
                         .analyse_own = 15e-9,
                         .analyse = 6.4e-9,
                         .numeric_entry = 2e-9,
                         .next_step = 2.6e-6,
                         .next_byte = 1.3e-9 / 12}},
    [GPU] = {.waits = {{{9.5e-6, 0.48e-6, 0.11e-6, 0.8e-12}, {24.7e-6, 0.123e-6, 0.24e-6, 0}},
                       {{12e-6, 0.52e-6, 0, 0.37e-12}, {12e-6, 0.37e-6, 0, 0.37e-12}}},
             .analyse = 84e-6,
             .analyse_level = 0.31e-6,
             .analyse_entry = 0.35e-9,
             .numeric = 10.5e-6,
             .numeric_entry = 6.2e-12,
             .inverse = {.launch = 12e-6,
                         .step = 1.1e-6,
                         .long_step = 1.3e-6,
                         .byte = 0.35e-12,
                         .analyse_launch = 5e-3,
                         .analyse_level = 0.3e-6,
                         .analyse_own = 1.5e-9,
                         .analyse = 0.8e-9,
                         .numeric = 150e-6,
                         .numeric_entry = 0.15e-9,
                         .next_step = 0.8e-6,
                         .next_byte = 1 / 3e12,
                         .long_row = 0.8e-9,
                         .long_from = 512,
                         .least_value = 8}},
};

/* Beside an entry and its column: offsets, order, right-hand side and solution of a row, all read or written once; and
 * of every further right-hand side an operand for each entry, and a row's own numbers. */
enum { ROW_BYTES = 32, NUMBERS_OF_A_ROW = 3 };
enum { LEVELS_OF_A_STEP = 32, TIMES_THE_ENTRIES = 2 }; /* of costs_least_inverse */
enum { LONG_ROW = 128 }; /* of long_step */

const struct device_costs *triangular_costs_of(trine_triangular plan)
{
    return &table[plan->base.ctx->cuda ? GPU : CPU];
}

static double value_bytes(trine_triangular plan) { return (double)trine_dtype_size(plan->base.dtype); }
/** Right-hand sides beside the first. On a CPU inverses are for one. */
static double further_sides(trine_triangular plan)
{
    return plan->base.ctx->cuda && plan->options.max_nrhs > 1 ? (double)(plan->options.max_nrhs - 1) : 0;
}
static double bytes_of(trine_triangular plan, double n, double entries, double value)
{
    const double size = value_bytes(plan);
    return entries * (4 + value) + n * (ROW_BYTES + 2 * size) +
           further_sides(plan) * size * (entries + NUMBERS_OF_A_ROW * n);
}
/** Of a value of the inverses, as it counts. */
static double inverse_value_bytes(trine_triangular plan)
{
    const double size = value_bytes(plan), least = (double)triangular_costs_of(plan)->inverse.least_value;
    return size > least ? size : least;
}

double costs_of_waiting(trine_triangular plan, bool chains, int64_t nnz, int64_t levels)
{
    const struct waiting_costs *c = &triangular_costs_of(plan)->waits[plan->options.max_nrhs > 1][chains];
    const double n = (double)plan->base.n, length = ((double)nnz - n) / (n > 0 ? n : 1) / 32;
    return c->launch + (double)levels * (c->level + c->long_level * (length < 1 ? length : 1)) +
           c->byte * bytes_of(plan, n, (double)nnz, value_bytes(plan));
}

/** Threads among which a solve's bytes and rows are shared. */
static double sharers(trine_triangular plan)
{
    return plan->base.ctx->cuda ? 1 : trine_threads_with_cores(plan->base.ctx);
}

void costs_add_inverse(trine_triangular plan, const struct inverse_extent *e, trine_triangular_prediction *p)
{
    const struct inverse_costs *c = &triangular_costs_of(plan)->inverse;
    const double n = (double)(e->n ? e->n : 1), entries = (double)e->entries, nnz = (double)e->nnz,
                 steps = (double)(e->steps ? e->steps : 1), ranks = (double)e->levels / steps,
                 value = inverse_value_bytes(plan),
                 bytes = plan->base.ctx->cuda ? bytes_of(plan, n, entries, value) : entries * (4 + value);
    p->analyse_seconds +=
        c->analyse_launch + c->analyse_level * (double)e->levels + c->analyse_own * nnz + c->analyse * entries;
    p->numeric_seconds += c->numeric + c->numeric_entry * entries + c->numeric_look * ranks * (nnz / n) * (entries / n);
    const double length = entries / n / LONG_ROW, step = c->step + c->long_step * (length < 1 ? length : 1);
    p->solve_seconds += c->launch + step * steps + (c->byte * bytes + c->row * n) / sharers(plan);
}

struct inverse_extent costs_least_inverse(int64_t n, int64_t nnz, int64_t levels)
{
    return (struct inverse_extent){n, nnz, levels, (levels + LEVELS_OF_A_STEP - 1) / LEVELS_OF_A_STEP,
                                   TIMES_THE_ENTRIES * nnz};
}

double costs_of_next_entry(trine_triangular plan)
{
    const struct inverse_costs *c = &triangular_costs_of(plan)->inverse;
    const double bytes = 4 + inverse_value_bytes(plan) + further_sides(plan) * value_bytes(plan),
                 solve = c->next_byte * bytes / sharers(plan);
    return solve + (plan->solves > 0 ? (c->analyse + c->numeric_entry) / plan->solves : 0);
}

double costs_total(const trine_triangular_prediction *p, int sides, double solves)
{
    return p->analyse_seconds + p->numeric_seconds + solves * p->solve_seconds / sides;
}
