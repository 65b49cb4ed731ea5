/* Suite direct: A x = b by both triangular solves of a factor, trine's beside the solve of the library that made it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <superlu/slu_ddefs.h>
#include <trine/direct.h>

#include "bench.h"
#include "cholmod_view.h"

/** One matrix with its factor; the libraries factor it again, in the same ordering, with the calls of their manuals. */
typedef struct {
    bench *b;
    const char *name;
    trine_matrix A, columns; /* columns: sorted CSC, what the libraries take */
    trine_factor F;
    trine_factor_info factor;
    int64_t n, nnz, nrhs;
    const int64_t *offsets;
    const int32_t *rows;
    const double *values;
    double *rhs, *x; /* n x nrhs on the host */
    trine_dense B, X; /* the same in the context's space */
} problem;

/* ------------------------------------------------------------------- trine */

/** What runs on the CPU without --methods, and what on a GPU: there the factors may be kept in single precision,
 *  with none, one or two steps of refinement. */
static const char on_cpu[] = "auto,general", on_gpu[] = "auto,general,single,single:refine=1,single:refine=2";
static const struct method {
    const char *name;
    trine_direct_solver solver;
    int single, refine;
} methods[] = {{"auto", TRINE_SOLVER_AUTO, 0, 0},
               {"general", TRINE_SOLVER_GENERAL, 0, 0},
               {"supernodal", TRINE_SOLVER_SUPERNODAL, 0, 0},
               {"single", TRINE_SOLVER_SUPERNODAL, 1, 0},
               {"single:refine=1", TRINE_SOLVER_SUPERNODAL, 1, 1},
               {"single:refine=2", TRINE_SOLVER_SUPERNODAL, 1, 2}};

/* ----------------------------------------------------------------- CHOLMOD */

typedef struct {
    problem *p;
    cholmod_common common;
    cholmod_factor *L;
    cholmod_dense x, *Y, *E; /* x: p->x, large enough for CHOLMOD to keep it */
    int64_t *rows;
} cholmod;

static void cholmod_close(cholmod *c)
{
    cholmod_l_free_dense(&c->Y, &c->common);
    cholmod_l_free_dense(&c->E, &c->common);
    cholmod_l_free_factor(&c->L, &c->common);
    cholmod_l_finish(&c->common);
    free(c->rows);
}

static trine_status cholmod_open(problem *p, cholmod *c)
{
    *c = (cholmod){.p = p, .x = cholmod_vectors_view(p->n, p->nrhs, p->x)};
    cholmod_l_start(&c->common);
    /* the orderings tried, and so the one taken, are those of trine_factor_create */
    c->common.supernodal = CHOLMOD_SUPERNODAL;
    c->rows = malloc((size_t)p->nnz * sizeof *c->rows);
    if (!c->rows) return trine_fail(TRINE_ERR_MEMORY, "no memory for %lld indices", (long long)p->nnz);
    for (int64_t k = 0; k < p->nnz; k++) c->rows[k] = p->rows[k];
    cholmod_sparse A = cholmod_matrix_view(p->n, p->nnz, p->offsets, c->rows, p->values);
    c->L = cholmod_l_analyze(&A, &c->common);
    if (!c->L || !cholmod_l_factorize(&A, c->L, &c->common))
        return trine_fail(TRINE_ERR_NOT_DEFINITE, "CHOLMOD's status is %d", c->common.status);
    return TRINE_SUCCESS;
}

static trine_status solve_cholmod(void *self)
{
    cholmod *c = self;
    cholmod_dense B = cholmod_vectors_view(c->p->n, c->p->nrhs, c->p->rhs), *X = &c->x;
    return cholmod_l_solve2(CHOLMOD_A, c->L, &B, NULL, &X, NULL, &c->Y, &c->E, &c->common)
               ? TRINE_SUCCESS
               : trine_fail(TRINE_ERR_MEMORY, "CHOLMOD's solve failed, status %d", c->common.status);
}

/* ----------------------------------------------------------------- SuperLU */

typedef struct {
    problem *p;
    int *perm_c, *perm_r, *etree, *offsets;
    SuperMatrix L, U;
    SuperLUStat_t statistics;
    bool factored;
} superlu;

static void superlu_close(superlu *s)
{
    if (s->factored) {
        Destroy_SuperNode_Matrix(&s->L);
        Destroy_CompCol_Matrix(&s->U);
    }
    StatFree(&s->statistics);
    free(s->perm_c);
    free(s->perm_r);
    free(s->etree);
    free(s->offsets);
}

