/* The synchronization-free solve in gather form on the GPU: one launch, no barrier between levels.
 *
 * Every row waits for exactly the values it needs. A solution value is its own ready flag (core/gpu_scalar.cuh), so one
 * relaxed load brings flag and data in a single trip to L2: 0.31 us from producer to consumer on an H200, which times the
 * number of levels is this method's floor. Rows go out in chunks by an atomic ticket, in solve order: the first unfinished
 * chunk is always held by a running block, so progress depends on no scheduling order. Within a chunk, values travel
 * through shared memory (0.08 us). Sums run in a fixed order, whatever the order of rows: results are bitwise the same
 * every time.
 * After Liu, Li, Hogg, Duff, Vinter (2017), Section 3; value-as-flag instead of counters. */
#include "triangular/device_pattern.h"
#include "triangular/few_levels.h"
#include "triangular/syncfree_csr.cuh"
#include "triangular/syncfree_csr_many.h"

namespace {

constexpr int MOST_CHAIN_LANES = 4; /* that share a row, where chains run through registers */
constexpr int64_t MOST_ROWS_IN_TURN = 1 << 18; /* where each solve resets the state of the next one: a fill takes as long as some levels */

struct device_side {
    device_triangle base;
    row_shape one, many;     /* one right-hand side, several */
    bool chains;             /* many rows wait for rows of the same warp; with several right-hand sides, if these are few */
    level_launches launches; /* one, where there are few levels */
    row_steps steps;         /* one, by level, where some levels are broad */
    row_groups groups;       /* one, where rows come in small groups */
    bool long_rows, slim;    /* several: lanes go to entries, and other warps take more right-hand sides */
    task_list tasks;         /* several, where levels are wide or a few rows very long; empty: not used */
    int64_t least_for_tasks; /* right-hand sides */
};

/* ------------------------------------------------------------------- solve */

template <int R, int E, int V, typename T> void launch_chains(const row_shape *s, rows_args<T> &a, gpuStream_t stream)
{
    const int64_t rows = (int64_t)s->warps * (32 / (R * E));
    a.chunks = nullptr;
    a.n_chunks = (a.n - a.first + rows - 1) / rows;
    solve_rows<T, R, E, V, false, true><<<blocks_for_tickets(s, a.n_chunks * ((a.nrhs + R * V - 1) / (R * V))), 32 * s->warps, 0, stream>>>(a);
}

/** Chunks are cut for one right-hand side with four lanes a row and more, or for several and a warp a row. */
template <int R, int E, int V, typename T> void launch(const row_shape *s, rows_args<T> &a, gpuStream_t stream, bool chains = false)
{
    const int64_t rows = (int64_t)s->warps * (32 / (R * E));
    a.chunks = s->chunks;
    a.n_chunks = s->chunks ? s->n_chunks : (a.n - a.first + rows - 1) / rows;
    const unsigned blocks = blocks_for_tickets(s, a.n_chunks * ((a.nrhs + R * V - 1) / (R * V)));
    if constexpr (R * V == 1 && E <= MOST_CHAIN_LANES)
        if (chains) return launch_chains<R, E, V>(s, a, stream);
    if constexpr (V == 1 && (R == 1 ? E >= 4 : R * E == 32))
        if (s->chunks) return solve_rows<T, R, E, V, true><<<blocks, 32 * s->warps, 0, stream>>>(a);
    solve_rows<T, R, E, V, false><<<blocks, 32 * s->warps, 0, stream>>>(a);
}

/** State of one solve in flight: the ticket, then x. One byte fill resets both. */
size_t state_bytes(trine_triangular plan, int64_t nrhs) { return STATE_BYTES + (size_t)(plan->n * nrhs) * trine_dtype_size(plan->dtype); }

/** Of a work object: with one right-hand side, solves take turns with two states. */
size_t states_bytes(trine_triangular plan, int64_t nrhs)
{
    const size_t bytes = state_bytes(plan, nrhs);
    return nrhs == 1 && plan->n <= MOST_ROWS_IN_TURN ? 2 * bytes : bytes;
}
/** Behind the states: room for a solve with a launch a level. */
size_t levels_room_at(trine_triangular plan, int64_t nrhs) { return (states_bytes(plan, nrhs) + 255) / 256 * 256; }
size_t levels_room(trine_triangular plan)
{
    size_t most = 0;
    for (const struct triangle &t : plan->side) {
        const size_t bytes = t.device ? few_levels_room(plan, &((const device_side *)t.device)->launches) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}
size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    const size_t room = levels_room(plan);
    return room ? levels_room_at(plan, nrhs) + room : states_bytes(plan, nrhs);
}

trine_status make_work(trine_triangular plan, struct triangular_work *work)
{
    if (!levels_room(plan) || !work->owns_buffer) return TRINE_SUCCESS;
    trine_status status = trine_device_fill_async(plan->ctx, (char *)work->buffer + levels_room_at(plan, work->max_nrhs), 0, FEW_LEVELS_COUNTERS, plan->ctx->stream);
    return status ? status : trine_device_synchronize(plan->ctx, plan->ctx->stream); /* solves run on any stream */
}

/** Reset the state, in one half of the buffer, or find it reset: a solve with one right-hand side resets the other half for the next
 *  one, where there is room for two. That saves the fill, but a captured solve cannot know what ran before it, nor others whether it
 *  ran since, and a caller's buffer may have been used for something else. */
template <typename T> trine_status reset_state(trine_triangular plan, struct triangular_work *work, int64_t nrhs, void *stream, rows_args<T> *a)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = state_bytes(plan, nrhs);
    const int found = work->reset_half;
    const bool in_turn = nrhs == 1 && work->owns_buffer && !work->captured && states_bytes(plan, work->max_nrhs) >= 2 * bytes;
    work->reset_half = 0;
    char *const buffer = (char *)work->buffer + (in_turn && found == 2 ? bytes : 0);
    char *const other = (char *)work->buffer + (in_turn && found == 2 ? 0 : bytes);
    if (!in_turn || !found) TRY(trine_device_fill_async(plan->ctx, buffer, 0xFF, bytes, stream));
    a->ticket = (unsigned *)buffer, a->x = (T *)(buffer + STATE_BYTES);
    if (in_turn) {
        a->next = {other + STATE_BYTES, (unsigned *)other};
        work->reset_half = found == 2 ? 1 : 2;
    }
done:
    return status;
}

