/* What becomes of PCs of type trine in the course of a program: several at a time, other matrices, values and sizes,
   other options, the analysis that is kept, several right-hand sides, numbers of any size, refusals. */
#include "problems.h"
#include <petsclog.h>
#include <string.h>

enum { MANY = 4 };

static PetscErrorCode make(Mat A, const char *method, KSP *ksp)
{
    static int count;
    char prefix[16];
    PetscFunctionBeginUser;
    PetscCall(PetscSNPrintf(prefix, sizeof prefix, "life%d_", count++));
    PetscCall(PetscOptionsPrefixPush(NULL, prefix));
    PetscCall(PetscOptionsInsertString(NULL, "-ksp_type gmres -pc_type trine -ksp_rtol 1e-11"));
    PetscCall(PetscOptionsInsertString(NULL, method));
    PetscCall(PetscOptionsPrefixPop(NULL));
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(0);
}

/* Solves for a right-hand side of its own, and looks at the residual. */
static PetscErrorCode solves(KSP ksp, PetscInt most, const char *when)
{
    Mat A;
    Vec b, x, r;
    PetscReal norm, residual;
    PetscInt iterations;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(VecNorm(r, NORM_2, &residual));
    EXPECT(reason > 0 && iterations <= most, "%s: %s after %d iterations", when, KSPConvergedReasons[reason],
           (int)iterations);
    EXPECT(residual <= 1e-8 * norm, "%s: a residual of %g", when, (double)(residual / norm));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

static PetscErrorCode several(void)
{
    static const problem problems[MANY] = {problem_laplace2d, problem_convection2d, problem_elasticity2d,
                                           problem_laplace3d};
    static const char *const methods[MANY] = {"-pc_trine_method ilu0", "", "-pc_trine_method ic0",
                                              "-pc_trine_ordering amd"};
    static const PetscInt most[MANY] = {60, 2, 200, 2};
    Mat A[MANY];
    KSP ksp[MANY], other;
    PetscFunctionBeginUser;
    for (int k = 0; k < MANY; k++) {
        PetscCall(problems[k](PETSC_COMM_SELF, 7, &A[k]));
        PetscCall(make(A[k], methods[k], &ksp[k]));
    }
    for (int round = 0; round < 3; round++) { /* their solves and updates in turns */
        for (int k = 0; k < MANY; k++) {
            if ((round + k) % 2) PetscCall(MatScale(A[k], 1.5));
            PetscCall(solves(ksp[k], most[k], "several at a time"));
        }
    }
    PetscCall(make(A[1], "", &other)); /* two for one matrix */
    PetscCall(solves(other, 2, "the second of a matrix"));
    PetscCall(KSPDestroy(&ksp[1]));
    PetscCall(MatDestroy(&A[0])); /* its PC keeps it */
    PetscCall(solves(ksp[0], most[0], "the matrix was destroyed"));
    PetscCall(solves(other, 2, "the first of a matrix was destroyed"));
    PetscCall(KSPDestroy(&other));
    PetscCall(KSPDestroy(&ksp[3]));
    PetscCall(KSPDestroy(&ksp[0]));
    PetscCall(solves(ksp[2], most[2], "the last one"));
    PetscCall(KSPDestroy(&ksp[2]));
    for (int k = 1; k < MANY; k++) PetscCall(MatDestroy(&A[k]));
    PetscFunctionReturn(0);
}

static PetscErrorCode event_count(const char *name, int *count)
{
    PetscLogEvent event;
    PetscEventPerfInfo info;
    PetscFunctionBeginUser;
    PetscCall(PetscLogEventGetId(name, &event));
    EXPECT(event >= 0, "there is no event %s", name);
    *count = 0;
    if (event < 0) PetscFunctionReturn(0);
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    *count = info.count;
    PetscFunctionReturn(0);
}

/* A pattern is analysed once, and values are taken when they have changed, and only then. */
static PetscErrorCode analysis(const char *method)
{
    static const struct {
        const char *what;
        int set_ups, numerics;
    } stages[] = {{"first values", 1, 0},
                  {"the same values", 0, 0},
                  {"new values", 0, 1},
                  {"a new pattern", 1, 0},
                  {"values of the new pattern", 0, 1}};
    Mat A;
    KSP ksp;
    int set_ups[2], numerics[2], solve_count[2];
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 9, &A));
    PetscCall(make(A, method, &ksp));
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        PetscCall(event_count("TrineSetUp", &set_ups[0]));
        PetscCall(event_count("TrineNumeric", &numerics[0]));
        PetscCall(event_count("TrineSolve", &solve_count[0]));
        if (k == 2 || k == 4) PetscCall(MatScale(A, 2));
        if (k == 3) PetscCall(problem_new_pattern(A));
        PetscCall(solves(ksp, 60, stages[k].what));
        PetscCall(event_count("TrineSetUp", &set_ups[1]));
        PetscCall(event_count("TrineNumeric", &numerics[1]));
        PetscCall(event_count("TrineSolve", &solve_count[1]));
        EXPECT(set_ups[1] - set_ups[0] == stages[k].set_ups, "%s, %s: %d analyses", method, stages[k].what,
               set_ups[1] - set_ups[0]);
        EXPECT(stages[k].set_ups || numerics[1] - numerics[0] == stages[k].numerics, "%s, %s: %d numeric phases",
               method, stages[k].what, numerics[1] - numerics[0]);
        EXPECT(solve_count[1] > solve_count[0], "%s, %s: no solve in the log", method, stages[k].what);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Another matrix, another size, another method, for one KSP. */
