/* The plain product as a semiring on a CPU. */
#ifndef TRINE_BENCH_SPMV_HOST_H
#define TRINE_BENCH_SPMV_HOST_H

#include "spmv.h"

/** y := A x by one call for each entry ("entry"), each row ("segment") or many rows ("rows"). */
trine_semiring_source spmv_host_semiring(trine_dtype dtype, const char *form);

#endif
