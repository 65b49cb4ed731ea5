#include "supernodal/schedule.h"

#include <string.h>

enum {
    SMALL_BYTES = 4096,  /* a panel's share for one warp */
    WIDE_BYTES = 32768,  /* a panel's share for one block: what its threads can load at once */
    UNIT_BYTES = 128,    /* rows or columns that a warp multiplies at a time: panel_product::ROWS */
    WARP_SUM = 64,       /* longest sum that one warp makes alone */
    ASSEMBLED_ROWS = 8   /* by a warp */
};

static int32_t power_of_2_from(int64_t x)
{
    int32_t p = 1;
    while (p < x) p *= 2;
    return p;
}

/** Rows (forward) or columns (backward) of a tile of panel p, its lanes, and whether it takes a whole block. */
static void tile_shape(const supernodal_panel *p, bool forward, bool many, int64_t element, int32_t *size, int32_t *lanes, int32_t *wide)
{
    if (many) {
        const int32_t length = forward ? p->width : p->height;
        for (*lanes = 1; *lanes < SUPERNODAL_WARPS && *lanes * WARP_SUM < length;) *lanes *= 2;
        *wide = *lanes > 1;
        *size = (int32_t)(UNIT_BYTES / element) * (*wide ? SUPERNODAL_WARPS / *lanes : 1);
        return;
    }
    const int64_t per_lane = 16 / element, row_lanes = (p->height + per_lane - 1) / per_lane;
    if (forward) {
        const int32_t most = power_of_2_from(row_lanes);
        *lanes = most < 32 ? most : 32;
        *wide = *lanes * 16 * (int64_t)p->width > SMALL_BYTES;
        if (*wide) {
            *lanes = 4;
            while (*lanes < most && *lanes < SUPERNODAL_BLOCK_THREADS && 2 * *lanes * 16 * (int64_t)p->width <= WIDE_BYTES) *lanes *= 2;
        }
        *size = (int32_t)(*lanes * per_lane);
        return;
    }
    *wide = (int64_t)p->ld * p->width * element > SMALL_BYTES;
    if (!*wide) {
        *lanes = power_of_2_from((row_lanes + 1) / 2); /* each loads two packs of rows at a time */
        if (*lanes > 32) *lanes = 32;
        *size = p->width;
        return;
    }
    *lanes = 32; /* 4 columns a group of lanes: as many columns, so as few gathers of rows, as a tile can hold */
    while (*lanes < SUPERNODAL_BLOCK_THREADS && (4 * SUPERNODAL_BLOCK_THREADS / *lanes * p->ld * element > WIDE_BYTES * 5 / 4
                                                 || 4 * SUPERNODAL_BLOCK_THREADS / (2 * *lanes) >= p->width)) *lanes *= 2;
    *size = 4 * SUPERNODAL_BLOCK_THREADS / *lanes;
}

static int64_t tiles_of(const supernodal_panel *p, bool forward, bool many, int64_t element)
{
    int32_t size, lanes, wide;
    tile_shape(p, forward, many, element, &size, &lanes, &wide);
    return ((forward ? p->height : p->width) + size - 1) / size;
}

/** Panels by depth (forward: deepest first) or by level (backward: highest first); stable counting sort. */
static trine_status priority_order(const supernodal_structure *S, bool forward, int32_t **order)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *start = NULL;
    int32_t most = 0;
    for (int64_t s = 0; s < S->n_panels; s++) {
        const int32_t key = forward ? S->panels[s].depth : S->panels[s].level;
        if (key > most) most = key;
    }
    TRY(CALLOC(S->ctx, start, most + 2));
    TRY(ALLOC(S->ctx, *order, S->n_panels));
    for (int64_t s = 0; s < S->n_panels; s++) start[most - (forward ? S->panels[s].depth : S->panels[s].level) + 1]++;
    for (int32_t k = 0; k <= most; k++) start[k + 1] += start[k];
    for (int64_t s = 0; s < S->n_panels; s++)
        (*order)[start[most - (forward ? S->panels[s].depth : S->panels[s].level)]++] = (int32_t)s;
