/* Stands for a profiler: prints the ranges that a program pushes and pops (NVTX's injection interface). */
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

static int depth;

static int push(const char *name)
{
    fprintf(stderr, "%*s%s\n", 2 * depth, "", name);
    return depth++;
}

static int pop(void)
{
    fprintf(stderr, "%*send\n", 2 * --depth, "");
    return depth;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable functions = NULL;
    unsigned count = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) ||
        count <= NVTX_CBID_CORE_RangePop)
        return 0;
    *functions[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *functions[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
