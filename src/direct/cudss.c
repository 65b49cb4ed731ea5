/* NVIDIA cuDSS: ordering, factorization and solve on the GPU, all of them the library's. It is loaded at run time where
 * it is installed, and its few functions are declared here as version 1 has them, so that nothing of it is needed to
 * build. https://docs.nvidia.com/cuda/cudss */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "direct/direct.h"

/* ----------------------------------------------------------------- the library */

#define CUDSS_SONAME "libcudss.so.1"
enum {
    MAJOR_VERSION = 0, /* libraryPropertyType */
    CONFIG_SOLVE_MODE = 4,
    DATA_INFO = 0,
    DATA_LU_NNZ = 1,
    DATA_NPIVOTS = 2,
    PHASE_ANALYSIS = 3,
    PHASE_FACTORIZATION = 4,
    PHASE_REFACTORIZATION = 8,
    PHASE_SOLVE = 0x3f0,
    TYPE_GENERAL = 0,
    TYPE_SYMMETRIC,
    TYPE_HERMITIAN,
    TYPE_SPD,
    TYPE_HPD,
    VIEW_FULL = 0,
    VIEW_UPPER = 2,
    BASE_ZERO = 0,
    COLUMN_MAJOR = 0,
    R_64F = 1, /* cudaDataType */
    C_64F = 5,
    R_32I = 10
};
typedef enum { MODE_NORMAL, MODE_TRANSPOSE, MODE_CONJUGATE_TRANSPOSE } solve_mode;

/** Handles are pointers; what returns int returns a cudssStatus_t. */
static struct {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*get_property)(int property, int *value);
    int (*config_create)(void **config);
    int (*config_destroy)(void *config);
    int (*config_set)(void *config, int parameter, const void *value, size_t bytes);
    int (*data_create)(void *handle, void **data);
    int (*data_destroy)(void *handle, void *data);
    int (*data_get)(void *handle, void *data, int parameter, void *value, size_t bytes, size_t *written);
    int (*matrix_dense)(void **matrix, int64_t rows, int64_t columns, int64_t ld, const void *values, int type,
                        int layout);
    int (*matrix_csr)(void **matrix, int64_t rows, int64_t columns, int64_t nnz, const void *begin, const void *end,
                      const void *indices, const void *values, int offset_type, int index_type, int value_type,
                      int matrix_type, int view, int base);
    int (*matrix_destroy)(void *matrix);
    int (*execute)(void *handle, int phase, void *config, void *data, void *A, void *X, void *B);
} cudss;

static const struct {
    const char *name;
    void *function;
} symbols[] = {{"cudssCreate", &cudss.create},
               {"cudssDestroy", &cudss.destroy},
               {"cudssSetStream", &cudss.set_stream},
               {"cudssGetProperty", &cudss.get_property},
               {"cudssConfigCreate", &cudss.config_create},
               {"cudssConfigDestroy", &cudss.config_destroy},
               {"cudssConfigSet", &cudss.config_set},
               {"cudssDataCreate", &cudss.data_create},
               {"cudssDataDestroy", &cudss.data_destroy},
               {"cudssDataGet", &cudss.data_get},
               {"cudssMatrixCreateDn", &cudss.matrix_dense},
               {"cudssMatrixCreateCsr", &cudss.matrix_csr},
               {"cudssMatrixDestroy", &cudss.matrix_destroy},
               {"cudssExecute", &cudss.execute}};

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static trine_status load_locked(void)
{
    static void *library;
    int major = 0;
    if (library) return TRINE_SUCCESS;
    void *handle = dlopen(CUDSS_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return trine_fail(TRINE_ERR_NOT_BUILT, "cuDSS, an optional library of NVIDIA's, cannot be loaded: %s",
                          dlerror());
    for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++) {
        void *function = dlsym(handle, symbols[k].name);
        if (!function) {
            dlclose(handle);
            return trine_fail(TRINE_ERR_NOT_BUILT, "this cuDSS has no %s", symbols[k].name);
        }
        memcpy(symbols[k].function, &function, sizeof function);
    }
    if (cudss.get_property(MAJOR_VERSION, &major) || major != 1) {
        dlclose(handle);
        return trine_fail(TRINE_ERR_NOT_BUILT, "cuDSS is of version %d, and trine knows version 1", major);
    }
    library = handle;
    return TRINE_SUCCESS;
}

/** TRINE_ERR_NOT_BUILT with the reason where it is not installed, or of a version that is not known. */
static trine_status load(void)
{
    pthread_mutex_lock(&loading);
    const trine_status status = load_locked();
    pthread_mutex_unlock(&loading);
    return status;
}

