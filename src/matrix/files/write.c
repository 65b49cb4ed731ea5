/* The public writers: Matrix Market and Rutherford-Boeing files. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "matrix/matrix.h"
#include "matrix/files/output.h"

/** How a value looks; between: what separates the parts of a complex one. */
struct value_style {
    char letter;
    int digits, width;
    char between, after;
};

#define TEMPLATE "matrix/files/write.inc"
#include "core/each_dtype.h"

static trine_status (*const write_value[])(struct output *, const void *, int64_t,
                                           const struct value_style *) = TABLE(write_value);
static bool (*const spoils[])(const void *, int64_t, trine_symmetry) = TABLE(spoils);

/** %.17g brings every double back, %.9g every float. */
static struct value_style free_style(trine_dtype t)
{
    return (struct value_style){
        .letter = 'g', .digits = trine_dtype_is_single(t) ? 9 : 17, .between = ' ', .after = '\n'};
}

trine_status trine_vectors_write(trine_context ctx, const char *path, trine_dtype t, const void *data, int64_t rows,
                                 int64_t cols, int64_t ld)
{
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(path, "path is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    REQUIRE(rows >= 0 && cols >= 0, "%lld x %lld is no size", (long long)rows, (long long)cols);
    if (!ld) ld = rows;
    REQUIRE(ld >= rows, "leading dimension %lld is less than the %lld rows", (long long)ld, (long long)rows);
    REQUIRE(data || !rows || !cols, "data is NULL");
    trine_status status = TRINE_SUCCESS;
    const struct value_style style = free_style(t);
    struct output out;
    TRY(output_begin(ctx, path, &out));
    TRY(output_text(&out, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n",
                    trine_dtype_is_complex(t) ? "complex" : "real", (long long)rows, (long long)cols));
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) TRY(write_value[t](&out, data, i + j * ld, &style));
done:
    return output_end(&out, status);
}

/* ---------------------------------------------------------------- matrices */

/** What of a matrix goes into its file: all of it, or the lower triangle. */
struct part {
    trine_matrix A;          /* compressed columns on the host */
    trine_symmetry symmetry;
    bool pattern;
    int64_t count;           /* entries in the file */
};

static inline bool is_in_part(const struct part *part, int64_t i, int64_t j)
{
    return part->symmetry == TRINE_GENERAL || i > j || (i == j && part->symmetry != TRINE_SKEW);
}

static trine_status choose_part(trine_matrix A, trine_symmetry symmetry, struct part *part)
{
    *part = (struct part){.A = A, .symmetry = symmetry, .pattern = !A->values || A->made_up_values};
    if (symmetry == TRINE_HERMITIAN && !trine_dtype_is_complex(A->dtype)) part->symmetry = TRINE_SYMMETRIC;
    if (symmetry != TRINE_GENERAL && part->pattern) part->symmetry = TRINE_SYMMETRIC;
    for (int64_t j = 0; j < A->n_cols; j++) {
        for (int64_t k = A->offsets[j]; k < A->offsets[j + 1]; k++) {
            part->count += is_in_part(part, A->indices[k], j);
            if (A->indices[k] == j && !part->pattern && spoils[A->dtype](A->values, k, part->symmetry))
                return trine_fail(TRINE_ERR_STRUCTURE, "diagonal entry %lld is not %s, so the matrix is not %s",
                                  (long long)j, symmetry == TRINE_SKEW ? "zero" : "real",
                                  symmetry == TRINE_SKEW ? "skew-symmetric" : "Hermitian");
        }
    }
    return TRINE_SUCCESS;
}

static trine_status write_market(struct output *out, const struct part *part)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    trine_status status = TRINE_SUCCESS;
    trine_matrix A = part->A;
    const struct value_style style = free_style(A->dtype);
    TRY(output_text(out, "%%%%MatrixMarket matrix coordinate %s %s\n%lld %lld %lld\n",
                    part->pattern                      ? "pattern"
                    : trine_dtype_is_complex(A->dtype) ? "complex"
                                                       : "real",
                    symmetries[part->symmetry], (long long)A->n_rows, (long long)A->n_cols, (long long)part->count));
    for (int64_t j = 0; j < A->n_cols; j++) {
        for (int64_t k = A->offsets[j]; k < A->offsets[j + 1]; k++) {
            if (!is_in_part(part, A->indices[k], j)) continue;
            TRY(output_count(out, A->indices[k] + 1, 0, ' '));
            TRY(output_count(out, j + 1, 0, part->pattern ? '\n' : ' '));
            if (!part->pattern) TRY(write_value[A->dtype](out, A->values, k, &style));
        }
    }
done:
    return status;
}

/* Records of at most 80 characters, as the format's description asks for. */
enum { record_length = 80 };

struct integer_records { int width, per_record; };

/** Fields for integers up to `largest`, a blank before each. */
static struct integer_records integer_records(int64_t largest)
{
    struct integer_records r = {.width = 2};
    while (largest /= 10) r.width++;
    r.per_record = record_length / r.width;
    return r;
}

static int64_t n_records(int64_t fields, int per_record) { return (fields + per_record - 1) / per_record; }
/** What follows field k of n: the end of the record after its last one. */
static char after_field(int64_t k, int64_t n, int per_record)
{
    return (k + 1) % per_record == 0 || k + 1 == n ? '\n' : 0;
}

