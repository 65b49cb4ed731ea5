/* Partitioned inverses on the GPU: groups of levels and their patterns come from partition.cu; the values of the
 * inverses are made in one launch, in which rows wait for rows; a solve is a pass over the right-hand sides and one
 * launch for all groups. */
#include "triangular/cuda/invert_groups.cuh"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/partition.h"
#include "triangular/cuda/partitioned_solve.h"
#include "triangular/cuda/pattern.h"

namespace {

constexpr int64_t BLOCKS_OF_NUMERIC = 4; /* on a multiprocessor */

struct partitioned_side {
    device_triangle base; /* by level */
    device_partition part;
    solved_row *solved;
    double *sizes, *inverses; /* of numeric */
    unsigned *ticket; /* of numeric */
    growth_report *report;
    void *values;
    arena memory; /* holds the arrays above */
    partitioned_tasks of_solves;
};

/* ---------------------------------------------------------------- analysis */

/** The triangle by level into d->base; *levels: where each level begins, on the host. */
trine_status sort_by_level(trine_triangular plan, device_pattern *m, int side, partitioned_side *d, int64_t **levels)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    triangular_side *const s = &plan->side[side];
    const int64_t n = plan->base.n;
    device_triangle given = {};
    levels_found found;
    row_shape search;
    void *state = nullptr;
    TRY(device_form_build(plan, m, side, BY_ROWS, &given));
    search = row_shape_for_search(plan, &given);
    TRY(trine_alloc(ctx, TRINE_DEVICE, (size_t)device_levels_bytes(n), &state));
    TRY(device_levels_search(plan, &given, &search, state));
    TRY(device_levels_read(plan, state, &found));
    *levels = (int64_t *)trine_host_alloc(ctx, found.n_levels + 1, sizeof **levels);
    if (!*levels) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)found.n_levels);
    (*levels)[0] = 0;
    TRY(device_triangle_sort(plan, &given, found.n_levels, device_levels_of(state), *levels, &d->base));
    s->n_levels = found.n_levels, s->min_rows_per_level = n, s->max_rows_per_level = 0;
    for (int64_t l = 0; l < found.n_levels; l++) {
        const int64_t rows = (*levels)[l + 1] - (*levels)[l];
        if (rows < s->min_rows_per_level) s->min_rows_per_level = rows;
        if (rows > s->max_rows_per_level) s->max_rows_per_level = rows;
    }
done:
    trine_free(ctx, TRINE_DEVICE, state);
    device_triangle_release(plan, &given);
    return status;
}

/** Room for what numeric makes. */
trine_status make_numbers(trine_triangular plan, partitioned_side *d)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = plan->base.n;
    TRY(arena_allocate(plan->base.ctx, &d->memory, [&](arena &a) {
        d->solved = a.take<solved_row>(n);
        d->sizes = a.take<double>(n), d->inverses = a.take<double>(n);
        d->ticket = a.take<unsigned>(1);
        d->report = a.take<growth_report>(1);
        d->values = a.take<char>(d->part.entries * (int64_t)trine_dtype_size(plan->base.dtype));
    }));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
    plan->info.bytes += (int64_t)(d->memory.used + d->part.patterns.used + d->part.order.used);
done:
    return status;
}

trine_status analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    int64_t *levels = nullptr;
    partition_costs costs;
    triangular_side *const s = &plan->side[side];
    partitioned_side *const d = (partitioned_side *)(s->part = trine_host_calloc(ctx, 1, sizeof(partitioned_side)));
    if (!d) return TRINE_ERR_MEMORY;
    partition_find_costs(plan, &costs);
    TRY(sort_by_level(plan, (device_pattern *)pattern, side, d, &levels));
    TRY(partition_most_entries(plan, n, d->base.nnz, ctx->info.memory_bytes, &costs.most_entries));
    TRY(device_partition_make(plan, &d->base, levels, s->n_levels, &costs, &d->part));
    s->n_steps = d->part.n_groups, s->entries = d->part.entries;
    TRY(partitioned_tasks_make(plan, n, &d->part, &d->of_solves));
    TRY(make_numbers(plan, d));
    trine_log(ctx, 3, "triangular: %lld levels in %lld groups, %lld entries for %lld", (long long)s->n_levels,
              (long long)s->n_steps, (long long)s->entries, (long long)(d->base.nnz + n));
    plan->method = TRINE_TRI_PARTITIONED_INVERSE;
done:
    trine_free(ctx, TRINE_HOST, levels);
    return status;
}

void release(trine_triangular plan, struct triangular_side *side)
{
    partitioned_side *const d = (partitioned_side *)side->part;
    partitioned_tasks_release(plan, &d->of_solves);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->memory.base);
    device_partition_release(plan, &d->part);
    device_part_release(plan, side);
}

/* ----------------------------------------------------------------- numeric */

template <typename T> partitioned_arrays<T> arrays_of(const partitioned_side *d)
{
    partitioned_arrays<T> a = {};
    a.n = d->base.n;
    a.own_offsets = d->base.offsets, a.own_columns = d->base.columns, a.order = d->base.order;
    a.own_values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.offsets = d->part.offsets, a.middle = d->part.middle, a.columns = d->part.columns, a.values = (T *)d->values;
    a.rows = d->solved, a.sizes = d->sizes, a.inverses = d->inverses;
    return a;
}

