/* The GPU backend of the supernodal plan, host side: what is uploaded once, a work's memory, calls of the kernels. */
#include <algorithm>
#include <cstring>

#include "supernodal/cuda/device.cuh"

namespace {

void cuda_destroy(trine_supernodal plan)
{
    device_side *d = static_cast<device_side *>(plan->device);
    void *const all[] = {d->panels, d->sources,       d->rows,     d->original, d->source_rows,
                         d->jobs,   d->segment_start, d->segments, d->bad_row,  d->trial_jobs,
                         d->trial,  d->outcome,       d->grades};
    for (void *p : all) trine_free(plan->base.ctx, TRINE_DEVICE, p);
    for (const schedule_side &side : d->schedules) {
        void *const arrays[] = {side.rows, side.gathering.start, side.gathering.places, side.gathering.owners};
        for (void *p : arrays) trine_free(plan->base.ctx, TRINE_DEVICE, p);
        for (int k = 0; k < DIRECTIONS * MODES; k++) {
            trine_free(plan->base.ctx, TRINE_DEVICE, side.tiles[k / MODES][k % MODES]);
            trine_free(plan->base.ctx, TRINE_DEVICE, side.owners[k / MODES][k % MODES]);
        }
    }
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        trine_free(plan->base.ctx, TRINE_DEVICE, d->levels[direction].slices);
        trine_free(plan->base.ctx, TRINE_HOST, d->levels[direction].launches);
        const sparse_side *sparse = &d->sparse[direction];
        void *const lines[] = {sparse->targets, sparse->own,  sparse->index, sparse->run_start,
                               sparse->start,   sparse->runs, sparse->values};
        for (void *p : lines) trine_free(plan->base.ctx, TRINE_DEVICE, p);
    }
    trine_free(plan->base.ctx, TRINE_HOST, d);
    plan->device = nullptr;
}

template <typename U> trine_status upload(trine_supernodal plan, const U *from, int64_t count, U **to)
{
    const size_t bytes = (size_t)count * sizeof(U);
    trine_status status = trine_alloc(plan->base.ctx, TRINE_DEVICE, bytes, reinterpret_cast<void **>(to));
    if (!status && count) status = trine_copy(plan->base.ctx, *to, TRINE_DEVICE, from, TRINE_HOST, bytes);
    if (!status) plan->bytes += (int64_t)bytes;
    return status;
}

/** Tiles of the one-launch solve, and the panels that they are parts of; both_ways: with TRINE_INVERT_NONE, tiles of
 *  inverted panels as well. */
trine_status upload_schedule(trine_supernodal plan, trine_supernodal_invert invert, bool both_ways,
                             const int64_t n_init[MODES], schedule_side *d)
{
    trine_status status = TRINE_SUCCESS;
    supernodal_schedule schedule = {};
    supernodal_parts parts = {};
    supernodal_gathering gathering = {};
    const supernodal_structure *S = &plan->S;
    const bool pull = plan->options.access == TRINE_ACCESS_PULL;
    if (invert == TRINE_INVERT_NONE) {
        TRY(supernodal_split(S, both_ways, &parts));
        S = &parts.S;
        TRY(upload(plan, S->rows, S->n_rows, &d->rows));
    }
    d->n_panels = S->n_panels;
    d->n_rows = S->n_rows;
    if (d->n_panels > INT32_MAX / 3)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld panels are too many for one launch", (long long)d->n_panels);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        for (int mode = 0; mode < MODES; mode++) {
            const supernodal_task task = {
                direction == FORWARD,        pull, mode == MANY, invert, trine_dtype_size(plan->dtype), n_init[mode],
                both_ways ? &parts : nullptr};
            TRY(supernodal_schedule_build(S, &task, &schedule));
            d->n_tickets[direction][mode] = schedule.n_tickets;
            TRY(upload(plan, schedule.tiles, schedule.n_tickets * SUPERNODAL_WARPS, &d->tiles[direction][mode]));
            if (both_ways)
                TRY(upload(plan, schedule.owners, schedule.n_tickets * SUPERNODAL_WARPS, &d->owners[direction][mode]));
            supernodal_schedule_free(plan->base.ctx, &schedule);
        }
    }
    if (pull) {
        TRY(supernodal_gathering_build(S, both_ways ? &parts : nullptr, &gathering));
        TRY(upload(plan, gathering.start, S->n + 1, &d->gathering.start));
        TRY(upload(plan, gathering.places, gathering.start[S->n], &d->gathering.places));
        if (both_ways) TRY(upload(plan, gathering.owners, gathering.start[S->n], &d->gathering.owners));
    }
