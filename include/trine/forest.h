/* Linear forests: from the weights of a graph to a [0,n]-factor, from a [0,2]-factor to disjoint paths, from paths to
 * a permutation under which the strong entries of a matrix stand beside its diagonal. (Klein 2024, Chapter 4 and
 * Sections 4.6, 5.2.1.)
 *
 * The graph of an n x n matrix A has a vertex a row and an edge {i,j}, i != j, of weight w_ij = |a_ij| + |a_ji| where
 * that is not zero. So A may be unsymmetric; of a symmetric A the weights are 2 |a_ij|, which orders edges alike. A
 * [0,n]-factor is a choice of edges of which no vertex has more than n. Of a [0,2]-factor every component is a path, a
 * cycle, or one vertex; without its cycles it is a linear forest.
 *
 *     set_weights -> factor -> break_cycles -> order -> extract        trine_forest_run: the first four at once
 *
 * On a GPU all of it is asynchronous on the stream, allocates nothing and reads nothing back, so that it can be
 * captured in a graph, but for what says that it synchronizes, and for values in host memory, whose copy every call
 * that takes values waits for. A forest is for one call at a time: a second thread's call is refused with
 * TRINE_ERR_STATE. Results do not depend on the number of threads or on the device: for the same
 * seed they are the same to the bit. Coverages, which a GPU adds in another order, agree to rounding. */
#ifndef TRINE_FOREST_H
#define TRINE_FOREST_H

#include <trine/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_forest_s *trine_forest;

/** Which of several edges of one weight is the stronger one. */
typedef enum {
    TRINE_TIES_HASH,        /* that with the larger key, a hash of its two ends: both ends agree, so that rounds of
                               proposals converge to the greedy factor in a few steps */
    TRINE_TIES_LOWEST_INDEX /* that to the lower vertex, as seen from each end (the thesis) */
} trine_ties;

/** How cycles are found and vertices of paths are numbered; the results are the same. */
typedef enum {
    TRINE_RANKING_AUTO,
    TRINE_RANKING_SPLITTERS, /* hashed vertices walk to the next one, what is left is a short list: O(N) work */
    TRINE_RANKING_SCAN       /* the bidirectional scan of the thesis, Algorithm 7: log2(N) passes over all vertices */
} trine_ranking;

typedef struct {
    int max_n;                   /* largest n of a factor, 1..8; 0 = 2 */
    int directed; /* 1: w_ij = |a_ij| alone, as seen from i (thesis, Section 4.4). An edge needs entries
                     on both sides; rounds end, before the factor is maximal, when m of them one after
                     another have taken nothing: inferior */
    int blocks; /* 1: memory for trine_forest_coarsen too */
    trine_ranking ranking;
    int normalized; /* 1: entries of row i are divided by d_i = max(|a_ii|, sum of |a_ij| over j != i), so that weights
                       do not change when rows of A are scaled (thesis, Eqs. 40 and 70); 1 where d_i = 0 */
    int64_t reserved[3]; /* zeros */
} trine_forest_options;

/** Memory for all stages. A: square, CSR or CSC, anywhere, without duplicates (TRINE_ERR_STRUCTURE); its pattern is
 *  copied, its values are not looked at, nor is A needed afterwards. Values that later calls take are of A's dtype and
 *  in the order of A's entries. options NULL = automatic. Synchronizes; the pattern is made symmetric on the host. */
TRINE_API trine_status trine_forest_create(trine_context ctx, trine_forest *forest, trine_matrix A,
                                           const trine_forest_options *options);

/** Upper bounds of what trine_forest_create takes with the same arguments. Reads no array: an entry of A is counted
 *  as if it had none opposite, so that what is kept by the pattern of a symmetric A is told twice. */
TRINE_API trine_status trine_forest_memory(trine_context ctx, trine_matrix A, const trine_forest_options *options,
                                           trine_memory *memory);

/** The weights w_ij from values, nnz of them in `space`, read before the call returns if that is the host. |z| of a
 *  complex z is sqrt(re^2 + im^2) in double precision, rounded after every step, and then to A's. The diagonal, zeros
 *  and NaN are no edges; NaN is noted for trine_forest_check. Forgets factor and order. */
TRINE_API trine_status trine_forest_set_weights(trine_forest forest, trine_space space, const void *values,
                                                const trine_exec *exec);

/** TRINE_ERR_ARGUMENT with the row if the values of the last set_weights had a NaN off the diagonal. Synchronizes. */
TRINE_API trine_status trine_forest_check(trine_forest forest, const trine_exec *exec);

/* ------------------------------------------------------------------ factors */

