/* trine as the sub-solver of PETSc's own preconditioners, beside PETSc's sub-solver: the same iteration counts, within
   one, and the same solutions, for the first values, after MatScale and after a new pattern. The program is not linked
   with trine. */
#include "problems.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PETSC_USE_COMPLEX /* PETSc's Cholesky and ICC take symmetric complex matrices, not Hermitian ones */
#define ICC "ilu"
#define CHOLESKY "lu"
#else
#define ICC "icc"
#define CHOLESKY "cholesky"
#endif

enum { AS_MANY, FEWER }; /* iterations of ours; FEWER where PETSc has no such method, and theirs is a simpler one */

static const struct example {
    problem create;
    PetscInt size;
    const char *common, *theirs, *ours;
    int kind;
} examples[] = {
    {problem_laplace2d, 24, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type " ICC,
     "-sub_pc_type trine -sub_pc_trine_method ic0", AS_MANY},
    {problem_laplace2d, 24, "-ksp_type gmres -pc_type asm -pc_asm_overlap 2", "-sub_pc_type lu", "-sub_pc_type trine",
     AS_MANY},
#ifndef PETSC_USE_COMPLEX /* whose constant vectors are not those of these matrices */
    {problem_laplace2d, 24, "-ksp_type cg -pc_type gamg", "-mg_coarse_sub_pc_type lu", "-mg_coarse_sub_pc_type trine",
     AS_MANY},
#endif
    {problem_laplace2d, 24, "-ksp_type cg -pc_type bjacobi", "-pc_bjacobi_blocks 24 -sub_pc_type lu",
     "-sub_pc_type trine -sub_pc_trine_method tridiag",
     AS_MANY}, /* the tridiagonal part of such a matrix: a block for each line of the grid */
    {problem_laplace3d, 8, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type " CHOLESKY, "-sub_pc_type trine", AS_MANY},
    {problem_laplace3d, 8, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_laplace3d, 8, "-ksp_type bcgs -pc_type asm", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_laplace3d, 8, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type jacobi",
     "-sub_pc_type trine -sub_pc_trine_method jacobi", AS_MANY},
    {problem_laplace3d, 8, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type none",
     "-sub_pc_type trine -sub_pc_trine_method none", AS_MANY},
    {problem_convection2d, 24, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_convection2d, 24, "-ksp_type fgmres -pc_type asm -pc_asm_type basic", "-sub_pc_type lu",
     "-sub_pc_type trine", AS_MANY},
    {problem_convection2d, 24, "-ksp_type bicg -pc_type bjacobi", "-sub_pc_type lu", "-sub_pc_type trine",
     AS_MANY}, /* needs the transpose */
    {problem_convection2d, 24, "-ksp_type bicg -pc_type bjacobi", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_convection2d, 24, "-ksp_type gmres -ksp_pc_side right -pc_type bjacobi", "-sub_pc_type lu",
     "-sub_pc_type trine", AS_MANY},
    {problem_elasticity2d, 12, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type " CHOLESKY, "-sub_pc_type trine",
     AS_MANY},
    {problem_elasticity2d, 12, "-ksp_type gmres -pc_type asm", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_elasticity2d, 12,
     "-ksp_type gmres -pc_type fieldsplit -pc_fieldsplit_type multiplicative -fieldsplit_pc_type bjacobi",
     "-fieldsplit_0_sub_pc_type lu -fieldsplit_1_sub_pc_type ilu",
     "-fieldsplit_0_sub_pc_type trine -fieldsplit_1_sub_pc_type trine -fieldsplit_1_sub_pc_trine_method ilu0", AS_MANY},
    {problem_laplace3d, 8, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type " ICC,
     "-sub_pc_type icc -sub_pc_factor_mat_solver_type trine", AS_MANY},
    {problem_elasticity2d, 12, "-ksp_type cg -pc_type bjacobi", "-sub_pc_type " CHOLESKY,
     "-sub_pc_type cholesky -sub_pc_factor_mat_solver_type trine", AS_MANY},
    {problem_elasticity2d, 12, "-ksp_type gmres -pc_type asm", "-sub_pc_type lu",
     "-sub_pc_type lu -sub_pc_factor_mat_solver_type trine", AS_MANY},
    {problem_convection2d, 24, "-ksp_type bicg -pc_type bjacobi", "-sub_pc_type ilu",
     "-sub_pc_type ilu -sub_pc_factor_mat_solver_type trine", AS_MANY},
    {problem_convection2d, 24, "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_local_blocks 3", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY}, /* several on a rank */
    {problem_laplace2d, 24, "-ksp_type fgmres -pc_type bjacobi -sub_ksp_type gmres -sub_ksp_max_it 3",
     "-sub_pc_type ilu", "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_one_rank, 16, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
    {problem_one_rank, 16, "-ksp_type gmres -pc_type asm", "-sub_pc_type lu", "-sub_pc_type trine", AS_MANY},
    {problem_laplace2d, 24, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type none",
     "-sub_pc_type trine -sub_pc_trine_method mos-d", FEWER},
    {problem_laplace2d, 24, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type jacobi",
     "-sub_pc_type trine -sub_pc_trine_method alt-i -sub_pc_trine_m 4", FEWER},
    {problem_convection2d, 24, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type jacobi",
     "-sub_pc_type trine -sub_pc_trine_method isai", FEWER},
    {problem_convection2d, 24, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type jacobi",
     "-sub_pc_type trine -sub_pc_trine_method alg-tri", FEWER},
    {problem_file, 0, "-ksp_type gmres -pc_type bjacobi", "-sub_pc_type lu", "-sub_pc_type trine", AS_MANY},
    {problem_file, 0, "-ksp_type gmres -pc_type asm", "-sub_pc_type ilu",
     "-sub_pc_type trine -sub_pc_trine_method ilu0", AS_MANY},
};

static PetscErrorCode make_solver(Mat A, const char *prefix, const char *common, const char *own, KSP *ksp)
{
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsPrefixPush(NULL, prefix));
    PetscCall(PetscOptionsInsertString(NULL, "-ksp_rtol 1e-10 -ksp_max_it 500 -ksp_gmres_restart 60"));
    PetscCall(PetscOptionsInsertString(NULL, common));
    PetscCall(PetscOptionsInsertString(NULL, own));
    PetscCall(PetscOptionsPrefixPop(NULL));
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(0);
}

/* Does the description of the solver name trine? On the first rank; elsewhere what is expected. */
static PetscErrorCode names_trine(KSP ksp, int expected, int *does)
{
    char *text = NULL;
    size_t size;
    PetscMPIInt rank;
    PetscViewer viewer;
    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    FILE *file = open_memstream(&text, &size);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
    PetscCall(KSPView(ksp, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    fclose(file);
    *does = rank == 0 ? strstr(text, "trine") != NULL : expected;
    free(text);
    PetscFunctionReturn(0);
}

static PetscErrorCode compare(const struct example *e, const char *stage, KSP theirs, KSP ours, Vec b, Vec x[2])
{
    KSPConvergedReason reason[2];
    PetscInt iterations[2];
    PetscReal relative;
    int named;
    PetscFunctionBeginUser;
    for (int k = 0; k < 2; k++) {
        const KSP ksp = k == 0 ? theirs : ours;
        PetscCall(VecSet(x[k], 0));
        PetscCall(KSPSolve(ksp, b, x[k]));
        PetscCall(KSPGetConvergedReason(ksp, &reason[k]));
        PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
        PetscCall(names_trine(ksp, k, &named));
        EXPECT(named == k, "%s %s: the view %s trine", e->common, k ? e->ours : e->theirs,
               named ? "names" : "does not name");
    }
    const int as_many = labs((long)iterations[1] - (long)iterations[0]) <= 1;
    EXPECT(reason[0] > 0 && reason[1] > 0, "%s %s: reasons %s and %s", e->ours, stage, KSPConvergedReasons[reason[0]],
           KSPConvergedReasons[reason[1]]);
    EXPECT(e->kind == FEWER ? iterations[1] < iterations[0] : as_many,
           "%s %s, %s: %d iterations, PETSc's sub-solver %d", e->common, e->ours, stage, (int)iterations[1],
           (int)iterations[0]);
    PetscCall(difference(x[0], x[1], &relative));
    EXPECT(relative <= 1e-6, "%s %s, %s: solutions differ by %g", e->common, e->ours, stage, (double)relative);
    if (getenv("TRINE_TEST_VERBOSE"))
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-50s %-60s %-12s %3d %3d %.1e\n", e->common, e->ours, stage,
                              (int)iterations[0], (int)iterations[1], (double)relative));
    PetscFunctionReturn(0);
}

static PetscErrorCode run(const struct example *e, int number)
{
    char prefix[2][32];
    Mat A;
    Vec b, x[2];
    KSP theirs, ours;
    PetscFunctionBeginUser;
    snprintf(prefix[0], sizeof prefix[0], "theirs%d_", number);
    snprintf(prefix[1], sizeof prefix[1], "ours%d_", number);
    PetscCall(e->create(PETSC_COMM_WORLD, e->size, &A));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x[0]));
    PetscCall(VecDuplicate(b, &x[1]));
    PetscCall(make_solver(A, prefix[0], e->common, e->theirs, &theirs));
    PetscCall(make_solver(A, prefix[1], e->common, e->ours, &ours));
    PetscCall(compare(e, "first values", theirs, ours, b, x));
    PetscCall(MatScale(A, 3));
    PetscCall(compare(e, "scaled", theirs, ours, b, x));
    PetscCall(MatShift(A, 0.5));
    PetscCall(compare(e, "shifted", theirs, ours, b, x));
    if (!strstr(e->ours, "tridiag")) { /* which would not be the lines of the grid any more */
        PetscCall(problem_new_pattern(A));
        PetscCall(compare(e, "new pattern", theirs, ours, b, x));
    }
    PetscCall(KSPDestroy(&theirs));
    PetscCall(KSPDestroy(&ours));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "trine as the sub-solver, beside PETSc's"));
    PetscBool file;
    PetscCall(PetscOptionsHasName(NULL, NULL, "-matrix", &file));
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (file || examples[i].create != problem_file) PetscCall(run(&examples[i], (int)i));
    }
    const int failed = expect_end("test_linear");
    PetscCall(PetscFinalize());
    return failed;
}
