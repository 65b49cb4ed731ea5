/* The plan of products: arguments, phases, which arrays are used where. The products are in apply.c, the work itself
 * in the backends (cpu/backend.c, cuda/). */
#include "spmv/spmv.h"

const char *trine_spmv_method_name(trine_spmv_method method)
{
    static const char *const names[] = {"auto", "adaptive", "balanced-atomic", "balanced-postprocess"};
    return (unsigned)method < sizeof names / sizeof *names ? names[method] : "unknown";
}

const char *trine_spmv_reduction_name(trine_spmv_reduction reduction)
{
    static const char *const names[] = {"auto", "raking", "raking-memoize", "warp-scans", "warp-transposed",
                                        "rows", "warps"};
    return (unsigned)reduction < sizeof names / sizeof *names ? names[reduction] : "unknown";
}

/* -------------------------------------------------------------------- life */

static size_t work_bytes(struct trine_plan *base, int64_t nrhs)
{
    trine_spmv plan = (trine_spmv)base;
    return plan->backend->work_bytes(plan, nrhs);
}

static trine_status work_begin(struct trine_plan *base, trine_plan_work *work)
{
    trine_spmv plan = (trine_spmv)base;
    return plan->backend->work_begin ? plan->backend->work_begin(plan, (struct spmv_work *)work) : TRINE_SUCCESS;
}

/** Give back the arrays of a side that the plan owns. */
static void release_arrays(trine_spmv plan, struct spmv_side *side)
{
    trine_context ctx = plan->base.ctx;
    void **owned[] = {&side->owned_offsets, &side->owned_columns, &side->owned_positions};
    for (int k = 0; k < 3; k++) {
        trine_free(ctx, ctx->info.space, *owned[k]);
        *owned[k] = NULL;
    }
}

static void release(struct trine_plan *base)
{
    trine_spmv plan = (trine_spmv)base;
    for (int s = 0; s < SPMV_SIDES; s++) {
        if (plan->side[s].part) plan->backend->release_part(plan, &plan->side[s]);
        release_arrays(plan, &plan->side[s]);
    }
    trine_free(base->ctx, base->ctx->info.space, plan->owned_values);
    trine_matrix_destroy(&plan->A);
}

static const trine_plan_kind kind = {.name = "spmv",
                                     .work_size = sizeof(struct spmv_work),
                                     .work_bytes = work_bytes,
                                     .work_begin = work_begin,
                                     .release = release};

trine_status trine_spmv_destroy(trine_spmv *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_spmv plan = *out;
    *out = NULL;
    return trine_plan_drop(&plan->base);
}

trine_status trine_spmv_work(trine_spmv plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_plan_make_work(plan ? &plan->base : NULL, nrhs, buffer, bytes, out);
}

/* ----------------------------------------------------------------- analyse */

static trine_status check_options(const trine_spmv_options *o)
{
    REQUIRE_RESERVE(trine_spmv_options, o);
    REQUIRE(!(o->ops & ~(unsigned)(TRINE_N | TRINE_T | TRINE_H)), "ops %u has bits that are no operation", o->ops);
    REQUIRE((unsigned)o->method <= TRINE_SPMV_BALANCED_POSTPROCESS, "method %d does not exist", (int)o->method);
    REQUIRE((unsigned)o->summation <= TRINE_ORDER_FREE, "summation %d does not exist", (int)o->summation);
    REQUIRE(o->max_nrhs >= 0, "max_nrhs is %lld", (long long)o->max_nrhs);
    REQUIRE((unsigned)o->values <= TRINE_VALUES_HALF, "values %d is no precision to store them in", (int)o->values);
    const int block = o->tune.block;
    REQUIRE(block == 0 || block == 64 || block == 128 || block == 256 || block == 512,
            "tune.block %d is none of 64, 128, 256, 512", block);
    REQUIRE(o->tune.tile == 0 || (o->tune.tile >= 4 && o->tune.tile <= 16), "tune.tile %d is outside 4..16",
            o->tune.tile);
    REQUIRE(o->tune.entries_per_block >= 0, "tune.entries_per_block is %lld", (long long)o->tune.entries_per_block);
    REQUIRE((unsigned)o->tune.reduction <= TRINE_REDUCTION_WARPS, "tune.reduction %d does not exist",
            (int)o->tune.reduction);
    REQUIRE(o->tune.row_weight >= -1, "tune.row_weight is %d", o->tune.row_weight);
    if (o->method == TRINE_SPMV_BALANCED_ATOMIC && o->summation == TRINE_ORDER_DETERMINISTIC)
        return trine_fail(TRINE_ERR_UNSUPPORTED,
                          "method balanced-atomic adds in any order and cannot be deterministic");
    return TRINE_SUCCESS;
}

