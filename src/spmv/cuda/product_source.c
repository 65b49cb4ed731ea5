/* The kernel of plain products in instances that the library does not hold, compiled at run time for tuned plans. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/choices.h"
#include "spmv/semiring.h"

extern const char spmv_product_text[]; /* gpu_number.cuh, segmented.cuh, product.cuh; cmake/embed.cmake */

static const char *name_of(trine_dtype t)
{
    switch (t) {
    case TRINE_S: return "float";
    case TRINE_D: return "double";
    case TRINE_C: return "complex_of<float>";
    case TRINE_Z: return "complex_of<double>";
    }
    return "half_bits";
}

void spmv_write_choice(const trine_spmv_options *o, char *choice)
{
    snprintf(choice, TRINE_CHOICE_BYTES, "block %d tile %d reduction %d weight %d entries %lld", o->tune.block,
             o->tune.tile, (int)o->tune.reduction, o->tune.row_weight, (long long)o->tune.entries_per_block);
}

bool spmv_read_choice(const char *choice, trine_spmv_options *o)
{
    enum { BLOCK, TILE, REDUCTION, WEIGHT, ENTRIES, NUMBERS };
    static const struct {
        const char *name;
        long long least, most;
    } numbers[NUMBERS] = {{"block ", 64, 512},
                          {" tile ", 4, 16},
                          {" reduction ", TRINE_REDUCTION_RAKING, TRINE_REDUCTION_WARPS},
                          {" weight ", -1, 1 << 20},
                          {" entries ", 0, INT64_MAX}};
    long long found[NUMBERS];
    for (int k = 0; k < NUMBERS; k++) {
        const size_t length = strlen(numbers[k].name);
        char *end;
        if (strncmp(choice, numbers[k].name, length) != 0) return false;
        found[k] = strtoll(choice + length, &end, 10);
        if (end == choice + length || found[k] < numbers[k].least || found[k] > numbers[k].most) return false;
        choice = end;
    }
    if (*choice || (found[BLOCK] & (found[BLOCK] - 1))) return false;
    o->tune.block = (int)found[BLOCK];
    o->tune.tile = (int)found[TILE];
    o->tune.reduction = (trine_spmv_reduction)found[REDUCTION];
    o->tune.row_weight = (int)found[WEIGHT];
    o->tune.entries_per_block = found[ENTRIES];
    return true;
}

void spmv_fit_product(struct product_instance *instance)
{
    const size_t size = trine_dtype_size(instance->dtype);
    const trine_type type = {.name = "T", .size = size, .align = size};
    const trine_semiring_source source = {.product = type, .accumulator = type, .result = type};
    struct semiring_instance is = {.block = instance->block, .tile = instance->tile, .reduction = instance->reduction};
    semiring_fit_instance(&source, &is);
    instance->block = is.block;
    instance->tile = is.tile;
}

trine_status spmv_product_get_kernels(trine_context ctx, const void *instance, int capability, bool portable, bool anew,
                                      struct trine_kernels **kernels)
{
    const struct product_instance *i = instance;
    char reduce[160];
    const char *const expression = reduce;
    snprintf(reduce, sizeof reduce, "reduce_rows<plain_product<%s, %s, %s>, %d, %d, %d>", name_of(i->dtype),
             name_of(i->stored), i->indexed ? "true" : "false", i->block, i->tile, i->reduction);
    const struct trine_program p = {.title = "the tuned product",
                                    .source = spmv_product_text,
                                    .capability = capability,
                                    .portable = portable,
                                    .count = 1,
                                    .expressions = &expression};
    return trine_kernels_get(ctx, &p, anew, kernels);
}

trine_status trine_product_compile(trine_context ctx, trine_dtype dtype, trine_dtype stored, bool indexed, int block,
                                   int tile, int reduction, int capability)
{
    REQUIRE(ctx, "ctx is NULL");
    struct product_instance instance = {dtype, stored, indexed, block, tile, reduction};
    struct trine_kernels *kernels = NULL;
    spmv_fit_product(&instance);
    const trine_status status = spmv_product_get_kernels(ctx, &instance, capability, false, false, &kernels);
    trine_kernels_drop(ctx, kernels);
    return status;
}
