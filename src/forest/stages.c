/* The stages of a forest: arguments, order of calls, and what the host alone does. The work is in the backends, one
 * table of functions for the CPU (cpu/backend.c) and one for a GPU (cuda/backend.cu). */
#include <math.h>

#include "core/test_interface.h"
#include "forest/forest.h"

/* -------------------------------------------------------------------- calls */

/** A call begins; it ends with leave if this went well. */
static trine_status enter(trine_forest f, const trine_exec *exec, void **stream)
{
    REQUIRE(f, "forest is NULL");
    const trine_status status = trine_check_exec(exec);
    if (status) return status;
    if (!trine_enter_alone(&f->usage))
        return trine_fail(TRINE_ERR_STATE, "the forest is in use by another thread: it is for one call at a time");
    *stream = trine_exec_stream(f->ctx, exec);
    return TRINE_SUCCESS;
}
static trine_status leave(trine_forest f, trine_status status)
{
    trine_leave_alone(&f->usage);
    return status;
}

/** The call of a stage: what it needs, what it does. */
static trine_status need(bool is_there, const char *stage, const char *before)
{
    if (is_there) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STATE, "trine_forest_%s needs %s", stage, before);
}
static trine_status need_matrix(trine_forest f, const char *stage)
{
    if (f->graph.there || !f->absent) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_STATE, "trine_forest_%s is for the forest of a matrix: this one is of its pairs",
                      stage);
}

/** Values in the context's space: themselves, or a copy on the stream. */
static trine_status stage_values(trine_forest f, trine_space space, const void *values, void *stream,
                                 const void **staged)
{
    REQUIRE(space == TRINE_HOST || space == TRINE_DEVICE, "space %d is neither host nor device", (int)space);
    REQUIRE(space == TRINE_HOST || f->ctx->cuda, "values in device memory, but the context is on the CPU");
    REQUIRE(values || !f->nnz, "values is NULL");
    *staged = values;
    if (space == f->ctx->info.space || !f->nnz) return TRINE_SUCCESS;
    *staged = f->staged;
    const trine_status status =
        trine_device_copy_async(f->ctx, f->staged, values, (size_t)f->nnz * trine_dtype_size(f->dtype), stream);
    return status ? status : trine_device_synchronize(f->ctx, stream);
}

/** The options of a factor, with nothing left open. */
static trine_status settle(const struct trine_forest_s *f, const trine_factor_rounds *o, struct forest_rounds *r)
{
    static const trine_factor_rounds automatic;
    if (!o) o = &automatic;
    REQUIRE_RESERVE(trine_factor_rounds, o);
    const int n = o->n ? o->n : f->options.max_n < 2 ? f->options.max_n : 2;
    REQUIRE(n >= 1 && n <= f->options.max_n, "n %d is outside 1..%d, what the forest was created for (max_n)", n,
            f->options.max_n);
    REQUIRE(o->rounds >= 0, "rounds is %d", o->rounds);
    REQUIRE((unsigned)o->ties <= TRINE_TIES_LOWEST_INDEX, "ties %d does not exist", (int)o->ties);
    const int m = o->m ? o->m : o->ties == TRINE_TIES_HASH ? 1 : 5;
    REQUIRE(m >= 1, "m is %d", m);
    REQUIRE(o->km >= 0 && o->km < m, "km %d is outside 0..%d (m - 1)", o->km, m - 1);
    REQUIRE(o->p >= 0 && o->p <= 1, "p %g is no probability", o->p);
    const double positive = (o->p != 0 ? o->p : 0.5) * 0x1p32;
    *r = (struct forest_rounds){.n = n,
                                .most = o->rounds          ? o->rounds
                                        : o->until_maximal ? INT64_MAX
                                                           : 5,
                                .m = m,
                                .km = o->km,
                                .threshold = positive < UINT32_MAX ? (uint32_t)positive : UINT32_MAX,
                                .seed = o->seed,
                                .ties = {o->ties == TRINE_TIES_HASH, forest_mix(o->seed)},
                                .until_maximal = o->until_maximal != 0};
    return TRINE_SUCCESS;
}

/* ------------------------------------------------------------------- stages */

