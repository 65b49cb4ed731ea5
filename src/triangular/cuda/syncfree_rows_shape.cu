/* How the synchronization-free solve by rows goes about a matrix, from its structure. The rules and the constants
 * are read off measurements on an H200: docs/notes/triangular-solves.md. */
#include <utility>

#include "triangular/common/costs.h"
#include "triangular/cuda/syncfree_rows.cuh"
#include "triangular/cuda/syncfree_rows.h"

namespace {

enum { ORDER_GIVEN = 1, ORDER_LEVELS = 2 };
constexpr double WAIT = 0.31; /* us from a row to one that waits for it, through L2 */
constexpr int64_t WIDE_LEVEL = 700, FAIR_LEVEL = 64;  /* rows on average: tasks are faster, from 17 and from 33
                                                         right-hand sides on */
constexpr int64_t FEW_ROWS = 32;                      /* of a level on average: there are warps to spare */
constexpr int64_t HUB_ROW = 1024, PART_OF_HUB = 128;  /* entries */
constexpr int64_t NARROW_LEVEL = 300;                 /* rows on average, at most, where chains are looked for */
constexpr int64_t MOST_RHS_OF_CHAINS = 8;
constexpr double FOLLOWERS = 0.45;                    /* of all rows, at least: chains run through registers */
constexpr int64_t NARROW_OF_MANY = 120;               /* the same with several right-hand sides, which leave fewer
                                                         rows in flight: */
constexpr double PATHS = 1.5;                         /* off-diagonal entries a row, at most: nearly all rows are on
                                                         paths */
constexpr int WARPS_OF_CHAINS = 16; /* a block, with several right-hand sides: more rows meet in it */
constexpr double NEAR = 1.15; /* times a wait a level: nothing is much better */
constexpr double LONG_SOLVE = 100; /* us: sorting all rows and a second search are looked at */

/** Blocks in flight. Sorted by level, rows wait for the level just before them, and long rows that wait early only
 *  poll; in the given order, dependencies are anywhere, and more rows in flight find more parallelism. */
int blocks_for_order(trine_triangular plan, int order, int lanes)
{
    const int sms = plan->base.ctx->info.multiprocessors;
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
    trine_free(plan->base.ctx, TRINE_DEVICE, (void *)s->chunks);
    s->chunks = chunks;
    return status;
}

/** Rows whose last entry belongs to a row of the same warp; where the rows of the first levels are. */
__global__ void __launch_bounds__(256)
    measure_levels(const device_triangle d, int rows_of_warp, const int32_t *levels, level_report *report)
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
trine_status find_levels(trine_triangular plan, const syncfree_csr_side *d, bool measured, void **state,
                         levels_found *found)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const row_shape search = d->one.chunks ? d->one : row_shape_for_search(plan, &d->base);
    TRY(trine_alloc(ctx, TRINE_DEVICE, (size_t)device_levels_bytes(plan->base.n), state));
    TRY(device_levels_search(plan, &d->base, &search, *state));
    if (measured) {
        measure_levels<<<device_blocks_for(plan, plan->base.n), 256, 0, (gpuStream_t)ctx->stream>>>(
            d->base, 32 / d->one.lanes, device_levels_of(*state), device_levels_report(*state));
        TRY(GPU_LAUNCHED("measuring the levels"));
    }
    TRY(device_levels_read(plan, *state, found));
done:
    return status;
}

/** Chains run through registers. Decided by the structure alone, since it changes the order of a sum. Rows then stay
 *  in the given order, in which those in flight need not be the next ones due: with several right-hand sides, of
 *  which a block has fewer rows, that costs more than chains bring unless levels are narrow or rows wait for one row
 *  each, as those of road networks do. */
bool has_chains(const syncfree_csr_side *d, int64_t n, const levels_found *found, bool several)
{
    if (d->one.lanes > MOST_CHAIN_LANES || n > NARROW_LEVEL * found->n_levels ||
        (double)found->followers < FOLLOWERS * (double)n)
        return false;
    return !several || n <= NARROW_OF_MANY * found->n_levels || (double)d->base.nnz <= PATHS * (double)n;
}

/** Several right-hand sides: tasks where levels are wide, or where a few rows are so long that many warps must share
 *  one. */
