/* A factor that the caller's own program made by CHOLMOD, copied: supernodal or simplicial, LL^H or LDL^H, of either
 * index width. */
#include <limits.h>
#include <string.h>

#include "direct/cholmod_common.h"
#include "direct/direct.h"

typedef long long ll;

/** What F does not hold itself. */
struct taken_cholmod { void *values; /* of the panels */ };

static bool wide_indices(const cholmod_factor *L) { return L->itype == CHOLMOD_LONG; }
static bool wide_offsets(const cholmod_factor *L) { return L->itype != CHOLMOD_INT; }

/** Value k as 1 or 2 doubles. */
static void get_value(const cholmod_factor *L, int64_t k, double *v)
{
    const double *x = L->x, *z = L->z;
    if (L->xtype == CHOLMOD_ZOMPLEX) {
        v[0] = x[k];
        v[1] = z[k];
    } else {
        memcpy(v, x + k * (L->xtype == CHOLMOD_REAL ? 1 : 2), (L->xtype == CHOLMOD_REAL ? 1 : 2) * sizeof *v);
    }
}

/** What can be taken. */
static trine_status check(const cholmod_factor *L)
{
    REQUIRE(L->itype >= CHOLMOD_INT && L->itype <= CHOLMOD_LONG && L->xtype >= CHOLMOD_PATTERN &&
                L->xtype <= CHOLMOD_ZOMPLEX,
            "this is no cholmod_factor of CHOLMOD %d (its itype is %d, its xtype %d)", CHOLMOD_MAIN_VERSION, L->itype,
            L->xtype);
    REQUIRE(L->xtype != CHOLMOD_PATTERN, "the factor is symbolic: cholmod_factorize has not filled it");
    if (L->n > INT_MAX)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a factor of %zu columns; fewer than 2^31 are possible", L->n);
    if (L->dtype != CHOLMOD_DOUBLE)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "the factor is not in double precision (its dtype is %d)", L->dtype);
    if (L->is_super && !L->is_ll)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a supernodal LDL^H factor is none of CHOLMOD's");
    if (L->minor < L->n)
        return trine_fail(TRINE_ERR_NOT_DEFINITE,
                          "CHOLMOD's factorization broke down at pivot %zu of %zu: the factor is not complete",
                          L->minor, L->n);
    const bool arrays = L->x && (L->xtype != CHOLMOD_ZOMPLEX || L->z) &&
                        (L->is_super ? L->super && L->pi && L->px && L->s : L->p && L->i && L->nz);
    REQUIRE(!L->n || (L->Perm && arrays), "an array of the cholmod_factor is NULL");
    return TRINE_SUCCESS;
}

static trine_status take_permutation(trine_factor F, const cholmod_factor *L)
{
    trine_status status = TRINE_SUCCESS;
    int32_t *mark = NULL;
    TRY(ALLOC(F->ctx, mark, F->n));
    for (int64_t k = 0; k < F->n; k++) {
        const int64_t p = cholmod_at(L->Perm, wide_indices(L), k);
        F->row_perm[k] = p < INT_MIN || p > INT_MAX ? -1 : (int32_t)p;
    }
    TRY(factor_check_permutation("Perm", F->row_perm, F->n, mark));
done:
    trine_free(F->ctx, TRINE_HOST, mark);
    return status;
}

static trine_status take_panels(trine_factor F, const cholmod_factor *L)
{
    trine_status status = TRINE_SUCCESS;
    struct taken_cholmod *own = F->state;
    const int64_t m = (int64_t)L->nsuper, parts = factor_parts(F);
    TRY(ALLOC(F->ctx, F->first_column, m + 1));
    TRY(ALLOC(F->ctx, F->row_offsets, m + 1));
    TRY(ALLOC(F->ctx, F->value_offsets, m + 1));
    TRY(ALLOC(F->ctx, F->panel_rows, (int64_t)L->ssize));
    for (int64_t s = 0; s <= m; s++) {
        F->first_column[s] = (int32_t)cholmod_at(L->super, wide_indices(L), s);
        F->row_offsets[s] = cholmod_at(L->pi, wide_offsets(L), s);
        F->value_offsets[s] = cholmod_at(L->px, wide_offsets(L), s);
        if (F->row_offsets[s] < 0 || F->row_offsets[s] > (int64_t)L->ssize || F->value_offsets[s] < 0 ||
            F->value_offsets[s] > (int64_t)L->xsize)
            FAIL(TRINE_ERR_STRUCTURE, "supernode %lld of the cholmod_factor lies outside its arrays", (ll)s);
    }
    for (int64_t k = 0; k < (int64_t)L->ssize; k++) F->panel_rows[k] = (int32_t)cholmod_at(L->s, wide_indices(L), k);
    TRY(trine_alloc(F->ctx, TRINE_HOST, L->xsize * (size_t)parts * sizeof(double), &own->values));
    for (int64_t k = 0; k < (int64_t)L->xsize; k++) get_value(L, k, (double *)own->values + k * parts);
    F->panels = (trine_panels){.n = F->n,
                               .n_panels = m,
                               .first_column = F->first_column,
                               .row_offsets = F->row_offsets,
                               .rows = F->panel_rows,
                               .value_offsets = F->value_offsets,
                               .values = own->values,
                               .dtype = F->dtype,
                               .diag = TRINE_NONUNIT};
    TRY(trine_panels_check(&F->panels));
    F->nnz_L = factor_panels_count(F);
done:
    return status;
}

