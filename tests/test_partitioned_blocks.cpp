// The kernels of partitioned inverses in src/triangular/cuda run by an emulator of blocks, where there is no GPU:
// patterns of groups against sets, values of inverses and whole solves, in four precisions, against substitution in
// long double.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "emulator/cuda_block.h"

#include "core/gpu_number.cuh"

/* What core/gpu_scalar.cuh has of it, for one processor. */
#define TRINE_CORE_GPU_SCALAR_CUH
template <typename T> T conjugate_of(T a)
{
    if constexpr (scalar<T>::is_complex) return T{a.x, -a.y};
    else return a;
}
template <typename T> T shuffle_xor(T a, int mask)
{
    if constexpr (scalar<T>::is_complex) return T{__shfl_xor_sync(~0u, a.x, mask), __shfl_xor_sync(~0u, a.y, mask)};
    else return __shfl_xor_sync(~0u, a, mask);
}
template <typename T> T shuffle_from(T a, int lane)
{
    if constexpr (scalar<T>::is_complex) return T{__shfl_sync(~0u, a.x, lane), __shfl_sync(~0u, a.y, lane)};
    else return __shfl_sync(~0u, a, lane);
}
template <typename T> T missing_value()
{
    T a;
    memset(&a, 0xFF, sizeof a);
    return a;
}
template <typename T> bool is_missing(T a)
{
    const T mark = missing_value<T>();
    if constexpr (scalar<T>::is_complex) return is_missing(a.x) || is_missing(a.y);
    else return memcmp(&a, &mark, sizeof a) == 0;
}
template <typename T> T missing_or(T a)
{
    if constexpr (scalar<T>::is_complex) return T{missing_or(a.x), missing_or(a.y)};
    else return is_missing(a) ? -a : a;
}
template <typename T> T poll(const T *p) { return *(const volatile T *)p; }
template <typename R> complex_of<R> poll(const complex_of<R> *p) { return {poll(&p->x), poll(&p->y)}; }
template <typename T> void publish(T *p, T a) { *p = a; }
static void atomicMax(unsigned long long *p, unsigned long long a) { *p = std::max(*p, a); }
static unsigned long long __double_as_longlong(double a)
{
    unsigned long long bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
static int32_t atomicCAS(int32_t *p, int32_t expected, int32_t a)
{
    const int32_t before = *p;
    if (before == expected) *p = a;
    return before;
}
static unsigned long long atomicAdd(unsigned long long *p, unsigned long long a)
{
    const unsigned long long before = *p;
    *p += a;
    return before;
}
static int atomicAdd(int *p, int a)
{
    const int before = *p;
    *p += a;
    return before;
}
#include "triangular/common/trials.h"
#include "triangular/cuda/invert_groups.cuh"
#include "triangular/cuda/merge_groups.cuh"
#include "triangular/cuda/partitioned_once.cuh"

namespace {

using value = std::complex<long double>;

void check(bool holds, int line)
{
    if (holds) return;
    fprintf(stderr, "%s:%d: does not hold\n", __FILE__, line);
    exit(1);
}
#define CHECK(condition) check(condition, __LINE__)

template <typename T> value to_value(T a)
{
    if constexpr (scalar<T>::is_complex) return {a.x, a.y};
    else return a;
}
template <typename T> T from_value(value a)
{
    if constexpr (scalar<T>::is_complex) return T{(real_of<T>)a.real(), (real_of<T>)a.imag()};
    else return (T)a.real();
}

uint64_t state = 1;
double random_number() /* in -0.5 .. 0.5 */
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

/** A triangle by level, and groups of so many levels. */
template <typename T> struct problem {
    int64_t n;
    std::vector<int64_t> own_offsets{0}, offsets{0}, middle;
    std::vector<int32_t> own_columns, columns, order, rank, start;
    std::vector<T> own_values, pivots, values;
    std::vector<solved_row> solved;
    std::vector<warp_task> tasks;
    std::vector<double> sizes, inverses;
    std::vector<int32_t> level_of, level_starts; /* of every position; where levels begin */

    problem(int64_t rows, int per_row, int levels_of_group, double off_diagonal) : n(rows)
    {
        std::vector<std::set<int32_t>> needs(n);
        std::vector<int32_t> level(n), position(n), sorted(n);
        for (int32_t i = 0; i < n; i++) {
            for (int k = 0; i && k < per_row; k++)
                if (i % 3 || !k) needs[i].insert(std::max(0, i - 1 - (int)((random_number() + 0.5) * 40)));
            for (int32_t c : needs[i]) level[i] = std::max(level[i], level[c] + 1);
            sorted[i] = i;
        }
        std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return level[a] < level[b]; });
        for (int32_t p = 0; p < n; p++) position[sorted[p]] = p;
        std::vector<std::set<int32_t>> inverse(n);
        int32_t first = 0;
        for (int32_t p = 0; p < n; p++) {
            const int32_t l = level[sorted[p]];
            if (l % levels_of_group == 0 && (!p || level[sorted[p - 1]] != l)) first = p;
            start.push_back(first);
            if ((int)level_starts.size() <= l) level_starts.push_back(p);
            level_of.push_back(l);
            rank.push_back(l % levels_of_group);
            inverse[p].insert(p);
            for (int32_t row : needs[sorted[p]]) {
                const int32_t c = position[row];
                own_columns.push_back(c);
                own_values.push_back(from_value<T>(value(off_diagonal) * value(random_number(), random_number())));
                if (c < first) inverse[p].insert(c);
                else inverse[p].insert(inverse[c].begin(), inverse[c].end());
            }
            own_offsets.push_back((int64_t)own_columns.size());
            for (int32_t c : inverse[p])
                if (c < first) columns.push_back(c);
            middle.push_back((int64_t)columns.size());
            for (int32_t c : inverse[p])
                if (c >= first) columns.push_back(c);
            offsets.push_back((int64_t)columns.size());
            pivots.push_back(from_value<T>(value(1 + random_number() / 2, random_number() / 2)));
            order.push_back(sorted[p]);
        }
        values.resize(columns.size() + 1), solved.resize(n), sizes.resize(n), inverses.resize(n);
        for (int32_t p = 0, lanes = 1; p < n; lanes = lanes == 32 ? 1 : 2 * lanes) {
            const int32_t count = (int32_t)std::min<int64_t>(32 / lanes, n - p);
            tasks.push_back({p, (int16_t)count, (int16_t)lanes, -1});
            p += count;
        }
    }
    partitioned_arrays<T> arrays(bool unit)
    {
        return {n,
                own_offsets.data(),
                own_columns.data(),
                order.data(),
                own_values.data(),
                unit ? nullptr : pivots.data(),
                offsets.data(),
                middle.data(),
                columns.data(),
                values.data(),
                solved.data(),
                sizes.data(),
                inverses.data()};
    }
};

