/* Plans from a triangle in CSR or CSC: numeric takes T's values in T's order, and puts them at their places in the
 * panels. */
#include <string.h>

#include "core/team.h"
#include "supernodal/supernodal.h"

enum { ENTRIES_AT_ONCE = 1 << 14 }; /* that one thread places */

typedef struct {
    const int64_t *places;
    const char *from;
    char *to;
    size_t element;
} placing;

static void place_entries(void *job, int64_t begin, int64_t end, int me)
{
    const placing *p = job;
    (void)me;
    for (int64_t k = begin; k < end; k++)
        if (p->places[k] >= 0)
            memcpy(p->to + (size_t)p->places[k] * p->element, p->from + (size_t)k * p->element, p->element);
}

trine_status supernodal_triangle_place(trine_supernodal plan, const void *values, void *stream)
{
    (void)stream;
    placing p = {plan->places.of_entry, values, plan->panel_values, trine_dtype_size(plan->base.dtype)};
    trine_team_for(plan->base.ctx, plan->base.ctx->threads, plan->places.count, ENTRIES_AT_ONCE, place_entries, &p);
    return TRINE_SUCCESS;
}

trine_status supernodal_triangle_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const trine_space own = ctx->info.space;
    const size_t bytes = (size_t)plan->places.count * trine_dtype_size(plan->base.dtype);
    void *copied = NULL;
    int64_t row;
    if (space != own) {
        TRY(trine_alloc(ctx, own, bytes, &copied));
        TRY(trine_device_copy_async(ctx, copied, values, bytes, stream));
        values = copied;
    }
    TRY(plan->backend->place(plan, values, stream));
    TRY(supernodal_take_values(plan, own, plan->panel_values, stream));
    if (copied) TRY(plan->backend->examine(plan, stream, &row)); /* synchronizes; the growth is known then */
done:
    trine_free(ctx, own, copied);
    return status;
}

/** The places and a block of zeros for the values, in the plan's space. */
static trine_status take_places(trine_supernodal plan, supernodal_places *places, int64_t n_values)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = plan->base.ctx;
    const size_t bytes = (size_t)n_values * trine_dtype_size(plan->base.dtype),
                 place_bytes = (size_t)places->count * sizeof *places->of_entry;
    int64_t *on_host = places->of_entry;
    if (ctx->cuda) {
        void *on_device;
        TRY(trine_device_upload(ctx, on_host, place_bytes, &on_device));
        trine_free(ctx, TRINE_HOST, on_host);
        places->of_entry = NULL;
        plan->places = *places;
        plan->places.of_entry = on_device;
    } else {
        plan->places = *places;
        places->of_entry = NULL;
    }
    plan->from_triangle = true;
    if (trine_alloc(ctx, ctx->info.space, bytes, &plan->panel_values))
        FAIL(
            TRINE_ERR_MEMORY,
            "no memory for %zu bytes of panels (%lld entries) beside the plan's own; the general triangular solve needs less",
            bytes, (long long)n_values);
    if (ctx->cuda && bytes) {
        TRY(trine_device_fill_async(ctx, plan->panel_values, 0, bytes, ctx->stream));
        TRY(trine_device_synchronize(ctx, ctx->stream));
    } else if (bytes) {
        memset(plan->panel_values, 0, bytes);
    }
    plan->bytes += (int64_t)(bytes + place_bytes);
done:
    return status;
}

trine_status trine_supernodal_analyse_triangle(trine_context ctx, trine_supernodal *plan, trine_matrix T,
                                               int64_t n_supernodes, const int32_t *first_column,
                                               const trine_panels_options *triangle,
                                               const trine_supernodal_options *options)
{
    TRINE_RANGE;
    REQUIRE(plan, "plan is NULL");
    *plan = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(T, "T is NULL");
    REQUIRE(first_column ? n_supernodes >= 0 : n_supernodes == 0, "%lld supernodes%s", (long long)n_supernodes,
            first_column ? "" : ", but first_column is NULL");
    const trine_panels_options how = triangle ? *triangle : (trine_panels_options){0};
    const double start = trine_wall_time();
    trine_status status = TRINE_SUCCESS;
    trine_supernodal P = NULL;
    trine_panels panels = {0};
    supernodal_places places = {0};
    TRY(supernodal_lay_out_triangle(ctx, T, n_supernodes, first_column, &how, &panels, &places));
    TRY(trine_supernodal_analyse(ctx, &P, &panels, options));
    TRY(take_places(P, &places, panels.value_offsets[panels.n_panels]));
    P->base.analyse_seconds = trine_wall_time() - start;
    trine_log(ctx, 2, "supernodal: %lld panels of a triangle hold %lld entries and %lld explicit zeros",
              (long long)panels.n_panels, (long long)P->places.entries, (long long)(P->S.nnz - P->places.entries));
    *plan = P;
    P = NULL;
done:
    trine_panels_free(ctx, &panels);
    trine_free(ctx, TRINE_HOST, places.of_entry);
    trine_supernodal_destroy(&P);
    return status;
}
