/* Transforms of whole arrays by passes over memory: include-template.
 *
 * Parameters (all undefined again at the end):
 *   NT           prefix of the generated names
 *   NT_TABLE     name of the constant cuzk__ntt_kernels to define
 *   NT_FV        prefix of the batches of scalar-field elements, an instance of field/vec_*.inl.h
 *   NT_FE        prefix of the field itself
 *   NT_LEAF      log2 of the elements of the largest leaf; a leaf and its part of the table should
 *                fit the second-level cache
 *   NT_IN_PLACE  1 when batches are single elements in the files' own form (LANES is 1): leaves are
 *                transformed where they lie. Else 0, and transforms are of 2 LANES^2 elements or
 * more
 *
 *   NT_VECTOR    (optional) 1 when the batches have gs_row (gs for a whole row) and halve (division
 *                by a power of two)
 *
 * DESIGN. The top levels are done in column passes: a pass of r levels takes tiles of 2^r rows and
 * a few neighbouring columns into a small buffer, runs the levels there and writes them back, so
 * the array crosses the memory bus once for up to 8 levels. The rest are contiguous leaves. Each
 * pass is one parallel loop. Coset factors and 1/n are applied inside the leaves, in blocks of
 * 2^BASE_LOG2 elements: element k of block i is coefficient rev(i) + rev(k) n / 2^BASE_LOG2, so its
 * factor is h_i G[k] with one small table G; h_i is folded into the block's first node. */

#ifndef NT_VECTOR
#define NT_VECTOR 0
#endif
#define NT_CAT2(a, b) a##_##b
#define NT_CAT(a, b) NT_CAT2(a, b)
#define NT_(name) NT_CAT(NT, name)
#define FV_(name) NT_CAT(NT_FV, name)
#define FE_(name) NT_CAT(NT_FE, name)

#include "ntt/ntt_block.inl.h"

enum {
    NT_(TILE_BATCHES) = (CUZK__NTT_COLS << CUZK__NTT_PASS_LOG2) / FV_(LANES),
    NT_(COL_BATCHES) = CUZK__NTT_COLS / FV_(LANES),
    NT_(BASE_BATCHES) = (1 << CUZK__NTT_BASE_LOG2) / FV_(LANES),
    NT_(LEAF_BATCHES) = (1 << (NT_LEAF)) / FV_(LANES),
    NT_(FETCH_LEVELS) = 4 /* of a tile: the rows of so many are asked for at once */
};

/* Coset factors of one call. */
typedef struct NT_(coset) {
    unsigned base;                     /* log2 of the block size */
    cuzk_u256 pow[CUZK__NTT_MAX_LOG2]; /* [t]: g^(2^t) */
    FV_(t) g[NT_(BASE_BATCHES)];       /* [k]: (g^(n / 2^base))^rev(k); squares transposed */
} NT_(coset);

typedef struct NT_(job) {
    const cuzk_ntt_plan *plan;
    cuzk_u256 *x;
    NT_(tab) fwd, inv;
    cuzk__ntt_op op;
    bool inverse;
    unsigned leaf;
    unsigned depth, levels; /* of the current column pass: levels above it, its own */
    bool down;
    bool last; /* the pass whose results stay: canonical */
    const NT_(coset) * coset;
} NT_(job);

/* The table holds n / (2 LANES) prepared factors and, when LANES > 1, n / 2 elements after them;
 * at least two of each, because node 0 of two levels also names W[1]. */
static size_t NT_(entries)(unsigned log2n) {
    const size_t n = (size_t)1 << log2n;
    return n < 4 ? 2 : n / 2;
}

static size_t NT_(tw_bytes)(unsigned log2n) {
    const size_t bytes = NT_(entries)(log2n) / FV_(LANES) * sizeof(FV_(tw_t));
    return (bytes + 63) & ~(size_t)63;
}

static size_t NT_(table_bytes)(unsigned log2n) {
    const size_t lane = FV_(LANES) > 1 ? NT_(entries)(log2n) * sizeof(FV_(st_t)) : 0;
    return NT_(tw_bytes)(log2n) + lane;
}

