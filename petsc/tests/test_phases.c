/* MatSolverType "trine" where it differs from PETSc's own: its orderings, shifts, inertia, refusals, new patterns, and
   PETSc's factor with trine's solves. On one rank; without trine in sight, as the programs of its users. */
#include "problems.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const PetscReal eps = PETSC_MACHINE_EPSILON;

/* ------------------------------------------------------------------- tools */

static char caught[2048];

static PetscErrorCode keep_sentence(MPI_Comm comm, int line, const char *function, const char *file,
                                    PetscErrorCode code, PetscErrorType type, const char *message, void *context)
{
    (void)comm, (void)line, (void)function, (void)file, (void)context;
    if (type == PETSC_ERROR_INITIAL) PetscStrncpy(caught, message ? message : "", sizeof caught);
    return code;
}

/* call ends with an error whose sentence has `words`. */
#define EXPECT_ERROR(words, call)                                                                   \
    do {                                                                                            \
        caught[0] = 0;                                                                              \
        PetscCall(PetscPushErrorHandler(keep_sentence, NULL));                                      \
        const PetscErrorCode expected_error = (call);                                               \
        PetscCall(PetscPopErrorHandler());                                                          \
        EXPECT(expected_error && strstr(caught, words), "error %d: %s", (int)expected_error, caught); \
    } while (0)

typedef struct {
    MatFactorType kind;
    const char *ordering; /* NULL: trine's own */
    const char *options; /* with the prefix that `prefix` is */
    MatFactorInfo info;
    Mat F;
} factor;

static const char *prefix = "f_";

/* Up to the numeric part. */
static PetscErrorCode symbolic(factor *f, Mat A)
{
    IS rows = NULL, columns = NULL;
    PetscFunctionBeginUser;
    f->info.fill = 1;
    PetscCall(PetscOptionsInsertString(NULL, f->options ? f->options : ""));
    PetscCall(MatSetOptionsPrefixFactor(A, prefix));
    PetscCall(MatGetFactor(A, "trine", f->kind, &f->F));
    if (f->ordering) PetscCall(MatGetOrdering(A, f->ordering, &rows, &columns));
    PetscErrorCode error = 0;
    switch (f->kind) {
    case MAT_FACTOR_LU: error = MatLUFactorSymbolic(f->F, A, rows, columns, &f->info); break;
    case MAT_FACTOR_CHOLESKY: error = MatCholeskyFactorSymbolic(f->F, A, rows, &f->info); break;
    case MAT_FACTOR_ILU: error = MatILUFactorSymbolic(f->F, A, rows, columns, &f->info); break;
    default: error = MatICCFactorSymbolic(f->F, A, rows, &f->info);
    }
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    PetscFunctionReturn(error);
}

static PetscErrorCode numeric(factor *f, Mat A)
{
    PetscFunctionBeginUser;
    if (f->kind == MAT_FACTOR_LU || f->kind == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(f->F, A, &f->info));
    else PetscCall(MatCholeskyFactorNumeric(f->F, A, &f->info));
    PetscFunctionReturn(0);
}

static PetscErrorCode start(factor *f, Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(symbolic(f, A));
    PetscCall(numeric(f, A));
    PetscFunctionReturn(0);
}

