#include "solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "events.h"

static PetscBool is_cited;
static const char citation[] =
    "@misc{trine,\n"
    "  title = {trine: sparse triangular, tridiagonal and direct solves on CPUs and GPUs},\n"
    "  author = {{The trine developers}}\n"
    "}\n"
    "@phdthesis{Klein2024,\n"
    "  title = {Algebraic, Block and Multiplicative Preconditioners based on Fast Tridiagonal Solves on GPUs},\n"
    "  author = {C. J. Klein},\n"
    "  year = {2024}\n"
    "}\n";

/* ------------------------------------------------------------------ life cycle */

PetscErrorCode TrineSolverCreate(PetscObject owner, const char *group, TrineSolver **s)
{
    PetscFunctionBegin;
    PetscCall(PetscCitationsRegister(citation, &is_cited));
    PetscCall(PetscNew(s));
    (*s)->owner = owner;
    (*s)->group = group;
    (*s)->ops = TRINE_N;
    (*s)->failed_row = -1;
    PetscCall(TrineOptionsSetDefaults(&(*s)->options));
    /* A preconditioner does without the refinement that makes a factor's solves accurate. */
    if (owner->classid != MAT_CLASSID) (*s)->options.refine = -1;
    PetscFunctionReturn(0);
}

static PetscErrorCode DropInverse(TrineSolver *s)
{
    PetscFunctionBegin;
    while (s->count > 0) TrineCall(trine_op_destroy(&s->inverse[--s->count]));
    s->turn = 0;
    s->ready = PETSC_FALSE;
    PetscFunctionReturn(0);
}

