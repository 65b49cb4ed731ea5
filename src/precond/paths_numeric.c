/* Factors along paths: their values, on the CPU and on the device. (Klein 2024, Sections 4.6, 5.2.) */
#include <math.h>
#include <string.h>

#include "precond/common/rows.h"
#include "precond/paths.h"

static double omega_of(const trine_precond_options *o)
{
    if (o->omega != 0) return o->omega > 0 ? o->omega : 0;
    return o->method == TRINE_PRECOND_MOS_D ? 0 : 0.01;
}

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
        TRY(trine_copy(p->base.ctx, paths_of(p)->names, TRINE_HOST, arrays.path, TRINE_DEVICE, (size_t)n * 4));
        path = paths_of(p)->names;
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

static void note_singular(trine_precond p, int64_t row)
{
    if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
}

/** Which entries count, of these values. */
static void choose_pattern(trine_precond p)
{
    struct paths_state *s = paths_of(p);
    const trine_precond_options *o = &p->options;
    const struct precond_rows rows = precond_rows_of(p);
    if (!s->candidates) return;
    precond_cpu.select[p->base.dtype](&rows, o->pattern == TRINE_PATTERN_MAX_N ? o->pattern_entries : -1,
                                      o->pattern_threshold, s->candidates, s->longest, s->kept, p->base.ctx->threads);
}

/** Paths of factor l, if they are to be found, and A's entries along them; *reached: the sum of |a_ij| of these. */
static trine_status make_factor(trine_precond p, int l, bool builds, double *reached)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    const bool once = p->options.method == TRINE_PRECOND_MOS_D;
    struct precond_extraction e = {.rows = precond_rows_of(p),
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
    struct paths_state *s = paths_of(p);
    const int count = builds ? s->capacity : p->info.m;
    const struct precond_rows rows = precond_rows_of(p);
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
    struct paths_state *s = paths_of(p);
    const int64_t n = p->base.n;
    for (int l = 1; l < p->info.m; l++) {
        for (int64_t i = 0; i < n; i++) s->inverse[s->factor[l - 1].permutation[i]] = (int32_t)i;
        for (int64_t i = 0; i < n; i++) s->factor[l].to_next[i] = s->inverse[s->factor[l].permutation[i]];
    }
}

trine_status precond_link_factor(trine_precond p, int l)
{
    trine_status status = TRINE_SUCCESS;
    const struct precond_device_factor *f = &paths_of(p)->on_device[l];
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    TRY(device->locate(p, f, p->base.ctx->stream));
    if (l && precond_is_product(p->options.method)) TRY(device->fuse(p, f - 1, f, p->base.ctx->stream));
done:
    return status;
}

/** What solves read, to a GPU, where numeric runs on the host. */
static trine_status send_factors(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    const size_t n = (size_t)p->base.n, bands = n * trine_dtype_size(p->base.dtype), numbers = n * sizeof(int32_t);
    for (int l = 0; s->on_device && n && l < p->info.m; l++) {
        const struct precond_factor *f = &s->factor[l];
        const struct precond_device_factor *d = &s->on_device[l];
        TRY(trine_device_copy_async(ctx, d->a, f->a, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->b, f->b, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->c, f->c, bands, ctx->stream));
        TRY(trine_device_copy_async(ctx, d->permutation, f->permutation, numbers, ctx->stream));
        TRY(precond_link_factor(p, l));
    }
done:
    return status;
}

/** Paths of forests that the GPU has made. */
static trine_status fetch_paths(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    const int64_t n = p->base.n;
    for (int l = 0; precond_has_forests(p->options.method) && l < p->info.m; l++) {
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
    struct paths_state *s = paths_of(p);
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
    struct paths_state *s = paths_of(p);
    const struct paths_on_device *d = &s->device;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    void *stream = p->base.ctx->stream;
    trine_forest_arrays arrays;
    if (builds) {
        trine_forest forest = d->graph.forest;
        if (l > 0) TRY(trine_forest_scale(forest, omega_of(&p->options), NULL));
        TRY(precond_make_forest(p, forest, l, TRINE_DEVICE, NULL));
        TRY(trine_forest_get_arrays(forest, &arrays));
        TRY(device->take_paths(p, arrays.path, arrays.permutation, &s->on_device[l], stream));
        TRY(precond_link_factor(p, l));
    }
    TRY(device->extract[p->base.dtype](p, &p->device->rows, &s->on_device[l], d->kept, d->taken, stream));
done:
    return status;
}

/** Which vertices follow the one before them on a path, of factors that the host has made. */
static trine_status send_joined(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    const size_t n = (size_t)p->base.n;
    uint8_t *joined = NULL;
    TRY(ALLOC(ctx, joined, p->base.n));
    for (int l = 0; l < p->info.m; l++) {
        const struct precond_factor *f = &s->factor[l];
        memset(joined, 1, n);
        for (int64_t k = 0; k < f->paths; k++) joined[f->starts[k]] = 0;
        TRY(trine_copy(ctx, s->on_device[l].joined, TRINE_DEVICE, joined, TRINE_HOST, n));
    }
done:
    trine_free(ctx, TRINE_HOST, joined);
    return status;
}

/** Numeric of MOS_A on the host after all, with the values that the GPU has. */
static trine_status adapt_at_home(trine_precond p, bool builds)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    const size_t size = trine_dtype_size(p->base.dtype);
    if (!s->weights) s->weights = trine_host_alloc(ctx, p->nnz, size);
    if (!s->weights) return TRINE_ERR_MEMORY;
    if (!s->forest) TRY(trine_forest_create(ctx, &s->forest, p->matrix, NULL));
    TRY(trine_copy(ctx, p->values, TRINE_HOST, p->device->rows.values, TRINE_DEVICE, (size_t)p->nnz * size));
    p->not_finite_row = precond_cpu.gather[p->base.dtype](p, NULL, p->values);
    s->has_forests = !builds;
    s->at_home = true;
    TRY(precond_paths_numeric(p, TRINE_REUSE_FORESTS));
    TRY(trine_device_synchronize(ctx, ctx->stream));
    TRY(send_joined(p));
    p->is_home = true;
done:
    return status;
}

