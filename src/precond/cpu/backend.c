/* Values, diagonals, patterns, and solves along paths; the table of the CPU. */
#include <float.h>
#include <omp.h>
#include <stdlib.h>

#include "core/scalar.h"
#include "core/team.h"
#include "precond/cpu/cpu.h"

/** Rows that are worth a second thread, and one that has to be woken; rows at a time. */
enum { PARALLEL_FROM = 2000, WAKING_FROM = 20000, GRAIN = 4096 };

/** range(job, ...) for chunks of [0, count), of work on n rows. */
static void share(trine_context ctx, int64_t n, int64_t count, int64_t grain, trine_team_range range, void *job)
{
    const int threads = trine_threads_with_cores(ctx);
    if (n < PARALLEL_FROM) range(job, 0, count, 0);
    else if (n < WAKING_FROM) trine_team_for_short(ctx, threads, count, grain, range, job);
    else trine_team_for(ctx, threads, count, grain, range, job);
}

/** Keep the least of rows that several threads note; -1: none. */
static void note_first(int64_t *first, int64_t row)
{
    int64_t seen = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (row >= 0 && (seen < 0 || row < seen) &&
           !__atomic_compare_exchange_n(first, &seen, row, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/** The path of a position in path order. */
static int64_t path_at(const struct precond_factor *f, int64_t at)
{
    int64_t low = 0, high = f->paths;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (f->starts[middle] <= at) low = middle;
        else high = middle;
    }
    return low;
}

/** The first path that begins at position `at` or after it. */
static int64_t path_from(const struct precond_factor *f, int64_t at)
{
    if (!f->paths) return 0;
    const int64_t k = path_at(f, at);
    return k + (f->starts[k] < at);
}

#define REAL_EPS (sizeof(R) == sizeof(float) ? (R)FLT_EPSILON : (R)DBL_EPSILON)
#define TEMPLATE "precond/cpu/diagonal.inc"
#include "core/each_dtype.h"
#define TEMPLATE "precond/cpu/paths.inc"
#include "core/each_dtype.h"

const struct precond_backend precond_cpu = {.gather = TABLE(gather),
                                            .diagonal = TABLE(diagonal),
                                            .sums = TABLE(sums),
                                            .scale = TABLE(scale),
                                            .drop_rounding = TABLE(drop_rounding),
                                            .sweep = TABLE(sweep),
                                            .outside = TABLE(outside),
                                            .nearest = TABLE(nearest),
                                            .select = TABLE(select),
                                            .divide = TABLE(divide),
                                            .multiply = TABLE(multiply),
                                            .extract = TABLE(extract),
                                            .direct = TABLE(direct),
                                            .fold = TABLE(fold),
                                            .eliminate = TABLE(eliminate),
                                            .solve = TABLE(solve),
                                            .remainder = TABLE(remainder),
                                            .generate = TABLE(generate),
                                            .adapt = TABLE(adapt),
                                            .compact = TABLE(compact),
                                            .pick = TABLE(pick),
                                            .place = TABLE(place)};
