/* Small structures with known dependencies, a beam, and the lower triangle of an optimization problem. */
#include <limits.h>

#include "matrix/gallery/gallery.h"

/* ------------------------------------------------------ triangular structures */

typedef struct {
    int64_t n;
    bool upper;
} triangle;

static trine_status read_triangle(const gallery *g, triangle *s)
{
    s->upper = gallery_real(g, "uplo") == 1;
    return gallery_integer(g, "n", 0, INT_MAX, &s->n);
}

/** Append an entry; columns NULL only counts. */
static void put(int64_t *count, int32_t *columns, double *values, int64_t column, double value)
{
    if (columns) {
        columns[*count] = (int32_t)column;
        values[*count] = value;
    }
    ++*count;
}

static int64_t diagonal_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    (void)state;
    int64_t count = 0;
    put(&count, columns, values, i, (double)(1 + i % 7));
    return count;
}

/** diag(1, 2, ..., 7, 1, ...): one level set. */
trine_status gallery_diagonal(gallery *g)
{
    int64_t n;
    trine_status status = gallery_integer(g, "n", 0, INT_MAX, &n);
    return status ? status : gallery_rows(g, n, diagonal_row, NULL);
}

static int64_t chain_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const triangle *s = state;
    int64_t count = 0;
    if (!s->upper && i > 0) put(&count, columns, values, i - 1, -1);
    put(&count, columns, values, i, 2);
    if (s->upper && i < s->n - 1) put(&count, columns, values, i + 1, -1);
    return count;
}

/** Bidiagonal, 2 and -1: n level sets of one row each. */
trine_status gallery_chain(gallery *g)
{
    triangle s;
    trine_status status = read_triangle(g, &s);
    return status ? status : gallery_rows(g, s.n, chain_row, &s);
}

static int64_t dense_row_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const triangle *s = state;
    int64_t count = 0;
    if (i != (s->upper ? 0 : s->n - 1)) put(&count, columns, values, i, 2);
    else
        for (int64_t j = 0; j < s->n; j++) put(&count, columns, values, j, j == i ? 2 : -1.0 / (double)s->n);
    return count;
}

/** Diagonal 2 and the last row (upper: the first) full of -1/n: 2 level sets, the second one row of n entries. */
trine_status gallery_dense_row(gallery *g)
{
    triangle s;
    trine_status status = read_triangle(g, &s);
    return status ? status : gallery_rows(g, s.n, dense_row_row, &s);
}

static int64_t dense_column_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const triangle *s = state;
    int64_t count = 0;
    if (!s->upper && i > 0) put(&count, columns, values, 0, -1.0 / (double)s->n);
    put(&count, columns, values, i, 2);
    if (s->upper && i < s->n - 1) put(&count, columns, values, s->n - 1, -1.0 / (double)s->n);
    return count;
}

/** Diagonal 2 and the first column (upper: the last) full of -1/n: 2 level sets, the first one row that n - 1 wait
 *  for. */
trine_status gallery_dense_column(gallery *g)
{
    triangle s;
    trine_status status = read_triangle(g, &s);
    return status ? status : gallery_rows(g, s.n, dense_column_row, &s);
}

/** Dense rows and columns head..head + width - 1. */
typedef struct { int64_t n, width, head; } arrow;

static int64_t arrow_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const arrow *s = state;
    const double spoke = -1.0 / (double)s->n;
    const int64_t end = s->head + s->width;
    int64_t count = 0;
    if (i >= s->head && i < end)
        for (int64_t j = 0; j < s->n; j++) put(&count, columns, values, j, j == i ? 2 : spoke);
    else {
        if (i >= end)
            for (int64_t j = s->head; j < end; j++) put(&count, columns, values, j, spoke);
        put(&count, columns, values, i, 2);
        if (i < s->head)
            for (int64_t j = s->head; j < end; j++) put(&count, columns, values, j, spoke);
    }
    return count;
}

/** Diagonal 2 and `width` rows and columns full of -1/n, symmetric positive definite: with head=last its Cholesky
 *  factor has no fill, with head=first it is full. */
trine_status gallery_arrow(gallery *g)
{
    arrow s;
    trine_status status = gallery_integer(g, "n", 0, INT_MAX, &s.n);
    if (!status) status = gallery_integer(g, "width", 0, INT_MAX, &s.width);
    if (status) return status;
    if (s.width > s.n) s.width = s.n;
    s.head = gallery_real(g, "head") == 1 ? 0 : s.n - s.width;
    return gallery_rows(g, s.n, arrow_row, &s);
}

static int64_t block_diagonal_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const int64_t size = *(const int64_t *)state, first = i - i % size;
    int64_t count = 0;
    for (int64_t j = first; j < first + size; j++) put(&count, columns, values, j, j == i ? 2 : -1.0 / (double)size);
    return count;
}

/** Dense diagonal blocks, 2 on the diagonal and -1/size beside it, symmetric positive definite: `size` level sets of
 *  `blocks` rows in either triangle. */
trine_status gallery_block_diagonal(gallery *g)
{
    int64_t blocks, size;
    trine_status status = gallery_integer(g, "blocks", 0, INT_MAX, &blocks);
    if (!status) status = gallery_integer(g, "size", 1, INT_MAX, &size);
    if (!status) status = gallery_check_order(g, (double)blocks * (double)size);
    return status ? status : gallery_rows(g, blocks * size, block_diagonal_row, &size);
}

