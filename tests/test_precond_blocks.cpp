// The kernels of src/precond/cuda/adapt.cuh and graph.cuh run by an emulator of blocks, where there is no GPU: MOS_A's
// construction on the paths that the CPU has found, beside the CPU's factors, and the graphs of B_l beside plain loops.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <vector>

#include "emulator/cuda_block.h"

static inline int atomicAdd(int *p, int a) { return __atomic_fetch_add(p, a, __ATOMIC_RELAXED); }
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long a)
{
    return __atomic_fetch_add(p, a, __ATOMIC_RELAXED);
}

static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }

static inline unsigned long long atomicMax(unsigned long long *p, unsigned long long a)
{
    const unsigned long long before = *p;
    if (before < a) *p = a;
    return before;
}

#include "precond/cuda/adapt.cuh"
#include "precond/cuda/graph.cuh"
#include "precond/cuda/look.cuh"

#include "precond/precond.h"

namespace {

#define CHECK(condition)                                                             \
    do                                                                               \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, trine_last_error()); \
            exit(1);                                                                 \
        }                                                                            \
    while (0)
#define OK(call) CHECK((call) == TRINE_SUCCESS)

template <typename T> constexpr trine_dtype dtype_of();
template <> constexpr trine_dtype dtype_of<float>() { return TRINE_S; }
template <> constexpr trine_dtype dtype_of<double>() { return TRINE_D; }
template <> constexpr trine_dtype dtype_of<complex_of<float>>() { return TRINE_C; }
template <> constexpr trine_dtype dtype_of<complex_of<double>>() { return TRINE_Z; }

uint64_t state = 20261124;
double uniform()
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}
template <typename T> T number(double re, double im)
{
    if constexpr (scalar<T>::is_complex) return T{(real_of<T>)re, (real_of<T>)im};
    else return (T)re;
}

/** Compressed rows; of B_l with room between them. */
template <typename T> struct matrix {
    int64_t n = 0;
    std::vector<int64_t> begin, end;
    std::vector<int32_t> columns;
    std::vector<T> values;
};

/** Random rows of `shortest` to `longest` entries, unsymmetric. Without some diagonals, on a path of large entries. */
template <typename T> matrix<T> random_matrix(int64_t n, int shortest, int longest, double scale, bool lacks_diagonals)
{
    matrix<T> A;
    A.n = n;
    for (int64_t i = 0; i < n; i++) {
        std::map<int32_t, T> row;
        const int count = shortest + (int)(uniform() * (longest - shortest + 1));
        for (int k = 0; k < count; k++) {
            const int64_t reach = k % 2 ? n : 6;
            int64_t j = reach == n ? (int64_t)(uniform() * (double)n) : i + (int64_t)(uniform() * 13) - 6;
            if (j >= 0 && j < n && j != i) row[(int32_t)j] = number<T>(scale * (2 * uniform() - 1), scale * uniform());
        }
        for (auto &entry : row) entry.second = adapt_scaled((real_of<T>)(lacks_diagonals ? 0.02 : 1), entry.second);
        for (int64_t j = i - 1; lacks_diagonals && j <= i + 1; j += 2)
            if (j >= 0 && j < n) row[(int32_t)j] = number<T>(scale * (2 + uniform()), scale * uniform());
        if (!lacks_diagonals || i % 11 != 5)
            row[(int32_t)i] = number<T>(scale * (1 + 0.7 * (double)row.size() * (0.5 + uniform())), -scale * uniform());
        A.begin.push_back((int64_t)A.columns.size());
        for (const auto &entry : row) A.columns.push_back(entry.first), A.values.push_back(entry.second);
        A.end.push_back((int64_t)A.columns.size());
    }
    return A;
}

template <typename T> T entry_of(const matrix<T> &B, int32_t i, int32_t j)
{
    for (int64_t k = B.begin[i]; k < B.end[i]; k++)
        if (B.columns[k] == j) return B.values[k];
    return zero_of<T>();
}

