/* A batch of eight elements of a 4-limb prime field with AVX-512 IFMA: include-template for linear
 * work (the transforms). Five limbs of 52 bits, lane l of every limb vector belonging to element l.
 * See ifma.h for where this may be compiled and run.
 *
 * Parameters: FV (prefix to generate), FV_FE (prefix of the field), FV_CONSTS (brace list of a
 * cuzk__ifma5). Generates those names of vec_scalar.inl.h that transforms use.
 *
 * Form. R = 2^260, p < 2^255 the modulus, 32p < R. Stored elements are canonical, Montgomery with
 * this R, in four 64-bit words. A batch has limbs below 2^52 and values that need not be
 * canonical: "loose" is below 12p + 2^212, "reduced" below 6p + 2^245.
 *
 * Product by a prepared factor w < p. Every limb y_i of the other operand has a multiple of its
 * own, w_i = w 2^(52 (i + 1)) mod p, so that T = sum of y_i w_i = 2^52 y w modulo p is only one
 * limb longer than p, below 5 2^52 p: one step of Montgomery's reduction, (T + q p) / 2^52 with q <
 * 2^52, leaves less than 6p for any y < R. That takes 60 multiply-adds, where a quotient for the
 * whole of y (Shoup; Harvey, Faster arithmetic for number-theoretic transforms, 2014) takes 84 or
 * so. The product of q and p's lowest limb is not computed: it only rounds the lowest column up.
 * Results are left with their carries ("raw").
 *
 * Product by an element b < p. The ten columns of a b are split at the fifth: with the limbs T_j of
 * the lower ones, 2^52 a b / R = 2^52 (the upper ones) + T_4 + sum of T_j 2^(52 (j - 4)) modulo p
 * for j < 4, whose factors are constants, and a last step as above: below p + (4 2^52 p + 2^52 p) /
 * 2^52 <= 6p for any a < R. As many multiply-adds (100) as five steps one after the other, with a
 * chain half as long.
 *
 * ct takes loose x and y (y of any size where the factor is a prepared one): one conditional
 * subtraction leaves x <= 6p + 2^212, and x + y w as well as x - y w + 6p are loose. gs takes
 * reduced x and y: of their sum 6p is subtracted where its top limb says that it is above; a sum
 * that is not found to be above is below 6p + 2^210, and an excess e over 6p of both inputs grows
 * to 2e at most, so 32 levels after a load or a product (e < 2^212) it is below 2^245. x - y + 7p
 * is a factor below 14p. */

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)
#define FV_INLINE CUZK__IFMA_INLINE

enum { FV_(LANES) = 8 };
typedef struct FV_(t) {
    __m512i l[5];
} FV_(t);
typedef FE_(t) FV_(st_t);
typedef struct FV_(tw_t) {
    uint64_t w[5][5]; /* [i]: w 2^(52 (i + 1)) mod p */
} FV_(tw_t);

static const cuzk__ifma5 FV_(k) = FV_CONSTS;

/* Carries between the limbs of a number below R whose limbs are signed. */
FV_INLINE void FV_(carry)(FV_(t) * r, const __m512i t[5]) {
    __m512i c = t[0];
    for (int j = 0; j < 4; j++) {
        r->l[j] = cuzk__ifma_low(c);
        c = _mm512_add_epi64(t[j + 1], _mm512_srai_epi64(c, CUZK__IFMA_BITS));
    }
    r->l[4] = cuzk__ifma_low(c);
}

FV_INLINE void FV_(add_const)(__m512i t[5], const uint64_t c[5]) {
    for (int j = 0; j < 5; j++)
        t[j] = _mm512_add_epi64(t[j], cuzk__ifma_set1(c[j]));
}

/* t - c in the lanes whose top limb is above c's. */
FV_INLINE void FV_(csub)(__m512i t[5], const uint64_t c[5]) {
    const __mmask8 above = _mm512_cmpgt_epu64_mask(t[4], cuzk__ifma_set1(c[4]));
    for (int j = 0; j < 5; j++)
        t[j] = _mm512_mask_sub_epi64(t[j], above, t[j], cuzk__ifma_set1(c[j]));
}

#define LO(acc, a, b) acc = _mm512_madd52lo_epu64(acc, a, b)
#define HI(acc, a, b) acc = _mm512_madd52hi_epu64(acc, a, b)

