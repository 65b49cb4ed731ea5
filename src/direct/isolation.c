/* libtrine_direct defines the functions through which SuperLU asks for memory and gives up, and the one through which
 * CHOLMOD asks METIS. The dynamic linker finds these before those of the libraries, because libtrine_direct needs the
 * libraries: in a program that is linked with it and in one that opens it, also with RTLD_LOCAL. For calls that are not
 * trine's they do what the libraries' own do.
 *
 * Memory that cannot be had never reaches SuperLU as NULL, which it answers with exit() or a line on stderr: the
 * whole call is left by longjmp, and what it had taken is freed from a list. Nothing of trine's is on the stack in
 * between. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <superlu/slu_ddefs.h>
#if __has_include(<metis.h>)
#include <metis.h>
#define KNOWS_METIS
#endif

#include "direct/isolation.h"

/* A function in place of a library's. Weak, which the dynamic linker does not look at: where the library is an
 * archive, its own is taken instead of a clash of two. */
#define IN_PLACE_OF_THE_LIBRARYS TRINE_API __attribute__((weak))

typedef void (*function)(void);

/** The library's own function of this name, looked up once; fallback, which may be NULL, if there is none. */
static function find_next(function *known, const char *name, function fallback)
{
    function found = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (found) return found;
    *(void **)&found = dlsym(RTLD_NEXT, name);
    if (!found) found = fallback;
    __atomic_store_n(known, found, __ATOMIC_RELEASE);
    return found;
}

/* ------------------------------------------------------------------- SuperLU */

/** A call of SuperLU in flight, in this thread. */
struct call {
    superlu_memory *memory;
    jmp_buf out;
};
static _Thread_local struct call *in_flight;

static _Noreturn void leave(struct call *call, trine_status status)
{
    call->memory->failure = status;
    longjmp(call->out, 1);
}

/** Room for one block more in the list. */
static bool make_room(superlu_memory *m)
{
    if (m->count < m->room) return true;
    const int64_t room = 2 * m->room + 32;
    void **blocks = trine_host_alloc(m->ctx, room, sizeof *blocks);
    if (!blocks) return false;
    if (m->count) memcpy(blocks, m->blocks, (size_t)m->count * sizeof *blocks);
    trine_free(m->ctx, TRINE_HOST, m->blocks);
    m->blocks = blocks;
    m->room = room;
    return true;
}

IN_PLACE_OF_THE_LIBRARYS void *superlu_malloc(size_t size)
{
    static function own;
    struct call *call = in_flight;
    if (!call) return ((void *(*)(size_t))find_next(&own, "superlu_malloc", (function)malloc))(size);
    if (size > PTRDIFF_MAX) /* a count of entries beyond an int, as it comes from growing the factor */
        leave(call, trine_fail(TRINE_ERR_UNSUPPORTED, "SuperLU has no room for the factor in its 32-bit indices"));
    superlu_memory *m = call->memory;
    void *block = make_room(m) ? trine_host_alloc(m->ctx, size ? (int64_t)size : 1, 1) : NULL;
    if (!block) leave(call, trine_fail(TRINE_ERR_MEMORY, "no memory for SuperLU, which needs %zu bytes more", size));
    return m->blocks[m->count++] = block;
}

IN_PLACE_OF_THE_LIBRARYS void superlu_free(void *block)
{
    static function own;
    superlu_memory *m = in_flight ? in_flight->memory : NULL;
    for (int64_t k = m ? m->count : 0; k-- > 0;) { /* there are some 30 */
        if (m->blocks[k] != block) continue;
        m->blocks[k] = m->blocks[--m->count];
        trine_free(m->ctx, TRINE_HOST, block);
        return;
    }
    ((void (*)(void *))find_next(&own, "superlu_free", (function)free))(block);
}

IN_PLACE_OF_THE_LIBRARYS void superlu_abort_and_exit(char *message)
{
    static function own;
    if (in_flight) leave(in_flight, trine_fail(TRINE_ERR_UNSUPPORTED, "SuperLU gave up: %.200s", message));
    void (*exit_with)(char *) = (void (*)(char *))find_next(&own, "superlu_abort_and_exit", NULL);
    if (exit_with) exit_with(message);
    abort(); /* the caller is not trine, and was promised that this does not return */
}

