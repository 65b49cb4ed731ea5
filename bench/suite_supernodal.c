/* Suite supernodal: Cholesky factors applied as panels, beside the general methods and the peers on the same factors. */
#include <string.h>

#include "bench.h"

/** What runs without --sweep, and tables and figures of Yamazaki et al. 2020 by name. */
static const struct sweep { const char *name, *matrices, *methods, *nrhs, *peers; bool solves_only; } sweeps[] = {
    {"", "chol:elasticity3d:n=20,chol:laplace3d:n=40,chol:lap_igea,chol:elas_Armadillo13K,chol:bcsstk16,chol:lap_bunny,"
         "chol:thermal_monkey8K,chol:G3_circuit",
     "supernodal,supernodal:fill=-1,auto", "1,32", "", false},
    {"variants", "chol:elasticity3d:n=20,chol:laplace3d:n=40", /* Figures 11 and 12 */
     "supernodal,supernodal:pull,supernodal:fill=-1,supernodal:invert=diag,supernodal:invert=none,"
     "supernodal:default:invert=none:fill=-1,supernodal:default,supernodal:stream,supernodal:team:invert=none:fill=-1,"
     "supernodal:team:invert=none,supernodal:team:invert=none:pull,supernodal:team:invert=none:push,supernodal:team:invert=diag,"
     "supernodal:team:invert=diag:pull,supernodal:team:invert=diag:push,supernodal:team:fill=-1,supernodal:team,supernodal:team:pull,"
     "supernodal:team:push,supernodal:spmv:invert=diag,supernodal:spmv,supernodal:spmv:fill=-1",
     "1", "", false},
    {"full", "chol:bcsstk14,chol:ex10hs,chol:bcsstk16,chol:elasticity3d:n=8", /* InvertFull of Figure 12b, where n allows it */
     "supernodal,supernodal:spmv,supernodal:invert=full,supernodal:spmv:invert=full", "1", "", false},
    {"sizes", "chol:elasticity3d:n=8,chol:elasticity3d:n=12,chol:elasticity3d:n=16,chol:elasticity3d:n=20,chol:elasticity3d:n=24", /* Figure 15a */
     "supernodal,supernodal:team,supernodal:spmv", "1", "", false},
    {"spd", /* Figures 10 and 16 on every symmetric positive definite matrix there is */
     "chol:nos2,chol:nos3,chol:bcsstk14,chol:bcsstk13,chol:ex10hs,chol:bcsstk16,chol:thermal_monkey8K,chol:SLAM_torus3D,chol:ibmpg1,"
     "chol:LF10000,chol:SLAM_city10000,chol:lap_bunny,chol:elas_Armadillo13K,chol:elas_rod300x33,chol:lap_igea,chol:SPD_CONT-300,"
     "chol:luxembourg_osm_lap,chol:ct2010_lap,chol:delaunay_n16_lap,chol:vsp_model1_crew1_cr42_south31_lap,chol:G3_circuit",
     "supernodal", "1", "", false},
    {"levels", "chol:elasticity3d:n=20,chol:laplace3d:n=40", /* Figure 14 */
     "supernodal:team,supernodal:team:pull,supernodal:team:push,supernodal:team:invert=diag,supernodal:spmv,supernodal:stream", "1", "none", true},
    {"launch", "chol:elasticity3d:n=20,chol:laplace3d:n=40,chol:elasticity3d:n=12", /* Figure 15b */
     "supernodal,supernodal:spmv,supernodal:spmv:nograph,supernodal:team,supernodal:team:nograph,supernodal:stream,supernodal:stream:nograph,"
     "supernodal:default,supernodal:default:nograph", "1", "none", true}};

trine_status bench_suite_supernodal(bench *b)
{
    const struct sweep *chosen = &sweeps[0];
    for (size_t i = 1; b->sweep && i < sizeof sweeps / sizeof *sweeps; i++)
        if (strcmp(sweeps[i].name, b->sweep) == 0) chosen = &sweeps[i];
    if (!b->matrices.count) b->matrices = bench_list_split(chosen->matrices);
    if (!b->methods.count) b->methods = bench_list_split(chosen->methods);
    if (!b->nrhs.count) b->nrhs = bench_list_split(chosen->nrhs);
    if (!b->peers.count) b->peers = bench_list_split(chosen->peers);
    if (!b->dtypes.count) b->dtypes = bench_list_split("d"); /* CHOLMOD's factors */
    b->solves_only = chosen->solves_only;
    return bench_run_triangular(b, "supernodal", NULL, 0);
}
