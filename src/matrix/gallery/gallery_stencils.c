/* Stencils on grids with zero boundary values: what reaches outside the grid is dropped. Unknowns are numbered with x
 * fastest, then y, then z. */
#include <limits.h>

#include "core/scalar.h"
#include "matrix/gallery/gallery.h"

enum { STENCIL_MAX = 27 };

typedef struct {
    int64_t nx, ny, nz;
    int64_t hole;    /* the grid point that is left out, or -1 */
    int points;
    struct {
        int dx, dy, dz;
        double value;
    } point[STENCIL_MAX]; /* ascending in (dz, dy, dx), so that columns ascend */
} stencil;

static void add(stencil *s, int dx, int dy, int dz, double value)
{
    s->point[s->points].dx = dx;
    s->point[s->points].dy = dy;
    s->point[s->points].dz = dz;
    s->point[s->points++].value = value;
}

static bool inside(int64_t x, int64_t n) { return x >= 0 && x < n; }

static int64_t stencil_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const stencil *s = state;
    const bool skip = s->hole >= 0;
    const int64_t point = i + (skip && i >= s->hole);
    const int64_t x = point % s->nx, y = point / s->nx % s->ny, z = point / s->nx / s->ny;
    int64_t count = 0;
    for (int k = 0; k < s->points; k++) {
        const int64_t cx = x + s->point[k].dx, cy = y + s->point[k].dy, cz = z + s->point[k].dz;
        if (!inside(cx, s->nx) || !inside(cy, s->ny) || !inside(cz, s->nz)) continue;
        const int64_t column = cx + s->nx * (cy + s->ny * cz);
        if (column == s->hole) continue;
        if (columns) {
            columns[count] = (int32_t)(column - (skip && column > s->hole));
            values[count] = s->point[k].value;
        }
        count++;
    }
    return count;
}

/** Read nx, ny and, if dimensions is 3, nz. */
static trine_status read_grid(const gallery *g, int dimensions, stencil *s)
{
    trine_status status = TRINE_SUCCESS;
    *s = (stencil){.nz = 1, .hole = -1};
    TRY(gallery_integer(g, "nx", 1, INT_MAX, &s->nx));
    TRY(gallery_integer(g, "ny", 1, INT_MAX, &s->ny));
    if (dimensions == 3) TRY(gallery_integer(g, "nz", 1, INT_MAX, &s->nz));
    TRY(gallery_check_order(g, (double)s->nx * (double)s->ny * (double)s->nz));
done:
    return status;
}

static trine_status make_stencil(gallery *g, const stencil *s)
{
    return gallery_rows(g, s->nx * s->ny * s->nz - (s->hole >= 0), stencil_row, s);
}

/** 3 x 3 coefficients as they are printed: the first row is y + 1. */
static trine_status make_9point(gallery *g, const double c[9])
{
    stencil s;
    trine_status status = read_grid(g, 2, &s);
    if (status) return status;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) add(&s, dx, dy, 0, c[3 * (1 - dy) + dx + 1]);
    return make_stencil(g, &s);
}

/* ---------------------------------------------------------- two dimensions */

static void add_5point(stencil *s)
{
    add(s, 0, -1, 0, -1);
    add(s, -1, 0, 0, -1);
    add(s, 0, 0, 0, 4);
    add(s, 1, 0, 0, -1);
    add(s, 0, 1, 0, -1);
}

/** -u_xx - u_yy, central differences, times h^2: 4 and -1. 5 nx ny - 2 nx - 2 ny entries. Symmetric positive definite,
 *  eigenvalues 4 - 2 cos(p pi / (nx+1)) - 2 cos(q pi / (ny+1)). 1000 x 1000 has the pattern of ECOLOGY1 and is
 *  MODEL8 of Klein (Algebraic, Block and Multiplicative Preconditioners based on Fast Tridiagonal Solves on GPUs,
 *  thesis, Heidelberg; here "the thesis"), Table 17. */
