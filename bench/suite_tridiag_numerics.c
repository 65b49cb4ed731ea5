/* Suite tridiag-numerics: forward errors on the matrices of Klein 2024, Tables 4 and 6, on the 2x2 block versions of
 * Table 4 (Equations 16 to 18), and on the banded matrices of Table 9 that are there, beside LAPACK's and cuSPARSE's
 * on the same data; medians over seeds. Tables 5, 7, 8 and 9 made again. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { SEEDS = 20, LONG_SEEDS = 3, ROWS = 512, PARTITION = 32, MOST_SOLVERS = 16 };
static const double BAR = 50; /* times LAPACK's forward error, or times eps */

typedef struct {
    const char *title, *gallery, *unit; /* unit: what a method's name starts with */
    const char *const *names;           /* of real matrices; NULL: those of the gallery */
    int count, kl, ku, width;           /* width of the interface between partitions */
    int no_digits[4];                   /* matrices whose condition leaves no digit of x: judged by backward errors */
    const char
        *methods[MOST_SOLVERS]; /* "lapack gtsv": LAPACK's comes first. "path:...": where there are paths, on a GPU */
    /* From the methods, for the device: */
    int solvers, cells, within; /* cells that have to be within the bar, and those that are */
    const tridiag_solver *solver[MOST_SOLVERS];
    const char *method[MOST_SOLVERS];
} table;

/** What the bar is for: trine with its default pivoting, on any path. */
static bool is_judged(const table *t, int s)
{
    const char *method = t->method[s];
    if (t->solver[s] != &tridiag_trine || strstr(method, "partial") || strstr(method, "none") ||
        strstr(method, "determinant"))
        return false;
    return !strstr(method, "refine");
}

static void choose_solvers(const bench *b, table *t)
{
    t->solvers = t->cells = t->within = 0;
    for (int k = 0; k < MOST_SOLVERS && t->methods[k]; k++) {
        const char *name = t->methods[k];
        const bool is_path = strncmp(name, "path:", 5) == 0, is_cusparse = strncmp(name, "cusparse ", 9) == 0;
        if ((is_path || is_cusparse) && b->device.space == TRINE_HOST) continue;
        t->solver[t->solvers] = is_cusparse                        ? &tridiag_cusparse
                                : strncmp(name, "lapack ", 7) == 0 ? &tridiag_lapack
                                                                   : &tridiag_trine;
        t->method[t->solvers] = is_path                                   ? name + 5
                                : t->solver[t->solvers] == &tridiag_trine ? name
                                                                          : strchr(name, ' ') + 1;
        t->solvers++;
    }
}

/* ------------------------------------------------------------------ matrices */

static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static double uniform(uint64_t seed, uint64_t i)
{
    return ((double)(mix(seed * 0x100000001B3u + i) >> 11) + .5) * 0x1p-53;
}

