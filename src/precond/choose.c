/* Which method a matrix gets that nobody has chosen one for. A diagonal where its entries are enough, or where there is
 * little else (bench/results, suite precond, is what the bounds come from). Else on a CPU the tridiagonal part, if the
 * rest does nothing to smooth vectors, or an incomplete factorization, whose set-up is one pass over A and whose
 * triangles are read once a step. On a GPU a diagonal where steps with one are quick, else a splitting, by what share
 * of the sum of all |a_ij| lies on the diagonal, and along the paths of one forest. */
#include <math.h>
#include <string.h>

#include "precond/common/rows.h"
#include "precond/cuda/cuda.h"
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
/** What the two largest other entries of a row have of all of them, on average, from which on ILUT drops most of such
 *  rows, and pays: circuits. */
static const double FEW_COUNT = 0.8;
/** Sum of a row's other entries over the one on the diagonal, on average, from which on incomplete factorizations of
 *  rows that are not short need many steps, or do not converge at all: nothing bounds what they drop. */
static const double OUTWEIGHED = 2.5;
/** Row sums outside the three middle diagonals, of the diagonal, that are as good as zero. */
static const double CANCELS = 0.05;

/** On a GPU: rows, and entries of one on average, up to which steps with a diagonal are parts of one launch
 *  (krylov/cuda), which take a third to a sixth of the time of a step with a splitting. */
static const int64_t QUICK_ROWS = 250000, QUICK_ENTRIES = 16;
/** Entries of a row, of which those of two paths are few: the adaptive construction, which keeps no more in each
 *  factor, then may stagnate. */
static const double MANY_ENTRIES = 10;
/** As OUTWEIGHED, for the alternating splitting of rows with many entries. */
static const double OUTWEIGHED_THERE = 2;
/** Mean square of the entries of rows over the square of the mean: a few rows have most of them. */
static const double SPREAD = 4;

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

static const char UNEVEN_ROWS[] = "a few rows are much longer than the others";

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
        precond_cpu.nearest[p->base.dtype](&rows, x, ctx);
        if (mean_of(n, x) >= FEW_COUNT)
            decide(p, o, TRINE_PRECOND_ILUT, 0, "a few rows are much longer than the others, and few entries count");
        else decide(p, o, TRINE_PRECOND_DIAGP1, 0, UNEVEN_ROWS);
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

/* ---------------------------------------------------------------- on a GPU */

/** What is looked at there, and sums over rows. */
struct survey {
    struct precond_device_look look;
    double sum[LOOK_SUMS];
};

static trine_status begin_survey(trine_precond p, trine_space space, const void *values, struct survey *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const size_t n = (size_t)p->base.n;
    TRY(precond_open_look(p));
    TRY(precond_take_device_values(p, space, values));
    s->look.rows = &p->looked->rows;
    TRY(trine_alloc(ctx, TRINE_DEVICE, n * sizeof(double), (void **)&s->look.x));
    TRY(trine_alloc(ctx, TRINE_DEVICE, n * sizeof(double), (void **)&s->look.y));
    TRY(trine_alloc(ctx, TRINE_DEVICE, 2 * n * sizeof(int32_t), (void **)&s->look.largest));
    TRY(trine_alloc(ctx, TRINE_DEVICE, LOOK_PARTS * LOOK_SUMS * sizeof(double), (void **)&s->look.parts));
done:
    return status;
}

static void end_survey(trine_precond p, struct survey *s)
{
    void *arrays[] = {s->look.x, s->look.y, s->look.largest, s->look.parts};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
}

int64_t precond_choice_bytes(trine_precond p)
{
    const int64_t n = p->base.n;
    return n * (2 * (int64_t)sizeof(double) + 2 * (int64_t)sizeof(int32_t)) +
           LOOK_PARTS * LOOK_SUMS * (int64_t)sizeof(double) +
           (p->device ? 0
                      : (n + 1) * 8 + p->nnz * (4 + (int64_t)trine_dtype_size(p->base.dtype)) + 1 +
                            (p->positions ? 8 * p->nnz : 0));
}

/** Run one of precond_device_looks, and read its sums. */
static trine_status survey(trine_precond p, trine_status (*run)(trine_precond, const struct precond_device_look *),
                           struct survey *s)
{
    trine_status status = TRINE_SUCCESS;
    double parts[LOOK_PARTS * LOOK_SUMS];
    memset(s->sum, 0, sizeof s->sum);
    if (!p->base.n) return TRINE_SUCCESS;
    TRY(run(p, &s->look));
    TRY(trine_device_synchronize(p->base.ctx, p->base.ctx->stream));
    TRY(trine_copy(p->base.ctx, parts, TRINE_HOST, s->look.parts, TRINE_DEVICE, sizeof parts));
    for (int k = 0; k < LOOK_PARTS * LOOK_SUMS; k++) s->sum[k % LOOK_SUMS] += parts[k];
done:
    return status;
}

