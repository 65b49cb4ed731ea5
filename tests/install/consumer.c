/* Outside program: one header, one library. Views a 2 x 2 matrix and multiplies by it. */
#include <stdio.h>
#include <trine/trine.h>

int main(void)
{
    int offsets[] = {0, 1, 3}, columns[] = {0, 0, 1};
    double values[] = {2, 1, 3};
    trine_context ctx;
    trine_matrix A;
    trine_matrix_info info;
    if (trine_context_create(&ctx, "cpu") || trine_matrix_csr(ctx, &A, TRINE_D, 2, 2, 3, TRINE_HOST, 32, offsets, 32, columns, values) ||
        trine_matrix_get_info(A, &info)) {
        fprintf(stderr, "%s\n", trine_last_error());
        return 1;
    }
    printf("trine %d.%d.%d: %lld entries\n", TRINE_VERSION_MAJOR, TRINE_VERSION_MINOR, TRINE_VERSION_PATCH, (long long)info.nnz);
    trine_matrix_destroy(&A);
    return trine_context_destroy(&ctx);
}
