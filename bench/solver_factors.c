/* The peers CHOLMOD and SuperLU on the CPU: their own triangular solves with the factors that they made, in double.
 * Both solve in place, so B is copied to X first. Loaded at run time; the versions that the headers are of. */
#include <cholmod.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <superlu/slu_ddefs.h>

#include "bench.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

static trine_status nothing(void *self)
{
    (void)self;
    return TRINE_SUCCESS;
}

/** What both can be compared on. */
static trine_status check_problem(const bench *b, const bench_problem *p, bool lu)
{
    if (b->device.space != TRINE_HOST) return trine_fail(TRINE_ERR_UNSUPPORTED, "runs on the CPU, this is a CUDA run");
    if (p->is_lu != lu || !p->lower_panels.n_panels)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "not a supernodal factor of this library");
    if (p->dtype != TRINE_D) return trine_fail(TRINE_ERR_UNSUPPORTED, "compared in double only");
    if (p->nrhs > 1 && p->X.layout != TRINE_COLMAJOR)
        return trine_fail(TRINE_ERR_UNSUPPORTED, "takes column-major vectors only");
    return TRINE_SUCCESS;
}

static void copy_b(const bench_problem *p) { memcpy(p->X.data, p->B.data, (size_t)(p->n * p->nrhs) * sizeof(double)); }

/* ----------------------------------------------------------------- CHOLMOD */

static struct {
    void *library;
    int (*start)(cholmod_common *);
    int (*finish)(cholmod_common *);
    int (*lsolve)(cholmod_factor *, cholmod_dense *, cholmod_dense *, cholmod_common *);
    int (*ltsolve)(cholmod_factor *, cholmod_dense *, cholmod_dense *, cholmod_common *);
} cholmod;

typedef struct {
    bench *b;
    const bench_problem *p;
    cholmod_common common;
    cholmod_factor L;      /* a view of the panels */
    cholmod_dense X, E;    /* E: workspace */
    SuiteSparse_long *super, *pi, *px, *s;
    double *work;
    bool started;
} cholmod_solver;

static trine_status load_cholmod(void)
{
    static const char *const name = "libcholmod.so." TEXT(CHOLMOD_MAIN_VERSION);
    if (cholmod.library) return TRINE_SUCCESS;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return trine_fail(TRINE_ERR_NOT_BUILT, "CHOLMOD cannot be loaded: %s", dlerror());
    *(void **)&cholmod.start = dlsym(library, "cholmod_l_start");
    *(void **)&cholmod.finish = dlsym(library, "cholmod_l_finish");
    *(void **)&cholmod.lsolve = dlsym(library, "cholmod_l_super_lsolve");
    *(void **)&cholmod.ltsolve = dlsym(library, "cholmod_l_super_ltsolve");
    if (!cholmod.start || !cholmod.finish || !cholmod.lsolve || !cholmod.ltsolve)
        return trine_fail(TRINE_ERR_NOT_BUILT, "%s has no supernodal solve", name);
    cholmod.library = library;
    return TRINE_SUCCESS;
}

static void peer_cholmod_destroy(void *self)
{
    cholmod_solver *s = self;
    if (!s) return;
    trine_free(s->b->ctx, TRINE_HOST, s->super);
    trine_free(s->b->ctx, TRINE_HOST, s->pi);
    trine_free(s->b->ctx, TRINE_HOST, s->px);
    trine_free(s->b->ctx, TRINE_HOST, s->s);
    trine_free(s->b->ctx, TRINE_HOST, s->work);
    if (s->started) cholmod.finish(&s->common);
    free(s);
}

