/* Sparse matrices: views, conversions, files, generators. Everything here runs on the host unless it says otherwise. */
#ifndef TRINE_MATRIX_H
#define TRINE_MATRIX_H

#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_matrix_s *trine_matrix; /* a view of the caller's arrays, or owned */

typedef enum { TRINE_CSR, TRINE_CSC } trine_format;
typedef enum { TRINE_GENERAL, TRINE_SYMMETRIC, TRINE_SKEW, TRINE_HERMITIAN } trine_symmetry;

/* ------------------------------------------------------------------- views */

/** View n_rows x n_cols compressed-row arrays: offsets n_rows + 1 long (offset_bits 32 or 64), columns nnz long,
 *  0-based (index_bits 32 or 64), values nnz long of type t, or NULL for a pattern. All in `space`; they must
 *  outlive the view. Inside, offsets are 64-bit and columns 32-bit: 32-bit offsets and 64-bit columns are converted
 *  into the view's own copy. Only sizes, NULLs, the first and last offset and what conversion touches are checked;
 *  trine_matrix_check checks the rest. TRINE_ERR_ARGUMENT: negative sizes, n > 2^31 - 1, a column that does not fit. */
TRINE_API trine_status trine_matrix_csr(trine_context ctx, trine_matrix *A, trine_dtype t, int64_t n_rows,
                                        int64_t n_cols, int64_t nnz, trine_space space, int offset_bits,
                                        const void *row_offsets, int index_bits, const void *columns,
                                        const void *values);
/** The same for compressed columns: offsets n_cols + 1 long, rows nnz long. */
TRINE_API trine_status trine_matrix_csc(trine_context ctx, trine_matrix *A, trine_dtype t, int64_t n_rows,
                                        int64_t n_cols, int64_t nnz, trine_space space, int offset_bits,
                                        const void *column_offsets, int index_bits, const void *rows,
                                        const void *values);
/** A new owned matrix on the host with room for nnz entries, to be filled through the returned pointers: offsets
 *  (int64, n_rows + 1 for CSR, n_cols + 1 for CSC, all 0 now), indices (int32) and values (of type t; not cleared). */
TRINE_API trine_status trine_matrix_allocate(trine_context ctx, trine_matrix *A, trine_format format, trine_dtype t,
                                             int64_t n_rows, int64_t n_cols, int64_t nnz, int64_t **offsets,
                                             int32_t **indices, void **values);
TRINE_API trine_status trine_matrix_destroy(trine_matrix *A);

typedef struct {
    trine_dtype dtype;
    trine_format format;
    trine_space space;
    int64_t n_rows, n_cols, nnz;
    trine_symmetry symmetry; /* as the file declared it (the entries are expanded all the same); TRINE_GENERAL for
                                views */
    int pattern; /* 1: no values (views), or values made up for a pattern file */
    int64_t reserved[4]; /* zeros */
} trine_matrix_info;
TRINE_API trine_status trine_matrix_get_info(trine_matrix A, trine_matrix_info *info);

/** Pointers into A, valid while A lives: offsets (int64), indices (int32), values (of A's dtype; NULL for a
 *  pattern), in A's space. Any of the three outputs may be NULL. */
TRINE_API trine_status trine_matrix_get_arrays(trine_matrix A, const int64_t **offsets, const int32_t **indices,
                                               const void **values);
/** The offsets as they are kept beside that: of a view of 32-bit offsets those that the caller gave (*bits = 32), of
 *  every other matrix the 64-bit ones of trine_matrix_get_arrays (*bits = 64). Valid while A lives, in A's space. */
TRINE_API trine_status trine_matrix_get_offsets(trine_matrix A, const void **offsets, int *bits);

/** TRINE_ERR_STRUCTURE with the first offending row (column for CSC) unless offsets start at 0, never fall and end
 *  at nnz, and indices are in range. flags: also require ... */
enum {
    TRINE_CHECK_SORTED = 1, /* indices strictly ascending in each row: sorted and without duplicates */
    TRINE_CHECK_FINITE = 2, /* no NaN or Inf among the values */
    TRINE_CHECK_DIAGONAL =
        4 /* square, and every diagonal entry present and not exactly zero: TRINE_ERR_SINGULAR if not */
};
TRINE_API trine_status trine_matrix_check(trine_matrix A, unsigned flags);

