/* DESIGN. Lane l of every vector belongs to hash l. Values are the witness's Montgomery forms
 * (R' = 2^256) in limbs of 52 bits. The matrices are prepared factors (see field/vec_ifma.inl.h),
 * whose products keep the form, and a row of products is added up before it is reduced, by two
 * steps, for which its factors are taken 2^52 fold; the S-box's products divide by 2^260, so one
 * operand is taken sixteenfold.
 *
 * Bounds, p the modulus, 2^260 = 35.3 p: what is stored is reduced below p + 2^215 and then
 * exactly; a row of 12 products is below (60 + 1) p / 2^52 + p < 2 p. Elements 1.. of the partial
 * rounds begin there and stay below 12 p + 2^212: 6 p are subtracted where they are above that,
 * then less than 6 p are added. An S-box squares less than 2 p, of which 16 times is below 2^260.
 *
 * Compiled for AVX-512 IFMA; nothing here may run where cuzk_cpu_has_avx512_ifma() is false. */
#include "circuit/poseidon_lanes.h"

#if CUZK__POSEIDON_LANES
#include "base/mem.h"
#include "field/fields.h"
#include "field/ifma.h"

#include <string.h>

#define FV lv
#define FV_FE cuzk_bls12_381_fr
#define FV_CONSTS CUZK_BLS12_381_FR_IFMA
#include "field/vec_ifma.inl.h"

enum { T_MAX = CUZK_POSEIDON_MAX_ARITY + 1 };

struct lanes {
    lv_tw_t *mds, *pre, *sparse; /* as in cuzk_poseidon */
    uint64_t (*crc)[5];          /* limbs */
};

/* For rows that are added up: 2^52 times the factors. */
static void prepare_rows(lv_tw_t *out, const cuzk_u256 *m, size_t n) {
    cuzk_u256 shift, v;
    cuzk_bls12_381_fr_from_u64(&shift, UINT64_C(1) << CUZK__IFMA_BITS);
    for (size_t i = 0; i < n; i++) {
        cuzk_bls12_381_fr_mul(&v, &m[i], &shift);
        lv_make_tw(&out[i], &v);
    }
}

/* Of each partial round a row and t - 1 single factors. */
static void prepare_sparse(lv_tw_t *out, const cuzk_poseidon *p) {
    const cuzk_u256 *m = p->sparse;
    for (uint32_t k = 0; k < p->n_partial; k++, m += 2 * p->t - 1, out += 2 * p->t - 1) {
        prepare_rows(out, m, p->t);
        for (uint32_t i = p->t; i < 2 * p->t - 1; i++)
            lv_make_tw(&out[i], &m[i]);
    }
}

cuzk_status cuzk__poseidon_lanes_new(void **out, const cuzk_poseidon *p) {
    const size_t dense = (size_t)p->t * p->t, sparse = p->n_partial * (2 * (size_t)p->t - 1);
    const size_t keys = CUZK_POSEIDON_FULL * (size_t)p->t + p->n_partial;
    void *mem;
    *out = NULL;
    CUZK_TRY(cuzk_alloc(&mem, 1,
                        sizeof(struct lanes) + (2 * dense + sparse) * sizeof(lv_tw_t) +
                            keys * sizeof(uint64_t[5])));
    struct lanes *l = mem;
    l->mds = (lv_tw_t *)(l + 1);
    l->pre = l->mds + dense;
    l->sparse = l->pre + dense;
    l->crc = (uint64_t(*)[5])(l->sparse + sparse);
    prepare_rows(l->mds, p->mds, dense);
    prepare_rows(l->pre, p->pre, dense);
    prepare_sparse(l->sparse, p);
    for (size_t i = 0; i < keys; i++)
        lv_cut(l->crc[i], &p->crc[i]);
    *out = l;
    return CUZK_OK;
}

/* Where the next wire of each lane goes. */
typedef struct {
    cuzk_u256 *to[CUZK__LANES];
} sinks;

