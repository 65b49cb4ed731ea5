/* The public writers. */
#include "matrix/matrix.h"
#include "matrix/output.h"

#define TEMPLATE "matrix/write.inc"
#include "core/each_dtype.h"

static trine_status (*const write_value[])(struct output *, const void *, int64_t, char) = TABLE(write_value);

trine_status trine_vectors_write(trine_context ctx, const char *path, trine_dtype t, const void *data, int64_t rows, int64_t cols, int64_t ld)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(path, "path is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    REQUIRE(rows >= 0 && cols >= 0, "%lld x %lld is no size", (long long)rows, (long long)cols);
    if (!ld) ld = rows;
    REQUIRE(ld >= rows, "leading dimension %lld is less than the %lld rows", (long long)ld, (long long)rows);
    REQUIRE(data || !rows || !cols, "data is NULL");
    trine_status status = TRINE_SUCCESS;
    struct output out;
    TRY(output_begin(ctx, path, &out));
    TRY(output_text(&out, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n", trine_dtype_is_complex(t) ? "complex" : "real",
                    (long long)rows, (long long)cols));
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) TRY(write_value[t](&out, data, i + j * ld, '\n'));
done:
    return output_end(&out, status);
}
