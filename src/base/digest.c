#include "base/digest.h"

#include <xxhash.h>

cuzk_digest cuzk_digest_of(const void *data, size_t n, uint64_t key) {
    XXH128_hash_t h = XXH3_128bits_withSeed(data, n, key);
    return (cuzk_digest){h.low64, h.high64};
}
