/* Triangles to solve with, and the check of what a solver made of them. */
#define _GNU_SOURCE /* dladdr */
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trine/direct.h>
#include <unistd.h>

#include "bench.h"

/* ----------------------------------------------------------------- sources */

struct bench_source_s {
    char *spec;
    enum { TRIL, TRIU, TRI, CHOL, LU } kind;
    trine_matrix A;      /* TRIL, TRIU, TRI */
    trine_factor factor; /* CHOL, LU */
};

/* libtrine_direct, loaded when the first factor is asked for and kept. */
static struct {
    void *library;
    __typeof__(trine_factor_create) *create;
    __typeof__(trine_factor_get_info) *get_info;
    __typeof__(trine_factor_get_triangle) *get_triangle;
    __typeof__(trine_factor_get_panels) *get_panels;
    __typeof__(trine_factor_destroy) *destroy;
} direct;

static trine_status load_direct(void)
{
    if (direct.library) return TRINE_SUCCESS;
    char path[1024] = TRINE_DIRECT_SONAME; /* beside libtrine, wherever that is */
    Dl_info trine;
    __typeof__(trine_wall_time) *function = trine_wall_time;
    void *address;
    memcpy(&address, &function, sizeof address);
    const char *slash = dladdr(address, &trine) ? strrchr(trine.dli_fname, '/') : NULL;
    if (slash)
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - trine.dli_fname), trine.dli_fname, TRINE_DIRECT_SONAME);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return trine_fail(TRINE_ERR_NOT_BUILT, "chol: and lu: need libtrine_direct: %s", dlerror());
    direct.create = dlsym(library, "trine_factor_create");
    direct.get_info = dlsym(library, "trine_factor_get_info");
    direct.get_triangle = dlsym(library, "trine_factor_get_triangle");
    direct.get_panels = dlsym(library, "trine_factor_get_panels");
    direct.destroy = dlsym(library, "trine_factor_destroy");
    if (!direct.create || !direct.get_info || !direct.get_triangle || !direct.get_panels || !direct.destroy) {
        dlclose(library);
        return trine_fail(TRINE_ERR_NOT_BUILT, TRINE_DIRECT_SONAME " has no trine_factor_...");
    }
    direct.library = library;
    return TRINE_SUCCESS;
}

const char *bench_matrix_folder(void)
{
    const char *folder = getenv("TRINE_MATRICES");
    return folder && *folder ? folder : "../shared/matrices";
}

trine_status bench_read_matrix(bench *b, const char *name, trine_matrix *A)
{
    static const char *const endings[] = {".mtx.gz", ".mtx"};
    const char *folder = bench_matrix_folder();
    if (access(name, F_OK) == 0) return trine_matrix_read(b->ctx, A, name, TRINE_D);
    for (int i = 0; i < 2; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s%s", folder, name, endings[i]);
        if (access(path, F_OK) == 0) return trine_matrix_read(b->ctx, A, path, TRINE_D);
    }
    if (trine_matrix_gallery(b->ctx, A, name, TRINE_D) == TRINE_SUCCESS) return TRINE_SUCCESS;
    char gallery[200];
    snprintf(gallery, sizeof gallery, "%s", trine_last_error());
    return trine_fail(TRINE_ERR_IO, "\"%s\" is no file, no matrix in %s, and not in the gallery (%s)", name, folder,
                      gallery);
}

trine_status bench_source_open(bench *b, bench_source *source, const char *spec)
{
    static const struct {
        const char *prefix;
        int kind;
    } kinds[] = {{"tril:", TRIL}, {"triu:", TRIU}, {"tri:", TRI}, {"chol:", CHOL}, {"lu:", LU}, {"", TRI}};
    trine_status status = TRINE_SUCCESS;
    trine_matrix A = NULL;
    *source = NULL;

    bench_source s = calloc(1, sizeof *s);
    if (!s || !(s->spec = strdup(spec))) FAIL(TRINE_ERR_MEMORY, "no memory for \"%s\"", spec);
    int k = 0;
    while (strncmp(spec, kinds[k].prefix, strlen(kinds[k].prefix)) != 0) k++;
    s->kind = kinds[k].kind;
    if (s->kind == CHOL || s->kind == LU) TRY(load_direct());
    TRY(bench_read_matrix(b, spec + strlen(kinds[k].prefix), &A));
    if (s->kind == CHOL || s->kind == LU) {
        trine_factor_options options = {.method = s->kind == CHOL ? TRINE_DIRECT_CHOLESKY : TRINE_DIRECT_LU,
                                        .ordering = s->kind == CHOL ? TRINE_ORDERING_METIS : TRINE_ORDERING_AUTO};
        TRY(direct.create(b->ctx, &s->factor, A, &options));
        trine_matrix_destroy(&A);
    } else {
        s->A = A;
    }
    *source = s;
    return TRINE_SUCCESS;
done:
    trine_matrix_destroy(&A);
    bench_source_close(&s);
    return status;
}

