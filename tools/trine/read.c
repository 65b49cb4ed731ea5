/* Reading a matrix whose type is not known yet, and how much files may ask for. */
#include "command.h"

trine_status read_matrix(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t,
                         const trine_read_options *limits)
{
    if (t) return trine_matrix_read_with(ctx, A, path, t, limits);
    trine_status status = trine_matrix_read_with(ctx, A, path, TRINE_D, limits);
    if (status != TRINE_ERR_ARGUMENT && status != TRINE_ERR_UNSUPPORTED) return status;
    return trine_matrix_read_with(ctx, A, path, TRINE_Z, limits);
}

error_t parse_limit(int key, char *arg, struct argp_state *state, trine_read_options *limits)
{
    if (key == KEY_MAX_ROWS) return parse_size(state, "--max-rows", arg, &limits->max_rows);
    if (key == KEY_MAX_TEXT) return parse_size(state, "--max-text", arg, &limits->max_text);
    return ARGP_ERR_UNKNOWN;
}