/** heavy: rows with more work, own entries times all, are for blocks. */
template <typename T> void invert(problem<T> &P, bool unit, double most, growth_report *report, int64_t heavy,
                                  int32_t widest = MOST_WIDTH)
{
    *report = {};
    std::vector<invert_task> tasks;
    std::vector<int32_t> sorted;
    for (int r = 0; (int64_t)sorted.size() < P.n; r++)
        for (int for_block = 0; for_block < 2; for_block++) {
            const size_t first = sorted.size();
            for (int32_t p = 0; p < P.n; p++) {
                const int64_t own = P.own_offsets[p + 1] - P.own_offsets[p], all = P.offsets[p + 1] - P.offsets[p];
                if (P.rank[p] != r || is_for_block(own, all, PART_OF_ROW<T>, heavy) != for_block) continue;
                for (int part = 0; for_block && part < parts_of_row(all, PART_OF_ROW<T>); part++)
                    tasks.push_back({(int32_t)sorted.size(), part});
                sorted.push_back(p);
            }
            for (size_t s = first; s < sorted.size() && !for_block; s += 5)
                tasks.push_back({(int32_t)s, -(int32_t)std::min<size_t>(5, sorted.size() - s)});
        }
    unsigned ticket = 0;
    const invert_args<T> a = {P.arrays(unit), sorted.data(), tasks.data(), (int64_t)tasks.size(), &ticket, widest};
    std::fill(P.values.begin(), P.values.end(), missing_value<T>());
    emulator::launch(2, 64, [&] { measure_rows_of_t<T>(a, 4); });
    emulator::launch(2, INVERT_THREADS, [&] { invert_groups<T>(a); });
    emulator::launch(2, 64, [&] { measure_inverses<T>(a, 16); });
    emulator::launch(2, 64, [&] { judge_rows<T>(a, 8, most, report); });
}

