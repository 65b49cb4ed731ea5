/* New matrices from old: other formats, types and spaces, transposes, triangles, permutations. Everything is a
 * counting sort or a pass over the entries, so linear in rows + columns + entries. */
#include <string.h>

#include "matrix/matrix.h"

/** One triangle, in terms of compressed rows (or columns): entries with index < row if below, > row if not. */
struct triangle { bool below, diagonal, fill; };

static inline bool is_wanted(const struct triangle *want, int64_t i, int64_t index)
{
    return index == i ? want->diagonal : (index < i) == want->below;
}

static inline int64_t diagonal_length(trine_matrix A) { return A->n_rows < A->n_cols ? A->n_rows : A->n_cols; }

/** Row i of the triangle needs a new diagonal entry. */
static bool lacks_diagonal(trine_matrix A, const struct triangle *want, int64_t i)
{
    if (!want->fill || i >= diagonal_length(A)) return false;
    for (int64_t k = A->offsets[i]; want->diagonal && k < A->offsets[i + 1]; k++)
        if (A->indices[k] == i) return false;
    return true;
}

#define TEMPLATE "matrix/convert.inc"
#include "core/each_dtype.h"

typedef void (*convert_fn)(int64_t count, trine_dtype type, const void *from, void *values);
typedef int64_t (*first_not_real_fn)(int64_t count, const void *values);
typedef void (*scatter_fn)(trine_matrix A, trine_matrix B, const int32_t *order, const int32_t *label, value_map map);
typedef void (*fill_triangle_fn)(trine_matrix A, trine_matrix B, const struct triangle *want);
typedef void (*join_fn)(trine_matrix A, trine_matrix transpose, trine_matrix B, bool stored_first);
typedef int64_t (*wrong_diagonal_fn)(trine_matrix A, int64_t i, trine_symmetry symmetry);
typedef void (*sum_duplicates_fn)(trine_matrix A);
static const convert_fn convert[] = TABLE(convert);
static const first_not_real_fn first_not_real[] = TABLE(first_not_real);
static const scatter_fn scatter[] = TABLE(scatter);
static const fill_triangle_fn fill_triangle[] = TABLE(fill_triangle);
static const join_fn join[] = TABLE(join);
static const wrong_diagonal_fn wrong_diagonal[] = TABLE(wrong_diagonal);
static const sum_duplicates_fn sum_duplicates[] = TABLE(sum_duplicates);

static void accumulate(int64_t *counts, int64_t n) /* counts[i + 1] of row i -> offsets */
{
    for (int64_t i = 0; i < n; i++) counts[i + 1] += counts[i];
}

/* --------------------------------------------------------------- transposes */

/** Counting sort of A's entries by minor index into B: row c of B has the entries whose index i has label[i] = c, in
 *  the order in which rows order[0], order[1], ... of A have them, numbered from 0. NULL = identity. */
static trine_status sort_by_index(trine_matrix A, trine_matrix *B, trine_format format, const int32_t *order,
                                  const int32_t *label, value_map map)
{
    const bool same = format == A->format;
    trine_status status = matrix_new(A->ctx, B, format, A->dtype, same ? A->n_cols : A->n_rows,
                                     same ? A->n_rows : A->n_cols, A->nnz, A->values != NULL);
    if (status) return status;
    trine_matrix M = *B;
    const int64_t n = matrix_major(M);
    M->symmetry = A->symmetry;
    M->made_up_values = A->made_up_values;
    for (int64_t k = 0; k < A->nnz; k++) M->offsets[(label ? label[A->indices[k]] : A->indices[k]) + 1]++;
    accumulate(M->offsets, n);
    scatter[A->dtype](A, M, order, label, map);
    /* each has moved on to the start of the next */
    memmove(M->offsets + 1, M->offsets, (size_t)n * sizeof *M->offsets);
    M->offsets[0] = 0;
    return TRINE_SUCCESS;
}

