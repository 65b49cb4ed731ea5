/* The same program as CUDA C++. */
#include "test_tridigpu.c"
