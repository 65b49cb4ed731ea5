/* A triangle in device memory: what the methods on the GPU share. The analysis makes it from T's pattern, in device
 * memory as well; only a few numbers go to the host. It runs down from plan.c:
 *
 *     analyse_sides            plan.c
 *       device_pattern_read    cuda/pattern.cu: T's arrays on the device, lower or upper
 *       analyse_side the method's file: cuda/syncfree_rows.cu, cuda/syncfree_columns.cu, cuda/levelset/levelset.cu
 *         device_form_build cuda/forms.cu: rows or columns in solve order; with the first form, the checks
 *         (pattern_inspect, cuda/pattern.cu)
 *         the method's choice cuda/syncfree_rows_shape.cu, cuda/levelset/launches.cu, with what they need of
 *         cuda/levels.cu, cuda/chunks.cu,
 *                              cuda/few_levels.cu, cuda/row_groups.cu, cuda/tasks.cu
 *         device_triangle_allocate_numbers   cuda/triangle.cu: room for values
 *       device_pattern_drop    cuda/pattern.cu */
#ifndef TRINE_TRIANGULAR_CUDA_TRIANGLE_H
#define TRINE_TRIANGULAR_CUDA_TRIANGLE_H

#include "core/gpu.h"
#include "triangular/common/gather_form.h"

/** Memory cut into arrays: laid out twice, first without memory, to learn how much it takes. */
struct arena {
    char *base;
    size_t used;
    template <typename T> T *take(int64_t count)
    {
        used = (used + 255) / 256 * 256;
        T *const p = base ? (T *)(base + used) : nullptr;
        used += (size_t)count * sizeof(T);
        return p;
    }
};
/** Device memory for what layout(arena &) takes. Released with trine_free(ctx, TRINE_DEVICE, a.base). */
template <typename Layout> trine_status arena_allocate(trine_context ctx, arena *a, const Layout &layout)
{
    *a = {};
    layout(*a);
    const size_t bytes = a->used;
    trine_status status = trine_alloc(ctx, TRINE_DEVICE, bytes, (void **)&a->base);
    a->used = 0;
    layout(*a);
    a->used = bytes;
    return status;
}

typedef enum { BY_ROWS, BY_COLUMNS } triangle_form;

/** First member of a side's part, whatever the method. The arrays are those of struct gather_form; values in the
 *  plan's dtype. */
struct device_triangle {
    int64_t n, nnz;
    int64_t *offsets, *source, *pivot_source;
    int32_t *columns, *order;
    arena structure;         /* holds the arrays above */
    void *values, *pivots;
    long long *bad_row;      /* of the last numeric; n or more: none */
    arena numbers;           /* holds values, pivots and bad_row */
    int64_t longest_row, long_rows;
    double squares;          /* sum of the squared lengths of rows */
    int reach;               /* how far from the diagonal entries are in the given order, at most */
};

constexpr int64_t LONG_ROW = 512;  /* entries, at least; such rows are counted */
constexpr int MOST_LONG_ROWS = 2048;  /* that can be chunks by themselves */
constexpr int FEW_LEVELS = 4;         /* at most, for a launch each */

/** Room for the structure of a triangle of n rows and nnz off-diagonal entries. */
trine_status device_triangle_allocate(trine_triangular plan, device_triangle *d, int64_t n, int64_t nnz);
/** Room for values; the structure is complete. */
trine_status device_triangle_allocate_numbers(trine_triangular plan, device_triangle *d);
void device_triangle_release(trine_triangular plan, device_triangle *d);
/** Free a side's part, the device_triangle at its start included. */
void device_part_release(trine_triangular plan, struct triangular_side *side);
typedef trine_status (*device_solve)(trine_triangular plan, const struct triangular_solve *s);
/** run[the plan's dtype], with the plan's device current. */
trine_status device_solve_run(trine_triangular plan, const struct triangular_solve *s, const device_solve *run);
/** Blocks of 256 threads for so many items, each thread taking several if there are many. */
int device_blocks_for(trine_triangular plan, int64_t items);
/** Threads for a row of average length. */
int device_lanes_for(int64_t nnz, int64_t n);

/** visit(row, lane, lanes) by every thread of a row: `lanes` threads, a power of two up to 32, the whole warp where
 *  length(row) says that the row is long for them, or the whole block where it is longer still. All blocks of the
 *  grid take part. */