/* W is multiplicative over the bits of its index: W[2^s] is a primitive 2^(s+2)-th root, and
 * W[a + b] = W[a] W[b] when a and b share no bit. Runs of `RUN` are one base times a small
 * table. */
static void NT_(table_fill)(const cuzk_ntt_plan *plan, size_t begin, size_t end) {
    enum { RUN_LOG2 = 6, RUN = 1 << RUN_LOG2 };
    cuzk_u256 low[RUN];
    size_t filled = 1;
    low[0] = plan->fr->one;
    for (unsigned s = 0; s < RUN_LOG2 && s + 2 <= plan->log2n; s++, filled *= 2)
        for (size_t k = 0; k < filled; k++)
            FE_(mul)(&low[filled + k], &low[k], &plan->roots[s + 2]);
    FV_(tw_t) *w = plan->table;
    FV_(st_t) *lane = (FV_(st_t) *)(void *)((char *)plan->table + NT_(tw_bytes)(plan->log2n));
    const size_t tws = NT_(entries)(plan->log2n) / FV_(LANES);
    cuzk_u256 base = plan->fr->one;
    for (size_t i = begin; i < end; i++) {
        if (i == begin || i % RUN == 0) {
            base = plan->fr->one;
            for (unsigned s = RUN_LOG2; i >> s; s++)
                if (i >> s & 1) FE_(mul)(&base, &base, &plan->roots[s + 2]);
        }
        cuzk_u256 v;
        FE_(mul)(&v, &base, &low[i % RUN % filled]);
        if (i < tws) FV_(make_tw)(&w[i], &v);
        if (FV_(LANES) > 1) FV_(from_mont)(&lane[i], &v);
    }
}

static NT_(tab) NT_(tab_of)(const cuzk_ntt_plan *plan, bool inverse) {
    NT_(tab)
    t = {.w = plan->table, .inverse = inverse, .n_inv = &plan->n_inv, .log2n = plan->log2n};
    if (FV_(LANES) > 1) {
        cuzk_u256 m;
        FE_(neg)(&m, &plan->fr->one);
        FV_(from_mont)(&t.minus_one, &m);
        const void *lane = (const char *)plan->table + NT_(tw_bytes)(plan->log2n);
        t.lane = lane;
    }
    return t;
}

NT_INLINE void NT_(store)(const NT_(job) * job, cuzk_u256 *x, const FV_(t) * v) {
    if (job->last)
        FV_(store_lin)(x, v);
    else
        FV_(store_raw)(x, v);
}

/* Where rows of the next tile lie, NULL for none: asked for a few at a time while this one is
 * worked on, since rows lie too far apart for the processor to foresee them. */
typedef struct NT_(ahead) {
    const cuzk_u256 *x;
    unsigned below; /* log2 of the elements from one row to the next */
} NT_(ahead);

NT_INLINE void NT_(fetch_rows)(const NT_(ahead) * ahead, size_t first, size_t rows) {
    enum { LINE = 64 / sizeof(cuzk_u256) };
    for (size_t r = first; ahead->x && r < first + rows; r++)
        for (size_t e = 0; e < CUZK__NTT_COLS; e += LINE)
            __builtin_prefetch(ahead->x + (r << ahead->below) + e, 1, 2);
}

/* `levels` levels of node i in a tile, whose rows begin at row `first`. */
static void NT_(tile_down)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                           const NT_(ahead) * ahead, size_t first) {
    const size_t cols = NT_(COL_BATCHES), rows = (size_t)1 << levels;
    if (levels > 1 && rows * CUZK__NTT_COLS > NT_(CACHED)) {
        NT_(down_level)(t, x, 1, cols * rows / 2, i);
        NT_(tile_down)(t, x, levels - 1, 2 * i, ahead, first);
        NT_(tile_down)(t, x + cols * rows / 2, levels - 1, 2 * i + 1, ahead, first + rows / 2);
        return;
    }
    const unsigned top = levels > NT_(FETCH_LEVELS) ? levels - NT_(FETCH_LEVELS) : 0;
    const size_t part = rows >> top;
    NT_(down_nodes)(t, x, 1, top, cols * part, i);
    for (size_t k = 0; k < (size_t)1 << top; k++) {
        NT_(fetch_rows)(ahead, first + k * part, part);
        NT_(down_nodes)(t, x + k * part * cols, 1, levels - top, cols, (i << top) + k);
    }
}