/** One right-hand side. */
template <typename T> void launch_one(const row_shape *one, rows_args<T> &a, gpuStream_t stream, bool chains)
{
    switch (one->lanes) {
    case 1: launch<1, 1, 1>(one, a, stream, chains); break;
    case 2: launch<1, 2, 1>(one, a, stream, chains); break;
    case 4: launch<1, 4, 1>(one, a, stream, chains); break;
    case 8: launch<1, 8, 1>(one, a, stream); break;
    case 16: launch<1, 16, 1>(one, a, stream); break;
    default: launch<1, 32, 1>(one, a, stream); break;
    }
}

/** Broad levels and what is between, each between-step with a ticket of its own. */
template <typename T> trine_status solve_in_steps(trine_triangular plan, const struct triangular_solve *s, const device_side *d, const rows_args<T> &a)
{
    static_assert(MOST_STEPS * TICKETS_APART * sizeof(unsigned) <= STATE_BYTES, "all tickets stand in a state");
    trine_status status = TRINE_SUCCESS;
    for (int i = 0; i < d->steps.count && !status; i++) {
        const row_step step = d->steps.steps[i];
        rows_args<T> of_step = a;
        of_step.first = step.first, of_step.n = step.end;
        of_step.ticket += i * TICKETS_APART;
        if (step.broad) status = broad_level_solve(plan, s, &d->base, d->one.lanes, &step, a.x, a.next);
        else launch_one(&d->one, of_step, (gpuStream_t)s->stream, false);
    }
    return status;
}