/* The lowest of the six columns of T. */
FV_INLINE void FV_(low_column)(__m512i *t, const __m512i y[5], const FV_(tw_t) * f) {
    LO(*t, y[0], cuzk__ifma_set1(f->w[0][0]));
    LO(*t, y[1], cuzk__ifma_set1(f->w[1][0]));
    LO(*t, y[2], cuzk__ifma_set1(f->w[2][0]));
    LO(*t, y[3], cuzk__ifma_set1(f->w[3][0]));
    LO(*t, y[4], cuzk__ifma_set1(f->w[4][0]));
}

/* One y_i w_i in the columns above: low halves to l[1..4], high ones to h[1..5]. */
FV_INLINE void FV_(limb_row)(__m512i l[5], __m512i h[6], __m512i y, const uint64_t w[5]) {
    const __m512i w0 = cuzk__ifma_set1(w[0]), w1 = cuzk__ifma_set1(w[1]);
    const __m512i w2 = cuzk__ifma_set1(w[2]), w3 = cuzk__ifma_set1(w[3]);
    const __m512i w4 = cuzk__ifma_set1(w[4]);
    HI(h[1], y, w0), LO(l[1], y, w1), HI(h[2], y, w1), LO(l[2], y, w2), HI(h[3], y, w2);
    LO(l[3], y, w3), HI(h[4], y, w3), LO(l[4], y, w4), HI(h[5], y, w4);
}

FV_INLINE void FV_(high_columns)(__m512i l[5], __m512i h[6], const __m512i y[5],
                                 const FV_(tw_t) * f) {
    FV_(limb_row)(l, h, y[0], f->w[0]);
    FV_(limb_row)(l, h, y[1], f->w[1]);
    FV_(limb_row)(l, h, y[2], f->w[2]);
    FV_(limb_row)(l, h, y[3], f->w[3]);
    FV_(limb_row)(l, h, y[4], f->w[4]);
}

/* What makes T divisible by 2^52 when so many times p are added: 52 bits of it count. */
FV_INLINE __m512i FV_(quotient)(__m512i low) {
    return _mm512_madd52lo_epu64(_mm512_setzero_si512(), low, cuzk__ifma_set1(FV_(k).n0));
}

/* t = (T + q p) / 2^52 raw, T in columns as above, of which l may be t. */
FV_INLINE void FV_(fold)(__m512i t[5], __m512i l[5], __m512i h[6], __m512i q) {
    const __m512i up = _mm512_add_epi64(l[0], cuzk__ifma_set1(cuzk__ifma_mask));
    HI(h[1], q, cuzk__ifma_set1(FV_(k).p[0]));
    for (int j = 1; j < 5; j++) {
        LO(l[j], q, cuzk__ifma_set1(FV_(k).p[j]));
        HI(h[j + 1], q, cuzk__ifma_set1(FV_(k).p[j]));
    }
    for (int j = 1; j < 5; j++)
        t[j - 1] = _mm512_add_epi64(l[j], h[j]);
    t[0] = _mm512_add_epi64(t[0], _mm512_srli_epi64(up, CUZK__IFMA_BITS));
    t[4] = h[5];
}

/* t = y w raw, below 6p. */
FV_INLINE void FV_(mul_raw)(__m512i t[5], const FV_(t) * y, const FV_(tw_t) * f) {
    __m512i l[5], h[6];
    for (int j = 0; j < 5; j++)
        l[j] = h[j + 1] = _mm512_setzero_si512();
    FV_(low_column)(&l[0], y->l, f);
    const __m512i q = FV_(quotient)(l[0]);
    FV_(high_columns)(l, h, y->l, f);
    FV_(fold)(t, l, h, q);
}

/* The ten columns of a b: low halves in l[0..8], high ones in h[1..9]. Those below the fifth come
 * out as limbs, of which a multiplier reads 52 bits. */
