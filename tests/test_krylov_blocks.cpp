// The kernels of src/krylov/cuda/program.cuh run by an emulator of blocks, where there is no GPU: whole solves with the
// programs and the steps of a GPU, beside those of the CPU.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "emulator/cuda_block.h"
#include "krylov/cuda/arnoldi.cuh"
#include "krylov/cuda/conjugate.cuh"
#include "krylov/cuda/gram_schmidt.cuh"
#include "krylov/cuda/small_system.cuh"

#include <trine/spmv.h>

namespace {

#define CHECK(condition)                                                             \
    do                                                                               \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                 \
        }                                                                            \
    while (0)
#define OK(call) CHECK((call) == TRINE_SUCCESS)

/* -------------------------------------------------------------- a GPU's backend */

template <class F> void for_dtype(trine_dtype t, F f)
{
    if (t == TRINE_S) f(float());
    else if (t == TRINE_D) f(double());
    else if (t == TRINE_C) f(complex_of<float>());
    else f(complex_of<double>());
}

int launches, several, tiles_of_a_chunk = 1;

/** Several passes are one launch where a column has one block, which waits for no other. */
trine_status run(struct krylov_work *w, const krylov_program *programs, int count)
{
    program_arguments a = arguments_of(w);
    a.chunk_rows = (int64_t)tiles_of_a_chunk * TILE;
    a.chunks = (int)((a.n + a.chunk_rows - 1) / a.chunk_rows);
    const auto launch = [&] {
        launches++;
        for_dtype(programs->dtype, [&](auto number) {
            using T = decltype(number);
            emulator::launch((int)w->nrhs * a.chunks, THREADS, [&a] { run_program<T>(a); });
        });
    };
    if (count > 1 && a.chunks == 1 && add_passes(&a, programs, count)) {
        several++;
        launch();
        return TRINE_SUCCESS;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < programs[i].count; launch()) {
            a.passes = 0;
            k = add_pass(&a, &programs[i], k);
        }
    return TRINE_SUCCESS;
}

/** Phases of a cooperative launch, where one block has all items, or one after another. */
bool together;
int orthogonalizations;
template <typename T, int NV> void orthogonalize_by(basis_arguments a, int64_t nrhs)
{
    set_items<T, NV>(&a, nrhs);
    const bool as_one = together && a.items <= MOST_ITEMS;
    for (int phase = as_one ? NORMALIZE : PROJECT; phase <= NORMALIZE; phase++) {
        a.first = as_one ? PROJECT : phase, a.last = phase;
        /* one block with all items, or, where blocks of a column have no others to wait for, one with each */
        const int blocks = as_one && a.chunks > 1 ? 1 : (int)a.items;
        emulator::launch(blocks, shape<T, NV>::THREADS, [&a] { orthogonalize<T, NV>(a); });
    }
    orthogonalizations++;
}
trine_status orthogonalize_all(struct krylov_work *w, int j, void *z, bool *done)
{
    const int vectors = kernel_vectors(w->plan->inner, j + 1);
    *done = vectors > 0;
    for_dtype(w->plan->inner, [&](auto number) {
        using T = decltype(number);
        const basis_arguments a = basis_of(w, j, z);
        if (vectors == 4) orthogonalize_by<T, 4>(a, w->nrhs);
        if (vectors == 8) orthogonalize_by<T, 8>(a, w->nrhs);
        if (vectors == 12) orthogonalize_by<T, 12>(a, w->nrhs);
        if (vectors == 16) orthogonalize_by<T, 16>(a, w->nrhs);
        if (vectors == 20) orthogonalize_by<T, 20>(a, w->nrhs);
        if constexpr (sizeof(T) < 16)
            if (vectors == 32) orthogonalize_by<T, 32>(a, w->nrhs);
    });
    return TRINE_SUCCESS;
}

