/* libtrine_direct, loaded at run time: the command links only libtrine, and works without the other. Static
 * libraries: linked. */
#ifndef TRINE_DIRECT_LOADER_H
#define TRINE_DIRECT_LOADER_H

#include <trine/direct.h>

/** The functions of direct.h that the command calls. */
struct direct_library {
    const char *path; /* the file it came from, or "linked" */
    const char *(*method_name)(trine_direct_method method);
    const char *(*ordering_name)(trine_ordering ordering);
    trine_status (*factor)(trine_context ctx, trine_factor *F, trine_matrix A, const trine_factor_options *options);
    trine_status (*factor_info)(trine_factor F, trine_factor_info *info);
    trine_status (*factor_panels)(trine_factor F, trine_uplo which, trine_panels *panels);
    trine_status (*factor_destroy)(trine_factor *F);
    trine_status (*create)(trine_context ctx, trine_direct *plan, trine_matrix A, const trine_direct_options *options);
    trine_status (*create_from_factor)(trine_context ctx, trine_direct *plan, trine_factor F, trine_matrix A,
                                       const trine_direct_options *options);
    trine_status (*as_op)(trine_direct plan, trine_op *op);
    trine_status (*get_info)(trine_direct plan, trine_direct_info *info);
    trine_status (*get_permutations)(trine_direct plan, const int32_t **row_perm, const int32_t **col_perm,
                                     const double **row_scale, const double **col_scale);
    trine_status (*destroy)(trine_direct *plan);
};

/** Load it once. TRINE_ERR_NOT_BUILT with the reason where it is not installed. */
trine_status direct_load(const struct direct_library **library);

#endif