static trine_status write_boeing(struct output *out, const struct part *part)
{
    static const char symmetries[] = {'u', 's', 'z', 'h'};
    trine_status status = TRINE_SUCCESS;
    trine_matrix A = part->A;
    const bool single = trine_dtype_is_single(A->dtype), is_complex = trine_dtype_is_complex(A->dtype);
    struct value_style style = {.letter = 'E', .digits = single ? 8 : 16, .width = single ? 16 : 25};
    const int values_a_record = record_length / style.width;
    const int64_t n_values = part->pattern ? 0 : is_complex ? 2 * part->count : part->count;
    const struct integer_records pointers = integer_records(part->count + 1), indices = integer_records(A->n_rows);
    const int64_t pointer_records = n_records(A->n_cols + 1, pointers.per_record),
                  index_records = n_records(part->count, indices.per_record);
    const int64_t value_records = n_records(n_values, values_a_record);
    const char symmetry = part->symmetry == TRINE_GENERAL && A->n_rows != A->n_cols ? 'r' : symmetries[part->symmetry];
    char formats[3][24] = {"", "", ""};
    snprintf(formats[0], sizeof formats[0], "(%dI%d)", pointers.per_record, pointers.width);
    snprintf(formats[1], sizeof formats[1], "(%dI%d)", indices.per_record, indices.width);
    if (!part->pattern)
        snprintf(formats[2], sizeof formats[2], "(%dE%d.%d)", values_a_record, style.width, style.digits);
    TRY(output_text(out, "%-72s%-8s\n%14lld %13lld %13lld %13lld\n", "Sparse matrix in Rutherford-Boeing format",
                    "trine", (long long)(pointer_records + index_records + value_records), (long long)pointer_records,
                    (long long)index_records, (long long)value_records));
    TRY(output_text(out, "%c%ca           %14lld %13lld %13lld %13d\n%-16s%-16s%-20s\n",
                    part->pattern ? 'p'
                    : is_complex  ? 'c'
                                  : 'r',
                    symmetry, (long long)A->n_rows, (long long)A->n_cols, (long long)part->count, 0, formats[0],
                    formats[1], formats[2]));

    int64_t pointer = 1, written = 0;
    TRY(output_count(out, pointer, pointers.width, after_field(0, A->n_cols + 1, pointers.per_record)));
    for (int64_t j = 0; j < A->n_cols; j++) {
        for (int64_t k = A->offsets[j]; k < A->offsets[j + 1]; k++) pointer += is_in_part(part, A->indices[k], j);
        TRY(output_count(out, pointer, pointers.width, after_field(j + 1, A->n_cols + 1, pointers.per_record)));
    }
    for (int64_t j = 0; j < A->n_cols; j++) {
        for (int64_t k = A->offsets[j]; k < A->offsets[j + 1]; k++) {
            if (!is_in_part(part, A->indices[k], j)) continue;
            TRY(output_count(out, A->indices[k] + 1, indices.width,
                             after_field(written, part->count, indices.per_record)));
            written++;
        }
    }
    written = 0;
    for (int64_t j = 0; j < A->n_cols && !part->pattern; j++) {
        for (int64_t k = A->offsets[j]; k < A->offsets[j + 1]; k++) {
            if (!is_in_part(part, A->indices[k], j)) continue;
            style.between = after_field(written, n_values, values_a_record);
            written += is_complex;
            style.after = after_field(written++, n_values, values_a_record);
            TRY(write_value[A->dtype](out, A->values, k, &style));
        }
    }
done:
    return status;
}

typedef trine_status (*matrix_writer)(struct output *, const struct part *);

/** By the ending of path, a .gz set aside; NULL if it is none. */
static matrix_writer writer_of(const char *path)
{
    char ending[4] = "";
    size_t length = strlen(path), begin;
    if (length > 3 && !strcmp(path + length - 3, ".gz")) length -= 3;
    for (begin = length; begin > 0 && path[begin - 1] != '.' && path[begin - 1] != '/'; begin--) {}
    if (!begin || path[begin - 1] != '.' || length - begin > 3) return NULL;
    for (size_t k = begin; k < length; k++) ending[k - begin] = (char)tolower((unsigned char)path[k]);
    if (!strcmp(ending, "mtx")) return write_market;
    if (!strcmp(ending, "rb")) return write_boeing;
    const bool type =
        length - begin == 3 && strchr("rcpi", ending[0]) && strchr("uszhr", ending[1]) && ending[2] == 'a';
    return type ? write_boeing : NULL;
}

trine_status trine_matrix_write(trine_matrix A, const char *path, trine_symmetry symmetry)
{
    REQUIRE(A, "A is NULL");
    REQUIRE(path, "path is NULL");
    REQUIRE(symmetry >= TRINE_GENERAL && symmetry <= TRINE_HERMITIAN, "symmetry %d is none", (int)symmetry);
    REQUIRE(symmetry == TRINE_GENERAL || A->n_rows == A->n_cols, "%lld x %lld is not square and has no symmetry",
            (long long)A->n_rows, (long long)A->n_cols);
    const matrix_writer write = writer_of(path);
    REQUIRE(write, "%.300s ends in none of .mtx, .rb, .rua, .rsa, ... (and .gz)", path);
    trine_status status = TRINE_SUCCESS;
    trine_matrix H = NULL;
    struct part part;
    TRY(matrix_to_host_format(A, &H, TRINE_CSC));
    TRY(choose_part(H, symmetry, &part));
    struct output out;
    status = output_begin(A->ctx, path, &out);
    if (!status) status = write(&out, &part);
    status = output_end(&out, status);
done:
    trine_matrix_destroy(&H);
    return status;
}
