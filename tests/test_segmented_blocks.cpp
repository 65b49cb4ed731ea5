// The kernels of src/spmv/cuda/{segmented,alike,analysis,many,ring,rows,together,vectors,warps}.cuh run by an emulator
// of blocks, where there is no GPU: every scheme, every scan, random patterns with empty and long rows, row ranges,
// against a plain loop. Products are 2 x 2 matrices modulo a prime: they do not commute, so the order of a row shows,
// and sums are exact. Copies to shared memory are those of devices that have none in bulk, and are there at once.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "emulator/cuda_block.h"
#include "spmv/cuda/alike.cuh"
#include "spmv/cuda/analysis.cuh"
#include "spmv/cuda/fused.cuh"
#include "spmv/cuda/many.cuh"
#include "spmv/cuda/ring.cuh"
#include "spmv/cuda/rows.cuh"
#include "spmv/cuda/together.cuh"
#include "spmv/cuda/vectors.cuh"
#include "spmv/cuda/warps.cuh"

namespace {

struct matrix2 { unsigned short a, b, c, d; };
constexpr unsigned PRIME = 251;
bool operator==(matrix2 p, matrix2 q) { return p.a == q.a && p.b == q.b && p.c == q.c && p.d == q.d; }
matrix2 operator*(matrix2 p, matrix2 q)
{
    const auto dot = [](unsigned a, unsigned b, unsigned c, unsigned d) {
        return (unsigned short)((a * b + c * d) % PRIME);
    };
    return {dot(p.a, q.a, p.b, q.c), dot(p.a, q.b, p.b, q.d), dot(p.c, q.a, p.d, q.c), dot(p.c, q.b, p.d, q.d)};
}
const matrix2 EYE = {1, 0, 0, 1}, UNTOUCHED = {7, 7, 7, 7};

/** One entry: a matrix with determinant 1, of the entry's position and, for ROWS, of its row. */
matrix2 matrix_of(long long nz, long long row)
{
    const unsigned s = (unsigned)((nz * 2654435761u >> 3) + 13 * row);
    const matrix2 p = {1, (unsigned short)(s % PRIME), 0, 1}, q = {1, 0, (unsigned short)(s / 7 % PRIME), 1};
    return p * q;
}

/** The accumulator is longer than the product, whose words are shorter than the result's. */
struct long_sum {
    matrix2 m;
    int count;
};
struct short_entry { unsigned short row, low, high; };

template <bool ROWS> struct multiply_matrices {
    using product = short_entry;
    using accumulator = long_sum;
    using result = matrix2;
    static constexpr int THREADS = 1024;
    static constexpr bool NEEDS_ROW = ROWS, HAS_ATOMIC = false, FUSED = false;
    matrix2 *y;
    int *times;
    struct entry {};
    entry load(long long) const { return {}; }
    product multiply(entry, long long nz, long long row) const
    {
        return {(unsigned short)(ROWS ? row : 0), (unsigned short)nz, (unsigned short)(nz >> 16)};
    }
    accumulator lift(product p) const { return {matrix_of(p.low + ((long long)p.high << 16), p.row), 1}; }
    accumulator add(accumulator p, accumulator q) const { return {p.m * q.m, p.count + q.count}; }
    accumulator identity() const { return {EYE, 0}; }
    result project(accumulator a) const { return a.m; }
    void store(long long first, int r, result z, bool empty) const
    {
        const long long row = first + r;
        y[row] = empty && !(z == EYE) ? UNTOUCHED : z;
        __atomic_fetch_add(&times[row], 1, __ATOMIC_RELAXED);
    }
};

/** Sums by atomics. */
struct add_numbers {
    using product = int;
    using accumulator = int;
    using result = int;
    static constexpr int THREADS = 1024;
    static constexpr bool NEEDS_ROW = false, HAS_ATOMIC = true, FUSED = false;
    int *y;
    struct entry {};
    entry load(long long) const { return {}; }
    product multiply(entry, long long nz, long long) const { return (int)(nz % 1000) + 1; }
    accumulator lift(product p) const { return p; }
    accumulator add(accumulator p, accumulator q) const { return p + q; }
    accumulator identity() const { return 0; }
    result project(accumulator a) const { return a; }
    void store(long long row, int r, result z, bool) const { y[row + r] = 1000000 + z; }
    void prepare(long long row) const { y[row] = 1000000; }
    void accumulate(long long row, accumulator a) const { __atomic_fetch_add(&y[row], a, __ATOMIC_RELAXED); }
};

/** Y := A X + Y + 1 of integers: a row without entries changes, too. */
struct number_product {
    using product = long long;
    using accumulator = long long;
    using result = long long;
    static constexpr int COLUMNS = 97, THREADS = 1024;
    static constexpr bool NEEDS_ROW = false, HAS_ATOMIC = false, FUSED = false, reads_y = true;
    const long long *x;
    long long *y;
    long long x_bytes;
    long long y_bytes;
    struct entry {
        long long value;
        int column;
    };
    entry load(long long nz) const { return {nz % 1000 + 1, (int)(nz * 7 % COLUMNS)}; }
    long long value_of(entry e) const { return e.value; }
    product multiply(entry e, long long, long long) const { return e.value * x[e.column]; }
    accumulator lift(product p) const { return p; }
    accumulator add(accumulator a, accumulator b) const { return a + b; }
    accumulator identity() const { return 0; }
    result project(accumulator a) const { return a; }
    long long *at(long long row, int r = 0) const { return (long long *)((char *)y + (row + r) * y_bytes); }
    long long new_y(const long long *y_i, long long z) const { return *y_i + z + 1; }
    void store(long long row, int r, long long z, bool) const { *at(row, r) = new_y(at(row, r), z); }
};

/** The same from arrays, with less stored than is multiplied unless V is as long. */
template <class V> struct stored_product : number_product {
    using stored = V;
    using operand = long long;
    static constexpr bool STAGED = true, COMMUTES = true, OPAQUE = sizeof(V) < 8;
    const V *values;
    const int *columns;
    long long x_step, y_step; /* elements from one vector to the next */
    const stored *first_stored() const { return values; }
    const int *first_column() const { return columns; }
    operand fetch(const stored *, int, int column, long long, long long) const { return x[column]; }
    product combine(const stored *s, int k, operand element) const { return s[k] * element; }
    using before = long long;
    before look(long long row, int r) const { return *at(row, r); }
    using number_product::store;
    void store(long long row, int r, long long z, bool, before old) const { *at(row, r) = new_y(&old, z); }
    stored_product for_vector(long long v) const
    {
        stored_product other = *this;
        other.x += v * x_step, other.y += v * y_step;
        return other;
    }
};

/** multiply_matrices from arrays: what is stored of an entry tells its number. */
template <bool IS_STAGED> struct stored_matrices : multiply_matrices<true> {
    using stored = int;
    using operand = short_entry;
    static constexpr bool STAGED = IS_STAGED, COMMUTES = false, OPAQUE = true;
    const int *numbers, *columns;
    const stored *first_stored() const { return numbers; }
    const int *first_column() const { return columns; }
    operand fetch(const stored *s, int k, int column, long long nz, long long row) const
    {
        return multiply({}, s[k] == nz && column == (int)(nz * 7 % 97) ? nz : 0, row);
    }
    product combine(const stored *, int, operand p) const { return p; }
    /* not neutral: only rows without entries get it */
    accumulator identity() const { return {{2, 3, 5, 7}, 0}; }
    struct before {};
    before look(long long, int) const { return {}; }
    void store(long long first, int r, result z, bool empty, before) const
    {
        y[first + r] = empty && z == identity().m ? EYE : z;
        times[first + r]++;
    }
};

/** multiply_matrices by warps: an entry is wrong unless it comes with its own column. */
struct matrices_by_warps : multiply_matrices<false> {
    struct entry { bool is_own; };
    int load_column(long long nz) const { return (int)(nz * 7 % 97); }
    entry load(long long nz, int column) const { return {column == load_column(nz)}; }
    product multiply(entry e, long long nz, long long row) const
    {
        return multiply_matrices<false>::multiply({}, e.is_own ? nz : 0, row);
    }
};

uint64_t state;
unsigned random_below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % n);
}

