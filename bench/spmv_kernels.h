/* Kernels that products are measured against. */
#ifndef TRINE_BENCH_SPMV_KERNELS_H
#define TRINE_BENCH_SPMV_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** y := alpha A x + beta y with one vector, S or D, in device memory. */
typedef struct {
    int is_double;
    int64_t n_rows, n_cols, nnz;
    const int32_t *offsets, *columns;
    const void *values, *x;
    double alpha, beta;
    void *y;
    void *work; /* of the bytes that the kernel asks for */
    size_t work_bytes;
    void *stream;
} spmv_arrays;

typedef enum {
    SPMV_KERNEL_MERGE_PATH, /* the product by merge paths (Merrill and Garland 2016) */
    SPMV_KERNEL_GATHER,     /* values, columns and x[column] loaded and added up, and nothing stored */
    SPMV_KERNEL_TOP2        /* y: int32_t[2] a row, the columns of its two largest values, -1 where missing, by CUB */
} spmv_kernel;

/** Bytes of work. 0 or an error of the CUDA runtime. */
int spmv_kernel_work(spmv_kernel kernel, const spmv_arrays *arrays, size_t *bytes);
/** Launch it; an error of the CUDA runtime, or 0. */
int spmv_kernel_launch(spmv_kernel kernel, const spmv_arrays *arrays);

#ifdef __cplusplus
}
#endif
#endif
