/* A batch of eight elements of a base field with AVX-512 IFMA: include-template for point
 * arithmetic. N = 5 or 8 limbs of 52 bits, lane l of every limb vector belonging to element l. See
 * ifma.h for where this may be compiled and run.
 *
 * Parameters (undefined again at the end): FV (prefix to generate), FV_FE (prefix of the field),
 * FV_LIMBS (5 with 4 words of 64 bits, or 8 with 6), FV_BITS (of the modulus), FV_MODULUS (its
 * words), FV_CONSTS (brace list of a cuzk__ifma_fp).
 *
 * Form. R = 2^(52 N). A product is a b / R mod p; elements keep the files' Montgomery factor
 * F = 2^(64 words), so that points need no conversion, and point arithmetic accounts for the
 * difference; see msm/batch_ifma.inl.h. With u = 2^FV_BITS (1.231 p for BLS12-381, 1.323 p for
 * BN254):
 *
 *   normal    limbs in [0, 2^52), the value below R; what mul takes
 *   raw       limbs of either sign, of a magnitude below 2^62, what near and carry take
 *   near      normal and below u + p + 2^-8 p, 2.33 p at most: what near gives
 *
 * Product (as vec_ifma.inl.h): N - 1 steps t <- (t + a b_i) / 2^52 that take the low limb times
 * 2^-52 mod p, which needs no quotient, then an ordinary one. The result is below
 * a b / R + 2 p + 2^-8 p. With 35 bits to spare in BLS12-381 a b / R is nothing for any operands
 * in use; in BN254 p / R is 0.0119, so operands of 21.4 p and 2.7 p give less than 2.7 p. */

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)
#define FV_GLUE2(a, b) a##b
#define FV_GLUE(a, b) FV_GLUE2(a, b)
#define FV_INLINE CUZK__IFMA_INLINE

enum {
    FV_(LANES) = 8,
    FV_(TOP) = FV_LIMBS - 1,
    FV_(WORDS) = FV_LIMBS == 5 ? 4 : 6,
    /* the root of R / F */
    FV_(SHIFT) = (52 * FV_LIMBS - 64 * FV_(WORDS)) / 2,
};
typedef struct FV_(t) {
    __m512i l[FV_LIMBS];
} FV_(t);

static const FV_GLUE(cuzk__ifma_fp, FV_LIMBS) FV_(k) = FV_CONSTS;

#define LO(acc, a, b) acc = _mm512_madd52lo_epu64(acc, a, b)
#define HI(acc, a, b) acc = _mm512_madd52hi_epu64(acc, a, b)

/* ---- carries and ranges ------------------------------------------------------------------ */

/* Raw limbs of a number in [0, R) to normal ones. */
FV_INLINE void FV_(carry)(FV_(t) * r, const __m512i t[FV_LIMBS]) {
    __m512i c = t[0];
    for (int j = 0; j < FV_(TOP); j++) {
        r->l[j] = cuzk__ifma_low(c);
        c = _mm512_add_epi64(t[j + 1], _mm512_srai_epi64(c, CUZK__IFMA_BITS));
    }
    r->l[FV_(TOP)] = c;
}

FV_INLINE void FV_(add_multiple)(__m512i t[FV_LIMBS], int k) {
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = _mm512_add_epi64(t[j], cuzk__ifma_set1(FV_(k).multiples[k][j]));
}

/* A raw number in [-4u + 2^-12 p, 4u) to a near one. Up to four units of the top limb are hidden
 * in limbs below it that are negative, so much is taken off before the multiple of u is read. */
FV_INLINE void FV_(near)(FV_(t) * r, __m512i t[FV_LIMBS]) {
    const __m512i k = _mm512_srai_epi64(_mm512_sub_epi64(t[FV_(TOP)], cuzk__ifma_set1(4)),
                                        FV_BITS - CUZK__IFMA_BITS * FV_(TOP));
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] =
            _mm512_add_epi64(t[j], _mm512_permutexvar_epi64(k, _mm512_loadu_si512(FV_(k).fix[j])));
    FV_(carry)(r, t);
}

/* ---- products ---------------------------------------------------------------------------- */

