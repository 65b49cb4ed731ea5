/* Block tridiagonal and banded solves on the GPU: sizes, and the way to the kernels of each precision. */
#include "tridiagonal/block/cuda.cuh"

namespace {

using namespace trine_block;

/* What every supported device with large shared memory lets a block have, nearly; and what leaves a multiprocessor enough blocks,
 * of which those of narrow blocks have more to do. */
constexpr size_t MOST_SHARED_BYTES = 224 * 1024, NARROW_SHARED_BYTES = 56 * 1024, WIDE_SHARED_BYTES = 16 * 1024;

/* So few block rows do not fill the device: large partitions, and fewer stages. */
constexpr int64_t FEW_ROWS = 4096;

using bytes_fn = size_t (*)(const block_call *, bool, int64_t);
const bytes_fn tile_bytes_table[] = {nullptr, tile_bytes_of<float>, tile_bytes_of<double>, tile_bytes_of<complex_of<float>>, tile_bytes_of<complex_of<double>>};

bool is_narrow(const block_call *call) { return call->A.width * trine_dtype_size(call->t) <= 16; }

/** An even number: of odd ones, tridiag(1, tiny, 1) leaves a nearly singular coarse system. */
void partition_rows(const block_call *call, bool factored, int64_t *suitable, int64_t *most)
{
    const auto fits = [&](int64_t rows, size_t bytes) { return tile_bytes_table[call->t](call, factored, rows) <= bytes; };
    for (*most = 4; fits(*most + 2, MOST_SHARED_BYTES);) *most += 2;
    const size_t suitable_bytes = call->A.rows <= FEW_ROWS ? MOST_SHARED_BYTES : is_narrow(call) && !factored ? NARROW_SHARED_BYTES : WIDE_SHARED_BYTES;
    for (*suitable = 8; *suitable < 32 && fits(*suitable + 2, suitable_bytes);) *suitable += 2;
}

trine_status substitute_bytes(const block_call *call, size_t *bytes)
{
    REQUIRE(call->o.nrhs <= 65535, "nrhs is %lld; at most 65535 can be solved at once", (long long)call->o.nrhs);
    return rpts_bytes(call->plan.rhs_elements, call->o.nrhs, 0, 1, call->t, bytes);
}
trine_status solve_bytes(const block_call *call, size_t *bytes)
{
    trine_status status = TRINE_SUCCESS;
    size_t rhs = 0, rest = 0;
    TRY(substitute_bytes(call, &rhs));
    TRY(rpts_bytes(call->A.n, call->o.nrhs, 0, call->o.refine, call->t, &rest));
    *bytes = call->factor_bytes + rhs + rest;
done:
    return status;
}

using run_fn = trine_status (*)(const block_call *);
const run_fn solve_table[] = {nullptr, solve_of<float>, solve_of<double>, solve_of<complex_of<float>>, solve_of<complex_of<double>>};
const run_fn factor_table[] = {nullptr, factor_of<float>, factor_of<double>, factor_of<complex_of<float>>, factor_of<complex_of<double>>};
const run_fn substitute_table[] = {nullptr, substitute_of<float>, substitute_of<double>, substitute_of<complex_of<float>>, substitute_of<complex_of<double>>};

trine_status solve(const block_call *call) { return solve_table[call->t](call); }
trine_status factor(const block_call *call) { return factor_table[call->t](call); }
trine_status substitute(const block_call *call) { return substitute_table[call->t](call); }

const int kernel_widths[] = {0, 2, 2, 3, 4, 8, 8, 8, 8};

} // namespace

extern "C" const struct block_backend block_cuda = {
    kernel_widths, 8, false, partition_rows, solve_bytes, substitute_bytes, solve, factor, substitute,
};