/** Nobody waits inside a kernel. */
trine_status solve_without_waits(trine_triangular plan, const struct triangular_solve *s, const device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    char *const room = (char *)s->work->buffer + levels_room_at(plan, s->work->max_nrhs);
    if (d->groups.count) return row_groups_solve(plan, s, &d->base, &d->groups);
    if (!few_levels_at_once(s, &d->launches)) { /* x stands in the memory of the states, also when a captured solve is replayed */
        s->work->reset_half = 0;
        if (trine_device_is_capturing(plan->ctx, (gpuStream_t)s->stream)) s->work->captured = true;
    }
    if (d->launches.n_parts && !s->work->owns_buffer) /* which may have been used for something else */
        TRY(trine_device_fill_async(plan->ctx, room, 0, FEW_LEVELS_COUNTERS, s->stream));
    TRY(few_levels_solve(plan, s, &d->base, &d->launches, s->work->buffer, room));
done:
    return status;
}

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s)
{
    const device_side *d = (const device_side *)s->side->device;
    const row_shape *one = &d->one, *many = &d->many;
    const bool room = !d->tasks.slots || d->tasks.lenders || x_holds_flags(s); /* for sums of parts */
    gpuStream_t stream = (gpuStream_t)s->stream;
    trine_status status = TRINE_SUCCESS;
    rows_args<T> a = {};
    if (s->nrhs == 1 && (d->launches.count || d->groups.count)) return solve_without_waits(plan, s, d);
    if (trine_device_is_capturing(plan->ctx, stream)) s->work->captured = true;
    if (d->tasks.count && s->nrhs >= d->least_for_tasks && room) {
        s->work->reset_half = 0;
        return syncfree_csr_solve_many(plan, s, &d->base, &d->tasks);
    }
    status = reset_state(plan, s->work, s->nrhs, stream, &a);
    if (status) return status;
    a.n = plan->n, a.nrhs = s->nrhs;
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.offsets = d->base.offsets, a.columns = d->base.columns, a.order = d->base.order;
    a.values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.B = (const T *)s->B, a.X = (T *)s->X;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    const bool short_rows = one->lanes <= 2 && !many->chunks;
    constexpr int PAIR = sizeof(T) <= 8 ? 2 : 1; /* neighbours in x that one load brings */
    const bool even = s->nrhs % PAIR == 0, pairs = (!short_rows || s->nrhs > 32) && !many->chunks && even;
    if (d->chains && s->nrhs > 1 && one->lanes == 1) even ? launch_chains<2, 1, PAIR>(many, a, stream) : launch_chains<2, 1, 1>(many, a, stream);
    else if (d->chains && s->nrhs > 1) even ? launch_chains<2, 2, PAIR>(many, a, stream) : launch_chains<2, 2, 1>(many, a, stream);
    else if (pairs && d->long_rows && s->nrhs > 4 && s->nrhs <= 8) launch<4, 8, PAIR>(many, a, stream);
    else if (pairs && d->slim && s->nrhs > 8) launch<8, 4, PAIR>(many, a, stream);
    else if (pairs && s->nrhs > 32) launch<32, 1, PAIR>(many, a, stream);
    else if (pairs && s->nrhs > 16) launch<32 / PAIR, PAIR, PAIR>(many, a, stream);
    else if (s->nrhs > 8) launch<32, 1, 1>(many, a, stream);
    else if (pairs && s->nrhs > 4) launch<4, 2, PAIR>(many, a, stream);
    else if (s->nrhs > 4) short_rows ? launch<8, 1, 1>(many, a, stream) : launch<8, 4, 1>(many, a, stream);
    else if (s->nrhs > 1) short_rows ? launch<4, 1, 1>(many, a, stream) : launch<4, 8, 1>(many, a, stream);
    else if (d->steps.count) status = solve_in_steps(plan, s, d, a);
    else launch_one(one, a, stream, d->chains);
    if (!status) status = GPU_LAUNCHED("the synchronization-free solve");
    if (status) s->work->reset_half = 0;
    return status;
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static const device_solve run[] = {nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>, solve_side<complex_of<double>>};
    return device_solve_run(plan, s, run);
}

/* ------------------------------------------------- shape, from the structure
 * The rules and the constants are read off measurements on an H200: docs/triangular.md. */

enum { ORDER_GIVEN = 1, ORDER_LEVELS = 2 };
constexpr double HOP = 0.31;  /* us from a row to one that waits for it, through L2 */
constexpr int64_t WIDE_LEVEL = 700, FAIR_LEVEL = 64;  /* rows on average: tasks are faster, from 17 and from 33 right-hand sides on */
constexpr int64_t FEW_ROWS = 32;                      /* of a level on average: there are warps to spare */
constexpr int64_t HUB_ROW = 1024, PART_OF_HUB = 128;  /* entries */
constexpr int64_t NARROW_LEVEL = 300;                 /* rows on average, at most, where chains are looked for */
constexpr int64_t MOST_RHS_OF_CHAINS = 8;
constexpr double FOLLOWERS = 0.45;                    /* of all rows, at least: chains run through registers */
constexpr double NEAR = 1.15;                         /* times a hop a level: nothing is much better */
constexpr double LONG_SOLVE = 100;                    /* us: sorting all rows and a second search are looked at */

