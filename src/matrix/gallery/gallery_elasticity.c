/* Linear elasticity on a brick of cubes. */
#include <limits.h>

#include "matrix/gallery/gallery.h"

typedef struct {
    int64_t nodes[3];           /* in x, y, z */
    double lambda, mu, spring;  /* Lame's constants; stiffness of the foundation under the face x = 0 */
} elasticity;

/* On a grid that is a product of lines, the assembled integrals over products of hat functions are products of the
 * assembled integrals on the lines: node p of a line of m nodes against node q = p + step, step = -1, 0 or 1. */
static double mass(int64_t p, int64_t m, int step) /* of phi_p phi_q */
{
    if (step) return 1.0 / 6;
    return ((p > 0) + (p < m - 1)) / 3.0;
}
static double stiffness(int64_t p, int64_t m, int step) /* of phi_p' phi_q' */
{
    if (step) return -1;
    return (p > 0) + (p < m - 1);
}
static double slope(int64_t p, int64_t m, int step) /* of phi_p' phi_q; phi_p phi_q' is its negative but for step = 0 */
{
    if (step) return -0.5 * step;
    return ((p > 0) - (p < m - 1)) * 0.5;
}
static double slope_transposed(int64_t p, int64_t m, int step) { return slope(p + step, m, -step); }

/** The integral of d_a N_p d_b N_q over the brick. */
static double gradients(const elasticity *e, const int64_t p[3], const int step[3], int a, int b)
{
    double product = 1;
    for (int d = 0; d < 3; d++) {
        const int64_t m = e->nodes[d];
        if (d == a && d == b) product *= stiffness(p[d], m, step[d]);
        else if (d == a) product *= slope(p[d], m, step[d]);
        else if (d == b) product *= slope_transposed(p[d], m, step[d]);
        else product *= mass(p[d], m, step[d]);
    }
    return product;
}

/** Coupling of displacement a at node p with displacement b at node q:
 *  integral of lambda d_a N_p d_b N_q + mu d_b N_p d_a N_q + (a == b) mu grad N_p . grad N_q. */
static double coupling(const elasticity *e, const int64_t p[3], const int step[3], int a, int b)
{
    double value = e->lambda * gradients(e, p, step, a, b) + e->mu * gradients(e, p, step, b, a);
    if (a == b)
        value += e->mu * (gradients(e, p, step, 0, 0) + gradients(e, p, step, 1, 1) + gradients(e, p, step, 2, 2));
    return value;
}

/** The share of the face x = 0 that belongs to its node (0, y, z), in element faces. */
static double face_area(const elasticity *e, int64_t y, int64_t z)
{
    return ((y > 0) + (y < e->nodes[1] - 1)) * ((z > 0) + (z < e->nodes[2] - 1)) * 0.25;
}

static int64_t elasticity_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const elasticity *e = state;
    const int64_t *m = e->nodes, node = i / 3;
    const int64_t p[3] = {node % m[0], node / m[0] % m[1], node / m[0] / m[1]};
    const int a = (int)(i % 3);
    int64_t count = 0;
    for (int dz = -(p[2] > 0); dz <= (p[2] < m[2] - 1); dz++)
        for (int dy = -(p[1] > 0); dy <= (p[1] < m[1] - 1); dy++)
            for (int dx = -(p[0] > 0); dx <= (p[0] < m[0] - 1); dx++)
                for (int b = 0; b < 3; b++, count++)
                    if (columns) {
                        const int step[3] = {dx, dy, dz};
                        const int64_t column = 3 * (node + dx + m[0] * (dy + m[1] * dz)) + b;
                        columns[count] = (int32_t)column;
                        values[count] = coupling(e, p, step, a, b);
                        if (column == i && p[0] == 0) values[count] += e->spring * face_area(e, p[1], p[2]);
                    }
    return count;
}

/** Linear elasticity, -div sigma(u) = f, on nx x ny x nz unit cubes with 8 nodes each, trilinear functions, exact
 *  integration (Zienkiewicz and Taylor, The Finite Element Method, vol. 1). Node-major unknowns (u_x, u_y, u_z of
 *  node 0, ...), x fastest. All (nx+1)(ny+1)(nz+1) nodes are kept, and every 3 x 3 block in full: 9
 *  (3nx+1)(3ny+1)(3nz+1) entries, some of them 0. The brick rests on springs instead of having fixed nodes: on the
 *  face x = 0 traction = -spring u, lumped to the nodes, which adds spring * (area of the node) to three diagonal
 *  entries and makes the matrix positive definite. 20 x 20 x 20 has the 27,783 unknowns and the 73.5 entries a row
 *  of A_20x20x20 in Yamazaki, Rajamanickam, Ellingwood (ICPP 2020), Figure 11. */
trine_status gallery_elasticity3d(gallery *g)
{
    static const char *const keys[] = {"nx", "ny", "nz"};
    trine_status status = TRINE_SUCCESS;
    elasticity e;
    for (int d = 0; d < 3; d++) {
        TRY(gallery_integer(g, keys[d], 1, INT_MAX - 1, &e.nodes[d]));
        e.nodes[d]++;
    }
    const double order = 3.0 * (double)e.nodes[0] * (double)e.nodes[1] * (double)e.nodes[2];
    TRY(gallery_check_order(g, order));
    const double E = gallery_real(g, "E"), nu = gallery_real(g, "nu");
    e.spring = gallery_real(g, "spring");
    if (!(E > 0)) FAIL(TRINE_ERR_ARGUMENT, "%s: Young's modulus E = %g is not positive", g->name, E);
    if (!(nu > -1 && nu < 0.5))
        FAIL(TRINE_ERR_ARGUMENT, "%s: Poisson's ratio nu = %g is not between -1 and 0.5", g->name, nu);
    if (!(e.spring >= 0)) FAIL(TRINE_ERR_ARGUMENT, "%s: spring = %g is negative", g->name, e.spring);
    e.lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    e.mu = E / (2 * (1 + nu));
    TRY(gallery_rows(g, (int64_t)order, elasticity_row, &e));
done:
    return status;
}
