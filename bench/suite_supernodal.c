/* Suite supernodal: factors of CHOLMOD and SuperLU applied as panels, beside the general methods and the peers on
 * the same factors. */
#include "bench.h"

/* Calls behind a median where --reps and --max-seconds say nothing. cuSPARSE takes 50 to 140 ms for 32 right-hand
 * sides. */
enum { REPS = 50, SPD_REPS = 25, SWEEP_REPS = 11, PEER_REPS = 7 };
#define SWEEP .reps = SWEEP_REPS, .least_reps = SWEEP_REPS, .max_seconds = 0.1, .wall_only = true

/* What runs without --sweep, and tables and figures of Yamazaki et al. 2020 by name. */
static const bench_sweep sweeps[] = {
    {.name = "main",
     .reps = REPS,
     .peer_reps = PEER_REPS,
     .max_seconds = 1,
     .wall_only = true,
     .matrices =
         "chol:elasticity3d:n=20,chol:laplace3d:n=40,chol:lap_igea,chol:elas_Armadillo13K,chol:bcsstk16,chol:lap_bunny,"
         "chol:thermal_monkey8K,chol:G3_circuit",
     .methods = "supernodal,supernodal:fill=-1,auto",
     .nrhs = "1,32"},
    {SWEEP, .name = "variants", /* Figures 11 and 12 */
     .matrices = "chol:elasticity3d:n=20,chol:laplace3d:n=40",
     .methods =
         "supernodal,supernodal:pull,supernodal:fill=-1,supernodal:invert=diag,supernodal:invert=none,"
         "supernodal:default:invert=none:fill=-1,supernodal:default,supernodal:stream,supernodal:team:invert=none:fill=-1,"
         "supernodal:team:invert=none,supernodal:team:invert=none:pull,supernodal:team:invert=none:push,supernodal:team:invert=diag,"
         "supernodal:team:invert=diag:pull,supernodal:team:invert=diag:push,supernodal:team:fill=-1,supernodal:team,"
         "supernodal:team:pull,supernodal:team:push,supernodal:spmv:invert=diag,supernodal:spmv,supernodal:spmv:fill=-1"},
    {SWEEP, .name = "full", /* InvertFull of Figure 12b, where n allows it */
     .matrices = "chol:bcsstk14,chol:ex10hs,chol:bcsstk16,chol:elasticity3d:n=8",
     .methods = "supernodal,supernodal:spmv,supernodal:invert=full,supernodal:spmv:invert=full"},
    {SWEEP, .name = "sizes", /* Figure 15a */
     .matrices =
         "chol:elasticity3d:n=8,chol:elasticity3d:n=12,chol:elasticity3d:n=16,chol:elasticity3d:n=20,chol:elasticity3d:n=24",
     .methods = "supernodal,supernodal:team,supernodal:spmv"},
    {.name = "spd",
     .reps = SPD_REPS,
     .least_reps = SWEEP_REPS,
     .max_seconds = 0.05,
     .wall_only = true, /* Figures 10 and 16, every symmetric positive definite matrix there is */
     .matrices =
         "chol:nos2,chol:nos3,chol:bcsstk14,chol:bcsstk13,chol:ex10hs,chol:bcsstk16,chol:thermal_monkey8K,chol:SLAM_torus3D,"
         "chol:ibmpg1,chol:LF10000,chol:SLAM_city10000,chol:lap_bunny,chol:elas_Armadillo13K,chol:elas_rod300x33,chol:lap_igea,"
         "chol:SPD_CONT-300,chol:luxembourg_osm_lap,chol:ct2010_lap,chol:delaunay_n16_lap,"
         "chol:vsp_model1_crew1_cr42_south31_lap,chol:G3_circuit",
     .methods = "supernodal"},
    {.name = "lu",
     .reps = SPD_REPS,
     .least_reps = SWEEP_REPS,
     .peer_reps = PEER_REPS,
     .max_seconds = 0.1,
     .wall_only = true, /* SuperLU's L and U */
     .matrices =
         "lu:laplace3d:n=20,lu:convection3d:n=20,lu:cage10,lu:airfoil_2d,lu:dw8192,lu:memplus,lu:sherman3,lu:orsreg_1,lu:hangGlider_2,"
         "lu:convdiff_alien,lu:olm5000,lu:KKT_CONT-201",
     .methods = "supernodal,supernodal:invert=none,auto",
     .nrhs = "1,32"},
    {.name = "types",
     .reps = SPD_REPS,
     .least_reps = SWEEP_REPS,
     .peer_reps = PEER_REPS,
     .max_seconds = 0.1,
     .wall_only = true, /* four precisions; checks of complex results take their time */
     .matrices =
         "chol:elasticity3d:n=12,chol:laplace3d:n=24,chol:bcsstk16,chol:lap_bunny,lu:convection3d:n=14,lu:airfoil_2d,lu:dw8192",
     .methods = "supernodal,supernodal:invert=none,auto",
     .nrhs = "1,32",
     .dtypes = "s,d,c,z"},
    {SWEEP, .name = "levels", .peers = "none", .solves_only = true, /* Figure 14 */
     .matrices = "chol:elasticity3d:n=20,chol:laplace3d:n=40",
     .methods =
         "supernodal:team,supernodal:team:pull,supernodal:team:push,supernodal:team:invert=diag,supernodal:spmv,supernodal:stream"},
    {SWEEP, .name = "launch", .peers = "none", .solves_only = true, /* Figure 15b */
     .matrices = "chol:elasticity3d:n=20,chol:laplace3d:n=40,chol:elasticity3d:n=12",
     .methods =
         "supernodal,supernodal:spmv,supernodal:spmv:nograph,supernodal:team,supernodal:team:nograph,supernodal:stream,"
         "supernodal:stream:nograph,supernodal:default,supernodal:default:nograph"},
};

trine_status bench_suite_supernodal(bench *b)
{
    return bench_run_triangular(b, "supernodal", sweeps, (int)(sizeof sweeps / sizeof *sweeps), "1");
}
