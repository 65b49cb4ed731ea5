/* The strong entries of a matrix beside its diagonal: forest A.mtx. Prints how much of the weight off the diagonal two
 * diagonals have, as A is numbered and in the order of the forest's paths; then solves with these bands. */
#include <stdio.h>
#include <stdlib.h>
#include <trine/trine.h>

int main(int argc, char **argv)
{
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_matrix_info info = {0};
    trine_forest forest = NULL;
    trine_forest_coverage covered = {0};
    trine_forest_result result = {0};
    trine_forest_arrays arrays = {0};
    const void *values = NULL;
    double *bands = NULL;
    void *work = NULL;
    size_t bytes = 0;
    if (argc != 2) return fprintf(stderr, "usage: %s MATRIX\n", argv[0]), 2;
    int failed = trine_context_create(&ctx, "cpu") || trine_matrix_read(ctx, &A, argv[1], TRINE_D) ||
                 trine_matrix_get_info(A, &info) || trine_matrix_get_arrays(A, NULL, NULL, &values);

    const int64_t n = info.n_rows;
    bands = calloc((size_t)(5 * n + 1), sizeof *bands);
    if (!bands) return 1;
    double *a = bands, *b = a + n, *c = b + n, *ones = c + n, *x = ones + n;
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    failed = failed || trine_forest_create(ctx, &forest, A, NULL) ||     /* the pattern: once */
             trine_forest_run(forest, TRINE_HOST, values, NULL, NULL) || /* weights, edges, paths, order */
             trine_forest_get_coverage(forest, TRINE_HOST, values, &covered, NULL) ||
             trine_forest_get_result(forest, &result, NULL) || trine_forest_get_arrays(forest, &arrays) ||
             trine_forest_extract(forest, TRINE_HOST, values, a, b, c, NULL) || /* bands in path order */
             trine_gtsv_work_size(ctx, TRINE_D, n, 1, NULL, &bytes) || trine_alloc(ctx, TRINE_HOST, bytes, &work) ||
             trine_gtsv(ctx, TRINE_D, n, 1, NULL, a, b, c, ones, n, x, n, work, bytes, NULL);
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    else {
        printf("beside the diagonal: %.3f as numbered, %.3f along paths\n", covered.identity, covered.factor);
        printf("%d paths, the longest of %d rows\n", (int)result.paths, (int)result.longest);
        printf("row %d comes first, x = %.6f there\n", (int)arrays.permutation[0], x[0]);
    }

    trine_free(ctx, TRINE_HOST, work);
    free(bands);
    trine_forest_destroy(&forest);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return failed;
}
