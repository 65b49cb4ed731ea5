/* CHOLMOD's settings, as every use of it here starts. */
#ifndef TRINE_DIRECT_CHOLMOD_COMMON_H
#define TRINE_DIRECT_CHOLMOD_COMMON_H

#include <cholmod.h>

#include "direct/direct.h"

/** Start CHOLMOD so that it never prints; failures are read from common->status. */
static inline void cholmod_quiet_start(cholmod_common *common)
{
    cholmod_l_start(common);
    common->print = 0;
    common->error_handler = NULL;
}

static inline trine_ordering cholmod_ordering(const cholmod_factor *L, trine_ordering otherwise)
{
    switch (L->ordering) {
    case CHOLMOD_METIS: return TRINE_ORDERING_METIS;
    case CHOLMOD_AMD: return TRINE_ORDERING_AMD;
    default: return otherwise;
    }
}

/** F->triangles of a simplicial factor: L by columns and, of an LDL^H, L with unit diagonal and U = D L^H by rows. own:
 *  it is not another program's, so that its columns are in order. */
trine_status cholmod_take_columns(trine_factor F, const cholmod_factor *L, bool own);

#endif
