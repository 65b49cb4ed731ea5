/* The panel kernels for the instruction set of the whole build, and the choice between the sets. */
#define INSTRUCTION_SET baseline
#include "supernodal/cpu/panel_kernels/set.inc"

const struct panel_kernels *panel_kernels_for(trine_dtype t)
{
#ifdef TRINE_PANEL_SETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        return &panel_kernels_avx512[t];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return &panel_kernels_avx2[t];
#endif
    return &panel_kernels_baseline[t];
}
