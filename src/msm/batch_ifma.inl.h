/* Part of kernel.inl.h: the adder on field/vec_fp*_ifma.inl.h, eight additions at a time, one
 * inversion for a batch. batch.inl.h says how; what is different here:
 *
 * Bases are read in the files' form wherever they are used, only buckets are in limbs;
 * curve/adds_ifma.inl.h says why no point needs to be converted.
 *
 * The first pass reads all of both points and leaves the differences and the bucket in order, so
 * that only the second pass's results go to places far apart.
 *
 * Where a few pairs of a batch have the same x, these are taken out, added one by one and written
 * when the batch is done; where there are many, all of it is done one by one. */

enum {
    M_(LANES) = 8,
    M_(AHEAD) = 4,  /* blocks, of prefetches */
    M_(APART) = 16, /* the most pairs that are taken out */
    M_(BLOCKS) = (CUZK__BATCH_MAX + CUZK__BATCH_PAD) / 8,
};

typedef struct M_(slot_t) {
    FV_(st_t) x, y;
} M_(slot_t);

static inline
    __attribute__((always_inline)) void M_(store_block)(void *ctx, size_t v, const FV_(t) * x,
                                                        const FV_(t) * y);

#define AD MSM
#define AD_FV MSM_FV
#define AD_F MSM_F
#define AD_STORE M_(store_block)
#include "curve/adds_ifma.inl.h"

typedef struct M_(careful_t) {
    F_(t) diff[CUZK__BATCH_MAX], prod[CUZK__BATCH_MAX];
} M_(careful_t);

typedef union M_(scratch_t) {
    M_(block_t) block[M_(BLOCKS)];
    M_(careful_t) careful;
} M_(scratch_t);

static inline const uint8_t *M_(source)(const cuzk__points *p, uint32_t src) {
    const size_t i = (src & ~CUZK__SRC_SLOT) >> 1;
    if (src & CUZK__SRC_SLOT) return (const uint8_t *)((const M_(slot_t) *)p->slots + i);
    return p->bases + i * sizeof(M_(affine_t));
}

static void M_(get)(M_(affine_t) * r, const void *stored) {
    M_(slot_t) s;
    memcpy(&s, stored, sizeof s);
    FV_(to_mont)(&r->x, &s.x);
    FV_(to_mont)(&r->y, &s.y);
}
static void M_(get_source)(M_(affine_t) * r, const cuzk__points *p, uint32_t src) {
    if (src & CUZK__SRC_SLOT)
        M_(get)(r, M_(source)(p, src));
    else
        memcpy(r, M_(source)(p, src), sizeof *r);
}
static void M_(put)(void *slots, uint32_t slot, const M_(affine_t) * a) {
    M_(slot_t) *s = (M_(slot_t) *)slots + slot;
    FV_(from_mont)(&s->x, &a->x);
    FV_(from_mont)(&s->y, &a->y);
}

static void M_(copy)(cuzk__points *p, uint32_t slot, uint32_t src) {
    M_(slot_t) *to = (M_(slot_t) *)p->slots + slot;
    if (!(src & CUZK__SRC_SLOT)) {
        FV_(copy_point)((uint8_t *)to, M_(source)(p, src), src & 1);
        return;
    }
    *to = *(const M_(slot_t) *)(const void *)M_(source)(p, src);
    if (src & 1) {
        M_(affine_t) a;
        M_(get)(&a, to);
        EC_(affine_neg)(&a, &a);
        M_(put)(p->slots, slot, &a);
    }
}

#include "msm/careful.inl.h"

/* ---- pairs of the same x ----------------------------------------------------------------- */

typedef struct M_(apart_t) {
    uint32_t n, dst[M_(APART)];
    bool cancel[M_(APART)];
    M_(affine_t) sum[M_(APART)];
} M_(apart_t);

static void M_(add_apart)(const cuzk__points *p, const cuzk__batch *b, uint32_t i,
                          M_(apart_t) * apart) {
    M_(affine_t) q, *a = &apart->sum[apart->n];
    F_(t) inv, den;
    const M_(kind) kind = M_(classify)(p, b, i, a, &q, &den);
    apart->dst[apart->n] = b->dst[i];
    apart->cancel[apart->n++] = kind == M_(KIND_CANCEL);
    if (kind == M_(KIND_CANCEL)) return;
    F_(inv)(&inv, &den);
    M_(finish_add)(a, &q, &inv, kind);
}

/* Takes the pairs of the same x out of the batch and keeps the order of the others, since a source
 * may be the slot of an earlier entry. False, and nothing done, when they are too many. */
static bool M_(take_apart)(const cuzk__points *p, cuzk__batch *b, uint32_t blocks,
                           M_(apart_t) * apart) {
    const M_(scratch_t) *s = p->scratch;
    uint32_t at[M_(APART)], n = 0;
    for (uint32_t v = 0; v < blocks; v++)
        for (unsigned zero = FV_(zero_mask)(&s->block[v].dx); zero; zero &= zero - 1) {
            if (apart->n + n == M_(APART)) return false;
            at[n++] = v * M_(LANES) + (uint32_t)__builtin_ctz(zero);
        }
    for (uint32_t i = 0; i < n; i++)
        M_(add_apart)(p, b, at[i], apart);
    uint32_t to = at[0];
    for (uint32_t from = at[0], skip = 0; from < b->n; from++) {
        if (skip < n && from == at[skip]) {
            skip++;
            continue;
        }
        b->dst[to] = b->dst[from];
        b->src[to++] = b->src[from];
    }
    b->n = to;
    return true;
}

