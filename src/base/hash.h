/* Hashes from OpenSSL's libcrypto, behind one small interface: SHA-256 and BLAKE2b-512. */
#ifndef CUZK_BASE_HASH_H
#define CUZK_BASE_HASH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum { CUZK_HASH_SHA256, CUZK_HASH_BLAKE2B_512, CUZK_HASH_BLAKE2S_256 } cuzk_hash_kind;

typedef struct cuzk_hash cuzk_hash;

cuzk_status cuzk_hash_new(cuzk_hash **out, cuzk_hash_kind kind) CUZK_MUST_CHECK;
void cuzk_hash_update(cuzk_hash *h, const void *data, size_t n);
/* Writes 32 (SHA-256, BLAKE2s) or 64 bytes and frees h. BUG when any update failed. */
cuzk_status cuzk_hash_final(cuzk_hash *h, uint8_t *out) CUZK_MUST_CHECK;
void cuzk_hash_free(cuzk_hash *h);

/* One call for small inputs. */
cuzk_status cuzk_hash_once(cuzk_hash_kind kind, const void *data, size_t n,
                           uint8_t *out) CUZK_MUST_CHECK;

#endif
