/* Semirings on a GPU: kernels from strings, kept by the context (core/kernel_cache.h), loaded by the driver. */
#include "core/gpu_launch.cuh"
#include "core/gpu_limits.h"
#include "spmv/cuda/cuda.h"
#include "spmv/semiring.h"

#if !defined(__HIP__) && CUDART_VERSION >= 12050

namespace {

/** An instance that has been loaded. A list of them grows at its head, and shrinks only with the semiring. */
struct loaded_instance {
    struct loaded_instance *next;
    struct semiring_instance is;
    struct trine_kernels *kernels;
    CUkernel reduce, join;
};

/** What the semiring keeps. */
struct compiled_semiring {
    char *program;
    struct loaded_instance *instances; /* atomic */
};

struct driver {
    PFN_cuLibraryLoadData_v12000 load;
    PFN_cuLibraryUnload_v12000 unload;
    PFN_cuLibraryGetKernel_v12000 get_kernel;
    PFN_cuLaunchKernelEx_v11060 launch;
    PFN_cuGetErrorString_v6000 error_string;
};

const driver &the_driver()
{
    static const driver d = {
        (PFN_cuLibraryLoadData_v12000)find_driver_call("cuLibraryLoadData", 12000),
        (PFN_cuLibraryUnload_v12000)find_driver_call("cuLibraryUnload", 12000),
        (PFN_cuLibraryGetKernel_v12000)find_driver_call("cuLibraryGetKernel", 12000),
        (PFN_cuLaunchKernelEx_v11060)find_driver_call("cuLaunchKernelEx", 12000),
        (PFN_cuGetErrorString_v6000)find_driver_call("cuGetErrorString", 6000),
    };
    return d;
}

trine_status driver_status(CUresult result, const char *what)
{
    const char *text = nullptr;
    if (result == CUDA_SUCCESS) return TRINE_SUCCESS;
    if (the_driver().error_string) the_driver().error_string(result, &text);
    return trine_fail(result == CUDA_ERROR_OUT_OF_MEMORY ? TRINE_ERR_MEMORY : TRINE_ERR_DEVICE, "%s: %s", what,
                      text ? text : "an error of the driver");
}

void unload(void *library) { the_driver().unload((CUlibrary)library); }

/** The library of the kernels, loaded once; another thread may do so at the same time. */
trine_status load(struct trine_kernels *k)
{
    CUlibrary library = nullptr;
    void *nobody = nullptr;
    if (__atomic_load_n(&k->loaded, __ATOMIC_ACQUIRE)) return TRINE_SUCCESS;
    const trine_status status = driver_status(
        the_driver().load(&library, k->code.image, nullptr, nullptr, 0, nullptr, nullptr, 0), "loading the semiring");
    if (status) return status;
    k->unload = unload;
    if (!__atomic_compare_exchange_n(&k->loaded, &nobody, library, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        the_driver().unload(library);
    return TRINE_SUCCESS;
}

trine_status find_kernels(struct loaded_instance *i)
{
    const CUlibrary library = (CUlibrary)i->kernels->loaded;
    const char *name = i->kernels->code.names;
    trine_status status = driver_status(the_driver().get_kernel(&i->reduce, library, name), "finding the kernel");
    if (!status && i->is.joins)
        status =
            driver_status(the_driver().get_kernel(&i->join, library, name + strlen(name) + 1), "finding the kernel");
    return status;
}

void free_instance(trine_context ctx, struct loaded_instance *i)
{
    if (!i) return;
    trine_kernels_drop(ctx, i->kernels);
    trine_free(ctx, TRINE_HOST, i);
}

/** Code for the device, or for the smaller one that it is taken for (trine_gpu_pretend), which is PTX. */
trine_status get_kernels(trine_semiring s, const struct semiring_instance *is, bool anew,
                         struct trine_kernels **kernels)
{
    trine_context ctx = s->ctx;
    const int shown = ctx->info.compute_capability;
    int major = 0, minor = 0;
    trine_status status = GPU(gpuDeviceGetAttribute(&major, gpuDevAttrComputeCapabilityMajor, ctx->device));
    if (!status) status = GPU(gpuDeviceGetAttribute(&minor, gpuDevAttrComputeCapabilityMinor, ctx->device));
    if (status) return status;
    return semiring_get_kernels(ctx, ((struct compiled_semiring *)s->compiled)->program, shown,
                                shown != 10 * major + minor, anew, 0, is, kernels);
}

trine_status make_instance(trine_semiring s, const struct semiring_instance *is, struct loaded_instance **out)
{
    trine_context ctx = s->ctx;
    struct compiled_semiring *c = (struct compiled_semiring *)s->compiled;
    struct loaded_instance *i = (struct loaded_instance *)trine_host_calloc(ctx, 1, sizeof *i);
    if (!i) return TRINE_ERR_MEMORY;
    i->is = *is;
    trine_status status = get_kernels(s, is, false, &i->kernels);
    if (!status) status = load(i->kernels);
    if (status && i->kernels && i->kernels->from_file) { /* of a later NVRTC than the driver can load */
        trine_kernels_drop(ctx, i->kernels);
        status = get_kernels(s, is, true, &i->kernels);
        if (!status) status = load(i->kernels);
    }
    if (!status) status = find_kernels(i);
    if (status) {
        free_instance(ctx, i);
        return status;
    }
    i->next = __atomic_load_n(&c->instances, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&c->instances, &i->next, i, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    *out = i;
    return TRINE_SUCCESS;
}

bool are_equal(const struct semiring_instance &a, const struct semiring_instance &b)
{
    return a.position_bits == b.position_bits && a.block == b.block && a.tile == b.tile && a.reduction == b.reduction &&
           a.joins >= b.joins;
}

/** The instance, compiled if it is the first time. */
trine_status find_instance(trine_semiring s, const struct semiring_instance *is, void *stream,
                           const struct loaded_instance **found)
{
    struct compiled_semiring *c = (struct compiled_semiring *)s->compiled;
    struct loaded_instance *i = __atomic_load_n(&c->instances, __ATOMIC_ACQUIRE);
    while (i && !are_equal(i->is, *is)) i = i->next;
    *found = i;
    if (i) return TRINE_SUCCESS;
    if (trine_device_is_capturing(s->ctx, stream))
        return trine_fail(TRINE_ERR_STATE, "the semiring is not compiled yet for the plan's tuning: its first product "
                                           "with the plan compiles, and cannot be captured");
    const trine_status status = make_instance(s, is, &i);
    *found = i;
    return status;
}

trine_status launch(CUkernel kernel, unsigned blocks, int threads, void *stream, void **arguments)
{
    if (!blocks) return TRINE_SUCCESS;
    CUlaunchConfig config = {};
    config.gridDimX = blocks, config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = (unsigned)threads, config.blockDimY = config.blockDimZ = 1;
    config.hStream = (CUstream)stream;
    return driver_status(the_driver().launch(&config, (CUfunction)kernel, arguments, nullptr), "launch of a semiring");
}

trine_status create(trine_semiring s)
{
    trine_context ctx = s->ctx;
    struct compiled_semiring *c = (struct compiled_semiring *)trine_host_calloc(ctx, 1, sizeof *c);
    s->compiled = c;
    if (!c) return TRINE_ERR_MEMORY;
    struct semiring_instance is = semiring_default_instance();
    struct loaded_instance *i;
    semiring_fit_instance(&s->source, &is);
    int saved;
    trine_device_enter(ctx, &saved);
    const driver &d = the_driver();
    trine_status status = TRINE_SUCCESS;
    if (!d.load || !d.unload || !d.get_kernel || !d.launch)
        status = trine_fail(TRINE_ERR_NOT_BUILT, "the driver cannot load kernels made at run time: CUDA 12 is needed");
    if (!status) status = semiring_write_program(ctx, &s->source, &c->program);
    if (!status) status = make_instance(s, &is, &i);
    trine_device_leave(ctx, saved);
    return status;
}

void release(trine_semiring s)
{
    struct compiled_semiring *c = (struct compiled_semiring *)s->compiled;
    int saved;
    if (!c) return;
    trine_device_enter(s->ctx, &saved);
    for (struct loaded_instance *i = c->instances, *next; i; i = next) {
        next = i->next;
        free_instance(s->ctx, i);
    }
    trine_device_leave(s->ctx, saved);
    trine_free(s->ctx, TRINE_HOST, c->program);
    trine_free(s->ctx, TRINE_HOST, c);
}

} // namespace

trine_status spmv_cuda_apply_semiring(trine_spmv plan, const struct spmv_semiring_call *c)
{
    const trine_semiring_source *s = &c->semiring->source;
    alignas(SEMIRING_TYPE_BYTES) char operator_bytes[SEMIRING_OPERATOR_BYTES];
    struct spmv_launch l = {};
    /* an accumulator and two flags, as open_sum of segmented.cuh has them */
    const size_t align = s->accumulator.align;
    l.partial_bytes = (s->accumulator.size + 2 + align - 1) / align * align;
    l.work = c->work;
    trine_status status = spmv_cuda_prepare(plan, c->side, c->row_begin, c->row_end, &l);
    if (status) return status;
    struct semiring_instance is = {};
    is.position_bits = c->side->position_bits;
    is.block = l.block, is.tile = l.tile, is.reduction = l.reduction;
    is.joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS;
    semiring_fit_instance(s, &is);
    const struct loaded_instance *i;
    status = find_instance(c->semiring, &is, c->stream, &i);
    if (status) return status;
    semiring_pack_operator(s, c->side, s->value.name ? plan->values : nullptr, c->x, c->y, c->args, operator_bytes);
    void *arguments[] = {&l.a, operator_bytes};
    status = launch(i->reduce, l.blocks, is.block, c->stream, arguments);
    /* a warp for each block of the first launch */
    const unsigned joining =
        is.joins ? (l.joining_blocks * (unsigned)l.block + (unsigned)is.block - 1) / (unsigned)is.block : 0;
    return status ? status : launch(i->join, joining, is.block, c->stream, arguments);
}

const struct semiring_backend semiring_cuda = {create, release};

#else

trine_status spmv_cuda_apply_semiring(trine_spmv, const struct spmv_semiring_call *)
{
    return trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without what loads kernels at run time");
}
static trine_status create(trine_semiring)
{
    return trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without what loads kernels at run time");
}
static void release(trine_semiring) {}
const struct semiring_backend semiring_cuda = {create, release};

#endif
