/* Matrix Market files: coordinate and array, all fields and symmetries.
 * R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market exchange formats: initial design, NISTIR 5935, 1996.
 *
 * Entries are counted before anything is allocated, so that a size line cannot ask for more memory than its file
 * warrants; the same pass tells each chunk where its entries go, so that chunks are parsed in parallel and keep the
 * order of the file. */
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "matrix/files/entries.h"

enum field { FIELD_REAL, FIELD_INTEGER, FIELD_COMPLEX, FIELD_PATTERN };

struct market {
    const struct text *text;
    trine_dtype dtype;
    enum field field;
    bool array;
    bool vectors;             /* not a matrix: NaN and Inf may stand in the file */
    const char *size_line;
    int64_t declared;         /* entries in the file */
    const char *body, *end;
};

/** A run of whole lines. */
struct chunk {
    const char *begin, *end;
    int64_t first, count;      /* entries before it, in it */
    const char *bad;           /* its first line that is wrong */
    const char *lower, *upper; /* its first entries below and above the diagonal */
};
enum { smallest_chunk = 1 << 20, chunks_a_thread = 4 };

#define TEMPLATE "matrix/files/matrix_market.inc"
#include "core/each_dtype.h"

static void (*const parse_coordinate[])(const struct market *, struct chunk *,
                                        struct entries *) = TABLE(parse_coordinate);
static void (*const parse_array[])(const struct market *, struct chunk *, struct entries *) = TABLE(parse_array);
static int64_t (*const place_array[])(const struct entries *, int32_t *, int32_t *) = TABLE(place_array);
static void (*const spread[])(const struct entries *, void *) = TABLE(spread);

/* ------------------------------------------------------------------ header */

static const char banner[] = "%%MatrixMarket";

bool market_is(const struct text *text) { return !strncasecmp(text->data, banner, sizeof banner - 1); }

/** The next word of the banner among the choices, as their index. */
static trine_status banner_word(const struct text *text, const char **p, const char *what, const char *const *choices,
                                int count, int *choice)
{
    *p = text_skip_blanks(*p);
    const struct text_word word = text_word(*p);
    for (*choice = 0; *choice < count; ++*choice) {
        const size_t length = strlen(choices[*choice]);
        if (strcasecmp(word.text, choices[*choice])) continue;
        *p += length;
        return TRINE_SUCCESS;
    }
    return text_fail(text, text->data, "\"%s\" is no %s of a Matrix Market matrix", word.text, what);
}

static trine_status read_banner(struct market *m, struct entries *e)
{
    static const char *const objects[] = {"matrix"}, *const formats[] = {"coordinate", "array"};
    static const char *const fields[] = {"real", "integer", "complex", "pattern"};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    const struct text *text = m->text;
    const char *p = text->data + sizeof banner - 1;
    trine_status status = TRINE_SUCCESS;
    int object, format, field, symmetry;
    if (text_skip_blanks(p) == p && *p && *p != '\n')
        TRY(text_fail(text, p, "\"%s\" is no %s", text_word(text->data).text, banner));
    TRY(banner_word(text, &p, "object", objects, 1, &object));
    TRY(banner_word(text, &p, "format", formats, 2, &format));
    TRY(banner_word(text, &p, "field", fields, 4, &field));
    TRY(banner_word(text, &p, "symmetry", symmetries, 4, &symmetry));
    if (*text_skip_blanks(p) != '\n' && *text_skip_blanks(p))
        TRY(text_fail(text, p, "\"%s\" stands after the banner", text_word(text_skip_blanks(p)).text));
    m->array = format == 1;
    m->field = (enum field)field;
    e->symmetry = (trine_symmetry)symmetry;
    if (m->array && m->field == FIELD_PATTERN) TRY(text_fail(text, text->data, "an array cannot be a pattern"));
    if (m->field == FIELD_PATTERN && symmetry > TRINE_SYMMETRIC)
        TRY(text_fail(text, text->data, "a pattern is general or symmetric, not %s", symmetries[symmetry]));
    if (e->symmetry == TRINE_HERMITIAN && m->field != FIELD_COMPLEX)
        TRY(text_fail(text, text->data, "a Hermitian matrix is complex, not %s", fields[field]));
    if (m->field == FIELD_COMPLEX && !trine_dtype_is_complex(m->dtype))
        FAIL(TRINE_ERR_ARGUMENT, "%.200s is complex; a real dtype cannot hold it", text->path);
done:
    return status;
}

