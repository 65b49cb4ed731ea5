/* The gallery of matrix generators: its table, the reading of a specification, and how rows become a matrix. */
#include <ctype.h>
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "matrix/gallery/gallery.h"
#include "matrix/files/text.h"

static const double TWO_PI = 6.283185307179586476925286766559;
static const char PHASE[] = "phase"; /* the one key that every entry has */

/* Parameters are read from their defaults: "n=100" is an integer, "E=1.0" (with a point) a real number, "nx=n" has
 * the value of the earlier key n unless it is given, and "uplo=lower|upper" is a choice of which the first is the
 * default. */
typedef struct {
    const char *name, *parameters, *description;
    gallery_make_fn make;
} gallery_entry;

static const gallery_entry entries[] = {
    {"laplace2d", "n=100,nx=n,ny=n", "5-point Laplacian on nx x ny: 4, -1", gallery_laplace2d},
    {"laplace2d_hole", "n=100,nx=n,ny=n", "laplace2d without the grid point (nx/2, ny/2) (pattern of ECOLOGY2)",
     gallery_laplace2d_hole},
    {"laplace2d9", "n=100,nx=n,ny=n", "9-point Laplacian on nx x ny: 8, -1", gallery_laplace2d9},
    {"aniso1", "n=100,nx=n,ny=n", "9-point anisotropic stencil, strong in x (ANISO1)", gallery_aniso1},
    {"aniso2", "n=100,nx=n,ny=n", "9-point anisotropic stencil, strong along x - y = const (ANISO2)", gallery_aniso2},
    {"aniso3", "n=100,nx=n,ny=n", "aniso2 numbered along its strong direction (ANISO3)", gallery_aniso3},
    {"rotate7", "n=100,nx=n,ny=n,alpha=30.0,eps=0.01",
     "hypre's 7-point stencil of diffusion 1 along alpha degrees and eps across", gallery_rotate7},
    {"rotate9", "n=100,nx=n,ny=n,alpha=30.0,eps=0.001",
     "diffusion 1 along alpha degrees and eps across, bilinear finite elements", gallery_rotate9},
    {"grounded2d", "n=100,nx=n,ny=n", "Laplacian of a grid graph, the point (nx/2, ny/2) held at zero (ECOLOGY2?)",
     gallery_grounded2d},
    {"laplace3d", "n=20,nx=n,ny=n,nz=n", "7-point Laplacian on nx x ny x nz: 6, -1", gallery_laplace3d},
    {"laplace3d27", "n=20,nx=n,ny=n,nz=n", "27-point Laplacian on nx x ny x nz: 26, -1", gallery_laplace3d27},
    {"convection3d", "n=20,nx=n,ny=n,nz=n,cx=1.0,cy=0.5,cz=0.25",
     "7-point upwind convection and diffusion, unsymmetric (pattern of ATMOSMOD*)", gallery_convection3d},
    {"transport15", "n=20,nx=n,ny=n,nz=n,c=0.5",
     "15-point stencil of a grid of tetrahedra, unsymmetric (pattern of TRANSPORT)", gallery_transport15},
    {"elasticity3d", "n=10,nx=n,ny=n,nz=n,E=1.0,nu=0.3,spring=1.0",
     "linear elasticity, nx x ny x nz hexahedra, 3 unknowns a node, on springs at x = 0; SPD", gallery_elasticity3d},
    {"hermite_beam", "elements=9999,L=0.1,EI=0.009818", "bending of a beam, cubic Hermite elements (LF10000)",
     gallery_hermite_beam},
    {"kkt_lower", "n=20", "pattern of the lower triangle of nlpkkt160 (n=160), [D 0; B I], 2 level sets",
     gallery_kkt_lower},
    {"random_triangular", "n=1000,levels=10,row=8.0,law=const|uniform|power,seed=1,uplo=lower|upper",
     "triangular with exactly that many level sets", gallery_random_triangular},
    {"powerlaw", "n=1000,degree=8.0,exponent=2.5,seed=1",
     "random graph with a power law of degrees, symmetric, diagonally dominant", gallery_powerlaw},
    {"tridiag", "n=1000,a=-1.0,b=2.0,c=-1.0", "a below, b on, c above the diagonal", gallery_tridiag},
    {"pentadiag", "n=1000,a2=-1.0,a1=-1.0,b=8.0,c1=-1.0,c2=-1.0", "five constant bands, lowest to highest",
     gallery_pentadiag},
    {"random_banded", "n=1000,kl=2,ku=2,seed=1", "random bands, diagonally dominant", gallery_random_banded},
    {"thesis_tridiag", "id=1,n=512,seed=1", "the 20 tridiagonal matrices of the thesis's Table 4",
     gallery_thesis_tridiag},
    {"thesis_pentadiag", "id=1,n=512,seed=1", "the 23 pentadiagonal matrices of the thesis's Table 6",
     gallery_thesis_pentadiag},
    {"diagonal", "n=1000", "diagonal: 1 level set", gallery_diagonal},
    {"chain", "n=1000,uplo=lower|upper", "bidiagonal: n level sets", gallery_chain},
    {"dense_row", "n=1000,uplo=lower|upper", "triangular with one full row", gallery_dense_row},
    {"dense_column", "n=1000,uplo=lower|upper", "triangular with one full column", gallery_dense_column},
    {"arrow", "n=1000,head=last|first,width=1", "diagonal with width full rows and columns, SPD", gallery_arrow},
    {"block_diagonal", "blocks=100,size=30", "dense diagonal blocks, SPD: size level sets in either triangle",
     gallery_block_diagonal},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

int trine_gallery_entry(int i, const char **name, const char **parameters, const char **description)
{
    if (i < 0 || i >= N_ENTRIES) return 0;
    if (name) *name = entries[i].name;
    if (parameters) *parameters = entries[i].parameters;
    if (description) *description = entries[i].description;
    return 1;
}

/* ------------------------------------------------------------ specification */

/** An item "key=value" of a list, not terminated. */
typedef struct {
    const char *key, *value;
    int key_length, value_length;
} pair;

/** Take the next pair off *list; false at the end. Without '=' value is NULL. */
static bool next_pair(const char **list, pair *p)
{
    if (!**list) return false;
    const char *end = *list + strcspn(*list, ",");
    const char *equals = memchr(*list, '=', (size_t)(end - *list));
    p->key = *list;
    p->key_length = (int)((equals ? equals : end) - *list);
    p->value = equals ? equals + 1 : NULL;
    p->value_length = equals ? (int)(end - p->value) : 0;
    *list = *end ? end + 1 : end;
    return true;
}

static bool same(const char *a, int a_length, const char *b, int b_length)
{
    return a_length == b_length && memcmp(a, b, (size_t)a_length) == 0;
}

static int find_parameter(const gallery *g, const char *key, int length)
{
    for (int k = 0; k < g->n_parameters; k++)
        if (same(g->parameter[k].key, g->parameter[k].key_length, key, length)) return k;
    return -1;
}

static trine_status read_number(const gallery *g, const pair *p, bool whole, double *number)
{
    double x;
    const char *end = number_double(p->value, &x);
    if (end == p->value + p->value_length && isfinite(x) && (!whole || (x == floor(x) && fabs(x) <= 0x1p53))) {
        *number = x;
        return TRINE_SUCCESS;
    }
    return trine_fail(TRINE_ERR_ARGUMENT, "%s: \"%.*s\" of %.*s is not a %s number", g->name, p->value_length, p->value,
                      p->key_length, p->key, whole ? "whole" : "finite");
}

/** Where `word` stands in the list "a|b|c". */
static trine_status read_choice(const gallery *g, const pair *p, const pair *choices, double *position)
{
    const char *at = choices->value, *end = at + choices->value_length;
    for (int k = 0; at < end; k++) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const int length = (int)((bar ? bar : end) - at);
        if (same(at, length, p->value, p->value_length)) {
            *position = k;
            return TRINE_SUCCESS;
        }
        at += length + 1;
    }
    return trine_fail(TRINE_ERR_ARGUMENT, "%s: \"%.*s\" of %.*s is none of %.*s", g->name, p->value_length, p->value,
                      p->key_length, p->key, choices->value_length, choices->value);
}

