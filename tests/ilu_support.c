#include "ilu_support.h"

#include <stdlib.h>
#include <string.h>

const trine_precond_method ilu_methods[ILU_METHODS] = {TRINE_PRECOND_ILU0, TRINE_PRECOND_ILUK, TRINE_PRECOND_ILUT,
                                                       TRINE_PRECOND_IC0, TRINE_PRECOND_ISAI};
const int sample_kinds[4] = {0, BY_COLUMNS, SHUFFLED, BY_COLUMNS | SHUFFLED};

void compress_sample(trine_context ctx, sample *s, int kind)
{
    const int64_t n = s->n;
    int64_t nnz = 0, *offsets;
    int32_t *indices;
    void *values;
    for (int64_t k = 0; k < n * n; k++) nnz += s->has[k];
    OK(trine_matrix_allocate(ctx, &s->A, kind & BY_COLUMNS ? TRINE_CSC : TRINE_CSR, s->t, n, n, nnz, &offsets, &indices,
                             &values));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t q = 0; q < n; q++) {
            const int64_t j = kind & SHUFFLED ? (q * 7 + i) % n : q, k = kind & BY_COLUMNS ? j * n + i : i * n + j;
            if (!s->has[k]) continue;
            indices[at] = (int32_t)j;
            put(s->t, values, at++, s->a[k]);
        }
        offsets[i + 1] = at;
    }
}

sample make_sample(trine_context ctx, trine_dtype t, int64_t n, double density, uint64_t seed, int kind)
{
    sample s = {t, n, calloc((size_t)(n * n + 1), sizeof(wide)), calloc((size_t)(n * n + 1), sizeof(bool)), NULL};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const uint64_t k = (uint64_t)(i * n + j);
            if (i == j || test_uniform(seed, k) > density || (kind & HERMITIAN && i < j)) continue;
            s.a[i * n + j] = random_element(t, seed + 1, k);
            s.has[i * n + j] = true;
            if (kind & HERMITIAN) s.a[j * n + i] = conjl(s.a[i * n + j]), s.has[j * n + i] = true;
        }
    char rounded[16];
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0.5L;
        for (int64_t j = 0; j < n; j++) sum += cabsl(s.a[i * n + j]);
        wide phase = random_element(t, seed + 2, (uint64_t)i);
        phase = kind & HERMITIAN ? 1 : phase / cabsl(phase);
        s.a[i * n + i] = phase * sum;
        s.has[i * n + i] = true;
    }
    for (int64_t k = 0; k < n * n; k++) put(t, rounded, 0, s.a[k]), s.a[k] = get(t, rounded, 0);
    compress_sample(ctx, &s, kind);
    return s;
}

void end_sample(sample *s)
{
    free(s->a), free(s->has);
    OK(trine_matrix_destroy(&s->A));
}

trine_precond plan_of(trine_context ctx, trine_matrix A, const trine_precond_options *o)
{
    trine_precond p;
    OK(trine_precond_analyse(ctx, &p, A, o));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
    OK(trine_precond_check(p, NULL));
    return p;
}

void get_factors(trine_precond p, trine_precond_method method, const sample *s, factors *f)
{
    const int64_t n = s->n, *offsets;
    const int32_t *columns;
    const void *values;
    OK(trine_precond_get_triangles(p, NULL, &offsets, &columns, &values));
    memset(f->L, 0, (size_t)(n * n) * sizeof *f->L);
    memset(f->U, 0, (size_t)(n * n) * sizeof *f->U);
    memset(f->pattern, 0, (size_t)(n * n) * sizeof *f->pattern);
    for (int64_t i = 0; i < n; i++) {
        if (method != TRINE_PRECOND_IC0) f->L[i * n + i] = 1;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            const int64_t j = columns[k];
            assert_true(k == offsets[i] || columns[k - 1] < j);
            const wide v = get(s->t, values, k);
            f->pattern[i * n + j] = true;
            if (method == TRINE_PRECOND_IC0) {
                assert_true(j <= i);
                f->L[i * n + j] = v;
                f->U[j * n + i] = conjl(v);
            } else if (j < i) {
                f->L[i * n + j] = v;
            } else {
                f->U[i * n + j] = v;
            }
        }
    }
}

sample given_sample(trine_dtype t, int64_t n, const double *a)
{
    sample s = {t, n, malloc((size_t)(n * n) * sizeof(wide)), malloc((size_t)(n * n)), NULL};
    for (int64_t k = 0; k < n * n; k++) s.a[k] = a[k], s.has[k] = a[k] != 99;
    compress_sample(test_cpu(1), &s, 0);
    return s;
}

factors new_factors(int64_t n)
{
    const size_t count = (size_t)(n * n + 1);
    return (factors){malloc(count * sizeof(wide)), malloc(count * sizeof(wide)), malloc(count * sizeof(bool))};
}
void end_factors(factors *f) { free(f->L), free(f->U), free(f->pattern); }

void assert_factors(const sample *s, const factors *f)
{
    const int64_t n = s->n;
    const long double bound = 4 * (long double)(n + 2) * eps_of(s->t);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (!f->pattern[i * n + j]) continue;
            wide rest = s->a[i * n + j];
            long double size = 0;
            for (int64_t k = 0; k < n; k++) {
                rest -= f->L[i * n + k] * f->U[k * n + j];
                size += cabsl(f->L[i * n + k]) * cabsl(f->U[k * n + j]);
            }
            assert_true(cabsl(rest) <= bound * size);
        }
}