static PetscErrorCode changes(void)
{
    Mat A, B, C;
    KSP ksp;
    PC pc;
    char name[64];
    const char *prefix;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 8, &A));
    PetscCall(problem_laplace3d(PETSC_COMM_SELF, 4, &B)); /* as many rows, another pattern */
    PetscCall(problem_elasticity2d(PETSC_COMM_SELF, 6, &C));
    PetscCall(make(A, "", &ksp));
    PetscCall(solves(ksp, 2, "the first matrix"));
    PetscCall(KSPSetOperators(ksp, B, B));
    PetscCall(solves(ksp, 2, "another matrix of this size"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(solves(ksp, 2, "the first matrix again"));
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, C, C));
    PetscCall(solves(ksp, 2, "another size"));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
    PetscCall(PetscSNPrintf(name, sizeof name, "-%spc_trine_method", prefix));
    PetscCall(PetscOptionsSetValue(NULL, name, "ilu0"));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(solves(ksp, 200, "another method"));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(MatScale(C, 2));
    PetscCall(solves(ksp, 200, "a preconditioner that is kept"));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(PCSetType(pc, "trine"));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(solves(ksp, 200, "another type, and back"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

/* KSPMatSolve, and the transpose. */
static PetscErrorCode right_hand_sides(void)
{
    Mat A, B, X, R;
    KSP ksp;
    Vec b, x, r;
    PetscReal norm, residual;
    PetscInt n;
    PetscRandom random;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 9, &A));
    PetscCall(make(A, "-ksp_type preonly", &ksp));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 5, NULL, &B));
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
    PetscCall(MatSetRandom(B, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    for (int round = 0; round < 2; round++) {
        PetscCall(KSPMatSolve(ksp, B, X));
        PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &R));
        PetscCall(MatAXPY(R, -1, B, SAME_NONZERO_PATTERN));
        PetscCall(MatNorm(R, NORM_FROBENIUS, &residual));
        PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
        EXPECT(residual <= 1e-10 * norm, "several right-hand sides leave %g", (double)(residual / norm));
        PetscCall(MatDestroy(&R));
        PetscCall(MatScale(A, 2));
    }
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(KSPSolveTranspose(ksp, b, x));
    PetscCall(MatMultTranspose(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    EXPECT(residual <= 1e-10 * norm, "the transpose leaves %g", (double)(residual / norm));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&A));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode sizes(void)
{
    static const PetscScalar scales[] = {1e30, 1e-30};
    static const char *const methods[] = {"", "-pc_trine_method ilu0", "-pc_trine_method jacobi",
                                          "-pc_trine_method alt-i"};
    Mat A;
    KSP ksp;
    PetscFunctionBeginUser;
    for (int size = 0; size < 3; size++) {
        for (int k = 0; k < 3; k++) {
            PetscCall(problem_laplace2d(PETSC_COMM_SELF, size, &A));
            PetscCall(make(A, methods[k], &ksp));
            PetscCall(solves(ksp, 4, "a small matrix"));
            PetscCall(KSPDestroy(&ksp));
            PetscCall(MatDestroy(&A));
        }
    }
    for (int k = 0; k < 8; k++) {
        PetscCall(problem_convection2d(PETSC_COMM_SELF, 8, &A));
        PetscCall(MatScale(A, scales[k / 4]));
        PetscCall(make(A, methods[k % 4], &ksp));
        PetscCall(solves(ksp, 100, methods[k % 4]));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(0);
}

/* Values that are not finite end the solve with a reason. */
static PetscErrorCode not_finite(const char *method)
{
    static const PetscScalar values[] = {INFINITY, NAN};
    Mat A;
    KSP ksp;
    Vec b, x;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    for (int k = 0; k < 4; k++) {
        PetscCall(problem_convection2d(PETSC_COMM_SELF, 6, &A));
        PetscCall(problem_rhs(A, &b));
        PetscCall(VecDuplicate(b, &x));
        if (k < 2) PetscCall(MatSetValue(A, 13, 13, values[k], INSERT_VALUES));
        else PetscCall(VecSetValue(b, 13, values[k - 2], INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
        PetscCall(VecAssemblyBegin(b));
        PetscCall(VecAssemblyEnd(b));
        PetscCall(make(A, method, &ksp));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        EXPECT(reason < 0, "%s, %s in the %s: %s", method, k % 2 ? "NaN" : "Inf", k < 2 ? "matrix" : "right-hand side",
               KSPConvergedReasons[reason]);
        PetscCall(KSPDestroy(&ksp));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&x));
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(0);
}

/* A diagonal entry that is not stored: nothing to a direct solve; ILU(0) ends with a reason. */
static PetscErrorCode no_diagonal(void)
{
    const PetscInt rows[2] = {0, 1};
    Mat A;
    KSP ksp;
    Vec b, x;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 1, NULL, &A));
    for (int k = 0; k < 2; k++) PetscCall(MatSetValue(A, rows[k], rows[1 - k], 2, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(make(A, "", &ksp));
    PetscCall(solves(ksp, 2, "no diagonal"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(make(A, "-pc_trine_method ilu0", &ksp));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    EXPECT(reason == KSP_DIVERGED_PC_FAILED, "no diagonal: %s", KSPConvergedReasons[reason]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Other types of matrices: solved right, or refused with an error. */
static PetscErrorCode other_types(void)
{
    static const MatType types[] = {MATSEQBAIJ, MATSEQSBAIJ, MATSEQDENSE, MATSEQAIJPERM};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        Mat aij, A;
        KSP ksp;
        PetscFunctionBeginUser;
        PetscCall(problem_elasticity2d(PETSC_COMM_SELF, 5, &aij));
#ifdef PETSC_USE_COMPLEX
        if (strcmp(types[k], MATSEQSBAIJ) == 0) {
            PetscCall(MatDestroy(&aij));
            continue; /* PETSc converts no Hermitian matrix to it */
        }
#endif
        PetscCall(MatSetOption(aij, MAT_SYMMETRIC, PetscDefined(USE_COMPLEX) ? PETSC_FALSE : PETSC_TRUE));
        PetscCall(MatConvert(aij, types[k], MAT_INITIAL_MATRIX, &A));
        PetscCall(make(A, "", &ksp));
        PetscCall(PetscPushErrorHandler(PetscIgnoreErrorHandler, NULL));
        const PetscErrorCode refused = KSPSetUp(ksp);
        PetscCall(PetscPopErrorHandler());
        if (!refused) PetscCall(solves(ksp, 2, types[k]));
        EXPECT(!refused || strcmp(types[k], MATSEQDENSE) == 0, "%s is refused with error %d", types[k], (int)refused);
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
        PetscCall(MatDestroy(&aij));
    }
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    PetscFunctionBeginUser;
    for (int time = 0; time < 2; time++) { /* PETSc ends and begins again in one program, and loads trine twice */
        PetscCall(PetscInitialize(&argc, &argv, NULL, "PCs of type trine"));
        PetscCall(PetscLogDefaultBegin());
        PetscCall(several());
        if (time == 0) {
            PetscCall(analysis(""));
            PetscCall(analysis("-pc_trine_method ilu0"));
            PetscCall(analysis("-pc_trine_method jacobi"));
            PetscCall(changes());
            PetscCall(right_hand_sides());
            PetscCall(sizes());
            PetscCall(not_finite(""));
            PetscCall(not_finite("-pc_trine_method ilu0"));
            PetscCall(not_finite("-pc_trine_method jacobi"));
            PetscCall(no_diagonal());
            PetscCall(other_types());
        }
        PetscCall(PetscFinalize());
    }
    const int failed = expect_end("test_life");
    MPI_Finalize();
    return failed;
}
