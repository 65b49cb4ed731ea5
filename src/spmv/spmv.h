/* Inside of the module: plans, semirings, and what a backend does in its own way. */
#ifndef TRINE_SPMV_SPMV_H
#define TRINE_SPMV_SPMV_H

#include <trine/spmv.h>

#include "core/internal.h"
#include "core/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** op(A) as compressed rows, in the context's space: A itself, or its transpose by an index. */
struct spmv_side {
    bool announced;
    int64_t n_rows, n_cols;          /* of op(A) */
    int offset_bits;                 /* 32 or 64 */
    const void *offsets;             /* n_rows + 1 */
    const int32_t *columns;          /* nnz */
    int position_bits;               /* 32 or 64 (from 2^31 entries on); 0: no index, entry k has value k */
    const void *positions;           /* value of entry k is values[positions[k]] */
    void *owned_offsets, *owned_columns, *owned_positions; /* what of it the plan owns: an index, or copies of a host
                                                              matrix's arrays on the device */
    int64_t longest_row;             /* -1: not counted */
    bool rows_alike;                 /* of those that were looked at, by threes, most have the same columns */
    bool ends_unchecked;             /* analyse_side has to call spmv_check_ends before it uses an offset */
    trine_spmv_method method;        /* what runs */
    int64_t bytes;                   /* that the side keeps */
    void *part;                      /* the backend's own: starts of blocks and their like */
};

enum { SPMV_N, SPMV_T, SPMV_SIDES }; /* A; A^T, conjugated on the fly for op H */

struct trine_spmv_s {
    struct trine_plan base;          /* n: the larger dimension of A, for limits of works */
    trine_matrix A;                  /* kept alive: its arrays are used in place */
    int64_t n_rows, n_cols, nnz;
    trine_spmv_options options;
    trine_dtype stored;              /* of values; S beside D and C beside Z for TRINE_VALUES_SINGLE; 0: half */
    size_t value_size;               /* bytes of one */
    const void *values;              /* in the context's space */
    void *owned_values;              /* copied from the host by numeric; NULL: none */
    const struct spmv_backend *backend;
    struct spmv_side side[SPMV_SIDES];
    trine_spmv_info info;
};

struct spmv_work { trine_plan_work base; };

/** Y := alpha op(A) X + beta Y for rows row_begin <= i < row_end, checked; element (i,j) at [i*row + j*col]. Only with
 *  an epilogue may there be no rows (results are then zeros), no entries, or alpha = 0, for which neither the side nor
 *  X is read. */
struct spmv_call {
    const struct spmv_side *side;
    bool conjugate;                  /* the values */
    double alpha[2], beta[2];        /* exact in every dtype */
    const void *X;
    void *Y;
    int64_t nrhs, x_row, x_col, y_row, y_col;
    int64_t row_begin, row_end;
    bool may_alias;                  /* X may be Y */
    const trine_spmv_epilogue *epilogue; /* NULL: none; else nrhs = 1, all rows, and alpha may be zero */
    double gamma[2];                 /* the epilogue's */
    void *stream;
    struct spmv_work *work;
};

/** Compiled for a context: which has the strings (GPU) or the functions (CPU). */
struct trine_semiring_s {
    int refs;
    trine_context ctx;
    trine_semiring_source
        source;    /* the types' names and the strings are copies, in `text`; accumulator and result are filled in */
    char *text;
    void *compiled;                  /* the GPU's: kernels (cuda/semiring.cu); NULL on the CPU */
};

struct spmv_semiring_call {
    const struct spmv_side *side;
    trine_semiring semiring;
    const void *x;
    void *y;
    const void *args;
    int64_t row_begin, row_end;
    void *stream;
    struct spmv_work *work;
};

/** The kernel of products that a GPU takes unless a plan is tuned. */
enum { SPMV_CUDA_ROWS_BLOCK = 128, SPMV_CUDA_ROWS_TILE = 10 }; /* where rows are short and of similar lengths */
/* Where rows have the same columns, by threes: entries of a block that there is room for. */
enum { SPMV_CUDA_ALIKE_ROWS = 3, SPMV_CUDA_ALIKE_ENTRIES = 1024 };
enum { SPMV_CUDA_RING_TILE = 5, SPMV_CUDA_RING_BLOCKS = 10 };  /* where its blocks go on; of a multiprocessor */
/* Where warps work by themselves: entries a lane (half of them for elements of 16 bytes), tiles of a warp. */
enum { SPMV_CUDA_WARPS_BLOCK = 128, SPMV_CUDA_WARPS_EACH = 8, SPMV_CUDA_WARPS_TILES = 3 };
enum { SPMV_CUDA_BLOCK = 128, SPMV_CUDA_TILE = 9, SPMV_CUDA_REDUCTION = TRINE_REDUCTION_WARP_TRANSPOSED };

struct spmv_backend {
    /** side[SPMV_T] (of a CSC matrix: SPMV_N) from the arrays of the other side: the transposed index, owned by the
     *  plan. from, to: sides. */
    trine_status (*transpose)(trine_spmv plan, const struct spmv_side *from, struct spmv_side *to);
    /** The rest of a side whose arrays are there: longest row, method, part. */
    trine_status (*analyse_side)(trine_spmv plan, struct spmv_side *side);
    void (*release_part)(trine_spmv plan, struct spmv_side *side);
    size_t (*work_bytes)(trine_spmv plan, int64_t nrhs);
    trine_status (*work_begin)(trine_spmv plan, struct spmv_work *work); /* its buffer is there; NULL: nothing to do */
    /** longest_row of announced sides, for `memory`, where that depends on it: from the home side's arrays, which are
     *  in `space`. NULL: it does not. */
    trine_status (*measure)(trine_spmv plan, trine_space space, const struct spmv_side *home);
    /** Bytes that the plan keeps in the context's space and needs meanwhile, beside copies of arrays, at most: by the
     *  longest rows where these are known. */
    void (*memory)(trine_spmv plan, int64_t *kept, int64_t *peak);
    int64_t host_bytes; /* kept on the host for a side beside these, at most */
    trine_status (*apply)(trine_spmv plan, const struct spmv_call *c);
    trine_status (*apply_semiring)(trine_spmv plan, const struct spmv_semiring_call *c);
    /** trine_spmv_tune, its arguments checked; NULL: there is nothing to tune. */
    trine_status (*tune)(trine_spmv plan, trine_semiring semiring, const void *x, void *y, const void *args,
                         const char *path);
};
extern const struct spmv_backend spmv_cpu, spmv_cuda;
/** Whether the first and the last offset are 0 and nnz. */
trine_status spmv_check_ends(trine_spmv plan, int64_t first, int64_t last);

#ifdef __cplusplus
}
#endif
#endif
