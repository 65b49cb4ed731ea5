/* Host vectors of any precision, value by value: solutions known beforehand, and how far from them a solve ended. */
#include "host_vector.h"

#include <math.h>

void get_value(trine_dtype t, const void *x, int64_t i, double *re, double *im)
{
    *re = *im = 0;
    switch (t) {
    case TRINE_S: *re = ((const float *)x)[i]; break;
    case TRINE_D: *re = ((const double *)x)[i]; break;
    case TRINE_C:
        *re = ((const float *)x)[2 * i];
        *im = ((const float *)x)[2 * i + 1];
        break;
    case TRINE_Z:
        *re = ((const double *)x)[2 * i];
        *im = ((const double *)x)[2 * i + 1];
        break;
    }
}

void set_value(trine_dtype t, void *x, int64_t i, double re, double im)
{
    switch (t) {
    case TRINE_S: ((float *)x)[i] = (float)re; break;
    case TRINE_D: ((double *)x)[i] = re; break;
    case TRINE_C:
        ((float *)x)[2 * i] = (float)re;
        ((float *)x)[2 * i + 1] = (float)im;
        break;
    case TRINE_Z:
        ((double *)x)[2 * i] = re;
        ((double *)x)[2 * i + 1] = im;
        break;
    }
}

/** The k-th number of a fixed sequence, uniform in (-1,1): splitmix64 (Steele, Lea, Flood 2014). */
static double uniform(uint64_t k)
{
    uint64_t z = (k + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return 2 * (((double)(z >> 11) + 0.5) * 0x1p-53) - 1;
}

void known_solution(enum rhs kind, trine_dtype t, int64_t n, void *s)
{
    for (int64_t i = 0; i < n; i++) {
        if (kind == RHS_ONES) set_value(t, s, i, 1, 0);
        else if (kind == RHS_SIN) set_value(t, s, i, sin((double)(i + 1)), 0);
        else if (kind == RHS_THESIS) set_value(t, s, i, sin(16 * acos(-1) * (double)i / (double)n), 0);
        else set_value(t, s, i, uniform(2 * (uint64_t)i), uniform(2 * (uint64_t)i + 1));
    }
}

int64_t first_not_finite(trine_dtype t, const void *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double re, im;
        get_value(t, x, i, &re, &im);
        if (!isfinite(re) || !isfinite(im)) return i;
    }
    return -1;
}

double solution_error(trine_dtype t, const void *x, const void *s, int64_t n)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        double xr, xi, sr, si;
        get_value(t, x, i, &xr, &xi);
        get_value(t, s, i, &sr, &si);
        difference = fmax(difference, hypot(xr - sr, xi - si));
        size = fmax(size, hypot(sr, si));
    }
    return size > 0 ? difference / size : difference;
}
