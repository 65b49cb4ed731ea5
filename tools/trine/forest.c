/* trine forest: draw the linear forests of a small grid, one below the other, without and with edges that come again
 * (Klein 2024, Figure 33). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { MOST_VERTICES = 10000, STEP = 14, MARGIN = 24, LEAST_FORESTS = 1, MOST_FORESTS = 16 };

struct options {
    struct parse parse;
    const char *path, *svg, *coords;
    int64_t nx, ny;
    int forests;
    double omega;
    trine_read_options limits;
};

/** The number of points in a direction at the beginning of *text, which goes on behind it; 0: there is none. */
static int64_t take_number(const char **text)
{
    char *end;
    errno = 0;
    const long long value = **text >= '0' && **text <= '9' ? strtoll(*text, &end, 10) : 0;
    if (value < 1 || value > MOST_VERTICES || errno) return 0;
    *text = end;
    return value;
}

static error_t parse_coords(struct argp_state *state, const char *arg, struct options *o)
{
    static const char kind[] = "grid:";
    const char *rest = arg + strlen(kind);
    o->nx = o->ny = 0;
    if (!strncmp(arg, kind, strlen(kind))) o->nx = take_number(&rest);
    if (o->nx && *rest == 'x') {
        rest++;
        o->ny = take_number(&rest);
    }
    if (!o->ny || *rest || o->nx * o->ny > MOST_VERTICES)
        return refuse(state, "--coords \"%s\" is not grid:NXxNY with up to %d points", arg, MOST_VERTICES);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'c': return parse_coords(state, arg, o);
    case 's': o->svg = arg; return 0;
    case 'm': return parse_count(state, "--forests", arg, LEAST_FORESTS, MOST_FORESTS, &o->forests);
    case 'w': return parse_fraction(state, "--omega", arg, false, &o->omega);
    case ARGP_KEY_ARG:
        if (o->path) return refuse(state, "unexpected argument \"%s\"", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->path) return refuse(state, "forest: no matrix file");
        if (!o->nx) return refuse(state, "forest: no grid; add --coords grid:NXxNY");
        if (!o->svg) return refuse(state, "forest: no picture; add --svg FILE");
        return 0;
    default: return parse_limit(key, arg, state, &o->limits);
    }
}