/* t <- (t + a b) / 2^52 up to a multiple of p; t has one limb more. With five limbs the processor
 * waits for chains of sums rather than for multipliers and there are registers to spare: high
 * halves are then added up apart. */
FV_INLINE void FV_(step)(__m512i t[FV_LIMBS + 1], const __m512i a[FV_LIMBS], __m512i b) {
    for (int j = 0; j < FV_LIMBS; j++)
        LO(t[j], a[j], b);
    const __m512i q = t[0], c = _mm512_srli_epi64(q, CUZK__IFMA_BITS);
#if FV_LIMBS == 5
    __m512i h[FV_LIMBS + 1] = {c};
    for (int j = 1; j <= FV_LIMBS; j++)
        h[j] = _mm512_setzero_si512();
    for (int j = 0; j < FV_LIMBS; j++)
        HI(h[j], a[j], b);
    for (int j = 0; j < FV_LIMBS; j++)
        LO(t[j + 1], q, cuzk__ifma_set1(FV_(k).m[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(h[j + 1], q, cuzk__ifma_set1(FV_(k).m[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = _mm512_add_epi64(t[j + 1], h[j]);
    t[FV_LIMBS] = h[FV_LIMBS];
#else
    for (int j = 0; j < FV_LIMBS; j++)
        HI(t[j + 1], a[j], b);
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = t[j + 1];
    t[0] = _mm512_add_epi64(t[0], c);
    t[FV_LIMBS] = _mm512_setzero_si512();
    for (int j = 0; j < FV_LIMBS; j++)
        LO(t[j], q, cuzk__ifma_set1(FV_(k).m[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(t[j + 1], q, cuzk__ifma_set1(FV_(k).m[j]));
#endif
}

FV_INLINE void FV_(last_step)(__m512i t[FV_LIMBS + 1], const __m512i a[FV_LIMBS], __m512i b) {
    for (int j = 0; j < FV_LIMBS; j++)
        LO(t[j], a[j], b);
    __m512i q = _mm512_setzero_si512();
    LO(q, t[0], cuzk__ifma_set1(FV_(k).n0));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(t[j + 1], a[j], b);
    for (int j = 0; j < FV_LIMBS; j++)
        LO(t[j], q, cuzk__ifma_set1(FV_(k).p[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(t[j + 1], q, cuzk__ifma_set1(FV_(k).p[j]));
    const __m512i c = _mm512_srli_epi64(t[0], CUZK__IFMA_BITS);
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = t[j + 1];
    t[0] = _mm512_add_epi64(t[0], c);
}

/* t = a b / R raw, all limbs at least 0. */
FV_INLINE void FV_(mul_raw)(__m512i t[FV_LIMBS], const FV_(t) * a, const FV_(t) * b) {
    __m512i s[FV_LIMBS + 1];
    for (int j = 0; j <= FV_LIMBS; j++)
        s[j] = _mm512_setzero_si512();
    FV_(step)(s, a->l, b->l[0]);
    FV_(step)(s, a->l, b->l[1]);
    FV_(step)(s, a->l, b->l[2]);
    FV_(step)(s, a->l, b->l[3]);
#if FV_LIMBS == 8
    FV_(step)(s, a->l, b->l[4]);
    FV_(step)(s, a->l, b->l[5]);
    FV_(step)(s, a->l, b->l[6]);
#endif
    FV_(last_step)(s, a->l, b->l[FV_(TOP)]);
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = s[j];
}

/* One step of the reduction of a double-length number, of its column i. */
FV_INLINE void FV_(fold)(__m512i *c) {
    const __m512i q = c[0];
    c[1] = _mm512_add_epi64(c[1], _mm512_srai_epi64(q, CUZK__IFMA_BITS));
    for (int j = 0; j < FV_LIMBS; j++)
        LO(c[j + 1], q, cuzk__ifma_set1(FV_(k).m[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(c[j + 2], q, cuzk__ifma_set1(FV_(k).m[j]));
}

/* t = c / R raw for columns c of a double-length number; columns may have either sign. */
FV_INLINE void FV_(reduce)(__m512i t[FV_LIMBS], __m512i c[2 * FV_LIMBS + 1]) {
    FV_(fold)(c);
    FV_(fold)(c + 1);
    FV_(fold)(c + 2);
    FV_(fold)(c + 3);
#if FV_LIMBS == 8
    FV_(fold)(c + 4);
    FV_(fold)(c + 5);
    FV_(fold)(c + 6);
#endif
    __m512i q = _mm512_setzero_si512(), *d = c + FV_(TOP);
    LO(q, d[0], cuzk__ifma_set1(FV_(k).n0));
    for (int j = 0; j < FV_LIMBS; j++)
        LO(d[j], q, cuzk__ifma_set1(FV_(k).p[j]));
    for (int j = 0; j < FV_LIMBS; j++)
        HI(d[j + 1], q, cuzk__ifma_set1(FV_(k).p[j]));
    d[1] = _mm512_add_epi64(d[1], _mm512_srai_epi64(d[0], CUZK__IFMA_BITS));
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = d[j + 1];
}

/* Columns of the double-length product a b. */
FV_INLINE void FV_(columns)(__m512i c[2 * FV_LIMBS + 1], const FV_(t) * a, const FV_(t) * b) {
    for (int j = 0; j <= 2 * FV_LIMBS; j++)
        c[j] = _mm512_setzero_si512();
#define FV_ROW(i)                                                                                  \
    for (int j = 0; j < FV_LIMBS; j++)                                                             \
        LO(c[i + j], a->l[j], b->l[i]);                                                            \
    for (int j = 0; j < FV_LIMBS; j++)                                                             \
    HI(c[i + j + 1], a->l[j], b->l[i])
    FV_ROW(0);
    FV_ROW(1);
    FV_ROW(2);
    FV_ROW(3);
    FV_ROW(4);
#if FV_LIMBS == 8
    FV_ROW(5);
    FV_ROW(6);
    FV_ROW(7);
#endif
#undef FV_ROW
}

/* Products of different limbs once, doubled, then the squares of limbs. */
FV_INLINE void FV_(sqr_raw)(__m512i t[FV_LIMBS], const FV_(t) * a) {
    __m512i c[2 * FV_LIMBS + 1];
    for (int j = 0; j <= 2 * FV_LIMBS; j++)
        c[j] = _mm512_setzero_si512();
#define FV_CROSS(i, j) LO(c[i + j], a->l[i], a->l[j]), HI(c[i + j + 1], a->l[i], a->l[j])
    FV_CROSS(0, 1), FV_CROSS(0, 2), FV_CROSS(0, 3), FV_CROSS(0, 4);
    FV_CROSS(1, 2), FV_CROSS(1, 3), FV_CROSS(1, 4);
    FV_CROSS(2, 3), FV_CROSS(2, 4);
    FV_CROSS(3, 4);
#if FV_LIMBS == 8
    FV_CROSS(0, 5), FV_CROSS(0, 6), FV_CROSS(0, 7);
    FV_CROSS(1, 5), FV_CROSS(1, 6), FV_CROSS(1, 7);
    FV_CROSS(2, 5), FV_CROSS(2, 6), FV_CROSS(2, 7);
    FV_CROSS(3, 5), FV_CROSS(3, 6), FV_CROSS(3, 7);
    FV_CROSS(4, 5), FV_CROSS(4, 6), FV_CROSS(4, 7);
    FV_CROSS(5, 6), FV_CROSS(5, 7);
    FV_CROSS(6, 7);
#endif
#undef FV_CROSS
    for (int j = 1; j < 2 * FV_LIMBS - 1; j++)
        c[j] = _mm512_add_epi64(c[j], c[j]);
    for (int j = 0; j < FV_LIMBS; j++) {
        LO(c[2 * j], a->l[j], a->l[j]);
        HI(c[2 * j + 1], a->l[j], a->l[j]);
    }
    FV_(reduce)(t, c);
}

#undef LO
#undef HI

FV_INLINE void FV_(mul)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    __m512i t[FV_LIMBS];
    FV_(mul_raw)(t, a, b);
    FV_(carry)(r, t);
}

FV_INLINE void FV_(sqr)(FV_(t) * r, const FV_(t) * a) {
    __m512i t[FV_LIMBS];
    FV_(sqr_raw)(t, a);
    FV_(carry)(r, t);
}

/* ---- sums -------------------------------------------------------------------------------- */

FV_INLINE void FV_(sub_raw)(__m512i t[FV_LIMBS], const FV_(t) * a, const FV_(t) * b) {
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = _mm512_sub_epi64(a->l[j], b->l[j]);
}

/* r = a - b + k p, for near a and b and k of 3 or more. */
FV_INLINE void FV_(sub)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b, int k) {
    __m512i t[FV_LIMBS];
    FV_(sub_raw)(t, a, b);
    FV_(add_multiple)(t, k);
    FV_(carry)(r, t);
}

/* r = a - b + 5p, a negated where the mask says so, for near a and b. */
FV_INLINE void FV_(sub_signed)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b, __mmask8 minus) {
    __m512i t[FV_LIMBS];
    for (int j = 0; j < FV_LIMBS; j++) {
        const __m512i s = _mm512_mask_sub_epi64(a->l[j], minus, _mm512_setzero_si512(), a->l[j]);
        t[j] = _mm512_sub_epi64(s, b->l[j]);
    }
    FV_(add_multiple)(t, 5);
    FV_(carry)(r, t);
}

/* r = (a - b + 3p) 2^SHIFT, for near a and b. */
FV_INLINE void FV_(sub_shift)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    __m512i t[FV_LIMBS];
    FV_(sub_raw)(t, a, b);
    FV_(add_multiple)(t, 3);
#if FV_LIMBS == 5
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = _mm512_slli_epi64(t[j], FV_(SHIFT));
    FV_(carry)(r, t);
#else
    FV_(t) d;
    FV_(carry)(&d, t);
    r->l[0] = cuzk__ifma_low(_mm512_slli_epi64(d.l[0], FV_(SHIFT)));
    for (int j = 1; j < FV_LIMBS; j++)
        r->l[j] = cuzk__ifma_join_low(_mm512_srli_epi64(d.l[j - 1], CUZK__IFMA_BITS - FV_(SHIFT)),
                                      _mm512_slli_epi64(d.l[j], FV_(SHIFT)));
#endif
}

/* r = t - b - 2c + 3p, near, for a raw product t, near c and b + c - 3p. */
FV_INLINE void FV_(minus_sum)(FV_(t) * r, __m512i t[FV_LIMBS], const FV_(t) * b, const FV_(t) * c) {
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] =
            _mm512_sub_epi64(_mm512_sub_epi64(t[j], b->l[j]), _mm512_add_epi64(c->l[j], c->l[j]));
    FV_(add_multiple)(t, 3);
    FV_(near)(r, t);
}

/* r = t - c, near, for a raw product t and near c. */
FV_INLINE void FV_(minus)(FV_(t) * r, __m512i t[FV_LIMBS], const FV_(t) * c) {
    for (int j = 0; j < FV_LIMBS; j++)
        t[j] = _mm512_sub_epi64(t[j], c->l[j]);
    FV_(near)(r, t);
}

/* r = a^2 / R - b - 2c + 3p. */
FV_INLINE void FV_(sqr_sub2)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b, const FV_(t) * c) {
    __m512i t[FV_LIMBS];
    FV_(sqr_raw)(t, a);
    FV_(minus_sum)(r, t, b, c);
}

/* r = a b / R - c. */
FV_INLINE void FV_(mul_sub)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b, const FV_(t) * c) {
    __m512i t[FV_LIMBS];
    FV_(mul_raw)(t, a, b);
    FV_(minus)(r, t, c);
}

/* Bit i is set when lane i is 0 mod p, for normal numbers below 6p. */
FV_INLINE unsigned FV_(zero_mask)(const FV_(t) * a) {
    unsigned mask = 0;
    for (int k = 0; k < 6; k++) {
        __m512i any = _mm512_setzero_si512();
        for (int j = 0; j < FV_LIMBS; j++)
            any = _mm512_or_si512(
                any, _mm512_xor_si512(a->l[j], cuzk__ifma_set1(FV_(k).multiples[k][j])));
        mask |= _mm512_testn_epi64_mask(any, any);
    }
    return mask;
}

/* ---- words ------------------------------------------------------------------------------- */

/* Vectors of words, one for each, to limbs and back. */
FV_INLINE void FV_(from_words)(FV_(t) * r, const __m512i w[FV_(WORDS)]) {
#define FV_ACROSS(lo, right, hi, left)                                                             \
    cuzk__ifma_join_low(_mm512_srli_epi64(lo, right), _mm512_slli_epi64(hi, left))
    r->l[0] = cuzk__ifma_low(w[0]);
    r->l[1] = FV_ACROSS(w[0], 52, w[1], 12);
    r->l[2] = FV_ACROSS(w[1], 40, w[2], 24);
    r->l[3] = FV_ACROSS(w[2], 28, w[3], 36);
#if FV_LIMBS == 5
    r->l[4] = _mm512_srli_epi64(w[3], 16);
#else
    r->l[4] = FV_ACROSS(w[3], 16, w[4], 48);
    r->l[5] = cuzk__ifma_low(_mm512_srli_epi64(w[4], 4));
    r->l[6] = FV_ACROSS(w[4], 56, w[5], 8);
    r->l[7] = _mm512_srli_epi64(w[5], 44);
#endif
#undef FV_ACROSS
}

/* ---- stored elements --------------------------------------------------------------------- */

#if FV_LIMBS == 5

/* Four words: two elements make a line, as in the files. */
typedef struct FV_(st_t) {
    uint64_t l[4];
} FV_(st_t);

/* The elements at p[l] and behind it to lanes l of a and b; any alignment. */
FV_INLINE void FV_(load_pair_file)(FV_(t) * a, FV_(t) * b, const uint8_t *const p[8]) {
    __m512i r[8];
    for (int i = 0; i < 8; i++)
        r[i] = _mm512_loadu_si512(p[i]);
    cuzk__ifma_transpose8(r);
    FV_(from_words)(a, r);
    FV_(from_words)(b, r + 4);
}

FV_INLINE void FV_(load_pair)(FV_(t) * a, FV_(t) * b, const uint8_t *const p[8]) {
    FV_(load_pair_file)(a, b, p);
}

FV_INLINE void FV_(to_words)(__m512i w[4], const FV_(t) * a) {
#define FV_BOTH(x, right, y, left)                                                                 \
    _mm512_or_si512(_mm512_srli_epi64(x, right), _mm512_slli_epi64(y, left))
    w[0] = _mm512_or_si512(a->l[0], _mm512_slli_epi64(a->l[1], 52));
    w[1] = FV_BOTH(a->l[1], 12, a->l[2], 40);
    w[2] = FV_BOTH(a->l[2], 24, a->l[3], 28);
    w[3] = FV_BOTH(a->l[3], 36, a->l[4], 16);
#undef FV_BOTH
}

/* Near elements to aligned pairs. */
FV_INLINE void FV_(store_pair)(uint8_t *const p[8], const FV_(t) * a, const FV_(t) * b) {
    __m512i r[8];
    FV_(to_words)(r, a);
    FV_(to_words)(r + 4, b);
    cuzk__ifma_transpose8(r);
    for (int i = 0; i < 8; i++)
        _mm512_store_si512(p[i], r[i]);
}

/* A pair from the files' form to that of load_pair, negated where `minus_` is 1 and not 0. */
FV_INLINE void FV_(copy_pair)(uint8_t *to, const uint8_t *from, unsigned minus_a,
                              unsigned minus_b) {
    static const uint64_t modulus[4] = FV_MODULUS;
    const __m512i w = _mm512_loadu_si512(from);
    const __m512i p = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)modulus));
    /* Words that borrow, and those that pass a borrow on; none leaves an element's last word. */
    const unsigned above = _mm512_cmpgt_epu64_mask(w, p) & 0x77;
    const unsigned equal = _mm512_cmpeq_epu64_mask(w, p) & 0x77;
    const __mmask8 lend = (__mmask8)(equal ^ (equal + (above << 1)));
    __m512i d = _mm512_sub_epi64(p, w);
    d = _mm512_mask_sub_epi64(d, lend, d, _mm512_set1_epi64(1));
    const __mmask8 minus = (__mmask8)(minus_a * 0x0f | minus_b * 0xf0);
    _mm512_store_si512(to, _mm512_mask_mov_epi64(w, minus, d));
}

static inline void FV_(to_limbs)(FV_(st_t) * r, const FE_(t) * a) {
    __builtin_memcpy(r, a, sizeof *r);
}
static inline void FV_(from_limbs)(FE_(t) * r, const FV_(st_t) * a) {
    __builtin_memcpy(r, a, sizeof *r);
}

/* Canonical elements to the files' form, n of the eight; any alignment. */
FV_INLINE void FV_(store_pair_file)(uint8_t *const p[8], unsigned n, const FV_(t) * a,
                                    const FV_(t) * b) {
    __m512i r[8];
    FV_(to_words)(r, a);
    FV_(to_words)(r + 4, b);
    cuzk__ifma_transpose8(r);
    for (unsigned i = 0; i < n; i++)
        _mm512_storeu_si512(p[i], r[i]);
}

#else

/* Eight limbs: a line. They need not be normal: sums of raw numbers are as well off. */
typedef struct FV_(st_t) {
    uint64_t l[8];
} FV_(st_t);

FV_INLINE void FV_(load_pair_file)(FV_(t) * a, FV_(t) * b, const uint8_t *const p[8]) {
    __m512i r[8];
    for (int i = 0; i < 8; i++)
        r[i] = _mm512_loadu_si512(p[i]);
    cuzk__ifma_transpose8(r);
    FV_(from_words)(a, r);
    for (int i = 0; i < 8; i++)
        r[i] = _mm512_loadu_si512(p[i] + 32);
    cuzk__ifma_transpose8(r);
    FV_(from_words)(b, r + 2);
}

FV_INLINE void FV_(load_one)(FV_(t) * a, const uint8_t *const p[8], int at) {
    for (int i = 0; i < 8; i++)
        a->l[i] = _mm512_load_si512(p[i] + at);
    cuzk__ifma_transpose8(a->l);
}

FV_INLINE void FV_(load_pair)(FV_(t) * a, FV_(t) * b, const uint8_t *const p[8]) {
    FV_(load_one)(a, p, 0);
    FV_(load_one)(b, p, 64);
}

FV_INLINE void FV_(store_one)(uint8_t *const p[8], const FV_(t) * a, int at) {
    __m512i r[8];
    for (int i = 0; i < 8; i++)
        r[i] = a->l[i];
    cuzk__ifma_transpose8(r);
    for (int i = 0; i < 8; i++)
        _mm512_store_si512(p[i] + at, r[i]);
}

FV_INLINE void FV_(store_pair)(uint8_t *const p[8], const FV_(t) * a, const FV_(t) * b) {
    FV_(store_one)(p, a, 0);
    FV_(store_one)(p, b, 64);
}

FV_INLINE void FV_(store_one_file)(uint8_t *const p[8], unsigned n, const FV_(t) * a, int at) {
    const __m512i *l = a->l;
    __m512i r[8] = {
        _mm512_or_si512(l[0], _mm512_slli_epi64(l[1], 52)),
        _mm512_or_si512(_mm512_srli_epi64(l[1], 12), _mm512_slli_epi64(l[2], 40)),
        _mm512_or_si512(_mm512_srli_epi64(l[2], 24), _mm512_slli_epi64(l[3], 28)),
        _mm512_or_si512(_mm512_srli_epi64(l[3], 36), _mm512_slli_epi64(l[4], 16)),
        _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi64(l[4], 48), _mm512_slli_epi64(l[5], 4)),
                        _mm512_slli_epi64(l[6], 56)),
        _mm512_or_si512(_mm512_srli_epi64(l[6], 8), _mm512_slli_epi64(l[7], 44)),
        _mm512_setzero_si512(),
        _mm512_setzero_si512(),
    };
    cuzk__ifma_transpose8(r);
    for (unsigned i = 0; i < n; i++)
        _mm512_mask_storeu_epi64(p[i] + at, 0x3f, r[i]);
}

/* Canonical elements to the files' form, n of the eight; any alignment. */
FV_INLINE void FV_(store_pair_file)(uint8_t *const p[8], unsigned n, const FV_(t) * a,
                                    const FV_(t) * b) {
    FV_(store_one_file)(p, n, a, 0);
    FV_(store_one_file)(p, n, b, 48);
}

/* One element's words in a vector to its limbs. */
FV_INLINE __m512i FV_(words_to_limbs)(__m512i w) {
    const __m512i at = _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 4, 5);
    const __m512i next = _mm512_setr_epi64(0, 1, 2, 3, 4, 4, 5, 5);
    const __m512i right = _mm512_setr_epi64(0, 52, 40, 28, 16, 4, 56, 44);
    const __m512i left = _mm512_setr_epi64(64, 12, 24, 36, 48, 64, 8, 64);
    return cuzk__ifma_join_low(_mm512_srlv_epi64(_mm512_permutexvar_epi64(at, w), right),
                               _mm512_sllv_epi64(_mm512_permutexvar_epi64(next, w), left));
}

/* A pair from the files' form to that of load_pair, negated where `minus_` is 1 and not 0. */
FV_INLINE void FV_(copy_pair)(uint8_t *to, const uint8_t *from, unsigned minus_a,
                              unsigned minus_b) {
    const __m512i p = _mm512_loadu_si512(FV_(k).p);
    const __m512i second = _mm512_setr_epi64(2, 3, 4, 5, 6, 7, 6, 7);
    __m512i a = FV_(words_to_limbs)(_mm512_loadu_si512(from));
    __m512i b =
        FV_(words_to_limbs)(_mm512_permutexvar_epi64(second, _mm512_loadu_si512(from + 32)));
    a = _mm512_mask_sub_epi64(a, (__mmask8)-minus_a, p, a);
    b = _mm512_mask_sub_epi64(b, (__mmask8)-minus_b, p, b);
    _mm512_store_si512(to, a);
    _mm512_store_si512(to + 64, b);
}

static inline void FV_(to_limbs)(FV_(st_t) * r, const FE_(t) * a) {
    const uint64_t *w = a->l;
    r->l[0] = w[0] & cuzk__ifma_mask;
    r->l[1] = (w[0] >> 52 | w[1] << 12) & cuzk__ifma_mask;
    r->l[2] = (w[1] >> 40 | w[2] << 24) & cuzk__ifma_mask;
    r->l[3] = (w[2] >> 28 | w[3] << 36) & cuzk__ifma_mask;
    r->l[4] = (w[3] >> 16 | w[4] << 48) & cuzk__ifma_mask;
    r->l[5] = w[4] >> 4 & cuzk__ifma_mask;
    r->l[6] = (w[4] >> 56 | w[5] << 8) & cuzk__ifma_mask;
    r->l[7] = w[5] >> 44;
}
static inline void FV_(from_limbs)(FE_(t) * r, const FV_(st_t) * a) {
    uint64_t l[8];
    int64_t carry = 0;
    for (int j = 0; j < 8; j++) {
        carry += (int64_t)a->l[j];
        l[j] = j < 7 ? (uint64_t)carry & cuzk__ifma_mask : (uint64_t)carry;
        carry >>= CUZK__IFMA_BITS;
    }
    r->l[0] = l[0] | l[1] << 52;
    r->l[1] = l[1] >> 12 | l[2] << 40;
    r->l[2] = l[2] >> 24 | l[3] << 28;
    r->l[3] = l[3] >> 36 | l[4] << 16;
    r->l[4] = l[4] >> 48 | l[5] << 4 | l[6] << 56;
    r->l[5] = l[6] >> 8 | l[7] << 44;
}

#endif

/* From near to below p. */
FV_INLINE void FV_(canonical)(FV_(t) * r, const FV_(t) * a) {
    *r = *a;
    for (int twice = 0; twice < 2; twice++) {
        __m512i t[FV_LIMBS];
        FV_(t) d;
        for (int j = 0; j < FV_LIMBS; j++)
            t[j] = _mm512_sub_epi64(r->l[j], cuzk__ifma_set1(FV_(k).p[j]));
        FV_(carry)(&d, t);
        const __mmask8 less = _mm512_movepi64_mask(d.l[FV_(TOP)]);
        for (int j = 0; j < FV_LIMBS; j++)
            r->l[j] = _mm512_mask_mov_epi64(d.l[j], less, r->l[j]);
    }
}

/* Bit i is set when all limbs of lane i are 0. */
FV_INLINE unsigned FV_(all_zero)(const FV_(t) * a) {
    __m512i any = a->l[0];
    for (int j = 1; j < FV_LIMBS; j++)
        any = _mm512_or_si512(any, a->l[j]);
    return _mm512_testn_epi64_mask(any, any);
}

/* Points over this field. */
FV_INLINE void FV_(load_point_file)(FV_(t) * x, FV_(t) * y, const uint8_t *const p[8]) {
    FV_(load_pair_file)(x, y, p);
}
FV_INLINE void FV_(load_point)(FV_(t) * x, FV_(t) * y, const uint8_t *const p[8]) {
    FV_(load_pair)(x, y, p);
}
FV_INLINE void FV_(store_point)(uint8_t *const p[8], const FV_(t) * x, const FV_(t) * y) {
    FV_(store_pair)(p, x, y);
}
/* Near coordinates of n points to the files' form. */
FV_INLINE void FV_(store_point_file)(uint8_t *const p[8], unsigned n, const FV_(t) * x,
                                     const FV_(t) * y) {
    FV_(t) a, b;
    FV_(canonical)(&a, x);
    FV_(canonical)(&b, y);
    FV_(store_pair_file)(p, n, &a, &b);
}
FV_INLINE void FV_(copy_point)(uint8_t *to, const uint8_t *from, unsigned minus) {
    FV_(copy_pair)(to, from, 0, minus);
}

/* Stored elements are below 2.33 p; as numbers they are the files' Montgomery form. */
static inline void FV_(to_mont)(FE_(t) * r, const FV_(st_t) * a) {
    static const FE_(t) p = {FV_MODULUS};
    FV_(from_limbs)(r, a);
    while (!FE_(is_canonical)(r)) {
        uint64_t borrow = 0;
        for (int i = 0; i < FV_(WORDS); i++)
            borrow = cuzk_subb(&r->l[i], r->l[i], p.l[i], borrow);
    }
}
static inline void FV_(from_mont)(FV_(st_t) * r, const FE_(t) * a) {
    FV_(to_limbs)(r, a);
}

/* Lane 0 of a normal number below 2^(64 words), canonical. */
static inline void FV_(first)(FE_(t) * r, const FV_(t) * a) {
    FV_(st_t) s;
#if FV_LIMBS == 5
    __m512i w[4];
    FV_(to_words)(w, a);
    for (int i = 0; i < 4; i++)
        s.l[i] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(w[i]));
#else
    for (int i = 0; i < 8; i++)
        s.l[i] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(a->l[i]));
#endif
    FV_(to_mont)(r, &s);
}

