/* Options and stages of the partitioned tridiagonal solve. */
#include "tridiagonal/common/hierarchy.h"

void rpts_make_plan(int64_t n, int64_t nrhs, bool cyclic, int partition, int64_t direct_rows, rpts_plan *plan)
{
    *plan = (rpts_plan){.n = n};
    while (n > direct_rows) {
        rpts_stage *s = &plan->stage[plan->stages++];
        const int64_t rest = n % partition;
        s->n = n;
        s->partition = partition;
        s->partitions = n / partition + (rest > 0);
        s->full = n / partition;
        s->last_rows = rest == 0 ? partition : (int)(cyclic ? rest : rest + rest % 2);
        s->coarse_n = 2 * s->partitions - (cyclic && rest == 1);
        n = s->coarse_n;
        s->coarse_ld = (n + 3) / 4 * 4;
        plan->elements += s->coarse_ld * (4 + nrhs);
    }
}

static trine_status too_large(int64_t n, int64_t nrhs)
{
    return trine_fail(TRINE_ERR_MEMORY, "the workspace for n = %lld, nrhs = %lld does not fit in memory", (long long)n,
                      (long long)nrhs);
}

trine_status rpts_check_options(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                rpts_options *out)
{
    static const trine_gtsv_options automatic = {0};
    if (!options) options = &automatic;
    REQUIRE(trine_dtype_is_valid(t), "dtype %d is none of S, D, C, Z", (int)t);
    REQUIRE(n >= 0 && n <= INT64_MAX / 256, "n is %lld", (long long)n);
    REQUIRE(nrhs >= 0, "nrhs is %lld", (long long)nrhs);
    if (n && nrhs > INT64_MAX / 256 / n) return too_large(n, nrhs); /* so that no count of elements overflows */
    REQUIRE_RESERVE(trine_gtsv_options, options);
    REQUIRE(options->pivot >= TRINE_PIVOT_DEFAULT && options->pivot <= TRINE_PIVOT_SCALED_PARTIAL,
            "there is no pivoting scheme %d", (int)options->pivot);
    REQUIRE(options->epsilon >= 0, "epsilon is %g, not 0 or more", options->epsilon);
    REQUIRE(options->refine == 0 || options->refine == 1, "refine is %d, neither 0 nor 1", options->refine);
    REQUIRE(options->op == 0 || options->op == TRINE_N || options->op == TRINE_T || options->op == TRINE_H,
            "op %d is none of N, T, H", (int)options->op);
    REQUIRE(options->partition % 8 == 0 && options->partition >= 0 && options->partition <= 64,
            "partition is %d, neither 0 nor a multiple of 8 up to 64", options->partition);
    REQUIRE(options->path >= TRINE_GTSV_AUTO && options->path <= TRINE_GTSV_ONE_PASS, "there is no path %d",
            (int)options->path);
    REQUIRE(options->final_stage >= TRINE_GTSV_FUSED && options->final_stage <= TRINE_GTSV_TWO_ROWS,
            "there is no final stage %d", (int)options->final_stage);
    *out = (rpts_options){.nrhs = nrhs,
                          .epsilon = options->epsilon,
                          .refine = options->refine,
                          .cyclic = options->cyclic != 0,
                          .pivot = options->pivot == TRINE_PIVOT_DEFAULT ? TRINE_PIVOT_SCALED_PARTIAL : options->pivot,
                          .partition = options->partition,
                          .path = options->path,
                          .final_stage = options->final_stage,
                          .op = options->op ? options->op : TRINE_N};
    return TRINE_SUCCESS;
}

trine_status rpts_check_vectors(int64_t n, int64_t nrhs, const void *D, int64_t ldd, const void *X, int64_t ldx)
{
    REQUIRE(ldd >= n, "ldd is %lld, less than n = %lld", (long long)ldd, (long long)n);
    REQUIRE(ldx >= n, "ldx is %lld, less than n = %lld", (long long)ldx, (long long)n);
    REQUIRE(!n || !nrhs || (D && X), "%s is NULL", D ? "X" : "D");
    REQUIRE(D != X || !D || ldd == ldx, "X is D, but ldx = %lld and ldd = %lld", (long long)ldx, (long long)ldd);
    return TRINE_SUCCESS;
}

trine_status rpts_check_work(const void *work, size_t bytes, size_t needed)
{
    REQUIRE(bytes >= needed, "the workspace has %zu bytes; %zu are needed", bytes, needed);
    REQUIRE(work || !needed, "work is NULL");
    return TRINE_SUCCESS;
}

trine_status rpts_bytes(int64_t n, int64_t nrhs, int64_t elements, int64_t vectors, trine_dtype t, size_t *bytes)
{
    int64_t total;
    if (__builtin_mul_overflow(n, nrhs * vectors, &total) || __builtin_add_overflow(total, elements, &total) ||
        __builtin_mul_overflow(total, (int64_t)trine_dtype_size(t), &total))
        return too_large(n, nrhs);
    *bytes = (size_t)total;
    return TRINE_SUCCESS;
}

trine_status rpts_check_batch(const void *a, const void *b, const void *c, trine_strides matrix, const void *D, void *X,
                              trine_strides vector, gtsv_batch *batch)
{
    const int64_t n = batch->n, systems = batch->systems;
    const bool any = n > 0 && systems > 0;
    REQUIRE(!batch->o.refine, "refine is 1; systems of a batch are not refined");
    REQUIRE(!any || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    REQUIRE(!any || (D && X), "%s is NULL", !D ? "D" : "X");
    REQUIRE(matrix.row >= 0 && matrix.system >= 0, "the strides of the matrix are %lld and %lld", (long long)matrix.row,
            (long long)matrix.system);
    REQUIRE(!any || (n == 1 && vector.system > 0) || (systems == 1 && vector.row > 0) ||
                (vector.row > 0 && vector.system >= (n - 1) * vector.row + 1) ||
                (vector.system > 0 && vector.row >= (systems - 1) * vector.system + 1),
            "vectors with strides %lld (rows) and %lld (systems) overlap", (long long)vector.row,
            (long long)vector.system);
    batch->a = a, batch->b = b, batch->c = c, batch->D = D, batch->X = X, batch->matrix = matrix,
    batch->vector = vector;
    return TRINE_SUCCESS;
}
