/* What the tests and the benchmark use of libtrine beside the public headers: a look inside, and devices smaller
 * than the one that is there. What is marked TRINE_API is exported by libtrine as TRINE_TEST (cmake/exports.cmake),
 * and likewise in team.h. No promise to anybody: programs that call it are built with the library. C11, and C++17 in
 * .cu files. */
#ifndef TRINE_CORE_TEST_INTERFACE_H
#define TRINE_CORE_TEST_INTERFACE_H

#include <stdbool.h>
#include <trine/forest.h>
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

#ifdef __cplusplus
}
#endif
#endif
