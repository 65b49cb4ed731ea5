/* trine info: what a matrix looks like. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "info_factor.h"
#include "info_forest.h"
#include "info_steps.h"

enum { KEY_FACTOR = 256, KEY_FOREST, KEY_STEPS };
struct options {
    struct parse parse;
    const char *path;
    int method;        /* of --factor */
    const char *steps; /* the device of --steps, or NULL */
    bool json, factor, forest;
    trine_read_options limits;
};

static const struct choice factor_choices[] = {{"auto", TRINE_DIRECT_AUTO},
                                               {"cholesky", TRINE_DIRECT_CHOLESKY},
                                               {"cholesky-simplicial", TRINE_DIRECT_CHOLESKY_SIMPLICIAL},
                                               {"ldl", TRINE_DIRECT_LDL},
                                               {"lu", TRINE_DIRECT_LU},
                                               {"lu-umfpack", TRINE_DIRECT_LU_UMFPACK},
                                               {"lu-klu", TRINE_DIRECT_LU_KLU},
                                               {NULL, 0}};

/** The value of an option that may have none is part of the option's own word. */
static const char *misplaced_value(const struct options *o, const char *arg)
{
    for (const struct choice *c = factor_choices; o->factor && c->name; c++)
        if (!strcmp(arg, c->name)) return "--factor";
    return o->steps && (!strcmp(arg, "cpu") || !strcmp(arg, "cuda")) ? "--steps" : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'j': o->json = true; return 0;
    case KEY_FACTOR: o->factor = true; return arg ? choose(state, "--factor", arg, factor_choices, &o->method) : 0;
    case KEY_FOREST: o->forest = true; return 0;
    case KEY_STEPS: o->steps = arg ? arg : "auto"; return 0;
    case ARGP_KEY_ARG:
        if (misplaced_value(o, arg) && access(arg, F_OK))
            return refuse(state, "write %s=%s", misplaced_value(o, arg), arg);
        if (o->path) return refuse(state, "unexpected argument \"%s\"", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END: return o->path && *o->path ? 0 : refuse(state, "info: no matrix file");
    default: return parse_limit(key, arg, state, &o->limits);
    }
}

