/* Part of kernel.inl.h: the adder. A batch of affine additions with one inversion for all
 * (Montgomery's trick), on field/vec, LANES additions at a time.
 *
 * Forwards, the running product of the x differences is kept before each step; backwards, the
 * inverse of the whole product gives the inverse of each difference, and the additions are done.
 * Several chains of products run side by side. An addition takes 5M + 1S and its share of the
 * inversion. A zero in the product means that some pair had the same x: such a batch is done one
 * by one with every case distinguished, and so are batches marked careful. */

enum {
    M_(LANES) = FV_(LANES),
    M_(CHAINS) = 2,
    M_(BLOCKS) = (CUZK__BATCH_MAX + CUZK__BATCH_PAD) / FV_(LANES),
};
_Static_assert(FV_(LANES) * M_(CHAINS) <= CUZK__BATCH_PAD, "padding");

typedef struct M_(slot_t) {
    FV_(st_t) x, y;
} M_(slot_t);

/* Scratch: differences and products by block; by entry in the careful path. */
typedef struct M_(scratch_t) {
    union {
        FV_(t) v[M_(BLOCKS)];
        F_(t) f[CUZK__BATCH_MAX];
    } diff, prod;
} M_(scratch_t);

static inline const uint8_t *M_(source)(const cuzk__points *p, uint32_t src) {
    const uint8_t *from = src & CUZK__SRC_SLOT ? (const uint8_t *)p->slots : p->bases;
    return from + ((src & ~CUZK__SRC_SLOT) >> 1) * sizeof(M_(slot_t));
}

static inline void M_(prefetch)(const void *point) {
    const uint8_t *b = point;
    for (size_t i = 0; i < sizeof(M_(slot_t)); i += 64)
        __builtin_prefetch(b + i);
    __builtin_prefetch(b + sizeof(M_(slot_t)) - 1);
}

/* Coordinates of stored points as field elements. */
static void M_(get)(M_(affine_t) * r, const void *stored) {
    M_(slot_t) s;
    memcpy(&s, stored, sizeof s);
    FV_(to_mont)(&r->x, &s.x);
    FV_(to_mont)(&r->y, &s.y);
}
static void M_(put)(void *slots, uint32_t slot, const M_(affine_t) * a) {
    M_(slot_t) *s = (M_(slot_t) *)slots + slot;
    FV_(from_mont)(&s->x, &a->x);
    FV_(from_mont)(&s->y, &a->y);
}

static void M_(clear)(cuzk__points *p, uint32_t slot) {
    M_(affine_t) zero;
    F_(set_zero)(&zero.x);
    F_(set_zero)(&zero.y);
    M_(put)(p->slots, slot, &zero);
}

static void M_(copy)(cuzk__points *p, uint32_t slot, uint32_t src) {
    M_(slot_t) *s = (M_(slot_t) *)p->slots + slot;
    memcpy(s, M_(source)(p, src), sizeof *s);
    if (src & 1) {
        M_(affine_t) a;
        M_(get)(&a, s);
        EC_(affine_neg)(&a, &a);
        M_(put)(p->slots, slot, &a);
    }
}

static __attribute__((unused)) void M_(convert)(void *stored, const uint8_t *bases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        M_(affine_t) a;
        memcpy(&a, bases + i * sizeof a, sizeof a);
        M_(put)(stored, (uint32_t)i, &a);
    }
}

/* ---- one by one -------------------------------------------------------------------------- */

typedef enum M_(kind) {
    M_(KIND_NONE),
    M_(KIND_TAKE),
    M_(KIND_CANCEL),
    M_(KIND_DOUBLE),
    M_(KIND_ADD)
} M_(kind);

/* Loads entry i; *den is what has to be inverted for it, 1 if nothing. */
static M_(kind) M_(classify)(const cuzk__points *p, const cuzk__batch *b, uint32_t i,
                             M_(affine_t) * a, M_(affine_t) * q, F_(t) * den) {
    M_(get)(a, (const M_(slot_t) *)p->slots + b->dst[i]);
    M_(get)(q, M_(source)(p, b->src[i]));
    if (b->src[i] & 1) EC_(affine_neg)(q, q);
    F_(set_one)(den);
    if (EC_(affine_is_infinity)(q)) return M_(KIND_NONE);
    if (EC_(affine_is_infinity)(a)) return M_(KIND_TAKE);
    F_(t) d;
    F_(sub)(&d, &q->x, &a->x);
    if (!F_(is_zero)(&d)) {
        *den = d;
        return M_(KIND_ADD);
    }
    F_(add)(&d, &a->y, &q->y);
    if (F_(is_zero)(&d)) return M_(KIND_CANCEL);
    *den = d; /* 2y */
    return M_(KIND_DOUBLE);
}