struct pattern {
    std::vector<int> narrow;
    std::vector<long long> wide;
};
/** kind 0: short rows; 1: mostly empty; 2: some rows of thousands; 3: one row has all; 4: empty rows at both ends. */
pattern make_pattern(int rows, int kind)
{
    pattern p;
    p.wide.push_back(0);
    for (int i = 0; i < rows; i++) {
        int length = (int)random_below(7);
        if (kind == 1) length = random_below(10) == 0 ? (int)random_below(4) : 0;
        if (kind == 2 && random_below(40) == 0) length = (int)random_below(3000);
        if (kind == 3) length = i == rows / 2 ? 5000 : 0;
        if (kind == 4) length = i < rows / 3 || i > rows / 2 ? 0 : (int)random_below(30);
        p.wide.push_back(p.wide.back() + length);
    }
    p.narrow.assign(p.wide.begin(), p.wide.end());
    return p;
}

int failures;

void fail(const char *what, int scan, int scheme, const segmented_arguments &a, long long row)
{
    if (failures++ < 20)
        fprintf(
            stderr,
            "%s: scan %d, scheme %d, rows %lld, entries %lld, w %lld, weight %d, wide %d, searched %d, range %lld..%lld: row %lld\n",
            what, scan, scheme, a.n_rows, a.nnz, a.entries_per_block, a.row_weight, a.wide_offsets, !a.starts,
            a.row_begin, a.row_end, row);
}

/** Whether a slot is not zero again. */
template <class A> bool is_any_left(const std::vector<left_open<A>> &slots)
{
    return std::any_of(slots.begin(), slots.end(), [](const left_open<A> &slot) { return slot.is_there != 0; });
}

/** Blocks of a launch, and of its second one with 64 threads: a thread for each, or a warp, which can search. */
int blocks_of(const segmented_arguments &a) { return a.end_block - a.first_block; }
int joining_blocks(const segmented_arguments &a) { return (blocks_of(a) + (a.starts ? 63 : 1)) / (a.starts ? 64 : 2); }

template <class Op, int BLOCK, int TILE, int SCAN> void launch_all(segmented_arguments a, Op op)
{
    if constexpr (Op::HAS_ATOMIC)
        if (a.scheme == SCHEME_ATOMIC)
            emulator::launch((blocks_of(a) + 1) / 2, 64, [=] { prepare_shared_rows<Op, 64>(a, op); });
    emulator::launch(blocks_of(a), BLOCK, [=] { reduce_rows<Op, BLOCK, TILE, SCAN>(a, op); });
    if (a.scheme == SCHEME_POSTPROCESS)
        emulator::launch(joining_blocks(a), 64, [=] { join_shared_rows<Op, 64>(a, op); });
}

template <int EACH, bool AHEAD> void try_warps(segmented_arguments a, const pattern &p);
template <int BLOCK, int TILE, int LANES, int EACH> void try_several(segmented_arguments a, const pattern &p);
template <int BLOCK, int TILE, int SCAN> void try_fused(const segmented_arguments &a, const pattern &p);

