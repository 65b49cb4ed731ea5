/* KSP with one sub-solver a rank, timed: prints one JSON object.
 *
 *     mpiexec -n 2 trine-petsc-bench -matrix airfoil_2d -pc_type bjacobi -sub_pc_type lu \
 *         -sub_pc_factor_mat_solver_type mumps
 *
 * GMRES on the right, so that its residual is that of x, until 1e-8 of |b|; all of it can be set by PETSc's options.
 * -reps: set-ups (5), fewer where they take longer than -seconds (10). petsc/bench/table runs it over matrices and
 * sub-solvers, and makes records. */
#include "bench.h"
#include <malloc.h>
#include <sys/resource.h>

enum { MOST = 64 };

/* Phases of a solve by PETSc's events, whose names are PETSc's, with blanks at the end. Of an event the times of
 * those inside it count too: the halo is part of the product. */
static const struct {
    const char *key, *event;
} phases[] = {
    {"product_ms", "MatMult"},        {"halo_ms", "VecScatterEnd  "},
    {"precondition_ms", "PCApply"},   {"orthogonalize_ms", "KSPGMRESOrthog"},
    {"normalize_ms", "VecNormalize"},
};
/* What a set-up does before numbers, by whoever factors. */
static const char *const analyses[] = {"MatGetOrdering", "MatLUFactorSym",  "MatILUFactorSym",
                                       "MatCholFctrSym", "MatICCFactorSym", "TrineSetUp"};

typedef struct {
    double setup[MOST], numeric[MOST], solve[MOST], apply[MOST]; /* ms */
    int setups, numerics, solves, applies;
    double analyse_ms, peak_before_mib, peak_mib, residual;
    PetscInt iterations;
    KSPConvergedReason reason;
} times;

/* The most memory that the ranks together have had since begin_peak, and their files' pages. */
static PetscErrorCode peak_mib(double *mib)
{
    PetscFunctionBegin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double own = (double)usage.ru_maxrss / 1024;
    PetscCallMPI(MPI_Allreduce(&own, mib, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscFunctionReturn(0);
}

/* Linux: the most memory counts from here. */
static PetscErrorCode begin_peak(void)
{
    PetscFunctionBegin;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    PetscFunctionReturn(0);
}

/* The time of an event in a stage, mean of all ranks, in ms; 0 where there is no such event. */
static PetscErrorCode event_ms(PetscLogStage stage, const char *name, double *ms)
{
    PetscFunctionBegin;
    PetscLogEvent event;
    PetscEventPerfInfo info = {0};
    PetscCall(PetscLogEventGetId(name, &event));
    if (event >= 0) PetscCall(PetscLogEventGetPerfInfo(stage, event, &info));
    PetscMPIInt ranks;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    double own = 1e3 * info.time / ranks;
    PetscCallMPI(MPI_Allreduce(&own, ms, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscFunctionReturn(0);
}

/* The blocks' solvers too. */
static PetscErrorCode set_up(KSP ksp, double *ms)
{
    PetscFunctionBegin;
    PetscLogDouble start;
    PetscCall(start_together(&start));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCall(slowest(start, ms));
    *ms *= 1e3;
    PetscFunctionReturn(0);
}

/* New values on the same pattern: A by 2, then by 1/2 again, so that A is what it was. */
static PetscErrorCode set_up_again(KSP ksp, Mat A, times *t)
{
    PetscFunctionBegin;
    for (int i = 0; i < 2; i++) {
        PetscCall(MatScale(A, i == 0 ? 2 : 0.5));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(set_up(ksp, &t->numeric[t->numerics++]));
    }
    PetscFunctionReturn(0);
}

/* One application of this rank's sub-solver alone, all ranks at the same time. */
static PetscErrorCode apply_sub_solver(KSP ksp, double seconds, times *t)
{
    PetscFunctionBegin;
    PC pc;
    KSP *blocks = NULL;
    PetscInt count = 0;
    PetscBool is_bjacobi, is_asm;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBJACOBI, &is_bjacobi));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCASM, &is_asm));
    if (is_bjacobi) PetscCall(PCBJacobiGetSubKSP(pc, &count, NULL, &blocks));
    if (is_asm) PetscCall(PCASMGetSubKSP(pc, &count, NULL, &blocks));
    if (count == 1) PetscCall(KSPGetPC(blocks[0], &pc));
    Mat A;
    Vec x, y;
    PetscCall(PCGetOperators(pc, NULL, &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(PCApply(pc, x, y));
    for (double sum = 0; t->applies < MOST && sum < 1e3 * seconds; sum += t->apply[t->applies++]) {
        PetscLogDouble start;
        PetscCall(start_together(&start));
        PetscCall(PCApply(pc, x, y));
        PetscCall(slowest(start, &t->apply[t->applies]));
        t->apply[t->applies] *= 1e3;
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(KSP ksp, Vec b, Vec x, times *t)
{
    PetscFunctionBegin;
    PetscLogDouble start;
    PetscCall(start_together(&start));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(slowest(start, &t->solve[t->solves]));
    t->solve[t->solves++] *= 1e3;
    PetscCall(KSPGetConvergedReason(ksp, &t->reason));
    PetscCall(KSPGetIterationNumber(ksp, &t->iterations));
    PetscFunctionReturn(0);
}

/* |b - A x| / |b| */
static PetscErrorCode residual(Mat A, Vec b, Vec x, double *relative)
{
    PetscFunctionBegin;
    Vec r;
    PetscReal norm, whole;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &whole));
    PetscCall(VecDestroy(&r));
    *relative = norm / whole;
    PetscFunctionReturn(0);
}

/* b = A x with random x, which has all frequencies. */
static PetscErrorCode right_hand_side(Mat A, Vec *x, Vec *b)
{
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, x, b));
    PetscCall(VecSetRandom(*x, NULL));
    PetscCall(MatMult(A, *x, *b));
    PetscFunctionReturn(0);
}

