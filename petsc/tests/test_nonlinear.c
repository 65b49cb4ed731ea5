/* Newton's method and time steps with trine as the sub-solver, beside PETSc's: new values in each step. */
#include "problems.h"
#include <petscdmda.h>
#include <petscsnes.h>
#include <petscts.h>
#include <stdio.h>
#include <stdlib.h>

static char prefixes[2][32]; /* of PETSc's sub-solver and of trine's: others in each comparison, as options stay */

/* Options for both: those in `common` and the sub-solver's. */
static PetscErrorCode set_options(const char *common, const char *theirs, const char *ours)
{
    static int comparison;
    PetscFunctionBeginUser;
    comparison++;
    for (int k = 0; k < 2; k++) {
        snprintf(prefixes[k], sizeof prefixes[k], "%s%d_", k == 0 ? "theirs" : "ours", comparison);
        PetscCall(PetscOptionsPrefixPush(NULL, prefixes[k]));
        PetscCall(PetscOptionsInsertString(NULL, common));
        PetscCall(PetscOptionsInsertString(NULL, k == 0 ? theirs : ours));
        PetscCall(PetscOptionsPrefixPop(NULL));
    }
    PetscFunctionReturn(0);
}

/* Bratu's problem, -Laplace(u) = 5 e^u on the unit square with u = 0 around it, by differences. */
static PetscErrorCode bratu(SNES snes, Vec u, Vec f, void *context)
{
    DM grid;
    DMDALocalInfo info;
    Vec local;
    PetscScalar **x, **r;
    PetscFunctionBeginUser;
    (void)context;
    PetscCall(SNESGetDM(snes, &grid));
    PetscCall(DMDAGetLocalInfo(grid, &info));
    PetscCall(DMGetLocalVector(grid, &local));
    PetscCall(DMGlobalToLocal(grid, u, INSERT_VALUES, local));
    PetscCall(DMDAVecGetArrayRead(grid, local, &x));
    PetscCall(DMDAVecGetArray(grid, f, &r));
    const PetscReal h = 1.0 / (PetscReal)(info.mx - 1);
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
        for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
            if (i == 0 || j == 0 || i == info.mx - 1 || j == info.my - 1) r[j][i] = x[j][i];
            else
                r[j][i] = 4.0 * x[j][i] - x[j][i - 1] - x[j][i + 1] - x[j - 1][i] - x[j + 1][i] -
                          5 * h * h * PetscExpScalar(x[j][i]);
        }
    }
    PetscCall(DMDAVecRestoreArray(grid, f, &r));
    PetscCall(DMDAVecRestoreArrayRead(grid, local, &x));
    PetscCall(DMRestoreLocalVector(grid, &local));
    PetscFunctionReturn(0);
}

static PetscErrorCode newton(const char *common, const char *theirs, const char *ours)
{
    Vec u[2];
    PetscInt steps[2], iterations[2];
    PetscReal relative;
    PetscFunctionBeginUser;
    PetscCall(set_options(common, theirs, ours));
    for (int k = 0; k < 2; k++) {
        SNES snes;
        DM grid;
        SNESConvergedReason reason;
        PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 17, 17,
                               PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &grid));
        PetscCall(DMSetUp(grid));
        PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
        PetscCall(SNESSetOptionsPrefix(snes, prefixes[k]));
        PetscCall(SNESSetDM(snes, grid));
        PetscCall(SNESSetFunction(snes, NULL, bratu, NULL));
        PetscCall(SNESSetFromOptions(snes)); /* the Jacobian by differences and colours */
        PetscCall(DMCreateGlobalVector(grid, &u[k]));
        PetscCall(SNESSolve(snes, NULL, u[k]));
        PetscCall(SNESGetConvergedReason(snes, &reason));
        PetscCall(SNESGetIterationNumber(snes, &steps[k]));
        PetscCall(SNESGetLinearSolveIterations(snes, &iterations[k]));
        EXPECT(reason > 0, "%s %s: %s", common, k ? ours : theirs, SNESConvergedReasons[reason]);
        PetscCall(SNESDestroy(&snes));
        PetscCall(DMDestroy(&grid));
    }
    EXPECT(steps[0] == steps[1] && steps[1] > 1, "%s %s: %d steps of Newton, PETSc's sub-solver %d", common, ours,
           (int)steps[1], (int)steps[0]);
    EXPECT(labs((long)iterations[1] - (long)iterations[0]) <= steps[0],
           "%s %s: %d linear iterations in %d steps, PETSc's sub-solver %d", common, ours, (int)iterations[1],
           (int)steps[1], (int)iterations[0]);
    PetscCall(difference(u[0], u[1], &relative));
    EXPECT(relative <= 1e-6, "%s %s: solutions differ by %g", common, ours, (double)relative);
    PetscCall(VecDestroy(&u[0]));
    PetscCall(VecDestroy(&u[1]));
    PetscFunctionReturn(0);
}