/** There is a new factor of degree n, or none (0). */
static void renew(trine_forest f, int n, forest_ties ties)
{
    f->n = n;
    f->ties = ties;
    f->is_acyclic = f->is_ordered = f->is_ranked = false;
    if (f->coarse) f->coarse->has_weights = false, renew(f->coarse, 0, ties);
}

trine_status forest_open_is_filled(trine_forest f, void *stream)
{
    renew(f, 0, f->ties);
    f->has_weights = true;
    return trine_device_fill_async(f->ctx, &f->counts->has_candidates, 0, sizeof f->counts->has_candidates, stream);
}

static trine_status set_weights(trine_forest f, trine_space space, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const void *staged = NULL;
    TRY(need_matrix(f, "set_weights"));
    TRY(stage_values(f, space, values, stream, &staged));
    renew(f, 0, f->ties);
    f->has_weights = false;
    TRY(f->backend->set_weights(f, staged, stream));
    f->has_weights = true;
done:
    return status;
}

static trine_status factor(trine_forest f, const trine_factor_rounds *options, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_rounds r;
    TRY(settle(f, options, &r));
    TRY(need(f->has_weights, "factor", f->absent ? "trine_forest_coarsen" : "trine_forest_set_weights"));
    renew(f, 0, r.ties);
    TRY(f->backend->factor(f, &r, stream));
    renew(f, r.n, r.ties);
done:
    return status;
}

static trine_status break_cycles(trine_forest f, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    TRY(need(f->n == 1 || f->n == 2, "break_cycles", "a [0,2]- or [0,1]-factor"));
    f->is_ordered = false;
    if (!f->is_acyclic) TRY(f->backend->break_cycles(f, stream));
    f->is_acyclic = true;
done:
    return status;
}

static trine_status order(trine_forest f, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    TRY(need(f->is_acyclic, "order", "trine_forest_break_cycles"));
    TRY(f->backend->order(f, stream));
    f->is_ordered = true;
done:
    return status;
}

static trine_status extract(trine_forest f, trine_space space, const void *values, void *const bands[3],
                            const double *omega, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const void *staged = NULL;
    TRY(need_matrix(f, "extract"));
    TRY(need(f->is_ordered, "extract", "trine_forest_order"));
    TRY(stage_values(f, space, values, stream, &staged));
    for (int k = 0; k < 3; k++)
        if (!bands[k] && f->graph.n) FAIL(TRINE_ERR_ARGUMENT, "%c is NULL", "abc"[k]);
    TRY(f->backend->extract(f, staged, bands, omega, stream));
done:
    return status;
}

static trine_status scale(trine_forest f, double omega, void *stream)
{
    REQUIRE(omega >= 0 && isfinite(omega), "omega is %g", omega);
    const trine_status status = need(f->n > 0 && f->has_weights, "scale", "a factor");
    return status ? status : f->backend->scale(f, omega, stream);
}

static trine_status improve(trine_forest f, int rounds, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    REQUIRE(rounds >= 0, "rounds is %d", rounds);
    TRY(need(f->is_ordered && f->n == 2, "improve", "an ordered forest of a [0,2]-factor"));
    TRY(need(f->has_weights, "improve", "weights"));
    if (f->options.directed) FAIL(TRINE_ERR_UNSUPPORTED, "edges of a directed graph are not exchanged");
    for (int k = 0; k < (rounds ? rounds : 10); k++) {
        f->is_ordered = f->is_ranked = false;
        TRY(f->backend->exchange(f, forest_mix(f->ties.salt + (uint64_t)k), stream));
        TRY(order(f, stream));
    }
done:
    return status;
}

trine_status trine_forest_set_weights(trine_forest f, trine_space space, const void *values, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, set_weights(f, space, values, stream));
}

trine_status trine_forest_factor(trine_forest f, const trine_factor_rounds *options, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, factor(f, options, stream));
}

trine_status trine_forest_break_cycles(trine_forest f, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, break_cycles(f, stream));
}

trine_status trine_forest_order(trine_forest f, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, order(f, stream));
}

static trine_status run(trine_forest f, trine_space space, const void *values, const trine_factor_rounds *options,
                        void *stream)
{
    trine_status status = TRINE_SUCCESS;
    if (values) TRY(set_weights(f, space, values, stream));
    TRY(factor(f, options, stream));
    TRY(break_cycles(f, stream));
    TRY(order(f, stream));
done:
    return status;
}

