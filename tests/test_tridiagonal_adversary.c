/* Tridiagonal systems outside the thesis's tables that are well conditioned and break partitioned solvers: zeros on
 * the diagonal that make the inner block of a partition singular, mixed pivots, cyclic systems of odd order.
 * ../shared/numerics/adversary.py defines the families. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"

#define LAPACK(name, type)                                                                                            \
    void name##gtsv_(const int *n, const int *nrhs, type *dl, type *d, type *du, type *b, const int *ldb, int *info); \
    void name##gbsv_(const int *n, const int *kl, const int *ku, const int *nrhs, type *ab, const int *ldab,          \
                     int *ipiv, type *b, const int *ldb, int *info);
LAPACK(s, float)
LAPACK(d, double)
LAPACK(c, float complex)
LAPACK(z, double complex)

/** Bands as kernels take them: a[0] and c[n-1] are corners, zero where the system is not cyclic. */
typedef struct {
    int64_t n;
    bool cyclic;
    double complex *a, *b, *c, *x; /* x: the solution */
    double in_double;              /* LAPACK's error in dtype D */
} family_system;

static family_system new_family(int64_t n, bool cyclic)
{
    family_system f = {.n = n, .cyclic = cyclic};
    double complex **arrays[] = {&f.a, &f.b, &f.c, &f.x};
    for (int k = 0; k < 4; k++) *arrays[k] = calloc((size_t)n, sizeof(double complex));
    return f;
}
static void free_family(family_system *f) { free(f->a), free(f->b), free(f->c), free(f->x); }

static double symmetric(uint64_t seed, uint64_t counter) { return 2 * test_uniform(seed, counter) - 1; }

/** Off-diagonals 1, diagonal 1, 0, 0, 1, 0, 0, ... (kind 0); 0 or 1 at random (kind 1). */
static void make_zero_one(family_system *f, int kind, uint64_t seed)
{
    for (int64_t i = 0; i < f->n; i++) {
        f->a[i] = i > 0, f->c[i] = i < f->n - 1;
        f->b[i] = kind == 0 ? i % 3 == 0 : test_uniform(1000 * 77 + seed, (uint64_t)i) < 0.5;
    }
}
/** 1 x 1 pivots (1) and 2 x 2 pivots [0 1; 1 0] in random order, coupled by coupling U(-1,1); exact: their diagonals
 *  are zero. */
static void make_mixed(family_system *f, double coupling, bool exact, uint64_t seed)
{
    const uint64_t n = (uint64_t)f->n;
    for (uint64_t i = 0; i < n; i++)
        f->a[i] = coupling * symmetric(5000 + seed, i), f->b[i] = coupling * symmetric(5000 + seed, n + i),
        f->c[i] = coupling * symmetric(5000 + seed, 2 * n + i);
    for (uint64_t i = 0; i < n; i++) {
        if (i + 1 < n && test_uniform(5000 + seed, 3 * n + i) < 0.5) {
            if (exact) f->b[i] = f->b[i + 1] = 0;
            f->c[i] = f->a[i + 1] = 1;
            i++;
        } else f->b[i] = 1;
    }
    f->a[0] = f->c[n - 1] = 0;
}
/** Rows and columns times random phases, which change no condition number. */
static void turn(family_system *f, uint64_t seed)
{
    const int64_t n = f->n;
    double complex *column = malloc((size_t)n * sizeof *column);
    for (int64_t i = 0; i < n; i++) column[i] = cexp(2 * M_PI * test_uniform(seed + 1, (uint64_t)i) * _Complex_I);
    for (int64_t i = 0; i < n; i++) {
        const double complex row = cexp(2 * M_PI * test_uniform(seed, (uint64_t)i) * _Complex_I);
        f->a[i] *= row * column[i > 0 ? i - 1 : n - 1];
        f->b[i] *= row * column[i];
        f->c[i] *= row * column[i < n - 1 ? i + 1 : 0];
    }
    free(column);
}

/* ------------------------------------------------------------------ solving */

static void *in_precision(trine_dtype t, int64_t n, const double complex *v)
{
    void *out = calloc((size_t)n, trine_dtype_size(t));
    for (int64_t i = 0; i < n; i++) put(t, out, i, v[i]);
    return out;
}

