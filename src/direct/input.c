/* The matrix to be factored, as the libraries take it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "direct/direct.h"

static struct factor_input input_of(trine_matrix A)
{
    struct factor_input in = {0};
    trine_matrix_info info;
    const void *values;
    trine_matrix_get_info(A, &info);
    trine_matrix_get_arrays(A, &in.offsets, &in.indices, &values);
    in.n = info.n_rows;
    in.nnz = info.nnz;
    in.values = values;
    return in;
}

struct factor_input factor_get_input(trine_factor F)
{
    return F->A ? input_of(F->A) : (struct factor_input){.n = F->n};
}

trine_status factor_widen(trine_context ctx, int64_t count, const int32_t *narrow, int64_t **wide)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *wide, count));
    for (int64_t k = 0; k < count; k++) (*wide)[k] = narrow[k];
done:
    return status;
}

trine_status factor_wide_rows(trine_factor F, int64_t **rows)
{
    const struct factor_input in = factor_get_input(F);
    const trine_status status = F->wide_rows ? TRINE_SUCCESS : factor_widen(F->ctx, in.nnz, in.indices, &F->wide_rows);
    *rows = F->wide_rows;
    return status;
}

trine_status factor_narrow_offsets(trine_factor F, int32_t **offsets)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    if (!F->narrow_offsets) {
        TRY(ALLOC(F->ctx, F->narrow_offsets, in.n + 1));
        for (int64_t j = 0; j <= in.n; j++) F->narrow_offsets[j] = (int32_t)in.offsets[j];
    }
done:
    *offsets = F->narrow_offsets;
    return status;
}

void factor_drop_copies(trine_factor F)
{
    trine_free(F->ctx, TRINE_HOST, F->wide_rows);
    trine_free(F->ctx, TRINE_HOST, F->narrow_offsets);
    F->wide_rows = NULL;
    F->narrow_offsets = NULL;
}

/* --------------------------------------------------------------- structure */

/** Whether the values v at (i,j) and w at (j,i) are those of a symmetric and of a Hermitian matrix. */
struct agreement { bool symmetric, hermitian; };

static inline struct agreement compare(const double *v, const double *w, int parts)
{
    const bool real = v[0] == w[0];
    return parts == 1 ? (struct agreement){real, real}
                      : (struct agreement){real && v[1] == w[1], real && v[1] == -w[1]};
}

/** Columns ascend, so the entries (i,j) below the diagonal meet those above it, (j,i), in the order of column i:
 *  next[i] is the first that was not met. is_symmetric: the pattern is, as was seen before. */
static inline void find_structure(const struct factor_input *in, int parts, bool is_symmetric, int64_t *next,
                                  struct factor_structure *s)
{
    struct factor_structure found = {true, true, true, true, true, true};
    memcpy(next, in->offsets, (size_t)in->n * sizeof *next);
    for (int64_t j = 0; j < in->n && found.pattern_symmetric; j++) {
        int64_t k = next[j];
        const int64_t end = in->offsets[j + 1];
        const bool there = k < end && in->indices[k] == j;
        if (there) {
            const double *d = value_at(in->values, k++, parts);
            const struct agreement own = compare(d, d, parts);
            found.symmetric &= own.symmetric;
            found.hermitian &= own.hermitian;
            found.full_diagonal &= !value_is_zero(d, parts);
            found.positive_diagonal &= d[0] > 0 && (parts == 1 || d[1] == 0);
        } else {
            found.full_diagonal = found.positive_diagonal = false;
        }
        for (; k < end; k++) {
            const int32_t i = in->indices[k];
            const int64_t at = next[i];
            if (!is_symmetric && (i <= j || at >= in->offsets[i + 1] || in->indices[at] != j)) {
                found.pattern_symmetric = false;
                break;
            }
            next[i] = at + 1;
            const struct agreement both =
                compare(value_at(in->values, k, parts), value_at(in->values, at, parts), parts);
            found.symmetric &= both.symmetric;
            found.hermitian &= both.hermitian;
        }
    }
    *s = found.pattern_symmetric ? found : (struct factor_structure){.known = true};
}

/** next: n numbers. */
static void find_structure_of(const struct factor_input *in, int parts, int64_t *next, struct factor_structure *s)
{
    if (parts == 2) find_structure(in, 2, false, next, s);
    else find_structure(in, 1, false, next, s);
}

