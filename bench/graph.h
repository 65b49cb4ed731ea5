/* What a solve on a GPU consists of: its launches, and its time level by level. C11 and C++17. */
#ifndef TRINE_BENCH_GRAPH_H
#define TRINE_BENCH_GRAPH_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `kernels` that a call launches, and the time of as many empty kernels with the same dependencies, as one CUDA
 *  graph: what the launches cost without the work. */
trine_status bench_count_launches(bench *b, bench_call call, void *self, int *kernels, double *launch_ms);

/** Time from each of the marks that `call` makes on the context's stream with bench_mark to the next, in
 *  microseconds, medians of reps; `call` runs as one CUDA graph. marks 0..count are made, times has room for count.
 *  *between: of two marks with nothing between them. */
trine_status bench_time_marks(bench *b, bench_call call, void *self, int64_t count, double *times, double *between);
void bench_mark(void *unused, int64_t k, void *stream);

#ifdef __cplusplus
}
#endif
#endif
