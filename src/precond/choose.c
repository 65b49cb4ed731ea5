/* Which method a matrix gets that nobody has chosen one for. On a CPU an incomplete factorization, whose set-up is one
 * pass over A and whose triangles are read once a step (bench/results, suite precond), if A's diagonal allows it; else,
 * and on a GPU, a splitting, by what share of the sum of all |a_ij| lies on the diagonal, and along the paths of one
 * forest. */
#include <string.h>

#include "precond/common/rows.h"
#include "precond/paths.h"

enum { FACTORS = 4, FEW_FACTORS = 2 };
/** Shares from which the diagonal is enough, from which one forest is, and below which the adaptive construction does
 *  better than A's own entries (Klein 2024, Section 5.3.3, has the last). */
static const double MOST = 0.8, NEARLY_ALL = 0.98, DOMINANT = 0.48;
/** Entries a row up to which one level of fill is worth its time: those of a 5-point grid. */
static const double FEW_ENTRIES = 6;

/** Whether no entry of the diagonal is missing or zero. */
static bool has_diagonal(trine_precond p)
{
    static const char zeros[16];
    const size_t size = trine_dtype_size(p->base.dtype);
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->diagonal[i] < 0 || !memcmp((const char *)p->values + (size_t)p->diagonal[i] * size, zeros, size))
            return false;
    return true;
}

/** Of diagp1(A)^-1 A, so that the scale of a row does not matter: what its diagonal has, and what the diagonal and, if
 *  that is asked for, one forest have. */
static trine_status measure(trine_precond p, double *diagonal, double *along)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const trine_dtype t = p->base.dtype;
    struct precond_rows rows = {p->base.n, p->offsets, p->columns, p->values};
    trine_forest forest = NULL;
    trine_forest_coverage coverage;
    double all;
    void *scaled = trine_host_alloc(ctx, p->nnz, trine_dtype_size(t)),
         *T = trine_host_alloc(ctx, p->base.n, trine_dtype_size(t));
    if (!scaled || !T) status = TRINE_ERR_MEMORY;
    if (status) goto done;
    precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP1, T, ctx->threads);
    precond_cpu.scale[t](&rows, T, NULL, scaled, ctx->threads);
    rows.values = scaled;
    precond_cpu.sums[t](&rows, diagonal, &all, ctx->threads);
    *diagonal /= all;
    if (!along) goto done;
    TRY(trine_forest_create(ctx, &forest, p->matrix, NULL));
    TRY(trine_forest_run(forest, TRINE_HOST, scaled, NULL, NULL));
    TRY(trine_forest_get_coverage(forest, TRINE_HOST, scaled, &coverage, NULL));
    *along = coverage.with_diagonal;
done:
    trine_forest_destroy(&forest);
    trine_free(ctx, TRINE_HOST, scaled);
    trine_free(ctx, TRINE_HOST, T);
    return status;
}

static void decide(trine_precond p, trine_precond_options *o, trine_precond_method method, int m, const char *reason)
{
    o->method = method;
    if (!o->m) o->m = m;
    p->info.reason = reason;
}

trine_status precond_choose(trine_precond p, trine_precond_options *options)
{
    trine_matrix_info given;
    const void *values;
    double diagonal, along;
    trine_matrix_get_info(p->given, &given);
    trine_matrix_get_arrays(p->given, NULL, NULL, &values);
    if (!values && p->nnz)
        return trine_fail(TRINE_ERR_STATE, "method auto looks at the values of the matrix, which has none");
    trine_status status = precond_take_values(p, given.space, values);
    if (status) return status;
    const bool factors = !p->base.ctx->cuda && has_diagonal(p);
    status = measure(p, &diagonal, factors ? NULL : &along);
    if (status) return status;
    if (!(diagonal < MOST)) decide(p, options, TRINE_PRECOND_DIAGP1, 0, "the diagonal has most of the matrix");
    else if (factors && (double)p->nnz <= FEW_ENTRIES * (double)p->base.n)
        decide(p, options, TRINE_PRECOND_ILUK, 0, "few entries a row, and pivots on the diagonal");
    else if (factors) decide(p, options, TRINE_PRECOND_ILU0, 0, "pivots on the diagonal");
    else if (along >= NEARLY_ALL)
        decide(p, options, TRINE_PRECOND_ALG_TRI, 0, "the diagonal and one forest have nearly all of the matrix");
    else if (diagonal < DOMINANT)
        decide(p, options, TRINE_PRECOND_MOS_A, FEW_FACTORS, "the diagonal has less than its rows' other entries");
    else decide(p, options, TRINE_PRECOND_ALT_I, FACTORS, "the diagonal has as much as its rows' other entries");
    options->fill_level = 1;
    options->homogeneous = 1; /* of MOS_A: rows may differ in size by any factor */
    return TRINE_SUCCESS;
}