static void NT_(tile_up)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                         const NT_(ahead) * ahead, size_t first) {
    const size_t cols = NT_(COL_BATCHES), rows = (size_t)1 << levels;
    if (levels > 1 && rows * CUZK__NTT_COLS > NT_(CACHED)) {
        NT_(tile_up)(t, x, levels - 1, 2 * i, ahead, first);
        NT_(tile_up)(t, x + cols * rows / 2, levels - 1, 2 * i + 1, ahead, first + rows / 2);
        NT_(up_level)(t, x, 1, cols * rows / 2, i);
        return;
    }
    const unsigned top = levels > NT_(FETCH_LEVELS) ? levels - NT_(FETCH_LEVELS) : 0;
    const size_t part = rows >> top;
    for (size_t k = 0; k < (size_t)1 << top; k++) {
        NT_(fetch_rows)(ahead, first + k * part, part);
        NT_(up_nodes)(t, x + k * part * cols, 1, levels - top, cols, (i << top) + k);
    }
    NT_(up_nodes)(t, x, 1, top, cols * part, i);
}

/* The first element of tile k of the current column pass. */
static cuzk_u256 *NT_(tile_at)(const NT_(job) * job, size_t k) {
    const unsigned below = job->plan->log2n - job->depth - job->levels; /* log2 of a row */
    const size_t per_node = ((size_t)1 << below) / CUZK__NTT_COLS;
    const size_t node = k / per_node;
    return job->x + (node << (below + job->levels)) + k % per_node * CUZK__NTT_COLS;
}

/* Tiles [begin, end) of the current column pass. */
static void NT_(columns)(void *arg, size_t begin, size_t end) {
    const NT_(job) *job = arg;
    FV_(t) tile[NT_(TILE_BATCHES)];
    const NT_(tab) *t = job->inverse ? &job->inv : &job->fwd;
    const unsigned below = job->plan->log2n - job->depth - job->levels;
    const size_t per_node = ((size_t)1 << below) / CUZK__NTT_COLS;
    const size_t rows = (size_t)1 << job->levels;
    const size_t cols = NT_(COL_BATCHES);
    for (size_t k = begin; k < end; k++) {
        const size_t node = k / per_node;
        cuzk_u256 *x = NT_(tile_at)(job, k);
        const NT_(ahead) ahead = {k + 1 < end ? NT_(tile_at)(job, k + 1) : NULL, below};
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                FV_(load_lin)(&tile[r * cols + c], x + (r << below) + c * FV_(LANES));
        if (job->down)
            NT_(tile_down)(t, tile, job->levels, node, &ahead, 0);
        else
            NT_(tile_up)(t, tile, job->levels, node, &ahead, 0);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                NT_(store)(job, x + (r << below) + c * FV_(LANES), &tile[r * cols + c]);
    }
}

