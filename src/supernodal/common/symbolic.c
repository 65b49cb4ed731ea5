/* Structure of a supernodal plan: checks, elimination tree of the panels, merging, level sets. All on the host. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "supernodal/common/merge.h"

typedef long long ll;

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

trine_status trine_panels_check(const trine_panels *G)
{
    trine_status status = TRINE_SUCCESS;
    const int64_t n = G->n;
    REQUIRE(n >= 0 && n < INT_MAX, "n is %lld; 0 to 2^31 - 2 are possible", (ll)n);
    REQUIRE(G->n_panels >= 0 && G->n_panels <= n, "%lld panels for %lld columns", (ll)G->n_panels, (ll)n);
    if (G->n_panels == 0) {
        if (n) FAIL(TRINE_ERR_STRUCTURE, "no panels for %lld columns", (ll)n);
        return TRINE_SUCCESS;
    }
    REQUIRE(G->first_column && G->row_offsets && G->rows && G->value_offsets,
            "first_column, row_offsets, rows or value_offsets is NULL");
    if (G->first_column[0] != 0) FAIL(TRINE_ERR_STRUCTURE, "panel 0 starts at column %d", (int)G->first_column[0]);
    if (G->first_column[G->n_panels] != n)
        FAIL(TRINE_ERR_STRUCTURE, "the last panel ends at column %d, not at n = %lld",
             (int)G->first_column[G->n_panels], (ll)n);
    if (G->row_offsets[0] < 0 || G->value_offsets[0] < 0) FAIL(TRINE_ERR_STRUCTURE, "panel 0 has a negative offset");
    for (int64_t s = 0; s < G->n_panels; s++) {
        const int64_t first = G->first_column[s], width = G->first_column[s + 1] - first;
        const int64_t height = G->row_offsets[s + 1] - G->row_offsets[s],
                      room = G->value_offsets[s + 1] - G->value_offsets[s];
        const int32_t *rows = G->rows + G->row_offsets[s];
        if (width < 1) FAIL(TRINE_ERR_STRUCTURE, "panel %lld has %lld columns", (ll)s, (ll)width);
        if (first + width > n)
            FAIL(TRINE_ERR_STRUCTURE, "panel %lld ends at column %lld of %lld", (ll)s, (ll)(first + width), (ll)n);
        if (height > n) FAIL(TRINE_ERR_STRUCTURE, "panel %lld has %lld rows, but n is %lld", (ll)s, (ll)height, (ll)n);
        if (height < width)
            FAIL(TRINE_ERR_STRUCTURE, "panel %lld has %lld rows, fewer than its %lld columns", (ll)s, (ll)height,
                 (ll)width);
        if (room < height * width)
            FAIL(TRINE_ERR_STRUCTURE, "panel %lld is %lld x %lld, but there is room for %lld values", (ll)s, (ll)height,
                 (ll)width, (ll)room);
        for (int64_t r = 0; r < width; r++)
            if (rows[r] != first + r)
                FAIL(TRINE_ERR_STRUCTURE, "row %lld of panel %lld is %d, not its own column %lld", (ll)r, (ll)s,
                     (int)rows[r], (ll)(first + r));
        for (int64_t r = width; r < height; r++) {
            if (rows[r] < 0 || rows[r] >= n)
                FAIL(TRINE_ERR_STRUCTURE, "row index %d in panel %lld is outside 0..%lld", (int)rows[r], (ll)s,
                     (ll)(n - 1));
            if (rows[r] <= rows[r - 1])
                FAIL(TRINE_ERR_STRUCTURE, "the rows of panel %lld do not ascend: %d comes after %d", (ll)s,
                     (int)rows[r], (int)rows[r - 1]);
        }
    }
done:
    return status;
}

/** Liu's elimination tree on the quotient graph of panels: the parent is the first later panel that needs the
 *  result, where a structure that is not closed under elimination (LU, incomplete factors) is treated as if it were.
 *  Then everything a panel reads or adds to lies on its way to the root, and waiting for children alone is enough. */
