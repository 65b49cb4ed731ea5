/* Solves with a factored matrix: whole ones, transposed ones, halves, several right-hand sides, and its inertia. */
#include "factor.h"

#include "errors.h"

/* --------------------------------------------------------------- triangles */

/** Of a direct factor. */
static PetscErrorCode MakeDirectTriangles(TrineFactor *f, unsigned ops)
{
    const TrineSolver *s = f->solver;
    trine_factor_info info;
    TrineFactorParts parts = {0};

    PetscFunctionBegin;
    TrineCall(trine_factor_get_info(s->factor, &info));
    parts.diag = info.diag_L;
    TrineCall(
        trine_factor_get_permutations(s->factor, &parts.row_perm, &parts.col_perm, &parts.row_scale, &parts.col_scale));
    TrineCall(trine_factor_get_triangle(s->factor, TRINE_LOWER, &parts.lower));
    if (parts.diag == TRINE_UNIT) TrineCall(trine_factor_get_triangle(s->factor, TRINE_UPPER, &parts.upper));
    PetscCall(TrineTrianglesCreate(&f->triangles, s->device.ctx, &parts, ops));
    TrineCall(trine_matrix_destroy(&parts.lower));
    TrineCall(trine_matrix_destroy(&parts.upper));
    PetscFunctionReturn(0);
}

/** Of trine's incomplete factor. */
static PetscErrorCode MakeIncompleteTriangles(TrineFactor *f, unsigned ops)
{
    const TrineSolver *s = f->solver;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    int64_t nnz;
    trine_matrix rows;

    PetscFunctionBegin;
    TrineCall(trine_precond_get_triangles(s->precond, &nnz, &offsets, &columns, &values));
    TrineCall(trine_matrix_csr(s->device.ctx, &rows, TRINE_PETSC_DTYPE, s->n, s->n, nnz, TRINE_HOST, 64, offsets, 32,
                               columns, values));
    const PetscBool cholesky = TrineOptionsPrecond(&s->options).method == TRINE_PRECOND_IC0;
    const TrineFactorParts parts = {
        .lower = rows, .upper = cholesky ? NULL : rows, .diag = cholesky ? TRINE_NONUNIT : TRINE_UNIT};
    PetscCall(TrineTrianglesCreate(&f->triangles, s->device.ctx, &parts, ops));
    TrineCall(trine_matrix_destroy(&rows));
    PetscFunctionReturn(0);
}

/** Of PETSc's factor. */
static PetscErrorCode MakePETScTriangles(TrineFactor *f, unsigned ops)
{
    TrineFactorParts parts = {.lower = f->rows, .upper = f->rows, .diag = TRINE_UNIT};
    int32_t *perm[2];
    const IS given[] = {f->row, f->column};
    const PetscInt n = f->solver->n;

    PetscFunctionBegin;
    PetscCall(PetscMalloc2(n, &perm[0], n, &perm[1]));
    for (int side = 0; side < 2; side++) {
        const PetscInt *order;
        PetscBool natural;
        PetscCall(ISIdentity(given[side], &natural));
        if (natural) continue;
        PetscCall(ISGetIndices(given[side], &order));
        for (PetscInt k = 0; k < n; k++) perm[side][k] = (int32_t)order[k];
        PetscCall(ISRestoreIndices(given[side], &order));
        *(side ? &parts.col_perm : &parts.row_perm) = perm[side];
    }
    PetscCall(TrineTrianglesCreate(&f->triangles, f->solver->device.ctx, &parts, ops));
    PetscCall(PetscFree2(perm[0], perm[1]));
    PetscFunctionReturn(0);
}

/** f->triangles, able to solve with op. */
static PetscErrorCode NeedTriangles(TrineFactor *f, trine_transpose op)
{
    PetscFunctionBegin;
    if (f->triangles.inverse && (f->triangle_ops & op)) PetscFunctionReturn(0);
    f->triangle_ops = f->triangles.inverse ? f->triangle_ops | op : op;
    if (f->by_petsc) PetscCall(MakePETScTriangles(f, f->triangle_ops));
    else if (f->solver->direct) PetscCall(MakeDirectTriangles(f, f->triangle_ops));
    else PetscCall(MakeIncompleteTriangles(f, f->triangle_ops));
    PetscFunctionReturn(0);
}

/** An operator that has op(A)^-1 in *inverse, or NULL after a breakdown. */
static PetscErrorCode FindInverse(Mat F, trine_transpose op, trine_op *inverse)
{
    TrineFactor *f = TrineFactorOf(F);
    TrineSolver *s = f->solver;

    PetscFunctionBegin;
    *inverse = NULL;
    if (!s->ready || !s->n) PetscFunctionReturn(0);
    if (op == TRINE_T && s->factor) PetscCall(TrineSolverAddTranspose(s, NULL)); /* from the factor that is there */
    const PetscBool has_plan = !f->by_petsc && (s->ops & op);
    if (!has_plan) PetscCall(NeedTriangles(f, op));
    *inverse = has_plan ? s->inverse[0] : f->triangles.inverse;
    PetscFunctionReturn(0);
}

/* ----------------------------------------------------------- one right-hand side */