trine_status factor_find_structure(trine_context ctx, trine_matrix A, struct factor_structure *s)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = input_of(A);
    trine_matrix_info info;
    int64_t *next;
    trine_matrix_get_info(A, &info);
    TRY(ALLOC(ctx, next, in.n));
    find_structure_of(&in, trine_dtype_is_complex(info.dtype) ? 2 : 1, next, s);
done:
    trine_free(ctx, TRINE_HOST, next);
    return status;
}

trine_status factor_know_structure(trine_factor F)
{
    return F->structure.known ? TRINE_SUCCESS : factor_find_structure(F->ctx, F->A, &F->structure);
}

/* ------------------------------------------------------------ a first matrix */

/** Whether rows or columns follow each other from 0 to nnz, with ascending indices below n in each. */
static bool is_sorted(const struct factor_input *in)
{
    if (in->offsets[0] != 0 || in->offsets[in->n] != in->nnz) return false;
    for (int64_t j = 0; j < in->n; j++) {
        const int64_t end = in->offsets[j + 1];
        int64_t before = -1;
        if (end < in->offsets[j] || end > in->nnz) return false;
        for (int64_t k = in->offsets[j]; k < end; k++) {
            if (in->indices[k] <= before) return false;
            before = in->indices[k];
        }
        if (before >= in->n) return false;
    }
    return true;
}

/** The columns of A, which is stored by rows, at next[0..n), which moves on. indices NULL: they are there. */
static void turn(const struct factor_input *A, int parts, int64_t *next, int32_t *indices, double *to)
{
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
            const int64_t at = next[A->indices[k]]++;
            if (indices) indices[at] = (int32_t)i;
            to[at * parts] = A->values[k * parts];
            if (parts == 2) to[at * 2 + 1] = A->values[k * 2 + 1];
        }
}

/** offsets[0..n]: where the columns of A begin, which is stored by rows. */
static void count_columns(const struct factor_input *A, int64_t *offsets)
{
    memset(offsets, 0, (size_t)(A->n + 1) * sizeof *offsets);
    for (int64_t k = 0; k < A->nnz; k++) offsets[A->indices[k] + 1]++;
    for (int64_t j = 0; j < A->n; j++) offsets[j + 1] += offsets[j];
}

/** 64 bits of the words, four at a time: of each lane the sum times an odd number (Knuth's), turned. */
static uint64_t hash_words(const void *array, size_t bytes, uint64_t seed)
{
    enum { LANES = 4 };
    uint64_t lanes[LANES] = {seed, seed + 1, seed + 2, seed + 3}, words[LANES];
    const char *from = array;
    for (size_t at = 0; from && at < bytes; at += sizeof words) {
        const size_t left = bytes - at;
        if (left < sizeof words) memset(words, 0, sizeof words);
        memcpy(words, from + at, left < sizeof words ? left : sizeof words);
        for (int k = 0; k < LANES; k++) {
            const uint64_t mixed = (lanes[k] ^ words[k]) * 6364136223846793005u;
            lanes[k] = mixed ^ mixed >> 29;
        }
    }
    for (int k = 1; k < LANES; k++) lanes[0] = (lanes[0] ^ lanes[k]) * 6364136223846793005u + (lanes[0] >> 31);
    return lanes[0];
}

/** Of the pattern of F->A. */
static uint64_t hash_pattern(trine_factor F)
{
    const struct factor_input in = factor_get_input(F);
    return hash_words(in.indices, (size_t)in.nnz * sizeof *in.indices,
                      hash_words(in.offsets, (size_t)(in.n + 1) * sizeof *in.offsets, (uint64_t)in.n));
}

trine_status factor_check_borrowed(trine_factor F)
{
    if (!F->lender || hash_pattern(F) == F->pattern_hash) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_ARGUMENT, "the pattern of the matrix factored first has changed in its arrays");
}

/** For few solves by the library no copy of A is made: a plan keeps A by reference. *W: A, or its rows read as columns,
 *  which are A's. */
static trine_status borrow(trine_factor F, trine_matrix A, const struct factor_input *in, bool by_rows, trine_matrix *W)
{
    trine_status status = TRINE_SUCCESS;
    if (!by_rows) *W = trine_retain_matrix(A);
    else
        TRY(trine_matrix_csc(F->ctx, W, F->dtype, in->n, in->n, in->nnz, TRINE_HOST, 64, in->offsets, 32, in->indices,
                             in->values));
    F->lender = trine_retain_matrix(A);
done:
    return status;
}

