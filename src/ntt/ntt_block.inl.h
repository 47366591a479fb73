/* Transforms of one block that fits a cache: include-template, included by ntt_pass.inl.h, whose
 * parameters it uses (NT, NT_FV, NT_FE).
 *
 * DESIGN. The transform is a binary tree. The root is the whole array, modulo x^n - 1; the node
 * number i of a level holds the polynomial modulo x^m - c_i^2 and splits it modulo x^(m/2) - c_i
 * and x^(m/2) + c_i: (a, b) -> (a + c_i b, a - c_i b). With c_i = W[i], W[i] = w^(rev(i)) where
 * rev reverses the log2(n) - 1 bits of i, the leaves are the values at w^0, w^1, … in
 * bit-reversed order. All pairs of a node share one factor, which is what a vector unit wants, and
 * W does not depend on the level: the table of a small transform is the beginning of a large one's.
 * Going down the tree is NR; undoing it from the leaves up is RN.
 *
 * Inverse factors are the same table read in mirrored order with a minus sign, and the sign only
 * exchanges the two results (cuzk__ntt_mirror), so the order of a node's outputs is all that
 * differs. Layers take two levels at once (four inputs, three factors). The first node of each
 * level has factor 1, which saves n multiplications in all.
 *
 * A constant h is folded into a block's first node: only one input in four (two where the number
 * of levels is odd) costs a product of its own, for the others it goes into the factors.
 *
 * An array of LANES > 1 holds LANES consecutive elements in each batch; the last log2(LANES)
 * levels work on transposed squares of LANES batches, one factor per lane. */

#define NT_INLINE static inline __attribute__((always_inline))

enum {
    NT_(LANES) = FV_(LANES),
    NT_(LANE_LOG2) = FV_(LANES) == 1   ? 0
                     : FV_(LANES) == 2 ? 1
                     : FV_(LANES) == 4 ? 2
                                       : 3,
    NT_(CACHED) = 1024 /* elements of a block that is walked layer by layer */
};

/* The twiddle table: prepared factors for levels whose nodes hold whole batches, and for LANES > 1
 * all factors once more as elements for the levels inside a batch. */
typedef struct NT_(tab) {
    const FV_(tw_t) * w;
    const FV_(st_t) * lane; /* NULL when LANES is 1 */
    FV_(st_t) minus_one;
    bool inverse;
} NT_(tab);

/* One node of two levels. p: the node's four inputs, distance q batches. */
typedef struct NT_(node) {
    const FV_(tw_t) * w1, *w2, *w3;
    unsigned char at[4]; /* place of output k of the forward node */
} NT_(node);

NT_INLINE NT_(node) NT_(node_of)(const NT_(tab) * t, size_t i) {
    const size_t v = t->inverse && i ? cuzk__ntt_mirror(i) : i;
    NT_(node) nd = {&t->w[v], &t->w[2 * v], &t->w[2 * v + 1], {0, 1, 2, 3}};
    if (t->inverse) {
        const NT_(node) flipped = {nd.w1, nd.w2, nd.w3, {3, 2, 1, 0}};
        const NT_(node) first = {nd.w1, nd.w2, nd.w3, {0, 1, 3, 2}};
        return i ? flipped : first;
    }
    return nd;
}

NT_INLINE void NT_(down4)(FV_(t) * x, size_t q, const NT_(node) * nd) {
    FV_(t) *r0 = x + q * nd->at[0], *r1 = x + q * nd->at[1], *r2 = x + q * nd->at[2],
           *r3 = x + q * nd->at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = x[j], b = x[j + q], c = x[j + 2 * q], d = x[j + 3 * q];
        FV_(ct)(&a, &c, nd->w1);
        FV_(ct)(&b, &d, nd->w1);
        FV_(ct)(&a, &b, nd->w2);
        FV_(ct)(&c, &d, nd->w3);
        r0[j] = a;
        r1[j] = b;
        r2[j] = c;
        r3[j] = d;
    }
}

NT_INLINE void NT_(up4)(FV_(t) * x, size_t q, const NT_(node) * nd) {
    const FV_(t) *r0 = x + q * nd->at[0], *r1 = x + q * nd->at[1], *r2 = x + q * nd->at[2],
                 *r3 = x + q * nd->at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = r0[j], b = r1[j], c = r2[j], d = r3[j];
        FV_(gs)(&a, &b, nd->w2);
        FV_(gs)(&c, &d, nd->w3);
        FV_(gs)(&a, &c, nd->w1);
        FV_(gs)(&b, &d, nd->w1);
        x[j] = a;
        x[j + q] = b;
        x[j + 2 * q] = c;
        x[j + 3 * q] = d;
    }
}

