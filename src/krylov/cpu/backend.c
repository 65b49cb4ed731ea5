/* Programs on the CPU. Vectors are cut into chunks by their length alone, and chunks into blocks that stay in the
 * first-level cache while all instructions of a program go over them: so a program is one pass over memory, and sums
 * have the same order for any number of threads. */
#include <string.h>

#include "core/scalar.h"
#include "core/team.h"
#include "krylov/common/steps.h"
#include "krylov/krylov.h"

/* A block of some ten vectors in double fits the first level; chunks are some, so that threads share them evenly. */
enum { BLOCK = 512, MOST_CHUNKS = 256, LEAST_CHUNK = 4 * BLOCK };

/** Rows of a chunk, a multiple of BLOCK. */
static int64_t chunk_rows(int64_t n)
{
    const int64_t even = (n / MOST_CHUNKS / BLOCK + 1) * BLOCK;
    return even > LEAST_CHUNK ? even : LEAST_CHUNK;
}
static int64_t chunk_count(int64_t n) { return (n + chunk_rows(n) - 1) / chunk_rows(n); }

static size_t scratch_bytes(const struct trine_krylov_s *plan, int64_t nrhs, int sums)
{
    return (size_t)(nrhs * chunk_count(plan->base.n) * sums) * sizeof(krylov_sum);
}

static inline bool is_wanted(const krylov_instruction *i, const krylov_column *c)
{
    return c->size > i->need && (c->flags & i->flags) == i->flags;
}

typedef double other_s;
typedef float other_d;
typedef double complex other_c;
typedef float complex other_z;

#define TEMPLATE "krylov/cpu/program.inc"
#include "core/each_dtype.h"

/** One block of one column: its first row; element i of each vector is `at` elements from its beginning. */
typedef void (*block_fn)(const krylov_program *p, const krylov_column *c, int64_t row, int64_t at, int64_t count,
                         krylov_sum *sums);
static const block_fn run_block[] = TABLE(run_block);

static void run_chunk(const struct krylov_work *w, const krylov_program *p, int64_t column, int64_t chunk)
{
    const krylov_column *c = &w->columns[column];
    if ((c->flags & p->flags) != p->flags) return;
    const int64_t n = w->plan->base.n, rows = chunk_rows(n), begin = chunk * rows;
    const int64_t end = begin + rows < n ? begin + rows : n;
    krylov_sum *sums = (krylov_sum *)w->scratch + (column * chunk_count(n) + chunk) * w->most_sums;
    for (int k = 0; k < p->count; k++)
        if (p->instructions[k].kind == KRYLOV_DOT) sums[p->instructions[k].a] = (krylov_sum){0, 0, 0};
    for (int64_t at = begin; at < end; at += BLOCK)
        run_block[p->dtype](p, c, at, column * w->stride + at, end - at < BLOCK ? end - at : BLOCK, sums);
}

/** Chunks added up, in their order. */
static void add_up(const struct krylov_work *w, const krylov_program *p, int64_t column)
{
    krylov_column *c = &w->columns[column];
    if ((c->flags & p->flags) != p->flags) return;
    const int64_t chunks = chunk_count(w->plan->base.n);
    const krylov_sum *sums = (const krylov_sum *)w->scratch + column * chunks * w->most_sums;
    for (int k = 0; k < p->count; k++) {
        if (p->instructions[k].kind != KRYLOV_DOT) continue;
        const int s = p->instructions[k].a;
        krylov_sum sum = {0, 0, 0};
        for (int64_t i = 0; i < chunks; i++) sum = krylov_sum_add(sum, sums[i * w->most_sums + s]);
        c->sums[s] = sum;
    }
}

struct job {
    const struct krylov_work *w;
    const krylov_program *p;
    int64_t chunks; /* of each column */
};

static void run_range(void *user, int64_t begin, int64_t end, int me)
{
    (void)me;
    const struct job *job = user;
    for (int64_t i = begin; i < end; i++) run_chunk(job->w, job->p, i / job->chunks, i % job->chunks);
}

static trine_status step(struct krylov_work *w, krylov_step which, unsigned flags, int j)
{
    for (int64_t i = 0; i < w->nrhs; i++)
        if ((w->columns[i].flags & flags) == flags) krylov_take_step(which, &w->columns[i], &w->plan->parameters, j);
    return TRINE_SUCCESS;
}

/** On the context's helpers, which products are made on as well: two sets of threads would wait for each other's
 *  cores. */
static trine_status run_one(struct krylov_work *w, const krylov_program *p)
{
    trine_context ctx = w->plan->base.ctx;
    const int64_t n = w->plan->base.n, worth_waking = 200000, several = 20000; /* elements, an instruction each */
    struct job job = {w, p, chunk_count(n)};
    const int64_t total = w->nrhs * job.chunks, work = n * w->nrhs * p->count;
    const int threads = work < several ? 1 : trine_threads_with_cores(ctx);
    (work < worth_waking ? trine_team_for_short : trine_team_for)(ctx, threads, total, 1, run_range, &job);
    for (int64_t i = 0; i < w->nrhs; i++) add_up(w, p, i);
    return p->then ? step(w, p->then, p->flags, p->j) : TRINE_SUCCESS;
}

typedef int64_t (*bad_row_fn)(const void *x, int64_t n);
static trine_status find_rows(struct krylov_work *w, const void *x)
{
    static const bad_row_fn find[] = TABLE(find_bad_row);
    const trine_dtype t = w->plan->base.dtype;
    const size_t size = (size_t)w->stride * trine_dtype_size(t);
    for (int64_t i = 0; i < w->nrhs; i++)
        if (krylov_needs_row(&w->columns[i]))
            w->columns[i].row = find[t]((const char *)x + (size_t)i * size, w->plan->base.n);
    return TRINE_SUCCESS;
}

static trine_status run(struct krylov_work *w, const krylov_program *programs, int count)
{
    trine_status status = TRINE_SUCCESS;
    for (int k = 0; k < count && !status; k++) status = run_one(w, &programs[k]);
    return status;
}

const struct krylov_backend krylov_cpu = {
    .scratch_bytes = scratch_bytes, .run = run, .step = step, .find_rows = find_rows};
