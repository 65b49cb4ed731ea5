/* The two triangular solves of a direct solve: by supernodal plans on the factor's panels, or by general triangular
 * plans. */
#ifndef TRINE_DIRECT_SWEEPS_H
#define TRINE_DIRECT_SWEEPS_H

#include "direct/work.h"

/** That of a triangle by rows or by columns: the factor's number of it, or its arrays; neither: none. */
typedef struct {
    trine_format format;
    int64_t n, nnz;
    uint64_t number;
    int64_t *offsets;
    int32_t *indices;
} direct_pattern;

/** Cholesky has U = L^H, of which nothing is stored unless general plans are to solve with conj(A) = A^T of a
 *  complex A. */
typedef struct {
    trine_context ctx;
    trine_dtype dtype;                         /* of A and of the vectors */
    unsigned ops;                              /* op(A) to be solved */
    trine_direct_options options;
    int64_t max_nrhs;
    bool cholesky;
    trine_supernodal_invert invert[2];         /* asked of the supernodal plans of L and of U */
    bool invert_all;                           /* all panels are inverted, where nothing else was asked for */
    bool rows_tried, after_panels;             /* another factor was, in place of slow panels, and solves */
    bool find_panels;                          /* by panels that are found in its triangles, for several vectors */
    bool supernodal;                           /* what runs: the first pair below, else the second */
    trine_supernodal L_panels, Ut_panels;      /* L and U^T */
    trine_triangular lower, upper;
    bool few_entries;                          /* lower and upper are serial, which nobody asked for */
    direct_pattern L, U;                       /* of what lower and upper were made of */
    double analyse_seconds, numeric_seconds;   /* of the last sweeps_take_factor */
    char reason[256];                          /* why supernodal, or why not */
    direct_works works;                        /* the callers', with works of the plans above */
} direct_sweeps;

/** Whether panels are those found in the triangles of F, which has none of its own. */
static inline bool sweeps_find_panels(const direct_sweeps *s, trine_factor F)
{
    return s->find_panels && F->method == TRINE_DIRECT_LU_UMFPACK;
}
/** Whether the panels of F's factor are to be used; s->reason says why, or why not (choose_solver.c). */
bool sweeps_want_panels(direct_sweeps *s, trine_factor F);
/** Plans for F's factor, or new values for the plans that are there where the structure stayed. */
trine_status sweeps_take_factor(direct_sweeps *s, trine_factor F);
/** Whether the panels are inverted by the library's own choice: then a trial solve should say whether that was good. */
bool sweeps_on_trial(const direct_sweeps *s);
/** Of both triangles' panels; zeros of the general plans. */
typedef struct {
    int64_t substituted, panels, levels; /* those of which inverses would not be accurate, all, and their levels */
    double growth; /* the larger one, of all inverses; infinite where one is NaN */
} direct_panels;
direct_panels sweeps_count_panels(const direct_sweeps *s);
/** The precision of the panels, which may be lower than the vectors'. */
double sweeps_eps(const direct_sweeps *s);
/** After a trial with too large a backward error: no inversion of panels in triangles that are inverted in part, or,
 *  if there are none, in any. */
trine_status sweeps_step_back(direct_sweeps *s, trine_factor F, double backward_error);
/** op(A) is to be solved as conj(op'(A) conj(.)), with op' the transposition that is left: the vectors are to be
 *  conjugated on their way in and out. */
bool sweeps_conjugate(const direct_sweeps *s, trine_transpose op);
/** Whether there is a plan for L (which = 0) or for U (1). */
bool sweeps_have(const direct_sweeps *s, int which);
/** trine_triangular_work or trine_supernodal_work of the plan for L or U; 0 bytes and no work where there is none. */
trine_status sweeps_work(const direct_sweeps *s, int which, int64_t nrhs, void *buffer, size_t *bytes,
                         trine_work *work);
/** Z := (the triangular factors of op(A))^-1 Z, conjugation and permutations aside. works: of the plans for L and U;
 *  NULL: their own. */
trine_status sweeps_solve(const direct_sweeps *s, trine_transpose op, const trine_dense *Z, const trine_work works[2],
                          void *stream);
void sweeps_destroy(direct_sweeps *s);

#endif
