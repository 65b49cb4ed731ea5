/* trine solve: read, choose, factor, solve, and say how well and how fast. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "solve.h"

enum { KEY_REFINE = 256, KEY_REPEAT, KEY_NO_CONDITION, KEY_TRIANGLES };
enum { MOST_STEPS = 10 }; /* of refinement, where nobody chose a number: each adds digits, or it ends */

/** An iterative method is asked for, by its name or by a preconditioner. */
static bool iterates(const struct solve_options *o)
{
    return is_iterative((enum method)o->method) || (o->method == METHOD_AUTO && o->iteration.precond_given);
}

/** Options of one kind of method beside another. */
static error_t check_method(struct argp_state *state, const struct solve_options *o)
{
    const enum method method = (enum method)o->method;
    const struct factoring_options *f = &o->factoring;
    if (o->iteration.given && !iterates(o))
        return refuse(state, "%s is for iterative methods: add --method gmres, fgmres, bicgstab, cg or minres",
                      o->iteration.given);
    const char *direct = o->refine_given ? "--refine" : o->triangles ? "--triangles" : f->given;
    if (direct && iterates(o)) return refuse(state, "%s is for direct methods", direct);
    if (o->iteration.precond.method == TRINE_PRECOND_ADI && !o->iteration.precond.nx)
        return refuse(state, "--precond adi needs the grid of the matrix: add --grid NXxNY");
    if (f->given && !is_factorization(method))
        return refuse(state, "%s is for factorizations, and --method %s is none", f->given,
                      choice_name(method_choices, o->method));
    if (o->triangles && method != METHOD_TRIANGULAR && (!is_factorization(method) || method == METHOD_CUDSS))
        return refuse(state, "--triangles is for --method triangular and for factors, not for --method %s",
                      choice_name(method_choices, o->method));
    if (o->triangles && (f->solver == TRINE_SOLVER_SUPERNODAL || f->solver == TRINE_SOLVER_LIBRARY))
        return refuse(state, "--triangles is for --solver general, not for --solver %s",
                      choice_name(solver_choices, f->solver));
    return check_factoring(state, f);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct solve_options *o = state->input;
    switch (key) {
    case 'r':
        o->rhs_path = arg;
        o->rhs = RHS_FILE;
        for (const struct choice *c = rhs_choices; c->name; c++)
            if (!strcmp(arg, c->name)) o->rhs = c->value;
        return 0;
    case 'm': return choose(state, "--method", arg, method_choices, &o->method);
    case KEY_TRIANGLES: return choose(state, "--triangles", arg, triangle_choices, &o->triangles);
    case 'd': o->device = arg; return 0;
    case 'p': return choose(state, "--precision", arg, precision_choices, &o->precision);
    case KEY_NO_CONDITION: o->no_condition = true; return 0;
    case KEY_REFINE: o->refine_given = true; return parse_count(state, "--refine", arg, 0, 1000, &o->refine);
    case KEY_REPEAT: return parse_count(state, "--repeat", arg, 1, 1000000, &o->repeat);
    case 'o': o->out = arg; return 0;
    case 'j': o->json = true; return 0;
    case 'v': o->verbose = true; return 0;
    case ARGP_KEY_ARG:
        if (o->path) return refuse(state, "unexpected argument \"%s\"", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->factoring.single && o->refine_given && !o->refine)
            return refuse(state, "--single-factor needs refinement, and --refine is 0");
        if (!o->path || !*o->path) return refuse(state, "solve: no matrix file");
        return check_method(state, o);
    default: {
        error_t error = parse_iteration(key, arg, state, &o->iteration);
        if (error == ARGP_ERR_UNKNOWN) error = parse_factoring(key, arg, state, &o->factoring);
        return error == ARGP_ERR_UNKNOWN ? parse_limit(key, arg, state, &o->limits) : error;
    }
    }
}

