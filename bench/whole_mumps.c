/* MUMPS of the suite whole: sequential, its own defaults, in the calls of its manual. Its header is needed to build
 * this, and the library when it runs. */
#include <dlfcn.h>
#include <dmumps_c.h>
#include <stdlib.h>

#include "whole.h"

enum { BEGIN = -1, ANALYSE = 1, FACTOR = 2, SOLVE = 3, END = -2, NO_ROOM = -9 };

typedef struct {
    const whole_problem *p;
    void (*call)(DMUMPS_STRUC_C *);
    DMUMPS_STRUC_C id;
    bool begun;
} mumps;

static trine_status run(mumps *s, int job)
{
    s->id.job = job;
    s->call(&s->id);
    return s->id.infog[0] < 0
               ? trine_fail(TRINE_ERR_SINGULAR, "MUMPS's job %d ends with INFOG(1) = %d", job, (int)s->id.infog[0])
               : TRINE_SUCCESS;
}

/** The entries, counted from 1; of a symmetric A those of the lower triangle. */
static trine_status take_entries(mumps *s)
{
    const whole_problem *p = s->p;
    const bool lower = s->id.sym != 0;
    s->id.n = (MUMPS_INT)p->n;
    s->id.irn = calloc((size_t)p->nnz + 1, sizeof *s->id.irn);
    s->id.jcn = calloc((size_t)p->nnz + 1, sizeof *s->id.jcn);
    s->id.a = calloc((size_t)p->nnz + 1, sizeof *s->id.a);
    if (!s->id.irn || !s->id.jcn || !s->id.a) return trine_fail(TRINE_ERR_MEMORY, "no memory for MUMPS's entries");
    MUMPS_INT8 count = 0;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t k = p->offsets[j]; k < p->offsets[j + 1]; k++) {
            if (lower && p->rows[k] < j) continue;
            s->id.irn[count] = p->rows[k] + 1;
            s->id.jcn[count] = (MUMPS_INT)j + 1;
            s->id.a[count++] = p->values[k];
        }
    s->id.nnz = count;
    return TRINE_SUCCESS;
}

static trine_status mumps_open(const whole_problem *p, void **self)
{
    mumps *s = calloc(1, sizeof *s);
    *self = s;
    if (!s) return trine_fail(TRINE_ERR_MEMORY, "no memory");
    s->p = p;
    void *library = dlopen(TRINE_BENCH_MUMPS, RTLD_NOW | RTLD_LOCAL);
    if (!library) return trine_fail(TRINE_ERR_NOT_BUILT, "MUMPS cannot be loaded: %s", dlerror());
    const bench_symbol needed[] = {{&s->call, "dmumps_c"}};
    trine_status status = bench_load_symbols(library, "MUMPS", needed, 1);
    if (status) return status;
    s->id.par = 1;
    s->id.sym = !p->structure.symmetric ? 0 : p->structure.positive_diagonal ? 1 : 2;
    s->id.comm_fortran = -987654; /* MPI_COMM_WORLD, as the manual writes it */
    status = run(s, BEGIN);
    if (status) return status;
    s->begun = true;
    for (int k = 0; k < 3; k++) s->id.icntl[k] = -1; /* no output */
    s->id.icntl[3] = 0;
    return take_entries(s);
}
static trine_status mumps_analyse(void *self) { return run(self, ANALYSE); }
static trine_status mumps_factor(void *self)
{
    mumps *s = self;
    trine_status status = run(s, FACTOR);
    for (int times = 0; status && s->id.infog[0] == NO_ROOM && times < 5; times++) {
        s->id.icntl[13] *= 2; /* per cent of room above the estimate, as the manual advises */
        status = run(s, FACTOR);
    }
    return status;
}
static trine_status mumps_solve(void *self)
{
    mumps *s = self;
    const whole_problem *p = s->p;
    whole_start_with_rhs(p);
    s->id.rhs = p->x;
    s->id.nrhs = (MUMPS_INT)p->nrhs;
    s->id.lrhs = (MUMPS_INT)p->n;
    return run(s, SOLVE);
}
static void mumps_close(void *self)
{
    mumps *s = self;
    if (!s) return;
    if (s->begun) run(s, END);
    free(s->id.irn);
    free(s->id.jcn);
    free(s->id.a);
    free(s);
}
const whole_solver whole_mumps = {"mumps",      "dmumps_c",   false,       mumps_open, mumps_analyse,
                                  mumps_factor, mumps_factor, mumps_solve, mumps_close};
