/* Harwell-Boeing files; matrices written in both formats. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "io_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
    snprintf(text, sizeof text, TITLE "3 1 1 1 0\nRRA 1 %d %d 0\n(20I4)          (20I4)          %-20s\n%s\n%s\n%s\n",
             n, n, format, pointers, indices, record);
    read_and_compare(file_with("a.rra", text), TRINE_D, 1, n, dense, n, TRINE_GENERAL);
}

static void fortran_formats_mean_what_fortran_says(void **state)
{
    (void)state;
    read_record("(4D20.12)", "  0.123456789012D+01 -0.5D00             1.0D+100            7.", 4,
                (double[]){1.23456789012, -.5, 1e100, 7});
    /* P scales what has no exponent */
    read_record("(1P,4D8.1)", " 1.0D+00 5.00    1.0-100    1e+2", 4, (double[]){1, .5, 1e-100, 10});
    /* no blanks between */
    read_record("(1P4E8.1)", "-1.5E-10-1.5E-11-1.5E-12-1.5E-13", 4, (double[]){-1.5e-10, -1.5e-11, -1.5e-12, -1.5e-13});
    read_record("(-1p,2f6.2)", "  1.25   300", 2, (double[]){12.5, 30});
    /* no point: the last 3 digits are behind it */
    read_record("(3F8.3)", "   12345      -1    1E+2", 3, (double[]){12.345, -.001, .1});
    read_record("( 2 (1X, E9.2E3), 1X, G5.2 )", " 1.00E+002 2.00E-002   3.5", 3, (double[]){100, .02, 3.5});
    read_record("(3I5)", "    1   -2    3", 3, (double[]){1, -2, 3});
    read_record("(3E25.16)", "1.5 -2.5E+01 3.5E+02", 3, (double[]){1.5, -25, 350}); /* as many words as fields */
    read_record("(2F10.0)", " 1 2. 5        3.", 2, (double[]){12.5, 3}); /* blanks within a field do not count */
}

static void boeing_symmetries_types_and_right_hand_sides(void **state)
{
    (void)state;
#define FORMATS "(10I4)          (10I4)          (10F6.0)\n"
    const double complex symmetric[] = {1, 2, 0, 2, 0, 3, 0, 3, 4};
    read_and_compare(
        file_with("a.rsa", TITLE
                  "4 1 1 1 1\nRSA 3 3 4 0\n(10I4)          (10I4)          (10F6.0)            (5E15.8)\nF 1 3\n"
                  "   1   3   4   5\n   1   2   3   3\n    1.    2.    3.    4.\n right-hand sides are skipped\n"),
        TRINE_S, 3, 3, symmetric, 6, TRINE_SYMMETRIC);
    const double complex pattern[] = {3, 1, 0, 1, 0, 1, 0, 1, 3};
    read_and_compare(file_with("a.psa", TITLE
                               "2 1 1 0 0\nPSA 3 3 4 0\n(10I4)          (10I4)\n   1   3   4   5\n   1   2   3   3\n"),
                     TRINE_D, 3, 3, pattern, 6, TRINE_SYMMETRIC);
    read_and_compare(
        file_with("a.psa", TITLE
                  "2 1 1 0 0\r\nPSA 3 3 4 0\r\n(10I4)          (10I4)\r\n   1   3   4   5\r\n   1   2   3   3\r\n"),
        TRINE_C, 3, 3, pattern, 6, TRINE_SYMMETRIC);
    const double complex skew[] = {0, -2, 2, 0};
    read_and_compare(file_with("a.rza", TITLE "3 1 1 1\nrza 2 2 1 0\n" FORMATS "   1   2   2\n   2\n    2.\n"), TRINE_D,
                     2, 2, skew, 2, TRINE_SKEW);
    const double complex hermitian[] = {1, 2 - 3 * I, 2 + 3 * I, 0};
    read_and_compare(
        file_with("a.cha", TITLE "3 1 1 1\ncha 2 2 2 0\n" FORMATS "   1   3   3\n   1   2\n    1.    0.    2.    3.\n"),
        TRINE_Z, 2, 2, hermitian, 3, TRINE_HERMITIAN);
    const double complex integers[] = {-5, 7};
    read_and_compare(
        file_with("a.iua",
                  TITLE "3 1 1 1\niua 2 1 2 0\n(10I4)          (10I4)          (10I3)\n   1   3\n   2   1\n  7 -5\n"),
        TRINE_D, 2, 1, integers, 2, TRINE_GENERAL);
    read_and_compare(file_with("a.rua", TITLE "1 1 0 0\nrua 0 0 0 0\n" FORMATS "   1\n"), TRINE_D, 0, 0, NULL, 0,
                     TRINE_GENERAL);
}

