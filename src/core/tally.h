/* What an analysis allocates, counted without most of it: a context that is a copy of another one, whose allocators
 * count. Its device memory is not there, and copies to it do nothing; nor is memory that only numeric touches. For
 * trine_MODULE_memory of modules that analyse on the host. */
#ifndef TRINE_CORE_TALLY_H
#define TRINE_CORE_TALLY_H

#include "core/team.h"

/** Memory of one space. */
struct trine_tally {
    trine_allocator real;          /* host memory that is there comes from it */
    int64_t live, peak;            /* bytes in use; the most there were at a time */
};

typedef struct {
    struct trine_context_s ctx;    /* stands in for the other one */
    struct trine_tally host, device;
    int64_t works;                 /* bytes that a work has in works of other modules' plans */
} trine_tally_context;

/** t stays where it is until the end; what is made with &t->ctx is destroyed before. */
void trine_tally_begin(trine_tally_context *t, trine_context ctx);
void trine_tally_end(trine_tally_context *t);
/** What has been counted so far is what a plan keeps and what making it takes; its own work, which comes last, has a
 *  struct of `work_struct` bytes on the host and `work` bytes in the context's space. */
void trine_tally_report(const trine_tally_context *t, size_t work_struct, size_t work, trine_memory *out);

/** In ctx, which counts: a plan of another module, of which its own query tells, and `works` works of it beside its
 *  own. Both stay. */
void trine_tally_add(trine_context ctx, const trine_memory *plan, int works);

/** trine_alloc in the context's space of memory that analyse leaves as it is. */
trine_status trine_alloc_untouched(trine_context ctx, size_t bytes, void **p);

#endif
