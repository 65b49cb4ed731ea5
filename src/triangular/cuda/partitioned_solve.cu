/* Solves by partitioned inverses: what a warp does is in a table, and one launch does all groups. With one right-hand
 * side, solves take turns with two states, each of which resets the other one (as in cuda/syncfree_rows.cu). */
#include "triangular/cuda/partitioned_solve.h"

#include <cstring>

#include "triangular/cuda/partitioned_once.cuh"

namespace {

/* ------------------------------------------------------------------- tasks */

constexpr packing ONE = {1, 8, 4}, FEW = {4, 4, 4}, MANY = {16, 1, 1};
/* Rows with more solution values are long: a lane has more than two batches of them even with all warps of a block. */
constexpr int32_t LONG_FROM = 2 * 4 * 32 * SLOTS;

int64_t segments_of(int64_t n) { return (n + SEGMENT - 1) / SEGMENT; }

} // namespace

int64_t partitioned_tasks_bytes(int64_t n, int64_t entries)
{
    /* A row of w > 1 warps has at least 16 w entries, and fewer than w slots before it that are empty. */
    const int64_t slots = n + entries / 8 + segments_of(n) * SLOTS;
    return WAYS * (slots * (int64_t)sizeof(warp_task) + 256);
}

trine_status partitioned_tasks_make(trine_triangular plan, int64_t n, const device_partition *part,
                                    partitioned_tasks *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const gpuStream_t stream = (gpuStream_t)ctx->stream;
    const int64_t segments = segments_of(n);
    const packing ways[WAYS] = {ONE, FEW, MANY};
    const group_starts starts = {part->starts, part->n_groups, part->middle};
    int64_t total[WAYS] = {};
    arena counters = {};
    int32_t *on_device = nullptr, *longest = nullptr, *counts = nullptr;
    if (!n) return TRINE_SUCCESS;
    if (!(counts = (int32_t *)trine_host_alloc(ctx, WAYS * segments, sizeof *counts))) return TRINE_ERR_MEMORY;
    TRY(arena_allocate(ctx, &counters,
                       [&](arena &a) { on_device = a.take<int32_t>(WAYS * segments), longest = a.take<int32_t>(1); }));
    TRY(trine_device_fill_async(ctx, longest, 0, sizeof *longest, stream));
    for (int i = 0; i < WAYS; i++)
        pack_rows<<<(unsigned)segments, 32, 0, stream>>>(ways[i], n, part->offsets, starts, on_device + i * segments,
                                                         nullptr, longest);
    TRY(GPU_LAUNCHED("the packing of rows"));
    TRY(trine_device_copy_async(ctx, counts, on_device, (size_t)(WAYS * segments) * sizeof *counts, stream));
    TRY(trine_device_copy_async(ctx, &out->longest, longest, sizeof *longest, stream));
    TRY(trine_device_synchronize(ctx, stream));
    for (int i = 0; i < WAYS; i++)
        for (int64_t k = 0; k < segments; k++) {
            const int32_t count = counts[i * segments + k];
            counts[i * segments + k] = (int32_t)total[i];
            total[i] += count;
        }
    TRY(trine_device_copy_async(ctx, on_device, counts, (size_t)(WAYS * segments) * sizeof *counts, stream));
    TRY(arena_allocate(ctx, &out->memory, [&](arena &a) {
        for (int i = 0; i < WAYS; i++) out->of[i].slots = a.take<warp_task>(total[i] * SLOTS);
    }));
    for (int i = 0; i < WAYS; i++) {
        out->of[i].n_blocks = total[i];
        pack_rows<<<(unsigned)segments, 32, 0, stream>>>(ways[i], n, part->offsets, starts, on_device + i * segments,
                                                         out->of[i].slots, longest);
    }
    TRY(GPU_LAUNCHED("the packing of rows"));
    TRY(trine_device_synchronize(ctx, stream));
    plan->info.bytes += (int64_t)out->memory.used;
done:
    trine_free(ctx, TRINE_DEVICE, counters.base);
    trine_free(ctx, TRINE_HOST, counts);
    return status;
}

void partitioned_tasks_release(trine_triangular plan, partitioned_tasks *tasks)
{
    trine_free(plan->base.ctx, TRINE_DEVICE, tasks->memory.base);
    tasks->memory.base = nullptr;
}

/* ------------------------------------------------------------------ solves */

