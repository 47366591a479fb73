#include "filecoin/blake2b.h"

#include "base/bytes.h"

static const uint64_t iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static inline uint64_t rotr(uint64_t x, unsigned n) {
    return x >> n | x << (64 - n);
}

static inline __attribute__((always_inline)) void mix(uint64_t v[16], int a, int b, int c, int d,
                                                      uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 63);
}

/* clang-format off */
#define ROUND(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q)                                      \
    do {                                                                                           \
        mix(v, 0, 4,  8, 12, m[a], m[b]); mix(v, 1, 5,  9, 13, m[c], m[d]);                        \
        mix(v, 2, 6, 10, 14, m[e], m[f]); mix(v, 3, 7, 11, 15, m[g], m[h]);                        \
        mix(v, 0, 5, 10, 15, m[i], m[j]); mix(v, 1, 6, 11, 12, m[k], m[l]);                        \
        mix(v, 2, 7,  8, 13, m[n], m[o]); mix(v, 3, 4,  9, 14, m[p], m[q]);                        \
    } while (0)
/* clang-format on */

/* Inlined and written out, so that words of m that are known to be zero cost nothing. */
static inline __attribute__((always_inline)) void compress(uint64_t h[8], const uint64_t m[16],
                                                           uint64_t counted, bool last) {
    uint64_t v[16];
    memcpy(v, h, 64);
    memcpy(v + 8, iv, 64);
    v[12] ^= counted;
    if (last) v[14] = ~v[14];
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[8 + i];
}

static void block(uint64_t h[8], const uint8_t *p, size_t n, uint64_t counted, bool last) {
    uint64_t m[16] = {0};
    if (n) memcpy(m, p, n);
    compress(h, m, counted, last);
}

void cuzk_blake2b(uint8_t *out, size_t out_len, const void *key, size_t key_len, const void *data,
                  size_t n) {
    const uint8_t *p = data;
    uint64_t h[8], counted = 0;
    memcpy(h, iv, sizeof h);
    h[0] ^= 0x01010000 ^ (uint64_t)key_len << 8 ^ (uint64_t)out_len;
    if (key_len) {
        uint8_t padded[128] = {0};
        memcpy(padded, key, key_len);
        counted = sizeof padded;
        block(h, padded, sizeof padded, counted, n == 0);
    }
    do { /* the empty message is one block, unless the key was */
        const size_t k = n < 128 ? n : 128;
        if (k == 0 && key_len) break;
        counted += k;
        n -= k;
        block(h, p, k, counted, n == 0);
        p += k;
    } while (n > 0);
    memcpy(out, h, out_len);
}

uint64_t cuzk_blake2b_pair(uint64_t a, uint64_t b) {
    uint64_t h[8];
    const uint64_t m[16] = {__builtin_bswap64(a), __builtin_bswap64(b)};
    memcpy(h, iv, sizeof h);
    h[0] ^= 0x01010000 ^ 64;
    compress(h, m, 16, true);
    return __builtin_bswap64(h[0]);
}