/** Steps of CG, of which one block has all rows; none where A is not given as rows. */
struct spmv_rows rows_of_A;
size_t bytes_for_rows = CONJUGATE_SHARED;
int conjugates;
trine_status conjugate_all(struct krylov_work *w, bool *done)
{
    *done = rows_of_A.n > 0 && w->nrhs <= CONJUGATE_COLUMNS;
    if (*done)
        for_dtype(w->plan->inner, [&](auto number) {
            using T = decltype(number);
            conjugate_arguments a = conjugate_of(w, &rows_of_A, w->records ? 3 : 1, bytes_for_rows);
            a.chunk_rows = (a.n + 31) / 32 * 32;
            a.A.room = room_of_rows(sizeof(T), bytes_for_rows, a.chunk_rows, &rows_of_A);
            if (a.n % 2) emulator::launch(1, CONJUGATE_THREADS, [&a] { conjugate_steps<T, 2>(a); });
            else emulator::launch(1, CONJUGATE_THREADS, [&a] { conjugate_steps<T, 4>(a); });
            CHECK(a.met->arrived == 0 && a.met->left == 0);
            w->is_fresh = false;
            conjugates++;
        });
    return TRINE_SUCCESS;
}

/** Steps of GMRES by one block; of a cycle, as many as a whole one has where no step is looked at. */
int arnoldis, cycles;
trine_status arnoldi_all(struct krylov_work *w, int j, int steps, const void *x, void *z, bool *done)
{
    *done = rows_of_A.n > 0 && w->nrhs == 1 && w->plan->parameters.restart <= ARNOLDI_MOST;
    if (*done)
        for_dtype(w->plan->inner, [&](auto number) {
            using T = decltype(number);
            arnoldi_arguments a =
                arnoldi_of(w, &rows_of_A, j, steps ? steps : w->plan->parameters.restart - j, x, z, bytes_for_rows);
            a.chunk_rows = (a.n + 31) / 32 * 32;
            a.A.room = room_of_rows(sizeof(T), bytes_for_rows, a.chunk_rows, &rows_of_A);
            CHECK(a.n <= 4 * ARNOLDI_ROWS);
            if (a.n <= 2 * ARNOLDI_ROWS) emulator::launch(1, ARNOLDI_THREADS, [&a] { arnoldi_steps<T, 2>(a); });
            else emulator::launch(1, ARNOLDI_THREADS, [&a] { arnoldi_steps<T, 4>(a); });
            CHECK(a.met->arrived == 0 && a.met->left == 0);
            arnoldis++;
            cycles += !steps;
        });
    return TRINE_SUCCESS;
}

trine_status step(struct krylov_work *w, krylov_step which, unsigned flags, int j)
{
    if (which == KRYLOV_GMRES_SOLVE || which == KRYLOV_GMRES_END) {
        const bool ends_cycle = which == KRYLOV_GMRES_END;
        emulator::launch((int)w->nrhs, SMALL_THREADS,
                         [&] { solve_small_systems(w->own_columns, flags, ends_cycle, w->plan->parameters); });
        return TRINE_SUCCESS;
    }
    for (int64_t i = 0; i < w->nrhs; i++)
        if ((w->own_columns[i].flags & flags) == flags) take_step(which, &w->own_columns[i], &w->plan->parameters, j);
    return TRINE_SUCCESS;
}

trine_status find_rows(struct krylov_work *w, const void *x)
{
    for_dtype(w->plan->base.dtype, [&](auto number) {
        using T = decltype(number);
        emulator::launch((int)w->nrhs, THREADS,
                         [&] { find_row<T>(w->own_columns, (const T *)x, w->plan->base.n, w->stride, {}); });
    });
    return TRINE_SUCCESS;
}

/** The host has copies of the columns, as beside a device. */
trine_status look(struct krylov_work *w)
{
    memcpy(w->columns, w->own_columns, (size_t)w->nrhs * sizeof *w->columns);
    return TRINE_SUCCESS;
}

/* A solve that is recorded, and run meanwhile as the graph would be. */