/* du/dt = -A u for a Laplacian A, with steps of two lengths. */
static PetscErrorCode heat(const char *common, const char *theirs, const char *ours)
{
    Mat A;
    Vec u[2];
    PetscInt iterations[2], steps[2];
    PetscReal relative;
    PetscFunctionBeginUser;
    PetscCall(set_options(common, theirs, ours));
    PetscCall(problem_laplace3d(PETSC_COMM_WORLD, 7, &A));
    PetscCall(MatScale(A, -1));
    for (int k = 0; k < 2; k++) {
        TS ts;
        PetscCall(problem_rhs(A, &u[k]));
        PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
        PetscCall(TSSetOptionsPrefix(ts, prefixes[k]));
        PetscCall(TSSetProblemType(ts, TS_LINEAR));
        PetscCall(TSSetRHSFunction(ts, NULL, TSComputeRHSFunctionLinear, NULL));
        PetscCall(TSSetRHSJacobian(ts, A, A, TSComputeRHSJacobianConstant, NULL));
        PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
        PetscCall(TSSetFromOptions(ts));
        for (int part = 1; part <= 2; part++) {
            PetscCall(TSSetTimeStep(ts, 0.1 * part));
            PetscCall(TSSetMaxTime(ts, 0.5 * part * part));
            PetscCall(TSSolve(ts, u[k]));
        }
        PetscCall(TSGetKSPIterations(ts, &iterations[k]));
        PetscCall(TSGetStepNumber(ts, &steps[k]));
        PetscCall(TSDestroy(&ts));
    }
    EXPECT(steps[0] == steps[1] && steps[1] >= 10, "%s %s: %d time steps, PETSc's sub-solver %d", common, ours,
           (int)steps[1], (int)steps[0]);
    EXPECT(labs((long)iterations[1] - (long)iterations[0]) <= steps[0],
           "%s %s: %d linear iterations, PETSc's sub-solver %d", common, ours, (int)iterations[1], (int)iterations[0]);
    PetscCall(difference(u[0], u[1], &relative));
    EXPECT(relative <= 1e-6, "%s %s: solutions differ by %g", common, ours, (double)relative);
    PetscCall(VecDestroy(&u[0]));
    PetscCall(VecDestroy(&u[1]));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "trine in Newton's method and in time steps"));
    PetscCall(
        newton("-ksp_rtol 1e-8 -pc_type bjacobi", "-sub_pc_type ilu", "-sub_pc_type trine -sub_pc_trine_method ilu0"));
    PetscCall(newton("-ksp_rtol 1e-8 -pc_type asm", "-sub_pc_type lu", "-sub_pc_type trine"));
    PetscCall(newton(
        "-ksp_rtol 1e-8 -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin pmat -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi "
        "-mg_levels_ksp_richardson_scale 0.7 -mg_coarse_ksp_type preonly -mg_coarse_pc_type redundant",
        "-mg_coarse_redundant_pc_type lu", "-mg_coarse_redundant_pc_type trine"));
    PetscCall(newton(
        "-ksp_rtol 1e-8 -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin pmat -mg_levels_ksp_type richardson -mg_levels_pc_type asm "
        "-mg_coarse_ksp_type preonly -mg_coarse_pc_type redundant",
        "-mg_levels_sub_pc_type ilu -mg_coarse_redundant_pc_type lu",
        "-mg_levels_sub_pc_type trine -mg_levels_sub_pc_trine_method ilu0 -mg_coarse_redundant_pc_type lu "
        "-mg_coarse_redundant_pc_factor_mat_solver_type trine"));
    PetscCall(heat("-ts_type beuler -ksp_rtol 1e-9 -pc_type bjacobi", "-sub_pc_type ilu",
                   "-sub_pc_type trine -sub_pc_trine_method ilu0"));
    PetscCall(heat("-ts_type cn -ksp_rtol 1e-9 -pc_type bjacobi", "-sub_pc_type lu", "-sub_pc_type trine"));
    const int failed = expect_end("test_nonlinear");
    PetscCall(PetscFinalize());
    return failed;
}