trine_status trine_forest_run(trine_forest f, trine_space space, const void *values, const trine_factor_rounds *options,
                              const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, run(f, space, values, options, stream));
}

trine_status trine_forest_improve(trine_forest f, int rounds, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, improve(f, rounds, stream));
}

trine_status trine_forest_extract(trine_forest f, trine_space space, const void *values, void *a, void *b, void *c,
                                  const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, extract(f, space, values, (void *const[]){a, b, c}, NULL, stream));
}

trine_status trine_forest_scale(trine_forest f, double omega, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, scale(f, omega, stream));
}

/* ------------------------------------------------------ factors of the host */

/** The graph on the host: f's own on the CPU, a copy on a GPU. */
struct host_graph {
    struct forest_graph graph;
    void *owned[4];
};

static trine_status copy_down(trine_forest f, struct host_graph *h, int which, const void *from, int64_t count,
                              size_t size)
{
    h->owned[which] = trine_host_alloc(f->ctx, count, size);
    if (!h->owned[which]) return TRINE_ERR_MEMORY;
    return trine_copy(f->ctx, h->owned[which], TRINE_HOST, from, TRINE_DEVICE, (size_t)count * size);
}

static trine_status host_graph_open(trine_forest f, void *stream, struct host_graph *h)
{
    trine_status status = TRINE_SUCCESS;
    const struct forest_graph *g = &f->graph;
    *h = (struct host_graph){.graph = *g};
    if (!f->ctx->cuda) return TRINE_SUCCESS;
    TRY(trine_device_synchronize(f->ctx, stream));
    TRY(copy_down(f, h, 0, g->begin, g->n + (f->absent ? 0 : 1), sizeof *g->begin));
    if (f->absent) TRY(copy_down(f, h, 1, g->end, g->n, sizeof *g->end));
    TRY(copy_down(f, h, 2, g->columns, g->entries, sizeof *g->columns));
    TRY(copy_down(f, h, 3, g->weights, g->entries, forest_weight_size(f->dtype)));
    h->graph.begin = h->owned[0];
    h->graph.end = f->absent ? h->owned[1] : h->graph.begin + 1;
    h->graph.columns = h->owned[2];
    h->graph.weights = h->owned[3];
done:
    return status;
}

static void host_graph_close(trine_forest f, struct host_graph *h)
{
    for (int k = 0; k < 4; k++) trine_free(f->ctx, TRINE_HOST, h->owned[k]);
}

/** A factor of the host becomes f's. */
static trine_status adopt(trine_forest f, const int32_t *neighbours, const struct forest_rounds *r)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_counts counts;
    const trine_space space = f->ctx->info.space;
    TRY(trine_copy(f->ctx, &counts, TRINE_HOST, f->counts, space, sizeof counts));
    counts.edges = 0;
    counts.rounds = 0;
    counts.maximal = 0;
    for (int64_t e = 0; e < f->graph.n * r->n; e++) counts.edges += neighbours[e] >= 0;
    TRY(trine_copy(f->ctx, f->neighbours, space, neighbours, TRINE_HOST,
                   (size_t)(f->graph.n * r->n) * sizeof *neighbours));
    TRY(trine_copy(f->ctx, f->counts, space, &counts, TRINE_HOST, sizeof counts));
    renew(f, r->n, r->ties);
done:
    return status;
}

static trine_status factor_sequential(trine_forest f, const trine_factor_rounds *options, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_rounds r;
    struct host_graph h = {0};
    int32_t *neighbours = NULL;
    TRY(settle(f, options, &r));
    TRY(need(f->has_weights, "factor_sequential", "weights"));
    TRY(host_graph_open(f, stream, &h));
    TRY(ALLOC(f->ctx, neighbours, f->graph.n * r.n));
    TRY(forest_greedy(f->ctx, &h.graph, trine_dtype_is_single(f->dtype), &r, neighbours));
    TRY(adopt(f, neighbours, &r));
done:
    trine_free(f->ctx, TRINE_HOST, neighbours);
    host_graph_close(f, &h);
    return status;
}

trine_status trine_forest_factor_sequential(trine_forest f, const trine_factor_rounds *options, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, factor_sequential(f, options, stream));
}