FV_INLINE void FV_(mul_wide)(__m512i l[10], __m512i h[10], const __m512i a[5], const __m512i b[5]) {
    for (int j = 0; j < 10; j++)
        l[j] = h[j] = _mm512_setzero_si512();
#define PRODUCT(i, j) LO(l[(i) + (j)], a[i], b[j]), HI(h[(i) + (j) + 1], a[i], b[j])
    PRODUCT(0, 0), PRODUCT(0, 1), PRODUCT(1, 0), PRODUCT(0, 2), PRODUCT(1, 1), PRODUCT(2, 0);
    PRODUCT(0, 3), PRODUCT(1, 2), PRODUCT(2, 1), PRODUCT(3, 0);
    PRODUCT(0, 4), PRODUCT(1, 3), PRODUCT(2, 2), PRODUCT(3, 1), PRODUCT(4, 0);
    for (int j = 1; j < 5; j++)
        l[j] = _mm512_add_epi64(_mm512_add_epi64(l[j], h[j]),
                                _mm512_srli_epi64(l[j - 1], CUZK__IFMA_BITS));
    PRODUCT(1, 4), PRODUCT(2, 3), PRODUCT(3, 2), PRODUCT(4, 1);
    PRODUCT(2, 4), PRODUCT(3, 3), PRODUCT(4, 2), PRODUCT(3, 4), PRODUCT(4, 3), PRODUCT(4, 4);
#undef PRODUCT
}

/* t = a b / R raw, below 6p; a anything, b canonical. */
FV_INLINE void FV_(mul_each_raw)(__m512i t[5], const FV_(t) * a, const FV_(t) * b) {
    __m512i l[10], h[10];
    FV_(mul_wide)(l, h, a->l, b->l);
    const __m512i up = _mm512_srli_epi64(l[4], CUZK__IFMA_BITS);
    l[4] = cuzk__ifma_low(l[4]);
    for (int j = 0; j < 4; j++)
        LO(l[4], l[j], cuzk__ifma_set1(FV_(k).down[j][0]));
    const __m512i q = FV_(quotient)(l[4]);
    FV_(limb_row)(l + 4, h + 4, l[0], FV_(k).down[0]);
    FV_(limb_row)(l + 4, h + 4, l[1], FV_(k).down[1]);
    FV_(limb_row)(l + 4, h + 4, l[2], FV_(k).down[2]);
    FV_(limb_row)(l + 4, h + 4, l[3], FV_(k).down[3]);
    FV_(fold)(t, l + 4, h + 4, q);
    t[0] = _mm512_add_epi64(t[0], up);
}

#undef LO
#undef HI

FV_INLINE void FV_(mul)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    __m512i t[5];
    FV_(mul_each_raw)(t, a, b);
    FV_(carry)(r, t);
}

FV_INLINE void FV_(mul_tw)(FV_(t) * r, const FV_(t) * a, const FV_(tw_t) * w) {
    __m512i t[5];
    FV_(mul_raw)(t, a, w);
    FV_(carry)(r, t);
}

/* *r = a / 2^k mod p for 7 <= k < 52: the multiple of p below 2^k p that makes a divisible is
 * added. Below p + R / 2^k, 1.7 p at most. */
FV_INLINE void FV_(halve)(FV_(t) * r, const FV_(t) * a, unsigned k) {
    const __m128i right = _mm_cvtsi32_si128((int)k),
                  left = _mm_cvtsi32_si128((int)(CUZK__IFMA_BITS - k));
    const __m512i zero = _mm512_setzero_si512();
    const __m512i q =
        _mm512_and_si512(_mm512_madd52lo_epu64(zero, a->l[0], cuzk__ifma_set1(FV_(k).n0)),
                         cuzk__ifma_set1(((uint64_t)1 << k) - 1));
    const __m512i high = _mm512_madd52hi_epu64(zero, q, cuzk__ifma_set1(FV_(k).p[4]));
    __m512i t[5];
    for (int j = 0; j < 5; j++)
        t[j] = _mm512_madd52lo_epu64(a->l[j], q, cuzk__ifma_set1(FV_(k).p[j]));
    for (int j = 1; j < 5; j++)
        t[j] = _mm512_madd52hi_epu64(t[j], q, cuzk__ifma_set1(FV_(k).p[j - 1]));
    __m512i low = t[0]; /* of which the lowest k bits are 0 */
    for (int j = 0; j < 5; j++) {
        const __m512i next =
            _mm512_add_epi64(j < 4 ? t[j + 1] : high, _mm512_srli_epi64(low, CUZK__IFMA_BITS));
        r->l[j] = cuzk__ifma_join_low(_mm512_srl_epi64(cuzk__ifma_low(low), right),
                                      _mm512_sll_epi64(next, left));
        low = next;
    }
}

