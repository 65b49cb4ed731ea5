/* Kernels that were compiled at run time, in memory as long as somebody uses them, and in a directory between
 * processes. */
#ifndef TRINE_CORE_KERNEL_CACHE_H
#define TRINE_CORE_KERNEL_CACHE_H

#include "core/nvrtc.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A program in its compiled form. */
struct trine_kernels {
    int refs;                        /* under the context's lock */
    struct trine_kernels *next;      /* of the context's */
    char *key;                       /* the whole program: two are equal if their keys are */
    size_t key_bytes;
    struct trine_compiled code;
    bool from_file;                  /* not compiled by this process */
    void *loaded;                    /* the driver's handle, atomic; NULL: not loaded yet */
    void (*unload)(void *loaded);
};

/** The compiled program: from memory, else from the directory, else compiled and kept in both. Several threads may
 *  call at the same time. anew: what the directory has is no good (the driver has refused it). */
trine_status trine_kernels_get(trine_context ctx, const struct trine_program *program, bool anew,
                               struct trine_kernels **kernels);
/** The last one unloads and frees. Accepts NULL. */
void trine_kernels_drop(trine_context ctx, struct trine_kernels *kernels);

#ifdef __cplusplus
}
#endif
#endif
