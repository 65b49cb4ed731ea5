#include "supernodal/cuda/schedule.h"

#include <string.h>

enum {
    SMALL_BYTES = 4096,  /* a panel's share for one warp */
    WIDE_BYTES = 32768,  /* a panel's share for one block: what its threads can load at once */
    UNIT_BYTES = 128,    /* rows or columns that a warp multiplies at a time: panel_product::ROWS */
    WARP_SUM = 64,       /* longest sum that one warp makes alone */
    ASSEMBLED_ROWS = 8,  /* by a warp, which adds up what others left */
    PREPARED_ROWS = 256  /* by a warp that copies */
};

static int32_t power_of_2_from(int64_t x)
{
    int32_t p = 1;
    while (p < x) p *= 2;
    return p;
}

/** Rows (forward) or columns (backward) of a tile of panel p, its lanes, and whether it takes a whole block. */
static void tile_shape(const supernodal_panel *p, const supernodal_task *task, int32_t *size, int32_t *lanes,
                       int32_t *wide)
{
    const int64_t element = (int64_t)task->element;
    if (task->many) {
        const int32_t length = task->forward ? p->width : p->height;
        for (*lanes = 1; *lanes < SUPERNODAL_WARPS && *lanes * WARP_SUM < length;) *lanes *= 2;
        *wide = *lanes > 1;
        *size = (int32_t)(UNIT_BYTES / element) * (*wide ? SUPERNODAL_WARPS / *lanes : 1);
        return;
    }
    const int64_t per_lane = 16 / element, row_lanes = (p->height + per_lane - 1) / per_lane;
    if (task->forward) {
        const int32_t most = power_of_2_from(row_lanes);
        *lanes = most < 32 ? most : 32;
        *wide = *lanes * 16 * (int64_t)p->width > SMALL_BYTES;
        if (*wide) {
            *lanes = 4;
            while (*lanes < most && *lanes < SUPERNODAL_BLOCK_THREADS &&
                   2 * *lanes * 16 * (int64_t)p->width <= WIDE_BYTES)
                *lanes *= 2;
        }
        *size = (int32_t)(*lanes * per_lane);
        return;
    }
    const int64_t column_bytes = row_lanes * 16;
    *wide = column_bytes * p->width > SMALL_BYTES;
    if (!*wide) {
        *lanes = power_of_2_from((row_lanes + 1) / 2); /* each loads two packs of rows at a time */
        if (*lanes > 32) *lanes = 32;
        *size = p->width;
        return;
    }
    *lanes = 32; /* 4 columns a group of lanes: as many columns, so as few gathers of rows, as a tile can hold */
    while (*lanes < SUPERNODAL_BLOCK_THREADS &&
           (4 * SUPERNODAL_BLOCK_THREADS / *lanes * column_bytes > WIDE_BYTES * 5 / 4 ||
            4 * SUPERNODAL_BLOCK_THREADS / (2 * *lanes) >= p->width))
        *lanes *= 2;
    *size = 4 * SUPERNODAL_BLOCK_THREADS / *lanes;
}

/** Panel p cut into tiles of one kind: `begin`..`end`-1 by `size`. */
typedef struct {
    supernodal_tile_kind kind;
    int32_t begin, end, size, lanes, wide;
    int64_t count;
} cut;

static cut cut_panel(const supernodal_panel *p, const supernodal_task *task, supernodal_tile_kind kind)
{
    /* loads are of 16 bytes */
    const int32_t per_load = (int32_t)(16 / task->element), below = p->width / per_load * per_load;
    cut c = {.kind = kind, .end = task->forward ? p->height : p->width, .lanes = 1};
    supernodal_panel part = *p; /* of which the tile's shape is chosen */
    if (kind == TILE_PREPARE) {
        c.end = p->width;
        c.size = task->forward && task->pull ? ASSEMBLED_ROWS : PREPARED_ROWS;
    } else if (kind == TILE_SUBSTITUTE) {
        c.end = c.size = p->width;
        c.wide = 1;
    } else {
        if (kind == TILE_TOP) {
            part.height = p->width;
            if (task->forward) c.end = p->width;
        } else if (kind == TILE_BOTTOM) {
            part.height -= below;
            if (task->forward) c.begin = below;
        }
        tile_shape(&part, task, &c.size, &c.lanes, &c.wide);
    }
    c.count = (c.end - c.begin + c.size - 1) / c.size;
    return c;
}

/** All tiles of a panel: what prepares t (count 0: nothing), then one kind after the other (the second's count 0:
 *  there is none). */
typedef struct { cut prepare, part[2]; } panel_cuts;

