/* Fortran formats and the fields they cut records into (ISO/IEC 1539-1, input editing of I, F, E, D and G). */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/files/fortran.h"

enum { deepest_group = 3, longest_record = 1 << 16 };

static const char too_long[] = "a record longer than 65536", too_many[] = "no field or more than 256 in a record";

/** Each character is looked at once; the fields of a repeated group are copied. So neither time nor any number grows
 *  with the repeat counts, and s->column never exceeds 2 longest_record. */
struct parser {
    const char *p, *end;
    int column;
    struct fortran_format *f;
};

static char peek(struct parser *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t')) s->p++;
    return s->p < s->end ? (char)toupper((unsigned char)*s->p) : 0;
}

/** An unsigned number; `missing` if there is none. Large ones are cut: everything here is limited anyway. */
static int number(struct parser *s, int missing)
{
    if (!isdigit((unsigned char)peek(s))) return missing;
    int v = 0;
    while (isdigit((unsigned char)peek(s))) {
        v = 10 * v + (*s->p++ - '0');
        if (v > longest_record) v = longest_record;
    }
    return v;
}

/** Iw, Ew.d, ... with its repeat count; p is behind the letter. */
static const char *parse_fields(struct parser *s, char kind, int repeat)
{
    struct fortran_format *f = s->f;
    const int width = number(s, 0);
    int decimals = 0;
    if (peek(s) == '.') {
        s->p++;
        decimals = number(s, 0);
    }
    if (kind != 'I' && peek(s) == 'E') { /* digits of the exponent: of no meaning when reading */
        s->p++;
        number(s, 0);
    }
    if (width < 1 || width > longest_field) return "a field without width or wider than 128";
    if (repeat < 1 || repeat > most_fields - f->count) return too_many;
    if (kind == 'I') decimals = 0;
    else kind = 'E'; /* they are read alike */
    if (f->count && (f->kind != kind || f->decimals != decimals)) return "fields of different kinds or decimals";
    f->kind = kind;
    f->decimals = decimals;
    for (; repeat > 0; repeat--) {
        f->start[f->count] = s->column;
        f->width[f->count++] = width;
        s->column += width;
    }
    return NULL;
}

/** The group that began with field `first` in column `begin` stands `repeat` times. */
static const char *repeat_group(struct parser *s, int first, int begin, int repeat)
{
    struct fortran_format *f = s->f;
    const int fields = f->count - first, width = s->column - begin;
    if (repeat < 1 || repeat > most_fields) return "a group repeated 0 or more than 256 times";
    if (width > (longest_record - begin) / repeat) return too_long;
    if (fields > (most_fields - first) / repeat) return too_many;
    for (int k = fields; k < fields * repeat; k++) {
        f->start[f->count] = f->start[f->count - fields] + width;
        f->width[f->count] = f->width[f->count - fields];
        f->count++;
    }
    s->column = begin + width * repeat;
    return NULL;
}

/** Items up to the group's ')'; p is behind its '('. */
static const char *parse_group(struct parser *s, int depth)
{
    struct fortran_format *f = s->f;
    const char *wrong = NULL;
    if (depth > deepest_group) return "groups nested too deeply";
    while (!wrong) {
        char c = peek(s);
        if (c == ',') {
            s->p++;
            continue;
        }
        if (c == ')') {
            s->p++;
            return NULL;
        }
        const bool negative = c == '-';
        if (c == '-' || c == '+') s->p++;
        const int repeat = number(s, 1);
        c = peek(s);
        if (!c) return "no closing parenthesis";
        s->p++;
        if (negative && c != 'P') return "a negative repeat count";
        if (c == 'P') {
            const int scale = negative ? -repeat : repeat;
            if (repeat > 30) return "a scale factor beyond 30";
            if (f->count && scale != f->scale) return "fields of different scale factors";
            f->scale = scale;
        } else if (c == 'X') {
            s->column += repeat;
        } else if (c == '(') {
            const int first = f->count, begin = s->column;
            wrong = parse_group(s, depth + 1);
            if (!wrong) wrong = repeat_group(s, first, begin, repeat);
            if (depth == 1) {
                f->again = first;
                f->again_column = begin;
            }
        } else if (strchr("IEDFG", c)) {
            wrong = parse_fields(s, c, repeat);
        } else {
            return "an edit descriptor other than I, E, D, F, G, X, P";
        }
        if (!wrong && s->column > longest_record) wrong = too_long;
    }
    return wrong;
}

const char *fortran_parse(const char *text, const char *end, struct fortran_format *f)
{
    struct parser s = {.p = text, .end = end, .f = f};
    *f = (struct fortran_format){0};
    if (peek(&s) != '(') return "no opening parenthesis";
    s.p++;
    const char *wrong = parse_group(&s, 1);
    if (wrong) return wrong;
    if (!f->count) return "no field";
    if (f->again == f->count) return "no field in its last group, which is what all records but the first consist of";
    if (f->kind == 'I') f->scale = 0;
    return NULL;
}

void fortran_later(const struct fortran_format *f, struct fortran_format *later)
{
    *later = *f;
    later->count = f->count - f->again;
    for (int k = 0; k < later->count; k++) {
        later->start[k] = f->start[f->again + k] - f->again_column;
        later->width[k] = f->width[f->again + k];
    }
    later->again = later->again_column = 0;
}

/** Give a real number without blanks the point and the exponent that its format implies. */
static void apply_format(const struct fortran_format *f, char *word)
{
    char *exponent = word + (*word == '-' || *word == '+');
    /* inf, nan, or no number: refused by the caller */
    if (!isdigit((unsigned char)*exponent) && *exponent != '.') return;
    bool point = false;
    for (; isdigit((unsigned char)*exponent) || *exponent == '.'; exponent++) point |= *exponent == '.';
    const bool written = *exponent != 0;
    if (point && (f->scale == 0 || written) && *exponent != '+' && *exponent != '-') return;
    char *digits = exponent + (written && isalpha((unsigned char)*exponent)), *rest;
    long value = written ? strtol(digits, &rest, 10) : 0;
    if (written && (rest == digits || *rest)) return; /* no number */
    if (value > 99999) value = 99999;
    if (value < -99999) value = -99999;
    if (!point) value -= f->decimals;
    if (!written) value -= f->scale;
    snprintf(exponent, (size_t)(word + field_room - exponent), "E%ld", value);
}

void fortran_field(const struct fortran_format *f, int k, const char *line, const char *line_end, char *word)
{
    char *to = word;
    const char *p = line + f->start[k], *end = p + f->width[k];
    if (f->start[k] >= line_end - line) end = p = line_end;
    if (f->width[k] > line_end - p) end = line_end;
    for (; p < end; p++)
        if (*p != ' ' && *p != '\t') *to++ = *p ? *p : '?'; /* a byte 0 is not the end of the field */
    *to = 0;
    if (f->kind != 'I' && to > word) apply_format(f, word);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

void fortran_word(const struct fortran_format *f, const char **p, const char *line_end, char *word)
{
    char *to = word;
    while (*p < line_end && is_blank(**p)) ++*p;
    for (; *p < line_end && !is_blank(**p) && to < word + longest_field; ++*p) *to++ = **p ? **p : '?';
    *to = 0;
    if (*p < line_end && !is_blank(**p)) to[-1] = '?'; /* the word goes on */
    if (f->kind != 'I' && to > word) apply_format(f, word);
}

int fortran_count_words(const char *line, const char *line_end, int most)
{
    int count = 0;
    for (const char *p = line; p < line_end && count <= most; p++)
        count += !is_blank(*p) && (p == line || is_blank(p[-1]));
    return count;
}
