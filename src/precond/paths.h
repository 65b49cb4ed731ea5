/* Methods whose factors are tridiagonal along paths: TRIDIAG, ALG_TRI, ALT_O, ALT_I, MOS_D, MOS_A, ADI. */
#ifndef TRINE_PRECOND_PATHS_H
#define TRINE_PRECOND_PATHS_H

#include <trine/spmv.h>

#include "precond/cpu/cpu.h"
#include "precond/cuda/cuda.h"
#include "precond/precond.h"

/** The forest of a matrix on a GPU, of which the host knows nothing (graph_device.c). */
struct precond_graph {
    trine_forest forest;
    struct precond_device_lists lists;
    bool is_fixed;                   /* A's pattern, whose lists are made */
    int64_t bytes;
};

/** Of numeric on a GPU, in its memory. */
struct paths_on_device {
    void *T, *room;                  /* n: as those of paths_state */
    void *scaled;                    /* nnz: diagp1(A)^-1 A, of a homogeneous MOS_A */
    struct precond_graph graph;      /* of A */
    uint8_t *kept, *taken;           /* nnz: likewise */
};

struct paths_state {
    int capacity;                    /* factors that there is room for */
    struct precond_factor *factor;
    struct precond_device_factor *on_device; /* as many; NULL on a CPU */
    struct paths_on_device device;   /* what numeric_on_device needs */
    int32_t *names;                  /* n: what a GPU's forest says of its paths; NULL on a CPU */
    trine_forest forest;             /* of A, where its values are the host's; NULL: paths are known without, or */
    bool has_forests;                /* permutations of m factors are there */
    uint8_t *kept;                   /* of each entry of A: in the pattern; NULL: all are */
    uint8_t *taken;                  /* of each entry of A: in a factor */
    void *weights;                   /* nnz: what forests are made of */
    void *T;                         /* n; NULL: the method has none */
    void *room;                      /* n: diag(A) */
    int32_t *inverse;                /* n */
    precond_candidate *candidates;   /* of the longest row, for each thread; NULL: nothing to select */
    int64_t longest;
    trine_spmv product;              /* of A: ALT_I with m > 1, ADI */
    double coverage[TRINE_PRECOND_MAX_M], c_diag[TRINE_PRECOND_MAX_M + 1];
    struct adaption *adaption;       /* MOS_A's own */
    struct adaption_on_device *adapting; /* likewise; NULL: on the host */
    bool at_home;                    /* of a plan with p->device: the last numeric was on the host after all */
};

/** Whether applications multiply by A. */
bool precond_has_product(trine_precond p);
static inline struct paths_state *paths_of(trine_precond p) { return p->state; }
/** A, of the host. */
static inline struct precond_rows precond_rows_of(trine_precond p)
{
    return (struct precond_rows){p->base.n, p->offsets, p->columns, p->values};
}

/* Of the method (precond.h): paths_numeric.c and paths_apply.c. */
trine_status precond_paths_numeric(trine_precond p, trine_reuse reuse);
trine_status precond_paths_numeric_on_device(trine_precond p, trine_reuse reuse);
trine_status precond_paths_apply(trine_precond p, const struct precond_call *call);
size_t precond_paths_scratch(trine_precond p, int64_t nrhs);
trine_status precond_paths_work_begin(trine_precond p, struct precond_work *work, int64_t nrhs);
void precond_paths_work_end(trine_precond p, struct precond_work *work);

/** How the factors are applied. */
bool precond_has_forests(trine_precond_method method); /* else paths are known without */
bool precond_is_product(trine_precond_method method);  /* M = F_{m-1} ... F_0 */
bool precond_alternates(trine_precond_method method);  /* x := x + F_l^-1 (b - A x) */

/** op(F_l)^-1 alone. */
trine_status precond_run_part(trine_precond p, const struct precond_call *call, int l);
trine_status precond_apply_part(trine_precond p, int part, trine_transpose op, const void *alpha, const trine_dense *B,
                                const trine_dense *X, const trine_exec *exec);
trine_status precond_part_op(trine_precond p, int l, trine_op *op);
void precond_copy_factor(trine_precond p, int l, void *a, void *b, void *c, int32_t *permutation);
trine_status precond_diagnose_paths(trine_precond p, trine_precond_diagnosis *diagnosis);
double precond_diagonal_coverage(trine_precond p);
/** T of any method; NULL: none. */
const void *precond_get_T(trine_precond p);
const void *precond_get_diagonal_T(trine_precond p); /* of DIAGP0..L1 */
/** The method of AUTO, by A's values; p has its pattern. */
trine_status precond_choose(trine_precond p, trine_precond_options *options);
/** What that takes on a GPU beside what p has there. */
int64_t precond_choice_bytes(trine_precond p);

/* Steps of numeric that MOS_A shares (paths_numeric.c). */
/** The paths of `forest`, as it is, into f. */
trine_status precond_take_paths(trine_precond p, trine_forest forest, struct precond_factor *f);
/** Forest number l, of these weights in `space`; NULL: as they are. */
trine_status precond_make_forest(trine_precond p, trine_forest forest, int l, trine_space space, const void *weights);
/** On a GPU, of a factor whose permutation is there, and those of the ones before it: where vertices stand. */
trine_status precond_link_factor(trine_precond p, int l);
/** Whether the factors are to end after number l, where `reached` follows `before`. */
bool precond_is_enough(trine_precond p, int l, double before, double reached);

/** The forest of A, of which the GPU has the pattern. Synchronizes. */
trine_status precond_graph_of_A(trine_precond p, struct precond_graph *g);
/** That of matrices with so many entries off the diagonal. */
trine_status precond_graph_of_any(trine_precond p, int64_t entries, struct precond_graph *g);
/** The weights of diag(T)^-1 B without what is not kept. */
trine_status precond_fill_graph(trine_precond p, const struct precond_device_rows *B, const void *T,
                                const uint8_t *kept, struct precond_graph *g);
void precond_free_graph(trine_precond p, struct precond_graph *g);
int64_t precond_graph_bytes(const struct precond_graph *g);

trine_status precond_adapt_analyse(trine_precond p);
/** Where rows of B_l may begin, l > 0; n + 1. */
const int64_t *precond_adapt_room(trine_precond p);
bool precond_adapts_on_device(trine_precond p);
trine_status precond_adapt_device_analyse(trine_precond p);
/** Needs diagp1(A) in the device's T. *is_sound: all paths had generators. */
trine_status precond_adapt_on_device(trine_precond p, bool builds, bool *is_sound);
void precond_adapt_device_release(trine_precond p);
int64_t precond_adapt_device_memory(trine_precond p);
trine_status precond_adapt(trine_precond p, bool builds);
void precond_adapt_release(trine_precond p);
int64_t precond_adapt_memory(trine_precond p);

#endif
