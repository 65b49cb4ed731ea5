/* Tridiagonal systems and columns of vectors as kernels take them, and their rows on the way to shared memory. */
#ifndef TRINE_TRIDIAGONAL_COMMON_SYSTEM_CUH
#define TRINE_TRIDIAGONAL_COMMON_SYSTEM_CUH

#include "core/gpu_copy.cuh"
#include "core/gpu_follow.cuh"
#include "core/gpu_scalar.cuh"

constexpr int WARP = 32;

/** The bands of op(A): row i has lower[i + lower_shift], diag[i], upper[i + upper_shift], indices wrapped at the
 *  corners. Of a coarse system, rows 2 k and 2 k + 1 below wide_rows have a fourth coefficient, extra: of x[2 k + 2]
 *  and of x[2 k - 1]. */
template <typename T> struct system_of {
    int64_t n, lower_shift, upper_shift;
    bool cyclic, conjugate;
    const T *lower, *diag, *upper, *extra;
    int64_t wide_rows;
};
/** Vectors. PERMUTED: their rows stand in another order (gtsv/cuda/permuted_rows.cuh). */
template <typename T, bool PERMUTED = false> struct columns_of {
    T *data;
    int64_t ld;
    __device__ int64_t place(int64_t i) const { return i; }
    __device__ void put(int64_t i, int64_t k, T x) const { data[k * ld + i] = x; }
};
/** Right-hand sides: D, or, where guess.data is not NULL, D - op(A) guess, computed as rows are read; what is stored
 *  is the guess plus the solution then. The guess is not changed. */
template <typename T, bool PERMUTED = false> struct given_columns : columns_of<const T, PERMUTED> {
    columns_of<const T> guess; /* never where rows are permuted */
};

template <typename T> __device__ inline T lower_of(const system_of<T> &A, int64_t i)
{
    if (i == 0 && !A.cyclic) return T{};
    int64_t k = i + A.lower_shift;
    k = k < 0 ? k + A.n : k;
    return A.conjugate ? conjugate_of(A.lower[k]) : A.lower[k];
}
template <typename T> __device__ inline T diag_of(const system_of<T> &A, int64_t i)
{
    return A.conjugate ? conjugate_of(A.diag[i]) : A.diag[i];
}
template <typename T> __device__ inline T upper_of(const system_of<T> &A, int64_t i)
{
    if (i == A.n - 1 && !A.cyclic) return T{};
    int64_t k = i + A.upper_shift;
    k = k >= A.n ? k - A.n : k;
    return A.conjugate ? conjugate_of(A.upper[k]) : A.upper[k];
}

/** Row i of d - op(A) x. */
template <typename T> __device__ inline T residual_at(const system_of<T> &A, const T *x, int64_t i, T d)
{
    T sum = d - diag_of(A, i) * x[i];
    if (i > 0 || A.cyclic) sum = sum - lower_of(A, i) * x[i > 0 ? i - 1 : A.n - 1];
    if (i < A.n - 1 || A.cyclic) sum = sum - upper_of(A, i) * x[i < A.n - 1 ? i + 1 : 0];
    return sum;
}
/** Row i of right-hand side k. */
template <typename T, bool P> __device__ inline bool has_guess(const given_columns<T, P> &D)
{
    return !P && D.guess.data != nullptr;
}
template <typename T, bool P> __device__ inline T right_hand_side(const system_of<T> &A, const given_columns<T, P> &D,
                                                                  int64_t i, int64_t k)
{
    const T d = D.data[k * D.ld + D.place(i)];
    return has_guess(D) ? residual_at(A, D.guess.data + k * D.guess.ld, i, d) : d;
}
/** What is stored in row i of column k. */
template <typename T, bool P> __device__ inline T with_guess(const given_columns<T, P> &D, int64_t i, int64_t k, T x)
{
    return has_guess(D) ? D.guess.data[k * D.guess.ld + i] + x : x;
}

__device__ inline bool is_aligned(const void *p) { return ((uintptr_t)p & 15) == 0; }

/** An exact kernel behind the one-pass solve asks if there is nothing for it to do. The fallback flag is a word that
 *  is missing until a tile raises it (gtsv/cuda/certified_pass.cuh); nothing lowers it. NULL: always needed. */
__device__ inline bool is_not_needed(const int32_t *fallback)
{
    if (!fallback || !is_missing(poll(fallback))) return false;
    wait_for_predecessor();
    return is_missing(poll(fallback));
}

#endif
