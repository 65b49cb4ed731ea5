/* trine's supernodal plan: the factor as panels, one plan for both directions. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
    bench *b;
    const bench_problem *p;
    trine_supernodal_options options;
    trine_supernodal plan;
    void *values; /* the panels', in the context's space */
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_supernodal_destroy(&s->plan);
    trine_free(s->b->ctx, s->b->device.space, s->values);
    free(s);
}

/** "supernodal", "supernodal:fill=0.2" (the limit for merging), "supernodal:invert=none" or "=off". */
static trine_status parse_method(const char *text, trine_supernodal_options *options)
{
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        if (strncmp(at, ":fill=", 6) == 0) options->fill = atof(at + 6);
        else if (strncmp(at, ":invert=none", 12) == 0) options->invert = TRINE_INVERT_NONE;
        else if (strncmp(at, ":invert=off", 11) == 0) options->invert = TRINE_INVERT_OFF;
        else return trine_fail(TRINE_ERR_UNSUPPORTED, "\"%s\" is none of :fill=, :invert=none, :invert=off", at);
    }
    return TRINE_SUCCESS;
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    trine_supernodal_options options = {.max_nrhs = p->nrhs};
    if (!p->panels.n_panels) return trine_fail(TRINE_ERR_UNSUPPORTED, "not a supernodal factor");
    if (p->dtype != p->panels.dtype) return trine_fail(TRINE_ERR_UNSUPPORTED, "the panels of this factor are double");
    if ((status = parse_method(method, &options)) != TRINE_SUCCESS) return status;
    solver *s = calloc(1, sizeof *s);
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    s->options = options;
    const size_t bytes = (size_t)p->panels.value_offsets[p->panels.n_panels] * trine_dtype_size(p->dtype);
    TRY(trine_alloc(b->ctx, b->device.space, bytes, &s->values));
    TRY(trine_copy(b->ctx, s->values, b->device.space, p->panels.values, TRINE_HOST, bytes));
    *self = s;
    return TRINE_SUCCESS;
done:
    destroy(s);
    return status;
}

static trine_status reset(void *self) { return trine_supernodal_destroy(&((solver *)self)->plan); }

static trine_status numeric(void *self)
{
    solver *s = self;
    return trine_supernodal_numeric(s->plan, s->b->device.space, s->values, NULL);
}

static trine_status analyse(void *self)
{
    solver *s = self;
    return trine_supernodal_analyse(s->b->ctx, &s->plan, &s->p->panels, &s->options);
}

static trine_status solve(void *self)
{
    solver *s = self;
    const trine_transpose op = strcmp(s->p->direction, "forward") == 0 ? TRINE_N : TRINE_T; /* the panels hold L, whatever T is stored as */
    return trine_supernodal_solve(s->plan, op, NULL, &s->p->B, &s->p->X, NULL);
}

static const char *chosen(void *self)
{
    trine_supernodal_info info;
    if (trine_supernodal_get_info(((solver *)self)->plan, &info) != TRINE_SUCCESS) return NULL;
    return info.invert == TRINE_INVERT_OFF ? "invert-off" : "invert-none";
}

static void describe(void *self, bench_record *r)
{
    trine_supernodal_info info;
    if (trine_supernodal_get_info(((solver *)self)->plan, &info) != TRINE_SUCCESS) return;
    bench_record_add_number(r, "plan_bytes", (double)info.bytes);
    bench_record_add_number(r, "panels", (double)info.panels_merged);
    bench_record_add_number(r, "panels_given", (double)info.panels);
    bench_record_add_number(r, "panel_levels", (double)info.levels_merged);
    bench_record_add_number(r, "panel_levels_given", (double)info.levels);
    bench_record_add_number(r, "fill", info.nnz ? (double)info.nnz_merged / (double)info.nnz : 1);
}

const bench_solver bench_solver_supernodal = {"trine", create, reset, analyse, numeric, solve, chosen, describe, destroy};
