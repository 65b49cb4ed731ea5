/* MatSolverType "trine" by MatGetFactor, beside PETSc's own factors of the same matrices. On one rank. */
#include "problems.h"
#include <string.h>

#ifdef PETSC_USE_COMPLEX
#define HERMITIAN 1
#else
#define HERMITIAN 0
#endif

static PetscErrorCode factor(Mat A, const char *type, MatFactorType kind, Mat *F)
{
    IS rows, columns;
    MatFactorInfo info;
    PetscFunctionBeginUser;
    PetscCall(MatFactorInfoInitialize(&info));
    info.fill = 1;
    PetscCall(MatGetFactor(A, type, kind, F));
    PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &columns));
    if (kind == MAT_FACTOR_LU) PetscCall(MatLUFactorSymbolic(*F, A, rows, columns, &info));
    if (kind == MAT_FACTOR_CHOLESKY) PetscCall(MatCholeskyFactorSymbolic(*F, A, rows, &info));
    if (kind == MAT_FACTOR_ILU) PetscCall(MatILUFactorSymbolic(*F, A, rows, columns, &info));
    if (kind == MAT_FACTOR_ICC) PetscCall(MatICCFactorSymbolic(*F, A, rows, &info));
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat F, Mat A, MatFactorType kind)
{
    MatFactorInfo info;
    PetscFunctionBeginUser;
    PetscCall(MatFactorInfoInitialize(&info));
    if (kind == MAT_FACTOR_LU || kind == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(F, A, &info));
    else PetscCall(MatCholeskyFactorNumeric(F, A, &info));
    PetscFunctionReturn(0);
}

/* Every way to solve with F against theirs; for LU and Cholesky both are the inverse of A. */
static PetscErrorCode compare_solves(const char *what, Mat F, Mat theirs, Mat A)
{
    enum { COLUMNS = 3 };
    Vec b, x, y, z;
    Mat B, X, Y;
    PetscReal relative;
    PetscBool has, backward;
    PetscFunctionBeginUser;
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(VecDuplicate(b, &z));
    PetscCall(MatSolve(F, b, x));
    PetscCall(MatSolve(theirs, b, y));
    PetscCall(difference(y, x, &relative));
    EXPECT(relative <= 1e-9, "%s: MatSolve differs by %g", what, (double)relative);
    PetscCall(MatSolveTranspose(F, b, x));
    PetscCall(MatSolveTranspose(theirs, b, y));
    PetscCall(difference(y, x, &relative));
    EXPECT(relative <= 1e-9, "%s: MatSolveTranspose differs by %g", what, (double)relative);
    PetscCall(VecSet(z, 2));
    PetscCall(MatSolveAdd(F, b, z, x));
    PetscCall(MatSolve(theirs, b, y));
    PetscCall(VecAXPY(y, 1, z));
    PetscCall(difference(y, x, &relative));
    EXPECT(relative <= 1e-9, "%s: MatSolveAdd differs by %g", what, (double)relative);

    PetscInt n;
    PetscRandom random;
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, COLUMNS, NULL, &B));
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
    PetscCall(MatSetRandom(B, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &Y));
    for (int transposed = 0; transposed < 2; transposed++) {
        PetscCall(transposed ? MatMatSolveTranspose(F, B, X) : MatMatSolve(F, B, X));
        for (PetscInt k = 0; k < COLUMNS; k++) {
            Vec from, to;
            PetscCall(MatDenseGetColumnVecRead(B, k, &from));
            PetscCall(transposed ? MatSolveTranspose(theirs, from, y) : MatSolve(theirs, from, y));
            PetscCall(MatDenseRestoreColumnVecRead(B, k, &from));
            PetscCall(MatDenseGetColumnVecRead(X, k, &to));
            PetscCall(difference(y, to, &relative));
            PetscCall(MatDenseRestoreColumnVecRead(X, k, &to));
            EXPECT(relative <= 1e-9, "%s: column %d of %s differs by %g", what, (int)k,
                   transposed ? "MatMatSolveTranspose" : "MatMatSolve", (double)relative);
        }
    }
    PetscCall(MatHasOperation(F, MATOP_FORWARD_SOLVE, &has));
    PetscCall(MatHasOperation(F, MATOP_BACKWARD_SOLVE, &backward));
    EXPECT(has == backward, "%s: one half of the solve only", what);
    if (has) {
        PetscCall(MatForwardSolve(F, b, z));
        PetscCall(MatBackwardSolve(F, z, x));
        PetscCall(MatSolve(theirs, b, y));
        PetscCall(difference(y, x, &relative));
        EXPECT(relative <= 1e-9, "%s: the halves of MatSolve differ from it by %g", what, (double)relative);
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

static PetscErrorCode one_factor(problem create, MatType type, MatFactorType kind)
{
    static const char *const names[] = {"none", "LU", "Cholesky", "ILU", "ICC"};
    char what[64];
    Mat A, F, theirs;
    MatSolverType solver;
    MatInfo info;
    /* PETSc's Cholesky and ICC take symmetric complex matrices, not Hermitian ones. */
    const MatFactorType reference = !HERMITIAN                    ? kind
                                    : kind == MAT_FACTOR_ICC      ? MAT_FACTOR_ILU
                                    : kind == MAT_FACTOR_CHOLESKY ? MAT_FACTOR_LU
                                                                  : kind;
    Mat aij;
    PetscFunctionBeginUser;
    PetscCall(PetscSNPrintf(what, sizeof what, "%s of %s", names[kind], type));
    PetscCall(create(PETSC_COMM_SELF, 12, &aij));
    PetscCall(MatSetOption(
        aij, kind == MAT_FACTOR_LU || kind == MAT_FACTOR_ILU ? MAT_STRUCTURALLY_SYMMETRIC : MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(MatSetBlockSize(aij, 1));
    if (!HERMITIAN && strcmp(type, MATSEQSBAIJ) == 0) PetscCall(MatSetOption(aij, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatConvert(aij, type, MAT_INITIAL_MATRIX, &A));
    PetscCall(factor(A, "trine", kind, &F));
    PetscCall(factor(HERMITIAN ? aij : A, MATSOLVERPETSC, reference, &theirs));
    PetscCall(MatFactorGetSolverType(F, &solver));
    EXPECT(strcmp(solver, "trine") == 0, "%s: the solver type is %s", what, solver);
    for (int stage = 0; stage < 3; stage++) {
        if (stage > 0) PetscCall(MatScale(A, stage == 1 ? 3 : 0.25));
        if (stage > 0 && aij != A) PetscCall(MatScale(aij, stage == 1 ? 3 : 0.25));
        PetscCall(numeric(F, A, kind));
        PetscCall(numeric(theirs, HERMITIAN ? aij : A, reference));
        PetscCall(compare_solves(what, F, theirs, A));
    }
    PetscCall(MatGetInfo(F, MAT_LOCAL, &info));
    EXPECT(info.nz_used > 0, "%s: MatGetInfo says %g entries", what, (double)info.nz_used);
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&theirs));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&aij));
    PetscFunctionReturn(0);
}

