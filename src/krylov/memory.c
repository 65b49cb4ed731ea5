/* The memory of a Krylov solver: all vectors and scalars of a solve in flight, in one block in the context's space,
 * what the host has beside them in another, and the works of its operators. */
#include <string.h>

#include "krylov/krylov.h"

/** Hands out parts of a block of memory; without one, it only counts. */
struct layout {
    char *base;
    size_t used;
};
static void *place(struct layout *l, int64_t count, size_t size)
{
    void *p = l->base ? l->base + l->used : NULL;
    l->used += op_padded((size_t)count * size);
    return p;
}

static bool keeps_best(const krylov_parameters *p)
{
    return p->method == TRINE_KRYLOV_CG || p->method == TRINE_KRYLOV_BICGSTAB;
}

/** Vectors in V and in Z. */
static int count_V(const krylov_parameters *p)
{
    switch (p->method) {
    case TRINE_KRYLOV_CG: return p->has_M ? V_CG : V_Z;
    case TRINE_KRYLOV_BICGSTAB: return p->has_M ? V_BICGSTAB : V_PHAT;
    case TRINE_KRYLOV_MINRES: return p->has_M ? V_MINRES : V_Z1;
    default: return p->restart + 1;
    }
}
static int count_Z(const krylov_parameters *p)
{
    if (!krylov_is_gmres(p) || !p->has_M) return 0;
    return p->method == TRINE_KRYLOV_FGMRES ? p->restart : 1;
}
static int count_inner(const krylov_parameters *p) { return count_V(p) + count_Z(p) + (keeps_best(p) ? 2 : 1); }
enum { OUTER_VECTORS = 4 };
int krylov_vectors(const krylov_parameters *p) { return count_inner(p) + OUTER_VECTORS; }

static int basis_size(const krylov_parameters *p) { return krylov_is_gmres(p) ? p->restart : 0; }
static int count_coefficients(const krylov_parameters *p)
{
    return krylov_is_gmres(p) ? C_PROJECTIONS + 3 * (p->restart + 1) : C_SHORT_METHODS;
}
static int count_sums(const krylov_parameters *p) { return krylov_is_gmres(p) ? p->restart + 1 : 3; }

static void place_column(const krylov_parameters *p, struct layout *l, krylov_column *c)
{
    const int64_t k = basis_size(p);
    krylov_column parts = {0};
    parts.coefficients = place(l, count_coefficients(p), sizeof(krylov_scalar));
    parts.R = place(l, k * (k + 1) / 2, sizeof(krylov_scalar));
    parts.g = place(l, k + 1, sizeof(krylov_scalar));
    parts.sine = place(l, k, sizeof(krylov_scalar));
    parts.cosine = place(l, k, sizeof(double));
    parts.sums = place(l, count_sums(p), sizeof(krylov_sum));
    parts.residuals = place(l, p->history, sizeof(double));
    parts.errors = place(l, p->history, sizeof(double));
    if (c) *c = parts;
}

/** The same of nrhs columns, c NULL: how much, without looking at each. */
static void place_columns(const krylov_parameters *p, struct layout *l, int64_t nrhs, krylov_column *c)
{
    for (int64_t i = 0; c && i < nrhs; i++) place_column(p, l, &c[i]);
    if (c) return;
    struct layout one = {NULL, 0};
    place_column(p, &one, NULL);
    l->used += (size_t)nrhs * one.used;
}

/** Where all arrays of a work lie: in `l`, in the context's space, and in `h`, of the host; w NULL: how much there is
 *  of them. False: more than any memory has. */
static bool lay_out(const struct trine_krylov_s *plan, int64_t nrhs, struct krylov_work *w, struct layout *l,
                    struct layout *h)
{
    const krylov_parameters *p = &plan->parameters;
    const int64_t line = 16, stride = (plan->base.n + line - 1) / line * line; /* columns begin at cache lines */
    enum { SCALARS = 1 << 8 }; /* of a column, and what its arrays are padded by */
    const double k = basis_size(p);
    const double bytes = 16.0 * (double)nrhs *
                         ((double)stride * (count_inner(p) + OUTER_VECTORS) + k * k + (double)p->history + SCALARS);
    if (bytes > 1e18) return false;
    struct krylov_work unused = {0};
    const bool counts = !w;
    if (counts) w = &unused;
    const size_t outer = trine_dtype_size(plan->base.dtype), inner = trine_dtype_size(plan->inner);
    w->stride = stride;
    void **const outers[OUTER_VECTORS] = {&w->b, &w->x, &w->best, &w->r};
    for (int i = 0; i < OUTER_VECTORS; i++) *outers[i] = place(l, nrhs * stride, outer);
    w->d = place(l, nrhs * stride, inner);
    if (keeps_best(p)) w->kept = place(l, nrhs * stride, inner);
    w->V = place(h, count_V(p), sizeof *w->V); /* handles: NOLINT(bugprone-sizeof-expression) */
    w->Z = place(h, count_Z(p), sizeof *w->Z); /* handles: NOLINT(bugprone-sizeof-expression) */
    w->M = place(h, p->m, sizeof *w->M); /* handles: NOLINT(bugprone-sizeof-expression) */
    for (int i = 0; i < count_V(p) + count_Z(p); i++) {
        void *vector = place(l, nrhs * stride, inner);
        if (!counts) *(i < count_V(p) ? &w->V[i] : &w->Z[i - count_V(p)]) = vector;
    }
    w->own_columns = place(l, nrhs, sizeof *w->own_columns);
    w->columns = plan->base.ctx->cuda ? place(h, nrhs, sizeof *w->columns) : w->own_columns;
    place_columns(p, l, nrhs, counts ? NULL : w->columns);
    w->reported = place(h, nrhs, sizeof *w->reported);
    w->most_sums = count_sums(p);
    w->program[0].instructions = place(h, 2 * (int64_t)count_sums(p) + 8, sizeof *w->program[0].instructions);
    w->scratch = place(l, 1, plan->backend->scratch_bytes(plan, nrhs, count_sums(p)));
    return true;
}