/** The type that values are stored in. */
static trine_status settle_values(trine_spmv plan)
{
    const trine_dtype t = plan->base.dtype;
    plan->stored = t;
    if (plan->options.values == TRINE_VALUES_SINGLE) plan->stored = trine_dtype_is_complex(t) ? TRINE_C : TRINE_S;
    plan->value_size = trine_dtype_size(plan->stored);
    if (plan->options.values != TRINE_VALUES_HALF) return TRINE_SUCCESS;
    if (trine_dtype_is_complex(t))
        return trine_fail(TRINE_ERR_UNSUPPORTED, "complex values cannot be stored in half precision");
    plan->stored = (trine_dtype)0;
    plan->value_size = sizeof(uint16_t);
    return TRINE_SUCCESS;
}

/** The side that A's arrays are as they are, and the one that needs an index. */
static int home_of(trine_format format) { return format == TRINE_CSR ? SPMV_N : SPMV_T; }

/** A's sizes, and what the options leave open. */
static trine_status settle(trine_spmv plan, trine_matrix A, const trine_spmv_options *options)
{
    trine_matrix_info m;
    trine_matrix_get_info(A, &m);
    trine_context ctx = plan->base.ctx;
    REQUIRE(m.space == TRINE_HOST || ctx->cuda, "the matrix is in device memory, and a CPU context has none");
    plan->n_rows = m.n_rows;
    plan->n_cols = m.n_cols;
    plan->nnz = m.nnz;
    plan->base.n = m.n_rows > m.n_cols ? m.n_rows : m.n_cols;
    plan->base.dtype = m.dtype;
    plan->options = *options;
    if (!plan->options.ops) plan->options.ops = TRINE_N;
    if (!plan->options.max_nrhs) plan->options.max_nrhs = 1;
    plan->base.ops = plan->options.ops;
    plan->backend = ctx->cuda ? TRINE_CUDA_TABLE(&spmv_cuda) : &spmv_cpu;
    for (int s = 0; s < SPMV_SIDES; s++)
        plan->side[s] = (struct spmv_side){.announced = plan->options.ops & (s == SPMV_N ? TRINE_N : TRINE_T | TRINE_H),
                                           .n_rows = s == SPMV_N ? m.n_rows : m.n_cols,
                                           .n_cols = s == SPMV_N ? m.n_cols : m.n_rows,
                                           .position_bits = s == home_of(m.format) ? 0
                                                            : m.nnz <= INT32_MAX   ? 32
                                                                                   : 64,
                                           .longest_row = -1};
    const trine_status status = settle_values(plan);
    return status ? status : trine_check_nrhs(plan->options.max_nrhs, plan->base.n);
}

/** *there = the array in the context's space: `from` itself, or a copy that the plan owns. */
static trine_status take_array(trine_spmv plan, trine_space space, const void *from, size_t bytes, struct spmv_side *to,
                               void **owned, const void **there)
{
    trine_context ctx = plan->base.ctx;
    *there = from;
    if (space == ctx->info.space || !bytes) return TRINE_SUCCESS;
    const trine_status status = trine_device_upload(ctx, from, bytes, owned);
    *there = *owned;
    to->bytes += (int64_t)bytes;
    return status;
}

static int64_t read_offset(int bits, const void *p) { return bits == 32 ? *(const int32_t *)p : *(const int64_t *)p; }

trine_status spmv_check_ends(trine_spmv plan, int64_t first, int64_t last)
{
    if (first == 0 && last == plan->nnz) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STRUCTURE, "offsets run from %lld to %lld, not from 0 to nnz = %lld", (long long)first,
                      (long long)last, (long long)plan->nnz);
}

