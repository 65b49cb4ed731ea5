/* Factors that the caller's own program made by SuperLU or SuperLU_MT, copied into the form of SuperLU's own: SC and
 * NC, in all four precisions. */
#include <limits.h>
#include <string.h>

#include "direct/superlu_panels.h"

typedef long long ll;

/** What F does not hold itself: SuperLU's L and U with arrays of their own. */
struct taken_superlu {
    SCformat lower;
    NCformat upper;
    SuperMatrix L, U;
};

/** Where the caller's L (SC or SCP) has its columns and supernodes. */
typedef struct {
    const void *values;
    const int *value_begin, *value_end, *rows, *row_begin, *row_end;
    const int *supernode;                 /* of a column, in SCP: they may be in any order */
    const int *first_column, *end_column; /* of a supernode */
} lower_view;
/** Likewise U (NC or NCP). */
typedef struct {
    const void *values;
    const int *begin, *end, *rows;
} upper_view;

static trine_dtype dtype_of(const SuperMatrix *M)
{
    switch (M->Dtype) {
    case SLU_S: return TRINE_S;
    case SLU_D: return TRINE_D;
    case SLU_C: return TRINE_C;
    case SLU_Z: return TRINE_Z;
    }
    return (trine_dtype)0;
}

/** L and U are SuperMatrices of a kind that can be taken. */
static trine_status check(const SuperMatrix *L, const SuperMatrix *U)
{
    REQUIRE(L->Stype == SLU_SC || L->Stype == SLU_SCP,
            "L is not stored by supernodes (its Stype is %d, neither SLU_SC nor SLU_SCP)", (int)L->Stype);
    REQUIRE(U->Stype == SLU_NC || U->Stype == SLU_NCP,
            "U is not stored by columns (its Stype is %d, neither SLU_NC nor SLU_NCP)", (int)U->Stype);
    REQUIRE(dtype_of(L) && L->Dtype == U->Dtype, "L has Dtype %d and U %d", (int)L->Dtype, (int)U->Dtype);
    REQUIRE(L->nrow >= 0 && L->nrow == L->ncol && U->nrow == L->nrow && U->ncol == L->nrow,
            "L is %d x %d and U %d x %d", (int)L->nrow, (int)L->ncol, (int)U->nrow, (int)U->ncol);
    REQUIRE(L->Store && U->Store, "the Store of L or U is NULL");
    return TRINE_SUCCESS;
}

static lower_view view_lower(const SuperMatrix *L)
{
    if (L->Stype == SLU_SCP) {
        const SCPformat *s = L->Store;
        return (lower_view){s->nzval,         s->nzval_colbeg, s->nzval_colend,  s->rowind,       s->rowind_colbeg,
                            s->rowind_colend, s->col_to_sup,   s->sup_to_colbeg, s->sup_to_colend};
    }
    const SCformat *s = L->Store;
    return (lower_view){s->nzval,      s->nzval_colptr,  s->nzval_colptr + 1,
                        s->rowind,     s->rowind_colptr, s->rowind_colptr + 1,
                        s->col_to_sup, s->sup_to_col,    s->sup_to_col + 1};
}

static upper_view view_upper(const SuperMatrix *U)
{
    if (U->Stype == SLU_NCP) {
        const NCPformat *s = U->Store;
        return (upper_view){s->nzval, s->colbeg, s->colend, s->rowind};
    }
    const NCformat *s = U->Store;
    return (upper_view){s->nzval, s->colptr, s->colptr + 1, s->rowind};
}

/** The end of the supernode that begins with column `first`, after a look at its sizes. */
static trine_status supernode_end(const lower_view *V, int64_t n, int first, int *end)
{
    const int s = V->supernode[first];
    const int64_t height = (int64_t)V->row_end[first] - V->row_begin[first];
    if (s < 0 || s >= n || V->first_column[s] != first || V->end_column[s] <= first || V->end_column[s] > n)
        return trine_fail(TRINE_ERR_STRUCTURE, "column %d of SuperLU's L begins no supernode", first);
    *end = V->end_column[s];
    if (V->row_begin[first] < 0 || height < *end - first || height > n)
        return trine_fail(TRINE_ERR_STRUCTURE, "the supernode of columns %d to %d of SuperLU's L has %lld rows", first,
                          *end - 1, (ll)height);
    for (int j = first; j < *end; j++)
        if (V->value_begin[j] < 0 || (int64_t)V->value_end[j] - V->value_begin[j] != height)
            return trine_fail(TRINE_ERR_STRUCTURE, "column %d of SuperLU's L has %lld values for %lld rows", j,
                              (ll)V->value_end[j] - V->value_begin[j], (ll)height);
    return TRINE_SUCCESS;
}

