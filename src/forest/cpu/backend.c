/* The CPU backend's table. */
#include "forest/cpu/cpu.h"

static trine_status create(trine_forest f)
{
    trine_team_start(f->ctx);
    return TRINE_SUCCESS;
}
static trine_status count_bytes(trine_forest f, int64_t *bytes)
{
    (void)f;
    *bytes = 0;
    return TRINE_SUCCESS;
}
static void release(trine_forest f) { (void)f; }

const struct forest_backend forest_cpu = {.create = create,
                                          .count_bytes = count_bytes,
                                          .release = release,
                                          .set_weights = forest_cpu_set_weights,
                                          .factor = forest_cpu_factor,
                                          .propose = forest_cpu_propose,
                                          .scan_pass = forest_cpu_scan_pass,
                                          .break_cycles = forest_cpu_break_cycles,
                                          .order = forest_cpu_order,
                                          .exchange = forest_cpu_exchange,
                                          .scale = forest_cpu_scale,
                                          .extract = forest_cpu_extract,
                                          .coarsen = forest_cpu_coarsen,
                                          .extract_blocks = forest_cpu_extract_blocks,
                                          .add_up = forest_cpu_add_up};
