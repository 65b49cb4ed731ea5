/* Factors kept in single precision on the CPU: values, right-hand sides and solutions are converted on their way,
 * and the backend sees a plan of single precision. (The GPU's kernels convert as they load and store.) */
#include <math.h>

#include "core/team.h"
#include "supernodal/supernodal.h"

enum { NUMBERS_AT_ONCE = 1 << 16 }; /* that one thread rounds */

static int parts_of(trine_supernodal plan) { return trine_dtype_is_complex(plan->base.dtype) ? 2 : 1; }

typedef struct {
    const double *values;
    float *rounded;
} rounding;

static void round_numbers(void *job, int64_t begin, int64_t end, int me)
{
    const rounding *r = job;
    (void)me;
    for (int64_t k = begin; k < end; k++) r->rounded[k] = (float)r->values[k];
}

trine_status supernodal_single_numeric(trine_supernodal plan, const double *values)
{
    trine_status status = TRINE_SUCCESS;
    const supernodal_structure *S = &plan->S;
    const int parts = parts_of(plan);
    int64_t count = 0;
    float *rounded = NULL;
    for (int64_t s = 0; s < S->n_sources; s++) {
        const int64_t height = S->source_row_offsets[s + 1] - S->source_row_offsets[s],
                      end = S->source_value_offsets[s] + height * S->source_width[s];
        if (end > count) count = end;
    }
    TRY(ALLOC(plan->base.ctx, rounded, count * parts));
    trine_team_for(plan->base.ctx, plan->base.ctx->threads, count * parts, NUMBERS_AT_ONCE, round_numbers,
                   &(rounding){values, rounded});
    status = plan->backend->numeric(plan, TRINE_HOST, rounded, NULL);
done:
    trine_free(plan->base.ctx, TRINE_HOST, rounded);
    return status;
}

/** Powers of two by which column j of B is rounded, 1 / (first second), so that its largest number is 1 to 2, and by
 *  which its solution comes back. */
typedef struct {
    double first, second;
    int64_t is_finite; /* B is */
} column_scale;

size_t supernodal_single_work_bytes(trine_supernodal plan, int64_t nrhs)
{
    return (size_t)(plan->S.n * nrhs) * trine_dtype_size(plan->dtype) + 8 + (size_t)nrhs * sizeof(column_scale);
}

/** Entry (i, j) in numbers of one element's parts. */
static inline int64_t place(const trine_dense *D, int64_t i, int64_t j, int parts)
{
    return parts * (D->layout == TRINE_COLMAJOR ? i + j * D->ld : i * D->ld + j);
}

static column_scale scale_of(const trine_dense *B, int64_t j, int parts)
{
    double most = 0;
    bool is_nan = false;
    for (int64_t i = 0; i < B->rows; i++)
        for (int p = 0; p < parts; p++) {
            const double size = fabs(((const double *)B->data)[place(B, i, j, parts) + p]);
            if (size > most) most = size;
            is_nan = is_nan || size != size;
        }
    if (is_nan || !(most < INFINITY)) return (column_scale){1, 1, false};
    const int exponent = most < 0x1p-1022 ? -1022 : ilogb(most);
    return (column_scale){ldexp(1, exponent / 2), ldexp(1, exponent - exponent / 2), true};
}

/** Column j of X = alpha z, z times its scale; whether all of z is finite. */
static bool store_column(const double *alpha, const float *z, column_scale scale, const trine_dense *X, int64_t j,
                         int parts)
{
    bool is_finite = true;
    for (int64_t i = 0; i < X->rows; i++, z += parts) {
        double *to = (double *)X->data + place(X, i, j, parts);
        const double re = z[0] * scale.first * scale.second, im = parts == 2 ? z[1] * scale.first * scale.second : 0;
        is_finite = is_finite && isfinite(z[0]) && (parts == 1 || isfinite(z[1]));
        to[0] = alpha[0] * re;
        if (parts == 2) to[1] = alpha[0] * im;
        if (parts == 1 || alpha[1] == 0) continue;
        to[0] -= alpha[1] * im;
        to[1] += alpha[1] * re;
    }
    return is_finite;
}

trine_status supernodal_single_solve(trine_supernodal plan, trine_transpose op, const double *alpha,
                                     const trine_dense *B, const trine_dense *X, supernodal_work *work)
{
    const int parts = parts_of(plan);
    const int64_t n = plan->S.n, own = (int64_t)plan->backend->work_bytes(plan, work->base.max_nrhs),
                  column = n * (int64_t)trine_dtype_size(plan->dtype);
    const float one[2] = {1, 0};
    column_scale *const scales = (column_scale *)((char *)work->base.buffer + (own + 7) / 8 * 8);
    float *z = (float *)(scales + work->base.max_nrhs);
    const trine_dense Z = {.data = z, .rows = n, .cols = B->cols, .ld = n, .layout = TRINE_COLMAJOR};
    bool leaves_range = false;
    for (int64_t j = 0; j < B->cols; j++) {
        const column_scale s = scales[j] = scale_of(B, j, parts);
        const double first = 1 / s.first, second = 1 / s.second;
        for (int64_t i = 0; i < n; i++)
            for (int p = 0; p < parts; p++)
                z[parts * (i + j * n) + p] =
                    (float)(((const double *)B->data)[place(B, i, j, parts) + p] * first * second);
    }
    const trine_status status = plan->backend->solve(plan, op, one, &Z, &Z, work, NULL);
    if (status) return status;
    for (int64_t j = 0; j < B->cols; j++)
        if (!store_column(alpha, (const float *)((const char *)z + j * column), scales[j], X, j, parts))
            leaves_range = leaves_range || scales[j].is_finite;
    return leaves_range && !plan->given_is_nan
               ? trine_fail(
                     TRINE_ERR_NO_CONVERGENCE,
                     "the solution leaves the range of single precision, in which the factor is kept: scale the matrix, or keep the factor in double")
               : TRINE_SUCCESS;
}