/** One factor, in path order. */
template <typename T> struct bands {
    std::vector<T> a, b, c;
    std::vector<int32_t> permutation;
    explicit bands(int64_t n) : a(n), b(n), c(n), permutation(n) {}
};

template <typename T> double distance(const std::vector<T> &x, const std::vector<T> &y)
{
    double most = 0, size = 0;
    for (size_t i = 0; i < x.size(); i++) {
        most = fmax(most, (double)adapt_modulus(x[i] - y[i]));
        size = fmax(size, (double)adapt_modulus(y[i]));
    }
    return size > 0 ? most / size : most;
}

template <typename T, int LANES> void run_rows(row_arguments<T> r, const std::vector<int32_t> &list)
{
    constexpr int ROWS = team<LANES>::THREADS / LANES;
    if (list.empty()) return;
    r.list = list.data();
    r.count = (int64_t)list.size();
    emulator::launch((int)((r.count + ROWS - 1) / ROWS), team<LANES>::THREADS, [&] { adapt_rows<T, LANES>(r); });
}

/** What a GPU keeps, and one step with it. */
template <typename T> struct construction {
    const int64_t n;
    std::vector<int64_t> room, ends[2];
    std::vector<int32_t> columns[2], position, start, last;
    std::vector<T> values[2], before, after, centre, diagonal;
    std::vector<fractional<wide<T>>> maps;
    std::vector<uint8_t> joined;
    std::vector<int32_t> tier[8];
    std::vector<double> sums;
    int32_t bad = 0;
    product_levels levels;

    construction(const matrix<T> &A, int most)
        : n(A.n), room(n + 1), position(n), start(n), last(n / ADAPT_CHUNK + 1), centre(n), diagonal(n),
          maps(2 * (n / ADAPT_CHUNK + 1)), joined(n), sums(2 * n), levels(lay_products(n))
    {
        for (int64_t i = 0; i < n; i++) {
            bool has = false;
            for (int64_t k = A.begin[i]; k < A.end[i]; k++) has = has || A.columns[k] == i;
            const int64_t count = A.end[i] - A.begin[i] + !has;
            room[i + 1] = room[i] + (most && count > most + 1 ? most + 1 : count);
            int k = 0;
            while (8 << k < count) k++;
            CHECK(k < 8);
            tier[k].push_back((int32_t)i);
        }
        for (int k = 0; k < 2; k++) ends[k].resize(n), columns[k].resize(room[n]), values[k].resize(room[n]);
        before.resize(levels.level[levels.levels]);
        after.resize(levels.level[levels.levels]);
    }
    void generate(const bands<T> &f)
    {
        const int64_t chunks = (n + ADAPT_CHUNK - 1) / ADAPT_CHUNK;
        for (int64_t i = 0; i < n; i++) {
            position[f.permutation[i]] = (int32_t)i;
            joined[i] = i > 0 && (adapt_modulus(f.a[i]) > 0 || adapt_modulus(f.c[i - 1]) > 0);
        }
        const generator_arguments<T> g = {n,
                                          chunks,
                                          f.a.data(),
                                          f.b.data(),
                                          f.c.data(),
                                          joined.data(),
                                          maps.data(),
                                          maps.data() + chunks,
                                          last.data(),
                                          before.data(),
                                          after.data(),
                                          centre.data(),
                                          start.data(),
                                          &bad};
        const int blocks = (int)((chunks + ADAPT_THREADS - 1) / ADAPT_THREADS);
        emulator::launch(blocks, ADAPT_THREADS, [&] { adapt_compose(g); });
        emulator::launch(2, ADAPT_SCAN, [&] { adapt_scan(g); });
        emulator::launch(blocks, ADAPT_THREADS, [&] { adapt_generate(g); });
        for (int l = 0; l + 1 < levels.levels; l++)
            emulator::launch((int)((levels.level[l + 2] - levels.level[l + 1] + ADAPT_THREADS - 1) / ADAPT_THREADS),
                             ADAPT_THREADS, [&] { adapt_multiply_up(levels, l, before.data(), after.data()); });
    }
    matrix<T> multiply(const matrix<T> &B, const bands<T> &f, double threshold, int to)
    {
        const row_arguments<T> r = {0,
                                    nullptr,
                                    B.begin.data(),
                                    B.end.data(),
                                    B.columns.data(),
                                    B.values.data(),
                                    n,
                                    position.data(),
                                    f.permutation.data(),
                                    start.data(),
                                    joined.data(),
                                    before.data(),
                                    after.data(),
                                    centre.data(),
                                    levels,
                                    threshold,
                                    room.data(),
                                    ends[to].data(),
                                    columns[to].data(),
                                    values[to].data(),
                                    diagonal.data(),
                                    sums.data()};
        run_rows<T, 8>(r, tier[0]);
        run_rows<T, 16>(r, tier[1]);
        run_rows<T, 32>(r, tier[2]);
        run_rows<T, 64>(r, tier[3]);
        run_rows<T, 128>(r, tier[4]);
        run_rows<T, 256>(r, tier[5]);
        matrix<T> next;
        next.n = n;
        next.begin.assign(room.begin(), room.end() - 1);
        next.end = ends[to];
        next.columns = columns[to];
        next.values = values[to];
        return next;
    }
};

