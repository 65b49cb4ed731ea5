/* The stateless solves behind their public functions (api.c), which have a context and make its device current;
 * behind tridigpu.h, which has none; and behind one another. C11, and C++17 in .cu files. */
#ifndef TRINE_TRIDIAGONAL_TRIDIAGONAL_H
#define TRINE_TRIDIAGONAL_TRIDIAGONAL_H

#include <trine/tridiagonal.h>

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where a call runs: on a stream of the current CUDA device, or on the threads of a context. */
typedef struct {
    bool cuda;
    trine_context ctx; /* CPU */
    void *stream;      /* CUDA */
} solve_place;

static inline solve_place place_on_gpu(void *stream)
{
    const solve_place at = {true, NULL, stream};
    return at;
}
static inline solve_place place_on_cpu(trine_context ctx)
{
    const solve_place at = {false, ctx, NULL};
    return at;
}

/** The device of a context. */
static inline solve_place place_of(trine_context ctx, void *stream)
{
    return ctx->cuda ? place_on_gpu(stream) : place_on_cpu(ctx);
}

/* As the public functions of these names, with a place for ctx and exec. */
trine_status gtsv_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                            const trine_gtsv_options *options, size_t *bytes);
trine_status gtsv_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                        const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                        int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes);

trine_status bgtsv_work_size(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                             const trine_gtsv_options *options, size_t *bytes);
trine_status bgtsv_solve(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes);
trine_status bgtf_size(const solve_place *at, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                       size_t *bytes);
trine_status bgtf_factor(const solve_place *at, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                         const void *a, const void *b, const void *c, void *factor, size_t factor_bytes);
trine_status bgtfs_work_size(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                             const trine_gtsv_options *options, size_t *bytes);
trine_status bgtfs_solve(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *factor, size_t factor_bytes, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes);
trine_status gbsv_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                            const trine_gtsv_options *options, size_t *bytes);
trine_status gbsv_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                        const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd, void *X,
                        int64_t ldx, void *work, size_t work_bytes);

trine_status blocks_backward_error(const solve_place *at, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                   const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors);
trine_status bands_backward_error(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                  const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd,
                                  const void *X, int64_t ldx, double *errors);

trine_status batch_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                             const trine_gtsv_options *options, size_t *bytes);
trine_status batch_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                         trine_strides matrix_strides, const void *D, void *X, trine_strides vector_strides, void *work,
                         size_t work_bytes);

trine_status csc2dense_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                 const trine_gtsv_options *options, size_t *bytes);
trine_status csc2dense_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                             const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                             const void *D_values, const int32_t *D_rows, const int32_t *D_offsets, void *X,
                             int64_t ldx, void *work, size_t work_bytes);
trine_status csc2csc_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                               const trine_gtsv_options *options, size_t *bytes);
trine_status csc2csc_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                           const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                           const void *D_values, const int32_t *D_rows, const int32_t *D_offsets, void *X_values,
                           int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes);

/* Their forms for one device. */
trine_status gtsv_on_cpu_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                                   const trine_gtsv_options *options, size_t *bytes);
trine_status gtsv_on_cpu(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes);
trine_status batch_on_cpu_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                                    const trine_gtsv_options *options, size_t *bytes);
trine_status batch_on_cpu(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                          const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                          trine_strides matrix_strides, const void *D, void *X, trine_strides vector_strides,
                          void *work, size_t work_bytes);

#ifdef __cplusplus
}
#endif
#endif
