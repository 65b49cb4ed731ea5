/* The preconditioners of `trine solve`, by name. */
#include "preconditioners.h"

enum { PRECOND_NONE, PRECOND_OTHER };

/* All names are known, so that what is not built is told apart from what does not exist. */
const struct choice preconditioner_choices[] = {{"none", PRECOND_NONE},
                                                {"jacobi", PRECOND_OTHER},
                                                {"diagp1", PRECOND_OTHER},
                                                {"diagp2", PRECOND_OTHER},
                                                {"l1", PRECOND_OTHER},
                                                {"tridiag", PRECOND_OTHER},
                                                {"alg-tri", PRECOND_OTHER},
                                                {"alg-tri-block", PRECOND_OTHER},
                                                {"alt-o", PRECOND_OTHER},
                                                {"alt-i", PRECOND_OTHER},
                                                {"mos-d", PRECOND_OTHER},
                                                {"mos-a", PRECOND_OTHER},
                                                {"adi", PRECOND_OTHER},
                                                {"ilu0", PRECOND_OTHER},
                                                {"iluk", PRECOND_OTHER},
                                                {"ilut", PRECOND_OTHER},
                                                {"ic0", PRECOND_OTHER},
                                                {"isai", PRECOND_OTHER},
                                                {NULL, 0}};

trine_status make_preconditioner(const struct problem *p, int which, struct preconditioner *made)
{
    (void)p;
    *made = (struct preconditioner){0};
    if (which == PRECOND_NONE) return TRINE_SUCCESS;
    return trine_fail(TRINE_ERR_NOT_BUILT, "this trine has no preconditioner but \"none\"");
}

void destroy_preconditioner(struct preconditioner *made)
{
    for (int i = 0; i < made->count; i++) trine_op_destroy(&made->M[i]);
}