/** Blocks in flight. Sorted by level, rows wait for the level just before them, and long rows that wait early only poll;
 *  in the given order, dependencies are anywhere, and more rows in flight find more parallelism. */
int blocks_for_order(trine_triangular plan, int order, int lanes)
{
    const int sms = plan->ctx->info.multiprocessors;
    if (plan->options.tune.blocks) return plan->options.tune.blocks;
    return order == ORDER_GIVEN ? 4 * sms : lanes >= 16 ? sms / 2 : 2 * sms;
}

/** Cut d's rows into chunks for shape s: equal ones, unless a few rows are far longer than the others. */
trine_status cut_chunks(trine_triangular plan, const device_triangle *d, row_shape *s)
{
    const int64_t rows = row_shape_rows(s);
    int32_t *chunks = nullptr;
    trine_status status = TRINE_SUCCESS;
    s->n_chunks = (d->n + rows - 1) / rows;
    if (d->long_rows && d->long_rows <= d->n / 256 && d->long_rows <= MOST_LONG_ROWS && s->lanes >= 4)
        status = device_chunks_make(plan, d, rows, &chunks, &s->n_chunks);
    trine_free(plan->ctx, TRINE_DEVICE, (void *)s->chunks);
    s->chunks = chunks;
    return status;
}

/** Rows whose last entry belongs to a row of the same warp; where the rows of the first levels are. */
__global__ void __launch_bounds__(256) measure_levels(const device_triangle d, int rows_of_warp, const int32_t *levels, level_report *report)
{
    __shared__ unsigned followers, first[FEW_LEVELS], before_last[FEW_LEVELS];
    if (threadIdx.x == 0) followers = 0;
    if (threadIdx.x < FEW_LEVELS) first[threadIdx.x] = before_last[threadIdx.x] = ~0u;
    __syncthreads();
    unsigned mine = 0, least[FEW_LEVELS], most[FEW_LEVELS];
    for (int l = 0; l < FEW_LEVELS; l++) least[l] = most[l] = ~0u;
    for (int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; p < d.n; p += (int64_t)gridDim.x * blockDim.x) {
        mine += d.offsets[p] < d.offsets[p + 1] && d.columns[d.offsets[p + 1] - 1] >= p - p % rows_of_warp;
#pragma unroll
        for (int l = 0; l < FEW_LEVELS; l++)
            if (levels[p] == l) least[l] = min(least[l], (unsigned)p), most[l] = min(most[l], ~(unsigned)p);
    }
    for (int o = 16; o > 0; o /= 2) mine += shuffle_xor(mine, o);
    if (threadIdx.x % 32 == 0) atomicAdd(&followers, mine);
#pragma unroll
    for (int l = 0; l < FEW_LEVELS; l++)
        if (least[l] != ~0u) {
            atomicMin(&first[l], least[l]);
            atomicMin(&before_last[l], most[l]);
        }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&report->followers, followers);
    if (threadIdx.x < FEW_LEVELS && first[threadIdx.x] != ~0u) {
        atomicMin(&report->first[threadIdx.x], first[threadIdx.x]);
        atomicMin(&report->before_last[threadIdx.x], before_last[threadIdx.x]);
    }
}

/** Level sets in the given order, in new memory. measured: what measure_levels finds is wanted, too. */
trine_status find_levels(trine_triangular plan, const device_side *d, bool measured, void **state, levels_found *found)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const row_shape search = d->one.chunks ? d->one : row_shape_for_search(plan, &d->base);
    TRY(trine_alloc(ctx, TRINE_DEVICE, (size_t)device_levels_bytes(plan->n), state));
    TRY(device_levels_search(plan, &d->base, &search, *state));
    if (measured) {
        measure_levels<<<device_blocks_for(plan, plan->n), 256, 0, (gpuStream_t)ctx->stream>>>(
            d->base, 32 / d->one.lanes, device_levels_of(*state), device_levels_report(*state));
        TRY(GPU_LAUNCHED("measuring the levels"));
    }
    TRY(device_levels_read(plan, *state, found));
done:
    return status;
}

