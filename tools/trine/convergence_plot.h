/* A convergence plot: norms against steps, logarithmic. */
#ifndef TRINE_CONVERGENCE_PLOT_H
#define TRINE_CONVERGENCE_PLOT_H

#include "command.h"

/** An SVG picture of residuals[0] to residuals[count - 1], relative to b, and of errors (NULL: none). target: a line.
 *  TRINE_ERR_IO: the file cannot be written. */
trine_status write_convergence(const char *path, const char *title, int64_t count, const double *residuals,
                               const double *errors, double target);

#endif
