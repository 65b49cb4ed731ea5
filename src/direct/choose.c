/* The library's own choice of a factorization. What an expert looks at, in this order:
 *
 *     Hermitian, positive diagonal      Cholesky; simplicial below 40 flops an entry on a CPU (cholmod.c)
 *     Hermitian, no zero on the         L D L^H in the order of AMD or METIS, if its count is below 100 flops an entry,
 *     diagonal, or Cholesky broke down  and accurate in a trial solve
 *     else LU, on a CPU                 KLU, if its count is below 80 flops an entry, and accurate in a trial solve
 *                                       else UMFPACK; SuperLU where UMFPACK cannot
 *     else LU, on a GPU                 SuperLU, whose panels the GPU solves with; where those wait for each other too
 *                                       long (plan.c), UMFPACK
 *
 * Each that fails is logged, with the next that is tried. docs/notes/direct-choices.md has the measurements behind the
 * limits. */
#include <math.h>
#include <stdio.h>

#include "direct/direct.h"

/* Flops for an entry of the factor, from which the dense blocks of UMFPACK and SuperLU pay, over KLU and over a
 * simplicial L D L^H: all three meet there on real matrices. */
enum { DENSE_FROM_LU = 80, DENSE_FROM_LDL = 100 };
/* Of the largest entry of its column, what a pivot on the diagonal must be where smaller ones cost accuracy. */
static const double LARGER_PIVOTS = 0.5;

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

/** Whether SuperLU has nothing better to offer after a numeric part of UMFPACK, or of its own. */
static bool is_settled(trine_factor F, trine_status status)
{
    return status ? status != TRINE_ERR_UNSUPPORTED && status != TRINE_ERR_NO_CONVERGENCE : factor_is_usable(F);
}

/** UMFPACK after its analysis; SuperLU where that cannot. */
static trine_status umfpack_or_superlu(trine_factor F, const char *why)
{
    trine_status status = factor_numeric(F);
    if (is_settled(F, status)) return status;
    settles(F, &status, "SuperLU");
    return factor_superlu_or_umfpack(F, why);
}

/** KLU after its analysis. Where its pivots leave so much that every solve needs refinement, larger ones are tried:
 *  they are kept if solves then do without it, and the factor stays as sparse. */
static trine_status klu(trine_factor F)
{
    trine_status status = factor_numeric(F);
    const double most = 1.25 * (double)(F->nnz_L + F->nnz_U);
    if (status || F->refine == 0 || F->by_library || F->options.pivot_threshold > 0) return status;
    trine_log(F->ctx, 2, "KLU: larger pivots may do without refinement");
    factor_klu_set_tolerance(F, LARGER_PIVOTS);
    status = factor_numeric(F);
    if (!status && factor_is_accurate(F) && F->refine == 0 && (double)(F->nnz_L + F->nnz_U) <= most) return status;
    factor_klu_set_tolerance(F, 0);
    return factor_numeric(F);
}

/** KLU, where its factor is sparse and will do: *taken, with the status of its numeric part. Else why it is not, for
 *  the reason of the next. */
static trine_status try_klu(trine_factor F, const char *why, bool *taken, char instead[64])
{
    trine_status status = TRINE_SUCCESS;
    *taken = false;
    if (F->options.ordering == TRINE_ORDERING_METIS) {
        snprintf(instead, 64, "METIS was asked for, which KLU does not call");
        return TRINE_SUCCESS;
    }
    if (!(F->count.entries > 0) || is_below(&F->count, DENSE_FROM_LU)) {
        status = factor_analyse(F, TRINE_DIRECT_LU_KLU, "%s", why);
        if (status && settles(F, &status, "UMFPACK")) return status;
        if (status) {
            snprintf(instead, 64, "KLU cannot analyse it");
            return TRINE_SUCCESS;
        }
        F->count = F->n ? factor_klu_count(F) : (struct factor_count){0};
        const bool counted = F->count.entries > 0; /* an order of AMD's is */
        if (!counted || is_below(&F->count, DENSE_FROM_LU)) {
            if (counted)
                snprintf(F->reason, sizeof F->reason, "%.160s; %.3g flops an entry: no dense blocks", why,
                         ratio(&F->count));
            status = klu(F);
            *taken = settles(F, &status, "UMFPACK");
            if (*taken) return status;
            if (status) snprintf(instead, 64, "KLU cannot factor it");
            else snprintf(instead, 64, "KLU's backward error stays at %.3g eps", F->trial_error);
            return TRINE_SUCCESS;
        }
    }
    snprintf(instead, 64, "%.3g flops an entry: dense blocks", ratio(&F->count));
    return TRINE_SUCCESS;
}

