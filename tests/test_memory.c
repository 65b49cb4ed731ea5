/* trine_MODULE_memory against what the plan then takes, by allocators that count. */
#include "core/test_interface.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64, MOST_BLOCKS = 4096 };

/** Bytes in one space. */
typedef struct { int64_t live, peak; } space_count;

typedef struct {
    space_count host, device;
    trine_context behind;             /* device memory comes from it */
    struct {
        void *p;
        int64_t bytes;
    } blocks[MOST_BLOCKS]; /* on the device */
    int n_blocks;
} counter;

static void count(space_count *c, int64_t bytes)
{
    c->live += bytes;
    if (c->live > c->peak) c->peak = c->live;
}

static void *take_host(void *user, size_t bytes)
{
    int64_t *block = aligned_alloc(HEADER, (HEADER + bytes + HEADER - 1) / HEADER * HEADER);
    if (!block) return NULL;
    *block = (int64_t)bytes;
    count(&((counter *)user)->host, *block);
    return (char *)block + HEADER;
}
static void release_host(void *user, void *p)
{
    int64_t *block = (int64_t *)((char *)p - HEADER);
    count(&((counter *)user)->host, -*block);
    free(block);
}
static void *take_device(void *user, size_t bytes)
{
    counter *c = user;
    void *p = NULL;
    assert_true(c->n_blocks < MOST_BLOCKS);
    if (trine_alloc(c->behind, TRINE_DEVICE, bytes, &p)) return NULL;
    c->blocks[c->n_blocks].p = p, c->blocks[c->n_blocks++].bytes = (int64_t)bytes;
    count(&c->device, (int64_t)bytes);
    return p;
}
static void release_device(void *user, void *p)
{
    counter *c = user;
    for (int k = 0; k < c->n_blocks; k++)
        if (c->blocks[k].p == p) {
            count(&c->device, -c->blocks[k].bytes);
            c->blocks[k] = c->blocks[--c->n_blocks];
            trine_free(c->behind, TRINE_DEVICE, p);
            return;
        }
    fail_msg("memory that was not taken here is released");
}

/** A context that counts, and one that does not. */
static counter counted;
static trine_context ctx, plain;

static void open_contexts(void)
{
    counted = (counter){0};
    const char *where = test_on_gpu() ? "cuda" : "cpu:2"; /* of what many threads share, more is told than they take */
    OK(trine_context_create(&plain, where));
    OK(trine_context_create(&ctx, where));
    counted.behind = plain;
    const trine_allocator host = {take_host, release_host, &counted}, device = {take_device, release_device, &counted};
    OK(trine_context_set_allocator(ctx, &host, &device));
}
static void close_contexts(void)
{
    assert_int_equal(counted.host.live, 0);
    assert_int_equal(counted.device.live, 0);
    OK(trine_context_destroy(&ctx));
    OK(trine_context_destroy(&plain));
}

/** Begin to count anew; nothing is allocated. */
static void begin_count(void)
{
    assert_int_equal(counted.host.live, 0);
    assert_int_equal(counted.device.live, 0);
    counted.host.peak = counted.device.peak = 0;
}

/** How much more than what is taken may be told: times what is kept and what is needed meanwhile, and so many bytes. */
typedef struct {
    double kept, peak;
    int64_t bytes;
} bounds;
static const bounds exactly = {1, 1, 1024};

static void check_told(const trine_memory *told, bounds most, const char *what)
{
    const int64_t kept = counted.host.live + counted.device.live, peak = counted.host.peak + counted.device.peak;
    const bool holds = counted.host.live <= told->host_kept && counted.device.live <= told->device_kept &&
                       counted.host.peak <= told->host_peak && counted.device.peak <= told->device_peak;
    const bool is_close =
        (double)(told->host_kept + told->device_kept) <= most.kept * (double)kept + (double)most.bytes &&
        (double)(told->host_peak + told->device_peak) <= most.peak * (double)peak + (double)most.bytes;
    if (!holds || !is_close)
        fail_msg("%s: host kept %lld of %lld told, peak %lld of %lld; device kept %lld of %lld, peak %lld of %lld",
                 what, (long long)counted.host.live, (long long)told->host_kept, (long long)counted.host.peak,
                 (long long)told->host_peak, (long long)counted.device.live, (long long)told->device_kept,
                 (long long)counted.device.peak, (long long)told->device_peak);
    for (int k = 0; k < 4; k++) assert_int_equal(told->reserved[k], 0);
}

