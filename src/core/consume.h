/* Values whose memory goes back to the system while a plan on a CPU copies them, so that both are not there at once.
 * Part of the private interface of libtrine_direct (direct_interface.h). */
#ifndef TRINE_CORE_CONSUME_H
#define TRINE_CORE_CONSUME_H

#include <stdbool.h>
#include <stddef.h>
#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Nobody needs what these bytes of host memory hold: whole pages of them go back to the system. Their contents are
 *  undefined until they are written again. */
TRINE_API void trine_give_back(const void *p, size_t bytes);
/** on: nobody needs the values that this thread gives to numeric of triangular and supernodal plans afterwards, and
 *  those on a CPU may give them back as they go. */
TRINE_API void trine_let_values_go(bool on);
/** What was said last in this thread. */
bool trine_values_may_go(void);

#ifdef __cplusplus
}
#endif
#endif
