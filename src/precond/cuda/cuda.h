/* The arithmetic of preconditioners on a GPU, in four precisions. Arrays and blocks in device memory, blocks
 * column-major; asynchronous on the stream, without allocation, so that an apply made of these can be captured. */
#ifndef TRINE_PRECOND_CUDA_CUDA_H
#define TRINE_PRECOND_CUDA_CUDA_H

#include "precond/cuda/look.h"
#include "precond/precond.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of applications; indexed by dtype. */
struct precond_device {
    /** X := B / T, row by row, or / conj(T). X may be B. */
    trine_status (*divide[TRINE_Z + 1])(trine_precond p, const void *T, bool conjugate, const trine_dense *B,
                                        const trine_dense *X, void *stream);
    /** Row i of X := row from[i] of B, or ones where from[i] is -1, for the rows of X. */
    trine_status (*pick[TRINE_Z + 1])(trine_precond p, const int32_t *from, const trine_dense *B, const trine_dense *X,
                                      void *stream);
    /** Row to[i] of X := row i of B, where to[i] is not -1, for the rows of B. */
    trine_status (*place[TRINE_Z + 1])(trine_precond p, const int32_t *to, const trine_dense *B, const trine_dense *X,
                                       void *stream);
};
extern const struct precond_device precond_cuda;

/** A as compressed rows with ascending columns. */
struct precond_device_rows {
    int64_t n;
    int64_t *offsets, *ends;         /* row i: offsets[i] <= k < ends[i]; of A offsets + 1 */
    int32_t *columns;
    void *values;
};

/** A in a GPU's memory, of plans whose numeric runs there. */
struct precond_device_matrix {
    struct precond_device_rows rows;
    int64_t *positions;              /* as the plan's; NULL: in place */
    trine_matrix view;               /* of rows */
};

/** A factor where trine_gtsv solves with it. */
struct precond_device_factor {
    void *a, *b, *c;                 /* bands in path order, as those of struct precond_factor */
    int32_t *permutation, *to_next;  /* likewise */
    int32_t *position;               /* of a vertex, in path order: the inverse of permutation */
    int32_t *to_previous;            /* of the vertex at a position: where it stands in the factor applied before */
    uint8_t *joined;                 /* of a position: on the path of the one before it */
};

