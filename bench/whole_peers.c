/* Libraries of the suite whole: their own defaults, in the calls of their manuals. KLU and MKL PARDISO are loaded at
 * run time. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/klu.h>
#include <superlu/slu_ddefs.h>
#include <umfpack.h>

#include "cholmod_view.h"
#include "mkl.h"
#include "whole.h"

#define OPEN(type)                             \
    type *s = calloc(1, sizeof *s);            \
    *self = s;                                 \
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory"); \
    s->p = p

void whole_start_with_rhs(const whole_problem *p) { memcpy(p->x, p->rhs, (size_t)(p->n * p->nrhs) * sizeof *p->x); }

/* ----------------------------------------------------------------- CHOLMOD */

typedef struct {
    const whole_problem *p;
    cholmod_common common;
    cholmod_sparse A;
    cholmod_factor *L;
    cholmod_dense *Y, *E;
} cholmod;

static trine_status cholmod_open(const whole_problem *p, void **self)
{
    OPEN(cholmod);
    cholmod_l_start(&s->common);
    s->common.print = 0;
    s->A = cholmod_matrix_view(p->n, p->nnz, p->offsets, p->wide_rows, p->values);
    return TRINE_SUCCESS;
}
static trine_status cholmod_analyse(void *self)
{
    cholmod *s = self;
    cholmod_l_free_factor(&s->L, &s->common);
    s->L = cholmod_l_analyze(&s->A, &s->common);
    return s->L ? TRINE_SUCCESS : trine_fail(TRINE_ERR_MEMORY, "CHOLMOD's status is %d", s->common.status);
}
static trine_status cholmod_factor_values(void *self)
{
    cholmod *s = self;
    cholmod_l_factorize(&s->A, s->L, &s->common);
    return s->common.status == CHOLMOD_OK
               ? TRINE_SUCCESS
               : trine_fail(TRINE_ERR_NOT_DEFINITE, "CHOLMOD's status is %d", s->common.status);
}
static trine_status cholmod_solve_all(void *self)
{
    cholmod *s = self;
    const whole_problem *p = s->p;
    cholmod_dense B = cholmod_vectors_view(p->n, p->nrhs, p->rhs), own = cholmod_vectors_view(p->n, p->nrhs, p->x);
    cholmod_dense *X = &own;
    return cholmod_l_solve2(CHOLMOD_A, s->L, &B, NULL, &X, NULL, &s->Y, &s->E, &s->common)
               ? TRINE_SUCCESS
               : trine_fail(TRINE_ERR_MEMORY, "CHOLMOD's solve failed, status %d", s->common.status);
}
static void cholmod_close(void *self)
{
    cholmod *s = self;
    if (!s) return;
    cholmod_l_free_dense(&s->Y, &s->common);
    cholmod_l_free_dense(&s->E, &s->common);
    cholmod_l_free_factor(&s->L, &s->common);
    cholmod_l_finish(&s->common);
    free(s);
}
const whole_solver whole_cholmod = {"cholmod",
                                    "cholmod_l_analyze",
                                    true,
                                    cholmod_open,
                                    cholmod_analyse,
                                    cholmod_factor_values,
                                    cholmod_factor_values,
                                    cholmod_solve_all,
                                    cholmod_close};

/* ----------------------------------------------------------------- SuperLU */

typedef struct {
    const whole_problem *p;
    superlu_options_t options;
    int *perm_c, *perm_r, *etree;
    NCformat store;
    SuperMatrix A, L, U;
    SuperLUStat_t statistics;
    bool factored;
} superlu;

