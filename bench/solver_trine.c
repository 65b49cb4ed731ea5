/* trine's own triangular plan, as a user calls it. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
    bench *b;
    const bench_problem *p;
    trine_triangular_options options;
    trine_triangular plan;
} solver;

/** "syncfree-csr" or, tuned by hand, "syncfree-csr:lanes=4:warps=4:blocks=264:order=2",
 *  "syncfree-csc:warps=8:scratchpad=2", "syncfree-csc:variant=1:p=16:q=1024",
 *  "partitioned-inverse:levels=32:refine=1", "auto:solves=1000" (0 = chosen by the plan). */
static trine_status parse_method(const char *text, trine_triangular_options *options)
{
    int lanes = 0, warps = 0, blocks = 0, order = 0, scratchpad = 0, variant = 0, p = 0, q = 0, levels = 0, refine = 0,
        solves = 0;
    const struct {
        const char *key;
        int *value;
    } keys[] = {{"lanes", &lanes},           {"warps", &warps},     {"blocks", &blocks}, {"order", &order},
                {"scratchpad", &scratchpad}, {"variant", &variant}, {"p", &p},           {"q", &q},
                {"levels", &levels},         {"refine", &refine},   {"solves", &solves}};
    const size_t n_keys = sizeof keys / sizeof *keys;
    size_t length = strcspn(text, ":");
    int m = TRINE_TRI_AUTO;
    for (; m < 32; m++) {
        const char *name = trine_triangular_method_name((trine_triangular_method)m);
        if (strlen(name) == length && strncmp(name, text, length) == 0) break;
    }
    if (m == 32) return trine_fail(TRINE_ERR_UNSUPPORTED, "trine has no triangular method \"%.*s\"", (int)length, text);
    options->method = (trine_triangular_method)m;
    for (const char *at = text + length; *at; at += strcspn(at, ":")) {
        size_t k = 0, end = strcspn(++at, "=");
        while (k < n_keys && (strlen(keys[k].key) != end || strncmp(keys[k].key, at, end) != 0)) k++;
        if (k == n_keys || at[end] != '=')
            return trine_fail(
                TRINE_ERR_UNSUPPORTED,
                "\"%s\" is none of lanes=, warps=, blocks=, order=, scratchpad=, variant=, p=, q=, levels=, refine=, solves=",
                at);
        *keys[k].value = atoi(at + end + 1);
    }
    options->partition.levels = levels, options->partition.refine = refine, options->expected_solves = solves;
    options->tune.lanes_per_row = lanes, options->tune.blocks = blocks, options->tune.row_order = order;
    if (m == TRINE_TRI_SYNCFREE_CSC) options->csc.warps_per_block = warps;
    else options->tune.warps_per_block = warps;
    options->csc.scratchpad = scratchpad, options->csc.variant = (trine_csc_variant)variant, options->csc.p = p,
    options->csc.q = q;
    return TRINE_SUCCESS;
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_triangular_options options = {
        .uplo = p->uplo, .diag = p->diag, .ops = p->op, .summation = b->summation, .max_nrhs = p->nrhs};
    trine_status status = parse_method(method, &options);
    if (status) return status;
    solver *s = calloc(1, sizeof *s);
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    s->options = options;
    *self = s;
    return TRINE_SUCCESS;
}

static trine_status reset(void *self) { return trine_triangular_destroy(&((solver *)self)->plan); }

static trine_status analyse(void *self)
{
    solver *s = self;
    return trine_triangular_analyse(s->b->ctx, &s->plan, s->p->T, &s->options);
}

static trine_status numeric(void *self)
{
    solver *s = self;
    const void *values;
    trine_status status = trine_matrix_get_arrays(s->p->T, NULL, NULL, &values);
    return status ? status : trine_triangular_numeric(s->plan, s->b->device.space, values, NULL);
}

/** Inverses after check, which refines solves where the promise of small errors needs it. */
static trine_status as_op(void *self, trine_op *op, trine_transpose *trans)
{
    solver *s = self;
    trine_triangular_info info;
    (void)trans;
    trine_status status = trine_triangular_get_info(s->plan, &info);
    if (!status && info.method == TRINE_TRI_PARTITIONED_INVERSE) status = trine_triangular_check(s->plan, NULL);
    return status ? status : trine_triangular_as_op(s->plan, op);
}

static void describe(void *self, bench_record *r)
{
    trine_triangular_info info;
    if (trine_triangular_get_info(((solver *)self)->plan, &info) != TRINE_SUCCESS) return;
    r->chosen = trine_triangular_method_name(info.method);
    bench_record_add_number(r, "plan_bytes", (double)info.bytes);
    bench_record_add_number(r, "deterministic", info.deterministic);
    if (info.steps) {
        bench_record_add_number(r, "steps", (double)info.steps);
        bench_record_add_number(r, "inverse_entries", (double)info.entries);
        bench_record_add_number(r, "refined", info.refined);
    }
    bench_record_add_text(r, "why", info.reason);
    if (((solver *)self)->options.method == TRINE_TRI_AUTO)
        bench_record_add_number(
            r, "expected_solves",
            (double)(((solver *)self)->options.expected_solves ? ((solver *)self)->options.expected_solves : 100));
    trine_triangular_prediction expected;
    if (trine_triangular_get_prediction(((solver *)self)->plan, info.method, &expected) != TRINE_SUCCESS ||
        !(expected.solve_seconds > 0))
        return;
    bench_record_add_number(r, "predicted_analyse_ms", 1e3 * expected.analyse_seconds);
    bench_record_add_number(r, "predicted_numeric_ms", 1e3 * expected.numeric_seconds);
    bench_record_add_number(r, "predicted_solve_ms", 1e3 * expected.solve_seconds);
}

static void destroy(void *self)
{
    if (self) trine_triangular_destroy(&((solver *)self)->plan);
    free(self);
}

const bench_setup bench_setup_trine = {"trine", create, reset, analyse, numeric, as_op, describe, destroy, NULL};