static inline __attribute__((always_inline)) void put(sinks *s, size_t at, const lv_t *a) {
    const __m512i *l = a->l;
    const __m512i w[4] = {
        _mm512_or_si512(l[0], _mm512_slli_epi64(l[1], 52)),
        _mm512_or_si512(_mm512_srli_epi64(l[1], 12), _mm512_slli_epi64(l[2], 40)),
        _mm512_or_si512(_mm512_srli_epi64(l[2], 24), _mm512_slli_epi64(l[3], 28)),
        _mm512_or_si512(_mm512_srli_epi64(l[3], 36), _mm512_slli_epi64(l[4], 16)),
    };
    __m512i two[4];
    cuzk__ifma_join4(two, w);
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_si256((__m256i *)(void *)(s->to[2 * k] + at), _mm512_castsi512_si256(two[k]));
        _mm256_storeu_si256((__m256i *)(void *)(s->to[2 * k + 1] + at),
                            _mm512_extracti64x4_epi64(two[k], 1));
    }
}

/* From anything below 2^260 to the canonical value. The multiple of p is estimated as in
 * vec_ifma.inl.h's `near`, up to 35. */
static inline __attribute__((always_inline)) void reduce(lv_t *r, const __m512i a[5]) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i k =
        _mm512_srli_epi64(_mm512_madd52hi_epu64(zero, a[4], cuzk__ifma_set1(lv_k.est)), 40);
    __m512i t[5];
    for (int j = 0; j < 5; j++) {
        t[j] = _mm512_sub_epi64(a[j], _mm512_madd52lo_epu64(zero, k, cuzk__ifma_set1(lv_k.p[j])));
        if (j)
            t[j] = _mm512_sub_epi64(t[j],
                                    _mm512_madd52hi_epu64(zero, k, cuzk__ifma_set1(lv_k.p[j - 1])));
    }
    lv_carry(r, t);
    if (_mm512_cmpge_epu64_mask(r->l[4], cuzk__ifma_set1(lv_k.p[4]))) lv_csub_exact(r);
}

/* 16 a, for a below 2 p. */
static inline __attribute__((always_inline)) void times_16(lv_t *r, const lv_t *a) {
    __m512i t[5];
    for (int j = 0; j < 5; j++)
        t[j] = _mm512_slli_epi64(a->l[j], 4);
    lv_carry(r, t);
}

/* r = a b / 2^260 + key, canonical. */
static inline __attribute__((always_inline)) void mul_key(lv_t *r, const lv_t *a, const lv_t *b,
                                                          const uint64_t *key) {
    lv_t x;
    __m512i t[5];
    lv_mul_each_raw(t, a, b);
    if (key) lv_add_const(t, key);
    lv_carry(&x, t);
    reduce(r, x.l);
}

/* The wires of an S-box, and before them x itself when it has none yet. */
static __attribute__((noinline)) void sbox(sinks *s, size_t *at, lv_t *x, const uint64_t *pre,
                                           const uint64_t *post, bool allocate) {
    lv_t y = *x, y16, l2, l4, f;
    if (allocate) {
        reduce(&y, x->l);
        put(s, (*at)++, &y);
    }
    if (pre) {
        __m512i t[5];
        memcpy(t, y.l, sizeof t);
        lv_add_const(t, pre);
        lv_carry(&y, t);
    }
    times_16(&y16, &y);
    mul_key(&l2, &y16, &y, NULL);
    put(s, (*at)++, &l2);
    times_16(&f, &l2);
    mul_key(&l4, &f, &l2, NULL);
    put(s, (*at)++, &l4);
    mul_key(x, &y16, &l4, post);
    put(s, (*at)++, x);
}

/* r = sum of x[i] times what f[i stride] was made of. */
static __attribute__((noinline)) void dot(lv_t *r, const lv_t *x, const lv_tw_t *f, size_t stride,
                                          uint32_t n) {
    __m512i l[5], h[6], none[6], t[5];
    for (int j = 0; j < 5; j++)
        l[j] = h[j + 1] = none[j + 1] = _mm512_setzero_si512();
    for (uint32_t i = 0; i < n; i++) {
        lv_low_column(&l[0], x[i].l, &f[i * stride]);
        lv_high_columns(l, h, x[i].l, &f[i * stride]);
    }
    lv_fold(l, l, h, lv_quotient(l[0]));
    lv_fold(t, l, none, lv_quotient(l[0]));
    lv_carry(r, t);
}