bool any_runs(const struct krylov_work *w)
{
    bool any = false;
    for (int64_t i = 0; i < w->nrhs; i++) any = any || w->own_columns[i].flags & KRYLOV_RUNNING;
    return any;
}
trine_status loop(struct krylov_work *w, int period, krylov_body body)
{
    trine_status status = TRINE_SUCCESS;
    while (!status && any_runs(w)) {
        status = body(w, 0);
        for (int j = 1; !status && j < period; j++)
            if (any_runs(w)) status = body(w, j);
    }
    return status;
}
const char *why_not() { return nullptr; }
int recorded, turn;
trine_status take_turns(struct krylov_work *w, int m, krylov_body body) { return body(w, turn++ % m); }
trine_status begin(struct krylov_work *w)
{
    w->recording = &recorded;
    memset(w->columns, 0, (size_t)w->nrhs * sizeof *w->columns); /* of no use meanwhile */
    recorded++;
    turn = 0;
    return TRINE_SUCCESS;
}
trine_status end(struct krylov_work *, trine_status status) { return status; }
void forget(struct krylov_work *w) { w->recording = nullptr; }
trine_status replay(struct krylov_work *w)
{
    forget(w);
    return TRINE_SUCCESS;
}

const struct krylov_recorder recorder = {why_not, begin, end, loop, take_turns, replay, forget};
const struct krylov_backend emulated = {scratch_bytes, run,  orthogonalize_all, conjugate_all, arnoldi_all, step,
                                        find_rows,     look, &recorder};

/* -------------------------------------------------------------------- vectors */

using number = std::complex<double>;
double uniform(uint64_t k)
{
    k += 0x9e3779b97f4a7c15u;
    k = (k ^ k >> 30) * 0xbf58476d1ce4e5b9u;
    k = (k ^ k >> 27) * 0x94d049bb133111ebu;
    return (double)((k ^ k >> 31) >> 11) * 0x1p-53;
}
void put(trine_dtype t, std::vector<char> &to, int64_t i, number a)
{
    if (t == TRINE_S) ((float *)to.data())[i] = (float)a.real();
    else if (t == TRINE_D) ((double *)to.data())[i] = a.real();
    else if (t == TRINE_C) ((std::complex<float> *)to.data())[i] = (std::complex<float>)a;
    else ((number *)to.data())[i] = a;
}
number get(trine_dtype t, const std::vector<char> &from, int64_t i)
{
    if (t == TRINE_S) return ((const float *)from.data())[i];
    if (t == TRINE_D) return ((const double *)from.data())[i];
    if (t == TRINE_C) return ((const std::complex<float> *)from.data())[i];
    return ((const number *)from.data())[i];
}

/* ---------------------------------------------------------------------- solves */

enum { RIGHT = 2, MOST_RIGHT = 9, SMALL = 50 };
struct problem {
    int64_t n;
    trine_krylov_options options;
    int m; /* preconditioners, which take turns */
    double scale; /* of b */
    int64_t bad; /* row of the last right-hand side that is not a number; -1: none */
    int nrhs;
    bool by_rows; /* A is a matrix of three diagonals, else of one */
    bool has_zero; /* the first right-hand side is zero */
};

struct answer {
    trine_status status;
    std::vector<char> x;
    trine_krylov_result results[MOST_RIGHT];
};

enum mode { ON_THE_CPU, HOST_LOOP, DEVICE_LOOP };

answer solve(trine_krylov k, trine_dtype t, int64_t n, int nrhs, std::vector<char> &b, mode how)
{
    answer a = {TRINE_SUCCESS, std::vector<char>((size_t)(nrhs * n) * trine_dtype_size(t)), {}};
    trine_work work;
    const struct krylov_backend *const own = k->backend;
    k->records = how == DEVICE_LOOP;
    if (how) k->backend = &emulated;
    OK(trine_krylov_work(k, nrhs, nullptr, nullptr, &work));
    struct krylov_work *w = (struct krylov_work *)work;
    std::vector<krylov_column> copies(w->columns, w->columns + nrhs);
    if (how) w->columns = copies.data();
    if (how) memset(w->scratch, 0, scratch_bytes(k, nrhs, w->most_sums));
    const trine_dense B = {b.data(), n, nrhs, n, TRINE_COLMAJOR}, X = {a.x.data(), n, nrhs, n, TRINE_COLMAJOR};
    trine_exec exec = {};
    exec.work = work;
    a.status = trine_krylov_solve(k, &B, &X, &exec);
    for (int i = 0; i < nrhs; i++) OK(trine_krylov_get_result(k, i, &a.results[i], &exec));
    OK(trine_work_destroy(&work));
    k->backend = own;
    k->records = false;
    return a;
}