/** What is wrong with vertex v of a caller's factor. */
static trine_status check_vertex(const struct forest_graph *h, int n, const int32_t *neighbours, int64_t v)
{
    const int32_t *mine = neighbours + v * n;
    for (int s = 0; s < n && mine[s] != -1; s++) {
        const int32_t u = mine[s];
        bool is_mutual = false;
        if (u < 0 || u >= h->n)
            return trine_fail(TRINE_ERR_STRUCTURE, "neighbour %d of vertex %lld is outside 0..%lld", u, (long long)v,
                              (long long)h->n - 1);
        if (forest_find(h->columns, h->begin[v], h->end[v], u) < 0)
            return trine_fail(TRINE_ERR_STRUCTURE, "vertices %lld and %d have no edge", (long long)v, u);
        for (int t = 0; t < n && neighbours[(int64_t)u * n + t] != -1; t++)
            is_mutual |= neighbours[(int64_t)u * n + t] == v;
        if (!is_mutual)
            return trine_fail(TRINE_ERR_STRUCTURE, "vertex %lld has the neighbour %d, but not the other way round",
                              (long long)v, u);
        for (int t = 0; t < s; t++)
            if (mine[t] == u)
                return trine_fail(TRINE_ERR_STRUCTURE, "vertex %lld has the neighbour %d twice", (long long)v, u);
    }
    for (int s = 1; s < n; s++)
        if (mine[s - 1] == -1 && mine[s] != -1)
            return trine_fail(TRINE_ERR_STRUCTURE, "vertex %lld has a neighbour after one that is missing",
                              (long long)v);
    return TRINE_SUCCESS;
}

static trine_status set_factor(trine_forest f, int n, const int32_t *neighbours, const trine_factor_rounds *options,
                               void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_rounds r;
    struct host_graph h = {0};
    REQUIRE(n >= 1 && n <= f->options.max_n, "n %d is outside 1..%d, what the forest was created for (max_n)", n,
            f->options.max_n);
    REQUIRE(neighbours || !f->graph.n, "neighbours is NULL");
    TRY(settle(f, options, &r));
    r.n = n;
    TRY(need(f->has_weights, "set_factor", "weights"));
    TRY(host_graph_open(f, stream, &h));
    for (int64_t v = 0; v < h.graph.n; v++) TRY(check_vertex(&h.graph, n, neighbours, v));
    TRY(adopt(f, neighbours, &r));
done:
    host_graph_close(f, &h);
    return status;
}

trine_status trine_forest_set_factor(trine_forest f, int n, const int32_t *neighbours,
                                     const trine_factor_rounds *options, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, set_factor(f, n, neighbours, options, stream));
}

/* ------------------------------------------------------------------- blocks */

static trine_status coarsen(trine_forest f, trine_forest *out, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    TRY(need(f->coarse, "coarsen", "a forest of a matrix created with options.blocks"));
    TRY(need(f->n == 1, "coarsen", "a [0,1]-factor"));
    renew(f, f->n, f->ties);
    f->is_acyclic = true;
    TRY(f->backend->coarsen(f, stream));
    f->coarse->has_weights = true;
    trine_retain(&f->coarse->refs);
    *out = f->coarse;
done:
    return status;
}

trine_status trine_forest_coarsen(trine_forest f, trine_forest *coarse, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    REQUIRE(coarse, "coarse is NULL");
    *coarse = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, coarsen(f, coarse, stream));
}

static trine_status extract_blocks(trine_forest f, trine_space space, const void *values, void *const bands[3],
                                   int32_t *permutation, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const void *staged = NULL;
    TRY(need(f->n == 1 && f->coarse && f->coarse->is_ordered, "extract_blocks",
             "a coarse forest (trine_forest_coarsen) that has been ordered"));
    TRY(stage_values(f, space, values, stream, &staged));
    for (int k = 0; k < 3; k++)
        if (!bands[k] && f->graph.n) FAIL(TRINE_ERR_ARGUMENT, "%c is NULL", "abc"[k]);
    if (!permutation && f->graph.n) FAIL(TRINE_ERR_ARGUMENT, "permutation is NULL");
    TRY(f->backend->extract_blocks(f, staged, bands, permutation, stream));
done:
    return status;
}

