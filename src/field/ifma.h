/* What every vec_ifma*.inl.h shares: names for the instructions, transpositions, constants. Only
 * for files compiled with AVX-512 F, DQ, VL, BW and IFMA, whose code may run only where
 * cuzk_cpu_has_avx512_ifma() is true. Internal. */
#ifndef CUZK_FIELD_IFMA_H
#define CUZK_FIELD_IFMA_H

#include <immintrin.h>
#include <stdint.h>

#define CUZK__IFMA_INLINE static inline __attribute__((always_inline))

/* Constants of a modulus p in five limbs of 52 bits, radix 2^260; tools/gen_params.py makes them.
 * Top limbs may be longer than the others where a value has more bits. */
typedef struct cuzk__ifma5 {
    uint64_t p[5];
    uint64_t down[4][5];       /* [j]: 2^(52 (j - 4)) mod p */
    uint64_t p6[5], p7[5];     /* 6p, 7p */
    uint64_t n0;               /* -1/p mod 2^52 */
    uint64_t est;              /* floor(2^300 / p) */
    uint64_t multiples[5][16]; /* [j][k]: limb j of k p */
} cuzk__ifma5;

/* Constants of a base field in five or eight limbs of 52 bits, R the radix. */
#define CUZK__IFMA_FP(n, words)                                                                    \
    typedef struct cuzk__ifma_fp##n {                                                              \
        uint64_t p[n], m[n];       /* 2^-52 mod p */                                               \
        uint64_t n0;               /* -1/p mod 2^52 */                                             \
        uint64_t multiples[8][n];  /* k p */                                                       \
        int64_t fix[n][8];         /* [j][k mod 8]: limb j of what brings numbers from */          \
                                   /* k 2^bits on near 0; -4 <= k < 4 */                           \
        uint64_t inv_scale[words]; /* R times the root of R / F, in words */                       \
    } cuzk__ifma_fp##n
CUZK__IFMA_FP(5, 4);
CUZK__IFMA_FP(8, 6);

enum { CUZK__IFMA_BITS = 52 };
static const uint64_t cuzk__ifma_mask = ((uint64_t)1 << CUZK__IFMA_BITS) - 1;

CUZK__IFMA_INLINE __m512i cuzk__ifma_set1(uint64_t v) {
    return _mm512_set1_epi64((long long)v);
}

/* v & (2^52 - 1) */
CUZK__IFMA_INLINE __m512i cuzk__ifma_low(__m512i v) {
    return _mm512_and_si512(v, cuzk__ifma_set1(cuzk__ifma_mask));
}

/* (a | b) & (2^52 - 1) */
CUZK__IFMA_INLINE __m512i cuzk__ifma_join_low(__m512i a, __m512i b) {
    return _mm512_ternarylogic_epi64(a, b, cuzk__ifma_set1(cuzk__ifma_mask), 0xa8);
}

/* Four words of eight 256-bit numbers that lie two in each of a[0..3], to one word of each number
 * in a vector, and back. */
CUZK__IFMA_INLINE void cuzk__ifma_split4(__m512i w[4], const __m512i a[4]) {
    const __m512i even = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
    const __m512i odd = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
    const __m512i b0 = _mm512_unpacklo_epi64(a[0], a[1]), b1 = _mm512_unpackhi_epi64(a[0], a[1]);
    const __m512i b2 = _mm512_unpacklo_epi64(a[2], a[3]), b3 = _mm512_unpackhi_epi64(a[2], a[3]);
    w[0] = _mm512_permutex2var_epi64(b0, even, b2);
    w[1] = _mm512_permutex2var_epi64(b1, even, b3);
    w[2] = _mm512_permutex2var_epi64(b0, odd, b2);
    w[3] = _mm512_permutex2var_epi64(b1, odd, b3);
}

CUZK__IFMA_INLINE void cuzk__ifma_join4(__m512i a[4], const __m512i w[4]) {
    const __m512i low = _mm512_setr_epi64(0, 2, 8, 10, 1, 3, 9, 11);
    const __m512i high = _mm512_setr_epi64(4, 6, 12, 14, 5, 7, 13, 15);
    const __m512i b0 = _mm512_permutex2var_epi64(w[0], low, w[2]);
    const __m512i b1 = _mm512_permutex2var_epi64(w[1], low, w[3]);
    const __m512i b2 = _mm512_permutex2var_epi64(w[0], high, w[2]);
    const __m512i b3 = _mm512_permutex2var_epi64(w[1], high, w[3]);
    a[0] = _mm512_unpacklo_epi64(b0, b1);
    a[1] = _mm512_unpackhi_epi64(b0, b1);
    a[2] = _mm512_unpacklo_epi64(b2, b3);
    a[3] = _mm512_unpackhi_epi64(b2, b3);
}

/* r[k] lane l exchanged with r[l] lane k. */
CUZK__IFMA_INLINE void cuzk__ifma_transpose8(__m512i r[8]) {
    __m512i a[8], b[8];
    for (int k = 0; k < 8; k += 2) {
        a[k] = _mm512_unpacklo_epi64(r[k], r[k + 1]);
        a[k + 1] = _mm512_unpackhi_epi64(r[k], r[k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        b[k] = _mm512_shuffle_i64x2(a[k], a[k + 2], 0x88);
        b[k + 1] = _mm512_shuffle_i64x2(a[k + 1], a[k + 3], 0x88);
        b[k + 2] = _mm512_shuffle_i64x2(a[k], a[k + 2], 0xdd);
        b[k + 3] = _mm512_shuffle_i64x2(a[k + 1], a[k + 3], 0xdd);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm512_shuffle_i64x2(b[k], b[k + 4], 0x88);
        r[k + 4] = _mm512_shuffle_i64x2(b[k], b[k + 4], 0xdd);
    }
}

#endif