static const char *const triangles[] = {"laplace2d:n=70",
                                        "laplace3d:n=17",
                                        "arrow:n=3000,head=first",
                                        "arrow:n=3000,width=3",
                                        "random_triangular:n=6000,levels=4,row=8",
                                        "random_triangular:n=6000,levels=300,row=6,law=power",
                                        "random_triangular:n=5000,levels=40,row=20,uplo=upper",
                                        "random_banded:n=4000,kl=5,ku=5",
                                        "block_diagonal:blocks=100,size=30",
                                        "chain:n=5000",
                                        "diagonal:n=5000",
                                        "powerlaw:n=4000",
                                        "dense_row:n=4000",
                                        "dense_column:n=4000"};
enum { N_TRIANGLES = sizeof triangles / sizeof *triangles };

/** T, a triangle of a gallery matrix or all of it (other entries are then to be left out), in a format and a space. */
static trine_matrix make_triangle(const char *spec, trine_dtype t, int variant, trine_triangular_options *o)
{
    trine_matrix A, B;
    OK(trine_matrix_gallery(plain, &A, spec, t));
    o->uplo = strstr(spec, "upper") ? TRINE_UPPER : TRINE_LOWER;
    if (variant & 1) {
        OK(trine_matrix_copy(A, &B, TRINE_HOST, TRINE_CSC, t));
    } else {
        OK(trine_matrix_triangle(A, &B, o->uplo, TRINE_NONUNIT, 0));
        o->uplo = TRINE_UPLO_AUTO;
    }
    OK(trine_matrix_destroy(&A));
    if (test_on_gpu() && variant & 2) {
        trine_matrix_info info;
        OK(trine_matrix_get_info(B, &info));
        OK(trine_matrix_copy(B, &A, TRINE_DEVICE, info.format, t));
        OK(trine_matrix_destroy(&B));
        B = A;
    }
    if (variant & 1 && strstr(spec, "chain")) o->diag = TRINE_UNIT;
    return B;
}

static bounds factor_of(const trine_triangular_options *o, bool inverses)
{
    if (inverses) /* as if the limit were reached */
        return (bounds){1e6, 1e6, 0};
    if (test_on_gpu()) return o->method == TRINE_TRI_LEVELSET ? (bounds){12, 12, 65536} : (bounds){3, 4, 65536};
    return o->max_nrhs > 1 ? (bounds){2.5, 4, 32768} : (bounds){2, 3, 32768};
}