/* The same element in every lane. */
static inline void FV_(set)(FV_(t) * r, const FE_(t) * a) {
    __m512i w[FV_(WORDS)];
    for (int i = 0; i < FV_(WORDS); i++)
        w[i] = cuzk__ifma_set1(a->l[i]);
    FV_(from_words)(r, w);
}

/* In every lane: K / x from the files' inverse 1 / x, that is F^2 / x for the number x, where
 * K = F R 2^SHIFT. */
static inline void FV_(set_inverse)(FV_(t) * r, const FE_(t) * a) {
    FE_(t) t;
    __builtin_memcpy(&t, FV_(k).inv_scale, sizeof t);
    FE_(mul)(&t, &t, a);
    FV_(set)(r, &t);
}

/* Lanes exchanged over distance 1, 2 or 4. */
FV_INLINE void FV_(swap1)(FV_(t) * r, const FV_(t) * a) {
    for (int j = 0; j < FV_LIMBS; j++)
        r->l[j] = _mm512_permutex_epi64(a->l[j], 0xb1);
}
FV_INLINE void FV_(swap2)(FV_(t) * r, const FV_(t) * a) {
    for (int j = 0; j < FV_LIMBS; j++)
        r->l[j] = _mm512_permutex_epi64(a->l[j], 0x4e);
}
FV_INLINE void FV_(swap4)(FV_(t) * r, const FV_(t) * a) {
    for (int j = 0; j < FV_LIMBS; j++)
        r->l[j] = _mm512_shuffle_i64x2(a->l[j], a->l[j], 0x4e);
}

#undef FV_INLINE
#undef FV_GLUE
#undef FV_GLUE2
#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
#undef FV_LIMBS
#undef FV_BITS
#undef FV_MODULUS
#undef FV_CONSTS