/** A record is read by its words where they are as many as its fields and its columns cannot be right, by its
 *  columns otherwise, whatever the record before it looked like. */
static void records_of_one_section_may_be_written_in_different_ways(void **state)
{
    (void)state;
    double complex dense[12 * 6] = {0};
    dense[0] = 1.5;
    dense[1] = 1234.5;
    dense[11 * 6 + 2] = -2.5;
    dense[3] = 3.25;
    dense[6 + 4] = 0.7;
    dense[6 + 5] = 8;
    read_and_compare(
        file_with("a.rua",
                  TITLE "7 1 3 3\nrua 12 6 6 0\n(10I4)          (2I1)           (2F6.1)\n"
                        "   1   2   3   4   5   6   7\n"
                        "11\n12 1\n2 2\n" /* columns; words, although \"1\" and \"2\" stand in the columns; words */
                        /* columns; words; the first with an implied point */
                        "   1.51234.5\n-2.5          3.25\n     7    8.\n"),
        TRINE_D, 12, 6, dense, 6, TRINE_GENERAL);
}

/** A 300 x 2 file with the entries (12,1), (33,1), (34,2), as the records of its row indices and values say. */
static const char *three_entries(const char *indices, const char *values)
{
    char text[1024];
    snprintf(text, sizeof text,
             TITLE "4 1 1 1\nrua 300 2 3 0\n(3I5)           (3I5)           (3F5.1)\n    1  3    4 \n%s\n%s\n", indices,
             values);
    return file_with("a.rua", text);
}

/** Blanks within a field do not count, as in a Fortran READ with BLANK='NULL'. Where the columns and the words of a
 *  record both are numbers, but not the same ones, the record is refused. */
static void blanks_within_fields_do_not_count(void **state)
{
    (void)state;
    trine_matrix A;
    static double complex dense[300 * 2];
    dense[11 * 2] = 1.5;
    dense[32 * 2] = 20.5;
    dense[33 * 2 + 1] = -7;
    read_and_compare(three_entries("   12   33   34", "  1.5 20.5  -7."), TRINE_D, 300, 2, dense, 3, TRINE_GENERAL);
    read_and_compare(three_entries("  1 2 3 3   34", "1 . 5 20.5 - 7."), TRINE_D, 300, 2, dense, 3, TRINE_GENERAL);
    /* words */
    read_and_compare(three_entries("12 33             34", "   1.5    20.5     -7."), TRINE_D, 300, 2, dense, 3,
                     TRINE_GENERAL);
    static const char says[] = "as many words as fields, but its columns hold other numbers";
    FAILS(TRINE_ERR_FORMAT, says,
          trine_matrix_read(ctx, &A, three_entries("1   234       5", "  1.5 20.5  -7."), TRINE_D));
    assert_non_null(strstr(trine_last_error(), "a.rua, line 6"));
    FAILS(TRINE_ERR_FORMAT, says,
          trine_matrix_read(ctx, &A, three_entries("   12   33   34", "1.  23.5    -7."), TRINE_D));
    assert_non_null(strstr(trine_last_error(), "a.rua, line 7"));
    FAILS(TRINE_ERR_FORMAT, says,
          trine_matrix_read(ctx, &A, three_entries("   12   33   34", "1.  23.5    -7."), TRINE_C));
    FAILS(TRINE_ERR_FORMAT, "\"\" is no row index",
          trine_matrix_read(ctx, &A, three_entries("  1 2          ", "  1.5 20.5  -7."), TRINE_D));
    /* a word too long to be looked at closely is not taken for two */
    char record[200];
    snprintf(record, sizeof record, "1111E%0*d 2.5 3.5", 140, 1);
    FAILS(TRINE_ERR_FORMAT, "?\" is no number",
          trine_matrix_read(ctx, &A, three_entries("   12   33   34", record), TRINE_D));
}