static trine_status check(int code, const char *phase)
{
    static const char *const names[] = {"success",       "not initialized",  "no memory",      "invalid value",
                                        "not supported", "execution failed", "internal error", "refinement failed"};
    if (!code) return TRINE_SUCCESS;
    const bool known = code > 0 && code < (int)(sizeof names / sizeof *names);
    return trine_fail(code == 2   ? TRINE_ERR_MEMORY
                      : code == 4 ? TRINE_ERR_UNSUPPORTED
                                  : TRINE_ERR_DEVICE,
                      "cuDSS's %s failed: %s (its status %d)", phase, known ? names[code] : "unknown", code);
}

/* -------------------------------------------------------------------- a factor */

struct cudss_state {
    pthread_mutex_t lock; /* of handle and config, which know one stream and one op at a time */
    void *handle, *config, *data, *matrix;
    int type;
    int64_t nnz; /* of what cuDSS gets: all of a general matrix, the upper triangle of others */
    void *offsets, *columns, *values; /* on the device, by rows */
    bool factored;
};

/** The rows of A, or of a Hermitian or symmetric one the upper triangle's, whose values are those of the columns. */
struct host_rows {
    int32_t *offsets, *columns;
    double *values;
};

static void free_rows(trine_factor F, struct host_rows *rows)
{
    trine_free(F->ctx, TRINE_HOST, rows->offsets);
    trine_free(F->ctx, TRINE_HOST, rows->columns);
    trine_free(F->ctx, TRINE_HOST, rows->values);
}

static trine_status upper_rows(trine_factor F, bool conjugate, struct host_rows *rows)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    const int parts = factor_parts(F);
    int32_t next = 0;
    TRY(ALLOC(F->ctx, rows->offsets, in.n + 1));
    TRY(ALLOC(F->ctx, rows->columns, in.nnz));
    TRY(ALLOC(F->ctx, rows->values, in.nnz * parts));
    for (int64_t j = 0; j < in.n; j++) {
        rows->offsets[j] = next;
        for (int64_t k = in.offsets[j]; k < in.offsets[j + 1]; k++) {
            if (in.indices[k] < j) continue;
            rows->columns[next] = in.indices[k];
            for (int part = 0; part < parts; part++)
                rows->values[next * parts + part] = in.values[k * parts + part] * (part && conjugate ? -1 : 1);
            next++;
        }
    }
    rows->offsets[in.n] = next;
done:
    return status;
}

static trine_status all_rows(trine_factor F, struct host_rows *rows)
{
    trine_status status = TRINE_SUCCESS;
    const struct factor_input in = factor_get_input(F);
    trine_matrix copy = NULL;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    TRY(trine_matrix_copy(F->A, &copy, TRINE_HOST, TRINE_CSR, F->dtype));
    TRY(trine_matrix_get_arrays(copy, &offsets, &columns, &values));
    TRY(ALLOC(F->ctx, rows->offsets, in.n + 1));
    TRY(ALLOC(F->ctx, rows->columns, in.nnz));
    TRY(ALLOC(F->ctx, rows->values, in.nnz * factor_parts(F)));
    for (int64_t i = 0; i <= in.n; i++) rows->offsets[i] = (int32_t)offsets[i];
    memcpy(rows->columns, columns, (size_t)in.nnz * sizeof *columns);
    memcpy(rows->values, values, (size_t)in.nnz * trine_dtype_size(F->dtype));
done:
    trine_matrix_destroy(&copy);
    return status;
}

/** A host array in device memory, whose place is kept. */
static trine_status place(trine_factor F, const void *host, size_t bytes, void **to)
{
    trine_status status = TRINE_SUCCESS;
    if (!*to) TRY(trine_alloc(F->ctx, TRINE_DEVICE, bytes, to));
    TRY(trine_copy(F->ctx, *to, TRINE_DEVICE, host, TRINE_HOST, bytes));
done:
    return status;
}

static trine_status place_rows(trine_factor F, struct cudss_state *s)
{
    trine_status status = TRINE_SUCCESS;
    struct host_rows rows = {0};
    if (s->type == TYPE_GENERAL) TRY(all_rows(F, &rows));
    else TRY(upper_rows(F, s->type == TYPE_HERMITIAN || s->type == TYPE_HPD, &rows));
    s->nnz = rows.offsets[F->n];
    TRY(place(F, rows.offsets, (size_t)(F->n + 1) * sizeof *rows.offsets, &s->offsets));
    TRY(place(F, rows.columns, (size_t)s->nnz * sizeof *rows.columns, &s->columns));
    TRY(place(F, rows.values, (size_t)s->nnz * trine_dtype_size(F->dtype), &s->values));
done:
    free_rows(F, &rows);
    return status;
}

