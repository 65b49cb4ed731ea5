/* Life of a sparse matrix: views of the caller's arrays, owned matrices, access. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/matrix.h"

static trine_status check_sizes(trine_dtype t, int64_t n_rows, int64_t n_cols, int64_t nnz)
{
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    REQUIRE(n_rows >= 0 && n_rows <= INT_MAX, "%lld rows; 0 to 2^31 - 1 are possible", (long long)n_rows);
    REQUIRE(n_cols >= 0 && n_cols <= INT_MAX, "%lld columns; 0 to 2^31 - 1 are possible", (long long)n_cols);
    REQUIRE(nnz >= 0, "%lld entries", (long long)nnz);
    return TRINE_SUCCESS;
}

/** An empty shell; arrays follow. */
static trine_status new_shell(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t, int64_t n_rows,
                              int64_t n_cols, int64_t nnz)
{
    trine_status status = check_sizes(t, n_rows, n_cols, nnz);
    if (status) return status;
    trine_matrix M = trine_host_calloc(ctx, 1, sizeof *M);
    if (!M) return TRINE_ERR_MEMORY;
    M->refs = 1;
    M->ctx = trine_retain_context(ctx);
    M->format = format;
    M->dtype = t;
    M->n_rows = n_rows;
    M->n_cols = n_cols;
    M->nnz = nnz;
    *A = M;
    return TRINE_SUCCESS;
}

trine_status matrix_new(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t, int64_t n_rows,
                        int64_t n_cols, int64_t nnz, bool with_values)
{
    trine_status status = new_shell(ctx, A, format, t, n_rows, n_cols, nnz);
    if (status) return status;
    trine_matrix M = *A;
    M->owns_offsets = M->owns_indices = M->owns_values = true;
    TRY(CALLOC(ctx, M->offsets, matrix_major(M) + 1));
    TRY(ALLOC(ctx, M->indices, nnz));
    if (with_values) {
        M->values = trine_host_alloc(ctx, nnz, trine_dtype_size(t));
        if (!M->values) status = TRINE_ERR_MEMORY;
    }
done:
    if (status) trine_matrix_destroy(A);
    return status;
}

/** dst = a copy of one of A's arrays. Never NULL: no values would mean a pattern. */
static trine_status copy_array(trine_matrix A, const void *src, size_t bytes, trine_space space, void **dst)
{
    trine_status status = trine_alloc(A->ctx, space, bytes ? bytes : 1, dst);
    return status ? status : trine_copy(A->ctx, *dst, space, src, A->space, bytes);
}

trine_status matrix_clone(trine_matrix A, trine_matrix *B, trine_space space)
{
    trine_status status = new_shell(A->ctx, B, A->format, A->dtype, A->n_rows, A->n_cols, A->nnz);
    if (status) return status;
    trine_matrix M = *B;
    M->space = space;
    M->symmetry = A->symmetry;
    M->made_up_values = A->made_up_values;
    M->owns_offsets = M->owns_indices = M->owns_values = true;
    void *p = NULL;
    status = copy_array(A, A->offsets, (size_t)(matrix_major(A) + 1) * sizeof *A->offsets, space, &p);
    M->offsets = p;
    TRY(status);
    status = copy_array(A, A->indices, (size_t)A->nnz * sizeof *A->indices, space, &p);
    M->indices = p;
    TRY(status);
    if (A->values) TRY(copy_array(A, A->values, (size_t)A->nnz * trine_dtype_size(A->dtype), space, &M->values));
done:
    if (status) trine_matrix_destroy(B);
    return status;
}

trine_status trine_matrix_allocate(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t,
                                   int64_t n_rows, int64_t n_cols, int64_t nnz, int64_t **offsets, int32_t **indices,
                                   void **values)
{
    REQUIRE(A, "A is NULL");
    *A = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(format == TRINE_CSR || format == TRINE_CSC, "format %d is neither CSR nor CSC", (int)format);
    trine_status status = matrix_new(ctx, A, format, t, n_rows, n_cols, nnz, true);
    if (status) return status;
    if (offsets) *offsets = (*A)->offsets;
    if (indices) *indices = (*A)->indices;
    if (values) *values = (*A)->values;
    return TRINE_SUCCESS;
}

/** M's own 64-bit offsets from the caller's, wherever they live. */
static trine_status take_offsets(trine_matrix M, int bits, const void *offsets)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = M->ctx;
    const int64_t count = matrix_major(M) + 1;
    int64_t *wide = NULL, ends[2] = {0, M->nnz}; /* in a context that counts, nothing is copied from a device */
    int32_t *narrow = NULL;
    if (bits == 64) {
        M->offsets = (int64_t *)offsets;
        TRY(trine_copy(ctx, &ends[0], TRINE_HOST, M->offsets, M->space, sizeof(int64_t)));
        TRY(trine_copy(ctx, &ends[1], TRINE_HOST, M->offsets + count - 1, M->space, sizeof(int64_t)));
    } else {
        TRY(ALLOC(ctx, wide, count));
        TRY(ALLOC(ctx, narrow, count));
        TRY(trine_copy(ctx, narrow, TRINE_HOST, offsets, M->space, (size_t)count * sizeof(int32_t)));
        for (int64_t i = 0; i < count; i++) wide[i] = narrow[i];
        ends[0] = wide[0];
        ends[1] = wide[count - 1];
        M->offsets32 = offsets;
        M->owns_offsets = true;
        if (M->space == TRINE_HOST) {
            M->offsets = wide;
            wide = NULL;
        } else {
            void *device;
            TRY(trine_device_upload(ctx, wide, (size_t)count * sizeof(int64_t), &device));
            M->offsets = device;
        }
    }
    if (ends[0] != 0 || ends[1] != M->nnz)
        FAIL(TRINE_ERR_ARGUMENT, "offsets run from %lld to %lld, not from 0 to nnz = %lld", (long long)ends[0],
             (long long)ends[1], (long long)M->nnz);
