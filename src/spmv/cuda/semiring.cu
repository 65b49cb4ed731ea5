/* Semirings on a GPU: kernels from strings, kept by the context (core/kernel_cache.h), loaded by the driver. */
#include "core/choices.h"
#include "core/gpu_kernels.h"
#include "spmv/cuda/cuda.h"
#include "spmv/semiring.h"

namespace {

/** An instance that has been loaded. A list of them grows at its head, and shrinks only with the semiring. */
struct loaded_instance {
    struct loaded_instance *next;
    struct semiring_instance is;
    struct trine_kernels *kernels;
    void *handles[SEMIRING_KERNELS]; /* of the kernels in is.kernels, in their order */
};

/** What the semiring keeps. */
struct compiled_semiring {
    char *program;
    char name[TRINE_CHOICE_BYTES]; /* of its tuned choice: made once, for the program is long */
    struct loaded_instance *instances; /* atomic */
};

void free_instance(trine_context ctx, struct loaded_instance *i)
{
    if (!i) return;
    trine_kernels_drop(ctx, i->kernels);
    trine_free(ctx, TRINE_HOST, i);
}

struct program_of_instance {
    const char *text;
    const struct semiring_instance *is;
};
trine_status get_kernels(trine_context ctx, const void *program, int capability, bool portable, bool anew,
                         struct trine_kernels **kernels)
{
    const program_of_instance *p = (const program_of_instance *)program;
    return semiring_get_kernels(ctx, p->text, capability, portable, anew, 0, p->is, kernels);
}

trine_status make_instance(trine_semiring s, const struct semiring_instance *is, struct loaded_instance **out)
{
    trine_context ctx = s->ctx;
    struct compiled_semiring *c = (struct compiled_semiring *)s->compiled;
    struct loaded_instance *i = (struct loaded_instance *)trine_host_calloc(ctx, 1, sizeof *i);
    if (!i) return TRINE_ERR_MEMORY;
    i->is = *is;
    const program_of_instance program = {c->program, is};
    const trine_status status =
        trine_gpu_get_kernels(ctx, get_kernels, &program, __builtin_popcount(is->kernels), &i->kernels, i->handles);
    if (status) {
        free_instance(ctx, i);
        return status;
    }
    i->next = __atomic_load_n(&c->instances, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&c->instances, &i->next, i, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    *out = i;
    return TRINE_SUCCESS;
}

/** Whether a is an instance of what is wanted. */
bool serves(const struct semiring_instance &a, const struct semiring_instance &wanted)
{
    return a.position_bits == wanted.position_bits && (a.kernels & wanted.kernels) == wanted.kernels &&
           (wanted.kernels == SEMIRING_ROWS ||
            (a.block == wanted.block && a.tile == wanted.tile && a.reduction == wanted.reduction));
}

/** The handle of one of an instance's kernels. */
void *handle_of(const struct loaded_instance *i, int kernel)
{
    return i->handles[__builtin_popcount(i->is.kernels & (kernel - 1))];
}

/** The instance, compiled if it is the first time. */
trine_status find_instance(trine_semiring s, const struct semiring_instance *is, void *stream,
                           const struct loaded_instance **found)
{
    struct compiled_semiring *c = (struct compiled_semiring *)s->compiled;
    struct loaded_instance *i = __atomic_load_n(&c->instances, __ATOMIC_ACQUIRE);
    while (i && !serves(i->is, *is)) i = i->next;
    *found = i;
    if (i) return TRINE_SUCCESS;
    if (trine_device_is_capturing(s->ctx, stream))
        return trine_fail(TRINE_ERR_STATE, "the semiring is not compiled yet for the plan's tuning: its first product "
                                           "with the plan compiles, and cannot be captured");
    const trine_status status = make_instance(s, is, &i);
    *found = i;
    return status;
}

trine_status create(trine_semiring s)
{
    trine_context ctx = s->ctx;
    struct compiled_semiring *c = (struct compiled_semiring *)trine_host_calloc(ctx, 1, sizeof *c);
    s->compiled = c;
    if (!c) return TRINE_ERR_MEMORY;
    struct semiring_instance is = semiring_default_instance();
    struct loaded_instance *i;
    int saved;
    trine_device_enter(ctx, &saved);
    trine_status status = semiring_write_program(ctx, &s->source, &c->program);
    if (!status) {
        semiring_name_choice(c->program, c->name);
        semiring_take_choice(ctx, c->name, &is);
        semiring_fit_instance(&s->source, &is);
        status = make_instance(s, &is, &i);
    }
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

const char *spmv_cuda_program(trine_semiring s) { return ((struct compiled_semiring *)s->compiled)->program; }

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
    if (!plan->options.tune.block && !plan->options.tune.tile && !plan->options.tune.reduction)
        semiring_take_choice(plan->base.ctx, ((struct compiled_semiring *)c->semiring->compiled)->name, &is);
    const bool joins = l.scheme == TRINE_SPMV_BALANCED_POSTPROCESS;
    is.kernels = l.by_rows ? SEMIRING_ROWS : joins ? SEMIRING_REDUCE | SEMIRING_JOIN : SEMIRING_REDUCE;
    semiring_fit_instance(s, &is);
    const struct loaded_instance *i;
    status = find_instance(c->semiring, &is, c->stream, &i);
    if (status) return status;
    semiring_pack_operator(s, c->side, s->value.name ? plan->values : nullptr, c->x, c->y, c->args, operator_bytes);
    int one = 1;
    void *arguments[] = {&l.a, operator_bytes, &l.lanes_shift, &one, &one};
    if (l.by_rows) {
        bool early;
        status = spmv_cuda_begins_early(c->stream, &early);
        early = early && plan->base.ctx->info.compute_capability >= 90; /* compiled for less, it does not wait */
        return status ? status
                      : trine_gpu_launch(handle_of(i, SEMIRING_ROWS), l.blocks, SPMV_CUDA_ROWS_BLOCK, early, c->stream,
                                         arguments);
    }
    status = trine_gpu_launch(handle_of(i, SEMIRING_REDUCE), l.blocks, is.block, false, c->stream, arguments);
    if (status || !joins) return status;
    /* a thread for each block of the first launch; a warp, where starts are searched for */
    const unsigned each = l.a.starts ? (unsigned)is.block : (unsigned)is.block / 32;
    const unsigned joining = (l.blocks + each - 1) / each;
    return trine_gpu_launch(handle_of(i, SEMIRING_JOIN), joining, is.block, false, c->stream, arguments);
}

const struct semiring_backend semiring_cuda = {create, release};
