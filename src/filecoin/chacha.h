/* The ChaCha block function (Bernstein 2008), for parents (8 rounds) and synthetic challenges
 * (20 rounds, RFC 8439). */
#ifndef CUZK_FILECOIN_CHACHA_H
#define CUZK_FILECOIN_CHACHA_H

#include <stdint.h>

/* tail: the counter and nonce words 12 to 15 of the state; rounds is even. Thread-safe. */
void cuzk_chacha_block(uint32_t out[16], const uint8_t key[32], const uint32_t tail[4], int rounds);

#endif
