/* `trine solve` by a factorization: its options, and orders of the columns from and to files. */
#ifndef TRINE_FACTORING_H
#define TRINE_FACTORING_H

#include "command.h"
#include "direct_loader.h"

struct factoring_options {
    int ordering, solver;
    double pivot_threshold;
    bool single; /* the panels of the factor in single precision */
    const char *permutation, *permutation_out; /* files, or NULL */
    const char *given; /* one of the options was: its name */
};

/** The options, for the table of `trine solve` and its parser: ARGP_ERR_UNKNOWN if key is none of them. */
enum { KEY_ORDERING = 700, KEY_PERMUTATION, KEY_PERMUTATION_OUT, KEY_PIVOT_THRESHOLD, KEY_SINGLE_FACTOR, KEY_SOLVER };
#define FACTORING_OPTIONS                                                                                              \
    {NULL, 0, NULL, 0, "Factorizations (with --method auto, one of these options asks for one):", 2},                  \
    {"ordering", KEY_ORDERING, "ORDERING", 0, "fill-reducing ordering: auto, metis, amd, colamd or natural", 0},        \
    {"permutation", KEY_PERMUTATION, "FILE", 0,                                                                        \
     "an order of the columns (and rows) instead: n whole numbers from 0 or from 1 on, the k-th is the column that is " \
     "the k-th; a plain text or a Matrix Market array file", 0},                                                       \
    {"permutation-out", KEY_PERMUTATION_OUT, "FILE", 0,                                                                \
     "write the order of the columns that the factorization took, from 1 on, as --permutation reads it", 0},           \
    {"pivot-threshold", KEY_PIVOT_THRESHOLD, "T", 0,                                                                   \
     "LU: take a pivot that fills less while it is at least T times the largest (0 to 1; default 0: the library's own)", \
     0},                                                                                                               \
    {"single-factor", KEY_SINGLE_FACTOR, NULL, 0,                                                                      \
     "keep the panels of the factor in single precision, half the bytes, in a double precision solve with refinement; " \
     "where that does not bring the backward error to 10 eps, the factor is taken in double precision, and a warning " \
     "says so", 0},                                                                                                    \
    {"solver", KEY_SOLVER, "SOLVER", 0,                                                                                \
     "what solves with the factor: auto, supernodal (panels), general (row by row) or library (the one that factored, " \
     "for few solves)", 0}
error_t parse_factoring(int key, char *arg, struct argp_state *state, struct factoring_options *o);
/** Options of factorizations beside each other. */
error_t check_factoring(struct argp_state *state, const struct factoring_options *o);
extern const struct choice solver_choices[];

/** The order in a file, n numbers from 0 on, from ctx's allocator. TRINE_ERR_STRUCTURE: it is none. */
trine_status read_order(trine_context ctx, const char *path, int64_t n, const trine_read_options *limits,
                        int32_t **order);
trine_status write_order(trine_context ctx, const char *path, int64_t n, const int32_t *order);

#endif
