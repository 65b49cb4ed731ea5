/* How much memory the analyses on the GPU take, from the numbers of rows and entries, in the order of the analyses. */
#include "triangular/cuda/memory.h"
#include "triangular/cuda/levelset/levelset.h"
#include "triangular/cuda/partition.h"
#include "triangular/cuda/pattern.h"
#include "triangular/cuda/syncfree_rows.h"

namespace {

/** An array in an arena, or by itself. */
int64_t array(int64_t count, int64_t size) { return (count * size + 255) / 256 * 256; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/** device_triangle_allocate, and the numbers. */
int64_t structure_bytes(const memory_question *q, int64_t nnz)
{
    const int64_t n = q->n;
    return array(n + 1, 8) + array(nnz, 8) + (q->unit ? 0 : array(n, 8)) + array(nnz, 4) + array(n, 4);
}
int64_t numbers_bytes(const memory_question *q)
{
    return array(q->nnz, q->element) + (q->unit ? 0 : array(q->n, q->element)) + 8;
}

/** Of device_triangle_sort, beside the result. */
int64_t sorting_bytes(int64_t n, int64_t n_keys)
{
    return 4 * array(n, 4) + array(n + 1, 8) + array(n_keys + 1, 8) +
           larger(device_triangle_sort_bytes(n, n_keys), device_scan_bytes(n + 1));
}

/** few_levels_make: parts of long rows. */
int64_t most_long_rows(int64_t nnz) { return nnz / LONG_ROW < MOST_LONG_ROWS ? nnz / LONG_ROW : MOST_LONG_ROWS; }
int64_t most_parts(int64_t nnz) { return nnz / FEW_LEVELS_PART + most_long_rows(nnz); }

int64_t chunks_bytes(const memory_question *q)
{
    return most_long_rows(q->nnz)
               ? array(q->n + 2 * most_long_rows(q->nnz) + 2, 4) + array(most_long_rows(q->nnz), 4) + 4
               : 0;
}

/** pattern_inspect and device_analyse: what lasts until all sides are done. */
int64_t pattern_bytes(const memory_question *q, int64_t *meanwhile)
{
    const int64_t n = q->n, nnz = q->nnz_matrix;
    int64_t kept = array(1, sizeof(pattern_report)) + 2 * array(n + 1, 8) + device_scan_bytes(n + 1), sorting = 0;
    if (q->on_host) kept += (n + 1) * 8 + nnz * 4;
    if (!q->ascending) {
        kept += array(nnz, 4) + array(nnz, 8);
        sorting = 3 * array(nnz, 8) + pattern_sort_bytes(n, nnz);
    }
    *meanwhile = kept + structure_bytes(q, nnz) + sorting; /* a form that is given up */
    return kept;
}

/** device_pattern_build. */
int64_t form_bytes(const memory_question *q, bool along, int64_t *meanwhile)
{
    const int64_t form = structure_bytes(q, q->nnz);
    *meanwhile = form;
    if (!along)
        *meanwhile += 2 * array(q->nnz, 4) + 2 * array(q->nnz, 16) + array(1, sizeof(pattern_report)) +
                      pattern_transpose_bytes(q->n, q->nnz);
    return form;
}

} // namespace

/* prepare and syncfree_csr_choose_shape. */
void memory_of_syncfree_rows(const memory_question *q, triangular_bytes *host, triangular_bytes *device)
{
    const int64_t n = q->n, nnz = q->nnz, side = sizeof(syncfree_csr_side), levels = device_levels_bytes(n),
                  parts = most_parts(nnz) * (int64_t)sizeof(long_part);
    const int order = q->options->tune.row_order;
    const bool one = q->options->max_nrhs == 1, measured = one && !order;
    const int64_t scanned = 4 * array(n + 1, 4) + device_scan_bytes(n + 1); /* beside groups, and beside tasks */
    bytes_add(host, side, side + larger((n + 1) * 8, parts + most_long_rows(nnz) * 24));
    bytes_add(device, (one ? 1 : 2) * chunks_bytes(q), 3 * chunks_bytes(q));
    if (measured) bytes_add(device, (n + 1) * 4, (n + 1) * 4 + scanned); /* groups */
    /* few levels, or the search for them */
    if (measured) bytes_add(device, levels + parts, levels + parts + most_long_rows(nnz) * 24 + 256);
    /* By level: the triangle in the given order stays until the end. */
    int64_t given = 0;
    if (order != 1) {
        given = structure_bytes(q, nnz) + (measured ? 0 : levels);
        bytes_add(device, 0, given + sorting_bytes(n, n));
    }
    if (!one) {
        const int64_t tasks = array(2 * n + 1, sizeof(row_task)) + array(nnz, 4) + array(n, 4) + array(n, 1) +
                              (q->unit ? 0 : array(n, q->element));
        bytes_add(device, 0, given + array(nnz, 4) + array(nnz, 8) + device_rows_sort_bytes(n, nnz));
        bytes_add(device, tasks, tasks + given + scanned);
    }
    bytes_add(device, numbers_bytes(q), 0);
}

/* prepare in cuda/syncfree_columns.cu. */
void memory_of_syncfree_columns(const memory_question *q, triangular_bytes *host, triangular_bytes *device)
{
    bytes_add(host, (int64_t)sizeof(device_triangle) + 256, 0);
    bytes_add(device, 2 * array(q->n, 4) + numbers_bytes(q), 0);
}

/* sort_by_level in cuda/levelset/launches.cu. A level has a row at least, a part of a long row 128 entries and a
 * long row twice as many. */
void memory_of_levelset(const memory_question *q, triangular_bytes *host, triangular_bytes *device)
{
    const int64_t n = q->n, bounds = (2 * n + 1) * 8, measures = n * (int64_t)sizeof(level_measure),
                  places = n * (int64_t)sizeof(level_place);
    const int64_t steps = 2 * n * (int64_t)sizeof(level_step),
                  rounds = (n + q->nnz / 64) * (int64_t)sizeof(level_round);
    bytes_add(host, (int64_t)sizeof(levelset_side) + steps,
              (int64_t)sizeof(levelset_side) + steps + bounds + measures + places + 4 * (n + 1));
    const int64_t sorted = structure_bytes(q, q->nnz), kept = bounds + rounds + q->nnz * 4,
                  state = array(device_levels_bytes(n), 1) + array(n, 4);
    bytes_add(device, kept, sorted + state + larger(sorting_bytes(n, 2 * n), measures + places + kept));
    /* in place of the triangle in the given order there is then the sorted one */
    bytes_add(device, numbers_bytes(q), sorted + state + numbers_bytes(q));
}

/* analyse_side in cuda/partitioned.cu. The order by level takes the place of the given one; patterns are in one pool,
 * and in two while they move to a larger one. */
void memory_of_partition(const memory_question *q, triangular_bytes *host, triangular_bytes *device)
{
    const int64_t n = q->n, entries = partition_full(n, q->inverses);
    bytes_add(host, (int64_t)sizeof(device_triangle) + 256, 0);
    bytes_add(host, 256, (n + 1) * 8 + larger(n * 96, n * 32 + 8));
    bytes_add(device, 0, device_levels_bytes(n) + structure_bytes(q, q->nnz) + sorting_bytes(n, n));
    device_partition_memory(n, entries, device);
    bytes_add(device, 2 * array(n, 8) + 2 * array(n, 16) + array(n, 8) + 1024 + array(entries, q->element), 0);
    bytes_add(device, numbers_bytes(q), 0);
}

trine_status device_memory(trine_triangular plan, const triangular_extent *e, triangle_form form,
                           memory_of_method method, triangular_bytes *host, triangular_bytes *device)
{
    memory_question q = {e->n,
                         e->nnz,
                         e->nnz_matrix,
                         (int64_t)trine_dtype_size(plan->base.dtype),
                         plan->options.diag == TRINE_UNIT,
                         e->on_host,
                         e->ascending,
                         &plan->options,
                         0};
    int saved;
    int64_t meanwhile;
    if (method == memory_of_partition) {
        const trine_status status =
            partition_most_entries(plan, e->n, e->nnz, plan->base.ctx->info.memory_bytes, &q.inverses);
        if (status) return status;
    }
    trine_device_enter(plan->base.ctx, &saved);
    const int64_t pattern = pattern_bytes(&q, &meanwhile), on_host = sizeof(device_pattern);
    bytes_add(host, on_host, 0);
    bytes_add(device, pattern, meanwhile);
    for (int side = 0; side < SIDES; side++) {
        if (!(plan->options.ops & (side == SIDE_N ? TRINE_N : TRINE_T | TRINE_H))) continue;
        const int64_t kept = form_bytes(&q, (e->csr == (side == SIDE_N)) == (form == BY_ROWS), &meanwhile);
        bytes_add(device, kept, meanwhile);
        method(&q, host, device);
    }
    host->kept -= on_host;
    device->kept -= pattern;
    trine_device_leave(plan->base.ctx, saved);
    return TRINE_SUCCESS;
}

size_t memory_of_few_levels_room(trine_triangular plan, const triangular_extent *e)
{
    const int64_t parts = most_parts(e->nnz);
    return parts ? FEW_LEVELS_COUNTERS + (size_t)parts * trine_dtype_size(plan->base.dtype) : 0;
}
