/* MatSolverType "trine": LU and Cholesky by trine_direct, ILU(k) and ICC(0) by trine_precond, or PETSc's own ILU
 * factor, applied by trine.
 *
 * A factorization that breaks down is no error, as PETSc has it: MatFactorGetError says so, and solves give Inf, unless
 * MatSetErrorIfFailure asks for an error. */
#include "factor.h"

#include "errors.h"
#include "events.h"
#include "trine_petsc.h"

static PetscBool IsDirect(Mat F)
{
    return F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_CHOLESKY ? PETSC_TRUE : PETSC_FALSE;
}

/* ----------------------------------------------------------------- options */

static PetscErrorCode ReadOptions(Mat F)
{
    TrineFactor *f = TrineFactorOf(F);
    TrineOptions *o = &f->solver->options;

    PetscFunctionBegin;
    PetscOptionsBegin(PetscObjectComm((PetscObject)F), ((PetscObject)F)->prefix, "Factors of trine", "Mat");
    if (IsDirect(F)) PetscCall(TrineOptionsReadDirect(PetscOptionsObject, "mat_trine", o));
    else
        PetscCall(PetscOptionsString("-mat_trine_device", "auto, cpu, cpu:N (threads), cuda or cuda:K (its number)",
                                     NULL, o->device, o->device, sizeof o->device, NULL));
    if (F->factortype == MAT_FACTOR_ILU)
        PetscCall(PetscOptionsBool("-mat_trine_petsc_factor", "PETSc factors, and trine solves with its triangles",
                                   NULL, f->by_petsc, &f->by_petsc, NULL));
    PetscOptionsEnd();
    PetscFunctionReturn(0);
}

/* ---------------------------------------------------------------- symbolic */

/** Incomplete factors are made in the order of the rows: that of PETSc must be the same. */
static PetscErrorCode CheckNatural(Mat F, IS order)
{
    PetscBool natural = PETSC_TRUE;

    PetscFunctionBegin;
    if (order) PetscCall(ISIdentity(order, &natural));
    PetscCheck(natural, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "trine's %s factor keeps the order of the rows, and another one was given: use "
               "-pc_factor_mat_ordering_type natural%s",
               MatFactorTypes[F->factortype],
               F->factortype == MAT_FACTOR_ILU ? ", or -mat_trine_petsc_factor, which takes any" : "");
    PetscFunctionReturn(0);
}

static PetscErrorCode SetIncomplete(Mat F, IS row, IS column, const MatFactorInfo *info)
{
    TrineSolver *s = TrineFactorOf(F)->solver;
    const PetscBool cholesky = F->factortype == MAT_FACTOR_ICC;

    PetscFunctionBegin;
    PetscCall(CheckNatural(F, row));
    PetscCall(CheckNatural(F, column));
    PetscCheck(info->diagonal_fill == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "trine's %s factor adds no entries to the diagonal, and -pc_factor_diagonal_fill was asked for",
               MatFactorTypes[F->factortype]);
    PetscCheck(!cholesky || info->levels == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "trine has an ICC factor without fill, and -pc_factor_levels %g was asked for", (double)info->levels);
    TrineOptionsSetPrecond(&s->options, cholesky           ? TRINE_PRECOND_IC0
                                        : info->levels > 0 ? TRINE_PRECOND_ILUK
                                                           : TRINE_PRECOND_ILU0);
    s->options.fill_level = (PetscInt)info->levels;
    if (cholesky) s->ops = TRINE_N | TRINE_T; /* at no cost */
    PetscFunctionReturn(0);
}

/** The order of the columns, where PETSc gives one: the rows are those of the pivots. */
static PetscErrorCode SetOrdering(Mat F, IS column)
{
    TrineSolver *s = TrineFactorOf(F)->solver;
    const PetscInt *order;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(PetscFree(s->permutation));
    if (!column) PetscFunctionReturn(0);
    PetscCheck((trine_ordering)s->options.ordering == TRINE_ORDERING_AUTO, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "-mat_trine_ordering %s, and an ordering of PETSc as well: one of them is to go",
               trine_ordering_name((trine_ordering)s->options.ordering));
    PetscCall(ISGetLocalSize(column, &n));
    PetscCall(PetscMalloc1(n, &s->permutation));
    PetscCall(ISGetIndices(column, &order));
    for (PetscInt k = 0; k < n; k++) s->permutation[k] = (int32_t)order[k];
    PetscCall(ISRestoreIndices(column, &order));
    PetscFunctionReturn(0);
}

static PetscErrorCode LUSymbolic(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
    TrineFactor *f = TrineFactorOf(F);
    const TrineOptions before = f->solver->options;
    PetscBool same;

    PetscFunctionBegin;
    PetscCheck(A->rmap->n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "trine factors square matrices, and this one is %" PetscInt_FMT " x %" PetscInt_FMT, A->rmap->n,
               A->cmap->n);
    PetscCall(ReadOptions(F));
    f->matrix = 0;
    f->fill_given = info->fill;
    if (f->by_petsc) PetscCall(TrineFactorSymbolicByPETSc(F, A, row, column, info));
    else if (IsDirect(F)) PetscCall(SetOrdering(F, column));
    else PetscCall(SetIncomplete(F, row, column, info));
    PetscCall(PetscMemcmp(&before, &f->solver->options, sizeof before, &same));
    if (same) PetscFunctionReturn(0);
    PetscCall(TrineTrianglesDestroy(&f->triangles));
    PetscCall(TrineSolverReset(f->solver));
    PetscFunctionReturn(0);
}

