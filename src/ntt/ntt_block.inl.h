/* Transforms of one block that fits a cache: include-template, included by ntt_pass.inl.h, whose
 * parameters it uses (NT, NT_FV, NT_FE, NT_IN_PLACE).
 *
 * DESIGN. The transform is a binary tree. The root is the whole array, modulo x^n - 1; the node
 * number i of a level holds the polynomial modulo x^m - c_i^2 and splits it modulo x^(m/2) - c_i
 * and x^(m/2) + c_i: (a, b) -> (a + c_i b, a - c_i b). With c_i = W[i], W[i] = w^(rev(i)) where
 * rev reverses the log2(n) - 1 bits of i, the leaves are the values at w^0, w^1, ... in
 * bit-reversed order. All pairs of a node share one factor, which is what a vector unit wants, and
 * W does not depend on the level: the table of a small transform is the beginning of a large one's.
 * Going down the tree is NR; undoing it from the leaves up is RN.
 *
 * Inverse factors are the same table read in mirrored order with a minus sign (cuzk__ntt_mirror),
 * which only exchanges the places of the two results. The first node of each level has factor 1,
 * which saves n products in all. Levels are taken one at a time, because the pairs of one level are
 * independent and keep the multiplier busy; a block larger than the first-level cache is walked
 * depth first, and memory traffic is the business of ntt_pass.inl.h.
 *
 * A constant h is folded into a block's first two levels: of four inputs only one costs a product
 * of its own, the others have it in their factors.
 *
 * An array of LANES > 1 holds LANES consecutive elements in each batch; the last log2(LANES)
 * levels work on transposed squares of LANES batches, one factor per lane. */

#define NT_INLINE static inline __attribute__((always_inline))

enum {
    NT_(LANE_LOG2) = FV_(LANES) == 1   ? 0
                     : FV_(LANES) == 2 ? 1
                     : FV_(LANES) == 4 ? 2
                                       : 3,
    NT_(CACHED) = 1024 /* elements of a block that is walked level by level */
};

/* The twiddle table: prepared factors for levels whose nodes hold whole batches, and for LANES > 1
 * all factors once more as elements for the levels inside a batch. */
typedef struct NT_(tab) {
    const FV_(tw_t) * w;
    const FV_(st_t) * lane; /* NULL when LANES is 1 */
    FV_(st_t) minus_one;
    bool inverse;
    const cuzk_u256 *n_inv; /* the plan's, 2^-log2n */
    unsigned log2n;
} NT_(tab);

/* The factor of node i, and whether it stands for minus itself. */
NT_INLINE const FV_(tw_t) * NT_(factor)(const NT_(tab) * t, size_t i, bool *minus) {
    *minus = t->inverse && i;
    return &t->w[*minus ? cuzk__ntt_mirror(i) : i];
}

/* n pairs (x[j], y[j]) by one factor. */
NT_INLINE void NT_(down_pairs)(FV_(t) * x, FV_(t) * y, size_t n, const FV_(tw_t) * w, bool minus) {
    if (minus) {
        for (size_t j = 0; j < n; j++)
            FV_(ct_minus)(&x[j], &y[j], w);
    } else {
        for (size_t j = 0; j < n; j++)
            FV_(ct)(&x[j], &y[j], w);
    }
}

NT_INLINE void NT_(up_pairs)(FV_(t) * x, FV_(t) * y, size_t n, const FV_(tw_t) * w, bool minus) {
#if NT_VECTOR
    if (minus)
        FV_(gs_row)(x, y, n, w, true);
    else
        FV_(gs_row)(x, y, n, w, false);
#else
    if (minus) {
        for (size_t j = 0; j < n; j++)
            FV_(gs_minus)(&x[j], &y[j], w);
    } else {
        for (size_t j = 0; j < n; j++)
            FV_(gs)(&x[j], &y[j], w);
    }
#endif
}

/* One level of the nodes i0, i0 + 1, ...; x holds them one after the other, 2q batches each. */
static void NT_(down_level)(const NT_(tab) * t, FV_(t) * x, size_t nodes, size_t q, size_t i0) {
    size_t k = 0;
    if (i0 == 0) {
        for (size_t j = 0; j < q; j++)
            FV_(ct_one)(&x[j], &x[j + q]);
        k = 1;
    }
    for (x += 2 * q * k; k < nodes; k++, x += 2 * q) {
        bool minus;
        const FV_(tw_t) *w = NT_(factor)(t, i0 + k, &minus);
        NT_(down_pairs)(x, x + q, q, w, minus);
    }
}