template <typename T> void extract(const matrix<T> &B, const bands<T> &paths, bands<T> &f)
{
    for (int64_t i = 0; i < B.n; i++) {
        const int32_t v = f.permutation[i] = paths.permutation[i];
        const bool follows = i > 0 && (adapt_modulus(paths.a[i]) > 0 || adapt_modulus(paths.c[i - 1]) > 0),
                   goes_on = i + 1 < B.n && (adapt_modulus(paths.a[i + 1]) > 0 || adapt_modulus(paths.c[i]) > 0);
        f.a[i] = follows ? entry_of(B, v, paths.permutation[i - 1]) : zero_of<T>();
        f.b[i] = entry_of(B, v, v);
        f.c[i] = goes_on ? entry_of(B, v, paths.permutation[i + 1]) : zero_of<T>();
    }
}

/* -------------------------------------------------------------------- graphs */

/** The weights that trine_forest_set_weights makes of diag(d)^-1 B, by plain loops. */
template <typename T> void compare_graph(const matrix<T> &B, const std::vector<T> &d, bool drops)
{
    using R = real_of<T>;
    const int64_t n = B.n;
    const R least = drops ? PRECOND_ROUNDING * std::numeric_limits<R>::epsilon() : R(0);
    std::vector<std::map<int32_t, R>> expected(n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = B.begin[i]; k < B.end[i]; k++) {
            const int32_t j = B.columns[k];
            if (j == i) continue;
            R w = adapt_modulus(B.values[k] / d[i]);
            if (w < least) w = 0;
            expected[i][j] += w;
            expected[j][(int32_t)i] += w;
        }
    const rows_view view = {B.begin.data(), B.end.data(), B.columns.data()};
    std::vector<unsigned long long> missing(n + 1), extra(n + 1);
    std::vector<int64_t> rows(n + 1), missing_before(n + 1), extra_before(n + 1);
    std::vector<int32_t> filled(n);
    for (int64_t at = 0; at < n * GRAPH_LANES; at++) count_missing{view, missing.data(), extra.data()}(at);
    for (int64_t i = 0; i < n; i++) {
        missing_before[i + 1] = missing_before[i] + (int64_t)missing[i];
        extra_before[i + 1] = extra_before[i] + (int64_t)extra[i];
    }
    unsigned long long longest = 0;
    std::vector<int64_t> counts(n + 1), extras(extra.begin(), extra.end());
    for (int64_t i = 0; i <= n; i++) count_row{view, extras.data(), counts.data(), &longest, n}(i);
    CHECK((int64_t)longest == *std::max_element(counts.begin(), counts.end()));
    for (int64_t i = 0; i < n; i++) rows[i + 1] = rows[i] + counts[i];
    const size_t all = (size_t)missing_before[n];
    std::vector<int32_t> keys(all), sources(all), order(all), sorted(all);
    for (int64_t at = n * GRAPH_LANES - 1; at >= 0; at--) /* any order of threads */
        list_missing{view, missing_before.data(), filled.data(), keys.data(), sources.data()}(at);
    for (size_t k = 0; k < all; k++) order[k] = (int32_t)k;
    std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) { return keys[x] < keys[y]; });
    for (size_t k = 0; k < all; k++) sorted[k] = sources[order[k]];
    std::vector<int64_t> begin(n), end(n);
    std::vector<int32_t> columns(rows[n]);
    std::vector<R> weights(rows[n]);
    for (int64_t at = 0; at < n * GRAPH_LANES; at++)
        merge_row<T>{view,          B.values.data(), d.data(),   nullptr,        extra_before.data(), rows.data(),
                     sorted.data(), begin.data(),    end.data(), columns.data(), weights.data(),      least}(at);
    for (int64_t i = 0; i < n; i++) {
        CHECK(end[i] - begin[i] == (int64_t)expected[i].size());
        int64_t k = begin[i];
        for (const auto &entry : expected[i]) {
            CHECK(columns[k] == entry.first);
            CHECK(fabs((double)(weights[k] - entry.second)) <= 4e-7 * (double)entry.second);
            k++;
        }
    }
}

