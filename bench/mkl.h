/* Intel MKL's inspector-executor sparse BLAS: the few declarations that the peers need, as its 32-bit (LP64) interface
 * documents them. */
#ifndef TRINE_BENCH_MKL_H
#define TRINE_BENCH_MKL_H

#include "bench.h"

enum {
    OPERATION_N = 10,
    OPERATION_T = 11,
    TYPE_GENERAL = 20,
    TYPE_TRIANGULAR = 23,
    FILL_LOWER = 40,
    FILL_UPPER = 41,
    DIAG_NON_UNIT = 50,
    DIAG_UNIT = 51,
    LAYOUT_ROW_MAJOR = 101,
    LAYOUT_COLUMN_MAJOR = 102,
    EXPECTED_CALLS = 1000
};
struct matrix_descr { int type, mode, diag; };

/** libmkl_rt, opened once, with the run's number of threads; then the functions of a peer, and MKL's version.
 *  TRINE_ERR_UNSUPPORTED on a GPU, TRINE_ERR_NOT_BUILT if there is no MKL. */
trine_status bench_mkl_load(bench *b, const bench_symbol *needed, size_t count, char version[200]);
/** A result of MKL's functions. */
trine_status bench_mkl_status(int result, const char *call);

#endif
