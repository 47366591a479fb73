/* Proofs as Filecoin's chain takes them: 192 bytes, A compressed (48), B compressed (96), C
 * compressed (48), in the encoding of curve/zcash.h. Several partitions' proofs stand one after
 * another. BLS12-381 only. */
#ifndef CUZK_FORMAT_PROOF_BYTES_H
#define CUZK_FORMAT_PROOF_BYTES_H

#include "base/status.h"
#include "format/groth16_data.h"

enum { CUZK_PROOF_BYTES = 192 };

/* The proof must be on BLS12-381. */
void cuzk_proof_to_bytes(uint8_t out[CUZK_PROOF_BYTES], const cuzk_proof *proof);

/* Points that are malformed, off the curve, outside the subgroup or at infinity are FALSE (as in a
 * proof.json); the message names `name`, the point and its offset. `offset` is that of bytes in
 * the file, for messages. */
cuzk_status cuzk_proof_from_bytes(cuzk_proof *out, const uint8_t bytes[CUZK_PROOF_BYTES],
                                  const char *name, size_t offset, cuzk_err *err) CUZK_MUST_CHECK;

/* len bytes as proofs one after another: *proofs takes *n of them, free with cuzk_free. BAD_INPUT
 * when len is zero or no multiple of 192. */
cuzk_status cuzk_proofs_from_bytes(cuzk_proof **proofs, size_t *n, const uint8_t *bytes, size_t len,
                                   const char *name, cuzk_err *err) CUZK_MUST_CHECK;

#endif
