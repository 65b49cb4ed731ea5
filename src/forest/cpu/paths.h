/* What both ways of ranking share. */
#ifndef TRINE_FOREST_CPU_PATHS_H
#define TRINE_FOREST_CPU_PATHS_H

#include "forest/common/view.h"
#include "forest/cpu/cpu.h"

/** Take out the weakest edge of every cycle; returns how many there were. */
int64_t forest_split_cycles(trine_forest f); /* by splitters */
int64_t forest_scan_cycles(trine_forest f);  /* by the bidirectional scan */
/** path and position of every vertex of an acyclic factor. */
void forest_split_paths(trine_forest f);
void forest_scan_paths(trine_forest f);

/** f->weight, of a [0,2]-factor. */
void forest_look_up_all(trine_forest f);

#endif