/** D = A x, A and x as they are in precision t. */
static void *right_hand_side(const family_system *f, trine_dtype t)
{
    const int64_t n = f->n;
    void *a = in_precision(t, n, f->a), *b = in_precision(t, n, f->b), *c = in_precision(t, n, f->c),
         *x = in_precision(t, n, f->x), *d = calloc((size_t)n, trine_dtype_size(t));
    for (int64_t i = 0; i < n; i++) {
        const int64_t before = i > 0 ? i - 1 : n - 1, after = i < n - 1 ? i + 1 : 0;
        if (is_complex(t)) {
            wide sum = get(t, b, i) * get(t, x, i);
            if (i > 0 || f->cyclic) sum += get(t, a, i) * get(t, x, before);
            if (i < n - 1 || f->cyclic) sum += get(t, c, i) * get(t, x, after);
            put(t, d, i, sum);
        } else {
            long double sum = creall(get(t, b, i)) * creall(get(t, x, i));
            if (i > 0 || f->cyclic) sum += creall(get(t, a, i)) * creall(get(t, x, before));
            if (i < n - 1 || f->cyclic) sum += creall(get(t, c, i)) * creall(get(t, x, after));
            put(t, d, i, sum);
        }
    }
    free(a), free(b), free(c), free(x);
    return d;
}

static double forward_error(const family_system *f, trine_dtype t, const void *x)
{
    long double error = 0, size = 0;
    void *exact = in_precision(t, f->n, f->x);
    for (int64_t i = 0; i < f->n; i++) {
        const wide e = get(t, x, i) - get(t, exact, i), s = get(t, exact, i);
        error += creall(e) * creall(e) + cimagl(e) * cimagl(e), size += creall(s) * creall(s) + cimagl(s) * cimagl(s);
    }
    free(exact);
    return isfinite(error) ? (double)sqrtl(error / size) : INFINITY;
}

/** The largest |d - A x|_i / (|A| |x| + |d|)_i. */
static double backward_error(const family_system *f, trine_dtype t, const void *y)
{
    const int64_t n = f->n;
    void *a = in_precision(t, n, f->a), *b = in_precision(t, n, f->b), *c = in_precision(t, n, f->c),
         *d = right_hand_side(f, t);
    long double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const wide terms[] = {get(t, b, i) * get(t, y, i),
                              i > 0 || f->cyclic ? get(t, a, i) * get(t, y, (i + n - 1) % n) : 0,
                              i < n - 1 || f->cyclic ? get(t, c, i) * get(t, y, (i + 1) % n) : 0};
        wide residual = get(t, d, i);
        long double size = absolute(residual);
        for (int k = 0; k < 3; k++) residual -= terms[k], size += absolute(terms[k]);
        if (!(absolute(residual) <= worst * size)) worst = absolute(residual) / size;
    }
    free(a), free(b), free(c), free(d);
    return (double)worst;
}

/** Where row i stands in a cyclic system that is folded at `first`: first, first - 1, first + 1, first - 2, ... */
static int64_t folded_row(int64_t n, int64_t first, int64_t i)
{
    const int64_t k = (i - first + n) % n;
    return k < (n + 1) / 2 ? 2 * k : 2 * (n - 1 - k) + 1;
}
/** LAPACK's error; infinite where it finds the system singular. A cyclic system, folded at row `first`, has two bands
 *  on either side. */
