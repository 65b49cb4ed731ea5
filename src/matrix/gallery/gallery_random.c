/* Random triangular matrices with a given number of level sets, and symmetric matrices of random graphs. */
#include <limits.h>

#include "core/scalar.h"
#include "matrix/gallery/gallery.h"

/* Independent streams of random numbers for one seed. */
enum { LEVEL, LENGTH, COLUMN, VALUE, N_STREAMS };
static double draw(int64_t seed, int stream, int64_t counter)
{
    return gallery_uniform((uint64_t)(N_STREAMS * seed + stream), (uint64_t)counter);
}

/** A whole number in 0..count-1 from u in (0,1). */
static int64_t pick(double u, int64_t count)
{
    const int64_t k = (int64_t)(u * (double)count);
    return k < count ? k : count - 1;
}

/** Columns of the off-diagonal entries of each row, drawn before values are written. */
typedef struct {
    int64_t n, seed;
    int64_t *start;    /* where row i may write, n + 1 */
    int32_t *length;   /* how many it has written */
    int32_t *columns;
    bool mirrored;     /* rows and columns counted from the end: lower becomes upper */
} pattern;

static void free_pattern(trine_context ctx, pattern *p)
{
    trine_free(ctx, TRINE_HOST, p->start);
    trine_free(ctx, TRINE_HOST, p->length);
    trine_free(ctx, TRINE_HOST, p->columns);
}

/** Sort ascending (Shell 1959, gaps of Ciura 2001), drop repetitions, return how many are left. */
static int32_t sort_unique(int32_t *a, int32_t n)
{
    static const int gaps[] = {1 << 20, 1 << 17, 1 << 14, 4724, 1968, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int32_t i = gaps[g]; i < n; i++) {
            const int32_t x = a[i];
            int32_t j = i;
            for (; j >= gaps[g] && a[j - gaps[g]] > x; j -= gaps[g]) a[j] = a[j - gaps[g]];
            a[j] = x;
        }
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++)
        if (i == 0 || a[i] != a[kept - 1]) a[kept++] = a[i];
    return kept;
}

/* ---------------------------------------------------------- triangular ones */

enum { LAW_CONST, LAW_UNIFORM, LAW_POWER };

/** Off-diagonal entries wanted in row i: the mean exactly; 1 to 2 mean - 1 with equal chances; or a Pareto law of
 *  the same mean whose tail falls like length^-2. */
static int64_t wanted_length(int law, double mean, int64_t seed, int64_t i)
{
    const double u = draw(seed, LENGTH, i);
    double length = mean;
    if (law == LAW_UNIFORM) length = 0.5 + u * (2 * mean - 1);
    if (law == LAW_POWER) length = 0.5 * mean / sqrt(u);
    const double whole = floor(length + 0.5);
    return whole < 1 ? 1 : whole < (double)i ? (int64_t)whole : i;
}

/** Rows of each level, ascending: rows[start[l] .. start[l+1]). */
typedef struct {
    int64_t count;
    int32_t *level;   /* of each row */
    int64_t *start;
    int32_t *rows;
} level_lists;

/** Row l n / levels is the first of level l; every other row has a random level among those that have begun. */
static trine_status make_levels(trine_context ctx, int64_t n, int64_t seed, level_lists *s)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, s->level, n));
    TRY(CALLOC(ctx, s->start, s->count + 1));
    TRY(ALLOC(ctx, s->rows, n));
    int64_t begun = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool first = begun < s->count && i == begun * n / s->count;
        begun += first;
        s->level[i] = (int32_t)(first ? begun - 1 : pick(draw(seed, LEVEL, i), begun));
        s->start[s->level[i] + 1]++;
    }
    for (int64_t l = 0; l < s->count; l++) s->start[l + 1] += s->start[l];
    for (int64_t i = 0; i < n; i++) s->rows[s->start[s->level[i]]++] = (int32_t)i;
    for (int64_t l = s->count; l > 0; l--) s->start[l] = s->start[l - 1];
    s->start[0] = 0;
done:
    return status;
}

