/* What the tests and the benchmark use of libtrine beside the public headers: a look inside, and devices smaller
 * than the one that is there. What is marked TRINE_API is exported by libtrine as TRINE_TEST (cmake/exports.cmake),
 * and likewise in team.h. No promise to anybody: programs that call it are built with the library. C11, and C++17 in
 * .cu files. */
#ifndef TRINE_CORE_TEST_INTERFACE_H
#define TRINE_CORE_TEST_INTERFACE_H

#include <stdbool.h>
#include <trine/spmv.h>
#include <trine/forest.h>
#include <trine/krylov.h>
#include <trine/precond.h>
#include <trine/supernodal.h>
#include <trine/triangular.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ device */

/** For tests of smaller devices on a larger one: from now on every device is taken for one of at most this compute
 *  capability (80, 86, ...) with at most so many bytes of shared memory a block; 0: as it is. Before the first
 *  context. Does nothing in a build without CUDA. */
TRINE_API void trine_gpu_pretend(int capability, int shared_bytes);

/* ----------------------------------------------------------------- kernels */

/** Compile a semiring's strings for devices of a compute capability, and keep the result as trine_semiring_create
 *  does; there need be no such device. position_bits: of the index of the values, 32 or 64, 0 = none. seconds: the most
 *  that the compiler may take, 0 = as usual. */
TRINE_API trine_status trine_semiring_compile(trine_context ctx, const trine_semiring_source *source, int position_bits,
                                              int capability, double seconds);
/** The same for the plain product's kernel of a plan with such a block, tile and reduction. stored 0: half. */
TRINE_API trine_status trine_product_compile(trine_context ctx, trine_dtype dtype, trine_dtype stored, bool indexed,
                                             int block, int tile, int reduction, int capability);
/** options.tune as the text of a choice, of 128 bytes, and back; false: it is none. */
TRINE_API void spmv_write_choice(const trine_spmv_options *options, char *choice);
TRINE_API bool spmv_read_choice(const char *choice, trine_spmv_options *options);
/** Choices by name, of a context (core/choices.h): set one; get one into 128 bytes, false if there is none; read those
 *  of the context's device from a file (TRINE_ERR_IO, TRINE_ERR_FORMAT with the line: those before it are set); append
 *  one to a file. */
TRINE_API trine_status trine_choice_set(trine_context ctx, const char *name, const char *choice);
TRINE_API bool trine_choice_get(trine_context ctx, const char *name, char *choice);
TRINE_API trine_status trine_choices_load(trine_context ctx, const char *path);
TRINE_API trine_status trine_choice_save(trine_context ctx, const char *path, const char *name, const char *choice);
/** The source that trine_semiring_builtin compiles; TRINE_ERR_ARGUMENT: there is none. */
TRINE_API trine_status trine_semiring_find(const char *name, trine_dtype dtype, trine_semiring_source *source);
/** Programs that were compiled with ctx: what came from a cache is not counted. */
TRINE_API int64_t trine_kernels_compiled(trine_context ctx);

/* -------------------------------------------------------------- triangular */

/** Solve op(T) x = b, T in compressed rows with 64-bit offsets, by definition (src/triangular/reference/): in float,
 *  double, float complex and double complex. x: b before, the solution after. What is not in the triangle uplo is
 *  ignored, and with a unit diagonal the diagonal. */
TRINE_API void trine_triangular_reference_s(trine_uplo uplo, trine_transpose op, trine_diag diag, int64_t n,
                                            const int64_t *offsets, const int32_t *indices, const void *values,
                                            void *x);
TRINE_API void trine_triangular_reference_d(trine_uplo uplo, trine_transpose op, trine_diag diag, int64_t n,
                                            const int64_t *offsets, const int32_t *indices, const void *values,
                                            void *x);
TRINE_API void trine_triangular_reference_c(trine_uplo uplo, trine_transpose op, trine_diag diag, int64_t n,
                                            const int64_t *offsets, const int32_t *indices, const void *values,
                                            void *x);
TRINE_API void trine_triangular_reference_z(trine_uplo uplo, trine_transpose op, trine_diag diag, int64_t n,
                                            const int64_t *offsets, const int32_t *indices, const void *values,
                                            void *x);

/** From now on AUTO takes solves without inverses for so many times as slow as its model says; 0: as it says. */
TRINE_API void trine_triangular_pretend(double slower);

/* ------------------------------------------------------------------ Krylov */

/** The x of smallest residual in each Krylov space of A and b, of dimension 0 to `steps` (src/krylov/reference/).
 *  x: the last one; work: (2 steps + 1) n; residuals: steps + 1. */
TRINE_API void trine_krylov_reference(int64_t n, void (*multiply)(void *user, const double *x, double *y), void *user,
                                      const double *b, double *x, int steps, double *work, double *residuals);

/** How often a plan's solves have waited for what a GPU has done. */
TRINE_API int64_t trine_krylov_looks(trine_krylov plan);
/** Before its first solve: the loop on a device is recorded without its conditions, max_iterations steps one after
 *  another, which is what the kernels take. A cycle that ends early is followed by no other one. */
TRINE_API void trine_krylov_unroll(trine_krylov plan);

/* ------------------------------------------------------------- tridiagonal */

/** op(A) x = d as a textbook has it (src/tridiagonal/reference/), in single, double, complex and double complex
 *  precision. bands: of A below, on and above the diagonal, n elements each as trine_gtsv takes them; x: n elements,
 *  d before; work: 4 n elements. A cyclic system without its last row and column must be regular too. */
TRINE_API void trine_tridiagonal_reference_s(trine_transpose op, int cyclic, int64_t n, const void *const bands[3],
                                             void *x, void *work);
