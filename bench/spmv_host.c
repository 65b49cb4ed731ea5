/* The peer that anyone would write, and the same product as operators of a semiring on a CPU. */
#include "spmv_host.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE "spmv_host.inc"
#include "core/each_dtype.h"

/* --------------------------------------------------------------- semirings */

trine_semiring_source spmv_host_semiring(trine_dtype dtype, const char *form)
{
    static const struct {
        const char *type;
        __typeof__(&entry_multiply_d) multiply;
        __typeof__(&entry_add_d) add;
        __typeof__(&segment_reduce_d) reduce;
        __typeof__(&multiply_rows_d) rows;
    } of[] = {[TRINE_S] = {"float", entry_multiply_s, entry_add_s, segment_reduce_s, multiply_rows_s},
              [TRINE_D] = {"double", entry_multiply_d, entry_add_d, segment_reduce_d, multiply_rows_d},
              [TRINE_C] = {"float_complex", entry_multiply_c, entry_add_c, segment_reduce_c, multiply_rows_c},
              [TRINE_Z] = {"double_complex", entry_multiply_z, entry_add_z, segment_reduce_z, multiply_rows_z}};
    const size_t size = trine_dtype_size(dtype);
    const trine_type type = {.name = of[dtype].type, .size = size, .align = is_complex(dtype) ? size / 2 : size};
    trine_semiring_source source = {.value = type, .vector = type, .product = type, .output = type};
    source.cpu.multiply = of[dtype].multiply;
    source.cpu.add = of[dtype].add;
    if (strcmp(form, "segment") == 0) source.cpu.reduce = of[dtype].reduce;
    if (strcmp(form, "rows") == 0) source.cpu_rows = of[dtype].rows;
    return source;
}

/* -------------------------------------------------------------------- loop */

static trine_status create(spmv_problem *p, const char *method, void **self)
{
    (void)method;
    *self = NULL;
    if (p->b->device.space != TRINE_HOST) return trine_fail(TRINE_ERR_UNSUPPORTED, "a loop runs on the CPU");
    *self = p;
    return TRINE_SUCCESS;
}

static trine_status multiply(void *self)
{
    static void (*const loops[])(const spmv_problem *p) = {
        [TRINE_S] = multiply_s, [TRINE_D] = multiply_d, [TRINE_C] = multiply_c, [TRINE_Z] = multiply_z};
    const spmv_problem *p = self;
    loops[p->dtype](p);
    return TRINE_SUCCESS;
}

static void destroy(void *self) { (void)self; }

const spmv_solver spmv_loop = {"openmp", SPMV_LOOP, create, NULL, NULL, multiply, NULL, NULL, destroy};
