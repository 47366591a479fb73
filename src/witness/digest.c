/* The digest stands apart: whoever only proves need not link the library that hashes. */
#include "witness/witness.h"

#include "base/hash.h"

static void put_hash(void *ctx, const cuzk_u256 *values, size_t n) {
    cuzk_hash_update(ctx, values, n * sizeof *values);
}

cuzk_status cuzk_witness_digest(uint8_t out[32], const cuzk_witness *w) {
    cuzk_hash *h;
    CUZK_TRY(cuzk_hash_new(&h, CUZK_HASH_BLAKE2S_256));
    const cuzk_status st = cuzk_witness_flatten(w, put_hash, h);
    if (st != CUZK_OK) {
        cuzk_hash_free(h);
        return st;
    }
    return cuzk_hash_final(h, out);
}