void bench_source_close(bench_source *source)
{
    bench_source s = *source;
    if (!s) return;
    trine_matrix_destroy(&s->A);
    if (s->factor) direct.destroy(&s->factor);
    free(s->spec);
    free(s);
    *source = NULL;
}

/* ------------------------------------------------- numbers, four precisions */

double bench_uniform(uint64_t seed, uint64_t counter) /* splitmix64 */
{
    uint64_t z = seed * 0xD1342543DE82EF95u + counter * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

/** A triangle, CSR with ascending columns, on the host. */
typedef struct {
    int64_t n;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    bool lower, unit;
} host_triangle;

#define TEMPLATE "problem.inc"
#include "core/each_dtype.h"

static const struct {
    void (*convert)(const host_triangle *T, void *values);
    void (*convert_panels)(const trine_panels *P, bool transposed, void *values);
    void (*fill)(void *b, int64_t count);
    void (*solve)(const host_triangle *T, const void *b, int64_t stride, void *reference);
    bench_check (*compare)(const host_triangle *T, int threads, const void *b, const void *x, int64_t columns,
                           int64_t row, int64_t col, const void *reference);
} numbers[] = {[TRINE_S] = {convert_s, convert_panels_s, fill_s, solve_s, compare_s},
               [TRINE_D] = {convert_d, convert_panels_d, fill_d, solve_d, compare_d},
               [TRINE_C] = {convert_c, convert_panels_c, fill_c, solve_c, compare_c},
               [TRINE_Z] = {convert_z, convert_panels_z, fill_z, solve_z, compare_z}};

/* ---------------------------------------------------------------- problems */

/** Diagonals that dominate their row of the triangle T (CSR, double, owned by the caller, full diagonal). */
static void make_dominant(int64_t n, const int64_t *offsets, const int32_t *columns, double *values)
{
    for (int64_t i = 0; i < n; i++) {
        double others = 0, *diagonal = NULL;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
            if (columns[k] == i) diagonal = &values[k];
            else others += fabs(values[k]);
        }
        if (fabs(*diagonal) <= others) *diagonal = others > 0 ? copysign(2 * others, *diagonal) : 1;
    }
}

/** The stored triangle in double, CSR, sorted, on the host. */
static trine_status make_triangle(bench *b, bench_source source, trine_uplo uplo, trine_matrix *T, trine_diag *diag)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix part = NULL, turned = NULL, csr = NULL;
    *diag = TRINE_NONUNIT;
    if (source->A) {
        const int64_t *offsets;
        const int32_t *columns;
        const void *values;
        trine_matrix_info info;
        TRY(trine_matrix_get_info(source->A, &info));
        if (info.n_rows != info.n_cols)
            FAIL(TRINE_ERR_STRUCTURE, "the matrix is %lld x %lld, not square", (long long)info.n_rows,
                 (long long)info.n_cols);
        TRY(trine_matrix_triangle(source->A, &part, uplo, TRINE_NONUNIT, 1));
        TRY(trine_matrix_sort(part, T, 1));
        TRY(trine_matrix_get_arrays(*T, &offsets, &columns, &values));
        make_dominant(info.n_rows, offsets, columns, (double *)values); /* T is ours and on the host */
    } else {
        trine_factor_info info;
        TRY(direct.get_info(source->factor, &info));
        if (uplo == TRINE_LOWER) *diag = info.diag_L;
        bool transpose = uplo == TRINE_UPPER && source->kind == CHOL; /* U = L^T is not held */
        TRY(direct.get_triangle(source->factor, transpose ? TRINE_LOWER : uplo, &part));
        if (transpose) TRY(trine_matrix_transpose(part, &turned, TRINE_T));
        TRY(trine_matrix_copy(transpose ? turned : part, &csr, TRINE_HOST, TRINE_CSR, TRINE_D));
        TRY(trine_matrix_sort(csr, T, 0));
    }
done:
    (void)b;
    trine_matrix_destroy(&part);
    trine_matrix_destroy(&turned);
    trine_matrix_destroy(&csr);
    return status;
}

