/* Suite whole: whole solves, each library as its users call it. */
#ifndef TRINE_BENCH_WHOLE_H
#define TRINE_BENCH_WHOLE_H

#include <trine/direct.h>

#include "bench.h"

typedef struct {
    bench *b;
    const char *name;
    trine_matrix A, columns;   /* columns: sorted CSC in double, without duplicates */
    trine_matrix_structure structure;
    int64_t n, nnz, nrhs;
    const int64_t *offsets;    /* of columns */
    const int32_t *rows;
    int64_t *wide_rows;
    int32_t *narrow_offsets;
    const double *values;
    double *rhs, *x;           /* n x nrhs on the host */
} whole_problem;

/** A library. Each phase may be called again, and begins it anew; failed calls say why in trine_last_error. */
typedef struct {
    const char *impl, *method; /* method: what it does by default */
    bool definite;             /* only for Hermitian matrices with a positive diagonal */
    trine_status (*open)(const whole_problem *p, void **self);
    trine_status (*analyse)(void *self);  /* ordering and symbolic part */
    trine_status (*factor)(void *self);   /* the first time */
    trine_status (*refactor)(void *self); /* new values on the same pattern, as the library has it for that */
    trine_status (*solve)(void *self);    /* p->x := A^-1 p->rhs */
    void (*close)(void *self);
} whole_solver;

/** For solves in place: p->x := p->rhs. */
void whole_start_with_rhs(const whole_problem *p);

extern const whole_solver whole_cholmod, whole_superlu, whole_umfpack, whole_klu, whole_pardiso;
#ifdef TRINE_BENCH_MUMPS /* its library: it was there when this was built */
extern const whole_solver whole_mumps;
#endif

#endif
