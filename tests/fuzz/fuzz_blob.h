/* A request whose vanilla proof is the input, for the readers of bincode behind it. */
#ifndef CUZK_TESTS_FUZZ_BLOB_H
#define CUZK_TESTS_FUZZ_BLOB_H

#include "fuzz.h"

#include "base/mem.h"
#include "filecoin/request.h"

static inline cuzk_request *fuzz_blob_request(uint64_t registered_proof, const uint8_t *data,
                                              size_t size) {
    cuzk_request *r;
    FUZZ_CHECK(cuzk_alloc((void **)&r, 1, sizeof *r) == CUZK_OK);
    FUZZ_CHECK(cuzk_strdup(&r->name, "input") == CUZK_OK);
    FUZZ_CHECK(cuzk_alloc((void **)&r->vanilla_proofs, 1, sizeof(cuzk_blob)) == CUZK_OK);
    FUZZ_CHECK(cuzk_alloc((void **)&r->vanilla_proofs->data, size, 1) == CUZK_OK);
    if (size) memcpy(r->vanilla_proofs->data, data, size);
    r->vanilla_proofs->len = size;
    r->n_vanilla = 1;
    r->registered_proof = registered_proof;
    r->seen = UINT32_MAX & ~(1u << CUZK_REQ_PROOF_KIND | 1u << CUZK_REQ_SECTOR_SIZE);
    return r;
}

#endif
