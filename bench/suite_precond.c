/* Suite precond: A x = b by a Krylov solver with each preconditioner: set-up, steps, time. Thesis protocol (Klein 2024,
 * Section 5.3.2) in double precision: GMRES(20), preconditioned on the right, b = A x with x_i = sin(2 pi 8 i / N),
 * from zero until ||b - A x|| <= 1e-6 ||b||. At the end, what Sections 4.6 and 5.3 claim beside what was found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "precond.h"

enum { SAMPLES = 11, OPENINGS = 2 };
static const double DEFAULT_SECONDS = 5;

static const char every_method[] =
    "auto,none,diagp0,diagp1,diagp2,l1,tridiag,alg-tri,alg-tri-block,alt-o:m=2,alt-o:m=3,alt-o:m=4,alt-i:m=1,alt-i:m=2,alt-i:m=3,"
    "alt-i:m=4,mos-d:m=1,mos-d:m=2,mos-d:m=3,mos-d:m=4,mos-a:m=1,mos-a:m=2,mos-a:m=3,mos-a:m=4,adi,ilu0,iluk:m=1,ilut,"
    "isai:m=1,isai:m=2,isai:m=3,multilevel,cg/ic0,cg/diagp0,cg/multilevel";
static const char *const every_matrix[] = {"laplace2d:n=250",
                                           "aniso1:n=200",
                                           "aniso2:n=200",
                                           "rotate7:n=200",
                                           "rotate9:n=150",
                                           "rotate9:n=150,alpha=0",
                                           "grounded2d:n=200",
                                           "laplace3d:n=50",
                                           "laplace3d27:n=30",
                                           "convection3d:n=50",
                                           "elasticity3d:n=12",
                                           "G3_circuit",
                                           "lap_igea",
                                           "delaunay_n16_lap",
                                           "thermal_monkey8K",
                                           "elas_rod300x33",
                                           "elas_Armadillo13K",
                                           "airfoil_2d",
                                           "cage11",
                                           "convdiff_alien",
                                           "pde2961",
                                           "EX5",
                                           "add32",
                                           "memplus",
                                           "orsreg_1",
                                           "rdb2048",
                                           "sherman5"};
enum { N_MATRICES = sizeof every_matrix / sizeof *every_matrix };

static const char *const peers_of_gpu[] = {"gmres+ilu0", "cg+ic0"};

/* ------------------------------------------------------------------ systems */

double precond_norm(int64_t n, const double *x, const double *minus)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - (minus ? minus[i] : 0)) * (x[i] - (minus ? minus[i] : 0));
    return sqrt(sum);
}

trine_status precond_check(precond_problem *p, double *error, double *forward)
{
    trine_status status = TRINE_SUCCESS;
    double *product = NULL;
    TRY(trine_context_synchronize(p->b->ctx));
    if (p->x != p->host_x)
        TRY(trine_copy(p->b->ctx, p->host_x, TRINE_HOST, p->x, TRINE_DEVICE, (size_t)p->n * sizeof *p->host_x));
    TRY(ALLOC(p->b->ctx, product, p->n));
    TRY(trine_matrix_multiply(p->host_A, TRINE_N, NULL, p->host_x, NULL, product));
    *error = precond_norm(p->n, product, p->host_b) / p->rhs_norm;
    *forward = precond_norm(p->n, p->host_x, p->solution) / precond_norm(p->n, p->solution, NULL);
done:
    trine_free(p->b->ctx, TRINE_HOST, product);
    return status;
}

void precond_close(precond_problem *p)
{
    trine_context ctx = p->b->ctx;
    trine_op_destroy(&p->product);
    if (p->A != p->host_A) trine_matrix_destroy(&p->A);
    trine_matrix_destroy(&p->host_A);
    if (p->b->device.space == TRINE_DEVICE) {
        trine_free(ctx, TRINE_DEVICE, p->rhs);
        trine_free(ctx, TRINE_DEVICE, p->x);
    }
    trine_free(ctx, p->b->device.space, p->room);
    trine_free(ctx, TRINE_HOST, p->solution);
    trine_free(ctx, TRINE_HOST, p->host_b);
    trine_free(ctx, TRINE_HOST, p->host_x);
    *p = (precond_problem){.b = p->b};
}

