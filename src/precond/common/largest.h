/* The largest of many entries, of equal ones those of lower columns: quickselect. */
#ifndef TRINE_PRECOND_COMMON_LARGEST_H
#define TRINE_PRECOND_COMMON_LARGEST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double size;
    int32_t column;
    int32_t position;                /* the caller's */
    int64_t at;                      /* the caller's */
} precond_candidate;

static inline bool precond_comes_before(const precond_candidate *a, const precond_candidate *b)
{
    return a->size > b->size || (a->size == b->size && a->column < b->column);
}

static inline void precond_exchange(precond_candidate *a, precond_candidate *b)
{
    const precond_candidate t = *a;
    *a = *b;
    *b = t;
}

/** The first `wanted` in the order of precond_comes_before go to the front, in any order. Columns differ; sizes are no
 *  NaN. */
static inline void precond_take_largest(precond_candidate *c, int64_t count, int64_t wanted)
{
    int64_t low = 0, high = count;
    while (low < wanted && wanted < high) {
        precond_exchange(&c[low], &c[low + (high - low) / 2]);
        int64_t middle = low; /* c[low] is compared with; what comes before it goes to low+1..middle */
        for (int64_t k = low + 1; k < high; k++)
            if (precond_comes_before(&c[k], &c[low])) precond_exchange(&c[k], &c[++middle]);
        precond_exchange(&c[low], &c[middle]);
        if (middle < wanted) low = middle + 1;
        else high = middle;
    }
}

#endif
