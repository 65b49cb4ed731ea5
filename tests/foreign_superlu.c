/* A program that uses SuperLU. Its header has a type `complex`, so it comes before the standard one. */
#include <superlu/slu_sdefs.h>
#include <superlu/slu_ddefs.h>
#include <superlu/slu_cdefs.h>
#include <superlu/slu_zdefs.h>

#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "foreign_factors.h"

#define SLU(name) s##name
#define REAL float
#define CODE SLU_S
#include "foreign_superlu.inc"
#define SLU(name) d##name
#define REAL double
#define CODE SLU_D
#include "foreign_superlu.inc"
#define SLU(name) c##name
#define REAL float
#define CODE SLU_C
#include "foreign_superlu.inc"
#define SLU(name) z##name
#define REAL double
#define CODE SLU_Z
#include "foreign_superlu.inc"

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    memcpy(to, from, bytes);
    return to;
}

superlu_factor superlu_of(trine_matrix A, bool equilibrate)
{
    static void (*const make[])(superlu_factor *, int *, int *, void *, int,
                                bool) = {[TRINE_S] = smake, [TRINE_D] = dmake, [TRINE_C] = cmake, [TRINE_Z] = zmake};
    trine_matrix_info info;
    trine_matrix columns;
    const int64_t *offsets;
    const int32_t *rows;
    const void *values;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_copy(A, &columns, TRINE_HOST, TRINE_CSC, info.dtype));
    OK(trine_matrix_get_arrays(columns, &offsets, &rows, &values));
    const int n = (int)info.n_rows;
    superlu_factor f = {.t = info.dtype,
                        .n = n,
                        .L = calloc(1, sizeof(SuperMatrix)),
                        .U = calloc(1, sizeof(SuperMatrix)),
                        .perm_r = calloc((size_t)n, sizeof(int)),
                        .perm_c = calloc((size_t)n, sizeof(int)),
                        .all_R = calloc((size_t)n, sizeof(double)),
                        .all_C = calloc((size_t)n, sizeof(double))};
    int *colptr = malloc((size_t)(n + 1) * sizeof *colptr), *rowind = copy(rows, (size_t)info.nnz * sizeof *rows);
    for (int j = 0; j <= n; j++) colptr[j] = (int)offsets[j];
    void *scaled = copy(values, (size_t)info.nnz * trine_dtype_size(info.dtype));
    make[info.dtype](&f, colptr, rowind, scaled, (int)info.nnz, equilibrate);
    free(colptr);
    free(rowind);
    free(scaled);
    trine_matrix_destroy(&columns);
    return f;
}

