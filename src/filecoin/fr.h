/* Field elements as Filecoin writes them: 32 bytes, little-endian, canonical. */
#ifndef CUZK_FILECOIN_FR_H
#define CUZK_FILECOIN_FR_H

#include "field/fields.h"

#include <string.h>

/* To Montgomery form; false when the bytes are no field element. */
static inline bool cuzk__fr_read(cuzk_u256 *out, const uint8_t b[32]) {
    memcpy(out, b, sizeof *out);
    if (!cuzk_bls12_381_fr_is_canonical(out)) return false;
    cuzk_bls12_381_fr_to_mont(out, out);
    return true;
}

static inline void cuzk__fr_write(uint8_t b[32], const cuzk_u256 *mont) {
    cuzk_u256 plain;
    cuzk_bls12_381_fr_from_mont(&plain, mont);
    memcpy(b, &plain, sizeof plain);
}

#endif
