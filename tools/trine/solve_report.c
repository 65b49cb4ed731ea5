/* What `trine solve` prints, as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve.h"

const struct choice rhs_choices[] = {
    {"ones", RHS_ONES}, {"sin", RHS_SIN}, {"thesis", RHS_THESIS}, {"random", RHS_RANDOM}, {NULL, 0}};

/** The smallest number of solves for which set-up and solves by panels take no longer than those of the general
 *  method; -1: none. */
static int64_t solves_to_pay(const struct run *r)
{
    const double setup = r->outcome.analyse_seconds + r->outcome.numeric_seconds - r->general_setup_seconds;
    const double gain = r->general_solve_seconds - r->solve_seconds;
    if (setup <= 0) return gain >= 0 ? 0 : -1;
    return gain > 0 ? (int64_t)ceil(setup / gain) : -1;
}

/** The phases in the order in which they ran, and what makes them necessary again. */
enum { N_PHASES = 10 };
struct phase {
    const char *name, *key;
    double seconds;
    const char *when;
};
static void list_phases(const struct run *r, struct phase phases[N_PHASES])
{
    const struct outcome *c = &r->outcome;
    const char *pattern = "  once for a pattern", *values = "  again for new values",
               *rhs = "  again for a right-hand side";
    const struct phase list[N_PHASES] = {
        {"read", "read_seconds", r->read_seconds, ""},
        {"check", "check_seconds", r->check_seconds, ""},
        {"order", "order_seconds", c->order_seconds, pattern},
        {"symbolic", "symbolic_seconds", c->symbolic_seconds > 0 ? c->symbolic_seconds : -1, pattern},
        {"factor", "factor_seconds", c->factor_seconds, values},
        {"analyse", "analyse_seconds", c->analyse_seconds, pattern},
        {"numeric", "numeric_seconds", c->numeric_seconds, values},
        {"solve", "solve_seconds", r->solve_seconds, rhs},
        {"refine", "refine_seconds", r->refined ? r->refine_seconds : -1, rhs},
        {"condition", "condition_seconds", r->condition_seconds, ""}};
    memcpy(phases, list, sizeof list);
}

static const char *symmetry_words(const struct run *r)
{
    const trine_matrix_structure *s = &r->p.structure;
    return s->symmetric           ? "symmetric"
           : s->hermitian         ? "Hermitian"
           : s->pattern_symmetric ? "symmetric pattern"
                                  : "unsymmetric";
}

static void print_condition(const struct run *r)
{
    printf("condition       %.3g (1-norm, estimated)", r->condition.condition);
    if (r->condition.scaled < r->condition.condition)
        printf(", %.3g with rows and columns scaled", r->condition.scaled);
    bool of_scaled;
    const int digits = right_digits(r, &of_scaled);
    printf(": about %d digits %scan be right\n", digits, of_scaled ? "of the scaled x " : "");
}

