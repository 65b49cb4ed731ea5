/* Products of a sparse matrix with vectors, plain ones and ones with the caller's own types and operators: segmented
 * reductions on unmodified compressed rows (thesis, Chapter 3). */
#ifndef TRINE_SPMV_H
#define TRINE_SPMV_H

#include <trine/matrix.h>
#include <trine/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trine_spmv_s *trine_spmv;
typedef struct trine_semiring_s *trine_semiring;

/** How a GPU shares a matrix out to its blocks (thesis, 3.3). */
typedef enum {
    TRINE_SPMV_AUTO,
    TRINE_SPMV_ADAPTIVE,            /* whole rows, about as many entries a block: no atomics, one launch */
    TRINE_SPMV_BALANCED_ATOMIC,     /* equally many entries a block; rows that blocks share are added up by atomics:
                                       only for sums of S, D, C, Z, in any order */
    TRINE_SPMV_BALANCED_POSTPROCESS /* the same; shared rows are put together, in order, by a second launch */
} trine_spmv_method;

/** How a block reduces its tile by rows (thesis, 3.5.1 and 3.5.2). */
typedef enum {
    TRINE_REDUCTION_AUTO,
    TRINE_REDUCTION_RAKING,         /* one warp goes over the sums of all threads */
    TRINE_REDUCTION_RAKING_MEMOIZE, /* and keeps them in registers from the first pass to the second */
    TRINE_REDUCTION_WARP_SCANS,     /* every warp scans its sums by shuffles, the first one those of the warps */
    TRINE_REDUCTION_WARP_TRANSPOSED, /* every warp reduces its part of the tile alone; sums that cross warps are
                                        completed where they are stored */
    TRINE_REDUCTION_ROWS,           /* 1, 2, 4, ... or 32 neighbouring threads take a row: plain products by method
                                       adaptive whose blocks are found in the analysis and that need no index; others
                                       take warp-transposed */
    TRINE_REDUCTION_WARPS           /* every warp has entries of its own and waits for no other: plain products of one
                                       vector, not by atomics, whose blocks are found in the analysis; others take
                                       warp-transposed */
} trine_spmv_reduction;

/** Precision that values are stored in, beside vectors of the matrix's dtype. */
typedef enum {
    TRINE_VALUES_SAME,
    TRINE_VALUES_SINGLE,            /* float beside D, complex float beside Z */
    TRINE_VALUES_HALF               /* IEEE binary16 (uint16_t in C) beside S and D */
} trine_spmv_values;

typedef struct {
    unsigned ops;                   /* mask of the op(A) of trine_spmv_apply; 0 = TRINE_N. With real numbers T and H
                                       are one. T and H keep an index of 8 bytes an entry (12 from 2^31 entries on)
                                       and 8 a column (of A in CSC format: N does) */
    trine_spmv_method method;
    trine_summation summation;      /* DETERMINISTIC: bitwise equal run to run, or TRINE_ERR_UNSUPPORTED */
    int64_t max_nrhs;               /* what the plan's own work is sized for; 0 = 1. On a GPU works for 4 vectors or
                                       more hold 8 vectors of X as well where rows may be long */
    trine_spmv_values values;       /* of what numeric takes */
    int no_preprocess;              /* 1: blocks find their rows by binary search, in every product; on a CPU no rows
                                       that are alike are looked for */
    int check;                      /* 1: the pattern is checked as by trine_matrix_check, columns in range */
    struct {                        /* of GPU kernels; 0 = by record */
        int block;                  /* threads: 64, 128, 256 or 512 */
        int tile;                   /* entries a thread and tile: 4 .. 16 */
        int64_t entries_per_block;  /* w of Algorithms 4 and 5: any number from 1 on */
        trine_spmv_reduction reduction;
        int row_weight;             /* rows count as so many entries in w; 0 = 1, -1 = none, as in the thesis */
    } tune;
    int64_t reserved[4];            /* zeros */
} trine_spmv_options;

/** Prepare products with A, n_rows x n_cols, rectangular or not, CSR or CSC, rows sorted or not; duplicates add up.
 *  Offsets (32 or 64 bits, as trine_matrix_csr was given them), indices and values are used where they are, if that is
 *  the context's space, and must then outlive the plan; a host matrix of a CUDA context is copied. Reads the offsets,
 *  and the indices for ops that need an index, for a check, and on a CPU unless no_preprocess is set; on a GPU some
 *  of them. May synchronize. options NULL = all automatic.
 *  TRINE_ERR_STRUCTURE: offsets that fall or do not end at nnz (checked with options.check; the first and the last
 *  always), an index out of range (checked). TRINE_ERR_UNSUPPORTED: half precision of complex numbers, a
 *  deterministic balanced-atomic. Thesis, Algorithms 4 and 5. */