trine_status gallery_laplace2d(gallery *g)
{
    stencil s;
    trine_status status = read_grid(g, 2, &s);
    if (status) return status;
    add_5point(&s);
    return make_stencil(g, &s);
}

/** The 5-point stencil without the grid point (nx/2, ny/2). */
static trine_status read_grid_with_hole(const gallery *g, stencil *s)
{
    const trine_status status = read_grid(g, 2, s);
    add_5point(s);
    s->hole = s->nx / 2 + s->nx * (s->ny / 2);
    return status;
}

/** The same without the grid point (nx/2, ny/2): the pattern of ECOLOGY2 for 1000 x 1000. */
trine_status gallery_laplace2d_hole(gallery *g)
{
    stencil s;
    trine_status status = read_grid_with_hole(g, &s);
    if (status) return status;
    return make_stencil(g, &s);
}

/** Bilinear finite elements for -u_xx - u_yy on squares, times 3: 8 and -1. (3nx-2)(3ny-2) entries. */
trine_status gallery_laplace2d9(gallery *g)
{
    return make_9point(g, (const double[]){-1, -1, -1, -1, 8, -1, -1, -1, -1});
}

/* ANISO1 to ANISO3 of the thesis, section 4.5 and Table 14 (2500 x 2500: 56,220,004 entries) and section 5.3.2 (1200
 * x 1200). */
static const double aniso1[] = {-0.2, -0.1, -0.2, -1.0, 3.0, -1.0, -0.2, -0.1, -0.2};
static const double aniso2[] = {-0.1, -0.2, -1.0, -0.2, 3.0, -0.2, -1.0, -0.2, -0.1};
trine_status gallery_aniso1(gallery *g) { return make_9point(g, aniso1); }
trine_status gallery_aniso2(gallery *g) { return make_9point(g, aniso2); }

/* ANISO3: the unknowns of ANISO2 numbered along the diagonals x - y = const, on which the coefficients -1 lie. */
typedef struct {
    int64_t nx, ny;
    int64_t *start; /* of diagonal x - y = d at [d + ny - 1], and the end */
} diagonals;

static int64_t first_x(int64_t d) { return d > 0 ? d : 0; }

static int64_t aniso3_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const diagonals *s = state;
    int64_t low = 0, high = s->nx + s->ny - 2; /* the diagonal of i */
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (s->start[middle] <= i) low = middle;
        else high = middle - 1;
    }
    const int64_t d = low - (s->ny - 1), x = first_x(d) + i - s->start[low], y = x - d;
    int64_t count = 0;
    for (int dd = -2; dd <= 2; dd++)
        for (int dx = -1; dx <= 1; dx++) {
            const int dy = dx - dd;
            if (dy < -1 || dy > 1 || !inside(x + dx, s->nx) || !inside(y + dy, s->ny)) continue;
            if (columns) {
                columns[count] = (int32_t)(s->start[low + dd] + x + dx - first_x(d + dd));
                values[count] = aniso2[3 * (1 - dy) + dx + 1];
            }
            count++;
        }
    return count;
}

trine_status gallery_aniso3(gallery *g)
{
    trine_context ctx = g->ctx;
    stencil grid;
    diagonals s = {.start = NULL};
    trine_status status = TRINE_SUCCESS;
    TRY(read_grid(g, 2, &grid));
    s.nx = grid.nx;
    s.ny = grid.ny;
    TRY(ALLOC(ctx, s.start, s.nx + s.ny));
    s.start[0] = 0;
    for (int64_t d = 1 - s.ny; d < s.nx; d++) {
        const int64_t x = first_x(d), y = x - d, in_x = s.nx - x, in_y = s.ny - y, k = d + s.ny - 1;
        s.start[k + 1] = s.start[k] + (in_x < in_y ? in_x : in_y);
    }
    TRY(gallery_rows(g, s.nx * s.ny, aniso3_row, &s));
done:
    trine_free(ctx, TRINE_HOST, s.start);
    return status;
}

