#include "supernodal/domains.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CUTS = 4096 }; /* a chain has no end of them */

typedef struct {
    int64_t work;
    int32_t root;
} subtree;

static int by_work_descending(const void *a, const void *b)
{
    const subtree *x = a, *y = b;
    return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : (x->root > y->root) - (x->root < y->root);
}

/** Time of a panel in the unit of one entry: what is not proportional to its entries counts as some more. */
static int64_t panel_work(const supernodal_panel *p) { return (int64_t)p->width * p->height + 2 * p->height + 32; }

/** Give the subtrees, largest first, each to the domain with the least work. Returns the work of the fullest domain. */
static int64_t deal(const subtree *subtrees, int64_t count, int domains, int64_t *load, int32_t *domain_of_root)
{
    int64_t most = 0;
    for (int d = 0; d < domains; d++) load[d] = 0;
    for (int64_t k = 0; k < count; k++) {
        int least = 0;
        for (int d = 1; d < domains; d++)
            if (load[d] < load[least]) least = d;
        if (domain_of_root) domain_of_root[subtrees[k].root] = least;
        load[least] += subtrees[k].work;
        if (load[least] > most) most = load[least];
    }
    return most;
}

/** Geist and Ng 1989: from the roots on, the largest subtree is replaced by its children until the subtrees can be dealt out
 *  evenly, or until nothing is left of them. What was replaced is above. Returns the number of subtrees. */
static int64_t cut(const supernodal_structure *S, int domains, int64_t *work, int32_t *head, int32_t *next, int64_t *load, subtree *subtrees)
{
    int64_t count = 0, total = 0;
    for (int32_t s = 0; s < S->n_panels; s++) head[s] = -1;
    for (int32_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        const int64_t own = panel_work(p);
        total += own;
        work[s] += own;
        if (p->parent >= 0) {
            work[p->parent] += work[s];
            next[s] = head[p->parent];
            head[p->parent] = s;
        } else {
            subtrees[count++] = (subtree){work[s], s};
        }
    }
    qsort(subtrees, (size_t)count, sizeof *subtrees, by_work_descending);
    int64_t left = total;
    for (int steps = 0; domains > 1 && steps < MOST_CUTS && count && subtrees[0].work > total / (16 * domains); steps++) {
        if (deal(subtrees, count, domains, load, NULL) * domains <= left + left / 20) break;
        const int32_t gone = subtrees[0].root;
        left -= panel_work(&S->panels[gone]);
        memmove(subtrees, subtrees + 1, (size_t)--count * sizeof *subtrees);
        for (int32_t c = head[gone]; c >= 0; c = next[c]) { /* to its place in the order */
            const subtree child = {work[c], c};
            int64_t k = count++;
            for (; k > 0 && by_work_descending(&subtrees[k - 1], &child) > 0; k--) subtrees[k] = subtrees[k - 1];
            subtrees[k] = child;
        }
    }
    return count;
}

trine_status supernodal_domains_cut(supernodal_structure *S, int count, supernodal_domains *out)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    const int64_t m = S->n_panels;
    int64_t *work = NULL, *load = NULL, *at = NULL;
    int32_t *head = NULL, *next = NULL, *domain = NULL, *order = NULL;
    subtree *subtrees = NULL;
    *out = (supernodal_domains){.count = count};
    TRY(CALLOC(ctx, out->offsets, count + 1));
    TRY(ALLOC(ctx, out->own, m));
    TRY(CALLOC(ctx, work, m));
    TRY(ALLOC(ctx, load, count));
    TRY(CALLOC(ctx, at, count + 2));
    TRY(ALLOC(ctx, head, m));
    TRY(ALLOC(ctx, next, m));
    TRY(ALLOC(ctx, domain, m));
    TRY(ALLOC(ctx, order, m));
    TRY(ALLOC(ctx, subtrees, m));

    const int64_t n_subtrees = cut(S, count, work, head, next, load, subtrees);
    for (int64_t s = 0; s < m; s++) domain[s] = -1;
    deal(subtrees, n_subtrees, count, load, domain);
    for (int64_t s = m - 1; s >= 0; s--) {
        const int32_t parent = S->panels[s].parent;
        if (domain[s] < 0) domain[s] = parent >= 0 ? domain[parent] : count;
        at[domain[s] + 1]++;
    }
    for (int d = 0; d <= count; d++) at[d + 1] += at[d];
    for (int d = 0; d <= count; d++) out->offsets[d] = at[d];
    for (int32_t s = 0; s < m; s++) order[at[domain[s]]++] = s;
    TRY(supernodal_reorder(S, order));

    const int64_t above = out->offsets[count];
    out->first_above = above < m ? S->panels[above].first : S->n;
    for (int64_t s = 0; s < m; s++) {
        const supernodal_panel *p = &S->panels[s];
        int32_t own = p->height;
        while (s < above && own > p->width && S->rows[p->rows + own - 1] >= out->first_above) own--;
        out->own[s] = own;
    }
done:
    trine_free(ctx, TRINE_HOST, work);
    trine_free(ctx, TRINE_HOST, load);
    trine_free(ctx, TRINE_HOST, at);
    trine_free(ctx, TRINE_HOST, head);
    trine_free(ctx, TRINE_HOST, next);
    trine_free(ctx, TRINE_HOST, domain);
    trine_free(ctx, TRINE_HOST, order);
    trine_free(ctx, TRINE_HOST, subtrees);
    return status;
}

void supernodal_domains_free(trine_context ctx, supernodal_domains *domains)
{
    trine_free(ctx, TRINE_HOST, domains->offsets);
    trine_free(ctx, TRINE_HOST, domains->own);
    *domains = (supernodal_domains){0};
}
