/* Partitioned inverses on the CPU: values of the inverses, and solves a group of levels at a time. */
#include <float.h>
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "triangular/common/partition.h"
#include "triangular/cpu/side.h"

/* Entries times right-hand sides that are worth sharing out, and waking other threads for. */
enum { LEAST_SHARED = 1 << 13, WORTH_WAKING = 1 << 17 };

enum { REFINED = 3 /* vectors of a right-hand side that is refined */ };

/** What a thread has found in its groups. */
struct growth_found {
    _Alignas(64) double most;
    int64_t substituted;
};

/** A side's part. */
struct partitioned_side {
    struct gather_form form;  /* by level; its columns are positions */
    struct partition part;    /* its columns are row numbers, by which solves read X and the right-hand sides */
    int threads;              /* those that have cores */
    void *values;             /* part.entries of the plan's dtype; those of x are negative already */
    void *factors, *pivots;   /* form.nnz, form.n: T's own */
    uint8_t *substituted;     /* form.n */
    /* of numeric: a row in the making, for each thread; by row number, (|T| 1) and the growth of its inverse */
    void *sums;
    double *sizes, *inverses;
    struct growth_found *found; /* for each thread */
    int64_t bad_row;          /* first row with a zero or NaN pivot, -1 if none */
    bool may_underflow; /* rows or columns are scaled so unlike that entries of inverses may vanish or lose digits */
};

static inline const struct partitioned_side *part_of(const struct triangular_solve *s) { return s->part; }

#define TEMPLATE "triangular/cpu/partitioned.inc"
#include "core/each_dtype.h"

