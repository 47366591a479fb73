/* Statements: what a proof of each kind says, in the facts that a verifier has, and the public
 * inputs (after ONE) that follow from them.
 *
 * A statement owns copies of its 32-byte values and borrows nothing but the tables of circuits and
 * ids; free those that say so. Thread-safe once made. */
#ifndef CUZK_FILECOIN_PUBLIC_H
#define CUZK_FILECOIN_PUBLIC_H

#include "filecoin/c1.h"
#include "filecoin/challenges.h"
#include "filecoin/request.h"

/* ---- PoRep ---- */

/* What a C1 does not say. Zeroed: nothing is known. */
typedef struct cuzk_porep_facts {
    const cuzk_seal_type *type; /* NULL: as the file says, else V1_1 of its size */
    const uint8_t *porep_id;    /* NULL: of the type */
    bool has_miner, has_sector;
    uint64_t miner, sector;
} cuzk_porep_facts;

typedef struct cuzk_porep_statement {
    const cuzk_circuit *circuit;
    const cuzk_seal_type *type; /* NULL: a size without registered proofs, rules of V1_1 */
    uint32_t partitions;
    cuzk_porep_rule rule;
    cuzk_graph graph;
    uint8_t porep_id[32], replica_id[32], comm_d[32], comm_r[32], seed[32], ticket[32];
    bool replica_id_checked; /* against miner, sector, ticket and comm_d */
} cuzk_porep_statement;

/* The statement of a C1. FALSE when replica_id is not that of the miner, sector and ticket. The
 * sector is the fact's, else the wrapper's; BAD_INPUT when they differ, or when type does not fit.
 */
cuzk_status cuzk_porep_statement_of_c1(cuzk_porep_statement *s, const cuzk_c1 *c,
                                       const cuzk_porep_facts *f, cuzk_err *err) CUZK_MUST_CHECK;
/* The same from a request without a vanilla proof: registered_proof, comm_r, comm_d, seed, and
 * replica_id or miner_id, sector_number and ticket. BAD_INPUT when the request says something else
 * than the facts, or has fields of another kind. */
cuzk_status cuzk_porep_statement_of_request(cuzk_porep_statement *s, const cuzk_request *r,
                                            const cuzk_porep_facts *f,
                                            cuzk_err *err) CUZK_MUST_CHECK;
/* Adds to f what the request says; BAD_INPUT when it is something else, or of another kind of
 * proof. f may then point into r. */
cuzk_status cuzk__porep_facts_of_request(cuzk_porep_facts *f, const cuzk_request *r,
                                         cuzk_err *err) CUZK_MUST_CHECK;
/* Challenges of a partition, circuit->u.porep.challenges of them. */
cuzk_status cuzk_porep_partition_challenges(uint64_t *out, const cuzk_porep_statement *s,
                                            uint32_t partition) CUZK_MUST_CHECK;
/* Public inputs of a partition, n of them: plain integers. */
cuzk_status cuzk_porep_public(cuzk_u256 *out, size_t n, const cuzk_porep_statement *s,
                              uint32_t partition, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- PoSt ---- */

typedef struct cuzk_post_statement {
    const cuzk_circuit *circuit;
    const cuzk_post_type *type;
    uint8_t randomness[32];
    uint32_t partition;           /* Window: which of the miner's; V1 challenges depend on it */
    cuzk_request_sector *sectors; /* ascending numbers */
    size_t n_sectors;             /* 1 to type->sectors */
} cuzk_post_statement;

/* From a request's sectors, or from its vanilla proofs (post.h does that). Free with
 * cuzk_post_statement_free, also after a failure. */
cuzk_status cuzk_post_statement_of_request(cuzk_post_statement *s, const cuzk_request *r,
                                           cuzk_err *err) CUZK_MUST_CHECK;
/* What type, randomness and partition a request asks for; sectors stay empty. */
cuzk_status cuzk__post_statement_head(cuzk_post_statement *s, const cuzk_request *r,
                                      cuzk_err *err) CUZK_MUST_CHECK;
/* Sorts sectors; BAD_INPUT when none, too many, twice the same, or a comm_r that is no field
 * element. */
cuzk_status cuzk__post_statement_sectors(cuzk_post_statement *s, const char *name,
                                         cuzk_err *err) CUZK_MUST_CHECK;
/* Whether the request's sectors and sector_number, where they are there, are those of s: FALSE
 * naming both values. Sorts the request's sectors. */
cuzk_status cuzk__post_statement_agrees(const cuzk_post_statement *s, const cuzk_request *r,
                                        cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_post_statement_free(cuzk_post_statement *s);

/* The leaf that challenge n of sector i (in order) opens; n below type->challenges. */
cuzk_status cuzk_post_leaf(uint64_t *out, const cuzk_post_statement *s, size_t i,
                           uint32_t n) CUZK_MUST_CHECK;
/* Public inputs of the partition, n of them. */
cuzk_status cuzk_post_public(cuzk_u256 *out, size_t n, const cuzk_post_statement *s,
                             cuzk_err *err) CUZK_MUST_CHECK;

/* ---- EmptySectorUpdate ---- */

typedef struct cuzk_update_statement {
    const cuzk_circuit *circuit;
    const cuzk_update_type *type;
    uint8_t comm_r_old[32], comm_d_new[32], comm_r_new[32];
    uint32_t h;        /* bits of a node's index that choose rho */
    uint32_t h_select; /* 1 << which of the circuit's choices */
} cuzk_update_statement;

/* h is the network's default: the fourth choice. */
cuzk_status cuzk_update_statement_of_request(cuzk_update_statement *s, const cuzk_request *r,
                                             cuzk_err *err) CUZK_MUST_CHECK;
/* k and h_select as the circuit takes them. */
uint64_t cuzk_update_k_and_h_select(const cuzk_update_statement *s, uint32_t partition);
cuzk_status cuzk_update_public(cuzk_u256 *out, size_t n, const cuzk_update_statement *s,
                               uint32_t partition, cuzk_err *err) CUZK_MUST_CHECK;

/* Public inputs of one partition of a circuit, without ONE. */
size_t cuzk_circuit_public(const cuzk_circuit *c);

#endif
