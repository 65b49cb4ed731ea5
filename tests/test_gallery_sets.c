/* The gallery of generators: triangles, graphs, beams, bands, the test sets of the thesis; determinism. */
#include "gallery_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    static const struct {
        const char *spec;
        int64_t levels;
        bool upper;
    } cases[] = {
        {"random_triangular:n=1,levels=1,row=1", 1, false},
        {"random_triangular:n=5000,levels=1", 1, false},
        {"random_triangular:n=5000,levels=2,row=3", 2, true},
        {"random_triangular:n=5000,levels=77,law=power", 77, false},
        {"random_triangular:n=5001,levels=500,law=uniform,uplo=upper,seed=9", 500, true},
        {"random_triangular:n=300,levels=300,row=20", 300, false},
        {"random_triangular:n=300,levels=299,uplo=upper,row=1.5", 299, true},
        {"chain:n=40", 40, false},
        {"chain:n=40,uplo=upper", 40, true},
        {"dense_row:n=9", 2, false},
        {"dense_row:n=9,uplo=upper", 2, true},
        {"dense_column:n=9", 2, false},
        {"dense_column:n=9,uplo=upper", 2, true},
        {"diagonal:n=30", 1, false},
        {"kkt_lower:n=3", 2, false},
        {"chain:n=0", 0, false},
        {"diagonal:n=0", 0, false},
        {"dense_row:n=1", 1, false},
        {"dense_column:n=1,uplo=upper", 1, true},
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
    static const struct {
        const char *spec;
        int64_t longest;
        bool heavy;
    } cases[] = {{"random_triangular:n=100000,levels=20,row=8", 8, false},
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
    sparse lower = make(ctx, "random_triangular:n=60,levels=7"),
           upper = make(ctx, "random_triangular:n=60,levels=7,uplo=upper");
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
    static const struct {
        const char *spec;
        int64_t width, head;
    } wide[] = {{"arrow:n=12,width=3", 3, 9},
                {"arrow:n=12,width=3,head=first", 3, 0},
                {"arrow:n=12,width=0", 0, 12},
                {"arrow:n=12,width=50", 12, 0}};
    for (int c = 0; c < 4; c++) {
        sparse s = make(ctx, wide[c].spec);
        const int64_t w = wide[c].width, head = wide[c].head;
        assert_int_equal(s.nnz, 12 - w + 2 * w * (12 - w) + w * w);
        for (int64_t i = 0; i < 12; i++)
            for (int64_t j = 0; j < 12; j++) {
                const bool dense = (i >= head && i < head + w) || (j >= head && j < head + w);
                assert_true(at(&s, i, j) == (i == j ? 2 : dense ? -1.0 / 12 : 0));
            }
        assert_rows_ascend(&s);
        OK(trine_matrix_destroy(&s.A));
    }
    trine_matrix none;
    FAILS(TRINE_ERR_ARGUMENT, "width", trine_matrix_gallery(ctx, &none, "arrow:n=12,width=-1", TRINE_D));
    trine_context_destroy(&ctx);
}

static void diagonal_blocks_are_dense(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    sparse s = make(ctx, "block_diagonal:blocks=4,size=5");
    assert_int_equal(s.n, 20);
    assert_int_equal(s.nnz, 4 * 25);
    for (int64_t i = 0; i < 20; i++)
        for (int64_t j = 0; j < 20; j++) assert_true(at(&s, i, j) == (i == j ? 2 : i / 5 == j / 5 ? -1.0 / 5 : 0));
    assert_rows_ascend(&s);
    assert_true(is_positive_definite(&s));
    for (trine_uplo uplo = TRINE_LOWER; uplo <= TRINE_UPPER; uplo++) {
        trine_matrix T;
        int64_t levels, offsets[21];
        OK(trine_matrix_triangle(s.A, &T, uplo, TRINE_NONUNIT, 0));
        OK(trine_level_sets(ctx, T, uplo, &levels, offsets, NULL, NULL));
        assert_int_equal(levels, 5);
        OK(trine_matrix_destroy(&T));
    }
    OK(trine_matrix_destroy(&s.A));
    s = make(ctx, "block_diagonal:blocks=0");
    assert_int_equal(s.n, 0);
    OK(trine_matrix_destroy(&s.A));
    trine_matrix none;
    FAILS(TRINE_ERR_ARGUMENT, "size", trine_matrix_gallery(ctx, &none, "block_diagonal:size=0", TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, NULL,
          trine_matrix_gallery(ctx, &none, "block_diagonal:blocks=100000,size=100000", TRINE_D));
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
    /* the formula, at the paper's size */
    assert_int_equal(29 * 160 * 160 * 160 + 6 * 160 * 160 - 36 * 160 + 16, 118931856);
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
    const double Ke[4][4] = {{12, 6 * h, -12, 6 * h},
                             {6 * h, 4 * h * h, -6 * h, 2 * h * h},
                             {-12, -6 * h, 12, -6 * h},
                             {6 * h, 2 * h * h, -6 * h, 4 * h * h}};
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
        for (int j = 0; j < count; j++)
            assert_true(fabs(at(&s, i, j) - K[kept[i]][kept[j]]) <= 40 * 0x1p-52 * EI / (h * h * h));
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
    sparse t = make(ctx, "tridiag:n=9,a=2,b=3,c=5"), p = make(ctx, "pentadiag:n=9,a2=2,a1=3,b=5,c1=7,c2=11"),
           r = make(ctx, "random_banded:n=9,kl=3,ku=1");
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

/* Samples of the thesis's test sets made by an independent program: int64 n, kl, ku, 0 and the bands. They lie
 * beside the real matrices, in ../numerics/data. */
static double *read_sample(const char *set, int id, int64_t head[4])
{
    char name[16];
    snprintf(name, sizeof name, "%s_%02d", set, id);
    const char *path = test_recorded_system(name);
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) return NULL;
    assert_int_equal(fread(head, sizeof *head, 4, file), 4);
    const size_t count = (size_t)(head[0] * (head[1] + head[2] + 1));
    double *bands = malloc(count * sizeof *bands);
    assert_non_null(bands);
    assert_int_equal(fread(bands, sizeof *bands, count, file), count);
    fclose(file);
    return bands;
}

/* Drawn and constant bands must agree to the last bit, formulas to rounding. randsvd's elements agree to the
 * rounding of its O(n^3) work, relative to the largest; but id 8, all of whose singular values but one are 1, is
 * reduced to bands that rounding decides: only what the reduction keeps can agree, the singular values and with them
 * the Frobenius norm. */
static void the_test_sets_of_the_thesis_equal_stored_samples(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    static const struct {
        const char *set, *name;
        int ids;
    } sets[] = {{"T4", "thesis_tridiag", 20}, {"T6", "thesis_pentadiag", 23}};
    for (int c = 0; c < 2; c++)
        for (int id = 1; id <= sets[c].ids; id++) {
            int64_t head[4];
#ifdef __SANITIZE_ADDRESS__
            if (id >= 9 && id <= 11) continue; /* randsvd once: its O(n^3) work would take most of a minute */
#endif
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
    static const char *const specs[] = {"random_triangular:n=500,levels=9,law=power",
                                        "powerlaw:n=400",
                                        "random_banded:n=90",
                                        "thesis_tridiag:id=1",
                                        "thesis_tridiag:id=9,n=40",
                                        "thesis_pentadiag:id=6,n=99"};
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
        assert_true(runs[0].nnz != runs[2].nnz ||
                    memcmp(runs[0].values, runs[2].values, (size_t)runs[0].nnz * sizeof(double)) != 0);
        for (int r = 0; r < 3; r++) {
            OK(trine_matrix_destroy(&runs[r].A));
            trine_context_destroy(&ctx[r]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_triangles_have_exactly_the_levels_asked_for),
        cmocka_unit_test(random_triangles_have_the_row_lengths_of_their_law),
        cmocka_unit_test(the_upper_random_triangle_is_the_lower_one_in_reverse),
        cmocka_unit_test(power_law_graphs_are_symmetric_dominant_and_have_hubs),
        cmocka_unit_test(arrows_point_where_they_should),
        cmocka_unit_test(diagonal_blocks_are_dense),
        cmocka_unit_test(the_lower_kkt_triangle_has_the_size_of_nlpkkt160),
        cmocka_unit_test(the_beam_equals_its_elements),
        cmocka_unit_test(the_default_beam_is_LF10000),
        cmocka_unit_test(constant_bands_are_where_they_should_be),
        cmocka_unit_test(the_test_sets_of_the_thesis_equal_stored_samples),
        cmocka_unit_test(seeds_decide_every_bit),
    };
    return TEST_MAIN(tests);
}