/** Records after the first are read by the last group of their format. */
static void later_records_go_back_to_the_last_group(void **state)
{
    (void)state;
    const double complex row[] = {1, 2, 3, 4, 5};
    double complex dense[300] = {0};
    for (int k = 0; k < 5; k++) dense[(99 + 50 * k)] = row[k];
    read_and_compare(
        file_with(
            "a.rra", TITLE
            "6 2 2 2\nrra 300 1 5 0\n(I2,2(I3))      (I4,I3,2(I3),1X) (1X,2(F2.0))\n 1  6\n 100150200250\n300\n 1.2.\n3.4.\n5.\n"),
        TRINE_D, 300, 1, dense, 5, TRINE_GENERAL);
}

/** Repeat counts ask for no work and no columns that the text does not have. */
static void formats_that_ask_for_too_much_are_refused(void **state)
{
    (void)state;
    enum { skips = 32769, commas = 1000000 };
    static char text[commas + 500];
    trine_matrix A;
    const int head = snprintf(text, sizeof text, TITLE "3 1 1 1\nrua 1 1 1 0\n(");
    char *p = text + head;
    for (int k = 0; k < skips; k++) p += sprintf(p, "65536X,");
    strcpy(p, "I4)(I4)(F6.0)\n   1   2\n   1\n    1.\n");
    FAILS(TRINE_ERR_FORMAT, "has a record longer than 65536",
          trine_matrix_read(ctx, &A, file_with("a.rua", text), TRINE_D));
    static const char *const too_long[] = {"(65537X,I4)", "(65536X,I4)", "(256(257X),I4)", "(2(256(128X)),2(64X),I4)",
                                           "(256(256(X)),I4)"};
    for (size_t k = 0; k < sizeof too_long / sizeof *too_long; k++) {
        snprintf(text + head - 1, sizeof text - (size_t)head, "%s(I4)(F6.0)\n   1   2\n   1\n    1.\n", too_long[k]);
        FAILS(TRINE_ERR_FORMAT, "has a record longer than 65536",
              trine_matrix_read(ctx, &A, file_with("a.rua", text), TRINE_D));
    }
    p = text + head + sprintf(text + head, "256(256("); /* 6.5e10 characters if the groups were written out */
    memset(p, ',', commas);
    strcpy(p + commas, "))2I4)(I4)(F6.0)\n   1   2\n   1\n    1.\n");
    const double complex one[] = {1};
    read_and_compare(file_with("a.rua", text), TRINE_D, 1, 1, one, 1, TRINE_GENERAL);
    read_and_compare(file_gzipped("a.rua.gz", text), TRINE_D, 1, 1, one, 1, TRINE_GENERAL);
}

static void bad_boeing_files_get_a_sentence_with_the_line(void **state)
{
    (void)state;
#define HEAD TITLE "3 1 1 1\nrua 2 2 2 0\n" FORMATS
    static const struct {
        const char *text, *says;
    } cases[] = {
        {TITLE "3 1 1 1\nrue 2 2 2 0\n" FORMATS, "line 3: the matrix is elemental (rue); only assembled"},
        {TITLE "3 1 1\nrua 2 2 2 0\n" FORMATS, "line 2: not four or five numbers"},
        {TITLE "3 1 1 1\nrua 2 2\n" FORMATS, "line 3: no numbers of rows"},
        {TITLE "3 1 1 1\nrua 2 3000000000 1 0\n" FORMATS, "line 3: 3000000000 columns"},
        {TITLE "3 1 1 1\nrsa 2 3 1 0\n" FORMATS, "line 3: 2 x 3 is not square"},
        {TITLE "3 1 1 1\nrha 2 2 1 0\n" FORMATS, "line 3: a Hermitian matrix is complex"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10A4)          (10I4)          (10F6.0)\n",
         "line 4: the format of the pointers, \"(10A4)\", has an edit descriptor"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10I4)          (10F6.0\n", "line 4: the format of the values"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10I4)\n",
         "line 4: the format of the values, \"\", has no opening"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10F4.0)        (10F6.0)\n",
         "line 4: pointers and row indices are not integers"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (999I4)         (10F6.0)\n", "has no field or more than 256"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n((((((I4))))))  (10I4)          (10F6.0)\n", "has groups nested too deeply"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(I4,I5,F6.0)    (10I4)          (10F6.0)\n", "has fields of different kinds"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(-3I4)          (10I4)          (10F6.0)\n", "has a negative repeat count"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (10I4)          (F6.0,1P,9F6.0)\n",
         "has fields of different scale factors"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4)          (6(17(3I4)))    (10F6.0)\n", "has no field or more than 256"},
        {TITLE "3 1 1 1\nrua 2 2 2 0\n(10I4,(1X))     (10I4)          (10F6.0)\n", "has no field in its last group"},
        {TITLE "3 1 1 1\nrua 2 2000000000 2 0\n" FORMATS "   1\n",
         "line 5: 2000000001 numbers are declared, but only 5 bytes follow"},
        {TITLE "3 1 1 1\nrua 2 2 9000000000000000000 0\n" FORMATS "   1   2   3\n",
         "line 5: 9000000000000000000 entries are declared, but only 13 bytes"},
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
        {TITLE "3 1 1 1\nrsa 2 2 2 0\n" FORMATS "   1   2   3\n   2   1\n    1.    2.\n",
         "line 6: entry (1,2) is above the diagonal, others are below"},
        {TITLE "3 1 1 1\nrza 2 2 2 0\n" FORMATS "   1   3   3\n   1   2\n    1.    2.\n",
         "line 7: diagonal entry 1 of a skew-symmetric matrix is not zero"},
    };
