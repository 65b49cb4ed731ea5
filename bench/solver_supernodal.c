/* trine's supernodal plan: the factor as panels, one plan for both directions. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "graph.h"
#include "core/test_interface.h"

typedef struct {
    bench *b;
    const bench_problem *p;
    trine_supernodal_options options;
    trine_supernodal plan;
    char *level_us, *level_panels,
        *level_entries; /* of the sweep "levels": a number a level, in the order of the solve */
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_supernodal_destroy(&s->plan);
    free(s->level_us);
    free(s->level_panels);
    free(s->level_entries);
    free(s);
}

/** One ":name=value" of a method, up to the next colon. */
static bool set_option(const char *at, size_t length, trine_supernodal_options *options)
{
    static const struct {
        const char *text;
        trine_supernodal_invert invert;
    } inversions[] = {{"invert=none", TRINE_INVERT_NONE},
                      {"invert=diag", TRINE_INVERT_DIAG},
                      {"invert=off", TRINE_INVERT_OFF},
                      {"invert=full", TRINE_INVERT_FULL}};
    static const struct {
        const char *text;
        trine_supernodal_variant variant;
    } variants[] = {{"default", TRINE_VARIANT_DEFAULT},
                    {"stream", TRINE_VARIANT_STREAM},
                    {"team", TRINE_VARIANT_TEAM},
                    {"spmv", TRINE_VARIANT_SPMV},
                    {"dynamic", TRINE_VARIANT_DYNAMIC}};
    for (size_t k = 0; k < sizeof inversions / sizeof *inversions; k++)
        if (length == strlen(inversions[k].text) && !strncmp(at, inversions[k].text, length))
            return (options->invert = inversions[k].invert, true);
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++)
        if (length == strlen(variants[k].text) && !strncmp(at, variants[k].text, length))
            return (options->variant = variants[k].variant, true);
    if (length == 4 && !strncmp(at, "push", 4)) return (options->access = TRINE_ACCESS_PUSH, true);
    if (length == 4 && !strncmp(at, "pull", 4)) return (options->access = TRINE_ACCESS_PULL, true);
    if (length == 7 && !strncmp(at, "nograph", 7)) return (options->no_graph = 1, true);
    if (!strncmp(at, "fill=", 5)) return (options->fill = atof(at + 5), true);
    if (!strncmp(at, "streams=", 8)) return (options->streams = atoi(at + 8), true);
    if (!strncmp(at, "threshold=", 10)) return (options->threshold = atoll(at + 10), true);
    if (!strncmp(at, "teams=", 6)) return (options->teams = atoll(at + 6), true);
    return false;
}

/** "supernodal", "supernodal:fill=0.2", "supernodal:team:invert=diag:pull": all options by name (bench/README.md). */
static trine_status parse_method(const char *text, trine_supernodal_options *options)
{
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':'))
        if (!set_option(at + 1, strcspn(at + 1, ":"), options))
            return trine_fail(
                TRINE_ERR_UNSUPPORTED,
                "\"%s\" is none of fill=, invert=none|diag|off|full, dynamic, default, stream, team, spmv, push, "
                "pull, streams=, threshold=, teams=, nograph",
                at + 1);
    return TRINE_SUCCESS;
}

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    trine_supernodal_options options = {.max_nrhs = p->nrhs};
    if (!p->panels.n_panels) return trine_fail(TRINE_ERR_UNSUPPORTED, "not a supernodal factor");
    if ((status = parse_method(method, &options)) != TRINE_SUCCESS) return status;
    if (!options.invert && options.variant > TRINE_VARIANT_DYNAMIC && b->device.space == TRINE_DEVICE)
        options.invert = TRINE_INVERT_OFF; /* the paper's, unless the method says otherwise */
    solver *s = calloc(1, sizeof *s);
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    *s = (solver){.b = b, .p = p, .options = options};
    *self = s;
    return TRINE_SUCCESS;
}

static trine_status reset(void *self) { return trine_supernodal_destroy(&((solver *)self)->plan); }

static trine_status numeric(void *self)
{
    solver *s = self;
    return trine_supernodal_numeric(s->plan, s->b->device.space, s->p->panel_values, NULL);
}

static trine_status analyse(void *self)
{
    solver *s = self;
    return trine_supernodal_analyse(s->b->ctx, &s->plan, &s->p->panels, &s->options);
}

static trine_status as_op(void *self, trine_op *op, trine_transpose *trans)
{
    const solver *s = self;
    /* the panels are lower, whatever T is stored as */
    *trans = strcmp(s->p->direction, "forward") == 0 ? TRINE_N : TRINE_T;
    return trine_supernodal_as_op(s->plan, op);
}

