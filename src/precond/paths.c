/* Factors along paths: which there are, their values, and how they are applied. (Klein 2024, Sections 4.6, 5.2.) */
#include "precond/paths.h"

#include <math.h>
#include <string.h>

#include "precond/common/rows.h"

static struct paths_state *state_of(trine_precond p) { return p->state; }
static trine_precond_method method_of(const struct trine_precond_s *p) { return p->options.method; }

bool precond_is_product(trine_precond_method m) { return m == TRINE_PRECOND_MOS_D || m == TRINE_PRECOND_MOS_A; }
bool precond_alternates(trine_precond_method m) { return m == TRINE_PRECOND_ALT_I || m == TRINE_PRECOND_ADI; }
static bool has_forests(trine_precond_method m) { return m != TRINE_PRECOND_TRIDIAG && m != TRINE_PRECOND_ADI; }
static bool has_one_factor(trine_precond_method m) { return m == TRINE_PRECOND_TRIDIAG || m == TRINE_PRECOND_ALG_TRI; }

/* ----------------------------------------------------------------- options */

static trine_status check_options(const trine_precond_options *o)
{
    REQUIRE(o->m >= 0 && o->m <= TRINE_PRECOND_MAX_M, "m is %d, not 1 to %d factors", o->m, TRINE_PRECOND_MAX_M);
    if (o->method == TRINE_PRECOND_ADI) {
        REQUIRE(o->m == 0 || o->m == 2, "adi has 2 factors, m is %d", o->m);
        REQUIRE(o->nx >= 0 && o->ny >= 0, "the grid is %lld x %lld", (long long)o->nx, (long long)o->ny);
    }
    if (!has_forests(o->method)) return TRINE_SUCCESS;
    REQUIRE(!isnan(o->omega) && isfinite(o->omega), "omega is not finite");
    REQUIRE(o->coverage >= 0 && o->coverage <= 1, "coverage %g is outside 0..1", o->coverage);
    REQUIRE(!isnan(o->stagnation), "stagnation is NaN");
    REQUIRE((unsigned)o->pattern <= TRINE_PATTERN_GIVEN, "pattern %d does not exist", (int)o->pattern);
    REQUIRE(o->pattern_entries >= 0, "pattern_entries is %d", o->pattern_entries);
    REQUIRE(o->pattern_threshold >= 0 && o->pattern_threshold <= 1, "pattern_threshold %g is outside 0..1",
            o->pattern_threshold);
    REQUIRE(o->pattern != TRINE_PATTERN_GIVEN || o->pattern_matrix, "pattern_matrix is NULL");
    return TRINE_SUCCESS;
}

static double omega_of(const trine_precond_options *o)
{
    if (o->omega != 0) return o->omega > 0 ? o->omega : 0;
    return o->method == TRINE_PRECOND_MOS_D ? 0 : 0.01;
}

/* ----------------------------------------------------------------- analyse */

static trine_status new_factor(trine_precond p, struct precond_factor *f)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const int64_t n = p->base.n;
    void **const bands[] = {&f->a, &f->b, &f->c, &f->lower, &f->inverse, &f->upper, &f->upper2};
    TRY(ALLOC(ctx, f->starts, n + 1));
    TRY(ALLOC(ctx, f->permutation, n));
    TRY(ALLOC(ctx, f->to_next, n));
    TRY(ALLOC(ctx, f->swapped, n));
    for (size_t k = 0; k < sizeof bands / sizeof *bands; k++) {
        *bands[k] = trine_host_alloc(ctx, n, trine_dtype_size(p->base.dtype));
        if (!*bands[k]) return TRINE_ERR_MEMORY;
    }
done:
    return status;
}

static void free_factor(trine_context ctx, struct precond_factor *f)
{
    void *arrays[] = {f->starts, f->permutation, f->to_next, f->swapped, f->a,     f->b,
                      f->c,      f->lower,       f->inverse, f->upper,   f->upper2};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, TRINE_HOST, arrays[k]);
}