trine_status factor_take_matrix(trine_factor F, trine_matrix A, trine_matrix *W, struct factor_structure *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_info info;
    int64_t *offsets, *next = NULL;
    int32_t *indices;
    void *values;
    *W = NULL;
    TRY(trine_matrix_get_info(A, &info));
    const struct factor_input in = input_of(A);
    const int parts = factor_parts(F);
    const bool by_rows = info.format == TRINE_CSR;
    if (info.space != TRINE_HOST || info.dtype != F->dtype || !in.n || !in.nnz || !in.values || !is_sorted(&in) ||
        !factor_values_are_finite(in.values, in.nnz, parts))
        goto done;
    TRY(ALLOC(F->ctx, next, in.n + 1));
    find_structure_of(&in, parts, next, s); /* that of A^T is A's */
    if (F->use != FACTOR_FOR_PLANS && (!by_rows || s->symmetric)) {
        TRY(borrow(F, A, &in, by_rows, W));
        F->A = *W;
        F->pattern_hash = hash_pattern(F);
        goto done;
    }
    TRY(trine_matrix_allocate(F->ctx, W, TRINE_CSC, F->dtype, in.n, in.n, in.nnz, &offsets, &indices, &values));
    const bool same_pattern = !by_rows || s->pattern_symmetric;
    if (same_pattern) {
        memcpy(offsets, in.offsets, (size_t)(in.n + 1) * sizeof *offsets);
        memcpy(indices, in.indices, (size_t)in.nnz * sizeof *indices);
    } else {
        count_columns(&in, offsets);
    }
    if (!by_rows || s->symmetric) {
        memcpy(values, in.values, (size_t)in.nnz * trine_dtype_size(F->dtype));
    } else {
        memcpy(next, offsets, (size_t)in.n * sizeof *next);
        turn(&in, parts, next, same_pattern ? NULL : indices, values);
    }
done:
    trine_free(F->ctx, TRINE_HOST, next);
    if (status) trine_matrix_destroy(W);
    return status;
}

/* -------------------------------------------------------------- new values */

static bool copy_finite(int64_t count, const double *from, double *to)
{
    int finite = 1;
    for (int64_t k = 0; k < count; k++) {
        to[k] = from[k];
        finite &= fabs(from[k]) <= DBL_MAX;
    }
    return finite;
}

static bool same_arrays(const struct factor_input *a, const struct factor_input *b)
{
    return !memcmp(a->offsets, b->offsets, (size_t)(a->n + 1) * sizeof *a->offsets) &&
           !memcmp(a->indices, b->indices, (size_t)a->nnz * sizeof *a->indices);
}

/** The values of A, stored by rows, where the columns of old have them, and their places there; false: another
 *  pattern, or not all are finite. next: n numbers. parts: known at compile time. */
INLINE_ALWAYS bool scatter_rows(const struct factor_input *old, const struct factor_input *A, const int parts,
                                int64_t *next, int32_t *places, double *to)
{
    const int64_t n = A->n, nnz = A->nnz, *rows = A->offsets, *columns = old->offsets;
    int finite = 1;
    memcpy(next, columns, (size_t)n * sizeof *next);
    if (rows[0] != 0 || rows[n] != nnz) return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = rows[i + 1];
        if (end < rows[i] || end > nnz) return false;
        for (int64_t k = rows[i]; k < end; k++) {
            const int32_t j = A->indices[k];
            if (j < 0 || j >= n) return false;
            const int64_t at = next[j]++;
            if (at >= columns[j + 1] || old->indices[at] != i) return false;
            places[k] = (int32_t)at;
            for (int p = 0; p < parts; p++) {
                const double v = A->values[k * parts + p];
                to[at * parts + p] = v;
                finite &= fabs(v) <= DBL_MAX;
            }
        }
    }
    return finite;
}

static void drop_places(trine_factor F)
{
    trine_free(F->ctx, TRINE_HOST, F->given_offsets);
    trine_free(F->ctx, TRINE_HOST, F->given_indices);
    trine_free(F->ctx, TRINE_HOST, F->given_places);
    F->given_offsets = NULL;
    F->given_indices = F->given_places = NULL;
}

/** The values of A, stored by rows, where the columns of old have them: the first time entry by entry, and later, while
 *  A has the same arrays, by their places. *taken: A has that pattern, and all are finite. */
