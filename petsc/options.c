#include "options.h"

/* The names of `trine solve --precond`, after those that are none of trine_precond's. */
static const struct {
    const char *name;
    trine_precond_method method;
} methods[] = {
    [TRINE_PETSC_DIRECT] = {"direct", TRINE_PRECOND_METHODS},
    [TRINE_PETSC_TRIANGULAR] = {"triangular", TRINE_PRECOND_METHODS},
    [TRINE_PETSC_NONE] = {"none", TRINE_PRECOND_METHODS},
    [TRINE_PETSC_AUTO] = {"auto", TRINE_PRECOND_AUTO},
    {"jacobi", TRINE_PRECOND_DIAGP0},
    {"diagp1", TRINE_PRECOND_DIAGP1},
    {"diagp2", TRINE_PRECOND_DIAGP2},
    {"l1", TRINE_PRECOND_L1},
    {"tridiag", TRINE_PRECOND_TRIDIAG},
    {"alg-tri", TRINE_PRECOND_ALG_TRI},
    {"alg-tri-block", TRINE_PRECOND_ALG_TRI_BLOCK},
    {"alt-o", TRINE_PRECOND_ALT_O},
    {"alt-i", TRINE_PRECOND_ALT_I},
    {"mos-d", TRINE_PRECOND_MOS_D},
    {"mos-a", TRINE_PRECOND_MOS_A},
    {"adi", TRINE_PRECOND_ADI},
    {"ilu0", TRINE_PRECOND_ILU0},
    {"iluk", TRINE_PRECOND_ILUK},
    {"ilut", TRINE_PRECOND_ILUT},
    {"ic0", TRINE_PRECOND_IC0},
    {"isai", TRINE_PRECOND_ISAI},
    {"multilevel", TRINE_PRECOND_MULTILEVEL},
};
/* By the values of trine_direct_method, trine_ordering, trine_direct_solver and trine_uplo. */
static const char *const factorizations[] = {"auto", "cholesky", "cholesky-simplicial", "lu", "lu-umfpack", "lu-klu",
                                             "ldl",  "cudss"};
static const char *const orderings[] = {"auto", "metis", "amd", "colamd", "natural"};
static const char *const solvers[] = {"auto", "supernodal", "general", "library"};
static const char *const triangles[] = {"auto", "lower", "upper"};

PetscErrorCode TrineOptionsSetDefaults(TrineOptions *o)
{
    PetscFunctionBegin;
    PetscCall(PetscMemzero(o, sizeof *o));
    PetscCall(PetscStrcpy(o->device, "cpu:1"));
    o->homogeneous = PETSC_TRUE;
    PetscFunctionReturn(0);
}

const char *TrineOptionsMethodName(const TrineOptions *o) { return methods[o->method].name; }

trine_precond_options TrineOptionsPrecond(const TrineOptions *o)
{
    return (trine_precond_options){.method = methods[o->method].method,
                                   .m = (int)o->m,
                                   .omega = o->omega,
                                   .coverage = o->coverage,
                                   .homogeneous = o->homogeneous,
                                   .fill_level = (int)o->fill_level,
                                   .drop_tolerance = o->drop_tolerance,
                                   .row_entries = o->row_entries,
                                   .shift = o->shift,
                                   .sweeps = (int)o->sweeps,
                                   .nx = o->nx,
                                   .ny = o->ny};
}

void TrineOptionsSetPrecond(TrineOptions *o, trine_precond_method method)
{
    for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(methods); i++)
        if (methods[i].method == method) o->method = i;
}

/** An integer from least to most. */
static PetscErrorCode ReadInt(TrineOptionItems PetscOptionsObject, const char *name, const char *text, PetscInt least,
                              PetscInt most, PetscInt *value)
{
    PetscBool given;

    PetscFunctionBegin;
    PetscCall(PetscOptionsInt(name, text, NULL, *value, value, &given));
    PetscCheck(!given || (*value >= least && *value <= most), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %" PetscInt_FMT ": not a number from %" PetscInt_FMT " to %" PetscInt_FMT,
               PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "", name + 1, *value, least, most);
    PetscFunctionReturn(0);
}

/** A number from 0 to most. */
static PetscErrorCode ReadReal(TrineOptionItems PetscOptionsObject, const char *name, const char *text, PetscReal most,
                               PetscReal *value)
{
    PetscFunctionBegin;
    PetscCall(PetscOptionsReal(name, text, NULL, *value, value, NULL));
    PetscCheck(*value >= 0 && *value <= most, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %g: not a number from 0 to %g", PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "",
               name + 1, (double)*value, (double)most);
    PetscFunctionReturn(0);
}