static trine_status adapt_on_device(trine_precond p, bool builds)
{
    trine_status status = TRINE_SUCCESS;
    bool is_sound;
    TRY(precond_adapt_on_device(p, builds, &is_sound));
    if (!is_sound) TRY(adapt_at_home(p, builds));
    paths_of(p)->has_forests = true;
done:
    return status;
}

trine_status precond_paths_numeric_on_device(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    const struct paths_on_device *d = &s->device;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    const struct precond_device_rows *rows = &p->device->rows;
    const trine_dtype t = p->base.dtype;
    const bool builds = precond_has_forests(p->options.method) && (!s->has_forests || reuse == TRINE_REUSE_NOTHING),
               directs = p->options.method == TRINE_PRECOND_MOS_D && s->capacity > 1;
    s->at_home = false;
    if (builds) s->has_forests = false;
    if (directs) TRY(device->diagonal[t](p, rows, TRINE_PRECOND_DIAGP0, d->room, ctx->stream));
    if (d->T) TRY(device->diagonal[t](p, rows, TRINE_PRECOND_DIAGP1, d->T, ctx->stream));
    if (s->adapting) return adapt_on_device(p, builds);
    if (builds) TRY(precond_fill_graph(p, rows, d->T, d->kept, &s->device.graph));
    if (d->taken && p->nnz) TRY(trine_device_fill_async(ctx, d->taken, 0, (size_t)p->nnz, ctx->stream));
    p->info.m = s->capacity;
    for (int l = 0; l < p->info.m; l++) TRY(make_factor_on_device(p, l, builds));
    for (int l = 0; directs && l < p->info.m; l++) {
        TRY(device->direct[t](p, &s->on_device[l], d->T, d->room, p->info.m, l, ctx->stream));
    }
    if (s->product) TRY(trine_spmv_numeric(s->product, TRINE_DEVICE, rows->values, NULL));
    s->has_forests = true;
done:
    return status;
}

/** The first row where T is zero or not finite, -1: none. */
static int64_t find_bad(trine_dtype t, int64_t n, const void *T)
{
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
        double size = 0;
        for (int64_t k = i * parts; k < (i + 1) * parts; k++)
            size += fabs(trine_dtype_is_single(t) ? (double)((const float *)T)[k] : ((const double *)T)[k]);
        if (!(size > 0 && isfinite(size))) return i;
    }
    return -1;
}

/** MOS_A's factors are what the GPU has: their pivots and T. */
static trine_status bring_adapted_home(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    TRY(fetch_paths(p));
    TRY(fetch_factors(p));
    note_singular(p, find_bad(p->base.dtype, p->base.n, s->T));
    for (int l = 0; l < p->info.m; l++)
        note_singular(p, precond_cpu.eliminate[p->base.dtype](&s->factor[l], p->base.n, p->base.ctx->threads));
    fuse_permutations(p);
done:
    return status;
}

trine_status precond_paths_numeric(trine_precond p, trine_reuse reuse)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    if (s->adapting && !s->at_home) return bring_adapted_home(p);
    const trine_dtype t = p->base.dtype;
    const trine_precond_method method = p->options.method;
    const int threads = p->base.ctx->threads;
    const struct precond_rows rows = precond_rows_of(p);
    const bool builds = precond_has_forests(method) && (!s->has_forests || reuse == TRINE_REUSE_NOTHING);
    if (p->device) TRY(fetch_paths(p));
    if (builds) s->has_forests = false;
    precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP0, s->room, threads);
    if (s->T) note_singular(p, precond_cpu.diagonal[t](&rows, TRINE_PRECOND_DIAGP1, s->T, threads));
    if (precond_has_forests(method)) choose_pattern(p);
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
    if (p->device && !s->at_home) return fetch_factors(p);
    TRY(send_factors(p));
    if (s->product) TRY(trine_spmv_numeric(s->product, TRINE_HOST, NULL, NULL));
    s->has_forests = true;
done:
    return status;
}
