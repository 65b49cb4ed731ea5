/* Reading a matrix whose type is not known yet. */
#include "command.h"

trine_status read_matrix(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t)
{
    if (t) return trine_matrix_read(ctx, A, path, t);
    trine_status status = trine_matrix_read(ctx, A, path, TRINE_D);
    if (status != TRINE_ERR_ARGUMENT && status != TRINE_ERR_UNSUPPORTED) return status;
    return trine_matrix_read(ctx, A, path, TRINE_Z);
}
