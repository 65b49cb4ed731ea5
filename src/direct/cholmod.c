/* Cholesky by CHOLMOD: P A P^T = L L^H, supernodal or simplicial, or L D L^H without pivoting.
 * Chen, Davis, Hager, Rajamanickam 2008: Algorithm 887. */
#include <math.h>
#include <string.h>

#include "direct/cholmod_common.h"
#include "direct/direct.h"
#include "direct/isolation.h"
#include "direct/threads.h"

struct cholmod_state {
    bool wide; /* indices have 64 bits, else 32 */
    uint64_t pattern; /* of a simplicial L with all its entries, whatever the values are */
    cholmod_common common;
    cholmod_factor *L;
    cholmod_dense *X, *Y, *E; /* what its solves work in */
};

static trine_status failure(const cholmod_common *common, const char *phase)
{
    switch (common->status) {
    case CHOLMOD_OUT_OF_MEMORY: return trine_fail(TRINE_ERR_MEMORY, "CHOLMOD ran out of memory in the %s", phase);
    case CHOLMOD_TOO_LARGE: return trine_fail(TRINE_ERR_MEMORY, "the factor is too large for CHOLMOD in the %s", phase);
    case CHOLMOD_NOT_INSTALLED:
        return trine_fail(TRINE_ERR_NOT_BUILT, "this CHOLMOD was built without a module that the %s needs", phase);
    default:
        return trine_fail(TRINE_ERR_ARGUMENT, "CHOLMOD refused the matrix in the %s (its status %d)", phase,
                          common->status);
    }
}

static int xtype(trine_factor F) { return F->dtype == TRINE_Z ? CHOLMOD_COMPLEX : CHOLMOD_REAL; }

/** Whether CHOLMOD chooses between simplicial and supernodal by its count, which it does for a CPU's BLAS: below 40
 *  flops an entry of L supernodes cost more than they bring. */
static bool cholmod_chooses(trine_factor F)
{
    return F->options.method == TRINE_DIRECT_AUTO && F->method == TRINE_DIRECT_CHOLESKY && !F->options.need_panels &&
           direct_space(F->ctx) == TRINE_HOST;
}

/** The permutation for cholmod_analyze_p; new. */
static trine_status order(trine_factor F, int32_t **out)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *perm;
    F->ordering = F->options.ordering;
    TRY(ALLOC(F->ctx, perm, F->n));
    *out = perm;
    if (F->ordering == TRINE_ORDERING_AUTO) {
        TRY(factor_order_symmetric(F, TRINE_ORDERING_AUTO));
        F->ordering = F->symmetric_ordering;
    }
    TRY(factor_column_order(F, F->ordering, perm));
done:
    return status;
}

/** Bytes of L, before its numeric part. */
static double room_needed(const cholmod_factor *L, double entries, int parts)
{
    const double value = (double)sizeof(double) * parts;
    const size_t index = L->itype == CHOLMOD_LONG ? sizeof(int64_t) : sizeof(int);
    return L->is_super ? (double)L->xsize * value : entries * (value + (double)index);
}

static void settings(trine_factor F, cholmod_common *c)
{
    c->supernodal = cholmod_chooses(F)                   ? CHOLMOD_AUTO
                    : F->method == TRINE_DIRECT_CHOLESKY ? CHOLMOD_SUPERNODAL
                                                         : CHOLMOD_SIMPLICIAL;
    c->final_asis = 0;
    c->final_ll = F->method != TRINE_DIRECT_LDL;
    c->quick_return_if_not_posdef = 1;
    c->nmethods = 1;
    c->method[0].ordering = CHOLMOD_GIVEN;
    /* natural and given mean that order, as it is */
    c->postorder = F->ordering == TRINE_ORDERING_AMD || F->ordering == TRINE_ORDERING_METIS;
}

/** The symbolic part, in indices of 64 bits or 32; state->L NULL: CHOLMOD says why. */
static trine_status symbolic(trine_factor F, struct cholmod_state *state, bool wide, const int32_t *perm)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *wide_perm = NULL;
    cholmod_sparse A;
    state->wide = wide;
    cholmod_quiet_start(wide, &state->common);
    settings(F, &state->common);
    TRY(cholmod_view(F, wide, xtype(F), &A));
    if (wide) TRY(factor_widen(F->ctx, F->n, perm, &wide_perm));
    state->L = wide ? cholmod_l_analyze_p(&A, wide_perm, NULL, 0, &state->common)
                    : cholmod_analyze_p(&A, (int *)perm, NULL, 0, &state->common);
done:
    trine_free(F->ctx, TRINE_HOST, wide_perm);
    return status;
}

