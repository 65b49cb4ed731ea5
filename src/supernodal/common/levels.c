/* Slices of panels for the level-by-level variants: which rows, columns or segments a launch works on. */
#include "supernodal/common/levels.h"

enum {
    ROWS_A_BLOCK = 64,
    COLUMNS_A_BLOCK = 16,
    SEGMENTS_A_BLOCK = 2 /* shares of a panel that many blocks work on */
};

trine_status supernodal_segments_build(const supernodal_structure *S, int64_t **start, supernodal_segment **segments)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int32_t *panel_of = NULL;
    *start = NULL;
    *segments = NULL;
    TRY(ALLOC(ctx, panel_of, S->n));
    TRY(CALLOC(ctx, *start, S->n_panels + 2));
    for (int64_t s = 0; s < S->n_panels; s++)
        for (int32_t c = 0; c < S->panels[s].width; c++) panel_of[S->panels[s].first + c] = (int32_t)s;
    for (int fill = 0; fill < 2; fill++) {
        for (int32_t j = 0; j < S->n_panels; j++) {
            const supernodal_panel *p = &S->panels[j];
            const int32_t *rows = S->rows + p->rows;
            for (int32_t begin = p->width, end; begin < p->height; begin = end) {
                const int32_t s = panel_of[rows[begin]];
                for (end = begin + 1; end < p->height && panel_of[rows[end]] == s;) end++;
                if (fill) (*segments)[(*start)[s + 1]] = (supernodal_segment){j, begin, end};
                (*start)[s + 1 + !fill]++;
            }
        }
        if (!fill) { /* start[s+1] is now where s begins, and moves to where it ends */
            for (int64_t s = 0; s < S->n_panels; s++) (*start)[s + 2] += (*start)[s + 1];
            TRY(ALLOC(ctx, *segments, (*start)[S->n_panels + 1]));
        }
    }
done:
    trine_free(ctx, TRINE_HOST, panel_of);
    return status;
}

trine_status supernodal_by_level_build(const supernodal_structure *S, supernodal_by_level *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = (supernodal_by_level){0};
    TRY(CALLOC(S->ctx, out->start, S->levels + 2));
    TRY(ALLOC(S->ctx, out->panels, S->n_panels));
    for (int64_t s = 0; s < S->n_panels; s++) out->start[S->panels[s].level + 2]++;
    for (int64_t l = 1; l <= S->levels; l++) out->start[l + 1] += out->start[l];
    for (int64_t s = 0; s < S->n_panels; s++) out->panels[out->start[S->panels[s].level + 1]++] = (int32_t)s;
done:
    return status;
}

void supernodal_by_level_free(trine_context ctx, supernodal_by_level *by_level)
{
    trine_free(ctx, TRINE_HOST, by_level->start);
    trine_free(ctx, TRINE_HOST, by_level->panels);
}

/** The stages of one level, in order; returns how many. */
static int stages_of(bool forward, bool pull, trine_supernodal_invert invert, supernodal_level_kernel stages[2])
{
    const bool none = invert == TRINE_INVERT_NONE, off = invert == TRINE_INVERT_OFF;
    int count = 0;
    if (forward && pull) stages[count++] = off ? LEVEL_GATHER_T : LEVEL_GATHER_X;
    if (!forward && pull && !off) stages[count++] = LEVEL_COLUMNS_BOTTOM;
    if (none) stages[count++] = LEVEL_SUBSTITUTE;
    else if (forward) stages[count++] = LEVEL_ROWS_FROM_T;
    else if (off) stages[count++] = pull ? LEVEL_COLUMNS_BOTH : LEVEL_COLUMNS_TOP_ADD;
    else stages[count++] = LEVEL_COLUMNS_TOP;
    if (forward && !pull && !off) stages[count++] = LEVEL_ROWS_FROM_X;
    if (!forward && !pull) stages[count++] = off ? LEVEL_SCATTER_X : LEVEL_SCATTER_T;
    return count;
}