static void triangular_plans_take_what_was_told(void **state)
{
    (void)state;
    static const trine_triangular_method on_cpu[] = {TRINE_TRI_AUTO, TRINE_TRI_SERIAL, TRINE_TRI_LEVELSET,
                                                     TRINE_TRI_PARTITIONED_INVERSE, TRINE_TRI_AUTO},
                                         on_gpu[] = {TRINE_TRI_AUTO, TRINE_TRI_LEVELSET, TRINE_TRI_SYNCFREE_CSC,
                                                     TRINE_TRI_PARTITIONED_INVERSE, TRINE_TRI_AUTO};
    static const unsigned ops[] = {TRINE_N, TRINE_T, TRINE_N | TRINE_T};
    open_contexts();
    for (int k = 0; k < N_TRIANGLES; k++)
        for (int variant = 0; variant < (test_on_gpu() ? 4 : 2); variant++)
            for (int method = 0; method < 5; method++)
                for (int o = 0; o < 3; o++) {
                    const trine_dtype t = (trine_dtype)(TRINE_S + (k + variant + method + o) % 4);
                    const bool takes = method == 4; /* AUTO takes inverses wherever it may */
                    trine_triangular_options options = {.method = (test_on_gpu() ? on_gpu : on_cpu)[method],
                                                        .ops = ops[o],
                                                        .max_nrhs = (variant + o) % 2 ? 32 : 1,
                                                        .tune.row_order = takes ? 0 : (k + method) % 3};
                    const bool inverses = method >= 3 || (test_on_gpu() && method == 0 && !options.tune.row_order);
                    trine_triangular plan;
                    trine_triangular_pretend(takes ? 1e9 : 0);
                    trine_memory told;
                    trine_matrix_info info;
                    char what[200];
                    trine_matrix T = make_triangle(triangles[k], t, variant, &options);
                    OK(trine_matrix_get_info(T, &info));
                    snprintf(what, sizeof what, "%s, variant %d, %s, ops %u, %lld right-hand sides, dtype %d, order %d",
                             triangles[k], variant, trine_triangular_method_name(options.method), options.ops,
                             (long long)options.max_nrhs, (int)t, options.tune.row_order);
                    begin_count();
                    memset(&told, 0xFF, sizeof told);
                    OK(trine_triangular_memory(ctx, T, &options, &told));
                    begin_count(); /* nothing has stayed */
                    OK(trine_triangular_analyse(ctx, &plan, T, &options));
                    check_told(&told, factor_of(&options, inverses), what);
                    trine_triangular_pretend(0);
                    size_t work;
                    OK(trine_triangular_work(plan, options.max_nrhs, NULL, &work, NULL));
                    assert_true((int64_t)work <= told.work);
                    OK(trine_triangular_destroy(&plan));
                    OK(trine_matrix_destroy(&T));
                }
    close_contexts();
}

/** Asking takes no more than O(n), wherever the pattern is. */
static void asking_takes_little(void **state)
{
    (void)state;
    open_contexts();
    trine_triangular_options options = {0};
    trine_memory told;
    for (int variant = 0; variant < 4; variant++) {
        trine_matrix T = make_triangle("random_banded:n=3000,kl=40,ku=40", TRINE_D, variant, &options);
        begin_count();
        OK(trine_triangular_memory(ctx, T, &options, &told));
        assert_true(counted.host.peak + counted.device.peak <= 3001 * 8 + 3000 * 4);
        assert_true(told.host_kept + told.device_kept > 3000 * 40 * 20);
        OK(trine_matrix_destroy(&T));
    }
    close_contexts();
}

static void supernodal_plans_take_what_was_told(void **state)
{
    (void)state;
    static const trine_supernodal_variant variants[] = {TRINE_VARIANT_AUTO, TRINE_VARIANT_DEFAULT, TRINE_VARIANT_STREAM,
                                                        TRINE_VARIANT_TEAM, TRINE_VARIANT_SPMV};
    static const trine_supernodal_invert inversions[] = {TRINE_INVERT_AUTO, TRINE_INVERT_OFF, TRINE_INVERT_DIAG,
                                                         TRINE_INVERT_NONE};
    static const char *const specs[] = {"laplace2d:n=40",
                                        "laplace3d:n=12",
                                        "arrow:n=1000,width=3",
                                        "random_triangular:n=2000,levels=100,row=6",
                                        "random_banded:n=2000,kl=5,ku=5",
                                        "block_diagonal:blocks=60,size=30"};
    open_contexts();
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int v = 0; v < 5; v++)
            for (int i = 0; i < 4; i++) {
                const trine_dtype t = (trine_dtype)(TRINE_S + (k + (size_t)v + (size_t)i) % 4);
                const bool single = (t == TRINE_D || t == TRINE_Z) && i == 1;
                const trine_supernodal_options options = {
                    .variant = variants[v],
                    .invert = variants[v] == TRINE_VARIANT_SPMV && i == 3 ? TRINE_INVERT_AUTO : inversions[i],
                    .max_nrhs = (k + (size_t)v) % 2 ? 32 : 1,
                    .single = single};
                trine_matrix A, L;
                trine_panels panels;
                trine_memory told;
                trine_supernodal plan;
                char what[200];
                snprintf(what, sizeof what, "%s, variant %d, inversion %d, %lld right-hand sides, dtype %d", specs[k],
                         v, i, (long long)options.max_nrhs, (int)t);
                OK(trine_matrix_gallery(plain, &A, specs[k], t));
                OK(trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
                OK(trine_panels_detect(plain, L, NULL, &panels));
                begin_count();
                memset(&told, 0xFF, sizeof told);
                OK(trine_supernodal_memory(ctx, &panels, &options, &told));
                begin_count();
                OK(trine_supernodal_analyse(ctx, &plan, &panels, &options));
                check_told(&told, exactly, what);
                size_t work;
                OK(trine_supernodal_work(plan, options.max_nrhs, NULL, &work, NULL));
                assert_int_equal(work, told.work);
                OK(trine_supernodal_destroy(&plan));
                trine_panels_free(plain, &panels);
                OK(trine_matrix_destroy(&L));
                OK(trine_matrix_destroy(&A));
            }
    close_contexts();
}

