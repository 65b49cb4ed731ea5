/* Infos: the order of their steps. */
#include "tridiagonal/info/info.h"

info_call info_of_system(void *stream, const trine_gtsv_options *options, banded_system s)
{
    banded_system transpose = s;
    transpose.transposed = !s.transposed;
    return (info_call){.stream = stream,
                       .s = s,
                       .transpose = transpose,
                       .matrix = {1, 0},
                       .vector = {1, 0},
                       .systems = 1,
                       .info = options ? options->info : NULL};
}

trine_status info_check(const info_call *c)
{
    if (!c || !c->info) return TRINE_SUCCESS;
    REQUIRE((uintptr_t)c->info % sizeof(int64_t) == 0, "info does not start on 8 bytes");
    REQUIRE(c->s.rows <= (INT64_C(1) << 40) / c->s.m, "n is %lld; an info knows 2^40 rows at most",
            (long long)c->s.rows * c->s.m);
    return TRINE_SUCCESS;
}

static bool is_empty(const info_call *c) { return !c->s.rows || !c->s.nrhs || !c->systems; }

trine_status info_before(info_call *c, int64_t nrhs, const void *D, int64_t ldd)
{
    trine_status status = TRINE_SUCCESS;
    if (!c || !c->info) return TRINE_SUCCESS;
    const struct info_backend *device = TRINE_CUDA_TABLE(&info_cuda);
    TRY(info_check(c));
    if (!c->begun) TRY(device->clear(c));
    c->begun = true;
    c->s.nrhs = nrhs, c->s.D = D, c->s.ldd = ldd;
    if (!is_empty(c)) TRY(device->look_at_given(c));
done:
    return status;
}

trine_status info_after(info_call *c, int64_t nrhs, const void *X, int64_t ldx)
{
    if (!c || !c->info) return TRINE_SUCCESS;
    c->s.nrhs = nrhs, c->s.X = X, c->s.ldx = ldx;
    return is_empty(c) ? TRINE_SUCCESS : TRINE_CUDA_TABLE(&info_cuda)->look_at_solutions(c);
}

trine_status info_end(info_call *c)
{
    return c && c->info && c->systems ? TRINE_CUDA_TABLE(&info_cuda)->judge(c) : TRINE_SUCCESS;
}

trine_gtsv_options info_none(const trine_gtsv_options *options)
{
    trine_gtsv_options o = options ? *options : (trine_gtsv_options){0};
    o.info = NULL;
    return o;
}

trine_status info_refuse(const trine_gtsv_options *options, const char *function)
{
    REQUIRE(!options || !options->info,
            "info is given; %s writes none, only trine_gtsv, trine_bgtsv, trine_gbsv and trine_gtsv_batch do",
            function);
    return TRINE_SUCCESS;
}
