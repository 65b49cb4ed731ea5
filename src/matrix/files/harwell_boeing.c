/* Rutherford-Boeing and assembled Harwell-Boeing files: compressed columns in Fortran records of fixed fields.
 * I. S. Duff, R. G. Grimes, J. G. Lewis, Users' guide for the Harwell-Boeing sparse matrix collection, RAL-92-086,
 * 1992; The Rutherford-Boeing sparse matrix collection, RAL-TR-97-031, 1997. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "matrix/files/entries.h"
#include "matrix/files/fortran.h"

struct boeing {
    const struct text *text;
    char type, symmetry; /* r c i p q; u s h z r */
    bool more_follows;   /* right-hand sides, which are skipped */
    struct fortran_format pointer_format, index_format, value_format;
    const char *sizes;          /* the line of the type and the numbers of rows, columns and entries */
    const char *position, *end; /* the next record */
    const char *indices, *values; /* first records of these sections */
};

/* ----------------------------------------------------------------- records */

struct field_scan;
/** Reads the fields of a record one by one, as scan->by_words says; false at the first that is no number, which is
 *  left in word. */
typedef bool (*closely_fn)(struct field_scan *scan, void *numbers, char *word);

/** Walks through the records of one section. */
struct field_scan {
    struct boeing *b;
    const struct fortran_format *format; /* of this record */
    struct fortran_format later;         /* of all but the first */
    const char *what;      /* "column pointer", "row index", "value" */
    closely_fn read_closely;
    int64_t total, left;   /* fields in all records; in those to come */
    int fields, next;      /* of this record: how many of them count, and the next one */
    const char *line, *line_end;
    bool by_words;         /* the record is read by its words, not by its columns */
    const char *word;      /* the next one */
    int64_t integers[most_fields]; /* this record's, of a section of integers */
};

static trine_status scan_begin(struct boeing *b, struct field_scan *scan, const struct fortran_format *format,
                               int64_t count, const char *what, closely_fn read_closely)
{
    scan->b = b;
    scan->format = format;
    fortran_later(format, &scan->later);
    scan->what = what;
    scan->read_closely = read_closely;
    scan->total = scan->left = count;
    scan->fields = scan->next = 0;
    scan->line = scan->line_end = b->position;
    scan->by_words = true;
    /* a field has at least one character that is there */
    if (count > b->end - b->position)
        return text_fail(b->text, b->position, "%lld numbers are declared, but only %lld bytes follow",
                         (long long)count, (long long)(b->end - b->position));
    return TRINE_SUCCESS;
}

/** Go to the next record. */
static trine_status scan_record(struct field_scan *scan)
{
    struct boeing *b = scan->b;
    if (b->position >= b->end)
        return text_fail(b->text, b->end, "the file ends before the last %lld %s fields", (long long)scan->left,
                         scan->what);
    if (scan->left < scan->total) scan->format = &scan->later;
    scan->fields = scan->left < scan->format->count ? (int)scan->left : scan->format->count;
    scan->left -= scan->fields;
    scan->next = 0;
    scan->line = b->position;
    return TRINE_SUCCESS;
}

/* Most records hold plain numbers: as many words as fields, or one in the columns of each field. They are read as
 * they stand, in one pass over the characters, first the way the record before was. What is neither is looked at
 * closely, field by field. Some writers, SciPy's among them, miss the columns of their own format: where blanks
 * separate as many words as there are fields, and text stands outside of the columns or a column holds no number,
 * the words are the fields. Where words and columns both are numbers, and others, nobody can tell which are meant:
 * such a record is refused. */

/** Take a record that was read by words up to p; false if more stands in it. */
static bool scan_words_end(struct field_scan *scan, const char *p)
{
    p = text_skip_blanks(p);
    if (*p != '\n' && p != scan->b->end) return false;
    scan->b->position = p + (*p == '\n');
    scan->by_words = true;
    return true;
}

/** Does the word [p, end) stand within the columns of field k? */
static inline bool is_in_columns(const struct field_scan *scan, int k, const char *p, const char *end)
{
    return p - scan->line >= scan->format->start[k] &&
           end - scan->line <= scan->format->start[k] + scan->format->width[k];
}

/** The last of as many words as fields ends at `end`, and not all stand within their columns. Is it certain that the
 *  columns cannot be read, as the last of them is blank or has text behind it? */
static bool words_decide(const struct field_scan *scan, const char *end)
{
    const int last = scan->fields - 1;
    const int64_t length = end - scan->line;
    return length <= scan->format->start[last] || length > scan->format->start[last] + scan->format->width[last];
}

