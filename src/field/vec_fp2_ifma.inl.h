/* Fp2 = Fp[u] / (u^2 + 1) over batches of vec_fp_ifma.inl.h, with the same names: include-template.
 *
 * Parameters (undefined again at the end): FV2 (prefix to generate), FV2_BASE (prefix of the
 * batches over Fp), FV2_FE (prefix of Fp2).
 *
 * Product: Karatsuba on double-length numbers, of which two are reduced: c0 = a0 b0 - a1 b1,
 * c1 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1. Before its reduction c0 may be negative, so a raw
 * product lies between -a1 b1 / R and (a0 b1 + a1 b0) / R + 2p + 2^-8 p: above -0.7 p and below 3.4
 * p for operands of 21.4 p and 2.7 p in BN254. Products are brought near, which costs what a carry
 * does. They are functions of their own, as five of them would not fit the instruction cache. */

#define FV2_CAT2(a, b) a##_##b
#define FV2_CAT(a, b) FV2_CAT2(a, b)
#define FV2_(name) FV2_CAT(FV2, name)
#define B_(name) FV2_CAT(FV2_BASE, name)
#define FE2_(name) FV2_CAT(FV2_FE, name)
#define FV2_INLINE CUZK__IFMA_INLINE

enum { FV2_(LANES) = 8, FV2_(LIMBS) = B_(TOP) + 1 };
typedef struct FV2_(t) {
    B_(t) c0, c1;
} FV2_(t);
typedef struct FV2_(st_t) {
    B_(st_t) c0, c1;
} FV2_(st_t);
/* Both components raw. */
typedef struct FV2_(raw_t) {
    __m512i c0[FV2_(LIMBS)], c1[FV2_(LIMBS)];
} FV2_(raw_t);

FV2_INLINE void FV2_(add)(B_(t) * r, const B_(t) * a, const B_(t) * b) {
    __m512i t[FV2_(LIMBS)];
    for (int j = 0; j < FV2_(LIMBS); j++)
        t[j] = _mm512_add_epi64(a->l[j], b->l[j]);
    B_(carry)(r, t);
}

/* *r = a b / R, raw. */
static __attribute__((noinline)) void FV2_(mul_raw)(FV2_(raw_t) * r, const FV2_(t) * a,
                                                    const FV2_(t) * b) {
    enum { COLUMNS = 2 * FV2_(LIMBS) + 1 };
    __m512i v0[COLUMNS], v1[COLUMNS], v2[COLUMNS];
    B_(t) s, t;
    B_(columns)(v0, &a->c0, &b->c0);
    B_(columns)(v1, &a->c1, &b->c1);
    FV2_(add)(&s, &a->c0, &a->c1);
    FV2_(add)(&t, &b->c0, &b->c1);
    B_(columns)(v2, &s, &t);
    for (int j = 0; j < COLUMNS; j++) {
        v2[j] = _mm512_sub_epi64(v2[j], _mm512_add_epi64(v0[j], v1[j]));
        v0[j] = _mm512_sub_epi64(v0[j], v1[j]);
    }
    B_(reduce)(r->c0, v0);
    B_(reduce)(r->c1, v2);
}

/* *r = a^2 / R, raw, for near a: (a0 + a1)(a0 - a1) and 2 a0 a1. */
static __attribute__((noinline)) void FV2_(sqr_raw)(FV2_(raw_t) * r, const FV2_(t) * a) {
    B_(t) s, d;
    FV2_(add)(&s, &a->c0, &a->c1);
    B_(sub)(&d, &a->c0, &a->c1, 3);
    B_(mul_raw)(r->c0, &s, &d);
    FV2_(add)(&s, &a->c0, &a->c0);
    B_(mul_raw)(r->c1, &s, &a->c1);
}

FV2_INLINE void FV2_(mul)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b) {
    FV2_(raw_t) t;
    FV2_(mul_raw)(&t, a, b);
    B_(near)(&r->c0, t.c0);
    B_(near)(&r->c1, t.c1);
}

FV2_INLINE void FV2_(sub)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b, int k) {
    B_(sub)(&r->c0, &a->c0, &b->c0, k);
    B_(sub)(&r->c1, &a->c1, &b->c1, k);
}

FV2_INLINE void FV2_(sub_signed)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b,
                                 __mmask8 minus) {
    B_(sub_signed)(&r->c0, &a->c0, &b->c0, minus);
    B_(sub_signed)(&r->c1, &a->c1, &b->c1, minus);
}

FV2_INLINE void FV2_(sub_shift)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b) {
    B_(sub_shift)(&r->c0, &a->c0, &b->c0);
    B_(sub_shift)(&r->c1, &a->c1, &b->c1);
}