static void drop_symbolic(struct cholmod_state *state)
{
    cholmod_common *c = &state->common;
    CHOLMOD(state->wide, free_factor, &state->L, c);
    CHOLMOD(state->wide, finish, c);
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *perm = NULL;
    struct cholmod_state *state;
    TRY(CALLOC(F->ctx, state, 1));
    cholmod_common *c = &state->common;
    cholmod_quiet_start(false, c); /* released so, if the order fails */
    F->state = state;
    TRY(order(F, &perm));
    const double start = trine_wall_time();
    TRY(symbolic(F, state, (double)factor_get_input(F).nnz >= CHOLMOD_WIDE_MATRIX, perm));
    if (!state->wide && (state->L ? c->lnz >= CHOLMOD_WIDE_FACTOR : c->status == CHOLMOD_TOO_LARGE)) {
        drop_symbolic(state);
        TRY(symbolic(F, state, true, perm));
    }
    if (!state->L) TRY(failure(c, "symbolic analysis"));
    state->pattern = factor_new_pattern();
    c->final_super = state->L->is_super;
    if (F->method == TRINE_DIRECT_CHOLESKY && !state->L->is_super) F->method = TRINE_DIRECT_CHOLESKY_SIMPLICIAL;
    F->count = (struct factor_count){.flops = c->fl, .entries = c->lnz};
    TRY(factor_check_room(F, room_needed(state->L, c->lnz, factor_parts(F))));
    F->symbolic_seconds = trine_wall_time() - start;
done:
    trine_free(F->ctx, TRINE_HOST, perm);
    return status;
}

/** An array of CHOLMOD's in 32 bits; new. */
static trine_status copy_indices(trine_context ctx, const void *array, bool wide, int64_t count, int32_t **narrow)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *narrow, count));
    if (wide)
        for (int64_t k = 0; k < count; k++) (*narrow)[k] = (int32_t)((const int64_t *)array)[k];
    else memcpy(*narrow, array, (size_t)count * sizeof(int));
done:
    return status;
}

/** And one in 64 bits; new. */
static trine_status copy_offsets(trine_context ctx, const void *array, bool wide, int64_t count, int64_t **offsets)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *offsets, count));
    for (int64_t k = 0; k < count; k++) (*offsets)[k] = cholmod_at(array, wide, k);
done:
    return status;
}

static trine_status take_panels(trine_factor F, const cholmod_factor *L, bool wide)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n_panels = (int64_t)L->nsuper;
    TRY(copy_indices(F->ctx, L->super, wide, n_panels + 1, &F->first_column));
    TRY(copy_indices(F->ctx, L->s, wide, (int64_t)L->ssize, &F->panel_rows));
    TRY(copy_offsets(F->ctx, L->pi, wide, n_panels + 1, &F->row_offsets));
    TRY(copy_offsets(F->ctx, L->px, wide, n_panels + 1, &F->value_offsets));
    F->panels = (trine_panels){.n = F->n,
                               .n_panels = n_panels,
                               .first_column = F->first_column,
                               .row_offsets = F->row_offsets,
                               .rows = F->panel_rows,
                               .value_offsets = F->value_offsets,
                               .values = L->x,
                               .dtype = F->dtype,
                               .diag = TRINE_NONUNIT};
    TRY(factor_recompute_dense_rows(F, L->x));
    F->nnz_L = factor_panels_count(F);
done:
    return status;
}

/** Of the columns before and at a breakdown; of all if there was none. */
static bool is_finite(const cholmod_factor *L, bool wide, int parts)
{
    const int64_t minor = (int64_t)L->minor;
    if (L->is_super) {
        int64_t s = 0;
        while (s < (int64_t)L->nsuper && cholmod_at(L->super, wide, s) <= minor) s++;
        return factor_values_are_finite(L->x, cholmod_at(L->px, wide, s), parts);
    }
    if (cholmod_is_packed(L, L->minor)) return factor_values_are_finite(L->x, cholmod_at(L->p, wide, minor), parts);
    for (int64_t j = 0; j < minor; j++)
        if (!factor_values_are_finite(value_at(L->x, cholmod_at(L->p, wide, j), parts), cholmod_at(L->nz, wide, j),
                                      parts))
            return false;
    return true;
}

/** Smallest over largest magnitude of D, whose signs cholmod_l_rcond does not expect. */
static double pivot_ratio(const cholmod_factor *L, bool wide, int parts)
{
    double smallest = INFINITY, largest = 0;
    for (int64_t j = 0; j < (int64_t)L->n; j++) {
        const double d = fabs(*value_at(L->x, cholmod_at(L->p, wide, j), parts));
        smallest = d < smallest ? d : smallest;
        largest = d > largest ? d : largest;
    }
    return smallest / largest;
}

/** Of the columns of a simplicial factor. */
static int64_t count_entries(const cholmod_factor *L, bool wide)
{
    int64_t count = 0;
    for (int64_t j = 0; j < (int64_t)L->n; j++) count += cholmod_at(L->nz, wide, j);
    return count;
}

