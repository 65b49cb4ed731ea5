/* trine info --factor: supernodes and levels of a matrix's factors, before and after merging. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info_factor.h"

enum { MERGED, GIVEN };

/** One triangle: the panels of L, or of U^T. */
struct triangle {
    const char *name;
    trine_supernodal_info info[2];
    trine_supernodal_level *levels[2];
};

static trine_status describe_triangle(trine_context ctx, const trine_panels *panels, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    trine_supernodal plan = NULL;
    for (int merged = MERGED; merged <= GIVEN; merged++) {
        TRY(trine_supernodal_analyse(ctx, &plan, panels,
                                     &(trine_supernodal_options){.fill = merged == GIVEN ? -1 : 0}));
        TRY(trine_supernodal_get_info(plan, &t->info[merged]));
        const int64_t count = t->info[merged].levels_merged;
        t->levels[merged] = calloc((size_t)count + 1, sizeof *t->levels[merged]);
        if (!t->levels[merged]) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)count);
        TRY(trine_supernodal_get_levels(plan, count, t->levels[merged]));
        trine_supernodal_destroy(&plan);
    }
done:
    trine_supernodal_destroy(&plan);
    return status;
}

/* -------------------------------------------------------------------- text */

static void print_levels(const struct triangle *t, int which)
{
    enum { MOST = 40 };
    const int64_t count = t->info[which].levels_merged;
    printf("  level   supernodes            columns                   rows       entries\n");
    printf("                         min   mean    max      min    mean     max\n");
    for (int64_t k = 0; k < count; k++) {
        if (count > MOST && k == MOST / 2) {
            printf("    ...   %s levels more; --json has them all\n", grouped(count - MOST));
            k = count - MOST / 2;
        }
        const trine_supernodal_level *l = &t->levels[which][k];
        printf("%7lld %12s  %6lld %6.1f %6lld   %6lld %7.1f %7lld %13s\n", (long long)k, grouped(l->panels),
               (long long)l->min_width, l->mean_width, (long long)l->max_width, (long long)l->min_height,
               l->mean_height, (long long)l->max_height, grouped(l->entries));
    }
}

static void print_triangle(const struct triangle *t, int64_t nnz)
{
    const trine_supernodal_info *m = &t->info[MERGED], *g = &t->info[GIVEN];
    printf("\n%s           %s entries\n", t->name, grouped(nnz));
    printf(
        "              supernodes   levels   columns min/mean/max      rows min/mean/max   stored entries   per entry\n");
    for (int which = GIVEN; which >= MERGED; which--) {
        const trine_supernodal_info *i = which == GIVEN ? g : m;
        char columns[64], rows[64];
        snprintf(columns, sizeof columns, "%lld/%.1f/%lld", (long long)i->min_width, i->mean_width,
                 (long long)i->max_width);
        snprintf(rows, sizeof rows, "%lld/%.1f/%lld", (long long)i->min_height, i->mean_height,
                 (long long)i->max_height);
        printf("%-12s%12s %8s  %21s  %21s %16s   %9.3f\n", which == GIVEN ? "as factored" : "merged",
               grouped(i->panels_merged), grouped(i->levels_merged), columns, rows, grouped(i->nnz_merged),
               nnz ? (double)i->nnz_merged / (double)nnz : 1);
    }
    printf("levels of the merged supernodes, leaves first:\n");
    print_levels(t, MERGED);
}

/* -------------------------------------------------------------------- JSON */

/** One array a property of the levels: "L_merged_level_panels": [...]. */
static void json_levels(const char *prefix, const struct triangle *t, int which)
{
    static const struct {
        const char *name;
        size_t offset;
    } integers[] = {{"panels", offsetof(trine_supernodal_level, panels)},
                    {"min_columns", offsetof(trine_supernodal_level, min_width)},
                    {"max_columns", offsetof(trine_supernodal_level, max_width)},
                    {"min_rows", offsetof(trine_supernodal_level, min_height)},
                    {"max_rows", offsetof(trine_supernodal_level, max_height)},
                    {"entries", offsetof(trine_supernodal_level, entries)}};
    static const struct {
        const char *name;
        size_t offset;
    } numbers[] = {{"mean_columns", offsetof(trine_supernodal_level, mean_width)},
                   {"mean_rows", offsetof(trine_supernodal_level, mean_height)}};
    const int64_t count = t->info[which].levels_merged;
    char key[96];
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        int64_t *values = calloc((size_t)count + 1, sizeof *values);
        for (int64_t k = 0; values && k < count; k++)
            values[k] = *(const int64_t *)((const char *)&t->levels[which][k] + integers[i].offset);
        snprintf(key, sizeof key, "%s_level_%s", prefix, integers[i].name);
        json_integers(key, values, values ? count : 0);
        free(values);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *values = calloc((size_t)count + 1, sizeof *values);
        for (int64_t k = 0; values && k < count; k++)
            values[k] = *(const double *)((const char *)&t->levels[which][k] + numbers[i].offset);
        snprintf(key, sizeof key, "%s_level_%s", prefix, numbers[i].name);
        json_numbers(key, values, values ? count : 0);
        free(values);
    }
}

