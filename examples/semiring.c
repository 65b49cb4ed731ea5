/* Shortest ways to place 0, with the next place on each: a product with a semiring of our own. Entry (i, j) of A is the
 * length of the road from i to j; x_j is the way from j on. A way from i by j is A_ij + x_j long, and goes by j; of
 * several ways the shorter one counts, and of equal ones that by the lower number. */
#include <math.h>
#include <stdio.h>
#include <trine/trine.h>

enum { n = 6, roads = 9 };
typedef struct {
    float length;
    int next;
} way;

/* The operators for the CPU. The strings below say the same for a GPU. */
static void multiply(const void *user, const void *values, const void *vector, int64_t nz, int64_t row, int64_t col,
                     void *product)
{
    (void)user, (void)row;
    *(way *)product = (way){((const float *)values)[nz] + ((const way *)vector)[col].length, (int)col};
}
static int is_better(way p, way q) { return p.length < q.length || (p.length == q.length && p.next < q.next); }
static void add(const void *user, void *accumulator, const void *p)
{
    (void)user;
    if (is_better(*(const way *)p, *(way *)accumulator)) *(way *)accumulator = *(const way *)p;
}
static void store(const void *user, int64_t row, const void *accumulator, void *y)
{
    (void)user, (void)row;
    if (accumulator && is_better(*(const way *)accumulator, *(way *)y)) *(way *)y = *(const way *)accumulator;
}

#define WAY {"way", "struct way { float length; int next; };", sizeof(way), _Alignof(way)}
static const trine_semiring_source ways = {
    .value = {"float", NULL, sizeof(float), _Alignof(float)},
    .vector = WAY,
    .product = WAY,
    .output = WAY,
    .preamble = "bool is_better(way p, way q)\n"
                "{\n    return p.length < q.length || (p.length == q.length && p.next < q.next);\n}",
    .multiply = "{a + x.length, col}",
    .add = "is_better(p, acc) ? p : acc",
    .store = "!empty && is_better(z, y) ? z : y",
    .reads_y = 1,
    .cpu = {.multiply = multiply, .add = add, .store = store}};

int main(int argc, char **argv)
{
    static const int64_t offsets[n + 1] = {0, 1, 3, 5, 7, 9, 9}; /* no road leaves place 5 */
    static const int32_t to[roads] = {1, 0, 2, 0, 1, 1, 4, 2, 3};
    static const float lengths[roads] = {4, 9, 2, 3, 1, 8, 1, 5, 1};
    way x[n], *there[2] = {NULL, NULL}; /* the ways of up to k roads, and of up to k + 1 */
    trine_context ctx = NULL;
    trine_matrix A = NULL;
    trine_spmv plan = NULL;
    trine_semiring semiring = NULL;
    trine_context_info info = {.space = TRINE_HOST};
    for (int i = 0; i < n; i++) x[i] = (way){i ? INFINITY : 0, -1};
    int failed = trine_context_create(&ctx, argc > 1 ? argv[1] : "auto") || trine_context_get_info(ctx, &info) ||
                 trine_matrix_csr(ctx, &A, TRINE_S, n, n, roads, TRINE_HOST, 64, offsets, 32, to, lengths) ||
                 trine_spmv_analyse(ctx, &plan, A, NULL) || trine_spmv_numeric(plan, TRINE_HOST, NULL, NULL) ||
                 trine_semiring_create(ctx, &semiring, &ways) ||
                 trine_alloc(ctx, info.space, sizeof x, (void **)&there[0]) ||
                 trine_alloc(ctx, info.space, sizeof x, (void **)&there[1]) ||
                 trine_copy(ctx, there[0], info.space, x, TRINE_HOST, sizeof x) ||
                 trine_copy(ctx, there[1], info.space, x, TRINE_HOST, sizeof x);
    for (int k = 0; !failed && k < n; k++)
        failed = trine_spmv_apply_semiring(plan, semiring, there[k % 2], there[1 - k % 2], NULL, 0, -1, NULL);
    failed = failed || trine_copy(ctx, x, TRINE_HOST, there[n % 2], info.space, sizeof x);
    if (failed) fprintf(stderr, "%s\n", trine_last_error());
    for (int i = 0; !failed && i < n; i++) printf("from %d: %g, next %d\n", i, x[i].length, x[i].next);
    trine_free(ctx, info.space, there[0]);
    trine_free(ctx, info.space, there[1]);
    trine_semiring_destroy(&semiring);
    trine_spmv_destroy(&plan);
    trine_matrix_destroy(&A);
    trine_context_destroy(&ctx);
    return failed;
}
