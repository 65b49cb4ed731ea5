#include "spmv/common/starts.h"

static int64_t key(int bits, const void *offsets, int row_weight, int64_t i)
{
    return spmv_offset(bits, offsets, i) + row_weight * i;
}

int64_t spmv_count_blocks(int64_t n_rows, int64_t nnz, int row_weight, int64_t w)
{
    const int64_t work = nnz + row_weight * n_rows;
    return work / w + (work % w != 0);
}

/** Where the work at `at`, which is in `row`, is among the entries. */
static spmv_start start_in(int bits, const void *offsets, int row_weight, int64_t row, int64_t at)
{
    const int64_t begin = spmv_offset(bits, offsets, row), end = spmv_offset(bits, offsets, row + 1);
    const int64_t nz = begin + (at - key(bits, offsets, row_weight, row));
    return (spmv_start){nz < end ? nz : end, row};
}

spmv_start spmv_find_start(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t at)
{
    int64_t low = 0, high = n_rows; /* key(low) <= at < key(high), or high = n_rows */
    if (at >= key(bits, offsets, row_weight, n_rows)) return (spmv_start){spmv_offset(bits, offsets, n_rows), n_rows};
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (key(bits, offsets, row_weight, middle) <= at) low = middle;
        else high = middle;
    }
    return start_in(bits, offsets, row_weight, low, at);
}

/* Algorithm 4. What is before the first row, -1/w, is block 0 as well: rounded towards zero, and for w = 1 too. */
void spmv_starts_balanced(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t w, spmv_start *starts)
{
    const int64_t nnz = spmv_offset(bits, offsets, n_rows), blocks = spmv_count_blocks(n_rows, nnz, row_weight, w);
    for (int64_t b = 0; b <= blocks; b++) starts[b].row = -1;
    starts[0].row = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t last = key(bits, offsets, row_weight, i + 1) - 1, before = key(bits, offsets, row_weight, i) - 1;
        const int64_t l = last < 0 ? 0 : last / w, m = before < 0 ? 0 : before / w;
        if (l != m) starts[m + 1].row = i;
    }
    for (int64_t b = 1; b < blocks; b++)
        if (starts[b].row < starts[b - 1].row) starts[b].row = starts[b - 1].row; /* the inclusive scan of maxima */
    for (int64_t b = 0; b < blocks; b++) starts[b] = start_in(bits, offsets, row_weight, starts[b].row, b * w);
    starts[blocks] = (spmv_start){nnz, n_rows};
}

/* Algorithm 5. */
int64_t spmv_starts_adaptive(int bits, const void *offsets, int64_t n_rows, int row_weight, int64_t w,
                             spmv_start *starts)
{
    const int64_t nnz = spmv_offset(bits, offsets, n_rows), most = spmv_count_blocks(n_rows, nnz, row_weight, w);
    for (int64_t b = 0; b <= most; b++) starts[b].row = -1;
    starts[0].row = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t l = key(bits, offsets, row_weight, i + 1) / w, m = key(bits, offsets, row_weight, i) / w;
        if (l != m && l != 0 && l < most) starts[l].row = i + 1;
    }
    int64_t blocks = 0;
    for (int64_t b = 0; b < most; b++) /* select if not -1 */
        if (starts[b].row >= 0) {
            const int64_t row = starts[b].row;
            starts[blocks++] = (spmv_start){spmv_offset(bits, offsets, row), row};
        }
    starts[blocks] = (spmv_start){nnz, n_rows};
    return blocks;
}
