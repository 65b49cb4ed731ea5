/* Generalized products: the applications of the thesis (3.6.2), and the plain product as a semiring of a user's. */
#define _GNU_SOURCE /* nftw */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmv.h"
#include "spmv_host.h"

typedef struct {
    spmv_problem *p;
    const char *method;
    trine_spmv plan;
    trine_semiring semiring;
    void *y;             /* of an application; NULL: the output is the problem's Y */
    size_t y_bytes;
    void *found, *exact; /* y on the host */
} solver;

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    bench *b = s->p->b;
    trine_context_synchronize(b->ctx);
    trine_semiring_destroy(&s->semiring);
    trine_spmv_destroy(&s->plan);
    trine_free(b->ctx, b->device.space, s->y);
    trine_free(b->ctx, TRINE_HOST, s->found);
    trine_free(b->ctx, TRINE_HOST, s->exact);
    free(s);
}

/** The plain product as strings. */
static trine_semiring_source compiled_source(trine_dtype dtype)
{
    const trine_type type = {.name = dtype == TRINE_S ? "float" : "double",
                             .size = trine_dtype_size(dtype),
                             .align = trine_dtype_size(dtype)};
    return (trine_semiring_source){.value = type,
                                   .vector = type,
                                   .product = type,
                                   .output = type,
                                   .multiply = "a * x",
                                   .add = "acc + p",
                                   .commutes = 1};
}

static bool is_product(const char *method)
{
    return strcmp(method, "compiled") == 0 || strcmp(method, "entry") == 0 || strcmp(method, "segment") == 0 ||
           strcmp(method, "rows") == 0 || strcmp(method, "plus-times") == 0;
}

/** Bytes of an output: one number, or one column or two. */
static size_t output_size(const spmv_problem *p, const char *method)
{
    return strcmp(method, "arg-max") == 0    ? sizeof(int32_t)
           : strcmp(method, "arg-max2") == 0 ? 2 * sizeof(int32_t)
                                             : trine_dtype_size(p->dtype);
}

static trine_status create_semiring(solver *s)
{
    const spmv_problem *p = s->p;
    const bool host = p->b->device.space == TRINE_HOST, by_strings = strcmp(s->method, "compiled") == 0;
    if (!is_product(s->method) || strcmp(s->method, "plus-times") == 0)
        return trine_semiring_builtin(p->b->ctx, &s->semiring, s->method, p->dtype);
    if (by_strings == host)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "semirings are strings on a GPU, functions on a CPU");
    const trine_semiring_source source =
        by_strings ? compiled_source(p->dtype) : spmv_host_semiring(p->dtype, s->method);
    return trine_semiring_create(p->b->ctx, &s->semiring, &source);
}