/** "rows columns entries" or, of an array, "rows columns". */
static trine_status read_sizes(struct market *m, struct entries *e)
{
    const struct text *text = m->text;
    int64_t *const sizes[] = {&e->n_rows, &e->n_cols, &m->declared};
    static const char *const names[] = {"rows", "columns", "entries"};
    m->end = text->data + text->size;
    const char *p = text_next_entry(text_next_line(text->data, m->end), m->end, "%");
    m->size_line = p;
    if (p == m->end) return text_fail(text, p, "the file ends before the size line");
    for (int k = 0; k < (m->array ? 2 : 3); k++) {
        const char *word = text_skip_blanks(p);
        p = number_count(word, sizes[k]);
        if (!p || (*p && !strchr(" \t\r\n", *p)))
            return text_fail(text, m->size_line, "\"%s\" is no number of %s", text_word(word).text, names[k]);
        if (k < 2 && *sizes[k] > INT_MAX)
            return text_fail(text, m->size_line, "%lld %s; at most 2^31 - 1 are possible", (long long)*sizes[k],
                             names[k]);
    }
    p = text_skip_blanks(p);
    if (*p != '\n' && p < m->end)
        return text_fail(text, m->size_line, "\"%s\" stands after the sizes", text_word(p).text);
    m->body = text_next_line(p, m->end);
    if (e->symmetry != TRINE_GENERAL && e->n_rows != e->n_cols)
        return text_fail(text, m->size_line,
                         "%lld x %lld is not square, but the banner says symmetric, skew-symmetric or Hermitian",
                         (long long)e->n_rows, (long long)e->n_cols);
    if (m->array) { /* n (n+1) / 2 < 2^62, so nothing overflows */
        const int64_t n = e->n_rows;
        m->declared = e->symmetry == TRINE_GENERAL ? n * e->n_cols
                      : e->symmetry == TRINE_SKEW  ? n * (n - 1) / 2
                                                   : n * (n + 1) / 2;
    }
    return TRINE_SUCCESS;
}

/** Rows and columns cost memory and time without entries, and so do the values of vectors that a coordinate file
 *  leaves out. */
static trine_status check_sizes(const struct market *m, const struct entries *e)
{
    if (m->vectors)
        return m->array ? TRINE_SUCCESS
                        : text_check_rows(m->text, m->size_line, e->n_rows * e->n_cols, "rows x columns");
    const trine_status status = text_check_rows(m->text, m->size_line, e->n_rows, "rows");
    return status ? status : text_check_rows(m->text, m->size_line, e->n_cols, "columns");
}

/* -------------------------------------------------------------------- body */

/** Cut the body into chunks and count what is in each. */
static trine_status count_chunks(struct market *m, struct chunk **chunks, int64_t *n_chunks)
{
    trine_context ctx = m->text->ctx;
    const int64_t size = m->end - m->body;
    int64_t wanted = size / smallest_chunk + 1, limit = (int64_t)chunks_a_thread * ctx->threads, total = 0;
    if (wanted > limit) wanted = limit;
    struct chunk *c;
    if (CALLOC(ctx, c, wanted)) return TRINE_ERR_MEMORY;
    *chunks = c;
    *n_chunks = wanted;
    const char *p = m->body;
    for (int64_t k = 0; k < wanted; k++) {
        const char *cut = m->body + size / wanted * (k + 1);
        c[k].begin = p;
        if (k + 1 == wanted) p = m->end;
        else if (cut > p) p = text_next_line(cut, m->end);
        c[k].end = p;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1) if (wanted > 1)
    for (int64_t k = 0; k < wanted; k++) c[k].count = text_count_entries(c[k].begin, c[k].end, "%");
    for (int64_t k = 0; k < wanted; k++) {
        c[k].first = total;
        total += c[k].count;
    }
    if (total < m->declared)
        return text_fail(m->text, m->end, "the file ends after %lld of %lld declared entries", (long long)total,
                         (long long)m->declared);
    if (total > m->declared) {
        int64_t k = 0, skip = m->declared;
        while (skip >= c[k].count) skip -= c[k++].count;
        for (p = text_next_entry(c[k].begin, c[k].end, "%"); skip > 0; skip--)
            p = text_next_entry(text_next_line(p, c[k].end), c[k].end, "%");
        return text_fail(m->text, p, "\"%s\" stands after the last of %lld declared entries", text_word(p).text,
                         (long long)m->declared);
    }
    return TRINE_SUCCESS;
}