static void mix_dense(lv_t *s, const lv_tw_t *m, uint32_t t) {
    lv_t n[T_MAX];
    for (uint32_t j = 0; j < t; j++)
        dot(&n[j], s, m + j, t, t);
    memcpy(s, n, t * sizeof *s);
}

static __attribute__((noinline)) void mix_sparse(lv_t *s, const lv_tw_t *w_hat, uint32_t t) {
    lv_t first;
    dot(&first, s, w_hat, 1, t);
    for (uint32_t i = 1; i < t; i++) {
        __m512i x[5], sum[5];
        lv_mul_raw(x, &s[0], &w_hat[t + i - 1]);
        memcpy(sum, s[i].l, sizeof sum);
        lv_csub(sum, lv_k.p6);
        for (int j = 0; j < 5; j++)
            sum[j] = _mm512_add_epi64(sum[j], x[j]);
        lv_carry(&s[i], sum);
    }
    s[0] = first;
}

/* (tag + crc[0])^5 + crc[t], in every lane. */
static void tag_element(lv_t *r, const cuzk_poseidon *p, uint64_t tag) {
    cuzk_u256 x, y;
    uint64_t limbs[5];
    cuzk_bls12_381_fr_from_u64(&x, tag);
    cuzk_bls12_381_fr_add(&x, &x, &p->crc[0]);
    cuzk_bls12_381_fr_sqr(&y, &x);
    cuzk_bls12_381_fr_sqr(&y, &y);
    cuzk_bls12_381_fr_mul(&x, &x, &y);
    cuzk_bls12_381_fr_add(&x, &x, &p->crc[p->t]);
    lv_cut(limbs, &x);
    for (int j = 0; j < 5; j++)
        r->l[j] = cuzk__ifma_set1(limbs[j]);
}

/* As fill_hash in fill_poseidon.c. */
void cuzk__poseidon_lanes_fill(const cuzk_poseidon *p, uint64_t tag, cuzk_u256 *const *out,
                               const cuzk_u256 *const *in, unsigned n) {
    enum { WIRES_MAX = 3 * (CUZK_POSEIDON_FULL * T_MAX + 64) + CUZK_POSEIDON_FULL * T_MAX + 64 };
    const struct lanes *l = p->lanes;
    const uint32_t t = p->t, half = CUZK_POSEIDON_FULL / 2;
    const uint64_t(*crc)[5] = (const uint64_t(*)[5])l->crc;
    cuzk_u256 unused[WIRES_MAX]; /* of lanes that have no hash */
    sinks to;
    size_t at = 0;
    lv_t s[T_MAX], r;
    for (unsigned k = 0; k < CUZK__LANES; k++)
        to.to[k] = k < n ? out[k] : unused;
    tag_element(&s[0], p, tag);
    for (uint32_t j = 1; j < t; j++) {
        const cuzk_u256 *lane[CUZK__LANES];
        for (unsigned k = 0; k < CUZK__LANES; k++)
            lane[k] = in[CUZK__LANES * (j - 1) + (k < n ? k : 0)];
        lv_gather(&s[j], lane);
        sbox(&to, &at, &s[j], crc[j], crc[t + j], false);
    }
    mix_dense(s, l->mds, t);
    crc += 2 * t;
    for (uint32_t k = 1; k < half; k++, crc += t) {
        for (uint32_t j = 0; j < t; j++)
            sbox(&to, &at, &s[j], NULL, crc[j], true);
        mix_dense(s, k == half - 1 ? l->pre : l->mds, t);
    }
    for (uint32_t k = 0; k < p->n_partial; k++, crc++) {
        sbox(&to, &at, &s[0], NULL, *crc, true);
        mix_sparse(s, l->sparse + (size_t)k * (2 * t - 1), t);
    }
    for (uint32_t k = 0; k < half; k++, crc += t) {
        for (uint32_t j = 0; j < t; j++)
            sbox(&to, &at, &s[j], NULL, k == half - 1 ? NULL : crc[j], true);
        if (k < half - 1) mix_dense(s, l->mds, t);
    }
    dot(&r, s, l->mds + 1, t, t); /* of the last round only element 1 counts */
    reduce(&s[1], r.l);
    put(&to, at, &s[1]);
}
#else
typedef int cuzk__no_poseidon_lanes;
#endif
