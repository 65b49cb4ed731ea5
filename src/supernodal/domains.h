/* The elimination tree cut for threads. */
#ifndef TRINE_SUPERNODAL_DOMAINS_H
#define TRINE_SUPERNODAL_DOMAINS_H

#include "supernodal/supernodal.h"

/** A domain is a set of whole subtrees, one thread's work. Domain d has the panels offsets[d]..offsets[d+1]-1; the panels
 *  above all domains come last, from panel offsets[count] and row first_above on. */
typedef struct {
    int count;
    int64_t *offsets; /* count + 1 */
    int64_t first_above;
    int32_t *own;     /* of a panel: how many of its rows come before first_above; all of them for a panel above */
} supernodal_domains;

/** Cut S's tree into `count` domains of about equal work, and renumber S so. */
trine_status supernodal_domains_cut(supernodal_structure *S, int count, supernodal_domains *out);
void supernodal_domains_free(trine_context ctx, supernodal_domains *domains);

#endif
