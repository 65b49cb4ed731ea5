/* A as sorted compressed rows of the plan's own. */
#ifndef TRINE_PRECOND_COMMON_ROWS_H
#define TRINE_PRECOND_COMMON_ROWS_H

#include "precond/precond.h"

/** p->offsets to p->matrix from A's pattern. TRINE_ERR_STRUCTURE: not square, no rows that fit, duplicates. */
trine_status precond_take_pattern(trine_precond p, trine_matrix A);
/** p->values from values in A's order; notes the first row with NaN or Inf. */
trine_status precond_take_values(trine_precond p, trine_space space, const void *values);
/** Where the entry (i,j) stands, -1: nowhere. */
int64_t precond_find(const struct trine_precond_s *p, int64_t i, int32_t j);
/** For each entry of A whether the matrix of options.pattern_matrix has it. */
trine_status precond_read_given_pattern(trine_precond p, uint8_t *kept);

#endif