static PetscErrorCode finish(factor *f)
{
    PetscFunctionBeginUser;
    PetscCall(MatDestroy(&f->F));
    PetscCall(PetscOptionsClear(NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode expect_failure(const char *what, const factor *f, MatFactorError expected, PetscInt row)
{
    MatFactorError error;
    PetscReal pivot;
    PetscInt at;
    PetscFunctionBeginUser;
    PetscCall(MatFactorGetError(f->F, &error));
    EXPECT(error == expected, "%s: the factorization ends with %d, not %d", what, (int)error, (int)expected);
    if (!error || row < 0) PetscFunctionReturn(0);
    PetscCall(MatFactorGetErrorZeroPivot(f->F, &pivot, &at));
    EXPECT(at == row, "%s: row %d, not %d", what, (int)at, (int)row);
    PetscFunctionReturn(0);
}

/* The normwise backward errors of A x = b and A^T x = b. */
static PetscErrorCode expect_inverse(const char *what, const factor *f, Mat A)
{
    Vec b, x, r;
    PetscBool has;
    PetscReal norm, x_norm, b_norm, r_norm;
    PetscFunctionBeginUser;
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
    PetscCall(VecNorm(b, NORM_2, &b_norm));
    for (int transposed = 0; transposed < 2; transposed++) {
        PetscCall(transposed ? MatSolveTranspose(f->F, b, x) : MatSolve(f->F, b, x));
        PetscCall(MatHasOperation(A, MATOP_MULT_TRANSPOSE, &has));
        if (transposed && !has) { /* of a Hermitian one: A^T x is the conjugate of A conj(x) */
            PetscCall(VecConjugate(x));
            PetscCall(MatMult(A, x, r));
            PetscCall(VecConjugate(r));
        } else {
            PetscCall(transposed ? MatMultTranspose(A, x, r) : MatMult(A, x, r));
        }
        PetscCall(VecAYPX(r, -1, b));
        PetscCall(VecNorm(x, NORM_2, &x_norm));
        PetscCall(VecNorm(r, NORM_2, &r_norm));
        EXPECT(r_norm <= 20 * eps * (norm * x_norm + b_norm), "%s, transposed %d: backward error %g eps", what,
               transposed, (double)(r_norm / (norm * x_norm + b_norm) / eps));
    }
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------- PETSc's factor, trine's solves */

static PetscErrorCode compare(const char *what, Mat F, Mat theirs, Mat A)
{
    Vec b, x, y, z;
    PetscReal relative;
    PetscFunctionBeginUser;
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(VecDuplicate(b, &z));
    for (int transposed = 0; transposed < 2; transposed++) {
        PetscCall(transposed ? MatSolveTranspose(F, b, x) : MatSolve(F, b, x));
        PetscCall(transposed ? MatSolveTranspose(theirs, b, y) : MatSolve(theirs, b, y));
        PetscCall(difference(y, x, &relative));
        EXPECT(relative <= 1e3 * eps, "%s, transposed %d: differs by %g", what, transposed, (double)relative);
    }
    PetscCall(MatForwardSolve(F, b, z));
    PetscCall(MatBackwardSolve(F, z, x));
    PetscCall(MatSolve(theirs, b, y));
    PetscCall(difference(y, x, &relative));
    EXPECT(relative <= 1e3 * eps, "%s, by halves: differs by %g", what, (double)relative);
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

static PetscErrorCode factor_of_petsc(problem create, PetscInt levels, const char *ordering)
{
    factor f = {.kind = MAT_FACTOR_ILU,
                .ordering = ordering,
                .options = "-f_mat_trine_petsc_factor",
                .info = {.levels = (PetscReal)levels}};
    char what[64];
    Mat A, theirs;
    IS rows, columns;
    MatInfo ours, info;
    PetscFunctionBeginUser;
    PetscCall(
        PetscSNPrintf(what, sizeof what, "PETSc's ILU(%d), ordering %s", (int)levels, ordering ? ordering : "none"));
    PetscCall(create(PETSC_COMM_SELF, 14, &A));
    PetscCall(start(&f, A));
    PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_ILU, &theirs));
    PetscCall(MatGetOrdering(A, ordering ? ordering : MATORDERINGNATURAL, &rows, &columns));
    PetscCall(MatILUFactorSymbolic(theirs, A, rows, columns, &f.info));
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    for (int round = 0; round < 3; round++) {
        if (round) PetscCall(MatScale(A, round == 1 ? 1e-20 : 1e25));
        if (round == 2) PetscCall(MatShift(A, 1e5));
        if (round) PetscCall(numeric(&f, A));
        PetscCall(MatLUFactorNumeric(theirs, A, &f.info));
        PetscCall(compare(what, f.F, theirs, A));
    }
    PetscCall(MatGetInfo(f.F, MAT_LOCAL, &ours));
    PetscCall(MatGetInfo(theirs, MAT_LOCAL, &info));
    EXPECT(ours.nz_used == info.nz_used, "%s: %g entries instead of %g", what, ours.nz_used, info.nz_used);
    PetscCall(MatDestroy(&theirs));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* The factor breaks down as PETSc says it does, and goes on with better values. */
static PetscErrorCode factor_of_petsc_singular(void)
{
    factor f = {.kind = MAT_FACTOR_ILU, .options = "-f_mat_trine_petsc_factor"};
    const PetscInt row = 7;
    Mat A;
    Vec b, x;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 6, &A));
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRows(A, 1, &row, 0, NULL, NULL));
    PetscCall(start(&f, A));
    PetscCall(expect_failure("PETSc's ILU", &f, MAT_FACTOR_NUMERIC_ZEROPIVOT, row));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(MatSolve(f.F, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    EXPECT(PetscIsInfOrNanReal(norm), "a solve without factor has a solution of norm %g", (double)norm);
    PetscCall(MatShift(A, 5));
    PetscCall(numeric(&f, A));
    PetscCall(expect_failure("PETSc's ILU, good values", &f, MAT_FACTOR_NOERROR, -1));
    PetscCall(MatSolve(f.F, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    EXPECT(!PetscIsInfOrNanReal(norm), "a solve with the factor has a solution of norm %g", (double)norm);
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* --------------------------------------------------------------- orderings */

static PetscErrorCode orderings(void)
{
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 9, &A));
    for (int k = 0; k < 4; k++) {
        static const char *const names[] = {NULL, MATORDERINGNATURAL, MATORDERINGND, MATORDERINGRCM};
        factor f = {.kind = MAT_FACTOR_LU, .ordering = names[k]};
        PetscCall(start(&f, A));
        PetscCall(expect_inverse(names[k] ? names[k] : "trine's ordering", &f, A));
        PetscCall(finish(&f));
    }
    factor both = {.kind = MAT_FACTOR_LU, .ordering = MATORDERINGND, .options = "-f_mat_trine_ordering amd"};
    EXPECT_ERROR("one of them", symbolic(&both, A));
    PetscCall(finish(&both));
    factor ilu = {.kind = MAT_FACTOR_ILU, .ordering = MATORDERINGRCM};
    EXPECT_ERROR("keeps the order of the rows", symbolic(&ilu, A));
    PetscCall(finish(&ilu));
    factor icc = {.kind = MAT_FACTOR_ICC, .info = {.levels = 1}};
    EXPECT_ERROR("ICC factor without fill", symbolic(&icc, A));
    PetscCall(finish(&icc));
    factor filled = {.kind = MAT_FACTOR_ILU, .info = {.diagonal_fill = 1}};
    EXPECT_ERROR("adds no entries to the diagonal", symbolic(&filled, A));
    PetscCall(finish(&filled));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------- patterns and values */

/* How often trine has analysed. */
static PetscErrorCode analyses(PetscInt *count)
{
    PetscLogEvent event;
    PetscEventPerfInfo info;
    PetscFunctionBeginUser;
    PetscCall(PetscLogEventGetId("TrineSetUp", &event));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    *count = info.count;
    PetscFunctionReturn(0);
}

/* New values in the same pattern keep the analysis; `flag` is what the program says of the matrix. */
static PetscErrorCode new_values(problem create, MatType type, MatFactorType kind, MatOption flag)
{
    factor f = {.kind = kind};
    char what[64];
    PetscInt before, after;
    Mat aij, A;
    PetscFunctionBeginUser;
    PetscCall(PetscSNPrintf(what, sizeof what, "%s of %s, new values", MatFactorTypes[kind], type));
    PetscCall(create(PETSC_COMM_SELF, 7, &aij));
    PetscCall(MatSetOption(aij, flag, PETSC_TRUE));
    PetscCall(MatConvert(aij, type, MAT_INITIAL_MATRIX, &A));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(MatShift(A, PetscCMPLX(0, 1e-17))); /* as rounding leaves it */
#endif
    PetscCall(MatSetOption(A, flag, PETSC_TRUE));
    PetscCall(start(&f, A));
    PetscCall(analyses(&before));
    for (int round = 0; round < 3; round++) {
        if (kind == MAT_FACTOR_LU || kind == MAT_FACTOR_CHOLESKY) PetscCall(expect_inverse(what, &f, A));
        if (round == 0) PetscCall(analyses(&before)); /* a transposed solve may have made one */
        PetscCall(MatScale(A, 1.5));
        PetscCall(MatShift(A, 0.5));
        PetscCall(numeric(&f, A));
    }
    PetscCall(analyses(&after));
    EXPECT(before == after, "%s: analysed %d times more", what, (int)(after - before));
    PetscCall(MatDestroy(&aij));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

static PetscErrorCode patterns(MatFactorType kind, const char *options)
{
    factor f = {.kind = kind, .options = options};
    Mat A, other;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 8, &A));
    PetscCall(start(&f, A));
    PetscCall(problem_new_pattern(A));
    PetscCall(numeric(&f, A));
    if (kind == MAT_FACTOR_LU) PetscCall(expect_inverse("a new pattern", &f, A));
    /* Another matrix, of another pattern with as many entries: the transpose. */
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &other));
    PetscCall(numeric(&f, other));
    factor fresh = {.kind = kind, .options = options};
    PetscCall(start(&fresh, other));
    PetscCall(compare("a factor that was another matrix's", f.F, fresh.F, other));
    if (kind == MAT_FACTOR_LU) PetscCall(expect_inverse("another matrix", &f, other));
    PetscCall(finish(&fresh));
    /* The same object with another pattern of as many entries. */
    PetscCall(MatTranspose(other, MAT_INPLACE_MATRIX, &other));
    PetscCall(numeric(&f, other));
    PetscCall(start(&fresh, other));
    PetscCall(compare("a factor of the transpose", f.F, fresh.F, other));
    PetscCall(finish(&fresh));
    PetscCall(MatDestroy(&other));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* The program says that the matrix is Hermitian, does so no more with a new pattern, and says it again. */
static PetscErrorCode flag_and_pattern(void)
{
    factor f = {.kind = MAT_FACTOR_CHOLESKY};
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 8, &A));
    for (int round = 0; round < 3; round++) {
        if (round == 1) PetscCall(problem_new_pattern(A));
        PetscCall(MatSetOption(A, MAT_HERMITIAN, round == 1 ? PETSC_FALSE : PETSC_TRUE));
        PetscCall(round ? numeric(&f, A) : start(&f, A));
        PetscCall(expect_inverse("Cholesky of a matrix that is called Hermitian at times", &f, A));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

static PetscErrorCode small(PetscInt n)
{
    static const MatFactorType kinds[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
    PetscFunctionBeginUser;
    for (int k = 0; k < 4; k++) {
        factor f = {.kind = kinds[k]};
        Mat A;
        PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 1, NULL, &A));
        for (PetscInt i = 0; i < n; i++) PetscCall(MatSetValue(A, i, i, 3, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
        PetscCall(start(&f, A));
        PetscCall(expect_inverse("a small matrix", &f, A));
        PetscCall(MatDestroy(&A));
        PetscCall(finish(&f));
    }
    PetscFunctionReturn(0);
}

/* The upper triangle alone is stored: of blocks, and of a complex matrix that is symmetric, not Hermitian. */
static PetscErrorCode triangles(MatFactorType kind, PetscInt block)
{
    factor f = {.kind = kind};
    const PetscInt n = 24;
    PetscScalar phase = 1;
    Mat A;
    PetscFunctionBeginUser;
#if defined(PETSC_USE_COMPLEX)
    phase = PetscCMPLX(0.6, 0.8);
#endif
    PetscCall(MatCreateSeqSBAIJ(PETSC_COMM_SELF, block, n, n, 8, NULL, &A));
    PetscCall(MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
    for (PetscInt i = 0; i < n; i++)
        for (PetscInt j = i / block * block; j < n; j++)
            if (j == i || j == i + 1 || j == i + 6) PetscCall(MatSetValue(A, i, j, i == j ? 5 : -phase, INSERT_VALUES));
            else if (j < i / block * block + block)
                PetscCall(MatSetValue(A, i, j, j == i - 1 ? -phase : 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(start(&f, A));
    PetscCall(expect_inverse("a matrix of type sbaij", &f, A));
    PetscCall(MatScale(A, phase));
    PetscCall(numeric(&f, A));
    PetscCall(expect_inverse("a matrix of type sbaij, scaled", &f, A));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* ICC takes Hermitian matrices, by their values or because the program says so. */
static PetscErrorCode icc_of_symmetric(MatType type)
{
#if defined(PETSC_USE_COMPLEX)
    factor f = {.kind = MAT_FACTOR_ICC}, again = f;
    const PetscScalar entries[2][2] = {{5, PETSC_i}, {PETSC_i, 5}};
    const PetscInt rows[2] = {0, 1};
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetSizes(A, 2, 2, 2, 2));
    PetscCall(MatSetType(A, type));
    PetscCall(MatSetUp(A));
    if (strcmp(type, MATSEQSBAIJ) == 0) PetscCall(MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
    PetscCall(MatSetValues(A, 2, rows, 2, rows, entries[0], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(symbolic(&f, A));
    EXPECT_ERROR("Hermitian", numeric(&f, A));
    PetscCall(finish(&f));
    PetscCall(MatRealPart(A));
    PetscCall(start(&again, A));
    PetscCall(expect_failure("ICC of a real matrix", &again, MAT_FACTOR_NOERROR, -1));
    PetscCall(finish(&again));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
#else
    (void)type;
    return 0;
#endif
}

/* ------------------------------------------------------------ several right-hand sides */

static PetscErrorCode sparse_rhs(void)
{
    enum { COLUMNS = 4 };
    factor f = {.kind = MAT_FACTOR_LU};
    PetscInt n;
    Mat A, Bt, X;
    Vec b, y;
    PetscReal relative;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 7, &A));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(start(&f, A));
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, COLUMNS, n, 3, NULL, &Bt));
    for (PetscInt j = 0; j < COLUMNS; j++)
        for (PetscInt k = 0; k < j; k++)
            PetscCall(MatSetValue(Bt, j, (j * 11 + k * 5) % n, 1 + (PetscReal)k, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(Bt, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(Bt, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, COLUMNS, NULL, &X));
    PetscCall(MatMatTransposeSolve(f.F, Bt, X));
    PetscCall(MatCreateVecs(A, &b, &y));
    for (PetscInt j = 1; j < COLUMNS; j++) {
        Vec x;
        PetscCall(VecSet(b, 0));
        for (PetscInt k = 0; k < j; k++)
            PetscCall(VecSetValue(b, (j * 11 + k * 5) % n, 1 + (PetscReal)k, INSERT_VALUES));
        PetscCall(VecAssemblyBegin(b));
        PetscCall(VecAssemblyEnd(b));
        PetscCall(MatSolve(f.F, b, y));
        PetscCall(MatDenseGetColumnVecRead(X, j, &x));
        PetscCall(difference(y, x, &relative));
        PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
        EXPECT(relative <= 1e3 * eps, "column %d of a sparse right-hand side differs by %g", (int)j, (double)relative);
    }
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Bt));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------ pivots */

/* Symmetric, with a diagonal that outweighs the rest of each row and is negative in every third: so many
 * eigenvalues. */
static PetscErrorCode indefinite(PetscInt size, Mat *K)
{
    Mat B;
    PetscInt n;
    PetscFunctionBeginUser;
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, size, &B));
    PetscCall(MatGetSize(B, &n, NULL));
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, K));
    for (PetscInt i = 0; i < n; i++) {
        const PetscInt *columns;
        PetscInt count;
        PetscCall(MatGetRow(B, i, &count, &columns, NULL));
        for (PetscInt k = 0; k < count; k++) {
            const PetscReal v = columns[k] != i ? -0.5 : i % 3 ? 4 : -4;
            PetscCall(MatSetValue(*K, i, columns[k], v, INSERT_VALUES));
        }
        PetscCall(MatRestoreRow(B, i, &count, &columns, NULL));
    }
    PetscCall(MatAssemblyBegin(*K, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*K, MAT_FINAL_ASSEMBLY));
    PetscCall(MatDestroy(&B));
    PetscFunctionReturn(0);
}

static PetscErrorCode inertia(void)
{
    factor ldl = {.kind = MAT_FACTOR_CHOLESKY, .options = "-f_mat_trine_factorization ldl"},
           lu = {.kind = MAT_FACTOR_CHOLESKY, .options = "-f_mat_trine_factorization lu"},
           definite = {.kind = MAT_FACTOR_CHOLESKY};
    PetscInt negative, zero, positive, n;
    Mat K, A;
    PetscFunctionBeginUser;
    PetscCall(indefinite(6, &K));
    PetscCall(MatGetSize(K, &n, NULL));
    PetscCall(start(&ldl, K));
    PetscCall(expect_inverse("L D L^H", &ldl, K));
    PetscCall(MatGetInertia(ldl.F, &negative, &zero, &positive));
    EXPECT(negative == (n + 2) / 3 && zero == 0 && negative + positive == n, "inertia %d, %d, %d of %d rows",
           (int)negative, (int)zero, (int)positive, (int)n);
    PetscCall(finish(&ldl));
    PetscCall(start(&lu, K));
    EXPECT_ERROR("the inertia is not known", MatGetInertia(lu.F, &negative, &zero, &positive));
    PetscCall(finish(&lu));
    PetscCall(MatDestroy(&K));
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 6, &A));
    PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(start(&definite, A));
    PetscCall(expect_inverse("L L^H", &definite, A));
    PetscCall(MatScale(A, 3));
    PetscCall(numeric(&definite, A));
    PetscCall(expect_inverse("L L^H of new values", &definite, A));
    PetscCall(MatGetInertia(definite.F, &negative, &zero, &positive));
    EXPECT(negative == 0 && zero == 0 && positive == n, "inertia %d, %d, %d of %d rows, positive definite",
           (int)negative, (int)zero, (int)positive, (int)n);
    PetscCall(finish(&definite));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Row and column 5 are zero. */
static PetscErrorCode singular(MatFactorType kind, MatFactorShiftType shift, PetscReal amount)
{
    factor f = {.kind = kind, .info = {.shifttype = (PetscReal)shift, .shiftamount = amount}};
    const PetscInt row = 5;
    const PetscBool shifted = shift != MAT_SHIFT_NONE;
    char what[64];
    Mat A;
    Vec b, x;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(PetscSNPrintf(what, sizeof what, "%s, shift %s", MatFactorTypes[kind], MatFactorShiftTypes[shift]));
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 6, &A));
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRowsColumns(A, 1, &row, 0, NULL, NULL));
    PetscCall(start(&f, A));
    PetscCall(expect_failure(what, &f, shifted ? MAT_FACTOR_NOERROR : MAT_FACTOR_NUMERIC_ZEROPIVOT, row));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(MatSolve(f.F, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    EXPECT(!shifted == (PetscIsInfOrNanReal(norm) != 0), "%s: a solution of norm %g", what, (double)norm);
    if (!shifted) {
        PetscCall(MatSetErrorIfFailure(f.F, PETSC_TRUE));
        EXPECT_ERROR("row 5", numeric(&f, A));
        PetscCall(MatSetErrorIfFailure(f.F, PETSC_FALSE));
    }
    PetscCall(MatShift(A, 3)); /* regular, and no shift is left */
    PetscCall(numeric(&f, A));
    PetscCall(expect_failure(what, &f, MAT_FACTOR_NOERROR, -1));
    if (kind == MAT_FACTOR_LU || kind == MAT_FACTOR_CHOLESKY) PetscCall(expect_inverse(what, &f, A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

static PetscErrorCode not_finite(MatFactorType kind)
{
    factor f = {.kind = kind};
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 5, &A));
    PetscCall(start(&f, A));
    PetscCall(MatSetValue(A, 3, 3, NAN, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(numeric(&f, A));
    PetscCall(expect_failure("a NaN", &f, MAT_FACTOR_OTHER, -1));
    PetscCall(MatSetValue(A, 3, 3, 4, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(numeric(&f, A));
    PetscCall(expect_failure("after a NaN", &f, MAT_FACTOR_NOERROR, -1));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* -------------------------------------------------------------------- view */

static PetscErrorCode expect_view(Mat F, const char *words)
{
    char *text = NULL;
    size_t size;
    PetscViewer viewer;
    PetscFunctionBeginUser;
    FILE *file = open_memstream(&text, &size);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
    PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
    PetscCall(MatView(F, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    fclose(file);
    EXPECT(strstr(text, words), "no '%s' in the view:\n%s", words, text);
    free(text);
    PetscFunctionReturn(0);
}

/* What is viewed, before and after another symbolic part with other options. */
static PetscErrorCode views(void)
{
    factor f = {.kind = MAT_FACTOR_LU};
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(problem_convection2d(PETSC_COMM_SELF, 6, &A));
    PetscCall(start(&f, A));
    PetscCall(expect_view(f.F, "cpu, 1 thread\n"));
    PetscCall(PetscOptionsInsertString(
        NULL, "-f_mat_trine_device cpu:2 -f_mat_trine_ordering natural -f_mat_trine_factorization lu-klu"));
    PetscCall(MatLUFactorSymbolic(f.F, A, NULL, NULL, &f.info));
    PetscCall(numeric(&f, A));
    PetscCall(expect_view(f.F, "cpu, 2 threads\n"));
    PetscCall(expect_view(f.F, "ordering natural"));
    PetscCall(expect_view(f.F, "lu-klu"));
    PetscCall(expect_inverse("LU with other options", &f, A));
    PetscCall(finish(&f));
    f.ordering = MATORDERINGND;
    PetscCall(start(&f, A));
    PetscCall(expect_view(f.F, "ordering given"));
    PetscCall(MatDestroy(&A));
    PetscCall(finish(&f));
    PetscFunctionReturn(0);
}

/* ---------------------------------------------------------------- in a PC */

/* Both halves of Cholesky around the matrix leave the identity. */
static PetscErrorCode symmetric_side(void)
{
    Mat A;
    Vec b, x, r;
    KSP ksp;
    PC pc;
    PetscInt its;
    PetscReal norm, b_norm;
    PetscFunctionBeginUser;
    PetscCall(problem_laplace2d(PETSC_COMM_SELF, 12, &A));
    PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(problem_rhs(A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPSetPCSide(ksp, PC_SYMMETRIC));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCCHOLESKY));
    PetscCall(PCFactorSetMatSolverType(pc, "trine"));
    PetscCall(KSPSetTolerances(ksp, 1e-10, 0, PETSC_DEFAULT, 20));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    EXPECT(its == 1, "%d steps with the halves of the factor on both sides", (int)its);
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &b_norm));
    EXPECT(norm <= 1e-10 * b_norm, "the residual is %g of the right-hand side", (double)(norm / b_norm));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static const MatFactorType kinds[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "factors by trine, phase by phase"));
    PetscCall(PetscLogDefaultBegin());
    for (PetscInt levels = 0; levels < 3; levels++) {
        PetscCall(factor_of_petsc(problem_convection2d, levels, NULL));
        PetscCall(factor_of_petsc(problem_convection2d, levels, MATORDERINGRCM));
        PetscCall(factor_of_petsc(problem_elasticity2d, levels, MATORDERINGND));
    }
    PetscCall(factor_of_petsc_singular());
    PetscCall(orderings());
    for (int k = 0; k < 4; k++) {
        PetscCall(new_values(problem_laplace2d, MATSEQAIJ, kinds[k], MAT_HERMITIAN));
        PetscCall(new_values(problem_elasticity2d, MATSEQAIJ, kinds[k], MAT_HERMITIAN));
        PetscCall(new_values(problem_laplace2d, MATSEQSBAIJ, kinds[k], MAT_HERMITIAN));
    }
    PetscCall(new_values(problem_convection2d, MATSEQAIJ, MAT_FACTOR_LU, MAT_STRUCTURALLY_SYMMETRIC));
    PetscCall(new_values(problem_convection2d, MATSEQAIJ, MAT_FACTOR_CHOLESKY, MAT_STRUCTURALLY_SYMMETRIC));
    PetscCall(patterns(MAT_FACTOR_LU, NULL));
    PetscCall(patterns(MAT_FACTOR_ILU, NULL));
    PetscCall(patterns(MAT_FACTOR_ILU, "-f_mat_trine_petsc_factor"));
    PetscCall(flag_and_pattern());
    for (PetscInt n = 0; n < 3; n++) PetscCall(small(n));
    for (PetscInt block = 1; block < 4; block++) {
        PetscCall(triangles(MAT_FACTOR_LU, block));
        PetscCall(triangles(MAT_FACTOR_CHOLESKY, block));
    }
    PetscCall(icc_of_symmetric(MATSEQAIJ));
    PetscCall(icc_of_symmetric(MATSEQSBAIJ));
    PetscCall(sparse_rhs());
    PetscCall(inertia());
    for (int k = 0; k < 4; k++) {
        PetscCall(singular(kinds[k], MAT_SHIFT_NONE, 0));
        PetscCall(singular(kinds[k], MAT_SHIFT_NONZERO, 1e-10));
        PetscCall(singular(kinds[k], MAT_SHIFT_INBLOCKS, 0));
        PetscCall(singular(kinds[k], MAT_SHIFT_POSITIVE_DEFINITE, 0));
        PetscCall(not_finite(kinds[k]));
    }
    PetscCall(views());
    PetscCall(symmetric_side());
    const int failed = expect_end("test_phases");
    PetscCall(PetscFinalize());
    return failed;
}
