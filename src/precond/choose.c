/* Which method a matrix gets that nobody has chosen one for. A diagonal where its entries are enough, or where there is
 * little else (bench/results, suite precond, is what the bounds come from). Else on a CPU the tridiagonal part, if the
 * rest does nothing to smooth vectors, or an incomplete factorization, whose set-up is one pass over A and whose
 * triangles are read once a step; and on a GPU a splitting, by what share of the sum of all |a_ij| lies on the
 * diagonal, and along the paths of one forest. */
#include <math.h>
#include <string.h>

#include "precond/common/rows.h"
#include "precond/paths.h"

enum { FACTORS = 4, FEW_FACTORS = 2 };
/** Shares from which the diagonal is enough, from which one forest is, and below which the adaptive construction does
 *  better than A's own entries (Klein 2024, Section 5.3.3, has the last). */
static const double MOST = 0.8, NEARLY_ALL = 0.98, DOMINANT = 0.48;
/** Entries a row up to which one level of fill is worth its time: those of a 5-point grid. */
static const double FEW_ENTRIES = 6;

/** The rate at which sweeps of Jacobi's method have to reduce errors, times entries a row: the set-up of an incomplete
 *  factorization takes the time of more steps if rows are longer. */
static const double RATE = 0.2;
enum { SWEEPS = 5, QUICK = 4 }; /* sweeps at most; times that rate that is enough at once */
/** Times the average from which on the longest row is too long: its entries make the factorization dear, while what it
 *  leaves out is much. */
static const double UNEVEN = 16;
/** Sum of a row's other entries over the one on the diagonal, on average, from which on incomplete factorizations of
 *  rows that are not short need many steps, or do not converge at all: nothing bounds what they drop. */
static const double OUTWEIGHED = 2.5;
/** Row sums outside the three middle diagonals, of the diagonal, that are as good as zero. */
static const double CANCELS = 0.05;

/** Whether no entry of the diagonal is missing or zero. */
static bool has_diagonal(trine_precond p)
{
    static const char zeros[16];
    const size_t size = trine_dtype_size(p->base.dtype);
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->diagonal[i] < 0 || !memcmp((const char *)p->values + (size_t)p->diagonal[i] * size, zeros, size))
            return false;
    return true;
}

/** Of diagp1(A)^-1 A, so that the scale of a row does not matter: what the diagonal and one forest have. */
static trine_status measure_forest(trine_precond p, double *along)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const trine_dtype t = p->base.dtype;
    const struct precond_rows rows = precond_rows_of(p);
    p->measured_forest = true;
    trine_forest forest = NULL;
    trine_forest_coverage coverage;
    void *scaled = trine_host_alloc(ctx, p->nnz, trine_dtype_size(t)),
         *T = trine_host_alloc(ctx, p->base.n, trine_dtype_size(t));
    if (!scaled || !T) status = TRINE_ERR_MEMORY;
    if (status) goto done;
    precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP1, T, ctx->threads);
    precond_cpu.scale[t](&rows, T, NULL, scaled, ctx->threads);
    TRY(trine_forest_create(ctx, &forest, p->matrix, NULL));
    TRY(trine_forest_run(forest, TRINE_HOST, scaled, NULL, NULL));
    TRY(trine_forest_get_coverage(forest, TRINE_HOST, scaled, &coverage, NULL));
    *along = coverage.with_diagonal;
done:
    trine_forest_destroy(&forest);
    trine_free(ctx, TRINE_HOST, scaled);
    trine_free(ctx, TRINE_HOST, T);
    return status;
}

static double norm_of(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}
static double mean_of(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

/** Of diagp1(A)^-1 A, what its diagonal has of the sum of all absolute values; ratio: of each row of A, that sum off
 *  the diagonal over |a_ii|. */
static double share_of_diagonal(int64_t n, const double *ratio)
{
    double diagonal = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = ratio[i] > 1 ? ratio[i] : 1;
        diagonal += 1 / size;
        all += (1 + ratio[i]) / size;
    }
    return diagonal / all;
}

/** Whether the diagonal is enough: it has most of the matrix, or sweeps of |I - D^-1 A|, which bound the errors of
 *  Jacobi's method, bring ones down at that rate. Of symmetric A the rate of sweep after sweep falls. x, y: n each.
 *  others: sums of rows' other entries over the diagonal, on average. */