namespace {

constexpr size_t TICKETS_BYTES = 512; /* two tickets, in lines of their own */
constexpr int APART = 64;             /* unsigned, between tickets */

/* Vectors of a solve. In one launch: the solution, twice with one right-hand side; and alpha B for solves in place;
 * with refinement alpha B, the solution, the residual and the correction. In single precision the solution of one
 * right-hand side takes two (kept). */
constexpr int64_t IN_PLACE = 2, REFINED = 4, ONE_REFINED = 6;

/** Vectors of a work. Refinement that check has decided on takes fewer right-hand sides at a time. */
int64_t vectors_of(trine_triangular plan, int64_t nrhs)
{
    const int64_t vectors = nrhs * (plan->options.partition.refine ? REFINED : IN_PLACE),
                  least = plan->base.dtype == TRINE_S ? ONE_REFINED : REFINED;
    return vectors > least ? vectors : least;
}

/** Bytes of a solution as it is kept. */
template <typename T> size_t kept_bytes(int64_t n, int64_t nrhs)
{
    return (size_t)(n * nrhs) * (nrhs == 1 ? sizeof(typename kept<T, 1>::type) : sizeof(T));
}

template <int R, int V, typename T>
void launch(const once_args<T> &a, int64_t n_blocks, gpuStream_t stream)
{
    const int64_t blocks = n_blocks * ((a.nrhs + R *V - 1) / (R *V));
    solve_once<T, R, V, 2, ASK_ALL, false, true, 3><<<(unsigned)blocks, 32 * SLOTS, 0, stream>>>(a);
}
template <bool IS_LONG, typename T> void launch_one(const once_args<T> &a, int64_t n_blocks, gpuStream_t stream)
{
    solve_once<T, 1, 1, 4, ASK_ALL, false, IS_LONG, 4><<<(unsigned)n_blocks, 32 * SLOTS, 0, stream>>>(a);
}

template <typename T> void launch_for_count(once_args<T> &a, const partitioned_tasks *tasks, gpuStream_t stream)
{
    constexpr int PAIR = sizeof(T) <= 8 ? 2 : 1; /* neighbours in x that one load brings */
    const auto &way = tasks->of[a.nrhs == 1 ? 0 : a.nrhs <= 8 ? 1 : 2];
    a.slots = way.slots;
    if (a.nrhs == 1 && tasks->longest > LONG_FROM) launch_one<true>(a, way.n_blocks, stream);
    else if (a.nrhs == 1) launch_one<false>(a, way.n_blocks, stream);
    else if (a.nrhs <= 8 && a.nrhs % PAIR == 0) launch<4, PAIR>(a, way.n_blocks, stream);
    else if (a.nrhs <= 8) launch<4, 1>(a, way.n_blocks, stream);
    else if (a.nrhs % PAIR == 0) launch<16, PAIR>(a, way.n_blocks, stream);
    else launch<16, 1>(a, way.n_blocks, stream);
}

/** One launch, and a fill if the state has not been reset by the solve before: see reset_state in
 *  cuda/syncfree_rows.cu. */
template <typename T> trine_status solve_at_once(trine_triangular plan, const struct triangular_solve *s,
                                                 const partitioned_tasks *tasks, once_args<T> &a)
{
    trine_status status = TRINE_SUCCESS;
    struct triangular_work *const work = s->work;
    const size_t bytes = kept_bytes<T>(a.d.n, a.nrhs);
    const int found = work->reset_half;
    const bool in_turn = s->nrhs == 1 && work->base.owns_buffer && !work->captured;
    const int half = in_turn && found == 2;
    unsigned *const tickets = (unsigned *)work->base.buffer;
    char *const x = (char *)tickets + TICKETS_BYTES;
    work->reset_half = 0;
    a.x = x + half * bytes, a.ticket = tickets + half * APART;
    if (!in_turn || !found) /* tickets stand before x */
        TRY(trine_device_fill_async(plan->base.ctx, tickets, 0xFF, TICKETS_BYTES + bytes, s->stream));
    if (in_turn) {
        a.next_x = x + (1 - half) * bytes, a.next_ticket = tickets + (1 - half) * APART;
        work->reset_half = half ? 1 : 2;
    }
    launch_for_count(a, tasks, (gpuStream_t)s->stream);
    status = GPU_LAUNCHED("the solve by partitioned inverses");
    if (status) work->reset_half = 0;
done:
    return status;
}

/** Right-hand sides in the order of positions first, which the solution would overwrite otherwise, or which a residual
 *  is made of. */
template <typename T, int N> trine_status solve_from_copy(trine_triangular plan, const struct triangular_solve *s,
                                                          const partitioned_tasks *tasks, bool refine, once_args<T> &a)
{
    const gpuStream_t stream = (gpuStream_t)s->stream;
    const int64_t size = a.d.n * a.nrhs;
    const size_t solution = kept_bytes<T>(a.d.n, a.nrhs), vector = (size_t)size * sizeof(T);
    unsigned *const tickets = (unsigned *)s->work->base.buffer;
    char *const vectors = (char *)tickets + TICKETS_BYTES; /* solutions first, which may be aligned to more */
    partitioned_args<T> from = {};
    s->work->reset_half = 0;
    from.d = a.d, from.nrhs = a.nrhs, from.b_row = a.b_row, from.b_col = a.b_col, from.B = a.B, from.alpha = a.alpha;
    from.conjugate = a.conjugate, from.ticket = tickets;
    from.x = (T *)vectors, from.b = (T *)(vectors + (refine ? 2 : 1) * solution);
    take_right_hand_sides<T, N><<<device_blocks_for(plan, size), 256, 0, stream>>>(from);
    a.b = from.b, a.x = from.x, a.ticket = tickets;
    launch_for_count(a, tasks, stream);
    if (refine) {
        partitioned_args<T> to = from;
        to.x = (T *)(vectors + solution), to.b = (T *)(vectors + 2 * solution + vector);
        take_residuals<T, N><<<device_blocks_for(plan, size), 256, 0, stream>>>(from, to);
        a.b = to.b, a.x = to.x, a.before = from.x;
        launch_for_count(a, tasks, stream);
    }
    return GPU_LAUNCHED("the solve by partitioned inverses");
}

} // namespace

