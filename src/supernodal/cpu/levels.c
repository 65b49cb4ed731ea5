/* The level-by-level variants on CPU threads (Yamazaki et al. 2020, Sections 4.1 to 4.3 and 5.1). common/levels.c
 * lists for every stage of a level what is to be done, a launch of the GPU; here the threads of a team deal a
 * launch's slices out among themselves and meet after each stage. */
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "supernodal/cpu/backend.h"

enum {
    ROWS = 16,         /* of a diagonal block that are multiplied together, zeros above the diagonal included */
    LINES_AT_ONCE = 64 /* that one thread collects */
};
#define TEAM_BARRIER(team) do { if ((team) > 1) { _Pragma("omp barrier") } } while (0)

typedef struct panel_kernels panel_kernels;

/** A panel, where its values and rows are. */
typedef struct {
    const void *values;
    const int32_t *rows;
    int64_t ld, width, height, first;
} cpu_panel;

static inline cpu_panel panel_of(trine_supernodal plan, int64_t s, size_t element)
{
    const supernodal_panel *p = &plan->S.panels[s];
    return (cpu_panel){(const char *)plan->values + (size_t)p->values * element,
                       plan->S.rows + p->rows,
                       p->ld,
                       p->width,
                       p->height,
                       p->first};
}

/** A thread's own room: the rows of the highest panel, and what is multiplied together. */
static inline int64_t thread_rows(const supernodal_structure *S) { return S->max_height + ROWS; }

/** Where part `me` of `team` of a level's lines begins, by entries. */
static int64_t share_of_lines(const cpu_direction *d, const supernodal_launch *l, int me, int team)
{
    const int64_t begin = d->line_start[l->first], end = d->line_start[l->first + l->count],
                  entry = begin + (end - begin) * me / team;
    int64_t low = l->first, high = l->first + l->count;
    if (me == team) return high;
    while (me && low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (d->line_start[middle] < entry) low = middle + 1;
        else high = middle;
    }
    return low;
}

#define TEMPLATE "supernodal/cpu/levels.inc"
#include "core/each_dtype.h"

static trine_status build_lines(trine_supernodal plan, bool forward, cpu_direction *d)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    TRY(supernodal_lines_build(&plan->S, forward, plan->invert, &d->lines));
    TRY(ALLOC(ctx, d->line_start, d->lines.n_lines + 1));
    TRY(ALLOC(ctx, d->line_index, plan->S.nnz_merged));
    TRY(trine_alloc(ctx, TRINE_HOST, (size_t)plan->S.nnz_merged * trine_dtype_size(plan->dtype), &d->line_values));
    plan->bytes += (d->lines.n_lines + 1) * (int64_t)sizeof(int64_t) +
                   plan->S.nnz_merged * (int64_t)(sizeof(int32_t) + trine_dtype_size(plan->dtype));
done:
    return status;
}

trine_status levels_cpu_build(trine_supernodal plan)
{
    trine_status status = TRINE_SUCCESS;
    cpu_part *part = plan->device;
    const trine_supernodal_options *o = &plan->options;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const bool forward = direction == FORWARD,
                   pull = o->access == TRINE_ACCESS_AUTO ? !forward : o->access == TRINE_ACCESS_PULL;
        if (o->variant == TRINE_VARIANT_SPMV) TRY(build_lines(plan, forward, &part->directions[direction]));
        else
            TRY(supernodal_levels_build(&plan->S, forward, pull, plan->invert,
                                        o->variant == TRINE_VARIANT_TEAM ? o->threshold : 0,
                                        &part->directions[direction].steps));
    }
    if (o->variant != TRINE_VARIANT_SPMV)
        TRY(supernodal_segments_build(&plan->S, &part->segment_start, &part->segments));
done:
    return status;
}

void levels_cpu_free(trine_supernodal plan)
{
    cpu_part *part = plan->device;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        cpu_direction *d = &part->directions[direction];
        supernodal_levels_free(plan->base.ctx, &d->steps);
        supernodal_lines_free(plan->base.ctx, &d->lines);
        trine_free(plan->base.ctx, TRINE_HOST, d->line_start);
        trine_free(plan->base.ctx, TRINE_HOST, d->line_index);
        trine_free(plan->base.ctx, TRINE_HOST, d->line_values);
    }
    trine_free(plan->base.ctx, TRINE_HOST, part->segment_start);
    trine_free(plan->base.ctx, TRINE_HOST, part->segments);
}

void levels_cpu_numeric(trine_supernodal plan)
{
    static void (*const collect_lines[])(trine_supernodal, int) = TABLE(collect_lines);
    for (int direction = 0; direction < DIRECTIONS; direction++) collect_lines[plan->dtype](plan, direction);
}

int64_t levels_cpu_rows(trine_supernodal plan)
{
    return 2 * plan->S.n + ((const cpu_part *)plan->device)->threads * thread_rows(&plan->S);
}

void levels_cpu_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                      const trine_dense *X, void *buffer)
{
    static void (*const solve[])(trine_supernodal, trine_transpose, const void *, const trine_dense *,
                                 const trine_dense *, void *) = TABLE(solve);
    solve[plan->dtype](plan, op, alpha, B, X, buffer);
}
