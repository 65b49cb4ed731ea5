/* Suite tridiag: random systems of growing size, beside cuSPARSE on a GPU and LAPACK on a CPU. */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { SMALLEST_POWER = 10, LARGEST_POWER_GPU = 27, LARGEST_POWER_CPU = 24, LARGEST_POWER_FINAL = 22 };

/** One system, growing. */
static trine_status run_sizes(bench *b, trine_dtype dtype, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    tridiag_list list = {0};
    for (int i = 0; i < b->methods.count; i++) tridiag_list_add(&list, &tridiag_trine, b->methods.item[i]);
    if (!b->methods.count) tridiag_list_add(&list, &tridiag_trine, "auto");
    if (!b->methods.count && host && b->device.threads > 1) tridiag_list_add(&list, &tridiag_trine, "threads=1");
    if (host && tridiag_wants_peer(b, "lapack")) tridiag_list_add(&list, &tridiag_lapack, "gtsv");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2_nopivot");
    for (int power = SMALLEST_POWER; power <= (host ? LARGEST_POWER_CPU : LARGEST_POWER_GPU); power++)
        TRY(tridiag_compare_on_random(b, "gtsv",
                                      &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power, .nrhs = nrhs}, &list));
done:
    return status;
}

/** 2^20 rows in all, in systems of 8 to 512. */
static trine_status run_batches(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    for (int interleaved = 1; interleaved >= 0; interleaved--)
        for (int64_t n = 8; n <= 512; n *= n == 64 ? 8 : 2) {
            tridiag_list list = {0};
            tridiag_list_add(&list, &tridiag_trine, "auto");
            if (!host && tridiag_wants_peer(b, "cusparse") && interleaved) {
                tridiag_list_add(&list, &tridiag_cusparse, "gtsvInterleavedBatch:0");
                tridiag_list_add(&list, &tridiag_cusparse, "gtsvInterleavedBatch:1");
            } else if (!host && tridiag_wants_peer(b, "cusparse"))
                tridiag_list_add(&list, &tridiag_cusparse, "gtsv2StridedBatch");
            TRY(tridiag_compare_on_random(
                b, interleaved ? "batch interleaved" : "batch contiguous",
                &(tridiag_shape){.dtype = dtype, .n = n, .systems = (INT64_C(1) << 20) / n, .interleaved = interleaved},
                &list));
        }
done:
    return status;
}

/** Partitions of 16 to 64 rows, with one right-hand side and with 32, 32 right-hand sides of systems that grow
 *  (Figure 14), and 1 to 64 right-hand sides, dense and sparse (Figure 15). */
static trine_status run_figures(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    tridiag_problem p = {0};
    static const char *const partitions[] = {"auto", "M=16", "M=24", "M=32", "M=40", "M=48", "M=56", "M=64"};
    static const char *const pivoting[] = {"auto", "partial", "none"};
    tridiag_list list = {0};
    for (int k = 0; k < 8; k++) tridiag_list_add(&list, &tridiag_trine, partitions[k]);
    TRY(tridiag_problem_make(b, &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << (host ? 20 : 25)}, &p));
    TRY(tridiag_compare(&p, "partition", &list));
    list.count = 0;
    for (int k = 0; k < 3; k++) tridiag_list_add(&list, &tridiag_trine, pivoting[k]);
    TRY(tridiag_compare(&p, "pivoting", &list));
    tridiag_problem_free(&p);
    list.count = 0;
    for (int k = 0; k < 8; k++) tridiag_list_add(&list, &tridiag_trine, partitions[k]);
    TRY(tridiag_compare_on_random(
        b, "partition", &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << (host ? 17 : 20), .nrhs = 32}, &list));
    list.count = 0;
    tridiag_list_add(&list, &tridiag_trine, "auto");
    if (host && tridiag_wants_peer(b, "lapack")) tridiag_list_add(&list, &tridiag_lapack, "gtsv");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2_nopivot");
    for (int power = SMALLEST_POWER; power <= (host ? 17 : 22); power += 2)
        TRY(tridiag_compare_on_random(b, "32 right-hand sides",
                                      &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power, .nrhs = 32}, &list));
    list.count = 0;
    tridiag_list_add(&list, &tridiag_trine, "auto");
    if (host && tridiag_wants_peer(b, "lapack")) tridiag_list_add(&list, &tridiag_lapack, "gtsv");
    if (!host && tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2");
    for (int power = host ? 17 : 12; power <= (host ? 17 : 20); power += 2)
        for (int64_t nrhs = 1; nrhs <= 64; nrhs *= 2)
            TRY(tridiag_compare_on_random(b, "right-hand sides",
                                          &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power, .nrhs = nrhs},
                                          &list));
    TRY(bench_tridiag_sparse_columns(b, dtype));
