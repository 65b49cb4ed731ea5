/* CHOLMOD's settings, as every use of it here starts. */
#ifndef TRINE_DIRECT_CHOLMOD_COMMON_H
#define TRINE_DIRECT_CHOLMOD_COMMON_H

#include <cholmod.h>

/** Start CHOLMOD so that it never prints; failures are read from common->status. */
static inline void cholmod_quiet_start(cholmod_common *common)
{
    cholmod_l_start(common);
    common->print = 0;
    common->error_handler = NULL;
}

#endif
