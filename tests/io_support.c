#include "io_support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

char folder[64];
trine_context ctx;

const char *file_path(const char *name)
{
    static char path[2][256];
    static int turn;
    char *p = path[turn ^= 1];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

/** A file with the given bytes. */
const char *file_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = file_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}
const char *file_with(const char *name, const char *text) { return file_bytes(name, text, strlen(text)); }

/** The same bytes gzipped. */
const char *file_gzipped(const char *name, const char *text)
{
    const char *path = file_path(name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), (int)strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

int number_of_files(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/trine-test-io-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    return trine_context_create(&ctx, "cpu:2");
}

int remove_folder(void **state)
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
        for (int i = 0; i < rows; i++)
            assert_true(k <= offsets[i] || k >= offsets[i + 1] || indices[k - 1] < indices[k]);
    for (int i = 0; i < rows; i++) {
        int64_t k = offsets[i];
        for (int j = 0; j < cols; j++) {
            double complex v = 0;
            if (k < offsets[i + 1] && indices[k] == j) {
                v = info.dtype == TRINE_S   ? ((const float *)values)[k]
                    : info.dtype == TRINE_D ? ((const double *)values)[k]
                    : info.dtype == TRINE_C ? ((const float complex *)values)[k]
                                            : ((const double complex *)values)[k];
                k++;
            }
            if (v != expected[i * cols + j]) fail_msg("entry (%d,%d) is %g%+gi", i + 1, j + 1, creal(v), cimag(v));
        }
        assert_int_equal(k, offsets[i + 1]);
    }
}

void read_and_compare(const char *path, trine_dtype t, int rows, int cols, const double complex *expected, int64_t nnz,
                      trine_symmetry symmetry)
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

const char general[] = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 5\n"
                       "1 1 1.5\n3 2 -2e0\n% another\n2 4 .25\n\n1 4 4.\n3 1 1D1\n";
const double complex general_dense[] = {1.5, 0, 0, 4, 0, 0, 0, .25, 10, -2, 0, 0};

/* 4 x 3, by columns: (1,1) 1.5, (3,1) -2, (4,2) 0.25, (1,3) 4, (4,3) 1e-3 */
const char boeing[] = TITLE "             3             1             1             1\n"
                            "rua                        4             3             5             0\n"
                            "(4I3)           (5I2)           (5E8.1)             \n"
                            "  1  3  4  6\n 1 3 4 1 4\n  1.5E00  -2.E00  .25     4.0D+0   1.0-3\n";
const double complex boeing_dense[] = {1.5, 0, 4, 0, 0, 0, -2, 0, 0, 0, .25, 1e-3};

trine_matrix make_matrix(trine_context c, trine_dtype t, trine_format format, int n_rows, int n_cols,
                         trine_symmetry symmetry)
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
            double re = (test_uniform(2, place) - .5) * pow(10, 30 * test_uniform(3, place) - 15),
                   im = t >= TRINE_C ? test_uniform(4, place) - .5 : 0;
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

void assert_same_matrix(trine_matrix A, trine_matrix B)
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

void nothing_temporary_is_left(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) assert_null(strstr(e->d_name, ".tmp"));
    closedir(d);
    assert_true(number_of_files() > 0);
}
