/* A convergence plot: norms against steps, logarithmic. */
#include "convergence_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 420, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 50, MOST_POINTS = 2000, MOST_TICKS = 8 };

struct axes {
    FILE *file;
    int64_t count;
    int low, high; /* decades */
};

static double x_of(const struct axes *a, int64_t step)
{
    const double most = a->count > 1 ? (double)(a->count - 1) : 1;
    return LEFT + (double)step / most * (WIDTH - LEFT - RIGHT);
}
static double y_of(const struct axes *a, double value)
{
    return TOP + (a->high - log10(value)) / (a->high - a->low) * (HEIGHT - TOP - BOTTOM);
}

static bool is_drawn(double value) { return value > 0 && isfinite(value); }

/** The decades that hold all values, at least one. */
static void widen(struct axes *a, const double *values)
{
    for (int64_t k = 0; values && k < a->count; k++) {
        if (!is_drawn(values[k])) continue;
        a->low = (int)fmin(a->low, floor(log10(values[k])));
        a->high = (int)fmax(a->high, ceil(log10(values[k])));
    }
}

/** 1, 2 or 5 times a power of ten, so that there are at most so many ticks in `most`. */
static int64_t tick_step(int64_t most)
{
    for (int64_t power = 1;; power *= 10)
        for (int factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3)
            if (most / (factor * power) <= MOST_TICKS) return factor * power;
}

static void draw_axes(const struct axes *a)
{
    const int decades = (a->high - a->low + MOST_TICKS - 1) / MOST_TICKS;
    fprintf(a->file, "<g stroke=\"#dddddd\" stroke-width=\"1\" fill=\"#222222\" font-size=\"13\">\n");
    for (int d = a->low; d <= a->high; d += decades) {
        const double y = y_of(a, pow(10, d));
        fprintf(a->file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT, y, WIDTH - RIGHT, y);
        fprintf(a->file, "<text stroke=\"none\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">1e%d</text>\n", LEFT - 8, y + 4,
                d);
    }
    const int64_t most = a->count - 1, step = tick_step(most > 1 ? most : 1);
    for (int64_t k = 0; k <= most; k += step) {
        fprintf(a->file, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x_of(a, k), TOP, x_of(a, k),
                HEIGHT - BOTTOM);
        fprintf(a->file, "<text stroke=\"none\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%lld</text>\n", x_of(a, k),
                HEIGHT - BOTTOM + 18, (long long)k);
    }
    fprintf(a->file, "<text stroke=\"none\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">steps</text>\n</g>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

/** A line through the values; of many it takes every so many. */
static void draw_curve(const struct axes *a, const double *values, const char *colour, const char *name, int place)
{
    const int64_t every = a->count / MOST_POINTS + 1;
    fprintf(a->file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (int64_t k = 0; k < a->count; k++)
        if (is_drawn(values[k]) && (k % every == 0 || k == a->count - 1))
            fprintf(a->file, "%.1f,%.1f ", x_of(a, k), y_of(a, values[k]));
    fprintf(a->file, "\"/>\n<text font-size=\"13\" fill=\"%s\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%s</text>\n",
            colour, WIDTH - RIGHT - 8, TOP + 18 * place, name);
}

trine_status write_convergence(const char *path, const char *title, int64_t count, const double *residuals,
                               const double *errors, double target)
{
    struct axes a = {.count = count, .low = (int)floor(log10(target)), .high = 0};
    widen(&a, residuals);
    widen(&a, errors);
    a.file = fopen(path, "w");
    if (!a.file) return trine_fail(TRINE_ERR_IO, "%s cannot be written: %s", path, strerror(errno));
    fprintf(a.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"Helvetica, Arial, sans-serif\">\n<title>Convergence of %s</title>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"15\" fill=\"#222222\">%s</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, title, LEFT, title);
    draw_axes(&a);
    fprintf(a.file, "<line stroke=\"#999999\" stroke-dasharray=\"6 4\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n",
            LEFT, y_of(&a, target), WIDTH - RIGHT, y_of(&a, target));
    draw_curve(&a, residuals, "#0072b2", "residual, relative to b", 1);
    if (errors) draw_curve(&a, errors, "#d55e00", "error, relative to the solution", 2);
    fprintf(a.file, "</svg>\n");
    const bool is_bad = ferror(a.file);
    if (fclose(a.file) || is_bad) return trine_fail(TRINE_ERR_IO, "%s cannot be written: %s", path, strerror(errno));
    return TRINE_SUCCESS;
}
