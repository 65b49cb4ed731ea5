/* Files: matrices and vectors in and out, numbers against strtod, bad input, real matrices. */
#include "harness.h"

#include <complex.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];
static trine_context ctx;

static const char *file_path(const char *name)
{
    static char path[2][256];
    static int turn;
    char *p = path[turn ^= 1];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

/** A file with the given bytes. */
static const char *file_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = file_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}
static const char *file_with(const char *name, const char *text) { return file_bytes(name, text, strlen(text)); }

/** The same bytes gzipped. */
static const char *file_gzipped(const char *name, const char *text)
{
    const char *path = file_path(name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), (int)strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static int number_of_files(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/trine-test-io-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    return trine_context_create(&ctx, "cpu:2");
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') remove(file_path(e->d_name));
    if (d) closedir(d);
    rmdir(folder);
    return trine_context_destroy(&ctx);
}

/** Assert that A is this dense row-major matrix of doubles; entries that are not stored are 0. */
static void assert_dense(trine_matrix A, int rows, int cols, const double complex *expected)
{
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *indices;
    const void *values;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_get_arrays(A, &offsets, &indices, &values));
    assert_int_equal(info.n_rows, rows);
    assert_int_equal(info.n_cols, cols);
    assert_int_equal(info.format, TRINE_CSR);
    for (int64_t k = 1; k < info.nnz; k++)
        for (int i = 0; i < rows; i++) assert_true(k <= offsets[i] || k >= offsets[i + 1] || indices[k - 1] < indices[k]);
    for (int i = 0; i < rows; i++) {
        int64_t k = offsets[i];
        for (int j = 0; j < cols; j++) {
            double complex v = 0;
            if (k < offsets[i + 1] && indices[k] == j) {
                v = info.dtype == TRINE_S ? ((const float *)values)[k] : info.dtype == TRINE_D ? ((const double *)values)[k]
                  : info.dtype == TRINE_C ? ((const float complex *)values)[k] : ((const double complex *)values)[k];
                k++;
            }
            if (v != expected[i * cols + j]) fail_msg("entry (%d,%d) is %g%+gi", i + 1, j + 1, creal(v), cimag(v));
        }
        assert_int_equal(k, offsets[i + 1]);
    }
}

static void read_and_compare(const char *path, trine_dtype t, int rows, int cols, const double complex *expected, int64_t nnz, trine_symmetry symmetry)
{
    trine_matrix A;
    trine_matrix_info info;
    OK(trine_matrix_read(ctx, &A, path, t));
    OK(trine_matrix_get_info(A, &info));
    assert_int_equal(info.nnz, nnz);
    assert_int_equal(info.symmetry, symmetry);
    assert_dense(A, rows, cols, expected);
    OK(trine_matrix_destroy(&A));
}

static const char general[] = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 5\n"
                              "1 1 1.5\n3 2 -2e0\n% another\n2 4 .25\n\n1 4 4.\n3 1 1D1\n";
static const double complex general_dense[] = {1.5, 0, 0, 4, 0, 0, 0, .25, 10, -2, 0, 0};

static void general_files_are_read_in_every_precision_plain_and_gzipped(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        read_and_compare(file_with("a.mtx", general), t, 3, 4, general_dense, 5, TRINE_GENERAL);
        read_and_compare(file_gzipped("a.anything", general), t, 3, 4, general_dense, 5, TRINE_GENERAL);
    }
}

static void case_blanks_and_line_ends_do_not_matter(void **state)
{
    (void)state;
    read_and_compare(file_with("a.mtx", "%%matrixmarket MATRIX Coordinate Real GENERAL  \r\n%\r\n 3 4\t5 \r\n 1 1 1.5\r\n3  2\t-2 \r\n2 4 0.25\r\n\r\n1 4 +4\r\n3 1 10"),
                     TRINE_D, 3, 4, general_dense, 5, TRINE_GENERAL);
}

static void symmetric_files_are_expanded_from_either_triangle(void **state)
{
    (void)state;
    const double complex dense[] = {1, 2, 0, 2, 0, 3, 0, 3, 4};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n"),
                     TRINE_S, 3, 3, dense, 6, TRINE_SYMMETRIC);
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n3 3 4\n2 3 3\n1 2 2\n1 1 1\n"),
                     TRINE_Z, 3, 3, dense, 6, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, 0, 2, 0, -3, 0, 3, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 3\n"),
                     TRINE_D, 3, 3, skew, 4, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 - 1 * I, 2 + 1 * I, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 2 1\n"),
                     TRINE_C, 2, 2, hermitian, 3, TRINE_HERMITIAN);
}

static void patterns_get_their_documented_values(void **state)
{
    (void)state;
    trine_matrix A;
    trine_matrix_info info;
    const double complex dense[] = {3, 1, 0, 1, 0, 1, 0, 1, 3};
    const char *path = file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n");
    read_and_compare(path, TRINE_D, 3, 3, dense, 6, TRINE_SYMMETRIC);
    OK(trine_matrix_read(ctx, &A, path, TRINE_C));
    OK(trine_matrix_get_info(A, &info));
    assert_int_equal(info.pattern, 1);
    OK(trine_matrix_destroy(&A));
}

static void arrays_are_read_and_lose_their_zeros(void **state)
{
    (void)state;
    const double complex dense[] = {1, 4, 0, 5, 3, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n0\n3\n4\n5\n0\n"), TRINE_D, 3, 2, dense, 4, TRINE_GENERAL);
    const double complex symmetric[] = {1, 2, 3, 2, 0, 5, 3, 5, 6};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n0\n5\n6\n"), TRINE_S, 3, 3, symmetric, 8, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, -3, 2, 0, -5, 3, 5, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n2\n3\n5\n"), TRINE_D, 3, 3, skew, 6, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 + 3 * I, 2 - 3 * I, 4};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 -3\n4 0\n"), TRINE_Z, 2, 2, hermitian, 4, TRINE_HERMITIAN);
}

struct log { int count; char last[512]; };
static void take_log(void *user, int level, const char *message)
{
    struct log *log = user;
    if (level > 1) return;
    log->count++;
    snprintf(log->last, sizeof log->last, "%s", message);
}

static void duplicates_are_summed_and_logged(void **state)
{
    (void)state;
    struct log log = {0};
    OK(trine_context_set_log(ctx, take_log, &log, 1));
    const double complex dense[] = {7, 8, 0, 4};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 5\n1 2 5\n1 1 7\n2 2 4\n1 2 2\n1 2 1\n"),
                     TRINE_D, 2, 2, dense, 3, TRINE_GENERAL);
    assert_int_equal(log.count, 1);
    assert_non_null(strstr(log.last, "2 duplicate entries"));
    OK(trine_context_set_log(ctx, NULL, NULL, 0));
}