/** What is wrong with the value at p. */
static trine_status explain_value(const struct market *m, const char *p)
{
    for (int k = 0; k < 1 + (m->field == FIELD_COMPLEX); k++) {
        p = text_skip_blanks(p);
        const char *word = p;
        const struct text_word text = text_word(word);
        double v = 0;
        float narrow = 0;
        if (!*p || *p == '\n')
            return text_fail(m->text, word, "the line ends before the value%s", k ? "'s imaginary part" : "");
        p = number_double(p, &v);
        if (!p || (*p && !strchr(" \t\r\n", *p))) return text_fail(m->text, word, "\"%s\" is no number", text.text);
        if (v != v && !m->vectors) return text_fail(m->text, word, "the value is \"%s\", not a number", text.text);
        number_float(word, &narrow);
        if (!m->vectors && !isfinite(trine_dtype_is_single(m->dtype) ? narrow : v))
            return text_fail(m->text, word, "the value %s is infinite in %s precision", text.text,
                             trine_dtype_is_single(m->dtype) ? "single" : "double");
        if (m->field == FIELD_INTEGER && v != trunc(v)) return text_fail(m->text, word, "%s is no integer", text.text);
    }
    p = text_skip_blanks(p);
    if (*p && *p != '\n') return text_fail(m->text, p, "\"%s\" stands after the value", text_word(p).text);
    return text_fail(m->text, p, "a byte 0 stands in the line");
}

/** The sentence for the line that a parser did not like: the same steps with an eye for each mistake. */
static trine_status explain(const struct market *m, const struct entries *e, const char *line)
{
    int64_t index[2] = {0, 0};
    const int64_t limits[] = {e->n_rows, e->n_cols};
    static const char *const names[] = {"row", "column"};
    const char *p = line;
    if (m->array) return explain_value(m, p);
    for (int k = 0; k < 2; k++) {
        const char *word = text_skip_blanks(p);
        if (!*word || *word == '\n') return text_fail(m->text, line, "the line ends before the %s index", names[k]);
        p = number_count(word, &index[k]);
        if (!p || (*p && !strchr(" \t\r\n", *p)))
            return text_fail(m->text, line, "\"%s\" is no %s index", text_word(word).text, names[k]);
        if (index[k] < 1 || index[k] > limits[k])
            return text_fail(m->text, line, "%s index %lld is outside 1..%lld", names[k], (long long)index[k],
                             (long long)limits[k]);
    }
    if (m->field != FIELD_PATTERN && index[0] == index[1] &&
        (e->symmetry == TRINE_SKEW || e->symmetry == TRINE_HERMITIAN)) {
        double re = 0, im = 0;
        const char *q = number_double(text_skip_blanks(p), &re);
        if (q) q = m->field == FIELD_COMPLEX ? number_double(text_skip_blanks(q), &im) : q;
        if (q && isfinite(re) && isfinite(im) && e->symmetry == TRINE_SKEW && (re != 0 || im != 0))
            return text_fail(m->text, line, "diagonal entry %lld of a skew-symmetric matrix is not zero",
                             (long long)index[0]);
        if (q && isfinite(re) && isfinite(im) && e->symmetry == TRINE_HERMITIAN && im != 0)
            return text_fail(m->text, line, "diagonal entry %lld of a Hermitian matrix is not real",
                             (long long)index[0]);
    }
    if (m->field != FIELD_PATTERN) return explain_value(m, p);
    p = text_skip_blanks(p);
    if (*p) return text_fail(m->text, line, "\"%s\" stands after the indices of a pattern's entry", text_word(p).text);
    return text_fail(m->text, line, "a byte 0 stands in the line");
}

