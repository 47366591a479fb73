/* One group of batch_ifma.h: include-template.
 *
 * Parameters (undefined again at the end): BI (name of the group), BI_FV (prefix of batches of
 * field/vec_fp*_ifma.inl.h), BI_F (prefix of the field), BI_SIZE (bytes of a point). */

#define BI_CAT2(a, b) a##_##b
#define BI_CAT(a, b) BI_CAT2(a, b)
#define BI_(name) BI_CAT(BI, name)
#define BV_(name) BI_CAT(BI_FV, name)
#define BI_EXTERN2(group) CUZK__BATCH_IFMA(group)
#define BI_EXTERN(group) BI_EXTERN2(group)

typedef struct BI_(target_t) {
    uint8_t *a;
    const uint32_t *at;
    size_t n;
} BI_(target_t);

CUZK__IFMA_INLINE void BI_(store)(void *ctx, size_t v, const BV_(t) * x, const BV_(t) * y) {
    const BI_(target_t) *t = ctx;
    const size_t left = t->n - 8 * v;
    uint8_t *to[8];
    for (size_t l = 0; l < 8; l++) {
        const size_t i = l < left ? 8 * v + l : 8 * v;
        to[l] = t->a + (t->at ? t->at[i] : i) * BI_SIZE;
    }
    BV_(store_point_file)(to, left < 8 ? (unsigned)left : 8, x, y);
}

#define AD BI
#define AD_FV BI_FV
#define AD_F BI_F
#define AD_STORE BI_(store)
#include "curve/adds_ifma.inl.h"

_Static_assert(sizeof(BI_(block_t)) + 8 <= 8 * 7 * BI_SIZE, "scratch");

/* Lanes behind the end repeat the last addition. */
BI_EXTERN(BI) {
    BI_(block_t) *s = (void *)(((uintptr_t)scratch + 63) / 64 * 64);
    const size_t blocks = (n + 7) / 8;
    BV_(t) acc[2];
    for (size_t v = 0; v < blocks; v++) {
        const uint8_t *p[8], *q[8];
        BV_(t) x2, y2;
        unsigned minus = 0;
        for (size_t l = 0; l < 8; l++) {
            const size_t i = 8 * v + l < n ? 8 * v + l : n - 1;
            p[l] = (const uint8_t *)a + (at ? at[i] : i) * BI_SIZE;
            q[l] = (const uint8_t *)b + (from ? from[i] >> 1 : i) * BI_SIZE;
            minus |= (from ? from[i] & 1 : 0) << l;
        }
        BV_(load_point_file)(&s[v].x1, &s[v].y1, p);
        BV_(load_point_file)(&x2, &y2, q);
        unsigned infinite = BV_(all_zero)(&s[v].x1) & BV_(all_zero)(&s[v].y1);
        infinite |= BV_(all_zero)(&x2) & BV_(all_zero)(&y2);
        if (infinite) return false;
        BV_(sub)(&s[v].dx, &x2, &s[v].x1, 3);
        BV_(sub_signed)(&s[v].dy, &y2, &s[v].y1, (__mmask8)minus);
        if (v > 0) BI_(chain_block)(s, v - 1);
    }
    BI_(chain_block)(s, blocks - 1);
    if (BI_(any_zero)(s, blocks)) return false;
    BI_(target_t) to = {a, at, n};
    BI_(invert)(s, blocks, acc);
    BI_(backwards)(s, blocks, acc, &to);
    return true;
}

#undef BI_EXTERN
#undef BI_EXTERN2
#undef BI_
#undef BV_
#undef BI_CAT
#undef BI_CAT2
#undef BI
#undef BI_FV
#undef BI_F
#undef BI_SIZE