/** Bands -kl..ku of a matrix, n doubles each, as the problem stores them; kl, ku < 0: as many as it has. */
static trine_status read_bands(bench *b, const char *spec, int *kl, int *ku, int64_t *rows, double **bands)
{
    trine_status status = TRINE_SUCCESS;
    bench host = *b;
    trine_matrix A = NULL;
    trine_matrix_info info;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    trine_matrix_structure structure;
    host.ctx = NULL;
    host.stream = NULL;
    TRY(trine_context_create(&host.ctx, "cpu"));
    TRY(bench_read_matrix(&host, spec, &A));
    TRY(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    TRY(trine_matrix_get_info(A, &info));
    *rows = info.n_rows;
    if (*kl < 0) {
        TRY(trine_matrix_get_structure(A, &structure));
        *kl = (int)structure.lower_bandwidth, *ku = (int)structure.upper_bandwidth;
    }
    TRY(CALLOC(b->ctx, *bands, *rows * (*kl + *ku + 1)));
    for (int64_t i = 0; i < *rows; i++)
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
            (*bands)[(*kl + columns[k] - i) * *rows + i] = ((const double *)values)[k];
done:
    trine_matrix_destroy(&A);
    trine_context_destroy(&host.ctx);
    return status;
}

/** A[i,j] times a rotation by alpha_i + beta_j: the 2x2 block version, as bands (kl = ku = 3) and as blocks. */
static trine_status make_blocks(bench *b, uint64_t seed, int64_t rows, const double *scalar, double **bands,
                                double **blocks)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = 2 * rows;
    TRY(CALLOC(b->ctx, *bands, 7 * n));
    TRY(CALLOC(b->ctx, *blocks, 3 * rows * 4));
    for (int64_t i = 0; i < rows; i++)
        for (int k = -1; k <= 1; k++) {
            if (i + k < 0 || i + k >= rows) continue;
            const double angle = M_PI * (uniform(700000 + seed, (uint64_t)(2 * i)) +
                                         uniform(700000 + seed, (uint64_t)(2 * (i + k) + 1)));
            const double a = scalar[(k + 1) * rows + i],
                         block[2][2] = {{a * cos(angle), -a * sin(angle)}, {a * sin(angle), a * cos(angle)}};
            for (int p = 0; p < 2; p++)
                for (int q = 0; q < 2; q++) {
                    (*bands)[(3 + 2 * k + q - p) * n + 2 * i + p] = block[p][q];
                    (*blocks)[((k + 1) * rows + i) * 4 + 2 * q + p] = block[p][q];
                }
        }
done:
    return status;
}

/* ----------------------------------------------------------------- conditions */

static struct {
    void *library;
    void (*dgesv)(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b, const int *ldb,
                  int *info);
    void (*dgesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, double *a, const int *lda,
                   double *s, double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
                   int *info);
} lapack;

static bool load_lapack(void)
{
    if (!lapack.library && (lapack.library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL))) {
        *(void **)&lapack.dgesv = dlsym(lapack.library, "dgesv_");
        *(void **)&lapack.dgesvd = dlsym(lapack.library, "dgesvd_");
    }
    return lapack.library && lapack.dgesv && lapack.dgesvd;
}

/** Ratio of the largest to the smallest singular value of a dense n x n matrix, which is overwritten. */
static trine_status condition_of(bench *b, int n, double *A, double *condition)
{
    trine_status status = TRINE_SUCCESS;
    const int one = 1, lwork = 64 * n;
    int info = 0;
    double *s = NULL, *work = NULL, unused;
    TRY(ALLOC(b->ctx, s, n));
    TRY(ALLOC(b->ctx, work, lwork));
    lapack.dgesvd("N", "N", &n, &n, A, &n, s, &unused, &one, &unused, &one, work, &lwork, &info);
    *condition = info ? NAN : s[0] / s[n - 1];
done:
    trine_free(b->ctx, TRINE_HOST, s);
    trine_free(b->ctx, TRINE_HOST, work);
    return status;
}

static double entry(const tridiag_problem *p, int64_t i, int64_t j)
{
    const int64_t k = j - i;
    return k < -p->kl || k > p->ku ? 0 : ((const double *)(const void *)p->host)[(p->kl + k) * p->n + i];
}

/** The condition of the Schur complement of everything but the first and the last `width` rows of every partition of
 *  PARTITION rows; the last one has what is left over as well. */
static trine_status coarse_condition(const tridiag_problem *p, int width, double *condition)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    const int partitions = (int)(p->n / PARTITION), left_over = (int)(p->n % PARTITION), own = 2 * width,
              n = partitions * own;
    const int longest = PARTITION - own + left_over;
    double *S = NULL, *inside = NULL, *columns = NULL;
    int *pivots = NULL, info = 0;
    *condition = NAN;
    if (!load_lapack()) return TRINE_SUCCESS;
    TRY(CALLOC(b->ctx, S, (int64_t)n * n));
    TRY(ALLOC(b->ctx, inside, longest * longest));
    TRY(ALLOC(b->ctx, columns, longest * own));
    TRY(ALLOC(b->ctx, pivots, longest));