static PetscErrorCode CholeskySymbolic(Mat F, Mat A, IS order, const MatFactorInfo *info)
{
    PetscFunctionBegin;
    PetscCall(LUSymbolic(F, A, order, order, info));
    PetscFunctionReturn(0);
}

/* ----------------------------------------------------------------- numeric */

static PetscBool IsPivot(MatFactorError error)
{
    return error == MAT_FACTOR_NUMERIC_ZEROPIVOT || error == MAT_FACTOR_STRUCT_ZEROPIVOT ? PETSC_TRUE : PETSC_FALSE;
}

/** Shifts for a factor that broke down, from the first to the last: 1e-3, 2e-3, ... to make it positive definite (Lin
 *  and More 1999), else PETSc's amount, which is for zero pivots, and then tenfold. */
static PetscErrorCode NumericShifted(Mat F, Mat A, const MatFactorInfo *info)
{
    TrineFactor *f = TrineFactorOf(F);
    const MatFactorShiftType type = (MatFactorShiftType)(int)info->shifttype;
    const PetscBool definite = type == MAT_SHIFT_POSITIVE_DEFINITE;
    const PetscReal least = info->shiftamount > 0 ? info->shiftamount : 100 * PETSC_MACHINE_EPSILON;
    Mat shifted;

    PetscFunctionBegin;
    if (type == MAT_SHIFT_NONE) PetscFunctionReturn(0);
    for (PetscReal s = definite ? 1e-3 : least; IsPivot(f->solver->failure) && s <= 1; s *= definite ? 2 : 10) {
        PetscCall(PetscInfo(F, "%s: again with a shift of %g\n", f->solver->sentence, (double)s));
        PetscCall(TrineFactorShift(A, s, &shifted));
        PetscCall(TrineSolverSetUp(f->solver, shifted, PETSC_FALSE));
        PetscCall(MatDestroy(&shifted));
        f->shift = s;
        f->matrix = 0; /* what was analysed is gone */
    }
    PetscFunctionReturn(0);
}

/** PETSc's code of the error that a breakdown is, if one is asked for. */
static PetscErrorCode ErrorOfFailure(const Mat F)
{
    if (F->factorerrortype == MAT_FACTOR_OUTMEMORY) return PETSC_ERR_MEM;
    if (F->factorerrortype == MAT_FACTOR_OTHER) return PETSC_ERR_FP;
    return F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_ILU ? PETSC_ERR_MAT_LU_ZRPVT
                                                                             : PETSC_ERR_MAT_CH_ZRPVT;
}

static PetscErrorCode Numeric(Mat F, Mat A, const MatFactorInfo *info)
{
    TrineFactor *f = TrineFactorOf(F);
    TrineSolver *s = f->solver;
    PetscObjectId matrix;
    PetscObjectState pattern;

    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)A, &matrix));
    PetscCall(MatGetNonzeroState(A, &pattern));
    const PetscBool same = matrix == f->matrix && pattern == f->pattern;
    f->matrix = matrix;
    f->pattern = pattern;
    f->shift = 0;
    if (f->by_petsc) {
        PetscCall(TrineFactorNumericByPETSc(F, A, same, info));
    } else {
        PetscCall(TrineTrianglesDestroy(&f->triangles));
        PetscCall(TrineFactorMirror(F, same, &A));
        PetscCall(TrineSolverSetUp(s, A, same));
        PetscCall(NumericShifted(F, A, info));
    }
    F->factorerrortype = s->failure;
    F->factorerror_zeropivot_row = s->failed_row;
    F->factorerror_zeropivot_value = 0;
    F->assembled = F->preallocated = PETSC_TRUE;
    if (s->failure) {
        PetscCall(PetscInfo(F, "%s\n", s->sentence));
        PetscCheck(!F->erroriffailure, PETSC_COMM_SELF, ErrorOfFailure(F), "%s", s->sentence);
    }
    TrineFactorSetSolves(F);
    PetscFunctionReturn(0);
}

/* ------------------------------------------------------------- information */

