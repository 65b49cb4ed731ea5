/* Suite spmv: products of matrices with vectors, plain and generalized, beside cuSPARSE, a merge-path kernel and CUB on
 * a GPU, MKL and a plain loop on a CPU. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "spmv.h"

/* y := beta y + alpha A x over and over tends to alpha A x / (1 - beta). */
static const double ALPHA = 0.75, BETA = -0.5;

enum { SAMPLES = 11 };

/* Table 11 of the thesis: what the gallery makes, G3_circuit, and stand-ins for the rest of it. */
static const char *const table_11[] = {"aniso1:n=2500",
                                       "aniso2:n=2500",
                                       "aniso3:n=2500",
                                       "laplace2d:n=1000",
                                       "laplace2d_hole:n=1000",
                                       "convection3d:nx=148,ny=148,nz=58",
                                       "convection3d:nx=198,ny=198,nz=38",
                                       "transport15:nx=31,ny=161,nz=321",
                                       "G3_circuit",
                                       "laplace3d27:n=100",
                                       "elasticity3d:n=78",
                                       "powerlaw:n=1000000,degree=19"};
enum { N_TABLE_11 = sizeof table_11 / sizeof *table_11 };

typedef struct {
    const char *name;
    const char *matrices; /* several by blanks; NULL: Table 11 and every real matrix */
    const char *dtypes, *nrhs;
    trine_status (*run)(spmv_problem *p, int64_t nrhs);
    bool rounded; /* values to half precision */
} sweep;

/* ------------------------------------------------------------------- sweeps */

static bool wants_peer(const bench *b, const char *name)
{
    for (int i = 0; i < b->peers.count; i++)
        if (strcmp(b->peers.item[i], name) == 0) return true;
    return b->peers.count == 0;
}

static void add_methods(const bench *b, int64_t nrhs, spmv_list *list)
{
    static const char *const of_gpu[] = {"auto", "auto:nopreprocess", "adaptive", "balanced-atomic",
                                         "balanced-postprocess"};
    const int all = b->device.space == TRINE_DEVICE && nrhs == 1 ? 5 : 1;
    for (int i = 0; i < b->methods.count; i++) spmv_list_add(list, &spmv_trine, b->methods.item[i]);
    for (int i = 0; i < all && !b->methods.count; i++) spmv_list_add(list, &spmv_trine, of_gpu[i]);
}

/** Those of the device; several vectors: none that has one only. */
static void add_peers(const bench *b, int64_t nrhs, spmv_list *list)
{
    static const char *const plain[] = {"alg1", "alg2", "alg3"}; /* its default is one of them */
    static const char *const preprocessed[] = {"alg1:preprocess", "alg2:preprocess", "alg3:preprocess"};
    if (b->device.space == TRINE_HOST) {
        if (wants_peer(b, "mkl")) spmv_list_add(list, &spmv_mkl, nrhs == 1 ? "mv" : "mm");
        if (wants_peer(b, "openmp")) spmv_list_add(list, &spmv_loop, "loop");
        return;
    }
    for (int k = 0; k < (nrhs == 1 ? 2 : 3) && wants_peer(b, "cusparse"); k++) {
        if (nrhs == 1) spmv_list_add(list, &spmv_cusparse, plain[k]);
        spmv_list_add(list, &spmv_cusparse_preprocessed, preprocessed[k]);
    }
    if (nrhs > 1 || !wants_peer(b, "kernel")) return;
    spmv_list_add(list, &spmv_merge_path, "merge-path");
    spmv_list_add(list, &spmv_gather, "gather");
}

/** Vectors, and then all of the list. */
static trine_status compare_with(spmv_problem *p, int64_t nrhs, double alpha, double beta, const spmv_list *list)
{
    trine_status status = TRINE_SUCCESS;
    TRY(spmv_problem_set(p, nrhs, alpha, beta));
    TRY(bench_turn_begin(p->b));
    TRY(spmv_compare(p, list));
done:
    bench_turn_end(p->b);
    return status;
}