/** Every row times the group's columns of T is a row of the unit matrix: what the definition says. */
template <typename T> void check_inverses(const problem<T> &P, bool unit)
{
    const double eps = sizeof(real_of<T>) == 4 ? FLT_EPSILON : DBL_EPSILON;
    for (int64_t p = 0; p < P.n; p++) {
        std::vector<value> product(P.n);
        std::vector<double> size(P.n);
        for (int64_t i = P.offsets[p]; i < P.offsets[p + 1]; i++) {
            const int32_t c = P.columns[i];
            const value v = to_value(P.values[i]);
            if (i < P.middle[p]) {
                product[c] += v, size[c] += (double)std::abs(v);
                continue;
            }
            const value d = unit ? 1 : to_value(P.pivots[c]);
            product[c] += v * d, size[c] += (double)std::abs(v * d);
            for (int64_t k = P.own_offsets[c]; k < P.own_offsets[c + 1]; k++) {
                const value term = v * to_value(P.own_values[k]);
                product[P.own_columns[k]] += term, size[P.own_columns[k]] += (double)std::abs(term);
            }
        }
        for (int64_t c = 0; c < P.n; c++) CHECK(std::abs(product[c] - value(c == p)) <= 100 * eps * (1 + size[c]));
    }
}

template <typename T> void solve(const partitioned_args<T> &a, int blocks)
{
    emulator::launch(blocks, 64, [&] {
        if (a.nrhs > 8) solve_groups<T, 16>(a);
        else if (a.nrhs > 1) solve_groups<T, 4>(a);
        else solve_groups<T, 1>(a);
    });
}

/** In one launch, from b or from B. */
template <typename T, int R, int V, int U, int ASK, bool AHEAD, bool IS_LONG>
void solve_in_one_launch(const partitioned_args<T> &a, const std::vector<int32_t> &start, bool reordered)
{
    using X = typename kept<T, R *V>::type;
    std::vector<warp_task> slots;
    for (int32_t p = 0, lanes = R; p < a.d.n; lanes = lanes == 32 * SLOTS ? R : 2 * lanes) {
        const int32_t warps = std::max(1, lanes / 32),
                      count = (int32_t)std::min<int64_t>(std::max(1, 32 / lanes), a.d.n - p);
        while (slots.size() % warps) slots.push_back({0, 0, 1, -1});
        const int32_t gate = start[p] ? (start[start[p] - 1] + start[p]) / 2 : -1; /* amid the group before theirs */
        for (int w = 0; w < warps; w++) slots.push_back({p, (int16_t)count, (int16_t)lanes, gate});
        p += count;
    }
    while (slots.size() % SLOTS) slots.push_back({0, 0, 1, -1});
    unsigned tickets[2] = {~0u, 7};
    std::vector<X> x(a.d.n * a.nrhs + 1, missing_value<X>()), next(x.size()), before(x.size());
    for (int64_t i = 0; a.before && i < a.d.n * a.nrhs; i++) before[i] = kept<T, R *V>::of(a.before[i]);
    const int blocks = (int)(slots.size() / SLOTS * ((a.nrhs + R *V - 1) / (R *V)));
    const once_args<T> o = {a.d,
                            slots.data(),
                            a.nrhs,
                            a.b_row,
                            a.b_col,
                            a.x_row,
                            a.x_col,
                            reordered ? a.b : nullptr,
                            a.B,
                            a.X,
                            x.data(),
                            &tickets[0],
                            next.data(),
                            &tickets[1],
                            a.before ? before.data() : nullptr,
                            a.alpha,
                            a.conjugate};
    emulator::launch(blocks, 32 * SLOTS, [&] { solve_once<T, R, V, U, ASK, AHEAD, IS_LONG, 1>(o); });
    CHECK(tickets[0] == (unsigned)blocks - 1 && tickets[1] == ~0u);
    for (int64_t i = 0; i < a.d.n * a.nrhs; i++) CHECK(is_missing(next[i]));
}

