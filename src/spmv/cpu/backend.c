/* Products on the CPU: the analysis, and the table. */
#include "core/team.h"
#include "spmv/cpu/side.h"

/* ------------------------------------------------------------------- chunks */

static int64_t offset_of(const struct spmv_side *s, int64_t row)
{
    return spmv_offset(s->offset_bits, s->offsets, row);
}

/** Rows and entries of a chunk. */
static int64_t chunk_work(int64_t n_rows, int64_t nnz)
{
    const int64_t work = (n_rows + nnz) / CPU_FEW_CHUNKS + 1;
    return work < CPU_LEAST_WORK ? CPU_LEAST_WORK : work < CPU_CHUNK_WORK ? work : CPU_CHUNK_WORK;
}

static int64_t count_chunks(int64_t n_rows, int64_t nnz)
{
    return spmv_count_blocks(n_rows, nnz, 1, chunk_work(n_rows, nnz));
}

/** Whether a chunk begins after the first entries of its row. */
static bool is_inside(const struct spmv_side *s, const spmv_start *start)
{
    return start->row < s->n_rows && start->nz > offset_of(s, start->row);
}

static spmv_start find_start(const struct spmv_side *s, int64_t at)
{
    spmv_start start = spmv_find_start(s->offset_bits, s->offsets, s->n_rows, 1, at);
    if (!is_inside(s, &start)) return start;
    const int64_t begin = offset_of(s, start.row), end = offset_of(s, start.row + 1);
    if (start.nz == end || end - begin <= CPU_CHUNK_WORK) start = (spmv_start){end, start.row + 1};
    return start;
}

struct cpu_chunk cpu_find_chunk(const struct spmv_side *side, int64_t c, int64_t row_begin, int64_t row_end)
{
    const struct cpu_part *part = side->part;
    const spmv_start *from = &part->starts[c], *to = from + 1;
    const bool has_head = is_inside(side, from), has_tail = is_inside(side, to);
    struct cpu_chunk chunk = {.row = from->row + has_head, .row_end = to->row, .head_row = -1, .tail_row = -1};
    chunk.first_row = chunk.row;
    if (has_head && row_begin <= from->row && from->row < row_end) {
        chunk.head_row = from->row;
        chunk.head_begin = from->nz;
        chunk.head_end = to->row == from->row ? to->nz : offset_of(side, from->row + 1);
    }
    if (has_tail && !(has_head && to->row == from->row) && row_begin <= to->row && to->row < row_end) {
        chunk.tail_row = to->row;
        chunk.tail_begin = offset_of(side, to->row);
        chunk.tail_end = to->nz;
    }
    if (chunk.row < row_begin) chunk.row = row_begin;
    if (chunk.row_end > row_end) chunk.row_end = row_end;
    return chunk;
}

void cpu_find_chunks(const struct spmv_side *side, int64_t row_begin, int64_t row_end, int64_t *first, int64_t *last)
{
    const struct cpu_part *part = side->part;
    const int64_t rows[2] = {row_begin, row_end - 1};
    int64_t found[2];
    for (int k = 0; k < 2; k++) { /* the last chunk that begins at the row's start or before it; in it, for its end */
        int64_t low = 0, high = part->chunks;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            const spmv_start *start = &part->starts[middle];
            if (start->row < rows[k] || (start->row == rows[k] && (k || !is_inside(side, start)))) low = middle;
            else high = middle;
        }
        found[k] = low;
    }
    *first = found[0];
    *last = found[1];
}

/* ---------------------------------------------------------------- the index */

/** Positions of an index, of either width. */
static void put_position(struct spmv_side *to, int64_t at, int64_t position)
{
    if (to->position_bits == 32) ((int32_t *)to->owned_positions)[at] = (int32_t)position;
    else ((int64_t *)to->owned_positions)[at] = position;
}

static trine_status transpose(trine_spmv plan, const struct spmv_side *from, struct spmv_side *to)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    int64_t *offsets;
    int32_t *columns;
    TRY(CALLOC(ctx, offsets, to->n_rows + 1));
    to->offsets = to->owned_offsets = offsets;
    TRY(ALLOC(ctx, columns, plan->nnz));
    to->columns = to->owned_columns = columns;
    to->owned_positions = trine_host_alloc(ctx, plan->nnz, (size_t)to->position_bits / 8);
    if (!to->owned_positions) return TRINE_ERR_MEMORY;
    to->positions = to->owned_positions;
    to->offset_bits = 64;
    to->bytes = (to->n_rows + 1) * 8 + plan->nnz * (4 + to->position_bits / 8);

    /* offsets[r + 1]: first how many, then where the next one goes, at last where the row ends */
    for (int64_t k = 0; k < plan->nnz; k++) offsets[from->columns[k] + 1]++;
    int64_t sum = 0;
    for (int64_t r = 0; r < to->n_rows; r++) {
        const int64_t count = offsets[r + 1];
        offsets[r + 1] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < from->n_rows; i++) {
        const int64_t end = offset_of(from, i + 1);
        for (int64_t k = offset_of(from, i); k < end; k++) {
            const int64_t at = offsets[from->columns[k] + 1]++;
            columns[at] = (int32_t)i;
            put_position(to, at, k);
        }
    }
done:
    return status;
}

/* ----------------------------------------------------------------- analysis */

