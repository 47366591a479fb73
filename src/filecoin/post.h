/* Vanilla proofs of WindowPoSt and WinningPoSt: rust-fil-proofs' FallbackPoStSectorProof in
 * bincode, one a sector, from a request. What was read has the shape of its registered proof in
 * every length; whether it is true is vanilla_check.h's matter. Immutable, shareable by threads. */
#ifndef CUZK_FILECOIN_POST_H
#define CUZK_FILECOIN_POST_H

#include "filecoin/bincode.h"
#include "filecoin/public.h"

typedef struct cuzk_post_sector {
    uint64_t number;
    const uint8_t *comm_r, *comm_c, *comm_r_last;
    const uint8_t *proofs; /* inclusion proofs, one after another */
} cuzk_post_sector;

typedef struct cuzk_post {
    const char *name;
    cuzk_post_statement statement; /* its sectors in the order of these */
    cuzk_post_sector *sectors;     /* statement.n_sectors */
    size_t proof_bytes;
    cuzk_request *request; /* owned: the bytes are its */
} cuzk_post;

/* Takes the request, also when it fails (and frees it). */
cuzk_status cuzk_post_from_request(cuzk_post **out, cuzk_request *r, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_post_free(cuzk_post *p);

/* Inclusion proof n of a sector. */
void cuzk_post_proof_at(const cuzk_post *p, size_t sector, uint32_t n, cuzk_merkle_proof *out);

/* Free values of the partition's circuit (circuit/values.h), n of them. */
cuzk_status cuzk_post_free_values(const cuzk_post *p, cuzk_u256 *out, size_t n,
                                  cuzk_err *err) CUZK_MUST_CHECK;

#endif
