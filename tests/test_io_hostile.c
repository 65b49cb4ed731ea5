/* Mangled and truncated files, failing allocations, long files with a mistake. */
#include "io_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/** Reading whatever this is succeeds or fails with a sentence; the sanitizers watch. */
static void try_bytes(const char *bytes, size_t size, int *read, int *refused)
{
    trine_matrix A;
    void *x;
    int64_t rows, cols;
    const char *path = file_bytes("mangled", bytes, size);
    trine_status status = trine_matrix_read(ctx, &A, path, TRINE_Z);
    if (status != TRINE_SUCCESS && status != TRINE_ERR_FORMAT && status != TRINE_ERR_IO)
        fail_msg("%s", trine_last_error());
    if (status == TRINE_SUCCESS) ++*read;
    else ++*refused;
    if (status) {
        assert_null(A);
        assert_true(strlen(trine_last_error()) > 10);
    }
    OK(trine_matrix_destroy(&A));
    status = trine_vectors_read(ctx, path, TRINE_Z, &x, &rows, &cols);
    if (status != TRINE_SUCCESS && status != TRINE_ERR_FORMAT && status != TRINE_ERR_IO)
        fail_msg("%s", trine_last_error());
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
            copy[at] =
                u < .5 ? copy[at] ^ (char)(1 << (int)(u * 16)) : likely[(size_t)((u - .5) * 2 * (sizeof likely - 1))];
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
    trine_matrix A = make_matrix(ctx, TRINE_Z, TRINE_CSR, 6, 6, TRINE_HERMITIAN),
                 B = make_matrix(ctx, TRINE_D, TRINE_CSR, 7, 5, TRINE_GENERAL), P;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        static char bytes[20000];
        const char *path = file_path(names[f]);
        if (names[f][0] == 'm') {
            OK(trine_matrix_write(f % 2 ? B : A, path, f % 2 ? TRINE_GENERAL : TRINE_HERMITIAN));
        } else if (names[f][0] == 'p') {
            OK(trine_matrix_read(
                ctx, &P,
                file_with("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n3 2\n3 3\n"),
                TRINE_D));
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
    FAILS(TRINE_ERR_FORMAT, "g.mtx.gz: the gzip data is truncated after byte",
          trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size - 10), TRINE_D));
    FAILS(TRINE_ERR_FORMAT, "truncated", trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, 2), TRINE_D));
    bytes[size - 6] ^= 1; /* of the checksum */
    FAILS(TRINE_ERR_FORMAT, "the gzip data is damaged near byte",
          trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size), TRINE_D));
    bytes[size - 6] ^= 1;
    strcpy(bytes + size, "more");
    FAILS(TRINE_ERR_FORMAT, "the gzip data is damaged",
          trine_matrix_read(ctx, &A, file_bytes("g.mtx.gz", bytes, size + 4), TRINE_D));
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

