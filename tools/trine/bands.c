/* Tridiagonal and banded solves, on the CPU and on the GPU. */
#include <stdio.h>

#include "solvers.h"

/** Plan and values. Of a singular matrix the banded solve on the CPU says so itself; the others take any pivot, and so it is asked beforehand. */
static trine_status set_up(const struct problem *p, trine_bands bands, trine_tridiagonal *plan, struct outcome *o, trine_tridiagonal_info *info)
{
    trine_status status = TRINE_SUCCESS;
    const trine_tridiagonal_options options = {.bands = bands, .max_nrhs = p->nrhs};
    TRY(trine_tridiagonal_analyse(p->ctx, plan, p->A, &options));
    TRY(trine_tridiagonal_numeric(*plan, TRINE_HOST, NULL, NULL));
    TRY(trine_tridiagonal_get_info(*plan, info));
    o->numeric_seconds = info->analyse_seconds + info->numeric_seconds;
    if (bands == TRINE_BANDS_TRIDIAGONAL || p->on_gpu) TRY(trine_tridiagonal_check(*plan, NULL));
done:
    return status;
}

static trine_status tridiagonal_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_tridiagonal plan = NULL;
    trine_tridiagonal_info info;
    const trine_status status = set_up(p, TRINE_BANDS_TRIDIAGONAL, &plan, o, &info);
    *state = plan;
    if (!status) snprintf(o->kernel, sizeof o->kernel, "partitioned, scaled partial pivoting%s", info.cyclic ? ", cyclic" : "");
    return status;
}

static trine_status banded_setup(const struct problem *p, void **state, struct outcome *o)
{
    trine_tridiagonal plan = NULL;
    trine_tridiagonal_info info;
    const trine_status status = set_up(p, TRINE_BANDS_GENERAL, &plan, o, &info);
    *state = plan;
    if (!status)
        snprintf(o->kernel, sizeof o->kernel, "%d bands below and %d above the diagonal, scaled partial pivoting%s", info.kl, info.ku, info.cyclic ? ", cyclic" : "");
    return status;
}

static trine_status band_solve(void *state, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    return trine_tridiagonal_solve(state, op, NULL, B, X, NULL);
}

static void band_destroy(void *state)
{
    trine_tridiagonal plan = state;
    trine_tridiagonal_destroy(&plan);
}

const struct solver tridiagonal_solver = {.setup = tridiagonal_setup, .solve = band_solve, .destroy = band_destroy};
const struct solver banded_solver = {.setup = banded_setup, .solve = band_solve, .destroy = band_destroy};
