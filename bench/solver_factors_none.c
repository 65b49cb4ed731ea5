/* CHOLMOD and SuperLU as peers, in a build without their headers. */
#include "bench.h"

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    (void)b, (void)p, (void)method, (void)self;
    return trine_fail(TRINE_ERR_NOT_BUILT, "built without CHOLMOD and SuperLU");
}

const bench_setup bench_setup_cholmod = {.impl = "cholmod", .create = create},
                  bench_setup_superlu = {.impl = "superlu", .create = create};
