/* BLAKE2b (RFC 7693) with a key and any digest length: expander parents are nothing but short
 * BLAKE2b calls, and the synthetic challenges are keyed, which base/hash.h does not offer. */
#ifndef CUZK_FILECOIN_BLAKE2B_H
#define CUZK_FILECOIN_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

/* out_len 1..64, key_len 0..64. Thread-safe. */
void cuzk_blake2b(uint8_t *out, size_t out_len, const void *key, size_t key_len, const void *data,
                  size_t n);

/* The first eight bytes, big-endian, of BLAKE2b-512 of two 64-bit words, each big-endian. */
uint64_t cuzk_blake2b_pair(uint64_t a, uint64_t b);

#endif
