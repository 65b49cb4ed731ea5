/* trine-bench: compare trine's solvers with other libraries' on the same problems, check every result, record
 * everything. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const bench_suite suites[] = {
    {"sptrsv", "triangular solves, one right-hand side", bench_suite_sptrsv},
    {"sptrsm", "triangular solves, many right-hand sides", bench_suite_sptrsm},
    {"supernodal", "factors of CHOLMOD and SuperLU applied as panels, 1 and 32 right-hand sides",
     bench_suite_supernodal},
#ifdef TRINE_BENCH_DIRECT
    {"direct", "A x = b with the factors of CHOLMOD and SuperLU, beside their own solves on the CPU",
     bench_suite_direct},
    {"whole",
     "A x = b from the matrix on: set-up, new values, solves; CHOLMOD, SuperLU, UMFPACK, KLU, MKL PARDISO and cuDSS as their users call them",
     bench_suite_whole},
#endif
    {"tridiag", "tridiagonal solves of random systems, beside cuSPARSE and LAPACK", bench_suite_tridiag},
    {"spmv", "products with vectors, plain and by semirings, beside cuSPARSE and MKL", bench_suite_spmv},
    {"forest", "linear forests: factors, extraction of paths, decompositions, beside a sequential walk",
     bench_suite_forest},
    {"precond", "A x = b by Krylov solvers with each preconditioner, and what the thesis claims of them",
     bench_suite_precond},
    {"tridiag-numerics", "forward errors on the thesis's matrices, over 20 seeds", bench_suite_tridiag_numerics},
};
enum { N_SUITES = sizeof suites / sizeof *suites };

/* ----------------------------------------------------------------- options */

typedef struct {
    const bench_suite *suite;
    const char *device, *device_name, *json, *out, *turns;
    bench b;
} arguments;

enum {
    METHODS = 256,
    PEERS,
    DTYPE,
    UPLO,
    DIRECTION,
    NRHS,
    LAYOUT,
    REPS,
    MAX_SECONDS,
    COPY,
    JSON,
    OUT,
    DEVICE,
    DEVICE_NAME,
    DETERMINISTIC,
    SOLVES_ONLY,
    WALL_CLOCK,
    SWEEP,
    SAMPLE,
    TURNS
};
static const struct argp_option options[] = {
    {"methods", METHODS, "LIST", 0, "trine's methods, by name (default: the suite's all)", 0},
    {"peers", PEERS, "LIST", 0,
     "cusparse, mkl, cholmod, superlu, lapack, openmp, kernel, cub, or none (default: those of the device)", 0},
    {"dtype", DTYPE, "LIST", 0, "s, d, c, z (default d)", 0},
    {"uplo", UPLO, "lower|upper", 0, "the triangle that is stored (default: lower for forward, upper for backward)", 0},
    {"direction", DIRECTION, "LIST", 0, "forward, backward (default both)", 0},
    {"nrhs", NRHS, "LIST", 0, "numbers of right-hand sides (default: 1; sptrsm 1,8,32,64)", 0},
    {"layout", LAYOUT, "LIST", 0, "rowmajor, colmajor: of several right-hand sides (default rowmajor)", 0},
    {"deterministic", DETERMINISTIC, NULL, 0, "bitwise the same result every run", 0},
    {"sweep", SWEEP, "LIST", 0,
     "main (the default), or methods, right-hand sides and peers of tables or figures of Liu et al. 2017 (structure, synchronization, preprocessing, speed, scratchpad, variants, p, q), busy (one thread and several, alone and beside other programs) or, in suite supernodal, of Yamazaki et al. 2020 (variants, full, sizes, spd, levels, launch), lu (SuperLU's L and U) or types (s, c, z) or, in suite spmv, creation, values, fused, few-entries, applications, operators, tuning or, in suite forest, proposition, scans, decomposition, paths, coverage, threads or, in suite precond, table17, histories, figure40, steps",
     0},
    {"reps", REPS, "N", 0, "timed calls behind a median (default 50, or the sweep's own)", 0},
    {"max-seconds", MAX_SECONDS, "S", 0, "end a timed loop after S seconds, with at least 5 calls (a sweep: 11)", 0},
    {"sample", SAMPLE, "MS", 0, "suite spmv: products in a row, up to 300, take about so long (default 25)", 0},
    {"turns", TURNS, "FILE", 0,
     "suite spmv: programs with the same file use the device in turn, and read matrices and check results meanwhile",
     0},
    {"solves-only", SOLVES_ONLY, NULL, 0, "analysis and value update run once, untimed", 0},
    {"wall-clock", WALL_CLOCK, NULL, 0, "analyses are not timed on the device's clock besides", 0},
    {"copy", COPY, "MIB", 0, "size of the copy that measures the bandwidth (default 256 on a CPU, 1024 on a GPU)", 0},
    {"device", DEVICE, "DEVICE", 0, "auto, cpu, cpu:4, cuda, cuda:1 (default auto)", 0},
    {"device-name", DEVICE_NAME, "NAME", 0, "in records (default: h200, cpu-2t, ... from the device)", 0},
    {"json", JSON, "FILE", 0, "append one line of JSON a measurement; - for standard output", 0},
    {"out", OUT, "FILE", 0, "write the table there instead of standard output", 0},
    {0}};

