/* What a template of each_dtype.h is compiled with, for an editor that reads it alone: double precision. No include guard. */
#define DTYPE TRINE_D
#define T double
#define R double
#define FN(name) name##_preview
#define IS_COMPLEX 0
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0
#define ABS(x) fabs(x)
