/* Tuning: four values each of four parameters (thesis, 3.5.6), and for plain products the kernel that takes rows, timed
 * on plans of their own. */
#include "core/choices.h"
#include "spmv/cuda/cuda.h"
#include "spmv/semiring.h"

namespace {

constexpr int VALUES = 4, REPETITIONS = 20;
constexpr int blocks[VALUES] = {64, 128, 256, 512}, tiles[VALUES] = {5, 7, 9, 15};
/* Entries per block: times the capacity of a tile. */
constexpr double shares[VALUES] = {0.5, 0.8, 1, 2};

struct tuned_product {
    trine_spmv plan; /* of these options */
    trine_semiring semiring;
    const void *x, *args;
    void *y;
};

trine_status apply(const tuned_product &p)
{
    trine_spmv_info info;
    trine_spmv_get_info(p.plan, &info);
    if (p.semiring) return trine_spmv_apply_semiring(p.plan, p.semiring, p.x, p.y, p.args, 0, -1, nullptr);
    const trine_dense x = {(void *)p.x, info.n_cols, 1, 0, TRINE_COLMAJOR};
    const trine_dense y = {p.y, info.n_rows, 1, 0, TRINE_COLMAJOR};
    return trine_spmv_apply(p.plan, TRINE_N, nullptr, &x, nullptr, &y, nullptr);
}

/** Milliseconds of some products in a row, the fewest of three times. */
trine_status measure(const tuned_product &p, gpuStream_t stream, float *least)
{
    trine_status status = TRINE_SUCCESS;
    gpuEvent_t begin = nullptr, end = nullptr;
    TRY(GPU(gpuEventCreate(&begin)));
    TRY(GPU(gpuEventCreate(&end)));
    TRY(apply(p)); /* compiles a semiring */
    for (int k = 0; k < 3; k++) {
        float time;
        TRY(GPU(gpuEventRecord(begin, stream)));
        for (int i = 0; i < REPETITIONS; i++) TRY(apply(p));
        TRY(GPU(gpuEventRecord(end, stream)));
        TRY(GPU(gpuEventSynchronize(end)));
        TRY(GPU(gpuEventElapsedTime(&time, begin, end)));
        if (k == 0 || time < *least) *least = time;
    }
done:
    if (begin) gpuEventDestroy(begin);
    if (end) gpuEventDestroy(end);
    return status;
}

/** The time with these options, on a plan of their own. */
trine_status try_options(trine_spmv plan, const trine_spmv_options *options, tuned_product p, float *time)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    TRY(trine_spmv_analyse(ctx, &p.plan, plan->A, options));
    if (plan->base.has_values) TRY(trine_spmv_numeric(p.plan, TRINE_DEVICE, plan->values, nullptr));
    TRY(measure(p, (gpuStream_t)ctx->stream, time));
done:
    trine_spmv_destroy(&p.plan);
    return status;
}

} // namespace

trine_status spmv_cuda_tune(trine_spmv plan, trine_semiring semiring, const void *x, void *y, const void *args,
                            const char *path)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    trine_spmv_options best = {}, tried = plan->options;
    const tuned_product p = {nullptr, semiring, x, args, y};
    char name[TRINE_CHOICE_BYTES], choice[TRINE_CHOICE_BYTES];
    float least = 0;
    tried.ops = TRINE_N;
    tried.max_nrhs = 1;
    for (int k = 0; k < VALUES * VALUES * VALUES * VALUES; k++) {
        float time = 0;
        tried.tune.block = blocks[k / 64];
        tried.tune.tile = tiles[k / 16 % 4];
        tried.tune.reduction = (trine_spmv_reduction)(TRINE_REDUCTION_RAKING + k / 4 % 4);
        tried.tune.entries_per_block = (int64_t)(shares[k % 4] * tried.tune.block * tried.tune.tile);
        TRY(try_options(plan, &tried, p, &time));
        trine_log(ctx, 2, "spmv: block %d, tile %d, %s, %lld entries a block: %.4g us", tried.tune.block,
                  tried.tune.tile, trine_spmv_reduction_name(tried.tune.reduction),
                  (long long)tried.tune.entries_per_block, 1e3 * time / REPETITIONS);
        if (k == 0 || time < least) least = time, best = tried;
    }
    if (!semiring) {
        for (int k = TRINE_REDUCTION_ROWS; k <= TRINE_REDUCTION_WARPS; k++) {
            float time = 0;
            tried.tune = {};
            tried.tune.reduction = (trine_spmv_reduction)k;
            TRY(try_options(plan, &tried, p, &time));
            trine_log(ctx, 2, "spmv: %s: %.4g us", trine_spmv_reduction_name(tried.tune.reduction),
                      1e3 * time / REPETITIONS);
            tried.tune.block = SPMV_CUDA_ROWS_BLOCK, tried.tune.tile = SPMV_CUDA_ROWS_TILE; /* for the choice's text */
            if (time < least) least = time, best = tried;
        }
    }
    if (semiring) semiring_name_choice(spmv_cuda_program(semiring), name);
    else spmv_cuda_name_choice(plan, &plan->side[SPMV_N], name);
    spmv_write_choice(&best, choice);
    TRY(trine_choice_set(ctx, name, choice));
    if (path) TRY(trine_choice_save(ctx, path, name, choice));
done:
    return status;
}