static double lapack_error(const family_system *f, trine_dtype t, int64_t first)
{
    const int n = (int)f->n, one = 1, two = 2, ld = 7;
    int info = 0;
    void *d = right_hand_side(f, t);
    if (!f->cyclic) {
        void *lower = in_precision(t, n - 1, f->a + 1), *diag = in_precision(t, n, f->b),
             *upper = in_precision(t, n, f->c);
        switch (t) {
        case TRINE_S: sgtsv_(&n, &one, lower, diag, upper, d, &n, &info); break;
        case TRINE_D: dgtsv_(&n, &one, lower, diag, upper, d, &n, &info); break;
        case TRINE_C: cgtsv_(&n, &one, lower, diag, upper, d, &n, &info); break;
        default: zgtsv_(&n, &one, lower, diag, upper, d, &n, &info);
        }
        free(lower), free(diag), free(upper);
    } else {
        void *ab = calloc((size_t)n * 7, trine_dtype_size(t)), *folded = calloc((size_t)n, trine_dtype_size(t));
        int *pivots = calloc((size_t)n, sizeof *pivots);
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = folded_row(n, first, i);
            const double complex *bands[] = {f->a, f->b, f->c};
            for (int k = -1; k <= 1; k++) {
                const int64_t column = folded_row(n, first, (i + k + n) % n);
                put(t, ab, column * 7 + 4 + row - column, get(t, ab, column * 7 + 4 + row - column) + bands[k + 1][i]);
            }
            put(t, folded, row, get(t, d, i));
        }
        switch (t) {
        case TRINE_S: sgbsv_(&n, &two, &two, &one, ab, &ld, pivots, folded, &n, &info); break;
        case TRINE_D: dgbsv_(&n, &two, &two, &one, ab, &ld, pivots, folded, &n, &info); break;
        case TRINE_C: cgbsv_(&n, &two, &two, &one, ab, &ld, pivots, folded, &n, &info); break;
        default: zgbsv_(&n, &two, &two, &one, ab, &ld, pivots, folded, &n, &info);
        }
        for (int64_t i = 0; i < n; i++) put(t, d, i, get(t, folded, folded_row(n, first, i)));
        free(ab), free(folded), free(pivots);
    }
    const double error = info ? INFINITY : forward_error(f, t, d);
    free(d);
    return error;
}

/** Device memory that stays from one system to the next, whose solve takes less time than an allocation. */
static struct {
    void *memory;
    size_t bytes;
} arena;
static void *reserve(trine_context ctx, size_t bytes)
{
    if (bytes > arena.bytes) {
        if (arena.memory) test_release(ctx, arena.memory);
        OK(trine_alloc(ctx, TRINE_DEVICE, bytes, &arena.memory));
        arena.bytes = bytes;
    }
    return arena.memory;
}
static void close_context(trine_context *ctx)
{
    if (arena.memory) test_release(*ctx, arena.memory);
    arena.memory = NULL, arena.bytes = 0;
    OK(trine_context_destroy(ctx));
}

/** trine's status on the device under test; *solution is for the caller to free. */
static trine_status solve_family(trine_context ctx, const family_system *f, trine_dtype t, void **solution)
{
    const size_t bytes = (size_t)f->n * trine_dtype_size(t), stride = (bytes + 255) / 256 * 256;
    const trine_gtsv_options options = {.cyclic = f->cyclic};
    void *host[] = {in_precision(t, f->n, f->a), in_precision(t, f->n, f->b), in_precision(t, f->n, f->c),
                    right_hand_side(f, t)};
    trine_status status;
    size_t work_bytes;
    if (test_on_gpu()) {
        OK(trine_gtsv_work_size(ctx, t, f->n, 1, &options, &work_bytes));
        char *device = reserve(ctx, 4 * stride + work_bytes), *staged = malloc(4 * stride), *x = device + 3 * stride;
        for (int k = 0; k < 4; k++) memcpy(staged + (size_t)k * stride, host[k], bytes);
        OK(trine_copy(ctx, device, TRINE_DEVICE, staged, TRINE_HOST, 3 * stride + bytes));
        status = trine_gtsv(ctx, t, f->n, 1, &options, device, device + stride, device + 2 * stride, x, f->n, x, f->n,
                            device + 4 * stride, work_bytes, NULL);
        test_from_device(ctx, host[3], x, bytes);
        free(staged);
    } else {
        OK(trine_gtsv_work_size(test_cpu(2), t, f->n, 1, &options, &work_bytes));
        void *work = malloc(work_bytes + 1);
        status = trine_gtsv(test_cpu(2), t, f->n, 1, &options, host[0], host[1], host[2], host[3], f->n, host[3], f->n,
                            work, work_bytes, NULL);
        free(work);
    }
    for (int k = 0; k < 3; k++) free(host[k]);
    *solution = host[3];
    return status;
}

/** What was found of one family and size. unlucky: the error is larger than the bar, but the solution is that of a
 *  system that differs by some rounding errors, so that LAPACK's error is smaller by chance than the condition lets
 *  expect. */
typedef struct {
    int taken, wrong, unlucky;
    double worst;
} outcome;

static const trine_dtype types[] = {TRINE_D, TRINE_S, TRINE_Z, TRINE_C};
enum { TYPES = 4, FIRST_COMPLEX = 2 };

