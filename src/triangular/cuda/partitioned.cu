/* Partitioned inverses on the GPU: groups of levels are chosen on the host, where a pattern in device memory is
 * copied; the values of the inverses are made on the device, a launch for each rank, which is a row's level within
 * its group; a solve is a pass over the right-hand sides and one launch for all groups. */
#include "triangular/common/partition.h"
#include "triangular/cuda/memory.h"
#include "triangular/cuda/partitioned_solve.h"

namespace {

/* Entries of a lane, at most, in rows of at most SHORT entries and in others, unless they have a whole warp. */
constexpr int SHORT = 32, OF_A_SHORT_ROW = 8, OF_A_ROW = 16;
/* With more solution values a row, on average, lanes that wait for them take turns. */
constexpr int64_t SPARING = 48;
/* With more tasks a group a second block of 256 threads on a multiprocessor finds work that is not far ahead. */
constexpr int64_t TASKS_OF_A_BROAD_GROUP = 320;

struct partitioned_side {
    device_triangle base;            /* by level */
    int64_t entries;
    int64_t *offsets, *middle;       /* of the inverses: common/partition.h */
    int32_t *columns, *rows;         /* rows by rank */
    solved_row *solved;
    row_task *tasks;                 /* of solves with one right-hand side */
    double *sizes, *inverses;        /* of numeric */
    growth_report *report;
    void *values;
    arena memory;                    /* holds the arrays above */
    partitioned_tasks of_solves;
    int64_t *ranks, n_ranks;         /* where each rank begins in rows; on the host */
    int64_t n_tasks;
    bool sparing;                    /* see solve_groups */
    int blocks;                      /* on a multiprocessor */
};

/* ---------------------------------------------------------------- analysis */

/** T's pattern on the host. */
struct host_pattern {
    pattern m;
    trine_matrix copy;               /* of a matrix in device memory */
};

trine_status read_pattern(trine_triangular plan, trine_matrix T, void **out)
{
    trine_status status = TRINE_SUCCESS;
    host_pattern *const h = (host_pattern *)(*out = trine_host_calloc(plan->base.ctx, 1, sizeof *h));
    trine_matrix_info info;
    if (!h) return TRINE_ERR_MEMORY;
    trine_matrix_get_info(T, &info);
    if (info.space == TRINE_DEVICE) {
        TRY(trine_matrix_copy(T, &h->copy, TRINE_HOST, info.format, info.dtype));
        T = h->copy;
    }
    TRY(trine_matrix_check(T, 0));
    trine_matrix_get_arrays(T, &h->m.offsets, &h->m.indices, nullptr);
    h->m.csr = info.format == TRINE_CSR;
    if (plan->options.uplo == TRINE_UPLO_AUTO) TRY(pattern_find_uplo(plan, &h->m));
    h->m.lower_major = h->m.csr == (plan->options.uplo == TRINE_LOWER);
    TRY(pattern_check(plan, &h->m));
done:
    return status;
}

void drop_pattern(trine_triangular plan, void *pattern)
{
    host_pattern *const h = (host_pattern *)pattern;
    if (h) trine_matrix_destroy(&h->copy);
    trine_free(plan->base.ctx, TRINE_HOST, h);
}

/** Rows by rank into `rows`, and where each rank begins into d->ranks: a row's rank is one more than the largest of
 *  the rows that it needs in its group. rank: room for n. */
trine_status sort_by_rank(trine_triangular plan, const gather_form *t, const partition *part, int32_t *rank,
                          int32_t *rows, partitioned_side *d)
{
    const int64_t n = t->n;
    for (int64_t p = 0; p < n; p++) {
        const int32_t start = part->columns[part->middle[p]];
        rank[p] = 0;
        for (int64_t k = t->offsets[p]; k < t->offsets[p + 1]; k++) {
            const int32_t c = t->columns[k];
            if (c >= start && rank[c] >= rank[p]) rank[p] = rank[c] + 1;
        }
        if (rank[p] >= d->n_ranks) d->n_ranks = rank[p] + 1;
    }
    d->ranks = (int64_t *)trine_host_calloc(plan->base.ctx, d->n_ranks + 2, sizeof *d->ranks);
    if (!d->ranks) return TRINE_ERR_MEMORY;
    for (int64_t p = 0; p < n; p++) d->ranks[rank[p] + 2]++;
    for (int64_t r = 0; r < d->n_ranks; r++) d->ranks[r + 2] += d->ranks[r + 1];
    for (int64_t p = 0; p < n; p++) rows[d->ranks[rank[p] + 1]++] = (int32_t)p;
    return TRINE_SUCCESS;
}

/** Lanes for a row of so many entries. */
int lanes_of(int64_t entries)
{
    const int64_t each = entries <= SHORT ? OF_A_SHORT_ROW : OF_A_ROW;
    int lanes = 1;
    while (lanes < 32 && lanes * each < entries) lanes *= 2;
    return lanes;
}

/** Rows in tasks of warps: neighbours, with the lanes that the longest of them asks for; returns how many tasks there
 *  are. */
int64_t make_tasks(const partition *part, int64_t n, row_task *tasks)
{
    int64_t count = 0;
    for (int64_t p = 0; p < n; count++) {
        int lanes = 1;
        for (; lanes < 32; lanes *= 2) {
            const int64_t end = p + 32 / lanes < n ? p + 32 / lanes : n;
            int64_t q = p;
            while (q < end && lanes_of(part->offsets[q + 1] - part->offsets[q]) <= lanes) q++;
            if (q == end) break;
        }
        tasks[count] = {(int32_t)p, (int16_t)(p + 32 / lanes < n ? 32 / lanes : n - p), (int16_t)lanes};
        p += tasks[count].count;
    }
    return count;
}

int64_t entries_of_x(const partition *part, int64_t n)
{
    int64_t count = 0;
    for (int64_t p = 0; p < n; p++) count += part->middle[p] - part->offsets[p];
    return count;
}

trine_status upload(trine_triangular plan, const gather_form *t, const partition *part, const int32_t *rows,
                    const row_task *tasks, partitioned_side *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = t->n, size = (int64_t)trine_dtype_size(plan->base.dtype);
    auto copy = [&](auto *to, const auto *from, int64_t count) {
        return count ? trine_copy(ctx, to, TRINE_DEVICE, from, TRINE_HOST, (size_t)count * sizeof *from)
                     : TRINE_SUCCESS;
    };
    d->entries = part->entries;
    TRY(device_triangle_allocate(plan, &d->base, n, t->nnz));
    TRY(copy(d->base.offsets, t->offsets, n + 1));
    TRY(copy(d->base.columns, t->columns, t->nnz));
    TRY(copy(d->base.source, t->source, t->nnz));
    TRY(copy(d->base.order, t->order, n));
    if (t->pivot_source) TRY(copy(d->base.pivot_source, t->pivot_source, n));
    TRY(arena_allocate(ctx, &d->memory, [&](arena &a) {
        d->offsets = a.take<int64_t>(n + 1), d->middle = a.take<int64_t>(n);
        d->columns = a.take<int32_t>(d->entries), d->rows = a.take<int32_t>(n);
        d->solved = a.take<solved_row>(n), d->tasks = a.take<row_task>(d->n_tasks);
        d->sizes = a.take<double>(n), d->inverses = a.take<double>(n);
        d->report = a.take<growth_report>(1);
        d->values = a.take<char>(d->entries * size);
    }));
    TRY(copy(d->offsets, part->offsets, n + 1));
    TRY(copy(d->middle, part->middle, n));
    TRY(copy(d->columns, part->columns, d->entries));
    TRY(copy(d->rows, rows, n));
    TRY(copy(d->tasks, tasks, d->n_tasks));
    TRY(device_triangle_allocate_numbers(plan, &d->base));
    plan->info.bytes += (int64_t)d->memory.used;
done:
    return status;
}

trine_status analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    gather_form t = {};
    partition part = {};
    partition_costs costs;
    int32_t *rows = nullptr, *rank = nullptr;
    row_task *tasks = nullptr;
    partitioned_side *const d =
        (partitioned_side *)(plan->side[side].part = trine_host_calloc(ctx, 1, sizeof(partitioned_side)));
    if (!d) return TRINE_ERR_MEMORY;
    partition_find_costs(plan, &costs);
    TRY(partition_most_entries(plan, n, plan->info.nnz - n, ctx->info.memory_bytes, &costs.most_entries));
    TRY(partition_of_side(plan, &((host_pattern *)pattern)->m, side, &costs, &t, &part));
    if (plan->is_too_slow) goto done;
    if (!(rows = (int32_t *)trine_host_alloc(ctx, n, sizeof *rows)) ||
        !(rank = (int32_t *)trine_host_alloc(ctx, n, sizeof *rank)) ||
        !(tasks = (row_task *)trine_host_alloc(ctx, n, sizeof *tasks)))
        FAIL(TRINE_ERR_MEMORY, "no memory for %lld rows", (long long)n);
    TRY(sort_by_rank(plan, &t, &part, rank, rows, d));
    d->n_tasks = make_tasks(&part, n, tasks);
    d->blocks = d->n_tasks > TASKS_OF_A_BROAD_GROUP * part.n_groups ? 2 : 1;
    d->sparing = entries_of_x(&part, n) > SPARING * n;
    TRY(upload(plan, &t, &part, rows, tasks, d));
    TRY(partitioned_tasks_make(plan, n, d->offsets, &d->of_solves));
    plan->method = TRINE_TRI_PARTITIONED_INVERSE;
done:
    trine_free(ctx, TRINE_HOST, rows);
    trine_free(ctx, TRINE_HOST, rank);
    trine_free(ctx, TRINE_HOST, tasks);
    partition_free(ctx, &part);
    gather_form_free(ctx, &t);
    return status;
}

