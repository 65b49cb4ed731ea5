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

bool solver_may_be_library(trine_context ctx, trine_dtype t, const trine_direct_options *o)
{
    if (direct_space(ctx) == TRINE_DEVICE || trine_dtype_is_single(t)) return false;
    if (o->solver != TRINE_SOLVER_AUTO) return o->solver == TRINE_SOLVER_LIBRARY;
    const bool asks = o->triangular.method || o->triangular.summation || o->supernodal.invert || o->supernodal.single;
    return !asks && expected_solves(&o->triangular) < solves_to_pay(TRINE_DIRECT_LU_KLU);
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

bool sweeps_want_panels(direct_sweeps *s, trine_factor F)
{
    /* Entries of L a panel on average, below which a CPU is faster row by row (measured:
     * docs/notes/supernodal-solves.md). */
    enum { TINY_PANEL = 16 };
    /* Stored entries of the panels for one of L, above which the row by row solve reads less. */
    enum { MOST_PADDING = 2 };
    const char *no = NULL;
    const bool on_gpu = direct_space(s->ctx) == TRINE_DEVICE;
    const bool panels = F->method == TRINE_DIRECT_CHOLESKY || F->method == TRINE_DIRECT_LU;
    if (s->options.solver == TRINE_SOLVER_GENERAL) no = "asked for";
    else if (s->options.solver == TRINE_SOLVER_SUPERNODAL) no = NULL;
    else if (!panels) no = "the factor has no supernodal panels";
    else if (s->options.triangular.method) no = "a method of the general solve was asked for";
    else if (s->options.triangular.summation == TRINE_ORDER_DETERMINISTIC && on_gpu)
        no = "a fixed order of summation was asked for";
    else if (!on_gpu && F->nnz_L < TINY_PANEL * F->panels.n_panels) no = "the factor's supernodal panels are tiny";
    else if (!on_gpu && panel_entries(&F->panels) > MOST_PADDING * F->nnz_L)
        no = "the factor's supernodal panels have more zeros than entries";
    snprintf(s->reason, sizeof s->reason, "%s",
             no                                             ? no
             : s->options.solver == TRINE_SOLVER_SUPERNODAL ? "asked for"
                                                            : "the factor has supernodal panels");
    return !no;
}
