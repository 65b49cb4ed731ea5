/* The tridiagonal plan: a sparse matrix is taken into bands or blocks, which trine_gtsv, trine_gbsv and trine_bgtsv
 * solve. */
#include "tridiagonal/plan/plan.h"

#include <string.h>

#include "core/tally.h"
#include "tridiagonal/block/common/layout.h"
#include "tridiagonal/tridiagonal.h"

enum { ALIGNMENT = 256, FEW_COLUMNS = 8 };

struct trine_tridiagonal_s {
    struct trine_plan base;
    trine_matrix A; /* whose values numeric takes if it is given none */
    trine_tridiagonal_options options;
    const struct bands_backend *backend;
    const struct routine *routine;
    bands_map map;
    char *bands; /* as trine_gbsv has them; or a, b and c of trine_bgtsv. In the context's space */
    trine_tridiagonal_info info;
};

/* ------------------------------------------------------------ what solves */

/** One entry for each method. bands: the plan's, or a copy of them where `at` is. */
struct routine {
    trine_status (*work_size)(const struct trine_tridiagonal_s *plan, const solve_place *at, int64_t nrhs,
                              const trine_gtsv_options *options, size_t *bytes);
    trine_status (*solve)(const struct trine_tridiagonal_s *plan, const solve_place *at,
                          const trine_gtsv_options *options, const char *bands, const trine_dense *B,
                          const trine_dense *X, void *work, size_t work_bytes);
};

static int upper_bands(const struct trine_tridiagonal_s *p) { return p->map.bands - 1 - p->map.kl; }
static size_t band_bytes(const struct trine_tridiagonal_s *p)
{
    return (size_t)bands_positions(&p->map) * trine_dtype_size(p->base.dtype);
}

#define WORK_SIZE(name)                                                                                \
    static trine_status name(const struct trine_tridiagonal_s *p, const solve_place *at, int64_t nrhs, \
                             const trine_gtsv_options *o, size_t *bytes)
#define SOLVE(name)                                                                                                   \
    static trine_status name(const struct trine_tridiagonal_s *p, const solve_place *at, const trine_gtsv_options *o, \
                             const char *bands, const trine_dense *B, const trine_dense *X, void *work,               \
                             size_t work_bytes)

WORK_SIZE(size_by_gtsv) { return gtsv_work_size(at, p->base.dtype, p->base.n, nrhs, o, bytes); }
SOLVE(solve_by_gtsv)
{
    const size_t step = band_bytes(p);
    return gtsv_solve(at, p->base.dtype, p->base.n, B->cols, o, bands, bands + step, bands + 2 * step, B->data, B->ld,
                      X->data, X->ld, work, work_bytes);
}
WORK_SIZE(size_by_gbsv)
{
    return gbsv_work_size(at, p->base.dtype, p->base.n, nrhs, p->map.kl, upper_bands(p), o, bytes);
}
SOLVE(solve_by_gbsv)
{
    return gbsv_solve(at, p->base.dtype, p->base.n, B->cols, p->map.kl, upper_bands(p), o, bands, B->data, B->ld,
                      X->data, X->ld, work, work_bytes);
}
WORK_SIZE(size_by_bgtsv) { return bgtsv_work_size(at, p->base.dtype, p->map.rows, p->map.block, nrhs, o, bytes); }
SOLVE(solve_by_bgtsv)
{
    const size_t step = band_bytes(p);
    return bgtsv_solve(at, p->base.dtype, p->map.rows, p->map.block, B->cols, o, bands, bands + step, bands + 2 * step,
                       B->data, B->ld, X->data, X->ld, work, work_bytes);
}

static const struct routine gtsv = {size_by_gtsv, solve_by_gtsv}, gbsv = {size_by_gbsv, solve_by_gbsv},
                            bgtsv = {size_by_bgtsv, solve_by_bgtsv};

static trine_gtsv_options options_for(const struct trine_tridiagonal_s *plan, trine_transpose op)
{
    const trine_tridiagonal_options *o = &plan->options;
    return (trine_gtsv_options){.pivot = o->pivot,
                                .epsilon = o->epsilon,
                                .cyclic = plan->info.cyclic,
                                .refine = o->refine,
                                .op = op,
                                .partition = o->partition,
                                .path = o->path,
                                .memory = o->memory};
}

/* -------------------------------------------------------------------- life */