void superlu_like_mt(superlu_factor *f)
{
    enum { GAP = 3 };
    const SCformat *L = ((SuperMatrix *)f->L)->Store;
    const NCformat *U = ((SuperMatrix *)f->U)->Store;
    const size_t size = trine_dtype_size(f->t), n = (size_t)f->n;
    const int m = L->nsuper + 1;
    SCPformat *l = calloc(1, sizeof *l);
    NCPformat *u = calloc(1, sizeof *u);
    int **const arrays[] = {&l->nzval_colbeg,  &l->nzval_colend,  &l->rowind_colbeg, &l->rowind_colend, &l->col_to_sup,
                            &l->sup_to_colbeg, &l->sup_to_colend, &u->colbeg,        &u->colend};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) *arrays[k] = calloc(n + 1, sizeof(int));
    l->nsuper = m;
    l->rowind = calloc((size_t)L->rowind_colptr[n] + GAP * n, sizeof(int));
    l->nzval = calloc((size_t)L->nzval_colptr[n] + GAP * n, size);
    u->rowind = calloc((size_t)U->colptr[n] + GAP * n, sizeof(int));
    u->nzval = calloc((size_t)U->colptr[n] + GAP * n, size);
    int rows = 0, values = 0, entries = 0;
    for (int s = m - 1; s >= 0; s--) {
        const int first = L->sup_to_col[s], end = L->sup_to_col[s + 1],
                  height = L->rowind_colptr[end] - L->rowind_colptr[first];
        l->sup_to_colbeg[m - 1 - s] = first;
        l->sup_to_colend[m - 1 - s] = end;
        memcpy(l->rowind + rows, L->rowind + L->rowind_colptr[first], (size_t)height * sizeof(int));
        for (int j = first; j < end; j++) {
            l->col_to_sup[j] = m - 1 - s;
            l->rowind_colbeg[j] = rows;
            l->rowind_colend[j] = rows + height;
            l->nzval_colbeg[j] = values;
            l->nzval_colend[j] = values + height;
            memcpy((char *)l->nzval + (size_t)values * size, (const char *)L->nzval + (size_t)L->nzval_colptr[j] * size,
                   (size_t)height * size);
            values += height;
            const int count = U->colptr[j + 1] - U->colptr[j];
            u->colbeg[j] = entries;
            u->colend[j] = entries + count;
            memcpy(u->rowind + entries, U->rowind + U->colptr[j], (size_t)count * sizeof(int));
            memcpy((char *)u->nzval + (size_t)entries * size, (const char *)U->nzval + (size_t)U->colptr[j] * size,
                   (size_t)count * size);
            entries += count + GAP;
        }
        rows += height + GAP;
        values += GAP;
    }
    SuperMatrix *M = calloc(2, sizeof *M);
    M[0] = (SuperMatrix){SLU_SCP, ((SuperMatrix *)f->L)->Dtype, SLU_TRLU, f->n, f->n, l};
    M[1] = (SuperMatrix){SLU_NCP, ((SuperMatrix *)f->U)->Dtype, SLU_TRU, f->n, f->n, u};
    f->MT_L = &M[0];
    f->MT_U = &M[1];
}

void superlu_own_solve(const superlu_factor *f, trine_transpose op, int64_t nrhs, const void *b, void *x)
{
    static void (*const solve[])(const superlu_factor *, trans_t, int, void *) = {
        [TRINE_S] = ssolve, [TRINE_D] = dsolve, [TRINE_C] = csolve, [TRINE_Z] = zsolve};
    const void *before = op == TRINE_N ? f->R : f->C, *after = op == TRINE_N ? f->C : f->R;
    const trine_dtype real = f->t == TRINE_C ? TRINE_S : f->t == TRINE_Z ? TRINE_D : f->t;
    for (int64_t k = 0; k < f->n * nrhs; k++)
        put(f->t, x, k, get(f->t, b, k) * (before ? get(real, before, k % f->n) : 1));
    solve[f->t](f, op == TRINE_N ? NOTRANS : op == TRINE_T ? TRANS : CONJ, (int)nrhs, x);
    for (int64_t k = 0; k < f->n * nrhs; k++)
        put(f->t, x, k, get(f->t, x, k) * (after ? get(real, after, k % f->n) : 1));
}

void superlu_factor_free(superlu_factor *f)
{
    Destroy_SuperNode_Matrix(f->L);
    Destroy_CompCol_Matrix(f->U);
    if (f->MT_L) {
        SCPformat *l = ((SuperMatrix *)f->MT_L)->Store;
        NCPformat *u = ((SuperMatrix *)f->MT_U)->Store;
        void *const all[] = {l->nzval,
                             l->nzval_colbeg,
                             l->nzval_colend,
                             l->rowind,
                             l->rowind_colbeg,
                             l->rowind_colend,
                             l->col_to_sup,
                             l->sup_to_colbeg,
                             l->sup_to_colend,
                             u->nzval,
                             u->rowind,
                             u->colbeg,
                             u->colend,
                             l,
                             u,
                             f->MT_L};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    }
    void *const all[] = {f->L, f->U, f->perm_r, f->perm_c, f->all_R, f->all_C};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    *f = (superlu_factor){0};
}