static trine_status superlu_open(problem *p, superlu *s)
{
    *s = (superlu){.p = p};
    StatInit(&s->statistics);
    const size_t bytes = (size_t)(p->n + 1) * sizeof(int);
    const int32_t *columns;
    s->perm_c = malloc(bytes);
    s->perm_r = malloc(bytes);
    s->etree = malloc(bytes);
    s->offsets = malloc(bytes);
    if (!s->perm_c || !s->perm_r || !s->etree || !s->offsets)
        return trine_fail(TRINE_ERR_MEMORY, "no memory for SuperLU's arrays");
    const trine_status status = trine_factor_get_permutations(p->F, NULL, &columns, NULL, NULL);
    if (status) return status;
    for (int64_t k = 0; k < p->n; k++) s->perm_c[columns[k]] = (int)k;
    for (int64_t k = 0; k <= p->n; k++) s->offsets[k] = (int)p->offsets[k];
    superlu_options_t options;
    set_default_options(&options);
    options.ColPerm = MY_PERMC;
    NCformat store = {.nnz = (int)p->nnz, .nzval = (void *)p->values, .rowind = (int *)p->rows, .colptr = s->offsets};
    SuperMatrix A = {SLU_NC, SLU_D, SLU_GE, (int)p->n, (int)p->n, &store}, permuted;
    GlobalLU_t global;
    int info;
    sp_preorder(&options, &A, s->perm_c, s->etree, &permuted);
    dgstrf(&options, &permuted, sp_ienv(2), sp_ienv(1), s->etree, NULL, 0, s->perm_c, s->perm_r, &s->L, &s->U, &global,
           &s->statistics, &info);
    Destroy_CompCol_Permuted(&permuted);
    s->factored = info >= 0 && info <= p->n;
    return info ? trine_fail(TRINE_ERR_SINGULAR, "SuperLU's factorization ends with info %d", info) : TRINE_SUCCESS;
}

/** The right-hand sides are overwritten: copied before, inside the time, as in its own driver dgssv. */
static trine_status solve_superlu(void *self)
{
    superlu *s = self;
    problem *p = s->p;
    memcpy(p->x, p->rhs, (size_t)(p->n * p->nrhs) * sizeof *p->x);
    DNformat store = {(int)p->n, p->x};
    SuperMatrix B = {SLU_DN, SLU_D, SLU_GE, (int)p->n, (int)p->nrhs, &store};
    int info;
    dgstrs(NOTRANS, &s->L, &s->U, s->perm_c, s->perm_r, &B, &s->statistics, &info);
    return info ? trine_fail(TRINE_ERR_ARGUMENT, "SuperLU's solve ends with info %d", info) : TRINE_SUCCESS;
}

/* ------------------------------------------------------------------- suite */

enum { MOST_EPS = 10000 }; /* backward error that passes */

static bench_record begin(const problem *p, const char *impl, const char *method)
{
    bench_record r = bench_record_begin("direct", p->name);
    r.n = p->n;
    r.nnz = p->factor.nnz_L + p->factor.nnz_U;
    r.dtype = TRINE_D;
    r.direction = "both";
    r.nrhs = p->nrhs;
    r.impl = impl;
    r.method = method;
    r.bytes = 8 * r.nnz + 16 * p->n * p->nrhs;
    bench_record_add_text(&r, "factor", p->factor.method == TRINE_DIRECT_CHOLESKY ? "cholesky" : "lu");
    return r;
}

/** Time the operator, which ends here, and check what it solves; write; returns the median. most: backward error in
 *  eps that passes. */
static double finish(problem *p, bench_record *r, trine_op op, double most, double peer_ms)
{
    trine_status status = TRINE_SUCCESS;
    bench_time time;
    trine_accuracy accuracy;
    bench_solve solve = {.op = op, .trans = TRINE_N, .B = &p->B, .X = &p->X};
    TRY(bench_solve_begin(&solve));
    TRY(bench_measure(p->b, bench_solve_once, &solve, &time));
    if (p->X.data != p->x)
        TRY(trine_copy(p->b->ctx, p->x, TRINE_HOST, p->X.data, TRINE_DEVICE, (size_t)(p->n * p->nrhs) * sizeof *p->x));
    TRY(trine_matrix_accuracy(p->A, p->nrhs, p->x, p->rhs, NULL, &accuracy));
    bench_record_solve(r, &time, accuracy.backward_error, most);
    if (peer_ms > 0) bench_record_add_number(r, "ratio", peer_ms / time.median);
done:
    if (status) bench_record_fail(r, BENCH_FAILED, NULL);
    bench_solve_end(&solve);
    bench_record_write(p->b, r);
    fprintf(p->b->table, "%-24.24s %-8s %4lld  %-8s %-16s %10.4f ms  %9.3g eps", r->matrix, r->added[0].text,
            (long long)r->nrhs, r->impl, r->method, r->solve_ms, r->error);
    if (peer_ms > 0) fprintf(p->b->table, "  %6.2fx", peer_ms / r->solve_ms);
    fprintf(p->b->table, "%s%s\n", r->status == BENCH_OK ? "" : "  ", r->reason);
    return r->status == BENCH_OK ? r->solve_ms : NAN;
}

