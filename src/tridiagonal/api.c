/* The public functions of tridiagonal.h: the context and its device, around what solves there. */
#include "tridiagonal/tridiagonal.h"

/** The place of a call, ctx's device made current. */
static trine_status enter(trine_context ctx, const trine_exec *exec, solve_place *at, int *saved)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(!exec || !exec->work,
            "exec->work is given: it is a plan's, and the functions of tridiagonal.h have their workspace in `work`");
    const trine_status status = trine_check_exec(exec);
    if (status) return status;
    *at = place_of(ctx, trine_exec_stream(ctx, exec));
    trine_device_enter(ctx, saved);
    return TRINE_SUCCESS;
}

/** The rest of a function: `call`, with its place in `at`; its value is the status. */
#define AT_PLACE(exec, call)                              \
    solve_place at;                                       \
    int saved = 0;                                        \
    trine_status status = enter(ctx, exec, &at, &saved);  \
    if (status) return status;                            \
    status = call;                                        \
    trine_device_leave(ctx, saved);                       \
    return status

/* -------------------------------------------------------------- tridiagonal */

trine_status trine_gtsv_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                  const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, gtsv_work_size(&at, t, n, nrhs, options, bytes));
}
trine_status trine_gtsv(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                        const void *a, const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                        void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, gtsv_solve(&at, t, n, nrhs, options, a, b, c, D, ldd, X, ldx, work, work_bytes));
}

/* ------------------------------------------------------------------- blocks */

trine_status trine_bgtsv_work_size(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, bgtsv_work_size(&at, t, rows, n, nrhs, options, bytes));
}
trine_status trine_bgtsv(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, bgtsv_solve(&at, t, rows, n, nrhs, options, a, b, c, D, ldd, X, ldx, work, work_bytes));
}
trine_status trine_bgtf_size(trine_context ctx, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                             size_t *bytes)
{
    AT_PLACE(NULL, bgtf_size(&at, t, rows, n, options, bytes));
}
trine_status trine_bgtf(trine_context ctx, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                        const void *a, const void *b, const void *c, void *factor, size_t factor_bytes,
                        const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, bgtf_factor(&at, t, rows, n, options, a, b, c, factor, factor_bytes));
}
trine_status trine_bgtfs_work_size(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                   const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, bgtfs_work_size(&at, t, rows, n, nrhs, options, bytes));
}
trine_status trine_bgtfs(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                         const trine_gtsv_options *options, const void *factor, size_t factor_bytes, const void *D,
                         int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, bgtfs_solve(&at, t, rows, n, nrhs, options, factor, factor_bytes, D, ldd, X, ldx, work, work_bytes));
}

/* -------------------------------------------------------------------- bands */

trine_status trine_gbsv_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                  const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, gbsv_work_size(&at, t, n, nrhs, kl, ku, options, bytes));
}
trine_status trine_gbsv(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                        const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd, void *X,
                        int64_t ldx, void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, gbsv_solve(&at, t, n, nrhs, kl, ku, options, AB, D, ldd, X, ldx, work, work_bytes));
}

/* ---------------------------------------------------------- backward errors */

trine_status trine_gtsv_backward_error(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                       const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                       const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors,
                                       const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, blocks_backward_error(&at, t, n, 1, nrhs, options, a, b, c, D, ldd, X, ldx, errors));
}
trine_status trine_bgtsv_backward_error(trine_context ctx, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                        const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                        const void *D, int64_t ldd, const void *X, int64_t ldx, double *errors,
                                        const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, blocks_backward_error(&at, t, rows, n, nrhs, options, a, b, c, D, ldd, X, ldx, errors));
}
trine_status trine_gbsv_backward_error(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                                       const trine_gtsv_options *options, const void *AB, const void *D, int64_t ldd,
                                       const void *X, int64_t ldx, double *errors, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, bands_backward_error(&at, t, n, nrhs, kl, ku, options, AB, D, ldd, X, ldx, errors));
}

/* ------------------------------------------------------------- many systems */

trine_status trine_gtsv_batch_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t systems,
                                        const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, batch_work_size(&at, t, n, systems, options, bytes));
}
trine_status trine_gtsv_batch(trine_context ctx, trine_dtype t, int64_t n, int64_t systems,
                              const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                              trine_strides matrix_strides, const void *D, void *X, trine_strides vector_strides,
                              void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec,
             batch_solve(&at, t, n, systems, options, a, b, c, matrix_strides, D, X, vector_strides, work, work_bytes));
}

/* -------------------------------------------------- sparse right-hand sides */

trine_status trine_gtsv_csc2dense_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                            const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, csc2dense_work_size(&at, t, n, nrhs, options, bytes));
}
trine_status trine_gtsv_csc2dense(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                  const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                  const void *D_values, const int32_t *D_rows, const int32_t *D_offsets, void *X,
                                  int64_t ldx, void *work, size_t work_bytes, const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec,
             csc2dense_solve(&at, t, n, nrhs, options, a, b, c, D_values, D_rows, D_offsets, X, ldx, work, work_bytes));
}
trine_status trine_gtsv_csc2csc_work_size(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                          const trine_gtsv_options *options, size_t *bytes)
{
    AT_PLACE(NULL, csc2csc_work_size(&at, t, n, nrhs, options, bytes));
}
trine_status trine_gtsv_csc2csc(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                                const void *D_values, const int32_t *D_rows, const int32_t *D_offsets, void *X_values,
                                int32_t *X_rows, const int32_t *X_offsets, void *work, size_t work_bytes,
                                const trine_exec *exec)
{
    TRINE_RANGE;
    AT_PLACE(exec, csc2csc_solve(&at, t, n, nrhs, options, a, b, c, D_values, D_rows, D_offsets, X_values, X_rows,
                                 X_offsets, work, work_bytes));
}