static panel_cuts cuts_of(const supernodal_panel *p, const supernodal_task *task, trine_supernodal_invert invert)
{
    panel_cuts c = {0};
    const supernodal_tile_kind top = invert == TRINE_INVERT_DIAG ? TILE_TOP : TILE_SUBSTITUTE;
    const bool pulled = task->forward && task->pull && p->children;
    if (invert == TRINE_INVERT_OFF) {
        c.part[0] = cut_panel(p, task, TILE_WHOLE);
    } else if (task->forward) {
        c.part[0] = cut_panel(p, task, top);
        if (p->height > p->width) c.part[1] = cut_panel(p, task, TILE_BOTTOM);
    } else { /* with one right-hand side, BOTTOM also prepares t */
        c.part[1] = cut_panel(p, task, top);
        if (p->height > p->width || !task->many) {
            c.part[0] = cut_panel(p, task, TILE_BOTTOM);
        } else {
            c.part[0] = c.part[1];
            c.part[1].count = 0;
        }
    }
    if (pulled || (!task->many && c.part[0].count > 1 && c.part[0].kind != TILE_BOTTOM))
        c.prepare = cut_panel(p, task, TILE_PREPARE);
    return c;
}

/** The part whose tiles others wait for. */
static const cut *last_part(const panel_cuts *c) { return &c->part[c->part[1].count > 0]; }

/** What is done with panel s: a whole one among parts is inverted. */
static trine_supernodal_invert invert_of(const supernodal_task *task, int64_t s)
{
    return task->parts && task->parts->panel[s] < 0 ? TRINE_INVERT_OFF : task->invert;
}

/** The panel whose counter says that what panel s waits for is done: a whole one waits for what its first part waits
 *  for. */
static int32_t counter_of(const supernodal_task *task, int32_t s)
{
    return task->parts && task->parts->panel[s] < 0 ? task->parts->head[~task->parts->panel[s]] : s;
}

/** Where a panel stands in the order: leaves first (forward), roots first (backward). */
static int32_t rank_of(const supernodal_panel *p, bool forward) { return forward ? p->level : p->depth; }

/** Panels by rank; stable counting sort. */
static trine_status priority_order(const supernodal_structure *S, bool forward, int32_t **order)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *start = NULL;
    int32_t most = 0;
    for (int64_t s = 0; s < S->n_panels; s++)
        if (rank_of(&S->panels[s], forward) > most) most = rank_of(&S->panels[s], forward);
    TRY(CALLOC(S->ctx, start, most + 2));
    TRY(ALLOC(S->ctx, *order, S->n_panels));
    for (int64_t s = 0; s < S->n_panels; s++) start[rank_of(&S->panels[s], forward) + 1]++;
    for (int32_t k = 0; k <= most; k++) start[k + 1] += start[k];
    for (int64_t s = 0; s < S->n_panels; s++) (*order)[start[rank_of(&S->panels[s], forward)]++] = (int32_t)s;
done:
    trine_free(S->ctx, TRINE_HOST, start);
    return status;
}

static supernodal_tile tile_of(const supernodal_panel *p)
{
    return (supernodal_tile){
        .values = p->values, .rows = p->rows, .first = p->first, .width = p->width, .height = p->height, .ld = p->ld};
}

/** The schedule being made; `together`: tiles in the last ticket, a full one is followed by the next. */
typedef struct {
    const supernodal_structure *S;
    const supernodal_task *task;
    supernodal_schedule *out;
    const panel_cuts *cuts;
    const uint32_t *expected; /* forward: tiles that panel k waits for; backward: those its children wait for */
    int together;
} builder;

static void add_tiles(builder *b, int32_t s, supernodal_tile tile, const cut *c)
{
    tile.lanes = (int16_t)c->lanes;
    tile.wide = (int16_t)c->wide;
    tile.kind = (int32_t)c->kind;
    for (int32_t at = c->begin; at < c->end; at += c->size) {
        if (c->wide || b->together == SUPERNODAL_WARPS) {
            b->together = 0;
            b->out->n_tickets++;
        }
        tile.begin = at;
        tile.end = c->end - at > c->size ? at + c->size : c->end;
        const int64_t ticket = (b->out->n_tickets - 1) * SUPERNODAL_WARPS;
        do {
            if (b->out->owners) b->out->owners[ticket + b->together] = b->task->parts->panel[s];
            b->out->tiles[ticket + b->together++] = tile;
        } while (c->wide && b->together < SUPERNODAL_WARPS);
    }
}

/** Where a panel's tiles wait and what they signal, for each part of its work; the header says which counter is
 *  which. */