/** hypre's rotated anisotropic 7-point stencil (GenerateRotate7pt; MODEL4 of the thesis's Table 17): diffusion 1 in the
 *  direction of alpha degrees, eps across, with s = sin alpha, c = cos alpha, a = -(c^2 + eps s^2), b = 2 (1 - eps)
 *  s c, d = -(s^2 + eps c^2): x neighbours 2a + b, y neighbours 2d + b, (1,1) and (-1,-1) -b, centre -2 (2a + b +
 *  2d). */
trine_status gallery_rotate7(gallery *g)
{
    stencil s;
    trine_status status = read_grid(g, 2, &s);
    if (status) return status;
    const double angle = gallery_real(g, "alpha") * 3.14159265358979323846 / 180, eps = gallery_real(g, "eps");
    REQUIRE(eps > 0, "%s: eps = %g is not positive", g->name, eps);
    const double sine = sin(angle), cosine = cos(angle);
    const double a = -(cosine * cosine + eps * sine * sine), b = 2 * (1 - eps) * sine * cosine,
                 d = -(sine * sine + eps * cosine * cosine);
    add(&s, -1, -1, 0, -b);
    add(&s, 0, -1, 0, 2 * d + b);
    add(&s, -1, 0, 0, 2 * a + b);
    add(&s, 0, 0, 0, -2 * (2 * a + b + 2 * d));
    add(&s, 1, 0, 0, 2 * a + b);
    add(&s, 0, 1, 0, 2 * d + b);
    add(&s, 1, 1, 0, -b);
    return make_stencil(g, &s);
}

/** Diffusion K = R diag(1, eps) R^T, 1 in the direction of alpha degrees, by bilinear finite elements on squares, zero
 *  boundary values: with one-dimensional stiffness (-1, 2, -1) and mass (1, 4, 1)/6 the coefficient of (dx,dy) is kxx
 *  S(dx) M(dy) + kyy M(dx) S(dy) - kxy dx dy / 2. In the manner of MODEL3 and MODEL7 (alpha = 0) of the thesis's Table
 *  17, whose coefficients are not known. */
trine_status gallery_rotate9(gallery *g)
{
    static const double stiffness[] = {-1, 2, -1}, mass[] = {1. / 6, 4. / 6, 1. / 6};
    stencil s;
    trine_status status = read_grid(g, 2, &s);
    if (status) return status;
    const double angle = gallery_real(g, "alpha") * 3.14159265358979323846 / 180, eps = gallery_real(g, "eps");
    REQUIRE(eps > 0, "%s: eps = %g is not positive", g->name, eps);
    const double sine = sin(angle), cosine = cos(angle);
    const double kxx = cosine * cosine + eps * sine * sine, kyy = sine * sine + eps * cosine * cosine,
                 kxy = (1 - eps) * sine * cosine;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            add(&s, dx, dy, 0,
                kxx * stiffness[dx + 1] * mass[dy + 1] + kyy * mass[dx + 1] * stiffness[dy + 1] - kxy * dx * dy / 2);
    return make_stencil(g, &s);
}

/** The Laplacian of the graph of an nx x ny grid, without the row and column of the point (nx/2, ny/2), which is held
 *  at zero: -1, and on the diagonal the point's degree in the whole grid. Symmetric positive definite; the one point
 *  makes the smallest eigenvalue, so it is hard for what looks at neighbours only. What ECOLOGY2 is believed to be. */
static int64_t grounded2d_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const stencil *s = state;
    const int64_t count = stencil_row(s, i, columns, values);
    if (!columns) return count;
    const int64_t point = i + (i >= s->hole), x = point % s->nx, y = point / s->nx;
    const int degree = (x > 0) + (x + 1 < s->nx) + (y > 0) + (y + 1 < s->ny);
    for (int64_t k = 0; k < count; k++)
        if (columns[k] == i) values[k] = degree;
    return count;
}