/** Every word of the list must be one of `allowed`, "a|b|c". */
static void require_words(struct argp_state *state, const bench_list *list, const char *option, const char *allowed)
{
    for (int i = 0; i < list->count; i++) {
        size_t length = strlen(list->item[i]);
        const char *at = allowed;
        while (at && !(strncmp(at, list->item[i], length) == 0 && (at[length] == '|' || !at[length]))) {
            at = strchr(at, '|');
            if (at) at++;
        }
        if (!at) argp_error(state, "--%s: \"%s\" is none of %s", option, list->item[i], allowed);
    }
}

static void set_list(bench_list *list, const char *text)
{
    bench_list_free(list);
    *list = bench_list_split(text);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    char *end;
    switch (key) {
    case METHODS: set_list(&a->b.methods, value); break;
    case PEERS:
        set_list(&a->b.peers, value);
        require_words(state, &a->b.peers, "peers", "cusparse|mkl|cholmod|superlu|lapack|openmp|kernel|cub|none");
        break;
    case DTYPE:
        set_list(&a->b.dtypes, value);
        require_words(state, &a->b.dtypes, "dtype", "s|d|c|z");
        break;
    case DIRECTION:
        set_list(&a->b.directions, value);
        require_words(state, &a->b.directions, "direction", "forward|backward");
        break;
    case NRHS:
        set_list(&a->b.nrhs, value);
        for (int i = 0; i < a->b.nrhs.count; i++)
            if (strtoll(a->b.nrhs.item[i], &end, 10) < 1 || *end)
                argp_error(state, "--nrhs: \"%s\" is no positive number", a->b.nrhs.item[i]);
        break;
    case UPLO:
        a->b.uplo = strcmp(value, "lower") == 0   ? TRINE_LOWER
                    : strcmp(value, "upper") == 0 ? TRINE_UPPER
                                                  : TRINE_UPLO_AUTO;
        if (!a->b.uplo) argp_error(state, "--uplo: \"%s\" is neither lower nor upper", value);
        break;
    case LAYOUT:
        set_list(&a->b.layouts, value);
        require_words(state, &a->b.layouts, "layout", "rowmajor|colmajor");
        break;
    case REPS:
        a->b.reps = (int)strtol(value, &end, 10);
        a->b.reps_given = true;
        if (a->b.reps < 1 || a->b.reps > 100000 || *end) argp_error(state, "--reps: \"%s\" is not in 1..100000", value);
        break;
    case MAX_SECONDS:
        a->b.max_seconds = strtod(value, &end);
        if (!(a->b.max_seconds > 0) || *end) argp_error(state, "--max-seconds: \"%s\" is no positive number", value);
        break;
    case SAMPLE:
        a->b.sample_ms = strtod(value, &end);
        if (!(a->b.sample_ms > 0) || *end) argp_error(state, "--sample: \"%s\" is no positive number", value);
        break;
    case TURNS: a->turns = value; break;
    case COPY:
        a->b.copy_mib = (int)strtol(value, &end, 10);
        if (a->b.copy_mib < 1 || a->b.copy_mib > 1 << 20 || *end)
            argp_error(state, "--copy: \"%s\" is not in 1..1048576", value);
        break;
    case SWEEP:
        set_list(&a->b.sweeps, value);
        require_words(state, &a->b.sweeps, "sweep", bench_sweep_names());
        break;
    case SOLVES_ONLY: a->b.solves_only = true; break;
    case WALL_CLOCK: a->b.wall_clock = true; break;
    case DETERMINISTIC: a->b.summation = TRINE_ORDER_DETERMINISTIC; break;
    case DEVICE: a->device = value; break;
    case DEVICE_NAME: a->device_name = value; break;
    case JSON: a->json = value; break;
    case OUT: a->out = value; break;
    case ARGP_KEY_ARG:
        if (!a->suite) {
            for (int i = 0; i < N_SUITES; i++)
                if (strcmp(suites[i].name, value) == 0) a->suite = &suites[i];
            if (!a->suite) argp_error(state, "there is no suite \"%s\"", value);
        } else if (a->b.matrices.count == 64) {
            argp_error(state, "more than 64 matrices");
        } else {
            a->b.matrices.item[a->b.matrices.count++] = value;
        }
        break;
    case ARGP_KEY_END:
        if (!a->suite) argp_error(state, "which suite?");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static char *list_suites(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *help = NULL;
    size_t length;
    FILE *f = open_memstream(&help, &length);
    if (!f) return NULL;
    fprintf(f, "Suites:\n");
    for (int i = 0; i < N_SUITES; i++) fprintf(f, "  %-12s %s\n", suites[i].name, suites[i].description);
    if (text) fprintf(f, "\n%s", text);
    fclose(f);
    return help;
}

static const struct argp argp = {
    options,
    parse,
    "SUITE [MATRIX...]",
    "Compare trine with other libraries on the same problems; check every result; print a table and record JSON lines.",
    NULL,
    list_suites,
    NULL};

/* --------------------------------------------------------------------- run */

/** "NVIDIA H200" -> "h200"; 2 CPU threads -> "cpu-2t". */
static void name_device(bench *b, const char *given)
{
    if (given) {
        snprintf(b->device_name, sizeof b->device_name, "%s", given);
        return;
    }
    if (b->device.space == TRINE_HOST) {
        snprintf(b->device_name, sizeof b->device_name, "cpu-%dt", b->device.threads);
        return;
    }
    const char *name = strncmp(b->device.name, "NVIDIA ", 7) == 0 ? b->device.name + 7 : b->device.name;
    size_t i = 0;
    for (; name[i] && i < sizeof b->device_name - 1; i++)
        b->device_name[i] = name[i] == ' '                     ? '-'
                            : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a')
                                                               : name[i];
    b->device_name[i] = '\0';
}

static FILE *open_output(const char *path, const char *mode)
{
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, mode);
    if (!f) {
        fprintf(stderr, "trine-bench: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return f;
}

static int open_turns(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        fprintf(stderr, "trine-bench: cannot open %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return file;
}

int main(int argc, char **argv)
{
    arguments a = {.device = "auto",
                   .b = {.reps = 50, .least_reps = 5, .programs = -1, .turns = -1, .layout = TRINE_ROWMAJOR}};
    bench *b = &a.b;
    trine_status status = TRINE_SUCCESS;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    b->table = a.out ? open_output(a.out, "w") : stdout;
    b->json = a.json ? open_output(a.json, "a") : NULL;
    b->json_path = a.json && strcmp(a.json, "-") != 0 ? a.json : NULL;
    b->turns = a.turns ? open_turns(a.turns) : -1;

    TRY(trine_context_create(&b->ctx, a.device));
    TRY(trine_context_get_info(b->ctx, &b->device));
    if (b->device.space == TRINE_DEVICE) TRY(trine_context_get_stream(b->ctx, &b->stream));
    name_device(b, a.device_name);
    if (b->device.space == TRINE_DEVICE) TRY(bench_device_open(b));
    TRY(bench_turn_begin(b));
    TRY(bench_copy_bandwidth(b, &b->copy_gbs));
    bench_turn_end(b);
    fprintf(b->table, "%s on %s (%s)%s%s, copy bandwidth %.0f GB/s, medians of %d\n", a.suite->name, b->device.name,
            b->device_name, b->device.fallback[0] ? ", " : "", b->device.fallback, b->copy_gbs, b->reps);
    TRY(a.suite->run(b));
done:
    if (status) fprintf(stderr, "trine-bench: %s (%s)\n", trine_last_error(), trine_status_string(status));
    bench_device_close();
    trine_context_destroy(&b->ctx);
    bench_list_free(&b->matrices);
    bench_list_free(&b->methods);
    bench_list_free(&b->peers);
    bench_list_free(&b->dtypes);
    bench_list_free(&b->directions);
    bench_list_free(&b->nrhs);
    bench_list_free(&b->sweeps);
    bench_list_free(&b->layouts);
    if (b->table && b->table != stdout) fclose(b->table);
    if (b->json && b->json != stdout) fclose(b->json);
    return status ? 1 : b->failures ? 3 : 0;
}
