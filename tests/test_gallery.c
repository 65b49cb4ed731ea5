/* The gallery of generators: sizes, structure, known properties, determinism, errors. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A matrix of doubles with its arrays at hand. */
typedef struct {
    trine_matrix A;
    int64_t n, nnz;
    const int64_t *offsets;
    const int32_t *columns;
    const double *values;
} sparse;

static sparse make(trine_context ctx, const char *spec)
{
    sparse s;
    trine_matrix_info info;
    const void *values;
    OK(trine_matrix_gallery(ctx, &s.A, spec, TRINE_D));
    OK(trine_matrix_get_info(s.A, &info));
    OK(trine_matrix_get_arrays(s.A, &s.offsets, &s.columns, &values));
    assert_int_equal(info.n_rows, info.n_cols);
    assert_int_equal(info.dtype, TRINE_D);
    assert_int_equal(info.format, TRINE_CSR);
    s.n = info.n_rows;
    s.nnz = info.nnz;
    s.values = values;
    return s;
}

/* The value at (i,j), 0 where nothing is stored. */
static double at(const sparse *s, int64_t i, int64_t j)
{
    for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++)
        if (s->columns[k] == j) return s->values[k];
    return 0;
}

static void assert_rows_ascend(const sparse *s)
{
    assert_int_equal(s->offsets[0], 0);
    assert_int_equal(s->offsets[s->n], s->nnz);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            assert_true(s->columns[k] >= 0 && s->columns[k] < s->n);
            if (k > s->offsets[i]) assert_true(s->columns[k - 1] < s->columns[k]);
        }
}

static bool is_symmetric(const sparse *s)
{
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++)
            if (at(s, s->columns[k], i) != s->values[k]) return false;
    return true;
}

/* Cholesky factorization in long double: is s positive definite, with pivots above n eps max|a|? */
static bool is_positive_definite(const sparse *s)
{
    const int64_t n = s->n;
    long double *L = calloc((size_t)(n * n), sizeof *L), largest = 0;
    assert_non_null(L);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            L[i * n + s->columns[k]] = s->values[k];
            largest = fmaxl(largest, fabsl((long double)s->values[k]));
        }
    bool definite = true;
    for (int64_t j = 0; j < n && definite; j++) {
        for (int64_t i = j; i < n; i++) {
            long double sum = L[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j && sum <= (long double)n * 0x1p-52L * largest) {
                definite = false;
                break;
            }
            L[i * n + j] = i == j ? sqrtl(sum) : sum / L[j * n + j];
        }
    }
    free(L);
    return definite;
}

/* ------------------------------------------------------------------ stencils */