/** What slices of panel s share: rows, columns or segments lo..hi-1, `step` of them a block. */
static void extent(const supernodal_structure *S, int64_t s, supernodal_level_kernel kernel, bool with_bottom,
                   const int64_t *segment_start, int32_t *lo, int32_t *hi, int32_t *step)
{
    const supernodal_panel *p = &S->panels[s];
    *lo = 0;
    *hi = p->width;
    *step = COLUMNS_A_BLOCK;
    switch (kernel) {
    case LEVEL_SUBSTITUTE: *step = p->width; break;
    case LEVEL_ROWS_FROM_T:
        *hi = with_bottom ? p->height : p->width;
        *step = ROWS_A_BLOCK;
        break;
    case LEVEL_ROWS_FROM_X:
        *lo = p->width;
        *hi = p->height;
        *step = ROWS_A_BLOCK;
        break;
    case LEVEL_GATHER_T:
    case LEVEL_GATHER_X:
        *step = ROWS_A_BLOCK;
        if (segment_start[s] == segment_start[s + 1]) *hi = 0;
        break;
    case LEVEL_COLUMNS_BOTTOM:
        if (p->width == p->height) *hi = 0;
        break;
    case LEVEL_SCATTER_T:
    case LEVEL_SCATTER_X:
        *hi = (int32_t)(segment_start[s + 1] - segment_start[s]);
        *step = SEGMENTS_A_BLOCK;
        break;
    default: break;
    }
}

typedef struct {
    const supernodal_structure *S;
    const int64_t *segment_start;
    int64_t threshold;
    bool with_bottom; /* ROWS_FROM_T goes on below the diagonal block */
} cutting;

/** Count slices (out->slices NULL) or write them. */
static void add_slices(supernodal_level_plan *out, int32_t panel, int32_t lo, int32_t hi, int32_t step)
{
    for (int32_t at = lo; at < hi; at += step) {
        if (out->slices) out->slices[out->n_slices] = (supernodal_slice){panel, at, hi - at > step ? at + step : hi};
        out->n_slices++;
    }
}

static void end_launch(supernodal_level_plan *out, supernodal_launch launch)
{
    launch.count = out->n_slices - launch.first;
    if (!launch.count) return;
    if (out->launches) out->launches[out->n_launches] = launch;
    out->n_launches++;
}

/** One stage of the level's panels order[0..count-1]: all small panels in one launch, each large one in its own. */
static void add_stage(const cutting *cut, const int32_t *order, int64_t count, supernodal_launch launch,
                      supernodal_level_plan *out)
{
    int32_t lo, hi, step;
    launch.first = out->n_slices;
    for (int64_t k = 0; k < count; k++) {
        if (cut->S->panels[order[k]].width > cut->threshold) continue;
        extent(cut->S, order[k], launch.kernel, cut->with_bottom, cut->segment_start, &lo, &hi, &step);
        add_slices(out, order[k], lo, hi, hi > lo ? hi - lo : 1);
    }
    end_launch(out, launch);
    for (int64_t k = 0; k < count; k++) {
        if (cut->S->panels[order[k]].width <= cut->threshold) continue;
        extent(cut->S, order[k], launch.kernel, cut->with_bottom, cut->segment_start, &lo, &hi, &step);
        launch.first = out->n_slices;
        add_slices(out, order[k], lo, hi, step);
        end_launch(out, launch);
    }
}

trine_status supernodal_levels_build(const supernodal_structure *S, bool forward, bool pull,
                                     trine_supernodal_invert invert, int64_t threshold, supernodal_level_plan *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int64_t *segment_start = NULL;
    supernodal_by_level by_level = {0};
    supernodal_segment *segments = NULL;
    supernodal_level_kernel stages[2];
    const int n_stages = stages_of(forward, pull, invert, stages);
    *out = (supernodal_level_plan){0};
    TRY(supernodal_segments_build(S, &segment_start, &segments));
    TRY(supernodal_by_level_build(S, &by_level));
    const cutting cut = {S, segment_start, threshold, forward && !pull && invert == TRINE_INVERT_OFF};
    for (int write = 0; write < 2; write++) {
        out->n_slices = out->n_launches = 0;
        for (int64_t k = 0; k < S->levels; k++) {
            const int64_t level = forward ? k : S->levels - 1 - k, first = by_level.start[level],
                          count = by_level.start[level + 1] - first;
            for (int stage = 0; stage < n_stages; stage++)
                add_stage(&cut, by_level.panels + first, count,
                          (supernodal_launch){.kernel = stages[stage],
                                              .level = (int32_t)level,
                                              .stage = (int32_t)(k * n_stages + stage)},
                          out);
        }
        if (write) break;
        TRY(ALLOC(ctx, out->slices, out->n_slices));
        TRY(ALLOC(ctx, out->launches, out->n_launches));
    }
done:
    supernodal_by_level_free(ctx, &by_level);
    trine_free(ctx, TRINE_HOST, segment_start);
    trine_free(ctx, TRINE_HOST, segments);
    if (status) supernodal_levels_free(ctx, out);
    return status;
}

void supernodal_levels_free(trine_context ctx, supernodal_level_plan *plan)
{
    trine_free(ctx, TRINE_HOST, plan->slices);
    trine_free(ctx, TRINE_HOST, plan->launches);
    *plan = (supernodal_level_plan){0};
}