static void empty_matrices_are_matrices(void **state)
{
    (void)state;
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n"), TRINE_D, 0, 0, NULL, 0, TRINE_GENERAL);
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n0 0 0"), TRINE_D, 0, 0, NULL, 0, TRINE_SYMMETRIC);
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real general\n0 7\n"), TRINE_D, 0, 7, NULL, 0, TRINE_GENERAL);
    const double complex zero[] = {0, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 0\n\n"), TRINE_D, 2, 1, zero, 0, TRINE_GENERAL);
}

static void bad_files_get_a_sentence_with_the_line(void **state)
{
    (void)state;
#define HEAD "%%MatrixMarket matrix coordinate real general\n"
    static const struct { const char *text, *says; } cases[] = {
        {"", "is empty"},
        {"hello\n1 2 3\n", "line 1: \"hello\""},
        {"%%MatrixMarket\n", "line 1: \"\" is no object"},
        {"%%MatrixMarket vector coordinate real general\n", "\"vector\" is no object"},
        {"%%MatrixMarket matrix sparse real general\n", "\"sparse\" is no format"},
        {"%%MatrixMarket matrix coordinate quaternion general\n", "\"quaternion\" is no field"},
        {"%%MatrixMarket matrix coordinate real odd\n", "\"odd\" is no symmetry"},
        {"%%MatrixMarket matrix coordinate real general today\n", "\"today\" stands after the banner"},
        {"%%MatrixMarket matrix array pattern general\n1 1\n", "an array cannot be a pattern"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", "general or symmetric"},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", "Hermitian matrix is complex"},
        {HEAD, "line 2: the file ends before the size line"},
        {HEAD "% only comments", "the file ends before the size line"},
        {HEAD "2 2\n1 1 1\n", "line 2: \"\" is no number of entries"},
        {HEAD "2 x 1\n1 1 1\n", "line 2: \"x\" is no number of columns"},
        {HEAD "-2 2 1\n1 1 1\n", "line 2: \"-2\" is no number of rows"},
        {HEAD "2 2 1 1\n1 1 1\n", "line 2: \"1\" stands after the sizes"},
        {HEAD "3000000000 2 1\n1 1 1\n", "line 2: 3000000000 rows"},
        {HEAD "2 99999999999999999999999 1\n1 1 1\n", "is no number of columns"},
        {HEAD "2 2 9000000000000000000\n1 1 1\n", "line 4: the file ends after 1 of 9000000000000000000 declared"},
        {HEAD "2 2 2\n1 1 1\n", "line 4: the file ends after 1 of 2 declared entries"},
        {HEAD "2 2 2\n1 1 1\n2 2 2\n% fine\n\n1 2 3\n1 1 1\n", "line 7: \"1\" stands after the last of 2 declared entries"},
        {HEAD "2 2 1\n1 1 1\nend\n", "line 4: \"end\" stands after the last of 1 declared"},
        {HEAD "2 2 1\n3 1 1\n", "line 3: row index 3 is outside 1..2"},
        {HEAD "2 2 1\n1 0 1\n", "line 3: column index 0 is outside 1..2"},
        {HEAD "2 2 2\n1 1 1\n99999999999 2 1\n", "line 4: row index 99999999999 is outside 1..2"},
        {HEAD "2 2 1\n-1 1 1\n", "line 3: \"-1\" is no row index"},
        {HEAD "2 2 1\n1 1.5 1\n", "line 3: \"1.5\" is no column index"},
        {HEAD "2 2 1\n1\n", "line 3: the line ends before the column index"},
        {HEAD "2 2 1\n1 1\n", "line 3: the line ends before the value"},
        {HEAD "2 2 1\n1 1 one\n", "line 3: \"one\" is no number"},
        {HEAD "2 2 1\n1 1 1x\n", "line 3: \"1x\" is no number"},
        {HEAD "2 2 1\n1 1 1 1\n", "line 3: \"1\" stands after the value"},
        {HEAD "2 2 1\n1 1 NaN\n", "line 3: the value is \"NaN\""},
        {HEAD "2 2 1\n1 1 -inf\n", "line 3: the value -inf is infinite"},
        {HEAD "2 2 1\n1 1 1e400\n", "line 3: the value 1e400 is infinite in double precision"},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n", "line 3: 1.5 is no integer"},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", "line 3: \"1\" stands after the indices"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "line 2: 2 x 3 is not square"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n3 3 1\n1 3 1\n", "line 5: an entry above the diagonal, but line 3"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 1\n3 3 1\n3 1 1\n", "line 5: an entry below the diagonal, but line 3"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", "line 3: diagonal entry 2 of a skew-symmetric"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "line 6: the file ends after 3 of 4"},
        {"%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n", "the file ends after 1 of 4611686014132420609"},
        {"%%MatrixMarket matrix array real general\n1 1\n1 2\n", "line 3: \"2\" stands after the value"},
    };
    trine_matrix A = (trine_matrix)1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        FAILS(TRINE_ERR_FORMAT, cases[k].says, trine_matrix_read(ctx, &A, file_with("bad.mtx", cases[k].text), TRINE_D));
        assert_non_null(strstr(trine_last_error(), "bad.mtx"));
        assert_null(A);
    }
    const char *hermitian = file_with("bad.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 1\n");
    FAILS(TRINE_ERR_FORMAT, "line 3: diagonal entry 2 of a Hermitian matrix is not real", trine_matrix_read(ctx, &A, hermitian, TRINE_Z));
    FAILS(TRINE_ERR_ARGUMENT, "is complex; a real dtype cannot hold it", trine_matrix_read(ctx, &A, hermitian, TRINE_D));
    hermitian = file_with("bad.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n% hm\n4 5\n");
    FAILS(TRINE_ERR_FORMAT, "line 6: a diagonal entry of a Hermitian", trine_matrix_read(ctx, &A, hermitian, TRINE_Z));
    FAILS(TRINE_ERR_FORMAT, "the line ends before the value's imaginary part",
          trine_matrix_read(ctx, &A, file_with("bad.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 4\n"), TRINE_Z));
    FAILS(TRINE_ERR_FORMAT, "the value 1e39 is infinite in single precision",
          trine_matrix_read(ctx, &A, file_with("bad.mtx", HEAD "1 1 1\n1 1 1e39\n"), TRINE_S));
    FAILS(TRINE_ERR_FORMAT, "a byte 0 stands in the line", trine_matrix_read(ctx, &A, file_bytes("bad.mtx", HEAD "1 1 1\n1 1 4\0\n", sizeof HEAD + 12), TRINE_S));
#undef HEAD
}

