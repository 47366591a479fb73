/* A fast 128-bit digest that tells contents apart: XXH3-128 of libxxhash. Not for proofs of
 * anything, but keyed, so that nobody can prepare two contents with one digest for a process whose
 * key is random. */
#ifndef CUZK_BASE_DIGEST_H
#define CUZK_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_digest {
    uint64_t lo, hi;
} cuzk_digest;

static inline bool cuzk_digest_eq(cuzk_digest a, cuzk_digest b) {
    return a.lo == b.lo && a.hi == b.hi;
}

/* Of n bytes at any alignment, about as fast as memory can be read. The same key gives the same
 * digest. Thread-safe. */
cuzk_digest cuzk_digest_of(const void *data, size_t n, uint64_t key);

#endif