static void tridiagonal_plans_take_what_was_told(void **state)
{
    (void)state;
    static const char *const specs[] = {"tridiag:n=5000",   "tridiag:n=1",
                                        "pentadiag:n=4000", "random_banded:n=3000,kl=7,ku=2",
                                        "diagonal:n=100",   "tridiag:n=30"};
    open_contexts();
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int variant = 0; variant < 16; variant++) {
            const trine_dtype t = (trine_dtype)(TRINE_S + (k + (size_t)variant) % 4);
            const trine_tridiagonal_options options = {.bands = variant & 8 ? TRINE_BANDS_BLOCKS : TRINE_BANDS_AUTO,
                                                       .max_nrhs = variant & 1 ? 32 : 1,
                                                       .refine = variant >> 1 & 1,
                                                       .memory = variant & 4 ? TRINE_MEMORY_SMALL : TRINE_MEMORY_FAST};
            trine_matrix A;
            trine_memory told;
            trine_tridiagonal plan;
            char what[200];
            snprintf(what, sizeof what, "%s, variant %d", specs[k], variant);
            OK(trine_matrix_gallery(plain, &A, specs[k], t));
            begin_count();
            memset(&told, 0xFF, sizeof told);
            OK(trine_tridiagonal_memory(ctx, A, &options, &told));
            begin_count();
            OK(trine_tridiagonal_analyse(ctx, &plan, A, &options));
            check_told(&told, exactly, what);
            size_t work;
            OK(trine_tridiagonal_work(plan, options.max_nrhs, NULL, &work, NULL));
            assert_int_equal(work, told.work);
            OK(trine_tridiagonal_destroy(&plan));
            OK(trine_matrix_destroy(&A));
        }
    close_contexts();
}

/** A matrix of the gallery, on the GPU if that is wanted and there is one. */
static trine_matrix make_matrix(const char *spec, trine_dtype t, int on_device, int by_columns)
{
    trine_matrix A, B;
    OK(trine_matrix_gallery(plain, &B, spec, t));
    OK(trine_matrix_copy(B, &A, test_on_gpu() && on_device ? TRINE_DEVICE : TRINE_HOST,
                         by_columns ? TRINE_CSC : TRINE_CSR, t));
    OK(trine_matrix_destroy(&B));
    return A;
}