static trine_status create(spmv_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    bench *b = p->b;
    solver *s = NULL;
    *self = NULL;
    if (is_complex(p->dtype) || p->nrhs != 1) FAIL(TRINE_ERR_UNSUPPORTED, "compared with one real vector only");
    if (is_product(method) && (p->alpha != 1 || p->beta != 0))
        FAIL(TRINE_ERR_UNSUPPORTED, "compared with alpha = 1 and beta = 0 only");
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->method = method;
    TRY(create_semiring(s));
    if (!is_product(method)) {
        s->y_bytes = (size_t)p->n_rows * output_size(p, method);
        TRY(trine_alloc(b->ctx, b->device.space, s->y_bytes + 1, &s->y));
        TRY((s->found = bench_alloc(b->ctx, 1, s->y_bytes, true)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
        TRY((s->exact = bench_alloc(b->ctx, 1, s->y_bytes, true)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
        spmv_reference_of(p, method, s->exact);
        TRY(trine_copy(b->ctx, s->y, b->device.space, s->found, TRINE_HOST, s->y_bytes));
    }
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status forget(void *self) { return trine_spmv_destroy(&((solver *)self)->plan); }

static trine_status preprocess(void *self)
{
    solver *s = self;
    const trine_spmv_options options = {.method = TRINE_SPMV_ADAPTIVE};
    trine_status status = TRINE_SUCCESS;
    TRY(trine_spmv_analyse(s->p->b->ctx, &s->plan, s->p->A, &options));
    TRY(trine_spmv_numeric(s->plan, s->p->b->device.space, s->p->values, NULL));
done:
    return status;
}

static trine_status multiply(void *self)
{
    const solver *s = self;
    return trine_spmv_apply_semiring(s->plan, s->semiring, is_product(s->method) ? s->p->X.data : NULL,
                                     s->y ? s->y : s->p->Y.data, NULL, 0, -1, NULL);
}

/** Columns, or numbers (of 0 and -0 any is the largest). */
static bool is_equal(const solver *s, int64_t i)
{
    const int32_t *found = s->found, *exact = s->exact;
    if (strcmp(s->method, "arg-max") == 0) return found[i] == exact[i];
    if (strcmp(s->method, "arg-max2") == 0) return found[2 * i] == exact[2 * i] && found[2 * i + 1] == exact[2 * i + 1];
    return s->p->dtype == TRINE_S ? ((const float *)s->found)[i] == ((const float *)s->exact)[i]
                                  : ((const double *)s->found)[i] == ((const double *)s->exact)[i];
}

/** Applications have no rounding: every row that has entries as in a serial loop. */
static trine_status check(void *self, double *error)
{
    solver *s = self;
    const spmv_problem *p = s->p;
    trine_status status = TRINE_SUCCESS;
    if (!s->y) {
        double of_bound;
        TRY(spmv_problem_check(s->p, error, &of_bound));
        if (!(of_bound <= 1))
            FAIL(TRINE_ERR_DEVICE, "wrong: componentwise error %.2e, %.1f times what is allowed", *error, of_bound);
        return TRINE_SUCCESS;
    }
    TRY(trine_copy(p->b->ctx, s->found, TRINE_HOST, s->y, p->b->device.space, s->y_bytes));
    for (int64_t i = 0; i < p->n_rows; i++)
        if (p->host_offsets[i] < p->host_offsets[i + 1] && !is_equal(s, i))
            FAIL(TRINE_ERR_DEVICE, "wrong: %s of row %lld", s->method, (long long)i);
    *error = 0;
done:
    return status;
}

static void describe(void *self, bench_record *r)
{
    const solver *s = self;
    const spmv_problem *p = s->p;
    trine_spmv_info info;
    if (s->y) /* no x is read */
        r->bytes = p->nnz * ((int64_t)trine_dtype_size(p->dtype) + 4) + 4 * (p->n_rows + 1) + (int64_t)s->y_bytes;
    if (trine_spmv_get_info(s->plan, &info) != TRINE_SUCCESS) return;
    r->chosen = trine_spmv_method_name(info.method);
    bench_record_add_number(r, "plan_bytes", (double)info.bytes);
}

const spmv_solver spmv_semiring = {"trine", SPMV_OWN, create, preprocess, forget, multiply, check, describe, destroy};

/* ---------------------------------------------------------------- creation */

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *where)
{
    (void)found, (void)kind, (void)where;
    return remove(path);
}

/** Seconds from the creation of the semiring to its first result, in a context of its own with this cache. */
static trine_status time_creation(spmv_problem *p, const char *cache, double *seconds)
{
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_spmv plan = NULL;
    trine_semiring semiring = NULL;
    char device[32];
    const trine_semiring_source source = compiled_source(p->dtype);
    snprintf(device, sizeof device, "cuda:%d", b->device.device);
    TRY(trine_context_create(&ctx, device));
    TRY(trine_context_set_kernel_cache(ctx, cache));
    TRY(trine_matrix_csr(ctx, &A, p->dtype, p->n_rows, p->n_cols, p->nnz, TRINE_DEVICE, 32, p->offsets, 32, p->columns,
                         p->values));
    TRY(trine_spmv_analyse(ctx, &plan, A, NULL));
    TRY(trine_spmv_numeric(plan, TRINE_DEVICE, p->values, NULL));
    TRY(spmv_problem_prepare(p, false));
    TRY(trine_context_synchronize(b->ctx));
    TRY(trine_context_synchronize(ctx));
    const double start = trine_wall_time();
    TRY(trine_semiring_create(ctx, &semiring, &source));
    TRY(trine_spmv_apply_semiring(plan, semiring, p->X.data, p->Y.data, NULL, 0, -1, NULL));
    TRY(trine_context_synchronize(ctx));
    *seconds = trine_wall_time() - start;
done:
    trine_semiring_destroy(&semiring);
    trine_spmv_destroy(&plan);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return status;
}

trine_status spmv_measure_creation(spmv_problem *p)
{
    static const char *const methods[] = {"created: compiled", "created: from the disk cache"};
    char cache[] = "/tmp/trine-bench-XXXXXX";
    if (!mkdtemp(cache)) return trine_fail(TRINE_ERR_IO, "no directory for a cache in /tmp");
    trine_status status = TRINE_SUCCESS;
    for (int k = 0; k < 2; k++) {
        bench_record r = spmv_record_begin(p, &spmv_semiring, methods[k]);
        double seconds = NAN, of_bound = INFINITY;
        trine_status made = time_creation(p, cache, &seconds);
        if (!made) made = spmv_problem_check(p, &r.error, &of_bound);
        r.solve_ms = r.solve_min_ms = 1e3 * seconds;
        r.reps = 1;
        r.bytes = -1;
        if (made)
            bench_record_fail(
                &r, made == TRINE_ERR_NOT_BUILT || made == TRINE_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED, NULL);
        else if (!(of_bound <= 1)) bench_record_fail(&r, BENCH_FAILED, "wrong: componentwise error %.2e", r.error);
        fprintf(p->b->table, "  trine %s: %.4g ms to the first result %s\n", methods[k], r.solve_ms, r.reason);
        TRY(bench_record_write(p->b, &r));
    }
done:
    nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}
