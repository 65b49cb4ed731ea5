/* LU by SuperLU 5: P A Q = L U with partial pivoting. L lies in dense panels, whose diagonal blocks carry U's part
 * above the diagonal too. Demmel, Eisenstat, Gilbert, Li, Liu 1999: A supernodal approach to sparse partial
 * pivoting. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include <superlu/slu_ddefs.h>
#include <superlu/slu_zdefs.h>

#include "direct/isolation.h"
#include "direct/threads.h"
#include "direct/superlu_panels.h"

struct superlu_state {
    superlu_options_t options; /* Fact = SamePattern after the first factorization */
    int32_t *position_of_column, *position_of_row; /* SuperLU's perm_c and perm_r */
    int32_t *etree;
    SuperMatrix L, U;
    superlu_memory memory;     /* L and U live here */
};

static void invert(int64_t n, const int32_t *perm, int32_t *inverse)
{
    for (int64_t k = 0; k < n; k++) inverse[perm[k]] = (int32_t)k;
}

/** COLAMD holds whatever pivots are taken. Where the pattern is symmetric, and each column's diagonal is its largest
 *  entry or the matrix Hermitian with a positive diagonal, pivots mostly stay on the diagonal, and an ordering of
 *  A + A^T fills less: by METIS a quarter of COLAMD's on cage10. Where they leave it, it fills more: five times on the
 *  KKT matrix of CONT-201 (docs/notes/direct-solves.md). */
static trine_status choose_ordering(trine_factor F, trine_ordering *ordering)
{
    const struct factor_input in = factor_get_input(F);
    const int parts = F->dtype == TRINE_Z ? 2 : 1;
    trine_status status = factor_know_structure(F);
    if (status) return status;
    const bool definite = F->structure.hermitian && F->structure.positive_diagonal;
    bool on_diagonal = F->structure.pattern_symmetric;
    for (int64_t j = 0; j < in.n && on_diagonal && !definite; j++) {
        double diagonal = 0, largest = 0;
        for (int64_t k = in.offsets[j]; k < in.offsets[j + 1]; k++) {
            const double size = parts == 2 ? hypot(in.values[2 * k], in.values[2 * k + 1]) : fabs(in.values[k]);
            if (in.indices[k] == j) diagonal = size;
            if (size > largest) largest = size;
        }
        on_diagonal = diagonal > 0 && diagonal >= largest;
    }
    *ordering = TRINE_ORDERING_COLAMD;
    if (!on_diagonal) return TRINE_SUCCESS;
    status = factor_order_symmetric(F, TRINE_ORDERING_AUTO);
    *ordering = F->symmetric_ordering;
    return status;
}