template <typename T>
void check_solve(problem<T> &P, bool unit, bool conjugate, int64_t nrhs, int blocks, double slack, bool refine)
{
    const double eps = sizeof(real_of<T>) == 4 ? FLT_EPSILON : DBL_EPSILON;
    std::vector<T> B(P.n * nrhs + 1), b(P.n * nrhs + 1), x(P.n * nrhs + 1), residual_b(b), residual_x(b);
    for (T &v : B) v = from_value<T>(value(random_number(), random_number()));
    std::vector<T> X = B;
    unsigned ticket = 7;
    /* in place, by columns */
    const partitioned_args<T> a = {P.arrays(unit),
                                   nrhs,
                                   1,
                                   P.n,
                                   1,
                                   P.n,
                                   X.data(),
                                   X.data(),
                                   b.data(),
                                   x.data(),
                                   nullptr,
                                   &ticket,
                                   P.tasks.data(),
                                   (int64_t)P.tasks.size(),
                                   from_value<T>(value(2, 1)),
                                   conjugate,
                                   blocks > 1};
    emulator::launch(3, 64, [&] { take_right_hand_sides<T, 2>(a); });
    solve(a, blocks);
    if (refine) {
        partitioned_args<T> correction = a;
        correction.b = residual_b.data(), correction.x = residual_x.data(), correction.before = a.x;
        emulator::launch(3, 64, [&] { take_residuals<T, 2>(a, correction); });
        solve(correction, blocks);
    }
    auto check_residual = [&](const std::vector<T> &found) {
        for (int64_t j = 0; j < nrhs; j++)
            for (int64_t p = 0; p < P.n; p++) {
                auto read = [&](T v) { return conjugate ? std::conj(to_value(v)) : to_value(v); };
                auto solution = [&](int64_t q) { return to_value(found[P.order[q] + j * P.n]); };
                value residual = to_value(a.alpha) * to_value(B[P.order[p] + j * P.n]);
                double size = (double)std::abs(residual);
                for (int64_t k = P.own_offsets[p]; k <= P.own_offsets[p + 1]; k++) {
                    const bool last = k == P.own_offsets[p + 1];
                    const value term = last ? (unit ? value(1) : read(P.pivots[p])) * solution(p)
                                            : read(P.own_values[k]) * solution(P.own_columns[k]);
                    residual -= term, size += (double)std::abs(term);
                }
                CHECK(std::abs(residual) <= slack * eps * size);
            }
    };
    check_residual(X);
    if (refine) return;
    std::vector<T> found(P.n * nrhs);
    partitioned_args<T> other = a;
    other.B = B.data(), other.X = found.data();
    if (nrhs == 1) {
        solve_in_one_launch<T, 1, 1, 4, ASK_ALL, false, false>(other, P.start, true);
        check_residual(found);
        solve_in_one_launch<T, 1, 1, 4, ASK_ALL, false, true>(other, P.start, true);
        check_residual(found);
        solve_in_one_launch<T, 1, 1, 2, ASK_NEWEST, true, true>(other, P.start, false);
        check_residual(found);
        solve_in_one_launch<T, 1, 1, 4, ASK_BY_ROW, false, false>(other, P.start, false);
    } else if (nrhs % 2) {
        solve_in_one_launch<T, 4, 1, 4, ASK_BY_ROW, true, true>(other, P.start, unit);
    } else {
        solve_in_one_launch<T, 16, 2, 2, ASK_ALL, false, true>(other, P.start, unit);
    }
    check_residual(found);
}