done:
    trine_free(S->ctx, TRINE_HOST, start);
    return status;
}

static supernodal_tile tile_of(const supernodal_panel *p)
{
    return (supernodal_tile){.values = p->values, .rows = p->rows, .first = p->first, .width = p->width, .height = p->height, .ld = p->ld};
}

/** Cut 0..length-1 into tiles of `size`. *together: tiles in the last ticket; a full one is followed by the next. */
static void add_tiles(supernodal_schedule *out, supernodal_tile tile, int32_t length, int32_t size, int *together)
{
    for (int32_t at = 0; at < length; at += size) {
        if (tile.wide || *together == SUPERNODAL_WARPS) {
            out->tickets[out->n_tickets++] = (int32_t)out->n_tiles;
            *together = 0;
        }
        ++*together;
        tile.begin = at;
        tile.end = length - at > size ? at + size : length;
        out->tiles[out->n_tiles++] = tile;
    }
}

/** Assembly for the panels of one depth that have children. */
static void add_assembly(const supernodal_structure *S, const int32_t *panels, int64_t count, const uint32_t *expected, supernodal_schedule *out)
{
    int together = SUPERNODAL_WARPS;
    for (int64_t k = 0; k < count; k++) {
        const supernodal_panel *p = &S->panels[panels[k]];
        if (!p->children) continue;
        supernodal_tile tile = tile_of(p);
        tile.assembles = 1;
        tile.wait = panels[k];
        tile.expected = expected[panels[k]];
        tile.signal = (int32_t)S->n_panels + 1 + panels[k];
        add_tiles(out, tile, p->width, ASSEMBLED_ROWS, &together);
    }
}

trine_status supernodal_gathering_build(const supernodal_structure *S, int64_t **start, int32_t **places)
{
    trine_status status = TRINE_SUCCESS;
    *start = NULL;
    *places = NULL;
    if (S->n_rows > INT32_MAX) return trine_fail(TRINE_ERR_UNSUPPORTED, "%lld rows of panels; TRINE_ACCESS_PULL takes fewer than 2^31", (long long)S->n_rows);
    TRY(CALLOC(S->ctx, *start, S->n + 2));
    TRY(ALLOC(S->ctx, *places, S->n_rows));
    for (int fill = 0; fill < 2; fill++) {
        for (int64_t s = 0; s < S->n_panels; s++) {
            const supernodal_panel *p = &S->panels[s];
            for (int64_t k = p->rows + p->width; k < p->rows + p->height; k++) {
                const int32_t i = S->rows[k];
                if (fill) (*places)[(*start)[i + 1]++] = (int32_t)k;
                else (*start)[i + 2]++;
            }
        }
        for (int64_t i = 1; !fill && i <= S->n; i++) (*start)[i + 1] += (*start)[i];
    }
done:
    return status;
}