/* ---- stored form, files ---- */

/* Eight numbers below 2^256, two in each of a[0..3]. */
FV_INLINE void FV_(from_words)(FV_(t) * r, const __m512i a[4]) {
    __m512i w[4];
    cuzk__ifma_split4(w, a);
    r->l[0] = cuzk__ifma_low(w[0]);
    r->l[1] =
        cuzk__ifma_low(_mm512_or_si512(_mm512_srli_epi64(w[0], 52), _mm512_slli_epi64(w[1], 12)));
    r->l[2] =
        cuzk__ifma_low(_mm512_or_si512(_mm512_srli_epi64(w[1], 40), _mm512_slli_epi64(w[2], 24)));
    r->l[3] =
        cuzk__ifma_low(_mm512_or_si512(_mm512_srli_epi64(w[2], 28), _mm512_slli_epi64(w[3], 36)));
    r->l[4] = _mm512_srli_epi64(w[3], 16);
}

FV_INLINE void FV_(load_lin)(FV_(t) * r, const void *mem) {
    __m512i a[4];
    for (int k = 0; k < 4; k++)
        a[k] = _mm512_loadu_si512((const char *)mem + 64 * k);
    FV_(from_words)(r, a);
}

FV_INLINE void FV_(load)(FV_(t) * r, const FV_(st_t) * p) {
    FV_(load_lin)(r, p);
}

FV_INLINE void FV_(gather)(FV_(t) * r, const FV_(st_t) *const p[8]) {
    __m512i a[4];
    for (int k = 0; k < 4; k++) {
        const __m256i even = _mm256_loadu_si256((const __m256i *)(const void *)p[2 * k]);
        const __m256i odd = _mm256_loadu_si256((const __m256i *)(const void *)p[2 * k + 1]);
        a[k] = _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
    }
    FV_(from_words)(r, a);
}

/* From below 14p to below p + 2^214: the multiple of p is estimated from the top limb v < 2^51 by
 * v floor(2^300 / p) / 2^92, which is v 2^208 / p less 2^-41 at most. */
FV_INLINE void FV_(near)(FV_(t) * r, const FV_(t) * a) {
    const __m512i k = _mm512_srli_epi64(
        _mm512_madd52hi_epu64(_mm512_setzero_si512(), a->l[4], cuzk__ifma_set1(FV_(k).est)), 40);
    __m512i t[5];
    for (int j = 0; j < 5; j++) {
        const uint64_t *m = FV_(k).multiples[j];
        t[j] = _mm512_sub_epi64(a->l[j], _mm512_permutex2var_epi64(_mm512_loadu_si512(m), k,
                                                                   _mm512_loadu_si512(m + 8)));
    }
    FV_(carry)(r, t);
}

FV_INLINE void FV_(to_words)(void *mem, const FV_(t) * a) {
    const __m512i *l = a->l;
    const __m512i w[4] = {
        _mm512_or_si512(l[0], _mm512_slli_epi64(l[1], 52)),
        _mm512_or_si512(_mm512_srli_epi64(l[1], 12), _mm512_slli_epi64(l[2], 40)),
        _mm512_or_si512(_mm512_srli_epi64(l[2], 24), _mm512_slli_epi64(l[3], 28)),
        _mm512_or_si512(_mm512_srli_epi64(l[3], 36), _mm512_slli_epi64(l[4], 16)),
    };
    __m512i out[4];
    cuzk__ifma_join4(out, w);
    for (int k = 0; k < 4; k++)
        _mm512_storeu_si512((char *)mem + 64 * k, out[k]);
}

FV_INLINE void FV_(store_raw)(void *mem, const FV_(t) * a) {
    FV_(t) r;
    FV_(near)(&r, a);
    FV_(to_words)(mem, &r);
}

/* p subtracted in the lanes that are p or more. */
static __attribute__((noinline, unused)) void FV_(csub_exact)(FV_(t) * r) {
    __m512i t[5];
    FV_(t) d;
    for (int j = 0; j < 5; j++)
        t[j] = _mm512_sub_epi64(r->l[j], cuzk__ifma_set1(FV_(k).p[j]));
    FV_(carry)(&d, t);
    /* a negative difference has wrapped around R */
    const __mmask8 less = _mm512_cmpgt_epu64_mask(d.l[4], cuzk__ifma_set1(cuzk__ifma_mask >> 1));
    for (int j = 0; j < 5; j++)
        r->l[j] = _mm512_mask_mov_epi64(d.l[j], less, r->l[j]);
}

