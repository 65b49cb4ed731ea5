#include "bench.h"
#include <petscdmda.h>
#include <stdlib.h>
#include <trine/trine.h>

#ifdef PETSC_USE_COMPLEX
static const trine_dtype dtype = TRINE_Z;
#else
static const trine_dtype dtype = TRINE_D;
#endif

#define TrineCall(call)                                                                                                \
    do {                                                                                                               \
        trine_status trine_call = (call);                                                                              \
        PetscCheck(!trine_call, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", trine_last_error());                             \
    } while (0)

/* A file as it is named, else of $TRINE_MATRICES, else of the gallery. Every rank reads all of it. */
static PetscErrorCode read_matrix(trine_context ctx, const char *name, trine_matrix *A)
{
    PetscFunctionBegin;
    char folder[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN];
    PetscBool set, found;
    PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "TRINE_MATRICES", folder, sizeof folder, &set));
    const char *const forms[] = {"%s%s", "%s/%s.mtx.gz", "%s/%s.mtx"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        PetscCall(PetscSNPrintf(path, sizeof path, forms[i], i == 0 ? "" : set ? folder : "../shared/matrices", name));
        PetscCall(PetscTestFile(path, 'r', &found));
        if (found) {
            TrineCall(trine_matrix_read(ctx, A, path, dtype));
            PetscFunctionReturn(0);
        }
    }
    TrineCall(trine_matrix_gallery(ctx, A, name, dtype));
    PetscFunctionReturn(0);
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The same matrix numbered so that the stretches of ranks are stretches of its reverse Cuthill-McKee ordering, every
 * one in the order that it had: neighbours come together, and a partition is the same in every run. */
static PetscErrorCode bring_neighbours_together(trine_matrix *A, PetscMPIInt ranks)
{
    PetscFunctionBegin;
    trine_matrix_info info = {0};
    const int64_t *offsets;
    const int32_t *columns;
    TrineCall(trine_matrix_get_info(*A, &info));
    TrineCall(trine_matrix_get_arrays(*A, &offsets, &columns, NULL));
    PetscInt n = (PetscInt)info.n_rows, *rows, *cols;
    int32_t *order;
    PetscScalar *values;
    PetscCall(PetscMalloc1(n + 1, &rows));
    PetscCall(PetscMalloc1(info.nnz, &cols));
    PetscCall(PetscCalloc1(info.nnz, &values));
    PetscCall(PetscMalloc1(n, &order));
    for (PetscInt i = 0; i <= n; i++) rows[i] = (PetscInt)offsets[i];
    for (int64_t k = 0; k < info.nnz; k++) cols[k] = columns[k];
    Mat pattern;
    IS by_row, by_column;
    const PetscInt *list;
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, rows, cols, values, &pattern));
    PetscCall(MatGetOrdering(pattern, MATORDERINGRCM, &by_row, &by_column));
    PetscCall(ISGetIndices(by_row, &list));
    for (PetscInt i = 0; i < n; i++) order[i] = (int32_t)list[i];
    PetscCall(ISRestoreIndices(by_row, &list));
    for (PetscMPIInt rank = 0, first = 0; rank < ranks; rank++) {
        int32_t own = (int32_t)(n / ranks + (rank < n % ranks)); /* as PetscSplitOwnership */
        qsort(order + first, (size_t)own, sizeof *order, ascending);
        first += own;
    }
    trine_matrix B;
    TrineCall(trine_matrix_permute(*A, &B, order, order));
    TrineCall(trine_matrix_destroy(A));
    *A = B;
    PetscCall(ISDestroy(&by_row));
    PetscCall(ISDestroy(&by_column));
    PetscCall(MatDestroy(&pattern));
    PetscCall(PetscFree(order));
    PetscCall(PetscFree(values));
    PetscCall(PetscFree(cols));
    PetscCall(PetscFree(rows));
    PetscFunctionReturn(0);
}

