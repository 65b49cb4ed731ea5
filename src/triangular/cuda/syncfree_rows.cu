/* The synchronization-free solve in gather form on the GPU: one launch, no barrier between levels.
 *
 * Every row waits for exactly the values it needs. A solution value is its own ready flag (core/gpu_scalar.cuh), so one
 * relaxed load brings flag and data in a single trip to L2: 0.31 us from producer to consumer on an H200, which times
 * the number of levels is this method's floor. Rows go out in chunks by an atomic ticket, in solve order: the first
 * unfinished chunk is always held by a running block, so progress depends on no scheduling order. Within a chunk,
 * values travel through shared memory (0.08 us). Sums run in a fixed order, whatever the order of rows: results are
 * bitwise the same every time.
 * After Liu, Li, Hogg, Duff, Vinter (2017), Section 3; value-as-flag instead of counters. */
#include "triangular/cuda/memory.h"
#include "triangular/cuda/syncfree_rows.cuh"
#include "triangular/cuda/syncfree_rows.h"

namespace {

/* where each solve resets the state of the next one: a fill takes as long as some levels */
constexpr int64_t MOST_ROWS_IN_TURN = 1 << 18;

/* ------------------------------------------------------------------- solve */

template <int R, int E, int V, typename T> void launch_chains(const row_shape *s, rows_args<T> &a, gpuStream_t stream)
{
    const int64_t rows = (int64_t)s->warps * (32 / (R *E));
    a.chunks = nullptr;
    a.n_chunks = (a.n - a.first + rows - 1) / rows;
    solve_rows<T, R, E, V, false, true>
        <<<blocks_for_tickets(s, a.n_chunks * ((a.nrhs + R *V - 1) / (R *V))), 32 * s->warps, 0, stream>>>(a);
}

/** Chunks are cut for one right-hand side with four lanes a row and more, or for several and a warp a row. */
template <int R, int E, int V, typename T> void launch(const row_shape *s, rows_args<T> &a, gpuStream_t stream)
{
    const int64_t rows = (int64_t)s->warps * (32 / (R *E));
    a.chunks = s->chunks;
    a.n_chunks = s->chunks ? s->n_chunks : (a.n - a.first + rows - 1) / rows;
    const unsigned blocks = blocks_for_tickets(s, a.n_chunks * ((a.nrhs + R *V - 1) / (R *V)));
    if constexpr (V == 1 && (R == 1 ? E >= 4 : R *E == 32))
        if (s->chunks) return solve_rows<T, R, E, V, true><<<blocks, 32 * s->warps, 0, stream>>>(a);
    solve_rows<T, R, E, V, false><<<blocks, 32 * s->warps, 0, stream>>>(a);
}

/** State of one solve in flight: the ticket, then x. One byte fill resets both. */
size_t state_bytes(trine_triangular plan, int64_t nrhs)
{
    return STATE_BYTES + (size_t)(plan->base.n * nrhs) * trine_dtype_size(plan->base.dtype);
}

/** Of a work object: with one right-hand side, solves take turns with two states. */
size_t states_bytes(trine_triangular plan, int64_t nrhs)
{
    const size_t bytes = state_bytes(plan, nrhs);
    return nrhs == 1 && plan->base.n <= MOST_ROWS_IN_TURN ? 2 * bytes : bytes;
}
/** Behind the states: room for a solve with a launch a level. */
size_t levels_room_at(trine_triangular plan, int64_t nrhs) { return (states_bytes(plan, nrhs) + 255) / 256 * 256; }
size_t levels_room(trine_triangular plan)
{
    size_t most = 0;
    for (const struct triangular_side &side : plan->side) {
        const size_t bytes = side.part ? few_levels_room(plan, &((const syncfree_csr_side *)side.part)->launches) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}
size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    const size_t room = levels_room(plan);
    return room ? levels_room_at(plan, nrhs) + room : states_bytes(plan, nrhs);
}

trine_status memory(trine_triangular plan, const triangular_extent *e, triangular_bytes *host, triangular_bytes *device,
                    int64_t *work)
{
    const size_t room = plan->options.max_nrhs == 1 ? memory_of_few_levels_room(plan, e) : 0;
    *work = (int64_t)(levels_room_at(plan, plan->options.max_nrhs) + room);
    return device_memory(plan, e, BY_ROWS, memory_of_syncfree_rows, host, device);
}

trine_status make_work(trine_triangular plan, struct triangular_work *work)
{
    if (!levels_room(plan) || !work->base.owns_buffer) return TRINE_SUCCESS;
    trine_status status =
        trine_device_fill_async(plan->base.ctx, (char *)work->base.buffer + levels_room_at(plan, work->base.max_nrhs),
                                0, FEW_LEVELS_COUNTERS, plan->base.ctx->stream);
    /* solves run on any stream */
    return status ? status : trine_device_synchronize(plan->base.ctx, plan->base.ctx->stream);
}

/** Reset the state, in one half of the buffer, or find it reset: a solve with one right-hand side resets the other
 *  half for the next one, where there is room for two. That saves the fill, but a captured solve cannot know what
 *  ran before it, nor others whether it ran since, and a caller's buffer may have been used for something else. */
template <typename T> trine_status reset_state(trine_triangular plan, struct triangular_work *work, int64_t nrhs,
                                               void *stream, rows_args<T> *a)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = state_bytes(plan, nrhs);
    const int found = work->reset_half;
    const bool in_turn =
        nrhs == 1 && work->base.owns_buffer && !work->captured && states_bytes(plan, work->base.max_nrhs) >= 2 * bytes;
    work->reset_half = 0;
    char *const buffer = (char *)work->base.buffer + (in_turn && found == 2 ? bytes : 0);
    char *const other = (char *)work->base.buffer + (in_turn && found == 2 ? 0 : bytes);
    if (!in_turn || !found) TRY(trine_device_fill_async(plan->base.ctx, buffer, 0xFF, bytes, stream));
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
    case 1: chains ? launch_chains<1, 1, 1>(one, a, stream) : launch<1, 1, 1>(one, a, stream); break;
    case 2: chains ? launch_chains<1, 2, 1>(one, a, stream) : launch<1, 2, 1>(one, a, stream); break;
    case 4: chains ? launch_chains<1, 4, 1>(one, a, stream) : launch<1, 4, 1>(one, a, stream); break;
    case 8: launch<1, 8, 1>(one, a, stream); break;
    case 16: launch<1, 16, 1>(one, a, stream); break;
    default: launch<1, 32, 1>(one, a, stream); break;
    }
}