trine_status choose_tasks(trine_triangular plan, const struct triangular_side *side, syncfree_csr_side *d, int order)
{
    trine_status status = TRINE_SUCCESS;
    const bool wide = order == ORDER_LEVELS && plan->base.n / side->n_levels >= WIDE_LEVEL;
    const bool hubs = d->many.chunks;
    const bool fair =
        order == ORDER_LEVELS && plan->base.n / side->n_levels >= FAIR_LEVEL && !d->slim && plan->options.max_nrhs > 32;
    /* what is ready first comes first */
    const bool batches = order == ORDER_LEVELS && d->one.lanes > 2 && !d->long_rows;
    if (d->base.longest_row > 4 && (batches || wide || fair || hubs)) TRY(device_rows_sort(plan, &d->base));
    if (!wide && !fair && !hubs) return TRINE_SUCCESS;
    d->least_for_tasks = hubs ? 2 : wide ? 17 : 33;
    TRY(device_tasks_make(plan, &d->base, hubs ? PART_OF_HUB : INT32_MAX, &d->tasks));
    d->tasks.warps = plan->options.tune.warps_per_block && plan->options.tune.warps_per_block < 8
                         ? plan->options.tune.warps_per_block
                         : 8;
    d->tasks.blocks = d->many.blocks;
done:
    return status;
}

/** The order of rows, and what it has been chosen by. */
struct order_choice {
    int order; /* 0: not settled */
    levels_found given; /* in the given order */
    void *state; /* of the search that found them; NULL: there was none, or it has been given away */
};

/** Without a look at levels: what is asked for, and small groups of rows. */
trine_status begin_choice(trine_triangular plan, bool forward, syncfree_csr_side *d, order_choice *c)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_options *o = &plan->options;
    d->one.lanes = o->tune.lanes_per_row ? o->tune.lanes_per_row : row_shape_lanes(&d->base);
    d->one.warps = d->many.warps = o->tune.warps_per_block ? o->tune.warps_per_block : 8;
    d->one.blocks = blocks_for_order(plan, ORDER_GIVEN, d->one.lanes);
    d->many.lanes = 32;
    d->many.blocks = o->tune.blocks ? o->tune.blocks : 4 * plan->base.ctx->info.multiprocessors;
    TRY(cut_chunks(plan, &d->base, &d->one));
    c->order = o->tune.row_order;
    if (!c->order && o->max_nrhs == 1 && plan->base.n && d->base.reach < MOST_GROUP_ROWS) {
        TRY(row_groups_find(plan, &d->base, forward, &d->groups));
        if (d->groups.count) c->order = ORDER_GIVEN;
    }
    /* Several right-hand sides leave few rows in flight: those must be the next ones due, unless chains make up for
     * it. */
    if (!c->order && o->max_nrhs > MOST_RHS_OF_CHAINS) c->order = ORDER_LEVELS;
done:
    return status;
}

/** By the level sets in the given order: chains, few levels, all rows in flight. */
trine_status choose_by_levels(trine_triangular plan, bool forward, struct triangular_side *side, syncfree_csr_side *d,
                              order_choice *c)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_options *o = &plan->options;
    const int64_t n = plan->base.n;
    const bool measured = !c->order, in_flight = 2 * n <= d->one.blocks * row_shape_rows(&d->one);
    bool brief;
    TRY(find_levels(plan, d, measured, &c->state, &c->given));
    side->n_levels = c->given.n_levels;
    d->chains = measured && !d->one.chunks && has_chains(d, n, &c->given, o->max_nrhs > 1);
    if (d->chains) c->order = ORDER_GIVEN;
    if (d->chains && !o->tune.warps_per_block) d->many.warps = WARPS_OF_CHAINS;
    if (!c->order && o->max_nrhs > 1) c->order = ORDER_LEVELS;
    if (!c->order && side->n_levels <= FEW_LEVELS) {
        TRY(few_levels_make(plan, &d->base, &c->given, c->state, d->one.chunks, forward, &d->launches));
        c->state = nullptr;
        c->order = ORDER_GIVEN;
    }
    brief = c->given.microseconds < LONG_SOLVE || c->given.microseconds < NEAR * WAIT * (double)side->n_levels;
    if (!c->order && in_flight && brief) c->order = ORDER_GIVEN;
    if (!c->order && !d->one.chunks && !in_flight) c->order = ORDER_LEVELS;
