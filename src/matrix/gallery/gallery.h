/* What the generators of the gallery share: their parameters, and one way to make a matrix from a function of its
 * rows. */
#ifndef TRINE_MATRIX_GALLERY_GALLERY_H
#define TRINE_MATRIX_GALLERY_GALLERY_H

#include "matrix/matrix.h"

enum { GALLERY_MAX_PARAMETERS = 12 };

/** One call of trine_matrix_gallery. */
typedef struct {
    trine_context ctx;
    trine_dtype dtype;
    const char *name;             /* of the entry, for sentences */
    int n_parameters;
    struct {
        const char *key;          /* points into the entry's parameters, key_length long */
        int key_length;
        double value;             /* of a choice: its position in the list */
    } parameter[GALLERY_MAX_PARAMETERS];
    trine_matrix A;               /* the result of gallery_rows */
} gallery;

/** The value of a parameter that the entry's table row has. */
double gallery_real(const gallery *g, const char *key);
/** The same for an integer; TRINE_ERR_ARGUMENT unless min <= value <= max. */
trine_status gallery_integer(const gallery *g, const char *key, int64_t min, int64_t max, int64_t *value);
/** TRINE_ERR_ARGUMENT unless count fits the 32-bit indices. */
trine_status gallery_check_order(const gallery *g, double count);

/** Write row i: its columns, ascending, and its values; return how many. columns NULL: only count. Called in
 *  parallel. */
typedef int64_t (*gallery_row_fn)(const void *state, int64_t i, int32_t *columns, double *values);
/** Make the n x n matrix g->A: count all rows, allocate, write all rows, each converted to g's dtype. */
trine_status gallery_rows(gallery *g, int64_t n, gallery_row_fn row, const void *state);

/** Number `counter` of the stream `seed`, in (0,1): splitmix64 of seed * 0x100000001B3 + counter, its upper 53 bits. */
static inline double gallery_uniform(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed * 0x100000001B3u + counter + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

/* The generators; what each makes is said in the table of gallery/gallery.c and at its definition. */
typedef trine_status (*gallery_make_fn)(gallery *g);
trine_status gallery_laplace2d(gallery *g);
trine_status gallery_laplace2d_hole(gallery *g);
trine_status gallery_laplace2d9(gallery *g);
trine_status gallery_aniso1(gallery *g);
trine_status gallery_aniso2(gallery *g);
trine_status gallery_aniso3(gallery *g);
trine_status gallery_rotate7(gallery *g);
trine_status gallery_rotate9(gallery *g);
trine_status gallery_grounded2d(gallery *g);
trine_status gallery_laplace3d(gallery *g);
trine_status gallery_laplace3d27(gallery *g);
trine_status gallery_convection3d(gallery *g);
trine_status gallery_transport15(gallery *g);
trine_status gallery_elasticity3d(gallery *g);
trine_status gallery_random_triangular(gallery *g);
trine_status gallery_powerlaw(gallery *g);
trine_status gallery_diagonal(gallery *g);
trine_status gallery_chain(gallery *g);
trine_status gallery_arrow(gallery *g);
trine_status gallery_block_diagonal(gallery *g);
trine_status gallery_dense_row(gallery *g);
trine_status gallery_dense_column(gallery *g);
trine_status gallery_kkt_lower(gallery *g);
trine_status gallery_hermite_beam(gallery *g);
trine_status gallery_tridiag(gallery *g);
trine_status gallery_pentadiag(gallery *g);
trine_status gallery_random_banded(gallery *g);
trine_status gallery_thesis_tridiag(gallery *g);
trine_status gallery_thesis_pentadiag(gallery *g);

#endif