/* A leaf's node with coset factors: down to blocks of 2^base elements, the factors, up again. */
static void NT_(coset_block)(const NT_(job) * job, FV_(t) * x, unsigned levels, size_t i,
                             const char *ahead) {
    const NT_(coset) *cs = job->coset;
    const bool back = job->op == CUZK__NTT_TO_COSET;
    if (levels > cs->base) {
        const unsigned step = levels - cs->base == 1 ? 1 : 2;
        const size_t part = ((size_t)1 << (levels - step)) / FV_(LANES);
        NT_(down_block)(&job->inv, x, step, part, i, NULL);
        for (size_t k = 0; k < (size_t)1 << step; k++)
            NT_(coset_block)
        (job, x + k * part, levels - step, (i << step) + k,
         ahead ? ahead + k * part * FV_(LANES) * sizeof(cuzk_u256) : NULL);
        if (back) NT_(up_block)(&job->fwd, x, step, part, i, NULL);
        return;
    }
    cuzk_u256 h = job->plan->n_inv;
    const unsigned top = job->plan->log2n - levels; /* bits of i */
    for (unsigned u = 0; u < top; u++)
        if (i >> u & 1) FE_(mul)(&h, &h, &cs->pow[top - 1 - u]);
    const NT_(tab) *up = back ? &job->fwd : NULL;
    const size_t batches = ((size_t)1 << levels) / FV_(LANES);
#if NT_IN_PLACE
    (void)ahead;
    NT_(down_block)(&job->inv, x, levels, 1, i, &h);
    for (size_t k = 0; k < batches; k++)
        FV_(mul)(&x[k], &x[k], &cs->g[k]);
    if (up) NT_(up_block)(up, x, levels, 1, i, NULL);
#else
    const unsigned batch_levels = levels - NT_(LANE_LOG2);
    NT_(down_block)(&job->inv, x, batch_levels, 1, i, &h);
    NT_(coset_lanes)(&job->inv, up, x, batches, i << batch_levels, cs->g, ahead);
    if (up) NT_(up_block)(up, x, batch_levels, 1, i, NULL);
#endif
}

/* Leaf i in working form; ahead as in down_all. */
static void NT_(one_leaf)(const NT_(job) * job, FV_(t) * x, size_t i, const char *ahead) {
    const NT_(tab) *t = job->inverse ? &job->inv : &job->fwd;
    const cuzk_u256 *h = job->inverse ? &job->plan->n_inv : NULL;
    if (job->op == CUZK__NTT_NR)
        NT_(down_all)(t, x, job->leaf, i, h, ahead);
    else if (job->op == CUZK__NTT_RN)
        NT_(up_all)(t, x, job->leaf, i, h, ahead);
    else
        NT_(coset_block)(job, x, job->leaf, i, ahead);
}

#if NT_IN_PLACE
static void NT_(leaves)(void *arg, size_t begin, size_t end) {
    const NT_(job) *job = arg;
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 *x = job->x + (i << job->leaf);
        NT_(one_leaf)(job, x, i, NULL);
        for (size_t k = 0; job->last && k < (size_t)1 << job->leaf; k++)
            FV_(canon)(&x[k]);
    }
}
#else
/* Inlined, so that the compiler knows what buf does not overlap. */
static inline __attribute__((always_inline)) void NT_(leaves_in)(const NT_(job) * job, FV_(t) * buf,
                                                                 size_t begin, size_t end) {
    const size_t batches = ((size_t)1 << job->leaf) / FV_(LANES);
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 *x = job->x + (i << job->leaf);
        for (size_t k = 0; k < batches; k++)
            FV_(load_lin)(&buf[k], x + k * FV_(LANES));
        const void *next = i + 1 < end ? x + ((size_t)1 << job->leaf) : NULL;
        NT_(one_leaf)(job, buf, i, next);
        for (size_t k = 0; k < batches; k++)
            NT_(store)(job, x + k * FV_(LANES), &buf[k]);
    }
}

static void NT_(leaves)(void *arg, size_t begin, size_t end) {
    FV_(t) buf[NT_(LEAF_BATCHES)];
    NT_(leaves_in)(arg, buf, begin, end);
}

/* Every page of a large frame is touched when it is entered, and a thread that is new has none of
 * them yet. */
static void NT_(small_leaves)(void *arg, size_t begin, size_t end) {
    FV_(t) buf[NT_(LEAF_BATCHES) / 4];
    NT_(leaves_in)(arg, buf, begin, end);
}
#endif

static void NT_(column_pass)(NT_(job) * job, unsigned depth, unsigned levels, bool down,
                             cuzk_pool *pool) {
    const size_t tiles = (((size_t)1 << job->plan->log2n) / CUZK__NTT_COLS) >> levels;
    const size_t min_tiles = (size_t)(1 << CUZK__NTT_PASS_LOG2) >> levels;
    job->depth = depth;
    job->levels = levels;
    job->down = down;
    cuzk_pool_run_ranges(pool, tiles, min_tiles, 8, NT_(columns), job);
}