/** Every row has its lanes, in one warp or in warps side by side, and rows ascend from slot to slot. */
void check_packing()
{
    static const packing ways[] = {{1, 8, 4}, {4, 4, 4}, {16, 1, 1}};
    for (const packing &how : ways)
        for (int64_t n : {1, 31, 512, 513, 2000}) {
            const int32_t segments = (int32_t)((n + SEGMENT - 1) / SEGMENT);
            std::vector<int64_t> offsets{0};
            std::vector<int32_t> blocks(segments), at{0};
            for (int32_t p = 1; p < n; p++)
                if (random_number() > 0.3) at.push_back(p);
            for (int64_t p = 0; p < n; p++)
                offsets.push_back(
                    offsets[p] + 1 +
                    (int64_t)(p % 7 ? 40 * (random_number() + 0.5) : pow(10, 4 * (random_number() + 0.5))));
            std::vector<int64_t> middle(n);
            for (int64_t p = 0; p < n; p++) middle[p] = offsets[p] + (offsets[p + 1] - offsets[p]) * (p % 5) / 5;
            const group_starts starts = {at.data(), (int64_t)at.size(), middle.data()};
            int32_t longest = 0, longest_again = 0;
            emulator::launch(segments, 32,
                             [&] { pack_rows(how, n, offsets.data(), starts, blocks.data(), nullptr, &longest); });
            int64_t most_of_x = 0;
            for (int64_t p = 0; p < n; p++) most_of_x = std::max(most_of_x, middle[p] - offsets[p]);
            CHECK(longest == most_of_x);
            int32_t total = 0;
            for (int32_t &count : blocks) {
                const int32_t own = count;
                count = total, total += own;
            }
            std::vector<warp_task> slots((size_t)total * SLOTS, {-1, -1, -1, -2});
            emulator::launch(segments, 32, [&] {
                pack_rows(how, n, offsets.data(), starts, blocks.data(), slots.data(), &longest_again);
            });
            int64_t next = 0;
            for (size_t k = 0; k < slots.size(); k++) {
                const warp_task &t = slots[k];
                CHECK(t.count >= 0);
                if (t.count == 0) continue;
                CHECK(t.first == next && (t.lanes & (t.lanes - 1)) == 0 && t.lanes >= how.least);
                auto group_of = [&](int64_t p) { return std::upper_bound(at.begin(), at.end(), p) - at.begin() - 1; };
                const int64_t group = group_of(t.first);
                const bool waits = group && middle[t.first] - offsets[t.first] >= FREE;
                CHECK(t.gate == (waits ? (at[group - 1] + at[group]) / 2 : -1));
                for (int64_t p = next; p < next + t.count; p++)
                    CHECK(t.lanes >= lanes_of(how, offsets[p + 1] - offsets[p], group_of(p) == 0));
                if (t.lanes > 32) {
                    const int warps = t.lanes / 32;
                    CHECK(t.count == 1 && k % warps == 0 && t.lanes <= 32 * SLOTS);
                    for (int w = 0; w < warps; w++)
                        CHECK(slots[k + w].first == t.first && slots[k + w].lanes == t.lanes);
                    k += warps - 1;
                } else {
                    CHECK(t.count * t.lanes <= 32);
                }
                next += t.count;
            }
            CHECK(next == n);
        }
}