done:
    supernodal_schedule_free(plan->base.ctx, &schedule);
    supernodal_parts_free(plan->base.ctx, &parts);
    supernodal_gathering_free(plan->base.ctx, &gathering);
    return status;
}

trine_status upload_schedules(trine_supernodal plan, device_side *d)
{
    trine_status status = upload_schedule(plan, plan->invert, false, d->n_init, &d->schedules[0]);
    if (!status && plan->chooses) status = upload_schedule(plan, TRINE_INVERT_NONE, true, d->n_init, &d->schedules[1]);
    return status;
}

/** The trial of inverses: its tiles, and room. */
trine_status upload_trial(trine_supernodal plan, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    supernodal_job *jobs = nullptr;
    const size_t bytes = supernodal_trial_bytes(plan);
    TRY(supernodal_trial_jobs(&plan->S, plan->invert, &jobs, d->n_trial_jobs));
    TRY(upload(plan, jobs, d->n_trial_jobs[0] + d->n_trial_jobs[1], &d->trial_jobs));
    TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, bytes, &d->trial));
    TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, sizeof *d->outcome, reinterpret_cast<void **>(&d->outcome)));
    TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, (size_t)plan->S.n_panels, reinterpret_cast<void **>(&d->grades)));
    plan->bytes += (int64_t)bytes + plan->S.n_panels;
done:
    trine_free(plan->base.ctx, TRINE_HOST, jobs);
    return status;
}

/** Slices and launches of the variants that go level by level. */
trine_status upload_levels(trine_supernodal plan, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    const trine_supernodal_options *o = &plan->options;
    supernodal_level_plan levels = {};
    int64_t *segment_start = nullptr;
    supernodal_segment *segments = nullptr;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const bool pull = o->access == TRINE_ACCESS_AUTO ? direction == BACKWARD : o->access == TRINE_ACCESS_PULL;
        TRY(supernodal_levels_build(&plan->S, direction == FORWARD, pull, plan->invert,
                                    o->variant == TRINE_VARIANT_TEAM ? o->threshold : 0, &levels));
        TRY(upload(plan, levels.slices, levels.n_slices, &d->levels[direction].slices));
        d->levels[direction].n_launches = levels.n_launches;
        d->levels[direction].launches = levels.launches;
        levels.launches = nullptr;
        supernodal_levels_free(plan->base.ctx, &levels);
    }
    TRY(supernodal_segments_build(&plan->S, &segment_start, &segments));
    TRY(upload(plan, segment_start, plan->S.n_panels + 1, &d->segment_start));
    TRY(upload(plan, segments, segment_start[plan->S.n_panels], &d->segments));
done:
    supernodal_levels_free(plan->base.ctx, &levels);
    trine_free(plan->base.ctx, TRINE_HOST, segment_start);
    trine_free(plan->base.ctx, TRINE_HOST, segments);
    return status;
}

