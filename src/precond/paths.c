/* Factors along paths: which there are, and what is told of them; their values are in paths_numeric.c, how they are
 * applied in paths_apply.c. (Klein 2024, Sections 4.6, 5.2.) */
#include "precond/paths.h"

#include <math.h>
#include <string.h>

#include "precond/common/rows.h"

bool precond_is_product(trine_precond_method m) { return m == TRINE_PRECOND_MOS_D || m == TRINE_PRECOND_MOS_A; }
bool precond_alternates(trine_precond_method m) { return m == TRINE_PRECOND_ALT_I || m == TRINE_PRECOND_ADI; }
bool precond_has_forests(trine_precond_method m) { return m != TRINE_PRECOND_TRIDIAG && m != TRINE_PRECOND_ADI; }
bool precond_has_product(trine_precond p) { return precond_alternates(p->options.method) && paths_of(p)->capacity > 1; }
static bool has_one_factor(trine_precond_method m) { return m == TRINE_PRECOND_TRIDIAG || m == TRINE_PRECOND_ALG_TRI; }

/* ----------------------------------------------------------------- options */

static trine_status check_options(const trine_precond_options *o)
{
    REQUIRE(o->m >= 0 && o->m <= TRINE_PRECOND_MAX_M, "m is %d, not 1 to %d factors", o->m, TRINE_PRECOND_MAX_M);
    if (o->method == TRINE_PRECOND_ADI) {
        REQUIRE(o->m == 0 || o->m == 2, "adi has 2 factors, m is %d", o->m);
        REQUIRE(o->nx >= 0 && o->ny >= 0, "the grid is %lld x %lld", (long long)o->nx, (long long)o->ny);
    }
    if (!precond_has_forests(o->method)) return TRINE_SUCCESS;
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
                  {(void **)&f->position, n * sizeof *f->position},
                  {(void **)&f->to_previous, n * sizeof *f->to_previous},
                  {(void **)&f->joined, n}};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        TRY(trine_alloc(p->base.ctx, TRINE_DEVICE, arrays[k].bytes, arrays[k].p));
done:
    return status;
}

