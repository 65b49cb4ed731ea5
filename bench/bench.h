/* What the files of the benchmark program share: the options of a run, timing, records, problems, solvers to
 * compare. */
#ifndef TRINE_BENCH_H
#define TRINE_BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <trine/trine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- failing */

/* One clean-up path: a function with `trine_status status = TRINE_SUCCESS;` and a label `done`. */
#define TRY(call) do { status = (call); if (status != TRINE_SUCCESS) goto done; } while (0)
#define FAIL(...) do { status = trine_fail(__VA_ARGS__); goto done; } while (0)

/** Host memory for trine_free, cleared or not; never NULL for count = 0. NULL and a sentence on failure. */
void *bench_alloc(trine_context ctx, int64_t count, size_t size, bool cleared);
/** status of p = count elements of *p: TRY(ALLOC(ctx, p, n)). C only. */
#define ALLOC(ctx, p, count) \
    (((p) = bench_alloc((ctx), (count), sizeof *(p), false)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)
#define CALLOC(ctx, p, count) \
    (((p) = bench_alloc((ctx), (count), sizeof *(p), true)) ? TRINE_SUCCESS : TRINE_ERR_MEMORY)

/** A random number in (0,1), the same for the same arguments. */
double bench_uniform(uint64_t seed, uint64_t counter);

static inline bool is_complex(trine_dtype t) { return t == TRINE_C || t == TRINE_Z; }

/* --------------------------------------------------------------------- run */

/** A list of words, split from a comma-separated option. */
typedef struct {
    int count;
    char *item[64];
    char *storage;
} bench_list;
bench_list bench_list_split(const char *text); /* exits on more than 64 */
void bench_list_free(bench_list *list);

typedef struct {
    trine_context ctx;
    trine_context_info device;
    void *stream;                /* of ctx; NULL on a CPU */
    char device_name[32];        /* as in file names and records: "h200", "cpu-2t" */
    double copy_gbs;             /* read + written, 10^9 bytes a second, measured at the start of this run */
    int copy_mib;                /* by a copy of this size; 0: the device's */
    bench_list matrices, methods, peers, dtypes, directions, nrhs; /* empty: the suite's own choice */
    trine_uplo uplo;             /* AUTO: lower for forward, upper for backward */
    bench_list layouts;          /* of several right-hand sides; empty: rowmajor */
    trine_layout layout;         /* the one that runs */
    trine_summation summation;
    bool solves_only;            /* analysis and value update run once, untimed, and one solve is checked */
    bool wall_only;              /* analyses are timed by the wall clock alone, and no solves in a row */
    bool wall_clock;             /* the former only */
    bench_list sweeps;           /* asked for */
    const char *sweep;           /* the one that runs: a table or figure of a paper by name, or NULL */
    int reps;                    /* timed calls behind every median, */
    int programs;                /* others in endless loops besides, in this sweep; -1: not that kind of sweep */
    int peer_reps;               /* of a peer with several right-hand sides; 0: the same */
    bool reps_given;             /* by the command line */
    double max_seconds;          /* a timed loop ends after that (0: never), */
    int least_reps;              /* with at least this many calls */
    double sample_ms;            /* suite spmv: a sample of products takes about so long; 0: its own length */
    int turns;                   /* of programs that share a device: a file that the one whose turn it is locks; -1 */
    FILE *table, *json;          /* json may be NULL, */
    const char *json_path;       /* and this, or if it is no file */
    int failures;                /* records with status failed, so far */
} bench;

/** One suite: a line in main.c's table. run returns an error only for what makes the rest of the run pointless; a
 *  matrix or method that fails is a record. */
typedef struct {
    const char *name, *description;
    trine_status (*run)(bench *b);
} bench_suite;
trine_status bench_suite_sptrsv(bench *b);
trine_status bench_suite_sptrsm(bench *b);
trine_status bench_suite_supernodal(bench *b);
trine_status bench_suite_direct(bench *b); /* where CHOLMOD and SuperLU are: TRINE_BENCH_DIRECT */
trine_status bench_suite_whole(bench *b);  /* there as well */
/** "structure|synchronization|...": what --sweep takes. */
const char *bench_sweep_names(void);

/** A table or figure: comma-separated lists, and what else struct bench has, where the command line says nothing.
 *  NULL for peers: those of the device; for matrices: the first sweep's; for dtypes: double. */
typedef struct {
    const char *name;
    const char *matrices, *methods, *nrhs, *peers, *dtypes;
    bool solves_only, wall_only, busy; /* busy: alone, and once more beside two programs in endless loops */
    int reps, peer_reps, least_reps;
    double max_seconds;
} bench_sweep;
/** What these suites do: every matrix, direction and number of right-hand sides, all methods and peers side by side.
 *  The sweeps asked for ("main" if none are) share each problem, and what a peer takes to solve it. */
trine_status bench_run_triangular(bench *b, const char *suite, const bench_sweep *table, int count, const char *nrhs);
trine_status bench_suite_tridiag(bench *b);
trine_status bench_suite_tridiag_numerics(bench *b);
trine_status bench_suite_spmv(bench *b);
trine_status bench_suite_forest(bench *b);
trine_status bench_suite_precond(bench *b);

/* ------------------------------------------------------------------ timing */

typedef trine_status (*bench_call)(void *self);

/** Median and minimum of a number of timed calls, in milliseconds. */
typedef struct {
    double median, min;
    int reps;
} bench_time;
/** Warm up, then time b->reps calls one by one: CUDA events around each on a GPU, the wall clock on a CPU. */
trine_status bench_measure(bench *b, bench_call call, void *self, bench_time *time);
/** On a GPU: one of many calls in a row, for which the host does not wait. */
trine_status bench_measure_in_a_row(bench *b, bench_call call, void *self, bench_time *time);
/** Wall-clock time of a call with everything it starts on the device; median of up to 5 (of 1 if it takes over 50 ms).
 *  reset (may be NULL) runs untimed before every call. */
trine_status bench_measure_wall(bench *b, bench_call call, bench_call reset, void *self, bench_time *time);
/** Wall-clock time until a call returns, when the device has nothing to do: what it costs the host. */
trine_status bench_measure_return(bench *b, bench_call call, void *self, bench_time *time);
/** Time `count` calls in turn, b->reps rounds of all of them; times[i * rounds + r] in ms. Ratios of one round share
 *  what the machine did just then. resets (may be NULL, as may each of them) run untimed before every call. times
 *  has room for count * b->reps. */
trine_status bench_measure_in_turn(bench *b, int count, const bench_call *calls, const bench_call *resets,
                                   void **selves, double *times, int *rounds);
double bench_median(double *values, int count); /* sorts */
/** Start programs that want a core each and do nothing with it; and end them. */
trine_status bench_start_programs(int count);
void bench_end_programs(void);
/** The same on the device's clock, with buffers allocated before: every call finds the memory of the one before it. */
trine_status bench_measure_analysis_on_device(bench *b, bench_call call, bench_call reset, void *self,
                                              bench_time *time);
/** Wait until no other program with the same --turns uses the device, and let the next one go on. Without --turns they
 *  do nothing; they do not nest. */
trine_status bench_turn_begin(const bench *b);
void bench_turn_end(const bench *b);
/** Copy bandwidth of the context's memory, read + written bytes: 1 GiB (256 MiB on a CPU, all threads), median of
 *  20. */
trine_status bench_copy_bandwidth(bench *b, double *gbs);

/* The device part: device_cuda.c, or device_none.c in a build without CUDA. */
trine_status bench_device_open(bench *b);
void bench_device_close(void);
/** Device memory that plans give back is kept for the next plan (true), or freed, also what was kept (false, the
 *  start). */
void bench_device_keep_memory(bool keep);
trine_status bench_device_timer_start(bench *b);
trine_status bench_device_timer_stop(bench *b, double *ms); /* waits */
/** Put a copy in device memory on the context's stream. */
trine_status bench_device_copy(bench *b, void *to, const void *from, size_t bytes);

/* ----------------------------------------------------------------- records */

typedef enum { BENCH_OK, BENCH_SKIPPED, BENCH_FAILED } bench_outcome;

/** One measurement: a line of JSON. The members are the keys that every suite has (schema.json); NAN and NULL are
 *  written as null. What a suite adds goes through bench_record_add. */
typedef struct {
    const char *suite, *matrix;
    int64_t n, nnz;
    trine_dtype dtype;
    trine_transpose op;
    trine_uplo uplo;
    const char *direction;
    int64_t nrhs;
    const char *impl, *method, *chosen;
    bench_outcome status;
    char reason[320];
    double analyse_ms, numeric_ms, solve_ms, solve_min_ms, error;
    int64_t bytes;
    int reps;
    struct {
        const char *key;
        double number;
        const char *text;
    } added[32];
    int n_added;
} bench_record;

/** A record with nothing measured yet. */
bench_record bench_record_begin(const char *suite, const char *matrix);
void bench_record_add_number(bench_record *r, const char *key, double number);
void bench_record_add_text(bench_record *r, const char *key, const char *text); /* not copied */
/** Put why it is not ok, with the last error's sentence where status came from trine (NULL format: that alone). */
void bench_record_fail(bench_record *r, bench_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Time and backward error of a solve in r, which fails where that is not below `most` eps. */
void bench_record_solve(bench_record *r, const bench_time *time, double error, double most);
/** Write the line, flush, count failures. */
trine_status bench_record_write(bench *b, const bench_record *r);
const char *bench_dtype_name(trine_dtype t); /* "s", "d", "c", "z" */
trine_dtype bench_dtype_of(const char *name);

/* ---------------------------------------------------------------- problems */

/** Where triangles come from: one matrix, or the factors of one. */
typedef struct bench_source_s *bench_source;
/** $TRINE_MATRICES, or where they are beside a checkout. */
const char *bench_matrix_folder(void);
/** A real matrix ($TRINE_MATRICES/NAME.mtx.gz or .mtx), a file, or a gallery spec; in double. */
trine_status bench_read_matrix(bench *b, const char *name, trine_matrix *A);
/** spec: "tril:", "triu:", "tri:" (either; the default), "chol:" or "lu:" before the name of a real matrix, a file,
 *  or a gallery spec. Real matrices are $TRINE_MATRICES/NAME.mtx.gz or .mtx, by default in ../shared/matrices.
 *  TRINE_ERR_NOT_BUILT: chol: and lu: without libtrine_direct. */
trine_status bench_source_open(bench *b, bench_source *source, const char *spec);
void bench_source_close(bench_source *source);

/** What a check finds, in long double. error: max over all entries of |b - op(T)x|_i / (|op(T)||x| + |b|)_i;
 *  normwise: |B - op(T)X| / (|B| + |op(T)| |X|), the largest entries of vectors, the largest row sum of T;
 *  difference: max_i |x_i - reference_i| / max(|x_i|, |reference_i|) of column 0. bound: what error may be at most,
 *  4 (k + 4) eps with k the entries of the longest row: substitution is good for gamma_k (Higham, Accuracy and
 *  Stability, Theorem 8.5); partitioned inverses promise less (compare.c). */
typedef struct { double error, normwise, difference, bound; } bench_check;

/** op(T) X = B, ready to be solved in the context's space. */
typedef struct {
    const char *spec, *direction;
    trine_dtype dtype;
    trine_uplo uplo;       /* of T as stored */
    trine_transpose op;
    trine_diag diag;
    int64_t n, nnz, nrhs;
    trine_matrix T;        /* CSR in the context's space */
    trine_matrix host;     /* op(T) as CSR on the host: what results are checked with */
    trine_dense B, X;      /* in the context's space */
    void *host_b, *host_x; /* the same bytes on the host */
    void *checked_x;       /* host_x at the last check, */
    bench_check checked;   /* which found this; then the same bytes are not checked again */
    bool has_checked;
    void *reference;       /* column 0 of X, solved serially in long double: long double or long double complex */
    int64_t levels, min_rows, max_rows; /* level sets of op(T) */
    trine_panels panels;   /* of a factor's T, or of T^T where that is upper, without values; no panels unless the
                              source is a supernodal factor */
    void *panel_values;    /* theirs, in the context's space */
    trine_panels lower_panels; /* of the factor's L as the library made it, in double */
    bool is_lu;                /* a factor by SuperLU */
} bench_problem;

/** The triangle that `direction` ("forward" or "backward") and b->uplo ask for; no right-hand sides yet. Triangles
 *  of A get missing diagonals filled, and where |t_ii| <= sum of the row's others the diagonal becomes twice that
 *  sum (sign kept), so that x stays bounded; factors stay as they are. Complex: t_ij times exp(i (u_i + v_j)), u and
 *  v uniform random phases. TRINE_ERR_UNSUPPORTED: a "tril:" or "triu:" spec against --uplo. */
trine_status bench_problem_make(bench *b, bench_source source, const char *direction, trine_dtype dtype,
                                bench_problem *p);
/** Give it nrhs random right-hand sides (entries uniform in (-1,1)), in b->layout when there are several. */
trine_status bench_problem_set_nrhs(bench *b, bench_problem *p, int64_t nrhs);
/** Fill X with NaN, or with huge finite numbers, so that an entry that is not written shows. */
trine_status bench_problem_poison(bench *b, bench_problem *p, bool finite);
/** Fetch X and check it. */
trine_status bench_problem_check(bench *b, bench_problem *p, bench_check *found);
void bench_problem_free(bench *b, bench_problem *p);

/* ------------------------------------------------------------------ solves */

/** What is timed, of trine and of every peer: op(A)^-1 as an operator, on the vectors of a problem. Zeroed: nothing. */
typedef struct {
    trine_op op;
    trine_transpose trans;     /* X := trans(op) B solves the problem */
    const trine_dense *B, *X;
    trine_exec exec;           /* the work, so that no solve allocates */
} bench_solve;
/** Make the work of a solve whose other members are set. A failure is followed by bench_solve_end as well. */
trine_status bench_solve_begin(bench_solve *s);
/** A bench_call: one solve. */
trine_status bench_solve_once(void *solve);
void bench_solve_end(bench_solve *s);

/** A library's own solve X := op(A)^-1 B, for these vectors alone. */
typedef struct {
    const char *impl;
    trine_dtype dtype;
    trine_transpose op;
    const trine_dense *B, *X;
    bench_call call;
    void *self;
} bench_peer_solve;
/** As an operator. It costs a solve a few checks beside the call; *peer is copied, peer->self has to outlive it. */
trine_status bench_peer_as_op(bench *b, const bench_peer_solve *peer, trine_op *op);

/* ----------------------------------------------------------------- set-up */

/** How triangular solves by a library are set up: the phases before the first solve, which are timed too.
 *  TRINE_ERR_NOT_BUILT and TRINE_ERR_UNSUPPORTED: the record is skipped, with trine_last_error as the reason. */
typedef struct {
    const char *impl;
    trine_status (*create)(bench *b, const bench_problem *p, const char *method, void **self);
    trine_status (*reset)(void *self);   /* forget the analysis, keep what create allocated */
    trine_status (*analyse)(void *self);
    trine_status (*numeric)(void *self); /* values replaced, no new analysis; NULL: it cannot */
    /** What solves, after these. *trans is the problem's op, unless the operator has the triangle in another way. */
    trine_status (*as_op)(void *self, trine_op *op, trine_transpose *trans);
    void (*describe)(void *self, bench_record *r); /* what ran (r->chosen), and what else is known of it */
    void (*destroy)(void *self); /* after the operator */
    /* measure what the sweep wants besides; may be NULL */
    trine_status (*examine)(void *self, bench_solve *solve, bench_record *r);
} bench_setup;
/** libcusparse, opened once; TRINE_ERR_NOT_BUILT if there is none. */
trine_status bench_cusparse_library(void **library);
/** Functions of a library that was loaded at run time; TRINE_ERR_NOT_BUILT if it has not all of them. function: the
 *  address of a pointer to a function. */
typedef struct {
    void *function;
    const char *name;
} bench_symbol;
trine_status bench_load_symbols(void *library, const char *name, const bench_symbol *needed, size_t count);
/* compare.c */
/** All of b->methods and the peers on one problem: a record each. Peers stay until bench_compare_end, and are
 *  measured once. */
trine_status bench_compare(bench *b, const char *suite, bench_problem *p);
void bench_compare_end(void);
/** Wall-clock time of the checks since the last call. */
double bench_compare_checking_seconds(void);
void bench_print_heading(bench *b, const bench_problem *p);
void bench_describe_problem(bench_record *r, const bench_problem *p);
void bench_describe_structure(bench_record *r, const bench_problem *p);

extern const bench_setup bench_setup_trine, bench_setup_supernodal, bench_setup_basic, bench_setup_cusparse,
    bench_setup_mkl, bench_setup_cholmod, bench_setup_superlu;

#ifdef __cplusplus
}
#endif
#endif