/* Set up, new values, solve, and all of it again with a new solver. */
static PetscErrorCode measure(Mat A, Vec b, Vec x, PetscLogStage setting_up, PetscLogStage solving, times *t)
{
    PetscFunctionBegin;
    PetscInt reps = 5;
    PetscReal seconds = 10;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
    reps = PetscMin(reps, MOST / 2);
    PetscCall(begin_peak());
    PetscCall(peak_mib(&t->peak_before_mib));
    double spent = 0;
    while (t->setups < reps && spent < 1e3 * seconds) {
        KSP ksp;
        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetType(ksp, KSPGMRES));
        PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
        PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(PetscLogStagePush(setting_up));
        PetscCall(set_up(ksp, &t->setup[t->setups]));
        PetscCall(PetscLogStagePop());
        if (t->setups++ == 0) PetscCall(peak_mib(&t->peak_mib));
        PetscCall(set_up_again(ksp, A, t));
        PetscCall(PetscLogStagePush(solving));
        PetscCall(solve(ksp, b, x, t));
        PetscCall(PetscLogStagePop());
        spent += t->setup[t->setups - 1] + t->numeric[t->numerics - 1] + t->numeric[t->numerics - 2] +
                 t->solve[t->solves - 1];
        PetscBool last = (PetscBool)(t->setups == reps || spent >= 1e3 * seconds);
        if (last && t->reason != KSP_DIVERGED_PC_FAILED) PetscCall(apply_sub_solver(ksp, seconds / 4, t));
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(residual(A, b, x, &t->residual));
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        double ms;
        PetscCall(event_ms(setting_up, analyses[i], &ms));
        t->analyse_ms += ms / t->setups;
    }
    PetscFunctionReturn(0);
}

static double least(const double *values, int count)
{
    double found = values[0];
    for (int i = 1; i < count; i++) found = PetscMin(found, values[i]);
    return found;
}

static void number(const char *key, double value)
{
    printf(PetscIsInfOrNanReal(value) ? ", \"%s\": null" : ", \"%s\": %.7g", key, value);
}

static PetscErrorCode print(const char *name, Mat A, PetscLogStage solving, const machine *m, times *t)
{
    PetscFunctionBegin;
    PetscMPIInt rank, ranks;
    PetscInt n, ghosts;
    MatInfo info;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
    PetscCall(MatGetGhosts(A, &ghosts, NULL));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ghosts, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    double spent[sizeof phases / sizeof *phases];
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        PetscCall(event_ms(solving, phases[i].event, &spent[i]));
    if (rank != 0) PetscFunctionReturn(0);
    printf("{\"matrix\": \"%s\", \"n\": %lld, \"nnz\": %.0f, \"dtype\": \"%s\", \"ranks\": %d, \"ghosts\": %lld", name,
           (long long)n, info.nz_used, sizeof(PetscScalar) == 16 ? "z" : "d", (int)ranks, (long long)ghosts);
    printf(", \"version\": \"%d.%d.%d\", \"outcome\": \"%s\", \"iterations\": %d, \"reps\": %d", PETSC_VERSION_MAJOR,
           PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, t->reason > 0 ? "converged" : KSPConvergedReasons[t->reason],
           (int)t->iterations, t->solves);
    number("setup_ms", least(t->setup, t->setups));
    number("analyse_ms", t->analyse_ms);
    number("factor_ms", PetscMax(0, least(t->setup, t->setups) - t->analyse_ms));
    number("numeric_ms", least(t->numeric, t->numerics));
    number("solve_ms", median(t->solve, t->solves));
    number("solve_min_ms", least(t->solve, t->solves));
    if (t->applies) number("apply_ms", least(t->apply, t->applies));
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) number(phases[i].key, spent[i] / t->solves);
    number("error", t->residual);
    number("peak_before_mib", t->peak_before_mib);
    number("peak_mib", t->peak_mib);
    number("copy_gbs", m->copy_gbs);
    number("reduction_us", m->reduction_us);
    number("message_us", m->message_us);
    number("message_gbs", m->message_gbs);
    printf("}\n");
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscLogDefaultBegin());
    char name[PETSC_MAX_PATH_LEN];
    machine m;
    Mat A;
    Vec b, x;
    PetscLogStage setting_up, solving;
    static times t; /* zeros */
    PetscCall(problem_create(&A, name, sizeof name));
    PetscCall(right_hand_side(A, &x, &b));
    PetscCall(PetscLogStageRegister("set-up", &setting_up));
    PetscCall(PetscLogStageRegister("solve", &solving));
    PetscCall(measure(A, b, x, setting_up, solving, &t));
    PetscCall(machine_measure(&m));
    PetscCall(print(name, A, solving, &m, &t));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