trine_status superlu_run(superlu_memory *memory, void (*call)(void *user), void *user)
{
    struct call here = {.memory = memory};
    if (setjmp(here.out)) {
        in_flight = NULL;
        superlu_release(memory);
        return memory->failure;
    }
    in_flight = &here;
    call(user);
    in_flight = NULL;
    return TRINE_SUCCESS;
}

void superlu_release(superlu_memory *memory)
{
    for (int64_t k = 0; k < memory->count; k++) trine_free(memory->ctx, TRINE_HOST, memory->blocks[k]);
    trine_free(memory->ctx, TRINE_HOST, memory->blocks);
    memory->blocks = NULL;
    memory->count = memory->room = 0;
}

/** Something of SuperLU's that asks for memory. */
static void ask_for_memory(void *user) { *(int **)user = intMalloc(1); }

trine_status superlu_check(superlu_memory *memory)
{
    int *block = NULL;
    trine_status status = superlu_run(memory, ask_for_memory, &block);
    if (status) return status;
    const bool came = memory->count == 1;
    superlu_release(memory);
    if (came) return TRINE_SUCCESS;
    superlu_free(block);
    return trine_fail(
        TRINE_ERR_UNSUPPORTED,
        "SuperLU was loaded before libtrine_direct, and would end the program when memory ends: load libtrine_direct "
        "first, or ask for TRINE_DIRECT_LU_UMFPACK");
}

/* --------------------------------------------------------------------- METIS */

static _Thread_local bool metis_failed;

bool metis_has_failed(void)
{
    const bool failed = metis_failed;
    metis_failed = false;
    return failed;
}

#ifdef KNOWS_METIS
typedef int (*metis_fn)(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *);

static int no_metis(idx_t *n, idx_t *offsets, idx_t *neighbours, idx_t *weights, idx_t *options, idx_t *permutation,
                    idx_t *inverse)
{
    (void)n, (void)offsets, (void)neighbours, (void)weights, (void)options, (void)permutation, (void)inverse;
    return METIS_ERROR;
}

/** METIS's own, whose result CHOLMOD uses whether there is one or not: after a failure it is the order as given. */
IN_PLACE_OF_THE_LIBRARYS int METIS_NodeND(idx_t *n, idx_t *offsets, idx_t *neighbours, idx_t *weights, idx_t *options,
                                          idx_t *permutation, idx_t *inverse)
{
    static function own;
    const int result = ((metis_fn)find_next(&own, "METIS_NodeND", (function)no_metis))(n, offsets, neighbours, weights,
                                                                                       options, permutation, inverse);
    if (result == METIS_OK) return result;
    metis_failed = true;
    for (idx_t i = 0; i < *n; i++) permutation[i] = inverse[i] = i;
    return result;
}
#endif

/* ------------------------------------------------------------------ OpenBLAS */

/** OpenBLAS maps a buffer in its first call, keeps it, and tries without end where there is no room for it. So that
 *  call is made here, after a look whether there is. (Each of its own threads takes one more, later.) */
trine_status blas_prepare(void)
{
    static const size_t buffer = (size_t)136 << 20;
    static int prepared; /* atomic */
    if (__atomic_load_n(&prepared, __ATOMIC_ACQUIRE)) return TRINE_SUCCESS;
    void (*solve)(const char *, const char *, const char *, const int *, const double *, const int *, double *,
                  const int *);
    *(void **)&solve = dlsym(RTLD_NEXT, "dtrsv_");
    if (solve && dlsym(RTLD_NEXT, "openblas_get_config")) {
        static const int one = 1;
        static const double unit = 1;
        double x = 1;
        void *room = malloc(buffer);
        if (!room)
            return trine_fail(TRINE_ERR_MEMORY, "there is no memory for OpenBLAS, which needs a buffer of 128 MiB");
        free(room);
        solve("L", "N", "N", &one, &unit, &one, &x, &one);
    }
    __atomic_store_n(&prepared, 1, __ATOMIC_RELEASE);
    return TRINE_SUCCESS;
}
