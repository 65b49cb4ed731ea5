/* The plain product on a GPU: which kernel, and its launches. */
#include <limits.h>

#include "core/gpu_kernels.h"
#include "core/gpu_scalar.cuh"
#include "spmv/cuda/alike.cuh"
#include "spmv/cuda/cuda.h"
#include "spmv/cuda/fused.cuh"
#include "spmv/cuda/many.cuh"
#include "spmv/cuda/product.cuh"
#include "spmv/cuda/ring.cuh"
#include "spmv/cuda/rows.cuh"
#include "spmv/cuda/together.cuh"
#include "spmv/cuda/vectors.cuh"
#include "spmv/cuda/warps.cuh"

namespace {

constexpr int BLOCK = SPMV_CUDA_BLOCK, MANY_TILE = 6, JOIN_BLOCK = 256, VECTOR_BLOCKS = 512;
constexpr int ALIKE_ENTRIES = SPMV_CUDA_ALIKE_ENTRIES;
constexpr int MOST_GRID = 65535; /* blocks in its second direction */
constexpr int64_t MOST_STRIDE = INT_MAX / 16, MOST_VECTORS = (int64_t)MOST_GRID * 8;
/* Groups of vectors of a block of rows.cuh, which copies its entries once for them, and blocks that are enough. */
constexpr int MOST_GROUPS = 4, ENOUGH_BLOCKS = 2048, BLOCKS_FOR_VECTORS = 500;

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

/** Blocks of JOIN_BLOCK threads: a warp for each block of the launch; where nothing is searched for, a thread. */
unsigned preparing_blocks(const struct spmv_launch &l) { return (l.blocks + JOIN_BLOCK / 32 - 1) / (JOIN_BLOCK / 32); }
unsigned joining_blocks(const struct spmv_launch &l)
{
    return l.a.starts ? (l.blocks + JOIN_BLOCK - 1) / JOIN_BLOCK : preparing_blocks(l);
}

/** A kernel that waits for what it needs of the launch before it, and begins early if it may. */
template <class... Parameters, class... Arguments>
trine_status launch_early_if(bool may, void (*kernel)(Parameters...), dim3 blocks, unsigned threads, gpuStream_t stream,
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
    if (may && early) config.attrs = &follows, config.numAttrs = 1;
    return status ? status : GPU(gpuLaunchKernelEx(&config, kernel, arguments...));
}

template <class... Parameters, class... Arguments>
trine_status launch_early(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, gpuStream_t stream,
                          const Arguments &...arguments)
{
    return launch_early_if(true, kernel, blocks, threads, stream, arguments...);
}

/* ------------------------------------------------------ rows of similar lengths */

/** By one vector, or by groups of vectors, `each` a block. */
template <int HOW, int STEP, bool SEVERAL, class Op>
trine_status launch_step(const struct spmv_launch &l, gpuStream_t stream, const Op &op, int groups, int each)
{
    const auto kernel = reduce_whole_rows<Op, SPMV_CUDA_ROWS_BLOCK, SPMV_CUDA_ROWS_TILE, HOW, STEP, SEVERAL>;
    return launch_early(kernel, dim3(l.blocks, (unsigned)((groups + each - 1) / each)), SPMV_CUDA_ROWS_BLOCK, stream,
                        l.a, op, l.lanes_shift, groups, each);
}

/** STEP by what a thread has of rows: five entries are common where one thread takes a row. */
template <class Op> trine_status launch_rows(const struct spmv_launch &l, gpuStream_t stream, const Op &op)
{
    if (!l.blocks) return TRINE_SUCCESS;
    return l.mostly_empty  ? launch_step<ROWS_MOSTLY_EMPTY, 4, false>(l, stream, op, 1, 1)
           : l.lanes_shift ? launch_step<ROWS_BY_THREADS, 6, false>(l, stream, op, 1, 1)
                           : launch_step<ROWS_BY_THREAD, 5, false>(l, stream, op, 1, 1);
}

/** Whether blocks go on: the plan has tiles for that, and all rows are asked for. */
bool goes_on(const struct spmv_launch &l, const struct spmv_call *c, int how)
{
    return l.by_ring == how && c->nrhs == 1 && c->row_begin == 0 && c->row_end == c->side->n_rows;
}

/** Blocks that go on, as many as there is room for with `threads` of a multiprocessor. */
unsigned ring_blocks(trine_spmv plan, const struct spmv_launch &l, int threads)
{
    const unsigned most = (unsigned)(plan->base.ctx->info.multiprocessors * (threads / SPMV_CUDA_ROWS_BLOCK));
    return (unsigned)l.a.n_blocks < most ? (unsigned)l.a.n_blocks : most;
}
template <int TILE, int STEP, int THREADS, bool ONE, class Op>
trine_status launch_ring(trine_spmv plan, const struct spmv_launch &l, gpuStream_t stream, const Op &op)
{
    constexpr int RING = 2;
    if (!l.blocks) return TRINE_SUCCESS;
    return launch_early(reduce_rows_on_and_on<Op, SPMV_CUDA_ROWS_BLOCK, TILE, RING, STEP, THREADS, ONE>,
                        dim3(ring_blocks(plan, l, THREADS)), SPMV_CUDA_ROWS_BLOCK, stream, l.a, op, l.lanes_shift);
}

/** Rows that are alike in groups. */
template <class P> trine_status launch_groups(const struct spmv_launch &l, gpuStream_t stream, const P &p)
{
    if (!l.blocks) return TRINE_SUCCESS;
    if constexpr (sizeof(typename P::stored) == 2) /* a warp a block */
        return launch_early(reduce_rows_alike<P, 32, ALIKE_ENTRIES / 32, SPMV_CUDA_ALIKE_ROWS, 8, 6, 832, true>,
                            dim3(l.blocks), 32, stream, l.a, p);
    else if constexpr (sizeof(typename P::stored) == 4)
        return launch_early(reduce_rows_alike<P, 64, ALIKE_ENTRIES / 64, SPMV_CUDA_ALIKE_ROWS, 16, 5, 1280, false>,
                            dim3(l.blocks), 64, stream, l.a, p);
    else
        return launch_early(reduce_rows_alike<P, 64, ALIKE_ENTRIES / 64, SPMV_CUDA_ALIKE_ROWS, 16, 6, 1024, false>,
                            dim3(l.blocks), 64, stream, l.a, p);
}

/** One vector, rows of similar lengths. */
template <class P> trine_status launch_alike(trine_spmv plan, const struct spmv_launch &l, const struct spmv_call *c,
                                             const P &p)
{
    const gpuStream_t stream = (gpuStream_t)c->stream;
    constexpr int THREADS = SPMV_CUDA_RING_BLOCKS * SPMV_CUDA_ROWS_BLOCK;
    if constexpr (sizeof(typename P::product) <= 8 && !P::INDEXES)
        if (l.by_groups && c->row_begin % SPMV_CUDA_ALIKE_ROWS == 0) return launch_groups(l, stream, p);
    if constexpr (sizeof(typename P::product) <= 8)
        if (goes_on(l, c, RING_SHORT)) return launch_ring<SPMV_CUDA_RING_TILE, 5, THREADS, true>(plan, l, stream, p);
    if constexpr (sizeof(typename P::product) <= 8 && sizeof(typename P::stored) < 8 && !P::INDEXES)
        if (goes_on(l, c, RING_LONG)) return launch_ring<SPMV_CUDA_ROWS_TILE, 6, 1024, false>(plan, l, stream, p);
    return launch_rows(l, stream, p);
}

/** Several vectors, wherever their elements are. */
template <class P>
trine_status launch_together(const struct spmv_launch &l, gpuStream_t stream, const P &p, int64_t n_vectors)
{
    constexpr int EACH = sizeof(typename P::product) <= 8 ? 4 : 2, STEP = 3;
    const products_together<P, EACH, 1024> op = {p, (int)n_vectors};
    const int64_t groups = (n_vectors + EACH - 1) / EACH, least = (groups + MOST_GRID - 1) / MOST_GRID;
    int64_t each = l.blocks * groups / ENOUGH_BLOCKS;
    each = each < MOST_GROUPS ? each : MOST_GROUPS;
    each = each > least ? each : least;
    if (!l.blocks) return TRINE_SUCCESS;
    return l.lanes_shift ? launch_step<ROWS_BY_THREADS, STEP, true>(l, stream, op, (int)groups, (int)each)
                         : launch_step<ROWS_BY_THREAD, STEP, true>(l, stream, op, (int)groups, (int)each);
}

/* -------------------------------------------------------------- one vector */

/** Warps by themselves. Blocks that begin early lie where there is room first: few of them then share fewer
 *  multiprocessors than there are. */
template <class Op> trine_status launch_warps(trine_spmv plan, const struct spmv_launch &l, gpuStream_t stream,
                                              const Op &op)
{
    constexpr int EACH = sizeof(typename Op::product) <= 8 ? SPMV_CUDA_WARPS_EACH : SPMV_CUDA_WARPS_EACH / 2;
    constexpr int THREADS = Op::WARPS_THREADS, WARPS = SPMV_CUDA_WARPS_BLOCK / 32;
    const bool are_many = (int64_t)l.blocks * 32 >= (int64_t)plan->base.ctx->info.multiprocessors * THREADS;
    return launch_early_if(are_many, reduce_by_warps<Op, SPMV_CUDA_WARPS_BLOCK, EACH, THREADS, false>,
                           dim3((l.blocks + WARPS - 1) / WARPS), SPMV_CUDA_WARPS_BLOCK, stream, l.a, op);
}

template <class Op>
trine_status launch_one(trine_spmv plan, const struct spmv_launch &l, gpuStream_t stream, const Op &op)
{
    trine_status status = TRINE_SUCCESS;
    const bool joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS, adds = l.scheme == TRINE_SPMV_BALANCED_ATOMIC;
    if (!l.blocks) return TRINE_SUCCESS;
    if (l.by_warps) return launch_warps(plan, l, stream, op);
    if (adds) {
        prepare_shared_rows<Op, JOIN_BLOCK><<<preparing_blocks(l), JOIN_BLOCK, 0, stream>>>(l.a, op);
        TRY(GPU_LAUNCHED("prepare_shared_rows"));
    }
    if (l.reduce) {
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

/** Elements of 16 bytes. */
template <class T> constexpr int PIECE = 16 / (int)sizeof(T);

/** Whether vectors lie by rows, and X and Y can be taken 16 bytes at a time. */
bool lies_by_rows(const struct spmv_call *c) { return c->x_col == 1 && c->y_col == 1; }
template <class T> bool takes_pieces(const struct spmv_call *c)
{
    const auto fits = [](const void *p, int64_t row) {
        return (uintptr_t)p % 16 == 0 && row * (int64_t)sizeof(T) % 16 == 0;
    };
    return lies_by_rows(c) && c->nrhs % PIECE<T> == 0 && fits(c->X, c->x_row) && fits(c->Y, c->y_row);
}

/** The least s with most <= 2^s or s = limit. */
int shift_for(int64_t most, int limit)
{
    int s = 0;
    while (s < limit && most > (int64_t)1 << s) s++;
    return s;
}

/** Vectors by rows, rows of similar lengths. */
template <int EACH, class P>
trine_status launch_vectors(const struct spmv_launch &l, gpuStream_t stream, const P &p, int nrhs)
{
    if (!l.blocks) return TRINE_SUCCESS;
    struct vector_threads by = {};
    by.n_vectors = nrhs;
    /* a line of the cache is enough, but where short rows make the copies of entries count */
    by.vectors_shift = shift_for((nrhs + EACH - 1) / EACH, l.lanes_shift ? 3 : 5);
    const auto groups = [&] { return ((nrhs + EACH - 1) / EACH + (1 << by.vectors_shift) - 1) >> by.vectors_shift; };
    while (by.vectors_shift > 1 && (int64_t)l.blocks * groups() < BLOCKS_FOR_VECTORS) by.vectors_shift--;
    by.parts_shift = l.lanes_shift > by.vectors_shift + 2 ? l.lanes_shift - by.vectors_shift - 1
                     : l.lanes_shift > 1                  ? 1
                                                          : l.lanes_shift > by.vectors_shift;
    return launch_early(multiply_rows_of_vectors<P, SPMV_CUDA_ROWS_BLOCK, SPMV_CUDA_ROWS_TILE, EACH, 6, 1024>,
                        dim3(l.blocks, (unsigned)groups()), SPMV_CUDA_ROWS_BLOCK, stream, l.a, p, by);
}

template <int LANES, int EACH, class P>
trine_status launch_several(const struct spmv_launch &l, gpuStream_t stream, const several_products<P> &m)
{
    const dim3 grid(l.blocks, (unsigned)((m.nrhs + LANES * EACH - 1) / (LANES * EACH)));
    if (!l.blocks) return TRINE_SUCCESS;
    const trine_status status =
        launch_early(multiply_several<P, BLOCK, MANY_TILE, LANES, EACH>, grid, BLOCK, stream, l.a, m);
    return status || l.scheme == TRINE_SPMV_ADAPTIVE
               ? status
               : launch_early(join_several<P, JOIN_BLOCK>, dim3(preparing_blocks(l)), JOIN_BLOCK, stream, l.a, m);
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
        if (!status) status = launch_several<EACH, 1>(l, (gpuStream_t)c->stream, m);
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
        const gpuStream_t stream = (gpuStream_t)c->stream;
        constexpr int EACH = sizeof(T) == 4 ? PIECE<T> : 1; /* of more bytes, pieces take registers and bring nothing */
        const bool many = m.nrhs > 8 && m.x_step < m.p.x_bytes;
        if (EACH > 1 && takes_pieces<T>(c))
            status =
                many ? launch_several<32 / EACH, EACH>(l, stream, m) : launch_several<8 / EACH, EACH>(l, stream, m);
        else status = many ? launch_several<32, 1>(l, stream, m) : launch_several<8, 1>(l, stream, m);
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

template <class P, bool AHEAD>
void fill_epilogue(trine_spmv plan, const struct spmv_call *c, fused_product<P, AHEAD> *op)
{
    using T = typename P::product;
    const trine_spmv_epilogue *e = c->epilogue;
    fill_product(plan, c, static_cast<P *>(op));
    op->u = (const T *)e->dot;
    op->axpy = (T *)e->axpy;
    op->gamma = scalar_of<T>(c->gamma);
    op->results = (T *)e->results;
    op->slots = (left_open<T> *)c->work->base.buffer;
    op->norm = e->norm != 0;
}

template <class T> trine_status finish_alone(trine_spmv plan, const struct spmv_call *c, bool keeps_y)
{
    fused_product<plain_product<T, T, false>, false> op = {};
    const int64_t n_rows = c->side->n_rows, needed = (n_rows + JOIN_BLOCK - 1) / JOIN_BLOCK;
    const unsigned blocks = (unsigned)(needed < 1 ? 1 : needed < VECTOR_BLOCKS ? needed : VECTOR_BLOCKS);
    fill_epilogue(plan, c, &op);
    op.alpha = zero_of<T>();
    op.n_slots = (int)blocks;
    return launch_early(finish_vector<decltype(op)>, dim3(blocks), JOIN_BLOCK, (gpuStream_t)c->stream, op,
                        (long long)n_rows, keeps_y);
}

template <class T, bool AHEAD>
trine_status multiply_fused(trine_spmv plan, const struct spmv_call *c, const struct spmv_launch &l)
{
    using Op = fused_product<plain_product<T, T, false>, AHEAD>;
    trine_status status = TRINE_SUCCESS;
    const gpuStream_t stream = (gpuStream_t)c->stream;
    const bool joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS;
    const unsigned joining = joins ? joining_blocks(l) : 0;
    Op op = {};
    fill_epilogue(plan, c, &op);
    if constexpr (sizeof(T) <= 8)
        if (goes_on(l, c, RING_SHORT)) {
            op.n_slots = (int)ring_blocks(plan, l, Op::THREADS);
            return launch_ring<SPMV_CUDA_RING_TILE, 5, Op::THREADS, true>(plan, l, stream, op);
        }
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

/** Whether what the epilogue reads is to be asked for ahead: elements of x have been read by then. */
template <class T> bool asks_ahead(const struct spmv_launch &l, const struct spmv_call *c)
{
    const trine_spmv_epilogue *e = c->epilogue;
    return goes_on(l, c, RING_SHORT) && (sizeof(T) == 4 || e->axpy || (e->dot && e->dot != c->X));
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
        if (c->epilogue && l.scheme != TRINE_SPMV_BALANCED_ATOMIC &&
            (goes_on(l, c, RING_SHORT) || (!l.by_rows && !l.by_warps)))
            return asks_ahead<T>(l, c) ? multiply_fused<T, true>(plan, c, l) : multiply_fused<T, false>(plan, c, l);
    plain_product<T, V, INDEXED> p;
    fill_product(plan, c, &p);
    const int64_t columns = c->side == &plan->side[SPMV_N] ? plan->n_cols : plan->n_rows;
    struct cuda_scratch scratch = {};
    if (c->nrhs >= SPMV_CUDA_TURNED_FROM) scratch = spmv_cuda_scratch(plan, c->work->base.max_nrhs);
    if (l.by_rows && c->nrhs == 1) { /* a pass of its own over y costs less than sums at the end of every block */
        status = launch_alike(plan, l, c, p);
    } else if (l.by_rows && c->nrhs <= MOST_VECTORS && lies_by_rows(c)) {
        status = takes_pieces<T>(c) ? launch_vectors<PIECE<T>>(l, (gpuStream_t)c->stream, p, (int)c->nrhs)
                                    : launch_vectors<1>(l, (gpuStream_t)c->stream, p, (int)c->nrhs);
    } else if (l.by_rows && c->nrhs <= MOST_VECTORS) {
        status = launch_together(l, (gpuStream_t)c->stream, p, c->nrhs);
    } else if (turns_vectors(scratch, l, c, columns)) {
        status = multiply_turned(l, c, p, columns, (char *)c->work->base.buffer + scratch.turned);
    } else {
        status = c->nrhs == 1 ? launch_one(plan, l, (gpuStream_t)c->stream, p) : multiply_vectors(l, c, p);
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