/* --------------------------------------------------------- what a choice looks at */

template <typename T> rows_seen<T> seen(const matrix<T> &A)
{
    return {A.begin.data(), A.end.data(), A.columns.data(), A.values.data()};
}

bool is_near(double x, double y) { return fabs(x - y) <= 1e-6 * fabs(y); }

template <typename T> void compare_look(const matrix<T> &A)
{
    double sums[LOOK_SUMS] = {}, swept[LOOK_SUMS] = {}, expected[LOOK_SUMS] = {}, squares = 0;
    std::vector<double> y(A.n), z(A.n), last(A.n);
    std::vector<int32_t> largest(2 * A.n);
    for (int64_t i = 0; i < A.n; i++) look_at_row<T>{seen(A), y.data(), largest.data()}(i, sums);
    for (int64_t i = 0; i < A.n; i++) look_at_sweep<T>{seen(A), y.data(), z.data()}(i, swept);
    for (int64_t i = 0; i < A.n; i++) {
        std::vector<double> others;
        double centre = 0, all = 0, sweep = 0;
        for (int64_t k = A.begin[i]; k < A.end[i]; k++) {
            const double size = (double)adapt_modulus(A.values[k]);
            if (A.columns[k] == i) centre = size;
            else others.push_back(size), all += size, sweep += size * y[A.columns[k]];
        }
        std::sort(others.rbegin(), others.rend());
        double near = centre;
        for (size_t k = 0; k < others.size() && k < 2; k++) near += others[k];
        const double by = fmax(centre, all);
        last[i] = all / centre;
        if (centre == 0) expected[LOOK_MISSING]++;
        expected[LOOK_DIAGONAL] += centre / by, expected[LOOK_NEAR] += near / by;
        expected[LOOK_ALL] += (centre + all) / by;
        expected[LOOK_LENGTH] += pow((double)(A.end[i] - A.begin[i]), 2);
        expected[LOOK_RATIO] += last[i], expected[LOOK_SQUARE] += last[i] * last[i];
        squares += sweep / centre * (sweep / centre);
    }
    for (int k = 0; k < LOOK_SUMS; k++) CHECK(is_near(sums[k], expected[k]));
    CHECK(is_near(swept[LOOK_SQUARE], squares));
}

