/* Matrix Market files, vectors, numbers against strtod, real matrices. */
#include "io_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    read_and_compare(
        file_with(
            "a.mtx",
            "%%matrixmarket MATRIX Coordinate Real GENERAL  \r\n%\r\n 3 4\t5 \r\n 1 1 1.5\r\n3  2\t-2 \r\n2 4 0.25\r\n\r\n1 4 +4\r\n3 1 10"),
        TRINE_D, 3, 4, general_dense, 5, TRINE_GENERAL);
}

static void symmetric_files_are_expanded_from_either_triangle(void **state)
{
    (void)state;
    const double complex dense[] = {1, 2, 0, 2, 0, 3, 0, 3, 4};
    read_and_compare(
        file_with("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n"),
        TRINE_S, 3, 3, dense, 6, TRINE_SYMMETRIC);
    read_and_compare(
        file_with("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n3 3 4\n2 3 3\n1 2 2\n1 1 1\n"),
        TRINE_Z, 3, 3, dense, 6, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, 0, 2, 0, -3, 0, 3, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 3\n"),
                     TRINE_D, 3, 3, skew, 4, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 - 1 * I, 2 + 1 * I, 0};
    read_and_compare(
        file_with("a.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 2 1\n"), TRINE_C, 2,
        2, hermitian, 3, TRINE_HERMITIAN);
}

static void patterns_get_their_documented_values(void **state)
{
    (void)state;
    trine_matrix A;
    trine_matrix_info info;
    const double complex dense[] = {3, 1, 0, 1, 0, 1, 0, 1, 3};
    const char *path =
        file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n");
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
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n0\n3\n4\n5\n0\n"), TRINE_D,
                     3, 2, dense, 4, TRINE_GENERAL);
    const double complex symmetric[] = {1, 2, 3, 2, 0, 5, 3, 5, 6};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n0\n5\n6\n"), TRINE_S,
                     3, 3, symmetric, 8, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, -3, 2, 0, -5, 3, 5, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n2\n3\n5\n"), TRINE_D, 3,
                     3, skew, 6, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 + 3 * I, 2 - 3 * I, 4};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 -3\n4 0\n"),
                     TRINE_Z, 2, 2, hermitian, 4, TRINE_HERMITIAN);
}

struct log {
    int count;
    char last[512];
};
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
    read_and_compare(
        file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 5\n1 2 5\n1 1 7\n2 2 4\n1 2 2\n1 2 1\n"),
        TRINE_D, 2, 2, dense, 3, TRINE_GENERAL);
    assert_int_equal(log.count, 1);
    assert_non_null(strstr(log.last, "2 duplicate entries"));
    OK(trine_context_set_log(ctx, NULL, NULL, 0));
}

static void duplicates_whose_sum_is_not_finite_are_refused(void **state)
{
    (void)state;
    trine_matrix A;
    struct log log = {0};
    OK(trine_context_set_log(ctx, take_log, &log, 1));
    const char *path = file_with(
        "a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 1\n2 3 1.5e308\n1 2 5\n2 3 1.5e308\n");
    FAILS(TRINE_ERR_FORMAT, "a.mtx: the sum of the duplicate entries at (2,3) is not finite in double precision",
          trine_matrix_read(ctx, &A, path, TRINE_D));
    assert_null(A);
    FAILS(TRINE_ERR_FORMAT, "(2,3) is not finite in double", trine_matrix_read(ctx, &A, path, TRINE_Z));
    path = file_with("a.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 1 0 3e38\n2 1 0 3e38\n");
    FAILS(TRINE_ERR_FORMAT, "(1,2) is not finite in single precision", trine_matrix_read(ctx, &A, path, TRINE_C));
    assert_int_equal(log.count, 0);
    OK(trine_matrix_read(ctx, &A, path, TRINE_Z)); /* where it fits */
    OK(trine_matrix_destroy(&A));
    OK(trine_context_set_log(ctx, NULL, NULL, 0));
}

static void empty_matrices_are_matrices(void **state)
{
    (void)state;
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n"), TRINE_D, 0, 0, NULL,
                     0, TRINE_GENERAL);
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n0 0 0"), TRINE_D, 0, 0,
                     NULL, 0, TRINE_SYMMETRIC);
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix array real general\n0 7\n"), TRINE_D, 0, 7, NULL, 0,
                     TRINE_GENERAL);
    const double complex zero[] = {0, 0};
    read_and_compare(file_with("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 0\n\n"), TRINE_D, 2, 1,
                     zero, 0, TRINE_GENERAL);
}