static void NT_(up_level)(const NT_(tab) * t, FV_(t) * x, size_t nodes, size_t q, size_t i0) {
    size_t k = 0;
    if (i0 == 0) {
        for (size_t j = 0; j < q; j++)
            FV_(gs_one)(&x[j], &x[j + q]);
        k = 1;
    }
    for (x += 2 * q * k; k < nodes; k++, x += 2 * q) {
        bool minus;
        const FV_(tw_t) *w = NT_(factor)(t, i0 + k, &minus);
        NT_(up_pairs)(x, x + q, q, w, minus);
    }
}

NT_INLINE void NT_(scale)(const NT_(tab) * t, FV_(t) * x, size_t n, const cuzk_u256 *h) {
    FV_(tw_t) hw;
#if NT_VECTOR
    if (h == t->n_inv) {
        for (size_t j = 0; j < n; j++)
            FV_(halve)(&x[j], &x[j], t->log2n);
        return;
    }
#else
    (void)t;
#endif
    FV_(make_tw)(&hw, h);
    for (size_t j = 0; j < n; j++)
        FV_(mul_tw)(&x[j], &x[j], &hw);
}

/* The pairs of node i, their factor times h when h is given. */
static void NT_(down_node)(const NT_(tab) * t, FV_(t) * x, FV_(t) * y, size_t n, size_t i,
                           const cuzk_u256 *h) {
    bool minus;
    const FV_(tw_t) *w = NT_(factor)(t, i, &minus);
    FV_(tw_t) wh;
    if (h) FV_(scale_tw)(&wh, w, h);
    NT_(down_pairs)(x, y, n, h ? &wh : w, minus);
}

static void NT_(up_node)(const NT_(tab) * t, FV_(t) * x, FV_(t) * y, size_t n, size_t i,
                         const cuzk_u256 *h) {
    bool minus;
    const FV_(tw_t) *w = NT_(factor)(t, i, &minus);
    FV_(tw_t) wh;
    if (h) FV_(scale_tw)(&wh, w, h);
    NT_(up_pairs)(x, y, n, h ? &wh : w, minus);
}

/* `levels` levels of `nodes` neighbouring nodes from i0 on, rows of c batches. */
static void NT_(down_nodes)(const NT_(tab) * t, FV_(t) * x, size_t nodes, unsigned levels, size_t c,
                            size_t i0) {
    const size_t size = c << levels;
    if (levels > 1 && nodes * size * FV_(LANES) > NT_(CACHED)) {
        for (size_t k = 0; k < nodes; k++) {
            NT_(down_level)(t, x + k * size, 1, size / 2, i0 + k);
            NT_(down_nodes)(t, x + k * size, 2, levels - 1, c, 2 * (i0 + k));
        }
        return;
    }
    for (; levels; levels--, nodes *= 2, i0 *= 2)
        NT_(down_level)(t, x, nodes, c << (levels - 1), i0);
}

static void NT_(up_nodes)(const NT_(tab) * t, FV_(t) * x, size_t nodes, unsigned levels, size_t c,
                          size_t i0) {
    const size_t size = c << levels;
    if (levels > 1 && nodes * size * FV_(LANES) > NT_(CACHED)) {
        for (size_t k = 0; k < nodes; k++) {
            NT_(up_nodes)(t, x + k * size, 2, levels - 1, c, 2 * (i0 + k));
            NT_(up_level)(t, x + k * size, 1, size / 2, i0 + k);
        }
        return;
    }
    for (unsigned l = 1; l <= levels; l++)
        NT_(up_level)(t, x, nodes << (levels - l), c << (l - 1), i0 << (levels - l));
}

/* `levels` levels of node i, rows of c batches; everything times *h when h is given, which needs
 * at least one level. */
static void NT_(down_block)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t c, size_t i,
                            const cuzk_u256 *h) {
    if (!h) {
        NT_(down_nodes)(t, x, 1, levels, c, i);
    } else if (levels == 1) {
        NT_(scale)(t, x, c, h);
        NT_(down_node)(t, x, x + c, c, i, h);
    } else {
        const size_t q = c << (levels - 2);
        NT_(scale)(t, x, q, h);
        NT_(down_node)(t, x, x + 2 * q, q, i, h);
        NT_(down_node)(t, x + q, x + 3 * q, q, i, NULL);
        NT_(down_node)(t, x, x + q, q, 2 * i, h);
        NT_(down_node)(t, x + 2 * q, x + 3 * q, q, 2 * i + 1, h);
        NT_(down_nodes)(t, x, 4, levels - 2, c, 4 * i);
    }
}

