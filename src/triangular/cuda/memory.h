/* Upper bounds of the memory that the analyses on the GPU take, before they run. */
#ifndef TRINE_TRIANGULAR_CUDA_MEMORY_H
#define TRINE_TRIANGULAR_CUDA_MEMORY_H

#include "triangular/cuda/triangle.h"

struct memory_question {
    int64_t n, nnz, nnz_matrix, element; /* nnz: of the strict triangle; element: bytes of a value */
    bool unit, on_host, ascending;       /* the pattern: on the host; its rows ascend */
    const trine_triangular_options *options;
    int64_t inverses;                    /* entries that partitioned inverses may have */
};

/** A side of a method, once its form is there: what it adds. */
typedef void (*memory_of_method)(const memory_question *q, triangular_bytes *host, triangular_bytes *device);
void memory_of_syncfree_rows(const memory_question *q, triangular_bytes *host, triangular_bytes *device);
void memory_of_syncfree_columns(const memory_question *q, triangular_bytes *host, triangular_bytes *device);
void memory_of_levelset(const memory_question *q, triangular_bytes *host, triangular_bytes *device);
void memory_of_partition(const memory_question *q, triangular_bytes *host, triangular_bytes *device);
/** Of all sides: the pattern, each one's form, and what the method adds. */
trine_status device_memory(trine_triangular plan, const triangular_extent *e, triangle_form form,
                           memory_of_method method, triangular_bytes *host, triangular_bytes *device);
/** Of a work: few_levels_room, with what is behind the states. */
size_t memory_of_few_levels_room(trine_triangular plan, const triangular_extent *e);

/* Bytes that CUB asks for, each where it is called. */
int64_t pattern_sort_bytes(int64_t n, int64_t nnz);
int64_t pattern_transpose_bytes(int64_t n, int64_t nnz);
int64_t device_triangle_sort_bytes(int64_t n, int64_t n_keys);
int64_t device_scan_bytes(int64_t n);
int64_t device_rows_sort_bytes(int64_t n, int64_t nnz);
int64_t device_partition_sort_bytes(int64_t n, int64_t entries);

#endif
