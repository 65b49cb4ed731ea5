/* trine solve: read, choose, factor, solve, and say how well and how fast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host_vector.h"
#include "iterative.h"
#include "solvers.h"

enum { KEY_ORDERING = 256, KEY_REFINE, KEY_REPEAT, KEY_SINGLE_FACTOR, KEY_NO_CONDITION };
enum { MOST_STEPS = 10 }; /* of refinement, where nobody chose a number: each adds digits, or it ends */
static const double most_error = 10; /* backward error, in eps, that is taken without a word */

struct options {
    struct parse parse;
    const char *path, *rhs_path, *device, *out;
    int rhs, method, ordering, precision, refine, repeat;
    bool json, single_factor, refine_given, no_condition;
    trine_read_options limits;
    struct iteration_options iteration;
};

static const struct choice ordering_choices[] = {{"auto", TRINE_ORDERING_AUTO},       {"metis", TRINE_ORDERING_METIS},
                                                 {"amd", TRINE_ORDERING_AMD},         {"colamd", TRINE_ORDERING_COLAMD},
                                                 {"natural", TRINE_ORDERING_NATURAL}, {NULL, 0}};
static const struct choice rhs_choices[] = {
    {"ones", RHS_ONES}, {"sin", RHS_SIN}, {"thesis", RHS_THESIS}, {"random", RHS_RANDOM}, {NULL, 0}};

/** An iterative method is asked for, by its name or by a preconditioner. */
static bool iterates(const struct options *o)
{
    return is_iterative((enum method)o->method) || (o->method == METHOD_AUTO && o->iteration.precond_given);
}

/** Options of one kind of method beside the other. */
static error_t check_iteration(struct argp_state *state, const struct options *o)
{
    if (o->iteration.given && !iterates(o))
        return refuse(state, "%s is for iterative methods: add --method gmres, fgmres, bicgstab, cg or minres",
                      o->iteration.given);
    const char *direct = o->refine_given ? "--refine" : o->single_factor ? "--single-factor" : NULL;
    if (direct && iterates(o)) return refuse(state, "%s is for direct methods", direct);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'r':
        o->rhs_path = arg;
        o->rhs = RHS_FILE;
        for (const struct choice *c = rhs_choices; c->name; c++)
            if (!strcmp(arg, c->name)) o->rhs = c->value;
        return 0;
    case 'm': return choose(state, "--method", arg, method_choices, &o->method);
    case KEY_ORDERING: return choose(state, "--ordering", arg, ordering_choices, &o->ordering);
    case 'd': o->device = arg; return 0;
    case 'p': return choose(state, "--precision", arg, precision_choices, &o->precision);
    case KEY_SINGLE_FACTOR: o->single_factor = true; return 0;
    case KEY_NO_CONDITION: o->no_condition = true; return 0;
    case KEY_REFINE: o->refine_given = true; return parse_count(state, "--refine", arg, 0, 1000, &o->refine);
    case KEY_REPEAT: return parse_count(state, "--repeat", arg, 1, 1000000, &o->repeat);
    case 'o': o->out = arg; return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
        if (o->path) return refuse(state, "unexpected argument \"%s\"", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->single_factor && o->refine_given && !o->refine)
            return refuse(state, "--single-factor needs refinement, and --refine is 0");
        if (!o->path) return refuse(state, "solve: no matrix file");
        return check_iteration(state, o);
    default: {
        const error_t error = parse_iteration(key, arg, state, &o->iteration);
        return error == ARGP_ERR_UNKNOWN ? parse_limit(key, arg, state, &o->limits) : error;
    }
    }
}