trine_status supernodal_schedule_build(const supernodal_structure *S, bool forward, bool pull, bool many, size_t element, int64_t n_init,
                                       supernodal_schedule *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int32_t *order = NULL;
    uint32_t *expected = NULL;
    *out = (supernodal_schedule){0};
    int64_t count = 0;
    TRY(CALLOC(ctx, expected, S->n_panels)); /* forward: tiles of all children; backward: of the panel */
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        const int64_t tiles = tiles_of(p, forward, many, (int64_t)element);
        count += tiles + (pull && forward ? (p->width + ASSEMBLED_ROWS - 1) / ASSEMBLED_ROWS : 0);
        if (!forward) expected[s] = (uint32_t)tiles;
        else if (p->parent >= 0) expected[p->parent] += (uint32_t)tiles;
    }
    if (count >= INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "%lld tiles of panels; fewer than 2^31 are possible", (long long)count);
    TRY(ALLOC(ctx, out->tiles, count));
    TRY(ALLOC(ctx, out->tickets, count + 1));
    TRY(priority_order(S, forward, &order));
    for (int64_t begin = 0, end; begin < S->n_panels; begin = end) { /* panels of one depth or level do not depend on each other */
        const int32_t key = forward ? S->panels[order[begin]].depth : S->panels[order[begin]].level;
        for (end = begin; end < S->n_panels && (forward ? S->panels[order[end]].depth : S->panels[order[end]].level) == key;) end++;
        if (forward && pull) add_assembly(S, order + begin, end - begin, expected, out);
        for (int wide_pass = 1; wide_pass >= 0; wide_pass--) {
            int together = SUPERNODAL_WARPS; /* tiles in the ticket being filled */
            for (int64_t k = begin; k < end; k++) {
                const int32_t s = order[k];
                const supernodal_panel *p = &S->panels[s];
                int32_t size, lanes, wide;
                tile_shape(p, forward, many, (int64_t)element, &size, &lanes, &wide);
                if (wide != wide_pass) continue;
                const int32_t source = forward ? (p->children ? s : -1) : p->parent;
                supernodal_tile tile = tile_of(p);
                tile.lanes = lanes;
                tile.wide = wide;
                tile.wait = source >= 0 ? source : (int32_t)S->n_panels;
                tile.expected = source >= 0 ? expected[source] : (uint32_t)n_init;
                tile.signal = forward ? p->parent : p->children ? s : -1;
                if (forward && pull && p->children) {
                    tile.wait = (int32_t)S->n_panels + 1 + s;
                    tile.expected = (uint32_t)((p->width + ASSEMBLED_ROWS - 1) / ASSEMBLED_ROWS);
                }
                add_tiles(out, tile, forward ? p->height : p->width, size, wide ? &(int){SUPERNODAL_WARPS} : &together);
            }
        }
    }
    out->tickets[out->n_tickets] = (int32_t)out->n_tiles;
done:
    trine_free(ctx, TRINE_HOST, order);
    trine_free(ctx, TRINE_HOST, expected);
    if (status) supernodal_schedule_free(ctx, out);
    return status;
}

void supernodal_schedule_free(trine_context ctx, supernodal_schedule *schedule)
{
    trine_free(ctx, TRINE_HOST, schedule->tiles);
    trine_free(ctx, TRINE_HOST, schedule->tickets);
    *schedule = (supernodal_schedule){0};
}

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
            add_job(out, (supernodal_job){.panel = s, .a = (int32_t)c, .b = (int32_t)(c + step < width ? c + step : width)});
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
                for (int32_t x = e; below && x < height; x += SUPERNODAL_ROWS) add_job(out, (supernodal_job){.panel = s, .a = a, .e = e, .x = x});
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
                            add_job(out, (supernodal_job){s, (int32_t)a, (int32_t)b, (int32_t)e, (int32_t)x, (int32_t)y});
                }
            }
            end_stage(out);
        }
    }
    for (int32_t s = 0; s < S->n_panels; s++)
        for (int32_t a = SUPERNODAL_SMALL; a < S->panels[s].width; a += SUPERNODAL_SMALL)
            add_job(out, (supernodal_job){.panel = s, .a = a, .b = a + SUPERNODAL_SMALL < S->panels[s].width ? a + SUPERNODAL_SMALL : S->panels[s].width});
    end_stage(out);
}

trine_status supernodal_inversion_build(const supernodal_structure *S, trine_supernodal_invert invert, supernodal_inversion *out)
{
    trine_status status = TRINE_SUCCESS;
    *out = (supernodal_inversion){0};
    list_jobs(S, invert, out);
    TRY(ALLOC(S->ctx, out->jobs, out->n_jobs));
    list_jobs(S, invert, out);
done:
    return status;
}
