/* Which edge is stronger, and which vertices are positive: the same on the host and on a GPU. */
#ifndef TRINE_FOREST_COMMON_EDGE_ORDER_H
#define TRINE_FOREST_COMMON_EDGE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define FOREST_INLINE __host__ __device__ static inline
#else
#define FOREST_INLINE static inline
#endif

/** One to one on 64-bit numbers (splitmix64: Steele, Lea, Flood 2014). */
FOREST_INLINE uint64_t forest_mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/** What the tie rule and the seed come to. */
typedef struct {
    bool by_hash;
    uint64_t salt;
} forest_ties;

/** The key of edge {u,v}, another one for every edge. */
FOREST_INLINE uint64_t forest_edge_key(forest_ties ties, int32_t u, int32_t v)
{
    const uint64_t low = (uint64_t)(u < v ? u : v), high = (uint64_t)(u < v ? v : u);
    return forest_mix((low << 32 | high) ^ ties.salt);
}

/** Of v's edges of one weight that with the larger number is the strongest. */
FOREST_INLINE uint64_t forest_tie_number(forest_ties ties, int32_t v, int32_t u)
{
    return ties.by_hash ? forest_edge_key(ties, v, u) : ~(uint64_t)(uint32_t)u;
}
/** Of edges {v,a} and {v,b} of one weight: is the first one the stronger, as seen from v? */
FOREST_INLINE bool forest_wins_tie(forest_ties ties, int32_t v, int32_t a, int32_t b)
{
    return forest_tie_number(ties, v, a) > forest_tie_number(ties, v, b);
}

/** Of edges {low,high} of one weight: is the first one the weaker in its cycle? */
FOREST_INLINE bool forest_loses_tie(forest_ties ties, int32_t low, int32_t high, int32_t low2, int32_t high2)
{
    if (ties.by_hash) return forest_edge_key(ties, low, high) < forest_edge_key(ties, low2, high2);
    return low != low2 ? low < low2 : high < high2;
}

/** Charges of one round. */
typedef struct {
    bool charged;
    uint64_t salt;                   /* of seed and round */
    uint32_t threshold;              /* p 2^32 */
} forest_charges;
FOREST_INLINE bool forest_is_positive(forest_charges c, int32_t v)
{
    return (uint32_t)(forest_mix(c.salt + (uint64_t)v) >> 32) < c.threshold;
}

/** What the entries of a row are divided by where weights are normalized (Eq. 40): the modulus of its diagonal and the
 *  sum of its others. NaN stays. */
FOREST_INLINE double forest_row_scale(double diagonal, double others)
{
    const double scale = others > diagonal || others != others ? others : diagonal;
    return scale == 0 ? 1 : scale;
}

/** One in 2^bits vertices, for lists of paths that are cut into short ones. */
FOREST_INLINE bool forest_is_splitter(int32_t v, int bits) { return forest_mix((uint64_t)v) >> (64 - bits) == 0; }

#endif
