/* Suite precond: what the thesis (Klein 2024, Sections 4.6 and 5.3) claims, judged by what the suite has measured. */
#include <math.h>
#include <string.h>

#include "precond.h"

/* COVERED_STEPS: with as many factors as cover 0.99 of A, of sweep figure40 */
typedef enum { STEPS, STEP_TIME, SETUP_TIME, SOLVE_TIME, COVERED_STEPS } measure;
static const char *const measures[] = {"steps", "time of a step", "time of numeric", "time of the solve", "steps"};

/** Of the matrix (by its name before the size) the measure of `method` over that of `other` lies in least..most. */
typedef struct {
    const char *text, *matrix, *method, *other;
    measure of;
    double least, most;
} claim;
static const claim claims[] = {
    {"5.3.3: ALT-i gains nothing from m > 2 on MODEL8", "laplace2d", "alt-i:m=4", "alt-i:m=2", STEPS, 0.95, INFINITY},
    {"5.3.3: ALT-i takes fewer steps with every factor on ANISO2", "aniso2", "alt-i:m=4", "alt-i:m=3", STEPS, 0, 1},
    {"5.3.3: ALT-i is faster than ILU on G3_CIRCUIT", "G3_circuit", "alt-i:m=2", "isai:m=1", SOLVE_TIME, 0, 1},
    {"5.3.3: ALT-i improves from m = 3 to 4 on MODEL4", "rotate7", "alt-i:m=4", "alt-i:m=3", STEPS, 0, 0.9},
    {"5.3.3: MOS-d hardly improves for m > 2 on MODEL4", "rotate7", "mos-d:m=4", "mos-d:m=2", STEPS, 0.9, INFINITY},
    {"5.3.3: MOS-a gains from more factors on MODEL4", "rotate7", "mos-a:m=4", "mos-a:m=2", STEPS, 0, 0.9},
    {"5.3.3: ILU is the fastest on MODEL4", "rotate7", "isai:m=1", "mos-a:m=2", SOLVE_TIME, 0, 1},
    {"5.3.3: MOS-a is the best choice on MODEL3", "rotate9:n=150", "mos-a:m=4", "alt-i:m=4", STEPS, 0, 1},
    {"5.3.3: ILU-ISAI gains nothing from sweeps on MODEL3", "rotate9:n=150", "isai:m=2", "isai:m=1", STEPS, 0.95,
     INFINITY},
    {"5.3.3: ILU-ISAI needs over three times the steps of MOS-a on MODEL7", "rotate9:n=150,alpha=0", "isai:m=1",
     "mos-a:m=1", STEPS, 3, INFINITY},
    {"5.3.3: MOS-a takes more steps with a second factor on MODEL7", "rotate9:n=150,alpha=0", "mos-a:m=2", "mos-a:m=1",
     STEPS, 1, INFINITY},
    {"5.3.3: and fewer again with more of them", "rotate9:n=150,alpha=0", "mos-a:m=4", "mos-a:m=2", STEPS, 0, 1},
    {"5.3.3: ALT-i is far superior to exact ILU(0) on ECOLOGY2", "grounded2d", "alt-i:m=4", "ilu0", STEPS, 0, 0.7},
    {"5.3.3: ALT-i is faster than ILU-ISAI on ECOLOGY2", "grounded2d", "alt-i:m=4", "isai:m=1", SOLVE_TIME, 0, 1},
    {"5.3.3, a stand-in for HOOK_1498: MOS-d does better with more factors than MOS-a", "elas_rod300x33", "mos-d:m=4",
     "mos-a:m=4", STEPS, 0, 1},
    {"5.3.3, a stand-in for ML_GEER: diagp1 is almost as good as the others", "elas_Armadillo13K", "diagp1",
     "mos-d:m=4", STEPS, 0, 1.2},
    {"Figure 35: a step with MOS-a(1) is faster than with ILU-ISAI(1)", "rotate7", "mos-a:m=1", "isai:m=1", STEP_TIME,
     0, 1},
    {"Figure 35: a step with MOS-a(4) is slower than with ILU-ISAI(1)", "rotate7", "mos-a:m=4", "isai:m=1", STEP_TIME,
     1, INFINITY},
    {"Figure 35: the tridiagonal part is a little faster than MOS-a(1)", "rotate7", "tridiag", "mos-a:m=1", STEP_TIME,
     0, 1},
    {"Figure 34: set-up is linear in m", "rotate7", "mos-a:m=4", "mos-a:m=1", SETUP_TIME, 2, 6},
    {"5.3.4: ALT-i is as good as geometric ADI on ANISO1", "aniso1", "alt-i:m=2", "adi", STEPS, 0.9, 1.1},
    {"5.3.4: geometric ADI is the worst on ANISO2", "aniso2", "adi", "alt-i:m=2", STEPS, 1.1, INFINITY},
    {"5.3.4: mixed directions are better than ADI's on MODEL8", "laplace2d", "alt-i:m=2", "adi", STEPS, 0, 1},
    {"4.6: blocks are better than single rows on ANISO2", "aniso2", "alg-tri-block", "alg-tri", STEPS, 0, 1},
    {"4.6: paths of strong entries are better than the given order on ANISO2", "aniso2", "alg-tri", "tridiag", STEPS, 0,
     0.9},
    {"5.3.5, a stand-in for GEO_1438: ALT-i converges better with fewer factors", "elasticity3d", "alt-i", "alt-i:m=3",
     COVERED_STEPS, 1.01, INFINITY},
    {"5.3.5, a stand-in for ML_GEER: ALT-i converges better with fewer factors", "elas_Armadillo13K", "alt-i",
     "alt-i:m=3", COVERED_STEPS, 1.01, INFINITY},
    {"5.3.5, a stand-in for HOOK_1498: ALT-i converges better with fewer factors", "elas_rod300x33", "alt-i",
     "alt-i:m=3", COVERED_STEPS, 1.01, INFINITY},
};
enum { N_CLAIMS = sizeof claims / sizeof *claims };

