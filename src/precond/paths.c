/* Factors along paths: which there are, their values, and how they are applied. (Klein 2024, Sections 4.6, 5.2.) */
#include "precond/paths.h"

#include <math.h>
#include <string.h>

#include <trine/tridiagonal.h>

#include "matrix/vectors/vectors.h"
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

static trine_status new_device_factor(trine_precond p, struct precond_device_factor *f)
{
    trine_status status = TRINE_SUCCESS;
    const size_t n = (size_t)p->base.n, size = trine_dtype_size(p->base.dtype);
    const struct {
        void **p;
        size_t bytes;
    } arrays[] = {{&f->a, n * size},
                  {&f->b, n * size},
                  {&f->c, n * size},
                  {(void **)&f->permutation, n * sizeof *f->permutation},
                  {(void **)&f->to_next, n * sizeof *f->to_next},
                  {(void **)&f->joined, n}};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        TRY(trine_alloc(p->base.ctx, TRINE_DEVICE, arrays[k].bytes, arrays[k].p));
done:
    return status;
}

static void free_device_factor(trine_context ctx, struct precond_device_factor *f)
{
    void *arrays[] = {f->a, f->b, f->c, f->permutation, f->to_next, f->joined};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, TRINE_DEVICE, arrays[k]);
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
    if (!p->device) {
        s->weights = trine_host_alloc(ctx, p->nnz, trine_dtype_size(p->base.dtype));
        if (!s->weights) return TRINE_ERR_MEMORY;
    }
    for (int64_t i = 0; i < p->base.n; i++)
        if (p->offsets[i + 1] - p->offsets[i] > s->longest) s->longest = p->offsets[i + 1] - p->offsets[i];
    if (pattern != TRINE_PATTERN_AUTO) TRY(ALLOC(ctx, s->kept, p->nnz));
    if (pattern == TRINE_PATTERN_GIVEN) TRY(precond_read_given_pattern(p, s->kept));
    if (pattern == TRINE_PATTERN_MAX_N || pattern == TRINE_PATTERN_MAX_T)
        TRY(ALLOC(ctx, s->candidates, s->longest * ctx->threads));
done:
    return status;
}

/** What looks at values on the way, to choose entries or to end, does so on the host. */
static bool is_for_device(trine_precond p)
{
    const trine_precond_options *o = &p->options;
    const bool selects = o->pattern == TRINE_PATTERN_MAX_N || o->pattern == TRINE_PATTERN_MAX_T;
    return p->base.ctx->cuda && o->method != TRINE_PRECOND_MOS_A &&
           !(has_forests(o->method) && (selects || o->coverage > 0));
}

/** The paths of a factor that is known beforehand. */
static trine_status send_paths(trine_precond p, int l)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct paths_state *s = state_of(p);
    const struct precond_factor *f = &s->factor[l];
    const size_t n = (size_t)p->base.n;
    memset(f->swapped, 1, n);
    for (int64_t k = 0; k < f->paths; k++) f->swapped[f->starts[k]] = 0;
    TRY(trine_copy(ctx, s->on_device[l].joined, TRINE_DEVICE, f->swapped, TRINE_HOST, n));
    TRY(trine_copy(ctx, s->on_device[l].permutation, TRINE_DEVICE, f->permutation, TRINE_HOST, n * sizeof(int32_t)));
done:
    return status;
}

/** Memory for numeric_on_device, when the host's is there. */
static trine_status analyse_on_device(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    struct paths_on_device *d = &s->device;
    const size_t n = (size_t)p->base.n, nnz = (size_t)p->nnz, size = trine_dtype_size(p->base.dtype);
    if (s->T) TRY(trine_alloc(ctx, TRINE_DEVICE, n * size, &d->T));
    if (s->forest) TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * size + 1, &d->weights)); /* never NULL */
    if (s->kept) TRY(trine_device_upload(ctx, s->kept, nnz, (void **)&d->kept));
    if (method_of(p) == TRINE_PRECOND_MOS_D) {
        TRY(trine_alloc(ctx, TRINE_DEVICE, n * size, &d->room));
        TRY(trine_alloc(ctx, TRINE_DEVICE, nnz, (void **)&d->taken));
        TRY(trine_alloc(ctx, TRINE_DEVICE, n * sizeof *d->inverse, (void **)&d->inverse));
    }
    for (int l = 0; !s->forest && p->base.n && l < s->capacity; l++) TRY(send_paths(p, l));
done:
    return status;
}