/** Give the system a solution. Does LAPACK solve it in double (to 1e-10; cyclic: to 1e-4, a condition of some 1e12)? */
static bool is_taken(family_system *f, uint64_t seed)
{
    for (int64_t i = 0; i < f->n; i++) f->x[i] = 1 + test_uniform(900000 + seed, (uint64_t)i);
    f->in_double = lapack_error(f, TRINE_D, 0);
    return f->in_double <= (f->cyclic ? 1e-4 : 1e-10);
}
/** Is the error of an answer x at most 50 times LAPACK's, or rounding errors? Of a cyclic system LAPACK's is also that
 *  of another folding: one alone is small by luck, which differs from BLAS to BLAS. */
static void judge_answer(const family_system *f, trine_dtype t, uint64_t seed, trine_status status, const void *x,
                         outcome *o)
{
    const double eps = trine_dtype_size(t) == 4 || t == TRINE_C ? 0x1p-23 : 0x1p-52, error = forward_error(f, t, x);
    double lapack = t == TRINE_D ? f->in_double : lapack_error(f, t, 0);
    if (!(lapack <= 0.01)) return; /* no digit in this precision */
    o->taken++;
    if (f->cyclic && !(error <= 50 * lapack)) {
        const double other = lapack_error(f, t, f->n / 2);
        if (other <= 0.01 && other > lapack) lapack = other;
    }
    const double ratio = error / (lapack > eps ? lapack : eps), backward = ratio <= 50 ? 0 : backward_error(f, t, x);
    if (status == TRINE_SUCCESS && ratio > 50 && f->cyclic && backward <= 100 * eps) {
        o->unlucky++;
        return;
    }
    if (status != TRINE_SUCCESS || !(ratio <= 50)) {
        if (o->wrong++ == 0)
            print_error("n = %lld, dtype %d, seed %llu: %s, error %g, LAPACK's %g, backward error %.3g eps\n",
                        (long long)f->n, (int)t, (unsigned long long)seed, trine_status_string(status), error, lapack,
                        backward / eps);
    }
    if (!(ratio <= o->worst)) o->worst = ratio;
}
/** In every precision. */
static void judge(trine_context ctx, family_system *f, uint64_t seed, outcome o[TYPES])
{
    if (!is_taken(f, seed)) return;
    for (int k = 0; k < TYPES; k++) {
        void *x;
        if (k == FIRST_COMPLEX) turn(f, 70000 + seed);
        const trine_status status = solve_family(ctx, f, types[k], &x);
        judge_answer(f, types[k], seed, status, x, &o[k]);
        free(x);
    }
}
static int report(const char *name, int64_t n, outcome o[4])
{
    int wrong = 0;
    for (int k = 0; k < 4; k++) {
        if (o[k].unlucky > 1 + o[k].taken / 25) o[k].wrong += o[k].unlucky;
        wrong += o[k].wrong;
    }
    if (wrong || getenv("TRINE_TEST_VERBOSE"))
        print_message("%s, n = %lld: D %d of %d wrong, worst %.3g; S %d, %.3g; Z %d, %.3g; C %d, %.3g\n", name,
                      (long long)n, o[0].wrong, o[0].taken, o[0].worst, o[1].wrong, o[1].worst, o[2].wrong, o[2].worst,
                      o[3].wrong, o[3].worst);
    return wrong;
}

static const int64_t sizes[] = {5, 16, 100, 300, 1020, 4096, 100001};
static int seeds_of(int64_t n) { return test_is_reduced() ? 2 : n > 4096 ? 20 : 300; }

static void zeros_on_the_diagonal_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    trine_context ctx = test_context();
    int wrong = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 2; kind++) {
            if (!test_is_to_do()) continue;
            outcome o[4] = {0};
            for (int seed = 1; seed <= (kind ? seeds_of(sizes[s]) : 1); seed++) {
                family_system f = new_family(sizes[s], false);
                make_zero_one(&f, kind, (uint64_t)seed);
                judge(ctx, &f, (uint64_t)seed, o);
                free_family(&f);
            }
            wrong += report(kind ? "zero or one" : "period of three", sizes[s], o);
        }
    close_context(&ctx);
    assert_int_equal(wrong, 0);
}