static trine_status view(trine_matrix A, bench_problem *p, host_triangle *T)
{
    T->n = p->n;
    T->lower = (p->uplo == TRINE_LOWER) == (p->op == TRINE_N);
    T->unit = p->diag == TRINE_UNIT;
    return trine_matrix_get_arrays(A, &T->offsets, &T->columns, &T->values);
}

static trine_status count_levels(bench *b, bench_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *offsets = NULL;
    bool lower = (p->uplo == TRINE_LOWER) == (p->op == TRINE_N);
    TRY(ALLOC(b->ctx, offsets, p->n + 1));
    TRY(trine_level_sets(b->ctx, p->host, lower ? TRINE_LOWER : TRINE_UPPER, &p->levels, offsets, NULL, NULL));
    p->min_rows = p->levels ? INT64_MAX : 0;
    p->max_rows = 0;
    for (int64_t k = 0; k < p->levels; k++) {
        int64_t rows = offsets[k + 1] - offsets[k];
        if (rows < p->min_rows) p->min_rows = rows;
        if (rows > p->max_rows) p->max_rows = rows;
    }
done:
    trine_free(b->ctx, TRINE_HOST, offsets);
    return status;
}

/** Panels of the factor's triangle: of L, of which CHOLMOD's U is the transpose, or of SuperLU's U^T; none if the
 *  factor has none. Their values become the triangle's. */