/** A random row before i of level l, which has begun before i. */
static int32_t pick_row(const level_lists *s, int64_t l, int64_t i, double u)
{
    const int32_t *rows = s->rows + s->start[l];
    int64_t low = 1, high = s->start[l + 1] - s->start[l]; /* how many of them are before i */
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (rows[middle - 1] < i) low = middle;
        else high = middle - 1;
    }
    return rows[pick(u, low)];
}

static int64_t triangular_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const pattern *p = state;
    const int64_t n = p->n, row = p->mirrored ? n - 1 - i : i, start = p->start[row], length = p->length[row];
    if (!columns) return length + 1;
    for (int64_t k = 0; k <= length; k++) {
        const int64_t to = p->mirrored ? length - k : k, column = k < length ? p->columns[start + k] : row;
        const double u = draw(p->seed, VALUE, start + row + k);
        columns[to] = (int32_t)(p->mirrored ? n - 1 - column : column);
        values[to] = k < length ? (2 * u - 1) / (double)length : 1 + u;
    }
    return length + 1;
}

/** A random triangular matrix with exactly `levels` level sets. Rows of level 0 hold their diagonal only. A row of
 *  level l > 0 has one entry in a random earlier row of level l - 1 and the others in random earlier rows of random
 *  lower levels; `row` entries beside the diagonal in the mean (law: const, uniform or power), fewer where a column is
 *  drawn twice or not enough rows are before. Off-diagonal
 *  values are uniform in (-1,1) divided by their number in the row, diagonal ones uniform in (1,2): strictly diagonally
 *  dominant by rows, so that ||T^-1|| stays moderate. upper is the lower one with rows and columns in reverse. */
trine_status gallery_random_triangular(gallery *g)
{
    trine_context ctx = g->ctx;
    trine_status status = TRINE_SUCCESS;
    pattern p = {.mirrored = gallery_real(g, "uplo") == 1};
    level_lists levels = {.count = 0};
    const double mean = gallery_real(g, "row");
    const int law = (int)gallery_real(g, "law");
    TRY(gallery_integer(g, "n", 1, INT_MAX, &p.n));
    TRY(gallery_integer(g, "levels", 1, p.n, &levels.count));
    TRY(gallery_integer(g, "seed", 0, INT_MAX, &p.seed));
    if (!(mean >= 1)) FAIL(TRINE_ERR_ARGUMENT, "%s: row = %g is below 1", g->name, mean);
    TRY(make_levels(ctx, p.n, p.seed, &levels));
    TRY(ALLOC(ctx, p.start, p.n + 1));
    TRY(ALLOC(ctx, p.length, p.n));
    p.start[0] = 0;
    for (int64_t i = 0; i < p.n; i++)
        p.start[i + 1] = p.start[i] + (levels.level[i] ? wanted_length(law, mean, p.seed, i) : 0);
    TRY(ALLOC(ctx, p.columns, p.start[p.n]));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024)
    for (int64_t i = 0; i < p.n; i++) {
        for (int64_t k = p.start[i]; k < p.start[i + 1]; k++) {
            const int64_t level =
                k == p.start[i] ? levels.level[i] - 1 : pick(draw(p.seed, COLUMN, 2 * k), levels.level[i]);
            p.columns[k] = pick_row(&levels, level, i, draw(p.seed, COLUMN, 2 * k + 1));
        }
        p.length[i] = sort_unique(p.columns + p.start[i], (int32_t)(p.start[i + 1] - p.start[i]));
    }
    TRY(gallery_rows(g, p.n, triangular_row, &p));
done:
    free_pattern(ctx, &p);
    trine_free(ctx, TRINE_HOST, levels.level);
    trine_free(ctx, TRINE_HOST, levels.start);
    trine_free(ctx, TRINE_HOST, levels.rows);
    return status;
}

/* -------------------------------------------------------------------- graphs */