static trine_status peer_cholmod_create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    const trine_panels *P = &p->lower_panels;
    cholmod_solver *s = NULL;
    (void)method;
    TRY(check_problem(b, p, false));
    TRY(load_cholmod());
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    s->started = cholmod.start(&s->common);
    const int64_t ssize = P->row_offsets[P->n_panels];
    int64_t below = 0; /* most rows of a panel below its triangle */
    TRY(ALLOC(b->ctx, s->super, P->n_panels + 1));
    TRY(ALLOC(b->ctx, s->pi, P->n_panels + 1));
    TRY(ALLOC(b->ctx, s->px, P->n_panels + 1));
    TRY(ALLOC(b->ctx, s->s, ssize));
    for (int64_t k = 0; k <= P->n_panels; k++) {
        s->super[k] = P->first_column[k];
        s->pi[k] = P->row_offsets[k];
        s->px[k] = P->value_offsets[k];
        if (k == 0) continue;
        const int64_t rows = s->pi[k] - s->pi[k - 1] - (s->super[k] - s->super[k - 1]);
        if (rows > below) below = rows;
    }
    for (int64_t k = 0; k < ssize; k++) s->s[k] = P->rows[k];
    TRY(ALLOC(b->ctx, s->work, (below + 1) * p->nrhs));
    s->L = (cholmod_factor){.n = (size_t)p->n,
                            .minor = (size_t)p->n,
                            .x = (void *)P->values,
                            .nsuper = (size_t)P->n_panels,
                            .ssize = (size_t)ssize,
                            .xsize = (size_t)P->value_offsets[P->n_panels],
                            .maxesize = (size_t)below,
                            .super = s->super,
                            .pi = s->pi,
                            .px = s->px,
                            .s = s->s,
                            .is_ll = 1,
                            .is_super = 1,
                            .is_monotonic = 1,
                            .itype = CHOLMOD_LONG,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE};
    s->X = (cholmod_dense){.nrow = (size_t)p->n,
                           .ncol = (size_t)p->nrhs,
                           .nzmax = (size_t)(p->n * p->nrhs),
                           .d = (size_t)p->X.ld,
                           .x = p->X.data,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE};
    s->E = (cholmod_dense){.nrow = (size_t)p->nrhs,
                           .ncol = (size_t)below + 1,
                           .nzmax = (size_t)((below + 1) * p->nrhs),
                           .d = (size_t)p->nrhs,
                           .x = s->work,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE};
    *self = s;
    s = NULL;
done:
    peer_cholmod_destroy(s);
    return status;
}

static trine_status peer_cholmod_solve(void *self)
{
    cholmod_solver *s = self;
    const bool forward = strcmp(s->p->direction, "forward") == 0;
    copy_b(s->p);
    if ((forward ? cholmod.lsolve : cholmod.ltsolve)(&s->L, &s->X, &s->E, &s->common)) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_DEVICE, "CHOLMOD's solve: status %d", s->common.status);
}

static trine_status peer_cholmod_as_op(void *self, trine_op *op, trine_transpose *trans)
{
    cholmod_solver *s = self;
    const bench_problem *p = s->p;
    return bench_peer_as_op(s->b, &(bench_peer_solve){"CHOLMOD", p->dtype, *trans, &p->B, &p->X, peer_cholmod_solve, s},
                            op);
}

static void peer_cholmod_describe(void *self, bench_record *r)
{
    r->chosen = strcmp(((cholmod_solver *)self)->p->direction, "forward") == 0 ? "super_lsolve" : "super_ltsolve";
    bench_record_add_text(r, "version", TEXT(CHOLMOD_MAIN_VERSION) "." TEXT(CHOLMOD_SUB_VERSION));
}

const bench_setup bench_setup_cholmod = {"cholmod",
                                         peer_cholmod_create,
                                         nothing,
                                         nothing,
                                         NULL,
                                         peer_cholmod_as_op,
                                         peer_cholmod_describe,
                                         peer_cholmod_destroy,
                                         NULL};

/* ----------------------------------------------------------------- SuperLU */

static struct {
    void *library;
    void (*stat_init)(SuperLUStat_t *);
    void (*stat_free)(SuperLUStat_t *);
    int (*trsv)(char *, char *, char *, SuperMatrix *, SuperMatrix *, double *, SuperLUStat_t *, int *);
} superlu;