static void files_that_cannot_be_read_are_io_errors(void **state)
{
    (void)state;
    trine_matrix A;
    void *x;
    int64_t rows, cols;
    FAILS(TRINE_ERR_IO, "cannot be opened: No such file", trine_matrix_read(ctx, &A, file_path("nowhere.mtx"), TRINE_D));
    FAILS(TRINE_ERR_IO, "is a directory", trine_matrix_read(ctx, &A, folder, TRINE_D));
    FAILS(TRINE_ERR_IO, "is a directory", trine_vectors_read(ctx, folder, TRINE_D, &x, &rows, &cols));
    const char *locked = file_with("locked.mtx", general);
    assert_int_equal(chmod(locked, 0), 0);
    if (geteuid() != 0) FAILS(TRINE_ERR_IO, "Permission denied", trine_matrix_read(ctx, &A, locked, TRINE_D));
    remove(locked);
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_matrix_read(ctx, NULL, "x", TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_matrix_read(NULL, &A, "x", TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "path is NULL", trine_matrix_read(ctx, &A, NULL, TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "dtype 0", trine_matrix_read(ctx, &A, "x", (trine_dtype)0));
}

/* ----------------------------------------------------------------- numbers */

enum { a_million = 1000000 };

/** A random number as text: every kind of number, up to 25 digits, exponents from tame to absurd. */
static void random_number(uint64_t k, char *text, size_t size)
{
    const double a = test_uniform(1, 4 * k), b = test_uniform(1, 4 * k + 1), c = test_uniform(1, 4 * k + 2);
    uint64_t bits = (uint64_t)(test_uniform(2, k) * 0x1p53) << 11 ^ (uint64_t)(test_uniform(3, k) * 0x1p53);
    double any;
    memcpy(&any, &bits, sizeof any);
    static const char *const named[] = {"inf", "-inf", "nan", "NaN", "Infinity", "-INF", "0", "-0", "0e999", "1e-999", "1e999",
                                        "1.7976931348623158e308", "1.7976931348623159e308", "2.2250738585072011e-308", "4.9e-324", "2.4e-324",
                                        "2.4703282292062328e-324", "9007199254740993", "9007199254740993.00000000000000000000000000000000001",
                                        "1.00000005960464477539062500000000000000001", "1.000000059604644775390625", "3.4028235677973366e38",
                                        "3.4028235677973365e38", ".5", "5.", "00000000000000000000000000000000012.5", "7.0064923216240854e-46"};
    switch (k % 8) {
    case 0: snprintf(text, size, "%.17g", any); break;               /* any double, exactly */
    case 1: snprintf(text, size, "%.*g", 1 + (int)(b * 20), any); break;
    case 2: snprintf(text, size, "%.17g", a - .5); break;
    case 3: snprintf(text, size, "%.*e", (int)(b * 24), ldexp(a, (int)(c * 60) - 30)); break;
    case 4: snprintf(text, size, "%.*fe%d", (int)(b * 20), a * 1e6, (int)(c * 700) - 350); break;
    case 5: snprintf(text, size, "%.6g", a * 1e3); break;
    case 6: snprintf(text, size, "%.*g", 14 + (int)(b * 12), nextafter((float)a, 1) / 2 + (float)a / 2.0); break; /* ties of floats */
    default: snprintf(text, size, "%s", named[k / 8 % (sizeof named / sizeof *named)]);
    }
}

static void a_million_numbers_are_rounded_as_strtod_and_strtof_do(void **state)
{
    (void)state;
    const char *path = file_path("numbers.txt");
    char text[64];
    void *x, *y;
    int64_t rows, cols;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (uint64_t k = 0; k < a_million; k++) {
        random_number(k, text, sizeof text);
        fprintf(f, "%s\n", text);
    }
    fclose(f);
    OK(trine_vectors_read(ctx, path, TRINE_D, &x, &rows, &cols));
    assert_int_equal(rows, a_million);
    assert_int_equal(cols, 1);
    OK(trine_vectors_read(ctx, path, TRINE_S, &y, &rows, &cols));
    for (uint64_t k = 0; k < a_million; k++) {
        random_number(k, text, sizeof text);
        const double d = strtod(text, NULL), dx = ((double *)x)[k];
        const float s = strtof(text, NULL), sy = ((float *)y)[k];
        if ((memcmp(&d, &dx, sizeof d) && !(isnan(d) && isnan(dx))) || (memcmp(&s, &sy, sizeof s) && !(isnan(s) && isnan(sy))))
            fail_msg("%s is %a and %a, but strtod and strtof give %a and %a", text, dx, sy, d, s);
    }
    trine_free(ctx, TRINE_HOST, x);
    trine_free(ctx, TRINE_HOST, y);
    remove(path);
}

static void numbers_of_a_thousand_digits_are_rounded_exactly(void **state)
{
    (void)state;
    /* 1 + 2^-53 lies between two doubles; what follows the tie's last digit, however far away, decides */
    char text[3][1300];
    void *x;
    int64_t rows, cols;
    snprintf(text[0], sizeof text[0], "1.00000000000000011102230246251565404236316680908203125%0*d", 1200, 0);
    snprintf(text[1], sizeof text[1], "%s", text[0]);
    text[1][strlen(text[1]) - 1] = '1';
    snprintf(text[2], sizeof text[2], "%01000d1e-1000", 0);
    for (int k = 0; k < 3; k++) {
        OK(trine_vectors_read(ctx, file_with("long.txt", text[k]), TRINE_D, &x, &rows, &cols));
        assert_int_equal(rows, 1);
        assert_true(*(double *)x == (k == 0 ? 1.0 : k == 1 ? 1.0 + 0x1p-52 : 0.0));
        assert_true(*(double *)x == strtod(text[k], NULL));
        trine_free(ctx, TRINE_HOST, x);
    }
}

/* ----------------------------------------------------------------- vectors */

static void vectors_come_back_exactly(void **state)
{
    (void)state;
    enum { n = 37, m = 3, ld = 40 };
    static const char *const names[] = {"x.mtx", "x.mtx.gz"};
    double data[2 * m * ld];
    float single[2 * m * ld];
    for (int k = 0; k < 2 * m * ld; k++) single[k] = (float)(data[k] = (test_uniform(5, (uint64_t)k) - .5) * pow(10, 40 * test_uniform(6, (uint64_t)k) - 20));
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        for (int f = 0; f < 2; f++) {
            const char *in = t == TRINE_S || t == TRINE_C ? (const char *)single : (const char *)data;
            void *out;
            int64_t rows, cols;
            const char *path = file_path(names[f]);
            OK(trine_vectors_write(ctx, path, t, in, n, m, ld));
            OK(trine_vectors_read(ctx, path, t, &out, &rows, &cols));
            assert_int_equal(rows, n);
            assert_int_equal(cols, m);
            const size_t size = trine_dtype_size(t);
            for (size_t j = 0; j < m; j++) assert_memory_equal((char *)out + j * n * size, in + j * ld * size, n * size);
            trine_free(ctx, TRINE_HOST, out);
        }
    }
}

static void vectors_are_read_from_plain_text_and_coordinates(void **state)
{
    (void)state;
    void *x;
    int64_t rows, cols;
    OK(trine_vectors_read(ctx, file_with("x.txt", "% mine\n1\n# and\n\n -2.5e0 \r\nnan\n"), TRINE_D, &x, &rows, &cols));
    assert_int_equal(rows, 3);
    assert_int_equal(cols, 1);
    assert_true(((double *)x)[0] == 1 && ((double *)x)[1] == -2.5 && isnan(((double *)x)[2]));
    trine_free(ctx, TRINE_HOST, x);
    OK(trine_vectors_read(ctx, file_with("x.txt", "1 2\n3\n"), TRINE_C, &x, &rows, &cols));
    assert_true(rows == 2 && ((float complex *)x)[0] == 1 + 2 * I && ((float complex *)x)[1] == 3);
    trine_free(ctx, TRINE_HOST, x);
    OK(trine_vectors_read(ctx, file_with("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 5\n3 2 6\n3 2 1\n"), TRINE_D, &x, &rows, &cols));
    static const double expected[] = {5, 0, 0, 0, 0, 7};
    assert_true(rows == 3 && cols == 2);
    assert_memory_equal(x, expected, sizeof expected);
    trine_free(ctx, TRINE_HOST, x);
    FAILS(TRINE_ERR_FORMAT, "line 2: \"2\" stands after the value", trine_vectors_read(ctx, file_with("x.txt", "1\n1 2\n"), TRINE_D, &x, &rows, &cols));
    assert_null(x);
    FAILS(TRINE_ERR_FORMAT, "line 1: \"x\" is no number", trine_vectors_read(ctx, file_with("x.txt", "x\n"), TRINE_D, &x, &rows, &cols));
    FAILS(TRINE_ERR_FORMAT, "line 3: \"7x\" is no number",
          trine_vectors_read(ctx, file_with("x.mtx", "%%MatrixMarket matrix array real general\n1 1\n7x\n"), TRINE_D, &x, &rows, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "data is NULL", trine_vectors_read(ctx, "x", TRINE_D, NULL, &rows, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "rows or cols", trine_vectors_read(ctx, "x", TRINE_D, &x, NULL, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "leading dimension 1", trine_vectors_write(ctx, "x", TRINE_D, &x, 2, 1, 1));
    FAILS(TRINE_ERR_ARGUMENT, "-1 x 1", trine_vectors_write(ctx, "x", TRINE_D, &x, -1, 1, 0));
}

/* ------------------------------------------------- Harwell-Boeing, writing */

#define TITLE "A title                                                                 KEY     \n"
/* 4 x 3, by columns: (1,1) 1.5, (3,1) -2, (4,2) 0.25, (1,3) 4, (4,3) 1e-3 */
static const char boeing[] = TITLE "             3             1             1             1\n"
    "rua                        4             3             5             0\n"
    "(4I3)           (5I2)           (5E8.1)             \n"
    "  1  3  4  6\n 1 3 4 1 4\n  1.5E00  -2.E00  .25     4.0D+0   1.0-3\n";
static const double complex boeing_dense[] = {1.5, 0, 4, 0, 0, 0, -2, 0, 0, 0, .25, 1e-3};

static void boeing_files_are_read_in_every_precision(void **state)
{
    (void)state;
    for (trine_dtype t = TRINE_D; t <= TRINE_Z; t += 2) {
        read_and_compare(file_with("a.rua", boeing), t, 4, 3, boeing_dense, 5, TRINE_GENERAL);
        read_and_compare(file_gzipped("a.rua.gz", boeing), t, 4, 3, boeing_dense, 5, TRINE_GENERAL);
    }
    double complex single[12];
    for (int k = 0; k < 12; k++) single[k] = (float)creal(boeing_dense[k]);
    read_and_compare(file_with("a.rua", boeing), TRINE_S, 4, 3, single, 5, TRINE_GENERAL);
    read_and_compare(file_with("a.rua", boeing), TRINE_C, 4, 3, single, 5, TRINE_GENERAL);
}

/** A 1 x n matrix whose values stand in one record of the given format. */
static void read_record(const char *format, const char *record, int n, const double *expected)
{
    char text[1024], pointers[64] = "", indices[64] = "";
    double complex dense[8];
    for (int k = 0; k <= n; k++) sprintf(pointers + 4 * k, "%4d", k + 1);
    for (int k = 0; k < n; k++) sprintf(indices + 4 * k, "%4d", 1), dense[k] = expected[k];
    snprintf(text, sizeof text, TITLE "3 1 1 1 0\nRRA 1 %d %d 0\n(20I4)          (20I4)          %-20s\n%s\n%s\n%s\n", n, n, format, pointers, indices, record);
    read_and_compare(file_with("a.rra", text), TRINE_D, 1, n, dense, n, TRINE_GENERAL);
}

static void fortran_formats_mean_what_fortran_says(void **state)
{
    (void)state;
    read_record("(4D20.12)", "  0.123456789012D+01 -0.5D00             1.0D+100            7.", 4, (double[]){1.23456789012, -.5, 1e100, 7});
    read_record("(1P,4D8.1)", " 1.0D+00 5.00    1.0-100    1e+2", 4, (double[]){1, .5, 1e-100, 10}); /* P scales what has no exponent */
    read_record("(1P4E8.1)", "-1.5E-10-1.5E-11-1.5E-12-1.5E-13", 4, (double[]){-1.5e-10, -1.5e-11, -1.5e-12, -1.5e-13}); /* no blanks between */
    read_record("(-1p,2f6.2)", "  1.25   300", 2, (double[]){12.5, 30});
    read_record("(3F8.3)", "   12345      -1    1E+2", 3, (double[]){12.345, -.001, .1}); /* no point: the last 3 digits are behind it */
    read_record("( 2 (1X, E9.2E3), 1X, G5.2 )", " 1.00E+002 2.00E-002   3.5", 3, (double[]){100, .02, 3.5});
    read_record("(3I5)", "    1   -2    3", 3, (double[]){1, -2, 3});
    read_record("(2F10.0)", " 1 2. 5        3.", 2, (double[]){12.5, 3}); /* blanks within a field do not count */
}

static void boeing_symmetries_types_and_right_hand_sides(void **state)
{
    (void)state;
#define FORMATS "(10I4)          (10I4)          (10F6.0)\n"
    const double complex symmetric[] = {1, 2, 0, 2, 0, 3, 0, 3, 4};
    read_and_compare(file_with("a.rsa", TITLE "4 1 1 1 1\nRSA 3 3 4 0\n(10I4)          (10I4)          (10F6.0)            (5E15.8)\nF 1 3\n"
                               "   1   3   4   5\n   1   2   3   3\n    1.    2.    3.    4.\n right-hand sides are skipped\n"), TRINE_S, 3, 3, symmetric, 6, TRINE_SYMMETRIC);
    const double complex pattern[] = {3, 1, 0, 1, 0, 1, 0, 1, 3};
    read_and_compare(file_with("a.psa", TITLE "2 1 1 0 0\nPSA 3 3 4 0\n(10I4)          (10I4)\n   1   3   4   5\n   1   2   3   3\n"), TRINE_D, 3, 3, pattern, 6, TRINE_SYMMETRIC);
    read_and_compare(file_with("a.psa", TITLE "2 1 1 0 0\r\nPSA 3 3 4 0\r\n(10I4)          (10I4)\r\n   1   3   4   5\r\n   1   2   3   3\r\n"), TRINE_C, 3, 3, pattern, 6, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, 2, 0};
    read_and_compare(file_with("a.rza", TITLE "3 1 1 1\nrza 2 2 1 0\n" FORMATS "   1   2   2\n   2\n    2.\n"), TRINE_D, 2, 2, skew, 2, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 - 3 * I, 2 + 3 * I, 0};
    read_and_compare(file_with("a.cha", TITLE "3 1 1 1\ncha 2 2 2 0\n" FORMATS "   1   3   3\n   1   2\n    1.    0.    2.    3.\n"), TRINE_Z, 2, 2, hermitian, 3, TRINE_HERMITIAN);
    const double complex integers[] = {-5, 7};
    read_and_compare(file_with("a.iua", TITLE "3 1 1 1\niua 2 1 2 0\n(10I4)          (10I4)          (10I3)\n   1   3\n   2   1\n  7 -5\n"), TRINE_D, 2, 1, integers, 2, TRINE_GENERAL);
    read_and_compare(file_with("a.rua", TITLE "1 1 0 0\nrua 0 0 0 0\n" FORMATS "   1\n"), TRINE_D, 0, 0, NULL, 0, TRINE_GENERAL);
}

static void bad_boeing_files_get_a_sentence_with_the_line(void **state)
{
    (void)state;
#define HEAD TITLE "3 1 1 1\nrua 2 2 2 0\n" FORMATS
    static const struct { const char *text, *says; } cases[] = {
        {TITLE "3 1 1 1\nrue 2 2 2 0\n" FORMATS, "line 3: the matrix is elemental (rue); only assembled"},
        {TITLE "3 1 1\nrua 2 2 2 0\n" FORMATS, "line 2: not four or five numbers"},
        {TITLE "3 1 1 1\nrua 2 2\n" FORMATS, "line 3: no numbers of rows"},
        {TITLE "3 1 1 1\nrua 2 3000000000 1 0\n" FORMATS, "line 3: 3000000000 columns"},
        {TITLE "3 1 1 1\nrsa 2 3 1 0\n" FORMATS, "line 3: 2 x 3 is not square"},
        {TITLE "3 1 1 1\nrha 2 2 1 0\n" FORMATS, "line 3: a Hermitian matrix is complex"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10A4)          (10I4)          (10F6.0)\n", "line 4: the format of the pointers, \"(10A4)\", has an edit descriptor"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10I4)          (10F6.0\n", "line 4: the format of the values"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10I4)\n", "line 4: the format of the values, \"\", has no opening"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10F4.0)        (10F6.0)\n", "line 4: pointers and row indices are not integers"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (999I4)         (10F6.0)\n", "has no field or more than 256"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n((((((I4))))))  (10I4)          (10F6.0)\n", "has groups nested too deeply"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(I4,I5,F6.0)    (10I4)          (10F6.0)\n", "has fields of different kinds"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(-3I4)          (10I4)          (10F6.0)\n", "has a negative repeat count"},
        {TITLE "3 1 1 1\nrua 2 2000000000 2 0\n" FORMATS "   1\n", "line 5: 2000000001 numbers are declared, but only 5 bytes follow"},
        {TITLE "3 1 1 1\nrua 2 2 9000000000000000000 0\n" FORMATS "   1   2   3\n", "line 5: 9000000000000000000 entries are declared, but only 13 bytes"},
        {HEAD "   1   2\n", "\"\" is no column pointer"},
        {HEAD "   2   3   3\n", "line 5: column pointer 2 is outside 1..1"},
        {HEAD "   1   3   2\n", "line 5: column pointer 2 is outside 3..3"},
        {HEAD "   1   2   4\n", "line 5: column pointer 4 is outside 2..3"},
        {HEAD "   1   2   2\n   1   1\n", "line 5: the last column pointer is 2, not"},
        {HEAD "   1   2   3   3\n   1   1\n", "line 5: \"3\" stands after the last column pointer"},
        {HEAD "   1   2   3\n   1   0\n", "line 6: row index 0 is outside 1..2"},
        {HEAD "   1   2   3\n   1   3\n", "line 6: row index 3 is outside 1..2"},
        {HEAD "   1   2   3\n   1   x\n    1.    2.\n", "line 6: \"x\" is no row index"},
        {HEAD "   1   2   3\n   1\n    1.    2.\n", "line 6: \"\" is no row index"},
        {HEAD "   1   2   3\n   1   1   1\n", "line 6: \"1\" stands after the last row index"},
        {HEAD "   1   2   3\n   1   1\n", "line 7: 2 values are declared, but only 0 bytes"},
        {HEAD "   1   2   3\n   1   1\n    1.\n", "line 7: value 2 is blank"},
        {HEAD "   1   2   3\n   1   1\n    1.   one\n", "line 7: \"one\" is no number"},
        {HEAD "   1   2   3\n   1   1\n    1.   NaN\n", "line 7: the value NaN is not finite"},
        {HEAD "   1   2   3\n   1   1\n    1. 1e400\n", "line 7: the value 1E400 is not finite"},
        {HEAD "   1   2   3\n   1   1\n    1.    2.    3.\n", "line 7: \"3.\" stands after the last value"},
        {HEAD "   1   2   3\n   1   1\n    1.    2.\n\n more\n", "line 9: \"more\" stands after the matrix"},
        {TITLE "3 1 1 1\nrsa 2 2 2 0\n" FORMATS "   1   2   3\n   2   1\n    1.    2.\n", "line 6: entry (1,2) is above the diagonal, others are below"},
        {TITLE "3 1 1 1\nrza 2 2 2 0\n" FORMATS "   1   3   3\n   1   2\n    1.    2.\n", "line 7: diagonal entry 1 of a skew-symmetric matrix is not zero"},
    };
#undef HEAD
#undef FORMATS
    trine_matrix A;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        FAILS(TRINE_ERR_FORMAT, cases[k].says, trine_matrix_read(ctx, &A, file_with("bad.rua", cases[k].text), TRINE_D));
        assert_non_null(strstr(trine_last_error(), "bad.rua"));
        assert_null(A);
    }
    FAILS(TRINE_ERR_ARGUMENT, "is complex", trine_matrix_read(ctx, &A, file_with("bad.cua", TITLE "1 1 0 0\ncua 0 0 0 0\n(I4)            (I4)            (I4)\n   1\n"), TRINE_S));
}

/** A matrix with entries of every size, with the given symmetry; n = 0 is allowed. */
static trine_matrix make_matrix(trine_context c, trine_dtype t, trine_format format, int n_rows, int n_cols, trine_symmetry symmetry)
{
    trine_matrix A;
    int64_t *offsets, nnz = 0;
    int32_t *indices;
    void *values;
    const int major = format == TRINE_CSR ? n_rows : n_cols, minor = format == TRINE_CSR ? n_cols : n_rows;
    OK(trine_matrix_allocate(c, &A, format, t, n_rows, n_cols, (int64_t)n_rows * n_cols, &offsets, &indices, &values));
    trine_matrix full = A;
    double complex *v = calloc((size_t)n_rows * (size_t)n_cols + 1, sizeof *v);
    int32_t *index = calloc((size_t)n_rows * (size_t)n_cols + 1, sizeof *index);
    int64_t *offset = calloc((size_t)major + 1, sizeof *offset);
    for (int i = 0; i < major; i++) {
        for (int j = 0; j < minor; j++) {
            const uint64_t low = (uint64_t)(i < j ? i : j), high = (uint64_t)(i < j ? j : i);
            const uint64_t place = symmetry == TRINE_GENERAL ? (uint64_t)(i * minor + j) : low * 1000 + high;
            if (test_uniform(1, place) > .4 || (symmetry == TRINE_SKEW && i == j)) continue;
            double re = (test_uniform(2, place) - .5) * pow(10, 30 * test_uniform(3, place) - 15), im = t >= TRINE_C ? test_uniform(4, place) - .5 : 0;
            if (symmetry == TRINE_SKEW && i > j) re = -re, im = -im;
            if (symmetry == TRINE_HERMITIAN) im = i == j ? 0 : i > j ? -im : im;
            index[nnz] = j;
            v[nnz++] = re + im * I;
        }
        offset[i + 1] = nnz;
    }
    OK(trine_matrix_destroy(&full));
    OK(trine_matrix_allocate(c, &A, format, t, n_rows, n_cols, nnz, &offsets, &indices, &values));
    memcpy(offsets, offset, ((size_t)major + 1) * sizeof *offset);
    memcpy(indices, index, (size_t)nnz * sizeof *index);
    for (int64_t k = 0; k < nnz; k++) {
        if (t == TRINE_S) ((float *)values)[k] = (float)creal(v[k]);
        if (t == TRINE_D) ((double *)values)[k] = creal(v[k]);
        if (t == TRINE_C) ((float complex *)values)[k] = (float complex)v[k];
        if (t == TRINE_Z) ((double complex *)values)[k] = v[k];
    }
    free(v);
    free(index);
    free(offset);
    return A;
}

static void assert_same_matrix(trine_matrix A, trine_matrix B)
{
    trine_matrix_info a, b;
    trine_matrix C;
    const int64_t *ao, *bo;
    const int32_t *ai, *bi;
    const void *av, *bv;
    OK(trine_matrix_get_info(B, &b));
    OK(trine_matrix_copy(A, &C, TRINE_HOST, b.format, b.dtype));
    OK(trine_matrix_get_info(C, &a));
    assert_true(a.n_rows == b.n_rows && a.n_cols == b.n_cols && a.nnz == b.nnz);
    OK(trine_matrix_get_arrays(C, &ao, &ai, &av));
    OK(trine_matrix_get_arrays(B, &bo, &bi, &bv));
    assert_memory_equal(ao, bo, ((size_t)a.n_rows + 1) * sizeof *ao);
    assert_memory_equal(ai, bi, (size_t)a.nnz * sizeof *ai);
    assert_memory_equal(av, bv, (size_t)a.nnz * trine_dtype_size(b.dtype));
    OK(trine_matrix_destroy(&C));
}

static void written_matrices_come_back_exactly(void **state)
{
    (void)state;
    static const char *const names[] = {"w.mtx", "w.mtx.gz", "w.rb", "w.rua", "w.RSA", "w.cha.gz"};
    static const int sizes[][2] = {{0, 0}, {1, 1}, {2, 2}, {33, 33}, {17, 40}, {0, 5}};
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        for (trine_symmetry symmetry = TRINE_GENERAL; symmetry <= TRINE_HERMITIAN; symmetry++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                if (symmetry != TRINE_GENERAL && sizes[s][0] != sizes[s][1]) continue;
                for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
                    trine_matrix B, A = make_matrix(ctx, t, f % 2 ? TRINE_CSR : TRINE_CSC, sizes[s][0], sizes[s][1], symmetry);
                    trine_matrix_info info;
                    const char *path = file_path(names[f]);
                    OK(trine_matrix_write(A, path, symmetry));
                    OK(trine_matrix_read(ctx, &B, path, t));
                    OK(trine_matrix_get_info(B, &info));
                    assert_int_equal(info.symmetry, symmetry == TRINE_HERMITIAN && t <= TRINE_D ? TRINE_SYMMETRIC : symmetry);
                    assert_same_matrix(A, B);
                    OK(trine_matrix_destroy(&A));
                    OK(trine_matrix_destroy(&B));
                }
            }
        }
    }
}

