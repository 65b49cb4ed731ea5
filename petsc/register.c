#include "trine_petsc.h"

#include <petscmat.h>

#include "events.h"

PetscLogEvent TRINE_SetUp, TRINE_Numeric, TRINE_Solve, TRINE_Copy;
PetscMPIInt TRINE_local_rank;
static PetscBool registered;

static PetscErrorCode Forget(void)
{
    PetscFunctionBegin;
    registered = PETSC_FALSE;
    PetscFunctionReturn(0);
}

/** A library for another PETSc than the program's loads all the same, and would read its numbers as others. */
static PetscErrorCode CheckPetsc(void)
{
    PetscDataType scalar = PETSC_SCALAR;
    PetscBool found;
    size_t bytes;

    PetscFunctionBegin;
    PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
    PetscCheck(!found || scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "this library of trine is for a PETSc of %s numbers, and the program's has %s ones: load the other one",
               PetscDefined(USE_COMPLEX) ? "complex" : "real", PetscDefined(USE_COMPLEX) ? "real" : "complex");
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &bytes));
    PetscCheck(bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "this library of trine is for a PETSc whose PetscInt has %zu bytes, and the program's has %zu",
               sizeof(PetscInt), bytes);
    PetscFunctionReturn(0);
}

PetscErrorCode TrinePetscRegister(void)
{
    PetscClassId classid;
    MPI_Comm machine;

    PetscFunctionBegin;
    if (registered) PetscFunctionReturn(0);
    PetscCall(CheckPetsc());
    registered = PETSC_TRUE;
    PetscCall(PetscRegisterFinalize(Forget)); /* PetscInitialize may follow once more */
    PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
    PetscCallMPI(MPI_Comm_rank(machine, &TRINE_local_rank));
    PetscCallMPI(MPI_Comm_free(&machine));
    PetscCall(PetscClassIdRegister("trine", &classid));
    PetscCall(PetscLogEventRegister("TrineSetUp", classid, &TRINE_SetUp));
    PetscCall(PetscLogEventRegister("TrineNumeric", classid, &TRINE_Numeric));
    PetscCall(PetscLogEventRegister("TrineSolve", classid, &TRINE_Solve));
    PetscCall(PetscLogEventRegister("TrineCopy", classid, &TRINE_Copy));
    /* PETSc's own types first: a solver type that comes before them is the default of plain -pc_type ilu. */
    PetscCall(MatInitializePackage());
    PetscCall(PCRegister(PCTRINE, PCCreate_Trine));
    PetscCall(TrineRegisterSolverTypes());
    PetscFunctionReturn(0);
}

/* What -dll_append calls: PetscDLLibraryRegister_ and the name of the library's file. */
#define REGISTER_OF_LIBRARY(name) PetscDLLibraryRegister_##name
#define REGISTER_OF(name) REGISTER_OF_LIBRARY(name)
PETSC_EXTERN PetscErrorCode REGISTER_OF(TRINE_PETSC_LIBRARY)(void);
PetscErrorCode REGISTER_OF(TRINE_PETSC_LIBRARY)(void)
{
    PetscFunctionBegin;
    PetscCall(TrinePetscRegister());
    PetscFunctionReturn(0);
}
