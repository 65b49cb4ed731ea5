/* The arithmetic of preconditioners on the CPU, in four precisions. */
#ifndef TRINE_PRECOND_CPU_CPU_H
#define TRINE_PRECOND_CPU_CPU_H

#include "precond/common/largest.h"
#include "precond/precond.h"

/** A matrix as compressed rows: A, or a B_l of the adaptive construction. */
struct precond_rows {
    int64_t n;
    const int64_t *offsets;
    const int32_t *columns;          /* ascending in a row */
    const void *values;
};

/** Tridiagonal systems along the paths of a forest, all of them in path order. */
struct precond_factor {
    int64_t paths;
    int32_t *starts;                 /* paths + 1: path k is starts[k] <= i < starts[k+1] */
    int32_t *permutation;            /* n: the i-th vertex */
    int32_t *to_next;                /* n: where the i-th vertex stands in the factor that is applied after this one;
                                        where there is one */
    void *a, *b, *c;                 /* n each: of the vertices before, at and after; zero across paths */
    /* L U of each path with partial pivoting: row exchanges with the next row */
    void *lower;                     /* multiplier of row i+1 */
    void *inverse;                   /* of the pivot */
    void *upper, *upper2;            /* entries of U beside the pivot, divided by it */
    uint8_t *swapped;                /* rows i and i+1 were exchanged */
    bool has_swaps;
};

/** One column through op(factor)^-1: element i in path order is in[from[i]], its result goes to out[to[i]]. */
struct precond_pass {
    const struct precond_factor *factor;
    trine_transpose op;
    int64_t n;
    const void *in;
    const int32_t *from;             /* NULL: in path order */
    void *middle;                    /* n elements; may be `in` where from is NULL */
    void *out;
    const int32_t *to;
    bool adds;                       /* to out */
    trine_context ctx;
};

/** What is taken of A along a factor's paths. */
struct precond_extraction {
    struct precond_rows rows;
    struct precond_factor *factor;
    const uint8_t *kept;             /* of each entry; 0: does not count. NULL: all do */
    uint8_t *taken;                  /* of each entry: in an earlier factor; NULL: not asked */
    bool once;                       /* leave out what has been taken */
    int threads;
};

enum { PRECOND_CHUNKS = 64 };        /* of rows: what is summed does not depend on the number of threads */
/** The rows of chunk k of n rows. */
static inline int64_t precond_chunk(int64_t n, int k) { return n * k / PRECOND_CHUNKS; }

/** R = F_{m-1} ... F_0 - A, row by row. */
struct precond_remainder {
    struct precond_rows rows;        /* A */
    int m;
    const struct precond_factor *factor;
    const int32_t *positions;        /* of a vertex in factor l: at [l * n] */
    void *dense[2];                  /* n each, zeros */
    int32_t *list[2];                /* n each */
    uint8_t *listed;                 /* n, zeros */
};

enum { GENERATOR_FAN = 16, GENERATOR_LEVELS = 9 };
/** The inverse of a factor M by generators: with lambda_k = -a_{k+1} / (b_k + c_{k-1} lambda_{k-1}) and rho_k =
 *  -c_{k-1} / (b_k + a_{k+1} rho_{k+1}), (M^-1)_jk is g_j times rho_{j+1} ... rho_k for k > j, times lambda_k ...
 *  lambda_{j-1} for k < j. */
struct precond_generators {
    bool exact;                      /* none are wanted */
    int levels;
    int64_t level[GENERATOR_LEVELS + 1]; /* where products of GENERATOR_FAN of the level below begin; level[0] = 0 */
    void *before, *after;            /* lambda and rho, and products of neighbouring ones up to [level[levels]] */
    void *centre;                    /* g */
    int32_t *path;                   /* of a position */
    uint8_t *is_exact;               /* of a path: its generators are of no use, its L U is */
};

/** Candidates: the places at most so far from an entry of the row on its path. One place away misses entries that exact
 *  inverses keep in the third and fourth factor, and costs iterations (docs/notes/precond-convergence.md). */
enum { PRECOND_REACH = 2, PRECOND_PLACES = 2 * PRECOND_REACH + 1 };

/** One step B_{l+1} = prune(B_l M_l^-1) of the adaptive construction. */
struct precond_adaption {
    struct precond_rows from;        /* B_l */
    const struct precond_factor *factor;
    const struct precond_generators *generators;
    const int32_t *position;         /* of a vertex in path order */
    double threshold;                /* entries below this part of the row's largest one are left out */
    const int32_t *given_columns;    /* the pattern, at to_offsets; NULL: the largest entries */
    const int64_t *to_offsets;       /* room for rows of the result, diagonal included */
    int64_t *to_counts;
    int32_t *to_columns;
    void *to_values;
    /* for each thread */
    int64_t longest, most;           /* entries and candidates of a row */
    void *entries, *values, *dense;
    precond_candidate *candidates;
    int threads;
};
/** Bytes of one of adaption.entries: a position and a value. */
static inline size_t precond_entry_bytes(trine_dtype t)
{
    return t == TRINE_Z ? 24 : t == TRINE_S ? 8 : t == TRINE_D ? 16 : 12;
}