#undef HEAD
#undef FORMATS
    trine_matrix A;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        FAILS(TRINE_ERR_FORMAT, cases[k].says,
              trine_matrix_read(ctx, &A, file_with("bad.rua", cases[k].text), TRINE_D));
        assert_non_null(strstr(trine_last_error(), "bad.rua"));
        assert_null(A);
    }
    FAILS(TRINE_ERR_ARGUMENT, "is complex",
          trine_matrix_read(
              ctx, &A, file_with("bad.cua", TITLE "1 1 0 0\ncua 0 0 0 0\n(I4)            (I4)            (I4)\n   1\n"),
              TRINE_S));
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
                    trine_matrix B,
                        A = make_matrix(ctx, t, f % 2 ? TRINE_CSR : TRINE_CSC, sizes[s][0], sizes[s][1], symmetry);
                    trine_matrix_info info;
                    const char *path = file_path(names[f]);
                    OK(trine_matrix_write(A, path, symmetry));
                    OK(trine_matrix_read(ctx, &B, path, t));
                    OK(trine_matrix_get_info(B, &info));
                    assert_int_equal(info.symmetry,
                                     symmetry == TRINE_HERMITIAN && t <= TRINE_D ? TRINE_SYMMETRIC : symmetry);
                    assert_same_matrix(A, B);
                    OK(trine_matrix_destroy(&A));
                    OK(trine_matrix_destroy(&B));
                }
            }
        }
    }
}

/** The header says how many records there are, none is longer than 80 characters or empty, and each section has its
 *  own. */
static void written_headers_count_their_records(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 7, 33};
    for (trine_dtype t = TRINE_S; t <= TRINE_Z; t++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            trine_matrix A = make_matrix(ctx, t, TRINE_CSC, sizes[s], sizes[s], TRINE_GENERAL);
            trine_matrix_info info;
            char line[200];
            int total = 0, sections[3] = {0}, pointers, indices, values, records = 0;
            OK(trine_matrix_get_info(A, &info));
            OK(trine_matrix_write(A, file_path("count.rb"), TRINE_GENERAL));
            FILE *file = fopen(file_path("count.rb"), "r");
            assert_non_null(fgets(line, sizeof line, file));
            assert_int_equal(fscanf(file, "%d %d %d %d\n", &total, &sections[0], &sections[1], &sections[2]), 4);
            assert_non_null(fgets(line, sizeof line, file));
            assert_non_null(fgets(line, sizeof line, file));
            assert_int_equal(sscanf(line, "(%dI%*d) (%dI%*d) (%dE", &pointers, &indices, &values), 3);
            const int64_t numbers[] = {info.n_cols + 1, info.nnz, t >= TRINE_C ? 2 * info.nnz : info.nnz};
            const int a_record[] = {pointers, indices, values};
            for (int k = 0; k < 3; k++) assert_int_equal(sections[k], (numbers[k] + a_record[k] - 1) / a_record[k]);
            assert_int_equal(total, sections[0] + sections[1] + sections[2]);
            for (; fgets(line, sizeof line, file); records++) {
                const size_t length = strlen(line);
                assert_true(length > 1 && length <= 81 && line[length - 1] == '\n');
            }
            assert_int_equal(records, total);
            fclose(file);
            OK(trine_matrix_destroy(&A));
        }
    }
}