NT_INLINE void NT_(add_sub)(FV_(t) * a, FV_(t) * b) {
    FV_(t) s;
    FV_(add)(&s, a, b);
    FV_(sub)(b, a, b);
    *a = s;
}

/* The first node of a level: factors 1, 1 and i. */
static void NT_(down4_first)(FV_(t) * x, size_t q, const NT_(node) * nd) {
    FV_(t) *r2 = x + q * nd->at[2], *r3 = x + q * nd->at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = x[j], b = x[j + q], c = x[j + 2 * q], d = x[j + 3 * q];
        NT_(add_sub)(&a, &c);
        NT_(add_sub)(&b, &d);
        NT_(add_sub)(&a, &b);
        FV_(ct)(&c, &d, nd->w3);
        x[j] = a;
        x[j + q] = b;
        r2[j] = c;
        r3[j] = d;
    }
}

static void NT_(up4_first)(FV_(t) * x, size_t q, const NT_(node) * nd) {
    const FV_(t) *r2 = x + q * nd->at[2], *r3 = x + q * nd->at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = x[j], b = x[j + q], c = r2[j], d = r3[j];
        NT_(add_sub)(&a, &b);
        FV_(gs)(&c, &d, nd->w3);
        NT_(add_sub)(&a, &c);
        NT_(add_sub)(&b, &d);
        x[j] = a;
        x[j + q] = b;
        x[j + 2 * q] = c;
        x[j + 3 * q] = d;
    }
}

/* Nodes i0, i0 + 1, … of two levels; x holds them one after the other, 4q batches each. */
static void NT_(down_layer)(const NT_(tab) * t, FV_(t) * x, size_t nodes, size_t q, size_t i0) {
    for (size_t k = 0; k < nodes; k++, x += 4 * q) {
        const NT_(node) nd = NT_(node_of)(t, i0 + k);
        if (i0 + k == 0)
            NT_(down4_first)(x, q, &nd);
        else if (q == 1)
            NT_(down4)(x, 1, &nd);
        else
            NT_(down4)(x, q, &nd);
    }
}

static void NT_(up_layer)(const NT_(tab) * t, FV_(t) * x, size_t nodes, size_t q, size_t i0) {
    for (size_t k = 0; k < nodes; k++, x += 4 * q) {
        const NT_(node) nd = NT_(node_of)(t, i0 + k);
        if (i0 + k == 0)
            NT_(up4_first)(x, q, &nd);
        else if (q == 1)
            NT_(up4)(x, 1, &nd);
        else
            NT_(up4)(x, q, &nd);
    }
}

/* A node of two levels with h folded in; outputs times h (down), results times h (up). */
static void NT_(down4_scaled)(const NT_(tab) * t, FV_(t) * x, size_t q, size_t i,
                              const cuzk_u256 *h) {
    const NT_(node) nd = NT_(node_of)(t, i);
    FV_(tw_t) h0, h1, h2, h3;
    FV_(make_tw)(&h0, h);
    FV_(scale_tw)(&h1, nd.w1, h);
    FV_(scale_tw)(&h2, nd.w2, h);
    FV_(scale_tw)(&h3, nd.w3, h);
    FV_(t) *r0 = x + q * nd.at[0], *r1 = x + q * nd.at[1], *r2 = x + q * nd.at[2],
           *r3 = x + q * nd.at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a, b = x[j + q], c = x[j + 2 * q], d = x[j + 3 * q];
        FV_(mul_tw)(&a, &x[j], &h0);
        FV_(ct)(&a, &c, &h1);
        FV_(ct)(&b, &d, nd.w1);
        FV_(ct)(&a, &b, &h2);
        FV_(ct)(&c, &d, &h3);
        r0[j] = a;
        r1[j] = b;
        r2[j] = c;
        r3[j] = d;
    }
}