static int value_type(trine_factor F) { return F->dtype == TRINE_Z ? C_64F : R_64F; }

/** What may be used of the structure: of values that are there now. */
static trine_status choose_type(trine_factor F, int *type)
{
    const trine_status status = factor_know_structure(F);
    if (status) return status;
    const struct factor_structure *s = &F->structure;
    const bool real = F->dtype == TRINE_D;
    *type = s->hermitian && s->positive_diagonal ? (real ? TYPE_SPD : TYPE_HPD)
            : s->symmetric                       ? TYPE_SYMMETRIC
            : s->hermitian                       ? TYPE_HERMITIAN
                                                 : TYPE_GENERAL;
    return TRINE_SUCCESS;
}

/** What analysis and factorization made; the handle stays. */
static void drop_data(trine_factor F, struct cudss_state *s)
{
    if (s->matrix) cudss.matrix_destroy(s->matrix);
    if (s->data) cudss.data_destroy(s->handle, s->data);
    trine_free(F->ctx, TRINE_DEVICE, s->offsets);
    trine_free(F->ctx, TRINE_DEVICE, s->columns);
    trine_free(F->ctx, TRINE_DEVICE, s->values);
    s->matrix = s->data = s->offsets = s->columns = s->values = NULL;
    s->factored = false;
}

static trine_status analyse_as(trine_factor F, struct cudss_state *s, int type)
{
    trine_status status = TRINE_SUCCESS;
    drop_data(F, s);
    s->type = type;
    TRY(place_rows(F, s));
    TRY(check(cudss.data_create(s->handle, &s->data), "set-up"));
    TRY(check(cudss.matrix_csr(&s->matrix, F->n, F->n, s->nnz, s->offsets, NULL, s->columns, s->values, R_32I, R_32I,
                               value_type(F), type, type == TYPE_GENERAL ? VIEW_FULL : VIEW_UPPER, BASE_ZERO),
              "set-up"));
    TRY(check(cudss.execute(s->handle, PHASE_ANALYSIS, s->config, s->data, s->matrix, NULL, NULL), "analysis"));
done:
    return status;
}

static trine_status analyse(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    struct cudss_state *s;
    void *stream;
    int saved = -1, type;
    TRY(load());
    if (direct_space(F->ctx) != TRINE_DEVICE)
        FAIL(TRINE_ERR_UNSUPPORTED, "cuDSS factors on a GPU, and the context is one on the CPU");
    if (factor_get_input(F).nnz > INT_MAX)
        FAIL(TRINE_ERR_UNSUPPORTED, "%lld entries are too many for the 32-bit indices given to cuDSS",
             (long long)factor_get_input(F).nnz);
    TRY(CALLOC(F->ctx, s, 1));
    F->state = s;
    pthread_mutex_init(&s->lock, NULL);
    F->ordering = TRINE_ORDERING_AUTO; /* its own */
    trine_device_enter(F->ctx, &saved);
    TRY(check(cudss.create(&s->handle), "set-up"));
    TRY(check(cudss.config_create(&s->config), "set-up"));
    TRY(trine_context_get_stream(F->ctx, &stream));
    TRY(check(cudss.set_stream(s->handle, stream), "set-up"));
    TRY(choose_type(F, &type));
    TRY(analyse_as(F, s, type));
done:
    trine_device_leave(F->ctx, saved);
    return status;
}

/** The phase, which is waited for, and what it found: 0, or the number of the pivot that it could not take. */
static trine_status factor_values(trine_factor F, struct cudss_state *s, int *info)
{
    trine_status status = TRINE_SUCCESS;
    size_t written;
    void *stream;
    TRY(trine_context_get_stream(F->ctx, &stream));
    TRY(check(cudss.set_stream(s->handle, stream), "set-up"));
    TRY(check(cudss.execute(s->handle, s->factored ? PHASE_REFACTORIZATION : PHASE_FACTORIZATION, s->config, s->data,
                            s->matrix, NULL, NULL),
              "factorization"));
    TRY(trine_context_synchronize(F->ctx));
    TRY(check(cudss.data_get(s->handle, s->data, DATA_INFO, info, sizeof *info, &written), "report"));
    s->factored = !*info;
done:
    return status;
}