static PetscErrorCode DropPlans(TrineSolver *s)
{
    PetscFunctionBegin;
    PetscCall(DropInverse(s));
    TrineCall(trine_direct_destroy(&s->direct));
    TrineCall(trine_factor_destroy(&s->factor));
    TrineCall(trine_triangular_destroy(&s->triangular));
    TrineCall(trine_precond_destroy(&s->precond));
    s->reason[0] = 0;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverReset(TrineSolver *s)
{
    PetscFunctionBegin;
    PetscCall(DropPlans(s));
    PetscCall(TrineMatrixReset(&s->matrix));
    PetscCall(TrineDeviceClose(&s->device));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverDestroy(TrineSolver **s)
{
    PetscFunctionBegin;
    if (!*s) PetscFunctionReturn(0);
    PetscCall(TrineSolverReset(*s));
    PetscCall(PetscFree(*s));
    PetscFunctionReturn(0);
}

/* -------------------------------------------------------------------- failures */

/** "rank 1: -sub_pc_trine_method ilu0: " and trine's sentence. */
static void SayWhat(TrineSolver *s, const char *group, const char *option, const char *value)
{
    PetscMPIInt rank = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    snprintf(s->sentence, sizeof s->sentence, "rank %d: -%s%s_%s %s: %s", rank,
             s->owner->prefix ? s->owner->prefix : "", group, option, value, trine_last_error());
}

/** The number after "row" or "column" in trine's sentence. */
static PetscInt RowOfSentence(const char *sentence)
{
    const char *const words[] = {"row ", "column "};
    for (int i = 0; i < 2; i++) {
        const char *const word = strstr(sentence, words[i]);
        if (!word) continue;
        char *end;
        const char *const number = word + strlen(words[i]);
        const long long row = strtoll(number, &end, 10);
        if (end > number) return (PetscInt)row;
    }
    return -1;
}

/** The first row of the matrix whose values are all zero; -1: none. The pivot that LU ends with is another one. */
static PetscInt FindZeroRow(const TrineMatrix *m)
{
    for (PetscInt i = 0; m->offsets && i < m->n; i++) {
        PetscInt k = m->offsets[i];
        while (k < m->offsets[i + 1] && m->host_values[k] == 0.0) k++;
        if (k == m->offsets[i + 1]) return i;
    }
    return -1;
}

/** What PETSc calls the failure of a set-up; MAT_FACTOR_NOERROR of an error that is none of the matrix. */
static MatFactorError FailureOf(const TrineSolver *s, trine_status status, PetscBool of_pattern)
{
    switch (status) {
    case TRINE_ERR_SINGULAR: return of_pattern ? MAT_FACTOR_STRUCT_ZEROPIVOT : MAT_FACTOR_NUMERIC_ZEROPIVOT;
    case TRINE_ERR_NOT_DEFINITE: return MAT_FACTOR_NUMERIC_ZEROPIVOT;
    case TRINE_ERR_MEMORY: return MAT_FACTOR_OUTMEMORY;
    case TRINE_ERR_NO_CONVERGENCE: return MAT_FACTOR_OTHER;
    case TRINE_ERR_ARGUMENT: /* a NaN or Inf, or what the caller did wrong */
    case TRINE_ERR_STRUCTURE:
        return trine_matrix_check(s->matrix.view, 0) == TRINE_SUCCESS &&
                       trine_matrix_check(s->matrix.view, TRINE_CHECK_FINITE) != TRINE_SUCCESS
                   ? MAT_FACTOR_OTHER
                   : MAT_FACTOR_NOERROR;
    default: return MAT_FACTOR_NOERROR;
    }
}

/** After a step of the set-up: true in *go_on if it succeeded, a failure that is written down, or an error. */
static PetscErrorCode Judge(TrineSolver *s, trine_status status, PetscBool of_pattern, PetscBool *go_on)
{
    PetscInt zero_row = -1;

    PetscFunctionBegin;
    *go_on = status == TRINE_SUCCESS ? PETSC_TRUE : PETSC_FALSE;
    if (*go_on) PetscFunctionReturn(0);
    if (s->owner->classid == MAT_CLASSID) SayWhat(s, "pc_factor_mat_solver", "type", "trine");
    else SayWhat(s, s->group, "method", TrineOptionsMethodName(&s->options));
    s->failed_row = RowOfSentence(trine_last_error());
    if (s->options.method == TRINE_PETSC_DIRECT && status == TRINE_ERR_SINGULAR) zero_row = FindZeroRow(&s->matrix);
    if (zero_row >= 0) {
        const size_t length = strlen(s->sentence);
        snprintf(s->sentence + length, sizeof s->sentence - length, "; row %lld is zero", (long long)zero_row);
        s->failed_row = zero_row;
    }
    s->failure = FailureOf(s, status, of_pattern);
    PetscCheck(s->failure != MAT_FACTOR_NOERROR, PETSC_COMM_SELF, TrineErrorCode(status), "%s", s->sentence);
    PetscCall(PetscInfo(s->owner, "set-up failed: %s\n", s->sentence));
    PetscFunctionReturn(0);
}

/* ---------------------------------------------------------------------- plans */

/** The plan for the factor, whose ops s->ops says. */
static PetscErrorCode PlanDirect(TrineSolver *s, PetscBool *go_on)
{
    const trine_direct_options options = {
        .ops = s->ops, .refine = (int)s->options.refine, .solver = (trine_direct_solver)s->options.solver};

    PetscFunctionBegin;
    PetscCall(Judge(s, trine_direct_create_from_factor(s->device.ctx, &s->direct, s->factor, NULL, &options),
                    PETSC_FALSE, go_on));
    PetscFunctionReturn(0);
}

static PetscErrorCode SetUpDirect(TrineSolver *s, PetscBool same_pattern, PetscBool *go_on)
{
    const PetscLogEvent event = same_pattern ? TRINE_Numeric : TRINE_SetUp;
    const trine_factor_options options = {.method = (trine_direct_method)s->options.factorization,
                                          .ordering = (trine_ordering)s->options.ordering,
                                          .permutation = s->permutation};
    trine_direct_info info;

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event, s->owner, 0, 0, 0));
    if (same_pattern) {
        PetscCall(Judge(s, trine_direct_update(s->direct, s->matrix.view), PETSC_FALSE, go_on));
    } else {
        PetscCall(
            Judge(s, trine_factor_create(s->device.ctx, &s->factor, s->matrix.view, &options), PETSC_FALSE, go_on));
        if (*go_on) PetscCall(PlanDirect(s, go_on));
    }
    PetscCall(PetscLogEventEnd(event, s->owner, 0, 0, 0));
    if (!*go_on) PetscFunctionReturn(0);
    TrineCall(trine_direct_get_info(s->direct, &info));
    s->flops = 2.0 * ((PetscLogDouble)info.factor.nnz_L + (PetscLogDouble)info.factor.nnz_U);
    PetscFunctionReturn(0);
}

