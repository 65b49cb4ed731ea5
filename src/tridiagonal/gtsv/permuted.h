/* trine_gtsv on a GPU with vectors whose rows stand in another order. Systems that stay on the chip gather right-hand
 * sides where they load them and scatter solutions where they store them. Longer ones are solved between two gathers:
 * stores of 8 bytes all over a vector take three times as long as loads, and passes, whose tiles leave a
 * multiprocessor's cache little room, gather more slowly than a kernel that does nothing else. */
#ifndef TRINE_TRIDIAGONAL_GTSV_PERMUTED_H
#define TRINE_TRIDIAGONAL_GTSV_PERMUTED_H

#include "tridiagonal/common/hierarchy.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Row i of the system is row from[i] of D, and its unknown row to[i] of X; NULL: row i. Permutations in device memory,
 *  on 16 bytes. */
typedef struct {
    const int32_t *from, *to;
    const int32_t *position; /* the inverse of `to`, with which it is NULL */
    bool adds;               /* X := X + the solution; `to` is not NULL then */
} gtsv_places;

/** As trine_gtsv, with no options but op. X may be D if from is `to` and nothing is added, else they do not overlap.
 *  room: n x nrhs elements, not of D, and of X only where `to` is NULL. */
trine_status gtsv_permuted(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, trine_transpose op, const void *a,
                           const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                           const gtsv_places *places, void *room, void *work, size_t work_bytes, void *stream);

struct gtsv_permuted_backend {
    /** Does `solve` take it? And else, *path: how trine_gtsv is to solve it between two gathers. */
    trine_status (*takes)(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                          bool *takes, trine_gtsv_path *path);
    /** As that of gtsv_backend. */
    trine_status (*solve)(const rpts_options *o, const rpts_plan *plan, const struct gtsv_device_call *call,
                          const gtsv_places *places);
};
extern const struct gtsv_permuted_backend gtsv_permuted_cuda;

#ifdef __cplusplus
}
#endif
#endif