TRINE_API trine_status trine_spmv_analyse(trine_context ctx, trine_spmv *plan, trine_matrix A,
                                          const trine_spmv_options *options);

/** Upper bounds of what trine_spmv_analyse takes with the same arguments. Reads no array, but on a GPU with max_nrhs of
 *  4 or more and method AUTO, where rows that are long need more: the offsets, and for ops that need an index the
 *  indices, counted in 4 bytes a column meanwhile. May synchronize. */
TRINE_API trine_status trine_spmv_memory(trine_context ctx, trine_matrix A, const trine_spmv_options *options,
                                         trine_memory *memory);

/** Take values: nnz of them, in A's order, in `space`, of A's dtype or as options.values says. Values in the context's
 *  space are used where they are: they must stay, and changes show through in the order of streams. Values of the
 *  host are copied to the GPU. NULL = the values of A. Asynchronous for values in place; any number of times. */
TRINE_API trine_status trine_spmv_numeric(trine_spmv plan, trine_space space, const void *values,
                                          const trine_exec *exec);

/** One more product in flight, of up to nrhs vectors. As trine_triangular_work. */
TRINE_API trine_status trine_spmv_work(trine_spmv plan, int64_t nrhs, void *buffer, size_t *bytes, trine_work *work);

/** Y := alpha op(A) X + beta Y for blocks of vectors of A's dtype in the context's space, in either layout; no overlap.
 *  alpha, beta: host scalars of A's dtype, read at the call; NULL = 1 and 0. With beta = 0 Y is not read, with
 *  alpha = 0 neither are A and X. Asynchronous, allocates nothing, capturable.
 *  TRINE_ERR_STATE: before numeric, an op not announced, more vectors than the work is made for, beside another
 *  thread's product with the same work. TRINE_ERR_UNSUPPORTED: on a GPU, elements of a vector 2^27 places apart. */
TRINE_API trine_status trine_spmv_apply(trine_spmv plan, trine_transpose op, const void *alpha, const trine_dense *X,
                                        const void *beta, const trine_dense *Y, const trine_exec *exec);

/** The same for op N and the rows row_begin <= i < row_end of A and Y alone; the other rows of Y stay as they are.
 *  Y may be X (same data, ld, layout): rows that the range reads beside those that it writes must not be in it, as in
 *  a sweep over the colours of a graph (thesis, 3.5.7). X is then read with the caches of the device kept coherent. */
TRINE_API trine_status trine_spmv_apply_rows(trine_spmv plan, int64_t row_begin, int64_t row_end, const void *alpha,
                                             const trine_dense *X, const void *beta, const trine_dense *Y,
                                             const trine_exec *exec);

/** What is made of y := alpha op(A) x + beta y with it. */
typedef struct {
    const void *dot;                /* vector u: results[0] := u^H y; NULL: not wanted */
    int norm;                       /* 1: results[1] := y^H y */
    void *axpy;                     /* vector z := z + gamma y; NULL: not wanted */
    const void *gamma;              /* host scalar of A's dtype; NULL = 1 */
    void *results;                  /* two of A's dtype in the context's space; NULL if neither dot nor norm */
    int64_t reserved[4];            /* zeros */
} trine_spmv_epilogue;

/** trine_spmv_apply of one vector, and what the epilogue asks for: in the same pass, but on a GPU mostly in a launch
 *  behind it by reduction `rows` or `warps`, with an index, or with less precise values. Sums are made in a fixed order
 *  wherever the product itself is deterministic. u may be x or y; z must be neither. */
TRINE_API trine_status trine_spmv_apply_fused(trine_spmv plan, trine_transpose op, const void *alpha,
                                              const trine_dense *X, const void *beta, const trine_dense *Y,
                                              const trine_spmv_epilogue *epilogue, const trine_exec *exec);

/** The operator op(A) (operator.h), with the ops announced; keeps the plan alive. */
TRINE_API trine_status trine_spmv_as_op(trine_spmv plan, trine_op *op);

