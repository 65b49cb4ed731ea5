/* The first page of this module: a supernodal solve in thirty lines (reference.inc), for readers, and the oracle of
 * the tests. */
#include "core/test_interface.h"

#define TEMPLATE "supernodal/reference/reference.inc"
#include "core/each_dtype.h"
