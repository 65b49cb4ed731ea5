/* What the CPU keeps of a side: chunks of equally much work, which threads take one after another. They depend on the
 * matrix alone, and so does the order of all sums, whatever the number of threads. */
#ifndef TRINE_SPMV_CPU_SIDE_H
#define TRINE_SPMV_CPU_SIDE_H

#include "spmv/common/starts.h"
#include "spmv/cpu/rows.h"
#include "spmv/spmv.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows and entries of a chunk together (row weight 1), at most. No row is split that is not longer; so a chunk has at
 *  most twice as many entries: they stay in a second-level cache while several vectors are multiplied. A small matrix
 *  has CPU_FEW_CHUNKS, for all threads to find some, unless they would be smaller than is worth the handing out. */
enum { CPU_CHUNK_WORK = 4096, CPU_LEAST_WORK = 512, CPU_FEW_CHUNKS = 16, CPU_CHUNK_ENTRIES = 2 * CPU_CHUNK_WORK };

struct cpu_part {
    int64_t chunks, work;            /* work: of a chunk */
    int threads;                     /* of the context, that have cores */
    bool splits;                     /* a row is in several chunks */
    cpu_run *runs;                   /* those of a chunk begin at [its first whole row]; NULL: nobody asks for them */
    spmv_start starts[];             /* chunks + 1; a start inside a row: nz is not the row's first entry */
};

/** Entries of chunk c, of rows begin <= i < end: rows that are in it as a whole, and parts of rows that begin in an
 *  earlier chunk (head) and end in a later one (tail). A part in the middle of a row is a head. */
struct cpu_chunk {
    int64_t row, row_end;            /* whole rows, of those asked for */
    int64_t first_row;               /* of all whole rows */
    int64_t head_row, head_begin, head_end; /* head_row -1: none */
    int64_t tail_row, tail_begin, tail_end;
};
struct cpu_chunk cpu_find_chunk(const struct spmv_side *side, int64_t c, int64_t row_begin, int64_t row_end);
/** The chunks that have rows begin <= i < end; begin < end. */
void cpu_find_chunks(const struct spmv_side *side, int64_t row_begin, int64_t row_end, int64_t *first, int64_t *last);

/** Runs of the rows row <= i < end of a side with nnz entries: at most so many. */
void cpu_find_runs(const struct spmv_side *side, int64_t nnz, int64_t row, int64_t end, cpu_run *runs);

/** The plain product in one precision, by chunks (cpu/product.c). */
typedef void (*cpu_product_fn)(trine_spmv plan, const struct spmv_call *c);
extern const cpu_product_fn cpu_product[];

/** The backend's apply_semiring (cpu/semiring.c). */
trine_status spmv_cpu_apply_semiring(trine_spmv plan, const struct spmv_semiring_call *c);

/** Scratch of a product, in the work's buffer. */
struct cpu_scratch {
    size_t dots;                     /* two a chunk: dot and norm of its rows */
    size_t parts;                    /* head and tail of every chunk, of nrhs elements each */
    size_t tiles;                    /* one a thread: values as the product takes them */
    size_t tile, bytes;              /* of one; of all */
};
struct cpu_scratch cpu_scratch_of(trine_spmv plan, int64_t nrhs);

#ifdef __cplusplus
}
#endif
#endif
