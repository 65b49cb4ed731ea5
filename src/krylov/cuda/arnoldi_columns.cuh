/* Steps of GMRES of several columns on the rows of a matrix, in one cooperative launch. A step is the product, of which
 * a block has the same rows of all columns, so that entries of A are read once; and the orthogonalization of
 * gram_schmidt.cuh, in which a block has a share of one column. All blocks meet between the two and after the step,
 * those of a column within it. A column that has ended costs a product at most. Names no runtime, so that tests run it
 * on a CPU. */
#ifndef TRINE_KRYLOV_ARNOLDI_COLUMNS_CUH
#define TRINE_KRYLOV_ARNOLDI_COLUMNS_CUH

#include "krylov/cuda/gram_schmidt.cuh"
#include "krylov/cuda/rows_here.cuh"

namespace {

constexpr int SHARED_THREADS = 512, SHARED_WARPS = SHARED_THREADS / 32;
constexpr size_t SHARED_BYTES = 128 << 10; /* of rows of A, at most */

/** The longest basis for which all kernels of gram_schmidt.cuh have these threads. */
template <typename T> constexpr int SHARED_BASIS = shape<T, 20>::THREADS == SHARED_THREADS   ? 20
                                                   : shape<T, 16>::THREADS == SHARED_THREADS ? 16
                                                                                             : 12;

struct shared_arguments {
    basis_arguments basis; /* j: of the first step */
    matrix_rows A;
    const void *from; /* the first product is A times this */
    unsigned *arrived; /* all blocks */
    int64_t chunk_rows; /* of a block, in products */
    int nrhs, steps; /* steps: at most */
};
static_assert(sizeof(shared_arguments) <= 4096, "more than a kernel takes with every driver");

template <typename T> struct shared_room {
    static constexpr int PARTS = scalar<T>::is_complex ? 2 : 1, NV = SHARED_BASIS<T>;
    block_sums<PARTS, NV> sums;
    T h[NV];
    rotated rotation;
    shared_norm norm;
    int active[SHARED_COLUMNS], count; /* columns that run */
};

template <typename T> struct shared_block {
    const shared_arguments &a;
    shared_room<T> &room;
    const rows_here<T> &A;
    unsigned meetings, met; /* of all blocks; of the column's */

    __device__ int64_t column() const { return blockIdx.x / a.basis.chunks; }
    __device__ bool is_first() const { return blockIdx.x % a.basis.chunks == 0; }

    /** All blocks come here. */
    __device__ void meet()
    {
        __threadfence();
        __syncthreads();
        ++meetings;
        if (threadIdx.x == 0) {
            atomicAdd(a.arrived, 1u);
            while (*(const volatile unsigned *)a.arrived < meetings * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
    }

    /** Which columns run. */
    __device__ void look()
    {
        if (threadIdx.x == 0) {
            room.count = 0;
            for (int c = 0; c < a.nrhs; c++)
                if (*(const volatile unsigned *)&a.basis.columns[c].flags & KRYLOV_RUNNING)
                    room.active[room.count++] = c;
        }
        __syncthreads();
    }
    __device__ bool runs() const
    {
        bool any = false;
        for (int k = 0; k < room.count; k++) any = any || room.active[k] == column();
        return any;
    }

    /** V[j + 1] := A x of columns that run, by warps below `warps`. */
    __device__ void multiply(const T *x, int j, int warps) const
    {
        constexpr int COLUMNS = 4, AT_ONCE = sizeof(T) > 8 ? 2 : 5;
        const int lane = (int)threadIdx.x % 32, fours = (room.count + COLUMNS - 1) / COLUMNS;
        const int tasks = (int)((A.end - A.begin + 31) / 32) * fours;
        T *const to = (T *)a.basis.basis[j + 1];
        for (int task = (int)threadIdx.x / 32; task < tasks && (int)threadIdx.x / 32 < warps; task += warps) {
            const int64_t row = A.begin + task / fours * 32 + lane;
            const int first = task % fours * COLUMNS, left = room.count - first;
            if (row >= A.end) continue;
            const T *from[COLUMNS];
            T sum[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) from[c] = x + (c < left ? room.active[first + c] : 0) * a.basis.stride;
            A.template product_with<COLUMNS, AT_ONCE>(row, from, sum);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                if (c < left) to[room.active[first + c] * a.basis.stride + row] = sum[c];
        }
    }

    template <int NV> __device__ void orthogonalize_with(int j)
    {
        if constexpr (NV <= SHARED_BASIS<T>)
            orthogonalize_item<T, NV>(a.basis, j, &met, room.h,
                                      *reinterpret_cast<block_sums<shared_room<T>::PARTS, NV> *>(&room.sums),
                                      room.norm);
    }
    __device__ void orthogonalize(int j)
    {
        if (j < 4) orthogonalize_with<4>(j);
        else if (j < 8) orthogonalize_with<8>(j);
        else if (j < 12) orthogonalize_with<12>(j);
        else if (j < 16) orthogonalize_with<16>(j);
        else orthogonalize_with<20>(j);
    }

    __device__ void take_steps()
    {
        krylov_column *const c = &a.basis.columns[column()];
        const T *x = (const T *)a.from;
        int before = -1; /* the step of the column that has not been rotated */
        look();
        for (int j = a.basis.j; j < a.basis.j + a.steps && room.count; j++) {
            const bool rotates = is_first() && before >= 0;
            if (rotates && (int)threadIdx.x / 32 == SHARED_WARPS - 1)
                rotate(c, &a.basis.parameters, before, room.rotation);
            multiply(x, j, SHARED_WARPS - rotates);
            before = -1;
            meet();
            look();
            if (runs()) {
                orthogonalize(j);
                before = j;
            }
            if (j + 1 < a.basis.j + a.steps && room.count) meet();
            x = (const T *)(a.basis.z ? a.basis.z : a.basis.basis[j + 1]);
        }
        __syncthreads();
        if (is_first() && before >= 0 && threadIdx.x < 32) rotate(c, &a.basis.parameters, before, room.rotation);
    }
};

/** All blocks are on the device. */
template <typename T> __global__ void __launch_bounds__(SHARED_THREADS, 1)
    arnoldi_columns(const __grid_constant__ shared_arguments a)
{
    __shared__ shared_room<T> room;
    const int64_t first = blockIdx.x * a.chunk_rows, begin = first < a.basis.n ? first : a.basis.n,
                  end = begin + a.chunk_rows < a.basis.n ? begin + a.chunk_rows : a.basis.n;
    const rows_here<T> A(a.A, begin, end, dynamic_shared(), SHARED_THREADS);
    shared_block<T> block = {a, room, A, 0, 0};
    block.take_steps();
    if (threadIdx.x) return;
    if (atomicAdd(&a.basis.meetings[0].left, 1u) == gridDim.x - 1) {
        *a.arrived = a.basis.meetings[0].left = 0;
        for (int c = 0; c < a.nrhs; c++) a.basis.meetings[c].arrived = 0;
    }
    if (block.is_first()) decide_after(a.basis.decides, &a.basis.columns[block.column()]);
}

/** Steps from V[j + 1] on, of which the first is that of A x; z NULL or where M V[j + 1] goes, M a diagonal; rows: of
 *  A; shared: bytes of shared memory for them. */
shared_arguments shared_of(const struct krylov_work *w, const struct spmv_rows *rows, int j, int steps, const void *x,
                           void *z, size_t shared)
{
    const int64_t n = w->plan->base.n;
    shared_arguments a = {};
    a.basis = basis_of(w, j, z);
    a.basis.chunks = (int)chunks_of_column(n, LEAST_UNIT, w->nrhs);
    a.basis.items = w->nrhs * a.basis.chunks;
    a.A = matrix_of(rows);
    a.from = x;
    a.arrived = (unsigned *)w->scratch;
    a.chunk_rows = ((n + a.basis.items - 1) / a.basis.items + 31) / 32 * 32;
    a.A.room = room_of_rows(trine_dtype_size(w->plan->inner), shared, a.chunk_rows, rows);
    a.nrhs = (int)w->nrhs, a.steps = steps;
    return a;
}

} // namespace

#endif
