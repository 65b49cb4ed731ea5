/* Values, diagonals, patterns, and solves along paths; the table of the CPU. */
#include <float.h>
#include <omp.h>
#include <stdlib.h>

#include "core/scalar.h"
#include "precond/cpu/cpu.h"

enum { PARALLEL_FROM = 2000 }; /* rows that are worth a second thread */

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

#define TEMPLATE "precond/cpu/diagonal.inc"
#include "core/each_dtype.h"
#define TEMPLATE "precond/cpu/paths.inc"
#include "core/each_dtype.h"
#define REAL_EPS (sizeof(R) == sizeof(float) ? (R)FLT_EPSILON : (R)DBL_EPSILON)
#define TEMPLATE "precond/cpu/adapt.inc"
#include "core/each_dtype.h"

const struct precond_backend precond_cpu = {.gather = TABLE(gather),
                                            .diagonal = TABLE(diagonal),
                                            .sums = TABLE(sums),
                                            .scale = TABLE(scale),
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
