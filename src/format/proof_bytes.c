#include "format/proof_bytes.h"

#include "base/mem.h"
#include "curve/zcash.h"

#include <string.h>

enum { A = 0, B = 48, C = 144 };

void cuzk_proof_to_bytes(uint8_t out[CUZK_PROOF_BYTES], const cuzk_proof *proof) {
    cuzk_zcash_compress(CUZK_G1, out + A, &proof->a);
    cuzk_zcash_compress(CUZK_G2, out + B, &proof->b);
    cuzk_zcash_compress(CUZK_G1, out + C, &proof->c);
}

cuzk_status cuzk_proof_from_bytes(cuzk_proof *out, const uint8_t bytes[CUZK_PROOF_BYTES],
                                  const char *name, size_t offset, cuzk_err *err) {
    const cuzk_curve *curve = cuzk_curve_get(CUZK_BLS12_381);
    memset(out, 0, sizeof *out);
    out->curve = curve;
    const struct {
        char label;
        cuzk_group g;
        size_t at;
        cuzk_point *to;
    } points[3] = {
        {'A', CUZK_G1, A, &out->a}, {'B', CUZK_G2, B, &out->b}, {'C', CUZK_G1, C, &out->c}};
    for (int i = 0; i < 3; i++) {
        const cuzk_zcash_result r =
            cuzk_zcash_decompress(points[i].g, points[i].to, bytes + points[i].at);
        const char *expected = r == CUZK_ZCASH_OK ? "a point of order r" : cuzk_zcash_expected(r);
        if (r == CUZK_ZCASH_OK && cuzk_curve_group(curve, points[i].g)->in_subgroup(points[i].to))
            continue;
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s: point %c at offset %zu: expected %s, actual first byte 0x%02x",
                            name, points[i].label, offset + points[i].at, expected,
                            bytes[points[i].at]);
    }
    return CUZK_OK;
}

cuzk_status cuzk_proofs_from_bytes(cuzk_proof **proofs, size_t *n, const uint8_t *bytes, size_t len,
                                   const char *name, cuzk_err *err) {
    void *mem;
    *proofs = NULL;
    *n = len / CUZK_PROOF_BYTES;
    if (len == 0 || len % CUZK_PROOF_BYTES)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected a multiple of %d bytes, actual %zu", name,
                            CUZK_PROOF_BYTES, len);
    if (cuzk_alloc(&mem, *n, sizeof **proofs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory for %zu proofs",
                            name, *n);
    *proofs = mem;
    for (size_t i = 0; i < *n; i++) {
        const size_t at = i * CUZK_PROOF_BYTES;
        const cuzk_status st = cuzk_proof_from_bytes(&(*proofs)[i], bytes + at, name, at, err);
        if (st == CUZK_OK) continue;
        cuzk_free(*proofs);
        *proofs = NULL;
        return st;
    }
    return CUZK_OK;
}
