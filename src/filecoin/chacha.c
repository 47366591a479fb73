#include "filecoin/chacha.h"

#include "base/bytes.h"

static inline uint32_t rotl(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

static inline void quarter(uint32_t s[16], int a, int b, int c, int d) {
    s[a] += s[b];
    s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotl(s[b] ^ s[c], 7);
}

void cuzk_chacha_block(uint32_t out[16], const uint8_t key[32], const uint32_t tail[4],
                       int rounds) {
    uint32_t s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        s[4 + i] = cuzk_ld_u32le(key + 4 * i);
    memcpy(s + 12, tail, 16);
    memcpy(out, s, sizeof s);
    for (int r = 0; r < rounds; r += 2) {
        for (int i = 0; i < 4; i++)
            quarter(s, i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; i++)
            quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        out[i] += s[i];
}