static bool settles(trine_precond p, double *x, double *y, double *others)
{
    const struct precond_rows rows = precond_rows_of(p);
    const int64_t n = p->base.n;
    const double least = RATE * (double)n / (double)p->nnz;
    double before = 0;
    for (int64_t i = 0; i < n; i++) x[i] = 1;
    for (int k = 1; k <= SWEEPS; k++) {
        precond_cpu.sweep[p->base.dtype](&rows, x, y, p->base.ctx);
        double *const last = x;
        x = y;
        y = last;
        if (k == 1) *others = mean_of(n, x);
        if (k == 1 && !(share_of_diagonal(n, x) < MOST)) return true;
        if (k == 1 && !(*others < 1)) return false;
        const double norm = norm_of(n, x), rate = 1 - norm / before;
        if (k > 1 && (norm == 0 || rate >= QUICK * least)) return true;
        if (k > 1 && !(rate >= least)) return false;
        before = norm;
    }
    return true;
}

static const char SETTLES[] = "the diagonal is enough: sweeps of Jacobi's method bring errors down";

static bool is_uneven(trine_precond p)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->offsets[i + 1] - p->offsets[i] > longest) longest = p->offsets[i + 1] - p->offsets[i];
    return (double)longest * (double)p->base.n >= UNEVEN * (double)p->nnz;
}

static void decide(trine_precond p, trine_precond_options *o, trine_precond_method method, int m, const char *reason)
{
    o->method = method;
    if (!o->m) o->m = m;
    p->info.reason = reason;
}

/** On a CPU, for a diagonal without zeros. */
static trine_status choose_factors(trine_precond p, trine_precond_options *o)
{
    trine_context ctx = p->base.ctx;
    const struct precond_rows rows = precond_rows_of(p);
    const int64_t n = p->base.n;
    double *x = trine_host_alloc(ctx, 2 * n, sizeof *x);
    double others = 0;
    if (!x) return TRINE_ERR_MEMORY;
    if (settles(p, x, x + n, &others)) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, SETTLES);
    } else if (is_uneven(p)) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, "a few rows are much longer than the others");
    } else {
        precond_cpu.outside[p->base.dtype](&rows, x, ctx);
        if (mean_of(n, x) < CANCELS)
            decide(p, o, TRINE_PRECOND_TRIDIAG, 0, "entries outside the three middle diagonals cancel in a row");
        else if ((double)p->nnz <= FEW_ENTRIES * (double)n)
            decide(p, o, TRINE_PRECOND_ILUK, 0, "few entries a row, and pivots on the diagonal");
        else if (!(others < OUTWEIGHED))
            decide(p, o, TRINE_PRECOND_DIAGP1, 0, "the many other entries of a row outweigh the diagonal by far");
        else decide(p, o, TRINE_PRECOND_ILU0, 0, "pivots on the diagonal");
    }
    trine_free(ctx, TRINE_HOST, x);
    return TRINE_SUCCESS;
}

/** On a GPU, likewise. */
static trine_status choose_splitting(trine_precond p, trine_precond_options *o)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const int64_t n = p->base.n;
    const struct precond_rows rows = precond_rows_of(p);
    double shares[2], along = 0, others = 0;
    double *x = trine_host_alloc(ctx, 2 * n, sizeof *x);
    if (!x) return TRINE_ERR_MEMORY;
    precond_cpu.shares[p->base.dtype](&rows, shares, ctx->threads);
    if (settles(p, x, x + n, &others)) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, SETTLES);
        goto done;
    }
    if (shares[1] >= NEARLY_ALL) TRY(measure_forest(p, &along)); /* else no forest has so much */
    if (along >= NEARLY_ALL)
        decide(p, o, TRINE_PRECOND_ALG_TRI, 0, "the diagonal and one forest have nearly all of the matrix");
    else if (shares[0] < DOMINANT)
        decide(p, o, TRINE_PRECOND_MOS_A, FEW_FACTORS, "the diagonal has less than its rows' other entries");
    else decide(p, o, TRINE_PRECOND_ALT_I, FACTORS, "the diagonal has as much as its rows' other entries");
done:
    trine_free(ctx, TRINE_HOST, x);
    return status;
}

trine_status precond_choose(trine_precond p, trine_precond_options *options)
{
    trine_matrix_info given;
    const void *values;
    trine_matrix_get_info(p->given, &given);
    trine_matrix_get_arrays(p->given, NULL, NULL, &values);
    if (!values && p->nnz)
        return trine_fail(TRINE_ERR_STATE, "method auto looks at the values of the matrix, which has none");
    trine_status status = precond_take_values(p, given.space, values);
    if (status) return status;
    options->fill_level = 1;
    options->homogeneous = 1; /* of MOS_A: rows may differ in size by any factor */
    if (!has_diagonal(p)) {
        decide(p, options, TRINE_PRECOND_DIAGP1, 0, "entries of the diagonal are missing or zero");
        return TRINE_SUCCESS;
    }
    return (p->base.ctx->cuda ? choose_splitting : choose_factors)(p, options);
}
