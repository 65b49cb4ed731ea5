#include "triangles.h"

#include "errors.h"

/* ------------------------------------------------------------ permutations */

/** Y(i) = scale(i) X(perm(i)), or with `turned` the transpose of that. */
typedef struct {
    trine_context ctx;
    trine_space space;
    trine_dtype dtype;
    int32_t *perm;
    double *scale;
    int turned;
} Permuter;

static trine_status Permute(void *user, trine_transpose op, const void *alpha, const trine_dense *X, const void *beta,
                            const trine_dense *Y, const trine_exec *exec)
{
    const Permuter *p = user;
    const double *a = alpha, *b = beta;
    const int parts = p->dtype == TRINE_Z ? 2 : 1;
    if (a[0] != 1 || b[0] != 0 || (parts == 2 && (a[1] != 0 || b[1] != 0)))
        return trine_fail(TRINE_ERR_UNSUPPORTED, "a permutation is applied with alpha = 1 and beta = 0 alone");
    return trine_vectors_permute(p->ctx, p->dtype, p->perm, p->scale, (op != TRINE_N) != p->turned, X, Y,
                                 exec ? exec->stream : NULL);
}

static void ReleasePermuter(void *user)
{
    Permuter *p = user;
    trine_context ctx = p->ctx;
    trine_free(ctx, p->space, p->perm);
    trine_free(ctx, p->space, p->scale);
    trine_free(ctx, TRINE_HOST, p);
}

static trine_status Place(const Permuter *p, const void *host, size_t bytes, void **to)
{
    if (!host) return TRINE_SUCCESS;
    const trine_status status = trine_alloc(p->ctx, p->space, bytes, to);
    return status ? status : trine_copy(p->ctx, *to, p->space, host, TRINE_HOST, bytes);
}

static trine_status MakePermuter(trine_context ctx, trine_op *op, const trine_matrix_info *A, const int32_t *perm,
                                 const double *scale, int turned)
{
    const size_t n = (size_t)A->n_rows;
    const trine_op_info info = {
        .dtype = A->dtype, .rows = A->n_rows, .cols = A->n_rows, .ops = TRINE_N | TRINE_T | TRINE_H, .capturable = 1};
    trine_context_info device;
    void *memory = NULL;
    trine_status status = trine_context_get_info(ctx, &device);
    if (!status) status = trine_alloc(ctx, TRINE_HOST, sizeof(Permuter), &memory);
    if (status) return status;
    Permuter *p = memory;
    *p = (Permuter){.ctx = ctx, .space = device.space, .dtype = A->dtype, .turned = turned};
    status = Place(p, perm, n * sizeof *perm, (void **)&p->perm);
    if (!status) status = Place(p, scale, n * sizeof *scale, (void **)&p->scale);
    if (!status) status = trine_op_from_callback(ctx, op, &info, Permute, p, ReleasePermuter);
    if (status) ReleasePermuter(p);
    return status;
}

/* --------------------------------------------------------------- triangles */

static trine_status MakeTriangle(trine_context ctx, trine_triangular *plan, trine_matrix T, trine_uplo uplo,
                                 trine_diag diag, unsigned ops)
{
    const trine_triangular_options options = {.uplo = uplo, .diag = diag, .ops = ops};
    trine_status status = trine_triangular_analyse(ctx, plan, T, &options);
    return status ? status : trine_triangular_numeric(*plan, TRINE_HOST, NULL, NULL);
}

/** *solve := the product of the permutation and *solve, in the order that `turned` says: before or after it. */
static trine_status JoinPermuter(trine_context ctx, trine_op *solve, const trine_matrix_info *A, const int32_t *perm,
                                 const double *scale, int turned)
{
    if (!perm && !scale) return TRINE_SUCCESS;
    trine_op permuter = NULL, product = NULL;
    trine_status status = MakePermuter(ctx, &permuter, A, perm, scale, turned);
    const trine_op factors[] = {turned ? permuter : *solve, turned ? *solve : permuter};
    if (!status) status = trine_op_product(ctx, &product, 2, factors);
    trine_op_destroy(&permuter);
    if (status) return status;
    trine_op_destroy(solve);
    *solve = product;
    return TRINE_SUCCESS;
}

/** The solve with U, or with L^H. */
static trine_status SolveUpper(const TrineTriangles *t, trine_op *op)
{
    if (t->upper) return trine_triangular_as_op(t->upper, op);
    trine_op lower = NULL;
    trine_status status = trine_triangular_as_op(t->lower, &lower);
    if (!status) status = trine_op_transpose(lower, op, TRINE_H);
    trine_op_destroy(&lower);
    return status;
}

static trine_status Create(TrineTriangles *t, trine_context ctx, const TrineFactorParts *parts, unsigned ops)
{
    trine_matrix_info A;
    trine_status status = trine_matrix_get_info(parts->lower, &A);
    if (!parts->upper) ops |= TRINE_N | TRINE_H;
    if (!status) status = MakeTriangle(ctx, &t->lower, parts->lower, TRINE_LOWER, parts->diag, ops);
    if (!status && parts->upper) status = MakeTriangle(ctx, &t->upper, parts->upper, TRINE_UPPER, TRINE_NONUNIT, ops);
    if (!status) status = trine_triangular_as_op(t->lower, &t->forward);
    if (!status) status = JoinPermuter(ctx, &t->forward, &A, parts->row_perm, parts->row_scale, 0);
    if (!status) status = SolveUpper(t, &t->backward);
    if (!status) status = JoinPermuter(ctx, &t->backward, &A, parts->col_perm, parts->col_scale, 1);
    const trine_op halves[] = {t->backward, t->forward};
    return status ? status : trine_op_product(ctx, &t->inverse, 2, halves);
}

PetscErrorCode TrineTrianglesCreate(TrineTriangles *t, trine_context ctx, const TrineFactorParts *parts, unsigned ops)
{
    PetscFunctionBegin;
    PetscCall(TrineTrianglesDestroy(t));
    TrineCall(Create(t, ctx, parts, ops));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineTrianglesNumeric(TrineTriangles *t, const void *values)
{
    PetscFunctionBegin;
    TrineCall(trine_triangular_numeric(t->lower, TRINE_HOST, values, NULL));
    if (t->upper) TrineCall(trine_triangular_numeric(t->upper, TRINE_HOST, values, NULL));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineTrianglesDestroy(TrineTriangles *t)
{
    PetscFunctionBegin;
    trine_op_destroy(&t->inverse);
    trine_op_destroy(&t->backward);
    trine_op_destroy(&t->forward);
    trine_triangular_destroy(&t->upper);
    trine_triangular_destroy(&t->lower);
    PetscFunctionReturn(0);
}