/** Rows, columns and values that a file does not hold cost memory and time: only so many are believed. */
static void sizes_that_a_file_only_claims_are_limited(void **state)
{
    (void)state;
#define BANNER "%%MatrixMarket matrix coordinate real general\n"
    static const char says[] = "are more than the 1048576 that a file of";
    static const char *const matrices[] = {
        BANNER "200000000 1 1\n1 1 1\n",
        BANNER "1 200000000 1\n1 1 1\n",
        BANNER "1048577 1048576 0\n",
        "%%MatrixMarket matrix array real general\n0 2000000000\n",
        "%%MatrixMarket matrix array real general\n2000000000 0\n",
        TITLE "3 1 1 1\nrua 200000000 1 1 0\n(I4)            (I4)            (F6.0)\n   1\n   2\n   1\n    1.\n"};
    static const char *const vectors[] = {BANNER "1048577 1 0\n", BANNER "2000000000 2000000000 1\n1 1 1\n",
                                          BANNER "1 1048577 0\n"};
    trine_matrix A;
    trine_matrix_info info;
    void *x;
    int64_t rows, cols;
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        FAILS(TRINE_ERR_FORMAT, says, trine_matrix_read(ctx, &A, file_with("claims", matrices[k]), TRINE_D));
        assert_non_null(strstr(trine_last_error(), k < 5 ? "claims, line 2: " : "claims, line 3: "));
        assert_non_null(strstr(trine_last_error(), "max_rows allows more"));
    }
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        FAILS(TRINE_ERR_FORMAT, says,
              trine_vectors_read(ctx, file_with("claims", vectors[k]), TRINE_D, &x, &rows, &cols));

    /* asked for, they are read; a million are read anyway, and 16 for each byte of the file */
    const trine_read_options one_more = {.max_rows = 1048577}, few = {.max_rows = 2};
    OK(trine_matrix_read(ctx, &A, file_with("claims", BANNER "1000000 1000000 0\n"), TRINE_D));
    OK(trine_matrix_get_info(A, &info));
    assert_true(info.n_rows == 1000000 && info.n_cols == 1000000 && info.nnz == 0);
    OK(trine_matrix_destroy(&A));
    OK(trine_matrix_read_with(ctx, &A, file_with("claims", matrices[2]), TRINE_D, &one_more));
    OK(trine_matrix_destroy(&A));
    FAILS(TRINE_ERR_FORMAT, "200000000 rows are more than the 1048577",
          trine_matrix_read_with(ctx, &A, file_with("claims", matrices[0]), TRINE_D, &one_more));
    FAILS(TRINE_ERR_FORMAT, "3 rows are more than the 2",
          trine_matrix_read_with(ctx, &A, file_with("claims", BANNER "3 2 0\n"), TRINE_D, &few));
    OK(trine_vectors_read_with(ctx, file_with("claims", vectors[0]), TRINE_D, &x, &rows, &cols, &one_more));
    assert_true(rows == 1048577 && cols == 1 && ((double *)x)[1048576] == 0);
    trine_free(ctx, TRINE_HOST, x);
    OK(trine_vectors_read(ctx, file_with("claims", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n"), TRINE_D,
                          &x, &rows, &cols));
    trine_free(ctx, TRINE_HOST, x);
    static char padded[70000];
    memset(padded, '\n', sizeof padded - 1);
    memcpy(padded, BANNER "1120000 1 0\n", sizeof BANNER "1120000 1 0\n" - 1);
    FAILS(TRINE_ERR_FORMAT, "1120000 rows are more than the 1119984 that a file of 69999 bytes",
          trine_matrix_read(ctx, &A, file_with("claims", padded), TRINE_D));
    memcpy(padded, BANNER "1119984 1 0\n", sizeof BANNER "1119984 1 0\n" - 1);
    OK(trine_matrix_read(ctx, &A, file_with("claims", padded), TRINE_D));
    OK(trine_matrix_destroy(&A));
    /* as it lies on the disk */
    FAILS(TRINE_ERR_FORMAT, "1119984 rows are more",
          trine_matrix_read(ctx, &A, file_gzipped("claims", padded), TRINE_D));
    FAILS(TRINE_ERR_ARGUMENT, "max_rows is -1",
          trine_matrix_read_with(ctx, &A, "x", TRINE_D, &(trine_read_options){.max_rows = -1}));
    FAILS(TRINE_ERR_ARGUMENT, "max_text is -1",
          trine_vectors_read_with(ctx, "x", TRINE_D, &x, &rows, &cols, &(trine_read_options){.max_text = -1}));
#undef BANNER
}

/** A gzipped file may inflate to a thousand times its size: only so much of it is believed. */
static void text_that_a_small_gzip_file_holds_is_limited(void **state)
{
    (void)state;
    enum { block = 1 << 20, blocks = 64 }; /* with the banner more than 2^26 bytes */
    static char blank[block];
    trine_matrix A;
    void *x;
    int64_t rows, cols;
    const char *path = file_path("bomb.mtx.gz");
    memset(blank, '\n', sizeof blank);
    gzFile f = gzopen(path, "wb1");
    assert_non_null(f);
    assert_true(gzputs(f, "%%MatrixMarket matrix coordinate real general\n") > 0);
    for (int k = 0; k < blocks; k++) assert_int_equal(gzwrite(f, blank, block), block);
    assert_true(gzputs(f, "1 1 1\n1 1 5\n") > 0);
    assert_int_equal(gzclose(f), Z_OK);
    FAILS(TRINE_ERR_FORMAT, "bytes of gzip data hold more than 67108864 bytes of text; max_text allows more",
          trine_matrix_read(ctx, &A, path, TRINE_D));
    FAILS(TRINE_ERR_FORMAT, "more than 67108864 bytes", trine_vectors_read(ctx, path, TRINE_D, &x, &rows, &cols));
    OK(trine_matrix_read_with(ctx, &A, path, TRINE_D, &(trine_read_options){.max_text = 70000000}));
    OK(trine_matrix_destroy(&A));
    const double complex five[] = {5};
    const trine_read_options small = {.max_text = 50};
    read_and_compare(file_gzipped("bomb.mtx.gz", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n"),
                     TRINE_D, 1, 1, five, 1, TRINE_GENERAL);
    FAILS(TRINE_ERR_FORMAT, "more than 50 bytes of text", trine_matrix_read_with(ctx, &A, path, TRINE_D, &small));
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
    static const char *const texts[] = {
        general, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n3 3\n2 1\n3 3\n1 1\n",
        "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", boeing, general};
    for (int f = 0; f < 5; f++) {
        snprintf(inputs_text[f], sizeof inputs_text[f], "%s",
                 f == 4 ? file_gzipped(names[f], texts[f]) : file_with(names[f], texts[f]));
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
        if (status != TRINE_ERR_MEMORY)
            fail_msg("allocation %d: %s (%s)", (int)k, trine_status_string(status), trine_last_error());
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
        cmocka_unit_test(sizes_that_a_file_only_claims_are_limited),
        cmocka_unit_test(text_that_a_small_gzip_file_holds_is_limited),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(long_files_are_read_in_parallel_with_the_right_line_in_errors),
        cmocka_unit_test(nothing_temporary_is_left),
    };
    return IO_TEST_MAIN(tests);
}
