/* Suite tridiag, parts blocks (Klein 2024, Figures 16 and 17): block tridiagonal systems of 2, 3 and 4 rows a block
 * by bgtsv, and by bgtf once and bgtfs, with one right-hand side and more, each keeping what makes solves fast and
 * (bgtsv:small, ...) little; beside LAPACK's gbsv on a CPU; and block-partitions: bgtsv with partitions of 8 to 64
 * block rows. */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { WIDEST = 4 };

/* ------------------------------------------------------------------ problems */

/** A random block tridiagonal system of `block` rows a block, n rows in all, as blocks and as bands (what it is
 *  checked with). */
static trine_status make_problem(bench *b, trine_dtype dtype, int64_t n, int64_t nrhs, int block, tridiag_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    const trine_space space = b->device.space;
    const int reach = 2 * block - 1;
    char *blocks = NULL;
    void *at;
    n -= n % block;
    TRY(tridiag_problem_make(b, &(tridiag_shape){.dtype = dtype, .n = n, .nrhs = nrhs, .kl = reach, .ku = reach}, p));
    const size_t e = p->element, bytes = (size_t)(3 * n * block) * e;
    p->block = block, p->per_row = 3 * block;
    TRY(CALLOC(b->ctx, blocks, (int64_t)bytes));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int k = -reach; k <= reach; k++) {
            const int64_t column = i + k, side = column < 0 ? -1 : column / block - i / block;
            char *here = p->host + (size_t)((reach + k) * n + i) * e;
            if (column < 0 || column >= n || side < -1 || side > 1) memset(here, 0, e);
            else
                memcpy(blocks + (size_t)((((side + 1) * n / block + i / block) * block + column % block) * block +
                                         i % block) *
                                    e,
                       here, e);
        }
    TRY(trine_copy(b->ctx, p->bands, space, p->host, TRINE_HOST, (size_t)((2 * reach + 1) * n) * e));
    TRY(trine_alloc(b->ctx, space, bytes, &at));
    p->blocks = at;
    TRY(trine_copy(b->ctx, p->blocks, space, blocks, TRINE_HOST, bytes));
done:
    trine_free(b->ctx, TRINE_HOST, blocks);
    return status;
}

/* -------------------------------------------------------------------- solver */

typedef struct {
    const tridiag_problem *p;
    enum { SOLVE, FACTOR, SUBSTITUTE } timed;
    trine_gtsv_options options;
    void *work, *factor;
    size_t work_bytes, factor_bytes;
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    trine_free(s->p->b->ctx, s->p->b->device.space, s->work);
    trine_free(s->p->b->ctx, s->p->b->device.space, s->factor);
    free(s);
}

static trine_status factorize(const solver *s)
{
    const tridiag_problem *p = s->p;
    const int64_t rows = p->n / p->block;
    const size_t step = (size_t)(p->n * p->block) * p->element;
    const char *a = p->blocks, *b = a + step, *c = b + step;
    return trine_bgtf(p->b->ctx, p->dtype, rows, p->block, &s->options, a, b, c, s->factor, s->factor_bytes,
                      &(trine_exec){.stream = p->b->stream});
}
static trine_status substitute(const solver *s)
{
    const tridiag_problem *p = s->p;
    const int64_t rows = p->n / p->block;
    return trine_bgtfs(p->b->ctx, p->dtype, rows, p->block, p->nrhs, &s->options, s->factor, s->factor_bytes, p->D,
                       p->n, p->X, p->n, s->work, s->work_bytes, &(trine_exec){.stream = p->b->stream});
}
static trine_status solve_at_once(const solver *s)
{
    const tridiag_problem *p = s->p;
    const int64_t rows = p->n / p->block;
    const size_t step = (size_t)(p->n * p->block) * p->element;
    const char *a = p->blocks, *b = a + step, *c = b + step;
    return trine_bgtsv(p->b->ctx, p->dtype, rows, p->block, p->nrhs, &s->options, a, b, c, p->D, p->n, p->X, p->n,
                       s->work, s->work_bytes, &(trine_exec){.stream = p->b->stream});
}