done:
    tridiag_problem_free(&p);
    return status;
}

/** The two passes' kernels beside a copy kernel (Figure 12). */
static trine_status run_kernels(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    for (int power = 14; power <= 26; power += 2) TRY(tridiag_measure_kernels(b, dtype, INT64_C(1) << power));
done:
    return status;
}

/** One pass over the system beside two. */
static trine_status run_passes(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    tridiag_list list = {0};
    tridiag_list_add(&list, &tridiag_trine, "one-pass");
    tridiag_list_add(&list, &tridiag_trine, "two-pass");
    if (tridiag_wants_peer(b, "cusparse")) tridiag_list_add(&list, &tridiag_cusparse, "gtsv2");
    for (int power = 20; power <= 26; power += 2)
        TRY(tridiag_compare_on_random(b, "passes", &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power}, &list));
done:
    return status;
}

/** The last stages of the solve by stages, with partitions chosen for each stage and without (Figure 13): what they
 *  do does not depend on n where n is large. */
static trine_status run_final_stages(bench *b, trine_dtype dtype)
{
    static const char *const methods[] = {"stages", "one-thread", "one-thread:M=32", "two-rows", "auto"};
    for (int power = SMALLEST_POWER; power <= LARGEST_POWER_FINAL; power += 2)
        for (int cyclic = 0; cyclic < 2; cyclic++) {
            trine_status status = TRINE_SUCCESS;
            tridiag_problem p = {0};
            tridiag_list list = {0};
            for (int k = 0; k < 5; k++) tridiag_list_add(&list, &tridiag_trine, methods[k]);
            TRY(tridiag_problem_make(b, &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power}, &p));
            p.cyclic = cyclic;
            TRY(tridiag_compare(&p, cyclic ? "final stage, cyclic" : "final stage", &list));
done:
            tridiag_problem_free(&p);
            if (status) return status;
        }
    return TRINE_SUCCESS;
}

/** The parts are named like matrices: none named means all. */
static bool wants(const bench *b, const char *part)
{
    for (int i = 0; i < b->matrices.count; i++)
        if (strcmp(b->matrices.item[i], part) == 0) return true;
    return b->matrices.count == 0;
}

/** --methods: see tridiag.h; for the sizes only. --dtype: s and d. */
trine_status bench_suite_tridiag(bench *b)
{
    trine_status status = TRINE_SUCCESS;
    static char *const both[] = {"s", "d"};
    static char *const one[] = {"1"};
    char *const *dtypes = b->dtypes.count ? b->dtypes.item : both, *const *counts = b->nrhs.count ? b->nrhs.item : one;
    const int n_dtypes = b->dtypes.count ? b->dtypes.count : 2, n_counts = b->nrhs.count ? b->nrhs.count : 1;
    tridiag_print_head(b);
    for (int d = 0; d < n_dtypes; d++) {
        if (strcmp(dtypes[d], "s") != 0 && strcmp(dtypes[d], "d") != 0) continue;
        const trine_dtype dtype = *dtypes[d] == 's' ? TRINE_S : TRINE_D;
        for (int k = 0; k < n_counts && wants(b, "sizes"); k++) TRY(run_sizes(b, dtype, strtoll(counts[k], NULL, 10)));
        if (wants(b, "figures")) TRY(run_figures(b, dtype));
        if (wants(b, "kernels") && b->device.space == TRINE_DEVICE) TRY(run_kernels(b, dtype));
        if (wants(b, "passes") && b->device.space == TRINE_DEVICE) TRY(run_passes(b, dtype));
        if (wants(b, "final-stages") && b->device.space == TRINE_DEVICE) TRY(run_final_stages(b, dtype));
        if (wants(b, "batches")) TRY(run_batches(b, dtype));
        if (wants(b, "bands")) TRY(bench_tridiag_bands(b, dtype));
        if (wants(b, "blocks")) TRY(bench_tridiag_blocks(b, dtype));
        if (wants(b, "block-partitions")) TRY(bench_tridiag_block_partitions(b, dtype));
        if (wants(b, "sparse")) TRY(bench_tridiag_sparse(b, dtype));
    }
done:
    return status;
}
