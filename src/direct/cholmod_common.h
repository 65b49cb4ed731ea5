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

/** Whether the first columns of a simplicial factor of long indices follow each other without gaps. */
static inline bool cholmod_is_packed(const cholmod_factor *L, size_t columns)
{
    const int64_t *p = L->p, *nz = L->nz;
    bool packed = p[0] == 0;
    for (size_t j = 0; j < columns; j++) packed = packed && p[j] + nz[j] == p[j + 1];
    return packed;
}

/** F->triangles of a simplicial factor: L by columns and, of an LDL^H, L with unit diagonal and U = D L^H by rows. own:
 *  it is not another program's, so that its columns are in order. */
trine_status cholmod_take_columns(trine_factor F, const cholmod_factor *L, bool own);

#endif