/** The columns of a simplicial factor, whose entry k is row i[k]; the diagonal entry is a column's first. Counts the
 *  entries that are kept, zeros beside the diagonal are not. */
static trine_status count_columns(const cholmod_factor *L, int64_t *nnz)
{
    double v[2] = {0, 0};
    *nnz = 0;
    for (int64_t j = 0; j < (int64_t)L->n; j++) {
        const int64_t first = cholmod_at(L->p, wide_offsets(L), j), count = cholmod_at(L->nz, wide_indices(L), j);
        if (first < 0 || count < 1 || count > (int64_t)L->nzmax || first > (int64_t)L->nzmax - count)
            return trine_fail(TRINE_ERR_STRUCTURE, "column %lld of the cholmod_factor lies outside its arrays", (ll)j);
        if (cholmod_at(L->i, wide_indices(L), first) != j)
            return trine_fail(TRINE_ERR_STRUCTURE,
                              "column %lld of the cholmod_factor does not begin with its diagonal entry", (ll)j);
        for (int64_t k = first; k < first + count; k++) {
            const int64_t i = cholmod_at(L->i, wide_indices(L), k);
            if (k > first && (i <= j || i >= (int64_t)L->n))
                return trine_fail(TRINE_ERR_STRUCTURE, "column %lld of the cholmod_factor has row %lld", (ll)j, (ll)i);
            get_value(L, k, v);
            *nnz += k == first || v[0] != 0 || v[1] != 0;
        }
    }
    return TRINE_SUCCESS;
}

/** Real columns without gaps, as CHOLMOD makes them here: *nnz without zeros, and whether there are some. */
static bool are_plain(const cholmod_factor *L, int64_t *nnz, bool *zeros)
{
    const double *x = L->x;
    if (wide_indices(L) != wide_offsets(L) || L->xtype != CHOLMOD_REAL || !cholmod_is_packed(L, L->n)) return false;
    const int64_t end = cholmod_at(L->p, wide_offsets(L), (int64_t)L->n);
    int64_t count = 0;
    for (int64_t k = 0; k < end; k++) count += x[k] == 0;
    *nnz = end - count;
    *zeros = count > 0;
    for (int64_t j = 0; j < (int64_t)L->n && *zeros; j++) /* on the diagonal they stay */
        *nnz += x[cholmod_at(L->p, wide_offsets(L), j)] == 0;
    return true;
}

static void copy_plain(const cholmod_factor *L, int64_t *offsets, int32_t *rows, double *values)
{
    const bool wide = wide_indices(L);
    for (int64_t j = 0; j <= (int64_t)L->n; j++) offsets[j] = cholmod_at(L->p, wide, j);
    memcpy(values, L->x, (size_t)offsets[L->n] * sizeof *values);
    if (wide)
        for (int64_t k = 0; k < offsets[L->n]; k++) rows[k] = (int32_t)((const int64_t *)L->i)[k];
    else memcpy(rows, L->i, (size_t)offsets[L->n] * sizeof *rows);
}

/** The same with zeros, which are left out. */
static void compress_plain(const cholmod_factor *L, int64_t *offsets, int32_t *rows, double *values)
{
    const bool wide = wide_indices(L);
    const double *x = L->x;
    int64_t next = 0;
    for (int64_t j = 0; j < (int64_t)L->n; j++) {
        const int64_t first = cholmod_at(L->p, wide, j), end = cholmod_at(L->p, wide, j + 1);
        rows[next] = (int32_t)j;
        values[next++] = x[first];
        for (int64_t k = first + 1; k < end; k++) {
            if (x[k] == 0) continue;
            rows[next] = (int32_t)cholmod_at(L->i, wide, k);
            values[next++] = x[k];
        }
        offsets[j + 1] = next;
    }
}