static trine_tridiagonal as_tridiagonal(struct trine_plan *plan) { return (trine_tridiagonal)plan; }

/** Bytes of a work's block of packed columns, at its beginning. */
static size_t packed_bytes(const struct trine_plan *plan, int64_t nrhs)
{
    const size_t bytes = (size_t)plan->n * (size_t)nrhs * trine_dtype_size(plan->dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/** Enough for solves with every op of up to nrhs right-hand sides; which way these are solved, and so the room they
 *  take, is another matter for few of them. */
static trine_status count_bytes(trine_tridiagonal plan, int64_t nrhs, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    const solve_place at = place_of(plan->base.ctx, NULL);
    int saved = 0;
    size_t most = 0;
    trine_device_enter(plan->base.ctx, &saved);
    for (int op = TRINE_N; op <= TRINE_H; op *= 2)
        for (int64_t count = 1; count <= nrhs && count <= FEW_COLUMNS + 1; count++) {
            const trine_gtsv_options options = options_for(plan, (trine_transpose)op);
            size_t needed;
            TRY(plan->routine->work_size(plan, &at, count <= FEW_COLUMNS ? count : nrhs, &options, &needed));
            if (needed > most) most = needed;
        }
    *bytes = most + packed_bytes(&plan->base, nrhs);
done:
    trine_device_leave(plan->base.ctx, saved);
    return status;
}

static size_t work_bytes(struct trine_plan *plan, int64_t nrhs)
{
    size_t bytes;
    return count_bytes(as_tridiagonal(plan), nrhs, &bytes) ? (size_t)1 << 62 : bytes; /* what no allocator has */
}

struct band_work {
    trine_plan_work base;
    size_t packed, bytes; /* of the block of packed columns, and of what comes behind it */
};

static trine_status work_begin(struct trine_plan *plan, trine_plan_work *base)
{
    struct band_work *work = (struct band_work *)base;
    const trine_status status = count_bytes(as_tridiagonal(plan), base->max_nrhs, &work->bytes);
    work->packed = packed_bytes(plan, base->max_nrhs);
    if (!status) work->bytes -= work->packed;
    return status;
}

static void release(struct trine_plan *base)
{
    const trine_tridiagonal plan = as_tridiagonal(base);
    const trine_space space = base->ctx->info.space;
    trine_free(base->ctx, space, plan->map.starts);
    trine_free(base->ctx, space, plan->map.slots);
    trine_free(base->ctx, space, plan->bands);
}

static trine_status solve(struct trine_plan *plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, const trine_exec *exec)
{
    return trine_tridiagonal_solve(as_tridiagonal(plan), op, alpha, B, X, exec);
}

static const trine_plan_kind kind = {.name = "tridiagonal",
                                     .work_size = sizeof(struct band_work),
                                     .work_bytes = work_bytes,
                                     .work_begin = work_begin,
                                     .release = release,
                                     .solve = solve};

trine_status trine_tridiagonal_destroy(trine_tridiagonal *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_tridiagonal plan = *out;
    *out = NULL;
    return trine_plan_drop(&plan->base);
}

trine_status trine_tridiagonal_as_op(trine_tridiagonal plan, trine_op *op)
{
    return trine_plan_as_op(plan ? &plan->base : NULL, op);
}

trine_status trine_tridiagonal_work(trine_tridiagonal plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *out)
{
    return trine_plan_make_work(plan ? &plan->base : NULL, nrhs, buffer, bytes, out);
}

/* ----------------------------------------------------------------- analyse */

/** The bands of a matrix, as they are and around the corners. */
typedef struct { int64_t below, above; } width;

static void widen(width *w, int64_t k)
{
    if (-k > w->below) w->below = -k;
    if (k > w->above) w->above = k;
}
static bool fits(width w, int64_t most) { return w.below <= most && w.above <= most; }

/** The shorter way from the diagonal to diagonal k. */
static int64_t around(int64_t k, int64_t n) { return 2 * k > n ? k - n : 2 * k < -n ? k + n : k; }

/** In blocks of the plan's size. A's offsets and indices are on the host. */
static void measure(trine_tridiagonal plan, const int64_t *offsets, const int32_t *indices, width *plain,
                    width *wrapped)
{
    const int64_t n = plan->base.n;
    const int block = plan->map.block;
    *plain = *wrapped = (width){0, 0};
    for (int64_t line = 0; line < n; line++)
        for (int64_t e = offsets[line]; e < offsets[line + 1]; e++) {
            const int64_t across = indices[e] / block - line / block, k = plan->map.by_columns ? -across : across;
            widen(plain, k);
            widen(wrapped, around(k, n / block));
        }
}

/** The first entry that is neither in a block of the diagonal nor beside one, around the corners. */
static bool find_outside(trine_tridiagonal plan, int block, const int64_t *offsets, const int32_t *indices,
                         int64_t *row, int64_t *column)
{
    const int64_t n = plan->base.n;
    for (int64_t line = 0; line < n; line++)
        for (int64_t e = offsets[line]; e < offsets[line + 1]; e++) {
            const int64_t k = around(indices[e] / block - line / block, n / block);
            if (k >= -1 && k <= 1) continue;
            *row = plan->map.by_columns ? indices[e] : line;
            *column = plan->map.by_columns ? line : indices[e];
            return true;
        }
    return false;
}

/** The size of blocks. */
static trine_status choose_block(trine_tridiagonal plan, const int64_t *offsets, const int32_t *indices)
{
    const int64_t n = plan->base.n;
    const int given = plan->options.block;
    if (given && n % given)
        return trine_fail(TRINE_ERR_STRUCTURE, "blocks of %d rows do not divide the n = %lld rows of the matrix", given,
                          (long long)n);
    int block = 1;
    int64_t row = 0, column = 0;
    for (int size = given ? given : 1; size <= (given ? given : BLOCK_MAX); size++) {
        if (n % size) continue;
        block = size;
        if (find_outside(plan, block, offsets, indices, &row, &column)) continue;
        plan->map.block = plan->info.block = block;
        return TRINE_SUCCESS;
    }
    const int64_t at = row / block, rows = n / block;
    return trine_fail(
        TRINE_ERR_STRUCTURE,
        "the matrix is not block tridiagonal with blocks of %d rows%s: row %lld has an entry in block column %lld, not in %lld, %lld or %lld",
        block, given ? "" : ", nor with smaller ones", (long long)row, (long long)(column / block),
        (long long)((at + rows - 1) % rows), (long long)at, (long long)((at + 1) % rows));
}

static trine_status choose(trine_tridiagonal plan, const int64_t *offsets, const int32_t *indices)
{
    static const struct {
        const struct routine *routine;
        const char *methods[2];
    } found[] = {[TRINE_BANDS_TRIDIAGONAL] = {&gtsv, {"tridiagonal (gtsv)", "cyclic tridiagonal (gtsv)"}},
                 [TRINE_BANDS_GENERAL] = {&gbsv, {"banded (gbsv)", "cyclic banded (gbsv)"}},
                 [TRINE_BANDS_BLOCKS] = {&bgtsv, {"block tridiagonal (bgtsv)", "cyclic block tridiagonal (bgtsv)"}}};
    trine_status status = TRINE_SUCCESS;
    trine_bands bands = plan->options.bands;
    width plain, wrapped;
    plan->map.block = 1;
    if (bands == TRINE_BANDS_BLOCKS) TRY(choose_block(plan, offsets, indices));
    measure(plan, offsets, indices, &plain, &wrapped);
    if (bands == TRINE_BANDS_AUTO)
        bands = fits(plain, 1) || fits(wrapped, 1) ? TRINE_BANDS_TRIDIAGONAL : TRINE_BANDS_GENERAL;
    const bool general = bands == TRINE_BANDS_GENERAL;
    const int most = general ? BLOCK_MAX : 1;
    plan->info.cyclic = !fits(plain, most);
    const width w = plan->info.cyclic ? wrapped : plain;
    if (!fits(w, most) && !general)
        FAIL(TRINE_ERR_STRUCTURE,
             "the matrix is not tridiagonal: its bandwidth is %lld below and %lld above the diagonal",
             (long long)plain.below, (long long)plain.above);
    if (!fits(w, most))
        FAIL(TRINE_ERR_STRUCTURE,
             "the matrix has %lld bands below and %lld above the diagonal; the banded solve takes %d on either side",
             (long long)plain.below, (long long)plain.above, most);
    plan->map.rows = plan->base.n / plan->map.block;
    plan->map.kl = general ? (int)w.below : 1;
    plan->map.bands = plan->map.kl + 1 + (general ? (int)w.above : 1);
    plan->routine = found[bands].routine;
    plan->info.kl = (int)w.below;
    plan->info.ku = (int)w.above;
    plan->info.bands = bands;
    plan->info.method = found[bands].methods[plan->info.cyclic];
    plan->info.deterministic = 1; /* no sum is made in an order that depends on time */
done:
    return status;
}

/** Where entries go: H is on the host, with offsets and indices that fit. slots: filled on the host. */
static trine_status find_slots(trine_tridiagonal plan, const int64_t *offsets, const int32_t *indices, uint8_t *slots)
{
    const bands_map *m = &plan->map;
    const int block = m->block;
    memset(slots, BANDS_NO_ENTRY, (size_t)m->bands * (size_t)bands_positions(m));
    for (int64_t line = 0; line < plan->base.n; line++)
        for (int64_t e = offsets[line]; e < offsets[line + 1]; e++) {
            const int64_t row = m->by_columns ? indices[e] : line, column = m->by_columns ? line : indices[e];
            const int64_t at = row / block, across = column / block - at,
                          k = plan->info.cyclic ? around(across, m->rows) : across;
            uint8_t *slot = &slots[(((m->kl + k) * m->rows + at) * block + column % block) * block + row % block];
            if (*slot != BANDS_NO_ENTRY)
                return trine_fail(TRINE_ERR_STRUCTURE, "row %lld has two entries in column %lld; sum duplicates first",
                                  (long long)row, (long long)column);
            *slot = (uint8_t)(e - offsets[line]);
        }
    return TRINE_SUCCESS;
}

/** A host array into the context's space. */
static trine_status keep(trine_context ctx, const void *array, size_t bytes, void **kept)
{
    if (ctx->cuda) return trine_device_upload(ctx, array, bytes, kept);
    *kept = trine_host_alloc(ctx, (int64_t)bytes, 1);
    if (!*kept) return TRINE_ERR_MEMORY;
    memcpy(*kept, array, bytes);
    return TRINE_SUCCESS;
}

static trine_status analyse(trine_tridiagonal plan, trine_matrix A)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    trine_matrix copy = NULL;
    trine_matrix_info m;
    const int64_t *offsets;
    const int32_t *indices;
    uint8_t *slots = NULL;
    size_t checked;
    trine_matrix_get_info(A, &m);
    if (m.n_rows != m.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows, (long long)m.n_cols);
    const int64_t n = plan->base.n = plan->info.n = m.n_rows;
    plan->base.dtype = m.dtype;
    plan->base.ops = TRINE_N | TRINE_T | TRINE_H;
    plan->info.nnz = m.nnz;
    plan->map.by_columns = m.format == TRINE_CSC;
    if (!plan->options.max_nrhs) plan->options.max_nrhs = 1;
    TRY(trine_check_nrhs(plan->options.max_nrhs, n));
    if (m.space == TRINE_DEVICE) {
        TRY(trine_matrix_copy(A, &copy, TRINE_HOST, m.format, m.dtype));
        A = copy;
    }
    TRY(trine_matrix_check(A, 0));
    trine_matrix_get_arrays(A, &offsets, &indices, NULL);
    TRY(choose(plan, offsets, indices));
    TRY(count_bytes(plan, plan->options.max_nrhs, &checked)); /* says what is wrong with the options */
    const size_t positions = (size_t)plan->map.bands * (size_t)bands_positions(&plan->map),
                 bytes = positions * trine_dtype_size(m.dtype);
    TRY(ALLOC(ctx, slots, (int64_t)positions));
    TRY(find_slots(plan, offsets, indices, slots));
    TRY(keep(ctx, slots, positions, (void **)&plan->map.slots));
    TRY(keep(ctx, offsets, (size_t)(n + 1) * sizeof *offsets, (void **)&plan->map.starts));
    TRY(trine_alloc_untouched(ctx, bytes, (void **)&plan->bands));
    plan->info.bytes = (int64_t)(positions + (size_t)(n + 1) * sizeof *offsets + bytes);
done:
    trine_free(ctx, TRINE_HOST, slots);
    trine_matrix_destroy(&copy);
    return status;
}

/** All but the plan's own work. */
static trine_status make_plan(trine_context ctx, trine_tridiagonal *out, trine_matrix A,
                              const trine_tridiagonal_options *options)
{
    REQUIRE(A, "A is NULL");
    static const trine_tridiagonal_options automatic;
    if (!options) options = &automatic;
    REQUIRE_RESERVE(trine_tridiagonal_options, options);
    REQUIRE((unsigned)options->bands <= TRINE_BANDS_BLOCKS, "bands %d is none of auto, tridiagonal, general, blocks",
            (int)options->bands);
    REQUIRE(options->block >= 0 && options->block <= BLOCK_MAX, "block is %d, neither 0 nor 1 to %d rows",
            options->block, BLOCK_MAX);
    REQUIRE(!options->block || options->bands == TRINE_BANDS_AUTO || options->bands == TRINE_BANDS_BLOCKS,
            "block is %d, which belongs to bands blocks, not %d", options->block, (int)options->bands);
    REQUIRE(options->max_nrhs >= 0, "max_nrhs is %lld", (long long)options->max_nrhs);

    trine_tridiagonal plan = trine_plan_new(ctx, &kind, sizeof *plan);
    if (!plan) return TRINE_ERR_MEMORY;
    plan->A = A;
    plan->options = *options;
    if (options->block) plan->options.bands = TRINE_BANDS_BLOCKS;
    plan->backend = ctx->cuda ? TRINE_CUDA_TABLE(&bands_cuda) : &bands_cpu;
    const trine_status status = analyse(plan, A);
    if (status) trine_tridiagonal_destroy(&plan);
    *out = plan;
    return status;
}

trine_status trine_tridiagonal_analyse(trine_context ctx, trine_tridiagonal *out, trine_matrix A,
                                       const trine_tridiagonal_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "plan is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    trine_status status = TRINE_SUCCESS;
    trine_tridiagonal plan = NULL;
    const double start = trine_wall_time();
    TRY(make_plan(ctx, &plan, A, options));
    TRY(trine_plan_make_own_work(&plan->base, plan->options.max_nrhs));
    trine_plan_analysed(&plan->base, start, "nnz %lld, %d bands below and %d above the diagonal, blocks of %d x %d, %s",
                        (long long)plan->info.nnz, plan->info.kl, plan->info.ku, plan->map.block, plan->map.block,
                        plan->info.method);
    *out = plan;
    return TRINE_SUCCESS;
done:
    trine_tridiagonal_destroy(&plan);
    return status;
}

trine_status trine_tridiagonal_memory(trine_context ctx, trine_matrix A, const trine_tridiagonal_options *options,
                                      trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(memory, "memory is NULL");
    trine_tally_context tally;
    trine_tridiagonal plan = NULL;
    trine_tally_begin(&tally, ctx);
    const trine_status status = make_plan(&tally.ctx, &plan, A, options);
    if (!status)
        trine_tally_report(&tally, sizeof(struct band_work), work_bytes(&plan->base, plan->options.max_nrhs), memory);
    trine_tridiagonal_destroy(&plan);
    trine_tally_end(&tally);
    return status;
}

/* ----------------------------------------------------------------- numeric */

static trine_status numeric(trine_tridiagonal plan, trine_space space, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const bool moves = ctx->cuda && space == TRINE_HOST && plan->info.nnz;
    void *moved = NULL;
    if (moves)
        TRY(trine_device_upload(ctx, values, (size_t)plan->info.nnz * trine_dtype_size(plan->base.dtype), &moved));
    TRY(plan->backend->gather(ctx, &plan->map, plan->base.dtype, moves ? moved : values, plan->bands, stream));
    if (moves) TRY(trine_device_synchronize(ctx, stream));
done:
    trine_free(ctx, TRINE_DEVICE, moved);
    return status;
}

trine_status trine_tridiagonal_numeric(trine_tridiagonal plan, trine_space space, const void *values,
                                       const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    if (!values) {
        trine_matrix_info info;
        trine_matrix_get_info(plan->A, &info);
        trine_matrix_get_arrays(plan->A, NULL, NULL, &values);
        space = info.space;
        if (!values && plan->info.nnz)
            return trine_fail(TRINE_ERR_STATE, "the matrix given to analyse is a pattern without values");
    }
    double start;
    trine_status status = trine_plan_numeric_begin(&plan->base, space, exec, &start);
    if (status) return status;
    status = numeric(plan, space, values, trine_exec_stream(plan->base.ctx, exec));
    return trine_plan_numeric_end(&plan->base, status, start);
}

trine_status trine_tridiagonal_check(trine_tridiagonal plan, const trine_exec *exec)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const trine_dtype t = plan->base.dtype;
    const int64_t n = plan->base.n;
    const struct routine *const routine =
        plan->routine == &gtsv ? &gbsv : plan->routine; /* bands row by row, which gtsv does not do */
    const size_t vector = (size_t)n * trine_dtype_size(t), bytes = (size_t)plan->map.bands * band_bytes(plan);
    const solve_place here = place_on_cpu(ctx);
    const trine_gtsv_options options = {.pivot = TRINE_PIVOT_PARTIAL, .cyclic = plan->info.cyclic};
    const char *bands = plan->bands;
    void *copy = NULL, *zeros = NULL, *work = NULL;
    size_t work_bytes;
    TRY(trine_plan_check_begin(&plan->base, exec));
    if (!n) goto done;
    if (ctx->cuda) {
        void *stream = trine_exec_stream(ctx, exec);
        TRY(trine_alloc(ctx, TRINE_HOST, bytes, &copy));
        TRY(trine_device_copy_async(ctx, copy, bands, bytes, stream));
        TRY(trine_device_synchronize(ctx, stream));
        bands = copy;
    }
    TRY(routine->work_size(plan, &here, 1, &options, &work_bytes));
    TRY(trine_alloc(ctx, TRINE_HOST, work_bytes, &work));
    TRY(trine_alloc(ctx, TRINE_HOST, vector, &zeros));
    memset(zeros, 0, vector);
    const trine_dense X = {zeros, n, 1, n, TRINE_COLMAJOR};
    TRY(routine->solve(plan, &here, &options, bands, &X, &X, work, work_bytes));
done:
    trine_free(ctx, TRINE_HOST, copy);
    trine_free(ctx, TRINE_HOST, work);
    trine_free(ctx, TRINE_HOST, zeros);
    return status;
}

