/* The preconditioners of `trine solve`, by name: plans of precond.h. */
#include "preconditioners.h"

#include <stdbool.h>
#include <stdio.h>

enum { PRECOND_NONE = -1 };

const struct choice preconditioner_choices[] = {{"auto", TRINE_PRECOND_AUTO},
                                                {"none", PRECOND_NONE},
                                                {"jacobi", TRINE_PRECOND_DIAGP0},
                                                {"diagp0", TRINE_PRECOND_DIAGP0}, /* the library's name of it */
                                                {"diagp1", TRINE_PRECOND_DIAGP1},
                                                {"diagp2", TRINE_PRECOND_DIAGP2},
                                                {"l1", TRINE_PRECOND_L1},
                                                {"tridiag", TRINE_PRECOND_TRIDIAG},
                                                {"alg-tri", TRINE_PRECOND_ALG_TRI},
                                                {"alg-tri-block", TRINE_PRECOND_ALG_TRI_BLOCK},
                                                {"alt-o", TRINE_PRECOND_ALT_O},
                                                {"alt-i", TRINE_PRECOND_ALT_I},
                                                {"mos-d", TRINE_PRECOND_MOS_D},
                                                {"mos-a", TRINE_PRECOND_MOS_A},
                                                {"adi", TRINE_PRECOND_ADI},
                                                {"ilu0", TRINE_PRECOND_ILU0},
                                                {"iluk", TRINE_PRECOND_ILUK},
                                                {"ilut", TRINE_PRECOND_ILUT},
                                                {"ic0", TRINE_PRECOND_IC0},
                                                {"isai", TRINE_PRECOND_ISAI},
                                                {"multilevel", TRINE_PRECOND_MULTILEVEL},
                                                {NULL, 0}};

int preconditioner_none(void) { return PRECOND_NONE; }

/** Is M Hermitian where A is? A splitting after another one, a product, a threshold and approximate triangles break the
 *  symmetry. */
static bool is_hermitian(trine_precond_method method, int m)
{
    switch (method) {
    case TRINE_PRECOND_ALT_I: return m < 2;
    case TRINE_PRECOND_MOS_D:
    case TRINE_PRECOND_MOS_A:
    case TRINE_PRECOND_ADI:
    case TRINE_PRECOND_ILUT:
    case TRINE_PRECOND_ISAI: return false;
    default: return true;
    }
}

/** The plan as one operator or, of ALT_O with several factors, as these, for one step each. */
static trine_status take_operators(trine_precond plan, struct preconditioner *made)
{
    trine_status status = TRINE_SUCCESS;
    trine_precond_info info;
    TRY(trine_precond_get_info(plan, &info));
    made->analyse_seconds = info.analyse_seconds;
    made->numeric_seconds = info.numeric_seconds;
    made->name = trine_precond_method_name(info.method);
    made->m = info.m;
    made->hermitian = is_hermitian(info.method, info.m);
    snprintf(made->reason, sizeof made->reason, "%s", info.reason ? info.reason : "");
    if (info.method != TRINE_PRECOND_ALT_O || info.m < 2) {
        TRY(trine_precond_as_op(plan, &made->M[0]));
        made->count = 1;
    }
    while (made->count < (info.method == TRINE_PRECOND_ALT_O ? info.m : 0)) {
        TRY(trine_precond_part(plan, made->count, &made->M[made->count]));
        made->count++;
    }
done:
    return status;
}

static trine_status make(const struct problem *p, const struct preconditioner_options *o, trine_precond_method method,
                         struct preconditioner *made)
{
    trine_status status = TRINE_SUCCESS;
    trine_precond plan = NULL;
    const trine_precond_options options = {.method = method,
                                           .max_nrhs = p->nrhs,
                                           .m = o->m,
                                           .homogeneous = 1,
                                           .sweeps = o->m,
                                           .fill_level = o->m,
                                           .nx = o->nx,
                                           .ny = o->ny};
    TRY(trine_precond_analyse(p->ctx, &plan, p->A, &options));
    TRY(trine_precond_numeric(plan, TRINE_HOST, NULL, TRINE_REUSE_NOTHING, NULL));
    TRY(trine_precond_check(plan, NULL));
    TRY(take_operators(plan, made));
done:
    trine_precond_destroy(&plan);
    return status;
}

trine_status make_preconditioner(const struct problem *p, const struct preconditioner_options *o,
                                 struct preconditioner *made)
{
    char why[200];
    *made = (struct preconditioner){.name = "none"};
    if (o->method == PRECOND_NONE) return TRINE_SUCCESS;
    trine_status status = make(p, o, (trine_precond_method)o->method, made);
    if (o->method != TRINE_PRECOND_AUTO || status != TRINE_ERR_SINGULAR) return status;
    snprintf(why, sizeof why, "%.190s", trine_last_error());
    status = make(p, o, TRINE_PRECOND_DIAGP1, made); /* zero only where a row is */
    snprintf(made->reason, sizeof made->reason, "%s", why);
    return status;
}

void destroy_preconditioner(struct preconditioner *made)
{
    for (int i = 0; i < made->count; i++) trine_op_destroy(&made->M[i]);
}
