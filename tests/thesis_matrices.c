#include "thesis_matrices.h"

#include <math.h>

#include "harness.h"

static double uniform(uint64_t stream, int64_t i) { return 2 * test_uniform(stream, (uint64_t)i) - 1; }
static bool heads(uint64_t stream, int64_t i) { return test_uniform(stream, (uint64_t)i) < .5; }

void make_solution(uint64_t seed, int64_t n, double *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 3 + sqrt(-2 * log(test_uniform(900000 + seed, (uint64_t)(2 * i)))) *
                       cos(2 * M_PI * test_uniform(900000 + seed, (uint64_t)(2 * i + 1)));
}

bool make_table4(int id, uint64_t seed, int64_t n, double *bands[3])
{
    if (id >= 8 && id <= 11) return false;
    const uint64_t stream = 1000 * (uint64_t)(id == 4 || id == 5 || id == 12 ? 1 : id) + seed;
    for (int64_t i = 0; i < n; i++) {
        double a = uniform(stream, i), b = uniform(stream, n + i), c = uniform(stream, 2 * n + i);
        switch (id) {
        case 2: b = 1e8; break;
        case 3: a = 1.0 / (double)(i + 1), b = -(2.0 * (double)(i + 1) + 3), c = (double)i + 2; break;
        case 4: a = i == n / 2 ? a * 1e-50 : a; break;
        case 5: a = heads(stream, 3 * n + i) ? 0 : a, c = heads(stream, 4 * n + i) ? 0 : c; break;
        case 6: b = 64; break;
        case 7: a = c = -.5 / .75, b = (i == 0 || i == n - 1 ? 1 : 1.25) / .75; break;
        case 12: a *= 1e-50; break;
        case 13: {
            const double h = 1.0 / (double)(n + 1), t = 1e-4 / (h * h), r = (.5 - (double)(i + 1) * h) / h;
            a = i < (n + 1) / 2 ? -t : -t + r, c = i < (n + 1) / 2 ? -t - r : -t, b = -(a + c);
            break;
        }
        case 14: b = 1e-8; break;
        case 15: b = 0; break;
        case 16: a = c = 1, b = 1e-8; break;
        case 17: a = c = 1, b = 1e8; break;
        case 18: a = c = -1, b = 4; break;
        case 19: a = -1, b = 4, c = 1; break;
        case 20: a = -1, b = 4; break;
        default: break;
        }
        bands[0][i] = i > 0 ? a : 0, bands[1][i] = b, bands[2][i] = i < n - 1 ? c : 0;
    }
    return true;
}

bool make_table6(int id, uint64_t seed, int64_t n, double *bands[5])
{
    static const double constant[][5] = {
        [14] = {1, -10, 0, 10, 1}, [17] = {1, 1, 1e-8, 1, 1}, [18] = {1, 1, 1e8, 1, 1}, [19] = {-1, -1, 8, -1, -1},
        [20] = {-1, 1, 8, 1, -1},  [21] = {-1, 1, 8, 1, 1},   [22] = {-1, -1, 8, 1, 0}, [23] = {-1, -1, 8, 0, 0}};
    static const int random_bands[24] = {[22] = 1, [23] = 2}; /* the highest ones, which the constants leave alone */
    if (id >= 8 && id <= 11) return false;
    const bool derived = id == 1 || (id >= 3 && id <= 6) || id == 12 || id == 13, made = id == 14 || id >= 17;
    const uint64_t stream = 500000 + (derived ? 1000 : 1000 * (uint64_t)id) + seed;
    for (int64_t i = 0; i < n; i++) {
        double v[5];
        for (int k = 0; k < 5; k++) {
            v[k] = uniform(stream, k * n + i);
            if (made && k < 5 - random_bands[id]) v[k] = constant[id][k];
        }
        switch (id) {
        case 2: v[2] = 1e8; break;
        case 3: v[0] *= i == n / 2 ? 1e-50 : 1; break;
        case 4: v[0] *= i == n / 2 || i == n / 2 + 1 ? 1e-50 : 1, v[1] *= i == n / 2 ? 1e-50 : 1; break;
        case 5: v[0] = heads(stream, 5 * n + i) ? 0 : v[0], v[4] = heads(stream, 6 * n + i) ? 0 : v[4]; break;
        case 6:
            for (int k = 0; k < 4; k++) {
                const int band = k < 2 ? k : k + 1;
                v[band] = heads(stream, (5 + k) * n + i) ? 0 : v[band];
            }
            break;
        case 7: v[2] = 64; break;
        case 12: v[0] *= 1e-50; break;
        case 13: v[0] *= 1e-50, v[1] *= 1e-50; break;
        case 15: v[2] = 1e-8; break;
        case 16: v[2] = 0; break;
        default: break;
        }
        for (int k = 0; k < 5; k++) bands[k][i] = i + k - 2 >= 0 && i + k - 2 < n ? v[k] : 0;
    }
    return true;
}