template <class V, int BLOCK, int TILE> void try_whole_rows(segmented_arguments a, const pattern &p);
template <bool STAGED, int BLOCK, int TILE, int HOW>
void try_matrices_by_rows(segmented_arguments a, const pattern &p);
template <int BLOCK, int TILE> void try_ring(segmented_arguments a, const pattern &p);
template <int BLOCK, int TILE> void try_together(segmented_arguments a, const pattern &p);
template <int BLOCK, int TILE> void try_vectors(segmented_arguments a, const pattern &p);

/** Starts as find_starts has them, compared with those that a block searches for. */
void compare_starts(const segmented_arguments &a, const std::vector<block_start> &starts, int scan)
{
    emulator::launch(1, 32, [&] {
        for (int b = 0; b <= a.n_blocks; b++) {
            const block_start s = search_start(a, b, threadIdx.x);
            if (threadIdx.x == 0 && (s.nz != starts[b].nz || s.row != starts[b].row))
                fail("start of block", scan, a.scheme, a, b);
        }
    });
}
std::vector<block_start> starts_of(const segmented_arguments &a)
{
    std::vector<block_start> starts(a.n_blocks + 2, block_start{-1, -1});
    const int looking = 1 + (int)random_below((unsigned)(a.n_rows + 63) / 64);
    emulator::launch(looking, 64, [&] { find_starts<64>(a, starts.data(), looking * 64); });
    return starts;
}

/** Of matrices that there is no room for: numbers of 32 bits just do for what rows count, or do not. */
void try_long_starts(segmented_arguments a, const pattern &p)
{
    std::vector<long long> offsets;
    const long long least = a.row_weight * a.n_rows, entries = p.wide.back();
    if (!entries) return;
    const long long factor = (0x7FFFFFFFll - least) / entries * (random_below(2) ? 1 : 5) + (int)random_below(3) - 1;
    for (long long o : p.wide) offsets.push_back(o * factor);
    a.offsets = offsets.data(), a.wide_offsets = 1, a.nnz = offsets.back(), a.starts = nullptr;
    const long long total = a.nnz + least;
    a.entries_per_block = total / (1 + random_below(50)) - random_below(1000);
    a.n_blocks = a.end_block = (int)((total + a.entries_per_block - 1) / a.entries_per_block);
    compare_starts(a, starts_of(a), 0);
}

/** The blocks that a launch for a range of rows has. */
void clip_blocks(segmented_arguments &a, const std::vector<block_start> &starts)
{
    for (int b = 1; b < a.n_blocks && starts[b].row < a.row_begin; b++) a.first_block = b;
    for (a.end_block = a.first_block; a.end_block < a.n_blocks && starts[a.end_block].row < a.row_end;) a.end_block++;
    if (a.row_end == a.n_rows) a.end_block = a.n_blocks;
}

template <int BLOCK, int TILE, int SCAN> void try_one(int rows, int kind)
{
    const pattern p = make_pattern(rows, kind);
    segmented_arguments a = {};
    a.wide_offsets = (int)random_below(2);
    a.offsets = a.wide_offsets ? (const void *)p.wide.data() : (const void *)p.narrow.data();
    a.n_rows = rows, a.nnz = p.wide.back();
    a.row_end = rows;
    if (random_below(3) == 0) {
        a.row_begin = random_below(rows + 1);
        a.row_end = a.row_begin + random_below((unsigned)(rows - a.row_begin + 1));
    }
    a.row_weight = a.nnz ? (int)random_below(3) : 1;
    a.starts_each = 1;
    const unsigned total = (unsigned)(a.nnz + a.row_weight * a.n_rows);
    a.entries_per_block = 1 + random_below(random_below(2) ? 4 * BLOCK * TILE : 100 + BLOCK * TILE);
    if (total / a.entries_per_block > 60) a.entries_per_block = total / 60 + 1;
    a.n_blocks = (int)((total + a.entries_per_block - 1) / a.entries_per_block);
    a.end_block = a.n_blocks;
    if (!total) return;

    for (int scheme = SCHEME_ADAPTIVE; scheme <= SCHEME_POSTPROCESS; scheme++) {
        a.scheme = scheme, a.starts = nullptr;
        a.first_block = 0, a.end_block = a.n_blocks;
        const std::vector<block_start> starts = starts_of(a);
        row_facts facts = {-1, -1, 0, 0};
        int right = 0;
        emulator::launch(2, 64, [&] { measure_rows<64>(a, nullptr, &facts, 128); });
        for (int i = 0; i < rows; i++) right = std::max<int>(right, (int)(p.wide[i + 1] - p.wide[i]));
        if (facts.longest != right || facts.first != 0 || facts.last != a.nnz || facts.alike)
            fail("longest row", SCAN, scheme, a, facts.longest);
        compare_starts(a, starts, SCAN);
        try_long_starts(a, p);
        if (random_below(2)) clip_blocks(a, starts);
        if (scheme == SCHEME_ADAPTIVE) {
            a.starts = starts.data();
            const segmented_arguments single = a;
            if (random_below(2)) {
                a.starts_each = 2;
                a.first_block /= 2, a.end_block = (a.end_block + 1) / 2;
            }
            switch (random_below(4)) {
            case 0: try_whole_rows<long long, BLOCK, TILE>(a, p); break;
            case 1: try_whole_rows<short, BLOCK, TILE>(a, p); break;
            case 2: try_matrices_by_rows<true, BLOCK, TILE, ROWS_BY_THREADS>(a, p); break;
            default: try_matrices_by_rows<false, BLOCK, TILE, ROWS_MOSTLY_EMPTY>(a, p);
            }
            try_together<BLOCK, TILE>(a, p);
            try_vectors<BLOCK, TILE>(a, p);
            try_several<BLOCK, TILE, 8, 1>(a, p);
            a = single;
            try_ring<BLOCK, TILE>(a, p);
            a.starts = nullptr;
        }
        if (scheme != SCHEME_ATOMIC) {
            a.starts = starts.data();
            if (random_below(2)) try_warps<8, false>(a, p);
            else try_warps<TILE, true>(a, p);
            a.starts = nullptr;
        }
        if (random_below(2)) a.starts = starts.data();
        switch (random_below(4)) {
        case 0: try_several<BLOCK, TILE, 8, 1>(a, p); break;
        case 1: try_several<BLOCK, TILE, 32, 1>(a, p); break;
        case 2: try_several<BLOCK, TILE, 8, 2>(a, p); break;
        default: try_several<BLOCK, TILE, 2, 4>(a, p);
        }
        if (scheme != SCHEME_ATOMIC && a.row_begin == 0 && a.row_end == rows) try_fused<BLOCK, TILE, SCAN>(a, p);
        if (scheme == SCHEME_ATOMIC) {
            std::vector<int> y(rows, -1);
            launch_all<add_numbers, BLOCK, TILE, SCAN>(a, add_numbers{y.data()});
            for (int i = 0; i < rows; i++) {
                int sum = 1000000;
                for (long long k = p.wide[i]; k < p.wide[i + 1]; k++) sum += (int)(k % 1000) + 1;
                const bool inside = i >= a.row_begin && i < a.row_end;
                if (y[i] != (inside ? sum : -1)) fail("sum", SCAN, scheme, a, i);
            }
            continue;
        }
        const bool by_rows = random_below(2);
        std::vector<matrix2> y(rows, UNTOUCHED);
        std::vector<int> stored(rows, 0);
        std::vector<unsigned long long> partials(2 * (a.n_blocks + 1) * 3);
        a.partials = partials.data();
        if (by_rows)
            launch_all<multiply_matrices<true>, BLOCK, TILE, SCAN>(a, multiply_matrices<true>{y.data(), stored.data()});
        else
            launch_all<multiply_matrices<false>, BLOCK, TILE, SCAN>(a,
                                                                    multiply_matrices<false>{y.data(), stored.data()});
        for (int i = 0; i < rows; i++) {
            matrix2 z = EYE;
            for (long long k = p.wide[i]; k < p.wide[i + 1]; k++) z = z * matrix_of(k, by_rows ? i : 0);
            const bool inside = i >= a.row_begin && i < a.row_end;
            if (stored[i] != inside || !(y[i] == (inside ? z : UNTOUCHED)))
                fail(by_rows ? "product by rows" : "product", SCAN, scheme, a, i);
        }
    }
}

