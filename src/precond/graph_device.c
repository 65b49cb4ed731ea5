/* Forests of matrices in a GPU's memory, whose graphs are made there: of A, once its pattern is there, and of a B_l
 * of the adaptive construction in every numeric. */
#include "core/tally.h"
#include "forest/forest.h"
#include "precond/paths.h"

static trine_status get(trine_precond p, int64_t *bytes, int64_t count, size_t size, void *pointer)
{
    *bytes += count * (int64_t)size;
    return trine_alloc(p->base.ctx, TRINE_DEVICE, (size_t)count * size, (void **)pointer);
}

/** What counts and sorts, of at most `most` entries without one opposite. */
static trine_status make_lists(trine_precond p, int64_t most, struct precond_graph *g)
{
    trine_status status = TRINE_SUCCESS;
    struct precond_device_lists *l = &g->lists;
    const int64_t n = p->base.n;
    TRY(get(p, &g->bytes, n + 1, sizeof *l->missing, &l->missing));
    TRY(get(p, &g->bytes, n + 1, sizeof *l->extra, &l->extra));
    TRY(get(p, &g->bytes, n + 1, sizeof *l->rows, &l->rows));
    TRY(get(p, &g->bytes, 1, sizeof *l->longest, &l->longest));
    TRY(get(p, &g->bytes, n, sizeof *l->filled, &l->filled));
    TRY(precond_device_graphs_of(p)->scratch(n, most, &l->scratch_bytes));
    TRY(get(p, &g->bytes, (int64_t)l->scratch_bytes, 1, &l->scratch));
done:
    return status;
}

static void free_listed(trine_context ctx, struct precond_device_lists *l)
{
    for (int k = 0; k < 2; k++) {
        trine_free(ctx, TRINE_DEVICE, l->keys[k]);
        trine_free(ctx, TRINE_DEVICE, l->sources[k]);
        l->keys[k] = l->sources[k] = NULL;
    }
    l->listed = 0;
}

/** Room for so many entries that have none opposite. */
static trine_status make_listed(trine_precond p, struct precond_device_lists *l, int64_t count)
{
    trine_status status = TRINE_SUCCESS;
    if (count <= l->listed) return TRINE_SUCCESS;
    free_listed(p->base.ctx, l);
    for (int k = 0; k < 2; k++) {
        TRY(trine_alloc(p->base.ctx, TRINE_DEVICE, (size_t)count * sizeof(int32_t), (void **)&l->keys[k]));
        TRY(trine_alloc(p->base.ctx, TRINE_DEVICE, (size_t)count * sizeof(int32_t), (void **)&l->sources[k]));
    }
    l->listed = count;
done:
    return status;
}

/** Which entries of B have none opposite, sorted; *entries and *longest: of the graph, and of a row of it.
 *  Synchronizes. */
static trine_status look_at(trine_precond p, const struct precond_device_rows *B, struct precond_graph *g,
                            int64_t *entries, int64_t *longest)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const struct precond_device_graphs *device = precond_device_graphs_of(p);
    struct precond_device_lists *l = &g->lists;
    const int64_t n = p->base.n;
    int64_t missing = 0;
    TRY(device->count(p, B, l, ctx->stream));
    TRY(trine_copy(ctx, &missing, TRINE_HOST, l->missing + n, TRINE_DEVICE, sizeof missing));
    TRY(trine_copy(ctx, entries, TRINE_HOST, l->rows + n, TRINE_DEVICE, sizeof *entries));
    TRY(trine_copy(ctx, longest, TRINE_HOST, l->longest, TRINE_DEVICE, sizeof *longest));
    TRY(make_listed(p, l, missing));
    TRY(device->sort(p, B, l, missing, ctx->stream));
done:
    return status;
}

trine_status precond_graph_of_A(trine_precond p, struct precond_graph *g)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    const int64_t n = p->base.n;
    int64_t entries = 2 * p->nnz, longest = n;
    g->is_fixed = true;
    TRY(make_lists(p, p->nnz, g));
    if (ctx->is_tally) TRY(make_listed(p, &g->lists, p->nnz));
    else TRY(look_at(p, &p->device->rows, g, &entries, &longest));
    TRY(forest_create_open(ctx, &g->forest, p->base.dtype, n, entries, longest));
done:
    return status;
}

trine_status precond_graph_of_any(trine_precond p, int64_t entries, struct precond_graph *g)
{
    trine_status status = TRINE_SUCCESS;
    TRY(make_lists(p, entries, g));
    TRY(forest_create_open(p->base.ctx, &g->forest, p->base.dtype, p->base.n, 2 * entries, p->base.n));
done:
    return status;
}

trine_status precond_fill_graph(trine_precond p, const struct precond_device_rows *B, const void *T,
                                const uint8_t *kept, struct precond_graph *g)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_graph *f = &g->forest->graph;
    const struct precond_device_graph graph = {f->begin, f->end, f->columns, f->weights};
    int64_t entries;
    if (!g->is_fixed) TRY(look_at(p, B, g, &entries, &f->longest)); /* by which forests choose their kernels */
    TRY(precond_device_graphs_of(p)->merge[p->base.dtype](p, B, T, kept, !g->is_fixed, &g->lists, &graph,
                                                          p->base.ctx->stream));
    TRY(forest_open_is_filled(g->forest, p->base.ctx->stream));
done:
    return status;
}

void precond_free_graph(trine_precond p, struct precond_graph *g)
{
    struct precond_device_lists *l = &g->lists;
    void *arrays[] = {l->missing, l->extra, l->rows, l->longest, l->filled, l->scratch};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_DEVICE, arrays[k]);
    free_listed(p->base.ctx, l);
    trine_forest_destroy(&g->forest);
}

int64_t precond_graph_bytes(const struct precond_graph *g)
{
    return g->bytes + 16 * g->lists.listed + (g->forest ? g->forest->info.bytes : 0);
}
