/* Proving keys kept between calls of an interface that has no handles.
 *
 * A file is known by device, inode, size and times; a buffer by its length and a keyed 128-bit
 * digest of all its bytes. A key is checked completely when it enters (CUZK_ZKEY_CHECK_FULL); a
 * file stays mapped, a buffer is copied. The cache is bounded in entries and bytes, and drops the
 * key that was used longest ago; keys in use are never dropped, so that it may exceed its bounds
 * while they are. Everything is thread-safe; of several callers that want a new key at once one
 * loads it and the others wait.
 *
 * Bounds: CUZK_KEY_CACHE_ENTRIES keys (default 8), CUZK_KEY_CACHE_BYTES of copies (default a
 * quarter of the memory; mapped files cost none), from the environment, read once; 0 keeps nothing
 * beyond its use; a value that is no size is an error (USAGE). CUZK_DEVICE (cpu, cuda, cuda:N) is
 * where keys go and proofs are computed.
 */
#ifndef CUZK_COMPAT_KEY_CACHE_H
#define CUZK_COMPAT_KEY_CACHE_H

#include "api/key.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A key in use. */
typedef struct cuzk_cached_key cuzk_cached_key;

/* Errors: those of cuzk_zkey_open, and of cuzk_prover_open for devices. Give *out back with
 * cuzk__key_cache_release. */
cuzk_status cuzk__key_cache_file(cuzk_cached_key **out, const char *path,
                                 cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__key_cache_buffer(cuzk_cached_key **out, const void *data, size_t n,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Valid until the release. */
const cuzk_key *cuzk__key_cache_key(const cuzk_cached_key *entry);

void cuzk__key_cache_release(cuzk_cached_key *entry);

typedef struct cuzk_key_cache_stats {
    size_t entries, bytes; /* held now, those in use counted; bytes of copies */
    uint64_t hits, loads;  /* since the process started */
} cuzk_key_cache_stats;

void cuzk__key_cache_stats(cuzk_key_cache_stats *out);

/* Drops keys that are not in use until at most so many entries and bytes are left. */
void cuzk__key_cache_trim(size_t entries, size_t bytes);

/* Sets the bounds, as the environment would. */
void cuzk__key_cache_limit(size_t entries, size_t bytes);

#endif