/** A warp for itself; the order of a row. */
template <int EACH, bool AHEAD> void try_warps(segmented_arguments a, const pattern &p)
{
    using Op = matrices_by_warps;
    std::vector<matrix2> y(a.n_rows, UNTOUCHED);
    std::vector<int> stored(a.n_rows, 0);
    std::vector<left_open<long_sum>> slots(a.n_blocks);
    Op op = {};
    op.y = y.data(), op.times = stored.data();
    a.left_open = slots.data();
    emulator::launch((blocks_of(a) + 1) / 2, 64, [=] { reduce_by_warps<Op, 64, EACH, 1024, AHEAD>(a, op); });
    if (is_any_left(slots)) fail("a slot is left", EACH, a.scheme, a, -1);
    for (int i = 0; i < a.n_rows; i++) {
        matrix2 z = EYE;
        for (long long k = p.wide[i]; k < p.wide[i + 1]; k++) z = z * matrix_of(k, 0);
        const bool inside = i >= a.row_begin && i < a.row_end;
        if (stored[i] != inside || !(y[i] == (inside ? z : UNTOUCHED))) fail("by warps", EACH, a.scheme, a, i);
    }
}

/** Several vectors, by rows or by columns; EACH of a thread by rows. */
template <int BLOCK, int TILE, int LANES, int EACH> void try_several(segmented_arguments a, const pattern &p)
{
    const int nrhs = EACH * (1 + (int)random_below(2 * LANES + 1)), columns = number_product::COLUMNS;
    const bool by_rows = EACH > 1 || random_below(2);
    std::vector<long long> x(columns * nrhs), y(a.n_rows * nrhs, 5), partials(2 * a.n_blocks * nrhs, -1);
    for (long long &value : x) value = random_below(2000) - 1000ll;
    const auto at_x = [&](int c, int v) { return by_rows ? c * nrhs + v : v * columns + c; };
    const auto at_y = [&](long long i, int v) { return by_rows ? i * nrhs + v : v * a.n_rows + i; };
    several_products<number_product> m = {};
    m.p = {x.data(), y.data(), by_rows ? nrhs * 8 : 8, by_rows ? nrhs * 8 : 8};
    m.x_step = by_rows ? 8 : columns * 8, m.y_step = by_rows ? 8 : a.n_rows * 8;
    m.nrhs = nrhs, m.partials = partials.data();
    std::vector<long long> turned(columns * LANES, -1);
    if (!by_rows && nrhs <= LANES && random_below(2)) { /* turned into vectors by rows first */
        const long long *from = x.data();
        long long *to = turned.data();
        emulator::launch((columns + 31) / 32, 32,
                         [=] { turn_vectors<long long, 32, LANES>(from, 8, columns * 8, columns, nrhs, to); });
        m.p.x = to, m.p.x_bytes = LANES * 8, m.x_step = 8;
    }
    for (int v = 0; v < nrhs; v += LANES * EACH) {
        blockIdx.y = (unsigned)(v / (LANES * EACH));
        emulator::launch(blocks_of(a), BLOCK,
                         [=] { multiply_several<number_product, BLOCK, TILE, LANES, EACH>(a, m); });
    }
    if (a.scheme != SCHEME_ADAPTIVE)
        emulator::launch((blocks_of(a) + 1) / 2, 64, [=] { join_several<number_product, 64>(a, m); });
    for (int i = 0; i < a.n_rows; i++)
        for (int v = 0; v < nrhs; v++) {
            const bool inside = i >= a.row_begin && i < a.row_end;
            long long z = inside ? 6 : 5;
            for (long long k = p.wide[i]; inside && k < p.wide[i + 1]; k++)
                z += (k % 1000 + 1) * x[at_x((int)(k * 7 % columns), v)];
            if (y[at_y(i, v)] != z) fail("several vectors", LANES, a.scheme, a, i);
        }
}