static trine_status build_tree(trine_context ctx, supernodal_forest *F)
{
    trine_status status = TRINE_SUCCESS;
    const trine_panels *G = F->G;
    const int64_t m = G->n_panels;
    int32_t *ancestor = NULL, *below = NULL;
    int64_t *start = NULL;
    TRY(ALLOC(ctx, ancestor, m));
    TRY(CALLOC(ctx, start, m + 2));
    /* below[start[p]..]: the panels with a row in p, ascending */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t s = 0; s < m; s++) {
            int32_t last = (int32_t)s;
            for (int64_t k = G->row_offsets[s + 1] - off_rows(G, s); k < G->row_offsets[s + 1]; k++) {
                const int32_t p = F->panel_of[G->rows[k]];
                if (p == last) continue;
                last = p;
                if (pass == 0) start[p + 2]++;
                else below[start[p + 1]++] = (int32_t)s;
            }
        }
        if (pass == 0) {
            for (int64_t p = 0; p < m; p++) start[p + 2] += start[p + 1];
            TRY(ALLOC(ctx, below, start[m + 1]));
        }
    }
    for (int32_t p = 0; p < m; p++) {
        F->parent[p] = ancestor[p] = -1;
        for (int64_t k = start[p]; k < start[p + 1]; k++) {
            int32_t s = below[k];
            while (ancestor[s] != -1 && ancestor[s] != p) { /* compress the path on the way up */
                const int32_t up = ancestor[s];
                ancestor[s] = p;
                s = up;
            }
            if (ancestor[s] == -1 && s != p) F->parent[s] = ancestor[s] = p;
        }
    }
done:
    trine_free(ctx, TRINE_HOST, ancestor);
    trine_free(ctx, TRINE_HOST, below);
    trine_free(ctx, TRINE_HOST, start);
    return status;
}

/** Levels of a forest in which children come before parents. */
static int64_t tree_levels(int64_t m, const int32_t *parent, int32_t *level)
{
    int64_t levels = 0;
    for (int64_t s = 0; s < m; s++) level[s] = 0;
    for (int64_t s = 0; s < m; s++) {
        if (level[s] + 1 > levels) levels = level[s] + 1;
        if (parent[s] >= 0 && level[parent[s]] <= level[s]) level[parent[s]] = level[s] + 1;
    }
    return levels;
}

/** What lay_out works with: F becomes S. */
typedef struct {
    supernodal_forest *F;
    supernodal_structure *S;
    int32_t *index_of;       /* of the merged panel that r stands for */
    int32_t *new_row;        /* of the caller's row */
    int32_t *first, *next;   /* first[r]: first member of the merged panel that r stands for; next[s]: the one after
                                s, ascending; -1: none */
} layout;

/** Memory for what is known the size of, and the numbers of merged panels. */
static trine_status begin_layout(layout *l)
{
    trine_status status = TRINE_SUCCESS;
    supernodal_structure *S = l->S;
    trine_context ctx = S->ctx;
    const supernodal_forest *F = l->F;
    const trine_panels *G = F->G;
    const int64_t m = G->n_panels, n = G->n;
    TRY(ALLOC(ctx, l->index_of, m));
    TRY(ALLOC(ctx, l->new_row, n));
    TRY(ALLOC(ctx, l->next, m));
    TRY(ALLOC(ctx, l->first, m));
    for (int32_t r = 0; r < m; r++) {
        if (F->into[r] != r) continue;
        l->index_of[r] = (int32_t)S->n_panels++;
        S->n_rows += F->width[r] + off_rows(G, r);
    }
    S->n_sources = m;
    TRY(CALLOC(ctx, S->panels, S->n_panels));
    TRY(ALLOC(ctx, S->rows, S->n_rows));
    TRY(ALLOC(ctx, S->original, n));
    TRY(ALLOC(ctx, S->target, m));
    TRY(ALLOC(ctx, S->target_column, m));
    TRY(ALLOC(ctx, S->source_width, m));
    TRY(ALLOC(ctx, S->source_row_offsets, m + 1));
    TRY(ALLOC(ctx, S->source_value_offsets, m));
    TRY(ALLOC(ctx, S->source_rows, G->row_offsets[m] - G->row_offsets[0]));
done:
    return status;
}

