#include "factoring.h"

#include <math.h>
#include <stdlib.h>

static const struct choice ordering_choices[] = {{"auto", TRINE_ORDERING_AUTO},       {"metis", TRINE_ORDERING_METIS},
                                                 {"amd", TRINE_ORDERING_AMD},         {"colamd", TRINE_ORDERING_COLAMD},
                                                 {"natural", TRINE_ORDERING_NATURAL}, {NULL, 0}};
const struct choice solver_choices[] = {{"auto", TRINE_SOLVER_AUTO},
                                        {"supernodal", TRINE_SOLVER_SUPERNODAL},
                                        {"general", TRINE_SOLVER_GENERAL},
                                        {"library", TRINE_SOLVER_LIBRARY},
                                        {NULL, 0}};

error_t parse_factoring(int key, char *arg, struct argp_state *state, struct factoring_options *o)
{
    switch (key) {
    case KEY_ORDERING: o->given = "--ordering"; return choose(state, "--ordering", arg, ordering_choices, &o->ordering);
    case KEY_PERMUTATION:
        o->given = "--permutation";
        o->permutation = arg;
        return 0;
    case KEY_PERMUTATION_OUT:
        o->given = "--permutation-out";
        o->permutation_out = arg;
        return 0;
    case KEY_PIVOT_THRESHOLD:
        o->given = "--pivot-threshold";
        return parse_fraction(state, "--pivot-threshold", arg, true, &o->pivot_threshold);
    case KEY_SINGLE_FACTOR:
        o->given = "--single-factor";
        o->single = true;
        return 0;
    case KEY_SOLVER: o->given = "--solver"; return choose(state, "--solver", arg, solver_choices, &o->solver);
    default: return ARGP_ERR_UNKNOWN;
    }
}

error_t check_factoring(struct argp_state *state, const struct factoring_options *o)
{
    if (o->permutation && o->ordering)
        return refuse(state, "--permutation and --ordering %s are two orders",
                      choice_name(ordering_choices, o->ordering));
    if (o->single && (o->solver == TRINE_SOLVER_GENERAL || o->solver == TRINE_SOLVER_LIBRARY))
        return refuse(state, "--single-factor is for panels, and --solver %s has none",
                      choice_name(solver_choices, o->solver));
    return 0;
}

/* ------------------------------------------------------------------- orders */

/** Numbers from `first` on into an order from 0 on. */
static trine_status take_order(const char *path, int64_t n, const double *numbers, int first, int32_t *order)
{
    bool *seen = calloc((size_t)n, sizeof *seen);
    if (!seen) return trine_fail(TRINE_ERR_MEMORY, "no memory for an order of %lld columns", (long long)n);
    trine_status status = TRINE_SUCCESS;
    for (int64_t k = 0; k < n; k++) {
        const double number = numbers[k] - first;
        if (!(number >= 0 && number < (double)n && number == floor(number)))
            FAIL(TRINE_ERR_STRUCTURE, "%s: number %lld of the order is %.17g, no whole number from %d to %lld", path,
                 (long long)k + 1, numbers[k], first, (long long)n - 1 + first);
        order[k] = (int32_t)number;
        if (seen[order[k]])
            FAIL(TRINE_ERR_STRUCTURE, "%s: number %lld of the order is %.0f for the second time", path,
                 (long long)k + 1, numbers[k]);
        seen[order[k]] = true;
    }
done:
    free(seen);
    return status;
}

trine_status read_order(trine_context ctx, const char *path, int64_t n, const trine_read_options *limits,
                        int32_t **order)
{
    trine_status status = TRINE_SUCCESS;
    void *numbers = NULL;
    int64_t rows, cols;
    TRY(read_vectors(ctx, path, TRINE_D, &numbers, &rows, &cols, limits));
    if (rows != n || cols != 1)
        FAIL(TRINE_ERR_STRUCTURE, "%s: the order is %lld x %lld, but the matrix has %lld columns", path,
             (long long)rows, (long long)cols, (long long)n);
    TRY(trine_alloc(ctx, TRINE_HOST, (size_t)n * sizeof **order, (void **)order));
    int first = 1; /* a zero shows that it counts from 0 */
    for (int64_t k = 0; k < n; k++)
        if (((double *)numbers)[k] == 0) first = 0;
    TRY(take_order(path, n, numbers, first, *order));
done:
    trine_free(ctx, TRINE_HOST, numbers);
    return status;
}

trine_status write_order(trine_context ctx, const char *path, int64_t n, const int32_t *order)
{
    trine_status status = TRINE_SUCCESS;
    double *numbers = NULL;
    TRY(trine_alloc(ctx, TRINE_HOST, (size_t)n * sizeof *numbers, (void **)&numbers));
    for (int64_t k = 0; k < n; k++) numbers[k] = order[k] + 1.0;
    TRY(trine_vectors_write(ctx, path, TRINE_D, numbers, n, 1, n));
done:
    trine_free(ctx, TRINE_HOST, numbers);
    return status;
}
