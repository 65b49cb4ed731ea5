/* What the tests of preconditioners share: GMRES, dense matrices in long double. */
#ifndef TRINE_PRECOND_SUPPORT_H
#define TRINE_PRECOND_SUPPORT_H

#include "elements.h"
#include "harness.h"

/** Iterations of GMRES(20) with right preconditioning in double precision until ||b - A x|| <= 1e-6 ||b||, from x = 0,
 *  with b = A x*, x*_i = sin(2 pi 8 i / N) (Klein 2024, Section 5.3.2). parts > 0: FGMRES, step k takes part k mod
 *  parts, and the cycle runs on across restarts. -1: not within `most`. */
int64_t test_gmres(trine_matrix A, trine_precond p, int parts, int64_t most);

/** A chain of 200 rows (double), whose first row has entries in all columns. */
trine_matrix test_long_row(trine_context ctx);

#endif
