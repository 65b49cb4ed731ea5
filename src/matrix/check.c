/* Are the arrays of a matrix what they should be? The sentence names the first place where they are not. */
#include "matrix/matrix.h"

#define TEMPLATE "matrix/check.inc"
#include "core/each_dtype.h"

typedef int64_t (*first_not_finite_fn)(int64_t count, const void *values);
typedef bool (*diagonal_is_zero_fn)(trine_matrix A, int64_t i);
static const first_not_finite_fn first_not_finite[] = TABLE(first_not_finite);
static const diagonal_is_zero_fn diagonal_is_zero[] = TABLE(diagonal_is_zero);

static const char *major_name(trine_matrix A) { return A->format == TRINE_CSR ? "row" : "column"; }
static const char *minor_name(trine_matrix A) { return A->format == TRINE_CSR ? "column" : "row"; }

/** Offsets and ranges of a host matrix: all that keeps a loop over its entries inside the arrays. */
static trine_status check_pattern(trine_matrix A)
{
    const int64_t n = matrix_major(A), m = matrix_minor(A), *offsets = A->offsets;
    if (offsets[0] != 0)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets start at %lld, not at 0", (long long)offsets[0]);
    for (int64_t i = 0; i < n; i++)
        if (offsets[i + 1] < offsets[i])
            return trine_fail(TRINE_ERR_STRUCTURE, "offsets fall from %lld to %lld in %s %lld", (long long)offsets[i],
                              (long long)offsets[i + 1], major_name(A), (long long)i);
    if (offsets[n] != A->nnz)
        return trine_fail(TRINE_ERR_STRUCTURE, "offsets end at %lld, not at nnz = %lld", (long long)offsets[n],
                          (long long)A->nnz);
    /* one pass without branches, and another one where something is wrong */
    const uint32_t last = m > INT32_MAX ? INT32_MAX : (uint32_t)(m - 1);
    uint32_t outside = m < 1;
    for (int64_t k = 0; k < A->nnz; k++) outside |= (uint32_t)A->indices[k] > last;
    for (int64_t i = 0; i < n && outside; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
            if (A->indices[k] < 0 || A->indices[k] >= m)
                return trine_fail(TRINE_ERR_STRUCTURE, "%s index %d in %s %lld is outside 0..%lld", minor_name(A),
                                  (int)A->indices[k], major_name(A), (long long)i, (long long)(m - 1));
    return TRINE_SUCCESS;
}

trine_status matrix_to_host(trine_matrix A, trine_matrix *H)
{
    trine_status status = TRINE_SUCCESS;
    *H = NULL;
    if (A->space == TRINE_HOST) {
        trine_retain(&A->refs);
        *H = A;
    } else {
        TRY(matrix_clone(A, H, TRINE_HOST));
    }
    TRY(check_pattern(*H));
done:
    if (status) trine_matrix_destroy(H);
    return status;
}

/** Position of the first index that does not ascend; -1 if all do. *row takes its row. */
static int64_t first_descent(trine_matrix A, bool strictly, int64_t *row)
{
    for (int64_t i = 0; i < matrix_major(A); i++)
        for (int64_t k = A->offsets[i] + 1; k < A->offsets[i + 1]; k++)
            if (A->indices[k] < A->indices[k - 1] + (int64_t)strictly) {
                *row = i;
                return k;
            }
    return -1;
}

bool matrix_is_sorted(trine_matrix A, bool strictly)
{
    int64_t row;
    return first_descent(A, strictly, &row) < 0;
}

static trine_status check_sorted(trine_matrix A)
{
    int64_t i, k = first_descent(A, true, &i);
    if (k < 0) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STRUCTURE, "%s index %d follows %d in %s %lld", minor_name(A), (int)A->indices[k],
                      (int)A->indices[k - 1], major_name(A), (long long)i);
}

int64_t matrix_find_not_finite(trine_matrix A, int64_t *row)
{
    const int64_t k = A->values ? first_not_finite[A->dtype](A->nnz, A->values) : -1;
    for (*row = 0; k >= 0 && A->offsets[*row + 1] <= k;) ++*row;
    return k;
}

static trine_status check_finite(trine_matrix A)
{
    int64_t i;
    const int64_t k = matrix_find_not_finite(A, &i);
    if (k < 0) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STRUCTURE, "the value at %s %d in %s %lld is NaN or Inf", minor_name(A),
                      (int)A->indices[k], major_name(A), (long long)i);
}

static trine_status check_diagonal(trine_matrix A)
{
    if (A->n_rows != A->n_cols)
        return trine_fail(TRINE_ERR_STRUCTURE, "%lld x %lld is not square", (long long)A->n_rows, (long long)A->n_cols);
    for (int64_t i = 0; i < A->n_rows; i++) {
        int64_t k = A->offsets[i];
        while (k < A->offsets[i + 1] && A->indices[k] != i) k++;
        if (k == A->offsets[i + 1])
            return trine_fail(TRINE_ERR_SINGULAR, "the diagonal entry of row %lld is missing", (long long)i);
        if (A->values && diagonal_is_zero[A->dtype](A, i))
            return trine_fail(TRINE_ERR_SINGULAR, "the diagonal entry of row %lld is zero", (long long)i);
    }
    return TRINE_SUCCESS;
}

trine_status trine_matrix_check(trine_matrix A, unsigned flags)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(!(flags & ~(unsigned)(TRINE_CHECK_SORTED | TRINE_CHECK_FINITE | TRINE_CHECK_DIAGONAL)),
            "flags 0x%x are unknown", flags);
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host(A, &H));
    if (flags & TRINE_CHECK_SORTED) TRY(check_sorted(H));
    if (flags & TRINE_CHECK_FINITE) TRY(check_finite(H));
    if (flags & TRINE_CHECK_DIAGONAL) TRY(check_diagonal(H));
done:
    trine_matrix_destroy(&H);
    return status;
}
