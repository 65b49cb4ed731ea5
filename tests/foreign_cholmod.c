/* A program that uses CHOLMOD, with int and with long indices. */
#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "foreign_factors.h"

#define CHM(name) cholmod_##name
#define INDEX int
#define ITYPE CHOLMOD_INT
#include "foreign_cholmod.inc"
#define CHM(name) cholmod_l_##name
#define INDEX SuiteSparse_long
#define ITYPE CHOLMOD_LONG
#include "foreign_cholmod.inc"

cholmod_program cholmod_of(trine_matrix A, foreign_kind kind, bool is_long)
{
    cholmod_program f = {.is_long = is_long, .common = calloc(1, sizeof(cholmod_common))};
    trine_matrix_info info;
    trine_matrix columns;
    OK(trine_matrix_get_info(A, &info));
    OK(trine_matrix_copy(A, &columns, TRINE_HOST, TRINE_CSC, info.dtype));
    (is_long ? cholmod_l_make : cholmod_make)(&f, columns, &info, kind);
    trine_matrix_destroy(&columns);
    return f;
}

void cholmod_own_solve(const cholmod_program *f, trine_dtype t, int64_t n, int64_t nrhs, const void *b, void *x)
{
    (f->is_long ? cholmod_l_own : cholmod_own)(f, t, n, nrhs, b, x);
}

void cholmod_program_free(cholmod_program *f)
{
    (f->is_long ? cholmod_l_free_factor : cholmod_free_factor)((cholmod_factor **)&f->L, f->common);
    (f->is_long ? cholmod_l_finish : cholmod_finish)(f->common);
    free(f->common);
    *f = (cholmod_program){0};
}

int64_t cholmod_columns_done(const cholmod_program *f) { return (int64_t)((cholmod_factor *)f->L)->minor; }
