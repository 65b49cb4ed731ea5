/* The library's own semirings, written as a caller writes them: strings for a GPU, functions for the CPU
 * (cpu/builtin.inc). Not-a-number loses against every number in the maxima, whose ties go to the lowest column. */
#include <math.h>
#include <string.h>

#include "spmv/semiring.h"

#define TYPE(type) {.name = #type, .size = sizeof(type), .align = _Alignof(type)}

/* ------------------------------------------------------------------ or-and */

static void or_and_multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row,
                            int64_t col, void *product)
{
    (void)user, (void)values, (void)nz, (void)row;
    *(uint8_t *)product = ((const uint8_t *)vector)[col] != 0;
}
static void or_and_add(const void *user, void *accumulator, const void *p)
{
    (void)user;
    *(uint8_t *)accumulator |= *(const uint8_t *)p;
}
static void or_and_reduce(const void *user, const void *values, const void *vector, const int32_t *columns, int64_t row,
                          int64_t begin, int64_t end, void *accumulator)
{
    const uint8_t *x = vector;
    uint8_t any = 0;
    (void)user, (void)values, (void)row;
    for (int64_t nz = begin; nz < end && !any; nz++) any = x[columns[nz]] != 0;
    *(uint8_t *)accumulator = any;
}
static void or_and_store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    *(uint8_t *)y = accumulator ? *(const uint8_t *)accumulator : 0;
}
static const trine_semiring_source or_and = {
    /* of the matrix the pattern alone */
    .vector = TYPE(uint8_t), .product = TYPE(uint8_t),
    .output = TYPE(uint8_t), .multiply = "x != 0",
    .add = "acc | p",        .cpu = {or_and_multiply, NULL, or_and_add, or_and_reduce, or_and_store},
    .commutes = 1,
};

/* -------------------------------------------------------- in two precisions */

enum { PLUS_TIMES, MIN_PLUS, MAX_PLUS, MAX, MAX_COLUMN, ARG_MAX, ARG_MAX2, BUILTINS };

/** Of two entries of a row: is q the larger one, or as large and of a lower column? */
#define IS_BEFORE                                                                                        \
    "bool is_before(candidate q, candidate p)\n"                                                         \
    "{\n"                                                                                                \
    "    return q.value > p.value || (q.value == p.value && q.column < p.column) ||\n"                   \
    "           (p.value != p.value && (q.value == q.value || q.column < p.column));\n"                  \
    "}\n"
/** The two largest of two pairs. A column counts once; a column of -1 is none. Choices are made member by member: of
 *  whole structs, compilers make them by address, in local memory. */
#define JOIN_PAIRS                                                                                       \
    IS_BEFORE                                                                                            \
    "bool goes_before(candidate q, candidate p)\n"                                                       \
    "{\n"                                                                                                \
    "    return q.column >= 0 && (p.column < 0 || is_before(q, p));\n"                                   \
    "}\n"                                                                                                \
    "candidate choose(bool first, candidate p, candidate q)\n"                                           \
    "{\n"                                                                                                \
    "    return {first ? p.value : q.value, first ? p.column : q.column};\n"                             \
    "}\n"                                                                                                \
    "candidates join(candidates a, candidates b)\n"                                                      \
    "{\n"                                                                                                \
    "    const bool swap = goes_before(b.first, a.first);\n"                                             \
    "    const candidate high = choose(swap, b.first, a.first), low = choose(swap, a.first, b.first);\n" \
    "    const candidate next = choose(swap, b.second, a.second), last = choose(swap, a.second, b.second);\n" \
    "    const candidate other = choose(low.column == high.column, last, low);\n"                        \
    "    return {high, choose(goes_before(other, next), other, next)};\n"                                \
    "}\n"

#define T float
#define T_NAME "float"
#define FN(name) name##_s
#include "spmv/cpu/builtin.inc"
#undef T
#undef T_NAME
#undef FN

#define T double
#define T_NAME "double"
#define FN(name) name##_d
#include "spmv/cpu/builtin.inc"
#undef T
#undef T_NAME
#undef FN

static const char *const names[] = {
    [PLUS_TIMES] = "plus-times", [MIN_PLUS] = "min-plus", [MAX_PLUS] = "max-plus", [MAX] = "max",
    [MAX_COLUMN] = "max-column", [ARG_MAX] = "arg-max",   [ARG_MAX2] = "arg-max2", [BUILTINS] = "or-and"};

const char *trine_semiring_name(int i) { return i >= 0 && i <= BUILTINS ? names[i] : NULL; }

trine_status trine_semiring_find(const char *name, trine_dtype dtype, trine_semiring_source *source)
{
    int k = 0;
    while (k <= BUILTINS && strcmp(names[k], name) != 0) k++;
    REQUIRE(k <= BUILTINS, "there is no semiring \"%.60s\"", name);
    if (k == BUILTINS) {
        *source = or_and;
        return TRINE_SUCCESS;
    }
    REQUIRE(dtype == TRINE_S || dtype == TRINE_D, "the semiring %s is one of S and D, not of dtype %d", name,
            (int)dtype);
    *source = dtype == TRINE_S ? builtin_s[k] : builtin_d[k];
    return TRINE_SUCCESS;
}
