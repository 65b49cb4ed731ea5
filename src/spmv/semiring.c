/* Semirings: the caller's strings and functions, checked and copied. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/team.h"
#include "spmv/semiring.h"

static const char *const type_roles[SEMIRING_TYPES] = {"value",  "vector", "product", "accumulator",
                                                       "result", "output", "args"};

/* ------------------------------------------------------------------ checks */

/** A name goes into a program and into messages: what C++ has in names of types, and not the library's. */
static bool is_type_name(const char *name)
{
    if (!*name || strlen(name) > 100 || !strncmp(name, "trine", 5)) return false;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_ :<>,*()", *at)) return false;
    return true;
}

static trine_status check_type(const trine_type *type, const char *role)
{
    REQUIRE(is_type_name(type->name), "the name \"%.60s\" of the %s type is none", type->name, role);
    REQUIRE(type->size && type->align, "the %s type %s has no %s", role, type->name, type->size ? "align" : "size");
    REQUIRE(type->size <= SEMIRING_TYPE_BYTES, "the %s type %s has %zu bytes, at most %d are possible", role,
            type->name, type->size, SEMIRING_TYPE_BYTES);
    REQUIRE(!(type->align & (type->align - 1)), "the align %zu of the %s type %s is no power of two", type->align, role,
            type->name);
    REQUIRE(type->size % type->align == 0, "the size %zu of the %s type %s is no multiple of its align %zu", type->size,
            role, type->name, type->align);
    return TRINE_SUCCESS;
}

