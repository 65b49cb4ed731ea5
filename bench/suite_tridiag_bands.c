/* Suite tridiag, part bands (Klein 2024, Figure 18): banded systems of kl = ku = 1 to 4 by gbsv, beside LAPACK's
 * gbsv, cuSPARSE's ILU(0) and its batched pentadiagonal solver. */
#include <stdio.h>

#include "tridiag.h"

enum {
    WIDEST = 4,
    PENTADIAGONAL = 2,
    SMALLEST_POWER = 10,
    LARGEST_POWER_GPU = 22,
    LARGEST_POWER_CPU = 20,
    LARGEST_POWER_SERIAL = 12, /* ILU(0) and the batched solver take as many steps as a system has rows */
    LARGEST_POWER_LAPACK = 16, /* on a GPU's host: a row takes as long in longer systems */
    LARGEST_POWER_ILU = 20,
    ILU_TILE = 64
};

/** One system that grows. */
static trine_status run_one_system(bench *b, trine_dtype dtype, int bands, int power)
{
    const bool host = b->device.space == TRINE_HOST;
    char name[32];
    tridiag_list list = {0};
    snprintf(name, sizeof name, "gbsv kl=ku=%d", bands);
    tridiag_list_add(&list, &tridiag_trine, "auto");
    if (bands > 1) tridiag_list_add(&list, &tridiag_trine, "small");
    if (tridiag_wants_peer(b, "lapack") && (host || power <= LARGEST_POWER_LAPACK))
        tridiag_list_add(&list, &tridiag_lapack, "gbsv");
    if (!host && tridiag_wants_peer(b, "cusparse") && power <= LARGEST_POWER_SERIAL) {
        tridiag_list_add(&list, &tridiag_ilu, "csrilu02");
        tridiag_list_add(&list, &tridiag_ilu, "csrilu02+SpSV");
        if (bands == PENTADIAGONAL) tridiag_list_add(&list, &tridiag_cusparse, "gpsvInterleavedBatch");
    }
    return tridiag_compare_on_random(
        b, name, &(tridiag_shape){.dtype = dtype, .n = INT64_C(1) << power, .kl = bands, .ku = bands}, &list);
}

/** As many rows in systems of `tile`, which trine solves as one: cuSPARSE interleaved by its pentadiagonal solver,
 *  or as one matrix by ILU(0). */
static trine_status run_tiles(bench *b, trine_dtype dtype, int bands, int64_t tile, int power)
{
    char name[32];
    tridiag_list list = {0};
    snprintf(name, sizeof name, "tiles kl=ku=%d", bands);
    tridiag_list_add(&list, &tridiag_trine, "auto");
    if (bands == PENTADIAGONAL) tridiag_list_add(&list, &tridiag_cusparse, "gpsvInterleavedBatch");
    if (tile == ILU_TILE && power <= LARGEST_POWER_ILU) tridiag_list_add(&list, &tridiag_ilu, "csrilu02+SpSV");
    if (list.count == 1) return TRINE_SUCCESS;
    return tridiag_compare_on_random(
        b, name,
        &(tridiag_shape){.dtype = dtype, .n = tile, .systems = (INT64_C(1) << power) / tile, .kl = bands, .ku = bands},
        &list);
}

trine_status bench_tridiag_bands(bench *b, trine_dtype dtype)
{
    trine_status status = TRINE_SUCCESS;
    const bool host = b->device.space == TRINE_HOST;
    for (int bands = 1; bands <= WIDEST; bands++) {
        for (int power = SMALLEST_POWER; power <= (host ? LARGEST_POWER_CPU : LARGEST_POWER_GPU); power += 2)
            TRY(run_one_system(b, dtype, bands, power));
        if (host || !tridiag_wants_peer(b, "cusparse")) continue;
        for (int64_t tile = 8; tile <= 512; tile *= 8)
            for (int power = SMALLEST_POWER + 2; power <= LARGEST_POWER_GPU; power += 2)
                TRY(run_tiles(b, dtype, bands, tile, power));
    }
done:
    return status;
}