/** Rings of `length` rows each, with a weak edge from each ring to the next: of a ring a forest leaves one edge out. */
void compare_rings(int length, int rings, double share)
{
    matrix<double> A;
    A.n = (int64_t)length * rings;
    for (int32_t i = 0; i < A.n; i++) {
        const int32_t first = i / length * length, next = first + (i + 1 - first) % length,
                      before = first + (i - first + length - 1) % length;
        std::map<int32_t, double> row = {{i, 4}, {next, -1}, {before, -1}};
        if (i + length < A.n) row[i + length] = -1e-3;
        A.begin.push_back((int64_t)A.columns.size());
        for (const auto &entry : row) A.columns.push_back(entry.first), A.values.push_back(entry.second);
        A.end.push_back((int64_t)A.columns.size());
    }
    double sums[LOOK_SUMS] = {}, along[LOOK_SUMS] = {};
    std::vector<double> y(A.n);
    std::vector<int32_t> largest(2 * A.n);
    for (int64_t i = 0; i < A.n; i++) look_at_row<double>{seen(A), y.data(), largest.data()}(i, sums);
    for (int64_t i = 0; i < A.n; i++) look_along_paths<double>{seen(A), largest.data()}(i, along);
    CHECK(fabs(along[LOOK_NEAR] / (double)A.n - (1 + share / 2)) < 1e-12);
}

/* ------------------------------------------------------------------ factors */

struct setting {
    int64_t n;
    int shortest, longest, m, most;
    double threshold, scale;
    bool lacks_diagonals;
};

template <typename T> void compare(trine_context ctx, const setting &s)
{
    const double tolerance = 5000 * (sizeof(real_of<T>) == 4 ? (double)FLT_EPSILON : DBL_EPSILON);
    const matrix<T> A = random_matrix<T>(s.n, s.shortest, s.longest, s.scale, s.lacks_diagonals);
    std::vector<int64_t> offsets(A.begin);
    offsets.push_back(A.end.back());
    trine_matrix view;
    trine_precond p;
    trine_precond_options o = {};
    o.method = TRINE_PRECOND_MOS_A;
    o.m = s.m;
    if (s.most) o.pattern = TRINE_PATTERN_MAX_N, o.pattern_entries = s.most;
    if (s.threshold > 0) o.pattern = TRINE_PATTERN_MAX_T, o.pattern_threshold = s.threshold;
    OK(trine_matrix_csr(ctx, &view, dtype_of<T>(), s.n, s.n, offsets[s.n], TRINE_HOST, 64, offsets.data(), 32,
                        A.columns.data(), A.values.data()));
    OK(trine_precond_analyse(ctx, &p, view, &o));
    OK(trine_precond_numeric(p, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));

    construction<T> gpu(A, s.most);
    matrix<T> B = A;
    compare_graph(A, std::vector<T>((size_t)s.n, one_of<T>()), false);
    for (int l = 0; l < s.m; l++) {
        bands<T> expected(s.n), f(s.n);
        OK(trine_precond_get_factor(p, l, expected.a.data(), expected.b.data(), expected.c.data(),
                                    expected.permutation.data()));
        extract(B, expected, f);
        gpu.generate(f);
        CHECK(!gpu.bad);
        B = gpu.multiply(B, f, s.threshold, l % 2);
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t k = B.begin[i] + 1; k < B.end[i]; k++) CHECK(B.columns[k] > B.columns[k - 1]);
        compare_graph(B, gpu.diagonal, true);
        if (l + 1 == s.m)
            for (int64_t i = 0; i < s.n; i++) {
                const T by = gpu.diagonal[f.permutation[i]];
                f.a[i] = f.a[i] * by, f.b[i] = f.b[i] * by, f.c[i] = f.c[i] * by;
            }
        const double a = distance(f.a, expected.a), b = distance(f.b, expected.b), c = distance(f.c, expected.c);
        if (a > tolerance || b > tolerance || c > tolerance)
            fprintf(stderr, "n %lld, dtype %d, factor %d of %d: %g %g %g\n", (long long)s.n, (int)dtype_of<T>(), l, s.m,
                    a, b, c);
        CHECK(a <= tolerance && b <= tolerance && c <= tolerance);
    }
    std::vector<T> expected(s.n);
    OK(trine_precond_get_diagonal(p, expected.data()));
    CHECK(distance(gpu.diagonal, expected) <= tolerance);
    OK(trine_precond_destroy(&p));
    OK(trine_matrix_destroy(&view));
}

/* ----------------------------------------------------------------- generators */