/** Plain products: one vector with general scalars and with beta = 0, several in every layout with beta = 0. */
static trine_status run_products(spmv_problem *p, int64_t nrhs)
{
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    spmv_list list = {.base = -1};
    add_methods(b, nrhs, &list);
    add_peers(b, nrhs, &list);
    if (nrhs == 1) {
        TRY(compare_with(p, 1, ALPHA, BETA, &list));
        TRY(compare_with(p, 1, ALPHA, 0, &list));
    } else {
        static char *both[] = {"colmajor", "rowmajor"};
        char *const *layouts = b->layouts.count ? b->layouts.item : both;
        for (int k = 0; k < (b->layouts.count ? b->layouts.count : 2); k++) {
            b->layout = strcmp(layouts[k], "colmajor") == 0 ? TRINE_COLMAJOR : TRINE_ROWMAJOR;
            TRY(compare_with(p, nrhs, ALPHA, 0, &list));
        }
    }
done:
    return status;
}

/** The same values stored in three precisions, for vectors of one. */
static trine_status run_values(spmv_problem *p, int64_t nrhs)
{
    spmv_list list = {.base = 0};
    spmv_list_add(&list, &spmv_trine, "auto");
    if (p->dtype == TRINE_D) spmv_list_add(&list, &spmv_trine, "auto:single");
    spmv_list_add(&list, &spmv_trine, "auto:half");
    return compare_with(p, nrhs, ALPHA, 0, &list);
}

/** Dot products, norms and sums in the launch of the product, beside the product alone. */
static trine_status run_fused(spmv_problem *p, int64_t nrhs)
{
    spmv_list list = {.base = 0};
    spmv_list_add(&list, &spmv_trine, "auto");
    spmv_list_add(&list, &spmv_trine, "auto:fused");
    spmv_list_add(&list, &spmv_trine, "auto:fused-u");
    spmv_list_add(&list, &spmv_trine, "auto:axpy");
    return compare_with(p, nrhs, ALPHA, 0, &list);
}

/** The applications of the thesis relative to the product y := beta y + alpha A x, and CUB's arg-max2 (3.6.2). */
static trine_status run_applications(spmv_problem *p, int64_t nrhs)
{
    bench *b = p->b;
    spmv_list list = {.base = 0};
    spmv_list_add(&list, &spmv_trine, "adaptive");
    spmv_list_add(&list, &spmv_semiring, "max");
    spmv_list_add(&list, &spmv_semiring, "max-column");
    spmv_list_add(&list, &spmv_semiring, "arg-max");
    spmv_list_add(&list, &spmv_semiring, "arg-max2");
    if (b->device.space == TRINE_DEVICE && wants_peer(b, "cub")) spmv_list_add(&list, &spmv_cub, "arg-max2");
    return compare_with(p, nrhs, ALPHA, BETA, &list);
}

/** A user's (+, *) beside the built-in product: strings on a GPU, functions on a CPU beside a plain loop. */
static trine_status run_operators(spmv_problem *p, int64_t nrhs)
{
    bench *b = p->b;
    spmv_list list = {.base = 0};
    if (b->device.space == TRINE_DEVICE) {
        spmv_list_add(&list, &spmv_trine, "adaptive");
        spmv_list_add(&list, &spmv_semiring, "compiled");
    } else {
        spmv_list_add(&list, &spmv_loop, "loop");
        spmv_list_add(&list, &spmv_semiring, "entry");
        spmv_list_add(&list, &spmv_semiring, "segment");
        spmv_list_add(&list, &spmv_semiring, "rows");
    }
    spmv_list_add(&list, &spmv_semiring, "plus-times");
    return compare_with(p, nrhs, 1, 0, &list);
}