static int64_t graph_row(const void *state, int64_t i, int32_t *columns, double *values)
{
    const pattern *p = state;
    const int32_t *neighbour = p->columns + p->start[i];
    const int64_t length = p->length[i];
    if (!columns) return length + 1;
    int64_t diagonal = 0;
    double sum = 1;
    while (diagonal < length && neighbour[diagonal] < i) diagonal++;
    for (int64_t k = 0; k < length; k++) {
        const int64_t j = neighbour[k], low = i < j ? i : j, high = i < j ? j : i, to = k + (k >= diagonal);
        columns[to] = (int32_t)j;
        values[to] = -draw(p->seed, VALUE, low * p->n + high);
        sum -= values[to];
    }
    columns[diagonal] = (int32_t)i;
    values[diagonal] = sum;
    return length + 1;
}

/** Ends of edge e: ranks by the law of Chung and Lu, made nodes by a random permutation. */
static void draw_edge(const int32_t *node_of_rank, int64_t n, int64_t seed, double power, int64_t e, int32_t end[2])
{
    for (int k = 0; k < 2; k++) end[k] = node_of_rank[pick(pow(draw(seed, COLUMN, 2 * e + k), power), n)];
}

/** The matrix of a random graph whose degrees follow a power law P(degree) ~ degree^-exponent: n degree / 2 edges,
 *  each end drawn with a probability proportional to rank^(-1/(exponent-1)) (Chung and Lu 2002); loops and
 *  repetitions are dropped, so that the mean degree comes out somewhat smaller. Symmetric: an edge has a value
 *  uniform in (-1,0), the diagonal is 1 plus the sum of moduli in the row: a graph Laplacian plus I, positive
 *  definite, eigenvalues >= 1. */
trine_status gallery_powerlaw(gallery *g)
{
    trine_context ctx = g->ctx;
    trine_status status = TRINE_SUCCESS;
    pattern p = {.mirrored = false};
    int32_t *node_of_rank = NULL;
    const double degree = gallery_real(g, "degree"), exponent = gallery_real(g, "exponent");
    TRY(gallery_integer(g, "n", 1, INT_MAX, &p.n));
    TRY(gallery_integer(g, "seed", 0, INT_MAX, &p.seed));
    if (!(degree >= 0 && degree <= 1e6))
        FAIL(TRINE_ERR_ARGUMENT, "%s: degree = %g is outside 0..1000000", g->name, degree);
    if (!(exponent > 2)) FAIL(TRINE_ERR_ARGUMENT, "%s: exponent = %g is not above 2", g->name, exponent);
    /* inverts the distribution function (rank/n)^(1 - 1/(exponent-1)) */
    const double power = (exponent - 1) / (exponent - 2);
    const int64_t n = p.n, edges = (int64_t)(0.5 * degree * (double)n + 0.5);
    TRY(ALLOC(ctx, node_of_rank, n));
    TRY(CALLOC(ctx, p.start, n + 1));
    TRY(CALLOC(ctx, p.length, n));
    for (int64_t i = 0; i < n; i++) { /* Fisher and Yates, inside out */
        const int64_t j = pick(draw(p.seed, LEVEL, i), i + 1);
        if (j < i) node_of_rank[i] = node_of_rank[j];
        node_of_rank[j] = (int32_t)i;
    }
    int32_t end[2];
    for (int64_t e = 0; e < edges; e++) {
        draw_edge(node_of_rank, n, p.seed, power, e, end);
        if (end[0] == end[1]) continue;
        p.start[end[0] + 1]++;
        p.start[end[1] + 1]++;
    }
    for (int64_t i = 0; i < n; i++) p.start[i + 1] += p.start[i];
    TRY(ALLOC(ctx, p.columns, p.start[n]));
    for (int64_t e = 0; e < edges; e++) {
        draw_edge(node_of_rank, n, p.seed, power, e, end);
        if (end[0] == end[1]) continue;
        for (int k = 0; k < 2; k++) p.columns[p.start[end[k]] + p.length[end[k]]++] = end[1 - k];
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024)
    for (int64_t i = 0; i < n; i++) p.length[i] = sort_unique(p.columns + p.start[i], p.length[i]);
    TRY(gallery_rows(g, n, graph_row, &p));
done:
    free_pattern(ctx, &p);
    trine_free(ctx, TRINE_HOST, node_of_rank);
    return status;
}
