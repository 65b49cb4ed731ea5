/* The adaptive construction (Klein 2024, Sections 5.1.10, 5.2.3). */
#include "precond/paths.h"

trine_status precond_adapt_analyse(trine_precond p) { (void)p; return TRINE_SUCCESS; }
trine_status precond_adapt(trine_precond p, bool builds) { (void)p, (void)builds; return trine_fail(TRINE_ERR_UNSUPPORTED, "mos-a"); }
void precond_adapt_release(trine_precond p) { (void)p; }
int64_t precond_adapt_memory(trine_precond p) { (void)p; return 0; }