static PetscErrorCode SetUpTriangular(TrineSolver *s, PetscBool same_pattern, PetscBool *go_on)
{
    const trine_triangular_options options = {.uplo = (trine_uplo)s->options.uplo, .ops = s->ops};
    trine_triangular_info info;
    trine_status status;

    PetscFunctionBegin;
    *go_on = PETSC_TRUE;
    if (!same_pattern) {
        PetscCall(PetscLogEventBegin(TRINE_SetUp, s->owner, 0, 0, 0));
        PetscCall(Judge(s, trine_triangular_analyse(s->device.ctx, &s->triangular, s->matrix.view, &options),
                        PETSC_TRUE, go_on));
        PetscCall(PetscLogEventEnd(TRINE_SetUp, s->owner, 0, 0, 0));
    }
    if (!*go_on) PetscFunctionReturn(0);
    PetscCall(PetscLogEventBegin(TRINE_Numeric, s->owner, 0, 0, 0));
    status = trine_triangular_numeric(s->triangular, s->matrix.space, s->matrix.values, NULL);
    if (status == TRINE_SUCCESS) status = trine_triangular_check(s->triangular, NULL);
    PetscCall(Judge(s, status, PETSC_FALSE, go_on));
    PetscCall(PetscLogEventEnd(TRINE_Numeric, s->owner, 0, 0, 0));
    TrineCall(trine_triangular_get_info(s->triangular, &info));
    s->flops = 2.0 * (PetscLogDouble)info.nnz;
    PetscFunctionReturn(0);
}

static trine_status NumericPrecond(TrineSolver *s)
{
    const trine_reuse reuse = s->options.keep_forests ? TRINE_REUSE_FORESTS : TRINE_REUSE_NOTHING;
    const trine_status status = trine_precond_numeric(s->precond, s->matrix.space, s->matrix.values, reuse, NULL);
    return status == TRINE_SUCCESS ? trine_precond_check(s->precond, NULL) : status;
}

static PetscErrorCode SetUpPrecond(TrineSolver *s, PetscBool same_pattern, PetscBool *go_on)
{
    trine_precond_options options = TrineOptionsPrecond(&s->options);
    trine_precond_info info;
    trine_status status;

    PetscFunctionBegin;
    options.ops = s->ops;
    *go_on = PETSC_TRUE;
    if (!same_pattern) {
        PetscCall(PetscLogEventBegin(TRINE_SetUp, s->owner, 0, 0, 0));
        PetscCall(
            Judge(s, trine_precond_analyse(s->device.ctx, &s->precond, s->matrix.view, &options), PETSC_TRUE, go_on));
        PetscCall(PetscLogEventEnd(TRINE_SetUp, s->owner, 0, 0, 0));
    }
    if (!*go_on) PetscFunctionReturn(0);
    PetscCall(PetscLogEventBegin(TRINE_Numeric, s->owner, 0, 0, 0));
    status = NumericPrecond(s);
    if (status == TRINE_ERR_SINGULAR && options.method == TRINE_PRECOND_AUTO) {
        PetscCall(PetscStrncpy(s->reason, trine_last_error(), sizeof s->reason));
        options.method = TRINE_PRECOND_DIAGP1; /* zero only where a row is */
        TrineCall(trine_precond_destroy(&s->precond));
        status = trine_precond_analyse(s->device.ctx, &s->precond, s->matrix.view, &options);
        if (status == TRINE_SUCCESS) status = NumericPrecond(s);
    }
    PetscCall(Judge(s, status, PETSC_FALSE, go_on));
    PetscCall(PetscLogEventEnd(TRINE_Numeric, s->owner, 0, 0, 0));
    if (!*go_on) PetscFunctionReturn(0);
    TrineCall(trine_precond_get_info(s->precond, &info));
    s->flops = 2.0 * (PetscLogDouble)(info.factor_entries ? info.factor_entries : (info.m ? 5 * info.m : 1) * info.n);
    PetscFunctionReturn(0);
}

