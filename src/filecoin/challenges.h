/* What the chain and the verifier derive: replica_id, and the challenges of the three proofs.
 *
 * 32-byte values are little-endian field elements or hashes as they stand in C1 outputs and
 * requests. Everything is thread-safe. Functions return BUG when hashing fails, NO_MEMORY where
 * they allocate, and BAD_INPUT where a value must be a field element and is not. */
#ifndef CUZK_FILECOIN_CHALLENGES_H
#define CUZK_FILECOIN_CHALLENGES_H

#include "circuit/poseidon.h"

#include <stddef.h>
#include <stdint.h>

/* ---- PoRep ---- */

/* The miner's number as unsigned LEB128, zeros after. */
void cuzk_prover_id(uint8_t out[32], uint64_t miner);

/* SHA-256(prover_id, sector big-endian, ticket, comm_d, porep_id), top two bits cleared. */
cuzk_status cuzk_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector,
                            const uint8_t ticket[32], const uint8_t comm_d[32],
                            const uint8_t porep_id[32]) CUZK_MUST_CHECK;

typedef enum cuzk_porep_rule {
    CUZK_POREP_INTERACTIVE,     /* from replica_id and seed */
    CUZK_POREP_SYNTHETIC,       /* from a set fixed by replica_id and comm_r; seed selects */
    CUZK_POREP_NON_INTERACTIVE, /* from replica_id and comm_r */
} cuzk_porep_rule;

/* Challenges first, first + 1, ... of the whole proof (all partitions), n of them, 1 up to
 * 2^log2_nodes - 1. comm_r is not read by INTERACTIVE, seed not by NON_INTERACTIVE (they may be
 * NULL there). log2_nodes 1 to 31. */
cuzk_status cuzk_porep_challenges(uint64_t *out, uint32_t first, size_t n, cuzk_porep_rule rule,
                                  uint32_t log2_nodes, const uint8_t replica_id[32],
                                  const uint8_t comm_r[32], const uint8_t seed[32]) CUZK_MUST_CHECK;

/* ---- WindowPoSt, WinningPoSt ---- */

/* The leaf for a challenge index, below 2^log2_nodes. The index of challenge n of sector i (over
 * all partitions) is i * challenges + n for V1_0 and V1_1, n for V1_2; Winning counts 0 to 65. */
cuzk_status cuzk_post_challenge(uint64_t *out, const uint8_t randomness[32], uint64_t sector,
                                uint64_t index, uint32_t log2_nodes) CUZK_MUST_CHECK;

/* ---- EmptySectorUpdate (SnapDeals) ---- */

/* Challenges of one partition: digests H(comm_r_new, D k + j), H Poseidon of two with the custom
 * tag, cut into groups of log2_nodes - log2_partitions bits, the partition k on top. p2: the
 * constants of arity 2. n: challenges of the partition. */
cuzk_status cuzk_update_challenges(uint64_t *out, size_t n, const cuzk_poseidon *p2,
                                   const uint8_t comm_r_new[32], uint32_t partition,
                                   uint32_t log2_nodes, uint32_t log2_partitions) CUZK_MUST_CHECK;

/* phi = H(comm_d_new, comm_r_old), Montgomery form. */
cuzk_status cuzk_update_phi(cuzk_u256 *phi, const cuzk_poseidon *p2, const uint8_t comm_d_new[32],
                            const uint8_t comm_r_old[32]) CUZK_MUST_CHECK;

/* rho = H(phi, high), high the top h bits of a node's index: new = old + data * rho. Montgomery
 * form. */
void cuzk_update_rho(cuzk_u256 *rho, const cuzk_poseidon *p2, const cuzk_u256 *phi, uint64_t high);

#endif