static void mixed_pivots_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    static const double couplings[] = {1e-10, 1e-3, 0.1, 0.3};
    trine_context ctx = test_context();
    int wrong = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 8; kind++) {
            if (!test_is_to_do()) continue;
            outcome o[4] = {0};
            char name[64];
            for (int seed = 1; seed <= seeds_of(sizes[s]); seed++) {
                family_system f = new_family(sizes[s], false);
                make_mixed(&f, couplings[kind / 2], kind % 2 == 0, (uint64_t)(seed + 1000 * kind));
                judge(ctx, &f, (uint64_t)seed, o);
                free_family(&f);
            }
            snprintf(name, sizeof name, "mixed pivots, coupling %g%s", couplings[kind / 2],
                     kind % 2 ? ", diagonals not exactly zero" : "");
            wrong += report(name, sizes[s], o);
        }
    close_context(&ctx);
    assert_int_equal(wrong, 0);
}

enum { ONE_ZERO_ONE, ONE_TINY_ONE, RANDOM_ZERO, RANDOM_SMALL, RANDOM, CYCLIC_KINDS };
static void make_cyclic(family_system *f, int kind, uint64_t seed)
{
    const uint64_t n = (uint64_t)f->n;
    for (uint64_t i = 0; i < n; i++) {
        const bool random = kind >= RANDOM_ZERO;
        f->a[i] = random ? symmetric(6000 + seed, i) : 1, f->c[i] = random ? symmetric(6000 + seed, 2 * n + i) : 1;
        f->b[i] = kind == ONE_TINY_ONE   ? 1e-8
                  : kind == RANDOM_SMALL ? 1e-4 * symmetric(6000 + seed, n + i)
                  : kind == RANDOM       ? symmetric(6000 + seed, n + i)
                                         : 0;
    }
}

static void cyclic_systems_of_every_order_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    static const char *const names[] = {"cyclic 1, 0, 1", "cyclic 1, 1e-8, 1", "cyclic U, 0, U", "cyclic U, 1e-4 U, U",
                                        "cyclic U, U, U"};
    static const int64_t larger[] = {99, 102, 257, 1001, 4099, 1000001};
    trine_context ctx = test_context();
    int wrong = 0, taken = 0, unlucky = 0;
    for (int64_t k = 3; k < 34 + (int64_t)(sizeof larger / sizeof *larger); k++)
        for (int kind = 0; kind < CYCLIC_KINDS; kind++) {
            const int64_t n = k < 34 ? k : larger[k - 34];
            outcome o[4] = {0};
            if (!test_is_small(n) || !test_is_to_do()) continue;
            for (int seed = 1; seed <= (kind < RANDOM_ZERO || n > 100000 ? 1 : test_samples(100)); seed++) {
                family_system f = new_family(n, true);
                make_cyclic(&f, kind, (uint64_t)seed);
                judge(ctx, &f, (uint64_t)seed, o);
                free_family(&f);
            }
            wrong += report(names[kind], n, o);
            for (int p = 0; p < 4; p++) taken += o[p].taken, unlucky += o[p].unlucky;
        }
    close_context(&ctx);
    print_message("%d of %d beyond the bar, with a backward error of rounding errors\n", unlucky, taken);
    assert_int_equal(wrong, 0);
    assert_true(unlucky <= taken / 100);
}

/* ------------------------------------------------------------------ batches */

enum { MOST_SYSTEMS = 40, BATCH_KINDS = 5 };

