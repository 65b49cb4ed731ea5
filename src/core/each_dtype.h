/* Include a template once for each precision. No include guard: used as
 *
 *     #define TEMPLATE "triangular/cpu/solve.inc"
 *     #include "core/each_dtype.h"
 *
 * In the template: T the type, R its real type, FN(name) -> name_s, name_d, name_c, name_z; DTYPE -> TRINE_S ...;
 * IS_COMPLEX 0 or 1; CONJ(x), REAL(x), IMAG(x), ABS(x) and FMA-free arithmetic with the plain operators. TABLE(name)
 * afterwards gives { [TRINE_S] = name_s, ... }.
 *
 * A template begins with what it is compiled with, for an editor or a compiler that reads it alone, in double
 * precision:
 *
 *     #ifndef T
 *     #include "triangular/cpu/solve.c"
 *
 *     #include "core/each_dtype_preview.h"
 *     #endif
 *
 * The first of these is the file that includes the template, so that all it declares is known. What only some of the
 * four precisions have is written in terms of T and R, not as name_s and name_d beside the template.
 * tests/CMakeLists.txt (include_templates) compiles every template that begins so. Parts of a template leave out the
 * .c file, and name the template. */
#include "core/scalar.h"

#define DTYPE TRINE_S
#define T float
#define R float
#define FN(name) name##_s
#define IS_COMPLEX 0
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0f
#define ABS(x) fabsf(x)
#include TEMPLATE
#include "core/dtype_undef.h"

#define DTYPE TRINE_D
#define T double
#define R double
#define FN(name) name##_d
#define IS_COMPLEX 0
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0
#define ABS(x) fabs(x)
#include TEMPLATE
#include "core/dtype_undef.h"

#define DTYPE TRINE_C
#define T float complex
#define R float
#define FN(name) name##_c
#define IS_COMPLEX 1
#define CONJ(x) conjf(x)
#define REAL(x) crealf(x)
#define IMAG(x) cimagf(x)
#define ABS(x) cabsf(x)
#include TEMPLATE
#include "core/dtype_undef.h"

#define DTYPE TRINE_Z
#define T double complex
#define R double
#define FN(name) name##_z
#define IS_COMPLEX 1
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define IMAG(x) cimag(x)
#define ABS(x) cabs(x)
#include TEMPLATE
#include "core/dtype_undef.h"

#undef TEMPLATE