/* What a kernel for several right-hand sides asks for. */
enum { CHAINS = 1, ONE_LANE = 2, EVEN = 4, PAIRS = 8, LONG_ROWS = 16, SLIM = 32, SHORT_ROWS = 64 };

template <typename T> struct launcher {
    unsigned asks;           /* all of these */
    int64_t more_than;       /* right-hand sides */
    void (*run)(const row_shape *s, rows_args<T> &a, gpuStream_t stream);
};

/** Several right-hand sides: the first kernel of the table that fits. */
template <typename T> auto launcher_of(const syncfree_csr_side *d, int64_t nrhs)
{
    constexpr int PAIR = sizeof(T) <= 8 ? 2 : 1; /* neighbours in x that one load brings */
    static const launcher<T> table[] = {
        {CHAINS | ONE_LANE | EVEN, 1, launch_chains<2, 1, PAIR, T>},
        {CHAINS | ONE_LANE, 1, launch_chains<2, 1, 1, T>},
        {CHAINS | EVEN, 1, launch_chains<2, 2, PAIR, T>},
        {CHAINS, 1, launch_chains<2, 2, 1, T>},
        {PAIRS | SLIM, 8, launch<8, 4, PAIR, T>},
        {PAIRS, 32, launch<32, 1, PAIR, T>},
        {PAIRS, 16, launch<32 / PAIR, PAIR, PAIR, T>},
        {0, 8, launch<32, 1, 1, T>},
        {PAIRS | LONG_ROWS, 4, launch<4, 8, PAIR, T>},
        {PAIRS, 4, launch<4, 2, PAIR, T>},
        {SHORT_ROWS, 4, launch<8, 1, 1, T>},
        {0, 4, launch<8, 4, 1, T>},
        {SHORT_ROWS, 1, launch<4, 1, 1, T>},
        {0, 1, launch<4, 8, 1, T>},
    };
    const bool short_rows = d->one.lanes <= 2 && !d->many.chunks, even = nrhs % PAIR == 0;
    const bool pairs = (!short_rows || nrhs > 32) && !d->many.chunks && even;
    const unsigned have = (d->chains ? CHAINS : 0) | (d->one.lanes == 1 ? ONE_LANE : 0) | (even ? EVEN : 0) |
                          (pairs ? PAIRS : 0) | (d->long_rows ? LONG_ROWS : 0) | (d->slim ? SLIM : 0) |
                          (short_rows ? SHORT_ROWS : 0);
    const launcher<T> *l = table;
    while ((l->asks & ~have) || nrhs <= l->more_than) l++; /* the last one fits all */
    return l->run;
}