static void NT_(up4_scaled)(const NT_(tab) * t, FV_(t) * x, size_t q, size_t i,
                            const cuzk_u256 *h) {
    const NT_(node) nd = NT_(node_of)(t, i);
    FV_(tw_t) h0, h1, h2, h3;
    FV_(make_tw)(&h0, h);
    FV_(scale_tw)(&h1, nd.w1, h);
    FV_(scale_tw)(&h2, nd.w2, h);
    FV_(scale_tw)(&h3, nd.w3, h);
    const FV_(t) *r0 = x + q * nd.at[0], *r1 = x + q * nd.at[1], *r2 = x + q * nd.at[2],
                 *r3 = x + q * nd.at[3];
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = r0[j], b = r1[j], c = r2[j], d = r3[j];
        FV_(gs)(&a, &b, &h2);
        FV_(gs)(&c, &d, &h3);
        FV_(gs)(&a, &c, &h1);
        FV_(gs)(&b, &d, nd.w1);
        FV_(mul_tw)(&x[j], &a, &h0);
        x[j + q] = b;
        x[j + 2 * q] = c;
        x[j + 3 * q] = d;
    }
}

/* One level of one node, for an odd number of levels. h may be NULL. */
static void NT_(down2)(const NT_(tab) * t, FV_(t) * x, size_t q, size_t i, const cuzk_u256 *h) {
    const bool flip = t->inverse && i;
    const FV_(tw_t) *w = &t->w[flip ? cuzk__ntt_mirror(i) : i];
    FV_(t) *lo = x + (flip ? q : 0), *hi = x + (flip ? 0 : q);
    FV_(tw_t) h0, h1;
    if (h) {
        FV_(make_tw)(&h0, h);
        FV_(scale_tw)(&h1, w, h);
        w = &h1;
    }
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = x[j], b = x[j + q];
        if (h) FV_(mul_tw)(&a, &a, &h0);
        if (!h && i == 0)
            NT_(add_sub)(&a, &b);
        else
            FV_(ct)(&a, &b, w);
        lo[j] = a;
        hi[j] = b;
    }
}

static void NT_(up2)(const NT_(tab) * t, FV_(t) * x, size_t q, size_t i, const cuzk_u256 *h) {
    const bool flip = t->inverse && i;
    const FV_(tw_t) *w = &t->w[flip ? cuzk__ntt_mirror(i) : i];
    const FV_(t) *lo = x + (flip ? q : 0), *hi = x + (flip ? 0 : q);
    FV_(tw_t) h0, h1;
    if (h) {
        FV_(make_tw)(&h0, h);
        FV_(scale_tw)(&h1, w, h);
        w = &h1;
    }
    for (size_t j = 0; j < q; j++) {
        FV_(t) a = lo[j], b = hi[j];
        if (!h && i == 0)
            NT_(add_sub)(&a, &b);
        else
            FV_(gs)(&a, &b, w);
        if (h) FV_(mul_tw)(&a, &a, &h0);
        x[j] = a;
        x[j + q] = b;
    }
}

/* An even number of levels of `nodes` neighbouring nodes from i0 on, c << levels batches each. */
static void NT_(down_even)(const NT_(tab) * t, FV_(t) * x, size_t nodes, unsigned levels, size_t c,
                           size_t i0) {
    const size_t size = c << levels;
    if (levels > 2 && nodes * size * FV_(LANES) > NT_(CACHED)) {
        for (size_t k = 0; k < nodes; k++) {
            NT_(down_layer)(t, x + k * size, 1, size / 4, i0 + k);
            NT_(down_even)(t, x + k * size, 4, levels - 2, c, 4 * (i0 + k));
        }
        return;
    }
    for (; levels; levels -= 2, nodes *= 4, i0 *= 4)
        NT_(down_layer)(t, x, nodes, c << (levels - 2), i0);
}

static void NT_(up_even)(const NT_(tab) * t, FV_(t) * x, size_t nodes, unsigned levels, size_t c,
                         size_t i0) {
    const size_t size = c << levels;
    if (levels > 2 && nodes * size * FV_(LANES) > NT_(CACHED)) {
        for (size_t k = 0; k < nodes; k++) {
            NT_(up_even)(t, x + k * size, 4, levels - 2, c, 4 * (i0 + k));
            NT_(up_layer)(t, x + k * size, 1, size / 4, i0 + k);
        }
        return;
    }
    for (unsigned l = 2; l <= levels; l += 2)
        NT_(up_layer)(t, x, nodes << (levels - l), c << (l - 2), i0 << (levels - l));
}

/* `levels` levels of node i, rows of c batches; everything times *h when h is given. With
 * levels == 0 only h is applied. */
