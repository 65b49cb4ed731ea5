/* LU by KLU: A permuted to block upper triangular form, and the diagonal blocks factored one by one, R A(p,q) =
 * L_d U_d + F with block diagonal L_d and U_d and the blocks F above the diagonal. That is L U with L = L_d and
 * U = U_d + L_d^-1 F, whose second part is made here (klu.inc): two triangles, as of any other LU. New values keep the
 * pivots where these still do. Davis, Palamadai Natarajan 2010: Algorithm 907. */
#include <klu.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/scalar.h"
#include "direct/direct.h"

/* Of the largest entry of its column, what the diagonal one may be less and is a pivot all the same: UMFPACK's. KLU's
 * own, 0.001, costs up to three digits in one matrix of ten (docs/notes/direct-solves.md). */
static const double diagonal_tolerance = 0.1;
/* KLU's own, for factors of few solves: a step of refinement takes less time than what larger pivots fill. */
static const double few_solves_tolerance = 0.001;
/* Entries of L with the old pivots on new values, beyond which pivots are chosen anew: what KLU's own tolerance
 * allows. Where KLU solves, a trial solve says it. */
static const double most_growth = 1000;
/* With old pivots that would be taken again, how much larger U may be than when they were chosen and tried, for no new
 * trial. */
static const double most_larger = 4;

/** Rows of L_d^-1 F by columns, ascending. */
struct rows_above {
    int64_t *offsets; /* NULL: not known */
    int32_t *rows;
    int64_t room;
};

/** A triangle or the off-diagonal part as KLU hands it out. */
struct part {
    int64_t count;
    int32_t *offsets, *rows;
    double *real, *imaginary; /* NULL for real numbers */
    int64_t *wide; /* of a triangle that KLU fills in place: its matrix's offsets and values; rows, and real
                      numbers, are the matrix's too */
    void *values;
};

struct klu_state {
    klu_common common;
    klu_symbolic *symbolic;
    klu_numeric *numeric;
    struct rows_above above; /* while the pivots stay */
    struct part U, off;      /* what it handed out of U_d and F: memory that serves again, once values are new */
    bool new_pivots;         /* the next numeric part chooses them anew */
    uint64_t pattern;        /* of the triangles, with these pivots */
    bool sorted;             /* columns of its factors ascend, which the triangles want */
    double pivots;           /* pivot_ratio of the last refactorization */
    double largest;          /* entry of U when the pivots were chosen, of rows of A whose sums are one */
    int32_t *offsets; /* of A, which KLU wants in 32 bits */
};

static bool is_complex(trine_factor F) { return F->dtype == TRINE_Z; }

static trine_status failure(const klu_common *common, const char *phase)
{
    switch (common->status) {
    case KLU_OUT_OF_MEMORY: return trine_fail(TRINE_ERR_MEMORY, "KLU ran out of memory in the %s", phase);
    case KLU_TOO_LARGE:
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the factor is too large for KLU's 32-bit indices in the %s", phase);
    default:
        return trine_fail(TRINE_ERR_ARGUMENT, "KLU refused the matrix in the %s (its status %d)", phase,
                          common->status);
    }
}

/** In an order that is there the matrix is one block; else KLU finds the blocks and orders each. */
static trine_status order(trine_factor F, const struct factor_input *in)
{
    trine_status status = TRINE_SUCCESS;
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    const int n = (int)in->n;
    int *rows = (int *)in->indices;
    int32_t *perm = NULL;
    switch (F->ordering = F->options.ordering) {
    case TRINE_ORDERING_AUTO: F->ordering = TRINE_ORDERING_AMD; /* fall through */
    case TRINE_ORDERING_AMD:
    case TRINE_ORDERING_COLAMD:
        c->ordering = F->ordering == TRINE_ORDERING_COLAMD;
        state->symbolic = klu_analyze(n, state->offsets, rows, c);
        break;
    default:
        TRY(factor_check_structural_rank(F));
        TRY(ALLOC(F->ctx, perm, in->n));
        TRY(factor_column_order(F, F->ordering, perm));
        c->btf = 0;
        state->symbolic = klu_analyze_given(n, state->offsets, rows, perm, perm, c);
    }
    if (c->status == KLU_SINGULAR) TRY(factor_check_structural_rank(F));
    if (!state->symbolic || c->status) TRY(failure(c, "ordering and symbolic analysis"));
    F->has_full_rank = true; /* else KLU says KLU_SINGULAR, or it was looked at */
done:
    trine_free(F->ctx, TRINE_HOST, perm);
    return status;
}