/* What PCs factor with when nobody has asked for trine. */
static PetscErrorCode defaults(void)
{
    static const char *const types[] = {PCILU, PCICC, PCLU, PCCHOLESKY};
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 6, &A));
    for (int k = 0; k < 8; k++) {
        PC pc;
        MatSolverType solver;
        if (HERMITIAN && k % 2 == 1) continue;
        PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSetType(pc, types[k % 4]));
        if (k >= 4) PetscCall(PCFactorSetMatSolverType(pc, "trine"));
        PetscCall(PCSetFromOptions(pc));
        PetscCall(PCSetUp(pc));
        PetscCall(PCFactorGetMatSolverType(pc, &solver));
        EXPECT(strcmp(solver, k >= 4 ? "trine" : "petsc") == 0, "PC type %s, %s: factored by %s", types[k % 4],
               k >= 4 ? "trine" : "default", solver);
        PetscCall(PCDestroy(&pc));
    }
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* A zero row in the middle: an error of the factorization that MatFactorGetError tells, not one of PETSc's. */
static PetscErrorCode singular(MatFactorType kind)
{
    const PetscInt row = 20;
    Mat A, F;
    MatFactorError error;
    PetscReal pivot;
    PetscInt at = -1;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 6, &A));
    PetscCall(factor(A, "trine", kind, &F));
    PetscCall(numeric(F, A, kind));
    PetscCall(MatFactorGetError(F, &error));
    EXPECT(error == MAT_FACTOR_NOERROR, "a regular matrix: error %d", (int)error);
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRows(A, 1, &row, 0.0, NULL, NULL));
    PetscCall(numeric(F, A, kind));
    PetscCall(MatFactorGetError(F, &error));
    EXPECT(error == MAT_FACTOR_NUMERIC_ZEROPIVOT, "a singular matrix: error %d", (int)error);
    PetscCall(MatFactorGetErrorZeroPivot(F, &pivot, &at));
    EXPECT(at == row, "row %d of the zero pivot instead of %d", (int)at, (int)row);
    PetscCall(MatShift(A, 5)); /* a good one again */
    PetscCall(MatFactorClearError(F));
    PetscCall(numeric(F, A, kind));
    PetscCall(MatFactorGetError(F, &error));
    EXPECT(error == MAT_FACTOR_NOERROR, "a regular matrix after a singular one: error %d", (int)error);
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "factors by trine"));
    PetscCall(one_factor(problem_convection2d, MATSEQAIJ, MAT_FACTOR_LU));
    PetscCall(one_factor(problem_convection2d, MATSEQAIJ, MAT_FACTOR_ILU));
    PetscCall(one_factor(problem_elasticity2d, MATSEQAIJ, MAT_FACTOR_LU));
    PetscCall(one_factor(problem_elasticity2d, MATSEQAIJ, MAT_FACTOR_CHOLESKY));
    PetscCall(one_factor(problem_laplace2d, MATSEQAIJ, MAT_FACTOR_ICC));
    if (!HERMITIAN) { /* PETSc makes no Hermitian SBAIJ of such a matrix */
        PetscCall(one_factor(problem_elasticity2d, MATSEQSBAIJ, MAT_FACTOR_CHOLESKY));
        PetscCall(one_factor(problem_laplace2d, MATSEQSBAIJ, MAT_FACTOR_ICC));
    }
    PetscCall(defaults());
    PetscCall(singular(MAT_FACTOR_LU));
    PetscCall(singular(MAT_FACTOR_ILU));
    const int failed = expect_end("test_factor");
    PetscCall(PetscFinalize());
    return failed;
}