static void NT_(down_block)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t c, size_t i,
                            const cuzk_u256 *h) {
    if (levels & 1) {
        const size_t half = c << (levels - 1);
        NT_(down2)(t, x, half, i, h);
        NT_(down_even)(t, x, 2, levels - 1, c, 2 * i);
    } else if (levels && h) {
        NT_(down4_scaled)(t, x, c << (levels - 2), i, h);
        NT_(down_even)(t, x, 4, levels - 2, c, 4 * i);
    } else {
        NT_(down_even)(t, x, 1, levels, c, i);
    }
}

static void NT_(up_block)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t c, size_t i,
                          const cuzk_u256 *h) {
    if (levels & 1) {
        const size_t half = c << (levels - 1);
        NT_(up_even)(t, x, 2, levels - 1, c, 2 * i);
        NT_(up2)(t, x, half, i, h);
    } else if (levels && h) {
        NT_(up_even)(t, x, 4, levels - 2, c, 4 * i);
        NT_(up4_scaled)(t, x, c << (levels - 2), i, h);
    } else {
        NT_(up_even)(t, x, 1, levels, c, i);
    }
}

#if !NT_IN_PLACE
/* The factors of node u of sub-level s below the nodes base, base + 1, …, one in each lane. */
static void NT_(lane_factors)(const NT_(tab) * t, FV_(t) * f, size_t base, unsigned s, size_t u) {
    const FV_(st_t) * from[FV_(LANES)];
    for (size_t l = 0; l < FV_(LANES); l++) {
        const size_t i = ((base + l) << s) + u;
        if (!t->inverse)
            from[l] = &t->lane[i];
        else
            from[l] = i ? &t->lane[cuzk__ntt_mirror(i)] : &t->minus_one;
    }
    FV_(gather)(f, from);
    if (t->inverse) FV_(neg)(f, f);
}

/* The levels inside a batch, for `batches` batches (a multiple of LANES) whose first is node i0. */
static void NT_(down_lanes)(const NT_(tab) * t, FV_(t) * x, size_t batches, size_t i0) {
    for (size_t k = 0; k < batches; k += FV_(LANES), x += FV_(LANES)) {
        FV_(transpose)(x);
        for (unsigned s = 0; s < NT_(LANE_LOG2); s++) {
            const size_t half = (size_t)FV_(LANES) >> (s + 1);
            for (size_t u = 0; u < (size_t)1 << s; u++) {
                FV_(t) f, p;
                NT_(lane_factors)(t, &f, i0 + k, s, u);
                for (size_t e = 2 * half * u; e < 2 * half * u + half; e++) {
                    FV_(mul)(&p, &x[e + half], &f);
                    FV_(sub)(&x[e + half], &x[e], &p);
                    FV_(add)(&x[e], &x[e], &p);
                }
            }
        }
        FV_(transpose)(x);
    }
}

static void NT_(up_lanes)(const NT_(tab) * t, FV_(t) * x, size_t batches, size_t i0) {
    for (size_t k = 0; k < batches; k += FV_(LANES), x += FV_(LANES)) {
        FV_(transpose)(x);
        for (unsigned s = NT_(LANE_LOG2); s-- > 0;) {
            const size_t half = (size_t)FV_(LANES) >> (s + 1);
            for (size_t u = 0; u < (size_t)1 << s; u++) {
                FV_(t) f, d;
                NT_(lane_factors)(t, &f, i0 + k, s, u);
                for (size_t e = 2 * half * u; e < 2 * half * u + half; e++) {
                    FV_(sub)(&d, &x[e], &x[e + half]);
                    FV_(add)(&x[e], &x[e], &x[e + half]);
                    FV_(mul)(&x[e + half], &d, &f);
                }
            }
        }
        FV_(transpose)(x);
    }
}

#endif

/* All levels of node i, a block of 2^levels elements, in both directions of the tree. */
static void NT_(down_all)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                          const cuzk_u256 *h) {
    const unsigned batch_levels = levels - NT_(LANE_LOG2);
    NT_(down_block)(t, x, batch_levels, 1, i, h);
#if !NT_IN_PLACE
    NT_(down_lanes)(t, x, (size_t)1 << batch_levels, i << batch_levels);
#endif
}

static void NT_(up_all)(const NT_(tab) * t, FV_(t) * x, unsigned levels, size_t i,
                        const cuzk_u256 *h) {
    const unsigned batch_levels = levels - NT_(LANE_LOG2);
#if !NT_IN_PLACE
    NT_(up_lanes)(t, x, (size_t)1 << batch_levels, i << batch_levels);
#endif
    NT_(up_block)(t, x, batch_levels, 1, i, h);
}
