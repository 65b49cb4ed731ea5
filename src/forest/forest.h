/* Inside of the module: a forest's arrays, and what a backend does with them. */
#ifndef TRINE_FOREST_FOREST_H
#define TRINE_FOREST_FOREST_H

#include <trine/forest.h>

#include "core/internal.h"
#include "forest/common/edge_order.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FOREST_MAX_N = 8,
    FOREST_CANDIDATES = 8,           /* of every vertex */
    FOREST_CACHE_LINE = 128,         /* bytes, of a GPU */
    FOREST_LIST_ENDS = -1,           /* behind the last candidate: the row has no other edges */
    FOREST_LIST_BREAKS = -2          /* it has */
};

/** Row v has the entries begin[v] <= k < end[v], columns ascending. All arrays in the context's space. */
struct forest_graph {
    int64_t n, entries;              /* vertices; room for entries: each edge is in both rows */
    int64_t longest;                 /* entries of a row, at most */
    int64_t *begin, *end;            /* end: begin + 1, or of its own in a coarse graph */
    int32_t *columns;
    void *weights;                   /* of the real type */
    bool is_scattered;               /* neighbours are a large part of all rows apart, in the mean */
    bool wide;                       /* places among A's values have 64 bits: it has more than 2^31 - 1 */
    void *there, *back;              /* places of a_ij and a_ji of entry (i,j), -1: A has none; NULL: coarse */
    void *diagonal;                  /* and of a_ii */
};

/** What a round comes to, on a GPU. */
typedef struct {
    int32_t proposed;                /* anything */
    unsigned long long confirmed;    /* edges, from both ends */
} forest_turn;

/** Numbers that stages leave, in the context's space. */
struct forest_counts {
    int64_t bad_row;                 /* the first with NaN; INT64_MAX: none */
    int64_t edges;                   /* of the factor, from both ends */
    int64_t rounds, cycles, paths, longest, vertices;
    int64_t listed;                  /* splitters */
    int32_t has_cycles;              /* that splitters have found */
    int32_t maximal;
    /* In the context's space, since stages may be replayed in a graph of the caller's */
    int32_t has_candidates;          /* room in the list of each vertex, of weights as they are, and */
    forest_ties listed_ties;         /* of this rule for ties */
    /* What all blocks write is a line of the cache away from what all threads read */
    char apart[FOREST_CACHE_LINE];
    forest_turn turns[3];            /* of rounds, by turns */
    int32_t first_turn;              /* of the rounds to come; it is cleared */
};

struct trine_forest_s {
    int refs;
    trine_context ctx;
    trine_usage usage;
    trine_dtype dtype;               /* of A's values */
    int64_t nnz;                     /* of A */
    trine_forest_options options;
    const struct forest_backend *backend;
    struct forest_graph graph;
    /* Stages */
    bool has_weights, is_acyclic, is_ordered;
    bool is_ranked;                  /* break_cycles has left path and position, too */
    bool wants_candidates;           /* more factors of these weights will follow */
    bool is_later;                   /* of a decomposition, and not its first: it does not follow A's numbering */
    int n;                           /* of the current factor; 0: none */
    forest_ties ties;                /* of its edges */
    /* Results, in the context's space */
    int32_t *neighbours, *path, *position, *permutation;
    uint8_t *absent;                 /* of a coarse forest: numbers not used; NULL: none */
    struct forest_counts *counts;
    /* Scratch, in the context's space. An edge of a [0,2]-factor is named by its place in neighbours at its lower
     * end. */
    int32_t *proposals;              /* max_n N, 2 N at least */
    int32_t *candidates;             /* FOREST_CANDIDATES N: the strongest neighbours in decreasing order */
    uint32_t *link;                  /* 4 N: from splitter to splitter, or strides of a scan; behind them */
    int32_t *distance;               /* 4 N, along links, and */
    uint32_t *edge;                  /* 4 N: the weakest along links; 8 N on a GPU. All three: packed rows of bands */
    double *weight;                  /* 2 N: of the edges in neighbours; on a GPU nodes of walks before */
    int32_t *list, *index;           /* N: splitters, and where a vertex is among them; then lengths of paths, on a
                                      * GPU with their sums in list */
    double *sums;                    /* FOREST_SUMS for every chunk of vertices */
    int64_t *keys;                   /* of a coarse forest: of its entries while they are sorted */
    void *staged;                    /* values of the host on a GPU */
    void *own;                       /* the backend's */
    bool counts_only;                /* nothing is allocated, info.bytes alone grows: trine_forest_memory */
    trine_forest coarse;             /* NULL: options.blocks not set */
    trine_forest_info info;
};

