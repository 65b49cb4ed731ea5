/* trine_gtsv: the arguments, then the device. */
#include "matrix/vectors/vectors.h"
#include "tridiagonal/gtsv/permuted.h"
#include "tridiagonal/gtsv/zero_tiles.h"
#include "tridiagonal/info/info.h"
#include "tridiagonal/common/parts.h"
#include "tridiagonal/tridiagonal.h"

enum { GTSV_PARTITION = 32, ONE_THREAD_ROWS = 32 };

/** On a GPU. */
static trine_status prepare(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options, rpts_options *o,
                            rpts_plan *plan, size_t *bytes)
{
    const struct gtsv_backend *device = TRINE_CUDA_TABLE(&gtsv_cuda);
    trine_status status = rpts_check_options(t, n, nrhs, options, o);
    if (status) return status;
    const bool tiled = o->epsilon == 0 && o->partition == 0 && o->final_stage == TRINE_GTSV_FUSED;
    if (!tiled && o->path > TRINE_GTSV_STAGES)
        return trine_fail(
            TRINE_ERR_UNSUPPORTED,
            "epsilon > 0, chosen partitions and chosen final stages are solved by TRINE_GTSV_STAGES only, not by path %d",
            (int)o->path);
    /* a row that is its own neighbour leaves no two rows */
    if (!tiled || (o->cyclic && n == 1)) o->path = TRINE_GTSV_STAGES;
    if (!o->partition) o->partition = GTSV_PARTITION;
    int64_t elements = 0; /* enough for any device */
    if (o->path == TRINE_GTSV_STAGES) {
        const int64_t direct_rows = o->final_stage == TRINE_GTSV_TWO_ROWS     ? 2
                                    : o->final_stage == TRINE_GTSV_ONE_THREAD ? ONE_THREAD_ROWS
                                                                              : 0;
        rpts_make_plan(n, nrhs, o->cyclic, o->partition, direct_rows ? direct_rows : device->least_fused_rows(t), plan);
        elements = plan->elements;
        if (!direct_rows) rpts_make_plan(n, nrhs, o->cyclic, o->partition, device->fused_rows(t), plan);
    } else { /* nothing more is asked of a plan, and to fill it takes as long as all other checks */
        plan->n = n, plan->stages = 0;
        plan->elements = elements = n && nrhs ? device->tiled_elements(t, n, nrhs, o->cyclic) : 0;
    }
    return rpts_bytes(n, nrhs, elements, o->refine, t, bytes);
}

trine_status gtsv_work_size(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                            const trine_gtsv_options *options, size_t *bytes)
{
    rpts_options o;
    rpts_plan plan;
    REQUIRE(bytes, "bytes is NULL");
    if (!at->cuda) return gtsv_on_cpu_work_size(at, t, n, nrhs, options, bytes);
    return prepare(t, n, rpts_part_size(nrhs), options, &o, &plan, bytes);
}

/** At most RPTS_MOST_COLUMNS right-hand sides, of which there are marks, or which have places, or neither. info: of
 *  the call that this is a part of, or NULL. */
static trine_status solve(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                          const struct gtsv_device_call *call, const int32_t *marks, const gtsv_places *places,
                          size_t work_bytes, info_call *info)
{
    rpts_options o;
    rpts_plan plan;
    size_t needed = 0;
    trine_status status = TRINE_SUCCESS;
    TRY(prepare(t, n, nrhs, options, &o, &plan, &needed));
    REQUIRE(!n || (call->a && call->b && call->c), "%s is NULL", !call->a ? "a" : !call->b ? "b" : "c");
    TRY(rpts_check_vectors(n, nrhs, call->D, call->ldd, call->X, call->ldx));
    TRY(rpts_check_work(call->work, work_bytes, needed));
    REQUIRE((uintptr_t)call->work % 16 == 0, "work does not start on 16 bytes");
    TRY(info_before(info, nrhs, call->D, call->ldd));
    if (n && nrhs)
        TRY(marks    ? TRINE_CUDA_TABLE(&gtsv_marks_cuda)->solve(&o, &plan, call, marks)
            : places ? TRINE_CUDA_TABLE(&gtsv_permuted_cuda)->solve(&o, &plan, call, places)
                     : TRINE_CUDA_TABLE(&gtsv_cuda)->solve(&o, &plan, call));
    TRY(info_after(info, nrhs, call->X, call->ldx));
done:
    return status;
}

trine_status gtsv_solve(const solve_place *at, trine_dtype t, int64_t n, int64_t nrhs,
                        const trine_gtsv_options *options, const void *a, const void *b, const void *c, const void *D,
                        int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    if (!at->cuda) return gtsv_on_cpu(at, t, n, nrhs, options, a, b, c, D, ldd, X, ldx, work, work_bytes);
    struct gtsv_device_call call = {
        .stream = at->stream, .t = t, .a = a, .b = b, .c = c, .work = work, .ldd = ldd, .ldx = ldx};
    info_call info, *asked = NULL;
    if (options && options->info)
        info = info_of_system(at->stream, options, banded_of_blocks(t, n, 1, options, a, b, c)), asked = &info;
    for (int64_t part = 0; part < rpts_parts(nrhs); part++) {
        const int64_t first = rpts_part(nrhs, part);
        call.D = rpts_column(t, D, ldd, first), call.X = (void *)(uintptr_t)rpts_column(t, X, ldx, first);
        TRY(solve(t, n, rpts_part(nrhs, part + 1) - first, options, &call, NULL, NULL, work_bytes, asked));
    }
    TRY(info_end(asked));
done:
    return status;
}

