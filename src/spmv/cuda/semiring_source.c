/* The program that a semiring is compiled from: what its strings may name, the kernel, the caller's types and
 * declarations, and an operator type for the kernel around the expressions. Expressions stand in functions outside of
 * that type, so that its members do not hide names of the caller's. What an expression does not name is not loaded:
 * an element of x and the old y are references, and loads of a value and a column that nothing uses are left out by
 * the compiler. Names of the library begin with trine. */
#include <stdio.h>
#include <string.h>

#include "core/choices.h"
#include "spmv/semiring.h"

/* prelude.cuh; segmented.cuh and rows.cuh with what it includes (cmake/embed.cmake) */
extern const char spmv_prelude_text[], spmv_kernels_text[];

enum { MOST_STAGED_BYTES = 16 }; /* of a value that is copied to shared memory */

/** A text that is first measured (begin NULL) and then written. */
struct text {
    char *begin;
    size_t length;
};

static void add(struct text *t, const char *more)
{
    const size_t length = strlen(more);
    if (t->begin) memcpy(t->begin + t->length, more, length + 1);
    t->length += length;
}

/** A section of the program whose lines messages count under its own name. */
static void add_section(struct text *t, const char *kind, const char *name, const char *body)
{
    add(t, "\n#line 1 \"");
    add(t, kind);
    add(t, name);
    add(t, "\"\n");
    add(t, body);
}

/** The caller's expression, or `otherwise`, and the end of the statement that it belongs to. */
static void add_expression(struct text *t, const char *name, const char *expression, const char *otherwise)
{
    add_section(t, name, "", expression ? expression : otherwise);
    add_section(t, "semiring", "", ";\n}\n");
}

/** Declarations of all types, each once. */
static void add_types(struct text *t, const trine_semiring_source *s)
{
    for (int k = 0; k < SEMIRING_TYPES; k++) {
        const trine_type *type = semiring_type(s, k);
        char assertion[160];
        bool is_first = type->name;
        for (int j = 0; is_first && j < k; j++) {
            const trine_type *before = semiring_type(s, j);
            is_first = !before->name || strcmp(before->name, type->name) != 0;
        }
        if (!is_first) continue;
        add_section(t, "type ", type->name, type->code ? type->code : "");
        add(t, "\nstatic_assert(sizeof(");
        add(t, type->name);
        snprintf(assertion, sizeof assertion,
                 ") == %zu, \"the type has another size on the device than the %zu bytes given\");\n", type->size,
                 type->size);
        add(t, assertion);
        add(t, "static_assert(alignof(");
        add(t, type->name);
        snprintf(assertion, sizeof assertion,
                 ") == %zu, \"the type has another alignment on the device than the %zu bytes given\");\n", type->align,
                 type->align);
        add(t, assertion);
    }
}

static void add_typedef(struct text *t, const trine_type *type, const char *name)
{
    if (!type->name) return;
    add(t, "typedef ");
    add(t, type->name);
    add(t, " trine_");
    add(t, name);
    add(t, ";\n");
}

/** What is the same in all functions around expressions. */
#define FUNCTION "static __device__ __forceinline__ "
#define IN "const trine_data &trine_in"