/** Lines and launches of the SpMV variant, and room for all entries that numeric can find. */
trine_status upload_lines(trine_supernodal plan, device_side *d)
{
    trine_status status = TRINE_SUCCESS;
    supernodal_lines lines = {};
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        sparse_side *sparse = &d->sparse[direction];
        TRY(supernodal_lines_build(&plan->S, direction == FORWARD, plan->invert, &lines));
        TRY(upload(plan, lines.targets, lines.n_lines, &sparse->targets));
        TRY(upload(plan, lines.own, lines.n_lines, &sparse->own));
        TRY(upload(plan, lines.run_start, lines.n_lines + 1, &sparse->run_start));
        TRY(upload(plan, lines.runs, lines.n_runs, &sparse->runs));
        TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, (size_t)(lines.n_lines + 1) * sizeof(int64_t),
                        reinterpret_cast<void **>(&sparse->start)));
        TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, (size_t)plan->S.nnz_merged * sizeof(int32_t),
                        reinterpret_cast<void **>(&sparse->index)));
        TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, (size_t)plan->S.nnz_merged * trine_dtype_size(plan->dtype),
                        &sparse->values));
        plan->bytes += lines.n_lines * (int64_t)sizeof(int64_t) +
                       plan->S.nnz_merged * (int64_t)(sizeof(int32_t) + trine_dtype_size(plan->dtype));
        sparse->n_lines = lines.n_lines;
        d->levels[direction].n_launches = lines.n_launches;
        d->levels[direction].launches = lines.launches;
        lines.launches = nullptr;
        supernodal_lines_free(plan->base.ctx, &lines);
    }
done:
    supernodal_lines_free(plan->base.ctx, &lines);
    return status;
}

trine_status cuda_analyse(trine_supernodal plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const supernodal_structure *S = &plan->S;
    if (S->n > INT32_MAX / 2)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "n = %lld; a GPU solves up to %d rows", (long long)S->n,
                          INT32_MAX / 2);
    supernodal_inversion inversion = {};
    source_panel *sources = nullptr;
    int saved;
    device_side *d = static_cast<device_side *>(trine_host_calloc(ctx, 1, sizeof *d));
    if (!d) return TRINE_ERR_MEMORY;
    plan->device = d;
    trine_device_enter(ctx, &saved);
    d->n_init[ONE] = std::max<int64_t>(1, std::min<int64_t>((S->n + 511) / 512, ctx->info.multiprocessors));
    d->n_init[MANY] = std::max<int64_t>(1, std::min<int64_t>((S->n + 63) / 64, 4 * ctx->info.multiprocessors));

    sources = static_cast<source_panel *>(trine_host_alloc(ctx, S->n_sources, sizeof *sources));
    if (!sources) FAIL(TRINE_ERR_MEMORY, "no memory for %lld panels", (long long)S->n_sources);
    for (int64_t s = 0; s < S->n_sources; s++) {
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s];
        sources[s] = {S->source_value_offsets[s], S->source_row_offsets[s], S->target[s],
                      S->target_column[s],        S->source_width[s],       (int32_t)height};
        d->n_source_values = std::max(d->n_source_values, S->source_value_offsets[s] + height * S->source_width[s]);
    }
    TRY(upload(plan, sources, S->n_sources, &d->sources));
    TRY(upload(plan, S->panels, S->n_panels, &d->panels));
    TRY(upload(plan, S->rows, S->n_rows, &d->rows));
    TRY(upload(plan, S->original, S->n, &d->original));
    TRY(upload(plan, S->source_rows, S->n_sources ? S->source_row_offsets[S->n_sources] : 0, &d->source_rows));
    TRY(plan->options.variant == TRINE_VARIANT_DYNAMIC ? upload_schedules(plan, d)
        : plan->options.variant == TRINE_VARIANT_SPMV  ? upload_lines(plan, d)
                                                       : upload_levels(plan, d));
    TRY(supernodal_inversion_build(S, plan->invert, &inversion));
    d->n_stages = inversion.n_stages;
    memcpy(d->stages, inversion.stages, sizeof d->stages);
    TRY(upload(plan, inversion.jobs, inversion.n_jobs, &d->jobs));
    TRY(trine_alloc(ctx, TRINE_DEVICE, 2 * sizeof *d->bad_row, reinterpret_cast<void **>(&d->bad_row)));
    if (plan->invert != TRINE_INVERT_NONE) TRY(upload_trial(plan, d));