trine_status trine_forest_extract_blocks(trine_forest f, trine_space space, const void *values, void *a, void *b,
                                         void *c, int32_t *permutation, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, extract_blocks(f, space, values, (void *const[]){a, b, c}, permutation, stream));
}

/* ----------------------------------------------------------- decompositions */

/** Weights of forest l > 0, by the callback. It may look at the forest, so that it is not in use meanwhile; lost: and
 *  is another thread's then. */
static trine_status next_weights(trine_forest f, int l, const trine_forest_decomposition *d, void *stream, bool *lost)
{
    trine_status status = TRINE_SUCCESS;
    trine_space space = TRINE_HOST;
    const void *values = NULL;
    trine_leave_alone(&f->usage);
    status = d->next(d->user, l, f, &space, &values);
    *lost = !trine_enter_alone(&f->usage); /* somebody else's call began meanwhile: wait for nobody */
    if (*lost)
        return trine_fail(TRINE_ERR_STATE, "the forest is in use by another thread during trine_forest_decompose");
    TRY(status);
    TRY(values ? set_weights(f, space, values, stream) : scale(f, d->omega, stream));
done:
    return status;
}

static void *element(trine_forest f, void *array, int64_t i)
{
    return array ? (char *)array + (size_t)i * trine_dtype_size(f->dtype) : NULL;
}

static trine_status decompose(trine_forest f, trine_space space, const void *values, const trine_factor_rounds *options,
                              const trine_forest_decomposition *d, void *stream, bool *lost)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = f->graph.n;
    const size_t bytes = (size_t)n * sizeof *d->permutation;
    if (d->count < 1) FAIL(TRINE_ERR_ARGUMENT, "count is %d", d->count);
    if (!(d->omega >= 0) || !isfinite(d->omega)) FAIL(TRINE_ERR_ARGUMENT, "omega is %g", d->omega);
    if (!d->permutation && n) FAIL(TRINE_ERR_ARGUMENT, "permutation is NULL");
    if (!d->a != !d->b || !d->b != !d->c) FAIL(TRINE_ERR_ARGUMENT, "of a, b and c some are NULL and some are not");
    for (int l = 0; l < d->count; l++) {
        const bool is_last = l + 1 == d->count;
        const double *adjusted = is_last || d->next ? NULL : &d->omega; /* right behind the forest */
        if (!l) TRY(set_weights(f, space, values, stream));
        else if (d->next) TRY(next_weights(f, l, d, stream, lost));
        f->wants_candidates = !is_last && d->omega == 0;
        f->is_later = l > 0;
        status = run(f, space, NULL, options, stream);
        f->wants_candidates = false;
        TRY(status);
        if (f->ctx->cuda) TRY(trine_device_copy_async(f->ctx, d->permutation + l * n, f->permutation, bytes, stream));
        else TRY(trine_copy(f->ctx, d->permutation + l * n, TRINE_HOST, f->permutation, TRINE_HOST, bytes));
        void *const bands[] = {element(f, d->a, l * n), element(f, d->b, l * n), element(f, d->c, l * n)};
        if (d->a) TRY(extract(f, space, values, bands, adjusted, stream));
        else if (adjusted) TRY(scale(f, d->omega, stream));
    }
done:
    f->is_later = false;
    return status;
}

trine_status trine_forest_decompose(trine_forest f, trine_space space, const void *values,
                                    const trine_factor_rounds *options, const trine_forest_decomposition *decomposition,
                                    const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    REQUIRE(decomposition, "decomposition is NULL");
    REQUIRE_RESERVE(trine_forest_decomposition, decomposition);
    bool lost = false;
    trine_status status = enter(f, exec, &stream);
    if (status) return status;
    status = decompose(f, space, values, options, decomposition, stream, &lost);
    return lost ? status : leave(f, status);
}

/* --------------------------------------------------------- parts of stages */

static trine_status run_part(trine_forest f, trine_forest_part part, int k, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    TRY(need(f->n > 0, "run_part", "a factor"));
    if (part == TRINE_FOREST_PROPOSE) {
        struct forest_rounds r;
        TRY(settle(f, &(trine_factor_rounds){.n = f->n}, &r));
        r.ties = f->ties;
        TRY(f->backend->propose(f, &r, k, stream));
    } else {
        TRY(need(f->n == 2, "run_part", "a [0,2]-factor"));
        TRY(f->backend->scan_pass(f, part == TRINE_FOREST_SCAN_EDGES, k, stream));
    }
done:
    return status;
}

