#include "tridiagonal/common/finite.h"

#include <math.h>

#include "core/scalar.h"
#include "tridiagonal/common/loops.h"

enum { NUMBERS_AT_ONCE = 8192, APART = 8 };

typedef struct {
    const void *numbers;
    bool single;
    int64_t first; /* atomic: a number that is not finite lies at or behind it, in the chunk that begins there */
} number_loop;

/** Zero times number k, which is NaN for one that is not finite, and stays it in a sum. */
INLINE_ALWAYS double zero_times(bool single, const void *x, int64_t k)
{
    return 0 * (single ? (double)((const float *)x)[k] : ((const double *)x)[k]);
}
INLINE_ALWAYS bool sum_is_zero(bool single, const void *x, int64_t begin, int64_t count)
{
    double sum[APART] = {0}, all = 0;
    int64_t k = begin;
    for (; k + APART <= begin + count; k += APART)
        for (int j = 0; j < APART; j++) sum[j] += zero_times(single, x, k + j);
    for (; k < begin + count; k++) all += zero_times(single, x, k);
    for (int j = 0; j < APART; j++) all += sum[j];
    return all == 0;
}
static bool are_finite(bool single, const void *x, int64_t begin, int64_t count)
{
    return single ? sum_is_zero(true, x, begin, count) : sum_is_zero(false, x, begin, count);
}

static void look_at_numbers(void *job, int64_t begin, int64_t end, int me)
{
    number_loop *c = job;
    (void)me;
    for (int64_t k = begin; k < end; k++)
        if (!are_finite(c->single, c->numbers, k, 1)) {
            rpts_take_least(&c->first, k);
            return;
        }
}
static void look_at_chunks(void *job, int64_t begin, int64_t end, int me)
{
    number_loop *c = job;
    for (int64_t at = begin; at < end; at += NUMBERS_AT_ONCE) {
        const int64_t count = end - at < NUMBERS_AT_ONCE ? end - at : NUMBERS_AT_ONCE;
        if (are_finite(c->single, c->numbers, at, count)) continue;
        look_at_numbers(job, at, at + count, me);
        return;
    }
}

/** The first element of a vector that is not finite, -1: none. */
static int64_t find_in_vector(trine_context ctx, trine_dtype t, const void *x, int64_t n)
{
    const int parts = trine_dtype_is_complex(t) ? 2 : 1;
    number_loop c = {x, trine_dtype_is_single(t), INT64_MAX};
    rpts_for(ctx, ctx->threads, n, parts * n, NUMBERS_AT_ONCE, look_at_chunks, &c);
    return c.first == INT64_MAX ? -1 : c.first / parts;
}

static const void *column_of(trine_dtype t, const void *X, int64_t ld, int64_t column)
{
    return (const char *)X + (size_t)(column * ld) * trine_dtype_size(t);
}

bool finite_matrix(trine_context ctx, const banded_system *s)
{
    const int64_t size = s->m * s->m;
    bool finite = true;
    for (int k = -s->kl; k <= s->ku && finite; k++) {
        const int64_t first = s->cyclic || k > 0 ? 0 : -k, end = s->cyclic || k < 0 ? s->rows : s->rows - k;
        const void *band = column_of(s->t, s->band[s->kl + k], size, first);
        finite = first >= end || find_in_vector(ctx, s->t, band, (end - first) * size) < 0;
    }
    return finite;
}

bool finite_before(trine_context ctx, const banded_system *s)
{
    bool finite = true;
    for (int64_t c = 0; c < s->nrhs && s->D == s->X && finite; c++)
        finite = find_in_vector(ctx, s->t, column_of(s->t, s->D, s->ldd, c), s->rows * s->m) < 0;
    return finite;
}

trine_status finite_after(trine_context ctx, const banded_system *s, bool was_finite)
{
    const int64_t n = s->rows * s->m;
    for (int64_t c = 0; c < s->nrhs && was_finite; c++) {
        const int64_t row = find_in_vector(ctx, s->t, column_of(s->t, s->X, s->ldx, c), n);
        if (row < 0) continue;
        if (s->D != s->X && find_in_vector(ctx, s->t, column_of(s->t, s->D, s->ldd, c), n) >= 0) continue;
        if (s->band[0] && !finite_matrix(ctx, s)) return TRINE_SUCCESS;
        return trine_fail(
            TRINE_ERR_SINGULAR,
            "unknown %lld of right-hand side %lld is not finite, while all that was given is: the matrix is singular to working precision, or its solution beyond the range of that",
            (long long)row, (long long)c);
    }
    return TRINE_SUCCESS;
}