/** Chains run through registers. Decided by the structure alone, since it changes the order of a sum. */
bool has_chains(const device_side *d, int64_t n, const levels_found *found)
{
    return d->one.lanes <= MOST_CHAIN_LANES && n <= NARROW_LEVEL * found->n_levels && (double)found->followers >= FOLLOWERS * (double)n;
}

/** Several right-hand sides: tasks where levels are wide, or where a few rows are so long that many warps must share one. */
trine_status choose_tasks(trine_triangular plan, const struct triangle *t, device_side *d, int order)
{
    trine_status status = TRINE_SUCCESS;
    const bool wide = order == ORDER_LEVELS && plan->n / t->n_levels >= WIDE_LEVEL;
    const bool hubs = d->many.chunks;
    const bool fair = order == ORDER_LEVELS && plan->n / t->n_levels >= FAIR_LEVEL && !d->slim && plan->options.max_nrhs > 32;
    const bool batches = order == ORDER_LEVELS && d->one.lanes > 2 && !d->long_rows; /* what is ready first comes first */
    if (d->base.longest_row > 4 && (batches || wide || fair || hubs)) TRY(device_rows_sort(plan, &d->base));
    if (!wide && !fair && !hubs) return TRINE_SUCCESS;
    d->least_for_tasks = hubs ? 2 : wide ? 17 : 33;
    TRY(device_tasks_make(plan, &d->base, hubs ? PART_OF_HUB : INT32_MAX, &d->tasks));
    d->tasks.warps = plan->options.tune.warps_per_block && plan->options.tune.warps_per_block < 8 ? plan->options.tune.warps_per_block : 8;
    d->tasks.blocks = d->many.blocks;
done:
    return status;
}

/** Settle the order of rows, lanes, warps and blocks; sort the rows by level if so decided. They are sorted where not all rows can be in
 *  flight: those that are must be the next ones due. Where all can, the order matters little, and only where a solve is long a second
 *  search for level sets shows how long it takes by level. */