static void written_patterns_stay_patterns(void **state)
{
    (void)state;
    static const char *const names[] = {"p.mtx", "p.rb"};
    const char *in = file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n");
    for (int f = 0; f < 2; f++) {
        for (trine_symmetry symmetry = TRINE_GENERAL; symmetry <= TRINE_SYMMETRIC; symmetry++) {
            trine_matrix A, B;
            trine_matrix_info info;
            OK(trine_matrix_read(ctx, &A, in, TRINE_D));
            const char *path = file_path(names[f]);
            OK(trine_matrix_write(A, path, symmetry));
            OK(trine_matrix_read(ctx, &B, path, TRINE_D));
            OK(trine_matrix_get_info(B, &info));
            assert_int_equal(info.pattern, 1);
            assert_int_equal(info.symmetry, symmetry);
            assert_same_matrix(A, B);
            OK(trine_matrix_destroy(&A));
            OK(trine_matrix_destroy(&B));
        }
    }
}

static void a_failed_write_leaves_nothing_and_spoils_nothing(void **state)
{
    (void)state;
    trine_matrix A = make_matrix(ctx, TRINE_D, TRINE_CSR, 60, 60, TRINE_GENERAL), B;
    char bytes[16] = "";
    FAILS(TRINE_ERR_ARGUMENT, "ends in none of .mtx", trine_matrix_write(A, file_path("a.txt"), TRINE_GENERAL));
    FAILS(TRINE_ERR_ARGUMENT, "ends in none of .mtx", trine_matrix_write(A, file_path("mtx"), TRINE_GENERAL));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_matrix_write(NULL, file_path("a.mtx"), TRINE_GENERAL));
    FAILS(TRINE_ERR_ARGUMENT, "path is NULL", trine_matrix_write(A, NULL, TRINE_GENERAL));
    FAILS(TRINE_ERR_ARGUMENT, "symmetry 9", trine_matrix_write(A, file_path("a.mtx"), (trine_symmetry)9));
    FAILS(TRINE_ERR_STRUCTURE, "is not zero, so the matrix is not skew", trine_matrix_write(A, file_path("a.mtx"), TRINE_SKEW));
    FAILS(TRINE_ERR_IO, "cannot be created: No such file", trine_matrix_write(A, file_path("no/such/folder.mtx"), TRINE_GENERAL));
    assert_int_equal(mkdir(file_path("d.mtx"), 0700), 0);
    FAILS(TRINE_ERR_IO, "is a directory", trine_matrix_write(A, file_path("d.mtx"), TRINE_GENERAL));
    assert_int_equal(rmdir(file_path("d.mtx")), 0);
    if (geteuid() != 0) {
        assert_int_equal(mkdir(file_path("locked"), 0500), 0);
        FAILS(TRINE_ERR_IO, "Permission denied", trine_matrix_write(A, file_path("locked/a.mtx"), TRINE_GENERAL));
        assert_int_equal(rmdir(file_path("locked")), 0);
    }
    if (access("/dev/full", W_OK) == 0) {
        const char *full = file_path("full.mtx");
        assert_int_equal(symlink("/dev/full", full), 0);
        FAILS(TRINE_ERR_IO, "No space left on device", trine_matrix_write(A, full, TRINE_GENERAL));
        assert_int_equal(remove(full), 0);
    }

    /* a file that may not grow stands for a disk that is full */
    static const char *const names[] = {"short.mtx", "short.mtx.gz", "short.rb"};
    struct rlimit old, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int f = 0; f < 3; f++) {
        const char *path = file_with(names[f], "precious");
        const int before = number_of_files();
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        small.rlim_cur = 5000;
        setrlimit(RLIMIT_FSIZE, &small);
        const trine_status status = trine_matrix_write(A, path, TRINE_GENERAL);
        const trine_status vectors = f < 2 ? trine_vectors_write(ctx, path, TRINE_D, NULL, 1000000, 0, 0) : TRINE_SUCCESS;
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(vectors, TRINE_SUCCESS); /* short enough */
        if (f == 2) {
            FILE *file = fopen(path, "r");
            assert_int_equal(fread(bytes, 1, 8, file), 8);
            fclose(file);
            assert_string_equal(bytes, "precious");
        }
        assert_int_equal(status, TRINE_ERR_IO);
        assert_non_null(strstr(trine_last_error(), "File too large"));
        assert_int_equal(number_of_files(), before);
    }
    signal(SIGXFSZ, handler);

    /* an existing file is replaced through a symbolic link and keeps its permissions */
    const char *target = file_with("target.mtx", "old"), *link = file_path("link.mtx");
    struct stat about;
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink(target, link), 0);
    OK(trine_matrix_write(A, link, TRINE_GENERAL));
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(link, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    OK(trine_matrix_read(ctx, &B, link, TRINE_D));
    assert_same_matrix(A, B);
    OK(trine_matrix_destroy(&B));
    OK(trine_matrix_destroy(&A));
}