/** Paths of `length` vertices each, the last one perhaps shorter; vertex i of path k is i * step + k * first. */
static void lay_lines(struct precond_factor *f, int64_t n, int64_t length, int64_t step, int64_t first)
{
    f->paths = n ? (n + length - 1) / length : 0;
    for (int64_t k = 0; k <= f->paths; k++) f->starts[k] = (int32_t)(k * length < n ? k * length : n);
    for (int64_t i = 0; i < n; i++) f->permutation[i] = (int32_t)(i % length * step + i / length * first);
}

static trine_status lay_known_paths(trine_precond p)
{
    struct paths_state *s = state_of(p);
    const int64_t n = p->base.n, nx = p->options.nx, ny = p->options.ny;
    p->info.m = s->capacity;
    s->has_forests = true;
    if (method_of(p) == TRINE_PRECOND_TRIDIAG) {
        lay_lines(&s->factor[0], n, n ? n : 1, 1, 1);
        return TRINE_SUCCESS;
    }
    REQUIRE(nx > 0 ? n % nx == 0 && n / nx == ny : n == 0 && ny == 0,
            "a grid of %lld x %lld points does not have the %lld rows of the matrix", (long long)nx, (long long)ny,
            (long long)n);
    if (!n) return TRINE_SUCCESS;
    lay_lines(&s->factor[0], n, nx, 1, nx);
    lay_lines(&s->factor[1], n, ny, nx, 1);
    return TRINE_SUCCESS;
}

/** What patterns and weights need. */
static trine_status analyse_forests(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    const trine_pattern pattern = method_of(p) == TRINE_PRECOND_MOS_A ? TRINE_PATTERN_AUTO : p->options.pattern;
    TRY(trine_forest_create(ctx, &s->forest, p->matrix, NULL));
    s->weights = trine_host_alloc(ctx, p->nnz, trine_dtype_size(p->base.dtype));
    if (!s->weights) return TRINE_ERR_MEMORY;
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->offsets[i + 1] - p->offsets[i] > s->longest) s->longest = p->offsets[i + 1] - p->offsets[i];
    if (pattern != TRINE_PATTERN_AUTO) TRY(ALLOC(ctx, s->kept, p->nnz));
    if (pattern == TRINE_PATTERN_GIVEN) TRY(precond_read_given_pattern(p, s->kept));
    if (pattern == TRINE_PATTERN_MAX_N || pattern == TRINE_PATTERN_MAX_T)
        TRY(ALLOC(ctx, s->candidates, s->longest * ctx->threads));
done:
    return status;
}

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s;
    const trine_precond_method method = method_of(p);
    TRY(CALLOC(ctx, s, 1));
    p->state = s;
    s->capacity = has_one_factor(method) ? 1 : method == TRINE_PRECOND_ADI ? 2 : p->options.m ? p->options.m : 4;
    p->options.m = s->capacity;
    TRY(CALLOC(ctx, s->factor, s->capacity));
    for (int l = 0; l < s->capacity; l++) TRY(new_factor(p, &s->factor[l]));
    TRY(ALLOC(ctx, s->taken, p->nnz));
    TRY(ALLOC(ctx, s->inverse, p->base.n));
    s->room = trine_host_alloc(ctx, p->base.n, trine_dtype_size(p->base.dtype));
    if (!s->room) return TRINE_ERR_MEMORY;
    if (has_forests(method)) TRY(analyse_forests(p));
    else TRY(lay_known_paths(p));
    if (has_forests(method) && method != TRINE_PRECOND_ALG_TRI) {
        s->T = trine_host_alloc(ctx, p->base.n, trine_dtype_size(p->base.dtype));
        if (!s->T) return TRINE_ERR_MEMORY;
    }
    if (precond_alternates(method) && s->capacity > 1)
        TRY(trine_spmv_analyse(ctx, &s->product, p->matrix,
                               &(trine_spmv_options){.ops = p->options.ops, .max_nrhs = p->options.max_nrhs}));
    if (method == TRINE_PRECOND_MOS_A) TRY(precond_adapt_analyse(p));
done:
    return status;
}

