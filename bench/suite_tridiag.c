/* Suite tridiag: random systems of growing size, beside cuSPARSE on a GPU and LAPACK on a CPU. */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { SMALLEST_POWER = 10, LARGEST_POWER_GPU = 27, LARGEST_POWER_CPU = 23, LARGEST_POWER_FINAL = 22, MOST_SOLVERS = 16 };

typedef struct { int count; const tridiag_solver *solver[MOST_SOLVERS]; const char *method[MOST_SOLVERS]; } solver_list;

static void add(solver_list *list, const tridiag_solver *solver, const char *method)
{
    if (list->count == MOST_SOLVERS) return;
    list->solver[list->count] = solver;
    list->method[list->count++] = method;
}

static bool wants_peer(const bench *b, const char *name)
{
    for (int i = 0; i < b->peers.count; i++)
        if (strcmp(b->peers.item[i], name) == 0) return true;
    return b->peers.count == 0;
}

/** Make systems of n rows with `bands` bands on either side of the diagonal, run the list on them, record as `name`. */
static trine_status compare_on_random(bench *b, const char *name, trine_dtype dtype, int64_t n, int64_t nrhs, int64_t systems, int bands,
                                      bool interleaved, solver_list *list)
{
    trine_status status = TRINE_SUCCESS;
    tridiag_problem p = {0};
    TRY(tridiag_problem_make(b, dtype, n, nrhs, systems, bands, bands, interleaved, &p));
    TRY(tridiag_compare(&p, name, list->solver, list->method, list->count));
done:
    tridiag_problem_free(&p);
    return status;
}

/** One system, growing. */
static trine_status run_sizes(bench *b, trine_dtype dtype, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    solver_list list = {0};
    for (int i = 0; i < b->methods.count; i++) add(&list, &tridiag_trine, b->methods.item[i]);
    if (!b->methods.count) add(&list, &tridiag_trine, "auto");
    if (!b->methods.count && host && b->device.threads > 1) add(&list, &tridiag_trine, "threads=1");
    if (host && wants_peer(b, "lapack")) add(&list, &tridiag_lapack, "gtsv");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2_nopivot");
    for (int power = SMALLEST_POWER; power <= (host ? LARGEST_POWER_CPU : LARGEST_POWER_GPU); power++)
        TRY(compare_on_random(b, "gtsv", dtype, INT64_C(1) << power, nrhs, 1, 1, false, &list));
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
            solver_list list = {0};
            add(&list, &tridiag_trine, "auto");
            if (!host && wants_peer(b, "cusparse") && interleaved) {
                add(&list, &tridiag_cusparse, "gtsvInterleavedBatch:0");
                add(&list, &tridiag_cusparse, "gtsvInterleavedBatch:1");
            } else if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2StridedBatch");
            TRY(compare_on_random(b, interleaved ? "batch interleaved" : "batch contiguous", dtype, n, 1, (INT64_C(1) << 20) / n, 1, interleaved, &list));
        }
done:
    return status;
}

/** One banded system of 2^20 rows, and as many rows in pentadiagonal systems, which trine solves as one and cuSPARSE interleaved
 *  (Figure 18); and a short one beside ILU(0), which takes as many steps as there are rows, and a batch of this one system. */
static trine_status run_bands(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    static const char *const names[] = {[1] = "gbsv kl=ku=1", [2] = "gbsv kl=ku=2", [3] = "gbsv kl=ku=3", [4] = "gbsv kl=ku=4"};
    for (int k = 1; k <= 4; k++) {
        solver_list list = {0};
        add(&list, &tridiag_trine, "auto");
        if (host && wants_peer(b, "lapack")) add(&list, &tridiag_lapack, "gbsv");
        TRY(compare_on_random(b, names[k], dtype, INT64_C(1) << 20, 1, 1, k, false, &list));
        if (host || !wants_peer(b, "cusparse")) continue;
        add(&list, &tridiag_ilu, "csrilu02");
        add(&list, &tridiag_ilu, "csrilu02+SpSV");
        if (k == 2) add(&list, &tridiag_cusparse, "gpsvInterleavedBatch");
        TRY(compare_on_random(b, names[k], dtype, INT64_C(1) << 12, 1, 1, k, false, &list));
    }
    for (int64_t n = 8; n <= 512; n *= 8) {
        solver_list list = {0};
        add(&list, &tridiag_trine, "auto");
        if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gpsvInterleavedBatch");
        TRY(compare_on_random(b, "systems with kl=ku=2", dtype, n, 1, (INT64_C(1) << 20) / n, 2, false, &list));
    }
done:
    return status;
}

