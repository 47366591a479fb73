/* Filecoin's parameter files: their names and the digests of the published ones.
 *
 * A name is v28-PREFIX-HASH, where HASH is the SHA-256 of a text that describes the circuit
 * (docs/formats.md). Digests are the first 32 hexadecimal digits of BLAKE2b-512 of the file. */
#ifndef CUZK_FILECOIN_PARAMS_H
#define CUZK_FILECOIN_PARAMS_H

#include "base/status.h"
#include "circuit/circuits.h"

#include <stdint.h>

enum { CUZK_PARAMS_NAME_MAX = 192, CUZK_PARAMS_DIGEST_HEX = 32 };

typedef struct cuzk_params_name {
    char stem[CUZK_PARAMS_NAME_MAX]; /* without .params, .vk, .meta */
    uint64_t sector_size;            /* bytes */
    const char *params_digest;       /* of the published files; NULL: none was published */
    const char *vk_digest;
} cuzk_params_name;

/* BUG only, when SHA-256 fails. */
cuzk_status cuzk_filecoin_params_name(cuzk_params_name *out, const cuzk_circuit *c) CUZK_MUST_CHECK;

#endif
