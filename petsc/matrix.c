#include "matrix.h"

#include "errors.h"

/** The matrix by rows: A where it is stored so, else a conversion. */
static PetscErrorCode FindRows(TrineMatrix *view, Mat A, PetscBool same_pattern)
{
    PetscBool is_rows, is_parallel, is_blocks;
    PetscMPIInt ranks;
    MatType type;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &ranks));
    PetscCheck(ranks == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "trine solves the part of one rank, and this matrix is spread over %d: use -pc_type bjacobi or asm, and "
               "trine with the prefix -sub_",
               ranks);
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &is_rows));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_parallel));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is_blocks, MATSEQBAIJ, MATSEQSBAIJ, ""));
    PetscCheck(is_rows || is_parallel || is_blocks, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "trine reads entries of matrices of the types aij, baij and sbaij, and this one is of type %s", type);
    if (is_blocks) {
        const MatReuse reuse = same_pattern && view->rows && view->given == A ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;
        if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(&view->rows));
        PetscCall(MatConvert(A, MATSEQAIJ, reuse, &view->rows));
    } else {
        Mat rows = A;
        if (is_parallel) PetscCall(MatGetDiagonalBlock(A, &rows)); /* on one rank that is all */
        PetscCall(PetscObjectReference((PetscObject)rows));
        PetscCall(MatDestroy(&view->rows));
        view->rows = rows;
    }
    view->given = A;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixOpen(TrineMatrix *view, trine_context ctx, Mat A, PetscBool same_pattern)
{
    PetscBool assembled, done;
    PetscInt rows, columns;

    PetscFunctionBegin;
    PetscCall(MatAssembled(A, &assembled));
    PetscCheck(assembled, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "the matrix is not assembled");
    PetscCall(FindRows(view, A, same_pattern));
    PetscCall(MatGetSize(view->rows, &rows, &columns));
    PetscCall(MatGetRowIJ(view->rows, 0, PETSC_FALSE, PETSC_FALSE, &view->n, &view->offsets, &view->columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PETSc does not give the rows of a matrix of type aij");
    PetscCall(MatSeqAIJGetArrayRead(view->rows, &view->values));
    view->nnz = rows ? view->offsets[rows] : 0;
    TrineCall(trine_matrix_csr(ctx, &view->view, TRINE_PETSC_DTYPE, rows, columns, view->nnz, TRINE_HOST,
                               8 * (int)sizeof(PetscInt), view->offsets, 8 * (int)sizeof(PetscInt), view->columns,
                               view->values));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixClose(TrineMatrix *view)
{
    PetscBool done;

    PetscFunctionBegin;
    TrineCall(trine_matrix_destroy(&view->view));
    if (view->values) PetscCall(MatSeqAIJRestoreArrayRead(view->rows, &view->values));
    if (view->offsets)
        PetscCall(MatRestoreRowIJ(view->rows, 0, PETSC_FALSE, PETSC_FALSE, &view->n, &view->offsets, &view->columns,
                                  &done));
    if (view->rows && view->rows == view->given) PetscCall(MatDestroy(&view->rows));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixReset(TrineMatrix *view)
{
    PetscFunctionBegin;
    PetscCall(TrineMatrixClose(view));
    PetscCall(MatDestroy(&view->rows));
    view->given = NULL;
    PetscFunctionReturn(0);
}