static const struct argp_option options[] = {
    {"coords", 'c', "grid:NXxNY", 0, "row v of the matrix is the point (v mod NX, v / NX)", 0},
    {"svg", 's', "FILE", 0, "the picture", 0},
    {"forests", 'm', "M", 0, "forests below one another (default 3)", 0},
    {"omega", 'w', "W", 0, "factor on weights of edges taken, in the right column (default 0.5)", 0},
    LIMIT_OPTIONS,
    {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MATRIX --coords grid:NXxNY --svg FILE",
    .doc = "Draw the linear forests of a matrix on a small grid, one after another from top to bottom: each edge in "
           "one forest on the left, weights of edges taken reduced by a factor on the right.\v"};

static double x_of(const struct options *o, int column, int32_t v)
{
    return MARGIN + (double)column * (double)(o->nx * STEP + MARGIN) + (double)(v % o->nx) * STEP;
}
static double y_of(const struct options *o, int row, int32_t v) /* the first row of the grid below */
{
    const int64_t from_top = o->ny - 1 - v / o->nx;
    return MARGIN + (double)row * (double)(o->ny * STEP + MARGIN) + (double)from_top * STEP;
}

/** Where a column of forests is drawn. */
struct drawing {
    const struct options *o;
    FILE *file;
    int column;
};

static trine_status draw_forest(const struct drawing *d, int row, trine_forest forest)
{
    const struct options *o = d->o;
    trine_forest_arrays arrays;
    const trine_status status = trine_forest_get_arrays(forest, &arrays);
    for (int32_t v = 0; !status && v < o->nx * o->ny; v++) {
        for (int s = 0; s < arrays.n; s++) {
            const int32_t u = arrays.neighbours[(int64_t)v * arrays.n + s];
            if (u > v)
                fprintf(d->file, "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"/>\n", x_of(o, d->column, v),
                        y_of(o, row, v), x_of(o, d->column, u), y_of(o, row, u));
        }
        fprintf(d->file, "<circle cx=\"%g\" cy=\"%g\" r=\"2\" stroke=\"none\"/>\n", x_of(o, d->column, v),
                y_of(o, row, v));
    }
    return status;
}

/** Between two forests: the one before is complete. */
static trine_status draw_before(void *user, int l, trine_forest forest, trine_space *space, const void **values)
{
    (void)space, (void)values; /* weights are adjusted */
    return draw_forest(user, l - 1, forest);
}

static trine_status draw(trine_context ctx, trine_matrix A, const struct options *o, FILE *file)
{
    trine_status status = TRINE_SUCCESS;
    trine_forest forest = NULL;
    const void *values;
    const int64_t n = o->nx * o->ny;
    int32_t *permutation = malloc(sizeof *permutation * (size_t)(n * o->forests));
    if (!permutation) return trine_fail(TRINE_ERR_MEMORY, "no memory for %lld vertices", (long long)n);
    TRY(trine_matrix_get_arrays(A, NULL, NULL, &values));
    TRY(trine_forest_create(ctx, &forest, A, NULL));
    const int64_t width = 2 * (o->nx * STEP + MARGIN) + MARGIN, height = o->forests * (o->ny * STEP + MARGIN) + MARGIN;
    fprintf(
        file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 0 %lld %lld\">\n"
        "<title>Linear forests, omega = 0 and %g</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
        "<g stroke=\"#0072b2\" stroke-width=\"3\" stroke-linecap=\"round\" fill=\"#222222\">\n",
        (long long)width, (long long)height, (long long)width, (long long)height, o->omega);
    for (int column = 0; column < 2; column++) {
        struct drawing d = {o, file, column};
        const trine_forest_decomposition forests = {.count = o->forests,
                                                    .omega = column ? o->omega : 0,
                                                    .next = draw_before,
                                                    .user = &d,
                                                    .permutation = permutation};
        TRY(trine_forest_decompose(forest, TRINE_HOST, values, &(trine_factor_rounds){.until_maximal = 1}, &forests,
                                   NULL));
        TRY(draw_forest(&d, o->forests - 1, forest));
    }
    fprintf(file, "</g>\n</svg>\n");
done:
    trine_forest_destroy(&forest);
    free(permutation);
    return status;
}

/** The picture in a file, which a picture that fails does not touch. */
static int write_picture(trine_context ctx, trine_matrix A, const struct options *o)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    trine_status status = memory ? draw(ctx, A, o, memory) : TRINE_ERR_MEMORY;
    if (!memory || fclose(memory)) status = trine_fail(TRINE_ERR_MEMORY, "no memory for a picture");
    FILE *file = status ? NULL : fopen(o->svg, "w");
    bool is_bad = !file || fwrite(text, 1, size, file) != size;
    if (file) is_bad |= fclose(file) != 0;
    free(text);
    if (status) return fail_status(status);
    if (is_bad) return fail(EXIT_FILE, "%s cannot be written: %s", o->svg, strerror(errno));
    printf("%s: %d forests of %s vertices, without and with edges that come again\n", o->svg, o->forests,
           grouped(o->nx * o->ny));
    return EXIT_OK;
}

int command_forest(int argc, char **argv)
{
    struct options o = {.forests = 3, .omega = 0.5};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_matrix_info info;
    if (is_same_file(o.svg, o.path))
        return fail(EXIT_USAGE, "--svg %s is the same file as %s, which is read", o.svg, o.path);
    trine_status status = trine_context_create(&ctx, "cpu");
    step_begin("reading");
    if (!status) status = read_matrix(ctx, &A, o.path, 0, &o.limits);
    step_end();
    if (!status) status = trine_matrix_get_info(A, &info);
    if (!status && (info.n_rows != o.nx * o.ny || info.n_cols != info.n_rows))
        status = trine_fail(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, the grid has %lld points",
                            (long long)info.n_rows, (long long)info.n_cols, (long long)(o.nx * o.ny));
    code = status ? fail_status(status) : write_picture(ctx, A, &o);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return code;
}