/* ---------------------------------------------------------------------- beam */

typedef struct {
    int64_t elements;
    double EI, h;
} beam;

static int64_t beam_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const beam *s = state;
    /* row 2k - 1: deflection of node k; 2k and, at the end, 2m - 1: rotation */
    const int64_t m = s->elements, node = (i + 1) / 2;
    const bool rotation = i % 2 == 0 || i == 2 * m - 1;
    const double uu = 12 * s->EI / (s->h * s->h * s->h), ur = 6 * s->EI / (s->h * s->h), rr = 2 * s->EI / s->h;
    const bool ends = node == 0 || node == m;
    int64_t count = 0;
    for (int64_t k = node - 1; k <= node + 1; k++) {
        if (k < 0 || k > m) continue;
        const double side = (double)(k - node); /* -1, 0, 1 */
        if (k > 0 && k < m) { /* the deflection of node k */
            if (rotation && side != 0) put(&count, columns, values, 2 * k - 1, -side * ur);
            else if (!rotation) put(&count, columns, values, 2 * k - 1, side == 0 ? 2 * uu : -uu);
        }
        const int64_t column = k < m ? 2 * k : 2 * m - 1;
        if (rotation) put(&count, columns, values, column, side != 0 ? rr : ends ? 2 * rr : 4 * rr);
        else if (side != 0) put(&count, columns, values, column, side * ur);
    }
    return count;
}

/** Bending stiffness of a beam of length L and stiffness EI in `elements` equal cubic Hermite elements, h = L /
 *  elements: EI/h^3 [12 6h -12 6h; 6h 4h^2 -6h 2h^2; -12 -6h 12 -6h; 6h 2h^2 -6h 4h^2]. Deflection is fixed at both
 *  ends, rotation is free: n = 2 elements, unknowns by nodes, deflection before rotation; couplings that cancel
 *  inside are not stored: 10 elements - 8 entries. 9999 elements with the default constants: LF10000 of the
 *  SuiteSparse collection (model reduction, Oberwolfach). Condition grows like elements^4. */
trine_status gallery_hermite_beam(gallery *g)
{
    beam s = {.EI = gallery_real(g, "EI")};
    const double length = gallery_real(g, "L");
    trine_status status = gallery_integer(g, "elements", 2, INT_MAX / 2, &s.elements);
    if (status) return status;
    REQUIRE(s.EI > 0, "%s: EI = %g is not positive", g->name, s.EI);
    REQUIRE(length > 0, "%s: L = %g is not positive", g->name, length);
    s.h = length / (double)s.elements;
    return gallery_rows(g, 2 * s.elements, beam_row, &s);
}

/* ----------------------------------------------- lower triangle of a KKT system */

/** Number of the point (x, y, z), coordinates 0..n+1, of the cube without its edges and corners. */
static int64_t hull_index(int64_t n, int64_t x, int64_t y, int64_t z)
{
    const int64_t face = n * n, slice = n * n + 4 * n;
    if (z == 0) return (y - 1) * n + x - 1;
    if (z == n + 1) return face + n * slice + (y - 1) * n + x - 1;
    const int64_t at = face + (z - 1) * slice;
    if (y == 0) return at + x - 1;
    if (y == n + 1) return at + n + n * (n + 2) + x - 1;
    return at + n + (y - 1) * (n + 2) + x;
}

static int64_t kkt_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const int64_t n = *(const int64_t *)state, hull = n * n * n + 6 * n * n;
    int64_t count = 0;
    if (i >= hull) {
        const int64_t point = i - hull, x = 1 + point % n, y = 1 + point / n % n, z = 1 + point / n / n;
        for (int64_t cz = z - 1; cz <= z + 1; cz++)
            for (int64_t cy = y - 1; cy <= y + 1; cy++)
                for (int64_t cx = x - 1; cx <= x + 1; cx++) {
                    const int outside = (cx < 1 || cx > n) + (cy < 1 || cy > n) + (cz < 1 || cz > n);
                    if (outside < 2)
                        put(&count, columns, values, hull_index(n, cx, cy, cz),
                            cx == x && cy == y && cz == z ? 1 : -1.0 / 26);
                }
    }
    put(&count, columns, values, i, 1);
    return count;
}

/** The pattern of the lower triangle of nlpkkt160 (Schenk, Waechter, Weiser): [D 0; B I] with D of order n^3 + 6
 *  n^2, one row for each point of an (n+2)^3 grid without its edges and corners, and B the 27-point rows of its n^3
 *  inner points. 2 level sets, 29 n^3 + 6 n^2 - 36 n + 16 entries: 118,931,856 of 8,345,600 rows for n = 160 (Liu et
 *  al. 2017, Table III). Values are others: D = I, B has 1 in the centre and -1/26. */
trine_status gallery_kkt_lower(gallery *g)
{
    int64_t n;
    trine_status status = gallery_integer(g, "n", 1, 1290, &n);
    if (status) return status;
    status = gallery_check_order(g, 2.0 * (double)n * (double)n * (double)n + 6.0 * (double)n * (double)n);
    return status ? status : gallery_rows(g, 2 * n * n * n + 6 * n * n, kkt_row, &n);
}
