/* -Laplace(u) = 1 on the unit cube, u = 0 around it: a program of PETSc that knows nothing of trine. Options choose the
 * solver:
 *
 *     mpiexec -n 2 ./poisson -n 40 -ksp_type gmres -pc_type bjacobi -sub_pc_type trine \
 *         -dll_append lib/libtrine_petsc.so
 *
 * -n N    N points in each direction, 30 unless given */
#include <petscksp.h>

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscInt n = 30, first, last, iterations;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));

    Mat A;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n * n, n * n * n, 7, NULL, 6, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt row = first; row < last; row++) {
        const PetscInt at[3] = {row % n, row / n % n, row / n / n}, stride[3] = {1, n, n * n};
        PetscCall(MatSetValue(A, row, row, 6, INSERT_VALUES));
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] > 0) PetscCall(MatSetValue(A, row, row - stride[axis], -1, INSERT_VALUES));
            if (at[axis] < n - 1) PetscCall(MatSetValue(A, row, row + stride[axis], -1, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));

    Vec u, b, r;
    PetscReal residual, right;
    PetscCall(MatCreateVecs(A, &u, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecSet(b, 1.0 / (PetscReal)((n + 1) * (n + 1))));

    KSP ksp;
    KSPConvergedReason reason;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, u));

    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, u, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &right));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s after %" PetscInt_FMT " iterations, |b - A u| / |b| = %.1e\n",
                          KSPConvergedReasons[reason], iterations, (double)(residual / right)));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return reason <= 0;
}
