/* trine info --forest: how much of a matrix's weight factors of its graph cover, and how long paths and cycles are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "info_forest.h"

static void count_length(int64_t *histogram, int64_t length)
{
    int k = 0;
    while ((INT64_C(1) << k) < length && k < FOREST_LENGTHS - 1) k++;
    histogram[k]++;
}

/** Vertices of v's component in a [0,2]-factor, which are marked; *closed: it is a cycle. */
static int64_t component(const int32_t *neighbours, int32_t v, uint8_t *seen, bool *closed)
{
    int64_t length = 0;
    int32_t from = -1, at = v;
    *closed = false;
    while (at >= 0 && !*closed) {
        const int32_t *both = neighbours + 2 * (int64_t)at;
        const int32_t next = both[0] == from ? both[1] : both[0];
        seen[at] = 1;
        length++;
        from = at;
        at = next;
        *closed = at == v;
    }
    return length;
}

/** Lengths of the cycles of the factor that has just been made. */
static trine_status count_cycles(trine_forest forest, int64_t n, struct forest_statistics *s)
{
    trine_forest_arrays arrays;
    trine_status status = trine_forest_get_arrays(forest, &arrays);
    uint8_t *seen = calloc((size_t)n + 1, 1);
    if (!seen) return trine_fail(TRINE_ERR_MEMORY, "no memory for %lld vertices", (long long)n);
    for (int is_cycle = 0; !status && is_cycle < 2; is_cycle++) /* paths, from their ends; then what is left */
        for (int32_t v = 0; v < n; v++) {
            bool closed;
            if (seen[v] || (!is_cycle && arrays.neighbours[2 * (int64_t)v + 1] >= 0)) continue;
            const int64_t length = component(arrays.neighbours, v, seen, &closed);
            if (closed) count_length(s->cycle_lengths, length);
        }
    free(seen);
    return status;
}

static trine_status count_paths(trine_forest forest, struct forest_statistics *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_forest_arrays arrays;
    trine_forest_result result;
    TRY(trine_forest_break_cycles(forest, NULL));
    TRY(trine_forest_order(forest, NULL));
    TRY(trine_forest_get_result(forest, &result, NULL));
    TRY(trine_forest_get_arrays(forest, &arrays));
    s->cycles = result.cycles;
    s->paths = result.paths;
    s->longest = result.longest;
    for (int64_t i = 0; i < result.vertices; i++) { /* the last vertex of a path has its length */
        const int32_t v = arrays.permutation[i];
        if (i + 1 == result.vertices || arrays.path[arrays.permutation[i + 1]] != arrays.path[v])
            count_length(s->path_lengths, arrays.position[v]);
    }
done:
    return status;
}

trine_status forest_statistics_make(trine_context ctx, trine_matrix A, struct forest_statistics *s)
{
    trine_status status = TRINE_SUCCESS;
    trine_forest forest = NULL;
    trine_forest_coverage coverage;
    trine_matrix_info info;
    const void *values;
    *s = (struct forest_statistics){0};
    TRY(trine_matrix_get_info(A, &info));
    TRY(trine_matrix_get_arrays(A, NULL, NULL, &values));
    TRY(trine_forest_create(ctx, &forest, A, &(trine_forest_options){.max_n = FOREST_DEGREES}));
    TRY(trine_forest_set_weights(forest, TRINE_HOST, values, NULL));
    for (int n = 1; n <= FOREST_DEGREES; n++) {
        const trine_factor_rounds rounds = {.n = n};
        TRY(trine_forest_factor_sequential(forest, &rounds, NULL));
        TRY(trine_forest_get_coverage(forest, TRINE_HOST, values, &coverage, NULL));
        s->sequential[n - 1] = coverage.factor;
        TRY(trine_forest_factor(forest, &rounds, NULL));
        TRY(trine_forest_get_coverage(forest, TRINE_HOST, values, &coverage, NULL));
        s->parallel[n - 1] = coverage.factor;
        s->identity = coverage.identity;
        if (n != 2) continue;
        TRY(count_cycles(forest, info.n_rows, s));
        TRY(count_paths(forest, s));
    }
done:
    trine_forest_destroy(&forest);
    return status;
}

/* ------------------------------------------------------------------- output */

static void print_lengths(const char *what, const int64_t *histogram)
{
    static const char bar[] = "##################################################";
    enum { BAR = sizeof bar - 1 };
    int64_t most = 1;
    for (int k = 0; k < FOREST_LENGTHS; k++)
        if (histogram[k] > most) most = histogram[k];
    printf("\nvertices a %-5s       %ss\n", what, what);
    for (int k = 0; k < FOREST_LENGTHS; k++) {
        char range[48];
        const int64_t low = k ? (INT64_C(1) << (k - 1)) + 1 : 1, high = INT64_C(1) << k;
        if (!histogram[k]) continue;
        snprintf(range, sizeof range, low == high ? "%lld" : "%lld-%lld", (long long)low, (long long)high);
        printf("%13s  %12s  %.*s\n", range, grouped(histogram[k]), (int)((histogram[k] * BAR + most - 1) / most), bar);
    }
}

/** A row of the table of coverages; "-" where there is nothing to cover. */
static void print_coverages(const char *what, const double *coverages, int count)
{
    printf("  %-20s", what);
    for (int i = 0; i < count; i++)
        if (isnan(coverages[i])) printf("  %6s", "-");
        else printf("  %.4f", coverages[i]);
    printf("\n");
}

static void print_text(const struct forest_statistics *s)
{
    printf("\nweight off the diagonal that is covered\n");
    print_coverages("beside the diagonal", &s->identity, 1);
    printf("  [0,n]-factor, n =          1       2       3       4\n");
    print_coverages("  five rounds", s->parallel, FOREST_DEGREES);
    print_coverages("  greedy", s->sequential, FOREST_DEGREES);
    printf("forest      %s paths, the longest of %s vertices; %s cycles were opened\n", grouped(s->paths),
           grouped(s->longest), grouped(s->cycles));
    if (s->paths) print_lengths("path", s->path_lengths);
    if (s->cycles) print_lengths("cycle", s->cycle_lengths);
}

void forest_statistics_print(const struct forest_statistics *s, bool json)
{
    if (!json) {
        print_text(s);
        return;
    }
    json_number("forest_identity_coverage", s->identity);
    json_numbers("forest_parallel_coverage", s->parallel, FOREST_DEGREES);
    json_numbers("forest_sequential_coverage", s->sequential, FOREST_DEGREES);
    json_integer("forest_paths", s->paths);
    json_integer("forest_longest_path", s->longest);
    json_integer("forest_cycles", s->cycles);
    json_integers("forest_path_lengths", s->path_lengths, FOREST_LENGTHS);
    json_integers("forest_cycle_lengths", s->cycle_lengths, FOREST_LENGTHS);
}
