/* NVRTC, the compiler of CUDA C++ at run time: a library of CUDA's toolkit, loaded when something is compiled and not
 * linked. Needs no GPU. */
#ifndef TRINE_CORE_NVRTC_H
#define TRINE_CORE_NVRTC_H

#include "core/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is compiled. */
struct trine_program {
    const char *title;               /* "the semiring", for messages */
    const char *source;              /* CUDA C++, which includes nothing */
    int capability;                  /* 90: code for devices of 9.0; with portable: PTX for it and later ones */
    bool portable;
    int count;                       /* kernels that are wanted */
    const char *const *expressions;  /* their names as C++ expressions: "sum<float>" */
    double seconds;                  /* the most that the compiler may take, 0 = 60: where NVRTC can be stopped, and
                                        between its passes, so not while it reads the source and its templates */
};

/** Compiled: in one allocation of the context's, to be released with trine_free(ctx, TRINE_HOST, image). */
struct trine_compiled {
    char *image;                     /* a cubin, or PTX that ends with a zero */
    size_t bytes, names_bytes;       /* of the image, and of the names behind it */
    const char *names;               /* `count` symbols of the kernels, each ended by a zero; part of the allocation */
    int nvrtc;                       /* its version: 13000 for 13.0 */
};

/** Compile. The library is the file that the environment variable TRINE_NVRTC names, else libnvrtc of CUDA 13 or 12
 *  where the loader or /usr/local/cuda has it. TRINE_ERR_NOT_BUILT: it is not there. TRINE_ERR_ARGUMENT: what the
 *  compiler says, from the first error on; the log has all of it at level 1. TRINE_ERR_UNSUPPORTED: it did not end in
 *  time, or does not know an architecture as old as the device's. */
trine_status trine_nvrtc_compile(trine_context ctx, const struct trine_program *program,
                                 struct trine_compiled *compiled);

#ifdef __cplusplus
}
#endif
#endif
