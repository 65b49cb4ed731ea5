/* What consecutive rows have in common: runs of them that the loops of lanes.inc take in their own ways. */
#include "spmv/cpu/side.h"

/* Rows of a run: with fewer, the branches that differ from run to run cost more than the run saves. */
enum {
    LEAST_SHIFTED = 16,
    LEAST_SAME = 12,
    LEAST_GROUPS = 16,
    LEAST_EMPTY = 4,
    PLAIN_ROWS = 8,
    FEW_ROWS = 4,
    MOST_SAME = 4,
    NEARLY_ALL = SHORT_ROW - 2
};

/** Rows row <= . < end of a side with nnz entries, and their runs so far. */
struct finder {
    const struct spmv_side *side;
    int64_t nnz, row, end;
    cpu_run *runs;
    int64_t count;
};

static int64_t offset_of(const struct finder *f, int64_t i)
{
    return spmv_offset(f->side->offset_bits, f->side->offsets, i);
}

/** Entries of a row; -1 if its offsets are none: then nothing is read of it. */
static int64_t length_of(const struct finder *f, int64_t i)
{
    const int64_t begin = offset_of(f, i), end = offset_of(f, i + 1);
    return begin < 0 || end < begin || end > f->nnz ? -1 : end - begin;
}

/** Whether row i + 1 is there and has the columns of row i, all higher by `shift`. */
static bool is_alike(const struct finder *f, int64_t i, int64_t length, int32_t shift)
{
    if (i + 1 >= f->end || length_of(f, i + 1) != length) return false;
    const int32_t *a = f->side->columns + offset_of(f, i), *b = a + length;
    for (int64_t k = 0; k < length; k++)
        if ((uint32_t)b[k] - (uint32_t)a[k] != (uint32_t)shift) return false;
    return true;
}

/** Rows from i on that are alike, at most `most`. */
static int64_t count_alike(const struct finder *f, int64_t i, int64_t length, int32_t shift, int64_t most)
{
    int64_t rows = 1;
    while (rows < most && is_alike(f, i + rows - 1, length, shift)) rows++;
    return rows;
}

static int64_t count_empty(const struct finder *f, int64_t i)
{
    int64_t rows = 0;
    while (i + rows < f->end && length_of(f, i + rows) == 0) rows++;
    return rows;
}

/** One more run, or more of the one before. */
static void put(struct finder *f, enum run_kind kind, int64_t rows)
{
    const bool joins = kind != RUN_SHIFTED && kind < RUN_GROUPS_2; /* the others begin with columns of their own */
    const int64_t most = RUN_ROWS / 12 * 12; /* whole groups */
    while (rows > 0) {
        cpu_run *last = f->count ? &f->runs[f->count - 1] : NULL;
        int64_t there = last && joins && *last >> RUN_ROWS_BITS == (int)kind ? *last & RUN_ROWS : 0;
        if (there >= most) there = 0;
        const int64_t added = rows < most - there ? rows : most - there;
        if (there) *last = (cpu_run)(*last + added);
        else f->runs[f->count++] = cpu_run_of(kind, added);
        rows -= added;
    }
}

/** Whether to multiply the entries of rows i <= . < stop before the sums of rows begin. A vector for each row is as
 *  fast where rows nearly fill it. */
static bool are_short(const struct finder *f, int64_t i, int64_t stop)
{
    for (int64_t r = i; r < stop; r++)
        if ((uint64_t)length_of(f, r) > SHORT_ROW) return false;
    return offset_of(f, stop) - offset_of(f, i) <= (stop - i) * NEARLY_ALL;
}

/** Rows from i on of which nothing is known but their lengths. */
static void put_plain(struct finder *f, int64_t i, int64_t rows)
{
    for (const int64_t end = i + rows; i < end; i += PLAIN_ROWS) {
        const int64_t stop = end - i < PLAIN_ROWS ? end : i + PLAIN_ROWS;
        put(f, !are_short(f, i, stop) ? RUN_ANY : rows <= FEW_ROWS ? RUN_FEW : RUN_SHORT, stop - i);
    }
}

/** Rows from i on that come in groups of `same` alike rows. No more are looked at than are worth a run. */
static int64_t count_groups(const struct finder *f, int64_t i, int64_t same)
{
    int64_t rows = 0;
    while (rows < LEAST_SAME && i + rows < f->end) {
        const int64_t length = length_of(f, i + rows);
        if (length < 1 || length > LONGEST_SAME || count_alike(f, i + rows, length, 0, same) < same) break;
        rows += same;
    }
    return rows;
}

/** Rows from i on in groups of `same`, with the columns of the first group, higher by `same` from group to group. */
static int64_t count_shifted_groups(const struct finder *f, int64_t i, int64_t same, int64_t most)
{
    const int64_t length = length_of(f, i);
    int64_t rows = same;
    while (rows + same <= most && is_alike(f, i + rows - 1, length, (int32_t)same) &&
           count_alike(f, i + rows, length, 0, same) == same)
        rows += same;
    return rows;
}

/** The run that begins at row i, with its rows; RUN_ANY for rows without a run of their own. */
static int64_t find_run(const struct finder *f, int64_t i, enum run_kind *kind)
{
    const int64_t length = length_of(f, i);
    int64_t rows = 1;
    *kind = RUN_EMPTY;
    if (length == 0 && (rows = count_empty(f, i)) >= LEAST_EMPTY) return rows;
    *kind = RUN_SHIFTED;
    if (length > 0 && length <= LONGEST_SHIFTED &&
        (rows = count_alike(f, i, length, 1, f->end - i)) >= (length > FEW_ENTRIES ? LEAST_SHIFTED : 2 * LEAST_SHIFTED))
        return rows;
    *kind = RUN_ANY;
    if (rows > 1 || length <= FEW_ENTRIES || length > LONGEST_SAME) return rows;
    int64_t same = count_alike(f, i, length, 0, MOST_SAME + 2);
    if (same < 2) return 1;
    if (same > MOST_SAME) same /= 2; /* six are three and three */
    if (length >= LEAST_GROUP && (rows = count_shifted_groups(f, i, same, f->end - i)) >= LEAST_GROUPS) {
        *kind = (enum run_kind)(RUN_GROUPS_2 + same - 2);
        return rows;
    }
    rows = count_groups(f, i, same);
    if (rows >= LEAST_SAME) *kind = (enum run_kind)(RUN_SAME_2 + same - 2);
    return rows;
}

void cpu_find_runs(const struct spmv_side *side, int64_t nnz, int64_t row, int64_t end, cpu_run *runs)
{
    struct finder f = {.side = side, .nnz = nnz, .row = row, .end = end, .runs = runs};
    int64_t plain = 0; /* rows before i that are in no run yet */
    for (int64_t i = row; i < end;) {
        enum run_kind kind;
        const int64_t rows = find_run(&f, i, &kind);
        if (kind == RUN_ANY) {
            plain += rows, i += rows;
            continue;
        }
        put_plain(&f, i - plain, plain);
        plain = 0;
        put(&f, kind, rows);
        i += rows;
    }
    put_plain(&f, end - plain, plain);
}