size_t partitioned_work_bytes(trine_triangular plan, int64_t nrhs)
{
    return TICKETS_BYTES + (size_t)(plan->base.n * vectors_of(plan, nrhs)) * trine_dtype_size(plan->base.dtype);
}

template <typename T> trine_status partitioned_solve(trine_triangular plan, const struct triangular_solve *s,
                                                     const partitioned_arrays<T> &d, const partitioned_tasks *tasks)
{
    trine_status status = TRINE_SUCCESS;
    once_args<T> a = {};
    if (trine_device_is_capturing(plan->base.ctx, s->stream)) s->work->captured = true;
    a.d = d;
    a.b_row = s->b_row, a.b_col = s->b_col, a.x_row = s->x_row, a.x_col = s->x_col;
    a.alpha = s->alpha ? *(const T *)s->alpha : one_of<T>();
    a.conjugate = s->conjugate;
    const bool refine = __atomic_load_n(&plan->refines, __ATOMIC_RELAXED), copied = s->B == s->X || refine;
    /* blocks and tickets have 31 bits */
    const int64_t blocks = tasks->of[WAYS - 1].n_blocks > 0 ? tasks->of[WAYS - 1].n_blocks : 1,
                  room = refine ? vectors_of(plan, s->work->base.max_nrhs) / REFINED : s->nrhs,
                  most = 4 * (INT32_MAX / blocks), slice = room < most ? room : most;
    for (int64_t j = 0; j < s->nrhs && !status; j += a.nrhs) {
        a.nrhs = s->nrhs - j < slice ? s->nrhs - j : slice;
        a.B = (const T *)s->B + j * s->b_col, a.X = (T *)s->X + j * s->x_col;
        a.b = nullptr, a.before = nullptr, a.next_x = nullptr;
        status = !copied       ? solve_at_once(plan, s, tasks, a)
                 : a.nrhs == 1 ? solve_from_copy<T, 1>(plan, s, tasks, refine, a)
                               : solve_from_copy<T, 2>(plan, s, tasks, refine, a);
    }
    return status;
}

template <typename T>
trine_status partitioned_probe(trine_triangular plan, const partitioned_arrays<T> &d, const partitioned_tasks *tasks,
                               void *stream, double *error)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    once_args<T> a = {};
    arena memory = {};
    T *b = nullptr;
    typename kept<T, 1>::type *x = nullptr;
    unsigned long long *largest = nullptr, found = 0;
    TRY(arena_allocate(ctx, &memory, [&](arena &m) {
        x = m.take<typename kept<T, 1>::type>(d.n), b = m.take<T>(d.n), a.X = m.take<T>(d.n);
        a.ticket = m.take<unsigned>(1), largest = m.take<unsigned long long>(1);
    }));
    a.d = d, a.nrhs = 1, a.x_row = a.x_col = 1, a.b = b, a.x = x, a.alpha = one_of<T>();
    *error = 0;
    for (const bool by_solution : {true, false}) {
        partition_trials trials = {};
        double of_trial;
        do {
            TRY(trine_device_fill_async(ctx, largest, 0, sizeof *largest, stream));
            probe_right_hand_sides<T><<<device_blocks_for(plan, d.n), 256, 0, (gpuStream_t)stream>>>(
                d, by_solution, (uint32_t)trials.count, b, x, a.ticket);
            launch_for_count(a, tasks, (gpuStream_t)stream);
            probe_errors<T><<<device_blocks_for(plan, d.n), 256, 0, (gpuStream_t)stream>>>(d, b, x, largest);
            TRY(GPU_LAUNCHED("the probe of partitioned inverses"));
            TRY(trine_device_copy_async(ctx, &found, largest, sizeof found, stream));
            TRY(trine_device_synchronize(ctx, stream));
            memcpy(&of_trial, &found, sizeof of_trial);
        } while (partition_add_trial(&trials, of_trial, trine_dtype_eps(plan->base.dtype)));
        const double median = partition_median_of_trials(&trials);
        if (median > *error) *error = median;
    }
done:
    trine_free(ctx, TRINE_DEVICE, memory.base);
    return status;
}

#define SOLVE_BY_INVERSES(T) \
    template trine_status partitioned_solve(trine_triangular, const struct triangular_solve *, \
                                            const partitioned_arrays<T> &, const partitioned_tasks *); \
    template trine_status partitioned_probe(trine_triangular, const partitioned_arrays<T> &, \
                                            const partitioned_tasks *, void *, double *)
SOLVE_BY_INVERSES(float);
SOLVE_BY_INVERSES(double);
SOLVE_BY_INVERSES(complex_of<float>);
SOLVE_BY_INVERSES(complex_of<double>);
