/* Life of a forest: its graph, and memory for all stages. The stages are in stages.c. */
#include <string.h>

#include "core/tally.h"
#include "forest/forest.h"

const char *trine_ranking_name(trine_ranking ranking)
{
    static const char *const names[] = {"auto", "splitters", "scan"};
    return (unsigned)ranking < sizeof names / sizeof *names ? names[ranking] : "unknown";
}

/* ------------------------------------------------------------------- memory */

/** count elements in the context's space, which info.bytes counts. */
static trine_status get(trine_forest f, int64_t count, size_t size, void *pointer)
{
    void **p = pointer;
    f->info.bytes += count * (int64_t)size;
    return f->counts_only ? TRINE_SUCCESS : trine_alloc(f->ctx, f->ctx->info.space, (size_t)count * size, p);
}
#define GET(f, p, count) get((f), (count), sizeof *(p), (void *)&(p))

/** A host array of the pattern to the context's space; it is no longer the host's. */
static trine_status take(trine_forest f, int64_t count, size_t size, void *pointer)
{
    void **p = pointer;
    void *host = *p;
    f->info.bytes += count * (int64_t)size;
    if (!f->ctx->cuda) return TRINE_SUCCESS;
    *p = NULL;
    const trine_status status = trine_device_upload(f->ctx, host, (size_t)count * size, p);
    trine_free(f->ctx, TRINE_HOST, host);
    return status;
}
#define TAKE(f, p, count) take((f), (count), sizeof *(p), (void *)&(p))

/** The real graph, made on the host. */
static trine_status make_graph(trine_forest f, trine_matrix A)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_graph *g = &f->graph, h = {0};
    const trine_context ctx = f->ctx;
    status = forest_pattern(ctx, A, &h);
    for (int64_t i = 0; !status && i < h.n; i++)
        if (h.begin[i + 1] - h.begin[i] > h.longest) h.longest = h.begin[i + 1] - h.begin[i];
    *g = h;
    if (status) { /* what there is of it is still the host's */
        void *arrays[] = {h.begin, h.columns, h.there, h.back, h.diagonal};
        for (int k = 0; k < 5; k++) trine_free(ctx, TRINE_HOST, arrays[k]);
        *g = (struct forest_graph){0};
        return status;
    }
    const size_t place = forest_place_size(g);
    trine_status first = TRINE_SUCCESS; /* all are taken, so that release finds them in one space */
    const trine_status taken[] = {
        TAKE(f, g->begin, g->n + 1), TAKE(f, g->columns, g->entries), take(f, g->entries, place, (void *)&g->there),
        take(f, g->entries, place, (void *)&g->back), take(f, g->n, place, (void *)&g->diagonal)};
    for (int k = 4; k >= 0; k--)
        if (taken[k]) first = taken[k];
    g->end = g->begin ? g->begin + 1 : NULL;
    return first;
}

/** Everything but the pattern: of f->graph.n vertices and f->graph.entries. */
static trine_status make_arrays(trine_forest f)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = f->graph.n;
    int64_t own = 0;
    struct forest_counts none = {.bad_row = INT64_MAX};
    TRY(get(f, f->graph.entries, forest_weight_size(f->dtype), &f->graph.weights));
    TRY(GET(f, f->neighbours, n * f->options.max_n));
    TRY(GET(f, f->proposals, n * (f->options.max_n < 2 ? 2 : f->options.max_n)));
    TRY(GET(f, f->candidates, n * FOREST_CANDIDATES));
    TRY(GET(f, f->path, n));
    TRY(GET(f, f->position, n));
    TRY(GET(f, f->permutation, n));
    TRY(GET(f, f->counts, 1));
    TRY(GET(f, f->link, (f->ctx->cuda ? 16 : 12) * n));
    TRY(GET(f, f->weight, 2 * n));
    TRY(GET(f, f->list, n));
    TRY(GET(f, f->index, n));
    TRY(GET(f, f->sums, (n / 1024 + 2) * FOREST_SUMS));
    TRY(f->backend->count_bytes(f, &own));
    f->info.bytes += own;
    if (f->counts_only) return TRINE_SUCCESS;
    f->distance = (int32_t *)f->link + 4 * n;
    f->edge = f->link + 8 * n;
    TRY(trine_copy(f->ctx, f->counts, f->ctx->info.space, &none, TRINE_HOST, sizeof none));
    TRY(f->backend->create(f));
done:
    return status;
}