/* ----------------------------------------------------------- mangled input */

/** Reading whatever this is succeeds or fails with a sentence; the sanitizers watch. */
static void try_bytes(const char *bytes, size_t size, int *read, int *refused)
{
    trine_matrix A;
    void *x;
    int64_t rows, cols;
    const char *path = file_bytes("mangled", bytes, size);
    trine_status status = trine_matrix_read(ctx, &A, path, TRINE_Z);
    if (status != TRINE_SUCCESS && status != TRINE_ERR_FORMAT && status != TRINE_ERR_IO) fail_msg("%s", trine_last_error());
    if (status == TRINE_SUCCESS) ++*read;
    else ++*refused;
    if (status) {
        assert_null(A);
        assert_true(strlen(trine_last_error()) > 10);
    }
    OK(trine_matrix_destroy(&A));
    status = trine_vectors_read(ctx, path, TRINE_Z, &x, &rows, &cols);
    if (status != TRINE_SUCCESS && status != TRINE_ERR_FORMAT && status != TRINE_ERR_IO) fail_msg("%s", trine_last_error());
    trine_free(ctx, TRINE_HOST, x);
}

static void mangle(const char *bytes, size_t size, const char *what)
{
    int read = 0, refused = 0;
    char *copy = malloc(size + 1);
    for (size_t cut = 0; cut < size; cut++) try_bytes(bytes, cut, &read, &refused);
    assert_true(refused > 0);
    for (uint64_t k = 0; k < 1500; k++) {
        memcpy(copy, bytes, size);
        const int flips = 1 + (int)(3 * test_uniform(11, k));
        for (int f = 0; f < flips; f++) {
            static const char likely[] = "0123456789 -+.eE%\n\r\t\0ZN(";
            const size_t at = (size_t)(test_uniform(12, 4 * k + (uint64_t)f) * (double)size);
            const double u = test_uniform(13, 4 * k + (uint64_t)f);
            copy[at] = u < .5 ? copy[at] ^ (char)(1 << (int)(u * 16)) : likely[(size_t)((u - .5) * 2 * (sizeof likely - 1))];
        }
        try_bytes(copy, size, &read, &refused);
    }
    free(copy);
    print_message("%s: %d read, %d refused\n", what, read, refused);
}