static void free_on_device(trine_precond p)
{
    struct paths_state *s = state_of(p);
    struct paths_on_device *d = &s->device;
    void *arrays[] = {d->T, d->room, d->weights, d->kept, d->taken, d->inverse};
    for (int l = 0; s->on_device && l < s->capacity; l++) free_device_factor(p->base.ctx, &s->on_device[l]);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
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
    if (ctx->cuda) {
        TRY(CALLOC(ctx, s->on_device, s->capacity));
        for (int l = 0; l < s->capacity; l++) TRY(new_device_factor(p, &s->on_device[l]));
        TRY(ALLOC(ctx, s->names, p->base.n));
        if (is_for_device(p)) TRY(precond_open_device(p));
    }
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
    if (precond_alternates(method) && s->capacity > 1) {
        trine_spmv_info info;
        TRY(trine_spmv_analyse(ctx, &s->product, p->device ? p->device->view : p->matrix,
                               &(trine_spmv_options){.ops = p->options.ops, .max_nrhs = p->options.max_nrhs}));
        TRY(trine_spmv_get_info(s->product, &info));
        p->info.deterministic = info.deterministic;
    }
    if (method == TRINE_PRECOND_MOS_A) TRY(precond_adapt_analyse(p));
    if (p->device) TRY(analyse_on_device(p));
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
    free_on_device(p);
    trine_forest_destroy(&s->forest);
    trine_spmv_destroy(&s->product);
    void *arrays[] = {s->factor, s->on_device, s->names,   s->kept,       s->taken, s->weights,
                      s->T,      s->room,      s->inverse, s->candidates, s};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, TRINE_HOST, arrays[k]);
}

