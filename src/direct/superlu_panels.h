/* SuperLU's factors as panels: L as it lies there, U^T on the supernodes of L. */
#ifndef TRINE_SUPERLU_PANELS_H
#define TRINE_SUPERLU_PANELS_H

#include <superlu/slu_ddefs.h>

#include "direct/direct.h"

/** F->panels and F->nnz_L from SuperLU's L, which is sorted in place: its row lists below the diagonal blocks are not. */
trine_status superlu_take_panels(trine_factor F, SuperMatrix *L);
/** F->upper from SuperLU's U and, for the diagonal blocks, F->panels. */
trine_status superlu_make_upper_panels(trine_factor F, const SuperMatrix *U);

#endif