static void add_panel(builder *b, int32_t s, int part, bool wide)
{
    const supernodal_task *task = b->task;
    const supernodal_panel *p = &b->S->panels[s];
    const panel_cuts *c = &b->cuts[s];
    const cut *mine = part < 0 ? &c->prepare : &c->part[part];
    if (!mine->count || mine->wide != wide) return;
    const int32_t n = (int32_t)b->S->n_panels, between = 2 * n + 1 + s, prepared = n + 1 + s, own = counter_of(task, s);
    supernodal_tile tile = tile_of(p);
    tile.wait = tile.signal = -1;
    if (part == 1) {
        tile.wait = between;
        tile.expected = (uint32_t)c->part[0].count;
    } else if (!task->forward) {
        tile.wait = p->parent >= 0 ? p->parent : n;
        tile.expected = p->parent >= 0 ? b->expected[p->parent] : (uint32_t)task->n_init;
    } else if (part == 0 && task->pull && c->prepare.count) {
        tile.wait = prepared;
        tile.expected = (uint32_t)c->prepare.count;
    } else if (part == 0 || task->pull) {
        tile.wait = b->expected[own] ? own : task->many ? n : -1;
        tile.expected = b->expected[own] ? b->expected[own] : (uint32_t)task->n_init;
    }
    if (part < 0) tile.signal = task->pull ? prepared : own;
    else if (mine != last_part(c)) tile.signal = between;
    else tile.signal = task->forward ? p->parent : p->children ? own : -1;
    tile.direct = !task->many && part == 0 && !c->prepare.count;
    if (!task->forward && !task->many) tile.wait = tile.signal = -1;
    add_tiles(b, s, tile, mine);
}

/** One part of the panels in `list`, which do not depend on each other: wide tiles first. */
static void add_panels(builder *b, const int32_t *list, int64_t count, int part)
{
    for (int wide = 1; wide >= 0; wide--) {
        b->together = SUPERNODAL_WARPS;
        for (int64_t k = 0; k < count; k++) add_panel(b, list[k], part, wide);
    }
}

/** Tickets that the tiles of all panels need at most. */
static int64_t most_tickets(const supernodal_structure *S, const panel_cuts *cuts)
{
    int64_t wide = 0, small = 0, levels = 0;
    for (int64_t s = 0; s < S->n_panels; s++) {
        const cut *const all[] = {&cuts[s].prepare, &cuts[s].part[0], &cuts[s].part[1]};
        for (int k = 0; k < 3; k++) *(all[k]->wide ? &wide : &small) += all[k]->count;
        if (S->panels[s].level >= levels) levels = S->panels[s].level + 1; /* as many as there are depths */
    }
    return wide + small / SUPERNODAL_WARPS + 3 * (levels + 1);
}

trine_status supernodal_schedule_build(const supernodal_structure *S, const supernodal_task *task,
                                       supernodal_schedule *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    int32_t *order = NULL;
    uint32_t *expected = NULL;
    panel_cuts *cuts = NULL;
    *out = (supernodal_schedule){0};
    TRY(CALLOC(ctx, expected, S->n_panels));
    TRY(ALLOC(ctx, cuts, S->n_panels));
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        const int32_t own = counter_of(task, (int32_t)s);
        cuts[s] = cuts_of(p, task, invert_of(task, s));
        const uint32_t last = (uint32_t)last_part(&cuts[s])->count;
        if (!task->forward) expected[own] += last;
        else if (!task->pull) expected[own] += (uint32_t)cuts[s].prepare.count;
        if (task->forward && p->parent >= 0) expected[p->parent] += last;
    }
    const int64_t most = most_tickets(S, cuts);
    if (most >= INT32_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld tiles of panels; fewer than 2^31 are possible", (long long)most);
    TRY(CALLOC(ctx, out->tiles, most * SUPERNODAL_WARPS));
    if (task->parts) TRY(CALLOC(ctx, out->owners, most * SUPERNODAL_WARPS));
    TRY(priority_order(S, task->forward, &order));
    builder b = {.S = S, .task = task, .out = out, .cuts = cuts, .expected = expected};
    const bool waiting = task->forward && task->pull; /* to be prepared */
    if (!waiting) add_panels(&b, order, S->n_panels, -1);
    /* panels of one rank do not depend on each other */
    for (int64_t begin = 0, end; begin < S->n_panels; begin = end) {
        const int32_t rank = rank_of(&S->panels[order[begin]], task->forward);
        for (end = begin; end < S->n_panels && rank_of(&S->panels[order[end]], task->forward) == rank;) end++;
        for (int part = waiting ? -1 : 0; part < 2; part++) add_panels(&b, order + begin, end - begin, part);
    }
done:
    trine_free(ctx, TRINE_HOST, order);
    trine_free(ctx, TRINE_HOST, expected);
    trine_free(ctx, TRINE_HOST, cuts);
    if (status) supernodal_schedule_free(ctx, out);
    return status;
}

void supernodal_schedule_free(trine_context ctx, supernodal_schedule *schedule)
{
    trine_free(ctx, TRINE_HOST, schedule->tiles);
    trine_free(ctx, TRINE_HOST, schedule->owners);
    *schedule = (supernodal_schedule){0};
}
