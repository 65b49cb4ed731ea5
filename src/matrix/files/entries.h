/* The entries of a file in its own order, and the matrix made of them; seen by src/matrix only. */
#ifndef TRINE_MATRIX_FILES_ENTRIES_H
#define TRINE_MATRIX_FILES_ENTRIES_H

#include "matrix/matrix.h"
#include "matrix/files/text.h"

/** Entry k is values[k] at (rows[k], cols[k]), 0-based and in range. A symmetry other than TRINE_GENERAL: square,
 *  one triangle only, the upper one if `upper`. */
struct entries {
    int64_t n_rows, n_cols, count;
    int32_t *rows, *cols;
    void *values;           /* NULL: a pattern */
    trine_symmetry symmetry;
    bool upper;
};
void entries_free(trine_context ctx, struct entries *e);

/** The sorted CSR matrix of e with both triangles, duplicates summed in the order of the file and logged under the name
 *  `path`; a pattern gets its documented values. O(n + nnz). */
trine_status entries_to_matrix(trine_context ctx, trine_matrix *A, trine_dtype t, const struct entries *e,
                               const char *path);

/** Readers: the entries of a text; complex values need a complex t (TRINE_ERR_ARGUMENT). e is empty after a failure. */
bool market_is(const struct text *text);
trine_status market_read(const struct text *text, trine_dtype t, struct entries *e);
/** Rutherford-Boeing and assembled Harwell-Boeing files. */
bool boeing_is(const struct text *text);
trine_status boeing_read(const struct text *text, trine_dtype t, struct entries *e);
/** A Matrix Market file as a dense column-major block, which belongs to the caller; NaN and Inf are accepted. */
trine_status market_read_dense(const struct text *text, trine_dtype t, void **data, int64_t *rows, int64_t *cols);

#endif