static trine_status create(const tridiag_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t rows = p->n / p->block;
    solver *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    if (strncmp(method, "M=", 2) == 0) s->options.partition = atoi(method + 2);
    s->options.memory = strstr(method, ":small") ? TRINE_MEMORY_SMALL : TRINE_MEMORY_FAST;
    s->timed = strncmp(method, "bgtfs", 5) == 0 ? SUBSTITUTE : strncmp(method, "bgtf", 4) == 0 ? FACTOR : SOLVE;
    if (s->timed == SOLVE) {
        TRY(trine_bgtsv_work_size(p->b->ctx, p->dtype, rows, p->block, p->nrhs, &s->options, &s->work_bytes));
    } else {
        TRY(trine_bgtfs_work_size(p->b->ctx, p->dtype, rows, p->block, p->nrhs, &s->options, &s->work_bytes));
        TRY(trine_bgtf_size(p->b->ctx, p->dtype, rows, p->block, &s->options, &s->factor_bytes));
        TRY(trine_alloc(p->b->ctx, p->b->device.space, s->factor_bytes, &s->factor));
    }
    TRY(trine_alloc(p->b->ctx, p->b->device.space, s->work_bytes, &s->work));
    if (s->factor) TRY(factorize(s));
done:
    return status;
}

static trine_status solve(void *self)
{
    const solver *s = self;
    return s->timed == SOLVE ? solve_at_once(s) : s->timed == FACTOR ? factorize(s) : substitute(s);
}
static const void *solution(const void *self)
{
    const solver *s = self;
    /* what the factors are good for */
    if (s->timed == FACTOR && !substitute(s)) trine_context_synchronize(s->p->b->ctx);
    return s->p->X;
}
static size_t work_bytes(const void *self)
{
    const solver *s = self;
    return s->work_bytes + s->factor_bytes;
}

static const tridiag_solver trine_blocks = {"trine", create, NULL, solve, solution, work_bytes, destroy};

/* ----------------------------------------------------------------------- part */

static trine_status run_one(bench *b, trine_dtype dtype, int64_t n, int64_t nrhs, int block, const char *part,
                            const tridiag_list *list)
{
    trine_status status = TRINE_SUCCESS;
    char name[32];
    tridiag_problem p = {0};
    snprintf(name, sizeof name, "%s of %d", part, block);
    TRY(make_problem(b, dtype, n, nrhs, block, &p));
    TRY(tridiag_compare(&p, name, list));
done:
    tridiag_problem_free(&p);
    return status;
}

trine_status bench_tridiag_blocks(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    /* many: with 2 and more right-hand sides */
    const int smallest = host ? 10 : 12, largest = host ? 17 : 22, many = host ? 14 : 17;
    tridiag_list list = {0};
    tridiag_list_add(&list, &trine_blocks, "bgtsv");
    tridiag_list_add(&list, &trine_blocks, "bgtf");
    tridiag_list_add(&list, &trine_blocks, "bgtfs");
    tridiag_list_add(&list, &trine_blocks, "bgtsv:small");
    tridiag_list_add(&list, &trine_blocks, "bgtf:small");
    tridiag_list_add(&list, &trine_blocks, "bgtfs:small");
    if (host && tridiag_wants_peer(b, "lapack")) tridiag_list_add(&list, &tridiag_lapack, "gbsv");
    for (int block = 2; block <= WIDEST; block++) {
        for (int power = smallest; power <= largest; power++)
            if (power % 2 == 0 || power == 17) TRY(run_one(b, dtype, INT64_C(1) << power, 1, block, "blocks", &list));
        for (int64_t nrhs = 2; nrhs <= 64; nrhs *= 2)
            for (int power = smallest; power <= many; power += many - smallest)
                TRY(run_one(b, dtype, INT64_C(1) << power, nrhs, block, "blocks", &list));
    }
done:
    return status;
}

trine_status bench_tridiag_block_partitions(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    static const char *const methods[] = {"bgtsv", "M=8", "M=16", "M=24", "M=32", "M=48", "M=64"};
    tridiag_list list = {0};
    for (int k = 0; k < 7; k++) tridiag_list_add(&list, &trine_blocks, methods[k]);
    for (int block = 2; block <= WIDEST; block++)
        for (int power = 12; power <= (host ? 17 : 22); power += 5)
            TRY(run_one(b, dtype, INT64_C(1) << power, 1, block, "partitions of blocks", &list));
done:
    return status;
}