static void release(trine_precond p)
{
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    if (!s) return;
    if (s->adaption) precond_adapt_release(p);
    for (int l = 0; s->factor && l < s->capacity; l++) free_factor(ctx, &s->factor[l]);
    trine_forest_destroy(&s->forest);
    trine_spmv_destroy(&s->product);
    void *arrays[] = {s->factor, s->kept, s->taken, s->weights, s->T, s->room, s->inverse, s->candidates, s};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, TRINE_HOST, arrays[k]);
}

static int64_t memory(trine_precond p)
{
    const struct paths_state *s = state_of(p);
    const int64_t n = p->base.n, element = (int64_t)trine_dtype_size(p->base.dtype);
    int64_t bytes = s->capacity * (n * (7 * element + 13) + 4) + p->nnz + n * (4 + element);
    if (s->T) bytes += n * element;
    if (s->weights) bytes += p->nnz * element;
    if (s->kept) bytes += p->nnz;
    if (s->candidates) bytes += s->longest * p->base.ctx->threads * (int64_t)sizeof *s->candidates;
    if (s->forest) {
        trine_forest_info info;
        trine_forest_get_info(s->forest, &info);
        bytes += info.bytes;
    }
    if (s->product) {
        trine_spmv_info info;
        trine_spmv_get_info(s->product, &info);
        bytes += info.bytes;
    }
    return bytes + (s->adaption ? precond_adapt_memory(p) : 0);
}

/* ----------------------------------------------------------------- numeric */

/* Charges and ties of each forest are others, so that what one has missed is not missed by all of them. */
trine_status precond_make_forest(trine_precond p, trine_forest forest, int l, const void *weights)
{
    trine_factor_rounds rounds = p->options.forest;
    rounds.n = 2;
    rounds.seed += (uint64_t)l * 0x9E3779B97F4A7C15u;
    return trine_forest_run(forest, TRINE_HOST, weights, &rounds, NULL);
}

trine_status precond_take_paths(trine_precond p, trine_forest forest, struct precond_factor *f)
{
    trine_forest_arrays arrays;
    const trine_status status = trine_forest_get_arrays(forest, &arrays);
    if (status) return status;
    const int64_t n = p->base.n;
    f->paths = 0;
    for (int64_t i = 0; i < n; i++) {
        f->permutation[i] = arrays.permutation[i];
        if (!i || arrays.path[arrays.permutation[i]] != arrays.path[arrays.permutation[i - 1]])
            f->starts[f->paths++] = (int32_t)i;
    }
    f->starts[f->paths] = (int32_t)n;
    return TRINE_SUCCESS;
}

bool precond_is_enough(trine_precond p, int l, double before, double reached)
{
    const trine_precond_options *o = &p->options;
    const double stagnation = o->stagnation != 0 ? o->stagnation : 0.01;
    if (o->coverage <= 0) return false;
    if (reached >= o->coverage) p->info.reason = "the coverage asked for is reached";
    else if (l > 0 && reached - before < stagnation) p->info.reason = "coverage stagnates";
    else return false;
    return true;
}

static struct precond_rows rows_of(trine_precond p)
{
    return (struct precond_rows){p->base.n, p->offsets, p->columns, p->values};
}

static void note_singular(trine_precond p, int64_t row)
{
    if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
}

/** Which entries count, of these values. */
static void choose_pattern(trine_precond p)
{
    struct paths_state *s = state_of(p);
    const trine_precond_options *o = &p->options;
    const struct precond_rows rows = rows_of(p);
    if (!s->candidates) return;
    precond_cpu.select[p->base.dtype](&rows, o->pattern == TRINE_PATTERN_MAX_N ? o->pattern_entries : -1,
                                      o->pattern_threshold, s->candidates, s->longest, s->kept, p->base.ctx->threads);
}

/** Paths of factor l, if they are to be found, and A's entries along them; *reached: the sum of |a_ij| of these. */
static trine_status make_factor(trine_precond p, int l, bool builds, double *reached)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const bool once = method_of(p) == TRINE_PRECOND_MOS_D;
    struct precond_extraction e = {.rows = rows_of(p),
                                   .factor = &s->factor[l],
                                   .kept = s->kept,
                                   .taken = s->taken,
                                   .once = once,
                                   .threads = p->base.ctx->threads};
    if (builds && l > 0) TRY(trine_forest_scale(s->forest, omega_of(&p->options), NULL));
    if (builds) TRY(precond_make_forest(p, s->forest, l, l ? NULL : s->weights));
    if (builds) TRY(precond_take_paths(p, s->forest, &s->factor[l]));
    *reached += precond_cpu.extract[p->base.dtype](&e);
