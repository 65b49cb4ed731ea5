/* LU by UMFPACK, in its long interface: P R A Q = L U with row scaling R. UMFPACK hands out copies of L and U only.
 * Davis 2004: Algorithm 832. */
#include <math.h>
#include <string.h>
#include <umfpack.h>

#include "direct/direct.h"
#include "direct/isolation.h"
#include "direct/threads.h"

struct umfpack_state {
    double control[UMFPACK_CONTROL];
    void *symbolic, *numeric;
    double flops; /* of the numeric part: a bound */
};

static bool is_complex(trine_factor F) { return F->dtype == TRINE_Z; }

static trine_status failure(int64_t code, const char *phase)
{
    switch (code) {
    case UMFPACK_ERROR_out_of_memory: return trine_fail(TRINE_ERR_MEMORY, "UMFPACK ran out of memory in the %s", phase);
    case UMFPACK_ERROR_ordering_failed:
        return trine_fail(TRINE_ERR_MEMORY,
                          "UMFPACK's ordering failed in the %s: no memory, or a matrix too large for METIS", phase);
    default:
        return trine_fail(TRINE_ERR_ARGUMENT, "UMFPACK refused the matrix in the %s (its status %lld)", phase,
                          (long long)code);
    }
}

/** AUTO: UMFPACK looks at the symmetry of the pattern, and orders by AMD or COLAMD; where KLU's count says that AMD
 *  fills very much, by METIS. A Hermitian matrix that L D L^H was counted for has its order, and a diagonal to pivot
 *  on. With an order that is given UMFPACK does not look, and takes any pattern for unsymmetric. */