#define INTERFACE(q, k) \
    ((int64_t)(q) * PARTITION + ((k) < width ? (k) : PARTITION - own + ((q) == partitions - 1 ? left_over : 0) + (k)))
    for (int q = 0; q < partitions && !info; q++) {
        const int64_t first = (int64_t)q * PARTITION + width;
        const int inner = q == partitions - 1 ? longest : PARTITION - own;
        for (int j = 0; j < inner; j++)
            for (int i = 0; i < inner; i++) inside[j * inner + i] = entry(p, first + i, first + j);
        for (int k = 0; k < own; k++)
            for (int i = 0; i < inner; i++) columns[k * inner + i] = entry(p, first + i, INTERFACE(q, k));
        lapack.dgesv(&inner, &own, inside, &inner, pivots, columns, &inner, &info);
        for (int r = 0; r < own; r++) {
            const int64_t row = INTERFACE(q, r);
            for (int other = q > 0 ? q - 1 : 0; other <= q + 1 && other < partitions; other++)
                for (int k = 0; k < own; k++)
                    S[(int64_t)(other * own + k) * n + q * own + r] = entry(p, row, INTERFACE(other, k));
            for (int k = 0; k < own; k++)
                for (int i = 0; i < inner; i++)
                    S[(int64_t)(q * own + k) * n + q * own + r] -= entry(p, row, first + i) * columns[k * inner + i];
        }
    }
#undef INTERFACE
    if (!info) TRY(condition_of(b, n, S, condition));
done:
    trine_free(b->ctx, TRINE_HOST, S);
    trine_free(b->ctx, TRINE_HOST, inside);
    trine_free(b->ctx, TRINE_HOST, columns);
    trine_free(b->ctx, TRINE_HOST, pivots);
    return status;
}

/** Of the matrix with these bands. */
static trine_status full_condition(bench *b, int64_t n, int kl, int ku, const double *bands, double *condition)
{
    trine_status status = TRINE_SUCCESS;
    double *A = NULL;
    *condition = NAN;
    if (!load_lapack() || n > 2 * ROWS) return TRINE_SUCCESS;
    TRY(CALLOC(b->ctx, A, n * n));
    for (int64_t i = 0; i < n; i++)
        for (int k = -kl; k <= ku; k++)
            if (i + k >= 0 && i + k < n) A[(i + k) * n + i] = bands[(kl + k) * n + i];
    TRY(condition_of(b, (int)n, A, condition));
done:
    trine_free(b->ctx, TRINE_HOST, A);
    return status;
}

/* --------------------------------------------------------------------- errors */

/** ||x - x_t|| / ||x_t||, and the componentwise backward error; NAN with the reason in trine_last_error if the
 *  solver could not. */
static trine_status errors_of(const tridiag_problem *p, const tridiag_solver *solver, const char *method,
                              const double *exact, double *error, double *backward)
{
    trine_status status = TRINE_SUCCESS;
    void *self = NULL;
    double *x = NULL, difference = 0, size = 0;
    *error = *backward = NAN;
    TRY(solver->create(p, method, &self));
    if (solver->reset) TRY(solver->reset(self));
    TRY(solver->solve(self));
    TRY(ALLOC(p->b->ctx, x, p->n));
    TRY(trine_context_synchronize(p->b->ctx));
    TRY(trine_copy(p->b->ctx, x, TRINE_HOST, solver->solution(self), p->b->device.space,
                   (size_t)p->n * sizeof(double)));
    for (int64_t i = 0; i < p->n; i++) difference += (x[i] - exact[i]) * (x[i] - exact[i]), size += exact[i] * exact[i];
    *error = sqrt(difference / size);
    TRY(tridiag_problem_check(p, solver->solution(self), backward));
done:
    solver->destroy(self);
    trine_free(p->b->ctx, TRINE_HOST, x);
    return status;
}

static double median_of(const double *values, int count)
{
    double copy[SEEDS];
    int n = 0;
    for (int i = 0; i < count; i++)
        if (values[i] == values[i]) copy[n++] = values[i];
    return bench_median(copy, n);
}