/* ------------------------------------------------------------------- solve */

/** One column without gaps is the same in both layouts. */
static trine_dense by_columns(const trine_dense *X, int64_t n)
{
    trine_dense columns = *X;
    if (X->layout == TRINE_ROWMAJOR && X->cols == 1 && X->ld == 1) columns.layout = TRINE_COLMAJOR, columns.ld = n;
    return columns;
}

static trine_status run(trine_tridiagonal plan, const trine_plan_call *call)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const int64_t n = plan->base.n;
    const trine_gtsv_options options = options_for(plan, call->op);
    const struct band_work *work = (const struct band_work *)call->work;
    const solve_place at = place_of(ctx, call->stream);
    char *const room = work->base.buffer;
    int saved = 0;
    trine_dense B = by_columns(&call->B, n), X = by_columns(&call->X, n);
    /* what is solved for */
    const trine_dense columns = X.layout == TRINE_COLMAJOR ? X : (trine_dense){room, n, X.cols, n, TRINE_COLMAJOR};
    if (B.layout == TRINE_ROWMAJOR) {
        TRY(trine_plan_scale(&plan->base, NULL, &B, &columns, call->stream));
        B = columns;
    }
    trine_device_enter(ctx, &saved);
    status = plan->routine->solve(plan, &at, &options, plan->bands, &B, &columns, room + work->packed, work->bytes);
    trine_device_leave(ctx, saved);
    if (!status) TRY(trine_plan_scale(&plan->base, call->alpha, &columns, &X, call->stream));
done:
    return status;
}

trine_status trine_tridiagonal_solve(trine_tridiagonal plan, trine_transpose op, const void *alpha,
                                     const trine_dense *B, const trine_dense *X, const trine_exec *exec)
{
    TRINE_RANGE;
    trine_plan_call call;
    trine_status status = trine_plan_solve_begin(plan ? &plan->base : NULL, op, alpha, B, X, exec, &call);
    if (status) return status;
    if (!call.is_done) status = run(plan, &call);
    return trine_plan_solve_end(&plan->base, &call, status);
}

trine_status trine_tridiagonal_get_info(trine_tridiagonal plan, trine_tridiagonal_info *info)
{
    REQUIRE(plan, "plan is NULL");
    REQUIRE(info, "info is NULL");
    *info = plan->info;
    info->analyse_seconds = plan->base.analyse_seconds;
    info->numeric_seconds = plan->base.numeric_seconds;
    return TRINE_SUCCESS;
}
