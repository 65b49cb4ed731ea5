/* Groups of consecutive levels whose rows are solved at once, by the explicit sparse inverse of their diagonal block
 * (Alvarado and Schreiber, Optimal parallel solution of sparse triangular systems, SIAM J. Sci. Comput. 14, 1993):
 *
 *     x_g = D_g^-1 b_g - (D_g^-1 T_g,<g) x_<g
 *
 * A row of a group is a sparse row over right-hand sides of its own group and solution values of earlier groups. */
#ifndef TRINE_TRIANGULAR_COMMON_PARTITION_H
#define TRINE_TRIANGULAR_COMMON_PARTITION_H

#include "triangular/common/levels.h"
#include "triangular/common/trials.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Group g: positions bounds[g] .. bounds[g+1] - 1. Row p has entries offsets[p] .. offsets[p+1] - 1, ascending by
 *  position: solution values of earlier groups, and from middle[p] on right-hand sides of its own group, the last of
 *  which is that of p. Starts as zeros. */
struct partition {
    int64_t n_groups, entries;
    int64_t *bounds;           /* n_groups + 1 */
    int64_t *offsets, *middle; /* n + 1, n */
    int32_t *columns;          /* entries */
};

/** What the choice of groups goes by. */
struct partition_costs {
    double step;               /* of one more group, in entries */
    double long_row;           /* of one more entry of a group's longest row, where it is longer than long_from */
    int64_t long_from;
    int64_t most_entries;      /* of all rows: a limit on memory */
    int64_t levels;            /* of a group; 0: as the costs say */
};
/** As the plan is going to be used; most_entries stays open. */
void partition_find_costs(trine_triangular plan, struct partition_costs *costs);

/** Rows whose growth is larger are solved by substitution inside their group. The growth of a row is what its inverse
 *  makes of rounding errors, over what substitution makes of them, for solutions of entries of at most 1:
 *
 *     sum over c in the group of |t_pc| G_c / sum over c of |t_pc|,
 *     G_c = sum over b-entries k of |r_ck| (|T| 1)_k + sum over x-entries of |r_ck|
 *
 *  so that eps times the growth bounds the componentwise backward error, up to the length of the sums. */
#define PARTITION_MOST_GROWTH 32.0

/** Entries that fit the plan's limit on memory, for a triangle of n rows and nnz entries off the diagonal.
 *  TRINE_ERR_MEMORY if not even those of the triangle do. device: bytes of the device, 0 on the CPU. */
trine_status partition_most_entries(trine_triangular plan, int64_t n, int64_t nnz, int64_t device, int64_t *entries);
/** t: by level, as `levels` says. What has been allocated so far stays in *out, also after a failure, and after an
 *  early end: plan->is_too_slow. */
trine_status partition_make(trine_triangular plan, const struct gather_form *t, const struct level_sets *levels,
                            const struct partition_costs *costs, struct partition *out);
void partition_free(trine_context ctx, struct partition *p);
/** Gather form of `side` by level, and its groups, unless plan->is_too_slow. */
trine_status partition_of_side(trine_triangular plan, const struct pattern *m, int side,
                               const struct partition_costs *costs, struct gather_form *t, struct partition *out);

/** Entries of n rows, no more than `most`. */
static inline int64_t partition_full(int64_t n, int64_t most)
{
    const double dense = 0.5 * (double)n * (double)(n + 1);
    return dense < (double)most ? n * (n + 1) / 2 : most;
}
/** An upper bound of what partition_of_side takes. */
void partition_memory(trine_triangular plan, const struct triangular_extent *e, int64_t most_entries,
                      struct triangular_bytes *host);

#ifdef __cplusplus
}
#endif
#endif
