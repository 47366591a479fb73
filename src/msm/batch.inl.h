/* Part of kernel.inl.h: the adder. A batch of affine additions with one inversion for all
 * (Montgomery's trick), on field/vec, LANES additions at a time.
 *
 * Forwards, the running product of the x differences is kept before each step; backwards, the
 * inverse of the whole product gives the inverse of each difference, and the additions are done.
 * Several chains of products run side by side. An addition takes 5M + 1S and its share of the
 * inversion. A zero in the product means that some pair had the same x: such a batch is done one
 * by one, with equal and opposite points told apart. */

enum {
    M_(LANES) = FV_(LANES),
    M_(CHAINS) = 2,
    M_(AHEAD) = FV_(LANES) > 8 ? 2 * FV_(LANES) : 16, /* entries, of prefetches */
    M_(BLOCKS) = (CUZK__BATCH_MAX + CUZK__BATCH_PAD) / FV_(LANES),
};
_Static_assert(FV_(LANES) * M_(CHAINS) <= CUZK__BATCH_PAD, "padding");

typedef struct M_(slot_t) {
    FV_(st_t) x, y;
} M_(slot_t);

/* Scratch: differences and products by block; by entry in the careful path. */
typedef struct M_(careful_t) {
    F_(t) diff[CUZK__BATCH_MAX], prod[CUZK__BATCH_MAX];
} M_(careful_t);
typedef union M_(scratch_t) {
    struct {
        FV_(t) diff[M_(BLOCKS)], prod[M_(BLOCKS)];
    } v;
    M_(careful_t) careful;
} M_(scratch_t);

static inline const uint8_t *M_(source)(const cuzk__points *p, uint32_t src) {
    const uint8_t *from = src & CUZK__SRC_SLOT ? (const uint8_t *)p->slots : p->bases;
    return from + ((src & ~CUZK__SRC_SLOT) >> 1) * sizeof(M_(slot_t));
}

/* Inlined always: gcc takes a function that only prefetches for one without effect and drops its
 * calls. */
static inline __attribute__((always_inline)) void M_(prefetch)(const void *point) {
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
static void M_(get_source)(M_(affine_t) * r, const cuzk__points *p, uint32_t src) {
    M_(get)(r, M_(source)(p, src));
}
static void M_(put)(void *slots, uint32_t slot, const M_(affine_t) * a) {
    M_(slot_t) *s = (M_(slot_t) *)slots + slot;
    FV_(from_mont)(&s->x, &a->x);
    FV_(from_mont)(&s->y, &a->y);
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

#include "msm/careful.inl.h"

/* ---- by blocks --------------------------------------------------------------------------- */

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

static inline __attribute__((always_inline)) void
M_(prefetch_entry)(const cuzk__points *p, const cuzk__batch *b, uint32_t i) {
    /* slots are aligned to 32 bytes at least, so that these steps meet every line of theirs */
    const uint8_t *slot = (const uint8_t *)((const M_(slot_t) *)p->slots + b->dst[i]);
    for (size_t at = 0; at < sizeof(M_(slot_t)); at += 64)
        __builtin_prefetch(slot + at);
    M_(prefetch)(M_(source)(p, b->src[i]));
}

/* diff[v] = the differences of block v, prod[v] = their product over the blocks v, v - CHAINS, …
 * False when one of the whole products is 0. */
static bool M_(forwards)(cuzk__points *p, const cuzk__batch *b, uint32_t blocks) {
    M_(scratch_t) *s = p->scratch;
    for (uint32_t v = 0; v < blocks; v++) {
        FV_(t) x1, x2;
        for (uint32_t i = v * M_(LANES) + M_(AHEAD); i < (v + 1) * M_(LANES) + M_(AHEAD); i++)
            if (i < b->n) M_(prefetch_entry)(p, b, i);
        M_(load_dst)(&x1, p, b->dst + v * M_(LANES), offsetof(M_(slot_t), x));
        M_(load_src)(&x2, p, b->src + v * M_(LANES), offsetof(M_(slot_t), x));
        FV_(sub)(&s->v.diff[v], &x2, &x1);
        if (v < M_(CHAINS))
            s->v.prod[v] = s->v.diff[v];
        else
            FV_(mul)(&s->v.prod[v], &s->v.prod[v - M_(CHAINS)], &s->v.diff[v]);
    }
    unsigned zero = 0;
    for (uint32_t c = 0; c < M_(CHAINS) && c < blocks; c++)
        zero |= FV_(zero_mask)(&s->v.prod[blocks - 1 - c]);
    return zero == 0;
}

/* acc[c] = the inverse of the whole product of chain c, for chains that have blocks; one
 * inversion. */
static void M_(invert)(const cuzk__points *p, uint32_t blocks, FV_(t) acc[M_(CHAINS)]) {
    const M_(scratch_t) *s = p->scratch;
    FV_(t) before[M_(CHAINS)], all, inv;
    uint32_t chains = blocks < M_(CHAINS) ? blocks : M_(CHAINS), first = blocks - chains;
    all = s->v.prod[first];
    for (uint32_t c = 1; c < chains; c++) {
        before[c] = all;
        FV_(mul)(&all, &all, &s->v.prod[first + c]);
    }
    FV_(inv)(&inv, &all);
    for (uint32_t c = chains - 1; c > 0; c--) {
        FV_(mul)(&acc[(first + c) % M_(CHAINS)], &before[c], &inv);
        FV_(mul)(&inv, &inv, &s->v.prod[first + c]);
    }
    acc[first % M_(CHAINS)] = inv;
}

static void M_(backwards)(cuzk__points *p, const cuzk__batch *b, uint32_t blocks,
                          FV_(t) acc[M_(CHAINS)]) {
    M_(scratch_t) *s = p->scratch;
    M_(slot_t) *slots = p->slots;
    for (uint32_t v = blocks; v-- > 0;) {
        const uint32_t *dst = b->dst + v * M_(LANES), *src = b->src + v * M_(LANES);
        FV_(t) x1, y1, x2, y2, inv, l, *a = &acc[v % M_(CHAINS)];
        FV_(st_t) * to_x[M_(LANES)], *to_y[M_(LANES)];
        unsigned signs = 0;
        for (int i = 0; i < M_(LANES); i++) {
            signs |= (src[i] & 1) << i;
            to_x[i] = &slots[dst[i]].x;
            to_y[i] = &slots[dst[i]].y;
            uint32_t at = v * M_(LANES) + (uint32_t)i;
            if (at >= M_(AHEAD)) M_(prefetch_entry)(p, b, at - M_(AHEAD));
        }
        if (v < M_(CHAINS)) {
            inv = *a;
        } else {
            FV_(mul)(&inv, a, &s->v.prod[v - M_(CHAINS)]);
            FV_(mul)(a, a, &s->v.diff[v]);
        }
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

static void M_(run)(cuzk__points *p, cuzk__batch *b) {
    FV_(t) acc[M_(CHAINS)];
    M_(fill_up)(p, b);
    uint32_t blocks = (b->n + M_(LANES) - 1) / M_(LANES);
    if (M_(forwards)(p, b, blocks)) {
        M_(invert)(p, blocks, acc);
        M_(backwards)(p, b, blocks, acc);
    } else {
        M_(run_one_by_one)(p, b);
    }
}