static int64_t memory(trine_precond p)
{
    const struct paths_state *s = state_of(p);
    const int64_t n = p->base.n, element = (int64_t)trine_dtype_size(p->base.dtype);
    int64_t bytes = s->capacity * (n * (7 * element + 13) + 4) + p->nnz + n * (4 + element);
    if (s->on_device) bytes += s->capacity * n * (3 * element + 9) + n * 4;
    if (s->device.T) bytes += n * element;
    if (s->device.weights) bytes += p->nnz * element;
    if (s->device.kept) bytes += p->nnz;
    if (s->device.taken) bytes += p->nnz + n * (element + 4);
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
trine_status precond_make_forest(trine_precond p, trine_forest forest, int l, trine_space space, const void *weights)
{
    trine_factor_rounds rounds = p->options.forest;
    rounds.n = 2;
    rounds.seed += (uint64_t)l * 0x9E3779B97F4A7C15u;
    return trine_forest_run(forest, space, weights, &rounds, NULL);
}

trine_status precond_take_paths(trine_precond p, trine_forest forest, struct precond_factor *f)
{
    trine_forest_arrays arrays;
    trine_status status = trine_forest_get_arrays(forest, &arrays);
    if (status) return status;
    const int64_t n = p->base.n;
    const int32_t *path = arrays.path;
    if (p->base.ctx->cuda) {
        TRY(trine_copy(p->base.ctx, f->permutation, TRINE_HOST, arrays.permutation, TRINE_DEVICE, (size_t)n * 4));
        TRY(trine_copy(p->base.ctx, state_of(p)->names, TRINE_HOST, arrays.path, TRINE_DEVICE, (size_t)n * 4));
        path = state_of(p)->names;
    } else if (n) {
        memcpy(f->permutation, arrays.permutation, (size_t)n * sizeof *f->permutation);
    }
    f->paths = 0;
    for (int64_t i = 0; i < n; i++)
        if (!i || path[f->permutation[i]] != path[f->permutation[i - 1]]) f->starts[f->paths++] = (int32_t)i;
    f->starts[f->paths] = (int32_t)n;
done:
    return status;
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
    if (builds) TRY(precond_make_forest(p, s->forest, l, TRINE_HOST, l ? NULL : s->weights));
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

/** What solves read, to a GPU, where numeric runs on the host. */
static trine_status send_factors(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    const size_t n = (size_t)p->base.n, bands = n * trine_dtype_size(p->base.dtype), numbers = n * sizeof(int32_t);
    for (int l = 0; s->on_device && n && l < p->info.m; l++) {
        const struct precond_factor *f = &s->factor[l];
        const struct precond_device_factor *d = &s->on_device[l];
        TRY(trine_device_copy_async(ctx, d->a, f->a, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->b, f->b, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->c, f->c, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->permutation, f->permutation, numbers, ctx->stream));
        if (l && precond_is_product(method_of(p)))
            TRY(trine_device_copy_async(ctx, d->to_next, f->to_next, numbers, ctx->stream));
    }
done:
    return status;
}

/** Paths of forests that the GPU has made. */
static trine_status fetch_paths(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    const int64_t n = p->base.n;
    for (int l = 0; s->forest && l < p->info.m; l++) {
        struct precond_factor *f = &s->factor[l];
        const struct precond_device_factor *d = &s->on_device[l];
        TRY(trine_copy(ctx, f->permutation, TRINE_HOST, d->permutation, TRINE_DEVICE, (size_t)n * sizeof(int32_t)));
        TRY(trine_copy(ctx, f->swapped, TRINE_HOST, d->joined, TRINE_DEVICE, (size_t)n));
        f->paths = 0;
        for (int64_t i = 0; i < n; i++)
            if (!f->swapped[i]) f->starts[f->paths++] = (int32_t)i;
        f->starts[f->paths] = (int32_t)n;
    }
done:
    return status;
}

/** What the GPU has computed, in place of what the host has. */
static trine_status fetch_factors(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    const size_t bytes = (size_t)p->base.n * trine_dtype_size(p->base.dtype);
    for (int l = 0; l < p->info.m; l++) {
        const struct precond_factor *f = &s->factor[l];
        const struct precond_device_factor *d = &s->on_device[l];
        TRY(trine_copy(ctx, f->a, TRINE_HOST, d->a, TRINE_DEVICE, bytes));
        TRY(trine_copy(ctx, f->b, TRINE_HOST, d->b, TRINE_DEVICE, bytes));
        TRY(trine_copy(ctx, f->c, TRINE_HOST, d->c, TRINE_DEVICE, bytes));
    }
    if (s->T) TRY(trine_copy(ctx, s->T, TRINE_HOST, s->device.T, TRINE_DEVICE, bytes));
done:
    return status;
}

/** Factor l with A's entries as they are, and its paths, if they are to be found. */
static trine_status make_factor_on_device(trine_precond p, int l, bool builds)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const struct paths_on_device *d = &s->device;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    void *stream = p->base.ctx->stream;
    trine_forest_arrays arrays;
    if (builds) {
        if (l > 0) TRY(trine_forest_scale(s->forest, omega_of(&p->options), NULL));
        TRY(precond_make_forest(p, s->forest, l, TRINE_DEVICE, l ? NULL : d->weights));
        TRY(trine_forest_get_arrays(s->forest, &arrays));
        TRY(device->take_paths(p, arrays.path, arrays.permutation, &s->on_device[l], stream));
    }
    TRY(device->extract[p->base.dtype](p, &p->device->rows, &s->on_device[l], d->kept, d->taken, stream));
done:
    return status;
}

static trine_status numeric_on_device(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    const struct paths_on_device *d = &s->device;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    const struct precond_device_rows *rows = &p->device->rows;
    const trine_dtype t = p->base.dtype;
    const bool builds = s->forest && (!s->has_forests || reuse == TRINE_REUSE_NOTHING),
               directs = method_of(p) == TRINE_PRECOND_MOS_D && s->capacity > 1;
    if (builds) s->has_forests = false;
    if (directs) TRY(device->diagonal[t](p, rows, TRINE_PRECOND_DIAGP0, d->room, ctx->stream));
    if (d->T) TRY(device->diagonal[t](p, rows, TRINE_PRECOND_DIAGP1, d->T, ctx->stream));
    if (builds) TRY(device->scale[t](p, rows, d->T, d->kept, d->weights, ctx->stream));
    if (d->taken && p->nnz) TRY(trine_device_fill_async(ctx, d->taken, 0, (size_t)p->nnz, ctx->stream));
    p->info.m = s->capacity;
    for (int l = 0; l < p->info.m; l++) TRY(make_factor_on_device(p, l, builds));
    for (int l = 0; directs && l < p->info.m; l++) {
        TRY(device->direct[t](p, &s->on_device[l], d->T, d->room, p->info.m, l, ctx->stream));
        if (l) TRY(device->fuse(p, &s->on_device[l - 1], &s->on_device[l], d->inverse, ctx->stream));
    }
    if (s->product) TRY(trine_spmv_numeric(s->product, TRINE_DEVICE, rows->values, NULL));
    s->has_forests = true;
done:
    return status;
}

static trine_status numeric(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const trine_dtype t = p->base.dtype;
    const trine_precond_method method = method_of(p);
    const int threads = p->base.ctx->threads;
    const struct precond_rows rows = rows_of(p);
    const bool builds = has_forests(method) && (!s->has_forests || reuse == TRINE_REUSE_NOTHING);
    if (p->device) TRY(fetch_paths(p));
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
    if (p->device) return fetch_factors(p);
    TRY(send_factors(p));
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

/** Columns that go through a factor at a time: a CPU takes one after another. */
static int64_t width_of(trine_precond p, int64_t nrhs) { return p->base.ctx->cuda ? nrhs : 1; }

/** Of trine_gtsv, with whatever op. */
static size_t solve_bytes(trine_precond p, int64_t nrhs)
{
    static const trine_transpose ops[] = {TRINE_N, TRINE_T, TRINE_H};
    size_t most = 0;
    for (int k = 0; p->base.ctx->cuda && k < 3; k++) {
        const trine_gtsv_options o = {.op = ops[k]};
        size_t bytes = 0;
        if (!trine_gtsv_work_size(p->base.ctx, p->base.dtype, p->base.n, nrhs, &o, &bytes) && bytes > most)
            most = bytes;
    }
    return most;
}

/** Two blocks as wide as what goes through a factor; of alternating methods the residuals and a copy of right-hand
 *  sides; on a GPU the workspace of solves. */
static size_t scratch_bytes(trine_precond p, int64_t nrhs)
{
    return 2 * column_bytes(p, width_of(p, nrhs)) + (state_of(p)->product ? 2 * column_bytes(p, nrhs) : 0) +
           solve_bytes(p, nrhs);
}

/** Where these are in a work. */
struct scratch {
    char *room[2], *residual, *copy, *solve;
    size_t solve_bytes;
};
static struct scratch scratch_of(trine_precond p, const struct precond_call *call)
{
    const trine_plan_work *work = &call->work->base;
    const size_t wide = column_bytes(p, width_of(p, work->max_nrhs)),
                 block = state_of(p)->product ? column_bytes(p, work->max_nrhs) : 0;
    char *const at = call->work->scratch, *const residual = at + 2 * wide, *const solve = residual + 2 * block;
    return (struct scratch){.room = {at, at + wide},
                            .residual = residual,
                            .copy = residual + block,
                            .solve = solve,
                            .solve_bytes = work->bytes - (size_t)(solve - (char *)work->buffer)};
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

static trine_dense block_at(trine_precond p, void *data, int64_t cols)
{
    return (trine_dense){data, p->base.n, cols, p->base.n, TRINE_COLMAJOR};
}

/** Columns j and following of X. */
static trine_dense columns_of(trine_precond p, const trine_dense *X, int64_t j, int64_t count)
{
    trine_dense part = *X;
    part.data = (char *)X->data + (size_t)(j * X->ld) * trine_dtype_size(p->base.dtype);
    part.cols = count;
    return part;
}

/** Where vertices of factor l stand in the caller's order, or in that of the factor that is applied after it. */
static const int32_t *order_of(trine_precond p, int l, bool fused)
{
    const struct paths_state *s = state_of(p);
    if (s->on_device) return fused ? s->on_device[l].to_next : s->on_device[l].permutation;
    return fused ? s->factor[l].to_next : s->factor[l].permutation;
}

/** A block through op(F_l)^-1: row i in path order is row from[i] of B, its result goes to row to[i] of X. */
struct pass {
    int l;
    trine_dense B;
    const int32_t *from;             /* NULL: in path order */
    char *middle;                    /* B's data if from is NULL; X's if `to` is */
    trine_dense X;
    const int32_t *to;
    bool adds;                       /* to X */
};

static void pass_on_cpu(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    for (int64_t j = 0; j < q->B.cols; j++) {
        const struct precond_pass pass = {.factor = &state_of(p)->factor[q->l],
                                          .op = call->op,
                                          .n = p->base.n,
                                          .in = columns_of(p, &q->B, j, 1).data,
                                          .from = q->from,
                                          .middle = q->middle,
                                          .out = columns_of(p, &q->X, j, 1).data,
                                          .to = q->to,
                                          .adds = q->adds,
                                          .ctx = p->base.ctx};
        precond_cpu.solve[p->base.dtype](&pass);
    }
}

static trine_status pass_on_gpu(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const trine_dtype t = p->base.dtype;
    const struct precond_device_factor *f = &state_of(p)->on_device[q->l];
    const struct scratch scratch = scratch_of(p, call);
    const trine_dense middle = block_at(p, q->middle, q->B.cols);
    const trine_gtsv_options o = {.op = call->op};
    const trine_exec exec = {.stream = call->stream};
    if (q->from) TRY(trine_vectors_permute(ctx, t, q->from, NULL, 0, &q->B, &middle, call->stream));
    TRY(trine_gtsv(ctx, t, middle.rows, middle.cols, &o, f->a, f->b, f->c, middle.data, middle.ld, middle.data,
                   middle.ld, scratch.solve, scratch.solve_bytes, &exec));
    if (q->adds) TRY(vectors_scatter_add(ctx, t, q->to, &middle, &q->X, call->stream));
    else if (q->to) TRY(trine_vectors_permute(ctx, t, q->to, NULL, 1, &middle, &q->X, call->stream));
done:
    return status;
}

static trine_status run_pass(trine_precond p, const struct precond_call *call, const struct pass *q)
{
    if (p->base.ctx->cuda) return pass_on_gpu(p, call, q);
    pass_on_cpu(p, call, q);
    return TRINE_SUCCESS;
}

/** X := op(F_l)^-1 B, or X := X + it. */
static trine_status solve_factor(trine_precond p, const struct precond_call *call, int l, const trine_dense *B,
                                 bool adds)
{
    const int32_t *order = order_of(p, l, false);
    const struct pass pass = {.l = l,
                              .B = *B,
                              .from = order,
                              .middle = scratch_of(p, call).room[0],
                              .X = *call->X,
                              .to = order,
                              .adds = adds};
    return run_pass(p, call, &pass);
}

trine_status precond_run_part(trine_precond p, const struct precond_call *call, int l)
{
    return solve_factor(p, call, l, call->B, false);
}

/** X := M^-1 B: vectors go from path order to path order without a stop in between (Section 5.2.4). op T meets the
 *  factors the other way round, and gathers where N scatters. */
static trine_status run_product(trine_precond p, const struct precond_call *call, const trine_dense *B,
                                const trine_dense *X)
{
    trine_status status = TRINE_SUCCESS;
    const int m = p->info.m;
    const bool forward = call->op == TRINE_N;
    const struct scratch scratch = scratch_of(p, call);
    trine_dense in = *B;
    for (int step = 0; step < m; step++) {
        const int l = forward ? m - 1 - step : step;
        const bool first = step == 0, last = step == m - 1;
        const struct pass pass = {.l = l,
                                  .B = in,
                                  .from = first     ? order_of(p, l, false)
                                          : forward ? NULL
                                                    : order_of(p, l, true),
                                  .middle = forward ? (first ? scratch.room[0] : in.data) : scratch.room[1 - step % 2],
                                  .X = last ? *X : block_at(p, scratch.room[1 - step % 2], B->cols),
                                  .to = last      ? order_of(p, l, false)
                                        : forward ? order_of(p, l, true)
                                                  : NULL};
        TRY(run_pass(p, call, &pass));
        in = pass.X;
    }
done:
    return status;
}

/** Eq. 28 from x = 0. Of A^T the same with the transposed splittings in the opposite order. */
static trine_status run_alternating(trine_precond p, const struct precond_call *call)
{
    static const double minus_one[2] = {-1, 0}, plus_one[2] = {1, 0};
    static const float minus_one_s[2] = {-1, 0}, plus_one_s[2] = {1, 0};
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const int m = p->info.m;
    const bool single = trine_dtype_is_single(p->base.dtype);
    const struct scratch scratch = scratch_of(p, call);
    const trine_dense residual = block_at(p, scratch.residual, call->B->cols);
    trine_dense B = *call->B;
    const trine_exec exec = {.stream = call->stream, .work = call->work->part};
    if (m > 1 && B.data == call->X->data) {
        const trine_dense copy = block_at(p, scratch.copy, B.cols);
        TRY(trine_plan_scale(&p->base, NULL, &B, &copy, call->stream));
        B = copy;
    }
    for (int step = 0; step < m; step++) {
        const int l = call->op == TRINE_N ? step : m - 1 - step;
        if (!step) {
            TRY(solve_factor(p, call, l, &B, false));
            continue;
        }
        TRY(trine_plan_scale(&p->base, NULL, &B, &residual, call->stream));
        TRY(trine_spmv_apply(s->product, call->op, single ? (const void *)minus_one_s : minus_one, call->X,
                             single ? (const void *)plus_one_s : plus_one, &residual, &exec));
        TRY(solve_factor(p, call, l, &residual, true));
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
    const int64_t width = width_of(p, call->B->cols);
    for (int64_t j = 0; j < call->B->cols; j += width) {
        const trine_dense B = columns_of(p, call->B, j, width), X = columns_of(p, call->X, j, width);
        const trine_status status = run_product(p, call, &B, &X);
        if (status) return status;
    }
    return TRINE_SUCCESS;
}

const struct precond_method precond_paths = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                             .check_options = check_options,
                                             .analyse = analyse,
                                             .numeric = numeric,
                                             .numeric_on_device = numeric_on_device,
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