template <typename T> trine_status invert(trine_triangular plan, const partitioned_side *d, gpuStream_t stream)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = d->base.n, most = (int64_t)plan->base.ctx->info.multiprocessors * BLOCKS_OF_NUMERIC;
    const int lanes = device_lanes_for(d->base.nnz, n), of_inverse = device_lanes_for(d->part.entries, n);
    invert_args<T> a = {};
    a.d = arrays_of<T>(d);
    a.sorted = d->part.sorted, a.tasks = d->part.tasks, a.n_tasks = d->part.n_tasks;
    a.ticket = d->ticket, a.widest = MOST_WIDTH;
    TRY(trine_device_fill_async(plan->base.ctx, d->report, 0, sizeof *d->report, stream));
    TRY(trine_device_fill_async(plan->base.ctx, d->ticket, 0, sizeof *d->ticket, stream));
    TRY(trine_device_fill_async(plan->base.ctx, d->values, 0xFF, (size_t)d->part.entries * sizeof(T), stream));
    measure_rows_of_t<T><<<device_blocks_for(plan, n * lanes), 256, 0, stream>>>(a, lanes);
    if (a.n_tasks) invert_groups<T><<<(unsigned)(a.n_tasks < most ? a.n_tasks : most), INVERT_THREADS, 0, stream>>>(a);
    measure_inverses<T><<<device_blocks_for(plan, n * of_inverse), 256, 0, stream>>>(a, of_inverse);
    judge_rows<T><<<device_blocks_for(plan, n * lanes), 256, 0, stream>>>(a, lanes, PARTITION_MOST_GROWTH, d->report);
    TRY(GPU_LAUNCHED("the values of the inverses"));
done:
    return status;
}

trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    static trine_status (*const run[])(trine_triangular, const partitioned_side *, gpuStream_t) = {
        nullptr, invert<float>, invert<double>, invert<complex_of<float>>, invert<complex_of<double>>};
    trine_status status = device_triangle_numeric(plan, space, values, stream);
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    for (const struct triangular_side &side : plan->side)
        if (side.part && !status)
            status = run[plan->base.dtype](plan, (const partitioned_side *)side.part, (gpuStream_t)stream);
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

/** With the growth of all sides. */
trine_status bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    trine_status status = TRINE_SUCCESS;
    growth_report found[SIDES] = {};
    for (int s = 0; s < SIDES; s++)
        if (plan->side[s].part)
            TRY(trine_device_copy_async(plan->base.ctx, &found[s], ((partitioned_side *)plan->side[s].part)->report,
                                        sizeof found[s], stream));
    TRY(device_triangle_bad_row(plan, stream, row)); /* synchronizes */
    plan->info.growth = 0, plan->info.substituted_rows = 0;
    for (const growth_report &f : found) {
        double growth;
        memcpy(&growth, &f.most, sizeof growth);
        if (growth > plan->info.growth) plan->info.growth = growth;
        plan->info.substituted_rows += (int32_t)f.substituted;
    }
done:
    return status;
}

/* ------------------------------------------------------------------- solve */

template <typename T> trine_status solve_side(trine_triangular plan, const struct triangular_solve *s)
{
    const partitioned_side *const d = (const partitioned_side *)s->part;
    return partitioned_solve(plan, s, arrays_of<T>(d), &d->of_solves);
}

trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static const device_solve run[] = {nullptr, solve_side<float>, solve_side<double>, solve_side<complex_of<float>>,
                                       solve_side<complex_of<double>>};
    return device_solve_run(plan, s, run);
}

template <typename T>
trine_status probe_side(trine_triangular plan, const partitioned_side *d, void *stream, double *error)
{
    return partitioned_probe(plan, arrays_of<T>(d), &d->of_solves, stream, error);
}

trine_status probe(trine_triangular plan, void *stream, double *error)
{
    static trine_status (*const run[])(trine_triangular, const partitioned_side *, void *, double *) = {
        nullptr, probe_side<float>, probe_side<double>, probe_side<complex_of<float>>, probe_side<complex_of<double>>};
    trine_status status = TRINE_SUCCESS;
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    *error = 0;
    for (const struct triangular_side &side : plan->side) {
        double of_side = 0;
        if (!side.part || !plan->base.n) continue;
        TRY(run[plan->base.dtype](plan, (const partitioned_side *)side.part, stream, &of_side));
        if (of_side > *error) *error = of_side;
    }
done:
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

/* ------------------------------------------------------------- the backend */

trine_status memory(trine_triangular plan, const triangular_extent *e, triangular_bytes *host, triangular_bytes *device,
                    int64_t *work)
{
    trine_status status = TRINE_SUCCESS;
    int64_t entries, tasks;
    TRY(partition_most_entries(plan, e->n, e->nnz, plan->base.ctx->info.memory_bytes, &entries));
    TRY(device_memory(plan, e, BY_ROWS, memory_of_partition, host, device));
    tasks = SIDES * (partitioned_tasks_bytes(e->n, partition_full(e->n, entries)) + (e->n / 256 + 2) * 8 + 512);
    device->kept += tasks, device->peak += tasks;
    host->peak += (e->n / 256 + 2) * 8;
    *work = (int64_t)partitioned_work_bytes(plan, plan->options.max_nrhs);
done:
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_partitioned_gpu = {device_pattern_read,
                                                                         analyse_side,
                                                                         device_pattern_drop,
                                                                         release,
                                                                         numeric,
                                                                         bad_row,
                                                                         partitioned_work_bytes,
                                                                         memory,
                                                                         nullptr,
                                                                         solve,
                                                                         false,
                                                                         probe};
