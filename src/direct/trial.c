/* A trial solve with a factor's triangles, on the host: what backward error they give, and how many steps of iterative
 * refinement it takes to make it small. Factorizations that hold on to pivots for the sake of sparsity, or do not pivot
 * at all, are believed no sooner. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "direct/direct.h"

/* The largest of many residuals is much the same for every right-hand side; that of a few is not. */
enum { most_steps = 3, few_rows = 500, trials_of_few_rows = 4 };
/* In eps: what the paper calls stable. */
static const double small_error = 10;
/* The same with pivots down to KLU's own tolerance: other right-hand sides may leave more. */
static const double small_pivots_error = 3;
/* Not in eps: what stays above, refined, is no solution, whatever factorization was asked for. */
static const double most_error = 1e-10;

#define TEMPLATE "direct/trial.inc"
#include "core/each_dtype.h"
static trine_status (*const try_triangles[])(trine_factor, const struct factor_input *) = TABLE(try_triangles);

trine_status factor_try(trine_factor F)
{
    const struct factor_input in = factor_get_input(F);
    const trine_status status = try_triangles[F->dtype](F, &in);
    if (!status)
        trine_log(F->ctx, 2, "%s: a trial solve has a backward error of %.3g eps after %d steps of refinement",
                  trine_direct_method_name(F->method), F->trial_error, F->refine);
    return status;
}

unsigned factor_trial_ops(trine_factor F)
{
    if (factor_is_symmetric(F->method)) return TRINE_N; /* A^T = A, or conj(A) */
    return (F->ops & TRINE_N) | (F->ops & (TRINE_T | TRINE_H) ? TRINE_T : 0u);
}

bool factor_is_accurate(trine_factor F) { return F->trial_error <= small_error; }

bool factor_is_usable(trine_factor F) { return F->trial_error * trine_dtype_eps(TRINE_D) <= most_error; }
