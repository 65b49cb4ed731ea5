/* A triangle in device memory: what the column and the level-set methods share. */
#ifndef TRINE_DEVICE_TRIANGLE_H
#define TRINE_DEVICE_TRIANGLE_H

#include "triangular/triangular.h"

/** First member of a method's own part, t->device. The arrays are those of struct triangle; values in the plan's dtype. */
struct device_triangle {
    int64_t *offsets, *source, *pivot_source;
    int32_t *columns, *order;
    void *values, *pivots;
    long long *bad_row;  /* of the last numeric; n or more: none */
};

/** Move t's arrays to the device, where t->device, cleared, awaits them; t's own go. */
trine_status device_triangle_upload(trine_triangular plan, struct triangle *t);
/** Free the arrays and t->device itself; t->device may be NULL. */
void device_triangle_free(trine_triangular plan, struct triangle *t);

/* In the tables of backends. */
trine_status device_triangle_numeric(trine_triangular plan, trine_space space, const void *values, void *stream);
trine_status device_triangle_bad_row(trine_triangular plan, void *stream, int64_t *row);

#endif