done:
    trine_device_leave(ctx, saved);
    trine_free(ctx, TRINE_HOST, inversion.jobs);
    trine_free(ctx, TRINE_HOST, sources);
    return status;
}

trine_status cuda_examine(trine_supernodal plan, void *stream, int64_t *row)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    unsigned bad[2] = {};
    growth_outcome outcome = {};
    trine_status status = trine_device_copy_async(plan->base.ctx, bad, d->bad_row, sizeof bad, stream);
    if (!status && d->outcome)
        status = trine_device_copy_async(plan->base.ctx, &outcome, d->outcome, sizeof outcome, stream);
    if (!status) status = trine_device_synchronize(plan->base.ctx, stream);
    if (status) return status;
    *row = bad[0] == 0xFFFFFFFFu ? -1 : (int64_t)bad[0];
    plan->beyond_single = bad[1] == 0;
    plan->growth = outcome.growth;
    if (plan->chooses) plan->substituted = outcome.substituted;
    return TRINE_SUCCESS;
}

trine_status cuda_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const device_side *d = static_cast<const device_side *>(plan->device);
    void *copied = nullptr;
    int64_t row;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    if (space == TRINE_HOST) {
        const size_t bytes = (size_t)d->n_source_values * trine_dtype_size(plan->base.dtype);
        TRY(trine_alloc(plan->base.ctx, TRINE_DEVICE, bytes, &copied));
        TRY(trine_device_copy_async(plan->base.ctx, copied, values, bytes, stream));
        values = copied;
    }
    switch (plan->dtype) {
    case TRINE_S: TRY(supernodal_numeric_on_gpu<float>(plan, values, stream)); break;
    case TRINE_D: TRY(supernodal_numeric_on_gpu<double>(plan, values, stream)); break;
    case TRINE_C: TRY(supernodal_numeric_on_gpu<complex_of<float>>(plan, values, stream)); break;
    case TRINE_Z: TRY(supernodal_numeric_on_gpu<complex_of<double>>(plan, values, stream)); break;
    }
    if (copied) TRY(cuda_examine(plan, stream, &row));
done:
    if (copied) trine_free(plan->base.ctx, TRINE_DEVICE, copied);
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

/** Parts of a work's buffer, each on 256 bytes. */
struct layout {
    size_t epochs[SCHEDULES][DIRECTIONS][MODES], counters[SCHEDULES][DIRECTIONS][MODES]; /* zero at first, */
    size_t missing, after_missing;                                 /* but for these */
    size_t one_t[DIRECTIONS], one_x[DIRECTIONS], t, x, updates, largest, bytes;
};
layout layout_of(trine_supernodal plan, int64_t nrhs)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const bool dynamic = plan->options.variant == TRINE_VARIANT_DYNAMIC;
    const size_t element = trine_dtype_size(plan->dtype), pair = dynamic && nrhs ? 2 * (size_t)plan->S.n * element : 0;
    layout l = {};
    size_t at = DIRECTIONS * MODES * sizeof(solve_state), most_columns = 0;
    auto take = [&](size_t bytes) {
        const size_t begin = at;
        at += (bytes + 255) / 256 * 256;
        return begin;
    };
    for (int mode = 0; mode < MODES; mode++) { /* whatever number up to nrhs is solved for */
        const int64_t most = mode == ONE ? std::min<int64_t>(nrhs, 1) : nrhs,
                      width = supernodal_block_width(element, most);
        const size_t n_blocks = mode == MANY && nrhs < 2 ? 0 : (size_t)((most + width - 1) / width);
        for (int k = 0; k < (plan->chooses ? SCHEDULES : 1); k++)
            for (int direction = 0; direction < DIRECTIONS; direction++) {
                l.epochs[k][direction][mode] = take(n_blocks * sizeof(unsigned));
                l.counters[k][direction][mode] =
                    take(n_blocks * (size_t)supernodal_counters(d->schedules[k].n_panels) * sizeof(unsigned));
            }
        most_columns = std::max(most_columns, n_blocks * (size_t)width);
    }
    l.one_t[FORWARD] = take(pair);
    l.missing = at;
    l.one_t[BACKWARD] = take(pair);
    l.one_x[BACKWARD] = take(pair);
    l.after_missing = at;
    l.one_x[FORWARD] = take(pair);
    const size_t columns = dynamic && nrhs < 2 ? 0 : most_columns; /* a single one has the places above */
    l.t = take(columns * (size_t)plan->S.n * element);
    l.x = take(columns * (size_t)plan->S.n * element);
    l.updates = take(dynamic && plan->options.access == TRINE_ACCESS_PULL
                         ? most_columns * (size_t)std::max(d->schedules[0].n_rows, d->schedules[1].n_rows) * element
                         : 0);
    l.largest = take(plan->base.dtype != plan->dtype ? (size_t)nrhs * sizeof(unsigned long long) : 0);
    l.bytes = at;
    return l;
}