/** One matrix with one seed: what a solver is given, and what it should find. */
/* scalar: what blocks are made of, else NULL */
typedef struct {
    int64_t rows;
    double *bands, *blocks, *scalar, *exact;
} sample;

static void free_sample(bench *b, sample *m)
{
    trine_free(b->ctx, TRINE_HOST, m->bands);
    trine_free(b->ctx, TRINE_HOST, m->blocks);
    trine_free(b->ctx, TRINE_HOST, m->scalar);
    trine_free(b->ctx, TRINE_HOST, m->exact);
    *m = (sample){0};
}

static trine_status make_sample(bench *b, const table *t, const char *spec, int seed, sample *m)
{
    trine_status status = TRINE_SUCCESS;
    int kl = t->kl, ku = t->ku, one = 1;
    char name[128];
    const bool as_blocks = strcmp(t->unit, "blocks") == 0;
    *m = (sample){0};
    snprintf(name, sizeof name, spec, seed);
    TRY(read_bands(b, name, as_blocks ? &one : &kl, as_blocks ? &one : &ku, &m->rows,
                   as_blocks ? &m->scalar : &m->bands));
    if (as_blocks) {
        TRY(make_blocks(b, (uint64_t)seed, m->rows, m->scalar, &m->bands, &m->blocks));
        m->rows *= 2;
    }
    TRY(ALLOC(b->ctx, m->exact, m->rows));
    for (int64_t i = 0; i < m->rows; i++)
        m->exact[i] = 3 + sqrt(-2 * log(uniform(900000 + (uint64_t)seed, (uint64_t)(2 * i)))) *
                              cos(2 * M_PI * uniform(900000 + (uint64_t)seed, (uint64_t)(2 * i + 1)));
done:
    return status;
}

/** All seeds at once: making singular values takes longer than solving. */
static trine_status make_samples(bench *b, const table *t, const char *spec, int seeds, sample *samples)
{
    trine_status outcome[SEEDS];
    char reason[SEEDS][320];
#pragma omp parallel for schedule(dynamic)
    for (int k = 0; k < seeds; k++) {
        outcome[k] = make_sample(b, t, spec, k + 1, &samples[k]);
        if (outcome[k]) snprintf(reason[k], sizeof reason[k], "%s", trine_last_error());
    }
    for (int k = 0; k < seeds; k++)
        if (outcome[k]) return trine_fail(outcome[k], "%s", reason[k]);
    return TRINE_SUCCESS;
}

/** One matrix over all seeds: a record for each solver, a line for all. spec: with a %d for the seed where it has
 *  one. */
