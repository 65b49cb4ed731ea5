/* Threads of the BLAS and of OpenMP while a library factors. */
#ifndef TRINE_DIRECT_THREADS_H
#define TRINE_DIRECT_THREADS_H

#include <trine/core.h>

struct factor_threads { int openmp; };

/** Between these two, a factorization of so many flops has as many threads of the BLAS as the context and the work
 *  allow, and none of OpenMP but the caller. The BLAS knows one number for the whole process: of factorizations at the
 *  same time the first one sets it, and the last one puts back what it was. */
struct factor_threads factor_threads_begin(trine_context ctx, double flops);
void factor_threads_end(struct factor_threads before);

/** As many threads as factor_threads_begin sets. */
int factor_threads_count(int threads_of_context, double flops);

#endif
