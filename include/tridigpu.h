/* The library tridigpu of Klein 2024, Appendix A.1, on top of trine: the same names, argument order and behaviour, for
 * programs written against it. C and CUDA C++; needs CUDA's headers and a libtrine built with CUDA. New programs
 * include <trine/tridiagonal.h>, where every function says more about itself; trine_last_error() tells why one of these
 * failed.
 *
 * tridigpu<t>..., t = S, D, C, Z. All arrays are in memory of the current device, matrices column-major without
 * gaps: bands a, b, c (below, on, above the diagonal, each indexed by row), D and X with N n rows and n_r columns.
 * a[0] and c[N-1] are read only by the functions for cyclic systems (cgtsv, cbgtsv). X may be D. Every buffer is as
 * large as its ..BufferSizeExt says, starts on 16 bytes as cudaMalloc's do, and may hold anything. A NULL stream is
 * the legacy default stream. Nothing is allocated, nothing waits but csc2csc. */
#ifndef TRIDIGPU_H
#define TRIDIGPU_H

#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <trine/core.h> /* TRINE_API */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRIDIGPU_NO_PIVOTING,
    TRIDIGPU_PARTIAL_PIVOTING,
    TRIDIGPU_SCALED_PARTIAL_PIVOTING,
    TRIDIGPU_DEFAULT_PIVOTING
} tridigpu_pivoting_t;

typedef enum {
    TRIDIGPU_STATUS_SUCCESS = 0,
    TRIDIGPU_STATUS_INVALID_VALUE,
    TRIDIGPU_STATUS_ALLOC_FAILED,
    TRIDIGPU_STATUS_NOT_SUPPORTED,
    TRIDIGPU_STATUS_EXECUTION_FAILED
} tridigpu_status_t;

/* The declarations of one precision:
 *   gtsv, cgtsv    tridiagonal systems, N rows
 *   bgtsv, cbgtsv  block tridiagonal systems: N block rows of n rows, n = 1 to 4 (and up to 8); blocks column-major,
 *                  N n n elements a band
 *   bgtf           factors such a matrix once. a, b, c belong to the factorization until it is not used any more
 *   bgtfs, bgtrfs  solves with it; two names of one function
 *   gbsv           banded systems: band k = -kl .. ku at AB + (kl + k) N, indexed by row; kl, ku = 0 to 4 (and up to 8)
 *   gtsv_csc2dense right-hand sides in compressed sparse columns
 *   gtsv_csc2csc   the same, and of each solution the result_col_ptrs[j+1] - result_col_ptrs[j] entries of largest
 *                  absolute value. Allocates, works on the default stream, and returns when the result is there */
#define TRIDIGPU_DECLARE(t, T)                                                                                         \
    TRINE_API tridigpu_status_t tridigpu##t##gtsv_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r,                 \
                                                                size_t *buffer_size_in_bytes);                         \
    TRINE_API tridigpu_status_t tridigpu##t##gtsv(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r,          \
                                                  const T *a, const T *b, const T *c, T *X, const T *D,                \
                                                  void *p_buffer);                                                     \
    TRINE_API tridigpu_status_t tridigpu##t##cgtsv_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r,                \
                                                                 size_t *buffer_size_in_bytes);                        \
    TRINE_API tridigpu_status_t tridigpu##t##cgtsv(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r,         \
                                                   const T *a, const T *b, const T *c, T *X, const T *D,               \
                                                   void *p_buffer);                                                    \
    TRINE_API tridigpu_status_t tridigpu##t##bgtsv_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r, int n,         \
                                                                 size_t *buffer_size_in_bytes);                        \
    TRINE_API tridigpu_status_t tridigpu##t##bgtsv(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, int n,  \
                                                   const T *a, const T *b, const T *c, T *X, const T *D,               \
                                                   void *p_buffer);                                                    \
    TRINE_API tridigpu_status_t tridigpu##t##cbgtsv_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r, int n,        \
                                                                  size_t *buffer_size_in_bytes);                       \
    TRINE_API tridigpu_status_t tridigpu##t##cbgtsv(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, int n, \
                                                    const T *a, const T *b, const T *c, T *X, const T *D,              \
                                                    void *p_buffer);                                                   \
    TRINE_API tridigpu_status_t tridigpu##t##bgtf_factorizationBufferSizeExt(                                          \
        tridigpu_pivoting_t p, int N, int n, size_t *factorization_buffer_size_in_bytes);                              \
    TRINE_API tridigpu_status_t tridigpu##t##bgtf(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n, T *a,      \
                                                  T *b, T *c, void *p_factorization_buffer);                           \
    TRINE_API tridigpu_status_t tridigpu##t##bgtfs_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r, int n,         \
                                                                 size_t *buffer_size_in_bytes);                        \
    TRINE_API tridigpu_status_t tridigpu##t##bgtfs(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, int n,  \
                                                   const T *a, const T *b, const T *c, T *X, const T *D,               \
                                                   const void *p_factorization_buffer, void *p_buffer);                \
    TRINE_API tridigpu_status_t tridigpu##t##bgtrfs_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r, int n,        \
                                                                  size_t *buffer_size_in_bytes);                       \
    TRINE_API tridigpu_status_t tridigpu##t##bgtrfs(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, int n, \
                                                    const T *a, const T *b, const T *c, T *X, const T *D,              \
                                                    const void *p_factorization_buffer, void *p_buffer);               \
    TRINE_API tridigpu_status_t tridigpu##t##gbsv_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r, int kl, int ku, \
                                                                size_t *buffer_size_in_bytes);                         \
    TRINE_API tridigpu_status_t tridigpu##t##gbsv(cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, int kl,  \
                                                  int ku, const T *AB, T *X, const T *D, void *p_buffer);              \
    TRINE_API tridigpu_status_t tridigpu##t##gtsv_csc2dense_bufferSizeExt(tridigpu_pivoting_t p, int N, int n_r,       \
                                                                          size_t *buffer_size_in_bytes);               \
    TRINE_API tridigpu_status_t tridigpu##t##gtsv_csc2dense(                                                           \
        cudaStream_t stream, tridigpu_pivoting_t p, int N, int n_r, const T *a, const T *b, const T *c, T *X,          \
        const T *rhs_values, const int *rhs_row_indices, const int *rhs_col_ptrs, int rhs_nnz, void *p_buffer);        \
    TRINE_API tridigpu_status_t tridigpu##t##gtsv_csc2csc(                                                             \
        tridigpu_pivoting_t p, int N, const T *a, const T *b, const T *c, const T *rhs_values,                         \
        const int *rhs_row_indices, const int *rhs_col_ptrs, int n_r, int rhs_nnz, T *result_values,                   \
        int *result_row_indices, const int *result_col_ptrs, int result_nnz);
TRIDIGPU_DECLARE(S, float)
TRIDIGPU_DECLARE(D, double)
TRIDIGPU_DECLARE(C, cuComplex)
TRIDIGPU_DECLARE(Z, cuDoubleComplex)
#undef TRIDIGPU_DECLARE

#ifdef __cplusplus
}
#endif
#endif