static trine_status run_matrix(bench *b, table *t, const char *spec, const char *label, int seeds, bool no_digits)
{
    trine_status status = TRINE_SUCCESS;
    double errors[MOST_SOLVERS][SEEDS], backward[MOST_SOLVERS][SEEDS], coarse[SEEDS], condition = NAN;
    char reason[MOST_SOLVERS][320] = {{0}};
    trine_status outcome[MOST_SOLVERS] = {TRINE_SUCCESS};
    sample samples[SEEDS] = {{0}};
    tridiag_problem p = {0};
    TRY(make_samples(b, t, spec, seeds, samples));
    const int64_t rows = samples[0].rows;
    for (int k = 0; k < seeds; k++) {
        const sample *m = &samples[k];
        TRY(tridiag_problem_from_bands(b, rows, t->kl, t->ku, m->bands, m->blocks, m->exact, &p));
        for (int s = 0; s < t->solvers; s++) {
            const trine_status solved =
                errors_of(&p, t->solver[s], t->method[s], m->exact, &errors[s][k], &backward[s][k]);
            if (solved) snprintf(reason[s], sizeof reason[s], "%s", trine_last_error()), outcome[s] = solved;
        }
        coarse[k] = NAN;
        if (rows <= 2 * ROWS) TRY(coarse_condition(&p, t->width, &coarse[k]));
        if (k == 0) /* rotations of rows and columns change no singular value: the blocks' are the scalar matrix's */
            TRY(m->scalar ? full_condition(b, rows / 2, 1, 1, m->scalar, &condition)
                          : full_condition(b, rows, t->kl, t->ku, m->bands, &condition));
        tridiag_problem_free(&p);
    }
    fprintf(b->table, "%-22s %8.1e", label, condition);
    const double eps = trine_dtype_eps(TRINE_D), lapack = median_of(errors[0], seeds);
    for (int s = 0; s < t->solvers; s++) {
        bench_record r = bench_record_begin("tridiag-numerics", spec);
        double least = INFINITY, most = 0;
        for (int i = 0; i < seeds; i++) least = fmin(least, errors[s][i]), most = fmax(most, errors[s][i]);
        r.n = rows, r.dtype = TRINE_D, r.impl = t->solver[s]->impl, r.method = r.chosen = t->method[s];
        r.error = median_of(errors[s], seeds);
        const double residual = median_of(backward[s], seeds),
                     of_bar = no_digits ? residual / (BAR * eps) : r.error / (BAR * fmax(lapack, eps));
        bench_record_add_text(&r, "problem", t->title);
        bench_record_add_text(&r, "label", label);
        bench_record_add_text(&r, "judged_by", no_digits ? "backward error" : "forward error");
        bench_record_add_number(&r, "backward_error", residual);
        bench_record_add_number(&r, "of_bar", of_bar);
        bench_record_add_number(&r, "error_least", least);
        bench_record_add_number(&r, "error_most", most);
        bench_record_add_number(&r, "error_lapack", lapack);
        bench_record_add_number(&r, "condition", condition);
        bench_record_add_number(&r, "condition_coarse", median_of(coarse, seeds));
        bench_record_add_number(&r, "seeds", seeds);
        if (outcome[s] == TRINE_ERR_NOT_BUILT || outcome[s] == TRINE_ERR_UNSUPPORTED)
            bench_record_fail(&r, BENCH_SKIPPED, "%s", reason[s]);
        else if (outcome[s]) snprintf(r.reason, sizeof r.reason, "%.319s", reason[s]);
        if (is_judged(t, s)) t->cells++, t->within += of_bar <= 1;
        fprintf(b->table, " %9.1e%c", no_digits ? residual : r.error, of_bar <= 1 ? ' ' : '!');
        TRY(bench_record_write(b, &r));
    }
    fprintf(b->table, " %9.1e%s\n", median_of(coarse, seeds), no_digits ? "  (backward errors)" : "");
    fflush(b->table);
done:
    tridiag_problem_free(&p);
    for (int k = 0; k < SEEDS; k++) free_sample(b, &samples[k]);
    return status;
}

static bool has_no_digits(const table *t, int id)
{
    for (size_t k = 0; k < sizeof t->no_digits / sizeof *t->no_digits; k++)
        if (t->no_digits[k] == id) return true;
    return false;
}

