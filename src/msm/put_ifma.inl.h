/* Digits of many scalars with AVX-512, eight at a time: what digits.h does one by one. Include
 * once, in a file compiled for it. */

enum { PUT_MOST = CUZK__CHUNK_MAX + 16 };

/* Limb i of recoded scalar j is l[i][j]; signs as bits. */
typedef struct put_recoded {
    _Alignas(64) uint64_t l[5][CUZK__CHUNK_MAX];
    uint8_t negative[CUZK__CHUNK_MAX / 8];
} put_recoded;

/* *carry and a + b, with the carry into and out of it. */
CUZK__IFMA_INLINE __m512i put_addc(__m512i a, __m512i b, __mmask8 *carry) {
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i s = _mm512_add_epi64(a, b), t = _mm512_mask_add_epi64(s, *carry, s, one);
    *carry = _mm512_cmplt_epu64_mask(s, a) | _mm512_mask_testn_epi64_mask(*carry, t, t);
    return t;
}

/* The scalars of eight sources, recoded. */
CUZK__IFMA_INLINE void put_recode8(put_recoded *r, uint32_t at, const cuzk__digits *d,
                                   const uint8_t *scalars, const uint32_t *index) {
    __m512i a[4], k[4];
    for (int i = 0; i < 4; i++) {
        const uint8_t *even = scalars + 32 * (size_t)(index[2 * i] >> 1);
        const uint8_t *odd = scalars + 32 * (size_t)(index[2 * i + 1] >> 1);
        a[i] = _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)even)),
            _mm256_loadu_si256((const __m256i *)(const void *)odd), 1);
    }
    cuzk__ifma_split4(k, a);
    __mmask8 above = 0, equal = 0xff; /* than half the order */
    for (int i = 3; i >= 0; i--) {
        const __m512i half = cuzk__ifma_set1(d->half[i]);
        above |= _mm512_mask_cmpgt_epu64_mask(equal, k[i], half);
        equal = _mm512_mask_cmpeq_epu64_mask(equal, k[i], half);
    }
    const __mmask8 negative = above | equal;
    const __m512i ones = _mm512_set1_epi64(-1);
    __mmask8 carry = 0;
    for (int i = 0; i < 4; i++) {
        const __m512i offset = _mm512_mask_mov_epi64(cuzk__ifma_set1(d->offset[0][i]), negative,
                                                     cuzk__ifma_set1(d->offset[1][i]));
        k[i] = _mm512_mask_xor_epi64(k[i], negative, k[i], ones);
        _mm512_store_si512(&r->l[i][at], put_addc(k[i], offset, &carry));
    }
    _mm512_store_si512(&r->l[4][at], _mm512_setzero_si512());
    r->negative[at / 8] = (uint8_t)negative;
}

/* Digits of window x of the scalars [at, at + 8) as 32-bit numbers. */
CUZK__IFMA_INLINE __m256i put_digits8(const put_recoded *r, uint32_t at, unsigned bit,
                                      unsigned width, uint32_t half) {
    const unsigned q = bit / 64, shift = bit % 64;
    const __m512i low = _mm512_load_si512(&r->l[q][at]), high = _mm512_load_si512(&r->l[q + 1][at]);
    __m512i v = _mm512_or_si512(_mm512_srl_epi64(low, _mm_cvtsi32_si128((int)shift)),
                                _mm512_sll_epi64(high, _mm_cvtsi32_si128((int)(64 - shift))));
    v = _mm512_and_si512(v, cuzk__ifma_set1(((uint64_t)1 << width) - 1));
    return _mm512_cvtepi64_epi32(_mm512_sub_epi64(v, cuzk__ifma_set1(half)));
}

/* The digits of window x whose bucket is one of `buckets` many, `from` the first of them, as
 * buckets from `first` on and sources. Returns how many. Digit 0 has the bucket -1, beyond all. */
static uint32_t put_window(uint32_t dst[PUT_MOST], uint32_t src[PUT_MOST], const put_recoded *r,
                           const cuzk__digits *d, const uint32_t *index, uint32_t n, unsigned x,
                           uint32_t from, uint32_t buckets, uint32_t first) {
    const unsigned bit = cuzk__digits_at(d, x), width = cuzk__digits_width(d, x);
    const uint32_t half = x + 1 < d->windows ? (uint32_t)1 << (width - 1) : 0;
    const __m256i below = _mm256_set1_epi32((int)from + 1), one = _mm256_set1_epi32(1);
    const __m256i base = _mm256_set1_epi32((int)first), end = _mm256_set1_epi32((int)buckets);
    uint32_t m = 0;
    for (uint32_t j = 0; j < n; j += 8) {
        const __m256i digit = put_digits8(r, j, bit, width, half);
        const __m256i place = _mm256_sub_epi32(_mm256_abs_epi32(digit), below);
        __mmask8 keep = _mm256_cmplt_epu32_mask(place, end);
        if (n - j < 8) keep &= (__mmask8)((1u << (n - j)) - 1);
        const __mmask8 minus = _mm256_movepi32_mask(digit) ^ (__mmask8)r->negative[j / 8];
        const __m256i bucket = _mm256_add_epi32(place, base);
        __m256i source = _mm256_loadu_si256((const __m256i *)(const void *)(index + j));
        source = _mm256_mask_or_epi32(source, minus, source, one);
        _mm256_storeu_si256((__m256i *)(void *)(dst + m),
                            _mm256_maskz_compress_epi32(keep, bucket));
        _mm256_storeu_si256((__m256i *)(void *)(src + m),
                            _mm256_maskz_compress_epi32(keep, source));
        m += (uint32_t)__builtin_popcount(keep);
    }
    return m;
}

/* cuzk__sched_put for all of them. */
static void put_entries(cuzk__sched *s, const uint32_t *dst, const uint32_t *src, uint32_t m) {
    cuzk__batch *b = s->batch;
    uint32_t *stamp = s->pts.stamp, n = b->n, now = s->now, limit = s->limit;
    for (uint32_t i = 0; i < m; i++) {
        const uint32_t at = dst[i], old = stamp[at];
        if (__builtin_expect(old == now || old == 0, 0)) {
            b->n = n;
            cuzk__sched_put(s, at, src[i]);
        } else {
            stamp[at] = now;
            b->dst[n] = at;
            b->src[n] = src[i];
            if (++n < limit) continue;
            b->n = n;
            cuzk__sched_flush(s);
        }
        n = b->n;
        now = s->now;
    }
    b->n = n;
}

static void put_chunk(cuzk__sched *s, const cuzk__digits *d, const uint8_t *scalars,
                      const uint32_t *index, uint32_t n, const cuzk__span *span) {
    put_recoded r;
    uint32_t dst[PUT_MOST], src[PUT_MOST], bucket = 0;
    for (uint32_t j = 0; j < n; j += 8)
        put_recode8(&r, j, d, scalars, index + j);
    for (unsigned x = span->first; x < span->last; x++) {
        const uint32_t buckets = cuzk__span_buckets(span, d, x);
        const uint32_t m =
            put_window(dst, src, &r, d, index, n, x, cuzk__span_from(span, x), buckets, bucket);
        put_entries(s, dst, src, m);
        bucket += buckets;
    }
}
