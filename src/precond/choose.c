/* Which method a matrix gets that nobody has chosen one for: by what share of the sum of all |a_ij| lies on the
 * diagonal, and along the paths of one forest. */
#include "precond/common/rows.h"
#include "precond/paths.h"

enum { FACTORS = 4, FEW_FACTORS = 2 };
/** Shares from which the diagonal is enough, from which one forest is, and below which the adaptive construction does
 *  better than A's own entries (Klein 2024, Section 5.3.3, has the last). */
static const double MOST = 0.8, NEARLY_ALL = 0.98, DOMINANT = 0.48;

/** Of the diagonal and one forest of A's strong edges. */
static trine_status measure_forest(trine_precond p, double *share)
{
    trine_status status = TRINE_SUCCESS;
    trine_forest forest = NULL;
    trine_forest_coverage coverage;
    TRY(trine_forest_create(p->base.ctx, &forest, p->matrix, NULL));
    TRY(trine_forest_run(forest, TRINE_HOST, p->values, NULL, NULL));
    TRY(trine_forest_get_coverage(forest, TRINE_HOST, p->values, &coverage, NULL));
    *share = coverage.with_diagonal;
done:
    trine_forest_destroy(&forest);
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
    double along;
    trine_matrix_get_info(p->given, &given);
    trine_matrix_get_arrays(p->given, NULL, NULL, &values);
    if (!values && p->nnz)
        return trine_fail(TRINE_ERR_STATE, "method auto looks at the values of the matrix, which has none");
    trine_status status = precond_take_values(p, given.space, values);
    if (status) return status;
    const double diagonal = precond_diagonal_coverage(p);
    status = measure_forest(p, &along);
    if (status) return status;
    if (!(diagonal < MOST)) decide(p, options, TRINE_PRECOND_DIAGP1, 0, "the diagonal has most of the matrix");
    else if (along >= NEARLY_ALL)
        decide(p, options, TRINE_PRECOND_ALG_TRI, 0, "the diagonal and one forest have nearly all of the matrix");
    else if (diagonal < DOMINANT)
        decide(p, options, TRINE_PRECOND_MOS_A, FEW_FACTORS, "the diagonal has less than its rows' other entries");
    else decide(p, options, TRINE_PRECOND_ALT_I, FACTORS, "the diagonal has as much as its rows' other entries");
    return TRINE_SUCCESS;
}