static void bad_files_get_a_sentence_with_the_line(void **state)
{
    (void)state;
#define HEAD "%%MatrixMarket matrix coordinate real general\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "is empty"},
        {"hello\n1 2 3\n", "line 1: \"hello\""},
        {"%%MatrixMarket\n", "line 1: \"\" is no object"},
        {"%%MatrixMarketmatrix coordinate real general\n1 1 1\n1 1 1\n",
         "line 1: \"%%MatrixMarketmatrix\" is no %%MatrixMarket"},
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
        {HEAD "2 2 2\n1 1 1\n2 2 2\n% fine\n\n1 2 3\n1 1 1\n",
         "line 7: \"1\" stands after the last of 2 declared entries"},
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
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n3 3 1\n1 3 1\n",
         "line 5: an entry above the diagonal, but line 3"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 1\n3 3 1\n3 1 1\n",
         "line 5: an entry below the diagonal, but line 3"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
         "line 3: diagonal entry 2 of a skew-symmetric"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "line 6: the file ends after 3 of 4"},
        {"%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n",
         "the file ends after 1 of 4611686014132420609"},
        {"%%MatrixMarket matrix array real general\n1 1\n1 2\n", "line 3: \"2\" stands after the value"},
    };
    trine_matrix A = (trine_matrix)1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        FAILS(TRINE_ERR_FORMAT, cases[k].says,
              trine_matrix_read(ctx, &A, file_with("bad.mtx", cases[k].text), TRINE_D));
        assert_non_null(strstr(trine_last_error(), "bad.mtx"));
        assert_null(A);
    }
    const char *hermitian =
        file_with("bad.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 1\n");
    FAILS(TRINE_ERR_FORMAT, "line 3: diagonal entry 2 of a Hermitian matrix is not real",
          trine_matrix_read(ctx, &A, hermitian, TRINE_Z));
    FAILS(TRINE_ERR_ARGUMENT, "is complex; a real dtype cannot hold it",
          trine_matrix_read(ctx, &A, hermitian, TRINE_D));
    hermitian = file_with("bad.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n% hm\n4 5\n");
    FAILS(TRINE_ERR_FORMAT, "line 6: a diagonal entry of a Hermitian", trine_matrix_read(ctx, &A, hermitian, TRINE_Z));
    FAILS(TRINE_ERR_FORMAT, "the line ends before the value's imaginary part",
          trine_matrix_read(ctx, &A,
                            file_with("bad.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 4\n"),
                            TRINE_Z));
    FAILS(TRINE_ERR_FORMAT, "the value 1e39 is infinite in single precision",
          trine_matrix_read(ctx, &A, file_with("bad.mtx", HEAD "1 1 1\n1 1 1e39\n"), TRINE_S));
    FAILS(TRINE_ERR_FORMAT, "a byte 0 stands in the line",
          trine_matrix_read(ctx, &A, file_bytes("bad.mtx", HEAD "1 1 1\n1 1 4\0\n", sizeof HEAD + 12), TRINE_S));
#undef HEAD
}

