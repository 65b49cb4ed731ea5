/* Numbers, held to strtod, strtof and strtoull. */
#include "fuzz.h"

#include <math.h>

#include "matrix/files/text.h"

/** The number at text, to its end, as C's functions read it: an exponent after e only. */
static char *as_c_reads_it(const char *text, const char *end)
{
    char *copy = fuzz_text((const uint8_t *)text, (size_t)(end - text));
    for (char *c = copy; *c; c++)
        if ((*c == 'd' || *c == 'D') && c > copy && (c[-1] == '.' || (c[-1] >= '0' && c[-1] <= '9'))) *c = 'e';
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *last;
    MUST(text);
    memcpy(text, data, size);
    text[size] = 0;
    double d, as_double;
    float f, as_float;
    int64_t n;
    const char *end = number_double(text, &d), *same = number_float(text, &f);
    MUST(end == same);
    if (end) {
        MUST(end > text && end <= text + size);
        const char *copy = as_c_reads_it(text, end);
        as_double = strtod(copy, &last);
        MUST(!*last);
        MUST(isnan(d) ? isnan(as_double) : !memcmp(&d, &as_double, sizeof d));
        as_float = strtof(copy, &last);
        MUST(!*last);
        MUST(isnan(f) ? isnan(as_float) : !memcmp(&f, &as_float, sizeof f));
    }
    end = number_count(text, &n);
    if (end) {
        MUST(end > text && end <= text + size && n >= 0);
        MUST(strtoull(as_c_reads_it(text, end), &last, 10) == (unsigned long long)n && !*last);
    }
    free(text);
    return 0;
}