/** The matrix of 3, -1 and (-1 or its conjugate) where that has an imaginary part, as rows of a plan. */
struct tridiagonal {
    int64_t n;
    trine_dtype t;
    std::vector<int32_t> offsets, columns;
    std::vector<char> values;
    tridiagonal(int64_t rows, trine_dtype dtype) : n(rows), t(dtype), values((size_t)(3 * rows) * trine_dtype_size(t))
    {
        for (int64_t i = 0; i < n; i++) {
            offsets.push_back((int32_t)columns.size());
            for (int64_t j = i ? i - 1 : 0; j <= i + 1 && j < n; j++) {
                put(t, values, (int64_t)columns.size(),
                    i == j ? number(3 + (double)(i % 3)) : number(-1, (double)(j - i) / 2));
                columns.push_back((int32_t)j);
            }
        }
        offsets.push_back((int32_t)columns.size());
    }
    void open(trine_context ctx, trine_op *op)
    {
        const int64_t nnz = offsets.back();
        trine_matrix A;
        trine_spmv plan;
        OK(trine_matrix_csr(ctx, &A, t, n, n, nnz, TRINE_HOST, 32, offsets.data(), 32, columns.data(), values.data()));
        OK(trine_spmv_analyse(ctx, &plan, A, nullptr));
        OK(trine_spmv_numeric(plan, TRINE_HOST, values.data(), nullptr));
        OK(trine_spmv_as_op(plan, op));
        OK(trine_spmv_destroy(&plan));
        OK(trine_matrix_destroy(&A));
        rows_of_A = {n, nnz, 3, 32, offsets.data(), columns.data(), values.data()};
    }
};

