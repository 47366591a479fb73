/* Eight affine additions at a time that share one inversion, with AVX-512 IFMA: include-template
 * for those who bring the points and take the sums.
 *
 * Parameters (undefined again at the end): AD (prefix to generate), AD_FV (prefix of batches of
 * field/vec_fp*_ifma.inl.h), AD_F (prefix of the field), AD_STORE(ctx, v, x, y) (puts the sums of
 * block v where they belong).
 *
 * Products divide by R = F 4^s, where F is the files' Montgomery factor and s FV_(SHIFT). Write [e]
 * for a number that stands for itself times e. Coordinates and their differences are [F]. The one
 * inversion is made to give inverses [R 2^s], so that
 *     l = dy / dx      [F R 2^s / R] = [F 2^s]
 *     l^2              [F^2 4^s / R] = [F]
 *     l (x1 - x3)      [F 2^s F / R], and [F] when the difference is multiplied by 2^s,
 * which is a shift: no point ever needs to be converted. */

#define AD_CAT2(a, b) a##_##b
#define AD_CAT(a, b) AD_CAT2(a, b)
#define AD_(name) AD_CAT(AD, name)
#define E_(name) AD_CAT(AD_F, name)
#define V_(name) AD_CAT(AD_FV, name)

enum { AD_(CHAINS) = 2 };

/* What the second pass needs of eight additions of (x1, y1) and another point. */
typedef struct AD_(block_t) {
    V_(t) dx, dy; /* the other point less this one; near plus 3p, plus 5p */
    V_(t) x1, y1;
    V_(t) prod; /* of this block's dx and those of CHAINS before, 2 CHAINS before, … */
} AD_(block_t);

/* Block v into its chain of products. */
CUZK__IFMA_INLINE void AD_(chain_block)(AD_(block_t) * s, size_t v) {
    if (v < AD_(CHAINS))
        s[v].prod = s[v].dx;
    else
        V_(mul)(&s[v].prod, &s[v - AD_(CHAINS)].prod, &s[v].dx);
}

/* True when some difference is 0. */
CUZK__IFMA_INLINE bool AD_(any_zero)(const AD_(block_t) * s, size_t blocks) {
    unsigned zero = V_(zero_mask)(&s[blocks - 1].prod);
    if (blocks > 1) zero |= V_(zero_mask)(&s[blocks - 2].prod);
    return zero != 0;
}

/* The inverses of the products of both chains; one inversion for all lanes. */
static void AD_(invert)(const AD_(block_t) * s, size_t blocks, V_(t) acc[2]) {
    V_(t) t = s[blocks - 1].prod, s1, s2, s4;
    E_(t) one;
    if (blocks > 1) V_(mul)(&t, &t, &s[blocks - 2].prod);
    V_(swap1)(&s1, &t);
    V_(mul)(&t, &t, &s1);
    V_(swap2)(&s2, &t);
    V_(mul)(&t, &t, &s2);
    V_(swap4)(&s4, &t);
    V_(mul)(&t, &t, &s4);
    V_(first)(&one, &t);
    E_(inv)(&one, &one);
    V_(set_inverse)(&t, &one);
    /* of one lane: times the product of the seven others */
    V_(mul)(&s1, &s1, &s2);
    V_(mul)(&s1, &s1, &s4);
    V_(mul)(&t, &t, &s1);
    if (blocks == 1) {
        acc[0] = t;
        return;
    }
    V_(mul)(&acc[(blocks - 1) % 2], &t, &s[blocks - 2].prod);
    V_(mul)(&acc[blocks % 2], &t, &s[blocks - 1].prod);
}

/* The inverse for block v, before `acc` moves on. */
CUZK__IFMA_INLINE void AD_(inverse_of_block)(V_(t) * inv, const AD_(block_t) * s, size_t v,
                                             const V_(t) * acc) {
    if (v < AD_(CHAINS))
        *inv = *acc;
    else
        V_(mul)(inv, acc, &s[v - AD_(CHAINS)].prod);
}

/* The second pass. A processor looks ahead about as far as one product, so that neighbouring
 * products must not depend on each other: the end of each block's additions is done together with
 * the beginning of the next. The slope l takes the place of dy. */
static void AD_(backwards)(AD_(block_t) * s, size_t blocks, V_(t) acc[2], void *ctx) {
    AD_(block_t) *last = &s[blocks - 1];
    V_(t) inv, x, y, *a = &acc[(blocks - 1) % 2];
    AD_(inverse_of_block)(&inv, s, blocks - 1, a);
    if (blocks > AD_(CHAINS)) V_(mul)(a, a, &last->dx);
    V_(mul)(&last->dy, &last->dy, &inv);
    for (size_t v = blocks; v-- > 0;) {
        const AD_(block_t) *end = &s[v];
        a = &acc[(v + 1) % 2];
        if (v > 0) AD_(inverse_of_block)(&inv, s, v - 1, a);
        V_(sqr_sub2)(&x, &end->dy, &end->dx, &end->x1);
        if (v > AD_(CHAINS)) V_(mul)(a, a, &s[v - 1].dx);
        if (v > 0) V_(mul)(&s[v - 1].dy, &s[v - 1].dy, &inv);
        V_(sub_shift)(&y, &end->x1, &x);
        V_(mul_sub)(&y, &end->dy, &y, &end->y1);
        AD_STORE(ctx, v, &x, &y);
    }
}

#undef AD_
#undef E_
#undef V_
#undef AD_CAT
#undef AD_CAT2
#undef AD
#undef AD_FV
#undef AD_F
#undef AD_STORE