/** Solve the systems together, by rows or interleaved; x: their solutions, one below the other. */
static trine_status solve_batch(trine_context ctx, const family_system *f, int systems, trine_dtype t, bool interleaved,
                                char *x)
{
    const int64_t n = f[0].n;
    const size_t size = trine_dtype_size(t), bytes = (size_t)n * (size_t)systems * size;
    const trine_gtsv_options options = {.cyclic = f[0].cyclic};
    const trine_strides strides = interleaved ? (trine_strides){systems, 1} : (trine_strides){1, n};
    char *host[4];
    void *work;
    size_t work_bytes = 0;
    trine_status status;
    for (int k = 0; k < 4; k++) host[k] = malloc(bytes);
    for (int s = 0; s < systems; s++) {
        void *rows[] = {in_precision(t, n, f[s].a), in_precision(t, n, f[s].b), in_precision(t, n, f[s].c),
                        right_hand_side(&f[s], t)};
        for (int k = 0; k < 4; k++) {
            for (int64_t i = 0; i < n; i++)
                memcpy(host[k] + (size_t)(i * strides.row + s * strides.system) * size,
                       (char *)rows[k] + (size_t)i * size, size);
            free(rows[k]);
        }
    }
    if (test_on_gpu()) {
        void *device[4];
        for (int k = 0; k < 4; k++) device[k] = test_to_device(ctx, host[k], bytes);
        OK(trine_gtsv_batch_work_size(ctx, t, n, systems, &options, &work_bytes));
        OK(trine_alloc(ctx, TRINE_DEVICE, work_bytes + 16, &work));
        status = trine_gtsv_batch(ctx, t, n, systems, &options, device[0], device[1], device[2], strides, device[3],
                                  device[3], strides, work, work_bytes, NULL);
        test_from_device(ctx, host[3], device[3], bytes);
        for (int k = 0; k < 4; k++) test_release(ctx, device[k]);
        test_release(ctx, work);
    } else {
        OK(trine_gtsv_batch_work_size(test_cpu(2), t, n, systems, &options, &work_bytes));
        work = malloc(work_bytes + 1);
        status = trine_gtsv_batch(test_cpu(2), t, n, systems, &options, host[0], host[1], host[2], strides, host[3],
                                  host[3], strides, work, work_bytes, NULL);
        free(work);
    }
    for (int s = 0; s < systems; s++)
        for (int64_t i = 0; i < n; i++)
            memcpy(x + (size_t)(s * n + i) * size, host[3] + (size_t)(i * strides.row + s * strides.system) * size,
                   size);
    for (int k = 0; k < 4; k++) free(host[k]);
    return status;
}

static bool make_member(family_system *f, int kind, uint64_t seed)
{
    switch (kind) {
    case 0: make_zero_one(f, 1, seed); break;
    case 1: make_mixed(f, 0.1, true, seed); break;
    case 2: make_mixed(f, 0.3, false, seed); break;
    case 3: make_cyclic(f, RANDOM_ZERO, seed); break;
    case 4: make_cyclic(f, RANDOM, seed); break;
    }
    return is_taken(f, seed) && f->in_double <= 1e-10;
}

static void batches_are_solved_as_well_as_by_lapack(void **state)
{
    (void)state;
    static const char *const names[] = {"batch: zero or one", "batch: mixed pivots",
                                        "batch: mixed pivots, not exactly zero", "batch: cyclic U, 0, U",
                                        "batch: cyclic U, U, U"};
    static const int64_t orders[] = {3, 4, 5, 9, 16, 33, 63, 64, 65, 100, 255, 300, 1020, 1021, 4096, 9000};
    trine_context ctx = test_context();
    int wrong = 0, taken = 0, unlucky = 0;
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        for (int kind = 0; kind < BATCH_KINDS; kind++) {
            const int64_t n = orders[k];
            const bool cyclic = kind >= 3;
            const int wanted = test_is_reduced() || n > 2000 ? 5 : MOST_SYSTEMS;
            outcome o[TYPES] = {0};
            family_system f[MOST_SYSTEMS];
            uint64_t seeds[MOST_SYSTEMS];
            int systems = 0;
            if (!test_is_small(n) || !test_is_to_do()) continue;
            for (uint64_t seed = 1; seed < 100 && systems < wanted; seed++) {
                f[systems] = new_family(n, cyclic), seeds[systems] = seed;
                if (make_member(&f[systems], kind, seed)) systems++;
                else free_family(&f[systems]);
            }
            if (!systems) continue; /* of long cyclic systems with zeros on the diagonal, none is well conditioned */
            for (int p = 0; p < TYPES; p++) {
                char *x = malloc((size_t)(systems * n) * trine_dtype_size(types[p]));
                if (p == FIRST_COMPLEX)
                    for (int s = 0; s < systems; s++) turn(&f[s], 70000 + seeds[s]);
                for (int interleaved = 0; interleaved < 2; interleaved++) {
                    const trine_status status = solve_batch(ctx, f, systems, types[p], interleaved, x);
                    for (int s = interleaved; s < systems; s += 2) {
                        const void *own = x + (size_t)(s * n) * trine_dtype_size(types[p]);
                        judge_answer(&f[s], types[p], seeds[s], status, own, &o[p]);
                    }
                }
                free(x);
            }
            for (int s = 0; s < systems; s++) free_family(&f[s]);
            wrong += report(names[kind], n, o);
            for (int p = 0; p < TYPES; p++) taken += o[p].taken, unlucky += o[p].unlucky;
        }
    close_context(&ctx);
    assert_int_equal(wrong, 0);
    assert_true(unlucky <= taken / 100);
}