void release(trine_triangular plan, struct triangular_side *side)
{
    partitioned_side *const d = (partitioned_side *)side->part;
    partitioned_tasks_release(plan, &d->of_solves);
    trine_free(plan->base.ctx, TRINE_DEVICE, d->memory.base);
    trine_free(plan->base.ctx, TRINE_HOST, d->ranks);
    device_part_release(plan, side);
}

/* ----------------------------------------------------------------- numeric */

template <typename T> partitioned_arrays<T> arrays_of(const partitioned_side *d)
{
    partitioned_arrays<T> a = {};
    a.n = d->base.n;
    a.own_offsets = d->base.offsets, a.own_columns = d->base.columns, a.order = d->base.order;
    a.own_values = (const T *)d->base.values, a.pivots = (const T *)d->base.pivots;
    a.offsets = d->offsets, a.middle = d->middle, a.columns = d->columns, a.values = (T *)d->values;
    a.rows = d->solved, a.sizes = d->sizes, a.inverses = d->inverses;
    return a;
}

template <typename T> trine_status invert(trine_triangular plan, const partitioned_side *d, gpuStream_t stream)
{
    constexpr int THREADS = 256;
    const int64_t few = (int64_t)plan->base.ctx->info.multiprocessors * 8;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_device_fill_async(plan->base.ctx, d->report, 0, sizeof *d->report, stream));
    for (int64_t r = 0; r < d->n_ranks; r++) {
        const int64_t first = d->ranks[r], count = d->ranks[r + 1] - first;
        const int32_t *const rows = d->rows + first;
        if (count <= few)
            invert_rows<T, true><<<(unsigned)count, THREADS, 0, stream>>>(arrays_of<T>(d), rows, count,
                                                                          PARTITION_MOST_GROWTH, d->report);
        else
            invert_rows<T, false><<<device_blocks_for(plan, count * 32), THREADS, 0, stream>>>(
                arrays_of<T>(d), rows, count, PARTITION_MOST_GROWTH, d->report);
    }
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

