/* The device part of a context in a build without CUDA: opening says so, and nothing else can be reached. */
#include "core/gpu_limits.h"

static trine_status none(void) { return trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without CUDA"); }

trine_status trine_device_open(trine_context ctx, int ordinal)
{
    (void)ctx, (void)ordinal;
    return none();
}
void trine_device_close(trine_context ctx) { (void)ctx; }
trine_status trine_device_alloc(trine_context ctx, size_t bytes, void **p)
{
    (void)ctx, (void)bytes, *p = NULL;
    return none();
}
void trine_device_free(trine_context ctx, void *p) { (void)ctx, (void)p; }
trine_status trine_device_copy_async(trine_context ctx, void *dst, const void *src, size_t bytes, void *stream)
{
    (void)ctx, (void)dst, (void)src, (void)bytes, (void)stream;
    return none();
}
trine_status trine_device_fill_async(trine_context ctx, void *dst, int byte, size_t bytes, void *stream)
{
    (void)ctx, (void)dst, (void)byte, (void)bytes, (void)stream;
    return none();
}
trine_status trine_device_fill_lines_async(trine_context ctx, void *dst, size_t step, int byte, size_t length,
                                           int64_t lines, void *stream)
{
    (void)ctx, (void)dst, (void)step, (void)byte, (void)length, (void)lines, (void)stream;
    return none();
}
trine_status trine_device_synchronize(trine_context ctx, void *stream)
{
    (void)ctx, (void)stream;
    return none();
}
bool trine_device_is_capturing(trine_context ctx, void *stream)
{
    (void)ctx, (void)stream;
    return false;
}
void trine_device_enter(trine_context ctx, int *saved) { (void)ctx, *saved = -1; }
void trine_device_leave(trine_context ctx, int saved) { (void)ctx, (void)saved; }
void trine_gpu_pretend(int capability, int shared_bytes) { (void)capability, (void)shared_bytes; }
void trine_fill_build_info(trine_build_info *info) { info->cuda_architectures = ""; }
int trine_range_begin(const char *name)
{
    (void)name;
    return 0;
}
void trine_range_end(int *range) { (void)range; }