static trine_status place_panels(bench *b, bench_source source, bench_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    const bool upper = p->uplo == TRINE_UPPER;
    void *values = NULL;
    if (direct.get_panels(source->factor, TRINE_LOWER, &p->lower_panels)) {
        p->lower_panels = (trine_panels){0}; /* simplicial, or by UMFPACK */
        return TRINE_SUCCESS;
    }
    p->panels = p->lower_panels;
    if (upper && source->kind == LU) TRY(direct.get_panels(source->factor, TRINE_UPPER, &p->panels));
    const size_t bytes = (size_t)p->panels.value_offsets[p->panels.n_panels] * trine_dtype_size(p->dtype);
    TRY((values = bench_alloc(b->ctx, 1, bytes, true)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    numbers[p->dtype].convert_panels(&p->panels, upper, values);
    p->panels.dtype = p->dtype;
    p->panels.values = NULL;
    TRY(trine_alloc(b->ctx, b->device.space, bytes, &p->panel_values));
    TRY(trine_copy(b->ctx, p->panel_values, b->device.space, values, TRINE_HOST, bytes));
done:
    trine_free(b->ctx, TRINE_HOST, values);
    return status;
}

trine_status bench_problem_make(bench *b, bench_source source, const char *direction, trine_dtype dtype,
                                bench_problem *p)
{
    trine_status status = TRINE_SUCCESS;
    trine_matrix T = NULL, typed = NULL;
    bool forward = strcmp(direction, "forward") == 0;
    trine_uplo fixed = source->kind == TRIL ? TRINE_LOWER : source->kind == TRIU ? TRINE_UPPER : TRINE_UPLO_AUTO;
    memset(p, 0, sizeof *p);
    p->spec = source->spec;
    p->direction = direction;
    p->dtype = dtype;
    p->uplo = b->uplo ? b->uplo : fixed ? fixed : forward ? TRINE_LOWER : TRINE_UPPER;
    p->op = (p->uplo == TRINE_LOWER) == forward ? TRINE_N : TRINE_T;
    if (fixed && fixed != p->uplo)
        FAIL(TRINE_ERR_UNSUPPORTED, "\"%s\" is the other triangle than --uplo", source->spec);

    TRY(make_triangle(b, source, p->uplo, &T, &p->diag));
    p->is_lu = source->kind == LU;
    trine_matrix_info info;
    TRY(trine_matrix_get_info(T, &info));
    p->n = info.n_rows;
    p->nnz = info.nnz;

    host_triangle stored;
    int64_t *offsets;
    int32_t *columns;
    void *values;
    TRY(view(T, p, &stored));
    TRY(trine_matrix_allocate(b->ctx, &typed, TRINE_CSR, dtype, p->n, p->n, p->nnz, &offsets, &columns, &values));
    memcpy(offsets, stored.offsets, (size_t)(p->n + 1) * sizeof *offsets);
    memcpy(columns, stored.columns, (size_t)p->nnz * sizeof *columns);
    numbers[dtype].convert(&stored, values);
    trine_matrix_destroy(&T);

    TRY(trine_matrix_copy(typed, &p->T, b->device.space, TRINE_CSR, dtype));
    if (p->op == TRINE_N) {
        p->host = typed;
        typed = NULL;
    } else {
        TRY(trine_matrix_transpose(typed, &p->host, p->op));
    }
    TRY(count_levels(b, p));
    if (source->factor) TRY(place_panels(b, source, p));
done:
    trine_matrix_destroy(&T);
    trine_matrix_destroy(&typed);
    if (status != TRINE_SUCCESS) bench_problem_free(b, p);
    return status;
}

static void free_vectors(bench *b, bench_problem *p)
{
    trine_free(b->ctx, b->device.space, p->B.data);
    trine_free(b->ctx, b->device.space, p->X.data);
    trine_free(b->ctx, TRINE_HOST, p->host_b);
    trine_free(b->ctx, TRINE_HOST, p->host_x);
    trine_free(b->ctx, TRINE_HOST, p->checked_x);
    trine_free(b->ctx, TRINE_HOST, p->reference);
    p->B.data = p->X.data = p->host_b = p->host_x = p->checked_x = p->reference = NULL;
    p->has_checked = false;
}

static size_t vector_bytes(const bench_problem *p) { return (size_t)(p->n * p->nrhs) * trine_dtype_size(p->dtype); }
/** Distance of neighbours in a column. */
static int64_t stride(const bench_problem *p) { return p->X.layout == TRINE_ROWMAJOR ? p->X.ld : 1; }

trine_status bench_problem_set_nrhs(bench *b, bench_problem *p, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    host_triangle T;
    free_vectors(b, p);
    p->nrhs = nrhs;
    p->X.layout = nrhs == 1 ? TRINE_COLMAJOR : b->layout;
    p->X.rows = p->n;
    p->X.cols = nrhs;
    p->X.ld = p->X.layout == TRINE_ROWMAJOR ? nrhs : p->n > 0 ? p->n : 1;
    p->B = p->X;
    TRY(trine_alloc(b->ctx, b->device.space, vector_bytes(p), &p->B.data));
    TRY(trine_alloc(b->ctx, b->device.space, vector_bytes(p), &p->X.data));
    TRY((p->host_b = bench_alloc(b->ctx, 1, vector_bytes(p), false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((p->host_x = bench_alloc(b->ctx, 1, vector_bytes(p), false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((p->checked_x = bench_alloc(b->ctx, 1, vector_bytes(p), false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY);
    TRY((p->reference = bench_alloc(b->ctx, p->n, sizeof(long double complex), false)) ? TRINE_SUCCESS
                                                                                       : TRINE_ERR_MEMORY);

    numbers[p->dtype].fill(p->host_b, p->n * nrhs);
    TRY(trine_copy(b->ctx, p->B.data, b->device.space, p->host_b, TRINE_HOST, vector_bytes(p)));
    TRY(view(p->host, p, &T));
    numbers[p->dtype].solve(&T, p->host_b, stride(p), p->reference);
done:
    return status;
}

trine_status bench_problem_poison(bench *b, bench_problem *p, bool finite)
{
    memset(p->host_x, finite ? 0x7B : 0xFF, vector_bytes(p)); /* 1e36 and 1e286; a NaN in every precision */
    return trine_copy(b->ctx, p->X.data, b->device.space, p->host_x, TRINE_HOST, vector_bytes(p));
}

trine_status bench_problem_check(bench *b, bench_problem *p, bench_check *found)
{
    trine_status status = TRINE_SUCCESS;
    host_triangle T;
    int64_t longest = 0;
    TRY(view(p->host, p, &T));
    TRY(trine_context_synchronize(b->ctx));
    TRY(trine_copy(b->ctx, p->host_x, TRINE_HOST, p->X.data, b->device.space, vector_bytes(p)));
    if (p->has_checked && memcmp(p->host_x, p->checked_x, vector_bytes(p)) == 0) {
        *found = p->checked;
        goto done;
    }
    *found = numbers[p->dtype].compare(&T, b->device.threads, p->host_b, p->host_x, p->nrhs, stride(p),
                                       p->X.layout == TRINE_ROWMAJOR ? 1 : p->X.ld, p->reference);
    for (int64_t i = 0; i < p->n; i++)
        if (T.offsets[i + 1] - T.offsets[i] > longest) longest = T.offsets[i + 1] - T.offsets[i];
    found->bound = 4 * (double)(longest + 4) * trine_dtype_eps(p->dtype);
    memcpy(p->checked_x, p->host_x, vector_bytes(p));
    p->checked = *found;
    p->has_checked = true;
done:
    return status;
}

void bench_problem_free(bench *b, bench_problem *p)
{
    free_vectors(b, p);
    trine_free(b->ctx, b->device.space, p->panel_values);
    trine_matrix_destroy(&p->T);
    trine_matrix_destroy(&p->host);
}
