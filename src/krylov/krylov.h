/* Inside of the Krylov solvers. A method is two halves: what is done to vectors, as short programs that the backend
 * runs in one pass over memory each (cycle_*.c), and what is done to scalars, as steps of a machine for each right-hand
 * side (common/steps*.h). Between them stand the operators. All that either half reads or writes is in the backend's
 * memory, so that the loop around them may be the host's or a device's.
 *
 *     solve.c          r = b - A x, is that good?, a cycle for A d = r, x := x + d, and again
 *     cycle_gmres.c    a cycle of GMRES or FGMRES; cycle_cg.c, cycle_bicgstab.c, cycle_minres.c: of the others
 *     plan.c           options and operators; memory.c: vectors and works; apply.c: a call of solve, results
 *     cpu/, cuda/      programs on the CPU and on a GPU; cuda/loop.cu: the loop on the device */
#ifndef TRINE_KRYLOV_PRIVATE_H
#define TRINE_KRYLOV_PRIVATE_H

#include <trine/krylov.h>

#include "core/internal.h"
#include "core/plan.h"
#include "krylov/common/column.h"
#include "operator/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- programs */

struct krylov_work;
/** A part of an iteration, number j of several. */
typedef trine_status (*krylov_body)(struct krylov_work *w, int j);

/** y := c[a] x + c[b] z, or sum[a] := x^H z, with coefficients and sums of each column; or y := diag(z) x or
 *  diag(z)^-1 x, with one z for all columns. */
typedef struct {
    enum { KRYLOV_COMBINE, KRYLOV_DOT, KRYLOV_MULTIPLY, KRYLOV_DIVIDE } kind;
    bool from_other;  /* x is of the other precision: S and D, C and Z */
    int a, b;
    int need;         /* for columns whose d is made of more than so many vectors, */
    unsigned flags;   /* and that have all of these */
    void *y;          /* may be x or z */
    const void *x, *z; /* z NULL: no second term */
} krylov_instruction;

/** A pass over the vectors. */
typedef struct {
    trine_dtype dtype; /* of y, and of x and z unless from_other */
    unsigned flags;    /* columns that have all of them */
    krylov_step then;  /* what they do after it */
    int j;
    bool ends_body;    /* of a loop */
    int count;
    krylov_instruction *instructions;
} krylov_program;
enum { KRYLOV_MOST_PASSES = 4 };

enum { KRYLOV_MOST_TURNS = 32 };

/** Loops that a device makes by itself: what a solve puts on w->stream is recorded once, loops and all. */
struct krylov_recorder {
    /** NULL if this device can, else why it cannot. */
    const char *(*why_not)(void);
    /** Between these two, what is put on w->stream is recorded. The end says whether all is there to be replayed. */
    trine_status (*begin)(struct krylov_work *work);
    trine_status (*end)(struct krylov_work *work, trine_status status);
    /** krylov_loop meanwhile. */
    trine_status (*loop)(struct krylov_work *work, int period, krylov_body body);
    /** One of body(w, 0), ..., body(w, m - 1), at most KRYLOV_MOST_TURNS of them, by turns in each solve. */
    trine_status (*take_turns)(struct krylov_work *work, int m, krylov_body body);
    trine_status (*replay)(struct krylov_work *work);
    void (*forget)(struct krylov_work *work);
};

