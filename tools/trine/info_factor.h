/* Statistics of a factor's supernodes: Figure 5 and the tables of Yamazaki, Rajamanickam and Ellingwood 2020. */
#ifndef TRINE_INFO_FACTOR_H
#define TRINE_INFO_FACTOR_H

#include "command.h"
#include "direct_loader.h"

struct factor_statistics;
/** Factor A on the host. *out is to be destroyed after a failure, too. */
trine_status factor_statistics_make(trine_context ctx, trine_matrix A, trine_direct_method method,
                                    struct factor_statistics **out);
/** As text, or as members of the JSON object that is open. */
void factor_statistics_print(const struct factor_statistics *s, bool json);
void factor_statistics_destroy(struct factor_statistics *s);

#endif
