/* How a direct plan solves: by the library that factored, by panels, or row by row. docs/notes/direct-choices.md has
 * the measurements behind the limits. */
#include <stdio.h>

#include "direct/plan.h"

/* ------------------------------------------------------------- the library's own */

/** Right-hand sides solved with one factor, from which on plans of triangles take less time than the library: what
 *  their set-up takes and what a solve gains both grow with the entries of L and U, so that a number for each library
 *  says it. KLU's is the largest. */
static double solves_to_pay(trine_direct_method method)
{
    switch (method) {
    case TRINE_DIRECT_CHOLESKY: return 4; /* panels are copied as they are */
    case TRINE_DIRECT_CHOLESKY_SIMPLICIAL:
    case TRINE_DIRECT_LDL: return 20;
    case TRINE_DIRECT_LU_UMFPACK: return 30;
    default: return 50;
    }
}

static double expected_solves(const trine_triangular_options *o)
{
    const double solves = o->expected_solves ? (double)o->expected_solves : 100;
    return solves * (o->max_nrhs ? (double)o->max_nrhs : 1);
}

/** Whether F's library may solve. */
static bool may_be_library(trine_context ctx, trine_dtype t, const trine_direct_options *o)
{
    if (direct_space(ctx) == TRINE_DEVICE || trine_dtype_is_single(t)) return false;
    if (o->solver != TRINE_SOLVER_AUTO) return o->solver == TRINE_SOLVER_LIBRARY;
    const bool asks = o->triangular.method || o->triangular.summation || o->supernodal.invert || o->supernodal.single;
    return !asks && expected_solves(&o->triangular) < solves_to_pay(TRINE_DIRECT_LU_KLU);
}

enum factor_use solver_use(trine_context ctx, trine_dtype t, const trine_direct_options *o)
{
    const double few = 4; /* solves, whose refinement takes less time than larger pivots in one factor */
    if (!may_be_library(ctx, t, o)) return FACTOR_FOR_PLANS;
    return o->refine == 0 && expected_solves(&o->triangular) <= few ? FACTOR_ONCE : FACTOR_BY_LIBRARY;
}

void solver_choose_library(trine_factor F, const trine_direct_options *o)
{
    if (o->solver == TRINE_SOLVER_AUTO && expected_solves(&o->triangular) >= solves_to_pay(F->method))
        F->by_library = false;
}

void solver_tell_library(trine_factor F, const trine_direct_options *o, char *reason, size_t size)
{
    if (F->method == TRINE_DIRECT_CUDSS) snprintf(reason, size, "cuDSS's own");
    else if (o->solver == TRINE_SOLVER_LIBRARY) snprintf(reason, size, "asked for");
    else
        snprintf(reason, size, "right-hand sides expected: %.0f; plans of triangles pay from some %.0f on",
                 expected_solves(&o->triangular), solves_to_pay(F->method));
}

/* ------------------------------------------------------------------------ panels */

/** Of the trapezoids: what stands above the diagonal in the panels is no part of L. */
static int64_t panel_entries(const trine_panels *P)
{
    int64_t entries = 0;
    for (int64_t s = 0; s < P->n_panels; s++) {
        const int64_t width = P->first_column[s + 1] - P->first_column[s],
                      height = P->row_offsets[s + 1] - P->row_offsets[s];
        entries += width * height - width * (width - 1) / 2;
    }
    return entries;
}

static int threads_of(trine_context ctx)
{
    trine_context_info info = {.threads = 1};
    trine_context_get_info(ctx, &info); /* fails for NULL alone */
    return info.threads;
}

/** Why a CPU solves with F row by row, though it has panels; NULL: by panels (measured: docs/notes/direct-choices.md,
 *  supernodal-solves.md). */
static const char *why_rows(const direct_sweeps *s, trine_factor F)
{
    enum {
        TINY_PANEL = 16,        /* entries of L a panel, below which one costs more than its entries */
        MOST_PADDING = 2,       /* stored entries for one of L, above which rows read less */
        COLUMN = 64,            /* entries of L a column, from which on one thread is faster by panels */
        COLUMN_IN_CACHE = 32,   /* the same where panels stay in the cache, */
        CACHE = 1500000,        /* which so many of their entries do */
        COLUMN_OF_SEVERAL = 128 /* the same with several right-hand sides, which rows have side by side */
    };
    /* Solves for which the set-up of rows, five times that of panels, is worth the while. */
    const double least_solves = 30;
    const bool asks = s->options.supernodal.invert || s->options.supernodal.single;
    const int64_t stored = panel_entries(&F->panels);
    const int64_t column = s->max_nrhs > 1 ? COLUMN_OF_SEVERAL : stored < CACHE ? COLUMN_IN_CACHE : COLUMN;
    if (F->nnz_L < TINY_PANEL * F->panels.n_panels) return "the factor's supernodal panels are tiny";
    if (stored > MOST_PADDING * F->nnz_L) return "the factor's supernodal panels have more zeros than entries";
    if (!asks && threads_of(s->ctx) == 1 && F->nnz_L < column * F->n &&
        expected_solves(&s->options.triangular) >= least_solves)
        return "one thread is faster by rows than by panels of so short columns";
    return NULL;
}

bool sweeps_want_panels(direct_sweeps *s, trine_factor F)
{
    const bool on_gpu = direct_space(s->ctx) == TRINE_DEVICE;
    const bool found = sweeps_find_panels(s, F);
    const bool panels = F->method == TRINE_DIRECT_CHOLESKY || F->method == TRINE_DIRECT_LU || found;
    const bool asked = s->options.solver == TRINE_SOLVER_SUPERNODAL;
    const char *no = NULL;
    if (asked) no = NULL;
    else if (s->options.solver == TRINE_SOLVER_GENERAL) no = "asked for";
    else if (!panels) no = "the factor has no supernodal panels";
    else if (s->options.triangular.method) no = "a method of the general solve was asked for";
    else if (s->options.triangular.summation == TRINE_ORDER_DETERMINISTIC && on_gpu)
        no = "a fixed order of summation was asked for";
    else if (!on_gpu) no = why_rows(s, F);
    snprintf(s->reason, sizeof s->reason, "%s",
             no      ? no
             : asked ? "asked for"
             : found ? "panels were found in the factor, for several right-hand sides"
                     : "the factor has supernodal panels");
    return !no;
}