/* a + q, or 2a, for the inverse of den. */
static void M_(finish_add)(M_(affine_t) * a, const M_(affine_t) * q, const F_(t) * inv, bool dbl) {
    F_(t) l, x;
    if (dbl) {
        F_(sqr)(&l, &a->x);
        F_(dbl)(&x, &l);
        F_(add)(&l, &l, &x);
    } else {
        F_(sub)(&l, &q->y, &a->y);
    }
    F_(mul)(&l, &l, inv);
    F_(sqr)(&x, &l);
    F_(sub)(&x, &x, &a->x);
    F_(sub)(&x, &x, &q->x);
    F_(sub)(&a->x, &a->x, &x);
    F_(mul)(&l, &l, &a->x);
    a->x = x;
    F_(sub)(&a->y, &l, &a->y);
}

static void M_(run_careful)(cuzk__points *p, const cuzk__batch *b) {
    M_(scratch_t) *s = p->scratch;
    M_(affine_t) a, q;
    F_(t) acc, inv;
    F_(set_one)(&acc);
    for (uint32_t i = 0; i < b->n; i++) {
        (void)M_(classify)(p, b, i, &a, &q, &s->diff.f[i]);
        s->prod.f[i] = acc;
        F_(mul)(&acc, &acc, &s->diff.f[i]);
    }
    F_(inv)(&acc, &acc);
    for (uint32_t i = b->n; i-- > 0;) {
        F_(t) den;
        uint32_t dst = b->dst[i];
        M_(kind) kind = M_(classify)(p, b, i, &a, &q, &den);
        F_(mul)(&inv, &acc, &s->prod.f[i]);
        F_(mul)(&acc, &acc, &s->diff.f[i]);
        if (kind == M_(KIND_CANCEL) || (kind == M_(KIND_NONE) && EC_(affine_is_infinity)(&a))) {
            M_(clear)(p, dst);
            p->stamp[dst] = 0;
            p->cancelled = true;
            continue;
        }
        if (kind == M_(KIND_TAKE))
            a = q;
        else if (kind != M_(KIND_NONE))
            M_(finish_add)(&a, &q, &inv, kind == M_(KIND_DOUBLE));
        M_(put)(p->slots, dst, &a);
        if (p->stamp[dst] == 0) p->stamp[dst] = 1;
    }
}

/* ---- by blocks --------------------------------------------------------------------------- */

/* Fills the last block with additions to the adder's own slots: twice the generator to what began
 * as the generator and so is always another, odd multiple of it. */
static void M_(fill_up)(const cuzk__points *p, cuzk__batch *b) {
    for (uint32_t n = b->n, l = 0; (n + l) % M_(LANES); l++) {
        b->dst[n + l] = p->pad + l;
        b->src[n + l] = CUZK__SRC_SLOT | (p->pad + M_(LANES) + l) << 1;
    }
}

static void M_(init_pads)(cuzk__points *p) {
    M_(affine_t) g = MSM_GENERATOR, g2;
    M_(xyzz_t) d;
    EC_(xyzz_dbl_affine)(&d, &g);
    EC_(xyzz_to_affine)(&g2, &d);
    for (uint32_t l = 0; l < M_(LANES); l++) {
        M_(put)(p->slots, p->pad + l, &g);
        M_(put)(p->slots, p->pad + M_(LANES) + l, &g2);
    }
}

static inline void M_(load_dst)(FV_(t) * r, const cuzk__points *p, const uint32_t *dst, size_t at) {
    const void *from[M_(LANES)];
    for (int l = 0; l < M_(LANES); l++)
        from[l] = (const uint8_t *)p->slots + dst[l] * sizeof(M_(slot_t)) + at;
    FV_(gather_any)(r, from);
}

static inline void M_(load_src)(FV_(t) * r, const cuzk__points *p, const uint32_t *src, size_t at) {
    const void *from[M_(LANES)];
    for (int l = 0; l < M_(LANES); l++)
        from[l] = M_(source)(p, src[l]) + at;
    FV_(gather_any)(r, from);
}

/* Fills diff and prod; *acc are the chains' products. False when one of them is 0. */
static bool M_(forwards)(cuzk__points *p, const cuzk__batch *b, uint32_t blocks,
                         FV_(t) acc[M_(CHAINS)]) {
    M_(scratch_t) *s = p->scratch;
    F_(t) one;
    FV_(st_t) st;
    F_(set_one)(&one);
    FV_(from_mont)(&st, &one);
    for (int c = 0; c < M_(CHAINS); c++)
        FV_(bcast)(&acc[c], &st);
    for (uint32_t v = 0; v < blocks; v++) {
        FV_(t) x1, x2, *a = &acc[v % M_(CHAINS)];
        M_(load_dst)(&x1, p, b->dst + v * M_(LANES), offsetof(M_(slot_t), x));
        M_(load_src)(&x2, p, b->src + v * M_(LANES), offsetof(M_(slot_t), x));
        FV_(sub)(&s->diff.v[v], &x2, &x1);
        s->prod.v[v] = *a;
        FV_(mul)(a, a, &s->diff.v[v]);
    }
    unsigned zero = 0;
    for (int c = 0; c < M_(CHAINS); c++)
        zero |= FV_(zero_mask)(&acc[c]);
    return zero == 0;
}