static void mangled_files_neither_crash_nor_leak(void **state)
{
    (void)state;
    static const char *const names[] = {"m.mtx", "m.rb", "m.mtx.gz", "m.rb.gz", "p.mtx", "x.mtx"};
    trine_matrix A = make_matrix(ctx, TRINE_Z, TRINE_CSR, 6, 6, TRINE_HERMITIAN), B = make_matrix(ctx, TRINE_D, TRINE_CSR, 7, 5, TRINE_GENERAL), P;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        static char bytes[20000];
        const char *path = file_path(names[f]);
        if (names[f][0] == 'm') {
            OK(trine_matrix_write(f % 2 ? B : A, path, f % 2 ? TRINE_GENERAL : TRINE_HERMITIAN));
        } else if (names[f][0] == 'p') {
            OK(trine_matrix_read(ctx, &P, file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n"), TRINE_D));
            OK(trine_matrix_write(P, path, TRINE_SYMMETRIC));
            OK(trine_matrix_destroy(&P));
        } else {
            double x[12];
            for (int k = 0; k < 12; k++) x[k] = test_uniform(9, (uint64_t)k);
            OK(trine_vectors_write(ctx, path, TRINE_D, x, 4, 3, 0));
        }
        FILE *file = fopen(path, "rb");
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        assert_true(size > 20 && size < sizeof bytes);
        mangle(bytes, size, names[f]);
    }
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_destroy(&B));
}