PetscErrorCode TrineOptionsReadDirect(TrineOptionItems PetscOptionsObject, const char *group, TrineOptions *o)
{
    char name[64];

    PetscFunctionBegin;
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_device", group));
    PetscCall(PetscOptionsString(name, "auto, cpu, cpu:N (threads), cuda or cuda:K (its number)", NULL, o->device,
                                 o->device, sizeof o->device, NULL));
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_factorization", group));
    PetscCall(PetscOptionsEList(name, "direct: method", NULL, factorizations, PETSC_STATIC_ARRAY_LENGTH(factorizations),
                                factorizations[o->factorization], &o->factorization, NULL));
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_ordering", group));
    PetscCall(PetscOptionsEList(name, "direct: fill-reducing ordering", NULL, orderings,
                                PETSC_STATIC_ARRAY_LENGTH(orderings), orderings[o->ordering], &o->ordering, NULL));
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_solver", group));
    PetscCall(PetscOptionsEList(name, "direct: triangular solves by panels, by rows, or of the factorization's library",
                                NULL, solvers, PETSC_STATIC_ARRAY_LENGTH(solvers), solvers[o->solver], &o->solver,
                                NULL));
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_refine", group));
    PetscCall(ReadInt(PetscOptionsObject, name, "direct: steps of iterative refinement", 0, 1000, &o->refine));
    PetscFunctionReturn(0);
}

PetscErrorCode TrineOptionsReadPC(TrineOptionItems PetscOptionsObject, TrineOptions *o)
{
    const char *names[PETSC_STATIC_ARRAY_LENGTH(methods)];
    const PetscInt most = 1000000000; /* members of trine_precond_options are ints */

    PetscFunctionBegin;
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) names[i] = methods[i].name;
    PetscOptionsHeadBegin(PetscOptionsObject, "trine options");
    PetscCall(PetscOptionsEList("-pc_trine_method", "what stands for the inverse", NULL, names,
                                PETSC_STATIC_ARRAY_LENGTH(names), names[o->method], &o->method, NULL));
    PetscCall(TrineOptionsReadDirect(PetscOptionsObject, "pc_trine", o));
    PetscCall(PetscOptionsEList("-pc_trine_uplo", "triangular: the triangle, the entries of the other are ignored",
                                NULL, triangles, PETSC_STATIC_ARRAY_LENGTH(triangles), triangles[o->uplo], &o->uplo,
                                NULL));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_m", "alt-o, alt-i, mos-d, mos-a: factors, 0 = 4", 0,
                      TRINE_PRECOND_MAX_M, &o->m));
    PetscCall(PetscOptionsReal("-pc_trine_omega", "the same: weight of an edge in the next forest, 0 = automatic", NULL,
                               o->omega, &o->omega, NULL));
    PetscCall(ReadReal(PetscOptionsObject, "-pc_trine_coverage",
                       "the same: part of the entries at which factors end, 0 = m of them", 1, &o->coverage));
    PetscCall(PetscOptionsBool("-pc_trine_homogeneous", "mos-a: rows are scaled first", NULL, o->homogeneous,
                               &o->homogeneous, NULL));
    PetscCall(PetscOptionsBool("-pc_trine_keep_forests", "the forests of earlier values stay when values change", NULL,
                               o->keep_forests, &o->keep_forests, NULL));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_levels", "iluk: level of fill, 0 = 1", 0, most, &o->fill_level));
    PetscCall(ReadReal(PetscOptionsObject, "-pc_trine_threshold",
                       "ilut: part of its row's norm below which an entry is dropped, 0 = 1e-3", 1,
                       &o->drop_tolerance));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_row_entries",
                      "ilut: entries of a row that stay in a triangle, 0 = 20", 0, most, &o->row_entries));
    PetscCall(PetscOptionsReal("-pc_trine_shift",
                               "ilu0, iluk, ilut, ic0: added to the diagonal, as part of its row's largest entry", NULL,
                               o->shift, &o->shift, NULL));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_sweeps", "isai, multilevel: steps, 0 = 1", 0, most, &o->sweeps));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_nx", "adi: points of the grid in x, which run fastest", 0, most,
                      &o->nx));
    PetscCall(ReadInt(PetscOptionsObject, "-pc_trine_ny", "adi: points of the grid in y", 0, most, &o->ny));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(0);
}