trine_status choose_shape(trine_triangular plan, struct triangle *t, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const trine_triangular_options *o = &plan->options;
    const int64_t n = plan->n;
    const bool forward = plan->pattern->forward;
    int order = o->tune.row_order;
    levels_found given = {}, by_level = {};
    device_triangle sorted_triangle = {};
    void *state = nullptr;
    int64_t *bounds = nullptr;
    d->one.lanes = o->tune.lanes_per_row ? o->tune.lanes_per_row : row_shape_lanes(&d->base);
    d->one.warps = d->many.warps = o->tune.warps_per_block ? o->tune.warps_per_block : 8;
    d->one.blocks = blocks_for_order(plan, ORDER_GIVEN, d->one.lanes);
    d->many.lanes = 32;
    d->many.blocks = o->tune.blocks ? o->tune.blocks : 4 * ctx->info.multiprocessors;
    TRY(cut_chunks(plan, &d->base, &d->one));
    if (!order && o->max_nrhs == 1 && n && d->base.reach < MOST_GROUP_ROWS) {
        TRY(row_groups_find(plan, &d->base, forward, &d->groups));
        if (d->groups.count) order = ORDER_GIVEN;
    }
    /* Several right-hand sides leave few rows in flight: those must be the next ones due, unless chains make up for it. */
    if (!order && o->max_nrhs > MOST_RHS_OF_CHAINS) order = ORDER_LEVELS;
    if (order != ORDER_GIVEN && n) {
        const bool measured = !order;
        TRY(find_levels(plan, d, measured, &state, &given));
        t->n_levels = given.n_levels;
        d->chains = measured && !d->one.chunks && has_chains(d, n, &given);
        if (d->chains) order = ORDER_GIVEN;
        if (!order && o->max_nrhs > 1) order = ORDER_LEVELS;
        const bool in_flight = 2 * n <= d->one.blocks * row_shape_rows(&d->one);
        const bool brief = given.microseconds < LONG_SOLVE || given.microseconds < NEAR * HOP * (double)t->n_levels;
        if (!order && measured && t->n_levels <= FEW_LEVELS) {
            TRY(few_levels_make(plan, &d->base, &given, state, d->one.chunks, forward, &d->launches));
            state = nullptr;
            order = ORDER_GIVEN;
        }
        if (!order && in_flight && brief) order = ORDER_GIVEN;
        if (!order && !d->one.chunks && !in_flight) order = ORDER_LEVELS;
    }
    if (order != ORDER_GIVEN && n) {
        row_shape shape = d->one;
        shape.chunks = nullptr;
        shape.blocks = blocks_for_order(plan, ORDER_LEVELS, shape.lanes);
        bounds = (int64_t *)trine_host_alloc(ctx, t->n_levels + 1, sizeof *bounds);
        if (!bounds) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)t->n_levels);
        TRY(device_triangle_sort(plan, &d->base, t->n_levels, device_levels_of(state), bounds, &sorted_triangle));
        status = cut_chunks(plan, &sorted_triangle, &shape);
        if (!status && !order) {
            status = device_levels_search(plan, &sorted_triangle, &shape, state);
            if (!status) status = device_levels_read(plan, state, &by_level);
            order = given.microseconds <= by_level.microseconds ? ORDER_GIVEN : ORDER_LEVELS;
            trine_log(ctx, 3, "triangular: %.0f us in the given order, %.0f us by level", given.microseconds, by_level.microseconds);
        }
        if (!status && order == ORDER_LEVELS) {
            const device_triangle unsorted = d->base;
            const int32_t *const chunks = d->one.chunks;
            d->base = sorted_triangle, d->one = shape;
            sorted_triangle = unsorted, shape.chunks = chunks;
            if (!d->one.chunks) row_steps_choose(plan, t->n_levels, bounds, d->one.lanes, &d->steps);
        }
        trine_free(ctx, TRINE_DEVICE, (void *)shape.chunks);
        TRY(status);
    }
    d->long_rows = row_shape_lanes(&d->base) >= 16;
    d->slim = d->long_rows || (t->n_levels > 0 && n / t->n_levels < FEW_ROWS);
    d->many.n_chunks = (n + row_shape_rows(&d->many) - 1) / row_shape_rows(&d->many);
    if (o->max_nrhs > 1 && d->base.longest_row >= HUB_ROW) TRY(cut_chunks(plan, &d->base, &d->many));
    if (o->max_nrhs > 1 && n && !d->chains) TRY(choose_tasks(plan, t, d, order));
    if (plan->method == TRINE_TRI_AUTO) {
        plan->method = TRINE_TRI_SYNCFREE_CSR;
        plan->reason = d->groups.count       ? "small groups of rows that need nothing of each other"
                     : d->launches.count     ? "few levels: no row waits inside a launch"
                     : d->steps.count        ? "no barrier between levels, but for broad ones; rows by level"
                     : order == ORDER_LEVELS ? "one launch, no barrier between levels; rows by level"
                     : d->chains             ? "one launch, no barrier between levels; rows as given, chains in registers"
                                             : "one launch, no barrier between levels; rows as given";
    }
done:
    device_triangle_release(plan, &sorted_triangle);
    trine_free(ctx, TRINE_DEVICE, state);
    trine_free(ctx, TRINE_HOST, bounds);
    return status;
}

/* ------------------------------------------------------------- the backend */

trine_status prepare(trine_triangular plan, struct triangle *t)
{
    trine_status status = TRINE_SUCCESS;
    TRY(device_side_create(plan, t, sizeof(device_side), BY_ROWS));
    TRY(choose_shape(plan, t, (device_side *)t->device));
    TRY(device_triangle_allocate_numbers(plan, (device_triangle *)t->device));
done:
    return status; /* what has been allocated so far goes with the plan */
}

void release(trine_triangular plan, struct triangle *t)
{
    device_side *d = (device_side *)t->device;
    if (!d) return;
    trine_free(plan->ctx, TRINE_DEVICE, (void *)d->one.chunks);
    trine_free(plan->ctx, TRINE_DEVICE, (void *)d->many.chunks);
    few_levels_release(plan, &d->launches);
    row_groups_release(plan, &d->groups);
    device_tasks_release(plan, &d->tasks);
    device_side_release(plan, t);
}

trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    trine_status status = device_triangle_numeric(plan, space, values, stream);
    int saved;
    trine_device_enter(plan->ctx, &saved);
    for (int side = 0; side < SIDES && !status; side++) {
        const device_side *d = (const device_side *)plan->side[side].device;
        if (d) status = syncfree_csr_invert_pivots(plan, &d->base, &d->tasks, stream);
    }
    trine_device_leave(plan->ctx, saved);
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_syncfree_csr = {
    device_analyse, prepare, release, numeric, device_triangle_bad_row, work_bytes, make_work, solve, false};