void compare(trine_context ctx, trine_dtype t, const problem &p)
{
    const int64_t n = p.n;
    const int nrhs = p.nrhs;
    const size_t size = trine_dtype_size(t);
    const double eps = t == TRINE_S || t == TRINE_C || p.options.inner ? 0x1p-23 : 0x1p-52;
    std::vector<char> d((size_t)n * size), m((size_t)n * size), b((size_t)(nrhs * n) * size);
    for (int64_t i = 0; i < n; i++) {
        put(t, d, i, 1 + (double)(i * 7 % 19) / 6);
        put(t, m, i, 1 / (1 + (double)(i * 7 % 19 / 4) / 2));
    }
    for (int64_t i = 0; i < nrhs * n; i++)
        put(t, b, i, p.scale * number(2 * uniform(3 * (uint64_t)i) - 1, 2 * uniform(3 * (uint64_t)i + 1) - 1));
    for (int64_t i = 0; i < n && p.has_zero; i++) put(t, b, i, 0);
    const number good = p.bad >= 0 ? get(t, b, (nrhs - 1) * n + p.bad) : 0;
    if (p.bad >= 0) put(t, b, (nrhs - 1) * n + p.bad, NAN);
    trine_op A, M[3] = {};
    trine_krylov k;
    tridiagonal rows(n, t);
    if (p.by_rows) rows.open(ctx, &A);
    else OK(trine_op_diagonal(ctx, &A, t, n, d.data()));
    for (int l = 0; l < p.m; l++) OK(trine_op_diagonal(ctx, &M[l], t, n, l % 2 ? d.data() : m.data()));
    trine_krylov_options options = p.options;
    options.max_nrhs = nrhs;
    if (p.m > 1) OK(trine_krylov_create_alternating(ctx, &k, A, p.m, M, &options));
    else OK(trine_krylov_create(ctx, &k, A, M[0], &options));
    const answer known = solve(k, t, n, nrhs, b, ON_THE_CPU);
    for (int how = HOST_LOOP; how <= (n <= SMALL ? DEVICE_LOOP : HOST_LOOP); how++) {
        const answer had = solve(k, t, n, nrhs, b, (mode)how);
        CHECK(known.status == had.status);
        for (int c = 0; c < nrhs; c++) {
            const trine_krylov_result *r = &known.results[c], *q = &had.results[c];
            CHECK(r->outcome == q->outcome && r->row == q->row);
            CHECK(llabs(r->steps - q->steps) <= 1 && r->restarts == q->restarts);
            if (std::isfinite(r->rhs_norm)) CHECK(std::fabs(r->rhs_norm - q->rhs_norm) <= 1e-6 * r->rhs_norm);
            const double tolerance = 4 * std::fmax(p.options.rtol, 100 * eps) * r->rhs_norm;
            for (int64_t i = c * n; i < (c + 1) * n && std::isfinite(tolerance); i++)
                CHECK(std::abs(get(t, known.x, i) - get(t, had.x, i)) <= tolerance);
        }
        if (p.bad < 0 || nrhs == 1 || how != DEVICE_LOOP) continue;
        /* what is no number in one column changes no bit of the others, as long as products are of all columns */
        put(t, b, (nrhs - 1) * n + p.bad, good);
        const answer without = solve(k, t, n, nrhs, b, (mode)how);
        CHECK(memcmp(had.x.data(), without.x.data(), (size_t)((nrhs - 1) * n) * size) == 0);
        put(t, b, (nrhs - 1) * n + p.bad, NAN);
    }
    rows_of_A = {};
    OK(trine_krylov_destroy(&k));
    OK(trine_op_destroy(&A));
    for (int l = 0; l < p.m; l++) OK(trine_op_destroy(&M[l]));
}

const trine_krylov_method methods[] = {TRINE_KRYLOV_GMRES, TRINE_KRYLOV_FGMRES, TRINE_KRYLOV_BICGSTAB, TRINE_KRYLOV_CG,
                                       TRINE_KRYLOV_MINRES};

problem problem_of(int64_t n, int method)
{
    problem p = {n, {}, method % 2 == 0 ? 1 : 0, 1, -1, RIGHT, false, false};
    p.options.method = methods[method];
    p.options.max_nrhs = RIGHT;
    p.options.rtol = 1e-2;
    p.options.restart = 4;
    return p;
}

} // namespace