done:
    return status;
}

/** All factors, with A's entries as they are. */
static trine_status make_factors(trine_precond p, bool builds)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const int count = builds ? s->capacity : p->info.m;
    const struct precond_rows rows = rows_of(p);
    double all, covered;
    precond_cpu.sums[p->base.dtype](&rows, &covered, &all, p->base.ctx->threads);
    memset(s->taken, 0, (size_t)p->nnz);
    p->info.m = count;
    for (int l = 0; l < count; l++) {
        const double before = covered / all;
        TRY(make_factor(p, l, builds, &covered));
        s->coverage[l] = covered / all;
        if (builds && precond_is_enough(p, l, before, s->coverage[l])) {
            p->info.m = l + 1;
            break;
        }
    }
done:
    return status;
}

/** Where vertices of one factor stand in the one that is applied after it. */
static void fuse_permutations(trine_precond p)
{
    struct paths_state *s = state_of(p);
    const int64_t n = p->base.n;
    for (int l = 1; l < p->info.m; l++) {
        for (int64_t i = 0; i < n; i++) s->inverse[s->factor[l - 1].permutation[i]] = (int32_t)i;
        for (int64_t i = 0; i < n; i++) s->factor[l].to_next[i] = s->inverse[s->factor[l].permutation[i]];
    }
}

static trine_status numeric(trine_precond p, trine_reuse reuse, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const trine_dtype t = p->base.dtype;
    const trine_precond_method method = method_of(p);
    const int threads = p->base.ctx->threads;
    const struct precond_rows rows = rows_of(p);
    const bool builds = has_forests(method) && (!s->has_forests || reuse == TRINE_REUSE_NOTHING);
    (void)stream;
    if (builds) s->has_forests = false;
    precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP0, s->room, threads);
    if (s->T) note_singular(p, precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP1, s->T, threads));
    if (has_forests(method)) choose_pattern(p);
    if (method == TRINE_PRECOND_MOS_A) {
        TRY(precond_adapt(p, builds));
    } else {
        if (builds) precond_cpu.scale[t](&rows, s->T, s->kept, s->weights, threads);
        TRY(make_factors(p, builds));
    }
    for (int l = 0; l < p->info.m; l++) {
        struct precond_factor *f = &s->factor[l];
        if (method == TRINE_PRECOND_MOS_D) precond_cpu.direct[t](f, p->base.n, s->T, s->room, p->info.m, l, threads);
        note_singular(p, precond_cpu.eliminate[t](f, p->base.n, threads));
    }
    if (precond_is_product(method)) fuse_permutations(p);
    if (s->product) TRY(trine_spmv_numeric(s->product, TRINE_HOST, NULL, NULL));
    s->has_forests = true;
done:
    return status;
}

/* ------------------------------------------------------------------- apply */