static trine_status superlu_open(const whole_problem *p, void **self)
{
    OPEN(superlu);
    StatInit(&s->statistics);
    set_default_options(&s->options);
    s->perm_c = calloc((size_t)p->n, sizeof(int));
    s->perm_r = calloc((size_t)p->n, sizeof(int));
    s->etree = calloc((size_t)p->n, sizeof(int));
    if (!s->perm_c || !s->perm_r || !s->etree) return trine_fail(TRINE_ERR_MEMORY, "no memory for SuperLU's arrays");
    s->store = (NCformat){
        .nnz = (int)p->nnz, .nzval = (void *)p->values, .rowind = (int *)p->rows, .colptr = p->narrow_offsets};
    s->A = (SuperMatrix){SLU_NC, SLU_D, SLU_GE, (int)p->n, (int)p->n, &s->store};
    return TRINE_SUCCESS;
}
static trine_status superlu_analyse(void *self)
{
    superlu *s = self;
    s->options.Fact = DOFACT;
    get_perm_c((int)s->options.ColPerm, &s->A, s->perm_c);
    return TRINE_SUCCESS;
}
static void superlu_drop(superlu *s)
{
    if (!s->factored) return;
    Destroy_SuperNode_Matrix(&s->L);
    Destroy_CompCol_Matrix(&s->U);
    s->factored = false;
}
static trine_status superlu_factor(void *self)
{
    superlu *s = self;
    SuperMatrix permuted;
    GlobalLU_t global;
    int info;
    superlu_drop(s);
    sp_preorder(&s->options, &s->A, s->perm_c, s->etree, &permuted);
    dgstrf(&s->options, &permuted, sp_ienv(2), sp_ienv(1), s->etree, NULL, 0, s->perm_c, s->perm_r, &s->L, &s->U,
           &global, &s->statistics, &info);
    Destroy_CompCol_Permuted(&permuted);
    s->factored = info >= 0 && info <= s->p->n;
    return info ? trine_fail(TRINE_ERR_SINGULAR, "SuperLU's factorization ends with info %d", info) : TRINE_SUCCESS;
}
static trine_status superlu_refactor(void *self)
{
    ((superlu *)self)->options.Fact = SamePattern;
    return superlu_factor(self);
}
static trine_status superlu_solve(void *self)
{
    superlu *s = self;
    const whole_problem *p = s->p;
    whole_start_with_rhs(p);
    DNformat store = {(int)p->n, p->x};
    SuperMatrix B = {SLU_DN, SLU_D, SLU_GE, (int)p->n, (int)p->nrhs, &store};
    int info;
    dgstrs(NOTRANS, &s->L, &s->U, s->perm_c, s->perm_r, &B, &s->statistics, &info);
    return info ? trine_fail(TRINE_ERR_ARGUMENT, "SuperLU's solve ends with info %d", info) : TRINE_SUCCESS;
}
static void superlu_close(void *self)
{
    superlu *s = self;
    if (!s) return;
    superlu_drop(s);
    StatFree(&s->statistics);
    free(s->perm_c);
    free(s->perm_r);
    free(s->etree);
    free(s);
}
const whole_solver whole_superlu = {"superlu",      "dgstrf",         false,         superlu_open, superlu_analyse,
                                    superlu_factor, superlu_refactor, superlu_solve, superlu_close};

/* ----------------------------------------------------------------- UMFPACK */

typedef struct {
    const whole_problem *p;
    void *symbolic, *numeric;
} umfpack;

static trine_status umfpack_open(const whole_problem *p, void **self)
{
    OPEN(umfpack);
    return TRINE_SUCCESS;
}
static trine_status umfpack_status(int64_t code, const char *phase)
{
    return code ? trine_fail(TRINE_ERR_SINGULAR, "UMFPACK's %s ends with status %lld", phase, (long long)code)
                : TRINE_SUCCESS;
}
static trine_status umfpack_analyse(void *self)
{
    umfpack *s = self;
    const whole_problem *p = s->p;
    umfpack_dl_free_symbolic(&s->symbolic);
    return umfpack_status(
        umfpack_dl_symbolic(p->n, p->n, p->offsets, p->wide_rows, p->values, &s->symbolic, NULL, NULL), "analysis");
}
static trine_status umfpack_factor(void *self)
{
    umfpack *s = self;
    const whole_problem *p = s->p;
    umfpack_dl_free_numeric(&s->numeric);
    return umfpack_status(umfpack_dl_numeric(p->offsets, p->wide_rows, p->values, s->symbolic, &s->numeric, NULL, NULL),
                          "factorization");
}
static trine_status umfpack_solve(void *self)
{
    umfpack *s = self;
    const whole_problem *p = s->p;
    int64_t code = 0;
    for (int64_t j = 0; j < p->nrhs && !code; j++)
        code = umfpack_dl_solve(UMFPACK_A, p->offsets, p->wide_rows, p->values, p->x + j * p->n, p->rhs + j * p->n,
                                s->numeric, NULL, NULL);
    return umfpack_status(code, "solve");
}
static void umfpack_close(void *self)
{
    umfpack *s = self;
    if (!s) return;
    umfpack_dl_free_numeric(&s->numeric);
    umfpack_dl_free_symbolic(&s->symbolic);
    free(s);
}
const whole_solver whole_umfpack = {"umfpack",      "umfpack_dl_solve", false,         umfpack_open, umfpack_analyse,
                                    umfpack_factor, umfpack_factor,     umfpack_solve, umfpack_close};