typedef struct {
    bench *b;
    const bench_problem *p;
    SuperMatrix L, U;
    SCformat lower;
    NCformat upper;        /* what of U lies outside the diagonal blocks of the supernodes */
    int *column_values, *column_rows, *rows, *supernode, *first_column, *upper_offsets, *upper_rows;
    double *upper_values;
    SuperLUStat_t stat;
    bool started;
} superlu_solver;

static trine_status load_superlu(void)
{
    static const char *const name = "libsuperlu.so." TEXT(SUPERLU_MAJOR_VERSION);
    if (superlu.library) return TRINE_SUCCESS;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return trine_fail(TRINE_ERR_NOT_BUILT, "SuperLU cannot be loaded: %s", dlerror());
    *(void **)&superlu.stat_init = dlsym(library, "StatInit");
    *(void **)&superlu.stat_free = dlsym(library, "StatFree");
    *(void **)&superlu.trsv = dlsym(library, "sp_dtrsv");
    if (!superlu.stat_init || !superlu.stat_free || !superlu.trsv)
        return trine_fail(TRINE_ERR_NOT_BUILT, "%s has no sp_dtrsv", name);
    superlu.library = library;
    return TRINE_SUCCESS;
}

static void peer_superlu_destroy(void *self)
{
    superlu_solver *s = self;
    if (!s) return;
    trine_context ctx = s->b->ctx;
    trine_free(ctx, TRINE_HOST, s->column_values);
    trine_free(ctx, TRINE_HOST, s->column_rows);
    trine_free(ctx, TRINE_HOST, s->rows);
    trine_free(ctx, TRINE_HOST, s->supernode);
    trine_free(ctx, TRINE_HOST, s->first_column);
    trine_free(ctx, TRINE_HOST, s->upper_offsets);
    trine_free(ctx, TRINE_HOST, s->upper_rows);
    trine_free(ctx, TRINE_HOST, s->upper_values);
    if (s->started) superlu.stat_free(&s->stat);
    free(s);
}

/** L's panels as SuperLU holds them. */
static trine_status make_lower(superlu_solver *s)
{
    trine_status status = TRINE_SUCCESS;
    const trine_panels *P = &s->p->lower_panels;
    trine_context ctx = s->b->ctx;
    const int64_t n = P->n, last = P->n_panels;
    if (P->value_offsets[last] > INT32_MAX) FAIL(TRINE_ERR_UNSUPPORTED, "more than 2^31 - 1 entries in the panels");
    TRY(ALLOC(ctx, s->column_values, n + 1));
    TRY(ALLOC(ctx, s->column_rows, n + 1));
    TRY(ALLOC(ctx, s->rows, P->row_offsets[last]));
    TRY(ALLOC(ctx, s->supernode, n + 1));
    TRY(ALLOC(ctx, s->first_column, last + 1));
    for (int64_t k = 0; k < last; k++) {
        const int64_t height = P->row_offsets[k + 1] - P->row_offsets[k];
        for (int32_t j = P->first_column[k]; j < P->first_column[k + 1]; j++) {
            s->column_values[j] = (int)(P->value_offsets[k] + (j - P->first_column[k]) * height);
            s->column_rows[j] = (int)P->row_offsets[j == P->first_column[k] ? k : k + 1];
            s->supernode[j] = (int)k;
        }
    }
    s->column_values[n] = (int)P->value_offsets[last];
    s->column_rows[n] = (int)P->row_offsets[last];
    s->supernode[n] = (int)last;
    memcpy(s->rows, P->rows, (size_t)P->row_offsets[last] * sizeof *s->rows);
    memcpy(s->first_column, P->first_column, (size_t)(last + 1) * sizeof *s->first_column);
    s->lower = (SCformat){(int)P->value_offsets[last],
                          (int)last - 1,
                          (void *)P->values,
                          s->column_values,
                          s->rows,
                          s->column_rows,
                          s->supernode,
                          s->first_column};
    s->L = (SuperMatrix){SLU_SC, SLU_D, SLU_TRLU, (int)n, (int)n, &s->lower};
done:
    return status;
}

