/* Generalized products on the CPU, by the caller's functions. Chunks of about equally many rows and entries together go
 * to the context's threads; a row belongs to one chunk. Rows of more than GIANT_ROW entries come afterwards, each by
 * all threads, in PARTS parts whose accumulators are added in order. Nothing of this depends on the number of
 * threads, so neither does a result. */
#include <string.h>

#include "spmv/cpu/side.h"
#include "spmv/cpu/split.h"
#include "spmv/semiring.h"

enum { GIANT_ROW = 1 << 15, PARTS = 64, WORK_TO_WAKE = 20000, LEAST_GRAIN = 1024, MOST_GRAIN = 1 << 16 };
enum { AHEAD = 512 }; /* entries prefetched */

struct product {
    const trine_semiring_source *source;
    const struct spmv_side *side;
    const void *values, *x, *args;
    char *y;
    int64_t row_begin, row_end, nz_begin;
    bool splits; /* giant rows are left for later */
    int64_t row; /* of a giant row: its number, entries and accumulators of parts */
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

/** What the entries of a row are reduced by, out of the caller's memory: a call of the caller's functions could have
 *  changed that. */
struct reducer {
    void (*multiply)(const void *, const void *, const void *, int64_t, int64_t, int64_t, void *);
    void (*lift)(const void *, const void *, void *);
    void (*add)(const void *, void *, const void *);
    void (*reduce)(const void *, const void *, const void *, const int32_t *, int64_t, int64_t, int64_t, void *);
    const void *args, *values, *x;
    const struct spmv_side *side;
    const int32_t *columns;
    bool is_plain; /* nothing to lift, and values in the order of entries */
};

static struct reducer reducer_of(const struct product *p)
{
    const trine_semiring_source *s = p->source;
    return (struct reducer){.multiply = s->cpu.multiply,
                            .lift = s->cpu.lift,
                            .add = s->cpu.add,
                            .reduce = p->side->position_bits ? NULL : s->cpu.reduce,
                            .args = p->args,
                            .values = p->values,
                            .x = p->x,
                            .side = p->side,
                            .columns = p->side->columns,
                            .is_plain = !s->cpu.lift && !p->side->position_bits};
}

/** to := the accumulator of entry k. */
static inline void take_entry(const struct reducer *r, bool is_plain, int64_t row, int64_t k, struct object *to)
{
    if (is_plain) {
        r->multiply(r->args, r->values, r->x, k, row, r->columns[k], to->bytes);
        return;
    }
    struct object product;
    r->multiply(r->args, r->values, r->x, position_at(r->side, k), row, r->columns[k],
                r->lift ? product.bytes : to->bytes);
    if (r->lift) r->lift(r->args, product.bytes, to->bytes);
}

/** all[0] := that of the entries begin <= k < end of a row, at least one; all[1] and all[2] are room. Two entries are
 *  added before they are added to those before: an addition waits for the one before it, and for its accumulator to
 *  come from memory. */
static inline void reduce_by_entries(struct reducer r, bool is_plain, int64_t row, int64_t begin, int64_t end,
                                     struct object *all)
{
    int64_t k = begin + 1;
    take_entry(&r, is_plain, row, begin, &all[0]);
    for (; k + 1 < end; k += 2) {
        take_entry(&r, is_plain, row, k, &all[1]);
        take_entry(&r, is_plain, row, k + 1, &all[2]);
        r.add(r.args, all[1].bytes, all[2].bytes);
        r.add(r.args, all[0].bytes, all[1].bytes);
    }
    if (k == end) return;
    take_entry(&r, is_plain, row, k, &all[1]);
    r.add(r.args, all[0].bytes, all[1].bytes);
}

static inline void reduce_entries(const struct reducer *r, int64_t row, int64_t begin, int64_t end, struct object *all)
{
    if (r->reduce) r->reduce(r->args, r->values, r->x, r->columns, row, begin, end, all[0].bytes);
    else if (r->is_plain) reduce_by_entries(*r, true, row, begin, end, all);
    else reduce_by_entries(*r, false, row, begin, end, all);
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

/** y of a row; accumulator NULL: one without entries. Without a store of the caller's: the accumulator, or zero. */
static inline void store_row(const struct product *p, int64_t row, const void *accumulator, void *y)
{
    const trine_semiring_source *s = p->source;
    if (s->cpu.store) s->cpu.store(p->args, row, accumulator, y);
    else if (accumulator) memcpy(y, accumulator, s->output.size);
    else memset(y, 0, s->output.size);
}

/** Rows that begin in a chunk of the rows and entries. Where the accumulator of a row is its y, reduce makes it there;
 *  but a row that reads its own y through x must find the old one until it is done. */
static void run_chunk(void *user, int64_t begin, int64_t end, int me)
{
    const struct product *p = user;
    const struct reducer r = reducer_of(p);
    void (*const store)(const void *, int64_t, const void *, void *) = p->source->cpu.store;
    const bool in_place = r.reduce && !store && p->x != p->y;
    const size_t size = p->source->output.size;
    const int bits = p->side->offset_bits;
    const void *offsets = p->side->offsets;
    const bool splits = p->splits;
    const int64_t last = find_row(p, end);
    const char *values = p->side->position_bits ? NULL : p->values;
    const size_t value_size = p->source->value.size;
    struct object all[3];
    int64_t row = find_row(p, begin);
    char *y = p->y + (size_t)row * size;
    (void)me;
    for (int64_t from = row < last ? spmv_offset(bits, offsets, row) : 0, to; row < last; row++, from = to, y += size) {
        to = spmv_offset(bits, offsets, row + 1);
        __builtin_prefetch(r.columns + from + AHEAD);
        if (values) __builtin_prefetch(values + (size_t)(from + AHEAD) * value_size);
        if (splits && to - from > GIANT_ROW) continue;
        if (in_place && from < to) {
            r.reduce(r.args, r.values, r.x, r.columns, row, from, to, y);
            continue;
        }
        if (from < to) reduce_entries(&r, row, from, to, all);
        if (store) store(r.args, row, from < to ? all[0].bytes : NULL, y);
        else store_row(p, row, from < to ? all[0].bytes : NULL, y);
    }
}

/** The same by cpu_rows: one call for all rows between giant ones. */
static void run_rows(void *user, int64_t begin, int64_t end, int me)
{
    const struct product *p = user;
    const int64_t last = find_row(p, end);
    trine_semiring_rows rows = {.offsets = p->side->offsets,
                                .offset_bits = p->side->offset_bits,
                                .columns = p->side->columns,
                                .values = p->values,
                                .vector = p->x};
    (void)me;
    for (int64_t row = find_row(p, begin); row < last; row = rows.row_end + 1) {
        rows.row_begin = row, rows.row_end = last;
        for (int64_t i = row; p->splits && i < rows.row_end; i++)
            if (offset_at(p->side, i + 1) - offset_at(p->side, i) > GIANT_ROW) rows.row_end = i;
        if (rows.row_begin < rows.row_end) p->source->cpu_rows(p->args, &rows, p->y);
    }
}

static void run_parts(void *user, int64_t begin, int64_t end, int me)
{
    const struct product *p = user;
    const struct reducer r = reducer_of(p);
    const int64_t count = p->end - p->begin;
    struct object all[3];
    (void)me;
    for (int64_t k = begin; k < end; k++) {
        reduce_entries(&r, p->row, p->begin + count * k / PARTS, p->begin + count * (k + 1) / PARTS, all);
        memcpy(p->parts + k * SEMIRING_TYPE_BYTES, all[0].bytes, p->source->accumulator.size);
    }
}

static void run_giant_row(trine_context ctx, struct product *p)
{
    const trine_semiring_source *s = p->source;
    struct object parts[PARTS];
    p->parts = parts[0].bytes;
    const struct cpu_part *part = p->side->part;
    cpu_split(ctx, part->threads, true, PARTS, 1, run_parts, p);
    for (int k = 1; k < PARTS; k++) s->cpu.add(p->args, parts[0].bytes, parts[k].bytes);
    store_row(p, p->row, parts[0].bytes, p->y + (size_t)p->row * s->output.size);
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
                          "the semiring has %s alone, which needs rows in the order of the values: cpu.multiply and "
                          "cpu.add for a matrix in CSC format",
                          s->cpu.reduce ? "cpu.reduce" : "cpu_rows");
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
                        .splits = has_giants && s->cpu.add && (s->cpu.reduce || s->cpu.multiply)};
    const int threads = ((const struct cpu_part *)c->side->part)->threads;
    int64_t grain = work / (8 * (int64_t)threads);
    if (grain < LEAST_GRAIN) grain = LEAST_GRAIN;
    if (grain > MOST_GRAIN) grain = MOST_GRAIN;
    cpu_split(ctx, threads, work >= WORK_TO_WAKE, work, grain,
              s->cpu_rows && !c->side->position_bits ? run_rows : run_chunk, &p);
    if (p.splits) run_giant_rows(ctx, &p, nz_end);
    return TRINE_SUCCESS;
}