static trine_status lu_on_cpu(trine_factor F, const char *why)
{
    bool taken;
    char instead[64];
    trine_status status = try_klu(F, why, &taken, instead);
    if (status || taken) return status;
    status = factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%s; %s", why, instead);
    return status ? status : umfpack_or_superlu(F, why);
}

trine_status factor_lu_by_rows(trine_factor F, const char *why, bool *taken)
{
    const trine_ordering asked = F->options.ordering;
    char reason[sizeof F->reason];
    trine_status status = TRINE_SUCCESS;
    *taken = false;
    snprintf(reason, sizeof reason, "%s", F->reason);
    F->options.ordering = TRINE_ORDERING_METIS; /* few levels */
    status = factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%.120s; %s", reason, why);
    if (!status) status = factor_numeric(F);
    F->options.ordering = asked;
    *taken = !status && factor_is_accurate(F);
    if (*taken) return TRINE_SUCCESS;
    if (status) trine_log(F->ctx, 2, "%s; SuperLU is taken again", trine_last_error());
    return factor_superlu_or_umfpack(F, reason);
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

/** What is left when Cholesky cannot be; why: one clause. */
static trine_status without_cholesky(trine_factor F, const char *why)
{
    trine_status status = TRINE_SUCCESS;
    TRY(factor_know_structure(F));
    const struct factor_structure *s = &F->structure;
    const bool ldl_failed = F->method == TRINE_DIRECT_LDL;
    if (s->hermitian && !ldl_failed && !F->options.need_panels && F->n && s->full_diagonal &&
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
    trine_status status = factor_know_structure(F);
    if (status) return status;
    if (!F->structure.hermitian) return lu(F, "A is not Hermitian");
    if (!F->structure.positive_diagonal)
        return without_cholesky(F, "A is Hermitian, but a diagonal entry is not positive");
    if (F->options.ordering == TRINE_ORDERING_COLAMD) return lu(F, "COLAMD, which orders for LU, was asked for");
    TRY(factor_analyse(F, TRINE_DIRECT_CHOLESKY, "A is Hermitian with a positive diagonal"));
    status = factor_numeric(F);
    if (status != TRINE_ERR_NOT_DEFINITE && status != TRINE_ERR_NO_CONVERGENCE) goto done;
    settles(F, &status, "L D L^H or LU");
    status = without_cholesky(F, "A is Hermitian, but not positive definite, or rounding made it so");
done:
    return status;
}

/* -------------------------------------------------------------- new values */

trine_status factor_auto_update(trine_factor F, trine_status status)
{
    static const char why[] = "with the new values the first choice is not possible, or not accurate";
    const bool last = F->method == TRINE_DIRECT_LU_UMFPACK || F->method == TRINE_DIRECT_LU;
    if (last && is_settled(F, status)) return status;
    if (status == TRINE_ERR_STRUCTURE) trine_log(F->ctx, 2, "%s; LU is tried instead", trine_last_error());
    else if (settles(F, &status, last ? "SuperLU" : "another factorization")) return status;
    if (factor_is_symmetric(F->method)) return without_cholesky(F, why);
    if (last) return factor_superlu_or_umfpack(F, why);
    status = factor_analyse(F, TRINE_DIRECT_LU_UMFPACK, "%s", why);
    return status ? status : umfpack_or_superlu(F, why);
}