/** Of numeric; what is indexed by dtype is as in struct precond_backend, without reports of rows that are bad. */
struct precond_device_numeric {
    /** to[k] := from[positions[k]], for A's entries. */
    trine_status (*gather[TRINE_Z + 1])(trine_precond p, const int64_t *positions, const void *from, void *to,
                                        void *stream);
    trine_status (*diagonal[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *rows,
                                          trine_precond_method method, void *T, void *stream);
    trine_status (*scale[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *rows, const void *T,
                                       const uint8_t *kept, void *scaled, void *stream);
    /** The factor's bands of A; taken: what earlier factors have, which is left out, NULL: nothing is. */
    trine_status (*extract[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *rows,
                                         const struct precond_device_factor *f, const uint8_t *kept, uint8_t *taken,
                                         void *stream);
    trine_status (*direct[TRINE_Z + 1])(trine_precond p, const struct precond_device_factor *f, const void *T,
                                        const void *diagonal, int m, int l, void *stream);
    /** A factor's permutation and joined, from the arrays of a forest. */
    trine_status (*take_paths)(trine_precond p, const int32_t *path, const int32_t *order,
                               const struct precond_device_factor *f, void *stream);
    /** A factor's position. */
    trine_status (*locate)(trine_precond p, const struct precond_device_factor *f, void *stream);
    /** f's to_next and next's to_previous, from their positions. */
    trine_status (*fuse)(trine_precond p, const struct precond_device_factor *next,
                         const struct precond_device_factor *f, void *stream);
};
extern const struct precond_device_numeric precond_cuda_numeric;

/** Rows of a B_l of the adaptive construction, in room that begins where precond_device_adaption.room says. */
struct precond_device_room {
    int64_t *ends;
    int32_t *columns;
    void *values;
};
/** A graph that is to be filled: those of a forest. */
struct precond_device_graph {
    int64_t *begin, *end;
    int32_t *columns;
    void *weights;
};

/** Of the graph of a matrix B, whose pattern is made symmetric: entries without one opposite, by where they belong. */
struct precond_device_lists {
    int64_t *missing, *extra, *rows; /* n + 1 prefix sums: of such entries of B's rows, of those that a row gets, of
                                        entries of the graph's rows */
    int64_t *longest;                /* 1: entries of a row of the graph, at most */
    int32_t *filled;                 /* n */
    int32_t *keys[2], *sources[2];   /* `listed` each */
    int64_t listed;
    const int32_t *sorted;           /* one of sources: row i has those from extra[i] on */
    void *scratch;
    size_t scratch_bytes;
};

enum { PRECOND_TIERS = 8, PRECOND_PARTS = 128 };
/** What the adaptive construction keeps on a GPU. */
struct precond_device_adaption {
    int64_t *room;                   /* n + 1 */
    int32_t *list;                   /* rows by tiers: those of tier k have at most 8 2^k entries with the diagonal */
    int64_t tier[PRECOND_TIERS + 1];
    int32_t *position;               /* of a vertex in path order */
    void *before, *after, *centre, *maps;
    int32_t *start, *last, *bad;
    struct precond_device_room to[2];
    void *diagonal;                  /* diagp1 of the newest B_l */
    double *sums, *parts;
};
/** Steps of the adaptive construction; indexed by dtype. */
struct precond_device_adapt {
    /** Positions, and generators of a factor; *bad becomes 1 if a path has none that are of use. */
    trine_status (*generate[TRINE_Z + 1])(trine_precond p, const struct precond_device_factor *f,
                                          const struct precond_device_adaption *a, void *stream);
    /** prune(B M^-1) into room `to`, -1: not wanted; its diagp1 into a->diagonal, its rows' sums into `sums`. */
    trine_status (*rows[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *from,
                                      const struct precond_device_factor *f, const struct precond_device_adaption *a,
                                      int to, double threshold, double *sums, void *stream);
    /** |b_ii| and the sum of |b_ij| of each row. */
    trine_status (*sums_of[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *rows, double *sums,
                                         void *stream);
    /** Of all rows, as PRECOND_PARTS sums. */
    trine_status (*add_up)(trine_precond p, const double *sums, double *parts, void *stream);
    /** T := a->diagonal, or T times it; the factor's rows times T. */
    trine_status (*finish[TRINE_Z + 1])(trine_precond p, const struct precond_device_factor *f,
                                        const struct precond_device_adaption *a, bool multiplies, void *T,
                                        void *stream);
};
extern const struct precond_device_adapt precond_cuda_adapt;

/** Graphs; indexed by dtype. */
struct precond_device_graphs {
    /** Bytes of scratch for n rows and `most` keys. */
    trine_status (*scratch)(int64_t n, int64_t most, size_t *bytes);
    /** missing, extra, rows and longest of B. */
    trine_status (*count)(trine_precond p, const struct precond_device_rows *B, const struct precond_device_lists *l,
                          void *stream);
    /** l->sorted; missing: of all rows, not more than listed. */
    trine_status (*sort)(trine_precond p, const struct precond_device_rows *B, struct precond_device_lists *l,
                         int64_t missing, void *stream);
    /** The graph of diag(T)^-1 B without what is not kept, as trine_forest_set_weights has it; T NULL: ones. drops:
     *  what is smaller than PRECOND_ROUNDING eps, as the CPU's drop_rounding. */
    trine_status (*merge[TRINE_Z + 1])(trine_precond p, const struct precond_device_rows *B, const void *T,
                                       const uint8_t *kept, bool drops, const struct precond_device_lists *l,
                                       const struct precond_device_graph *g, void *stream);
};
extern const struct precond_device_graphs precond_cuda_graphs;

/** What a choice of a method looks at. */
struct precond_device_look {
    const struct precond_device_rows *rows;
    double *x, *y;                   /* n each */
    int32_t *largest;                /* 2 n: columns of a row's two largest entries off the diagonal, -1: none */
    double *parts;                   /* LOOK_SUMS of LOOK_PARTS parts */
};
/** Sums over rows, on the context's stream; indexed by dtype. */
struct precond_device_looks {
    /** All sums, with y_i: row i's other entries over the one on the diagonal; and largest. */
    trine_status (*rows[TRINE_Z + 1])(trine_precond p, const struct precond_device_look *l);
    /** LOOK_SQUARE, with y: a sweep of Jacobi's method, as the CPU's `sweep` has it. */
    trine_status (*sweep[TRINE_Z + 1])(trine_precond p, const struct precond_device_look *l);
    /** LOOK_NEAR, with edges only that a linear forest may have. */
    trine_status (*paths[TRINE_Z + 1])(trine_precond p, const struct precond_device_look *l);
};
extern const struct precond_device_looks precond_cuda_looks;

/** The pattern of incomplete factors, as struct ilu_pattern. */
struct precond_device_pattern {
    int64_t n, nnz;
    int64_t *offsets;
    int32_t *columns;
    int64_t *diagonal, *source;      /* source NULL: in place */
    int32_t *order;                  /* n: rows by level; a row needs rows of lower levels only */
};

/** Of incomplete factors; indexed by dtype. */
struct precond_device_incomplete {
    /** The entries of A on the pattern. */
    trine_status (*begin[TRINE_Z + 1])(trine_precond p, const struct precond_device_pattern *q, const void *a,
                                       void *values, void *stream);
    /** Rows order[first] to order[last - 1], which are of one level, of L U or of L L^H. */
    trine_status (*lu[TRINE_Z + 1])(trine_precond p, const struct precond_device_pattern *q, int64_t first,
                                    int64_t last, void *values, void *stream);
    trine_status (*cholesky[TRINE_Z + 1])(trine_precond p, const struct precond_device_pattern *q, int64_t first,
                                          int64_t last, void *values, void *stream);
};
extern const struct precond_device_incomplete precond_cuda_incomplete;

#ifdef __cplusplus
}
#endif

/** NULL on a CPU. */
static inline const struct precond_device *precond_device_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda) : NULL;
}
static inline const struct precond_device_numeric *precond_device_numeric_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda_numeric) : NULL;
}
static inline const struct precond_device_adapt *precond_device_adapt_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda_adapt) : NULL;
}
static inline const struct precond_device_graphs *precond_device_graphs_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda_graphs) : NULL;
}
static inline const struct precond_device_looks *precond_device_looks_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda_looks) : NULL;
}
static inline const struct precond_device_incomplete *precond_device_incomplete_of(trine_precond p)
{
    return p->base.ctx->cuda ? TRINE_CUDA_TABLE(&precond_cuda_incomplete) : NULL;
}

#endif
