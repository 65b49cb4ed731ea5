/* Generalized products on the CPU, by the caller's functions. Chunks of about equally many rows and entries together go
 * to the context's threads; a row belongs to one chunk. Rows of more than GIANT_ROW entries come afterwards, each by
 * all threads, in PARTS parts whose accumulators are added in order. Nothing of this depends on the number of
 * threads, so neither does a result. */
#include <string.h>

#include "core/team.h"
#include "spmv/cpu/side.h"
#include "spmv/semiring.h"

enum { GIANT_ROW = 1 << 15, PARTS = 64, WORK_TO_WAKE = 20000, LEAST_GRAIN = 2048, MOST_GRAIN = 1 << 16 };

struct product {
    const trine_semiring_source *source;
    const struct spmv_side *side;
    const void *values, *x, *args;
    char *y;
    int64_t row_begin, row_end, nz_begin;
    bool splits;                     /* giant rows are left for later */
    int64_t row;                     /* of a giant row: its number, entries and accumulators of parts */
    int64_t begin, end;
    char *parts;
};

/** Room for one object of a caller's type. */
struct object { _Alignas(SEMIRING_TYPE_BYTES) char bytes[SEMIRING_TYPE_BYTES]; };

static inline int64_t offset_at(const struct spmv_side *side, int64_t i)
{
    return spmv_offset(side->offset_bits, side->offsets, i);
}

static inline int64_t position_at(const struct spmv_side *side, int64_t k)
{
    return side->position_bits ? spmv_offset(side->position_bits, side->positions, k) : k;
}

/** accumulator := that of entry k. product: room. */
static inline void take_entry(const struct product *p, int64_t row, int64_t k, struct object *product,
                              struct object *accumulator)
{
    const trine_semiring_source *s = p->source;
    struct object *to = s->cpu.lift ? product : accumulator;
    s->cpu.multiply(p->args, p->values, p->x, position_at(p->side, k), row, p->side->columns[k], to->bytes);
    if (s->cpu.lift) s->cpu.lift(p->args, product->bytes, accumulator->bytes);
}

/** accumulator := that of the entries begin <= k < end of a row, at least one. */
static inline void reduce_entries(const struct product *p, int64_t row, int64_t begin, int64_t end,
                                  struct object *accumulator)
{
    const trine_semiring_source *s = p->source;
    struct object product, next;
    if (s->cpu.reduce && !p->side->position_bits) {
        s->cpu.reduce(p->args, p->values, p->x, p->side->columns, row, begin, end, accumulator->bytes);
        return;
    }
    take_entry(p, row, begin, &product, accumulator);
    for (int64_t k = begin + 1; k < end; k++) {
        take_entry(p, row, k, &product, &next);
        s->cpu.add(p->args, accumulator->bytes, next.bytes);
    }
}

/** The first row that begins at `work` rows and entries from the first one on, or later. */
static int64_t find_row(const struct product *p, int64_t work)
{
    int64_t low = p->row_begin, high = p->row_end;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (offset_at(p->side, middle) - p->nz_begin + middle - p->row_begin < work) low = middle + 1;
        else high = middle;
    }
    return low;
}

/** Rows that begin in a chunk of the rows and entries. */
static void run_chunk(void *user, int64_t begin, int64_t end, int me)
{
    const struct product *p = user;
    const trine_semiring_source *s = p->source;
    const size_t size = s->output.size;
    struct object accumulator;
    (void)me;
    const int64_t last = find_row(p, end);
    int64_t row = find_row(p, begin);
    for (int64_t from = row < last ? offset_at(p->side, row) : 0, to; row < last; row++, from = to) {
        to = offset_at(p->side, row + 1);
        if (to - from > GIANT_ROW && p->splits) continue;
        if (from < to) reduce_entries(p, row, from, to, &accumulator);
        s->cpu.store(p->args, row, from < to ? accumulator.bytes : NULL, p->y + (size_t)row * size);
    }
}

static void run_parts(void *user, int64_t begin, int64_t end, int me)
{
    const struct product *p = user;
    const int64_t count = p->end - p->begin;
    struct object accumulator;
    (void)me;
    for (int64_t k = begin; k < end; k++) {
        reduce_entries(p, p->row, p->begin + count * k / PARTS, p->begin + count * (k + 1) / PARTS, &accumulator);
        memcpy(p->parts + k * SEMIRING_TYPE_BYTES, accumulator.bytes, p->source->accumulator.size);
    }
}

static void run_giant_row(trine_context ctx, struct product *p)
{
    const trine_semiring_source *s = p->source;
    struct object parts[PARTS];
    p->parts = parts[0].bytes;
    trine_team_for(ctx, trine_threads_with_cores(ctx), PARTS, 1, run_parts, p);
    for (int k = 1; k < PARTS; k++) s->cpu.add(p->args, parts[0].bytes, parts[k].bytes);
    s->cpu.store(p->args, p->row, parts[0].bytes, p->y + (size_t)p->row * s->output.size);
}

/** Every giant row has an entry whose number is a multiple of GIANT_ROW: those are looked at, not all rows. */
static void run_giant_rows(trine_context ctx, struct product *p, int64_t nz_end)
{
    for (int64_t nz = p->nz_begin + GIANT_ROW; nz < nz_end;) {
        int64_t low = p->row_begin, high = p->row_end; /* the row of entry nz: the last that begins at it or before */
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (offset_at(p->side, middle) <= nz) low = middle;
            else high = middle;
        }
        p->row = low, p->begin = offset_at(p->side, low), p->end = offset_at(p->side, low + 1);
        if (p->end - p->begin > GIANT_ROW) run_giant_row(ctx, p);
        while (nz < p->end) nz += GIANT_ROW;
    }
}

trine_status spmv_cpu_apply_semiring(trine_spmv plan, const struct spmv_semiring_call *c)
{
    trine_context ctx = plan->base.ctx;
    const trine_semiring_source *s = &c->semiring->source;
    if (c->side->position_bits && !s->cpu.multiply)
        return trine_fail(TRINE_ERR_UNSUPPORTED,
                          "the semiring has cpu.reduce alone, which needs rows in the order of the values: cpu.multiply "
                          "and cpu.add for a matrix in CSC format");
    if (c->row_begin >= c->row_end) return TRINE_SUCCESS;
    const int64_t nz_begin = offset_at(c->side, c->row_begin), nz_end = offset_at(c->side, c->row_end);
    const int64_t work = nz_end - nz_begin + c->row_end - c->row_begin;
    const bool has_giants = c->side->longest_row < 0 || c->side->longest_row > GIANT_ROW;
    struct product p = {.source = s,
                        .side = c->side,
                        .values = s->value.name ? plan->values : NULL,
                        .x = c->x,
                        .args = c->args,
                        .y = c->y,
                        .row_begin = c->row_begin,
                        .row_end = c->row_end,
                        .nz_begin = nz_begin,
                        .splits = s->cpu.add && has_giants};
    const int threads = trine_threads_with_cores(ctx);
    int64_t grain = work / (8 * (int64_t)threads);
    if (grain < LEAST_GRAIN) grain = LEAST_GRAIN;
    if (grain > MOST_GRAIN) grain = MOST_GRAIN;
    if (work < WORK_TO_WAKE) trine_team_for_short(ctx, threads, work, grain, run_chunk, &p);
    else trine_team_for(ctx, threads, work, grain, run_chunk, &p);
    if (p.splits) run_giant_rows(ctx, &p, nz_end);
    return TRINE_SUCCESS;
}