int main()
{
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu"));
    for (int m = 0; m < 5; m++) {
        for (int t = TRINE_S; t <= TRINE_Z; t++)
            compare(ctx, (trine_dtype)t, problem_of(t == 1 + m % 4 ? 258 : m + 1, m));
        const trine_dtype t = m % 2 ? TRINE_Z : TRINE_D;
        problem p = problem_of(43, m);
        p.bad = 41;
        compare(ctx, t, p);
        p = problem_of(20, m);
        for (double scale : {0x1p700, 0x1p-700}) { /* squares are no numbers */
            p.scale = scale;
            p.options.inner = scale > 1 ? (trine_dtype)0 : m % 2 ? TRINE_C : TRINE_S;
            p.options.side = scale > 1 || methods[m] == TRINE_KRYLOV_FGMRES ? TRINE_SIDE_AUTO : TRINE_SIDE_LEFT;
            compare(ctx, t, p);
        }
    }
    problem turns = problem_of(40, 1); /* in a cycle of 4, whose ends they go on across */
    turns.m = 3;
    turns.options.rtol = 1e-6;
    compare(ctx, TRINE_D, turns);
    /* orthogonalization that does not fit into one launch */
    problem p = problem_of(34, 0);
    p.options.restart = 33;
    p.options.rtol = 1e-14;
    compare(ctx, TRINE_D, p);
    /* a basis as long as the restart by default, in phases of one launch; vectors of several chunks, all launches */
    for (int t = TRINE_S; t <= TRINE_Z; t++) {
        together = t % 2 == 0;
        p = problem_of(30, 0);
        p.options.restart = 0;
        p.options.rtol = t == TRINE_S || t == TRINE_C ? 1e-6 : 1e-14;
        compare(ctx, (trine_dtype)t, p);
    }
    for (int one = 0; one < 2; one++) {
        together = one;
        p = problem_of(2077, one);
        p.options.max_iterations = 5;
        p.options.restart = 0;
        p.options.rtol = 1e-5;
        p.scale = one ? 0x1p-900 : 1;
        compare(ctx, one ? TRINE_D : TRINE_C, p);
    }
    together = false;
    /* several blocks, of one tile and of two */
    for (tiles_of_a_chunk = 1; tiles_of_a_chunk <= 2; tiles_of_a_chunk++) {
        p = problem_of(2 * TILE + 77, 3);
        p.options.max_iterations = 1;
        compare(ctx, TRINE_D, p);
    }
    /* steps of CG in one launch: without M and with one, and a row that is no number */
    for (int t = TRINE_S; t <= TRINE_Z; t++)
        for (int64_t n : {1, 2, 47, 1300})
            for (int with = 0; with < 2; with++)
                for (int bad = 0; bad < 2; bad++) {
                    p = problem_of(n, 3);
                    p.m = with;
                    p.nrhs = 1;
                    p.by_rows = true;
                    p.bad = bad ? n / 2 : -1;
                    p.options.rtol = t == TRINE_S || t == TRINE_C ? 1e-4 : 1e-11;
                    compare(ctx, (trine_dtype)t, p);
                }
    /* of several columns, whose warps share out the rows; of one that is zero and one that is no number; rows of A in
     * shared memory and not; more columns than the kernel takes */
    for (int t = TRINE_S; t <= TRINE_Z; t++)
        for (int nrhs : {2, 3, 5, 8, 9})
            for (int64_t n : {1, 33, 258}) {
                if ((n > SMALL && nrhs != 5) || (n == 1 && nrhs % 2)) continue;
                p = problem_of(n, 3);
                p.m = (t + nrhs) % 2;
                p.nrhs = nrhs;
                p.by_rows = true;
                p.bad = nrhs > 2 ? n / 2 : -1;
                p.has_zero = nrhs > 3;
                p.options.rtol = t == TRINE_S || t == TRINE_C ? 1e-4 : 1e-11;
                bytes_for_rows = nrhs == 5 ? 0 : CONJUGATE_SHARED;
                compare(ctx, (trine_dtype)t, p);
            }
    bytes_for_rows = CONJUGATE_SHARED;
    /* the same of GMRES and FGMRES: restarts before and after the end, in the range of squares and outside */
    for (int t = TRINE_S; t <= TRINE_Z; t++)
        for (int64_t n : {1, 2, 47, 1300})
            for (int with = 0; with < 2; with++)
                for (int special = 0; special < 4; special++) {
                    if (n > SMALL && special != 3 * with) continue;
                    p = problem_of(n, special == 3);
                    p.m = with;
                    p.nrhs = 1;
                    p.by_rows = true;
                    p.bad = special == 1 ? n / 2 : -1;
                    p.scale = special == 2 && t % 2 == 0 ? 0x1p-700 : 1;
                    p.options.restart = with ? 5 : 31;
                    p.options.rtol = t == TRINE_S || t == TRINE_C ? 1e-4 : 1e-11;
                    bytes_for_rows = special == 2 ? 0 : CONJUGATE_SHARED;
                    compare(ctx, (trine_dtype)t, p);
                }
    bytes_for_rows = CONJUGATE_SHARED;
    OK(trine_context_destroy(&ctx));
    CHECK(conjugates > 0 && cycles > 0 && arnoldis > cycles);
    CHECK(recorded > 0 && several > 0 && orthogonalizations > 0);
    printf("ok, %d launches\n", launches);
    return 0;
}
