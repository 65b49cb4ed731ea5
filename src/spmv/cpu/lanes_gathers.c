/* lanes_avx512.c with elements of x by gathers, for processors where these are faster than loads one by one. */
#define LANES_BY_GATHERS
#include "spmv/cpu/lanes_avx512.c" /* the same text: NOLINT(bugprone-suspicious-include) */