/** The larger of SuperLU's two work arrays, whose sizes in bytes it computes in an int. */
static int64_t work_bytes(trine_factor F)
{
    const int64_t n = F->n, width = sp_ienv(1), rows = SUPERLU_MAX(sp_ienv(3), sp_ienv(7)) + sp_ienv(4);
    const int64_t integers = n * (2 * (width + NO_MARKER) + 1), values = n * width + SUPERLU_MAX(n, rows * width);
    return SUPERLU_MAX(integers * (int64_t)sizeof(int), values * factor_parts(F) * (int64_t)sizeof(double));
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct superlu_state *state;
    int32_t *order = NULL;
    TRY(CALLOC(F->ctx, state, 1));
    F->state = state;
    state->memory.ctx = F->ctx;
    TRY(superlu_check(&state->memory));
    if (in.nnz > INT_MAX / SUPERLU_MAX(sp_ienv(6), 1)) /* its first guess of the factor's size is sp_ienv(6) nnz(A) */
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld entries are too many for SuperLU's 32-bit indices", (long long)in.nnz);
    if (work_bytes(F) > INT_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld rows are too many for SuperLU's 32-bit sizes", (long long)in.n);
    set_default_options(&state->options);
    state->options.Fact = DOFACT;
    state->options.ColPerm = MY_PERMC;
    state->options.PrintStat = NO;
    if (F->options.pivot_threshold > 0) state->options.DiagPivotThresh = F->options.pivot_threshold;
    TRY(ALLOC(F->ctx, state->position_of_column, in.n));
    TRY(ALLOC(F->ctx, state->position_of_row, in.n));
    TRY(ALLOC(F->ctx, state->etree, in.n));
    TRY(ALLOC(F->ctx, order, in.n));
    F->ordering = F->options.ordering;
    if (F->ordering == TRINE_ORDERING_AUTO) TRY(choose_ordering(F, &F->ordering));
    TRY(factor_column_order(F, F->ordering, order));
    invert(in.n, order, state->position_of_column);
done:
    trine_free(F->ctx, TRINE_HOST, order);
    return status;
}

struct upper_summary {
    int64_t nnz;
    int parts;
    double smallest, largest;
};
static void summarize(void *user, int32_t row, int64_t column, const void *value)
{
    struct upper_summary *s = user;
    s->nnz++;
    if (row != column) return;
    s->smallest = fmin(s->smallest, value_abs(value, s->parts));
    s->largest = fmax(s->largest, value_abs(value, s->parts));
}

static bool is_finite(trine_factor F, const struct superlu_state *state)
{
    const SCformat *L = state->L.Store;
    const NCformat *U = state->U.Store;
    const int parts = factor_parts(F);
    return factor_values_are_finite(L->nzval, L->nzval_colptr[F->n], parts) &&
           factor_values_are_finite(U->nzval, U->colptr[F->n], parts);
}

/** SuperLU's factorization, as superlu_run calls it. */
struct factorization {
    struct superlu_state *state;
    SuperMatrix A;
    int info;
};

static void factorize(void *user)
{
    struct factorization *f = user;
    struct superlu_state *state = f->state;
    SuperMatrix permuted;
    SuperLUStat_t statistics;
    GlobalLU_t global;
    sp_preorder(&state->options, &f->A, state->position_of_column, state->etree, &permuted);
    StatInit(&statistics);
    if (f->A.Dtype == SLU_Z)
        zgstrf(&state->options, &permuted, sp_ienv(2), sp_ienv(1), state->etree, NULL, 0, state->position_of_column,
               state->position_of_row, &state->L, &state->U, &global, &statistics, &f->info);
    else
        dgstrf(&state->options, &permuted, sp_ienv(2), sp_ienv(1), state->etree, NULL, 0, state->position_of_column,
               state->position_of_row, &state->L, &state->U, &global, &statistics, &f->info);
    StatFree(&statistics);
    Destroy_CompCol_Permuted(&permuted);
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct superlu_state *state = F->state;
    int32_t *offsets = NULL;
    superlu_release(&state->memory);
    TRY(ALLOC(F->ctx, offsets, in.n + 1));
    for (int64_t j = 0; j <= in.n; j++) offsets[j] = (int32_t)in.offsets[j];

    const int n = (int)in.n;
    const Dtype_t type = F->dtype == TRINE_Z ? SLU_Z : SLU_D;
    NCformat columns = {.nnz = (int)in.nnz, .nzval = (void *)in.values, .rowind = (int *)in.indices, .colptr = offsets};
    struct factorization f = {state, {SLU_NC, type, SLU_GE, n, n, &columns}, 0};
    const struct factor_threads before =
        factor_threads_begin(F->ctx, 0); /* its panels are too narrow for more than one */
    status = superlu_run(&state->memory, factorize, &f);
    factor_threads_end(before);
    TRY(status);
    const int info = f.info;
    state->options.Fact = SamePattern; /* from now on: the column ordering and its tree stay */

    if (info < 0) FAIL(TRINE_ERR_ARGUMENT, "SuperLU refused argument %d of its factorization", -info);
    if (info > n) FAIL(TRINE_ERR_UNSUPPORTED, "SuperLU has no room for the factor");
    if (!is_finite(F, state)) TRY(factor_fail_range(F)); /* SuperLU takes a column of NaN for one of zeros */
    TRY(ALLOC(F->ctx, F->col_perm, in.n));
    invert(in.n, state->position_of_column, F->col_perm);
    if (info > 0) TRY(factor_fail_zero_pivot(F, F->col_perm[info - 1], info - 1));
    TRY(ALLOC(F->ctx, F->row_perm, in.n));
    invert(in.n, state->position_of_row, F->row_perm);
    TRY(superlu_take_panels(F, &state->L));
    struct upper_summary summary = {.parts = factor_parts(F), .smallest = INFINITY};
    superlu_each_upper(F, &state->U, summarize, &summary);
    F->nnz_U = summary.nnz;
    factor_warn_if_nearly_singular(F, summary.smallest / summary.largest);
done:
    trine_free(F->ctx, TRINE_HOST, offsets);
    return status;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    return superlu_triangle(F, &((struct superlu_state *)F->state)->U, which, T);
}

static trine_status upper_panels(trine_factor F)
{
    return superlu_make_upper_panels(F, &((struct superlu_state *)F->state)->U);
}

static void release(trine_factor F)
{
    struct superlu_state *state = F->state;
    if (!state) return;
    superlu_release(&state->memory);
    trine_free(F->ctx, TRINE_HOST, state->etree);
    trine_free(F->ctx, TRINE_HOST, state->position_of_row);
    trine_free(F->ctx, TRINE_HOST, state->position_of_column);
    trine_free(F->ctx, TRINE_HOST, state);
}

const struct factor_backend factor_superlu = {
    .analyse = analyse, .numeric = numeric, .triangle = triangle, .upper_panels = upper_panels, .release = release};