struct krylov_backend {
    size_t (*scratch_bytes)(const struct trine_krylov_s *plan, int64_t nrhs, int sums);
    /** Pass after pass: instruction after instruction for each element; then the sums, and the step that follows. */
    trine_status (*run)(struct krylov_work *work, const krylov_program *programs, int count);
    /** V[j + 1] of running columns, orthogonalized against those before it and normalized, with the steps of that; z
     *  not NULL: and z = M V[j + 1], M a diagonal. NULL, or *done false: by programs. */
    trine_status (*orthogonalize)(struct krylov_work *work, int j, void *z, bool *done);
    /** Steps of CG, to the end of the body of a loop, on the rows of A. NULL, or *done false: by programs. */
    trine_status (*conjugate)(struct krylov_work *work, bool *done);
    /** A step of GMRES, to the end of the body of a loop, on the rows of A: V[j + 1] from A x; z not NULL: and
     *  z = M V[j + 1], M a diagonal. steps 0: all of a cycle from j on, each next x is z or the last vector. NULL, or
     *  *done false: by orthogonalize. */
    trine_status (*arnoldi)(struct krylov_work *work, int j, int steps, const void *x, void *z, bool *done);
    /** One step of all columns that have the flags. */
    trine_status (*step)(struct krylov_work *work, krylov_step step, unsigned flags, int j);
    /** Of columns that have ended as not finite: the first row of x, of the outer precision, where it is seen. The last
     *  thing in the body of a loop around cycles. */
    trine_status (*find_rows)(struct krylov_work *work, const void *x);
    /** Bring the columns to where the host reads them, and wait for that. NULL: they are there. */
    trine_status (*look)(struct krylov_work *work);
    const struct krylov_recorder *recorder; /* NULL: none */
};
extern const struct krylov_backend krylov_cpu, krylov_cuda;
extern const struct krylov_recorder krylov_cuda_recorder;
trine_status krylov_cuda_orthogonalize(struct krylov_work *work, int j, void *z, bool *done);
trine_status krylov_cuda_conjugate(struct krylov_work *work, bool *done);
trine_status krylov_cuda_arnoldi(struct krylov_work *work, int j, int steps, const void *x, void *z, bool *done);

/* -------------------------------------------------------------------- plan */

struct trine_krylov_s {
    struct trine_plan base;
    const struct krylov_backend *backend;
    krylov_parameters parameters;
    trine_dtype inner;
    trine_op A, inner_A; /* the same handle where the precisions are */
    trine_op *M;         /* parameters.m of the inner precision; NULL: none */
    bool use_guess;
    int64_t max_nrhs;
    trine_krylov_monitor monitor;
    void *monitor_user;
    trine_dense reference;
    const char *reason;  /* who makes the loop, and why */
    bool records;        /* the device does; atomic, since a solve may find that it cannot */
    bool unrolls;        /* see trine_krylov_unroll */
    int64_t looks;       /* how often the host has waited for columns; atomic */
};

/** Vectors of n elements a column, columns `stride` elements apart. */
struct krylov_work {
    trine_plan_work base;
    trine_krylov plan;
    int64_t nrhs, stride;       /* columns of the solve in flight, or of the last one */
    bool solved, has_errors;
    void *stream;               /* of the solve in flight */
    void *host;                 /* a block of host memory */
    bool records;               /* what is done is recorded, not done */
    void *recording;            /* the recorder's; NULL: there is none */
    uint64_t condition, taken; /* of the next body of the loop around, and of this one, which the last launch of it */
    bool has_decided; /* may set, and does */
    const void *turn_from; /* meanwhile, what an M whose turn it is reads and writes */
    void *turn_to;
    int64_t recorded_nrhs; /* of what was recorded */
    bool recorded_guess;
    trine_work A, inner_A, *M;
    void *b, *x, *best, *r; /* of the outer precision */
    void **V, **Z; /* of the inner one: GMRES's basis; FGMRES's M v, others' vectors */
    void *d, *kept; /* correction of a cycle, and the best one */
    int vectors; /* in V */
    krylov_column *columns; /* where the host reads them */
    krylov_column *own_columns; /* where steps are taken; on the CPU the same */
    bool is_fresh; /* what the host reads is how they are */
    int64_t *reported; /* steps of each that the monitor has seen */
    krylov_program program[KRYLOV_MOST_PASSES]; /* passes that are complete, and the one that is put together */
    int passes;
    int most_instructions, most_sums;
    void *scratch; /* the backend's */
    int64_t steps; /* of all cycles: whose turn it is of M's that alternate */
    trine_status failure; /* the first one of a solve, which it returns in the end */
    char sentence[512];
};

static inline bool krylov_is_gmres(const krylov_parameters *p)
{
    return p->method == TRINE_KRYLOV_GMRES || p->method == TRINE_KRYLOV_FGMRES;
}

/** Bytes that no allocator has. */
#define KRYLOV_TOO_MUCH (SIZE_MAX / 4)

