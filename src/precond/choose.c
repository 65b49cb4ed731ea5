/* Which method a matrix gets that nobody has chosen one for. */
#include "precond/paths.h"

trine_status precond_choose(trine_matrix A, trine_precond_options *options, const char **reason)
{
    (void)A;
    options->method = TRINE_PRECOND_ALT_I;
    *reason = "alternating splittings are good for most";
    return TRINE_SUCCESS;
}
