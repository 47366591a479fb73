/* A vanilla proof of any kind, from a file: what `cuzk porep|wpost|winning|snap` and `cuzk bench`
 * work on. */
#ifndef CUZK_FILECOIN_VANILLA_H
#define CUZK_FILECOIN_VANILLA_H

#include "filecoin/vanilla_check.h"
#include "witness/witness.h"

/* Exactly one of c1, post and update is set. */
typedef struct cuzk_vanilla {
    const cuzk_circuit *circuit;
    uint32_t partitions; /* of the whole proof; PoSt: 1 */
    cuzk_c1 *c1;
    cuzk_porep_statement porep; /* when c1 is set */
    cuzk_post *post;
    cuzk_update *update;
    cuzk_request *request; /* that a C1 came in; owned */
} cuzk_vanilla;

/* Opens a C1 in any form, or a request with vanilla proofs; which, the file says itself. facts are
 * for PoRep; a request's own miner_id, sector_number, registered_proof and porep_id fill what they
 * leave open and must be the same otherwise. What a request states beside its proofs is compared
 * with them (request.h): FALSE or BAD_INPUT. Errors as of c1.h, request.h, public.h. Free with
 * cuzk_vanilla_free. */
cuzk_status cuzk_vanilla_open(cuzk_vanilla **out, const char *path, const cuzk_porep_facts *facts,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* The same from a request that was read, which it takes, also when it fails (and frees it). */
cuzk_status cuzk_vanilla_from_request(cuzk_vanilla **out, cuzk_request *r,
                                      const cuzk_porep_facts *facts, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_vanilla_free(cuzk_vanilla *v);
/* Whether bytes are a request; everything else (bincode, broken JSON) is a C1's to refuse. */
bool cuzk_vanilla_is_request(const uint8_t *data, size_t n);

/* Whether the proof is true, partitions [first, first + n); see vanilla_check.h. */
cuzk_status cuzk_vanilla_check(const cuzk_vanilla *v, uint32_t first, uint32_t n,
                               const cuzk_poseidon_set *set, cuzk_pool *pool,
                               cuzk_progress *progress, cuzk_err *err) CUZK_MUST_CHECK;
/* How many challenges n partitions have, for progress. */
uint64_t cuzk_vanilla_challenges(const cuzk_vanilla *v, uint32_t n);
/* Free values of a partition's circuit, n of them. */
cuzk_status cuzk_vanilla_free_values(const cuzk_vanilla *v, uint32_t partition, cuzk_u256 *out,
                                     size_t n, cuzk_err *err) CUZK_MUST_CHECK;

/* The partition's witness: w is fresh and of plan's system. Wipes what it made on the way. pool may
 * be NULL. Errors as of cuzk_witness_solve. */
cuzk_status cuzk_vanilla_witness(const cuzk_vanilla *v, uint32_t partition,
                                 const cuzk_witness_plan *plan, cuzk_witness *w, cuzk_pool *pool,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* ---- what is to be verified ---- */

/* A statement of any kind. Exactly one kind, by circuit->kind. */
typedef struct cuzk_statement {
    const cuzk_circuit *circuit;
    uint32_t partitions;
    cuzk_porep_statement porep;
    cuzk_post_statement post;
    cuzk_update_statement update;
} cuzk_statement;

/* From a C1, a request with vanilla proofs, or a request without any that states the public values
 * (request.h). A vanilla proof is read but not checked. Free with cuzk_statement_free. */
cuzk_status cuzk_statement_open(cuzk_statement **out, const char *path,
                                const cuzk_porep_facts *facts, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_statement_free(cuzk_statement *s);
/* The statement of a vanilla proof. */
cuzk_status cuzk_statement_of_vanilla(cuzk_statement **out, const cuzk_vanilla *v,
                                      cuzk_err *err) CUZK_MUST_CHECK;
/* Public inputs of a partition, n of them (cuzk_circuit_public), plain. */
cuzk_status cuzk_statement_public(cuzk_u256 *out, size_t n, const cuzk_statement *s,
                                  uint32_t partition, cuzk_err *err) CUZK_MUST_CHECK;
/* Those of partitions [first, first + n), one after another; free with cuzk_free. */
cuzk_status cuzk_statement_publics(cuzk_u256 **out, const cuzk_statement *s, uint32_t first,
                                   uint32_t n, cuzk_err *err) CUZK_MUST_CHECK;

#endif