enum { ALIGNMENT = 64 };
static size_t column_bytes(trine_precond p, int64_t count)
{
    const size_t bytes = (size_t)p->base.n * (size_t)count * trine_dtype_size(p->base.dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/** Two columns; of alternating methods the residuals and a copy of right-hand sides too. */
static size_t scratch_bytes(trine_precond p, int64_t nrhs)
{
    return 2 * column_bytes(p, 1) + (state_of(p)->product ? 2 * column_bytes(p, nrhs) : 0);
}

static trine_status work_begin(trine_precond p, struct precond_work *work, int64_t nrhs)
{
    struct paths_state *s = state_of(p);
    return s->product ? trine_spmv_work(s->product, nrhs, NULL, NULL, (trine_work *)&work->part) : TRINE_SUCCESS;
}

static void work_end(trine_precond p, struct precond_work *work)
{
    (void)p;
    trine_work_destroy((trine_work *)&work->part);
}

static char *column(trine_precond p, const trine_dense *X, int64_t j)
{
    return (char *)X->data + (size_t)(j * X->ld) * trine_dtype_size(p->base.dtype);
}

/** X := op(F_l)^-1 B, or X := X + it. */
static void solve_factor(trine_precond p, const struct precond_call *call, int l, const trine_dense *B, bool adds)
{
    struct paths_state *s = state_of(p);
    const struct precond_factor *f = &s->factor[l];
    for (int64_t j = 0; j < B->cols; j++) {
        const struct precond_pass pass = {.factor = f,
                                          .op = call->op,
                                          .n = p->base.n,
                                          .in = column(p, B, j),
                                          .from = f->permutation,
                                          .middle = call->work->scratch,
                                          .out = column(p, call->X, j),
                                          .to = f->permutation,
                                          .adds = adds,
                                          .ctx = p->base.ctx};
        precond_cpu.solve[p->base.dtype](&pass);
    }
}

trine_status precond_run_part(trine_precond p, const struct precond_call *call, int l)
{
    solve_factor(p, call, l, call->B, false);
    return TRINE_SUCCESS;
}

/** One column through all factors: the vector goes from path order to path order without a stop in between (Section
 *  5.2.4). op T meets the factors the other way round, and gathers where N scatters. */
static void run_product(trine_precond p, const struct precond_call *call, int64_t j)
{
    struct paths_state *s = state_of(p);
    const int m = p->info.m;
    const bool forward = call->op == TRINE_N;
    char *room[2] = {call->work->scratch, (char *)call->work->scratch + column_bytes(p, 1)};
    const void *in = column(p, call->B, j);
    for (int step = 0; step < m; step++) {
        const int l = forward ? m - 1 - step : step;
        const struct precond_factor *f = &s->factor[l];
        const bool first = step == 0, last = step == m - 1;
        const int32_t *from = first ? f->permutation : forward ? NULL : f->to_next;
        const int32_t *to = last ? f->permutation : forward ? f->to_next : NULL;
        const struct precond_pass pass = {.factor = f,
                                          .op = call->op,
                                          .n = p->base.n,
                                          .in = in,
                                          .from = from,
                                          .middle = !from     ? (void *)in
                                                    : forward ? room[0]
                                                              : room[1 - step % 2],
                                          .out = last ? column(p, call->X, j) : room[1 - step % 2],
                                          .to = to,
                                          .ctx = p->base.ctx};
        precond_cpu.solve[p->base.dtype](&pass);
        in = pass.out;
    }
}

static void copy_columns(trine_precond p, const trine_dense *from, const trine_dense *to)
{
    const size_t bytes = (size_t)p->base.n * trine_dtype_size(p->base.dtype);
    for (int64_t j = 0; j < from->cols; j++) memcpy(column(p, to, j), column(p, from, j), bytes);
}

/** Eq. 28 from x = 0. Of A^T the same with the transposed splittings in the opposite order. */
static trine_status run_alternating(trine_precond p, const struct precond_call *call)
{
    static const double minus_one[2] = {-1, 0}, plus_one[2] = {1, 0};
    static const float minus_one_s[2] = {-1, 0}, plus_one_s[2] = {1, 0};
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const int m = p->info.m;
    const int64_t n = p->base.n, cols = call->B->cols;
    const bool single = trine_dtype_is_single(p->base.dtype);
    char *const room = (char *)call->work->scratch + 2 * column_bytes(p, 1);
    const trine_dense residual = {room, n, cols, n, TRINE_COLMAJOR};
    trine_dense B = *call->B;
    const trine_exec exec = {.stream = call->stream, .work = call->work->part};
    if (m > 1 && B.data == call->X->data) {
        const trine_dense copy = {room + column_bytes(p, cols), n, cols, n, TRINE_COLMAJOR};
        copy_columns(p, &B, &copy);
        B = copy;
    }
    for (int step = 0; step < m; step++) {
        const int l = call->op == TRINE_N ? step : m - 1 - step;
        if (!step) {
            solve_factor(p, call, l, &B, false);
            continue;
        }
        copy_columns(p, &B, &residual);
        TRY(trine_spmv_apply(s->product, call->op, single ? (const void *)minus_one_s : minus_one, call->X,
                             single ? (const void *)plus_one_s : plus_one, &residual, &exec));
        solve_factor(p, call, l, &residual, true);
    }
done:
    return status;
}

static trine_status apply(trine_precond p, const struct precond_call *call)
{
    const trine_precond_method method = method_of(p);
    if (method == TRINE_PRECOND_ALT_O && p->info.m > 1)
        return trine_fail(TRINE_ERR_UNSUPPORTED,
                          "alt-o changes from step to step: take its %d parts to a flexible method, or alt-i",
                          p->info.m);
    if (precond_alternates(method)) return run_alternating(p, call);
    if (!precond_is_product(method)) return precond_run_part(p, call, 0);
    for (int64_t j = 0; j < call->B->cols; j++) run_product(p, call, j);
    return TRINE_SUCCESS;
}

const struct precond_method precond_paths = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                             .check_options = check_options,
                                             .analyse = analyse,
                                             .numeric = numeric,
                                             .apply = apply,
                                             .scratch_bytes = scratch_bytes,
                                             .work_begin = work_begin,
                                             .work_end = work_end,
                                             .memory = memory,
                                             .release = release};

/* ----------------------------------------------------------------- reports */

void precond_copy_factor(trine_precond p, int l, void *a, void *b, void *c, int32_t *permutation)
{
    const struct precond_factor *f = &state_of(p)->factor[l];
    const size_t n = (size_t)p->base.n, bytes = n * trine_dtype_size(p->base.dtype);
    if (!n) return;
    if (a) memcpy(a, f->a, bytes);
    if (b) memcpy(b, f->b, bytes);
    if (c) memcpy(c, f->c, bytes);
    if (permutation) memcpy(permutation, f->permutation, n * sizeof *permutation);
}

double precond_diagonal_coverage(trine_precond p)
{
    const struct precond_rows rows = rows_of(p);
    double diagonal, all;
    precond_cpu.sums[p->base.dtype](&rows, &diagonal, &all, p->base.ctx->threads);
    return diagonal / all;
}

const void *precond_get_T(trine_precond p)
{
    if (p->method == &precond_diagonal) return precond_get_diagonal_T(p);
    return p->method == &precond_paths && precond_is_product(method_of(p)) ? state_of(p)->T : NULL;
}

/** ||M - A|| / ||A|| of a product of factors. */
static trine_status measure_remainder(trine_precond p, double *norm)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct paths_state *s = state_of(p);
    const int64_t n = p->base.n;
    struct precond_remainder r = {.rows = rows_of(p), .m = p->info.m, .factor = s->factor};
    int32_t *positions = NULL;
    TRY(ALLOC(ctx, positions, r.m * n));
    for (int l = 0; l < r.m; l++)
        for (int64_t i = 0; i < n; i++) positions[l * n + s->factor[l].permutation[i]] = (int32_t)i;
    r.positions = positions;
    for (int k = 0; k < 2; k++) {
        TRY(ALLOC(ctx, r.list[k], n));
        r.dense[k] = trine_host_calloc(ctx, n, trine_dtype_size(p->base.dtype));
        if (!r.dense[k]) status = TRINE_ERR_MEMORY;
        if (status) goto done;
    }
    TRY(CALLOC(ctx, r.listed, n));
    *norm = precond_cpu.remainder[p->base.dtype](&r);
done:
    trine_free(ctx, TRINE_HOST, positions);
    trine_free(ctx, TRINE_HOST, r.listed);
    for (int k = 0; k < 2; k++) {
        trine_free(ctx, TRINE_HOST, r.list[k]);
        trine_free(ctx, TRINE_HOST, r.dense[k]);
    }
    return status;
}

trine_status precond_diagnose_paths(trine_precond p, trine_precond_diagnosis *d)
{
    const struct paths_state *s = state_of(p);
    if (method_of(p) != TRINE_PRECOND_MOS_A)
        for (int l = 0; l < p->info.m; l++) d->coverage[l] = s->coverage[l];
    else
        for (int l = 0; l <= p->info.m; l++) d->c_diag[l] = s->c_diag[l];
    return precond_is_product(method_of(p)) ? measure_remainder(p, &d->R_norm) : TRINE_SUCCESS;
}
