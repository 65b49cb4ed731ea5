/* The tridiagonal solve as a textbook has it: the first thing to read here. All else in this module solves the same
 * systems in parallel. Tests compare with it (core/test_interface.h); nothing in the library calls it. */
#include <string.h>

#include "core/test_interface.h"

#define TEMPLATE "tridiagonal/reference/solve.inc"
#include "core/each_dtype.h"
