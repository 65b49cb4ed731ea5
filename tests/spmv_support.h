/* What the tests of products share: patterns, matrices of them in every form that a caller may have, and products
 * beside the reference in long double. */
#ifndef TRINE_SPMV_SUPPORT_H
#define TRINE_SPMV_SUPPORT_H

#include "core/test_interface.h"
#include "elements.h"
#include "harness.h"

/** Compressed rows on the host, in long double. */
typedef struct {
    int64_t n_rows, n_cols, nnz;
    int64_t *offsets;
    int32_t *columns;
    wide *values;            /* multiples of 2^-10 below 1: exact in half precision */
} rows;
/** Patterns with empty, short and giant rows, without rows, columns or entries; NULL after the last. */
const char *pattern_name(int which);
rows make_rows(int which, trine_dtype t);
/** op(A), duplicates and all. */
rows transposed(const rows *A, trine_transpose op);
void free_rows(rows *A);

/** A matrix of these rows, with arrays of its own in the context's space. */
typedef struct {
    trine_matrix A;
    void *offsets, *indices, *values; /* values: in the order of A's entries */
} form;
form make_form(trine_context ctx, const rows *A, trine_dtype t, trine_format format, int offset_bits,
               trine_spmv_values stored);
void free_form(trine_context ctx, form *f);
/** A plan of it, with values. */
trine_spmv make_plan(trine_context ctx, const form *f, const trine_spmv_options *options);

/** |z|, faster than cabsl; for numbers whose squares are in range. */
long double magnitude(wide z);

/** What one row of op(A) x comes to, and the sum of magnitudes; length: its entries. */
typedef struct {
    wide z;
    long double m;
    int64_t length;
} row_sum;
enum { MOST_VECTORS = 33 };
/** Elements of x in the vector j. */
wide x_element(trine_dtype t, int64_t i, int64_t j);
wide y_element(trine_dtype t, int64_t i, int64_t j);
/** By the reference: row i of the vector j at [i + j * n_rows]. */
row_sum *reference_sums(const rows *op_A, trine_dtype t, int64_t vectors);

/** One product. row_end -1: all rows, by trine_spmv_apply. With alpha zero X is full of NaN, with beta zero Y is. */
typedef struct {
    trine_transpose op;
    int64_t nrhs;
    trine_layout x_layout, y_layout;
    const wide *alpha, *beta;          /* NULL: as the library takes it */
    int64_t row_begin, row_end;
    bool is_tight;                     /* no gaps between columns, or rows, of X and Y */
} question;
/** Y as it was before and the product has made it: rows of op(A) + 1 gap, for the layout, unless it is tight. */
void check_product(trine_context ctx, trine_spmv plan, trine_dtype t, const rows *op_A, const row_sum *sums,
                   const question *q, const char *what);

#endif