static trine_status copy_lower(trine_factor F, const lower_view *V)
{
    trine_status status = TRINE_SUCCESS;
    struct taken_superlu *own = F->state;
    SCformat *L = &own->lower;
    const int n = (int)F->n;
    const size_t size = trine_dtype_size(F->dtype);
    int64_t rows = 0, values = 0;
    int end = 0, count = 0;
    REQUIRE(V->values && V->value_begin && V->value_end && V->rows && V->row_begin && V->row_end && V->supernode &&
                V->first_column && V->end_column,
            "an array of L is NULL");
    for (int first = 0; first < n; first = end, count++) {
        TRY(supernode_end(V, n, first, &end));
        rows += V->row_end[first] - V->row_begin[first];
        values += (int64_t)(V->row_end[first] - V->row_begin[first]) * (end - first);
    }
    if (values > INT_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "%lld values of L are too many for 32-bit indices", (ll)values);
    TRY(ALLOC(F->ctx, L->sup_to_col, count + 1));
    TRY(ALLOC(F->ctx, L->nzval_colptr, n + 1));
    TRY(ALLOC(F->ctx, L->rowind_colptr, n + 1));
    TRY(ALLOC(F->ctx, L->rowind, rows));
    TRY(trine_alloc(F->ctx, TRINE_HOST, (size_t)values * size, &L->nzval));
    L->nsuper = count - 1;
    rows = values = count = 0;
    for (int first = 0; first < n; first = end, count++) {
        TRY(supernode_end(V, n, first, &end));
        const int height = V->row_end[first] - V->row_begin[first];
        L->sup_to_col[count] = first;
        memcpy(L->rowind + rows, V->rows + V->row_begin[first], (size_t)height * sizeof *L->rowind);
        for (int j = first; j < end; j++, values += height) {
            L->rowind_colptr[j] = (int)(j == first ? rows : rows + height);
            L->nzval_colptr[j] = (int)values;
            memcpy((char *)L->nzval + (size_t)values * size, entry_at(V->values, V->value_begin[j], size),
                   (size_t)height * size);
        }
        rows += height;
    }
    L->sup_to_col[count] = n;
    L->rowind_colptr[n] = (int)rows;
    L->nzval_colptr[n] = L->nnz = (int)values;
    own->L = (SuperMatrix){SLU_SC, SLU_D, SLU_TRLU, n, n, L};
done:
    return status;
}

