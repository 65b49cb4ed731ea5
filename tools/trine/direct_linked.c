/* libtrine_direct where libraries are static: linked. */
#include "direct_loader.h"

trine_status direct_load(const struct direct_library **library)
{
    static const struct direct_library functions = {
        .path = "linked",
        .method_name = trine_direct_method_name,
        .ordering_name = trine_ordering_name,
        .factor = trine_factor_create,
        .factor_info = trine_factor_get_info,
        .factor_panels = trine_factor_get_panels,
        .factor_destroy = trine_factor_destroy,
        .create = trine_direct_create,
        .create_from_factor = trine_direct_create_from_factor,
        .as_op = trine_direct_as_op,
        .get_info = trine_direct_get_info,
        .get_permutations = trine_direct_get_permutations,
        .destroy = trine_direct_destroy,
    };
    *library = &functions;
    return TRINE_SUCCESS;
}
