/* See forest_support.h. Nothing here calls code of the library to judge its results. */
#include "forest_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest/common/edge_order.h"

/* ----------------------------------------------------------------- problems */

/** |a| as the header says it: rounded after every step. */
static double modulus(trine_dtype t, const void *values, int64_t k)
{
    switch (t) {
    case TRINE_S: return fabsf(((const float *)values)[k]);
    case TRINE_D: return fabs(((const double *)values)[k]);
    case TRINE_C: {
        const float *z = (const float *)values + 2 * k;
        const double re = (double)z[0] * z[0], im = (double)z[1] * z[1]; /* exact */
        return (float)sqrt(re + im);
    }
    default: {
        const double *z = (const double *)values + 2 * k;
        volatile double re = z[0] * z[0], im = z[1] * z[1], sum = re + im;
        return sqrt(sum);
    }
    }
}

static double add(trine_dtype t, double a, double b)
{
    return t == TRINE_S || t == TRINE_C ? (double)((float)a + (float)b) : a + b;
}

static void make_graph(problem *p, trine_matrix T)
{
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_matrix_get_arrays(T, &offsets, &columns, &values));
    int64_t *to = calloc((size_t)p->n + 1, sizeof *to), count = 0;
    int32_t *of = malloc(sizeof *of * (size_t)(2 * p->nnz + 1));
    double *w = malloc(sizeof *w * (size_t)(2 * p->nnz + 1));
    for (int64_t i = 0; i < p->n; i++) {
        int64_t a = p->offsets[i], b = offsets[i];
        while (a < p->offsets[i + 1] || b < offsets[i + 1]) {
            const int32_t ja = a < p->offsets[i + 1] ? p->columns[a] : INT32_MAX,
                          jb = b < offsets[i + 1] ? columns[b] : INT32_MAX, j = ja < jb ? ja : jb;
            double sum = 0;
            if (ja == j) sum = modulus(p->t, p->values, a++);
            if (jb == j) sum = add(p->t, sum, modulus(p->t, values, b++));
            if (j == i || !(sum > 0)) continue;
            of[count] = j;
            w[count++] = sum;
        }
        to[i + 1] = count;
    }
    p->graph = (trine_forest_reference_graph){p->n, to, of, w};
}

problem *problem_of(trine_matrix A)
{
    problem *p = calloc(1, sizeof *p);
    trine_matrix_info info;
    trine_matrix T;
    OK(trine_matrix_get_info(A, &info));
    *p = (problem){.A = A, .t = info.dtype, .n = info.n_rows, .nnz = info.nnz};
    OK(trine_matrix_get_arrays(A, &p->offsets, &p->columns, &p->values));
    OK(trine_matrix_transpose(A, &T, TRINE_T));
    make_graph(p, T);
    OK(trine_matrix_destroy(&T));
    return p;
}

problem *problem_gallery(const char *spec, trine_dtype t)
{
    trine_matrix A;
    OK(trine_matrix_gallery(test_cpu(2), &A, spec, t));
    return problem_of(A);
}

problem *problem_edges(trine_dtype t, int64_t n, int64_t count, const int32_t (*edges)[2], const double *weights,
                       bool one_sided)
{
    trine_matrix A, sorted;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    OK(trine_matrix_allocate(test_cpu(2), &A, TRINE_CSR, t, n, n, one_sided ? count : 2 * count, &offsets, &columns,
                             &values));
    for (int64_t e = 0; e < count; e++)
        for (int side = 0; side < (one_sided ? 1 : 2); side++) offsets[edges[e][side] + 1]++;
    for (int64_t i = 0; i < n; i++) offsets[i + 1] += offsets[i];
    int64_t *next = malloc(sizeof *next * (size_t)(n + 1));
    memcpy(next, offsets, sizeof *next * (size_t)(n + 1));
    for (int64_t e = 0; e < count; e++)
        for (int side = 0; side < (one_sided ? 1 : 2); side++) {
            const int64_t k = next[edges[e][side]]++;
            columns[k] = edges[e][1 - side];
            put(t, values, k, weights[e]);
        }
    free(next);
    OK(trine_matrix_sort(A, &sorted, 0));
    OK(trine_matrix_destroy(&A));
    return problem_of(sorted);
}

