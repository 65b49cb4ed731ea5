/* What the libraries do when memory ends, and a library must not: SuperLU ends the process, CHOLMOD does not notice
 * that METIS failed, and OpenBLAS asks again and again. */
#ifndef TRINE_DIRECT_ISOLATION_H
#define TRINE_DIRECT_ISOLATION_H

#include "core/direct_interface.h"

/** The blocks of memory that SuperLU holds, from ctx's allocator. */
typedef struct {
    trine_context ctx;
    void **blocks;
    int64_t count, room;
    trine_status failure; /* of the last call that was left in the middle */
} superlu_memory;

/** call(user), which calls SuperLU: its memory comes from `memory`, whose blocks stay when the call returns.
 *  TRINE_ERR_MEMORY: there was none for it; TRINE_ERR_UNSUPPORTED: SuperLU gave up for another reason. The call was
 *  then left in the middle, and all blocks are free. */
trine_status superlu_run(superlu_memory *memory, void (*call)(void *user), void *user);
/** Free all blocks, and with them whatever SuperLU has made. */
void superlu_release(superlu_memory *memory);
/** TRINE_ERR_UNSUPPORTED if SuperLU's requests do not come here: it was loaded before, or is an archive in
 *  libtrine_direct. No block may be held. */
trine_status superlu_check(superlu_memory *memory);

/** Whether METIS has failed in this thread since the last call of this function: then an ordering that used it is
 *  none. */
bool metis_has_failed(void);

/** Before the first use of the BLAS: TRINE_ERR_MEMORY if it is OpenBLAS and the buffer that it takes then cannot be
 *  had. */
trine_status blas_prepare(void);

#endif