trine_status matrix_flip(trine_matrix A, trine_matrix *B, trine_format format, value_map map)
{
    return sort_by_index(A, B, format, NULL, NULL, map);
}

trine_status matrix_to_host_format(trine_matrix A, trine_matrix *H, trine_format format)
{
    trine_matrix host = NULL;
    trine_status status = matrix_to_host(A, H);
    if (status || (*H)->format == format) return status;
    host = *H;
    *H = NULL;
    status = matrix_flip(host, H, format, VALUE_KEEP);
    trine_matrix_destroy(&host);
    return status;
}

trine_status trine_matrix_transpose(trine_matrix A, trine_matrix *B, trine_transpose op)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    REQUIRE(op == TRINE_T || op == TRINE_H, "op %d is neither T nor H", (int)op);
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host(A, &H));
    TRY(matrix_flip(H, B, H->format, op == TRINE_H ? VALUE_CONJUGATE : VALUE_KEEP));
done:
    trine_matrix_destroy(&H);
    return status;
}

/** B(i,j) = A(order[i], j') with label[j'] = j in terms of compressed rows: sorted by index, then by row, so that
 *  indices ascend and duplicates stay in order. */
static trine_status sort_and_relabel(trine_matrix A, trine_matrix *B, const int32_t *order, const int32_t *label)
{
    trine_matrix by_index = NULL;
    trine_status status = sort_by_index(A, &by_index, A->format, order, label, VALUE_KEEP);
    if (!status) status = matrix_flip(by_index, B, A->format, VALUE_KEEP);
    trine_matrix_destroy(&by_index);
    return status;
}

trine_status trine_matrix_sort(trine_matrix A, trine_matrix *B, int sum)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    trine_status status = TRINE_SUCCESS;
    trine_matrix H;
    TRY(matrix_to_host(A, &H));
    TRY(matrix_is_sorted(H, false) ? matrix_clone(H, B, TRINE_HOST) : sort_and_relabel(H, B, NULL, NULL));
    if (sum) sum_duplicates[H->dtype](*B);
done:
    trine_matrix_destroy(&H);
    return status;
}

/** Check a permutation of 0..n-1 and, if asked to, invert it. inverse: n elements. */
static trine_status invert(const int32_t *perm, int64_t n, const char *name, int32_t *inverse)
{
    for (int64_t i = 0; i < n; i++) inverse[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        REQUIRE(perm[i] >= 0 && perm[i] < n, "%s[%lld] = %d is outside 0..%lld", name, (long long)i, (int)perm[i],
                (long long)(n - 1));
        REQUIRE(inverse[perm[i]] < 0, "%s[%lld] = %d was already at %d", name, (long long)i, (int)perm[i],
                (int)inverse[perm[i]]);
        inverse[perm[i]] = (int32_t)i;
    }
    return TRINE_SUCCESS;
}

trine_status trine_matrix_permute(trine_matrix A, trine_matrix *B, const int32_t *row_perm, const int32_t *col_perm)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    trine_status status = TRINE_SUCCESS;
    trine_matrix H = NULL;
    int32_t *row_inverse = NULL, *col_inverse = NULL;
    if (row_perm) {
        TRY(ALLOC(A->ctx, row_inverse, A->n_rows));
        TRY(invert(row_perm, A->n_rows, "row_perm", row_inverse));
    }
    if (col_perm) {
        TRY(ALLOC(A->ctx, col_inverse, A->n_cols));
        TRY(invert(col_perm, A->n_cols, "col_perm", col_inverse));
    }
    TRY(matrix_to_host(A, &H));
    const bool by_rows = H->format == TRINE_CSR;
    TRY(sort_and_relabel(H, B, by_rows ? row_perm : col_perm, by_rows ? col_inverse : row_inverse));
    (*B)->symmetry = TRINE_GENERAL;
done:
    trine_free(A->ctx, TRINE_HOST, row_inverse);
    trine_free(A->ctx, TRINE_HOST, col_inverse);
    trine_matrix_destroy(&H);
    return status;
}