/** The first and the last offset, wherever they are. */
static trine_status check_ends(trine_spmv plan, trine_space space, const struct spmv_side *home)
{
    trine_status status = TRINE_SUCCESS;
    const size_t size = (size_t)home->offset_bits / 8;
    int64_t ends[2];
    const char *const offsets = home->offsets;
    TRY(trine_copy(plan->base.ctx, &ends[0], TRINE_HOST, offsets, space, size));
    TRY(trine_copy(plan->base.ctx, &ends[1], TRINE_HOST, offsets + (size_t)home->n_rows * size, space, size));
    status = spmv_check_ends(plan, read_offset(home->offset_bits, &ends[0]), read_offset(home->offset_bits, &ends[1]));
done:
    return status;
}

/** A's arrays, as the side that they are. */
static trine_status take_arrays(trine_spmv plan, const trine_matrix_info *m, struct spmv_side *home)
{
    trine_status status = TRINE_SUCCESS;
    const int32_t *indices;
    const void *offsets, *columns;
    TRY(trine_matrix_get_arrays(plan->A, NULL, &indices, NULL));
    TRY(trine_matrix_get_offsets(plan->A, &offsets, &home->offset_bits));
    home->offsets = offsets;
    /* where rows are looked at on a device before anything else is, their ends come with what is found */
    home->ends_unchecked = m->space == TRINE_DEVICE && home->announced &&
                           !plan->side[1 - home_of(m->format)].announced && !plan->options.no_preprocess &&
                           home->n_rows;
    if (!home->ends_unchecked) TRY(check_ends(plan, m->space, home));
    TRY(take_array(plan, m->space, offsets, (size_t)(home->n_rows + 1) * (size_t)home->offset_bits / 8, home,
                   &home->owned_offsets, &home->offsets));
    TRY(take_array(plan, m->space, indices, (size_t)plan->nnz * sizeof *indices, home, &home->owned_columns, &columns));
    home->columns = columns;
done:
    return status;
}