static trine_status take_parts(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    struct cholmod_state *state = F->state;
    cholmod_factor *L = state->L;
    const int64_t entries = F->nnz_U = F->nnz_L;
    if (L->is_super) return TRINE_SUCCESS;
    TRY(cholmod_take_columns(F, L, true));
    if (F->nnz_L == entries) F->pattern = state->pattern;
    F->nnz_U = F->nnz_L;
    if (F->by_library || F->updated) return TRINE_SUCCESS;
    /* Its columns are copied. Once there are new values, more may come, and their memory stays. */
    if (!CHOLMOD(state->wide, change_factor, CHOLMOD_PATTERN, L->is_ll, 0, 1, 1, L, &state->common))
        TRY(failure(&state->common, "release of its columns"));
    CHOLMOD(state->wide, free_work, &state->common);
done:
    return status;
}

/** Until there are new values, as above. */
static void drop_panels(trine_factor F)
{
    struct cholmod_state *state = F->state;
    F->panels.values = NULL;
    CHOLMOD(state->wide, change_factor, CHOLMOD_PATTERN, 1, 1, 1, 1, state->L, &state->common); /* frees, no more */
    CHOLMOD(state->wide, free_work, &state->common);
}

/** The memory of a supernodal L, touched before the threads of the BLAS are at work: pages that one thread touches
 *  while others wait spinning may take many times as long. */
static trine_status make_panels(struct cholmod_state *state, int parts)
{
    enum { PAGE = 4096 };
    cholmod_factor *L = state->L;
    const int xtype = parts == 2 ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
    if (!L->is_super || L->xtype != CHOLMOD_PATTERN) return TRINE_SUCCESS;
    if (!CHOLMOD(state->wide, change_factor, xtype, 1, 1, 1, 1, L, &state->common))
        return failure(&state->common, "factorization");
    for (size_t at = 0; at < L->xsize * (size_t)parts * sizeof(double); at += PAGE) ((volatile char *)L->x)[at] = 0;
    return TRINE_SUCCESS;
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    struct cholmod_state *state = F->state;
    cholmod_factor *L = state->L;
    cholmod_common *c = &state->common;
    const bool wide = state->wide;
    cholmod_sparse A;
    TRY(cholmod_view(F, wide, xtype(F), &A));
    TRY(make_panels(state, factor_parts(F)));
    const struct factor_threads before = factor_threads_begin(F->ctx, c->fl);
    CHOLMOD(wide, factorize, &A, L, c);
    factor_threads_end(before);
    if (c->status < CHOLMOD_OK) TRY(failure(c, "factorization"));
    if (!is_finite(L, wide, factor_parts(F))) TRY(factor_fail_range(F));
    if (L->minor < L->n)
        TRY(factor_fail_not_definite(F, cholmod_at(L->Perm, wide, (int64_t)L->minor), (int64_t)L->minor));
    TRY(copy_indices(F->ctx, L->Perm, wide, F->n, &F->row_perm));
    F->col_perm = F->row_perm;
    if (L->is_super) TRY(take_panels(F, L, wide));
    else F->nnz_L = count_entries(L, wide);
    F->nnz_U = F->nnz_L;
    factor_warn_if_nearly_singular(F, F->method == TRINE_DIRECT_LDL ? pivot_ratio(L, wide, factor_parts(F))
                                                                    : CHOLMOD(wide, rcond, L, c));
done:
    return status;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    return F->panels.n_panels ? factor_panels_to_csc(F, T) : factor_held_triangle(F, which, T);
}

/** A is Hermitian: A^T = conj(A) is for the caller to see to. */
static trine_status solve(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    struct cholmod_state *state = F->state;
    const size_t count = (size_t)(F->n * X->cols);
    cholmod_dense right = {.nrow = (size_t)F->n,
                           .ncol = (size_t)X->cols,
                           .nzmax = count,
                           .d = (size_t)F->n,
                           .x = X->data,
                           .xtype = xtype(F),
                           .dtype = CHOLMOD_DOUBLE};
    (void)op, (void)B, (void)stream;
    if (!CHOLMOD(state->wide, solve2, CHOLMOD_A, state->L, &right, NULL, &state->X, NULL, &state->Y, &state->E,
                 &state->common))
        return failure(&state->common, "solve");
    memcpy(X->data, state->X->x, count * trine_dtype_size(F->dtype));
    return TRINE_SUCCESS;
}

static void release(trine_factor F)
{
    struct cholmod_state *state = F->state;
    if (!state) return;
    cholmod_dense **const dense[] = {&state->X, &state->Y, &state->E};
    for (int k = 0; k < 3; k++) CHOLMOD(state->wide, free_dense, dense[k], &state->common);
    drop_symbolic(state);
    trine_free(F->ctx, TRINE_HOST, state);
}

const struct factor_backend factor_cholmod = {.analyse = analyse,
                                              .numeric = numeric,
                                              .take_parts = take_parts,
                                              .triangle = triangle,
                                              .drop_panels = drop_panels,
                                              .release = release,
                                              .solve = solve};