static void products_take_what_was_told(void **state)
{
    (void)state;
    static const char *const specs[] = {"laplace2d:n=70", "powerlaw:n=4000", "dense_row:n=4000", "diagonal:n=100"};
    static const unsigned ops[] = {TRINE_N, TRINE_T, TRINE_N | TRINE_H};
    open_contexts();
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int variant = 0; variant < 12; variant++) {
            const trine_dtype t = (trine_dtype)(TRINE_S + (k + (size_t)variant) % 4);
            const trine_spmv_options options = {.ops = ops[variant % 3],
                                                .max_nrhs = variant & 1 ? 32 : 1,
                                                .values = variant & 2 ? TRINE_VALUES_SINGLE : TRINE_VALUES_SAME};
            trine_memory told;
            trine_spmv plan;
            char what[200];
            snprintf(what, sizeof what, "%s, variant %d", specs[k], variant);
            trine_matrix A = make_matrix(specs[k], t, variant & 1, variant & 4);
            begin_count();
            memset(&told, 0xFF, sizeof told);
            OK(trine_spmv_memory(ctx, A, &options, &told));
            assert_int_equal(counted.host.peak, 0);
            OK(trine_spmv_analyse(ctx, &plan, A, &options));
            check_told(&told, (bounds){2, 2, 65536}, what);
            size_t work;
            OK(trine_spmv_work(plan, options.max_nrhs, NULL, &work, NULL));
            assert_true((int64_t)work <= told.work);
            OK(trine_spmv_destroy(&plan));
            OK(trine_matrix_destroy(&A));
        }
    close_contexts();
}

static void forests_take_what_was_told(void **state)
{
    (void)state;
    static const char *const specs[] = {"laplace2d:n=70", "chain:n=5000", "powerlaw:n=4000", "diagonal:n=100"};
    open_contexts();
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int variant = 0; variant < 12; variant++) {
            const trine_dtype t = (trine_dtype)(TRINE_S + (k + (size_t)variant) % 4);
            const trine_forest_options options = {.max_n = variant % 3 * 3, .blocks = variant & 1};
            trine_memory told;
            trine_forest forest;
            char what[200];
            snprintf(what, sizeof what, "%s, variant %d", specs[k], variant);
            trine_matrix A = make_matrix(specs[k], t, variant & 2, variant & 4);
            begin_count();
            memset(&told, 0xFF, sizeof told);
            OK(trine_forest_memory(ctx, A, &options, &told));
            begin_count(); /* nothing has stayed */
            OK(trine_forest_create(ctx, &forest, A, &options));
            check_told(&told, (bounds){2, 2, 65536}, what);
            OK(trine_forest_destroy(&forest));
            OK(trine_matrix_destroy(&A));
        }
    close_contexts();
}

static trine_precond_options precond_variant(trine_precond_method method, int variant)
{
    return (trine_precond_options){.method = method,
                                   .m = method == TRINE_PRECOND_ADI ? 0 : 1 + variant % 3,
                                   .ops = variant & 1 && method != TRINE_PRECOND_IC0 ? TRINE_N | TRINE_T : TRINE_N,
                                   .max_nrhs = variant & 2 ? 8 : 1,
                                   .pattern = variant & 4 ? TRINE_PATTERN_MAX_N : TRINE_PATTERN_AUTO,
                                   .pattern_entries = 3,
                                   .shift = variant & 4 ? 0.1 : 0,
                                   .sweeps = 1 + variant % 2,
                                   .nx = 60,
                                   .ny = 60};
}

/** On a GPU triangles of incomplete factorizations may be solved by inverses: told as if their limit were reached. */
static bounds factor_of_preconditioner(int method)
{
    const bool factors = method == TRINE_PRECOND_ILU0 || method == TRINE_PRECOND_ILUK || method == TRINE_PRECOND_ILUT ||
                         method == TRINE_PRECOND_IC0;
    return test_on_gpu() && factors ? (bounds){1e6, 1e6, 0} : (bounds){3, 3, 65536};
}

