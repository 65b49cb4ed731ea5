/* A build without CUDA: no context is ever on a device, so the timer is never started. */
#include "graph.h"
#include "precond.h"
#include "spmv.h"
#include "tridiag.h"

trine_status bench_device_open(bench *b)
{
    (void)b;
    return trine_fail(TRINE_ERR_NOT_BUILT, "built without CUDA");
}
void bench_device_close(void) {}
void bench_device_keep_memory(bool keep) { (void)keep; }
trine_status bench_device_timer_start(bench *b) { return bench_device_open(b); }
trine_status bench_device_timer_stop(bench *b, double *ms)
{
    (void)ms;
    return bench_device_open(b);
}
trine_status bench_device_copy(bench *b, void *to, const void *from, size_t bytes)
{
    (void)to, (void)from, (void)bytes;
    return bench_device_open(b);
}

trine_status bench_count_launches(bench *b, bench_call call, void *self, int *kernels, double *launch_ms)
{
    (void)call, (void)self, (void)kernels, (void)launch_ms;
    return bench_device_open(b);
}
trine_status bench_time_marks(bench *b, bench_call call, void *self, int64_t count, double *times, double *between)
{
    (void)call, (void)self, (void)count, (void)times, (void)between;
    return bench_device_open(b);
}
void bench_mark(void *unused, int64_t k, void *stream) { (void)unused, (void)k, (void)stream; }

static trine_status create(bench *b, const bench_problem *p, const char *method, void **self)
{
    (void)p, (void)method;
    *self = NULL;
    return bench_device_open(b);
}
const bench_setup bench_setup_cusparse = {.impl = "cusparse", .create = create};

static trine_status create_tridiag(const tridiag_problem *p, const char *method, void **self)
{
    (void)method;
    *self = NULL;
    return bench_device_open(p->b);
}
static void destroy_nothing(void *self) { (void)self; }
const tridiag_solver tridiag_cusparse = {.impl = "cusparse", .create = create_tridiag, .destroy = destroy_nothing};
const tridiag_solver tridiag_ilu = {.impl = "cusparse", .create = create_tridiag, .destroy = destroy_nothing};

static trine_status create_product(spmv_problem *p, const char *method, void **self)
{
    (void)method;
    *self = NULL;
    return bench_device_open(p->b);
}
const spmv_solver spmv_cusparse = {.impl = "cusparse", .create = create_product};
const spmv_solver spmv_cusparse_preprocessed = {.impl = "cusparse", .create = create_product};
const spmv_solver spmv_merge_path = {.impl = "kernel", .create = create_product};
const spmv_solver spmv_gather = {.impl = "kernel", .create = create_product};
const spmv_solver spmv_cub = {.impl = "cub", .create = create_product};

trine_status precond_cusparse_create(precond_problem *p, const char *method, precond_cusparse *out)
{
    (void)method;
    *out = NULL;
    return bench_device_open(p->b);
}
trine_status precond_cusparse_set_up(void *peer)
{
    (void)peer;
    return bench_device_open(NULL);
}
trine_status precond_cusparse_solve(precond_cusparse s, int64_t most, int64_t *steps, double *residual)
{
    (void)s, (void)most, (void)steps, (void)residual;
    return bench_device_open(NULL);
}
const char *precond_cusparse_version(precond_cusparse s)
{
    (void)s;
    return "";
}
void precond_cusparse_destroy(precond_cusparse *s) { *s = NULL; }
