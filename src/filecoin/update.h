/* Vanilla proofs of EmptySectorUpdate (SnapDeals): rust-fil-proofs' PartitionProof in bincode, one
 * a partition, from a request. What was read has the shape of its registered proof in every length;
 * whether it is true is vanilla_check.h's matter. Immutable, shareable by threads. */
#ifndef CUZK_FILECOIN_UPDATE_H
#define CUZK_FILECOIN_UPDATE_H

#include "filecoin/bincode.h"
#include "filecoin/public.h"

typedef struct cuzk_update_part {
    const uint8_t *comm_c, *apex; /* apex leaves */
    const uint8_t *challenges;    /* three Merkle proofs each */
} cuzk_update_part;

typedef struct cuzk_update {
    const char *name;
    cuzk_update_statement statement;
    cuzk_update_part *parts; /* statement.type->partitions */
    cuzk_tree_shape d;       /* tree D */
    size_t challenge_bytes;
    cuzk_request *request; /* owned */
} cuzk_update;

/* Takes the request, also when it fails (and frees it). */
cuzk_status cuzk_update_from_request(cuzk_update **out, cuzk_request *r,
                                     cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_update_free(cuzk_update *u);

typedef struct cuzk_update_challenge {
    cuzk_merkle_proof r_old, d_new, r_new;
} cuzk_update_challenge;
void cuzk_update_challenge_at(const cuzk_update *u, uint32_t partition, uint32_t i,
                              cuzk_update_challenge *out);

/* Free values of a partition's circuit (circuit/values.h), n of them. */
cuzk_status cuzk_update_free_values(const cuzk_update *u, uint32_t partition, cuzk_u256 *out,
                                    size_t n, cuzk_err *err) CUZK_MUST_CHECK;

#endif
