/* trine_bgtsv, trine_bgtf, trine_bgtfs, trine_gbsv and their forms for the CPU: the arguments, then the backend. */
#include <omp.h>

#include "tridiagonal/block.h"

/* --------------------------------------------------------------- what is asked */

static trine_status find_gpu(const struct block_backend **backend)
{
    *backend = TRINE_CUDA_TABLE(&block_cuda);
    return *backend ? TRINE_SUCCESS : trine_fail(TRINE_ERR_NOT_BUILT, "this libtrine was built without CUDA; the functions whose names end in _cpu solve on the CPU");
}

static trine_status make_plan(const struct block_backend *backend, bool factored, block_call *call)
{
    const int width = call->A.width, asked = call->o.partition;
    const int64_t most = backend->most_columns(call, 1), most_groups = backend->most_columns(call, 2) / 2;
    const int64_t columns = !asked ? backend->partition_rows / width : call->A.banded ? (asked + width - 1) / width : asked;
    block_make_plan(&call->A, columns < most ? columns : most, backend->coarse_partition < most_groups ? backend->coarse_partition : most_groups,
                    factored || backend->solves_by_factors, &call->plan);
    return block_factor_bytes(&call->plan, call->t, &call->factor_bytes);
}

static trine_status make_blocks(const struct block_backend *backend, trine_dtype t, int64_t rows, int n, int64_t nrhs,
                                const trine_gtsv_options *options, bool factored, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    *call = (block_call){.t = t};
    TRY(block_check_options(t, rows, nrhs, options, &call->o));
    TRY(block_group_blocks(rows, n, &call->o, backend->widths, &call->A));
    TRY(make_plan(backend, factored, call));
done:
    return status;
}

static trine_status make_bands(const struct block_backend *backend, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku,
                               const trine_gtsv_options *options, block_call *call)
{
    trine_status status = TRINE_SUCCESS;
    *call = (block_call){.t = t};
    TRY(block_check_options(t, n, nrhs, options, &call->o));
    TRY(block_group_bands(n, kl, ku, &call->o, backend->widths, &call->A));
    TRY(make_plan(backend, false, call));
done:
    return status;
}

static trine_status set_threads(int threads, block_call *call)
{
    REQUIRE(threads >= 0, "threads is %d", threads);
    call->o.threads = threads ? threads : omp_get_max_threads();
    return TRINE_SUCCESS;
}
static trine_status set_bands(const void *a, const void *b, const void *c, block_call *call)
{
    REQUIRE(!call->A.n || (a && b && c), "%s is NULL", !a ? "a" : !b ? "b" : "c");
    call->A.a = a, call->A.b = b, call->A.c = c;
    return TRINE_SUCCESS;
}
static trine_status set_factor(const void *factor, size_t bytes, block_call *call)
{
    if (!call->A.n) return TRINE_SUCCESS;
    REQUIRE(!call->o.refine, "refine is 1; a factorization does not keep the matrix");
    REQUIRE(bytes >= call->factor_bytes, "the factorization has %zu bytes; %zu are needed", bytes, call->factor_bytes);
    REQUIRE(factor, "factor is NULL");
    call->factor = (void *)factor;
    return TRINE_SUCCESS;
}

static bool is_empty(const block_call *call) { return !call->A.n || !call->o.nrhs; }

static trine_status bytes_of(trine_status (*count)(const block_call *, size_t *), const block_call *call, size_t *bytes)
{
    *bytes = 0;
    return is_empty(call) ? TRINE_SUCCESS : count(call, bytes);
}

/** Solve with the matrix or, once set, with the factorization. */
static trine_status run(const struct block_backend *backend, block_call *call, const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    size_t needed = 0;
    trine_status status = TRINE_SUCCESS;
    TRY(rpts_check_vectors(call->A.n, call->o.nrhs, D, ldd, X, ldx));
    TRY(bytes_of(call->factor ? backend->substitute_bytes : backend->solve_bytes, call, &needed));
    TRY(rpts_check_work(work, work_bytes, needed));
    REQUIRE((uintptr_t)work % 16 == 0, "work does not start on 16 bytes");
    call->D = D, call->ldd = ldd, call->X = X, call->ldx = ldx, call->work = work;
    if (!is_empty(call)) status = call->factor ? backend->substitute(call) : backend->solve(call);
done:
    return status;
}

static trine_status factor(const struct block_backend *backend, block_call *call, void *factor, size_t bytes)
{
    trine_status status = TRINE_SUCCESS;
    TRY(set_factor(factor, bytes, call));
    REQUIRE((uintptr_t)factor % 16 == 0, "factor does not start on 16 bytes");
    if (call->A.n) status = backend->factor(call);
done:
    return status;
}

/* ---------------------------------------------------------------------- blocks */

