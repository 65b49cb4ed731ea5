/* Block tridiagonal and banded solves on the GPU: sizes, and the way to the kernels of each precision. */
#include "tridiagonal/block/cuda/block_launch.cuh"

namespace {

using namespace trine_block;

/* So few block rows do not fill the device: smaller partitions. Of very few, where the time is that of some kernels
 * one after the other anyway, larger ones: where a solution grows by many orders of magnitude, every cut costs
 * digits. */
constexpr int64_t FEW_ROWS = 1 << 18, VERY_FEW_ROWS = 256;
/* Where one kernel of one cluster takes over: a stage of so few partitions does not fill the device. */
constexpr int64_t CHAIN_PARTITIONS = 128, CHAIN_BLOCKS = 8, SPREAD_WARPS = 4;

/** An even number: of odd ones, tridiag(1, tiny, 1) leaves a nearly singular coarse system. */
void partition_rows(const block_call *call, int64_t *suitable, int64_t *small, int64_t *most)
{
    *small = 32;
    *most = 4096;
    *suitable = call->A.rows <= VERY_FEW_ROWS ? 64 : call->A.width > 2 || call->A.rows <= FEW_ROWS ? 16 : 32;
}

/** A slot has the pivot rows of a partition. Partitions that go up together are neighbours, full warps of them; so
 *  few that they fill no device are not worth the launches. */
void add_slots(block_call *call)
{
    constexpr size_t LEAST_BYTES = 4 << 20;
    const block_stage *s = &call->plan.stage[0];
    const int64_t w = call->plan.width;
    const size_t bytes = (size_t)block_group_count(s, 0) * (size_t)(5 * w * w) * trine_dtype_size(call->t);
    const int64_t least = (int64_t)(LEAST_BYTES / bytes);
    block_add_slots(&call->A, call->t, call->factor_bytes, bytes,
                    least < 1               ? 1
                    : least < s->partitions ? least
                                            : s->partitions,
                    s->partitions, &call->plan);
    if (call->plan.slots < s->partitions && call->plan.slots > WARP) call->plan.slots -= call->plan.slots % WARP;
}

trine_status substitute_bytes(const block_call *call, size_t *bytes)
{
    return block_lay_out(call, 0, ERROR_ELEMENTS, nullptr, bytes);
}
trine_status solve_bytes(const block_call *call, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    scalar_layout layout = {};
    if (!call->is_scalar) return block_lay_out(call, call->factor_bytes, ERROR_ELEMENTS, nullptr, bytes);
    TRY(lay_out_scalar(call, &layout));
    *bytes = layout.bytes;
done:
    return status;
}

} // namespace

namespace trine_block {

int first_chained(const block_call *call)
{
    const block_plan *plan = &call->plan;
    int first = call->A.paired; /* where stage 0 only copies */
    while (plan->stage[first].partitions > CHAIN_PARTITIONS || plan->stages - first > CHAIN_STAGES) first++;
    return first;
}
/** A warp of a block for each of its schedulers first, then more blocks, then more warps. */
chain_size size_of_chain(int64_t partitions, bool clusters, int most_warps)
{
    chain_size size = {1, 1};
    while (clusters && size.blocks < CHAIN_BLOCKS && size.blocks * SPREAD_WARPS < partitions) size.blocks *= 2;
    while (2 * size.warps <= most_warps && size.blocks * size.warps < partitions) size.warps *= 2;
    return size;
}

trine_status lay_out_scalar(const block_call *call, scalar_layout *at)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = call->A.n;
    const solve_place here = place_on_gpu(call->stream);
    size_t matrix, vectors, errors, factors = 0;
    TRY(gtsv_work_size(&here, call->t, n, call->o.nrhs, &call->given, &at->gtsv_bytes));
    TRY(rpts_bytes(0, 0, 3 * n, 0, call->t, &matrix));
    TRY(rpts_bytes(n, call->o.nrhs, 0, 1, call->t, &vectors));
    if (block_may_be_sequential(&call->A, call->o.pivot, call->o.epsilon))
        TRY(rpts_bytes(0, 0, block_sequential_elements(&call->A) + n, 0, call->t, &factors));
    errors = (size_t)call->o.nrhs * sizeof(column_errors);
    at->vectors = matrix;
    at->errors = (matrix + vectors + 15) / 16 * 16;
    at->gtsv = at->errors + (errors + 15) / 16 * 16;
    at->bytes = at->gtsv + (factors > at->gtsv_bytes ? factors : at->gtsv_bytes);
done:
    return status;
}

} // namespace trine_block

namespace {

using run_fn = trine_status (*)(const block_call *);
const run_fn solve_table[] = {nullptr, solve_of<float>, solve_of<double>, solve_of<complex_of<float>>,
                              solve_of<complex_of<double>>};
const run_fn scalar_table[] = {nullptr, solve_scalar_of<float>, solve_scalar_of<double>,
                               solve_scalar_of<complex_of<float>>, solve_scalar_of<complex_of<double>>};
const run_fn factor_table[] = {nullptr, factor_of<float>, factor_of<double>, factor_of<complex_of<float>>,
                               factor_of<complex_of<double>>};
const run_fn substitute_table[] = {nullptr, substitute_of<float>, substitute_of<double>,
                                   substitute_of<complex_of<float>>, substitute_of<complex_of<double>>};

trine_status solve(const block_call *call) { return (call->is_scalar ? scalar_table : solve_table)[call->t](call); }
trine_status factor(const block_call *call) { return factor_table[call->t](call); }
trine_status substitute(const block_call *call) { return substitute_table[call->t](call); }

const int kernel_widths[] = {0, 2, 2, 3, 4, 8, 8, 8, 8};

} // namespace

extern "C" const struct block_backend block_cuda = {
    kernel_widths,  8,         CHAIN_PARTITIONS, BLOCK_KEEP_PIVOT_ROWS,
    partition_rows, add_slots, solve_bytes,      substitute_bytes,
    solve,          factor,    substitute,
};