static void NT_(coset_init)(NT_(coset) * cs, const cuzk_ntt_plan *plan, unsigned leaf,
                            const cuzk_u256 *g) {
    const unsigned log2n = plan->log2n;
    cs->base = leaf < CUZK__NTT_BASE_LOG2 ? leaf : CUZK__NTT_BASE_LOG2;
    cs->pow[0] = *g;
    for (unsigned t = 1; t < log2n; t++)
        FE_(sqr)(&cs->pow[t], &cs->pow[t - 1]);
    cuzk_u256 plain[1 << CUZK__NTT_BASE_LOG2];
    FV_(st_t) st[1 << CUZK__NTT_BASE_LOG2];
    plain[0] = plan->fr->one;
    for (unsigned s = 0; s < cs->base; s++)
        for (size_t k = 0; k < (size_t)1 << s; k++)
            FE_(mul)(&plain[((size_t)1 << s) + k], &plain[k], &cs->pow[log2n - 1 - s]);
    for (size_t k = 0; k < (size_t)1 << cs->base; k++)
        FV_(from_mont)(&st[k], &plain[k]);
    for (size_t k = 0; k < (size_t)1 << cs->base; k += FV_(LANES))
        FV_(load)(&cs->g[k / FV_(LANES)], &st[k]);
#if !NT_IN_PLACE
    for (size_t k = 0; k < ((size_t)1 << cs->base) / FV_(LANES); k += FV_(LANES))
        FV_(transpose)(&cs->g[k]);
#endif
}

static void NT_(run)(const cuzk_ntt_plan *plan, cuzk__ntt_op op, bool inverse, cuzk_u256 *x,
                     const cuzk_u256 *g, cuzk_pool *pool) {
    NT_(coset) coset;
    cuzk__ntt_split split;
    cuzk__ntt_split_for(&split, plan->log2n, NT_LEAF, cuzk_pool_threads(pool));
    NT_(job) job = {.plan = plan, .x = x, .op = op, .leaf = split.leaf};
    job.fwd = NT_(tab_of)(plan, false);
    job.inv = NT_(tab_of)(plan, true);
    if (g) {
        NT_(coset_init)(&coset, plan, split.leaf, g);
        job.coset = &coset;
    }
    const bool up = op == CUZK__NTT_RN || op == CUZK__NTT_TO_COSET;
    job.inverse = g || inverse;
    unsigned depth = 0;
    for (unsigned p = 0; p < split.passes && op != CUZK__NTT_RN; p++) {
        NT_(column_pass)(&job, depth, split.levels[p], true, pool);
        depth += split.levels[p];
    }
    job.last = !up || split.passes == 0;
    const size_t leaves = (size_t)1 << (plan->log2n - split.leaf);
#if NT_IN_PLACE
    cuzk_pool_run_ranges(pool, leaves, 1, 8, NT_(leaves), &job);
#else
    cuzk_pool_run_ranges(pool, leaves, 1, 8,
                         split.leaf + 2 <= (NT_LEAF) ? NT_(small_leaves) : NT_(leaves), &job);
#endif
    if (op == CUZK__NTT_TO_COSET) job.inverse = false;
    depth = plan->log2n - split.leaf;
    for (unsigned p = split.passes; up && p-- > 0;) {
        depth -= split.levels[p];
        job.last = p == 0;
        NT_(column_pass)(&job, depth, split.levels[p], false, pool);
    }
}

const cuzk__ntt_kernels NT_TABLE = {
    .table_bytes = NT_(table_bytes),
    .table_fill = NT_(table_fill),
    .run = NT_(run),
};

#undef NT_
#undef FV_
#undef FE_
#undef NT_CAT
#undef NT_CAT2
#undef NT_INLINE
#undef NT
#undef NT_FV
#undef NT_FE
#undef NT_LEAF
#undef NT_TABLE
#undef NT_IN_PLACE
#undef NT_VECTOR