/** 1 to 32 threads a row, several vectors; arrays that begin anywhere, and end with their last element. */
template <class V, int BLOCK, int TILE> void try_whole_rows(segmented_arguments a, const pattern &p)
{
    const size_t nnz = (size_t)a.nnz, v_ahead = random_below(8), c_ahead = random_below(4), o_ahead = random_below(4);
    const int n_vectors = 1 + (int)random_below(3), each = 1 + (int)random_below(2), columns = number_product::COLUMNS;
    std::vector<V> values(v_ahead + nnz);
    std::vector<int> column(c_ahead + nnz);
    std::vector<long long> x(columns * n_vectors), y(a.n_rows * n_vectors, 5);
    for (size_t k = 0; k < nnz; k++)
        values[v_ahead + k] = (V)(k % 1000 + 1), column[c_ahead + k] = (int)(k * 7 % columns);
    for (long long &value : x) value = random_below(2000) - 1000ll;
    std::vector<int> narrow(o_ahead, -7);
    std::vector<long long> wide(o_ahead, -7);
    narrow.insert(narrow.end(), p.narrow.begin(), p.narrow.end());
    wide.insert(wide.end(), p.wide.begin(), p.wide.end());
    a.offsets = a.wide_offsets ? (const void *)(wide.data() + o_ahead) : (const void *)(narrow.data() + o_ahead);
    stored_product<V> op = {};
    op.x = x.data(), op.y = y.data(), op.y_bytes = 8, op.x_step = columns, op.y_step = a.n_rows;
    op.values = values.data() + v_ahead, op.columns = column.data() + c_ahead;
    const int lanes_shift = (int)random_below(6);
    const unsigned how = random_below(3);
    for (int k = 0; k < n_vectors; k += each) {
        blockIdx.y = (unsigned)(k / each);
        emulator::launch(blocks_of(a), BLOCK, [=] {
            if (n_vectors > 1)
                reduce_whole_rows<stored_product<V>, BLOCK, TILE, ROWS_BY_THREADS, 3, true>(a, op, lanes_shift,
                                                                                            n_vectors, each);
            else if (how == ROWS_BY_THREAD)
                reduce_whole_rows<stored_product<V>, BLOCK, TILE, ROWS_BY_THREAD, 3, false>(a, op, 0, 1, 1);
            else if (how == ROWS_MOSTLY_EMPTY)
                reduce_whole_rows<stored_product<V>, BLOCK, TILE, ROWS_MOSTLY_EMPTY, 3, false>(a, op, 0, 1, 1);
            else reduce_whole_rows<stored_product<V>, BLOCK, TILE, ROWS_BY_THREADS, 3, false>(a, op, lanes_shift, 1, 1);
        });
    }
    for (int i = 0; i < a.n_rows; i++)
        for (int v = 0; v < n_vectors; v++) {
            const bool inside = i >= a.row_begin && i < a.row_end;
            long long z = inside ? 6 : 5;
            for (long long k = p.wide[i]; inside && k < p.wide[i + 1]; k++)
                z += (k % 1000 + 1) * x[v * columns + k * 7 % columns];
            if (y[v * a.n_rows + i] != z) fail("whole rows", lanes_shift, a.scheme, a, i);
        }
}

/** The order of a row, 1 to 32 threads a row. */
template <bool STAGED, int BLOCK, int TILE, int HOW> void try_matrices_by_rows(segmented_arguments a, const pattern &p)
{
    using Op = stored_matrices<STAGED>;
    const size_t nnz = (size_t)a.nnz, ahead = random_below(4);
    std::vector<int> numbers(ahead + nnz), columns(nnz), stored(a.n_rows, 0);
    for (size_t k = 0; k < nnz; k++) numbers[ahead + k] = (int)k, columns[k] = (int)(k * 7 % 97);
    std::vector<matrix2> y(a.n_rows, UNTOUCHED);
    Op op = {};
    op.y = y.data(), op.times = stored.data(), op.numbers = numbers.data() + ahead, op.columns = columns.data();
    const int lanes_shift = (int)random_below(6);
    emulator::launch(blocks_of(a), BLOCK,
                     [=] { reduce_whole_rows<Op, BLOCK, TILE, HOW, 2, false>(a, op, lanes_shift, 1, 1); });
    for (int i = 0; i < a.n_rows; i++) {
        matrix2 z = EYE;
        for (long long k = p.wide[i]; k < p.wide[i + 1]; k++) z = z * matrix_of(k, i);
        const bool inside = i >= a.row_begin && i < a.row_end;
        if (stored[i] != inside || !(y[i] == (inside ? z : UNTOUCHED)))
            fail("matrices by rows", lanes_shift, a.scheme, a, i);
    }
}

/* ------------------------------------------------------------------ plain products */