/** Indexed by dtype. What an apply calls takes the context, whose helpers share the work: threads of OpenMP would spin
 *  after each call beside those that make the next product with A. */
struct precond_backend {
    /** p->values from values at these positions, NULL: as they are. Returns the first row that is not finite, -1:
     *  none. */
    int64_t (*gather[TRINE_Z + 1])(trine_precond p, const int64_t *positions, const void *values);
    /** T := the diagonal of `method`; returns the first row whose element is zero or not finite, -1: none. */
    int64_t (*diagonal[TRINE_Z + 1])(const struct precond_rows *rows, trine_precond_method method, void *T,
                                     int threads);
    /** Sums of |b_ij| on the diagonal and of all. */
    void (*sums[TRINE_Z + 1])(const struct precond_rows *rows, double *diagonal, double *all, int threads);
    /** scaled := T^-1 A without what is not kept; T NULL: ones. Rows where T is zero are zero. */
    void (*scale[TRINE_Z + 1])(const struct precond_rows *rows, const void *T, const uint8_t *kept, void *scaled,
                               int threads);
    /** What is smaller than PRECOND_ROUNDING eps becomes zero. */
    void (*drop_rounding[TRINE_Z + 1])(int64_t count, void *scaled, int threads);
    /** y_i := the sum of |a_ij| x_j over j != i, over |a_ii|: the absolute values of a sweep of Jacobi's method. */
    void (*sweep[TRINE_Z + 1])(const struct precond_rows *rows, const double *x, double *y, trine_context ctx);
    /** y_i := |sum of a_ij over j < i - 1| + |the same over j > i + 1|, over |a_ii|. */
    void (*outside[TRINE_Z + 1])(const struct precond_rows *rows, double *y, trine_context ctx);
    /** y_i := what the two largest |a_ij|, j != i, have of the sum of all of them; 1 where all are zero. */
    void (*nearest[TRINE_Z + 1])(const struct precond_rows *rows, double *y, trine_context ctx);
    /** kept[k]: whether entry k is among the `entries` largest off-diagonal ones of its row (entries >= 0), or at least
     *  threshold times the largest; of equal ones those of lower columns. The diagonal is, zeros are not.
     *  room: `longest` elements, of the longest row, for each thread. */
    void (*select[TRINE_Z + 1])(const struct precond_rows *rows, int64_t entries, double threshold,
                                precond_candidate *room, int64_t longest, uint8_t *kept, int threads);
    /** x := x / T, or / conj(T), columns of n. */
    void (*divide[TRINE_Z + 1])(int64_t n, const void *T, bool conjugate, const void *b, void *x, trine_context ctx);
    /** x := x T, or conj(T). */
    void (*multiply[TRINE_Z + 1])(int64_t n, const void *T, bool conjugate, const void *b, void *x, trine_context ctx);
    /** The factor's bands of A; the sum of |a_ij| off the diagonal that had not been taken before. */
    double (*extract[TRINE_Z + 1])(const struct precond_extraction *e);
    /** Bands of A''_l to those of M_l, or of T M_l where l = m - 1 (Eqs. 57-60). */
    void (*direct[TRINE_Z + 1])(struct precond_factor *f, int64_t n, const void *T, const void *diagonal, int m, int l,
                                int threads);
    /** b_ij := T_i b_ij of the factor's bands. */
    void (*fold[TRINE_Z + 1])(struct precond_factor *f, int64_t n, const void *T, int threads);
    /** L U of the factor's paths; returns the lowest row without a pivot but zero (or NaN), -1: none. */
    int64_t (*eliminate[TRINE_Z + 1])(struct precond_factor *f, int64_t n, int threads);
    void (*solve[TRINE_Z + 1])(const struct precond_pass *pass);
    /** ||R|| / ||A||, Frobenius. */
    double (*remainder[TRINE_Z + 1])(const struct precond_remainder *r);
    /** Generators of a factor that is eliminated; returns how many paths have none. */
    int64_t (*generate[TRINE_Z + 1])(const struct precond_factor *f, int64_t n, const struct precond_generators *g,
                                     int threads);
    void (*adapt[TRINE_Z + 1])(const struct precond_adaption *a);
    /** The rows of the result without gaps. */
    void (*compact[TRINE_Z + 1])(const struct precond_adaption *a, const int64_t *offsets, int32_t *columns,
                                 void *values);
    /** out[i] := in[from[i]], or 1 where from[i] is -1; out[to[i]] := in[i], where to[i] is not -1. */
    void (*pick[TRINE_Z + 1])(int64_t count, const int32_t *from, const void *in, void *out, trine_context ctx);
    void (*place[TRINE_Z + 1])(int64_t count, const int32_t *to, const void *in, void *out, trine_context ctx);
};
extern const struct precond_backend precond_cpu;

#endif