/** Rows of its own in room for graph.entries. */
static trine_status make_open(trine_forest c)
{
    trine_status status = TRINE_SUCCESS;
    TRY(GET(c, c->absent, c->graph.n));
    TRY(GET(c, c->graph.begin, c->graph.n));
    TRY(GET(c, c->graph.end, c->graph.n));
    TRY(GET(c, c->graph.columns, c->graph.entries));
    TRY(make_arrays(c));
done:
    return status;
}

/** The forest of pairs: rows of its own in room for all of f's entries. */
static trine_status make_coarse(trine_forest f)
{
    trine_status status = TRINE_SUCCESS;
    if (!f->coarse) TRY(CALLOC(f->ctx, f->coarse, 1));
    trine_forest c = f->coarse;
    c->refs = 1;
    c->ctx = trine_retain_context(f->ctx);
    c->dtype = f->dtype;
    c->options = f->options;
    c->options.max_n = 2;
    c->options.blocks = 0;
    c->backend = f->backend;
    c->counts_only = f->counts_only;
    c->info.ranking = f->info.ranking;
    c->graph.n = f->graph.n;
    c->graph.entries = f->graph.entries;
    c->graph.longest = 2 * f->graph.longest;
    TRY(GET(c, c->keys, c->graph.entries));
    TRY(make_open(c));
    c->info.n = f->info.n;
    c->info.edges = f->info.edges;
    c->info.capturable = f->info.capturable;
    f->info.bytes += c->info.bytes;
done:
    return status;
}

/** What follows the pattern. */
static trine_status make_rest(trine_forest f)
{
    trine_status status = TRINE_SUCCESS;
    TRY(make_arrays(f));
    if (f->ctx->cuda) TRY(get(f, f->nnz, trine_dtype_size(f->dtype), &f->staged));
    if (f->options.blocks) TRY(make_coarse(f));
done:
    return status;
}

/* --------------------------------------------------------------------- life */

/** All that is known before the pattern of A. */
static trine_status begin(trine_forest f, trine_context ctx, trine_matrix A, const trine_forest_options *options,
                          trine_matrix_info *m)
{
    const trine_status status = trine_matrix_get_info(A, m);
    f->refs = 1;
    f->ctx = trine_retain_context(ctx);
    f->options = *options;
    if (!f->options.max_n) f->options.max_n = 2;
    f->backend = ctx->cuda ? TRINE_CUDA_TABLE(&forest_cuda) : &forest_cpu;
    f->info.ranking = options->ranking ? options->ranking : TRINE_RANKING_SPLITTERS;
    f->info.capturable = ctx->cuda;
    f->dtype = m->dtype;
    f->nnz = m->nnz;
    return status;
}

trine_status forest_create_open(trine_context ctx, trine_forest *out, trine_dtype t, int64_t n, int64_t entries,
                                int64_t longest)
{
    trine_status status = TRINE_SUCCESS;
    struct trine_forest_s counted = {0};
    trine_forest f = ctx->is_tally ? &counted : trine_host_calloc(ctx, 1, sizeof *f);
    if (!f) return TRINE_ERR_MEMORY;
    f->refs = 1;
    f->ctx = trine_retain_context(ctx);
    f->dtype = t;
    f->options.max_n = 2;
    f->backend = TRINE_CUDA_TABLE(&forest_cuda);
    f->info.ranking = TRINE_RANKING_SPLITTERS;
    f->info.n = n;
    f->counts_only = ctx->is_tally;
    f->graph.n = n;
    f->graph.entries = entries;
    f->graph.longest = longest;
    TRY(make_open(f));
    if (!ctx->is_tally && n) TRY(trine_device_fill_async(ctx, f->absent, 0, (size_t)n, ctx->stream));
done:
    if (ctx->is_tally) {
        const int64_t structs = sizeof counted + FOREST_OWN_BYTES;
        const trine_memory told = {
            .host_kept = structs, .host_peak = structs, .device_kept = f->info.bytes, .device_peak = f->info.bytes};
        trine_tally_add(ctx, &told, 0);
        trine_context_destroy(&f->ctx);
    } else if (status) {
        trine_forest_destroy(&f);
    } else {
        *out = f;
    }
    return status;
}

static trine_status check_options(const trine_forest_options *o)
{
    REQUIRE_RESERVE(trine_forest_options, o);
    REQUIRE(o->max_n >= 0 && o->max_n <= FOREST_MAX_N, "max_n %d is outside 0..%d", o->max_n, FOREST_MAX_N);
    REQUIRE((unsigned)o->ranking <= TRINE_RANKING_SCAN, "ranking %d does not exist", (int)o->ranking);
    return TRINE_SUCCESS;
}