trine_status gallery_grounded2d(gallery *g)
{
    stencil s;
    trine_status status = read_grid_with_hole(g, &s);
    if (status) return status;
    return gallery_rows(g, s.nx * s.ny - 1, grounded2d_row, &s);
}

/* -------------------------------------------------------- three dimensions */

/** The 7-point stencil with coefficients of the neighbours before and after in x, y, z; the centre makes the sum 0. */
static trine_status make_7point(gallery *g, const double before[3], const double after[3])
{
    stencil s;
    trine_status status = read_grid(g, 3, &s);
    if (status) return status;
    for (int d = 2; d >= 0; d--) add(&s, -(d == 0), -(d == 1), -(d == 2), before[d]);
    add(&s, 0, 0, 0, -(before[0] + before[1] + before[2] + after[0] + after[1] + after[2]));
    for (int d = 0; d < 3; d++) add(&s, d == 0, d == 1, d == 2, after[d]);
    return make_stencil(g, &s);
}

/** -Laplace u, central differences, times h^2: 6 and -1. n + 2 ((nx-1) ny nz + nx (ny-1) nz + nx ny (nz-1)) entries. */
trine_status gallery_laplace3d(gallery *g)
{
    return make_7point(g, (const double[]){-1, -1, -1}, (const double[]){-1, -1, -1});
}

/** -Laplace u + (cx, cy, cz) . grad u, upwind differences, times h^2 (c is velocity times h): -1 - max(c,0) before,
 *  -1 - max(-c,0) after. Unsymmetric, weakly diagonally dominant M-matrix. 148 x 148 x 58 has the pattern of
 *  ATMOSMODD and ATMOSMODJ, 198 x 198 x 38 that of ATMOSMODL and ATMOSMODM; their values are others. */
trine_status gallery_convection3d(gallery *g)
{
    const double c[3] = {gallery_real(g, "cx"), gallery_real(g, "cy"), gallery_real(g, "cz")};
    double before[3], after[3];
    for (int d = 0; d < 3; d++) {
        before[d] = -1 - fmax(c[d], 0);
        after[d] = -1 - fmax(-c[d], 0);
    }
    return make_7point(g, before, after);
}

/** 26 and -1 for all 26 neighbours; (3nx-2)(3ny-2)(3nz-2) entries. 100^3: MODEL2 of the thesis's Table 17 (hypre's
 *  27-point Laplacian). */
trine_status gallery_laplace3d27(gallery *g)
{
    stencil s;
    trine_status status = read_grid(g, 3, &s);
    if (status) return status;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) add(&s, dx, dy, dz, dx || dy || dz ? -1 : 26);
    return make_stencil(g, &s);
}

/** Couplings along all edges of the division of each cell into six tetrahedra around the diagonal (1,1,1) (Freudenthal,
 *  Kuhn): the 14 neighbours whose offsets are all >= 0 or all <= 0. -1 - c to the 7 before, -1 to the 7 after, 14 +
 *  7c in the centre. Unsymmetric for c != 0. 31 x 161 x 321 has n and nnz of TRANSPORT (23,500,731), whose pattern
 *  this is believed to be; its values are others. */
trine_status gallery_transport15(gallery *g)
{
    stencil s;
    trine_status status = read_grid(g, 3, &s);
    if (status) return status;
    const double c = gallery_real(g, "c");
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const bool before = dx <= 0 && dy <= 0 && dz <= 0, after = dx >= 0 && dy >= 0 && dz >= 0;
                if (before && after) add(&s, 0, 0, 0, 14 + 7 * c);
                else if (before) add(&s, dx, dy, dz, -1 - c);
                else if (after) add(&s, dx, dy, dz, -1);
            }
    return make_stencil(g, &s);
}