template <class T> T number_of(long long a)
{
    if constexpr (scalar<T>::is_complex) return T{(real_of<T>)(a % 1000), (real_of<T>)(a / 7 % 100 - 50)};
    else return (T)(a % 1000);
}
template <class T> bool are_equal(const T &a, const T &b) { return memcmp(&a, &b, sizeof a) == 0; }

/** Y := alpha A X + beta Y of whole numbers modulo a power of 2, stored in arrays that begin anywhere and end with
 *  their last element, and what Y is to become. Element v of row i of X is at i * row_step + v * vector_step, that of Y
 *  likewise. */
template <class T, class V, bool INDEXED> struct plain_case {
    using P = plain_product<T, V, INDEXED>;
    static constexpr int COLUMNS = 97;
    std::vector<V> values;
    std::vector<int> columns, positions, narrow;
    std::vector<long long> wide;
    std::vector<T> x, y, right;
    P p = {};

    /** are_alike: rows of equal lengths, by threes, mostly have the same columns. */
    plain_case(segmented_arguments &a, const pattern &of, int n_vectors, bool by_rows, int each, bool are_alike = false)
    {
        const size_t nnz = (size_t)a.nnz, ahead = random_below(8), c_ahead = random_below(4), o_ahead = random_below(4);
        values.resize(ahead + nnz), positions.resize(ahead + nnz), columns.resize(c_ahead + nnz);
        for (size_t k = 0; k < nnz; k++) {
            const size_t place = INDEXED ? nnz - 1 - k : k;
            values[ahead + place] = (V)number_of<V>((long long)k + 1);
            positions[ahead + k] = (int)place, columns[c_ahead + k] = (int)(k * 7 % COLUMNS);
        }
        for (long long i = 0; are_alike && i < a.n_rows; i++)
            for (long long k = of.wide[i]; k < of.wide[i + 1]; k++)
                if (random_below(500)) columns[c_ahead + k] = (int)(((k - of.wide[i]) * 7 + i / 3 * 31) % COLUMNS);
        narrow.assign(o_ahead, -7), wide.assign(o_ahead, -7);
        narrow.insert(narrow.end(), of.narrow.begin(), of.narrow.end());
        wide.insert(wide.end(), of.wide.begin(), of.wide.end());
        a.offsets = a.wide_offsets ? (const void *)(wide.data() + o_ahead) : (const void *)(narrow.data() + o_ahead);

        const long long row_step = by_rows ? n_vectors + each * (int)random_below(3) : 1;
        const long long x_step = by_rows ? 1 : COLUMNS, y_step = by_rows ? 1 : a.n_rows;
        x.resize(by_rows ? row_step * COLUMNS : n_vectors * COLUMNS);
        y.resize(by_rows ? row_step * a.n_rows : n_vectors * a.n_rows);
        for (T &element : x) element = number_of<T>(random_below(2000));
        for (T &element : y) element = number_of<T>(random_below(2000));
        p.values = values.data() + ahead, p.columns = columns.data() + c_ahead, p.positions = positions.data() + ahead;
        p.x = x.data(), p.y = y.data();
        p.x_bytes = p.y_bytes = (int)(row_step * (int)sizeof(T));
        p.x_step = x_step * (int)sizeof(T), p.y_step = y_step * (int)sizeof(T);
        p.conjugates = scalar<T>::is_complex && random_below(2), p.reads_y = random_below(2);
        p.alpha = number_of<T>(random_below(50)), p.beta = number_of<T>(random_below(50));

        right = y;
        for (long long i = a.row_begin; i < a.row_end; i++)
            for (int v = 0; v < n_vectors; v++) {
                T z = {}, &to = right[i * row_step + v * y_step];
                for (long long k = of.wide[i]; k < of.wide[i + 1]; k++) {
                    T value = number_of<T>(k + 1);
                    if constexpr (scalar<T>::is_complex) value.y = p.conjugates ? -value.y : value.y;
                    z = z + value * x[columns[c_ahead + k] * row_step + v * x_step];
                }
                to = p.reads_y ? p.alpha * z + p.beta * to : p.alpha * z;
            }
    }
    void check(const char *what, int how, const segmented_arguments &a) const
    {
        for (size_t i = 0; i < y.size(); i++)
            if (!are_equal(y[i], right[i])) fail(what, how, a.scheme, a, (long long)i);
    }
};