static void add_functions(struct text *t, const trine_semiring_source *s)
{
    const char *args = s->args.name ? "    [[maybe_unused]] const trine_args &args = trine_in.args;\n" : "";
    add(t, FUNCTION "trine_product trine_multiply(" IN ", [[maybe_unused]] const trine_entry &trine_of");
    add(t, s->needs_row ? ", const int64_t row)\n{\n" : ")\n{\n");
    add(t, args);
    add(t, "    [[maybe_unused]] const int64_t nz = trine_of.nz;\n"
           "    [[maybe_unused]] const int col = trine_of.col;\n");
    if (s->value.name)
        add(t, "    [[maybe_unused]] const trine_value *const values = trine_in.values;\n"
               "    [[maybe_unused]] const trine_value &a = trine_of.a;\n");
    if (s->vector.name)
        add(t, "    [[maybe_unused]] const trine_vector *const vector = trine_in.vector;\n"
               "    [[maybe_unused]] const trine_vector &x = vector[col];\n");
    add(t, "    return");
    add_expression(t, "multiply", s->multiply, "");

    add(t, FUNCTION "trine_accumulator trine_lift([[maybe_unused]] " IN ", const trine_product &p)\n{\n");
    add(t, args);
    add(t, "    return");
    add_expression(t, "lift", s->lift, "static_cast<trine_accumulator>(p)");

    add(t, FUNCTION "trine_accumulator trine_add([[maybe_unused]] " IN
                    ", const trine_accumulator &acc, const trine_accumulator &p)\n{\n");
    add(t, args);
    add(t, "    return");
    add_expression(t, "add", s->add, "");

    add(t, FUNCTION "trine_accumulator trine_identity([[maybe_unused]] " IN ")\n{\n");
    add(t, args);
    add(t, "    return");
    add_expression(t, "identity", s->identity, "trine_accumulator{}");

    add(t, FUNCTION "trine_result trine_project([[maybe_unused]] " IN ", const trine_accumulator &acc)\n{\n");
    add(t, args);
    add(t, "    return");
    add_expression(t, "project", s->project, "static_cast<trine_result>(acc)");

    add(t, FUNCTION "trine_output trine_store([[maybe_unused]] " IN ", [[maybe_unused]] const int64_t row, "
                    "const trine_result &z, [[maybe_unused]] const bool empty)\n{\n");
    add(t, args);
    if (s->reads_y) add(t, "    const trine_output &y = trine_in.output[row];\n");
    add(t, "    return");
    add_expression(t, "store", s->store, "static_cast<trine_output>(z)");
}

/** What rows.cuh asks for besides. Values are copied where they are short; with an index, its numbers are. */
static void add_rows(struct text *t, const trine_semiring_source *s)
{
    const bool copies = s->value.name && s->value.size <= MOST_STAGED_BYTES && s->value.align <= MOST_STAGED_BYTES;
    add(t, "    using stored = typename trine_stored<POSITION_BITS>::type;\n"
           "    using operand = trine_product;\n"
           "    static constexpr bool OPAQUE = true, COMMUTES = ");
    add(t, s->commutes ? "true" : "false");
    add(t, ", STAGED = POSITION_BITS != 0");
    add(t, copies ? " || true;\n" : ";\n");
    add(t,
        "    __device__ __forceinline__ const stored *first_stored() const\n"
        "    {\n"
        "        return (const stored *)(POSITION_BITS ? data.positions : data.values);\n"
        "    }\n"
        "    __device__ __forceinline__ const int *first_column() const { return data.columns; }\n"
        "    __device__ __forceinline__ operand fetch([[maybe_unused]] const stored *s, [[maybe_unused]] int k, int col, "
        "long long nz, long long row) const\n"
        "    {\n"
        "        if constexpr (POSITION_BITS != 0) nz = s[k];\n");
    if (s->value.name)
        add(t, "        if constexpr (POSITION_BITS != 0) return multiply(entry{data.values[nz], nz, col}, nz, row);\n"
               "        else return multiply(entry{s[k], nz, col}, nz, row);\n");
    else add(t, "        return multiply(entry{nz, col}, nz, row);\n");
    add(t, "    }\n"
           "    __device__ __forceinline__ product combine(const stored *, int, const operand &p) const { return p; }\n"
           "    struct before {};\n"
           "    __device__ __forceinline__ before look(long long, int) const { return {}; }\n"
           "    __device__ __forceinline__ void store(long long first, int r, result z, bool empty, before) const\n"
           "    {\n"
           "        store(first, r, z, empty);\n"
           "    }\n");
}