/** x_i = sin(2 pi 8 i / N), b = A x. */
static trine_status make_vectors(precond_problem *p)
{
    const double pi = 3.14159265358979323846;
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = p->b->ctx;
    const size_t bytes = (size_t)p->n * sizeof *p->host_b;
    TRY(ALLOC(ctx, p->solution, p->n));
    TRY(ALLOC(ctx, p->host_b, p->n));
    TRY(ALLOC(ctx, p->host_x, p->n));
    for (int64_t i = 0; i < p->n; i++) p->solution[i] = sin(2 * pi * 8 * (double)i / (double)p->n);
    TRY(trine_matrix_multiply(p->host_A, TRINE_N, NULL, p->solution, NULL, p->host_b));
    p->rhs_norm = precond_norm(p->n, p->host_b, NULL);
    TRY(trine_alloc(ctx, p->b->device.space, bytes + 1, &p->room));
    p->rhs = p->host_b;
    p->x = p->host_x;
    if (p->b->device.space == TRINE_HOST) return TRINE_SUCCESS;
    p->rhs = p->x = NULL;
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes + 1, &p->rhs));
    TRY(trine_alloc(ctx, TRINE_DEVICE, bytes + 1, &p->x));
    TRY(trine_copy(ctx, p->rhs, TRINE_DEVICE, p->host_b, TRINE_HOST, bytes));
done:
    return status;
}

trine_status precond_open(bench *b, const char *name, precond_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix given = NULL;
    trine_matrix_info info;
    trine_spmv plan = NULL;
    *p = (precond_problem){.b = b, .name = name, .seconds = b->max_seconds > 0 ? b->max_seconds : DEFAULT_SECONDS};
    TRY(bench_read_matrix(b, name, &given));
    TRY(trine_matrix_copy(given, &p->host_A, TRINE_HOST, TRINE_CSR, TRINE_D));
    TRY(trine_matrix_get_info(p->host_A, &info));
    if (info.n_rows != info.n_cols)
        FAIL(TRINE_ERR_STRUCTURE, "%lld x %lld is not square", (long long)info.n_rows, (long long)info.n_cols);
    p->n = info.n_rows;
    p->nnz = info.nnz;
    p->A = p->host_A;
    if (b->device.space == TRINE_DEVICE) TRY(trine_matrix_copy(p->host_A, &p->A, TRINE_DEVICE, TRINE_CSR, TRINE_D));
    for (int k = 0; k < OPENINGS; k++) {
        trine_spmv_destroy(&plan);
        const double start = trine_wall_time();
        TRY(trine_spmv_analyse(b->ctx, &plan, p->A, NULL));
        TRY(trine_spmv_numeric(plan, b->device.space, NULL, NULL));
        TRY(trine_context_synchronize(b->ctx));
        const double ms = 1e3 * (trine_wall_time() - start);
        if (!k || ms < p->product_ms) p->product_ms = ms;
    }
    TRY(trine_spmv_as_op(plan, &p->product));
    TRY(make_vectors(p));
done:
    trine_spmv_destroy(&plan);
    trine_matrix_destroy(&given);
    return status;
}

/* -------------------------------------------------------------------- suite */

static bool wants_peers(const bench *b)
{
    bool wanted = b->device.space == TRINE_DEVICE && !b->peers.count;
    for (int k = 0; k < b->peers.count; k++) wanted |= strcmp(b->peers.item[k], "cusparse") == 0;
    return wanted;
}

/** Every method on every matrix. */
static trine_status run_main(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    precond_outcomes all = {0};
    bench_list methods = b->methods.count ? b->methods : bench_list_split(every_method);
    const int count = b->matrices.count ? b->matrices.count : N_MATRICES;
    for (int m = 0; m < count; m++) {
        precond_problem p;
        const char *const name = b->matrices.count ? b->matrices.item[m] : every_matrix[m];
        const trine_status opened = precond_open(b, name, &p);
        if (opened) fprintf(b->table, "%s: %s\n", name, trine_last_error());
        else fprintf(b->table, "%s, %lld rows, %lld entries\n", name, (long long)p.n, (long long)p.nnz);
        for (int k = 0; k < methods.count && !opened && !status; k++)
            status = precond_measure(&p, methods.item[k], &all);
        for (int k = 0; k < 2 && !opened && !status && wants_peers(b); k++)
            status = precond_measure_peer(&p, peers_of_gpu[k]);
        precond_close(&p);
        TRY(status);
    }
    TRY(precond_judge(b, &all, false));
done:
    precond_forget(&all);
    if (!b->methods.count) bench_list_free(&methods);
    return status;
}

static const struct {
    const char *name;
    trine_status (*run)(bench *b);
} sweeps[] = {{"main", run_main},
              {"table17", precond_table_17},
              {"histories", precond_histories},
              {"figure40", precond_figure_40},
              {"steps", precond_steps}};
enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };

trine_status bench_suite_precond(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    if (!b->reps_given) b->reps = SAMPLES;
    for (int k = 0; k < b->sweeps.count || (!k && !b->sweeps.count); k++) {
        const char *const name = b->sweeps.count ? b->sweeps.item[k] : sweeps[0].name;
        int i = 0;
        while (i < N_SWEEPS && strcmp(sweeps[i].name, name) != 0) i++;
        if (i == N_SWEEPS) FAIL(TRINE_ERR_ARGUMENT, "suite precond has no sweep \"%s\"", name);
        b->sweep = i ? sweeps[i].name : NULL;
        TRY(sweeps[i].run(b));
    }
done:
    b->sweep = NULL;
    return status;
}