static void preconditioners_take_what_was_told(void **state)
{
    (void)state;
    static const char *const specs[] = {"laplace2d:n=60", "rotate7:n=60", "random_banded:n=3600,kl=4,ku=2"};
    open_contexts();
    for (int method = 0; method < TRINE_PRECOND_METHODS; method++)
        for (int variant = 0; variant < 8; variant++) {
            if (method == TRINE_PRECOND_PRODUCT) continue;
            const int k = (method + variant) % 3;
            const trine_dtype t = (trine_dtype)(TRINE_S + (method + variant) % 4);
            const trine_precond_options options = precond_variant((trine_precond_method)method, variant);
            trine_memory told;
            trine_precond plan;
            char what[200];
            snprintf(what, sizeof what, "%s of %s, variant %d", trine_precond_method_name((trine_precond_method)method),
                     specs[k], variant);
            trine_matrix A = make_matrix(specs[k], t, variant & 2, variant & 4);
            begin_count();
            memset(&told, 0xFF, sizeof told);
            OK(trine_precond_memory(ctx, A, &options, &told));
            begin_count(); /* nothing has stayed */
            OK(trine_precond_analyse(ctx, &plan, A, &options));
            check_told(&told, factor_of_preconditioner(method), what);
            size_t work;
            OK(trine_precond_work(plan, options.max_nrhs, NULL, &work, NULL));
            assert_true((int64_t)work <= told.work);
            OK(trine_precond_destroy(&plan));
            OK(trine_matrix_destroy(&A));
        }
    close_contexts();
}