typedef struct {
    int64_t n_rows, n_cols, nnz;
    int64_t longest_row;            /* -1: not counted (no_preprocess) */
    int64_t blocks;                 /* of a launch; 0 on the CPU */
    int64_t bytes;                  /* kept by the plan, in the context's space */
    double analyse_seconds, numeric_seconds; /* host time */
    trine_spmv_method method;       /* what runs for op N */
    trine_spmv_reduction reduction;
    int block, tile;                /* of GPU kernels */
    int64_t entries_per_block;
    int deterministic;
    const char *reason;             /* one clause: why this method */
    int64_t reserved[4];            /* zeros */
} trine_spmv_info;
TRINE_API trine_status trine_spmv_get_info(trine_spmv plan, trine_spmv_info *info);
TRINE_API const char *trine_spmv_method_name(trine_spmv_method method); /* "adaptive", ... */
TRINE_API const char *trine_spmv_reduction_name(trine_spmv_reduction reduction); /* "raking", ... */
TRINE_API trine_status trine_spmv_destroy(trine_spmv *plan);

/* ------------------------------------------------------------- semirings */

/** A type of the caller's. Types are compared by name; `code` is CUDA C that declares it ("struct pair { float value;
 *  int column; };"), NULL where the name is one of the language (float, double, int, int64_t, uint8_t, half, ...). */
typedef struct {
    const char *name;
    const char *code;
    size_t size, align;             /* in bytes, on host and device; size at most 256, a multiple of align */
} trine_type;

/** Rows row_begin <= i < row_end of a matrix as its caller gave it, and x. The entries of row i are offsets[i] <= nz <
 *  offsets[i + 1], in columns[nz] and values[nz]. */
typedef struct {
    const void *offsets;            /* int32_t or int64_t: offset_bits */
    int offset_bits;
    const int32_t *columns;
    const void *values, *vector;    /* values: NULL where the semiring has no value type */
    int64_t row_begin, row_end;
} trine_semiring_rows;

/** What a generalized product y_i := store(y_i, multiply(A_i0, x_0) add multiply(A_i1, x_1) add ...) is made of
 *  (thesis, Eq. 19 and Figure 23). Strings are CUDA C++ expressions, compiled at run time; NULL: see each. In all of
 *  them `args` is the caller's struct (type args), whose bytes go with every product. add must be associative; the
 *  order of a row's entries is kept unless commutes is set, so it need not commute. Balanced-atomic plans refuse
 *  semirings. */
typedef struct {
    trine_type value;               /* of the matrix; name NULL: none, and the plan needs no values */
    trine_type vector;              /* of x; name NULL: none */
    trine_type product; /* what multiply gives; lives in shared memory, word by word (a struct of arrays) */
    trine_type accumulator; /* what add takes and gives; name NULL: product's */
    trine_type result; /* what store gets; name NULL: accumulator's */
    trine_type output; /* of y */
    trine_type args; /* name NULL: none */
    const char *preamble; /* declarations before everything but the types; NULL: none */
    const char *multiply; /* of nz (int64_t, position of the entry), a (its value), col (int), x (x[col]),
                             values, vector (the arrays) and, if needs_row, row (int64_t) */
    const char *lift; /* accumulator of the product p; NULL: a conversion */
    const char *add; /* of acc and p, two accumulators, acc of the entries before p's */
    const char *project; /* result of the accumulator acc; NULL: a conversion */
    const char *identity; /* accumulator of a row without entries; NULL: a zeroed one */
    const char *store; /* the new y, of y (its old value), z (the result), empty (bool: a row without
                          entries) and row; NULL: z. y is read only where it is named */
    int needs_row; /* multiply names row */
    int reads_y; /* store names y */
    struct { /* the same for CPU contexts; user is the args given to the product */
        void (*multiply)(const void *user, const void *values, const void *vector, int64_t nz, int64_t row, int64_t col,
                         void *product);
        void (*lift)(const void *user, const void *product, void *accumulator); /* NULL: a copy */
        void (*add)(const void *user, void *accumulator, const void *p); /* acc := acc add p */
        /** A whole row instead of multiply, lift and add: accumulator := that of the entries begin <= nz < end, at
         *  least one of them; may be NULL. columns: of the entry nz at [nz]. */
        void (*reduce)(const void *user, const void *values, const void *vector, const int32_t *columns, int64_t row,
                       int64_t begin, int64_t end, void *accumulator);
        /** y: its old value, to be replaced; accumulator NULL: a row without entries. May be NULL where accumulator
         *  and output are one type, without the strings project, identity and store: y := accumulator, and zero bytes
         *  for a row without entries. reduce may then be given y itself for an accumulator. */
        void (*store)(const void *user, int64_t row, const void *accumulator, void *y);
    } cpu;
    int commutes; /* a promise: add commutes, and identity is neutral to it. Then a row's entries may be added in
                     another order, which is faster on a GPU; results stay the same from run to run */
    /** On a CPU, many rows in one call instead of the functions of `cpu`: y_i of all of them, stored, empty ones as
     *  well; y: of row i at [i]. May be NULL. Rows of a CSC matrix, and with cpu.add those of more than 32768 entries,
     *  are left to the functions of `cpu`, if these are given as well. */
    void (*cpu_rows)(const void *user, const trine_semiring_rows *rows, void *y);
    int64_t reserved[2]; /* zeros */
} trine_semiring_source;