/* ------------------------------------------------------------ types, spaces */

/** Replace the values of B, an owned host matrix, by the same ones of type t. */
static trine_status change_type(trine_matrix B, trine_dtype t)
{
    if (B->dtype == t) return TRINE_SUCCESS;
    if (B->values) {
        if (trine_dtype_is_complex(B->dtype) && !trine_dtype_is_complex(t)) {
            const int64_t k = first_not_real[B->dtype](B->nnz, B->values);
            int64_t i = 0;
            while (k >= 0 && B->offsets[i + 1] <= k) i++;
            REQUIRE(k < 0, "the value at %s %d in %s %lld has an imaginary part",
                    B->format == TRINE_CSR ? "column" : "row", (int)B->indices[k],
                    B->format == TRINE_CSR ? "row" : "column", (long long)i);
        }
        void *values = trine_host_alloc(B->ctx, B->nnz, trine_dtype_size(t));
        if (!values) return TRINE_ERR_MEMORY;
        convert[t](B->nnz, B->dtype, B->values, values);
        trine_free(B->ctx, TRINE_HOST, B->values);
        B->values = values;
    }
    B->dtype = t;
    return TRINE_SUCCESS;
}

trine_status trine_matrix_copy(trine_matrix A, trine_matrix *B, trine_space space, trine_format format, trine_dtype t)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    REQUIRE(space == TRINE_HOST || space == TRINE_DEVICE, "space %d is neither host nor device", (int)space);
    REQUIRE(space == TRINE_HOST || A->ctx->cuda, "a CPU context has no device memory");
    REQUIRE(format == TRINE_CSR || format == TRINE_CSC, "format %d is neither CSR nor CSC", (int)format);
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    if (format == A->format && t == A->dtype) return matrix_clone(A, B, space);

    trine_status status = TRINE_SUCCESS;
    trine_matrix H = NULL, M = NULL;
    TRY(matrix_to_host(A, &H));
    TRY(format == H->format ? matrix_clone(H, &M, TRINE_HOST) : matrix_flip(H, &M, format, VALUE_KEEP));
    TRY(change_type(M, t));
    if (space == TRINE_DEVICE) {
        TRY(matrix_clone(M, B, space));
    } else {
        *B = M;
        M = NULL;
    }
done:
    trine_matrix_destroy(&M);
    trine_matrix_destroy(&H);
    return status;
}

/* ---------------------------------------------------------------- triangles */

trine_status trine_matrix_triangle(trine_matrix A, trine_matrix *B, trine_uplo uplo, trine_diag diag, int fill_diagonal)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    REQUIRE(uplo == TRINE_LOWER || uplo == TRINE_UPPER, "uplo %d is neither lower nor upper", (int)uplo);
    REQUIRE(diag == TRINE_NONUNIT || diag == TRINE_UNIT, "diag %d is neither non-unit nor unit", (int)diag);
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = A->ctx;
    trine_matrix H = NULL;
    int64_t *offsets = NULL;
    TRY(matrix_to_host(A, &H));
    const int64_t n = matrix_major(H);
    const struct triangle want = {(uplo == TRINE_LOWER) == (H->format == TRINE_CSR), diag == TRINE_NONUNIT,
                                  fill_diagonal != 0};
    TRY(CALLOC(ctx, offsets, n + 1));
    for (int64_t i = 0; i < n; i++) {
        offsets[i + 1] = lacks_diagonal(H, &want, i);
        for (int64_t k = H->offsets[i]; k < H->offsets[i + 1]; k++)
            offsets[i + 1] += is_wanted(&want, i, H->indices[k]);
    }
    accumulate(offsets, n);
    TRY(matrix_new(ctx, B, H->format, H->dtype, H->n_rows, H->n_cols, offsets[n], H->values != NULL));
    memcpy((*B)->offsets, offsets, (size_t)(n + 1) * sizeof *offsets);
    (*B)->made_up_values = H->made_up_values;
    fill_triangle[H->dtype](H, *B, &want);