trine_status trine_bgtsv_work_size(trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, nrhs, options, false, &call));
    TRY(bytes_of(backend->solve_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_bgtsv(void *stream, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                         const void *a, const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                         void *work, size_t work_bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, nrhs, options, false, &call));
    TRY(set_bands(a, b, c, &call));
    call.stream = stream;
    TRY(run(backend, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}

trine_status trine_bgtsv_cpu_work_size(trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_blocks(&block_cpu, t, rows, n, nrhs, options, false, &call));
    TRY(bytes_of(block_cpu.solve_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_bgtsv_cpu(int threads, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                             const void *a, const void *b, const void *c, const void *D, int64_t ldd, void *X, int64_t ldx,
                             void *work, size_t work_bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(make_blocks(&block_cpu, t, rows, n, nrhs, options, false, &call));
    TRY(set_threads(threads, &call));
    TRY(set_bands(a, b, c, &call));
    TRY(run(&block_cpu, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}

/* -------------------------------------------------------------- factorizations */

trine_status trine_bgtf_size(trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options, size_t *bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, 1, options, true, &call));
    *bytes = rows ? call.factor_bytes : 0;
done:
    return status;
}

trine_status trine_bgtf(void *stream, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                        const void *a, const void *b, const void *c, void *factorization, size_t factor_bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, 1, options, true, &call));
    TRY(set_bands(a, b, c, &call));
    call.stream = stream;
    TRY(factor(backend, &call, factorization, factor_bytes));
done:
    return status;
}

trine_status trine_bgtfs_work_size(trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, nrhs, options, true, &call));
    TRY(bytes_of(backend->substitute_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_bgtfs(void *stream, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                         const void *factorization, size_t factor_bytes, const void *D, int64_t ldd, void *X, int64_t ldx,
                         void *work, size_t work_bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(find_gpu(&backend));
    TRY(make_blocks(backend, t, rows, n, nrhs, options, true, &call));
    TRY(set_factor(factorization, factor_bytes, &call));
    call.stream = stream;
    TRY(run(backend, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}

trine_status trine_bgtf_cpu_size(trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_blocks(&block_cpu, t, rows, n, 1, options, true, &call));
    *bytes = rows ? call.factor_bytes : 0;
done:
    return status;
}

trine_status trine_bgtf_cpu(int threads, trine_dtype t, int64_t rows, int n, const trine_gtsv_options *options,
                            const void *a, const void *b, const void *c, void *factorization, size_t factor_bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(make_blocks(&block_cpu, t, rows, n, 1, options, true, &call));
    TRY(set_threads(threads, &call));
    TRY(set_bands(a, b, c, &call));
    TRY(factor(&block_cpu, &call, factorization, factor_bytes));
done:
    return status;
}

trine_status trine_bgtfs_cpu_work_size(trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_blocks(&block_cpu, t, rows, n, nrhs, options, true, &call));
    TRY(bytes_of(block_cpu.substitute_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_bgtfs_cpu(int threads, trine_dtype t, int64_t rows, int n, int64_t nrhs, const trine_gtsv_options *options,
                             const void *factorization, size_t factor_bytes, const void *D, int64_t ldd, void *X, int64_t ldx,
                             void *work, size_t work_bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(make_blocks(&block_cpu, t, rows, n, nrhs, options, true, &call));
    TRY(set_threads(threads, &call));
    TRY(set_factor(factorization, factor_bytes, &call));
    TRY(run(&block_cpu, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}

/* ----------------------------------------------------------------------- bands */

trine_status trine_gbsv_work_size(trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options, size_t *bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(find_gpu(&backend));
    TRY(make_bands(backend, t, n, nrhs, kl, ku, options, &call));
    TRY(bytes_of(backend->solve_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_gbsv(void *stream, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                        const void *AB, const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    const struct block_backend *backend;
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(find_gpu(&backend));
    TRY(make_bands(backend, t, n, nrhs, kl, ku, options, &call));
    REQUIRE(!n || AB, "AB is NULL");
    call.A.a = AB;
    call.stream = stream;
    TRY(run(backend, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}

trine_status trine_gbsv_cpu_work_size(trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options, size_t *bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    REQUIRE(bytes, "bytes is NULL");
    TRY(make_bands(&block_cpu, t, n, nrhs, kl, ku, options, &call));
    TRY(bytes_of(block_cpu.solve_bytes, &call, bytes));
done:
    return status;
}

trine_status trine_gbsv_cpu(int threads, trine_dtype t, int64_t n, int64_t nrhs, int kl, int ku, const trine_gtsv_options *options,
                            const void *AB, const void *D, int64_t ldd, void *X, int64_t ldx, void *work, size_t work_bytes)
{
    block_call call;
    trine_status status = TRINE_SUCCESS;
    TRY(make_bands(&block_cpu, t, n, nrhs, kl, ku, options, &call));
    TRY(set_threads(threads, &call));
    REQUIRE(!n || AB, "AB is NULL");
    call.A.a = AB;
    TRY(run(&block_cpu, &call, D, ldd, X, ldx, work, work_bytes));
done:
    return status;
}
