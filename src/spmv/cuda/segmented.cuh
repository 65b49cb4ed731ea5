/* CONTRACT, to be replaced by the kernel. Self-contained: compiled by nvcc for the library and by NVRTC for callers'
 * operators; includes nothing.
 *
 * An operator type Op, passed by value as the kernel's second argument, has:
 *     using product = ...;       what multiply gives: any trivially copyable type, size a multiple of 1, 2 or 4 bytes
 *     using accumulator = ...;
 *     static constexpr bool NEEDS_ROW;
 *     __device__ product multiply(long long nz, long long row) const;     row: -1 unless NEEDS_ROW
 *     __device__ accumulator lift(product p) const;
 *     __device__ accumulator add(accumulator before, accumulator p) const;
 *     __device__ accumulator identity() const;
 *     __device__ void store(long long row, accumulator z, bool empty) const;   // writes y
 *
 * template <class Op, class Offset, int BLOCK, int TILE, int REDUCTION, int SCHEME>
 * __global__ void reduce_rows(segmented_arguments a, Op op);
 *
 * Offset: int or long long. BLOCK threads, TILE entries a thread. REDUCTION: 1 raking, 2 raking-memoize,
 * 3 warp-scans, 4 warp-transposed. SCHEME: 1 adaptive, 3 balanced-postprocess (as trine_spmv_method).
 * template <class Op, class Offset, int BLOCK> __global__ void join_shared_rows(segmented_arguments a, Op op);  second launch of 3
 */
enum { SEGMENTED_ARGUMENTS_BYTES = 96 };
/** What is known of the matrix and its division into blocks; plain, the same on host and device. */
struct segmented_arguments {
    const void *offsets;                 /* n_rows + 1 of type Offset */
    const struct block_start *starts;    /* n_blocks + 1; NULL: found by binary search */
    void *partials;                      /* of balanced schemes: 2 a block, accumulators */
    long long n_rows, nnz, row_begin, row_end;
    long long entries_per_block;
    int row_weight, first_block, n_blocks, reserved;
};
/** Where a block begins: its first entry and the row of that. */
struct block_start { long long nz; long long row; };
