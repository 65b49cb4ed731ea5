/* What the CPU keeps of one direction of solving, and how its analysis (cpu/analyse.c) makes it for the solves
 * (cpu/solve.c). */
#ifndef TRINE_TRIANGULAR_CPU_SIDE_H
#define TRINE_TRIANGULAR_CPU_SIDE_H

#include "triangular/common/gather_form.h"
#include "triangular/cpu/schedule.h"

/* What kind of row it is: its entries or, of more than MOST_SHORT, ROW_LONG; and whether the last one belongs to the
 * row just before. */
enum { MOST_SHORT = 3, ROW_LONG = 4, ROW_NEAR = 8 };
enum { MOST_NESTED = 4 };

struct cpu_side {
    struct gather_form form;     /* its columns are row numbers, by which solves read X */
    int threads;                 /* those that have cores */
    void *values;                /* form.nnz of the plan's dtype, taken by numeric */
    void *pivots;                /* form.n; reciprocals, unless `divide` */
    int64_t bad_row;             /* first row with a zero or NaN pivot, -1 if none */
    bool divide; /* a reciprocal pivot would overflow or lose digits, so pivots are kept as they are */
    bool scaled; /* every entry times its row's reciprocal pivot has all its digits */
    int step; /* order[p] = order[0] + step p, so that order need not be read; 0: rows are sorted
                 by level */
    int8_t *nested; /* nested[p] rows from position p on are solved together; NULL: each by itself */
    uint8_t *kinds; /* what kind of row each is; NULL: not used */
    bool mostly_long; /* most rows are of the longest kind */
    struct task_schedule *tasks; /* who solves which rows when; NULL: one thread, one row after another */
};

static inline const struct cpu_side *side_of(const struct triangular_solve *s) { return s->part; }

/** Whether every right-hand side and solution is a column without gaps. */
static inline bool lies_in_columns(const struct triangular_solve *s) { return s->b_row == 1 && s->x_row == 1; }

/** Whether threads take right-hand sides instead of rows: there are enough for each of them. */
static inline bool cpu_shares_columns(const struct cpu_side *t, int64_t nrhs)
{
    enum { COLUMNS_A_THREAD = 16 };
    return nrhs >= COLUMNS_A_THREAD * t->threads;
}

/* In the backend's table. */
trine_status cpu_read_pattern(trine_triangular plan, trine_matrix T, void **pattern);
trine_status cpu_analyse_side(trine_triangular plan, void *pattern, int side);
void cpu_drop_pattern(trine_triangular plan, void *pattern);
void cpu_release(trine_triangular plan, struct triangular_side *side);

#endif
