/* Lines of the SpMV variant: the panels of a level as the rows or columns of one sparse matrix. */
#include "supernodal/common/levels.h"

void supernodal_lines_free(trine_context ctx, supernodal_lines *lines)
{
    trine_free(ctx, TRINE_HOST, lines->targets);
    trine_free(ctx, TRINE_HOST, lines->own);
    trine_free(ctx, TRINE_HOST, lines->run_start);
    trine_free(ctx, TRINE_HOST, lines->runs);
    trine_free(ctx, TRINE_HOST, lines->launches);
    *lines = (supernodal_lines){0};
}

static void add_line(supernodal_lines *out, int32_t target, bool own)
{
    out->targets[out->n_lines] = target;
    out->own[out->n_lines] = own;
    out->run_start[out->n_lines++] = out->n_runs;
}

/** Rows or columns of the diagonal blocks of one level. */
static void add_own_lines(const supernodal_structure *S, const int32_t *panels, int64_t count, supernodal_lines *out)
{
    for (int64_t k = 0; k < count; k++)
        for (int32_t i = 0; i < S->panels[panels[k]].width; i++) {
            add_line(out, S->panels[panels[k]].first + i, true);
            out->runs[out->n_runs++] = (supernodal_run){panels[k], i};
        }
}

/** Columns below the diagonal blocks. */
static void add_columns_below(const supernodal_structure *S, const int32_t *panels, int64_t count,
                              supernodal_lines *out)
{
    for (int64_t k = 0; k < count; k++) {
        const supernodal_panel *p = &S->panels[panels[k]];
        for (int32_t i = 0; p->height > p->width && i < p->width; i++) {
            add_line(out, p->first + i, false);
            out->runs[out->n_runs++] = (supernodal_run){panels[k], i};
        }
    }
}

/** Rows below the diagonal blocks: a line for every row that any panel of the level reaches. left[i] is 0 before and
 *  after. */
static void add_rows_below(const supernodal_structure *S, const int32_t *panels, int64_t count, int64_t *left,
                           int64_t *place, supernodal_lines *out)
{
    for (int64_t k = 0; k < count; k++) {
        const supernodal_panel *p = &S->panels[panels[k]];
        for (int32_t r = p->width; r < p->height; r++) left[S->rows[p->rows + r]]++;
    }
    for (int64_t k = 0; k < count; k++) {
        const supernodal_panel *p = &S->panels[panels[k]];
        for (int32_t r = p->width; r < p->height; r++) {
            const int32_t i = S->rows[p->rows + r];
            if (left[i] > 0) { /* the first to reach it: room for all, counted down below zero from now on */
                add_line(out, i, false);
                place[i] = out->n_runs;
                out->n_runs += left[i];
                left[i] = -left[i];
            }
            out->runs[place[i]++] = (supernodal_run){panels[k], r};
            left[i]++;
        }
    }
}

static void add_launch(supernodal_lines *out, supernodal_level_kernel kernel, int64_t level, int64_t stage,
                       int64_t first)
{
    if (out->n_lines > first)
        out->launches[out->n_launches++] = (supernodal_launch){.kernel = kernel,
                                                               .level = (int32_t)level,
                                                               .stage = (int32_t)stage,
                                                               .first = first,
                                                               .count = out->n_lines - first};
}

trine_status supernodal_lines_build(const supernodal_structure *S, bool forward, trine_supernodal_invert invert,
                                    supernodal_lines *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int64_t *left = NULL, *place = NULL;
    supernodal_by_level by_level = {0};
    const bool off = invert == TRINE_INVERT_OFF;
    *out = (supernodal_lines){0};
    TRY(supernodal_by_level_build(S, &by_level));
    TRY(CALLOC(ctx, left, S->n));
    TRY(ALLOC(ctx, place, S->n));
    TRY(ALLOC(ctx, out->targets, S->n + S->n_rows));
    TRY(ALLOC(ctx, out->own, S->n + S->n_rows));
    TRY(ALLOC(ctx, out->run_start, S->n + S->n_rows + 1));
    TRY(ALLOC(ctx, out->runs, S->n + S->n_rows));
    TRY(ALLOC(ctx, out->launches, 2 * S->levels));
    for (int64_t k = 0; k < S->levels; k++) {
        const int64_t level = forward ? k : S->levels - 1 - k,
                      count = by_level.start[level + 1] - by_level.start[level];
        const int32_t *panels = by_level.panels + by_level.start[level];
        int64_t first = out->n_lines;
        if (forward || off) {
            add_own_lines(S, panels, count, out);
            add_launch(out, LEVEL_LINES_OWN, level, 2 * k, first);
            first = out->n_lines;
            if (forward) add_rows_below(S, panels, count, left, place, out);
            else add_columns_below(S, panels, count, out);
            add_launch(out, forward ? (off ? LEVEL_LINES_T_FROM_T : LEVEL_LINES_T_FROM_X) : LEVEL_LINES_X_FROM_X, level,
                       forward && off ? 2 * k : 2 * k + 1, first);
        } else {
            add_columns_below(S, panels, count, out);
            add_launch(out, LEVEL_LINES_T_FROM_X, level, 2 * k, first);
            first = out->n_lines;
            add_own_lines(S, panels, count, out);
            add_launch(out, LEVEL_LINES_OWN, level, 2 * k + 1, first);
        }
    }
    out->run_start[out->n_lines] = out->n_runs;
done:
    supernodal_by_level_free(ctx, &by_level);
    trine_free(ctx, TRINE_HOST, left);
    trine_free(ctx, TRINE_HOST, place);
    if (status) supernodal_lines_free(ctx, out);
    return status;
}
