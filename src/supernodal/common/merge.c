/* Relaxed amalgamation of panels (Ashcraft and Grimes 1989), for few zeros or for a lower tree. */
#include "supernodal/common/merge.h"

/** Explicit zeros in a panel of `width` columns with p's rows below, of whose entries `known` are not zeros that
 *  merging added. */
static int64_t zeros_of_union(const supernodal_forest *F, int32_t p, int64_t width, int64_t known)
{
    return trapezoid(width, width + off_rows(F->G, p)) - known;
}
static int64_t known_entries(const supernodal_forest *F, int32_t s)
{
    return trapezoid(F->width[s], F->width[s] + off_rows(F->G, s)) - F->zeros[s];
}

/** Merge child c into p when the panel stays dense enough. A panel of SMALL_PANEL entries costs the same whatever it
 *  holds; more than MOST_ZEROS new zeros cost more time than one panel less can save. */
enum { SMALL_PANEL = 1024, MOST_ZEROS = 32768 };
static bool is_worth_merging(const supernodal_forest *F, int32_t c, int32_t p, double fill)
{
    const int64_t width = F->width[c] + F->width[p];
    const double size = (double)trapezoid(width, width + off_rows(F->G, p));
    const int64_t zeros = zeros_of_union(F, p, width, known_entries(F, c) + known_entries(F, p));
    return zeros - F->zeros[c] - F->zeros[p] <= MOST_ZEROS &&
           (double)zeros <= (size <= SMALL_PANEL ? 0.5 : fill) * size;
}

/** Whether all rows of child c are p's rows or columns. */
static bool fits(const supernodal_forest *F, int32_t c, int32_t p, bool *marked)
{
    const trine_panels *G = F->G;
    for (int64_t k = G->row_offsets[p]; !*marked && k < G->row_offsets[p + 1]; k++) F->mark[G->rows[k]] = p;
    *marked = true;
    for (int64_t k = G->row_offsets[c + 1] - off_rows(G, c); k < G->row_offsets[c + 1]; k++)
        if (F->mark[G->rows[k]] != p && standing_for(F, F->panel_of[G->rows[k]]) != p) return false;
    return true;
}

/** Child c becomes part of p, and its children p's: in front of the list `kept`, whose new head is returned. */
static int32_t merge_child(supernodal_forest *F, int32_t c, int32_t p, int32_t kept)
{
    const int64_t known = known_entries(F, c) + known_entries(F, p);
    F->into[c] = p;
    F->width[p] += F->width[c];
    F->zeros[p] = zeros_of_union(F, p, F->width[p], known);
    for (int32_t g = F->head[c], after; g >= 0; g = after) {
        after = F->next[g];
        F->next[g] = kept;
        kept = g;
    }
    return kept;
}

/** Merge every child that is worth it, then the children that they bring, and so on. */
static void merge_dense_children(supernodal_forest *F, int32_t p, double fill, bool *marked)
{
    for (bool again = true; again;) {
        again = false;
        int32_t kept = -1;
        for (int32_t c = F->head[p], after; c >= 0; c = after) {
            after = F->next[c];
            if (is_worth_merging(F, c, p, fill) && fits(F, c, p, marked)) {
                again = again || F->head[c] >= 0;
                kept = merge_child(F, c, p, kept);
            } else {
                F->next[c] = kept;
                kept = c;
            }
        }
        F->head[p] = kept;
    }
}

/** Merge all of p's deepest children at once, which makes the tree below p one level lower, if at most `allowance`
 *  zeros are in the panel then. */
static bool merge_deepest_children(supernodal_forest *F, int32_t p, double allowance, bool *marked)
{
    int32_t deepest = -1;
    for (int32_t c = F->head[p]; c >= 0; c = F->next[c])
        if (F->level[c] > deepest) deepest = F->level[c];
    if (deepest < 0) return false;
    int64_t width = F->width[p], known = known_entries(F, p);
    for (int32_t c = F->head[p]; c >= 0; c = F->next[c]) {
        if (F->level[c] != deepest) continue;
        width += F->width[c];
        known += known_entries(F, c);
    }
    if ((double)zeros_of_union(F, p, width, known) > allowance) return false;
    for (int32_t c = F->head[p]; c >= 0; c = F->next[c])
        if (F->level[c] == deepest && !fits(F, c, p, marked)) return false;
    int32_t kept = -1;
    for (int32_t c = F->head[p], after; c >= 0; c = after) {
        after = F->next[c];
        if (F->level[c] == deepest) {
            kept = merge_child(F, c, p, kept);
        } else {
            F->next[c] = kept;
            kept = c;
        }
    }
    F->head[p] = kept;
    return true;
}

void supernodal_merge(supernodal_forest *F, double fill, double level_zeros)
{
    for (int32_t p = 0; p < F->G->n_panels; p++) {
        const double allowance = level_zeros * F->columns[p] / (double)F->G->n;
        bool marked = false;
        do merge_dense_children(F, p, fill, &marked);
        while (allowance > 0 && merge_deepest_children(F, p, allowance, &marked));
        F->level[p] = 0;
        for (int32_t c = F->head[p]; c >= 0; c = F->next[c])
            if (F->level[c] >= F->level[p]) F->level[p] = F->level[c] + 1;
    }
}

void supernodal_merge_everything(supernodal_forest *F)
{
    const int32_t last = (int32_t)F->G->n_panels - 1;
    for (int32_t s = 0; s < last; s++) F->into[s] = last;
    F->width[last] = (int32_t)F->G->n;
}
