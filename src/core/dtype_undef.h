/* Ends one round of each_dtype.h. */
#undef DTYPE
#undef T
#undef R
#undef FN
#undef IS_COMPLEX
#undef CONJ
#undef REAL
#undef IMAG
#undef ABS