/** Partitions of 16 to 64 rows, with one right-hand side and with 32, 32 right-hand sides of systems that grow (Figure 14), and 1
 *  to 64 right-hand sides (Figure 15). */
static trine_status run_figures(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    tridiag_problem p = {0};
    static const char *const partitions[] = {"auto", "M=16", "M=24", "M=32", "M=40", "M=48", "M=56", "M=64"};
    static const char *const pivoting[] = {"auto", "partial", "none"};
    solver_list list = {0};
    for (int k = 0; k < 8; k++) add(&list, &tridiag_trine, partitions[k]);
    TRY(tridiag_problem_make(b, dtype, INT64_C(1) << (host ? 20 : 25), 1, 1, 1, 1, false, &p));
    TRY(tridiag_compare(&p, "partition", list.solver, list.method, list.count));
    list.count = 0;
    for (int k = 0; k < 3; k++) add(&list, &tridiag_trine, pivoting[k]);
    TRY(tridiag_compare(&p, "pivoting", list.solver, list.method, list.count));
    tridiag_problem_free(&p);
    list.count = 0;
    for (int k = 0; k < 8; k++) add(&list, &tridiag_trine, partitions[k]);
    TRY(compare_on_random(b, "partition", dtype, INT64_C(1) << (host ? 17 : 20), 32, 1, 1, false, &list));
    list.count = 0;
    add(&list, &tridiag_trine, "auto");
    if (host && wants_peer(b, "lapack")) add(&list, &tridiag_lapack, "gtsv");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2_nopivot");
    for (int power = SMALLEST_POWER; power <= (host ? 17 : 22); power += 2)
        TRY(compare_on_random(b, "32 right-hand sides", dtype, INT64_C(1) << power, 32, 1, 1, false, &list));
    for (int64_t nrhs = 1; nrhs <= 64; nrhs *= 2) {
        list.count = 0;
        add(&list, &tridiag_trine, "auto");
        if (host && wants_peer(b, "lapack")) add(&list, &tridiag_lapack, "gtsv");
        if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2");
        TRY(compare_on_random(b, "right-hand sides", dtype, INT64_C(1) << (host ? 17 : 20), nrhs, 1, 1, false, &list));
    }
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
    solver_list list = {0};
    add(&list, &tridiag_trine, "one-pass");
    add(&list, &tridiag_trine, "two-pass");
    if (wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2");
    for (int power = 20; power <= 26; power += 2) TRY(compare_on_random(b, "passes", dtype, INT64_C(1) << power, 1, 1, 1, false, &list));
done:
    return status;
}

/** The last stages of the solve by stages (Figure 13): what they do does not depend on n where n is large. */
static trine_status run_final_stages(bench *b, trine_dtype dtype)
{
    static const char *const methods[] = {"stages", "one-thread", "two-rows", "auto"};
    for (int power = SMALLEST_POWER; power <= LARGEST_POWER_FINAL; power += 2)
        for (int cyclic = 0; cyclic < 2; cyclic++) {
            trine_status status = TRINE_SUCCESS;
            tridiag_problem p = {0};
            solver_list list = {0};
            for (int k = 0; k < 4 - cyclic; k++) add(&list, &tridiag_trine, methods[k]);
            TRY(tridiag_problem_make(b, dtype, INT64_C(1) << power, 1, 1, 1, 1, false, &p));
            p.cyclic = cyclic;
            TRY(tridiag_compare(&p, cyclic ? "final stage, cyclic" : "final stage", list.solver, list.method, list.count));
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
        if (wants(b, "bands")) TRY(run_bands(b, dtype));
        if (wants(b, "blocks")) TRY(bench_tridiag_blocks(b, dtype));
        if (wants(b, "sparse")) TRY(bench_tridiag_sparse(b, dtype));
    }
done:
    return status;
}