/** Blocks that go on, fewer than there are tiles; sums over all rows, too. */
template <class T, class V, bool INDEXED, int BLOCK, int TILE, int RING, bool ONE, bool FUSED>
void try_ring_of(segmented_arguments a, const pattern &p)
{
    a.wide_offsets = 0, a.row_begin = 0, a.row_end = a.n_rows, a.first_block = 0, a.end_block = a.n_blocks;
    plain_case<T, V, INDEXED> c(a, p, 1, false, 1);
    const int blocks = 1 + (int)random_below((unsigned)(random_below(2) ? a.n_blocks : (a.n_blocks + 3) / 4));
    const int lanes_shift = (int)random_below(6);
    const auto launch = [&](auto op) {
        using Op = decltype(op);
        emulator::launch(blocks, BLOCK,
                         [=] { reduce_rows_on_and_on<Op, BLOCK, TILE, RING, 5, 1024, ONE>(a, op, lanes_shift); });
    };
    if constexpr (FUSED) {
        std::vector<T> u(a.n_rows), z(a.n_rows), old_z;
        std::vector<left_open<T>> slots(2 * blocks);
        T results[2] = {}, dot = {}, norm = {};
        for (T &element : u) element = number_of<T>(random_below(2000));
        for (T &element : z) element = number_of<T>(random_below(2000));
        old_z = z;
        fused_product<plain_product<T, V, INDEXED>, RING == 2> op = {};
        static_cast<plain_product<T, V, INDEXED> &>(op) = c.p;
        const bool u_is_y = random_below(2);
        op.u = u_is_y ? c.y.data() : u.data(), op.axpy = z.data(), op.gamma = number_of<T>(3), op.results = results;
        op.slots = slots.data(), op.norm = true, op.n_slots = blocks;
        launch(op);
        for (int i = 0; i < a.n_rows; i++) {
            const T new_y = c.right[i];
            dot = dot + op.conjugate(u_is_y ? new_y : u[i]) * new_y, norm = norm + op.conjugate(new_y) * new_y;
            if (!are_equal(z[i], old_z[i] + op.gamma * new_y)) fail("axpy of a ring", blocks, a.scheme, a, i);
        }
        if (!are_equal(results[0], dot) || !are_equal(results[1], norm) || is_any_left(slots))
            fail("sums of a ring", blocks, a.scheme, a, -1);
    } else {
        launch(c.p);
    }
    c.check("ring", blocks, a);
}
template <int BLOCK, int TILE> void try_ring(segmented_arguments a, const pattern &p)
{
    using complex = complex_of<unsigned long long>;
    switch (random_below(5)) {
    case 0: try_ring_of<unsigned long long, unsigned long long, false, BLOCK, TILE, 2, true, false>(a, p); break;
    case 1: try_ring_of<unsigned long long, unsigned long long, false, BLOCK, TILE, 2, true, true>(a, p); break;
    case 2: try_ring_of<unsigned long long, int, false, BLOCK, TILE, 2, false, false>(a, p); break;
    case 3: try_ring_of<unsigned, unsigned, true, BLOCK, TILE, 3, true, false>(a, p); break;
    default: try_ring_of<complex, complex, false, BLOCK, TILE, 3, false, true>(a, p);
    }
}

/** Rows that have the same columns by threes, mostly, and blocks that begin with rows that are multiples of three. */
template <class T, class V, int BLOCK, int TILE, int LANES, bool FULL> void try_alike(int rows, int kind)
{
    const pattern lengths = make_pattern(rows, kind);
    pattern p;
    segmented_arguments a = {};
    p.wide.push_back(0);
    for (int i = 0; i < rows; i++) {
        const int like = random_below(20) ? i / 3 * 3 : i;
        p.wide.push_back(p.wide.back() + lengths.wide[like + 1] - lengths.wide[like]);
    }
    p.narrow.assign(p.wide.begin(), p.wide.end());
    a.wide_offsets = (int)random_below(2);
    a.offsets = a.wide_offsets ? (const void *)p.wide.data() : (const void *)p.narrow.data();
    a.n_rows = rows, a.nnz = p.wide.back(), a.row_end = rows, a.row_weight = 1;
    a.scheme = SCHEME_ADAPTIVE, a.starts_each = 1, a.rows_together = random_below(4) ? 3 : 1;
    const long long total = a.nnz + rows;
    a.entries_per_block = total / 40 + 1 + random_below(BLOCK * TILE);
    a.n_blocks = a.end_block = (int)((total + a.entries_per_block - 1) / a.entries_per_block);
    const std::vector<block_start> starts = starts_of(a);
    compare_starts(a, starts, 0);
    a.starts = starts.data();
    if (random_below(3) == 0) {
        a.row_begin = random_below(rows + 1);
        a.row_end = a.row_begin + random_below((unsigned)(rows - a.row_begin + 1));
    }
    plain_case<T, V, false> c(a, p, 1, false, 1, true);
    const auto op = c.p;
    const int looking = 1 + (int)random_below(5);
    using P = plain_product<T, V, false>;
    emulator::launch(a.n_blocks, BLOCK, [=] { reduce_rows_alike<P, BLOCK, TILE, 3, LANES, 2, 1024, FULL>(a, op); });
    c.check("rows alike", LANES, a);

    row_facts facts = {-1, -1, 0, 0};
    unsigned right = 0;
    for (int b = 0; b < looking && rows >= 3; b++) {
        const long long i = rows / 3 * b / looking * 3, length = p.wide[i + 1] - p.wide[i];
        bool same = length > 0 && p.wide[i + 2] == p.wide[i] + 2 * length && p.wide[i + 3] == p.wide[i] + 3 * length;
        for (long long k = p.wide[i]; same && k < p.wide[i + 1]; k++)
            same = op.columns[k] == op.columns[k + length] && op.columns[k] == op.columns[k + 2 * length];
        right += same;
    }
    emulator::launch(looking, 64, [&] { measure_rows<64>(a, op.columns, &facts, looking * 64); });
    if (facts.alike != right) fail("rows that are alike", looking, a.scheme, a, facts.alike);
}

/** EACH vectors at a time, wherever they are. */
template <class T, class V, bool INDEXED, int BLOCK, int TILE, int EACH, int HOW>
void try_together_of(segmented_arguments a, const pattern &p)
{
    using Op = products_together<plain_product<T, V, INDEXED>, EACH, 1024>;
    const int n = 1 + (int)random_below(2 * EACH + 2), groups = (n + EACH - 1) / EACH, each = 1 + (int)random_below(2);
    plain_case<T, V, INDEXED> c(a, p, n, random_below(2), 1);
    const Op op = {c.p, n};
    const int lanes_shift = (int)random_below(6);
    for (int k = 0; k < groups; k += each) {
        blockIdx.y = (unsigned)(k / each);
        emulator::launch(blocks_of(a), BLOCK,
                         [=] { reduce_whole_rows<Op, BLOCK, TILE, HOW, 3, true>(a, op, lanes_shift, groups, each); });
    }
    c.check("vectors together", n, a);
}
template <int BLOCK, int TILE> void try_together(segmented_arguments a, const pattern &p)
{
    using complex = complex_of<unsigned long long>;
    switch (random_below(3)) {
    case 0: try_together_of<unsigned long long, int, false, BLOCK, TILE, 4, ROWS_BY_THREADS>(a, p); break;
    case 1: try_together_of<unsigned, unsigned, true, BLOCK, TILE, 4, ROWS_BY_THREADS>(a, p); break;
    default: try_together_of<complex, complex, false, BLOCK, TILE, 2, ROWS_BY_THREAD>(a, p);
    }
}

