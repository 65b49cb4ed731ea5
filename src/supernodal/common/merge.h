/* What merging of panels works on. Host only. */
#ifndef TRINE_SUPERNODAL_COMMON_MERGE_H
#define TRINE_SUPERNODAL_COMMON_MERGE_H

#include "supernodal/supernodal.h"

/** Entries of a panel's lower trapezoid, diagonal included. */
static inline int64_t trapezoid(int64_t width, int64_t height) { return width * height - width * (width - 1) / 2; }

/** The panels given, with union of sets by tree order. */
typedef struct {
    const trine_panels *G;
    int32_t *panel_of;         /* of a column */
    int32_t *parent;           /* of a panel given */
    int32_t *head, *next;      /* children lists of the current tree: head[p], next[c]; ascending is not promised */
    int32_t *into;             /* into[s] = s: a merged panel's last member, which stands for it; else the panel s
                                  went into */
    int32_t *width;            /* of the merged panel s stands for */
    int64_t *zeros;            /* explicit zeros in it */
    int32_t *columns;          /* of a panel given and of all below it */
    int32_t *level;            /* longest way down to a leaf, of panels that merging is done with */
    int32_t *mark;             /* of rows */
} supernodal_forest;

/** Rows of a panel given below its diagonal block. */
static inline int64_t off_rows(const trine_panels *G, int64_t s)
{
    return G->row_offsets[s + 1] - G->row_offsets[s] - (G->first_column[s + 1] - G->first_column[s]);
}

/** The panel that stands for everything s was merged with. */
static inline int32_t standing_for(const supernodal_forest *F, int32_t s)
{
    while (F->into[s] != s) s = F->into[s] = F->into[F->into[s]];
    return s;
}

/** Relaxed amalgamation along the tree, children into parents, leaves first: fewer, larger panels and fewer levels,
 *  paid for with explicit zeros. Only children whose rows are all among the parent's. `fill`: the fraction of zeros
 *  that a panel may hold. `level_zeros`: what a level less is worth; every panel may spend its share, by the columns
 *  at and below it, so that the panels of a level together spend at most that. Needs panel_of, parent, head, next,
 *  into, width, zeros, columns and mark set up. */
void supernodal_merge(supernodal_forest *F, double fill, double level_zeros);
/** One panel of all columns: the last one's list of rows below itself is empty. */
void supernodal_merge_everything(supernodal_forest *F);

#endif