/** Columns of the inverse of one long path by generators, beside elimination. */
template <typename T> void compare_generators(int64_t n, double scale)
{
    matrix<T> A;
    A.n = n;
    for (int64_t i = 0; i < n; i++) {
        A.begin.push_back((int64_t)A.columns.size());
        for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
            A.columns.push_back((int32_t)j);
            A.values.push_back(number<T>(scale * (j == i ? 2.05 + uniform() : -1), scale * uniform()));
        }
        A.end.push_back((int64_t)A.columns.size());
    }
    bands<T> f(n), paths(n);
    for (int64_t i = 0; i < n; i++) {
        f.permutation[i] = (int32_t)i;
        f.a[i] = i ? entry_of(A, (int32_t)i, (int32_t)i - 1) : zero_of<T>();
        f.b[i] = entry_of(A, (int32_t)i, (int32_t)i);
        f.c[i] = i + 1 < n ? entry_of(A, (int32_t)i, (int32_t)i + 1) : zero_of<T>();
    }
    construction<T> gpu(A, 0);
    gpu.generate(f);
    CHECK(!gpu.bad);
    for (int64_t k = 0; k < n; k++) CHECK(gpu.start[k] == 0);
    const int64_t middle = n / 2 + 3 < n ? n / 2 + 3 : n / 2;
    std::vector<T> y(n); /* row `middle` of the inverse */
    for (int64_t j = 0; j < n; j++)
        y[j] = gpu.centre[middle] * (j > middle ? adapt_product(gpu.levels, gpu.after.data(), middle + 1, j + 1)
                                                : adapt_product(gpu.levels, gpu.before.data(), j, middle));
    double worst = 0; /* y A = e_middle */
    for (int64_t j = 0; j < n; j++) {
        T sum = y[j] * f.b[j];
        if (j > 0) sum = sum + y[j - 1] * f.c[j - 1];
        if (j + 1 < n) sum = sum + y[j + 1] * f.a[j + 1];
        if (j == middle) sum = sum - one_of<T>();
        worst = fmax(worst, (double)adapt_modulus(sum));
    }
    CHECK(worst < (sizeof(real_of<T>) == 4 ? 2e-5 : 2e-13));
}

template <typename T> void all(trine_context ctx)
{
    compare_look(random_matrix<T>(300, 0, 9, 1, false));
    for (const int64_t n : {1, 2, 3, 31, 32, 33, 64, 65, 3000}) compare_generators<T>(n, 1);
    compare_generators<T>(777, sizeof(real_of<T>) == 4 ? 1e-20 : 1e-160);
    compare_generators<T>(777, sizeof(real_of<T>) == 4 ? 1e18 : 1e150);
    const setting settings[] = {
        {1, 0, 0, 1, 0, 0, 1, false},        {2, 1, 1, 2, 0, 0, 1, false},    {3, 1, 2, 2, 0, 0, 1, false},
        {50, 2, 6, 1, 0, 0, 1, false},       {101, 3, 7, 3, 0, 0, 1, false},  {101, 3, 7, 1, 0, 0, 1, true},
        {97, 9, 14, 2, 0, 0, 1e-12, false},  {60, 3, 30, 2, 0, 0, 1, false},  {60, 3, 30, 2, 4, 0, 1, false},
        {60, 3, 30, 1, 0, 0.2, 1e10, false}, {66, 40, 60, 1, 0, 0, 1, false}, {130, 20, 120, 1, 9, 0, 1, false}};
    for (const setting &s : settings) /* pivots near zero lose half of the digits, and single precision has few */
        if (sizeof(real_of<T>) == 8 || (s.n <= 66 && !s.lacks_diagonals)) compare<T>(ctx, s);
}

} // namespace

int main()
{
    trine_context ctx;
    OK(trine_context_create(&ctx, "cpu"));
    compare_rings(3, 9, 2. / 3);
    compare_rings(7, 3, 6. / 7);
    compare_rings(40, 2, 1);
    all<double>(ctx);
    all<float>(ctx);
    all<complex_of<double>>(ctx);
    all<complex_of<float>>(ctx);
    OK(trine_context_destroy(&ctx));
    printf("kernels of the adaptive construction: all as on the CPU\n");
    return 0;
}
