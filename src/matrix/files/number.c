/* Decimal text to floating point, correctly rounded.
 *
 * Three steps, each exact or aware that it is not:
 * 1. at most 2^53 as mantissa and 10^22 as power of ten: one multiplication or division of two exact numbers (W. D.
 *    Clinger, How to read floating point numbers accurately, PLDI 1990);
 * 2. otherwise the product in long double with a bound of its error: if both ends of the interval round to the same
 *    number, that is the answer;
 * 3. otherwise strtod on the digits without their point, which is the one thing in a number that depends on the
 *    locale. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "matrix/files/text.h"

struct decimal {
    const char *digits, *digits_end; /* as they stand, with the point */
    uint64_t mantissa;               /* the first 19 significant digits */
    int64_t exponent;                /* the value is mantissa * 10^exponent, */
    bool cut;                        /* or less than one unit of the mantissa more if digits were cut */
    int64_t last_exponent;           /* power of ten of the last digit in the text */
    bool negative;
};

enum {
    exponent_limit = 100000, /* larger ones are cut here: zero or infinity, but for absurdly many digits */
    longest_digits = 800     /* 768 significant digits decide the rounding of any double */
};

static inline bool is_digit(char c) { return (unsigned)(c - '0') < 10; }

/** The first 19 significant digits of a number with more of them. */
static void cut_digits(struct decimal *d, int64_t written_exponent)
{
    const char *p = d->digits;
    int significant = 0;
    int64_t exponent = written_exponent;
    bool after_point = false;
    uint64_t m = 0;
    for (; p < d->digits_end; p++) {
        if (*p == '.') {
            after_point = true;
        } else if (significant < 19) {
            m = 10 * m + (uint64_t)(*p - '0');
            significant += m != 0;
            exponent -= after_point;
        } else {
            d->cut |= *p != '0';
            exponent += !after_point;
        }
    }
    d->mantissa = m;
    d->exponent = exponent;
}

static inline const char *scan_decimal(const char *p, struct decimal *d)
{
    d->negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    d->digits = p;
    d->cut = false;
    uint64_t m = 0;
    while (is_digit(*p)) m = 10 * m + (uint64_t)(*p++ - '0');
    int64_t count = p - d->digits, fraction = 0;
    if (*p == '.') {
        const char *after = ++p;
        while (is_digit(*p)) m = 10 * m + (uint64_t)(*p++ - '0');
        fraction = p - after;
        count += fraction;
    }
    if (!count) return NULL;
    d->digits_end = p;
    int64_t exponent = 0;
    if ((*p | 32) == 'e' || (*p | 32) == 'd') {
        const char *q = p + 1;
        bool negative = *q == '-';
        if (*q == '-' || *q == '+') q++;
        if (is_digit(*q)) {
            for (; is_digit(*q); q++)
                if (exponent < exponent_limit) exponent = 10 * exponent + (*q - '0');
            if (negative) exponent = -exponent;
            p = q;
        }
    }
    d->mantissa = m;
    d->exponent = d->last_exponent = exponent - fraction;
    if (count > 19) cut_digits(d, exponent);
    return p;
}

/** The digits of d without point and leading zeros, an exponent after them, for strtod. */
static void plain_digits(const struct decimal *d, char *text)
{
    int count = 0;
    int64_t exponent = d->last_exponent;
    bool cut = false;
    for (const char *p = d->digits; p < d->digits_end; p++) {
        if (*p == '.' || (*p == '0' && !count)) continue;
        if (count < longest_digits) {
            text[count++] = *p;
        } else {
            cut |= *p != '0';
            exponent++;
        }
    }
    if (!count) text[count++] = '0';
    if (cut) { /* a digit beyond all that matter: what looks like a tie is none */
        text[count++] = '1';
        exponent--;
    }
    text[count++] = 'e';
    if (exponent < 0) {
        text[count++] = '-';
        exponent = -exponent;
    }
    char reversed[24];
    int length = 0;
    do reversed[length++] = (char)('0' + exponent % 10);
    while (exponent /= 10);
    while (length) text[count++] = reversed[--length];
    text[count] = 0;
}

/** An interval of long doubles around d; false where it is not known well enough. */
static inline bool long_double_bounds(const struct decimal *d, long double *low, long double *high)
{
    static const long double
        small[28] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                     1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                     1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L}; /* exact: 5^27 < 2^64 */
    static const long double large[11] = {1e0L,   1e28L,  1e56L,  1e84L,  1e112L, 1e140L,
                                          1e168L, 1e196L, 1e224L, 1e252L, 1e280L};
    if (LDBL_MANT_DIG < 64 || LDBL_MAX_EXP < 16384) return false;
    const int64_t size = d->exponent < 0 ? -d->exponent : d->exponent;
    if (size >= 28 * 11) return false;
    long double v = d->mantissa;
    v = d->exponent < 0 ? v / small[size % 28] / large[size / 28] : v * small[size % 28] * large[size / 28];
    /* two roundings and that of large[]: less than 2^-62 together; 19 cut digits: less than 10^-18 */
    const long double error = v * (d->cut ? 0x1p-59L : 0x1p-61L);
    *low = v - error;
    *high = v + error;
    return true;
}

/** inf, infinity, nan, with a sign. */
static const char *scan_name(const char *p, double *value)
{
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!strncasecmp(p, "nan", 3)) {
        *value = NAN;
        return p + 3;
    }
    if (strncasecmp(p, "inf", 3)) return NULL;
    *value = negative ? -INFINITY : INFINITY;
    return p + (strncasecmp(p, "infinity", 8) ? 3 : 8);
}

const char *number_double(const char *p, double *value)
{
    static const double powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d;
    const char *end = scan_decimal(p, &d);
    if (!end) return scan_name(p, value);
    double v;
    long double low, high;
    if (d.mantissa <= 1ull << 53 && d.exponent >= -22 && d.exponent <= 22 && !d.cut) {
        v = (double)d.mantissa;
        v = d.exponent < 0 ? v / powers[-d.exponent] : v * powers[d.exponent];
    } else if (!long_double_bounds(&d, &low, &high) || (v = (double)low) != (double)high) {
        char digits[longest_digits + 32];
        plain_digits(&d, digits);
        v = strtod(digits, NULL);
    }
    *value = d.negative ? -v : v;
    return end;
}

const char *number_float(const char *p, float *value)
{
    static const float powers[11] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    struct decimal d;
    const char *end = scan_decimal(p, &d);
    if (!end) {
        double named = 0;
        end = scan_name(p, &named);
        *value = (float)named;
        return end;
    }
    float v;
    long double low, high;
    if (d.mantissa <= 1u << 24 && d.exponent >= -10 && d.exponent <= 10 && !d.cut) {
        v = (float)d.mantissa;
        v = d.exponent < 0 ? v / powers[-d.exponent] : v * powers[d.exponent];
    } else if (!long_double_bounds(&d, &low, &high) || (v = (float)low) != (float)high) {
        char digits[longest_digits + 32];
        plain_digits(&d, digits);
        v = strtof(digits, NULL);
    }
    *value = d.negative ? -v : v;
    return end;
}
