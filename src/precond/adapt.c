/* The adaptive construction of MOS_A (Klein 2024, Sections 5.1.10, 5.2.3): B_0 = A, M_l along the paths of B_l's
 * forest, B_{l+1} = prune(B_l M_l^-1), T = diagp1(B_m). Patterns of B_l depend on values, so forests are made in
 * numeric. */
#include <math.h>
#include <string.h>

#include "precond/common/rows.h"
#include "precond/paths.h"

struct adaption {
    int64_t *room; /* n + 1: where rows of B_l may begin, l > 0 */
    int32_t *given; /* the pattern of options.pattern_matrix, at these; NULL: none */
    int64_t *counts; /* n */
    int64_t *offsets; /* n + 1: of B_l */
    int32_t *columns, *room_columns;
    void *values, *room_values, *scaled; /* of B_l; of diagp1(B_l)^-1 B_l */
    void *diagonal; /* n: diagp1(B_l) */
    struct precond_generators generators;
};

static struct paths_state *state_of(trine_precond p) { return p->state; }

/* ----------------------------------------------------------------- analyse */

/** How many entries a row of B_l may have, diagonal included. */
static trine_status make_room(trine_precond p, struct adaption *a)
{
    const trine_precond_options *o = &p->options;
    const bool limited = o->pattern == TRINE_PATTERN_MAX_N;
    trine_status status = TRINE_SUCCESS;
    TRY(ALLOC(p->base.ctx, a->room, p->base.n + 1));
    a->room[0] = 0;
    for (int64_t i = 0; i < p->base.n; i++) {
        int64_t count = p->offsets[i + 1] - p->offsets[i] - (p->diagonal[i] >= 0);
        if (limited && count > o->pattern_entries) count = o->pattern_entries;
        a->room[i + 1] = a->room[i] + count + 1;
    }
done:
    return status;
}

/** The pattern given, and its diagonal. */
static trine_status take_given(trine_precond p, struct adaption *a)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix rows = NULL, sorted = NULL;
    trine_matrix_info m;
    const int64_t *offsets;
    const int32_t *columns;
    const int64_t n = p->base.n;
    trine_matrix_get_info(p->options.pattern_matrix, &m);
    if (m.n_rows != n || m.n_cols != n)
        FAIL(TRINE_ERR_STRUCTURE, "the matrix of the pattern is %lld x %lld, A has %lld rows", (long long)m.n_rows,
             (long long)m.n_cols, (long long)n);
    TRY(trine_matrix_check(p->options.pattern_matrix, 0));
    TRY(trine_matrix_copy(p->options.pattern_matrix, &rows, TRINE_HOST, TRINE_CSR, m.dtype));
    TRY(trine_matrix_sort(rows, &sorted, 1));
    TRY(trine_matrix_get_arrays(sorted, &offsets, &columns, NULL));
    TRY(ALLOC(p->base.ctx, a->room, n + 1));
    TRY(ALLOC(p->base.ctx, a->given, offsets[n] + n));
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        a->room[i] = count;
        bool has_diagonal = false;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            if (columns[k] >= i && !has_diagonal) {
                has_diagonal = true;
                if (columns[k] > i) a->given[count++] = (int32_t)i;
            }
            a->given[count++] = columns[k];
        }
        if (!has_diagonal) a->given[count++] = (int32_t)i;
    }
    a->room[n] = count;
done:
    trine_matrix_destroy(&sorted);
    trine_matrix_destroy(&rows);
    return status;
}

/** Positions, and products of neighbouring ones level by level. */
static int64_t lay_levels(struct precond_generators *g, int64_t n)
{
    int64_t size = n;
    g->level[0] = 0;
    for (g->levels = 1; size > GENERATOR_FAN && g->levels < GENERATOR_LEVELS; g->levels++) {
        g->level[g->levels] = g->level[g->levels - 1] + size;
        size = (size + GENERATOR_FAN - 1) / GENERATOR_FAN;
    }
    return g->level[g->levels] = g->level[g->levels - 1] + size;
}

