/* Suite supernodal: Cholesky factors applied as panels, beside the general methods and the peers on the same factors. */
#include "bench.h"

trine_status bench_suite_supernodal(bench *b)
{
    static char *methods[] = {"supernodal", "supernodal:fill=-1", "auto"};
    static char *matrices[] = {"chol:elasticity3d:n=20", "chol:laplace3d:n=40", "chol:lap_igea", "chol:elas_Armadillo13K", "chol:bcsstk16",
                               "chol:lap_bunny", "chol:thermal_monkey8K", "chol:G3_circuit"};
    bench with = *b;
    if (with.methods.count == 0)
        for (; with.methods.count < (int)(sizeof methods / sizeof *methods); with.methods.count++)
            with.methods.item[with.methods.count] = methods[with.methods.count];
    if (with.matrices.count == 0)
        for (; with.matrices.count < (int)(sizeof matrices / sizeof *matrices); with.matrices.count++)
            with.matrices.item[with.matrices.count] = matrices[with.matrices.count];
    trine_status status = bench_run_triangular(&with, "supernodal", (const int64_t[]){1, 32}, 2);
    b->failures = with.failures;
    return status;
}
