/* The supernodal solve on CPU threads. The elimination tree is cut into domains, sets of whole subtrees of about equal work,
 * one for each thread; the panels above them are solved one after the other by all threads together. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/scalar.h"
#include "supernodal/supernodal.h"

enum {
    BLOCK = 8,            /* right-hand sides solved together */
    PARTIAL_SUMS = 8,     /* of a dot product; at least BLOCK */
    INVERT_SMALL = 32,    /* columns inverted by substitution */
    SERIAL_COLUMNS = 32,  /* columns of a triangle between two updates of the rows below */
    TEAM_COLUMNS = 128,   /* the same when threads meet at each */
    TEAM_WORTHWHILE = 400000, /* elements of all panels: below, threads wait for each other longer than they compute */
    TEAM_ENTRIES = 65536  /* panels of fewer entries are left to one thread */
};
#define TEAM_BARRIER(team) do { if ((team) > 1) { _Pragma("omp barrier") } } while (0)

/* The inner loops once more for wider vectors, chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define SIMD_CLONES
#endif

typedef struct {
    int domains;
    int32_t *order;           /* panels: domain after domain, then the ones above, each ascending */
    int64_t *domain_offsets;  /* domains + 1; the last is where the panels above begin */
    int64_t bad_row;
} cpu_part;

#define TEMPLATE "supernodal/supernodal_cpu.inc"
#include "core/each_dtype.h"

typedef struct {
    int64_t work;
    int32_t root;
} subtree;

static int by_work_descending(const void *a, const void *b)
{
    const subtree *x = a, *y = b;
    return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : (x->root > y->root) - (x->root < y->root);
}

static void cpu_destroy(trine_supernodal plan)
{
    cpu_part *part = plan->device;
    trine_free(plan->ctx, TRINE_HOST, part->order);
    trine_free(plan->ctx, TRINE_HOST, part->domain_offsets);
    trine_free(plan->ctx, TRINE_HOST, part);
    plan->device = NULL;
}

static trine_status cpu_analyse(trine_supernodal plan)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->ctx;
    const supernodal_structure *S = &plan->S;
    const int64_t m = S->n_panels;
    int64_t *work = NULL, *load = NULL;
    int32_t *domain = NULL;
    subtree *roots = NULL;
    cpu_part *part = trine_host_calloc(ctx, 1, sizeof *part);
    if (!part) return TRINE_ERR_MEMORY;
    plan->device = part;
    part->bad_row = -1;
    part->domains = S->n_values < TEAM_WORTHWHILE ? 1 : ctx->threads;
    TRY(ALLOC(ctx, part->order, m));
    TRY(CALLOC(ctx, part->domain_offsets, part->domains + 2));
    TRY(CALLOC(ctx, work, m));
    TRY(CALLOC(ctx, load, part->domains));
    TRY(ALLOC(ctx, domain, m));
    TRY(ALLOC(ctx, roots, m));

    int64_t total = 0, count = 0;
    for (int64_t s = 0; s < m; s++) {
        const supernodal_panel *p = &S->panels[s];
        const int64_t own = (int64_t)p->width * p->height + 64;
        total += own;
        work[s] += own;
        if (p->parent >= 0) work[p->parent] += work[s];
    }
    const int64_t limit = part->domains == 1 ? total : total / (3 * part->domains);
    for (int32_t s = 0; s < m; s++) {
        const int32_t parent = S->panels[s].parent;
        if (work[s] <= limit && (parent < 0 || work[parent] > limit)) roots[count++] = (subtree){work[s], s};
        domain[s] = part->domains; /* above all domains, unless a subtree says otherwise */
    }
    qsort(roots, (size_t)count, sizeof *roots, by_work_descending);
    for (int64_t k = 0; k < count; k++) { /* largest first, to the thread with least */
        int least = 0;
        for (int d = 1; d < part->domains; d++)
            if (load[d] < load[least]) least = d;
        domain[roots[k].root] = least;
        load[least] += roots[k].work;
    }
    for (int64_t s = m - 1; s >= 0; s--) {
        const int32_t parent = S->panels[s].parent;
        if (parent >= 0 && domain[parent] < part->domains) domain[s] = domain[parent];
        part->domain_offsets[domain[s] + 1]++;
    }
    for (int d = 0; d <= part->domains; d++) part->domain_offsets[d + 1] += part->domain_offsets[d];
    int64_t *at = part->domain_offsets;
    for (int32_t s = 0; s < m; s++) part->order[at[domain[s]]++] = s;
    for (int d = part->domains; d > 0; d--) at[d] = at[d - 1]; /* filling moved each offset to its end */
    at[0] = 0;