static const struct argp_option options[] = {
    {"factor", KEY_FACTOR, "METHOD", OPTION_ARG_OPTIONAL,
     "factor the matrix by a method of trine solve: auto, cholesky, cholesky-simplicial, ldl, lu, lu-umfpack, lu-klu; of those with supernodes "
     "(cholesky, lu, auto) show those of L and U: levels, sizes, explicit zeros, before and after merging",
     0},
    {"forest", KEY_FOREST, NULL, 0,
     "show how much of the weight off the diagonal [0,n]-factors of the graph cover, and the paths and cycles for n = 2",
     0},
    {"steps", KEY_STEPS, "auto|cpu|cuda", OPTION_ARG_OPTIONAL,
     "show in how many steps partitioned inverses solve the triangles, what that takes of entries and memory, and which method is chosen by "
     "itself; on this device",
     0},
    LIMIT_OPTIONS,
    {"json", 'j', NULL, 0, "one JSON object", 0},
    {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MATRIX",
    .doc =
        "Print the structure of a matrix: sizes, bandwidth, symmetry, the level sets of its two triangles, and how long its "
        "rows are. MATRIX is a Matrix Market or Rutherford-Boeing file, plain or gzipped.\vLevel sets: the rows of a level "
        "depend on earlier levels only, and a parallel triangular solve takes at least one step a level."};

/** Level sets of one triangle; levels = 0 where there are none (not square, empty). */
struct levels {
    int64_t levels, smallest, largest;
    double mean;
};

static trine_status find_levels(trine_context ctx, trine_matrix A, trine_uplo uplo, const trine_matrix_structure *s,
                                struct levels *l)
{
    *l = (struct levels){0};
    if (s->n_rows != s->n_cols || !s->n_rows) return TRINE_SUCCESS;
    int64_t *offsets = NULL;
    trine_status status = trine_alloc(ctx, TRINE_HOST, ((size_t)s->n_rows + 1) * sizeof *offsets, (void **)&offsets);
    if (!status) status = trine_level_sets(ctx, A, uplo, &l->levels, offsets, NULL, NULL);
    if (!status) {
        l->smallest = s->n_rows;
        for (int64_t k = 0; k < l->levels; k++) {
            const int64_t rows = offsets[k + 1] - offsets[k];
            if (rows < l->smallest) l->smallest = rows;
            if (rows > l->largest) l->largest = rows;
        }
        l->mean = (double)s->n_rows / (double)l->levels;
    }
    trine_free(ctx, TRINE_HOST, offsets);
    return status;
}

static const char *symmetry_name(const trine_matrix_structure *s)
{
    return s->symmetric           ? "symmetric"
           : s->hermitian         ? "Hermitian"
           : s->pattern_symmetric ? "symmetric pattern"
                                  : "unsymmetric";
}

static const char *form_name(const trine_matrix_structure *s)
{
    return s->lower_triangular && s->upper_triangular           ? "diagonal"
           : s->lower_triangular                                ? "lower triangular"
           : s->upper_triangular                                ? "upper triangular"
           : s->lower_bandwidth <= 1 && s->upper_bandwidth <= 1 ? "tridiagonal"
           : s->cyclic_tridiagonal                              ? "cyclic tridiagonal"
                                                                : "general";
}

enum { HISTOGRAM = sizeof((trine_matrix_structure *)0)->row_histogram / sizeof(int64_t), BAR = 50 };

static void print_histogram(const trine_matrix_structure *s)
{
    static const char bar[] = "##################################################";
    int first = 0, last = HISTOGRAM - 1;
    while (last > 0 && !s->row_histogram[last]) last--;
    while (first < last && !s->row_histogram[first]) first++;
    int64_t most = 1;
    for (int k = first; k <= last; k++)
        if (s->row_histogram[k] > most) most = s->row_histogram[k];
    printf("\nentries a row          rows\n");
    for (int k = first; k <= last; k++) {
        char range[32];
        const int64_t low = k ? (INT64_C(1) << (k - 1)) + 1 : 0, high = INT64_C(1) << k;
        snprintf(range, sizeof range, low == high ? "%lld" : "%lld-%lld", (long long)low, (long long)high);
        const int64_t rows = s->row_histogram[k];
        printf("%13s  %12s  %.*s\n", range, grouped(rows), (int)((rows * BAR + most - 1) / most), bar);
    }
}

static void print_levels(const char *name, const struct levels *l)
{
    if (l->levels)
        printf("%-12s%s level sets; rows a level: min %s, mean %.1f, max %s\n", name, grouped(l->levels),
               grouped(l->smallest), l->mean, grouped(l->largest));
}

static void print_text(const char *path, const trine_matrix_info *info, const trine_matrix_structure *s,
                       const struct levels *lower, const struct levels *upper)
{
    printf("matrix      %s\n", path);
    printf("size        %s x %s, %s entries%s\n", grouped(s->n_rows), grouped(s->n_cols), grouped(s->nnz),
           info->pattern ? " (a pattern file: the values are made up)" : "");
    printf("values      %s, %s explicit zeros, infinity norm %.6g\n", info->dtype == TRINE_Z ? "complex" : "real",
           grouped(s->explicit_zeros), s->norm_inf);
    printf("form        %s, %s\n", form_name(s), symmetry_name(s));
    printf("diagonal    %s of %s entries present, %s of them zero%s\n", grouped(s->diagonal_present),
           grouped(s->n_rows < s->n_cols ? s->n_rows : s->n_cols), grouped(s->diagonal_zero),
           s->positive_diagonal ? ", all positive" : "");
    printf("bandwidth   %s below, %s above the diagonal\n", grouped(s->lower_bandwidth), grouped(s->upper_bandwidth));
    print_levels("lower", lower);
    print_levels("upper", upper);
    printf("rows        min %s, mean %.1f, max %s entries; %s empty\n", grouped(s->min_row), s->mean_row,
           grouped(s->max_row), grouped(s->empty_rows));
    if (s->n_rows) print_histogram(s);
}

static void json_levels(const char *const keys[4], const struct levels *l)
{
    json_integer(keys[0], l->levels);
    json_integer(keys[1], l->smallest);
    json_number(keys[2], l->mean);
    json_integer(keys[3], l->largest);
}

static void print_json(const char *path, const trine_matrix_info *info, const trine_matrix_structure *s,
                       const struct levels *lower, const struct levels *upper)
{
    static const char *const lower_keys[] = {"lower_levels", "lower_min_rows", "lower_mean_rows", "lower_max_rows"};
    static const char *const upper_keys[] = {"upper_levels", "upper_min_rows", "upper_mean_rows", "upper_max_rows"};
    json_begin();
    json_string("matrix", path);
    json_integer("n_rows", s->n_rows);
    json_integer("n_cols", s->n_cols);
    json_integer("nnz", s->nnz);
    json_string("values", info->dtype == TRINE_Z ? "complex" : "real");
    json_boolean("pattern", info->pattern);
    json_string("form", form_name(s));
    json_string("symmetry", symmetry_name(s));
    json_integer("explicit_zeros", s->explicit_zeros);
    json_integer("diagonal_present", s->diagonal_present);
    json_integer("diagonal_zero", s->diagonal_zero);
    json_boolean("positive_diagonal", s->positive_diagonal);
    json_integer("lower_bandwidth", s->lower_bandwidth);
    json_integer("upper_bandwidth", s->upper_bandwidth);
    json_levels(lower_keys, lower);
    json_levels(upper_keys, upper);
    json_integer("min_row", s->min_row);
    json_number("mean_row", s->mean_row);
    json_integer("max_row", s->max_row);
    json_integer("empty_rows", s->empty_rows);
    json_number("norm_inf", s->norm_inf);
    json_integers("row_histogram", s->row_histogram, HISTOGRAM);
}

int command_info(int argc, char **argv)
{
    struct options o = {0};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_matrix_info info;
    trine_matrix_structure s;
    struct levels lower, upper;
    struct factor_statistics *factor = NULL;
    struct forest_statistics forest;
    struct step_statistics steps;
    trine_status status = trine_context_create(&ctx, "cpu");
    step_begin("reading");
    if (!status) status = read_matrix(ctx, &A, o.path, 0, &o.limits);
    step_end();
    step_begin("analysing");
    if (!status) status = trine_matrix_get_info(A, &info);
    if (!status && (o.factor || o.forest) && info.n_rows != info.n_cols)
        status = trine_fail(TRINE_ERR_STRUCTURE, "%s: the matrix is %lld x %lld, and %s is for square ones", o.path,
                            (long long)info.n_rows, (long long)info.n_cols, o.factor ? "--factor" : "--forest");
    if (!status) status = trine_matrix_get_structure(A, &s);
    if (!status) status = find_levels(ctx, A, TRINE_LOWER, &s, &lower);
    if (!status) status = find_levels(ctx, A, TRINE_UPPER, &s, &upper);
    step_end();
    step_begin("factoring");
    if (!status && o.factor) status = factor_statistics_make(ctx, A, (trine_direct_method)o.method, &factor);
    step_end();
    step_begin("forest");
    if (!status && o.forest) status = forest_statistics_make(ctx, A, &forest);
    step_end();
    const bool has_triangles = !status && s.n_rows == s.n_cols && s.n_rows;
    step_begin("triangles");
    if (!status && o.steps && has_triangles) status = step_statistics_make(A, o.steps, &steps);
    step_end();
    if (status) {
        code = fail_status(status);
    } else {
        (o.json ? print_json : print_text)(o.path, &info, &s, &lower, &upper);
        if (o.steps && has_triangles) step_statistics_print(&steps, o.json);
        if (factor) factor_statistics_print(factor, o.json);
        if (o.forest) forest_statistics_print(&forest, o.json);
        if (o.json) json_end();
    }
    factor_statistics_destroy(factor);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return code;
}