static trine_status run_table(bench *b, table *t, int64_t rows)
{
    trine_status status = TRINE_SUCCESS;
    const bool scalar = strcmp(t->unit, "scalar") == 0;
    choose_solvers(b, t);
    fprintf(b->table, "\n%s", t->title);
    if (t->gallery) fprintf(b->table, ", n = %d", (int)rows);
    fprintf(
        b->table,
        ", medians over %d seeds of |x - x_t| / |x_t|; !: beyond %g times LAPACK's (or eps, if that is larger)\n%-22s %8s",
        SEEDS, BAR, "matrix", "cond A");
    for (int s = 0; s < t->solvers; s++)
        fprintf(b->table, " %9.9s ", strncmp(t->method[s], "blocks:", 7) == 0 ? t->method[s] + 7 : t->method[s]);
    fprintf(b->table, " %9s\n", "cond S");
    for (int k = 0; k < t->count && t->names; k++) {
        double *bands = NULL;
        int64_t n;
        t->kl = t->ku = -1;
        status = read_bands(b, t->names[k], &t->kl, &t->ku, &n, &bands);
        trine_free(b->ctx, TRINE_HOST, bands);
        if (status == TRINE_ERR_IO) { /* not there */
            bench_record r = bench_record_begin("tridiag-numerics", t->names[k]);
            bench_record_fail(&r, BENCH_SKIPPED, NULL);
            fprintf(b->table, "%-22s %s\n", t->names[k], r.reason);
            TRY(bench_record_write(b, &r));
            continue;
        }
        TRY(status);
        t->width = t->kl > t->ku ? t->kl : t->ku;
        TRY(run_matrix(b, t, t->names[k], t->names[k], SEEDS, false));
    }
    for (int id = 1; id <= t->count && t->gallery; id++) {
        char spec[128], label[64];
        snprintf(spec, sizeof spec, "%s:id=%d,n=%d,seed=%%d", t->gallery, id, ROWS);
        snprintf(label, sizeof label, "%d", id);
        TRY(run_matrix(b, t, spec, label, SEEDS, has_no_digits(t, id)));
    }
    /* dorr: the longer, the worse */
    if (scalar) TRY(run_matrix(b, t, "thesis_tridiag:id=13,n=3072,seed=%d", "13, n = 3072", LONG_SEEDS, true));
    for (int power = 17; scalar && power <= 20; power += 3) {
        char spec[128], label[64];
        snprintf(spec, sizeof spec, "tridiag:n=%d,a=1,b=1e-8,c=1", 1 << power);
        snprintf(label, sizeof label, "(1, 1e-8, 1), 2^%d", power);
        TRY(run_matrix(b, t, spec, label, LONG_SEEDS, false));
    }
    fprintf(b->table, "%d of %d cells of trine's default pivoting are within the bar\n", t->within, t->cells);
done:
    return status;
}

/** The tables are named like matrices (scalar, bands, blocks, applications): none named means all. */
trine_status bench_suite_tridiag_numerics(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    static const char *const applications[] = {"nos2", "olm500", "olm1000", "olm5000", "tub1000", "LF10000"};
    table tables[] = {
        {.title = "Table 5: tridiagonal",
         .gallery = "thesis_tridiag",
         .unit = "scalar",
         .count = 20,
         .kl = 1,
         .ku = 1,
         .width = 1,
         .no_digits = {12, 13, 15},
         .methods = {"lapack gtsv", "cusparse gtsv2", "auto", "partial", "none", "path:two-pass",
                     "path:two-pass:partial", "path:two-pass:none", "path:one-pass", "path:stages",
                     "path:stages:partial", "path:stages:none", "refine", "path:two-pass:refine"}},
        {.title = "Table 7: pentadiagonal",
         .gallery = "thesis_pentadiag",
         .unit = "bands",
         .count = 23,
         .kl = 2,
         .ku = 2,
         .width = 2,
         .no_digits = {13},
         .methods = {"lapack gbsv", "cusparse gpsvInterleavedBatch", "auto", "partial", "none", "partial-determinant",
                     "scaled-determinant", "refine"}},
        {.title = "Table 8: 2x2 blocks",
         .gallery = "thesis_tridiag",
         .unit = "blocks",
         .count = 20,
         .kl = 3,
         .ku = 3,
         .width = 2,
         .no_digits = {12, 13, 15},
         .methods = {"lapack gbsv", "blocks", "blocks:partial", "blocks:none", "blocks:partial-determinant",
                     "blocks:scaled-determinant", "blocks:refine"}},
        {.title = "Table 9: banded matrices of applications",
         .names = applications,
         .unit = "applications",
         .count = 6,
         .methods = {"lapack gbsv", "auto", "partial", "none", "partial-determinant", "scaled-determinant", "refine"}}};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        table *t = &tables[k];
        bool wanted = b->matrices.count == 0;
        for (int i = 0; i < b->matrices.count; i++) wanted |= strcmp(b->matrices.item[i], t->unit) == 0;
        if (wanted) TRY(run_table(b, t, strcmp(t->unit, "blocks") == 0 ? 2 * ROWS : ROWS));
    }
done:
    return status;
}