static bool are_equal(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

/** Types of one name are one type. */
static trine_status check_names(const trine_semiring_source *s)
{
    for (int k = 0; k < SEMIRING_TYPES; k++)
        for (int j = 0; j < k; j++) {
            const trine_type *a = semiring_type(s, j), *b = semiring_type(s, k);
            if (!a->name || !b->name || strcmp(a->name, b->name) != 0) continue;
            REQUIRE(a->size == b->size && a->align == b->align && are_equal(a->code, b->code),
                    "the type %s is given twice, with another %s", a->name,
                    are_equal(a->code, b->code) ? "size or align" : "code");
        }
    return TRINE_SUCCESS;
}

static trine_status check_strings(const trine_semiring_source *s)
{
    REQUIRE(s->multiply, "the semiring has no multiply");
    REQUIRE(s->add, "the semiring has no add");
    return TRINE_SUCCESS;
}

static trine_status check_functions(const trine_semiring_source *s)
{
    if (s->cpu_rows && !s->cpu.reduce && !s->cpu.multiply) return TRINE_SUCCESS;
    REQUIRE(s->cpu.reduce || s->cpu.multiply,
            "the semiring has no multiply for the CPU: cpu.multiply, cpu.reduce or cpu_rows");
    REQUIRE(s->cpu.reduce || s->cpu.add, "the semiring has no add for the CPU: cpu.add, cpu.reduce or cpu_rows");
    REQUIRE(!s->cpu.multiply || s->cpu.add, "cpu.multiply is of no use without cpu.add");
    REQUIRE(!s->cpu.multiply || s->cpu.lift || s->product.size == s->accumulator.size,
            "product and accumulator have %zu and %zu bytes: cpu.lift has to make one of the other", s->product.size,
            s->accumulator.size);
    REQUIRE(s->cpu.store || (!strcmp(s->output.name, s->accumulator.name) && !s->project && !s->identity && !s->store),
            "the semiring has no store for the CPU: cpu.store, for what its types or its strings project, identity and "
            "store ask for");
    return TRINE_SUCCESS;
}

trine_status semiring_check(trine_semiring_source *s, bool for_gpu)
{
    REQUIRE_RESERVE(trine_semiring_source, s);
    REQUIRE(s->product.name, "the semiring has no product type");
    REQUIRE(s->output.name, "the semiring has no output type");
    REQUIRE(s->commutes == 0 || s->commutes == 1, "commutes is %d, neither 0 nor 1", s->commutes);
    if (!s->accumulator.name) s->accumulator = s->product;
    if (!s->result.name) s->result = s->accumulator;
    for (int k = 0; k < SEMIRING_TYPES; k++) {
        const trine_status status =
            semiring_type(s, k)->name ? check_type(semiring_type(s, k), type_roles[k]) : TRINE_SUCCESS;
        if (status) return status;
    }
    const trine_status status = check_names(s);
    if (status) return status;
    return for_gpu ? check_strings(s) : check_functions(s);
}

/* ------------------------------------------------------------------- copies */

enum { STRINGS = 2 * SEMIRING_TYPES + 7 };

/** Where a source has its strings. */
static void list_strings(trine_semiring_source *s, const char **list[STRINGS])
{
    const char ***at = list;
    for (int k = 0; k < SEMIRING_TYPES; k++) {
        trine_type *type = (trine_type *)semiring_type(s, k);
        *at++ = &type->name;
        *at++ = &type->code;
    }
    const char **const expressions[] = {&s->preamble, &s->multiply, &s->lift, &s->add,
                                        &s->project,  &s->identity, &s->store};
    memcpy(at, expressions, sizeof expressions);
}

/** The semiring's source gets strings of its own. */
static trine_status copy_strings(trine_semiring semiring)
{
    const char **list[STRINGS];
    size_t bytes = 1;
    list_strings(&semiring->source, list);
    for (int k = 0; k < STRINGS; k++) bytes += *list[k] ? strlen(*list[k]) + 1 : 0;
    char *end = semiring->text = trine_host_alloc(semiring->ctx, (int64_t)bytes, 1);
    if (!end) return TRINE_ERR_MEMORY;
    for (int k = 0; k < STRINGS; k++) {
        if (!*list[k]) continue;
        const char *copy = end;
        end = stpcpy(end, *list[k]) + 1;
        *list[k] = copy;
    }
    return TRINE_SUCCESS;
}

/* --------------------------------------------------------- public functions */

trine_status trine_semiring_create(trine_context ctx, trine_semiring *out, const trine_semiring_source *source)
{
    TRINE_RANGE;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(out, "semiring is NULL");
    *out = NULL;
    REQUIRE(source, "source is NULL");
    trine_semiring_source checked = *source;
    trine_status status = semiring_check(&checked, ctx->cuda);
    if (status) return status;
    trine_semiring semiring;
    TRY(CALLOC(ctx, semiring, 1));
    semiring->refs = 1;
    semiring->ctx = trine_retain_context(ctx);
    semiring->source = checked;
    TRY(copy_strings(semiring));
    if (ctx->cuda) TRY(TRINE_CUDA_TABLE(&semiring_cuda)->create(semiring));
    else trine_team_start(ctx);
    *out = semiring;
    return TRINE_SUCCESS;
done:
    trine_semiring_destroy(&semiring);
    return status;
}

trine_status trine_semiring_destroy(trine_semiring *semiring)
{
    if (!semiring || !*semiring) return TRINE_SUCCESS;
    trine_semiring s = *semiring;
    *semiring = NULL;
    if (!trine_release(&s->refs)) return TRINE_SUCCESS;
    trine_context ctx = s->ctx;
    if (ctx->cuda) TRINE_CUDA_TABLE(&semiring_cuda)->release(s);
    trine_free(ctx, TRINE_HOST, s->text);
    trine_free(ctx, TRINE_HOST, s);
    return trine_context_destroy(&ctx);
}

trine_status trine_semiring_builtin(trine_context ctx, trine_semiring *semiring, const char *name, trine_dtype dtype)
{
    trine_semiring_source source;
    REQUIRE(ctx, "ctx is NULL");
    REQUIRE(semiring, "semiring is NULL");
    *semiring = NULL;
    REQUIRE(name, "name is NULL");
    const trine_status status = trine_semiring_find(name, dtype, &source);
    return status ? status : trine_semiring_create(ctx, semiring, &source);
}