void problem_end(problem *p)
{
    OK(trine_matrix_destroy(&p->A));
    free((void *)p->graph.offsets);
    free((void *)p->graph.columns);
    free((void *)p->graph.weights);
    free(p);
}

static int64_t find(const int64_t *offsets, const int32_t *columns, int64_t v, int32_t u)
{
    int64_t low = offsets[v], high = offsets[v + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (columns[middle] < u) low = middle + 1;
        else high = middle;
    }
    return low < offsets[v + 1] && columns[low] == u ? low : -1;
}

double weight_of(const problem *p, int64_t v, int32_t u)
{
    const int64_t k = find(p->graph.offsets, p->graph.columns, v, u);
    return k < 0 ? 0 : p->graph.weights[k];
}

wide entry_of(const problem *p, int64_t v, int32_t u)
{
    const int64_t k = find(p->offsets, p->columns, v, u);
    return k < 0 ? 0 : get(p->t, p->values, k);
}

/* ----------------------------------------------------------------- outcomes */

void *fetch(trine_context ctx, const void *array, int64_t count, size_t size)
{
    void *host = malloc((size_t)count * size + 1);
    if (count) test_from_device(ctx, host, array, (size_t)count * size);
    return host;
}

static void run_paths(trine_context ctx, trine_forest f, const problem *p, outcome *o)
{
    trine_forest_arrays arrays;
    const size_t size = trine_dtype_size(p->t);
    void *bands[3];
    OK(trine_forest_break_cycles(f, NULL));
    OK(trine_forest_order(f, NULL));
    OK(trine_forest_get_result(f, &o->result, NULL));
    OK(trine_forest_get_arrays(f, &arrays));
    o->neighbours = fetch(ctx, arrays.neighbours, p->n * o->n, sizeof *o->neighbours);
    o->path = fetch(ctx, arrays.path, p->n, sizeof *o->path);
    o->position = fetch(ctx, arrays.position, p->n, sizeof *o->position);
    o->permutation = fetch(ctx, arrays.permutation, p->n, sizeof *o->permutation);
    for (int k = 0; k < 3; k++) {
        void *junk = malloc((size_t)p->n * size + 1);
        memset(junk, 0x5a, (size_t)p->n * size + 1);
        bands[k] = test_to_device(ctx, junk, (size_t)p->n * size);
        free(junk);
    }
    OK(trine_forest_extract(f, TRINE_HOST, p->values, bands[0], bands[1], bands[2], NULL));
    for (int k = 0; k < 3; k++) {
        o->bands[k] = fetch(ctx, bands[k], p->n, size);
        test_release(ctx, bands[k]);
    }
}

outcome run_forest(trine_context ctx, const problem *p, const trine_forest_options *options,
                   const trine_factor_rounds *rounds)
{
    outcome o = {0};
    trine_forest f;
    trine_forest_arrays arrays;
    OK(trine_forest_create(ctx, &f, p->A, options));
    OK(trine_forest_set_weights(f, TRINE_HOST, p->values, NULL));
    OK(trine_forest_check(f, NULL));
    OK(trine_forest_factor(f, rounds, NULL));
    OK(trine_forest_get_result(f, &o.raw, NULL));
    OK(trine_forest_get_arrays(f, &arrays));
    o.n = arrays.n;
    o.factor = fetch(ctx, arrays.neighbours, p->n * o.n, sizeof *o.factor);
    if (o.n <= 2) run_paths(ctx, f, p, &o);
    OK(trine_forest_destroy(&f));
    return o;
}