static trine_status numeric(trine_factor F)
{
    trine_status status = TRINE_SUCCESS;
    struct cudss_state *s = F->state;
    int info = 0, moved = 0, saved = -1, type;
    int64_t nnz = 0;
    size_t written;
    pthread_mutex_lock(&s->lock);
    trine_device_enter(F->ctx, &saved);
    TRY(choose_type(F, &type));
    if (type != s->type) TRY(analyse_as(F, s, type)); /* new values, of another kind */
    else TRY(place_rows(F, s));
    TRY(factor_values(F, s, &info));
    if (info && (s->type == TYPE_SPD || s->type == TYPE_HPD)) {
        trine_log(F->ctx, 2, "cuDSS: pivot %d of a positive definite matrix is not positive; it is taken as indefinite",
                  info);
        TRY(analyse_as(F, s, F->dtype == TRINE_D ? TYPE_SYMMETRIC : TYPE_HERMITIAN));
        TRY(factor_values(F, s, &info));
    }
    if (info)
        FAIL(TRINE_ERR_SINGULAR, "cuDSS found no pivot number %d: the matrix is singular, or rounding made it so",
             info);
    TRY(check(cudss.data_get(s->handle, s->data, DATA_LU_NNZ, &nnz, sizeof nnz, &written), "report"));
    TRY(check(cudss.data_get(s->handle, s->data, DATA_NPIVOTS, &moved, sizeof moved, &written), "report"));
    if (moved > 0) trine_log(F->ctx, 1, "cuDSS replaced %d pivots that were too small: refinement may help", moved);
    F->nnz_L = nnz;
    F->nnz_U = s->type == TYPE_GENERAL ? F->n : nnz; /* it tells the entries of L and U together, the diagonal once */
    F->diag_L = s->type == TYPE_GENERAL ? TRINE_UNIT : TRINE_NONUNIT;
done:
    trine_device_leave(F->ctx, saved);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static trine_status triangle(trine_factor F, trine_uplo which, trine_matrix *T)
{
    (void)F, (void)which, (void)T;
    return trine_fail(TRINE_ERR_UNSUPPORTED, "the factors of cuDSS stay in cuDSS");
}

/* ------------------------------------------------------------------- the solve */

/** A^T of a Hermitian A and A^H of a symmetric one are conj(A), which cuDSS has no solves with. */
bool factor_cudss_conjugates(trine_factor F, trine_transpose op)
{
    const struct cudss_state *s = F->state;
    const bool hermitian = s->type == TYPE_HERMITIAN || s->type == TYPE_HPD;
    return F->dtype == TRINE_Z && s->type != TYPE_GENERAL && op == (hermitian ? TRINE_T : TRINE_H);
}

static trine_status solve(trine_factor F, trine_transpose op, const trine_dense *B, const trine_dense *X, void *stream)
{
    trine_status status = TRINE_SUCCESS;
    struct cudss_state *s = F->state;
    void *b = NULL, *x = NULL, *own;
    int saved = -1;
    const solve_mode mode = op == TRINE_N || s->type != TYPE_GENERAL ? MODE_NORMAL
                            : op == TRINE_T                          ? MODE_TRANSPOSE
                                                                     : MODE_CONJUGATE_TRANSPOSE;
    pthread_mutex_lock(&s->lock);
    trine_device_enter(F->ctx, &saved);
    TRY(trine_context_get_stream(F->ctx, &own));
    TRY(check(cudss.set_stream(s->handle, stream ? stream : own), "solve"));
    TRY(check(cudss.config_set(s->config, CONFIG_SOLVE_MODE, &mode, sizeof mode), "choice of an op"));
    TRY(check(cudss.matrix_dense(&b, F->n, B->cols, B->ld, B->data, value_type(F), COLUMN_MAJOR), "solve"));
    TRY(check(cudss.matrix_dense(&x, F->n, X->cols, X->ld, X->data, value_type(F), COLUMN_MAJOR), "solve"));
    TRY(check(cudss.execute(s->handle, PHASE_SOLVE, s->config, s->data, s->matrix, x, b), "solve"));
done:
    if (b) cudss.matrix_destroy(b);
    if (x) cudss.matrix_destroy(x);
    trine_device_leave(F->ctx, saved);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void release(trine_factor F)
{
    struct cudss_state *s = F->state;
    int saved = -1;
    if (!s) return;
    trine_device_enter(F->ctx, &saved);
    drop_data(F, s);
    if (s->config) cudss.config_destroy(s->config);
    if (s->handle) cudss.destroy(s->handle);
    trine_device_leave(F->ctx, saved);
    pthread_mutex_destroy(&s->lock);
    trine_free(F->ctx, TRINE_HOST, s);
}

const struct factor_backend factor_cudss = {
    .analyse = analyse, .numeric = numeric, .triangle = triangle, .release = release, .solve = solve};