static trine_status analyse_sides(trine_spmv plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info m;
    trine_matrix_get_info(plan->A, &m);
    struct spmv_side *home = &plan->side[home_of(m.format)], *away = &plan->side[1 - home_of(m.format)];
    int saved;
    trine_device_enter(plan->base.ctx, &saved);
    /* a loop over the entries follows here, too, if it runs on the host */
    if (plan->options.check || (away->announced && !plan->base.ctx->cuda)) TRY(trine_matrix_check(plan->A, 0));
    TRY(take_arrays(plan, &m, home));
    if (away->announced) TRY(plan->backend->transpose(plan, home, away));
    if (!home->announced) {
        release_arrays(plan, home);
        home->bytes = 0;
    }
    for (int s = 0; s < SPMV_SIDES; s++)
        if (plan->side[s].announced) TRY(plan->backend->analyse_side(plan, &plan->side[s]));
done:
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

static void fill_info(trine_spmv plan)
{
    trine_spmv_info *info = &plan->info; /* blocks and what is tuned are in it: the backend knows them */
    const struct spmv_side *main_side = &plan->side[plan->side[SPMV_N].announced ? SPMV_N : SPMV_T];
    info->n_rows = plan->n_rows;
    info->n_cols = plan->n_cols;
    info->nnz = plan->nnz;
    info->longest_row = main_side->longest_row;
    info->method = main_side->method;
    info->bytes = 0;
    for (int s = 0; s < SPMV_SIDES; s++) info->bytes += plan->side[s].bytes;
    info->deterministic = main_side->method != TRINE_SPMV_BALANCED_ATOMIC;
}

static const trine_spmv_options automatic;

trine_status trine_spmv_analyse(trine_context ctx, trine_spmv *out, trine_matrix A, const trine_spmv_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    if (!options) options = &automatic;
    trine_status status = check_options(options);
    if (status) return status;

    const double start = trine_wall_time();
    trine_spmv plan = trine_plan_new(ctx, &kind, sizeof *plan);
    if (!plan) return TRINE_ERR_MEMORY;
    plan->A = trine_retain_matrix(A);
    TRY(settle(plan, A, options));
    TRY(analyse_sides(plan));
    fill_info(plan);
    TRY(trine_plan_make_own_work(&plan->base, plan->options.max_nrhs));
    trine_plan_analysed(&plan->base, start, "nnz %lld, %s (%s)", (long long)plan->nnz,
                        trine_spmv_method_name(plan->info.method), plan->info.reason);
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_spmv_destroy(&plan);
    return status;
}

trine_status trine_spmv_memory(trine_context ctx, trine_matrix A, const trine_spmv_options *options,
                               trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    REQUIRE(memory, "memory is NULL");
    if (!options) options = &automatic;
    struct trine_spmv_s plan = {.base.ctx = ctx};
    trine_matrix_info m;
    trine_status status = TRINE_SUCCESS;
    TRY(check_options(options));
    TRY(settle(&plan, A, options));
    trine_matrix_get_info(A, &m);
    struct spmv_side *home = &plan.side[home_of(m.format)], *away = &plan.side[1 - home_of(m.format)];
    const void *offsets;
    const int32_t *columns;
    int bits;
    TRY(trine_matrix_get_offsets(A, &offsets, &bits));
    TRY(trine_matrix_get_arrays(A, NULL, &columns, NULL));
    home->offset_bits = bits, away->offset_bits = 64;
    home->offsets = offsets, home->columns = columns;
    /* of a device that a count only pretends to have nothing can be read */
    if (plan.backend->measure && !(ctx->is_tally && m.space == TRINE_DEVICE))
        TRY(plan.backend->measure(&plan, m.space, home));
    const int64_t copies = m.space == ctx->info.space ? 0 : (home->n_rows + 1) * bits / 8 + 4 * m.nnz;
    const int64_t index = away->announced ? (away->n_rows + 1) * 8 + m.nnz * (4 + away->position_bits / 8) : 0;
    int64_t kept = 0, peak = 0;
    plan.backend->memory(&plan, &kept, &peak);
    const int64_t work = (int64_t)plan.backend->work_bytes(&plan, plan.options.max_nrhs);
    kept += index + (home->announced ? copies : 0) + work;
    peak += index + copies + work;
    const int64_t structs = (int64_t)(sizeof plan + sizeof(struct spmv_work)) + SPMV_SIDES * plan.backend->host_bytes;
    *memory = (trine_memory){.host_kept = structs, .host_peak = structs, .work = work};
    *(ctx->cuda ? &memory->device_kept : &memory->host_kept) += kept;
    *(ctx->cuda ? &memory->device_peak : &memory->host_peak) += peak > kept ? peak : kept;
done:
    return status;
}

/* ----------------------------------------------------------------- numeric */

/** plan->values = a copy on the device of values of the host. */
static trine_status upload_values(trine_spmv plan, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const size_t bytes = (size_t)plan->nnz * plan->value_size;
    if (!plan->owned_values) TRY(trine_alloc(ctx, TRINE_DEVICE, bytes, &plan->owned_values));
    TRY(trine_device_copy_async(ctx, plan->owned_values, values, bytes, stream));
    plan->values = plan->owned_values;
done:
    return status;
}

/** The values of A itself, if they are what the plan takes. */
static trine_status values_of_matrix(trine_spmv plan, trine_space *space, const void **values)
{
    trine_matrix_info m;
    trine_matrix_get_info(plan->A, &m);
    trine_matrix_get_arrays(plan->A, NULL, NULL, values);
    *space = m.space;
    if (!*values && plan->nnz)
        return trine_fail(TRINE_ERR_STATE, "the matrix given to analyse is a pattern without values");
    REQUIRE(plan->stored == plan->base.dtype || !plan->nnz,
            "values is NULL, but those of the matrix are not in the precision that options.values asks for");
    return TRINE_SUCCESS;
}

trine_status trine_spmv_numeric(trine_spmv plan, trine_space space, const void *values, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    trine_status status = values ? TRINE_SUCCESS : values_of_matrix(plan, &space, &values);
    if (status) return status;
    double start;
    status = trine_plan_numeric_begin(&plan->base, space, exec, &start);
    if (status) return status;
    plan->values = values;
    if (space != plan->base.ctx->info.space && plan->nnz)
        status = upload_values(plan, values, trine_exec_stream(plan->base.ctx, exec));
    return trine_plan_numeric_end(&plan->base, status, start);
}

trine_status trine_spmv_get_info(trine_spmv plan, trine_spmv_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    *info = plan->info;
    info->analyse_seconds = plan->base.analyse_seconds;
    info->numeric_seconds = plan->base.numeric_seconds;
    return TRINE_SUCCESS;
}