/* ------------------------------------------------ conversions (new, owned) */
/* Each makes a new matrix from A, which stays as it is. Inputs in device memory are copied to the host first;
 * results are on the host, except of trine_matrix_copy. Unsorted rows and duplicates are allowed and kept unless
 * said otherwise. */

/** The same matrix in `space`, in `format` and with values of type t (real to complex adds 0i; complex to real is
 *  refused with TRINE_ERR_ARGUMENT if an imaginary part is not zero). */
TRINE_API trine_status trine_matrix_copy(trine_matrix A, trine_matrix *B, trine_space space, trine_format format,
                                         trine_dtype t);
/** B = A^T (op TRINE_T) or A^H (TRINE_H), in A's format, indices sorted. */
TRINE_API trine_status trine_matrix_transpose(trine_matrix A, trine_matrix *B, trine_transpose op);
/** B = the whole matrix of which A stores the lower or upper triangle (entries on one side of the diagonal only, else
 *  TRINE_ERR_STRUCTURE): B = A + A^T - diag (symmetric), A - A^T (skew; the diagonal must be zero), A + A^H - diag
 *  (Hermitian; the diagonal must be real). */
TRINE_API trine_status trine_matrix_expand(trine_matrix A, trine_matrix *B, trine_symmetry symmetry);
/** B = the lower or upper triangle of A. diag TRINE_NONUNIT keeps the diagonal as it is, TRINE_UNIT leaves it out;
 *  fill_diagonal != 0 puts 1 where a diagonal entry is then missing, so everywhere with TRINE_UNIT (benchmarks: Liu
 *  et al. 2017, footnote of Table I). */
TRINE_API trine_status trine_matrix_triangle(trine_matrix A, trine_matrix *B, trine_uplo uplo, trine_diag diag,
                                             int fill_diagonal);
/** B(i,j) = A(row_perm[i], col_perm[j]), indices sorted; NULL = identity. TRINE_ERR_ARGUMENT names the first index
 *  that is not a permutation. */
TRINE_API trine_status trine_matrix_permute(trine_matrix A, trine_matrix *B, const int32_t *row_perm,
                                            const int32_t *col_perm);
/** B = A with ascending indices in each row; duplicates summed if sum_duplicates != 0, else kept in their order. */
TRINE_API trine_status trine_matrix_sort(trine_matrix A, trine_matrix *B, int sum_duplicates);

/* ------------------------------------------------------------------ numbers */

typedef enum { TRINE_NORM_INF, TRINE_NORM_ONE, TRINE_NORM_FROBENIUS, TRINE_NORM_MAX } trine_norm;
/** Norm of the entries as they are stored (duplicates count one by one), accumulated in double. NaN if a value is NaN.
 *  TRINE_ERR_ARGUMENT for a pattern, as in the two functions below. */
TRINE_API trine_status trine_matrix_norm(trine_matrix A, trine_norm which, double *norm);
/** y = alpha op(A) x + beta y for one vector, host arrays of A's dtype, x != y; alpha and beta point to one element,
 *  NULL = 1 and 0. With beta = 0 y is not read. */
TRINE_API trine_status trine_matrix_multiply(trine_matrix A, trine_transpose op, const void *alpha, const void *x,
                                             const void *beta, void *y);
/** How right is x? Host arrays of A's dtype, nrhs columns, leading dimension n. r = b - Ax is accumulated in long
 *  double. backward_error: max over columns of ||r|| / (eps (||b|| + ||A|| ||x||)), infinity norms, eps of A's
 *  dtype: "in units of eps". residual: max of ||r|| / ||b|| (||r|| where b = 0). componentwise: max_i |r_i| /
 *  (|A||x| + |b|)_i. NaN in x gives NaN. r may be NULL, or takes the residual vectors rounded to A's dtype. */
typedef struct { double backward_error, residual, componentwise; } trine_accuracy;
TRINE_API trine_status trine_matrix_accuracy(trine_matrix A, int64_t nrhs, const void *x, const void *b, void *r,
                                             trine_accuracy *accuracy);

/** How a solve is handed to trine_estimate_condition: X := op(A)^-1 B for op TRINE_N and TRINE_H (of real A the same
 *  as TRINE_T), n x 1 or n x 2, column-major, contiguous, in the space of the context given there and ordered by its
 *  stream. B may be overwritten. */