/* Of trine_plan_kind. */
size_t krylov_own_bytes(struct trine_plan *plan, int64_t nrhs);
size_t krylov_work_bytes(struct trine_plan *plan, int64_t nrhs);
trine_status krylov_work_begin(struct trine_plan *plan, trine_plan_work *work);
void krylov_work_end(trine_plan_work *work);
trine_status krylov_solve_as_operator(struct trine_plan *plan, trine_transpose op, const void *alpha,
                                      const trine_dense *B, const trine_dense *X, const trine_exec *exec);
/** Of a plan without a work: what it takes with one. */
void krylov_tell_memory(trine_krylov plan, trine_memory *memory);
/** Vectors that a work keeps for each right-hand side. */
int krylov_vectors(const krylov_parameters *p);

/* --------------------------------------------------------- what cycles use */

krylov_instruction *krylov_combine(struct krylov_work *w, void *y, int a, const void *x, int b, const void *z);
void krylov_dot(struct krylov_work *w, int sum, const void *x, const void *z);
/** Run what was put together, in the cycle's precision, for columns that have the flags. */
trine_status krylov_run(struct krylov_work *w, unsigned flags);
trine_status krylov_run_outer(struct krylov_work *w, unsigned flags);
/** The same, and then a step of these columns. */
trine_status krylov_run_then(struct krylov_work *w, unsigned flags, krylov_step step, int j);
/** The same at the end of a body of krylov_loop. */
trine_status krylov_end_body(struct krylov_work *w, unsigned flags, krylov_step step, int j);
/** The same, where another program of these columns comes next and nothing between: a GPU has one launch for both. */
void krylov_then(struct krylov_work *w, unsigned flags, krylov_step step, int j);
/** A step alone. */
trine_status krylov_do(struct krylov_work *w, krylov_step step, unsigned flags, int j);
/** Afterwards the host reads the columns as they are. */
trine_status krylov_look(struct krylov_work *w);
/** As long as a column runs: body(w, 0), body(w, 1), ..., body(w, period - 1), body(w, 0), ... */
trine_status krylov_loop(struct krylov_work *w, int period, krylov_body body);
/** y := A x and y := M x, for the span of running columns (or those of the cycle). */
trine_status krylov_apply_A(struct krylov_work *w, unsigned flags, const void *x, void *y);
trine_status krylov_apply_M(struct krylov_work *w, unsigned flags, const void *x, void *y);
/** Is M a diagonal, always the same one? */
bool krylov_has_diagonal(const struct krylov_work *w);
/** y := M x, behind what was put together: in the same pass if M is a diagonal. */
trine_status krylov_then_M(struct krylov_work *w, unsigned flags, const void *x, void *y);
/** y := A M x with *z = M x; with M on the left y := M A x with *z = x. room takes what stands between. */
trine_status krylov_apply_system(struct krylov_work *w, void *x, void *room, void **z, void *y);
/** d is copied in columns where it is about to become worse. */
void krylov_keep(struct krylov_work *w);
/** After each step: monitor, and the error where the solution is known. form: what is to be run then puts into d
 *  the correction so far; NULL: it is there. */
trine_status krylov_report(struct krylov_work *w, trine_status (*form)(struct krylov_work *w));

/** A cycle: from V[0] = r / scale to d. */
trine_status krylov_cycle_gmres(struct krylov_work *w);
/** Run what makes V[0], and what a cycle of GMRES begins with. */
trine_status krylov_begin_gmres(struct krylov_work *w);
/** What is to be run then: d := V y, M V y or Z y of GMRES, whose y is known. */
trine_status krylov_combine_basis(struct krylov_work *w);
trine_status krylov_cycle_cg(struct krylov_work *w);
trine_status krylov_cycle_bicgstab(struct krylov_work *w);
trine_status krylov_cycle_minres(struct krylov_work *w);
/** All right-hand sides, in w->b; x: the guess before, unless the plan takes none. */
trine_status krylov_iterate(struct krylov_work *w, bool use_guess);

/* What stands where in V of the methods without a basis. */
enum { V_R, V_P, V_Q, V_Z, V_CG = V_Z + 1 };
enum { V_SHADOW = V_Q, V_V = V_Q + 1, V_S, V_T, V_PHAT, V_SHAT, V_BICGSTAB = V_SHAT + 1 };
enum { V_LAST = V_R + 1, V_AZ, V_W, V_LAST_W, V_Z1, V_Z2, V_MINRES = V_Z2 + 1 };

#ifdef __cplusplus
}
#endif
#endif