static void damaged_gzip_files_say_so(void **state)
{
    (void)state;
    trine_matrix A;
    static char bytes[1000];
    const char *path = file_gzipped("g.mtx.gz", general);
    FILE *file = fopen(path, "rb");
    const size_t size = fread(bytes, 1, sizeof bytes / 2, file);
    fclose(file);
    FAILS(TRINE_ERR_FORMAT, "g.mtx.gz: the gzip data is truncated after byte", trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size - 10), TRINE_D));
    FAILS(TRINE_ERR_FORMAT, "truncated", trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, 2), TRINE_D));
    bytes[size - 6] ^= 1; /* of the checksum */
    FAILS(TRINE_ERR_FORMAT, "the gzip data is damaged near byte", trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size), TRINE_D));
    bytes[size - 6] ^= 1;
    strcpy(bytes + size, "more");
    FAILS(TRINE_ERR_FORMAT, "the gzip data is damaged", trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size + 4), TRINE_D));
    memset(bytes + size, 0, 16); /* padding */
    read_and_compare(file_bytes("g.mtx.gz", bytes, size + 16), TRINE_D, 3, 4, general_dense, 5, TRINE_GENERAL);
    memset(bytes, 0, sizeof bytes); /* two members make one file, as with cat */
    file = fopen(file_gzipped("g.mtx.gz", "%%MatrixMarket matrix coordinate real general\n"), "rb");
    size_t both = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    file = fopen(file_gzipped("g.mtx.gz", "3 4 5\n1 1 1.5\n3 2 -2e0\n2 4 .25\n1 4 4.\n3 1 1D1\n"), "rb");
    both += fread(bytes + both, 1, sizeof bytes - both, file);
    fclose(file);
    read_and_compare(file_bytes("g.mtx.gz", bytes, both), TRINE_D, 3, 4, general_dense, 5, TRINE_GENERAL);
}

