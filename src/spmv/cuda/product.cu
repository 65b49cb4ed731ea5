/* The plain product on a GPU: which kernel, and its launches. */
#include <limits.h>

#include "core/gpu_kernels.h"
#include "core/gpu_scalar.cuh"
#include "spmv/cuda/cuda.h"
#include "spmv/cuda/fused.cuh"
#include "spmv/cuda/many.cuh"
#include "spmv/cuda/product.cuh"
#include "spmv/cuda/rows.cuh"
#include "spmv/cuda/warps.cuh"

namespace {

constexpr int BLOCK = SPMV_CUDA_BLOCK, MANY_TILE = 6, JOIN_BLOCK = 256, VECTOR_BLOCKS = 512;
constexpr int64_t MOST_STRIDE = INT_MAX / 16, MOST_VECTORS = 65535 * 8;
constexpr int VECTORS_OF_A_BLOCK = 8; /* in the kernel of rows.cuh: its entries are copied once for them */

template <class T> T scalar_of(const double value[2])
{
    if constexpr (scalar<T>::is_complex) return T{(real_of<T>)value[0], (real_of<T>)value[1]};
    else return (T)value[0];
}

template <class T, class V, bool INDEXED>
void fill_product(trine_spmv plan, const struct spmv_call *c, plain_product<T, V, INDEXED> *p)
{
    p->values = (const V *)plan->values;
    p->columns = c->side->columns;
    p->positions = c->side->positions;
    p->x = (const T *)c->X;
    p->y = (T *)c->Y;
    p->x_bytes = (int)(c->x_row * (int64_t)sizeof(T));
    p->y_bytes = (int)(c->y_row * (int64_t)sizeof(T));
    p->x_step = c->x_col * (int64_t)sizeof(T);
    p->y_step = c->y_col * (int64_t)sizeof(T);
    p->wide_positions = c->side->position_bits == 64;
    p->conjugates = c->conjugate;
    p->reads_y = c->beta[0] != 0 || c->beta[1] != 0;
    p->alpha = scalar_of<T>(c->alpha);
    p->beta = scalar_of<T>(c->beta);
}

/** Blocks of JOIN_BLOCK threads, a thread for each block of the launch, or a warp. */
unsigned joining_blocks(const struct spmv_launch &l) { return (l.blocks + JOIN_BLOCK - 1) / JOIN_BLOCK; }
unsigned preparing_blocks(const struct spmv_launch &l) { return (l.blocks + JOIN_BLOCK / 32 - 1) / (JOIN_BLOCK / 32); }

/** A kernel that waits for what it needs of the launch before it. */
template <class... Parameters, class... Arguments>
trine_status launch_early(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, gpuStream_t stream,
                          const Arguments &...arguments)
{
    gpuLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.stream = stream;
    gpuLaunchAttribute follows = {};
    follows.id = gpuLaunchAttributeProgrammaticStreamSerialization;
    follows.val.programmaticStreamSerializationAllowed = 1;
    bool early;
    const trine_status status = spmv_cuda_begins_early(stream, &early);
    if (early) config.attrs = &follows, config.numAttrs = 1;
    return status ? status : GPU(gpuLaunchKernelEx(&config, kernel, arguments...));
}

/* ------------------------------------------------------ rows of similar lengths */

/** STEP by what a thread has of rows: five entries are common where one thread takes a row. */
template <class Op, int HOW, int STEP, bool SEVERAL>
trine_status launch_step(const struct spmv_launch &l, gpuStream_t stream, const Op &op, int n_vectors)
{
    const unsigned groups = (unsigned)((n_vectors + VECTORS_OF_A_BLOCK - 1) / VECTORS_OF_A_BLOCK);
    const auto kernel = reduce_whole_rows<Op, SPMV_CUDA_ROWS_BLOCK, SPMV_CUDA_ROWS_TILE, HOW, STEP, SEVERAL>;
    return launch_early(kernel, dim3(l.blocks, groups), SPMV_CUDA_ROWS_BLOCK, stream, l.a, op, l.lanes_shift, n_vectors,
                        VECTORS_OF_A_BLOCK);
}

template <bool SEVERAL, class Op>
trine_status launch_rows(const struct spmv_launch &l, gpuStream_t stream, const Op &op, int n_vectors)
{
    if (!l.blocks) return TRINE_SUCCESS;
    if constexpr (!SEVERAL)
        if (l.mostly_empty) return launch_step<Op, ROWS_MOSTLY_EMPTY, 4, SEVERAL>(l, stream, op, n_vectors);
    return l.lanes_shift ? launch_step<Op, ROWS_BY_THREADS, 6, SEVERAL>(l, stream, op, n_vectors)
                         : launch_step<Op, ROWS_BY_THREAD, 5, SEVERAL>(l, stream, op, n_vectors);
}

/* -------------------------------------------------------------- one vector */

template <class Op> trine_status launch_one(const struct spmv_launch &l, gpuStream_t stream, const Op &op)
{
    trine_status status = TRINE_SUCCESS;
    const bool joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS, adds = l.scheme == TRINE_SPMV_BALANCED_ATOMIC;
    if (!l.blocks) return TRINE_SUCCESS;
    if (adds) {
        prepare_shared_rows<Op, JOIN_BLOCK><<<preparing_blocks(l), JOIN_BLOCK, 0, stream>>>(l.a, op);
        TRY(GPU_LAUNCHED("prepare_shared_rows"));
    }
    if (l.by_warps) {
        constexpr int EACH = sizeof(typename Op::product) <= 8 ? SPMV_CUDA_WARPS_EACH : SPMV_CUDA_WARPS_EACH / 2;
        const unsigned warps = SPMV_CUDA_WARPS_BLOCK / 32;
        TRY(launch_early(reduce_by_warps<Op, SPMV_CUDA_WARPS_BLOCK, EACH, SPMV_CUDA_WARPS_THREADS, false>,
                         dim3((l.blocks + warps - 1) / warps), SPMV_CUDA_WARPS_BLOCK, stream, l.a, op));
    } else if (l.reduce) {
        void *arguments[] = {(void *)&l.a, (void *)&op};
        TRY(trine_gpu_launch(l.reduce, l.blocks, l.block, false, stream, arguments));
    } else {
        reduce_rows<Op, BLOCK, SPMV_CUDA_TILE, SPMV_CUDA_REDUCTION><<<l.blocks, BLOCK, 0, stream>>>(l.a, op);
        TRY(GPU_LAUNCHED("reduce_rows"));
    }
    if (joins) {
        join_shared_rows<Op, JOIN_BLOCK><<<joining_blocks(l), JOIN_BLOCK, 0, stream>>>(l.a, op);
        TRY(GPU_LAUNCHED("join_shared_rows"));
    }
done:
    return status;
}

/* ------------------------------------------------------------- several vectors */

template <int LANES, class P>
trine_status launch_several(const struct spmv_launch &l, gpuStream_t stream, const several_products<P> &m)
{
    trine_status status = TRINE_SUCCESS;
    const dim3 grid(l.blocks, (unsigned)((m.nrhs + LANES - 1) / LANES));
    if (!l.blocks) return TRINE_SUCCESS;
    multiply_several<P, BLOCK, MANY_TILE, LANES><<<grid, BLOCK, 0, stream>>>(l.a, m);
    TRY(GPU_LAUNCHED("multiply_several"));
    if (l.scheme != TRINE_SPMV_ADAPTIVE) {
        join_several<P, JOIN_BLOCK><<<preparing_blocks(l), JOIN_BLOCK, 0, stream>>>(l.a, m);
        TRY(GPU_LAUNCHED("join_several"));
    }
done:
    return status;
}

/** Whether vectors by columns are turned into vectors by rows before the product: rows anywhere, and most of them asked
 *  for, and room. */
bool turns_vectors(const struct cuda_scratch &scratch, const struct spmv_launch &l, const struct spmv_call *c,
                   int64_t columns)
{
    return l.scheme != TRINE_SPMV_ADAPTIVE && c->nrhs >= SPMV_CUDA_TURNED_FROM && c->x_col > c->x_row &&
           scratch.turned_rows >= columns && 2 * (c->row_end - c->row_begin) >= c->side->n_rows;
}

/** Vectors by columns, as many at a time as there is room for by rows. */
template <class P>
trine_status multiply_turned(const struct spmv_launch &l, const struct spmv_call *c, const P &p, int64_t columns,
                             void *room)
{
    using T = typename P::product;
    constexpr int EACH = SPMV_CUDA_TURNED, TURNING = 128;
    trine_status status = TRINE_SUCCESS;
    for (int64_t j = 0; j < c->nrhs && !status; j += EACH) {
        several_products<P> m = {};
        m.p = p;
        m.p.y = (T *)c->Y + j * c->y_col;
        m.p.x = (const T *)room, m.p.x_bytes = EACH * (int)sizeof(T);
        m.x_step = sizeof(T), m.y_step = c->y_col * (int64_t)sizeof(T);
        m.nrhs = (int)(c->nrhs - j < EACH ? c->nrhs - j : EACH);
        m.partials = (T *)l.a.partials;
        turn_vectors<T, TURNING, EACH>
            <<<(unsigned)((columns + TURNING - 1) / TURNING), TURNING, 0, (gpuStream_t)c->stream>>>(
                (const T *)c->X + j * c->x_col, c->x_row * (int64_t)sizeof(T), c->x_col * (int64_t)sizeof(T), columns,
                m.nrhs, (T *)room);
        status = GPU_LAUNCHED("turn_vectors");
        if (!status) status = launch_several<EACH>(l, (gpuStream_t)c->stream, m);
    }
    return status;
}

/** As many vectors as a launch has room for: what blocks share of rows is kept for all of them. */
template <class P>
trine_status multiply_vectors(const struct spmv_launch &l, const struct spmv_call *c, const P &p)
{
    constexpr int64_t MOST = MOST_VECTORS;
    using T = typename P::product;
    trine_status status = TRINE_SUCCESS;
    for (int64_t j = 0; j < c->nrhs && !status; j += MOST) {
        several_products<P> m = {};
        m.p = p;
        m.p.x = (const T *)c->X + j * c->x_col;
        m.p.y = (T *)c->Y + j * c->y_col;
        m.x_step = c->x_col * (int64_t)sizeof(T), m.y_step = c->y_col * (int64_t)sizeof(T);
        m.nrhs = (int)(c->nrhs - j < MOST ? c->nrhs - j : MOST);
        m.partials = l.scheme == TRINE_SPMV_ADAPTIVE ? nullptr : (T *)l.a.partials;
        /* by columns, threads of a group look at places far apart: few vectors, so that the cache holds them */
        status = m.nrhs > 8 && m.x_step < m.p.x_bytes ? launch_several<32>(l, (gpuStream_t)c->stream, m)
                                                      : launch_several<8>(l, (gpuStream_t)c->stream, m);
    }
    return status;
}

/* ---------------------------------------------------------------- epilogues */

/** What a product would make of the vector, where there is none: y := beta y unless it is kept, and the sums. */
template <class Op> __global__ void __launch_bounds__(JOIN_BLOCK)
    finish_vector(const __grid_constant__ Op op, long long n_rows, bool keeps_y)
{
    let_follower_start();
    wait_for_predecessor();
    typename Op::local sums = op.begin();
    for (long long i = blockIdx.x * (long long)JOIN_BLOCK + threadIdx.x; i < n_rows;
         i += gridDim.x * (long long)JOIN_BLOCK) {
        if (keeps_y) op.take(i, *op.at(i), sums);
        else op.store(i, 0, zero_of<typename Op::product>(), true, sums);
    }
    op.finish(sums);
}

template <class P>
void fill_epilogue(trine_spmv plan, const struct spmv_call *c, fused_product<P> *op)
{
    using T = typename P::product;
    const trine_spmv_epilogue *e = c->epilogue;
    char *buffer = (char *)c->work->base.buffer;
    fill_product(plan, c, static_cast<P *>(op));
    op->u = (const T *)e->dot;
    op->axpy = (T *)e->axpy;
    op->gamma = scalar_of<T>(c->gamma);
    op->results = (T *)e->results;
    op->slots = (T *)(buffer + spmv_cuda_scratch(plan, c->work->base.max_nrhs).slots);
    op->arrived = (unsigned *)buffer;
    op->norm = e->norm != 0;
}

template <class T> trine_status finish_alone(trine_spmv plan, const struct spmv_call *c, bool keeps_y)
{
    fused_product<plain_product<T, T, false>> op = {};
    const int64_t n_rows = c->side->n_rows, needed = (n_rows + JOIN_BLOCK - 1) / JOIN_BLOCK;
    const unsigned blocks = (unsigned)(needed < 1 ? 1 : needed < VECTOR_BLOCKS ? needed : VECTOR_BLOCKS);
    fill_epilogue(plan, c, &op);
    op.alpha = zero_of<T>();
    op.n_slots = (int)blocks;
    return launch_early(finish_vector<decltype(op)>, dim3(blocks), JOIN_BLOCK, (gpuStream_t)c->stream, op,
                        (long long)n_rows, keeps_y);
}

template <class T> trine_status multiply_fused(trine_spmv plan, const struct spmv_call *c, const struct spmv_launch &l)
{
    using Op = fused_product<plain_product<T, T, false>>;
    trine_status status = TRINE_SUCCESS;
    const gpuStream_t stream = (gpuStream_t)c->stream;
    const bool joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS;
    const unsigned joining = joins ? joining_blocks(l) : 0;
    Op op = {};
    fill_epilogue(plan, c, &op);
    op.n_slots = joins ? 0 : (int)l.blocks;
    reduce_rows<Op, BLOCK, SPMV_CUDA_TILE, SPMV_CUDA_REDUCTION><<<l.blocks, BLOCK, 0, stream>>>(l.a, op);
    TRY(GPU_LAUNCHED("reduce_rows with an epilogue"));
    if (!joins) return TRINE_SUCCESS;
    op.first_slot = (int)l.blocks, op.n_slots = (int)(l.blocks + joining);
    join_shared_rows<Op, JOIN_BLOCK><<<joining, JOIN_BLOCK, 0, stream>>>(l.a, op);
    TRY(GPU_LAUNCHED("join_shared_rows with an epilogue"));
done:
    return status;
}

/* ----------------------------------------------------------------- dispatch */

template <class T, class V, bool INDEXED> trine_status multiply(trine_spmv plan, const struct spmv_call *c)
{
    constexpr bool FUSES = sizeof(T) == sizeof(V) && !INDEXED;
    const bool reads = c->alpha[0] != 0 || c->alpha[1] != 0;
    struct spmv_launch l = {};
    l.work = c->work;
    if (c->x_row > MOST_STRIDE || c->y_row > MOST_STRIDE)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a stride of %lld elements is too long for a GPU",
                          (long long)(c->x_row > c->y_row ? c->x_row : c->y_row));
    if (!reads || c->row_begin == c->row_end) return finish_alone<T>(plan, c, false);
    trine_status status = spmv_cuda_prepare(plan, c->side, c->row_begin, c->row_end, &l);
    if (status) return status;
    if constexpr (FUSES)
        if (c->epilogue && l.scheme != TRINE_SPMV_BALANCED_ATOMIC && !l.by_rows) return multiply_fused<T>(plan, c, l);
    plain_product<T, V, INDEXED> p;
    fill_product(plan, c, &p);
    const int64_t columns = c->side == &plan->side[SPMV_N] ? plan->n_cols : plan->n_rows;
    struct cuda_scratch scratch = {};
    if (c->nrhs >= SPMV_CUDA_TURNED_FROM) scratch = spmv_cuda_scratch(plan, c->work->base.max_nrhs);
    if (l.by_rows && c->nrhs == 1) { /* a pass of its own over y costs less than sums at the end of every block */
        status = launch_rows<false>(l, (gpuStream_t)c->stream, p, 1);
    } else if (l.by_rows && c->nrhs <= MOST_VECTORS && c->x_col >= c->x_row) {
        status = launch_rows<true>(l, (gpuStream_t)c->stream, p, (int)c->nrhs);
    } else if (turns_vectors(scratch, l, c, columns)) {
        status = multiply_turned(l, c, p, columns, (char *)c->work->base.buffer + scratch.turned);
    } else {
        status = c->nrhs == 1 ? launch_one(l, (gpuStream_t)c->stream, p) : multiply_vectors(l, c, p);
    }
    return status || !c->epilogue ? status : finish_alone<T>(plan, c, true);
}

template <class T, class V> trine_status multiply_stored(trine_spmv plan, const struct spmv_call *c)
{
    return c->side->position_bits ? multiply<T, V, true>(plan, c) : multiply<T, V, false>(plan, c);
}

} // namespace

trine_status spmv_cuda_apply(trine_spmv plan, const struct spmv_call *c)
{
    const trine_dtype stored = plan->stored;
    switch (plan->base.dtype) {
    case TRINE_S:
        return stored == TRINE_S ? multiply_stored<float, float>(plan, c) : multiply_stored<float, half_bits>(plan, c);
    case TRINE_D:
        return stored == TRINE_D   ? multiply_stored<double, double>(plan, c)
               : stored == TRINE_S ? multiply_stored<double, float>(plan, c)
                                   : multiply_stored<double, half_bits>(plan, c);
    case TRINE_C: return multiply_stored<complex_of<float>, complex_of<float>>(plan, c);
    default:
        return stored == TRINE_Z ? multiply_stored<complex_of<double>, complex_of<double>>(plan, c)
                                 : multiply_stored<complex_of<double>, complex_of<float>>(plan, c);
    }
}
