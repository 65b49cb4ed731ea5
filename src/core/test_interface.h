/* What the tests and the benchmark use of libtrine beside the public headers: a look inside, and devices smaller than the one that is
 * there. What is marked TRINE_API is exported by libtrine as TRINE_TEST (cmake/exports.cmake), and likewise in
 * team.h. No promise to anybody: programs that call it are built with the library. C11, and C++17 in .cu files. */
#ifndef TRINE_CORE_TEST_INTERFACE_H
#define TRINE_CORE_TEST_INTERFACE_H

#include <stdbool.h>
#include <trine/supernodal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ device */

/** For tests of smaller devices on a larger one: from now on every device is taken for one of at most this compute capability (80, 86, ...)
 *  with at most so many bytes of shared memory a block; 0: as it is. Before the first context. Does nothing in a build without CUDA. */
TRINE_API void trine_gpu_pretend(int capability, int shared_bytes);

/* ------------------------------------------------------------- tridiagonal */

/** op(A) x = d as a textbook has it (src/tridiagonal/reference/), in single, double, complex and double complex precision. bands: of A below, on and
 *  above the diagonal, n elements each as trine_gtsv takes them; x: n elements, d before; work: 4 n elements. A cyclic system without its last row
 *  and column must be regular too. */
TRINE_API void trine_tridiagonal_reference_s(trine_transpose op, int cyclic, int64_t n, const void *const bands[3], void *x, void *work);
TRINE_API void trine_tridiagonal_reference_d(trine_transpose op, int cyclic, int64_t n, const void *const bands[3], void *x, void *work);
TRINE_API void trine_tridiagonal_reference_c(trine_transpose op, int cyclic, int64_t n, const void *const bands[3], void *x, void *work);
TRINE_API void trine_tridiagonal_reference_z(trine_transpose op, int cyclic, int64_t n, const void *const bands[3], void *x, void *work);

/* -------------------------------------------------------------- supernodal */

/** Told that level k of the way through the levels is about to be put on `stream`, and with k = levels that all of them are. */
typedef void (*supernodal_level_watch)(void *user, int64_t k, void *stream);
/** Measure by levels (the benchmark does): solves level by level on a GPU that are launched kernel by kernel, or captured by the
 *  caller, call `watch` (NULL: no more) between levels. */
TRINE_API void trine_supernodal_watch_levels(trine_supernodal plan, supernodal_level_watch watch, void *user);

#ifdef __cplusplus
}
#endif
#endif