/** The plan as one operator, or of alt-o its factors. */
static PetscErrorCode TakeInverse(TrineSolver *s)
{
    trine_precond_info info = {.method = TRINE_PRECOND_AUTO};

    PetscFunctionBegin;
    PetscCall(DropInverse(s));
    if (s->precond) TrineCall(trine_precond_get_info(s->precond, &info));
    if (info.method == TRINE_PRECOND_ALT_O && info.m > 1) {
        for (; s->count < info.m; s->count++)
            TrineCall(trine_precond_part(s->precond, s->count, &s->inverse[s->count]));
        PetscFunctionReturn(0);
    }
    if (s->direct) TrineCall(trine_direct_as_op(s->direct, &s->inverse[0]));
    else if (s->triangular) TrineCall(trine_triangular_as_op(s->triangular, &s->inverse[0]));
    else TrineCall(trine_precond_as_op(s->precond, &s->inverse[0]));
    s->count = 1;
    PetscFunctionReturn(0);
}

static void Log(void *user, int level, const char *message)
{
    (void)level;
    (void)PetscInfo((PetscObject)user, "%s\n", message);
}

PetscErrorCode TrineSolverOpenDevice(TrineSolver *s)
{
    trine_status status;

    PetscFunctionBegin;
    if (s->device.ctx) PetscFunctionReturn(0);
    PetscCall(TrineDeviceOpen(&s->device, s->options.device, &status));
    if (status != TRINE_SUCCESS) SayWhat(s, s->group, "device", s->options.device);
    PetscCheck(status == TRINE_SUCCESS, PETSC_COMM_SELF, TrineErrorCode(status), "%s", s->sentence);
    TrineCall(trine_context_set_log(s->device.ctx, Log, s->owner, 2));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverSetUp(TrineSolver *s, Mat A, PetscBool same_pattern)
{
    PetscBool go_on = PETSC_TRUE;

    PetscFunctionBegin;
    s->failure = MAT_FACTOR_NOERROR;
    s->failed_row = -1;
    s->sentence[0] = 0;
    PetscCall(TrineSolverOpenDevice(s));
    PetscCall(TrineMatrixOpen(&s->matrix, s->device.ctx, A, same_pattern));
    if (!s->ready || s->matrix.n != s->n || s->matrix.nnz != s->nnz || s->reason[0]) same_pattern = PETSC_FALSE;
    s->n = s->matrix.n;
    s->nnz = s->matrix.nnz;
    s->ready = PETSC_FALSE;
    if (!same_pattern) PetscCall(DropPlans(s));
    if (s->n > 0) {
        switch (s->options.method) {
        case TRINE_PETSC_DIRECT: PetscCall(SetUpDirect(s, same_pattern, &go_on)); break;
        case TRINE_PETSC_TRIANGULAR: PetscCall(SetUpTriangular(s, same_pattern, &go_on)); break;
        case TRINE_PETSC_NONE: break;
        default: PetscCall(SetUpPrecond(s, same_pattern, &go_on));
        }
        if (go_on && s->options.method != TRINE_PETSC_NONE) PetscCall(TakeInverse(s));
    }
    PetscCall(TrineMatrixClose(&s->matrix));
    if (!go_on) PetscCall(DropPlans(s));
    s->ready = go_on;
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverAddTranspose(TrineSolver *s, Mat A)
{
    PetscBool go_on;

    PetscFunctionBegin;
    if (s->ops & TRINE_T) PetscFunctionReturn(0);
    s->ops |= TRINE_T;
    if (!s->ready || !s->count) PetscFunctionReturn(0);
    if (!s->factor) {
        PetscCall(TrineSolverSetUp(s, A, PETSC_FALSE));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscLogEventBegin(TRINE_SetUp, s->owner, 0, 0, 0));
    PetscCall(DropInverse(s));
    TrineCall(trine_direct_destroy(&s->direct));
    PetscCall(PlanDirect(s, &go_on));
    if (go_on) PetscCall(TakeInverse(s));
    s->ready = go_on;
    PetscCall(PetscLogEventEnd(TRINE_SetUp, s->owner, 0, 0, 0));
    PetscFunctionReturn(0);
}

/* ----------------------------------------------------------------------- solves */

static PetscErrorCode Solve(TrineSolver *s, trine_op inverse, trine_transpose op, const TrineBlock *b,
                            const TrineBlock *x)
{
    trine_dense B, X;

    PetscFunctionBegin;
    PetscCall(TrineDeviceTake(&s->device, b, x, &B, &X));
    TrineCall(trine_op_apply(inverse, op, NULL, &B, NULL, &X, NULL));
    PetscCall(TrineDeviceGive(&s->device, &X, x));
    PetscCall(PetscLogFlops(s->flops * (PetscLogDouble)x->columns));
    PetscFunctionReturn(0);
}

/** The operator whose turn it is. */
static trine_op TakeTurn(TrineSolver *s)
{
    const int turn = s->turn;
    if (!s->ready) return NULL;
    s->turn = (turn + 1) % s->count;
    return s->inverse[turn];
}

PetscErrorCode TrineSolverApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Vec b, Vec x)
{
    TrineBlock from = {.where = PETSC_MEMTYPE_HOST, .rows = s->n, .columns = 1, .ld = s->n}, to = from;
    const PetscScalar *values;

    PetscFunctionBegin;
    if (!inverse) {
        PetscCall(VecSetInf(x));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscLogEventBegin(TRINE_Solve, s->owner, b, x, 0));
    if (s->device.info.space == TRINE_DEVICE) {
        PetscCall(VecGetArrayReadAndMemType(b, &values, &from.where));
        PetscCall(VecGetArrayWriteAndMemType(x, &to.data, &to.where));
    } else {
        PetscCall(VecGetArrayRead(b, &values));
        PetscCall(VecGetArrayWrite(x, &to.data));
    }
    from.data = (PetscScalar *)values;
    PetscCall(Solve(s, inverse, op, &from, &to));
    if (s->device.info.space == TRINE_DEVICE) {
        PetscCall(VecRestoreArrayWriteAndMemType(x, &to.data));
        PetscCall(VecRestoreArrayReadAndMemType(b, &values));
    } else {
        PetscCall(VecRestoreArrayWrite(x, &to.data));
        PetscCall(VecRestoreArrayRead(b, &values));
    }
    PetscCall(PetscLogEventEnd(TRINE_Solve, s->owner, b, x, 0));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverApply(TrineSolver *s, trine_transpose op, Vec b, Vec x)
{
    PetscFunctionBegin;
    if (s->ready && !s->count) PetscCall(VecCopy(b, x));
    else PetscCall(TrineSolverApplyOp(s, TakeTurn(s), op, b, x));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverMatApplyOp(TrineSolver *s, trine_op inverse, trine_transpose op, Mat B, Mat X)
{
    TrineBlock from = {.where = PETSC_MEMTYPE_HOST, .rows = s->n}, to = from;
    const PetscScalar *values;

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(TRINE_Solve, s->owner, B, X, 0));
    PetscCall(MatGetSize(X, NULL, &to.columns));
    from.columns = to.columns;
    PetscCall(MatDenseGetLDA(B, &from.ld));
    PetscCall(MatDenseGetLDA(X, &to.ld));
    PetscCall(MatDenseGetArrayRead(B, &values));
    PetscCall(MatDenseGetArrayWrite(X, &to.data));
    from.data = (PetscScalar *)values;
    if (!inverse)
        for (PetscInt j = 0; j < to.columns; j++)
            for (PetscInt i = 0; i < to.rows; i++)
                to.data[i + j * to.ld] = (PetscScalar)INFINITY; /* PETSC_INFINITY of 3.18 is finite */
    else if (to.columns) PetscCall(Solve(s, inverse, op, &from, &to));
    PetscCall(MatDenseRestoreArrayWrite(X, &to.data));
    PetscCall(MatDenseRestoreArrayRead(B, &values));
    PetscCall(PetscLogEventEnd(TRINE_Solve, s->owner, B, X, 0));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverMatApply(TrineSolver *s, trine_transpose op, Mat B, Mat X)
{
    PetscFunctionBegin;
    if (s->ready && !s->count) PetscCall(MatCopy(B, X, SAME_NONZERO_PATTERN));
    else PetscCall(TrineSolverMatApplyOp(s, TakeTurn(s), op, B, X));
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------------------- view */

static PetscErrorCode ViewDirect(const TrineSolver *s, PetscViewer viewer)
{
    const PetscInt asked = s->options.refine;
    trine_direct_info info;

    PetscFunctionBegin;
    TrineCall(trine_direct_get_info(s->direct, &info));
    PetscCall(PetscViewerASCIIPrintf(viewer, "factorization: %s (%s), ordering %s\n",
                                     trine_direct_method_name(info.factor.method), info.factor.reason,
                                     trine_ordering_name(info.factor.ordering)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "entries of L %lld, of U %lld, fill %.3g\n", (long long)info.factor.nnz_L,
                                     (long long)info.factor.nnz_U, info.factor.fill));
    PetscCall(PetscViewerASCIIPrintf(viewer, "triangular solves: %s (%s); steps of refinement: %lld\n",
                                     info.solver == TRINE_SOLVER_SUPERNODAL ? "supernodal"
                                     : info.solver == TRINE_SOLVER_GENERAL  ? "by rows"
                                                                            : "of the factorization's library",
                                     info.reason,
                                     asked < 0 ? 0 : (long long)PetscMax(asked, (PetscInt)info.factor.refine)));
    PetscFunctionReturn(0);
}

static PetscErrorCode ViewTriangular(const TrineSolver *s, PetscViewer viewer)
{
    trine_triangular_info info;

    PetscFunctionBegin;
    TrineCall(trine_triangular_get_info(s->triangular, &info));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s triangle, entries %lld, solved %s (%s)\n",
                                     info.uplo == TRINE_UPPER ? "upper" : "lower", (long long)info.nnz,
                                     trine_triangular_method_name(info.method), info.reason));
    PetscFunctionReturn(0);
}

static PetscErrorCode ViewPrecond(const TrineSolver *s, PetscViewer viewer)
{
    trine_precond_info info;

    PetscFunctionBegin;
    TrineCall(trine_precond_get_info(s->precond, &info));
    PetscCall(PetscViewerASCIIPrintf(viewer, "preconditioner: %s (%s)\n", trine_precond_method_name(info.method),
                                     s->reason[0] ? s->reason : info.reason));
    if (info.m) PetscCall(PetscViewerASCIIPrintf(viewer, "factors: %d\n", info.m));
    if (info.levels) PetscCall(PetscViewerASCIIPrintf(viewer, "levels: %lld\n", (long long)info.levels));
    if (info.factor_entries)
        PetscCall(PetscViewerASCIIPrintf(viewer, "entries of the factors: %lld\n", (long long)info.factor_entries));
    if (s->count > 1)
        PetscCall(
            PetscViewerASCIIPrintf(viewer, "the factors take turns: for a flexible method, as -ksp_type fgmres\n"));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineSolverView(const TrineSolver *s, PetscViewer viewer)
{
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s\n", TrineOptionsMethodName(&s->options)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "device: %s%s%s\n", s->options.device, s->device.ctx ? ", which is " : "",
                                     s->device.ctx ? s->device.info.name : ""));
    if (s->sentence[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "the set-up failed: %s\n", s->sentence));
    if (!s->count) PetscFunctionReturn(0);
    if (s->direct) PetscCall(ViewDirect(s, viewer));
    else if (s->triangular) PetscCall(ViewTriangular(s, viewer));
    else PetscCall(ViewPrecond(s, viewer));
    PetscFunctionReturn(0);
}
