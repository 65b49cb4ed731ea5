/* trine's plain products, as a user calls them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spmv.h"

typedef struct {
    spmv_problem *p;
    trine_spmv_options options;
    enum { PLAIN, FUSED, FUSED_U, AXPY } epilogue;
    spmv_scalar alpha, beta;
    trine_spmv plan;
    trine_spmv_epilogue wants;
    void *u, *z, *results;   /* in the context's space */
    void *host_u, *host_z;
} solver;

/* ----------------------------------------------------------------- methods */

/** "name" or "name=number" at text, up to the next colon. */
static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static trine_status parse_number(solver *s, const char *text, size_t length)
{
    const size_t equals = strcspn(text, "=");
    const char *value = text + equals + 1;
    if (equals >= length) return trine_fail(TRINE_ERR_UNSUPPORTED, "\"%.*s\" says nothing", (int)length, text);
    const long long count = strtoll(value, NULL, 10);
    if (is_word(text, equals, "block")) s->options.tune.block = (int)count;
    else if (is_word(text, equals, "tile")) s->options.tune.tile = (int)count;
    else if (is_word(text, equals, "entries")) s->options.tune.entries_per_block = count;
    else if (is_word(text, equals, "weight")) s->options.tune.row_weight = (int)count;
    else if (is_word(text, equals, "reduction")) {
        for (int k = TRINE_REDUCTION_RAKING; k <= TRINE_REDUCTION_WARPS; k++)
            if (is_word(value, length - equals - 1, trine_spmv_reduction_name((trine_spmv_reduction)k))) {
                s->options.tune.reduction = (trine_spmv_reduction)k;
                return TRINE_SUCCESS;
            }
        return trine_fail(TRINE_ERR_UNSUPPORTED, "there is no reduction \"%.*s\"", (int)(length - equals - 1), value);
    } else {
        return trine_fail(TRINE_ERR_UNSUPPORTED, "\"%.*s\" is none of block, tile, entries, weight, reduction",
                          (int)equals, text);
    }
    return TRINE_SUCCESS;
}

static trine_status parse_method(solver *s, const char *text)
{
    size_t length = strcspn(text, ":");
    int m = TRINE_SPMV_AUTO;
    while (m <= TRINE_SPMV_BALANCED_POSTPROCESS && !is_word(text, length, trine_spmv_method_name((trine_spmv_method)m)))
        m++;
    if (m > TRINE_SPMV_BALANCED_POSTPROCESS)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "trine has no method \"%.*s\" of products", (int)length, text);
    s->options.method = (trine_spmv_method)m;
    for (text += length; *text; text += length) {
        length = strcspn(++text, ":");
        if (is_word(text, length, "nopreprocess")) s->options.no_preprocess = 1;
        else if (is_word(text, length, "single")) s->options.values = TRINE_VALUES_SINGLE;
        else if (is_word(text, length, "half")) s->options.values = TRINE_VALUES_HALF;
        else if (is_word(text, length, "fused")) s->epilogue = FUSED;
        else if (is_word(text, length, "fused-u")) s->epilogue = FUSED_U;
        else if (is_word(text, length, "axpy")) s->epilogue = AXPY;
        else {
            const trine_status status = parse_number(s, text, length);
            if (status) return status;
        }
    }
    return TRINE_SUCCESS;
}

/* ------------------------------------------------------------------- plans */

static void destroy(void *self)
{
    solver *s = self;
    if (!s) return;
    bench *b = s->p->b;
    trine_spmv_destroy(&s->plan);
    trine_free(b->ctx, b->device.space, s->u);
    trine_free(b->ctx, b->device.space, s->z);
    trine_free(b->ctx, b->device.space, s->results);
    trine_free(b->ctx, TRINE_HOST, s->host_u);
    trine_free(b->ctx, TRINE_HOST, s->host_z);
    free(s);
}