/** How long a semiring takes to be there. In a process of its own NVRTC's loading is part of it. */
static trine_status run_creation(spmv_problem *p, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    if (p->b->device.space == TRINE_HOST) return TRINE_SUCCESS; /* nothing is compiled */
    TRY(spmv_problem_set(p, nrhs, 1, 0));
    TRY(bench_turn_begin(p->b));
    TRY(spmv_measure_creation(p));
done:
    bench_turn_end(p->b);
    return status;
}

/** Choices go to a file beside the records. */
static trine_status run_tuning(spmv_problem *p, int64_t nrhs)
{
    bench *b = p->b;
    trine_status status = TRINE_SUCCESS;
    char choices[4096];
    if (b->device.space == TRINE_HOST) return TRINE_SUCCESS; /* there is nothing to tune */
    snprintf(choices, sizeof choices, "%s.choices", b->json_path ? b->json_path : "");
    TRY(spmv_problem_set(p, nrhs, 1, 0));
    for (int k = 0; k < (b->methods.count ? b->methods.count : 1); k++)
        TRY(spmv_measure_tuning(p, b->methods.count ? b->methods.item[k] : "product", b->json_path ? choices : NULL));
done:
    return status;
}

/* In this order: creation before anything has loaded NVRTC. */
static const sweep sweeps[] = {
    {.name = "creation", .matrices = "laplace2d:n=1000", .dtypes = "d", .nrhs = "1", .run = run_creation},
    {.name = "main", .dtypes = "s,d", .nrhs = "1,8,32", .run = run_products},
    {.name = "values", .matrices = "elasticity3d:n=78", .dtypes = "d", .nrhs = "1", .run = run_values, .rounded = true},
    {.name = "fused",
     .matrices = "laplace2d:n=1000 aniso1:n=2500 elasticity3d:n=78",
     .dtypes = "d",
     .nrhs = "1",
     .run = run_fused},
    {.name = "few-entries", .matrices = "random:10000000:1000000", .dtypes = "s,d", .nrhs = "1", .run = run_products},
    {.name = "applications", .dtypes = "s", .nrhs = "1", .run = run_applications},
    {.name = "operators", .dtypes = "s,d", .nrhs = "1", .run = run_operators},
    {.name = "tuning", .matrices = "laplace2d:n=1000", .dtypes = "s,d", .nrhs = "1", .run = run_tuning},
};
enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };

/* ------------------------------------------------------------------ matrices */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

typedef struct {
    char **name;
    int count;
} names;

static trine_status add_name(names *list, const char *text, size_t length)
{
    char **grown = realloc(list->name, (size_t)(list->count + 1) * sizeof *grown);
    if (!grown) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    list->name = grown;
    if (!(grown[list->count] = strndup(text, length))) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    list->count++;
    return TRINE_SUCCESS;
}

/** Table 11, and then every matrix file of the folder that is not there already, by name. */
static trine_status list_all(names *list)
{
    trine_status status = TRINE_SUCCESS;
    for (int i = 0; i < N_TABLE_11; i++) TRY(add_name(list, table_11[i], strlen(table_11[i])));
    DIR *folder = opendir(bench_matrix_folder());
    for (struct dirent *file; folder && !status && (file = readdir(folder));) {
        const char *ending = strstr(file->d_name, ".mtx");
        if (!ending || (strcmp(ending, ".mtx") != 0 && strcmp(ending, ".mtx.gz") != 0)) continue;
        const size_t length = (size_t)(ending - file->d_name);
        int k = 0;
        while (k < list->count &&
               (strlen(list->name[k]) != length || strncmp(list->name[k], file->d_name, length) != 0))
            k++;
        if (k == list->count) status = add_name(list, file->d_name, length);
    }
    if (folder) closedir(folder);
    qsort(list->name + N_TABLE_11, (size_t)(list->count - N_TABLE_11), sizeof *list->name, by_name);
done:
    return status;
}