static void written_patterns_stay_patterns(void **state)
{
    (void)state;
    static const char *const names[] = {"p.mtx", "p.rb"};
    const char *in =
        file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n");
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
    FAILS(TRINE_ERR_STRUCTURE, "is not zero, so the matrix is not skew",
          trine_matrix_write(A, file_path("a.mtx"), TRINE_SKEW));
    FAILS(TRINE_ERR_IO, "cannot be created: No such file",
          trine_matrix_write(A, file_path("no/such/folder.mtx"), TRINE_GENERAL));
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
        const trine_status vectors =
            f < 2 ? trine_vectors_write(ctx, path, TRINE_D, NULL, 1000000, 0, 0) : TRINE_SUCCESS;
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

/** The library's open(): as on a file system that has no files without a name, if wanted. */
static bool no_unnamed_files;
TRINE_API int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int mode = va_arg(args, int); /* not looked at unless a file is made */
    va_end(args);
    if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/** The library's fchmod(): of a file system without permissions, if wanted. */
static bool no_permissions;
TRINE_API int fchmod(int file, mode_t mode)
{
    if (!no_permissions) return (int)syscall(SYS_fchmod, file, mode);
    errno = EPERM;
    return -1;
}

/** Read path and assert that it is A. */
static void assert_file_holds(const char *path, trine_matrix A)
{
    trine_matrix B;
    OK(trine_matrix_read(ctx, &B, path, TRINE_D));
    assert_same_matrix(A, B);
    OK(trine_matrix_destroy(&B));
}

static void links_are_followed_to_files_that_do_not_exist(void **state)
{
    (void)state;
    trine_matrix A = make_matrix(ctx, TRINE_D, TRINE_CSR, 6, 6, TRINE_GENERAL);
    struct stat about;
    for (int named = 0; named <= 1; named++) {
        no_unnamed_files = named;
        const char *first = file_path("first.mtx"), *second = file_path("second.mtx");
        assert_int_equal(symlink(second, first), 0); /* absolute, then relative */
        assert_int_equal(symlink("third.mtx", second), 0);
        OK(trine_matrix_write(A, first, TRINE_GENERAL));
        assert_true(lstat(first, &about) == 0 && S_ISLNK(about.st_mode));
        assert_true(lstat(second, &about) == 0 && S_ISLNK(about.st_mode));
        assert_int_equal(remove(first), 0);
        assert_int_equal(remove(second), 0);
        const char *third = file_path("third.mtx");
        assert_file_holds(third, A);
        assert_int_equal(stat(third, &about), 0);
        const mode_t mask = umask(0);
        umask(mask);
        assert_int_equal(about.st_mode & 0777, 0666 & ~mask);
        assert_int_equal(remove(third), 0);
        assert_int_equal(symlink("no/such/folder.mtx", file_path("first.mtx")), 0);
        FAILS(TRINE_ERR_IO, "cannot be created: No such file",
              trine_matrix_write(A, file_path("first.mtx"), TRINE_GENERAL));
        assert_int_equal(remove(file_path("first.mtx")), 0);
        assert_int_equal(symlink("loop.mtx", file_path("loop.mtx")), 0);
        FAILS(TRINE_ERR_IO, "cannot be created: Too many levels of symbolic links",
              trine_matrix_write(A, file_path("loop.mtx"), TRINE_GENERAL));
        assert_int_equal(remove(file_path("loop.mtx")), 0);
    }
    no_unnamed_files = false;
    OK(trine_matrix_destroy(&A));
}

static void a_file_whose_permissions_cannot_be_kept_stays(void **state)
{
    (void)state;
    trine_matrix A = make_matrix(ctx, TRINE_D, TRINE_CSR, 6, 6, TRINE_GENERAL);
    char bytes[9] = "";
    for (int named = 0; named <= 1; named++) {
        const char *path = file_with("kept.mtx", "precious");
        const int before = number_of_files();
        no_unnamed_files = named;
        no_permissions = true;
        FAILS(TRINE_ERR_IO, "kept.mtx: cannot keep its permissions: Operation not permitted",
              trine_matrix_write(A, path, TRINE_GENERAL));
        no_unnamed_files = no_permissions = false;
        assert_int_equal(number_of_files(), before);
        FILE *file = fopen(path, "r");
        assert_int_equal(fread(bytes, 1, 8, file), 8);
        fclose(file);
        assert_string_equal(bytes, "precious");
    }
    OK(trine_matrix_destroy(&A));
}

/** Names as long as the file system takes have no room for anything beside them. */
static void names_may_be_as_long_as_the_file_system_takes(void **state)
{
    (void)state;
    trine_matrix A = make_matrix(ctx, TRINE_D, TRINE_CSR, 6, 6, TRINE_GENERAL);
    static const int lengths[] = {249, 255};
    char path[400], cwd[400];
    for (int named = 0; named <= 1; named++) {
        no_unnamed_files = named;
        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/%0*d.mtx", folder, lengths[k] - 4, 0);
            for (int again = 0; again <= 1; again++) { /* new, and replaced */
                OK(trine_matrix_write(A, path, TRINE_GENERAL));
                assert_file_holds(path, A);
            }
            assert_int_equal(remove(path), 0);
        }
        snprintf(path, sizeof path, "%s/%0*d.mtx", folder, 252, 0);
        FAILS(TRINE_ERR_IO, "cannot be created: File name too long", trine_matrix_write(A, path, TRINE_GENERAL));
        assert_non_null(getcwd(cwd, sizeof cwd)); /* a name without a folder */
        assert_int_equal(chdir(folder), 0);
        OK(trine_matrix_write(A, "here.mtx", TRINE_GENERAL));
        assert_int_equal(chdir(cwd), 0);
        assert_file_holds(file_path("here.mtx"), A);
    }
    no_unnamed_files = false;
    OK(trine_matrix_destroy(&A));
}

