/* What host templates stand on: complex numbers, the table of one function's four precisions, code for wider
 * vectors. */
#ifndef TRINE_CORE_SCALAR_H
#define TRINE_CORE_SCALAR_H

#include <complex.h>
#include <math.h>
#include <trine/core.h>

#undef I /* of <complex.h>; short names belong to the code */

/** static const solve_fn solve[] = TABLE(solve_serial); solve[dtype](...) */
#define TABLE(name) {[TRINE_S] = name##_s, [TRINE_D] = name##_d, [TRINE_C] = name##_c, [TRINE_Z] = name##_z}

/* Before a function: compiled once more for wider vectors, chosen when the library is loaded. What it calls must be
 * part of it: INLINE_ALWAYS. */
#define INLINE_ALWAYS static inline __attribute__((always_inline))
#if defined(__x86_64__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES
#endif

#endif