static trine_status analyse_side(trine_triangular plan, void *pattern, int side)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const struct pattern *m = pattern;
    const size_t size = trine_dtype_size(plan->base.dtype);
    const int64_t n = plan->base.n;
    struct partition_costs costs;
    struct partitioned_side *d = NULL;
    TRY(CALLOC(ctx, d, 1));
    plan->side[side].part = d;
    d->threads = trine_threads_with_cores(ctx);
    partition_find_costs(plan, &costs);
    trine_team_start(ctx);
    TRY(partition_most_entries(plan, n, plan->info.nnz - n, 0, &costs.most_entries));
    TRY(partition_of_side(plan, m, side, &costs, &d->form, &d->part));
    if (plan->is_too_slow) goto done;
    for (int64_t k = 0; k < d->part.entries; k++) d->part.columns[k] = d->form.order[d->part.columns[k]];
    TRY((d->values = trine_host_alloc(ctx, d->part.entries, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((d->factors = trine_host_alloc(ctx, d->form.nnz, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((d->pivots = trine_host_alloc(ctx, n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((d->sums = trine_host_calloc(ctx, n * d->threads, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY(ALLOC(ctx, d->substituted, n));
    TRY(ALLOC(ctx, d->sizes, n));
    TRY(ALLOC(ctx, d->inverses, n));
    TRY(ALLOC(ctx, d->found, d->threads));
    plan->method = TRINE_TRI_PARTITIONED_INVERSE;
    plan->info.bytes += d->part.entries * (4 + (int64_t)size) + (n + 1) * 16 + d->form.nnz * (4 + (int64_t)size) +
                        gather_form_place_bytes(&d->form) + n * (8 + 4 + 8 + 1 + 16 + (int64_t)size * (1 + d->threads));
done:
    return status;
}

static void release(trine_triangular plan, struct triangular_side *side)
{
    trine_context ctx = plan->base.ctx;
    struct partitioned_side *d = side->part;
    gather_form_free(ctx, &d->form);
    partition_free(ctx, &d->part);
    void *const owned[] = {d->values, d->factors,  d->pivots, d->sums, d->substituted,
                           d->sizes,  d->inverses, d->found,  d};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) trine_free(ctx, TRINE_HOST, owned[k]);
    side->part = NULL;
}

static trine_status numeric(trine_triangular plan, trine_space space, const void *values, void *stream)
{
    (void)space, (void)stream;
    static void (*const invert[])(trine_context, struct partitioned_side *, const void *) = TABLE(invert);
    plan->info.growth = 0;
    plan->info.substituted_rows = 0;
    for (int s = 0; s < SIDES; s++) {
        const struct partitioned_side *d = plan->side[s].part;
        if (!d) continue;
        invert[plan->base.dtype](plan->base.ctx, plan->side[s].part, values);
        for (int i = 0; i < d->threads; i++) {
            if (d->found[i].most > plan->info.growth) plan->info.growth = d->found[i].most;
            plan->info.substituted_rows += (int32_t)d->found[i].substituted;
        }
    }
    return TRINE_SUCCESS;
}

static trine_status bad_row(trine_triangular plan, void *stream, int64_t *row)
{
    /* both have the same pivots */
    const struct partitioned_side *d = plan->side[plan->side[SIDE_N].part ? SIDE_N : SIDE_T].part;
    (void)stream;
    *row = d->bad_row;
    return TRINE_SUCCESS;
}

/** alpha B by rows: a group's rows read it after some of them have been overwritten, if B is X. For refinement the
 *  residual and the correction besides; refinement that check has decided on takes fewer right-hand sides at a time. */
static size_t work_bytes(trine_triangular plan, int64_t nrhs)
{
    const int64_t vectors = nrhs * (plan->options.partition.refine ? REFINED : 1);
    return (size_t)(plan->base.n * (vectors > REFINED ? vectors : REFINED)) * trine_dtype_size(plan->base.dtype);
}

static trine_status memory(trine_triangular plan, const struct triangular_extent *e, struct triangular_bytes *host,
                           struct triangular_bytes *device, int64_t *work)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t size = (int64_t)trine_dtype_size(plan->base.dtype),
                  threads = trine_threads_with_cores(plan->base.ctx);
    int64_t entries;
    (void)device;
    TRY(partition_most_entries(plan, e->n, e->nnz, 0, &entries));
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        bytes_add(host, sizeof(struct partitioned_side), 0);
        partition_memory(plan, e, entries, host);
        bytes_add(host, partition_full(e->n, entries) * size + e->nnz * size + e->n * (size * (1 + threads) + 17), 0);
        bytes_add(host, threads * (int64_t)sizeof(struct growth_found), 0);
    }
    *work = (int64_t)work_bytes(plan, plan->options.max_nrhs);
done:
    return status;
}

static trine_status solve(trine_triangular plan, const struct triangular_solve *s)
{
    static void (*const run[])(trine_triangular, const struct triangular_solve *) = TABLE(solve);
    run[plan->base.dtype](plan, s);
    return TRINE_SUCCESS;
}

static trine_status probe(trine_triangular plan, void *stream, double *error)
{
    static void (*const run[])(trine_triangular, const struct triangular_solve *, bool, int, double *) = TABLE(probe);
    trine_status status = TRINE_SUCCESS;
    const double eps = trine_dtype_eps(plan->base.dtype);
    const size_t size = trine_dtype_size(plan->base.dtype);
    struct triangular_work work = {0};
    void *X = NULL;
    (void)stream;
    *error = 0;
    TRY((X = trine_host_alloc(plan->base.ctx, plan->base.n, size)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    work.base.buffer = trine_host_alloc(plan->base.ctx, 2 * plan->base.n, size);
    TRY(work.base.buffer ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    for (int s = 0; s < SIDES; s++) {
        const struct triangular_solve a = {.side = s,
                                           .part = plan->side[s].part,
                                           .X = X,
                                           .nrhs = 1,
                                           .b_row = 1,
                                           .b_col = 1,
                                           .x_row = 1,
                                           .x_col = 1,
                                           .work = &work};
        if (!a.part) continue;
        for (int by_solution = 0; by_solution < 2; by_solution++) {
            struct partition_trials trials = {0};
            double found = 0;
            do run[plan->base.dtype](plan, &a, by_solution, trials.count, &found);
            while (partition_add_trial(&trials, found, eps));
            if (partition_median_of_trials(&trials) > *error) *error = partition_median_of_trials(&trials);
        }
    }
done:
    trine_free(plan->base.ctx, TRINE_HOST, X);
    trine_free(plan->base.ctx, TRINE_HOST, work.base.buffer);
    return status;
}

const struct triangular_backend triangular_partitioned = {cpu_read_pattern,
                                                          analyse_side,
                                                          cpu_drop_pattern,
                                                          release,
                                                          numeric,
                                                          bad_row,
                                                          work_bytes,
                                                          memory,
                                                          NULL,
                                                          solve,
                                                          false,
                                                          probe};