/** Columns, and the sizes and places of merged panels: members in ascending order within each, merged panels in the
 *  order of their last members. So every column stays behind the columns it depends on. */
static void number_columns(layout *l, int padding)
{
    supernodal_forest *F = l->F;
    supernodal_structure *S = l->S;
    const trine_panels *G = F->G;
    const int32_t m = (int32_t)G->n_panels;
    for (int32_t s = 0; s < m; s++) l->first[s] = -1;
    for (int32_t s = m - 1; s >= 0; s--) {
        const int32_t r = standing_for(F, s);
        l->next[s] = l->first[r];
        l->first[r] = s;
    }
    int32_t column = 0;
    int64_t n_rows = 0;
    for (int32_t r = 0; r < m; r++) {
        if (F->into[r] != r) continue;
        supernodal_panel *p = &S->panels[l->index_of[r]];
        p->first = column;
        p->width = F->width[r];
        p->height = p->width + (int32_t)off_rows(G, r);
        p->ld = (p->height + padding - 1) / padding * padding;
        p->parent = F->parent[r] < 0 ? -1 : l->index_of[standing_for(F, F->parent[r])];
        p->rows = n_rows;
        p->values = S->n_values;
        n_rows += p->height;
        S->n_values += (int64_t)p->ld * p->width;
        if (p->width > S->max_width) S->max_width = p->width;
        if (p->height > S->max_height) S->max_height = p->height;
        S->nnz_merged += trapezoid(p->width, p->height);
        for (int32_t s = l->first[r]; s >= 0; s = l->next[s]) {
            S->target[s] = l->index_of[r];
            S->target_column[s] = column - p->first;
            for (int32_t c = G->first_column[s]; c < G->first_column[s + 1]; c++) {
                S->original[column] = c;
                l->new_row[c] = column++;
            }
        }
    }
}

static void place_in_tree(supernodal_structure *S)
{
    for (int64_t s = 0; s < S->n_panels; s++)
        if (S->panels[s].parent >= 0) S->panels[S->panels[s].parent].children++;
    for (int64_t s = S->n_panels - 1; s >= 0; s--)
        if (S->panels[s].parent >= 0) S->panels[s].depth = S->panels[S->panels[s].parent].depth + 1;
}

/** The row lists of merged panels, ascending: a panel's own columns, then the rows of its last member. */
static void list_rows(const layout *l)
{
    const trine_panels *G = l->F->G;
    for (int32_t r = 0; r < G->n_panels; r++) {
        if (l->F->into[r] != r) continue;
        const supernodal_panel *p = &l->S->panels[l->index_of[r]];
        int32_t *rows = l->S->rows + p->rows;
        for (int32_t k = 0; k < p->width; k++) rows[k] = p->first + k;
        const int32_t *off = G->rows + G->row_offsets[r + 1] - off_rows(G, r);
        bool ascending = true;
        for (int32_t k = p->width; k < p->height; k++) {
            rows[k] = l->new_row[off[k - p->width]];
            ascending = ascending && rows[k] > rows[k - 1];
        }
        if (!ascending) qsort(rows + p->width, (size_t)(p->height - p->width), sizeof *rows, by_value);
    }
}

/** Where the caller's panels have their values, and which rows of the merged panels these belong to. */
static void place_sources(const layout *l)
{
    supernodal_structure *S = l->S;
    const trine_panels *G = l->F->G;
    const int64_t base = G->row_offsets[0];
    int32_t *position = l->F->mark; /* of a row in the panel at hand */
    for (int32_t r = 0; r < G->n_panels; r++) {
        if (l->F->into[r] != r) continue;
        const supernodal_panel *p = &S->panels[l->index_of[r]];
        for (int32_t k = 0; k < p->height; k++) position[S->rows[p->rows + k]] = k;
        for (int32_t s = l->first[r]; s >= 0; s = l->next[s])
            for (int64_t k = G->row_offsets[s]; k < G->row_offsets[s + 1]; k++)
                S->source_rows[k - base] = position[l->new_row[G->rows[k]]];
    }
    S->source_row_offsets[0] = 0;
    for (int64_t s = 0; s < G->n_panels; s++) {
        S->source_row_offsets[s + 1] = G->row_offsets[s + 1] - base;
        S->source_value_offsets[s] = G->value_offsets[s];
        S->source_width[s] = G->first_column[s + 1] - G->first_column[s];
        S->nnz += trapezoid(S->source_width[s], S->source_row_offsets[s + 1] - S->source_row_offsets[s]);
    }
}

