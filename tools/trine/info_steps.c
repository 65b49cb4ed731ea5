#include "info_steps.h"

#include <stdio.h>

/** The plan of a triangle by a method, as far as there is one. */
static trine_status describe(trine_context ctx, trine_matrix A, const trine_triangular_options *options,
                             struct triangle_steps *t, trine_triangular_info *info)
{
    trine_triangular plan = NULL;
    trine_status status = trine_triangular_analyse(ctx, &plan, A, options);
    if (!status) status = trine_triangular_numeric(plan, TRINE_HOST, NULL, NULL);
    if (!status) status = trine_triangular_check(plan, NULL); /* also for the growth that a GPU finds */
    const bool own = status == TRINE_ERR_SINGULAR || status == TRINE_ERR_MEMORY; /* problems of this triangle */
    if (own) snprintf(t->problem, sizeof t->problem, "%s", trine_last_error());
    if (own) status = TRINE_SUCCESS;
    if (plan && !status) status = trine_triangular_get_info(plan, info);
    if (plan && !status) snprintf(t->reason, sizeof t->reason, "%s", info->reason);
    trine_triangular_destroy(&plan);
    return status;
}

trine_status step_statistics_make(trine_matrix A, const char *device, struct step_statistics *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = NULL;
    trine_context_info info;
    *s = (struct step_statistics){0};
    TRY(trine_context_create(&ctx, device));
    TRY(trine_context_get_info(ctx, &info));
    snprintf(s->device, sizeof s->device, "%s", info.name);
    for (int upper = 0; upper < 2; upper++) {
        struct triangle_steps *t = &s->triangles[upper];
        trine_triangular_options options = {.uplo = upper ? TRINE_UPPER : TRINE_LOWER,
                                            .method = TRINE_TRI_PARTITIONED_INVERSE};
        TRY(describe(ctx, A, &options, t, &t->inverse));
        options.method = TRINE_TRI_AUTO; /* last: its reason stays */
        TRY(describe(ctx, A, &options, t, &t->taken));
    }
done:
    trine_context_destroy(&ctx);
    return status;
}

/* ------------------------------------------------------------------- output */

static void print_triangle(const char *name, const struct triangle_steps *t)
{
    const trine_triangular_info *i = &t->inverse, *taken = &t->taken;
    if (i->steps)
        printf("  %-8s %9s %9s %14s %6.1f x %12s %6.1f x %9.3g\n", name, grouped(i->levels), grouped(i->steps),
               grouped(i->entries), (double)i->entries / (double)i->nnz, grouped((i->bytes + 999) / 1000),
               (double)i->bytes / (double)taken->bytes, i->growth);
    if (taken->n) printf("           auto takes %s: %s\n", trine_triangular_method_name(taken->method), t->reason);
    if (*t->problem) printf("  %-8s %s\n", taken->n ? "" : name, t->problem);
}

static void json_triangle(const char *name, const struct triangle_steps *t)
{
    char key[64];
    const trine_triangular_info *i = &t->inverse;
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"steps", i->steps},          {"inverse_entries", i->entries},
                    {"inverse_bytes", i->bytes},  {"substituted_rows", i->substituted_rows},
                    {"triangle_entries", i->nnz}, {"plan_bytes", t->taken.bytes}};
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
        snprintf(key, sizeof key, "%s_%s", name, integers[k].name);
        json_integer(key, integers[k].value);
    }
    snprintf(key, sizeof key, "%s_growth", name);
    json_number(key, i->growth);
    const char *const strings[][2] = {{"method", t->taken.n ? trine_triangular_method_name(t->taken.method) : ""},
                                      {"reason", t->taken.n ? t->reason : ""},
                                      {"problem", t->problem}};
    for (size_t k = 0; k < sizeof strings / sizeof *strings; k++) {
        snprintf(key, sizeof key, "%s_%s", name, strings[k][0]);
        json_string(key, strings[k][1]);
    }
}

void step_statistics_print(const struct step_statistics *s, bool json)
{
    static const char *const names[] = {"lower", "upper"};
    if (json) {
        json_string("steps_device", s->device);
        for (int upper = 0; upper < 2; upper++) json_triangle(names[upper], &s->triangles[upper]);
        return;
    }
    printf("\ntriangles, on %s, by partitioned inverses\n", s->device);
    printf("              levels     steps        entries  of T's      kB kept  of auto    growth\n");
    for (int upper = 0; upper < 2; upper++) print_triangle(names[upper], &s->triangles[upper]);
}