typedef trine_status (*trine_solve_fn)(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X);

typedef struct {
    double norm; /* ||A||_1, from the entries */
    double condition; /* kappa_1(A) = ||A||_1 ||A^-1||_1: an estimate from below, almost always at least a third of
                         it */
    double scaled; /* the condition that scaling of rows and columns cannot explain; = condition where that is
                      below 1e-3/eps */
    int singular; /* 1: scaled >= 1/eps, eps of A's dtype as in trine_accuracy: A is singular to working
                     precision */
    int64_t solves; /* calls of solve */
    int64_t reserved[4]; /* zeros */
} trine_condition;
/** Estimate the condition of the square A from solves with it. eps condition is about the largest relative error, in
 *  the 1-norm, that a backward stable solve leaves. 1/eps and more may be bad scaling only, which costs no digits;
 *  so from 1e-3/eps on another condition is estimated as well: that of G^-1 A W in the infinity norm, W = diag(w), G
 *  = diag(|A| w), with w near the Perron vector of |A^-1| |A|, for which no scaling of rows and columns has a
 *  smaller one (Bauer 1963). Up to 9 solves (mostly 3 to 5), and up to 16 more for `scaled`. The same result in
 *  every run if solve is deterministic. Where a solution is not finite, or solve returns TRINE_ERR_SINGULAR or
 *  TRINE_ERR_NO_CONVERGENCE, condition is Inf, and so is scaled unless the solves with G and W go well; other errors of
 *  solve are returned. Synchronous: vectors pass through the host; A may be anywhere, of any context.
 *  TRINE_ERR_STRUCTURE: A is not square. Higham and Tisseur 2000, Algorithm 2.4, with two columns. */
TRINE_API trine_status trine_estimate_condition(trine_context ctx, trine_matrix A, trine_solve_fn solve, void *user,
                                                trine_condition *condition);

typedef struct {
    int64_t n_rows, n_cols, nnz, duplicates, explicit_zeros, diagonal_present, diagonal_zero;
    int64_t lower_bandwidth, upper_bandwidth; /* largest i - j and j - i of an entry; 0 if none */
    int64_t min_row, max_row, empty_rows; /* entries a row */
    double mean_row;
    int64_t row_histogram[32]; /* rows with 2^(k-1) < entries <= 2^k in [k]; [0] counts 0 and 1 */
    int pattern_symmetric, symmetric, hermitian; /* exactly, value by value */
    int positive_diagonal; /* every diagonal entry is present, real and > 0 */
    int lower_triangular, upper_triangular, cyclic_tridiagonal;
    double norm_inf;
    int64_t reserved[4]; /* zeros */
} trine_matrix_structure;
/** What A looks like: one pass over A and its transpose. Square or not. Duplicates are counted, then summed: all but
 *  nnz and duplicates describes the sum. A pattern counts as all ones. cyclic_tridiagonal: square, nothing outside
 *  the three diagonals and the two far corners (so a tridiagonal matrix is one). */
TRINE_API trine_status trine_matrix_get_structure(trine_matrix A, trine_matrix_structure *s);

/** Y(i,:) = scale[i] X(perm[i],:), or with inverse != 0 Y(perm[i],:) = scale[i] X(i,:), for rows x cols vectors of type
 *  t in the context's space; perm (int32) and scale (the real type of t) live there too, NULL = identity and 1. X != Y,
 *  unless perm is NULL: then they may be one array with the same ld and layout.
 *  perm is not checked: a permutation of 0..rows-1, though without inverse any indices in that range will do.
 *  Asynchronous on stream (NULL = the context's), capturable. */
TRINE_API trine_status trine_vectors_permute(trine_context ctx, trine_dtype t, const int32_t *perm, const void *scale,
                                             int inverse, const trine_dense *X, const trine_dense *Y, void *stream);
/** The same with conj(X) in place of X. */
TRINE_API trine_status trine_vectors_permute_conjugate(trine_context ctx, trine_dtype t, const int32_t *perm,
                                                       const void *scale, int inverse, const trine_dense *X,
                                                       const trine_dense *Y, void *stream);

/* -------------------------------------------------------------------- files */