static trine_status allocate(trine_precond p, struct adaption *a)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct precond_generators *g = &a->generators;
    const int64_t n = p->base.n, most = a->room[n], generated = lay_levels(g, n);
    const struct {
        void **p;
        int64_t count;
    } arrays[] = {{&a->values, most},      {&a->room_values, most}, {&a->scaled, most}, {&a->diagonal, n},
                  {&g->before, generated}, {&g->after, generated},  {&g->centre, n}};
    TRY(ALLOC(ctx, a->counts, n));
    TRY(ALLOC(ctx, a->offsets, n + 1));
    TRY(ALLOC(ctx, a->columns, most));
    TRY(ALLOC(ctx, a->room_columns, most));
    TRY(ALLOC(ctx, g->path, n));
    TRY(ALLOC(ctx, g->is_exact, n));
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        *arrays[k].p = trine_host_alloc(ctx, arrays[k].count, trine_dtype_size(p->base.dtype));
        if (!*arrays[k].p) return TRINE_ERR_MEMORY;
    }
    g->exact = p->options.exact_inverse != 0;
done:
    return status;
}

const int64_t *precond_adapt_room(trine_precond p) { return state_of(p)->adaption->room; }

trine_status precond_adapt_analyse(trine_precond p)
{
    trine_status status = TRINE_SUCCESS;
    struct adaption *a;
    TRY(CALLOC(p->base.ctx, a, 1));
    state_of(p)->adaption = a;
    TRY(p->options.pattern == TRINE_PATTERN_GIVEN ? take_given(p, a) : make_room(p, a));
    if (!p->device) TRY(allocate(p, a)); /* else where a numeric has to run on the host */
done:
    return status;
}

void precond_adapt_release(trine_precond p)
{
    struct adaption *a = state_of(p)->adaption;
    struct precond_generators *g = &a->generators;
    void *arrays[] = {a->room,        a->given,  a->counts,   a->offsets, a->columns, a->room_columns, a->values,
                      a->room_values, a->scaled, a->diagonal, g->before,  g->after,   g->centre,       g->path,
                      g->is_exact,    a};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) trine_free(p->base.ctx, TRINE_HOST, arrays[k]);
}

int64_t precond_adapt_memory(trine_precond p)
{
    const struct adaption *a = state_of(p)->adaption;
    const int64_t n = p->base.n, element = (int64_t)trine_dtype_size(p->base.dtype), most = a->room[n];
    if (!a->counts) return (n + 1) * 8;
    return (3 * n + 2) * 8 + most * (8 + 3 * element) + n * (5 + 2 * element) +
           2 * element * a->generators.level[a->generators.levels] + (a->given ? 4 * most : 0);
}

/* ----------------------------------------------------------------- numeric */

/** The paths of B's forest; A's own forest where B is A. */
static trine_status find_paths(trine_precond p, int l, const struct precond_rows *B)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    struct adaption *a = s->adaption;
    const trine_dtype t = p->base.dtype;
    trine_matrix matrix = NULL;
    trine_forest forest = NULL;
    void *scaled = l ? a->scaled : s->weights;
    precond_cpu.diagonal[t](B, TRINE_PRECOND_DIAGP1, a->diagonal, p->base.ctx->threads);
    precond_cpu.scale[t](B, a->diagonal, NULL, scaled, p->base.ctx->threads);
    if (l) {
        precond_cpu.drop_rounding[t](B->offsets[B->n], scaled, p->base.ctx->threads);
        TRY(trine_matrix_csr(p->base.ctx, &matrix, t, B->n, B->n, B->offsets[B->n], TRINE_HOST, 64, B->offsets, 32,
                             B->columns, scaled));
        TRY(trine_forest_create(p->base.ctx, &forest, matrix, NULL));
    }
    TRY(precond_make_forest(p, l ? forest : s->forest, l, TRINE_HOST, scaled));
    TRY(precond_take_paths(p, l ? forest : s->forest, &s->factor[l]));
done:
    trine_forest_destroy(&forest);
    trine_matrix_destroy(&matrix);
    return status;
}