/** The plan's numbering and panels, and where the caller's values go. */
static trine_status lay_out(supernodal_forest *F, int padding, supernodal_structure *S)
{
    trine_status status = TRINE_SUCCESS;
    layout l = {.F = F, .S = S};
    TRY(begin_layout(&l));
    number_columns(&l, padding);
    place_in_tree(S);
    list_rows(&l);
    place_sources(&l);
done:
    trine_free(S->ctx, TRINE_HOST, l.index_of);
    trine_free(S->ctx, TRINE_HOST, l.new_row);
    trine_free(S->ctx, TRINE_HOST, l.first);
    trine_free(S->ctx, TRINE_HOST, l.next);
    return status;
}

/** Levels of the plan's panels and their sizes. */
static trine_status count_levels(supernodal_structure *S)
{
    trine_status status = TRINE_SUCCESS;
    int64_t *size = NULL;
    TRY(CALLOC(S->ctx, size, S->n_panels));
    for (int64_t s = 0; s < S->n_panels; s++) {
        const supernodal_panel *p = &S->panels[s];
        size[p->level]++;
        if (p->level + 1 > S->levels) S->levels = p->level + 1;
        if (p->parent >= 0 && S->panels[p->parent].level <= p->level) S->panels[p->parent].level = p->level + 1;
    }
    for (int64_t k = 0; k < S->levels; k++) {
        if (!k || size[k] < S->min_panels_per_level) S->min_panels_per_level = size[k];
        if (size[k] > S->max_panels_per_level) S->max_panels_per_level = size[k];
    }
done:
    trine_free(S->ctx, TRINE_HOST, size);
    return status;
}

trine_status supernodal_symbolic(trine_context ctx, const trine_panels *panels, double fill, double level_zeros,
                                 int padding, supernodal_structure *S)
{
    trine_status status = trine_panels_check(panels);
    if (status) return status;
    const int64_t m = panels->n_panels, n = panels->n;
    supernodal_forest F = {.G = panels};
    S->ctx = ctx;
    S->n = n;
    if (!m) return TRINE_SUCCESS;
    TRY(ALLOC(ctx, F.panel_of, n));
    TRY(ALLOC(ctx, F.mark, n));
    TRY(ALLOC(ctx, F.parent, m));
    TRY(ALLOC(ctx, F.head, m));
    TRY(ALLOC(ctx, F.next, m));
    TRY(ALLOC(ctx, F.into, m));
    TRY(ALLOC(ctx, F.width, m));
    TRY(CALLOC(ctx, F.zeros, m));
    TRY(ALLOC(ctx, F.columns, m));
    TRY(ALLOC(ctx, F.level, m));
    for (int32_t s = 0; s < m; s++) {
        F.into[s] = s;
        F.head[s] = -1;
        F.width[s] = panels->first_column[s + 1] - panels->first_column[s];
        for (int32_t c = panels->first_column[s]; c < panels->first_column[s + 1]; c++) F.panel_of[c] = s;
    }
    for (int64_t i = 0; i < n; i++) F.mark[i] = -1;
    TRY(build_tree(ctx, &F));
    for (int32_t s = 0; s < m; s++) F.columns[s] = F.width[s];
    for (int32_t s = 0; s < m; s++)
        if (F.parent[s] >= 0) F.columns[F.parent[s]] += F.columns[s];
    for (int32_t s = (int32_t)m - 1; s >= 0; s--) {
        if (F.parent[s] < 0) continue;
        F.next[s] = F.head[F.parent[s]];
        F.head[F.parent[s]] = s;
    }
    S->levels_given = tree_levels(m, F.parent, F.mark); /* mark has n >= m entries */
    for (int64_t i = 0; i < n; i++) F.mark[i] = -1;
    if (fill >= 1) supernodal_merge_everything(&F);
    else if (fill >= 0) supernodal_merge(&F, fill, level_zeros);
    TRY(lay_out(&F, padding, S));
    TRY(count_levels(S));
done:
    trine_free(ctx, TRINE_HOST, F.panel_of);
    trine_free(ctx, TRINE_HOST, F.mark);
    trine_free(ctx, TRINE_HOST, F.parent);
    trine_free(ctx, TRINE_HOST, F.head);
    trine_free(ctx, TRINE_HOST, F.next);
    trine_free(ctx, TRINE_HOST, F.into);
    trine_free(ctx, TRINE_HOST, F.width);
    trine_free(ctx, TRINE_HOST, F.zeros);
    trine_free(ctx, TRINE_HOST, F.columns);
    trine_free(ctx, TRINE_HOST, F.level);
    return status;
}

