/* The panel kernels once more; CMakeLists.txt sets the instruction set. */
#define INSTRUCTION_SET avx512
#include "supernodal/cpu/panel_kernels/set.inc"
