/* PETSc's own ILU factor, applied by trine: any number of levels, and any order of rows and columns.
 *
 * PETSc keeps it in the arrays of a matrix of type seqaij, which its public functions give: first the rows of L, from
 * offsets[i] to offsets[i + 1], without the diagonal; then the rows of U, the last row first, each with its diagonal at
 * its end, inverted. */
#include "factor.h"

#include "errors.h"

PetscErrorCode TrineFactorResetPETSc(Mat F)
{
    TrineFactor *f = TrineFactorOf(F);

    PetscFunctionBegin;
    PetscCall(MatDestroy(&f->petsc));
    PetscCall(ISDestroy(&f->row));
    PetscCall(ISDestroy(&f->column));
    TrineCall(trine_matrix_destroy(&f->rows));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineFactorSymbolicByPETSc(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
    TrineFactor *f = TrineFactorOf(F);
    PetscBool is_rows;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &is_rows));
    PetscCheck(is_rows, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "-mat_trine_petsc_factor takes PETSc's factors of matrices of type seqaij, and this one is of type %s",
               ((PetscObject)A)->type_name);
    PetscCall(TrineFactorResetPETSc(F));
    PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_ILU, &f->petsc));
    if (row && column) {
        PetscCall(PetscObjectReference((PetscObject)row));
        PetscCall(PetscObjectReference((PetscObject)column));
        f->row = row;
        f->column = column;
    } else {
        PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &f->row, &f->column));
    }
    PetscCall(MatILUFactorSymbolic(f->petsc, A, f->row, f->column, info));
    PetscFunctionReturn(0);
}

/** The arrays of PETSc's factor. */
typedef struct {
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
    PetscInt n, nnz;
} Arrays;

static PetscErrorCode GetArrays(Mat factor, Arrays *a)
{
    PetscScalar *values;
    PetscMemType space;
    MatInfo info;

    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetCSRAndMemType(factor, &a->offsets, &a->columns, &values, &space));
    PetscCheck(PetscMemTypeHost(space), PETSC_COMM_SELF, PETSC_ERR_SUP, "PETSc's factor is in device memory");
    PetscCall(MatGetInfo(factor, MAT_LOCAL, &info));
    a->values = values;
    a->n = factor->rmap->n;
    a->nnz = (PetscInt)info.nz_used;
    PetscFunctionReturn(0);
}

/** After row i of U begins at k: the place of its diagonal, or a->nnz where there is none. */
static PetscInt FindDiagonal(const Arrays *a, PetscInt i, PetscInt k)
{
    while (k < a->nnz && a->columns[k] > i && a->columns[k] < a->n) k++;
    return k < a->nnz && a->columns[k] == i ? k : a->nnz;
}

/** Offsets of the rows of L and U together, n + 1 of them. */
static PetscErrorCode CountRows(const Arrays *a, int64_t *offsets)
{
    PetscInt k = a->n ? a->offsets[a->n] : 0;

    PetscFunctionBegin;
    for (PetscInt i = a->n - 1; i >= 0; i--) {
        const PetscInt diagonal = FindDiagonal(a, i, k);
        PetscCheck(diagonal < a->nnz, PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "row %" PetscInt_FMT " of PETSc's factor is not stored as trine knows it", i);
        offsets[i + 1] = (int64_t)a->offsets[i + 1] - a->offsets[i] + diagonal + 1 - k;
        k = diagonal + 1;
    }
    PetscCheck(k == a->nnz, PETSC_COMM_SELF, PETSC_ERR_SUP, "PETSc's factor is not stored as trine knows it");
    for (PetscInt i = 0; i < a->n; i++) offsets[i + 1] += offsets[i];
    PetscFunctionReturn(0);
}

/** Values, and columns unless NULL, of L and U by rows. */
static void CopyRows(const Arrays *a, const int64_t *offsets, int32_t *columns, PetscScalar *values)
{
    PetscInt k = a->n ? a->offsets[a->n] : 0;
    for (PetscInt i = a->n - 1; i >= 0; i--) {
        int64_t to = offsets[i];
        for (PetscInt l = a->offsets[i]; l < a->offsets[i + 1]; l++, to++) {
            if (columns) columns[to] = (int32_t)a->columns[l];
            values[to] = a->values[l];
        }
        for (; to < offsets[i + 1]; k++, to++) {
            if (columns) columns[to] = (int32_t)a->columns[k];
            values[to] = a->columns[k] == i ? 1 / a->values[k] : a->values[k];
        }
    }
}

static PetscErrorCode MakeRows(TrineFactor *f, const Arrays *a)
{
    int64_t *offsets;
    int32_t *columns;
    void *values;

    PetscFunctionBegin;
    TrineCall(trine_matrix_allocate(f->solver->device.ctx, &f->rows, TRINE_CSR, TRINE_PETSC_DTYPE, a->n, a->n, a->nnz,
                                    &offsets, &columns, &values));
    PetscCall(CountRows(a, offsets));
    CopyRows(a, offsets, columns, values);
    f->values = values;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineFactorNumericByPETSc(Mat F, Mat A, const MatFactorInfo *info)
{
    TrineFactor *f = TrineFactorOf(F);
    TrineSolver *s = f->solver;
    Arrays a;
    const int64_t *offsets;

    PetscFunctionBegin;
    PetscCall(TrineSolverOpenDevice(s));
    s->n = A->rmap->n;
    s->ready = PETSC_FALSE;
    s->sentence[0] = 0;
    PetscCall(MatSetErrorIfFailure(f->petsc, F->erroriffailure));
    PetscCall(MatFactorClearError(f->petsc));
    PetscCall(MatLUFactorNumeric(f->petsc, A, info));
    PetscCall(MatFactorGetError(f->petsc, &s->failure));
    s->failed_row = -1;
    if (s->failure) {
        PetscReal pivot;
        PetscCall(MatFactorGetErrorZeroPivot(f->petsc, &pivot, &s->failed_row));
        PetscCall(PetscSNPrintf(s->sentence, sizeof s->sentence,
                                "the pivot of row %" PetscInt_FMT " of PETSc's ILU factor is %g", s->failed_row,
                                (double)pivot));
        PetscFunctionReturn(0);
    }
    PetscCall(GetArrays(f->petsc, &a));
    if (!f->rows) {
        PetscCall(MakeRows(f, &a));
        PetscCall(TrineTrianglesDestroy(&f->triangles));
    } else {
        TrineCall(trine_matrix_get_arrays(f->rows, &offsets, NULL, NULL));
        CopyRows(&a, offsets, NULL, f->values);
        if (f->triangles.inverse) PetscCall(TrineTrianglesNumeric(&f->triangles, f->values));
    }
    s->flops = 2.0 * (PetscLogDouble)a.nnz;
    s->ready = PETSC_TRUE;
    PetscFunctionReturn(0);
}