trine_status supernodal_reorder(supernodal_structure *S, const int32_t *order)
{
    trine_status status = TRINE_SUCCESS;
    trine_context ctx = S->ctx;
    const int64_t m = S->n_panels;
    supernodal_panel *panels = NULL;
    int32_t *rows = NULL, *original = NULL, *new_row = NULL, *new_panel = NULL, column = 0;
    int64_t n_rows = 0, n_values = 0;
    TRY(ALLOC(ctx, panels, m));
    TRY(ALLOC(ctx, rows, S->n_rows));
    TRY(ALLOC(ctx, original, S->n));
    TRY(ALLOC(ctx, new_row, S->n));
    TRY(ALLOC(ctx, new_panel, m));
    for (int32_t k = 0; k < m; k++) {
        const supernodal_panel *from = &S->panels[order[k]];
        new_panel[order[k]] = k;
        panels[k] = *from;
        panels[k].first = column;
        panels[k].rows = n_rows;
        panels[k].values = n_values;
        n_rows += from->height;
        n_values += (int64_t)from->ld * from->width;
        for (int32_t c = 0; c < from->width; c++) {
            original[column] = S->original[from->first + c];
            new_row[from->first + c] = column++;
        }
    }
    for (int64_t k = 0; k < m; k++) {
        const int32_t *from = S->rows + S->panels[order[k]].rows;
        for (int32_t r = 0; r < panels[k].height; r++) rows[panels[k].rows + r] = new_row[from[r]];
        if (panels[k].parent >= 0) panels[k].parent = new_panel[panels[k].parent];
    }
    for (int64_t s = 0; s < S->n_sources; s++) S->target[s] = new_panel[S->target[s]];
    trine_free(ctx, TRINE_HOST, S->panels);
    trine_free(ctx, TRINE_HOST, S->rows);
    trine_free(ctx, TRINE_HOST, S->original);
    S->panels = panels;
    S->rows = rows;
    S->original = original;
    panels = NULL;
    rows = original = NULL;
done:
    trine_free(ctx, TRINE_HOST, panels);
    trine_free(ctx, TRINE_HOST, rows);
    trine_free(ctx, TRINE_HOST, original);
    trine_free(ctx, TRINE_HOST, new_row);
    trine_free(ctx, TRINE_HOST, new_panel);
    return status;
}

void supernodal_structure_free(supernodal_structure *S)
{
    trine_context ctx = S->ctx;
    if (!ctx) return;
    trine_free(ctx, TRINE_HOST, S->panels);
    trine_free(ctx, TRINE_HOST, S->rows);
    trine_free(ctx, TRINE_HOST, S->original);
    trine_free(ctx, TRINE_HOST, S->target);
    trine_free(ctx, TRINE_HOST, S->target_column);
    trine_free(ctx, TRINE_HOST, S->source_width);
    trine_free(ctx, TRINE_HOST, S->source_rows);
    trine_free(ctx, TRINE_HOST, S->source_row_offsets);
    trine_free(ctx, TRINE_HOST, S->source_value_offsets);
    *S = (supernodal_structure){0};
}