static void copy_columns(const cholmod_factor *L, int parts, int64_t *offsets, int32_t *rows, double *values)
{
    double v[2] = {0, 0};
    int64_t next = 0;
    for (int64_t j = 0; j < (int64_t)L->n; j++) {
        const int64_t first = cholmod_at(L->p, wide_offsets(L), j), end = first + cholmod_at(L->nz, wide_indices(L), j);
        for (int64_t k = first; k < end; k++) {
            get_value(L, k, v);
            if (k > first && v[0] == 0 && v[1] == 0) continue;
            rows[next] = (int32_t)cholmod_at(L->i, wide_indices(L), k);
            memcpy(values + next++ * parts, v, (size_t)parts * sizeof *v);
        }
        offsets[j + 1] = next;
    }
}

/** From columns with D on the diagonal: those of unit L, and U = D L^H, whose rows are the columns of L, scaled. */
static trine_status split_diagonal(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    const int parts = factor_parts(F);
    const int64_t *offsets;
    const int32_t *rows;
    const void *columns;
    int64_t *upper_offsets;
    int32_t *upper_columns;
    void *upper_values;
    TRY(trine_matrix_get_arrays(F->triangles[0], &offsets, &rows, &columns));
    TRY(factor_make_matrix(F, 1, TRINE_CSR, F->nnz_L, &F->triangles[1], &upper_offsets, &upper_columns, &upper_values,
                           NULL));
    memcpy(upper_offsets, offsets, (size_t)(F->n + 1) * sizeof *offsets);
    memcpy(upper_columns, rows, (size_t)F->nnz_L * sizeof *rows);
    double *lower = (double *)columns, *upper = upper_values; /* matrices of our own */
    for (int64_t j = 0; j < F->n; j++) {
        const int64_t first = offsets[j] * parts, end = offsets[j + 1] * parts;
        const double d = lower[first];
        for (int64_t k = first + parts; k < end; k++) upper[k] = d * (parts == 2 && k % 2 ? -lower[k] : lower[k]);
        for (int p = 0; p < parts; p++) {
            lower[first + p] = !p;
            upper[first + p] = p ? 0 : d;
        }
    }
done:
    return status;
}

trine_status cholmod_take_columns(trine_factor F, const cholmod_factor *L, bool own)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix columns = NULL;
    int64_t *offsets;
    int32_t *rows;
    void *values;
    bool zeros = false;
    const bool plain = own && are_plain(L, &F->nnz_L, &zeros);
    if (!plain) TRY(count_columns(L, &F->nnz_L));
    TRY(factor_make_matrix(F, 0, TRINE_CSC, F->nnz_L, &columns, &offsets, &rows, &values, NULL));
    if (plain) (zeros ? compress_plain : copy_plain)(L, offsets, rows, values);
    else copy_columns(L, factor_parts(F), offsets, rows, values);
    if (own) F->triangles[0] = trine_retain_matrix(columns);
    else TRY(trine_matrix_sort(columns, &F->triangles[0], 0));
    F->nnz_U = F->nnz_L;
    if (L->is_ll) goto done;
    F->diag_L = TRINE_UNIT;
    TRY(split_diagonal(F));
done:
    trine_matrix_destroy(&columns);
    return status;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    return F->panels.n_panels ? factor_panels_to_csc(F, T) : factor_held_triangle(F, which, T);
}

static void release(trine_factor F)
{
    struct taken_cholmod *own = F->state;
    if (!own) return;
    trine_free(F->ctx, TRINE_HOST, own->values);
    trine_free(F->ctx, TRINE_HOST, own);
}

static const struct factor_backend taken = {.triangle = triangle, .release = release};

trine_status trine_factor_from_cholmod(trine_context ctx, trine_factor *out, const struct cholmod_factor_struct *L)
{
    REQUIRE(out, "F is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(L, "L is NULL");
    trine_status status = check(L);
    if (status) return status;
    trine_factor F = NULL;
    struct taken_cholmod *own;
    TRY(factor_take(ctx, &F, &taken, L->is_super ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_CHOLESKY_SIMPLICIAL,
                    L->xtype == CHOLMOD_REAL ? TRINE_D : TRINE_Z, (int64_t)L->n, true));
    F->diag_L = TRINE_NONUNIT;
    F->ordering = cholmod_ordering(L, TRINE_ORDERING_AUTO);
    if (F->n) {
        TRY(CALLOC(ctx, own, 1));
        F->state = own;
        TRY(take_permutation(F, L));
        TRY(L->is_super ? take_panels(F, L) : cholmod_take_columns(F, L, false));
        F->nnz_U = F->nnz_L;
    }
    F->factored = true;
    *out = F;
    return TRINE_SUCCESS;
done:
    trine_factor_destroy(&F);
    return status;
}