/** *B := prune(B M_l^-1). */
static trine_status multiply(trine_precond p, int l, struct precond_rows *B)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->base.ctx;
    struct paths_state *s = state_of(p);
    struct adaption *a = s->adaption;
    const trine_dtype t = p->base.dtype;
    const int64_t n = p->base.n, threads = ctx->threads;
    const int64_t bad = precond_cpu.generate[t](&s->factor[l], n, &a->generators, (int)threads);
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (B->offsets[i + 1] - B->offsets[i] > longest) longest = B->offsets[i + 1] - B->offsets[i];
        s->inverse[s->factor[l].permutation[i]] = (int32_t)i;
    }
    longest++; /* the diagonal */
    struct precond_adaption step = {.from = *B,
                                    .factor = &s->factor[l],
                                    .generators = &a->generators,
                                    .position = s->inverse,
                                    .threshold =
                                        p->options.pattern == TRINE_PATTERN_MAX_T ? p->options.pattern_threshold : 0,
                                    .given_columns = a->given,
                                    .to_offsets = a->room,
                                    .to_counts = a->counts,
                                    .to_columns = a->room_columns,
                                    .to_values = a->room_values,
                                    .longest = longest,
                                    .most = PRECOND_PLACES * longest,
                                    .threads = (int)threads};
    if (bad && step.most < n + 1) step.most = n + 1;
    step.entries = trine_host_alloc(ctx, longest * threads, precond_entry_bytes(t));
    step.values = trine_host_alloc(ctx, step.most * threads, trine_dtype_size(t));
    step.dense = bad ? trine_host_alloc(ctx, n * threads, trine_dtype_size(t)) : NULL;
    step.candidates = trine_host_alloc(ctx, step.most * threads, sizeof *step.candidates);
    if (!step.entries || !step.values || !step.candidates || (bad && !step.dense)) {
        status = TRINE_ERR_MEMORY;
        goto done;
    }
    precond_cpu.adapt[t](&step);
    a->offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) a->offsets[i + 1] = a->offsets[i] + a->counts[i];
    precond_cpu.compact[t](&step, a->offsets, a->columns, a->values);
    *B = (struct precond_rows){n, a->offsets, a->columns, a->values};
done:
    trine_free(ctx, TRINE_HOST, step.entries);
    trine_free(ctx, TRINE_HOST, step.values);
    trine_free(ctx, TRINE_HOST, step.dense);
    trine_free(ctx, TRINE_HOST, step.candidates);
    return status;
}

static double diagonal_coverage(trine_precond p, const struct precond_rows *B)
{
    double diagonal, all;
    precond_cpu.sums[p->base.dtype](B, &diagonal, &all, p->base.ctx->threads);
    return diagonal / all;
}

/** The diagonal T of the product, from diagp1(B_m). */
static void finish(trine_precond p, const struct precond_rows *B, bool homogeneous)
{
    struct paths_state *s = state_of(p);
    struct adaption *a = s->adaption;
    const trine_dtype t = p->base.dtype;
    const int threads = p->base.ctx->threads;
    const int64_t row = precond_cpu.diagonal[t](B, TRINE_PRECOND_DIAGP1, homogeneous ? a->diagonal : s->T, threads);
    if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
    if (homogeneous) precond_cpu.multiply[t](p->base.n, a->diagonal, false, s->T, s->T, p->base.ctx);
    precond_cpu.fold[t](&s->factor[p->info.m - 1], p->base.n, s->T, threads);
}

/* s->T is diagp1(A) when this begins. */
trine_status precond_adapt(trine_precond p, bool builds)
{
    trine_status status = TRINE_SUCCESS;
    struct paths_state *s = state_of(p);
    const trine_dtype t = p->base.dtype;
    const int threads = p->base.ctx->threads, count = builds ? s->capacity : p->info.m;
    struct precond_rows B = {p->base.n, p->offsets, p->columns, p->values};
    const bool homogeneous = p->options.homogeneous != 0;
    if (homogeneous) {
        precond_cpu.scale[t](&B, s->T, NULL, s->weights, threads);
        B.values = s->weights;
    }
    if (!s->adaption->counts) TRY(allocate(p, s->adaption));
    s->c_diag[0] = diagonal_coverage(p, &B);
    p->info.m = count;
    for (int l = 0; l < count; l++) {
        struct precond_extraction e = {.rows = B, .factor = &s->factor[l], .threads = threads};
        if (builds) TRY(find_paths(p, l, &B));
        precond_cpu.extract[t](&e);
        const int64_t row = precond_cpu.eliminate[t](&s->factor[l], p->base.n, threads);
        if (row >= 0) precond_note_pivot(p, row, TRINE_ERR_SINGULAR);
        TRY(multiply(p, l, &B));
        s->c_diag[l + 1] = diagonal_coverage(p, &B);
        if (builds && precond_is_enough(p, l, s->c_diag[l], s->c_diag[l + 1])) {
            p->info.m = l + 1;
            break;
        }
    }
    finish(p, &B, homogeneous);
done:
    return status;
}