/** Those of the command line, or else the sweep's own. */
static trine_status list_matrices(const bench *b, const sweep *s, names *list)
{
    trine_status status = TRINE_SUCCESS;
    for (int i = 0; i < b->matrices.count; i++) TRY(add_name(list, b->matrices.item[i], strlen(b->matrices.item[i])));
    if (b->matrices.count) return TRINE_SUCCESS;
    if (!s->matrices) return list_all(list);
    for (const char *at = s->matrices; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        TRY(add_name(list, at, length));
        at += length;
    }
done:
    return status;
}

/* --------------------------------------------------------------------- runs */

/** A matrix that cannot be had, or not in this precision, is a record too. */
static trine_status record_missing(bench *b, const char *spec, trine_dtype dtype, trine_status why)
{
    bench_record r = bench_record_begin("spmv", spec);
    const bool skipped = why == TRINE_ERR_UNSUPPORTED || why == TRINE_ERR_IO || why == TRINE_ERR_MEMORY;
    r.dtype = dtype;
    r.impl = "trine";
    bench_record_fail(&r, skipped ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    fprintf(b->table, "\n%s  %s: %s\n", spec, skipped ? "skipped" : "FAILED", r.reason);
    return bench_record_write(b, &r);
}

static trine_status run_matrix(bench *b, const sweep *s, const char *spec, const bench_list *dtypes,
                               const bench_list *nrhs)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix A = NULL;
    spmv_problem p = {0};
    const trine_status found = spmv_read(b, spec, &A);
    for (int t = 0; t < dtypes->count; t++) {
        const trine_dtype dtype = bench_dtype_of(dtypes->item[t]);
        const trine_status made = found ? found : spmv_problem_make(b, spec, A, dtype, s->rounded, &p);
        if (made) TRY(record_missing(b, spec, dtype, made));
        for (int k = 0; k < nrhs->count && !made; k++) TRY(s->run(&p, strtoll(nrhs->item[k], NULL, 10)));
        spmv_problem_free(&p);
    }
done:
    spmv_problem_free(&p);
    trine_matrix_destroy(&A);
    return status;
}

static trine_status run_sweep(bench *b, const sweep *s)
{
    trine_status status = TRINE_SUCCESS;
    names list = {0};
    const bool own_dtypes = b->dtypes.count == 0, own_nrhs = b->nrhs.count == 0 || s->run != run_products;
    bench_list dtypes = own_dtypes ? bench_list_split(s->dtypes) : b->dtypes;
    bench_list nrhs = own_nrhs ? bench_list_split(s->nrhs) : b->nrhs;
    b->sweep = strcmp(s->name, "main") == 0 ? NULL : s->name;
    TRY(list_matrices(b, s, &list));
    for (int m = 0; m < list.count; m++) TRY(run_matrix(b, s, list.name[m], &dtypes, &nrhs));
done:
    if (own_dtypes) bench_list_free(&dtypes);
    if (own_nrhs) bench_list_free(&nrhs);
    for (int m = 0; m < list.count; m++) free(list.name[m]);
    free(list.name);
    b->sweep = NULL;
    return status;
}

trine_status bench_suite_spmv(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    if (!b->reps_given) b->reps = SAMPLES;
    fprintf(b->table, "times of one product: medians of %d samples of up to 300 products in a row\n", b->reps);
    for (int k = 0; k < b->sweeps.count; k++) {
        int i = 0;
        while (i < N_SWEEPS && strcmp(sweeps[i].name, b->sweeps.item[k]) != 0) i++;
        if (i == N_SWEEPS) return trine_fail(TRINE_ERR_ARGUMENT, "suite spmv has no sweep \"%s\"", b->sweeps.item[k]);
    }
    for (int i = 0; i < N_SWEEPS; i++) {
        bool wanted = b->sweeps.count == 0 && strcmp(sweeps[i].name, "main") == 0;
        for (int k = 0; k < b->sweeps.count; k++) wanted |= strcmp(sweeps[i].name, b->sweeps.item[k]) == 0;
        if (wanted) TRY(run_sweep(b, &sweeps[i]));
    }
done:
    return status;
}
