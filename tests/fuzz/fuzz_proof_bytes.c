#include "fuzz.h"

#include "base/mem.h"
#include "format/proof_bytes.h"

/* Every proof has one encoding: what is read is written back byte for byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_proof *proofs;
    size_t n;
    cuzk_err err = {0};
    const cuzk_status st = cuzk_proofs_from_bytes(&proofs, &n, data, size, "input", &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(!proofs);
        return 0;
    }
    FUZZ_CHECK(n * CUZK_PROOF_BYTES == size);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[CUZK_PROOF_BYTES];
        cuzk_proof_to_bytes(bytes, &proofs[i]);
        FUZZ_CHECK(memcmp(bytes, data + i * CUZK_PROOF_BYTES, sizeof bytes) == 0);
    }
    cuzk_free(proofs);
    return 0;
}