/* Each chain's product becomes its inverse; one inversion. */
static void M_(invert)(FV_(t) acc[M_(CHAINS)]) {
    FV_(t) before[M_(CHAINS)], all = acc[0], inv;
    for (int c = 1; c < M_(CHAINS); c++) {
        before[c] = all;
        FV_(mul)(&all, &all, &acc[c]);
    }
    FV_(inv)(&inv, &all);
    for (int c = M_(CHAINS) - 1; c > 0; c--) {
        FV_(mul)(&before[c], &before[c], &inv);
        FV_(mul)(&inv, &inv, &acc[c]);
        acc[c] = before[c];
    }
    acc[0] = inv;
}

static void M_(backwards)(cuzk__points *p, const cuzk__batch *b, uint32_t blocks,
                          FV_(t) acc[M_(CHAINS)], const cuzk__batch *next) {
    M_(scratch_t) *s = p->scratch;
    M_(slot_t) *slots = p->slots;
    uint32_t ahead = 0;
    for (uint32_t v = blocks; v-- > 0;) {
        const uint32_t *dst = b->dst + v * M_(LANES), *src = b->src + v * M_(LANES);
        FV_(t) x1, y1, x2, y2, inv, l, *a = &acc[v % M_(CHAINS)];
        FV_(st_t) * to_x[M_(LANES)], *to_y[M_(LANES)];
        unsigned signs = 0;
        for (int i = 0; i < M_(LANES); i++) {
            signs |= (src[i] & 1) << i;
            to_x[i] = &slots[dst[i]].x;
            to_y[i] = &slots[dst[i]].y;
            if (ahead < next->n) {
                M_(prefetch)(slots + next->dst[ahead]);
                M_(prefetch)(M_(source)(p, next->src[ahead]));
                ahead++;
            }
        }
        FV_(mul)(&inv, a, &s->prod.v[v]);
        FV_(mul)(a, a, &s->diff.v[v]);
        M_(load_dst)(&x1, p, dst, offsetof(M_(slot_t), x));
        M_(load_dst)(&y1, p, dst, offsetof(M_(slot_t), y));
        M_(load_src)(&x2, p, src, offsetof(M_(slot_t), x));
        M_(load_src)(&y2, p, src, offsetof(M_(slot_t), y));
        FV_(cneg)(&y2, &y2, signs);
        FV_(sub)(&l, &y2, &y1);
        FV_(mul)(&l, &l, &inv);
        FV_(sqr)(&inv, &l);
        FV_(sub)(&inv, &inv, &x1);
        FV_(sub)(&inv, &inv, &x2);
        FV_(scatter)(to_x, &inv);
        FV_(sub)(&x1, &x1, &inv);
        FV_(mul)(&l, &l, &x1);
        FV_(sub)(&l, &l, &y1);
        FV_(scatter)(to_y, &l);
    }
}

static void M_(run)(cuzk__points *p, cuzk__batch *b, const cuzk__batch *next) {
    FV_(t) acc[M_(CHAINS)];
    if (!b->careful) {
        M_(fill_up)(p, b);
        uint32_t blocks = (b->n + M_(LANES) - 1) / M_(LANES);
        if (M_(forwards)(p, b, blocks, acc)) {
            M_(invert)(acc);
            M_(backwards)(p, b, blocks, acc, next);
            return;
        }
    }
    M_(run_careful)(p, b);
}

/* ---- sums of slots ----------------------------------------------------------------------- */

/* *acc += the slots [first, first + n) that are not empty. */
static void M_(slots_sum)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first, uint32_t n) {
    M_(xyzz_t) sum;
    M_(affine_t) a;
    M_(acc_get)(&sum, acc);
    for (uint32_t i = first; i < first + n; i++) {
        if (!p->stamp[i]) continue;
        M_(get)(&a, (const M_(slot_t) *)p->slots + i);
        EC_(xyzz_add_affine)(&sum, &sum, &a);
    }
    M_(acc_put)(acc, &sum);
}

/* *acc += sum over q < n and k < copies of q * slot[first + k * n + q]. */
static void M_(slots_weighted)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first,
                               uint32_t n, uint32_t copies) {
    M_(xyzz_t) run, sum;
    M_(affine_t) a;
    M_(acc_get)(&sum, acc);
    EC_(xyzz_set_infinity)(&run);
    for (uint32_t q = n; q-- > 1;) {
        for (uint32_t k = 0; k < copies; k++) {
            uint32_t slot = first + k * n + q;
            if (!p->stamp[slot]) continue;
            M_(get)(&a, (const M_(slot_t) *)p->slots + slot);
            EC_(xyzz_add_affine)(&run, &run, &a);
        }
        EC_(xyzz_add)(&sum, &sum, &run);
    }
    M_(acc_put)(acc, &sum);
}
