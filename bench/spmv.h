/* What the suite spmv shares: a matrix with vectors, and what multiplies them. */
#ifndef TRINE_BENCH_SPMV_H
#define TRINE_BENCH_SPMV_H

#include <trine/spmv.h>

#include "bench.h"

/** Y := alpha A X + beta Y. The arrays in the context's space are the host's own on a CPU. */
typedef struct {
    bench *b;
    const char *spec;
    trine_dtype dtype;
    bool rounded;                /* values are such as half precision has, and stored in three precisions */
    int64_t n_rows, n_cols, nnz, longest_row, nrhs;
    double alpha, beta;
    trine_matrix A;              /* a view of the next three */
    int32_t *offsets, *columns;
    void *values;                /* of dtype, */
    void *narrow[3];             /* and as trine_spmv_values names them; NULL unless rounded */
    trine_dense X, Y;
    int32_t *host_offsets, *host_columns;
    void *host_values, *host_x;
    void *host_y;                /* Y before a product, in every column; with beta = 0 it is not read */
    void *found_y;               /* Y as fetched last */
    void *reference;             /* the product of host_y by a serial loop, long double or long double complex, */
    double *scale;               /* and |alpha| |A||x| + |beta| |y| */
} spmv_problem;

/** Compressed rows in double on the host: as bench_read_matrix, or "random:ROWS:NNZ", square, entries anywhere. */
trine_status spmv_read(bench *b, const char *spec, trine_matrix *A);
/** A of spmv_read in a precision; no vectors yet. rounded: its values (of A too) to half precision.
 *  TRINE_ERR_UNSUPPORTED: values too large for that. */
trine_status spmv_problem_make(bench *b, const char *spec, trine_matrix A, trine_dtype dtype, bool rounded,
                               spmv_problem *p);
/** Random vectors, uniform in (-1,1), in b->layout where there are several. */
trine_status spmv_problem_set(spmv_problem *p, int64_t nrhs, double alpha, double beta);
void spmv_problem_free(spmv_problem *p);
/** Y as before a product. Where it is not read: NaN, or `finite`, huge numbers, so that an entry that is not written
 *  shows. */
trine_status spmv_problem_prepare(spmv_problem *p, bool finite);
/** Fetch Y and take the largest |y - reference| / scale of all entries, NAN for a NaN, and the same over what is
 *  allowed in its row: with k entries 2 (k + 4) eps, twice what any order of summation gives (Higham, Accuracy and
 *  Stability, 3.1 and, for complex products, 3.6). */
trine_status spmv_problem_check(spmv_problem *p, double *error, double *of_bound);
/** The scalar x in the problem's dtype. */
typedef union {
    float s[2];
    double d[2];
} spmv_scalar;
spmv_scalar spmv_scalar_of(trine_dtype dtype, double x);

typedef enum {
    SPMV_OWN,
    SPMV_PEER,
    SPMV_LOOP, /* a peer where there is no other */
    SPMV_FLOOR /* what no product can be faster than */
} spmv_role;

/** What multiplies. TRINE_ERR_NOT_BUILT and TRINE_ERR_UNSUPPORTED from any of these: the record is skipped. */
typedef struct {
    const char *impl;
    spmv_role role;
    trine_status (*create)(spmv_problem *p, const char *method, void **self);
    /* timed; forget is what undoes it, and runs untimed before it. NULL: there is no preprocessing */
    trine_status (*preprocess)(void *self);
    trine_status (*forget)(void *self);
    trine_status (*multiply)(void *self); /* one product, asynchronous on a GPU */
    /* instead of spmv_problem_check, after one product; sentence of what is wrong in the status. NULL: as products */
    trine_status (*check)(void *self, double *error);
    void (*describe)(void *self, bench_record *r); /* after the timing; may be NULL */
    void (*destroy)(void *self);
} spmv_solver;

/** "adaptive", "auto:nopreprocess", "adaptive:block=256:tile=8:entries=4096:reduction=raking:weight=2"; values stored
 *  in another precision: ":single", ":half"; with an epilogue: ":fused" (x^H y and y^H y), ":fused-u" (u^H y and
 *  y^H y), ":axpy" (z + y). */
extern const spmv_solver spmv_trine;
/** y := A x by semirings: "max", "max-column", "arg-max", "arg-max2", the library's own; "compiled", the product as
 *  strings (GPU), "entry" and "segment", as functions (CPU), the plain product of both. S and D. */
extern const spmv_solver spmv_semiring;
/** SpMV and, for several vectors, SpMM: "default", "alg1", "alg2" (SpMM: and "alg3"); the second solver calls their
 *  preprocessing too, and its methods end with ":preprocess". */
extern const spmv_solver spmv_cusparse, spmv_cusparse_preprocessed;
/** mkl_sparse_?_mv and _mm after set_mv_hint (set_mm_hint) and optimize. */
extern const spmv_solver spmv_mkl;
/** One loop over the rows, shared out by OpenMP. */
extern const spmv_solver spmv_loop;
/** GPU: products by merge paths, S and D, one vector. */
extern const spmv_solver spmv_merge_path;
/** GPU: values, columns and x as a product loads them, and nothing stored. */
extern const spmv_solver spmv_gather;
/** GPU: arg-max2 by CUB's DeviceSegmentedReduce. */
extern const spmv_solver spmv_cub;

/** Rows' largest entries, as semirings of the same names give them; out: of the problem's dtype, or int32_t columns.
 *  Rows without entries: -infinity, -1. */
void spmv_reference_of(const spmv_problem *p, const char *application, void *out);

/** What is compared on one problem. */
enum { SPMV_MOST_SOLVERS = 24 };
typedef struct {
    int count, base; /* base: the one that relative times are of; -1: none */
    const spmv_solver *solver[SPMV_MOST_SOLVERS];
    const char *method[SPMV_MOST_SOLVERS];
} spmv_list;
void spmv_list_add(spmv_list *list, const spmv_solver *solver, const char *method);
/** Time all of them in turn, a record each. */
trine_status spmv_compare(spmv_problem *p, const spmv_list *list);
void spmv_print_heading(const spmv_problem *p);
/** A record of the problem with nothing measured. */
bench_record spmv_record_begin(const spmv_problem *p, const spmv_solver *solver, const char *method);

/** GPU: from the creation of a semiring to its first result, with an empty cache and with what that left in it. */
trine_status spmv_measure_creation(spmv_problem *p);
/** GPU: trine_spmv_tune of the plain product ("product") or of a semiring of the library's, every combination a record.
 *  choices: the file that the fastest is added to; NULL: none. */
trine_status spmv_measure_tuning(const spmv_problem *p, const char *method, const char *choices);

#endif
