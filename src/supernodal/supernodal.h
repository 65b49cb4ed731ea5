/* Inside of the supernodal plan: panels after merging, the elimination tree, backends. C11 and C++17. */
#ifndef TRINE_SUPERNODAL_SUPERNODAL_H
#define TRINE_SUPERNODAL_SUPERNODAL_H

#include <trine/supernodal.h>

#include "core/internal.h"
#include "core/plan.h"
#include "core/test_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One panel in the plan's own numbering, in which a panel's columns are consecutive and children come before
 *  parents. */
typedef struct {
    int64_t values;     /* offset in elements of the ld x width column-major rectangle; rows height..ld-1 are zero */
    int64_t rows;       /* offset of the row list (height long; the first width are the panel's columns) */
    int32_t first;      /* first column */
    int32_t width, height, ld;
    int32_t parent;     /* in the supernodal elimination tree; -1 for a root */
    int32_t depth;      /* panels above it on the way to its root */
    int32_t level;      /* longest way down to a leaf; 0 for a leaf */
    int32_t children;   /* how many */
} supernodal_panel;

/** The structure of a plan, on the host. */
typedef struct {
    trine_context ctx;
    int64_t n, n_panels, n_rows, n_values; /* n_rows: of all row lists; n_values: elements of all rectangles */
    supernodal_panel *panels;
    int32_t *rows;              /* in the plan's numbering, ascending in each panel */
    int32_t *original;          /* original[i]: the caller's number of row i */
    int32_t max_width, max_height;

    /* Where the caller's values go: source panel s holds columns target_column[s].. of panel target[s]; its row r
     * (of its list) is row source_rows[source_row_offsets[s] + r] of that panel. */
    int64_t n_sources;
    int32_t *target, *target_column, *source_width, *source_rows;
    int64_t *source_row_offsets, *source_value_offsets;

    int64_t nnz, nnz_merged, levels_given, levels;
    int64_t min_panels_per_level, max_panels_per_level;
} supernodal_structure;

/** Check the panels, build the tree, merge. fill < 0: no merging; >= 1: all into one. `level_zeros`: this many zeros
 *  more, in all panels of a level together, are worth a level less. `padding`: ld is a multiple of it. */
trine_status supernodal_symbolic(trine_context ctx, const trine_panels *panels, double fill, double level_zeros,
                                 int padding, supernodal_structure *S);
void supernodal_structure_free(supernodal_structure *S);
/** Renumber panels and their columns: panel order[k] becomes panel k. Children must stay before parents, and every
 *  panel's rows ascending. */
trine_status supernodal_reorder(supernodal_structure *S, const int32_t *order);

/** Where the entries of a triangle in CSR or CSC are among the values of its panels. */
typedef struct {
    int64_t count;       /* entries as T stores them; in a plan, 0 also says that the plan was made from panels */
    int64_t *of_entry;   /* offset of each among the values of all panels; -1: not an entry of the triangle. Of a
                            plan: in the context's space */
    int64_t entries;     /* of the triangle, implied diagonal ones of a unit triangle too */
    bool upper;          /* the panels are those of T^T */
} supernodal_places;
/** Panels of T's pattern, without values, and the places of T's entries on the host; first_column NULL: supernodes
 *  are found. What it makes is freed by trine_panels_free and trine_free; nothing is left after a failure. T: host
 *  or device. */
trine_status supernodal_lay_out_triangle(trine_context ctx, trine_matrix T, int64_t n_supernodes,
                                         const int32_t *first_column, const trine_panels_options *options,
                                         trine_panels *panels, supernodal_places *places);

/* Inverses are put to a trial by numeric (cpu/growth.c, cuda/growth.cu): with x known, every panel is given the
 * right-hand side that the solve would give it, and what comes out is put into L x = b and L^T x = b. The largest
 * residual over eps ||L|| ||x||, in the infinity norm, is the plan's growth. A plan that chooses goes on without the
 * inverses of the panels that leave most of it. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define SUPERNODAL_HOST_DEVICE __host__ __device__
#else
#define SUPERNODAL_HOST_DEVICE
#endif
enum { SUPERNODAL_TRIALS = 2 };
/** Entry i of trial k: ones, for errors that add up; signs as if at random. Almost: products of small integers and one
 *  have no rounding errors, those with this number of 53 bits do, and in single precision, where it is one of 24 bits
 *  and 1e-6 eps, too. */