/** Find the end of the record, for reading it by columns. */
static void scan_line(struct field_scan *scan)
{
    scan->b->position = text_next_line(scan->line, scan->b->end);
    scan->line_end = scan->b->position;
    while (scan->line_end > scan->line && (scan->line_end[-1] == '\r' || scan->line_end[-1] == '\n')) scan->line_end--;
    scan->by_words = false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool ends_word(char c) { return is_blank(c) || c == '\r' || c == '\n' || c == 0; }
static const char *skip_blanks(const char *p)
{
    while (is_blank(*p)) p++;
    return p;
}

/** Is nothing between columns first and last of the record? */
static bool columns_are_blank(const struct field_scan *scan, int64_t first, int64_t last)
{
    const int64_t length = scan->line_end - scan->line;
    while (first < last && first < length && is_blank(scan->line[first])) first++;
    return first >= last || first >= length;
}

/** The characters of field k from the first to the last that is not blank; false if all are, or if something stands
 *  outside of the fields before it. */
static bool scan_column(const struct field_scan *scan, int k, const char **begin, const char **end)
{
    const struct fortran_format *f = scan->format;
    const int64_t length = scan->line_end - scan->line, first = f->start[k], last = first + f->width[k];
    if (first >= length || !columns_are_blank(scan, k ? f->start[k - 1] + f->width[k - 1] : 0, first)) return false;
    *begin = scan->line + first;
    *end = scan->line + (last < length ? last : length);
    while (*begin < *end && is_blank(**begin)) ++*begin;
    while (*begin < *end && is_blank((*end)[-1])) --*end;
    return *begin < *end;
}

/** Does nothing stand outside of the fields? */
static bool fields_hold_all(const struct field_scan *scan)
{
    const struct fortran_format *f = scan->format;
    int64_t behind = 0;
    for (int k = 0; k < scan->fields; k++) {
        if (!columns_are_blank(scan, behind, f->start[k])) return false;
        behind = f->start[k] + f->width[k];
    }
    return columns_are_blank(scan, behind, scan->line_end - scan->line);
}

/** The next field without its blanks; empty if it is blank or beyond the end of its record. */
static void scan_field(struct field_scan *scan, char *word)
{
    if (scan->by_words) fortran_word(scan->format, &scan->word, scan->line_end, word);
    else fortran_field(scan->format, scan->next, scan->line, scan->line_end, word);
    scan->next++;
}

static bool read_as(struct field_scan *scan, bool by_words, void *numbers, char *word)
{
    scan->by_words = by_words;
    scan->next = 0;
    scan->word = scan->line;
    return scan->read_closely(scan, numbers, word);
}

/** Why the field `word`, the one before scan->next, is no number. */
static trine_status explain_field(const struct field_scan *scan, bool integer, const char *word)
{
    double value;
    if (integer) return text_fail(scan->b->text, scan->line, "\"%s\" is no %s", word, scan->what);
    if (!*word)
        return text_fail(scan->b->text, scan->line, "value %lld is blank",
                         (long long)(scan->total - scan->left - scan->fields + scan->next));
    const char *end = number_double(word, &value);
    if (!end || *end) return text_fail(scan->b->text, scan->line, "\"%s\" is no number", word);
    return text_fail(scan->b->text, scan->line, "the value %s is not finite in this precision", word);
}

/** Read a record that is not plain, field by field: by its words where only these are numbers, else by its columns. */
static trine_status scan_closely(struct field_scan *scan, void *numbers, size_t size, bool integer)
{
    char word[field_room];
    union {
        int64_t integers[most_fields];
        double doubles[most_fields];
        float floats[most_fields];
    } by_words;
    scan_line(scan);
    const bool words_fit = fortran_count_words(scan->line, scan->line_end, scan->fields) == scan->fields;
    const bool words = words_fit && read_as(scan, true, &by_words, word);
    const bool columns = read_as(scan, false, numbers, word);
    if (!words && !columns) {
        read_as(scan, words_fit, numbers, word);
        return explain_field(scan, integer, word);
    }
    if (words && columns && fields_hold_all(scan) && memcmp(numbers, &by_words, size * (size_t)scan->fields))
        return text_fail(scan->b->text, scan->line,
                         "the record has as many words as fields, but its columns hold other numbers");
    if (words) memcpy(numbers, &by_words, size * (size_t)scan->fields);
    scan->by_words = words;
    scan->next = 0;
    return TRINE_SUCCESS;
}

/** The rest of the last record must be blank. */
static trine_status scan_end(struct field_scan *scan)
{
    char word[field_room];
    if (scan->by_words) return TRINE_SUCCESS;
    for (scan->next = scan->fields; scan->next < scan->format->count;) {
        scan_field(scan, word);
        if (*word) return text_fail(scan->b->text, scan->line, "\"%s\" stands after the last %s", word, scan->what);
    }
    return TRINE_SUCCESS;
}

/** Is the real number that stands in [p, end) what its digits say, whatever its format implies? It has a point, and
 *  an exponent if the format has a scale factor; or the format implies nothing. */
static bool means_what_it_says(const struct fortran_format *f, const char *p, const char *end)
{
    if (!f->decimals && !f->scale) return true;
    p += *p == '-' || *p == '+';
    while ((unsigned)(*p - '0') < 10) p++;
    if (*p != '.') return false;
    if (!f->scale) return true;
    while ((unsigned)(end[-1] - '0') < 10) end--;
    end -= end[-1] == '-' || end[-1] == '+';
    return isalpha((unsigned char)end[-1]) != 0;
}

#define TEMPLATE "matrix/files/harwell_boeing.inc"
#include "core/each_dtype.h"

static trine_status (*const read_values[])(struct boeing *, const struct entries *) = TABLE(read_values);
static int64_t (*const find_bad_diagonal[])(const struct entries *) = TABLE(find_bad_diagonal);

/* ------------------------------------------------------------------ header */

/** The three letters of the type at p in lower case; false if they are none. */
static bool type_letters(const char *p, char *letters)
{
    static const char *const allowed[] = {"rcpiq", "uszhr", "ae"};
    for (int k = 0; k < 3; k++) {
        letters[k] = (char)tolower((unsigned char)p[k]);
        if (!p[k] || !strchr(allowed[k], letters[k])) return false;
    }
    return p[3] == ' ' || p[3] == '\t';
}

bool boeing_is(const struct text *text)
{
    const char *end = text->data + text->size;
    const char *third = text_next_line(text_next_line(text->data, end), end), *fourth = text_next_line(third, end);
    char letters[3];
    return type_letters(text_skip_blanks(third), letters) && *text_skip_blanks(fourth) == '(';
}

/** Up to `wanted` numbers in the rest of a line; how many there are, or -1 if something else stands there. */
static int header_numbers(const char *p, int64_t *numbers, int wanted)
{
    for (int k = 0;; k++) {
        p = text_skip_blanks(p);
        if (!*p || *p == '\n' || k == wanted) return k;
        p = number_count(p, &numbers[k]);
        if (!p || (*p && !strchr(" \t\r\n", *p))) return -1;
    }
}

/** The k-th format of the header's fourth line. */
static trine_status header_format(const struct boeing *b, const char **p, const char *line_end, const char *name,
                                  struct fortran_format *f)
{
    const char *begin = *p;
    int64_t depth = 0;
    while (begin < line_end && *begin != '(') begin++;
    for (*p = begin; *p < line_end; ++*p) {
        depth += (**p == '(') - (**p == ')');
        if (!depth) break;
    }
    if (*p < line_end) ++*p;
    const char *wrong = fortran_parse(begin, *p, f);
    if (wrong)
        return text_fail(b->text, begin < line_end ? begin : line_end - 1, "the format of the %s, \"%.*s\", has %s",
                         name, (int)(*p - begin < 40 ? *p - begin : 40), begin, wrong);
    return TRINE_SUCCESS;
}

static trine_status read_header(struct boeing *b, trine_dtype t, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    const struct text *text = b->text;
    b->end = text->data + text->size;
    const char *second = text_next_line(text->data, b->end), *third = text_next_line(second, b->end);
    const char *fourth = text_next_line(third, b->end), *fifth = text_next_line(fourth, b->end);
    int64_t lines[5] = {0}, sizes[4] = {0};
    char letters[3] = {0};
    const char *type = text_skip_blanks(third);
    type_letters(type, letters); /* boeing_is has seen them */
    if (header_numbers(second, lines, 5) < 4) TRY(text_fail(text, second, "not four or five numbers of lines"));
    if (header_numbers(type + 3, sizes, 4) < 3)
        TRY(text_fail(text, third, "no numbers of rows, columns and entries after the type"));
    if (letters[2] == 'e')
        TRY(text_fail(text, third, "the matrix is elemental (%.3s); only assembled ones are read", type));
    for (int k = 0; k < 2; k++)
        if (sizes[k] > INT_MAX)
            TRY(text_fail(text, third, "%lld %s; at most 2^31 - 1 are possible", (long long)sizes[k],
                          k ? "columns" : "rows"));
    b->type = letters[0] == 'q' ? 'p' : letters[0];
    e->n_rows = sizes[0];
    e->n_cols = sizes[1];
    e->count = sizes[2];
    e->symmetry = letters[1] == 's'   ? TRINE_SYMMETRIC
                  : letters[1] == 'z' ? TRINE_SKEW
                  : letters[1] == 'h' ? TRINE_HERMITIAN
                                      : TRINE_GENERAL;
    if (e->symmetry != TRINE_GENERAL && sizes[0] != sizes[1])
        TRY(text_fail(text, third, "%lld x %lld is not square, but the type %.3s is", (long long)sizes[0],
                      (long long)sizes[1], type));
    /* as far as a pattern can tell */
    if (b->type == 'p' && e->symmetry != TRINE_GENERAL) e->symmetry = TRINE_SYMMETRIC;
    if (e->symmetry == TRINE_HERMITIAN && b->type != 'c')
        TRY(text_fail(text, third, "a Hermitian matrix is complex, not %.3s", type));
    if (b->type == 'c' && !trine_dtype_is_complex(t))
        FAIL(TRINE_ERR_ARGUMENT, "%.200s is complex; a real dtype cannot hold it", text->path);
    const char *p = fourth;
    b->sizes = third;
    TRY(header_format(b, &p, fifth, "pointers", &b->pointer_format));
    TRY(header_format(b, &p, fifth, "row indices", &b->index_format));
    if (b->type != 'p') TRY(header_format(b, &p, fifth, "values", &b->value_format));
    if (b->pointer_format.kind != 'I' || b->index_format.kind != 'I')
        TRY(text_fail(text, fourth, "pointers and row indices are not integers"));
    b->more_follows = lines[4] > 0;
    b->position = b->more_follows ? text_next_line(fifth, b->end) : fifth;
done:
    return status;
}

/* -------------------------------------------------------------------- body */

/** The line of field k of a section. */
static const char *field_line(const struct boeing *b, const char *section, const struct fortran_format *f, int64_t k)
{
    for (k = k < f->count ? 0 : 1 + (k - f->count) / (f->count - f->again); k > 0; k--)
        section = text_next_line(section, b->end);
    return section;
}

static bool integers_by_words(struct field_scan *scan)
{
    const char *p = scan->line;
    bool in_columns = true;
    for (int k = 0; k < scan->fields; k++) {
        const char *begin = skip_blanks(p);
        p = number_count(begin, &scan->integers[k]);
        if (!p || !ends_word(*p)) return false;
        in_columns = in_columns && is_in_columns(scan, k, begin, p);
    }
    return (in_columns || words_decide(scan, p)) && scan_words_end(scan, p);
}

static bool integers_by_columns(struct field_scan *scan)
{
    const char *p, *end = scan->line;
    scan_line(scan);
    for (int k = 0; k < scan->fields; k++) {
        int64_t v = 0;
        if (!scan_column(scan, k, &p, &end) || end - p > 18) return false;
        for (; p < end && (unsigned)(*p - '0') < 10; p++) v = 10 * v + (*p - '0');
        if (p < end) return false;
        scan->integers[k] = v;
    }
    return columns_are_blank(scan, end - scan->line, scan->line_end - scan->line);
}

static bool integers_closely(struct field_scan *scan, void *numbers, char *word)
{
    int64_t *integers = numbers;
    while (scan->next < scan->fields) {
        int64_t *value = &integers[scan->next];
        scan_field(scan, word);
        const char *end = number_count(word, value);
        if (!end || *end) return false;
    }
    return true;
}

/** The next record's integers. */
static trine_status scan_integers(struct field_scan *scan)
{
    const bool words_first = scan->by_words;
    trine_status status = scan_record(scan);
    if (status) return status;
    if (words_first ? integers_by_words(scan) || integers_by_columns(scan)
                    : integers_by_columns(scan) || integers_by_words(scan))
        return TRINE_SUCCESS;
    return scan_closely(scan, scan->integers, sizeof *scan->integers, true);
}

/** An integer field within lowest..highest. */
static inline trine_status scan_integer(struct field_scan *scan, int64_t lowest, int64_t highest, int64_t *value)
{
    if (scan->next == scan->fields) {
        const trine_status status = scan_integers(scan);
        if (status) return status;
    }
    *value = scan->integers[scan->next++];
    if (*value < lowest || *value > highest)
        return text_fail(scan->b->text, scan->line, "%s %lld is outside %lld..%lld", scan->what, (long long)*value,
                         (long long)lowest, (long long)highest);
    return TRINE_SUCCESS;
}

/** Column pointers, as the column of each entry. */
static trine_status read_pointers(struct boeing *b, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    struct field_scan scan;
    int64_t before = 1, pointer = 1;
    TRY(scan_begin(b, &scan, &b->pointer_format, e->n_cols + 1, "column pointer", integers_closely));
    if (e->count > b->end - b->position)
        TRY(text_fail(b->text, b->position, "%lld entries are declared, but only %lld bytes follow",
                      (long long)e->count, (long long)(b->end - b->position)));
    TRY(text_check_rows(b->text, b->sizes, e->n_rows, "rows"));
    TRY(text_check_rows(b->text, b->sizes, e->n_cols, "columns"));
    TRY(ALLOC(b->text->ctx, e->rows, e->count));
    TRY(ALLOC(b->text->ctx, e->cols, e->count));
    for (int64_t j = 0; j <= e->n_cols; j++) {
        TRY(scan_integer(&scan, before, j ? e->count + 1 : 1, &pointer));
        for (int64_t k = before; k < pointer; k++) e->cols[k - 1] = (int32_t)(j - 1);
        before = pointer;
    }
    if (pointer != e->count + 1)
        TRY(text_fail(b->text, scan.line, "the last column pointer is %lld, not the number of entries + 1 = %lld",
                      (long long)pointer, (long long)e->count + 1));
    TRY(scan_end(&scan));
done:
    return status;
}

static trine_status read_indices(struct boeing *b, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    struct field_scan scan;
    int64_t lower = -1, upper = -1;
    b->indices = b->position;
    TRY(scan_begin(b, &scan, &b->index_format, e->count, "row index", integers_closely));
    for (int64_t k = 0; k < e->count; k++) {
        int64_t i;
        TRY(scan_integer(&scan, 1, e->n_rows, &i));
        e->rows[k] = (int32_t)(i - 1);
        if (e->rows[k] > e->cols[k] && lower < 0) lower = k;
        if (e->rows[k] < e->cols[k] && upper < 0) upper = k;
    }
    TRY(scan_end(&scan));
    e->upper = upper >= 0;
    if (e->symmetry != TRINE_GENERAL && lower >= 0 && upper >= 0) {
        const int64_t k = lower > upper ? lower : upper;
        TRY(text_fail(b->text, field_line(b, b->indices, &b->index_format, k),
                      "entry (%d,%d) is %s the diagonal, others are %s it: a type that declares a "
                      "symmetry stores one triangle",
                      e->rows[k] + 1, e->cols[k] + 1, k == lower ? "below" : "above", k == lower ? "above" : "below"));
    }
done:
    return status;
}

static trine_status read_section_of_values(struct boeing *b, trine_dtype t, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    b->values = b->position;
    if (e->count > b->end - b->position)
        TRY(text_fail(b->text, b->position, "%lld values are declared, but only %lld bytes follow", (long long)e->count,
                      (long long)(b->end - b->position)));
    e->values = trine_host_alloc(b->text->ctx, e->count, trine_dtype_size(t));
    if (!e->values) TRY(TRINE_ERR_MEMORY);
    TRY(read_values[t](b, e));
    const int64_t bad = find_bad_diagonal[t](e);
    if (bad < e->count)
        TRY(text_fail(b->text, field_line(b, b->values, &b->value_format, bad * (b->type == 'c' ? 2 : 1)),
                      "diagonal entry %d of a %s", e->rows[bad] + 1,
                      e->symmetry == TRINE_SKEW ? "skew-symmetric matrix is not zero"
                                                : "Hermitian matrix is not real"));
done:
    return status;
}

trine_status boeing_read(const struct text *text, trine_dtype t, struct entries *e)
{
    trine_status status = TRINE_SUCCESS;
    struct boeing b = {.text = text};
    *e = (struct entries){0};
    TRY(read_header(&b, t, e));
    TRY(read_pointers(&b, e));
    TRY(read_indices(&b, e));
    if (b.type != 'p') TRY(read_section_of_values(&b, t, e));
    if (!b.more_follows) {
        const char *p = text_next_entry(b.position, b.end, "");
        if (p < b.end) TRY(text_fail(text, p, "\"%s\" stands after the matrix", text_word(p).text));
    }
done:
    if (status) entries_free(text->ctx, e);
    return status;
}
