/* Fortran formats, and fields of records by them: the first line is the format, the rest the record. */
#include "fuzz.h"

#include "matrix/files/fortran.h"

/** Cut a record into words, then into columns. */
static void cut(const struct fortran_format *f, const char *record, const char *end)
{
    char word[field_room];
    MUST(f->count >= 1 && f->count <= most_fields);
    for (int k = 0; k < f->count; k++) {
        MUST(f->width[k] >= 1 && f->width[k] <= longest_field &&
             f->start[k] >= (k ? f->start[k - 1] + f->width[k - 1] : 0));
        fortran_field(f, k, record, end, word);
        MUST(strlen(word) < field_room);
    }
    const int words = fortran_count_words(record, end, f->count);
    MUST(words >= 0 && words <= f->count + 1);
    for (int k = 0; k < words; k++) {
        fortran_word(f, &record, end, word);
        MUST(*word && strlen(word) < field_room && record <= end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fortran_format format, later;
    char *text = fuzz_text(data, size), *end = text + size, *line = memchr(text, '\n', size);
    if (!line) line = end;
    if (fortran_parse(text, line, &format)) return 0;
    cut(&format, line < end ? line + 1 : end, end);
    fortran_later(&format, &later);
    cut(&later, line < end ? line + 1 : end, end);
    return 0;
}
