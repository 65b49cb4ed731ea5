/* CHOLMOD's settings, as every use of it here starts. */
#ifndef TRINE_DIRECT_CHOLMOD_COMMON_H
#define TRINE_DIRECT_CHOLMOD_COMMON_H

#include <cholmod.h>

#include "direct/direct.h"

/* CHOLMOD's functions, of 64-bit indices where these are needed: half as long ones take less time and memory. */
#define CHOLMOD(wide, function, ...) ((wide) ? cholmod_l_##function(__VA_ARGS__) : cholmod_##function(__VA_ARGS__))

/** Entries of A or of L, from which on indices are wide; orderings take room for several times those of A. */
static const double CHOLMOD_WIDE_MATRIX = 1 << 28, CHOLMOD_WIDE_FACTOR = 1e9;

/** Start CHOLMOD so that it never prints; failures are read from common->status. */
static inline void cholmod_quiet_start(bool wide, cholmod_common *common)
{
    CHOLMOD(wide, start, common);
    common->print = 0;
    common->error_handler = NULL;
}

/** Element k of an array of CHOLMOD's. */
static inline int64_t cholmod_at(const void *array, bool wide, int64_t k)
{
    return wide ? ((const int64_t *)array)[k] : ((const int *)array)[k];
}

/** CHOLMOD's view of F->A: of the full matrix only the lower triangle is read. */
static inline trine_status cholmod_view(trine_factor F, bool wide, int xtype, cholmod_sparse *A)
{
    const struct factor_input in = factor_get_input(F);
    *A = (cholmod_sparse){.nrow = (size_t)in.n,
                          .ncol = (size_t)in.n,
                          .nzmax = (size_t)in.nnz,
                          .p = (void *)in.offsets,
                          .i = (void *)in.indices,
                          .x = (void *)in.values,
                          .stype = -1,
                          .itype = wide ? CHOLMOD_LONG : CHOLMOD_INT,
                          .xtype = xtype,
                          .dtype = CHOLMOD_DOUBLE,
                          .sorted = 1,
                          .packed = 1};
    return wide ? factor_wide_rows(F, (int64_t **)&A->i) : factor_narrow_offsets(F, (int32_t **)&A->p);
}

static inline trine_ordering cholmod_ordering(const cholmod_factor *L, trine_ordering otherwise)
{
    switch (L->ordering) {
    case CHOLMOD_METIS: return TRINE_ORDERING_METIS;
    case CHOLMOD_AMD: return TRINE_ORDERING_AMD;
    default: return otherwise;
    }
}

/** Whether the first columns of a simplicial factor follow each other without gaps. */
static inline bool cholmod_is_packed(const cholmod_factor *L, size_t columns)
{
    const bool wide = L->itype == CHOLMOD_LONG;
    bool packed = cholmod_at(L->p, wide, 0) == 0;
    for (int64_t j = 0; j < (int64_t)columns; j++)
        packed = packed && cholmod_at(L->p, wide, j) + cholmod_at(L->nz, wide, j) == cholmod_at(L->p, wide, j + 1);
    return packed;
}

/** F->triangles of a simplicial factor: L by columns and, of an LDL^H, L with unit diagonal and U = D L^H by rows. own:
 *  it is not another program's, so that its columns are in order. */
trine_status cholmod_take_columns(trine_factor F, const cholmod_factor *L, bool own);

#endif