/* ------------------------------------------------------------- the backend */

trine_status memory(trine_triangular plan, const triangular_extent *e, triangular_bytes *host, triangular_bytes *device,
                    int64_t *work)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = e->n, nnz = e->nnz, size = (int64_t)trine_dtype_size(plan->base.dtype),
                  pattern = (int64_t)sizeof(host_pattern) +
                            (e->on_host ? 0 : 1024 + (n + 1) * 8 + e->nnz_matrix * (4 + size));
    const bool unit = plan->options.diag == TRINE_UNIT;
    int64_t entries, inverses;
    TRY(partition_most_entries(plan, n, nnz, plan->base.ctx->info.memory_bytes, &entries));
    inverses = partition_full(n, entries);
    bytes_add(host, pattern, pattern + n * 4);
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        struct triangular_bytes analysis = {};
        partition_memory(plan, e, entries, &analysis);
        const int64_t most = analysis.kept + n * 16 > analysis.peak ? analysis.kept + n * 16 : analysis.peak,
                      kept = (int64_t)sizeof(partitioned_side) + (n + 2) * 8;
        bytes_add(host, kept, kept + most);
        bytes_add(device,
                  gather_form_bytes(n, nnz, unit) + (n + nnz) * size + (n + 1) * 60 + inverses * (size + 4) + 20 * 256 +
                      partitioned_tasks_bytes(n, inverses),
                  (n / 256 + 2) * 4 + 256);
    }
    host->kept -= pattern;
    *work = (int64_t)partitioned_work_bytes(plan, plan->options.max_nrhs);
done:
    return status;
}

} // namespace

extern "C" const struct triangular_backend triangular_partitioned_gpu = {
    read_pattern,           analyse_side, drop_pattern, release, numeric, bad_row,
    partitioned_work_bytes, memory,       nullptr,      solve,   false};