static void choose_ordering(double *control, trine_factor F)
{
    switch (F->options.ordering) {
    case TRINE_ORDERING_METIS: control[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS; break;
    case TRINE_ORDERING_NATURAL: control[UMFPACK_ORDERING] = UMFPACK_ORDERING_NONE; break;
    case TRINE_ORDERING_AMD: control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC; break; /* AMD of A + A^T */
    case TRINE_ORDERING_COLAMD: control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_UNSYMMETRIC; break;
    case TRINE_ORDERING_GIVEN:
        if (F->structure.pattern_symmetric) control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
        break;
    default:
        if (F->symmetric_order) control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
        else if (F->count.entries > 0 && F->count.flops >= 500 * F->count.entries)
            control[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS;
    }
}

static trine_ordering ordering_taken(const double *info)
{
    const bool symmetric = info[UMFPACK_STRATEGY_USED] == UMFPACK_STRATEGY_SYMMETRIC;
    if (info[UMFPACK_ORDERING_USED] == UMFPACK_ORDERING_METIS) return TRINE_ORDERING_METIS;
    if (info[UMFPACK_ORDERING_USED] == UMFPACK_ORDERING_NONE) return TRINE_ORDERING_NATURAL;
    if (info[UMFPACK_ORDERING_USED] == UMFPACK_ORDERING_GIVEN) return TRINE_ORDERING_GIVEN;
    return symmetric ? TRINE_ORDERING_AMD : TRINE_ORDERING_COLAMD;
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    int64_t *rows = NULL, *given = NULL;
    double info[UMFPACK_INFO] = {0};
    struct umfpack_state *state;
    TRY(CALLOC(F->ctx, state, 1));
    F->state = state;
    double *control = state->control;
    is_complex(F) ? umfpack_zl_defaults(control) : umfpack_dl_defaults(control);
    control[UMFPACK_PRL] = 0;
    control[UMFPACK_IRSTEP] = 0; /* plans refine by themselves */
    if (F->given_order) TRY(factor_know_structure(F));
    choose_ordering(control, F);
    if (F->options.pivot_threshold > 0)
        control[UMFPACK_PIVOT_TOLERANCE] = control[UMFPACK_SYM_PIVOT_TOLERANCE] = F->options.pivot_threshold;
    TRY(factor_wide_rows(F, &rows));
    const int32_t *const order = F->given_order             ? F->given_order
                                 : F->options.ordering == 0 ? F->symmetric_order /* NULL: none */
                                                            : NULL;
    if (order) TRY(factor_widen(F->ctx, in.n, order, &given));
    const int64_t code = is_complex(F) ? umfpack_zl_qsymbolic(in.n, in.n, in.offsets, rows, in.values, NULL, given,
                                                              &state->symbolic, control, info)
                                       : umfpack_dl_qsymbolic(in.n, in.n, in.offsets, rows, in.values, given,
                                                              &state->symbolic, control, info);
    const bool no_metis = metis_has_failed();
    if (code < 0) TRY(failure(code, "ordering and symbolic analysis"));
    state->flops = info[UMFPACK_FLOPS_ESTIMATE];
    factor_tell_room(F, info[UMFPACK_PEAK_MEMORY_ESTIMATE] * info[UMFPACK_SIZE_OF_UNIT]);
    F->ordering = ordering_taken(info);
    if (F->ordering == TRINE_ORDERING_GIVEN && !F->given_order) F->ordering = F->symmetric_ordering;
    if (no_metis && F->ordering == TRINE_ORDERING_METIS) FAIL(TRINE_ERR_MEMORY, "METIS ran out of memory");
done:
    trine_free(F->ctx, TRINE_HOST, given);
    return status;
}

static void drop_numeric(trine_factor F)
{
    struct umfpack_state *state = F->state;
    is_complex(F) ? umfpack_zl_free_numeric(&state->numeric) : umfpack_dl_free_numeric(&state->numeric);
}

static int64_t get_numeric(trine_factor F, int64_t *Lp, int64_t *Lj, double *Lx, int64_t *Up, int64_t *Ui, double *Ux,
                           int64_t *P, int64_t *Q, double *D, int64_t *reciprocal, double *R)
{
    void *numeric = ((struct umfpack_state *)F->state)->numeric;
    return is_complex(F)
               ? umfpack_zl_get_numeric(Lp, Lj, Lx, NULL, Up, Ui, Ux, NULL, P, Q, D, NULL, reciprocal, R, numeric)
               : umfpack_dl_get_numeric(Lp, Lj, Lx, Up, Ui, Ux, P, Q, D, reciprocal, R, numeric);
}

static trine_status take_permutations(trine_factor F, const int64_t *P, const int64_t *Q, const double *R,
                                      bool reciprocal)
{
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(F->ctx, F->row_perm, F->n));
    TRY(ALLOC(F->ctx, F->col_perm, F->n));
    TRY(ALLOC(F->ctx, F->row_scale, F->n));
    for (int64_t k = 0; k < F->n; k++) {
        F->row_perm[k] = (int32_t)P[k];
        F->col_perm[k] = (int32_t)Q[k];
        F->row_scale[k] = reciprocal ? R[P[k]] : 1 / R[P[k]]; /* UMFPACK divides by R unless it says so */
    }
done:
    return status;
}

/** L comes by rows and U by columns, both sorted and with their diagonal. */
static trine_status take_triangle(trine_factor F, bool lower)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t nnz = lower ? F->nnz_L : F->nnz_U;
    int64_t *offsets, *wide = NULL, reciprocal;
    int32_t *narrow;
    void *values;
    TRY(ALLOC(F->ctx, wide, nnz));
    TRY(factor_make_matrix(F, !lower, lower ? TRINE_CSR : TRINE_CSC, nnz, &F->triangles[!lower], &offsets, &narrow,
                           &values, NULL));
    const int64_t code =
        lower ? get_numeric(F, offsets, wide, values, NULL, NULL, NULL, NULL, NULL, NULL, &reciprocal, NULL)
              : get_numeric(F, NULL, NULL, NULL, offsets, wide, values, NULL, NULL, NULL, &reciprocal, NULL);
    if (code < 0) TRY(failure(code, "hand-over of its factors"));
    for (int64_t k = 0; k < nnz; k++) narrow[k] = (int32_t)wide[k];
done:
    trine_free(F->ctx, TRINE_HOST, wide);
    return status;
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct umfpack_state *state = F->state;
    int64_t *rows = NULL, *P = NULL, *Q = NULL, reciprocal, sizes[5];
    double *D = NULL, *R = NULL, info[UMFPACK_INFO] = {0};
    const int parts = factor_parts(F);
    drop_numeric(F);
    TRY(factor_wide_rows(F, &rows));
    const struct factor_threads before = factor_threads_begin(F->ctx, state->flops);
    int64_t code = is_complex(F) ? umfpack_zl_numeric(in.offsets, rows, in.values, NULL, state->symbolic,
                                                      &state->numeric, state->control, info)
                                 : umfpack_dl_numeric(in.offsets, rows, in.values, state->symbolic, &state->numeric,
                                                      state->control, info);
    factor_threads_end(before);
    if (code < 0) TRY(failure(code, "factorization"));
    TRY(ALLOC(F->ctx, P, in.n));
    TRY(ALLOC(F->ctx, Q, in.n));
    TRY(ALLOC(F->ctx, R, in.n));
    TRY(ALLOC(F->ctx, D, in.n * parts));
    const bool singular = code == UMFPACK_WARNING_singular_matrix;
    code = get_numeric(F, NULL, NULL, NULL, NULL, NULL, NULL, P, Q, D, &reciprocal, R);
    if (code < 0) TRY(failure(code, "hand-over of its permutations"));
    TRY(take_permutations(F, P, Q, R, reciprocal != 0));
    if (!factor_scales_are_good(F) || !factor_values_are_finite(D, in.n, parts)) TRY(factor_fail_range(F));
    for (int64_t k = 0; singular && k < in.n; k++)
        if (value_is_zero(D + k * parts, parts)) TRY(factor_fail_zero_pivot(F, Q[k], k));
    code = is_complex(F) ? umfpack_zl_get_lunz(&F->nnz_L, &F->nnz_U, &sizes[0], &sizes[1], &sizes[2], state->numeric)
                         : umfpack_dl_get_lunz(&F->nnz_L, &F->nnz_U, &sizes[0], &sizes[1], &sizes[2], state->numeric);
    if (code < 0) TRY(failure(code, "count of its factors' entries"));
    factor_warn_if_nearly_singular(F, info[UMFPACK_RCOND]);
done:
    trine_free(F->ctx, TRINE_HOST, D);
    trine_free(F->ctx, TRINE_HOST, R);
    trine_free(F->ctx, TRINE_HOST, Q);
    trine_free(F->ctx, TRINE_HOST, P);
    return status;
}

