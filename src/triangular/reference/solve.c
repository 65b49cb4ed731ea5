/* The triangular solve, by definition: op(T) x = b, row after row. Read this first; all else in this module computes
 * the same, faster. */
#include "core/test_interface.h"

#define TEMPLATE "triangular/reference/solve.inc"
#include "core/each_dtype.h"
