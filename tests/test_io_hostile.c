/* Mangled and truncated files, failing allocations, long files with a mistake. */
#include "io_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mangled_files_neither_crash_nor_leak),
        cmocka_unit_test(damaged_gzip_files_say_so),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(long_files_are_read_in_parallel_with_the_right_line_in_errors),
        cmocka_unit_test(nothing_temporary_is_left),
    };
    return IO_TEST_MAIN(tests);
}