static PetscErrorCode GetInfo(Mat F, MatInfoType flag, MatInfo *info)
{
    const TrineFactor *f = TrineFactorOf(F);
    const TrineSolver *s = f->solver;

    PetscFunctionBegin;
    (void)flag; /* there is one rank */
    PetscCall(PetscMemzero(info, sizeof *info));
    info->block_size = 1;
    info->fill_ratio_given = info->fill_ratio_needed = f->fill_given; /* until numeric knows better */
    if (f->by_petsc && f->petsc) {
        PetscCall(MatGetInfo(f->petsc, MAT_LOCAL, info));
    } else if (s->direct && !s->failure) {
        trine_direct_info direct;
        TrineCall(trine_direct_get_info(s->direct, &direct));
        const trine_factor_info *factor = &direct.factor;
        info->nz_used =
            (PetscLogDouble)(factor->nnz_L + (factor->diag_L == TRINE_UNIT ? factor->nnz_U - factor->n : 0));
        info->fill_ratio_needed = factor->fill;
        info->memory = (PetscLogDouble)(direct.lower.bytes + direct.upper.bytes + direct.lower_panels.bytes +
                                        direct.upper_panels.bytes);
    } else if (s->precond && !s->failure) {
        trine_precond_info precond;
        TrineCall(trine_precond_get_info(s->precond, &precond));
        info->nz_used = (PetscLogDouble)precond.factor_entries;
        info->fill_ratio_needed =
            precond.nnz ? (PetscLogDouble)precond.factor_entries / (PetscLogDouble)precond.nnz : 0;
        info->memory = (PetscLogDouble)precond.bytes;
    }
    info->nz_allocated = info->nz_used;
    PetscFunctionReturn(0);
}

static PetscErrorCode View(Mat F, PetscViewer viewer)
{
    const TrineFactor *f = TrineFactorOf(F);
    PetscBool ascii;
    PetscViewerFormat format;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) PetscFunctionReturn(0);
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(0);
    if (f->by_petsc)
        PetscCall(PetscViewerASCIIPrintf(viewer, "PETSc's factor, solved with by trine on %s\n",
                                         f->solver->device.info.name));
    else PetscCall(TrineSolverView(f->solver, viewer));
    if (f->shift > 0)
        PetscCall(PetscViewerASCIIPrintf(viewer, "diagonal shifted by %g times the rows' largest entries\n",
                                         (double)f->shift));
    PetscFunctionReturn(0);
}

static PetscErrorCode GetSolverType(Mat F, MatSolverType *type)
{
    PetscFunctionBegin;
    (void)F;
    *type = MATSOLVERTRINE;
    PetscFunctionReturn(0);
}

/* -------------------------------------------------------------------- life */

static PetscErrorCode Destroy(Mat F)
{
    TrineFactor *f = TrineFactorOf(F);

    PetscFunctionBegin;
    PetscCall(TrineFactorResetPETSc(F));
    PetscCall(TrineTrianglesDestroy(&f->triangles));
    PetscCall(MatDestroy(&f->mirrored));
    PetscCall(PetscFree(f->solver->permutation));
    PetscCall(TrineSolverDestroy(&f->solver));
    PetscCall(PetscFree(F->data));
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode GetFactor(Mat A, MatFactorType type, Mat *factor)
{
    TrineFactor *f;
    Mat F;

    PetscFunctionBegin;
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &F));
    PetscCall(MatSetSizes(F, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(PetscStrallocpy(MATSOLVERTRINE, &((PetscObject)F)->type_name));
    PetscCall(MatSetUp(F));
    PetscCall(PetscNew(&f));
    PetscCall(TrineSolverCreate((PetscObject)F, "mat_trine", &f->solver));
    F->data = f;
    F->factortype = type;
    F->trivialsymbolic = PETSC_TRUE; /* the ordering is made by numeric, which has the values */
    F->canuseordering = PETSC_TRUE;
    /* A direct factor takes the order of PETSc where one is asked for, and by itself its own. */
    PetscCall(
        PetscStrallocpy(IsDirect(F) ? MATORDERINGEXTERNAL : MATORDERINGNATURAL, (char **)&F->preferredordering[type]));
    PetscCall(PetscFree(F->solvertype));
    PetscCall(PetscStrallocpy(MATSOLVERTRINE, &F->solvertype));
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", GetSolverType));
    F->ops->destroy = Destroy;
    F->ops->view = View;
    F->ops->getinfo = GetInfo;
    switch (type) {
    case MAT_FACTOR_LU: F->ops->lufactorsymbolic = LUSymbolic; break;
    case MAT_FACTOR_ILU: F->ops->ilufactorsymbolic = LUSymbolic; break;
    case MAT_FACTOR_CHOLESKY: F->ops->choleskyfactorsymbolic = CholeskySymbolic; break;
    default: F->ops->iccfactorsymbolic = CholeskySymbolic;
    }
    if (type == MAT_FACTOR_LU || type == MAT_FACTOR_ILU) F->ops->lufactornumeric = Numeric;
    else F->ops->choleskyfactornumeric = Numeric;
    *factor = F;
    PetscFunctionReturn(0);
}

/** PETSc's own types are there already and stay the default. Of type sbaij it has neither LU nor ILU: where no solver
 *  type is asked for, -pc_type lu of such a matrix is trine's. */
PetscErrorCode TrineRegisterSolverTypes(void)
{
    static const MatType matrices[] = {MATSEQAIJ, MATSEQSBAIJ};
    static const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};

    PetscFunctionBegin;
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++)
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++)
            PetscCall(MatSolverTypeRegister(MATSOLVERTRINE, matrices[m], factors[k], GetFactor));
    PetscFunctionReturn(0);
}