/** Vectors by rows: threads for vectors, and for parts of rows. */
template <class T, class V, bool INDEXED, int BLOCK, int TILE, int EACH>
void try_vectors_of(segmented_arguments a, const pattern &p)
{
    using P = plain_product<T, V, INDEXED>;
    vector_threads by = {};
    by.vectors_shift = (int)random_below(6), by.parts_shift = (int)random_below((unsigned)(6 - by.vectors_shift));
    by.n_vectors = EACH * (1 + (int)random_below(10));
    plain_case<T, V, INDEXED> c(a, p, by.n_vectors, true, EACH);
    const P op = c.p;
    for (int k = 0; k < by.n_vectors; k += EACH << by.vectors_shift) {
        blockIdx.y = (unsigned)(k / (EACH << by.vectors_shift));
        emulator::launch(blocks_of(a), BLOCK,
                         [=] { multiply_rows_of_vectors<P, BLOCK, TILE, EACH, 6, 1024>(a, op, by); });
    }
    c.check("vectors by rows", by.n_vectors, a);
}
template <int BLOCK, int TILE> void try_vectors(segmented_arguments a, const pattern &p)
{
    using complex = complex_of<unsigned long long>;
    switch (random_below(4)) {
    case 0: try_vectors_of<unsigned long long, int, false, BLOCK, TILE, 2>(a, p); break;
    case 1: try_vectors_of<unsigned, unsigned, true, BLOCK, TILE, 4>(a, p); break;
    case 2: try_vectors_of<unsigned long long, unsigned long long, false, BLOCK, TILE, 1>(a, p); break;
    default: try_vectors_of<complex, complex, false, BLOCK, TILE, 1>(a, p);
    }
}

/** Sums over all rows, in one launch or two. */
template <int BLOCK, int TILE, int SCAN> void try_fused(const segmented_arguments &given, const pattern &p)
{
    segmented_arguments a = given;
    const bool joins = a.scheme == SCHEME_POSTPROCESS, u_is_y = random_below(2);
    a.first_block = 0, a.end_block = a.n_blocks;
    const int joining = joining_blocks(a);
    std::vector<long long> x(number_product::COLUMNS), y(a.n_rows, 3), u(a.n_rows), z(a.n_rows, 11);
    std::vector<left_open<long long>> slots(2 * (a.n_blocks + joining));
    std::vector<unsigned long long> partials(2 * (a.n_blocks + 1) * 3);
    long long results[2] = {-1, -1};
    for (long long &value : x) value = random_below(20) - 10ll;
    for (long long &value : u) value = random_below(20) - 10ll;
    a.partials = partials.data();
    fused_product<number_product, false> op = {};
    op.x = x.data(), op.y = y.data(), op.y_bytes = 8;
    op.u = u_is_y ? y.data() : u.data(), op.axpy = z.data(), op.gamma = 2, op.results = results;
    op.slots = slots.data(), op.norm = true;
    op.n_slots = joins ? 0 : a.n_blocks;
    using F = fused_product<number_product, false>;
    emulator::launch(a.n_blocks, BLOCK, [=] { reduce_rows<F, BLOCK, TILE, SCAN>(a, op); });
    op.first_slot = a.n_blocks, op.n_slots = a.n_blocks + joining;
    if (joins) emulator::launch(joining, 64, [=] { join_shared_rows<F, 64>(a, op); });
    long long dot = 0, norm = 0;
    for (int i = 0; i < a.n_rows; i++) {
        long long sum = 4;
        for (long long k = p.wide[i]; k < p.wide[i + 1]; k++) sum += (k % 1000 + 1) * x[k * 7 % x.size()];
        dot += (u_is_y ? sum : u[i]) * sum, norm += sum * sum;
        if (y[i] != sum || z[i] != 11 + 2 * sum) fail("fused", SCAN, a.scheme, a, i);
    }
    if (results[0] != dot || results[1] != norm || is_any_left(slots)) fail("sums over rows", SCAN, a.scheme, a, -1);
}

} // namespace

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 2;
    for (int k = 0; k < rounds; k++) {
        for (int kind = 0; kind < 5; kind++) {
            state = (uint64_t)k * 1000 + kind;
            const int rows = kind == 2 ? 100 + (int)random_below(200) : 1 + (int)random_below(1500);
            try_one<64, 4, SCAN_TRANSPOSED>(rows, kind);
            try_one<64, 5, SCAN_WARPS>(rows, kind);
            try_one<64, 4, SCAN_RAKING>(rows, kind);
            try_one<64, 7, SCAN_RAKING_MEMOIZE>(rows, kind);
            try_one<128, 3, SCAN_TRANSPOSED>(rows, kind);
            try_alike<unsigned long long, int, 32, 4, 8, true>(rows, kind);
            try_alike<unsigned long long, unsigned long long, 64, 7, 16, false>(rows, kind);
            try_alike<unsigned, unsigned, 128, 5, 32, true>(rows, kind);
        }
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