done:
    trine_free(ctx, TRINE_HOST, narrow);
    trine_free(ctx, TRINE_HOST, wide);
    return status;
}

static trine_status take_indices(trine_matrix M, int bits, const void *indices)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = M->ctx;
    int64_t *wide = NULL;
    int32_t *narrow = NULL;
    if (bits == 32) {
        M->indices = (int32_t *)indices;
        return TRINE_SUCCESS;
    }
    TRY(ALLOC(ctx, wide, M->nnz));
    TRY(ALLOC(ctx, narrow, M->nnz));
    TRY(trine_copy(ctx, wide, TRINE_HOST, indices, M->space, (size_t)M->nnz * sizeof(int64_t)));
    for (int64_t k = 0; k < M->nnz; k++) {
        if (wide[k] < 0 || wide[k] > INT_MAX)
            FAIL(TRINE_ERR_ARGUMENT, "index %lld at position %lld does not fit 32 bits", (long long)wide[k],
                 (long long)k);
        narrow[k] = (int32_t)wide[k];
    }
    M->owns_indices = true;
    if (M->space == TRINE_HOST) {
        M->indices = narrow;
        narrow = NULL;
    } else {
        void *device;
        TRY(trine_device_upload(ctx, narrow, (size_t)M->nnz * sizeof(int32_t), &device));
        M->indices = device;
    }
done:
    trine_free(ctx, TRINE_HOST, narrow);
    trine_free(ctx, TRINE_HOST, wide);
    return status;
}

static trine_status new_view(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t, int64_t n_rows,
                             int64_t n_cols, int64_t nnz, trine_space space, int offset_bits, const void *offsets,
                             int index_bits, const void *indices, const void *values)
{
    REQUIRE(A, "A is NULL");
    *A = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(space == TRINE_HOST || (space == TRINE_DEVICE && ctx->cuda), "a CPU context has no device memory");
    REQUIRE(offset_bits == 32 || offset_bits == 64, "offset_bits is %d, not 32 or 64", offset_bits);
    REQUIRE(index_bits == 32 || index_bits == 64, "index_bits is %d, not 32 or 64", index_bits);
    REQUIRE(offsets, "offsets is NULL");
    REQUIRE(indices || nnz == 0, "indices is NULL");
    trine_status status = new_shell(ctx, A, format, t, n_rows, n_cols, nnz);
    if (status) return status;
    (*A)->space = space;
    (*A)->values = (void *)values;
    TRY(take_offsets(*A, offset_bits, offsets));
    TRY(take_indices(*A, index_bits, indices));
done:
    if (status) trine_matrix_destroy(A);
    return status;
}

trine_status trine_matrix_csr(trine_context ctx, trine_matrix *A, trine_dtype t, int64_t n_rows, int64_t n_cols,
                              int64_t nnz, trine_space space, int offset_bits, const void *row_offsets, int index_bits,
                              const void *columns, const void *values)
{
    return new_view(ctx, A, TRINE_CSR, t, n_rows, n_cols, nnz, space, offset_bits, row_offsets, index_bits, columns,
                    values);
}

trine_status trine_matrix_csc(trine_context ctx, trine_matrix *A, trine_dtype t, int64_t n_rows, int64_t n_cols,
                              int64_t nnz, trine_space space, int offset_bits, const void *column_offsets,
                              int index_bits, const void *rows, const void *values)
{
    return new_view(ctx, A, TRINE_CSC, t, n_rows, n_cols, nnz, space, offset_bits, column_offsets, index_bits, rows,
                    values);
}

trine_matrix trine_retain_matrix(trine_matrix A)
{
    trine_retain(&A->refs);
    return A;
}

trine_status trine_matrix_destroy(trine_matrix *A)
{
    if (!A || !*A) return TRINE_SUCCESS;
    trine_matrix M = *A;
    *A = NULL;
    if (!trine_release(&M->refs)) return TRINE_SUCCESS;
    trine_context ctx = M->ctx;
    if (M->owns_offsets) trine_free(ctx, M->space, M->offsets);
    if (M->owns_indices) trine_free(ctx, M->space, M->indices);
    if (M->owns_values) trine_free(ctx, M->space, M->values);
    trine_free(ctx, TRINE_HOST, M);
    return trine_context_destroy(&ctx);
}

trine_status trine_matrix_get_info(trine_matrix A, trine_matrix_info *info)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(info, "info is NULL");
    *info = (trine_matrix_info){.dtype = A->dtype,
                                .format = A->format,
                                .space = A->space,
                                .n_rows = A->n_rows,
                                .n_cols = A->n_cols,
                                .nnz = A->nnz,
                                .symmetry = A->symmetry,
                                .pattern = A->made_up_values || !A->values};
    return TRINE_SUCCESS;
}

trine_status trine_matrix_get_arrays(trine_matrix A, const int64_t **offsets, const int32_t **indices,
                                     const void **values)
{
    REQUIRE(A, "A is NULL");
    if (offsets) *offsets = A->offsets;
    if (indices) *indices = A->indices;
    if (values) *values = A->values;
    return TRINE_SUCCESS;
}

trine_status trine_matrix_get_offsets(trine_matrix A, const void **offsets, int *bits)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(offsets, "offsets is NULL");
    REQUIRE(bits, "bits is NULL");
    *offsets = A->offsets32 ? (const void *)A->offsets32 : A->offsets;
    *bits = A->offsets32 ? 32 : 64;
    return TRINE_SUCCESS;
}
