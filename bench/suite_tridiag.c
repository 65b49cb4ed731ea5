/* Suite tridiag: random systems of growing size, beside cuSPARSE on a GPU and LAPACK on a CPU. */
#include <stdlib.h>
#include <string.h>

#include "tridiag.h"

enum { SMALLEST_POWER = 10, LARGEST_POWER_GPU = 27, LARGEST_POWER_CPU = 23, MOST_SOLVERS = 16 };

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

/** One system, growing. */
static trine_status run_sizes(bench *b, trine_dtype dtype, int64_t nrhs)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    solver_list list = {0};
    tridiag_problem p = {0};
    for (int i = 0; i < b->methods.count; i++) add(&list, &tridiag_trine, b->methods.item[i]);
    if (!b->methods.count) add(&list, &tridiag_trine, "auto");
    if (!b->methods.count && host && b->device.threads > 1) add(&list, &tridiag_trine, "threads=1");
    if (host && wants_peer(b, "lapack")) add(&list, &tridiag_lapack, "gtsv");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2");
    if (!host && wants_peer(b, "cusparse")) add(&list, &tridiag_cusparse, "gtsv2_nopivot");
    for (int power = SMALLEST_POWER; power <= (host ? LARGEST_POWER_CPU : LARGEST_POWER_GPU); power++) {
        TRY(tridiag_problem_make(b, dtype, INT64_C(1) << power, nrhs, 1, 1, 1, false, &p));
        TRY(tridiag_compare(&p, "gtsv", list.solver, list.method, list.count));
        tridiag_problem_free(&p);
    }
done:
    tridiag_problem_free(&p);
    return status;
}

/** --methods: see tridiag.h. --dtype: s and d. */
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
        for (int k = 0; k < n_counts; k++) TRY(run_sizes(b, dtype, strtoll(counts[k], NULL, 10)));
    }
done:
    return status;
}
