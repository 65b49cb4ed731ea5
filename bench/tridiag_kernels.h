/* The kernels of gtsv's two passes by themselves, and what they could at best be. */
#ifndef TRINE_BENCH_TRIDIAG_KERNELS_H
#define TRINE_BENCH_TRIDIAG_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRIDIAG_COPY,             /* n elements read, n written */
    TRIDIAG_REDUCE,           /* 4 n read */
    TRIDIAG_REDUCE_ONLY_READ, /* the same without arithmetic */
    TRIDIAG_SUBSTITUTE,       /* 4 n read, n written */
    TRIDIAG_SUBSTITUTE_ONLY_MOVE,
    TRIDIAG_KERNELS
} tridiag_kernel;

/** A system with one right-hand side in device memory, S or D, arrays 16-byte aligned; work: n elements. */
typedef struct {
    int is_double;
    int64_t n;
    const void *a, *b, *c, *d;
    void *x, *work, *stream;
} tridiag_arrays;

/** Launch it; an error of the CUDA runtime, or 0. */
int tridiag_kernel_launch(tridiag_kernel kernel, const tridiag_arrays *arrays);

#ifdef __cplusplus
}
#endif
#endif