size_t cuda_work_bytes(trine_supernodal plan, int64_t nrhs) { return layout_of(plan, nrhs).bytes; }

template <typename T> trine_status init_levels(trine_supernodal plan, supernodal_work *work, const layout &l)
{
    char *buffer = static_cast<char *>(work->base.buffer);
    return supernodal_levels_work_init(plan, work, reinterpret_cast<T *>(buffer + l.t),
                                       reinterpret_cast<T *>(buffer + l.x));
}

trine_status cuda_work_init(trine_supernodal plan, supernodal_work *work)
{
    const layout l = layout_of(plan, work->base.max_nrhs);
    trine_status status =
        trine_device_fill_async(plan->base.ctx, work->base.buffer, 0, l.missing, plan->base.ctx->stream);
    if (!status && l.after_missing > l.missing) /* all bits set is "missing" (gpu_scalar.cuh) */
        status = trine_device_fill_async(plan->base.ctx, static_cast<char *>(work->base.buffer) + l.missing, 0xFF,
                                         l.after_missing - l.missing, plan->base.ctx->stream);
    if (!status) status = trine_device_synchronize(plan->base.ctx, plan->base.ctx->stream);
    if (status || plan->options.variant == TRINE_VARIANT_DYNAMIC) return status;
    switch (plan->dtype) {
    case TRINE_S: return init_levels<float>(plan, work, l);
    case TRINE_D: return init_levels<double>(plan, work, l);
    case TRINE_C: return init_levels<complex_of<float>>(plan, work, l);
    case TRINE_Z: return init_levels<complex_of<double>>(plan, work, l);
    }
    return TRINE_ERR_ARGUMENT;
}