void factor_klu_set_tolerance(trine_factor F, double tolerance)
{
    struct klu_state *state = F->state;
    state->common.tol = tolerance > 0 ? tolerance : F->use == FACTOR_ONCE ? few_solves_tolerance : diagonal_tolerance;
    state->new_pivots = true;
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct klu_state *state;
    TRY(CALLOC(F->ctx, state, 1));
    F->state = state;
    if (in.nnz > INT_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld entries are too many for KLU's 32-bit indices", (long long)in.nnz);
    klu_defaults(&state->common);
    state->common.scale = 1; /* rows by the sum of their magnitudes, as UMFPACK's */
    factor_klu_set_tolerance(F, F->options.pivot_threshold);
    TRY(ALLOC(F->ctx, state->offsets, in.n + 1));
    for (int64_t j = 0; j <= in.n; j++) state->offsets[j] = (int32_t)in.offsets[j];
    TRY(order(F, &in));
done:
    return status;
}

struct factor_count factor_klu_count(trine_factor F)
{
    const klu_symbolic *s = ((struct klu_state *)F->state)->symbolic;
    return (struct factor_count){.flops = s->est_flops, .entries = s->lnz + s->unz};
}

/* ----------------------------------------------------------------- numeric */

static void drop_above(trine_factor F)
{
    struct rows_above *above = &((struct klu_state *)F->state)->above;
    trine_free(F->ctx, TRINE_HOST, above->offsets);
    trine_free(F->ctx, TRINE_HOST, above->rows);
    *above = (struct rows_above){0};
}

static void free_part(trine_factor F, struct part *p)
{
    trine_free(F->ctx, TRINE_HOST, p->offsets);
    if (!p->wide) trine_free(F->ctx, TRINE_HOST, p->rows);
    if (p->real != p->values) trine_free(F->ctx, TRINE_HOST, p->real);
    trine_free(F->ctx, TRINE_HOST, p->imaginary);
    *p = (struct part){0};
}

static void drop_handed_out(trine_factor F)
{
    struct klu_state *state = F->state;
    free_part(F, &state->U);
    free_part(F, &state->off);
}

static void drop_numeric(trine_factor F)
{
    struct klu_state *state = F->state;
    drop_above(F);
    drop_handed_out(F);
    is_complex(F) ? klu_z_free_numeric(&state->numeric, &state->common)
                  : klu_free_numeric(&state->numeric, &state->common);
}

/** KLU divides rows by the sum of their entries, which may overflow: a row of zeros is singular. */
static trine_status check_row_sums(trine_factor F, const struct factor_input *in)
{
    trine_status status = TRINE_SUCCESS;
    const int parts = factor_parts(F);
    double *sums;
    TRY(CALLOC(F->ctx, sums, F->n));
    for (int64_t k = 0; k < in->nnz; k++) sums[in->indices[k]] += value_abs(value_at(in->values, k, parts), parts);
    for (int64_t i = 0; i < F->n && !status; i++)
        if (isinf(sums[i]) || (sums[i] > 0 && isinf(1 / sums[i]))) status = factor_fail_range(F);
done:
    trine_free(F->ctx, TRINE_HOST, sums);
    return status;
}

/** Pivots as they come. */
static trine_status factorize(trine_factor F, const struct factor_input *in)
{
    trine_status status = TRINE_SUCCESS;
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    double *values = (double *)in->values;
    int *rows = (int *)in->indices;
    drop_numeric(F);
    state->numeric = is_complex(F) ? klu_z_factor(state->offsets, rows, values, state->symbolic, c)
                                   : klu_factor(state->offsets, rows, values, state->symbolic, c);
    if (c->status == KLU_SINGULAR) {
        TRY(check_row_sums(F, in));
        TRY(factor_fail_zero_pivot(F, c->singular_col, c->numerical_rank));
    }
    if (!state->numeric || c->status < 0) TRY(failure(c, "factorization"));
    state->sorted = state->new_pivots = false;
    state->pattern = factor_new_pattern();
done:
    return status;
}

/** Not for a plan of its own that solves with A alone, which puts rows in order by itself. */
static trine_status sort_columns(trine_factor F)
{
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    if (F->ops == TRINE_N) return TRINE_SUCCESS;
    if (!state->sorted)
        state->sorted = is_complex(F) ? klu_z_sort(state->symbolic, state->numeric, c)
                                      : klu_sort(state->symbolic, state->numeric, c);
    return state->sorted ? TRINE_SUCCESS : failure(c, "sort of its factors");
}

/** The smallest pivot over the largest; 0 where one is zero or NaN. */
static double pivot_ratio(trine_factor F)
{
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    is_complex(F) ? klu_z_rcond(state->symbolic, state->numeric, c) : klu_rcond(state->symbolic, state->numeric, c);
    return c->rcond;
}

/** New values with the pivots that are there; false: it cannot be. KLU itself does not look at the pivots of blocks of
 *  one row. */
static bool refactorize(trine_factor F, const struct factor_input *in)
{
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    if (!state->numeric || state->new_pivots) return false;
    const int done = is_complex(F) ? klu_z_refactor(state->offsets, (int *)in->indices, (double *)in->values,
                                                    state->symbolic, state->numeric, c)
                                   : klu_refactor(state->offsets, (int *)in->indices, (double *)in->values,
                                                  state->symbolic, state->numeric, c);
    return done && c->status == KLU_OK && (state->pivots = pivot_ratio(F)) > 0;
}

/* -------------------------------------------------------------- extraction */

static trine_status make_part(trine_factor F, struct part *p, int64_t count)
{
    trine_status status = TRINE_SUCCESS;
    if (p->real && (p->imaginary || !is_complex(F)) && p->count == count) goto done;
    free_part(F, p);
    p->count = count;
    TRY(ALLOC(F->ctx, p->offsets, F->n + 1));
    TRY(ALLOC(F->ctx, p->rows, count));
    TRY(ALLOC(F->ctx, p->real, count));
    if (is_complex(F)) TRY(ALLOC(F->ctx, p->imaginary, count));
done:
    return status;
}

static trine_status make_triangle(trine_factor F, struct part *p, int which, int64_t count)
{
    trine_status status = TRINE_SUCCESS;
    p->count = count;
    TRY(ALLOC(F->ctx, p->offsets, F->n + 1));
    TRY(factor_make_matrix(F, which, TRINE_CSC, count, &F->triangles[which], &p->wide, &p->rows, &p->values, NULL));
    p->real = p->values;
    if (!is_complex(F)) goto done;
    p->real = NULL;
    TRY(ALLOC(F->ctx, p->real, count));
    TRY(ALLOC(F->ctx, p->imaginary, count));
done:
    return status;
}

/** Sorts the rows found for column j, and appends them. */
static trine_status append_above(trine_context ctx, struct rows_above *to, int32_t j, int32_t *found, int64_t count)
{
    enum { SHORT = 24 }; /* rows, up to which insertion is faster than a call of qsort */
    trine_status status = TRINE_SUCCESS;
    const int64_t before = to->offsets[j];
    for (int64_t k = 1; k < count && count <= SHORT; k++) {
        const int32_t row = found[k];
        int64_t at = k;
        for (; at > 0 && found[at - 1] > row; at--) found[at] = found[at - 1];
        found[at] = row;
    }
    if (count > SHORT) qsort(found, (size_t)count, sizeof *found, factor_ascending);
    if (before + count > to->room) {
        int32_t *rows;
        const int64_t room = 2 * to->room + count + 1024;
        TRY(ALLOC(ctx, rows, room));
        if (before) memcpy(rows, to->rows, (size_t)before * sizeof *rows);
        trine_free(ctx, TRINE_HOST, to->rows);
        to->rows = rows;
        to->room = room;
    }
    if (count) memcpy(to->rows + before, found, (size_t)count * sizeof *found);
    to->offsets[j + 1] = before + count;
done:
    return status;
}

#define TEMPLATE "direct/klu.inc"
#include "core/each_dtype.h"
static void (*const take_triangle[])(trine_factor, const struct part *, double *) = TABLE(take_triangle);
static trine_status (*const take_upper[])(trine_factor, const struct part *, const struct part *,
                                          double *) = TABLE(take_upper);

/** *growth, *largest: the largest entries of L and U. */
static trine_status extract(trine_factor F, double *growth, double *largest)
{
    trine_status status = TRINE_SUCCESS;
    struct klu_state *state = F->state;
    klu_numeric *numeric = state->numeric;
    struct part L = {0}, whole = {0}, *off = &state->off, *U = numeric->nzoff ? &state->U : &whole;
    TRY(sort_columns(F));
    TRY(ALLOC(F->ctx, F->row_perm, F->n));
    TRY(ALLOC(F->ctx, F->col_perm, F->n));
    TRY(ALLOC(F->ctx, F->row_scale, F->n));
    TRY(make_triangle(F, &L, 0, numeric->lnz));
    TRY(numeric->nzoff ? make_part(F, U, numeric->unz) : make_triangle(F, U, 1, numeric->unz));
    TRY(make_part(F, off, numeric->nzoff));
    const int taken = is_complex(F)
                          ? klu_z_extract(numeric, state->symbolic, L.offsets, L.rows, L.real, L.imaginary, U->offsets,
                                          U->rows, U->real, U->imaginary, off->offsets, off->rows, off->real,
                                          off->imaginary, F->row_perm, F->col_perm, F->row_scale, NULL, &state->common)
                          : klu_extract(numeric, state->symbolic, L.offsets, L.rows, L.real, U->offsets, U->rows,
                                        U->real, off->offsets, off->rows, off->real, F->row_perm, F->col_perm,
                                        F->row_scale, NULL, &state->common);
    if (!taken) TRY(failure(&state->common, "hand-over of its factors"));
    for (int64_t k = 0; k < F->n; k++) F->row_scale[k] = 1 / F->row_scale[k]; /* KLU divides */
    if (!factor_scales_are_good(F)) TRY(factor_fail_range(F));
    F->nnz_L = L.count;
    F->nnz_U = U->count;
    take_triangle[F->dtype](F, &L, growth);
    if (numeric->nzoff) TRY(take_upper[F->dtype](F, U, off, largest));
    else take_triangle[F->dtype](F, U, largest);
    F->pattern = state->pattern;
    if (!isfinite(*growth) || !isfinite(*largest)) status = factor_fail_range(F);
done:
    if (status || !F->updated) drop_handed_out(F);
    free_part(F, &whole);
    free_part(F, &L);
    return status;
}

/** New values with the pivots of old ones, and their parts where these are wanted; *kept: these pivots will do. */
static trine_status keep_pivots(trine_factor F, const struct factor_input *in, bool *kept)
{
    struct klu_state *state = F->state;
    *kept = refactorize(F, in);
    if (!*kept || F->by_library) return TRINE_SUCCESS;
    double growth, largest;
    const trine_status status = extract(F, &growth, &largest);
    F->has_parts = *kept = !status && growth <= most_growth;
    F->trusted = *kept && growth * state->common.tol <= 1 && largest <= most_larger * state->largest;
    if (*kept || (status && status != TRINE_ERR_NO_CONVERGENCE)) return status;
    factor_clear_numeric(F);
    return TRINE_SUCCESS;
}

static trine_status take_parts(trine_factor F)
{
    double growth, largest;
    const trine_status status = extract(F, &growth, &largest);
    if (!status && !F->kept_pivots) ((struct klu_state *)F->state)->largest = largest;
    return status;
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    struct klu_state *state = F->state;
    bool kept = false;
    TRY(keep_pivots(F, &in, &kept));
    if (!kept) TRY(factorize(F, &in));
    F->kept_pivots = kept;
    for (int64_t i = 0; i < F->n; i++) /* which KLU divides by */
        if (!(state->numeric->Rs[i] > 0 && isfinite(state->numeric->Rs[i]))) TRY(factor_fail_range(F));
    F->nnz_L = state->numeric->lnz;
    if (!F->has_parts) F->nnz_U = state->numeric->unz + state->numeric->nzoff;
done:
    if (!status) factor_warn_if_nearly_singular(F, kept ? state->pivots : pivot_ratio(F));
    return status;
}

static void release(trine_factor F)
{
    struct klu_state *state = F->state;
    if (!state) return;
    drop_numeric(F);
    klu_free_symbolic(&state->symbolic, &state->common);
    trine_free(F->ctx, TRINE_HOST, state->offsets);
    trine_free(F->ctx, TRINE_HOST, state);
}

static trine_status solve(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    struct klu_state *state = F->state;
    klu_common *c = &state->common;
    const int n = (int)F->n, columns = (int)X->cols;
    double *x = X->data;
    (void)B, (void)stream;
    const int done =
        is_complex(F) ? (op == TRINE_N ? klu_z_solve(state->symbolic, state->numeric, n, columns, x, c)
                                       : klu_z_tsolve(state->symbolic, state->numeric, n, columns, x, op == TRINE_H, c))
                      : (op == TRINE_N ? klu_solve : klu_tsolve)(state->symbolic, state->numeric, n, columns, x, c);
    return done ? TRINE_SUCCESS : failure(c, "solve");
}

const struct factor_backend factor_klu = {.analyse = analyse,
                                          .numeric = numeric,
                                          .take_parts = take_parts,
                                          .triangle = factor_held_triangle,
                                          .release = release,
                                          .solve = solve};