static void stencils_have_the_sizes_of_the_papers(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct { const char *spec; int64_t n, nnz; } cases[] = {
        {"laplace2d:nx=1000,ny=1000", 1000000, 4996000},           /* ECOLOGY1 */
        {"laplace2d_hole:n=1000", 999999, 4995991},                /* ECOLOGY2 */
        {"laplace2d9:n=1001", 1002001, 9006001},                   /* MODEL3 */
        {"aniso1:n=1200", 1440000, 12945604},                      /* thesis, Table 17 */
        {"aniso3:n=1200", 1440000, 12945604},
        {"rotate7:n=1000", 1000000, 6992002},                      /* MODEL4 */
        {"laplace3d27:n=100", 1000000, 26463592},                  /* MODEL2 */
        {"convection3d:nx=148,ny=148,nz=58", 1270432, 8814880},   /* ATMOSMODD */
        {"laplace3d:nx=198,ny=198,nz=38", 1489752, 10319760},      /* ATMOSMODL */
        {"transport15:nx=31,ny=161,nz=321", 1602111, 23500731},   /* TRANSPORT */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
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
    static const struct { const char *spec; bool symmetric, definite; } cases[] = {
        {"laplace2d:nx=1,ny=1", true, true}, {"laplace2d:nx=7,ny=5", true, true}, {"laplace2d_hole:nx=5,ny=7", true, true},
        {"laplace2d9:nx=6,ny=3", true, true}, {"aniso1:nx=5,ny=8", true, true}, {"aniso2:nx=8,ny=5", true, true},
        {"aniso3:nx=8,ny=5", true, true}, {"aniso3:nx=5,ny=8", true, true}, {"aniso3:nx=1,ny=4", true, true}, {"aniso3:nx=1,ny=1", true, true},
        {"rotate7:nx=6,ny=7", true, true}, {"rotate7:n=5,alpha=60,eps=0.1", true, true}, {"laplace3d:nx=3,ny=4,nz=5", true, true},
        {"laplace3d27:nx=3,ny=2,nz=4", true, true}, {"convection3d:nx=3,ny=4,nz=5", false, false},
        {"convection3d:n=3,cx=0,cy=0,cz=0", true, true}, {"transport15:nx=3,ny=4,nz=5", false, false}, {"transport15:n=3,c=0", true, true},
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
    static const struct { const char *spec; int64_t length; } cases[] = {
        {"laplace2d:n=5", 5}, {"laplace2d9:n=5", 9}, {"aniso1:n=5", 9}, {"aniso2:n=5", 9}, {"aniso3:n=5", 9}, {"rotate7:n=5", 7},
        {"laplace3d:n=5", 7}, {"laplace3d27:n=5", 27}, {"convection3d:n=5", 7}, {"transport15:n=5", 15}};
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
            for (int i = 0; i < NX * NY; i++) v[i] = sin(p * M_PI * (i % NX + 1) / (NX + 1)) * sin(q * M_PI * (i / NX + 1) / (NY + 1));
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
        for (int64_t k = a3.offsets[i]; k < a3.offsets[i + 1]; k++) assert_true(a3.values[k] == at(&a2, old[i], old[a3.columns[k]]));
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
    static const char *const specs[] = {"elasticity3d:n=1", "elasticity3d:n=3", "elasticity3d:nx=4,ny=2,nz=1,E=210,nu=0.45", "elasticity3d:nx=1,ny=1,nz=5,nu=0"};
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
            const double p[3] = {(double)(node % (NX + 1)), (double)(node / (NX + 1) % (NY + 1)), (double)(node / (NX + 1) / (NY + 1))};
            const int c = (int)(i % 3), axis = mode - 3;
            u[i] = mode < 3 ? c == mode : c == (axis + 1) % 3 ? -p[(axis + 2) % 3] : c == (axis + 2) % 3 ? p[(axis + 1) % 3] : 0;
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
        const double xi[3] = {0.5 + (point & 1 ? gauss : -gauss), 0.5 + (point & 2 ? gauss : -gauss), 0.5 + (point & 4 ? gauss : -gauss)};
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

/* -------------------------------------------------- triangles, graphs, beams */

/* Level sets by their definition, in the order of the solve; the row's diagonal must be there and nothing beyond it. */
static int64_t count_levels(const sparse *s, bool upper)
{
    int64_t levels = 0;
    int64_t *level = calloc((size_t)s->n + 1, sizeof *level);
    assert_non_null(level);
    for (int64_t step = 0; step < s->n; step++) {
        const int64_t i = upper ? s->n - 1 - step : step;
        bool diagonal = false;
        level[i] = 1;
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            const int64_t j = s->columns[k];
            if (j == i) diagonal = true;
            else {
                assert_true(upper ? j > i : j < i);
                if (level[j] + 1 > level[i]) level[i] = level[j] + 1;
            }
        }
        assert_true(diagonal);
        if (level[i] > levels) levels = level[i];
    }
    free(level);
    return levels;
}

static void random_triangles_have_exactly_the_levels_asked_for(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct { const char *spec; int64_t levels; bool upper; } cases[] = {
        {"random_triangular:n=1,levels=1,row=1", 1, false}, {"random_triangular:n=5000,levels=1", 1, false},
        {"random_triangular:n=5000,levels=2,row=3", 2, true}, {"random_triangular:n=5000,levels=77,law=power", 77, false},
        {"random_triangular:n=5001,levels=500,law=uniform,uplo=upper,seed=9", 500, true},
        {"random_triangular:n=300,levels=300,row=20", 300, false}, {"random_triangular:n=300,levels=299,uplo=upper,row=1.5", 299, true},
        {"chain:n=40", 40, false}, {"chain:n=40,uplo=upper", 40, true}, {"dense_row:n=9", 2, false}, {"dense_row:n=9,uplo=upper", 2, true},
        {"dense_column:n=9", 2, false}, {"dense_column:n=9,uplo=upper", 2, true}, {"diagonal:n=30", 1, false}, {"kkt_lower:n=3", 2, false},
        {"chain:n=0", 0, false}, {"diagonal:n=0", 0, false}, {"dense_row:n=1", 1, false}, {"dense_column:n=1,uplo=upper", 1, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sparse s = make(ctx, cases[c].spec);
        assert_rows_ascend(&s);
        assert_int_equal(count_levels(&s, strstr(cases[c].spec, "upper") != NULL), cases[c].levels);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void random_triangles_have_the_row_lengths_of_their_law(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct { const char *spec; int64_t longest; bool heavy; } cases[] = {
        {"random_triangular:n=100000,levels=20,row=8", 8, false},
        {"random_triangular:n=100000,levels=20,row=8,law=uniform", 15, false},
        {"random_triangular:n=100000,levels=20,row=8,law=power", 100000, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sparse s = make(ctx, cases[c].spec);
        int64_t rows = 0, entries = 0, longest = 0;
        for (int64_t i = 0; i < s.n; i++) {
            const int64_t length = s.offsets[i + 1] - s.offsets[i] - 1;
            double sum = 0;
            for (int64_t k = s.offsets[i]; k < s.offsets[i + 1] - 1; k++) sum += fabs(s.values[k]);
            assert_true(sum < s.values[s.offsets[i + 1] - 1]); /* dominant */
            if (length == 0) continue;
            rows++;
            entries += length;
            if (length > longest) longest = length;
        }
        const double mean = (double)entries / (double)rows;
        assert_true(mean > 0.9 * 8 && mean < 1.1 * 8);
        assert_true(longest <= cases[c].longest);
        if (cases[c].heavy) assert_true(longest > 100);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void the_upper_random_triangle_is_the_lower_one_in_reverse(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse lower = make(ctx, "random_triangular:n=60,levels=7"), upper = make(ctx, "random_triangular:n=60,levels=7,uplo=upper");
    assert_int_equal(lower.nnz, upper.nnz);
    for (int64_t i = 0; i < 60; i++)
        for (int64_t j = 0; j < 60; j++) assert_true(at(&lower, i, j) == at(&upper, 59 - i, 59 - j));
    OK(trine_matrix_destroy(&lower.A));
    OK(trine_matrix_destroy(&upper.A));
    trine_context_destroy(&ctx);
}

static void power_law_graphs_are_symmetric_dominant_and_have_hubs(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse s = make(ctx, "powerlaw:n=3000,degree=6,exponent=2.3");
    assert_rows_ascend(&s);
    assert_true(is_symmetric(&s));
    int64_t longest = 0;
    for (int64_t i = 0; i < s.n; i++) {
        double sum = 0;
        for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) sum += s.values[k];
        assert_true(fabs(sum - 1) <= 4000 * 0x1p-52 * at(&s, i, i)); /* a Laplacian plus I */
        if (s.offsets[i + 1] - s.offsets[i] > longest) longest = s.offsets[i + 1] - s.offsets[i];
    }
    const double degree = (double)(s.nnz - s.n) / (double)s.n;
    assert_true(degree > 3 && degree <= 6);
    assert_true(longest > 100);
    OK(trine_matrix_destroy(&s.A));
    s = make(ctx, "powerlaw:n=50,degree=4");
    assert_true(is_positive_definite(&s));
    OK(trine_matrix_destroy(&s.A));
    s = make(ctx, "powerlaw:n=1,degree=4");
    assert_int_equal(s.nnz, 1);
    OK(trine_matrix_destroy(&s.A));
    s = make(ctx, "powerlaw:n=9,degree=0");
    assert_int_equal(s.nnz, 9);
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

static void arrows_point_where_they_should(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const char *const specs[] = {"arrow:n=12", "arrow:n=12,head=first"};
    for (int c = 0; c < 2; c++) {
        sparse s = make(ctx, specs[c]);
        assert_int_equal(s.nnz, 3 * 12 - 2);
        const int64_t head = c ? 0 : 11;
        assert_int_equal(s.offsets[head + 1] - s.offsets[head], 12);
        assert_true(is_symmetric(&s) && is_positive_definite(&s));
        assert_rows_ascend(&s);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_context_destroy(&ctx);
}

static void the_lower_kkt_triangle_has_the_size_of_nlpkkt160(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const int64_t sizes[] = {1, 2, 5, 20};
    for (int c = 0; c < 4; c++) {
        char spec[32];
        const int64_t n = sizes[c];
        snprintf(spec, sizeof spec, "kkt_lower:n=%d", (int)n);
        sparse s = make(ctx, spec);
        assert_int_equal(s.n, 2 * n * n * n + 6 * n * n);
        assert_int_equal(s.nnz, 29 * n * n * n + 6 * n * n - 36 * n + 16);
        assert_rows_ascend(&s);
        OK(trine_matrix_destroy(&s.A));
    }
    assert_int_equal(29 * 160 * 160 * 160 + 6 * 160 * 160 - 36 * 160 + 16, 118931856); /* the formula, at the paper's size */
    /* columns against the points of a 4 x 4 x 4 grid listed one by one */
    int64_t index[4][4][4], count = 0;
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) index[z][y][x] = (x % 3 == 0) + (y % 3 == 0) + (z % 3 == 0) < 2 ? count++ : -1;
    sparse s = make(ctx, "kkt_lower:n=2");
    assert_int_equal(count, s.n - 8);
    for (int64_t i = 0; i < 8; i++) {
        const int64_t x = 1 + i % 2, y = 1 + i / 2 % 2, z = 1 + i / 4;
        int64_t stored = 0;
        for (int64_t dz = -1; dz <= 1; dz++)
            for (int64_t dy = -1; dy <= 1; dy++)
                for (int64_t dx = -1; dx <= 1; dx++) {
                    const int64_t j = index[z + dz][y + dy][x + dx];
                    if (j < 0) continue;
                    stored++;
                    assert_true(at(&s, count + i, j) == (dx || dy || dz ? -1.0 / 26 : 1));
                }
        assert_int_equal(s.offsets[count + i + 1] - s.offsets[count + i], stored + 1);
    }
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/* Element by element into a dense matrix, deflections of the two end nodes struck out. */
static void the_beam_equals_its_elements(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    enum { M = 5, N = 2 * (M + 1) };
    const double h = 0.7 / M, EI = 3;
    const double Ke[4][4] = {{12, 6 * h, -12, 6 * h}, {6 * h, 4 * h * h, -6 * h, 2 * h * h}, {-12, -6 * h, 12, -6 * h}, {6 * h, 2 * h * h, -6 * h, 4 * h * h}};
    double K[N][N] = {{0}};
    for (int e = 0; e < M; e++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) K[2 * e + i][2 * e + j] += EI / (h * h * h) * Ke[i][j];
    int kept[N], count = 0;
    for (int i = 0; i < N; i++)
        if (i != 0 && i != N - 2) kept[count++] = i;
    sparse s = make(ctx, "hermite_beam:elements=5,L=0.7,EI=3");
    assert_int_equal(s.n, count);
    assert_int_equal(s.nnz, 10 * M - 8);
    assert_rows_ascend(&s);
    assert_true(is_symmetric(&s) && is_positive_definite(&s));
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) assert_true(fabs(at(&s, i, j) - K[kept[i]][kept[j]]) <= 40 * 0x1p-52 * EI / (h * h * h));
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

static void the_default_beam_is_LF10000(void **state)
{
    (void)state;
    const char *path = test_real_matrix("LF10000");
    trine_context ctx = test_context();
    sparse s = make(ctx, "hermite_beam");
    trine_matrix A;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_read(ctx, &A, path, TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    assert_int_equal(s.n, info.n_rows);
    assert_int_equal(s.nnz, info.nnz);
    assert_memory_equal(s.offsets, offsets, (size_t)(s.n + 1) * sizeof *offsets);
    assert_memory_equal(s.columns, columns, (size_t)s.nnz * sizeof *columns);
    for (int64_t k = 0; k < s.nnz; k++) {
        const double theirs = ((const double *)values)[k];
        assert_true(fabs(s.values[k] - theirs) <= 8 * 0x1p-52 * fabs(theirs));
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&s.A));
    trine_context_destroy(&ctx);
}

/* --------------------------------------------------------------------- bands */

static void constant_bands_are_where_they_should_be(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse t = make(ctx, "tridiag:n=9,a=2,b=3,c=5"), p = make(ctx, "pentadiag:n=9,a2=2,a1=3,b=5,c1=7,c2=11"), r = make(ctx, "random_banded:n=9,kl=3,ku=1");
    static const double five[] = {2, 3, 5, 7, 11};
    assert_int_equal(t.nnz, 25);
    assert_int_equal(p.nnz, 39);
    assert_int_equal(r.nnz, 9 + 8 + 8 + 7 + 6);
    for (int i = 0; i < 9; i++) {
        double others = 0;
        for (int j = 0; j < 9; j++) {
            assert_true(at(&t, i, j) == (abs(j - i) > 1 ? 0 : j < i ? 2 : j == i ? 3 : 5));
            assert_true(at(&p, i, j) == (abs(j - i) > 2 ? 0 : five[j - i + 2]));
            if (i - j > 3 || j - i > 1) assert_true(at(&r, i, j) == 0);
            if (i != j) others += fabs(at(&r, i, j));
        }
        assert_true(at(&r, i, i) > others);
    }
    OK(trine_matrix_destroy(&t.A));
    OK(trine_matrix_destroy(&p.A));
    OK(trine_matrix_destroy(&r.A));
    t = make(ctx, "tridiag:n=0");
    assert_int_equal(t.nnz, 0);
    OK(trine_matrix_destroy(&t.A));
    t = make(ctx, "random_banded:n=2,kl=5,ku=5");
    assert_int_equal(t.nnz, 4);
    OK(trine_matrix_destroy(&t.A));
    trine_context_destroy(&ctx);
}

/* Samples of the thesis's test sets made by an independent program: int64 n, kl, ku, 0 and the bands. They lie beside the real
 * matrices, in ../numerics/data. */
static double *read_sample(const char *set, int id, int64_t head[4])
{
    const char *folder = getenv("TRINE_MATRICES");
    if (!folder || !*folder) folder = getenv("TRINE_TEST_MATRICES");
    if (!folder || !*folder) folder = "../shared/matrices";
    char path[1200];
    snprintf(path, sizeof path, "%s/../numerics/data/%s_%02d.bin", folder, set, id);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    assert_int_equal(fread(head, sizeof *head, 4, file), 4);
    const size_t count = (size_t)(head[0] * (head[1] + head[2] + 1));
    double *bands = malloc(count * sizeof *bands);
    assert_non_null(bands);
    assert_int_equal(fread(bands, sizeof *bands, count, file), count);
    fclose(file);
    return bands;
}

/* Drawn and constant bands must agree to the last bit, formulas to rounding. randsvd's elements agree to the rounding of its
 * O(n^3) work, relative to the largest; but id 8, all of whose singular values but one are 1, is reduced to bands that rounding
 * decides: only what the reduction keeps can agree, the singular values and with them the Frobenius norm. */
static void the_test_sets_of_the_thesis_equal_stored_samples(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct { const char *set, *name; int ids; } sets[] = {{"T4", "thesis_tridiag", 20}, {"T6", "thesis_pentadiag", 23}};
    for (int c = 0; c < 2; c++)
        for (int id = 1; id <= sets[c].ids; id++) {
            int64_t head[4];
            double *bands = read_sample(sets[c].set, id, head);
            if (!bands) {
                print_message("skipped: no stored sample %s_%02d.bin\n", sets[c].set, id);
                trine_context_destroy(&ctx);
                skip();
            }
            char spec[64];
            snprintf(spec, sizeof spec, "%s:id=%d", sets[c].name, id);
            sparse s = make(ctx, spec);
            const int64_t n = head[0], kl = head[1], ku = head[2];
            assert_int_equal(s.n, n);
            assert_int_equal(s.nnz, (kl + ku + 1) * n - kl * (kl + 1) / 2 - ku * (ku + 1) / 2);
            const bool randsvd = id >= 8 && id <= 11, formula = c == 0 && (id == 3 || id == 7 || id == 13);
            double ours2 = 0, theirs2 = 0, worst = 0, largest = 0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++) {
                    const double ours = s.values[k], theirs = bands[(s.columns[k] - i + kl) * n + i];
                    ours2 += ours * ours;
                    theirs2 += theirs * theirs;
                    worst = fmax(worst, fabs(ours - theirs));
                    largest = fmax(largest, fabs(theirs));
                    if (formula) assert_true(fabs(ours - theirs) <= 8 * 0x1p-52 * fabs(theirs));
                    else if (!randsvd) assert_true(ours == theirs);
                }
            if (randsvd) {
                if (id != 8) assert_true(worst <= 10.0 * (double)n * 0x1p-52 * largest);
                assert_true(fabs(ours2 - theirs2) <= 100 * (double)n * 0x1p-52 * theirs2);
            }
            free(bands);
            OK(trine_matrix_destroy(&s.A));
        }
    trine_context_destroy(&ctx);
}

static void seeds_decide_every_bit(void **state)
{
    (void)state;
    static const char *const specs[] = {"random_triangular:n=500,levels=9,law=power", "powerlaw:n=400", "random_banded:n=90", "thesis_tridiag:id=1",
                                        "thesis_tridiag:id=9,n=40", "thesis_pentadiag:id=6,n=99"};
    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
        sparse runs[3];
        trine_context ctx[3];
        for (int r = 0; r < 3; r++) { /* one thread, three threads, another seed */
            char spec[128];
            OK(trine_context_create(&ctx[r], r == 1 ? "cpu:3" : "cpu:1"));
            snprintf(spec, sizeof spec, "%s,seed=%d", specs[c], r == 2 ? 6 : 5);
            runs[r] = make(ctx[r], spec);
        }
        assert_int_equal(runs[0].nnz, runs[1].nnz);
        assert_memory_equal(runs[0].columns, runs[1].columns, (size_t)runs[0].nnz * sizeof(int32_t));
        assert_memory_equal(runs[0].values, runs[1].values, (size_t)runs[0].nnz * sizeof(double));
        assert_true(runs[0].nnz != runs[2].nnz || memcmp(runs[0].values, runs[2].values, (size_t)runs[0].nnz * sizeof(double)) != 0);
        for (int r = 0; r < 3; r++) {
            OK(trine_matrix_destroy(&runs[r].A));
            trine_context_destroy(&ctx[r]);
        }
    }
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
                if (t == TRINE_C) assert_true(((const float *)values)[2 * k] == (float)d.values[k] && ((const float *)values)[2 * k + 1] == 0);
                if (t == TRINE_Z) assert_true(((const double *)values)[2 * k] == d.values[k] && ((const double *)values)[2 * k + 1] == 0);
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
    static const struct { const char *spec, *sentence; } cases[] = {
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
        cmocka_unit_test(elasticity_has_the_size_of_the_paper),
        cmocka_unit_test(elasticity_is_symmetric_positive_definite),
        cmocka_unit_test(rigid_body_modes_meet_only_the_springs),
        cmocka_unit_test(elasticity_equals_element_by_element_quadrature),
        cmocka_unit_test(random_triangles_have_exactly_the_levels_asked_for),
        cmocka_unit_test(random_triangles_have_the_row_lengths_of_their_law),
        cmocka_unit_test(the_upper_random_triangle_is_the_lower_one_in_reverse),
        cmocka_unit_test(power_law_graphs_are_symmetric_dominant_and_have_hubs),
        cmocka_unit_test(arrows_point_where_they_should),
        cmocka_unit_test(the_lower_kkt_triangle_has_the_size_of_nlpkkt160),
        cmocka_unit_test(the_beam_equals_its_elements),
        cmocka_unit_test(the_default_beam_is_LF10000),
        cmocka_unit_test(constant_bands_are_where_they_should_be),
        cmocka_unit_test(the_test_sets_of_the_thesis_equal_stored_samples),
        cmocka_unit_test(seeds_decide_every_bit),
        cmocka_unit_test(every_entry_is_built_in_every_precision),
        cmocka_unit_test(a_phase_keeps_moduli_and_makes_symmetric_matrices_hermitian),
        cmocka_unit_test(wrong_specifications_are_refused_with_a_sentence),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };
    return TEST_MAIN(tests);
}
