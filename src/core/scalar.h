/* What host templates stand on: complex numbers, and the table of one function's four precisions. */
#ifndef TRINE_SCALAR_H
#define TRINE_SCALAR_H

#include <complex.h>
#include <math.h>
#include <trine/core.h>

#undef I /* of <complex.h>; short names belong to the code */

/** static const solve_fn solve[] = TABLE(solve_serial); solve[dtype](...) */
#define TABLE(name) {[TRINE_S] = name##_s, [TRINE_D] = name##_d, [TRINE_C] = name##_c, [TRINE_Z] = name##_z}

#endif
