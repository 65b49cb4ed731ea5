/* Grouping of unknowns, partitions and stages of block tridiagonal and banded solves. */
#include "tridiagonal/block/common/layout.h"

#define PAIRS_INLINE static inline
#include "tridiagonal/block/common/pairs.h"

trine_status block_check_options(trine_dtype t, int64_t n, int64_t nrhs, const trine_gtsv_options *options,
                                 rpts_options *out)
{
    trine_gtsv_options checked = options ? *options : (trine_gtsv_options){0};
    const trine_pivot pivot = checked.pivot;
    const bool determinant = pivot == TRINE_PIVOT_PARTIAL_DETERMINANT || pivot == TRINE_PIVOT_SCALED_DETERMINANT;
    if (determinant) checked.pivot = TRINE_PIVOT_DEFAULT;
    REQUIRE(n <= INT64_MAX / 8192, "n is %lld", (long long)n); /* so that no count of elements overflows */
    REQUIRE(checked.memory >= TRINE_MEMORY_AUTO && checked.memory <= TRINE_MEMORY_SMALL,
            "there is no choice of memory %d", (int)checked.memory);
    const trine_status status = rpts_check_options(t, n, nrhs, &checked, out);
    if (!status && determinant) out->pivot = pivot;
    return status;
}

trine_status block_group_blocks(int64_t rows, int n, const rpts_options *o, const int *widths, block_matrix *A)
{
    REQUIRE(n >= 1 && n <= BLOCK_MAX, "n is %d, not 1 to %d", n, BLOCK_MAX);
    *A = (block_matrix){.n = rows * n,
                        .rows = rows < 2 ? 2 : rows,
                        .width = widths[n],
                        .size = n,
                        .op = o->op,
                        .cyclic = o->cyclic && rows > 2,
                        .wrapped = o->cyclic && rows <= 2,
                        .n_given = n,
                        .rows_given = rows};
    return TRINE_SUCCESS;
}

trine_status block_group_bands(int64_t n, int kl, int ku, const rpts_options *o, const int *widths, block_matrix *A)
{
    REQUIRE(kl >= 0 && kl <= BLOCK_MAX, "kl is %d, not 0 to %d", kl, BLOCK_MAX);
    REQUIRE(ku >= 0 && ku <= BLOCK_MAX, "ku is %d, not 0 to %d", ku, BLOCK_MAX);
    const int most = kl > ku ? kl : ku;
    *A = (block_matrix){.n = n, .banded = true, .kl = kl, .ku = ku, .op = o->op};
    for (int w = most > 1 ? most : 1; w <= BLOCK_MAX; w++) {
        if (widths[w] != w) continue;
        A->width = A->size = w;
        A->rows = n > w ? (n + w - 1) / w : 2;
        A->larger = 0;
        if (!o->cyclic) return TRINE_SUCCESS;
        A->wrapped = n <= 2 * w;
        A->cyclic = !A->wrapped;
        if (A->wrapped || n % w == 0) return TRINE_SUCCESS;
        /* x[n-1] and x[0] are neighbours: every block column has to be as wide as the bands */
        A->size = (int)(n / A->rows);
        A->larger = n - A->rows * A->size;
        if (A->size >= most || A->rows == 3) return TRINE_SUCCESS; /* of three, each is every other's neighbour */
    }
    const int64_t pairs = (n + 2 * BLOCK_MAX - 1) / (2 * BLOCK_MAX); /* n > 24: at least two */
    A->width = BLOCK_MAX;
    A->paired = true;
    A->rows = 2 * pairs;
    A->size = (int)(n / pairs);
    A->larger = n % pairs;
    return TRINE_SUCCESS;
}