done:
    return status;
}

/** Sort the rows by level, and keep that if it is settled or a second search is shorter by level. */
trine_status sort_by_level(trine_triangular plan, const struct triangular_side *side, syncfree_csr_side *d,
                           order_choice *c)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    device_triangle sorted = {};
    levels_found by_level = {};
    int64_t *const bounds = (int64_t *)trine_host_alloc(ctx, side->n_levels + 1, sizeof *bounds);
    row_shape shape = d->one;
    shape.chunks = nullptr;
    shape.blocks = blocks_for_order(plan, ORDER_LEVELS, shape.lanes);
    if (!bounds) FAIL(TRINE_ERR_MEMORY, "no memory for %lld levels", (long long)side->n_levels);
    TRY(device_triangle_sort(plan, &d->base, side->n_levels, device_levels_of(c->state), bounds, &sorted));
    TRY(cut_chunks(plan, &sorted, &shape));
    if (!c->order) {
        TRY(device_levels_search(plan, &sorted, &shape, c->state));
        TRY(device_levels_read(plan, c->state, &by_level));
        c->order = c->given.microseconds <= by_level.microseconds ? ORDER_GIVEN : ORDER_LEVELS;
        trine_log(ctx, 3, "triangular: %.0f us in the given order, %.0f us by level", c->given.microseconds,
                  by_level.microseconds);
    }
    if (c->order == ORDER_LEVELS) {
        std::swap(d->base, sorted);
        std::swap(d->one, shape);
        if (!d->one.chunks) row_steps_choose(plan, side->n_levels, bounds, d->one.lanes, &d->steps);
    }
done:
    device_triangle_release(plan, &sorted);
    trine_free(ctx, TRINE_DEVICE, (void *)shape.chunks);
    trine_free(ctx, TRINE_HOST, bounds);
    return status;
}

const char *reason_of(const syncfree_csr_side *d, int order)
{
    return d->groups.count         ? "small groups of rows that need nothing of each other"
           : d->launches.count     ? "few levels: no row waits inside a launch"
           : d->steps.count        ? "no barrier between levels, but for broad ones; rows by level"
           : order == ORDER_LEVELS ? "one launch, no barrier between levels; rows by level"
           : d->chains             ? "one launch, no barrier between levels; rows as given, chains in registers"
                                   : "one launch, no barrier between levels; rows as given";
}

} // namespace

/** Settle the order of rows, lanes, warps and blocks; sort the rows by level if so decided. They are sorted where
 *  not all rows can be in flight: those that are must be the next ones due. Where all can, the order matters little,
 *  and only where a solve is long a second search for level sets shows how long it takes by level. */
trine_status syncfree_csr_choose_shape(trine_triangular plan, bool forward, struct triangular_side *side,
                                       syncfree_csr_side *d)
{
    trine_status status = TRINE_SUCCESS;
    const trine_triangular_options *o = &plan->options;
    const int64_t n = plan->base.n;
    order_choice c = {};
    TRY(begin_choice(plan, forward, d, &c));
    if (c.order != ORDER_GIVEN && n) TRY(choose_by_levels(plan, forward, side, d, &c));
    if (c.order != ORDER_GIVEN && n) TRY(sort_by_level(plan, side, d, &c));
    d->long_rows = row_shape_lanes(&d->base) >= 16;
    d->slim = d->long_rows || (side->n_levels > 0 && n / side->n_levels < FEW_ROWS);
    d->many.n_chunks = (n + row_shape_rows(&d->many) - 1) / row_shape_rows(&d->many);
    if (o->max_nrhs > 1 && d->base.longest_row >= HUB_ROW) TRY(cut_chunks(plan, &d->base, &d->many));
    if (o->max_nrhs > 1 && n && !d->chains) TRY(choose_tasks(plan, side, d, c.order));
    if (side->n_levels > 0) side->seconds = costs_of_waiting(plan, d->chains, d->base.nnz + n, side->n_levels);
    if (plan->method == TRINE_TRI_AUTO) {
        plan->method = TRINE_TRI_SYNCFREE_CSR;
        plan->reason = reason_of(d, c.order);
    }
done:
    trine_free(plan->base.ctx, TRINE_DEVICE, c.state);
    return status;
}