static void NT_(up_block)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t c, size_t i,
                          const cuzk_u256 *h) {
    if (!h) {
        NT_(up_nodes)(t, x, 1, levels, c, i);
    } else if (levels == 1) {
        NT_(up_node)(t, x, x + c, c, i, h);
        NT_(scale)(t, x, c, h);
    } else {
        const size_t q = c << (levels - 2);
        NT_(up_nodes)(t, x, 4, levels - 2, c, 4 * i);
        NT_(up_node)(t, x, x + q, q, 2 * i, h);
        NT_(up_node)(t, x + 2 * q, x + 3 * q, q, 2 * i + 1, h);
        NT_(up_node)(t, x, x + 2 * q, q, i, h);
        NT_(up_node)(t, x + q, x + 3 * q, q, i, NULL);
        NT_(scale)(t, x, q, h);
    }
}

#if !NT_IN_PLACE
/* Inverse factors of the nodes 0, 1, ..., among which is the one without a minus sign. */
static __attribute__((noinline)) void NT_(first_lane_factors)(const NT_(tab) * t, FV_(t) * f,
                                                              unsigned s, size_t u) {
    const FV_(st_t) * from[FV_(LANES)];
    for (size_t l = 0; l < FV_(LANES); l++) {
        const size_t i = (l << s) + u;
        from[l] = i ? &t->lane[cuzk__ntt_mirror(i)] : &t->minus_one;
    }
    FV_(gather)(f, from);
}

/* The factors of node u of sub-level s below the nodes base, base + 1, …, one in each lane, for an
 * inverse transform with the opposite sign; base is a multiple of LANES, so that from one lane to
 * the next the mirrored index falls as much as the index rises. */
NT_INLINE void NT_(lane_factors)(const NT_(tab) * t, FV_(t) * f, size_t base, unsigned s, size_t u,
                                 bool inverse) {
    const FV_(st_t) * from[FV_(LANES)];
    const size_t i = (base << s) + u;
    if (!inverse) {
        for (size_t l = 0; l < FV_(LANES); l++)
            from[l] = &t->lane[i + (l << s)];
        FV_(gather)(f, from);
    } else if (base == 0) {
        NT_(first_lane_factors)(t, f, s, u);
    } else {
        const size_t m = cuzk__ntt_mirror(i);
        for (size_t l = 0; l < FV_(LANES); l++)
            from[l] = &t->lane[m - (l << s)];
        FV_(gather)(f, from);
    }
}

/* Asks for the lane factors of the batches from node i on, which may be those of the next block. */
NT_INLINE void NT_(fetch_factors)(const NT_(tab) * t, size_t i) {
    enum { LINE = 64 };
    if (i >> (t->log2n - NT_(LANE_LOG2))) return;
    for (unsigned s = 0; s < NT_(LANE_LOG2); s++) {
        const size_t span = (size_t)FV_(LANES) << s, bytes = span * sizeof(FV_(st_t));
        const size_t first = t->inverse ? cuzk__ntt_mirror(i << s) + 1 - span : i << s;
        const char *p = (const char *)&t->lane[first];
        for (size_t b = 0; b < bytes; b += LINE)
            __builtin_prefetch(p + b, 0, 3);
    }
}

/* Asks for the memory of LANES^2 elements from `ahead` + 32 k LANES on, NULL for nothing: what the
 * same step of the next leaf will load. The arithmetic of a leaf leaves the bus idle. */
NT_INLINE void NT_(fetch_ahead)(const char *ahead, size_t k) {
    enum { LINE = 64 };
    if (!ahead) return;
    ahead += k * FV_(LANES) * sizeof(cuzk_u256);
    for (size_t b = 0; b < FV_(LANES) * FV_(LANES) * sizeof(cuzk_u256); b += LINE)
        __builtin_prefetch(ahead + b, 0, 2);
}

/* The levels inside a batch, for LANES transposed batches whose first is node i. */
NT_INLINE void NT_(down_square)(const NT_(tab) * t, FV_(t) * x, size_t i, bool inverse) {
    for (unsigned s = 0; s < NT_(LANE_LOG2); s++) {
        const size_t half = (size_t)FV_(LANES) >> (s + 1);
        for (size_t u = 0; u < (size_t)1 << s; u++) {
            FV_(t) f;
            NT_(lane_factors)(t, &f, i, s, u, inverse);
            for (size_t e = 2 * half * u; e < 2 * half * u + half; e++) {
                if (inverse)
                    FV_(ct_each_minus)(&x[e], &x[e + half], &f);
                else
                    FV_(ct_each)(&x[e], &x[e + half], &f);
            }
        }
    }
}