/** The members in the order of semiring_pack_operator. */
static void add_operator(struct text *t, const trine_semiring_source *s)
{
    add(t, "struct trine_data {\n    const int *columns;\n    const void *positions;\n");
    add(t, s->value.name ? "    const trine_value *values;\n" : "    const void *values;\n");
    add(t, s->vector.name ? "    const trine_vector *vector;\n" : "    const void *vector;\n");
    add(t, "    trine_output *output;\n");
    if (s->args.name) add(t, "    trine_args args;\n");
    add(t, "};\n");
    add(t, "struct trine_entry {\n");
    if (s->value.name) add(t, "    trine_value a;\n");
    add(t, "    long long nz;\n    int col;\n};\n");
    add_functions(t, s);
    add(t, "constexpr int trine_step_by_rows = sizeof(trine_product) <= 16 ? 5 : 2;\n"
           "template <int POSITION_BITS> struct trine_stored { typedef long long type; };\n"
           "template <> struct trine_stored<32> { typedef int type; };\n"
           "template <> struct trine_stored<0> { typedef ");
    add(t, s->value.name ? "trine_value type; };\n" : "char type; };\n");
    add(t, "template <int POSITION_BITS> struct trine_operator {\n"
           "    using entry = trine_entry;\n"
           "    using product = trine_product;\n"
           "    using accumulator = trine_accumulator;\n"
           "    using result = trine_result;\n"
           "    static constexpr int THREADS = sizeof(trine_product) + sizeof(trine_accumulator) <= 8    ? 1280\n"
           "                                   : sizeof(trine_product) + sizeof(trine_accumulator) <= 16 ? 1152\n"
           "                                                                                             : 1024;\n"
           "    static constexpr bool HAS_ATOMIC = false, FUSED = false, NEEDS_ROW = ");
    add(t, s->needs_row ? "true;\n" : "false;\n");
    add(t, "    trine_data data;\n"
           "    __device__ __forceinline__ entry load(long long k) const\n"
           "    {\n"
           "        long long nz = k;\n"
           "        if (POSITION_BITS == 32) nz = trine_stream((const int *)data.positions + k);\n"
           "        if (POSITION_BITS == 64) nz = trine_stream((const long long *)data.positions + k);\n");
    add(t, s->value.name
               ? "        return {trine_stream(data.values + nz), nz, trine_stream(data.columns + k)};\n    }\n"
               : "        return {nz, trine_stream(data.columns + k)};\n    }\n");
    add(t, "    __device__ __forceinline__ product multiply(entry e, long long, [[maybe_unused]] long long row) const\n"
           "    {\n");
    add(t,
        s->needs_row ? "        return trine_multiply(data, e, row);\n" : "        return trine_multiply(data, e);\n");
    add(t, "    }\n"
           "    __device__ __forceinline__ accumulator lift(product p) const { return trine_lift(data, p); }\n"
           "    __device__ __forceinline__ accumulator add(accumulator before, accumulator p) const\n"
           "    {\n"
           "        return trine_add(data, before, p);\n"
           "    }\n"
           "    __device__ __forceinline__ accumulator identity() const { return trine_identity(data); }\n"
           "    __device__ __forceinline__ result project(accumulator acc) const { return trine_project(data, acc); }\n"
           "    __device__ __forceinline__ void store(long long first, int r, result z, bool empty) const\n"
           "    {\n"
           "        const long long row = first + r;\n"
           "        data.output[row] = trine_store(data, row, z, empty);\n"
           "    }\n");
    add_rows(t, s);
    add(t, "};\n");
}

static void add_program(struct text *t, const trine_semiring_source *s)
{
    static const char *const names[SEMIRING_TYPES] = {"value",  "vector", "product", "accumulator",
                                                      "result", "output", "args"};
    add(t, spmv_prelude_text);
    add(t, "namespace trine {");
    add_section(t, "kernels", "", spmv_kernels_text);
    add(t, "\n}\n");
    add_types(t, s);
    if (s->preamble) add_section(t, "preamble", "", s->preamble);
    add_section(t, "semiring", "", "");
    for (int k = 0; k < SEMIRING_TYPES; k++) add_typedef(t, semiring_type(s, k), names[k]);
    add_operator(t, s);
}

trine_status semiring_write_program(trine_context ctx, const trine_semiring_source *source, char **program)
{
    struct text t = {NULL, 0};
    add_program(&t, source);
    t.begin = *program = trine_host_alloc(ctx, (int64_t)t.length + 1, 1);
    if (!t.begin) return TRINE_ERR_MEMORY;
    t.length = 0;
    add_program(&t, source);
    return TRINE_SUCCESS;
}

/* --------------------------------------------------------------- instances */

struct semiring_instance semiring_default_instance(void)
{
    return (struct semiring_instance){.block = SPMV_CUDA_BLOCK,
                                      .tile = SPMV_CUDA_TILE,
                                      .reduction = SPMV_CUDA_REDUCTION,
                                      .kernels = SEMIRING_REDUCE | SEMIRING_ROWS};
}

void semiring_name_choice(const char *program, char *name)
{
    uint64_t hash = 0xCBF29CE484222325; /* FNV-1a */
    for (; *program; program++) hash = (hash ^ (unsigned char)*program) * 0x100000001B3;
    snprintf(name, TRINE_CHOICE_BYTES, "semiring %016llx", (unsigned long long)hash);
}