void end_outcome(outcome *o)
{
    void *arrays[] = {o->factor,      o->neighbours, o->path,     o->position,
                      o->permutation, o->bands[0],   o->bands[1], o->bands[2]};
    for (int k = 0; k < 8; k++) free(arrays[k]);
}

void assert_same(const problem *p, const outcome *a, const outcome *b)
{
    const size_t n = (size_t)p->n * sizeof(int32_t);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->factor, b->factor, n * (size_t)a->n);
    assert_int_equal(a->raw.rounds, b->raw.rounds);
    assert_int_equal(a->raw.maximal, b->raw.maximal);
    assert_int_equal(a->raw.edges, b->raw.edges);
    if (a->n > 2) return;
    assert_memory_equal(a->neighbours, b->neighbours, n * (size_t)a->n);
    assert_memory_equal(a->path, b->path, n);
    assert_memory_equal(a->position, b->position, n);
    assert_memory_equal(a->permutation, b->permutation, n);
    for (int k = 0; k < 3; k++) assert_memory_equal(a->bands[k], b->bands[k], (size_t)p->n * trine_dtype_size(p->t));
    assert_memory_equal(&a->result, &b->result, sizeof a->result);
}

/* --------------------------------------------------------------- properties */

static bool has(const int32_t *neighbours, int n, int64_t v, int32_t u)
{
    for (int s = 0; s < n; s++)
        if (neighbours[v * n + s] == u) return true;
    return false;
}
static bool is_full(const int32_t *neighbours, int n, int64_t v) { return neighbours[v * n + n - 1] >= 0; }

static void assert_factor(const problem *p, const outcome *o)
{
    int64_t ends = 0;
    for (int64_t v = 0; v < p->n; v++) {
        for (int s = 0; s < o->n; s++) {
            const int32_t u = o->factor[v * o->n + s];
            if (u < 0) {
                assert_int_equal(u, -1);
                assert_true(s + 1 == o->n || o->factor[v * o->n + s + 1] == -1);
                continue;
            }
            ends++;
            assert_true(u < p->n && u != v);
            assert_true(weight_of(p, v, u) > 0);
            assert_true(has(o->factor, o->n, u, (int32_t)v));
            for (int r = 0; r < s; r++) assert_true(o->factor[v * o->n + r] != u);
        }
        if (!o->raw.maximal || is_full(o->factor, o->n, v)) continue;
        for (int64_t k = p->graph.offsets[v]; k < p->graph.offsets[v + 1]; k++) {
            const int32_t u = p->graph.columns[k];
            assert_true(has(o->factor, o->n, v, u) || is_full(o->factor, o->n, u));
        }
    }
    assert_int_equal(ends, 2 * o->raw.edges);
}

/** Is edge {a,b} weaker than {c,d}? */
static bool is_weaker(const problem *p, forest_ties ties, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const double w = weight_of(p, a, b), x = weight_of(p, c, d);
    if (w != x) return w < x;
    if (ties.by_hash) return forest_edge_key(ties, a, b) < forest_edge_key(ties, c, d);
    const int32_t low = a < b ? a : b, high = a < b ? b : a, low2 = c < d ? c : d, high2 = c < d ? d : c;
    return low != low2 ? low < low2 : high < high2;
}

/** Walk the component of v in the factor; it must be a cycle exactly if one edge of it, the weakest, was opened. */
static int64_t assert_component(const problem *p, const outcome *o, forest_ties ties, int32_t v, uint8_t *seen)
{
    int32_t from = -1, at = v, a = -1, b = -1;
    int64_t opened = 0, length = 0;
    bool is_cycle = false;
    do {
        seen[at] = 1;
        length++;
        const int32_t *both = o->factor + 2 * (int64_t)at;
        const int32_t next = both[0] != from ? both[0] : both[1];
        if (next < 0) break;
        if (a < 0 || is_weaker(p, ties, at, next, a, b)) a = at, b = next;
        if (!has(o->neighbours, 2, at, next)) opened++;
        from = at;
        at = next;
        is_cycle = at == v;
    } while (!is_cycle);
    assert_int_equal(opened, is_cycle);
    if (!is_cycle) return 0;
    assert_true(length > 2);
    assert_false(has(o->neighbours, 2, a, b));
    assert_false(has(o->neighbours, 2, b, a));
    return 1;
}