/** Broad levels and what is between, each between-step with a ticket of its own. */
template <typename T> trine_status solve_in_steps(trine_triangular plan, const struct triangular_solve *s,
                                                  const syncfree_csr_side *d, const rows_args<T> &a)
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
trine_status solve_without_waits(trine_triangular plan, const struct triangular_solve *s, const syncfree_csr_side *d)
{
    trine_status status = TRINE_SUCCESS;
    char *const room = (char *)s->work->base.buffer + levels_room_at(plan, s->work->base.max_nrhs);
    if (d->groups.count) return row_groups_solve(plan, s, &d->base, &d->groups);
    /* x stands in the memory of the states, also when a captured solve is replayed */
    if (!few_levels_at_once(s, &d->launches)) {
        s->work->reset_half = 0;
        if (trine_device_is_capturing(plan->base.ctx, (gpuStream_t)s->stream)) s->work->captured = true;
    }
    if (d->launches.n_parts && !s->work->base.owns_buffer) /* which may have been used for something else */
        TRY(trine_device_fill_async(plan->base.ctx, room, 0, FEW_LEVELS_COUNTERS, s->stream));
    TRY(few_levels_solve(plan, s, &d->base, &d->launches, s->work->base.buffer, room));
done:
    return status;
}

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s)
{
    const syncfree_csr_side *d = (const syncfree_csr_side *)s->part;
    const bool room = !d->tasks.slots || d->tasks.lenders || x_holds_flags(s); /* for sums of parts */
    gpuStream_t stream = (gpuStream_t)s->stream;
    trine_status status = TRINE_SUCCESS;
    rows_args<T> a = {};
    if (s->nrhs == 1 && (d->launches.count || d->groups.count)) return solve_without_waits(plan, s, d);
    if (trine_device_is_capturing(plan->base.ctx, stream)) s->work->captured = true;
    if (d->tasks.count && s->nrhs >= d->least_for_tasks && room) {
        s->work->reset_half = 0;
        return syncfree_csr_solve_many(plan, s, &d->base, &d->tasks);
    }
    status = reset_state(plan, s->work, s->nrhs, stream, &a);
    if (status) return status;
    a.n = plan->base.n, a.nrhs = s->nrhs;
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.offsets = d->base.offsets, a.columns = d->base.columns, a.order = d->base.order;
    a.values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.B = (const T *)s->B, a.X = (T *)s->X;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    if (s->nrhs > 1) launcher_of<T>(d, s->nrhs)(&d->many, a, stream);
    else if (d->steps.count) status = solve_in_steps(plan, s, d, a);
    else launch_one(&d->one, a, stream, d->chains);
    if (!status) status = GPU_LAUNCHED("the synchronization-free solve");
    if (status) s->work->reset_half = 0;
    return status;
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static const device_solve run[] = {nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>,
                                       solve_side<complex_of<double>>};
    return device_solve_run(plan, s, run);
}

/* ------------------------------------------------------------- the backend */

trine_status analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    device_pattern *const m = (device_pattern *)pattern;
    struct triangular_side *const out = &plan->side[side];
    syncfree_csr_side *const d = (syncfree_csr_side *)(out->part = trine_host_calloc(plan->base.ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    TRY(device_form_build(plan, m, side, BY_ROWS, &d->base));
    TRY(syncfree_csr_choose_shape(plan, device_pattern_is_forward(m, side), out, d));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
done:
    return status; /* what has been allocated so far goes with the plan */
}

void release(trine_triangular plan, struct triangular_side *side)
{
    syncfree_csr_side *d = (syncfree_csr_side *)side->part;
    trine_free(plan->base.ctx, TRINE_DEVICE, (void *)d->one.chunks);
    trine_free(plan->base.ctx, TRINE_DEVICE, (void *)d->many.chunks);
    few_levels_release(plan, &d->launches);
    row_groups_release(plan, &d->groups);
    device_tasks_release(plan, &d->tasks);
    device_part_release(plan, side);
}

trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    trine_status status = device_triangle_numeric(plan, space, values, stream);
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    for (int side = 0; side < SIDES && !status; side++) {
        const syncfree_csr_side *d = (const syncfree_csr_side *)plan->side[side].part;
        if (d) status = syncfree_csr_invert_pivots(plan, &d->base, &d->tasks, stream);
    }
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_syncfree_csr = {
    device_pattern_read, analyse_side, device_pattern_drop, release, numeric, device_triangle_bad_row,
    work_bytes,          memory,       make_work,           solve,   false};
