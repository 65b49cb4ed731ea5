/* What is factored in place of the matrix that was given: a Hermitian one, or a shifted one. */
#include "factor.h"

/** a_ji := conj(a_ij) for all i < j that have both. */
static PetscErrorCode Mirror(Mat A)
{
    PetscInt n, *next;
    const PetscInt *offsets, *columns;
    PetscScalar *values;
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &offsets, &columns, &done));
    PetscCall(MatSeqAIJGetArray(A, &values));
    PetscCall(PetscMalloc1(n, &next)); /* of row j the first entry that no row i < j has come to */
    PetscCall(PetscArraycpy(next, offsets, n));
    for (PetscInt i = 0; i < n; i++)
        for (PetscInt k = offsets[i]; k < offsets[i + 1]; k++) {
            const PetscInt j = columns[k];
            if (j == i) values[k] = PetscRealPart(values[k]);
            if (j <= i) continue;
            while (next[j] < offsets[j + 1] && columns[next[j]] < i) next[j]++;
            if (next[j] < offsets[j + 1] && columns[next[j]] == i) values[next[j]] = PetscConj(values[k]);
        }
    PetscCall(PetscFree(next));
    PetscCall(MatSeqAIJRestoreArray(A, &values));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &offsets, &columns, &done));
    PetscFunctionReturn(0);
}

/** trine's ICC reads one triangle as that of a Hermitian matrix; PETSc's complex matrices may be symmetric instead. */
static PetscErrorCode CheckHermitian(Mat A)
{
    PetscBool is_rows, hermitian;
    PetscReal norm;
    Mat imaginary;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &is_rows));
    if (is_rows) {
        PetscCall(MatNorm(A, NORM_INFINITY, &norm));
        PetscCall(MatIsHermitian(A, 100 * PETSC_MACHINE_EPSILON * norm, &hermitian));
    } else { /* of one triangle that of a Hermitian matrix, or of a symmetric one, if it is real */
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &imaginary));
        PetscCall(MatImaginaryPart(imaginary));
        PetscCall(MatNorm(imaginary, NORM_FROBENIUS, &norm));
        PetscCall(MatDestroy(&imaginary));
        hermitian = norm == 0 ? PETSC_TRUE : PETSC_FALSE;
    }
    PetscCheck(
        hermitian, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
        "trine's ICC factor is of Hermitian matrices, and this complex one is not, or MAT_HERMITIAN was not set: "
        "use -pc_type ilu");
    PetscFunctionReturn(0);
}

PetscErrorCode TrineFactorMirror(Mat F, PetscBool same, Mat *A)
{
    TrineFactor *f = TrineFactorOf(F);
    PetscBool is_rows, known, hermitian = PETSC_FALSE; /* which stays so if it is not known */

    PetscFunctionBegin;
    if (!same) PetscCall(MatDestroy(&f->mirrored));
    if (F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_ILU) PetscFunctionReturn(0);
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)*A, MATSEQAIJ, &is_rows));
    PetscCall((PetscDefined(USE_COMPLEX) ? MatIsHermitianKnown : MatIsSymmetricKnown)(*A, &known, &hermitian));
    if (PetscDefined(USE_COMPLEX) && F->factortype == MAT_FACTOR_ICC && !hermitian) {
        PetscCall(CheckHermitian(*A));
        hermitian = PETSC_TRUE;
    }
    if (!hermitian || !(is_rows || PetscDefined(USE_COMPLEX))) PetscFunctionReturn(0);
    if (f->mirrored && is_rows) PetscCall(MatCopy(*A, f->mirrored, SAME_NONZERO_PATTERN));
    else PetscCall(MatConvert(*A, MATSEQAIJ, f->mirrored ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &f->mirrored));
    PetscCall(Mirror(f->mirrored));
    *A = f->mirrored;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineFactorShift(Mat A, PetscReal shift, Mat *shifted)
{
    Vec diagonal, largest;
    PetscScalar *d;
    const PetscScalar *m;
    PetscReal most;

    PetscFunctionBegin;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, shifted));
    PetscCall(MatSetOption(*shifted, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatCreateVecs(A, &diagonal, &largest));
    PetscCall(MatGetDiagonal(A, diagonal));
    PetscCall(MatGetRowMaxAbs(A, largest, NULL));
    PetscCall(VecMax(largest, NULL, &most));
    PetscCall(VecGetArray(diagonal, &d));
    PetscCall(VecGetArrayRead(largest, &m));
    for (PetscInt i = 0; i < A->rmap->n; i++) {
        const PetscReal size = PetscAbsScalar(d[i]), row = PetscRealPart(m[i]);
        d[i] = (size > 0 ? d[i] / size : 1) * shift * (row > 0 ? row : most);
    }
    PetscCall(VecRestoreArrayRead(largest, &m));
    PetscCall(VecRestoreArray(diagonal, &d));
    PetscCall(MatDiagonalSet(*shifted, diagonal, ADD_VALUES));
    PetscCall(VecDestroy(&diagonal));
    PetscCall(VecDestroy(&largest));
    PetscFunctionReturn(0);
}
