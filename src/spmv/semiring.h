/* Semirings: what the parts of their making share. */
#ifndef TRINE_SPMV_SEMIRING_H
#define TRINE_SPMV_SEMIRING_H

#include "core/kernel_cache.h"
#include "core/test_interface.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SEMIRING_TYPES = 7, SEMIRING_TYPE_BYTES = 256 };

/** The types of a source in the order of its members. Those without a name are not there. */
static inline const trine_type *semiring_type(const trine_semiring_source *s, int k)
{
    const trine_type *const types[SEMIRING_TYPES] = {&s->value,  &s->vector, &s->product, &s->accumulator,
                                                     &s->result, &s->output, &s->args};
    return types[k];
}

/** What a context's device adds to a semiring. */
struct semiring_backend {
    trine_status (*create)(trine_semiring semiring);
    void (*release)(trine_semiring semiring); /* also of a semiring whose create has failed */
};
extern const struct semiring_backend semiring_cuda;

/** Check a source for a CPU or a GPU, and fill in the types that have others for a default. */
trine_status semiring_check(trine_semiring_source *source, bool for_gpu);

/* --------------------------------------------------------- the GPU's source */

/** Kernels of a program: reduce_rows and its second launch, join_shared_rows, and reduce_whole_rows (rows.cuh). */
enum { SEMIRING_REDUCE = 1, SEMIRING_JOIN = 2, SEMIRING_ROWS = 4, SEMIRING_KERNELS = 3 };

/** An instance of them. */
struct semiring_instance {
    int position_bits;               /* of the index of the values: 32 or 64; 0: none */
    int block, tile, reduction;      /* of the first two kernels; reduce_whole_rows has one shape */
    int kernels;                     /* those that are wanted, by their bits */
};

/** What trine_semiring_create compiles. */
struct semiring_instance semiring_default_instance(void);
/** The choice of tuning for the semiring in ctx (core/choices.h), else as it is. */
void semiring_take_choice(trine_context ctx, const char *name, struct semiring_instance *instance);
/** Its name, of TRINE_CHOICE_BYTES: made of a hash of the program. */
void semiring_name_choice(const char *program, char *name);
/** A smaller block and tile, where types are so large that shared memory would not do. */
void semiring_fit_instance(const trine_semiring_source *source, struct semiring_instance *instance);

/** The program of a checked source, in one string of the context's. */
trine_status semiring_write_program(trine_context ctx, const trine_semiring_source *source, char **program);

/** Compile an instance, or find it compiled: its kernels in the order of their bits. */
trine_status semiring_get_kernels(trine_context ctx, const char *program, int capability, bool portable, bool anew,
                                  double seconds, const struct semiring_instance *instance,
                                  struct trine_kernels **kernels);

/* ------------------------------------------- plain products in other instances */

/** reduce_rows of a plain product. */
struct product_instance {
    trine_dtype dtype, stored;       /* stored 0: half */
    bool indexed;
    int block, tile, reduction;
};
/** A smaller tile and block, where shared memory would not do. */
void spmv_fit_product(struct product_instance *instance);
/** Compile the kernel, or find it compiled. instance: a struct product_instance. */
trine_status spmv_product_get_kernels(trine_context ctx, const void *instance, int capability, bool portable, bool anew,
                                      struct trine_kernels **kernels);

/** The operator as the kernel takes it: its bytes, at most SEMIRING_OPERATOR_BYTES. `args` are copied from the host. */
enum { SEMIRING_OPERATOR_BYTES = 5 * 8 + 2 * SEMIRING_TYPE_BYTES };
void semiring_pack_operator(const trine_semiring_source *source, const struct spmv_side *side, const void *values,
                            const void *x, void *y, const void *args, char *operator_bytes);

#ifdef __cplusplus
}
#endif
#endif
