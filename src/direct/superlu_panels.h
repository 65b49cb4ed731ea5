/* SuperLU's factors as panels: L as it lies there, U^T on the supernodes of L. */
#ifndef TRINE_DIRECT_SUPERLU_PANELS_H
#define TRINE_DIRECT_SUPERLU_PANELS_H

#include <superlu/slu_ddefs.h>

#include "direct/direct.h"

/** F->panels and F->nnz_L from SuperLU's L, which is sorted in place: its row lists below the diagonal blocks are
 *  not. */
trine_status superlu_take_panels(trine_factor F, SuperMatrix *L);
/** F->upper from SuperLU's U and, for the diagonal blocks, F->panels. */
trine_status superlu_make_upper_panels(trine_factor F, const SuperMatrix *U);
/** What to do with each entry of U, column after column, not sorted: part from SuperLU's columns, part from the
 *  panels. Zeros are left out, diagonal entries never. */
typedef void (*superlu_upper_fn)(void *user, int32_t row, int64_t column, const void *value);
void superlu_each_upper(trine_factor F, const SuperMatrix *U, superlu_upper_fn fn, void *user);
/** L of F->panels, or U of F->nnz_U entries, as a sorted CSC matrix. */
trine_status superlu_triangle(trine_factor F, const SuperMatrix *U, trine_uplo which, trine_matrix *T);

#endif