/** Y := the rows of X in this order, or Y plus them. */
static trine_status gather(trine_context ctx, trine_dtype t, const int32_t *order, bool adds, const trine_dense *X,
                           const trine_dense *Y, void *stream)
{
    return adds ? vectors_gather_add(ctx, t, order, X, Y, stream)
                : trine_vectors_permute(ctx, t, order, NULL, 0, X, Y, stream);
}

/** At most RPTS_MOST_COLUMNS right-hand sides. */
static trine_status solve_permuted(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs,
                                   const trine_gtsv_options *options, struct gtsv_device_call *call,
                                   const gtsv_places *places, void *room, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    trine_gtsv_options in_order = *options;
    rpts_options o;
    rpts_plan plan;
    size_t needed;
    bool takes = true;
    if (!places->from && !places->to) return solve(t, n, nrhs, options, call, NULL, NULL, work_bytes, NULL);
    TRY(prepare(t, n, nrhs, options, &o, &plan, &needed));
    if (n && nrhs) TRY(TRINE_CUDA_TABLE(&gtsv_permuted_cuda)->takes(&o, &plan, call, &takes, &in_order.path));
    if (takes) return solve(t, n, nrhs, options, call, NULL, places, work_bytes, NULL);
    const trine_dense D = {(void *)(uintptr_t)call->D, n, nrhs, call->ldd, TRINE_COLMAJOR},
                      X = {call->X, n, nrhs, call->ldx, TRINE_COLMAJOR}, Y = {room, n, nrhs, n, TRINE_COLMAJOR};
    /* of the three, X can have right-hand sides in order where the solution goes on from the room */
    const trine_dense *given = !places->from                                        ? &D
                               : places->to && (call->D == call->X || places->adds) ? &Y
                                                                                    : &X,
                      *solved = places->to ? &Y : &X;
    if (places->from) TRY(gather(ctx, t, places->from, false, &D, given, call->stream));
    call->D = given->data, call->ldd = given->ld, call->X = solved->data, call->ldx = solved->ld;
    TRY(solve(t, n, nrhs, &in_order, call, NULL, NULL, work_bytes, NULL));
    if (places->to) TRY(gather(ctx, t, places->position, places->adds, &Y, &X, call->stream));
done:
    return status;
}

trine_status gtsv_permuted(trine_context ctx, trine_dtype t, int64_t n, int64_t nrhs, trine_transpose op, const void *a,
                           const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                           const gtsv_places *places, void *room, void *work, size_t work_bytes, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const trine_gtsv_options options = {.op = op};
    int device;
    trine_device_enter(ctx, &device);
    for (int64_t part = 0; part < rpts_parts(nrhs); part++) {
        const int64_t first = rpts_part(nrhs, part);
        struct gtsv_device_call call = {.stream = stream,
                                        .t = t,
                                        .a = a,
                                        .b = b,
                                        .c = c,
                                        .D = rpts_column(t, D, ldd, first),
                                        .X = (void *)(uintptr_t)rpts_column(t, X, ldx, first),
                                        .work = work,
                                        .ldd = ldd,
                                        .ldx = ldx};
        TRY(solve_permuted(ctx, t, n, rpts_part(nrhs, part + 1) - first, &options, &call, places, room, work_bytes));
    }
done:
    trine_device_leave(ctx, device);
    return status;
}

trine_status gtsv_packed(void *stream, trine_dtype t, int64_t n, int64_t order, int64_t nrhs,
                         const trine_gtsv_options *options, const void *a, const void *b, const void *c, void *X,
                         void *work, size_t work_bytes)
{
    trine_status status = TRINE_SUCCESS;
    struct gtsv_device_call call = {
        .stream = stream, .t = t, .a = a, .b = b, .c = c, .work = work, .ldd = n, .ldx = n, .order = order};
    for (int64_t part = 0; part < rpts_parts(nrhs); part++) {
        const int64_t first = rpts_part(nrhs, part);
        call.D = call.X = (void *)(uintptr_t)rpts_column(t, X, n, first);
        TRY(solve(t, n, rpts_part(nrhs, part + 1) - first, options, &call, NULL, NULL, work_bytes, NULL));
    }
done:
    return status;
}

trine_status gtsv_with_marks(void *stream, trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                             const void *a, const void *b, const void *c, void *X, int64_t ldx, const int32_t *marks,
                             void *work, size_t work_bytes)
{
    const struct gtsv_device_call call = {
        .stream = stream, .t = t, .a = a, .b = b, .c = c, .D = X, .X = X, .work = work, .ldd = ldx, .ldx = ldx};
    return solve(t, n, nrhs, options, &call, marks, NULL, work_bytes, NULL);
}
