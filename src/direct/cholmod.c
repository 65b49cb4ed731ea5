/* Cholesky by CHOLMOD, in its long interface: P A P^T = L L^H, supernodal or simplicial.
 * Chen, Davis, Hager, Rajamanickam 2008: Algorithm 887. */
#include <string.h>

#include "direct/cholmod_common.h"
#include "direct/direct.h"
#include "direct/isolation.h"
#include "direct/threads.h"

struct cholmod_state {
    cholmod_common common;
    cholmod_factor *L;
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

/** CHOLMOD's view of F->A: of the full matrix only the lower triangle is read. */
static cholmod_sparse view(const struct factor_input *in, int64_t *rows, trine_dtype dtype)
{
    return (cholmod_sparse){.nrow = (size_t)in->n,
                            .ncol = (size_t)in->n,
                            .nzmax = (size_t)in->nnz,
                            .p = (void *)in->offsets,
                            .i = rows,
                            .x = (void *)in->values,
                            .stype = -1,
                            .itype = CHOLMOD_LONG,
                            .xtype = dtype == TRINE_Z ? CHOLMOD_COMPLEX : CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    int64_t *rows = NULL;
    struct cholmod_state *state;
    TRY(CALLOC(F->ctx, state, 1));
    F->state = state;
    cholmod_common *c = &state->common;
    cholmod_quiet_start(c);
    c->supernodal = F->method == TRINE_DIRECT_CHOLESKY ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    c->final_asis = 0;
    c->final_super = F->method == TRINE_DIRECT_CHOLESKY;
    c->final_ll = 1;
    c->quick_return_if_not_posdef = 1;
    /* AUTO: AMD, and METIS as well where AMD fills much; the sparser is kept */
    if (F->options.ordering != TRINE_ORDERING_AUTO) {
        c->nmethods = 1;
        c->method[0].ordering = F->options.ordering == TRINE_ORDERING_METIS ? CHOLMOD_METIS
                                : F->options.ordering == TRINE_ORDERING_AMD ? CHOLMOD_AMD
                                                                            : CHOLMOD_NATURAL;
        c->postorder = F->options.ordering != TRINE_ORDERING_NATURAL; /* natural means the given order, as it is */
    }
    TRY(factor_widen(F->ctx, in.nnz, in.indices, &rows));
    cholmod_sparse A = view(&in, rows, F->dtype);
    state->L = cholmod_l_analyze(&A, c);
    const bool no_metis = metis_has_failed();
    if (!state->L) TRY(failure(c, "ordering and symbolic analysis"));
    F->ordering = cholmod_ordering(state->L, TRINE_ORDERING_NATURAL);
    if (no_metis && F->ordering == TRINE_ORDERING_METIS) FAIL(TRINE_ERR_MEMORY, "METIS ran out of memory");
done:
    trine_free(F->ctx, TRINE_HOST, rows);
    return status;
}

static trine_status copy_indices(trine_context ctx, const void *wide, int64_t count, int32_t **narrow)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(ctx, *narrow, count));
    for (int64_t k = 0; k < count; k++) (*narrow)[k] = (int32_t)((const int64_t *)wide)[k];
done:
    return status;
}

static trine_status take_panels(trine_factor F, const cholmod_factor *L)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n_panels = (int64_t)L->nsuper;
    TRY(copy_indices(F->ctx, L->super, n_panels + 1, &F->first_column));
    TRY(copy_indices(F->ctx, L->s, (int64_t)L->ssize, &F->panel_rows));
    F->panels = (trine_panels){.n = F->n,
                               .n_panels = n_panels,
                               .first_column = F->first_column,
                               .row_offsets = L->pi,
                               .rows = F->panel_rows,
                               .value_offsets = L->px,
                               .values = L->x,
                               .dtype = F->dtype,
                               .diag = TRINE_NONUNIT};
    TRY(factor_recompute_dense_rows(F, L->x));
    F->nnz_L = factor_panels_count(F);
