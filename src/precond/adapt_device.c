/* The adaptive construction of MOS_A on a GPU, as adapt.c has it on the host. Paths whose generators are of no use,
 * which the host solves exactly, send the whole numeric there. */
#include <string.h>

#include "precond/paths.h"

struct adaption_on_device {
    struct precond_device_adaption gpu;
    struct precond_graph graph; /* of B_l, l > 0, where there are several factors */
    int rooms; /* for B_l */
    int64_t bytes;
};

enum { LONGEST = 8 << (PRECOND_TIERS - 1) };

bool precond_adapts_on_device(trine_precond p)
{
    const trine_precond_options *o = &p->options;
    int64_t longest = 0;
    for (int64_t i = 0; i < p->base.n; i++) {
        const int64_t count = p->offsets[i + 1] - p->offsets[i] + (p->diagonal[i] < 0);
        if (count > longest) longest = count;
    }
    return !o->exact_inverse && o->pattern != TRINE_PATTERN_GIVEN && longest <= LONGEST;
}

/* ----------------------------------------------------------------- analyse */

static trine_status get(trine_precond p, int64_t count, size_t size, void *pointer)
{
    paths_of(p)->adapting->bytes += count * (int64_t)size;
    return trine_alloc(p->base.ctx, TRINE_DEVICE, (size_t)count * size, (void **)pointer);
}
#define GET(p, x, count) get((p), (count), sizeof *(x), (void *)&(x))

/** The smallest tier whose threads suffice for a row. */
static int tier_of(trine_precond p, int64_t i)
{
    const int64_t count = p->offsets[i + 1] - p->offsets[i] + (p->diagonal[i] < 0);
    int tier = 0;
    while ((int64_t)8 << tier < count) tier++;
    return tier;
}

static trine_status list_rows(trine_precond p, struct precond_device_adaption *g)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = p->base.n;
    int64_t next[PRECOND_TIERS];
    int32_t *list = NULL;
    TRY(ALLOC(p->base.ctx, list, n));
    for (int64_t i = 0; i < n; i++) g->tier[tier_of(p, i) + 1]++;
    for (int k = 0; k < PRECOND_TIERS; k++) {
        g->tier[k + 1] += g->tier[k];
        next[k] = g->tier[k];
    }
    for (int64_t i = 0; i < n; i++) list[next[tier_of(p, i)]++] = (int32_t)i;
    TRY(trine_device_upload(p->base.ctx, list, (size_t)n * sizeof *list, (void **)&g->list));
    paths_of(p)->adapting->bytes += n * (int64_t)sizeof *list;
done:
    trine_free(p->base.ctx, TRINE_HOST, list);
    return status;
}

trine_status precond_adapt_device_analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    struct adaption_on_device *d;
    const int64_t *room = precond_adapt_room(p);
    const int64_t n = p->base.n, most = room[n];
    const size_t size = trine_dtype_size(p->base.dtype);
    const size_t map = trine_dtype_is_complex(p->base.dtype) ? 64 : 32;
    const int64_t chunks = n / 32 + 1, generated = n + n / 8 + 64;
    TRY(CALLOC(p->base.ctx, d, 1));
    s->adapting = d;
    struct precond_device_adaption *g = &d->gpu;
    TRY(trine_device_upload(p->base.ctx, room, (size_t)(n + 1) * sizeof *room, (void **)&g->room));
    d->bytes += (n + 1) * 8;
    TRY(list_rows(p, g));
    TRY(GET(p, g->position, n));
    TRY(get(p, generated, size, &g->before));
    TRY(get(p, generated, size, &g->after));
    TRY(get(p, n, size, &g->centre));
    TRY(get(p, 2 * chunks, map, &g->maps));
    TRY(GET(p, g->start, n));
    TRY(GET(p, g->last, chunks));
    TRY(GET(p, g->bad, 1));
    TRY(get(p, n, size, &g->diagonal));
    TRY(GET(p, g->sums, 2 * n));
    TRY(GET(p, g->parts, 2 * PRECOND_PARTS * (TRINE_PRECOND_MAX_M + 1)));
    d->rooms = s->capacity > 2 ? 2 : s->capacity - 1;
    for (int k = 0; k < d->rooms; k++) {
        TRY(GET(p, g->to[k].ends, n));
        TRY(GET(p, g->to[k].columns, most));
        TRY(get(p, most, size, &g->to[k].values));
    }
    if (s->capacity > 1) TRY(precond_graph_of_any(p, most - n, &d->graph));
done:
    return status;
}

void precond_adapt_device_release(trine_precond p)
{
    struct adaption_on_device *d = paths_of(p)->adapting;
    if (!d) return;
    struct precond_device_adaption *g = &d->gpu;
    void *arrays[] = {g->room,  g->list, g->position, g->before,   g->after, g->centre, g->maps,
                      g->start, g->last, g->bad,      g->diagonal, g->sums,  g->parts};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
    for (int k = 0; k < 2; k++) {
        trine_free(p->base.ctx, TRINE_DEVICE, g->to[k].ends);
        trine_free(p->base.ctx, TRINE_DEVICE, g->to[k].columns);
        trine_free(p->base.ctx, TRINE_DEVICE, g->to[k].values);
    }
    precond_free_graph(p, &d->graph);
    trine_free(p->base.ctx, TRINE_HOST, d);
}

