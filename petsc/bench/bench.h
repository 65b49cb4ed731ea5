/* The benchmark of sub-solvers inside PETSc: where its matrices come from, and what the machine gives. */
#ifndef TRINE_PETSC_BENCH_H
#define TRINE_PETSC_BENCH_H

#include <petscksp.h>

/** The matrix of -matrix NAME (a file, a real one in $TRINE_MATRICES, or a specification of trine's gallery), its
 *  rows dealt out to the ranks along a reverse Cuthill-McKee ordering; or of -grid NX,NY,NZ the 7-point Laplacian in
 *  boxes, of which every rank makes its own rows. name: of `length` characters, what the record calls it. */
PetscErrorCode problem_create(Mat *A, char *name, size_t length);

typedef struct {
    double copy_gbs; /* copy bandwidth of all ranks together, read + written, 10^9 bytes a second */
    double reduction_us; /* an all-reduce of 30 numbers */
    double message_us; /* a message of 8 bytes from rank 0 to rank 1; 0 of one rank */
    double message_gbs; /* one of 4 MiB, 10^9 bytes a second; 0 of one rank */
} machine;
PetscErrorCode machine_measure(machine *m);

/** The seconds since `start` that the slowest rank took. */
PetscErrorCode slowest(PetscLogDouble start, double *seconds);
/** The same start for all. */
PetscErrorCode start_together(PetscLogDouble *start);
double median(double *values, int count); /* sorts them */

#endif