/** A record of what could not be set up. */
static void record_failure(problem *p, bench_record *r)
{
    bench_record_fail(r, BENCH_FAILED, NULL);
    bench_record_write(p->b, r);
}

static double time_peer(problem *p, bench_record *r, bench_call call, void *self)
{
    const bench_peer_solve peer = {r->impl, TRINE_D, TRINE_N, &p->B, &p->X, call, self};
    trine_op op = NULL;
    if (!bench_peer_as_op(p->b, &peer, &op)) return finish(p, r, op, MOST_EPS, 0);
    record_failure(p, r);
    return NAN;
}

static double run_library(problem *p)
{
    double ms = NAN;
    if (p->factor.method == TRINE_DIRECT_CHOLESKY) {
        cholmod c;
        bench_record r = begin(p, "cholmod", "cholmod_l_solve2");
        if (cholmod_open(p, &c)) record_failure(p, &r);
        else ms = time_peer(p, &r, solve_cholmod, &c);
        cholmod_close(&c);
    } else {
        superlu s;
        bench_record r = begin(p, "superlu", "dgstrs");
        if (superlu_open(p, &s)) record_failure(p, &r);
        else ms = time_peer(p, &r, solve_superlu, &s);
        superlu_close(&s);
    }
    return ms;
}

static void run_trine(problem *p, const struct method *method, double peer_ms)
{
    bench_record r = begin(p, "trine", method->name);
    trine_direct plan = NULL;
    trine_op op = NULL;
    trine_direct_options options = {.triangular.max_nrhs = p->nrhs,
                                    .solver = method->solver,
                                    .supernodal.single = method->single,
                                    .refine = method->refine};
    trine_direct_info info;
    if (trine_direct_create_from_factor(p->b->ctx, &plan, p->F, p->A, &options) || trine_direct_get_info(plan, &info) ||
        trine_direct_as_op(plan, &op)) {
        record_failure(p, &r);
    } else {
        r.chosen =
            info.solver == TRINE_SOLVER_SUPERNODAL ? "supernodal" : trine_triangular_method_name(info.lower.method);
        r.analyse_ms = 1e3 * info.analyse_seconds;
        r.numeric_ms = 1e3 * info.numeric_seconds;
        if (info.solver == TRINE_SOLVER_SUPERNODAL) {
            const bool lu = p->factor.diag_L == TRINE_UNIT;
            const int64_t entries = info.lower_panels.nnz_merged + (lu ? info.upper_panels.nnz_merged : 0);
            bench_record_add_number(&r, "fill",
                                    (double)entries / (double)(p->factor.nnz_L + (lu ? p->factor.nnz_U : 0)));
            bench_record_add_number(&r, "panels", (double)info.lower_panels.panels_merged);
            const trine_supernodal_info *u = lu ? &info.upper_panels : &info.lower_panels;
            bench_record_add_number(&r, "entries_a_level",
                                    (double)u->nnz_merged / (double)(u->levels_merged ? u->levels_merged : 1));
        }
        const double eps = method->single && !method->refine ? trine_dtype_eps(TRINE_S) / trine_dtype_eps(TRINE_D) : 1;
        finish(p, &r, op, MOST_EPS * eps, peer_ms);
    }
    trine_direct_destroy(&plan);
}

