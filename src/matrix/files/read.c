/* The two public readers: the format is told by content. */
#include <string.h>

#include "matrix/files/entries.h"

static trine_status check_limits(const trine_read_options *options)
{
    if (!options) return TRINE_SUCCESS;
    REQUIRE_RESERVE(trine_read_options, options);
    REQUIRE(options->max_rows >= 0 && options->max_text >= 0, "max_rows is %lld, max_text is %lld",
            (long long)options->max_rows, (long long)options->max_text);
    return TRINE_SUCCESS;
}

trine_status trine_matrix_read(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t)
{
    return trine_matrix_read_with(ctx, A, path, t, NULL);
}

trine_status trine_matrix_read_with(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t,
                                    const trine_read_options *options)
{
    REQUIRE(A, "A is NULL");
    *A = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(path, "path is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    trine_status status = check_limits(options);
    if (status) return status;
    struct text text = {.ctx = ctx};
    struct entries entries = {0};
    const double start = trine_wall_time();
    TRY(text_read(ctx, path, options, &text));
    const double parsing = trine_wall_time();
    const double megabytes = 1e-6 * (double)text.size;
    if (market_is(&text)) TRY(market_read(&text, t, &entries));
    else if (boeing_is(&text)) TRY(boeing_read(&text, t, &entries));
    else
        TRY(text_fail(&text, text.data, "\"%s\" begins neither a Matrix Market nor a Harwell-Boeing file",
                      text_word(text.data).text));
    text_free(&text);
    const double building = trine_wall_time();
    TRY(entries_to_matrix(ctx, A, t, &entries, path));
    const double end = trine_wall_time();
    trine_log(ctx, 2,
              "%s: %lld x %lld, %lld entries; %.1f MB of text read in %.3f s, parsed in %.3f s, sorted in %.3f s", path,
              (long long)(*A)->n_rows, (long long)(*A)->n_cols, (long long)(*A)->nnz, megabytes, parsing - start,
              building - parsing, end - building);
done:
    text_free(&text);
    entries_free(ctx, &entries);
    return status;
}

/** One value a line (of a complex type: one or two), % and # begin comments. */
static trine_status read_plain(const struct text *text, trine_dtype t, void **data, int64_t *rows)
{
    static const char comments[] = "%#";
    const char *end = text->data + text->size;
    const int64_t n = text_count_entries(text->data, end, comments);
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    char *out = trine_host_alloc(text->ctx, n, trine_dtype_size(t));
    *data = out;
    if (!out) return TRINE_ERR_MEMORY;
    const char *p = text->data;
    for (int64_t k = 0; k < n; k++) {
        const char *line = p = text_next_entry(p, end, comments);
        double value[2] = {0, 0};
        float narrow[2] = {0, 0};
        int part = 0;
        for (const char *word = p; part < parts && word < end && *word != '\n'; word = text_skip_blanks(p), part++) {
            p = number_double(word, &value[part]);
            if (!p || (p < end && !(*p && strchr(" \t\r\n", *p))))
                return text_fail(text, word, "\"%s\" is no number", text_word(word).text);
            number_float(word, &narrow[part]);
        }
        p = text_skip_blanks(p);
        if (p < end && *p != '\n')
            return text_fail(text, line, "\"%s\" stands after the value; a plain text file has one value a line",
                             text_word(p).text);
        const size_t size = trine_dtype_size(t);
        memcpy(out + (size_t)k * size, trine_dtype_is_single(t) ? (const void *)narrow : (const void *)value, size);
        p = text_next_line(p, end);
    }
    *rows = n;
    return TRINE_SUCCESS;
}

trine_status trine_vectors_read(trine_context ctx, const char *path, trine_dtype t, void **data, int64_t *rows,
                                int64_t *cols)
{
    return trine_vectors_read_with(ctx, path, t, data, rows, cols, NULL);
}

trine_status trine_vectors_read_with(trine_context ctx, const char *path, trine_dtype t, void **data, int64_t *rows,
                                     int64_t *cols, const trine_read_options *options)
{
    REQUIRE(data, "data is NULL");
    *data = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(path, "path is NULL");
    REQUIRE(rows && cols, "rows or cols is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    trine_status status = check_limits(options);
    if (status) return status;
    struct text text = {.ctx = ctx};
    *rows = *cols = 0;
    TRY(text_read(ctx, path, options, &text));
    if (market_is(&text)) {
        TRY(market_read_dense(&text, t, data, rows, cols));
    } else {
        TRY(read_plain(&text, t, data, rows));
        *cols = 1;
    }
done:
    text_free(&text);
    if (status) {
        trine_free(ctx, TRINE_HOST, *data);
        *data = NULL;
    }
    return status;
}