done:
    trine_free(ctx, TRINE_HOST, work);
    trine_free(ctx, TRINE_HOST, load);
    trine_free(ctx, TRINE_HOST, domain);
    trine_free(ctx, TRINE_HOST, roots);
    return status;
}

static trine_status cpu_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    (void)space;
    (void)stream;
    static int64_t (*const copy_values[])(trine_supernodal, const void *) = TABLE(copy_values);
    static void (*const invert_panel[])(trine_supernodal, const supernodal_panel *, void *) = TABLE(invert_panel);
    trine_context ctx = plan->ctx;
    const supernodal_structure *S = &plan->S;
    cpu_part *part = plan->device;
    char *scratch = NULL;
    const size_t half = (size_t)(S->max_width + 1) / 2, bytes = (half * half * trine_dtype_size(plan->dtype) + 63) / 64 * 64;
    if (plan->invert == TRINE_INVERT_OFF) {
        scratch = trine_host_alloc(ctx, ctx->threads, bytes);
        if (!scratch) return TRINE_ERR_MEMORY;
    }
    part->bad_row = copy_values[plan->dtype](plan, values);
    if (plan->invert == TRINE_INVERT_OFF) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx->threads)
        for (int64_t s = S->n_panels - 1; s >= 0; s--) /* the large ones are at the end */
            invert_panel[plan->dtype](plan, &S->panels[s], scratch + (size_t)omp_get_thread_num() * bytes);
    }
    trine_free(ctx, TRINE_HOST, scratch);
    return TRINE_SUCCESS;
}

static trine_status cpu_singular_row(trine_supernodal plan, void *stream, int64_t *row)
{
    (void)stream;
    *row = ((const cpu_part *)plan->device)->bad_row;
    return TRINE_SUCCESS;
}

static size_t cpu_work_bytes(trine_supernodal plan, int64_t nrhs)
{
    const supernodal_structure *S = &plan->S;
    const int64_t domains = ((const cpu_part *)plan->device)->domains, width = nrhs > 1 ? BLOCK : 1;
    const int64_t elements = ((1 + domains) * S->n + 2 * (domains + 1) * S->max_height) * width;
    return (size_t)elements * trine_dtype_size(plan->dtype) + 256;
}

static trine_status cpu_work_init(trine_supernodal plan, supernodal_work *work)
{
    (void)plan;
    (void)work;
    return TRINE_SUCCESS;
}

static trine_status cpu_solve(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B, const trine_dense *X,
                              supernodal_work *work, void *stream)
{
    (void)stream;
    static void (*const solve[])(trine_supernodal, trine_transpose, const void *, const trine_dense *, const trine_dense *, void *) = TABLE(solve);
    solve[plan->dtype](plan, op, alpha, B, X, work->buffer);
    return TRINE_SUCCESS;
}

const struct supernodal_backend supernodal_cpu = {
    .analyse = cpu_analyse, .destroy = cpu_destroy, .numeric = cpu_numeric, .singular_row = cpu_singular_row,
    .work_bytes = cpu_work_bytes, .work_init = cpu_work_init, .solve = cpu_solve};