static PetscErrorCode SolveWith(Mat F, trine_transpose op, Vec b, Vec x)
{
    trine_op inverse;

    PetscFunctionBegin;
    PetscCall(FindInverse(F, op, &inverse));
    PetscCall(TrineSolverApplyOp(TrineFactorOf(F)->solver, inverse, op, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode Solve(Mat F, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(SolveWith(F, TRINE_N, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode SolveTranspose(Mat F, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(SolveWith(F, TRINE_T, b, x));
    PetscFunctionReturn(0);
}

/** L^-1 or U^-1, each with its permutation. Of L L^H, Cholesky's and ICC's, they are each other's adjoints. */
static PetscErrorCode SolveHalf(Mat F, PetscBool forward, Vec b, Vec x)
{
    TrineFactor *f = TrineFactorOf(F);
    trine_op half = NULL;

    PetscFunctionBegin;
    if (f->solver->ready && f->solver->n) {
        PetscCall(NeedTriangles(f, TRINE_N));
        half = forward ? f->triangles.forward : f->triangles.backward;
    }
    PetscCall(TrineSolverApplyOp(f->solver, half, TRINE_N, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode ForwardSolve(Mat F, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(SolveHalf(F, PETSC_TRUE, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode BackwardSolve(Mat F, Vec b, Vec x)
{
    PetscFunctionBegin;
    PetscCall(SolveHalf(F, PETSC_FALSE, b, x));
    PetscFunctionReturn(0);
}

/* --------------------------------------------------------- several of them */

static PetscErrorCode MatSolveMany(Mat F, trine_transpose op, Mat B, Mat X)
{
    trine_op inverse;

    PetscFunctionBegin;
    PetscCall(FindInverse(F, op, &inverse));
    PetscCall(TrineSolverMatApplyOp(TrineFactorOf(F)->solver, inverse, op, B, X));
    PetscFunctionReturn(0);
}

static PetscErrorCode MatSolve_Trine(Mat F, Mat B, Mat X)
{
    PetscFunctionBegin;
    PetscCall(MatSolveMany(F, TRINE_N, B, X));
    PetscFunctionReturn(0);
}

static PetscErrorCode MatSolveTranspose_Trine(Mat F, Mat B, Mat X)
{
    PetscFunctionBegin;
    PetscCall(MatSolveMany(F, TRINE_T, B, X));
    PetscFunctionReturn(0);
}

/** X := A^-1 B for B^T, a sparse matrix by rows. */
static PetscErrorCode MatTransposeSolve(Mat F, Mat Bt, Mat X)
{
    Mat dense;

    PetscFunctionBegin;
    PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &dense)); /* zeros */
    for (PetscInt j = 0; j < Bt->rmap->n; j++) {
        const PetscInt *rows;
        const PetscScalar *values;
        PetscInt count;
        PetscCall(MatGetRow(Bt, j, &count, &rows, &values));
        PetscCall(MatSetValues(dense, count, rows, 1, &j, values, INSERT_VALUES));
        PetscCall(MatRestoreRow(Bt, j, &count, &rows, &values));
    }
    PetscCall(MatAssemblyBegin(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSolveMany(F, TRINE_N, dense, X));
    PetscCall(MatDestroy(&dense));
    PetscFunctionReturn(0);
}

/* ----------------------------------------------------------------- inertia */

/** Negative, zero and positive pivots of L L^H or L D L^H. */
static PetscErrorCode GetInertia(Mat F, PetscInt *negative, PetscInt *zero, PetscInt *positive)
{
    const TrineSolver *s = TrineFactorOf(F)->solver;
    trine_factor_info info;
    trine_matrix U = NULL;
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    PetscInt below = 0;

    PetscFunctionBegin;
    PetscCheck(s->ready, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "there is no factor: %s", s->sentence);
    TrineCall(trine_factor_get_info(s->factor, &info));
    const PetscBool definite = info.diag_L == TRINE_NONUNIT;
    PetscCheck(definite || info.method == TRINE_DIRECT_LDL, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the inertia is not known of the %s factor that trine has chosen (%s): use -mat_trine_factorization ldl",
               trine_direct_method_name(info.method), info.reason);
    if (s->n && !definite) {
        TrineCall(trine_factor_get_triangle(s->factor, TRINE_UPPER, &U)); /* D L^H, by columns */
        TrineCall(trine_matrix_get_arrays(U, &offsets, &rows, &values));
        for (PetscInt j = 0; j < s->n; j++)
            for (int64_t k = offsets[j]; k < offsets[j + 1]; k++)
                if (rows[k] == j && PetscRealPart(((const PetscScalar *)values)[k]) < 0) below++;
        TrineCall(trine_matrix_destroy(&U));
    }
    if (negative) *negative = below;
    if (zero) *zero = 0; /* L D L^H breaks down at a zero */
    if (positive) *positive = s->n - below;
    PetscFunctionReturn(0);
}

void TrineFactorSetSolves(Mat F)
{
    F->ops->solve = Solve;
    F->ops->solvetranspose = SolveTranspose;
    F->ops->forwardsolve = ForwardSolve;
    F->ops->backwardsolve = BackwardSolve;
    F->ops->matsolve = MatSolve_Trine;
    F->ops->matsolvetranspose = MatSolveTranspose_Trine;
    F->ops->mattransposesolve = MatTransposeSolve;
    if (F->factortype == MAT_FACTOR_CHOLESKY) F->ops->getinertia = GetInertia;
}