done:
    return status;
}

/** Of the columns before and at a breakdown; of all if there was none. */
static bool is_finite(const cholmod_factor *L, int parts)
{
    if (L->is_super) {
        const int64_t *super = L->super, *px = L->px;
        int64_t s = 0;
        while (s < (int64_t)L->nsuper && super[s] <= (int64_t)L->minor) s++;
        return factor_values_are_finite(L->x, px[s], parts);
    }
    const int64_t *p = L->p, *nz = L->nz;
    for (size_t j = 0; j < L->minor; j++)
        if (!factor_values_are_finite(value_at(L->x, p[j], parts), nz[j], parts)) return false;
    return true;
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct cholmod_state *state = F->state;
    cholmod_factor *L = state->L;
    int64_t *rows = NULL;
    TRY(factor_widen(F->ctx, in.nnz, in.indices, &rows));
    cholmod_sparse A = view(&in, rows, F->dtype);
    const struct factor_threads before = factor_threads_begin(F->ctx, state->common.fl);
    cholmod_l_factorize(&A, L, &state->common);
    factor_threads_end(before);
    if (state->common.status < CHOLMOD_OK) TRY(failure(&state->common, "factorization"));
    if (!is_finite(L, factor_parts(F))) TRY(factor_fail_range(F));
    if (L->minor < L->n) TRY(factor_fail_not_definite(F, ((const int64_t *)L->Perm)[L->minor], (int64_t)L->minor));
    TRY(copy_indices(F->ctx, L->Perm, F->n, &F->row_perm));
    F->col_perm = F->row_perm;
    if (L->is_super) {
        TRY(take_panels(F, L));
    } else {
        F->nnz_L = 0;
        const int parts = factor_parts(F);
        for (int64_t j = 0; j < F->n; j++) {
            const int64_t first = ((const int64_t *)L->p)[j], count = ((const int64_t *)L->nz)[j];
            F->nnz_L++;
            for (int64_t k = first + 1; k < first + count; k++)
                F->nnz_L += !value_is_zero(value_at(L->x, k, parts), parts);
        }
    }
    F->nnz_U = F->nnz_L;
    factor_warn_if_nearly_singular(F, cholmod_l_rcond(L, &state->common));
done:
    trine_free(F->ctx, TRINE_HOST, rows);
    return status;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    (void)which; /* the lower one */
    const cholmod_factor *L = ((struct cholmod_state *)F->state)->L;
    if (L->is_super) return factor_panels_to_csc(F, T);
    const int parts = factor_parts(F);
    int64_t *offsets, next = 0;
    int32_t *rows;
    void *out;
    trine_status status =
        trine_matrix_allocate(F->ctx, T, TRINE_CSC, F->dtype, F->n, F->n, F->nnz_L, &offsets, &rows, &out);
    if (status) return status;
    for (int64_t j = 0; j < F->n; j++) {
        const int64_t first = ((const int64_t *)L->p)[j], count = ((const int64_t *)L->nz)[j];
        for (int64_t k = first; k < first + count; k++) { /* the diagonal entry comes first */
            const double *v = value_at(L->x, k, parts);
            if (k > first && value_is_zero(v, parts)) continue;
            rows[next] = (int32_t)((const int64_t *)L->i)[k];
            memcpy((double *)out + next * parts, v, (size_t)parts * sizeof *v);
            next++;
        }
        offsets[j + 1] = next;
    }
    return TRINE_SUCCESS;
}

static void release(trine_factor F)
{
    struct cholmod_state *state = F->state;
    if (!state) return;
    cholmod_l_free_factor(&state->L, &state->common);
    cholmod_l_finish(&state->common);
    trine_free(F->ctx, TRINE_HOST, state);
}

const struct factor_backend factor_cholmod = {analyse, numeric, triangle, NULL, release, NULL};