template <typename T> void check_everything()
{
    for (int64_t n : {1, 2, 33, 120})
        for (int levels : {1, 7, 1000})
            for (int unit = 0; unit < 2; unit++) {
                problem<T> P(n, 3, levels, 0.5);
                growth_report report;
                invert(P, unit, 32, &report, levels == 7 ? 0 : 100);
                check_inverses(P, unit);
                CHECK(report.substituted == 0);
                for (int64_t nrhs : {1, 3, 20}) /* blocks run one after another: the first takes all tickets */
                    check_solve(P, unit, n % 2, nrhs, 1 + unit, 100, false);
                check_solve(P, unit, n % 2, 3, 1 + unit, 8, true);
                invert(P, unit, 1.1, &report, levels == 7 ? 1000000 : 0); /* rows of both kinds */
                CHECK(n < 100 || report.substituted > 0);
                for (int64_t nrhs : {1, 3, 20}) check_solve(P, unit, n % 2, nrhs, 1 + unit, 100, false);
            }
    /* The inverse of a large group has large entries, or none that are numbers: what needs them is
     * substituted. */
    problem<T> P(100, 3, 1000, 60);
    growth_report report;
    invert(P, true, 32, &report, 100);
    CHECK(report.substituted > 50);
    P.pivots[7] = T{};
    invert(P, false, 32, &report, 0);
    CHECK(P.solved[7].first < 0 && report.most == __double_as_longlong(INFINITY));
}

/** Rows of several parts, whose rows needed have all columns of a part, or some, or none; solves take their values in
 *  several batches. */
template <typename T> void check_long_rows()
{
    problem<T> P(2 * PART_OF_ROW<T> + 100, 4, 2 * PART_OF_ROW<T> - 100, 0.1);
    growth_report report;
    int64_t longest = 0;
    for (int64_t p = 0; p < P.n; p++) longest = std::max(longest, P.offsets[p + 1] - P.offsets[p]);
    CHECK(longest > PART_OF_ROW<T>);
    for (int32_t widest : {MOST_WIDTH, PART_OF_ROW<T> + 20, 0}) { /* bits, some of both, hash tables */
        invert(P, false, 1e300, &report, 100, widest);
        check_inverses(P, false);
    }
    for (int64_t nrhs : {1, 3}) check_solve(P, false, true, nrhs, 1, 100, false);
}

unsigned rows_of_blocks, broad_rows; /* that took more than a warp's table; that take too long */

/** Levels joined two by two into groups of so many have the patterns of the definition, whatever tables and room there
 *  are. */
