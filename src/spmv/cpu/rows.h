/* Rows of a chunk, as the loops over them take them. */
#ifndef TRINE_SPMV_CPU_ROWS_H
#define TRINE_SPMV_CPU_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <trine/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What analyse knows of consecutive rows. Rows are alike if they have as many entries each and their columns are the
 *  same, or go up by one from row to row, as in stencils. */
enum run_kind {
    RUN_ANY,
    RUN_SHORT,                       /* at most SHORT_ROW entries, and not nearly all of them */
    RUN_EMPTY,
    RUN_SHIFTED,                     /* columns one higher than in the row before */
    RUN_SAME_2,                      /* pairs of rows with the same columns; threes; fours */
    RUN_SAME_3,
    RUN_SAME_4,
    RUN_FEW,                         /* as RUN_SHORT, but few rows between others */
    RUN_GROUPS_2, /* as RUN_SAME_2, and columns go up by 2 from pair to pair: blocks of a stencil */
    RUN_GROUPS_3,
    RUN_GROUPS_4
};
enum {
    SHORT_ROW = 8,
    FEW_ENTRIES = 4, /* too few for x to be shared by rows with the same columns */
    LONGEST_SHIFTED = 64,
    LONGEST_SAME = 256,
    LEAST_GROUP = 8, /* entries of a row of RUN_GROUPS: a vector of columns is read in one group */
    RUN_ROWS_BITS = 12,
    RUN_ROWS = (1 << RUN_ROWS_BITS) - 1
};

/** Kind and number of rows. */
typedef uint16_t cpu_run;
static inline cpu_run cpu_run_of(enum run_kind kind, int64_t rows)
{
    return (cpu_run)((unsigned)kind << RUN_ROWS_BITS | (unsigned)rows);
}

/** Consecutive rows of whole entries: y(i,j) := alpha (A x)(i,j) + beta y(i,j), element (i,j) at [i*row + j*col]. */
struct rows {
    const void *offsets; /* of row `begin` at [begin] */
    const int32_t *columns;
    const void *values; /* of entry k at [k - first] */
    int64_t first, begin, end;
    const void *x;
    void *y;
    int64_t nrhs, x_row, x_col, y_row, y_col;
    double alpha[2], beta[2];
    int64_t entries; /* of all rows: so many columns can be read */
    bool is_far; /* x is no array that a cache holds */
    const cpu_run *runs; /* NULL: of the rows nothing is known */
    int64_t runs_row; /* that the first run begins with; not after `begin` */
};

/** The product of rows with one contiguous vector (x_row = 1), in vectors of the processor: a table by dtype, or NULL
 *  where it has none that are wide enough. */
typedef void (*cpu_rows_fn)(const struct rows *r, bool is_32);
const cpu_rows_fn *cpu_lanes(void);
extern const cpu_rows_fn cpu_lanes_by_gathers[]; /* one of its answers */

#ifdef __cplusplus
}
#endif
#endif