static const struct argp_option options[] = {
    {"rhs", 'r', "FILE|ones|sin|thesis|random", 0,
     "right-hand sides b from a file (every column is solved for), or b = A s for a known solution s: s_i = 1, s_i = sin(i), "
     "i = 1, 2, ..., s_i = sin(2 pi 8 i / n), i = 0, 1, ..., or uniform in (-1,1), the same in every run (default random)",
     0},
    {"method", 'm', "METHOD", 0,
     "auto, cholesky, cholesky-simplicial, ldl, lu, lu-umfpack, lu-klu, triangular, partitioned-inverse (triangular, for many solves), tridiagonal, banded, cudss (NVIDIA's library, where it is installed), or iterative: gmres, fgmres, bicgstab, cg, minres. auto: triangular if A is; "
     "tridiagonal (also cyclic) if A is; banded if A has at most 8 diagonals on either side; Cholesky if A is symmetric (Hermitian) with a "
     "positive diagonal; else L D L^H or LU, by whichever library suits A",
     0},
    {"ordering", KEY_ORDERING, "ORDERING", 0, "fill-reducing ordering: auto, metis, amd, colamd or natural", 0},
    {"device", 'd', "auto|cpu|cuda", 0,
     "where the solve runs; cpu:4 sets threads, cuda:1 the device's number. auto takes a GPU if there is one (default)",
     0},
    {"precision", 'p', "s|d|c|z", 0,
     "single, double, complex single, complex double (default d, or z for a complex file)", 0},
    {"refine", KEY_REFINE, "N", 0,
     "at most N steps of iterative refinement, residuals in extended precision; a step that makes the backward error larger is undone, "
     "and the last (default: as many as help, where the backward error is above 10 eps)",
     0},
    {"single-factor", KEY_SINGLE_FACTOR, NULL, 0,
     "cholesky, lu: keep the panels of the factor in single precision, half the bytes, in a double precision solve with refinement; where "
     "that does not bring the backward error to 10 eps, the factor is taken in double precision, and a warning says so",
     0},
    {"repeat", KEY_REPEAT, "K", 0,
     "solve K times and report the median time; with more than one, also the general triangular solve on the same factor, and after how "
     "many solves the set-up of the supernodal one has paid; a triangle's method is chosen for K solves (default 1)",
     0},
    {"no-condition", KEY_NO_CONDITION, NULL, 0,
     "do not estimate the condition of A, which takes solves with A and A^H after the timed ones; a matrix that is singular to working "
     "precision is then solved all the same, unless the residual shows it",
     0},
    ITERATION_OPTIONS,
    {"out", 'o', "FILE", 0,
     "write the solution as a Matrix Market array file; .gz: gzipped. FILE is whole or untouched", 0},
    LIMIT_OPTIONS,
    {"json", 'j', NULL, 0, "one JSON object instead of text", 0},
    {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MATRIX",
    .doc =
        "Solve A x = b. MATRIX is a Matrix Market or Rutherford-Boeing file, plain or gzipped.\v"
        "The backward error is ||b - A x|| / (eps (||b|| + ||A|| ||x||)) in the infinity norm, with the eps of the precision "
        "asked for (2^-23 or 2^-52): a few units are what the precision can give. The componentwise one is max_i |b - A x|_i / "
        "(eps (|A| |x| + |b|)_i). The residual is ||b - A x|| / ||b||. The condition is ||A|| ||A^-1|| in the 1-norm, estimated; where it is "
        "large, also what is left of it after scaling of rows and columns: if that is 1/eps or more, A is singular to working precision "
        "(exit code 10). Exit codes: trine --help."};

/* --------------------------------------------------------------- the solve */

struct run {
    const struct options *o;
    struct problem p;
    trine_context_info device;
    trine_dtype t;
    enum method method;
    struct inverse inverse;
    struct inverse adjoint;        /* for the condition; zeros: `inverse` has op H as well */
    struct outcome outcome;
    void *b, *x, *s;               /* on the host: right-hand sides, solutions, the known solution or NULL */
    void *device_b, *device_x;     /* on a GPU: where they go for the solve */
    double read_seconds, check_seconds, solve_seconds, solve_min_seconds, refine_seconds;
    /* of the general method on the same factor; -1 if not compared */
    double general_setup_seconds, general_solve_seconds;
    trine_accuracy accuracy;
    double initial_backward_error; /* before refinement */
    int refined;                   /* steps of refinement that x has had */
    trine_condition condition;
    double condition_seconds;      /* -1: not estimated */
    bool no_digits;                /* the solution is there, and no good */
    char warnings[1024];           /* of the library, "; " between them */
};

static void take_warning(void *user, int level, const char *message)
{
    (void)level;
    char *warnings = ((struct run *)user)->warnings;
    const size_t used = strlen(warnings), size = sizeof((struct run *)user)->warnings;
    snprintf(warnings + used, size - used, "%s%s", used ? "; " : "", message);
}

static size_t vector_bytes(const struct run *r) { return (size_t)r->p.n * (size_t)r->p.nrhs * trine_dtype_size(r->t); }

/** The solution must not take the place of what it is computed from, by whatever name. */
static trine_status check_output(const struct options *o)
{
    const char *const inputs[] = {o->path, o->rhs == RHS_FILE ? o->rhs_path : NULL};
    const char *const outputs[] = {o->out, o->iteration.plot}, *const names[] = {"--out", "--plot"};
    struct stat out, in;
    for (int l = 0; l < 2; l++) {
        if (!outputs[l] || stat(outputs[l], &out) || !S_ISREG(out.st_mode)) continue;
        for (int k = 0; k < 2; k++)
            if (inputs[k] && !stat(inputs[k], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
                return trine_fail(TRINE_ERR_ARGUMENT, "%s %s is the same file as %s, which is read", names[l],
                                  outputs[l], inputs[k]);
    }
    return TRINE_SUCCESS;
}

static trine_status read_input(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    struct problem *p = &r->p;
    const char *path = r->o->path;
    step_begin("reading");
    TRY(read_matrix(p->ctx, &p->A, path, (trine_dtype)r->o->precision, &r->o->limits));
    r->read_seconds = step_end();
    TRY(trine_matrix_get_info(p->A, &p->info));
    r->t = p->info.dtype;
    p->n = p->info.n_rows;
    if (p->info.n_rows != p->info.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "%s: the matrix is %lld x %lld, not square", path, (long long)p->info.n_rows,
             (long long)p->info.n_cols);
    if (!p->n) FAIL(TRINE_ERR_STRUCTURE, "%s: the matrix is 0 x 0: there is nothing to solve", path);
    step_begin("checking");
    TRY(trine_matrix_check(p->A, TRINE_CHECK_FINITE));
    TRY(trine_matrix_get_structure(p->A, &p->structure));
    r->check_seconds = step_end();
done:
    return status;
}

static trine_status make_rhs(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    struct problem *p = &r->p;
    p->nrhs = 1;
    p->repeat = r->o->repeat;
    if (r->o->rhs == RHS_FILE) {
        int64_t rows, cols, bad;
        TRY(trine_vectors_read_with(p->ctx, r->o->rhs_path, r->t, &r->b, &rows, &cols, &r->o->limits));
        if (rows != p->n || cols < 1)
            FAIL(TRINE_ERR_STRUCTURE, "%s: the right-hand side is %lld x %lld, but the matrix has %lld rows",
                 r->o->rhs_path, (long long)rows, (long long)cols, (long long)p->n);
        p->nrhs = cols;
        if ((bad = first_not_finite(r->t, r->b, rows * cols)) >= 0)
            FAIL(TRINE_ERR_STRUCTURE, "%s: the right-hand side is not finite in row %lld of column %lld",
                 r->o->rhs_path, (long long)(bad % rows), (long long)(bad / rows));
    } else {
        TRY(trine_alloc(p->ctx, TRINE_HOST, vector_bytes(r), &r->b));
        TRY(trine_alloc(p->ctx, TRINE_HOST, vector_bytes(r), &r->s));
        known_solution(r->o->rhs, r->t, p->n, r->s);
        TRY(trine_matrix_multiply(p->A, TRINE_N, NULL, r->s, NULL, r->b));
    }
    TRY(trine_alloc(p->ctx, TRINE_HOST, vector_bytes(r), &r->x));
    if (r->device.space == TRINE_DEVICE) {
        TRY(trine_alloc(p->ctx, TRINE_DEVICE, vector_bytes(r), &r->device_b));
        TRY(trine_alloc(p->ctx, TRINE_DEVICE, vector_bytes(r), &r->device_x));
    }
done:
    return status;
}

/** x = A^-1 b on the context's device, for host vectors; the time is that of the solve alone, from call to
 *  completion. */
static trine_status solve_once(struct run *r, const struct inverse *inverse, void *b, void *x, double *seconds)
{
    trine_status status = TRINE_SUCCESS;
    const trine_context ctx = r->p.ctx;
    const bool gpu = r->device.space == TRINE_DEVICE;
    const trine_dense B = {.data = gpu ? r->device_b : b, .rows = r->p.n, .cols = r->p.nrhs};
    const trine_dense X = {.data = gpu ? r->device_x : x, .rows = r->p.n, .cols = r->p.nrhs};
    if (gpu) TRY(trine_copy(ctx, r->device_b, TRINE_DEVICE, b, TRINE_HOST, vector_bytes(r)));
    const double begin = trine_wall_time();
    TRY(apply_inverse(inverse, TRINE_N, &B, &X));
    TRY(trine_context_synchronize(ctx));
    *seconds = trine_wall_time() - begin;
    if (gpu) TRY(trine_copy(ctx, x, TRINE_HOST, r->device_x, TRINE_DEVICE, vector_bytes(r)));
done:
    return status;
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Solve `count` times for the right-hand sides; the median and the shortest time. */
static trine_status solve_repeatedly(struct run *r, const struct inverse *inverse, void *x, int count, double *median,
                                     double *shortest)
{
    trine_status status = TRINE_SUCCESS;
    double *times = NULL;
    TRY(trine_alloc(r->p.ctx, TRINE_HOST, (size_t)count * sizeof *times, (void **)&times));
    for (int k = 0; k < count; k++) TRY(solve_once(r, inverse, r->b, x, &times[k]));
    qsort(times, (size_t)count, sizeof *times, compare_times);
    *shortest = times[0];
    *median = count % 2 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
done:
    trine_free(r->p.ctx, TRINE_HOST, times);
    return status;
}

/** What the general method needs on the same factor, where the panels are used. A comparison that does not fit in
 *  memory is left out. */
static trine_status compare_with_general(struct run *r)
{
    enum { MOST = 11 };
    trine_status status = TRINE_SUCCESS;
    struct inverse general = {0};
    void *x = NULL;
    double shortest;
    step_begin("setting up and timing the general method");
    TRY(trine_alloc(r->p.ctx, TRINE_HOST, vector_bytes(r), &x));
    TRY(set_up_general(&r->p, &r->inverse, &general, &r->general_setup_seconds));
    TRY(solve_repeatedly(r, &general, x, r->o->repeat < MOST ? r->o->repeat : MOST, &r->general_solve_seconds,
                         &shortest));
done:
    step_end();
    destroy_inverse(&general);
    trine_free(r->p.ctx, TRINE_HOST, x);
    if (status) r->general_setup_seconds = r->general_solve_seconds = -1;
    return status == TRINE_ERR_MEMORY ? TRINE_SUCCESS : status;
}

/** The smallest number of solves for which set-up and solves by panels take no longer than those of the general
 *  method; -1: none. */
static int64_t solves_to_pay(const struct run *r)
{
    const double setup = r->outcome.analyse_seconds + r->outcome.numeric_seconds - r->general_setup_seconds;
    const double gain = r->general_solve_seconds - r->solve_seconds;
    if (setup <= 0) return gain >= 0 ? 0 : -1;
    return gain > 0 ? (int64_t)ceil(setup / gain) : -1;
}

/* ------------------------------------------------------------- is it right? */

/** The accuracy of x; residual: b - A x in extended precision, or NULL. An x that is not finite has an infinite
 *  backward error. */
static trine_status measure(struct run *r, void *residual)
{
    if (first_not_finite(r->t, r->x, r->p.n * r->p.nrhs) >= 0) {
        r->accuracy = (trine_accuracy){.backward_error = INFINITY, .componentwise = INFINITY, .residual = INFINITY};
        return TRINE_SUCCESS;
    }
    return trine_matrix_accuracy(r->p.A, r->p.nrhs, r->x, r->b, residual, &r->accuracy);
}

/** What is to become small: the backward error in eps; of a factor in single precision, the componentwise one as well.
 *  Norms do not see rows that are small beside others, and these have as few digits as the factor. */
static double error_of(const struct run *r)
{
    const trine_accuracy *a = &r->accuracy;
    return r->p.single_factor ? fmax(a->backward_error, a->componentwise / trine_dtype_eps(r->t)) : a->backward_error;
}

/** Steps of iterative refinement: r = b - A x in extended precision, d = A^-1 r, x = x + d. They end above `enough`
 *  eps of error only after `most` steps, or where a step no longer halves it (enough < 0: makes it larger). A step
 *  that makes it larger is undone. */
static trine_status refine(struct run *r, int most, double enough)
{
    trine_status status = TRINE_SUCCESS;
    const trine_context ctx = r->p.ctx;
    const int64_t count = r->p.n * r->p.nrhs;
    void *residual = NULL, *d = NULL, *best = NULL;
    double unused, least;
    trine_accuracy before;
    TRY(trine_alloc(ctx, TRINE_HOST, vector_bytes(r), &residual));
    TRY(trine_alloc(ctx, TRINE_HOST, vector_bytes(r), &d));
    TRY(trine_alloc(ctx, TRINE_HOST, vector_bytes(r), &best));
    step_begin("refining");
    TRY(measure(r, residual));
    do {
        if (isinf(r->accuracy.backward_error)) break; /* there is nothing to start from */
        before = r->accuracy;
        least = error_of(r);
        memcpy(best, r->x, vector_bytes(r));
        TRY(solve_once(r, &r->inverse, residual, d, &unused));
        for (int64_t i = 0; i < count; i++) {
            double xr, xi, dr, di;
            get_value(r->t, r->x, i, &xr, &xi);
            get_value(r->t, d, i, &dr, &di);
            set_value(r->t, r->x, i, xr + dr, xi + di);
        }
        TRY(measure(r, residual));
        if (!(error_of(r) <= least)) {
            r->accuracy = before;
            memcpy(r->x, best, vector_bytes(r));
            break;
        }
        r->refined++;
    } while (--most > 0 && error_of(r) > enough && (enough < 0 || error_of(r) <= 0.5 * least));
    r->refine_seconds += step_end();
done:
    trine_free(ctx, TRINE_HOST, best);
    trine_free(ctx, TRINE_HOST, residual);
    trine_free(ctx, TRINE_HOST, d);
    return status;
}

/** Refine as often as was asked for. Where nobody chose, as often as helps a backward error that is too large, or
 *  panels in single precision. */
static trine_status refine_as_needed(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    const struct options *o = r->o;
    step_begin("checking");
    TRY(measure(r, NULL));
    step_end();
    r->refined = 0;
    r->initial_backward_error = r->accuracy.backward_error;
    if (r->inverse.iteration) return TRINE_SUCCESS; /* which ends where it was told to */
    if (o->refine_given && o->refine) TRY(refine(r, o->refine, -1));
    if (!o->refine_given && r->p.single_factor) TRY(refine(r, MOST_STEPS, 0));
    else if (!o->refine_given && r->accuracy.backward_error > most_error) TRY(refine(r, MOST_STEPS, 1));
done:
    return status;
}

static trine_status check_solution(struct run *r)
{
    const int64_t bad = first_not_finite(r->t, r->x, r->p.n * r->p.nrhs);
    if (bad >= 0)
        return trine_fail(
            TRINE_ERR_NO_CONVERGENCE,
            "%s: the solution is not finite in row %lld: a pivot was zero, or numbers left the range of precision %s",
            r->o->path, (long long)(bad % r->p.n), choice_name(precision_choices, (int)r->t));
    if (!r->inverse.iteration && r->accuracy.backward_error > most_error) {
        char text[200];
        snprintf(
            text, sizeof text, "the backward error is %.3g eps%s; another method may help", r->accuracy.backward_error,
            r->o->refine_given && !r->o->refine ? ", and refinement was not asked for" : ", also after refinement");
        take_warning(r, 1, text);
    }
    return TRINE_SUCCESS;
}

/** For the estimate: as many right-hand sides at a time as the plans have room for. */
static trine_status solve_for_estimate(void *user, trine_transpose op, const trine_dense *B, const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    const struct run *r = user;
    const struct inverse *inverse = op == TRINE_H && r->adjoint.op ? &r->adjoint : &r->inverse;
    const size_t stride = (size_t)r->p.n * trine_dtype_size(r->t);
    for (int64_t j = 0; j < B->cols && !status; j += r->p.nrhs) {
        trine_dense b = *B, x = *X;
        b.data = (char *)B->data + (size_t)j * stride;
        x.data = (char *)X->data + (size_t)j * stride;
        b.cols = x.cols = B->cols - j < r->p.nrhs ? B->cols - j : r->p.nrhs;
        status = apply_inverse(inverse, op, &b, &x);
    }
    return status;
}

/** An estimate that does not fit in memory is left out. */
static trine_status estimate_condition(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    trine_op_info info;
    struct outcome unused;
    step_begin("estimating the condition");
    TRY(trine_op_get_info(r->inverse.op, &info));
    /* so that the times are those of A alone */
    if (!(info.ops & TRINE_H)) TRY(set_up_inverse(&r->p, r->method, TRINE_H, &r->adjoint, &unused));
    TRY(trine_estimate_condition(r->p.ctx, r->p.A, solve_for_estimate, r, &r->condition));
done:
    r->condition_seconds = status ? -1 : step_end();
    step_end();
    return status == TRINE_ERR_MEMORY ? TRINE_SUCCESS : status;
}

/** Digits of x that errors as large as they can be leave, in norm: those of the normwise backward error times the
 *  condition, or of the componentwise one times that after scaling, whichever promises more. */
static int right_digits(const struct run *r)
{
    const double eps = trine_dtype_eps(r->t);
    const double normwise = r->condition.condition * fmax(r->accuracy.backward_error, 1) * eps;
    const double componentwise = r->condition.scaled * fmax(r->accuracy.componentwise, eps);
    return (int)fmax(0, floor(-log10(fmin(normwise, componentwise))));
}

/** A solution without a right digit is an error. A large residual is none where the condition is known to be small
 *  after scaling, and the backward error is small: it belongs to rows of A that are small beside others. */
static trine_status judge(struct run *r)
{
    const double eps = trine_dtype_eps(r->t), most_residual = 0.1, nearly_singular = 1e-3 / eps, most_backward = 1e6;
    const trine_accuracy *a = &r->accuracy;
    const trine_condition *c = &r->condition;
    const bool known = r->condition_seconds >= 0;
    r->no_digits = true;
    if (known && c->singular)
        return trine_fail(
            TRINE_ERR_SINGULAR,
            "%s: A is singular to working precision: condition %.2g (1-norm, estimated), %.2g with rows and columns "
            "scaled, and 1/eps is %.2g; residual %.2g%s",
            r->o->path, c->condition, c->scaled, 1 / eps, a->residual,
            a->residual > most_residual ? "" : " (--no-condition: solve all the same)");
    if (a->backward_error > most_backward)
        return trine_fail(
            TRINE_ERR_SINGULAR,
            "%s: x does not satisfy the system: backward error %.2g eps, residual %.2g; refinement may help, or another "
            "method",
            r->o->path, a->backward_error, a->residual);
    if (a->residual > most_residual && !(known && c->scaled < nearly_singular))
        return trine_fail(
            TRINE_ERR_SINGULAR,
            "%s: A is singular to working precision%s: the residual is %.2g of b, though the backward error is %.2g eps",
            r->o->path, known ? "" : ", or badly scaled", a->residual, a->backward_error);
    r->no_digits = false;
    if (known && !right_digits(r))
        take_warning(r, 1, "A is nearly singular or badly scaled: no digit of x is certain; refinement may help");
    return TRINE_SUCCESS;
}

/** Everything from the factorization to x, with what there is of a factorization. */
static trine_status solve_with_factor(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    step_begin("factoring and analysing");
    TRY(set_up_inverse(&r->p, r->method, TRINE_N, &r->inverse, &r->outcome));
    step_end();
    step_begin("solving");
    TRY(solve_repeatedly(r, &r->inverse, r->x, r->o->repeat, &r->solve_seconds, &r->solve_min_seconds));
    step_end();
    r->general_setup_seconds = r->general_solve_seconds = -1;
    if (r->o->repeat > 1 && r->outcome.supernodal) TRY(compare_with_general(r));
    TRY(refine_as_needed(r));
done:
    return status;
}

/** A factor in single precision that left its range, or does not do with refinement, is taken in double precision. */
static trine_status solve_system(struct run *r)
{
    char why[600];
    trine_status status = solve_with_factor(r);
    if (!r->p.single_factor) return status;
    if (!status && error_of(r) <= most_error) return TRINE_SUCCESS;
    if (status && (!r->inverse.factor || (status != TRINE_ERR_NO_CONVERGENCE && status != TRINE_ERR_SINGULAR)))
        return status;
    if (status)
        snprintf(why, sizeof why, "the factor is in double precision, for in single precision: %.400s",
                 trine_last_error());
    else
        snprintf(
            why, sizeof why,
            "the factor is in double precision: in single precision the componentwise backward error stays at %.3g eps",
            error_of(r));
    take_warning(r, 1, why);
    r->p.single_factor = false;
    return solve_with_factor(r);
}

static trine_status plot(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    const bool gpu = r->p.on_gpu;
    void *device_s = NULL;
    if (gpu && r->s) {
        TRY(trine_alloc(r->p.ctx, TRINE_DEVICE, vector_bytes(r), &device_s));
        TRY(trine_copy(r->p.ctx, device_s, TRINE_DEVICE, r->s, TRINE_HOST, vector_bytes(r)));
    }
    const trine_dense B = {.data = gpu ? r->device_b : r->b, .rows = r->p.n, .cols = r->p.nrhs};
    const trine_dense X = {.data = gpu ? r->device_x : r->x, .rows = r->p.n, .cols = r->p.nrhs};
    const trine_dense known = {.data = gpu ? device_s : r->s, .rows = r->p.n, .cols = 1};
    status = plot_iteration(r->inverse.iteration, &B, &X, &known);
done:
    trine_free(r->p.ctx, TRINE_DEVICE, device_s);
    return status;
}

static trine_status run_all(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    struct problem *p = &r->p;
    const struct options *o = r->o;
    const char *reason;
    TRY(check_output(o));
    /* where "auto" may be a GPU */
    TRY(trine_context_create(&p->ctx, iterates(o) && !strcmp(o->device, "auto") ? "cpu" : o->device));
    TRY(trine_context_get_info(p->ctx, &r->device));
    TRY(trine_context_set_log(p->ctx, take_warning, r, 1));
    TRY(read_input(r));
    TRY(make_rhs(r));
    p->ordering = (trine_ordering)o->ordering;
    p->single_factor = o->single_factor;
    p->on_gpu = r->device.space == TRINE_DEVICE;
    p->adjoint = !o->no_condition;
    p->iteration = &o->iteration;
    const enum method chosen = r->method = choose_method(p, (enum method)o->method, &reason);
    if (o->single_factor && (r->t == TRINE_S || r->t == TRINE_C || (chosen != METHOD_CHOLESKY && chosen != METHOD_LU)))
        FAIL(TRINE_ERR_UNSUPPORTED,
             "--single-factor is for cholesky and lu in double precision, not for %s in precision %s",
             choice_name(method_choices, chosen), choice_name(precision_choices, (int)r->t));
    r->outcome = (struct outcome){.method = choice_name(method_choices, chosen),
                                  .nnz_factor = p->info.nnz,
                                  .fill = 1,
                                  .levels_lower = -1,
                                  .levels_upper = -1,
                                  .order_seconds = -1,
                                  .symbolic_seconds = -1,
                                  .factor_seconds = -1,
                                  .analyse_seconds = -1,
                                  .numeric_seconds = -1};
    snprintf(r->outcome.reason, sizeof r->outcome.reason, "%s", reason);
    TRY(solve_system(r));
    TRY(check_solution(r));
    r->condition_seconds = -1;
    if (r->inverse.iteration) {
        if (o->iteration.plot) TRY(plot(r));
    } else {
        if (!o->no_condition) TRY(estimate_condition(r));
        TRY(judge(r));
    }
    if (o->out) TRY(trine_vectors_write(p->ctx, o->out, r->t, r->x, p->n, p->nrhs, p->n));
done:
    return status;
}

static void destroy_all(struct run *r)
{
    const trine_context ctx = r->p.ctx;
    destroy_inverse(&r->inverse);
    destroy_inverse(&r->adjoint);
    trine_free(ctx, TRINE_HOST, r->b);
    trine_free(ctx, TRINE_HOST, r->x);
    trine_free(ctx, TRINE_HOST, r->s);
    trine_free(ctx, TRINE_DEVICE, r->device_b);
    trine_free(ctx, TRINE_DEVICE, r->device_x);
    trine_matrix_destroy(&r->p.A);
    trine_context_destroy(&r->p.ctx);
}

/* ---------------------------------------------------------------- reporting */

/** The phases in the order in which they ran. */
enum { N_PHASES = 10 };
struct phase {
    const char *name, *key;
    double seconds;
};
static void list_phases(const struct run *r, struct phase phases[N_PHASES])
{
    const struct outcome *c = &r->outcome;
    const struct phase list[N_PHASES] = {{"read", "read_seconds", r->read_seconds},
                                         {"check", "check_seconds", r->check_seconds},
                                         {"order", "order_seconds", c->order_seconds},
                                         {"symbolic", "symbolic_seconds", c->symbolic_seconds},
                                         {"factor", "factor_seconds", c->factor_seconds},
                                         {"analyse", "analyse_seconds", c->analyse_seconds},
                                         {"numeric", "numeric_seconds", c->numeric_seconds},
                                         {"solve", "solve_seconds", r->solve_seconds},
                                         {"refine", "refine_seconds", r->refined ? r->refine_seconds : -1},
                                         {"condition", "condition_seconds", r->condition_seconds}};
    memcpy(phases, list, sizeof list);
}

static const char *symmetry_words(const struct run *r)
{
    const trine_matrix_structure *s = &r->p.structure;
    return s->symmetric           ? "symmetric"
           : s->hermitian         ? "Hermitian"
           : s->pattern_symmetric ? "symmetric pattern"
                                  : "unsymmetric";
}

static void print_condition(const struct run *r)
{
    printf("condition       %.3g (1-norm, estimated)", r->condition.condition);
    if (r->condition.scaled < r->condition.condition)
        printf(", %.3g with rows and columns scaled", r->condition.scaled);
    printf(": about %d digits can be right\n", right_digits(r));
}

static void print_text(const struct run *r)
{
    const struct options *o = r->o;
    const struct problem *p = &r->p;
    const struct outcome *c = &r->outcome;
    struct phase phases[N_PHASES];
    printf("matrix          %s\n", o->path);
    printf("                n = %s, %s entries (%.1f a row), %s%s\n", grouped(p->n), grouped(p->info.nnz),
           (double)p->info.nnz / (double)p->n, symmetry_words(r),
           p->info.pattern ? "; a pattern file: the values are made up" : "");
    printf("device          %s%s%s%s\n", r->device.name, *r->device.fallback ? " (" : "", r->device.fallback,
           *r->device.fallback ? ")" : "");
    printf("precision       %s\n", choice_name(precision_choices, (int)r->t));
    printf("method          %s: %s%s%s\n", c->method, c->reason, c->ordering ? "; ordering " : "",
           c->ordering ? c->ordering : "");
    if (c->factor_seconds >= 0)
        printf("factor          %s entries in L + U, fill %.2f\n", grouped(c->nnz_factor), c->fill);
    if (*c->kernel) printf("solve           %s", c->kernel);
    const char *levels = c->supernodal ? "levels" : "level sets";
    if (c->levels_lower >= 0) printf(", %s %s of L", grouped(c->levels_lower), levels);
    if (c->levels_upper >= 0) printf(", %s %s of U", grouped(c->levels_upper), levels);
    if (*c->kernel) printf("\n");
    if (o->rhs == RHS_FILE)
        printf("right-hand side %s, %s column%s\n", o->rhs_path, grouped(p->nrhs), p->nrhs == 1 ? "" : "s");
    else
        printf("right-hand side b = A s, s = %s\n", o->rhs == RHS_ONES     ? "(1, 1, ...)"
                                                    : o->rhs == RHS_SIN    ? "(sin 1, sin 2, ...)"
                                                    : o->rhs == RHS_THESIS ? "(sin(2 pi 8 i / n)), i = 0, 1, ..."
                                                                           : "random in (-1, 1)");
    if (r->inverse.iteration) print_iteration_text(r->inverse.iteration);
    printf("\n");
    list_phases(r, phases);
    for (int i = 0; i < N_PHASES; i++)
        if (phases[i].seconds >= 0) printf("%-10s %12.6f s\n", phases[i].name, phases[i].seconds);
    if (o->repeat > 1)
        printf("           median of %d solves; the fastest took %.6f s\n", o->repeat, r->solve_min_seconds);
    if (r->general_solve_seconds >= 0) {
        const int64_t pays = solves_to_pay(r);
        printf("general    %12.6f s a solve, after %.6f s of analysis and numeric set-up\n", r->general_solve_seconds,
               r->general_setup_seconds);
        if (pays >= 0)
            printf("           the set-up of the panels has paid after %s solve%s\n", grouped(pays),
                   pays == 1 ? "" : "s");
        else printf("           the set-up of the panels does not pay: the general method is faster\n");
    }
    printf("\nbackward error  %.3g eps (eps = %.3g), componentwise %.3g eps\n", r->accuracy.backward_error,
           trine_dtype_eps(r->t), r->accuracy.componentwise / trine_dtype_eps(r->t));
    if (r->refined)
        printf("                %.3g eps before %s of refinement\n", r->initial_backward_error,
               r->refined == 1 ? "a step" : "steps");
    printf("residual        %.3g\n", r->accuracy.residual);
    if (r->condition_seconds >= 0) print_condition(r);
    if (r->s) printf("solution error  %.3g\n", solution_error(r->t, r->x, r->s, p->n));
    if (o->out) printf("solution        %s\n", o->out);
    if (o->iteration.plot) printf("plot            %s\n", o->iteration.plot);
}

static void print_json(const struct run *r)
{
    const struct options *o = r->o;
    const struct outcome *c = &r->outcome;
    struct phase phases[N_PHASES];
    json_begin();
    json_string("matrix", o->path);
    json_integer("n", r->p.n);
    json_integer("nnz", r->p.info.nnz);
    json_string("method", c->method);
    json_string("reason", c->reason);
    json_string("ordering", c->ordering ? c->ordering : "none");
    json_string("kernel", c->kernel);
    json_string("warnings", r->warnings);
    json_string("device", r->device.space == TRINE_DEVICE ? "cuda" : "cpu");
    json_string("device_name", r->device.name);
    json_string("device_fallback", r->device.fallback);
    json_integer("threads", r->device.threads);
    json_string("precision", choice_name(precision_choices, (int)r->t));
    json_string("rhs", o->rhs == RHS_FILE ? o->rhs_path : choice_name(rhs_choices, o->rhs));
    json_integer("nrhs", r->p.nrhs);
    json_integer("refine", r->refined);
    json_integer("repeat", o->repeat);
    json_integer("nnz_factor", c->nnz_factor);
    json_number("fill", c->fill);
    json_integer("levels_lower", c->levels_lower);
    json_integer("levels_upper", c->levels_upper);
    list_phases(r, phases);
    for (int i = 0; i < N_PHASES; i++) json_number(phases[i].key, phases[i].seconds >= 0 ? phases[i].seconds : 0);
    json_number("solve_min_seconds", r->solve_min_seconds);
    json_boolean("supernodal", c->supernodal);
    if (r->general_solve_seconds >= 0) {
        json_number("general_setup_seconds", r->general_setup_seconds);
        json_number("general_solve_seconds", r->general_solve_seconds);
        json_integer("solves_to_pay", solves_to_pay(r));
    }
    if (r->inverse.iteration) print_iteration_json(r->inverse.iteration);
    json_number("backward_error", r->accuracy.backward_error);
    json_number("initial_backward_error", r->initial_backward_error);
    json_number("componentwise_error", r->accuracy.componentwise);
    json_number("residual", r->accuracy.residual);
    if (r->condition_seconds >= 0) {
        json_number("condition", r->condition.condition);
        json_number("scaled_condition", r->condition.scaled);
        json_integer("condition_solves", r->condition.solves);
    }
    if (r->s) json_number("solution_error", solution_error(r->t, r->x, r->s, r->p.n));
    json_end();
}

int command_solve(int argc, char **argv)
{
    struct options o = {.rhs = RHS_RANDOM,
                        .device = "auto",
                        .repeat = 1,
                        .iteration = {.tolerance = 1e-6, .precond.method = preconditioner_none()}};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;
    struct run r = {.o = &o};
    const trine_status status = run_all(&r);
    if (status) code = r.no_digits ? fail(EXIT_NO_DIGITS, "%s", trine_last_error()) : fail_status(status);
    else (o.json ? print_json : print_text)(&r);
    if (!status && *r.warnings) fprintf(stderr, "trine: warning: %s\n", r.warnings);
    if (!status && r.inverse.iteration && *r.inverse.iteration->failure)
        code = fail(EXIT_NO_DIGITS, "%s: %s", o.path, r.inverse.iteration->failure);
    destroy_all(&r);
    return code;
}