static trine_status take_rows(trine_factor F, const struct factor_input *old, const struct factor_input *A, double *to,
                              bool *taken)
{
    trine_status status = TRINE_SUCCESS;
    const int parts = factor_parts(F);
    const struct factor_input before = {.offsets = F->given_offsets, .indices = F->given_indices};
    int64_t *next = NULL;
    *taken = false;
    if (A->nnz > INT32_MAX) goto done; /* the long way */
    if (F->given_places && same_arrays(A, &before)) {
        for (int64_t k = 0; k < A->nnz && parts == 1; k++) to[F->given_places[k]] = A->values[k];
        for (int64_t k = 0; k < A->nnz && parts == 2; k++)
            memcpy(to + 2 * (int64_t)F->given_places[k], A->values + 2 * k, 2 * sizeof *to);
        *taken = factor_values_are_finite(A->values, A->nnz, parts);
        goto done;
    }
    drop_places(F);
    TRY(ALLOC(F->ctx, next, old->n));
    TRY(ALLOC(F->ctx, F->given_offsets, A->n + 1));
    TRY(ALLOC(F->ctx, F->given_indices, A->nnz));
    TRY(ALLOC(F->ctx, F->given_places, A->nnz));
    *taken = parts == 1 ? scatter_rows(old, A, 1, next, F->given_places, to)
                        : scatter_rows(old, A, 2, next, F->given_places, to);
    memcpy(F->given_offsets, A->offsets, (size_t)(A->n + 1) * sizeof *F->given_offsets);
    memcpy(F->given_indices, A->indices, (size_t)A->nnz * sizeof *F->given_indices);
done:
    if (status || !*taken) drop_places(F);
    trine_free(F->ctx, TRINE_HOST, next);
    return status;
}

/** *s of W, new values on the pattern of F->A. */
static trine_status find_structure_again(trine_factor F, trine_matrix W, struct factor_structure *s)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = input_of(W);
    int64_t *next;
    if (!F->structure.known || !F->structure.pattern_symmetric || F->dtype != TRINE_D)
        return factor_find_structure(F->ctx, W, s);
    TRY(ALLOC(F->ctx, next, in.n));
    find_structure(&in, 1, true, next, s);
done:
    trine_free(F->ctx, TRINE_HOST, next);
    return status;
}

/** A^H of an A stored by rows is its arrays read as columns, which is A if A is Hermitian: *taken, with its
 *  structure. */
static trine_status take_hermitian(trine_factor F, const struct factor_input *A, trine_matrix W, double *to,
                                   struct factor_structure *s, bool *taken)
{
    const int parts = factor_parts(F);
    *taken = false;
    if (!copy_finite(A->nnz * parts, A->values, to)) return TRINE_SUCCESS;
    for (int64_t k = 0; k < A->nnz && parts == 2; k++) to[2 * k + 1] = -to[2 * k + 1];
    const trine_status status = find_structure_again(F, W, s);
    *taken = !status && s->hermitian;
    return status;
}

trine_status factor_take_values(trine_factor F, trine_matrix A, trine_matrix *W, struct factor_structure *s)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input old = factor_get_input(F);
    trine_matrix_info info;
    int64_t *offsets;
    int32_t *indices;
    void *values;
    bool taken = false, has_pattern; /* which all values have */
    *W = NULL;
    if (!old.n || !old.offsets || !old.indices || trine_matrix_get_info(A, &info) || info.space != TRINE_HOST ||
        info.dtype != F->dtype || info.n_rows != old.n || info.n_cols != old.n || info.nnz != old.nnz)
        return TRINE_SUCCESS;
    const struct factor_input in = input_of(A);
    const bool by_columns = info.format == TRINE_CSC;
    const int parts = factor_parts(F);
    if (!in.values || (!by_columns && info.format != TRINE_CSR)) return TRINE_SUCCESS;
    TRY(factor_make_matrix(F, SPARE_MATRIX, TRINE_CSC, old.nnz, W, &offsets, &indices, &values, &has_pattern));
    if (!has_pattern) {
        memcpy(offsets, old.offsets, (size_t)(old.n + 1) * sizeof *offsets);
        memcpy(indices, old.indices, (size_t)old.nnz * sizeof *indices);
    }
    if (by_columns) {
        taken = same_arrays(&in, &old) && copy_finite(old.nnz * parts, in.values, values);
    } else {
        if (factor_is_symmetric(F->method) && same_arrays(&in, &old))
            TRY(take_hermitian(F, &in, *W, values, s, &taken));
        if (!taken) TRY(take_rows(F, &old, &in, values, &taken));
    }
    if (taken && factor_is_symmetric(F->method) && !s->known) TRY(find_structure_again(F, *W, s));
done:
    if (status || !taken) trine_matrix_destroy(W);
    if (!taken) *s = (struct factor_structure){0};
    return status;
}