static void json_triangle(const struct triangle *t, int64_t nnz)
{
    char prefix[32], key[64];
    for (int which = GIVEN; which >= MERGED; which--) {
        const trine_supernodal_info *i = &t->info[which];
        snprintf(prefix, sizeof prefix, "%s_%s", t->name, which == GIVEN ? "given" : "merged");
        const struct {
            const char *name;
            int64_t value;
        } list[] = {{"panels", i->panels_merged},  {"levels", i->levels_merged},  {"entries", i->nnz_merged},
                    {"min_columns", i->min_width}, {"max_columns", i->max_width}, {"min_rows", i->min_height},
                    {"max_rows", i->max_height}};
        for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
            snprintf(key, sizeof key, "%s_%s", prefix, list[k].name);
            json_integer(key, list[k].value);
        }
        snprintf(key, sizeof key, "%s_mean_columns", prefix);
        json_number(key, i->mean_width);
        snprintf(key, sizeof key, "%s_mean_rows", prefix);
        json_number(key, i->mean_height);
        snprintf(key, sizeof key, "%s_fill_ratio", prefix);
        json_number(key, nnz ? (double)i->nnz_merged / (double)nnz : 1);
        json_levels(prefix, t, which);
    }
}

/* --------------------------------------------------------------------- all */

struct factor_statistics {
    const struct direct_library *library;
    trine_factor_info factor;
    char reason[256]; /* of the factor, which is gone */
    int count;        /* triangles */
    struct triangle triangles[2];
};

trine_status factor_statistics_make(trine_context ctx, trine_matrix A, trine_direct_method method,
                                    struct factor_statistics **out)
{
    trine_status status = TRINE_SUCCESS;
    trine_factor F = NULL;
    trine_panels panels;
    struct factor_statistics *s = *out = calloc(1, sizeof *s);
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    TRY(direct_load(&s->library));
    TRY(s->library->factor(ctx, &F, A, &(trine_factor_options){.method = method, .need_panels = 1}));
    TRY(s->library->factor_info(F, &s->factor));
    snprintf(s->reason, sizeof s->reason, "%s", s->factor.reason);
    s->factor.reason = s->reason;
    if (s->factor.method != TRINE_DIRECT_CHOLESKY && s->factor.method != TRINE_DIRECT_LU) goto done;
    for (int upper = 0; upper < (s->factor.diag_L == TRINE_UNIT ? 2 : 1); upper++) {
        s->triangles[upper].name = upper ? "U" : "L";
        TRY(s->library->factor_panels(F, upper ? TRINE_UPPER : TRINE_LOWER, &panels));
        TRY(describe_triangle(ctx, &panels, &s->triangles[upper]));
        s->count++;
    }
done:
    if (F) s->library->factor_destroy(&F);
    return status;
}

void factor_statistics_print(const struct factor_statistics *s, bool json)
{
    const trine_factor_info *f = &s->factor;
    if (json) {
        json_string("method", s->library->method_name(f->method));
        json_string("reason", f->reason);
        json_string("ordering", s->library->ordering_name(f->ordering));
        json_integer("nnz_L", f->nnz_L);
        json_integer("nnz_U", f->nnz_U);
        json_number("fill", f->fill);
        for (int i = 0; i < s->count; i++) json_triangle(&s->triangles[i], i ? f->nnz_U : f->nnz_L);
        return;
    }
    printf("\nfactor      %s: %s; ordering %s, fill %.2f\n", s->library->method_name(f->method), f->reason,
           s->library->ordering_name(f->ordering), f->fill);
    if (!s->count)
        printf("            %s entries in L, %s in U; no supernodes\n", grouped(f->nnz_L), grouped(f->nnz_U));
    for (int i = 0; i < s->count; i++) print_triangle(&s->triangles[i], i ? f->nnz_U : f->nnz_L);
}

void factor_statistics_destroy(struct factor_statistics *s)
{
    if (!s) return;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) free(s->triangles[i].levels[k]);
    free(s);
}