static bool wants_runs(trine_spmv plan) { return !plan->options.no_preprocess && cpu_lanes(); }

/** Bytes of a part: the chunks' starts and, behind them, the rows' runs. */
static size_t part_bytes(trine_spmv plan, const struct spmv_side *side, int64_t chunks)
{
    const size_t runs = wants_runs(plan) ? (size_t)side->n_rows * sizeof(cpu_run) : 0;
    return sizeof(struct cpu_part) + (size_t)(chunks + 1) * sizeof(spmv_start) + runs;
}

struct run_search {
    trine_spmv plan;
    const struct spmv_side *side;
};

static void find_runs(void *user, int64_t begin, int64_t end, int me)
{
    const struct run_search *s = user;
    (void)me;
    for (int64_t c = begin; c < end; c++) {
        const struct cpu_chunk chunk = cpu_find_chunk(s->side, c, 0, s->side->n_rows);
        cpu_run *runs = ((struct cpu_part *)s->side->part)->runs + chunk.row;
        cpu_find_runs(s->side, s->plan->nnz, chunk.row, chunk.row_end, runs);
    }
}

static trine_status analyse_side(trine_spmv plan, struct spmv_side *side)
{
    enum { CHUNKS_AT_A_TIME = 16 };
    trine_context ctx = plan->base.ctx;
    const int64_t chunks = count_chunks(side->n_rows, plan->nnz);
    struct cpu_part *part = trine_host_alloc(ctx, 1, part_bytes(plan, side, chunks));
    if (!part) return TRINE_ERR_MEMORY;
    side->part = part;
    side->bytes += (int64_t)part_bytes(plan, side, chunks);
    part->chunks = chunks;
    part->work = chunk_work(side->n_rows, plan->nnz);
    part->threads = trine_threads_with_cores(ctx);
    part->splits = false;
    part->runs = NULL;
    for (int64_t c = 0; c <= chunks; c++) {
        part->starts[c] = find_start(side, c * part->work);
        part->splits |= is_inside(side, &part->starts[c]);
    }
    if (!plan->options.no_preprocess) {
        side->longest_row = 0;
        for (int64_t i = 0; i < side->n_rows; i++) {
            const int64_t length = offset_of(side, i + 1) - offset_of(side, i);
            if (length > side->longest_row) side->longest_row = length;
        }
    }
    side->method = TRINE_SPMV_BALANCED_POSTPROCESS;
    plan->info.reason = "the CPU has no other";
    if (chunks > 1) trine_team_start(ctx);
    if (wants_runs(plan)) {
        struct run_search search = {plan, side};
        part->runs = (cpu_run *)(part->starts + chunks + 1);
        trine_team_for(ctx, part->threads, chunks, CHUNKS_AT_A_TIME, find_runs, &search);
    }
    return TRINE_SUCCESS;
}

static void release_part(trine_spmv plan, struct spmv_side *side)
{
    trine_free(plan->base.ctx, TRINE_HOST, side->part);
}

/* ------------------------------------------------------------------- memory */

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

struct cpu_scratch cpu_scratch_of(trine_spmv plan, int64_t nrhs)
{
    const size_t element = trine_dtype_size(plan->base.dtype);
    int64_t chunks = 0;
    bool splits = false, converts = plan->stored != plan->base.dtype ||
                                    (trine_dtype_is_complex(plan->base.dtype) && plan->options.ops & TRINE_H);
    for (int s = 0; s < SPMV_SIDES; s++) {
        const struct spmv_side *side = &plan->side[s];
        if (!side->announced) continue;
        const struct cpu_part *part = side->part; /* NULL: not analysed, and the most is asked for */
        const int64_t count = count_chunks(side->n_rows, plan->nnz);
        if (count > chunks) chunks = count;
        splits |= !part || part->splits;
        converts |= side->position_bits != 0;
    }
    struct cpu_scratch scratch = {.dots = 0};
    scratch.parts = padded((size_t)chunks * 2 * element);
    scratch.tiles = scratch.parts + (splits ? padded((size_t)chunks * 2 * (size_t)nrhs * element) : 0);
    scratch.tile = converts && chunks ? CPU_CHUNK_ENTRIES * element : 0;
    scratch.bytes = scratch.tiles + (size_t)plan->base.ctx->threads * scratch.tile;
    return scratch;
}

static size_t work_bytes(trine_spmv plan, int64_t nrhs) { return cpu_scratch_of(plan, nrhs).bytes; }

static void memory(trine_spmv plan, int64_t *kept, int64_t *peak)
{
    *kept = 0;
    for (int s = 0; s < SPMV_SIDES; s++)
        if (plan->side[s].announced)
            *kept += (int64_t)part_bytes(plan, &plan->side[s], count_chunks(plan->side[s].n_rows, plan->nnz));
    *peak = *kept;
}

/* ------------------------------------------------------------------ product */

static trine_status apply(trine_spmv plan, const struct spmv_call *c)
{
    cpu_product[plan->base.dtype](plan, c);
    return TRINE_SUCCESS;
}

const struct spmv_backend spmv_cpu = {.transpose = transpose,
                                      .analyse_side = analyse_side,
                                      .release_part = release_part,
                                      .work_bytes = work_bytes,
                                      .memory = memory,
                                      .apply = apply,
                                      .apply_semiring = spmv_cpu_apply_semiring};