/** On a CPU that is known when the solve returns. */
static void singular_systems_of_the_families_are_named(void **state)
{
    (void)state;
    static const trine_dtype real_types[] = {TRINE_S, TRINE_D};
    trine_context ctx = test_context();
    if (test_on_gpu()) skip();
    for (int k = 0; k < 2; k++)
        for (int64_t n = 4; n < 5000; n = n < 60 ? n + 1 : n * 3 + 1) {
            void *x;
            if (n % 9 == 4 || n % 9 == 6 || n % 9 == 8) { /* period of three */
                family_system f = new_family(n, false);
                make_zero_one(&f, 0, 1);
                if (solve_family(ctx, &f, real_types[k], &x) != TRINE_ERR_SINGULAR)
                    fail_msg("a period of three, n = %lld, dtype %d: not called singular", (long long)n,
                             (int)real_types[k]);
                free(x);
                free_family(&f);
            }
            if (n % 4 == 0) {
                family_system f = new_family(n, true);
                make_cyclic(&f, ONE_ZERO_ONE, 1);
                if (solve_family(ctx, &f, real_types[k], &x) != TRINE_ERR_SINGULAR)
                    fail_msg("cyclic 1, 0, 1, n = %lld, dtype %d: not called singular", (long long)n,
                             (int)real_types[k]);
                free(x);
                free_family(&f);
            }
        }
    close_context(&ctx);
}

/** A column of zeros has no pivot: the sentence names it, and of a batch the system too. */
static void zero_pivots_are_named(void **state)
{
    (void)state;
    static const int64_t orders[] = {1, 2, 3, 9, 17, 64, 65, 300, 1001};
    trine_context ctx = test_context();
    if (test_on_gpu()) skip();
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        for (int type = 0; type < TYPES; type++)
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                const int64_t n = orders[k], column = n / 3;
                enum { SYSTEMS = 21, SINGULAR = 18 };
                family_system f[SYSTEMS];
                char name[64];
                char *x = malloc((size_t)(SYSTEMS * n) * trine_dtype_size(types[type]));
                for (int s = 0; s < SYSTEMS; s++) {
                    f[s] = new_family(n, cyclic);
                    make_cyclic(&f[s], RANDOM, (uint64_t)s);
                    for (int64_t i = 0; i < n; i++) f[s].b[i] += 3, f[s].x[i] = 1;
                    if (!cyclic) f[s].a[0] = f[s].c[n - 1] = 0;
                }
                f[SINGULAR].b[column] = f[SINGULAR].c[(column + n - 1) % n] = f[SINGULAR].a[(column + 1) % n] = 0;
                snprintf(name, sizeof name, "the pivot in row %lld is exactly zero", (long long)column);
                void *alone;
                FAILS(TRINE_ERR_SINGULAR, name, solve_family(ctx, &f[SINGULAR], types[type], &alone));
                free(alone);
                for (int interleaved = 0; interleaved < 2; interleaved++) {
                    FAILS(TRINE_ERR_SINGULAR, "system 18 of 21 is singular",
                          solve_batch(ctx, f, SYSTEMS, types[type], interleaved, x));
                    FAILS(TRINE_ERR_SINGULAR, name, solve_batch(ctx, f, SYSTEMS, types[type], interleaved, x));
                }
                for (int s = 0; s < SYSTEMS; s++) { /* the others are solved */
                    if (s != SINGULAR)
                        assert_true(
                            forward_error(&f[s], types[type], x + (size_t)(s * n) * trine_dtype_size(types[type])) <
                            (type % 2 ? 1e-5 : 1e-14));
                    free_family(&f[s]);
                }
                free(x);
            }
    close_context(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_on_the_diagonal_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(mixed_pivots_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(cyclic_systems_of_every_order_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(batches_are_solved_as_well_as_by_lapack),
        cmocka_unit_test(singular_systems_of_the_families_are_named),
        cmocka_unit_test(zero_pivots_are_named),
    };
    return TEST_MAIN(tests);
}