FV_INLINE void FV_(store_lin)(void *mem, const FV_(t) * a) {
    FV_(t) r;
    FV_(near)(&r, a);
    /* Rare, as only few values have p's top limb or a larger one. */
    if (_mm512_cmpge_epu64_mask(r.l[4], cuzk__ifma_set1(FV_(k).p[4]))) FV_(csub_exact)(&r);
    FV_(to_words)(mem, &r);
}

/* R is 2^4 times the files' R. */
FV_INLINE void FV_(times_16)(FE_(t) * r, const void *mont) {
    __builtin_memcpy(r, mont, sizeof *r);
    for (int i = 0; i < 4; i++)
        FE_(dbl)(r, r);
}

FV_INLINE void FV_(from_mont)(FV_(st_t) * r, const void *mont) {
    FV_(times_16)(r, mont);
}

/* ---- prepared factors ---- */

static inline void FV_(cut)(uint64_t out[5], const FE_(t) * a) {
    const uint64_t *w = a->l;
    out[0] = w[0] & cuzk__ifma_mask;
    out[1] = (w[0] >> 52 | w[1] << 12) & cuzk__ifma_mask;
    out[2] = (w[1] >> 40 | w[2] << 24) & cuzk__ifma_mask;
    out[3] = (w[2] >> 28 | w[3] << 36) & cuzk__ifma_mask;
    out[4] = w[3] >> 16;
}

/* r = a / 2^52 mod p: a + q p < 2^52 p for a < p, so that the quotient is canonical. */
static inline void FV_(shift_down)(uint64_t r[5], const uint64_t a[5]) {
    const uint64_t q = a[0] * FV_(k).n0 & cuzk__ifma_mask;
    unsigned __int128 acc = a[0] + (unsigned __int128)q * FV_(k).p[0];
    for (int j = 1; j < 5; j++) {
        acc = (acc >> CUZK__IFMA_BITS) + a[j] + (unsigned __int128)q * FV_(k).p[j];
        r[j - 1] = (uint64_t)acc & cuzk__ifma_mask;
    }
    r[4] = (uint64_t)(acc >> CUZK__IFMA_BITS);
}

/* From w R mod p. */
static inline void FV_(prepare)(FV_(tw_t) * r, const FE_(t) * stored) {
    FV_(cut)(r->w[4], stored);
    for (int i = 4; i > 0; i--)
        FV_(shift_down)(r->w[i - 1], r->w[i]);
}

static inline void FV_(make_tw)(FV_(tw_t) * r, const FE_(t) * mont) {
    FE_(t) stored;
    FV_(times_16)(&stored, mont);
    FV_(prepare)(r, &stored);
}

static inline void FV_(scale_tw)(FV_(tw_t) * r, const FV_(tw_t) * w, const FE_(t) * mont) {
    const uint64_t *l = w->w[4];
    FE_(t)
    stored = {{l[0] | l[1] << 52, l[1] >> 12 | l[2] << 40, l[2] >> 24 | l[3] << 28,
               l[3] >> 36 | l[4] << 16}};
    FE_(mul)(&stored, &stored, mont);
    FV_(prepare)(r, &stored);
}

/* ---- butterflies ---- */

/* sum = x + t, diff = x - t + 6p for loose x and the raw product t. */
FV_INLINE void FV_(ct_end)(FV_(t) * sum, FV_(t) * diff, const FV_(t) * x, const __m512i t[5]) {
    __m512i s[5], d[5];
    for (int j = 0; j < 5; j++)
        s[j] = x->l[j];
    FV_(csub)(s, FV_(k).p6);
    for (int j = 0; j < 5; j++) {
        d[j] = _mm512_sub_epi64(s[j], t[j]);
        s[j] = _mm512_add_epi64(s[j], t[j]);
    }
    FV_(add_const)(d, FV_(k).p6);
    FV_(carry)(sum, s);
    FV_(carry)(diff, d);
}