trine_status trine_forest_create(trine_context ctx, trine_forest *out, trine_matrix A,
                                 const trine_forest_options *options)
{
    TRINE_RANGE;
    REQUIRE(out, "forest is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    static const trine_forest_options automatic;
    if (!options) options = &automatic;
    trine_status status = check_options(options);
    if (status) return status;
    const double start = trine_wall_time();
    trine_matrix_info m;
    trine_forest f = trine_host_calloc(ctx, 1, sizeof *f);
    if (!f) return TRINE_ERR_MEMORY;
    TRY(begin(f, ctx, A, options, &m));
    TRY(make_graph(f, A));
    f->info.n = f->graph.n;
    f->info.edges = f->graph.entries / 2;
    TRY(make_rest(f));
    f->info.create_seconds = trine_wall_time() - start;
    trine_log(ctx, 2, "forest: n %lld, edges %lld, created in %.3g s", (long long)f->info.n, (long long)f->info.edges,
              f->info.create_seconds);
    *out = f;
    return TRINE_SUCCESS;
done:
    trine_forest_destroy(&f);
    return status;
}

trine_status trine_forest_memory(trine_context ctx, trine_matrix A, const trine_forest_options *options,
                                 trine_memory *memory)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(A, "A is NULL");
    REQUIRE(memory, "memory is NULL");
    static const trine_forest_options automatic;
    if (!options) options = &automatic;
    trine_status status = check_options(options);
    if (status) return status;
    trine_matrix_info m;
    struct trine_forest_s coarse = {0}, f = {.counts_only = true, .coarse = &coarse};
    TRY(begin(&f, ctx, A, options, &m));
    if (m.n_rows != m.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)m.n_rows, (long long)m.n_cols);
    const int64_t n = m.n_rows, index = 8, column = 4;
    f.graph.n = n;
    f.graph.entries = 2 * m.nnz;
    TRY(make_rest(&f));
    const int64_t place = forest_is_wide(m.nnz) ? 8 : 4;
    const int64_t pattern = (n + 1) * index + n * place + f.graph.entries * (column + 2 * place);
    /* both transposes, and a copy of a matrix in device memory */
    int64_t meanwhile = 2 * ((n + 2) * index + m.nnz * (column + index));
    if (m.space == TRINE_DEVICE)
        meanwhile += (n + 1) * index + m.nnz * (column + (int64_t)trine_dtype_size(m.dtype)) + 4096;
    const int64_t structs = (options->blocks ? 2 : 1) * (int64_t)sizeof f + 4096;
    const int64_t arrays = pattern + f.info.bytes, on_host = pattern + meanwhile;
    *memory = (trine_memory){.host_kept = structs, .host_peak = structs + on_host};
    if (ctx->cuda) memory->device_kept = memory->device_peak = arrays;
    else {
        memory->host_kept += arrays;
        memory->host_peak = structs + (on_host > arrays ? on_host : arrays); /* one after the other */
    }
done:
    trine_context_destroy(&coarse.ctx);
    trine_context_destroy(&f.ctx);
    return status;
}

trine_status trine_forest_destroy(trine_forest *out)
{
    if (!out || !*out) return TRINE_SUCCESS;
    trine_forest f = *out;
    *out = NULL;
    if (!trine_release(&f->refs)) return TRINE_SUCCESS;
    trine_context ctx = f->ctx;
    struct forest_graph *g = &f->graph;
    void *arrays[] = {g->begin,       f->absent ? g->end : NULL,
                      g->columns,     g->weights,
                      g->there,       g->back,
                      g->diagonal,    f->neighbours,
                      f->path,        f->position,
                      f->permutation, f->absent,
                      f->counts,      f->proposals,
                      f->candidates,  f->keys,
                      f->link,        f->list,
                      f->index,       f->weight,
                      f->sums,        f->staged};
    if (f->backend) f->backend->release(f);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(ctx, ctx->info.space, arrays[k]);
    trine_forest_destroy(&f->coarse);
    trine_free(ctx, TRINE_HOST, f);
    return trine_context_destroy(&ctx);
}

trine_status trine_forest_get_info(trine_forest f, trine_forest_info *info)
{
    REQUIRE(f, "forest is NULL");
    REQUIRE(info, "info is NULL");
    *info = f->info;
    return TRINE_SUCCESS;
}
