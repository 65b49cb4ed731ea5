/* What the tridiagonal suites share: systems that several libraries solve, and those libraries. */
#ifndef TRINE_BENCH_TRIDIAG_H
#define TRINE_BENCH_TRIDIAG_H

#include "bench.h"

/** `systems` banded systems of n rows, coefficients and right-hand sides uniform in (-1,1). Band k, -kl..ku, is
 *  followed by band k + 1; position i of system s is at s n + i, or at i systems + s where interleaved. D, X: nrhs
 *  such vectors. */
typedef struct {
    bench *b;
    trine_dtype dtype;     /* S or D */
    int64_t n, nrhs, systems;
    int kl, ku;
    bool interleaved;
    bool cyclic;           /* set by the suite: one system whose corners count, solved by trine only */
    size_t element;
    char *host;            /* bands, then D */
    char *bands, *D, *X;   /* the same in the context's space */
    char *blocks;          /* the matrix once more as blocks a, b, c; NULL: none */
    int block;             /* rows of a block */
    int per_row;           /* elements of the matrix that a solver has to read for each row */
} tridiag_problem;

/** Of a problem to be made. nrhs and systems: 0 is 1; kl and ku: both 0 is tridiagonal. */
typedef struct {
    trine_dtype dtype;
    int64_t n, nrhs, systems;
    int kl, ku;
    bool interleaved;
} tridiag_shape;
trine_status tridiag_problem_make(bench *b, const tridiag_shape *shape, tridiag_problem *p);
/** One system in double with given bands (and blocks, or NULL) and d = A x, bands added from the lowest on. */
trine_status tridiag_problem_from_bands(bench *b, int64_t n, int kl, int ku, const double *bands, const double *blocks,
                                        const double *x, tridiag_problem *p);
void tridiag_problem_free(tridiag_problem *p);
/** Band k in the context's space. */
char *tridiag_band(const tridiag_problem *p, int k);
size_t tridiag_band_bytes(const tridiag_problem *p);  /* one band of all systems: also one right-hand side */
/** Fetch x (from anywhere) and take the largest |d - Ax| / (|A||x| + |d|) of all rows, in long double, residuals
 *  that are underflow left out; infinite if x is not finite. */
trine_status tridiag_problem_check(const tridiag_problem *p, const void *x, double *error);

/** A library's routine. TRINE_ERR_NOT_BUILT and TRINE_ERR_UNSUPPORTED from create: the record is skipped. */
typedef struct {
    const char *impl;
    trine_status (*create)(const tridiag_problem *p, const char *method, void **self);
    trine_status (*reset)(void *self); /* untimed, before every solve: what solve overwrites; NULL: nothing */
    trine_status (*solve)(void *self);
    const void *(*solution)(const void *self); /* in the context's space, or on the host */
    size_t (*work_bytes)(const void *self); /* beyond the system, D and X */
    void (*destroy)(void *self);
} tridiag_solver;

/** method: "auto", "M=32" (rows of a partition), "none", "partial", "partial-determinant", "scaled-determinant"
 *  (pivoting), "refine", "info" (singular or not), "stages", "two-pass", "one-pass", "on-chip" (path), "one-thread",
 *  "two-rows" (final stage), "blocks" (bgtsv); on a CPU "threads=1" too; joined by ":". */
extern const tridiag_solver tridiag_trine;
/** gtsv2, gtsv2_nopivot; of batches gtsv2StridedBatch, gtsvInterleavedBatch:0 (no pivoting) and :1 (pivoting),
 *  gpsvInterleavedBatch (kl = ku = 2). */
extern const tridiag_solver tridiag_cusparse;
/** Banded systems as one CSR matrix: "csrilu02" (the ILU(0) factorization), "csrilu02+SpSV" (two solves with its
 *  factors). */
extern const tridiag_solver tridiag_ilu;
/** gtsv or gbsv, on one thread; the library that the system's liblapack is. */
extern const tridiag_solver tridiag_lapack;

/** What is compared on one problem. */
enum { TRIDIAG_MOST_SOLVERS = 16 };
typedef struct {
    int count;
    const tridiag_solver *solver[TRIDIAG_MOST_SOLVERS];
    const char *method[TRIDIAG_MOST_SOLVERS];
} tridiag_list;
void tridiag_list_add(tridiag_list *list, const tridiag_solver *solver, const char *method);
/** Whether --peers has this library, or nothing. */
bool tridiag_wants_peer(const bench *b, const char *name);
/** Time all of them in turn on one problem and write a record of each. `variant` tells records of one size apart. */
trine_status tridiag_compare(const tridiag_problem *p, const char *variant, const tridiag_list *list);
/** The same on systems made here. */
trine_status tridiag_compare_on_random(bench *b, const char *variant, const tridiag_shape *shape,
                                       const tridiag_list *list);
void tridiag_print_head(bench *b);
/** Time and record the kernels of gtsv's two passes, with and without arithmetic, beside a copy kernel: on a GPU. */
trine_status tridiag_measure_kernels(bench *b, trine_dtype dtype, int64_t n);

/** Parts of the suite with files of their own. */
trine_status bench_tridiag_bands(bench *b, trine_dtype dtype);
trine_status bench_tridiag_blocks(bench *b, trine_dtype dtype);
trine_status bench_tridiag_block_partitions(bench *b, trine_dtype dtype);
trine_status bench_tridiag_sparse(bench *b, trine_dtype dtype);
trine_status bench_tridiag_sparse_columns(bench *b, trine_dtype dtype);

#endif
