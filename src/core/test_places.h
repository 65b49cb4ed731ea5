/* For the tests, exported as core/test_interface.h says. */
#ifndef TRINE_CORE_TEST_PLACES_H
#define TRINE_CORE_TEST_PLACES_H

#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Large triangles on small ones: plans on a CPU keep the places of values in 64 bits where T has more entries than
 *  this; 0: than 2^32. Not beside an analysis. */
TRINE_API void trine_triangular_narrow(int64_t entries);

#ifdef __cplusplus
}
#endif
#endif