trine_status trine_forest_run_part(trine_forest f, trine_forest_part part, int k, const trine_exec *exec)
{
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, run_part(f, part, k, stream));
}

/* ------------------------------------------------------------------ results */

/** What the device has counted. */
static trine_status read_counts(trine_forest f, void *stream, struct forest_counts *counts)
{
    trine_status status = TRINE_SUCCESS;
    if (f->ctx->cuda) TRY(trine_device_synchronize(f->ctx, stream));
    TRY(trine_copy(f->ctx, counts, TRINE_HOST, f->counts, f->ctx->info.space, sizeof *counts));
done:
    return status;
}

static trine_status check(trine_forest f, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_counts counts;
    TRY(need_matrix(f, "check"));
    TRY(need(f->has_weights, "check", "trine_forest_set_weights"));
    TRY(read_counts(f, stream, &counts));
    if (counts.bad_row != INT64_MAX)
        FAIL(TRINE_ERR_ARGUMENT, "row %lld has a NaN off its diagonal, which is no weight of an edge",
             (long long)counts.bad_row);
done:
    return status;
}

trine_status trine_forest_check(trine_forest f, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, check(f, stream));
}

static trine_status get_coverage(trine_forest f, trine_space space, const void *values, trine_forest_coverage *coverage,
                                 void *stream)
{
    trine_status status = TRINE_SUCCESS;
    const void *staged = NULL;
    double sums[FOREST_SUMS];
    TRY(need_matrix(f, "get_coverage"));
    TRY(stage_values(f, space, values, stream, &staged));
    TRY(f->backend->add_up(f, staged, sums, stream));
    const double total = sums[0], all = sums[0] + sums[1];
    *coverage = (trine_forest_coverage){.factor = f->n ? sums[3] / total : NAN,
                                        .identity = sums[2] / total,
                                        .blocks = f->coarse && f->coarse->is_acyclic ? sums[4] / total : NAN,
                                        .with_diagonal = f->n ? (sums[1] + sums[3]) / all : NAN,
                                        .diagonal = sums[1] / all,
                                        .weight = f->n ? sums[3] : NAN,
                                        .total = total};
done:
    return status;
}

trine_status trine_forest_get_coverage(trine_forest f, trine_space space, const void *values,
                                       trine_forest_coverage *coverage, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    REQUIRE(coverage, "coverage is NULL");
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, get_coverage(f, space, values, coverage, stream));
}

static trine_status get_result(trine_forest f, trine_forest_result *result, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct forest_counts counts;
    TRY(read_counts(f, stream, &counts));
    *result = (trine_forest_result){.vertices = f->graph.n};
    if (f->n) {
        result->edges = counts.edges / 2;
        result->rounds = counts.rounds;
        result->maximal = counts.maximal;
    }
    if (f->is_acyclic && f->n == 2) {
        result->cycles = counts.cycles;
        result->edges -= counts.cycles;
    }
    if (f->is_ordered) {
        result->vertices = counts.vertices;
        result->paths = counts.paths;
        result->longest = counts.longest;
    }
done:
    return status;
}

trine_status trine_forest_get_result(trine_forest f, trine_forest_result *result, const trine_exec *exec)
{
    TRINE_RANGE;
    void *stream = NULL;
    REQUIRE(result, "result is NULL");
    const trine_status status = enter(f, exec, &stream);
    return status ? status : leave(f, get_result(f, result, stream));
}

trine_status trine_forest_get_arrays(trine_forest f, trine_forest_arrays *arrays)
{
    REQUIRE(f, "forest is NULL");
    REQUIRE(arrays, "arrays is NULL");
    *arrays = (trine_forest_arrays){.n = f->n, .neighbours = f->n ? f->neighbours : NULL};
    if (f->is_ordered) {
        arrays->path = f->path;
        arrays->position = f->position;
        arrays->permutation = f->permutation;
    }
    return TRINE_SUCCESS;
}
