/* A block without inverse on one of several ranks: the solve ends with KSP_DIVERGED_PC_FAILED on every rank, and the
   solver of the block names rank and row. Then the same solver goes on with good values. */
#include "problems.h"
#include <string.h>

enum { BEFORE_LAST = 5 }; /* the bad row is so many rows before the end of the last rank */

static PetscErrorCode sub_solver(KSP ksp, PC *sub)
{
    PC pc;
    KSP *blocks;
    PetscBool asm_type;
    PetscInt count;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCASM, &asm_type));
    PetscCall(asm_type ? PCASMGetSubKSP(pc, &count, NULL, &blocks) : PCBJacobiGetSubKSP(pc, &count, NULL, &blocks));
    PetscCall(KSPGetPC(blocks[0], sub));
    PetscFunctionReturn(0);
}

/* On the rank of the bad row: its number here, and a sentence with the rank, the option and the number. */
static PetscErrorCode names_row(PC sub, PetscInt expected, const char *what)
{
    PetscErrorCode (*get)(PC, PetscInt *, const char **) = NULL;
    PetscBool is_trine;
    PetscFunctionBeginUser;
    PetscCall(PetscObjectTypeCompare((PetscObject)sub, "trine", &is_trine));
    if (is_trine) {
        char rank_name[16], row_name[16];
        const char *sentence = "";
        PetscInt row = -1;
        PetscMPIInt rank;
        PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
        PetscCall(PetscObjectQueryFunction((PetscObject)sub, "PCTrineGetFailure_C", &get));
        PetscCall(get(sub, &row, &sentence));
        PetscCall(PetscSNPrintf(rank_name, sizeof rank_name, "rank %d:", rank));
        PetscCall(PetscSNPrintf(row_name, sizeof row_name, " %d ", (int)expected));
        EXPECT(row == expected, "%s: row %d instead of %d", what, (int)row, (int)expected);
        EXPECT(strstr(sentence, rank_name) && strstr(sentence, "_sub_pc_trine_method") && strstr(sentence, row_name),
               "%s: '%s'", what, sentence);
    } else {
        Mat F;
        MatFactorError error;
        PetscReal pivot;
        PetscInt row = -1;
        PetscCall(PCFactorGetMatrix(sub, &F));
        PetscCall(MatFactorGetError(F, &error));
        PetscCall(MatFactorGetErrorZeroPivot(F, &pivot, &row));
        EXPECT(error == MAT_FACTOR_NUMERIC_ZEROPIVOT && row == expected, "%s: error %d in row %d instead of %d", what,
               (int)error, (int)row, (int)expected);
    }
    PetscFunctionReturn(0);
}

/* bad: what stands on the diagonal of a row that is zero elsewhere. Four stages: bad, bad, good, bad values. */
static PetscErrorCode run(const char *outer, const char *inner, PetscScalar bad)
{
    static int count;
    char prefix[16];
    Mat A, good;
    Vec b, x;
    KSP ksp;
    KSPConvergedReason reason;
    PC pc, sub;
    PetscInt first, last;
    PetscMPIInt rank, ranks;
    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(problem_convection2d(PETSC_COMM_WORLD, 12, &A));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &good));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    const PetscInt row = last - BEFORE_LAST;
    const int zero = PetscRealPart(bad) == 0;
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
    for (int stage = 0; stage < 4; stage++) {
        if (stage == 1) PetscCall(MatScale(A, 2));
        if (stage >= 2) PetscCall(KSPSetOperators(ksp, stage == 2 ? good : A, stage == 2 ? good : A));
        if (stage >= 2)
            PetscCall(PCSetFailedReason(pc, PC_NOERROR)); /* which PETSc's block Jacobi would keep for ever */
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        if (stage == 2) EXPECT(reason > 0, "%s %s, good values: %s", outer, inner, KSPConvergedReasons[reason]);
        else if (!zero)
            EXPECT(reason < 0, "%s %s, NaN, stage %d: %s", outer, inner, stage, KSPConvergedReasons[reason]);
        else
            EXPECT(reason == KSP_DIVERGED_PC_FAILED, "%s %s, zero, stage %d: %s", outer, inner, stage,
                   KSPConvergedReasons[reason]);
        if (stage == 2 || rank < ranks - 1 || !zero || strstr(outer, "asm"))
            continue; /* with overlap the part has other numbers */
        PetscCall(sub_solver(ksp, &sub));
        PetscCall(names_row(sub, row - first, inner));
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
    static const char *const inner[] = {"-sub_pc_type trine", "-sub_pc_type trine -sub_pc_trine_method ilu0",
                                        "-sub_pc_type trine -sub_pc_trine_method jacobi",
                                        "-sub_pc_type lu -sub_pc_factor_mat_solver_type trine",
                                        "-sub_pc_type ilu -sub_pc_factor_mat_solver_type trine"};
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "blocks without inverse"));
    for (int k = 0; k < 5; k++) {
        PetscCall(run("-ksp_type gmres -pc_type bjacobi", inner[k], 0));
        PetscCall(run("-ksp_type gmres -pc_type bjacobi", inner[k], NAN));
    }
    PetscCall(run("-ksp_type gmres -pc_type asm", inner[0], 0));
    const int failed = expect_end("test_singular");
    PetscCall(PetscFinalize());
    return failed;
}
