/* Problems of the PETSc tests: plain PETSc, so that every program also runs with PETSc's own solvers. */
#ifndef TRINE_PETSC_TESTS_PROBLEMS_H
#define TRINE_PETSC_TESTS_PROBLEMS_H
#include <petscksp.h>

/* A function that makes a matrix, of about size^d rows. In complex PETSc D^H A D with unit phases D: Hermitian where
 * A is symmetric, with the same spectrum. */
typedef PetscErrorCode (*problem)(MPI_Comm comm, PetscInt size, Mat *A);
PetscErrorCode problem_laplace2d(MPI_Comm comm, PetscInt size, Mat *A);
PetscErrorCode problem_laplace3d(MPI_Comm comm, PetscInt size, Mat *A);
PetscErrorCode problem_convection2d(MPI_Comm comm, PetscInt size, Mat *A);
PetscErrorCode problem_elasticity2d(MPI_Comm comm, PetscInt size,
                                    Mat *A); /* plane strain, bilinear elements, block size 2 */
/* The 2-D Laplacian with all of its rows on the last rank. */
PetscErrorCode problem_one_rank(MPI_Comm comm, PetscInt size, Mat *A);
/* A Matrix Market file, "coordinate real general" or "symmetric", named by the option -matrix. */
PetscErrorCode problem_file(MPI_Comm comm, PetscInt size, Mat *A);

/* A vector of the rows of A with values in (-1, 1) that depend on the row only, not on the number of ranks. */
PetscErrorCode problem_rhs(Mat A, Vec *b);

/* Adds to every fourth row an entry where A has none. */
PetscErrorCode problem_new_pattern(Mat A);

/* Counts what does not hold. Says where, on this rank; expect_end says whether all held on all ranks. */
#define EXPECT(condition, ...) expect((condition) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) void expect(int holds, const char *file, int line, const char *format, ...);
int expect_end(const char *program);

/* |x - y|_2 / |x|_2 */
PetscErrorCode difference(Vec x, Vec y, PetscReal *relative);
#endif