typedef struct {
    int n; /* edges a vertex, up to max_n; 0 = 2, or max_n if that is 1 */
    int rounds; /* M, at most so many; 0 = 5, or any number with until_maximal */
    int m, km; /* rounds k with k mod m = km are without charges; m = 0: 1 (no charges) with
                  TRINE_TIES_HASH, 5 with TRINE_TIES_LOWEST_INDEX; 0 <= km < m */
    double p; /* probability of a positive charge; 0 = 0.5 */
    uint64_t seed; /* of charges and of the keys of edges */
    trine_ties ties;
    int until_maximal; /* 1: rounds end when no edge can be added, which a GPU finds by itself */
    int64_t reserved[4]; /* zeros */
} trine_factor_rounds;

/** A [0,n]-factor of strong edges: rounds of proposals and confirmations (thesis, Algorithm 8). In each, a vertex
 *  proposes its strongest edges to vertices that have room; edges proposed from both ends are taken. With charges a
 *  vertex is positive or negative, by a hash of it and the round, and proposes to the other kind alone. options NULL =
 *  automatic. TRINE_ERR_STATE without weights. */
TRINE_API trine_status trine_forest_factor(trine_forest forest, const trine_factor_rounds *options,
                                           const trine_exec *exec);
/** The greedy factor, for comparison: all edges in decreasing order, on one thread of the host (thesis, Algorithm 6).
 *  Equal edges by the keys of TRINE_TIES_HASH, or by lower, then higher end. Of options, n, seed and ties matter.
 *  Synchronizes. */
TRINE_API trine_status trine_forest_factor_sequential(trine_forest forest, const trine_factor_rounds *options,
                                                      const trine_exec *exec);
/** A factor of the caller's: neighbours of vertex v at [v*n], n of them, -1 from the first one that is missing on; on
 *  the host. TRINE_ERR_STRUCTURE names a vertex whose edge is not mutual, is twice there, or is no entry of A.
 *  Weights must have been set (for cycles); ties and seed as in the options. Synchronizes. */
TRINE_API trine_status trine_forest_set_factor(trine_forest forest, int n, const int32_t *neighbours,
                                               const trine_factor_rounds *options, const trine_exec *exec);

/* ------------------------------------------------------------------ forests */

/** Take the weakest edge out of every cycle of a [0,2]- or [0,1]-factor: the smallest weight; then, with
 *  TRINE_TIES_HASH, the smallest key; then the smaller lower end, the smaller higher end. */
TRINE_API trine_status trine_forest_break_cycles(trine_forest forest, const trine_exec *exec);
/** Path, position and permutation of every vertex, after break_cycles. A path has the name of its smaller end, which is
 *  at position 1; paths follow one another by name. */
TRINE_API trine_status trine_forest_order(trine_forest forest, const trine_exec *exec);
/** Make the paths of an ordered forest longer, by `rounds` rounds of exchanges; 0 = 10. In each an end of a path takes
 *  an edge to an end of another path; or to a vertex w inside a path, one of whose edges {w,x} goes out, and then x one
 *  to an end, if there is any. The weight of the forest never falls; of each path one exchange a round has a part.
 *  Each round orders the paths again. For paths of many equal weights: with them it comes close to the largest forest,
 *  which rounds of proposals do not. TRINE_ERR_UNSUPPORTED for a directed graph. */
TRINE_API trine_status trine_forest_improve(trine_forest forest, int rounds, const trine_exec *exec);
/** set_weights (unless values is NULL), factor, break_cycles, order. */
TRINE_API trine_status trine_forest_run(trine_forest forest, trine_space space, const void *values,
                                        const trine_factor_rounds *options, const trine_exec *exec);

/** The bands of A along the paths, N elements of A's dtype each, in the context's space: with v = permutation[i],
 *  b[i] = a_vv, a[i] = the entry of row v and column permutation[i-1] if that is on the same path, else 0, c[i]
 *  likewise of permutation[i+1]: what trine_gtsv takes. Entries that A does not have are 0. Values as in set_weights,
 *  but not necessarily the same. After order. */
TRINE_API trine_status trine_forest_extract(trine_forest forest, trine_space space, const void *values, void *a,
                                            void *b, void *c, const trine_exec *exec);

/* ------------------------------------------------------------ blocks of two */

/** Contract the edges of a [0,1]-factor: *coarse is the graph of its pairs and single vertices, whose weights are the
 *  sums of the weights between them (thesis, Section 4.6). A pair has the number of its lower vertex; the numbers of
 *  higher ones are not used. *coarse is a forest of its own, the same one in every call, for factor, break_cycles,
 *  order, arrays and result; destroy it as well. TRINE_ERR_STATE unless the forest was created with options.blocks and
 *  has a [0,1]-factor. */
TRINE_API trine_status trine_forest_coarsen(trine_forest forest, trine_forest *coarse, const trine_exec *exec);
/** The 2 x 2 block tridiagonal system along the paths of the coarse forest, after its order: a, b, c have N blocks of
 *  4 elements, column by column, as trine_bgtsv takes them; row k of block r is row permutation[2r + k] of A. All
 *  entries of A between the two vertices of a block, and between blocks that follow each other on a path, are there.
 *  Where a block has one vertex, permutation is -1, and the row is uncoupled with 1 on its diagonal: a right-hand side
 *  of 1 belongs there. Blocks from result.vertices of the coarse forest on are the identity, so that N blocks may be
 *  solved. permutation: 2 N elements. All four in the context's space. */