/** The rounds of a factor, with nothing left open. */
struct forest_rounds {
    int n;
    int64_t most;                    /* rounds */
    int m, km;
    uint32_t threshold;
    uint64_t seed;
    forest_ties ties;
    bool until_maximal;
};
FOREST_INLINE forest_charges forest_charges_of(const struct forest_rounds *r, int64_t k)
{
    const forest_charges c = {k % r->m != r->km, forest_mix(r->seed ^ forest_mix((uint64_t)k)), r->threshold};
    return c;
}

/** Are the lists of candidates those of the rule for ties? */
FOREST_INLINE bool forest_has_candidates(const struct forest_counts *counts, forest_ties ties)
{
    return counts->has_candidates && counts->listed_ties.by_hash == ties.by_hash &&
           counts->listed_ties.salt == ties.salt;
}

enum { FOREST_SUMS = 5 };            /* off the diagonal; on it; beside it; in the factor; in blocks */

/** Functions with values take them in the context's space. All asynchronous on stream, but for what is said. */
/** On the host, of what a backend keeps as `own`, at most. */
enum { FOREST_OWN_BYTES = 64 };

struct forest_backend {
    /** What the backend keeps beside the arrays, bytes of it in the context's space; counts->bad_row is set. */
    trine_status (*create)(trine_forest f);
    trine_status (*count_bytes)(trine_forest f, int64_t *bytes);
    void (*release)(trine_forest f);
    trine_status (*set_weights)(trine_forest f, const void *values, void *stream);
    /** With f->wants_candidates, and on a GPU in any case, makes their lists first, unless forest_has_candidates. */
    trine_status (*factor)(trine_forest f, const struct forest_rounds *r, void *stream);
    /** Parts by themselves (trine_forest_run_part). */
    trine_status (*propose)(trine_forest f, const struct forest_rounds *r, int64_t k, void *stream);
    trine_status (*scan_pass)(trine_forest f, bool wants_edges, int k, void *stream);
    /** weight: of every edge of the factor, at its place in neighbours. */
    trine_status (*break_cycles)(trine_forest f, void *stream);
    trine_status (*order)(trine_forest f, void *stream);
    /** One round of exchanges on an ordered forest, whose order is stale then (common/improve.h). */
    trine_status (*exchange)(trine_forest f, uint64_t salt, void *stream);
    /** With omega = 0 lists of candidates stay, without the edges of the factor; else there are none any more. */
    trine_status (*scale)(trine_forest f, double omega, void *stream);
    /** omega: weights are adjusted as well, as scale does. NULL: they are not. */
    trine_status (*extract)(trine_forest f, const void *values, void *const bands[3], const double *omega,
                            void *stream);
    trine_status (*coarsen)(trine_forest f, void *stream);
    trine_status (*extract_blocks)(trine_forest f, const void *values, void *const bands[3], int32_t *permutation,
                                   void *stream);
    /** The FOREST_SUMS sums, to the host; synchronizes. */
    trine_status (*add_up)(trine_forest f, const void *values, double *sums, void *stream);
};
extern const struct forest_backend forest_cpu, forest_cuda;

/** Do places among so many values need 64 bits? */
bool forest_is_wide(int64_t nnz);
/** The symmetric pattern of A without its diagonal, on the host (common/pattern.c): arrays of h, which the caller
 *  frees, also after a failure. */
trine_status forest_pattern(trine_context ctx, trine_matrix A, struct forest_graph *h);
/** A forest without a matrix, on a GPU, whose graph the caller fills: n rows begin[v] <= k < end[v], in room for
 *  `entries`, with weights. In a context that counts (core/tally.h) *out is left alone. */
trine_status forest_create_open(trine_context ctx, trine_forest *out, trine_dtype t, int64_t n, int64_t entries,
                                int64_t longest);
/** Such a graph has been filled on the stream. */
trine_status forest_open_is_filled(trine_forest f, void *stream);
/** The greedy [0,n]-factor of a graph on the host (common/greedy.c). */
trine_status forest_greedy(trine_context ctx, const struct forest_graph *h, bool single, const struct forest_rounds *r,
                           int32_t *neighbours);

/** Bytes of a weight. */
static inline size_t forest_weight_size(trine_dtype t)
{
    return trine_dtype_is_single(t) ? sizeof(float) : sizeof(double);
}

/** Place k of there, back or diagonal. */
FOREST_INLINE int64_t forest_place_at(const struct forest_graph *g, const void *places, int64_t k)
{
    return g->wide ? ((const int64_t *)places)[k] : ((const int32_t *)places)[k];
}
static inline size_t forest_place_size(const struct forest_graph *g)
{
    return g->wide ? sizeof(int64_t) : sizeof(int32_t);
}

/** The entry (v,u) of a row with ascending columns; -1: there is none. */
FOREST_INLINE int64_t forest_find(const int32_t *columns, int64_t begin, int64_t end, int32_t u)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (columns[middle] < u) begin = middle + 1;
        else if (columns[middle] > u) end = middle;
        else return middle;
    }
    return -1;
}

#ifdef __cplusplus
}
#endif
#endif