template <typename Length, typename Visit> __device__ void for_each_row(int64_t n, int lanes, const Length &length,
                                                                        const Visit &visit)
{
    constexpr int64_t EACH = 16, BLOCK_ROW = 8192; /* entries of a lane, of a row for a warp: at most */
    const int rows = blockDim.x / lanes;
    for (int64_t base = blockIdx.x * (int64_t)rows; base < n; base += (int64_t)gridDim.x * rows) {
        const int64_t row = base + threadIdx.x / lanes, count = row < n ? length(row) : 0;
        const bool for_warp = lanes < 32 && count > EACH * lanes, for_block = count > BLOCK_ROW;
        if (row < n && !for_warp && !for_block) visit(row, (int)(threadIdx.x % lanes), lanes);
        for (unsigned left = __ballot_sync(~0u, for_warp && !for_block && threadIdx.x % lanes == 0); left;
             left &= left - 1)
            visit(__shfl_sync(~0u, row, __ffs(left) - 1), (int)(threadIdx.x % 32), 32);
        if (__syncthreads_or(for_block))
            for (int64_t l = base; l < base + rows && l < n; l++)
                if (length(l) > BLOCK_ROW) visit(l, (int)threadIdx.x, (int)blockDim.x);
    }
}

/* ---------------------------------------------------------------- analysis
 * Each of these ends with an idle stream: what it read may go, and solves may run on any stream. */

struct device_pattern; /* T's pattern: cuda/pattern.h */
/** The row at natural position p of this side is row p, or n - 1 - p. */
bool device_pattern_is_forward(const device_pattern *m, int side);
/** Rows in natural order (gather form), or columns in the same order: columns[] then are the rows a column adds to.
 *  The first form that is built comes with the checks of the pattern. */
trine_status device_form_build(trine_triangular plan, device_pattern *m, int side, triangle_form form,
                               device_triangle *d);
/** Entries of each row in solve order: in_degree, n int32. near_degree, the part of it that columns p - p % group ..
 *  p - 1 bring, or NULL. columns: the column form. */
trine_status device_form_count_in_degrees(trine_triangular plan, const device_triangle *columns, int group,
                                          int32_t *in_degree, int32_t *near_degree);

/** How the kernel by rows is launched. */
struct row_shape {
    int lanes, warps, blocks;
    const int32_t *chunks;   /* see rows_args; NULL: of equal size */
    int64_t n_chunks;
};
int64_t row_shape_rows(const row_shape *s); /* of a chunk */
/** Threads that share a row: by the length of the row in which an entry stands on average, which long rows dominate. */
int row_shape_lanes(const device_triangle *d);
/** For a search for level sets in the given order: as many rows in flight as there can be. */
row_shape row_shape_for_search(trine_triangular plan, const device_triangle *d);

/** What a search for level sets found, and how long it took on the device: as long as a solve, nearly. */
struct levels_found {
    int64_t n_levels;
    double microseconds;
    int64_t followers, first[FEW_LEVELS], end[FEW_LEVELS]; /* what somebody has put into the report: see there */
};
struct level_report;
/** State of a search: a ticket, the report, the level of every row (position). */
inline int64_t device_levels_bytes(int64_t n) { return 256 + n * (int64_t)sizeof(int32_t); }
inline level_report *device_levels_report(void *state) { return (level_report *)((char *)state + 128); }
inline int32_t *device_levels_of(void *state) { return (int32_t *)((char *)state + 256); }
/** Look for the levels of the gather form d, by a pass like a solve in shape s. Asynchronous, unlike the others
 *  here. */
trine_status device_levels_search(trine_triangular plan, const device_triangle *d, const row_shape *s, void *state);
trine_status device_levels_read(trine_triangular plan, void *state, levels_found *found);
/** out: d's rows sorted by keys below n_keys, stably. bounds: n_keys + 1 on the host, where the rows of every key
 *  begin, or NULL. */
trine_status device_triangle_sort(trine_triangular plan, const device_triangle *d, int64_t n_keys, const int32_t *keys,
                                  int64_t *bounds, device_triangle *out);
/** Chunks of `rows` rows, but of one row where it is long; d has at most MOST_LONG_ROWS of those. The last chunks
 *  may be empty. chunks: new device memory. */
trine_status device_chunks_make(trine_triangular plan, const device_triangle *d, int64_t rows, int32_t **chunks,
                                int64_t *n_chunks);

/* ----------------------------------------------- in the tables of backends */

trine_status device_pattern_read(trine_triangular plan, trine_matrix T, void **pattern);
void device_pattern_drop(trine_triangular plan, void *pattern);
trine_status device_triangle_numeric(trine_triangular plan, trine_space space, const void *values, void *stream);
trine_status device_triangle_bad_row(trine_triangular plan, void *stream, int64_t *row);

#endif
