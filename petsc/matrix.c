#include "matrix.h"

#include "errors.h"

/** The matrix by rows: A where it is stored so, else a conversion. */
static PetscErrorCode FindRows(TrineMatrix *m, Mat A, PetscBool same_pattern)
{
    PetscBool is_rows, is_parallel, is_blocks, is_triangle;
    PetscInt block;
    PetscMPIInt ranks;
    MatType type;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &ranks));
    PetscCheck(ranks == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "trine solves the part of one rank, and this matrix is spread over %d ranks: use -pc_type bjacobi or asm "
               "with -sub_pc_type trine",
               ranks);
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &is_rows));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_parallel));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is_blocks, MATSEQBAIJ, MATSEQSBAIJ, ""));
    PetscCheck(is_rows || is_parallel || is_blocks, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "trine reads the entries of matrices of the types aij, baij and sbaij, and this one is of type %s: give "
               "KSPSetOperators() one of these as the second matrix",
               type);
    if (is_blocks) {
        /* PETSc (3.18) spoils the rows of an earlier conversion of type sbaij with blocks. */
        PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQSBAIJ, &is_triangle));
        PetscCall(MatGetBlockSize(A, &block));
        const PetscBool again = same_pattern && m->converted && m->given == A && (block == 1 || !is_triangle);
        if (!again) PetscCall(MatDestroy(&m->rows));
        PetscCall(MatConvert(A, MATSEQAIJ, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &m->rows));
    } else {
        Mat rows = A;
        if (is_parallel) PetscCall(MatGetDiagonalBlock(A, &rows)); /* on one rank that is all of it */
        PetscCall(PetscObjectReference((PetscObject)rows));
        PetscCall(MatDestroy(&m->rows));
        m->rows = rows;
    }
    m->converted = is_blocks;
    m->given = A;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixOpen(TrineMatrix *m, trine_context ctx, Mat A, PetscBool same_pattern)
{
    PetscBool assembled, done;
    PetscInt rows, columns;

    PetscFunctionBegin;
    PetscCall(MatAssembled(A, &assembled));
    PetscCheck(assembled, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "trine needs an assembled matrix");
    PetscCall(FindRows(m, A, same_pattern));
    PetscCall(MatGetSize(m->rows, &rows, &columns));
    PetscCall(MatGetRowIJ(m->rows, 0, PETSC_FALSE, PETSC_FALSE, &m->row_count, &m->offsets, &m->columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PETSc does not give the rows of a matrix of type aij");
    PetscCall(MatSeqAIJGetArrayRead(m->rows, &m->host_values));
    m->n = rows;
    m->nnz = rows > 0 ? m->offsets[rows] : 0;
    m->space = TRINE_HOST;
    m->values = m->host_values;
    TrineCall(trine_matrix_csr(ctx, &m->view, TRINE_PETSC_DTYPE, rows, columns, m->nnz, TRINE_HOST,
                               8 * (int)sizeof(PetscInt), m->offsets, 8 * (int)sizeof(PetscInt), m->columns,
                               m->host_values));
#if PetscDefined(HAVE_CUDA)
    trine_context_info info;
    TrineCall(trine_context_get_info(ctx, &info));
    if (info.space == TRINE_DEVICE) {
        PetscMemType where;
        PetscScalar *values;
        PetscCall(MatSeqAIJGetCSRAndMemType(m->rows, NULL, NULL, &values, &where));
        if (PetscMemTypeCUDA(where)) {
            PetscDeviceContext petsc;
            PetscCall(PetscDeviceContextGetCurrentContext(&petsc));
            PetscCall(PetscDeviceContextSynchronize(petsc)); /* trine's stream is not PETSc's */
            m->space = TRINE_DEVICE;
            m->values = values;
        }
    }
#endif
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixClose(TrineMatrix *m)
{
    PetscBool done;

    PetscFunctionBegin;
    TrineCall(trine_matrix_destroy(&m->view));
    if (m->host_values) PetscCall(MatSeqAIJRestoreArrayRead(m->rows, &m->host_values));
    if (m->offsets)
        PetscCall(MatRestoreRowIJ(m->rows, 0, PETSC_FALSE, PETSC_FALSE, &m->row_count, &m->offsets, &m->columns, &done));
    m->values = m->host_values = NULL;
    m->offsets = m->columns = NULL;
    if (!m->converted) PetscCall(MatDestroy(&m->rows));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineMatrixReset(TrineMatrix *m)
{
    PetscFunctionBegin;
    PetscCall(TrineMatrixClose(m));
    PetscCall(MatDestroy(&m->rows));
    m->converted = PETSC_FALSE;
    m->given = NULL;
    PetscFunctionReturn(0);
}