void check_patterns(int64_t n, int per_row, int levels, int64_t broad)
{
    problem<double> P(n, per_row, levels, 0.5);
    const int n_levels = (int)P.level_starts.size();
    std::vector<int32_t> group = P.level_of, starts = P.level_starts, first_levels, pairs, renumber, list(n), longer(n),
                         pool(2000000), table(2048, -1);
    std::vector<row_place> rows(n), merged(n);
    std::vector<group_report> found(n_levels);
    unsigned long long used = P.own_columns.size() + n;
    unsigned listed[2] = {};
    merge_args a = {n,          P.own_offsets.data(), P.own_columns.data(), group.data(),  starts.data(),
                    nullptr,    rows.data(),          merged.data(),        pool.data(),   (int64_t)pool.size(),
                    &used,      found.data(),         list.data(),          longer.data(), &listed[0],
                    &listed[1], table.data(),         {6, 10, 11},          broad};
    for (int l = 0; l < n_levels; l++) first_levels.push_back(l);
    emulator::launch(3, 64, [&] { begin_rows(a); });
    for (int l = 0; l < n_levels; l++) {
        const int64_t end = l + 1 < n_levels ? starts[l + 1] : n;
        CHECK((int64_t)found[l].entries == P.own_offsets[end] - P.own_offsets[starts[l]] + end - starts[l]);
    }
    for (bool joined = true; joined;) {
        const int count = (int)starts.size();
        int n_pairs = 0, next = 0;
        pairs.assign(count, -1), renumber.assign(count, 0);
        for (int g = 1; g < count; g++)
            if (pairs[g - 1] < 0 && first_levels[g] % levels) pairs[g] = n_pairs++;
        joined = n_pairs > 0;
        found.assign(n_levels, {}), listed[0] = listed[1] = 0;
        a.pairs = pairs.data(), a.starts = starts.data(), a.found = found.data();
        emulator::launch(2, 64, [&] { merge_short_rows(a); });
        emulator::launch(1, MERGE_THREADS, [&] { merge_long_rows<false>(a); });
        merge_args large = a;
        large.list = a.longer, large.listed = a.n_longer;
        emulator::launch(1, MERGE_THREADS, [&] { merge_long_rows<true>(large); });
        rows_of_blocks += listed[0];
        std::vector<group_report> expected(n_levels);
        for (int32_t p = 0; p < n; p++) {
            if (pairs[group[p]] < 0) continue;
            group_report &e = expected[pairs[group[p]]];
            e.entries += merged[p].all, e.longest = std::max(e.longest, merged[p].all);
            int64_t in_group = 0;
            for (int64_t k = P.own_offsets[p]; k < P.own_offsets[p + 1]; k++)
                in_group += P.own_columns[k] >= starts[group[p] - 1];
            e.too_long += in_group * merged[p].all > broad;
        }
        for (int q = 0; q < n_pairs; q++)
            CHECK(found[q].entries == expected[q].entries && found[q].longest == expected[q].longest &&
                  found[q].too_long == expected[q].too_long && !found[q].left_out),
                broad_rows += found[q].too_long;
        std::vector<int32_t> new_starts, new_levels;
        for (int g = 0; g < count; g++) {
            if (pairs[g] < 0) new_starts.push_back(starts[g]), new_levels.push_back(first_levels[g]), next++;
            renumber[g] = next - 1;
        }
        emulator::launch(2, 64, [&] { take_merged(a, renumber.data(), group.data()); });
        starts = new_starts, first_levels = new_levels;
    }
    CHECK((int)starts.size() == (n_levels + levels - 1) / levels);
    std::vector<int64_t> middle(n);
    std::vector<int32_t> columns(P.columns.size() + 1);
    std::vector<int64_t> lengths(n + 1);
    emulator::launch(2, 64, [&] { take_lengths(n, rows.data(), lengths.data()); });
    for (int64_t p = 0; p < n; p++) CHECK(lengths[p] == P.offsets[p + 1] - P.offsets[p]);
    emulator::launch(
        2, 64, [&] { move_patterns(n, rows.data(), pool.data(), P.offsets.data(), columns.data(), middle.data()); });
    for (int64_t p = 0; p < n; p++) {
        std::sort(columns.begin() + P.offsets[p], columns.begin() + P.offsets[p + 1]);
        CHECK(middle[p] == P.middle[p]);
    }
    for (size_t i = 0; i < P.columns.size(); i++) CHECK(columns[i] == P.columns[i]);
}

} // namespace

/** One trial that loses next to nothing decides; otherwise five do, by their median. */
void check_trials()
{
    const double eps = DBL_EPSILON, lists[][PARTITION_TRIALS] = {
                                        {3, 99, 99, 99, 99}, {5, 1, 70, 6, 80}, {90, 2, 50, 60, 1}, {8, 7, 6, 5, 300}};
    const double medians[] = {3, 6, 50, 7};
    for (int l = 0; l < 4; l++) {
        partition_trials t = {};
        bool more = true;
        for (int i = 0; i < PARTITION_TRIALS && more; i++) more = partition_add_trial(&t, lists[l][i] * eps, eps);
        CHECK(!more && t.count == (l ? PARTITION_TRIALS : 1) && partition_median_of_trials(&t) == medians[l] * eps);
    }
}

int main()
{
    check_packing();
    check_trials();
    for (int64_t n : {1, 2, 31, 33, 120})
        for (int levels : {1, 2, 5, 1000})
            for (int per_row : {1, 4})
                for (int64_t broad : {20, 1000000}) check_patterns(n, per_row, levels, broad);
    check_patterns(500, 6, 1000, 1000000); /* rows that bring many columns */
    CHECK(rows_of_blocks > 100 && broad_rows > 100);
    puts("patterns of groups are right");
    check_long_rows<complex_of<double>>();
    check_everything<float>();
    check_everything<double>();
    check_everything<complex_of<float>>();
    check_everything<complex_of<double>>();
    puts("values of inverses and solves are right");
}