/** Parse all chunks; report the first bad line; find the stored triangle. */
static trine_status parse_body(const struct market *m, struct entries *e, struct chunk *chunks, int64_t n_chunks)
{
    const char *lower = NULL, *upper = NULL;
#pragma omp parallel for num_threads(m->text->ctx->threads) schedule(dynamic, 1) if (n_chunks > 1)
    for (int64_t k = 0; k < n_chunks; k++) (m->array ? parse_array : parse_coordinate)[m->dtype](m, &chunks[k], e);
    for (int64_t k = 0; k < n_chunks; k++) {
        if (chunks[k].bad) return explain(m, e, chunks[k].bad);
        if (!lower) lower = chunks[k].lower;
        if (!upper) upper = chunks[k].upper;
    }
    e->upper = upper;
    if (e->symmetry != TRINE_GENERAL && lower && upper)
        return text_fail(m->text, lower > upper ? lower : upper,
                         "an entry %s the diagonal, but line %lld has one %s it: a file that "
                         "declares a symmetry stores one triangle",
                         lower > upper ? "below" : "above",
                         (long long)text_line(m->text, lower > upper ? upper : lower),
                         lower > upper ? "above" : "below");
    return TRINE_SUCCESS;
}

/** Everything but the places of an array's values, which are e->values in the order of the file. */
static trine_status read_body(struct market *m, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = m->text->ctx;
    struct chunk *chunks = NULL;
    int64_t n_chunks = 0;
    TRY(read_banner(m, e));
    TRY(read_sizes(m, e));
    TRY(count_chunks(m, &chunks, &n_chunks));
    TRY(check_sizes(m, e));
    e->count = m->declared;
    if (!m->array) {
        TRY(ALLOC(ctx, e->rows, e->count));
        TRY(ALLOC(ctx, e->cols, e->count));
    }
    if (m->field != FIELD_PATTERN) {
        e->values = trine_host_alloc(ctx, e->count, trine_dtype_size(m->dtype));
        if (!e->values) TRY(TRINE_ERR_MEMORY);
    }
    TRY(parse_body(m, e, chunks, n_chunks));
done:
    trine_free(ctx, TRINE_HOST, chunks);
    return status;
}

static trine_status place_values(const struct market *m, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(m->text->ctx, e->rows, e->count));
    TRY(ALLOC(m->text->ctx, e->cols, e->count));
    const int64_t kept = place_array[m->dtype](e, e->rows, e->cols);
    if (kept < 0) {
        const char *p = text_next_entry(m->body, m->end, "%");
        for (int64_t k = -1 - kept; k > 0; k--) p = text_next_entry(text_next_line(p, m->end), m->end, "%");
        TRY(text_fail(m->text, p, "a diagonal entry of a Hermitian matrix is not real"));
    }
    e->count = kept;
done:
    return status;
}

trine_status market_read(const struct text *text, trine_dtype t, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    struct market m = {.text = text, .dtype = t};
    *e = (struct entries){0};
    TRY(read_body(&m, e));
    if (m.array) TRY(place_values(&m, e));
done:
    if (status) entries_free(text->ctx, e);
    return status;
}

trine_status market_read_dense(const struct text *text, trine_dtype t, void **data, int64_t *rows, int64_t *cols)
{
    trine_status status = TRINE_SUCCESS;
    struct market m = {.text = text, .dtype = t, .vectors = true};
    struct entries e = {0};
    TRY(read_body(&m, &e));
    if (m.array && e.symmetry == TRINE_GENERAL) {
        *data = e.values;
        e.values = NULL;
    } else {
        if (m.array) TRY(place_values(&m, &e));
        *data = trine_host_calloc(text->ctx, e.n_rows * e.n_cols, trine_dtype_size(t));
        if (!*data) TRY(TRINE_ERR_MEMORY);
        spread[t](&e, *data);
    }
    *rows = e.n_rows;
    *cols = e.n_cols;
done:
    entries_free(text->ctx, &e);
    return status;
}