template <typename T>
trine_status solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                   const trine_dense *X, supernodal_work *work, void *stream)
{
    const device_side *d = static_cast<const device_side *>(plan->device);
    const int direction = op == TRINE_N ? FORWARD : BACKWARD, mode = B->cols == 1 ? ONE : MANY;
    const layout l = layout_of(plan, work->base.max_nrhs);
    char *buffer = static_cast<char *>(work->base.buffer);
    const bool b_by_column = B->layout == TRINE_COLMAJOR, x_by_column = X->layout == TRINE_COLMAJOR;
    solve_choice<T> choice = {};
    solve_args<T> &a = choice.schedules[0];
    a.original = d->original;
    a.values = static_cast<const T *>(plan->values);
    a.B = B->data;
    a.X = X->data;
    const bool alone = plan->options.variant == TRINE_VARIANT_DYNAMIC && mode == ONE;
    a.t = reinterpret_cast<T *>(buffer + (alone ? l.one_t[direction] : l.t));
    a.x = reinterpret_cast<T *>(buffer + (alone ? l.one_x[direction] : l.x));
    a.b_row = b_by_column ? 1 : B->ld;
    a.b_col = b_by_column ? B->ld : 1;
    a.x_row = x_by_column ? 1 : X->ld;
    a.x_col = x_by_column ? X->ld : 1;
    if (op == TRINE_N && d->schedules[0].gathering.start) a.updates = reinterpret_cast<T *>(buffer + l.updates);
    a.n = plan->S.n;
    a.nrhs = B->cols;
    a.state = reinterpret_cast<solve_state *>(buffer) + direction * MODES + mode;
    a.n_init = (int32_t)d->n_init[mode];
    a.converts = plan->base.dtype != plan->dtype;
    unsigned long long *const largest = reinterpret_cast<unsigned long long *>(buffer + l.largest);
    a.largest = largest;
    if (a.converts) memcpy(&a.given_alpha, alpha, sizeof a.given_alpha);
    else memcpy(&a.alpha, alpha, sizeof(T));
    a.conjugate = op == TRINE_H;
    const int64_t width = supernodal_block_width(sizeof(T), B->cols), n_blocks = (B->cols + width - 1) / width;
    a.n_blocks = (int32_t)n_blocks;
    choice.schedules[1] = a;
    for (int k = 0; k < (plan->chooses ? SCHEDULES : 1); k++) {
        const schedule_side *side = &d->schedules[k];
        solve_args<T> &own = choice.schedules[k];
        own.tiles = side->tiles[direction][mode];
        own.rows = side->rows ? side->rows : d->rows;
        own.gather_start = side->gathering.start;
        own.gather_places = side->gathering.places;
        own.n_rows = side->n_rows;
        own.epochs = reinterpret_cast<unsigned *>(buffer + l.epochs[k][direction][mode]);
        own.counters = reinterpret_cast<unsigned *>(buffer + l.counters[k][direction][mode]);
        own.n_panels = (int32_t)side->n_panels;
        own.n_counters = (int32_t)supernodal_counters(side->n_panels);
        own.n_tickets = (int32_t)side->n_tickets[direction][mode];
        if ((d->n_init[mode] + side->n_tickets[direction][mode]) * n_blocks > INT32_MAX / 2)
            return trine_fail(TRINE_ERR_UNSUPPORTED, "%lld right-hand sides in one call are too many for this factor",
                              (long long)B->cols);
    }
    if (plan->chooses)
        choice.ways = {d->schedules[1].owners[direction][mode],
                       d->schedules[1].gathering.owners,
                       {d->grades, &d->outcome->least_grade}};
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    trine_status status = TRINE_SUCCESS;
    if (a.converts) status = supernodal_column_maxima(plan, B, largest, stream);
    if (!status)
        status = plan->options.variant != TRINE_VARIANT_DYNAMIC
                     ? supernodal_solve_levels(plan, a, direction, work, stream)
                 : mode == ONE ? supernodal_solve_one(plan, choice, direction == FORWARD, stream)
                               : supernodal_solve_many(plan, choice, direction == FORWARD, stream);
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

trine_status cuda_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                        const trine_dense *X, supernodal_work *work, void *stream)
{
    switch (plan->dtype) {
    case TRINE_S: return solve<float>(plan, op, alpha, B, X, work, stream);
    case TRINE_D: return solve<double>(plan, op, alpha, B, X, work, stream);
    case TRINE_C: return solve<complex_of<float>>(plan, op, alpha, B, X, work, stream);
    case TRINE_Z: return solve<complex_of<double>>(plan, op, alpha, B, X, work, stream);
    }
    return TRINE_ERR_ARGUMENT;
}

} // namespace

extern "C" const struct supernodal_backend supernodal_cuda = {cuda_analyse,
                                                              cuda_destroy,
                                                              cuda_numeric,
                                                              cuda_examine,
                                                              cuda_work_bytes,
                                                              cuda_work_init,
                                                              supernodal_levels_work_free,
                                                              cuda_solve,
                                                              supernodal_place_on_gpu};
