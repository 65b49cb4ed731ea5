#include "bench.h"
#include <stdlib.h>

enum { LENGTH = 1 << 24, COPIES = 5, CALLS = 200, NUMBERS = 30, LARGE = 1 << 19 };

PetscErrorCode slowest(PetscLogDouble start, double *seconds)
{
    PetscFunctionBegin;
    PetscLogDouble now;
    PetscCall(PetscTime(&now));
    double own = now - start;
    PetscCallMPI(MPI_Allreduce(&own, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscFunctionReturn(0);
}

PetscErrorCode start_together(PetscLogDouble *start)
{
    PetscFunctionBegin;
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(start));
    PetscFunctionReturn(0);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int count)
{
    if (count == 0) return 0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Vectors that the ranks share, and no cache holds. */
static PetscErrorCode measure_copy(double *gbs)
{
    PetscFunctionBegin;
    Vec x, y;
    double least = PETSC_MAX_REAL;
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, LENGTH, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecSet(x, 1));
    for (int i = 0; i < COPIES; i++) {
        PetscLogDouble start;
        double seconds;
        PetscCall(start_together(&start));
        PetscCall(VecCopy(x, y));
        PetscCall(slowest(start, &seconds));
        least = PetscMin(least, seconds);
    }
    *gbs = 2e-9 * sizeof(PetscScalar) * LENGTH / least;
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscFunctionReturn(0);
}

/* The time of one message of `count` doubles from rank 0 to rank 1: half of there and back. */
static PetscErrorCode measure_message(double *buffer, int count, int calls, int rank, double *seconds)
{
    PetscFunctionBegin;
    PetscLogDouble start;
    PetscCall(start_together(&start));
    for (int i = 0; i < calls && rank < 2; i++) {
        if (rank == 0) PetscCallMPI(MPI_Send(buffer, count, MPI_DOUBLE, 1, 0, PETSC_COMM_WORLD));
        PetscCallMPI(MPI_Recv(buffer, count, MPI_DOUBLE, 1 - rank, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank == 1) PetscCallMPI(MPI_Send(buffer, count, MPI_DOUBLE, 0, 0, PETSC_COMM_WORLD));
    }
    PetscCall(slowest(start, seconds));
    *seconds /= 2.0 * calls;
    PetscFunctionReturn(0);
}

PetscErrorCode machine_measure(machine *m)
{
    PetscFunctionBegin;
    PetscMPIInt rank, ranks;
    PetscLogDouble start;
    double in[NUMBERS] = {0}, out[NUMBERS], seconds, *buffer;
    *m = (machine){0};
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(measure_copy(&m->copy_gbs));
    PetscCall(start_together(&start));
    for (int i = 0; i < CALLS; i++)
        PetscCallMPI(MPI_Allreduce(in, out, NUMBERS, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(slowest(start, &seconds));
    m->reduction_us = 1e6 * seconds / CALLS;
    if (ranks == 1) PetscFunctionReturn(0);
    PetscCall(PetscCalloc1(LARGE, &buffer));
    PetscCall(measure_message(buffer, 1, CALLS, rank, &seconds));
    m->message_us = 1e6 * seconds;
    PetscCall(measure_message(buffer, LARGE, 1, rank, &seconds)); /* to warm up */
    PetscCall(measure_message(buffer, LARGE, CALLS / 10, rank, &seconds));
    m->message_gbs = 1e-9 * sizeof(double) * LARGE / seconds;
    PetscCall(PetscFree(buffer));
    PetscFunctionReturn(0);
}