FV2_INLINE void FV2_(sqr_sub2)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b,
                               const FV2_(t) * c) {
    FV2_(raw_t) t;
    FV2_(sqr_raw)(&t, a);
    B_(minus_sum)(&r->c0, t.c0, &b->c0, &c->c0);
    B_(minus_sum)(&r->c1, t.c1, &b->c1, &c->c1);
}

FV2_INLINE void FV2_(mul_sub)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b,
                              const FV2_(t) * c) {
    FV2_(raw_t) t;
    FV2_(mul_raw)(&t, a, b);
    B_(minus)(&r->c0, t.c0, &c->c0);
    B_(minus)(&r->c1, t.c1, &c->c1);
}

FV2_INLINE unsigned FV2_(zero_mask)(const FV2_(t) * a) {
    return B_(zero_mask)(&a->c0) & B_(zero_mask)(&a->c1);
}

/* Points: x and y are two pairs. */
enum { FV2_(FILE_PAIR) = 2 * 8 * B_(WORDS), FV2_(PAIR) = 2 * sizeof(B_(st_t)) };

FV2_INLINE void FV2_(load_point_file)(FV2_(t) * x, FV2_(t) * y, const uint8_t *const p[8]) {
    const uint8_t *q[8];
    for (int i = 0; i < 8; i++)
        q[i] = p[i] + FV2_(FILE_PAIR);
    B_(load_pair_file)(&x->c0, &x->c1, p);
    B_(load_pair_file)(&y->c0, &y->c1, q);
}

FV2_INLINE void FV2_(load_point)(FV2_(t) * x, FV2_(t) * y, const uint8_t *const p[8]) {
    const uint8_t *q[8];
    for (int i = 0; i < 8; i++)
        q[i] = p[i] + FV2_(PAIR);
    B_(load_pair)(&x->c0, &x->c1, p);
    B_(load_pair)(&y->c0, &y->c1, q);
}

FV2_INLINE void FV2_(store_point)(uint8_t *const p[8], const FV2_(t) * x, const FV2_(t) * y) {
    uint8_t *q[8];
    for (int i = 0; i < 8; i++)
        q[i] = p[i] + FV2_(PAIR);
    B_(store_pair)(p, &x->c0, &x->c1);
    B_(store_pair)(q, &y->c0, &y->c1);
}

FV2_INLINE void FV2_(store_point_file)(uint8_t *const p[8], unsigned n, const FV2_(t) * x,
                                       const FV2_(t) * y) {
    uint8_t *q[8];
    for (int i = 0; i < 8; i++)
        q[i] = p[i] + FV2_(FILE_PAIR);
    B_(store_point_file)(p, n, &x->c0, &x->c1);
    B_(store_point_file)(q, n, &y->c0, &y->c1);
}

FV2_INLINE unsigned FV2_(all_zero)(const FV2_(t) * a) {
    return B_(all_zero)(&a->c0) & B_(all_zero)(&a->c1);
}

FV2_INLINE void FV2_(copy_point)(uint8_t *to, const uint8_t *from, unsigned minus) {
    B_(copy_pair)(to, from, 0, 0);
    B_(copy_pair)(to + FV2_(PAIR), from + FV2_(FILE_PAIR), minus, minus);
}

static inline void FV2_(to_mont)(FE2_(t) * r, const FV2_(st_t) * a) {
    B_(to_mont)(&r->c0, &a->c0);
    B_(to_mont)(&r->c1, &a->c1);
}
static inline void FV2_(from_mont)(FV2_(st_t) * r, const FE2_(t) * a) {
    B_(from_mont)(&r->c0, &a->c0);
    B_(from_mont)(&r->c1, &a->c1);
}
static inline void FV2_(first)(FE2_(t) * r, const FV2_(t) * a) {
    B_(first)(&r->c0, &a->c0);
    B_(first)(&r->c1, &a->c1);
}
static inline void FV2_(set_inverse)(FV2_(t) * r, const FE2_(t) * a) {
    B_(set_inverse)(&r->c0, &a->c0);
    B_(set_inverse)(&r->c1, &a->c1);
}

FV2_INLINE void FV2_(swap1)(FV2_(t) * r, const FV2_(t) * a) {
    B_(swap1)(&r->c0, &a->c0);
    B_(swap1)(&r->c1, &a->c1);
}
FV2_INLINE void FV2_(swap2)(FV2_(t) * r, const FV2_(t) * a) {
    B_(swap2)(&r->c0, &a->c0);
    B_(swap2)(&r->c1, &a->c1);
}
FV2_INLINE void FV2_(swap4)(FV2_(t) * r, const FV2_(t) * a) {
    B_(swap4)(&r->c0, &a->c0);
    B_(swap4)(&r->c1, &a->c1);
}

#undef FV2_INLINE
#undef FV2_
#undef B_
#undef FE2_
#undef FV2_CAT
#undef FV2_CAT2
#undef FV2
#undef FV2_BASE
#undef FV2_FE
