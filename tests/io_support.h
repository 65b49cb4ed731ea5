/* What the tests of files share: a folder of their own, small files in it, matrices to compare. */
#ifndef TRINE_IO_SUPPORT_H
#define TRINE_IO_SUPPORT_H

#include "harness.h"

#include <complex.h>

/** The program's context on the CPU with two threads, and its temporary folder. */
extern trine_context ctx;
extern char folder[64];
int make_folder(void **state);
int remove_folder(void **state);
#define IO_TEST_MAIN(tests) \
    (test_device_is_there() ? cmocka_run_group_tests_name("files", tests, make_folder, remove_folder) : 77)

/** Path of a file in the folder; the text lives until the second next call. */
const char *file_path(const char *name);
/** A file with the given bytes, text, or gzipped text; its path. */
const char *file_bytes(const char *name, const void *bytes, size_t size);
const char *file_with(const char *name, const char *text);
const char *file_gzipped(const char *name, const char *text);
int number_of_files(void);

/** A Matrix Market file and what it says; a Harwell-Boeing file and what it says (4 x 3). */
extern const char general[], boeing[];
extern const double complex general_dense[12], boeing_dense[12];
#define TITLE "A title                                                                 KEY     \n"

/** Read path and assert what it is; expected is dense and row-major, what is not stored is 0. */
void read_and_compare(const char *path, trine_dtype t, int rows, int cols, const double complex *expected, int64_t nnz,
                      trine_symmetry symmetry);
/** A matrix with entries of every size, with the given symmetry; n = 0 is allowed. */
trine_matrix make_matrix(trine_context c, trine_dtype t, trine_format format, int n_rows, int n_cols,
                         trine_symmetry symmetry);
/** The same places and, bit for bit, values. */
void assert_same_matrix(trine_matrix A, trine_matrix B);

/** The last test: no temporary file is left in the folder. */
void nothing_temporary_is_left(void **state);

#endif