/** What a file may ask for beyond what it holds. NULL or zeros: the limits that the comments say, so that memory and
 *  time are bounded by the size of the file. A file beyond a limit is TRINE_ERR_FORMAT. */
typedef struct {
    int64_t max_rows; /* rows and columns of a matrix, rows x columns of vectors in a coordinate file; 0: 2^20, or 16
                         for each byte of the file as it lies on the disk if that is more */
    int64_t max_text; /* bytes that a gzipped file inflates to; 0: 2^26, or 64 for each byte of the file if that is
                         more */
    int64_t reserved[4]; /* zeros */
} trine_read_options;

/** Read a Matrix Market coordinate (or array) file or a Rutherford/Harwell-Boeing file, plain or gzipped, told apart by
 *  content. The result is CSR on the host, sorted, symmetric storage expanded, duplicates summed (and logged), values
 *  converted to t. Complex files need TRINE_C or TRINE_Z (else TRINE_ERR_ARGUMENT). Pattern files get documented
 *  values: 1 off the diagonal and (entries in the row) + 1 on stored diagonal positions. Zeros of an array file are not
 *  stored. NaN, Inf, values and sums of duplicates too large for t, elemental Harwell-Boeing files, and files that
 *  claim more than trine_read_options says are refused. docs/reference/file-formats.md has the details.
 *  TRINE_ERR_IO: not there, a directory, unreadable. TRINE_ERR_FORMAT: the sentence names the file and the line. */
TRINE_API trine_status trine_matrix_read(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t);
/** The same with other limits; options NULL: trine_matrix_read. */
TRINE_API trine_status trine_matrix_read_with(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t,
                                              const trine_read_options *options);
/** Write Matrix Market (.mtx, .mtx.gz) or Rutherford-Boeing (.rb, .rua, .rsa, ...) by the ending of path; 17 (9 in
 *  single) significant digits. symmetry other than TRINE_GENERAL writes the lower triangle only (the caller vouches
 *  for it; only a diagonal that cannot be skew-symmetric or Hermitian is TRINE_ERR_STRUCTURE). A pattern stays a
 *  pattern. Written to a file that takes the place of path when it is complete (docs/reference/file-formats.md):
 *  path is whole or untouched. */
TRINE_API trine_status trine_matrix_write(trine_matrix A, const char *path, trine_symmetry symmetry);
/** Read vectors: a Matrix Market array or coordinate file, or plain text with one value a line (of a complex t: one
 *  or two; comments begin with % or #). NaN and Inf are read as they are; what a file may claim is limited as above.
 *  *data (host, column-major, rows x cols of type t) belongs to the caller: trine_free(ctx, TRINE_HOST, data). */
TRINE_API trine_status trine_vectors_read(trine_context ctx, const char *path, trine_dtype t, void **data,
                                          int64_t *rows, int64_t *cols);
/** The same with other limits; options NULL: trine_vectors_read. */
TRINE_API trine_status trine_vectors_read_with(trine_context ctx, const char *path, trine_dtype t, void **data,
                                               int64_t *rows, int64_t *cols, const trine_read_options *options);
/** Write a host vector block as a Matrix Market array file (.gz: gzipped); whole or untouched, as above. */
TRINE_API trine_status trine_vectors_write(trine_context ctx, const char *path, trine_dtype t, const void *data,
                                           int64_t rows, int64_t cols, int64_t ld);

/* ------------------------------------------------------------------ gallery */

/** Make a test matrix from its name and parameters, "name" or "name:key=value,key=value"; the list with all
 *  parameters and formulas is trine_gallery_entry. Examples: "laplace2d:nx=100,ny=100", "laplace3d:n=40",
 *  "elasticity3d:n=20", "random_triangular:n=100000,levels=50,row=8". Random ones take seed=. TRINE_ERR_ARGUMENT
 *  names a key that is unknown. */
TRINE_API trine_status trine_matrix_gallery(trine_context ctx, trine_matrix *A, const char *spec, trine_dtype t);
/** The i-th entry of the gallery: its name, its parameters with defaults, one line of description. 0 when i is past
 *  the end. */
TRINE_API int trine_gallery_entry(int i, const char **name, const char **parameters, const char **description);

#ifdef __cplusplus
}
#endif
#endif
