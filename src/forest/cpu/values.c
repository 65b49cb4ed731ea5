/* What is done with values of A: weights, bands, blocks, sums. */
#include <string.h>

#include "core/scalar.h"
#include "forest/common/blocks.h"
#include "forest/common/rounds.h"
#include "forest/cpu/cpu.h"

/** Values and what is made of them. */
struct job {
    trine_forest f;
    const void *values;
    void *const *bands;
    int32_t *permutation;            /* of blocks */
    double omega;
};

/** The row, if it is lower than what is there. */
static void note_bad_row(int64_t *bad, int64_t v)
{
    int64_t seen = __atomic_load_n(bad, __ATOMIC_RELAXED);
    while (v < seen && !__atomic_compare_exchange_n(bad, &seen, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

#define TEMPLATE "forest/cpu/values.inc"
#include "core/each_dtype.h"

static trine_status run(const trine_team_range *ranges, const struct job *job)
{
    forest_for(job->f, ranges[job->f->dtype], (void *)job);
    return TRINE_SUCCESS;
}

trine_status forest_cpu_set_weights(trine_forest f, const void *values, void *stream)
{
    static const trine_team_range ranges[] = TABLE(weigh), scales[] = TABLE(measure);
    (void)stream;
    if (f->options.normalized) run(scales, &(struct job){.f = f, .values = values});
    f->counts->bad_row = INT64_MAX;
    f->counts->has_candidates = 0;
    return run(ranges, &(struct job){.f = f, .values = values});
}

trine_status forest_cpu_scale(trine_forest f, double omega, void *stream)
{
    static const trine_team_range ranges[] = TABLE(scale);
    (void)stream;
    if (omega != 0) f->counts->has_candidates = 0;
    return run(ranges, &(struct job){.f = f, .omega = omega});
}

trine_status forest_cpu_extract(trine_forest f, const void *values, void *const bands[3], const double *omega,
                                void *stream)
{
    static const trine_team_range ranges[] = TABLE(extract);
    run(ranges, &(struct job){.f = f, .values = values, .bands = bands});
    return omega ? forest_cpu_scale(f, *omega, stream) : TRINE_SUCCESS;
}

trine_status forest_cpu_extract_blocks(trine_forest f, const void *values, void *const bands[3], int32_t *permutation,
                                       void *stream)
{
    static const trine_team_range ranges[] = TABLE(extract_blocks);
    (void)stream;
    return run(ranges, &(struct job){.f = f, .values = values, .bands = bands, .permutation = permutation});
}

trine_status forest_cpu_add_up(trine_forest f, const void *values, double *sums, void *stream)
{
    static const trine_team_range ranges[] = TABLE(add_up);
    const int64_t chunks = (f->graph.n + FOREST_GRAIN - 1) / FOREST_GRAIN;
    (void)stream;
    run(ranges, &(struct job){.f = f, .values = values});
    memset(sums, 0, FOREST_SUMS * sizeof *sums);
    for (int64_t c = 0; c < chunks; c++)
        for (int s = 0; s < FOREST_SUMS; s++) sums[s] += f->sums[c * FOREST_SUMS + s];
    return TRINE_SUCCESS;
}
