/* Heat in a cube, implicit in time: factor once, solve once a time step. The device is the program's first argument:
 *     heat [cpu | cpu:4 | cuda | auto]
 * Each step solves (I + k h) u_new = u_old on m x m x m points, where h is the seven-point matrix (6 and -1) and k =
 * dt / dx^2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <trine/direct.h>

/* The first call that fails ends the program's work: the sentence is printed, and everything is released at `done`. */
#define TRY(call) do { if (call) { fprintf(stderr, "heat: %s\n", trine_last_error()); goto done; } } while (0)

enum { m = 20, n = m * m * m, steps = 50 };

/** Row i of I + k h, in compressed rows. Returns the number of entries before row i + 1. */
static int64_t write_row(int i, double k, int64_t next, int32_t *columns, double *values)
{
    const int x = i % m, y = i / m % m, z = i / (m * m);
    const int neighbour[7] = {z > 0 ? i - m * m : -1, y > 0 ? i - m : -1,     x > 0 ? i - 1 : -1,        i,
                              x < m - 1 ? i + 1 : -1, y < m - 1 ? i + m : -1, z < m - 1 ? i + m * m : -1};
    for (int j = 0; j < 7; j++) {
        if (neighbour[j] < 0) continue;
        columns[next] = neighbour[j];
        values[next++] = neighbour[j] == i ? 1 + 6 * k : -k;
    }
    return next;
}

static void write_matrix(double k, int64_t *offsets, int32_t *columns, double *values)
{
    for (int i = 0; i < n; i++) offsets[i + 1] = write_row(i, k, offsets[i], columns, values);
}

/** The start: one wave in each direction. Each step divides it by 1 + k lambda, so that the solution is known. */
static double wave(int i)
{
    const double w = acos(-1) / (m + 1);
    return sin((i % m + 1) * w) * sin((i / m % m + 1) * w) * sin((i / (m * m) + 1) * w);
}

int main(int argc, char **argv)
{
    const double k = 0.5, lambda = 6 - 6 * cos(acos(-1) / (m + 1));
    const int64_t nnz = 7 * (int64_t)n - 6 * m * m;
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_direct plan = NULL;
    trine_context_info device = {0};
    trine_direct_info chosen;
    trine_accuracy accuracy;
    int64_t *offsets;
    int32_t *columns;
    double *values, *u = malloc(n * sizeof *u), *before = malloc(n * sizeof *before), amplitude = 1, error = 0;
    void *there = NULL; /* u where the plan solves: on the host or on the device */
    int failed = 1;
    if (!u || !before) goto done;

    TRY(trine_context_create(&ctx, argc > 1 ? argv[1] : "auto"));
    TRY(trine_context_get_info(ctx, &device));
    printf("device: %s\n", device.name);

    TRY(trine_matrix_allocate(ctx, &A, TRINE_CSR, TRINE_D, n, n, nnz, &offsets, &columns, (void **)&values));
    write_matrix(k, offsets, columns, values);

    double start = trine_wall_time();
    TRY(trine_direct_create(ctx, &plan, A, NULL));
    TRY(trine_direct_get_info(plan, &chosen));
    printf("method: %s, ordering %s\n", trine_direct_method_name(chosen.factor.method),
           trine_ordering_name(chosen.factor.ordering));
    printf("factored once: %.6f s\n", trine_wall_time() - start);

    TRY(trine_alloc(ctx, device.space, n * sizeof *u, &there));
    for (int i = 0; i < n; i++) u[i] = wave(i);
    TRY(trine_copy(ctx, there, device.space, u, TRINE_HOST, n * sizeof *u));
    const trine_dense U = {.data = there, .rows = n, .cols = 1};

    start = trine_wall_time();
    for (int step = 0; step < steps; step++) TRY(trine_direct_solve(plan, TRINE_N, &U, &U, NULL)); /* in place */
    TRY(trine_context_synchronize(ctx)); /* solves on a GPU are asynchronous: wait before the clock is read */
    printf("a time step: %.6f s\n", (trine_wall_time() - start) / steps);

    TRY(trine_copy(ctx, u, TRINE_HOST, there, device.space, n * sizeof *u));
    for (int step = 0; step < steps; step++) amplitude /= 1 + k * lambda;
    for (int i = 0; i < n; i++) error = fmax(error, fabs(u[i] / amplitude - wave(i)));
    printf("relative error after %d steps: %.1e\n", steps, error);

    /* The time step is halved: other values, the same pattern. The ordering and the symbolic part are used again. */
    write_matrix(k / 2, offsets, columns, values);
    start = trine_wall_time();
    TRY(trine_direct_update(plan, A));
    printf("factored again: %.6f s\n", trine_wall_time() - start);
    for (int i = 0; i < n; i++) before[i] = u[i];
    TRY(trine_direct_solve(plan, TRINE_N, &U, &U, NULL));
    TRY(trine_copy(ctx, u, TRINE_HOST, there, device.space, n * sizeof *u)); /* waits for the solve */

    /* How right is a solution that is not known? */
    TRY(trine_matrix_accuracy(A, 1, u, before, NULL, &accuracy));
    printf("backward error: %.2f eps\n", accuracy.backward_error);
    failed = 0;
done:
    if (ctx) trine_free(ctx, device.space, there);
    trine_direct_destroy(&plan); /* destroy functions accept NULL */
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    free(u);
    free(before);
    return failed;
}