size_t krylov_own_bytes(struct trine_plan *plan, int64_t nrhs)
{
    struct layout l = {NULL, 0}, h = {NULL, 0};
    return lay_out((trine_krylov)plan, nrhs, NULL, &l, &h) ? l.used : KRYLOV_TOO_MUCH;
}

static size_t op_bytes(trine_op op, int64_t nrhs)
{
    size_t bytes = 0;
    if (trine_op_work(op, nrhs, NULL, &bytes, NULL)) return 0; /* making the work then says why */
    return op_padded(bytes);
}

size_t krylov_work_bytes(struct trine_plan *base, int64_t nrhs)
{
    const trine_krylov plan = (trine_krylov)base;
    size_t bytes = krylov_own_bytes(base, nrhs) + op_bytes(plan->A, nrhs);
    if (plan->inner_A != plan->A) bytes += op_bytes(plan->inner_A, nrhs);
    for (int i = 0; plan->M && i < plan->parameters.m; i++) bytes += op_bytes(plan->M[i], nrhs);
    return bytes;
}

void krylov_tell_memory(trine_krylov plan, trine_memory *memory)
{
    enum { NODE = 1024 }; /* more than the structs of an operator and its work, for each */
    struct layout l = {NULL, 0}, h = {NULL, 0};
    lay_out(plan, plan->max_nrhs, NULL, &l, &h);
    const int operators = 2 + (plan->M ? plan->parameters.m : 0);
    const int64_t structs = (int64_t)(sizeof *plan + sizeof(struct krylov_work) + h.used) + (int64_t)operators * NODE;
    const int64_t work = (int64_t)krylov_work_bytes(&plan->base, plan->max_nrhs);
    *memory = (trine_memory){.host_kept = structs, .work = work};
    *(plan->base.ctx->cuda ? &memory->device_kept : &memory->host_kept) += work;
    if (plan->base.ctx->cuda)
        memory->device_kept += (int64_t)operators * NODE; /* and what works have beside their buffers */
    memory->host_peak = memory->host_kept;
    memory->device_peak = memory->device_kept;
}

/** The work of an operator, in the caller's memory or its own. */
static trine_status make_op_work(trine_op op, trine_plan_work *work, size_t *used, trine_work *out)
{
    if (work->owns_buffer) return trine_op_work(op, work->max_nrhs, NULL, NULL, out);
    size_t bytes = op_bytes(op, work->max_nrhs);
    const trine_status status = trine_op_work(op, work->max_nrhs, (char *)work->buffer + *used, &bytes, out);
    *used += op_padded(bytes);
    return status;
}

/** On a GPU, the columns with their arrays' addresses, and scratch as programs leave it. */
static trine_status send_columns(struct krylov_work *w, int64_t nrhs, size_t scratch)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = w->plan->base.ctx;
    TRY(trine_device_copy_async(ctx, w->own_columns, w->columns, (size_t)nrhs * sizeof *w->columns, ctx->stream));
    TRY(trine_device_fill_async(ctx, w->scratch, 0, scratch, ctx->stream));
    TRY(trine_device_synchronize(ctx, ctx->stream)); /* solves may be in any stream */
done:
    return status;
}

trine_status krylov_work_begin(struct trine_plan *base, trine_plan_work *work)
{
    trine_status status = TRINE_SUCCESS;
    const trine_krylov plan = (trine_krylov)base;
    struct krylov_work *w = (struct krylov_work *)work;
    const int64_t nrhs = work->max_nrhs;
    struct layout l = {NULL, 0}, h = {NULL, 0};
    lay_out(plan, nrhs, NULL, &l, &h);
    w->plan = plan;
    w->host = trine_host_calloc(base->ctx, (int64_t)h.used, 1);
    if (!w->host) return TRINE_ERR_MEMORY;
    l = (struct layout){work->buffer, 0};
    h = (struct layout){w->host, 0};
    lay_out(plan, nrhs, w, &l, &h);
    if (base->ctx->cuda && nrhs) TRY(send_columns(w, nrhs, plan->backend->scratch_bytes(plan, nrhs, w->most_sums)));
    TRY(make_op_work(plan->A, work, &l.used, &w->A));
    w->inner_A = w->A;
    if (plan->inner_A != plan->A) TRY(make_op_work(plan->inner_A, work, &l.used, &w->inner_A));
    for (int i = 0; plan->M && i < plan->parameters.m; i++) TRY(make_op_work(plan->M[i], work, &l.used, &w->M[i]));
done:
    return status;
}

void krylov_work_end(trine_plan_work *work)
{
    struct krylov_work *w = (struct krylov_work *)work;
    if (!w->host) return;
    if (w->recording) w->plan->backend->recorder->forget(w);
    if (w->inner_A != w->A) trine_work_destroy(&w->inner_A);
    trine_work_destroy(&w->A);
    for (int i = 0; i < w->plan->parameters.m; i++) trine_work_destroy(&w->M[i]);
    trine_free(work->base.ctx, TRINE_HOST, w->host);
}
