/* The library's own choice of a factorization. What an expert looks at, in this order:
 *
 *     Hermitian, positive diagonal      Cholesky; simplicial below 40 flops an entry on a CPU (cholmod.c)
 *     Hermitian, no zero on the         L D L^H in the order of AMD or METIS, if its count is below 100 flops an entry,
 *     diagonal, or Cholesky broke down  and accurate in a trial solve
 *     else LU, on a CPU                 KLU, if its count is below 80 flops an entry, and accurate in a trial solve
 *                                       else UMFPACK; SuperLU where UMFPACK cannot
 *     else LU, on a GPU                 SuperLU, whose panels the GPU solves with
 *
 * Each that fails is logged, with the next that is tried. docs/notes/direct-solves.md has the measurements behind the
 * limits. */
#include <math.h>
#include <stdio.h>

#include "direct/direct.h"

/* Flops for an entry of the factor, from which the dense blocks of UMFPACK and SuperLU pay, over KLU and over a
 * simplicial L D L^H: all three meet there on real matrices. */
enum { DENSE_FROM_LU = 80, DENSE_FROM_LDL = 100 };

static bool is_below(const struct factor_count *count, double limit)
{
    return count->entries > 0 && count->flops < limit * count->entries;
}

static double ratio(const struct factor_count *count) { return count->flops / fmax(1, count->entries); }

/** Whether the last numeric part will do; logs what it failed at, and what is tried instead. */
static bool settles(trine_factor F, trine_status *status, const char *next)
{
    switch (*status) {
    case TRINE_SUCCESS:
        if (factor_is_accurate(F)) return true;
        trine_log(F->ctx, 2, "%s: the trial solve's backward error stays at %.3g eps; %s is tried instead",
                  trine_direct_method_name(F->method), F->trial_error, next);
        return false;
    case TRINE_ERR_NOT_DEFINITE:
    case TRINE_ERR_NO_CONVERGENCE:
    case TRINE_ERR_UNSUPPORTED: trine_log(F->ctx, 2, "%s; %s is tried instead", trine_last_error(), next); return false;
    default: return true;
    }
}

/* ---------------------------------------------------------------------- LU */

static trine_status lu_on_cpu(trine_factor F, const char *why)
{
    trine_status status = TRINE_SUCCESS;
    double after_klu = -1;
    if (!(F->count.entries > 0) || is_below(&F->count, DENSE_FROM_LU)) {
        TRY(factor_analyse(F, TRINE_DIRECT_LU_KLU, "%s; a sparse factor", why));
        F->count = F->n ? factor_klu_count(F) : (struct factor_count){0};
        /* in an order that is not AMD's KLU does not count */
        if (!F->n || F->options.ordering > TRINE_ORDERING_AMD || is_below(&F->count, DENSE_FROM_LU)) {
            snprintf(F->reason, sizeof F->reason, "%.160s; %.3g flops an entry: no dense blocks", why,
                     ratio(&F->count));
            status = factor_numeric(F);
            if (settles(F, &status, "UMFPACK")) goto done;
            after_klu = F->trial_error;
        }
    }
    if (after_klu >= 0)
        TRY(factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%s; KLU's backward error stays at %.3g eps", why, after_klu));
    else
        TRY(factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%s; %.3g flops an entry: dense blocks", why, ratio(&F->count)));
    status = factor_numeric(F);
    if (status == TRINE_ERR_UNSUPPORTED || status == TRINE_ERR_NO_CONVERGENCE) {
        settles(F, &status, "SuperLU");
        status = factor_superlu_or_umfpack(F, why);
    }
done:
    return status;
}

static trine_status lu(trine_factor F, const char *why)
{
    /* text: why may be F's own reason, which the next analysis overwrites */
    char text[sizeof F->reason];
    snprintf(text, sizeof text, "%s", why);
    if (F->options.need_panels || direct_space(F->ctx) == TRINE_DEVICE) return factor_superlu_or_umfpack(F, text);
    return lu_on_cpu(F, text);
}

/* --------------------------------------------------------------- Hermitian */

/** Whether no entry of the diagonal is zero or missing. */
static bool has_diagonal(trine_factor F)
{
    const struct factor_input in = factor_get_input(F);
    const int parts = factor_parts(F);
    for (int64_t j = 0; j < in.n; j++) {
        bool there = false;
        for (int64_t k = in.offsets[j]; k < in.offsets[j + 1] && !there; k++)
            there = in.indices[k] == j && !value_is_zero(value_at(in.values, k, parts), parts);
        if (!there) return false;
    }
    return true;
}

trine_status factor_auto_without_cholesky(trine_factor F, const char *why)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix_structure s;
    TRY(trine_matrix_get_structure(F->A, &s));
    const bool ldl_failed = F->method == TRINE_DIRECT_LDL;
    if (F->method == TRINE_DIRECT_LU_KLU || F->method == TRINE_DIRECT_LU_UMFPACK) {
        TRY(factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%s", why));
        status = factor_numeric(F);
        goto done;
    }
    if (s.hermitian && !ldl_failed && !F->options.need_panels && F->n && has_diagonal(F) &&
        F->options.ordering != TRINE_ORDERING_COLAMD) {
        TRY(factor_analyse(F, TRINE_DIRECT_LDL, "%s; no entry of the diagonal is zero, and the factor sparse", why));
        if (is_below(&F->count, DENSE_FROM_LDL)) {
            status = factor_numeric(F);
            if (settles(F, &status, "LU")) goto done;
        }
    }
    status = lu(F, why);
done:
    return status;
}

trine_status factor_auto(trine_factor F)
{
    trine_matrix_structure s;
    trine_status status = trine_matrix_get_structure(F->A, &s);
    if (status) return status;
    if (!s.hermitian) return lu(F, "A is not Hermitian");
    if (!s.positive_diagonal)
        return factor_auto_without_cholesky(F, "A is Hermitian, but a diagonal entry is not positive");
    if (F->options.ordering == TRINE_ORDERING_COLAMD) return lu(F, "COLAMD, which orders for LU, was asked for");
    TRY(factor_analyse(F, TRINE_DIRECT_CHOLESKY, "A is Hermitian with a positive diagonal"));
    status = factor_numeric(F);
    if (status != TRINE_ERR_NOT_DEFINITE && status != TRINE_ERR_NO_CONVERGENCE) goto done;
    settles(F, &status, "L D L^H or LU");
    status = factor_auto_without_cholesky(F, "A is Hermitian, but not positive definite, or rounding made it so");
done:
    return status;
}
