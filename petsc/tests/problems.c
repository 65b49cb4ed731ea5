#include "problems.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
/* Libraries stay where they are, so that a report of leaks can name them: this goes before the C library's. */
__attribute__((visibility("default"))) int dlclose(void *library)
{
    (void)library;
    return 0;
}
#endif

static int checks, failures;

void expect(int holds, const char *file, int line, const char *format, ...)
{
    checks++;
    if (holds) return;
    failures++;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "FAILED [rank %d] %s:%d: ", rank, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

int expect_end(const char *program)
{
    int mine[2] = {checks, failures}, all[2], rank = 0;
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("%s: %d checks, %d failed\n", program, all[0], all[1]);
    return all[0] == 0 || all[1] > 0;
}

/* A number in (-1, 1) that looks random. */
static double scatter(PetscInt i)
{
    const unsigned long long mixed = (unsigned long long)(i + 1) * 0x9e3779b97f4a7c15ULL;
    return (double)((mixed ^ (mixed >> 29)) >> 11) / (double)(1ULL << 52) - 1;
}

PetscErrorCode problem_rhs(Mat A, Vec *b)
{
    PetscInt first, last;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, NULL, b));
    PetscCall(VecGetOwnershipRange(*b, &first, &last));
    for (PetscInt i = first; i < last; i++) PetscCall(VecSetValue(*b, i, (PetscScalar)scatter(i), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(*b));
    PetscCall(VecAssemblyEnd(*b));
    PetscFunctionReturn(0);
}

PetscErrorCode difference(Vec x, Vec y, PetscReal *relative)
{
    Vec d;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(VecDuplicate(x, &d));
    PetscCall(VecWAXPY(d, -1.0, x, y));
    PetscCall(VecNorm(d, NORM_2, relative));
    PetscCall(VecDestroy(&d));
    *relative /= norm;
    PetscFunctionReturn(0);
}

/* Ends the assembly, and in complex PETSc makes the entries complex. */
static PetscErrorCode finish(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
#ifdef PETSC_USE_COMPLEX
    Vec phases, conjugates;
    PetscScalar *values;
    PetscInt first, last;
    PetscCall(MatCreateVecs(A, &phases, NULL));
    PetscCall(VecGetOwnershipRange(phases, &first, &last));
    PetscCall(VecGetArrayWrite(phases, &values));
    for (PetscInt i = first; i < last; i++) values[i - first] = PetscExpComplex(3 * scatter(i) * PETSC_i);
    PetscCall(VecRestoreArrayWrite(phases, &values));
    PetscCall(VecDuplicate(phases, &conjugates));
    PetscCall(VecCopy(phases, conjugates));
    PetscCall(VecConjugate(conjugates));
    PetscCall(MatDiagonalScale(A, conjugates, phases));
    PetscCall(MatGetDiagonal(A, phases)); /* whose imaginary part is rounding */
    PetscCall(VecGetArray(phases, &values));
    for (PetscInt i = first; i < last; i++) values[i - first] = PetscRealPart(values[i - first]);
    PetscCall(VecRestoreArray(phases, &values));
    PetscCall(MatDiagonalSet(A, phases, INSERT_VALUES));
    PetscCall(VecDestroy(&phases));
    PetscCall(VecDestroy(&conjugates));
#endif
    PetscFunctionReturn(0);
}

/* An empty matrix of rows x rows, `mine` of them here. */
static PetscErrorCode create(MPI_Comm comm, PetscInt mine, PetscInt rows, PetscInt entries, Mat *A)
{
    PetscFunctionBeginUser;
    PetscCall(MatCreate(comm, A));
    PetscCall(MatSetSizes(*A, mine, mine, rows, rows));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(*A, entries, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, entries, NULL, entries, NULL));
    PetscFunctionReturn(0);
}

/* Second differences on a grid of size^dimensions points, with wind along the first axis: `mine` rows are here. */
static PetscErrorCode grid(MPI_Comm comm, PetscInt mine, PetscInt size, int dimensions, PetscReal wind, Mat *A)
{
    const PetscInt rows = dimensions == 3 ? size * size * size : size * size;
    PetscInt first, last;
    PetscFunctionBeginUser;
    PetscCall(create(comm, mine, rows, 2 * dimensions + 1, A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt row = first; row < last; row++) {
        PetscInt stride = 1;
        for (int axis = 0; axis < dimensions; axis++, stride *= size) {
            const PetscInt at = row / stride % size;
            const PetscScalar upwind = axis == 0 ? wind : 0;
            if (at > 0) PetscCall(MatSetValue(*A, row, row - stride, -1.0 - upwind, INSERT_VALUES));
            if (at < size - 1) PetscCall(MatSetValue(*A, row, row + stride, -1.0, INSERT_VALUES));
        }
        PetscCall(MatSetValue(*A, row, row, 2.0 * dimensions + wind, INSERT_VALUES));
    }
    PetscCall(finish(*A));
    PetscFunctionReturn(0);
}

PetscErrorCode problem_laplace2d(MPI_Comm comm, PetscInt size, Mat *A)
{
    return grid(comm, PETSC_DECIDE, size, 2, 0, A);
}

PetscErrorCode problem_laplace3d(MPI_Comm comm, PetscInt size, Mat *A)
{
    return grid(comm, PETSC_DECIDE, size, 3, 0, A);
}

PetscErrorCode problem_convection2d(MPI_Comm comm, PetscInt size, Mat *A)
{
    return grid(comm, PETSC_DECIDE, size, 2, 0.5, A);
}

PetscErrorCode problem_one_rank(MPI_Comm comm, PetscInt size, Mat *A)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    return grid(comm, rank == ranks - 1 ? size * size : 0, size, 2, 0, A);
}

