/* Panels in parts for substitution, and where the products of pulled forward solves leave their results
 * (schedule.h). */
#include <string.h>

#include "supernodal/cuda/schedule.h"

void supernodal_parts_free(trine_context ctx, supernodal_parts *parts)
{
    trine_free(ctx, TRINE_HOST, parts->S.panels);
    trine_free(ctx, TRINE_HOST, parts->S.rows);
    trine_free(ctx, TRINE_HOST, parts->panel);
    trine_free(ctx, TRINE_HOST, parts->head);
    *parts = (supernodal_parts){0};
}

trine_status supernodal_split(const supernodal_structure *S, bool whole, supernodal_parts *parts)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    supernodal_structure *out = &parts->S;
    int64_t n_parts = 0;
    *parts = (supernodal_parts){.S = {.ctx = ctx, .n = S->n}};
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        for (int32_t c = 0; c < p->width; c += SUPERNODAL_SMALL) {
            n_parts++;
            out->n_rows += p->height - c;
        }
    }
    out->n_panels = n_parts + (whole ? S->n_panels : 0);
    TRY(ALLOC(ctx, parts->head, S->n_panels + 1));
    TRY(ALLOC(ctx, parts->panel, out->n_panels));
    TRY(CALLOC(ctx, out->panels, out->n_panels));
    TRY(ALLOC(ctx, out->rows, out->n_rows));
    int32_t *const head = parts->head, k = 0;
    int64_t at = 0;
    for (int32_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        head[s] = k;
        for (int32_t c = 0; c < p->width; c += SUPERNODAL_SMALL, k++) {
            const bool last = p->width - c <= SUPERNODAL_SMALL;
            out->panels[k] = (supernodal_panel){.values = p->values + c + (int64_t)c * p->ld,
                                                .rows = at,
                                                .first = p->first + c,
                                                .width = last ? p->width - c : SUPERNODAL_SMALL,
                                                .height = p->height - c,
                                                .ld = p->ld,
                                                .parent = last ? -1 : k + 1,
                                                .children = c ? 1 : p->children};
            parts->panel[k] = s;
            memcpy(out->rows + at, S->rows + p->rows + c, (size_t)(p->height - c) * sizeof *out->rows);
            at += p->height - c;
        }
    }
    head[S->n_panels] = k;
    for (int64_t s = 0; s < S->n_panels; s++) /* the last part's parent is the first part of the panel's */
        if (S->panels[s].parent >= 0) out->panels[head[s + 1] - 1].parent = head[S->panels[s].parent];
    for (int64_t s = n_parts - 1; s >= 0; s--)
        if (out->panels[s].parent >= 0) out->panels[s].depth = out->panels[out->panels[s].parent].depth + 1;
    for (int64_t s = 0; s < n_parts; s++) {
        const supernodal_panel *p = &out->panels[s];
        if (p->parent >= 0 && out->panels[p->parent].level <= p->level) out->panels[p->parent].level = p->level + 1;
    }
    for (int32_t s = 0; whole && s < S->n_panels; s++) { /* as early as its parts begin, in either direction */
        const supernodal_panel *first = &out->panels[head[s]], *last = &out->panels[head[s + 1] - 1];
        supernodal_panel *p = &out->panels[n_parts + s];
        *p = S->panels[s];
        p->rows = first->rows;
        p->parent = last->parent;
        p->level = first->level;
        p->depth = last->depth;
        parts->panel[n_parts + s] = ~s;
    }
done:
    if (status) supernodal_parts_free(ctx, parts);
    return status;
}

/** The panel on which it depends whether part s leaves anything for row i, or -1: a whole panel leaves what it has
 *  for the rows below it where its first part does. */
static int32_t owner_of(const supernodal_parts *parts, int64_t s, int32_t i)
{
    const int32_t panel = parts->panel[s], first = parts->head[panel], next = parts->head[panel + 1];
    const supernodal_panel *last = &parts->S.panels[next - 1];
    return s == first && i >= last->first + last->width ? -1 : panel;
}

void supernodal_gathering_free(trine_context ctx, supernodal_gathering *gathering)
{
    trine_free(ctx, TRINE_HOST, gathering->start);
    trine_free(ctx, TRINE_HOST, gathering->places);
    trine_free(ctx, TRINE_HOST, gathering->owners);
    *gathering = (supernodal_gathering){0};
}

trine_status supernodal_gathering_build(const supernodal_structure *S, const supernodal_parts *parts,
                                        supernodal_gathering *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = (supernodal_gathering){0};
    if (S->n_rows > INT32_MAX)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "%lld rows of panels; TRINE_ACCESS_PULL takes fewer than 2^31",
                          (long long)S->n_rows);
    TRY(CALLOC(S->ctx, out->start, S->n + 2));
    TRY(ALLOC(S->ctx, out->places, S->n_rows));
    if (parts) TRY(ALLOC(S->ctx, out->owners, S->n_rows));
    for (int fill = 0; fill < 2; fill++) {
        for (int64_t s = 0; s < S->n_panels; s++) {
            const supernodal_panel *p = &S->panels[s];
            if (parts && parts->panel[s] < 0) continue;
            for (int64_t k = p->rows + p->width; k < p->rows + p->height; k++) {
                const int32_t i = S->rows[k];
                if (!fill) {
                    out->start[i + 2]++;
                } else {
                    if (parts) out->owners[out->start[i + 1]] = owner_of(parts, s, i);
                    out->places[out->start[i + 1]++] = (int32_t)k;
                }
            }
        }
        for (int64_t i = 1; !fill && i <= S->n; i++) out->start[i + 1] += out->start[i];
    }
done:
    if (status) supernodal_gathering_free(S->ctx, out);
    return status;
}
