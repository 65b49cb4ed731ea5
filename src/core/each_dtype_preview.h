/* What core/each_dtype.h defines for a template, for double: so that an editor, or a reader, can take an .inc file by
 * itself. Templates begin with
 *
 *     #ifndef T
 *     #include "triangular/cpu/solve.c"      (whose declarations they need)
 *     #include "core/each_dtype_preview.h"
 *     #endif
 *
 * which does nothing where they are compiled. Parts of a template leave out the .c file, and name the template that
 * they are parts of. */
#include "core/scalar.h"

#define DTYPE TRINE_D
#define T double
#define R double
#define FN(name) name##_preview
#define IS_COMPLEX 0
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0
#define ABS(x) fabs(x)
