/* Cyclic bands whose unknowns cannot be cut into block columns as wide as the bands; included by C and, for kernels, by
 * CUDA.
 *
 * Block columns come in pairs instead, L unknowns a pair, width <= L <= 2 width: the first `width` of them are its
 * first block column, the last `width` its last one. Where these overlap, the last block column has copies of unknowns
 * of the first, and the rows at their positions say so: copy - unknown = 0. Every other row of a pair has coefficients
 * in
 *     the previous pair's last block column | first | last | the next pair's first block column,
 * since the bands reach no further than `width`: pairs are groups of a coarse system. No partition has been eliminated
 * for it, and nothing is assumed to be regular: the copies are eliminated with row exchanges like everything else.
 *
 * Needs PAIRS_INLINE. No include guard. */

enum { PAIR_NOTHING = 100, PAIR_COPY, PAIR_COPIED }; /* no band has these numbers: elements 0, 1, -1 */

PAIRS_INLINE int64_t pair_first(const block_matrix *A, int64_t pair)
{
    return pair * A->size + (pair < A->larger ? pair : A->larger);
}
PAIRS_INLINE int pair_length(const block_matrix *A, int64_t pair) { return A->size + (pair < A->larger); }

/** The unknown at a position, 0 to 2 width - 1, counted from the first one of its pair. */
PAIRS_INLINE int pair_unknown(const block_matrix *A, int64_t pair, int position)
{
    return position < A->width ? position : position - 2 * A->width + pair_length(A, pair);
}
PAIRS_INLINE bool pair_is_copy(const block_matrix *A, int64_t pair, int position)
{
    return position >= A->width && pair_unknown(A, pair, position) < A->width;
}

/** The band of op(A) whose element stands in the row at `position`, in column q of the block column `side`: 0 the
 *  previous pair's, 1 and 2 the pair's own, 3 the next pair's. */
PAIRS_INLINE int pair_band(const block_matrix *A, int64_t pair, int position, int side, int q)
{
    const int w = A->width, length = pair_length(A, pair), unknown = pair_unknown(A, pair, position);
    const int below = A->op == TRINE_N ? A->kl : A->ku, above = A->op == TRINE_N ? A->ku : A->kl;
    const int column = side == 0 ? q - w : side == 1 ? q : side == 2 ? length - w + q : length + q;
    if (pair_is_copy(A, pair, position)) {
        if (side == 1 || side == 2) return column != unknown ? PAIR_NOTHING : side == 1 ? PAIR_COPIED : PAIR_COPY;
        return PAIR_NOTHING;
    }
    if ((side == 2 && column < w) || column - unknown < -below || column - unknown > above) return PAIR_NOTHING;
    return column - unknown;
}