int64_t precond_adapt_device_memory(trine_precond p)
{
    const struct adaption_on_device *d = paths_of(p)->adapting;
    return d ? d->bytes + precond_graph_bytes(&d->graph) : 0;
}

/* ----------------------------------------------------------------- numeric */

/** The paths of B's forest. */
static trine_status find_paths(trine_precond p, int l, const struct precond_device_rows *B)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    struct adaption_on_device *d = s->adapting;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    const trine_dtype t = p->base.dtype;
    void *stream = p->base.ctx->stream;
    struct precond_graph *graph = l ? &d->graph : &s->device.graph;
    trine_forest_arrays arrays;
    if (!l) TRY(device->diagonal[t](p, B, TRINE_PRECOND_DIAGP1, d->gpu.diagonal, stream));
    TRY(precond_fill_graph(p, B, d->gpu.diagonal, NULL, graph));
    TRY(precond_make_forest(p, graph->forest, l, TRINE_DEVICE, NULL));
    TRY(trine_forest_get_arrays(graph->forest, &arrays));
    TRY(device->take_paths(p, arrays.path, arrays.permutation, &s->on_device[l], stream));
    TRY(precond_link_factor(p, l));
done:
    return status;
}

/** c_diag(B_l) for first <= l <= last. */
static trine_status read_sums(trine_precond p, int first, int last)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = paths_of(p);
    double parts[2 * PRECOND_PARTS];
    TRY(trine_device_synchronize(p->base.ctx, p->base.ctx->stream));
    for (int l = first; l <= last; l++) {
        double diagonal = 0, all = 0;
        TRY(trine_copy(p->base.ctx, parts, TRINE_HOST, s->adapting->gpu.parts + 2 * PRECOND_PARTS * l, TRINE_DEVICE,
                       sizeof parts));
        for (int k = 0; k < PRECOND_PARTS; k++) {
            diagonal += parts[2 * k];
            all += parts[2 * k + 1];
        }
        s->c_diag[l] = diagonal / all;
    }
done:
    return status;
}

trine_status precond_adapt_on_device(trine_precond p, bool builds, bool *is_sound)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = paths_of(p);
    struct precond_device_adaption *g = &s->adapting->gpu;
    const struct precond_device_numeric *device = precond_device_numeric_of(p);
    const struct precond_device_adapt *adapt = precond_device_adapt_of(p);
    const trine_precond_options *o = &p->options;
    const trine_dtype t = p->base.dtype;
    const int count = builds ? s->capacity : p->info.m;
    const bool homogeneous = o->homogeneous != 0, looks = builds && o->coverage > 0;
    const double threshold = o->pattern == TRINE_PATTERN_MAX_T ? o->pattern_threshold : 0;
    struct precond_device_rows B = p->device->rows;
    int32_t bad = 0;
    *is_sound = true;
    p->info.m = count;
    if (!p->base.n) {
        s->c_diag[0] = s->c_diag[1] = 0.0 / 0.0;
        return TRINE_SUCCESS;
    }
    if (homogeneous) {
        TRY(device->scale[t](p, &B, s->device.T, NULL, s->device.scaled, ctx->stream));
        B.values = s->device.scaled;
    }
    TRY(trine_device_fill_async(ctx, g->bad, 0, sizeof *g->bad, ctx->stream));
    TRY(adapt->sums_of[t](p, &B, g->sums, ctx->stream));
    TRY(adapt->add_up(p, g->sums, g->parts, ctx->stream));
    if (looks) TRY(read_sums(p, 0, 0));
    for (int l = 0; l < count; l++) {
        const struct precond_device_factor *f = &s->on_device[l];
        const int to = l + 1 < count ? l % 2 : -1;
        if (builds) TRY(find_paths(p, l, &B));
        TRY(device->extract[t](p, &B, f, NULL, NULL, ctx->stream));
        TRY(adapt->generate[t](p, f, g, ctx->stream));
        TRY(adapt->rows[t](p, &B, f, g, to, threshold, g->sums, ctx->stream));
        TRY(adapt->add_up(p, g->sums, g->parts + 2 * PRECOND_PARTS * (l + 1), ctx->stream));
        if (to >= 0)
            B = (struct precond_device_rows){p->base.n, g->room, g->to[to].ends, g->to[to].columns, g->to[to].values};
        if (!looks) continue;
        TRY(read_sums(p, l + 1, l + 1));
        if (!precond_is_enough(p, l, s->c_diag[l], s->c_diag[l + 1])) continue;
        p->info.m = l + 1;
        break;
    }
    TRY(adapt->finish[t](p, &s->on_device[p->info.m - 1], g, homogeneous, s->device.T, ctx->stream));
    TRY(read_sums(p, 0, p->info.m));
    TRY(trine_copy(ctx, &bad, TRINE_HOST, g->bad, TRINE_DEVICE, sizeof bad));
    *is_sound = !bad;
done:
    return status;
}