NT_INLINE void NT_(up_square)(const NT_(tab) * t, FV_(t) * x, size_t i, bool inverse) {
    for (unsigned s = NT_(LANE_LOG2); s-- > 0;) {
        const size_t half = (size_t)FV_(LANES) >> (s + 1);
        for (size_t u = 0; u < (size_t)1 << s; u++) {
            FV_(t) f;
            NT_(lane_factors)(t, &f, i, s, u, inverse);
            for (size_t e = 2 * half * u; e < 2 * half * u + half; e++) {
                if (inverse)
                    FV_(gs_each_minus)(&x[e], &x[e + half], &f);
                else
                    FV_(gs_each)(&x[e], &x[e + half], &f);
            }
        }
    }
}

/* Which of the levels inside a batch: down, up, or down with the inverse factors, times g, and up
 * again where up is given. */
typedef struct NT_(lane_work) {
    const NT_(tab) * down, *up; /* NULL: not these */
    const FV_(t) * g;           /* transposed, one for each batch of a block; NULL: none */
    const char *ahead;          /* as in down_all */
} NT_(lane_work);

/* For `batches` batches (a multiple of LANES) whose first is node i0. The signs are constants
 * below, so that each kind is a loop of its own. */
NT_INLINE void NT_(lanes_as)(const NT_(lane_work) * w, FV_(t) * x, size_t batches, size_t i0,
                             bool down_inverse, bool up_inverse) {
    enum { FETCH = 4 * FV_(LANES) };
    for (size_t k = 0; k < batches; k += FV_(LANES), x += FV_(LANES)) {
        NT_(fetch_ahead)(w->ahead, k);
        if (w->down) NT_(fetch_factors)(w->down, i0 + k + FETCH);
        if (w->up) NT_(fetch_factors)(w->up, i0 + k + FETCH);
        FV_(transpose)(x);
        if (w->down) NT_(down_square)(w->down, x, i0 + k, down_inverse);
        for (size_t l = 0; w->g && l < FV_(LANES); l++)
            FV_(mul)(&x[l], &x[l], &w->g[k + l]);
        if (w->up) NT_(up_square)(w->up, x, i0 + k, up_inverse);
        FV_(transpose)(x);
    }
}

static void NT_(down_lanes)(const NT_(tab) * t, FV_(t) * x, size_t batches, size_t i0,
                            const char *ahead) {
    const NT_(lane_work) w = {.down = t, .ahead = ahead};
    if (t->inverse)
        NT_(lanes_as)(&w, x, batches, i0, true, false);
    else
        NT_(lanes_as)(&w, x, batches, i0, false, false);
}

static void NT_(up_lanes)(const NT_(tab) * t, FV_(t) * x, size_t batches, size_t i0,
                          const char *ahead) {
    const NT_(lane_work) w = {.up = t, .ahead = ahead};
    if (t->inverse)
        NT_(lanes_as)(&w, x, batches, i0, false, true);
    else
        NT_(lanes_as)(&w, x, batches, i0, false, false);
}

/* Inverse levels down, times g, and levels up with `up` where that is given. */
static void NT_(coset_lanes)(const NT_(tab) * down, const NT_(tab) * up, FV_(t) * x, size_t batches,
                             size_t i0, const FV_(t) * g, const char *ahead) {
    const NT_(lane_work) w = {.down = down, .up = up, .g = g, .ahead = ahead};
    NT_(lanes_as)(&w, x, batches, i0, true, false);
}

#endif

/* All levels of node i, a block of 2^levels elements, in both directions of the tree. ahead: NULL,
 * or where the elements lie that the same place in the buffer will take next. */
static void NT_(down_all)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                          const cuzk_u256 *h, const char *ahead) {
    const unsigned batch_levels = levels - NT_(LANE_LOG2);
    NT_(down_block)(t, x, batch_levels, 1, i, h);
#if !NT_IN_PLACE
    NT_(down_lanes)(t, x, (size_t)1 << batch_levels, i << batch_levels, ahead);
#else
    (void)ahead;
#endif
}

static void NT_(up_all)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                        const cuzk_u256 *h, const char *ahead) {
    const unsigned batch_levels = levels - NT_(LANE_LOG2);
#if !NT_IN_PLACE
    NT_(up_lanes)(t, x, (size_t)1 << batch_levels, i << batch_levels, ahead);
#else
    (void)ahead;
#endif
    NT_(up_block)(t, x, batch_levels, 1, i, h);
}