static double value_of(const precond_outcome *o, measure of)
{
    return of == STEPS || of == COVERED_STEPS ? o->steps
           : of == STEP_TIME                  ? o->step_ms
           : of == SETUP_TIME                 ? o->setup_ms
                                              : o->solve_ms;
}

static bool begins_with(const char *text, const char *beginning, char next)
{
    const size_t length = strlen(beginning);
    return strncmp(text, beginning, length) == 0 && (!text[length] || text[length] == next);
}

/** Of the first matrix of this name, with or without its size; covered: of the method with any m. */
static const precond_outcome *find(const precond_outcomes *all, const char *matrix, const char *method, bool covered)
{
    for (int k = 0; k < all->count; k++) {
        const precond_outcome *o = &all->of[k];
        if (begins_with(o->matrix, matrix, strchr(matrix, ':') ? '\0' : ':') &&
            begins_with(o->method, method, covered ? ':' : '\0'))
            return o;
    }
    return NULL;
}

trine_status precond_judge(bench *b, const precond_outcomes *all, bool covered)
{
    trine_status status = TRINE_SUCCESS;
    const char *const sweep = b->sweep;
    fprintf(b->table, "\nwhat the thesis claims\n");
    for (int k = 0; k < N_CLAIMS; k++) {
        const claim *c = &claims[k];
        if ((c->of == COVERED_STEPS) != covered) continue;
        const precond_outcome *x = find(all, c->matrix, c->method, covered),
                              *y = find(all, c->matrix, c->other, covered);
        const bool testable = x && y && (x->converged || y->converged);
        const double one = x && x->converged ? value_of(x, c->of) : INFINITY,
                     two = y && y->converged ? value_of(y, c->of) : INFINITY, ratio = one / two;
        const bool held = testable && ratio >= c->least && ratio <= c->most;
        char numbers[200];
        bench_record r = bench_record_begin("precond", testable ? x->matrix : c->matrix);
        r.dtype = TRINE_D;
        r.impl = "trine";
        r.method = c->text;
        r.chosen = held ? "held" : testable ? "not held" : "not testable";
        if (!testable) snprintf(numbers, sizeof numbers, "there is no record of both methods on %s", c->matrix);
        else snprintf(numbers, sizeof numbers, "%s: %s %.4g, %s %.4g", measures[c->of], x->method, one, y->method, two);
        bench_record_add_text(&r, "numbers", numbers);
        fprintf(b->table, "  %-12s  %s (%s)\n", r.chosen, c->text, numbers);
        b->sweep = "claims";
        if (testable) TRY(bench_record_write(b, &r));
    }
done:
    b->sweep = sweep;
    return status;
}