void print_solve_text(const struct run *r)
{
    const struct solve_options *o = r->o;
    const struct problem *p = &r->p;
    const struct outcome *c = &r->outcome;
    struct phase phases[N_PHASES];
    printf("matrix          %s\n", o->path);
    printf("                n = %s, %s entries (%.1f a row), %s%s\n", grouped(p->n), grouped(p->info.nnz),
           (double)p->info.nnz / (double)p->n, symmetry_words(r),
           p->info.pattern ? "; a pattern file: the values are made up" : "");
    printf("device          %s%s%s%s\n", r->device.name, *r->device.fallback ? " (" : "", r->device.fallback,
           *r->device.fallback ? ")" : "");
    printf("precision       %s\n", choice_name(precision_choices, (int)r->t));
    printf("method          %s: %s%s%s\n", c->method, c->reason, c->ordering ? "; ordering " : "",
           c->ordering ? c->ordering : "");
    if (c->factor_seconds >= 0) {
        printf("factor          %s entries in L + U, fill %.2f", grouped(c->nnz_factor), c->fill);
        if (c->plan_refine)
            printf("; %s step%s of refinement in every solve", grouped(c->plan_refine), c->plan_refine == 1 ? "" : "s");
        printf("\n");
    }
    if (*c->kernel) printf("solve           %s", c->kernel);
    const char *levels = c->supernodal ? "levels" : "level sets";
    if (c->levels_lower >= 0) printf(", %s %s of L", grouped(c->levels_lower), levels);
    if (c->levels_upper >= 0) printf(", %s %s of U", grouped(c->levels_upper), levels);
    if (*c->kernel) printf("\n");
    if (o->rhs == RHS_FILE)
        printf("right-hand side %s, %s column%s\n", o->rhs_path, grouped(p->nrhs), p->nrhs == 1 ? "" : "s");
    else
        printf("right-hand side b = A s, s = %s\n", o->rhs == RHS_ONES     ? "(1, 1, ...)"
                                                    : o->rhs == RHS_SIN    ? "(sin 1, sin 2, ...)"
                                                    : o->rhs == RHS_THESIS ? "(sin(2 pi 8 i / n)), i = 0, 1, ..."
                                                                           : "random in (-1, 1)");
    if (r->inverse.iteration) print_iteration_text(r->inverse.iteration);
    printf("\n");
    list_phases(r, phases);
    for (int i = 0; i < N_PHASES; i++)
        if (phases[i].seconds >= 0) printf("%-10s %12.6f s%s\n", phases[i].name, phases[i].seconds, phases[i].when);
    if (o->repeat > 1)
        printf("           median of %d solves; the fastest took %.6f s\n", o->repeat, r->solve_min_seconds);
    if (r->general_solve_seconds >= 0) {
        const int64_t pays = solves_to_pay(r);
        printf("general    %12.6f s a solve, after %.6f s of analysis and numeric set-up\n", r->general_solve_seconds,
               r->general_setup_seconds);
        if (pays >= 0)
            printf("           the set-up of the panels has paid after %s solve%s\n", grouped(pays),
                   pays == 1 ? "" : "s");
        else printf("           the set-up of the panels does not pay: the general method is faster\n");
    }
    printf("\nbackward error  %.3g eps (eps = %.3g), componentwise %.3g eps%s\n", r->accuracy.backward_error,
           trine_dtype_eps(r->t), r->accuracy.componentwise / trine_dtype_eps(r->t),
           is_accurate(r) ? ": as right as this precision gets" : "");
    if (r->refined)
        printf("                %.3g eps, componentwise %.3g eps, before %s of refinement\n",
               r->before_refinement.backward_error, r->before_refinement.componentwise / trine_dtype_eps(r->t),
               r->refined == 1 ? "a step" : "steps");
    printf("residual        %.3g\n", r->accuracy.residual);
    if (r->condition_seconds >= 0) print_condition(r);
    if (r->s) printf("solution error  %.3g\n", solution_error(r->t, r->x, r->s, p->n));
    if (o->out) printf("solution        %s\n", o->out);
    if (o->factoring.permutation_out) printf("permutation     %s\n", o->factoring.permutation_out);
    if (o->iteration.plot) printf("plot            %s\n", o->iteration.plot);
}

void print_solve_json(const struct run *r)
{
    const struct solve_options *o = r->o;
    const struct outcome *c = &r->outcome;
    struct phase phases[N_PHASES];
    json_begin();
    json_string("matrix", o->path);
    json_integer("n", r->p.n);
    json_integer("nnz", r->p.info.nnz);
    json_string("method", c->method);
    json_string("reason", c->reason);
    json_string("ordering", c->ordering ? c->ordering : "none");
    json_string("kernel", c->kernel);
    json_string("warnings", r->warnings);
    if (o->verbose) json_strings("log", &r->log);
    json_string("device", r->device.space == TRINE_DEVICE ? "cuda" : "cpu");
    json_string("device_name", r->device.name);
    json_string("device_fallback", r->device.fallback);
    json_integer("threads", r->device.threads);
    json_string("precision", choice_name(precision_choices, (int)r->t));
    json_string("rhs", o->rhs == RHS_FILE ? o->rhs_path : choice_name(rhs_choices, o->rhs));
    json_integer("nrhs", r->p.nrhs);
    json_integer("refine", r->refined);
    json_integer("repeat", o->repeat);
    json_integer("nnz_factor", c->nnz_factor);
    json_number("fill", c->fill);
    json_integer("levels_lower", c->levels_lower);
    json_integer("levels_upper", c->levels_upper);
    list_phases(r, phases);
    for (int i = 0; i < N_PHASES; i++) json_number(phases[i].key, phases[i].seconds >= 0 ? phases[i].seconds : 0);
    json_number("solve_min_seconds", r->solve_min_seconds);
    json_boolean("supernodal", c->supernodal);
    json_string("solver", c->solver);
    json_string("solver_reason", c->solver_reason);
    if (c->trial_error >= 0) {
        json_number("trial_error", c->trial_error);
        json_integer("trial_refine", c->plan_refine);
    }
    if (r->general_solve_seconds >= 0) {
        json_number("general_setup_seconds", r->general_setup_seconds);
        json_number("general_solve_seconds", r->general_solve_seconds);
        json_integer("solves_to_pay", solves_to_pay(r));
    }
    if (r->inverse.iteration) print_iteration_json(r->inverse.iteration);
    json_number("backward_error", r->accuracy.backward_error);
    json_number("initial_backward_error", r->before_refinement.backward_error);
    json_number("componentwise_error", r->accuracy.componentwise);
    json_number("residual", r->accuracy.residual);
    if (r->condition_seconds >= 0) {
        json_number("condition", r->condition.condition);
        json_number("scaled_condition", r->condition.scaled);
        json_integer("condition_solves", r->condition.solves);
    }
    if (r->s) json_number("solution_error", solution_error(r->t, r->x, r->s, r->p.n));
    json_end();
}