static void krylov_solvers_take_what_was_told(void **state)
{
    (void)state;
    open_contexts();
    for (int method = TRINE_KRYLOV_AUTO; method <= TRINE_KRYLOV_MINRES; method++)
        for (int variant = 0; variant < 8; variant++) {
            const bool complex = variant & 1, mixed = variant & 2, alternates = method == TRINE_KRYLOV_FGMRES;
            const trine_dtype t = complex ? TRINE_Z : TRINE_D;
            const trine_krylov_options options = {.method = (trine_krylov_method)method,
                                                  .restart = variant & 4 ? 7 : 0,
                                                  .max_nrhs = variant & 4 ? 3 : 1,
                                                  .history = variant & 1 ? 100 : 0,
                                                  .inner = !mixed    ? 0
                                                           : complex ? TRINE_C
                                                                     : TRINE_S};
            trine_matrix A;
            trine_spmv product;
            trine_precond precond;
            trine_op A_op, M[2];
            trine_memory told;
            trine_krylov plan;
            char what[100];
            snprintf(what, sizeof what, "%s, variant %d", trine_krylov_method_name((trine_krylov_method)method),
                     variant);
            OK(trine_matrix_gallery(plain, &A, "laplace2d:n=60", t));
            OK(trine_spmv_analyse(ctx, &product, A, &(trine_spmv_options){.max_nrhs = 4}));
            OK(trine_precond_analyse(ctx, &precond, A,
                                     &(trine_precond_options){.method = TRINE_PRECOND_MOS_D, .m = 2, .max_nrhs = 4}));
            OK(trine_precond_numeric(precond, TRINE_HOST, NULL, TRINE_REUSE_FORESTS, NULL));
            OK(trine_spmv_as_op(product, &A_op));
            for (int l = 0; l < 2; l++) OK(trine_precond_part(precond, l, &M[l]));
            const space_count host = counted.host, device = counted.device; /* of the operators */
            counted.host = counted.device = (space_count){0};
            memset(&told, 0xFF, sizeof told);
            OK(trine_krylov_memory(ctx, A_op, alternates ? 2 : 1, method == TRINE_KRYLOV_CG ? NULL : M, &options,
                                   &told));
            begin_count(); /* nothing has stayed */
            if (alternates) OK(trine_krylov_create_alternating(ctx, &plan, A_op, 2, M, &options));
            else OK(trine_krylov_create(ctx, &plan, A_op, method == TRINE_KRYLOV_CG ? NULL : M[0], &options));
            check_told(&told, (bounds){1, 1, 8192}, what);
            size_t work;
            OK(trine_krylov_work(plan, options.max_nrhs, NULL, &work, NULL));
            assert_int_equal(work, told.work);
            OK(trine_krylov_destroy(&plan));
            counted.host = host;
            counted.device = device;
            for (int l = 0; l < 2; l++) OK(trine_op_destroy(&M[l]));
            OK(trine_op_destroy(&A_op));
            OK(trine_precond_destroy(&precond));
            OK(trine_spmv_destroy(&product));
            OK(trine_matrix_destroy(&A));
        }
    close_contexts();
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    open_contexts();
    trine_matrix A, L;
    trine_panels panels;
    trine_memory told;
    OK(trine_matrix_gallery(plain, &A, "laplace2d:n=10", TRINE_D));
    OK(trine_matrix_triangle(A, &L, TRINE_LOWER, TRINE_NONUNIT, 0));
    OK(trine_panels_detect(plain, L, NULL, &panels));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_triangular_memory(NULL, L, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "T is NULL", trine_triangular_memory(ctx, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_triangular_memory(ctx, L, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "max_nrhs",
          trine_triangular_memory(ctx, L, &(trine_triangular_options){.max_nrhs = -1}, &told));
    FAILS(TRINE_ERR_STRUCTURE, "both triangles", trine_triangular_memory(ctx, A, NULL, &told));
    FAILS(TRINE_ERR_MEMORY, "right-hand sides",
          trine_triangular_memory(ctx, L, &(trine_triangular_options){.max_nrhs = INT64_MAX}, &told));
    FAILS(TRINE_ERR_UNSUPPORTED, "runs on",
          trine_triangular_memory(
              ctx, L, &(trine_triangular_options){.method = test_on_gpu() ? TRINE_TRI_SERIAL : TRINE_TRI_SYNCFREE_CSR},
              &told));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_supernodal_memory(NULL, &panels, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "panels is NULL", trine_supernodal_memory(ctx, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_supernodal_memory(ctx, &panels, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_tridiagonal_memory(NULL, A, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_tridiagonal_memory(ctx, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_tridiagonal_memory(ctx, A, NULL, NULL));
    FAILS(TRINE_ERR_STRUCTURE, "bands", trine_tridiagonal_memory(ctx, A, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_forest_memory(NULL, A, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_forest_memory(ctx, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_forest_memory(ctx, A, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "max_n", trine_forest_memory(ctx, A, &(trine_forest_options){.max_n = 9}, &told));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_precond_memory(NULL, A, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_precond_memory(ctx, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_precond_memory(ctx, A, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "m is 33",
          trine_precond_memory(ctx, A, &(trine_precond_options){.method = TRINE_PRECOND_ALT_I, .m = 33}, &told));
    FAILS(TRINE_ERR_ARGUMENT, "grid",
          trine_precond_memory(ctx, A, &(trine_precond_options){.method = TRINE_PRECOND_ADI, .nx = 7, .ny = 7}, &told));
    trine_op identity;
    OK(trine_op_identity(ctx, &identity, TRINE_D, 10));
    FAILS(TRINE_ERR_ARGUMENT, "ctx is NULL", trine_krylov_memory(NULL, identity, 1, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "A is NULL", trine_krylov_memory(ctx, NULL, 1, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "memory is NULL", trine_krylov_memory(ctx, identity, 1, NULL, NULL, NULL));
    FAILS(TRINE_ERR_ARGUMENT, "m is 0", trine_krylov_memory(ctx, identity, 0, NULL, NULL, &told));
    FAILS(TRINE_ERR_ARGUMENT, "restart",
          trine_krylov_memory(ctx, identity, 1, NULL, &(trine_krylov_options){.restart = -1}, &told));
    OK(trine_op_destroy(&identity));
    begin_count(); /* nothing stays allocated after a failure */
    trine_panels_free(plain, &panels);
    OK(trine_matrix_destroy(&L));
    OK(trine_matrix_destroy(&A));
    close_contexts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangular_plans_take_what_was_told), cmocka_unit_test(asking_takes_little),
        cmocka_unit_test(supernodal_plans_take_what_was_told), cmocka_unit_test(tridiagonal_plans_take_what_was_told),
        cmocka_unit_test(products_take_what_was_told),         cmocka_unit_test(forests_take_what_was_told),
        cmocka_unit_test(preconditioners_take_what_was_told),  cmocka_unit_test(krylov_solvers_take_what_was_told),
        cmocka_unit_test(wrong_questions_are_refused),
    };
    return TEST_MAIN(tests);
}