static void assert_cycles(const problem *p, const outcome *o, forest_ties ties)
{
    uint8_t *seen = calloc((size_t)p->n + 1, 1);
    int64_t cycles = 0, ends = 0;
    for (int64_t v = 0; v < p->n; v++) { /* paths first, from their ends */
        if (seen[v] || o->factor[2 * v + 1] >= 0) continue;
        assert_int_equal(assert_component(p, o, ties, (int32_t)v, seen), 0);
    }
    for (int64_t v = 0; v < p->n; v++)
        if (!seen[v]) cycles += assert_component(p, o, ties, (int32_t)v, seen);
    for (int64_t e = 0; e < 2 * p->n; e++) {
        ends += o->neighbours[e] >= 0;
        if (o->neighbours[e] >= 0) assert_true(has(o->factor, 2, e / 2, o->neighbours[e]));
        if (e % 2 && o->neighbours[e] >= 0) assert_true(o->neighbours[e - 1] >= 0);
    }
    assert_int_equal(o->result.cycles, cycles);
    assert_int_equal(o->result.edges, o->raw.edges - cycles);
    assert_int_equal(ends, 2 * o->result.edges);
    free(seen);
}

/** Every vertex on one path with its position; paths one after another by name. */
static void assert_order(const problem *p, const outcome *o)
{
    int64_t paths = 0, longest = 0;
    for (int64_t i = 0; i < p->n;) {
        const int32_t name = o->permutation[i];
        int32_t from = -1, at = name;
        int64_t length = 0;
        if (i > 0) assert_true(o->path[o->permutation[i - 1]] < name);
        while (at >= 0) {
            assert_true(i < p->n);
            assert_int_equal(o->permutation[i++], at);
            assert_int_equal(o->path[at], name);
            assert_int_equal(o->position[at], ++length);
            const int32_t *both = o->neighbours + (int64_t)at * o->n;
            const int32_t next = both[0] != from ? both[0] : o->n == 2 ? both[1] : -1;
            if (at == name) assert_true(o->n == 1 || both[1] < 0); /* an end */
            if (next < 0) assert_true(at >= name);
            from = at;
            at = next;
        }
        paths++;
        if (length > longest) longest = length;
    }
    assert_int_equal(o->result.paths, paths);
    assert_int_equal(o->result.longest, longest);
    assert_int_equal(o->result.vertices, p->n);
    assert_int_equal(paths, p->n - o->result.edges); /* no cycles */
}

static void assert_bands(const problem *p, const outcome *o)
{
    for (int64_t i = 0; i < p->n; i++) {
        const int32_t v = o->permutation[i];
        const int32_t before = i > 0 ? o->permutation[i - 1] : -1, after = i + 1 < p->n ? o->permutation[i + 1] : -1;
        const wide a = before >= 0 && o->path[before] == o->path[v] ? entry_of(p, v, before) : 0;
        const wide c = after >= 0 && o->path[after] == o->path[v] ? entry_of(p, v, after) : 0;
        assert_true(get(p->t, o->bands[0], i) == a);
        assert_true(get(p->t, o->bands[1], i) == entry_of(p, v, v));
        assert_true(get(p->t, o->bands[2], i) == c);
    }
}

void assert_forest(const problem *p, const outcome *o, const trine_factor_rounds *rounds)
{
    const forest_ties ties = {rounds->ties == TRINE_TIES_HASH, forest_mix(rounds->seed)};
    assert_factor(p, o);
    if (o->n > 2) return;
    if (o->n == 2) assert_cycles(p, o, ties);
    assert_order(p, o);
    assert_bands(p, o);
}