/* This rank's stretch of rows of A, as they are numbered. */
static PetscErrorCode deal_rows(trine_matrix A, Mat *B)
{
    PetscFunctionBegin;
    trine_matrix_info info = {0};
    const int64_t *offsets;
    const int32_t *columns;
    const void *values;
    TrineCall(trine_matrix_get_info(A, &info));
    TrineCall(trine_matrix_get_arrays(A, &offsets, &columns, &values));
    PetscInt n = PETSC_DECIDE, size = (PetscInt)info.n_rows, end;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &n, &size));
    PetscCallMPI(MPI_Scan(&n, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    const int64_t *own = offsets + (end - n);
    PetscInt *rows, *cols;
    PetscCall(PetscMalloc2(n + 1, &rows, own[n] - own[0], &cols));
    for (PetscInt i = 0; i <= n; i++) rows[i] = (PetscInt)(own[i] - own[0]);
    for (int64_t k = own[0]; k < own[n]; k++) cols[k - own[0]] = columns[k];
    PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, n, n, size, size, rows, cols,
                                        (const PetscScalar *)values + own[0], B));
    PetscCall(PetscFree2(rows, cols));
    PetscFunctionReturn(0);
}

/* 6 and -1: the gallery's laplace3d. */
static PetscErrorCode create_grid(const PetscInt size[3], Mat *A)
{
    PetscFunctionBegin;
    DM grid;
    DMDALocalInfo box;
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                           size[0], size[1], size[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL,
                           &grid));
    PetscCall(DMSetFromOptions(grid));
    PetscCall(DMSetUp(grid));
    PetscCall(DMCreateMatrix(grid, A));
    PetscCall(DMDAGetLocalInfo(grid, &box));
    for (PetscInt k = box.zs; k < box.zs + box.zm; k++) {
        for (PetscInt j = box.ys; j < box.ys + box.ym; j++) {
            for (PetscInt i = box.xs; i < box.xs + box.xm; i++) {
                const PetscInt at[7][3] = {{i, j, k},     {i - 1, j, k}, {i + 1, j, k}, {i, j - 1, k},
                                           {i, j + 1, k}, {i, j, k - 1}, {i, j, k + 1}};
                MatStencil row = {.i = i, .j = j, .k = k}, columns[7];
                PetscScalar values[7];
                PetscInt count = 0;
                for (int m = 0; m < 7; m++) {
                    PetscBool inside = PETSC_TRUE;
                    for (int d = 0; d < 3; d++) inside = (PetscBool)(inside && at[m][d] >= 0 && at[m][d] < size[d]);
                    if (!inside) continue;
                    columns[count] = (MatStencil){.i = at[m][0], .j = at[m][1], .k = at[m][2]};
                    values[count++] = m == 0 ? 6 : -1;
                }
                PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(DMDestroy(&grid));
    PetscFunctionReturn(0);
}

PetscErrorCode problem_create(Mat *A, char *name, size_t length)
{
    PetscFunctionBegin;
    PetscInt size[3], count = 3;
    PetscBool set;
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-grid", size, &count, &set));
    if (set) {
        PetscCheck(count == 3, PETSC_COMM_WORLD, PETSC_ERR_USER, "-grid takes three numbers: NX,NY,NZ");
        PetscCall(PetscSNPrintf(name, length, "laplace3d:nx=%d,ny=%d,nz=%d", (int)size[0], (int)size[1], (int)size[2]));
        PetscCall(create_grid(size, A));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, length, &set));
    PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER, "-matrix NAME or -grid NX,NY,NZ says what is solved with");
    trine_context ctx;
    trine_matrix read;
    PetscMPIInt ranks;
    TrineCall(trine_context_create(&ctx, "cpu:1"));
    PetscCall(read_matrix(ctx, name, &read));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (ranks > 1) PetscCall(bring_neighbours_together(&read, ranks));
    PetscCall(deal_rows(read, A));
    TrineCall(trine_matrix_destroy(&read));
    TrineCall(trine_context_destroy(&ctx));
    PetscFunctionReturn(0);
}
