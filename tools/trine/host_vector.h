/* Host vectors of any precision, value by value: solutions known beforehand, b = A s, and how far from them a solve
 * ended. */
#ifndef TRINE_HOST_VECTOR_H
#define TRINE_HOST_VECTOR_H

#include <trine/trine.h>

/** Value i, as double complex parts. */
void get_value(trine_dtype t, const void *x, int64_t i, double *re, double *im);
void set_value(trine_dtype t, void *x, int64_t i, double re, double im);

/** Where right-hand sides come from: a file, or the solution s given by its values. */
enum rhs { RHS_FILE, RHS_ONES, RHS_SIN, RHS_THESIS, RHS_RANDOM };

/** s_i = 1, sin(i) with i from 1, sin(2 pi 8 i / n) with i from 0 (Klein 2024, 5.3.2), or uniform in (-1,1)
 *  (complex: both parts), the same in every run. */
void known_solution(enum rhs kind, trine_dtype t, int64_t n, void *s);
/** First value that is NaN or Inf; -1 if none is. */
int64_t first_not_finite(trine_dtype t, const void *x, int64_t count);
/** max |x - s| / max |s| */
double solution_error(trine_dtype t, const void *x, const void *s, int64_t n);

#endif