static void files_that_cannot_be_read_are_io_errors(void **state)
{
    (void)state;
    trine_matrix A;
    void *x;
    int64_t rows, cols;
    FAILS(TRINE_ERR_IO, "cannot be opened: No such file",
          trine_matrix_read(ctx, &A, file_path("nowhere.mtx"), TRINE_D));
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
    static const char *const named[] = {"inf",
                                        "-inf",
                                        "nan",
                                        "NaN",
                                        "Infinity",
                                        "-INF",
                                        "0",
                                        "-0",
                                        "0e999",
                                        "1e-999",
                                        "1e999",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "2.2250738585072011e-308",
                                        "4.9e-324",
                                        "2.4e-324",
                                        "2.4703282292062328e-324",
                                        "9007199254740993",
                                        "9007199254740993.00000000000000000000000000000000001",
                                        "1.00000005960464477539062500000000000000001",
                                        "1.000000059604644775390625",
                                        "3.4028235677973366e38",
                                        "3.4028235677973365e38",
                                        ".5",
                                        "5.",
                                        "00000000000000000000000000000000012.5",
                                        "7.0064923216240854e-46"};
    switch (k % 8) {
    case 0: snprintf(text, size, "%.17g", any); break;               /* any double, exactly */
    case 1: snprintf(text, size, "%.*g", 1 + (int)(b * 20), any); break;
    case 2: snprintf(text, size, "%.17g", a - .5); break;
    case 3: snprintf(text, size, "%.*e", (int)(b * 24), ldexp(a, (int)(c * 60) - 30)); break;
    case 4: snprintf(text, size, "%.*fe%d", (int)(b * 20), a * 1e6, (int)(c * 700) - 350); break;
    case 5: snprintf(text, size, "%.6g", a * 1e3); break;
    case 6:
        snprintf(text, size, "%.*g", 14 + (int)(b * 12), nextafter((float)a, 1) / 2 + (float)a / 2.0);
        break; /* ties of floats */
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
        if ((memcmp(&d, &dx, sizeof d) && !(isnan(d) && isnan(dx))) ||
            (memcmp(&s, &sy, sizeof s) && !(isnan(s) && isnan(sy))))
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
    for (int k = 0; k < 2 * m * ld; k++)
        single[k] =
            (float)(data[k] = (test_uniform(5, (uint64_t)k) - .5) * pow(10, 40 * test_uniform(6, (uint64_t)k) - 20));
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
            for (size_t j = 0; j < m; j++)
                assert_memory_equal((char *)out + j * n * size, in + j * ld * size, n * size);
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
    OK(trine_vectors_read(
        ctx, file_with("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 5\n3 2 6\n3 2 1\n"), TRINE_D,
        &x, &rows, &cols));
    static const double expected[] = {5, 0, 0, 0, 0, 7};
    assert_true(rows == 3 && cols == 2);
    assert_memory_equal(x, expected, sizeof expected);
    trine_free(ctx, TRINE_HOST, x);
    FAILS(TRINE_ERR_FORMAT, "line 2: \"2\" stands after the value",
          trine_vectors_read(ctx, file_with("x.txt", "1\n1 2\n"), TRINE_D, &x, &rows, &cols));
    assert_null(x);
    FAILS(TRINE_ERR_FORMAT, "line 1: \"x\" is no number",
          trine_vectors_read(ctx, file_with("x.txt", "x\n"), TRINE_D, &x, &rows, &cols));
    FAILS(TRINE_ERR_FORMAT, "line 3: \"7x\" is no number",
          trine_vectors_read(ctx, file_with("x.mtx", "%%MatrixMarket matrix array real general\n1 1\n7x\n"), TRINE_D,
                             &x, &rows, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "data is NULL", trine_vectors_read(ctx, "x", TRINE_D, NULL, &rows, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "rows or cols", trine_vectors_read(ctx, "x", TRINE_D, &x, NULL, &cols));
    FAILS(TRINE_ERR_ARGUMENT, "leading dimension 1", trine_vectors_write(ctx, "x", TRINE_D, &x, 2, 1, 1));
    FAILS(TRINE_ERR_ARGUMENT, "-1 x 1", trine_vectors_write(ctx, "x", TRINE_D, &x, -1, 1, 0));
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
        if (info.n_rows != n || info.nnz != nnz)
            fail_msg("%s: %lld rows, %lld entries; the catalogue says %lld, %lld", name, (long long)info.n_rows,
                     (long long)info.nnz, n, nnz);
        assert_int_equal(info.symmetry, strncmp(symmetry, "sym", 3) ? TRINE_GENERAL : TRINE_SYMMETRIC);
        assert_int_equal(info.pattern, strstr(symmetry, "pattern") != NULL);
        OK(trine_matrix_destroy(&A));
        matrices++;
    }
    fclose(f);
    print_message("%d real matrices\n", matrices);
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
        cmocka_unit_test(duplicates_whose_sum_is_not_finite_are_refused),
        cmocka_unit_test(empty_matrices_are_matrices),
        cmocka_unit_test(bad_files_get_a_sentence_with_the_line),
        cmocka_unit_test(files_that_cannot_be_read_are_io_errors),
        cmocka_unit_test(a_million_numbers_are_rounded_as_strtod_and_strtof_do),
        cmocka_unit_test(numbers_of_a_thousand_digits_are_rounded_exactly),
        cmocka_unit_test(vectors_come_back_exactly),
        cmocka_unit_test(vectors_are_read_from_plain_text_and_coordinates),
        cmocka_unit_test(every_real_matrix_has_the_size_of_the_catalogue),
        cmocka_unit_test(nothing_temporary_is_left),
    };
    return IO_TEST_MAIN(tests);
}
