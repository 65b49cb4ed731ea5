/* Solves on the CPU: a solution that is not finite where everything given is. */
#ifndef TRINE_TRIDIAGONAL_COMMON_FINITE_H
#define TRINE_TRIDIAGONAL_COMMON_FINITE_H

#include "tridiagonal/common/banded_system.h"

/** Are the entries of A that a solve reads? */
bool finite_matrix(trine_context ctx, const banded_system *s);
/** Before the solve of a system with D and X in place. Whether all of D is finite; true where D stays, which can be
 *  looked at afterwards. */
bool finite_before(trine_context ctx, const banded_system *s);
/** After it. TRINE_ERR_SINGULAR with the first unknown that is not finite, of a right-hand side that was, as the matrix
 *  is; a system without bands has one that is. Where D was overwritten (was_finite: as found before), all right-hand
 *  sides count as one. */
trine_status finite_after(trine_context ctx, const banded_system *s, bool was_finite);

#endif