static void M_(put_apart)(cuzk__points *p, const M_(apart_t) * apart) {
    for (uint32_t i = 0; i < apart->n; i++) {
        if (apart->cancel[i])
            p->stamp[apart->dst[i]] = 0;
        else
            M_(put)(p->slots, apart->dst[i], &apart->sum[i]);
    }
}

/* ---- by blocks --------------------------------------------------------------------------- */

/* Sources follow one another and need no help. Inlined always: gcc takes a function that only
 * prefetches for one without effect. */
static inline __attribute__((always_inline)) void M_(prefetch_slot)(const cuzk__points *p,
                                                                    uint32_t dst) {
    const uint8_t *slot = (const uint8_t *)((const M_(slot_t) *)p->slots + dst);
    for (size_t at = 0; at < sizeof(M_(slot_t)); at += 64)
        __builtin_prefetch(slot + at);
}

/* Sources of one block: bases or slots, or some of each. */
static inline __attribute__((always_inline)) void
M_(load_src)(FV_(t) * x, FV_(t) * y, const cuzk__points *p, const uint32_t *src) {
    const uint8_t *from[8];
    _Alignas(64) M_(slot_t) mixed[8];
    uint32_t any = 0, all = CUZK__SRC_SLOT;
    for (int l = 0; l < 8; l++) {
        any |= src[l];
        all &= src[l];
    }
    if (__builtin_expect(!(any & CUZK__SRC_SLOT), 1)) {
        for (int l = 0; l < 8; l++)
            from[l] = p->bases + (size_t)(src[l] >> 1) * sizeof(M_(affine_t));
        FV_(load_point_file)(x, y, from);
        return;
    }
    for (int l = 0; l < 8; l++)
        from[l] = M_(source)(p, src[l]);
    if (!all) {
        for (int l = 0; l < 8; l++) {
            M_(affine_t) a;
            if (src[l] & CUZK__SRC_SLOT) continue;
            memcpy(&a, from[l], sizeof a);
            M_(put)(mixed, (uint32_t)l, &a);
            from[l] = (const uint8_t *)&mixed[l];
        }
    }
    FV_(load_point)(x, y, from);
}

/* Block v: what the second pass needs of its points. */
static inline __attribute__((always_inline)) void
M_(read_block)(M_(block_t) * o, const cuzk__points *p, const cuzk__batch *b, uint32_t v) {
    const uint32_t *dst = b->dst + v * 8, *src = b->src + v * 8;
    const uint8_t *to[8];
    FV_(t) x2, y2;
    unsigned minus = 0;
    for (int l = 0; l < 8; l++) {
        to[l] = (const uint8_t *)((const M_(slot_t) *)p->slots + dst[l]);
        minus |= (src[l] & 1) << l;
    }
    M_(load_src)(&x2, &y2, p, src);
    FV_(load_point)(&o->x1, &o->y1, to);
    FV_(sub)(&o->dx, &x2, &o->x1, 3);
    FV_(sub_signed)(&o->dy, &y2, &o->y1, (__mmask8)minus);
}

/* Differences, buckets and products of every block. False when some difference is 0. The points of
 * a block are read while the product of the one before is computed. */
static bool M_(forwards)(cuzk__points *p, const cuzk__batch *b, uint32_t blocks) {
    M_(block_t) *s = ((M_(scratch_t) *)p->scratch)->block;
    for (uint32_t v = 0; v < blocks; v++) {
        if (v + M_(AHEAD) < blocks)
            for (uint32_t i = 8 * (v + M_(AHEAD)); i < 8 * (v + M_(AHEAD) + 1); i++)
                M_(prefetch_slot)(p, b->dst[i]);
        M_(read_block)(&s[v], p, b, v);
        if (v > 0) M_(chain_block)(s, v - 1);
    }
    M_(chain_block)(s, blocks - 1);
    return !M_(any_zero)(s, blocks);
}

/* Where the second pass puts its sums. */
typedef struct M_(target_t) {
    M_(slot_t) * slots;
    const uint32_t *dst;
} M_(target_t);

static inline __attribute__((always_inline)) void
M_(store_block)(void *ctx, size_t v, const FV_(t) * x, const FV_(t) * y) {
    const M_(target_t) *t = ctx;
    uint8_t *to[8];
    for (size_t i = 0; i < 8; i++)
        to[i] = (uint8_t *)(t->slots + t->dst[8 * v + i]);
    FV_(store_point)(to, x, y);
}

static void M_(run)(cuzk__points *p, cuzk__batch *b) {
    M_(apart_t) apart = {0};
    FV_(t) acc[2];
    uint32_t blocks;
    for (;;) {
        M_(fill_up)(p, b);
        blocks = (b->n + 7) / 8;
        if (blocks == 0 || M_(forwards)(p, b, blocks)) break;
        if (!M_(take_apart)(p, b, blocks, &apart)) {
            M_(run_one_by_one)(p, b);
            blocks = 0;
            break;
        }
    }
    if (blocks) {
        M_(block_t) *s = ((M_(scratch_t) *)p->scratch)->block;
        M_(target_t) to = {p->slots, b->dst};
        M_(invert)(s, blocks, acc);
        M_(backwards)(s, blocks, acc, &to);
    }
    M_(put_apart)(p, &apart);
}