/** The value of one parameter from the text `given`, or from its default `standard`. */
static trine_status read_value(const gallery *g, const pair *standard, const pair *given, double *value)
{
    /* A default has a value: NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    if (memchr(standard->value, '|', (size_t)standard->value_length)) {
        *value = 0;
        return given ? read_choice(g, given, standard, value) : TRINE_SUCCESS;
    }
    if (isalpha((unsigned char)standard->value[0])) { /* another parameter's value */
        if (given) return read_number(g, given, true, value);
        *value = g->parameter[find_parameter(g, standard->value, standard->value_length)].value;
        return TRINE_SUCCESS;
    }
    return read_number(g, given ? given : standard, !memchr(standard->value, '.', (size_t)standard->value_length),
                       value);
}

/** Every key of the specification is known, has a value and comes once. */
static trine_status check_keys(const gallery_entry *entry, const char *list)
{
    pair given, known, other;
    while (next_pair(&list, &given)) {
        REQUIRE(given.key_length && given.value && given.value_length, "%s: \"%.*s\" is not key=value", entry->name,
                (int)strcspn(given.key, ","), given.key);
        bool found = same(given.key, given.key_length, PHASE, sizeof PHASE - 1);
        for (const char *rest = entry->parameters; !found && next_pair(&rest, &known);)
            found = same(given.key, given.key_length, known.key, known.key_length);
        REQUIRE(found, "%s has no parameter \"%.*s\"; it has %s,%s=0", entry->name, given.key_length, given.key,
                entry->parameters, PHASE);
        for (const char *rest = list; next_pair(&rest, &other);)
            REQUIRE(!same(given.key, given.key_length, other.key, other.key_length), "%s: %.*s is given twice",
                    entry->name, given.key_length, given.key);
    }
    return TRINE_SUCCESS;
}