/** U outside the diagonal blocks, by columns, from T's rows where T is U; empty where T is L. */
static trine_status make_upper(superlu_solver *s)
{
    trine_status status = TRINE_SUCCESS;
    const bench_problem *p = s->p;
    trine_context ctx = s->b->ctx;
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    TRY(trine_matrix_get_arrays(p->T, &offsets, &columns, &values));
    TRY(CALLOC(ctx, s->upper_offsets, p->n + 2));
    TRY(ALLOC(ctx, s->upper_rows, p->nnz));
    TRY(ALLOC(ctx, s->upper_values, p->nnz));
    if (p->uplo == TRINE_UPPER)
        for (int pass = 0; pass < 2; pass++) { /* count, then store; offsets run one ahead */
            for (int64_t i = 0; i < p->n; i++)
                for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) {
                    const int32_t j = columns[k];
                    if (s->supernode[i] == s->supernode[j]) continue;
                    if (pass == 0) {
                        s->upper_offsets[j + 2]++;
                    } else {
                        const int at = s->upper_offsets[j + 1]++;
                        s->upper_rows[at] = (int)i;
                        s->upper_values[at] = ((const double *)values)[k];
                    }
                }
            for (int64_t j = 0; pass == 0 && j < p->n; j++) s->upper_offsets[j + 2] += s->upper_offsets[j + 1];
        }
    s->upper = (NCformat){s->upper_offsets[p->n], s->upper_values, s->upper_rows, s->upper_offsets};
    s->U = (SuperMatrix){SLU_NC, SLU_D, SLU_TRU, (int)p->n, (int)p->n, &s->upper};
done:
    return status;
}

static trine_status peer_superlu_create(bench *b, const bench_problem *p, const char *method, void **self)
{
    trine_status status = TRINE_SUCCESS;
    superlu_solver *s = NULL;
    (void)method;
    TRY(check_problem(b, p, true));
    TRY(load_superlu());
    if (!(s = calloc(1, sizeof *s))) FAIL(TRINE_ERR_MEMORY, "no memory");
    s->b = b;
    s->p = p;
    superlu.stat_init(&s->stat);
    s->started = true;
    TRY(make_lower(s));
    TRY(make_upper(s));
    *self = s;
    s = NULL;
done:
    peer_superlu_destroy(s);
    return status;
}

static trine_status peer_superlu_solve(void *self)
{
    superlu_solver *s = self;
    const bool lower = s->p->uplo == TRINE_LOWER;
    int info = 0;
    copy_b(s->p);
    for (int64_t j = 0; j < s->p->nrhs && !info; j++)
        superlu.trsv(lower ? "L" : "U", s->p->op == TRINE_N ? "N" : "T", lower ? "U" : "N", &s->L, &s->U,
                     (double *)s->p->X.data + j * s->p->X.ld, &s->stat, &info);
    return info ? trine_fail(TRINE_ERR_DEVICE, "SuperLU's sp_dtrsv: info %d", info) : TRINE_SUCCESS;
}

static trine_status peer_superlu_as_op(void *self, trine_op *op, trine_transpose *trans)
{
    superlu_solver *s = self;
    const bench_problem *p = s->p;
    return bench_peer_as_op(s->b, &(bench_peer_solve){"SuperLU", p->dtype, *trans, &p->B, &p->X, peer_superlu_solve, s},
                            op);
}

static void peer_superlu_describe(void *self, bench_record *r)
{
    (void)self;
    r->chosen = "sp_dtrsv";
    bench_record_add_text(r, "version", TEXT(SUPERLU_MAJOR_VERSION) "." TEXT(SUPERLU_MINOR_VERSION));
}

const bench_setup bench_setup_superlu = {"superlu",
                                         peer_superlu_create,
                                         nothing,
                                         nothing,
                                         NULL,
                                         peer_superlu_as_op,
                                         peer_superlu_describe,
                                         peer_superlu_destroy,
                                         NULL};
