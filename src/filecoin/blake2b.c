#include "filecoin/blake2b.h"

#include "base/bytes.h"

static const uint64_t iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotr(uint64_t x, unsigned n) {
    return x >> n | x << (64 - n);
}

static inline void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 63);
}

static void compress(uint64_t h[8], const uint64_t m[16], uint64_t counted, int last) {
    uint64_t v[16];
    memcpy(v, h, 64);
    memcpy(v + 8, iv, 64);
    v[12] ^= counted;
    if (last) v[14] = ~v[14];
    for (int r = 0; r < 12; r++) {
        const uint8_t *s = sigma[r % 10];
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]],
                m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[8 + i];
}

void cuzk_blake2b(uint8_t *out, size_t out_len, const void *key, size_t key_len, const void *data,
                  size_t n) {
    const uint8_t *p = data;
    uint64_t h[8], m[16], counted = 0;
    memcpy(h, iv, sizeof h);
    h[0] ^= 0x01010000 ^ (uint64_t)key_len << 8 ^ (uint64_t)out_len;
    if (key_len) {
        memset(m, 0, sizeof m);
        memcpy(m, key, key_len);
        counted = 128;
        compress(h, m, counted, n == 0);
    }
    while (n > 0 || counted == 0) {
        const size_t k = n < 128 ? n : 128;
        memset(m, 0, sizeof m);
        if (k) memcpy(m, p, k);
        counted += k;
        p += k;
        n -= k;
        compress(h, m, counted, n == 0);
        if (counted == 0) break; /* the empty message is one block */
    }
    memcpy(out, h, out_len);
}

uint64_t cuzk_blake2b_pair(uint64_t a, uint64_t b) {
    uint64_t h[8];
    const uint64_t m[16] = {__builtin_bswap64(a), __builtin_bswap64(b)};
    memcpy(h, iv, sizeof h);
    h[0] ^= 0x01010000 ^ 64;
    compress(h, m, 16, 1);
    return __builtin_bswap64(h[0]);
}