/* Stiffness of a unit square, unknowns (u, v) of its corners counterclockwise: integral of B^T C B by 2 x 2 points. */
static void plane_strain(double poisson, double K[8][8])
{
    const double c = 1 / ((1 + poisson) * (1 - 2 * poisson));
    const double C[3][3] = {
        {c * (1 - poisson), c * poisson, 0}, {c * poisson, c * (1 - poisson), 0}, {0, 0, c * (0.5 - poisson)}};
    const double side[2] = {0.5 - 0.28867513459481287, 0.5 + 0.28867513459481287}; /* 1/2 -+ 1/sqrt(12) */
    memset(K, 0, 64 * sizeof(double));
    for (int point = 0; point < 4; point++) {
        const double x = side[point % 2], y = side[point / 2];
        const double dx[4] = {-(1 - y), 1 - y, y, -y}, dy[4] = {-(1 - x), -x, x, 1 - x};
        double B[3][8] = {{0}};
        for (int k = 0; k < 4; k++) {
            B[0][2 * k] = B[2][2 * k + 1] = dx[k];
            B[1][2 * k + 1] = B[2][2 * k] = dy[k];
        }
        for (int i = 0; i < 8; i++) {
            for (int j = 0; j < 8; j++) {
                for (int p = 0; p < 3; p++) {
                    for (int q = 0; q < 3; q++) K[i][j] += 0.25 * B[p][i] * C[p][q] * B[q][j];
                }
            }
        }
    }
}

PetscErrorCode problem_elasticity2d(MPI_Comm comm, PetscInt size, Mat *A)
{
    const PetscInt side = size + 1; /* nodes; those at the left are held */
    PetscInt first, last, held[2];
    double K[8][8];
    PetscFunctionBeginUser;
    plane_strain(0.3, K);
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    PetscInt nodes = side * side / ranks + (rank < side * side % ranks);
    PetscCall(MatCreate(comm, A));
    PetscCall(MatSetSizes(*A, 2 * nodes, 2 * nodes, 2 * side * side, 2 * side * side));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSetBlockSize(*A, 2));
    PetscCall(MatSeqAIJSetPreallocation(*A, 18, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 18, NULL, 18, NULL));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt e = 0; e < size * size; e++) { /* each rank looks at all elements, and adds its own rows */
        const PetscInt corner = e / size * side + e % size;
        const PetscInt node[4] = {corner, corner + 1, corner + side + 1, corner + side};
        for (int i = 0; i < 8; i++) {
            const PetscInt row = 2 * node[i / 2] + i % 2;
            if (row < first || row >= last) continue;
            for (int j = 0; j < 8; j++) {
                PetscCall(MatSetValue(*A, row, 2 * node[j / 2] + j % 2, (PetscScalar)K[i][j], ADD_VALUES));
            }
        }
    }
    PetscCall(finish(*A));
    for (PetscInt k = 0; k < side; k++) {
        held[0] = 2 * k * side, held[1] = held[0] + 1;
        PetscCall(MatZeroRowsColumns(*A, rank == 0 ? 2 : 0, held, 1.0, NULL, NULL));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode problem_file(MPI_Comm comm, PetscInt size, Mat *A)
{
    char name[PETSC_MAX_PATH_LEN] = "", line[256] = "";
    long rows, columns, entries, i, j;
    double value;
    PetscInt first, last;
    PetscFunctionBeginUser;
    (void)size;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, sizeof name, NULL));
    FILE *file = fopen(name, "r");
    PetscCheck(file && fgets(line, sizeof line, file), comm, PETSC_ERR_FILE_OPEN, "-matrix %s cannot be read", name);
    PetscCheck(strstr(line, "coordinate real"), comm, PETSC_ERR_FILE_UNEXPECTED, "%s: %s", name, line);
    const int symmetric = strstr(line, "symmetric") != NULL;
    do {
        PetscCheck(fgets(line, sizeof line, file), comm, PETSC_ERR_FILE_UNEXPECTED, "%s has no entries", name);
    } while (line[0] == '%');
    PetscCheck(sscanf(line, "%ld %ld %ld", &rows, &columns, &entries) == 3, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: %s",
               name, line);
    PetscCall(create(comm, PETSC_DECIDE, (PetscInt)rows, 32, A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    while (fscanf(file, "%ld %ld %lf", &i, &j, &value) == 3) {
        i--, j--;
        if (i >= first && i < last) PetscCall(MatSetValue(*A, (PetscInt)i, (PetscInt)j, value, INSERT_VALUES));
        if (symmetric && i != j && j >= first && j < last)
            PetscCall(MatSetValue(*A, (PetscInt)j, (PetscInt)i, value, INSERT_VALUES));
    }
    fclose(file);
    PetscCall(finish(*A));
    PetscFunctionReturn(0);
}

PetscErrorCode problem_new_pattern(Mat A)
{
    PetscInt first, last, at[2];
    const PetscScalar values[4] = {0.25, -0.25, -0.25, 0.25}; /* a spring: definite matrices stay definite */
    PetscFunctionBeginUser;
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i += 4) {
        at[0] = i, at[1] = i + 7 < last ? i + 7 : first;
        if (at[0] != at[1]) PetscCall(MatSetValues(A, 2, at, 2, at, values, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}