/** Vectors u and z of real numbers in (-1,1), and room for results. */
static trine_status make_epilogue(solver *s)
{
    const spmv_problem *p = s->p;
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    const size_t element = trine_dtype_size(p->dtype), bytes = (size_t)p->n_rows * element;
    if (s->epilogue == PLAIN) return TRINE_SUCCESS;
    if (p->nrhs > 1 || is_complex(p->dtype)) FAIL(TRINE_ERR_UNSUPPORTED, "compared with one real vector only");
    if (s->epilogue == FUSED && p->n_rows != p->n_cols) FAIL(TRINE_ERR_UNSUPPORTED, "x^H y needs a square matrix");
    void **host = s->epilogue == AXPY ? &s->host_z : &s->host_u;
    TRY((*host = bench_alloc(b->ctx, 1, bytes, false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    for (int64_t i = 0; i < p->n_rows; i++) {
        const double x = 2 * bench_uniform(6, (uint64_t)i) - 1;
        if (p->dtype == TRINE_S) ((float *)*host)[i] = (float)x;
        else ((double *)*host)[i] = x;
    }
    void **placed = s->epilogue == AXPY ? &s->z : &s->u;
    TRY(trine_alloc(b->ctx, b->device.space, bytes + 1, placed));
    TRY(trine_copy(b->ctx, *placed, b->device.space, *host, TRINE_HOST, bytes));
    TRY(trine_alloc(b->ctx, b->device.space, 2 * element, &s->results));
    if (s->epilogue == AXPY) s->wants = (trine_spmv_epilogue){.axpy = s->z};
    else
        s->wants =
            (trine_spmv_epilogue){.dot = s->epilogue == FUSED ? p->X.data : s->u, .norm = 1, .results = s->results};
done:
    return status;
}

static trine_status create(spmv_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    solver *s = calloc(1, sizeof *s);
    *self = NULL;
    if (!s) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    s->options = (trine_spmv_options){.summation = p->b->summation, .max_nrhs = p->nrhs};
    s->alpha = spmv_scalar_of(p->dtype, p->alpha);
    s->beta = spmv_scalar_of(p->dtype, p->beta);
    TRY(parse_method(s, method));
    if (s->options.values && !p->narrow[s->options.values])
        FAIL(TRINE_ERR_UNSUPPORTED, "these values are stored in one precision only");
    TRY(make_epilogue(s));
    *self = s;
    s = NULL;
done:
    destroy(s);
    return status;
}

static trine_status forget(void *self) { return trine_spmv_destroy(&((solver *)self)->plan); }

/** Analysis, and the values, which are used where they are. */
static trine_status preprocess(void *self)
{
    solver *s = self;
    const spmv_problem *p = s->p;
    trine_status status = TRINE_SUCCESS;
    TRY(trine_spmv_analyse(p->b->ctx, &s->plan, p->A, &s->options));
    TRY(trine_spmv_numeric(s->plan, p->b->device.space, s->options.values ? p->narrow[s->options.values] : p->values,
                           NULL));
done:
    return status;
}

static trine_status multiply(void *self)
{
    const solver *s = self;
    const spmv_problem *p = s->p;
    return s->epilogue ? trine_spmv_apply_fused(s->plan, TRINE_N, &s->alpha, &p->X, &s->beta, &p->Y, &s->wants, NULL)
                       : trine_spmv_apply(s->plan, TRINE_N, &s->alpha, &p->X, &s->beta, &p->Y, NULL);
}

/* ------------------------------------------------------------------- check */

static double element(const spmv_problem *p, const void *v, int64_t i)
{
    return p->dtype == TRINE_S ? ((const float *)v)[i] : ((const double *)v)[i];
}

/** Whether u^H y and y^H y are those of this y, by Higham, Accuracy and Stability, 3.1. */
static trine_status check_sums(solver *s)
{
    const spmv_problem *p = s->p;
    trine_status status = TRINE_SUCCESS;
    long double exact[2] = {0, 0}, scale[2] = {0, 0};
    double results[2];
    const void *u = s->epilogue == FUSED ? p->host_x : s->host_u;
    TRY(trine_copy(p->b->ctx, results, TRINE_HOST, s->results, p->b->device.space, 2 * trine_dtype_size(p->dtype)));
    for (int64_t i = 0; i < p->n_rows; i++) {
        const long double y = element(p, p->found_y, i), term[2] = {element(p, u, i) * y, y * y};
        for (int k = 0; k < 2; k++) exact[k] += term[k], scale[k] += fabsl(term[k]);
    }
    for (int k = 0; k < 2; k++) {
        const double found = element(p, results, k), error = (double)fabsl(found - exact[k]);
        const double bound = (double)p->n_rows * trine_dtype_eps(p->dtype) * (double)scale[k];
        if (!(error <= bound))
            FAIL(TRINE_ERR_DEVICE, "wrong: the fused %s is %g, not %Lg", k ? "y^H y" : "u^H y", found, exact[k]);
    }
done:
    return status;
}

/** Whether z + y stands in z, which then gets its first values again. */
static trine_status check_axpy(solver *s)
{
    const spmv_problem *p = s->p;
    bench *b = p->b;
    const size_t bytes = (size_t)p->n_rows * trine_dtype_size(p->dtype);
    trine_status status = TRINE_SUCCESS;
    void *found = bench_alloc(b->ctx, 1, bytes, false);
    if (!found) return TRINE_ERR_MEMORY;
    TRY(trine_copy(b->ctx, found, TRINE_HOST, s->z, b->device.space, bytes));
    for (int64_t i = 0; i < p->n_rows; i++) {
        const double z = element(p, s->host_z, i), y = element(p, p->found_y, i), sum = element(p, found, i);
        if (!(fabs(sum - (z + y)) <= trine_dtype_eps(p->dtype) * (fabs(z) + fabs(y))))
            FAIL(TRINE_ERR_DEVICE, "wrong: z + y is %g + %g, not %g, in row %lld", z, y, sum, (long long)i);
    }
done:
    trine_free(b->ctx, TRINE_HOST, found);
    return status;
}

static trine_status check(void *self, double *error)
{
    solver *s = self;
    trine_status status = TRINE_SUCCESS;
    double of_bound;
    if (s->epilogue == AXPY) { /* a z that many products were not added to */
        const size_t bytes = (size_t)s->p->n_rows * trine_dtype_size(s->p->dtype);
        TRY(trine_copy(s->p->b->ctx, s->z, s->p->b->device.space, s->host_z, TRINE_HOST, bytes));
        TRY(spmv_problem_prepare(s->p, false));
        TRY(multiply(s));
    }
    TRY(spmv_problem_check(s->p, error, &of_bound));
    if (!(of_bound <= 1))
        FAIL(TRINE_ERR_DEVICE, "wrong: componentwise error %.2e, %.1f times what is allowed", *error, of_bound);
    if (s->epilogue == AXPY) TRY(check_axpy(s));
    else if (s->epilogue) TRY(check_sums(s));
done:
    return status;
}

static void describe(void *self, bench_record *r)
{
    solver *s = self;
    const spmv_problem *p = s->p;
    const int64_t size = (int64_t)trine_dtype_size(p->dtype), stored = s->options.values == TRINE_VALUES_HALF ? 2
                                                                       : s->options.values                    ? 4
                                                                                                              : size;
    trine_spmv_info info;
    r->bytes += p->nnz * (stored - size);
    /* vectors that the product does not touch */
    const int64_t more = s->epilogue == FUSED_U ? p->n_rows * size : s->epilogue == AXPY ? 2 * p->n_rows * size : 0;
    r->bytes += more;
    if (s->epilogue) bench_record_add_number(r, "epilogue_bytes", (double)more);
    if (trine_spmv_get_info(s->plan, &info) != TRINE_SUCCESS) return;
    r->chosen = trine_spmv_method_name(info.method);
    bench_record_add_number(r, "plan_bytes", (double)info.bytes);
    bench_record_add_number(r, "deterministic", info.deterministic);
    bench_record_add_text(r, "why", info.reason);
    if (!info.blocks) return;
    bench_record_add_text(r, "reduction", trine_spmv_reduction_name(info.reduction));
    bench_record_add_number(r, "block", info.block);
    bench_record_add_number(r, "tile", info.tile);
    bench_record_add_number(r, "entries_per_block", (double)info.entries_per_block);
}

const spmv_solver spmv_trine = {"trine", SPMV_OWN, create, preprocess, forget, multiply, check, describe, destroy};
