/* The direct plan, as its creation (plan.c), its works (work.c) and its solves (solve.c) see it. */
#ifndef TRINE_DIRECT_PLAN_H
#define TRINE_DIRECT_PLAN_H

#include "direct/sweeps.h"

struct trine_direct_s {
    /* has values but after an update that failed; its own work has vectors only (work.c) */
    struct trine_plan base;
    trine_factor F;
    trine_matrix A;
    /* op(A) as CSR in the context's space, for refinement; NULL if not needed */
    trine_matrix rows[TRINE_H + 1];
    trine_direct_options options;
    bool may_refine;                         /* works have room for refinement: it was asked for, or may be needed */
    int refine;                              /* steps that are made: asked for, or found needed in the trial solve */
    trine_space space;
    direct_sweeps sweeps;
    void *row_perm, *col_perm;               /* in the context's space */
    void *row_scale, *col_scale;             /* of A's real dtype; NULL: ones */
    /* On the host, for several right-hand sides, which come by columns and are solved by rows: the inverse
     * permutations, and the scales in A's order, so that columns are read and written from top to bottom. */
    int32_t *row_place, *col_place;
    void *row_scale_there, *col_scale_there;
};

/** H of a real matrix is T: the op that the plan's parts are made for. */
static inline trine_transpose direct_op(trine_dtype t, trine_transpose op)
{
    return op == TRINE_H && !trine_dtype_is_complex(t) ? TRINE_T : op;
}

/** What a factor for a plan with these options is made for. */
enum factor_use solver_use(trine_context ctx, trine_dtype t, const trine_direct_options *o);
/** F, made for that, is not solved with by its library where plans will pay all the same. */
void solver_choose_library(trine_factor F, const trine_direct_options *o);
/** The reason for the library's own solves. */
void solver_tell_library(trine_factor F, const trine_direct_options *o, char *reason, size_t size);

/** Works, as trine_plan_kind has them. */
size_t direct_work_bytes(struct trine_plan *plan, int64_t nrhs);
size_t direct_work_own_bytes(struct trine_plan *plan, int64_t nrhs);
trine_status direct_work_begin(struct trine_plan *plan, trine_plan_work *work);
void direct_work_end(trine_plan_work *work);

/** trine_direct_solve with alpha. */
trine_status direct_solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec);
/** X := op(A)^-1 B through the work's vectors, with D->refine steps of refinement; op as direct_op has it; B == X
 *  allowed. */
trine_status solve_and_refine(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                              const trine_dense *X, void *stream);
/** The same, on a CPU with a look at B and X (range.c): TRINE_ERR_NO_CONVERGENCE for a solution of a finite b that
 *  leaves the range. */
trine_status solve_in_range(trine_direct D, direct_work *work, trine_transpose op, const trine_dense *B,
                            const trine_dense *X, void *stream);

#endif