static trine_status copy_upper(trine_factor F, const upper_view *V)
{
    trine_status status = TRINE_SUCCESS;
    struct taken_superlu *own = F->state;
    NCformat *U = &own->upper;
    const int n = (int)F->n;
    const size_t size = trine_dtype_size(F->dtype);
    int64_t count = 0, s = 0;
    REQUIRE(V->begin && V->end, "an array of U is NULL");
    TRY(ALLOC(F->ctx, U->colptr, n + 1));
    for (int j = 0; j < n; j++) {
        U->colptr[j] = (int)count;
        if (V->begin[j] < 0 || V->end[j] < V->begin[j])
            FAIL(TRINE_ERR_STRUCTURE, "column %d of SuperLU's U has its values from %d to %d", j, V->begin[j],
                 V->end[j]);
        count += V->end[j] - V->begin[j];
        if (count > INT_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 values in U");
    }
    U->colptr[n] = U->nnz = (int)count;
    REQUIRE(!count || (V->rows && V->values), "an array of U is NULL");
    TRY(ALLOC(F->ctx, U->rowind, count));
    TRY(trine_alloc(F->ctx, TRINE_HOST, (size_t)count * size, &U->nzval));
    for (int j = 0; j < n; j++) {
        const size_t entries = (size_t)(V->end[j] - V->begin[j]);
        if (!entries) continue;
        memcpy(U->rowind + U->colptr[j], V->rows + V->begin[j], entries * sizeof *U->rowind);
        memcpy((char *)U->nzval + (size_t)U->colptr[j] * size, entry_at(V->values, V->begin[j], size), entries * size);
    }
    for (int j = 0; j < n; j++) { /* what lies within a supernode is in L */
        if (j == own->lower.sup_to_col[s + 1]) s++;
        for (int k = U->colptr[j]; k < U->colptr[j + 1]; k++)
            if (U->rowind[k] < 0 || U->rowind[k] >= own->lower.sup_to_col[s])
                FAIL(TRINE_ERR_STRUCTURE,
                     "column %d of SuperLU's U has row %d, and its supernode begins with column %d", j, U->rowind[k],
                     own->lower.sup_to_col[s]);
    }
    own->U = (SuperMatrix){SLU_NC, SLU_D, SLU_TRU, n, n, U};
done:
    return status;
}

/** perm[k]: which row of A became row k; from SuperLU's, where row i of A goes. */
static trine_status take_permutation(trine_factor F, const char *name, const int *position, int32_t *perm)
{
    for (int64_t i = 0; i < F->n && !position; i++) perm[i] = (int32_t)i;
    return position ? factor_check_permutation(name, position, F->n, perm) : TRINE_SUCCESS;
}

/** SuperLU's R or C (of the values' real type) in the permuted order. */
static trine_status take_scale(trine_factor F, const char *name, const void *given, const int32_t *perm, double **scale)
{
    trine_status status = TRINE_SUCCESS;
    if (!given) return TRINE_SUCCESS;
    TRY(ALLOC(F->ctx, *scale, F->n));
    for (int64_t k = 0; k < F->n; k++) {
        const double r = trine_dtype_is_single(F->dtype) ? (double)((const float *)given)[perm[k]]
                                                         : ((const double *)given)[perm[k]];
        (*scale)[k] = r;
        REQUIRE(r > 0 && r <= 1e308, "%s[%d] is %g", name, (int)perm[k], r);
    }
done:
    return status;
}

static void count_upper(void *count, int32_t row, int64_t column, const void *value)
{
    (void)row;
    (void)column;
    (void)value;
    ++*(int64_t *)count;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    return superlu_triangle(F, &((struct taken_superlu *)F->state)->U, which, T);
}

static trine_status upper_panels(trine_factor F)
{
    return superlu_make_upper_panels(F, &((struct taken_superlu *)F->state)->U);
}

static void release(trine_factor F)
{
    struct taken_superlu *own = F->state;
    if (!own) return;
    trine_context ctx = F->ctx;
    trine_free(ctx, TRINE_HOST, own->lower.nzval);
    trine_free(ctx, TRINE_HOST, own->lower.nzval_colptr);
    trine_free(ctx, TRINE_HOST, own->lower.rowind);
    trine_free(ctx, TRINE_HOST, own->lower.rowind_colptr);
    trine_free(ctx, TRINE_HOST, own->lower.sup_to_col);
    trine_free(ctx, TRINE_HOST, own->upper.nzval);
    trine_free(ctx, TRINE_HOST, own->upper.rowind);
    trine_free(ctx, TRINE_HOST, own->upper.colptr);
    trine_free(ctx, TRINE_HOST, own);
}

static const struct factor_backend taken = {.triangle = triangle, .upper_panels = upper_panels, .release = release};

trine_status trine_factor_from_superlu(trine_context ctx, trine_factor *out, const void *L, const void *U,
                                       const int *perm_r, const int *perm_c, const void *R, const void *C)
{
    REQUIRE(out, "F is NULL");
    *out = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(L && U, "L or U is NULL");
    trine_status status = check(L, U);
    if (status) return status;
    trine_factor F = NULL;
    struct taken_superlu *own;
    const lower_view lower = view_lower(L);
    const upper_view upper = view_upper(U);
    TRY(factor_take(ctx, &F, &taken, TRINE_DIRECT_LU, dtype_of(L), ((const SuperMatrix *)L)->nrow, false));
    F->diag_L = TRINE_UNIT;
    F->ordering = TRINE_ORDERING_AUTO;
    if (F->n) {
        TRY(CALLOC(ctx, own, 1));
        F->state = own;
        TRY(take_permutation(F, "perm_r", perm_r, F->row_perm));
        TRY(take_permutation(F, "perm_c", perm_c, F->col_perm));
        TRY(take_scale(F, "R", R, F->row_perm, &F->row_scale));
        TRY(take_scale(F, "C", C, F->col_perm, &F->col_scale));
        TRY(copy_lower(F, &lower));
        TRY(copy_upper(F, &upper));
        TRY(superlu_take_panels(F, &own->L));
        TRY(trine_panels_check(&F->panels));
        superlu_each_upper(F, &own->U, count_upper, &F->nnz_U);
    }
    F->factored = true;
    *out = F;
    return TRINE_SUCCESS;
done:
    trine_factor_destroy(&F);
    return status;
}
