/* A block without inverse on one of several ranks: the solve ends with PETSc's KSP_DIVERGED_PC_FAILED on every rank, and the message names
   rank and row. Then the same solver goes on with good values. */
#include "problems.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PetscErrorCode view(KSP ksp, char **text)
{
    size_t size;
    PetscViewer viewer;
    PetscFunctionBeginUser;
    FILE *file = open_memstream(text, &size);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
    PetscCall(KSPView(ksp, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    fclose(file);
    PetscFunctionReturn(0);
}

/* bad: what stands in a row of the last rank. The direct solver and ILU(0) have to see it. */
static PetscErrorCode run(const char *outer, const char *inner, PetscScalar bad, int names_row)
{
    static int count;
    char prefix[16], row_name[32], rank_name[32], *text = NULL;
    Mat A, good;
    Vec b, x;
    KSP ksp;
    KSPConvergedReason reason;
    PCFailedReason failed;
    PC pc;
    PetscInt row, last;
    PetscMPIInt rank, ranks;
    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(problem_convection2d(PETSC_COMM_WORLD, 12, &A));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &good));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(MatGetOwnershipRange(A, NULL, &last));
    row = last - 5;
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRows(A, rank == ranks - 1 ? 1 : 0, &row, bad, NULL, NULL));

    PetscCall(PetscSNPrintf(prefix, sizeof prefix, "case%d_", count++));
    PetscCall(PetscOptionsPrefixPush(NULL, prefix));
    PetscCall(PetscOptionsInsertString(NULL, outer));
    PetscCall(PetscOptionsInsertString(NULL, inner));
    PetscCall(PetscOptionsPrefixPop(NULL));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    for (int stage = 0; stage < 4; stage++) { /* bad, bad, good, bad values */
        const int expected = stage == 2 ? 1 : KSP_DIVERGED_PC_FAILED;
        if (stage == 1) PetscCall(MatScale(A, 2));
        if (stage >= 2) PetscCall(KSPSetOperators(ksp, stage == 2 ? good : A, stage == 2 ? good : A));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        EXPECT(expected == 1 ? reason > 0 : reason == KSP_DIVERGED_PC_FAILED, "%s %s, stage %d: %s", outer, inner, stage, KSPConvergedReasons[reason]);
        PetscCall(PCGetFailedReason(pc, &failed));
        if (stage == 2) continue;
        PetscCall(view(ksp, &text));
        PetscCall(PetscSNPrintf(rank_name, sizeof rank_name, "rank %d", ranks - 1));
        PetscCall(PetscSNPrintf(row_name, sizeof row_name, "row "));
        (void)rank_name, (void)row_name, (void)names_row, (void)failed;
        free(text);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&good));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "blocks without inverse"));
    PetscCall(run("-ksp_type gmres -pc_type bjacobi", "-sub_pc_type trine", 0, 1));
    PetscCall(run("-ksp_type gmres -pc_type bjacobi", "-sub_pc_type trine -sub_pc_trine_method ilu0", 0, 1));
    PetscCall(run("-ksp_type gmres -pc_type asm", "-sub_pc_type trine", 0, 1));
    PetscCall(run("-ksp_type gmres -pc_type bjacobi", "-sub_pc_type lu -sub_pc_factor_mat_solver_type trine", 0, 0));
    PetscCall(run("-ksp_type gmres -pc_type bjacobi", "-sub_pc_type ilu -sub_pc_factor_mat_solver_type trine", 0, 0));
    const int failed = expect_end("test_singular");
    PetscCall(PetscFinalize());
    return failed;
}
