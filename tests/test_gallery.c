/* The gallery of generators: stencils, elasticity; the table, types, errors. */
#include "gallery_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ stencils */

static void stencils_have_the_sizes_of_the_papers(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct {
        const char *spec;
        int64_t n, nnz;
    } cases[] = {
        {"laplace2d:nx=1000,ny=1000", 1000000, 4996000},           /* ECOLOGY1 */
        {"laplace2d_hole:n=1000", 999999, 4995991},                /* ECOLOGY2 */
        {"laplace2d9:n=1001", 1002001, 9006001},                   /* MODEL3 */
        {"aniso1:n=1200", 1440000, 12945604},                      /* thesis, Table 17 */
        {"aniso3:n=1200", 1440000, 12945604},
        {"rotate7:n=1000", 1000000, 6992002},                      /* MODEL4 */
        {"rotate9:n=1001", 1002001, 9006001},                      /* MODEL7 */
        {"grounded2d:n=1000", 999999, 4995991},                    /* ECOLOGY2 */
        {"laplace3d27:n=100", 1000000, 26463592},                  /* MODEL2 */
        {"convection3d:nx=148,ny=148,nz=58", 1270432, 8814880},   /* ATMOSMODD */
        {"laplace3d:nx=198,ny=198,nz=38", 1489752, 10319760},      /* ATMOSMODL */
        {"transport15:nx=31,ny=161,nz=321", 1602111, 23500731},   /* TRANSPORT */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
#ifdef __SANITIZE_ADDRESS__ /* where the others would take a minute */
        if (cases[c].nnz > 6000000) continue;
#endif
        sparse s = make(ctx, cases[c].spec);
        assert_int_equal(s.n, cases[c].n);
        assert_int_equal(s.nnz, cases[c].nnz);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void stencils_are_sorted_and_as_symmetric_as_they_should_be(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct {
        const char *spec;
        bool symmetric, definite;
    } cases[] = {
        {"laplace2d:nx=1,ny=1", true, true},
        {"laplace2d:nx=7,ny=5", true, true},
        {"laplace2d_hole:nx=5,ny=7", true, true},
        {"laplace2d9:nx=6,ny=3", true, true},
        {"aniso1:nx=5,ny=8", true, true},
        {"aniso2:nx=8,ny=5", true, true},
        {"aniso3:nx=8,ny=5", true, true},
        {"aniso3:nx=5,ny=8", true, true},
        {"aniso3:nx=1,ny=4", true, true},
        {"aniso3:nx=1,ny=1", true, true},
        {"rotate7:nx=6,ny=7", true, true},
        {"rotate7:n=5,alpha=60,eps=0.1", true, true},
        {"rotate9:nx=6,ny=7", true, true},
        {"rotate9:n=5,alpha=120,eps=0.1", true, true},
        {"grounded2d:nx=5,ny=7", true, true},
        {"grounded2d:nx=2,ny=1", true, true},
        {"laplace3d:nx=3,ny=4,nz=5", true, true},
        {"laplace3d27:nx=3,ny=2,nz=4", true, true},
        {"convection3d:nx=3,ny=4,nz=5", false, false},
        {"convection3d:n=3,cx=0,cy=0,cz=0", true, true},
        {"transport15:nx=3,ny=4,nz=5", false, false},
        {"transport15:n=3,c=0", true, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sparse s = make(ctx, cases[c].spec);
        assert_rows_ascend(&s);
        assert_int_equal(is_symmetric(&s), cases[c].symmetric);
        if (cases[c].definite) assert_true(is_positive_definite(&s));
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void interior_rows_of_stencils_sum_to_zero(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct {
        const char *spec;
        int64_t length;
    } cases[] = {{"laplace2d:n=5", 5},    {"laplace2d9:n=5", 9},   {"aniso1:n=5", 9},      {"aniso2:n=5", 9},
                 {"aniso3:n=5", 9},       {"rotate7:n=5", 7},      {"rotate9:n=5", 9},     {"laplace3d:n=5", 7},
                 {"laplace3d27:n=5", 27}, {"convection3d:n=5", 7}, {"transport15:n=5", 15}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sparse s = make(ctx, cases[c].spec);
        int64_t full = 0;
        for (int64_t i = 0; i < s.n; i++) {
            double sum = 0, size = 0;
            for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) {
                sum += s.values[k];
                size += fabs(s.values[k]);
            }
            if (s.offsets[i + 1] - s.offsets[i] < cases[c].length) continue;
            full++;
            assert_true(fabs(sum) <= 27 * 0x1p-52 * size);
        }
        assert_int_equal(full, s.n == 25 ? 9 : 27);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void sines_are_eigenvectors_of_the_5_point_stencil(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { NX = 9, NY = 6 };
    sparse s = make(ctx, "laplace2d:nx=9,ny=6");
    for (int p = 1; p <= NX; p++)
        for (int q = 1; q <= NY; q++) {
            const double lambda = 4 - 2 * cos(p * M_PI / (NX + 1)) - 2 * cos(q * M_PI / (NY + 1));
            double v[NX * NY];
            for (int i = 0; i < NX * NY; i++)
                v[i] = sin(p * M_PI * (i % NX + 1) / (NX + 1)) * sin(q * M_PI * (i / NX + 1) / (NY + 1));
            for (int64_t i = 0; i < s.n; i++) {
                double sum = 0;
                for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) sum += s.values[k] * v[s.columns[k]];
                assert_true(fabs(sum - lambda * v[i]) <= 100 * 0x1p-52);
            }
        }
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

static void aniso3_is_a_permutation_of_aniso2_with_two_thirds_of_the_weight_beside_the_diagonal(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { NX = 7, NY = 5 };
    sparse a2 = make(ctx, "aniso2:nx=7,ny=5"), a3 = make(ctx, "aniso3:nx=7,ny=5");
    int64_t old[NX * NY], count = 0;
    for (int d = 1 - NY; d < NX; d++)
        for (int x = 0; x < NX; x++)
            if (x - d >= 0 && x - d < NY) old[count++] = x + NX * (x - d);
    assert_int_equal(count, NX * NY);
    assert_int_equal(a2.nnz, a3.nnz);
    for (int64_t i = 0; i < a3.n; i++)
        for (int64_t k = a3.offsets[i]; k < a3.offsets[i + 1]; k++)
            assert_true(a3.values[k] == at(&a2, old[i], old[a3.columns[k]]));
    OK(trine_matrix_destroy(&a2.A));
    OK(trine_matrix_destroy(&a3.A));
    /* ERRATA of the thesis: c_id of ANISO3 is 0.667; the boundary's share falls like 1/n */
    sparse s = make(ctx, "aniso3:n=300");
    double beside = 0, all = 0;
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) {
            const int64_t distance = llabs(s.columns[k] - i);
            if (distance) all += fabs(s.values[k]);
            if (distance == 1) beside += fabs(s.values[k]);
        }
    assert_true(fabs(beside / all - 2.0 / 3) < 1.0 / 300);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

static void the_hole_leaves_out_one_interior_point(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse whole = make(ctx, "laplace2d:nx=6,ny=5"), s = make(ctx, "laplace2d_hole:nx=6,ny=5");
    const int64_t hole = 3 + 6 * 2;
    assert_int_equal(s.n, whole.n - 1);
    assert_int_equal(s.nnz, whole.nnz - 9);
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t j = 0; j < s.n; j++) assert_true(at(&s, i, j) == at(&whole, i + (i >= hole), j + (j >= hole)));
    OK(trine_matrix_destroy(&whole.A));
    OK(trine_matrix_destroy(&s.A));
    s = make(ctx, "laplace2d_hole:n=1");
    assert_int_equal(s.n, 0);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/** Rows sum to zero, but those of the four points beside the one that is held. */
static void the_grounded_grid_is_held_at_one_point(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse hole = make(ctx, "laplace2d_hole:nx=6,ny=5"), s = make(ctx, "grounded2d:nx=6,ny=5");
    int beside = 0;
    assert_int_equal(s.nnz, hole.nnz);
    for (int64_t i = 0; i < s.n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < s.n; j++) {
            if (i != j) assert_true(at(&s, i, j) == at(&hole, i, j));
            sum += at(&s, i, j);
        }
        assert_true(sum == 0 || sum == 1);
        beside += sum == 1;
    }
    assert_int_equal(beside, 4);
    assert_true(at(&s, 0, 0) == 2 && at(&s, 1, 1) == 3 && at(&s, 7, 7) == 4);
    OK(trine_matrix_destroy(&hole.A));
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/** The integral of (K grad p) . grad q over the unit squares that both points touch, by 2 x 2 points of Gauss, which
 *  are exact here. */
static double rotated_element_sum(int dx, int dy, const double K[2][2])
{
    double sum = 0;
    for (int cell = 0; cell < 4; cell++)
        for (int point = 0; point < 4; point++) {
            const double x = cell % 2 - 1 + 0.5 + (point % 2 - 0.5) / sqrt(3),
                         y = cell / 2 - 1 + 0.5 + (point / 2 - 0.5) / sqrt(3);
            if (fabs(x - dx) > 1 || fabs(y - dy) > 1) continue;
            const double p[2] = {(x < 0 ? 1 : -1) * (1 - fabs(y)), (1 - fabs(x)) * (y < 0 ? 1 : -1)},
                         q[2] = {(x < dx ? 1 : -1) * (1 - fabs(y - dy)), (1 - fabs(x - dx)) * (y < dy ? 1 : -1)};
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++) sum += K[a][b] * p[a] * q[b] / 4;
        }
    return sum;
}

static void rotate9_equals_quadrature(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse s = make(ctx, "rotate9:nx=5,ny=3,alpha=20,eps=0.03");
    const double c = cos(acos(-1) / 9), d = sin(acos(-1) / 9);
    const double K[2][2] = {{c * c + 0.03 * d * d, 0.97 * d * c}, {0.97 * d * c, d * d + 0.03 * c * c}};
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            assert_true(fabs(at(&s, 7, 7 + dx + 5 * dy) - rotated_element_sum(dx, dy, K)) < 1e-15);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/* --------------------------------------------------------------- elasticity */

static void elasticity_has_the_size_of_the_paper(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse s = make(ctx, "elasticity3d:nx=20,ny=20,nz=20");
    assert_int_equal(s.n, 27783);
    assert_int_equal(s.nnz, 9 * 61 * 61 * 61);
    assert_int_equal(llround(10.0 * (double)s.nnz / (double)s.n), 735);
    assert_rows_ascend(&s);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

static void elasticity_is_symmetric_positive_definite(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const char *const specs[] = {"elasticity3d:n=1", "elasticity3d:n=3",
                                        "elasticity3d:nx=4,ny=2,nz=1,E=210,nu=0.45",
                                        "elasticity3d:nx=1,ny=1,nz=5,nu=0"};
    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
        sparse s = make(ctx, specs[c]);
        assert_true(is_symmetric(&s));
        assert_true(is_positive_definite(&s));
        OK(trine_matrix_destroy(&s.A));
    }
    sparse floating = make(ctx, "elasticity3d:n=2,spring=0");
    assert_false(is_positive_definite(&floating));
    OK(trine_matrix_destroy(&floating.A));
    trine_context_destroy(&ctx);
}

/* Translations and rotations cost no energy: only the springs on x = 0 answer them. */
static void rigid_body_modes_meet_only_the_springs(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { NX = 4, NY = 3, NZ = 2 };
    sparse s = make(ctx, "elasticity3d:nx=4,ny=3,nz=2,spring=2");
    for (int mode = 0; mode < 6; mode++) {
        double u[3 * (NX + 1) * (NY + 1) * (NZ + 1)], held = 0;
        for (int64_t i = 0; i < s.n; i++) {
            const int64_t node = i / 3;
            const double p[3] = {(double)(node % (NX + 1)), (double)(node / (NX + 1) % (NY + 1)),
                                 (double)(node / (NX + 1) / (NY + 1))};
            const int c = (int)(i % 3), axis = mode - 3;
            u[i] = mode < 3              ? c == mode
                   : c == (axis + 1) % 3 ? -p[(axis + 2) % 3]
                   : c == (axis + 2) % 3 ? p[(axis + 1) % 3]
                                         : 0;
        }
        for (int64_t i = 0; i < s.n; i++) {
            double sum = 0, size = 0;
            for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) {
                sum += s.values[k] * u[s.columns[k]];
                size += fabs(s.values[k] * u[s.columns[k]]);
            }
            if (i / 3 % (NX + 1) == 0) held += mode < 3 ? sum : 0;
            else assert_true(fabs(sum) <= 81 * 0x1p-52 * size);
        }
        if (mode < 3) assert_true(fabs(held - 2.0 * NY * NZ) <= 1000 * 0x1p-52);
    }
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/* The textbook's way: B^T D B by 2 x 2 x 2 Gauss points, element by element, into a dense matrix. */
static void elasticity_equals_element_by_element_quadrature(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { NX = 3, NY = 2, NZ = 2, N = 3 * (NX + 1) * (NY + 1) * (NZ + 1) };
    const double E = 3, nu = 0.2;
    static double K[N][N];
    memset(K, 0, sizeof K);
    double D[6][6] = {{0}};
    const double factor = E / ((1 + nu) * (1 - 2 * nu));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) D[i][j] = factor * (i == j ? 1 - nu : nu);
        D[3 + i][3 + i] = factor * (1 - 2 * nu) / 2;
    }
    double Ke[24][24] = {{0}};
    for (int point = 0; point < 8; point++) {
        const double gauss = 0.5 / sqrt(3.0);
        const double xi[3] = {0.5 + (point & 1 ? gauss : -gauss), 0.5 + (point & 2 ? gauss : -gauss),
                              0.5 + (point & 4 ? gauss : -gauss)};
        double B[6][24] = {{0}};
        for (int a = 0; a < 8; a++) {
            const int bit[3] = {a & 1, a >> 1 & 1, a >> 2 & 1};
            double gradient[3];
            for (int d = 0; d < 3; d++) {
                gradient[d] = bit[d] ? 1 : -1;
                for (int o = 0; o < 3; o++)
                    if (o != d) gradient[d] *= bit[o] ? xi[o] : 1 - xi[o];
            }
            for (int d = 0; d < 3; d++) B[d][3 * a + d] = gradient[d];
            B[3][3 * a] = gradient[1], B[3][3 * a + 1] = gradient[0];
            B[4][3 * a + 1] = gradient[2], B[4][3 * a + 2] = gradient[1];
            B[5][3 * a] = gradient[2], B[5][3 * a + 2] = gradient[0];
        }
        for (int i = 0; i < 24; i++)
            for (int j = 0; j < 24; j++)
                for (int p = 0; p < 6; p++)
                    for (int q = 0; q < 6; q++) Ke[i][j] += B[p][i] * D[p][q] * B[q][j] / 8;
    }
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                for (int i = 0; i < 24; i++)
                    for (int j = 0; j < 24; j++) {
                        const int a = i / 3, b = j / 3;
                        const int row = x + (a & 1) + (NX + 1) * (y + (a >> 1 & 1) + (NY + 1) * (z + (a >> 2)));
                        const int column = x + (b & 1) + (NX + 1) * (y + (b >> 1 & 1) + (NY + 1) * (z + (b >> 2)));
                        K[3 * row + i % 3][3 * column + j % 3] += Ke[i][j];
                    }
    sparse s = make(ctx, "elasticity3d:nx=3,ny=2,nz=2,E=3,nu=0.2,spring=0");
    assert_int_equal(s.n, N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) assert_true(fabs(at(&s, i, j) - K[i][j]) <= 500 * 0x1p-52 * E);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/* ------------------------------------------------------- table, types, errors */

/* Every entry at a small size: keys of size found in its parameters are set. */
static void small_spec(const char *name, const char *parameters, char *spec, size_t size)
{
    static const char *const small[] = {"n=4", "levels=3", "elements=5"};
    snprintf(spec, size, "%s:", name);
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        const size_t key = strcspn(small[k], "=") + 1;
        for (const char *p = parameters; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
            if (strncmp(p, small[k], key) == 0) {
                strncat(spec, small[k], size - strlen(spec) - 1);
                strncat(spec, ",", size - strlen(spec) - 1);
            }
    }
    spec[strlen(spec) - 1] = 0; /* the last comma, or the colon */
}

static void every_entry_is_built_in_every_precision(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    const char *name, *parameters, *description;
    int entries = 0;
    for (; trine_gallery_entry(entries, &name, &parameters, &description); entries++) {
        char spec[128];
        assert_true(strlen(name) > 0 && strlen(parameters) > 0 && strlen(description) > 10);
        small_spec(name, parameters, spec, sizeof spec);
        sparse d = make(ctx, spec);
        assert_rows_ascend(&d);
        for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
            trine_matrix A;
            trine_matrix_info info;
            const int64_t *offsets;
            const int32_t *columns;
            const void *values;
            OK(trine_matrix_gallery(ctx, &A, spec, t));
            OK(trine_matrix_get_info(A, &info));
            OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
            assert_int_equal(info.dtype, t);
            assert_int_equal(info.nnz, d.nnz);
            assert_memory_equal(offsets, d.offsets, (size_t)(d.n + 1) * sizeof *offsets);
            assert_memory_equal(columns, d.columns, (size_t)d.nnz * sizeof *columns);
            for (int64_t k = 0; k < d.nnz; k++) {
                if (t == TRINE_S) assert_true(((const float *)values)[k] == (float)d.values[k]);
                if (t == TRINE_D) assert_true(((const double *)values)[k] == d.values[k]);
                if (t == TRINE_C)
                    assert_true(((const float *)values)[2 * k] == (float)d.values[k] &&
                                ((const float *)values)[2 * k + 1] == 0);
                if (t == TRINE_Z)
                    assert_true(((const double *)values)[2 * k] == d.values[k] &&
                                ((const double *)values)[2 * k + 1] == 0);
            }
            OK(trine_matrix_destroy(&A));
        }
        OK(trine_matrix_destroy(&d.A));
    }
    assert_int_equal(trine_gallery_entry(entries, &name, NULL, NULL), 0);
    assert_int_equal(trine_gallery_entry(-1, NULL, NULL, NULL), 0);
    assert_int_equal(trine_gallery_entry(0, NULL, NULL, NULL), 1);
    trine_context_destroy(&ctx);
}

static void a_phase_keeps_moduli_and_makes_symmetric_matrices_hermitian(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse d = make(ctx, "laplace3d27:n=3");
    trine_matrix A, B;
    const void *values, *others;
    OK(trine_matrix_gallery(ctx, &A, "laplace3d27:n=3,phase=7", TRINE_Z));
    OK(trine_matrix_gallery(ctx, &B, "laplace3d27:n=3,phase=8", TRINE_Z));
    OK(trine_matrix_get_arrays(A, NULL, NULL, &values));
    OK(trine_matrix_get_arrays(B, NULL, NULL, &others));
    const double *z = values;
    assert_memory_not_equal(values, others, (size_t)d.nnz * 2 * sizeof(double));
    for (int64_t i = 0; i < d.n; i++)
        for (int64_t k = d.offsets[i]; k < d.offsets[i + 1]; k++) {
            const int64_t j = d.columns[k];
            assert_true(fabs(hypot(z[2 * k], z[2 * k + 1]) - fabs(d.values[k])) <= 4 * 0x1p-52 * fabs(d.values[k]));
            if (i == j) assert_true(z[2 * k] == d.values[k] && z[2 * k + 1] == 0);
            for (int64_t m = d.offsets[j]; m < d.offsets[j + 1]; m++)
                if (d.columns[m] == i) assert_true(z[2 * m] == z[2 * k] && z[2 * m + 1] == -z[2 * k + 1]);
            const double turn = test_uniform(7, (uint64_t)i) - test_uniform(7, (uint64_t)j);
            assert_true(fabs(z[2 * k] - d.values[k] * cos(2 * M_PI * turn)) <= 100 * 0x1p-52);
            assert_true(fabs(z[2 * k + 1] - d.values[k] * sin(2 * M_PI * turn)) <= 100 * 0x1p-52);
        }
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&B));
    FAILS(TRINE_ERR_ARGUMENT, "needs a complex type", trine_matrix_gallery(ctx, &A, "laplace2d:n=3,phase=1", TRINE_D));
    OK(trine_matrix_destroy(&d.A));
    trine_context_destroy(&ctx);
}

static void wrong_specifications_are_refused_with_a_sentence(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    trine_matrix A = (trine_matrix)1;
    static const struct {
        const char *spec, *sentence;
    } cases[] = {
        {"", "the gallery has no matrix \"\""},
        {"laplace", "no matrix \"laplace\""},
        {"laplace2dd:n=3", "no matrix \"laplace2dd\""},
        {"laplace2d:m=3", "laplace2d has no parameter \"m\"; it has n=100,nx=n,ny=n,phase=0"},
        {"laplace2d:nz=3", "has no parameter \"nz\""},
        {"laplace2d:n", "\"n\" is not key=value"},
        {"laplace2d:n=", "\"n=\" is not key=value"},
        {"laplace2d:=3", "\"=3\" is not key=value"},
        {"laplace2d:n=3,,nx=2", "\"\" is not key=value"},
        {"laplace2d:n=3,n=4", "n is given twice"},
        {"laplace2d:n=3x", "\"3x\" of n is not a whole number"},
        {"laplace2d:n=2.5", "\"2.5\" of n is not a whole number"},
        {"laplace2d:nx=1e30", "\"1e30\" of nx is not a whole number"},
        {"laplace2d:n= 3", "\" 3\" of n is not a whole number"},
        {"laplace2d:n=nan", "is not a whole number"},
        {"laplace2d:nx=0", "nx = 0 is outside 1..2147483647"},
        {"laplace2d:ny=-1", "ny = -1 is outside"},
        {"laplace2d:n=50000", "2500000000 rows are more than 2^31 - 1"},
        {"laplace3d:n=2000", "8000000000 rows"},
        {"rotate7:n=3,eps=inf", "\"inf\" of eps is not a finite number"},
        {"rotate7:n=3,eps=0", "eps = 0 is not positive"},
        {"elasticity3d:n=0", "nx = 0 is outside"},
        {"elasticity3d:n=1000", "3009009003 rows"},
        {"elasticity3d:n=2,E=0", "E = 0 is not positive"},
        {"elasticity3d:n=2,nu=0.5", "nu = 0.5 is not between"},
        {"elasticity3d:n=2,nu=-1", "nu = -1 is not between"},
        {"elasticity3d:n=2,spring=-1", "spring = -1 is negative"},
        {"laplace2d:n=3,phase=-1", "phase = -1 is outside"},
        {"random_triangular:n=0", "n = 0 is outside"},
        {"random_triangular:n=5,levels=6", "levels = 6 is outside 1..5"},
        {"random_triangular:n=5,levels=2,row=0.5", "row = 0.5 is below 1"},
        {"random_triangular:law=normal", "\"normal\" of law is none of const|uniform|power"},
        {"chain:uplo=both", "\"both\" of uplo is none of lower|upper"},
        {"chain:n=-1", "n = -1 is outside 0.."},
        {"powerlaw:exponent=2", "exponent = 2 is not above 2"},
        {"powerlaw:degree=-1", "degree = -1 is outside"},
        {"kkt_lower:n=1024", "2153775104 rows"},
        {"hermite_beam:elements=1", "elements = 1 is outside"},
        {"hermite_beam:L=0", "L = 0 is not positive"},
        {"hermite_beam:EI=-2", "EI = -2 is not positive"},
        {"thesis_tridiag:id=21", "id = 21 is outside 1..20"},
        {"thesis_pentadiag:id=0", "id = 0 is outside 1..23"},
        {"thesis_tridiag:n=2", "n = 2 is outside 3.."},
        {"thesis_tridiag:id=8,n=10000", "largest order of the randsvd matrices"},
        {"random_banded:kl=-1", "kl = -1 is outside"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FAILS(TRINE_ERR_ARGUMENT, cases[c].sentence, trine_matrix_gallery(ctx, &A, cases[c].spec, TRINE_Z));
        assert_null(A);
        A = (trine_matrix)1;
    }
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_matrix_gallery(ctx, NULL, "laplace2d", TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_matrix_gallery(NULL, &A, "laplace2d", TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "spec is NULL", trine_matrix_gallery(ctx, &A, NULL, TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "dtype 0", trine_matrix_gallery(ctx, &A, "laplace2d", (trine_dtype)0));
    trine_context_destroy(&ctx);
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const char *name, *parameters;
    for (int i = 0; trine_gallery_entry(i, &name, &parameters, NULL); i++) {
        char spec[128];
        small_spec(name, parameters, spec, sizeof spec);
        trine_status status = TRINE_ERR_MEMORY;
        for (int64_t k = 1; status; k++) {
            trine_context ctx = test_context();
            test_memory memory = {.fail_at = k};
            test_fail_allocations(ctx, &memory);
            trine_matrix A;
            status = trine_matrix_gallery(ctx, &A, spec, TRINE_C);
            if (status) {
                assert_int_equal(status, TRINE_ERR_MEMORY);
                assert_null(A);
            }
            OK(trine_matrix_destroy(&A));
            assert_int_equal(memory.live, 0);
            trine_context_destroy(&ctx);
            assert_true(k < 100);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stencils_have_the_sizes_of_the_papers),
        cmocka_unit_test(stencils_are_sorted_and_as_symmetric_as_they_should_be),
        cmocka_unit_test(interior_rows_of_stencils_sum_to_zero),
        cmocka_unit_test(sines_are_eigenvectors_of_the_5_point_stencil),
        cmocka_unit_test(aniso3_is_a_permutation_of_aniso2_with_two_thirds_of_the_weight_beside_the_diagonal),
        cmocka_unit_test(the_hole_leaves_out_one_interior_point),
        cmocka_unit_test(the_grounded_grid_is_held_at_one_point),
        cmocka_unit_test(rotate9_equals_quadrature),
        cmocka_unit_test(elasticity_has_the_size_of_the_paper),
        cmocka_unit_test(elasticity_is_symmetric_positive_definite),
        cmocka_unit_test(rigid_body_modes_meet_only_the_springs),
        cmocka_unit_test(elasticity_equals_element_by_element_quadrature),
        cmocka_unit_test(every_entry_is_built_in_every_precision),
        cmocka_unit_test(a_phase_keeps_moduli_and_makes_symmetric_matrices_hermitian),
        cmocka_unit_test(wrong_specifications_are_refused_with_a_sentence),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };
    return TEST_MAIN(tests);
}
