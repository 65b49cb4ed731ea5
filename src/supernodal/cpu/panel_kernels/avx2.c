/* The panel kernels once more; CMakeLists.txt sets the instruction set. */
#define INSTRUCTION_SET avx2
#include "supernodal/cpu/panel_kernels/set.inc"