FV_INLINE void FV_(ct)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    __m512i t[5];
    FV_(mul_raw)(t, y, w);
    FV_(ct_end)(x, y, x, t);
}
FV_INLINE void FV_(ct_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    __m512i t[5];
    FV_(mul_raw)(t, y, w);
    FV_(ct_end)(y, x, x, t);
}
FV_INLINE void FV_(ct_each)(FV_(t) * x, FV_(t) * y, const FV_(t) * f) {
    __m512i t[5];
    FV_(mul_each_raw)(t, y, f);
    FV_(ct_end)(x, y, x, t);
}
FV_INLINE void FV_(ct_each_minus)(FV_(t) * x, FV_(t) * y, const FV_(t) * f) {
    __m512i t[5];
    FV_(mul_each_raw)(t, y, f);
    FV_(ct_end)(y, x, x, t);
}
/* Brings y, as if it were a product, below 6p first. */
FV_INLINE void FV_(ct_one)(FV_(t) * x, FV_(t) * y) {
    FV_(t) t;
    FV_(near)(&t, y);
    FV_(ct_end)(x, y, x, t.l);
}

/* x = x + y, d = x - y + 7p. */
FV_INLINE void FV_(gs_begin)(FV_(t) * sum, FV_(t) * diff, const FV_(t) * x, const FV_(t) * y) {
    __m512i s[5], d[5];
    for (int j = 0; j < 5; j++) {
        s[j] = _mm512_add_epi64(x->l[j], y->l[j]);
        d[j] = _mm512_sub_epi64(x->l[j], y->l[j]);
    }
    FV_(add_const)(d, FV_(k).p7);
    FV_(csub)(s, FV_(k).p6);
    FV_(carry)(sum, s);
    FV_(carry)(diff, d);
}

FV_INLINE void FV_(gs)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FV_(t) d;
    FV_(gs_begin)(x, &d, x, y);
    FV_(mul_tw)(y, &d, w);
}
FV_INLINE void FV_(gs_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FV_(t) d;
    FV_(gs_begin)(x, &d, y, x);
    FV_(mul_tw)(y, &d, w);
}
FV_INLINE void FV_(gs_each)(FV_(t) * x, FV_(t) * y, const FV_(t) * f) {
    FV_(t) d;
    FV_(gs_begin)(x, &d, x, y);
    FV_(mul)(y, &d, f);
}
FV_INLINE void FV_(gs_each_minus)(FV_(t) * x, FV_(t) * y, const FV_(t) * f) {
    FV_(t) d;
    FV_(gs_begin)(x, &d, y, x);
    FV_(mul)(y, &d, f);
}
FV_INLINE void FV_(gs_one)(FV_(t) * x, FV_(t) * y) {
    FV_(t) d;
    FV_(gs_begin)(x, &d, x, y);
    FV_(near)(y, &d);
}

/* ---- rows of butterflies ---- */

/* A processor looks ahead about as far as one product, in which each step waits for the one before:
 * the next difference is therefore taken between a product and its carries. */

/* gs of n >= 1 pairs by one factor, gs_minus where `minus` says so. */
FV_INLINE void FV_(gs_row)(FV_(t) * x, FV_(t) * y, size_t n, const FV_(tw_t) * w, bool minus) {
    FV_(t) d, next;
    __m512i t[5];
    FV_(gs_begin)(&x[0], &d, minus ? &y[0] : &x[0], minus ? &x[0] : &y[0]);
    for (size_t j = 0; j + 1 < n; j++) {
        FV_(mul_raw)(t, &d, w);
        FV_(gs_begin)
        (&x[j + 1], &next, minus ? &y[j + 1] : &x[j + 1], minus ? &x[j + 1] : &y[j + 1]);
        d = next;
        FV_(carry)(&y[j], t);
    }
    FV_(mul_tw)(&y[n - 1], &d, w);
}

FV_INLINE void FV_(transpose)(FV_(t) v[8]) {
    for (int j = 0; j < 5; j++) {
        __m512i r[8];
        for (int k = 0; k < 8; k++)
            r[k] = v[k].l[j];
        cuzk__ifma_transpose8(r);
        for (int k = 0; k < 8; k++)
            v[k].l[j] = r[k];
    }
}

#undef FV_INLINE
#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
#undef FV_CONSTS