TRINE_API void trine_tridiagonal_reference_d(trine_transpose op, int cyclic, int64_t n, const void *const bands[3],
                                             void *x, void *work);
TRINE_API void trine_tridiagonal_reference_c(trine_transpose op, int cyclic, int64_t n, const void *const bands[3],
                                             void *x, void *work);
TRINE_API void trine_tridiagonal_reference_z(trine_transpose op, int cyclic, int64_t n, const void *const bands[3],
                                             void *x, void *work);

/* -------------------------------------------------------------- supernodal */

/** Told that level k of the way through the levels is about to be put on `stream`, and with k = levels that all of
 *  them are. */
typedef void (*supernodal_level_watch)(void *user, int64_t k, void *stream);
/** Measure by levels (the benchmark does): solves level by level on a GPU that are launched kernel by kernel, or
 *  captured by the caller, call `watch` (NULL: no more) between levels. */
TRINE_API void trine_supernodal_watch_levels(trine_supernodal plan, supernodal_level_watch watch, void *user);

/** x := op(L)^-1 x by definition (src/supernodal/reference/): in float, double, float complex and double complex. L:
 *  valid panels of that dtype; x: n elements on the host. */
TRINE_API void trine_supernodal_reference_s(const trine_panels *L, trine_transpose op, void *x);
TRINE_API void trine_supernodal_reference_d(const trine_panels *L, trine_transpose op, void *x);
TRINE_API void trine_supernodal_reference_c(const trine_panels *L, trine_transpose op, void *x);
TRINE_API void trine_supernodal_reference_z(const trine_panels *L, trine_transpose op, void *x);

/* -------------------------------------------------------------------- spmv */

/** y := A x by the functions s->cpu, by definition (src/spmv/reference/). A: n_rows compressed rows on the host. Of s
 *  the functions multiply, lift, add and store are used, and the size of output. */
TRINE_API void trine_spmv_reference(const trine_semiring_source *s, const void *user, int64_t n_rows,
                                    const int64_t *offsets, const int32_t *columns, const void *values, const void *x,
                                    void *y);

/** Where a block begins: its first entry and the row of that. What follows: src/spmv/common/starts.h; offsets are of 32
 *  or 64 bits, w is 1 or more. */
typedef struct { int64_t nz, row; } spmv_start;
/** Blocks of w each. */
TRINE_API int64_t spmv_count_blocks(int64_t n_rows, int64_t nnz, int row_weight, int64_t w);
/** The block that begins at `at` of the work, by binary search. Behind the end: the last entry and row, plus one. */
TRINE_API spmv_start spmv_find_start(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t at);
/** Algorithm 4: as many blocks as counted, of equally much work, their number plus one starts; rows may be shared. */
TRINE_API void spmv_starts_balanced(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t w,
                                    spmv_start *starts);
/** Algorithm 5: blocks of whole rows, at most as many as counted, none for no work; returns how many. The last one may
 *  be empty. Room for as many starts as above. */
TRINE_API int64_t spmv_starts_adaptive(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t w,
                                       spmv_start *starts);
/* ------------------------------------------------------------------ forest */

/** n vertices in compressed rows, each edge in both of its rows. */
typedef struct {
    int64_t n;
    const int64_t *offsets;
    const int32_t *columns;
    const double *weights;
} trine_forest_reference_graph;
/** A [0,n]-factor by rounds, as trine_forest_factor makes it (src/forest/reference/); nothing in the options is left
 *  open, and rounds end when the factor is maximal. proposed: scratch of neighbours' size. Returns the rounds. */
TRINE_API int64_t trine_forest_reference_factor(const trine_forest_reference_graph *g, const trine_factor_rounds *o,
                                                int32_t *neighbours, int32_t *proposed);
/** Cycles of a [0,2]-factor opened in place, paths named and numbered. Returns the cycles. */
TRINE_API int64_t trine_forest_reference_paths(const trine_forest_reference_graph *g, trine_ties rule, uint64_t seed,
                                               int32_t *neighbours, int32_t *path, int32_t *position);
/** The key of edge {u,v} with TRINE_TIES_HASH: of equal weights that with the larger one is the stronger. */
TRINE_API uint64_t trine_forest_edge_key(uint64_t seed, int32_t u, int32_t v);
/** Forests to come take a matrix with more than `most` entries for one with 2^31 or more; 0: no longer. */
TRINE_API void trine_forest_pretend(int64_t most);
/** Parts of stages by themselves, as the benchmark times them. They leave the factor as it is, and nothing else. */
typedef enum {
    TRINE_FOREST_PROPOSE,     /* proposals of a round k > 0 without charges, ties as in the factor */
    TRINE_FOREST_SCAN_EDGES,  /* pass k of the bidirectional scan that looks for cycles; k = -1: what comes before */
    TRINE_FOREST_SCAN_LENGTHS /* of the one that finds positions */
} trine_forest_part;
/** forest: with a factor, for scans a [0,2]-factor. Passes in their order, each as often as wanted. Asynchronous. */
TRINE_API trine_status trine_forest_run_part(trine_forest forest, trine_forest_part part, int k,
                                             const trine_exec *exec);

/* ----------------------------------------------------------------- precond */

/** result := M^-1 of a preconditioner by its equations (src/precond/reference/). Matrices are dense, n x n, row by row,
 *  elements as pairs of real and imaginary part. member: of each of m patterns, n x n, whether (i,j) belongs to it,
 *  which the diagonal does. q: of MOS_A, off-diagonal entries that rows of B_l keep. scratch: five matrices. False: a
 *  factor is singular. */
TRINE_API bool trine_precond_reference(trine_precond_method method, int64_t n, const long double *A, int m,
                                       const uint8_t *member, const int64_t *q, long double *scratch,
                                       long double *result);

#ifdef __cplusplus
}
#endif
#endif
