/* trine_gtsv_info: whether the matrix of a solve on the GPU is singular to working precision, told by its own
 * right-hand sides and solutions. Before the solve, which may write X over D, the largest right-hand side of a
 * scaled row is found, after it the largest term; both wait in the 16 bytes of the info itself, each as one word
 * that takes part in atomic maxima (info/info_rows.cuh), until they are judged. */
#ifndef TRINE_TRIDIAGONAL_INFO_INFO_H
#define TRINE_TRIDIAGONAL_INFO_INFO_H

#include "tridiagonal/common/banded_system.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `systems` systems, an info each. Row i of system s: its coefficients are those at i matrix.row + s matrix.system
 *  of the bands, its right-hand sides and unknowns start at i vector.row + s vector.system. */
typedef struct {
    void *stream;
    banded_system s, transpose; /* the latter without vectors */
    trine_strides matrix, vector;
    int64_t systems;
    trine_gtsv_info *info; /* NULL: none is asked for, and nothing is done */
    bool begun;
} info_call;

struct info_backend {
    trine_status (*clear)(const info_call *c);
    /** Of the right-hand sides in s.D, of the solutions in s.X; nrhs of them. */
    trine_status (*look_at_given)(const info_call *c);
    trine_status (*look_at_solutions)(const info_call *c);
    trine_status (*judge)(const info_call *c);
};
extern const struct info_backend info_cuda;

/** One system, in the memory that options->info names. */
info_call info_of_system(void *stream, const trine_gtsv_options *options, banded_system s);
trine_status info_check(const info_call *c);
/** A part of the right-hand sides before their solve, and after it; when all parts are solved, the judgement. c is
 *  NULL where no caller waits for one. */
trine_status info_before(info_call *c, int64_t nrhs, const void *D, int64_t ldd);
trine_status info_after(info_call *c, int64_t nrhs, const void *X, int64_t ldx);
trine_status info_end(info_call *c);

/** Options for a solve that is a part of another one, which has the info; what none is written for refuses it. */
trine_gtsv_options info_none(const trine_gtsv_options *options);
trine_status info_refuse(const trine_gtsv_options *options, const char *function);

#ifdef __cplusplus
}
#endif
#endif