static const struct argp_option options[] = {
    {"rhs", 'r', "FILE|ones|sin|thesis|random", 0,
     "right-hand sides b from a file (every column is solved for), or b = A s for a known solution s: s_i = 1, s_i = sin(i), "
     "i = 1, 2, ..., s_i = sin(2 pi 8 i / n), i = 0, 1, ..., or uniform in (-1,1), the same in every run (default random)",
     1},
    {"method", 'm', "METHOD", 0,
     "auto; factorizations: cholesky, cholesky-simplicial, ldl, lu (SuperLU), lu-umfpack, lu-klu, cudss (NVIDIA's library, where it is "
     "installed); for matrices of such a form: triangular, partitioned-inverse (triangular, for many solves), tridiagonal, banded; "
     "iterative: gmres, fgmres, bicgstab, cg, minres. auto: triangular if A is; "
     "tridiagonal (also cyclic) if A is; banded if A has at most 8 diagonals on either side; Cholesky if A is symmetric (Hermitian) with a "
     "positive diagonal; else L D L^H or LU, by whichever library suits A",
     0},
    {"device", 'd', "auto|cpu|cuda", 0,
     "where the solve runs; cpu:4 sets threads, cuda:1 the device's number. auto takes a GPU if there is one (default)",
     0},
    {"precision", 'p', "s|d|c|z", 0,
     "single, double, complex single, complex double (default d, or z for a complex file)", 0},
    {"refine", KEY_REFINE, "N", 0,
     "at most N steps of iterative refinement, residuals in extended precision; a step that makes the backward error larger is undone, "
     "and the last (default: as many as help, where the backward error is above 10 eps)",
     0},
    {"repeat", KEY_REPEAT, "K", 0,
     "solve K times and report the median time; with more than one, also the general triangular solve on the same factor, and after how "
     "many solves the set-up of the supernodal one has paid; a triangle's method is chosen for K solves (default 1)",
     0},
    {"triangles", KEY_TRIANGLES, "METHOD", 0,
     "how triangles are solved row by row: auto, serial, levelset, syncfree-csr, syncfree-csc, partitioned-inverse; of a factor: with "
     "--solver general",
     0},
    {"no-condition", KEY_NO_CONDITION, NULL, 0,
     "do not estimate the condition of A, which takes solves with A and A^H after the timed ones; a matrix that is singular to working "
     "precision is then solved all the same, unless the residual shows it",
     0},
    FACTORING_OPTIONS,
    ITERATION_OPTIONS,
    {NULL, 0, NULL, 0, "Files and output:", 4},
    {"out", 'o', "FILE", 0,
     "write the solution as a Matrix Market array file; .gz: gzipped. FILE is whole or untouched", 0},
    LIMIT_OPTIONS,
    {"json", 'j', NULL, 0, "one JSON object instead of text", 0},
    {"verbose", 'v', NULL, 0,
     "say on stderr what is decided on the way, and why: orderings, what was tried and did not do, times; in JSON: log",
     0},
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

static void take_warning(struct run *r, const char *message)
{
    const size_t used = strlen(r->warnings), size = sizeof r->warnings;
    snprintf(r->warnings + used, size - used, "%s%s", used ? "; " : "", message);
}

/** What the library says: warnings come at the end, the rest as it happens. */
static void take_message(void *user, int level, const char *message)
{
    struct run *r = user;
    if (level <= 1) take_warning(r, message);
    if (!r->o->verbose) return;
    if (level > 1) say("log", message);
    add_string(&r->log, message);
}

static size_t vector_bytes(const struct run *r) { return (size_t)r->p.n * (size_t)r->p.nrhs * trine_dtype_size(r->t); }

/** What is written must not take the place of what it is computed from, by whatever name, nor of each other. And where
 *  there is no such folder, this is known before the solve. */
static trine_status check_output(const struct solve_options *o)
{
    const struct factoring_options *f = &o->factoring;
    const char *const inputs[] = {o->path, o->rhs == RHS_FILE ? o->rhs_path : NULL, f->permutation};
    const char *const outputs[] = {o->out, o->iteration.plot, f->permutation_out};
    const char *const names[] = {"--out", "--plot", "--permutation-out"};
    for (int l = 0; l < 3; l++) {
        if (!outputs[l]) continue;
        if (!*outputs[l]) return trine_fail(TRINE_ERR_ARGUMENT, "the name of %s is empty", names[l]);
        for (int k = 0; k < 3; k++)
            if (inputs[k] && is_same_file(outputs[l], inputs[k]))
                return trine_fail(TRINE_ERR_ARGUMENT, "%s %s is the same file as %s, which is read", names[l],
                                  outputs[l], inputs[k]);
        for (int k = 0; k < l; k++)
            if (outputs[k] && (!strcmp(outputs[l], outputs[k]) || is_same_file(outputs[l], outputs[k])))
                return trine_fail(TRINE_ERR_ARGUMENT, "%s and %s are both %s", names[k], names[l], outputs[l]);
        char folder[PATH_MAX];
        struct stat there;
        if ((size_t)snprintf(folder, sizeof folder, "%s", outputs[l]) < sizeof folder && stat(dirname(folder), &there))
            return trine_fail(TRINE_ERR_IO, "%s cannot be written: %s: %s", outputs[l], folder, strerror(errno));
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
        if (access(r->o->rhs_path, F_OK))
            FAIL(TRINE_ERR_IO, "--rhs %s is none of ones, sin, thesis, random, and no file: %s", r->o->rhs_path,
                 strerror(errno));
        TRY(read_vectors(p->ctx, r->o->rhs_path, r->t, &r->b, &rows, &cols, &r->o->limits));
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
    destroy_inverse(&r->p, &general);
    trine_free(r->p.ctx, TRINE_HOST, x);
    if (status) r->general_setup_seconds = r->general_solve_seconds = -1;
    return status == TRINE_ERR_MEMORY ? TRINE_SUCCESS : status;
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

/** What is to become small, in eps: the normwise backward error, and the componentwise one. Norms do not see rows and
 *  columns that are small beside others. */
static double error_of(const struct run *r)
{
    return fmax(r->accuracy.backward_error, r->accuracy.componentwise / trine_dtype_eps(r->t));
}

bool is_accurate(const struct run *r) { return error_of(r) <= ACCURATE_EPS; }

/** Steps of iterative refinement: r = b - A x in extended precision, d = A^-1 r, x = x + d. They end above `enough`
 *  eps of error only after `most` steps, or where a step no longer halves one that is accurate (enough < 0: makes it
 *  larger). A step that makes it larger is undone. */
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
    } while (--most > 0 && error_of(r) > enough && (enough < 0 || error_of(r) <= 0.5 * least || !is_accurate(r)));
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
    const struct solve_options *o = r->o;
    step_begin("checking");
    TRY(measure(r, NULL));
    step_end();
    r->refined = 0;
    r->before_refinement = r->accuracy;
    if (r->inverse.iteration) return TRINE_SUCCESS; /* which ends where it was told to */
    if (o->refine_given && o->refine) TRY(refine(r, o->refine, -1));
    if (!o->refine_given && r->p.single_factor) TRY(refine(r, MOST_STEPS, 0));
    else if (!o->refine_given && !is_accurate(r)) TRY(refine(r, MOST_STEPS, 1));
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
    if (!r->inverse.iteration && r->accuracy.backward_error > ACCURATE_EPS) {
        char text[200];
        snprintf(
            text, sizeof text, "the backward error is %.3g eps%s; another method may help", r->accuracy.backward_error,
            r->o->refine_given && !r->o->refine ? ", and refinement was not asked for" : ", also after refinement");
        take_warning(r, text);
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
int right_digits(const struct run *r, bool *of_scaled)
{
    const double eps = trine_dtype_eps(r->t);
    const double normwise = r->condition.condition * fmax(r->accuracy.backward_error, 1) * eps;
    const double componentwise = r->condition.scaled * fmax(r->accuracy.componentwise, eps);
    *of_scaled = componentwise < normwise;
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
    bool of_scaled;
    if (known && !right_digits(r, &of_scaled))
        take_warning(r, "A is nearly singular or badly scaled: no digit of x is certain; refinement may help");
    return TRINE_SUCCESS;
}

/** What was asked for, and this factor does not have. */
static void tell_unheeded(struct run *r)
{
    char text[400];
    const struct outcome *c = &r->outcome;
    if (r->p.single_factor && !c->supernodal) {
        snprintf(text, sizeof text, "the factor is in double precision: %s", c->solver_reason);
        take_warning(r, text);
        r->p.single_factor = false;
    }
    if (r->o->factoring.solver == TRINE_SOLVER_LIBRARY && strcmp(c->solver, "library") != 0)
        take_warning(r, "--solver library is for CHOLMOD, KLU and UMFPACK on a CPU in double precision: trine solves");
}

/** Everything from the factorization to x, with what there is of a factorization. */
static trine_status solve_with_factor(struct run *r)
{
    trine_status status = TRINE_SUCCESS;
    step_begin("factoring and analysing");
    TRY(set_up_inverse(&r->p, r->method, TRINE_N, &r->inverse, &r->outcome));
    step_end();
    tell_unheeded(r);
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
    if (!status && error_of(r) <= ACCURATE_EPS) return TRINE_SUCCESS;
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
    take_warning(r, why);
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
    const struct solve_options *o = r->o;
    const char *reason;
    TRY(check_output(o));
    /* where "auto" may be a GPU */
    TRY(trine_context_create(&p->ctx, iterates(o) && !strcmp(o->device, "auto") ? "cpu" : o->device));
    TRY(trine_context_get_info(p->ctx, &r->device));
    TRY(trine_context_set_log(p->ctx, take_message, r, o->verbose ? 2 : 1));
    TRY(read_input(r));
    TRY(make_rhs(r));
    p->single_factor = o->factoring.single;
    p->triangles = (trine_triangular_method)o->triangles;
    p->factoring = &o->factoring;
    p->on_gpu = r->device.space == TRINE_DEVICE;
    p->adjoint = !o->no_condition;
    p->iteration = &o->iteration;
    const enum method chosen = r->method = choose_method(p, (enum method)o->method, &reason);
    const bool panels = chosen == METHOD_AUTO || chosen == METHOD_CHOLESKY || chosen == METHOD_LU;
    if (p->single_factor && (r->t == TRINE_S || r->t == TRINE_C || !panels))
        FAIL(TRINE_ERR_UNSUPPORTED,
             "--single-factor is for cholesky and lu in double precision, not for %s in precision %s",
             choice_name(method_choices, chosen), choice_name(precision_choices, (int)r->t));
    if (o->factoring.permutation) {
        TRY(read_order(p->ctx, o->factoring.permutation, p->n, &o->limits, &r->order));
        p->order = r->order;
    }
    r->outcome = (struct outcome){.method = choice_name(method_choices, chosen),
                                  .nnz_factor = p->info.nnz,
                                  .fill = 1,
                                  .solver = "",
                                  .trial_error = -1,
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
    if (r->inverse.order) TRY(write_order(p->ctx, o->factoring.permutation_out, p->n, r->inverse.order));
    if (o->out) TRY(trine_vectors_write(p->ctx, o->out, r->t, r->x, p->n, p->nrhs, p->n));
done:
    return status;
}

static void destroy_all(struct run *r)
{
    const trine_context ctx = r->p.ctx;
    destroy_inverse(&r->p, &r->inverse);
    destroy_inverse(&r->p, &r->adjoint);
    trine_free(ctx, TRINE_HOST, r->order);
    free_strings(&r->log);
    trine_free(ctx, TRINE_HOST, r->b);
    trine_free(ctx, TRINE_HOST, r->x);
    trine_free(ctx, TRINE_HOST, r->s);
    trine_free(ctx, TRINE_DEVICE, r->device_b);
    trine_free(ctx, TRINE_DEVICE, r->device_x);
    trine_matrix_destroy(&r->p.A);
    trine_context_destroy(&r->p.ctx);
}

int command_solve(int argc, char **argv)
{
    struct solve_options o = {.rhs = RHS_RANDOM,
                              .device = "auto",
                              .repeat = 1,
                              .iteration = {.tolerance = 1e-6, .precond.method = preconditioner_none()}};
    int code = parse_options(&argp, argc, argv, &o.parse);
    if (code) return code;
    struct run r = {.o = &o};
    const trine_status status = run_all(&r);
    if (status) code = r.no_digits ? fail(EXIT_NO_DIGITS, "%s", trine_last_error()) : fail_status(status);
    else (o.json ? print_solve_json : print_solve_text)(&r);
    if (!status && *r.warnings) say("warning", r.warnings);
    if (!status && r.inverse.iteration && *r.inverse.iteration->failure)
        code = fail(EXIT_NO_DIGITS, "%s: %s", o.path, r.inverse.iteration->failure);
    destroy_all(&r);
    return code;
}