/** Time of each level (Figure 14 of the paper). */
static trine_status describe_levels(solver *s, bench_solve *solve, int64_t count, bench_record *r)
{
    trine_status status = TRINE_SUCCESS;
    double *times = NULL, between;
    trine_supernodal_level *levels = NULL;
    const bool forward = strcmp(s->p->direction, "forward") == 0;
    size_t length;
    TRY(ALLOC(s->b->ctx, times, count));
    TRY(ALLOC(s->b->ctx, levels, count));
    TRY(trine_supernodal_get_levels(s->plan, count, levels));
    trine_supernodal_watch_levels(s->plan, bench_mark, NULL);
    TRY(bench_time_marks(s->b, bench_solve_once, solve, count, times, &between));
    FILE *us = open_memstream(&s->level_us, &length), *panels = open_memstream(&s->level_panels, &length),
         *entries = open_memstream(&s->level_entries, &length);
    fprintf(s->b->table, "  %s, microseconds a level: ", r->method);
    for (int64_t k = 0; k < count; k++) {
        const trine_supernodal_level *level = &levels[forward ? k : count - 1 - k];
        fprintf(us, "%s%.2f", k ? " " : "", times[k]);
        fprintf(panels, "%s%lld", k ? " " : "", (long long)level->panels);
        fprintf(entries, "%s%lld", k ? " " : "", (long long)level->entries);
        fprintf(s->b->table, "%s%.1f", k ? ", " : "", times[k]);
    }
    fprintf(s->b->table, "; between two marks %.2f\n", between);
    fclose(us), fclose(panels), fclose(entries);
    bench_record_add_text(r, "level_us", s->level_us);
    bench_record_add_text(r, "level_panels", s->level_panels);
    bench_record_add_text(r, "level_entries", s->level_entries);
    bench_record_add_number(r, "mark_us", between);
done:
    trine_supernodal_watch_levels(s->plan, NULL, NULL);
    trine_free(s->b->ctx, TRINE_HOST, times);
    trine_free(s->b->ctx, TRINE_HOST, levels);
    return status;
}

/** What a solve costs the host, and what its launches cost without their work (Figure 15b). */
static trine_status describe_launches(const solver *s, bench_solve *solve, bench_record *r)
{
    trine_status status = TRINE_SUCCESS;
    bench_time host;
    int kernels;
    double launch_ms;
    TRY(bench_measure_return(s->b, bench_solve_once, solve, &host));
    TRY(bench_count_launches(s->b, bench_solve_once, solve, &kernels, &launch_ms));
    bench_record_add_number(r, "host_ms", host.median);
    bench_record_add_number(r, "kernels", kernels);
    bench_record_add_number(r, "launch_ms", launch_ms);
    fprintf(s->b->table, "  %s: %d kernels, empty ones %.4g ms; the host is busy for %.4g ms\n", r->method, kernels,
            launch_ms, host.median);
done:
    return status;
}

static void describe(void *self, bench_record *r)
{
    static const char *const inversions[] = {"", "invert-none", "invert-off", "invert-diag", "invert-full"};
    trine_supernodal_info info;
    if (trine_supernodal_get_info(((solver *)self)->plan, &info) != TRINE_SUCCESS) return;
    r->chosen =
        info.invert == TRINE_INVERT_OFF && info.substituted_panels > 0 ? "invert-some" : inversions[info.invert];
    bench_record_add_number(r, "plan_bytes", (double)info.bytes);
    bench_record_add_number(r, "panels", (double)info.panels_merged);
    bench_record_add_number(r, "panels_given", (double)info.panels);
    bench_record_add_number(r, "panel_levels", (double)info.levels_merged);
    bench_record_add_number(r, "panel_levels_given", (double)info.levels);
    bench_record_add_number(r, "fill", info.nnz ? (double)info.nnz_merged / (double)info.nnz : 1);
}

static trine_status examine(void *self, bench_solve *solve, bench_record *r)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = self;
    trine_supernodal_info info;
    const bool gpu = s->b->device.space == TRINE_DEVICE;
    TRY(trine_supernodal_get_info(s->plan, &info));
    if (gpu && strcmp(s->b->sweep, "levels") == 0 && info.variant != TRINE_VARIANT_DYNAMIC)
        TRY(describe_levels(s, solve, info.levels_merged, r));
    if (gpu && strcmp(s->b->sweep, "launch") == 0) TRY(describe_launches(s, solve, r));
done:
    return status;
}

const bench_setup bench_setup_supernodal = {"trine", create,   reset,   analyse, numeric,
                                            as_op,   describe, destroy, examine};