static bool find_given(const char *list, const char *key, int length, pair *given)
{
    while (next_pair(&list, given))
        if (same(given->key, given->key_length, key, length)) return true;
    return false;
}

/** All parameters of g, from its entry's defaults and the specification. */
static trine_status read_parameters(gallery *g, const gallery_entry *entry, const char *list)
{
    trine_status status = check_keys(entry, list);
    if (status) return status;
    static const char phase_default[] = "phase=0";
    const char *const sources[] = {entry->parameters, phase_default};
    for (int s = 0; s < 2; s++) {
        pair standard, given;
        for (const char *rest = sources[s]; next_pair(&rest, &standard); g->n_parameters++) {
            const bool is_given = find_given(list, standard.key, standard.key_length, &given);
            double value = 0;
            TRY(read_value(g, &standard, is_given ? &given : NULL, &value));
            g->parameter[g->n_parameters].key = standard.key;
            g->parameter[g->n_parameters].key_length = standard.key_length;
            g->parameter[g->n_parameters].value = value;
        }
    }
done:
    return status;
}

double gallery_real(const gallery *g, const char *key)
{
    return g->parameter[find_parameter(g, key, (int)strlen(key))].value;
}

trine_status gallery_integer(const gallery *g, const char *key, int64_t min, int64_t max, int64_t *value)
{
    *value = (int64_t)gallery_real(g, key);
    REQUIRE(*value >= min && *value <= max, "%s: %s = %lld is outside %lld..%lld", g->name, key, (long long)*value,
            (long long)min, (long long)max);
    return TRINE_SUCCESS;
}

trine_status gallery_check_order(const gallery *g, double count)
{
    REQUIRE(count <= INT_MAX, "%s: %.0f rows are more than 2^31 - 1", g->name, count);
    return TRINE_SUCCESS;
}

/* --------------------------------------------------------------------- rows */

#define TEMPLATE "matrix/gallery/gallery_store.inc"
#include "core/each_dtype.h"

typedef void (*store_fn)(void *values, int64_t at, int64_t row, int64_t count, const int32_t *columns, const double *x,
                         uint64_t phase);
static const store_fn store[] = TABLE(store);

trine_status gallery_rows(gallery *g, int64_t n, gallery_row_fn row, const void *state)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = g->ctx;
    const uint64_t phase = (uint64_t)gallery_real(g, PHASE);
    const store_fn store_row = store[g->dtype];
    int64_t *offsets = NULL, longest = 0;
    double *scratch = NULL; /* one row a thread */
    TRY(ALLOC(ctx, offsets, n + 1));
    offsets[0] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : longest)
    for (int64_t i = 0; i < n; i++) {
        offsets[i + 1] = row(state, i, NULL, NULL);
        if (offsets[i + 1] > longest) longest = offsets[i + 1];
    }
    for (int64_t i = 0; i < n; i++) offsets[i + 1] += offsets[i];
    TRY(ALLOC(ctx, scratch, ctx->threads * longest));
    TRY(matrix_new(ctx, &g->A, TRINE_CSR, g->dtype, n, n, offsets[n], true));
    trine_matrix A = g->A;
    memcpy(A->offsets, offsets, (size_t)(n + 1) * sizeof *offsets);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double *x = scratch + omp_get_thread_num() * longest;
        int32_t *columns = A->indices + offsets[i];
        const int64_t count = row(state, i, columns, x);
        store_row(A->values, offsets[i], i, count, columns, x, phase);
    }
done:
    trine_free(ctx, TRINE_HOST, offsets);
    trine_free(ctx, TRINE_HOST, scratch);
    return status;
}

trine_status trine_matrix_gallery(trine_context ctx, trine_matrix *A, const char *spec, trine_dtype t)
{
    REQUIRE(A, "A is NULL");
    *A = NULL;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(spec, "spec is NULL");
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    const int name_length = (int)strcspn(spec, ":");
    const gallery_entry *entry = NULL;
    for (int i = 0; i < N_ENTRIES && !entry; i++)
        if (same(entries[i].name, (int)strlen(entries[i].name), spec, name_length)) entry = &entries[i];
    REQUIRE(entry, "the gallery has no matrix \"%.*s\"; trine_gallery_entry lists what it has", name_length, spec);
    gallery g = {.ctx = ctx, .dtype = t, .name = entry->name};
    trine_status status = TRINE_SUCCESS;
    int64_t phase;
    TRY(read_parameters(&g, entry, spec[name_length] ? spec + name_length + 1 : ""));
    TRY(gallery_integer(&g, PHASE, 0, INT_MAX, &phase));
    if (phase && !trine_dtype_is_complex(t))
        FAIL(TRINE_ERR_ARGUMENT, "%s: phase = %lld needs a complex type", g.name, (long long)phase);
    TRY(entry->make(&g));
    *A = g.A;
done:
    if (status) trine_matrix_destroy(&g.A);
    return status;
}
