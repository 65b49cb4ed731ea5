/* The jobs of the inversion and of its trial (schedule.h). */
#include "supernodal/cuda/schedule.h"

/** Count jobs (out->jobs NULL) or write them. */
static void add_job(supernodal_inversion *out, supernodal_job job)
{
    if (out->jobs) out->jobs[out->n_jobs] = job;
    out->n_jobs++;
}

static void end_stage(supernodal_inversion *out) { out->stages[++out->n_stages] = out->n_jobs; }

static void list_jobs(const supernodal_structure *S, trine_supernodal_invert invert, supernodal_inversion *out)
{
    out->n_jobs = 0;
    out->n_stages = 0;
    for (int32_t s = 0; s < S->n_sources; s++) {
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s], width = S->source_width[s];
        const int64_t step = height >= SUPERNODAL_COPY ? 1 : SUPERNODAL_COPY / height;
        for (int64_t c = 0; c < width; c += step)
            add_job(out,
                    (supernodal_job){.panel = s, .a = (int32_t)c, .b = (int32_t)(c + step < width ? c + step : width)});
    }
    end_stage(out);
    if (invert == TRINE_INVERT_NONE) return;
    for (int below = 0; below < 2; below++) {
        for (int32_t s = 0; s < S->n_panels; s++) {
            const supernodal_panel *p = &S->panels[s];
            for (int32_t a = 0; a < p->width; a += SUPERNODAL_SMALL) {
                const int32_t e = a + SUPERNODAL_SMALL < p->width ? a + SUPERNODAL_SMALL : p->width;
                const int32_t height = invert == TRINE_INVERT_OFF ? p->height : p->width;
                if (!below) add_job(out, (supernodal_job){.panel = s, .a = a, .e = e});
                for (int32_t x = e; below && x < height; x += SUPERNODAL_ROWS)
                    add_job(out, (supernodal_job){.panel = s, .a = a, .e = e, .x = x});
            }
        }
        end_stage(out);
    }
    for (int64_t m = SUPERNODAL_SMALL; m < S->max_width; m *= 2) {
        for (int update = 0; update < 2; update++) {
            const int32_t side = update ? SUPERNODAL_TILE : 32;
            for (int32_t s = 0; s < S->n_panels; s++) {
                const supernodal_panel *p = &S->panels[s];
                const int32_t height = invert == TRINE_INVERT_OFF ? p->height : p->width;
                for (int64_t a = 0; a + m < p->width; a += 2 * m) {
                    const int64_t b = a + m, e = b + m < p->width ? b + m : p->width;
                    for (int64_t x = b; x < (update ? height : e); x += side)
                        for (int64_t y = a; y < b; y += side)
                            add_job(out,
                                    (supernodal_job){s, (int32_t)a, (int32_t)b, (int32_t)e, (int32_t)x, (int32_t)y});
                }
            }
            end_stage(out);
        }
    }
    for (int32_t s = 0; s < S->n_panels; s++)
        for (int32_t a = SUPERNODAL_SMALL; a < S->panels[s].width; a += SUPERNODAL_SMALL)
            add_job(out, (supernodal_job){.panel = s,
                                          .a = a,
                                          .b = a + SUPERNODAL_SMALL < S->panels[s].width ? a + SUPERNODAL_SMALL
                                                                                         : S->panels[s].width});
    end_stage(out);
}

trine_status supernodal_inversion_build(const supernodal_structure *S, trine_supernodal_invert invert,
                                        supernodal_inversion *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = (supernodal_inversion){0};
    list_jobs(S, invert, out);
    TRY(ALLOC(S->ctx, out->jobs, out->n_jobs));
    list_jobs(S, invert, out);
done:
    return status;
}

/** Tiles of a panel from the diagonal down; jobs NULL: how many. */
static int64_t add_trial_tiles(int32_t panel, int64_t height, int64_t width, supernodal_job *jobs)
{
    int64_t count = 0;
    for (int64_t x = 0; x < height; x += SUPERNODAL_ROWS)
        for (int64_t a = 0; a < width && a < x + SUPERNODAL_ROWS; a += SUPERNODAL_TILE, count++)
            if (jobs)
                jobs[count] =
                    (supernodal_job){.panel = panel,
                                     .a = (int32_t)a,
                                     .b = (int32_t)(a + SUPERNODAL_TILE < width ? a + SUPERNODAL_TILE : width),
                                     .x = (int32_t)x};
    return count;
}

trine_status supernodal_trial_jobs(const supernodal_structure *S, trine_supernodal_invert invert, supernodal_job **jobs,
                                   int64_t counts[2])
{
    trine_status status = TRINE_SUCCESS;
    *jobs = NULL;
    for (int fill = 0; fill < 2; fill++) {
        int64_t at = 0;
        for (int32_t s = 0; s < S->n_sources; s++)
            at += add_trial_tiles(s, S->source_row_offsets[s + 1] - S->source_row_offsets[s], S->source_width[s],
                                  *jobs ? *jobs + at : NULL);
        counts[0] = at;
        for (int32_t s = 0; s < S->n_panels; s++)
            at += add_trial_tiles(s, invert == TRINE_INVERT_OFF ? S->panels[s].height : S->panels[s].width,
                                  S->panels[s].width, *jobs ? *jobs + at : NULL);
        counts[1] = at - counts[0];
        if (!fill) TRY(ALLOC(S->ctx, *jobs, at));
    }
done:
    return status;
}