/** What UMFPACK hands out are copies. */
static trine_status take_parts(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    TRY(take_triangle(F, true));
    TRY(take_triangle(F, false));
    if (!F->by_library) drop_numeric(F);
done:
    return status;
}

static trine_status solve(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct umfpack_state *state = F->state;
    const int sys = op == TRINE_N ? UMFPACK_A : op == TRINE_T ? UMFPACK_Aat : UMFPACK_At; /* its t is conjugate */
    const int64_t length = F->n * factor_parts(F);
    double *one = NULL;
    (void)B, (void)stream;
    TRY(ALLOC(F->ctx, one, length));
    for (int64_t j = 0; j < X->cols; j++) {
        double *x = (double *)X->data + j * length;
        /* without refinement it does not look at A */
        const int64_t code =
            is_complex(F) ? umfpack_zl_solve(sys, NULL, NULL, NULL, NULL, one, NULL, x, NULL, state->numeric,
                                             state->control, NULL)
                          : umfpack_dl_solve(sys, NULL, NULL, NULL, one, x, state->numeric, state->control, NULL);
        if (code < 0) TRY(failure(code, "solve"));
        memcpy(x, one, (size_t)length * sizeof *x);
    }
done:
    trine_free(F->ctx, TRINE_HOST, one);
    return status;
}

static void release(trine_factor F)
{
    struct umfpack_state *state = F->state;
    if (!state) return;
    drop_numeric(F);
    is_complex(F) ? umfpack_zl_free_symbolic(&state->symbolic) : umfpack_dl_free_symbolic(&state->symbolic);
    trine_free(F->ctx, TRINE_HOST, state);
}

const struct factor_backend factor_umfpack = {.analyse = analyse,
                                              .numeric = numeric,
                                              .take_parts = take_parts,
                                              .triangle = factor_held_triangle,
                                              .release = release,
                                              .solve = solve};
