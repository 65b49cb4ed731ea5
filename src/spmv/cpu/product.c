/* The plain product on the CPU, chunk by chunk: whole rows are stored at once, parts of rows that chunks share are put
 * together afterwards, in their order. */
#include <string.h>

#include "core/scalar.h"
#include "spmv/cpu/side.h"
#include "spmv/cpu/split.h"

/** What all chunks of a product share. */
struct product {
    trine_spmv plan;
    const struct spmv_call *call;
    char *dots, *parts, *tiles;      /* in the work's buffer */
    size_t tile;
    int64_t first;                   /* of the chunks that run */
    cpu_rows_fn lanes;               /* for one contiguous vector; NULL: the loops here */
};

typedef float narrow_s;
typedef float narrow_d;
typedef float complex narrow_c;
typedef float complex narrow_z;

enum { ENTRIES_AHEAD = 16, X_IN_CACHE = 8 << 20 }; /* whose rows of X are fetched; bytes of an X that is not fetched */

enum stored_as { AS_IS, AS_NARROW, AS_HALF };

/** IEEE binary16 by its bits: a multiplication moves the exponent, which makes subnormal numbers right as well. */
static inline float half_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7FFF) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= (uint32_t)((half & 0x7C00) == 0x7C00 ? 0x7F800000 : 0) | (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#ifndef TRINE_SPMV_LANES
const cpu_rows_fn *cpu_lanes(void) { return NULL; }
#endif

#define TEMPLATE "spmv/cpu/times.inc"
#include "core/each_dtype.h"
#define TEMPLATE "spmv/cpu/product.inc"
#include "core/each_dtype.h"

const cpu_product_fn cpu_product[] = TABLE(product);