static void free_device_factor(trine_context ctx, struct precond_device_factor *f)
{
    void *arrays[] = {f->a, f->b, f->c, f->permutation, f->to_next, f->position, f->to_previous, f->joined};
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
    struct paths_state *s = paths_of(p);
    const int64_t n = p->base.n, nx = p->options.nx, ny = p->options.ny;
    p->info.m = s->capacity;
    s->has_forests = true;
    if (p->options.method == TRINE_PRECOND_TRIDIAG) {
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
    struct paths_state *s = paths_of(p);
    const trine_pattern pattern = p->options.method == TRINE_PRECOND_MOS_A ? TRINE_PATTERN_AUTO : p->options.pattern;
    if (!p->device) {
        TRY(precond_make_forest_of(p, NULL, &s->forest));
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

/** What looks at values on the way, to choose entries or to end, does so on the host, but for MOS_A. */
static bool is_for_device(trine_precond p)
{
    const trine_precond_options *o = &p->options;
    const bool selects = o->pattern == TRINE_PATTERN_MAX_N || o->pattern == TRINE_PATTERN_MAX_T;
    if (!p->base.ctx->cuda) return false;
    if (o->method == TRINE_PRECOND_MOS_A) return precond_adapts_on_device(p);
    return !(precond_has_forests(o->method) && (selects || o->coverage > 0));
}

/** The paths of a factor that is known beforehand. */
static trine_status send_paths(trine_precond p, int l)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct paths_state *s = paths_of(p);
    const struct precond_factor *f = &s->factor[l];
    const size_t n = (size_t)p->base.n;
    memset(f->swapped, 1, n);
    for (int64_t k = 0; k < f->paths; k++) f->swapped[f->starts[k]] = 0;
    TRY(trine_copy(ctx, s->on_device[l].joined, TRINE_DEVICE, f->swapped, TRINE_HOST, n));
    TRY(trine_copy(ctx, s->on_device[l].permutation, TRINE_DEVICE, f->permutation, TRINE_HOST, n * sizeof(int32_t)));
    if (!ctx->is_tally) TRY(precond_device_numeric_of(p)->locate(p, &s->on_device[l], ctx->stream));
done:
    return status;
}

/** Memory for numeric_on_device, when the host's is there. */
static trine_status analyse_on_device(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    struct paths_on_device *d = &s->device;
    const size_t n = (size_t)p->base.n, nnz = (size_t)p->nnz, size = trine_dtype_size(p->base.dtype);
    if (s->T) TRY(trine_alloc(ctx, TRINE_DEVICE, n * size, &d->T));
    if (precond_has_forests(p->options.method)) TRY(precond_graph_of_A(p, &d->graph));
    else
        for (int l = 0; n && l < s->capacity; l++) TRY(send_paths(p, l));
    if (p->options.method == TRINE_PRECOND_MOS_A && p->options.homogeneous)
        TRY(trine_alloc(ctx, TRINE_DEVICE, nnz * size + 1, &d->scaled)); /* never NULL */
    if (s->kept) TRY(trine_device_upload(ctx, s->kept, nnz, (void **)&d->kept));
    if (p->options.method == TRINE_PRECOND_MOS_D) {
        TRY(trine_alloc(ctx, TRINE_DEVICE, n * size, &d->room));
        TRY(trine_alloc(ctx, TRINE_DEVICE, nnz, (void **)&d->taken));
    }
    if (p->options.method == TRINE_PRECOND_MOS_A) TRY(precond_adapt_device_analyse(p));
done:
    return status;
}

static void free_on_device(trine_precond p)
{
    struct paths_state *s = paths_of(p);
    struct paths_on_device *d = &s->device;
    void *arrays[] = {d->T, d->room, d->scaled, d->kept, d->taken};
    precond_free_graph(p, &d->graph);
    for (int l = 0; s->on_device && l < s->capacity; l++) free_device_factor(p->base.ctx, &s->on_device[l]);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
}

static trine_status analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s;
    const trine_precond_method method = p->options.method;
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
    if (precond_has_forests(method)) TRY(analyse_forests(p));
    else TRY(lay_known_paths(p));
    if (precond_has_forests(method) && method != TRINE_PRECOND_ALG_TRI) {
        s->T = trine_host_alloc(ctx, p->base.n, trine_dtype_size(p->base.dtype));
        if (!s->T) return TRINE_ERR_MEMORY;
    }
    if (precond_has_product(p)) TRY(precond_make_product(p, p->device ? p->device->view : p->matrix, &s->product));
    if (method == TRINE_PRECOND_MOS_A) TRY(precond_adapt_analyse(p));
    if (p->device) TRY(analyse_on_device(p));
done:
    return status;
}

static void release(trine_precond p)
{
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    if (!s) return;
    if (s->adaption) precond_adapt_release(p);
    precond_adapt_device_release(p);
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
    const struct paths_state *s = paths_of(p);
    const int64_t n = p->base.n, element = (int64_t)trine_dtype_size(p->base.dtype);
    int64_t bytes = s->capacity * (n * (7 * element + 13) + 4) + p->nnz + n * (4 + element);
    if (s->on_device) bytes += s->capacity * n * (3 * element + 17) + n * 4;
    if (s->device.T) bytes += n * element;
    if (s->device.scaled) bytes += p->nnz * element;
    bytes += precond_graph_bytes(&s->device.graph);
    if (s->device.kept) bytes += p->nnz;
    if (s->device.taken) bytes += p->nnz + n * element;
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
    return bytes + (s->adaption ? precond_adapt_memory(p) : 0) + precond_adapt_device_memory(p);
}

const struct precond_method precond_paths = {.ops = TRINE_N | TRINE_T | TRINE_H,
                                             .check_options = check_options,
                                             .analyse = analyse,
                                             .numeric = precond_paths_numeric,
                                             .numeric_on_device = precond_paths_numeric_on_device,
                                             .apply = precond_paths_apply,
                                             .scratch_bytes = precond_paths_scratch,
                                             .work_begin = precond_paths_work_begin,
                                             .work_end = precond_paths_work_end,
                                             .memory = memory,
                                             .release = release};

/* ----------------------------------------------------------------- reports */

void precond_copy_factor(trine_precond p, int l, void *a, void *b, void *c, int32_t *permutation)
{
    const struct precond_factor *f = &paths_of(p)->factor[l];
    const size_t n = (size_t)p->base.n, bytes = n * trine_dtype_size(p->base.dtype);
    if (!n) return;
    if (a) memcpy(a, f->a, bytes);
    if (b) memcpy(b, f->b, bytes);
    if (c) memcpy(c, f->c, bytes);
    if (permutation) memcpy(permutation, f->permutation, n * sizeof *permutation);
}

double precond_diagonal_coverage(trine_precond p)
{
    const struct precond_rows rows = precond_rows_of(p);
    double diagonal, all;
    precond_cpu.sums[p->base.dtype](&rows, &diagonal, &all, p->base.ctx->threads);
    return diagonal / all;
}

const void *precond_get_T(trine_precond p)
{
    if (p->method == &precond_diagonal) return precond_get_diagonal_T(p);
    return p->method == &precond_paths && precond_is_product(p->options.method) ? paths_of(p)->T : NULL;
}

/** ||M - A|| / ||A|| of a product of factors. */
static trine_status measure_remainder(trine_precond p, double *norm)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct paths_state *s = paths_of(p);
    const int64_t n = p->base.n;
    struct precond_remainder r = {.rows = precond_rows_of(p), .m = p->info.m, .factor = s->factor};
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
    const struct paths_state *s = paths_of(p);
    if (p->options.method != TRINE_PRECOND_MOS_A)
        for (int l = 0; l < p->info.m; l++) d->coverage[l] = s->coverage[l];
    else
        for (int l = 0; l <= p->info.m; l++) d->c_diag[l] = s->c_diag[l];
    return precond_is_product(p->options.method) ? measure_remainder(p, &d->R_norm) : TRINE_SUCCESS;
}