/** Compile a semiring for ctx (NVRTC, loaded when first needed, from where the loader or the environment variable
 *  TRINE_NVRTC says; the result is kept in memory while in use, and in the context's kernel cache) or, on the CPU, take
 *  its functions. Strings are copied. May take a second. What is compiled serves CSR matrices with the automatic
 *  tuning; for plans with another one, of balanced-postprocess and of CSC matrices the first product compiles, once: it
 *  then synchronizes, and is refused while its stream is captured (TRINE_ERR_STATE).
 *  TRINE_ERR_ARGUMENT: what the compiler says of the strings (trine_last_error holds the beginning, the log all of it),
 *  a type without size, no add, no multiply or, on the CPU, functions that are missing. TRINE_ERR_NOT_BUILT: no NVRTC
 *  is here. TRINE_ERR_UNSUPPORTED: the compiler did not end in 60 s, where NVRTC can be stopped: between its passes, so
 *  not while it expands templates. */
TRINE_API trine_status trine_semiring_create(trine_context ctx, trine_semiring *semiring,
                                             const trine_semiring_source *source);
/** One of the library's own: "plus-times", "min-plus", "max-plus", "or-and", "max", "max-column", "arg-max",
 *  "arg-max2"; NULL after the last. docs/reference/semirings.md has their types and formulas. */
TRINE_API const char *trine_semiring_name(int i);
/** dtype: S or D, of values and vectors. Not looked at for or-and, whose vectors are bytes and which takes of the
 *  matrix its pattern. */
TRINE_API trine_status trine_semiring_builtin(trine_context ctx, trine_semiring *semiring, const char *name,
                                              trine_dtype dtype);
TRINE_API trine_status trine_semiring_destroy(trine_semiring *semiring);

/** Where compiled semirings of ctx are kept between processes; NULL: nowhere but in memory. Default: what the
 *  environment variable TRINE_KERNEL_CACHE names, else trine/ in XDG_CACHE_HOME or ~/.cache. Made when first needed. A
 *  directory that cannot be written is a warning in the log, a damaged file is compiled anew. Any number of processes
 *  may use it. */
TRINE_API trine_status trine_context_set_kernel_cache(trine_context ctx, const char *directory);

/** y := A x by the semiring, for the rows row_begin <= i < row_end (0 and -1: all of them). x: n_cols elements of its
 *  vector type, NULL where multiply reads none; y: n_rows of its output type; both in the context's space. args: on
 *  the host, read at the call; NULL if the semiring has none. The plan needs values exactly if the semiring has a
 *  value type, and then numeric must have been given values of its size (the dtype of A does not matter). y may be x
 *  as with trine_spmv_apply_rows. Asynchronous, allocates nothing, capturable. */
TRINE_API trine_status trine_spmv_apply_semiring(trine_spmv plan, trine_semiring semiring, const void *x, void *y,
                                                 const void *args, int64_t row_begin, int64_t row_end,
                                                 const trine_exec *exec);

/** Time the semiring (NULL: the plain product, op N) with four values each of block, tile, entries per block and
 *  reduction on the device (thesis, 3.5.6), on plans of their own made from this plan's matrix, values and method. The
 *  fastest is kept in the context: plans of the same types that are analysed from here on take it where their options
 *  are automatic; a semiring takes its own block, tile and reduction. path: a file to which the choice is added, NULL:
 *  none. x and y as of a product; y is written. Takes a minute, most of it in the compiler; synchronizes. GPU only. */
TRINE_API trine_status trine_spmv_tune(trine_spmv plan, trine_semiring semiring, const void *x, void *y,
                                       const void *args, const char *path);
/** Choices of such a file, as trine_spmv_tune keeps them: those of the same device. Any context may read one; a CPU
 *  has none. TRINE_ERR_IO, TRINE_ERR_FORMAT: the file, the line. */
TRINE_API trine_status trine_context_load_tuning(trine_context ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
