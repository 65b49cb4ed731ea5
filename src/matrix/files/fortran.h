/* Fortran formats such as (16I5), (1P,4D20.12), (3(1X,E24.16)): where the fields of a record are, and what they
 * mean; seen by src/matrix only. */
#ifndef TRINE_MATRIX_FILES_FORTRAN_H
#define TRINE_MATRIX_FILES_FORTRAN_H

#include <stdint.h>

enum { most_fields = 256, longest_field = 128, field_room = longest_field + 24 };

struct fortran_format {
    char kind;                   /* 'I', or 'E' for all of E D F G */
    int count;                   /* fields a record, at least 1 */
    int start[most_fields];      /* column of each, from 0 */
    int width[most_fields];
    int decimals, scale;         /* w.d, kP; both 0 for integers */
    int again, again_column;     /* the first field of later records, and the column that is their column 0 */
};

/** Parse the format that starts with '(' at text and ends with its ')'. NULL, or what is not understood. */
const char *fortran_parse(const char *text, const char *end, struct fortran_format *f);
/** The format of all records but the first: Fortran goes back to the last group, (2I4,3(I5)) to 3(I5), or to the
 *  whole format. */
void fortran_later(const struct fortran_format *f, struct fortran_format *later);

/** Field k of the record [line, line_end) as text without blanks that NUMBER understands: "12345" in F8.3 becomes
 *  "12345E-3", "1.5-100" becomes "1.5E-100", "5." in 1P,E8.1 becomes "5.E-1". Empty where the field is blank or the
 *  record too short. word: field_room characters. */
void fortran_field(const struct fortran_format *f, int k, const char *line, const char *line_end, char *word);
/** The same for the word at *p, which is moved behind it, in a record whose fields are known by the blanks between
 *  them. A word of more than longest_field characters is cut and ends in '?', so that it is no number. */
void fortran_word(const struct fortran_format *f, const char **p, const char *line_end, char *word);
/** How many words stand in a record, counted up to one more than `most`. */
int fortran_count_words(const char *line, const char *line_end, int most);

#endif