static inline SUPERNODAL_HOST_DEVICE double supernodal_trial(int64_t i, int k)
{
    const double one = 0x1.fffffa0000155p-1;
    uint32_t h = (uint32_t)i * 0x9E3779B9u;
    h = (h ^ h >> 15) * 0x85EBCA6Bu;
    return k == 0 || h >> 31 ? one : -one;
}
/** Largest growth of inverses that are the plan's own idea, below the ten eps that are the bound of a solve:
 *  Cholesky factors of 3-D grids have 3 to 8 (laplace3d:n=20 to 60), and solves with them a half of it or less.
 *  Where it is more, panels are substituted until the others have at most the smaller growth. */
#define SUPERNODAL_MOST_GROWTH 8.0
#define SUPERNODAL_KEPT_GROWTH 4.0

struct supernodal_backend;
struct trine_supernodal_s {
    struct trine_plan base;
    trine_dtype dtype;                /* of the panels kept: base.dtype, the caller's, or lower with options.single */
    trine_diag diag;
    trine_supernodal_options options; /* nothing left automatic */
    trine_supernodal_invert invert;   /* what numeric does */
    bool chooses;                     /* GPU: but panels are substituted where the growth is over
                                         SUPERNODAL_MOST_GROWTH */
    int64_t substituted; /* how many panels are, since the backend's `examine`; negative: not known yet */
    double growth; /* of the last numeric's inverses, likewise; negative: not known yet */
    bool beyond_single; /* options.single: the last numeric's values are beyond its range; likewise */
    bool given_is_nan; /* options.single on a CPU: some of them are NaN */
    supernodal_structure S;
    int64_t n_factors, *factor_values; /* of a batch: where each one's values begin; else 0, NULL */
    bool from_triangle; /* numeric takes the values of a triangle T, and solves are with T: */
    supernodal_places places;
    void *panel_values; /* T's values at their places, zeros elsewhere; in the context's space */
    void *values; /* in the context's space */
    const struct supernodal_backend *backend;
    void *device; /* the backend's own part */
    supernodal_level_watch watch; /* NULL but for measurements */
    void *watch_user;
    int64_t bytes;
};

typedef struct supernodal_work_s {
    trine_plan_work base;
    void *device; /* the backend's own part */
} supernodal_work;

enum { SUPERNODAL_WORK_PART = 1024 }; /* bytes of supernodal_work.device on the host, at most */

/** alpha points to one element, never NULL; B and X are checked, with ld set, at least one row and column. */
struct supernodal_backend {
    trine_status (*analyse)(trine_supernodal plan);
    void (*destroy)(trine_supernodal plan);
    trine_status (*numeric)(trine_supernodal plan, trine_space space, const void *values, void *stream);
    /** First original row with a zero or NaN diagonal in the last numeric, -1 if there is none; sets plan->growth,
     *  ->substituted, and on a GPU ->beyond_single. */
    trine_status (*examine)(trine_supernodal plan, void *stream, int64_t *row);
    size_t (*work_bytes)(trine_supernodal plan, int64_t nrhs);
    trine_status (*work_init)(trine_supernodal plan, supernodal_work *work);
    void (*work_free)(trine_context ctx, supernodal_work *work); /* what work_init left in work->device; may be NULL */
    trine_status (*solve)(trine_supernodal plan, trine_transpose op, const void *alpha, const trine_dense *B,
                          const trine_dense *X, supernodal_work *work, void *stream);
    /** plan->panel_values from a triangle's values in the context's space. */
    trine_status (*place)(trine_supernodal plan, const void *values, void *stream);
};
extern const struct supernodal_backend supernodal_cpu, supernodal_cuda;

/** common/triangle.c: numeric with the values of the triangle that the plan was made from, and conj(L)^-1 for an
 *  upper one. */
trine_status supernodal_triangle_numeric(trine_supernodal plan, trine_space space, const void *values, void *stream);
trine_status supernodal_triangle_place(trine_supernodal plan, const void *values, void *stream);
trine_status supernodal_place_on_gpu(trine_supernodal plan, const void *values, void *stream);
/** numeric of a plan whose values are in the layout of its panels. */
trine_status supernodal_take_values(trine_supernodal plan, trine_space space, const void *values, void *stream);

/** options.single on the CPU (single.c): work_bytes follow the backend's own. Right-hand
 *  sides are taken times powers of two, and alpha times solutions, so that both have the range of double. */
trine_status supernodal_single_numeric(trine_supernodal plan, const double *values);
size_t supernodal_single_work_bytes(trine_supernodal plan, int64_t nrhs);
trine_status supernodal_single_solve(trine_supernodal plan, trine_transpose op, const double *alpha,
                                     const trine_dense *B, const trine_dense *X, supernodal_work *work);

#ifdef __cplusplus
}
#endif
#endif