done:
    trine_free(ctx, TRINE_HOST, offsets);
    trine_matrix_destroy(&H);
    return status;
}

/** Row and column of an entry, for a sentence. */
struct place { long long row, column; };
static struct place place_of(trine_matrix A, int64_t i, int64_t k)
{
    const long long major = i, minor = A->indices[k];
    return A->format == TRINE_CSR ? (struct place){major, minor} : (struct place){minor, major};
}

/** Every entry on one side of the diagonal, and the diagonal as the symmetry wants it; *below: index < row
 *  somewhere. */
static trine_status check_one_triangle(trine_matrix A, trine_symmetry symmetry, bool *below)
{
    bool found = false;
    struct place first = {0, 0};
    *below = false;
    for (int64_t i = 0; i < matrix_major(A); i++) {
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
            if (A->indices[k] == i) continue;
            const bool side = A->indices[k] < i;
            const struct place here = place_of(A, i, k);
            if (!found) {
                found = true;
                first = here;
                *below = side;
            } else if (side != *below) {
                return trine_fail(TRINE_ERR_STRUCTURE,
                                  "entries (%lld,%lld) and (%lld,%lld) lie on both sides of the diagonal", first.row,
                                  first.column, here.row, here.column);
            }
        }
        if (A->values && wrong_diagonal[A->dtype](A, i, symmetry) >= 0)
            return trine_fail(TRINE_ERR_STRUCTURE, "diagonal entry %lld is not %s", (long long)i,
                              symmetry == TRINE_SKEW ? "zero in a skew-symmetric matrix"
                                                     : "real in a Hermitian matrix");
    }
    return TRINE_SUCCESS;
}

trine_status trine_matrix_expand(trine_matrix A, trine_matrix *B, trine_symmetry symmetry)
{
    REQUIRE(B, "B is NULL");
    *B = NULL;
    REQUIRE(A, "A is NULL");
    REQUIRE(symmetry == TRINE_SYMMETRIC || symmetry == TRINE_SKEW || symmetry == TRINE_HERMITIAN,
            "symmetry %d is none of symmetric, skew, Hermitian", (int)symmetry);
    if (A->n_rows != A->n_cols)
        return trine_fail(TRINE_ERR_STRUCTURE, "%lld x %lld is not square", (long long)A->n_rows, (long long)A->n_cols);
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = A->ctx;
    trine_matrix H = NULL, M = NULL;
    bool below;
    TRY(matrix_to_host(A, &H));
    TRY(check_one_triangle(H, symmetry, &below));
    TRY(matrix_flip(H, &M, H->format,
                    symmetry == TRINE_SKEW        ? VALUE_NEGATE
                    : symmetry == TRINE_HERMITIAN ? VALUE_CONJUGATE
                                                  : VALUE_KEEP));
    int64_t n_diagonal = 0;
    for (int64_t i = 0; i < H->n_rows; i++)
        for (int64_t k = H->offsets[i]; k < H->offsets[i + 1]; k++) n_diagonal += H->indices[k] == i;
    TRY(matrix_new(ctx, B, H->format, H->dtype, H->n_rows, H->n_cols, 2 * H->nnz - n_diagonal, H->values != NULL));
    (*B)->symmetry = symmetry;
    (*B)->made_up_values = H->made_up_values;
    for (int64_t i = 0; i < H->n_rows; i++) {
        int64_t entries = H->offsets[i + 1] - H->offsets[i];
        for (int64_t k = M->offsets[i]; k < M->offsets[i + 1]; k++) entries += M->indices[k] != i;
        (*B)->offsets[i + 1] = (*B)->offsets[i] + entries;
    }
    join[H->dtype](H, M, *B, below);
done:
    trine_matrix_destroy(&M);
    trine_matrix_destroy(&H);
    return status;
}