TRINE_API trine_status trine_forest_extract_blocks(trine_forest forest, trine_space space, const void *values, void *a,
                                                   void *b, void *c, int32_t *permutation, const trine_exec *exec);

/* ------------------------------------------------------------ decompositions */

/** Multiply the weights of the edges of the current factor by omega >= 0, so that the next factor takes others (thesis,
 *  Eq. 71). The factor stays. */
TRINE_API trine_status trine_forest_scale(trine_forest forest, double omega, const trine_exec *exec);

typedef struct {
    int count; /* forests, one after another */
    double omega; /* weights of edges taken are multiplied by it: 0 = each edge in one forest */
    /** The values that the weights of forest l > 0 are made of, or *values = NULL: adjusted weights. forest: that of
     *  l - 1, with all its arrays. NULL: always adjusted. */
    trine_status (*next)(void *user, int l, trine_forest forest, trine_space *space, const void **values);
    void *user;
    int32_t *permutation; /* count * N, forest l at [l*N]; in the context's space */
    void *a, *b, *c; /* likewise the bands of A; NULL: not wanted */
    int64_t reserved[4]; /* zeros */
} trine_forest_decomposition;
/** Forests of A one after another (thesis, Section 5.2.1). values as in set_weights; bands are of them. The forest is
 *  left as the last one. */
TRINE_API trine_status trine_forest_decompose(trine_forest forest, trine_space space, const void *values,
                                              const trine_factor_rounds *options,
                                              const trine_forest_decomposition *decomposition, const trine_exec *exec);

/* ------------------------------------------------------------------ results */

/** Sums of |a_ij|, and how much of them the current factor has. An edge counts with both of its entries. */
typedef struct {
    double factor; /* c_pi: of what is off the diagonal (Eq. 23); NaN without a factor */
    double identity; /* c_id: the first sub- and superdiagonal of A, likewise (Eq. 24, each edge once) */
    double blocks; /* within and between blocks of the coarse forest, likewise; NaN without one */
    double with_diagonal; /* of all entries: factor and diagonal (Eq. 53) */
    double diagonal; /* of all entries: the diagonal (Eq. 54) */
    double weight, total; /* sums off the diagonal: of the factor (Eq. 22), of A */
    int64_t reserved[4]; /* zeros */
} trine_forest_coverage;
/** values as in set_weights. NaN where a sum is 0. Synchronizes. */
TRINE_API trine_status trine_forest_get_coverage(trine_forest forest, trine_space space, const void *values,
                                                 trine_forest_coverage *coverage, const trine_exec *exec);

/** In the context's space, valid while the forest lives, changed by its calls. */
typedef struct {
    int n; /* of the current factor; 0: none */
    const int32_t *neighbours; /* of vertex v at [v*n], n of them, -1 from the first one that is missing on */
    const int32_t *path; /* name of v's path; -1: number not used (coarse forests) */
    const int32_t *position; /* of v on its path, from 1 on */
    const int32_t *permutation; /* the i-th vertex in the order of paths; -1 from result.vertices on */
    int64_t reserved[4]; /* zeros */
} trine_forest_arrays;
/** Pointers to what has been computed, the others NULL. */
TRINE_API trine_status trine_forest_get_arrays(trine_forest forest, trine_forest_arrays *arrays);

typedef struct {
    int64_t vertices; /* N; of a coarse forest, pairs and single vertices */
    int64_t edges; /* of the current factor */
    int64_t rounds; /* of proposals until the factor was known to be maximal (M_max), else all of them */
    int64_t cycles; /* that break_cycles has opened */
    int64_t paths, longest; /* after order: paths, single vertices included; vertices of the longest one */
    int maximal; /* 1: a round without charges had nothing to propose */
    int64_t reserved[4]; /* zeros */
} trine_forest_result;
/** Of the stages that have been run; 0 for others. Synchronizes. */
TRINE_API trine_status trine_forest_get_result(trine_forest forest, trine_forest_result *result,
                                               const trine_exec *exec);

typedef struct {
    int64_t n, edges; /* rows of A; pairs i < j with an entry of A on either side */
    int64_t bytes; /* kept in the context's space */
    double create_seconds;
    trine_ranking ranking; /* what runs */
    int capturable; /* 2: on a GPU, all but what says that it synchronizes; 0 on the CPU */
    int64_t reserved[4]; /* zeros */
} trine_forest_info;
TRINE_API trine_status trine_forest_get_info(trine_forest forest, trine_forest_info *info);
TRINE_API const char *trine_ranking_name(trine_ranking ranking); /* "splitters", ... */
TRINE_API trine_status trine_forest_destroy(trine_forest *forest);

#ifdef __cplusplus
}
#endif
#endif