/** As `settles`, when rows have been looked at. */
static trine_status settles_there(trine_precond p, struct survey *s, bool *is_so)
{
    trine_status status = TRINE_SUCCESS;
    const double n = (double)p->base.n, least = RATE * n / (double)p->nnz;
    double before = sqrt(s->sum[LOOK_SQUARE]);
    *is_so = !(s->sum[LOOK_DIAGONAL] / s->sum[LOOK_ALL] < MOST);
    if (*is_so || !(s->sum[LOOK_RATIO] / n < 1)) return TRINE_SUCCESS;
    for (int k = 2; k <= SWEEPS; k++) {
        double *const last = s->look.x;
        s->look.x = s->look.y;
        s->look.y = last;
        TRY(survey(p, precond_device_looks_of(p)->sweep[p->base.dtype], s));
        const double norm = sqrt(s->sum[LOOK_SQUARE]), rate = 1 - norm / before;
        *is_so = norm == 0 || rate >= QUICK * least;
        if (*is_so || !(rate >= least)) return TRINE_SUCCESS;
        before = norm;
    }
    *is_so = true;
done:
    return status;
}

/** Of A that is neither for a diagonal nor for one forest: share of the diagonal, and ratio of the others to it. */
static void decide_splitting(trine_precond p, trine_precond_options *o, double share, double ratio)
{
    const double n = (double)p->base.n, entries = (double)p->nnz / n;
    if (share < DOMINANT && entries <= MANY_ENTRIES)
        decide(p, o, TRINE_PRECOND_MOS_A, FEW_FACTORS, "the diagonal has less than its rows' other entries");
    else if (p->base.n <= QUICK_ROWS && p->nnz <= QUICK_ENTRIES * p->base.n)
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, "few rows: steps with a diagonal are quick");
    else if (share < DOMINANT && !(ratio < OUTWEIGHED_THERE))
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, "the many other entries of a row outweigh the diagonal by far");
    else
        decide(p, o, TRINE_PRECOND_ALT_I, FACTORS,
               share < DOMINANT ? "rows have many entries, which outweigh the diagonal"
                                : "the diagonal has as much as its rows' other entries");
}

static const char NO_DIAGONAL[] = "entries of the diagonal are missing or zero";

static trine_status choose_splitting(trine_precond p, trine_precond_options *o, trine_space space, const void *values)
{
    trine_status status = TRINE_SUCCESS;
    const struct precond_device_looks *looks = precond_device_looks_of(p);
    struct survey s = {0};
    double along = 0;
    bool is_enough;
    TRY(begin_survey(p, space, values, &s));
    TRY(survey(p, looks->rows[p->base.dtype], &s));
    if (s.sum[LOOK_MISSING] > 0) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, NO_DIAGONAL);
        goto done;
    }
    const double share = s.sum[LOOK_DIAGONAL] / s.sum[LOOK_ALL], near = s.sum[LOOK_NEAR] / s.sum[LOOK_ALL],
                 all = s.sum[LOOK_ALL], n = (double)p->base.n, ratio = s.sum[LOOK_RATIO] / n, nnz = (double)p->nnz;
    const bool is_spread = s.sum[LOOK_LENGTH] * n >= SPREAD * nnz * nnz;
    TRY(settles_there(p, &s, &is_enough));
    if (is_enough) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, SETTLES);
        goto done;
    }
    if (is_spread) {
        decide(p, o, TRINE_PRECOND_DIAGP1, 0, UNEVEN_ROWS);
        goto done;
    }
    if (near >= NEARLY_ALL) { /* else no forest has so much */
        TRY(survey(p, looks->paths[p->base.dtype], &s));
        along = s.sum[LOOK_NEAR] / all;
    }
    if (along >= NEARLY_ALL)
        decide(p, o, TRINE_PRECOND_ALG_TRI, 0, "the diagonal and one forest have nearly all of the matrix");
    else decide_splitting(p, o, share, ratio);
done:
    end_survey(p, &s);
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
    options->fill_level = 1;
    options->homogeneous = 1; /* of MOS_A: rows may differ in size by any factor */
    if (p->base.ctx->cuda) return choose_splitting(p, options, given.space, values);
    trine_status status = precond_take_values(p, given.space, values);
    if (status) return status;
    if (has_diagonal(p)) return choose_factors(p, options);
    decide(p, options, TRINE_PRECOND_DIAGP1, 0, NO_DIAGONAL);
    return TRINE_SUCCESS;
}