/** Write into a file that may not grow: the process is killed, as by SIGINT or SIGTERM, halfway. */
static void a_killed_write_leaves_nothing(void **state)
{
    (void)state;
    const int unnamed = open(folder, O_WRONLY | O_TMPFILE, 0600);
    if (unnamed < 0) {
        print_message("skipped: the file system of %s has no files without a name\n", folder);
        skip();
    }
    close(unnamed);
    trine_matrix A = make_matrix(ctx, TRINE_D, TRINE_CSR, 60, 60, TRINE_GENERAL);
    for (int exists = 0; exists <= 1; exists++) {
        const char *path = exists ? file_with("killed.mtx", "precious") : file_path("killed.mtx");
        const int before = number_of_files();
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            const struct rlimit small = {5000, 5000}, none = {0, 0};
            setrlimit(RLIMIT_FSIZE, &small);
            setrlimit(RLIMIT_CORE, &none);
            signal(SIGXFSZ, SIG_DFL);
            trine_matrix_write(A, path, TRINE_GENERAL);
            _exit(0);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ);
        assert_int_equal(number_of_files(), before);
    }
    char bytes[9] = "";
    FILE *file = fopen(file_path("killed.mtx"), "r");
    assert_int_equal(fread(bytes, 1, 8, file), 8);
    fclose(file);
    assert_string_equal(bytes, "precious");
    OK(trine_matrix_destroy(&A));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boeing_files_are_read_in_every_precision),
        cmocka_unit_test(fortran_formats_mean_what_fortran_says),
        cmocka_unit_test(boeing_symmetries_types_and_right_hand_sides),
        cmocka_unit_test(records_of_one_section_may_be_written_in_different_ways),
        cmocka_unit_test(blanks_within_fields_do_not_count),
        cmocka_unit_test(later_records_go_back_to_the_last_group),
        cmocka_unit_test(formats_that_ask_for_too_much_are_refused),
        cmocka_unit_test(bad_boeing_files_get_a_sentence_with_the_line),
        cmocka_unit_test(written_matrices_come_back_exactly),
        cmocka_unit_test(written_headers_count_their_records),
        cmocka_unit_test(written_patterns_stay_patterns),
        cmocka_unit_test(a_failed_write_leaves_nothing_and_spoils_nothing),
        cmocka_unit_test(links_are_followed_to_files_that_do_not_exist),
        cmocka_unit_test(a_file_whose_permissions_cannot_be_kept_stays),
        cmocka_unit_test(names_may_be_as_long_as_the_file_system_takes),
        cmocka_unit_test(a_killed_write_leaves_nothing),
        cmocka_unit_test(nothing_temporary_is_left),
    };
    return IO_TEST_MAIN(tests);
}