/** Everything with files, once; the first failure. */
static trine_status everything(trine_context c, const char *const *inputs, trine_matrix given)
{
    trine_matrix A = NULL;
    void *x = NULL;
    int64_t rows, cols;
    trine_status status = TRINE_SUCCESS;
    for (int f = 0; inputs[f] && !status; f++) {
        status = trine_matrix_read(c, &A, inputs[f], TRINE_Z);
        OK(trine_matrix_destroy(&A));
        if (!status && strstr(inputs[f], ".mtx")) status = trine_vectors_read(c, inputs[f], TRINE_Z, &x, &rows, &cols);
        trine_free(c, TRINE_HOST, x);
        x = NULL;
    }
    if (!status) status = trine_matrix_write(given, file_path("k.mtx.gz"), TRINE_GENERAL);
    if (!status) status = trine_matrix_write(given, file_path("k.rb"), TRINE_GENERAL);
    if (!status) status = trine_vectors_write(c, file_path("k.mtx"), TRINE_D, &rows, 1, 1, 0);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char inputs_text[5][256];
    const char *inputs[6] = {0};
    static const char *const names[] = {"1.mtx", "2.mtx", "3.mtx", "4.rua", "5.mtx.gz"};
    static const char *const texts[] = {general, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n3 3\n2 1\n3 3\n1 1\n",
                                        "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", boeing, general};
    for (int f = 0; f < 5; f++) {
        snprintf(inputs_text[f], sizeof inputs_text[f], "%s", f == 4 ? file_gzipped(names[f], texts[f]) : file_with(names[f], texts[f]));
        inputs[f] = inputs_text[f];
    }
    for (int64_t k = 1;; k++) {
        test_memory memory = {0};
        trine_context c;
        OK(trine_context_create(&c, "cpu:2"));
        test_fail_allocations(c, &memory);
        trine_matrix given = make_matrix(c, TRINE_C, TRINE_CSR, 5, 5, TRINE_GENERAL);
        memory.calls = 0;
        memory.fail_at = k;
        const trine_status status = everything(c, inputs, given);
        const bool done = memory.calls < k;
        OK(trine_matrix_destroy(&given));
        OK(trine_context_destroy(&c));
        assert_int_equal(memory.live, 0);
        if (done) {
            OK(status);
            print_message("%d allocations\n", (int)k - 1);
            return;
        }
        if (status != TRINE_ERR_MEMORY) fail_msg("allocation %d: %s (%s)", (int)k, trine_status_string(status), trine_last_error());
    }
}

static void long_files_are_read_in_parallel_with_the_right_line_in_errors(void **state)
{
    (void)state;
    enum { n = 300000 };
    const char *path = file_path("long.mtx");
    trine_matrix A;
    for (int bad = 0; bad <= 1; bad++) {
        FILE *f = fopen(path, "w");
        fprintf(f, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", n, n, 2 * n - 1);
        for (int i = 1; i <= n; i++) {
            fprintf(f, "%d %d %.17g\n", i, i, test_uniform(1, (uint64_t)i));
            if (i > 1) fprintf(f, "%d %d %s\n", i, i - 1, bad && (i == 200001 || i == 280000) ? "oops" : "-0.5");
        }
        fclose(f);
        if (bad) {
            FAILS(TRINE_ERR_FORMAT, "line 400003: \"oops\" is no number", trine_matrix_read(ctx, &A, path, TRINE_D));
            continue;
        }
        OK(trine_matrix_read(ctx, &A, path, TRINE_D));
        const int64_t *offsets;
        const int32_t *indices;
        const void *values;
        OK(trine_matrix_get_arrays(A, &offsets, &indices, &values));
        OK(trine_matrix_check(A, TRINE_CHECK_SORTED | TRINE_CHECK_DIAGONAL));
        assert_int_equal(offsets[n], 3 * n - 2);
        for (int i = 0; i < n; i++) {
            const double *row = (const double *)values + offsets[i];
            assert_true(offsets[i + 1] - offsets[i] == 1 + (i > 0) + (i + 1 < n));
            assert_true(row[i > 0] == test_uniform(1, (uint64_t)i + 1) && (i == 0 || row[0] == -.5));
        }
        OK(trine_matrix_destroy(&A));
    }
    remove(path);
}

/* -------------------------------------------------------------- real files */

static void every_real_matrix_has_the_size_of_the_catalogue(void **state)
{
    (void)state;
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s", test_real_matrix("nos3"));
    strcpy(strrchr(path, '/') + 1, "catalogue.tsv");
    FILE *f = fopen(path, "r");
    if (!f) {
        print_message("skipped: no catalogue.tsv beside the real matrices\n");
        skip();
    }
    int matrices = 0;
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        char name[128], symmetry[64];
        long long n, nnz;
        trine_matrix A;
        trine_matrix_info info;
        assert_int_equal(sscanf(line, "%127[^\t]\t%lld\t%lld\t%63[^\t]", name, &n, &nnz, symmetry), 4);
        OK(trine_matrix_read(ctx, &A, test_real_matrix(name), TRINE_D));
        OK(trine_matrix_get_info(A, &info));
        if (info.n_rows != n || info.nnz != nnz) fail_msg("%s: %lld rows, %lld entries; the catalogue says %lld, %lld", name,
                                                          (long long)info.n_rows, (long long)info.nnz, n, nnz);
        assert_int_equal(info.symmetry, strncmp(symmetry, "sym", 3) ? TRINE_GENERAL : TRINE_SYMMETRIC);
        assert_int_equal(info.pattern, strstr(symmetry, "pattern") != NULL);
        OK(trine_matrix_destroy(&A));
        matrices++;
    }
    fclose(f);
    print_message("%d real matrices\n", matrices);
}

static void nothing_temporary_is_left(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) assert_null(strstr(e->d_name, ".tmp"));
    closedir(d);
    assert_true(number_of_files() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(general_files_are_read_in_every_precision_plain_and_gzipped),
        cmocka_unit_test(case_blanks_and_line_ends_do_not_matter),
        cmocka_unit_test(symmetric_files_are_expanded_from_either_triangle),
        cmocka_unit_test(patterns_get_their_documented_values),
        cmocka_unit_test(arrays_are_read_and_lose_their_zeros),
        cmocka_unit_test(duplicates_are_summed_and_logged),
        cmocka_unit_test(empty_matrices_are_matrices),
        cmocka_unit_test(bad_files_get_a_sentence_with_the_line),
        cmocka_unit_test(files_that_cannot_be_read_are_io_errors),
        cmocka_unit_test(a_million_numbers_are_rounded_as_strtod_and_strtof_do),
        cmocka_unit_test(numbers_of_a_thousand_digits_are_rounded_exactly),
        cmocka_unit_test(vectors_come_back_exactly),
        cmocka_unit_test(vectors_are_read_from_plain_text_and_coordinates),
        cmocka_unit_test(boeing_files_are_read_in_every_precision),
        cmocka_unit_test(fortran_formats_mean_what_fortran_says),
        cmocka_unit_test(boeing_symmetries_types_and_right_hand_sides),
        cmocka_unit_test(bad_boeing_files_get_a_sentence_with_the_line),
        cmocka_unit_test(written_matrices_come_back_exactly),
        cmocka_unit_test(written_patterns_stay_patterns),
        cmocka_unit_test(a_failed_write_leaves_nothing_and_spoils_nothing),
        cmocka_unit_test(mangled_files_neither_crash_nor_leak),
        cmocka_unit_test(damaged_gzip_files_say_so),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(long_files_are_read_in_parallel_with_the_right_line_in_errors),
        cmocka_unit_test(every_real_matrix_has_the_size_of_the_catalogue),
        cmocka_unit_test(nothing_temporary_is_left),
    };
    return test_device_is_there() ? cmocka_run_group_tests_name("files", tests, make_folder, remove_folder) : 77;
}