/* --------------------------------------------------------------------- KLU */

static struct {
    __typeof__(&klu_l_defaults) defaults;
    __typeof__(&klu_l_analyze) analyze;
    __typeof__(&klu_l_factor) factor;
    __typeof__(&klu_l_refactor) refactor;
    __typeof__(&klu_l_solve) solve;
    __typeof__(&klu_l_free_symbolic) free_symbolic;
    __typeof__(&klu_l_free_numeric) free_numeric;
} klu;
typedef struct {
    const whole_problem *p;
    klu_l_common common;
    klu_l_symbolic *symbolic;
    klu_l_numeric *numeric;
} klu_solver;

static trine_status klu_open(const whole_problem *p, void **self)
{
    static const bench_symbol needed[] = {{&klu.defaults, "klu_l_defaults"},
                                          {&klu.analyze, "klu_l_analyze"},
                                          {&klu.factor, "klu_l_factor"},
                                          {&klu.refactor, "klu_l_refactor"},
                                          {&klu.solve, "klu_l_solve"},
                                          {&klu.free_symbolic, "klu_l_free_symbolic"},
                                          {&klu.free_numeric, "klu_l_free_numeric"}};
    void *library = dlopen("libklu.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return trine_fail(TRINE_ERR_NOT_BUILT, "KLU cannot be loaded: %s", dlerror());
    const trine_status status = bench_load_symbols(library, "KLU", needed, sizeof needed / sizeof *needed);
    if (status) return status;
    OPEN(klu_solver);
    klu.defaults(&s->common);
    return TRINE_SUCCESS;
}
static trine_status klu_status(const klu_solver *s, bool good, const char *phase)
{
    return good ? TRINE_SUCCESS
                : trine_fail(TRINE_ERR_SINGULAR, "KLU's %s ends with status %d", phase, (int)s->common.status);
}
static trine_status klu_analyse(void *self)
{
    klu_solver *s = self;
    const whole_problem *p = s->p;
    if (s->symbolic) klu.free_symbolic(&s->symbolic, &s->common);
    s->symbolic = klu.analyze(p->n, (int64_t *)p->offsets, p->wide_rows, &s->common);
    return klu_status(s, s->symbolic != NULL, "analysis");
}
static trine_status klu_factor_values(void *self)
{
    klu_solver *s = self;
    const whole_problem *p = s->p;
    if (s->numeric) klu.free_numeric(&s->numeric, &s->common);
    s->numeric = klu.factor((int64_t *)p->offsets, p->wide_rows, (double *)p->values, s->symbolic, &s->common);
    return klu_status(s, s->numeric && s->common.status == KLU_OK, "factorization");
}
static trine_status klu_refactor_values(void *self)
{
    klu_solver *s = self;
    const whole_problem *p = s->p;
    return klu_status(
        s,
        klu.refactor((int64_t *)p->offsets, p->wide_rows, (double *)p->values, s->symbolic, s->numeric, &s->common) &&
            s->common.status == KLU_OK,
        "refactorization");
}
static trine_status klu_solve_all(void *self)
{
    klu_solver *s = self;
    whole_start_with_rhs(s->p);
    return klu_status(s, klu.solve(s->symbolic, s->numeric, s->p->n, s->p->nrhs, s->p->x, &s->common), "solve");
}
static void klu_close(void *self)
{
    klu_solver *s = self;
    if (!s) return;
    if (s->numeric) klu.free_numeric(&s->numeric, &s->common);
    if (s->symbolic) klu.free_symbolic(&s->symbolic, &s->common);
    free(s);
}
const whole_solver whole_klu = {
    "klu",         "klu_l_solve", false, klu_open, klu_analyse, klu_factor_values, klu_refactor_values,
    klu_solve_all, klu_close};

/* ------------------------------------------------------------ Intel MKL PARDISO */

typedef struct {
    const whole_problem *p;
    void (*pardiso)(void *pt, const int *maxfct, const int *mnum, const int *mtype, const int *phase, const int *n,
                    const void *a, const int *ia, const int *ja, int *perm, const int *nrhs, int *iparm,
                    const int *msglvl, void *b, void *x, int *error);
    void *pt[64];
    int iparm[64], type, *offsets, *columns;
    double *values;
    bool analysed;
} pardiso;

static trine_status pardiso_call(pardiso *s, int phase)
{
    static const int one = 1, silent = 0;
    const whole_problem *p = s->p;
    const int n = (int)p->n, nrhs = (int)p->nrhs;
    int error = 0;
    s->pardiso(s->pt, &one, &one, &s->type, &phase, &n, s->values, s->offsets, s->columns, NULL, &nrhs, s->iparm,
               &silent, p->rhs, p->x, &error);
    return error ? trine_fail(TRINE_ERR_SINGULAR, "PARDISO's phase %d ends with error %d", phase, error)
                 : TRINE_SUCCESS;
}
/** Rows of A, from the CSC columns; of a symmetric A the upper triangle. */
static trine_status pardiso_rows(pardiso *s)
{
    const whole_problem *p = s->p;
    const bool upper = s->type != 11;
    s->offsets = calloc((size_t)p->n + 2, sizeof(int));
    s->columns = calloc((size_t)p->nnz + 1, sizeof(int));
    s->values = calloc((size_t)p->nnz + 1, sizeof(double));
    if (!s->offsets || !s->columns || !s->values) return trine_fail(TRINE_ERR_MEMORY, "no memory for PARDISO's rows");
    int *const next = s->offsets + 1; /* entries before a row, while it is filled */
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t k = p->offsets[j]; k < p->offsets[j + 1]; k++)
            if (!upper || p->rows[k] <= j) next[p->rows[k] + 1]++;
    for (int64_t i = 0; i < p->n; i++) next[i + 1] += next[i];
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t k = p->offsets[j]; k < p->offsets[j + 1]; k++) {
            if (upper && p->rows[k] > j) continue;
            const int at = next[p->rows[k]]++;
            s->columns[at] = (int)j;
            s->values[at] = p->values[k];
        }
    return TRINE_SUCCESS;
}
static trine_status pardiso_open(const whole_problem *p, void **self)
{
    char version[200];
    void (*init)(void *, const int *, int *);
    OPEN(pardiso);
    const bench_symbol needed[] = {{&s->pardiso, "pardiso"}, {&init, "pardisoinit"}};
    const trine_status status = bench_mkl_load(p->b, needed, 2, version);
    if (status) return status;
    s->type = !p->structure.symmetric ? 11 : p->structure.positive_diagonal ? 2 : -2;
    init(s->pt, &s->type, s->iparm);
    s->iparm[34] = 1; /* indices from 0 on */
    return pardiso_rows(s);
}
static trine_status pardiso_drop(pardiso *s)
{
    const bool analysed = s->analysed;
    s->analysed = false;
    return analysed ? pardiso_call(s, -1) : TRINE_SUCCESS;
}
static trine_status pardiso_analyse(void *self)
{
    pardiso *s = self;
    trine_status status = pardiso_drop(s);
    if (!status) status = pardiso_call(s, 11);
    s->analysed = !status;
    return status;
}
static trine_status pardiso_factor(void *self) { return pardiso_call(self, 22); }
static trine_status pardiso_solve(void *self) { return pardiso_call(self, 33); }
static void pardiso_close(void *self)
{
    pardiso *s = self;
    if (!s) return;
    pardiso_drop(s);
    free(s->offsets);
    free(s->columns);
    free(s->values);
    free(s);
}
const whole_solver whole_pardiso = {"mkl",          "pardiso",      false,         pardiso_open, pardiso_analyse,
                                    pardiso_factor, pardiso_factor, pardiso_solve, pardiso_close};
