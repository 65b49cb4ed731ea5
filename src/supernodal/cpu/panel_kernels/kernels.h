/* Dense work on one panel on the CPU, compiled once for each instruction set (baseline.c, avx2.c, avx512.c) and chosen
 * at run time.
 *
 * A block of right-hand sides is stored by rows, `cols` columns wide: entry (i, j) at [i * cols + j]. cols is 1, or
 * a multiple of PANEL_VECTOR bytes' worth: such blocks are worked on in whole vectors, several rows at a time, sums
 * in registers. */
#ifndef TRINE_SUPERNODAL_CPU_PANEL_KERNELS_KERNELS_H
#define TRINE_SUPERNODAL_CPU_PANEL_KERNELS_KERNELS_H

#include <trine/core.h>

enum {
    PANEL_VECTOR = 64,      /* bytes; a row of several right-hand sides is a multiple of it */
    PANEL_MOST_BYTES = 256  /* bytes of the widest row */
};

/** A panel of `width` columns and `height` rows, column-major with leading dimension ld. rows: where row r of the
 *  panel is in a vector; the first `width` are consecutive. Rows from `own` on are kept apart in forward solves. */
typedef struct {
    const void *values;
    const int32_t *rows;
    int64_t ld, width, height, own;
} panel_view;

/** One precision. All values are of the same type. */
struct panel_kernels {
    /** Forward solve with one panel: x := L_ss^-1 x for its columns in t, then L_off x is subtracted from t at the
     *  rows below, from `above` where they are rows own.. of the panel. u: room for `height` rows. */
    void (*push)(const panel_view *p, void *t, void *above, void *u, int cols);
    /** Backward solve with one panel: x := L_ss^-T (x - L_off^T t_rows). */
    void (*pull)(const panel_view *p, void *t, void *u, int cols);

    /** Columns a..e-1 of the triangle: x(a..e) := L^-1 x(a..e), where x(0) belongs to the panel's first column. */
    void (*solve)(const void *P, int64_t ld, int64_t a, int64_t e, void *x, int cols);
    /** The same with the transposed triangle. */
    void (*solve_transposed)(const void *P, int64_t ld, int64_t a, int64_t e, void *x, int cols);
    /** out(r) -= sum over c in a..e-1 of P(r,c) x(c) for rows r0..r1-1; with a row list, out(rows[r]). */
    void (*update)(const void *P, int64_t ld, int64_t r0, int64_t r1, int64_t a, int64_t e, const void *x, void *out,
                   const int32_t *rows, int cols);
    /** out(c) -= sum over r in r0..r1-1 of P(r,c) g(r) for columns c0..c1-1. */
    void (*update_transposed)(const void *P, int64_t ld, int64_t c0, int64_t c1, int64_t r0, int64_t r1, const void *g,
                              void *out, int cols);
};

/** Indexed by dtype. */
const struct panel_kernels *panel_kernels_for(trine_dtype t);

extern const struct panel_kernels panel_kernels_baseline[], panel_kernels_avx2[], panel_kernels_avx512[];

#endif
