/* A program that links libtrine_petsc instead of loading it. */
#include <petscksp.h>
#include <string.h>
#include <trine_petsc.h>

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TrinePetscRegister());
    PetscCall(TrinePetscRegister());
    const PetscInt rows = 3, singular = 1;
    Mat A;
    Vec x, b;
    PC pc;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, rows, rows, 1, NULL, &A));
    for (PetscInt i = 0; i < rows; i++) PetscCall(MatSetValue(A, i, i, (PetscScalar)(i + 1), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 6));
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCTRINE));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCApply(pc, b, x));

    const char *sentence = NULL;
    const PetscScalar *values;
    PetscInt row = 0;
    PetscCall(VecGetArrayRead(x, &values));
    int failed = PetscAbsScalar(values[0] - 6) + PetscAbsScalar(values[1] - 3) + PetscAbsScalar(values[2] - 2) > 1e-12;
    PetscCall(VecRestoreArrayRead(x, &values));
    PetscCall(PCTrineGetFailure(pc, &row, &sentence));
    failed |= row != -1 || sentence[0] != 0;
    PetscCall(MatSetValue(A, singular, singular, 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    PetscCall(PCTrineGetFailure(pc, &row, &sentence));
    failed |= row != singular || !strstr(sentence, "pc_trine_method direct");
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "row %d: %s\n", (int)row, sentence));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(PetscFinalize());
    return failed;
}