static void add_stage(block_plan *plan, int group, int64_t groups, int64_t partition, block_keep keeps)
{
    block_stage *s = &plan->stage[plan->stages++];
    const int64_t w = plan->width;
    s->group = group;
    s->keeps = keeps;
    s->groups = groups;
    /* Zero comes with paired rows only, whose first stage has 2: NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    s->partitions = groups <= partition ? 1 : (groups + partition - 1) / partition;
    s->base = groups / s->partitions;
    s->larger = groups % s->partitions;
    s->chunk = w * w * (6 + 2 * group) + w;
    s->factor = plan->factor_elements;
    /* the rows' scales */
    if (group == 1 && keeps == BLOCK_KEEP_FACTORS) plan->pivot_bytes += groups * w * (int64_t)sizeof(uint16_t);
    s->pivots = plan->pivot_bytes;
    s->matrix = plan->matrix_elements;
    s->rhs = plan->rhs_elements;
    plan->factor_elements += groups * group *
                             (keeps == BLOCK_KEEP_FACTORS      ? s->chunk
                              : keeps == BLOCK_KEEP_PIVOT_ROWS ? w * w * (4 + group)
                                                               : 0);
    plan->pivot_bytes += keeps == BLOCK_KEEP_FACTORS ? groups * group * (w + 1) : 0;
    if (group == 1) return;
    plan->matrix_elements += groups * 8 * w * w;
    plan->rhs_elements += groups * 2 * w;
}

void block_make_plan(const block_matrix *A, int64_t partition, int64_t coarse_partition, block_keep keeps,
                     block_keep coarse_keeps, block_plan *plan)
{
    *plan = (block_plan){.width = A->width, .cyclic = A->cyclic};
    if (partition && partition < 4) partition = 4; /* no partition may have less than two block rows, or groups */
    add_stage(plan, 1, A->rows, A->paired ? 2 : partition, A->paired ? BLOCK_KEEP_NOTHING : keeps);
    if (A->paired && partition) add_stage(plan, 2, plan->stage[0].partitions, (partition + 1) / 2, coarse_keeps);
    /* small systems are a matter of latency: shorter partitions, more stages */
    while (plan->stages < 2 || plan->stage[plan->stages - 1].partitions > 1) {
        const int64_t groups = plan->stage[plan->stages - 1].partitions;
        add_stage(plan, 2, groups, groups > 1024 ? coarse_partition : (coarse_partition + 1) / 2, coarse_keeps);
    }
}

int64_t block_small_partition(const block_matrix *A, int64_t suitable, block_keep coarse_keeps)
{
    const int64_t w = A->width,
                  group = 8 * w * w + (coarse_keeps == BLOCK_KEEP_FACTORS ? 2 * (10 * w * w + w) : 12 * w * w);
    /* 8 / 7: the stages behind the first coarse one */
    while (8 * group > 3 * suitable * block_given_elements(A)) suitable *= 2;
    return suitable;
}

void block_add_slots(const block_matrix *A, trine_dtype t, size_t factor_bytes, size_t slot_bytes, int64_t least,
                     int64_t most, block_plan *plan)
{
    const size_t half = (size_t)A->rows * (size_t)block_given_elements(A) * trine_dtype_size(t) / 2;
    const int64_t room = half > factor_bytes ? (int64_t)((half - factor_bytes) / slot_bytes) : 0;
    plan->slots = room > least ? room : least;
    if (plan->slots > most) plan->slots = most;
    plan->slot_bytes = slot_bytes;
}

trine_status block_factor_bytes(const block_plan *plan, trine_dtype t, size_t *bytes)
{
    trine_status status = rpts_bytes(0, 0, plan->factor_elements + plan->matrix_elements, 0, t, bytes);
    if (!status) *bytes += ((size_t)plan->pivot_bytes + 15) / 16 * 16;
    return status;
}

int64_t block_unknown(const block_matrix *A, const block_plan *plan, int stage, int64_t j, int k)
{
    for (; stage > 0; stage--) {
        const block_stage *fine = &plan->stage[stage - 1];
        const int64_t p = j / 2, first = block_first_group(fine, p) * fine->group;
        j = j % 2 ? first + (int64_t)block_group_count(fine, p) * fine->group - 1 : first;
    }
    if (A->paired) return pair_first(A, j / 2) + pair_unknown(A, j / 2, (int)(j % 2) * A->width + k);
    return block_first(A, j) + k;
}