void semiring_take_choice(trine_context ctx, const char *name, struct semiring_instance *instance)
{
    char choice[TRINE_CHOICE_BYTES];
    trine_spmv_options options = {0};
    if (!trine_choice_get(ctx, name, choice) || !spmv_read_choice(choice, &options)) return;
    if (options.tune.reduction >= TRINE_REDUCTION_ROWS) return; /* no choice of a semiring's */
    instance->block = options.tune.block;
    instance->tile = options.tune.tile;
    instance->reduction = options.tune.reduction;
}

/** Shared memory of a block, at most (segmented_memory of segmented.cuh). */
static size_t shared_bytes(const trine_semiring_source *s, const struct semiring_instance *i)
{
    const size_t threads = (size_t)i->block, entries = threads * (size_t)(i->tile | 1);
    const size_t slot = s->product.size > s->result.size ? s->product.size : s->result.size;
    const size_t sum = s->accumulator.size + (s->accumulator.align > 2 ? s->accumulator.align : 2);
    const size_t of_rows = 4 * (4 * threads + 1) + (s->needs_row ? 4 * (threads + entries + 1) : 0);
    const size_t of_sums = (i->reduction <= TRINE_REDUCTION_RAKING_MEMOIZE ? threads : 1) * sum;
    return entries * slot + 4 * threads + of_rows + of_sums + threads / 32 * (2 * sum + 4) + 2 * sum + 256;
}

void semiring_fit_instance(const trine_semiring_source *source, struct semiring_instance *i)
{
    const size_t most = 48 * 1024; /* that a block has without asking */
    while (i->tile > 1 && shared_bytes(source, i) > most) i->tile /= 2;
    while (i->block > 64 && shared_bytes(source, i) > most) i->block /= 2;
}

trine_status semiring_get_kernels(trine_context ctx, const char *program, int capability, bool portable, bool anew,
                                  double seconds, const struct semiring_instance *i, struct trine_kernels **kernels)
{
    char expression[SEMIRING_KERNELS][128];
    const char *expressions[SEMIRING_KERNELS];
    snprintf(expression[0], sizeof expression[0], "trine::reduce_rows<trine_operator<%d>, %d, %d, %d>",
             i->position_bits, i->block, i->tile, i->reduction);
    snprintf(expression[1], sizeof expression[1], "trine::join_shared_rows<trine_operator<%d>, %d>", i->position_bits,
             i->block);
    snprintf(expression[2], sizeof expression[2],
             "trine::reduce_whole_rows<trine_operator<%d>, %d, %d, 0, trine_step_by_rows, false>", i->position_bits,
             SPMV_CUDA_ROWS_BLOCK, SPMV_CUDA_ROWS_TILE);
    int count = 0;
    for (int k = 0; k < SEMIRING_KERNELS; k++)
        if (i->kernels >> k & 1) expressions[count++] = expression[k];
    const struct trine_program p = {.title = "the semiring",
                                    .source = program,
                                    .capability = capability,
                                    .portable = portable,
                                    .count = count,
                                    .expressions = expressions,
                                    .seconds = seconds};
    return trine_kernels_get(ctx, &p, anew, kernels);
}

void semiring_pack_operator(const trine_semiring_source *source, const struct spmv_side *side, const void *values,
                            const void *x, void *y, const void *args, char *operator_bytes)
{
    const void *const pointers[] = {side->columns, side->positions, values, x, y};
    memcpy(operator_bytes, pointers, sizeof pointers);
    if (!source->args.name) return;
    const size_t align = source->args.align, at = (sizeof pointers + align - 1) / align * align;
    memcpy(operator_bytes + at, args, source->args.size);
}

trine_status trine_semiring_compile(trine_context ctx, const trine_semiring_source *source, int position_bits,
                                    int capability, double seconds)
{
    REQUIRE(ctx && source, "ctx or source is NULL");
    trine_status status = TRINE_SUCCESS;
    trine_semiring_source checked = *source;
    char *program = NULL;
    struct trine_kernels *kernels = NULL;
    struct semiring_instance instance = semiring_default_instance();
    instance.position_bits = position_bits;
    TRY(semiring_check(&checked, true));
    semiring_fit_instance(&checked, &instance);
    TRY(semiring_write_program(ctx, &checked, &program));
    TRY(semiring_get_kernels(ctx, program, capability, false, false, seconds, &instance, &kernels));
done:
    trine_kernels_drop(ctx, kernels);
    trine_free(ctx, TRINE_HOST, program);
    return status;
}
