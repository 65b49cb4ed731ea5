/* trine_gtsv_batch: the arguments, then the way that suits the size of the systems. */
#include "tridiagonal/info/info.h"
#include "tridiagonal/tridiagonal.h"

/** Options for the solve of packed systems: their op is done, and their infos are the batch's. */
static trine_gtsv_options packed_options(const trine_gtsv_options *options)
{
    trine_gtsv_options o = info_none(options);
    o.op = TRINE_N;
    return o;
}

/** Bytes of one of the four packed arrays, which start on 16 bytes, and of the solver behind them; enough for any
 *  GPU. */
static trine_status prepare(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                            const trine_gtsv_options *options, gtsv_batch *batch, size_t *array, size_t *solver)
{
    trine_status status = TRINE_SUCCESS;
    const struct gtsv_backend *gtsv = TRINE_CUDA_TABLE(&gtsv_cuda);
    const trine_gtsv_options packed = packed_options(options);
    size_t columns;
    *batch = (gtsv_batch){.t = t, .n = n, .systems = systems};
    *array = *solver = 0;
    TRY(rpts_check_options(t, n, 1, options, &batch->o));
    REQUIRE(systems >= 0 && (!n || systems <= INT64_MAX / 256 / n), "systems is %lld", (long long)systems);
    if (n <= SMALL_ROWS || !systems) goto done;
    TRY(rpts_bytes(n, systems, 4, 1, t, array));
    *array = *array / 16 * 16;
    if (n <= gtsv->least_fused_rows(t)) goto done;
    /* one below the other, or one by one */
    TRY(gtsv_work_size(at, t, batch->o.cyclic ? n : n * systems, 1, &packed, solver));
    TRY(gtsv_work_size(at, t, n, systems, &packed, &columns)); /* one matrix for all */
    if (columns > *solver) *solver = columns;
done:
    return status;
}

trine_status batch_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                             const trine_gtsv_options *options, size_t *bytes)
{
    gtsv_batch batch;
    size_t array, solver;
    REQUIRE(bytes, "bytes is NULL");
    if (!at->cuda) return batch_on_cpu_work_size(at, t, n, systems, options, bytes);
    trine_status status = prepare(at, t, n, systems, options, &batch, &array, &solver);
    *bytes = 4 * array + solver;
    return status;
}

/** Systems of more than SMALL_ROWS rows. */
static trine_status solve_long(void *stream, const gtsv_batch *batch, const trine_gtsv_options *options, char *work,
                               size_t array, size_t solver)
{
    trine_status status = TRINE_SUCCESS;
    const struct gtsv_batch_backend *device = TRINE_CUDA_TABLE(&gtsv_batch_cuda);
    const int64_t n = batch->n, systems = batch->systems;
    const trine_gtsv_options o = packed_options(options);
    const size_t one = (size_t)n * trine_dtype_size(batch->t);
    char *a = work, *b = a + array, *c = b + array, *d = c + array, *rest = d + array;
    const bool medium = n <= TRINE_CUDA_TABLE(&gtsv_cuda)->fused_rows(batch->t);
    if (medium && batch->matrix.row == 1 && batch->vector.row == 1) return device->solve_medium(stream, batch);
    TRY(device->pack(stream, batch, a, b, c, d));
    if (medium) {
        gtsv_batch packed = *batch;
        packed.o.op = TRINE_N;
        packed.a = a, packed.b = b, packed.c = c, packed.D = packed.X = d;
        packed.matrix = (trine_strides){1, batch->matrix.system ? n : 0};
        packed.vector = (trine_strides){1, n};
        TRY(device->solve_medium(stream, &packed));
        TRY(device->unpack(stream, batch, d));
        return TRINE_SUCCESS;
    }
    if (batch->matrix.system == 0) {
        TRY(gtsv_packed(stream, batch->t, n, n, systems, &o, a, b, c, d, rest, solver));
    } else if (o.cyclic) {
        for (size_t at = 0; at < (size_t)systems * one; at += one)
            TRY(gtsv_packed(stream, batch->t, n, n, 1, &o, a + at, b + at, c + at, d + at, rest, solver));
    } else {
        TRY(gtsv_packed(stream, batch->t, n * systems, n, 1, &o, a, b, c, d, rest, solver));
    }
    TRY(device->unpack(stream, batch, d));
done:
    return status;
}

trine_status batch_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t systems,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c,
                         trine_strides matrix_strides, const void *D, void *X, trine_strides vector_strides, void *work,
                         size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    if (!at->cuda)
        return batch_on_cpu(at, t, n, systems, options, a, b, c, matrix_strides, D, X, vector_strides, work,
                            work_bytes);
    gtsv_batch batch;
    info_call info, *asked = NULL;
    size_t array, solver;
    TRY(prepare(at, t, n, systems, options, &batch, &array, &solver));
    TRY(rpts_check_batch(a, b, c, matrix_strides, D, X, vector_strides, &batch));
    TRY(rpts_check_work(work, work_bytes, 4 * array + solver));
    REQUIRE((uintptr_t)work % 16 == 0, "work does not start on 16 bytes");
    if (options && options->info) {
        info = info_of_system(at->stream, options, banded_of_blocks(t, n, 1, options, a, b, c)), asked = &info;
        info.systems = systems, info.matrix = matrix_strides, info.vector = vector_strides;
    }
    TRY(info_before(asked, 1, D, 0));
    const bool is_empty = !n || !systems;
    if (!is_empty && n <= SMALL_ROWS) TRY(TRINE_CUDA_TABLE(&gtsv_batch_cuda)->solve_small(at->stream, &batch));
    if (!is_empty && n > SMALL_ROWS) TRY(solve_long(at->stream, &batch, options, work, array, solver));
    TRY(info_after(asked, 1, X, 0));
    TRY(info_end(asked));
done:
    return status;
}