static trine_status run_nrhs(problem *p, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    const size_t bytes = (size_t)(p->n * nrhs) * sizeof(double);
    const bool gpu = p->b->device.space == TRINE_DEVICE;
    double *s = NULL;
    p->nrhs = nrhs;
    TRY(trine_alloc(p->b->ctx, TRINE_HOST, bytes, (void **)&s));
    TRY(trine_alloc(p->b->ctx, TRINE_HOST, bytes, (void **)&p->rhs));
    TRY(trine_alloc(p->b->ctx, TRINE_HOST, bytes, (void **)&p->x));
    uint64_t state = 1;
    for (int64_t i = 0; i < p->n * nrhs; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        s[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    for (int64_t j = 0; j < nrhs; j++)
        TRY(trine_matrix_multiply(p->A, TRINE_N, NULL, s + j * p->n, NULL, p->rhs + j * p->n));
    p->B = (trine_dense){.data = p->rhs, .rows = p->n, .cols = nrhs};
    p->X = (trine_dense){.data = p->x, .rows = p->n, .cols = nrhs};
    if (gpu) {
        p->B.data = p->X.data = NULL;
        TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, bytes, &p->B.data));
        TRY(trine_alloc(p->b->ctx, TRINE_DEVICE, bytes, &p->X.data));
        TRY(trine_copy(p->b->ctx, p->B.data, TRINE_DEVICE, p->rhs, TRINE_HOST, bytes));
    }
    const double peer_ms = gpu ? NAN : run_library(p);
    for (int k = 0; k < p->b->methods.count; k++)
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
            if (strcmp(p->b->methods.item[k], methods[i].name) == 0) run_trine(p, &methods[i], peer_ms);
done:
    trine_free(p->b->ctx, TRINE_HOST, s);
    trine_free(p->b->ctx, TRINE_HOST, p->rhs);
    trine_free(p->b->ctx, TRINE_HOST, p->x);
    if (gpu) trine_free(p->b->ctx, TRINE_DEVICE, p->B.data);
    if (gpu) trine_free(p->b->ctx, TRINE_DEVICE, p->X.data);
    p->rhs = p->x = NULL;
    p->B = p->X = (trine_dense){0};
    return status;
}

static trine_status run_matrix(problem *p, const bench_list *nrhs)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix copy = NULL;
    trine_matrix_info info;
    const void *values;
    TRY(bench_read_matrix(p->b, p->name, &p->A));
    const trine_factor_options options = {.need_panels = 1};
    TRY(trine_factor_create(p->b->ctx, &p->F, p->A, &options));
    TRY(trine_factor_get_info(p->F, &p->factor));
    if (p->factor.method != TRINE_DIRECT_CHOLESKY && p->factor.method != TRINE_DIRECT_LU)
        FAIL(TRINE_ERR_UNSUPPORTED, "a %s factor has no panels", trine_direct_method_name(p->factor.method));
    TRY(trine_matrix_copy(p->A, &copy, TRINE_HOST, TRINE_CSC, TRINE_D));
    TRY(trine_matrix_sort(copy, &p->columns, 1));
    TRY(trine_matrix_get_info(p->columns, &info));
    TRY(trine_matrix_get_arrays(p->columns, &p->offsets, &p->rows, &values));
    p->values = values;
    p->n = info.n_rows;
    p->nnz = info.nnz;
    for (int k = 0; k < nrhs->count; k++) TRY(run_nrhs(p, atoll(nrhs->item[k])));
done:
    trine_matrix_destroy(&copy);
    return status;
}

trine_status bench_suite_direct(bench *b)
{
    bench_list matrices = b->matrices, nrhs = b->nrhs, own_matrices = {0}, own_nrhs = {0};
    if (!matrices.count)
        matrices = own_matrices = bench_list_split(
            "elasticity3d:n=20,laplace3d:n=40,G3_circuit,SPD_CONT-300,ani4,bcsstk13,bcsstk14,bcsstk16,ct2010_lap,delaunay_n16_lap,elas_Armadillo13K,"
            "elas_rod300x33,ex10hs,lap_bunny,lap_igea,luxembourg_osm_lap,nos2,nos3,thermal_monkey8K,BentPipe2D100,KKT_CONT-201,"
            "SLAM_torus3D,add20,add32,adder_dcop_05,airfoil_2d,bayer10,cage10,cage11,convdiff_alien,cryg2500,dw8192,hangGlider_2,"
            "ibmpg1,memplus,olm5000,orsreg_1,pde2961,rajat01,rdb2048,sherman3,sherman5,tub1000");
    const bool own_methods = !b->methods.count;
    if (own_methods) b->methods = bench_list_split(b->device.space == TRINE_DEVICE ? on_gpu : on_cpu);
    if (!nrhs.count) nrhs = own_nrhs = bench_list_split("1,32");
    for (int m = 0; m < matrices.count; m++) {
        problem p = {.b = b, .name = matrices.item[m]};
        if (run_matrix(&p, &nrhs)) {
            bench_record r = bench_record_begin("direct", p.name);
            r.impl = "trine";
            r.method = "auto";
            bench_record_fail(&r, BENCH_FAILED, NULL);
            bench_record_write(b, &r);
        }
        trine_factor_destroy(&p.F);
        trine_matrix_destroy(&p.A);
        trine_matrix_destroy(&p.columns);
    }
    bench_list_free(&own_matrices);
    bench_list_free(&own_nrhs);
    if (own_methods) bench_list_free(&b->methods);
    return TRINE_SUCCESS;
}
